/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-window-private.h"

/* Which chunk when. */

void
td_fdk_window_chunks (const TdFdkPlan *fdk, guint slab, guint *first, guint *end)
{
  *first = fdk->cuts[slab].row0 / fdk->filter_rows;
  *end = (fdk->cuts[slab].row_end + fdk->filter_rows - 1) / fdk->filter_rows;
}

TdFdkSpan
td_fdk_window_rows (const TdFdkWindow *window, guint index)
{
  const TdFdkPlan *fdk = window->device->run->fdk;
  const guint first = index * fdk->filter_rows;

  return td_fdk_span (fdk, first, MIN (fdk->filter_rows, fdk->n_rows - first));
}

/* The device's own slabs that nobody has taken yet, from @slab on. FALSE: there are no more. Under
   the lock, as the three below. */
static gboolean
next_slab (const TdFdkWindow *window, guint *slab)
{
  const TdFdkRun *run = window->device->run;
  const guint end = run->fdk->own[window->device->index + 1];

  while (*slab < end && run->slabs[*slab].taken)
    (*slab)++;
  return *slab < end;
}

/* The next chunk that is not here: of the slab being computed, else of the next ones, as far as a
   slab ahead: what a device does not want soon may be kept from another that does. */
static gboolean
next_chunk (const TdFdkWindow *window, guint *index, gboolean *urgent)
{
  *urgent = TRUE;
  for (*index = window->need0; *index < window->need_end; (*index)++)
    if (!window->chunks[*index].data)
      return TRUE;
  *urgent = FALSE;
  const TdFdkPlan *fdk = window->device->run->fdk;
  guint ahead = 0;
  for (guint slab = fdk->own[window->device->index];
       ahead <= fdk->slab && next_slab (window, &slab); ahead += fdk->cuts[slab++].n_slices) {
    guint end;
    for (td_fdk_window_chunks (fdk, slab, index, &end); *index < end; (*index)++)
      if (!window->chunks[*index].data)
        return TRUE;
  }
  return FALSE;
}

/* How far away the slab is that wants the chunk next. */
static guint
wanted_in (const TdFdkWindow *window, guint index)
{
  const guint own = window->device->run->fdk->own[window->device->index];

  if (index >= window->need0 && index < window->need_end)
    return 0;
  for (guint slab = own; next_slab (window, &slab); slab++) {
    guint first, end;
    td_fdk_window_chunks (window->device->run->fdk, slab, &first, &end);
    if (index >= first && index < end)
      return slab - own + 1;
  }
  return G_MAXUINT;
}

/* A chunk whose memory may go to another: one that no slab wants any more, or, if it must be, the
   one that is wanted last. */
static TdFdkChunk *
fdk_window_chunks_dispensable (const TdFdkWindow *window, gboolean urgent)
{
  const guint n = window->device->run->fdk->n_chunks;
  TdFdkChunk *spare = NULL;
  guint latest = 0;

  for (guint i = 0; i < n && latest < G_MAXUINT; i++) {
    if (!window->chunks[i].here)
      continue;
    const guint wanted = wanted_in (window, i);
    if (wanted == G_MAXUINT || (urgent && wanted > latest)) {
      spare = &window->chunks[i];
      latest = wanted;
    }
  }
  return spare;
}

gboolean
td_fdk_window_choose (TdFdkWindow *window, guint *index, gboolean *send)
{
  TdFdkDevice *device = window->device;
  TdFdkRun *run = device->run;
  gboolean found = FALSE, urgent;

  *send = FALSE;
  g_mutex_lock (&run->lock);
  while (!found && !device->computed_all && !td_fdk_device_stopped (device)) {
    TdFdkChunk *spare = NULL;
    if (window->opened && !g_queue_is_empty (&window->raw)) {
      *index = GPOINTER_TO_UINT (g_queue_pop_head (&window->raw));
      found = TRUE;
      break;
    }
    *send = found = next_chunk (window, index, &urgent);
    if (found && g_queue_is_empty (&window->idle)
        && window->memory->len >= run->fdk->window_chunks) {
      spare = fdk_window_chunks_dispensable (window, urgent);
      *send = found = spare != NULL;
    }
    if (spare) {
      g_queue_push_tail (&window->idle, spare->data);
      td_event_free (spare->sent);
      td_event_free (window->before);
      window->before = spare->filtered;
      *spare = (TdFdkChunk) { NULL };
    }
    if (!found)
      g_cond_wait (&run->changed, &run->lock);
  }
  if (*send)
    window->chunks[*index].data = g_queue_pop_head (&window->idle);
  g_mutex_unlock (&run->lock);
  return found;
}
