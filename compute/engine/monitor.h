/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdMonitor: the lock of what the threads of a run share, and the signal that something of it
 * changed. Threads pass items on through queues that belong to the lock.
 */
typedef struct {
  GMutex lock;
  GCond changed;
} TdMonitor;

void td_monitor_init (TdMonitor *monitor);
void td_monitor_clear (TdMonitor *monitor);

/* Wakes every thread that waits, and unlocks. */
void td_monitor_release (TdMonitor *monitor);
/* Under the lock: blocks until another thread releases it. */
void td_monitor_wait (TdMonitor *monitor);

/* Sets a figure of the run, and wakes every thread that waits. */
void td_monitor_set (TdMonitor *monitor, guint *figure, guint value);
/* Appends @item to the queue, and wakes every thread that waits. */
void td_monitor_put (TdMonitor *monitor, GQueue *queue, gpointer item);
/* Blocks until the queue has an item, and takes it. NULL: @stopped (user), which is asked under the
   lock, gave TRUE. */
gpointer td_monitor_get (TdMonitor *monitor, GQueue *queue,
                         gboolean (*stopped) (gconstpointer user), gconstpointer user);
/* A handler of GCancellable's signal "cancelled": wakes every thread that waits. */
void td_monitor_wake (GCancellable *cancellable, gpointer monitor);
/* The same: cancels @other too. */
void td_monitor_cancel (GCancellable *cancellable, gpointer other);
