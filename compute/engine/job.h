/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/prepare.h"
#include "compute/row-range.h"
#include "plan.h"

/**
 * TdJob: a plan being carried out. Previews (one slice, no output), full runs, the command line and
 * the cluster use the same object. The job owns its threads: a reader, one for each device, and a
 * writer. Bounded queues connect the threads.
 */
typedef enum {
  TD_JOB_WAITING,
  TD_JOB_RUNNING,
  TD_JOB_DONE,
  TD_JOB_FAILED,
  TD_JOB_CANCELLED,
} TdJobState;

typedef struct {
  TdJobState state;
  guint slices_done, n_slices;
  double fraction; /* of the work, 0 … 1 */
  double elapsed_s;
  double remaining_s;   /* estimate; < 0: not known yet */
  double updates_per_s; /* so far */
  const char *stage; /* "building kernels, once", "reading", "reconstructing", "writing" (static) */
  guint pass, n_passes; /* iterative methods: those done, of how many at most; 0, 0: none */
  double residual;      /* the last pass's, relative; NAN: none yet */
} TdJobProgress;

/* FALSE: a volume tells nothing and is not kept. @says: some value was finite and not 0; @clamped:
   so many were outside the range. */
gboolean td_job_check_volume (const TdPlan *plan, gboolean says, guint64 clamped, GError **error);

/* A pass of an iterative method: the seconds from the job's start to the pass's end, and the
   relative residual that the pass found. */
typedef struct {
  double seconds, residual;
} TdJobPass;

typedef struct {
  const char *name; /* "read", "prepare", "filter", "back-project", "write" */
  double seconds;   /* busy time */
} TdJobStage;

typedef struct {
  char *output;          /* NULL: none */
  char *device;          /* names, comma-separated */
  const char *kernel;    /* the family that ran, by its name; static; NULL: it has none */
  char *family;          /* the variant that ran, in words */
  const char *precision; /* that it computed in; static */
  double centre_px;
  double seconds;
  double updates_per_s;
  TdJobStage stages[8];
  guint n_stages;
  TdPreparationCounts counts;
  guint64 clamped_output; /* integer output: samples outside the range */
  guint64 host_peak_bytes, device_peak_bytes;
  TdMessage **notes;
} TdJobResult;

/* What a thread or a device of the job did, and when, in seconds from the job's start. The spans
   show what waits for what. */
typedef struct {
  const char *stage; /* as TdJobStage's, and "open", "wait"; static */
  guint device;      /* index in the plan */
  double start_s, end_s;
} TdJobSpan;

/* Called on the job's threads, one call at a time but for td_job_share_sink(); slices:
   [count][ny][nx], valid during the call. first counts from the plan's first_slice. */
typedef void (*TdJobSlices) (guint first, guint count, const float *slices, gpointer user);

/* Called on one of the job's threads: the prepared sinogram of the first slice's row,
   [view][column] of the plan's scan; (transfer full). */
typedef void (*TdJobSinogram) (float *sinogram, gpointer user);

/* What a slice (counted from the plan's first) has come to after @pass passes of an iterative
   method, [ny][nx]. It is called on one of the job's threads, which waits; the slice is valid
   during the call. */
typedef void (*TdJobEstimate) (guint slice, guint pass, const float *pixels, gpointer user);

/* Called on one of the job's threads, which waits. Rows @rows of slices [first, first + count) are
   meant, float [count][ny][nx]. Slices may come again after a failure. */
typedef gboolean (*TdJobTurn) (guint first, guint count, TdRowRange rows, float *slices,
                               GCancellable *cancellable, GError **error, gpointer user);

/* Processes add their views to the same slices, one after the other. */
typedef struct {
  TdJobTurn begin; /* brings what slices begin with; NULL: they begin with 0 */
  /* A slab's rows come in so many bands, one after the other, where plans say `bands`. */
  guint bands;
  TdJobTurn end; /* takes each band, in place of the sink; NULL: the sink takes slices */
  gpointer user;
} TdJobTurns;

typedef struct TdJob TdJob;

TdJob *td_job_new (TdPlan *plan);
TdJob *td_job_ref (TdJob *job);
void td_job_unref (TdJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdJob, td_job_unref)

void td_job_set_sink (TdJob *job, TdJobSlices sink, gpointer user);
/* Several threads may call the sink at once, with other slices each. Before the job runs. */
void td_job_share_sink (TdJob *job);
/* In place of td_job_set_sink(): the first slice comes to @slice, [ny][nx], which the caller keeps
   until the job ends. A job that ends without it has failed. */
void td_job_set_slice (TdJob *job, float *slice);
/* Asks for the row as soon as the job has prepared it; call this before the job runs. The sink may
   never be called: only previews by filtered back-projection show a row, and no row that is too
   long to be kept. */
void td_job_set_sinogram_sink (TdJob *job, TdJobSinogram sink, gpointer user);
/* Asks iterative methods for a middle slice of the running estimate after each pass; before the job
   runs. Other methods never call it. */
void td_job_set_estimate_sink (TdJob *job, TdJobEstimate sink, gpointer user);
/* Of a td_plan_new_part(). FDK only. */
void td_job_set_turns (TdJob *job, const TdJobTurns *turns);
/* TRUE: the complete volume replaces an existing output. FALSE: the job refuses such an output. */
void td_job_set_overwrite (TdJob *job, gboolean overwrite);
/* Before the job runs: the job keeps all its spans, for a caller that shows where time goes. */
void td_job_keep_spans (TdJob *job);
/* After the end, owned by the job. */
const TdJobSpan *td_job_spans (TdJob *job, guint *n);
/* Runs on the calling thread (which only waits) until done, failed or cancelled. */
gboolean td_job_run (TdJob *job, GCancellable *cancellable, GError **error);
/* The job runs on threads of its own, and calls @done in the caller's thread-default main context.
   Either way a job runs once. */
typedef void (*TdJobDone) (TdJob *job, const GError *error, gpointer user);
void td_job_start (TdJob *job, TdJobDone done, gpointer user);
/* Any thread; the job stops within 200 ms and removes what it wrote. */
void td_job_cancel (TdJob *job);
/* Any thread. An iterative method makes no more passes, and its last estimate is the result. Other
   methods go on. */
void td_job_finish_early (TdJob *job);
/* Before the job runs: "fista-tv" and "cgls" leave their momentum beside the volume, in
   "OUTPUT.momentum". Another job that starts from this volume then goes on as if both were one
   job. A job that ends early leaves its momentum in any case. */
void td_job_keep_momentum (TdJob *job);
/* After the end, owned by the job; of all slabs, one after another. */
const TdJobPass *td_job_passes (TdJob *job, guint *n);
/* The same (TdJobPass) while the job runs; any thread. (transfer full) */
GArray *td_job_passes_so_far (TdJob *job);
void td_job_progress (TdJob *job, TdJobProgress *progress); /* any thread, any time */
/* After the end. Owned by the job. */
const TdJobResult *td_job_result (TdJob *job);
char *td_job_result_json (TdJob *job); /* its notes are the plan's and the job's */
/* What is stored with a volume: program, scan, recipe, and what was done so far. (transfer full) */
char *td_job_provenance_json (TdJob *job);
/* Values of 0 and of the largest sample for 8 and 16 bits: the recipe's, or those of a preview of
   the middle slice. Blocks. */
gboolean td_job_output_range (TdJob *job, double *low, double *high, GError **error);
/* Of a job that has not run: notes what is told of such counts, and takes its notes away. So
   processes that share a volume tell what a job that made all of it would. @clamped: as
   TdJobResult's. (transfer full) */
void td_job_note_counts (TdJob *job, const TdPreparationCounts *counts, guint64 clamped);
TdMessage **td_job_take_notes (TdJob *job);
TdPlan *td_job_plan (TdJob *job);

/* ── Gathered views ── */

/**
 * Jobs that share the filtering (iFDK, section 4.1.2). Several jobs add the same views to different
 * slices. Each filters some of the views, and all views come to each. How they travel is the
 * caller's. For plans of a TdPlanPart with gathered > 0; FDK only.
 */

/* Filtered rows of the detector, and their width. */
typedef struct {
  TdRowRange rows;
  guint n_columns;
} TdFilteredRows;
/* The rows that the plan's slices see. */
TdFilteredRows td_plan_filtered_rows (const TdPlan *plan);

/* Views count in the order in which they are gathered. Chunk i is views [i, i + 1) × the part's
   gathered of that order, as many as there are. Both functions block, each on a thread of its own.
   They return FALSE with @error once the cancellable is cancelled; the same call may then come
   again. */
typedef struct {
  TdRowRange rows;   /* that this job filters: all that any of the jobs sees */
  guint jobs, index; /* chunks index, index + jobs, … are this job's */
  /* Takes a chunk that this job filtered: float [count][rows.count][n_columns]. */
  gboolean (*put) (guint first, guint count, const float *views, GCancellable *cancellable,
                   GError **error, gpointer user);
  /* Gives the next chunk, from the first on, whoever filtered it: float [count][rows that the
     plan's slices see][n_columns]. */
  gboolean (*take) (guint first, guint count, float *views, GCancellable *cancellable,
                    GError **error, gpointer user);
  gpointer user;
} TdJobGathered;

/* Before the job runs. */
void td_job_set_gathered (TdJob *job, const TdJobGathered *gathered);
