/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster/remote-job.h"
#include "slice-store.h"

/**
 * TdRemoteFollower: a thread that submits a job of a cluster and looks at it until it ends. It
 * brings the slices that can be shown early, and at the end the volume. Main thread, but for its
 * thread.
 */
typedef struct TdRemoteFollower TdRemoteFollower;

typedef enum {
  TD_REMOTE_SUBMIT, /* the job is new */
  TD_REMOTE_AGAIN,  /* it has ended without a volume, and goes on */
  TD_REMOTE_WATCH,  /* it was launched */
} TdRemoteTask;

TdRemoteFollower *td_remote_follower_new (TdRemoteJob *job, TdRemoteTask task);
/* Ends the thread's work soon; the job goes on. */
void td_remote_follower_free (TdRemoteFollower *follower);
typedef enum {
  TD_REMOTE_CANCEL = 1,   /* the job's end */
  TD_REMOTE_KEEP = 2,     /* the end of its iterations, with what they came to */
  TD_REMOTE_GO_FIRST = 4, /* before the jobs of this computer that wait */
} TdRemoteWish;

void td_remote_follower_ask (TdRemoteFollower *follower, TdRemoteWish wish);
/* A wish that was asked for has not come to anything yet. */
gboolean td_remote_follower_was_asked (TdRemoteFollower *follower, TdRemoteWish wish);
/* Why the last wish came to nothing, for td_message_words(); NULL: it did not. (transfer full) */
char *td_remote_follower_refused (TdRemoteFollower *follower);
/* The slices so far; NULL: the volume's size is not known yet. (transfer full) */
TdSliceStore *td_remote_follower_slices (TdRemoteFollower *follower);
/* TRUE: the job has ended, and its volume is here. @problem: (transfer full): what went wrong
   besides, for td_message_words(); NULL: nothing. */
gboolean td_remote_follower_is_over (TdRemoteFollower *follower, char **problem);
