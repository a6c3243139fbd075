/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "latency.h"

#include <time.h>

#define TICK_MS 2

static gboolean wanted;
TdLatency td_latency_last;
guint td_latency_count;

static TdLatency now;
static gint64 first_us, change_us, ticked_us;
static double ticked_processor_ms, first_processor_ms;
static TdJobQueue *queue; /* of the window that was made last */
static gboolean coarse_shown, full_shown;

static double
latency_since_ms (gint64 begun_us)
{
  return (double) (g_get_monotonic_time () - begun_us) / 1e3;
}

/* Processor time of the calling thread, the main one. */
static double
latency_processor_ms (void)
{
  struct timespec used;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &used);
  return 1e3 * (double) used.tv_sec + (double) used.tv_nsec / 1e6;
}

static gboolean
latency_on_tick (gpointer unused)
{
  if (ticked_us)
    now.stall_ms = MAX (now.stall_ms, latency_since_ms (ticked_us) - TICK_MS);
  now.busy_ms = MAX (now.busy_ms, latency_processor_ms () - ticked_processor_ms);
  ticked_us = g_get_monotonic_time ();
  ticked_processor_ms = latency_processor_ms ();
  return G_SOURCE_CONTINUE;
}

static void
latency_on_change (void)
{
  change_us = g_get_monotonic_time ();
  if (now.changes++ > 0)
    return;
  first_us = change_us;
  first_processor_ms = latency_processor_ms ();
  now.first_ms = now.stall_ms = now.busy_ms = 0;
}

static guint
latency_jobs (void)
{
  GListModel *model = queue ? td_job_queue_model (queue) : NULL;
  guint running = 0;

  for (guint i = 0; model && i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    running += !td_job_item_ended (item);
  }
  return running;
}

static void
latency_on_painted (GdkFrameClock *clock, TdScanView *view)
{
  if (!td_scan_view_slice_is_current (view)) /* pixels of it are still on their way to the card */
    return;
  if (coarse_shown || full_shown)
    now.first_ms = now.first_ms > 0 ? now.first_ms : latency_since_ms (first_us);
  coarse_shown = FALSE;
  if (!full_shown || now.changes == 0)
    return;
  full_shown = FALSE;
  now.full_ms = latency_since_ms (change_us);
  now.main_ms = latency_processor_ms () - first_processor_ms;
  now.jobs = latency_jobs ();
  td_latency_last = now;
  now = (TdLatency) { 0 };
  td_latency_count++;
  g_message ("latency: first picture after %.0f ms, full slice after %.0f ms, changes %u, longest "
             "stall %.0f ms, the main thread computed %.0f ms at once and %.0f ms in all, jobs %u",
             td_latency_last.first_ms, td_latency_last.full_ms, td_latency_last.changes,
             td_latency_last.stall_ms, td_latency_last.busy_ms, td_latency_last.main_ms,
             td_latency_last.jobs);
}

static void
latency_on_shown (TdScanView *view, gboolean coarse)
{
  if (now.changes == 0)
    return;
  coarse_shown |= coarse;
  full_shown |= !coarse;
  gtk_widget_queue_draw (GTK_WIDGET (view));
}

static void
latency_on_realize (GtkWidget *view)
{
  g_signal_connect_object (gtk_widget_get_frame_clock (view), "after-paint",
                           G_CALLBACK (latency_on_painted), view, 0);
}

void
td_latency_want (gboolean want)
{
  wanted = want;
}

void
td_latency_watch (TdSession *session, TdScanView *view, TdJobQueue *jobs)
{
  if (!wanted)
    return;
  g_set_weak_pointer (&queue, jobs);
  g_signal_connect (session, "recipe-changed", G_CALLBACK (latency_on_change), NULL);
  g_signal_connect (view, "row-changed", G_CALLBACK (latency_on_change), NULL);
  g_signal_connect (view, "slice-shown", G_CALLBACK (latency_on_shown), NULL);
  g_signal_connect (view, "realize", G_CALLBACK (latency_on_realize), NULL);
  g_timeout_add_full (G_PRIORITY_HIGH, TICK_MS, latency_on_tick, NULL, NULL);
}
