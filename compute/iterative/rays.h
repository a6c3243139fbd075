/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"

/**
 * Line integrals and their adjoint on a device, for any view that a 3x4 matrix describes. These
 * are cone and fan beams of any orbit, tilt and offset, and parallel beams
 * (td_ray_task_parallel()). The method is Joseph's (IEEE Trans. Med. Imaging 1, 1982): a ray is
 * sampled bilinearly at every plane of voxels along the axis that it is steepest against. The
 * back-projection gathers with the same weights, so that <A x, y> = <x, A' y> up to rounding.
 *
 * On the device a volume is [y][x][z] with a border of zeros, and projections are
 * [place][column][row]. Places are the views in the order given to td_rays_new(), so that a
 * subset of views is a range of places. Values are per mm (per voxel_mm's unit), integrals in
 * that unit.
 *
 * One thread at a time. Long operations are cut into launches of a few hundredths of a second,
 * and look at their cancellable between them.
 */
typedef struct TdRayProjector TdRayProjector;

/* A parallel beam: u = centre_px + x cos + y sin, rows downwards. */
typedef struct {
  const double *angles_rad;
  guint n_views, n_columns, n_rows;
  double centre_px; /* at the middle row */
  double tilt;      /* of the axis, columns a row */
  guint nx;         /* the volume is nx^2 n_rows voxels … */
  double voxel_mm;  /* … of this size, one a column */
} TdRayParallel;

/* Its views as matrices whose last row is (0, 0, 0, 1). Clear with td_cone_task_clear(). */
void td_ray_task_parallel (TdConeTask *task, const TdRayParallel *beam);

/* FALSE with the sentence: the source stands in the volume, or there are 2^31 voxels or more. */
gboolean td_rays_check (const TdConeTask *task, GError **error);
/* Rays of one column lie in one plane along z, and none is steepest along z. The host has loops of
   its own for such, which are some 20 to 30 times as fast. */
gboolean td_rays_upright (const TdConeTask *task);
guint64 td_rays_volume_bytes (const TdConeTask *task); /* with its border */
guint64 td_rays_projection_bytes (const TdConeTask *task, guint n_views);
/* What td_rays_back() and td_rays_add() may hold besides, from their first call on, which is for
   @n_views. */
guint64 td_rays_scratch_bytes (const TdConeTask *task, guint n_views);

/* @order: the view at each place, n_views of them; NULL: as they come. @cancellable: ends all that
   the projector does; it keeps a reference. May be NULL. */
TdRayProjector *td_rays_new (TdDevice *device, const TdConeTask *task, const guint *order,
                             GCancellable *cancellable, GError **error);
void td_rays_free (TdRayProjector *rays);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRayProjector, td_rays_free)
TdQueue *td_rays_queue (TdRayProjector *rays); /* everything below goes there */

TdBuffer *td_rays_volume_new (TdRayProjector *rays, GError **error); /* zeros */
TdBuffer *td_rays_projections_new (TdRayProjector *rays, guint n_views, GError **error);

/* ── Projections ── */

/* Places [first, first + n). Projections of them begin with the first. */
typedef struct {
  guint first, n;
} TdRayViews;

/* What was measured: the projections of places from @held on. */
typedef struct {
  TdBuffer *lines;
  guint held;
} TdRayMeasured;

/* What is missing of it: (measured - A volume) / the ray's length in the volume, and the squared
   difference. */
typedef struct {
  TdBuffer *lines, *squares;
} TdRayMissing;

/* How a volume is corrected. */
typedef struct {
  double relaxation;
  gboolean non_negative; /* no voxel falls below 0 */
  TdBuffer *weights;     /* A' 1 of the same places, or NULL: the correction computes them */
} TdRayStep;

/* out = A volume. */
gboolean td_rays_project (TdRayProjector *rays, TdBuffer *volume, TdRayViews views, TdBuffer *out,
                          GError **error);
gboolean td_rays_compare (TdRayProjector *rays, TdBuffer *volume, const TdRayMeasured *measured,
                          TdRayViews views, const TdRayMissing *out, GError **error);
/* The second half of td_rays_compare(), for integrals that are in out->lines already. */
gboolean td_rays_differ (TdRayProjector *rays, const TdRayMeasured *measured, TdRayViews views,
                         const TdRayMissing *out, GError **error);
/* Projections of @n_views that are 1 everywhere: td_rays_back() of them is A' 1. Blocks. */
gboolean td_rays_fill_ones (TdRayProjector *rays, guint n_views, TdBuffer *lines, GError **error);
/* volume = A' lines. */
gboolean td_rays_back (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdBuffer *volume,
                       GError **error);
/* volume += relaxation * (A' lines) / (A' 1). With td_rays_compare() this is an iteration of SIRT
   (Gregor and Benson, IEEE Trans. Med. Imaging 27, 2008). The call overwrites @lines. */
gboolean td_rays_correct (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdRayStep step,
                          TdBuffer *volume, GError **error);
/* The same in parts of the views: sums += A' lines and, unless @weights is NULL, weights += A' 1.
   When all have been added, td_rays_apply() corrects the volume by them. */
gboolean td_rays_add (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdBuffer *sums,
                      TdBuffer *weights, GError **error);
gboolean td_rays_apply (TdRayProjector *rays, TdBuffer *sums, TdBuffer *weights, TdRayStep step,
                        TdBuffer *volume, GError **error);

/* ── Volumes ── */

/* Total variation (Chambolle 2004) by a dual field of three volumes, zeros at first. */
typedef struct {
  double strength; /* what a unit of variation costs */
  gboolean non_negative;
} TdRayVariation;

/* out = volume + strength * the field's divergence. */
gboolean td_rays_move (TdRayProjector *rays, TdBuffer *volume, TdBuffer *const field[3],
                       TdBuffer *out, TdRayVariation variation, GError **error);
/* The field makes a step up the gradient of @out. */
gboolean td_rays_climb (TdRayProjector *rays, TdBuffer *out, TdBuffer *const field[3],
                        TdRayVariation variation, GError **error);

/* Rows @which of prepared sinograms into @measured, whose first row is @origin. @rows, float
   [row][view][column], begins at row @from. Enqueues, as the next two. */
gboolean td_rays_take (TdRayProjector *rays, TdBuffer *rows, guint from, TdRowRange which,
                       guint origin, TdBuffer *measured, GError **error);

/* Voxels from first on (x, y, z); outside the device float [slice][y][x]. */
typedef struct {
  guint first[3], size[3];
} TdRayBox;

gboolean td_rays_give (TdRayProjector *rays, TdBuffer *volume, const TdRayBox *box,
                       TdBuffer *slices, GError **error);
/* Values lower than @least become that. */
gboolean td_rays_put (TdRayProjector *rays, TdBuffer *slices, const TdRayBox *box, double least,
                      TdBuffer *volume, GError **error);

/* ── Vectors: volumes, or projections of @n_views_or_0 places ── */

/* to = scale * to + factor * from. */
typedef struct {
  double scale, factor;
} TdRayBlend;

gboolean td_rays_combine (TdRayProjector *rays, TdBuffer *to, TdRayBlend blend, TdBuffer *from,
                          guint n_views_or_0, GError **error);
/* before = here; here += factor * (here - before): volumes. */
gboolean td_rays_extrapolate (TdRayProjector *rays, TdBuffer *here, TdBuffer *before, double factor,
                              GError **error);

/* The sums over a . b and over |a|. */
typedef struct {
  double product, magnitude;
} TdRaySums;

/* Blocks. */
gboolean td_rays_sums (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0,
                       TdRaySums *sums, GError **error);
/* The same in two steps. The first enqueues. The second waits for that work alone, and not for what
   was enqueued between them. No other sums are asked for in between. */
gboolean td_rays_sums_begin (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0,
                             GError **error);
gboolean td_rays_sums_end (TdRayProjector *rays, TdRaySums *sums, GError **error);

/* ── Reference ── */

/* The same in double precision, plainly: one view at a time, [row][column] and [z][y][x]. For tests
   and benches. */
void td_rays_reference_project (const TdConeTask *task, guint view, const float *volume,
                                double *out);
void td_rays_reference_back (const TdConeTask *task, guint view, const float *lines,
                             double *volume); /* added to */
