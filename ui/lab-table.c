/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-table.h"

#include <glib/gi18n.h>
#include <math.h>

#include "compute/lab/lab-plot.h"
#include "labels.h"
#include "method-choices.h"
#include "quantity.h"
#include "ui.h"

struct _TdLabTable {
  AdwBin parent_instance;
  GtkColumnView *view;
  GListStore *rows;
  const TdLab *lab;
  const TdLabResult *result;
  gboolean stopped; /* what is missing does not come */
};

G_DEFINE_FINAL_TYPE (TdLabTable, td_lab_table, ADW_TYPE_BIN)

typedef struct {
  const char *title, *tip, *format;
  gsize member;      /* a number of TdLabOutcome */
  double scale;      /* 1 of the member in what is shown */
  gboolean compared; /* there is none where nothing was compared */
  double (*value) (const TdLabResult *result, guint index); /* instead of the member */
} Column;

static const TdLabOutcome *
lab_table_outcome (const TdLabResult *result, guint index)
{
  const TdLabOutcome *outcome = result && index < result->n ? result->outcomes[index] : NULL;

  return outcome && outcome->pixels ? outcome : NULL;
}

static double
lab_table_memory (const TdLabResult *result, guint index)
{
  const TdLabOutcome *o = lab_table_outcome (result, index);
  const guint64 bytes = o ? MAX (o->host_bytes, o->device_bytes) : 0;
  return bytes ? (double) bytes / (1 << 20) : NAN;
}

/* What a curve tells that stays above to its end. */
#define FINEST_PX 2.0

static double
lab_table_resolution (const TdLabResult *result, guint index)
{
  const TdLabOutcome *o = lab_table_outcome (result, index);
  return o && o->frc ? fmax (o->frc->half_bit_px, FINEST_PX) : NAN;
}

static const Column columns[] = {
  { N_ ("RMS"), N_ ("Root mean square of the difference"), "%.3g",
    G_STRUCT_OFFSET (TdLabOutcome, difference.rms), 1, TRUE },
  { N_ ("÷ noise"),
    N_ ("RMS difference in units of the data’s own noise: below 1 it hides in the noise"), "%.2g",
    .value = td_lab_in_noise },
  { N_ ("Largest"), N_ ("Largest difference of a pixel"), "%.3g",
    G_STRUCT_OFFSET (TdLabOutcome, difference.max_abs), 1, TRUE },
  { N_ ("PSNR dB"), N_ ("Range of the reference over the RMS difference"), "%.1f",
    G_STRUCT_OFFSET (TdLabOutcome, difference.psnr_db), 1, TRUE },
  { N_ ("Error"), N_ ("Relative error against the same recipe in double precision"), "%.1e",
    G_STRUCT_OFFSET (TdLabOutcome, arithmetic), 1 },
  { N_ ("Bound"), N_ ("The kernel’s derived bound for that error"), "%.1e",
    G_STRUCT_OFFSET (TdLabOutcome, bound), 1 },
  { N_ ("÷ bound"), N_ ("The error in units of the bound: below 1 the bound holds"), "%.2g",
    .value = td_lab_in_bound },
  { N_ ("Warm ms"), N_ ("A run once kernels are built and rows are prepared"), "%.1f",
    G_STRUCT_OFFSET (TdLabOutcome, warm_s), 1e3 },
  { N_ ("First ms"), N_ ("The first run, with reading, preparing and building kernels"), "%.0f",
    G_STRUCT_OFFSET (TdLabOutcome, first_s), 1e3 },
  { N_ ("GU/s"), N_ ("Billion pixels × views a second of back-projection alone, warm"), "%.2f",
    G_STRUCT_OFFSET (TdLabOutcome, updates_per_s), 1e-9 },
  { N_ ("MiB"), N_ ("Most memory that the job took"), "%.0f", .value = lab_table_memory },
  { N_ ("Resolution"),
    N_ ("Pixels, where even and odd views’ Fourier ring correlation falls below half a bit. "
        "≤ 2: nowhere. –: it was not measured"),
    "%.2f", .value = lab_table_resolution },
};

/* NAN: there is none; such rows come last. */
static double
lab_table_value (const Column *column, const TdLabResult *result, guint index)
{
  const TdLabOutcome *o = lab_table_outcome (result, index);

  if (!o || (column->compared && !o->compared))
    return NAN;
  return column->value ? column->value (result, index)
                       : *(const double *) G_STRUCT_MEMBER_P (o, column->member) * column->scale;
}

/* ── Cells ── */

/* A row is an object that knows the number of its variant, and no more. */
static guint
lab_table_index (gconstpointer row)
{
  return GPOINTER_TO_UINT (g_object_get_data ((gpointer) row, "index"));
}

static void
lab_table_bind_value (GtkSignalListItemFactory *factory, GtkListItem *item, const Column *column)
{
  TdLabTable *self = g_object_get_data (G_OBJECT (factory), "table");
  const double value
      = lab_table_value (column, self->result, lab_table_index (gtk_list_item_get_item (item)));
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  gtk_label_set_text (GTK_LABEL (gtk_list_item_get_child (item)),
                      isinf (value)                                                 ? "∞"
                      : column->value == lab_table_resolution && value <= FINEST_PX ? "≤ 2"
                      : isfinite (value)
                          ? g_ascii_formatd (text, sizeof text, column->format, value)
                          : "–");
}

static void
lab_table_setup_value (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_widget_add_css_class (label, "numeric");
  gtk_list_item_set_child (item, label);
}

/* What really ran, or why nothing did. */
static char *
lab_table_used (TdLabTable *self, guint index)
{
  const TdLabOutcome *o = self->result ? self->result->outcomes[index] : NULL;

  if (!o)
    return g_strdup (self->stopped ? _ ("Stopped") : "…");
  if (o->error)
    return td_label_error (o->error);
  if (o->astray)
    return td_messages_join (o->astray, "; ", td_label_naming);
  return g_strjoin (_ (", "),
                    o->kernel ? td_choice_label (TD_CHOICE_KERNEL, o->kernel)
                              : td_choice_label (TD_CHOICE_METHOD, o->method),
                    td_choice_label (TD_CHOICE_PRECISION, o->precision), o->device, NULL);
}

static GMenu *
lab_table_menu (guint index, gboolean held)
{
  static const char *const entries[][2] = {
    { N_ ("_Edit…"), "lab.edit" },
    { N_ ("_Duplicate"), "lab.duplicate" },
    { N_ ("_Hold as It Is"), "lab.hold" },
    { N_ ("_Remove"), "lab.remove" },
    { N_ ("_Use as the Recipe"), "lab.use" },
  };
  GMenu *menu = g_menu_new ();

  for (guint i = 0; i < G_N_ELEMENTS (entries); i++) {
    g_autoptr (GMenuItem) item = g_menu_item_new (
        i == 2 && held ? _ ("_Follow the Recipe Again") : _ (entries[i][0]), NULL);
    g_menu_item_set_action_and_target (item, entries[i][1], "u", index);
    g_menu_append_item (menu, item);
  }
  return menu;
}

/* All of it is to be read, and figures are to have room beside it. */
static GtkWidget *
lab_table_label (void)
{
  return g_object_new (GTK_TYPE_LABEL, "xalign", 0.0, "wrap", TRUE, "wrap-mode",
                       PANGO_WRAP_WORD_CHAR, "width-chars", 30, "max-width-chars", 34, NULL);
}

static void
lab_table_setup_name (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  GtkWidget *button = gtk_menu_button_new (), *used = lab_table_label ();
  GtkWidget *texts = td_box_new (GTK_ORIENTATION_VERTICAL, 0, lab_table_label (), used, NULL);

  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (button), "view-more-symbolic");
  td_set_purpose (button, _ ("Edit, duplicate, remove or use this variant"));
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (used, "caption");
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_list_item_set_child (item, td_box_new (GTK_ORIENTATION_HORIZONTAL, 6, button, texts, NULL));
}

static void
lab_table_bind_name (GtkSignalListItemFactory *factory, GtkListItem *item, TdLabTable *self)
{
  const guint index = lab_table_index (gtk_list_item_get_item (item));
  GtkWidget *button = gtk_widget_get_first_child (gtk_list_item_get_child (item));
  GtkWidget *texts = gtk_widget_get_next_sibling (button);
  GtkLabel *name = GTK_LABEL (gtk_widget_get_first_child (texts));
  GtkLabel *used = GTK_LABEL (gtk_widget_get_last_child (texts));
  const TdLabVariant *variant = self->lab->variants->pdata[index];
  const TdLabOutcome *o = self->result ? self->result->outcomes[index] : NULL;
  g_autoptr (GMenu) menu = lab_table_menu (index, variant->held);
  g_autofree char *escaped = g_markup_escape_text (variant->name, -1);
  g_autofree char *markup = g_strdup_printf ("<span color=\"#%06x\">■</span> %u  %s%s",
                                             td_lab_plot_colour ((int) index), index + 1, escaped,
                                             variant->held ? _ (" (held)") : "");
  g_autofree char *words = lab_table_used (self, index);
  g_autofree char *tip = g_strdup_printf ("%s\n%s", variant->options, words);

  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_label_set_markup (name, markup);
  gtk_label_set_text (used, words);
  gtk_widget_set_tooltip_text (texts, tip);
  td_set_style_class (used, "warning", o && (o->error || o->astray));
}

/* ── Order ── */

typedef struct {
  TdLabTable *table; /* borrowed: the sorter is a part of it */
  const Column *column;
} Order;

static int
lab_table_compare (gconstpointer a, gconstpointer b, gpointer user)
{
  const Order *order = user;
  const TdLabResult *result = order->table->result;

  return td_compare_numbers (lab_table_value (order->column, result, lab_table_index (a)),
                             lab_table_value (order->column, result, lab_table_index (b)));
}

static int
lab_table_compare_names (gconstpointer a, gconstpointer b, gpointer user)
{
  return (int) lab_table_index (a) - (int) lab_table_index (b);
}

static void
lab_table_add_value (TdLabTable *self, const Column *column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  Order *order = g_new (Order, 1);

  *order = (Order) { self, column };
  g_object_set_data (G_OBJECT (factory), "table", self);
  g_signal_connect (factory, "setup", G_CALLBACK (lab_table_setup_value), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (lab_table_bind_value), (gpointer) column);
  g_autoptr (GtkColumnViewColumn) added = gtk_column_view_column_new (_ (column->title), factory);
  g_autoptr (GtkSorter) sorter
      = GTK_SORTER (gtk_custom_sorter_new (lab_table_compare, order, g_free));
  gtk_column_view_column_set_sorter (added, sorter);
  gtk_column_view_append_column (self->view, added);
}

static void
lab_table_add_name (TdLabTable *self)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();

  g_signal_connect (factory, "setup", G_CALLBACK (lab_table_setup_name), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (lab_table_bind_name), self);
  g_autoptr (GtkColumnViewColumn) added = gtk_column_view_column_new (_ ("Variant"), factory);
  g_autoptr (GtkSorter) sorter
      = GTK_SORTER (gtk_custom_sorter_new (lab_table_compare_names, NULL, NULL));
  gtk_column_view_column_set_sorter (added, sorter);
  gtk_column_view_column_set_expand (added, TRUE);
  gtk_column_view_append_column (self->view, added);
}

/* The header's buttons are the view's own: what a column is stands in their tooltips. */
static void
lab_table_explain (TdLabTable *self)
{
  GtkWidget *header = gtk_widget_get_first_child (GTK_WIDGET (self->view));
  GtkWidget *title = header ? gtk_widget_get_first_child (header) : NULL;

  title = title ? gtk_widget_get_next_sibling (title) : NULL;
  for (guint i = 0; title && i < G_N_ELEMENTS (columns); i++) {
    gtk_widget_set_tooltip_text (title, _ (columns[i].tip));
    title = gtk_widget_get_next_sibling (title);
  }
}

void
td_lab_table_show (TdLabTable *self, const TdLab *lab, const TdLabResult *result, gboolean stopped)
{
  const guint n = lab->variants->len;

  self->lab = lab;
  self->result = result;
  self->stopped = stopped;
  /* New rows are bound anew, and sorted by what is known now. */
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < n; i++) {
    g_ptr_array_add (rows, g_object_new (G_TYPE_OBJECT, NULL));
    g_object_set_data (rows->pdata[i], "index", GUINT_TO_POINTER (i));
  }
  g_list_store_splice (self->rows, 0, g_list_model_get_n_items (G_LIST_MODEL (self->rows)),
                       rows->pdata, n);
}

TD_DISPOSE (TdLabTable, td_lab_table)
{
  g_clear_object (&self->rows);
}

static void
td_lab_table_class_init (TdLabTableClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_lab_table_dispose;
}

static void
td_lab_table_init (TdLabTable *self)
{
  self->rows = g_list_store_new (G_TYPE_OBJECT);
  self->view = GTK_COLUMN_VIEW (gtk_column_view_new (NULL));
  td_set_spoken_name (self->view, _ ("Variants"));
  lab_table_add_name (self);
  for (guint i = 0; i < G_N_ELEMENTS (columns); i++)
    lab_table_add_value (self, &columns[i]);
  lab_table_explain (self);
  GtkSortListModel *sorted
      = gtk_sort_list_model_new (G_LIST_MODEL (g_object_ref (self->rows)),
                                 g_object_ref (gtk_column_view_get_sorter (self->view)));
  g_autoptr (GtkNoSelection) model = gtk_no_selection_new (G_LIST_MODEL (sorted));
  gtk_column_view_set_model (self->view, GTK_SELECTION_MODEL (model));
  gtk_widget_add_css_class (GTK_WIDGET (self->view), "data-table");
  GtkWidget *scrolled = gtk_scrolled_window_new ();
  /* The table is often wider than the window: its bar says so. */
  gtk_scrolled_window_set_overlay_scrolling (GTK_SCROLLED_WINDOW (scrolled), FALSE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), GTK_WIDGET (self->view));
  adw_bin_set_child (ADW_BIN (self), scrolled);
}
