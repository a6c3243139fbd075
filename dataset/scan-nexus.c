/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-json.h"
#include "scan-hdf5.h"
#include "unit.h"

/**
 * Where in a NeXus file the scan is. NXtomo by its definition, wherever it stands; without one, a
 * detector that has an image_key and frames (raw files of a beamline's own acquisition).
 */
typedef struct {
  char *entry;      /* path of the group that holds instrument, sample, data */
  gboolean defined; /* it says definition = NXtomo */
  guint n_entries;  /* how many such groups the file has; the first is taken */
  char *entries;    /* their paths, the first few */
  char *detector;   /* path of the detector group; NULL: none, only entry/data */
  hid_t frames;     /* open data set; the caller's; -1: missing */
  char *frames_path;
  char *missing; /* why frames is -1: which linked file is missing; NULL: there is no link */
} NexusPlace;

/* does not close frames */
static void
nexus_place_clear (NexusPlace *place)
{
  g_free (place->entry);
  g_free (place->entries);
  g_free (place->detector);
  g_free (place->frames_path);
  g_free (place->missing);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (NexusPlace, nexus_place_clear)

/* ── Where the scan is ── */

typedef struct {
  GPtrArray *entries;   /* of NXtomo */
  GPtrArray *detectors; /* groups with an image_key and data */
} Found;

static gboolean
has_class (hid_t group, const char *class)
{
  g_autofree char *name = td_h5_attribute_string (group, "NX_class");

  return name && strcmp (name, class) == 0;
}

static gboolean
nexus_find_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_autofree char *definition = H5Lexists (group, "definition", H5P_DEFAULT) > 0
                                    ? td_h5_string (group, "definition")
                                    : NULL;

  if (definition && g_ascii_strcasecmp (definition, "NXtomo") == 0)
    g_ptr_array_add (found->entries, g_strdup (path));
  if (H5Lexists (group, "image_key", H5P_DEFAULT) > 0 && H5Lexists (group, "data", H5P_DEFAULT) > 0
      && has_class (group, "NXdetector"))
    g_ptr_array_add (found->detectors, g_strdup (path));
  return FALSE;
}

/* @wanted is @group, or in it. */
static gboolean
is_in (const char *wanted, const char *group)
{
  gsize length = strlen (group);

  return strcmp (group, "/") == 0
         || (g_str_has_prefix (wanted, group) && (wanted[length] == '\0' || wanted[length] == '/'));
}

/* The entry of the entries that @wanted is in, else the first that is in @wanted. NULL: none. */
static const char *
wanted_entry (const Found *found, const char *wanted)
{
  for (guint i = 0; i < found->entries->len; i++)
    if (!wanted || is_in (wanted, found->entries->pdata[i]))
      return found->entries->pdata[i];
  for (guint i = 0; i < found->entries->len; i++)
    if (is_in (found->entries->pdata[i], wanted))
      return found->entries->pdata[i];
  return NULL;
}

/* Detectors are wanted by what is in them, and by what they are in. */
static gboolean
is_wanted_detector (const char *detector, const char *wanted)
{
  return !wanted || is_in (wanted, detector) || is_in (detector, wanted);
}

/* Cheap: groups are visited, nothing is opened. @wanted: (nullable): path of the entry, of the
   detector or of the data set to take; FALSE if that belongs to none of the scans. */
static gboolean
nexus_has_scan (hid_t file, const char *wanted)
{
  TD_H5_GUARD;
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_free),
                        detectors = g_ptr_array_new_with_free_func (g_free);
  Found found = { entries, detectors };

  td_h5_visit_groups (file, nexus_find_visit, &found);
  if (found.entries->len > 0)
    return wanted_entry (&found, wanted) != NULL;
  for (guint i = 0; i < found.detectors->len; i++)
    if (is_wanted_detector (found.detectors->pdata[i], wanted))
      return TRUE;
  return FALSE;
}

/* Opens @path if it is a data set of frames; remembers the first missing link. */
static gboolean
try_frames (hid_t file, char *path, NexusPlace *place)
{
  g_autofree char *own = path, *missing = NULL;
  hid_t dataset = td_h5_find_dataset (file, path, &missing);
  hsize_t shape[3];

  if (dataset < 0) {
    if (missing && !place->missing)
      place->missing = g_steal_pointer (&missing);
    return FALSE;
  }
  if (td_h5_shape (dataset, shape, 3) != 3) {
    td_h5_close (dataset);
    return FALSE;
  }
  place->frames = dataset;
  place->frames_path = g_steal_pointer (&own);
  return TRUE;
}

static gboolean
try_detector (hid_t file, const char *detector, NexusPlace *place)
{
  if (!try_frames (file, g_strconcat (detector, "/data", NULL), place))
    return FALSE;
  g_free (place->detector);
  place->detector = g_strdup (detector);
  return TRUE;
}

static gboolean
is_below (const char *wanted, const char *group)
{
  return wanted && strlen (wanted) > strlen (group) && is_in (wanted, group);
}

/* The frames themselves were named, or the detector that holds them. */
static gboolean
try_named (hid_t file, const char *wanted, NexusPlace *place)
{
  if (try_detector (file, wanted, place))
    return TRUE;
  if (!try_frames (file, g_strdup (wanted), place))
    return FALSE;
  g_free (place->detector);
  place->detector = g_path_get_dirname (wanted);
  return TRUE;
}

/* The detectors of an NXtomo entry: "detector" by definition, else any in the instrument. */
static gboolean
find_in_entry (hid_t file, const char *entry, NexusPlace *place)
{
  g_autofree char *instrument = g_strconcat (entry, "/instrument", NULL);
  g_autofree char *plain = g_strconcat (instrument, "/detector", NULL);
  g_auto (TdH5Id) group = td_h5_find (file, instrument, NULL);
  g_auto (GStrv) names = group >= 0 ? td_h5_names (group) : NULL;

  if (try_detector (file, plain, place))
    return TRUE;
  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_strconcat (instrument, "/", names[i], NULL);
    g_auto (TdH5Id) child = td_h5_find (file, path, NULL);

    if (child >= 0 && H5Iget_type (child) == H5I_GROUP && has_class (child, "NXdetector")
        && try_detector (file, path, place))
      return TRUE;
  }
  return try_frames (file, g_strconcat (entry, "/data/data", NULL), place);
}

/* /entry/instrument/imaging -> /entry */
static char *
entry_of_detector (const char *detector)
{
  const char *instrument = strstr (detector, "/instrument");

  return instrument && instrument != detector ? g_strndup (detector, instrument - detector)
                                              : g_strdup ("/");
}

static gboolean
set_not_found (hid_t file, const char *file_name, const char *wanted, const NexusPlace *place,
               GError **error)
{
  g_autofree char *frames
      = g_strconcat (place->entry ? place->entry : "", "/instrument/detector/data", NULL);
  g_autofree char *why = td_h5_no_frames (file, wanted ? wanted : frames);

  if (why)
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "“%s”: %p", file_name,
                         td_message_unpack (why));
  if (wanted && !place->missing)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” holds no frames at “%s”; name the scan's group or the data set of its frames "
        "({dataset})",
        file_name, wanted);
  if (place->missing)
    return td_set_error (error, TD_ERROR_NOT_FOUND,
                         "“%s” cannot be opened: %p; copy it beside the file", file_name,
                         td_message_unpack (place->missing));
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "“%s” says that it is an NXtomo scan, but it holds no frames (%s/instrument/"
                       "detector/data)",
                       file_name, place->entry ? place->entry : "");
}

#define MOST_COMPLAINTS 8 /* that a sentence names */

/* Several detectors may be listed of which not all were copied: those that are there are taken. */
static gboolean
find_detector (hid_t file, const char *file_name, const char *wanted, const Found *found,
               NexusPlace *place, GError **error)
{
  g_autoptr (TdMessage) complaints = NULL;
  guint n = 0;

  for (guint i = 0; i < found->detectors->len; i++) {
    const char *path = found->detectors->pdata[i];

    g_clear_pointer (&place->missing, g_free);
    if (!is_wanted_detector (path, wanted))
      continue;
    if (is_below (wanted, path) ? try_named (file, wanted, place)
                                : try_detector (file, path, place)) {
      g_clear_pointer (&place->missing, g_free);
      place->entry = entry_of_detector (path);
      return TRUE;
    }
    if (place->missing && n++ < MOST_COMPLAINTS) {
      TdMessage *one = td_message_new ("%p (%s)", td_message_unpack (place->missing), path);
      complaints = complaints ? td_message_new ("%p, %p", g_steal_pointer (&complaints), one) : one;
    }
  }
  if (n > MOST_COMPLAINTS)
    complaints
        = td_message_new ("%p, and %u more", g_steal_pointer (&complaints), n - MOST_COMPLAINTS);
  g_free (place->missing);
  place->missing = complaints ? td_message_pack (complaints) : NULL;
  return set_not_found (file, file_name, wanted, place, error);
}

#define NAMED 5

static char *
name_some (const GPtrArray *entries)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < MIN (entries->len, NAMED); i++)
    g_string_append_printf (names, "%s%s", i ? ", " : "", (char *) entries->pdata[i]);
  return g_string_free (g_string_append (names, entries->len > NAMED ? ", …" : ""), FALSE);
}

/* FALSE with @error naming the file when there is no scan in it, or @wanted is none of its frames.
   On success frames is open. */
static gboolean
nexus_find (hid_t file, const char *file_name, const char *wanted, NexusPlace *place,
            GError **error)
{
  TD_H5_GUARD;
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_free),
                        detectors = g_ptr_array_new_with_free_func (g_free);
  Found found = { entries, detectors };

  memset (place, 0, sizeof *place);
  place->frames = -1;
  td_h5_visit_groups (file, nexus_find_visit, &found);
  if (found.entries->len == 0)
    return find_detector (file, file_name, wanted, &found, place, error);

  const char *entry = wanted_entry (&found, wanted);
  if (!entry)
    return set_not_found (file, file_name, wanted, place, error);
  place->n_entries = found.entries->len;
  place->entries = name_some (found.entries);
  place->defined = TRUE;
  place->entry = g_strdup (strcmp (entry, "/") == 0 ? "" : entry);
  if (is_below (wanted, entry) ? try_named (file, wanted, place)
                               : find_in_entry (file, place->entry, place)) {
    g_clear_pointer (&place->missing, g_free);
    return TRUE;
  }
  return set_not_found (file, file_name, wanted, place, error);
}

/* ── Angles ── */

/* Half of this apart and two lists of angles are held to say the same. */
#define SAME_RAD 1e-4

typedef struct {
  hid_t file;
  const NexusPlace *place;
  gsize n_frames, n_projections;
  TdScan *scan;
  char *missing;
  GError *unknown; /* why angles that are there say nothing */
} Search;

/* @path's angles if there is one for each frame or each projection; NULL otherwise. @noted:
   (nullable): the scan that is told what had to be guessed. */
static double *
try_path (Search *search, const char *path, TdScan *noted, gsize *n)
{
  g_autofree char *missing = NULL, *label = td_h5_label (td_scan_facts (search->scan)->path, path);
  g_auto (TdH5Id) dataset = td_h5_find_dataset (search->file, path, &missing);

  if (missing && !search->missing)
    search->missing = g_steal_pointer (&missing);
  if (dataset < 0)
    return NULL;
  double *angles
      = td_h5_read_angles (dataset, label, n, noted, search->unknown ? NULL : &search->unknown);
  if (angles && *n != search->n_frames && *n != search->n_projections)
    g_clear_pointer (&angles, g_free);
  return angles;
}

static gboolean
nexus_angles_same (const double *a, const double *b, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (!(fabs (a[i] - b[i]) < SAME_RAD))
      return FALSE;
  return TRUE;
}

static double *
find_defined (Search *search, gsize *n)
{
  static const char *const places[]
      = { "sample/rotation_angle", "data/rotation_angle", "instrument/detector/rotation_angle" };
  double *taken = NULL;
  guint taken_at = 0;

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree char *path = g_strconcat (search->place->entry, "/", places[i], NULL);
    g_autofree double *angles = NULL;
    gsize found;

    angles = try_path (search, path, taken ? NULL : search->scan, &found);
    if (angles && !taken) {
      taken = g_steal_pointer (&angles);
      taken_at = i;
      *n = found;
    } else if (angles && found == *n && !nexus_angles_same (taken, angles, found))
      td_scan_note (search->scan, "%s and %s disagree: the angles of %s were taken.",
                    places[taken_at], places[i], places[taken_at]);
  }
  return taken;
}

static gboolean
is_angle_name (const char *name)
{
  static const char *const words[] = { "theta", "angle", "rot", "omega", "phi", NULL };
  g_autofree char *low = g_ascii_strdown (name, -1);

  for (guint i = 0; words[i]; i++)
    if (strstr (low, words[i]))
      return TRUE;
  return FALSE;
}

static double *
find_in_data_group (Search *search, gsize *n)
{
  g_autofree char *detector
      = search->place->detector ? g_path_get_basename (search->place->detector) : g_strdup ("data");
  g_autofree char *data = g_strconcat (search->place->entry, "/", detector, NULL);
  g_auto (TdH5Id) group = td_h5_find (search->file, data, NULL);
  g_auto (GStrv) names
      = group >= 0 && H5Iget_type (group) == H5I_GROUP ? td_h5_names (group) : NULL;

  for (guint i = 0; names && names[i]; i++) {
    g_autofree char *path = g_strconcat (data, "/", names[i], NULL);
    g_autofree double *angles = NULL;

    if (!is_angle_name (names[i]))
      continue;
    angles = try_path (search, path, search->scan, n);
    if (angles && (*n == 1 || td_h5_extent (angles, *n) > SAME_RAD)) {
      td_scan_note (search->scan, "The file defines no rotation angle; %s was taken.", path);
      return g_steal_pointer (&angles);
    }
  }
  return NULL;
}

static double *
nexus_read_angles (hid_t file, const NexusPlace *place, guint n_frames, guint n_projections,
                   TdScan *scan, gsize *n, GError **error)
{
  TD_H5_GUARD;
  Search search = { file, place, n_frames, n_projections, scan, NULL, NULL };
  double *angles = find_defined (&search, n);

  if (!angles)
    angles = find_in_data_group (&search, n);
  if (!angles && search.missing)
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "“%s” has no angles: %p; copy it beside the file, or give the angles "
                  "({angles:FILE|FIRST:LAST})",
                  td_scan_facts (scan)->path, td_message_unpack (search.missing));
  else if (!angles && g_error_matches (search.unknown, TD_ERROR, TD_ERROR_ANGLES))
    g_propagate_error (error, g_steal_pointer (&search.unknown));
  else if (!angles)
    td_set_error (error, TD_ERROR_ANGLES,
                  "“%s” has no rotation angle for each of its %u frames: give a file of angles, or "
                  "the first and the last angle in degrees, for example 0:180 "
                  "({angles:FILE|FIRST:LAST})",
                  td_scan_facts (scan)->path, n_frames);
  g_free (search.missing);
  g_clear_error (&search.unknown);
  return angles;
}

/* ── The scan ── */

/* NXtomo's image_key. image_key_control may hold -1 too: pictures taken for alignment. */
enum { KEY_ALIGNMENT = -1, KEY_PROJECTION = 0, KEY_FLAT = 1, KEY_DARK = 2 };

static gboolean
nexus_probe (const char *path, const TdScanOptions *options)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) file = td_h5_probe (path) ? td_h5_open (path, NULL) : -1;

  return file >= 0 && nexus_has_scan (file, options->dataset);
}

#define N_PLACES 5u
#define PLACE_ABOVE 4u /* of all frames of the entry around this one */

/* @name in the @i-th of the places where flavours of NXtomo keep what belongs to frames. */
static char *
place_path (const NexusPlace *place, guint i, const char *name)
{
  switch (i) {
  case 0: return g_strdup_printf ("%s/%s", place->detector ? place->detector : "", name);
  case 1: return g_strdup_printf ("%s/instrument/detector/%s", place->entry, name);
  case 2: return g_strdup_printf ("%s/instrument/%s/%s", place->entry, name, name);
  case 3: return g_strdup_printf ("%s/data/%s", place->entry, name);
  default: {
    g_autofree char *above = g_path_get_dirname (place->entry);

    return g_build_path ("/", above, "instrument", name, name, NULL);
  }
  }
}

/* @n numbers called @name; NULL without error: there are none. */
static double *
read_keys (hid_t file, const NexusPlace *place, const char *name, gsize n, const char *file_name,
           GError **error)
{
  gboolean words = FALSE;
  gsize other = 0;

  for (guint i = 0; i < N_PLACES; i++) {
    g_autofree char *path = place_path (place, i, name);
    g_auto (TdH5Id) dataset = td_h5_find_dataset (file, path, NULL);
    g_autofree double *keys = NULL;
    gsize found;

    keys = dataset >= 0 ? td_h5_numbers (dataset, path, &found, NULL) : NULL;
    if (keys && found == n)
      return g_steal_pointer (&keys);
    if (i == PLACE_ABOVE)
      break;
    if (keys)
      other = found;
    words |= dataset >= 0 && !keys;
  }
  if (other)
    td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: %s has %zu entries for %zu frames: the scan was probably stopped early, or "
        "its frames are not stored as frame, row, column; write an entry for each frame",
        file_name, name, other, n);
  else if (words)
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "“%s”: %s holds no list of numbers; write 0 for a projection, 1 for a flat and 2 "
                  "for a dark",
                  file_name, name);
  return NULL;
}

/* Which frames are what. */
static gboolean
sort_frames (TdScan *scan, TdH5Source *source, hid_t file, const NexusPlace *place,
             guint *n_alignment, GError **error)
{
  g_autoptr (GError) local = NULL;
  const TdH5FramesFacts *frames = td_h5_frames_facts (source->frames[0]);
  const TdH5Absent *absent = &frames->absent;
  guint n = frames->n_frames, count[3] = { 0 }, n_left = 0, n_unaligned = 0;
  g_autofree double *keys = read_keys (file, place, "image_key", n, scan->facts.path, &local);
  g_autofree double *positions = g_new (double, n);

  if (local) {
    g_propagate_error (error, g_steal_pointer (&local));
    return FALSE;
  }
  g_autofree double *control
      = read_keys (file, place, "image_key_control", n, scan->facts.path, NULL);
  for (guint kind = 0; kind < 3; kind++)
    source->indices[kind] = g_new (guint, n);
  for (guint i = 0; i < n; i++) {
    double key = control ? control[i] : keys ? keys[i] : KEY_PROJECTION;
    guint kind = key == KEY_FLAT   ? TD_FRAME_FLAT
                 : key == KEY_DARK ? TD_FRAME_DARK
                                   : TD_FRAME_PROJECTION;

    if (key != KEY_PROJECTION && key != KEY_FLAT && key != KEY_DARK)
      continue; /* invalid, or for alignment */
    if (kind != TD_FRAME_PROJECTION && absent->frames && absent->frames[i]) {
      n_left++;
      continue;
    }
    if (kind == TD_FRAME_FLAT)
      positions[count[kind]] = count[TD_FRAME_PROJECTION];
    source->indices[kind][count[kind]++] = i;
  }
  if (!keys && !control)
    td_scan_note (scan, "There is no image_key: all %u frames were taken as projections.", n);
  for (guint i = 0; control && i < n;
       i++) /* behind the views: scan_nexus_take_angles() hands them on */
    if (control[i] == KEY_ALIGNMENT && absent->frames && absent->frames[i])
      n_unaligned++;
    else if (control[i] == KEY_ALIGNMENT)
      source->indices[TD_FRAME_PROJECTION][count[TD_FRAME_PROJECTION] + (*n_alignment)++] = i;
  if (*n_alignment)
    td_scan_note (scan,
                  "%u [frame was taken for alignment: it is|frames were taken for alignment: they "
                  "are] not among the views, but [helps|help] to find the axis.",
                  *n_alignment);
  if (n_left)
    td_scan_note (
        scan,
        "%u [flat or dark is missing and is|flats and darks are missing and are] left out: %p.",
        n_left, td_message_unpack (absent->why));
  if (n_unaligned)
    td_scan_note (scan,
                  "%u [frame for alignment is missing and is|frames for alignment are missing and "
                  "are] left out: %p.",
                  n_unaligned, td_message_unpack (absent->why));
  n -= n_left + n_unaligned;
  if (count[0] + count[1] + count[2] + *n_alignment < n)
    td_scan_note (scan, "Of %u frames, %u [is|are] marked as invalid and left out.", n,
                  n - count[0] - count[1] - count[2] - *n_alignment);
  scan->facts.n_views = count[TD_FRAME_PROJECTION];
  scan->facts.n_flats = count[TD_FRAME_FLAT];
  scan->facts.n_darks = count[TD_FRAME_DARK];
  td_h5_scan_take_absent (scan, source->frames[0], source->indices[TD_FRAME_PROJECTION]);
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
scan_nexus_take_angles (TdScan *scan, const TdH5Source *source, hid_t file, const NexusPlace *place,
                        guint n_alignment, const TdScanOptions *options, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  guint n_frames = td_h5_frames_facts (source->frames[0])->n_frames;
  g_autofree double *angles = NULL;
  gsize n = 0;

  if (facts->n_views == 0)
    return TRUE; /* validation says so */
  if (options->angles)
    return td_scan_take_angles (scan, options->angles, NULL, error);
  angles = nexus_read_angles (file, place, n_frames, facts->n_views, scan, &n, error);
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

/* 0: none is stated that could be; the detector's is another. */
static double
sample_pixel_mm (TdScan *scan, hid_t entry, const char *path)
{
  return td_h5_quantity (entry, path, td_length_unit, 1) > 0 ? td_h5_pixel_mm (scan, entry, path, 0)
                                                             : 0;
}

static void
take_pixel_size (TdScan *scan, hid_t detector, hid_t entry)
{
  TdGeometry *geometry = &scan->facts.geometry;
  const double sample = sample_pixel_mm (scan, entry, "sample/x_pixel_size"),
               high = sample_pixel_mm (scan, entry, "sample/y_pixel_size");

  geometry->pixel_width_mm = td_h5_pixel_mm (scan, detector, "x_pixel_size", 0);
  geometry->pixel_height_mm = td_h5_pixel_mm (scan, detector, "y_pixel_size", 0);
  if (sample > 0 && fabs (sample - geometry->pixel_width_mm) > 1e-6 * geometry->pixel_width_mm) {
    if (geometry->pixel_width_mm > 0)
      td_scan_note (scan,
                    "The pixel size at the sample (%g mm) differs from the detector's (%g mm): "
                    "the sample's was taken.",
                    sample, geometry->pixel_width_mm);
    geometry->pixel_width_mm = sample;
    geometry->pixel_height_mm = high > 0 ? high : sample;
  }
  if (!(geometry->pixel_height_mm > 0))
    geometry->pixel_height_mm = geometry->pixel_width_mm;
}

/* The number that @name of @group holds. FALSE: it is not there, or holds none, which is told. */
static gboolean
take_number (TdScan *scan, hid_t group, const char *name, double *value)
{
  g_auto (TdH5Id) dataset = td_h5_find_dataset (group, name, NULL);

  if (dataset < 0)
    return FALSE;
  if (td_h5_number (group, name, value))
    return TRUE;
  td_scan_note (scan, "The file's “%.60s” holds no number, and is not used.", name);
  return FALSE;
}

/* Since nxtomo 3.1 half_acquisition says it, before that field_of_view. TRUE: one of them does. */
static gboolean
take_half (TdScan *scan, hid_t detector)
{
  g_autofree char *view = td_h5_string (detector, "field_of_view");
  const gboolean by_view = view && g_ascii_strcasecmp (view, "half") == 0;
  double half = 0;
  const gboolean stated = take_number (scan, detector, "half_acquisition", &half);

  scan->facts.half_acquisition = stated ? half != 0 : by_view;
  if (stated && view && by_view != (half != 0))
    td_scan_note (scan, "half_acquisition and field_of_view disagree: half_acquisition was taken.");
  return stated || view;
}

/* Is a column as far from the middle as an axis is in half acquisition, and only there? */
static gboolean
is_aside (const TdScanFacts *facts, double column)
{
  return fabs (column - (facts->n_columns - 1) / 2.0) > facts->n_columns / 8.0;
}

/* nxtomo's documents call the position absolute, but the programs that write and read it
   (nxtomomill, nabu) count it from the middle. So does this, unless that is outside the detector or
   contradicts what is known of half acquisition, and the column itself does not. */
static double
axis_column (const TdScanFacts *facts, double value, gboolean half_known)
{
  const double middle = (facts->n_columns - 1) / 2.0, relative = middle + value;
  const gboolean inside = value >= 0 && value <= facts->n_columns - 1;

  if (fabs (value) > middle + 0.5)
    return value;
  if (half_known && inside && is_aside (facts, relative) != facts->half_acquisition
      && is_aside (facts, value) == facts->half_acquisition)
    return value;
  return relative;
}

static void
take_centre (TdScan *scan, hid_t detector, gboolean half_known)
{
  static const char *const names[]
      = { "x_rotation_axis_pixel_position", "estimated_cor_from_motor" };
  TdScanFacts *facts = &scan->facts;
  double value;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    if (!take_number (scan, detector, names[i], &value))
      continue;
    facts->centre_px = axis_column (facts, value, half_known);
    scan->centre_note = td_message_new (
        scan->flip_columns
            ? N_ ("The file's own estimate of the centre of rotation (%s, %g, %p) is column %.2f "
                  "of the frames as they are stored.")
            : N_ ("The file's own estimate of the centre of rotation (%s, %g, %p) is column %.2f."),
        names[i], value,
        td_message_new_plain (facts->centre_px == value ? N_ ("counted from the first column")
                                                        : N_ ("counted from the middle")),
        facts->centre_px);
    return;
  }
}

/* ── Mirrored frames ── */

/* The detector's horizontal and vertical axis among x, y and z. They are those of NeXus (McStas) or
   of the ESRF, which files of nxtomo before its version 2 have without saying so. FALSE: the file
   says nothing of it, and NeXus was taken. */
static gboolean
detector_axes (hid_t entry, guint *across, guint *up)
{
  g_autofree char *system = td_h5_attribute_string (entry, "NeXus_Coordinate_System");
  double version = 2;
  const gboolean versioned = td_h5_attribute_numbers (entry, "version", &version, 1);
  const gboolean esrf = system ? g_ascii_strcasecmp (system, "ESRF") == 0 : version < 2;

  *across = esrf ? 1 : 0;
  *up = esrf ? 2 : 1;
  return system || versioned;
}

/* Which of x, y and z @rotation turns about; -1: none of them. */
static int
rotation_axis (hid_t rotation)
{
  double vector[3];

  if (!td_h5_attribute_numbers (rotation, "vector", vector, 3))
    return -1;
  for (int axis = 0; axis < 3; axis++)
    if (fabs (fabs (vector[axis]) - 1) < 1e-6 && vector[(axis + 1) % 3] == 0
        && vector[(axis + 2) % 3] == 0)
      return axis;
  return -1;
}

/* A half turn of the detector about an axis mirrors what is across it; half turns commute. */
static void
take_rotation (TdScan *scan, hid_t group, const char *group_name, const char *name, hid_t entry)
{
  g_auto (TdH5Id) rotation = td_h5_find_dataset (group, name, NULL);
  g_autofree char *kind
      = rotation >= 0 ? td_h5_attribute_string (rotation, "transformation_type") : NULL;
  double value = 0;
  guint across, up;

  if (!kind || g_ascii_strcasecmp (kind, "rotation") != 0
      || !take_number (scan, group, name, &value))
    return;
  const double angle = fabs (remainder (value * td_h5_angle_unit (rotation), 2 * G_PI));
  const int axis = rotation_axis (rotation);
  if (value == 0 || (angle < 1e-3 && td_h5_angle_unit (rotation) > 0))
    return;
  if (axis < 0 || fabs (angle - G_PI) > 1e-3) {
    td_scan_note (scan,
                  "The file turns its detector (%.60s/%.60s, %g): only half turns about x, "
                  "y and z are undone, and this one is left.",
                  group_name, name, value);
    return;
  }
  detector_axes (entry, &across, &up);
  scan->flip_columns ^= axis != (int) across;
  scan->flip_rows ^= axis != (int) up;
}

/* The NXtransformations of the detector; FALSE: it has none. */
static gboolean
take_transformations (TdScan *scan, hid_t detector, hid_t entry)
{
  g_auto (GStrv) names = td_h5_names (detector);
  gboolean any = FALSE;

  for (guint i = 0; names && names[i]; i++) {
    g_auto (TdH5Id) group = td_h5_find (detector, names[i], NULL);

    if (group < 0 || H5Iget_type (group) != H5I_GROUP
        || !(has_class (group, "NX_transformations") || has_class (group, "NXtransformations")))
      continue;
    g_auto (GStrv) own = td_h5_names (group);
    for (guint k = 0; own && own[k]; k++)
      take_rotation (scan, group, names[i], own[k], entry);
    any = TRUE;
  }
  return any;
}

static void
take_flips (TdScan *scan, hid_t detector, hid_t entry)
{
  double x = 0, y = 0;

  if (!take_transformations (scan, detector, entry)) {
    take_number (scan, detector, "x_flipped", &x);
    take_number (scan, detector, "y_flipped", &y);
    scan->flip_columns = x != 0;
    scan->flip_rows = y != 0;
  }
  if (scan->flip_columns || scan->flip_rows)
    td_scan_note (
        scan,
        "The file says that its frames are mirrored (%p): they are turned over as they are "
        "read.",
        td_message_new_plain (!scan->flip_rows      ? N_ ("left to right")
                              : !scan->flip_columns ? N_ ("upside down")
                                                    : N_ ("left to right and upside down")));
}

/* What the acquisition was to take. */
static void
note_planned (TdScan *scan, hid_t detector)
{
  double planned;

  if (take_number (scan, detector, "tomo_n", &planned) && planned > scan->facts.n_views)
    td_scan_note (scan, "The acquisition was to take %.0f projections; the file holds %u.", planned,
                  scan->facts.n_views);
}

static void
take_energy (TdScan *scan, hid_t entry)
{
  static const char *const places[] = { "beam/incident_energy", "instrument/beam/incident_energy",
                                        "sample/beam/incident_energy" };

  for (guint i = 0; i < G_N_ELEMENTS (places) && !(scan->facts.energy_kev > 0); i++)
    td_h5_scan_take_energy (scan, entry, places[i]);
}

/* How far @name, a length or a time of each frame, goes among the frames of a kind. FALSE: it is
   not known for each of them. */
static gboolean
frames_range (const TdScan *scan, const TdH5Source *source, hid_t dataset, TdFrameKind kind,
              double range[2])
{
  const guint n = td_scan_facts_frames (&scan->facts, kind);
  gsize n_values = 0;
  g_autofree double *values = dataset < 0 ? NULL : td_h5_numbers (dataset, "", &n_values, NULL);

  if (!values || n == 0 || n_values != td_h5_frames_facts (source->frames[0])->n_frames)
    return FALSE;
  range[0] = INFINITY;
  range[1] = -INFINITY;
  for (guint i = 0; i < n; i++) {
    const double value = values[source->indices[kind][i]];

    range[0] = fmin (range[0], value);
    range[1] = fmax (range[1], value);
  }
  return isfinite (range[1] - range[0]);
}

/* A sample that moved while it turned: a helix is refused, less is told. */
static gboolean
check_motion (TdScan *scan, const TdH5Source *source, hid_t entry, GError **error)
{
  static const char *const names[]
      = { "sample/x_translation", "sample/y_translation", "sample/z_translation" };
  const TdGeometry *geometry = &scan->facts.geometry;
  guint axes[3]; /* across, along the rotation axis and along the beam */
  const gboolean known = detector_axes (entry, &axes[0], &axes[1]);

  axes[2] = 3 - axes[0] - axes[1];
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++) {
    const char *name = names[axes[i]];
    g_auto (TdH5Id) dataset = td_h5_find_dataset (entry, name, NULL);
    g_autofree char *unit = dataset < 0 ? NULL : td_h5_units (dataset);
    double range[2];

    if (!frames_range (scan, source, dataset, TD_FRAME_PROJECTION, range))
      continue;
    const double moved_mm = (range[1] - range[0]) * td_h5_length_unit (dataset, 1e3);
    const double pixel_mm = i == 0 ? geometry->pixel_width_mm : geometry->pixel_height_mm;
    if (!(pixel_mm > 0) || !(moved_mm > pixel_mm))
      continue;
    /* Where no axes are stated, z may be the axis: nobody moves that far along the beam. */
    if ((i == 1 || (i == 2 && !known)) && unit && moved_mm > pixel_mm * scan->facts.n_rows / 2)
      return td_set_error (
          error, TD_ERROR_UNSUPPORTED,
          "“%s”: the sample moved by %.4g mm (%.0f rows) along the axis while it turned "
          "(%s): helical scans cannot be reconstructed; open a scan whose sample stays "
          "at one height",
          scan->facts.path, moved_mm, moved_mm / pixel_mm, name);
    td_scan_note (scan,
                  "The sample moved by %.4g mm (%.4g pixels) while it turned (%s): slices are made "
                  "as if it had stayed in its place.",
                  moved_mm, moved_mm / pixel_mm, name);
  }
  return TRUE;
}

#define WORTH_MONITOR 1.01

/* What a monitor counted of the beam for each frame; the dose of the frames, if a recipe asks. */
static void
take_monitor (TdScan *scan, const TdH5Source *source, hid_t entry)
{
  TdScanFacts *facts = &scan->facts;
  const guint n = facts->n_views + facts->n_flats;
  g_auto (TdH5Id) dataset = td_h5_find_dataset (entry, "control/data", NULL);
  double low = INFINITY, high = -INFINITY;
  gsize n_counts = 0;

  g_autofree double *counts = dataset < 0 ? NULL : td_h5_numbers (dataset, "", &n_counts, NULL);
  if (!counts || n == 0 || n_counts != td_h5_frames_facts (source->frames[0])->n_frames)
    return;
  g_autofree double *monitor = g_new (double, n);
  for (guint i = 0; i < n; i++) {
    monitor[i] = i < facts->n_views ? counts[source->indices[TD_FRAME_PROJECTION][i]]
                                    : counts[source->indices[TD_FRAME_FLAT][i - facts->n_views]];
    low = fmin (low, monitor[i]);
    high = fmax (high, monitor[i]);
    if (!(monitor[i] > 0) || !isfinite (monitor[i])) {
      td_scan_note (scan, "The monitor (control/data) has no count above 0 for some frames: it "
                          "cannot tell their dose.");
      return;
    }
  }
  facts->monitor = g_steal_pointer (&monitor);
  if (high > WORTH_MONITOR * low)
    td_scan_note (scan,
                  "The monitor (control/data) counted from %.4g to %.4g: where that is the beam "
                  "and not divided out yet, {prepare=dose=monitor} does so.",
                  low, high);
}

/* What is stated of the measurement, changes the values and is not used. */
static void
scan_nexus_note_unused (TdScan *scan, const TdH5Source *source, hid_t entry, hid_t detector)
{
  const gboolean parallel = scan->facts.geometry.beam == TD_BEAM_PARALLEL;
  g_auto (TdH5Id) times = detector >= 0 ? td_h5_find_dataset (detector, "count_time", NULL) : -1;
  const double source_mm
      = fabs (td_h5_quantity (entry, "instrument/source/distance", td_length_unit, 1e3));
  double views[2], flats[2];

  if (frames_range (scan, source, times, TD_FRAME_PROJECTION, views)
      && frames_range (scan, source, times, TD_FRAME_FLAT, flats)
      && (views[0] > 1.01 * flats[1] || flats[0] > 1.01 * views[1]))
    td_h5_note_exposures (scan, flats[1], views[1], "count_time");
  if (parallel && source_mm > 0 && source_mm < TD_SCAN_FARTHEST_CONE_MM)
    td_scan_note (scan,
                  "The file places the source %.4g mm from the sample: that is a cone beam, but "
                  "its rays are taken as parallel unless its distances are stated ({sod-mm}, "
                  "{sdd-mm}).",
                  source_mm);
}

/* What the scan writer stored of a cone beam, of logarithms and of an axis anywhere: NXtomo has no
   words for these. */
static gboolean
scan_nexus_take_geometry (TdScan *scan, hid_t entry, GError **error)
{
  g_autofree char *json = td_h5_string (entry, "tomodesk_geometry");
  g_autofree char *values = td_h5_string (entry, "tomodesk_values");
  TdGeometry geometry;

  scan->values_stated = values != NULL;
  scan->facts.transmission_logged = values && g_str_equal (values, "attenuation");
  td_h5_number (entry, "tomodesk_centre_px", &scan->facts.centre_px);
  if (!json)
    return TRUE;
  if (!td_geometry_from_json (json, scan->facts.path, &geometry, error))
    return FALSE;
  td_geometry_clear (&scan->facts.geometry);
  scan->facts.geometry = geometry;
  return TRUE;
}

static gboolean
scan_nexus_take_details (TdScan *scan, const TdH5Source *source, hid_t file,
                         const NexusPlace *place, const TdScanOptions *options, GError **error)
{
  g_auto (TdH5Id) entry = td_h5_find (file, *place->entry ? place->entry : "/", NULL);
  g_auto (TdH5Id) detector = place->detector ? td_h5_find (file, place->detector, NULL) : -1;
  g_auto (TdH5Id) frames = td_h5_find_dataset (file, place->frames_path, NULL);

  if (entry < 0)
    return TRUE;
  td_scan_take_title (scan, td_h5_string (entry, "title"));
  take_energy (scan, entry);
  if (detector >= 0) {
    take_pixel_size (scan, detector, entry);
    take_flips (scan, detector, entry);
    take_centre (scan, detector, take_half (scan, detector));
    note_planned (scan, detector);
    td_h5_scan_take_distance (scan, detector, "distance", 1e3);
  }
  /* The ESRF's, as of a parallel beam: it goes before the detector's. */
  td_h5_scan_take_distance (scan, entry, "sample/propagation_distance", 1e3);
  scan->states_geometry = scan->facts.propagation_mm > 0 || scan->facts.geometry.pixel_width_mm > 0;
  if (!scan_nexus_take_geometry (scan, entry, error)
      || !td_h5_scan_check_cone (scan, frames, place->frames_path, options, error)
      || !check_motion (scan, source, entry, error))
    return FALSE;
  take_monitor (scan, source, entry);
  scan_nexus_note_unused (scan, source, entry, detector);
  return TRUE;
}

static TdScan *
nexus_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
            GError **error)
{
  TD_H5_GUARD;
  TdH5Source *source;
  g_autoptr (TdScan) scan = td_h5_scan_new (path, FALSE, &source);
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_auto (NexusPlace) place = { 0 };
  TdH5Frames *frames;
  guint n_alignment = 0;

  if (file < 0 || !nexus_find (file, path, options->dataset, &place, error))
    return NULL;
  g_autofree char *label = td_h5_label (path, place.frames_path);
  frames = td_h5_frames_new (place.frames, label, td_h5_scan_flags (options), error);
  if (!frames)
    return NULL;
  for (guint kind = 0; kind < 3; kind++)
    source->frames[kind] = frames;
  td_h5_scan_take_size (scan, frames);
  scan->facts.format = g_strdup (place.defined ? "NXtomo (HDF5)" : "NeXus (HDF5)");
  if (place.n_entries > 1)
    td_scan_note (scan,
                  "The file holds %u scans (%s); %s was taken, {dataset:ENTRY} takes another.",
                  place.n_entries, place.entries, place.entry);
  if (!place.defined)
    td_scan_note (scan, "The file defines no NXtomo entry; the frames of %s were taken.",
                  place.frames_path);
  if (!sort_frames (scan, source, file, &place, &n_alignment, error)
      || !scan_nexus_take_angles (scan, source, file, &place, n_alignment, options, error)
      || !scan_nexus_take_details (scan, source, file, &place, options, error)
      || !td_scan_validate (scan, error))
    return NULL;
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_nexus = { nexus_probe, nexus_open };
