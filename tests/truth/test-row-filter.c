/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Row filtering on every device against a direct computation in double. */
#include "compute/lab/lab-filter.h"
#include "compute/row-filter-host.h"
#include "compute/row-filter.h"
#include "tests/common/devices.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>

#define BOUND 1e-6

/* The definition: pad, transform, multiply, transform back, all in double. */
static void
reference (const TdFilter *filter, guint n_columns, guint n_rows, const float *rows, double *out)
{
  guint n = td_filter_padded_size (n_columns);
  g_autofree double *response = g_new (double, n);
  g_autofree fftw_complex *line = g_new (fftw_complex, n);
  fftw_plan forward = fftw_plan_dft_1d (n, line, line, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_plan inverse = fftw_plan_dft_1d (n, line, line, FFTW_BACKWARD, FFTW_ESTIMATE);

  td_filter_response (filter, n, response);
  for (guint row = 0; row < n_rows; row++) {
    const float *in = rows + (gsize) row * n_columns;
    guint middle = n_columns + (n - n_columns) / 2;
    for (guint i = 0; i < n; i++)
      line[i] = i < n_columns                             ? in[i]
                : !filter->extend_edges                   ? 0
                : i == middle && (n - n_columns) % 2 == 1 ? ((double) in[0] + in[n_columns - 1]) / 2
                                                          : in[i < middle ? n_columns - 1 : 0];
    fftw_execute (forward);
    for (guint i = 0; i < n; i++)
      line[i] *= response[i] / n;
    fftw_execute (inverse);
    for (guint i = 0; i < n_columns; i++)
      out[(gsize) row * n_columns + i] = creal (line[i]);
  }
  fftw_destroy_plan (forward);
  fftw_destroy_plan (inverse);
}

static void
check (TdDevice *device, const TdFilter *spec, guint n_columns, guint n_rows, guint max_rows)
{
  g_autoptr (GError) error = NULL;
  gsize n = (gsize) n_columns * n_rows, before = 5;
  g_autofree float *rows = g_new (float, n + 2 * before);
  g_autofree float *got = g_new (float, n + 2 * before);
  g_autofree double *expected = g_new (double, n);
  g_autoptr (GRand) random = g_rand_new_with_seed (n);
  double difference = 0, norm = 0;

  for (gsize i = 0; i < n + 2 * before; i++)
    rows[i] = g_rand_double_range (random, -1, 3);
  reference (spec, n_columns, n_rows, rows + before, expected);

  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, (n + 2 * before) * sizeof (float), &error);
  g_autoptr (TdRowFilter) filter
      = td_row_filter_new (device, n_columns, n_columns, max_rows, &error);
  g_assert_no_error (error);
  g_assert_true (td_row_filter_set (filter, spec, &error));
  td_upload (queue, buffer, 0, rows, (n + 2 * before) * sizeof (float), &error);
  g_assert_true (td_row_filter_run (filter, queue, (TdPlace) { buffer, before * sizeof (float) },
                                    n_rows, NULL, (TdPlace) { buffer, before * sizeof (float) },
                                    &error));
  td_download (queue, got, buffer, 0, (n + 2 * before) * sizeof (float), &error);
  g_assert_true (td_queue_finish (queue, &error));

  for (gsize i = 0; i < n; i++) {
    difference += pow (got[before + i] - expected[i], 2);
    norm += expected[i] * expected[i];
  }
  g_assert_cmpfloat (sqrt (difference), <=, BOUND * sqrt (norm));
  /* The rows only, not what stands beside them. */
  for (gsize i = 0; i < before; i++) {
    g_assert_cmpfloat (got[i], ==, rows[i]);
    g_assert_cmpfloat (got[before + n + i], ==, rows[before + n + i]);
  }
  if (n_rows == max_rows) {
    g_assert_false (td_row_filter_run (filter, queue, (TdPlace) { buffer, 0 }, max_rows + 1, NULL,
                                       (TdPlace) { buffer, 0 }, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  }
}

static void
test_filter (gconstpointer id)
{
  static const guint shapes[][3] = {
    /* columns, rows, most rows */
    { 1, 1, 1 },      { 2, 3, 3 },   { 7, 5, 9 },   { 160, 33, 33 }, { 181, 2, 40 },
    { 1024, 17, 17 }, { 257, 1, 1 }, { 900, 1, 1 }, /* groups of 257 columns, padded or not, would
                                                       be one fewer */
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, i % 2 };
    check (device, &filter, shapes[i][0], shapes[i][1], shapes[i][2]);
  }
  TdFilter hann = { TD_FILTER_HANN, 0.5, 0, TRUE }, none = { TD_FILTER_NONE, 1, 0, FALSE };
  check (device, &hann, 160, 33, 33);
  check (device, &none, 160, 33, 33);
  g_assert_cmpuint (td_test_live_objects (device), ==, 0);
}

/* Edges that go on lean to no side: a mirrored row comes out mirrored, also of an odd width. */
static void
test_mirrored (gconstpointer id)
{
  static const guint widths[] = { 3, 5, 7, 16, 21, 33, 64 };
  const TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);

  g_assert_no_error (error);
  for (guint k = 0; k < G_N_ELEMENTS (widths); k++) {
    const guint n = widths[k];
    g_autofree float *rows = g_new (float, 2 * n);
    g_autoptr (TdBuffer) buffer = td_buffer_new (device, 2 * n * sizeof (float), &error);
    g_autoptr (TdRowFilter) row_filter = td_row_filter_new (device, n, n, 2, &error);
    double off = 0, norm = 0;

    g_assert_no_error (error);
    for (guint i = 0; i < n; i++)
      rows[i] = rows[2 * n - 1 - i] = 1 + (float) i / n; /* other values at either edge */
    g_assert_true (td_row_filter_set (row_filter, &filter, &error));
    td_upload (queue, buffer, 0, rows, 2 * n * sizeof (float), &error);
    g_assert_true (td_row_filter_run (row_filter, queue, (TdPlace) { buffer, 0 }, 2, NULL,
                                      (TdPlace) { buffer, 0 }, &error));
    td_download (queue, rows, buffer, 0, 2 * n * sizeof (float), &error);
    g_assert_true (td_queue_finish (queue, &error));
    for (guint i = 0; i < n; i++) {
      off += pow (rows[i] - rows[2 * n - 1 - i], 2);
      norm += pow (rows[i], 2);
    }
    g_test_message ("%u columns: %.1e", n, sqrt (off / norm));
    g_assert_cmpfloat (sqrt (off), <=, 1e-5 * sqrt (norm));
  }
}

/* More rows than the workspace takes at once. */
static void
test_chunks (gconstpointer id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  TdFilter filter = { TD_FILTER_SHEPP_LOGAN, 1, 0, FALSE };

  g_assert_no_error (error);
  check (device, &filter, 3, 2 * 65535 + 3, 2 * 65535 + 3);
}

/* What each column of a row counts for about its own centre, by compute/row-blend.h. */
static double
blend_weight (guint n_columns, double centre, guint column)
{
  const gboolean on_left = centre <= (n_columns - 1) / 2.0; /* the nearer edge is */
  const double u = on_left ? column - centre : centre - column;
  const double o = MAX (on_left ? centre : n_columns - 1 - centre, 0.5);
  const double t = CLAMP ((u + o) / (2 * o), 0, 1);

  return t * t * t * (10 - 15 * t + 6 * t * t);
}

/* Half acquisition: rows of several sinograms, each about a centre of its own, from some row of the
   first one on. Weighted where they are measured, they are filtered into wider ones. On a card a
   chunk ends within a sinogram. */
static void
test_blends (gconstpointer id)
{
  static const struct {
    guint n_columns, shift, n_rows;
    TdRowBlend blend;
  } cases[] = {
    { 7, 0, 23, { 0, 5, 3, 1.5, 0 } },
    { 7, 0, 23, { 0, 5, 3, 1.25, 0.5 } },
    { 9, 4, 41, { 4, 4, 6, 6.5, -0.25 } },
    { 9, 4, 40, { 4, 40, 0, 5, 0 } },
    { 8, 3, 18, { 3, 1, 2, 8.5, -0.75 } }, /* beside the detector, then not */
    { 12, 5, 33, { 5, 0, 0, 3, 0 } },      /* no weights: shifted only */
    { 3, 1, 2 * 65535 + 7, { 1, 50000, 20000, 2, -0.25 } },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);

  g_assert_no_error (error);
  for (guint k = 0; k < G_N_ELEMENTS (cases); k++) {
    const guint n = cases[k].n_columns, wide = n + 5, n_rows = cases[k].n_rows;
    const TdFilter spec = { TD_FILTER_RAM_LAK, 1, 0, k % 2 };
    const TdRowBlend *blend = &cases[k].blend;
    const gsize bytes[2] = { sizeof (float) * n * n_rows, sizeof (float) * wide * n_rows };
    g_autofree float *rows = g_malloc (bytes[0]), *got = g_malloc (bytes[1]);
    g_autofree float *placed = g_malloc (bytes[1]);
    g_autofree double *expected = g_new (double, (gsize) wide *n_rows);
    g_autoptr (TdBuffer) from = td_buffer_new (device, bytes[0], &error);
    g_autoptr (TdBuffer) to = td_buffer_new (device, bytes[1], &error);
    g_autoptr (TdRowFilter) filter = td_row_filter_new (device, n, wide, n_rows, &error);
    double off = 0, norm = 0;

    g_assert_no_error (error);
    td_test_random (rows, (gsize) n * n_rows, 11 + k);
    for (guint row = 0; row < n_rows; row++) {
      const float *in = rows + (gsize) row * n;
      float *place = placed + (gsize) row * wide;
      const guint sinogram = blend->n_views ? (blend->row0 + row) / blend->n_views : 0;
      const double centre = blend->centre_px + sinogram * blend->centre_step_px;
      for (guint i = 0; i < wide; i++) {
        const gint column = (gint) i - (gint) blend->shift;
        const guint c = (guint) CLAMP (column, 0, (gint) n - 1);
        place[i] = (gint) c != column && !spec.extend_edges
                       ? 0
                       : in[c] * (blend->n_views ? blend_weight (n, centre, c) : 1);
      }
    }
    reference (&spec, wide, n_rows, placed, expected);
    g_assert_true (td_row_filter_set (filter, &spec, &error));
    td_upload (queue, from, 0, rows, bytes[0], &error);
    g_assert_true (td_row_filter_run (filter, queue, (TdPlace) { from, 0 }, n_rows, blend,
                                      (TdPlace) { to, 0 }, &error));
    td_download (queue, got, to, 0, bytes[1], &error);
    g_assert_true (td_queue_finish (queue, &error));
    for (gsize i = 0; i < (gsize) wide * n_rows; i++) {
      off += pow (got[i] - expected[i], 2);
      norm += expected[i] * expected[i];
    }
    g_test_message ("%u: %.1e", k, sqrt (off / norm));
    g_assert_cmpfloat (sqrt (off), <=, BOUND * sqrt (norm));
  }
}

/* A filter takes as much of a device's memory as plans count for it. */
static void
test_memory (gconstpointer id)
{
  static const guint shapes[][2] = { { 100, 7 }, { 333, 64 }, { 1025, 1001 } }; /* wide, rows */
  g_autoptr (TdDevice) device = td_device_open (id, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) account = td_device_for_job (device, 0);
    g_autoptr (TdRowFilter) filter
        = td_row_filter_new (account, shapes[i][0] - 3, shapes[i][0], shapes[i][1], &error);

    g_assert_no_error (error);
    g_assert_cmpuint (td_device_peak_bytes (account), ==,
                      td_device_info (device)->host_pointers
                          ? 0
                          : td_row_filter_workspace_bytes (shapes[i][0], shapes[i][1]));
  }
}

/* Rows end where their buffers do, and begin at a value; a shifted row stays within its wide one.
 */
static void
test_limits (gconstpointer id)
{
  enum { COLUMNS = 6, WIDE = 9, ROWS = 3, BEFORE = 2 };
  static const struct {
    guint rows, shift;
    gint less_rows, less_wide, off_rows, off_wide; /* bytes */
    gboolean good;
  } cases[] = {
    { ROWS, 0, 0, 0, 0, 0, TRUE },      { ROWS, 3, 0, 0, 0, 0, TRUE },
    { ROWS - 1, 0, 4, 4, 0, 0, TRUE },  { ROWS, 4, 0, 0, 0, 0, FALSE },
    { ROWS + 1, 0, 0, 0, 0, 0, FALSE }, { ROWS, 0, 1, 0, 0, 0, FALSE },
    { ROWS, 0, 0, 1, 0, 0, FALSE },     { ROWS - 1, 0, 0, 0, 2, 0, FALSE },
    { ROWS - 1, 0, 0, 0, 0, 2, FALSE }, { 1, 0, 0, 0, 1000, 0, FALSE },
    { 1, 0, 0, 0, 0, 1000, FALSE },
  };
  const guint bytes[2]
      = { sizeof (float) * (BEFORE + ROWS * COLUMNS), sizeof (float) * (BEFORE + ROWS * WIDE) };
  const TdFilter filter = { TD_FILTER_RAM_LAK, 1, 0, TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdRowFilter) row_filter = td_row_filter_new (device, COLUMNS, WIDE, ROWS, &error);

  g_assert_no_error (error);
  g_assert_true (td_row_filter_set (row_filter, &filter, &error));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdBuffer) rows = td_buffer_new (device, bytes[0] - cases[i].less_rows, &error);
    g_autoptr (TdBuffer) wide = td_buffer_new (device, bytes[1] - cases[i].less_wide, &error);
    const TdRowBlend place = { .shift = cases[i].shift };
    const TdPlace from = { rows, BEFORE * sizeof (float) + cases[i].off_rows };
    const TdPlace to = { wide, BEFORE * sizeof (float) + cases[i].off_wide };

    g_test_message ("%u", i);
    g_assert_cmpint (td_row_filter_run (row_filter, queue, from, cases[i].rows, &place, to, &error),
                     ==, cases[i].good);
    g_assert_true (!error || g_error_matches (error, TD_ERROR, TD_ERROR_DEVICE_BUG));
    g_clear_error (&error);
    g_assert_true (td_queue_finish (queue, &error));
  }
}

/* The host's own filter, by the definition: shifted rows, with and without edges that go on. It
   writes its rows and nothing behind them, also where threads share them. */
static void
test_wide (void)
{
  enum { COLUMNS = 7, MOST = 33 };
  static const guint counts[] = { 1, 2, 16, 17, MOST };
  static const struct {
    guint wide, shift;
  } places[] = { { 7, 0 }, { 11, 0 }, { 11, 4 }, { 12, 2 } };
  float rows[MOST * COLUMNS], wide[(MOST + 1) * 12];

  td_test_random (rows, MOST * COLUMNS, 5);
  for (guint p = 0; p < 2 * G_N_ELEMENTS (places); p++) {
    const guint n = places[p / 2].wide, shift = places[p / 2].shift;
    const guint padded = 24 + p % 2; /* what is beyond the row has a middle or none */
    const gboolean extend = p % 3 > 0;
    const TdRowBlend place = { .shift = shift };
    const guint middle = n + (padded - n) / 2;
    double response[25];
    g_autoptr (GError) error = NULL;
    TdHostRowFilter *filter = td_host_row_filter_new (COLUMNS, n, padded, &error);

    g_assert_no_error (error);
    for (guint i = 0; i < padded; i++)
      response[i] = 1 + MIN (i, padded - i); /* its own mirror image, not 0 for the mean */
    td_host_row_filter_set (filter, response, extend);
    for (guint c = 0; c < G_N_ELEMENTS (counts); c++) {
      for (guint i = 0; i < G_N_ELEMENTS (wide); i++)
        wide[i] = 1234;
      td_host_row_filter_run (filter, rows, counts[c], shift || n > COLUMNS ? &place : NULL, wide);
      for (guint row = 0; row < counts[c]; row++) {
        const float *in = rows + row * COLUMNS;
        const double first = extend ? in[0] : 0, last = extend ? in[COLUMNS - 1] : 0;
        double line[25];
        for (guint i = 0; i < padded; i++)
          line[i] = i < shift                              ? first
                    : i < shift + COLUMNS                  ? in[i - shift]
                    : i == middle && (padded - n) % 2 == 1 ? (first + last) / 2
                    : i < middle                           ? last
                                                           : first;
        for (guint i = 0; i < n; i++) {
          double sum = 0;
          for (guint k = 0; k < padded; k++)
            for (guint j = 0; j < padded; j++)
              sum += line[j] * response[k] / padded
                     * cos (2 * G_PI * k * ((double) i - j) / padded);
          g_assert_cmpfloat_with_epsilon (wide[row * n + i], sum, 1e-4);
        }
      }
      for (guint i = counts[c] * n; i < G_N_ELEMENTS (wide); i++)
        g_assert_cmpfloat (wide[i], ==, 1234);
    }
    td_host_row_filter_free (filter);
  }
}

/* The references' filter, by the definition: narrow rows, where what is beyond them counts most. */
static void
test_double (void)
{
  static const TdFilter filters[] = { { TD_FILTER_RAM_LAK, 1, 0, TRUE },
                                      { TD_FILTER_HANN, 0.7, 0, FALSE },
                                      { TD_FILTER_BUTTERWORTH, 0.5, 2, TRUE },
                                      { TD_FILTER_NONE, 1, 0, TRUE } };

  for (guint n = 1; n <= 9; n++)
    for (guint k = 0; k < 2 * G_N_ELEMENTS (filters); k++) {
      const TdFilter *filter = &filters[k / 2];
      const guint more = k % 2 * 3, shift = more ? n % 3 : 0, n_wide = n + more;
      const guint padded = td_filter_padded_size (n_wide), middle = n_wide + (padded - n_wide) / 2;
      g_autofree double *response = g_new (double, padded), *line = g_new (double, padded);
      double row[9], wide[13];
      g_autoptr (GError) error = NULL;
      g_autoptr (TdLabFilter) own = td_lab_filter_new (filter, n, n_wide, shift, &error);

      g_assert_no_error (error);
      for (guint i = 0; i < n; i++)
        row[i] = 1 + sin (3 * i + k);
      for (guint i = 0; i < padded; i++) {
        const double first = filter->extend_edges ? row[0] : 0;
        const double last = filter->extend_edges ? row[n - 1] : 0;
        line[i] = i < shift                                   ? first
                  : i < shift + n                             ? row[i - shift]
                  : i == middle && (padded - n_wide) % 2 == 1 ? (first + last) / 2
                  : i < middle                                ? last
                                                              : first;
      }
      g_assert_true (td_filter_response (filter, padded, response));
      g_assert_cmpmem (td_lab_filter_response (own), padded * sizeof (double), response,
                       padded * sizeof (double));
      wide[n_wide] = 1234;
      td_lab_filter_run (own, row, wide);
      g_assert_cmpfloat (wide[n_wide], ==, 1234);
      for (guint i = 0; i < n_wide; i++) {
        double sum = 0;
        for (guint f = 0; f < padded; f++)
          for (guint j = 0; j < padded; j++)
            sum += line[j] * response[f] / padded * cos (2 * G_PI * f * ((double) i - j) / padded);
        g_assert_cmpfloat_with_epsilon (wide[i], sum, 1e-12);
      }
    }
}

static void
test_workspace (void)
{
  /* Pairs of rows, and a response. */
  for (guint rows = 1; rows <= 1024; rows++)
    g_assert_cmpuint (td_row_filter_workspace_bytes (1024, rows), ==,
                      ((rows + 1) / 2 * 2 + 1) * td_filter_padded_size (1024) * sizeof (float));
  g_assert_cmpuint (td_row_filter_workspace_bytes (4096, G_MAXINT32), <, 300u << 20);
  /* As few chunks as 64 MiB and a card's groups allow, and all of one size. Long lines have a
     workspace of their own. */
  static const guint widths[] = { 1, 3, 100, 2048, 2049, 10000, 3000000, 5000000 };
  static const guint counts[]
      = { 0, 1, 2, 3, 1023, 4096, 131070, 131071, 131072, 262145, 10000000 };
  for (guint w = 0; w < G_N_ELEMENTS (widths); w++)
    for (guint r = 0; r < G_N_ELEMENTS (counts); r++) {
      const guint64 padded = td_filter_padded_size (widths[w]), line = padded * 2 * sizeof (float);
      const guint64 pairs = (MAX (counts[r], 1) + 1) / 2,
                    most = CLAMP ((64 << 20) / line, 1, 65535);
      guint64 chunks = 1;
      while (chunks * most < pairs)
        chunks++;
      const guint64 each = (pairs + chunks - 1) / chunks;
      g_assert_cmpuint (td_row_filter_workspace_bytes (widths[w], counts[r]), ==,
                        each * line * (padded > 4096 ? 2 : 1) + padded * sizeof (float));
    }
}

/* Sizes that nobody has, or that an index does not hold, are refused. */
static void
test_sizes (void)
{
  static const struct {
    guint n_columns, n_wide, max_rows;
  } refused[] = { { 0, 5, 5 },        { 0, 0, 5 },        { 5, 4, 5 },
                  { 5, 5, 0 },        { 5, 5, 1u << 31 }, { 5, G_MAXINT32 / 4 + 1, 5 },
                  { 5, G_MAXUINT, 5 } };
  g_autoptr (TdDevice) host = td_test_open ("host");

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (td_row_filter_new (host, refused[i].n_columns, refused[i].n_wide,
                                      refused[i].max_rows, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  }
  g_autoptr (TdRowFilter) filter = td_row_filter_new (host, 5, 5, G_MAXINT32, NULL);
  g_assert_nonnull (filter);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/row-filter/wide", test_wide);
  g_test_add_func ("/row-filter/double", test_double);
  g_test_add_func ("/row-filter/workspace", test_workspace);
  g_test_add_func ("/row-filter/sizes", test_sizes);
  g_autoptr (GPtrArray) entries = td_device_list ();
  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    if (!entry->available)
      continue;
    g_autofree char *path = g_strdup_printf ("/row-filter/%s/truth", entry->id);
    g_autofree char *chunks = g_strdup_printf ("/row-filter/%s/chunks", entry->id);
    g_autofree char *blends = g_strdup_printf ("/row-filter/%s/blends", entry->id);
    g_autofree char *memory = g_strdup_printf ("/row-filter/%s/memory", entry->id);
    g_autofree char *mirrored = g_strdup_printf ("/row-filter/%s/mirrored", entry->id);
    g_autofree char *limits = g_strdup_printf ("/row-filter/%s/limits", entry->id);
    g_test_add_data_func_full (path, g_strdup (entry->id), test_filter, g_free);
    g_test_add_data_func_full (limits, g_strdup (entry->id), test_limits, g_free);
    g_test_add_data_func_full (mirrored, g_strdup (entry->id), test_mirrored, g_free);
    g_test_add_data_func_full (blends, g_strdup (entry->id), test_blends, g_free);
    g_test_add_data_func_full (memory, g_strdup (entry->id), test_memory, g_free);
    g_test_add_data_func_full (chunks, g_strdup (entry->id), test_chunks, g_free);
  }
  return g_test_run ();
}
