/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/angles.h"
#include "compute/device/host.h"
#include "compute/engine/cone-scan.h"
#include "compute/engine/job.h"
#include "dataset/angles.h"
#include "dataset/file-bytes.h"
#include "fdk.h"

#define WORTH_TELLING_DEG 0.01
#define WORTH_TELLING_COLUMNS 1

const char *
td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam == TD_BEAM_PARALLEL)
    return N_ (
        "FDK is for cone and fan beams, and this scan is a parallel beam's; take {method=fbp}, "
        "or give the source's distances");
  if (recipe->interpolation == TD_INTERPOLATION_NEAREST)
    return N_ ("FDK interpolates linearly only; take {interpolation=linear}");
  return td_cone_scan_unsupported (facts, recipe);
}

/* ── The input ── */

static void
fdk_plan_input_free (TdFdkInput *input)
{
  td_scan_unref (input->scan);
  td_cone_task_clear (&input->task);
  td_geometry_clear (&input->geometry);
  g_free (input->angles_rad);
  g_free (input);
}

static gboolean
make_task (TdFdkInput *input, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (input->scan);
  TdConeTask *task = &input->task;

  if (facts->filtered)
    return td_cone_task_init_filtered (task, &input->geometry, facts->n_views, facts->n_columns,
                                       facts->n_rows, error);
  if (!td_cone_task_init (task, &input->geometry, input->angles_rad, facts->n_views,
                          facts->n_columns, facts->n_rows, error))
    return FALSE;
  input->row_slope_rad = td_cone_row_slope (task);
  if (td_cone_rectify_helps (task, &input->geometry, input->row_slope_rad))
    td_cone_task_rectify (task);
  td_cone_task_widen (task);
  return TRUE;
}

/* Cuts the slices and the region that the recipe asks for out of the whole volume. */
static gboolean
take_part (const TdPlan *plan, TdConeTask *task, GError **error)
{
  guint region[4];

  if (!td_plan_region (plan, task->nx, task->ny, region, error))
    return FALSE;
  task->first_mm[0] += region[0] * task->voxel_mm;
  task->first_mm[1] -= region[1] * task->voxel_mm;
  task->first_mm[2] -= plan->recipe.row_first * task->voxel_mm;
  task->nx = region[2];
  task->ny = region[3];
  task->nz = plan->recipe.row_end - plan->recipe.row_first;
  return TRUE;
}

/* The task of some of the views: each has the weight that it has among all. None of them comes
   before its place, so that they can move one after another. */
static void
take_views (const TdPlan *plan, TdFdkInput *input)
{
  const TdViewGroup *group = &plan->views;
  const gsize n = group->count;
  TdConeTask *task = &input->task;
  double *forms = task->tilted.homographies;

  input->views = (TdViewOrder) { group->first, group->count / group->parts,
                                 td_scan_facts (plan->scan)->n_views / group->parts, 0 };
  for (gsize to = 0; to < n; to++) {
    const gsize from = td_view_order_at (&input->views, (guint) to);
    memmove (task->matrices + 12 * to, task->matrices + 12 * from, 12 * sizeof *task->matrices);
    task->view_weights[to] = task->view_weights[from];
    input->angles_rad[to] = input->angles_rad[from];
    if (task->tilted.n > 1)
      memmove (forms + 9 * to, forms + 9 * from, 9 * sizeof *forms);
  }
  if (task->tilted.n > 1)
    task->tilted.n = (guint) n;
  task->n_views = (guint) n;
}

/* Values of half storage lie between 6e-5 and 65504. Line integrals that are stated, not made here
   of transmissions, may be in any unit. The largest of a few views is brought to about HALF_TOP:
   views that were not looked at have room above it. */
#define HALF_TOP 6 /* a power of two */
#define HALF_VIEWS 4

static gboolean
find_half_scale (const TdPlan *plan, TdFdkInput *input, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (input->scan);
  const gsize pixels = (gsize) facts->n_columns * facts->n_rows;
  double most = 0;
  int exponent;

  input->half_scale = 1;
  if (plan->recipe.precision == TD_PRECISION_SINGLE
      || !(facts->transmission_logged || facts->filtered))
    return TRUE;
  g_autofree float *frame = td_host_malloc (pixels * sizeof *frame, error);
  if (!frame)
    return FALSE;
  for (guint i = 0; i < HALF_VIEWS; i++) {
    const TdFrameRange range = { .kind = TD_FRAME_PROJECTION,
                                 .first = (guint) ((guint64) i * facts->n_views / HALF_VIEWS),
                                 .count = 1,
                                 .n_rows = facts->n_rows };
    if (!td_scan_read (input->scan, &range, frame, cancellable, error))
      return FALSE;
    for (gsize k = 0; k < pixels; k++)
      if (isfinite (frame[k]))
        most = MAX (most, fabs (frame[k]));
  }
  frexp (most, &exponent);
  if (most > 0)
    input->half_scale = ldexp (1, CLAMP (HALF_TOP - exponent, -40, 40));
  return TRUE;
}

static gboolean
fill_input (TdPlan *plan, TdFdkInput *input, GCancellable *cancellable, GError **error)
{
  const TdConeTask *task = &input->task;
  guint end;

  input->scan = td_cone_frames_new (plan, &input->geometry, &input->angles_rad, error);
  input->turned = input->scan != plan->scan;
  if (!input->scan)
    return FALSE;
  if (!make_task (input, error))
    return td_plan_blame_recipe (plan, error);
  if (!take_part (plan, &input->task, error))
    return FALSE;
  take_views (plan, input);
  input->slice0 = plan->facts.first_slice - plan->recipe.row_first;
  input->n_slices = plan->facts.n_slices;
  td_cone_rows_seen (task, input->slice0, input->n_slices, &input->row0, &end);
  if (end <= input->row0) {
    end = MIN (task->n_rows, input->row0 + 1);
    input->row0 = end - 1;
  }
  input->n_rows = end - input->row0;
  input->halo
      = td_preparation_halo (plan->recipe.steps, plan->recipe.n_steps, td_scan_facts (input->scan));
  return find_half_scale (plan, input, cancellable, error);
}

/* ── The detector's rows that filtered rows are made of ── */

static gboolean
is_rectified (const TdFdkInput *input)
{
  return input->task.tilted.n_rows > 0;
}

TdFdkSpan
td_fdk_span (const TdFdkInput *input, guint row, guint n)
{
  const guint n_rows = is_rectified (input) ? input->task.tilted.n_rows : input->task.n_rows;
  const TdRowRange rows = { input->row0 + row, n };
  const TdRowRange made_of
      = is_rectified (input) ? td_cone_rectify_rows (&input->task, rows) : rows;
  const TdRowRange from = td_row_range_with_halo (made_of, input->halo, n_rows);

  return (TdFdkSpan) { from, made_of, rows, is_rectified (input) ? rows.first : from.first };
}

TdFdkSpan
td_fdk_span_all (const TdFdkInput *input)
{
  return td_fdk_span (input, 0, input->n_rows);
}

guint
td_fdk_most_rows (const TdFdkInput *input, guint row, guint step)
{
  guint most = 0;

  for (; row < input->n_rows; row += MIN (step, input->n_rows - row))
    most = MAX (most, td_fdk_span (input, row, MIN (step, input->n_rows - row)).from.count);
  return most;
}

guint64
td_fdk_rows_bytes (const TdFdkInput *input, guint from_rows, guint n)
{
  const guint64 line = (guint64) input->task.n_views * sizeof (float);
  const guint64 from
      = line * from_rows
        * (is_rectified (input) ? input->task.tilted.n_columns : input->task.n_columns);

  return is_rectified (input) ? MAX (from, line * n * input->task.n_columns) : from;
}

gboolean
td_fdk_holds (const TdFdkPlan *fdk)
{
  return fdk->fit.n_chunks > 1 && fdk->fit.chunk_rows > fdk->fit.filter_rows;
}

gboolean
td_fdk_rows_fit (const TdFdkInput *input, guint from_rows)
{
  return (guint64) from_rows * input->task.n_views * input->task.tilted.n_columns <= G_MAXINT32;
}

guint64
td_fdk_read_bytes (const TdFdkInput *input, guint n)
{
  return (guint64) n * input->task.n_views * td_scan_facts (input->scan)->n_columns
         * sizeof (float);
}

guint64
td_fdk_filtered_bytes (const TdFdkInput *input, guint n)
{
  return (guint64) n * input->task.n_views * input->task.n_columns * sizeof (float);
}

guint64
td_fdk_chunk_bytes (const TdFdkPlan *fdk)
{
  const TdFdkInput *input = fdk->input;

  if (!fdk->gathered)
    return td_fdk_rows_bytes (input, fdk->fit.chunk_rows, fdk->fit.filter_rows);
  const TdFdkInput whole
      = td_fdk_some_views (input, 0, fdk->gathered, (TdRowRange) { 0, input->task.n_rows });
  return td_fdk_rows_bytes (&whole, td_fdk_span_all (&whole).from.count, whole.n_rows);
}

guint64
td_fdk_store_bytes (const TdFdkPlan *fdk)
{
  return (guint64) fdk->fit.held_views * fdk->input->n_rows * fdk->input->task.n_columns
         * sizeof (float);
}

gboolean
td_fdk_passes_views (const TdFdkPlan *fdk)
{
  return fdk->fit.held_views < fdk->input->task.n_views;
}

TdFdkInput
td_fdk_some_views (const TdFdkInput *input, guint first, guint n, TdRowRange rows)
{
  TdFdkInput some = *input;

  some.views.place += first;
  some.task.n_views = MIN (n, input->task.n_views - first);
  some.task.matrices += 12 * (gsize) first;
  some.task.view_weights += first;
  some.angles_rad += first;
  if (some.task.tilted.n > 1) {
    some.task.tilted.homographies += 9 * (gsize) first;
    some.task.tilted.n = some.task.n_views;
  }
  some.row0 = rows.first;
  some.n_rows = rows.count;
  return some;
}

TdFilteredRows
td_plan_filtered_rows (const TdPlan *plan)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;

  return (TdFilteredRows) { { input->row0, input->n_rows }, input->task.n_columns };
}

guint
td_fdk_most_filtered (const TdFdkInput *input, guint from_rows, guint n)
{
  return is_rectified (input) ? n : from_rows;
}

gboolean
td_fdk_filter_span (const TdFdkInput *input, TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                    const TdFdkSpan *span, GError **error)
{
  if (is_rectified (input))
    return td_cone_filter_run_rectified (filter, queue, rows, span->from, span->rows, error);
  return td_cone_filter_run (filter, queue, rows, span->from, error);
}

/* ── What was planned, for those who carry it out ── */

TdFdkBatch
td_fdk_batch (const TdFdkPlan *fdk, guint index)
{
  const guint sets = fdk->fit.symmetric_views, step = fdk->fit.batch / sets;
  TdFdkBatch batch = { .first = index * step, .apart = fdk->input->task.n_views / sets };

  batch.of_each = MIN (step, batch.apart - batch.first);
  batch.n = batch.of_each * sets;
  return batch;
}

guint
td_fdk_batch_view (const TdFdkBatch *batch, guint place)
{
  return batch->first + place % batch->of_each + place / batch->of_each * batch->apart;
}

/* Chunks of each part of the views come in turn. */
guint
td_fdk_gathered_view (const TdPlan *plan, guint place)
{
  const guint chunk = plan->gathered, parts = plan->gathered_parts;
  const guint apart = plan->views.count / parts, number = place / chunk;

  return number % parts * apart + number / parts * chunk;
}

guint
td_fdk_gathered_views (const TdPlan *plan, const TdFdkBatch *batch)
{
  const guint chunk = plan->gathered, parts = plan->gathered_parts;
  const guint apart = plan->views.count / parts;
  guint most = 0;

  for (guint i = 0; i < batch->n; i++) {
    const guint view = td_fdk_batch_view (batch, i), within = view % apart;
    const guint place = (within / chunk * parts + view / apart) * chunk + within % chunk;
    most = MAX (most, place + 1);
  }
  return most;
}

char *
td_fdk_job_rate_key (const TdPlan *plan, const TdFdkPlan *fdk)
{
  g_autoptr (GString) key = g_string_new ("fdk");

  if (plan->devices->len > 1)
    g_string_append (key, fdk->scheme.share == TD_SHARE_VOLUME ? " volume" : " projections");
  for (guint i = 0; i < plan->devices->len; i++)
    g_string_append_printf (key, " %s %s", td_device_info (plan->devices->pdata[i])->name,
                            fdk->scheme.families[i]->name);
  return g_string_free (g_steal_pointer (&key), FALSE);
}

char *
td_fdk_device_rate_key (TdDevice *device, const TdConeFamily *family)
{
  return g_strdup_printf ("fdk kernel %s %s", td_device_info (device)->name, family->name);
}

char *
td_fdk_filter_rate_key (TdDevice *device)
{
  return g_strdup_printf ("fdk filter %s", td_device_info (device)->name);
}

char *
td_fdk_transfer_rate_key (TdDevice *device)
{
  return g_strdup_printf ("transfer %s", td_device_info (device)->name);
}

/* ── The plan ── */

/* What is done about a tilted detector. */
static void
note_slope (TdPlan *plan, const TdFdkPlan *fdk)
{
  const double slope_deg = fdk->input->row_slope_rad * 180 / G_PI;

  if (fdk->input->task.tilted.n_rows > 0)
    td_plan_note (plan,
                  "The detector is tilted: its rows are up to %.2g° off the plane in which the "
                  "source turns. Projections are resampled to those of a level detector of %u "
                  "columns and %u rows, and filtered along its rows.",
                  slope_deg, fdk->input->task.n_measured, fdk->input->task.n_rows);
  else if (slope_deg > WORTH_TELLING_DEG)
    td_plan_note (
        plan,
        "The detector's rows are up to %.2g° off the plane in which the source turns. That is too "
        "little to matter: projections are not resampled, and nothing needs to be done.",
        slope_deg);
}

/* What is measured from one side only, and is not made up for. */
static void
fdk_plan_note_field (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdConeTask *task = &fdk->input->task;
  const double off = fabs (task->matrices[3] - (task->n_columns - 1) / 2.0);

  if (task->redundancy.kind != TD_REDUNDANCY_WANG && off > WORTH_TELLING_COLUMNS)
    td_plan_note (plan,
                  "The axis is %.1f columns off the detector's middle: values are right within "
                  "%.4g mm of it, and too low where the detector sees from one side only.",
                  off, (task->n_columns / 2.0 - off) * task->pitch_mm);
}

/* A short scan's weights know of one gap, the widest: where the stage began and stopped. */
static void
fdk_plan_note_gaps (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdScanFacts *facts = td_scan_facts (fdk->input->scan);
  g_autofree double *weights = g_new (double, facts->n_views);
  TdAngleCover cover;

  td_angular_weights (facts->angles_rad, facts->n_views, 2 * G_PI, weights, &cover);
  const double step = cover.covered_rad / (facts->n_views - cover.repeated);
  const double inside = cover.missing_rad - (cover.largest_gap_rad - step);
  if (fdk->input->task.redundancy.kind == TD_REDUNDANCY_PARKER && inside > 2 * step)
    td_plan_note (plan,
                  "Views of about %.1f degrees are missing within the arc that was measured: "
                  "values come out too low, with streaks; {method=sirt} does without them.",
                  td_degrees (inside));
}

static void
note_half (TdPlan *plan, const TdFdkPlan *fdk)
{
  int exponent;

  frexp (fdk->input->half_scale, &exponent);
  if (exponent != 1)
    td_plan_note (plan,
                  "Half storage keeps filtered values times 2^%d, as the line integrals want.",
                  exponent - 1);
}

static void
fdk_plan_describe (TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdScanFacts *facts = td_scan_facts (fdk->input->scan);
  const TdConeTask *task = &fdk->input->task;

  plan->facts.family = fdk->scheme.families[0]->name;
  if (plan->recipe.precision == TD_PRECISION_HALF_RUN) {
    plan->facts.precision = TD_PRECISION_HALF;
    td_plan_note (plan, "Kernels for cone beams store in half precision and add in single: "
                        "\"half-run\", which was asked for, is done as \"half\".");
  }
  plan->facts.nx = task->nx;
  plan->facts.ny = task->ny;
  plan->facts.slab_slices = fdk->fit.slab;
  plan->facts.sent_once = fdk->fit.cached;
  plan->facts.symmetric_views = fdk->fit.symmetric_views;
  plan->facts.n_slabs = fdk->cut.n_slabs;
  plan->facts.bands
      = plan->devices->len == 1 && fdk->scheme.families[0]->bands && fdk->fit.n_batches == 1;
  plan->facts.device_bytes = fdk->fit.device_bytes;
  plan->facts.host_bytes
      = fdk->fit.host_bytes + td_plan_own_bytes (plan->devices) + td_plan_unpack_bytes (plan);
  plan->facts.pixel_mm = task->voxel_mm;
  plan->facts.scale = 1;
  plan->facts.units = facts->filtered ? "" : "1/mm";
  plan->facts.read_bytes = td_plan_read_bytes (
      plan, fdk->input->turned ? facts->n_columns : td_fdk_span_all (fdk->input).from.count);
  plan->facts.write_bytes = td_plan_volume_bytes (plan);
  plan->facts.updates = (double) plan->facts.n_slices * task->ny * task->nx * task->n_views;
  g_autofree char *key = td_fdk_job_rate_key (plan, fdk);
  td_plan_take_rate (plan, key, plan->facts.updates);
  if (fdk->fit.cached)
    td_plan_note (plan,
                  "Detector rows %u to %u are filtered on the device that needs them, %u at a "
                  "time; it keeps up to %u of them for its next slabs.",
                  fdk->input->row0, fdk->input->row0 + fdk->input->n_rows - 1, fdk->fit.filter_rows,
                  MIN (fdk->fit.cached_chunks * fdk->fit.filter_rows, fdk->input->n_rows));
  else
    td_plan_note (
        plan, "Detector rows %u to %u are filtered by %p into %p.", fdk->input->row0,
        fdk->input->row0 + fdk->input->n_rows - 1,
        td_message_new_plain (fdk->scheme.filter_on_device ? N_ ("a device") : N_ ("the CPU")),
        td_message_new_plain (fdk->fit.on_disk ? N_ ("a temporary file, because memory is short")
                                               : N_ ("host memory")));
  td_plan_note (plan,
                "%u [slab is|slabs are] back-projected, of up to %u [slice|slices], from batches "
                "of %u [view|views].",
                fdk->cut.n_slabs, fdk->fit.slab, fdk->fit.batch);
  note_half (plan, fdk);
  if (facts->filtered)
    return;
  note_slope (plan, fdk);
  fdk_plan_note_field (plan, fdk);
  fdk_plan_note_gaps (plan, fdk);
  td_cone_note_volume (plan, task, facts);
}

/* ── All together ── */

static void
fdk_plan_free (gpointer data)
{
  TdFdkPlan *fdk = data;

  fdk_plan_input_free ((TdFdkInput *) fdk->input);
  td_scan_unref (fdk->scan);
  g_free (fdk->scheme.families);
  td_fdk_cut_clear (&fdk->cut);
  g_free (fdk);
}

gboolean
td_fdk_plan (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  TdFdkPlan *fdk = g_new0 (TdFdkPlan, 1);
  TdFdkInput *input = g_new0 (TdFdkInput, 1);

  fdk->input = input;
  fdk->gathered = plan->gathered;
  plan->extra = fdk;
  plan->free_extra = fdk_plan_free;
  if (!fill_input (plan, input, cancellable, error)
      || !td_fdk_decide (plan, input, &fdk->scheme, &fdk->fit, error))
    return FALSE;
  if (!plan->gathered) /* else frames are read whole */
    td_fdk_decide_spool (plan, input, &fdk->scheme, &fdk->fit);
  fdk->scan = td_cone_spool_open (input->scan, td_fdk_span_all (input).from, fdk->scheme.spool);
  fdk->cut = td_fdk_cut_by_speed (plan, fdk, NULL);
  fdk_plan_describe (plan, fdk);
  return !fdk->fit.on_disk
         || td_file_temporary_check (N_ ("The filtered projections"), td_fdk_store_bytes (fdk),
                                     error);
}
