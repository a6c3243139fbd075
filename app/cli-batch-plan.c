/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-batch-plan.h"

#include <math.h>

#include "cli-table.h"
#include "cli.h"
#include "dataset/file-bytes.h"
#include "dataset/unit.h"

/* What was found out about one scan. */
typedef struct {
  TdBatchRow *row;
  TdBatchNeed need;
} Look;

typedef struct {
  GPtrArray *looks;
  TdBatchNeed all;
  guint to_do, there, refused;
} Sum;

static void
batch_plan_look_free (gpointer user)
{
  Look *look = user;

  td_batch_row_free (look->row);
  g_free (look);
}

static char *
batch_plan_seconds (double seconds)
{
  return isnan (seconds) ? g_strdup ("not known yet") : td_cli_duration (seconds);
}

/* As members of JSON. */
static void
batch_plan_numbers (TdCliTable *table, const TdBatchNeed *need)
{
  td_cli_table_integer (table, "slices", need->n_slices);
  td_cli_table_integer (table, "host_bytes", (gint64) need->host_bytes);
  td_cli_table_integer (table, "device_bytes", (gint64) need->device_bytes);
  td_cli_table_integer (table, "write_bytes", (gint64) need->write_bytes);
  td_cli_table_number (table, "read_seconds", need->times.read);
  td_cli_table_number (table, "compute_seconds", need->times.compute);
  td_cli_table_number (table, "write_seconds", need->times.write);
  td_cli_table_number (table, "estimate_seconds", need->estimate_s);
}

static const char *
batch_plan_state (const TdBatchRow *row)
{
  return row->state == TD_BATCH_FAILED    ? "refused"
         : row->state == TD_BATCH_WAITING ? "to do"
                                          : td_batch_state_name (row->state);
}

static void
batch_plan_add_row (TdCliTable *table, const Look *look)
{
  const TdBatchRow *row = look->row;
  const TdBatchNeed *need = &look->need;
  const gboolean to_do = row->state == TD_BATCH_WAITING;
  g_autofree char *name = g_path_get_basename (row->path);
  g_autofree char *host = td_memory_text (need->host_bytes);
  g_autofree char *device = td_memory_text (need->device_bytes);
  g_autofree char *written = g_format_size (need->write_bytes);
  g_autofree char *time = batch_plan_seconds (need->estimate_s);

  td_cli_table_row (table);
  td_cli_table_show (table, "scan", "%-24s", name);
  td_cli_table_show (table, "state", "%-8s", batch_plan_state (row));
  td_cli_table_show (table, "host", "%-10s", to_do ? host : "");
  td_cli_table_show (table, "device", "%-10s", to_do ? device : "");
  td_cli_table_show (table, "to write", "%-10s", to_do ? written : "");
  td_cli_table_show (table, "time", "%-13s", to_do ? time : "");
  td_cli_table_show (table, "output or error", "%-15s", row->why ? row->why : row->output);
  td_cli_table_text (table, "scan", row->path);
  td_cli_table_text (table, "state", batch_plan_state (row));
  batch_plan_numbers (table, need);
  td_cli_table_text (table, "output", row->why ? NULL : row->output);
  td_cli_table_text (table, "error", row->why);
  td_cli_table_notes (table, row->notes);
  g_auto (GStrv) notes = td_messages_texts (row->notes, NULL);
  if (notes[0])
    td_cli_table_say (table, "%s\n", row->path);
  for (guint i = 0; notes[i]; i++)
    td_cli_table_say (table, "  note     %s\n", notes[i]);
}

static void
batch_plan_look (Sum *sum, const TdBatchWork *work, const char *scan, const char *output)
{
  Look *look = g_new0 (Look, 1);
  g_autoptr (GError) error = NULL;

  look->row = td_batch_row_new (scan, output);
  g_ptr_array_add (sum->looks, look);
  td_cli_progress ("looking at the scans", 0, -1, NULL);
  if (td_batch_look (work, look->row, &look->need, td_cli_cancellable (), &error)) {
    sum->to_do += look->row->state == TD_BATCH_WAITING;
    sum->there += look->row->state == TD_BATCH_THERE;
    td_batch_need_add (&sum->all, &look->need);
    return;
  }
  look->row->state = TD_BATCH_FAILED;
  look->row->why = td_error_text (error, NULL);
  sum->refused++;
}

static void
batch_plan_say_all (TdCliTable *table, const Sum *sum, const char *folder, gboolean searches)
{
  const TdBatchNeed *all = &sum->all;
  const guint64 room = td_file_room (folder);
  g_autofree char *host = td_memory_text (all->host_bytes);
  g_autofree char *device = td_memory_text (all->device_bytes);
  g_autofree char *written = g_format_size (all->write_bytes);
  g_autofree char *space
      = room == G_MAXUINT64 ? g_strdup ("nobody knows how much is") : g_format_size (room);
  g_autofree char *read = batch_plan_seconds (all->times.read);
  g_autofree char *compute = batch_plan_seconds (all->times.compute);
  g_autofree char *write = batch_plan_seconds (all->times.write);
  g_autofree char *time = batch_plan_seconds (all->estimate_s);

  td_cli_table_say (table, "in all: %u to do, %u there, %u refused\n", sum->to_do, sum->there,
                    sum->refused);
  td_cli_table_say (table, "  memory   %s on the host, %s on each device, for the largest\n", host,
                    device);
  td_cli_table_say (table, "  disk     %s to write, %s free\n", written, space);
  td_cli_table_say (table, "  time     %s%s\n", time,
                    searches ? "; the search for axes comes on top" : "");
  td_cli_table_say (table, "  stages   reading %s, computing %s, writing %s; they overlap\n", read,
                    compute, write);
}

static void
batch_plan_facts (TdCliTable *table, const Sum *sum, const char *folder)
{
  const guint64 room = td_file_room (folder);

  td_cli_table_begin (table, "all");
  td_cli_table_integer (table, "to_do", sum->to_do);
  td_cli_table_integer (table, "there", sum->there);
  td_cli_table_integer (table, "refused", sum->refused);
  batch_plan_numbers (table, &sum->all);
  if (room == G_MAXUINT64)
    td_cli_table_text (table, "free_bytes", NULL);
  else
    td_cli_table_integer (table, "free_bytes", (gint64) room);
  td_cli_table_end (table);
}

int
td_cli_batch_plan (const TdBatchWork *work, const char *const *scans, const char *const *outputs,
                   const char *folder, TdCliTableForm form)
{
  g_autoptr (TdCliTable) table = td_cli_table_new (form);
  g_autoptr (GPtrArray) looks = g_ptr_array_new_with_free_func (batch_plan_look_free);
  g_autoptr (GError) no_room = NULL;
  Sum sum = { .looks = looks };

  for (guint i = 0; scans[i] && !g_cancellable_is_cancelled (td_cli_cancellable ()); i++)
    batch_plan_look (&sum, work, scans[i], outputs[i]);
  td_cli_progress_clear ();
  if (g_cancellable_is_cancelled (td_cli_cancellable ()))
    return TD_CLI_CANCELLED;
  if (form == TD_CLI_TABLE_JSON)
    batch_plan_facts (table, &sum, folder);
  td_cli_table_rows (table, "scans");
  for (guint i = 0; i < looks->len; i++)
    batch_plan_add_row (table, looks->pdata[i]);
  batch_plan_say_all (table, &sum, folder,
                      work->recipe->centre_auto || isnan (work->recipe->centre_px));
  const int status = td_cli_table_print (table);
  if (status != TD_CLI_DONE)
    return status;
  if (!td_batch_need_fits (&sum.all, folder, &no_room))
    return td_cli_fail (no_room);
  if (sum.refused)
    td_cli_say ("%u of %u scans would be refused", sum.refused, looks->len);
  return sum.refused ? TD_CLI_FAILED : TD_CLI_DONE;
}
