/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "solver.h"

/* What a run was given. */
typedef struct {
  TdRayProjector *rays;
  const TdConeTask *task;
  const TdSolverSettings *settings;
  TdBuffer *measured;
  TdSolverPass pass;
  TdSolverProgress progress;
  gpointer user;
  GCancellable *cancellable;
} TdSolver;

/* Views of the subset that is visited as number @index, and its first place. */
guint td_solver_subset (guint n_views, guint subsets, guint index, guint *first);

TdBuffer *td_solver_sirt (const TdSolver *solver, GError **error);
TdBuffer *td_solver_cgls (const TdSolver *solver, GError **error);
