/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mask-row.h"

#include <glib/gi18n.h>

#include "dataset/scan-mask.h"
#include "labels.h"
#include "latest.h"
#include "ui.h"

struct TdMaskRow {
  TdFileRow *row;
  TdScan *scan;
  TdLatest *looking;
  TdMaskTaken taken;
  gpointer user;
};

typedef struct {
  TdScan *scan;
  char *path;
  gboolean take; /* chosen; FALSE: the recipe's */
} Look;

static void
mask_row_look_free (gpointer data)
{
  Look *look = data;

  td_scan_unref (look->scan);
  g_free (look->path);
  g_free (look);
}

/* Worker thread. The path to take, or "". */
static gpointer
mask_row_look (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Look *look = user;

  return td_scan_mask_fits (look->scan, look->path, error) ? g_strdup (look->take ? look->path : "")
                                                           : NULL;
}

static void
mask_row_on_looked (gpointer path, const GError *error, gboolean last, gpointer user)
{
  TdMaskRow *row = user;
  g_autofree char *words = error ? td_label_error (error) : NULL;

  if (words)
    td_file_row_set_problem (row->row, words);
  else if (*(const char *) path)
    row->taken (path, row->user);
}

static void
mask_row_look_at (TdMaskRow *row, const char *path, gboolean take)
{
  Look *look = g_new (Look, 1);

  *look = (Look) { td_scan_ref (row->scan), g_strdup (path), take };
  td_latest_cancel (row->looking);
  td_latest_request (row->looking, look);
}

static void
mask_row_on_chosen (TdFileRow *file, const char *path, TdMaskRow *row)
{
  if (path && row->scan) {
    mask_row_look_at (row, path, TRUE);
    return;
  }
  td_latest_cancel (row->looking);
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
  row->looking = td_latest_new (mask_row_look, mask_row_look_free, mask_row_on_looked, g_free, row);
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
  td_latest_cancel (row->looking);
  td_hold (scan, &row->scan, scan);
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
  td_latest_free (row->looking);
  g_signal_handlers_disconnect_by_data (row->row, row);
  g_clear_pointer (&row->scan, td_scan_unref);
  g_object_unref (row->row);
  g_free (row);
}
