/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan-view.h"

#include "frame-loader.h"
#include "preview.h"
#include "scan-readout.h"

/* The pictures without a step, kept beside those of the recipe so that going from one to the other
   takes no time. */
typedef struct {
  gboolean on;   /* these are shown */
  char step[32]; /* left out; "": all that the presets do not have */
  TdPreview *preview;
  TdFrameLoader *sinograms;
  TdImage *slice, *sinogram;             /* NULL: to be asked for when they are wanted */
  TdImage *after_slice, *after_sinogram; /* the recipe's; NULL: on its way */
  char *after_subtitle;
  char *slice_problem, *sinogram_problem; /* why there is none of the recipe's; NULL: there is */
} TdBefore;

/* Shared by scan-view.c (pictures asked for and shown), scan-view-links.c (what is done in one
   picture moves the others) and scan-view-before.c (pictures without a step). */
struct _TdScanView {
  GtkWidget parent_instance;
  GtkWidget *across, *down;
  TdImagePane *projection, *sinogram, *slice;
  GtkWidget *view_footer, *row_footer;
  GtkAdjustment *view_adjustment, *row_adjustment;
  TdPreview *preview;
  TdFrameLoader *projections, *sinograms;
  TdBefore before;
  TdScan *scan;
  TdRecipe recipe;
  gboolean has_recipe;
  gboolean sinogram_due; /* comes on the way to the slice */
  guint row, view;
  TdSliceReadout slice_readout;
  gboolean told_no_gl;
};

typedef enum {
  TD_SCAN_VIEW_NUDGE_CENTRE,
  TD_SCAN_VIEW_REGION_DRAWN,
  TD_SCAN_VIEW_CROP_DRAWN,
  TD_SCAN_VIEW_ROW_CHANGED,
  TD_SCAN_VIEW_SLICE_SHOWN,
  TD_SCAN_VIEW_NO_GL,
  TD_SCAN_VIEW_N_SIGNALS
} TdScanViewSignal;
extern guint td_scan_view_signals[TD_SCAN_VIEW_N_SIGNALS];

void td_scan_view_connect (TdScanView *self);
/* Spinners, by what is on its way to what is shown. */
void td_scan_view_show_busy (TdScanView *self);

/* scan-view-before.c */
void td_before_init (TdScanView *self, TdEngine *engine);
void td_before_clear (TdScanView *self);
/* Another scan: nothing is kept, and the recipe's pictures are shown. */
void td_before_reset (TdScanView *self);
/* What was kept is old: recipe or row changed. Asks anew while it is shown. */
void td_before_slice_stale (TdScanView *self);
void td_before_sinogram_stale (TdScanView *self);
/* Keeps a picture of the recipe's, or why there is none. TRUE: it is not to be shown now. */
gboolean td_before_keep_slice (TdScanView *self, TdImage *image, const char *subtitle,
                               const GError *error);
gboolean td_before_keep_sinogram (TdScanView *self, TdImage *image, const GError *error);
