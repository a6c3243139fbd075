/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART 1e-3

/* Of all tests of the program, by "TEST NUMBER"; in the file the number is below its test. NULL:
   not read yet. */
static GHashTable *pins;

/* With a graphics card "auto" means another device, and other figures. */
static gboolean
pins_of_another_computer (void)
{
  return g_file_test ("/dev/nvidiactl", G_FILE_TEST_EXISTS)
         || g_file_test ("/dev/kfd", G_FILE_TEST_EXISTS);
}

static void
pins_read (void)
{
  const char *folder = g_getenv ("TOMODESK_PINS");
  g_autofree char *path = g_build_filename (folder ? folder : ".", g_get_prgname (), NULL);
  g_autofree char *text = NULL;

  pins = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (pins_of_another_computer () || !g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const char *head = "";
  for (guint i = 0; lines[i]; i++) {
    char *figures = strstr (lines[i], ": ");
    if (lines[i][0] != ' ')
      head = lines[i];
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

/* Of the line with this key: NULL if nothing is known. */
static const char *
pins_then (const char *key)
{
  if (!pins)
    pins_read ();
  return g_test_quick () ? g_hash_table_lookup (pins, key) : NULL;
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

void
td_test_pin (const char *format, ...)
{
  static char *last;
  static guint number;
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *now = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  pins_line (now);
  g_test_message ("%s", now);
  if (g_strcmp0 (last, g_test_get_path ()) != 0) {
    g_free (last);
    last = g_strdup (g_test_get_path ());
    number = 0;
  }
  g_autofree char *key = g_strdup_printf ("%s %u", last, ++number);
  if (pins_keep (key, now))
    return;
  const char *then = pins_then (key);
  if (then && !pins_same (now, then))
    g_error ("%s was “%s”, and is “%s”", key, then, now);
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
    const char *was = pins_keep (line, now) ? NULL : pins_then (line);
    if (was && !pins_same (now, was))
      return g_strdup_printf ("%s was “%s”, and is “%s”", line, was, now);
    g_hash_table_add (there, g_strdup (line));
  }
  pins_then (head);
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
