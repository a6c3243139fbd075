/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/device-reaction.h"
#include "fdk-run.h"
#include "fdk-self-test.h"

/**
 * Another attempt after a failure that something smaller or something else gets around. Out of
 * memory halves what the device takes, a watchdog halves the launches, and a kernel that does not
 * build gives way to another family. An attempt ends for all devices, since they share its cut.
 * Slices that were delivered and rows that were filtered into host memory stay.
 */

/* ── What to change ── */

static gboolean
less_memory (TdFdkRun *run, const TdFdkDevice *device, TdFdkAttempt *next)
{
  const guint n = run->plan->devices->len;

  td_engine_drop_idle (run->plan->engine);
  if (!run->dropped_idle) {
    run->dropped_idle = TRUE;
    return TRUE;
  }
  if (!next->budgets) {
    next->budgets = run->attempt.budgets = g_new (guint64, n);
    for (guint i = 0; i < n; i++)
      next->budgets[i] = G_MAXUINT64;
  }
  next->budgets[device->index] = td_fdk_device_bytes (run->plan, run->fdk, device->index) / 2;
  next->halvings++;
  return TRUE;
}

static gboolean
smaller_launches (const TdFdkFit *fit, TdFdkAttempt *next)
{
  if (fit->batch > fit->symmetric_views)
    next->most_batch = fit->batch / 2;
  else if (fit->slab > 1)
    next->most_slab = fit->slab / 2;
  else
    return FALSE;
  return TRUE;
}

static gboolean
another_family (TdFdkRun *run, const TdFdkDevice *device)
{
  const TdConeFamily *const *families = td_cone_families ();
  const TdDeviceInfo *info = td_device_info (device->device);
  guint *tried = &run->families_tried[device->index];

  while (families[*tried]) {
    const TdConeFamily *family = families[(*tried)++];
    if (family != device->family && !(family->textures && info->texture_slow)
        && td_fdk_family_choose (family->name, &run->fdk->input->task, run->plan->recipe.precision,
                                 device->device, NULL)) {
      run->now.scheme.families[device->index] = family;
      return TRUE;
    }
  }
  return FALSE;
}

/* FALSE: nothing is left to try on this device, and the run's plan is as it was. */
static gboolean
fdk_retry_relieve (TdFdkRun *run, const TdFdkDevice *device)
{
  const TdReaction reaction = td_device_reaction (device->error);
  TdFdkScheme scheme = run->now.scheme;
  TdFdkAttempt next = run->attempt;
  TdFdkFit fit;
  gboolean changed;

  if (reaction == TD_REACTION_RETRY_SMALLER)
    changed = less_memory (run, device, &next);
  else if (reaction == TD_REACTION_SMALLER_LAUNCHES)
    changed = smaller_launches (&run->fdk->fit, &next);
  else
    changed = another_family (run, device);
  scheme.share = TD_SHARE_VOLUME; /* slabs of another size find some of their slices delivered */
  if (!changed || !td_fdk_fit (run->plan, run->fdk->input, &scheme, &next, &fit, NULL))
    return FALSE;
  run->attempt = next;
  run->now.scheme = scheme;
  run->now.fit = fit;
  td_job_note (run->job,
               "%s: %p; going on with slabs of %u slices, batches of %u views and the kernel "
               "\"%s\".",
               td_device_info (device->device)->id, td_error_message (device->error), fit.slab,
               fit.batch, scheme.families[device->index]->name);
  return TRUE;
}

/* ── Trying again ── */

static void
fdk_retry_retire (TdFdkRun *run, guint index)
{
  run->n_retired += !run->attempt.retired[index];
  run->attempt.retired[index] = TRUE;
}

static void
cut_again (TdFdkRun *run)
{
  td_fdk_cut_clear (&run->now.cut);
  run->now.cut = td_fdk_cut_by_speed (run->plan, run->fdk, &run->attempt);
}

void
td_fdk_go_on (TdFdkRun *run)
{
  for (guint i = 0; i < run->n_devices; i++)
    if (run->devices[i].error)
      fdk_retry_retire (run, i);
  cut_again (run);
}

gboolean
td_fdk_retry (TdFdkRun *run)
{
  const TdFdkDevice *failed = run->failed;

  if (!failed || g_cancellable_is_cancelled (run->job->cancellable))
    return FALSE;
  for (guint i = 0; i < run->n_devices; i++)
    if (td_device_reaction (run->devices[i].error) == TD_REACTION_RETIRE)
      fdk_retry_retire (run, i);
  if (!fdk_retry_relieve (run, failed)) {
    fdk_retry_retire (run, failed->index);
    if (run->n_retired == run->n_devices && run->n_devices > 1)
      td_prefix_error (&run->error, "No device is left; the last to fail was ");
    if (run->n_retired == run->n_devices)
      return FALSE;
    td_job_note (run->job, "%s was retired, the other devices did its share: %p",
                 td_device_info (failed->device)->id, td_error_message (failed->error));
  }
  cut_again (run);
  g_clear_error (&run->error);
  run->failed = NULL;
  return TRUE;
}
