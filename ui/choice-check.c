/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "choice-check.h"

#include <math.h>
#include <string.h>

#include "compute/engine/cone-scan.h"
#include "compute/engine/plan.h"
#include "compute/recipe/field.h"
#include "labels.h"
#include "method-choices.h"
#include "scan-question.h"
#include "ui.h"

struct TdChoiceCheck {
  TdEngine *engine;
  TdLatest *latest;
  GHashTable *reasons; /* "method 2": a sentence */
  TdScan *scan;
  TdRecipe recipe;
  void (*changed) (gpointer user);
  gpointer user;
};

static const char *const asked[]
    = { "method", "interpolation", "precision", "kernel", "field-of-view" };

/* ── Worker thread ── */

/* NULL: it can be planned. (transfer full) */
static char *
choice_check_plan (const TdScanQuestion *question, const TdRecipe *recipe,
                   GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan
      = td_plan_new (question->engine, question->scan, recipe, NULL, cancellable, &error);

  return plan ? NULL : td_label_error (error);
}

static gboolean
choice_check_take (TdRecipe *recipe, const char *option, guint index)
{
  const TdField *field = td_recipe_field (option);
  const char *name = td_choice_of (option) == TD_CHOICE_KERNEL ? td_family_choice_value (index)
                     : index < g_strv_length ((char **) field->names) ? field->names[index]
                                                                      : NULL;

  return name && td_recipe_set (recipe, option, name, NULL);
}

static gpointer
choice_check_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const TdScanQuestion *question = user;
  g_autoptr (GHashTable) reasons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree char *as_it_is = choice_check_plan (question, &question->recipe, cancellable);

  for (guint i = 0; i < G_N_ELEMENTS (asked); i++) {
    TdRecipe recipe = question->recipe;
    for (guint k = 0; choice_check_take (&recipe, asked[i], k); k++) {
      g_autofree char *reason = choice_check_plan (question, &recipe, cancellable);
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return NULL;
      if (reason && g_strcmp0 (reason, as_it_is) != 0)
        g_hash_table_insert (reasons, g_strdup_printf ("%s %u", asked[i], k),
                             g_steal_pointer (&reason));
      recipe = question->recipe;
      if (td_choice_of (asked[i]) == TD_CHOICE_KERNEL
          && strcmp (td_family_choice_value (k + 1), "auto") == 0)
        break;
    }
  }
  return g_steal_pointer (&reasons);
}

/* ── Main thread ── */

static void
choice_check_show (gpointer reasons, const GError *error, gboolean last, gpointer user)
{
  TdChoiceCheck *self = user;

  if (!reasons)
    return;
  g_hash_table_unref (self->reasons);
  self->reasons = g_hash_table_ref (reasons);
  self->changed (self->user);
}

void
td_choice_check_request (TdChoiceCheck *self, TdScan *scan, const TdRecipe *recipe)
{
  TdRecipe one = *recipe;

  if (!scan) {
    td_latest_cancel (self->latest);
    g_hash_table_remove_all (self->reasons);
    g_clear_pointer (&self->scan, td_scan_unref);
    self->changed (self->user);
    return;
  }
  /* Where the axis is rules nothing out, and it is what is dragged. */
  td_recipe_state_axis (&one, NAN, 0);
  one.row_first = td_recipe_slice_at (&one, td_scan_facts (scan), td_scan_facts (scan)->n_rows / 2);
  one.row_end = one.row_first + 1;
  if (scan == self->scan && td_recipe_equal (&one, &self->recipe))
    return;
  td_hold (scan, &self->scan, scan);
  self->recipe = one;
  td_latest_request (self->latest, td_scan_question_new (self->engine, scan, &one));
}

gboolean
td_choice_check_busy (TdChoiceCheck *self)
{
  return td_latest_busy (self->latest);
}

const char *
td_choice_check_reason (const char *option, guint index, gpointer self)
{
  g_autofree char *key = g_strdup_printf ("%s %u", option, index);

  return g_hash_table_lookup (((TdChoiceCheck *) self)->reasons, key);
}

TdChoiceCheck *
td_choice_check_new (TdEngine *engine, void (*changed) (gpointer user), gpointer user)
{
  TdChoiceCheck *self = g_new0 (TdChoiceCheck, 1);

  self->engine = td_engine_ref (engine);
  self->changed = changed;
  self->user = user;
  self->reasons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->latest = td_latest_new (choice_check_work, td_scan_question_free, choice_check_show,
                                (GDestroyNotify) g_hash_table_unref, self);
  return self;
}

void
td_choice_check_free (TdChoiceCheck *self)
{
  td_latest_free (self->latest);
  g_hash_table_unref (self->reasons);
  g_clear_pointer (&self->scan, td_scan_unref);
  td_engine_unref (self->engine);
  g_free (self);
}
