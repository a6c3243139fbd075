/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phase retrieval on every device. It agrees with the published formula in double precision, and
   with what the transport-of-intensity equation makes of a known thickness. It does so whatever way
   rows are cut. */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

#include "compute/prepare/paganin.h"
#include "compute/prepare/prepare.h"
#include "dataset/geometry-matrix.h"
#include "tests/common/devices.h"

#define BOUND 1e-5

/* 20 keV, 50 mm, pixels of 1 µm: L is 2.2 columns at delta / beta = 20 and 11 at 500. */
static TdScan *
make_scan (const float *projections, guint n_rows, guint n_views, guint n_columns)
{
  g_autofree double *angles = g_new0 (double, n_views);
  TdScanFacts facts = {
    .path = "memory",
    .format = "memory",
    .title = "phase",
    .n_columns = n_columns,
    .n_rows = n_rows,
    .n_views = n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .angles_rad = angles,
    .centre_px = NAN,
    .energy_kev = 20,
    .propagation_mm = 50,
  };

  td_geometry_init_parallel (&facts.geometry);
  facts.geometry.pixel_width_mm = facts.geometry.pixel_height_mm = 1e-3;
  return td_scan_new_from_memory (&facts, projections, NULL, NULL, NULL, NULL);
}

static void
init_step (TdStep *step, double delta_beta, gboolean discrete)
{
  td_step_init (step, td_prepare_step ("paganin", NULL));
  step->values[TD_PAGANIN_DELTA_BETA] = delta_beta;
  step->values[TD_PAGANIN_LAPLACIAN] = discrete;
}

/* Rows [row0, row0 + n) of @data, [row][view][column], through @steps, in place. */
static void
prepare (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps, float *data,
         guint row0, guint n)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize row = (gsize) facts->n_views * facts->n_columns;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_test_buffer (device, queue, data + row0 * row, n * row * sizeof (float));
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, scan, NULL, steps, n_steps, &error);

  g_assert_no_error (error);
  guint64 before = device->allocated_bytes;
  td_preparation_run (preparation, queue, buffer, row0, n, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (device->allocated_bytes - before, <=,
                    td_preparation_workspace_bytes (steps, n_steps, facts, n));
  td_download (queue, data + row0 * row, buffer, 0, n * row * sizeof (float), &error);
  td_test_finish (queue);
  td_buffer_free (buffer);
}

/* ── The formula ── */

/* [row][view][column] */
typedef struct {
  const float *data;
  guint n_rows, n_views, n_columns;
} Sinograms;

/* One view, its edges repeated 20 L around. */
static void
reference (const Sinograms *of, guint view, double length, gboolean discrete, double *out)
{
  const guint n_rows = of->n_rows, n_views = of->n_views, n_columns = of->n_columns;
  guint pad = (guint) ceil (20 * length) + 4, down = n_rows > 1 ? pad : 0;
  guint nx = n_columns + 2 * pad, ny = n_rows + 2 * down;
  fftw_complex *image = fftw_alloc_complex ((gsize) nx * ny);
  fftw_plan there = fftw_plan_dft_2d (ny, nx, image, image, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan back = fftw_plan_dft_2d (ny, nx, image, image, FFTW_BACKWARD, FFTW_ESTIMATE);

  for (gint64 y = 0; y < ny; y++)
    for (gint64 x = 0; x < nx; x++) {
      gsize row = CLAMP (y - down, 0, (gint64) n_rows - 1);
      gsize column = CLAMP (x - pad, 0, (gint64) n_columns - 1);
      image[y * nx + x] = of->data[(row * n_views + view) * n_columns + column];
    }
  fftw_execute (there);
  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < nx; x++) {
      double kx = 2 * G_PI * MIN (x, nx - x) / nx, ky = 2 * G_PI * MIN (y, ny - y) / ny;
      double k2 = discrete ? 4 - 2 * cos (kx) - 2 * cos (ky) : kx * kx + ky * ky;
      image[(gsize) y * nx + x] /= (1 + length * length * k2) * nx * ny;
    }
  fftw_execute (back);
  for (guint y = 0; y < n_rows; y++)
    for (guint x = 0; x < n_columns; x++)
      out[((gsize) y * n_views + view) * n_columns + x]
          = creal (image[(gsize) (y + down) * nx + x + pad]);
  fftw_destroy_plan (there);
  fftw_destroy_plan (back);
  fftw_free (image);
}

static float *
random_transmissions (gsize n)
{
  float *data = g_new (float, n);
  g_autoptr (GRand) random = g_rand_new_with_seed (11);

  for (gsize i = 0; i < n; i++)
    data[i] = 0.6 + 0.3 * sin (i * 0.0137) + g_rand_double_range (random, -0.1, 0.1);
  return data;
}

static void
test_formula (gconstpointer id)
{
  static const guint shapes[][3] = {
    /* rows, views, columns */
    { 1, 1, 37 }, { 1, 5, 64 }, { 9, 1, 41 }, { 33, 4, 50 }, { 2, 3, 127 },
  };
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint discrete = 0; discrete < 2; discrete++) {
      guint n_rows = shapes[i][0], n_views = shapes[i][1], n_columns = shapes[i][2];
      gsize n = (gsize) n_rows * n_views * n_columns;
      g_autofree float *data = random_transmissions (n);
      g_autofree double *expected = g_new (double, n);
      TdStep step;
      TdPaganin paganin;
      double worst = 0;

      init_step (&step, i % 2 ? 100 : 20, discrete);
      g_autoptr (TdScan) scan = make_scan (data, n_rows, n_views, n_columns);
      g_assert_null (td_paganin_init (&paganin, &step, td_scan_facts (scan)));
      for (guint view = 0; view < n_views; view++)
        reference (&(Sinograms) { data, n_rows, n_views, n_columns }, view, paganin.length_px[0],
                   discrete, expected);
      g_autofree float *got = g_memdup2 (data, n * sizeof *data);
      prepare (device, scan, &step, 1, got, 0, n_rows);
      for (gsize k = 0; k < n; k++)
        worst = isfinite (got[k]) ? MAX (worst, fabs (got[k] - expected[k])) : INFINITY;
      g_test_message ("%u rows, %u views, %u columns, L %.2f: %.1e", n_rows, n_views, n_columns,
                      paganin.length_px[0], worst);
      g_assert_cmpfloat (worst, <=, BOUND);
    }
  td_test_close (device);
}

/* An even beam has no rims. */
static void
test_constant (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  float data[3 * 2 * 40];
  TdStep step;

  for (guint i = 0; i < G_N_ELEMENTS (data); i++)
    data[i] = 0.7f;
  g_autoptr (TdScan) scan = make_scan (data, 3, 2, 40);
  init_step (&step, 100, FALSE);
  prepare (device, scan, &step, 1, data, 0, 3);
  for (guint i = 0; i < G_N_ELEMENTS (data); i++)
    g_assert_cmpfloat_with_epsilon (data[i], 0.7, BOUND);
  td_test_close (device);
}

/* ── Rows cut ── */

/* What lies beyond the halo. It adds up to half of its first term on either side for steady data,
   and beyond that as noise does. */
static double
alternating_tail (const TdPaganin *paganin)
{
  const double f = pow (G_PI * paganin->length_px[1], 2), halo = paganin->reach_px[1];

  return 4 * f / pow (1 + f, 2) / pow (2 * G_PI * halo, 2) * sqrt (halo);
}

static void
test_slabs (gconstpointer id)
{
  static const double delta_betas[] = { 20, 20, 0.4, 0.1 }; /* the latter: 0.3 and 0.16 pixels */
  const guint n_rows = 150, n_columns = 48, row_floats = 2 * n_columns;
  TdDevice *device = td_test_open (id);
  g_autofree float *data = random_transmissions ((gsize) n_rows * row_floats);
  g_autoptr (TdScan) scan = make_scan (data, n_rows, 2, n_columns);

  for (guint k = 0; k < G_N_ELEMENTS (delta_betas); k++) {
    const gboolean discrete = k == 1;
    g_autofree float *whole = g_memdup2 (data, n_rows * row_floats * sizeof *data);
    TdPaganin paganin;
    TdStep step;
    double worst = 0;

    init_step (&step, delta_betas[k], discrete);
    g_assert_null (td_paganin_init (&paganin, &step, td_scan_facts (scan)));
    guint halo = td_preparation_halo (&step, 1, td_scan_facts (scan));
    g_assert_cmpuint (halo, ==, paganin.reach_px[1]);
    g_assert_cmpuint (2 * halo, <, n_rows);
    prepare (device, scan, &step, 1, whole, 0, n_rows);
    for (guint row = 0; row < n_rows; row += 17) {
      guint first = row > halo ? row - halo : 0, end = MIN (row + halo + 1, n_rows);
      g_autofree float *cut = g_memdup2 (data, n_rows * row_floats * sizeof *data);
      prepare (device, scan, &step, 1, cut, first, end - first);
      for (guint i = 0; i < row_floats; i++)
        worst = MAX (worst, fabs (cut[row * row_floats + i] - whole[row * row_floats + i]));
    }
    /* Values differ by 0.8 at most. */
    double tail = discrete ? 0 : alternating_tail (&paganin);
    g_test_message ("a halo of %u rows, L %.2f: %.1e, bound %.1e", halo, paganin.length_px[1],
                    worst, TD_PAGANIN_REST + tail + 1e-6);
    g_assert_cmpfloat (worst, <=, TD_PAGANIN_REST + tail + 1e-6);
    g_assert_cmpfloat (worst, <=, 3e-5);
  }
  td_test_close (device);
}

/* ── A row out of its neighbours ── */

/* Makes row @row alone from those around it. */
static void
prepare_row (TdDevice *device, TdScan *scan, const TdStep *step, const float *data, guint row,
             float *out)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const guint halo = td_preparation_halo (step, 1, facts), first = row > halo ? row - halo : 0;
  const guint n = MIN (row + halo + 1, facts->n_rows) - first;
  const gsize row_floats = (gsize) facts->n_views * facts->n_columns,
              bytes = row_floats * sizeof (float);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autofree float *rows = g_memdup2 (data + first * row_floats, n * bytes);
  g_autofree float *after = g_malloc (n * bytes);
  g_autoptr (TdBuffer) buffer = td_test_buffer (device, queue, rows, n * bytes);
  g_autoptr (TdBuffer) other = td_test_buffer (device, queue, rows, n * bytes);
  g_autoptr (TdPreparation) preparation = td_preparation_new (device, scan, NULL, step, 1, &error);
  TdPreparationRows left = { buffer, first, n };

  const guint64 before = device->allocated_bytes;
  td_preparation_run_steps (preparation, queue, &left, &(TdPreparationRows) { other, row, 1 },
                            (TdStepRange) { 0, 1 }, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (device->allocated_bytes - before, <=,
                    td_preparation_workspace_bytes (step, 1, facts, n));
  g_assert_true (left.data == other);
  g_assert_cmpuint (left.row0, ==, row);
  g_assert_cmpuint (left.n_rows, ==, 1);
  td_download (queue, out, other, 0, bytes, &error);
  td_download (queue, after, buffer, 0, n * bytes, &error);
  td_test_finish (queue);
  g_assert_cmpmem (after, n * bytes, rows, n * bytes); /* left alone */
}

/* Against the formula, with rows for nearly all of what the continuous Laplacian's tail brings. */
static void
test_row (gconstpointer id)
{
  static const struct {
    guint n_rows, n_views, n_columns;
    double delta_beta;
  } cases[] = {
    { 90, 3, 61, 3 },
    { 61, 4, 200, 20 },
    { 167, 1, 75, 100 },
  };
  TdDevice *device = td_test_open (id);

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint n_rows = cases[i / 2].n_rows, n_views = cases[i / 2].n_views;
    const guint n_columns = cases[i / 2].n_columns, row_floats = n_views * n_columns;
    const gboolean discrete = i % 2;
    g_autofree float *data = random_transmissions ((gsize) n_rows * row_floats);
    g_autofree double *expected = g_new (double, (gsize) n_rows *row_floats);
    g_autofree float *got = g_new (float, row_floats);
    g_autoptr (TdScan) scan = make_scan (data, n_rows, n_views, n_columns);
    const guint rows[] = { 0, 3, n_rows / 2, n_rows - 1 };
    TdPaganin paganin;
    TdStep step;
    double worst = 0;

    init_step (&step, cases[i / 2].delta_beta, discrete);
    g_assert_null (td_paganin_init (&paganin, &step, td_scan_facts (scan)));
    for (guint view = 0; view < n_views; view++)
      reference (&(Sinograms) { data, n_rows, n_views, n_columns }, view, paganin.length_px[0],
                 discrete, expected);
    for (guint k = 0; k < G_N_ELEMENTS (rows); k++) {
      prepare_row (device, scan, &step, data, rows[k], got);
      for (guint x = 0; x < row_floats; x++)
        worst = isfinite (got[x])
                    ? MAX (worst, fabs (got[x] - expected[(gsize) rows[k] * row_floats + x]))
                    : INFINITY;
    }
    const double bound = discrete ? BOUND : BOUND + alternating_tail (&paganin);
    g_test_message ("%u rows, L %.2f: %.1e, bound %.1e", n_rows, paganin.length_px[0], worst,
                    bound);
    g_assert_cmpfloat (worst, <=, bound);
  }
  td_test_close (device);
}

/* Every frequency of a row: the terms add up to the transform that they stand for. */
static void
test_terms (void)
{
  static const struct {
    double length;
    guint n_rows;
  } cases[] = {
    { 0.05, 9 }, { 0.86, 25 }, { 5, 133 }, { 15.7, 415 }, { 30, 801 },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const guint nx = 360, n = cases[i / 2].n_rows, middle = n / 2;
    const double l2 = pow (cases[i / 2].length, 2);
    const TdPaganin paganin
        = { { cases[i / 2].length, cases[i / 2].length }, { 0, middle }, i % 2 };
    TdPaganinTerms *terms = td_paganin_terms_new (&paganin, nx, n, middle);
    double worst = 0;

    for (guint k = 0; k < nx; k++) {
      const double w = 2 * G_PI * MIN (k, nx - k) / nx;
      double even = 0; /* of a wave of four rows along the column, which the edges hardly touch */
      for (guint t = 0; t < terms->n_terms; t++)
        for (guint v = 0; v < n; v++)
          even += (double) terms->factors[t * nx + k] * nx * terms->weights[t * n + v]
                  * cos (G_PI / 2 * ((gint) v - (gint) middle));
      const double a = paganin.discrete ? l2 * (2 - 2 * cos (w)) : l2 * w * w;
      const double b = paganin.discrete ? l2 * 2 : l2 * pow (G_PI / 2, 2);
      worst = MAX (worst, fabs (even - 1 / (1 + a + b)));
    }
    g_test_message ("L %.2f, %u rows: %u terms, off by %.1e", cases[i / 2].length, n,
                    terms->n_terms, worst);
    g_assert_cmpuint (terms->n_terms, <=, 24);
    g_assert_cmpfloat (worst, <=, 1e-5 + (paganin.discrete ? 0 : 1e-4));
    td_paganin_terms_free (terms);
  }
}

/* ── A known thickness ── */

/* mu t as a sum of Gaussians, and what the transport-of-intensity equation makes of it:
   T_z = (1 - L^2 laplacian) exp (-mu t) = exp (-mu t) (1 + L^2 (laplacian mu t - |gradient mu
   t|^2)) */
static double
forward (double x, double y, double length, double *absorbed)
{
  static const double bumps[][4] = {
    /* x, y, width, height */
    { 70, 60, 9, 0.8 },
    { 95, 75, 6, 0.5 },
    { 65, 80, 10, 0.4 },
  };
  double t = 0, tx = 0, ty = 0, laplacian = 0;

  for (guint i = 0; i < G_N_ELEMENTS (bumps); i++) {
    double dx = x - bumps[i][0], dy = y - bumps[i][1], s2 = bumps[i][2] * bumps[i][2];
    double value = bumps[i][3] * exp (-0.5 * (dx * dx + dy * dy) / s2);
    t += value;
    tx -= dx / s2 * value;
    ty -= dy / s2 * value;
    laplacian += ((dx * dx + dy * dy) / (s2 * s2) - 2 / s2) * value;
  }
  *absorbed = t;
  return exp (-t) * (1 + length * length * (laplacian - tx * tx - ty * ty));
}

static void
test_thickness (gconstpointer id)
{
  const guint n_rows = 140, n_columns = 150;
  TdDevice *device = td_test_open (id);
  g_autofree float *data = g_new0 (float, n_rows *n_columns);
  g_autoptr (TdScan) scan = make_scan (data, n_rows, 1, n_columns);
  TdStep steps[2];
  TdPaganin paganin;
  double worst = 0, before = 0, absorbed;

  init_step (&steps[0], 50, FALSE);
  td_step_init (&steps[1], td_prepare_step ("minus-log", NULL));
  g_assert_null (td_paganin_init (&paganin, &steps[0], td_scan_facts (scan)));
  for (guint y = 0; y < n_rows; y++)
    for (guint x = 0; x < n_columns; x++)
      data[y * n_columns + x] = forward (x, y, paganin.length_px[0], &absorbed);
  g_autofree float *retrieved = g_memdup2 (data, n_rows * n_columns * sizeof *data);
  prepare (device, scan, &steps[1], 1, data, 0, n_rows);
  prepare (device, scan, steps, 2, retrieved, 0, n_rows);
  for (guint y = 0; y < n_rows; y++)
    for (guint x = 0; x < n_columns; x++) {
      forward (x, y, paganin.length_px[0], &absorbed);
      before = MAX (before, fabs (data[y * n_columns + x] - absorbed));
      worst = MAX (worst, fabs (retrieved[y * n_columns + x] - absorbed));
    }
  g_test_message ("L is %.2f pixels; off by %.3f before, by %.1e after", paganin.length_px[0],
                  before, worst);
  g_assert_cmpfloat (before, >, 0.1);
  g_assert_cmpfloat (worst, <, 2e-4);
  td_test_close (device);
}

/* (transfer full) */
static char *
why_unsupported (const TdStep *step, const TdScanFacts *facts)
{
  g_autoptr (TdMessage) reason = td_preparation_unsupported (step, 1, facts);

  g_assert_nonnull (reason);
  return td_message_text (reason, NULL);
}

/* ── What it asks for ── */

static void
test_parameters (void)
{
  float data[4 * 64] = { 0 };
  g_autoptr (TdScan) scan = make_scan (data, 4, 1, 64);
  TdScanFacts facts = *td_scan_facts (scan);
  TdPaganin paganin, other;
  TdStep step;

  init_step (&step, 100, FALSE);
  g_assert_null (td_paganin_init (&paganin, &step, &facts));
  /* lambda = 0.06199 nm; sqrt (0.05 m × lambda × 100 / 4 pi) = 4.966 µm */
  g_assert_cmpfloat_with_epsilon (paganin.length_px[0], 4.966, 1e-3);

  /* A point source twice as near as the detector: half the distance, half the pixels. */
  facts.geometry.beam = TD_BEAM_CONE;
  facts.geometry.source_axis_mm = 50;
  facts.geometry.source_detector_mm = 100;
  g_assert_null (td_paganin_init (&other, &step, &facts));
  g_assert_cmpfloat_with_epsilon (other.length_px[0], paganin.length_px[0] * sqrt (0.5) * 2, 1e-9);

  step.values[TD_PAGANIN_DELTA_BETA] = 1e6;
  g_autofree char *absurd = why_unsupported (&step, &facts);
  g_assert_nonnull (strstr (absurd, "check them"));
  init_step (&step, 100, FALSE);
  facts = *td_scan_facts (scan);
  facts.energy_kev = 0;
  g_autofree char *energy = why_unsupported (&step, &facts);
  g_assert_nonnull (strstr (energy, "paganin:energy=25"));
  step.values[TD_PAGANIN_ENERGY] = 30;
  facts.propagation_mm = 0;
  g_autofree char *distance = why_unsupported (&step, &facts);
  g_assert_nonnull (strstr (distance, "paganin:distance=100"));
  step.values[TD_PAGANIN_DISTANCE] = 30;
  facts.geometry.pixel_width_mm = 0;
  g_autofree char *pixel = why_unsupported (&step, &facts);
  g_assert_nonnull (strstr (pixel, "paganin:pixel=1.6"));
  step.values[TD_PAGANIN_PIXEL] = 1;
  g_assert_null (td_preparation_unsupported (&step, 1, &facts));
}

/* The same cone by its numbers, and by a matrix that does not know how large a pixel is. */
static void
test_matrices (void)
{
  static const double vectors[12] = { 0, -200, 0, 0, 300, 0, 0.1, 0, 0, 0, 0, -0.1 };
  double matrix[12];
  TdScanFacts facts = { .n_columns = 500, .n_rows = 400, .n_views = 1, .energy_kev = 30 };
  TdPaganin by_numbers, by_matrix;
  TdStep step;

  facts.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                  .source_axis_mm = 200,
                                  .source_detector_mm = 500,
                                  .pixel_width_mm = 0.1,
                                  .pixel_height_mm = 0.1 };
  init_step (&step, 1000, FALSE);
  g_assert_null (td_paganin_init (&by_numbers, &step, &facts));
  g_assert_true (td_matrix_from_vectors (vectors, 500, 400, matrix));
  facts.geometry = (TdGeometry) {
    .beam = TD_BEAM_CONE, .source_axis_mm = 200, .view_matrices = matrix, .n_view_matrices = 1
  };
  step.values[TD_PAGANIN_PIXEL] = 100;
  for (guint stated = 0; stated < 2; stated++) {
    step.values[TD_PAGANIN_DISTANCE] = stated ? 300 : 0;
    g_assert_null (td_paganin_init (&by_matrix, &step, &facts));
    for (guint axis = 0; axis < 2; axis++)
      g_assert_cmpfloat_with_epsilon (by_matrix.length_px[axis] / by_numbers.length_px[axis], 1,
                                      1e-9);
  }
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "formula", test_formula }, { "constant", test_constant },   { "slabs", test_slabs },
    { "row", test_row },         { "thickness", test_thickness },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paganin/parameters", test_parameters);
  g_test_add_func ("/paganin/matrices", test_matrices);
  g_test_add_func ("/paganin/terms", test_terms);
  td_test_each_device ("/paganin", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
