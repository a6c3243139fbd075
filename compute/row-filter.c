/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filtering rows of sinograms on a device: two rows to a complex line, FFT, response, inverse FFT.
   A chunk of rows at a time keeps the workspace small (and in a large cache). Relative error 2 log2
   (padded) roundings of single precision at random signs: 5e-7 at most. */
#include "row-filter.h"
#include "row-filter-host.h"
#include "compute/device/host.h"
#include "kernels/params.h"

#define WORKSPACE_BYTES (64u << 20)
#define MOST_PAIRS 65535      /* work-groups in y on every API */
#define LINE_IN_ONE_PASS 4096 /* longer FFTs may need a workspace of their own */

struct TdRowFilter {
  TdDevice *device;
  guint n_columns, n_wide, padded, max_rows;
  gboolean extend_edges;
  TdHostRowFilter *host; /* on host_pointers devices; then nothing below */
  guint pairs;           /* lines in a chunk: the FFT's batch */
  TdFft *fft;
  TdBuffer *lines, *response;
  TdQueue *uploads;
  TdKernel *pack, *multiply, *unpack;
};

/* Chunks of equal size, since the FFT always does a whole one. */
static guint
pairs_in_chunk (guint padded, guint max_rows)
{
  guint64 pairs = ((guint64) max_rows + 1) / 2;
  guint64 most = CLAMP (WORKSPACE_BYTES / (padded * 2 * sizeof (float)), 1, MOST_PAIRS);
  guint64 chunks = (pairs + most - 1) / most;

  return (pairs + chunks - 1) / chunks;
}

guint64
td_row_filter_workspace_bytes (guint n_columns, guint max_rows)
{
  guint padded = td_filter_padded_size (n_columns);
  guint64 lines
      = (guint64) pairs_in_chunk (padded, MAX (max_rows, 1)) * padded * 2 * sizeof (float);

  return lines * (padded > LINE_IN_ONE_PASS ? 2 : 1) + padded * sizeof (float);
}

static gboolean
row_filter_make_kernels (TdRowFilter *self, GError **error)
{
  return (self->pack = td_device_kernel (self->device, "filter", NULL, "filter_pack", error))
         && (self->multiply
             = td_device_kernel (self->device, "filter", NULL, "filter_multiply", error))
         && (self->unpack
             = td_device_kernel (self->device, "filter", NULL, "filter_unpack", error));
}

static gboolean
make_workspace (TdRowFilter *self, GError **error)
{
  guint64 bytes = (guint64) self->pairs * self->padded * 2 * sizeof (float);

  self->fft
      = td_fft_new (self->device, TD_FFT_C2C_1D, (guint[]) { self->padded, 1 }, self->pairs, error);
  return self->fft && (self->lines = td_buffer_new (self->device, bytes, error))
         && (self->response = td_buffer_new (self->device, self->padded * sizeof (float), error))
         && (self->uploads = td_queue_new (self->device, error));
}

TdRowFilter *
td_row_filter_new (TdDevice *device, guint n_columns, guint n_wide, guint max_rows, GError **error)
{
  if (!n_columns || n_wide < n_columns || n_wide > G_MAXINT32 / 4 || !max_rows
      || max_rows > G_MAXINT32)
    return td_set_error_null (error, TD_ERROR_TOO_LARGE, "%u rows of %u columns cannot be filtered",
                              max_rows, n_wide);
  g_autoptr (TdRowFilter) self = g_new0 (TdRowFilter, 1);
  self->device = td_device_ref (device);
  self->n_columns = n_columns;
  self->max_rows = max_rows;
  self->n_wide = n_wide;
  self->padded = td_filter_padded_size (n_wide);
  self->pairs = pairs_in_chunk (self->padded, max_rows);
  const gboolean host = td_device_info (device)->host_pointers;
  if (host)
    self->host = td_host_row_filter_new (n_columns, n_wide, self->padded, error);
  return self->host
                 || (!host && row_filter_make_kernels (self, error) && make_workspace (self, error))
             ? g_steal_pointer (&self)
             : NULL;
}

gboolean
td_row_filter_set (TdRowFilter *self, const TdFilter *spec, GError **error)
{
  g_autofree double *response = td_host_malloc (self->padded * sizeof *response, error);
  g_autofree float *scaled
      = response ? td_host_malloc (self->padded * sizeof *scaled, error) : NULL;

  if (!scaled)
    return FALSE;
  if (!td_filter_response (spec, self->padded, response))
    return td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                         "There is no memory to plan filters of %u columns", self->padded);
  self->extend_edges = spec->extend_edges;
  if (self->host) {
    td_host_row_filter_set (self->host, response, spec->extend_edges);
    return TRUE;
  }
  for (guint i = 0; i < self->padded; i++)
    scaled[i] = response[i] / self->padded;
  return td_upload (self->uploads, self->response, 0, scaled, self->padded * sizeof (float), error)
         && td_queue_finish (self->uploads, error);
}

/* One filtering from @rows to @wide, both at a first element. */
typedef struct {
  TdBuffer *rows, *wide;
  guint64 first, wide_first;
  const TdRowBlend *blend; /* NULL: none */
} Run;

static TdFilterParams
chunk_params (const TdRowFilter *self, const Run *run, guint row, guint n_rows)
{
  guint64 first = run->first + (guint64) row * self->n_columns;
  guint64 wide = run->wide_first + (guint64) row * self->n_wide;
  TdFilterParams params = {
    .n_columns = self->n_columns,
    .padded = self->padded,
    .n_rows = n_rows,
    .extend_edges = self->extend_edges,
    .first_low = first & G_MAXUINT32,
    .first_high = first >> 32,
    .n_wide = self->n_wide,
    .wide_low = wide & G_MAXUINT32,
    .wide_high = wide >> 32,
  };

  params.shift = run->blend ? run->blend->shift : 0;
  if (run->blend && run->blend->n_views > 0) {
    /* Counted from the chunk's own sinogram: the sum stays within an int. */
    const guint64 row0 = (guint64) run->blend->row0 + row;
    params.n_views = run->blend->n_views;
    params.row0 = row0 % run->blend->n_views;
    params.centre = run->blend->centre_px + row0 / run->blend->n_views * run->blend->centre_step_px;
    params.centre_step = run->blend->centre_step_px;
  }
  return params;
}

static gboolean
row_filter_run_chunk (TdRowFilter *self, TdQueue *queue, const Run *run, guint row, guint n_rows,
                      GError **error)
{
  TdBuffer *rows = run->rows, *wide = run->wide;
  TdFilterParams params = chunk_params (self, run, row, n_rows);
  /* Of 64 there would be more groups than a card can start in the time that their memory takes. */
  guint local[3] = { 256, 1, 1 };
  guint whole[3] = { (self->padded + 255) / 256, self->pairs, 1 };
  guint kept[3] = { (self->n_wide + 255) / 256, (n_rows + 1) / 2, 1 };

  return td_launch (queue, self->pack, whole, local, TD_ARGS (rows, self->lines, params), error)
         && td_fft_run (queue, self->fft, self->lines, FALSE, error)
         && td_launch (queue, self->multiply, whole, local,
                       TD_ARGS (self->lines, self->response, params), error)
         && td_fft_run (queue, self->fft, self->lines, TRUE, error)
         && td_launch (queue, self->unpack, kept, local, TD_ARGS (wide, self->lines, params),
                       error);
}

static gboolean
row_filter_holds (TdPlace place, guint64 values)
{
  return place.offset % sizeof (float) == 0 && place.offset <= place.buffer->bytes
         && values * sizeof (float) <= place.buffer->bytes - place.offset;
}

gboolean
td_row_filter_run (TdRowFilter *self, TdQueue *queue, TdPlace rows, guint n_rows,
                   const TdRowBlend *blend, TdPlace wide, GError **error)
{
  const Run run = { rows.buffer, wide.buffer, rows.offset / sizeof (float),
                    wide.offset / sizeof (float), blend };

  if (n_rows > self->max_rows || !row_filter_holds (rows, (guint64) n_rows * self->n_columns)
      || !row_filter_holds (wide, (guint64) n_rows * self->n_wide)
      || (blend && (guint64) blend->shift + self->n_columns > self->n_wide))
    return td_set_error (error, TD_ERROR_DEVICE_BUG,
                         "%u rows to filter are more than %u or outside their buffer", n_rows,
                         self->max_rows);
  if (self->host) {
    td_host_row_filter_run (self->host, td_place_map (rows), n_rows, blend, td_place_map (wide));
    return TRUE;
  }
  for (guint row = 0; row < n_rows; row += MIN (2 * self->pairs, n_rows - row))
    if (!row_filter_run_chunk (self, queue, &run, row, MIN (2 * self->pairs, n_rows - row), error))
      return FALSE;
  return TRUE;
}

void
td_row_filter_free (TdRowFilter *self)
{
  if (!self)
    return;
  td_host_row_filter_free (self->host);
  td_fft_free (self->fft);
  td_buffer_free (self->lines);
  td_buffer_free (self->response);
  td_queue_free (self->uploads);
  td_device_unref (self->device);
  g_free (self);
}
