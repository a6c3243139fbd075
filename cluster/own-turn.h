/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdOwnTurn: whose turn it is among the jobs of this computer. One job runs at a time, in the order
 * of their places. Locks on files say which job waits and which runs, so that a process that dies
 * leaves nothing behind. Any thread.
 *
 * Beside the jobs' folders lie "turn", which the running job has locked, and "pause", with which no
 * other begins. In a job's folder lie "waiting", locked while the job waits, and "place", a number
 * for the order. A job without the number has place 0. Of equal places the older id goes first.
 */
typedef struct TdOwnTurn TdOwnTurn;

/* What a job that waits is told now and then: how many go before it, and whether all pause. */
typedef void (*TdOwnTurnWaits) (guint ahead, gboolean paused, gpointer user);

/* Waits until it is the turn of the job in @folder. NULL with @error: cancelled, or the folder
   cannot be written. @waits: called once a change, from the calling thread. */
TdOwnTurn *td_own_turn_take (const char *folder, TdOwnTurnWaits waits, gpointer user,
                             GCancellable *cancellable, GError **error);
/* Ends the turn: the next job may begin. */
void td_own_turn_free (TdOwnTurn *turn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdOwnTurn, td_own_turn_free)
