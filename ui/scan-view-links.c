/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-view-private.h"

#include <math.h>

#define NUDGE_PX 0.5
#define NUDGE_FINE_PX 0.05

static void
move_row (TdScanView *self, double row)
{
  if (self->scan)
    td_scan_view_set_row (self,
                          (guint) CLAMP (round (row), 0, td_scan_facts (self->scan)->n_rows - 1));
}

static void
move_view (TdScanView *self, double view)
{
  if (self->scan)
    td_scan_view_set_view (
        self, (guint) CLAMP (round (view), 0, td_scan_facts (self->scan)->n_views - 1));
}

static void
on_projection_picked (TdSliceView *view, double column, double row, TdScanView *self)
{
  move_row (self, row);
}

static void
on_projection_line (TdSliceView *view, double row, TdScanView *self)
{
  move_row (self, row);
}

static void
on_projection_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  move_row (self, (double) self->row + dy);
  move_view (self, (double) self->view + dx);
}

static void
on_sinogram_picked (TdSliceView *view, double column, double row, TdScanView *self)
{
  move_view (self, row);
}

static void
on_sinogram_line (TdSliceView *view, double row, TdScanView *self)
{
  move_view (self, row);
}

static void
on_sinogram_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  move_view (self, (double) self->view + dy);
  move_row (self, (double) self->row + dx);
}

static void
on_slice_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdScanView *self)
{
  if (dx != 0)
    g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_NUDGE_CENTRE], 0,
                   dx * (fine ? NUDGE_FINE_PX : NUDGE_PX));
  else
    move_row (self, (double) self->row + dy);
}

static void
on_slice_region (TdSliceView *view, double x, double y, double width, double height,
                 TdScanView *self)
{
  g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_REGION_DRAWN], 0, (int) x, (int) y,
                 (int) width, (int) height);
}

static void
on_projection_region (TdSliceView *view, double x, double y, double width, double height,
                      TdScanView *self)
{
  g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_CROP_DRAWN], 0, (int) x, (int) y,
                 (int) width, (int) height);
}

static void
scan_view_links_on_no_gl (TdSliceView *view, const char *reason, TdScanView *self)
{
  if (!self->told_no_gl)
    g_signal_emit (self, td_scan_view_signals[TD_SCAN_VIEW_NO_GL], 0, reason);
  self->told_no_gl = TRUE;
}

void
td_scan_view_connect (TdScanView *self)
{
  TdSliceView *projection = td_image_pane_view (self->projection);
  TdSliceView *sinogram = td_image_pane_view (self->sinogram);
  TdSliceView *slice = td_image_pane_view (self->slice);

  g_signal_connect (projection, "picked", G_CALLBACK (on_projection_picked), self);
  g_signal_connect (projection, "line-moved", G_CALLBACK (on_projection_line), self);
  g_signal_connect (projection, "nudged", G_CALLBACK (on_projection_nudged), self);
  g_signal_connect (projection, "region-drawn", G_CALLBACK (on_projection_region), self);
  g_signal_connect (projection, "failed", G_CALLBACK (scan_view_links_on_no_gl), self);
  g_signal_connect (sinogram, "picked", G_CALLBACK (on_sinogram_picked), self);
  g_signal_connect (sinogram, "line-moved", G_CALLBACK (on_sinogram_line), self);
  g_signal_connect (sinogram, "nudged", G_CALLBACK (on_sinogram_nudged), self);
  g_signal_connect (slice, "nudged", G_CALLBACK (on_slice_nudged), self);
  g_signal_connect (slice, "region-drawn", G_CALLBACK (on_slice_region), self);
}
