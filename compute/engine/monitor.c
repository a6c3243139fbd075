/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "monitor.h"

void
td_monitor_init (TdMonitor *monitor)
{
  g_mutex_init (&monitor->lock);
  g_cond_init (&monitor->changed);
}

void
td_monitor_clear (TdMonitor *monitor)
{
  g_mutex_clear (&monitor->lock);
  g_cond_clear (&monitor->changed);
}

void
td_monitor_release (TdMonitor *monitor)
{
  g_cond_broadcast (&monitor->changed);
  g_mutex_unlock (&monitor->lock);
}

void
td_monitor_wait (TdMonitor *monitor)
{
  g_cond_wait (&monitor->changed, &monitor->lock);
}

void
td_monitor_set (TdMonitor *monitor, guint *figure, guint value)
{
  g_mutex_lock (&monitor->lock);
  *figure = value;
  td_monitor_release (monitor);
}

void
td_monitor_put (TdMonitor *monitor, GQueue *queue, gpointer item)
{
  g_mutex_lock (&monitor->lock);
  g_queue_push_tail (queue, item);
  td_monitor_release (monitor);
}

gpointer
td_monitor_get (TdMonitor *monitor, GQueue *queue, gboolean (*stopped) (gconstpointer user),
                gconstpointer user)
{
  gboolean stop;

  g_mutex_lock (&monitor->lock);
  while (!(stop = stopped (user)) && g_queue_is_empty (queue))
    td_monitor_wait (monitor);
  gpointer item = stop ? NULL : g_queue_pop_head (queue);
  g_mutex_unlock (&monitor->lock);
  return item;
}

void
td_monitor_wake (GCancellable *cancellable, gpointer user)
{
  TdMonitor *monitor = user;

  g_mutex_lock (&monitor->lock);
  td_monitor_release (monitor);
}

void
td_monitor_cancel (GCancellable *cancellable, gpointer other)
{
  g_cancellable_cancel (other);
}
