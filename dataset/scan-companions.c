/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-companions.h"

#include <string.h>

#include "error.h"
#include "volume.h"

/* A scan whose flats or darks the user named: they come from an image, a stack or a data set, the
 * rest from the scan's own source. */
typedef struct {
  const TdScanSource *vtable;
  gpointer source;
  TdVolume *stated[3]; /* by TdFrameKind; NULL: the scan's own */
} Companions;

static gboolean
read_stated (TdVolume *volume, guint first, guint count, guint row0, guint n_rows, float *out,
             GCancellable *cancellable, GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  gsize band = (gsize) n_rows * facts->nx, pixels = (gsize) facts->nx * facts->ny;
  g_autofree float *frame = g_try_new (float, pixels);

  if (!frame) {
    g_set_error (error, TD_ERROR, TD_ERROR_TOO_LARGE, "“%s” needs more memory to be read than is "
                 "free", facts->path);
    return FALSE;
  }
  for (guint i = 0; i < count; i++) {
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !td_volume_read (volume, first + i, 1, frame, error))
      return FALSE;
    memcpy (out + i * band, frame + (gsize) row0 * facts->nx, band * sizeof *out);
  }
  return TRUE;
}

static gboolean
companions_read (gpointer source, TdFrameKind kind, guint first, guint count, guint row0,
                 guint n_rows, float *out, GCancellable *cancellable, GError **error)
{
  Companions *own = source;

  if (own->stated[kind])
    return read_stated (own->stated[kind], first, count, row0, n_rows, out, cancellable, error);
  return own->vtable->read (own->source, kind, first, count, row0, n_rows, out, cancellable, error);
}

static gboolean
companions_read_sinograms (gpointer source, guint first, guint count, guint row0, guint n_rows,
                           float *out, GCancellable *cancellable, GError **error)
{
  Companions *own = source;

  return own->vtable->read_sinograms (own->source, first, count, row0, n_rows, out, cancellable,
                                      error);
}

static void
companions_free (gpointer source)
{
  Companions *own = source;

  own->vtable->free (own->source);
  for (guint kind = 0; kind < 3; kind++)
    td_volume_free (own->stated[kind]);
  g_free (own);
}

static const TdScanSource frames_vtable = { companions_read, NULL, companions_free };
static const TdScanSource sinograms_vtable = { companions_read, companions_read_sinograms,
                                               companions_free };

static gboolean
open_stated (TdScan *scan, Companions *own, TdFrameKind kind, const char *path, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  const TdVolumeFacts *stated;

  if (!path)
    return TRUE;
  own->stated[kind] = td_volume_open (path, error);
  if (!own->stated[kind])
    return FALSE;
  stated = td_volume_facts (own->stated[kind]);
  if (stated->nx != facts->n_columns || stated->ny != facts->n_rows) {
    g_set_error (error, TD_ERROR, TD_ERROR_BAD_FILE,
                 "“%s” has %u × %u pixels, but the projections have %u × %u: give the %s that belong "
                 "to this scan", path, stated->nx, stated->ny, facts->n_columns, facts->n_rows,
                 kind == TD_FRAME_FLAT ? "flats" : "darks");
    return FALSE;
  }
  if (kind == TD_FRAME_FLAT) {
    facts->n_flats = stated->n_slices;
    g_clear_pointer (&facts->flat_positions, g_free);
  } else
    facts->n_darks = stated->n_slices;
  return TRUE;
}

gboolean
td_scan_take_companions (TdScan *scan, const TdScanOptions *options, GError **error)
{
  Companions *own;

  if (!options->flats && !options->darks)
    return TRUE;
  own = g_new0 (Companions, 1);
  own->vtable = scan->vtable;
  own->source = scan->source;
  scan->vtable = own->vtable->read_sinograms ? &sinograms_vtable : &frames_vtable;
  scan->source = own;
  return open_stated (scan, own, TD_FRAME_FLAT, options->flats, error)
         && open_stated (scan, own, TD_FRAME_DARK, options->darks, error);
}
