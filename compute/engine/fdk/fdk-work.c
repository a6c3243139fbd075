/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

/* Who does what next. Everything here is under the run's lock. */

void
td_fdk_part_free (TdFdkPart *part)
{
  for (guint i = 0; i < part->events->len; i++)
    td_event_free (g_array_index (part->events, TdEvent *, i));
  g_array_unref (part->events);
  g_array_unref (part->batches);
  td_event_free (part->computed);
  g_free (part);
}

static TdFdkPart *
fdk_work_open_part (TdFdkDevice *device, guint slab)
{
  TdFdkPart *part = g_new0 (TdFdkPart, 1);

  part->slab = slab;
  part->batches = g_array_new (FALSE, FALSE, sizeof (guint));
  part->events = g_array_new (FALSE, FALSE, sizeof (TdEvent *));
  g_ptr_array_add (device->open, part);
  return part;
}

/* ── Sharing the volume ── */

/* The first of the device's own slabs, which follows the one before it. Else the last slab of the
   device that has most left, which would come to it last. */
static gboolean
free_slab (const TdFdkDevice *device, guint *slab)
{
  const TdFdkRun *run = device->run;
  const guint *own = run->fdk->cut.own;
  guint most = 0;

  for (*slab = own[device->index]; *slab < own[device->index + 1]; (*slab)++)
    if (!run->slabs[*slab].taken)
      return TRUE;
  for (guint d = 0; d < run->n_devices; d++) {
    guint left = 0, last = 0;
    for (guint i = own[d]; i < own[d + 1]; i++) {
      if (run->slabs[i].taken)
        continue;
      left += run->fdk->cut.slabs[i].n_slices;
      /* On the host, rows are filtered from the top. */
      last = run->fdk->fit.cached || left == run->fdk->cut.slabs[i].n_slices ? i : last;
    }
    if (left > most) {
      most = left;
      *slab = last;
    }
  }
  return most > 0;
}

static gboolean
take_of_volume (TdFdkDevice *device, TdFdkPart **part, guint *batch)
{
  guint slab;

  if (*part && (*part)->batches->len < device->run->fdk->fit.n_batches) {
    *batch = (*part)->batches->len;
    return TRUE;
  }
  if (!free_slab (device, &slab))
    return FALSE;
  device->run->slabs[slab].taken = TRUE;
  *part = fdk_work_open_part (device, slab);
  *batch = 0;
  return TRUE;
}

/* ── Sharing the projections ── */

static gboolean
take_of_projections (TdFdkDevice *device, TdFdkPart **part, guint *batch)
{
  TdFdkRun *run = device->run;
  guint slab = *part ? (*part)->slab : 0;

  if (!*part || g_queue_is_empty (&run->slabs[slab].todo)) {
    for (slab = 0; slab < run->fdk->cut.n_slabs && g_queue_is_empty (&run->slabs[slab].todo);
         slab++)
      ;
    if (slab == run->fdk->cut.n_slabs)
      return FALSE;
    *part = fdk_work_open_part (device, slab);
  }
  *batch = GPOINTER_TO_UINT (g_queue_pop_head (&run->slabs[slab].todo));
  return TRUE;
}

/* ── Both ── */

gboolean
td_fdk_take (TdFdkDevice *device, TdFdkPart **part, guint *batch, gboolean wait)
{
  TdFdkRun *run = device->run;
  const gboolean volume = run->fdk->scheme.share == TD_SHARE_VOLUME;
  gboolean found = FALSE;

  g_mutex_lock (&run->lock);
  while (!td_fdk_device_stopped (device)) {
    found
        = volume ? take_of_volume (device, part, batch) : take_of_projections (device, part, batch);
    /* A device may still give batches back. Slabs that come back are another attempt's. */
    if (found || volume || !wait || run->unfinished == 0)
      break;
    g_cond_wait (&run->changed, &run->lock);
  }
  if (found)
    g_array_append_val ((*part)->batches, *batch);
  g_mutex_unlock (&run->lock);
  return found;
}

void
td_fdk_give_back (TdFdkDevice *device)
{
  TdFdkRun *run = device->run;

  for (guint p = 0; p < device->open->len; p++) {
    const TdFdkPart *part = device->open->pdata[p];
    TdFdkSlab *slab = &run->slabs[part->slab];

    slab->taken = FALSE;
    for (guint i = 0; run->fdk->scheme.share == TD_SHARE_PROJECTION && i < part->batches->len; i++)
      g_queue_push_tail (&slab->todo, GUINT_TO_POINTER (g_array_index (part->batches, guint, i)));
    td_job_add_updates (run->job, -part->updates);
  }
  g_ptr_array_set_size (device->open, 0);
}
