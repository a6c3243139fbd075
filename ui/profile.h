/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/image.h"
#include "render/view.h"

/**
 * TdProfile: the values of a picture along one of its rows. It lies under the picture and is as
 * wide, so that each value stands below its pixel. Values are not interpolated. What is not finite
 * leaves a gap.
 */
#define TD_TYPE_PROFILE (td_profile_get_type ())
G_DECLARE_FINAL_TYPE (TdProfile, td_profile, TD, PROFILE, GtkWidget)

/* @image: (nullable): referenced. @view: of the picture above. @column: marked; NAN: none. */
/* The units of the values; "": none. */
void td_profile_set_units (TdProfile *self, const char *units);
void td_profile_show (TdProfile *self, TdImage *image, const TdView *view, double row,
                      double column);
