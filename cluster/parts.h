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

/**
 * TdHandout: rows of a parallel beam, given to ranks as they ask, a few at a time. Fast ranks get
 * more. Rows that a rank has had for too long go to another as well: both write the same values.
 * One thread.
 */
typedef struct TdHandout TdHandout;

/* @missing: ranges (TdGridShare) to be computed. */
TdHandout *td_handout_new (const GArray *missing, guint ranks);
void td_handout_free (TdHandout *handout);
/* The next rows for @rank, which has finished those it had; @now: g_get_monotonic_time(). Count 0:
   no rows are left, or none can be given yet (*@later). *@slow: the rank that was given the same
   rows before; G_MAXUINT: none was. */
TdGridShare td_handout_grant (TdHandout *handout, guint rank, TdParts *parts, gint64 now,
                              gboolean *later, guint *slow);
