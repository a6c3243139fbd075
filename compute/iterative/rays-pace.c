/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rays-private.h"

/* A launch cannot be stopped: it is as long as one may wait for a cancelled job, by far. */
#define LAUNCH_S 0.04
/* Work-items along an axis, which the devices count in an int. */
#define MOST_ITEMS (1u << 28)
/* Waiting for a shorter one measures nothing but the waiting. */
#define LEAST_S 0.001

static gboolean
rays_pace_settle (TdRayProjector *rays, GError **error)
{
  if (!td_queue_finish (rays->queue, error))
    return FALSE;
  const gint64 now = g_get_monotonic_time ();
  const double seconds = (now - rays->since_us) * 1e-6;

  if (seconds > LEAST_S)
    rays->rate = CLAMP (rays->pending / seconds, rays->rate / 4, rays->rate * 4);
  else
    rays->rate *= 2;
  rays->pending = 0;
  rays->since_us = now;
  return TRUE;
}

gboolean
td_rays_pace (TdRayProjector *rays, const TdRayPace *pace, GError **error)
{
  const double each = pace->each;

  for (guint first = 0; first < pace->n;) {
    const double room = MAX (rays->rate * LAUNCH_S - rays->pending, each);
    const guint end = first + (guint) CLAMP (room / each, 1, (double) (pace->n - first));

    if (g_cancellable_set_error_if_cancelled (rays->cancellable, error))
      return FALSE;
    if (rays->pending == 0)
      rays->since_us = g_get_monotonic_time ();
    if (!pace->launch (rays, first, end, pace->user, error))
      return FALSE;
    rays->pending += (end - first) * each;
    if (rays->pending >= 0.9 * rays->rate * LAUNCH_S && !rays_pace_settle (rays, error))
      return FALSE;
    first = end;
  }
  return TRUE;
}

gboolean
td_rays_launch (TdRayProjector *rays, TdKernel *kernel, const guint items[3], const TdArg *args,
                guint n_args, GError **error)
{
  const TdDeviceInfo *info = td_device_info (rays->device);
  guint local[3] = { 1, 1, 1 };

  if (!info->cpu_shaped && !info->host_pointers) {
    /* Whole warps: of neighbours along x where there are so many, else of several lines. */
    const guint size = MIN (TD_RAY_GROUP, info->max_group_size);
    while (local[0] < 32 && local[0] < items[0])
      local[0] *= 2;
    local[0] = MIN (local[0], size);
    while (local[0] * local[1] * 2 <= size && local[1] < items[1])
      local[1] *= 2;
  }
  const guint groups[3]
      = { (items[0] + local[0] - 1) / local[0], (items[1] + local[1] - 1) / local[1], items[2] };

  return td_launch (rays->queue, kernel, groups, local, args, n_args, error);
}

static gboolean
rays_launch_part (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  const TdRayRun *run = user;
  const guint each = run->items[run->cut], most = MAX (MOST_ITEMS / each, 1);

  for (guint from = first; from < end; from += most) {
    const guint to = MIN (end, from + most);
    guint items[3] = { run->items[0], run->items[1], run->items[2] };

    items[run->cut] = (to - from) * each;
    *run->first = (int) from;
    *run->end = (int) to;
    if (!td_rays_launch (rays, run->kernel, items, run->args, run->n_args, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_rays_run (TdRayProjector *rays, const TdRayRun *run, GError **error)
{
  return td_rays_pace (rays, &(TdRayPace) { run->n, run->each, rays_launch_part, (gpointer) run },
                       error);
}
