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
  char *state;    /* Slurm's own: "PENDING", "TIMEOUT", "CANCELLED by 0", …; NULL: unknown */
  char *reason;   /* why it waits or ended, Slurm's own word; NULL: none */
  guint restarts; /* runs that Slurm ended to queue the job again; 0: squeue alone was asked */
} TdSlurmState;

/* A job, as sbatch named it. */
typedef struct {
  char *id;
  char *cluster; /* of those that the host's Slurm knows; NULL: its own */
} TdSlurmJob;

/* Begins a script that is given a cluster or "" as $1, and then asks by "squeue $many …". */
#define TD_SLURM_MANY "many=${1:+--clusters=$1}\nshift\n"

void td_slurm_state_clear (TdSlurmState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdSlurmState, td_slurm_state_clear)

/* @patience_s: 0: what squeue said of the job last suffices. Otherwise the job alone is looked up
   anew, unless any job of the host was within so many seconds. Jobs that are silent or that are to
   end are asked about in this way. TD_SLURM_AT_ONCE: so is one that squeue lists and that has not
   ended, whatever was asked before. */
#define TD_SLURM_AT_ONCE G_MAXUINT
gboolean td_slurm_ask (TdShell *shell, const TdSlurmJob *job, guint patience_s, TdSlurmState *state,
                       GCancellable *cancellable, GError **error);
/* How the job ended and what to do; NULL: its end says nothing. (transfer full) */
TdMessage *td_slurm_explain (const TdSlurmState *state);
