/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "error.h"
#include "file-bytes.h"
#include "file-room.h"
#include "hdf5-write.h"
#include "output.h"
#include "sample.h"
#include "storage-threads.h"
#include "tiff-save.h"

#define PIECE_VOXELS ((gsize) 1 << 18) /* that a thread converts and writes at once */

/* Where the first voxel of a slice goes. */
typedef struct {
  int file;
  guint64 at;
} SlicePlace;

/* One struct of functions a format; what is below them checks, scales and counts. */
typedef struct {
  /* Of a volume in one file, @samples_at is filled in. */
  gboolean (*begin) (TdVolumeWriter *writer, GError **error);
  /* @description: the volume's JSON with provenance; leaves the file closed. */
  gboolean (*finish) (TdVolumeWriter *writer, const char *description, GError **error);
  void (*free) (TdVolumeWriter *writer);
} VolumeWriterFormat;

struct TdVolumeWriter {
  TdVolumeSpec spec; /* strings are the writer's own */
  const VolumeWriterFormat *format;
  gpointer own;       /* the format's */
  TdSampleType type;  /* as stored */
  TdOutput *output;   /* NULL: another writer's, whose part is written to */
  char *part;         /* where to write now */
  int file;           /* of a volume in one file; -1: a file a slice */
  TdFileRoom *room;   /* of the samples; NULL: no windows are used */
  guint64 samples_at; /* of slice 0 in the file; the others follow without gaps */
  guint8 *written;    /* 1 for each slice that came */
  guint64 clamped;    /* under the lock */
  GMutex lock;
  GCancellable *cancellable; /* NULL: none */
};

/* ── TIFF stacks and BigTIFF ── */

/* Both formats describe each slice; the scale must not depend on a file beside it. */
static TdTiffImage
image_of (const TdVolumeWriter *writer, const char *description)
{
  return (TdTiffImage) { writer->spec.nx, writer->spec.ny, writer->type, writer->spec.voxel_mm,
                         description };
}

/* ---- a folder of slices ---- */

static gboolean
stack_begin (TdVolumeWriter *writer, GError **error)
{
  writer->own = td_volume_describe (&writer->spec, NULL);
  return TRUE;
}

static char *
stack_slice_name (const TdVolumeWriter *writer, guint number)
{
  return g_strdup_printf ("slice_%05u.tif", writer->spec.first_slice + number);
}

static TdTiffSave *
stack_open_slice (const TdVolumeWriter *writer, guint number, GError **error)
{
  TdTiffImage image = image_of (writer, writer->own);
  g_autofree char *name = stack_slice_name (writer, number);
  g_autofree char *path = g_build_filename (writer->part, name, NULL);

  return td_tiff_save_new (path, writer->spec.path, &image, 1, FALSE, error);
}

/* Somebody may have cleared away some of a folder that was being written. It is listed once: a
   network's storage would answer for each slice. */
static gboolean
stack_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  g_autoptr (GHashTable) there = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GDir) folder = g_dir_open (writer->part, 0, NULL);
  const char *own;

  while (folder && (own = g_dir_read_name (folder)))
    g_hash_table_add (there, g_strdup (own));
  for (guint i = 0; i < writer->spec.n_slices; i++) {
    g_autofree char *name = stack_slice_name (writer, i);

    if (g_hash_table_contains (there, name))
      continue;
    g_autofree char *path = g_build_filename (writer->part, name, NULL);
    return td_set_error (error, TD_ERROR_IO,
                         "“%s” was removed while the volume was being written: make it again, and "
                         "leave “%s” alone meanwhile",
                         path, writer->part);
  }
  return td_output_save_text (writer->output, "provenance.json", description, error);
}

static void
stack_free (TdVolumeWriter *writer)
{
  g_free (writer->own);
}

static const VolumeWriterFormat volume_stack_format = { stack_begin, stack_finish, stack_free };

/* ---- one file ---- */

static gboolean
bigtiff_begin (TdVolumeWriter *writer, GError **error)
{
  g_autofree char *description = td_volume_describe (&writer->spec, NULL);
  TdTiffImage image = image_of (writer, description);

  writer->own = writer->spec.go_on ? td_tiff_save_reopen (writer->part, writer->spec.path, &image,
                                                          writer->spec.n_slices, error)
                                   : td_tiff_save_new (writer->part, writer->spec.path, &image,
                                                       writer->spec.n_slices, TRUE, error);
  if (writer->own)
    writer->samples_at = td_tiff_save_samples_at (writer->own);
  return writer->own != NULL;
}

static gboolean
bigtiff_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  return td_tiff_save_describe (writer->own, description, error)
         && td_tiff_save_close (g_steal_pointer (&writer->own), error);
}

static void
bigtiff_free (TdVolumeWriter *writer)
{
  td_tiff_save_free (writer->own);
}

static const VolumeWriterFormat volume_bigtiff_format
    = { bigtiff_begin, bigtiff_finish, bigtiff_free };

/* ── HDF5 ── */

/* The library makes the structure; the samples are written beside it, without its lock. */
typedef struct {
  hid_t file, slices;
} Hdf5Volume;

static gboolean
volume_writer_hdf5_fail (TdVolumeWriter *writer, GError **error)
{
  return td_h5_set_write_error (error, writer->spec.path);
}

static gboolean
volume_writer_hdf5_add_entry (TdVolumeWriter *writer, Hdf5Volume *own)
{
  const TdVolumeSpec *spec = &writer->spec;
  g_autofree char *description = td_volume_describe (spec, NULL);
  g_auto (TdH5Id) entry = td_h5_add_group (own->file, "entry", "NXentry");
  g_auto (TdH5Id) data = td_h5_add_group (entry, "data", "NXdata");

  if (data < 0)
    return FALSE;
  own->slices = td_h5_add_frames (data, "data", writer->type, spec->n_slices, spec->ny, spec->nx);
  return own->slices >= 0 && td_h5_set_string (own->file, "default", "entry")
         && td_h5_set_string (entry, "default", "data") && td_h5_set_string (data, "signal", "data")
         && td_h5_add_string (entry, "program_name", "Tomodesk " TD_VERSION)
         && (!spec->units || td_h5_set_string (own->slices, "units", spec->units))
         && td_h5_set_string (own->slices, "description", description)
         && (spec->bits == 32
             || (td_h5_set_double (own->slices, "scale_low", spec->low)
                 && td_h5_set_double (own->slices, "scale_high", spec->high)))
         && (!(spec->voxel_mm > 0)
             || td_h5_add_doubles (data, "voxel_size", &spec->voxel_mm, 0, "mm"));
}

static gboolean
hdf5_begin (TdVolumeWriter *writer, GError **error)
{
  const TdVolumeSpec *spec = &writer->spec;
  Hdf5Volume *own = g_new0 (Hdf5Volume, 1);

  writer->own = own;
  own->file = own->slices = -1;
  own->file = spec->go_on
                  ? td_h5_reopen (writer->part)
                  : td_h5_create_sized (writer->part, (guint64) spec->nx * spec->ny * spec->n_slices
                                                          * td_sample_size (writer->type));
  if (own->file < 0)
    return volume_writer_hdf5_fail (writer, error);
  if (spec->go_on)
    own->slices = td_h5_find (own->file, "/entry/data/data", NULL);
  else if (!volume_writer_hdf5_add_entry (writer, own))
    return volume_writer_hdf5_fail (writer, error);
  writer->samples_at = own->slices >= 0 ? td_h5_frames_offset (own->slices) : 0;
  return (writer->samples_at > 0 && (spec->go_on || td_h5_flush (own->file)))
         || volume_writer_hdf5_fail (writer, error);
}

static void
close_slices (Hdf5Volume *own)
{
  if (own->slices >= 0)
    td_h5_close (own->slices);
  own->slices = -1;
}

/* A data set, since HDF5 holds attributes to 64 KiB. In place of one of an earlier run of the job,
   which came so far. */
static gboolean
volume_writer_hdf5_add_provenance (hid_t file, const char *description)
{
  TD_H5_GUARD;
  g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);

  if (entry >= 0 && H5Lexists (entry, "provenance", H5P_DEFAULT) > 0)
    H5Ldelete (entry, "provenance", H5P_DEFAULT);
  return entry >= 0 && td_h5_add_string (entry, "provenance", description);
}

static gboolean
hdf5_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  Hdf5Volume *own = writer->own;
  hid_t file = own->file;

  if (!volume_writer_hdf5_add_provenance (file, description))
    return volume_writer_hdf5_fail (writer, error);
  close_slices (own);
  own->file = -1;
  return td_h5_finish (file) || volume_writer_hdf5_fail (writer, error);
}

static void
volume_writer_hdf5_free (TdVolumeWriter *writer)
{
  Hdf5Volume *own = writer->own;

  close_slices (own);
  if (own->file >= 0)
    td_h5_finish (own->file);
  g_free (own);
}

static const VolumeWriterFormat volume_hdf5_format
    = { hdf5_begin, hdf5_finish, volume_writer_hdf5_free };

/* ── What the formats share ── */

static const struct {
  const VolumeWriterFormat *format;
  gboolean folder;
} formats[] = {
  [TD_VOLUME_TIFF_STACK] = { &volume_stack_format, TRUE },
  [TD_VOLUME_BIGTIFF] = { &volume_bigtiff_format, FALSE },
  [TD_VOLUME_HDF5] = { &volume_hdf5_format, FALSE },
};

static gboolean
check_spec (const TdVolumeSpec *spec, GError **error)
{
  const char *wrong = NULL;

  if (!spec->path || !*spec->path)
    wrong = N_ ("no path was given to write the volume to");
  else if ((guint) spec->format >= G_N_ELEMENTS (formats))
    wrong = N_ ("the format of the volume is none of tiff, bigtiff and hdf5");
  else if (spec->nx == 0 || spec->ny == 0 || spec->n_slices == 0)
    wrong = N_ ("the volume to be written is empty");
  else if ((guint64) spec->nx * spec->ny > G_MAXINT32)
    wrong = N_ ("the slices to be written have more than 2³¹ voxels; take a smaller region");
  else if (spec->bits != 32 && spec->bits != 16 && spec->bits != 8)
    wrong = N_ ("volumes can be written with 32, 16 or 8 bits a voxel");
  else if (spec->bits != 32
           && !(isfinite (spec->low) && isfinite (spec->high) && spec->low < spec->high))
    wrong = N_ ("16 and 8 bits a voxel need a lowest and a higher highest value to be scaled by");
  return !wrong || td_set_error_plain (error, TD_ERROR_INVALID, wrong);
}

static TdVolumeWriter *
volume_writer_alloc (const TdVolumeSpec *spec)
{
  TdVolumeWriter *writer = g_new0 (TdVolumeWriter, 1);

  writer->spec = *spec;
  writer->spec.path = g_strdup (spec->path);
  writer->spec.units = g_strdup (spec->units);
  writer->spec.job = g_strdup (spec->job);
  writer->format = formats[spec->format].format;
  writer->type = spec->bits == 32   ? TD_SAMPLE_FLOAT32
                 : spec->bits == 16 ? TD_SAMPLE_UINT16
                                    : TD_SAMPLE_UINT8;
  writer->written = g_new0 (guint8, spec->n_slices);
  writer->file = -1;
  g_mutex_init (&writer->lock);
  return writer;
}

static guint64
volume_writer_slice_bytes (const TdVolumeWriter *writer)
{
  return (guint64) writer->spec.nx * writer->spec.ny * td_sample_size (writer->type);
}

/* A handle of its own: the format's belongs to its library. Threads write to windows where one of
   them can take room. */
static gboolean
volume_writer_open_file (TdVolumeWriter *writer, GError **error)
{
  writer->file = open (writer->part, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (writer->file < 0)
    return td_output_set_error (error, writer->spec.path, errno);
  if (td_file_lies_in_memory (writer->file) && td_storage_fills_pages ())
    writer->room
        = td_file_room_new (writer->file, writer->samples_at,
                            writer->spec.n_slices * volume_writer_slice_bytes (writer), NULL);
  return TRUE;
}

TdVolumeWriter *
td_volume_writer_new (const TdVolumeSpec *spec, GError **error)
{
  if (!check_spec (spec, error))
    return NULL;
  g_autoptr (TdVolumeWriter) writer = volume_writer_alloc (spec);
  const guint64 bytes = volume_writer_slice_bytes (writer) * spec->n_slices;
  const gboolean folder = formats[spec->format].folder;
  writer->output = td_output_begin_shared (spec->path, folder, spec->overwrite, bytes, spec->job,
                                           spec->job && spec->go_on, error);
  if (!writer->output)
    return NULL;
  writer->part = g_strdup (td_output_part (writer->output));
  if (!writer->format->begin (writer, error))
    return NULL;
  if (!folder) {
    if (!volume_writer_open_file (writer, error))
      return NULL;
    if (!spec->job)
      td_volume_writer_expect (writer, 0, spec->n_slices);
  }
  return g_steal_pointer (&writer);
}

TdVolumeLayout
td_volume_writer_layout (const TdVolumeWriter *writer)
{
  return (TdVolumeLayout) { writer->part, writer->samples_at };
}

TdVolumeWriter *
td_volume_writer_join (const TdVolumeSpec *spec, const TdVolumeLayout *layout, GError **error)
{
  if (!check_spec (spec, error))
    return NULL;
  g_autoptr (TdVolumeWriter) writer = volume_writer_alloc (spec);
  writer->part = g_strdup (layout->part);
  writer->samples_at = layout->samples_at;
  if (!(formats[spec->format].folder ? writer->format->begin (writer, error)
                                     : volume_writer_open_file (writer, error)))
    return NULL;
  return g_steal_pointer (&writer);
}

void
td_volume_writer_expect (TdVolumeWriter *writer, guint first, guint count)
{
  const guint64 slice = volume_writer_slice_bytes (writer);

  if (writer->room && count > 0)
    td_file_room_want (writer->room, writer->samples_at + first * slice, count * slice);
}

void
td_volume_writer_set_cancellable (TdVolumeWriter *writer, GCancellable *cancellable)
{
  g_set_object (&writer->cancellable, cancellable);
}

/* ── Slices ── */

/* Slices that came in one call. */
typedef struct {
  TdVolumeWriter *writer;
  guint first, pieces; /* of a slice */
  const void *slices;
  gboolean stored;     /* as the volume stores them; else floats */
  TdFileWindow window; /* slices go to their place in the file's memory; else through its handle */
  guint64 window_at;   /* in the file */
} VolumePortion;

static gboolean
volume_portion_told (const VolumePortion *portion, int code, GError **error)
{
  return code == 0
         || td_output_set_error (error, portion->writer->spec.path,
                                 code == ENODATA ? ENOSPC : code);
}

/* Bytes of a voxel that came. */
static gsize
volume_portion_voxel (const VolumePortion *portion)
{
  return portion->stored ? td_sample_size (portion->writer->type) : sizeof (float);
}

/* @n voxels as they are stored. */
static void
volume_portion_convert (const VolumePortion *portion, const void *values, gsize n, void *to)
{
  TdVolumeWriter *writer = portion->writer;
  const TdVolumeSpec *spec = &writer->spec;
  const double largest = spec->bits == 16 ? 65535 : 255;
  const double low = spec->bits == 32 ? 0 : spec->low;
  const double gain = spec->bits == 32 ? 1 : largest / (spec->high - spec->low);

  if (portion->stored) {
    memcpy (to, values, n * td_sample_size (writer->type));
    return;
  }
  const guint64 clamped = td_samples_from_float (writer->type, low, gain, values, n, to);
  g_mutex_lock (&writer->lock);
  writer->clamped += clamped;
  g_mutex_unlock (&writer->lock);
}

/* @n voxels to their place. @scratch: a piece. */
static gboolean
volume_portion_put (const VolumePortion *portion, const SlicePlace *place, const void *values,
                    gsize n, void *scratch, GError **error)
{
  TdVolumeWriter *writer = portion->writer;
  const gsize bytes = n * td_sample_size (writer->type);

  if (writer->room) {
    const int code = td_file_room_await (writer->room, place->at, bytes, writer->cancellable);
    if (code == ECANCELED && g_cancellable_set_error_if_cancelled (writer->cancellable, error))
      return FALSE;
    if (code == 0)
      volume_portion_convert (portion, values, n,
                              portion->window.bytes + (place->at - portion->window_at));
    return volume_portion_told (portion, code, error);
  }
  if (portion->stored || writer->type == TD_SAMPLE_FLOAT32)
    return volume_portion_told (portion, td_file_write (place->file, values, bytes, place->at),
                                error);
  volume_portion_convert (portion, values, n, scratch);
  return volume_portion_told (portion, td_file_write (place->file, scratch, bytes, place->at),
                              error);
}

/* Piece @index of a volume in one file. */
static gboolean
volume_portion_write_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  const VolumePortion *portion = user;
  const TdVolumeWriter *writer = portion->writer;
  const gsize voxels = (gsize) writer->spec.nx * writer->spec.ny;
  const guint slice = index / portion->pieces;
  const gsize skip = index % portion->pieces * PIECE_VOXELS;
  const char *from
      = (const char *) portion->slices + (slice * voxels + skip) * volume_portion_voxel (portion);
  const guint64 voxel = (guint64) (portion->first + slice) * voxels + skip;
  const SlicePlace place
      = { writer->file, writer->samples_at + voxel * td_sample_size (writer->type) };

  return volume_portion_put (portion, &place, from, MIN (PIECE_VOXELS, voxels - skip), scratch,
                             error);
}

/* Slice @index of a volume of many files. */
static gboolean
volume_portion_write_slice (guint index, gpointer scratch, gpointer user, GError **error)
{
  const VolumePortion *portion = user;
  const TdVolumeWriter *writer = portion->writer;
  const gsize voxels = (gsize) writer->spec.nx * writer->spec.ny;
  g_autoptr (TdTiffSave) save = stack_open_slice (writer, portion->first + index, error);

  if (!save)
    return FALSE;
  for (gsize done = 0; done < voxels; done += PIECE_VOXELS) {
    const SlicePlace place
        = { td_tiff_save_file (save),
            td_tiff_save_samples_at (save) + done * td_sample_size (writer->type) };
    const char *from
        = (const char *) portion->slices + (index * voxels + done) * volume_portion_voxel (portion);

    if (g_cancellable_set_error_if_cancelled (writer->cancellable, error)
        || !volume_portion_put (portion, &place, from, MIN (PIECE_VOXELS, voxels - done), scratch,
                                error))
      return FALSE;
  }
  return td_tiff_save_close (g_steal_pointer (&save), error);
}

/* One window for all slices: threads that map memory wait for each other. */
static gboolean
volume_portion_open_window (VolumePortion *portion, guint count, GError **error)
{
  const TdVolumeWriter *writer = portion->writer;
  const guint64 slice = volume_writer_slice_bytes (writer);

  if (!writer->room || count == 0)
    return TRUE;
  portion->window_at = writer->samples_at + portion->first * slice;
  return volume_portion_told (
      portion,
      td_file_window_open (&portion->window, writer->file, count * slice, portion->window_at),
      error);
}

/* @portion: all but the writer's pieces are filled in. */
static gboolean
volume_portion_write (VolumePortion *portion, guint count, GError **error)
{
  TdVolumeWriter *writer = portion->writer;
  const TdVolumeSpec *spec = &writer->spec;
  const guint first = portion->first;
  const gsize voxels = (gsize) spec->nx * spec->ny;
  const gboolean as_it_is = portion->stored || writer->type == TD_SAMPLE_FLOAT32;

  portion->pieces = writer->file >= 0 ? (guint) ((voxels + PIECE_VOXELS - 1) / PIECE_VOXELS) : 1;
  const TdStorageWork work = {
    .count = portion->pieces * count,
    .scratch_bytes = as_it_is ? 0 : MIN (PIECE_VOXELS, voxels) * td_sample_size (writer->type),
    .body = writer->file >= 0 ? volume_portion_write_piece : volume_portion_write_slice,
    .user = portion,
    .writes = TRUE,
    .requests = writer->file >= 0 ? 1 : (guint) ((voxels + PIECE_VOXELS - 1) / PIECE_VOXELS),
  };

  for (guint i = 0; i < count; i++)
    if (first > spec->n_slices || i >= spec->n_slices - first || writer->written[first + i])
      return td_set_error (error, TD_ERROR_INVALID,
                           "“%s”: slice %u of %u was written twice or does not exist", spec->path,
                           first + i, spec->n_slices);
  if (!volume_portion_open_window (portion, count, error))
    return FALSE;
  const gboolean good = td_storage_run (&work, writer->cancellable, error);
  if (portion->window.map)
    td_file_window_close (&portion->window);
  if (good)
    memset (writer->written + first, 1, count);
  return good;
}

gboolean
td_volume_writer_write (TdVolumeWriter *writer, guint first, guint count, const float *slices,
                        GError **error)
{
  return volume_portion_write (
      &(VolumePortion) { .writer = writer, .first = first, .slices = slices }, count, error);
}

gboolean
td_volume_writer_write_stored (TdVolumeWriter *writer, guint first, guint count,
                               const void *samples, guint64 clamped, GError **error)
{
  g_mutex_lock (&writer->lock);
  writer->clamped += clamped;
  g_mutex_unlock (&writer->lock);
  return volume_portion_write (
      &(VolumePortion) { .writer = writer, .first = first, .slices = samples, .stored = TRUE },
      count, error);
}

void
td_volume_writer_account (TdVolumeWriter *writer, guint first, guint count, guint64 clamped)
{
  memset (writer->written + first, 1, count);
  writer->clamped += clamped;
}

guint64
td_volume_writer_clamped (TdVolumeWriter *writer)
{
  return writer->clamped;
}

/* ── The end ── */

/* Network file systems tell of a full disk here. */
static gboolean
volume_writer_close_file (TdVolumeWriter *writer, GError **error)
{
  g_clear_pointer (&writer->room, td_file_room_free);
  const gboolean closed = writer->file < 0 || close (writer->file) == 0;

  writer->file = -1;
  return closed || td_output_set_error (error, writer->spec.path, errno);
}

/* A folder's files are flushed all at once: fsync for each of thousands would take minutes. */
gboolean
td_volume_writer_sync (TdVolumeWriter *writer, GError **error)
{
  const int folder
      = writer->file < 0 ? open (writer->part, O_RDONLY | O_CLOEXEC | O_DIRECTORY) : -1;
  const gboolean flushed = writer->file >= 0
                               ? TEMP_FAILURE_RETRY (fdatasync (writer->file)) == 0
                               : folder >= 0 && TEMP_FAILURE_RETRY (syncfs (folder)) == 0;

  if (!flushed)
    td_output_set_error (error, writer->spec.path, errno);
  if (folder >= 0)
    close (folder);
  return flushed;
}

void
td_volume_writer_discard (TdVolumeWriter *writer)
{
  td_output_discard (writer->output);
  g_clear_pointer (&writer->output, td_output_free);
}

gboolean
td_volume_writer_finish (TdVolumeWriter *writer, const char *provenance_json, GError **error)
{
  const guint8 *gap = memchr (writer->written, 0, writer->spec.n_slices);

  g_return_val_if_fail (writer->output, FALSE);
  if (gap)
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” is not complete: slice %u of %u was never written",
                         writer->spec.path, (guint) (gap - writer->written), writer->spec.n_slices);
  /* Where none is stored, a run has not come to its end. */
  g_autofree char *description
      = td_volume_describe (&writer->spec, provenance_json ? provenance_json : "{}");
  return volume_writer_close_file (writer, error)
         && writer->format->finish (writer, description, error)
         && td_output_commit (writer->output, error);
}

void
td_volume_writer_free (TdVolumeWriter *writer)
{
  if (!writer)
    return;
  td_file_room_free (writer->room);
  if (writer->file >= 0)
    close (writer->file);
  if (writer->own)
    writer->format->free (writer);
  g_clear_pointer (&writer->output, td_output_free);
  g_clear_object (&writer->cancellable);
  g_mutex_clear (&writer->lock);
  g_free (writer->spec.path);
  g_free ((char *) writer->spec.units);
  g_free ((char *) writer->spec.job);
  g_free (writer->part);
  g_free (writer->written);
  g_free (writer);
}
