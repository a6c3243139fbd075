/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "series.h"
#include "tiff-frames.h"
#include "volume-private.h"

static gboolean
tiff_read (gpointer source, guint first, guint count, float *out, GError **error)
{
  const TdTiffFrames *frames = source;
  gsize voxels = (gsize) frames->layout.width * frames->layout.height;

  for (guint i = 0; i < count; i++)
    if (!td_tiff_frames_read (frames, first + i, 0, frames->layout.height, out + i * voxels, error))
      return FALSE;
  return TRUE;
}

static void
tiff_free (gpointer source)
{
  td_tiff_frames_free (source);
}

static const TdVolumeSource tiff_vtable = { tiff_read, tiff_free };

/* The slices of a folder, or the one file; NULL with @error. */
static char **
list_files (const char *path, GError **error)
{
  char **names;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR)) {
    names = g_new0 (char *, 2);
    names[0] = g_strdup (path);
    return names;
  }
  names = td_series_paths (path, td_series_is_tiff, error);
  if (names && !names[0]) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” holds no TIFF files", path);
    g_clear_pointer (&names, g_strfreev);
  }
  return names;
}

/* The description stands in the folder's provenance.json, and in every slice without provenance. */
static void
take_descriptions (TdVolume *volume, const char *path, const TdTiffFrames *frames)
{
  TdVolumeFacts *facts = &volume->facts;
  g_autofree char *beside = g_build_filename (path, "provenance.json", NULL), *text = NULL;
  g_autoptr (TdTiff) tiff = td_tiff_open (td_tiff_frames_path (frames, 0), NULL);
  guint stated = 0;

  facts->complete = TRUE;
  if (tiff && td_volume_take_description (facts, td_tiff_description (tiff), &stated))
    facts->complete = stated == facts->n_slices;
  if (g_file_get_contents (beside, &text, NULL, NULL))
    td_volume_take_description (facts, text, &stated);
}

TdVolume *
td_volume_open_tiff (const char *path, GError **error)
{
  g_autoptr (TdVolume) volume = g_new0 (TdVolume, 1);
  g_auto (GStrv) names = list_files (path, error);
  TdTiffFrames *frames = td_tiff_frames_new ();
  gsize size;

  volume->vtable = &tiff_vtable;
  volume->source = frames;
  if (!names || !td_tiff_frames_add (frames, (const char *const *) names, error))
    return NULL;
  size = td_sample_size (frames->layout.type);
  volume->facts.nx = frames->layout.width;
  volume->facts.ny = frames->layout.height;
  volume->facts.n_slices = td_tiff_frames_count (frames);
  volume->facts.bits = 8 * size;
  volume->facts.high = size == 1 ? 255 : size == 2 ? 65535 : 1;
  take_descriptions (volume, path, frames);
  return g_steal_pointer (&volume);
}
