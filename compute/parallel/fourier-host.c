/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "families.h"
#include "fourier-host-pass.h"

#include <inttypes.h>
#include <string.h>

enum {
  VIEWS_A_PIECE = 8,
  BAND = 32,    /* grid rows a thread makes at once: in its second cache, with few windows cut */
  LINES = 8,    /* rows transformed before they are stored as columns: a cache line of points */
  COLUMNS = 16, /* columns at once: a cache line of a slice's row */
};

typedef struct {
  TdBackprojector base;
  const TdFourierKernels *kernels;
  TdFourierShape shape;
  TdFourierView *views;
  float *response, *factors_x, *factors_y;
  fftwf_plan row, across, down; /* of padded, gx and gy numbers */
  float *spectra;               /* [view][padded] complex */
  float *columns;               /* [nx][column_pitch] complex */
  GAsyncQueue *scratch;         /* one piece for each thread */
} FourierHost;

/* One pair of slices, as the threads see it. */
typedef struct {
  FourierHost *host;
  const float *sinograms[2]; /* the second may be NULL */
  float *slices[2];
  GCancellable *cancellable;
} Pair;

/* ── Creation ── */

/* An odd number of cache lines: rows a power of two apart would share a few sets of the cache. */
static gsize
odd_lines (gsize points)
{
  return ((points + 7) / 8 | 1) * 8;
}

static gsize
band_pitch (const TdFourierShape *shape)
{
  return odd_lines (shape->gx + 2 * TD_FOURIER_PAD);
}

static gsize
scratch_floats (const TdFourierShape *shape)
{
  const gsize rows = 2 * odd_lines (shape->padded) * 2 + odd_lines (shape->padded + 32);
  const gsize bands = 2 * (BAND * band_pitch (shape) + LINES * odd_lines (shape->gx));
  const gsize columns = 2 * COLUMNS * odd_lines (shape->gy);

  return MAX (MAX (rows, bands), columns);
}

static gsize
spectra_floats (const TdFourierShape *shape)
{
  return 2 * (gsize) shape->n_views * shape->padded;
}

static gsize
column_floats (const TdFourierShape *shape)
{
  return 2 * shape->nx * odd_lines (shape->gy);
}

guint64
td_fourier_host_workspace_bytes (const TdFourierShape *shape)
{
  return (spectra_floats (shape) + column_floats (shape)
          + td_host_threads () * scratch_floats (shape) + shape->padded / 2 + shape->nx + shape->ny)
             * sizeof (float)
         + shape->n_views * sizeof (TdFourierView);
}

static void
fourier_host_make_tables (FourierHost *host, const TdBackprojectTask *task)
{
  td_fourier_views (&host->shape, task, host->views);
  td_fourier_response (&host->shape, task->interpolation, host->response);
}

static gboolean
fourier_host_make_memory (FourierHost *host)
{
  const TdFourierShape *shape = &host->shape;
  gboolean complete = TRUE;

  host->row = td_fftw_plan (shape->padded);
  host->across = td_fftw_plan (shape->gx);
  host->down = td_fftw_plan (shape->gy);
  host->spectra = fftwf_alloc_real (spectra_floats (shape));
  host->columns = fftwf_alloc_real (column_floats (shape));
  for (guint i = 0; i < td_host_threads (); i++) {
    float *piece = fftwf_alloc_real (scratch_floats (shape));
    if (piece)
      g_async_queue_push (host->scratch, piece);
    else
      complete = FALSE;
  }
  return complete && host->row && host->across && host->down && host->spectra && host->columns;
}

static void
fourier_host_free (TdBackprojector *projector)
{
  FourierHost *host = (FourierHost *) projector;

  td_fftw_plan_free (host->row);
  td_fftw_plan_free (host->across);
  td_fftw_plan_free (host->down);
  g_async_queue_unref (host->scratch);
  fftwf_free (host->spectra);
  fftwf_free (host->columns);
  g_free (host->views);
  g_free (host->response);
  g_free (host->factors_x);
  g_free (host->factors_y);
  g_free (host);
}

static gboolean
fourier_host_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  FourierHost *host = (FourierHost *) projector;

  if (!td_fourier_shape_fits (&host->shape, task))
    return FALSE;
  fourier_host_make_tables (host, task);
  return TRUE;
}

/* ── Stages ── */

/* Rows of both sinograms as one complex line, transformed. */
static void
fourier_host_transform_rows (guint index, gpointer data)
{
  const Pair *pair = data;
  FourierHost *host = pair->host;
  const TdFourierShape *shape = &host->shape;
  const guint n = shape->n_columns, end = MIN ((index + 1) * VIEWS_A_PIECE, shape->n_views);
  float *scratch = g_async_queue_pop (host->scratch);
  fftwf_complex *from = (fftwf_complex *) scratch, *to = from + odd_lines (shape->padded);
  float *phases = (float *) (to + odd_lines (shape->padded));

  memset (from, 0, shape->padded * sizeof *from);
  for (guint v = index * VIEWS_A_PIECE; v < end; v++) {
    const float *a = pair->sinograms[0] + (gsize) v * n;
    const float *b = pair->sinograms[1] ? pair->sinograms[1] + (gsize) v * n : NULL;
    for (guint i = 0; i < n; i++) {
      from[i][0] = a[i];
      from[i][1] = b ? b[i] : 0;
    }
    fftwf_execute_dft (host->row, from, to);
    host->kernels->turn (shape, &host->views[v], host->response, (const float *) to, phases,
                         host->spectra + 2 * (gsize) v * shape->padded);
  }
  g_async_queue_push (host->scratch, scratch);
}

/* The inverse transform is the forward one read backwards. */
static guint
fourier_host_place (guint i, guint centre, guint grid)
{
  return (grid + centre - i) % grid;
}

/* Rows first … first + count - 1 of the grid, transformed into the pixels' columns. */
static void
transform_band (FourierHost *host, float *rows, float *lines, guint first, guint count)
{
  const TdFourierShape *shape = &host->shape;
  const gsize pitch = odd_lines (shape->gx), column = odd_lines (shape->gy);
  fftwf_complex *from = (fftwf_complex *) rows, *to = (fftwf_complex *) lines;
  fftwf_complex *columns = (fftwf_complex *) host->columns;

  for (guint y = 0; y < count; y += LINES) {
    const guint n = MIN (LINES, count - y);
    for (guint i = 0; i < n; i++)
      fftwf_execute_dft (host->across, from + (y + i) * band_pitch (shape) + TD_FOURIER_PAD,
                         to + i * pitch);
    for (guint x = 0; x < shape->nx; x++) {
      const fftwf_complex *at = to + fourier_host_place (x, shape->centre_x, shape->gx);
      for (guint i = 0; i < n; i++)
        memcpy (columns[x * column + first + y + i], at[i * pitch], sizeof *at);
    }
  }
}

static guint
fourier_host_pieces (guint n, guint size)
{
  return n / size + (n % size > 0);
}

/* One slice alone is real, and its grid's rows of negative frequencies are the conjugates of the
   others. So only the rows of frequency 0 and more are made, and the first row, its own
   conjugate. */
static guint
bands_of (const Pair *pair)
{
  const guint gy = pair->host->shape.gy;

  return pair->slices[1] ? fourier_host_pieces (gy, BAND) : fourier_host_pieces (gy / 2, BAND) + 1;
}

static void
make_band (guint index, gpointer data)
{
  const Pair *pair = data;
  FourierHost *host = pair->host;
  const TdFourierShape *shape = &host->shape;
  const guint middle = pair->slices[1] ? 0 : shape->gy / 2;
  const gboolean its_own = !pair->slices[1] && index == bands_of (pair) - 1;
  const guint first = its_own ? 0 : middle + index * BAND;
  const guint count = its_own ? 1 : MIN (BAND, shape->gy - first);

  if (g_cancellable_is_cancelled (pair->cancellable))
    return;
  float *scratch = g_async_queue_pop (host->scratch);
  TdFourierBand band = { .shape = shape,
                         .views = host->views,
                         .spectra = host->spectra,
                         .first = (int) first,
                         .n_rows = (int) count,
                         .rows = scratch,
                         .pitch = band_pitch (shape) };
  memset (scratch, 0, 2 * BAND * band.pitch * sizeof *scratch);
  host->kernels->spread (&band);
  transform_band (host, scratch, scratch + 2 * BAND * band.pitch, first, count);
  g_async_queue_push (host->scratch, scratch);
}

/* Two columns of a real slice as one complex one. */
static void
fourier_host_join_columns (const fftwf_complex *a, const fftwf_complex *b, guint n,
                           fftwf_complex *joined)
{
  const guint middle = n / 2;

  for (guint i = 0; i < n; i++) {
    const guint from = i == 0 || i >= middle ? i : n - i;
    const float sign = from == i ? 1 : -1, im = sign * a[from][1], other = sign * b[from][1];
    joined[i][0] = a[from][0] - other;
    joined[i][1] = im + b[from][0];
  }
}

static void
store_pair (const Pair *pair, const fftwf_complex *lines, guint first, guint n)
{
  const FourierHost *host = pair->host;
  const TdFourierShape *shape = &host->shape;
  const gsize pitch = odd_lines (shape->gy);

  for (guint y = 0; y < shape->ny; y++) {
    const fftwf_complex *at = lines + fourier_host_place (y, shape->centre_y, shape->gy);
    const gsize pixel = (gsize) y * shape->nx + first;
    for (guint part = 0; part < 2; part++)
      for (guint i = 0; i < n; i++)
        pair->slices[part][pixel + i]
            = at[i * pitch][part] * host->factors_x[first + i] * host->factors_y[y];
  }
}

static void
store_one (const Pair *pair, const fftwf_complex *lines, guint first, guint n)
{
  const FourierHost *host = pair->host;
  const TdFourierShape *shape = &host->shape;
  const gsize pitch = odd_lines (shape->gy);

  for (guint y = 0; y < shape->ny; y++) {
    const fftwf_complex *at = lines + fourier_host_place (y, shape->centre_y, shape->gy);
    float *pixels = pair->slices[0] + (gsize) y * shape->nx + first;
    for (guint i = 0; i < n; i++)
      pixels[i] = at[i / 2 * pitch][i % 2] * host->factors_x[first + i] * host->factors_y[y];
  }
}

static void
make_pixels (guint index, gpointer data)
{
  const Pair *pair = data;
  FourierHost *host = pair->host;
  const TdFourierShape *shape = &host->shape;
  const guint first = index * COLUMNS, n = MIN (COLUMNS, shape->nx - first);
  const gsize pitch = odd_lines (shape->gy);
  const fftwf_complex *columns = (fftwf_complex *) host->columns + first * pitch;

  if (g_cancellable_is_cancelled (pair->cancellable))
    return;
  float *scratch = g_async_queue_pop (host->scratch);
  fftwf_complex *to = (fftwf_complex *) scratch, *joined = to + COLUMNS / 2 * pitch;
  for (guint i = 0; i < n; i += pair->slices[1] ? 1 : 2) {
    const fftwf_complex *from = columns + i * pitch;
    if (pair->slices[1]) {
      fftwf_execute_dft (host->down, (fftwf_complex *) from, to + i * pitch);
    } else {
      fourier_host_join_columns (from, i + 1 < n ? from + pitch : from, shape->gy, joined);
      fftwf_execute_dft (host->down, joined, to + i / 2 * pitch);
    }
  }
  if (pair->slices[1])
    store_pair (pair, to, first, n);
  else
    store_one (pair, to, first, n);
  g_async_queue_push (host->scratch, scratch);
}

static gboolean
fourier_host_run (TdBackprojector *projector, TdQueue *queue, TdPlace from, TdPlace to,
                  guint n_slices, GError **error)
{
  FourierHost *host = (FourierHost *) projector;
  const TdFourierShape *shape = &host->shape;
  const gsize sinogram = (gsize) shape->n_views * shape->n_columns,
              slice = (gsize) shape->nx * shape->ny;

  if (!td_queue_finish (queue, error))
    return FALSE;
  const float *sinograms = td_place_map (from);
  float *slices = td_place_map (to);

  for (guint s = 0; s < n_slices; s += 2) {
    const gboolean two = s + 1 < n_slices;
    Pair pair = {
      .host = host,
      .sinograms = { sinograms + s * sinogram, two ? sinograms + (s + 1) * sinogram : NULL },
      .slices = { slices + s * slice, two ? slices + (s + 1) * slice : NULL },
      .cancellable = projector->cancellable,
    };
    td_parallel_for (fourier_host_pieces (shape->n_views, VIEWS_A_PIECE),
                     fourier_host_transform_rows, &pair);
    td_parallel_for (bands_of (&pair), make_band, &pair);
    td_parallel_for (fourier_host_pieces (shape->nx, COLUMNS), make_pixels, &pair);
    if (g_cancellable_set_error_if_cancelled (projector->cancellable, error))
      return FALSE;
  }
  return TRUE;
}

static const TdBackprojectorOps fourier_host_ops = {
  .update = fourier_host_update,
  .run = fourier_host_run,
  .free = fourier_host_free,
};

TdBackprojector *
td_fourier_host_new (TdDevice *device, const TdBackprojectTask *task, GError **error)
{
  FourierHost *host = td_backprojector_alloc (sizeof *host, &fourier_host_ops, device, task);
  TdFourierShape *shape = &host->shape;

  host->kernels = TD_HOST_PICK (td_fourier_kernels);
  host->scratch = g_async_queue_new_full (fftwf_free);
  td_fourier_shape_init (shape, task);
  host->views = g_new (TdFourierView, shape->n_views);
  host->response = g_new (float, shape->padded / 2);
  host->factors_x = g_new (float, shape->nx);
  host->factors_y = g_new (float, shape->ny);
  td_fourier_deapodise (shape, shape->nx, shape->centre_x, shape->gx, host->factors_x);
  td_fourier_deapodise (shape, shape->ny, shape->centre_y, shape->gy, host->factors_y);
  fourier_host_make_tables (host, task);
  if (fourier_host_make_memory (host))
    return &host->base;
  td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                "The Fourier method could not get %" PRIu64
                " MiB of memory; close other programs, take a smaller region or {method=fbp}",
                td_fourier_host_workspace_bytes (shape) >> 20);
  td_backprojector_free (&host->base);
  return NULL;
}
