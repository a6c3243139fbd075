/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-slices.h"

#include <math.h>
#include <string.h>

#include "axis-quality.h"
#include "axis-rows.h"
#include "axis-spectrum.h"
#include "compute/angles.h"
#include "compute/filter.h"
#include "compute/parallel/backproject.h"

#define MOST_AT_ONCE 16
/* What one batch's sinograms and slices may take, on the device and on the host. */
#define BATCH_BYTES (256u << 20)

struct TdAxisSlices {
  const TdAxisInput *input;
  TdAxisSpectrum *spectrum;
  guint batch;
  TdBackprojector *projector;
  TdQueue *queue;
  TdBuffer *sinograms, *slices;
  float *shifted;           /* [batch][n_views][n_columns] */
  double first_px, last_px; /* centres about which slices are to see the same columns */
};

static gboolean
axis_slices_filter_rows (TdAxisSpectrum *spectrum, double cutoff)
{
  guint n = td_axis_spectrum_length (spectrum);
  g_autofree double *response = g_new (double, n);
  const TdFilter filter = { .kind = TD_FILTER_HANN, .cutoff = cutoff };

  if (!td_filter_response (&filter, n, response))
    return FALSE;
  td_axis_spectrum_filter (spectrum, response);
  return TRUE;
}

static gboolean
axis_slices_make_projector (TdAxisSlices *self, double disc, GError **error)
{
  const TdAxisInput *input = self->input;
  g_autofree double *weights = g_new (double, input->n_views);

  td_angular_weights (input->angles_rad, input->n_views, G_PI, weights, NULL);
  const TdBackprojectTask task = {
    .n_columns = input->n_columns,
    .n_views = input->n_views,
    .nx = input->n_columns,
    .ny = input->n_columns,
    .x0 = -((double) input->n_columns - 1) / 2,
    .y0 = ((double) input->n_columns - 1) / 2,
    .step = 1,
    .centre_px = ((double) input->n_columns - 1) / 2,
    .angles_rad = input->angles_rad,
    .weights = weights,
    .scale = 1,
    .interpolation = TD_INTERPOLATION_LINEAR,
    .precision = TD_PRECISION_SINGLE,
    .disc = disc,
  };
  const TdBackprojectFamily *family
      = td_backproject_choose ("auto", &task, input->device, self->batch, error);
  self->projector
      = family ? td_backprojector_new (family, input->device, &task, NULL, self->batch, error)
               : NULL;
  if (self->projector)
    td_backprojector_set_cancellable (self->projector, input->cancellable);
  return self->projector != NULL;
}

TdAxisSlices *
td_axis_slices_new (const TdAxisInput *input, double cutoff, double disc, GError **error)
{
  g_autoptr (TdAxisSlices) self = g_new0 (TdAxisSlices, 1);
  guint64 row_bytes = (guint64) input->n_columns * sizeof (float);
  guint64 one = row_bytes * (input->n_views + input->n_columns);

  self->input = input;
  td_axis_slices_see (self, INFINITY, -INFINITY);
  self->batch = (guint) CLAMP (BATCH_BYTES / one, 1, MOST_AT_ONCE);
  self->spectrum = td_axis_spectrum_new (input->sinogram, input->n_views, input->n_columns, TRUE);
  self->shifted = g_try_malloc (self->batch * row_bytes * input->n_views);
  if (!self->spectrum || !self->shifted || !axis_slices_filter_rows (self->spectrum, cutoff))
    return td_set_error_null (error, TD_ERROR_DEVICE_MEMORY,
                              "There is no memory to filter %u views of %u columns", input->n_views,
                              input->n_columns);
  const guint64 bytes = self->batch * row_bytes;
  if (!axis_slices_make_projector (self, disc, error)
      || !(self->queue = td_queue_new (input->device, error))
      || !(self->sinograms = td_buffer_new (input->device, bytes * input->n_views, error))
      || !(self->slices = td_buffer_new (input->device, bytes * input->n_columns, error)))
    return NULL;
  return g_steal_pointer (&self);
}

guint
td_axis_slices_batch (const TdAxisSlices *self)
{
  return self->batch;
}

void
td_axis_slices_see (TdAxisSlices *self, double first_px, double last_px)
{
  self->first_px = first_px;
  self->last_px = last_px;
}

/* The centre comes to the middle column. What lay outside the detector stays unknown: 0. */
static void
axis_slices_shift (TdAxisSlices *self, double centre_px, float *out)
{
  guint n = self->input->n_columns, views = self->input->n_views;
  const double middle = ((double) n - 1) / 2, start = centre_px - middle;
  const guint before = (guint) CLAMP (ceil (middle - MIN (self->first_px, centre_px)), 0, n);
  const guint end
      = (guint) CLAMP (floor (n - 1.0 + middle - MAX (self->last_px, centre_px)) + 1, before, n);

  td_axis_spectrum_rows (self->spectrum, 0, views, start, n, out);
  for (guint v = 0; v < views; v++) {
    float *row = out + (gsize) v * n;
    memset (row, 0, before * sizeof *row);
    memset (row + end, 0, (n - end) * sizeof *row);
  }
}

gboolean
td_axis_slices_run (TdAxisSlices *self, const double *centres_px, guint n, float *out,
                    GError **error)
{
  gsize samples = (gsize) self->input->n_views * self->input->n_columns;
  guint64 slice_bytes = (guint64) self->input->n_columns * self->input->n_columns * sizeof (float);

  for (guint i = 0; i < n; i++) {
    if (g_cancellable_set_error_if_cancelled (self->input->cancellable, error))
      return FALSE;
    axis_slices_shift (self, centres_px[i], self->shifted + i * samples);
  }
  return td_upload (self->queue, self->sinograms, 0, self->shifted, n * samples * sizeof (float),
                    error)
         && td_backprojector_run (self->projector, self->queue, (TdPlace) { self->sinograms, 0 },
                                  (TdPlace) { self->slices, 0 }, n, error)
         && td_download (self->queue, out, self->slices, 0, n * slice_bytes, error)
         && td_queue_finish (self->queue, error);
}

void
td_axis_slices_free (TdAxisSlices *self)
{
  if (!self)
    return;
  td_backprojector_free (self->projector);
  td_buffer_free (self->sinograms);
  td_buffer_free (self->slices);
  td_queue_free (self->queue);
  td_axis_spectrum_free (self->spectrum);
  g_free (self->shifted);
  g_free (self);
}

/* ── Trial slices for people ── */

float *
td_axis_trial_slices (const TdRowSource *source, guint row, const double *centres_px, guint n,
                      double *sharpness, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  const TdAxisOptions options = { .row_first = row, .row_end = row + 1, .n_rows = 1 };
  g_autoptr (TdAxisRows) rows = td_axis_rows_new (source, &options, error);
  g_autofree float *sinogram = rows ? td_axis_rows_read (rows, 0, cancellable, error) : NULL;

  if (!sinogram)
    return NULL;
  td_axis_rows_end (rows);
  td_axis_destripe (sinogram, facts->n_views, facts->n_columns);
  const TdAxisInput input = {
    .sinogram = sinogram,
    .n_views = facts->n_views,
    .n_columns = facts->n_columns,
    .angles_rad = facts->angles_rad,
    .row = row,
    .device = source->device,
    .cancellable = cancellable,
  };
  g_autoptr (TdAxisSlices) slices = td_axis_slices_new (&input, 1, 0, error);
  if (!slices)
    return NULL;
  const gsize pixels = (gsize) facts->n_columns * facts->n_columns;
  const guint batch = td_axis_slices_batch (slices);
  g_autofree float *out = g_try_malloc_n (n, pixels * sizeof (float));
  if (!out)
    return td_set_error_null (error, TD_ERROR_DEVICE_MEMORY,
                              "There is no memory for %u trial slices", n);
  for (guint first = 0; first < n; first += batch)
    if (!td_axis_slices_run (slices, centres_px + first, MIN (batch, n - first),
                             out + first * pixels, error))
      return NULL;
  const TdAxisQuality quality
      = td_axis_quality_for (sinogram, facts->n_views, facts->n_columns, facts->angles_rad);
  for (guint i = 0; sharpness && i < n; i++)
    sharpness[i]
        = td_axis_quality (quality, out + i * pixels, facts->n_columns, 0.45 * facts->n_columns);
  return g_steal_pointer (&out);
}
