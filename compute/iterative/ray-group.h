/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ray-store.h"

/**
 * What solvers work with: a group of devices, each with some rows (y) of every volume. Line
 * integrals of parts of a volume add up to those of the whole, whatever the geometry. So the
 * devices exchange nothing but projections (and a row of voxels for total variation). One device
 * leads: it has the projections, adds what the members see of each, and sends them the differences.
 * That is the host, or the first member if that has room. A device that holds everything is a group
 * of one that leads itself. A device with no room for the projections is a group of one that the
 * host leads.
 *
 * TdGroupVolume is a volume in parts. Projections are buffers of td_ray_group_lines_new(): the
 * device's own, or the host's. All calls are one thread's; they block.
 */
typedef struct TdRayGroup TdRayGroup;
typedef struct TdGroupVolume TdGroupVolume;

typedef struct {
  TdDevice *device;
  guint first, n; /* rows y of the volume */
} TdGroupMember;

/* Who has what. */
typedef struct {
  const TdGroupMember *members;
  guint n;
  guint batch_views; /* views whose projections a member holds; 0: all are on the one device */
  TdDevice *lead; /* has the projections otherwise: the host, or the first member's, whose members
                     hold those of all views that are asked for at once */
} TdGroupShares;

/* @failed: the member that prevented the group. @order, @cancellable: as in rays.h. */
TdRayGroup *td_ray_group_new (const TdGroupShares *shares, const TdConeTask *task,
                              const guint *order, guint *failed, GCancellable *cancellable,
                              GError **error);
void td_ray_group_free (TdRayGroup *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRayGroup, td_ray_group_free)
const TdConeTask *td_ray_group_task (const TdRayGroup *group);
/* What was measured is in the store, and the buffers given as such are NULL. The host must lead. */
void td_ray_group_set_store (TdRayGroup *group, TdRayStore *store);
/* Sums over the squares of what was measured. */
gboolean td_ray_group_measured_squares (TdRayGroup *group, TdBuffer *measured, double *squares,
                                        GError **error);
/* The device that holds the projections; they are taken there. */
TdRayProjector *td_ray_group_lead (TdRayGroup *group);
/* The member whose call failed last; n: none's. */
guint td_ray_group_failed (const TdRayGroup *group);

gboolean td_ray_group_finish (TdRayGroup *group, GError **error); /* all queues */

TdGroupVolume *td_ray_group_volume_new (TdRayGroup *group, GError **error); /* zeros */
/* After the group's calls: nothing of it is in use then. */
void td_ray_group_volume_free (TdGroupVolume *volume);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdGroupVolume, td_ray_group_volume_free)
TdBuffer *td_ray_group_lines_new (TdRayGroup *group, guint n_views, GError **error);

/* As those of rays.h. */
gboolean td_ray_group_project (TdRayGroup *group, TdGroupVolume *volume, TdRayViews views,
                               TdBuffer *out, GError **error);
gboolean td_ray_group_compare (TdRayGroup *group, TdGroupVolume *volume, TdBuffer *measured,
                               TdRayViews views, const TdRayMissing *out, GError **error);
gboolean td_ray_group_back (TdRayGroup *group, TdBuffer *lines, TdRayViews views,
                            TdGroupVolume *volume, GError **error);
/* @weights: A' 1 of these places, given where no member takes them in batches; or NULL. */
typedef struct {
  double relaxation;
  gboolean non_negative;
  TdGroupVolume *weights;
} TdGroupStep;

gboolean td_ray_group_correct (TdRayGroup *group, TdBuffer *lines, TdRayViews views,
                               const TdGroupStep *step, TdGroupVolume *volume, GError **error);
gboolean td_ray_group_combine (TdRayGroup *group, TdGroupVolume *to, TdRayBlend blend,
                               TdGroupVolume *from, GError **error);
gboolean td_ray_group_extrapolate (TdRayGroup *group, TdGroupVolume *here, TdGroupVolume *before,
                                   double factor, GError **error);
gboolean td_ray_group_sums (TdRayGroup *group, TdGroupVolume *a, TdGroupVolume *b, TdRaySums *sums,
                            GError **error);

/* Makes of a volume the one nearest to it whose variation costs so much (rays.h). */
typedef struct {
  TdRayVariation variation;
  guint steps;
  TdGroupVolume *field[3]; /* zeros at first; where the last call ended is a better start */
  TdGroupVolume *spare;
} TdGroupDenoise;

gboolean td_ray_group_denoise (TdRayGroup *group, TdGroupVolume *volume,
                               const TdGroupDenoise *denoise, GError **error);

/* The box to and from float [slice][y][x] on the host. */
gboolean td_ray_group_give (TdRayGroup *group, TdGroupVolume *volume, const TdRayBox *box,
                            float *slices, GError **error);
/* Values lower than @least become that. */
gboolean td_ray_group_put (TdRayGroup *group, const float *slices, const TdRayBox *box,
                           double least, TdGroupVolume *volume, GError **error);

/* A member's memory for a volume of @n rows. */
guint64 td_ray_group_volume_bytes (const TdConeTask *task, guint n);
