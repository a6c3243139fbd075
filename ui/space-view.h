/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "render/space.h"
#include "render/voxels.h"

/**
 * TdSpaceView: a space one can turn; knows nothing of tomography.
 *
 * Mouse: primary drag turns, middle or Shift drag moves, wheel and pinch zoom. Keys: arrows turn
 * (Shift: finely), Ctrl with arrows moves, + and - zoom, 0 shows it as at first. Without OpenGL it
 * is drawn by the processor.
 */
#define TD_TYPE_SPACE_VIEW (td_space_view_get_type ())
G_DECLARE_FINAL_TYPE (TdSpaceView, td_space_view, TD, SPACE_VIEW, GtkWidget)

/* Takes @space (nullable). */
void td_space_view_take_space (TdSpaceView *self, TdSpace *space);
/* Values in a box (nullable), drawn over the space as @cast says. Without OpenGL they are drawn off
   the main thread, coarsely first. */
void td_space_view_set_voxels (TdSpaceView *self, TdVoxels *voxels, const TdCast *cast);
/* From where it is looked at first; keeps direction, zoom and place if they were changed. */
void td_space_view_set_ball (TdSpaceView *self, const double centre[3], double radius);
void td_space_view_look_from (TdSpaceView *self, double yaw_deg, double pitch_deg);
void td_space_view_reset (TdSpaceView *self);
