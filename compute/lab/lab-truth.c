/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-truth.h"

#include <fftw3.h>
#include <math.h>
#include <string.h>

#include "compute/portion.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/engine/fbp/fbp.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/parallel/fourier-shape.h"
#include "compute/row-filter-host.h"
#include "lab-filter.h"

/* Rows of the slice that a thread sums at a time: their sums stay in its cache. */
#define BAND 8
/* Views whose tables are held at once, in doubles of table. */
#define TABLE_DOUBLES ((gsize) 1 << 23)
/* Of a band-limited row, values a column. Cubic pieces between them are off by (pi / FINE)^4 / 384,
   which is 2.4e-7 of what lies at the Nyquist frequency. */
#define FINE 32

/* A view's filtered row as a function of the position u. It has pieces of 1 / fine columns from
   column @first on. Each is a polynomial of @terms coefficients in the place within the piece. */
typedef struct {
  double first, fine;
  guint terms; /* 2: linear, 4: cubic */
  gsize n;     /* pieces; beyond them the row is 0 */
} Shape;

typedef struct {
  const TdPlan *plan;
  const TdFbp *fbp;
  TdBackprojectTask task;
  TdLabFilter *filter;
  TdLabShortcuts cuts;
  const float *sinogram;
  double *rows; /* filtered, [view][n_filtered] */
  Shape shape;
  guint padded;                      /* Fourier: of a row; else 0 */
  float *response;                   /* Fourier: padded / 2 */
  fftw_plan narrow, wide;            /* Fourier: of a padded row and of a fine one */
  TdHostScratch *lines, *fine_lines; /* of weighted rows and the blend; of the fine row */
  double *start, *du_x, *du_y;       /* in one piece */
  guint view0, n_views;              /* whose tables are held */
  double *tables;
  double *sums, *run; /* [ny][nx]; of the present half run */
  GCancellable *cancellable;
} Truth;

/* ── Filter ── */

static void
truth_filter_view (guint view, gpointer user)
{
  const Truth *truth = user;
  const TdFbp *fbp = truth->fbp;
  const float *row = truth->sinogram + (gsize) view * fbp->n_columns;

  if (g_cancellable_is_cancelled (truth->cancellable))
    return;
  const TdHostPieces pieces = td_host_scratch_take (truth->lines);
  double *line = pieces.from;
  float *weights = fbp->blend ? pieces.to : NULL;
  if (weights)
    td_row_blend_weights (fbp->n_columns, truth->task.centre_px - fbp->shift, weights);
  for (guint i = 0; i < fbp->n_columns; i++)
    line[i] = row[i] * (weights ? (double) weights[i] : 1);
  td_lab_filter_run (truth->filter, line, truth->rows + (gsize) view * fbp->n_filtered);
  td_host_scratch_give (truth->lines, &pieces);
}

static gboolean
truth_filter_single (Truth *truth, GError **error)
{
  const TdFbp *fbp = truth->fbp;
  const guint n_views = truth->task.n_views;
  const gsize n = (gsize) n_views * fbp->n_filtered;
  const guint padded = td_filter_padded_size (fbp->n_filtered);
  g_autofree float *wide = td_host_malloc (n * sizeof *wide, error);
  TdHostRowFilter *filter
      = wide ? td_host_row_filter_new (fbp->n_columns, fbp->n_filtered, padded, error) : NULL;
  const TdRowBlend blend = {
    .shift = fbp->shift,
    .n_views = n_views,
    .centre_px = truth->task.centre_px - fbp->shift,
  };

  if (!filter)
    return FALSE;
  td_host_row_filter_set (filter, td_lab_filter_response (truth->filter),
                          truth->plan->recipe.filter.extend_edges);
  td_host_row_filter_run (filter, truth->sinogram, n_views, fbp->blend ? &blend : NULL, wide);
  td_host_row_filter_free (filter);
  for (gsize i = 0; i < n; i++)
    truth->rows[i] = wide[i];
  return TRUE;
}

static gboolean
truth_filter_rows (Truth *truth, GError **error)
{
  const TdFbp *fbp = truth->fbp;
  const guint n_views = truth->task.n_views;

  truth->rows = td_host_malloc ((guint64) n_views * fbp->n_filtered * sizeof *truth->rows, error);
  if (!truth->rows)
    return FALSE;
  truth->filter = td_lab_filter_new (&truth->plan->recipe.filter, fbp->n_columns, fbp->n_filtered,
                                     fbp->shift, error);
  if (!truth->filter)
    return FALSE;
  if (truth->cuts.single_filter) {
    if (!truth_filter_single (truth, error))
      return FALSE;
  } else {
    truth->lines = td_host_scratch_new (fbp->n_columns * sizeof (double),
                                        fbp->n_columns * sizeof (float), error);
    if (!truth->lines)
      return FALSE;
    td_parallel_for (n_views, truth_filter_view, truth);
  }
  if (truth->cuts.half_storage)
    td_lab_store_half (truth->rows, (gsize) n_views * fbp->n_filtered);
  return TRUE;
}

/* ── Tables of rows ── */

/* Linear pieces between columns, with a column of zeros at either end: it fades to 0 there. */
static void
truth_table_linear (const Truth *truth, const double *row, double factor, double *table)
{
  const guint n = truth->task.n_columns;

  for (guint k = 0; k <= n; k++) {
    const double left = k > 0 ? factor * row[k - 1] : 0, right = k < n ? factor * row[k] : 0;
    table[2 * k] = left;
    table[2 * k + 1] = right - left;
  }
}

/* Cubic pieces through the band-limited row's values and derivatives. Both come of one transform:
   the derivative is its imaginary part. */
static void
truth_table_fine (const Truth *truth, const double *row, double factor, double *table)
{
  const guint padded = truth->padded, half = padded / 2;
  const gsize fine = (gsize) padded * FINE;
  const TdHostPieces pieces = td_host_scratch_take (truth->fine_lines);
  fftw_complex *from = pieces.from, *to = pieces.to;

  for (guint i = 0; i < padded; i++) {
    from[i][0] = i < truth->task.n_columns ? row[i] : 0;
    from[i][1] = 0;
  }
  fftw_execute_dft (truth->narrow, from, to);
  memset (from, 0, fine * sizeof *from);
  /* Let w = 2 pi k / P. Then q + i q' of the real row has (1 - w) Q at frequency k, and (1 + w)
     conj Q at -k. It is read backwards, because the transform is the forward one. */
  for (guint k = 0; k < half; k++) {
    const double scale = factor * truth->response[k] / padded, w = 2 * G_PI * k / padded;
    const double re = scale * to[k][0], im = scale * to[k][1];
    const gsize up = k ? fine - k : 0;

    from[up][0] += (1 - w) * re;
    from[up][1] += (1 - w) * im;
    if (k > 0) {
      from[k][0] += (1 + w) * re;
      from[k][1] -= (1 + w) * im;
    }
  }
  fftw_execute_dft (truth->wide, from, to);
  const gint64 offset = (gint64) truth->shape.first * FINE;
  for (gsize k = 0; k < truth->shape.n; k++) {
    const gsize at
        = (gsize) (((offset + (gint64) k) % (gint64) fine + (gint64) fine) % (gint64) fine);
    const double *a = to[at], *b = to[(at + 1) % fine];
    const double m0 = a[1] / FINE, m1 = b[1] / FINE, rise = b[0] - a[0];

    table[4 * k] = a[0];
    table[4 * k + 1] = m0;
    table[4 * k + 2] = 3 * rise - 2 * m0 - m1;
    table[4 * k + 3] = m0 + m1 - 2 * rise;
  }
  td_host_scratch_give (truth->fine_lines, &pieces);
}

static void
truth_make_table (guint index, gpointer user)
{
  const Truth *truth = user;
  const guint view = truth->view0 + index;
  const double factor = truth->task.scale * truth->task.weights[view];
  const double *row = truth->rows + (gsize) view * truth->task.n_columns;
  double *table = truth->tables + index * truth->shape.n * truth->shape.terms;

  if (g_cancellable_is_cancelled (truth->cancellable))
    return;
  if (truth->padded)
    truth_table_fine (truth, row, factor, table);
  else
    truth_table_linear (truth, row, factor, table);
}

/* ── Sums ── */

/* A row of pixels as a view sees it. */
typedef struct {
  double p, dp; /* pixel i lies at p + i dp, in pieces of the table */
  guint lo, hi; /* the pixels [lo, hi) lie within the table */
} Line;

static void
truth_clip (Line *line, guint n, double end)
{
  const double p = line->p, dp = line->dp;
  double from = 0, to = n;

  if (fabs (dp) > 1e-12) {
    const double a = -p / dp, b = (end - p) / dp;
    from = CLAMP (floor (fmin (a, b)), 0, n);
    to = CLAMP (ceil (fmax (a, b)) + 1, 0, n);
  }
  line->lo = (guint) from;
  line->hi = (guint) to;
  while (line->lo < line->hi && !(p + line->lo * dp >= 0 && p + line->lo * dp < end))
    line->lo++;
  while (line->lo < line->hi && !(p + (line->hi - 1) * dp >= 0 && p + (line->hi - 1) * dp < end))
    line->hi--;
}

static void
truth_add_linear (const double *table, const Line *line, double *sums)
{
  const double p = line->p, dp = line->dp;

  for (guint i = line->lo; i < line->hi; i++) {
    const double at = p + i * dp;
    const gint32 k = (gint32) at;
    sums[i] += table[2 * k] + (at - k) * table[2 * k + 1];
  }
}

static void
truth_add_cubic (const double *table, const Line *line, double *sums)
{
  const double p = line->p, dp = line->dp;

  for (guint i = line->lo; i < line->hi; i++) {
    const double at = p + i * dp;
    const gint32 k = (gint32) at;
    const double *c = table + 4 * (gsize) k, f = at - k;
    sums[i] += c[0] + f * (c[1] + f * (c[2] + f * c[3]));
  }
}

/* With shortcuts. @row: of the line's first pixel. */
static void
truth_add_short (const Truth *truth, const double *table, const Line *line, gsize row)
{
  const double p = line->p, dp = line->dp;
  double *sums = truth->sums + row, *run = truth->run ? truth->run + row : NULL;

  for (guint i = line->lo; i < line->hi; i++) {
    const double at = p + i * dp;
    const guint k = (guint) at;
    double f = at - k;
    if (truth->cuts.samples)
      f = floor (f * truth->cuts.samples + 0.5) / truth->cuts.samples;
    const double term = table[2 * k] + f * table[2 * k + 1];
    if (run)
      run[i] = td_lab_half (run[i] + td_lab_half (term));
    else if (truth->cuts.single_sums)
      sums[i] = (float) (sums[i] + term);
    else
      sums[i] += term;
  }
}

static void
truth_add_band (guint index, gpointer user)
{
  const Truth *truth = user;
  const TdBackprojectTask *task = &truth->task;
  const Shape *shape = &truth->shape;
  const guint first = index * BAND, end = MIN (first + BAND, task->ny);
  const gboolean is_short = truth->cuts.samples || truth->cuts.single_sums || truth->cuts.half_run;

  for (guint v = 0; v < truth->n_views; v++) {
    const guint view = truth->view0 + v;
    const double *table = truth->tables + v * shape->n * shape->terms;

    if (g_cancellable_is_cancelled (truth->cancellable))
      return;
    for (guint j = first; j < end; j++) {
      const gsize row = (gsize) j * task->nx;
      Line line = {
        .p = (truth->start[view] + j * truth->du_y[view] - shape->first) * shape->fine,
        .dp = truth->du_x[view] * shape->fine,
      };
      truth_clip (&line, task->nx, shape->n);
      if (is_short)
        truth_add_short (truth, table, &line, row);
      else if (shape->terms == 2)
        truth_add_linear (table, &line, truth->sums + row);
      else
        truth_add_cubic (table, &line, truth->sums + row);
    }
    if (!truth->run || ((view + 1) % truth->cuts.half_run != 0 && view + 1 != task->n_views))
      continue;
    /* The half run's sum is rounded into the slice's. */
    for (gsize i = (gsize) first * task->nx; i < (gsize) end * task->nx; i++) {
      truth->sums[i] = (float) (truth->sums[i] + truth->run[i]);
      truth->run[i] = 0;
    }
  }
}

/* ── All of it ── */

/* Where pixels lie: the table of a band-limited row reaches as far. */
static void
truth_reach (const Truth *truth, double *least, double *most)
{
  const TdBackprojectTask *task = &truth->task;

  *least = INFINITY;
  *most = -INFINITY;
  for (guint v = 0; v < task->n_views; v++)
    for (guint corner = 0; corner < 4; corner++) {
      const double u = truth->start[v] + (corner & 1 ? (task->nx - 1) * truth->du_x[v] : 0)
                       + (corner & 2 ? (task->ny - 1) * truth->du_y[v] : 0);
      *least = fmin (*least, u);
      *most = fmax (*most, u);
    }
}

static gboolean
truth_shape (Truth *truth, gboolean fourier, GError **error)
{
  double least, most;

  truth->shape = (Shape) { .first = -1, .fine = 1, .terms = 2, .n = truth->task.n_columns + 1 };
  if (!fourier)
    return TRUE;
  TdFourierShape shape;
  td_fourier_shape_init (&shape, &truth->task);
  truth_reach (truth, &least, &most);
  truth->padded = shape.padded;
  truth->response = g_new (float, shape.padded / 2);
  td_fourier_response (&shape, truth->task.interpolation, truth->response);
  truth->narrow = td_fftw_plan_double (shape.padded);
  truth->wide = td_fftw_plan_double (shape.padded * FINE);
  if (!truth->narrow || !truth->wide)
    return td_set_error (error, TD_ERROR_IO, "Not enough memory for rows of %u values",
                         shape.padded * FINE);
  const gsize line = (gsize) shape.padded * FINE * sizeof (fftw_complex);
  truth->fine_lines = td_host_scratch_new (line, line, error);
  if (!truth->fine_lines)
    return FALSE;
  truth->shape.first = floor (least) - 1;
  truth->shape.fine = FINE;
  truth->shape.terms = 4;
  truth->shape.n = (gsize) (ceil (most) + 1 - truth->shape.first) * FINE;
  return TRUE;
}

static gboolean
truth_run (Truth *truth, GError **error)
{
  const TdBackprojectTask *task = &truth->task;
  const gsize n = (gsize) task->nx * task->ny, table = truth->shape.n * truth->shape.terms;
  const guint at_once = (guint) CLAMP (td_portion (TABLE_DOUBLES) / table, 1, task->n_views);

  truth->tables = g_try_new (double, at_once *table);
  truth->sums = g_try_new0 (double, n);
  truth->run = truth->cuts.half_run ? g_try_new0 (double, n) : NULL;
  if (!truth->tables || !truth->sums || (truth->cuts.half_run && !truth->run))
    return td_set_error (error, TD_ERROR_IO,
                         "Not enough memory for a slice of %u × %u pixels in double precision",
                         task->nx, task->ny);
  for (truth->view0 = 0; truth->view0 < task->n_views; truth->view0 += at_once) {
    truth->n_views = MIN (at_once, task->n_views - truth->view0);
    td_parallel_for (truth->n_views, truth_make_table, truth);
    td_parallel_for ((task->ny + BAND - 1) / BAND, truth_add_band, truth);
    if (g_cancellable_set_error_if_cancelled (truth->cancellable, error))
      return FALSE;
  }
  return TRUE;
}

static void
truth_clear (Truth *truth)
{
  td_lab_filter_free (truth->filter);
  td_host_scratch_free (truth->lines);
  td_host_scratch_free (truth->fine_lines);
  td_fftw_plan_double_free (truth->narrow);
  td_fftw_plan_double_free (truth->wide);
  g_free (truth->rows);
  g_free (truth->response);
  g_free (truth->start);
  g_free (truth->tables);
  g_free (truth->sums);
  g_free (truth->run);
}

static double *
truth_parallel (const TdPlan *plan, const float *sinogram, const TdLabShortcuts *shortcuts,
                guint most_views, GCancellable *cancellable, GError **error)
{
  const gboolean fourier = plan->method->kind == TD_METHOD_FOURIER;
  Truth truth = {
    .plan = plan,
    .fbp = plan->extra,
    .cuts = *shortcuts,
    .sinogram = sinogram,
    .cancellable = cancellable,
  };

  td_fbp_task (plan, plan->facts.first_slice, &truth.task);
  truth.task.n_views = MIN (truth.task.n_views, most_views);
  if (truth.task.interpolation == TD_INTERPOLATION_NEAREST && !truth.cuts.samples && !fourier)
    truth.cuts.samples = 1;
  const guint n_views = truth.task.n_views;
  truth.start = g_new (double, 3 * (gsize) n_views);
  truth.du_x = truth.start + n_views;
  truth.du_y = truth.du_x + n_views;
  td_backproject_views (&truth.task, truth.start, truth.du_x, truth.du_y);
  const gboolean good = truth_filter_rows (&truth, error) && truth_shape (&truth, fourier, error)
                        && truth_run (&truth, error);
  double *slice = good ? g_steal_pointer (&truth.sums) : NULL;
  truth_clear (&truth);
  return slice;
}

/* ── Any beam ── */

/* Updates that a probe makes at least: some hundredths of a second. */
#define PROBE_UPDATES 4e6

const char *
td_lab_truth_unsupported (const TdPlan *plan)
{
  if (plan->method->kind != TD_METHOD_FBP && plan->method->kind != TD_METHOD_FOURIER
      && plan->method->kind != TD_METHOD_FDK)
    return N_ ("only filtered back-projection, the Fourier method and FDK have a reference in "
               "double precision");
  return NULL;
}

static double *
truth_views (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
             guint most_views, GCancellable *cancellable, GError **error)
{
  static const TdLabShortcuts none = { 0 };

  g_return_val_if_fail (!td_lab_truth_unsupported (plan), NULL);
  return (plan->method->kind == TD_METHOD_FDK ? td_lab_truth_cone : truth_parallel) (
      plan, rows, shortcuts ? shortcuts : &none, most_views, cancellable, error);
}

double *
td_lab_truth (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
              GCancellable *cancellable, GError **error)
{
  return truth_views (plan, rows, shortcuts, G_MAXUINT, cancellable, error);
}

double
td_lab_truth_seconds (const TdPlan *plan, const float *rows)
{
  const guint n_views = plan->facts.n_views;
  const double updates = (double) plan->facts.nx * plan->facts.ny;
  const guint n = (guint) CLAMP (ceil (PROBE_UPDATES / updates), 1, n_views);
  const gint64 start = g_get_monotonic_time ();
  g_autofree double *slice = truth_views (plan, rows, NULL, n, NULL, NULL);

  return slice ? (g_get_monotonic_time () - start) * 1e-6 * n_views / n : NAN;
}
