/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/bench/times.h"
#include "compute/device/device.h"
#include "dataset/message.h"

/**
 * What the benches print: facts of the whole, then rows of a table, as text, one JSON object or
 * comma-separated values. A bench says everything once, in the order in which it is to appear:
 *
 *     td_cli_table_say ()      text alone, above the table, between its rows or below
 *     td_cli_table_show ()     a cell of the text alone
 *     td_cli_table_number ()   a value of JSON and CSV: a fact before the first row, then a cell
 *
 * A line of CSV holds the facts, then the row's values.
 */
typedef enum { TD_CLI_TABLE_TEXT, TD_CLI_TABLE_JSON, TD_CLI_TABLE_CSV } TdCliTableForm;
typedef struct TdCliTable TdCliTable;

/* As --json and --csv ask. */
TdCliTableForm td_cli_table_form (gboolean json, gboolean csv);

TdCliTable *td_cli_table_new (TdCliTableForm form);
void td_cli_table_free (TdCliTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdCliTable, td_cli_table_free)

void td_cli_table_say (TdCliTable *table, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* @format begins with the column's width, as in "%-13s" and "%7.0f %%". @head stands above the
   column; "": no head. */
void td_cli_table_show (TdCliTable *table, const char *head, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

/* NULL and NaN are null in JSON. */
void td_cli_table_text (TdCliTable *table, const char *key, const char *value);
void td_cli_table_integer (TdCliTable *table, const char *key, gint64 value);
void td_cli_table_number (TdCliTable *table, const char *key, double value);
/* A cell of the text, and the same value of the kind, text, integer or number, under @key. */
#define td_cli_table_cell(table, kind, key, head, format, value)                                   \
  (td_cli_table_##kind (table, key, value), td_cli_table_show (table, head, format, value))
/* Three numbers, "PREFIXmedian_s" and so on. */
void td_cli_table_times (TdCliTable *table, const char *prefix, const TdBenchTimes *times);
/* The device's id and name. */
void td_cli_table_device (TdCliTable *table, TdDevice *device);
/* A scan's "columns", "rows" and "views". */
void td_cli_table_sizes (TdCliTable *table, int columns, int rows, int views);
/* In JSON alone. */
void td_cli_table_notes (TdCliTable *table, TdMessage *const *notes);
/* Numbers within an object of their own; in CSV they stand beside the others. */
void td_cli_table_begin (TdCliTable *table, const char *key);
void td_cli_table_end (TdCliTable *table);

/* From here on rows follow; @key: the name of their array. */
void td_cli_table_rows (TdCliTable *table, const char *key);
void td_cli_table_row (TdCliTable *table);

/* Prints on standard output; returns the exit status. */
int td_cli_table_print (TdCliTable *table);
