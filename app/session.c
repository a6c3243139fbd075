/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "ui/recipe-group.h"
#include "ui/ui.h"

#define JOIN_US 1000000
#define MOST_KEPT 200

struct _TdSession {
  GObject parent_instance;
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe;
  GPtrArray *before, *after; /* TdRecipe: to undo to, to redo to; the nearest last */
  char *last_key;
  gint64 last_edit_us;
};

G_DEFINE_FINAL_TYPE (TdSession, td_session, G_TYPE_OBJECT)

TdEngine *
td_session_engine (TdSession *self)
{
  return self->engine;
}

TdScan *
td_session_scan (TdSession *self)
{
  return self->scan;
}

const TdScanFacts *
td_session_facts (TdSession *self)
{
  return self->scan ? td_scan_facts (self->scan) : NULL;
}

const TdRecipe *
td_session_recipe (TdSession *self)
{
  return &self->recipe;
}

void
td_session_open (TdSession *self, TdScan *scan, const TdRecipe *recipe)
{
  TdScan *old = self->scan;

  self->scan = scan ? td_scan_ref (scan) : NULL;
  self->recipe = *recipe;
  g_ptr_array_set_size (self->before, 0);
  g_ptr_array_set_size (self->after, 0);
  g_clear_pointer (&self->last_key, g_free); /* nothing joins the last edit */
  g_signal_emit_by_name (self, "scan-changed");
  if (old) {
    td_scan_unref (old);
    td_engine_trim (self->engine);
  }
}

void
td_session_edit (TdSession *self, const TdRecipe *recipe, const char *key)
{
  gint64 now = g_get_monotonic_time ();

  if (td_recipe_equal (recipe, &self->recipe))
    return;
  gboolean joined = key && g_strcmp0 (key, self->last_key) == 0 && self->before->len > 0
                    && (now - self->last_edit_us < JOIN_US || g_str_has_prefix (key, TD_EDIT_DRAG));
  if (!joined)
    g_ptr_array_add (self->before, g_memdup2 (&self->recipe, sizeof self->recipe));
  if (self->before->len > MOST_KEPT)
    g_ptr_array_remove_index (self->before, 0);
  g_ptr_array_set_size (self->after, 0);
  g_free (self->last_key);
  self->last_key = g_strdup (key);
  self->last_edit_us = now;
  self->recipe = *recipe;
  g_signal_emit_by_name (self, "recipe-changed");
}

gboolean
td_session_can_undo (TdSession *self)
{
  return self->before->len > 0;
}

guint
td_session_n_done (TdSession *self)
{
  return self->before->len;
}

const TdRecipe *
td_session_done (TdSession *self, guint back)
{
  return back == 0
             ? &self->recipe
             : g_ptr_array_index (self->before, self->before->len - MIN (back, self->before->len));
}

gboolean
td_session_can_redo (TdSession *self)
{
  return self->after->len > 0;
}

/* Takes the @n nearest of @from one after another, and keeps the present one in @to each time. */
static void
session_step (TdSession *self, GPtrArray *from, GPtrArray *to, guint n)
{
  if (from->len == 0 || n == 0)
    return;
  for (; from->len > 0 && n > 0; n--) {
    g_autofree TdRecipe *recipe = g_ptr_array_steal_index (from, from->len - 1);
    g_ptr_array_add (to, g_memdup2 (&self->recipe, sizeof self->recipe));
    self->recipe = *recipe;
  }
  g_clear_pointer (&self->last_key, g_free); /* nothing joins the last edit */
  g_signal_emit_by_name (self, "recipe-changed");
}

void
td_session_undo (TdSession *self, guint n)
{
  session_step (self, self->before, self->after, n);
}

void
td_session_redo (TdSession *self)
{
  session_step (self, self->after, self->before, 1);
}

TD_FINALIZE (TdSession, td_session)
{
  g_clear_pointer (&self->scan, td_scan_unref);
  td_engine_unref (self->engine);
  g_ptr_array_unref (self->before);
  g_ptr_array_unref (self->after);
  g_free (self->last_key);
}

static void
td_session_class_init (TdSessionClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_session_finalize;
  td_signal_new (class, "scan-changed", 0);
  td_signal_new (class, "recipe-changed", 0);
}

static void
td_session_init (TdSession *self)
{
  td_recipe_init (&self->recipe);
  self->before = g_ptr_array_new_with_free_func (g_free);
  self->after = g_ptr_array_new_with_free_func (g_free);
}

TdSession *
td_session_new (TdEngine *engine)
{
  TdSession *self = g_object_new (TD_TYPE_SESSION, NULL);

  self->engine = td_engine_ref (engine);
  return self;
}
