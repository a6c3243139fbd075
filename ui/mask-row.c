/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mask-row.h"

#include <glib/gi18n.h>

#include "dataset/scan-mask.h"
#include "labels.h"

struct TdMaskRow {
  TdFileRow *row;
  TdScan *scan;
  GCancellable *looking; /* NULL: at nothing */
  TdMaskTaken taken;
  gpointer user;
};

typedef struct {
  TdMaskRow *row;
  TdScan *scan;
  char *path;
  gboolean take; /* chosen; FALSE: the recipe's */
} Look;

static void
look_free (gpointer data)
{
  Look *look = data;

  td_scan_unref (look->scan);
  g_free (look->path);
  g_free (look);
}

static void
look_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Look *look = data;
  GError *error = NULL;

  if (td_scan_mask_fits (look->scan, look->path, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
on_looked (GObject *source, GAsyncResult *result, gpointer user)
{
  const Look *look = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;

  /* Cancelled: the row may be gone. */
  if (!g_task_propagate_boolean (G_TASK (result), &error)) {
    g_autofree char *words = td_label_error (error);
    if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
      td_file_row_set_problem (look->row->row, words);
    return;
  }
  if (look->take)
    look->row->taken (look->path, look->row->user);
}

static void
stop_looking (TdMaskRow *row)
{
  if (row->looking)
    g_cancellable_cancel (row->looking);
  g_clear_object (&row->looking);
}

static void
mask_row_look_at (TdMaskRow *row, const char *path, gboolean take)
{
  Look *look = g_new (Look, 1);

  stop_looking (row);
  row->looking = g_cancellable_new ();
  *look = (Look) { row, td_scan_ref (row->scan), g_strdup (path), take };
  g_autoptr (GTask) task = g_task_new (NULL, row->looking, on_looked, NULL);
  g_task_set_task_data (task, look, look_free);
  g_task_run_in_thread (task, look_in_thread);
}

static void
mask_row_on_chosen (TdFileRow *file, const char *path, TdMaskRow *row)
{
  if (path && row->scan) {
    mask_row_look_at (row, path, TRUE);
    return;
  }
  stop_looking (row);
  td_file_row_set_path (file, NULL);
  row->taken (NULL, row->user);
}

TdMaskRow *
td_mask_row_new (TdMaskTaken taken, gpointer user)
{
  static const char *const images[] = { "*.tif", "*.tiff", "*.h5", "*.hdf5", NULL };
  TdMaskRow *row = g_new0 (TdMaskRow, 1);

  row->taken = taken;
  row->user = user;
  row->row = TD_FILE_ROW (
      td_file_row_new (_ ("Mask"), _ ("None. An image, not 0 where a pixel is bad"), images));
  g_object_ref_sink (row->row);
  g_signal_connect (row->row, "chosen", G_CALLBACK (mask_row_on_chosen), row);
  return row;
}

GtkWidget *
td_mask_row_widget (TdMaskRow *row)
{
  return GTK_WIDGET (row->row);
}

void
td_mask_row_set_scan (TdMaskRow *row, TdScan *scan)
{
  stop_looking (row);
  g_clear_pointer (&row->scan, td_scan_unref);
  row->scan = scan ? td_scan_ref (scan) : NULL;
}

void
td_mask_row_show (TdMaskRow *row, const char *path)
{
  const char *shown = td_file_row_get_path (row->row);

  if (g_strcmp0 (shown ? shown : "", path) == 0)
    return;
  td_file_row_set_path (row->row, path);
  if (*path && row->scan)
    mask_row_look_at (row, path, FALSE);
}

void
td_mask_row_free (TdMaskRow *row)
{
  stop_looking (row);
  g_signal_handlers_disconnect_by_data (row->row, row);
  g_clear_pointer (&row->scan, td_scan_unref);
  g_object_unref (row->row);
  g_free (row);
}
