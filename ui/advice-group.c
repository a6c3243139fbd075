/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advice-group.h"

#include <glib/gi18n.h>

#include "labels.h"
#include "scan-question.h"
#include "ui.h"

struct _TdAdviceGroup {
  TdRecipeGroup parent_instance;
  TdEngine *engine;
  TdScan *scan;
  TdLatest *latest;
  TdRecipe looked; /* by this recipe, if looked_at */
  gboolean looked_at;
  GPtrArray *list; /* TdAdvice */
  GtkWidget *rows[TD_N_ADVICE], *words[TD_N_ADVICE], *buttons[TD_N_ADVICE];
  guint ignored; /* bits (1 << kind) */
  gboolean next;
};

G_DEFINE_FINAL_TYPE (TdAdviceGroup, td_advice_group, TD_TYPE_RECIPE_GROUP)

/* What the button does. */
static const char *const verbs[TD_N_ADVICE] = {
  [TD_ADVICE_NO_FLATS] = N_ ("Take It"),      [TD_ADVICE_OFFSET_AXIS] = N_ ("Show Both Sides"),
  [TD_ADVICE_RINGS] = N_ ("Remove Rings"),    [TD_ADVICE_DRIFT] = N_ ("Follow the Beam"),
  [TD_ADVICE_BACKGROUND] = N_ ("Bring to 0"), [TD_ADVICE_RIM] = N_ ("Extend the Edges"),
  [TD_ADVICE_FEW_VIEWS] = N_ ("Iterate"),
};

/* ── Looking at the data ── */

/* Worker thread. */
static gpointer
advice_group_look (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const TdScanQuestion *look = user;

  return td_engine_advise (look->engine, look->scan, &look->recipe, cancellable, error);
}

static const TdAdvice *
advice_group_find (TdAdviceGroup *self, TdAdviceKind kind)
{
  for (guint i = 0; self->list && i < self->list->len; i++) {
    const TdAdvice *advice = self->list->pdata[i];
    if (advice->kind == kind)
      return advice;
  }
  return NULL;
}

static gboolean
advice_group_shows (TdAdviceGroup *self, TdAdviceKind kind)
{
  const TdAdvice *advice = advice_group_find (self, kind);

  return advice && !(self->ignored & 1u << kind)
         && !td_advice_is_followed (advice, td_scan_facts (self->scan), &self->looked);
}

const TdAdvice *
td_advice_group_first (TdAdviceGroup *self)
{
  for (guint i = 0; self->list && i < self->list->len; i++) {
    const TdAdvice *advice = self->list->pdata[i];
    if (advice_group_shows (self, advice->kind))
      return advice;
  }
  return NULL;
}

static void
advice_group_update (TdAdviceGroup *self)
{
  const TdAdvice *first = td_advice_group_first (self);

  for (guint kind = 0; kind < TD_N_ADVICE; kind++) {
    const TdAdvice *advice = advice_group_find (self, kind);
    g_autofree char *words
        = advice ? td_message_text (advice->message, td_label_naming) : g_strdup ("");
    td_set_text (GTK_LABEL (self->words[kind]), words);
    gtk_widget_set_visible (self->rows[kind], advice_group_shows (self, kind));
    td_set_style_class (self->buttons[kind], "suggested-action",
                        self->next && first && first->kind == kind);
  }
  gtk_widget_set_visible (GTK_WIDGET (self), first != NULL);
}

void
td_advice_group_mark (TdAdviceGroup *self, gboolean next)
{
  self->next = next;
  advice_group_update (self);
}

/* What cannot be read is said beside the pictures. */
static void
advice_group_on_looked (gpointer list, const GError *error, gboolean last, gpointer user)
{
  TdAdviceGroup *self = user;

  g_clear_pointer (&self->list, g_ptr_array_unref);
  self->list = list ? g_ptr_array_ref (list) : NULL;
  advice_group_update (self);
  g_signal_emit_by_name (self, "changed");
}

/* ── Following it ── */

static TdAdviceKind
advice_group_kind_of (GtkButton *button)
{
  return GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "kind"));
}

const char *
td_advice_group_verb (const TdAdvice *advice)
{
  return _ (verbs[advice->kind]);
}

static void
advice_group_follow (TdAdviceGroup *self, const TdAdvice *advice)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));
  g_autoptr (GError) error = NULL;

  if (!recipe || !advice)
    return;
  TdRecipe before = *recipe;
  if (td_advice_apply (advice, recipe, &error)) {
    const TdRecipe after = *recipe;
    td_recipe_group_commit (TD_RECIPE_GROUP (self), NULL);
    for (guint i = 0; i < after.n_steps; i++)
      if (!td_recipe_step (&before, after.steps[i].name))
        g_signal_emit_by_name (self, "added", after.steps[i].name);
    return;
  }
  g_autofree char *words = td_label_error (error);
  gtk_label_set_text (GTK_LABEL (self->words[advice->kind]), words);
}

void
td_advice_group_follow_first (TdAdviceGroup *self)
{
  advice_group_follow (self, td_advice_group_first (self));
}

static void
advice_group_on_follow (GtkButton *button, TdAdviceGroup *self)
{
  advice_group_follow (self, advice_group_find (self, advice_group_kind_of (button)));
}

static void
advice_group_on_ignore (GtkButton *button, TdAdviceGroup *self)
{
  self->ignored |= 1u << advice_group_kind_of (button);
  advice_group_update (self);
  g_signal_emit_by_name (self, "changed");
}

/* ── Showing ── */

void
td_advice_group_set_scan (TdAdviceGroup *self, TdEngine *engine, TdScan *scan)
{
  td_latest_cancel (self->latest);
  g_clear_pointer (&self->list, g_ptr_array_unref);
  td_hold (engine, &self->engine, engine);
  td_hold (scan, &self->scan, scan);
  self->looked_at = FALSE;
  self->ignored = 0;
  advice_group_update (self);
}

gboolean
td_advice_group_busy (TdAdviceGroup *self)
{
  return td_latest_busy (self->latest);
}

/* The flat field is what the data are seen through; the other steps are not looked at. */
static gboolean
advice_group_sees_other (TdAdviceGroup *self, const TdRecipe *recipe)
{
  static const char *const through[] = { "flat-field", "minus-log" };
  TdRecipe old = self->looked, new = *recipe;

  for (guint i = 0; i < G_N_ELEMENTS (through); i++) {
    const TdStep *a = td_recipe_step (&old, through[i]), *b = td_recipe_step (&new, through[i]);
    if (!a != !b || (a && !td_step_equal (a, b)))
      return TRUE;
  }
  return !self->looked_at;
}

static void
td_advice_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdAdviceGroup *self = TD_ADVICE_GROUP (group);
  const gboolean look = self->scan && advice_group_sees_other (self, recipe);

  self->looked = *recipe;
  if (look) {
    self->looked_at = TRUE;
    td_latest_request (self->latest, td_scan_question_new (self->engine, self->scan, recipe));
  }
  advice_group_update (self);
}

TD_DISPOSE (TdAdviceGroup, td_advice_group)
{
  g_clear_pointer (&self->latest, td_latest_free);
  g_clear_pointer (&self->list, g_ptr_array_unref);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
}

static void
td_advice_group_class_init (TdAdviceGroupClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_advice_group_dispose;
  TD_RECIPE_GROUP_CLASS (class)->show = td_advice_group_show;
  td_signal_new (class, "changed", 0);
  /* A step, by its name, that an advice brought. */
  td_signal_new (class, "added", 1, G_TYPE_STRING);
}

static void
advice_group_add_row (TdAdviceGroup *self, TdAdviceKind kind)
{
  GtkWidget *follow
      = td_button_new (_ (verbs[kind]), NULL, G_CALLBACK (advice_group_on_follow), self);
  GtkWidget *ignore
      = td_button_new (_ ("Not Now"), "flat", G_CALLBACK (advice_group_on_ignore), self);
  GtkWidget *words = self->words[kind] = td_label_new (NULL, NULL);
  GtkWidget *box
      = td_box_new (GTK_ORIENTATION_VERTICAL, 6, words,
                    td_box_new (GTK_ORIENTATION_HORIZONTAL, 6, follow, ignore, NULL), NULL);
  GtkWidget *row
      = g_object_new (ADW_TYPE_PREFERENCES_ROW, "activatable", FALSE, "child", box, NULL);

  gtk_label_set_wrap (GTK_LABEL (words), TRUE);
  gtk_widget_add_css_class (row, "advice");
  gtk_widget_add_css_class (box, "advice");
  g_object_set_data (G_OBJECT (follow), "kind", GUINT_TO_POINTER (kind));
  g_object_set_data (G_OBJECT (ignore), "kind", GUINT_TO_POINTER (kind));
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self), row);
  self->rows[kind] = row;
  self->buttons[kind] = follow;
}

static void
td_advice_group_init (TdAdviceGroup *self)
{
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self), _ ("Seen in the data"));
  for (guint kind = 0; kind < TD_N_ADVICE; kind++)
    advice_group_add_row (self, kind);
  self->latest = td_latest_new (advice_group_look, td_scan_question_free, advice_group_on_looked,
                                (GDestroyNotify) g_ptr_array_unref, self);
  advice_group_update (self);
}
