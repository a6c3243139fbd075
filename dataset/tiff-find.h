/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * Where the files of a TIFF scan are, given one of them or a folder. Flats, darks, angles and
 * geometry may lie beside the series of projections, in folders below it, and beside its folder.
 */
typedef struct {
  GPtrArray *projections, *flats, *darks; /* paths */
  char *angles;                           /* path; NULL: none found */
  char *geometry;  /* path of a geometry.json or NAME_parameters.json; NULL */
  char *half_turn; /* path of a projection at 180°; NULL */
  gboolean sinograms;
  TdMessage **notes;
} TdTiffSet;

TdTiffSet *td_tiff_find (const char *path, const TdScanOptions *options, GError **error);
void td_tiff_set_free (TdTiffSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTiffSet, td_tiff_set_free)
