/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-hdf5.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "unit.h"

static gboolean
scan_hdf5_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
                GCancellable *cancellable, GError **error)
{
  TdH5Source *own = source;
  TdH5Frames *more = own->more[range->kind];
  const guint *indices
      = own->indices[range->kind] ? own->indices[range->kind] + range->first : NULL;
  const guint n = more ? td_h5_frames_facts (own->frames[range->kind])->n_frames : G_MAXUINT;
  TdFrameRange first = *range, rest = *range;
  TdFrameTarget behind = *target;

  first.count = range->first < n ? MIN (range->count, n - range->first) : 0;
  if (first.count > 0
      && !td_h5_frames_fill (own->frames[range->kind], indices, &first, target, cancellable, error))
    return FALSE;
  rest.count = range->count - first.count;
  if (rest.count == 0)
    return TRUE;
  rest.first = range->first + first.count - n;
  behind.values = td_frame_target_row (target, first.count, 0);
  return td_h5_frames_fill (more, NULL, &rest, &behind, cancellable, error);
}

static void
scan_hdf5_free (gpointer source)
{
  TdH5Source *own = source;

  for (guint i = 0; i < G_N_ELEMENTS (own->frames); i++) {
    TdH5Frames *frames = own->frames[i];

    for (guint j = i; j < G_N_ELEMENTS (own->frames); j++)
      if (own->frames[j] == frames)
        own->frames[j] = NULL;
    g_clear_pointer (&frames, td_h5_frames_free);
    g_clear_pointer (&own->more[i], td_h5_frames_free);
    g_free (own->indices[i]);
  }
  g_free (own);
}

static const TdScanSource hdf5_vtable
    = { .fill = scan_hdf5_fill, .free = scan_hdf5_free, .stored = TRUE };

TdScan *
td_h5_scan_new (const char *path, gboolean by_rows, TdH5Source **source)
{
  *source = g_new0 (TdH5Source, 1);
  TdScan *scan = td_scan_alloc (path, &hdf5_vtable, *source);
  scan->facts.sinogram_order = by_rows;
  return scan;
}

TdH5FramesFlags
td_h5_scan_flags (const TdScanOptions *options)
{
  return options->allow_external ? TD_H5_FRAMES_EXTERNAL : 0;
}

static void
scan_hdf5_add_sources (TdScan *scan, const TdH5Frames *frames)
{
  const TdH5Absent *absent = &td_h5_frames_facts (frames)->absent;

  td_scan_add_sources (scan, (const char *const *) absent->from->pdata, absent->from->len);
}

void
td_h5_scan_take_absent (TdScan *scan, const TdH5Frames *frames, const guint *indices)
{
  const TdH5Absent *absent = &td_h5_frames_facts (frames)->absent;
  TdScanFacts *facts = &scan->facts;
  gboolean any = FALSE;

  scan_hdf5_add_sources (scan, frames);
  if (absent->n_absent == 0)
    return;
  facts->absent = g_new0 (guint8, MAX (facts->n_views, 1));
  for (guint i = 0; i < facts->n_views; i++)
    any |= facts->absent[i] = absent->frames[indices ? indices[i] : i];
  if (any)
    facts->absent_why = g_strdup (absent->why);
  else
    g_clear_pointer (&facts->absent, g_free);
}

void
td_h5_scan_end_at (TdScan *scan, guint n, const char *path)
{
  TdScanFacts *facts = &scan->facts;

  if (!facts->absent || n < 2 || n >= facts->n_views)
    return;
  for (guint i = 0; i < facts->n_views; i++)
    if (facts->absent[i] != (i >= n))
      return;
  td_scan_note (scan,
                "The file has room for %u projections, but holds %u, as many as there are angles "
                "(%s): these were taken.",
                facts->n_views, n, path);
  for (guint i = 0; facts->flat_positions && i < facts->n_flats; i++)
    facts->flat_positions[i] = MIN (facts->flat_positions[i], n); /* those taken after it */
  facts->n_views = n;
  g_clear_pointer (&facts->absent, g_free);
  g_clear_pointer (&facts->absent_why, g_free);
}

/* Flats or darks that are missing are left out. Returns how many there are. */
static guint
keep_present (TdScan *scan, TdH5Source *source, TdFrameKind kind, const char *label)
{
  const TdH5Absent *absent = &td_h5_frames_facts (source->frames[kind])->absent;
  guint n = 0;

  if (absent->n_absent == 0)
    return absent->n;
  source->indices[kind] = g_new (guint, absent->n);
  for (guint i = 0; i < absent->n; i++)
    if (!absent->frames[i])
      source->indices[kind][n++] = i;
  td_scan_note (scan, "%s lacks %u of its %u frames, which are left out: %p.", label,
                absent->n_absent, absent->n, td_message_unpack (absent->why));
  return n;
}

/* Beside sinograms, flats and darks may lie as these do, or as images: a few of them, or one that
   has two dimensions. Two that are of a single row are rather frame and column. */
static gboolean
scan_hdf5_lies_by_rows (const TdScanFacts *facts, TdFrameKind kind, hid_t dataset)
{
  hsize_t shape[3] = { 0 };
  const int rank = td_h5_shape (dataset, shape, 3);

  if (kind == TD_FRAME_PROJECTION)
    return facts->sinogram_order;
  if (rank == 2)
    return facts->n_rows == 1;
  return facts->sinogram_order && (shape[0] == facts->n_rows || shape[1] != facts->n_rows);
}

/* By attributes of CF and NeXus, values are others than the numbers that are stored. */
static void
scan_hdf5_note_scaled (TdScan *scan, hid_t dataset, const char *label)
{
  static const struct {
    const char *name;
    double nothing;
  } attributes[] = { { "scale_factor", 1 },
                     { "scaling_factor", 1 },
                     { "add_offset", 0 },
                     { "scale", 1 },
                     { "offset", 0 } }; /* the last two: CIL's */

  for (guint i = 0; i < G_N_ELEMENTS (attributes); i++) {
    double value;

    if (td_h5_attribute_numbers (dataset, attributes[i].name, &value, 1)
        && value != attributes[i].nothing)
      td_scan_note (scan, "%s states a %s of %g, which is not applied: values are as stored.",
                    label, attributes[i].name, value);
  }
}

gboolean
td_h5_scan_check_cone (const TdScan *scan, hid_t dataset, const char *path,
                       const TdScanOptions *options, GError **error)
{
  g_autofree char *beam = td_h5_attribute_string (dataset, "geometry");

  if (!beam || !strstr (beam, "cone") || scan->facts.geometry.beam != TD_BEAM_PARALLEL
      || options->geometry || options->source_axis_mm > 0)
    return TRUE;
  return td_set_error (error, TD_ERROR_UNSUPPORTED,
                       "“%s”: the data set “%s” says that its beam is a cone: state the source's "
                       "distances ({sod-mm}, {sdd-mm}), or a geometry file ({geometry:FILE})",
                       scan->facts.path, path);
}

gboolean
td_h5_scan_add (TdScan *scan, TdH5Source *source, TdFrameKind kind, hid_t dataset,
                const char *label, const TdScanOptions *options, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  TdH5FramesFlags flags = td_h5_scan_flags (options);

  if (dataset < 0)
    return TRUE;
  g_auto (TdH5Id) space = H5Dget_space (dataset);
  if (scan_hdf5_lies_by_rows (facts, kind, dataset))
    flags |= TD_H5_FRAMES_BY_ROWS;
  /* No frames, or frames without pixels. */
  if (kind != TD_FRAME_PROJECTION && H5Sget_simple_extent_npoints (space) == 0) {
    td_scan_note (scan,
                  kind == TD_FRAME_FLAT ? N_ ("%s is empty: the scan has no flats ({flats:PATH}).")
                                        : N_ ("%s is empty: the scan has no darks ({darks:PATH})."),
                  label);
    td_h5_close (dataset);
    return TRUE;
  }
  if (kind == TD_FRAME_PROJECTION)
    scan_hdf5_note_scaled (scan, dataset, label);
  TdH5Frames *frames = source->frames[kind] = td_h5_frames_new (dataset, label, flags, error);
  if (!frames)
    return FALSE;
  const TdH5FramesFacts *own = td_h5_frames_facts (frames);
  if (kind == TD_FRAME_PROJECTION) {
    td_h5_scan_take_size (scan, frames);
    facts->n_views = own->n_frames;
    td_h5_scan_take_absent (scan, frames, NULL);
    return TRUE;
  }
  if (own->n_columns != facts->n_columns || own->n_rows != facts->n_rows)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        kind == TD_FRAME_FLAT
            ? N_ ("%s has frames of %u × %u pixels, but the projections have %u × %u: give the "
                  "flats that belong to this scan ({flats:PATH})")
            : N_ ("%s has frames of %u × %u pixels, but the projections have %u × %u: give the "
                  "darks that belong to this scan ({darks:PATH})"),
        label, own->n_columns, own->n_rows, facts->n_columns, facts->n_rows);
  scan_hdf5_add_sources (scan, frames);
  *(kind == TD_FRAME_FLAT ? &facts->n_flats : &facts->n_darks)
      = keep_present (scan, source, kind, label);
  return TRUE;
}

gboolean
td_h5_scan_add_more (TdScan *scan, TdH5Source *source, TdFrameKind kind, hid_t dataset,
                     const char *label, const TdScanOptions *options)
{
  TdScanFacts *facts = &scan->facts;
  const gboolean by_rows = scan_hdf5_lies_by_rows (facts, kind, dataset);
  g_autoptr (TdH5Frames) frames = td_h5_frames_new (
      dataset, label, td_h5_scan_flags (options) | (by_rows ? TD_H5_FRAMES_BY_ROWS : 0), NULL);
  const TdH5FramesFacts *own = frames ? td_h5_frames_facts (frames) : NULL;

  if (!own || source->more[kind] || source->indices[kind] || own->absent.n_absent > 0
      || own->n_columns != facts->n_columns || own->n_rows != facts->n_rows)
    return FALSE;
  scan_hdf5_add_sources (scan, frames);
  *(kind == TD_FRAME_FLAT ? &facts->n_flats : &facts->n_darks) += own->n_frames;
  source->more[kind] = g_steal_pointer (&frames);
  return TRUE;
}

void
td_h5_scan_take_size (TdScan *scan, TdH5Frames *frames)
{
  const TdH5FramesFacts *own = td_h5_frames_facts (frames);

  scan->facts.n_rows = own->n_rows;
  scan->facts.n_columns = own->n_columns;
  scan->facts.sample_type = own->type;
  scan->facts.rows_together = own->rows_together;
  scan->facts.unpack_bytes = own->unpack_bytes;
}

char *
td_h5_label (const char *file, const char *path)
{
  return g_strdup_printf ("“%s”: the data set “%s”", file, path);
}

/* Sizes of metres, then of millimetres, end here; those of micrometres begin. */
#define MOST_METRES 5e-4
#define MOST_MILLIMETRES 0.5

double
td_h5_pixel_mm (TdScan *scan, hid_t location, const char *path, double otherwise)
{
  g_auto (TdH5Id) dataset = td_h5_find_dataset (location, path, NULL);
  g_autofree char *units = dataset >= 0 ? td_h5_units (dataset) : NULL;
  const double unit = dataset >= 0 ? td_h5_length_unit (dataset, otherwise) : 0;
  double value = 0;

  if (dataset < 0)
    return 0;
  if (!td_h5_number (location, path, &value) || !(value > 0) || !isfinite (value * 1e3)) {
    td_scan_note (scan, "%s is no size above 0: the pixel's size is not known ({pixel-mm}).", path);
    return 0;
  }
  if (unit > 0)
    return value * unit;
  if (units) {
    td_scan_note (
        scan, "The unit “%.20s” of %s is not known: the pixel's size is not either ({pixel-mm}).",
        units, path);
    return 0;
  }
  td_scan_note (scan,
                value < MOST_METRES        ? N_ ("%s has no unit; metres were taken.")
                : value < MOST_MILLIMETRES ? N_ ("%s has no unit; millimetres were taken.")
                                           : N_ ("%s has no unit; micrometres were taken."),
                path);
  return value * (value < MOST_METRES ? 1e3 : value < MOST_MILLIMETRES ? 1 : 1e-3);
}

/* What @path holds above 0, by td_h5_quantity(). FALSE: nothing. Of a unit that is not known it is
   0, which is told. @bare: (out): it has no unit. */
static gboolean
scan_hdf5_take_quantity (TdScan *scan, hid_t location, const char *path,
                         double (*unit) (const char *name), gboolean *bare, double *value)
{
  g_auto (TdH5Id) dataset = td_h5_find_dataset (location, path, NULL);
  g_autofree char *units = dataset >= 0 ? td_h5_units (dataset) : NULL;

  if (dataset < 0 || !td_h5_number (location, path, value) || !(*value > 0))
    return FALSE;
  *bare = !units;
  *value = td_h5_quantity (location, path, unit, 1);
  if (*value == 0)
    td_scan_note (scan, "The unit “%.20s” of %s is not known: its number is not used.", units,
                  path);
  return TRUE;
}

#define MOST_KEV 1000 /* numbers above are eV, if nothing says what they are */

void
td_h5_scan_take_energy (TdScan *scan, hid_t location, const char *path)
{
  gboolean bare;
  double kev;

  if (!scan_hdf5_take_quantity (scan, location, path, td_energy_unit, &bare, &kev))
    return;
  if (bare)
    td_scan_note (scan,
                  kev > MOST_KEV ? N_ ("%s (%g) has no unit; eV were taken.")
                                 : N_ ("%s (%g) has no unit; keV were taken."),
                  path, kev);
  scan->facts.energy_kev = bare && kev > MOST_KEV ? kev * 1e-3 : kev;
}

void
td_h5_scan_take_distance (TdScan *scan, hid_t location, const char *path, double otherwise)
{
  gboolean bare;
  double mm;

  if (!scan_hdf5_take_quantity (scan, location, path, td_length_unit, &bare, &mm))
    return;
  if (bare)
    td_scan_note (scan,
                  otherwise > 1 ? N_ ("%s (%g) has no unit; metres were taken.")
                                : N_ ("%s (%g) has no unit; millimetres were taken."),
                  path, mm);
  scan->facts.propagation_mm = bare ? mm * otherwise : mm;
}

void
td_h5_note_exposures (TdScan *scan, double flats, double views, const char *name)
{
  td_scan_note (scan,
                "The flats were exposed for %.4g, the projections for %.4g (%s): unless their "
                "counts were brought to one time, attenuations are wrong, and {prepare=dose} mends "
                "them.",
                flats, views, name);
}

double
td_h5_extent (const double *values, gsize n)
{
  double low = INFINITY, high = -INFINITY;

  for (gsize i = 0; i < n; i++) {
    low = fmin (low, values[i]);
    high = fmax (high, values[i]);
  }
  return high - low;
}

/* Half a turn or a whole one, if they are in radians, the last view a step before its end or at it.
 */
static gboolean
scan_hdf5_turns_in_radians (const double *angles, gsize n)
{
  const double extent = td_h5_extent (angles, n), ends[] = { extent, extent * n / (n - 1.0) };

  for (guint i = 0; n > 2 && i < G_N_ELEMENTS (ends); i++)
    if (fabs (ends[i] / G_PI - 1) < 0.02 || fabs (ends[i] / G_PI - 2) < 0.04)
      return TRUE;
  return FALSE;
}

double *
td_h5_read_angles (hid_t dataset, const char *label, gsize *n, TdScan *scan, GError **error)
{
  TD_H5_GUARD;
  g_autofree double *angles = td_h5_numbers (dataset, label, n, error);
  g_autofree char *name = td_h5_units (dataset);

  if (!angles)
    return NULL;
  double unit = td_h5_angle_unit (dataset);
  if (!name && scan_hdf5_turns_in_radians (angles, *n)) {
    if (scan)
      td_scan_note (scan,
                    "%s has no unit, and in degrees its angles would be no turn; radians were "
                    "taken ({angles} states others).",
                    label);
    unit = 1;
  }
  if (unit == 0) {
    const double extent = td_h5_extent (angles, *n);
    if (!(extent >= 90 && extent <= 725)) /* half of one turn to two */
      return td_set_error_null (
          error, TD_ERROR_ANGLES,
          "The unit “%.20s” of %s is not known, and in degrees its angles would be no "
          "turn: give the angles in degrees ({angles:FILE|FIRST:LAST})",
          name, label);
    if (scan)
      td_scan_note (scan, "The unit “%.20s” of %s is not known; degrees were taken.", name, label);
    unit = G_PI / 180;
  }
  for (gsize i = 0; i < *n; i++)
    angles[i] *= unit;
  return g_steal_pointer (&angles);
}
