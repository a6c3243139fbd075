/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-plot.h"

#include <math.h>

enum { LEFT = 74, RIGHT = 14, TOP = 26, BOTTOM = 42, LEGEND_LINE = 15, TITLE_SIZE = 13, SIZE = 11 };

TdLabPlot *
td_lab_plot_new (const char *title, const char *x_title, const char *y_title)
{
  TdLabPlot *plot = g_new0 (TdLabPlot, 1);

  g_atomic_ref_count_init (&plot->references);
  plot->title = g_strdup (title);
  plot->x_title = g_strdup (x_title);
  plot->y_title = g_strdup (y_title);
  plot->series = g_ptr_array_new ();
  return plot;
}

TdLabPlot *
td_lab_plot_ref (TdLabPlot *plot)
{
  g_atomic_ref_count_inc (&plot->references);
  return plot;
}

void
td_lab_plot_unref (TdLabPlot *plot)
{
  if (!plot || !g_atomic_ref_count_dec (&plot->references))
    return;
  for (guint i = 0; i < plot->series->len; i++) {
    TdLabSeries *series = plot->series->pdata[i];
    g_free (series->name);
    g_free (series->x);
    g_free (series->y);
    g_free (series);
  }
  g_ptr_array_unref (plot->series);
  g_free (plot->title);
  g_free (plot->x_title);
  g_free (plot->y_title);
  g_free (plot);
}

TdLabSeries *
td_lab_plot_add (TdLabPlot *plot, const char *name, guint32 colour, guint n)
{
  TdLabSeries *series = g_new0 (TdLabSeries, 1);

  series->name = g_strdup (name);
  series->colour = colour;
  series->n = n;
  series->x = g_new0 (double, n);
  series->y = g_new0 (double, n);
  g_ptr_array_add (plot->series, series);
  return series;
}

guint32
td_lab_plot_colour (int index)
{
  static const guint32 colours[] = { 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00,
                                     0x56b4e9, 0x7f4fc9, 0x8c564b, 0x808000 };

  return index < 0 ? 0x000000 : colours[index % G_N_ELEMENTS (colours)];
}

TdLabSeries *
td_lab_plot_add_profile (TdLabPlot *plot, const char *name, int index, const TdLabPicture *picture,
                         const TdLabLine *line)
{
  const guint n = td_lab_profile_length (line);
  const double length = hypot (line->x1 - line->x0, line->y1 - line->y0);
  TdLabSeries *series = td_lab_plot_add (plot, name, td_lab_plot_colour (index), n);

  td_lab_profile (picture->pixels, picture->nx, picture->ny, line, n, series->y);
  for (guint i = 0; i < n; i++)
    series->x[i] = length * i / (n - 1);
  return series;
}

void
td_lab_series_differ (TdLabSeries *series, const TdLabPicture *picture, const TdLabLine *line)
{
  g_autofree double *values = g_new (double, series->n);

  if (picture->pixels)
    td_lab_profile (picture->pixels, picture->nx, picture->ny, line, series->n, values);
  for (guint i = 0; i < series->n; i++)
    series->y[i] = picture->pixels ? fabs (series->y[i] - values[i]) : NAN;
}

static gboolean
lab_plot_shows (double value, gboolean logarithmic)
{
  return isfinite (value) && (!logarithmic || value > 0);
}

/* Finds the ends of one axis, that of x or that of y. */
static void
lab_plot_fit_axis (TdLabPlot *plot, gboolean y, double *low, double *high)
{
  const gboolean logarithmic = y ? plot->y_log : plot->x_log;

  *low = INFINITY;
  *high = -INFINITY;
  for (guint s = 0; s < plot->series->len; s++) {
    const TdLabSeries *series = plot->series->pdata[s];
    const double *values = y ? series->y : series->x;
    for (guint i = 0; i < series->n; i++)
      if (lab_plot_shows (values[i], logarithmic)) {
        *low = fmin (*low, values[i]);
        *high = fmax (*high, values[i]);
      }
  }
  if (!(*low <= *high)) {
    *low = logarithmic ? 0.1 : 0;
    *high = 1;
  }
  if (logarithmic) {
    *low = pow (10, floor (log10 (*low) - 0.05));
    *high = pow (10, ceil (log10 (*high) + 0.05));
  } else {
    const double margin = *high > *low ? 0.04 * (*high - *low) : fmax (fabs (*high), 1e-12) * 0.1;
    *low -= y ? margin : 0;
    *high += y ? margin : 0;
    if (*high <= *low)
      *high = *low + fmax (fabs (*low), 1) * 1e-9;
  }
}

void
td_lab_plot_fit (TdLabPlot *plot)
{
  lab_plot_fit_axis (plot, FALSE, &plot->x0, &plot->x1);
  lab_plot_fit_axis (plot, TRUE, &plot->y0, &plot->y1);
}

double
td_lab_plot_place (double value, double low, double high, gboolean logarithmic)
{
  if (logarithmic)
    return log (value / low) / log (high / low);
  return (value - low) / (high - low);
}

guint
td_lab_plot_ticks (double low, double high, gboolean logarithmic, double ticks[TD_LAB_MOST_TICKS])
{
  guint n = 0;

  if (logarithmic) {
    const int first = (int) ceil (log10 (low) - 1e-9), last = (int) floor (log10 (high) + 1e-9);
    const int step = MAX ((last - first) / 6, 1);
    for (int e = first; e <= last && n < TD_LAB_MOST_TICKS; e += step)
      ticks[n++] = pow (10, e);
    return n;
  }
  const double rough = (high - low) / 5, power = pow (10, floor (log10 (rough)));
  const double step = power
                      * (rough / power < 1.5   ? 1
                         : rough / power < 3.5 ? 2
                         : rough / power < 7.5 ? 5
                                               : 10);
  const double first = ceil (low / step - 1e-9);
  for (guint i = 0; n < TD_LAB_MOST_TICKS && (first + i) * step <= high + 1e-9 * step; i++)
    ticks[n++] = (first + i) * step;
  return n;
}

/* ── SVG ── */

static void
lab_plot_text (GString *out, double x, double y, const char *attributes, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *escaped = g_markup_escape_text (valid, -1);
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, "<text x=\"%s\" y=\"%s\" %s>%s</text>\n",
                          g_ascii_formatd (a, sizeof a, "%.1f", x),
                          g_ascii_formatd (b, sizeof b, "%.1f", y), attributes, escaped);
}

/* A point of the plot, within the box of the whole figure. */
typedef struct {
  double left, top, width, height; /* of the area that the axes enclose */
} Box;

static double
lab_plot_x (const TdLabPlot *plot, const Box *box, double x)
{
  return box->left + box->width * td_lab_plot_place (x, plot->x0, plot->x1, plot->x_log);
}

static double
lab_plot_y (const TdLabPlot *plot, const Box *box, double y)
{
  return box->top + box->height * (1 - td_lab_plot_place (y, plot->y0, plot->y1, plot->y_log));
}

/* "BEFORE a BETWEEN b AFTER" */
static void
lab_plot_append (GString *out, const char *before, double a, const char *between, double b,
                 const char *after)
{
  char x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (out, before);
  g_string_append (out, g_ascii_formatd (x, sizeof x, "%.2f", a));
  g_string_append (out, between);
  g_string_append (out, g_ascii_formatd (y, sizeof y, "%.2f", b));
  g_string_append (out, after);
}

static void
lab_plot_svg_axes (GString *out, const TdLabPlot *plot, const Box *box)
{
  double ticks[TD_LAB_MOST_TICKS];
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  guint n = td_lab_plot_ticks (plot->x0, plot->x1, plot->x_log, ticks);
  for (guint i = 0; i < n; i++) {
    const double x = lab_plot_x (plot, box, ticks[i]);
    lab_plot_append (out, "<path class=\"grid\" d=\"M", x, " ", box->top, "");
    lab_plot_append (out, "L", x, " ", box->top + box->height, "\"/>\n");
    lab_plot_text (out, x, box->top + box->height + 14, "text-anchor=\"middle\"",
                   g_ascii_formatd (text, sizeof text, "%.6g", ticks[i]));
  }
  n = td_lab_plot_ticks (plot->y0, plot->y1, plot->y_log, ticks);
  for (guint i = 0; i < n; i++) {
    const double y = lab_plot_y (plot, box, ticks[i]);
    lab_plot_append (out, "<path class=\"grid\" d=\"M", box->left, " ", y, "");
    lab_plot_append (out, "L", box->left + box->width, " ", y, "\"/>\n");
    lab_plot_text (out, box->left - 6, y + 4, "text-anchor=\"end\"",
                   g_ascii_formatd (text, sizeof text, "%.4g", ticks[i]));
  }
  lab_plot_append (out, "<rect class=\"frame\" x=\"", box->left, "\" y=\"", box->top, "\"");
  lab_plot_append (out, " width=\"", box->width, "\" height=\"", box->height, "\"/>\n");
  lab_plot_text (out, box->left, box->top - 9, "class=\"title\"", plot->title);
  lab_plot_text (out, box->left + box->width / 2, box->top + box->height + 31,
                 "text-anchor=\"middle\"", plot->x_title);
  const double middle = box->top + box->height / 2;
  g_autofree char *turned = g_strdup_printf (
      "text-anchor=\"middle\" transform=\"rotate(-90 %d %d)\"", (int) box->left - 58, (int) middle);
  lab_plot_text (out, (int) box->left - 58, (int) middle, turned, plot->y_title);
}

static void
lab_plot_svg_series (GString *out, const TdLabPlot *plot, const Box *box, const TdLabSeries *series)
{
  gboolean down = FALSE;

  if (!series->dots)
    g_string_append_printf (out, "<path class=\"curve\" stroke=\"#%06x\"%s d=\"", series->colour,
                            series->dashed ? " stroke-dasharray=\"5 4\"" : "");
  for (guint i = 0; i < series->n; i++) {
    if (!lab_plot_shows (series->x[i], plot->x_log)
        || !lab_plot_shows (series->y[i], plot->y_log)) {
      down = FALSE;
      continue;
    }
    const double x = lab_plot_x (plot, box, series->x[i]);
    const double y = CLAMP (lab_plot_y (plot, box, series->y[i]), box->top, box->top + box->height);
    if (series->dots) {
      lab_plot_append (out, "<circle r=\"4\" cx=\"", x, "\" cy=\"", y, "\"");
      g_string_append_printf (out, " fill=\"#%06x\"/>\n", series->colour);
    } else {
      lab_plot_append (out, down ? "L" : "M", x, " ", y, "");
      down = TRUE;
    }
  }
  if (!series->dots)
    g_string_append (out, "\"/>\n");
}

/* What the names take, right of the plot. */
static double
lab_plot_legend_width (const TdLabPlot *plot)
{
  glong longest = 0;

  for (guint s = 0; s < plot->series->len; s++) {
    const TdLabSeries *series = plot->series->pdata[s];
    longest = MAX (longest, g_utf8_strlen (series->name, -1));
  }
  return MIN (6.2 * (double) longest, 170) + 38;
}

static void
lab_plot_svg_legend (GString *out, const TdLabPlot *plot, const Box *box)
{
  const double left = box->left + box->width + 10;

  for (guint s = 0; s < plot->series->len; s++) {
    const TdLabSeries *series = plot->series->pdata[s];
    const double y = box->top + 12 + LEGEND_LINE * s;
    g_string_append_printf (out, "<path class=\"curve\" stroke=\"#%06x\"%s", series->colour,
                            series->dashed ? " stroke-dasharray=\"5 4\"" : "");
    lab_plot_append (out, " d=\"M", left, " ", y, "h18\"/>\n");
    lab_plot_text (out, left + 23, y + 4, "", series->name);
  }
}

char *
td_lab_plots_svg (TdLabPlot *const *plots, guint n, guint columns, guint width, guint height)
{
  const guint lines = (n + columns - 1) / columns;
  GString *out = g_string_new (NULL);

  g_string_append_printf (
      out,
      "<svg id=\"tomodesk\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
      "viewBox=\"0 0 %u %u\">\n"
      "<style>text{font:%dpx sans-serif;fill:#222}.title{font:bold %dpx sans-serif}"
      ".grid{stroke:#ddd;fill:none}.frame{stroke:#444;fill:none}"
      ".curve{fill:none;stroke-width:1.3;stroke-linejoin:round}</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      columns * width, lines * height, columns * width, lines * height, SIZE, TITLE_SIZE);
  for (guint i = 0; i < n; i++) {
    const Box box = {
      .left = (i % columns) * width + LEFT,
      .top = (i / columns) * height + TOP,
      .width = (double) width - LEFT - RIGHT - lab_plot_legend_width (plots[i]),
      .height = (double) height - TOP - BOTTOM,
    };
    lab_plot_svg_axes (out, plots[i], &box);
    for (guint s = 0; s < plots[i]->series->len; s++)
      lab_plot_svg_series (out, plots[i], &box, plots[i]->series->pdata[s]);
    lab_plot_svg_legend (out, plots[i], &box);
  }
  g_string_append (out, "</svg>\n");
  return g_string_free (out, FALSE);
}
