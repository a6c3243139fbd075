/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "steps-group.h"

#include <glib/gi18n.h>
#include <string.h>

#include "compute/prepare/prepare.h"
#include "labels.h"
#include "mask-row.h"
#include "step-chooser.h"
#include "step-row.h"
#include "ui.h"

#define MASKED "bad-pixels" /* the step that takes a mask */

typedef struct {
  GtkWidget *heading, *list;
} Section;

struct _TdStepsGroup {
  TdRecipeGroup parent_instance;
  Section sections[TD_N_SECTIONS];
  GPtrArray *rows; /* TdStepRow, one a kind */
  GtkWidget *add;
  GtkToggleButton *before_all;
  TdStepChooser *chooser;
  TdMaskRow *mask;
  char target[32]; /* the step that "before" leaves out; "": all */
  gboolean before;
  gboolean showing;
};

G_DEFINE_FINAL_TYPE (TdStepsGroup, td_steps_group, TD_TYPE_RECIPE_GROUP)

/* ── Before and after ── */

static void
show_before (TdStepsGroup *self)
{
  self->showing = TRUE;
  for (guint i = 0; i < self->rows->len; i++) {
    TdStepRow *row = g_ptr_array_index (self->rows, i);
    td_step_row_show_before (row, self->before
                                      && strcmp (td_step_row_kind (row)->name, self->target) == 0);
  }
  gtk_toggle_button_set_active (self->before_all, self->before && !*self->target);
  self->showing = FALSE;
}

void
td_steps_group_set_before (TdStepsGroup *self, gboolean on)
{
  if (on == self->before)
    return;
  self->before = on;
  show_before (self);
  g_signal_emit_by_name (self, "before", on ? self->target : NULL);
}

static void
steps_group_aim (TdStepsGroup *self, const char *target, gboolean on)
{
  /* From one step's to another's: the pictures have to be asked for again. */
  if (on && self->before)
    self->before = FALSE;
  g_strlcpy (self->target, target, sizeof self->target);
  td_steps_group_set_before (self, on);
}

static void
steps_group_on_before_toggled (TdStepRow *row, gboolean on, TdStepsGroup *self)
{
  steps_group_aim (self, td_step_row_kind (row)->name, on);
}

static void
on_before_all_toggled (GtkToggleButton *button, TdStepsGroup *self)
{
  if (!self->showing)
    steps_group_aim (self, "", gtk_toggle_button_get_active (button));
}

/* ── Edits ── */

/* An edit shows its effect: the pictures go back to the recipe's. */
static void
steps_group_commit (TdStepsGroup *self, const char *name, const char *key)
{
  td_steps_group_set_before (self, FALSE);
  g_strlcpy (self->target, name, sizeof self->target);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), key);
}

static void
on_step_changed (TdStepRow *row, gpointer user, TdStepsGroup *self)
{
  const TdStep *changed = user;
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  TdStep *step = td_recipe_step (recipe, changed->name);
  if (!step && changed->enabled) {
    g_autoptr (GError) error = NULL;
    step = td_recipe_add_step (recipe, changed->name, &error);
    if (!step)
      g_warning ("%s", error->message);
  }
  if (!step)
    return;
  *step = *changed;
  steps_group_commit (self, changed->name, changed->name);
}

static void
on_step_removed (TdStepRow *row, TdStepsGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));
  TdStep *step = recipe ? td_recipe_step (recipe, td_step_row_kind (row)->name) : NULL;

  if (!step)
    return;
  guint after = recipe->n_steps - (guint) (step - recipe->steps) - 1;
  memmove (step, step + 1, after * sizeof *step);
  memset (&recipe->steps[--recipe->n_steps], 0, sizeof *step);
  if (strcmp (td_step_row_kind (row)->name, MASKED) == 0)
    td_recipe_set_mask (recipe, NULL, NULL);
  steps_group_commit (self, "", NULL);
}

gpointer
td_steps_group_show_step (TdStepsGroup *self, const char *name)
{
  for (guint i = 0; i < self->rows->len; i++) {
    TdStepRow *row = g_ptr_array_index (self->rows, i);
    if (strcmp (td_step_row_kind (row)->name, name) != 0)
      continue;
    adw_expander_row_set_expanded (ADW_EXPANDER_ROW (row), TRUE);
    td_scroll_into_sight (GTK_WIDGET (row));
    return row;
  }
  return NULL;
}

void
td_steps_group_open_step (TdStepsGroup *self, const char *name)
{
  TdStepRow *row = td_steps_group_show_step (self, name);

  if (row)
    td_step_row_take_focus (row);
}

static void
steps_group_on_chosen (TdStepChooser *chooser, const char *name, TdStepsGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));
  g_autoptr (GError) error = NULL;

  if (!recipe)
    return;
  if (!td_recipe_add_step (recipe, name, &error)) {
    g_warning ("%s", error->message);
    return;
  }
  steps_group_commit (self, name, NULL);
  td_steps_group_open_step (self, name);
}

static void
on_mask_taken (const char *path, gpointer user)
{
  TdStepsGroup *self = user;
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));
  g_autoptr (GError) error = NULL;

  if (!recipe)
    return;
  if (td_recipe_set_mask (recipe, path, &error)) {
    steps_group_commit (self, MASKED, NULL);
    return;
  }
  g_autofree char *words = td_label_error (error);
  td_file_row_set_problem (TD_FILE_ROW (td_mask_row_widget (self->mask)), words);
}

/* ── Showing ── */

static const char *
why_idle (const TdStep *step, const TdScanFacts *facts)
{
  if (!step || !step->enabled || !facts || !td_preparation_skips (step, facts))
    return NULL;
  return facts->transmission_logged
             ? _ ("Left out: the scan’s values are −log of the transmission already.")
             : _ ("Left out: the scan has no flats; its values are taken as transmissions.");
}

static void
td_steps_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdStepsGroup *self = TD_STEPS_GROUP (group);
  gboolean used[TD_N_SECTIONS] = { FALSE };
  TdRecipe copy = *recipe;

  for (guint i = 0; i < self->rows->len; i++) {
    TdStepRow *row = g_ptr_array_index (self->rows, i);
    const TdStepKind *kind = td_step_row_kind (row);
    const TdStep *step = td_recipe_step (&copy, kind->name);
    gboolean shown = step || kind->preset_on;
    td_step_row_show (row, step, why_idle (step, facts));
    gtk_widget_set_visible (GTK_WIDGET (row), shown);
    used[td_step_section (kind)] |= shown;
  }
  for (guint s = 0; s < TD_N_SECTIONS; s++) {
    gtk_widget_set_visible (self->sections[s].heading, used[s]);
    gtk_widget_set_visible (self->sections[s].list, used[s]);
  }
  td_mask_row_show (self->mask, recipe->mask);
  guint missing = td_step_chooser_show (self->chooser, recipe);
  gtk_widget_set_sensitive (self->add, missing > 0 && recipe->n_steps < TD_RECIPE_MAX_STEPS);
}

void
td_steps_group_set_scan (TdStepsGroup *self, TdScan *scan)
{
  td_mask_row_set_scan (self->mask, scan);
}

/* ── Widget ── */

static void
add_section (TdStepsGroup *self, TdStepSection section)
{
  Section *s = &self->sections[section];
  const char *title = td_step_section_title (section);

  s->heading = td_label_new (title, "caption-heading step-heading");
  s->list = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (s->list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (s->list, "boxed-list");
  td_set_spoken_name (s->list, title);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), s->heading);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), s->list);
}

static void
steps_group_add_row (TdStepsGroup *self, const TdStepKind *kind)
{
  const gboolean masked = strcmp (kind->name, MASKED) == 0;
  GtkWidget *row = td_step_row_new (kind, masked ? td_mask_row_widget (self->mask) : NULL);

  g_signal_connect (row, "changed", G_CALLBACK (on_step_changed), self);
  g_signal_connect (row, "removed", G_CALLBACK (on_step_removed), self);
  g_signal_connect (row, "before-toggled", G_CALLBACK (steps_group_on_before_toggled), self);
  gtk_list_box_append (GTK_LIST_BOX (self->sections[td_step_section (kind)].list), row);
  g_ptr_array_add (self->rows, row);
}

static GtkWidget *
new_tools (TdStepsGroup *self)
{
  GtkWidget *before = gtk_toggle_button_new_with_label (_ ("Before"));

  gtk_widget_set_tooltip_text (before,
                               _ ("The pictures without the added steps. Hold B to see them "
                                  "without the step that was changed last"));
  gtk_widget_add_css_class (before, "flat");
  g_signal_connect (before, "toggled", G_CALLBACK (on_before_all_toggled), self);
  self->before_all = GTK_TOGGLE_BUTTON (before);
  self->chooser = g_object_new (TD_TYPE_STEP_CHOOSER, NULL);
  g_signal_connect (self->chooser, "chosen", G_CALLBACK (steps_group_on_chosen), self);
  self->add = gtk_menu_button_new ();
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->add), _ ("Add"));
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->add), GTK_WIDGET (self->chooser));
  /* Beside the panel there is room for the list, whatever the window's height. */
  gtk_menu_button_set_direction (GTK_MENU_BUTTON (self->add), GTK_ARROW_RIGHT);
  td_set_purpose (self->add, _ ("Add a preparation step"));
  gtk_widget_add_css_class (self->add, "flat");
  GtkWidget *box = td_box_new (GTK_ORIENTATION_HORIZONTAL, 2, before, self->add, NULL);
  gtk_widget_set_valign (box, GTK_ALIGN_CENTER);
  return box;
}

TD_FINALIZE (TdStepsGroup, td_steps_group)
{
  g_ptr_array_unref (self->rows);
  td_mask_row_free (self->mask);
}

static void
td_steps_group_class_init (TdStepsGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_steps_group_finalize;
  TD_RECIPE_GROUP_CLASS (class)->show = td_steps_group_show;
  td_signal_new (class, "before", 1, G_TYPE_STRING);
}

/* libadwaita shortens a group's title where what stands behind it needs the room. */
static void
steps_group_keep_title (GtkWidget *widget, const char *title)
{
  if (GTK_IS_LABEL (widget) && g_strcmp0 (gtk_label_get_label (GTK_LABEL (widget)), title) == 0)
    gtk_label_set_ellipsize (GTK_LABEL (widget), PANGO_ELLIPSIZE_NONE);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    steps_group_keep_title (child, title);
}

static void
td_steps_group_init (TdStepsGroup *self)
{
  const TdStepKind *const *kinds = td_prepare_steps ();

  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self), _ ("Preparation"));
  steps_group_keep_title (GTK_WIDGET (self), _ ("Preparation"));
  adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (self), new_tools (self));
  self->rows = g_ptr_array_new ();
  self->mask = td_mask_row_new (on_mask_taken, self);
  for (guint s = 0; s < TD_N_SECTIONS; s++)
    add_section (self, s);
  for (guint i = 0; kinds[i]; i++)
    steps_group_add_row (self, kinds[i]);
}
