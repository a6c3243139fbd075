/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART 1e-3

/* Of windows by "TEST PLACE KEY"; in the file the key is below the rest. NULL: not read yet. */
static GHashTable *pins;
/* By test: its lines in their order, a GPtrArray. */
static GHashTable *pins_lists;
/* The test that runs. */
static struct {
  char *test;
  guint number; /* of the line that was said last */
  const GPtrArray *kept;
  guint met;      /* of those */
  GString *since; /* what was said after the last one that was met */
} pins_now;

/* With a graphics card "auto" means another device, and other figures. Whoever hides it says so. */
static gboolean
pins_of_another_computer (void)
{
  if (g_getenv ("TOMODESK_PINS_HERE"))
    return FALSE;
  return g_file_test ("/dev/nvidiactl", G_FILE_TEST_EXISTS)
         || g_file_test ("/dev/kfd", G_FILE_TEST_EXISTS);
}

static void
pins_read (void)
{
  const char *folder = g_getenv ("TOMODESK_PINS");
  /* GLib's name of a program is its whole path unless somebody named it. */
  g_autofree char *program = g_path_get_basename (g_get_prgname ());
  g_autofree char *path = g_build_filename (folder ? folder : ".", program, NULL);
  g_autofree char *text = NULL;

  pins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  pins_lists = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, NULL);
  if (pins_of_another_computer () || !g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const char *head = "";
  GPtrArray *list = NULL;
  for (guint i = 0; lines[i]; i++) {
    char *figures = strstr (lines[i], ": ");
    if (lines[i][0] != ' ') {
      head = lines[i];
      list = strchr (head, ' ') ? NULL : g_ptr_array_new ();
      if (list)
        g_hash_table_insert (pins_lists, g_strdup (head), list);
    } else if (list)
      g_ptr_array_add (list, g_strdup (lines[i] + 2));
    else if (figures)
      g_hash_table_insert (
          pins, g_strdup_printf ("%s %.*s", head, (int) (figures - lines[i]) - 2, lines[i] + 2),
          g_strdup (figures + 2));
  }
}

/* A number with a point, and what it may differ by; FALSE: it is a word or a whole number. */
static gboolean
pins_number (const char *word, double *value, double *may)
{
  const char *point = strchr (word, '.');
  char *end;

  *value = g_ascii_strtod (word, &end);
  if (!point || end == word || strspn (end, ",;:%)") != strlen (end))
    return FALSE;
  const gsize digits = strspn (point + 1, "0123456789");
  const gboolean power = point[1 + digits] == 'e';
  *may = PART * fabs (*value) + (power ? 0 : 1.5 * pow (10, -(double) digits));
  return TRUE;
}

static gboolean
pins_same (const char *now, const char *then)
{
  g_auto (GStrv) a = g_strsplit (now, " ", -1), b = g_strsplit (then, " ", -1);
  double x, y, may_x, may_y;

  if (g_strv_length (a) != g_strv_length (b))
    return FALSE;
  for (guint i = 0; a[i]; i++) {
    if (strcmp (a[i], b[i]) == 0)
      continue;
    const gboolean x_is = pins_number (a[i], &x, &may_x), y_is = pins_number (b[i], &y, &may_y);
    /* Trailing zeros may be left out: "0.5" and "1". */
    if (!(x_is || y_is) || !(fabs (x - y) <= MAX (x_is ? may_x : 0, y_is ? may_y : 0)))
      return FALSE;
  }
  return TRUE;
}

/* Folders of a test have another name each time. */
static void
pins_leave_out_folders (char *line)
{
  const char *folder = g_get_tmp_dir ();

  for (char *at = line; (at = strstr (at, folder));) {
    const gsize n = strcspn (at + strlen (folder), " ,;\n") + strlen (folder);
    memmove (at, at + n, strlen (at + n) + 1);
  }
}

/* What is kept of a window, by key, or of a test, if it is compared now; else NULL. */
static gpointer
pins_then (GHashTable **of, const char *key)
{
  if (!pins)
    pins_read ();
  return g_test_quick () ? g_hash_table_lookup (*of, key) : NULL;
}

/* FALSE: figures are not kept now. */
static gboolean
pins_keep (const char *key, const char *now)
{
  const char *path = g_getenv ("TOMODESK_PINS_NEW");
  FILE *file = path ? fopen (path, "a") : NULL;

  if (!path)
    return FALSE;
  g_assert_nonnull (file);
  fprintf (file, "%s: %s\n", key, now);
  fclose (file);
  return TRUE;
}

static char *
pins_line (char *line)
{
  pins_leave_out_folders (line);
  return g_strdelimit (line, "\n", '|');
}

/* Called when the test has ended. */
static void
pins_end (gpointer unused)
{
  const GPtrArray *kept = pins_now.kept;

  if (!g_test_failed () && kept && pins_now.met < kept->len)
    g_error ("%s said “%s” after %u lines that are kept. Now it says there:\n%s", pins_now.test,
             (char *) kept->pdata[pins_now.met], pins_now.met, pins_now.since->str);
}

static void
pins_begin (const char *test)
{
  g_free (pins_now.test);
  if (pins_now.since)
    g_string_free (pins_now.since, TRUE);
  pins_now.test = g_strdup (test);
  pins_now.number = pins_now.met = 0;
  pins_now.kept = pins_then (&pins_lists, test);
  pins_now.since = g_string_new (NULL);
  g_test_queue_destroy (pins_end, NULL);
}

void
td_test_pin (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *now = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  pins_line (now);
  g_test_message ("%s", now);
  if (g_strcmp0 (pins_now.test, g_test_get_path ()) != 0)
    pins_begin (g_test_get_path ());
  const GPtrArray *kept = pins_now.kept;
  g_autofree char *key = g_strdup_printf ("%s %u", pins_now.test, ++pins_now.number);
  if (pins_keep (key, now)) {
    pins_now.kept = NULL;
    return;
  }
  if (kept && pins_now.met < kept->len && pins_same (now, kept->pdata[pins_now.met])) {
    pins_now.met++;
    g_string_truncate (pins_now.since, 0);
  } else
    g_string_append_printf (pins_now.since, "  %s\n", now);
}

char *
td_test_pins_wrong (const char *place, char **lines)
{
  g_autofree char *head = g_strdup_printf ("%s %s ", g_test_get_path (), place);
  g_autoptr (GHashTable) there = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter all;
  gpointer key, then;

  for (guint i = 0; lines[i]; i++) {
    g_autofree char *line = pins_line (g_strconcat (head, lines[i], NULL));
    char *now = strstr (line, ": ");
    g_assert_nonnull (now);
    *now = 0;
    now += 2;
    const char *was = pins_keep (line, now) ? NULL : pins_then (&pins, line);
    if (was && !pins_same (now, was))
      return g_strdup_printf ("%s was “%s”, and is “%s”", line, was, now);
    g_hash_table_add (there, g_strdup (line));
  }
  pins_then (&pins, head);
  g_hash_table_iter_init (&all, pins);
  while (!g_getenv ("TOMODESK_PINS_NEW") && g_test_quick ()
         && g_hash_table_iter_next (&all, &key, &then))
    if (g_str_has_prefix (key, head) && !g_hash_table_contains (there, key))
      return g_strdup_printf ("%s was “%s”, and is gone", (char *) key, (char *) then);
  return NULL;
}

void
td_test_pin_values (const char *what, const float *values, gsize n)
{
  double sum = 0, squares = 0, weighted = 0;
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i])) {
      finite++;
      sum += values[i];
      squares += (double) values[i] * values[i];
      weighted += values[i] * cos (0.37 * (double) i);
    }
  const double scale = finite ? sqrt (squares / (double) finite) : 0;
  if (scale > 0)
    td_test_pin ("%s: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT ", %.5e, %.4f, %.3f", what, finite,
                 n, scale, sum / (double) finite / scale,
                 weighted / scale / sqrt ((double) finite));
  else
    td_test_pin ("%s: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT ", all 0", what, finite, n);
}
