/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART 1e-3
#define ANY "#"  /* a word that is another each time */
#define SOME "…" /* of a window: any lines, or none */

/* By test, and by place in a window: the lines that are kept, a GPtrArray. NULL: not read yet. */
static GHashTable *pins;
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

  pins = g_hash_table_new (g_str_hash, g_str_equal);
  if (pins_of_another_computer () || !g_file_get_contents (path, &text, NULL, NULL))
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GPtrArray *list = NULL;
  for (guint i = 0; lines[i]; i++)
    if (lines[i][0] == ' ')
      g_ptr_array_add (list, g_strdup (lines[i] + 2));
    else
      g_hash_table_insert (pins, g_strdup (lines[i]), list = g_ptr_array_new ());
}

/* A number with a point, and what it may differ by; FALSE: it is a word or a whole number. */
static gboolean
pins_number (const char *word, double *value, double *may)
{
  const char *from = word + strspn (word, "(“"), *point = strchr (from, '.');
  char *end;

  *value = g_ascii_strtod (from, &end);
  if (!point || end == from || strspn (end, ",;:%)”") != strlen (end))
    return FALSE;
  const gsize digits = strspn (point + 1, "0123456789");
  const gboolean power = point[1 + digits] == 'e';
  *may = PART * fabs (*value) + (power ? 0 : 1.5 * pow (10, -(double) digits));
  return TRUE;
}

/* A busy computer takes seconds for what takes milliseconds. */
static gboolean
pins_is_time (const char *unit)
{
  return strcmp (unit, "ms") == 0 || strcmp (unit, "s") == 0;
}

static gboolean
pins_same (const char *now, const char *then)
{
  g_auto (GStrv) a = g_strsplit (now, " ", -1), b = g_strsplit (then, " ", -1);
  double x, y, may_x, may_y;

  if (g_strv_length (a) != g_strv_length (b))
    return FALSE;
  for (guint i = 0; a[i]; i++) {
    if (strcmp (a[i], b[i]) == 0 || strcmp (b[i], ANY) == 0)
      continue;
    if (i > 0 && strcmp (b[i - 1], ANY) == 0 && pins_is_time (a[i]) && pins_is_time (b[i]))
      continue;
    const gboolean x_is = pins_number (a[i], &x, &may_x), y_is = pins_number (b[i], &y, &may_y);
    /* Trailing zeros may be left out: "0.5" and "1". */
    if (!(x_is || y_is) || !(fabs (x - y) <= MAX (x_is ? may_x : 0, y_is ? may_y : 0)))
      return FALSE;
  }
  return TRUE;
}

/* Folders of a test have another name each time. */
void
td_test_leave_out_folders (char *line)
{
  const char *folder = g_get_tmp_dir ();

  for (char *at = line; (at = strstr (at, folder));) {
    const gsize n = strcspn (at + strlen (folder), " ,;\n") + strlen (folder);
    memmove (at, at + n, strlen (at + n) + 1);
  }
}

/* What is kept of a test or of a place, if it is compared now; else NULL. */
static const GPtrArray *
pins_then (const char *head)
{
  if (!pins)
    pins_read ();
  return g_test_quick () ? g_hash_table_lookup (pins, head) : NULL;
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
  td_test_leave_out_folders (line);
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
  pins_now.kept = pins_then (test);
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

/* How many of @lines are what is kept as one line: itself, or "… N SUM", which are N that other
   places have, too. 0: they are other ones. */
static guint
pins_met (char **lines, const char *kept)
{
  guint n = 0;
  char sum[9] = "";

  if (!lines[0])
    return 0;
  if (sscanf (kept, SOME " %u %8s", &n, sum) != 2)
    return pins_same (lines[0], kept);
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_MD5);
  for (guint i = 0; i < n; i++) {
    if (!lines[i])
      return 0;
    g_checksum_update (checksum, (const guchar *) lines[i], -1);
    g_checksum_update (checksum, (const guchar *) "\n", 1);
  }
  return g_str_has_prefix (g_checksum_get_string (checksum), sum) ? n : 0;
}

static char *
pins_difference (const char *head, char **lines, guint number, const char *kept)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text, "%s, line %u that is kept:\n- %s", head, number, kept);
  for (guint i = 0; lines[i] && (i == 0 || g_str_has_prefix (kept, SOME)); i++)
    g_string_append_printf (text, "\n+ %s", lines[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
td_test_pins_are_kept (const char *place)
{
  g_autofree char *head = g_strdup_printf ("%s %s", g_test_get_path (), place);

  return pins_then (head) != NULL;
}

char *
td_test_pins_wrong (const char *place, char **lines)
{
  g_autofree char *head = g_strdup_printf ("%s %s", g_test_get_path (), place);
  const GPtrArray *kept = pins_then (head);
  guint at = 0;
  gboolean some = FALSE; /* lines may stand before the next that is kept */

  for (guint i = 0; lines[i]; i++) {
    g_autofree char *key = g_strdup_printf ("%s %u", head, i + 1);
    pins_keep (key, pins_line (lines[i]));
  }
  if (!kept || g_getenv ("TOMODESK_PINS_NEW"))
    return NULL;
  for (guint i = 0; i < kept->len; i++) {
    const char *line = kept->pdata[i];
    const guint from = at;
    if (strcmp (line, SOME) == 0) {
      some = TRUE;
      continue;
    }
    guint met = pins_met (lines + at, line);
    while (some && !met && lines[at])
      met = pins_met (lines + ++at, line);
    if (!met)
      return pins_difference (head, lines + from, i + 1, line);
    at += met;
    some = FALSE;
  }
  return some || !lines[at] ? NULL : g_strdup_printf ("%s, after all:\n+ %s", head, lines[at]);
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

void
td_test_pin_refused (const GError *error)
{
  static const char *const devices[] = { "(host): ", "(opencl:", "(cuda:" };
  const char *said = error->message;

  for (guint i = 0; i < G_N_ELEMENTS (devices); i++) {
    const char *at = strstr (said, devices[i]), *after = at ? strstr (at, "): ") : NULL;
    said = after ? after + strlen ("): ") : said;
  }
  td_test_pin ("refused: %s", said);
}
