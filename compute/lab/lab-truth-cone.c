/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-truth.h"

#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/row-filter-host.h"
#include "lab-filter.h"

/* Rows of the slice that a thread sums at a time. */
#define BAND 8
/* Values of filtered views that are held at once. */
#define TABLE_DOUBLES ((gsize) 1 << 23)
#define LOBES 3

typedef struct {
  const TdFdkInput *input;
  const TdConeTask *task;
  TdLabShortcuts cuts;
  const float *rows; /* [row][view][column] of the scan */
  TdRowRange from;   /* which of the scan's they are */
  guint from_columns;
  guint all_views;                 /* of @rows */
  guint n_views;                   /* that are added */
  TdLabFilter *filter;             /* NULL: the scan is filtered */
  TdHostRowFilter *plain;          /* the host's own, if that is the shortcut */
  TdHostScratch *lines;            /* a weighted row; redundancy by column */
  guint view0, n_held;             /* whose tables are held */
  guint table_rows, table_columns; /* the rows that slices see, in a frame of zeros */
  double *tables;                  /* [view][table_rows][table_columns] */
  float *weighed, *wide;           /* of the host's filter: [view][row][column] */
  double *sums;                    /* [ny][nx] */
  GCancellable *cancellable;
} Truth;

TdRowRange
td_lab_cone_rows (const TdPlan *plan)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  const TdRowRange rows = { input->row0, input->n_rows };

  return input->task.tilted.n_rows > 0 ? td_cone_rectify_rows (&input->task, rows) : rows;
}

/* ── Rectified rows ── */

/* Lanczos' six weights, adding up to 1, for a place @part beyond the sample before. */
static void
truth_cone_lanczos (double part, double weights[2 * LOBES])
{
  double sum = 0;

  for (int i = 0; i < 2 * LOBES; i++) {
    const double d = G_PI * (part - (i - (LOBES - 1)));
    weights[i] = fabs (d) < 1e-9 ? 1 : LOBES * sin (d) * sin (d / LOBES) / (d * d);
    sum += weights[i];
  }
  for (guint i = 0; i < 2 * LOBES; i++)
    weights[i] /= sum;
}

/* Pixel (column, row) of the rectified detector, as kernels/cone-rectify.cl reads it. */
static double
truth_cone_resample (const Truth *truth, const double *h, guint view, guint column, guint row)
{
  const TdConeTilted *tilted = &truth->task->tilted;
  const double from_u = (tilted->n_columns - 1) / 2.0, from_v = (tilted->n_rows - 1) / 2.0;
  const double x = column - (truth->task->n_measured - 1) / 2.0;
  const double a = h[9] * x + h[10], b = h[11] * x + h[12];
  const double y = CLAMP (row - (truth->task->n_rows - 1) / 2.0, MIN (a, b), MAX (a, b));
  const double w = 1 / (h[6] * x + h[7] * y + h[8]);
  const double u = (h[0] * x + h[1] * y + h[2]) * w + from_u;
  const double v = (h[3] * x + h[4] * y + h[5]) * w + from_v;
  const double off = h[13] != 0 ? fabs (u - from_u) - from_u : fabs (v - from_v) - from_v;
  double across[2 * LOBES], down[2 * LOBES], sum = 0;

  if (off > 0.5)
    return 0;
  truth_cone_lanczos (u - floor (u), across);
  truth_cone_lanczos (v - floor (v), down);
  for (int j = 0; j < 2 * LOBES; j++) {
    const int at = (int) floor (v) + j - (LOBES - 1) - (int) truth->from.first;
    const gsize place = (gsize) CLAMP (at, 0, (int) truth->from.count - 1);
    const float *line = truth->rows + (place * truth->all_views + view) * truth->from_columns;
    for (int i = 0; i < 2 * LOBES; i++) {
      const int k = (int) floor (u) + i - (LOBES - 1);
      sum += down[j] * across[i] * line[CLAMP (k, 0, (int) truth->from_columns - 1)];
    }
  }
  return sum;
}

/* ── Weights and filter ── */

static double
truth_cone_share (const Truth *truth, const TdConeFan *fan, guint view, double u, double v)
{
  return td_cone_redundancy_weight (&truth->task->redundancy, truth->input->angles_rad[view],
                                    td_cone_fan_angle (fan, u, v));
}

/* What is the same for all rows of a view. */
typedef struct {
  guint view;
  double cosine[6], form[TD_CONE_RECTIFY_FORM];
  TdConeFan fan;
  const double *shares; /* by column; NULL: they differ from row to row */
} View;

static void
truth_cone_begin_view (const Truth *truth, guint view, double *shares, View *now)
{
  const TdConeTask *task = truth->task;
  const double *matrix = task->matrices + 12 * (gsize) view;

  *now = (View) { .view = view, .shares = task->redundancy.by_row ? NULL : shares };
  if (task->tilted.n_rows > 0)
    td_cone_rectify_form (task, view, now->form);
  if (!truth->filter)
    return;
  td_cone_cosine (matrix, now->cosine);
  td_cone_fan (matrix, &now->fan); /* td_cone_redundancy() has seen them all */
  for (guint i = 0; now->shares && i < task->n_measured; i++)
    shares[i]
        = truth_cone_share (truth, &now->fan, view, i + task->shift, (task->n_rows - 1) / 2.0);
}

/* Row @row of the task's detector, weighted: n_measured values. */
static void
truth_cone_weigh (const Truth *truth, const View *now, guint row, double *line)
{
  const TdConeTask *task = truth->task;
  const gboolean rectified = task->tilted.n_rows > 0;
  const double *q = now->cosine, v = row;
  const float *from
      = truth->rows
        + ((gsize) (rectified ? 0 : row - truth->from.first) * truth->all_views + now->view)
              * truth->from_columns;

  for (guint i = 0; i < task->n_measured; i++) {
    const double u = i + task->shift;
    line[i] = rectified ? truth_cone_resample (truth, now->form, now->view, i, row) : from[i];
    if (truth->filter)
      line[i]
          *= (now->shares ? now->shares[i] : truth_cone_share (truth, &now->fan, now->view, u, v))
             / sqrt (q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v);
  }
}

static double *
truth_cone_table (const Truth *truth, guint index)
{
  return truth->tables + (gsize) index * truth->table_rows * truth->table_columns;
}

static void
truth_cone_make_table (guint index, gpointer user)
{
  const Truth *truth = user;
  const TdConeTask *task = truth->task;
  const guint n_rows = truth->input->n_rows;
  double *table = truth_cone_table (truth, index);
  View now;

  if (g_cancellable_is_cancelled (truth->cancellable))
    return;
  const TdHostPieces pieces = td_host_scratch_take (truth->lines);
  double *line = pieces.from;
  truth_cone_begin_view (truth, truth->view0 + index, pieces.to, &now);
  for (guint row = 0; row < n_rows; row++) {
    double *to = table + (gsize) (row + 1) * truth->table_columns + 1;
    truth_cone_weigh (truth, &now, truth->input->row0 + row, line);
    if (truth->plain)
      for (guint i = 0; i < task->n_measured; i++)
        truth->weighed[((gsize) index * n_rows + row) * task->n_measured + i] = (float) line[i];
    else if (truth->filter)
      td_lab_filter_run (truth->filter, line, to);
    else
      memcpy (to, line, task->n_columns * sizeof *to);
  }
  td_host_scratch_give (truth->lines, &pieces);
}

/* The host's filter, in single precision. */
static void
truth_cone_filter_single (Truth *truth)
{
  const guint wide = truth->task->n_columns, n_rows = truth->input->n_rows;
  const TdRowBlend place = { .shift = truth->task->shift };

  td_host_row_filter_run (truth->plain, truth->weighed, truth->n_held * n_rows,
                          wide > truth->task->n_measured ? &place : NULL, truth->wide);
  for (guint k = 0; k < truth->n_held; k++)
    for (guint row = 0; row < n_rows; row++) {
      double *to = truth_cone_table (truth, k) + (gsize) (row + 1) * truth->table_columns + 1;
      for (guint i = 0; i < wide; i++)
        to[i] = truth->wide[((gsize) k * n_rows + row) * wide + i];
    }
}

/* ── Sums ── */

static double
truth_cone_part (const Truth *truth, double part)
{
  return truth->cuts.samples ? floor (part * truth->cuts.samples + 0.5) / truth->cuts.samples
                             : part;
}

/* A row of pixels as a view sees it: (u, v, 1) w at the first, and a pixel's step. */
typedef struct {
  double at[3], step[3];
} Line;

static void
truth_cone_add_line (const Truth *truth, const double *table, double weight, const Line *line,
                     double *sums)
{
  const guint n_columns = truth->task->n_columns, n_rows = truth->input->n_rows;
  const gsize stride = truth->table_columns;

  for (guint i = 0; i < truth->task->nx; i++) {
    const double w = line->at[2] + i * line->step[2], inverse = 1 / w;
    const double u = (line->at[0] + i * line->step[0]) * inverse;
    const double v = (line->at[1] + i * line->step[1]) * inverse;
    if (!(w > 0 && u > -1 && u < n_columns && v > -1 && v < n_rows))
      continue;
    /* The table begins one before, with zeros. What lies just before its end may be rounded to it.
     */
    const guint k = MIN ((guint) (u + 1), n_columns), r = MIN ((guint) (v + 1), n_rows);
    const double fu = truth_cone_part (truth, u + 1 - k), fv = truth_cone_part (truth, v + 1 - r);
    const double *p = table + r * stride + k;
    const double upper = p[0] + fu * (p[1] - p[0]);
    const double lower = p[stride] + fu * (p[stride + 1] - p[stride]);
    const double term = weight * inverse * inverse * (upper + fv * (lower - upper));
    sums[i] = truth->cuts.single_sums ? (float) (sums[i] + term) : sums[i] + term;
  }
}

static void
truth_cone_add_band (guint index, gpointer user)
{
  const Truth *truth = user;
  const TdConeTask *task = truth->task;
  const guint first = index * BAND, end = MIN (first + BAND, task->ny);
  const double z = task->first_mm[2];

  for (guint k = 0; k < truth->n_held; k++) {
    const guint view = truth->view0 + k;
    const double *m = task->matrices + 12 * (gsize) view;

    if (g_cancellable_is_cancelled (truth->cancellable))
      return;
    for (guint j = first; j < end; j++) {
      const double x = task->first_mm[0], y = task->first_mm[1] - j * task->voxel_mm;
      Line line;
      for (guint i = 0; i < 3; i++) {
        line.at[i] = m[4 * i] * x + m[4 * i + 1] * y + m[4 * i + 2] * z + m[4 * i + 3];
        line.step[i] = m[4 * i] * task->voxel_mm;
      }
      /* v counts from the first row that the slice sees. */
      line.at[1] -= truth->input->row0 * line.at[2];
      line.step[1] -= truth->input->row0 * line.step[2];
      truth_cone_add_line (truth, truth_cone_table (truth, k), task->view_weights[view], &line,
                           truth->sums + (gsize) j * task->nx);
    }
  }
}

/* ── All of it ── */

static gboolean
truth_cone_set_filter (Truth *truth, const TdFilter *filter, GError **error)
{
  const TdConeTask *task = truth->task;

  truth->lines = td_host_scratch_new (task->n_measured * sizeof (double),
                                      task->n_measured * sizeof (double), error);
  if (!truth->lines)
    return FALSE;
  if (td_scan_facts (truth->input->scan)->filtered)
    return TRUE;
  truth->filter = td_lab_filter_new (filter, task->n_measured, task->n_columns, task->shift, error);
  if (!truth->filter || !truth->cuts.single_filter)
    return truth->filter != NULL;
  truth->plain = td_host_row_filter_new (task->n_measured, task->n_columns,
                                         td_filter_padded_size (task->n_columns), error);
  if (truth->plain)
    td_host_row_filter_set (truth->plain, td_lab_filter_response (truth->filter),
                            filter->extend_edges);
  return truth->plain != NULL;
}

static gboolean
truth_cone_allocate (Truth *truth, guint at_once, GError **error)
{
  const TdConeTask *task = truth->task;
  const gsize table = (gsize) truth->table_rows * truth->table_columns;
  const gsize rows = (gsize) at_once * truth->input->n_rows;

  truth->tables = g_try_new0 (double, at_once *table);
  truth->sums = g_try_new0 (double, (gsize) task->nx * task->ny);
  truth->weighed = truth->plain ? g_try_new (float, rows * task->n_measured) : NULL;
  truth->wide = truth->plain ? g_try_new (float, rows * task->n_columns) : NULL;
  if (truth->tables && truth->sums && (!truth->plain || (truth->weighed && truth->wide)))
    return TRUE;
  return td_set_error (error, TD_ERROR_IO,
                       "Not enough memory for a slice of %u × %u pixels in double precision",
                       task->nx, task->ny);
}

static gboolean
truth_cone_run (Truth *truth, GError **error)
{
  const gsize table = (gsize) truth->table_rows * truth->table_columns;
  const guint at_once = (guint) CLAMP (TABLE_DOUBLES / table, 1, truth->n_views);

  if (!truth_cone_allocate (truth, at_once, error))
    return FALSE;
  for (truth->view0 = 0; truth->view0 < truth->n_views; truth->view0 += at_once) {
    truth->n_held = MIN (at_once, truth->n_views - truth->view0);
    td_parallel_for (truth->n_held, truth_cone_make_table, truth);
    if (truth->plain)
      truth_cone_filter_single (truth);
    for (guint k = 0; truth->cuts.half_storage && k < truth->n_held; k++)
      td_lab_store_half (truth_cone_table (truth, k), table);
    td_parallel_for ((truth->task->ny + BAND - 1) / BAND, truth_cone_add_band, truth);
    if (g_cancellable_set_error_if_cancelled (truth->cancellable, error))
      return FALSE;
  }
  return TRUE;
}

static void
truth_cone_clear (Truth *truth)
{
  td_lab_filter_free (truth->filter);
  td_host_row_filter_free (truth->plain);
  td_host_scratch_free (truth->lines);
  g_free (truth->tables);
  g_free (truth->weighed);
  g_free (truth->wide);
  g_free (truth->sums);
}

double *
td_lab_truth_cone (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
                   guint most_views, GCancellable *cancellable, GError **error)
{
  const TdFdkInput *input = ((const TdFdkPlan *) plan->extra)->input;
  Truth truth = {
    .input = input,
    .task = &input->task,
    .cuts = *shortcuts,
    .rows = rows,
    .from = td_lab_cone_rows (plan),
    .from_columns = td_scan_facts (input->scan)->n_columns,
    .all_views = input->task.n_views,
    .n_views = MIN (most_views, input->task.n_views),
    .table_rows = input->n_rows + 2,
    .table_columns = input->task.n_columns + 2,
    .cancellable = cancellable,
  };
  const gboolean good = truth_cone_set_filter (&truth, &plan->recipe.filter, error)
                        && truth_cone_run (&truth, error);
  double *slice = good ? g_steal_pointer (&truth.sums) : NULL;

  truth_cone_clear (&truth);
  return slice;
}
