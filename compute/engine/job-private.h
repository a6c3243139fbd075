/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/output.h"
#include "method.h"

/* The parts of a job: job.c (life, progress), job-writer.c (the writing thread), job-json.c (result
   and provenance), job-range.c (the range of integer output). */
typedef struct TdJobWriter TdJobWriter;

struct TdJob {
  gatomicrefcount references;
  TdPlan *plan;
  TdJobSlices sink;
  gpointer sink_user;
  TdJobSums sums; /* NULL: slices begin with 0 */
  gpointer sums_user;
  gboolean overwrite;
  gboolean keep_momentum;
  TdOutput *companion;       /* NULL: none */
  GCancellable *cancellable; /* the job's own: cancelled by td_job_cancel() and by its failures */
  TdJobWriter *writer;

  GMutex lock;                 /* all below */
  TdJobSinogram sinogram_sink; /* NULL: not asked for, or given */
  gpointer sinogram_user;
  TdJobState state;
  GError *failure; /* the first error of any thread */
  gint64 started_us, ended_us, first_update_us;
  double updates, first_updates; /* so far; when the first came */
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
/* A file beside the volume, written: it appears after the volume, or goes. (transfer full) */
void td_job_take_companion (TdJob *job, TdOutput *companion);

TdJobWriter *td_job_writer_new (void);
void td_job_writer_free (TdJobWriter *writer);
/* Opens the output (if there is one) and starts the thread that writes and feeds the sink. */
gboolean td_job_writer_start (TdJob *job, double low, double high, GError **error);
/* Waits for the queue (or drops it, @keep FALSE), ends the thread, completes or removes the output.
   From then on slices are released unseen. */
gboolean td_job_writer_end (TdJob *job, gboolean keep, GError **error);

/* Values of 0 and of the largest sample for 8 and 16 bits: from the recipe, or from a preview of
   the middle slice. */
gboolean td_job_output_range (TdJob *job, double *low, double *high, GError **error);

char *td_job_provenance_json (TdJob *job);
