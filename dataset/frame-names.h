/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What a file or folder is by its name, as the programs of the field call them. Words are runs of
 * letters: "refHST", "Flat_Before", "ff0001" and "darks" all say something.
 */
typedef enum {
  TD_NAME_PROJECTION, /* nothing special is said */
  TD_NAME_FLAT,
  TD_NAME_DARK,
  TD_NAME_HALF_TURN, /* one projection at 180°, for finding the axis */
} TdNameRole;

TdNameRole td_name_role (const char *name);
/* The same for names that stand among strangers' (folders, files beside the scan's folder). A name
   has a role only if all its words speak of it: "Flat_Before" has one, "run-FF1" none. */
TdNameRole td_name_role_strict (const char *name);
/* Before which view flats of this name were taken: 0 (before, pre), @n_views (after, post), the
   number of an ESRF refHST file; NAN: it does not say. */
double td_name_flat_position (const char *folder, const char *name, guint n_views);
gboolean td_name_is_sinogram (const char *name);
/* Whose the flats, darks, angles or parameters of this name are, where it says so: "sampleB" of
   "sampleB_flat_0001.tif" and of "angles-sampleB.txt"; NULL: nobody's. (transfer full) */
char *td_name_owner (const char *name);
/* A text file of angles. */
gboolean td_name_is_angles (const char *name);
/* A folder that projections are usually put into ("tiffs", "projections", "tomo" …). */
gboolean td_name_is_projection_folder (const char *name);
