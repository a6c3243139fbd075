/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/angles.h"
#include "families.h"
#include "fourier-shape.h"
#include "kernels/params.h"

#include <math.h>

enum {
  MOST_PAIRS = 4,
  LINE_IN_ONE_PASS = 4096, /* longer FFTs may need a workspace of their own */
  MOST_MIDDLE
  = 24, /* points about the middle, where views crowd, go to groups, more of them with more */
  VIEWS_A_MIDDLE = 64, /* views: for a thread alone the whole card would wait */
};
#define WORKSPACE_BYTES ((guint64) 2 << 30) /* for more than one pair */

typedef struct {
  TdBackprojector base;
  TdFourierShape shape;
  guint pairs, n_bins;
  TdKernel *pack, *turn, *gather, *middle, *pixels;
  TdFft *rows_fft, *grid_fft;
  TdBuffer *lines, *spectra, *grid;
  TdBuffer *turns, *directions, *bins, *response, *factors_x, *factors_y;
  TdQueue *uploads;
} FourierDevice;

static guint64
fourier_device_lines_bytes (const TdFourierShape *shape, guint pairs)
{
  return (guint64) pairs * shape->n_views * shape->padded * 2 * sizeof (float);
}

static guint64
grid_bytes (const TdFourierShape *shape, guint pairs)
{
  return (guint64) pairs * shape->gx * shape->gy * 2 * sizeof (float);
}

static guint
bins_for (const TdFourierShape *shape)
{
  return MAX (2 * shape->n_views, 64);
}

static guint64
bytes_for (const TdFourierShape *shape, guint pairs)
{
  const guint64 tables = shape->n_views * (sizeof (TdFourierTurn) + 8 * sizeof (float))
                         + (bins_for (shape) + 1) * sizeof (gint32)
                         + (shape->padded / 2 + shape->nx + shape->ny) * sizeof (float);

  return fourier_device_lines_bytes (shape, pairs) * (shape->padded > LINE_IN_ONE_PASS ? 3 : 2)
         + 2 * grid_bytes (shape, pairs) + tables;
}

static guint
pairs_for (const TdFourierShape *shape, guint max_slices)
{
  guint pairs = MOST_PAIRS;

  while (pairs > 1 && (pairs >= max_slices || bytes_for (shape, pairs) > WORKSPACE_BYTES))
    pairs /= 2;
  return pairs;
}

guint64
td_fourier_device_workspace_bytes (const TdFourierShape *shape, guint max_slices)
{
  return bytes_for (shape, pairs_for (shape, max_slices));
}

/* ── Tables ── */

/* Modulo half a turn, in half turns: 0 … 1. On the raster of frequencies, which is what windows are
   round on; grids may be wider than high. */
static TdDirection *
sort_directions (const TdFourierShape *shape, const TdFourierView *views)
{
  g_autofree double *folded = g_new (double, shape->n_views);

  for (guint v = 0; v < shape->n_views; v++) {
    const double half_turns = atan2 (views[v].dy / shape->gy, views[v].dx / shape->gx) / G_PI;
    const double part = half_turns - floor (half_turns);
    folded[v] = part < 1 ? part : 0;
  }
  return td_angles_sorted (folded, shape->n_views, 0);
}

/* bins[i]: place of the first view at i / n_bins of half a turn or after. */
static gint32 *
fourier_device_fill_bins (const TdFourierShape *shape, const TdDirection *directions, guint n_bins)
{
  gint32 *bins = g_new (gint32, n_bins + 1);
  guint place = 0;

  for (guint i = 0; i <= n_bins; i++) {
    while (place < shape->n_views && directions[place].angle * n_bins < i)
      place++;
    bins[i] = (gint32) place;
  }
  return bins;
}

/* Not infinite: 0 times it must be 0. */
static float
fourier_device_inverse (double step)
{
  return (float) (fabs (step) > 1e-12 ? 1 / step : 1e12);
}

static gboolean
upload_views (FourierDevice *self, const TdBackprojectTask *task, GError **error)
{
  const TdFourierShape *shape = &self->shape;
  const guint n = shape->n_views;
  g_autofree TdFourierView *views = g_new (TdFourierView, n);
  g_autofree TdFourierTurn *turns = g_new0 (TdFourierTurn, n);
  g_autofree float *steps = g_new0 (float, 8 * (gsize) n);

  td_fourier_views (shape, task, views);
  g_autofree TdDirection *directions = sort_directions (shape, views);
  g_autofree gint32 *bins = fourier_device_fill_bins (shape, directions, self->n_bins);
  for (guint i = 0; i < n; i++) {
    const TdFourierView *view = &views[directions[i].view];
    const double part = view->turns - floor (view->turns);
    float *step = steps + 8 * (gsize) i;
    turns[i] = (TdFourierTurn) { .view = (int) directions[i].view,
                                 .turns = (guint32) (guint64) llrint (part * 0x1p32),
                                 .weight = (float) view->weight };
    step[0] = (float) view->dx;
    step[1] = (float) (view->dx - step[0]);
    step[2] = (float) view->dy;
    step[3] = (float) (view->dy - step[2]);
    step[4] = fourier_device_inverse (view->dx);
    step[5] = fourier_device_inverse (view->dy);
  }
  return td_upload (self->uploads, self->turns, 0, turns, n * sizeof *turns, error)
         && td_upload (self->uploads, self->directions, 0, steps, 8 * (guint64) n * sizeof *steps,
                       error)
         && td_upload (self->uploads, self->bins, 0, bins, (self->n_bins + 1) * sizeof *bins, error)
         && td_queue_finish (self->uploads, error);
}

static gboolean
upload_response (FourierDevice *self, TdInterpolation interpolation, GError **error)
{
  const guint n = self->shape.padded / 2;
  g_autofree float *response
      = g_new0 (float, n + 1); /* the last for the frequency that has no opposite */

  td_fourier_response (&self->shape, interpolation, response);
  return td_upload (self->uploads, self->response, 0, response, (n + 1) * sizeof *response, error)
         && td_queue_finish (self->uploads, error);
}

static gboolean
upload_factors (FourierDevice *self, GError **error)
{
  const TdFourierShape *shape = &self->shape;
  g_autofree float *x = g_new (float, shape->nx), *y = g_new (float, shape->ny);

  td_fourier_deapodise (shape, shape->nx, shape->centre_x, shape->gx, x);
  td_fourier_deapodise (shape, shape->ny, shape->centre_y, shape->gy, y);
  return td_upload (self->uploads, self->factors_x, 0, x, shape->nx * sizeof *x, error)
         && td_upload (self->uploads, self->factors_y, 0, y, shape->ny * sizeof *y, error)
         && td_queue_finish (self->uploads, error);
}

/* ── Creation ── */

static gboolean
fourier_device_make_kernels (FourierDevice *self, GError **error)
{
  g_auto (GStrv) defines = td_defines ("PAIRS=%u", self->pairs);
  const struct {
    TdKernel **kernel;
    const char *name;
  } wanted[] = {
    { &self->pack, "fourier_pack" },     { &self->turn, "fourier_turn" },
    { &self->gather, "fourier_gather" }, { &self->middle, "fourier_middle" },
    { &self->pixels, "fourier_pixels" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (!(*wanted[i].kernel = td_device_kernel (
              self->base.device, "fourier", (const char *const *) defines, wanted[i].name, error)))
      return FALSE;
  return TRUE;
}

static gboolean
fourier_device_make_buffers (FourierDevice *self, GError **error)
{
  const TdFourierShape *shape = &self->shape;
  const guint64 n = shape->n_views;
  const struct {
    TdBuffer **buffer;
    guint64 bytes;
  } wanted[] = {
    { &self->lines, fourier_device_lines_bytes (shape, self->pairs) },
    { &self->spectra, fourier_device_lines_bytes (shape, self->pairs) },
    { &self->grid, grid_bytes (shape, self->pairs) },
    { &self->turns, n * sizeof (TdFourierTurn) },
    { &self->directions, n * 8 * sizeof (float) },
    { &self->bins, (self->n_bins + 1) * sizeof (gint32) },
    { &self->response, (shape->padded / 2 + 1) * sizeof (float) },
    { &self->factors_x, shape->nx * sizeof (float) },
    { &self->factors_y, shape->ny * sizeof (float) },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    if (!(*wanted[i].buffer = td_buffer_new (self->base.device, wanted[i].bytes, error)))
      return FALSE;
  return TRUE;
}

static gboolean
fourier_device_make_transforms (FourierDevice *self, GError **error)
{
  const TdFourierShape *shape = &self->shape;

  self->rows_fft = td_fft_new (self->base.device, TD_FFT_C2C_1D, (guint[]) { shape->padded, 1 },
                               self->pairs * shape->n_views, error);
  if (!self->rows_fft)
    return FALSE;
  self->grid_fft = td_fft_new (self->base.device, TD_FFT_C2C_2D, (guint[]) { shape->gx, shape->gy },
                               self->pairs, error);
  return self->grid_fft != NULL;
}

static void
fourier_device_free (TdBackprojector *projector)
{
  FourierDevice *self = (FourierDevice *) projector;
  TdBuffer *buffers[]
      = { self->lines, self->spectra,  self->grid,      self->turns,    self->directions,
          self->bins,  self->response, self->factors_x, self->factors_y };
  td_fft_free (self->rows_fft);
  td_fft_free (self->grid_fft);
  for (guint i = 0; i < G_N_ELEMENTS (buffers); i++)
    td_buffer_free (buffers[i]);
  td_queue_free (self->uploads);
  g_free (self);
}

static gboolean
fourier_device_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  FourierDevice *self = (FourierDevice *) projector;

  return td_fourier_shape_fits (&self->shape, task) && upload_views (self, task, error)
         && upload_response (self, task->interpolation, error);
}

/* ── Running ── */

static TdFourierParams
make_params (const FourierDevice *self, guint64 from, guint64 to, guint n_slices)
{
  const TdFourierShape *shape = &self->shape;
  const float *window = shape->window;
  const double per_x = (double) shape->padded / shape->gx,
               per_y = (double) shape->padded / shape->gy;

  return (TdFourierParams) {
    .n_columns = shape->n_columns,
    .n_views = shape->n_views,
    .padded = shape->padded,
    .n_slices = n_slices,
    .nx = shape->nx,
    .ny = shape->ny,
    .gx = shape->gx,
    .gy = shape->gy,
    .centre_x = shape->centre_x,
    .centre_y = shape->centre_y,
    .from_low = from & G_MAXUINT32,
    .from_high = from >> 32,
    .to_low = to & G_MAXUINT32,
    .to_high = to >> 32,
    .n_bins = self->n_bins,
    .middle = MIN (MOST_MIDDLE, shape->n_views / VIEWS_A_MIDDLE),
    .half_width = 0.5f * shape->width,
    .inverse_half = 2.0f / shape->width,
    .per_x = per_x,
    .per_y = per_y,
    .reach = 0.5 * shape->width * hypot (per_x, per_y),
    .window0 = window[0],
    .window1 = window[1],
    .window2 = window[2],
    .window3 = window[3],
    .window4 = window[4],
    .window5 = window[5],
    .window6 = window[6],
    .window7 = window[7],
    .window8 = window[8],
    .window9 = window[9],
  };
}

/* At least so many along each axis, in groups of local_x times local_y. */
typedef struct {
  guint x, y, z;
  guint local_x, local_y;
} WorkItems;

static gboolean
fourier_device_launch (TdQueue *queue, TdKernel *kernel, WorkItems items, const TdArg *args,
                       guint n_args, GError **error)
{
  const guint groups[3] = { (items.x + items.local_x - 1) / items.local_x,
                            (items.y + items.local_y - 1) / items.local_y, items.z };
  const guint local[3] = { items.local_x, items.local_y, 1 };

  return td_launch (queue, kernel, groups, local, args, n_args, error);
}

static gboolean
fill_grid (FourierDevice *self, TdQueue *queue, const TdFourierParams *params, GError **error)
{
  const guint across = 2 * params->middle + 1, parts = MAX (self->pairs / 2, 1);
  const gsize shared = TD_FOURIER_SHARE * parts * (self->pairs > 1 ? 4 : 2) * sizeof (float);
  TdArg args[]
      = { TD_ARG (self->spectra), TD_ARG (self->directions), TD_ARG (self->bins),
          TD_ARG (self->grid),    TD_ARG (*params),          TD_ARG ((TdLocal) { shared }) };

  return td_backprojector_mark (&self->base, queue, error)
         && fourier_device_launch (
             queue, self->middle,
             (WorkItems) { across * TD_FOURIER_SHARE, across, 1, TD_FOURIER_SHARE, 1 }, args,
             G_N_ELEMENTS (args), error)
         && fourier_device_launch (
             queue, self->gather,
             (WorkItems) { params->gx, params->gy, 1, TD_FOURIER_GROUP_X, TD_FOURIER_GROUP_Y },
             args, G_N_ELEMENTS (args) - 1, error)
         && td_backprojector_mark (&self->base, queue, error);
}

static gboolean
run_pairs (FourierDevice *self, TdQueue *queue, TdBuffer *sinograms, TdBuffer *slices,
           const TdFourierParams *params, GError **error)
{
  return fourier_device_launch (queue, self->pack,
                                (WorkItems) { params->padded, params->n_views, self->pairs, 64, 4 },
                                TD_ARGS (sinograms, self->lines, *params), error)
         && td_fft_run (queue, self->rows_fft, self->lines, FALSE, error)
         && fourier_device_launch (
             queue, self->turn, (WorkItems) { params->padded, params->n_views, 1, 64, 4 },
             TD_ARGS (self->lines, self->turns, self->response, self->spectra, *params), error)
         && fill_grid (self, queue, params, error)
         && td_fft_run (queue, self->grid_fft, self->grid, TRUE, error)
         && fourier_device_launch (
             queue, self->pixels, (WorkItems) { params->nx, params->ny, self->pairs, 64, 4 },
             TD_ARGS (self->grid, self->factors_x, self->factors_y, slices, *params), error);
}

static gboolean
fourier_device_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                    guint n_slices, GError **error)
{
  FourierDevice *self = (FourierDevice *) projector;
  const TdFourierShape *shape = &self->shape;
  const guint64 sinogram = (guint64) shape->n_views * shape->n_columns;
  const guint64 slice = (guint64) shape->nx * shape->ny;

  for (guint s = 0; s < n_slices; s += 2 * self->pairs) {
    const TdFourierParams params = make_params (
        self, sinograms.offset / sizeof (float) + s * sinogram,
        slices.offset / sizeof (float) + s * slice, MIN (n_slices - s, 2 * self->pairs));
    if (g_cancellable_set_error_if_cancelled (projector->cancellable, error)
        || !run_pairs (self, queue, sinograms.buffer, slices.buffer, &params, error))
      return FALSE;
  }
  return TRUE;
}

static const TdBackprojectorOps fourier_device_ops = {
  .update = fourier_device_update,
  .run = fourier_device_run,
  .free = fourier_device_free,
};

TdBackprojector *
td_fourier_device_new (TdDevice *device, const TdBackprojectTask *task, guint max_slices,
                       GError **error)
{
  FourierDevice *self = td_backprojector_alloc (sizeof *self, &fourier_device_ops, device, task);

  td_fourier_shape_init (&self->shape, task);
  self->pairs = pairs_for (&self->shape, max_slices);
  self->n_bins = bins_for (&self->shape);
  self->uploads = td_queue_new (device, error);
  if (self->uploads && fourier_device_make_kernels (self, error)
      && fourier_device_make_buffers (self, error) && fourier_device_make_transforms (self, error)
      && upload_views (self, task, error) && upload_response (self, task->interpolation, error)
      && upload_factors (self, error))
    return &self->base;
  td_backprojector_free (&self->base);
  return NULL;
}
