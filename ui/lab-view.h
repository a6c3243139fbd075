/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdLabView: the precision lab's page: one slice by two to nine variants of the window's recipe,
 * their pictures, figures, curves and a blind test. Signals: "take-requested" (gpointer recipe):
 * make it the window's recipe.
 */
#define TD_TYPE_LAB_VIEW (td_lab_view_get_type ())
G_DECLARE_FINAL_TYPE (TdLabView, td_lab_view, TD, LAB_VIEW, GtkWidget)

void td_lab_view_set_engine (TdLabView *self, TdEngine *engine);
void td_lab_view_set_scan (TdLabView *self, TdScan *scan); /* (nullable) */
/* The window's recipe, and the detector row. */
void td_lab_view_set_base (TdLabView *self, const TdRecipe *recipe, guint row);
/* Nothing is computed while it is not looked at. */
void td_lab_view_set_active (TdLabView *self, gboolean active);
void td_lab_view_set_colour_map (TdLabView *self, const char *name);
/* The pictures as they look on the screen, without buttons: four bytes a pixel. NULL: they are on
   none. (transfer full) */
GBytes *td_lab_view_picture (TdLabView *self, guint *width, guint *height);
