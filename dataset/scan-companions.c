/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "hdf5-util.h"
#include "scan-hdf5.h"
#include "scan-private.h"
#include "scan-view.h"
#include "volume.h"

/* Frames that the user named, or a level that images were corrected to. Another scan's file gives
   those of their kind, or its projections if it has nothing else; any other file gives all
   images. */
typedef struct {
  TdVolume *images;
  TdScan *scan;     /* instead; as it is stored */
  float level;      /* instead: of every pixel; 0: none of it */
  TdFrameKind kind; /* in that */
  guint n_columns, n_rows, n_frames;
} Stated;

/* A scan whose flats or darks the user named: the rest comes from the scan's own source. */
typedef struct {
  const TdScanSource *vtable;
  gpointer source;
  Stated stated[3]; /* by TdFrameKind; neither: the scan's own */
} Companions;

static gboolean
read_images (TdVolume *volume, const TdFrameRange *range, const TdFrameTarget *target,
             GCancellable *cancellable, GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  g_autofree float *frame = g_try_new (float, (gsize) facts->nx * facts->ny);

  if (!frame)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "“%s” needs more memory to be read than is "
                         "free",
                         facts->path);
  for (guint i = 0; i < range->count; i++) {
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !td_volume_read (volume, range->first + i, 1, frame, error))
      return FALSE;
    for (gsize row = 0; row < range->n_rows; row++)
      memcpy (td_frame_target_row (target, i, row), frame + (range->row0 + row) * facts->nx,
              facts->nx * sizeof *frame);
  }
  return TRUE;
}

static gboolean
companions_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
                 GCancellable *cancellable, GError **error)
{
  Companions *own = source;
  const Stated *stated = &own->stated[range->kind];

  if (stated->scan)
    return td_scan_fill (
        stated->scan,
        &(TdFrameRange) { stated->kind, range->first, range->count, range->row0, range->n_rows },
        target, cancellable, error);
  if (stated->level > 0) {
    for (guint i = 0; i < range->count; i++)
      for (guint row = 0; row < range->n_rows; row++) {
        float *values = td_frame_target_row (target, i, row);
        for (guint column = 0; column < stated->n_columns; column++)
          values[column] = stated->level;
      }
    return TRUE;
  }
  return stated->images ? read_images (stated->images, range, target, cancellable, error)
                        : own->vtable->fill (own->source, range, target, cancellable, error);
}

static void
companions_free (gpointer source)
{
  Companions *own = source;

  if (own->vtable->free)
    own->vtable->free (own->source);
  for (guint kind = 0; kind < 3; kind++) {
    td_volume_free (own->stated[kind].images);
    td_scan_unref (own->stated[kind].scan);
  }
  g_free (own);
}

static const TdScanSource companions_vtable = { .fill = companions_fill, .free = companions_free };

/* FALSE: the file is no scan that tells its frames apart. */
static gboolean
find_in_scan (const char *path, TdFrameKind kind, const TdScanOptions *stated_options,
              Stated *stated)
{
  const TdScanOptions options = { .angles = TD_ANGLES_LATER,
                                  .values = TD_SCAN_VALUES_INTENSITIES,
                                  .allow_external = stated_options->allow_external };
  g_autoptr (TdScan) seen = td_h5_probe (path) ? td_scan_open (path, &options, NULL, NULL) : NULL;
  TdScanFrame frame;

  if (!seen || strcmp (seen->facts.format, td_h5_any_format) == 0)
    return FALSE;
  TdScan *stored = td_scan_view_base (seen, &frame); /* as the scan's own frames are */
  stated->scan = td_scan_ref (stored ? stored : seen);
  const TdScanFacts *facts = td_scan_facts (stated->scan);
  const gboolean bare
      = facts->n_flats == 0 && facts->n_darks == 0; /* all it has is of the one kind */
  stated->kind = bare ? TD_FRAME_PROJECTION : kind;
  stated->n_frames = td_scan_facts_frames (facts, stated->kind);
  stated->n_columns = facts->n_columns;
  stated->n_rows = facts->n_rows;
  return TRUE;
}

static gboolean
find_images (const char *path, TdFrameKind kind, const TdScanOptions *options, Stated *stated,
             GError **error)
{
  g_autofree char *dataset = td_h5_probe (path) ? td_h5_find_companion (path, kind) : NULL;
  const TdScanOptions own = { .allow_external = options->allow_external, .dataset = dataset };

  stated->images = td_volume_open_stated (path, &own, error);
  if (!stated->images)
    return FALSE;
  const TdVolumeFacts *facts = td_volume_facts (stated->images);
  stated->n_columns = facts->nx;
  stated->n_rows = facts->ny;
  stated->n_frames = facts->n_slices;
  return TRUE;
}

static gboolean
open_stated (TdScan *scan, Companions *own, TdFrameKind kind, const TdScanOptions *options,
             GError **error)
{
  const char *path = kind == TD_FRAME_FLAT ? options->flats : options->darks;
  TdScanFacts *facts = &scan->facts;
  Stated *stated = &own->stated[kind];

  if (!path)
    return TRUE;
  if (!find_in_scan (path, kind, options, stated)
      && !find_images (path, kind, options, stated, error))
    return FALSE;
  if (stated->n_frames == 0)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         kind == TD_FRAME_FLAT
                             ? N_ ("“%s” is a scan without flats: give a file that has them")
                             : N_ ("“%s” is a scan without darks: give a file that has them"),
                         path);
  const guint size[2] = { stated->n_columns, stated->n_rows };
  if (!td_scan_check_size (facts, kind, path, size, error))
    return FALSE;
  td_scan_note (
      scan, kind == TD_FRAME_FLAT ? N_ ("Flats: %u, the %p of %s") : N_ ("Darks: %u, the %p of %s"),
      stated->n_frames,
      td_message_new_plain (stated->images                        ? N_ ("images")
                            : stated->kind == TD_FRAME_PROJECTION ? N_ ("projections")
                            : stated->kind == TD_FRAME_FLAT       ? N_ ("flats")
                                                                  : N_ ("darks")),
      path);
  if (kind == TD_FRAME_FLAT) {
    facts->n_flats = stated->n_frames;
    facts->white_level = 0;
    g_clear_pointer (&facts->flat_positions, g_free);
    g_clear_pointer (&facts->monitor, g_free);
  } else
    facts->n_darks = stated->n_frames;
  return TRUE;
}

gboolean
td_scan_companions_in_hdf5 (const char *stated)
{
  g_autofree char *file = stated ? td_volume_file (stated, NULL) : NULL;

  return file && td_h5_probe (file);
}

/* What @scan reads with from now on: its own source until something is stated. */
static Companions *
companions_new (TdScan *scan)
{
  Companions *own = g_new0 (Companions, 1);

  own->vtable = scan->vtable;
  own->source = scan->source;
  scan->vtable = &companions_vtable;
  scan->source = own;
  return own;
}

gboolean
td_scan_take_companions (TdScan *scan, const TdScanOptions *options, GError **error)
{
  if (!options->flats && !options->darks)
    return TRUE;
  Companions *own = companions_new (scan);
  return open_stated (scan, own, TD_FRAME_FLAT, options, error)
         && open_stated (scan, own, TD_FRAME_DARK, options, error);
}

gboolean
td_scan_take_white (TdScan *scan, double level, const char *source, GError **error)
{
  TdScanFacts *facts = &scan->facts;

  if (!(level > 0) || facts->n_flats > 0 || facts->transmission_logged)
    return TRUE;
  if (level > td_sample_most (facts->sample_type))
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "The open beam counts %g, as taken from “%s”, but images of %s hold no "
                         "more than %g: correct the number there, or give flats ({flats:PATH})",
                         level, source, td_sample_name (facts->sample_type),
                         td_sample_most (facts->sample_type));
  companions_new (scan)->stated[TD_FRAME_FLAT]
      = (Stated) { .level = (float) level, .n_columns = facts->n_columns };
  facts->n_flats = 1;
  facts->white_level = level;
  g_clear_pointer (&facts->monitor, g_free);
  return TRUE;
}
