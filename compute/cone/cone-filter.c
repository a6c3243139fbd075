/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-filter.h"

#include <string.h>

#include "cone-rectify.h"
#include "kernels/params.h"

struct TdConeFilter {
  TdDevice *device;
  guint n_columns, n_wide, shift; /* measured, filtered, and where the former lie */
  guint n_views;
  guint rows_at_once;        /* that the ramp takes */
  double u_middle, v_middle; /* of the measured columns */
  TdBuffer *cosine, *redundancy;
  TdRedundancy shares; /* by_row: redundancy has the rays' fans, else weights by column */
  TdBuffer *wide;      /* filtered rows that are wider than the measured; NULL: in place */
  TdKernel *kernel;
  TdRowFilter *ramp;
  /* Of a task whose detector is rectified. */
  TdBuffer *rectified;       /* rows on it; NULL: they are the task's as they come */
  TdConeRectifyRows rectify; /* but for the rows */
  TdBuffer *forms;           /* [view or 1][TD_CONE_RECTIFY_FORM] */
  TdKernel *rectify_kernel;
};

/* ── Tables ── */

/* The quadratic form of cone.h moved to the detector's middle: large coordinates would cancel in
   single precision. */
static void
centred_cosine (const double matrix[12], double u, double v, float out[6])
{
  double q[6];

  td_cone_cosine (matrix, q);
  out[0] = (float) q[0];
  out[1] = (float) q[1];
  out[2] = (float) (q[0] * u * u + q[1] * v * v + q[2] + q[3] * u * v + q[4] * u + q[5] * v);
  out[3] = (float) q[3];
  out[4] = (float) (2 * q[0] * u + q[3] * v + q[4]);
  out[5] = (float) (2 * q[1] * v + q[3] * u + q[5]);
}

static TdBuffer *
upload_table (TdDevice *device, const float *table, guint64 count, GError **error)
{
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, count * sizeof *table, error);
  g_autoptr (TdQueue) queue = buffer ? td_queue_new (device, error) : NULL;

  if (!queue || !td_upload (queue, buffer, 0, table, count * sizeof *table, error)
      || !td_queue_finish (queue, error))
    return NULL;
  return g_steal_pointer (&buffer);
}

static TdBuffer *
upload_forms (TdDevice *device, const TdConeTask *task, GError **error)
{
  const guint64 count = (guint64) task->tilted.n * TD_CONE_RECTIFY_FORM;
  g_autofree float *forms = g_new (float, count);

  for (guint view = 0; view < task->tilted.n; view++) {
    double form[TD_CONE_RECTIFY_FORM];
    td_cone_rectify_form (task, view, form);
    for (guint i = 0; i < TD_CONE_RECTIFY_FORM; i++)
      forms[(gsize) view * TD_CONE_RECTIFY_FORM + i] = (float) form[i];
  }
  return upload_table (device, forms, count, error);
}

/* Weights [view][column], the same for all rows. */
static void
weights_by_column (const TdConeFilter *filter, const TdConeFan *fan, double angle_rad,
                   float *weights)
{
  for (guint column = 0; column < filter->n_columns; column++)
    weights[column] = (float) td_cone_redundancy_weight (
        &filter->shares, angle_rad,
        td_cone_fan_angle (fan, column + (double) filter->shift, filter->v_middle));
}

/* What the kernel makes weights of: the forms moved to the detector's middle, and the angle. */
static void
weights_by_row (const TdConeFilter *filter, const TdConeFan *fan, double angle_rad, float out[7])
{
  const double *const forms[2] = { fan->right, fan->ahead };

  for (guint i = 0; i < 2; i++) {
    const double *form = forms[i];
    out[3 * i] = (float) form[0];
    out[3 * i + 1] = (float) form[1];
    out[3 * i + 2] = (float) (form[0] * (filter->u_middle + filter->shift)
                              + form[1] * filter->v_middle + form[2]);
  }
  out[6] = (float) td_cone_redundancy_angle (&filter->shares, angle_rad);
}

static float *
make_redundancy (const TdConeFilter *filter, const TdConeTask *task, const TdGeometry *geometry,
                 const double *angles_rad, guint64 *count)
{
  const guint each = filter->shares.by_row ? 7 : filter->n_columns;
  const gboolean same = !geometry->view_matrices && filter->shares.kind != TD_REDUNDANCY_PARKER;

  *count = (guint64) each * filter->n_views;
  float *out = g_new (float, *count);
  for (guint view = 0; view < filter->n_views; view++) {
    float *to = out + (gsize) view * each;
    TdConeFan fan;

    if (view > 0 && same) {
      memcpy (to, out, each * sizeof *to);
      continue;
    }
    td_cone_fan (task->matrices + 12 * (gsize) view,
                 &fan); /* td_cone_redundancy() has seen them all */
    (filter->shares.by_row ? weights_by_row : weights_by_column) (filter, &fan, angles_rad[view],
                                                                  to);
  }
  return out;
}

static gboolean
cone_filter_make_tables (TdConeFilter *filter, const TdConeTask *task, const TdGeometry *geometry,
                         const double *angles_rad, GError **error)
{
  g_autofree float *cosine = g_new (float, 6 * (gsize) task->n_views);
  guint64 count;

  for (guint view = 0; view < task->n_views; view++)
    centred_cosine (task->matrices + 12 * (gsize) view, filter->u_middle + filter->shift,
                    filter->v_middle, cosine + 6 * (gsize) view);
  g_autofree float *redundancy = make_redundancy (filter, task, geometry, angles_rad, &count);
  filter->cosine = upload_table (filter->device, cosine, 6 * (guint64) task->n_views, error);
  return filter->cosine
         && (filter->redundancy = upload_table (filter->device, redundancy, count, error));
}

/* For tasks that td_cone_task_rectify() made. */
static gboolean
make_rectify (TdConeFilter *filter, const TdConeTask *task, guint64 lines, GError **error)
{
  const TdConeTilted *tilted = &task->tilted;

  filter->rectify = (TdConeRectifyRows) {
    .n_columns = (int) task->n_measured,
    .n_views = (int) task->n_views,
    .from_columns = (int) tilted->n_columns,
    .columns = td_device_info (filter->device)->host_pointers ? (int) task->n_measured : 1,
    .form_stride = tilted->n == 1 ? 0 : TD_CONE_RECTIFY_FORM,
    .u_middle = (float) filter->u_middle,
    .v_middle = (float) filter->v_middle,
    .from_u = (float) ((tilted->n_columns - 1) / 2.0),
    .from_v = (float) ((tilted->n_rows - 1) / 2.0),
  };
  return (filter->forms = upload_forms (filter->device, task, error))
         && (filter->rectify_kernel
             = td_device_kernel (filter->device, "cone-rectify", NULL, "cone_rectify", error))
         && (filter->rectified
             = td_buffer_new (filter->device, lines * filter->n_columns * sizeof (float), error));
}

TdConeFilter *
td_cone_filter_new (TdDevice *device, const TdConeTask *task, const TdGeometry *geometry,
                    const double *angles_rad, const TdFilter *spec, guint max_rows, GError **error)
{
  g_autoptr (TdConeFilter) filter = g_new0 (TdConeFilter, 1);
  const guint64 lines = (guint64) max_rows * task->n_views;

  filter->device = td_device_ref (device);
  filter->n_columns = task->n_measured;
  filter->n_wide = task->n_columns;
  filter->shift = task->shift;
  filter->n_views = task->n_views;
  /* Two lines go through one transform, and must be of one row, lest it matter what chunk that is
   * in. */
  filter->rows_at_once = task->n_views % 2 == 1 ? 1 : max_rows;
  filter->u_middle = (task->n_measured - 1) / 2.0;
  filter->v_middle = (task->n_rows - 1) / 2.0;
  filter->shares = task->redundancy;
  if (lines > G_MAXINT)
    return td_set_error_null (
        error, TD_ERROR_TOO_LARGE,
        "A slab of %u rows of %u views has more than 2^31 lines; use a smaller memory limit.",
        max_rows, task->n_views);
  if (!cone_filter_make_tables (filter, task, geometry, angles_rad, error))
    return NULL;
  filter->kernel
      = td_device_kernel (device, "cone-weight", NULL,
                          filter->shares.by_row ? "cone_weight_by_row" : "cone_weight", error);
  if (!filter->kernel)
    return NULL;
  filter->ramp = td_row_filter_new (device, filter->n_columns, filter->n_wide,
                                    filter->rows_at_once * task->n_views, error);
  if (!filter->ramp || !td_row_filter_set (filter->ramp, spec, error))
    return NULL;
  if (task->tilted.n_rows > 0
          ? !make_rectify (filter, task, lines, error)
          : filter->n_wide > filter->n_columns
                && !(filter->wide
                     = td_buffer_new (device, lines * filter->n_wide * sizeof (float), error)))
    return NULL;
  return g_steal_pointer (&filter);
}

gboolean
td_cone_filter_set_views (TdConeFilter *filter, const TdConeTask *task, const TdGeometry *geometry,
                          const double *angles_rad, GError **error)
{
  g_return_val_if_fail (task->n_views == filter->n_views, FALSE);
  g_clear_pointer (&filter->cosine, td_buffer_free);
  g_clear_pointer (&filter->redundancy, td_buffer_free);
  if (!cone_filter_make_tables (filter, task, geometry, angles_rad, error))
    return FALSE;
  if (!filter->rectified || task->tilted.n == 1)
    return TRUE;
  td_buffer_free (filter->forms);
  return (filter->forms = upload_forms (filter->device, task, error)) != NULL;
}

/* Enqueues. @from: float [row][view][column], the detector's rows @given, at least those of
   td_cone_rectify_rows(). To rectified rows @rows, n_measured wide. */
static gboolean
run_rectify (TdConeFilter *filter, TdQueue *queue, TdBuffer *from, TdRowRange given,
             TdRowRange rows, GError **error)
{
  TdConeRectifyRows params = filter->rectify;
  const guint items = (guint) (params.n_columns / params.columns), wide = MIN (items, 64);
  const guint local[3] = { wide, 1, 1 };
  const guint groups[3] = { (items + wide - 1) / wide, (guint) params.n_views, rows.count };

  params.n_rows = (int) rows.count;
  params.row0 = (int) rows.first;
  params.from_rows = (int) given.count;
  params.from_row0 = (int) given.first;
  return td_launch (queue, filter->rectify_kernel, groups, local,
                    TD_ARGS (from, filter->rectified, filter->forms, params), error);
}

static gboolean
run_ramp (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, TdBuffer *to, guint n_rows,
          GError **error)
{
  const TdRowBlend place = { .shift = filter->shift };
  const gboolean apart = to != rows;

  for (guint row = 0; row < n_rows; row += filter->rows_at_once) {
    const guint n = MIN (filter->rows_at_once, n_rows - row);
    const guint64 line = (guint64) row * filter->n_views * sizeof (float);
    if (!td_row_filter_run (filter->ramp, queue, (TdPlace) { rows, line * filter->n_columns },
                            n * filter->n_views, apart ? &place : NULL,
                            (TdPlace) { to, line * filter->n_wide }, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
run_weights (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, TdRowRange which, GError **error)
{
  const TdConeWeight params = {
    .n_columns = (int) filter->n_columns,
    .n_views = (int) filter->n_views,
    .n_rows = (int) which.count,
    .row0 = (int) which.first,
    .u_middle = (float) filter->u_middle,
    .v_middle = (float) filter->v_middle,
    .overlap = (float) filter->shares.overlap_rad,
    .side = (float) filter->shares.side,
    .overscan = (float) filter->shares.overscan_rad,
  };
  const guint local[3] = { 256, 1, 1 };
  const guint groups[3] = { (filter->n_columns + 255) / 256, filter->n_views, which.count };

  return td_launch (queue, filter->kernel, groups, local,
                    TD_ARGS (rows, filter->cosine, filter->redundancy, params), error);
}

gboolean
td_cone_filter_run (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, TdRowRange which,
                    GError **error)
{
  g_return_val_if_fail (!filter->rectified, FALSE);
  if (!run_weights (filter, queue, rows, which, error)
      || !run_ramp (filter, queue, rows, filter->wide ? filter->wide : rows, which.count, error))
    return FALSE;
  return !filter->wide
         || td_copy (queue, rows, 0, filter->wide, 0,
                     (guint64) which.count * filter->n_views * filter->n_wide * sizeof (float),
                     error);
}

gboolean
td_cone_filter_run_rectified (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                              TdRowRange given, TdRowRange which, GError **error)
{
  g_return_val_if_fail (filter->rectified, FALSE);
  return run_rectify (filter, queue, rows, given, which, error)
         && run_weights (filter, queue, filter->rectified, which, error)
         && run_ramp (filter, queue, filter->rectified, rows, which.count, error);
}

guint64
td_cone_filter_workspace_bytes (const TdConeTask *task, guint max_rows)
{
  const guint64 lines = (guint64) max_rows * task->n_views;
  const gboolean rectified = task->tilted.n_rows > 0, wide = task->n_columns > task->n_measured;
  const guint64 between = rectified ? task->n_measured : wide ? task->n_columns : 0;
  const guint64 tables = 6 + (rectified ? TD_CONE_RECTIFY_FORM : 0) + (guint64) task->n_columns;

  return td_row_filter_workspace_bytes (task->n_columns, max_rows * task->n_views)
         + (lines * between + tables * task->n_views) * sizeof (float);
}

void
td_cone_filter_free (TdConeFilter *filter)
{
  if (!filter)
    return;
  td_row_filter_free (filter->ramp);
  td_buffer_free (filter->cosine);
  td_buffer_free (filter->redundancy);
  td_buffer_free (filter->wide);
  td_buffer_free (filter->rectified);
  td_buffer_free (filter->forms);
  td_device_unref (filter->device);
  g_free (filter);
}
