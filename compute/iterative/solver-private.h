/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "solver.h"

/* What a run was given. */
typedef struct {
  TdRayGroup *group;
  const TdConeTask *task;
  const TdSolverSettings *settings;
  TdBuffer *measured;
  const TdSolverWatch *watch;
  guint passes;    /* done */
  guint earlier;   /* by the run that this one goes on from */
  double residual; /* the last pass's */
  guint settled;   /* passes running that changed it little */
  gboolean asked;  /* to end */
  TdSolverEnd end;
} TdSolver;

/* The volume that iterations begin with. */
TdGroupVolume *td_solver_begin (const TdSolver *solver, GError **error);
/* Tells of @n views that are done; FALSE: it is asked to end here. */
gboolean td_solver_views_done (TdSolver *solver, guint n);
/* Tells of a pass that is done, and what it came to. FALSE: the pass was the last. Then solver->end
   says why, or @error is set. */
gboolean td_solver_pass_done (TdSolver *solver, double residual, TdGroupVolume *volume,
                              GError **error);

/* The places of the subset that is visited as number @index. */
TdRayViews td_solver_subset (guint n_views, guint subsets, guint index);

/* What every solver remembers: |measured|^2, by which it knows the projections again, and the
   residual. The solver's own numbers begin at TD_SOLVER_OWN. */
#define TD_SOLVER_OWN 3
/* TRUE: there is momentum of just these projections; it has been taken over as far as every solver
 * has it. */
gboolean td_solver_recall (TdSolver *solver, double norm, TdSolverMomentum *momentum);
void td_solver_recall_failed (TdSolver *solver);
/* Adds to the solver's own @numbers. */
gboolean td_solver_remember (TdSolver *solver, double norm, TdSolverMomentum *momentum,
                             GError **error);

TdGroupVolume *td_solver_sirt (TdSolver *solver, GError **error);
TdGroupVolume *td_solver_cgls (TdSolver *solver, GError **error);
