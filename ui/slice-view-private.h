/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "slice-view.h"

#include "slice-view-scene.h"

/* Shared by slice-view.c (state and drawing) and slice-view-input.c (pointer and keys). */
struct _TdSliceView {
  GtkWidget parent_instance;
  GtkWidget *canvas;
  gboolean uses_gl;
  TdScene scene;
  gboolean filling; /* fitted means stretched over the widget */
  gboolean fitted;  /* stays fitted when the widget or the picture changes size */
  double row_line, column_line;
  gboolean row_draggable;
  double region[4];   /* width 0: none */
  double measured[4]; /* width 0: none */
  double pixel_mm[2];

  /* Input */
  double pointer_x, pointer_y; /* where it was last, widget pixels */
  enum {
    TD_DRAG_NONE,
    TD_DRAG_PAN,
    TD_DRAG_WINDOW,
    TD_DRAG_LINE,
    TD_DRAG_WIPE,
    TD_DRAG_REGION,
    TD_DRAG_MEASURE
  } drag;
  TdView drag_view;
  double drag_window[2];
  double drag_x, drag_y; /* where it began, widget pixels */
  gboolean drag_moved;
  double pinch_zoom;
};

typedef enum {
  TD_SIGNAL_POINTED,
  TD_SIGNAL_PICKED,
  TD_SIGNAL_LINE_MOVED,
  TD_SIGNAL_NUDGED,
  TD_SIGNAL_VIEW_CHANGED,
  TD_SIGNAL_WINDOW_CHANGED,
  TD_SIGNAL_REGION_DRAWN,
  TD_SIGNAL_MEASURED,
  TD_SIGNAL_FAILED,
  TD_SLICE_VIEW_N_SIGNALS
} TdSliceViewSignal;
extern guint td_slice_view_signals[TD_SLICE_VIEW_N_SIGNALS];

void td_slice_view_add_input (TdSliceView *self);
/* Widget position to picture position; FALSE without a picture. */
gboolean td_slice_view_locate (TdSliceView *self, double wx, double wy, double *column,
                               double *row);
/* Picture position to widget position. */
void td_slice_view_place (TdSliceView *self, double column, double row, double *wx, double *wy);
/* After scene.view was changed by hand. */
void td_slice_view_moved (TdSliceView *self);
void td_slice_view_redraw (TdSliceView *self);
