/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the lab measures and shows, counted again here. Ring correlation goes by its formula; curves
   and the table are of a result that is made up. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "compute/lab/lab-report.h"
#include "lab-series.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define CLOSE(a, b) g_assert_cmpfloat_with_epsilon (a, b, 1e-9)

/* ── Fourier ring correlation ── */

/* The middle square without its mean, cut to a circle whose edge falls off over a tenth. */
static void
cut_circle (const float *picture, guint nx, guint ny, double *out)
{
  const guint n = MIN (nx, ny);
  double sum = 0, weights = 0;

  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < n * n; i++) {
      const double x = i % n - (n - 1) / 2.0, y = i / n - (n - 1) / 2.0;
      const double r = hypot (x, y) / (n / 2.0);
      const double weight = r >= 1 ? 0 : r > 0.9 ? 0.5 + 0.5 * cos (G_PI * (r - 0.9) / 0.1) : 1;
      const double value = picture[(i / n + (ny - n) / 2) * nx + i % n + (nx - n) / 2];
      if (pass)
        out[i] = isfinite (value) ? weight * (value - sum / weights) : 0;
      else if (isfinite (value)) {
        sum += weight * value;
        weights += weight;
      }
    }
}

static double complex
frequency_of (const double *plane, guint n, int fx, int fy)
{
  double complex sum = 0;

  for (guint i = 0; i < n * n; i++)
    sum += plane[i] * cexp (-2 * G_PI * I * (fx * (double) (i % n) + fy * (double) (i / n)) / n);
  return sum;
}

/* Where the curve first falls below the threshold, and is below at the next ring as well. */
static double
resolution_of (const TdLabFrc *frc, const double *threshold)
{
  for (guint r = 1; r < frc->n; r++) {
    const double above = frc->correlation[r - 1] - threshold[r - 1];
    const double below = threshold[r] - frc->correlation[r];
    if (below <= 0 || (r + 1 < frc->n && frc->correlation[r + 1] >= threshold[r + 1]))
      continue;
    const double at = (r - 1 + (above > 0 ? above / (above + below) : 0)) / frc->side;
    return 1 / MAX (at, 1.0 / frc->side);
  }
  return 0;
}

/* (transfer full) */
static TdLabFrc *
check_frc_of (const float *a, const float *b, guint nx, guint ny)
{
  const guint n = MIN (nx, ny), rings = n / 2 + 1;
  const int half = (int) n / 2;
  g_autofree double *planes = g_new (double, 2 * n * n), *sevenths = g_new (double, rings);
  g_autofree double *sums = g_new0 (double, 3 * rings), *counts = g_new0 (double, rings);

  TdLabFrc *frc = td_lab_frc_new (a, b, nx, ny);
  cut_circle (a, nx, ny, planes);
  cut_circle (b, nx, ny, planes + n * n);
  for (int fy = half - (int) n + 1; fy <= half; fy++)
    for (int fx = half - (int) n + 1; fx <= half; fx++) {
      const guint ring = (guint) floor (hypot (fx, fy) + 0.5);
      if (ring >= rings)
        continue;
      const double complex f = frequency_of (planes, n, fx, fy);
      const double complex g = frequency_of (planes + n * n, n, fx, fy);
      counts[ring]++;
      sums[3 * ring] += creal (f * conj (g));
      sums[3 * ring + 1] += pow (cabs (f), 2);
      sums[3 * ring + 2] += pow (cabs (g), 2);
    }
  g_assert_cmpuint (frc->side, ==, n);
  g_assert_cmpuint (frc->n, ==, rings);
  for (guint r = 0; r < rings; r++) {
    const double m = sqrt (MAX (counts[r] / 2, 1)); /* ring 0 is one frequency */
    CLOSE (frc->frequency[r], (double) r / n);
    CLOSE (frc->half_bit[r], (0.2071 + 1.9102 / m) / (1.2071 + 0.9102 / m));
    const double power = sqrt (sums[3 * r + 1] * sums[3 * r + 2]);
    CLOSE (frc->correlation[r], r == 0 ? 1 : power > 0 ? sums[3 * r] / power : 0);
    sevenths[r] = 1.0 / 7;
  }
  td_test_pin ("%u x %u: half bit %.3f, 1/7 %.3f", nx, ny, frc->half_bit_px, frc->seventh_px);
  CLOSE (frc->half_bit_px, resolution_of (frc, frc->half_bit));
  CLOSE (frc->seventh_px, resolution_of (frc, sevenths));
  return frc;
}

static void
check_frc (guint nx, guint ny, double noise, guint seed)
{
  g_autofree float *pictures = g_new (float, 3 * nx * ny);
  float *a = pictures, *b = pictures + nx * ny;

  td_test_random (pictures, 3 * nx * ny, seed);
  for (guint i = 0; i < nx * ny; i++) { /* smooth, and noise of either picture's own */
    const double both = 2 * cos (0.5 * (i % nx) + 0.2 * (i / nx)) + cos (0.9 * (i / nx)) + 3;
    a[i] = (float) (both + noise * a[i]);
    b[i] = (float) (both + noise * b[i]);
  }
  a[5 * nx + 7] = NAN;
  td_lab_frc_unref (check_frc_of (a, b, nx, ny));
}

/* Pictures with nothing in common from the first ring on, with all, and with nothing in them. */
static void
test_frc_ends (void)
{
  enum { N = 16, ALL = N * N };
  g_autofree float *noise = g_new (float, 2 * ALL), *flat = g_new (float, 2 * ALL);

  td_test_random (noise, 2 * ALL, 31);
  for (guint i = 0; i < ALL; i++) {
    flat[i] = 0;
    flat[ALL + i] = NAN;
  }
  g_autoptr (TdLabFrc) apart = check_frc_of (noise, noise + ALL, N, N);
  CLOSE (apart->half_bit_px, N); /* no better than the first ring */
  g_autoptr (TdLabFrc) same = check_frc_of (noise, noise, N, N);
  for (guint r = 0; r < same->n; r++)
    CLOSE (same->correlation[r], 1);
  g_assert_true (same->half_bit_px == 0 && same->seventh_px == 0);
  const float *const nothing[] = { flat, flat + ALL };
  for (guint i = 0; i < 4; i++) {
    const float *a = i < 2 ? nothing[i] : noise, *b = i < 2 ? noise : nothing[i - 2];
    g_autoptr (TdLabFrc) none = check_frc_of (a, b, N, N);
    g_assert_true (none->correlation[1] == 0 && none->half_bit_px == N && none->seventh_px > 0);
  }
  g_assert_null (td_lab_frc_new (noise, noise, N, N - 1));
  /* The first two rings are below, and those behind them are not: the first one counts. */
  for (guint i = 0; i < ALL; i++) {
    const double wave = 1.2 * cos (2 * G_PI * 4.5 / N * (i % N));
    flat[i] = (float) (noise[i] + wave);
    flat[ALL + i] = (float) (noise[ALL + i] + wave);
  }
  g_autoptr (TdLabFrc) late = check_frc_of (flat, flat + ALL, N, N);
  g_assert_true (late->correlation[2] < late->half_bit[2]
                 && late->correlation[3] > late->half_bit[3]);
  CLOSE (late->half_bit_px, N);
}

static void
test_frc (void)
{
  check_frc (16, 16, 1, 1);
  check_frc (19, 24, 2, 2);
  check_frc (25, 18, 0.1, 3);
  for (guint seed = 4; seed < 16; seed++) /* curves that dip and rise again */
    check_frc (22, 22, 0.5 * seed, seed);
}

/* ── Lines and axes ── */

/* The line lies within the circle that fits into the picture. What is busy outside of it does not
   count. */
static void
test_busiest (void)
{
  static const struct {
    guint nx, ny;
    gint place; /* of the row, -1 - place of the column */
    TdLabLine line;
  } cases[] = {
    { 30, 30, 14, { 0, 14, 29, 14 } },  { 30, 30, 3, { 5, 3, 24, 3 } },
    { 30, 30, -4, { 3, 5, 3, 24 } },    { 40, 20, 9, { 10, 9, 29, 9 } },
    { 40, 20, -13, { 12, 3, 12, 16 } }, { 20, 40, 12, { 3, 12, 16, 12 } },
    { 21, 21, -11, { 10, 0, 10, 20 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint nx = cases[i].nx, ny = cases[i].ny;
    const gboolean down = cases[i].place < 0;
    const guint place = (guint) (down ? -1 - cases[i].place : cases[i].place);
    g_autofree float *plane = g_new0 (float, nx *ny);
    for (guint k = 0; k < (down ? ny : nx); k++)
      plane[down ? k * nx + place : place * nx + k] = (float) (k / 3 % 2);
    for (guint k = 0; k < nx; k++) /* beyond the circle */
      plane[k] += 100.0f * (k < 4 && k % 2);
    const TdLabLine line = td_lab_busiest_line (plane, nx, ny);
    td_test_pin ("%u: %g %g … %g %g", i, line.x0, line.y0, line.x1, line.y1);
    CLOSE (line.x0, cases[i].line.x0);
    CLOSE (line.y0, cases[i].line.y0);
    CLOSE (line.x1, cases[i].line.x1);
    CLOSE (line.y1, cases[i].line.y1);
  }
}

typedef struct {
  double low, high, first, step;
  guint n;
} Ticks;

/* The ends of the axes show every sample, the first and the last of each series among them. */
static void
test_ends (void)
{
  static const double values[][3] = { { -4, 1, 2 }, { 1, 2, 9 }, { 3, -7, 5 } };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    g_autoptr (TdLabPlot) plot = td_lab_plot_new ("", "", "");
    TdLabSeries *series = td_lab_plot_add (plot, "", 0, 3);
    double low = INFINITY, high = -INFINITY;
    for (guint k = 0; k < 3; k++) {
      series->x[k] = series->y[k] = values[i][k];
      low = fmin (low, values[i][k]);
      high = fmax (high, values[i][k]);
    }
    td_lab_plot_fit (plot);
    g_assert_true (plot->x0 <= low && plot->y0 <= low && plot->x1 >= high && plot->y1 >= high);
    g_assert_cmpfloat (plot->x1 - plot->x0, <, 1.5 * (high - low));
    g_assert_cmpfloat (plot->y1 - plot->y0, <, 1.5 * (high - low));
  }
}

/* Ends of an axis by their rule. Logarithmic ones are whole decades, a little away from the values.
   Others are the least and the most value, with a margin of a 25th up and down. */
static void
check_fitted (const double *values, guint n, gboolean logarithmic, gboolean up, double low,
              double high)
{
  double least = INFINITY, most = -INFINITY;

  for (guint k = 0; k < n; k++)
    if (isfinite (values[k]) && (!logarithmic || values[k] > 0)) {
      least = fmin (least, values[k]);
      most = fmax (most, values[k]);
    }
  if (logarithmic) {
    least = isfinite (least) ? least : 0.1;
    most = isfinite (most) ? most : 1;
    CLOSE (low / pow (10, floor (log10 (least) - 0.05)), 1);
    CLOSE (high / pow (10, ceil (log10 (most) + 0.05)), 1);
    return;
  }
  least = isfinite (least) ? least : 0;
  most = isfinite (most) ? most : 1;
  const double margin = most > least ? (most - least) / 25 : MAX (fabs (most) / 10, 1e-13);
  const double size = MAX (fabs (most), fabs (least));
  g_assert_cmpfloat_with_epsilon (low, up ? least - margin : least, 1e-12 * size + 1e-16);
  if (!up && most == least) /* something that can be divided by */
    g_assert_cmpfloat_with_epsilon ((high - most) / MAX (size, 1), 1e-9, 1e-14);
  else
    g_assert_cmpfloat_with_epsilon (high, up ? most + margin : most, 1e-12 * size + 1e-16);
}

static void
test_fitted (void)
{
  static const double all[][4] = {
    { 1, 2, 3, 9 },       { -4, -1, 5, 0 },          { 7, 7, 7, 7 },
    { 0, 0, 0, 0 },       { NAN, 30, INFINITY, 20 }, { NAN, NAN, NAN, NAN },
    { 1, 10, 100, 1000 }, /* at a decade's edge: the next one is shown */
    { 1.2, 90, 0, -3 },   { 1.1, 88, NAN, 5 },       { 2e-9, 3e-7, 4e-8, 5e-9 },
    { -1, -2, 0, -3 },    { 1e5, 1e5, NAN, 1e5 },    { -20, -20, -20, -20 },
  };

  for (guint i = 0; i < 8 * G_N_ELEMENTS (all); i++) {
    g_autoptr (TdLabPlot) plot = td_lab_plot_new ("", "", "");
    const double *x = all[i / 8], *y = all[(i / 8 + 3) % G_N_ELEMENTS (all)];
    plot->x_log = i & 1;
    plot->y_log = i >> 1 & 1;
    const guint first = i & 4 ? 1 : 2; /* points of the first of two curves */
    for (guint s = 0; s < 2; s++) {
      const guint from = s ? first : 0, n = s ? 4 - first : first;
      TdLabSeries *series = td_lab_plot_add (plot, "", 0, n);
      memcpy (series->x, x + from, n * sizeof *x);
      memcpy (series->y, y + from, n * sizeof *y);
    }
    td_lab_plot_fit (plot);
    check_fitted (x, 4, plot->x_log, FALSE, plot->x0, plot->x1);
    check_fitted (y, 4, plot->y_log, TRUE, plot->y0, plot->y1);
  }
}

/* Of axes by chance. Ticks are all multiples of the step that lie within. The step is 1, 2 or 5 of
   a power of ten, and the one that is next to a fifth of the axis. */
static void
test_ticks_by_chance (void)
{
  float random[2 * 200];

  td_test_random (random, G_N_ELEMENTS (random), 12);
  for (guint i = 0; i < 200; i++) {
    double ticks[TD_LAB_MOST_TICKS], step = 0;
    const double low = 100.0 * random[2 * i], high = low + pow (10, 4.0 * random[2 * i + 1]);
    const guint n = td_lab_plot_ticks (low, high, FALSE, ticks);
    for (int e = -8; e < 5 && step == 0; e++)
      for (guint k = 0; k < 3 && step == 0; k++) {
        static const double sizes[] = { 1, 2, 5 }, ends[] = { 1.5, 3.5, 7.5 };
        if ((high - low) / 5 < ends[k] * pow (10, e))
          step = sizes[k] * pow (10, e);
      }
    const double first = ceil (low / step), last = floor (high / step);
    g_assert_cmpfloat (n, ==, last - first + 1);
    for (guint k = 0; k < n; k++)
      g_assert_cmpfloat_with_epsilon (ticks[k], (first + k) * step, 1e-9 * step);

    const double least = pow (10, 10.0 * random[2 * i]),
                 most = least * pow (10, 8 + 7.0 * random[2 * i + 1]);
    const guint decades = td_lab_plot_ticks (least, most, TRUE, ticks);
    const int begin = (int) ceil (log10 (least)), end = (int) floor (log10 (most));
    const int apart = end - begin >= 12 ? (end - begin) / 6 : 1; /* seven or so of many */
    g_assert_cmpint (decades, ==, end < begin ? 0 : (end - begin) / apart + 1);
    for (guint k = 0; k < decades; k++)
      CLOSE (ticks[k] / pow (10, begin + (int) k * apart), 1);
  }
}

/* Names stand right of the plot, under one another, beside a piece of their curve. The longest of
   them narrows it. */
static void
test_legend (void)
{
  static const struct {
    const char *names[2];
    double width; /* that they take */
  } cases[] = {
    { { "a", "bcde" }, 4 * 6.2 + 38 },
    { { "bcde", "äöü" }, 4 * 6.2 + 38 },
    { { "abcdefghijklmnopqrstuvwxyz", "" }, 26 * 6.2 + 38 },
    { { "", "abcdefghijklmnopqrstuvwxyz01" }, 170 + 38 },
    { { "a <b> & \"c\"", "\xff" }, 11 * 6.2 + 38 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdLabPlot) plot = td_lab_plot_new ("", "", "");
    TdLabPlot *plots[] = { plot, plot };
    plot->x1 = plot->y1 = 1;
    for (guint s = 0; s < 2; s++) {
      TdLabSeries *series = td_lab_plot_add (plot, cases[i].names[s], s ? 0xd55e00 : 0x72b2, 2);
      series->dashed = s;
      series->x[1] = series->y[1] = 1;
    }
    g_autofree char *svg = td_lab_plots_svg (plots, 2, 2, 600, 300);
    for (guint k = 0; k < 4; k++) {
      const double left = 600 * (k / 2) + 600 - 14 - cases[i].width + 10,
                   y = 26 + 12 + 15 * (k % 2);
      const char *style = k % 2 ? "#d55e00\" stroke-dasharray=\"5 4\"" : "#0072b2\"";
      g_autofree char *piece
          = g_strdup_printf ("<path class=\"curve\" stroke=\"%s d=\"M%.2f %.2fh18\"/>\n"
                             "<text x=\"%.1f\" y=\"%.1f\" >%s</text>\n",
                             style, left, y, left + 23, y + 4,
                             i == 4 ? k % 2 ? "\xef\xbf\xbd" : "a &lt;b&gt; &amp; &quot;c&quot;"
                                    : cases[i].names[k % 2]);
      g_assert_nonnull (strstr (svg, piece));
      g_autofree char *curve = g_strdup_printf (
          "<path class=\"curve\" stroke=\"%s d=\"M%.2f 258.00L%.2f 26.00\"/>", style,
          600.0 * (k / 2) + 74, 600.0 * (k / 2) + 600 - 14 - cases[i].width);
      g_assert_nonnull (strstr (svg, curve));
    }
  }
  /* The reference is black, each of nine variants has a colour of its own, and then they repeat. */
  g_assert_cmpuint (td_lab_plot_colour (-1), ==, 0);
  g_assert_cmpuint (td_lab_plot_colour (0), ==, 0x0072b2);
  for (int i = 0; i < 9; i++) {
    g_assert_cmpuint (td_lab_plot_colour (i), ==, td_lab_plot_colour (i + 9));
    for (int k = -1; k < i; k++)
      g_assert_cmpuint (td_lab_plot_colour (i), !=, td_lab_plot_colour (k));
  }
}

/* A drawing leaves out what has no place, and begins a curve anew behind it. The letters M and L of
   each curve tell, and its dots. */
static void
test_gaps (void)
{
  static const struct {
    double values[6];
    gboolean logarithmic, dots;
    const char *letters;
    guint circles;
  } cases[] = {
    { { 1, 2, 3, 4, 5, 6 }, FALSE, FALSE, "MLLLLL", 0 },
    { { 1, 2, NAN, 4, 5, 6 }, FALSE, FALSE, "MLMLL", 0 },
    { { NAN, 2, 3, INFINITY, 5, NAN }, FALSE, FALSE, "MLM", 0 },
    { { -1, 0, 3, -4, 5, 6 }, FALSE, FALSE, "MLLLLL", 0 },
    { { -1, 0, 3, -4, 5, 6 }, TRUE, FALSE, "MML", 0 },
    { { 1, 0, 3, NAN, 5, 6 }, TRUE, TRUE, "", 4 },
    { { 1, 0, 3, NAN, 5, 6 }, FALSE, TRUE, "", 5 },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const gboolean across = i % 2; /* what has no place is an x */
    g_autoptr (TdLabPlot) plot = td_lab_plot_new ("", "", "");
    TdLabPlot *plots[] = { plot };
    TdLabSeries *series = td_lab_plot_add (plot, "", 0, 6);
    g_autoptr (GString) letters = g_string_new (NULL);
    guint circles = 0;

    for (guint k = 0; k < 6; k++) {
      series->x[k] = across ? cases[i / 2].values[k] : k + 1;
      series->y[k] = across ? k + 1 : cases[i / 2].values[k];
    }
    *(across ? &plot->x_log : &plot->y_log) = cases[i / 2].logarithmic;
    series->dots = cases[i / 2].dots;
    td_lab_plot_fit (plot);
    g_autofree char *svg = td_lab_plots_svg (plots, 1, 1, 400, 300);
    g_assert_null (strstr (svg, "nan"));
    g_assert_null (strstr (svg, "inf"));
    for (const char *at = svg; (at = strstr (at, "<circle")); at++)
      circles++;
    const char *curve
        = strstr (strstr (svg, "class=\"curve\""), " d=\""); /* the legend's is last */
    for (curve += strlen (" d=\""); *curve != '"'; curve++)
      if (*curve == 'M' || *curve == 'L')
        g_string_append_c (letters, *curve);
    td_test_pin ("%u: %s, %u dots", i, letters->str, circles);
    g_assert_cmpuint (circles, ==, cases[i / 2].circles);
    if (!series->dots)
      g_assert_cmpstr (letters->str, ==, cases[i / 2].letters);
  }
}

/* Where a drawing puts what: what is above or below the axes is drawn at their ends. */
static void
test_places (void)
{
  for (guint dots = 0; dots < 2; dots++) {
    g_autoptr (TdLabPlot) plot = td_lab_plot_new ("Title", "Across", "Up");
    TdLabPlot *plots[] = { plot, plot, plot };
    TdLabSeries *series = td_lab_plot_add (plot, "", 0x102030, 3);

    for (guint k = 0; k < 3; k++) {
      series->x[k] = 5 * k;
      series->y[k] = k == 0 ? -1 : k == 1 ? 0.5 : 2;
    }
    series->dots = dots;
    plot->x1 = 10; /* from 0 */
    plot->y1 = 1;
    g_autofree char *svg = td_lab_plots_svg (plots, 3, 2, 400, 300);
    const char *const words[][3] = { { "d=\"M74.00 258.00L211.00 142.00L348.00 26.00\"",
                                       "d=\"M474.00 258.00L611.00 142.00L748.00 26.00\"",
                                       "d=\"M74.00 558.00L211.00 442.00L348.00 326.00\"" },
                                     { "cx=\"74.00\" cy=\"258.00\" fill=\"#102030\"",
                                       "cx=\"611.00\" cy=\"142.00\" fill=\"#102030\"",
                                       "cx=\"348.00\" cy=\"326.00\" fill=\"#102030\"" } };
    for (guint i = 0; i < 3; i++)
      g_assert_nonnull (strstr (svg, words[dots][i]));
    g_assert_nonnull (strstr (svg, "class=\"grid\" d=\"M74.00 26.00L74.00 258.00\""));
    g_assert_nonnull (strstr (svg, "class=\"grid\" d=\"M74.00 26.00L348.00 26.00\""));
    static const char *const drawn[]
        = { "<rect class=\"frame\" x=\"74.00\" y=\"26.00\" width=\"274.00\" height=\"232.00\"/>",
            "<text x=\"74.0\" y=\"272.0\" text-anchor=\"middle\">0</text>",
            "<text x=\"348.0\" y=\"272.0\" text-anchor=\"middle\">10</text>",
            "<text x=\"68.0\" y=\"262.0\" text-anchor=\"end\">0</text>",
            "<text x=\"68.0\" y=\"30.0\" text-anchor=\"end\">1</text>",
            "<text x=\"74.0\" y=\"17.0\" class=\"title\">Title</text>",
            "<text x=\"211.0\" y=\"289.0\" text-anchor=\"middle\">Across</text>",
            "<text x=\"16.0\" y=\"142.0\" text-anchor=\"middle\" "
            "transform=\"rotate(-90 16 142)\">Up</text>" };
    for (guint i = 0; i < G_N_ELEMENTS (drawn); i++)
      g_assert_nonnull (strstr (svg, drawn[i]));
    g_assert_nonnull (strstr (svg, "width=\"800\" height=\"600\" viewBox=\"0 0 800 600\""));
  }
}

/* Ticks are round, lie within the axis, and are some five: never none, never a dozen more. */
static void
test_ticks (void)
{
  static const Ticks linear[] = {
    { 0, 1, 0, 0.2, 6 },
    { 0, 7, 0, 1, 8 },
    { 0, 8, 0, 2, 5 },
    { -3, 14, -2, 2, 9 },
    { 0.12, 0.19, 0.12, 0.01, 8 },
    { 0, 37, 0, 5, 8 },
    { 0, 38, 0, 10, 4 },
    { 0, 17, 0, 2, 9 },
    { 0, 18, 0, 5, 4 },
    { 1e6, 3e6, 1e6, 5e5, 5 },
    { 0, 7.5, 0, 2, 4 }, /* between two steps the larger one is taken */
    { 0, 17.5, 0, 5, 4 },
    { 0, 37.5, 0, 10, 4 },
  };
  static const Ticks decades[] = {
    { 0.1, 10, 0.1, 10, 3 },
    { 1e-7, 1e-1, 1e-7, 10, 7 },
    { 1e-12, 1, 1e-12, 100, 7 },
    { 0.5, 2, 1, 10, 1 },
  };
  double ticks[TD_LAB_MOST_TICKS];

  for (guint i = 0; i < G_N_ELEMENTS (linear); i++) {
    const guint n = td_lab_plot_ticks (linear[i].low, linear[i].high, FALSE, ticks);
    g_assert_cmpuint (n, ==, linear[i].n);
    for (guint k = 0; k < n; k++)
      g_assert_cmpfloat_with_epsilon (ticks[k], linear[i].first + k * linear[i].step,
                                      1e-6 * linear[i].step);
  }
  for (guint i = 0; i < G_N_ELEMENTS (decades); i++) {
    const guint n = td_lab_plot_ticks (decades[i].low, decades[i].high, TRUE, ticks);
    g_assert_cmpuint (n, ==, decades[i].n);
    for (guint k = 0; k < n; k++)
      CLOSE (ticks[k] / (decades[i].first * pow (decades[i].step, k)), 1);
  }
  CLOSE (td_lab_plot_place (3, 1, 5, FALSE), 0.5);
  CLOSE (td_lab_plot_place (10, 1, 1000, TRUE), 1.0 / 3);
}

/* ── A result that is made up ── */

#define SIDE 20

typedef struct {
  TdLab *lab;
  TdLabResult result;
  TdLabOutcome outcomes[4]; /* of three variants; the reference's */
  float pixels[4][SIDE * SIDE];
  float halves[2][SIDE * SIDE];
} Made;

static void
made_init (Made *made)
{
  TdRecipe base;

  td_recipe_init (&base);
  *made = (Made) { .lab = td_lab_new (&base, 3) };
  g_assert_true (td_lab_add (made->lab, "first, of three: --filter hann", NULL));
  g_assert_true (td_lab_add (made->lab, "--filter parzen", NULL));
  g_assert_true (td_lab_add (made->lab, "", NULL));
  td_test_random (made->pixels[0], 4 * SIDE * SIDE, 8);
  td_test_random (made->halves[0], 2 * SIDE * SIDE, 9);
  made->result = (TdLabResult) { .n = 3,
                                 .against = -1,
                                 .noise = 0.25,
                                 .line = { 2, 3, 14, 12 },
                                 .reference = &made->outcomes[3],
                                 .budget_n = 1 };
  made->result.budget[0] = (TdLabBudgetRow) { "storage", "Storage", { .rms = 0.5, .max_abs = 2 } };
  for (guint i = 0; i < 4; i++) {
    TdLabOutcome *outcome = &made->outcomes[i];
    *outcome
        = (TdLabOutcome) { .nx = SIDE,
                           .ny = SIDE,
                           .pixels = made->pixels[i],
                           .units = "1/mm",
                           .method = "fbp",
                           .kernel = "standard",
                           .precision = "single",
                           .device = g_strdup ("host"),
                           .words = g_strdup ("a, \"b\""),
                           .first_s = 10 + i,
                           .warm_s = i == 1 ? NAN : 1 + i,
                           .updates_per_s = (2 + i) * 1e9,
                           .host_bytes = i == 2 ? 0 : 100 + i,
                           .device_bytes = i == 1 ? 0 : 200 + i,
                           .compared = i < 2,
                           .difference = { 0.01 * (1 + i), 0.02, 0.03, 60 + i, 400 },
                           .arithmetic = 1e-6 * (1 + i),
                           .bound = 2e-6,
                           .noise = 0.3,
                           .frc = td_lab_frc_new (made->halves[0], made->halves[1], SIDE, SIDE) };
    if (i < 3)
      made->result.outcomes[i] = outcome;
  }
  made->outcomes[0].frc->half_bit_px = 2.5;
  made->outcomes[0].frc->seventh_px = 0; /* the curve stays above */
  g_clear_pointer (&made->outcomes[2].frc, td_lab_frc_unref);
}

static void
made_clear (Made *made)
{
  for (guint i = 0; i < 4; i++) {
    td_lab_frc_unref (made->outcomes[i].frc);
    g_free (made->outcomes[i].device);
    g_free (made->outcomes[i].words);
  }
  td_lab_free (made->lab);
}

static void
check_along (const Made *made, const TdLabSeries *series, guint index, gboolean differs)
{
  const TdLabLine *line = &made->result.line;
  const guint n = 16; /* 15 pixels */
  double values[16], against[16];

  g_assert_cmpuint (td_lab_profile_length (line), ==, n);
  g_assert_cmpuint (series->n, ==, n);
  td_lab_profile (made->pixels[index], SIDE, SIDE, line, n, values);
  td_lab_profile (made->pixels[3], SIDE, SIDE, line, n, against);
  for (guint i = 0; i < n; i++) {
    CLOSE (series->x[i], i);
    CLOSE (series->y[i], differs ? fabs (values[i] - against[i]) : values[i]);
  }
}

static void
check_level (const TdLabSeries *series, double end, double level)
{
  g_assert_true (series->dashed);
  g_assert_cmpuint (series->n, ==, 2);
  CLOSE (series->x[0], 0);
  CLOSE (series->x[1], end);
  CLOSE (series->y[0], level);
  CLOSE (series->y[1], level);
}

static void
test_plots (void)
{
  Made made;

  made_init (&made);
  const char *const names[] = { "first, of three", "--filter parzen", "base" };
  g_autoptr (TdLabPlot) profile = td_lab_plot_profile (made.lab, &made.result);
  g_autoptr (TdLabPlot) differences = td_lab_plot_differences (made.lab, &made.result);
  g_autoptr (TdLabPlot) frc = td_lab_plot_frc (made.lab, &made.result);
  g_autoptr (TdLabPlot) scatter = td_lab_plot_scatter (made.lab, &made.result);
  g_assert_cmpuint (profile->series->len, ==, 4);
  g_assert_cmpuint (differences->series->len, ==, 3); /* two are compared, and the noise */
  g_assert_cmpuint (frc->series->len, ==, 4);
  g_assert_cmpuint (scatter->series->len, ==, 3);
  g_assert_true (!profile->y_log && differences->y_log && !frc->y_log && scatter->y_log);
  for (guint i = 0; i < 3; i++) {
    const char *name = ((TdLabVariant *) made.lab->variants->pdata[i])->name;
    const TdLabSeries *dot = test_lab_series (scatter, name);
    td_test_pin ("%s", name);
    g_assert_true (i == 2 || g_str_equal (name, names[i]));
    check_along (&made, test_lab_series (profile, name), i, FALSE);
    g_assert_cmpint (test_lab_series (differences, name) != NULL, ==, i < 2);
    if (i < 2) {
      const TdLabSeries *curve = test_lab_series (frc, name);
      check_along (&made, test_lab_series (differences, name), i, TRUE);
      const TdLabFrc *of = made.outcomes[i].frc;
      const gsize bytes = of->n * sizeof (double);
      g_assert_cmpmem (curve->x, curve->n * sizeof (double), of->frequency, bytes);
      g_assert_cmpmem (curve->y, curve->n * sizeof (double), of->correlation, bytes);
    }
    g_assert_true (dot->dots && dot->n == 1);
    /* The second was not run warm: no first time stands among warm ones. */
    g_assert_true (i == 0 ? fabs (dot->x[0] - 1) < 1e-9 : isnan (dot->x[0]));
    g_assert_true (i < 2 ? fabs (dot->y[0] - 0.01 * (1 + i)) < 1e-9 : isnan (dot->y[0]));
  }
  g_assert_cmpstr (scatter->x_title, ==, "seconds, warm");
  /* One that was run warm is enough, whichever it is. */
  for (guint warm = 0; warm < 3; warm++) {
    const double kept = made.outcomes[2 - warm].warm_s;
    made.outcomes[2 - warm].warm_s = NAN;
    g_autoptr (TdLabPlot) one = td_lab_plot_scatter (made.lab, &made.result);
    g_assert_cmpstr (one->x_title, ==, "seconds, warm");
    made.outcomes[2 - warm].warm_s = kept;
  }
  made.outcomes[0].warm_s = made.outcomes[2].warm_s = NAN;
  g_autoptr (TdLabPlot) early = td_lab_plot_scatter (made.lab, &made.result);
  g_assert_cmpstr (early->x_title, ==, "seconds, first run");
  CLOSE (test_lab_series (early, names[0])->x[0], 10);
  CLOSE (test_lab_series (early, names[1])->x[0], 11);
  check_level (test_lab_series (differences, "the data's noise"), 15, 0.25);
  check_level (test_lab_series (frc, "1/7"), 0.5, 1.0 / 7);
  const TdLabSeries *half_bit = test_lab_series (frc, "half bit");
  g_assert_true (half_bit->dashed);
  g_assert_cmpmem (half_bit->x, half_bit->n * sizeof (double), made.outcomes[0].frc->frequency,
                   made.outcomes[0].frc->n * sizeof (double));
  g_assert_cmpmem (half_bit->y, half_bit->n * sizeof (double), made.outcomes[0].frc->half_bit,
                   made.outcomes[0].frc->n * sizeof (double));
  made.result.against = 0; /* a variant is not compared with itself; its own noise is unknown */
  made.result.noise = NAN;
  g_autoptr (TdLabPlot) others = td_lab_plot_differences (made.lab, &made.result);
  g_assert_cmpuint (others->series->len, ==, 1);
  made_clear (&made);
}

/* Errors over noise and bound are known where both are, and where pictures were compared. */
static void
test_shares (void)
{
  Made made;

  made_init (&made);
  static const double sizes[] = { NAN, 0, 1e-3, 2 };
  for (guint i = 0; i < 3 * G_N_ELEMENTS (sizes); i++) {
    const guint variant = i / G_N_ELEMENTS (sizes);
    const double size = made.result.noise = made.outcomes[variant].bound
        = sizes[i % G_N_ELEMENTS (sizes)];
    const double in_noise = td_lab_in_noise (&made.result, variant),
                 in_bound = td_lab_in_bound (&made.result, variant);
    g_assert_cmpint (isnan (in_noise), ==, variant == 2 || !(size > 0));
    g_assert_cmpint (isnan (in_bound), ==, !(size > 0));
    if (!isnan (in_noise))
      CLOSE (in_noise * size, 0.01 * (1 + variant));
    if (!isnan (in_bound))
      CLOSE (in_bound * size, 1e-6 * (1 + variant));
  }
  for (int against = -2; against < 3; against++) {
    made.result.against = against;
    g_assert_true (td_lab_against (&made.result)
                   == (against == -2 ? NULL : &made.outcomes[against < 0 ? 3 : against]));
  }
  made.result.outcomes[1] = NULL; /* not made yet */
  g_assert_true (isnan (td_lab_in_noise (&made.result, 1)));
  g_assert_true (isnan (td_lab_in_bound (&made.result, 1)));
  made_clear (&made);
}

/* The table, by its columns' names; "": an empty cell. */
static void
test_table (void)
{
  static const struct {
    const char *column, *cells[5]; /* of three variants, the reference and the budget */
  } wanted[] = {
    { "variant",
      { "\"first, of three\"", "--filter parzen", NULL, "\"reference, double\"", "storage" } },
    { "options", { "--filter hann", "--filter parzen", "", "", "" } },
    { "remark", { "", "", "", "", "budget" } },
    { "device", { "host", "host", "host", "host", "" } },
    { "kernel", { "standard", "standard", "standard", "standard", "" } },
    { "kernel_words", { "\"a, \"\"b\"\"\"", NULL, NULL, NULL, "" } },
    { "precision", { "single", "single", "single", "single", "" } },
    { "first_s", { "10", "11", "12", "13", "" } },
    { "warm_s", { "1", "", "3", "4", "" } },
    { "gups", { "2", "3", "4", "5", "" } },
    { "host_bytes", { "100", "101", "", "103", "" } },
    { "device_bytes", { "200", "", "202", "203", "" } },
    { "rms", { "0.01", "0.02", "", "", "0.5" } },
    { "relative_rms", { "0.02", "0.02", "", "", "0" } },
    { "largest", { "0.03", "0.03", "", "", "2" } },
    { "psnr_db", { "60", "61", "", "", "0" } },
    { "rms_in_noise", { "0.04", "0.08", "", "", "2" } },
    { "bound", { "2e-06", "2e-06", "2e-06", "2e-06", "" } },
    { "noise", { "0.3", "0.3", "0.3", "0.3", "" } },
    { "resolution_half_bit_px", { "2.5", NULL, "", NULL, "" } },
    { "resolution_seventh_px", { "", NULL, "", NULL, "" } },
    { "units", { "1/mm", "1/mm", "1/mm", "1/mm", "" } },
  };
  Made made;

  made_init (&made);
  g_autofree char *csv = td_lab_csv (made.lab, &made.result);
  g_auto (GStrv) lines = g_strsplit (csv, "\r\n", -1);
  g_auto (GStrv) columns = g_strsplit (lines[0], ",", -1);
  g_autoptr (GRegex) cell = g_regex_new ("(\"(?:[^\"]|\"\")*\"|[^,]*)(,|$)", 0, 0, NULL);

  g_assert_cmpuint (g_strv_length (lines), ==, 7);
  for (guint row = 0; row < 5; row++) {
    g_autoptr (GMatchInfo) match = NULL;
    td_test_pin ("%s", lines[row + 1]);
    g_regex_match (cell, lines[row + 1], 0, &match);
    for (guint c = 0; columns[c]; c++, g_match_info_next (match, NULL)) {
      g_autofree char *text = g_match_info_fetch (match, 1);
      for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
        if (g_str_equal (wanted[i].column, columns[c]) && wanted[i].cells[row])
          g_assert_cmpstr (text, ==, wanted[i].cells[row]);
    }
  }
  made_clear (&made);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lab-report/frc", test_frc);
  g_test_add_func ("/lab-report/frc-ends", test_frc_ends);
  g_test_add_func ("/lab-report/busiest", test_busiest);
  g_test_add_func ("/lab-report/ticks", test_ticks);
  g_test_add_func ("/lab-report/ends", test_ends);
  g_test_add_func ("/lab-report/fitted", test_fitted);
  g_test_add_func ("/lab-report/ticks-by-chance", test_ticks_by_chance);
  g_test_add_func ("/lab-report/legend", test_legend);
  g_test_add_func ("/lab-report/gaps", test_gaps);
  g_test_add_func ("/lab-report/places", test_places);
  g_test_add_func ("/lab-report/plots", test_plots);
  g_test_add_func ("/lab-report/shares", test_shares);
  g_test_add_func ("/lab-report/table", test_table);
  return g_test_run ();
}
