/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dataset/series.h"

/* ── Options ── */

static gboolean show_help;

/* GOption would name the options before the verb, and some operands twice. */
static int
cli_shared_print_help (GOptionContext *context, const char *usage)
{
  g_autofree char *text = g_option_context_get_help (context, FALSE, NULL);
  const char *rest = strstr (text, "\n\n");
  g_autofree char *own = g_strdup_printf ("Usage:\n  tomodesk-cli %s%s", usage, rest ? rest : "");

  return td_cli_print_text (g_strchomp (own));
}

/* The verb, with the options that make it another verb: usage "--cone [OPTION…]" of "bench". */
static char *
cli_shared_verb (const char *name, const char *usage)
{
  const char *end = g_str_has_prefix (usage, "--") ? strstr (usage, " [") : NULL;

  return end ? g_strdup_printf ("%s %.*s", name, (int) (end - usage), usage) : g_strdup (name);
}

/* What GOption allocated stays until the program ends. */
static void
cli_shared_keep_words (const GOptionEntry *entries)
{
  static GPtrArray *kept;

  if (!kept)
    kept = g_ptr_array_new ();
  for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++)
    if (entry->arg == G_OPTION_ARG_STRING || entry->arg == G_OPTION_ARG_FILENAME
        || entry->arg == G_OPTION_ARG_STRING_ARRAY || entry->arg == G_OPTION_ARG_FILENAME_ARRAY)
      g_ptr_array_add (kept, *(gpointer *) entry->arg_data);
}

/* GOption leaves a leading "--" in the list of operands. */
static guint
collect_operands (char **words, guint n_words, guint operands, const char **out)
{
  guint n = 0;
  gboolean ended = FALSE;

  for (guint i = 0; i < n_words; i++) {
    if (!ended && g_str_equal (words[i], "--")) {
      ended = TRUE;
      continue;
    }
    if (n < operands)
      out[n] = words[i];
    n++;
  }
  return n;
}

/* GOption takes "nan" and "inf" for numbers, and no option means them. NULL: all are finite. */
static const char *
find_infinite (int argc, char **argv, const GOptionEntry *entries, const char **value)
{
  for (int i = 1; i < argc && !g_str_equal (argv[i], "--"); i++)
    for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++) {
      const gsize length = strlen (entry->long_name);
      const char *word = argv[i];

      if (entry->arg != G_OPTION_ARG_DOUBLE || !g_str_has_prefix (word, "--")
          || strncmp (word + 2, entry->long_name, length) != 0)
        continue;
      *value = word[2 + length] == '='    ? word + 3 + length
               : word[2 + length] == '\0' ? argv[i + 1] /* NULL after the last */
                                          : NULL;
      if (*value && !isfinite (g_ascii_strtod (*value, NULL)))
        return entry->long_name;
    }
  return NULL;
}

int
td_cli_parse (int argc, char **argv, const TdCliHelp *help, const GOptionEntry *entries,
              GOptionGroup *group, guint operands, const char **out)
{
  static const GOptionEntry help_entry[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, &show_help, "Show this help", NULL },
    { NULL },
  };
  g_autofree char *verb = cli_shared_verb (argv[0], help->usage);
  g_autofree char *usage = g_strdup_printf ("%s %s", argv[0], help->usage);
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autofree char *examples = g_strconcat ("Examples:\n", help->examples, NULL);
  g_autoptr (GError) error = NULL;

  show_help = FALSE;
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_summary (context, help->summary);
  g_option_context_set_description (context, examples);
  GOptionGroup *main_group = g_option_group_new ("", "", "", NULL, NULL);
  g_option_context_set_main_group (context, main_group);
  if (entries)
    g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_main_entries (context, help_entry, NULL);
  if (group)
    g_option_context_add_group (context, group);

  const char *value, *infinite = find_infinite (argc, argv, entries, &value);
  if (infinite)
    return td_cli_usage (verb, "--%s \"%s\" is not a number that can be used", infinite, value);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return td_cli_usage (verb, "%s", error->message);
  cli_shared_keep_words (entries);
  if (show_help)
    return cli_shared_print_help (context, usage);

  guint n = collect_operands (argv + 1, argc - 1, operands, out);
  if (n < operands)
    return td_cli_usage (verb, "something is missing: %s", usage);
  if (n > operands)
    return td_cli_usage (verb, "\"%s\" is one word too many: %s", argv[argc - 1], usage);
  return -1;
}

/* ── Words ── */

/* Names, contents of files and words that somebody typed may hold control characters, which a
   terminal would obey. Text shows them as JSON writes them, which leaves JSON as it is. Line ends
   stay; in a @line they are spaces. Invalid UTF-8 is replaced. */
static char *
cli_printable (const char *text, gboolean line)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *out = g_string_new (NULL);

  for (const char *at = valid; *at; at = g_utf8_next_char (at)) {
    const gunichar c = g_utf8_get_char (at);
    const gboolean ends_line = c == '\n' || (line && c == '\r');
    /* These turn the direction of what follows. */
    const gboolean turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (ends_line && line)
      g_string_append_c (out, ' ');
    else if (!ends_line && (turns || g_unichar_iscntrl (c)))
      g_string_append_printf (out, "\\u%04x", c);
    else
      g_string_append_unichar (out, c);
  }
  return g_string_free (out, FALSE);
}

void
td_cli_print (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *shown = cli_printable (text, FALSE);
  fputs (shown, stdout);
}

void
td_cli_say (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *line = cli_printable (text, TRUE);
  fprintf (stderr, "tomodesk-cli: %s\n", line);
}

/* ── Files ── */

gboolean
td_cli_may_write (const char *path, gboolean overwrite, GError **error)
{
  return !path || overwrite || !g_file_test (path, G_FILE_TEST_EXISTS)
         || td_set_error (error, TD_ERROR_IO, "“%s” exists already; --overwrite replaces it", path);
}

TdVolumeFormat
td_cli_volume_format (const char *path)
{
  if (td_scan_named_hdf5 (path))
    return TD_VOLUME_HDF5;
  return td_series_is_tiff (path) ? TD_VOLUME_BIGTIFF : TD_VOLUME_TIFF_STACK;
}

/* ── Ends ── */

int
td_cli_fail (const GError *error)
{
  td_cli_progress_clear ();
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    td_cli_say ("cancelled");
    return TD_CLI_CANCELLED;
  }
  g_autofree char *text
      = error ? td_error_text (error, NULL) : g_strdup ("failed without saying why");
  td_cli_say ("%s", g_strstrip (text));
  return g_error_matches (error, TD_ERROR, TD_ERROR_INVALID) ? TD_CLI_USAGE : TD_CLI_FAILED;
}

int
td_cli_usage (const char *verb, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  td_cli_say ("%s (tomodesk-cli %s --help shows the options)", text, verb);
  return TD_CLI_USAGE;
}

#define AGAIN_S 0.5 /* signals that come sooner than this after the first are the same one */

static int signal_pipe[2];
static GCancellable *cancellable;

/* The handler may only write: the thread below does what is not safe in a signal handler. Who
   presses once more does not want to wait for what is being put away. A terminal that closes, a
   shell and whoever ends a session each say so at the same moment, which is one wish. */
static void
cli_shared_on_signal (int number)
{
  static volatile sig_atomic_t seen;
  static struct timespec first;
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  if (seen) {
    if (now.tv_sec - first.tv_sec + (now.tv_nsec - first.tv_nsec) / 1e9 > AGAIN_S)
      _exit (TD_CLI_CANCELLED);
    return;
  }
  first = now;
  seen = 1;
  ssize_t written = write (signal_pipe[1], "", 1);
  (void) written;
}

static gpointer
wait_for_signal (gpointer data)
{
  char byte;

  while (read (signal_pipe[0], &byte, 1) != 1)
    continue;
  g_cancellable_cancel (cancellable);
  return NULL;
}

GCancellable *
td_cli_cancellable (void)
{
  static gsize once;

  if (g_once_init_enter (&once)) {
    struct sigaction action = { .sa_handler = cli_shared_on_signal, .sa_flags = SA_RESTART };

    cancellable = g_cancellable_new ();
    /* Without pipe or thread, a signal ends the program as it ends any other. */
    GThread *thread = g_unix_open_pipe (signal_pipe, FD_CLOEXEC, NULL)
                          ? g_thread_try_new ("signals", wait_for_signal, NULL, NULL)
                          : NULL;
    if (thread) {
      g_thread_unref (thread);
      sigaction (SIGINT, &action, NULL);
      sigaction (SIGTERM, &action, NULL);
      sigaction (SIGHUP, &action, NULL);
      /* Who read the output is gone: what is being written to a file need not go with him. */
      signal (SIGPIPE, SIG_IGN);
    }
    g_once_init_leave (&once, 1);
  }
  return cancellable;
}

/* ── Output ── */

gboolean
td_cli_flush (void)
{
  const int reason = fflush (stdout) == 0 ? EIO : errno;

  if (!ferror (stdout))
    return TRUE;
  td_cli_say ("standard output cannot be written: %s", g_strerror (reason));
  return FALSE;
}

int
td_cli_print_text (const char *text)
{
  g_autofree char *shown = cli_printable (text, FALSE);

  fputs (shown, stdout);
  fputc ('\n', stdout);
  return td_cli_flush () ? TD_CLI_DONE : TD_CLI_FAILED;
}

int
td_cli_print_json (JsonBuilder *builder)
{
  g_autofree char *text = td_json_print (builder);

  return td_cli_print_text (text);
}

char *
td_cli_duration (double seconds)
{
  if (isnan (seconds))
    return g_strdup ("not known yet");
  if (seconds < TD_CLI_LEAST_S)
    return g_strdup ("less than 1 ms"); /* and not none at all */
  if (seconds < 0.9995)
    return g_strdup_printf ("%.0f ms", seconds * 1e3);
  if (seconds < 59.95)
    return g_strdup_printf ("%.1f s", seconds);
  if (seconds < 3600)
    return g_strdup_printf ("%d min %d s", (int) (seconds / 60), (int) fmod (seconds, 60));
  return g_strdup_printf ("%d h %d min", (int) (seconds / 3600), (int) fmod (seconds / 60, 60));
}

char *
td_cli_spread (double base_s, double low_s, double high_s)
{
  return g_strdup_printf ("%+.0f/%+.0f %%", 100 * (low_s / base_s - 1),
                          100 * (high_s / base_s - 1));
}

static gboolean progress_shown;

void
td_cli_progress (const char *what, double fraction, double remaining_s, const char *detail)
{
  static int terminal = -1;
  char bar[25];

  if (terminal < 0)
    terminal = isatty (STDERR_FILENO);
  if (!terminal)
    return;

  int filled = (int) (CLAMP (fraction, 0, 1) * (sizeof bar - 1));
  memset (bar, ' ', sizeof bar - 1);
  memset (bar, '=', filled);
  bar[sizeof bar - 1] = 0;
  g_autofree char *left = remaining_s < 0 ? g_strdup ("") : td_cli_duration (remaining_s);
  g_autofree char *text
      = g_strdup_printf ("%s [%s] %3d %%%s%s%s%s", what, bar, (int) (100 * CLAMP (fraction, 0, 1)),
                         *left ? ", " : "", left, *left ? " left" : "", detail ? detail : "");
  g_autofree char *line = cli_printable (text, TRUE);
  fprintf (stderr, "\r\033[K%s", line);
  fflush (stderr);
  progress_shown = TRUE;
}

void
td_cli_progress_clear (void)
{
  if (progress_shown)
    fputs ("\r\033[K", stderr);
  progress_shown = FALSE;
}

void
td_cli_print_notes (const char *head, TdMessage *const *notes)
{
  g_autofree char *between = g_strconcat ("\n", head, NULL);
  g_autofree char *text = td_messages_join (notes, between, NULL);

  if (*text)
    td_cli_print ("%s%s\n", head, text);
}
