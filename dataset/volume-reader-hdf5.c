/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "hdf5-frames.h"
#include "scan-hdf5.h"
#include "volume-private.h"

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

static const TdVolumeSource hdf5_vtable = { volume_reader_hdf5_read, volume_reader_hdf5_free };

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

TdVolume *
td_volume_open_hdf5 (const char *path, GError **error)
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
  frames = td_h5_frames_new (dataset, label, error);
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
