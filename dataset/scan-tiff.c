/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "angles.h"
#include "error.h"
#include "scan-private.h"
#include "series.h"
#include "tiff-frames.h"

typedef struct {
  TdTiffFrames *frames[3]; /* by TdFrameKind; NULL: none */
} TiffSource;

static gboolean
tiff_read (gpointer source, TdFrameKind kind, guint first, guint count, guint row0, guint n_rows,
           float *out, GCancellable *cancellable, GError **error)
{
  const TdTiffFrames *frames = ((TiffSource *) source)->frames[kind];
  gsize band = (gsize) n_rows * frames->layout.width;

  for (guint i = 0; i < count; i++)
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !td_tiff_frames_read (frames, first + i, row0, n_rows, out + i * band, error))
      return FALSE;
  return TRUE;
}

static void
tiff_free (gpointer source)
{
  TiffSource *own = source;

  for (guint i = 0; i < G_N_ELEMENTS (own->frames); i++)
    g_clear_pointer (&own->frames[i], td_tiff_frames_free);
  g_free (own);
}

static const TdScanSource tiff_vtable = { .read = tiff_read, .free = tiff_free };

static gboolean
is_tiff_name (const char *name)
{
  const char *dot = strrchr (name, '.');

  return dot && (g_ascii_strcasecmp (dot, ".tif") == 0 || g_ascii_strcasecmp (dot, ".tiff") == 0);
}

static gboolean
tiff_probe (const char *path, const TdScanOptions *options)
{
  return g_file_test (path, G_FILE_TEST_IS_DIR) || td_tiff_probe (path);
}

static TdScan *
tiff_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
           GError **error)
{
  TiffSource *source = g_new0 (TiffSource, 1);
  g_autoptr (TdScan) scan = td_scan_alloc (path, &tiff_vtable, source);
  TdScanFacts *facts = &scan->facts;
  TdTiffFrames *frames = source->frames[TD_FRAME_PROJECTION] = td_tiff_frames_new ();
  g_auto (GStrv) names = NULL;

  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    names = td_series_list (path, is_tiff_name, error);
    for (guint i = 0; names && names[i]; i++) {
      char *full = g_build_filename (path, names[i], NULL);

      g_free (names[i]);
      names[i] = full;
    }
  } else {
    names = g_new0 (char *, 2);
    names[0] = g_strdup (path);
  }
  if (!names || !td_tiff_frames_add (frames, (const char *const *) names, error))
    return NULL;
  facts->format = g_strdup ("TIFF stack");
  facts->n_columns = frames->layout.width;
  facts->n_rows = frames->layout.height;
  facts->n_views = td_tiff_frames_count (frames);
  facts->sample_type = frames->layout.type;
  if (options->angles) {
    facts->angles_rad = td_angles_for_views (options->angles, path, NULL, facts->n_views, NULL,
                                             error);
    if (!facts->angles_rad)
      return NULL;
  }
  return td_scan_validate (scan, error) ? g_steal_pointer (&scan) : NULL;
}

const TdScanReader td_scan_reader_tiff = { "TIFF stack", tiff_probe, tiff_open };
