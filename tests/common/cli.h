/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

/* One run of tomodesk-cli, as a person would type it. */
typedef struct {
  int status;        /* exit status; -1: killed by a signal */
  char *out, *error; /* what it printed */
} TdTestRun;

/* Runs it in @folder (NULL: here) with the words up to NULL, and waits. The program is the one that
   the environment variable TOMODESK_CLI names. What it prints is kept (pins.h). */
void td_test_cli (TdTestRun *run, const char *folder, ...) G_GNUC_NULL_TERMINATED;
/* The same with the words of a line, as a shell has them. Nothing is kept. */
void td_test_cli_line (TdTestRun *run, const char *folder, const char *line);
void td_test_run_clear (TdTestRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdTestRun, td_test_run_clear)

/* The one JSON object that --json printed; fails the test if it is anything else. (transfer full)
 */
JsonObject *td_test_run_json (const TdTestRun *run);

/* Failed with @status and exactly one line on standard error that holds @words; nothing else. */
void td_test_run_assert_refused (const TdTestRun *run, int status, const char *words);
