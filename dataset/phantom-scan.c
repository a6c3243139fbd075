/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom-scan.h"

#include "error.h"
#include "geometry-matrix.h"
#include "phantom-private.h"
#include "scan-private.h"

void
td_phantom_scan_init (TdPhantomScan *spec)
{
  *spec = (TdPhantomScan) {
    .phantom = "shepp-logan",
    .n_columns = 256,
    .n_rows = 256,
    .n_views = 402,
    .centre_px = NAN,
    .range_deg = 180,
    .attenuation = 2,
    .n_flats = 10,
    .n_darks = 5,
    .counts = 40000,
    .dark_counts = 200,
    .profile = 0.2,
    .seed = 1,
  };
  td_geometry_init_parallel (&spec->geometry);
}

/* What the description means in pixels; everything but the arrays. */
static TdPhantomSource
phantom_scan_derive (const TdPhantomScan *spec)
{
  const TdGeometry *g = &spec->geometry;
  double middle = td_phantom_middle (spec->n_columns);
  TdPhantomSource source = { .spec = *spec };

  source.centre_px = isfinite (spec->centre_px) ? spec->centre_px : middle;
  source.voxel_mm = g->pixel_width_mm;
  if (td_phantom_is_cone (spec)) {
    source.voxel_mm *= g->source_axis_mm / g->source_detector_mm;
    if (isfinite (spec->centre_px))
      source.spec.geometry.axis_offset_mm
          = (spec->centre_px - middle - g->detector_offset_u_px) * source.voxel_mm;
    else
      source.centre_px = middle + g->detector_offset_u_px + g->axis_offset_mm / source.voxel_mm;
  }
  source.unit_px = spec->n_columns / 2.0;
  if (spec->offset_field)
    source.unit_px = MAX (source.centre_px, spec->n_columns - 1 - source.centre_px) + 0.5;
  if (spec->fill > 0)
    source.unit_px *= spec->fill;
  source.attenuation_px = spec->attenuation > 0 ? spec->attenuation / (2 * source.unit_px) : 1;
  return source;
}

guint
td_phantom_scan_side (const TdPhantomScan *spec)
{
  return (guint) ceil (2 * phantom_scan_derive (spec).unit_px);
}

void
td_phantom_scan_truth (const TdPhantomScan *spec, guint row, guint nx, guint ny, guint oversample,
                       float *out)
{
  g_autoptr (TdPhantom) phantom = td_phantom_new (spec->phantom, NULL);
  TdPhantomSource source = phantom_scan_derive (spec);
  double scale = source.attenuation_px / (source.voxel_mm > 0 ? source.voxel_mm : 1);

  td_phantom_slice_at (phantom, nx, ny, source.unit_px,
                       (td_phantom_middle (spec->n_rows) - row) / source.unit_px, oversample, out);
  for (gsize i = 0; i < (gsize) nx * ny; i++)
    out[i] *= scale;
}

/* ── Reading ── */

static void
phantom_scan_make_row (const TdPhantomSource *source, TdFrameKind kind, guint frame, guint row,
                       float *out)
{
  if (kind == TD_FRAME_PROJECTION)
    td_phantom_rays (source, frame, row, out);
  if (!source->spec.logged)
    td_phantom_camera_expose (source, kind, frame, row, out);
}

static gboolean
phantom_scan_read_frames (gpointer data, const TdFrameRange *range, float *out,
                          GCancellable *cancellable, GError **error)
{
  const TdPhantomSource *source = data;

  for (guint frame = range->first; frame < range->first + range->count; frame++) {
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    for (guint row = range->row0; row < range->row0 + range->n_rows;
         row++, out += source->spec.n_columns)
      phantom_scan_make_row (source, range->kind, frame, row, out);
  }
  return TRUE;
}

static gboolean
read_sinograms (gpointer data, const TdFrameRange *range, float *out, GCancellable *cancellable,
                GError **error)
{
  const TdPhantomSource *source = data;

  for (guint row = range->row0; row < range->row0 + range->n_rows; row++)
    for (guint view = range->first; view < range->first + range->count;
         view++, out += source->spec.n_columns) {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      phantom_scan_make_row (source, TD_FRAME_PROJECTION, view, row, out);
    }
  return TRUE;
}

static void
source_free (gpointer data)
{
  TdPhantomSource *source = data;

  td_phantom_free (source->phantom);
  g_free (source->angles_rad);
  g_free (source->gains);
  g_free (source->faults);
  g_free (source);
}

static const TdScanSource vtable = { phantom_scan_read_frames, read_sinograms, source_free };

/* ── Opening ── */

static gboolean
phantom_scan_refuse (GError **error, const char *reason)
{
  td_set_error (error, TD_ERROR_INVALID, "The phantom's scan cannot be made: %s", reason);
  return FALSE;
}

static gboolean
phantom_scan_check (const TdPhantomScan *spec, GError **error)
{
  const TdGeometry *g = &spec->geometry;
  const double numbers[]
      = { spec->tilt_deg,    spec->first_deg, spec->range_deg, spec->attenuation, spec->counts,
          spec->dark_counts, spec->photons,   spec->profile,   spec->wander,      spec->rings,
          spec->drift,       spec->flicker,   spec->zingers,   spec->hardening,   spec->wobble_mm };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (!isfinite (numbers[i]))
      return phantom_scan_refuse (error, "a number of its description is not finite");
  if (spec->n_columns == 0 || spec->n_rows == 0 || spec->n_views == 0)
    return phantom_scan_refuse (error, "columns, rows and views must be at least 1");
  if ((guint64) spec->n_columns * spec->n_rows > G_MAXINT32)
    return phantom_scan_refuse (error,
                                "a frame of more than 2³¹ pixels; take fewer columns or rows");
  if (spec->attenuation < 0 || spec->photons < 0 || spec->rings < 0 || spec->dark_counts < 0)
    return phantom_scan_refuse (
        error, "attenuation, photons, rings and the dark level cannot be negative");
  if (!spec->logged
      && (spec->counts <= 0 || spec->counts + spec->dark_counts > TD_PHANTOM_FULL_SCALE))
    return phantom_scan_refuse (error,
                                "counts must be above 0, and with the dark level at most 65535");
  if (!(spec->fill >= 0 && spec->fill <= 1))
    return phantom_scan_refuse (error,
                                "the part of the field that the object fills must lie from 0 to 1");
  if (spec->profile < 0 || spec->profile >= 1 || spec->wander < 0 || spec->wander >= 1)
    return phantom_scan_refuse (error, "the beam's profile and wander must lie from 0 to below 1");
  if (spec->flicker < 0 || spec->flicker >= 0.5 || spec->zingers < 0 || spec->zingers > 1)
    return phantom_scan_refuse (error, "flicker goes from 0 to below 0.5, and zingers from 0 to 1");
  if (fabs (spec->drift) >= 1 || spec->hardening < 0 || spec->hardening >= 1)
    return phantom_scan_refuse (error, "the beam's drift and hardening must lie below 1");
  if (spec->n_dead > spec->n_columns * spec->n_rows)
    return phantom_scan_refuse (error, "more dead pixels than pixels");
  if (!td_phantom_is_cone (spec) && spec->wobble_mm != 0)
    return phantom_scan_refuse (error, "only a cone beam's source and detector wobble");
  if (!td_phantom_is_cone (spec))
    return fabs (spec->tilt_deg) < 45
           || phantom_scan_refuse (error, "the axis may be tilted by less than 45°");
  if (!(g->source_axis_mm > 0 && g->source_detector_mm >= g->source_axis_mm))
    return phantom_scan_refuse (
        error, "a cone beam needs the distances source to axis and source to detector, "
               "the second no less than the first");
  if (!(g->pixel_width_mm > 0 && g->pixel_height_mm > 0))
    return phantom_scan_refuse (error, "a cone beam needs the detector's pixel size");
  if (g->view_matrices || spec->tilt_deg != 0)
    return phantom_scan_refuse (
        error, "a cone beam turns about an upright axis; tilt the detector instead");
  for (guint k = 0; k < 3; k++)
    if (!(fabs (g->detector_tilt_rad[k]) < (k < 2 ? G_PI / 4 : 2 * G_PI)))
      return phantom_scan_refuse (error, "the detector may lean by less than 45°");
  if (!(spec->wobble_mm >= 0) || spec->wobble_mm > g->source_axis_mm / 10)
    return phantom_scan_refuse (
        error, "the wobble lies between 0 and a tenth of the distance source to axis");
  return TRUE;
}

/* Once off the circle, each view says for itself where it was taken. */
static void
phantom_scan_fill_matrices (TdScan *scan, const TdPhantomSource *source)
{
  const TdPhantomScan *spec = &source->spec;
  TdGeometry *geometry = &scan->facts.geometry;
  double vectors[12];

  scan->facts.centre_px = NAN;
  geometry->n_view_matrices = spec->n_views;
  geometry->view_matrices = g_new (double, 12 * (gsize) spec->n_views);
  for (guint view = 0; view < spec->n_views; view++) {
    td_phantom_view_vectors (source, view, vectors);
    td_matrix_from_vectors (vectors, spec->n_columns, spec->n_rows,
                            geometry->view_matrices + 12 * (gsize) view);
  }
}

static void
phantom_scan_fill_facts (TdScan *scan, const TdPhantomSource *source)
{
  const TdPhantomScan *spec = &source->spec;
  TdScanFacts *facts = &scan->facts;

  g_free (facts->title);
  facts->title = g_strdup (spec->phantom);
  facts->format = g_strdup ("phantom");
  facts->n_columns = spec->n_columns;
  facts->n_rows = spec->n_rows;
  facts->n_views = spec->n_views;
  facts->n_flats = spec->logged ? 0 : spec->n_flats;
  facts->n_darks = spec->logged ? 0 : spec->n_darks;
  facts->sample_type = spec->logged ? TD_SAMPLE_FLOAT32 : TD_SAMPLE_UINT16;
  facts->transmission_logged = spec->logged;
  facts->angles_rad = g_memdup2 (source->angles_rad, spec->n_views * sizeof (double));
  if (facts->n_flats > 0) {
    facts->flat_positions = g_new (double, facts->n_flats);
    for (guint i = 0; i < facts->n_flats; i++)
      facts->flat_positions[i] = i < (facts->n_flats + 1) / 2 ? 0 : facts->n_views;
  }
  facts->centre_px = source->centre_px;
  facts->energy_kev = spec->energy_kev;
  facts->propagation_mm = spec->propagation_mm;
  facts->half_acquisition = spec->offset_field;
  facts->geometry = spec->geometry;
  if (spec->wobble_mm > 0)
    phantom_scan_fill_matrices (scan, source);
}

TdScan *
td_phantom_scan_new (const TdPhantomScan *spec, GError **error)
{
  if (!phantom_scan_check (spec, error))
    return NULL;
  TdPhantom *phantom = td_phantom_new (spec->phantom, error);
  if (!phantom)
    return NULL;

  TdPhantomSource *source = g_new (TdPhantomSource, 1);
  *source = phantom_scan_derive (spec);
  source->spec.phantom = phantom->name;
  source->phantom = phantom;
  source->angles_rad = g_new (double, spec->n_views);
  guint steps = spec->end_point ? MAX (spec->n_views - 1, 1) : spec->n_views;
  for (guint v = 0; v < spec->n_views; v++)
    source->angles_rad[v] = (spec->first_deg + spec->range_deg * v / steps) * G_PI / 180;
  td_phantom_camera_init (source);

  g_autofree char *path = g_strconcat ("phantom:", spec->phantom, NULL);
  TdScan *scan = td_scan_alloc (path, &vtable, source);
  phantom_scan_fill_facts (scan, source);
  if (!td_scan_validate (scan, error)) {
    td_scan_unref (scan);
    return NULL;
  }
  return scan;
}
