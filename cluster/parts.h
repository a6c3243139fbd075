/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "grid.h"

/**
 * TdParts: which slices of a job's volume are on the disk, as the file "parts.json" in the job's
 * folder. A job that is started again computes the others only. Rank 0's. Any thread may ask and
 * note; one at a time saves.
 */
typedef struct TdParts TdParts;

/* What must be the same for slices of an earlier run to be of use. Strings are borrowed. */
typedef struct {
  const char *job, *output, *recipe; /* the job's name, where the volume goes, the recipe's JSON */
  guint nx, ny, n_slices;
} TdPartsOf;

TdParts *td_parts_new (const char *folder, const TdPartsOf *of);
void td_parts_free (TdParts *parts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdParts, td_parts_free)
/* Takes what an earlier run noted. FALSE: there is no such run, or it computed something else. */
gboolean td_parts_resume (TdParts *parts);
gboolean td_parts_has (TdParts *parts, guint first, guint count); /* all of them */
void td_parts_note (TdParts *parts, guint first, guint count);
/* Whole and on the disk, or not at all. */
gboolean td_parts_save (TdParts *parts, GError **error);
/* Ranges of slices (TdGridShare) that are there, or are not. (transfer full) */
GArray *td_parts_list (TdParts *parts, gboolean there);
/* What place @index of @n_shares does of @ranges, by td_grid_share(). (transfer full) */
GArray *td_parts_share (const GArray *ranges, const double *shares, guint n_shares, guint index);
