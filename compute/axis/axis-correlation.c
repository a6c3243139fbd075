/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "axis-likeness.h"
#include "axis-pairs.h"
#include "axis-search.h"
#include "axis-spectrum.h"
#include "compute/device/host-fft.h"

/**
 * Correlation of views half a turn apart, one of them mirrored: it peaks at twice the centre. All
 * pairs of a full turn are correlated together.
 *
 * A scan of just under half a turn has no exact pair. Then the method takes pairs that miss half a
 * turn by a few steps. Each pair's centre is off by the missing angle times a slope, in columns a
 * radian. The slope depends on how far along the beam the sample lies. The centre is the value at a
 * missing angle of 0.
 *
 * A phase correlation (Kuglin and Hines, 1975) gives each frequency the same weight and amplifies
 * noise. Here rows are whitened only where they exceed the noise (td_axis_whiten()). The energy in
 * the columns that the two views have in common divides the correlation. So a centre far from the
 * middle has the same chance:
 *
 *   M (c) = sum a (u) b (2c - u) / sqrt (sum a (u)^2 sum b (u)^2)
 *
 * with sums over pairs and over the columns u of either that the other one has too.
 */

/* The steepest slope, in columns a radian for each column of the detector, and how many are tried.
 */
#define MOST_SLOPE 0.3
#define SLOPE_STEPS 30
#define SAME_RAD 1e-6 /* between angles that pairs miss */
/* Errors of the centre, in columns: of a few pairs, and of the value at an angle that was not
   measured. */
#define FEW_SPREAD_PX 0.025
#define SLOPE_SPREAD_PX 0.07
#define FEW_PAIRS 8
/* A match less certain than so many columns is none. */
#define VAGUE_PX 0.2
/* So many pairs tell what stands still from the sample. */
#define STILL_PAIRS 16
/* At most so many pairs are compared to parts of a pixel; more do not improve the centre. */
#define MOST_PAIRS 720

typedef struct {
  double off_rad;
  double *cross;        /* spectrum of the convolution, interleaved, bins 0 … length / 2 */
  double *left, *right; /* energy in columns 0 … u, of either */
  double *product;      /* the convolution at whole places 0 … 2 n - 2 */
} Group;

typedef struct {
  const TdAxisInput *input;
  float *rows;    /* whitened, [view][column] */
  GArray *pairs;  /* TdAxisPair */
  guint length;   /* of the spectra */
  GArray *groups; /* Group */
} Correlation;

/* ── Groups of pairs ── */

static void
group_clear (gpointer data)
{
  Group *group = data;

  g_free (group->cross);
  g_free (group->left);
  g_free (group->right);
  g_free (group->product);
}

static Group *
find_group (Correlation *self, double off_rad)
{
  guint n = self->input->n_columns;

  for (guint i = 0; i < self->groups->len; i++) {
    Group *group = &g_array_index (self->groups, Group, i);
    if (fabs (group->off_rad - off_rad) < SAME_RAD)
      return group;
  }
  Group group = { off_rad, g_new0 (double, self->length + 2), g_new0 (double, n),
                  g_new0 (double, n), g_new0 (double, 2 * n - 1) };
  g_array_append_val (self->groups, group);
  return &g_array_index (self->groups, Group, self->groups->len - 1);
}

static void
axis_correlation_add_pair (Correlation *self, const TdAxisSpectrum *spectrum,
                           const TdAxisPair *pair)
{
  Group *group = find_group (self, pair->off_rad);
  guint n = self->input->n_columns;
  const float *a = td_axis_spectrum_bins (spectrum, pair->view);
  const float *b0 = td_axis_spectrum_bins (spectrum, pair->below);
  const float *b1 = td_axis_spectrum_bins (spectrum, pair->above);
  const float *row_a = self->rows + (gsize) pair->view * n;
  const float *row_b0 = self->rows + (gsize) pair->below * n;
  const float *row_b1 = self->rows + (gsize) pair->above * n;
  double w1 = pair->share, w0 = 1 - w1;

  for (guint i = 0; i <= self->length; i += 2) {
    double re = w0 * b0[i] + w1 * b1[i], im = w0 * b0[i + 1] + w1 * b1[i + 1];
    group->cross[i] += a[i] * re - a[i + 1] * im;
    group->cross[i + 1] += a[i] * im + a[i + 1] * re;
  }
  for (guint u = 0; u < n; u++) {
    double b = w0 * row_b0[u] + w1 * row_b1[u];
    group->left[u] += (double) row_a[u] * row_a[u];
    group->right[u] += b * b;
  }
}

/* The convolution at whole places, by the inverse transform of its spectrum: that is the forward
   transform read backwards. */
static gboolean
find_product (const Correlation *self, Group *group)
{
  const guint n = self->length, half = n / 2, places = 2 * self->input->n_columns - 1;
  fftwf_plan plan = td_fftw_plan (n);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  const gboolean ok = plan && from && to;

  if (ok) {
    memset (from, 0, n * sizeof *from);
    from[0][0] = (float) group->cross[0];
    for (guint i = 1; i < half; i++) {
      from[i][0] = from[n - i][0] = (float) group->cross[2 * i];
      from[i][1] = (float) group->cross[2 * i + 1];
      from[n - i][1] = -from[i][1];
    }
    fftwf_execute_dft (plan, from, to);
    for (guint k = 0; k < places; k++)
      group->product[k] = to[k ? n - k : 0][0] / (double) n;
  }
  fftwf_free (from);
  fftwf_free (to);
  td_fftw_plan_free (plan);
  return ok;
}

static double
energy_at (const Group *group, guint n, double place)
{
  guint k = (guint) CLAMP (floor (place + 0.5), 0, 2.0 * n - 2);
  guint first = k < n ? 0 : k - n + 1, last = MIN (k, n - 1);
  double left = group->left[last] - (first ? group->left[first - 1] : 0);
  double right = group->right[last] - (first ? group->right[first - 1] : 0);

  return sqrt (MAX (left, 0) * MAX (right, 0));
}

static gboolean
no_memory (const Correlation *self, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                       "There is no memory to correlate %u views of %u columns",
                       self->input->n_views, self->input->n_columns);
}

static gboolean
make_groups (Correlation *self, GError **error)
{
  const TdAxisInput *input = self->input;
  guint n = input->n_columns;

  self->rows = td_axis_whiten (input->sinogram, input->n_views, n);
  g_autoptr (TdAxisSpectrum) spectrum
      = self->rows ? td_axis_spectrum_new (self->rows, input->n_views, n, FALSE) : NULL;

  if (!spectrum)
    return no_memory (self, error);
  self->length = td_axis_spectrum_length (spectrum);
  for (guint i = 0; i < self->pairs->len; i++) {
    if (g_cancellable_set_error_if_cancelled (input->cancellable, error))
      return FALSE;
    axis_correlation_add_pair (self, spectrum, &g_array_index (self->pairs, TdAxisPair, i));
  }
  for (guint g = 0; g < self->groups->len; g++) {
    Group *group = &g_array_index (self->groups, Group, g);
    for (guint u = 1; u < n; u++) {
      group->left[u] += group->left[u - 1];
      group->right[u] += group->right[u - 1];
    }
    if (!find_product (self, group))
      return no_memory (self, error);
  }
  return TRUE;
}

/* ── The search ── */

/* M at a centre, for a slope, at the nearest half column. */
static double
axis_correlation_merit (const Correlation *self, double centre, double slope_px)
{
  guint n = self->input->n_columns;
  double product = 0, energy = 0, whole = 0;

  for (guint g = 0; g < self->groups->len; g++) {
    const Group *group = &g_array_index (self->groups, Group, g);
    double place = 2 * centre + slope_px * group->off_rad;
    double most = sqrt (group->left[n - 1] * group->right[n - 1]);
    if (place < 0 || place > 2.0 * n - 2)
      continue;
    product += group->product[(guint) (place + 0.5)];
    energy += energy_at (group, n, place);
    whole += most;
  }
  /* Views that have almost no columns in common are no evidence, however similar. */
  return energy > 0 ? product / MAX (energy, 0.02 * whole) : 0;
}

static gboolean
axis_correlation_misses (const Correlation *self)
{
  return g_array_index (self->groups, Group, 0).off_rad != 0;
}

/* The best slope at each half column. */
static void
scan_range (const Correlation *self, TdAxisCurve *curve, double *slope_of)
{
  double most = MOST_SLOPE * self->input->n_columns;
  gint steps = axis_correlation_misses (self) ? SLOPE_STEPS : 0;

  for (guint i = 0; i < curve->n; i++) {
    double centre = curve->first_px + i * curve->step_px;
    curve->merit[i] = -INFINITY;
    for (gint l = -steps; l <= steps; l++) {
      double slope_px = steps ? most * l / steps : 0,
             here = axis_correlation_merit (self, centre, slope_px);
      if (here > curve->merit[i]) {
        curve->merit[i] = here;
        slope_of[i] = slope_px;
      }
    }
  }
}

static GArray *
some_pairs (const Correlation *self)
{
  GArray *some = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
  guint n = MIN (self->pairs->len, MOST_PAIRS);

  for (guint i = 0; i < n; i++)
    g_array_append_val (
        some, g_array_index (self->pairs, TdAxisPair, (guint64) i * self->pairs->len / n));
  return some;
}

/* To parts of a pixel. */
static gboolean
axis_correlation_refine (const Correlation *self, double slope_px, TdAxisEstimate *estimate,
                         GError **error)
{
  const TdAxisInput *input = self->input;
  g_autofree double *response
      = td_axis_response (input->sinogram, input->n_views, input->n_columns);
  g_autoptr (GArray) pairs = some_pairs (self);
  g_autoptr (TdAxisLikeness) likeness
      = response ? td_axis_likeness_new (input->sinogram, input->n_columns, pairs, response) : NULL;
  const double first_off_rad = g_array_index (self->pairs, TdAxisPair, 0).off_rad;
  TdAxisMatch match
      = { .centre_px = estimate->centre_px, .drift_px = slope_px * first_off_rad / 2 };

  if (!likeness)
    return td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                         "There is no memory to compare %u views of %u columns", input->n_views,
                         input->n_columns);
  if (!td_axis_likeness_climb (likeness, &match, input->cancellable, error))
    return FALSE;
  estimate->centre_px = match.centre_px;
  estimate->spread_px = match.spread_px;
  if (axis_correlation_misses (self))
    estimate->spread_px = hypot (estimate->spread_px, SLOPE_SPREAD_PX);
  else if (self->pairs->len < FEW_PAIRS)
    estimate->spread_px = hypot (estimate->spread_px, FEW_SPREAD_PX);
  /* What is left of a sample that looks the same from everywhere is noise, which has a best centre
     too. */
  if (match.top < 0.05 || !(match.spread_px < VAGUE_PX)) {
    estimate->confidence = 0;
    estimate->reason = "views half a turn apart do not resemble each other";
  }
  return TRUE;
}

static gboolean
axis_correlation_search (const Correlation *self, TdAxisEstimate *estimate, GError **error)
{
  double first = MAX (ceil (2 * self->input->first_px) / 2, 0);
  double last = MIN (floor (2 * self->input->last_px) / 2, self->input->n_columns - 1.0);
  TdAxisCurve curve = { first, 0.5, last >= first ? (guint) (2 * (last - first)) + 1 : 0, NULL };

  if (curve.n < 3) {
    estimate->reason = "the range searched is too narrow";
    return TRUE;
  }
  g_autofree double *values = g_new (double, curve.n);
  g_autofree double *slope_of = g_new0 (double, curve.n);
  curve.merit = values;
  scan_range (self, &curve, slope_of);
  if (!td_axis_curve_peak (&curve, estimate))
    return TRUE;
  guint at = (guint) floor ((estimate->centre_px - curve.first_px) / curve.step_px + 0.5);
  estimate->centre_px = curve.first_px + at * curve.step_px;
  return axis_correlation_refine (self, slope_of[at], estimate, error);
}

/* A copy of the sinogram without what stands still in the paired views. NULL: no memory. */
static float *
moving_part (const TdAxisInput *input, const GArray *pairs)
{
  g_autofree gboolean *paired = g_new0 (gboolean, input->n_views);
  const gsize n = (gsize) input->n_views * input->n_columns;
  float *rows = g_try_new (float, n);

  if (!rows)
    return NULL;
  memcpy (rows, input->sinogram, n * sizeof *rows);
  for (guint i = 0; i < pairs->len; i++) {
    const TdAxisPair *pair = &g_array_index (pairs, TdAxisPair, i);
    paired[pair->view] = paired[pair->below] = paired[pair->above] = TRUE;
  }
  td_axis_remove_mean (rows, input->n_views, input->n_columns, paired);
  return rows;
}

/* Pairs that all miss half a turn by one angle do not tell the slope. Then any centre near the true
   one fits as well. */
static gboolean
tell_centre (const GArray *pairs)
{
  const double first = pairs->len ? g_array_index (pairs, TdAxisPair, 0).off_rad : 0;

  for (guint i = 1; i < pairs->len; i++)
    if (fabs (g_array_index (pairs, TdAxisPair, i).off_rad - first) >= SAME_RAD)
      return TRUE;
  return pairs->len > 0 && first == 0;
}

static gboolean
axis_correlation_find (const TdAxisInput *given, TdAxisEstimate *estimate, GError **error)
{
  g_autoptr (GArray) pairs = td_axis_pairs (given->angles_rad, given->n_views);
  TdAxisInput input = *given;
  g_autofree float *moving = NULL;
  Correlation self
      = { .input = &input, .pairs = pairs, .groups = g_array_new (FALSE, FALSE, sizeof (Group)) };
  gboolean done = TRUE;

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  if (pairs->len >= STILL_PAIRS && g_array_index (pairs, TdAxisPair, 0).off_rad == 0)
    input.sinogram = moving = moving_part (given, pairs);
  g_array_set_clear_func (self.groups, group_clear);
  if (!tell_centre (pairs))
    estimate->reason = "no two views are half a turn apart";
  else if (!input.sinogram)
    done = no_memory (&self, error);
  else
    done = make_groups (&self, error) && axis_correlation_search (&self, estimate, error);
  g_array_unref (self.groups);
  g_free (self.rows);
  return done;
}

static const char *
axis_correlation_unsuited (const double *angles_rad, guint n_views, guint n_columns)
{
  g_autoptr (GArray) pairs = td_axis_pairs (angles_rad, n_views);

  if (n_columns < 8)
    return N_ ("the detector has too few columns");
  return tell_centre (pairs) ? NULL : N_ ("no two views are half a turn apart");
}

const TdAxisMethodKind td_axis_correlation = {
  .name = N_ ("correlation"),
  .title = N_ ("Correlation of opposite views"),
  .unsuited = axis_correlation_unsuited,
  .find = axis_correlation_find,
};
