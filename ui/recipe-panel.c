/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-panel.h"

#include <glib/gi18n.h>
#include <math.h>

#include "advice-group.h"
#include "choice-check.h"
#include "device-group.h"
#include "facts-group.h"
#include "region-group.h"
#include "ui.h"

struct _TdRecipePanel {
  GtkWidget parent_instance;
  GtkWidget *box, *scroller, *next_button;
  gboolean goes_on;               /* the next button was pressed by the keyboard */
  GtkWidget *headings[TD_N_FLOW]; /* boxes: number, title, what is next */
  TdFactsGroup *facts;
  TdRecipeGroup *advice, *centre, *filter, *method, *iterative, *device, *steps, *region;
  TdChoiceCheck *check; /* NULL: no scan was opened yet */
  TdScan *scan;
  TdFlow next;
  gboolean has_volume; /* by this recipe, or soon */
  gboolean seen;       /* and it is looked at */
};

G_DEFINE_FINAL_TYPE (TdRecipePanel, td_recipe_panel, GTK_TYPE_WIDGET)

/* ── What comes next ── */

static const char *
flow_hint (TdFlow flow, gboolean has_volume)
{
  const char *const hints[TD_N_FLOW] = { [TD_FLOW_DATA] = _ ("Next: see what was found"),
                                         [TD_FLOW_PREPARE] = _ ("Next: mend what was seen"),
                                         [TD_FLOW_AXIS] = _ ("Next: find the axis"),
                                         [TD_FLOW_RECONSTRUCT] = _ ("Next: reconstruct") };

  return flow == TD_FLOW_RECONSTRUCT && has_volume ? _ ("Next: look at the volume") : hints[flow];
}

/* Counts without a beam first, then the axis, then what spoils the slices. */
static TdFlow
recipe_panel_choose_next (TdRecipePanel *self)
{
  const TdAdvice *advice = td_advice_group_first (TD_ADVICE_GROUP (self->advice));

  if (!self->scan || (advice && advice->kind == TD_ADVICE_NO_FLATS))
    return TD_FLOW_DATA;
  if (!td_centre_group_is_known (TD_CENTRE_GROUP (self->centre)))
    return TD_FLOW_AXIS;
  return advice ? TD_FLOW_PREPARE : TD_FLOW_RECONSTRUCT;
}

static gboolean
recipe_panel_is_done (TdRecipePanel *self)
{
  return self->seen && self->next == TD_FLOW_RECONSTRUCT;
}

/* The button does it, wherever the panel is scrolled to. */
static void
recipe_panel_show_button (TdRecipePanel *self)
{
  const TdAdvice *advice = td_advice_group_first (TD_ADVICE_GROUP (self->advice));
  const double offered = td_centre_group_offers (TD_CENTRE_GROUP (self->centre));
  g_autofree char *take = g_strdup_printf (_ ("Take Centre %.2f"), offered);
  const char *label = self->next == TD_FLOW_AXIS ? isfinite (offered) ? take : _ ("Find the Axis")
                      : advice ? td_advice_group_verb (advice)
                      : self->has_volume         ? _ ("Look at the Volume")
                                                 : _ ("Reconstruct…");

  gtk_widget_set_visible (self->next_button, self->scan && !recipe_panel_is_done (self));
  if (g_strcmp0 (gtk_button_get_label (GTK_BUTTON (self->next_button)), label) != 0)
    gtk_button_set_label (GTK_BUTTON (self->next_button), label);
}

static void
recipe_panel_show_busy (TdRecipePanel *self)
{
  td_set_style_class (self, "updating",
                      td_advice_group_busy (TD_ADVICE_GROUP (self->advice))
                          || (self->check && td_choice_check_busy (self->check)));
}

static void
recipe_panel_show_next (TdRecipePanel *self)
{
  const TdFlow old = self->next;

  self->next = recipe_panel_choose_next (self);
  for (guint i = 0; i < TD_N_FLOW; i++) {
    GtkWidget *hint = gtk_widget_get_last_child (self->headings[i]);
    const gboolean next = self->scan && self->next == i && !recipe_panel_is_done (self);
    td_set_text (GTK_LABEL (hint), next ? flow_hint (i, self->has_volume) : "");
    td_set_style_class (self->headings[i], "next", next);
  }
  td_advice_group_mark (TD_ADVICE_GROUP (self->advice),
                        self->next == TD_FLOW_DATA || self->next == TD_FLOW_PREPARE);
  recipe_panel_show_button (self);
  recipe_panel_show_busy (self);
  if (self->next != old)
    g_signal_emit_by_name (self, "next-changed");
}

/* The step comes to the top of the panel, with what is found there. */
static void
recipe_panel_scroll_to (TdRecipePanel *self, TdFlow flow)
{
  GtkWidget *heading = self->headings[flow];
  graphene_rect_t bounds;

  if (gtk_widget_compute_bounds (heading, gtk_widget_get_parent (heading), &bounds))
    gtk_adjustment_set_value (
        gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)),
        bounds.origin.y);
}

void
td_recipe_panel_do_next (TdRecipePanel *self)
{
  if (!gtk_widget_get_visible (self->next_button) || !gtk_widget_is_sensitive (self->next_button))
    return;
  self->goes_on = gtk_widget_has_focus (self->next_button);
  if (self->next == TD_FLOW_AXIS
      && isfinite (td_centre_group_offers (TD_CENTRE_GROUP (self->centre)))) {
    td_centre_group_take_found (TD_CENTRE_GROUP (self->centre));
  } else if (self->next == TD_FLOW_AXIS) {
    td_centre_group_find (TD_CENTRE_GROUP (self->centre));
    recipe_panel_scroll_to (self, TD_FLOW_AXIS);
  } else if (td_advice_group_first (TD_ADVICE_GROUP (self->advice))) {
    td_advice_group_follow_first (TD_ADVICE_GROUP (self->advice));
  } else {
    gtk_widget_activate_action (GTK_WIDGET (self),
                                self->has_volume ? "win.show-asked" : "win.reconstruct", NULL);
  }
}

void
td_recipe_panel_set_volume (TdRecipePanel *self, gboolean has, gboolean seen)
{
  if (has == self->has_volume && seen == self->seen)
    return;
  self->has_volume = has;
  self->seen = seen;
  recipe_panel_show_next (self);
  g_signal_emit_by_name (self, "next-changed");
}

/* While the axis is searched for nothing comes next, and what is grey keeps no focus. */
static void
recipe_panel_on_ready (GtkWidget *button, GParamSpec *property, TdRecipePanel *self)
{
  GtkRoot *root = gtk_widget_get_root (button);

  recipe_panel_show_button (self);
  if (self->goes_on && root && gtk_widget_is_sensitive (button) && !gtk_root_get_focus (root))
    gtk_widget_grab_focus (button);
}

TdFlow
td_recipe_panel_next (TdRecipePanel *self)
{
  return self->next;
}

/* ── The scan and its recipe ── */

static void
recipe_panel_show_reasons (gpointer user)
{
  TdRecipePanel *self = user;
  TdRecipeGroup *groups[] = { self->filter, self->method, self->region };

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    td_recipe_group_set_reasons (groups[i], td_choice_check_reason, self->check);
  recipe_panel_show_busy (self);
}

void
td_recipe_panel_set_scan (TdRecipePanel *self, TdEngine *engine, TdScan *scan)
{
  td_hold (scan, &self->scan, scan);
  if (!self->check)
    self->check = td_choice_check_new (engine, recipe_panel_show_reasons, self);
  if (scan) {
    const gboolean parallel = td_scan_facts (scan)->geometry.beam == TD_BEAM_PARALLEL;
    GtkWidget *title
        = gtk_widget_get_next_sibling (gtk_widget_get_first_child (self->headings[TD_FLOW_AXIS]));
    gtk_label_set_text (GTK_LABEL (title), parallel ? _ ("Axis") : _ ("Geometry"));
    td_facts_group_show (self->facts, td_scan_facts (scan));
  } else {
    td_choice_check_request (self->check, NULL, &(TdRecipe) { 0 });
  }
  gtk_adjustment_set_value (
      gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
  td_steps_group_set_scan (TD_STEPS_GROUP (self->steps), scan);
  td_centre_group_set_scan (TD_CENTRE_GROUP (self->centre), engine, scan);
  td_advice_group_set_scan (TD_ADVICE_GROUP (self->advice), engine, scan);
  recipe_panel_show_next (self);
}

/* All groups that show a recipe, in the order of the panel. */
#define GROUPS(self)                                                                               \
  {                                                                                                \
    self->advice, self->steps, self->centre, self->filter, self->iterative, self->method,          \
        self->device, self->region                                                                 \
  }

void
td_recipe_panel_show_recipe (TdRecipePanel *self, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdRecipeGroup *groups[] = GROUPS (self);

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    td_recipe_group_show (groups[i], facts, recipe);
  if (self->scan)
    td_choice_check_request (self->check, self->scan, recipe);
  recipe_panel_show_next (self);
}

void
td_recipe_panel_on_edited (TdRecipePanel *self, GCallback edited, gpointer object)
{
  TdRecipeGroup *groups[] = GROUPS (self);

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

void
td_recipe_panel_focus_next (TdRecipePanel *self)
{
  gtk_widget_grab_focus (self->next_button);
}

TD_DISPOSE (TdRecipePanel, td_recipe_panel)
{
  g_clear_pointer (&self->check, td_choice_check_free);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->box, gtk_widget_unparent);
}

/* As wide as it must be: what is left is the picture's, and sentences wrap. */
static void
td_recipe_panel_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                         int *natural, int *minimum_baseline, int *natural_baseline)
{
  gtk_widget_measure (TD_RECIPE_PANEL (widget)->box, orientation, for_size, minimum, natural, NULL,
                      NULL);
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    *natural = *minimum;
}

static void
td_recipe_panel_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  gtk_widget_allocate (TD_RECIPE_PANEL (widget)->box, width, height, baseline, NULL);
}

static const struct {
  const char *name, *title;
} headings[TD_N_FLOW] = { [TD_FLOW_DATA] = { "data_heading", N_ ("Data") },
                          [TD_FLOW_PREPARE] = { "prepare_heading", N_ ("Prepare") },
                          [TD_FLOW_AXIS] = { "axis_heading", N_ ("Axis") },
                          [TD_FLOW_RECONSTRUCT] = { "reconstruct_heading", N_ ("Reconstruct") } };

static void
td_recipe_panel_class_init (TdRecipePanelClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  td_ensure_types (TD_TYPE_FACTS_GROUP, TD_TYPE_ADVICE_GROUP, TD_TYPE_CENTRE_GROUP,
                   TD_TYPE_RECIPE_GROUP, TD_TYPE_DEVICE_GROUP, TD_TYPE_STEPS_GROUP,
                   TD_TYPE_REGION_GROUP);
  G_OBJECT_CLASS (class)->dispose = td_recipe_panel_dispose;
  widget->measure = td_recipe_panel_measure;
  widget->size_allocate = td_recipe_panel_size_allocate;
  td_bind_template (class, TdRecipePanel, "/org/tomodesk/ui/recipe-panel.ui", box, next_button,
                    scroller, facts, advice, centre, filter, method, iterative, device, steps,
                    region);
  gtk_widget_class_bind_template_child_full (widget, "more", FALSE, 0);
  for (guint i = 0; i < TD_N_FLOW; i++)
    gtk_widget_class_bind_template_child_full (widget, headings[i].name, FALSE, 0);
  td_bind_callbacks (class, td_recipe_panel_do_next);
  td_signal_new (class, "next-changed", 0);
}

/* Groups of rows that their fields' table describes. */
static const TdRecipeRow filter_rows[] = {
  { "method", "method" },
  { "accuracy", "method", N_ ("The fastest way within it is taken of what is automatic") },
  { "filter", "filter" },
  { "cutoff", "cutoff", N_ ("Of the Nyquist frequency"), 0.05, 0.1, 2 },
  { "order", "order", NULL, 1, 1, 0, TRUE },
  { "extend-edges", "extend-edges", N_ ("For samples wider than the detector: no bright rim") },
  { NULL },
};
static const TdRecipeRow method_rows[] = {
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
recipe_panel_fill_heading (TdRecipePanel *self, TdFlow flow)
{
  g_autofree char *number = g_strdup_printf ("%u", flow + 1);
  GtkWidget *const labels[] = {
    g_object_new (GTK_TYPE_LABEL, "label", number, "valign", GTK_ALIGN_CENTER, NULL),
    g_object_new (GTK_TYPE_LABEL, "label", _ (headings[flow].title), "hexpand", TRUE, "xalign", 0.0,
                  NULL),
    g_object_new (GTK_TYPE_LABEL, "wrap", TRUE, "xalign", 1.0, NULL),
  };

  gtk_widget_add_css_class (labels[0], "flow-number");
  gtk_widget_add_css_class (labels[1], "title-4");
  td_add_style (labels[2], "flow-hint caption-heading");
  self->headings[flow] = GTK_WIDGET (
      gtk_widget_get_template_child (GTK_WIDGET (self), TD_TYPE_RECIPE_PANEL, headings[flow].name));
  for (guint i = 0; i < G_N_ELEMENTS (labels); i++)
    gtk_box_append (GTK_BOX (self->headings[flow]), labels[i]);
}

static void
td_recipe_panel_init (TdRecipePanel *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  for (guint i = 0; i < TD_N_FLOW; i++)
    recipe_panel_fill_heading (self, i);
  g_object_bind_property (td_centre_group_find_button (TD_CENTRE_GROUP (self->centre)), "sensitive",
                          self->next_button, "sensitive", G_BINDING_SYNC_CREATE);
  g_signal_connect_object (self->next_button, "notify::sensitive",
                           G_CALLBACK (recipe_panel_on_ready), self, 0);
  /* It may outlive the panel that it is in, and still be looking. */
  g_signal_connect_object (self->advice, "added", G_CALLBACK (td_steps_group_show_step),
                           self->steps, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->advice, "changed", G_CALLBACK (recipe_panel_show_next), self,
                           G_CONNECT_SWAPPED);
  recipe_panel_add_rows (self->filter, filter_rows);
  recipe_panel_add_rows (self->method, method_rows);
  recipe_panel_add_rows (self->iterative, iterative_rows);
}
