/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dose.h"

#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/error.h"
#include "dataset/scan-view.h"
#include "flat-beam.h"
#include "dataset/sort.h"
#include "steps.h"

/* Enough for a thousandth at a hundred photons a pixel; and what all views together may take. */
#define PIXELS_A_VIEW 4096u
#define VALUES ((guint64) 16 << 20)
#define MAX_BANDS 4u /* neighbouring rows come with one read */
#define ROWS_A_BAND 8u
#define PORTION_BYTES (16u << 20)

typedef struct {
  guint row0, n_rows;
} RowBand;

/* Where the air may be, and what was read there. */
typedef struct {
  guint first[2], width, n_strips; /* columns of a row's strips */
  RowBand bands[MAX_BANDS];
  guint n_bands, n_rows;
  guint n_views;
  gboolean turned; /* frames lie on their side: their rows are the strips' columns */
  gsize pixels;    /* of a view: [row][strip][column] */
  float *values;   /* [view][pixel]: transmissions; NaN: unknown */
  float *doses;
  TdHostScratch *scratch; /* two views' */
} Air;

static void
air_clear (Air *air)
{
  g_free (air->values);
  g_free (air->doses);
  td_host_scratch_free (air->scratch);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Air, air_clear)

/* Bands of rows spread over [y, y + height). */
static void
place_bands (Air *air, guint y, guint height, guint n_rows)
{
  air->n_bands = CLAMP (n_rows / ROWS_A_BAND, 1, MAX_BANDS);
  air->n_rows = 0;
  for (guint b = 0; b < air->n_bands; b++) {
    guint n = n_rows / air->n_bands;
    guint middle = (guint) (((guint64) 2 * b + 1) * height / (2 * air->n_bands));
    air->bands[b] = (RowBand) { y + MIN (middle - MIN (middle, n / 2), height - n), n };
    air->n_rows += n;
  }
}

/* The sample reaches the borders that the axis crosses: those beside it are the rows of a detector
   that lies on its side. */
static void
place_air (Air *air, const TdDoseSpec *spec, const TdScanFacts *facts)
{
  const guint n_columns = air->turned ? facts->n_rows : facts->n_columns;
  const guint n_rows = air->turned ? facts->n_columns : facts->n_rows;
  guint64 most = MIN (PIXELS_A_VIEW, VALUES / facts->n_views);
  guint y = spec->borders ? 0 : spec->y, height = spec->borders ? n_rows : spec->height;

  air->n_views = facts->n_views;
  if (spec->borders) {
    air->width = CLAMP (spec->columns, 1, MAX (n_columns / 2, 1));
    air->n_strips = 2;
    air->first[1] = n_columns - air->width;
  } else {
    air->width = spec->width;
    air->n_strips = 1;
    air->first[0] = spec->x;
  }
  guint row = air->width * air->n_strips;
  place_bands (air, y, height,
               (guint) CLAMP (most / row, 1, MIN (height, MAX_BANDS * ROWS_A_BAND)));
  air->pixels = (gsize) air->n_rows * row;
  air->values = g_new (float, air->pixels * facts->n_views);
  air->doses = g_new (float, facts->n_views);
}

/* ── Reading ── */

static float
dose_transmission (const TdFlatBeam *beam, guint view, gsize pixel, float intensity)
{
  gsize pixels = (gsize) beam->n_rows * beam->n_columns;
  guint group = (guint) beam->places[2 * view];
  double share = beam->places[2 * view + 1];
  double low = beam->beam[group * pixels + pixel];
  double high = share > 0 ? beam->beam[(group + 1) * pixels + pixel] : low;

  return low > 0 ? (float) (((double) intensity - beam->dark[pixel]) / (low + share * (high - low)))
                 : NAN;
}

/* A portion: rows of neighbouring views. */
typedef struct {
  const TdFlatBeam *beam; /* NULL: they are transmissions */
  const float *rows;      /* [row][view][column] of the range */
  const TdFrameRange *range;
  guint n_columns;
} Portion;

static float
portion_value (const Portion *portion, guint row, guint view, guint column)
{
  const float *from
      = portion->rows + ((gsize) row * portion->range->count + view) * portion->n_columns;
  const gsize pixel = (gsize) row * portion->n_columns + column;

  return portion->beam
             ? dose_transmission (portion->beam, portion->range->first + view, pixel, from[column])
             : from[column];
}

/* @at: the band's first row in values. */
static void
take_band (Air *air, const Portion *portion, guint at)
{
  const TdFrameRange *range = portion->range;

  for (guint row = 0; row < range->n_rows; row++)
    for (guint v = 0; v < range->count; v++)
      for (guint s = 0; s < air->n_strips; s++) {
        float *to = air->values + (range->first + v) * air->pixels
                    + ((gsize) (at + row) * air->n_strips + s) * air->width;
        for (guint i = 0; i < air->width; i++)
          to[i] = portion_value (portion, row, v, air->first[s] + i);
      }
}

/* Columns of strip @strip from @at on, which are rows of frames that lie on their side. The rows of
   the bands count against the frames' columns. */
static void
dose_take_columns (Air *air, const Portion *portion, guint strip, guint at)
{
  const TdFrameRange *range = portion->range;

  for (guint v = 0; v < range->count; v++) {
    float *to = air->values + (range->first + v) * air->pixels + (gsize) strip * air->width + at;
    for (guint b = 0; b < air->n_bands; b++)
      for (guint row = 0; row < air->bands[b].n_rows; row++, to += air->n_strips * air->width)
        for (guint i = 0; i < range->n_rows; i++)
          to[i]
              = portion_value (portion, i, v, portion->n_columns - 1 - (air->bands[b].row0 + row));
  }
}

/* Where rows of frames belong: in a band's, from @at on, or a strip's columns. */
typedef struct {
  RowBand rows;
  guint strip, at;
} AirPart;

static gboolean
dose_read_part (Air *air, TdFlats *flats, const TdDoseSpec *spec, const AirPart *part,
                GCancellable *cancellable, GError **error)
{
  TdScan *scan = td_flats_scan (flats);
  const RowBand *band = &part->rows;
  guint n_columns = td_scan_facts (scan)->n_columns;
  guint64 view_bytes = (guint64) band->n_rows * n_columns * sizeof (float);
  guint portion = (guint) CLAMP (td_portion (PORTION_BYTES) / view_bytes, 1, air->n_views);
  g_autofree float *rows = g_try_new (float, (gsize) portion * band->n_rows * n_columns);
  TdFlatBeam beam = { 0 };

  if (!rows)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory to read %u rows of %u views for their dose",
                         band->n_rows, portion);
  gboolean ok = !spec->flat_field.enabled
                || td_flat_beam_read (&beam, flats, &spec->flat_field, band->row0, band->n_rows,
                                      cancellable, error);
  for (guint view0 = 0; ok && view0 < air->n_views; view0 += portion) {
    guint n = MIN (portion, air->n_views - view0);
    const TdFrameRange range = { TD_FRAME_PROJECTION, view0, n, band->row0, band->n_rows };
    const Portion read = { spec->flat_field.enabled ? &beam : NULL, rows, &range, n_columns };
    ok = td_scan_read_sinograms (scan, &range, rows, cancellable, error);
    if (ok && air->turned)
      dose_take_columns (air, &read, part->strip, part->at);
    else if (ok)
      take_band (air, &read, part->at);
  }
  td_flat_beam_clear (&beam);
  return ok;
}

static gboolean
dose_read (Air *air, TdFlats *flats, const TdDoseSpec *spec, GCancellable *cancellable,
           GError **error)
{
  for (guint b = 0, at = 0; b < air->n_bands && !air->turned; at += air->bands[b++].n_rows)
    if (!dose_read_part (air, flats, spec, &(AirPart) { air->bands[b], 0, at }, cancellable, error))
      return FALSE;
  for (guint s = 0; s < air->n_strips && air->turned; s++)
    for (guint at = 0; at < air->width; at += ROWS_A_BAND) {
      const RowBand rows = { air->first[s] + at, MIN (ROWS_A_BAND, air->width - at) };
      if (!dose_read_part (air, flats, spec, &(AirPart) { rows, s, at }, cancellable, error))
        return FALSE;
    }
  return TRUE;
}

/* ── Which pixels are air ── */

/* Pixels that are judged together: a row's strip, or a column of all rows. */
typedef guint (*GroupOf) (const Air *air, gsize pixel);

static guint
strip_of (const Air *air, gsize pixel)
{
  return (guint) (pixel / air->width);
}

static guint
column_of (const Air *air, gsize pixel)
{
  return (guint) (pixel % (air->width * air->n_strips));
}

/* Mean of each group over some views; -INFINITY: nothing is known. */
static void
group_means (const Air *air, GroupOf group_of, guint n_groups, guint view0, guint view1,
             double *means)
{
  g_autofree guint *counts = g_new0 (guint, n_groups);

  for (guint g = 0; g < n_groups; g++)
    means[g] = 0;
  for (guint v = view0; v < view1; v++)
    for (gsize i = 0; i < air->pixels; i++)
      if (isfinite (air->values[v * air->pixels + i])) {
        means[group_of (air, i)] += air->values[v * air->pixels + i];
        counts[group_of (air, i)]++;
      }
  for (guint g = 0; g < n_groups; g++)
    means[g] = counts[g] ? means[g] / counts[g] : -INFINITY;
}

/* Groups that are not air become unknown. */
static void
drop_shadowed (Air *air, GroupOf group_of, guint n_groups)
{
  guint n_parts = MIN (TD_DOSE_PARTS, air->n_views), best = 0;
  g_autofree guint *bright = g_new0 (guint, n_groups);
  g_autofree double *means = g_new (double, n_groups);

  for (guint part = 0; part < n_parts; part++) {
    double brightest = -INFINITY;
    group_means (air, group_of, n_groups, (guint) ((guint64) part * air->n_views / n_parts),
                 (guint) ((guint64) (part + 1) * air->n_views / n_parts), means);
    for (guint g = 0; g < n_groups; g++)
      brightest = MAX (brightest, means[g]);
    for (guint g = 0; g < n_groups; g++)
      bright[g] += means[g] >= TD_DOSE_AIR * brightest;
  }
  /* Where nothing is air all the time, what is most of it. */
  for (guint g = 0; g < n_groups; g++)
    best = MAX (best, bright[g]);
  for (guint v = 0; v < air->n_views; v++)
    for (gsize i = 0; i < air->pixels; i++)
      if (bright[group_of (air, i)] < best)
        air->values[v * air->pixels + i] = NAN;
}

/* ── Averaging ── */

static void
average_view (guint view, gpointer user)
{
  Air *air = user;
  const float *values = air->values + view * air->pixels;
  const TdHostPieces pieces = td_host_scratch_take (air->scratch);
  float *finite = pieces.from, *away = pieces.to;
  double sum = 0;
  gsize within = 0;

  memcpy (finite, values, air->pixels * sizeof *finite);
  const gsize n = td_keep_finite (finite, air->pixels);
  double median = n > 0 ? td_median (finite, n) : 1;
  for (gsize i = 0; i < n; i++)
    away[i] = (float) fabs (finite[i] - median);
  double limit = TD_DOSE_CLIP * 1.4826 * td_median (away, n);
  for (gsize i = 0; i < n; i++)
    if (fabs (finite[i] - median) <= limit) {
      sum += finite[i];
      within++;
    }
  td_host_scratch_give (air->scratch, &pieces);
  double dose = within ? sum / within : median;
  air->doses[view] = dose > 0 && isfinite (1 / (float) dose) ? (float) dose : 1;
}

guint64
td_dose_host_bytes (const TdScanFacts *facts)
{
  guint64 pixels = MAX (MIN (PIXELS_A_VIEW, VALUES / facts->n_views), facts->n_columns);

  return pixels * facts->n_views * sizeof (float) + td_portion (PORTION_BYTES)
         + ROWS_A_BAND * (guint64) facts->n_columns * sizeof (float);
}

gboolean
td_dose_spec_check (const TdDoseSpec *spec, const TdScanFacts *facts, GError **error)
{
  if (spec->borders
      || ((guint64) spec->x + spec->width <= facts->n_columns
          && (guint64) spec->y + spec->height <= facts->n_rows))
    return TRUE;
  return td_set_error (
      error, TD_ERROR_INVALID,
      "the air region of %u × %u pixels at column %u, row %u does not lie on the detector of "
      "%u × %u pixels; give another ({prepare=dose=region:x=…:y=…:width=…:height=…}), or take "
      "the borders ({prepare=dose=borders})",
      spec->width, spec->height, spec->x, spec->y, facts->n_columns, facts->n_rows);
}

/* Of views that are the mean of several. @doses: of the views that are seen. */
static GBytes *
bin_doses (const float *doses, guint n, guint bin)
{
  guint n_binned = (n + bin - 1) / bin;
  float *binned = g_new0 (float, n_binned);

  for (guint v = 0; v < n; v++)
    binned[v / bin] += doses[v] / (float) MIN (bin, n - v / bin * bin);
  return g_bytes_new_take (binned, n_binned * sizeof *binned);
}

/* Asks the whole detector, also where the recipe shows a part of it: the air may be elsewhere. What
   mirrors the stored frames is no such part, and regions count after it. */
static GBytes *
make_doses (TdFlats *flats, gconstpointer user, GCancellable *cancellable, GError **error)
{
  const TdDoseSpec *spec = user;
  TdScanFrame frame;
  TdScan *whole = td_scan_view_base (td_flats_scan (flats), &frame);
  if (frame.flip_columns || frame.flip_rows) {
    whole = NULL;
    frame = (TdScanFrame) { 0 };
  }
  g_autoptr (TdFlats) own = whole ? td_flats_new (whole) : td_flats_ref (flats);
  const TdScanFacts *facts = td_scan_facts (td_flats_scan (own));
  /* A region counts on the frames as they are stored. */
  g_auto (Air) air
      = { .turned = whole && spec->borders && td_scan_view_turned (td_flats_scan (flats)) };

  if (!td_dose_spec_check (spec, facts, error))
    return NULL;
  place_air (&air, spec, facts);
  if (!dose_read (&air, own, spec, cancellable, error))
    return NULL;
  if (spec->borders) {
    drop_shadowed (&air, strip_of, air.n_rows * air.n_strips);
    drop_shadowed (&air, column_of, air.width * air.n_strips);
  }
  air.scratch
      = td_host_scratch_new (air.pixels * sizeof (float), air.pixels * sizeof (float), error);
  if (!air.scratch)
    return NULL;
  td_parallel_for (air.n_views, average_view, &air);
  return bin_doses (air.doses + frame.crop_view, frame.crop_views ? frame.crop_views : air.n_views,
                    MAX (frame.bin_views, 1));
}

/* ── By the monitor ── */

static GBytes *
doses_of_monitor (TdFlats *flats, const TdStep *flat_field, GCancellable *cancellable,
                  GError **error)
{
  const TdScanFacts *facts = td_scan_facts (td_flats_scan (flats));
  const gboolean by_flats
      = flat_field->enabled && facts->n_flats > 0 && flat_field->values[TD_FLAT_FIELD_WHITE] == 0;
  const TdFlatsHow how = by_flats ? td_flat_field_how (flat_field) : (TdFlatsHow) { FALSE, TRUE };
  double positions[TD_FLATS_MAX_GROUPS], levels[TD_FLATS_MAX_GROUPS] = { 0 };
  const guint n_groups = td_flats_groups (facts, how.one_group, positions, NULL);

  if (by_flats
      && !td_flats_average_of (flats, how, facts->monitor + facts->n_views, levels, cancellable,
                               error))
    return NULL;
  for (guint v = 0; v < facts->n_views && !by_flats; v++)
    levels[0] += facts->monitor[v] / facts->n_views;
  g_autofree float *places = g_new (float, 2 * (gsize) facts->n_views);
  td_flats_places (facts, td_flat_field_by (flat_field), positions, n_groups, places);
  float *doses = g_new (float, facts->n_views);
  for (guint v = 0; v < facts->n_views; v++) {
    const guint group = (guint) places[2 * v];
    const double share = places[2 * v + 1];
    const double low = levels[group], high = share > 0 ? levels[group + 1] : low;
    doses[v] = (float) (facts->monitor[v] / (low + share * (high - low)));
  }
  return g_bytes_new_take (doses, facts->n_views * sizeof *doses);
}

GBytes *
td_dose_of_views (TdFlats *flats, const TdDoseSpec *spec, GCancellable *cancellable, GError **error)
{
  if (spec->monitor)
    return doses_of_monitor (flats, &spec->flat_field, cancellable, error);

  const TdStep *flat = &spec->flat_field;
  g_autoptr (GString) key = g_string_new (NULL);

  if (spec->borders)
    g_string_printf (key, "dose borders %u", spec->columns);
  else
    g_string_printf (key, "dose region %u,%u,%u,%u", spec->x, spec->y, spec->width, spec->height);
  for (guint i = 0; flat->enabled && i < TD_STEP_MAX_PARAMETERS; i++)
    g_string_append_printf (key, " %.17g", flat->values[i]);
  return td_flats_once (flats, key->str, make_doses, spec, cancellable, error);
}
