/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"
#include "job-file.h"

/**
 * TdGrid: how ranks divide a volume and its views (iFDK, section 4.1.1, Figure 3). R rows of C
 * ranks: a row has one sub-volume, and each of its ranks adds one group of views to it. Rank r is
 * in row r / C and column r % C. Pure; any thread.
 */
typedef struct {
  guint ranks;         /* that there are */
  guint rows, columns; /* R, C; ranks from R C on are idle */
} TdGrid;

/* What the volume and the job leave to choose. */
typedef struct {
  guint n_slices, n_views;
  guint least_rows;       /* as few rows as there may be are best; 0: as many as possible are */
  const char *one_column; /* why all views must be added by one rank, as a clause; NULL: they need
                             not */
  guint parts;            /* of the turn, of each of which all ranks have views; 0: as 1 */
} TdGridLimits;

/* Views that are filtered and handed on at once, iFDK's N_batch. */
#define TD_GRID_BATCH 32
/* R of Equation 7 and the condition after it, a power of two. Each of R sub-volumes fits half of a
   device's memory (the paper has 8 of 16 GB). With @batch_bytes of views it fits all of the memory.
 */
guint td_grid_least_rows (double volume_bytes, double batch_bytes, double memory_bytes, guint most);

/* Refuses ranks and modes that cannot do the job, before anything is planned. @undivided: of
   td_method_undivided(). */
gboolean td_grid_check_job (const TdScanFacts *scan, const char *undivided, TdClusterMode mode,
                            guint ranks, GError **error);

/* The grid that @wish asks for. Where it leaves the choice, every rank works, and there are as many
   rows as there are slices for, since rows exchange nothing. With least_rows there are as few rows
   as there may be. TD_ERROR_INVALID: there is none. */
gboolean td_grid_choose (guint ranks, const TdClusterWish *wish, const TdGridLimits *limits,
                         TdGrid *grid, GError **error);

/* [first, first + count) of @n things for place @index of @shares->len, in proportion to the shares
   (double). Counts are multiples of @step; the last place has the remainder too. Each has at least
   @step, if there are as many. */
typedef struct {
  guint first, count;
} TdGridShare;
TdGridShare td_grid_share (guint n, guint step, const double *shares, guint n_shares, guint index);

/* Kernels add views together that lie a part of a turn apart, @together of them; 1: they do not. A
   group of views suits them if it has the same views of each part. Group @index of so many, sized
   as td_grid_share() has it. Where there are too few views, or they cannot be parted so, groups
   follow each other in the scan, and parts is 1. */
TdViewGroup td_grid_views (guint n_views, guint together, const double *shares, guint n_shares,
                           guint index);

/* Whole views that come one after another would keep such kernels waiting for the last part. So
   chunks of a group of @n_views come from each part in turn. Returns how many views a chunk then
   has, at most @chunk and even; 0: the views cannot be parted so, or chunks would be much smaller.
 */
guint td_grid_gathered (guint chunk, guint n_views, guint together);
