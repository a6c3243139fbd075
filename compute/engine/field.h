/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/recipe/recipe.h"
#include "plan.h"
#include "turn.h"

/**
 * The field of view of a parallel beam: what a slice shows, by the axis and the turn. The plan and
 * the window's drawing of the geometry ask here, so that they cannot differ.
 */

typedef struct {
  gboolean wide; /* half acquisition: both sides of a full turn put together */
  guint columns; /* of a slice; not wide: the detector's */
} TdField;

/* Of a slice in half acquisition: as many as the row whose axis is farthest out needs. */
guint64 td_field_wide_columns (const TdScanFacts *facts, const TdAxisLine *axis);
/* @facts: of the scan as it is seen; @turn: of its angles. FALSE with @error: half acquisition is
   asked for and the turn does not do, or the axis is absurdly far out. Any thread. */
gboolean td_field_choose (const TdScanFacts *facts, TdFieldOfView asked, const TdAxisLine *axis,
                          const TdTurn *turn, TdField *field, GError **error);
/* The same of a plan's scan, for methods that fill the plan: its facts get the field, the pixel and
   the units. */
gboolean td_plan_field (TdPlan *plan, TdTurn *turn, TdField *field, GError **error);
