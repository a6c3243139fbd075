/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ray-group.h"

/**
 * What makes a volume out of projections by correcting it again and again.
 *
 * "sirt": ordered-subset SIRT (Hudson and Larkin 1994; Gregor and Benson 2008); one view a subset
 * is SART (Andersen and Kak, Ultrasonic Imaging 6, 1984), one subset plain SIRT. "fista-tv": the
 * same with a step of total-variation denoising after each subset and Nesterov's momentum (Beck and
 * Teboulle, SIAM J. Imaging Sci. 2, 2009; with subsets: Kim, Ramani and Fessler, IEEE Trans. Med.
 * Imaging 34, 2015).
 * "cgls": conjugate gradients on the normal equations of least squares (Hestenes and Stiefel 1952);
 * its own regularisation is to stop early.
 */
typedef enum { TD_SOLVER_SIRT, TD_SOLVER_FISTA_TV, TD_SOLVER_CGLS } TdSolverKind;

typedef struct {
  TdSolverKind kind;
  guint iterations;      /* passes over all views */
  guint subsets;         /* sirt, fista-tv */
  double relaxation;     /* sirt: of every correction, above 0 and below 2 */
  gboolean non_negative; /* sirt, fista-tv */
  double tv;          /* fista-tv: what a pass takes off a step between two materials, as a part of
                         the volume's typical value */
  double stop_at;     /* ends once the relative residual is below this; 0: all iterations */
  guint kept_subsets; /* sirt, fista-tv: volumes keep what the views of the first so many subsets
                         weigh, so that no later pass computes it. For members that hold a subset */
  double tolerance;   /* ends once two successive passes have changed the residual by less than this
                         part of it; 0: all iterations */
} TdSolverSettings;

/* Why a run ended. */
typedef enum {
  TD_SOLVER_ALL,     /* every pass was made */
  TD_SOLVER_SMALL,   /* stop_at */
  TD_SOLVER_SETTLED, /* tolerance */
  TD_SOLVER_ASKED,   /* by the callback */
} TdSolverEnd;

/* Subsets for so many views, unless the recipe says: each is large enough to stand for all. */
guint td_solver_usual_subsets (TdSolverKind kind, guint n_views);
/* Views in the order in which the solver wants their places: subset after subset, each evenly
   spread, consecutive ones far apart. n_views numbers. (transfer full) */
guint *td_solver_order (guint n_views, guint subsets);
/* Whether the solver can take what was measured a subset at a time, from a file (ray-store.h). */
gboolean td_solver_can_store (const TdSolverSettings *settings);
/* Memory of a device that holds everything. @stored_rows, here and below: what was measured is in a
   file and comes in chunks of so many rows. 0: it is in memory. */
guint64 td_solver_bytes (const TdConeTask *task, const TdSolverSettings *settings,
                         guint stored_rows);
/* Memory of a group's member that has @n rows of the volume and holds the projections of @batch
   views at once. All projections of a group are in the host's memory. td_solver_lines_bytes() says
   how much that is, with what @n_members send to the host. */
guint64 td_solver_member_bytes (const TdConeTask *task, const TdSolverSettings *settings, guint n,
                                guint batch);
guint64 td_solver_lines_bytes (const TdConeTask *task, const TdSolverSettings *settings,
                               guint n_members, guint stored_rows);
/* Views of the largest subset. */
guint td_solver_most_views (guint n_views, const TdSolverSettings *settings);
/* What a run has beside its volume. A later run that is given both goes on as if there had been no
   end. */
#define TD_SOLVER_NUMBERS 8

#define TD_SOLVER_VOLUMES 4

typedef struct {
  guint passes;                      /* made so far, in all runs */
  double numbers[TD_SOLVER_NUMBERS]; /* the solver's own */
  TdGroupVolume *volumes[TD_SOLVER_VOLUMES];
  guint n_volumes;
} TdSolverMomentum;

guint td_solver_momentum_volumes (TdSolverKind kind); /* "sirt": none, it has no momentum */

/* What a run tells, and asks. */
typedef struct {
  /* What the volume is to begin with, zeros otherwise; may be NULL. */
  gboolean (*begin) (TdGroupVolume *volume, gpointer user, GError **error);
  /* After each pass: its number from 1, |A x - b| / |b| as the pass found it, and what it came to.
   */
  gboolean (*pass) (guint pass, double residual, TdGroupVolume *volume, gpointer user,
                    GError **error);
  /* Now and then: updates done since the last call. FALSE: end with what there is. */
  gboolean (*progress) (double updates, gpointer user);
  /* The momentum of the run that left the volume given by begin(), without its volumes; FALSE: it
     is not known. If it fits, recall_volumes() fills its volumes; if not, it is of other
     projections, which recall_failed() tells. All three or none may be NULL. */
  gboolean (*recall) (TdSolverMomentum *momentum, gpointer user);
  gboolean (*recall_volumes) (const TdSolverMomentum *momentum, gpointer user, GError **error);
  void (*recall_failed) (gpointer user);
  /* At the end, unless NULL: the momentum, for another run. */
  gboolean (*remember) (const TdSolverMomentum *momentum, gpointer user, GError **error);
  gpointer user;
} TdSolverWatch;

/* @measured: all places in td_solver_order(), of td_ray_group_lines_new(), or NULL if the group has
   a store. The volume is the group's. Blocks. */
TdGroupVolume *td_solver_run (TdRayGroup *group, const TdSolverSettings *settings,
                              TdBuffer *measured, const TdSolverWatch *watch, TdSolverEnd *end,
                              GError **error);
