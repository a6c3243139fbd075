/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"

/**
 * Line integrals and their adjoint on a device, for any view that a 3x4 matrix describes: cone and
 * fan beams of any orbit, tilt and offset, and parallel beams (td_ray_task_parallel()). Joseph's
 * method (IEEE Trans. Med. Imaging 1, 1982): a ray is sampled at every plane of voxels along the
 * axis that it is steepest against, bilinearly. The back-projection gathers with the very same
 * weights, so that <A x, y> = <x, A' y> up to rounding.
 *
 * On the device a volume is [y][x][z] with a border of zeros, and projections are
 * [place][column][row]: places are the views in the order given to td_rays_new(), so that a subset
 * of views is a range of places. Values are per mm (per voxel_mm's unit), integrals in that unit.
 *
 * One thread at a time. Long operations are cut into launches of a few hundredths of a second, and
 * look at the cancellable between them.
 */
typedef struct TdRayProjector TdRayProjector;

/* A parallel beam's views as matrices whose last row is (0, 0, 0, 1): u = @centre_px + x cos + y
   sin, rows downwards; the axis leans by @tilt columns a row about the middle row. The volume is
   nx^2 * n_rows voxels of @voxel_mm, one a column. Clear with td_cone_task_clear(). */
void td_ray_task_parallel (TdConeTask *task, const double *angles_rad, guint n_views,
                           guint n_columns, guint n_rows, double centre_px, double tilt, guint nx,
                           double voxel_mm);

/* FALSE with the sentence: the source stands in the volume, or there are 2^31 voxels or more. */
gboolean td_rays_check (const TdConeTask *task, GError **error);
guint64 td_rays_volume_bytes (const TdConeTask *task); /* with its border */
guint64 td_rays_projection_bytes (const TdConeTask *task, guint n_views);

/* @order: the view at each place, n_views of them; NULL: as they come. */
TdRayProjector *td_rays_new (TdDevice *device, const TdConeTask *task, const guint *order,
                             GError **error);
void td_rays_free (TdRayProjector *rays);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRayProjector, td_rays_free)
TdQueue *td_rays_queue (TdRayProjector *rays); /* everything below goes there */

TdBuffer *td_rays_volume_new (TdRayProjector *rays, GError **error); /* zeros */
TdBuffer *td_rays_projections_new (TdRayProjector *rays, guint n_views, GError **error);

/* Places [first, first + n) of @volume's projections into @out. */
gboolean td_rays_project (TdRayProjector *rays, TdBuffer *volume, guint first, guint n,
                          TdBuffer *out, GCancellable *cancellable, GError **error);
/* What is missing of @measured (places from @held on): out = (measured - A volume) / the ray's
   length in the volume, and in @squares the squared difference. */
gboolean td_rays_compare (TdRayProjector *rays, TdBuffer *volume, TdBuffer *measured, guint held,
                          guint first, guint n, TdBuffer *out, TdBuffer *squares,
                          GCancellable *cancellable, GError **error);
/* The second half of td_rays_compare() for integrals that are in @lines already. */
gboolean td_rays_differ (TdRayProjector *rays, TdBuffer *measured, guint held, guint first, guint n,
                         TdBuffer *lines, TdBuffer *squares, GCancellable *cancellable,
                         GError **error);
/* volume = A' lines. */
gboolean td_rays_back (TdRayProjector *rays, TdBuffer *lines, guint first, guint n,
                       TdBuffer *volume, GCancellable *cancellable, GError **error);
/* volume += relaxation * (A' lines) / (A' 1), and no lower than 0 if so wanted: with
   td_rays_compare() an iteration of SIRT (Gregor and Benson, IEEE Trans. Med. Imaging 27, 2008). */
gboolean td_rays_correct (TdRayProjector *rays, TdBuffer *lines, guint first, guint n,
                          double relaxation, gboolean non_negative, TdBuffer *volume,
                          GCancellable *cancellable, GError **error);
/* In parts of the views: sums += A' lines and, unless @weights is NULL, weights += A' 1; and, when
   all have been added, what td_rays_correct() makes of them. */
gboolean td_rays_add (TdRayProjector *rays, TdBuffer *lines, guint first, guint n, TdBuffer *sums,
                      TdBuffer *weights, GCancellable *cancellable, GError **error);
gboolean td_rays_apply (TdRayProjector *rays, TdBuffer *sums, TdBuffer *weights, double relaxation,
                        gboolean non_negative, TdBuffer *volume, GCancellable *cancellable,
                        GError **error);

/* Total variation (Chambolle 2004): what is nearest to @volume when each unit of
   its variation costs @strength; @field (three volumes, zeros at first) is where the last call
   ended, and a better beginning than nothing. @spare: one more volume. */
gboolean td_rays_denoise (TdRayProjector *rays, TdBuffer *volume, TdBuffer *const field[3],
                          TdBuffer *spare, double strength, guint steps, gboolean non_negative,
                          GCancellable *cancellable, GError **error);
/* Its halves, for volumes in parts: out = volume + strength * the field's divergence, and the field
   a step up the gradient of @out. */
gboolean td_rays_move (TdRayProjector *rays, TdBuffer *volume, TdBuffer *const field[3],
                       TdBuffer *out, double strength, gboolean non_negative,
                       GCancellable *cancellable, GError **error);
gboolean td_rays_climb (TdRayProjector *rays, TdBuffer *out, TdBuffer *const field[3],
                        double strength, GCancellable *cancellable, GError **error);

/* Rows [row0, row0 + n) of prepared sinograms into @measured, whose first row is @origin; @rows,
   float [row][view][column], begins at row @from. Enqueues, as the next. */
gboolean td_rays_take (TdRayProjector *rays, TdBuffer *rows, guint from, guint row0, guint origin,
                       guint n, TdBuffer *measured, GError **error);
/* The box of @size voxels from @first on (x, y, z) as float [slice][y][x]. */
gboolean td_rays_give (TdRayProjector *rays, TdBuffer *volume, const guint first[3],
                       const guint size[3], TdBuffer *slices, GError **error);
/* The same box from slices; values lower than @least become that. */
gboolean td_rays_put (TdRayProjector *rays, TdBuffer *slices, const guint first[3],
                      const guint size[3], double least, TdBuffer *volume, GError **error);

/* Vectors: volumes, or projections of @n_views places. to = scale * to + factor * from. */
gboolean td_rays_combine (TdRayProjector *rays, TdBuffer *to, double scale, double factor,
                          TdBuffer *from, guint n_views_or_0, GCancellable *cancellable,
                          GError **error);
/* before = here; here += factor * (here - before): volumes. */
gboolean td_rays_extrapolate (TdRayProjector *rays, TdBuffer *here, TdBuffer *before, double factor,
                              GCancellable *cancellable, GError **error);
/* The sums over a . b and over |a|; blocks. */
gboolean td_rays_sums (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0,
                       double *product, double *magnitude, GCancellable *cancellable,
                       GError **error);

/* The same in double precision, plainly: one view at a time, [row][column] and [z][y][x]. For tests
   and benches. */
void td_rays_reference_project (const TdConeTask *task, guint view, const float *volume,
                                double *out);
void td_rays_reference_back (const TdConeTask *task, guint view, const float *lines,
                             double *volume); /* added to */
