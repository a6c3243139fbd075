/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-panel.h"

#include <glib/gi18n.h>

#include "device-group.h"
#include "facts-group.h"
#include "region-group.h"
#include "ui.h"

struct _TdRecipePanel {
  GtkWidget parent_instance;
  GtkWidget *scroller;
  TdFactsGroup *facts;
  TdRecipeGroup *centre, *filter, *method, *iterative, *device, *steps, *region;
};

enum { BEFORE, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdRecipePanel, td_recipe_panel, GTK_TYPE_WIDGET)

static void
recipe_panel_on_before (TdStepsGroup *steps, const char *step, TdRecipePanel *self)
{
  g_signal_emit (self, signals[BEFORE], 0, step);
}

void
td_recipe_panel_set_scan (TdRecipePanel *self, TdEngine *engine, TdScan *scan)
{
  if (scan)
    td_facts_group_show (self->facts, td_scan_facts (scan));
  gtk_adjustment_set_value (
      gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
  td_steps_group_set_scan (TD_STEPS_GROUP (self->steps), scan);
  td_centre_group_set_scan (TD_CENTRE_GROUP (self->centre), engine, scan);
}

void
td_recipe_panel_show_recipe (TdRecipePanel *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRecipeGroup *groups[] = { self->centre, self->filter, self->method, self->iterative,
                              self->device, self->steps,  self->region };

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    td_recipe_group_show (groups[i], facts, recipe);
}

void
td_recipe_panel_on_edited (TdRecipePanel *self, GCallback edited, gpointer object)
{
  TdRecipeGroup *groups[] = { self->centre, self->filter, self->method, self->iterative,
                              self->device, self->steps,  self->region };

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    g_signal_connect_object (groups[i], "edited", edited, object, G_CONNECT_SWAPPED);
}

TdCentreGroup *
td_recipe_panel_centre (TdRecipePanel *self)
{
  return TD_CENTRE_GROUP (self->centre);
}

TdStepsGroup *
td_recipe_panel_steps (TdRecipePanel *self)
{
  return TD_STEPS_GROUP (self->steps);
}

static void
td_recipe_panel_dispose (GObject *object)
{
  TdRecipePanel *self = TD_RECIPE_PANEL (object);

  g_clear_pointer (&self->scroller, gtk_widget_unparent);
  G_OBJECT_CLASS (td_recipe_panel_parent_class)->dispose (object);
}

static void
td_recipe_panel_class_init (TdRecipePanelClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_FACTS_GROUP);
  g_type_ensure (TD_TYPE_CENTRE_GROUP);
  g_type_ensure (TD_TYPE_RECIPE_GROUP);
  g_type_ensure (TD_TYPE_DEVICE_GROUP);
  g_type_ensure (TD_TYPE_STEPS_GROUP);
  g_type_ensure (TD_TYPE_REGION_GROUP);
  G_OBJECT_CLASS (class)->dispose = td_recipe_panel_dispose;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/recipe-panel.ui");
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, scroller);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, facts);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, centre);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, filter);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, method);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, iterative);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, device);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, steps);
  gtk_widget_class_bind_template_child (widget, TdRecipePanel, region);
  gtk_widget_class_bind_template_callback (widget, recipe_panel_on_before);
  signals[BEFORE] = td_signal_new (TD_TYPE_RECIPE_PANEL, "before", 1, G_TYPE_STRING);
}

/* Groups of rows that their fields' table describes. */
static const TdRecipeRow filter_rows[] = {
  { "filter", "filter" },
  { "cutoff", "cutoff", N_ ("Of the Nyquist frequency"), 0.05, 0.1, 2 },
  { "order", "order", NULL, 1, 1, 0, TRUE },
  { "extend-edges", "extend-edges", N_ ("For samples wider than the detector: no bright rim") },
  { NULL },
};
static const TdRecipeRow method_rows[] = {
  { "method", "method" },
  { "interpolation", "method" },
  { "precision", "method" },
  { "kernel", "method" },
  { "angle-offset", "angle", NULL, 1, 15, 1 },
  { "reverse-rotation", "method", N_ ("The stage turned the other way") },
  { NULL },
};
static const TdRecipeRow iterative_rows[] = {
  { "iterations", "iterative", NULL, 1, 10, 0, TRUE },
  { "subsets", "iterative", N_ ("0: as the method likes it"), 1, 10, 0, TRUE },
  { "relaxation", "iterative", NULL, 0.05, 0.25, 2, TRUE },
  { "tv", "iterative", N_ ("Larger is smoother"), 0.001, 0.01, 4, TRUE },
  { "tolerance", "iterative",
    N_ ("Ends when a pass changes the residual by less than this part; 0: all passes"), 0.001, 0.01,
    3, TRUE },
  { "start", "start", N_ ("Saves passes, where filtering can"), .hides = TRUE },
  { "non-negative", "non-negative", .hides = TRUE },
  { NULL },
};

static void
recipe_panel_add_rows (TdRecipeGroup *group, const TdRecipeRow *rows)
{
  for (; rows->option; rows++)
    td_recipe_group_add (group, rows);
}

static void
td_recipe_panel_init (TdRecipePanel *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  recipe_panel_add_rows (self->filter, filter_rows);
  recipe_panel_add_rows (self->method, method_rows);
  recipe_panel_add_rows (self->iterative, iterative_rows);
}
