/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json-text.h"

#include <string.h>

/* Appends the string that begins with the quote at @at; returns what follows it. */
static const char *
json_text_add_string (GString *out, const char *at)
{
  g_string_append_c (out, *at++);
  for (; *at && *at != '"'; at++) {
    if ((guchar) *at < 0x20) {
      g_string_append_printf (out, "\\u%04x", *at);
      continue;
    }
    g_string_append_c (out, *at);
    if (*at == '\\' && at[1])
      g_string_append_c (out, *++at);
  }
  if (*at)
    g_string_append_c (out, *at++);
  return at;
}

/* The same for the number, or what is written for one, at @at. */
static const char *
json_text_add_number (GString *out, const char *at)
{
  const gsize n = strspn (at, "0123456789+-.eEinfa");
  g_autofree char *number = g_strndup (at, n);
  char *exponent = strpbrk (number, "eE");

  if (strpbrk (number, "nN"))
    g_string_append (out, "null");
  else {
    if (exponent)
      exponent[strcspn (exponent, ".")] = 0;
    g_string_append (out, number);
  }
  return at + n;
}

char *
td_json_text (JsonNode *root, gboolean pretty)
{
  g_autofree char *text = json_to_string (root, pretty);
  GString *out = g_string_sized_new (strlen (text));

  for (const char *at = text; *at;) {
    const gboolean nan = g_str_has_prefix (at, "nan") || g_str_has_prefix (at, "inf");

    if (*at == '"')
      at = json_text_add_string (out, at);
    else if (*at == '-' || g_ascii_isdigit (*at) || nan)
      at = json_text_add_number (out, at);
    else
      g_string_append_c (out, *at++);
  }
  return g_string_free (out, FALSE);
}
