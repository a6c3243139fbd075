/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/axis/axis.h"
#include "recipe-group.h"

/* TdCentreGroup: the centre of rotation and the tilt of the axis, set by hand or found. Signal
   "trials-wanted" (double first_px, double last_px): the methods disagree, and found centres there.
 */
#define TD_TYPE_CENTRE_GROUP (td_centre_group_get_type ())
G_DECLARE_FINAL_TYPE (TdCentreGroup, td_centre_group, TD, CENTRE_GROUP, TdRecipeGroup)

/* What "Find" searches; @scan: (nullable). Ends a search that runs. */
void td_centre_group_set_scan (TdCentreGroup *self, TdEngine *engine, TdScan *scan);
double td_centre_group_get_centre (TdCentreGroup *self); /* in use, set or not */
/* Something says where the axis is: the recipe, the file, or a geometry that is no parallel beam's.
 */
gboolean td_centre_group_is_known (TdCentreGroup *self);
void td_centre_group_find (TdCentreGroup *self);
/* A search found this centre, of which the methods are not sure, and nobody has said where the axis
   is; NAN: it is not so. To search again would find the same. */
double td_centre_group_offers (TdCentreGroup *self);
void td_centre_group_take_found (TdCentreGroup *self);        /* what it offers */
GtkWidget *td_centre_group_find_button (TdCentreGroup *self); /* insensitive while it searches */
void td_centre_group_nudge (TdCentreGroup *self, double by_px);
/* As typing the centre; moves within a second are one step to undo. */
void td_centre_group_move (TdCentreGroup *self, double centre_px);
/* The same of an axis that is dragged; @tilt_deg: NAN: as it is. All of one @drag is one step to
   undo, however long it takes; 0: as td_centre_group_move(). */
void td_centre_group_drag (TdCentreGroup *self, double centre_px, double tilt_deg, guint drag);
