/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "detector-row.h"

#include <glib/gi18n.h>
#include <string.h>

#include "number-row.h"
#include "ui.h"

typedef enum {
  FIRST_COLUMN,
  FIRST_ROW,
  COLUMNS,
  ROWS,
  BIN_COLUMNS,
  BIN_ROWS,
  BIN_VIEWS,
  N_NUMBERS
} Number;

struct _TdDetectorRow {
  AdwExpanderRow parent_instance;
  TdNumberRow *numbers[N_NUMBERS];
  GtkWidget *whole;
  guint n_columns, n_rows;
  gboolean showing;
};

G_DEFINE_FINAL_TYPE (TdDetectorRow, td_detector_row, ADW_TYPE_EXPANDER_ROW)

static guint
detector_row_number (TdDetectorRow *self, Number which)
{
  return (guint) td_number_row_get_value (self->numbers[which]);
}

void
td_detector_row_apply (TdDetectorRow *self, TdRecipe *recipe)
{
  guint first_column = MIN (detector_row_number (self, FIRST_COLUMN), self->n_columns - 1);
  guint first_row = MIN (detector_row_number (self, FIRST_ROW), self->n_rows - 1);
  guint columns = MIN (detector_row_number (self, COLUMNS), self->n_columns - first_column);
  guint rows = MIN (detector_row_number (self, ROWS), self->n_rows - first_row);
  gboolean all = columns == self->n_columns && rows == self->n_rows;

  recipe->crop[0] = first_column;
  recipe->crop[1] = first_row;
  recipe->crop[2] = columns;
  recipe->crop[3] = rows;
  if (all)
    memset (recipe->crop, 0, sizeof recipe->crop);
  recipe->bin[0] = detector_row_number (self, BIN_COLUMNS);
  recipe->bin[1] = detector_row_number (self, BIN_ROWS);
  recipe->bin_views = detector_row_number (self, BIN_VIEWS);
}

static void
detector_row_on_number_changed (TdNumberRow *row, double value, TdDetectorRow *self)
{
  if (!self->showing)
    g_signal_emit_by_name (self, "changed");
}

static void
detector_row_on_whole_clicked (GtkButton *button, TdDetectorRow *self)
{
  const double whole[N_NUMBERS] = { 0, 0, self->n_columns, self->n_rows, 1, 1, 1 };

  self->showing = TRUE;
  for (guint i = 0; i < N_NUMBERS; i++)
    td_number_row_set_value (self->numbers[i], whole[i]);
  self->showing = FALSE;
  g_signal_emit_by_name (self, "changed");
}

/* ── Showing ── */

static void
show_summary (TdDetectorRow *self, const TdRecipe *recipe)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const guint *c = recipe->crop;
  guint columns = MAX (recipe->bin[0], 1), rows = MAX (recipe->bin[1], 1);
  guint views = MAX (recipe->bin_views, 1);

  if (c[2] > 0)
    g_string_append_printf (text, _ ("%u × %u pixels from column %u, row %u"), c[2], c[3], c[0],
                            c[1]);
  if (columns > 1 || rows > 1) {
    g_string_append (text, text->len ? "; " : "");
    g_string_append_printf (text, _ ("%u × %u pixels to one"), columns, rows);
  }
  if (views > 1) {
    g_string_append (text, text->len ? "; " : "");
    g_string_append_printf (text, _ ("%u views to one"), views);
  }
  gtk_widget_set_visible (self->whole, text->len > 0);
  if (text->len == 0)
    g_string_append (text, _ ("All of it. Shift and drag in the projection to crop"));
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), text->str);
}

void
td_detector_row_show (TdDetectorRow *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  const guint *c = recipe->crop;

  self->showing = TRUE;
  self->n_columns = facts ? facts->n_columns : 1;
  self->n_rows = facts ? facts->n_rows : 1;
  const double most[N_NUMBERS] = { self->n_columns - 1,
                                   self->n_rows - 1,
                                   self->n_columns,
                                   self->n_rows,
                                   MIN (self->n_columns, TD_RECIPE_MAX_BIN),
                                   MIN (self->n_rows, TD_RECIPE_MAX_BIN),
                                   TD_RECIPE_MAX_BIN };
  const double values[N_NUMBERS] = { c[0],
                                     c[1],
                                     c[2] > 0 ? c[2] : self->n_columns,
                                     c[2] > 0 ? c[3] : self->n_rows,
                                     MAX (recipe->bin[0], 1),
                                     MAX (recipe->bin[1], 1),
                                     MAX (recipe->bin_views, 1) };
  for (guint i = 0; i < N_NUMBERS; i++) {
    td_number_row_set_range (self->numbers[i], i < COLUMNS ? 0 : 1, most[i]);
    td_number_row_set_value (self->numbers[i], values[i]);
  }
  show_summary (self, recipe);
  self->showing = FALSE;
}

/* ── Widget ── */

static void
td_detector_row_class_init (TdDetectorRowClass *class)
{
  td_signal_new (class, "changed", 0);
}

static void
td_detector_row_init (TdDetectorRow *self)
{
  const char *const titles[N_NUMBERS] = { _ ("First column"),
                                          _ ("First row"),
                                          _ ("Columns"),
                                          _ ("Rows"),
                                          _ ("Columns averaged to one"),
                                          _ ("Rows averaged to one"),
                                          _ ("Views averaged to one") };

  self->n_columns = self->n_rows = 1;
  for (guint i = 0; i < N_NUMBERS; i++) {
    GtkWidget *row = td_number_row_new (titles[i], NULL, 0, 1, 1, 0);
    self->numbers[i] = TD_NUMBER_ROW (row);
    g_signal_connect (row, "changed", G_CALLBACK (detector_row_on_number_changed), self);
    adw_expander_row_add_row (ADW_EXPANDER_ROW (self), row);
  }
  self->whole = gtk_button_new_with_label (_ ("Whole"));
  gtk_widget_set_valign (self->whole, GTK_ALIGN_CENTER);
  g_signal_connect (self->whole, "clicked", G_CALLBACK (detector_row_on_whole_clicked), self);
  adw_expander_row_add_action (ADW_EXPANDER_ROW (self), self->whole);
}
