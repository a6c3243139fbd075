/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan-writer.h"
#include "dataset/volume.h"

/**
 * Measures whole jobs from disk to disk beside what the storage itself does. All files lie in one
 * folder and are removed.
 */

/* What a folder's storage moves, bytes a second: by one thread and by many, which write to files of
   their own or all to one. Writing ends when the bytes are durable; reading begins with nothing in
   the system's cache, where that can be emptied. */
typedef struct {
  double read_one, read_many, write_one, write_many, write_shared;
} TdStorageRates;

/* Moves @bytes in each of the five ways. Blocks. */
gboolean td_storage_measure (const char *folder, guint64 bytes, TdStorageRates *rates,
                             GCancellable *cancellable, GError **error);

/* A scan of random counts, and the volume that is made of it. */
typedef struct {
  guint n_columns, n_rows, n_views;
  const char *folder;
  TdRecipe recipe; /* its output's format and bits are the job's */
  GCancellable *cancellable;
} TdDiskBenchSpec;

/* Writes the scan in the form of a volume's format: a folder of TIFF files, BigTIFF or NXtomo.
   (transfer full): its path; td_disk_bench_remove() it. */
char *td_disk_bench_scan (const TdDiskBenchSpec *spec, TdVolumeFormat format, GError **error);
void td_disk_bench_remove (const char *path);
/* The same of any size and geometry: its frames are random counts of 16 bits. */
gboolean td_disk_bench_write_scan (const char *path, TdScanFormat format, const TdScanFacts *facts,
                                   GCancellable *cancellable, GError **error);

/* Stages in seconds; @limit_s is the slowest of what the storage takes to read and to write, of
   computing, and of a transfer. */
typedef struct {
  double total_s, read_s, write_s, compute_s, upload_s, download_s;
  const char *limit; /* its name */
  double limit_s;
} TdDiskJob;

gboolean td_disk_bench_job (TdEngine *engine, const TdDiskBenchSpec *spec, const char *scan_path,
                            const TdStorageRates *rates, TdDiskJob *job, GError **error);
