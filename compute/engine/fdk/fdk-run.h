/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"
#include "compute/engine/monitor.h"
#include "compute/prepare/prepared-rows.h"
#include "compute/stored-samples.h"
#include "fdk.h"

/**
 * The running half of td_method_fdk (fdk-run.c). Each device has a thread that computes
 * (fdk-worker.c) and one that downloads finished slabs (fdk-download.c). With a row cache it has a
 * third one, which feeds the cache (fdk-row-cache.c). The last of them to end hands back what the
 * device had not delivered.
 */
typedef struct TdFdkRun TdFdkRun;
typedef struct TdFdkDevice TdFdkDevice;
typedef struct TdFdkRowCache TdFdkRowCache;
typedef struct TdFdkWorker TdFdkWorker;

/* ── Pinned memory (fdk-pinned.c) ── */

/* Buffers of equal size for transfers. The engine keeps them between jobs, since pinning takes
   longer than copying. */
typedef struct {
  TdDevice *device;
  guint64 bytes;
  guint n;
  void **memory;
} TdFdkPinned;

TdFdkPinned *td_fdk_pinned_take (TdEngine *engine, TdDevice *device, guint n, guint64 bytes,
                                 GError **error);
/* Keeps it, or frees what a failed device may have left unsound; NULL is allowed. */
void td_fdk_pinned_give (TdEngine *engine, TdFdkPinned *pinned, gboolean sound);

/* Uploads through a few pinned buffers in turns: one is filled while the others are on their way.
 */
typedef struct {
  TdFdkPinned *pinned;
  TdQueue *queue;
  TdEvent *passed[TD_FDK_RING];
  guint next;
} TdFdkRing;

/* The next buffer, once the transfer that used it has passed; blocks. */
void *td_fdk_ring_next (TdFdkRing *ring, GError **error);
/* Enqueues the transfer of the buffer that td_fdk_ring_next() gave. */
gboolean td_fdk_ring_send (TdFdkRing *ring, TdBuffer *to, guint64 offset, guint64 bytes,
                           GError **error);
/* The queue has been finished; @sound: without failing. */
void td_fdk_ring_clear (TdFdkRing *ring, TdEngine *engine, gboolean sound);

/* ── Work (fdk-run.c) ── */

/* A slab as the run sees it. */
typedef struct {
  gboolean taken; /* volume share: by somebody */
  GQueue todo;    /* projection share: batches nobody has taken, GUINT_TO_POINTER (batch) */
  float *sum;     /* projection share: the parts delivered so far, in pinned memory */
  guint summed;   /* batches in it */
} TdFdkSlab;

/* What one device adds to one slab: all batches, or those that it took. */
typedef struct {
  guint slab;
  GArray *batches;   /* guint, taken so far */
  TdBuffer *volume;  /* the device's; NULL before the first batch */
  GPtrArray *events; /* TdEvent, pairs around every call of the projector */
  TdEvent *computed;
  double updates; /* reported so far */
} TdFdkPart;

/* The next batch for @device: of *@part, or of a new part if that is NULL or has none left. FALSE:
   there is none now. Where projections are shared, a call with @wait gives FALSE only when all is
   delivered, or when the run or the device has failed. */
gboolean td_fdk_take (TdFdkDevice *device, TdFdkPart **part, guint *batch, gboolean wait);

/* ── The run (fdk-run.c) ── */

/* One attempt, or several if a failure can be got around. Devices and slabs are an attempt's, all
   else is kept. */
struct TdFdkRun {
  gatomicrefcount references; /* slices on their way to the writer hold one */
  TdJob *job;
  TdPlan *plan;
  TdFdkPlan now;             /* the attempt's plan: the job's, as failures have changed it */
  TdFdkAttempt attempt;      /* what they taught */
  const TdFdkPlan *fdk;      /* now */
  GCancellable *cancellable; /* the attempt's, cancelled by the first failure too */
  float *projections;        /* host: [held view][n_rows][column]; NULL: in the file */
  int projections_file; /* -1: in memory. Not mapped: its pages would count as the process' own */
  gint file_errno;      /* atomic: reading or writing it failed */
  TdFdkPinned *downloads;
  guint download_slices; /* that one of its buffers takes */
  TdFdkDevice *devices;
  guint n_devices;
  gboolean *delivered; /* by slice: has gone to the writer; the device that took its slab sets it */
  guint *families_tried; /* by device: bits of td_cone_families() */
  guint n_retired;
  gboolean dropped_idle;
  guint *counted_by; /* by the scan's row: who counts what is replaced in it; 0: nobody */

  TdMonitor monitor;  /* of all below, and of what TdFdkDevice says */
  guint rows_done;    /* host: of n_rows, from the top */
  guint own_views;    /* gathered: the next chunk of views that this job filters begins there */
  guint views_done;   /* gathered: of all views, those that have come */
  guint views_passed; /* gathered: those whose place may be used again */
  TdFdkSlab *slabs;
  guint n_slabs;
  double sum_s, sum_bytes; /* parts that the host added */
  guint unfinished;        /* slabs not yet emitted */
  GQueue free_downloads;   /* float * of downloads */
  guint devices_left;
  GError *error;       /* the first */
  TdFdkDevice *failed; /* whose error that is, if another attempt may get around it */
};

/* One of a device's threads. Its body gives FALSE without @error: the device was stopped. */
typedef struct {
  TdFdkDevice *device;
  gboolean (*body) (TdFdkDevice *device, GError **error);
  GThread *thread;
} TdFdkThread;

struct TdFdkDevice {
  TdFdkRun *run;
  TdDevice *device;
  const TdConeFamily *family;
  guint index;
  TdFdkWorker *worker;
  TdFdkRowCache *cache; /* NULL: host */
  TdFdkThread threads[3];
  TdQueue *download;       /* the downloading thread's, as the next two */
  TdStoredSamples *stored; /* makes samples of slices; NULL: they come down as floats */
  guint32 *stored_counts;
  TdEvent *origin;  /* on the computing queue; device times of spans count from it */
  gint64 origin_us; /* and when it was asked for, which is never too late */
  double kernel_s, kernel_updates, download_s, download_bytes;

  guint running;         /* threads; atomic */
  GError *error;         /* the first: retires the device; under the run's lock, as all below */
  gboolean computed_all; /* no more slabs will come to be downloaded, the kernels have ended */
  GQueue computed;       /* TdFdkPart, to be downloaded */
  GPtrArray *open;       /* TdFdkPart, taken and not delivered; owned */
  GQueue free_volumes;   /* TdBuffer of the worker */
};

/* The first error ends the attempt for all devices. Takes @error. */
void td_fdk_fail (TdFdkRun *run, GError *error);
/* Seconds between pairs of events that have passed, each a span of the job. */
gboolean td_fdk_device_spans (TdFdkDevice *device, const char *stage, const GPtrArray *events,
                              double *sum, GError **error);
/* Under the lock. For td_monitor_get(): @device is a TdFdkDevice. */
gboolean td_fdk_device_stopped (gconstpointer device);
void td_fdk_run_unref (TdFdkRun *run);
TdFdkRun *td_fdk_run_ref (TdFdkRun *run);

/* For whoever prepares rows: each row is counted once. Row caches of several devices prepare some
   of the same rows, and chunks that were dropped are made again. */
#define TD_FDK_BY_DEVICE(device) ((device)->index + 1)
#define TD_FDK_BY_FILTER (G_MAXUINT - 1)
#define TD_FDK_COUNTED G_MAXUINT
/* What is replaced in those of @rows that nobody counts is counted by @who. */
TdRowRange td_fdk_count_rows (TdFdkRun *run, guint who, TdRowRange rows);
/* @who has told the job what it counted, or else others may count those rows. */
void td_fdk_end_counting (TdFdkRun *run, guint who, gboolean told);

/* Who reads rows of the scan. */
typedef struct {
  TdFdkRun *run;
  guint device; /* its index, for the job's spans */
  const TdFdkInput *input;
} TdFdkReader;

/* A TdRowsRead of a TdFdkReader, which books what it takes. */
gboolean td_fdk_read (gpointer reader, TdRowRange range, float *out, GCancellable *cancellable,
                      GError **error);

/* ── The host's store (fdk-filter.c) ── */

/* Blocks until detector rows up to @end (counted in n_rows) of the batch are filtered; FALSE: the
   run or the device has failed. */
gboolean td_fdk_wait_rows (TdFdkDevice *device, const TdFdkBatch *batch, guint end);
/* The batch was copied out of the store, and no slab will want it again. */
void td_fdk_pass_views (TdFdkRun *run, const TdFdkBatch *batch);
/* FALSE with @error: the file of the projections could not be read or written. */
gboolean td_fdk_file_sound (TdFdkRun *run, GError **error);
/* The thread's body filters all rows. A device that fails leaves the rest to the next one.
 */
gpointer td_fdk_filter_thread (gpointer run);
/* Gathered: the body of the thread that takes views as they come. */
gpointer td_fdk_gather_thread (gpointer run);

/* ── The devices' row caches (fdk-row-cache.c) ── */

TdFdkRowCache *td_fdk_row_cache_new (TdFdkDevice *device);
/* @sound: without failing. NULL is allowed. */
void td_fdk_row_cache_free (TdFdkRowCache *cache, gboolean sound);
/* The downloading thread's, which has nothing to download yet: makes the filter and the gathering
   kernel. */
gboolean td_fdk_row_cache_open (TdFdkRowCache *cache, GError **error);
/* The computing thread's, on its queue. Blocks until all is enqueued that brings and filters the
   rows that the slab sees; they stay until td_fdk_row_cache_passed(). FALSE without @error:
   stopped.
 */
gboolean td_fdk_row_cache_ready (TdFdkRowCache *cache, TdQueue *queue, guint slab, GError **error);
/* Enqueues: rows [row0, row0 + n_rows) of the batch's views into @to, [place][row][column]. */
gboolean td_fdk_row_cache_gather (TdFdkRowCache *cache, TdQueue *queue, const TdFdkBatch *batch,
                                  guint row0, guint n_rows, TdBuffer *to, GError **error);
/* What was enqueued so far is all that this slab wants of its rows. */
gboolean td_fdk_row_cache_passed (TdFdkRowCache *cache, TdQueue *queue, GError **error);

/* ── Threads of a device ── */

/* So many bands of rows of voxels (TdJobTurns) are computed one after the other; 1: all at once. */
guint td_fdk_bands (const TdFdkDevice *device);
/* The threads' bodies, each in its file. */
gboolean td_fdk_compute (TdFdkDevice *device, GError **error);
gboolean td_fdk_download (TdFdkDevice *device, GError **error);
gboolean td_fdk_row_cache_feed (TdFdkDevice *device, GError **error);

/* What the computing and the downloading thread own; empty at first. free: after all threads. */
TdFdkWorker *td_fdk_worker_new (TdFdkDevice *device);
void td_fdk_worker_free (TdFdkWorker *worker);
