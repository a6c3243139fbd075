/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-rows.h"

#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/fbp/fbp.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/engine/job.h"
#include "compute/prepare/prepared-rows.h"
#include "dataset/unit.h"
#include "lab-truth.h"

struct TdLabRows {
  TdRecipe recipe; /* what decides about the rows, over the preset */
  gboolean cone;
  guint n_views, n_columns, n_rows;
  float *data;         /* [row][view][column] */
  TdScan *halves[2];   /* parallel; NULL: too few views */
  TdRecipe half;       /* parallel: the axis and the field of view of the halves */
  guint n_wide;        /* parallel: columns of a slice */
  TdScan *frames;      /* cone: even views, then odd ones, of the rows; NULL: not asked for yet */
  TdRedundancy shares; /* cone: how the whole's rays are weighted */
};

#define LEAST_VIEWS 4

/* Everything that decides how rows are cut out and prepared, and about their axis. */
void
td_lab_rows_wanted (const TdPlan *plan, TdRecipe *rows)
{
  const TdRecipe *from = &plan->recipe;

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
  rows->method = plan->method->kind == TD_METHOD_FDK ? TD_METHOD_FDK : TD_METHOD_FBP;
  /* A region of a cone's slice sees fewer rows than all of it. */
  if (plan->method->kind == TD_METHOD_FDK)
    memcpy (rows->region, from->region, sizeof rows->region);
}

const float *
td_lab_rows_data (const TdLabRows *rows)
{
  return rows->data;
}

float
td_lab_rows_share (const TdLabRows *rows)
{
  return rows->cone ? 2 : 1;
}

void
td_lab_rows_free (TdLabRows *rows)
{
  if (!rows)
    return;
  for (guint i = 0; i < 2; i++)
    td_scan_unref (rows->halves[i]);
  td_scan_unref (rows->frames);
  g_free (rows->data);
  g_free (rows);
}

/* ── Parallel beams ── */

static void
lab_rows_keep (float *sinogram, gpointer user)
{
  TdLabRows *rows = user;

  rows->data = sinogram;
}

static void
lab_rows_ignore (guint first, guint count, const float *slices, gpointer user)
{
}

/* Views parity, parity + 2, … as a scan of one row. NULL with @error: no memory. */
static TdScan *
lab_rows_half_scan (const TdLabRows *rows, const TdScanFacts *whole, guint parity, GError **error)
{
  const guint n = (rows->n_views - parity + 1) / 2;
  float *half = td_host_malloc ((gsize) n * rows->n_columns * sizeof *half, error);
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
    .centre_px = rows->half.centre_px,
    /* A tilted axis makes slices as wide as the whole scan's rows need them. */
    .wide_columns = rows->half.field_of_view == TD_FIELD_HALF ? rows->n_wide : 0,
    .geometry = whole->geometry,
  };

  if (!half)
    return NULL;
  for (guint i = 0; i < n; i++) {
    angles[i] = whole->angles_rad[2 * i + parity];
    memcpy (half + (gsize) i * rows->n_columns,
            rows->data + (gsize) (2 * i + parity) * rows->n_columns,
            rows->n_columns * sizeof *half);
  }
  return td_scan_new_from_memory (&facts, half, NULL, NULL, g_free, half);
}

static gboolean
lab_rows_make_halves (TdLabRows *rows, const TdPlan *plan, GError **error)
{
  const TdFbp *fbp = plan->extra;
  TdRecipe *half = &rows->half;

  *half = plan->recipe;
  half->centre_px = td_fbp_centre (fbp, plan->facts.first_slice);
  half->field_of_view = fbp->blend ? TD_FIELD_HALF : TD_FIELD_FULL;
  rows->n_wide = fbp->n_filtered;
  if (rows->n_views < LEAST_VIEWS)
    return TRUE;
  for (guint parity = 0; parity < 2; parity++) {
    rows->halves[parity] = lab_rows_half_scan (rows, td_scan_facts (plan->scan), parity, error);
    if (!rows->halves[parity])
      return FALSE;
  }
  return TRUE;
}

static gboolean
lab_rows_make_parallel (TdLabRows *rows, TdEngine *engine, TdScan *scan, GCancellable *cancellable,
                        GError **error)
{
  TdRecipe one = rows->recipe;

  /* Only the row is wanted: of the slice one pixel will do. */
  one.region[2] = one.region[3] = 1;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &one, NULL, cancellable, error);
  if (!plan)
    return FALSE;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  rows->n_views = facts->n_views;
  rows->n_columns = facts->n_columns;
  rows->n_rows = 1;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, lab_rows_ignore, NULL);
  td_job_set_sinogram_sink (job, lab_rows_keep, rows);
  if (!td_job_run (job, cancellable, error))
    return FALSE;
  if (!rows->data)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "A row of %u views × %u columns is too long to be kept: the lab measures noise "
        "and makes references of shorter ones; bin or crop the scan",
        rows->n_views, rows->n_columns);
  return lab_rows_make_halves (rows, plan, error);
}

/* ── Cones ── */

/* Rows as they are prepared, these kept, and their views as a scan: each once in host memory. */
#define COPIES 4

static gboolean
lab_rows_check_memory (const TdPlan *plan, const TdLabRows *rows, GError **error)
{
  const guint64 bytes
      = (guint64) rows->n_rows * rows->n_views * rows->n_columns * sizeof (float) * COPIES;

  if (bytes <= td_plan_host_budget (plan))
    return TRUE;
  g_autofree char *wanted = td_memory_text (bytes);
  return td_set_error (
      error, TD_ERROR_TOO_LARGE,
      "This slice is made of %u rows of %u views × %u columns, for which the lab wants "
      "%s of memory: it measures noise and makes references of less; take a slice nearer "
      "to the middle, a region, or bin the scan",
      rows->n_rows, rows->n_views, rows->n_columns, wanted);
}

static gboolean
lab_rows_make_cone (TdLabRows *rows, const TdPlan *plan, GCancellable *cancellable, GError **error)
{
  const TdFdkPlan *fdk = plan->extra;
  const TdFdkInput *input = fdk->input;
  const TdRowRange range = td_lab_cone_rows (plan);

  rows->n_rows = range.count;
  rows->n_views = input->task.n_views;
  rows->n_columns = td_scan_facts (input->scan)->n_columns;
  rows->shares = input->task.redundancy;
  if (!lab_rows_check_memory (plan, rows, error))
    return FALSE;
  g_autoptr (TdDevice) host = td_plan_host (plan, error);
  if (!host)
    return FALSE;
  const TdRowSource source
      = { host, fdk->scan, NULL, plan->recipe.steps, plan->recipe.n_steps, rows->n_views };
  g_autoptr (TdPreparedRows) prepared
      = td_prepared_rows_new (&source, NULL, range.count + 2 * input->halo, 0, error);
  if (!prepared)
    return FALSE;
  td_prepared_rows_set_views (prepared, input->views);
  const float *made = td_prepared_rows_make (prepared, range, cancellable, error);
  if (!made)
    return FALSE;
  const gsize bytes = (gsize) rows->n_rows * rows->n_views * rows->n_columns * sizeof *made;
  rows->data = td_host_malloc (bytes, error);
  if (rows->data)
    memcpy (rows->data, made, bytes);
  return rows->data != NULL;
}

/* A detector of the rows alone. The axis and the recipe's angles are in the geometry already, and
   the volume stays where it is. */
static gboolean
lab_rows_cone_geometry (const TdLabRows *rows, const TdPlan *plan, TdGeometry *geometry,
                        GError **error)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  const TdScanFacts *whole = td_scan_facts (input->scan);
  const guint first = td_lab_cone_rows (plan).first;
  TdConeTask task;

  if (!(whole->filtered
            ? td_cone_task_init_filtered (&task, &input->geometry, whole->n_views, whole->n_columns,
                                          whole->n_rows, error)
            : td_cone_task_init (&task, &input->geometry, input->angles_rad, whole->n_views,
                                 whole->n_columns, whole->n_rows, error)))
    return FALSE;
  td_geometry_copy (geometry, &input->geometry);
  geometry->voxel_mm = task.voxel_mm;
  geometry->volume_size[0] = task.nx;
  geometry->volume_size[1] = task.ny;
  geometry->volume_size[2] = task.nz;
  /* The place of a stated volume follows a crop alone. */
  if (task.raised_mm != 0)
    geometry->cropped_px[1] += task.raised_mm * td_cone_rows_per_mm (task.matrices);
  td_cone_task_clear (&task);
  geometry->detector_offset_v_px += (whole->n_rows - 1) / 2.0 - first - (rows->n_rows - 1) / 2.0;
  for (guint view = 0; geometry->view_matrices && view < geometry->n_view_matrices; view++) {
    double *matrix = geometry->view_matrices + 12 * (gsize) view;
    for (guint k = 0; k < 4; k++)
      matrix[4 + k] -= first * matrix[8 + k];
  }
  return TRUE;
}

static gboolean
lab_rows_make_frames (TdLabRows *rows, const TdPlan *plan, GError **error)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  const TdScanFacts *whole = td_scan_facts (input->scan);
  const gsize n = rows->n_columns, frame = rows->n_rows * n;
  g_autofree double *angles = g_new (double, rows->n_views);
  g_autofree double *matrices = NULL;
  TdGeometry geometry;

  if (!lab_rows_cone_geometry (rows, plan, &geometry, error))
    return FALSE;
  float *views = td_host_malloc (rows->n_views * frame * sizeof *views, error);
  if (!views) {
    td_geometry_clear (&geometry);
    return FALSE;
  }
  if (geometry.view_matrices)
    matrices = g_memdup2 (geometry.view_matrices, 12 * rows->n_views * sizeof *matrices);
  for (guint place = 0; place < rows->n_views; place++) {
    /* Even views come first. */
    const guint even = (rows->n_views + 1) / 2;
    const guint view = place < even ? 2 * place : 2 * (place - even) + 1;
    angles[place] = input->angles_rad[view];
    if (matrices)
      memcpy (geometry.view_matrices + 12 * (gsize) place, matrices + 12 * (gsize) view,
              12 * sizeof *matrices);
    for (guint row = 0; row < rows->n_rows; row++)
      memcpy (views + place * frame + row * n,
              rows->data + ((gsize) row * rows->n_views + view) * n, n * sizeof *views);
  }
  const TdScanFacts facts = {
    .path = whole->path,
    .title = whole->title,
    .n_columns = rows->n_columns,
    .n_rows = rows->n_rows,
    .n_views = rows->n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .transmission_logged = TRUE,
    .filtered = whole->filtered,
    .in_memory = TRUE,
    .centre_px = NAN,
    .geometry = geometry,
  };
  rows->frames = td_scan_new_from_memory (&facts, views, NULL, NULL, g_free, views);
  td_geometry_clear (&geometry);
  return TRUE;
}

/* ── Halves ── */

/* @recipe for prepared rows: all that decided about them is done. */
static void
lab_rows_half_recipe (const TdLabRows *rows, const TdRecipe *recipe, TdRecipe *half)
{
  *half = *recipe;
  half->n_steps = 0;
  half->mask[0] = '\0';
  memset (half->crop, 0, sizeof half->crop);
  memset (half->bin, 0, sizeof half->bin);
  half->bin_views = 0;
  half->view_first = half->view_end = 0;
  if (rows->cone) {
    td_recipe_state_axis (half, NAN, 0);
    half->angle_offset_deg = 0;
    half->reverse_rotation = FALSE;
    return;
  }
  td_recipe_state_axis (half, rows->half.centre_px, 0);
  half->field_of_view = rows->half.field_of_view;
  half->row_first = half->row_end = 0;
}

#define SAME_RAD 1e-9

/* Whether rays are weighted alike by both. */
static gboolean
lab_rows_share_alike (const TdRedundancy *a, const TdRedundancy *b)
{
  const double turned = remainder (a->first_rad - b->first_rad, 2 * G_PI);

  return a->kind == b->kind && a->by_row == b->by_row && a->side == b->side
         && fabs (a->overlap_rad - b->overlap_rad) < SAME_RAD
         && fabs (a->overscan_rad - b->overscan_rad) < SAME_RAD && fabs (turned) < SAME_RAD;
}

static TdPlan *
lab_rows_half_cone (TdLabRows *rows, TdEngine *engine, const TdPlan *whole, guint parity,
                    GCancellable *cancellable, GError **error)
{
  const guint even = (rows->n_views + 1) / 2;
  TdPlanPart part = { .views = { parity ? even : 0, parity ? rows->n_views - even : even } };
  TdRecipe half;

  if (whole->method->kind != TD_METHOD_FDK)
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                              "even and odd views of a cone are compared by FDK only");
  if (!rows->frames && !lab_rows_make_frames (rows, whole, error))
    return NULL;
  lab_rows_half_recipe (rows, &whole->recipe, &half);
  g_autoptr (TdPlan) plan
      = td_plan_new_part (engine, rows->frames, &half, &part, cancellable, error);
  if (!plan)
    return NULL;
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  if (lab_rows_share_alike (&input->task.redundancy, &rows->shares))
    return g_steal_pointer (&plan);
  return td_set_error_null (
      error, TD_ERROR_UNSUPPORTED,
      "rays of the rows of this slice alone are weighted otherwise than among all, so that "
      "even and odd views are not compared");
}

TdPlan *
td_lab_rows_half (TdLabRows *rows, TdEngine *engine, const TdPlan *whole, guint parity,
                  GCancellable *cancellable, GError **error)
{
  TdRecipe half;

  if (rows->n_views < LEAST_VIEWS)
    return td_set_error_null (
        error, TD_ERROR_UNSUPPORTED,
        "%u [view is|views are] too few to be halved: noise is measured from four on",
        rows->n_views);
  if (rows->cone)
    return lab_rows_half_cone (rows, engine, whole, parity, cancellable, error);
  lab_rows_half_recipe (rows, &whole->recipe, &half);
  return td_plan_new (engine, rows->halves[parity], &half, NULL, cancellable, error);
}

/* ── Making ── */

TdLabRows *
td_lab_rows_new (const TdPlan *plan, TdEngine *engine, TdScan *scan, GCancellable *cancellable,
                 GError **error)
{
  g_autoptr (TdLabRows) rows = g_new0 (TdLabRows, 1);

  rows->cone = td_scan_facts (scan)->geometry.beam != TD_BEAM_PARALLEL;
  if (rows->cone && plan->method->kind != TD_METHOD_FDK)
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                              "even and odd views of a cone are compared by FDK only");
  td_lab_rows_wanted (plan, &rows->recipe);
  if (!(rows->cone ? lab_rows_make_cone (rows, plan, cancellable, error)
                   : lab_rows_make_parallel (rows, engine, scan, cancellable, error)))
    return NULL;
  return g_steal_pointer (&rows);
}
