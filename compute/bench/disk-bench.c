/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "disk-bench.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compute/engine/job.h"
#include "dataset/file-bytes.h"
#include "dataset/file-room.h"
#include "dataset/output.h"
#include "dataset/random.h"
#include "dataset/storage-threads.h"
#include "dataset/tiff-save.h"

#define PIECE_BYTES ((gsize) 4 << 20)
#define N_FILES 8u

/* ── The storage ── */

typedef struct {
  int files[N_FILES];
  guint n_files;
  gboolean write;
  const guint8 *noise; /* a piece of bytes that do not shrink */
  const char *folder;
  TdFileRoom *room; /* of the only file, in memory; NULL: it is written through its handle */
  TdFileWindow window;
} Transfer;

/* As volumes of one file are written. */
static gboolean
storage_open_window (Transfer *t, guint64 bytes, guint threads, GError **error)
{
  if (!t->write || threads == 1 || t->n_files > 1 || !td_file_lies_in_memory (t->files[0])
      || !td_storage_fills_pages ())
    return TRUE;
  t->room = td_file_room_new (t->files[0], 0, bytes, error);
  if (!t->room)
    return FALSE;
  const int code = td_file_window_open (&t->window, t->files[0], bytes, 0);
  if (code == 0)
    return TRUE;
  g_clear_pointer (&t->room, td_file_room_free);
  return td_output_set_error (error, t->folder, code);
}

static void
storage_close_window (Transfer *t)
{
  if (!t->room)
    return;
  g_clear_pointer (&t->room, td_file_room_free);
  td_file_window_close (&t->window);
}

static gboolean
storage_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  const Transfer *t = user;
  const int file = t->files[index % t->n_files];
  const guint64 at = index / t->n_files * (guint64) PIECE_BYTES;
  int code;

  if (!t->write) {
    code = td_file_read (file, scratch, PIECE_BYTES, at);
  } else if (t->room) {
    code = td_file_room_await (t->room, at, PIECE_BYTES, NULL);
    if (code == 0)
      memcpy (t->window.bytes + at, t->noise, PIECE_BYTES);
  } else {
    code = td_file_write (file, t->noise, PIECE_BYTES, at);
  }
  if (code != 0)
    td_output_set_error (error, t->folder, code);
  return code == 0;
}

/* Bytes a second; 0 with @error. */
static double
storage_transfer (Transfer *t, guint64 bytes, guint threads, GCancellable *cancellable,
                  GError **error)
{
  const TdStorageWork work
      = { (guint) MAX (bytes / PIECE_BYTES, 1), t->write ? 0 : PIECE_BYTES, storage_piece, t };
  const gint64 start = g_get_monotonic_time ();

  if (!storage_open_window (t, work.count * (guint64) PIECE_BYTES, threads, error))
    return 0;
  td_storage_set_threads (threads);
  gboolean good = td_storage_run (&work, cancellable, error);
  td_storage_set_threads (0);
  storage_close_window (t);
  for (guint i = 0; good && t->write && i < t->n_files; i++)
    if (fsync (t->files[i]) != 0) {
      td_output_set_error (error, t->folder, errno);
      good = FALSE;
    }
  const double seconds = (g_get_monotonic_time () - start) * 1e-6;
  for (guint i = 0; i < t->n_files; i++) /* what is read next comes from the storage */
    posix_fadvise (t->files[i], 0, 0, POSIX_FADV_DONTNEED);
  return good ? work.count * (double) PIECE_BYTES / MAX (seconds, 1e-6) : 0;
}

/* Unlinked files: nothing is left, whatever happens. */
static gboolean
storage_open (Transfer *t, guint n_files, GError **error)
{
  for (t->n_files = 0; t->n_files < n_files; t->n_files++) {
    g_autofree char *path = g_build_filename (t->folder, "tomodesk-bench-XXXXXX", NULL);

    t->files[t->n_files] = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);
    if (t->files[t->n_files] < 0)
      return td_output_set_error (error, t->folder, errno);
    g_unlink (path);
  }
  return TRUE;
}

/* Writes @bytes to new files with @threads, and reads them again with one thread and with many. */
static gboolean
storage_round (Transfer *t, guint n_files, guint64 bytes, guint threads, double *rates[3],
               GCancellable *cancellable, GError **error)
{
  gboolean good = storage_open (t, n_files, error);

  for (guint i = 0; good && i < 3; i++)
    if (rates[i]) {
      t->write = i == 0;
      *rates[i] = storage_transfer (t, bytes, i == 0 ? threads : i == 1, cancellable, error);
      good = *rates[i] > 0;
    }
  while (t->n_files > 0)
    close (t->files[--t->n_files]);
  return good;
}

gboolean
td_storage_measure (const char *folder, guint64 bytes, TdStorageRates *rates,
                    GCancellable *cancellable, GError **error)
{
  g_autofree guint8 *noise = g_malloc (PIECE_BYTES);
  Transfer t = { .folder = folder, .noise = noise };
  double *one[3] = { &rates->write_one, &rates->read_one, NULL };
  double *many[3] = { &rates->write_many, NULL, &rates->read_many };
  double *shared[3] = { &rates->write_shared, NULL, NULL };

  td_random_noise ((float *) noise, PIECE_BYTES / sizeof (float), 1);
  return storage_round (&t, 1, bytes, 1, one, cancellable, error)
         && storage_round (&t, N_FILES, bytes, 0, many, cancellable, error)
         && storage_round (&t, 1, bytes, 0, shared, cancellable, error);
}

/* ── The scan ── */

static void
disk_bench_fill (float *frame, gsize n, TdFrameKind kind, guint number)
{
  if (kind == TD_FRAME_PROJECTION)
    td_random_noise (frame, n, number);
  for (gsize i = 0; i < n; i++)
    frame[i] = kind == TD_FRAME_DARK   ? 100
               : kind == TD_FRAME_FLAT ? 40000
                                       : rintf (30000 + 5000 * frame[i]);
}

gboolean
td_disk_bench_write_scan (const char *path, TdScanFormat format, const TdScanFacts *facts,
                          GCancellable *cancellable, GError **error)
{
  const guint counts[] = { facts->n_views, facts->n_flats, facts->n_darks };
  const TdFrameKind kinds[] = { TD_FRAME_PROJECTION, TD_FRAME_FLAT, TD_FRAME_DARK };
  const gsize n = (gsize) facts->n_columns * facts->n_rows;
  g_autofree float *frame = g_new (float, n);
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, facts, TRUE, error);
  gboolean good = writer != NULL;

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint i = 0; good && i < counts[k]; i++) {
      disk_bench_fill (frame, n, kinds[k], i);
      good = !g_cancellable_set_error_if_cancelled (cancellable, error)
             && td_scan_writer_write (writer, kinds[k], i, 1, frame, error);
    }
  return good && td_scan_writer_finish (writer, error);
}

static gboolean
disk_bench_write_frames (const TdDiskBenchSpec *spec, const char *path, TdScanFormat format,
                         GError **error)
{
  g_autofree double *angles = g_new (double, spec->n_views);
  const TdScanFacts facts = { .n_columns = spec->n_columns,
                              .n_rows = spec->n_rows,
                              .n_views = spec->n_views,
                              .n_flats = 2,
                              .n_darks = 1,
                              .sample_type = TD_SAMPLE_UINT16,
                              .angles_rad = angles,
                              .centre_px = NAN };

  for (guint i = 0; i < spec->n_views; i++)
    angles[i] = G_PI * i / spec->n_views;
  return td_disk_bench_write_scan (path, format, &facts, spec->cancellable, error);
}

static gboolean
disk_bench_write_bigtiff (const TdDiskBenchSpec *spec, const char *path, GError **error)
{
  const TdTiffImage image = { spec->n_columns, spec->n_rows, TD_SAMPLE_UINT16, 0, NULL };
  const gsize n = (gsize) spec->n_columns * spec->n_rows;
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, path, &image, spec->n_views, TRUE, error);
  g_autofree guint16 *samples = g_new (guint16, n);
  g_autofree float *frame = g_new (float, n);

  for (guint i = 0; save && i < spec->n_views; i++) {
    disk_bench_fill (frame, n, TD_FRAME_PROJECTION, i);
    for (gsize k = 0; k < n; k++)
      samples[k] = (guint16) frame[k];
    if (g_cancellable_set_error_if_cancelled (spec->cancellable, error)
        || !td_tiff_save_image (save, i, samples, error))
      return FALSE;
  }
  return save && td_tiff_save_close (g_steal_pointer (&save), error);
}

char *
td_disk_bench_scan (const TdDiskBenchSpec *spec, TdVolumeFormat format, GError **error)
{
  static const char *const names[]
      = { "tomodesk-bench-scan", "tomodesk-bench-scan.tif", "tomodesk-bench-scan.nxs" };
  g_autofree char *path = g_build_filename (spec->folder, names[format], NULL);
  const gboolean good
      = format == TD_VOLUME_BIGTIFF
            ? disk_bench_write_bigtiff (spec, path, error)
            : disk_bench_write_frames (
                spec, path, format == TD_VOLUME_HDF5 ? TD_SCAN_NXTOMO : TD_SCAN_TIFF, error);

  if (!good)
    td_disk_bench_remove (path);
  return good ? g_steal_pointer (&path) : NULL;
}

void
td_disk_bench_remove (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;

  while (folder && (name = g_dir_read_name (folder))) {
    g_autofree char *inside = g_build_filename (path, name, NULL);
    td_disk_bench_remove (inside);
  }
  g_remove (path);
}

/* ── Jobs ── */

static void
disk_job_take_stages (TdDiskJob *job, const TdJobResult *result)
{
  for (guint i = 0; i < result->n_stages; i++) {
    const TdJobStage *stage = &result->stages[i];
    double *sum = strcmp (stage->name, "upload") == 0     ? &job->upload_s
                  : strcmp (stage->name, "download") == 0 ? &job->download_s
                  : strcmp (stage->name, "read") == 0     ? &job->read_s
                  : strcmp (stage->name, "write") == 0    ? &job->write_s
                                                          : &job->compute_s;
    *sum += stage->seconds;
  }
}

static void
disk_job_find_limit (TdDiskJob *job, const TdPlanFacts *facts, TdVolumeFormat format,
                     const TdStorageRates *rates)
{
  const double writing = format == TD_VOLUME_TIFF_STACK ? rates->write_many : rates->write_shared;
  const struct {
    const char *name;
    double seconds;
  } limits[] = { { "reading", facts->read_bytes / rates->read_many },
                 { "writing", facts->write_bytes / writing },
                 { "computing", job->compute_s },
                 { "upload", job->upload_s },
                 { "download", job->download_s } };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    if (limits[i].seconds > job->limit_s) {
      job->limit = limits[i].name;
      job->limit_s = limits[i].seconds;
    }
}

gboolean
td_disk_bench_job (TdEngine *engine, const TdDiskBenchSpec *spec, const char *scan_path,
                   const TdStorageRates *rates, TdDiskJob *job, GError **error)
{
  static const char *const names[]
      = { "tomodesk-bench-volume", "tomodesk-bench-volume.tif", "tomodesk-bench-volume.h5" };
  /* What lies in one TIFF file has no flats, and is taken as it is. */
  const TdScanOptions options
      = { .angles = "0:180",
          .values = g_str_has_suffix (scan_path, ".tif") ? TD_SCAN_VALUES_ATTENUATIONS
                                                         : TD_SCAN_VALUES_FOUND };
  g_autofree char *output
      = g_build_filename (spec->folder, names[spec->recipe.output_format], NULL);
  g_autoptr (TdScan) scan = td_scan_open (scan_path, &options, spec->cancellable, error);
  g_autoptr (TdPlan) plan
      = scan ? td_plan_new (engine, scan, &spec->recipe, output, spec->cancellable, error) : NULL;

  if (!plan)
    return FALSE;
  g_autoptr (TdJob) run = td_job_new (plan);
  td_disk_bench_remove (output);
  const gint64 start = g_get_monotonic_time ();
  const gboolean good = td_job_run (run, spec->cancellable, error);
  *job = (TdDiskJob) { .total_s = (g_get_monotonic_time () - start) * 1e-6 };
  td_disk_bench_remove (output);
  if (!good)
    return FALSE;
  disk_job_take_stages (job, td_job_result (run));
  disk_job_find_limit (job, td_plan_facts (plan), spec->recipe.output_format, rates);
  return TRUE;
}
