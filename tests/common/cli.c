/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli.h"

#include <string.h>
#include <sys/wait.h>

#include "pins.h"

static void
cli_pin (const char *what, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i]; i++)
    if (lines[i][0])
      td_test_pin ("%s %s", what, lines[i]);
}

/* @words: with the program. */
static void
cli_run (TdTestRun *run, const char *folder, char **words)
{
  g_autoptr (GError) error = NULL;
  int wait_status;

  g_spawn_sync (folder, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &run->out, &run->error,
                &wait_status, &error);
  g_assert_no_error (error);
  run->status = WIFEXITED (wait_status) ? WEXITSTATUS (wait_status) : -1;
}

void
td_test_cli_line (TdTestRun *run, const char *folder, const char *line)
{
  g_autofree char *whole = g_strdup_printf ("%s %s", g_getenv ("TOMODESK_CLI"), line);
  g_auto (GStrv) words = NULL;

  g_assert_true (g_shell_parse_argv (whole, NULL, &words, NULL));
  cli_run (run, folder, words);
}

void
td_test_cli (TdTestRun *run, const char *folder, ...)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  const char *program = g_getenv ("TOMODESK_CLI");
  va_list arguments;

  g_assert_nonnull (program);
  g_ptr_array_add (words, (char *) program);
  va_start (arguments, folder);
  for (const char *word; (word = va_arg (arguments, const char *));)
    g_ptr_array_add (words, (char *) word);
  va_end (arguments);
  g_ptr_array_add (words, NULL);
  cli_run (run, folder, (char **) words->pdata);
  cli_pin ("out", run->out);
  cli_pin ("error", run->error);
}

void
td_test_run_clear (TdTestRun *run)
{
  g_clear_pointer (&run->out, g_free);
  g_clear_pointer (&run->error, g_free);
}

JsonObject *
td_test_run_json (const TdTestRun *run)
{
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (run->status, ==, 0);
  root = json_from_string (run->out, &error);
  g_assert_no_error (error);
  g_assert_true (root && JSON_NODE_HOLDS_OBJECT (root));
  return json_node_dup_object (root);
}

void
td_test_run_assert_refused (const TdTestRun *run, int status, const char *words)
{
  const char *end = strchr (run->error, '\n');

  g_assert_cmpint (run->status, ==, status);
  g_assert_cmpstr (run->out, ==, "");
  g_assert_true (g_str_has_prefix (run->error, "tomodesk-cli: "));
  g_assert_nonnull (end);
  g_assert_cmpstr (end, ==, "\n");
  if (!strstr (run->error, words))
    g_error ("\"%s\" does not say \"%s\"", run->error, words);
}
