/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"
#include "compute/device/device-reaction.h"
#include "compute/engine/job-private.h"

/**
 * A second try after a failure that something smaller or something else gets around: out of memory
 * halves what the device takes, a watchdog the launches, a kernel that does not build gives way to
 * another family. The attempt ends for all devices, since they share the slabs' cut; what has been
 * delivered and what has been filtered into host memory stays.
 */

/* ── What to change ── */

static gboolean
fdk_retry_less_memory (TdFdkRun *run, TdFdkDevice *device)
{
  TdFdkPlan *fdk = &run->now;
  GPtrArray *devices = run->plan->devices;

  td_engine_drop_idle (run->plan->engine);
  if (!run->dropped_idle) {
    run->dropped_idle = TRUE;
    return TRUE;
  }
  if (!fdk->budgets) {
    fdk->budgets = g_new (guint64, devices->len);
    for (guint i = 0; i < devices->len; i++)
      fdk->budgets[i] = G_MAXUINT64;
  }
  fdk->budgets[device->index] = td_fdk_device_bytes (run->plan, fdk, devices, device->index) / 2;
  fdk->halvings++;
  return TRUE;
}

static gboolean
smaller_launches (TdFdkRun *run)
{
  TdFdkPlan *fdk = &run->now;

  if (fdk->batch > fdk->turns)
    fdk->most_batch = fdk->batch / 2;
  else if (fdk->slab > 1)
    fdk->most_slab = fdk->slab / 2;
  else
    return FALSE;
  return TRUE;
}

static gboolean
fdk_retry_another_family (TdFdkRun *run, TdFdkDevice *device)
{
  const TdConeFamily *const *families = td_cone_families ();
  const TdDeviceInfo *info = td_device_info (device->device);
  guint *tried = &run->families_tried[device->index];

  while (families[*tried]) {
    const TdConeFamily *family = families[(*tried)++];
    if (family != device->family && !(family->textures && info->texture_slow)
        && !family->unsupported (&run->fdk->task, run->plan->recipe.precision, info)) {
      run->now.families[device->index] = family;
      return TRUE;
    }
  }
  return FALSE;
}

/* FALSE: nothing is left to try on this device. */
static gboolean
fdk_retry_relieve (TdFdkRun *run, TdFdkDevice *device)
{
  TdFdkPlan *fdk = &run->now;
  GPtrArray *devices = run->plan->devices;
  const TdReaction reaction = td_device_reaction (device->error);
  gboolean changed;

  if (reaction == TD_REACTION_RETRY_SMALLER)
    changed = fdk_retry_less_memory (run, device);
  else if (reaction == TD_REACTION_SMALLER_LAUNCHES)
    changed = smaller_launches (run);
  else
    changed = fdk_retry_another_family (run, device);
  if (!changed)
    return FALSE;
  fdk->share = TD_SHARE_VOLUME; /* slabs of another size find some of their slices delivered */
  if (!td_fdk_fit (run->plan, fdk, devices, NULL))
    return FALSE;
  td_fdk_share_slabs (run->plan, fdk, devices);
  td_job_note (run->job,
               "%s: %p; going on with slabs of %u slices, batches of %u views and the kernel "
               "\"%s\".",
               td_device_info (device->device)->id, td_error_message (device->error), fdk->slab,
               fdk->batch, fdk->families[device->index]->name);
  return TRUE;
}

/* ── Trying again ── */

/* The cut that the attempt had, for the devices that are left. */
static void
fdk_retry_restore (TdFdkRun *run, const TdFdkPlan *before)
{
  guint *own = run->now.own;
  TdFdkSlabCut *cuts = run->now.cuts;
  guint64 *budgets = run->now.budgets;

  run->now = *before;
  run->now.own = own;
  run->now.cuts = cuts;
  run->now.budgets = budgets;
  td_fdk_share_slabs (run->plan, &run->now, run->plan->devices);
}

static void
fdk_retry_retire (TdFdkRun *run, const TdFdkDevice *device)
{
  run->n_retired += !run->now.retired[device->index];
  run->now.retired[device->index] = TRUE;
}

void
td_fdk_go_on (TdFdkRun *run)
{
  for (guint i = 0; i < run->n_devices; i++)
    if (run->devices[i].error)
      fdk_retry_retire (run, &run->devices[i]);
  td_fdk_share_slabs (run->plan, &run->now, run->plan->devices);
}

gboolean
td_fdk_retry (TdFdkRun *run)
{
  const TdFdkPlan before = run->now;
  TdFdkDevice *failed = run->failed;

  if (!failed || g_cancellable_is_cancelled (run->job->cancellable))
    return FALSE;
  for (guint i = 0; i < run->n_devices; i++) {
    const GError *error = run->devices[i].error;
    if (error && td_device_reaction (error) == TD_REACTION_RETIRE)
      fdk_retry_retire (run, &run->devices[i]);
  }
  if (!fdk_retry_relieve (run, failed)) {
    fdk_retry_retire (run, failed);
    if (run->n_retired == run->n_devices && run->n_devices > 1)
      td_prefix_error (&run->error, "No device is left; the last to fail was ");
    if (run->n_retired == run->n_devices)
      return FALSE;
    fdk_retry_restore (run, &before);
    td_job_note (run->job, "%s was retired, the other devices did its share: %p",
                 td_device_info (failed->device)->id, td_error_message (failed->error));
  }
  g_clear_error (&run->error);
  run->failed = NULL;
  return TRUE;
}
