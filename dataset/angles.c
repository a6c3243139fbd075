/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "angles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "number.h"
#include "scan-private.h"
#include "series.h"
#include "sort.h"
#include "text-file.h"
#include "unit.h"

#define MAX_TEXT_BYTES ((gsize) 256 << 20)
#define REPLACED "\xef\xbf\xbd" /* what was not UTF-8 */

typedef struct {
  double degrees;
  char *file; /* base name; NULL: none stated */
} Entry;

static void
entry_clear (gpointer data)
{
  g_free (((Entry *) data)->file);
}

double *
td_angles_range (double first_deg, double last_deg, guint n_views)
{
  double *angles = g_new (double, n_views);
  double step = n_views > 1 ? (last_deg - first_deg) / (n_views - 1) : 0;

  for (guint i = 0; i < n_views; i++)
    angles[i] = (first_deg + i * step) * (G_PI / 180);
  return angles;
}

/* What is behind the number that @text begins with: nothing, or the sign of degrees. */
static gboolean
angles_ends (const char *text)
{
  return *text == '\0' || strcmp (text, "°") == 0 || g_ascii_strcasecmp (text, "deg") == 0;
}

static gboolean
parse_number (const char *text, double *value)
{
  return td_next_number (&text, value) && angles_ends (text);
}

/* Neither a number nor one that is infinite or undefined. */
static gboolean
is_word (const char *text)
{
  char *end;

  g_ascii_strtod (text, &end);
  return end == text || !angles_ends (end);
}

static gboolean
parse_range (const char *spec, double *first, double *last)
{
  const char *colon = strchr (spec, ':');
  g_autofree char *left = colon ? g_strndup (spec, colon - spec) : NULL;

  return colon && parse_number (left, first) && parse_number (colon + 1, last);
}

gboolean
td_angles_is_range (const char *spec)
{
  double first, last;

  return parse_range (spec, &first, &last);
}

static void
angles_add_entry (GArray *entries, double degrees, const char *file)
{
  Entry entry = { degrees, file ? td_series_base (file) : NULL };

  g_array_append_val (entries, entry);
}

/* One line's words. FALSE: one of them is no angle. */
static gboolean
angles_parse_line (char **words, guint n, GArray *entries)
{
  double value;

  if (n == 2 && parse_number (words[0], &value) && is_word (words[1])) {
    angles_add_entry (entries, value, words[1]);
    return TRUE;
  }
  if (n == 2 && is_word (words[0]) && parse_number (words[1], &value)) {
    angles_add_entry (entries, value, words[0]);
    return TRUE;
  }
  for (guint i = 0; i < n; i++) {
    if (!parse_number (words[i], &value))
      return FALSE;
    angles_add_entry (entries, value, NULL);
  }
  return TRUE;
}

/* "0  12.5 / 1  13.0 / …": two numbers a line of which the first counts lines. */
static void
drop_counting_column (GArray *entries, guint n_lines)
{
  Entry *entry = (Entry *) entries->data;

  if (n_lines < 2 || entries->len != 2 * n_lines)
    return;
  for (guint i = 0; i < n_lines; i++)
    if (entry[2 * i].file || entry[2 * i + 1].file || entry[2 * i].degrees != entry[0].degrees + i
        || (entry[0].degrees != 0 && entry[0].degrees != 1))
      return;
  for (guint i = 0; i < n_lines; i++)
    entry[i] = entry[2 * i + 1];
  g_array_set_size (entries, n_lines);
}

static char **
angles_split_words (const char *line)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  g_auto (GStrv) raw = g_strsplit_set (line, " ,;\t\r", -1);

  for (guint i = 0; raw[i]; i++)
    if (raw[i][0])
      g_strv_builder_add (words, raw[i]);
  return g_strv_builder_end (words);
}

/* The unit that a heading states, in degrees: by the first word that is one, so that neither a
   "gradient" nor a "radiograph" is; 0: none. */
static double
unit_of_heading (const char *line)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (const char *at = line; *at; at++) {
    if (at > line && g_ascii_isupper (*at) && g_ascii_islower (at[-1]))
      g_string_append_c (text, ' '); /* thetaRad */
    /* Letters beyond ASCII are a part of their word: a µrad is no rad. */
    g_string_append_c (text,
                       g_ascii_isalpha (*at) || (guchar) *at >= 0x80 ? g_ascii_tolower (*at) : ' ');
  }
  g_auto (GStrv) words = g_strsplit (text->str, " ", -1);
  for (guint i = 0; words[i]; i++)
    if (td_angle_unit (words[i], TRUE) > 0)
      return td_angle_unit (words[i], TRUE) * (180 / G_PI);
  return 0;
}

/* The columns of a table, as its heading names them: "time, angle [deg]". */
typedef struct {
  guint n;
  int angle, file; /* -1: none, or several */
  double unit;     /* of the angles in degrees; 0: not stated there */
} Columns;

/* What @line says of columns. Where its words are units or belong to one name, lines of angles have
   not as many words, or are taken as without it. */
static void
columns_look (Columns *columns, const char *line)
{
  const char *names = line + strspn (line, "#%! ");
  g_auto (GStrv) cells = g_strsplit_set (names, strpbrk (names, ",;\t") ? ",;\t\r" : " \r", -1);
  Columns own = { 0, -1, -1, 0 };
  guint n_angles = 0;

  for (guint i = 0; cells[i]; i++) {
    g_autofree char *name = g_ascii_strdown (g_strstrip (cells[i]), -1);

    if (!*name)
      continue;
    if (td_angle_unit (name, TRUE) > 0)
      return;
    if (strstr (name, "angle") || strstr (name, "theta") || strstr (name, "rotation")) {
      own.angle = (int) own.n;
      own.unit = unit_of_heading (cells[i]);
      n_angles++;
    } else if (strstr (name, "file")) {
      own.file = (int) own.n;
    }
    own.n++;
  }
  /* "# angle [deg]" may stand above views' numbers and angles. */
  const gboolean one_name
      = own.n == 2 && own.angle == 0 && own.file < 0 && !strpbrk (names, ",;\t");
  if (n_angles == 1 && own.n > 1 && !one_name)
    *columns = own;
}

/* A line of the table that the heading began. */
static gboolean
columns_take (const Columns *columns, char **words, guint n, GArray *entries)
{
  double value;

  if (n < 2 || n != columns->n || !parse_number (words[columns->angle], &value))
    return FALSE;
  angles_add_entry (entries, value, columns->file < 0 ? NULL : words[columns->file]);
  return TRUE;
}

/* Logs of an acquisition name the angle in each line ("Projection:  7  angle: 2.2  Monitor …"), as
   those of IMAT do, or with commas between; their other lines are of other frames. "First angle: 0"
   is a heading. */
static void
angles_take_labelled (char **lines, GArray *entries)
{
  for (guint i = 0; lines[i]; i++) {
    g_autofree char *low = g_ascii_strdown (lines[i], -1);
    const char *at = strstr (low, "projection") ? strstr (low, "angle:") : NULL;
    double value;

    if (at)
      at += strlen ("angle:");
    if (at && td_next_number (&at, &value))
      angles_add_entry (entries, value, NULL);
  }
}

/* Commas between digits, which may be meant as decimal ones. */
typedef struct {
  guint n_lines,
      n_pairs;     /* of angles; of these, two numbers with a comma between and nothing else */
  gsize digits;    /* of the second number in all pairs; 0: they differ */
  char *line;      /* the first line that has such a comma; NULL: none */
  gboolean points; /* decimals have points somewhere */
} Commas;

static void
commas_clear (Commas *commas)
{
  g_free (commas->line);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Commas, commas_clear)

static gboolean
has_between_digits (const char *text, char mark)
{
  for (const char *at = text; (at = strchr (at, mark)); at++)
    if (at > text && g_ascii_isdigit (at[-1]) && g_ascii_isdigit (at[1]))
      return TRUE;
  return FALSE;
}

static void
commas_look (Commas *commas, const char *line)
{
  static const char digits[] = "0123456789";
  const char *first = line + strspn (line, "+-");
  const char *second = first + strspn (first, digits);
  const gsize n = *second == ',' ? strspn (second + 1, digits) : 0;

  commas->n_lines++;
  commas->points |= has_between_digits (line, '.');
  if (!commas->line && has_between_digits (line, ','))
    commas->line = g_strchomp (g_strdup (line));
  if (second == first || n == 0 || second[1 + n + strspn (second + 1 + n, " \t\r")] != '\0')
    return;
  commas->digits = commas->n_pairs++ == 0 || commas->digits == n ? n : 0;
}

static gboolean
commas_refuse (const Commas *commas, const char *path, GError **error)
{
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "“%s”: the comma in “%.40s” stands between two numbers: write decimals with "
                       "a point, such as 12.5, and put a space between columns",
                       path, commas->line);
}

static gboolean
parse_text (const char *path, char *text, GArray *entries, Commas *commas, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  Columns columns = { 0, -1, -1, 0 };
  double unit = 0;
  guint n_lines = 0;

  angles_take_labelled (lines, entries);
  for (guint i = 0; lines[i] && (entries->len == 0 || n_lines > 0); i++) {
    const char *line = g_strchug (lines[i]);
    const gboolean comment = *line && strchr ("#%!", *line);
    g_auto (GStrv) words = comment ? NULL : angles_split_words (line);
    const guint n = comment ? 0 : g_strv_length (words);
    gboolean heading;

    if (comment && entries->len == 0)
      columns_look (&columns, line);
    if (comment && entries->len == 0 && unit == 0)
      unit = unit_of_heading (line);
    if (n == 0)
      continue;
    heading
        = entries->len == 0 && n_lines == 0 && is_word (words[0]) && (n == 1 || is_word (words[1]));
    if (heading) {
      columns_look (&columns, line);
      unit = unit > 0 ? unit : unit_of_heading (line);
      continue;
    }
    if (columns_take (&columns, words, n, entries)) {
      n_lines++;
      continue;
    }
    commas_look (commas, line);
    if (!angles_parse_line (words, n, entries)) {
      if (commas->line && !commas->points)
        return commas_refuse (commas, path, error);
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "“%s”: line %u holds “%.40s”, which is not an angle", path, i + 1,
                           words[0]);
    }
    n_lines++;
  }
  drop_counting_column (entries, n_lines);
  unit = columns.unit > 0 ? columns.unit : unit;
  for (guint i = 0; i < entries->len; i++) {
    Entry *entry = &g_array_index (entries, Entry, i);

    if (unit > 0)
      entry->degrees *= unit;
    if (!isfinite (entry->degrees))
      return td_set_error (error, TD_ERROR_BAD_FILE, "“%s”: entry %u is not a finite angle", path,
                           i);
  }
  return TRUE;
}

static GArray *
load_entries (const char *path, Commas *commas, GError **error)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));

  g_array_set_clear_func (entries, entry_clear);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return td_set_error_null (
        error, strchr (path, ':') ? TD_ERROR_INVALID : TD_ERROR_NOT_FOUND,
        "The file of angles “%s” does not exist, and it is no range such as 0:180", path);
  g_autofree char *text = td_text_load (path, MAX_TEXT_BYTES, error);
  if (!text)
    return NULL;
  if (strstr (text, REPLACED))
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "“%s” is no text file: save it as plain text (UTF-8)", path);
  if (!parse_text (path, text, entries, commas, error))
    return NULL;
  if (entries->len == 0)
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "“%s” holds no angles: write one a line, in degrees", path);
  return g_steal_pointer (&entries);
}

static double *
angles_take (const GArray *entries, guint first, guint n)
{
  double *angles = g_new (double, n);

  for (guint i = 0; i < n; i++)
    angles[i] = g_array_index (entries, Entry, first + i).degrees * (G_PI / 180);
  return angles;
}

/* angle<TAB>file: each view's file must be named, and not twice with two angles. Words that name no
   view and come again are none of files. NULL without error: the rule does not fit. */
static double *
take_by_name (const GArray *entries, const char *path, const char *const *names, guint n_views,
              GError **error)
{
  g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal),
                         others = g_hash_table_new (g_str_hash, g_str_equal);
  const char *missing = NULL;
  gboolean again = FALSE;
  guint n_found = 0;

  if (!names)
    return NULL;
  for (guint i = 0; i < entries->len; i++) {
    Entry *entry = &g_array_index (entries, Entry, i);
    const Entry *before = entry->file ? g_hash_table_lookup (table, entry->file) : NULL;

    if (!entry->file)
      return NULL;
    again |= before != NULL;
    if (!before)
      g_hash_table_insert (table, entry->file, entry);
    else if (before->degrees != entry->degrees)
      g_hash_table_insert (others, entry->file, entry);
  }
  g_autofree double *angles = g_new (double, n_views);
  for (guint i = 0; i < n_views; i++) {
    const Entry *entry = g_hash_table_lookup (table, names[i]);
    const Entry *other = g_hash_table_lookup (others, names[i]);

    if (other) {
      g_autofree char *one = g_strdup_printf ("%g", entry->degrees),
                      *two = g_strdup_printf ("%g", other->degrees);
      return td_set_error_null (error, TD_ERROR_BAD_FILE,
                                "“%s” states “%s” more than once, as “%s” and as “%s”: leave the "
                                "right line only",
                                path, names[i], one, two);
    }
    if (entry)
      angles[i] = entry->degrees * (G_PI / 180), n_found++;
    else if (!missing)
      missing = names[i];
  }
  if (again && n_found == 0)
    return NULL;
  if (missing)
    return td_set_error_null (error, TD_ERROR_ANGLES, "“%s” names files, but has no angle for “%s”",
                              path, missing);
  return g_steal_pointer (&angles);
}

static double *
take_by_number (const GArray *entries, const char *const *names, guint n_views, char **note)
{
  gint64 first = names ? td_series_number (names[0]) : -1;
  gint64 last = names ? td_series_number (names[n_views - 1]) : -1;

  if (first < 0 || last - first + 1 != (gint64) entries->len)
    return NULL;
  for (guint i = 1; i < n_views; i++)
    if (td_series_number (names[i]) <= td_series_number (names[i - 1]))
      return NULL;
  double *angles = g_new (double, n_views);
  for (guint i = 0; i < n_views; i++)
    angles[i] = g_array_index (entries, Entry, td_series_number (names[i]) - first).degrees
                * (G_PI / 180);
  if (note)
    *note = td_message_packed (
        "%u [angle|angles] for %u [projection|projections]: each projection took the entry of its "
        "file number.",
        entries->len, n_views);
  return angles;
}

/* The step of a turning stage: the median of the steps that are not rest. */
static double
turning_step (const GArray *entries)
{
  g_autofree double *steps = g_new (double, entries->len);
  double largest = 0;
  guint n = 0;

  for (guint i = 1; i < entries->len; i++) {
    steps[i - 1] = fabs (g_array_index (entries, Entry, i).degrees
                         - g_array_index (entries, Entry, i - 1).degrees);
    largest = MAX (largest, steps[i - 1]);
  }
  for (guint i = 0; i + 1 < entries->len; i++)
    if (steps[i] > largest / 100)
      steps[n++] = steps[i];
  if (n == 0)
    return 0;
  qsort (steps, n, sizeof *steps, td_compare_doubles);
  return steps[n / 2];
}

/* The stage stands still while flats and darks are taken before and after the turn. The views are
   from the last entry of the first rest to the first entry of the last one. */
static double *
take_between_rests (const GArray *entries, guint n_views, char **note)
{
  double rest = turning_step (entries) / 20;
  guint first = 0, last = entries->len - 1;

  while (first < last
         && fabs (g_array_index (entries, Entry, first + 1).degrees
                  - g_array_index (entries, Entry, 0).degrees)
                < rest)
    first++;
  while (last > first
         && fabs (g_array_index (entries, Entry, last - 1).degrees
                  - g_array_index (entries, Entry, entries->len - 1).degrees)
                < rest)
    last--;
  if (rest == 0 || last - first + 1 != n_views)
    return NULL;
  if (note)
    *note = td_message_packed (
        "%u [angle|angles] for %u [projection|projections]: entries %u to %u (counted from 0) were "
        "taken, since the stage stands still before and after them.",
        entries->len, n_views, first, last);
  return angles_take (entries, first, n_views);
}

/* Half a turn and whole ones are often said of scans whose last view lies a step before their end.
   NULL: the range is none. (transfer full) */
static char *
note_both_ends (double first, double last, guint n_views)
{
  const double span = last - first, step = n_views > 2 ? span / (n_views - 1) : 0;

  if (step == 0 || fabs (remainder (span, 180)) > 1e-6 * fabs (span))
    return NULL;
  return td_message_packed ("The angles %g:%g count both ends: the last of the %u views is at %g°, "
                            "and they are %.5g° apart. If the last view lies one step before that, "
                            "state %g:%.6g ({angles:FIRST:LAST}).",
                            first, last, n_views, last, fabs (step), first, last - span / n_views);
}

double *
td_angles_for_views (const char *spec, const char *scan_path, const char *const *names,
                     const guint n[2], char **note, GError **error)
{
  const guint n_views = n[0];
  g_auto (Commas) commas = { 0 };
  g_autoptr (GError) local = NULL;
  double first, last, *angles;

  if (note)
    *note = NULL;
  if (parse_range (spec, &first, &last)) {
    if (MAX (fabs (first), fabs (last)) > TD_ANGLES_MOST_DEG)
      return td_set_error_null (error, TD_ERROR_INVALID,
                                "The angles %s cannot be: state them from -1e6° to 1e6° "
                                "({angles:FIRST:LAST})",
                                spec);
    if (n_views != 1 || first == last) {
      if (note)
        *note = note_both_ends (first, last, n_views);
      return td_angles_range (first, last, n_views);
    }
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "The angles %s are those of a turn, but “%s” holds one projection; if that image is "
        "a sinogram, state it ({sinograms}), else open all projections",
        spec, scan_path);
  }
  g_autoptr (GArray) entries = load_entries (spec, &commas, error);
  if (!entries)
    return NULL;
  /* Lines that count the views as whole numbers of as many digits could be either. */
  if (commas.n_pairs == n_views && commas.n_lines == n_views && commas.digits > 0) {
    commas_refuse (&commas, spec, error);
    return NULL;
  }
  angles = take_by_name (entries, spec, names, n_views, &local);
  if (local) {
    g_propagate_error (error, g_steal_pointer (&local));
    return NULL;
  }
  if (!angles && entries->len == n_views)
    angles = angles_take (entries, 0, n_views);
  if (!angles)
    angles = take_by_number (entries, names, n_views, note);
  if (!angles && entries->len != n[1])
    angles = take_between_rests (entries, n_views, note);
  if (!angles && commas.line && !commas.points)
    commas_refuse (&commas, spec, error);
  else if (!angles && (n_views == 1 || entries->len == n[1]))
    td_scan_refuse_views (error, spec, entries->len,
                          td_message_new ("%u [angle|angles]", entries->len), scan_path, n);
  else if (!angles)
    td_set_error (
        error, TD_ERROR_ANGLES,
        "“%s” holds %u [angle|angles], but “%s” has %u [projection|projections], and no rule "
        "tells which belong together; give a file with %u [angle|angles], or the first and the "
        "last, such as 0:180 ({angles:FILE|FIRST:LAST})",
        spec, entries->len, scan_path, n_views, n_views);
  return angles;
}
