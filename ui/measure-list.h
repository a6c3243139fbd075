/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "dataset/volume-cut.h"
#include "marks.h"

/**
 * TdMeasureList: what was measured in the planes of a volume, a row each with its values, and the
 * profile of one line. Rows can be removed, and everything exported. A measure belongs to its plane
 * and keeps its values when another is shown.
 *
 * Signals: "changed" (): marks are others now; "shown" (int axis, guint at): a row was activated,
 * its plane is wanted.
 */
#define TD_TYPE_MEASURE_LIST (td_measure_list_get_type ())
G_DECLARE_FINAL_TYPE (TdMeasureList, td_measure_list, TD, MEASURE_LIST, AdwBin)

/* Removes all measures and begins with another volume. @units: of its values; NULL: unknown. */
void td_measure_list_begin (TdMeasureList *self, double voxel_mm, const char *units);
/* Measures @image, the plane at @at across @axis. */
void td_measure_list_add (TdMeasureList *self, const TdMeasure *measure, TdVolumeAxis axis,
                          guint at, const TdImage *image);
guint td_measure_list_length (TdMeasureList *self);
/* The marks of that plane. (element-type TdMark) (transfer full) */
GArray *td_measure_list_marks (TdMeasureList *self, TdVolumeAxis axis, guint at);
/* What is exported, in pairs: what follows the file's name, and the text. The first has a line a
   measure, comma-separated, with decimal points: lengths in pixels and, where the voxel's size is
   known, in mm. Then each line's profile follows. (transfer full) */
GStrv td_measure_list_texts (TdMeasureList *self);
/* Writes those (a GStrv), profiles as "PATH-NUMBER.csv" beside @path. Any thread. */
gboolean td_measure_texts_save (gpointer texts, const char *path, GError **error);
