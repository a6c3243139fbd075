/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-option-values.h"

#include <math.h>
#include <string.h>

gboolean
td_option_invalid (GError **error, const char *option, const char *value, const char *expected)
{
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "--%s \"%s\" is not %s", option, value, expected);
  return FALSE;
}

gboolean
td_option_name (const char *option, const char *value, const char *const *names, int *index,
                GError **error)
{
  for (int i = 0; names[i]; i++)
    if (strcmp (names[i], value) == 0) {
      *index = i;
      return TRUE;
    }
  g_autofree char *list = g_strjoinv (", ", (char **) names);
  g_autofree char *expected = g_strconcat ("one of ", list, NULL);
  return td_option_invalid (error, option, value, expected);
}

gboolean
td_option_number (const char *option, const char *value, double low, double high, double *number,
                  GError **error)
{
  char *end = NULL;
  double parsed = g_ascii_strtod (value, &end);

  if (end == value || *end || !isfinite (parsed))
    return td_option_invalid (error, option, value, "a number");
  if (parsed < low || parsed > high) {
    g_autofree char *expected = g_strdup_printf ("between %g and %g", low, high);
    return td_option_invalid (error, option, value, expected);
  }
  *number = parsed;
  return TRUE;
}

gboolean
td_option_count (const char *option, const char *value, guint low, guint high, guint *count,
                 GError **error)
{
  gint64 number;

  if (!td_option_integers (value, ",", &number, 1) || number < low || number > high) {
    g_autofree char *expected = g_strdup_printf ("a whole number from %u to %u", low, high);
    return td_option_invalid (error, option, value, expected);
  }
  *count = (guint) number;
  return TRUE;
}

gboolean
td_option_switch (const char *option, const char *value, gboolean *on, GError **error)
{
  static const char *const names[] = { "false", "true", NULL };
  return td_option_name (option, value, names, on, error);
}

gboolean
td_option_integers (const char *value, const char *separator, gint64 *numbers, guint n)
{
  g_auto (GStrv) words = g_strsplit (value, separator, -1);

  if (g_strv_length (words) != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!g_ascii_string_to_signed (words[i], 10, G_MININT32, G_MAXINT32, &numbers[i], NULL))
      return FALSE;
  return TRUE;
}

gboolean
td_parse_size (const char *text, guint64 *bytes, GError **error)
{
  static const char units[] = "KMGTP";
  char *end = NULL;
  double number = g_ascii_strtod (text, &end);
  const char *unit = *end ? strchr (units, g_ascii_toupper (*end)) : NULL;

  if (end != text && unit) {
    number *= ldexp (1, 10 * (int) (unit - units + 1));
    end++;
    if (g_ascii_strcasecmp (end, "iB") == 0 || g_ascii_strcasecmp (end, "B") == 0)
      end += strlen (end);
  }
  if (end == text || *end || !(number >= 0) || number > 0x1p62) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                 "\"%s\" is not a size; write bytes, or a number with K, M, G or T as in 512M",
                 text);
    return FALSE;
  }
  *bytes = (guint64) number;
  return TRUE;
}
