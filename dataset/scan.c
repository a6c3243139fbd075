/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-private.h"

#include <math.h>
#include <string.h>

#include "angles.h"
#include "error.h"
#include "geometry-file.h"
#include "geometry-matrix.h"
#include "hdf5-trial.h"
#include "scan-view.h"
#include "series.h"

/* In the order they are asked. A row here and a file beside this one is all that a format needs. */
static const TdScanReader *const readers[] = {
  &td_scan_reader_raw,        &td_scan_reader_nexus,     &td_scan_reader_dxchange,
  &td_scan_reader_h5_dataset, &td_scan_reader_ctsimu,    &td_scan_reader_ctsimu_scenario,
  &td_scan_reader_rabbitct,   &td_scan_reader_described, &td_scan_reader_folder,
  &td_scan_reader_tiff,
};

typedef enum {
  ENDING_HDF5 = 1 << 0,
  ENDING_ALONE = 1 << 1,
} EndingFlags;

/* All that look for files by their names ask this one list. */
static const struct {
  const char *ending;
  EndingFlags flags;
} endings[] = {
  { ".nxs", ENDING_HDF5 | ENDING_ALONE },
  { ".nx", ENDING_HDF5 | ENDING_ALONE },
  { ".h5", ENDING_HDF5 | ENDING_ALONE },
  { ".hdf5", ENDING_HDF5 | ENDING_ALONE },
  { ".hdf", ENDING_HDF5 | ENDING_ALONE },
  { ".he5", ENDING_HDF5 | ENDING_ALONE },
  { ".tdf", ENDING_HDF5 | ENDING_ALONE },
  { ".xtekct", ENDING_ALONE },
  { ".rctd", ENDING_ALONE },
  { ".tif", ENDING_ALONE },
  { ".tiff", ENDING_ALONE },
  { ".log", 0 },
  { ".raw", 0 },
  { ".json", 0 },
};

/* The place of @name's ending in the list; -1: it has none of these. */
static int
scan_find_ending (const char *name)
{
  const char *ending = strrchr (name, '.');

  for (guint i = 0; ending && i < G_N_ELEMENTS (endings); i++)
    if (g_ascii_strcasecmp (ending, endings[i].ending) == 0)
      return (int) i;
  return -1;
}

const char *
td_scan_ending (const char *name, gboolean *alone)
{
  const int i = scan_find_ending (name);

  if (i >= 0 && alone)
    *alone = (endings[i].flags & ENDING_ALONE) != 0;
  return i >= 0 ? strrchr (name, '.') : NULL;
}

gboolean
td_scan_named_hdf5 (const char *name)
{
  const int i = scan_find_ending (name);

  return i >= 0 && (endings[i].flags & ENDING_HDF5) != 0;
}

char **
td_scan_patterns (void)
{
  char **patterns = g_new0 (char *, G_N_ELEMENTS (endings) + 1);

  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    patterns[i] = g_strconcat ("*", endings[i].ending, NULL);
  return patterns;
}

void
td_scan_take_title (TdScan *scan, char *title)
{
  if (title && *title) {
    g_free (scan->facts.title);
    scan->facts.title = title;
  } else {
    g_free (title);
  }
}

TdScan *
td_scan_alloc (const char *path, const TdScanSource *vtable, gpointer source)
{
  TdScan *scan = g_new0 (TdScan, 1);

  g_atomic_ref_count_init (&scan->references);
  scan->vtable = vtable;
  scan->source = source;
  scan->facts.path = g_strdup (path);
  scan->facts.title = path ? g_path_get_basename (path) : NULL;
  scan->facts.centre_px = NAN;
  td_geometry_init_parallel (&scan->facts.geometry);
  return scan;
}

/* Images of a turn that are further apart are rather sinograms, if they have many more rows. */
#define FEW_STEP_DEG 5
#define FEW_ROWS 4

/* Images spread over a range of angles may be so few that they are rather sinograms. */
static void
scan_note_few (TdScan *scan, const char *spec)
{
  const TdScanFacts *facts = &scan->facts;
  const guint n = facts->n_views;

  if (!facts->angles_rad || facts->sinogram_order || n < 2 || !td_angles_is_range (spec)
      || facts->n_rows < FEW_ROWS * n)
    return;
  const double step_deg
      = td_degrees (fabs (facts->angles_rad[n - 1] - facts->angles_rad[0])) / (n - 1);
  if (step_deg > FEW_STEP_DEG)
    td_scan_note (scan,
                  "%u images of %u rows are taken as views %.3g° apart; if they are sinograms, "
                  "state it ({sinograms}).",
                  n, facts->n_rows, step_deg);
}

/* Numbers that are left out between the files, by the smallest step from one to the next. */
static guint
missing_numbers (const char *const *names, guint n)
{
  gint64 least = G_MAXINT64;

  for (guint i = 1; i < n; i++) {
    const gint64 step = td_series_number (names[i]) - td_series_number (names[i - 1]);
    if (td_series_number (names[i - 1]) < 0 || step <= 0)
      return 0;
    least = MIN (least, step);
  }
  if (n < 3)
    return 0;
  return (guint) MIN (
      (td_series_number (names[n - 1]) - td_series_number (names[0])) / least + 1 - n, G_MAXINT);
}

/* Numbers may lack among the views' files, over which a range of angles was spread. */
static void
scan_note_lost (TdScan *scan, const char *spec, const char *const *names)
{
  const TdScanFacts *facts = &scan->facts;
  const guint missing = facts->angles_rad && td_angles_is_range (spec)
                            ? missing_numbers (names, facts->n_views)
                            : 0;

  if (missing > 0)
    td_scan_note (
        scan,
        "File numbers that are missing among the %u projections: %u. The angles were spread evenly "
        "over the files that are there; if views were lost, give a file with the angle of each.",
        facts->n_views, missing);
}

gboolean
td_scan_take_angles (TdScan *scan, const char *spec, const char *const *names, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  const guint n[2] = { facts->n_views, facts->n_rows };
  g_autofree char *note = NULL;

  facts->angles_rad = td_angles_for_views (spec, facts->path, names, n, &note, error);
  scan_note_few (scan, spec);
  if (names)
    scan_note_lost (scan, spec, names);
  if (note)
    td_scan_note (scan, "%p", td_message_unpack (note));
  return facts->angles_rad != NULL;
}

void
td_scan_add_sources (TdScan *scan, const char *const *paths, guint n)
{
  const guint before = scan->facts.sources ? g_strv_length (scan->facts.sources) : 0;

  scan->facts.sources = g_renew (char *, scan->facts.sources, before + n + 1);
  for (guint i = 0; i < n; i++)
    scan->facts.sources[before + i] = g_strdup (paths[i]);
  scan->facts.sources[before + n] = NULL;
}

/* The number that view @view has in the scan as it was opened. */
static guint
opened_view (const TdScan *scan, guint view)
{
  TdScanFrame frame;
  const TdScan *base = td_scan_view_base (scan, &frame);

  return base ? opened_view (base, frame.crop_view + view * MAX (frame.bin_views, 1)) : view;
}

/* "3, 7 to 12, 40 to 59 and others" */
static char *
absent_ranges (const TdScan *scan)
{
  const TdScanFacts *facts = &scan->facts;
  GString *text = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < facts->n_views; i++) {
    guint end = i;

    while (end < facts->n_views && facts->absent[end])
      end++;
    if (end == i)
      continue;
    if (n == 4) {
      g_string_append (text, " and others");
      break;
    }
    const guint begin = opened_view (scan, i), last = opened_view (scan, end) - 1;
    g_string_append_printf (text, last > begin ? "%s%u to %u" : "%s%u", n++ ? ", " : "", begin,
                            last);
    i = end;
  }
  return g_string_free (text, FALSE);
}

gboolean
td_scan_complete (const TdScan *scan, GError **error)
{
  const TdScanFacts *facts = &scan->facts;
  guint n = 0, first = 0, longest = 0;

  for (guint i = 0, run = 0; facts->absent && i < facts->n_views; i++) {
    n += facts->absent[i] != 0;
    run = facts->absent[i] ? 0 : run + 1;
    if (run > longest) {
      longest = run;
      first = i + 1 - run;
    }
  }
  if (n == 0)
    return TRUE;
  g_autofree char *ranges = absent_ranges (scan);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "“%s” lacks %u of %u views (%s): %p; the longest part that is there is {views:%u:%u}",
      facts->path, n, facts->n_views, ranges, td_message_unpack (facts->absent_why),
      opened_view (scan, first), opened_view (scan, first + longest));
}

gboolean
td_scan_check_size (const TdScanFacts *facts, TdFrameKind kind, const char *path,
                    const guint size[2], GError **error)
{
  if (size[0] == facts->n_columns && size[1] == facts->n_rows)
    return TRUE;
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       kind == TD_FRAME_FLAT
                           ? N_ ("“%s” has %u × %u pixels, but the projections have %u × %u: give "
                                 "the flats that belong to this scan ({flats:PATH})")
                           : N_ ("“%s” has %u × %u pixels, but the projections have %u × %u: give "
                                 "the darks that belong to this scan ({darks:PATH})"),
                       path, size[0], size[1], facts->n_columns, facts->n_rows);
}

gboolean
td_scan_refuse_views (GError **error, const char *source, guint stated, TdMessage *says,
                      const char *path, const guint n[2])
{
  const guint n_views = n[0];
  g_autofree char *folder = g_path_get_dirname (path);

  if (strcmp (source, path) == 0) /* a description that was opened: images lie beside it */
    path = folder;
  if (n_views == 1)
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” states %p, but “%s” holds one projection; if that image is a sinogram, "
        "state it ({sinograms}), else open all projections",
        source, says, path);
  if (stated == n[1])
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” states %p, as many as “%s” has detector rows, but it has %u projections: "
        "rows and projections seem to be taken for each other; state sinograms where the "
        "images are such, and no sinograms where they are projections ({sinograms})",
        source, says, path, n_views);
  return td_set_error (error, TD_ERROR_ANGLES,
                       "“%s” states %p, but “%s” has %u projections; open all of them, or give the "
                       "angles of those that are there ({angles:FILE|FIRST:LAST})",
                       source, says, path, n_views);
}

static gboolean
validate_angles (const TdScanFacts *facts, GError **error)
{
  if (!facts->angles_rad && facts->n_views == 1)
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” holds one projection, without its angle; if that image is a sinogram, state "
        "it ({sinograms}), else open all projections",
        facts->path);
  if (!facts->angles_rad)
    return td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” comes without angles: give a file of angles, or the first and the last "
        "angle in degrees, for example 0:180 ({angles:FILE|FIRST:LAST})",
        facts->path);
  for (guint i = 0; i < facts->n_views; i++)
    if (!isfinite (facts->angles_rad[i]))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "“%s”: the angle of view %u is not a number; mend the file or give other angles",
          facts->path, i);
  return TRUE;
}

/* Where a circular cone or fan beam's geometry puts the axis, for scans that state no column. */
static void
centre_of_geometry (TdScanFacts *facts)
{
  const TdGeometry *g = &facts->geometry;

  if (g->beam == TD_BEAM_PARALLEL || g->view_matrices || isfinite (facts->centre_px)
      || !(g->source_axis_mm > 0) || !(g->pixel_width_mm > 0))
    return;
  facts->centre_px
      = (facts->n_columns - 1) / 2.0 + g->detector_offset_u_px
        + g->axis_offset_mm * g->source_detector_mm / (g->source_axis_mm * g->pixel_width_mm);
}

void
td_scan_centre_by_geometry (TdScan *scan)
{
  TdScanFacts *facts = &scan->facts;
  const TdGeometry *g = &facts->geometry;

  g_clear_pointer (&scan->centre_note, td_message_unref);
  facts->centre_px
      = g->beam == TD_BEAM_PARALLEL ? (facts->n_columns - 1) / 2.0 + g->detector_offset_u_px : NAN;
  centre_of_geometry (facts);
  /* The geometry is that of the image as it is seen; the centre is a column of the stored one. */
  if (scan->flip_columns)
    facts->centre_px = facts->n_columns - 1 - facts->centre_px;
}

/* Angles closer than this are the same: files state a few digits, and real orbits wobble. */
#define SAME_ANGLE (1.0 * G_PI / 180)
#define ANGLES_OF_MATRICES N_ ("The angles are those of the projection matrices.")

/* Matrices say where the source stands, whatever other files say about angles. */
static gboolean
angles_of_matrices (TdScan *scan, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  TdGeometry *g = &facts->geometry;
  gboolean same = facts->angles_rad != NULL;

  if (g->n_view_matrices != facts->n_views)
    return td_scan_refuse_views (
        error, facts->path, g->n_view_matrices,
        td_message_new ("%u projection [matrix|matrices]", g->n_view_matrices), facts->path,
        (const guint[]) { facts->n_views, facts->n_rows });
  g_autofree double *angles = g_new (double, facts->n_views);
  if (!td_matrices_angles (g->view_matrices, facts->n_views, facts->n_columns, facts->n_rows,
                           facts->path, angles, error))
    return FALSE;
  if (!(g->source_axis_mm > 0))
    td_matrix_distances (g->view_matrices, g->pixel_width_mm, &g->source_axis_mm,
                         &g->source_detector_mm);
  for (guint i = 0; same && i < facts->n_views; i++)
    same = fabs (remainder (angles[i] - facts->angles_rad[i], 2 * G_PI)) < SAME_ANGLE;
  if (same)
    return TRUE;
  if (facts->angles_rad)
    td_scan_note (scan, ANGLES_OF_MATRICES);
  g_free (facts->angles_rad);
  facts->angles_rad = g_steal_pointer (&angles);
  return TRUE;
}

/* A part of a proposed volume would place the rest of it wrongly. */
static gboolean
validate_volume (const TdScanFacts *facts, GError **error)
{
  const TdGeometry *geometry = &facts->geometry;
  const guint *size = geometry->volume_size;

  if (td_geometry_has_volume (geometry)
      || (geometry->voxel_mm == 0 && size[0] == 0 && size[1] == 0 && size[2] == 0))
    return TRUE;
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "The geometry of “%s” proposes a volume of %u × %u × %u voxels of %g mm; state all four "
      "(volume_size, voxel_mm), or none",
      facts->path, size[0], size[1], size[2], geometry->voxel_mm);
}

gboolean
td_scan_validate (TdScan *scan, GError **error)
{
  TdScanFacts *facts = &scan->facts;

  if (facts->n_columns == 0 || facts->n_rows == 0)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” holds frames of %u × %u pixels: "
                         "there is nothing to reconstruct",
                         facts->path, facts->n_columns, facts->n_rows);
  if (facts->n_views == 0)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” holds no projections; open the file that does, and name this one as "
                         "its flats or darks ({flats:PATH}, {darks:PATH})",
                         facts->path);
  if (facts->n_columns > TD_SCAN_MAX_SIDE || facts->n_rows > TD_SCAN_MAX_SIDE
      || (guint64) facts->n_columns * facts->n_rows > G_MAXINT32
      || facts->n_views > TD_SCAN_MAX_FRAMES || facts->n_flats > TD_SCAN_MAX_FRAMES
      || facts->n_darks > TD_SCAN_MAX_FRAMES)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "“%s” states %u frames of %u × %u pixels, which is more than a scan can have; "
        "the file is probably damaged",
        facts->path, facts->n_views, facts->n_columns, facts->n_rows);
  if (!isfinite (facts->energy_kev) || facts->energy_kev < 0)
    facts->energy_kev = 0;
  if (!isfinite (facts->propagation_mm) || facts->propagation_mm < 0)
    facts->propagation_mm = 0;
  if (facts->geometry.view_matrices && !angles_of_matrices (scan, error))
    return FALSE;
  if (!validate_volume (facts, error))
    return FALSE;
  centre_of_geometry (facts);
  return validate_angles (facts, error);
}

static void
facts_clear (TdScanFacts *facts)
{
  g_free (facts->path);
  g_free (facts->format);
  g_free (facts->title);
  g_free (facts->angles_rad);
  g_free (facts->flat_positions);
  g_free (facts->monitor);
  g_free (facts->bad_pixels);
  g_free (facts->absent);
  g_free (facts->absent_why);
  g_strfreev (facts->sources);
  td_geometry_clear (&facts->geometry);
  td_messages_free (facts->notes);
}

void
td_scan_copy_facts (TdScan *scan, const TdScanFacts *from)
{
  TdScanFacts *facts = &scan->facts;
  char *path = g_steal_pointer (&facts->path);

  facts_clear (facts);
  *facts = *from;
  facts->path = path;
  facts->format = g_strdup (from->format);
  facts->title = g_strdup (from->title);
  facts->angles_rad = g_memdup2 (from->angles_rad, from->n_views * sizeof (double));
  facts->flat_positions = g_memdup2 (from->flat_positions, from->n_flats * sizeof (double));
  facts->monitor
      = g_memdup2 (from->monitor, ((gsize) from->n_views + from->n_flats) * sizeof (double));
  facts->bad_pixels = g_memdup2 (from->bad_pixels, (gsize) from->n_rows * from->n_columns);
  facts->absent = g_memdup2 (from->absent, from->absent ? from->n_views : 0);
  facts->absent_why = g_strdup (from->absent_why);
  facts->sources = g_strdupv (from->sources);
  facts->notes = td_messages_copy (from->notes);
  td_geometry_copy (&facts->geometry, &from->geometry);
}

TdScan *
td_scan_new_over (TdScan *scan)
{
  TdScan *over = td_scan_alloc (scan->facts.path, scan->vtable, scan->source);

  over->owner = td_scan_ref (scan);
  over->stacked = scan->stacked;
  td_scan_copy_facts (over, &scan->facts);
  td_scan_take_extra (over, scan->extra_rad, scan->n_extra);
  return over;
}

TdScan *
td_scan_ref (TdScan *scan)
{
  g_atomic_ref_count_inc (&scan->references);
  return scan;
}

void
td_scan_unref (TdScan *scan)
{
  if (!scan || !g_atomic_ref_count_dec (&scan->references))
    return;
  if (scan->owner)
    td_scan_unref (scan->owner);
  else if (scan->source && scan->vtable->free)
    scan->vtable->free (scan->source);
  facts_clear (&scan->facts);
  g_clear_pointer (&scan->centre_note, td_message_unref);
  g_free (scan->extra_rad);
  g_free (scan);
}

const TdScanFacts *
td_scan_facts (const TdScan *scan)
{
  return &scan->facts;
}

/* What the user states about any scan. */
static gboolean
with_options (TdScan *scan, const TdScanOptions *options, const TdGeometryFile *geometry_file,
              GError **error)
{
  TdGeometry *geometry = &scan->facts.geometry;
  gboolean placed; /* the axis, by a geometry */

  /* Before the geometry file, which may be in millimetres, and after it, whose pixel it overrules.
   */
  for (guint pass = 0; pass < 2; pass++) {
    if (options->pixel_mm > 0) {
      geometry->pixel_width_mm = options->pixel_mm;
      geometry->pixel_height_mm = options->pixel_mm;
    }
    if (pass == 0 && geometry_file
        && !td_geometry_file_apply (geometry_file, scan, options->angles != NULL, error))
      return FALSE;
  }
  placed = geometry->beam != TD_BEAM_PARALLEL;
  if (options->angles && geometry->view_matrices)
    td_scan_note (scan, ANGLES_OF_MATRICES);
  if (options->source_axis_mm > 0 && geometry->view_matrices)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” has a projection matrix for every view, which say where the source is: leave "
        "its distances ({sod-mm}, {sdd-mm}) out",
        scan->facts.path);
  if (options->source_axis_mm > 0 && options->source_detector_mm > 0) {
    geometry->beam = scan->facts.n_rows == 1 ? TD_BEAM_FAN : TD_BEAM_CONE;
    geometry->source_axis_mm = options->source_axis_mm;
    geometry->source_detector_mm = options->source_detector_mm;
  }
  if (placed && (options->pixel_mm > 0 || options->source_axis_mm > 0))
    td_scan_centre_by_geometry (scan);
  return TRUE;
}

/* Takes @scan. */
static TdScan *
turned_over (TdScan *scan, GError **error)
{
  const TdScanFrame frame = { .flip_columns = scan->flip_columns, .flip_rows = scan->flip_rows };
  g_autoptr (TdScan) stored = scan;

  return td_scan_frame_is_plain (&frame) ? g_steal_pointer (&stored)
                                         : td_scan_view_new (stored, &frame, error);
}

/* The first reader that takes @path. */
static TdScan *
open_by_reader (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (readers); i++)
    if (readers[i]->probe (path, options)) {
      g_autoptr (TdScan) scan = readers[i]->open (path, options, cancellable, error);
      TdScanOptions left = *options;

      if (readers[i]->takes_companions && !td_scan_companions_in_hdf5 (left.flats))
        left.flats = NULL;
      if (readers[i]->takes_companions && !td_scan_companions_in_hdf5 (left.darks))
        left.darks = NULL;
      return scan && td_scan_take_companions (scan, &left, error) ? g_steal_pointer (&scan) : NULL;
    }
  g_autoptr (TdMessage) known = td_other_format_file (path);
  if (known) {
    td_set_error_message (error, TD_ERROR_UNSUPPORTED, g_steal_pointer (&known));
    return NULL;
  }
  return td_set_error_null (
      error, TD_ERROR_UNSUPPORTED,
      "“%s” is not a scan that can be read: TIFF stacks, NXtomo and DXchange HDF5 files, "
      "Nikon's .xtekct, SkyScan's .log, RabbitCT, CTSimU metadata and raw files of a stated "
      "size are",
      path);
}

/* "/entry", whether "entry", "/entry" or "/entry/" was written. */
static char *
whole_path (const char *dataset)
{
  char *path = g_strconcat (*dataset == '/' ? "" : "/", dataset, NULL);

  for (gsize n = strlen (path); n > 1 && path[n - 1] == '/'; n--)
    path[n - 1] = '\0';
  return path;
}

/* What was stated and is of no use for this scan must not seem to have been of any. */
static gboolean
check_used (TdScan *scan, const TdScanOptions *options, GError **error)
{
  const TdScanFacts *facts = &scan->facts;

  if (options->dataset && !strstr (facts->format, "HDF5"))
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” (%s) holds no HDF5 data sets, so that “%s” cannot be in it: leave "
                         "{dataset} out",
                         facts->path, facts->format, options->dataset);
  if (!options->sinograms || facts->sinogram_order)
    return TRUE;
  return td_set_error (
      error, TD_ERROR_INVALID,
      "“%s” (%s) holds projections by its format, not sinograms: leave {sinograms} out",
      facts->path, facts->format);
}

/* A geometry file, or matrices, may have put the axis elsewhere. That of a detector on its side has
   no column. */
static void
note_centre (TdScan *scan)
{
  if (scan->centre_note && isfinite (scan->facts.centre_px)
      && !td_geometry_lies_on_side (&scan->facts.geometry))
    td_messages_add (&scan->facts.notes, g_steal_pointer (&scan->centre_note));
}

static void
note_absent (TdScan *scan)
{
  if (!scan->facts.absent)
    return;
  g_autofree char *ranges = absent_ranges (scan);
  td_scan_note (scan, "Views %s are missing: %p.", ranges,
                td_message_unpack (scan->facts.absent_why));
}

/* What the user named, as files that are read. */
static void
add_stated_sources (TdScan *scan, const TdScanOptions *options)
{
  const char *const stated[]
      = { scan->facts.path, options->flats, options->darks, options->angles, options->geometry };

  for (guint i = 0; i < G_N_ELEMENTS (stated); i++)
    if (stated[i] && g_file_test (stated[i], G_FILE_TEST_EXISTS))
      td_scan_add_sources (scan, &stated[i], 1);
}

TdScan *
td_scan_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
              GError **error)
{
  TdScanOptions own = { 0 };
  g_autoptr (TdGeometryFile) geometry = NULL;
  g_autofree char *dataset = NULL;

  if (options)
    own = *options;
  if (own.dataset)
    own.dataset = dataset = whole_path (own.dataset);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return td_set_error_null (error, TD_ERROR_NOT_FOUND, "“%s” does not exist", path);
  if (own.geometry && !(geometry = td_geometry_file_load (own.geometry, error)))
    return NULL;
  /* A geometry that knows its angles has no need of others: the reader gets some to be content. */
  if (geometry && (geometry->angles_rad || geometry->kind != TD_VIEWS_NONE) && !own.angles)
    own.angles = TD_ANGLES_LATER;
  if (!td_h5_trial_scan (path, &own, cancellable, error))
    return NULL;
  g_autoptr (TdScan) scan = open_by_reader (path, &own, cancellable, error);
  if (options)
    own.angles = options->angles;
  if (!scan || !check_used (scan, &own, error) || !with_options (scan, &own, geometry, error)
      || !td_scan_take_values (scan, own.values, cancellable, error))
    return NULL;
  if (!own.geometry)
    td_scan_note_distances (scan);
  note_absent (scan);
  note_centre (scan);
  add_stated_sources (scan, &own);
  return turned_over (g_steal_pointer (&scan), error);
}

static gboolean
check_range (TdScan *scan, const TdFrameRange *range, GCancellable *cancellable, GError **error)
{
  static const char *const kinds[] = { N_ ("projections"), N_ ("flats"), N_ ("darks") };
  const TdScanFacts *facts = &scan->facts;
  guint n = td_scan_facts_frames (facts, range->kind);

  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (range->first > n || range->count > n - range->first || range->row0 > facts->n_rows
      || range->n_rows > facts->n_rows - range->row0)
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s”: %p %u to %u, rows %u to %u were asked for, but there are only %u, "
                         "of %u [row|rows] each",
                         facts->path, td_message_new_plain (kinds[range->kind]), range->first,
                         range->first + range->count, range->row0, range->row0 + range->n_rows, n,
                         facts->n_rows);
  return TRUE;
}

gboolean
td_scan_fill (TdScan *scan, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  if (!check_range (scan, range, cancellable, error))
    return FALSE;
  if (range->count == 0 || range->n_rows == 0)
    return TRUE;
  if (!scan->stacked || range->kind != TD_FRAME_PROJECTION)
    return scan->vtable->fill (scan->source, range, target, cancellable, error);
  const TdFrameRange stored
      = { range->kind, range->row0, range->n_rows, range->first, range->count };
  const TdFrameTarget turned = td_frame_target_turned (target);
  return scan->vtable->fill (scan->source, &stored, &turned, cancellable, error);
}

gboolean
td_scan_read (TdScan *scan, const TdFrameRange *range, float *out, GCancellable *cancellable,
              GError **error)
{
  const TdFrameTarget target = td_frame_target_frames (range, scan->facts.n_columns, out);

  return td_scan_fill (scan, range, &target, cancellable, error);
}

gboolean
td_scan_read_sinograms (TdScan *scan, const TdFrameRange *range, float *out,
                        GCancellable *cancellable, GError **error)
{
  const TdFrameTarget target = td_frame_target_sinograms (range, scan->facts.n_columns, out);

  return td_scan_fill (scan, range, &target, cancellable, error);
}

gboolean
td_scan_has_stored (const TdScan *scan)
{
  const TdSampleType type = scan->facts.sample_type;

  return scan->vtable->stored && (type == TD_SAMPLE_UINT16 || type == TD_SAMPLE_UINT8);
}

gboolean
td_scan_read_stored (TdScan *scan, const TdFrameRange *range, void *out, GCancellable *cancellable,
                     GError **error)
{
  const TdFrameTarget target
      = td_frame_target_stored (range, scan->facts.n_columns, scan->facts.sample_type, out);

  g_return_val_if_fail (td_scan_has_stored (scan), FALSE);
  return td_scan_fill (scan, range, &target, cancellable, error);
}
