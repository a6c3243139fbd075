/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ray-team.h"
#include "rays-private.h"

/* One device's rows of the volume. */
typedef struct {
  guint first, n;
  TdRayProjector *rays; /* of these rows alone */
  TdBuffer *lines;      /* of team->batch views; NULL: all are on the device */
  float *seen;          /* what it sees of projections that others see too */
  gsize n_seen;
  TdBuffer *sums, *weights; /* back-projections in several batches */
} TdTeamRays;

struct TdRayTeam {
  TdTeamRays *members;
  guint n;
  guint batch;
  guint failed;
  TdConeTask task;
  TdRayProjector *lead;
  TdRayStore *store; /* NULL: what was measured is in memory */
};

struct TdTeamVolume {
  TdBuffer **parts; /* one a member */
  guint n;
};

/* What every member does, each on a thread of its own; FALSE with the first fault. */
typedef gboolean (*TdTeamAct) (TdRayTeam *team, guint index, gpointer user, GError **error);
gboolean td_team_each (TdRayTeam *team, TdTeamAct act, gpointer user, GError **error);
