/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-answer.h"

#include <glib/gi18n.h>
#include <math.h>

#include "axis-plot.h"
#include "compute/axis/axis-line.h"
#include "labels.h"
#include "ui.h"
#include "wrap-layout.h"

#define TILT_MATTERS 2.0 /* times its uncertainty */

struct _TdAxisAnswer {
  AdwBin parent_instance;
  GtkWidget *warning, *take;
  GtkLabel *consensus, *tilt, *advice;
  TdAxisPlot *plot;
  GtkBox *legend;
  GtkGrid *grid;
  TdAxisResult *result;
  guint n_rows;
  double centre_px, tilt_deg; /* that are set */
};

G_DEFINE_FINAL_TYPE (TdAxisAnswer, td_axis_answer, ADW_TYPE_BIN)

double
td_axis_result_tilt (const TdAxisResult *result, guint n_rows)
{
  if (n_rows == 1)
    return NAN;
  return fabs (result->tilt_deg) > TILT_MATTERS * result->tilt_uncertainty_deg ? result->tilt_deg
                                                                               : 0;
}

/* ── Taking ── */

/* A trial is of its row: the centre at the middle row follows by the tilt that is set. */
static void
axis_answer_take (TdAxisAnswer *self, guint index)
{
  const TdAxisTrial *trial = &self->result->trials[index];
  const TdAxisLine through_0 = td_axis_line (0, self->tilt_deg, self->n_rows);
  const double centre = trial->centre_px - td_axis_line_at (&through_0, trial->row);

  g_signal_emit_by_name (self, "taken", centre, (double) NAN);
}

static void
on_trial_clicked (GtkButton *button, TdAxisAnswer *self)
{
  axis_answer_take (self, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "trial")));
}

static void
on_take_clicked (GtkButton *button, TdAxisAnswer *self)
{
  g_signal_emit_by_name (self, "taken", self->result->centre_px,
                         td_axis_result_tilt (self->result, self->n_rows));
}

/* ── The table ── */

static GtkWidget *
trial_button (TdAxisAnswer *self, guint index)
{
  const TdAxisTrial *trial = &self->result->trials[index];
  g_autofree char *text
      = isfinite (trial->centre_px) ? g_strdup_printf ("%.2f", trial->centre_px) : g_strdup ("–");
  g_autofree char *tip
      = g_strdup_printf (trial->used ? _ ("%s, row %u: confidence %.2f. Click to take it")
                                     : _ ("%s, row %u: confidence %.2f, left out of the consensus: "
                                          "weak, or far from the others. Click to take it"),
                         _ (td_axis_method_title (trial->method)), trial->row, trial->confidence);
  GtkWidget *button
      = td_button_new (text, "flat numeric trial", G_CALLBACK (on_trial_clicked), self);

  gtk_widget_set_tooltip_text (button, tip);
  gtk_widget_set_sensitive (button, isfinite (trial->centre_px));
  gtk_widget_set_hexpand (button, TRUE);
  if (!trial->used)
    gtk_widget_add_css_class (button, "dim-label");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, tip,
                                  -1);
  g_object_set_data (G_OBJECT (button), "trial", GUINT_TO_POINTER (index));
  return button;
}

/* @name: "" where the column has no room for it. */
static GtkWidget *
method_dot (TdAxisMethod method, const char *name)
{
  GdkRGBA c;

  td_axis_method_colour (method, &c);
  g_autofree char *markup = g_markup_printf_escaped (
      "<span foreground=\"#%02x%02x%02x\">●</span>%s%s", (guint) (c.red * 255),
      (guint) (c.green * 255), (guint) (c.blue * 255), *name ? " " : "", name);
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_markup (GTK_LABEL (label), markup);
  gtk_widget_set_tooltip_text (label, _ (td_axis_method_title (method)));
  gtk_widget_add_css_class (label, "caption");
  return label;
}

/* Names stand above the table, on as many lines as they need: columns are narrower than words. */
static void
axis_answer_add_method (TdAxisAnswer *self, TdAxisMethod method, int column)
{
  GtkWidget *dot = method_dot (method, "");

  td_set_spoken_name (dot, _ (td_axis_method_name (method)));
  gtk_grid_attach (self->grid, dot, column, 0, 1, 1);
  gtk_box_append (self->legend, method_dot (method, _ (td_axis_method_name (method))));
}

/* The grid's line of a detector row: it is begun when its first trial comes. */
static int
line_of_row (TdAxisAnswer *self, GArray *rows, guint row)
{
  for (guint i = 0; i < rows->len; i++)
    if (g_array_index (rows, guint, i) == row)
      return (int) i + 1;
  g_autofree char *text = g_strdup_printf (_ ("row %u"), row);
  g_array_append_val (rows, row);
  gtk_grid_attach (self->grid, td_label_new (text, "caption dim-label"), 0, (int) rows->len, 1, 1);
  return (int) rows->len;
}

static void
axis_answer_show_table (TdAxisAnswer *self)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint));
  int columns[TD_AXIS_COUNT] = { 0 }, n_columns = 0;
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->grid))))
    gtk_grid_remove (self->grid, child);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self->legend))))
    gtk_box_remove (self->legend, child);
  for (guint i = 0; i < self->result->n_trials; i++) {
    const TdAxisTrial *trial = &self->result->trials[i];
    if (columns[trial->method] == 0) {
      columns[trial->method] = ++n_columns;
      axis_answer_add_method (self, trial->method, n_columns);
    }
    gtk_grid_attach (self->grid, trial_button (self, i), columns[trial->method],
                     line_of_row (self, rows, trial->row), 1, 1);
  }
}

/* ── Showing ── */

/* What is set already cannot be taken once more. */
static void
axis_answer_offer (TdAxisAnswer *self)
{
  const TdAxisResult *result = self->result;
  const double tilt_deg = result ? td_axis_result_tilt (result, self->n_rows) : NAN;
  const gboolean is_set = result && fabs (self->centre_px - result->centre_px) < 0.005
                          && (isnan (tilt_deg) || fabs (self->tilt_deg - tilt_deg) < 0.0005);

  gtk_widget_set_sensitive (self->take, result && isfinite (result->centre_px) && !is_set);
}

static void
show_consensus (TdAxisAnswer *self)
{
  const TdAxisResult *result = self->result;
  gboolean has_centre = isfinite (result->centre_px);
  gboolean has_tilt = has_centre && self->n_rows > 1
                      && (result->tilt_deg != 0 || result->tilt_uncertainty_deg != 0);
  g_autofree char *centre
      = has_centre ? g_strdup_printf ("%.2f ± %.2f", result->centre_px, result->uncertainty_px)
                   : g_strdup (_ ("No centre found"));
  g_autofree char *tilt
      = g_strdup_printf (_ ("Tilt %.3f° ± %.3f°"), result->tilt_deg, result->tilt_uncertainty_deg);

  gtk_label_set_text (self->consensus, centre);
  gtk_label_set_text (self->tilt, tilt);
  gtk_widget_set_visible (GTK_WIDGET (self->tilt), has_tilt);
  axis_answer_offer (self);
}

void
td_axis_answer_set_result (TdAxisAnswer *self, const TdAxisResult *result, guint n_rows)
{
  td_axis_plot_set_result (self->plot, NULL, n_rows);
  g_clear_pointer (&self->result, td_axis_result_free);
  if (!result)
    return;
  self->result = td_axis_result_copy (result);
  self->n_rows = n_rows;
  show_consensus (self);
  g_autofree char *advice = td_message_words (result->advice, td_label_naming);
  gtk_label_set_text (self->advice, advice ? advice : "");
  gtk_widget_set_visible (self->warning, !result->agreed);
  gtk_widget_set_visible (GTK_WIDGET (self->advice), result->advice != NULL);
  gtk_widget_set_visible (GTK_WIDGET (self->plot), result->n_trials > 0);
  td_axis_plot_set_result (self->plot, self->result, n_rows);
  axis_answer_show_table (self);
}

const TdAxisResult *
td_axis_answer_get_result (TdAxisAnswer *self)
{
  return self->result;
}

void
td_axis_answer_set_centre (TdAxisAnswer *self, double centre_px, double tilt_deg)
{
  self->tilt_deg = tilt_deg;
  self->centre_px = centre_px;
  axis_answer_offer (self);
  td_axis_plot_set_centre (self->plot, centre_px, tilt_deg);
}

/* ── Widget ── */

TD_DISPOSE (TdAxisAnswer, td_axis_answer)
{
  g_clear_pointer (&self->result, td_axis_result_free);
}

static void
td_axis_answer_class_init (TdAxisAnswerClass *class)
{
  g_type_ensure (TD_TYPE_AXIS_PLOT);
  G_OBJECT_CLASS (class)->dispose = td_axis_answer_dispose;
  td_bind_template (class, TdAxisAnswer, "/org/tomodesk/ui/axis-answer.ui", warning, take,
                    consensus, tilt, advice, plot, legend, grid);
  td_bind_callbacks (class, on_take_clicked, axis_answer_take);
  td_signal_new (class, "taken", 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

static void
td_axis_answer_init (TdAxisAnswer *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_wrap (gtk_widget_get_parent (GTK_WIDGET (self->take)), 6);
  td_wrap (self->legend, 12);
}
