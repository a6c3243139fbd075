/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "session.h"
#include "ui/scan-view.h"

/**
 * What "--debug-latency" prints: how long it takes from a change of the recipe or the row to the
 * slice on the screen, and how long the main thread did nothing else meanwhile. Main thread.
 */
typedef struct {
  guint changes;   /* since the last full slice */
  double first_ms; /* from the first of them to the first picture; 0: none came yet */
  double full_ms;  /* from the last of them to the full slice */
  double stall_ms; /* the longest since the first of them that nothing else was done */
  double busy_ms;  /* … and that the main thread itself computed: others take the processor too */
} TdLatency;

/* Before the window is made: whether it is watched. */
void td_latency_want (gboolean want);
/* Before anything else follows the session; the window's own. Does nothing where it is not wanted.
 */
void td_latency_watch (TdSession *session, TdScanView *view);
/* Of the last change whose full slice was drawn; td_latency_count of them were, since the start. */
extern TdLatency td_latency_last;
extern guint td_latency_count;
