/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include "compute/engine/job.h"
#include "compute/recipe/json.h"

/**
 * tomodesk-cli: what its verbs share. A verb is one file, app/cli-NAME.c, with one function:
 *
 *     int td_cli_NAME (int argc, char **argv)
 *
 * It returns the exit status, and argv[0] is the verb's name. cli-verbs.h declares the function,
 * and the table of cli.c lists it.
 *
 * Exit status: 0 done, 1 failed with one line on standard error, 2 wrong usage, 130 cancelled.
 * Usage is wrong where nobody can take what is asked for, or this scan cannot. A failure is what
 * happens during the work, or is found in a file, also in one that an option names. td_cli_fail()
 * tells them apart. With --json a verb prints one JSON value on standard output and nothing else
 * there.
 */
enum { TD_CLI_DONE = 0, TD_CLI_FAILED = 1, TD_CLI_USAGE = 2, TD_CLI_CANCELLED = 130 };

/* ── Options ── */

typedef struct {
  const char *usage;    /* "SCAN [OPTION…]", what follows the verb */
  const char *summary;  /* one or two sentences */
  const char *examples; /* shown at the end of --help: lines that can be typed as they are */
} TdCliHelp;

/**
 * td_cli_parse:
 * @entries: (nullable): the verb's own options, ended by { NULL }; their words stay valid
 * @group: (nullable) (transfer full): a shared group, such as the recipe's options
 * @operands: how many words the verb takes besides its options, exactly
 * @out: (array length=operands): the words; valid as long as argv
 *
 * Returns: -1 to go on, else the exit status: --help was printed, or the usage was wrong and said.
 */
int td_cli_parse (int argc, char **argv, const TdCliHelp *help, const GOptionEntry *entries,
                  GOptionGroup *group, guint operands, const char **out);

/* ── Words ── */

/* As printf(), but control characters are shown instead of obeyed. Every word for the terminal goes
   through these two functions, td_cli_print_text() or the progress line. */
void td_cli_print (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* A line on standard error, behind the program's name. */
void td_cli_say (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* ── Files ── */

/* What a path's ending asks for when no --format is given: .tif: BigTIFF, .h5: HDF5, else a folder.
 */
TdVolumeFormat td_cli_volume_format (const char *path);
/* FALSE with @error: @path (NULL: nothing is written) is there already, and --overwrite was not
   given. For what is written besides volumes and scans, whose writers look themselves. */
gboolean td_cli_may_write (const char *path, gboolean overwrite, GError **error);

/* ── Ends ── */

/* One line on standard error, and the status that the error's code gives: TD_CLI_USAGE for what is
   asked for and cannot be (TD_ERROR_INVALID), TD_CLI_CANCELLED, else TD_CLI_FAILED. */
int td_cli_fail (const GError *error);
/* The same for wrong usage: names the verb and its --help. */
int td_cli_usage (const char *verb, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Cancelled by the first SIGINT, SIGTERM or SIGHUP; the second ends the process at once. Owned by
   the program. */
GCancellable *td_cli_cancellable (void);

/* ── Output ── */

/* Prints the tree and a newline on standard output; takes the builder's root, not the builder.
   Returns TD_CLI_DONE, or fails if standard output could not be written. */
int td_cli_print_json (JsonBuilder *builder);
/* FALSE: what was printed did not arrive, which is said. */
gboolean td_cli_flush (void);
/* As td_cli_print_json() for text that is JSON already. */
int td_cli_print_text (const char *text);
/* A line a note, each behind @head. */
void td_cli_print_notes (const char *head, TdMessage *const *notes);
/* "4 min 10 s", "1.2 s", "35 ms"; of NAN "not known yet". (transfer full) */
char *td_cli_duration (double seconds);
#define TD_CLI_LEAST_S 0.0005 /* what takes less is said to take less than something */
/* How far two times, say the fastest and the slowest, lie from @base: "-2/+5 %". (transfer full) */
char *td_cli_spread (double base_s, double low_s, double high_s);

/* The progress line on standard error, if that is a terminal. Each call overwrites the line.
   fraction: 0 … 1; remaining_s < 0: not known; detail may be NULL. */
void td_cli_progress (const char *what, double fraction, double remaining_s, const char *detail);
void td_cli_progress_clear (void);
/* Runs @job and shows its progress. Control-C cancels it, or with @keep ends its iterations. */
gboolean td_cli_run_job (TdJob *job, gboolean keep, GError **error);
