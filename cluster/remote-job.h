/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "batch.h"
#include "job-file.h"
#include "profile.h"

/**
 * TdRemoteJob: a job of a cluster, as this computer sees it: submitted, followed, cancelled, its
 * results brought here. The job's folder on the cluster is all there is of it. So the same object
 * is made from a folder that another computer or a person wrote.
 *
 * Calls that reach for the cluster block; any thread, one such call at a time. Facts can be taken
 * at any time by any thread.
 */
typedef struct TdRemoteJob TdRemoteJob;

typedef enum {
  TD_REMOTE_STAGED, /* its files are on their way, or it was not launched */
  TD_REMOTE_QUEUED,
  TD_REMOTE_RUNNING,
  TD_REMOTE_DONE,
  TD_REMOTE_FAILED,
  TD_REMOTE_CANCELLED,
  TD_REMOTE_LOST, /* its processes are gone without a word */
} TdRemoteState;

const char *td_remote_state_name (TdRemoteState state); /* "staged", … */
gboolean td_remote_state_ended (TdRemoteState state);

/* A slice that can be looked at before the volume is complete. */
typedef struct {
  guint index;
  guint pass; /* of the iterations that it shows; 0: it is finished */
  char *path; /* from the job's folder on */
} TdRemoteSlice;

typedef struct {
  TdRemoteState state;
  char *id, *title, *profile, *folder;
  char *place;        /* "this computer", or the host */
  char *scheduler_id; /* NULL: none */
  char *output;       /* the volume, as this computer calls it; NULL: it does not see it */
  char *output_there; /* as the cluster calls it */
  gboolean to_be_fetched, fetched; /* to @output; and it was */
  gboolean overwrite;
  char *why;         /* why it waits, failed or was lost; what happened to the connection; NULL.
                        For td_message_words() */
  char *stage;       /* that it is in; NULL: none yet */
  double fraction;   /* of the stage, 0 … 1 */
  double rate;       /* units a second; 0: unknown */
  char *unit;        /* of the rate */
  double left_s;     /* < 0: not known */
  double seconds;    /* it took, or has taken; < 0: not started */
  guint ranks;       /* 0: not known yet */
  char **rank_lines; /* a line a rank: node, device, kernel, its part of the volume; never NULL */
  char **notes;      /* never NULL; as @why */
  guint nx, ny, n_slices, first_row, slice_rows; /* of the volume; 0: not known yet */
  guint slices_done, n_passes; /* n_passes 0: the method has none, or it is not known */
  guint ahead;                 /* jobs of this computer that go before it */
  gboolean paused;             /* no job of this computer begins */
  char *scan, *recipe;         /* path, and JSON; NULL: not known */
  char *method;                /* "sirt"; NULL: not known */
  double pixel_mm;
  char *units;
  GArray *slices;    /* TdRemoteSlice, as they came */
  GArray *residuals; /* double: relative, of the passes that are done */
  GPtrArray *scans;  /* TdBatchRow; NULL: no batch */
  char *watch;       /* the folder that a batch watches; NULL */
} TdRemoteFacts;

void td_remote_facts_clear (TdRemoteFacts *facts);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdRemoteFacts, td_remote_facts_clear)

/* What is to be computed. Everything is copied or referenced. */
typedef struct {
  TdScan *scan;
  char **scan_settings; /* option and value in turns; NULL: none */
  const TdRecipe *recipe;
  const char *output; /* whole path on this computer */
  gboolean overwrite;
  TdClusterWish wish;
} TdRemoteOrder;

/* A job that is not submitted yet. */
TdRemoteJob *td_remote_job_new (TdClusterProfile *profile, const TdRemoteOrder *order);
/* Many scans: @scans, or those that come into @batch->watch. @folder: where the volumes go. For
   this computer alone. */
TdRemoteJob *td_remote_job_new_batch (const TdJobBatch *batch, char *const *scan_settings,
                                      const TdRecipe *recipe, const char *folder,
                                      gboolean overwrite);
/* The job of a folder on a host. */
TdRemoteJob *td_remote_job_of_folder (TdShell *shell, const char *folder);
/* Whether the job was launched through its shell's host. Where several hosts see a folder, each
   shows the job, and only the launching host sees the processes. After a look. */
gboolean td_remote_job_is_home (const TdRemoteJob *job);
gboolean td_remote_job_was_launched (const TdRemoteJob *job); /* after a look */
TdRemoteJob *td_remote_job_ref (TdRemoteJob *job);
void td_remote_job_unref (TdRemoteJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRemoteJob, td_remote_job_unref)

/* Makes the folder, copies what must be copied, and launches. On an error nothing is left behind;
   a scheduler's rejection is in its own words. */
gboolean td_remote_job_submit (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* Looks at the job once. FALSE: the host cannot be reached; the facts say so, too, and the next
   look goes on where this one stopped. */
gboolean td_remote_job_look (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* Ends every process of the job: by its flag, then by its scheduler or by signals. TRUE: none is
   left, which was looked at. */
gboolean td_remote_job_cancel (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* Launches a job again that has ended and is not done: what it finished is not computed again. */
gboolean td_remote_job_again (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* Iterations end after the pass that runs, and what they came to is written. The worker of a
   cluster does not look. */
gboolean td_remote_job_keep (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* A job of this computer that waits goes before the others, or after them. */
gboolean td_remote_job_set_place (TdRemoteJob *job, gint place, GCancellable *cancellable,
                                  GError **error);
/* Removes the folder of a job that has ended, not its volume. */
gboolean td_remote_job_forget (TdRemoteJob *job, GCancellable *cancellable, GError **error);
/* No job of this computer begins from now on, or they do again; the one that runs goes on. */
gboolean td_remote_jobs_pause (gboolean pause, GError **error);
gboolean td_remote_jobs_are_paused (void);
/* Brings the volume of a job that is done to where it was wanted. TRUE: it is there. What was
   copied before an error stays for the next try. */
gboolean td_remote_job_fetch (TdRemoteJob *job, const TdShellCopy *copy, GCancellable *cancellable,
                              GError **error);
/* A file of the folder, such as a slice's. (transfer full) */
GBytes *td_remote_job_read (TdRemoteJob *job, const char *path, GCancellable *cancellable,
                            GError **error);
/* What the launcher and the worker printed. (transfer full) */
char *td_remote_job_log (TdRemoteJob *job, GCancellable *cancellable, GError **error);

void td_remote_job_facts (TdRemoteJob *job, TdRemoteFacts *facts);
/* A line for people: state, stage, rate, time left. (transfer full) */
char *td_remote_facts_line (const TdRemoteFacts *facts);
