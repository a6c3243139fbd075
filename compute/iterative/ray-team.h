/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ray-store.h"

/**
 * What solvers work with: one device that holds everything, or several, each with some rows (y) of
 * the volume. Line integrals of parts of a volume add up to those of the whole, whatever the
 * geometry, so that all that devices tell each other is projections (and a row of voxels for total
 * variation): the host has them, adds what the members see of each, and sends them the differences.
 * A device that holds all of the volume but not all projections is a team of one.
 *
 * TdTeamVolume is a volume in parts; projections are buffers of td_team_lines_new(): the device's
 * own, or the host's. All calls are one thread's; they block.
 */
typedef struct TdRayTeam TdRayTeam;
typedef struct TdTeamVolume TdTeamVolume;

typedef struct {
  TdDevice *device;
  guint first, n; /* rows y of the volume */
} TdTeamMember;

/* @failed: the member for want of whom there is no team. @batch_views: how many views' projections
   a device holds at once; 0: all projections are on the one device there is. @host: has the
   projections otherwise. @order: as td_rays_new(). */
TdRayTeam *td_team_new (const TdTeamMember *members, guint n_members, TdDevice *host,
                        const TdConeTask *task, const guint *order, guint batch_views,
                        guint *failed, GError **error);
void td_team_free (TdRayTeam *team);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRayTeam, td_team_free)
/* What was measured is there, and the buffers given as such are NULL. The host must lead. */
void td_team_set_store (TdRayTeam *team, TdRayStore *store);
/* Sums over the squares of what was measured. */
gboolean td_team_measured_squares (TdRayTeam *team, TdBuffer *measured, double *squares,
                                   GCancellable *cancellable, GError **error);
/* Who holds the projections: they are taken there. */
TdRayProjector *td_team_lead (TdRayTeam *team);
/* The member whose call failed last; n_members: none's. */
guint td_team_failed (const TdRayTeam *team);

gboolean td_team_finish (TdRayTeam *team, GError **error); /* all queues */

TdTeamVolume *td_team_volume_new (TdRayTeam *team, GError **error); /* zeros */
void td_team_volume_free (
    TdTeamVolume *volume); /* after the team's calls: nothing of it is in use then */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTeamVolume, td_team_volume_free)
TdBuffer *td_team_lines_new (TdRayTeam *team, guint n_views, GError **error);

/* As those of rays.h. */
gboolean td_team_project (TdRayTeam *team, TdTeamVolume *volume, guint first, guint n,
                          TdBuffer *out, GCancellable *cancellable, GError **error);
gboolean td_team_compare (TdRayTeam *team, TdTeamVolume *volume, TdBuffer *measured, guint first,
                          guint n, TdBuffer *out, TdBuffer *squares, GCancellable *cancellable,
                          GError **error);
gboolean td_team_back (TdRayTeam *team, TdBuffer *lines, guint first, guint n, TdTeamVolume *volume,
                       GCancellable *cancellable, GError **error);
gboolean td_team_correct (TdRayTeam *team, TdBuffer *lines, guint first, guint n, double relaxation,
                          gboolean non_negative, TdTeamVolume *volume, GCancellable *cancellable,
                          GError **error);
gboolean td_team_denoise (TdRayTeam *team, TdTeamVolume *volume, TdTeamVolume *const field[3],
                          TdTeamVolume *spare, double strength, guint steps, gboolean non_negative,
                          GCancellable *cancellable, GError **error);
gboolean td_team_combine (TdRayTeam *team, TdTeamVolume *to, double scale, double factor,
                          TdTeamVolume *from, GCancellable *cancellable, GError **error);
gboolean td_team_extrapolate (TdRayTeam *team, TdTeamVolume *here, TdTeamVolume *before,
                              double factor, GCancellable *cancellable, GError **error);
gboolean td_team_sums (TdRayTeam *team, TdTeamVolume *a, TdTeamVolume *b, double *product,
                       double *magnitude, GCancellable *cancellable, GError **error);

/* The box of @size voxels from @first on (x, y, z), to and from float [slice][y][x] on the host. */
gboolean td_team_give (TdRayTeam *team, TdTeamVolume *volume, const guint first[3],
                       const guint size[3], float *slices, GCancellable *cancellable,
                       GError **error);
gboolean td_team_put (TdRayTeam *team, const float *slices, const guint first[3],
                      const guint size[3], double least, TdTeamVolume *volume,
                      GCancellable *cancellable, GError **error);

/* A member's memory for a volume of @n rows. */
guint64 td_team_volume_bytes (const TdConeTask *task, guint n);
