/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "found-axes.h"

#include <string.h>

#define N_KEPT 16
/* How soon somebody who waits sees that he was cancelled. */
#define LOOK_US (50 * 1000)

typedef struct {
  TdScan *scan;
  char *key;
  TdAxisResult *result;
} Found;

struct TdFoundAxes {
  GMutex lock;
  GCond done;
  gboolean searching;
  GQueue found; /* Found, newest first */
};

static void
found_free (gpointer data)
{
  Found *found = data;

  td_scan_unref (found->scan);
  g_free (found->key);
  td_axis_result_free (found->result);
  g_free (found);
}

TdFoundAxes *
td_found_axes_new (void)
{
  TdFoundAxes *axes = g_new0 (TdFoundAxes, 1);

  g_mutex_init (&axes->lock);
  g_cond_init (&axes->done);
  return axes;
}

void
td_found_axes_clear (TdFoundAxes *axes)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&axes->lock);

  g_queue_clear_full (&axes->found, found_free);
}

void
td_found_axes_free (TdFoundAxes *axes)
{
  td_found_axes_clear (axes);
  g_mutex_clear (&axes->lock);
  g_cond_clear (&axes->done);
  g_free (axes);
}

static TdAxisResult *
look_up (TdFoundAxes *axes, TdScan *scan, const char *key)
{
  for (GList *link = axes->found.head; link; link = link->next) {
    const Found *found = link->data;
    if (found->scan == scan && strcmp (found->key, key) == 0)
      return td_axis_result_copy (found->result);
  }
  return NULL;
}

TdAxisResult *
td_found_axes_get (TdFoundAxes *axes, TdScan *scan, const char *key, GCancellable *cancellable,
                   GError **error)
{
  TdAxisResult *result = NULL;
  gboolean cancelled = FALSE;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&axes->lock);
  while (!(result = look_up (axes, scan, key)) && axes->searching && !cancelled) {
    g_cond_wait_until (&axes->done, &axes->lock, g_get_monotonic_time () + LOOK_US);
    cancelled = g_cancellable_set_error_if_cancelled (cancellable, error);
  }
  if (!result && !cancelled)
    axes->searching = TRUE;
  return result;
}

void
td_found_axes_put (TdFoundAxes *axes, TdScan *scan, const char *key, const TdAxisResult *result)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&axes->lock);

  if (result) {
    Found *found = g_new (Found, 1);
    *found = (Found) { td_scan_ref (scan), g_strdup (key), td_axis_result_copy (result) };
    g_queue_push_head (&axes->found, found);
    if (axes->found.length > N_KEPT)
      found_free (g_queue_pop_tail (&axes->found));
  }
  axes->searching = FALSE;
  g_cond_broadcast (&axes->done);
}
