/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdJobFile: what a cluster job is asked to do, as the file "job.json" in the job's folder. The
 * submitter writes the file before the launch, and the worker reads it. A worker refuses a file of
 * another version. Any thread.
 */
#define TD_JOB_VERSION 1

/* How ranks share the work (DESIGN.md, "The cluster"). */
typedef enum {
  TD_CLUSTER_SLAB,   /* a rank reads the rows that its slab sees of its group's views */
  TD_CLUSTER_IFDK,   /* ranks filter views and gather them in columns (iFDK, section 4.1) */
  TD_CLUSTER_SLICES, /* parallel beams: rows are handed out one after the other */
} TdClusterMode;

/* What the submitter asks of the cluster. */
typedef struct {
  TdClusterMode mode;
  guint rows, columns;  /* of the grid of ranks; 0: as the worker likes it */
  gboolean ordered;     /* views are added in their order: the bits of a single process */
  char *device;         /* as the recipe's devices; NULL: "auto" */
  guint64 memory_bytes; /* of each rank and of its device; 0: what is there */
  gint view_slice;      /* the slice that is computed and shown first; -1: none */
} TdClusterWish;

/* Many scans by one recipe, each into a volume of the output, which is a folder. */
typedef struct {
  char **scans;    /* NULL: those that come into @watch */
  char *watch;     /* a folder; NULL: @scans */
  double settle_s; /* so long what came must have been as it is */
} TdJobBatch;

typedef struct {
  char *id;        /* the folder's name: YYYYMMDD-HHMMSS-xxxxxxxx, UTC */
  char *title;     /* for lists of jobs */
  char *program;   /* that wrote the file: "tomodesk 0.1.0" */
  char *scan_path; /* NULL: a batch */
  TdJobBatch batch;
  char **scan_settings; /* option and value in turns, as td_scan_options_set() takes them, and NULL
                           at the end; NULL: none */
  char *scan_hash;      /* td_job_scan_hash(); NULL: not checked */
  TdRecipe recipe;      /* with the output's format and bits */
  char *output;
  gboolean overwrite;
  TdClusterWish cluster;
  char *profile;   /* that it was submitted to */
  char *submitted; /* ISO 8601 */
} TdJobFile;

void td_job_file_init (TdJobFile *job); /* presets, and nothing else */
void td_job_file_clear (TdJobFile *job);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdJobFile, td_job_file_clear)

/* From @folder; FALSE: @job is cleared. */
gboolean td_job_file_load (TdJobFile *job, const char *folder, GError **error);
/* Into @folder: whole and on the disk, or not at all. */
gboolean td_job_file_save (const TdJobFile *job, const char *folder, GError **error);
gboolean td_job_file_is_batch (const TdJobFile *job);
/* What the job states of its scan, or of each of them. */
gboolean td_job_file_options (const TdJobFile *job, TdScanOptions *options, GError **error);
/* Opens the scan as the job says, and refuses one that has another hash. Blocks. */
TdScan *td_job_file_open_scan (const TdJobFile *job, GCancellable *cancellable, GError **error);

/* "sha256:…" of the scan's sizes and of its files. Of each file counts the name and the size, and
   of up to 64 files the first and the last 64 KiB. Where they lie does not matter, so that copies
   have the same hash. Blocks. */
char *td_job_scan_hash (const TdScan *scan, GError **error);

const char *td_cluster_mode_name (TdClusterMode mode); /* "slab", "ifdk", "slices" */
/* FALSE: there is none of that name. */
gboolean td_cluster_mode_from_name (const char *name, TdClusterMode *mode);

/* The flag "cancel" in the job's folder: the desktop sets it, and the worker looks. */
gboolean td_job_is_cancelled (const char *folder);
