/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/stored-samples.h"
#include "dataset/output.h"
#include "job.h"
#include "plan-private.h"

/* The parts of a job: job.c (life, progress), job-writer.c (the writing thread), job-json.c (result
   and provenance). */
typedef struct TdJobWriter TdJobWriter;

struct TdJob {
  gatomicrefcount references;
  TdPlan *plan;
  TdJobSlices sink;
  gpointer sink_user;
  gboolean sink_shared; /* it takes several calls at once */
  float *slice;         /* NULL: the sink is another */
  gboolean slice_there;
  TdJobEstimate estimate_sink; /* NULL: nobody looks */
  gpointer estimate_user;
  TdJobTurns turns;       /* all 0: there are none */
  TdJobGathered gathered; /* put NULL: none */
  gboolean overwrite;
  double output_low, output_high; /* the range of integer output, from its start on */
  gboolean keep_momentum;
  TdOutput *companion;       /* beside the volume: it appears after it, or goes; NULL: none */
  GCancellable *cancellable; /* the job's own: cancelled by td_job_cancel() and by its failures */
  TdJobWriter *writer;

  GMutex lock;                 /* all below */
  TdJobSinogram sinogram_sink; /* NULL: not asked for, or given */
  gpointer sinogram_user;
  TdJobState state;
  GError *failure; /* the first error of any thread */
  gint64 started_us, ended_us, first_update_us;
  double updates, first_updates; /* so far; when the first came */
  double fraction;               /* that was told last: what is done again takes nothing away */
  guint builds;                  /* of its devices, before it ran */
  guint slices_done;
  gint64 host_bytes;
  TdMessage **notes;
  GArray *passes; /* TdJobPass */
  gboolean ends_early;
  GArray *spans; /* TdJobSpan; NULL: not kept */
  TdJobResult result;
  TdJobDone done;
  gpointer done_user;
  GMainContext *done_context;
};

gboolean td_job_wants_sinogram (TdJob *job);
/* (transfer full); after the job's end, which a cancelled one's threads may outlive, nobody sees
 * it. */
void td_job_give_sinogram (TdJob *job, float *sinogram);
/* The first failure counts; it stops the job. (transfer full) */
void td_job_fail (TdJob *job, GError *error);
void td_job_slices_done (TdJob *job, guint count);

TdJobWriter *td_job_writer_new (void);
void td_job_writer_free (TdJobWriter *writer);
/* Opens the output (if there is one) and starts the thread that writes and feeds the sink. */
gboolean td_job_writer_start (TdJob *job, double low, double high, GError **error);
/* Waits for the queue (or drops it, @keep FALSE), ends the thread, completes or removes the output.
   From then on slices are released unseen. */
gboolean td_job_writer_end (TdJob *job, gboolean keep, GError **error);

/* ── Services to the method; any of the job's threads ── */

/* Finished slices. */
typedef struct {
  guint first, count; /* @first counts from the plan's first slice */
  void *slices;       /* floats, or samples */
  gboolean stored;    /* samples as the volume stores them, of which stored_counts tells */
  TdStoredCounts stored_counts;
  void (*release) (float *slices, gpointer user);
  gpointer user;
} TdJobPortion;

/* Hands finished slices to the writer, which writes and shows them. Blocks while the writer is
   behind. The job owns the slices from then on, whatever this returns, and frees them with
   release (slices, user) on any thread. */
gboolean td_job_emit (TdJob *job, const TdJobPortion *portion, GError **error);
/* The job's volume takes integers, and nobody else looks at the slices: methods may emit samples.
   Fills in @scale. */
gboolean td_job_wants_stored (const TdJob *job, TdStoredScale *scale);

void td_job_add_updates (TdJob *job, double updates); /* drives progress and ETA */
/* The job's time may be remembered as its devices' rate. No kernel was built meanwhile, or the job
   took so long that building did not count. */
gboolean td_job_is_warm (TdJob *job);
void td_job_add_pass (TdJob *job, double residual); /* of td_job_passes() */
void td_job_drop_passes (TdJob *job, guint n);      /* the last ones, which are made again */
gboolean td_job_ends_early (TdJob *job);            /* td_job_finish_early() was called */
void td_job_add_stage (TdJob *job, const char *stage, double seconds);
/* g_get_monotonic_time() of both ends; does nothing unless the job keeps spans. */
void td_job_add_span (TdJob *job, const char *stage, guint device, gint64 start_us, gint64 end_us);
void td_job_add_counts (TdJob *job, const TdPreparationCounts *counts);
/* Host memory taken (> 0) or given back (< 0), for the peak in the result. */
void td_job_add_host_bytes (TdJob *job, gint64 bytes);
/* The peak of a device's memory account, for the result. The job books its plan's devices itself.
 */
void td_job_add_account (TdJob *job, TdDevice *account);
/* What ran: a family's name (static), and in words. */
void td_job_set_family (TdJob *job, const char *name, const char *description);
void td_job_set_precision (TdJob *job, TdPrecision precision); /* else the plan's */
void td_job_note (TdJob *job, const char *id, ...) G_GNUC_PRINTF (2, 3);
/* After a failure: notes td_plan_inexact() of the kernel that goes on, if it is so. */
void td_job_note_inexact (TdJob *job, const char *family, double bound);
