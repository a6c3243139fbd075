/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "prepare-bench.h"

#include <math.h>
#include <time.h>

#include "compute/parallel/trial.h"
#include "dataset/phantom-scan.h"

#define FIRST "bad-values"
#define TALL_ROWS 4097 /* of a detector on which no step's reach ends */
#define FEW_ROWS 16    /* of neighbours that all steps but the far-reaching ones make do with */
#define MOST_BYTES (512u << 20)

/* What all steps are measured with. */
typedef struct {
  const TdPrepareBenchSpec *spec;
  TdDevice *device;
  TdScan *tall; /* for facts only: on what detector the steps say what they need */
  TdScan *scan;
  TdQueue *queue;
} Bench;

static void
prepare_bench_clear (Bench *bench)
{
  td_queue_free (bench->queue);
  td_scan_unref (bench->scan);
  td_scan_unref (bench->tall);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, prepare_bench_clear)

static void
row_free (gpointer data)
{
  TdPrepareBenchRow *row = data;

  td_message_unref (row->unsupported);
  g_clear_pointer (&row->parts, g_ptr_array_unref);
  g_free (row);
}

void
td_prepare_bench_free (TdPrepareBench *bench)
{
  if (!bench)
    return;
  g_ptr_array_unref (bench->rows);
  g_free (bench);
}

/* A scan for facts, flats and air; its projections are never read but for the dose. */
static TdScan *
prepare_bench_make_scan (const TdPrepareBenchSpec *spec, guint n_rows, guint n_views,
                         GError **error)
{
  TdPhantomScan phantom;

  td_phantom_scan_init (&phantom, NULL, spec->n_columns, n_rows, n_views);
  phantom.n_dead = MIN (n_rows * spec->n_columns / 1000, 10000);
  phantom.energy_kev = 20;
  phantom.propagation_mm = 100;
  phantom.geometry.pixel_width_mm = phantom.geometry.pixel_height_mm = 0.001;
  return td_phantom_scan_new (&phantom, error);
}

/* ── The data ── */

/* The samples of one row that a step may meet: a disc that wanders, and noise. With rings there is
   a disc about the axis, too, so that "rings" has all to do that it may have to. */
static float *
prepare_bench_make_row (const TdPrepareBenchSpec *spec, guint n_views, TdStepStage stage,
                        gboolean counts)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  g_autofree double *offsets = g_new0 (double, spec->n_columns);
  float *row = g_new (float, (gsize) n_views * spec->n_columns), *to = row;

  for (guint c = 0; c < spec->n_columns && spec->rings > 0; c++) {
    double x = (c + 0.5) / spec->n_columns * 2.4 - 1.2;
    offsets[c] = 0.5 * sqrt (MAX (0, 0.5 - x * x))
                 + spec->rings * sqrt (3) * (2 * g_rand_double (random) - 1);
  }
  for (guint v = 0; v < n_views; v++)
    for (guint c = 0; c < spec->n_columns; c++) {
      double x = (c + 0.5) / spec->n_columns * 2.4 - 1.2 - 0.2 * sin (3.0 * v / n_views);
      double p
          = 2 * sqrt (MAX (0, 0.8 - x * x)) + 0.02 * (2 * g_rand_double (random) - 1) + offsets[c];
      *to++ = (float) (stage == TD_STEP_ABSORPTION ? p
                       : counts                    ? 200 + 40000 * exp (-p)
                                                   : exp (-p));
    }
  return row;
}

static TdBuffer *
make_data (const Bench *bench, const TdStepKind *kind, guint n_rows, guint n_views, GError **error)
{
  gsize row_bytes = (gsize) n_views * bench->spec->n_columns * sizeof (float);
  TdStepStage stage = kind ? kind->stage : TD_STEP_INTENSITY;
  gboolean counts = stage == TD_STEP_INTENSITY || g_str_equal (kind->name, "flat-field");
  g_autofree float *row = prepare_bench_make_row (bench->spec, n_views, stage, counts);
  g_autoptr (TdBuffer) data = td_buffer_new (bench->device, n_rows * row_bytes, error);

  for (guint r = 0; data && r < n_rows; r++)
    if (!td_upload (bench->queue, data, r * row_bytes, row, row_bytes, error)
        || !td_queue_finish (bench->queue, error))
      return NULL;
  return g_steal_pointer (&data);
}

/* ── A step ── */

typedef struct {
  const TdStep *step; /* NULL: what comes before all of them */
  TdPreparation *preparation;
  TdBuffer *pristine, *data;
  guint row0, n_rows;
  gboolean core; /* only the wanted rows are made, out of those around them */
} Work;

static void
work_clear (Work *work)
{
  td_preparation_free (work->preparation);
  td_buffer_free (work->pristine);
  td_buffer_free (work->data);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

/* GLib's clock counts microseconds, of which a step on a small row takes one. */
static double
now_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static gboolean
run_work (const Bench *bench, const Work *work, GError **error)
{
  TdPreparationRows rows = { work->pristine, work->row0, work->n_rows };
  const guint wanted = bench->spec->n_rows;

  if (!work->step)
    return td_preparation_repair (work->preparation, bench->queue, work->data, work->row0,
                                  work->n_rows, error);
  if (work->core)
    return td_preparation_run_steps (
        work->preparation, bench->queue, &rows,
        &(TdPreparationRows) { work->data, work->row0 + (work->n_rows - wanted) / 2, wanted },
        (TdStepRange) { 0, 1 }, bench->spec->cancellable, error);
  return td_preparation_run_step (work->preparation, bench->queue,
                                  &(TdPreparationRows) { work->data, work->row0, work->n_rows },
                                  work->step, bench->spec->cancellable, error);
}

/* The copy restores what the step is to work on. */
static gboolean
prepare_bench_run_once (const Bench *bench, const Work *work, double *copy_s, double *step_s,
                        GError **error)
{
  double start = now_s ();

  if (!td_copy (bench->queue, work->data, 0, work->pristine, 0, work->data->bytes, error)
      || !td_queue_finish (bench->queue, error))
    return FALSE;
  double between = now_s ();
  if (!run_work (bench, work, error) || !td_queue_finish (bench->queue, error))
    return FALSE;
  *copy_s = between - start;
  *step_s = now_s () - between;
  return TRUE;
}

/* ── Its parts ── */

static void
part_free (gpointer data)
{
  TdPrepareBenchPart *part = data;

  g_free (part->name);
  g_free (part);
}

typedef struct {
  GPtrArray *parts;
  double last_s;
} PartsWatch;

static void
parts_watch (const char *name, gpointer user)
{
  PartsWatch *watch = user;
  TdPrepareBenchPart *part = NULL;

  for (guint i = 0; i < watch->parts->len && !part; i++) {
    TdPrepareBenchPart *known = watch->parts->pdata[i];
    part = g_str_equal (known->name, name) ? known : NULL;
  }
  if (!part) {
    part = g_new0 (TdPrepareBenchPart, 1);
    part->name = g_strdup (name);
    g_ptr_array_add (watch->parts, part);
  }
  const double now = now_s ();
  part->count++;
  part->seconds += now - watch->last_s;
  watch->last_s = now;
}

static gboolean
time_parts (const Bench *bench, const Work *work, TdPrepareBenchRow *row, GError **error)
{
  PartsWatch watch = { g_ptr_array_new_with_free_func (part_free), 0 };

  row->parts = watch.parts;
  if (!td_copy (bench->queue, work->data, 0, work->pristine, 0, work->data->bytes, error)
      || !td_queue_finish (bench->queue, error))
    return FALSE;
  watch.last_s = now_s ();
  td_preparation_set_watch (work->preparation, parts_watch, &watch);
  if (!run_work (bench, work, error) || !td_queue_finish (bench->queue, error))
    return FALSE;
  parts_watch ("end", &watch);
  td_preparation_set_watch (work->preparation, NULL, NULL);
  return TRUE;
}

static gboolean
time_work (const Bench *bench, const Work *work, TdPrepareBenchRow *row, GError **error)
{
  guint runs = bench->spec->runs;
  g_autofree double *copies = g_new (double, runs), *steps = g_new (double, runs);

  for (gint run = -1; run < (gint) runs; run++)
    if (g_cancellable_set_error_if_cancelled (bench->spec->cancellable, error)
        || !prepare_bench_run_once (bench, work, &copies[MAX (run, 0)], &steps[MAX (run, 0)],
                                    error))
      return FALSE;
  row->rows_worked = work->n_rows;
  row->bytes = 2 * work->data->bytes;
  row->copy = td_bench_times (copies, runs);
  row->times = td_bench_times (steps, runs);
  return TRUE;
}

/* The scan that has the rows, and how many views of it are worked on. (transfer full) */
static TdScan *
scan_for (const Bench *bench, guint n_rows, guint halo, GError **error)
{
  const TdPrepareBenchSpec *spec = bench->spec;
  const guint64 view_bytes = (guint64) n_rows * spec->n_columns * sizeof (float);

  if (n_rows <= td_scan_facts (bench->scan)->n_rows)
    return td_scan_ref (bench->scan);
  /* In the middle of it, where no end of the detector is continued. */
  return prepare_bench_make_scan (spec, n_rows + 2 * halo,
                                  (guint) CLAMP (MOST_BYTES / view_bytes, 2, spec->n_views), error);
}

static gboolean
prepare_bench_measure (const Bench *bench, const TdStepKind *kind, TdPrepareBenchRow *row,
                       GError **error)
{
  const TdPrepareBenchSpec *spec = bench->spec;
  TdStep step;
  g_auto (Work) work = { 0 };
  guint halo = 0;

  if (kind) {
    td_step_init (&step, kind);
    work.step = &step;
    row->unsupported = td_preparation_unsupported (&step, 1, td_scan_facts (bench->tall));
    if (row->unsupported)
      return TRUE;
    halo = td_preparation_halo (&step, 1, td_scan_facts (bench->tall));
  }
  work.n_rows = spec->n_rows + 2 * halo;
  g_autoptr (TdScan) scan = scan_for (bench, work.n_rows, halo, error);
  if (!scan)
    return FALSE;
  const TdScanFacts *facts = td_scan_facts (scan);
  work.row0 = (facts->n_rows - work.n_rows) / 2;
  work.preparation = td_preparation_new (bench->device, scan, NULL, work.step, kind ? 1 : 0, error);
  work.pristine
      = work.preparation ? make_data (bench, kind, work.n_rows, facts->n_views, error) : NULL;
  work.data = work.pristine ? td_buffer_new (bench->device, work.pristine->bytes, error) : NULL;
  if (!work.data || !time_work (bench, &work, row, error)
      || (spec->parts && !time_parts (bench, &work, row, error)))
    return FALSE;
  row->views_worked = facts->n_views;
  row->wanted_s = row->times.low_s * spec->n_views / facts->n_views;
  row->shared_s = row->wanted_s * spec->n_rows / work.n_rows;
  if (!kind || !kind->run_core)
    return TRUE;
  work.core = TRUE;
  if (!time_work (bench, &work, row, error))
    return FALSE;
  row->wanted_s = row->times.low_s * spec->n_views / facts->n_views;
  return TRUE;
}

/* ── All of them ── */

static gboolean
time_backprojection (const Bench *bench, TdPrepareBench *result, GError **error)
{
  const TdPrepareBenchSpec *spec = bench->spec;
  g_autofree double *seconds = g_new (double, spec->runs);
  TdBackprojectTask task;

  td_trial_task_init (&task, spec->n_columns, spec->n_views, spec->n_columns,
                      TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree double *angles = (double *) task.angles_rad;
  const TdBackprojectFamily *family
      = td_backproject_choose ("auto", &task, bench->device, spec->n_rows, error);
  g_autoptr (TdTrial) trial
      = family ? td_trial_new (bench->device, &task, spec->n_rows, 2, error) : NULL;
  if (!trial || !td_trial_prepare (trial, family, NULL, error))
    return FALSE;
  for (gint run = -1; run < (gint) spec->runs; run++)
    if (g_cancellable_set_error_if_cancelled (spec->cancellable, error)
        || !td_trial_run (trial, &seconds[MAX (run, 0)], error))
      return FALSE;
  result->backproject = td_bench_times (seconds, spec->runs);
  result->family = family->name;
  return TRUE;
}

static gboolean
prepare_bench_add_row (const Bench *bench, TdPrepareBench *result, const TdStepKind *kind,
                       GError **error)
{
  TdPrepareBenchRow *row = g_new0 (TdPrepareBenchRow, 1);

  row->step = kind ? kind->name : FIRST;
  g_ptr_array_add (result->rows, row);
  return prepare_bench_measure (bench, kind, row, error);
}

TdPrepareBench *
td_prepare_bench_run (TdDevice *device, const TdPrepareBenchSpec *spec, GError **error)
{
  g_autoptr (TdPrepareBench) result = g_new0 (TdPrepareBench, 1);
  g_auto (Bench) bench = { .spec = spec, .device = device };

  result->rows = g_ptr_array_new_with_free_func (row_free);
  bench.tall = prepare_bench_make_scan (spec, TALL_ROWS, spec->n_views, error);
  bench.scan = bench.tall
                   ? prepare_bench_make_scan (spec, spec->n_rows + FEW_ROWS, spec->n_views, error)
                   : NULL;
  bench.queue = bench.scan ? td_queue_new (device, error) : NULL;
  if (!bench.queue || (!spec->step && !prepare_bench_add_row (&bench, result, NULL, error)))
    return NULL;
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    if ((!spec->step || g_str_equal (spec->step, (*kind)->name))
        && !prepare_bench_add_row (&bench, result, *kind, error))
      return NULL;
  return time_backprojection (&bench, result, error) ? g_steal_pointer (&result) : NULL;
}
