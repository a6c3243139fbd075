/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "csv-text.h"

#include <math.h>
#include <string.h>

static void
csv_begin_field (GString *csv)
{
  if (csv->len > 0 && csv->str[csv->len - 1] != '\n')
    g_string_append_c (csv, ',');
}

void
td_csv_add_text (GString *csv, const char *text)
{
  csv_begin_field (csv);
  if (!text || !strpbrk (text, ",\"\r\n")) {
    g_string_append (csv, text ? text : "");
    return;
  }
  g_string_append_c (csv, '"');
  for (const char *at = text; *at; at++) {
    if (*at == '"')
      g_string_append_c (csv, '"');
    g_string_append_c (csv, *at);
  }
  g_string_append_c (csv, '"');
}

void
td_csv_add_number (GString *csv, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  csv_begin_field (csv);
  if (isfinite (value))
    g_string_append (csv, g_ascii_formatd (text, sizeof text, "%.9g", value));
}
