/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "number.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES ((gint64) 1 << 62)

gboolean
td_next_number (const char **at, double *value)
{
  char *end = NULL;
  const double parsed = g_ascii_strtod (*at, &end);

  if (end == *at || !isfinite (parsed))
    return FALSE;
  *at = end;
  *value = parsed;
  return TRUE;
}

gboolean
td_parse_number (const char *text, double low, double high, double *value)
{
  double parsed;

  if (!td_next_number (&text, &parsed) || *text || parsed < low || parsed > high)
    return FALSE;
  *value = parsed;
  return TRUE;
}

gboolean
td_parse_integer (const char *text, gint64 low, gint64 high, gint64 *value)
{
  return g_ascii_string_to_signed (text, 10, low, high, value, NULL);
}

gboolean
td_parse_integers (const char *text, char separator, gint64 low, gint64 high, gint64 *values,
                   guint n)
{
  const char between[] = { separator, 0 };
  g_auto (GStrv) words = g_strsplit (text, between, -1);

  if (g_strv_length (words) != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!td_parse_integer (words[i], low, high, &values[i]))
      return FALSE;
  return TRUE;
}

gboolean
td_parse_size (const char *text, guint64 *bytes)
{
  static const char units[] = "KMGTP";
  gint64 whole;
  char *end = NULL;

  if (td_parse_integer (text, 0, MOST_BYTES, &whole)) { /* a double would round large ones */
    *bytes = (guint64) whole;
    return TRUE;
  }
  double number = g_ascii_strtod (text, &end);
  const char *unit = *end ? strchr (units, g_ascii_toupper (*end)) : NULL;
  if (end != text && unit) {
    number *= ldexp (1, 10 * (int) (unit - units + 1));
    end++;
    if (g_ascii_strcasecmp (end, "iB") == 0 || g_ascii_strcasecmp (end, "B") == 0)
      end += strlen (end);
  }
  if (end == text || *end || !(number >= 0 && number <= MOST_BYTES))
    return FALSE;
  *bytes = (guint64) number;
  return TRUE;
}
