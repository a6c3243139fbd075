/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "angles.h"
#include "error.h"
#include "frame-names.h"
#include "geometry-file.h"
#include "scan-private.h"
#include "series.h"
#include "tiff-find.h"
#include "tiff-frames.h"

typedef struct {
  TdTiffFrames *frames[3]; /* by TdFrameKind; NULL: none */
} TiffSource;

static gboolean
scan_tiff_read_frames (gpointer source, const TdFrameRange *range, float *out,
                       GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[range->kind];
  const TdFrameTarget target = td_frame_target_frames (range, frames->layout.width, out);

  return td_tiff_frames_read (frames, range, &target, cancellable, error);
}

static gboolean
scan_tiff_read_rows (gpointer source, const TdFrameRange *range, float *out,
                     GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[range->kind];
  const TdFrameTarget target = td_frame_target_sinograms (range, frames->layout.width, out);

  return td_tiff_frames_read (frames, range, &target, cancellable, error);
}

/* Sinogram stacks: image r holds row r, its lines are the views. */
static gboolean
scan_tiff_read_stack (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
                      GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[TD_FRAME_PROJECTION];
  const TdFrameTarget turned = td_frame_target_turned (target);
  const TdFrameRange images
      = { range->kind, range->row0, range->n_rows, range->first, range->count };

  return td_tiff_frames_read (frames, &images, &turned, cancellable, error);
}

static gboolean
scan_tiff_stack_rows (gpointer source, const TdFrameRange *range, float *out,
                      GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[TD_FRAME_PROJECTION];
  const TdFrameTarget target = td_frame_target_sinograms (range, frames->layout.width, out);

  return scan_tiff_read_stack (source, range, &target, cancellable, error);
}

static gboolean
scan_tiff_stack_views (gpointer source, const TdFrameRange *range, float *out,
                       GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[TD_FRAME_PROJECTION];
  const TdFrameTarget target = td_frame_target_frames (range, frames->layout.width, out);

  if (range->kind != TD_FRAME_PROJECTION)
    return scan_tiff_read_frames (source, range, out, cancellable, error);
  return scan_tiff_read_stack (source, range, &target, cancellable, error);
}

static gboolean
scan_tiff_stored (gpointer source, const TdFrameRange *range, void *out, GCancellable *cancellable,
                  GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[TD_FRAME_PROJECTION];
  const TdFrameTarget target
      = td_frame_target_stored (range, frames->layout.width, frames->layout.type, out);

  return td_tiff_frames_read (frames, range, &target, cancellable, error);
}

static gboolean
scan_tiff_stack_stored (gpointer source, const TdFrameRange *range, void *out,
                        GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[TD_FRAME_PROJECTION];
  const TdFrameTarget target
      = td_frame_target_stored (range, frames->layout.width, frames->layout.type, out);

  return scan_tiff_read_stack (source, range, &target, cancellable, error);
}

static void
free_source (gpointer source)
{
  TiffSource *own = source;

  for (guint i = 0; i < G_N_ELEMENTS (own->frames); i++)
    g_clear_pointer (&own->frames[i], td_tiff_frames_free);
  g_free (own);
}

static const TdScanSource frames_vtable
    = { scan_tiff_read_frames, scan_tiff_read_rows, free_source, scan_tiff_stored };
static const TdScanSource sinograms_vtable
    = { scan_tiff_stack_views, scan_tiff_stack_rows, free_source, scan_tiff_stack_stored };

static gboolean
tiff_probe (const char *path, const TdScanOptions *options)
{
  return g_file_test (path, G_FILE_TEST_IS_DIR) || td_tiff_probe (path);
}

static gboolean
add_frames (TdScan *scan, TiffSource *source, TdFrameKind kind, GPtrArray *paths, GError **error)
{
  TdTiffFrames *frames;

  if (paths->len == 0)
    return TRUE;
  td_scan_add_sources (scan, (const char *const *) paths->pdata, paths->len);
  g_ptr_array_add (paths, NULL);
  frames = source->frames[kind] = td_tiff_frames_new ();
  if (!td_tiff_frames_add (frames, (const char *const *) paths->pdata, error))
    return FALSE;
  if (kind != TD_FRAME_PROJECTION
      && (frames->layout.width != scan->facts.n_columns
          || frames->layout.height != scan->facts.n_rows)) {
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "“%s” has %u × %u pixels, but the projections have %u × %u: give the %s that "
                  "belong to this scan",
                  (char *) paths->pdata[0], frames->layout.width, frames->layout.height,
                  scan->facts.n_columns, scan->facts.n_rows,
                  kind == TD_FRAME_FLAT ? "flats" : "darks");
    return FALSE;
  }
  if (frames->layout.inverted)
    td_scan_note (scan,
                  "“%s” is stored with white as the lowest value; its values were turned "
                  "round.",
                  (char *) paths->pdata[0]);
  return TRUE;
}

static void
take_size (TdScan *scan, const TdTiffFrames *frames, gboolean sinograms)
{
  TdScanFacts *facts = &scan->facts;

  facts->n_columns = frames->layout.width;
  facts->n_rows = sinograms ? td_tiff_frames_count (frames) : frames->layout.height;
  facts->n_views = sinograms ? frames->layout.height : td_tiff_frames_count (frames);
  facts->sample_type = frames->layout.type;
  facts->rows_together = sinograms ? 1 : frames->layout.rows_together;
  facts->sinogram_order = sinograms;
  facts->format = g_strdup (sinograms                ? "TIFF sinograms"
                            : frames->paths->len > 1 ? "TIFF stack"
                            : facts->n_views > 1     ? "multi-page TIFF"
                                                     : "TIFF image");
}

/* A stack is called like its folder, unless that is called like any ("tiffs", "projections"). */
static void
scan_tiff_take_title (TdScan *scan, const TdTiffFrames *frames)
{
  g_autofree char *folder = g_path_get_dirname (frames->paths->pdata[0]);
  g_autofree char *name = g_path_get_basename (folder), *above = NULL;

  if (frames->paths->len < 2)
    return;
  if (td_name_is_projection_folder (name)) {
    above = g_path_get_dirname (folder);
    g_free (name);
    name = g_path_get_basename (above);
  }
  g_free (scan->facts.title);
  scan->facts.title = g_steal_pointer (&name);
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

static gboolean
scan_tiff_take_angles (TdScan *scan, const TdTiffSet *set, const TdTiffFrames *frames,
                       const TdScanOptions *options, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  const char *spec = options->angles ? options->angles : set->angles;
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *note = NULL;

  if (!spec)
    return TRUE; /* validation says so */
  if (!set->sinograms && frames->frames->len == 0) {
    names = g_ptr_array_new_with_free_func (g_free);
    for (guint i = 0; i < facts->n_views; i++)
      g_ptr_array_add (names, g_path_get_basename (td_tiff_frames_path (frames, i)));
    g_ptr_array_add (names, NULL);
  }
  facts->angles_rad
      = td_angles_for_views (spec, facts->path, names ? (const char *const *) names->pdata : NULL,
                             facts->n_views, &note, error);
  if (!options->angles && facts->angles_rad)
    td_scan_note (scan, "Angles: %s", spec);
  const guint missing = names && facts->angles_rad && td_angles_is_range (spec)
                            ? missing_numbers ((const char *const *) names->pdata, facts->n_views)
                            : 0;
  if (missing > 0)
    td_scan_note (
        scan,
        "File numbers that are missing among the %u projections: %u. The angles were spread evenly "
        "over the files that are there; if views were lost, give a file with the angle of each.",
        facts->n_views, missing);
  if (note)
    td_scan_note (scan, "%s", note);
  return facts->angles_rad != NULL;
}

/* Only if every flat's name says when it was taken. */
static void
take_flat_positions (TdScan *scan, const TdTiffFrames *flats)
{
  TdScanFacts *facts = &scan->facts;
  g_autofree double *positions = g_new (double, facts->n_flats);

  for (guint i = 0; i < facts->n_flats; i++) {
    const char *path = td_tiff_frames_path (flats, i);
    g_autofree char *name = g_path_get_basename (path), *parent = g_path_get_dirname (path);
    g_autofree char *folder = g_path_get_basename (parent);

    positions[i] = td_name_flat_position (folder, name, facts->n_views);
    if (isnan (positions[i]))
      return;
  }
  facts->flat_positions = g_steal_pointer (&positions);
}

static void
note_companions (TdScan *scan, const TdTiffSet *set, const TdTiffFrames *frames)
{
  const TdScanFacts *facts = &scan->facts;

  if (frames->frames->len > 0 && frames->paths->len > 1)
    td_scan_note (
        scan,
        "%u files hold several images each: all %u images were taken, one file behind the "
        "other.",
        frames->paths->len, frames->frames->len);
  for (guint i = 0; set->notes && set->notes[i]; i++)
    td_messages_add (&scan->facts.notes, td_message_ref (set->notes[i]));
  if (facts->n_flats > 0)
    td_scan_note (scan, "Flats: %u, beginning with %s", facts->n_flats,
                  (char *) set->flats->pdata[0]);
  if (facts->n_darks > 0)
    td_scan_note (scan, "Darks: %u, beginning with %s", facts->n_darks,
                  (char *) set->darks->pdata[0]);
  if (set->half_turn)
    td_scan_note (scan,
                  "%s is a projection at 180°: it is not among the views, but helps to find the "
                  "axis.",
                  set->half_turn);
}

/* The projection at 180°, behind the views; one that does not fit them is left. */
static void
take_half_turn (TdScan *scan, TdTiffFrames *frames, const TdTiffSet *set)
{
  const char *const paths[] = { set->half_turn, NULL };
  const guint n = td_tiff_frames_count (frames);

  if (!set->half_turn || set->sinograms || frames->frames->len > 0
      || !td_tiff_frames_add (frames, paths, NULL) || td_tiff_frames_count (frames) != n + 1)
    return;
  const double angle_rad = scan->facts.angles_rad[0] + G_PI;
  td_scan_take_extra (scan, &angle_rad, 1);
}

/* @scan is sound once this has succeeded. */
static gboolean
scan_tiff_take_geometry (TdScan *scan, const char *path, gboolean own_angles, GError **error)
{
  g_autoptr (TdGeometryFile) file = path ? td_geometry_file_load (path, error) : NULL;

  if (!path)
    return td_scan_validate (scan, error);
  return file && td_geometry_file_apply (file, scan, own_angles, error);
}

static TdScan *
tiff_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
           GError **error)
{
  g_autoptr (TdTiffSet) set = td_tiff_find (path, options, error);
  TiffSource *source;
  g_autoptr (TdScan) scan = NULL;
  TdTiffFrames *frames;

  if (!set)
    return NULL;
  source = g_new0 (TiffSource, 1);
  scan = td_scan_alloc (path, set->sinograms ? &sinograms_vtable : &frames_vtable, source);
  if (!add_frames (scan, source, TD_FRAME_PROJECTION, set->projections, error))
    return NULL;
  frames = source->frames[TD_FRAME_PROJECTION];
  take_size (scan, frames, set->sinograms);
  scan_tiff_take_title (scan, frames);
  if (!add_frames (scan, source, TD_FRAME_FLAT, set->flats, error)
      || !add_frames (scan, source, TD_FRAME_DARK, set->darks, error))
    return NULL;
  if (source->frames[TD_FRAME_FLAT]) {
    scan->facts.n_flats = td_tiff_frames_count (source->frames[TD_FRAME_FLAT]);
    take_flat_positions (scan, source->frames[TD_FRAME_FLAT]);
  }
  if (source->frames[TD_FRAME_DARK])
    scan->facts.n_darks = td_tiff_frames_count (source->frames[TD_FRAME_DARK]);
  note_companions (scan, set, frames);
  if (!scan_tiff_take_angles (scan, set, frames, options, error)
      || !scan_tiff_take_geometry (scan, options->geometry ? NULL : set->geometry,
                                   scan->facts.angles_rad != NULL, error))
    return NULL;
  take_half_turn (scan, frames, set);
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_tiff = { "TIFF stack", tiff_probe, tiff_open, TRUE };
