/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/**
 * TdFlats: the averaged flats and darks of a scan, and what else is worked out once for it. Rows
 * are read when they are first asked for, and all devices share them. Reference counted; any
 * thread. The last rows read are kept, so that the reading thread of a job can fetch them ahead of
 * the device's.
 */
typedef struct TdFlats TdFlats;

/* How the frames of a kind become one. */
typedef struct {
  gboolean median;    /* of each pixel's finite samples; else their mean */
  gboolean one_group; /* all flats together; else those taken at one moment of the scan */
} TdFlatsHow;

/* Flats taken at more moments than this are pooled with their neighbours. */
#define TD_FLATS_MAX_GROUPS 16

typedef struct {
  gatomicrefcount references;
  guint row0, n_rows;
  guint n_groups;
  float *flat; /* [group][row][column]; NaN where there is no finite sample */
  float *dark; /* [row][column]; 0 where there is none */
} TdFlatRows;

TdFlats *td_flats_new (TdScan *scan);
TdFlats *td_flats_ref (TdFlats *flats);
void td_flats_unref (TdFlats *flats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFlats, td_flats_unref)

TdScan *td_flats_scan (TdFlats *flats); /* (transfer none) */

/* Blocks on the disk the first time. (transfer full): td_flat_rows_unref(). */
TdFlatRows *td_flats_read (TdFlats *flats, TdFlatsHow how, guint row0, guint n_rows,
                           GCancellable *cancellable, GError **error);
void td_flat_rows_unref (TdFlatRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFlatRows, td_flat_rows_unref)

/* Flats taken with the beam off, or much brighter than for the others; darks taken with the beam
   on. All averages leave them out, but where a group of flats has no others. Counts, and the first
   of each, from 0. */
typedef struct {
  guint n_flats, n_darks, first_flat, first_dark;
  guint n_bright, first_bright; /* flats that are too bright */
  double top, top_share; /* share of the flats' samples at the top of what their camera counts */
} TdFlatsOdd;

/* Reads a few rows of all frames the first time. */
gboolean td_flats_odd (TdFlats *flats, TdFlatsOdd *odd, GCancellable *cancellable, GError **error);

/* Groups of flats, 1 or more, in the order of their positions[TD_FLATS_MAX_GROUPS] (NULL: not asked
   for); @group_of_flat (NULL, or n_flats) says where each belongs. */
guint td_flats_groups (const TdScanFacts *facts, gboolean one_group, double *positions,
                       guint *group_of_flat);

/* The average of @of_flats, one number for each flat, in each group: of the flats that are
   averaged, in the same way. Reads as td_flats_odd() does. */
gboolean td_flats_average_of (TdFlats *flats, TdFlatsHow how, const double *of_flats,
                              double averages[TD_FLATS_MAX_GROUPS], GCancellable *cancellable,
                              GError **error);

/* What the flats between two groups are taken to change with. */
typedef enum { TD_FLATS_BY_VIEW, TD_FLATS_BY_ANGLE } TdFlatsBy;

/* Where each view lies among @n_groups at @positions: out[n_views][2] is a group a and the share w
   of group a + 1. Before the first and after the last group w is 0. By view: views follow each
   other at a constant rate; view v lies at v + 1/2. By angle: along the angle turned. */
void td_flats_places (const TdScanFacts *facts, TdFlatsBy by, const double *positions,
                      guint n_groups, float *out);

/* Something that is worked out once for the scan and then shared. It is the bytes that @make
   returned when somebody first asked for @key. Other threads wait for it. The last few are kept.
   (transfer full) */
typedef GBytes *(*TdFlatsMake) (TdFlats *flats, gconstpointer user, GCancellable *cancellable,
                                GError **error);
GBytes *td_flats_once (TdFlats *flats, const char *key, TdFlatsMake make, gconstpointer user,
                       GCancellable *cancellable, GError **error);

/* Host memory that reading and keeping @n_rows takes at most. */
guint64 td_flats_host_bytes (const TdScanFacts *facts, TdFlatsHow how, guint n_rows);
