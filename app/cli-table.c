/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-table.h"

#include "cli.h"
#include "dataset/csv-text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct TdCliTable {
  TdCliTableForm form;
  JsonBuilder *builder;
  GString *above, *heads, *rows; /* text; of CSV: the facts, the keys, the lines */
  guint n_heads, n_cells;        /* heads said so far; cells in this row */
  gboolean in_rows, in_row;
};

TdCliTableForm
td_cli_table_form (gboolean json, gboolean csv)
{
  return json ? TD_CLI_TABLE_JSON : csv ? TD_CLI_TABLE_CSV : TD_CLI_TABLE_TEXT;
}

TdCliTable *
td_cli_table_new (TdCliTableForm form)
{
  TdCliTable *table = g_new0 (TdCliTable, 1);

  table->form = form;
  table->builder = json_builder_new ();
  table->above = g_string_new (NULL);
  table->heads = g_string_new (NULL);
  table->rows = g_string_new (NULL);
  json_builder_begin_object (table->builder);
  return table;
}

void
td_cli_table_free (TdCliTable *table)
{
  if (!table)
    return;
  g_object_unref (table->builder);
  g_string_free (table->above, TRUE);
  g_string_free (table->heads, TRUE);
  g_string_free (table->rows, TRUE);
  g_free (table);
}

/* ── Text ── */

static void
cli_table_end_line (TdCliTable *table)
{
  if (table->in_row && table->n_cells > 0)
    g_string_append_c (table->rows, '\n');
  table->n_cells = 0;
}

void
td_cli_table_say (TdCliTable *table, const char *format, ...)
{
  va_list values;

  if (table->form != TD_CLI_TABLE_TEXT)
    return;
  cli_table_end_line (table);
  va_start (values, format);
  g_string_append_vprintf (table->in_row ? table->rows : table->above, format, values);
  va_end (values);
}

/* As wide as what @format makes: its width and what follows the conversion. */
static void
cli_table_add_head (TdCliTable *table, const char *head, const char *format)
{
  const char *from = strchr (format, '%') + 1;
  const gboolean left = *from == '-';
  const int width = abs (atoi (from));
  const char *after = from + strcspn (from, "sdufg") + 1;
  const int more = (int) (strlen (after) - (strstr (after, "%%") ? 1 : 0));

  if (table->n_heads++)
    g_string_append_c (table->heads, ' ');
  g_string_append_printf (table->heads, left ? "%-*s" : "%*s", width + more, head);
}

void
td_cli_table_show (TdCliTable *table, const char *head, const char *format, ...)
{
  va_list values;

  if (table->form != TD_CLI_TABLE_TEXT)
    return;
  if (table->n_cells == table->n_heads)
    cli_table_add_head (table, head, format);
  if (table->n_cells++)
    g_string_append_c (table->rows, ' ');
  const gsize from = table->rows->len;
  va_start (values, format);
  g_string_append_vprintf (table->rows, format, values);
  va_end (values);
  /* A file's name may have a line end, and a row is a line. */
  for (char *c = table->rows->str + from; *c; c++)
    if (*c == '\n' || *c == '\r')
      *c = ' ';
}

/* ── Values ── */

/* Appends a key and a value to a line of CSV. Facts are repeated in each row. */
static void
cli_table_add_value (TdCliTable *table, const char *key, const char *value)
{
  GString *line = table->in_rows ? table->rows : table->above;

  if (!table->in_rows || table->n_cells == table->n_heads) {
    g_string_append_printf (table->heads, "%s%s", table->heads->len ? "," : "", key);
    table->n_heads += table->in_rows;
  }
  if (table->in_rows ? table->n_cells++ || table->above->len : table->above->len > 0)
    g_string_append_c (line, ',');
  g_string_append (line, value);
}

void
td_cli_table_text (TdCliTable *table, const char *key, const char *value)
{
  td_json_add_string (table->builder, key, value);
  if (table->form == TD_CLI_TABLE_CSV) {
    g_autoptr (GString) quoted = g_string_new (NULL);
    td_csv_add_text (quoted, value);
    cli_table_add_value (table, key, quoted->str);
  }
}

void
td_cli_table_integer (TdCliTable *table, const char *key, gint64 value)
{
  td_json_add_integer (table->builder, key, value);
  if (table->form == TD_CLI_TABLE_CSV) {
    g_autofree char *text = g_strdup_printf ("%" PRId64, value);
    cli_table_add_value (table, key, text);
  }
}

void
td_cli_table_number (TdCliTable *table, const char *key, double value)
{
  td_json_add_number (table->builder, key, value);
  if (table->form == TD_CLI_TABLE_CSV) {
    g_autofree char *text = isnan (value) ? g_strdup ("") : g_strdup_printf ("%.6g", value);
    cli_table_add_value (table, key, text);
  }
}

void
td_cli_table_times (TdCliTable *table, const char *prefix, const TdBenchTimes *times)
{
  const char *const names[] = { "median_s", "low_s", "high_s" };
  const double values[] = { times->median_s, times->low_s, times->high_s };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *key = g_strconcat (prefix, names[i], NULL);
    td_cli_table_number (table, key, values[i]);
  }
}

void
td_cli_table_device (TdCliTable *table, TdDevice *device)
{
  td_cli_table_text (table, "device", td_device_info (device)->id);
  td_cli_table_text (table, "device_name", td_device_info (device)->name);
}

void
td_cli_table_sizes (TdCliTable *table, int columns, int rows, int views)
{
  td_cli_table_integer (table, "columns", columns);
  td_cli_table_integer (table, "rows", rows);
  td_cli_table_integer (table, "views", views);
}

void
td_cli_table_notes (TdCliTable *table, TdMessage *const *notes)
{
  td_json_add_notes (table->builder, notes);
}

void
td_cli_table_begin (TdCliTable *table, const char *key)
{
  td_json_begin_object (table->builder, key);
}

void
td_cli_table_end (TdCliTable *table)
{
  json_builder_end_object (table->builder);
}

/* ── Rows ── */

void
td_cli_table_rows (TdCliTable *table, const char *key)
{
  td_json_begin_list (table->builder, key);
  table->in_rows = TRUE;
}

void
td_cli_table_row (TdCliTable *table)
{
  if (table->in_row)
    json_builder_end_object (table->builder);
  json_builder_begin_object (table->builder);
  if (table->form == TD_CLI_TABLE_TEXT)
    cli_table_end_line (table);
  table->in_row = TRUE;
  table->n_cells = 0;
  if (table->form == TD_CLI_TABLE_CSV)
    g_string_append_printf (table->rows, "\n%s", table->above->str);
}

int
td_cli_table_print (TdCliTable *table)
{
  if (table->form == TD_CLI_TABLE_JSON) {
    if (table->in_row)
      json_builder_end_object (table->builder);
    if (table->in_rows)
      json_builder_end_array (table->builder);
    json_builder_end_object (table->builder);
    return td_cli_print_json (table->builder);
  }
  g_autoptr (GString) out = g_string_new (NULL);
  if (table->form == TD_CLI_TABLE_TEXT)
    g_string_append (out, table->above->str);
  g_string_append (out, g_strchomp (table->heads->str));
  if (table->form == TD_CLI_TABLE_TEXT && table->n_heads)
    g_string_append_c (out, '\n');
  g_string_append (out, table->rows->str);
  return td_cli_print_text (g_strchomp (out->str));
}
