/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "session.h"
#include "ui/job-queue.h"
#include "ui/scan-view.h"

/**
 * What "--debug-latency" prints. It times the way from a change of the recipe or the row to the
 * slice on the screen. It also times the longest stall of the main thread in between. Main thread.
 */
typedef struct {
  guint changes;   /* since the last full slice */
  double first_ms; /* from the first of them to the first picture; 0: none came yet */
  double full_ms;  /* from the last of them to the full slice */
  double stall_ms; /* the longest time since the first of them that the main loop stood still */
  double busy_ms;  /* the most processor time that the main thread took between two ticks of its
                      loop: unlike stall_ms, other threads do not add to it */
  double main_ms;  /* the main thread computed, in all, since the first of them */
  guint jobs;      /* that were not over when the full slice was drawn */
} TdLatency;

/* Before the window is made: whether it is watched. */
void td_latency_want (gboolean want);
/* Before anything else follows the session; the window's own. Does nothing where it is not wanted.
 */
void td_latency_watch (TdSession *session, TdScanView *view, TdJobQueue *jobs);
/* Of the last change whose full slice was drawn; td_latency_count of them were, since the start. */
extern TdLatency td_latency_last;
extern guint td_latency_count;
