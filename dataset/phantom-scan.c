/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom-scan.h"

#include <math.h>

#include "error.h"
#include "geometry-matrix.h"
#include "random.h"
#include "scan-private.h"

typedef struct {
  TdPhantomScan spec;
  const TdPhantom *phantom;
  double centre_px;
  double unit_px;        /* pixels in a unit of the phantom */
  double attenuation_px; /* of the phantom's value 1 */
  double voxel_mm;       /* what a detector pixel is wide at the axis; 0: unknown */
  double *angles_rad;
  float *gains;   /* [row][column]; NULL: 1 */
  guint8 *faults; /* [row][column]; NULL: none */
} PhantomSource;

#define FULL_SCALE 65535.0

static inline double
phantom_middle (guint n)
{
  return (n - 1) / 2.0;
}

static inline gboolean
phantom_is_cone (const TdPhantomScan *spec)
{
  return spec->geometry.beam != TD_BEAM_PARALLEL;
}

/* ── Line integrals ── */

static void
project_tilted (const PhantomSource *source, double angle, guint row, float *out)
{
  double tilt = source->spec.tilt_deg * G_PI / 180, c = cos (tilt), s = sin (tilt);
  double down = row - phantom_middle (source->spec.n_rows);

  for (guint u = 0; u < source->spec.n_columns; u++) {
    double right = u - source->centre_px;
    double across = right * c - down * s, along = -(right * s + down * c);
    out[u] = source->unit_px
             * td_phantom_parallel_ray (source->phantom, angle, across / source->unit_px,
                                        along / source->unit_px);
  }
}

/* Turns the detector's frame (u, v, beam) about its own axes, in that order. */
static void
phantom_rays_tilt_frame (double frame[3][3], const double tilt_rad[3])
{
  for (guint axis = 0; axis < 3; axis++) {
    double c = cos (tilt_rad[axis]), s = sin (tilt_rad[axis]);
    double *a = frame[(axis + 1) % 3], *b = frame[(axis + 2) % 3];
    for (guint k = 0; k < 3; k++) {
      double ak = a[k], bk = b[k];
      a[k] = c * ak + s * bk;
      b[k] = c * bk - s * ak;
    }
  }
}

/* How a gantry that is not stiff moves: slow swings of different speeds, within the wobble. */
static void
phantom_rays_wobble (const TdPhantomScan *spec, double angle, double source[3], double foot[3],
                     double tilt_rad[3])
{
  const double width_mm = spec->n_columns * spec->geometry.pixel_width_mm, w = spec->wobble_mm;
  const double moves[2][3] = {
    { 0.7 * sin (2 * angle + 1), 0.6 * sin (angle), 0.5 * cos (3 * angle) },
    { 0.9 * sin (3 * angle), 0.5 * cos (2 * angle), 0.8 * cos (angle + 2) },
  };

  for (guint k = 0; k < 3; k++) {
    source[k] += w * moves[0][k];
    foot[k] += w * moves[1][k];
    tilt_rad[k] += w / width_mm * sin ((k + 1) * angle + k);
  }
}

/* Where a cone beam's source and detector stand in a view, in mm, as td_matrix_from_vectors() has
 * it. */
static void
phantom_view_vectors (const PhantomSource *source, guint view, double vectors[12])
{
  const TdPhantomScan *spec = &source->spec;
  const TdGeometry *g = &spec->geometry;
  double angle = source->angles_rad[view], c = cos (angle), s = sin (angle);
  double frame[3][3] = { { c, s, 0 }, { 0, 0, -1 }, { -s, c, 0 } };
  double foot[3], tilt_rad[3];

  for (guint k = 0; k < 3; k++) {
    vectors[k] = -g->axis_offset_mm * frame[0][k] - g->source_axis_mm * frame[2][k];
    foot[k] = vectors[k] + g->source_detector_mm * frame[2][k];
    tilt_rad[k] = g->detector_tilt_rad[k];
  }
  if (spec->wobble_mm > 0)
    phantom_rays_wobble (spec, angle, vectors, foot, tilt_rad);
  phantom_rays_tilt_frame (frame, tilt_rad);
  for (guint k = 0; k < 3; k++) {
    vectors[6 + k] = frame[0][k] * g->pixel_width_mm;
    vectors[9 + k] = frame[1][k] * g->pixel_height_mm;
    vectors[3 + k] = foot[k] - g->detector_offset_u_px * vectors[6 + k]
                     - g->detector_offset_v_px * vectors[9 + k];
  }
}

static void
project_cone (const PhantomSource *source, guint view, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double unit_mm = source->unit_px * source->voxel_mm, down = row - phantom_middle (spec->n_rows);
  double vectors[12], from[3], to[3];

  phantom_view_vectors (source, view, vectors);
  for (guint k = 0; k < 3; k++)
    from[k] = vectors[k] / unit_mm;
  for (guint u = 0; u < spec->n_columns; u++) {
    double right = u - phantom_middle (spec->n_columns);

    for (guint k = 0; k < 3; k++)
      to[k] = (vectors[3 + k] + right * vectors[6 + k] + down * vectors[9 + k]) / unit_mm;
    out[u] = source->unit_px * td_phantom_ray (source->phantom, from, to);
  }
}

/* Line integrals of one row of a view. */
static void
phantom_rays (const PhantomSource *source, guint view, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double angle = source->angles_rad[view];

  if (phantom_is_cone (spec))
    project_cone (source, view, row, out);
  else if (spec->tilt_deg != 0)
    project_tilted (source, angle, row, out);
  else
    td_phantom_project_line (source->phantom, source->unit_px, phantom_middle (spec->n_rows) - row,
                             spec->n_columns, angle, source->centre_px, out);
  for (guint u = 0; u < spec->n_columns; u++)
    out[u] *= source->attenuation_px;
}

/* ── The camera ── */

#define READOUT_NOISE 2.0 /* counts, with photon noise */

typedef enum { PIXEL_FINE, PIXEL_DARK, PIXEL_HOT } PixelFault;

/* Streams of random numbers: one a row of every frame, and a few more. */
enum {
  STREAM_ROWS,
  STREAM_FLAT_ROWS,
  STREAM_DARK_ROWS,
  STREAM_DRIFT,
  STREAM_GAINS,
  STREAM_FAULTS,
  STREAM_FLICKER,
  STREAM_FLAT_FLICKER,
  STREAM_ZINGERS,
  STREAM_FLAT_ZINGERS
};

static guint64
stream_id (guint kind, guint frame, guint row)
{
  return (guint64) kind << 60 | (guint64) frame << 30 | row;
}

/* Draws the faults of the camera's pixels. */
static void
phantom_camera_init (PhantomSource *source)
{
  const TdPhantomScan *spec = &source->spec;
  gsize n = (gsize) spec->n_columns * spec->n_rows;
  TdRandom random;

  if (spec->logged)
    return;
  if (spec->rings > 0) {
    source->gains = g_new (float, n);
    td_random_init (&random, spec->seed, stream_id (STREAM_GAINS, 0, 0));
    for (gsize i = 0; i < n; i++)
      source->gains[i] = 1 + spec->rings * td_random_normal (&random);
  }
  if (spec->n_dead > 0) {
    source->faults = g_new0 (guint8, n);
    td_random_init (&random, spec->seed, stream_id (STREAM_FAULTS, 0, 0));
    for (guint done = 0; done < spec->n_dead;) {
      gsize pixel = MIN ((gsize) (td_random_uniform (&random) * n), n - 1);
      if (source->faults[pixel] == PIXEL_FINE)
        source->faults[pixel] = done++ % 2 ? PIXEL_HOT : PIXEL_DARK;
    }
  }
}

/* When a frame was taken: 0 before the first view, 1 after the last. @within: of its view's time.
 */
static double
phantom_camera_moment_of (const TdPhantomScan *spec, TdFrameKind kind, guint frame, double within)
{
  return kind == TD_FRAME_PROJECTION ? (frame + within) / spec->n_views
                                     : frame >= (spec->n_flats + 1) / 2;
}

/* The beam at a moment of the scan: a slow swing and a jitter from frame to frame, and each frame's
   exposure. */
static double
beam_intensity (const TdPhantomScan *spec, TdFrameKind kind, guint frame)
{
  TdRandom random;
  double intensity = 1;

  if (spec->wander != 0) {
    td_random_init (&random, spec->seed, stream_id (STREAM_DRIFT, frame, kind));
    intensity += spec->wander
                 * (0.7 * sin (2.6 * G_PI * phantom_camera_moment_of (spec, kind, frame, 0))
                    + 0.3 * (2 * td_random_uniform (&random) - 1));
  }
  if (spec->flicker > 0) {
    td_random_init (&random, spec->seed, stream_id (STREAM_FLICKER + kind, frame, 0));
    intensity *= MAX (1 + spec->flicker * td_random_normal (&random), 0.1);
  }
  return intensity;
}

static double
beam_profile (const TdPhantomScan *spec, TdFrameKind kind, guint frame, guint row, guint column)
{
  double x
      = (column - phantom_middle (spec->n_columns)) / MAX (phantom_middle (spec->n_columns), 1);
  double y = (row - phantom_middle (spec->n_rows)) / MAX (phantom_middle (spec->n_rows), 1);

  return (1 - spec->profile * (x * x + y * y) / 2)
         * (1 + spec->drift * x * phantom_camera_moment_of (spec, kind, frame, 0.5));
}

/* -log of the mean transmission of two lines: p - log cosh (h p). */
static double
phantom_camera_hardened (const TdPhantomScan *spec, double p)
{
  return spec->hardening > 0 ? p - log (cosh (spec->hardening * p)) : p;
}

static void
add_zingers (const TdPhantomScan *spec, TdFrameKind kind, guint frame, guint row, float *row_data)
{
  TdRandom random;

  td_random_init (&random, spec->seed, stream_id (STREAM_ZINGERS + kind, frame, row));
  for (guint u = 0; u < spec->n_columns; u++)
    if (td_random_uniform (&random) < spec->zingers) {
      const double counts = row_data[u] + spec->counts * (0.5 + 1.5 * td_random_uniform (&random));
      row_data[u] = (float) MIN (floor (counts), FULL_SCALE);
    }
}

/* Turns line integrals (projections) into counts, in place; flats and darks ignore what is there.
 */
static void
phantom_camera_expose (const PhantomSource *source, TdFrameKind kind, guint frame, guint row,
                       float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double intensity = kind == TD_FRAME_DARK ? 0 : beam_intensity (spec, kind, frame);
  gsize first = (gsize) row * spec->n_columns;
  TdRandom random;

  td_random_init (&random, spec->seed, stream_id (STREAM_ROWS + kind, frame, row));
  for (guint u = 0; u < spec->n_columns; u++) {
    double level = intensity * beam_profile (spec, kind, frame, row, u);
    if (kind == TD_FRAME_PROJECTION)
      level *= exp (-phantom_camera_hardened (spec, out[u]));
    double noise = 0;
    if (spec->photons > 0) {
      level = td_random_poisson (&random, level * spec->photons) / spec->photons;
      noise = READOUT_NOISE * td_random_normal (&random);
    }
    if (kind == TD_FRAME_PROJECTION && source->gains)
      level *= source->gains[first + u];
    double counts = level * spec->counts + spec->dark_counts + noise;
    if (source->faults && source->faults[first + u] != PIXEL_FINE)
      counts = source->faults[first + u] == PIXEL_HOT ? FULL_SCALE : spec->dark_counts;
    out[u] = floor (CLAMP (counts, 0, FULL_SCALE) + 0.5);
  }
  if (spec->zingers > 0 && kind != TD_FRAME_DARK)
    add_zingers (spec, kind, frame, row, out);
}

/* ── The scan ── */

void
td_phantom_scan_init (TdPhantomScan *spec, const char *phantom, guint n_columns, guint n_rows,
                      guint n_views)
{
  *spec = (TdPhantomScan) {
    .phantom = phantom ? phantom : "shepp-logan",
    .n_columns = n_columns ? n_columns : 256,
    .n_rows = n_rows ? n_rows : 256,
    .n_views = n_views ? n_views : 402,
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
static PhantomSource
phantom_scan_derive (const TdPhantomScan *spec)
{
  const TdGeometry *g = &spec->geometry;
  double middle = phantom_middle (spec->n_columns);
  PhantomSource source = { .spec = *spec };

  source.centre_px = isfinite (spec->centre_px) ? spec->centre_px : middle;
  source.voxel_mm = g->pixel_width_mm;
  if (phantom_is_cone (spec)) {
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
td_phantom_scan_truth (const TdPhantomScan *spec, double row, guint nx, guint ny, guint oversample,
                       float *out)
{
  const TdPhantom *phantom = td_phantom_find (spec->phantom, NULL);
  PhantomSource source = phantom_scan_derive (spec);
  double scale = source.attenuation_px / (source.voxel_mm > 0 ? source.voxel_mm : 1);

  td_phantom_slice_at (phantom, nx, ny, source.unit_px,
                       (phantom_middle (spec->n_rows) - row) / source.unit_px, oversample, out);
  for (gsize i = 0; i < (gsize) nx * ny; i++)
    out[i] *= scale;
}

/* ── Reading ── */

static void
phantom_scan_make_row (const PhantomSource *source, TdFrameKind kind, guint frame, guint row,
                       float *out)
{
  if (kind == TD_FRAME_PROJECTION)
    phantom_rays (source, frame, row, out);
  if (!source->spec.logged)
    phantom_camera_expose (source, kind, frame, row, out);
}

static gboolean
phantom_scan_fill (gpointer data, const TdFrameRange *range, const TdFrameTarget *target,
                   GCancellable *cancellable, GError **error)
{
  for (guint i = 0; i < range->count; i++)
    for (guint row = 0; row < range->n_rows; row++) {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      phantom_scan_make_row (data, range->kind, range->first + i, range->row0 + row,
                             td_frame_target_row (target, i, row));
    }
  return TRUE;
}

static void
source_free (gpointer data)
{
  PhantomSource *source = data;

  g_free (source->angles_rad);
  g_free (source->gains);
  g_free (source->faults);
  g_free (source);
}

static const TdScanSource vtable = { .fill = phantom_scan_fill, .free = source_free };

/* ── Opening ── */

static gboolean
phantom_scan_refuse (GError **error, const char *reason)
{
  return td_set_error (error, TD_ERROR_INVALID, "The phantom's scan cannot be made: %p",
                       td_message_unpack (reason));
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
      return phantom_scan_refuse (error, N_ ("a number of its description is not finite"));
  const gboolean cone = phantom_is_cone (spec);
  const struct {
    gboolean wrong;
    const char *why;
  } checks[] = {
    { spec->n_columns == 0 || spec->n_rows == 0 || spec->n_views == 0,
      N_ ("columns, rows and views must be at least 1") },
    { (guint64) spec->n_columns * spec->n_rows > G_MAXINT32,
      N_ ("a frame of more than 2³¹ pixels; take fewer columns or rows") },
    { spec->attenuation < 0 || spec->photons < 0 || spec->rings < 0 || spec->dark_counts < 0,
      N_ ("attenuation, photons, rings and the dark level cannot be negative") },
    { !spec->logged && (spec->counts <= 0 || spec->counts + spec->dark_counts > FULL_SCALE),
      N_ ("counts must be above 0, and with the dark level at most 65535") },
    { !(spec->fill >= 0 && spec->fill <= 1),
      N_ ("the part of the field that the object fills must lie from 0 to 1") },
    { spec->profile < 0 || spec->profile >= 1 || spec->wander < 0 || spec->wander >= 1,
      N_ ("the beam's profile and wander must lie from 0 to below 1") },
    { spec->flicker < 0 || spec->flicker >= 0.5 || spec->zingers < 0 || spec->zingers > 1,
      N_ ("flicker goes from 0 to below 0.5, and zingers from 0 to 1") },
    { fabs (spec->drift) >= 1 || spec->hardening < 0 || spec->hardening >= 1,
      N_ ("the beam's drift and hardening must lie below 1") },
    { spec->n_dead > spec->n_columns * spec->n_rows, N_ ("more dead pixels than pixels") },
    { !cone && spec->wobble_mm != 0, N_ ("only a cone beam's source and detector wobble") },
    { !cone && !(fabs (spec->tilt_deg) < 45), N_ ("the axis may be tilted by less than 45°") },
    { cone && !(g->source_axis_mm > 0 && g->source_detector_mm >= g->source_axis_mm),
      N_ ("a cone beam needs the distances source to axis and source to detector, "
          "the second no less than the first") },
    { cone && !(g->pixel_width_mm > 0 && g->pixel_height_mm > 0),
      N_ ("a cone beam needs the detector's pixel size") },
    { cone && spec->centre_unsaid, N_ ("a cone beam's geometry says where its axis is") },
    { cone && (g->view_matrices || spec->tilt_deg != 0),
      N_ ("a cone beam turns about an upright axis; tilt the detector instead") },
    { cone
          && !(fabs (g->detector_tilt_rad[0]) < G_PI / 4
               && fabs (g->detector_tilt_rad[1]) < G_PI / 4
               && fabs (g->detector_tilt_rad[2]) < 2 * G_PI),
      N_ ("the detector may lean by less than 45°") },
    { cone && !(spec->wobble_mm >= 0 && spec->wobble_mm <= g->source_axis_mm / 10),
      N_ ("the wobble lies between 0 and a tenth of the distance source to axis") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++)
    if (checks[i].wrong)
      return phantom_scan_refuse (error, checks[i].why);
  return TRUE;
}

/* Once off the circle, each view says for itself where it was taken. */
static void
phantom_scan_fill_matrices (TdScan *scan, const PhantomSource *source)
{
  const TdPhantomScan *spec = &source->spec;
  TdGeometry *geometry = &scan->facts.geometry;
  double vectors[12];

  scan->facts.centre_px = NAN;
  geometry->n_view_matrices = spec->n_views;
  geometry->view_matrices = g_new (double, 12 * (gsize) spec->n_views);
  for (guint view = 0; view < spec->n_views; view++) {
    phantom_view_vectors (source, view, vectors);
    td_matrix_from_vectors (vectors, spec->n_columns, spec->n_rows,
                            geometry->view_matrices + 12 * (gsize) view);
  }
}

static void
phantom_scan_fill_facts (TdScan *scan, const PhantomSource *source)
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
  facts->centre_px = spec->centre_unsaid ? NAN : source->centre_px;
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
  const TdPhantom *phantom = td_phantom_find (spec->phantom, error);
  if (!phantom)
    return NULL;

  PhantomSource *source = g_new (PhantomSource, 1);
  *source = phantom_scan_derive (spec);
  source->spec.phantom = phantom->name;
  source->phantom = phantom;
  source->angles_rad = g_new (double, spec->n_views);
  guint steps = spec->end_point ? MAX (spec->n_views - 1, 1) : spec->n_views;
  for (guint v = 0; v < spec->n_views; v++)
    source->angles_rad[v] = (spec->first_deg + spec->range_deg * v / steps) * G_PI / 180;
  phantom_camera_init (source);

  g_autofree char *path = g_strconcat ("phantom:", spec->phantom, NULL);
  TdScan *scan = td_scan_alloc (path, &vtable, source);
  phantom_scan_fill_facts (scan, source);
  if (!td_scan_validate (scan, error)) {
    td_scan_unref (scan);
    return NULL;
  }
  return scan;
}
