/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"
#include "dataset/message.h"

/* TdProvenance: what made a volume of this program, as the volume tells it. */
typedef struct {
  char *volume;    /* its path */
  char *scan;      /* the path of the scan that it was made of, where that is found now */
  TdRecipe recipe; /* as the plan had it: nothing in it is "auto" that was decided */
  char *units;
  guint nx, ny, n_slices;
  double pixel_mm; /* 0: unknown */
  double seconds;  /* that the run took */
  gboolean axis_searched, axis_agreed;
  double axis_sigma_px; /* NAN: not known */
  TdMessage **notes;    /* of the plan, in English */
} TdProvenance;

/* @path: a volume, the folder of its slices, or a file of that folder. A scan that is not
   where it was may lie beside the volume. NULL: it is no volume of this program. Reads headers
   only; any thread. (transfer full) */
TdProvenance *td_provenance_read (const char *path);
void td_provenance_free (TdProvenance *provenance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdProvenance, td_provenance_free)
