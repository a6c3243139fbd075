/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "intensity-reference.h"

#include <math.h>
#include <string.h>

#include "dataset/sort.h"

static double
value_of (const TdStep *step, const char *name)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);

  for (guint i = 0; i < kind->n_parameters; i++)
    if (strcmp (kind->parameters[i].name, name) == 0)
      return step->values[i];
  g_error ("%s has no parameter %s", step->name, name);
}

static gsize
at (const TdFrames *f, guint row, guint view, guint column)
{
  return ((gsize) row * f->n_views + view) * f->n_columns + column;
}

static double
median (double *values, guint n)
{
  qsort (values, n, sizeof *values, td_compare_doubles);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ── Bad pixels ── */

void
td_reference_bad_pixels (const TdFrames *f, const TdStep *step, double *data)
{
  int reach = (int) value_of (step, "reach");
  gsize n = (gsize) f->n_rows * f->n_views * f->n_columns;
  g_autofree double *raw = g_memdup2 (data, n * sizeof *data);
  static const int directions[4][2] = { { 0, -1 }, { 0, 1 }, { -1, 0 }, { 1, 0 } };

  for (int r = 0; r < (int) f->n_rows; r++)
    for (int c = 0; c < (int) f->n_columns; c++)
      for (guint v = 0; v < f->n_views && f->mask[r * (int) f->n_columns + c]; v++) {
        double sum = 0, weights = 0;
        for (guint d = 0; d < 4; d++)
          for (int k = 1; directions[d][0] == 0 || k <= reach; k++) {
            int y = r + k * directions[d][0], x = c + k * directions[d][1];
            if (y < 0 || x < 0 || y >= (int) f->n_rows || x >= (int) f->n_columns)
              break;
            if (f->mask[y * (int) f->n_columns + x])
              continue;
            sum += raw[at (f, y, v, x)] / (k * k);
            weights += 1.0 / (k * k);
            break;
          }
        if (weights > 0)
          data[at (f, r, v, c)] = sum / weights;
      }
}

/* ── Zingers ── */

static int
reflect (int i, int n)
{
  while (n > 1 && (i < 0 || i >= n))
    i = i < 0 ? -i : 2 * (n - 1) - i;
  return n > 1 ? i : 0;
}

static gboolean
stands_out (double value, double middle, double limit, guint kind)
{
  double away = kind == 0 ? value - middle : kind == 1 ? middle - value : fabs (value - middle);

  return away > limit;
}

void
td_reference_zingers (const TdFrames *f, const TdStep *step, double *data)
{
  int radius = value_of (step, "size") > 0 ? 2 : 1;
  gsize n = (gsize) f->n_rows * f->n_views * f->n_columns;
  g_autofree double *raw = g_memdup2 (data, n * sizeof *data);

  for (guint r = 0; r < f->n_rows; r++)
    for (guint v = 0; v < f->n_views; v++)
      for (guint c = 0; c < f->n_columns; c++) {
        double window[25];
        guint k = 0;
        for (int y = -radius; y <= radius; y++)
          for (int x = -radius; x <= radius; x++)
            window[k++] = raw[at (f, reflect ((int) r + y, f->n_rows), v,
                                  reflect ((int) c + x, f->n_columns))];
        double middle = median (window, k);
        double limit = MAX (value_of (step, "threshold") * fabs (middle), value_of (step, "least"));
        if (stands_out (raw[at (f, r, v, c)], middle, limit, (guint) value_of (step, "kind")))
          data[at (f, r, v, c)] = middle;
      }
}

void
td_reference_zingers_angle (const TdFrames *f, const TdStep *step, double *data)
{
  int radius = 1 + (int) value_of (step, "size");
  guint kind = (guint) value_of (step, "kind");
  gsize n = (gsize) f->n_rows * f->n_views * f->n_columns;
  g_autofree double *raw = g_memdup2 (data, n * sizeof *data);

  for (guint r = 0; r < f->n_rows; r++)
    for (guint v = 0; v < f->n_views; v++)
      for (guint c = 0; c < f->n_columns; c++) {
        double window[9];
        guint k = 0;
        for (int y = -radius; y <= radius; y++)
          window[k++] = raw[at (f, r, reflect ((int) v + y, f->n_views), c)];
        double middle = median (window, k);
        /* A bright sample has a small line integral. */
        if (stands_out (raw[at (f, r, v, c)], middle, value_of (step, "threshold"),
                        kind == 0   ? 1
                        : kind == 1 ? 0
                                    : 2))
          data[at (f, r, v, c)] = middle;
      }
}

/* ── Flat field ── */

/* Flats or darks, and where each was taken. */
typedef struct {
  const float *frames;
  guint n;
  const double *positions;
} Group;

/* Of the frames whose position is @position (NAN: all). */
static double
average (const TdFrames *f, const Group *group, double position, guint row, guint column,
         gboolean use_median)
{
  const guint n = group->n;
  g_autofree double *values = g_new (double, MAX (n, 1));
  double sum = 0;
  guint k = 0;

  for (guint i = 0; i < n; i++)
    if (isnan (position) || group->positions[i] == position) {
      values[k] = group->frames[((gsize) i * f->n_rows + row) * f->n_columns + column];
      sum += values[k++];
    }
  if (k == 0)
    return 0;
  return use_median ? median (values, k) : sum / k;
}

/* The moment of a view, or of what was taken before view @position: in views, or in radians turned.
 */
static double
moment (const TdFrames *f, double position, gboolean by_angle)
{
  double turned = 0;
  guint v = 0;

  if (!by_angle || f->n_views < 2)
    return position;
  position -= 0.5;
  for (; v + 2 < f->n_views && position >= v + 1; v++)
    turned += fabs (f->angles_rad[v + 1] - f->angles_rad[v]);
  return turned + (position - v) * fabs (f->angles_rad[v + 1] - f->angles_rad[v]);
}

static double
flat_at (const TdFrames *f, const TdStep *step, guint row, guint view, guint column)
{
  const Group flats = { f->flats, f->n_flats, f->flat_positions };
  gboolean use_median = value_of (step, "average") > 0;
  double drift = value_of (step, "drift"), before = NAN, after = NAN;

  if (drift == 0 || !f->flat_positions)
    return average (f, &flats, NAN, row, column, use_median);
  for (guint i = 0; i < f->n_flats; i++) {
    double p = f->flat_positions[i];
    if (moment (f, p, drift == 2) <= moment (f, view + 0.5, drift == 2))
      before = isnan (before) ? p : MAX (before, p);
    else
      after = isnan (after) ? p : MIN (after, p);
  }
  if (isnan (before) || isnan (after))
    return average (f, &flats, isnan (before) ? after : before, row, column, use_median);
  double from = moment (f, before, drift == 2), to = moment (f, after, drift == 2);
  double w = (moment (f, view + 0.5, drift == 2) - from) / (to - from);
  return (1 - w) * average (f, &flats, before, row, column, use_median)
         + w * average (f, &flats, after, row, column, use_median);
}

void
td_reference_flat_field (const TdFrames *f, const TdStep *step, double *data)
{
  const Group darks = { f->darks, f->n_darks, NULL };
  const gboolean use_median = value_of (step, "average") > 0;
  double white = value_of (step, "white");

  for (guint r = 0; r < f->n_rows; r++)
    for (guint c = 0; c < f->n_columns; c++) {
      double dark = average (f, &darks, NAN, r, c, use_median);
      for (guint v = 0; v < f->n_views; v++) {
        double flat = white > 0 ? white : flat_at (f, step, r, v, c);
        data[at (f, r, v, c)] = (data[at (f, r, v, c)] - dark) / (flat - dark);
      }
    }
}

/* ── Dose ── */

/* Mean of what lies within four robust deviations of the median. */
static double
clipped_mean (double *values, guint n)
{
  g_autofree double *away = g_new (double, n);
  double middle = median (values, n), sum = 0;
  guint k = 0;

  for (guint i = 0; i < n; i++)
    away[i] = fabs (values[i] - middle);
  double limit = 4 * 1.4826 * median (away, n);
  for (guint i = 0; i < n; i++)
    if (fabs (values[i] - middle) <= limit) {
      sum += values[i];
      k++;
    }
  return sum / k;
}

static void
dose_of_rows (const TdFrames *f, guint width, double *data)
{
  for (guint r = 0; r < f->n_rows; r++)
    for (guint v = 0; v < f->n_views; v++) {
      double left = 0, right = 0;
      for (guint i = 0; i < width; i++) {
        left += data[at (f, r, v, i)] / width;
        right += data[at (f, r, v, f->n_columns - 1 - i)] / width;
      }
      left = left > 0 ? left : 1;
      right = right > 0 ? right : 1;
      for (guint c = 0; c < f->n_columns; c++)
        data[at (f, r, v, c)] /= left + (right - left) * c / MAX (f->n_columns - 1, 1);
    }
}

/* For frames that are air all over, and few enough rows that all of them are asked. */
void
td_reference_dose (const TdFrames *f, const TdStep *step, double *data)
{
  guint air = (guint) value_of (step, "air");
  guint width = CLAMP ((guint) value_of (step, "columns"), 1, MAX (f->n_columns / 2, 1));
  guint x = (guint) value_of (step, "x"), y = (guint) value_of (step, "y");
  guint w = (guint) value_of (step, "width"), h = (guint) value_of (step, "height");
  g_autofree double *values = g_new (double, (gsize) f->n_rows * 2 * f->n_columns);

  if (air == 1) {
    dose_of_rows (f, width, data);
    return;
  }
  for (guint v = 0; v < f->n_views; v++) {
    guint n = 0;
    for (guint r = 0; r < f->n_rows; r++)
      if (air == 0)
        for (guint i = 0; i < width; i++) {
          values[n++] = data[at (f, r, v, i)];
          values[n++] = data[at (f, r, v, f->n_columns - width + i)];
        }
      else if (r >= y && r < y + h)
        for (guint i = 0; i < w; i++)
          values[n++] = data[at (f, r, v, x + i)];
    double dose = clipped_mean (values, n);
    for (guint r = 0; r < f->n_rows; r++)
      for (guint c = 0; c < f->n_columns; c++)
        data[at (f, r, v, c)] /= dose > 0 ? dose : 1;
  }
}

/* ── The others ── */

void
td_reference_double_flat (const TdFrames *f, const TdStep *step, double *data)
{
  double width = value_of (step, "width");
  int radius = (int) ceil (4 * width), n = (int) f->n_columns;
  g_autofree double *mean = g_new (double, n), *smooth = g_new (double, n);

  for (guint r = 0; r < f->n_rows; r++) {
    for (int c = 0; c < n; c++) {
      mean[c] = 0;
      for (guint v = 0; v < f->n_views; v++)
        mean[c] += data[at (f, r, v, c)] / f->n_views;
    }
    for (int c = 0; c < n; c++) {
      double sum = 0, weights = 0;
      for (int k = -radius; k <= radius; k++) {
        int x = c + k;
        while (x < 0 || x >= n)
          x = x < 0 ? -1 - x : 2 * n - 1 - x;
        double weight = exp (-0.5 * k * k / (width * width));
        sum += weight * mean[x];
        weights += weight;
      }
      smooth[c] = sum / weights;
    }
    for (guint v = 0; v < f->n_views; v++)
      for (int c = 0; c < n; c++)
        data[at (f, r, v, c)] *= mean[c] > 0 ? smooth[c] / mean[c] : 1;
  }
}

void
td_reference_minus_log (const TdFrames *f, const TdStep *step, double *data)
{
  for (gsize i = 0; i < (gsize) f->n_rows * f->n_views * f->n_columns; i++)
    data[i] = -log (MAX (data[i], value_of (step, "floor")));
}

void
td_reference_beam_hardening (const TdFrames *f, const TdStep *step, double *data)
{
  for (gsize i = 0; i < (gsize) f->n_rows * f->n_views * f->n_columns; i++) {
    double p = data[i], sum = 0;
    for (guint k = 0; k < 5; k++)
      sum += step->values[k] * pow (p, k + 1);
    data[i] = sum;
  }
}
