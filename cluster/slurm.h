/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/message.h"
#include "shell.h"

/**
 * What Slurm says of jobs, through the shell of the host where its commands are. However many jobs
 * are asked about, a host's squeue runs every 15 s at most. A job that squeue no longer knows is
 * looked up by sacct, once. Any thread; blocks.
 */
typedef enum {
  TD_SLURM_UNKNOWN, /* neither squeue nor sacct know the job */
  TD_SLURM_PENDING,
  TD_SLURM_RUNNING, /* or about to: configuring, completing */
  TD_SLURM_ENDED,
} TdSlurmPhase;

typedef struct {
  TdSlurmPhase phase;
  char *state;  /* Slurm's own: "PENDING", "TIMEOUT", "CANCELLED by 0", …; NULL: unknown */
  char *reason; /* why it waits or ended, Slurm's own word; NULL: none */
} TdSlurmState;

void td_slurm_state_clear (TdSlurmState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdSlurmState, td_slurm_state_clear)

/* @patience_s: 0: what squeue said of the job last suffices. Otherwise the job alone is looked up
   anew, unless any job of the host was within so many seconds. Jobs that are silent or that are to
   end are asked about in this way. */
gboolean td_slurm_ask (TdShell *shell, const char *id, guint patience_s, TdSlurmState *state,
                       GCancellable *cancellable, GError **error);
/* How the job ended and what to do; NULL: its end says nothing. (transfer full) */
TdMessage *td_slurm_explain (const TdSlurmState *state);
