/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "error.h"
#include "sample.h"
#include "scan-private.h"

/* Rules for what samples look like, where neither the user nor the file says what they are.
 *
 * Some views (of sinograms: some rows) are averaged over rows and views. `low` and `high` are the
 * means of the outer sixteenths of this profile over the columns. `peak` and `floor` are its
 * largest and smallest column, smoothed. `nil` is the share of samples at or below 0 in the lower
 * side. In this order:
 *
 * 0. floor below -4 times what peak is above 0, and high in the upper half between them:
 *    logarithms without their minus, which are refused. Air is highest there. An offset alone has
 *    less than a tenth of itself between floor and peak.
 * 1. peak ≤ 0, or high ≤ peak / 2: attenuations. Both sides see air, where logarithms are near 0 in
 *    any unit, and transmissions are highest.
 * 2. nil ≥ 1/10 and low ≤ peak / 4: attenuations. One side sees air (half acquisition, an object
 * that touches the edge), with values that no transmission has.
 * 3. peak ≤ 1.25, and 0.8 ≤ high, within 5 % of peak: transmissions. At least one side sees air,
 *    which lets everything through.
 * 4. low ≥ 0.7 peak and floor ≤ 0.75 low: intensities. An object fills the field, or the values are
 *    counts; the sides are brighter than some column between them.
 * 5. Anything else is refused, and the user states it.
 *
 * Floats may have been scaled since a description stated their open beam. Where peak is below a
 * hundredth of it (TdScanFacts.white_level), it is left out with a note.
 *
 * Integers are counts, and never attenuations unless they are below 0 in air: a camera's corners
 * may be dark too. Without flats the step flat-field refuses counts, of integers and, by
 * TdScanFacts.brightest, of floats.
 */

#define LEAST_COLUMNS 16u
#define MOST_IMAGES 5u
#define MOST_BYTES ((gsize) 64 << 20) /* looked at: opening is quick and small */

/* What the rules decide by. */
typedef struct {
  double low, high, peak, floor, nil;
} Profile;

/* By column: sums of what is finite, how much that is, and how much of it is at or below 0. */
typedef struct {
  double *sums;
  guint *counts, *nils;
} Columns;

static void
columns_add (Columns *columns, const float *line, gsize width)
{
  for (gsize x = 0; x < width; x++)
    if (isfinite (line[x])) {
      columns->sums[x] += line[x];
      columns->counts[x]++;
      columns->nils[x] += line[x] <= 0;
    }
}

/* The view nearest to @view that is not missing. */
static guint
view_there (const TdScanFacts *facts, guint view)
{
  for (guint away = 0; facts->absent && away < facts->n_views; away++) {
    if (view + away < facts->n_views && !facts->absent[view + away])
      return view + away;
    if (away <= view && !facts->absent[view - away])
      return view - away;
  }
  return view;
}

/* How many of @n lines from view @view on are of views that are not missing, or, if @absent, are.
 */
static guint
views_alike (const TdScanFacts *facts, guint view, guint n, gboolean absent)
{
  guint alike = 0;

  while (alike < n && (facts->absent && facts->absent[view + alike]) == absent)
    alike++;
  return alike;
}

/* Lines of @image, a view's or a row's, from the middle of it. */
static gboolean
columns_read (Columns *columns, TdScan *scan, guint image, guint n_lines, GCancellable *cancellable,
              GError **error)
{
  const TdScanFacts *facts = &scan->facts;
  const gsize width = facts->n_columns;
  const gboolean rows = facts->sinogram_order;
  const guint first = ((rows ? facts->n_views : facts->n_rows) - n_lines) / 2;
  g_autofree float *lines = g_try_new (float, n_lines *width);

  if (!lines)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "“%s”: there is no memory to look at its values", facts->path);
  for (guint done = 0, n; done < n_lines; done += n) {
    done += rows ? views_alike (facts, first + done, n_lines - done, TRUE) : 0;
    n = rows ? views_alike (facts, first + done, n_lines - done, FALSE) : n_lines;
    const TdFrameRange range = {
      .kind = TD_FRAME_PROJECTION,
      .first = rows ? first + done : view_there (facts, image),
      .count = rows ? n : 1,
      .row0 = rows ? image : first,
      .n_rows = rows ? 1 : n,
    };
    if (!(rows ? td_scan_read_sinograms (scan, &range, lines, cancellable, error)
               : td_scan_read (scan, &range, lines, cancellable, error)))
      return FALSE;
    for (guint i = 0; i < n; i++)
      columns_add (columns, lines + i * width, width);
  }
  return TRUE;
}

/* The mean of columns [from, from + n); NAN: nothing is known of them. */
static double
columns_mean (const Columns *columns, gsize from, gsize n)
{
  double sum = 0;
  guint64 count = 0;

  for (gsize x = from; x < from + n; x++) {
    sum += columns->sums[x];
    count += columns->counts[x];
  }
  return count ? sum / count : NAN;
}

static double
columns_nil (const Columns *columns, gsize from, gsize n)
{
  guint64 nils = 0, count = 0;

  for (gsize x = from; x < from + n; x++) {
    nils += columns->nils[x];
    count += columns->counts[x];
  }
  return count ? (double) nils / count : 0;
}

static Profile
profile_of_columns (const Columns *columns, gsize width)
{
  const gsize side = MAX (width / 16, 1), window = MAX (width / 32, 1);
  const double left = columns_mean (columns, 0, side),
               right = columns_mean (columns, width - side, side);
  const gboolean left_lower = !(left > right);
  Profile profile = { .peak = -INFINITY, .floor = INFINITY };

  profile.low = fmin (left, right);
  profile.high = fmax (left, right);
  profile.nil = columns_nil (columns, left_lower ? 0 : width - side, side);
  for (gsize x = 0; x + window <= width; x++) {
    const double mean = columns_mean (columns, x, window);

    profile.peak = fmax (profile.peak, mean);
    profile.floor = fmin (profile.floor, mean);
  }
  return profile;
}

static gboolean
profile_read (TdScan *scan, Profile *profile, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = &scan->facts;
  const gsize width = facts->n_columns;
  const guint all_lines = facts->sinogram_order ? facts->n_views : facts->n_rows;
  const guint all_images = facts->sinogram_order ? facts->n_rows : facts->n_views;
  const guint n_images = MIN (MOST_IMAGES, all_images);
  const guint n_lines
      = (guint) CLAMP (MOST_BYTES / n_images / (width * sizeof (float)), 1, all_lines);
  g_autofree double *sums = g_new0 (double, width);
  g_autofree guint *counts = g_new0 (guint, 2 * width);
  Columns columns = { sums, counts, counts + width };

  for (guint i = 0; i < n_images; i++)
    if (!columns_read (&columns, scan,
                       (guint) ((2 * i + 1) * (guint64) all_images / (2 * n_images)), n_lines,
                       cancellable, error))
      return FALSE;
  *profile = profile_of_columns (&columns, width);
  return TRUE;
}

/* Rule 0. */
static gboolean
profile_is_turned (const Profile *p)
{
  return p->floor < -4 * fmax (p->peak, 0) && p->peak - p->floor > 0.1 * -p->floor
         && p->high - p->floor > 0.5 * (p->peak - p->floor);
}

/* By the rules above; @why: the one that was met. TD_SCAN_VALUES_FOUND: none was. */
static TdScanValues
profile_decide (const Profile *p, const char **why)
{
  if (!(p->peak > 0) || p->high <= p->peak / 2) {
    *why = N_ ("both sides of the detector, which see air, hold the lowest values");
    return TD_SCAN_VALUES_ATTENUATIONS;
  }
  if (p->nil >= 0.1 && p->low <= p->peak / 4) {
    *why = N_ ("one side of the detector, which sees air, holds values at and below 0");
    return TD_SCAN_VALUES_ATTENUATIONS;
  }
  if (p->peak <= 1.25 && p->high >= 0.8 && p->high >= 0.95 * p->peak) {
    *why = N_ ("the detector's brighter side is near 1, which is air");
    return TD_SCAN_VALUES_INTENSITIES;
  }
  if (p->low >= 0.7 * p->peak && p->floor <= 0.75 * p->low) {
    *why = N_ ("the sides of the detector are brighter than its middle");
    return TD_SCAN_VALUES_INTENSITIES;
  }
  return TD_SCAN_VALUES_FOUND;
}

/* What the samples look like, with a note. */
static gboolean
values_look (TdScan *scan, const Profile *profile, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  const char *why = NULL;
  TdScanValues values = profile_decide (profile, &why);

  if (td_sample_kind (facts->sample_type) != TD_SAMPLE_FLOAT
      && !(values == TD_SCAN_VALUES_ATTENUATIONS && profile->nil >= 0.1 && profile->low < 0))
    return TRUE;
  if (profile_is_turned (profile))
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” has no flats, and its values (%.4g and %.4g at the detector's sides, down to %.4g) "
        "look like logarithms without their minus: multiply them by −1, or state what they are "
        "({values=intensities} or {values=attenuations})",
        facts->path, profile->low, profile->high, profile->floor);
  if (values == TD_SCAN_VALUES_FOUND)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "“%s” has no flats, and its values (%.4g and %.4g at the detector's sides, up to "
        "%.4g) may be intensities or attenuations: state which ({values=intensities} or "
        "{values=attenuations})",
        facts->path, profile->low, profile->high, profile->peak);
  facts->transmission_logged = values == TD_SCAN_VALUES_ATTENUATIONS;
  td_scan_note (
      scan, "There are no flats; the values look like %p: %p ({values} states it otherwise).",
      td_message_new_plain (facts->transmission_logged ? N_ ("attenuations, −log was taken already")
                            : profile->peak > 2        ? N_ ("counts")
                                                       : N_ ("transmissions")),
      td_message_unpack (why));
  return TRUE;
}

/* The columns of a detector that sees its open beam are not all below a hundredth of it. */
#define FAINT 100

/* A level that a file beside the images states, for images that were scaled since. */
static void
values_check_white (TdScan *scan, const Profile *profile)
{
  TdScanFacts *facts = &scan->facts;

  if (profile->peak * FAINT > facts->white_level)
    return;
  td_scan_note (scan,
                "The open beam is stated to count %g, but no column of the images is brighter than "
                "%.4g: they were scaled since, and the number is left out ({flats} gives another "
                "beam).",
                facts->white_level, profile->peak);
  facts->white_level = 0;
  facts->n_flats = 0;
}

/* The bits of floats from 3e-5 to 2e7, as integers. */
#define LEAST_FLOAT_BITS 0x38000000
#define MOST_FLOAT_BITS 0x4b800000

/* Some programs store floats and do not say so. No camera counts from 1e9 on. What cannot be read
   is told when it is wanted. TRUE: the profile was read. */
static gboolean
values_note_floats (TdScan *scan, Profile *profile, GCancellable *cancellable)
{
  const TdSampleType type = scan->facts.sample_type;

  if ((type != TD_SAMPLE_UINT32 && type != TD_SAMPLE_INT32) || scan->facts.n_columns < LEAST_COLUMNS
      || !profile_read (scan, profile, cancellable, NULL))
    return FALSE;
  if (profile->floor >= LEAST_FLOAT_BITS && profile->peak <= MOST_FLOAT_BITS)
    td_scan_note (scan,
                  "The samples are whole numbers from %.4g to %.4g, as floats give that are read "
                  "as integers: if they are such, state it ({raw}), or save them as floats.",
                  profile->floor, profile->peak);
  return TRUE;
}

gboolean
td_scan_take_values (TdScan *scan, TdScanValues stated, GCancellable *cancellable, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  Profile profile;

  if (facts->filtered)
    return TRUE;
  const gboolean is_read = values_note_floats (scan, &profile, cancellable);
  if (stated != TD_SCAN_VALUES_FOUND)
    facts->transmission_logged = stated == TD_SCAN_VALUES_ATTENUATIONS;
  const gboolean measured = facts->n_flats > 0 && !(facts->white_level > 0);
  if (facts->transmission_logged || measured
      || td_sample_kind (facts->sample_type) == TD_SAMPLE_UNSIGNED)
    return TRUE;
  if (facts->n_columns < LEAST_COLUMNS) {
    if (facts->n_flats == 0 && stated == TD_SCAN_VALUES_FOUND && !scan->values_stated
        && td_sample_kind (facts->sample_type) == TD_SAMPLE_FLOAT)
      td_scan_note (scan,
                    "There are no flats; %u [column is|columns are] too few to tell: the values "
                    "are taken as transmissions ({values} states it otherwise).",
                    facts->n_columns);
    return TRUE;
  }
  if (!is_read && !profile_read (scan, &profile, cancellable, error))
    return FALSE;
  if (facts->white_level > 0)
    values_check_white (scan, &profile);
  if (facts->n_flats > 0)
    return TRUE;
  if (stated == TD_SCAN_VALUES_FOUND && !scan->values_stated
      && !values_look (scan, &profile, error))
    return FALSE;
  facts->brightest = facts->transmission_logged ? 0 : profile.peak;
  return TRUE;
}
