/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broad part of columns' offsets. On every device it agrees with the same computation in double
   precision on the host, and with what was put in. */
#include <math.h>

#include "compute/prepare/rings/rings-shade.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/rings-shade-reference.h"

#define BOUND 1e-5 /* of line integrals up to 1 and more */

/* Rows of a scan, with all that td_rings_add_shade() wants to know of them. */
typedef struct {
  guint n_rows, n_views, n_columns;
  double range;
  double *angles;
  float *data;    /* [row][view][column] */
  float *offsets; /* [row][column], what was found so far */
  float *dead, *sums;
  TdRingsAxis *masses, *axes;
} Rows;

static void
rows_init (Rows *rows)
{
  const gsize floats = (gsize) rows->n_rows * rows->n_columns;

  rows->angles = g_new (double, rows->n_views);
  for (guint v = 0; v < rows->n_views; v++)
    rows->angles[v] = 0.3 + rows->range * v / rows->n_views;
  rows->data = g_new (float, floats * rows->n_views);
  rows->offsets = g_new0 (float, floats);
  rows->dead = g_new0 (float, floats);
  rows->sums = g_new0 (float, TD_RINGS_AXIS_MODES *floats);
  rows->masses = g_new0 (TdRingsAxis, rows->n_rows);
  rows->axes = g_new0 (TdRingsAxis, rows->n_rows);
}

static void
rows_clear (Rows *rows)
{
  g_free (rows->angles);
  g_free (rows->data);
  g_free (rows->offsets);
  g_free (rows->dead);
  g_free (rows->sums);
  g_free (rows->masses);
  g_free (rows->axes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rows, rows_clear)

/* The sums over the views, but where a test has its own. */
static void
rows_sum (Rows *rows)
{
  const guint n = rows->n_columns;

  for (guint r = 0; r < rows->n_rows; r++)
    for (guint v = 0; v < rows->n_views; v++)
      for (guint c = 0; c < n; c++)
        rows->sums[TD_RINGS_AXIS_MODES * r * n + c]
            += rows->data[((gsize) r * rows->n_views + v) * n + c];
}

/* Each row has a disc about the axis and one beside it, noise, and dead columns. It has offsets of
   2 %, of which the even part was found. The last row's object ends far from the row's ends. */
static void
rows_fill (Rows *rows, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  const guint n = rows->n_columns;
  g_autofree double *ring = g_new (double, n);

  for (guint r = 0; r < rows->n_rows; r++) {
    double axis = 0.5 * n + 0.37 - r / 2; /* rows 0 and 1 have the same places */
    double radius = r + 1 == rows->n_rows ? 0.2 * n : 0.46 * n;
    rows->axes[r] = (TdRingsAxis) { axis, 0.03, 2.0 * n };
    rows->masses[r] = (TdRingsAxis) { axis + 0.2, 0.5, 2.0 * n };
    for (guint c = 0; c < n; c++) {
      ring[c] = 0.02 * sqrt (3) * g_rand_double_range (random, -1, 1) + 0.003 * sin (c / 11.0);
      rows->offsets[r * n + c] = (float) (ring[c] - 0.003 * sin (c / 11.0));
      rows->dead[r * n + c] = r != 1 && (c % 61 == 17 || c % 61 == 18);
      rows->offsets[r * n + c] *= 1 - rows->dead[r * n + c];
    }
    for (guint v = 0; v < rows->n_views; v++)
      for (guint c = 0; c < n; c++) {
        double x = c - axis, beside = x - 0.1 * n * cos (rows->angles[v]);
        rows->data[((gsize) r * rows->n_views + v) * n + c]
            = (float) (1.5 * sqrt (MAX (0, radius * radius - x * x)) / radius
                       + 0.5 * sqrt (MAX (0, 0.01 * n * n - beside * beside)) / (0.1 * n)
                       + 0.02 * g_rand_double_range (random, -1, 1) + ring[c]);
      }
  }
  rows_sum (rows);
}

/* @offsets with the shade, for rows [first, first + count). (transfer full) */
static float *
rows_run (const Rows *rows, TdDevice *device, guint first, guint count)
{
  const gsize n = rows->n_columns, floats = count * n;
  const gsize bytes = rows->n_rows * n * rows->n_views * sizeof (float);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan
      = td_test_scan (rows->data, rows->n_rows, rows->n_views, rows->n_columns, rows->angles);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) data = td_test_buffer (device, queue, rows->data, bytes);
  g_autoptr (TdPreparation) preparation = td_preparation_new (device, scan, NULL, NULL, 0, &error);
  TdSlab slab = { .device = device,
                  .queue = queue,
                  .data = data,
                  .n_rows = rows->n_rows,
                  .n_views = rows->n_views,
                  .n_columns = rows->n_columns,
                  .scan = scan,
                  .state = preparation };
  const TdRings rings = { &slab, first, count };
  const TdRingsShade shade = { .half_turns = td_rings_half_turns (rows->angles, rows->n_views),
                               .reach = 6,
                               .dead = rows->dead + first * n,
                               .sums = rows->sums + TD_RINGS_AXIS_MODES * first * n,
                               .masses = rows->masses + first,
                               .axes = rows->axes + first };
  float *offsets = g_memdup2 (rows->offsets + first * n, floats * sizeof *offsets);

  td_rings_add_shade (&rings, &shade, offsets, &error);
  g_assert_no_error (error);
  /* Once more, with what is kept from slab to slab. */
  g_autofree float *again = g_memdup2 (rows->offsets + first * n, floats * sizeof *offsets);
  g_assert_true (td_rings_add_shade (&rings, &shade, again, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (again, floats * sizeof *again, offsets, floats * sizeof *offsets);
  td_test_finish (queue);
  return offsets;
}

/* The same in double precision. */
static void
rows_expect (const Rows *rows, guint row, float *offsets)
{
  const guint n = rows->n_columns, n_bins = td_rings_shade_bins (rows->n_views);
  g_autofree float *bins = g_new (float, (gsize) n_bins *n);
  const TdReferenceShade shade = {
    .turn = { n, n_bins, td_rings_half_turns (rows->angles, rows->n_views), rows->axes[row].axis },
    .reach = 6,
    .sinogram = bins,
    .dead = rows->dead + row * n,
    .sums = rows->sums + TD_RINGS_AXIS_MODES * row * n,
    .n_views = rows->n_views,
    .moment = td_rings_axis_moment (rows->masses[row], rows->axes[row]),
    .moment_error = td_rings_axis_moment_error (rows->masses[row], rows->axes[row]),
  };

  for (guint b = 0; b < n_bins; b++) {
    guint from = (guint64) b * rows->n_views / n_bins, end = (b + 1ull) * rows->n_views / n_bins;
    for (guint c = 0; c < n; c++) {
      double sum = 0;
      for (guint v = from; v < end; v++)
        sum += rows->data[((gsize) row * rows->n_views + v) * n + c];
      bins[b * n + c] = (float) (sum / (end - from));
    }
  }
  td_reference_add_shade (&shade, offsets);
}

static void
compare (const Rows *rows, TdDevice *device, const float *expected)
{
  const gsize floats = (gsize) rows->n_rows * rows->n_columns;
  g_autofree float *all = rows_run (rows, device, 0, rows->n_rows);
  double worst = 0, most = 0;

  for (gsize i = 0; i < floats; i++) {
    worst = MAX (worst, fabsf (all[i] - expected[i]));
    most = MAX (most, fabsf (all[i] - rows->offsets[i]));
  }
  g_test_message ("%u × %u: shade up to %.4f, wrong by %.2g", rows->n_views, rows->n_columns, most,
                  worst);
  g_assert_cmpfloat (most, >=, 1e-3);
  g_assert_cmpfloat (worst, <=, BOUND);
  /* A row has the same bits whatever rows it comes with. */
  g_autofree float *last = rows_run (rows, device, rows->n_rows - 1, 1);
  g_assert_cmpmem (last, rows->n_columns * sizeof *last, all + floats - rows->n_columns,
                   rows->n_columns * sizeof *last);
}

static void
test_truth (gconstpointer id)
{
  enum { N_ROWS = 3 };
  static const struct {
    guint n_views, n_columns;
    double range;
  } cases[] = { { 130, 205, G_PI }, { 257, 770, 2 * G_PI } };
  TdDevice *device = td_test_open (id);
  const gboolean cpu_shaped = device->info.cpu_shaped;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Rows) rows = { N_ROWS, cases[i].n_views, cases[i].n_columns, cases[i].range };
    rows_init (&rows);
    rows_fill (&rows, i + 1);
    g_autofree float *expected
        = g_memdup2 (rows.offsets, N_ROWS * rows.n_columns * sizeof *rows.offsets);
    for (guint row = 0; row < N_ROWS; row++)
      rows_expect (&rows, row, expected + row * rows.n_columns);
    compare (&rows, device, expected);
    if (device->info.host_pointers || i > 0)
      continue;
    /* What GPUs run, where there is none; and devices without double precision. */
    device->info.cpu_shaped = FALSE;
    compare (&rows, device, expected);
    device->info.cpu_shaped = cpu_shaped;
    device->info.double_arithmetic = FALSE;
    compare (&rows, device, expected);
    device->info.double_arithmetic = TRUE;
  }
  td_test_close (device);
}

/* Which turns shade can be told from: whole halves, evenly. */
static void
test_turns (void)
{
  enum { VIEWS = 300 };
  double angles[VIEWS];
  static const struct {
    double range;
    guint half_turns;
  } turns[] = {
    { G_PI, 1 },        { -G_PI, 1 },      { 2 * G_PI, 2 },
    { 0.94 * G_PI, 0 }, { 1.5 * G_PI, 0 }, { 3 * G_PI, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (turns); i++) {
    for (guint v = 0; v < VIEWS; v++)
      angles[v] = 0.7 + turns[i].range * v / VIEWS;
    g_assert_cmpuint (td_rings_half_turns (angles, VIEWS), ==, turns[i].half_turns);
    angles[VIEWS / 2] += 0.1;
    g_assert_cmpuint (td_rings_half_turns (angles, VIEWS), ==, 0);
  }
  for (guint v = 0; v < 20; v++)
    angles[v] = G_PI * v / 20;
  g_assert_cmpuint (td_rings_half_turns (angles, 20), ==, 0);
  g_assert_cmpuint (td_rings_shade_bins (1), ==, 1);
  g_assert_cmpuint (td_rings_shade_bins (256), ==, 256);
  g_assert_cmpuint (td_rings_shade_bins (1800), ==, 225);
  /* Of as few views each as leave 256 at the most, but for the last one's rest. */
  for (guint v = 1; v < 3000; v++)
    g_assert_cmpuint (td_rings_shade_bins (v), ==, (guint) (v / ceil (v / 256.0) + 0.5));
}

/* In a row of air only shade is left. What a wave across columns adds is all found again. Nothing
   is found on an axis that is hardly seen, or in columns without offsets. */
static void
test_air (gconstpointer id)
{
  enum { COLUMNS = 150, VIEWS = 128 };
  g_auto (Rows) rows = { 1, VIEWS, COLUMNS, G_PI };
  TdDevice *device = td_test_open (id);
  double wave[COLUMNS], left = 0, all = 0, known = 0;

  rows_init (&rows);
  rows.masses[0] = rows.axes[0] = (TdRingsAxis) { 72.4, 1, 0 };
  for (guint c = 0; c < COLUMNS; c++) {
    wave[c] = 0.004 * sin (c / 7.0);
    rows.sums[c] = 1e3; /* no air */
    for (guint v = 0; v < VIEWS; v++)
      rows.data[v * COLUMNS + c] = (c % 2 ? 0.02f : -0.02f) + (float) wave[c];
  }
  g_autofree float *nothing = rows_run (&rows, device, 0, 1);
  g_assert_cmpmem (nothing, COLUMNS * sizeof *nothing, rows.offsets, COLUMNS * sizeof *nothing);
  for (guint c = 0; c < COLUMNS; c++)
    rows.offsets[c] = c % 2 ? 0.02f : -0.02f;
  g_autofree float *found = rows_run (&rows, device, 0, 1);
  for (guint c = 20; c < COLUMNS - 20; c++) {
    left += pow (found[c] - rows.offsets[c] - wave[c], 2);
    all += pow (wave[c], 2);
  }
  g_test_message ("%.2f of the shade is left", sqrt (left / all));
  g_assert_cmpfloat (sqrt (left / all), <=, 0.3);
  /* Where the ends of the row are air, all of it shows. */
  for (guint c = 0; c < COLUMNS; c++)
    rows.sums[c] = fabs (c - 74.5) > 30 ? VIEWS * (rows.offsets[c] + (float) wave[c]) : 1e3f;
  g_autofree float *by_air = rows_run (&rows, device, 0, 1);
  for (guint c = 0; c < 24; c++)
    known = MAX (known, fabs (by_air[c] - rows.offsets[c] - wave[c]));
  g_test_message ("%.5f of it at most is left in air", known);
  g_assert_cmpfloat (known, <=, 1e-3);
  rows.axes[0].axis = 1;
  g_autofree float *beside = rows_run (&rows, device, 0, 1);
  g_assert_cmpmem (beside, COLUMNS * sizeof *beside, rows.offsets, COLUMNS * sizeof *beside);
  td_test_close (device);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = { { "truth", test_truth }, { "air", test_air } };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rings-shade/turns", test_turns);
  td_test_each_device ("/rings-shade", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
