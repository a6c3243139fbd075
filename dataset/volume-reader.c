/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <string.h>

#include "error.h"
#include "hdf5-frames.h"
#include "hdf5-trial.h"
#include "hdf5-util.h"
#include "scan-hdf5.h"
#include "series.h"
#include "text-file.h"
#include "tiff-frames.h"

#define MAX_PROVENANCE_BYTES ((gsize) 64 << 20)

/* Reading: one struct of functions a source; volume-reader.c checks and rescales. */
typedef struct {
  /* Slices as stored values; the ranges were checked. */
  gboolean (*read) (gpointer source, guint first, guint count, float *out, GError **error);
  void (*free) (gpointer source);
} VolumeSource;

struct TdVolume {
  TdVolumeFacts facts;
  const VolumeSource *vtable;
  gpointer source;
};

/* ── TIFF ── */

static gboolean
tiff_read (gpointer source, guint first, guint count, float *out, GError **error)
{
  const TdTiffFrames *frames = source;
  const TdFrameRange slices = { .first = first, .count = count, .n_rows = frames->layout.height };
  const TdFrameTarget target = td_frame_target_frames (&slices, frames->layout.width, out);

  return td_tiff_frames_read (frames, &slices, &target, NULL, error);
}

static void
tiff_free (gpointer source)
{
  td_tiff_frames_free (source);
}

static const VolumeSource tiff_vtable = { tiff_read, tiff_free };

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
  g_autofree char *beside = g_build_filename (path, "provenance.json", NULL);
  g_autofree char *text = td_text_load (beside, MAX_PROVENANCE_BYTES, NULL);
  g_autoptr (TdTiff) tiff = td_tiff_open (td_tiff_frames_path (frames, 0), NULL, NULL);
  guint stated = 0;

  facts->complete = TRUE;
  if (tiff && td_volume_take_description (facts, td_tiff_description (tiff), &stated))
    facts->complete = stated == facts->n_slices;
  if (text)
    td_volume_take_description (facts, text, &stated);
}

static TdVolume *
volume_open_tiff (const char *path, GError **error)
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

/* ── HDF5 ── */

static gboolean
volume_reader_hdf5_read (gpointer source, guint first, guint count, float *out, GError **error)
{
  TdH5Frames *frames = source;
  const TdFrameRange slices
      = { .first = first, .count = count, .n_rows = td_h5_frames_rows (frames) };

  return td_h5_frames_read (frames, NULL, &slices, out, NULL, error);
}

static void
volume_reader_hdf5_free (gpointer source)
{
  td_h5_frames_free (source);
}

static const VolumeSource hdf5_vtable = { volume_reader_hdf5_read, volume_reader_hdf5_free };

/* @path below @group if it is an array of two or three dimensions. */
static hid_t
find_array (hid_t group, const char *path)
{
  hid_t dataset = td_h5_find_dataset (group, path, NULL);
  hsize_t shape[3];

  if (dataset >= 0 && td_h5_shape (dataset, shape, 3) < 2) {
    td_h5_close (dataset);
    return -1;
  }
  return dataset;
}

/* The signal of the first NXdata group, else the first array of three dimensions. */
typedef struct {
  hid_t signal, other;
  char *signal_path, *other_path;
} Found;

static gboolean
volume_reader_hdf5_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_autofree char *signal = td_h5_attribute_string (group, "signal");
  const char *base = strcmp (path, "/") == 0 ? "" : path;
  g_auto (GStrv) names = NULL;
  hsize_t shape[3];

  if (signal && (found->signal = find_array (group, signal)) >= 0) {
    found->signal_path = g_strconcat (base, "/", signal, NULL);
    return TRUE;
  }
  names = td_h5_names (group);
  for (guint i = 0; names[i] && found->other < 0; i++) {
    found->other = find_array (group, names[i]);
    if (found->other >= 0 && td_h5_shape (found->other, shape, 3) == 3)
      found->other_path = g_strconcat (base, "/", names[i], NULL);
    else if (found->other >= 0) {
      td_h5_close (found->other);
      found->other = -1;
    }
  }
  return FALSE;
}

/* The data set to show; its path for messages. */
static hid_t
find_slices (hid_t file, char **path)
{
  Found found = { -1, -1, NULL, NULL };
  hid_t usual = find_array (file, "/entry/data/data");

  if (usual >= 0) {
    *path = g_strdup ("/entry/data/data");
    return usual;
  }
  td_h5_visit_groups (file, volume_reader_hdf5_visit, &found);
  *path = found.signal >= 0 ? found.signal_path : found.other_path;
  if (found.signal >= 0 && found.other >= 0) {
    td_h5_close (found.other);
    g_free (found.other_path);
  }
  return found.signal >= 0 ? found.signal : found.other;
}

static void
take_description (TdVolume *volume, hid_t file, hid_t dataset)
{
  g_autofree char *own = td_h5_attribute_string (dataset, "description");
  g_autofree char *provenance = td_h5_string (file, "/entry/provenance");
  guint stated = 0;

  volume->facts.complete = TRUE;
  if (td_volume_take_description (&volume->facts, own, &stated))
    volume->facts.complete = provenance != NULL;
  td_volume_take_description (&volume->facts, provenance, &stated);
}

static TdVolume *
volume_open_hdf5 (const char *path, GError **error)
{
  TD_H5_GUARD;
  g_autoptr (TdVolume) volume = g_new0 (TdVolume, 1);
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_autofree char *place = NULL, *label = NULL;
  hid_t dataset;
  TdH5Frames *frames;
  gsize size;

  if (file < 0)
    return NULL;
  dataset = find_slices (file, &place);
  if (dataset < 0) {
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "“%s” holds no data set of two or three dimensions to show", path);
    return NULL;
  }
  label = td_h5_label (path, place);
  take_description (volume, file, dataset);
  frames = td_h5_frames_new (dataset, label, 0, error);
  if (!frames)
    return NULL;
  volume->vtable = &hdf5_vtable;
  volume->source = frames;
  size = td_sample_size (td_h5_frames_type (frames));
  volume->facts.nx = td_h5_frames_columns (frames);
  volume->facts.ny = td_h5_frames_rows (frames);
  volume->facts.n_slices = td_h5_frames_count (frames);
  volume->facts.bits = 8 * size;
  if (volume->facts.high == 0 && volume->facts.low == 0)
    volume->facts.high = size == 1 ? 255 : size == 2 ? 65535 : 1;
  return g_steal_pointer (&volume);
}

/* ── What the formats share ── */

TdVolume *
td_volume_open (const char *path, GError **error)
{
  g_autoptr (TdVolume) volume = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” does not exist", path);
    return NULL;
  }
  if (!td_h5_trial_volume (path, error))
    return NULL;
  volume = td_h5_probe (path) ? volume_open_hdf5 (path, error) : volume_open_tiff (path, error);
  if (!volume)
    return NULL;
  volume->facts.path = g_strdup (path);
  if (g_str_has_suffix (path, ".part"))
    volume->facts.complete = FALSE;
  return g_steal_pointer (&volume);
}

const TdVolumeFacts *
td_volume_facts (const TdVolume *volume)
{
  return &volume->facts;
}

gboolean
td_volume_read (TdVolume *volume, guint first, guint count, float *out, GError **error)
{
  const TdVolumeFacts *facts = &volume->facts;
  double largest = facts->bits == 16 ? 65535 : 255;

  if (first > facts->n_slices || count > facts->n_slices - first) {
    td_set_error (error, TD_ERROR_INVALID, "“%s” has %u slices; slices %u to %u were asked for",
                  facts->path, facts->n_slices, first, first + count);
    return FALSE;
  }
  if (count == 0)
    return TRUE;
  if (!volume->vtable->read (volume->source, first, count, out, error))
    return FALSE;
  if (facts->bits <= 16 && (facts->low != 0 || facts->high != largest)) {
    double gain = (facts->high - facts->low) / largest;

    for (gsize i = 0; i < (gsize) count * facts->nx * facts->ny; i++)
      out[i] = (float) (facts->low + gain * out[i]);
  }
  return TRUE;
}

void
td_volume_free (TdVolume *volume)
{
  if (!volume)
    return;
  if (volume->source)
    volume->vtable->free (volume->source);
  g_free (volume->facts.path);
  g_free (volume->facts.provenance_json);
  g_free (volume);
}
