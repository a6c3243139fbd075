/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "hdf5-frames.h"
#include "hdf5-trial.h"
#include "hdf5-util.h"
#include "raw-frames.h"
#include "scan-hdf5.h"
#include "series.h"
#include "text-file.h"
#include "tiff-frames.h"

#define BESIDE_SLICES "provenance.json"
#define MAX_PROVENANCE_BYTES ((gsize) 64 << 20)
#define MAX_LISTED 64u /* data sets of a file */
#define MOST_NAMED 6u  /* in a sentence */

struct TdVolume {
  TdVolumeFacts facts;
  /* One of them. */
  TdTiffFrames *tiff;
  TdH5Frames *hdf5;
  TdRawFrames *raw;
};

/* ── TIFF ── */

/* The slices of a folder, which must hold nothing but one series, or the one file; NULL with
   @error. */
static char **
list_files (const char *path, GError **error)
{
  char **names = td_series_only (path, td_series_is_tiff, error);

  if (names && !names[0]) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” holds no TIFF files", path);
    g_clear_pointer (&names, g_strfreev);
  }
  return names;
}

char *
td_volume_whole (const char *path)
{
  g_autofree char *own = g_canonicalize_filename (path, NULL);
  g_autofree char *folder = g_path_get_dirname (own);
  g_autofree char *name = g_path_get_basename (own);
  g_autofree char *beside = g_build_filename (folder, BESIDE_SLICES, NULL);
  const gboolean is_part
      = g_str_equal (name, BESIDE_SLICES)
        || (g_str_has_prefix (name, "slice_") && g_str_has_suffix (name, ".tif"));

  if (is_part && g_file_test (beside, G_FILE_TEST_IS_REGULAR))
    return g_steal_pointer (&folder);
  return g_steal_pointer (&own);
}

/* A run writes into “PATH.part”, and its provenance last. */
static void
volume_note_unfinished (TdVolumeFacts *facts, const char *path)
{
  facts->complete = FALSE;
  td_messages_note (&facts->notes,
                    "“%s” is still being written, or was left by a run that did not end: slices "
                    "that it has not written are zeros or missing.",
                    path);
}

/* @stated slices were written. */
static void
volume_check_stated (TdVolumeFacts *facts, const char *path, guint stated)
{
  if (stated == facts->n_slices)
    return;
  facts->complete = FALSE;
  if (facts->n_slices == 1)
    td_messages_note (&facts->notes, "“%s” is one slice of a volume that was written with %u.",
                      path, stated);
  else
    td_messages_note (&facts->notes,
                      "“%s” was written with %u [slice|slices], but holds %u: copy it anew, or "
                      "reconstruct it again.",
                      path, stated, facts->n_slices);
}

/* The description stands in the folder's provenance.json, and in every slice without provenance.
   One slice of a folder is all that was asked for, whatever number it states. */
static void
take_descriptions (TdVolume *volume, const char *path, const TdTiffFrames *frames)
{
  TdVolumeFacts *facts = &volume->facts;
  g_autofree char *beside = g_build_filename (path, BESIDE_SLICES, NULL);
  g_autofree char *own = g_canonicalize_filename (path, NULL);
  g_autofree char *whole = td_volume_whole (path);
  g_autofree char *text = td_text_load (beside, MAX_PROVENANCE_BYTES, NULL);
  g_autoptr (TdTiff) tiff = td_tiff_open (td_tiff_frames_path (frames, 0), NULL, NULL);
  guint stated = 0;

  facts->complete = TRUE;
  gboolean described
      = tiff && td_volume_take_description (facts, td_tiff_description (tiff), &stated);
  if (text && td_volume_take_description (facts, text, &stated))
    described = TRUE;
  if (described && g_str_equal (own, whole))
    volume_check_stated (facts, path, stated);
  /* A file of many slices has its provenance inside. */
  if (described && !facts->provenance_json && frames->paths->len == 1 && facts->n_slices > 1)
    volume_note_unfinished (facts, path);
}

/* After the descriptions. The scale and units that these state are those of samples of so many
   bits: another program may have made others of them since. */
static void
take_type (TdVolumeFacts *facts, TdSampleType type)
{
  const gsize size = td_sample_size (type);

  if (facts->bits != 8 * size) {
    facts->low = facts->high = 0;
    g_clear_pointer (&facts->units, g_free);
  }
  facts->type = type;
  facts->bits = 8 * size;
  if (facts->high == 0 && facts->low == 0)
    facts->high = size == 1 ? 255 : size == 2 ? 65535 : 1;
}

/* Files that are missing between others shift what follows them. */
static void
note_gap (TdVolumeFacts *facts, char **names)
{
  const guint n = g_strv_length (names);
  g_autofree char *first = g_path_get_basename (names[0]);
  g_autofree char *last = g_path_get_basename (names[n - 1]);
  const gint64 from = td_series_number (first), to = td_series_number (last);

  if (n < 2 || from < 0 || to - from + 1 == n)
    return;
  td_messages_note (&facts->notes,
                    "There are %u files from “%s” to “%s”: their numbers have gaps, and "
                    "slices are counted as if there were none.",
                    n, first, last);
}

static TdVolume *
volume_open_tiff (const char *path, GError **error)
{
  g_autoptr (TdVolume) volume = g_new0 (TdVolume, 1);
  g_auto (GStrv) names = list_files (path, error);
  TdTiffFrames *frames = volume->tiff = td_tiff_frames_new ();

  if (!names || !td_tiff_frames_add (frames, (const char *const *) names, error))
    return NULL;
  volume->facts.format = names[1] ? N_ ("TIFF stack") : N_ ("TIFF file");
  volume->facts.nx = frames->layout.width;
  volume->facts.ny = frames->layout.height;
  volume->facts.n_slices = td_tiff_frames_count (frames);
  take_descriptions (volume, path, frames);
  take_type (&volume->facts, frames->layout.type);
  note_gap (&volume->facts, names);
  td_tiff_frames_note_partial (frames, &volume->facts.notes);
  return g_steal_pointer (&volume);
}

/* ── HDF5 ── */

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

/* The signal of the first NXdata group, and all arrays, by their dimensions. */
typedef struct {
  char *signal;               /* path; NULL: none */
  GPtrArray *arrays, *images; /* paths of those of three, and of two */
  GHashTable *seen;           /* where they are stored: links give them other paths */
} Found;

static void
volume_reader_found_init (Found *found)
{
  found->arrays = g_ptr_array_new_with_free_func (g_free);
  found->images = g_ptr_array_new_with_free_func (g_free);
  found->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

static void
volume_reader_found_clear (Found *found)
{
  g_free (found->signal);
  g_ptr_array_unref (found->arrays);
  g_ptr_array_unref (found->images);
  g_hash_table_unref (found->seen);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Found, volume_reader_found_clear)

static gboolean
volume_reader_hdf5_visit (hid_t group, const char *path, gpointer user)
{
  Found *found = user;
  g_autofree char *signal = td_h5_attribute_string (group, "signal");
  const char *base = strcmp (path, "/") == 0 ? "" : path;
  g_auto (GStrv) names = td_h5_names (group);
  g_auto (TdH5Id) named = signal ? find_array (group, signal) : -1;
  hsize_t shape[3];

  if (named >= 0 && !found->signal)
    found->signal = g_strconcat (base, "/", signal, NULL);
  for (guint i = 0; names[i]; i++) {
    g_auto (TdH5Id) other = find_array (group, names[i]);

    if (other >= 0 && g_hash_table_add (found->seen, td_h5_place (other)))
      g_ptr_array_add (td_h5_shape (other, shape, 3) == 3 ? found->arrays : found->images,
                       g_strconcat (base, "/", names[i], NULL));
  }
  return found->arrays->len > MAX_LISTED;
}

/* The path of the data set to show: one of several is not guessed. */
static char *
find_slices (hid_t file, const char *path, GError **error)
{
  g_auto (TdH5Id) usual = find_array (file, "/entry/data/data");
  g_auto (Found) found = { 0 };

  volume_reader_found_init (&found);
  if (usual >= 0)
    return g_strdup ("/entry/data/data");
  td_h5_visit_groups (file, volume_reader_hdf5_visit, &found);
  GPtrArray *arrays = found.arrays->len > 0 ? found.arrays : found.images;
  if (found.signal)
    return g_steal_pointer (&found.signal);
  if (arrays->len == 1)
    return g_strdup (arrays->pdata[0]);
  if (arrays->len > 1) {
    const guint n = arrays->len;
    g_ptr_array_set_size (arrays, (int) MIN (n, MOST_NAMED));
    g_ptr_array_add (arrays, NULL);
    g_autofree char *list = g_strjoinv (", ", (char **) arrays->pdata);
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                              found.arrays->len > 0
                                  ? N_ ("“%s” holds %u data sets of three dimensions; name the one "
                                        "to take ({dataset}, or as FILE::DATASET): %s")
                                  : N_ ("“%s” holds %u images; name the one to take ({dataset}, or "
                                        "as FILE::DATASET): %s"),
                              path, n, list);
  }
  return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                            "“%s” holds no data set of two or three dimensions to show", path);
}

static void
take_description (TdVolume *volume, const char *path, hid_t file, hid_t dataset)
{
  TdVolumeFacts *facts = &volume->facts;
  g_autofree char *own = td_h5_attribute_string (dataset, "description");
  g_autofree char *provenance = td_h5_string (file, "/entry/provenance");
  guint stated = 0;

  facts->complete = TRUE;
  if (td_volume_take_description (facts, own, &stated)) {
    volume_check_stated (facts, path, stated);
    if (!provenance)
      volume_note_unfinished (facts, path);
  }
  td_volume_take_description (facts, provenance, &stated);
}

/* @stated: (nullable): the data set that a person named. */
static TdVolume *
volume_open_hdf5 (const char *path, const char *stated, TdH5FramesFlags flags, GError **error)
{
  TD_H5_GUARD;
  g_autoptr (TdVolume) volume = g_new0 (TdVolume, 1);
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_autofree char *place = NULL, *label = NULL;

  if (file < 0)
    return NULL;
  place = stated ? g_strdup (stated) : find_slices (file, path, error);
  if (!place)
    return NULL;
  const hid_t dataset = td_h5_find_dataset (file, place, NULL);
  if (dataset < 0)
    return td_set_error_null (error, TD_ERROR_INVALID, "“%s” holds no data set “%s” ({dataset})",
                              path, place);
  label = td_h5_label (path, place);
  TdH5Frames *frames = td_h5_frames_new (dataset, label, flags, error);
  if (!frames)
    return NULL;
  volume->hdf5 = frames;
  volume->facts.format = "HDF5";
  volume->facts.dataset = g_steal_pointer (&place);
  const TdH5FramesFacts *own = td_h5_frames_facts (frames);
  volume->facts.nx = own->n_columns;
  volume->facts.ny = own->n_rows;
  volume->facts.n_slices = own->n_frames;
  take_description (volume, path, file, dataset);
  take_type (&volume->facts, own->type);
  return g_steal_pointer (&volume);
}

char **
td_volume_datasets (const char *path, GError **error)
{
  if (!td_h5_trial_volume (path, NULL, NULL, error))
    return NULL;
  TD_H5_GUARD;
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();
  g_auto (TdH5Id) file = td_h5_open (path, error);
  g_auto (Found) found = { 0 };

  volume_reader_found_init (&found);
  const GPtrArray *arrays = found.arrays;
  if (file < 0)
    return NULL;
  td_h5_visit_groups (file, volume_reader_hdf5_visit, &found);
  for (guint i = 0; i < MIN (arrays->len, MAX_LISTED); i++) {
    g_auto (TdH5Id) dataset = find_array (file, arrays->pdata[i]);
    hsize_t shape[3] = { 0 };

    td_h5_shape (dataset, shape, 3);
    g_autofree char *size
        = g_strdup_printf ("%" PRIu64 " × %" PRIu64 " × %" PRIu64, (guint64) shape[2],
                           (guint64) shape[1], (guint64) shape[0]);
    g_strv_builder_add_many (lines, arrays->pdata[i], size, NULL);
  }
  return g_strv_builder_end (lines);
}

/* ── Raw ── */

static TdVolume *
volume_open_raw (const char *path, const TdScanOptions *options, GError **error)
{
  const TdRawLayout layout
      = { options->raw_columns,    options->raw_rows,         options->raw_type,
          options->raw_big_endian, options->raw_header_bytes, 0 };
  g_auto (GStrv) names = td_series_only (path, NULL, error);
  g_autoptr (TdRawFrames) frames
      = names ? td_raw_frames_new ((const char *const *) names, &layout, error) : NULL;

  if (!frames)
    return NULL;
  if (td_raw_frames_count (frames) == 0)
    return td_set_error_null (error, TD_ERROR_NOT_FOUND, "“%s” holds no files", path);
  TdVolume *volume = g_new0 (TdVolume, 1);
  volume->facts = (TdVolumeFacts) { .format = N_ ("raw"),
                                    .nx = layout.n_columns,
                                    .ny = layout.n_rows,
                                    .n_slices = td_raw_frames_count (frames),
                                    .complete = TRUE };
  volume->raw = g_steal_pointer (&frames);
  take_type (&volume->facts, layout.type);
  note_gap (&volume->facts, names);
  return volume;
}

/* ── What the formats share ── */

char *
td_volume_file (const char *path, const char **dataset)
{
  const char *at = g_file_test (path, G_FILE_TEST_EXISTS) ? NULL : g_strrstr (path, "::");

  if (dataset)
    *dataset = at && at != path && at[2] ? at + 2 : NULL;
  return at && at != path && at[2] ? g_strndup (path, at - path) : g_strdup (path);
}

TdVolume *
td_volume_open (const char *path, GError **error)
{
  return td_volume_open_stated (path, NULL, error);
}

TdVolume *
td_volume_open_stated (const char *path, const TdScanOptions *options, GError **error)
{
  const char *dataset;
  g_autofree char *file = td_volume_file (path, &dataset);
  g_autoptr (TdVolume) volume = NULL;

  if (options && options->dataset)
    dataset = options->dataset;
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return td_set_error_null (error, TD_ERROR_NOT_FOUND, "“%s” does not exist", file);
  if (options && options->raw_columns > 0)
    volume = volume_open_raw (file, options, error);
  else if (!td_h5_trial_volume (file, dataset, NULL, error))
    return NULL;
  else if (td_h5_probe (file))
    volume = volume_open_hdf5 (file, dataset, options ? td_h5_scan_flags (options) : 0, error);
  else if (dataset)
    td_set_error (error, TD_ERROR_INVALID,
                  "“%s” is no HDF5 file: it holds no data set “%s” ({dataset})", file, dataset);
  else if (g_file_test (file, G_FILE_TEST_IS_REGULAR) && !td_tiff_probe (file))
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "“%s” is neither TIFF nor HDF5: save it as one of them, or state the size and "
                  "type of its slices if it has no header",
                  file);
  else
    volume = volume_open_tiff (file, error);
  if (!volume)
    return NULL;
  volume->facts.path = g_strdup (file);
  g_autofree char *name = g_path_get_basename (file); /* of "slices.part/", too */
  if (g_str_has_suffix (name, ".part"))
    volume_note_unfinished (&volume->facts, file);
  if (options && options->pixel_mm > 0)
    volume->facts.voxel_mm = options->pixel_mm;
  return g_steal_pointer (&volume);
}

const TdVolumeFacts *
td_volume_facts (const TdVolume *volume)
{
  return &volume->facts;
}

gboolean
td_volume_read_part (TdVolume *volume, const TdFrameRange *part, float *out,
                     GCancellable *cancellable, GError **error)
{
  const TdVolumeFacts *facts = &volume->facts;
  const TdFrameTarget target = td_frame_target_frames (part, facts->nx, out);
  double largest = facts->bits == 16 ? 65535 : 255;

  if (part->first > facts->n_slices || part->count > facts->n_slices - part->first)
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” has %u [slice|slices]; slices %u to %u were asked for", facts->path,
                         facts->n_slices, part->first, part->first + part->count);
  if (part->row0 > facts->ny || part->n_rows > facts->ny - part->row0)
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” has %u [row|rows]; rows %u to %u were asked for", facts->path,
                         facts->ny, part->row0, part->row0 + part->n_rows);
  if (part->count == 0 || part->n_rows == 0)
    return TRUE;
  if (!(volume->tiff   ? td_tiff_frames_read (volume->tiff, part, &target, cancellable, error)
        : volume->hdf5 ? td_h5_frames_fill (volume->hdf5, NULL, part, &target, cancellable, error)
                       : td_raw_frames_read (volume->raw, part, &target, cancellable, error)))
    return FALSE;
  if (facts->bits <= 16 && (facts->low != 0 || facts->high != largest)) {
    double gain = (facts->high - facts->low) / largest;

    for (gsize i = 0; i < (gsize) part->count * part->n_rows * facts->nx; i++)
      out[i] = (float) (facts->low + gain * out[i]);
  }
  return TRUE;
}

gboolean
td_volume_read (TdVolume *volume, guint first, guint count, float *out, GError **error)
{
  const TdFrameRange slices = { .first = first, .count = count, .n_rows = volume->facts.ny };

  return td_volume_read_part (volume, &slices, out, NULL, error);
}

void
td_volume_free (TdVolume *volume)
{
  if (!volume)
    return;
  g_clear_pointer (&volume->tiff, td_tiff_frames_free);
  g_clear_pointer (&volume->hdf5, td_h5_frames_free);
  g_clear_pointer (&volume->raw, td_raw_frames_free);
  g_free (volume->facts.path);
  g_free (volume->facts.dataset);
  g_free (volume->facts.units);
  td_messages_free (volume->facts.notes);
  g_free (volume->facts.provenance_json);
  g_free (volume);
}
