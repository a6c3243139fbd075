/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts here and on hosts, by an ssh that is none. What comes back; and what is said of hosts
   that let nobody in, hang, or go away. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/shell.h"
#include "dataset/error.h"
#include "tests/unit/test-folder.h"

/* The host's name says what it does. */
static const char ssh[]
    = "#!/bin/sh\n"
      "while [ \"$1\" != -- ]; do shift; done\n"
      "host=$2; shift 2\n"
      "case $host in\n"
      "good*) exec \"$@\" ;;\n"
      "denied) printf 'a banner\\nme@denied: Permission denied (publickey).\\n' >&2; exit 255 ;;\n"
      "unknown) printf 'Host key verification failed.\\n' >&2; exit 255 ;;\n"
      "far) printf 'a banner\\nssh: connect to host far: No route to host\\n' >&2; exit 255 ;;\n"
      "silent) exit 255 ;;\n"
      "hangs) exec sleep 60 ;;\n"
      "drops) printf '\\ntomodesk-5d1f0c4e8a7b4c39 ready\\n'; head -c 2000 >/dev/null\n"
      "  echo 'Connection to drops closed by remote host.' >&2; exit 255 ;;\n"
      "esac\n";

/* Tells how far it is, and on standard error what it was given. The first path says how it ends. */
static const char rsync[]
    = "#!/bin/sh\n"
      "printf '    1,234   5%%    1.00MB/s\\r    2,345  25%%    1.00MB/s'; sleep 0.05\n"
      "printf '\\r    9,876 100%%    1.00MB/s    0:00:01\\n'\n"
      "printf '%4000s' ''\n" /* more than is read at once */
      "for word; do [ \"$last\" != -- ] || first=$word; last=$word; done\n"
      "case $first in */ends) status=0 ;; */hangs) exec sleep 100 ;; *) status=23 ;; esac\n"
      "{ printf '%s|' \"$@\"; echo; echo more; } >&2\n"
      "printf '%s|' \"$@\" > \"$0.words\"\n"
      "exit $status\n";

/* In the shell that waits, and in one of its own. */
static const guint limits_s[] = { 20, 120 };

static void
assert_run (TdShell *shell, guint limit_s, const char *script, const char *const *words,
            TdShellResult *result)
{
  g_autoptr (GError) error = NULL;

  td_shell_run (shell, script, words, limit_s, result, NULL, &error);
  g_assert_no_error (error);
}

static void
check_shell (TdShell *shell, guint limit_s)
{
  static const char *const words[] = { "it's", "two\nlines", "$HOME `id` \"x\"", "", NULL };
  g_auto (TdShellResult) plain = { 0 }, quoted = { 0 }, failed = { 0 }, bytes = { 0 },
                         input = { 0 }, large = { 0 };

  assert_run (shell, limit_s, "echo out; echo err >&2; echo more >&2", NULL, &plain);
  g_assert_cmpint (plain.status, ==, 0);
  g_assert_cmpstr (plain.out, ==, "out\n");
  g_assert_cmpuint (plain.out_bytes, ==, 4);
  g_assert_cmpstr (plain.error, ==, "err\nmore");
  assert_run (shell, limit_s, "printf '%s|' \"$#\" \"$1\" \"$2\" \"$3\" \"$4\"", words, &quoted);
  g_assert_cmpstr (quoted.out, ==, "4|it's|two\nlines|$HOME `id` \"x\"||");
  assert_run (shell, limit_s, "return 7", NULL, &failed);
  g_assert_cmpint (failed.status, ==, 7);
  g_assert_cmpuint (failed.out_bytes, ==, 0);
  g_assert_cmpstr (failed.error, ==, "");
  td_shell_result_clear (&failed);
  assert_run (shell, limit_s, "sh -c 'exit 255'", NULL, &failed); /* as ssh ends, too */
  g_assert_cmpint (failed.status, !=, 0);
  assert_run (shell, limit_s, "printf 'a\\000b\\n\\n'", NULL, &bytes);
  g_assert_cmpmem (bytes.out, bytes.out_bytes, "a\0b\n\n", 5);
  assert_run (shell, limit_s, "cat; echo end", NULL, &input); /* it reads nothing of what follows */
  g_assert_cmpstr (input.out, ==, "end\n");
  assert_run (shell, limit_s, "head -c 300000 /dev/zero | tr '\\0' x; echo", NULL, &large);
  g_assert_cmpuint (large.out_bytes, ==, 300001);
}

static void
test_scripts (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (limits_s); i++) {
    check_shell (td_shell_get (NULL, NULL, NULL), limits_s[i]);
    check_shell (td_shell_get ("good", NULL, NULL), limits_s[i]);
  }
  g_assert_true (td_shell_get ("good", NULL, NULL) == td_shell_get ("good", NULL, NULL));
  g_assert_true (td_shell_get ("good", NULL, NULL) != td_shell_get ("good", NULL, "x=1"));
  g_assert_true (td_shell_get ("good", NULL, NULL) != td_shell_get ("good", "x", NULL));
}

/* One shell of the host waits for all short scripts, and scripts leave nothing behind in it. */
static void
test_session (void)
{
  TdShell *shell = td_shell_get ("good-session", NULL, NULL);
  g_auto (TdShellResult) first = { 0 }, second = { 0 }, alone = { 0 };

  assert_run (shell, 20, "echo $$; left=behind; cd /", NULL, &first);
  assert_run (shell, 60, "echo $$; printf '%s' \"$left\"", NULL, &second);
  assert_run (shell, 61, "echo $$", NULL, &alone);
  g_assert_cmpstr (second.out, ==, first.out);
  g_assert_cmpstr (alone.out, !=, first.out);
  /* It is gone: another one takes its place. */
  const pid_t session = atoi (first.out);
  g_assert_cmpint (session, >, 1);
  g_assert_cmpint (kill (session, SIGKILL), ==, 0);
  while (kill (session, 0) == 0)
    g_usleep (10000);
  td_shell_result_clear (&second);
  assert_run (shell, 20, "echo $$", NULL, &second);
  g_assert_cmpstr (second.out, !=, first.out);
}

/* Lines before each script, unheard. */
static void
test_prelude (void)
{
  for (guint host = 0; host < 2; host++)
    for (guint i = 0; i < G_N_ELEMENTS (limits_s); i++) {
      TdShell *shell = td_shell_get (host ? "good" : NULL, NULL, "echo heard; module=7");
      g_auto (TdShellResult) result = { 0 };

      assert_run (shell, limits_s[i], "echo $module", NULL, &result);
      g_assert_cmpstr (result.out, ==, "7\n");
      g_assert_cmpstr (result.error, ==, "");
    }
}

/* A script that must end well: the last line of its complaints says why it did not. */
static void
test_do (void)
{
  for (guint host = 0; host < 2; host++) {
    TdShell *shell = td_shell_get (host ? "good" : NULL, NULL, NULL);
    g_autoptr (GError) said = NULL, silent = NULL;
    g_autofree char *out = NULL;
    g_autofree char *expected = g_strdup_printf ("%s: last", host ? "good" : "this computer");

    g_assert_true (td_shell_do (shell, "echo fine", NULL, &out, NULL, NULL));
    g_assert_cmpstr (out, ==, "fine\n");
    g_assert_true (td_shell_do (shell, "echo fine", NULL, NULL, NULL, NULL));
    g_assert_false (
        td_shell_do (shell, "echo first >&2; echo last >&2; return 1", NULL, NULL, NULL, &said));
    g_assert_error (said, TD_ERROR, TD_ERROR_IO);
    g_assert_cmpstr (said->message, ==, expected);
    g_assert_false (td_shell_do (shell, "return 1", NULL, NULL, NULL, &silent));
    g_assert_nonnull (strstr (silent->message, ": a command failed"));
  }
}

static void
test_unreachable (void)
{
  static const struct {
    const char *host, *says;
  } hosts[] = {
    { "denied", "denied does not let you in without a password: me@denied: Permission denied" },
    { "unknown", "unknown is not known yet, or its key has changed: run \"ssh unknown\" once" },
    { "far", "far cannot be reached: ssh: connect to host far: No route to host. Check" },
    { "silent", "silent cannot be reached: the connection was closed. Check" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (hosts); i++)
    for (guint k = 0; k < G_N_ELEMENTS (limits_s); k++) {
      g_auto (TdShellResult) result = { 0 };
      g_autoptr (GError) error = NULL;

      g_assert_false (td_shell_run (td_shell_get (hosts[i].host, NULL, NULL), "true", NULL,
                                    limits_s[k], &result, NULL, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_IO);
      g_test_message ("%s", error->message);
      g_assert_true (g_str_has_prefix (error->message, hosts[i].says));
      g_assert_null (result.out);
    }
}

/* Without ssh itself: the sentence names the program, and what the system says of it. */
static void
test_no_program (void)
{
  g_autofree char *path = g_strdup (g_getenv ("PATH"));

  g_setenv ("PATH", "/nowhere", TRUE);
  for (guint k = 0; k < G_N_ELEMENTS (limits_s); k++) {
    g_auto (TdShellResult) result = { 0 };
    g_autoptr (GError) error = NULL;

    g_assert_false (td_shell_run (td_shell_get ("good-absent", NULL, NULL), "true", NULL,
                                  limits_s[k], &result, NULL, &error));
    g_test_message ("%s", error->message);
    g_assert_true (g_str_has_prefix (error->message, "ssh cannot be run: "));
    g_assert_nonnull (strstr (error->message, "No such file"));
  }
  g_setenv ("PATH", path, TRUE);
}

/* The connection goes while a script is sent: more of it than the line holds. */
static void
test_drops (void)
{
  g_autofree char *word = g_strnfill (4 << 20, 'x');
  const char *const words[] = { word, NULL };

  for (guint i = 0; i < 2; i++) { /* the next one is told the same */
    g_auto (TdShellResult) result = { 0 };
    g_autoptr (GError) error = NULL;

    g_assert_false (td_shell_run (td_shell_get ("drops", NULL, NULL), "true", words, 20, &result,
                                  NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_IO);
    g_assert_nonnull (strstr (error->message, "Connection to drops closed by remote host"));
  }
}

static gpointer
cancel_soon (gpointer cancellable)
{
  g_usleep (100000);
  g_cancellable_cancel (cancellable);
  return NULL;
}

/* A script that hangs is waited for as long as was said, or until somebody cancels. */
static void
assert_hangs (TdShell *shell, const char *script, const char *const *words, const char *says)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_auto (TdShellResult) result = { 0 };
  g_autoptr (GError) late = NULL, cancelled = NULL;

  const gint64 start = g_get_monotonic_time ();
  g_assert_false (td_shell_run (shell, script, words, 1, &result, NULL, &late));
  g_assert_cmpint (g_get_monotonic_time () - start, >=, G_USEC_PER_SEC);
  g_assert_error (late, TD_ERROR, TD_ERROR_IO);
  g_assert_true (g_str_has_prefix (late->message, says));
  GThread *thread = g_thread_new ("cancel", cancel_soon, cancellable);
  g_assert_false (td_shell_run (shell, script, words, 20, &result, cancellable, &cancelled));
  g_thread_join (thread);
  g_assert_error (cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
test_hangs (void)
{
  assert_hangs (td_shell_get ("hangs", NULL, NULL), "true", NULL,
                "hangs did not answer within 1 s");
}

/* What a script would have said that nobody waited for is no answer to the next one. */
static void
test_late_words (void)
{
  TdShell *shell = td_shell_get ("good-late", NULL, NULL);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *fifo = test_folder_file (folder, "fifo");
  const char *const words[] = { fifo, NULL };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) late = NULL, cancelled = NULL;

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  const int go = open (fifo, O_RDWR | O_CLOEXEC);
  for (guint way = 0; way < 2; way++) {
    g_auto (TdShellResult) old = { 0 }, fresh = { 0 };
    GThread *thread = way ? g_thread_new ("cancel", cancel_soon, cancellable) : NULL;
    g_assert_false (td_shell_run (shell, "echo begun; read -r go < \"$1\"; echo old", words,
                                  way ? 20 : 1, &old, way ? cancellable : NULL,
                                  way ? &cancelled : &late));
    if (thread)
      g_thread_join (thread);
    g_assert_cmpint (write (go, "\n", 1), ==, 1); /* which it waits for */
    assert_run (shell, 20, "echo fresh", NULL, &fresh);
    g_assert_cmpstr (fresh.out, ==, "fresh\n");
  }
  close (go);
}

/* In a shell of its own, whatever else it has started. */
static void
test_alone_hangs (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *fifo = test_folder_file (folder, "fifo");
  const char *const words[] = { fifo, NULL };

  g_assert_cmpint (mkfifo (fifo, 0600), ==, 0);
  assert_hangs (td_shell_get (NULL, NULL, NULL), "cat \"$1\"", words,
                "this computer did not answer within 1 s");
  close (open (fifo, O_RDWR | O_CLOEXEC)); /* which ends those who read it */
}

static void
test_paths (void)
{
  g_autofree char *there = td_shell_remote_path (td_shell_get ("good", NULL, NULL), "/a b");
  g_autofree char *here = td_shell_remote_path (td_shell_get (NULL, NULL, NULL), "/a b");

  g_assert_cmpstr (there, ==, "good:/a b");
  g_assert_cmpstr (here, ==, "/a b");
  g_assert_cmpstr (td_shell_name (td_shell_get (NULL, NULL, NULL)), ==, "this computer");
  g_assert_cmpstr (td_shell_name (td_shell_get ("good", NULL, NULL)), ==, "good");
  g_assert_null (td_shell_host (td_shell_get (NULL, NULL, NULL)));
}

/* ── Copies ── */

static void
note_progress (double fraction, gpointer user)
{
  g_array_append_val (user, fraction);
}

/* What rsync is asked for, how far it says it is, and the first line of what goes wrong. */
static void
test_copy (gconstpointer program)
{
  static const char *const ends[] = { "/a b/ends", "/c", NULL }, *const fails[] = { "/d", NULL };
  static const struct {
    const char *host, *const *from;
    gboolean relative;
    const char *begins, *finishes, *error;
  } copies[] = {
    { NULL, ends, FALSE, "-as|--inplace|--no-inc-recursive|--info=progress2|--|/a b/ends|/c|/to|" },
    { NULL, ends, TRUE,
      "-as|--inplace|--no-inc-recursive|--info=progress2|--copy-links|--relative|--|/a b/ends|/c|"
      "/to|" },
    { "good", ends, FALSE, "-as|--inplace|--no-inc-recursive|--info=progress2|-e|'ssh' '",
      "'|--|/a b/ends|/c|/to|" },
    { NULL, fails, FALSE, "-as|", "--|/d|/to|",
      "the files could not be copied from this computer: -as|--inplace|--no-inc-recursive|"
      "--info=progress2|--|/d|/to|. What was copied is kept, " },
    { "good", fails, TRUE, "-as|", "--|/d|/to|", "the files could not be copied to good: -as|" },
  };
  g_autofree char *told = g_strconcat (program, ".words", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (copies); i++) {
    g_autoptr (GArray) fractions = g_array_new (FALSE, FALSE, sizeof (double));
    g_autofree char *words = NULL;
    g_autoptr (GError) error = NULL;
    const TdShellCopy copy = { copies[i].relative, note_progress, fractions };
    const gboolean ok = td_shell_copy (td_shell_get (copies[i].host, NULL, NULL), copies[i].from,
                                       "/to", &copy, NULL, &error);

    g_assert_true (g_file_get_contents (told, &words, NULL, NULL));
    g_test_message ("%s %s", words, error ? error->message : "");
    g_assert_true (g_str_has_prefix (words, copies[i].begins));
    g_assert_true (g_str_has_suffix (words, copies[i].finishes ? copies[i].finishes : ""));
    g_assert_cmpint (ok, ==, !copies[i].error);
    if (!ok)
      g_assert_true (g_str_has_prefix (error->message, copies[i].error));
    /* The last of what comes at once. */
    g_assert_cmpuint (fractions->len, >=, 1);
    for (guint k = 0; k < fractions->len; k++) {
      const double fraction = g_array_index (fractions, double, k);
      g_assert_true (fraction == 0.05 || fraction == 0.25 || fraction == 1);
    }
    g_assert_cmpfloat (g_array_index (fractions, double, fractions->len - 1), ==, 1);
  }
}

static void
test_copy_cancelled (void)
{
  static const char *const from[] = { "/hangs", NULL };
  g_autoptr (GArray) fractions = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  const TdShellCopy copy = { FALSE, note_progress, fractions };
  GThread *thread = g_thread_new ("cancel", cancel_soon, cancellable);

  g_assert_false (
      td_shell_copy (td_shell_get (NULL, NULL, NULL), from, "/to", &copy, cancellable, &error));
  g_thread_join (thread);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int
main (int argc, char **argv)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *program = test_folder_file (folder, "ssh");
  g_autofree char *copier = test_folder_file (folder, "rsync");
  g_autofree char *path = g_strconcat (folder->path, ":", g_getenv ("PATH"), NULL);

  g_test_init (&argc, &argv, NULL);
  g_assert_true (g_file_set_contents (program, ssh, -1, NULL));
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
  g_assert_true (g_file_set_contents (copier, rsync, -1, NULL));
  g_assert_cmpint (g_chmod (copier, 0700), ==, 0);
  g_setenv ("PATH", path, TRUE);
  g_test_add_func ("/shell/scripts", test_scripts);
  g_test_add_func ("/shell/session", test_session);
  g_test_add_func ("/shell/prelude", test_prelude);
  g_test_add_func ("/shell/do", test_do);
  g_test_add_func ("/shell/unreachable", test_unreachable);
  g_test_add_func ("/shell/no-program", test_no_program);
  g_test_add_func ("/shell/drops", test_drops);
  g_test_add_func ("/shell/hangs", test_hangs);
  g_test_add_func ("/shell/late-words", test_late_words);
  g_test_add_func ("/shell/alone-hangs", test_alone_hangs);
  g_test_add_func ("/shell/paths", test_paths);
  g_test_add_data_func ("/shell/copy", copier, test_copy);
  g_test_add_func ("/shell/copy-cancelled", test_copy_cancelled);
  return g_test_run ();
}
