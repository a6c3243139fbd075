/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "angles.h"
#include "error.h"
#include "geometry-json.h"
#include "nexus-angles.h"
#include "nexus-find.h"
#include "scan-hdf5.h"

/* NXtomo's image_key. image_key_control may hold -1 too: pictures taken for alignment. */
enum { KEY_ALIGNMENT = -1, KEY_PROJECTION = 0, KEY_FLAT = 1, KEY_DARK = 2 };

static gboolean
nexus_probe (const char *path, const TdScanOptions *options)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_probe (path) ? td_h5_open (path, NULL) : -1;

  return file >= 0 && td_nexus_probe (file, options->dataset);
}

/* @name in the @i-th of the places where flavours of NXtomo keep what belongs to frames. */
static char *
place_path (const TdNexusPlace *place, guint i, const char *name)
{
  switch (i) {
  case 0: return g_strdup_printf ("%s/%s", place->detector ? place->detector : "", name);
  case 1: return g_strdup_printf ("%s/instrument/detector/%s", place->entry, name);
  case 2: return g_strdup_printf ("%s/instrument/%s/%s", place->entry, name, name);
  case 3: return g_strdup_printf ("%s/data/%s", place->entry, name);
  default: return NULL;
  }
}

/* @n numbers called @name; NULL without error: there are none. */
static double *
read_keys (hid_t file, const TdNexusPlace *place, const char *name, gsize n, const char *file_name,
           GError **error)
{
  gsize other = 0;

  for (guint i = 0; i < 4; i++) {
    g_autofree char *path = place_path (place, i, name);
    g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, NULL);
    g_autofree double *keys = NULL;
    gsize found;

    keys = dataset >= 0 ? td_h5_numbers (dataset, path, &found, NULL) : NULL;
    if (keys && found == n)
      return g_steal_pointer (&keys);
    if (keys)
      other = found;
  }
  if (other)
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "“%s”: %s has %" G_GSIZE_FORMAT " entries for %" G_GSIZE_FORMAT
                  " frames; the scan "
                  "was probably cut short",
                  file_name, name, other, n);
  return NULL;
}

/* Which frames are what. */
static gboolean
sort_frames (TdScan *scan, TdH5Source *source, hid_t file, const TdNexusPlace *place,
             guint *n_alignment, GError **error)
{
  g_autoptr (GError) local = NULL;
  guint n = td_h5_frames_count (source->frames[0]), count[3] = { 0 };
  g_autofree double *keys = read_keys (file, place, "image_key", n, scan->facts.path, &local);
  g_autofree double *control = NULL;
  g_autofree double *positions = g_new (double, n);

  if (local) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  control = read_keys (file, place, "image_key_control", n, scan->facts.path, NULL);
  for (guint kind = 0; kind < 3; kind++)
    source->indices[kind] = g_new (guint, n);
  for (guint i = 0; i < n; i++) {
    double key = control ? control[i] : keys ? keys[i] : KEY_PROJECTION;
    guint kind = key == KEY_FLAT   ? TD_FRAME_FLAT
                 : key == KEY_DARK ? TD_FRAME_DARK
                                   : TD_FRAME_PROJECTION;

    if (key != KEY_PROJECTION && key != KEY_FLAT && key != KEY_DARK)
      continue; /* invalid, or for alignment */
    if (kind == TD_FRAME_FLAT)
      positions[count[kind]] = count[TD_FRAME_PROJECTION];
    source->indices[kind][count[kind]++] = i;
  }
  if (!keys && !control)
    td_scan_note (scan, "There is no image_key: all %u frames were taken as projections.", n);
  for (guint i = 0; control && i < n;
       i++) /* behind the views: scan_nexus_take_angles() hands them on */
    if (control[i] == KEY_ALIGNMENT)
      source->indices[TD_FRAME_PROJECTION][count[TD_FRAME_PROJECTION] + (*n_alignment)++] = i;
  if (*n_alignment)
    td_scan_note (scan,
                  "%u frames were taken for alignment: they are not among the views, but help to "
                  "find the axis.",
                  *n_alignment);
  if (count[0] + count[1] + count[2] + *n_alignment < n)
    td_scan_note (scan, "%u of %u frames are marked as invalid and are left out.",
                  n - count[0] - count[1] - count[2] - *n_alignment, n);
  scan->facts.n_views = count[TD_FRAME_PROJECTION];
  scan->facts.n_flats = count[TD_FRAME_FLAT];
  scan->facts.n_darks = count[TD_FRAME_DARK];
  scan->facts.flat_positions = g_memdup2 (positions, count[TD_FRAME_FLAT] * sizeof (double));
  return TRUE;
}

static void
take_alignment (TdScan *scan, const guint *frames, guint n, const double *angles)
{
  g_autofree double *extra = g_new (double, n);

  for (guint i = 0; i < n; i++) {
    extra[i] = angles[frames[i]];
    if (!isfinite (extra[i]))
      return;
  }
  td_scan_take_extra (scan, extra, n);
}

static gboolean
scan_nexus_take_angles (TdScan *scan, const TdH5Source *source, hid_t file,
                        const TdNexusPlace *place, guint n_alignment, const TdScanOptions *options,
                        GError **error)
{
  TdScanFacts *facts = &scan->facts;
  guint n_frames = td_h5_frames_count (source->frames[0]);
  g_autofree double *angles = NULL;
  g_autofree char *note = NULL;
  gsize n = 0;

  if (facts->n_views == 0)
    return TRUE; /* validation says so */
  if (options->angles) {
    facts->angles_rad
        = td_angles_for_views (options->angles, facts->path, NULL, facts->n_views, &note, error);
    if (note)
      td_scan_note (scan, "%s", note);
    return facts->angles_rad != NULL;
  }
  angles = td_nexus_read_angles (file, place, n_frames, facts->n_views, scan, &n, error);
  if (!angles)
    return FALSE;
  facts->angles_rad = g_new (double, facts->n_views);
  for (guint i = 0; i < facts->n_views; i++)
    facts->angles_rad[i] = angles[n == n_frames ? source->indices[TD_FRAME_PROJECTION][i] : i];
  if (n == n_frames)
    take_alignment (scan, source->indices[TD_FRAME_PROJECTION] + facts->n_views, n_alignment,
                    angles);
  return TRUE;
}

/* Metres where NeXus files state no unit, unless that would be a pixel as large as a detector. */
static double
pixel_mm (TdScan *scan, hid_t detector, const char *name)
{
  g_auto (TdH5Id) dataset = td_h5_find_dataset (detector, name, NULL);
  g_autofree char *units = dataset >= 0 ? td_h5_units (dataset) : NULL;
  double value = 0;

  if (dataset < 0 || !td_h5_number (detector, name, &value))
    return 0;
  if (units) {
    const double length = td_h5_length_mm (detector, name, 1);
    if (value > 0 && length == 0)
      td_scan_note (
          scan, "The unit “%.20s” of %s is not known: the pixel's size is not either ({pixel-mm}).",
          units, name);
    return length;
  }
  td_scan_note (scan, "%s has no unit; %s were taken.", name,
                value < 5e-4 ? "metres" : "millimetres");
  return value < 5e-4 ? value * 1e3 : value;
}

static void
take_pixel_size (TdScan *scan, hid_t detector, hid_t entry)
{
  TdGeometry *geometry = &scan->facts.geometry;
  double sample = td_h5_length_mm (entry, "sample/x_pixel_size", 1e3);

  geometry->pixel_width_mm = pixel_mm (scan, detector, "x_pixel_size");
  geometry->pixel_height_mm = pixel_mm (scan, detector, "y_pixel_size");
  if (sample > 0 && isfinite (sample)
      && fabs (sample - geometry->pixel_width_mm) > 1e-6 * geometry->pixel_width_mm) {
    td_scan_note (scan,
                  "The pixel size at the sample (%g mm) differs from the detector's (%g mm): "
                  "the sample's was taken.",
                  sample, geometry->pixel_width_mm);
    geometry->pixel_width_mm = geometry->pixel_height_mm = sample;
  }
  if (!(geometry->pixel_width_mm > 0) || !isfinite (geometry->pixel_width_mm))
    geometry->pixel_width_mm = 0;
  if (!(geometry->pixel_height_mm > 0) || !isfinite (geometry->pixel_height_mm))
    geometry->pixel_height_mm = geometry->pixel_width_mm;
}

static void
take_centre (TdScan *scan, hid_t detector)
{
  TdScanFacts *facts = &scan->facts;
  double middle = (facts->n_columns - 1) / 2.0, value;

  if (!td_h5_number (detector, "estimated_cor_from_motor", &value))
    return;
  /* Relative to the middle by convention; some files state the column itself. */
  facts->centre_px = fabs (value) <= middle + 0.5 ? middle + value : value;
  td_scan_note (scan,
                "The file's own estimate of the centre of rotation, from the motor position "
                "(%g), is column %.2f%s.",
                value, facts->centre_px,
                scan->flip_columns ? " of the frames as they are stored" : "");
}

static void
take_flips (TdScan *scan, hid_t detector)
{
  double x = 0, y = 0;

  td_h5_number (detector, "x_flipped", &x);
  td_h5_number (detector, "y_flipped", &y);
  scan->flip_columns = x != 0;
  scan->flip_rows = y != 0;
  if (x != 0 || y != 0)
    td_scan_note (scan,
                  "The file says that its frames are mirrored (%s%s%s): they are turned over as "
                  "they are read.",
                  x != 0 ? "x_flipped" : "", x != 0 && y != 0 ? ", " : "",
                  y != 0 ? "y_flipped" : "");
}

static void
take_energy (TdScan *scan, hid_t entry)
{
  static const char *const places[] = { "beam/incident_energy", "instrument/beam/incident_energy",
                                        "sample/beam/incident_energy" };

  for (guint i = 0; i < G_N_ELEMENTS (places) && !(scan->facts.energy_kev > 0); i++)
    scan->facts.energy_kev = td_h5_energy_kev (entry, places[i]);
}

static void
scan_nexus_take_title (TdScan *scan, hid_t entry)
{
  g_autofree char *title = td_h5_string (entry, "title");

  if (title && *title) {
    g_free (scan->facts.title);
    scan->facts.title = g_steal_pointer (&title);
  }
}

/* What the scan writer stored of a cone beam and of logarithms: NXtomo has no words for either. */
static gboolean
scan_nexus_take_geometry (TdScan *scan, hid_t entry, GError **error)
{
  g_autofree char *json = td_h5_string (entry, "tomodesk_geometry");
  g_autofree char *values = td_h5_string (entry, "tomodesk_values");
  TdGeometry geometry;

  scan->values_stated = values != NULL;
  scan->facts.transmission_logged = values && g_str_equal (values, "attenuation");
  if (!json)
    return TRUE;
  if (!td_geometry_from_json (json, scan->facts.path, &geometry, error))
    return FALSE;
  td_geometry_clear (&scan->facts.geometry);
  scan->facts.geometry = geometry;
  return TRUE;
}

static gboolean
scan_nexus_take_details (TdScan *scan, hid_t file, const TdNexusPlace *place, GError **error)
{
  g_auto (TdH5Id) entry = td_h5_find (file, *place->entry ? place->entry : "/", NULL);
  g_auto (TdH5Id) detector = place->detector ? td_h5_find (file, place->detector, NULL) : -1;
  g_autofree char *view = NULL;

  if (entry < 0)
    return TRUE;
  scan_nexus_take_title (scan, entry);
  take_energy (scan, entry);
  if (detector >= 0) {
    take_pixel_size (scan, detector, entry);
    take_flips (scan, detector);
    take_centre (scan, detector);
    view = td_h5_string (detector, "field_of_view");
    scan->facts.half_acquisition = view && g_ascii_strcasecmp (view, "half") == 0;
    scan->facts.propagation_mm = td_h5_length_mm (detector, "distance", 1e3);
  }
  return scan_nexus_take_geometry (scan, entry, error);
}

static TdScan *
nexus_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
            GError **error)
{
  TD_H5_GUARD;
  TdH5Source *source;
  g_autoptr (TdScan) scan = td_h5_scan_new (path, FALSE, &source);
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_auto (TdNexusPlace) place = { 0 };
  g_autofree char *label = NULL;
  TdH5Frames *frames;
  guint n_alignment = 0;

  if (file < 0 || !td_nexus_find (file, path, options->dataset, &place, error))
    return NULL;
  label = td_h5_label (path, place.frames_path);
  frames = td_h5_frames_new (place.frames, label, error);
  if (!frames)
    return NULL;
  for (guint kind = 0; kind < 3; kind++)
    source->frames[kind] = frames;
  td_h5_scan_take_size (scan, frames);
  scan->facts.format = g_strdup (place.defined ? "NXtomo (HDF5)" : "NeXus (HDF5)");
  if (place.n_entries > 1)
    td_scan_note (scan, "The file holds %u scans; %s was taken.", place.n_entries, place.entry);
  if (!place.defined)
    td_scan_note (scan, "The file defines no NXtomo entry; the frames of %s were taken.",
                  place.frames_path);
  if (!sort_frames (scan, source, file, &place, &n_alignment, error)
      || !scan_nexus_take_angles (scan, source, file, &place, n_alignment, options, error)
      || !scan_nexus_take_details (scan, file, &place, error) || !td_scan_validate (scan, error))
    return NULL;
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_nexus = { "NXtomo (HDF5)", nexus_probe, nexus_open };
