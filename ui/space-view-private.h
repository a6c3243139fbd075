/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "space-view.h"

/* What a canvas draws; owned by the space view, which outlives its canvas. */
typedef struct {
  TdSpace *space; /* NULL: nothing */
  TdCamera camera;
  TdInk background;
} TdSpaceScene;

struct _TdSpaceView {
  GtkWidget parent_instance;
  GtkWidget *canvas; /* NULL: drawn by the processor */
  TdSpaceScene scene;
  TdCamera drag_camera; /* as the drag began */
  gboolean drag_moves;
  double pinch_zoom;
};

/* space-view-gl.c. @failed is called once, while realising, when GL is missing or too old. */
typedef void (*TdSpaceFailed) (gpointer user);
GtkWidget *td_space_canvas_new (const TdSpaceScene *scene, TdSpaceFailed failed, gpointer user);

/* space-view-input.c */
void td_space_view_add_input (TdSpaceView *self);
void td_space_view_redraw (TdSpaceView *self);
