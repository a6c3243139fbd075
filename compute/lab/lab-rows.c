/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-rows.h"

#include <string.h>

#include "compute/engine/fbp/fbp.h"
#include "compute/engine/job.h"

#define LEAST_VIEWS 4

/* Everything that decides how a row is cut out and prepared, and about its axis. */
static void
lab_rows_recipe (const TdRecipe *from, TdRecipe *rows)
{
  td_recipe_init (rows);
  memcpy (rows->steps, from->steps, sizeof rows->steps);
  rows->n_steps = from->n_steps;
  memcpy (rows->mask, from->mask, sizeof rows->mask);
  td_recipe_state_axis (rows, from->centre_px, from->tilt_deg);
  memcpy (rows->crop, from->crop, sizeof rows->crop);
  memcpy (rows->bin, from->bin, sizeof rows->bin);
  rows->bin_views = from->bin_views;
  rows->view_first = from->view_first;
  rows->view_end = from->view_end;
  rows->row_first = from->row_first;
  rows->row_end = from->row_end;
  rows->angle_offset_deg = from->angle_offset_deg;
  rows->reverse_rotation = from->reverse_rotation;
  rows->field_of_view = from->field_of_view;
  rows->memory_limit_bytes = from->memory_limit_bytes;
  rows->method = TD_METHOD_FBP;
}

gboolean
td_lab_rows_serve (const TdLabRows *rows, const TdRecipe *recipe)
{
  TdRecipe wanted;

  lab_rows_recipe (recipe, &wanted);
  return td_recipe_equal (&rows->recipe, &wanted);
}

static void
lab_rows_keep (float *sinogram, gpointer user)
{
  TdLabRows *rows = user;

  rows->sinogram = sinogram;
}

static void
lab_rows_ignore (guint first, guint count, const float *slices, gpointer user)
{
}

/* Views parity, parity + 2, … as a scan of one row. */
static TdScan *
lab_rows_half (const TdLabRows *rows, const TdScanFacts *whole, guint parity)
{
  const guint n = (rows->n_views - parity + 1) / 2;
  float *half = g_new (float, (gsize) n * rows->n_columns);
  g_autofree double *angles = g_new (double, n);
  TdScanFacts facts = {
    .path = whole->path,
    .title = whole->title,
    .n_columns = rows->n_columns,
    .n_rows = 1,
    .n_views = n,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .transmission_logged = TRUE,
    .centre_px = rows->half_recipe.centre_px,
    .geometry = whole->geometry,
  };

  for (guint i = 0; i < n; i++) {
    angles[i] = whole->angles_rad[2 * i + parity];
    memcpy (half + (gsize) i * rows->n_columns,
            rows->sinogram + (gsize) (2 * i + parity) * rows->n_columns,
            rows->n_columns * sizeof *half);
  }
  return td_scan_new_from_memory (&facts, half, NULL, NULL, g_free, half);
}

static void
lab_rows_make_halves (TdLabRows *rows, const TdPlan *plan)
{
  const TdFbp *fbp = plan->extra;
  TdRecipe *half = &rows->half_recipe;

  *half = plan->recipe;
  half->centre_px = td_fbp_centre (fbp, plan->facts.first_slice);
  half->field_of_view = fbp->blend ? TD_FIELD_HALF : TD_FIELD_FULL;
  if (rows->n_views < LEAST_VIEWS)
    return;
  for (guint parity = 0; parity < 2; parity++)
    rows->halves[parity] = lab_rows_half (rows, td_scan_facts (plan->scan), parity);
}

TdLabRows *
td_lab_rows_new (const TdPlan *plan, TdEngine *engine, TdScan *scan, GCancellable *cancellable,
                 GError **error)
{
  g_autoptr (TdPlan) rows_plan = NULL;
  TdLabRows *rows = g_new0 (TdLabRows, 1);
  TdRecipe one;

  lab_rows_recipe (&plan->recipe, &rows->recipe);
  one = rows->recipe;
  /* Only the row is wanted: of the slice one pixel will do. */
  one.region[2] = one.region[3] = 1;
  rows_plan = td_plan_new (engine, scan, &one, NULL, cancellable, error);
  if (!rows_plan) {
    td_lab_rows_free (rows);
    return NULL;
  }
  const TdScanFacts *facts = td_scan_facts (rows_plan->scan);
  rows->n_views = facts->n_views;
  rows->n_columns = facts->n_columns;
  g_autoptr (TdJob) job = td_job_new (rows_plan);
  td_job_set_sink (job, lab_rows_ignore, NULL);
  td_job_set_sinogram_sink (job, lab_rows_keep, rows);
  if (!td_job_run (job, cancellable, error)) {
    td_lab_rows_free (rows);
    return NULL;
  }
  if (!rows->sinogram) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "A row of %u views × %u columns is too long to be kept: the lab measures noise "
                  "and makes references of shorter ones; bin or crop the scan",
                  rows->n_views, rows->n_columns);
    td_lab_rows_free (rows);
    return NULL;
  }
  lab_rows_make_halves (rows, rows_plan);
  return rows;
}

void
td_lab_rows_free (TdLabRows *rows)
{
  if (!rows)
    return;
  for (guint i = 0; i < 2; i++)
    g_clear_pointer (&rows->halves[i], td_scan_unref);
  g_free (rows->sinogram);
  g_free (rows);
}

void
td_lab_rows_half_recipe (const TdLabRows *rows, const TdRecipe *recipe, TdRecipe *half)
{
  *half = *recipe;
  half->n_steps = 0;
  half->mask[0] = '\0';
  td_recipe_state_axis (half, rows->half_recipe.centre_px, 0);
  half->field_of_view = rows->half_recipe.field_of_view;
  memset (half->crop, 0, sizeof half->crop);
  memset (half->bin, 0, sizeof half->bin);
  half->bin_views = 0;
  half->view_first = half->view_end = 0;
  half->row_first = half->row_end = 0;
}
