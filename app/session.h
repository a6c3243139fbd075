/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib-object.h>

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdSession: what one window works on: the open scan, its recipe, and the recipes before it. Main
 * thread.
 * Signals: "scan-changed" (), "recipe-changed" ().
 */
#define TD_TYPE_SESSION (td_session_get_type ())
G_DECLARE_FINAL_TYPE (TdSession, td_session, TD, SESSION, GObject)

TdSession *td_session_new (TdEngine *engine);
TdEngine *td_session_engine (TdSession *self);
TdScan *td_session_scan (TdSession *self);             /* (transfer none); NULL: none is open */
const TdScanFacts *td_session_facts (TdSession *self); /* NULL: none is open */
const TdRecipe *td_session_recipe (TdSession *self);

/* Starts over with @scan (nullable) and @recipe; there is nothing to undo. */
void td_session_open (TdSession *self, TdScan *scan, const TdRecipe *recipe);
/* A new value. Edits of the same @key within a second undo as one, and those of one drag
   (TD_EDIT_DRAG) always; NULL: never joined. */
void td_session_edit (TdSession *self, const TdRecipe *recipe, const char *key);
gboolean td_session_can_undo (TdSession *self);
gboolean td_session_can_redo (TdSession *self);
/* How many edits can be undone, and the recipe before the last @back of them; 0: the present one.
 */
guint td_session_n_done (TdSession *self);
const TdRecipe *td_session_done (TdSession *self, guint back);
void td_session_undo (TdSession *self, guint n); /* the last @n edits */
void td_session_redo (TdSession *self);
