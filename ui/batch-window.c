/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch-window.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "choose-file.h"
#include "labels.h"
#include "quantity.h"
#include "save-file.h"
#include "ui.h"

/* ── A row ── */

#define TD_TYPE_BATCH_SCAN (td_batch_scan_get_type ())
G_DECLARE_FINAL_TYPE (TdBatchScan, td_batch_scan, TD, BATCH_SCAN, GObject)

struct _TdBatchScan {
  GObject parent_instance;
  TdBatchRow *row;
};

G_DEFINE_FINAL_TYPE (TdBatchScan, td_batch_scan, G_TYPE_OBJECT)

TD_FINALIZE (TdBatchScan, td_batch_scan)
{
  td_batch_row_free (self->row);
}

static void
td_batch_scan_class_init (TdBatchScanClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_batch_scan_finalize;
  td_signal_new (class, "changed", 0);
}

static void
td_batch_scan_init (TdBatchScan *self)
{
}

static gboolean
batch_scan_is_same (const TdBatchRow *a, const TdBatchRow *b)
{
  g_autofree TdBatchRow *one = g_memdup2 (a, sizeof *a), *other = g_memdup2 (b, sizeof *b);
  const gboolean texts = g_strcmp0 (a->path, b->path) == 0 && g_strcmp0 (a->output, b->output) == 0
                         && g_strcmp0 (a->why, b->why) == 0;

  one->path = one->output = one->why = other->path = other->output = other->why = NULL;
  return texts && memcmp (one, other, sizeof *one) == 0;
}

static void
batch_scan_take (TdBatchScan *self, const TdBatchRow *row)
{
  if (self->row && batch_scan_is_same (self->row, row))
    return;
  g_clear_pointer (&self->row, td_batch_row_free);
  self->row = td_batch_row_copy (row);
  g_signal_emit_by_name (self, "changed");
}

/* ── Texts ── */

static char *
batch_scan_name (const TdBatchScan *scan)
{
  return g_path_get_basename (scan->row->path);
}

static char *
batch_scan_state (const TdBatchScan *scan)
{
  switch (scan->row->state) {
  case TD_BATCH_WAITING: return g_strdup (_ ("Waiting"));
  case TD_BATCH_RUNNING: return g_strdup_printf (_ ("Running, %.0f %%"), 100 * scan->row->fraction);
  case TD_BATCH_WRITTEN: return g_strdup (_ ("Done"));
  case TD_BATCH_THERE: return g_strdup (_ ("Was there"));
  case TD_BATCH_FAILED: return g_strdup (_ ("Failed"));
  case TD_BATCH_CANCELLED: return g_strdup (_ ("Stopped"));
  default: return g_strdup (_ ("Passed over"));
  }
}

static char *
batch_scan_axis (const TdBatchScan *scan)
{
  const TdBatchRow *row = scan->row;

  if (isnan (row->centre_px))
    return g_strdup ("");
  if (!row->searched || isnan (row->sigma_px))
    return g_strdup_printf ("%.3f", row->centre_px);
  return row->agreed
             ? g_strdup_printf ("%.3f ± %.3f", row->centre_px, row->sigma_px)
             : g_strdup_printf (_ ("%.3f ± %.3f, uncertain"), row->centre_px, row->sigma_px);
}

static char *
batch_scan_time (const TdBatchScan *scan)
{
  return isnan (scan->row->seconds) ? g_strdup ("") : td_duration_text (scan->row->seconds);
}

static char *
batch_scan_outcome (const TdBatchScan *scan)
{
  const TdBatchRow *row = scan->row;

  return row->why ? td_message_words (row->why, td_label_naming)
                  : g_strdup (row->output ? row->output : "");
}

/* ── Order ── */

static int
batch_scan_by_name (gconstpointer a, gconstpointer b, gpointer unused)
{
  g_autofree char *one = batch_scan_name (a), *other = batch_scan_name (b);
  return g_utf8_collate (one, other);
}

static int
batch_scan_by_state (gconstpointer a, gconstpointer b, gpointer unused)
{
  const TdBatchRow *one = ((const TdBatchScan *) a)->row, *other = ((const TdBatchScan *) b)->row;
  return (int) one->state - (int) other->state;
}

static int
batch_scan_by_axis (gconstpointer a, gconstpointer b, gpointer unused)
{
  return td_compare_numbers (((const TdBatchScan *) a)->row->centre_px,
                             ((const TdBatchScan *) b)->row->centre_px);
}

static int
batch_scan_by_time (gconstpointer a, gconstpointer b, gpointer unused)
{
  return td_compare_numbers (((const TdBatchScan *) a)->row->seconds,
                             ((const TdBatchScan *) b)->row->seconds);
}

static int
batch_scan_by_outcome (gconstpointer a, gconstpointer b, gpointer unused)
{
  g_autofree char *one = batch_scan_outcome (a), *other = batch_scan_outcome (b);
  return g_utf8_collate (one, other);
}

static const struct {
  const char *title;
  char *(*text) (const TdBatchScan *scan);
  GCompareDataFunc compare;
  gboolean expands;
} columns[] = {
  { N_ ("Scan"), batch_scan_name, batch_scan_by_name, FALSE },
  { N_ ("State"), batch_scan_state, batch_scan_by_state, FALSE },
  { N_ ("Axis (px)"), batch_scan_axis, batch_scan_by_axis, FALSE },
  { N_ ("Time"), batch_scan_time, batch_scan_by_time, FALSE },
  { N_ ("Volume, or what went wrong"), batch_scan_outcome, batch_scan_by_outcome, TRUE },
};

/* ── The window ── */

struct _TdBatchWindow {
  AdwWindow parent_instance;
  TdJobItem *item;
  GListStore *scans;
  GtkSorter *sorters[G_N_ELEMENTS (columns)];
  GtkColumnView *table;
  GtkLabel *status;
  GtkDropDown *order;
  GtkWidget *again, *stop, *save, *bar;
};

G_DEFINE_FINAL_TYPE (TdBatchWindow, td_batch_window, ADW_TYPE_WINDOW)

static void
batch_window_show_cell (TdBatchScan *scan, GtkListItem *cell)
{
  const guint i = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (cell), "column"));
  GtkWidget *label = gtk_list_item_get_child (cell);
  g_autofree char *text = columns[i].text (scan);
  const char *tip = i == 0 ? scan->row->path : text;

  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_tooltip_text (label, *tip ? tip : NULL);
  td_set_style_class (label, "error", scan->row->state == TD_BATCH_FAILED);
  if (columns[i].expands) { /* a path tells itself by its ends, and a sentence by all its words */
    gtk_label_set_wrap (GTK_LABEL (label), scan->row->why != NULL);
    gtk_label_set_ellipsize (GTK_LABEL (label),
                             scan->row->why ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_MIDDLE);
  }
}

static void
batch_window_setup_cell (GtkSignalListItemFactory *factory, GtkListItem *cell, gpointer column)
{
  GtkWidget *label = td_label_new (NULL, "numeric");
  const guint i = GPOINTER_TO_UINT (column);

  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  if (columns[i].expands)
    gtk_label_set_width_chars (GTK_LABEL (label), 24);
  g_object_set_data (G_OBJECT (cell), "column", column);
  gtk_list_item_set_child (cell, label);
}

static void
batch_window_bind_cell (GtkSignalListItemFactory *factory, GtkListItem *cell, gpointer column)
{
  TdBatchScan *scan = gtk_list_item_get_item (cell);

  g_signal_connect_object (scan, "changed", G_CALLBACK (batch_window_show_cell), cell, 0);
  batch_window_show_cell (scan, cell);
}

static void
batch_window_unbind_cell (GtkSignalListItemFactory *factory, GtkListItem *cell, gpointer column)
{
  g_signal_handlers_disconnect_by_data (gtk_list_item_get_item (cell), cell);
}

static void
batch_window_add_column (TdBatchWindow *self, guint i)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkSorter *sorter = GTK_SORTER (gtk_custom_sorter_new (columns[i].compare, NULL, NULL));

  g_signal_connect (factory, "setup", G_CALLBACK (batch_window_setup_cell), GUINT_TO_POINTER (i));
  g_signal_connect (factory, "bind", G_CALLBACK (batch_window_bind_cell), GUINT_TO_POINTER (i));
  g_signal_connect (factory, "unbind", G_CALLBACK (batch_window_unbind_cell), GUINT_TO_POINTER (i));
  g_autoptr (GtkColumnViewColumn) column
      = gtk_column_view_column_new (_ (columns[i].title), factory);
  gtk_column_view_column_set_sorter (column, sorter);
  gtk_column_view_column_set_expand (column, columns[i].expands);
  gtk_column_view_column_set_resizable (column, TRUE);
  gtk_column_view_append_column (self->table, column);
  self->sorters[i] = sorter;
}

/* Headings cannot have the focus. */
static void
batch_window_on_order (GtkDropDown *order, GParamSpec *property, TdBatchWindow *self)
{
  const guint selected = gtk_drop_down_get_selected (order);
  g_autoptr (GtkColumnViewColumn) column
      = selected > 0
            ? g_list_model_get_item (gtk_column_view_get_columns (self->table), selected - 1)
            : NULL;

  gtk_column_view_sort_by_column (self->table, column, GTK_SORT_ASCENDING);
}

static void
batch_window_fill_order (TdBatchWindow *self)
{
  g_autoptr (GtkStringList) orders = gtk_string_list_new (NULL);

  gtk_string_list_append (orders, _ ("As they came"));
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    gtk_string_list_append (orders, _ (columns[i].title));
  gtk_drop_down_set_model (self->order, G_LIST_MODEL (orders));
}

static void
batch_window_take_rows (TdBatchWindow *self, const GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++) {
    g_autoptr (TdBatchScan) scan = g_list_model_get_item (G_LIST_MODEL (self->scans), i);
    if (scan) {
      batch_scan_take (scan, rows->pdata[i]);
      continue;
    }
    scan = g_object_new (TD_TYPE_BATCH_SCAN, NULL);
    batch_scan_take (scan, rows->pdata[i]);
    g_list_store_append (self->scans, scan);
  }
  const guint n = g_list_model_get_n_items (G_LIST_MODEL (self->scans));
  if (n > rows->len) /* another run tells its own */
    g_list_store_splice (self->scans, rows->len, n - rows->len, NULL, 0);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    gtk_sorter_changed (self->sorters[i], GTK_SORTER_CHANGE_DIFFERENT);
}

static void
batch_window_update (TdBatchWindow *self)
{
  const TdRemoteFacts *facts = td_job_item_facts (self->item);
  const TdJobState state = td_job_item_state (self->item);
  const gboolean ended = td_job_item_ended (self->item);
  g_autofree char *status = td_job_item_status (self->item);

  if (facts->scans)
    batch_window_take_rows (self, facts->scans);
  gtk_label_set_text (self->status, status);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), td_job_item_fraction (self->item));
  gtk_widget_set_visible (self->bar, !ended && !facts->watch);
  gtk_widget_set_visible (self->stop, !ended);
  gtk_widget_set_visible (self->again, state == TD_JOB_FAILED || state == TD_JOB_CANCELLED);
  gtk_widget_set_sensitive (self->save, g_list_model_get_n_items (G_LIST_MODEL (self->scans)) > 0);
}

static void
batch_window_set_item (TdBatchWindow *self, TdJobItem *item)
{
  if (self->item)
    g_signal_handlers_disconnect_by_data (self->item, self);
  g_set_object (&self->item, item);
  g_signal_connect_object (item, "changed", G_CALLBACK (batch_window_update), self,
                           G_CONNECT_SWAPPED);
  batch_window_update (self);
}

/* The same job once more is another item of the queue. */
static void
batch_window_on_jobs (GListModel *model, guint position, guint removed, guint added,
                      TdBatchWindow *self)
{
  for (guint i = position; i < position + added; i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    if (g_strcmp0 (td_job_item_facts (item)->id, td_job_item_facts (self->item)->id) == 0)
      batch_window_set_item (self, item);
  }
}

/* ── Asking ── */

static void
batch_window_on_again (GtkButton *button, TdBatchWindow *self)
{
  g_signal_emit_by_name (self, "again-requested", self->item);
}

static void
batch_window_on_stop (GtkButton *button, TdBatchWindow *self)
{
  td_job_item_cancel (self->item);
}

static void
batch_window_on_activate (GtkColumnView *table, guint position, TdBatchWindow *self)
{
  GListModel *model = G_LIST_MODEL (gtk_column_view_get_model (table));
  g_autoptr (TdBatchScan) scan = g_list_model_get_item (model, position);

  if (scan && (scan->row->state == TD_BATCH_WRITTEN || scan->row->state == TD_BATCH_THERE))
    g_signal_emit_by_name (self, "open-requested", scan->row->output);
}

char *
td_batch_window_text (TdBatchWindow *self)
{
  GListModel *model = G_LIST_MODEL (gtk_column_view_get_model (self->table));
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdBatchScan) scan = g_list_model_get_item (model, i);
    g_ptr_array_add (rows, scan->row); /* the model keeps it */
  }
  return td_batch_csv (rows);
}

static void
batch_window_on_path (gpointer user, const char *path)
{
  td_save_file (user, _ ("The table was not saved"), path, td_save_text,
                td_batch_window_text (user), g_free, NULL);
}

static void
batch_window_on_save (GtkButton *button, TdBatchWindow *self)
{
  g_autofree char *name = g_strconcat (td_job_item_facts (self->item)->title, ".csv", NULL);

  td_choose_name (self, _ ("Save the Table"), name, batch_window_on_path, self);
}

/* ── Object ── */

TD_DISPOSE (TdBatchWindow, td_batch_window)
{
  g_clear_object (&self->item);
  g_clear_object (&self->scans);
}

static void
td_batch_window_class_init (TdBatchWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_batch_window_dispose;
  td_close_on_escape (class);
  td_bind_template (class, TdBatchWindow, "/org/tomodesk/ui/batch-window.ui", table, status, order,
                    again, stop, save, bar);
  td_bind_callbacks (class, batch_window_on_again, batch_window_on_stop, batch_window_on_order,
                     batch_window_on_save, batch_window_on_activate);
  td_signal_new (class, "again-requested", 1, TD_TYPE_JOB_ITEM);
  td_signal_new (class, "open-requested", 1, G_TYPE_STRING);
}

static void
td_batch_window_init (TdBatchWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  self->scans = g_list_store_new (TD_TYPE_BATCH_SCAN);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    batch_window_add_column (self, i);
  batch_window_fill_order (self);
  GtkSorter *sorter = g_object_ref (gtk_column_view_get_sorter (self->table));
  GtkSortListModel *sorted
      = gtk_sort_list_model_new (g_object_ref (G_LIST_MODEL (self->scans)), sorter);
  g_autoptr (GtkSingleSelection) selection = gtk_single_selection_new (G_LIST_MODEL (sorted));
  gtk_column_view_set_model (self->table, GTK_SELECTION_MODEL (selection));
}

GtkWidget *
td_batch_window_new (GtkWindow *parent, TdJobQueue *jobs, TdJobItem *item)
{
  TdBatchWindow *self = g_object_new (TD_TYPE_BATCH_WINDOW, "transient-for", parent, NULL);
  g_autofree char *title = g_strdup_printf (_ ("Batch “%s”"), td_job_item_facts (item)->title);

  gtk_window_set_title (GTK_WINDOW (self), title);
  g_signal_connect_object (td_job_queue_model (jobs), "items-changed",
                           G_CALLBACK (batch_window_on_jobs), self, 0);
  batch_window_set_item (self, item);
  gtk_widget_grab_focus (GTK_WIDGET (self->table));
  return GTK_WIDGET (self);
}
