/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan-view.h"

#include "frame-loader.h"
#include "preview.h"
#include "scan-readout.h"

/* Shared by scan-view.c (pictures asked for and shown) and scan-view-links.c (what is done in one
   picture moves the others). */
struct _TdScanView {
  GtkWidget parent_instance;
  GtkWidget *across, *down;
  TdImagePane *projection, *sinogram, *slice;
  GtkWidget *view_footer, *row_footer;
  GtkAdjustment *view_adjustment, *row_adjustment;
  TdPreview *preview;
  TdFrameLoader *projections, *sinograms;
  TdScan *scan;
  TdRecipe recipe;
  gboolean has_recipe;
  guint row, view;
  TdSliceReadout slice_readout;
  gboolean told_no_gl;
};

typedef enum {
  TD_SCAN_VIEW_NUDGE_CENTRE,
  TD_SCAN_VIEW_REGION_DRAWN,
  TD_SCAN_VIEW_ROW_CHANGED,
  TD_SCAN_VIEW_SLICE_SHOWN,
  TD_SCAN_VIEW_NO_GL,
  TD_SCAN_VIEW_N_SIGNALS
} TdScanViewSignal;
extern guint td_scan_view_signals[TD_SCAN_VIEW_N_SIGNALS];

void td_scan_view_connect (TdScanView *self);
