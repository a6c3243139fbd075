/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * What may crash, hang or eat memory is tried first in a child process. The child is this program's
 * own file, started anew with a word that says what to try. The child's death is then one sentence.
 */

/* Among the first calls of main(). TRUE: this process is a child that is to try @word; what it
   tries stands in argv[2] …, and it ends by _exit(). FALSE: go on; from then on the program's file
   serves as a child. A program that never calls this has no children. */
gboolean td_helper_begin (int argc, char **argv, const char *word);
/* In the child: it ends if it computes for longer, or takes more memory. 0: no limit. */
void td_helper_limit (guint seconds, guint64 bytes);
/* In this process: td_helper_begin() was called. */
gboolean td_helper_exists (void);

/* What td_helper_run() says of a child that ran out of memory. */
#define TD_HELPER_NO_MEMORY N_ ("ran out of memory")

/**
 * td_helper_run:
 * @words: what the child's main() is given, the word first.
 * @environment: (nullable): the child's; NULL: this process's.
 * @seconds: it is killed after them; 0: never.
 *
 * Waits for the child, and kills it when @cancellable is cancelled. Any thread.
 * Returns: (transfer full): how it ended, as "crashed (Aborted)", for td_message_words(); NULL:
 *   well, or cancelled, or no child could be started.
 */
char *td_helper_run (const char *const *words, char **environment, guint seconds,
                     GCancellable *cancellable);
/* Limits as tests set them (TOMODESK_PROBE_SECONDS), else @seconds. */
guint td_helper_seconds (guint seconds);
