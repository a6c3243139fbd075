/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-filter.h"

#include <fftw3.h>
#include <math.h>

#include "compute/device/host-fft.h"
#include "dataset/error.h"

struct TdLabFilter {
  guint n, n_wide, shift, padded;
  gboolean extend;
  double *response;
  fftw_plan plan;
  TdHostScratch *lines;
};

TdLabFilter *
td_lab_filter_new (const TdFilter *filter, guint n, guint n_wide, guint shift, GError **error)
{
  g_autoptr (TdLabFilter) self = g_new0 (TdLabFilter, 1);

  self->n = n;
  self->n_wide = n_wide;
  self->shift = shift;
  self->padded = td_filter_padded_size (n_wide);
  self->extend = filter->extend_edges;
  self->response = g_new (double, self->padded);
  self->plan = td_fftw_plan_double (self->padded);
  if (!self->plan || !td_filter_response (filter, self->padded, self->response))
    return td_set_error_null (error, TD_ERROR_IO,
                              "Not enough memory for a filter of %u frequencies", self->padded);
  const gsize line = self->padded * sizeof (fftw_complex);
  self->lines = td_host_scratch_new (line, line, error);
  return self->lines ? g_steal_pointer (&self) : NULL;
}

/* The row's values with zeros or its ends' values around them, as td_row_filter_run() has it. */
static void
lab_filter_pack (const TdLabFilter *self, const double *row, fftw_complex *line)
{
  const guint n = self->n, wide = self->n_wide, shift = self->shift;
  const guint middle = wide + (self->padded - wide) / 2;
  const double first = self->extend ? row[0] : 0, last = self->extend ? row[n - 1] : 0;

  for (guint i = 0; i < self->padded; i++) {
    line[i][0] = i < shift ? first : i < shift + n ? row[i - shift] : i < middle ? last : first;
    line[i][1] = 0;
  }
  if ((self->padded - wide) % 2 == 1)
    line[middle][0] = (first + last) / 2;
}

void
td_lab_filter_run (const TdLabFilter *self, const double *row, double *wide)
{
  const guint padded = self->padded;
  const TdHostPieces pieces = td_host_scratch_take (self->lines);
  fftw_complex *from = pieces.from, *to = pieces.to;

  lab_filter_pack (self, row, from);
  fftw_execute_dft (self->plan, from, to);
  for (guint i = 0; i < padded; i++) {
    to[i][0] *= self->response[i] / padded;
    to[i][1] *= self->response[i] / padded;
  }
  /* The inverse is the forward transform read backwards. */
  fftw_execute_dft (self->plan, to, from);
  for (guint i = 0; i < self->n_wide; i++)
    wide[i] = from[(padded - i) % padded][0];
  td_host_scratch_give (self->lines, &pieces);
}

const double *
td_lab_filter_response (const TdLabFilter *self)
{
  return self->response;
}

void
td_lab_filter_free (TdLabFilter *self)
{
  if (!self)
    return;
  td_host_scratch_free (self->lines);
  td_fftw_plan_double_free (self->plan);
  g_free (self->response);
  g_free (self);
}

/* ── Rounding ── */

/* Veltkamp's splitting. */
double
td_lab_half (double value)
{
  const double c = value * (0x1p42 + 1);

  return c - (c - value);
}

void
td_lab_store_half (double *values, gsize n)
{
  double greatest = 0;
  int exponent;

  for (gsize i = 0; i < n; i++)
    greatest = fmax (greatest, fabs (values[i]));
  if (greatest == 0)
    return;
  frexp (greatest, &exponent);
  const double scale = ldexp (1, 10 - exponent);
  for (gsize i = 0; i < n; i++) {
    const double scaled = values[i] * scale;
    const double half
        = fabs (scaled) < 0x1p-14 ? nearbyint (scaled * 0x1p24) * 0x1p-24 : td_lab_half (scaled);
    values[i] = half / scale;
  }
}
