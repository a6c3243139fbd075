/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model.h"

#include "compute/parallel/alu-shape.h"
#include "compute/parallel/tune-store.h"

#include <math.h>
#include <string.h>

/**
 * Counts are for one work-item and one view first, then divided by the updates it does there. A
 * load from local memory costs what its 32 work-items touch together. The memory reads bins that
 * several of them want once (review, §6.3). No load costs less than one turn of 32 banks, 4 bytes
 * each.
 */
enum { BANKS = 32, BANK_BYTES = 4 };

/* Distinct bins under 8 x 4 cells of @side pixels, on average over all angles. */
static double
bins_touched (guint side, guint samples)
{
  return (8 + 4) * side * samples * (2 / G_PI) + 1;
}

/* Bytes of the local memory's time one load takes from each work-item. */
static double
load_cost (double distinct, double bytes)
{
  return BANK_BYTES * MAX (1, distinct * bytes / (BANKS * BANK_BYTES));
}

static void
model_add (TdUpdateCost *cost, TdUnit unit, double n)
{
  cost->per_update[unit] += n;
}

/* Operations that are instructions of their own. */
static void
add_instructions (TdUpdateCost *cost, TdUnit unit, double n)
{
  model_add (cost, unit, n);
  model_add (cost, TD_UNIT_INSTRUCTIONS, n);
}

static void
add_loads (TdUpdateCost *cost, double n, double distinct, double bytes)
{
  model_add (cost, TD_UNIT_LOCAL, n * load_cost (distinct, bytes));
  model_add (cost, TD_UNIT_INSTRUCTIONS, n);
}

static void
model_divide (TdUpdateCost *cost, double by)
{
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    cost->per_update[u] /= by;
}

/* ── Families ── */

/* backproject-standard.cl by texture: position (two multiply-adds and the half), row, fetch,
   weighted sum; the view's constants by one load, the loop by two instructions. */
static gboolean
standard_cost (const TdDeviceInfo *device, TdUpdateCost *cost)
{
  add_instructions (cost, TD_UNIT_TEXTURE, 1);
  add_instructions (cost, TD_UNIT_FLOAT, 5);
  add_instructions (cost, TD_UNIT_CONVERSION, 1);
  model_add (cost, TD_UNIT_INSTRUCTIONS, 3);
  return device->texture_linear && !device->texture_slow;
}

/* backproject-texture.cl: eight pixels a work-item; RGBA in single is fetched at a quarter of the
 * rate. */
static gboolean
texture_cost (const TdBackprojectTask *task, const TdBackprojectVariant *variant,
              TdUpdateCost *cost)
{
  guint slices = MAX (variant->slices, 1);
  gboolean half = task->precision != TD_PRECISION_SINGLE;
  double time = slices == 4 && !half ? 4 : 1;

  model_add (cost, TD_UNIT_TEXTURE, 8 * time);
  model_add (cost, TD_UNIT_INSTRUCTIONS, 8);
  add_loads (cost, 1, 1, 16);
  add_instructions (cost, TD_UNIT_FLOAT, 2 + 8 + 8 * slices);
  model_add (cost, TD_UNIT_INSTRUCTIONS, 0.5);
  model_divide (cost, 8 * slices);
  return TRUE;
}

/* One cell of backproject-alu-core.h by arithmetic: place, loads, sums. */
static void
add_alu_cell (TdUpdateCost *cost, const TdAluShape *shape)
{
  double distinct = bins_touched (shape->side, shape->samples);
  double bytes = shape->slices * (shape->half ? 2 : 4);
  double terms = shape->run ? shape->slices / 2.0 : shape->slices; /* two halves in one operation */
  guint loads = !shape->linear ? 1 : shape->side == 2 ? 4 : 2;

  add_instructions (cost, TD_UNIT_FLOAT, 1 + (shape->linear ? 3 : 1));
  model_add (cost, TD_UNIT_INSTRUCTIONS, 2); /* index and address */
  if (!shape->float_round)
    add_instructions (cost, TD_UNIT_CONVERSION, 2);
  if (shape->linear && shape->cache == 3)
    add_loads (cost, 1, distinct, 16);
  else
    add_loads (cost, loads, distinct, bytes);
  if (shape->half && !shape->run)
    add_instructions (cost, TD_UNIT_FLOAT, loads * shape->slices); /* half to single */
  if (shape->linear && shape->cache == 0)
    add_instructions (cost, TD_UNIT_FLOAT, (loads - 1) * terms);

  if (!shape->linear) {
    add_instructions (cost, TD_UNIT_FLOAT, terms);
  } else if (shape->side == 1) {
    add_instructions (cost, TD_UNIT_FLOAT, 2 * terms);
    if (shape->run)
      add_instructions (cost, TD_UNIT_CONVERSION, 1);
  } else {
    add_instructions (cost, TD_UNIT_FLOAT, 9 * terms + (shape->unit ? 0 : terms));
    if (shape->run) {
      add_instructions (cost, TD_UNIT_CONVERSION, 1);
      add_instructions (cost, TD_UNIT_FLOAT, 3); /* saturated weights, two a register */
      model_add (cost, TD_UNIT_INSTRUCTIONS, 6); /* and spread over both halves */
    } else {
      add_instructions (cost, TD_UNIT_FLOAT, shape->unit ? 6 : 7);
    }
  }
  if (shape->run) /* the run's sums join the single ones */
    add_instructions (cost, TD_UNIT_FLOAT,
                      2.0 * shape->slices * (shape->side == 2 ? 5 : 1) / shape->run);
}

/* A cell by the texture engine. */
static void
add_texture_cell (TdUpdateCost *cost, const TdAluShape *shape)
{
  guint pixels = shape->side * shape->side;

  model_add (cost, TD_UNIT_TEXTURE, pixels * (shape->slices == 4 && !shape->half ? 4 : 1));
  model_add (cost, TD_UNIT_INSTRUCTIONS, pixels);
  add_instructions (cost, TD_UNIT_FLOAT, 1 + (pixels > 1 ? 3 : 0) + pixels * shape->slices);
}

/* A work-item's cells and what they share: the view's constants, the copies into the cache. */
static gboolean
alu_cost (const TdAluShape *shape, TdUpdateCost *cost)
{
  double cells = (double) shape->tile * shape->tile / (shape->side * shape->side) / shape->threads;
  double by_texture = shape->texture_share
                          ? cells * shape->texture_share / MAX (shape->all_share, 1)
                          : shape->texture_cells;
  double copied = (double) shape->bins * td_alu_shape_planes (shape) * shape->slices
                  * (shape->half ? 2 : 4) / shape->threads; /* bytes a work-item */
  TdUpdateCost arithmetic = { 0 }, texture = { 0 };

  add_alu_cell (&arithmetic, shape);
  add_texture_cell (&texture, shape);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    model_add (cost, u,
               (cells - by_texture) * arithmetic.per_update[u]
                   + by_texture * texture.per_update[u]);
  add_loads (cost, shape->side == 2 ? 2 : 1, 1, 16);
  add_instructions (cost, TD_UNIT_FLOAT, 2);
  model_add (cost, TD_UNIT_INSTRUCTIONS, 2.0 / shape->unroll);
  model_add (cost, TD_UNIT_LOCAL, copied);
  model_add (cost, TD_UNIT_INSTRUCTIONS, copied / 16 * 2);
  model_divide (cost, cells * shape->side * shape->side * shape->slices);
  return TRUE;
}

static gboolean
alu_family_cost (const TdBackprojectTask *task, const TdDeviceInfo *device,
                 const TdBackprojectVariant *variant, guint samples, TdUpdateCost *cost)
{
  TdAluShape shape = td_alu_shape_default (task, device, MAX (variant->slices, 1), samples);

  shape.hybrid = strcmp (variant->family, "hybrid") == 0;
  return td_alu_shape_apply (&shape, (const char *const *) variant->defines, NULL)
         && td_alu_shape_fit (&shape, task, device) && alu_cost (&shape, cost);
}

static gboolean
family_cost (const TdBackprojectTask *task, const TdDeviceInfo *device,
             const TdBackprojectVariant *variant, TdUpdateCost *cost)
{
  *cost = (TdUpdateCost) { 0 };
  if (strcmp (variant->family, "standard") == 0)
    return standard_cost (device, cost);
  if (strcmp (variant->family, "texture") == 0)
    return texture_cost (task, variant, cost);
  if (strcmp (variant->family, "alu") == 0 || strcmp (variant->family, "hybrid") == 0)
    return alu_family_cost (task, device, variant, 1, cost);
  if (strcmp (variant->family, "oversampling") == 0)
    return alu_family_cost (task, device, variant, 4, cost);
  return FALSE;
}

/* A pass over more slices than there are costs the same. */
static gboolean
variant_cost (const TdBackprojectTask *task, const TdDeviceInfo *device,
              const TdBackprojectVariant *variant, guint n_slices, TdUpdateCost *cost)
{
  guint slices = MAX (variant->slices, 1);
  guint passes = (n_slices + slices - 1) / slices;

  if (!family_cost (task, device, variant, cost))
    return FALSE;
  model_divide (cost, (double) n_slices / (passes * slices));
  return TRUE;
}

/* ── The model ── */

/* The family's best guess for as many slices at once as @n_slices fill and, by the texture engine,
   as are fetched at full rate. */
static const TdBackprojectVariant *
first_guess (const TdBackprojectFamily *family, const TdBackprojectTask *task,
             GPtrArray *candidates, guint n_slices)
{
  gboolean by_texture
      = strcmp (family->name, "texture") == 0 || strcmp (family->name, "hybrid") == 0;
  const TdBackprojectVariant *best = NULL;

  if (by_texture && task->precision == TD_PRECISION_SINGLE)
    n_slices = MIN (n_slices, 2);
  for (guint i = 0; candidates && i < candidates->len; i++) {
    const TdBackprojectVariant *variant = candidates->pdata[i];
    if (!best || (variant->slices > best->slices && variant->slices <= n_slices))
      best = variant;
  }
  return best;
}

gboolean
td_update_cost (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                const TdDeviceInfo *device, guint n_slices, TdUpdateCost *cost)
{
  g_autoptr (GPtrArray) candidates
      = family->candidates ? family->candidates (family, task, device) : NULL;
  const TdBackprojectVariant *variant = first_guess (family, task, candidates, n_slices);
  TdTuned tuned = { 0 };
  gboolean known;

  if (td_tune_store_find (device, family->name, task, n_slices, &tuned) && tuned.slices) {
    const TdBackprojectVariant found = { family->name, tuned.slices, tuned.defines };
    known = variant_cost (task, device, &found, n_slices, cost);
  } else {
    known = variant && variant_cost (task, device, variant, n_slices, cost);
  }
  td_tuned_clear (&tuned);
  return known;
}

double
td_model_ceiling (const TdUpdateCost *cost, const TdUnitRates *rates, TdUnit *bound_by)
{
  double ceiling = INFINITY;

  *bound_by = TD_UNIT_INSTRUCTIONS;
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    if (cost->per_update[u] > 0 && rates->per_second[u] / cost->per_update[u] < ceiling) {
      ceiling = rates->per_second[u] / cost->per_update[u];
      *bound_by = u;
    }
  return ceiling;
}

const char *const td_unit_names[TD_UNIT_COUNT]
    = { "texture", "local memory", "float", "conversion", "issue" };
