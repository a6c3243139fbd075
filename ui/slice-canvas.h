/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/image.h"
#include "render/view.h"

/**
 * What a slice view shows. Owned by the slice view; its canvas (GL or software) reads it when it
 * draws and is freed before it. Main thread.
 */
typedef struct {
  TdImage *image;  /* NULL: nothing */
  TdImage *second; /* right of the wipe; NULL: no wipe */
  double wipe;     /* 0 … 1 of the width */
  TdView view;
  TdStyle style;
} TdScene;

/* A canvas by OpenGL. @failed is called once, while realising, when GL is missing or too old. */
typedef void (*TdCanvasFailed) (const char *reason, gpointer user);
GtkWidget *td_gl_canvas_new (const TdScene *scene, TdCanvasFailed failed, gpointer user);
/* It was drawn with the scene's picture; FALSE: with the one before, until all of it is uploaded.
 */
gboolean td_gl_canvas_is_current (GtkWidget *canvas);
/* A canvas by the processor: works everywhere. */
GtkWidget *td_soft_canvas_new (const TdScene *scene);
