/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdRecipeGroup: a titled group of controls for one part of a recipe. Rows of single fields are
 * added and bound. For other controls, subclasses implement show, which sets them from a recipe,
 * and call td_recipe_group_edit() … td_recipe_group_commit() when the user changes one.
 *
 * Signal "edited" (gpointer recipe, const char *key): the recipe has new values. @recipe is a const
 * TdRecipe *, valid during the call. @key names what changed, so that a drag can be undone as one
 * step.
 */
#define TD_EDIT_DRAG "drag:" /* a key that begins so names one drag: its edits join at any pace */
#define TD_TYPE_RECIPE_GROUP (td_recipe_group_get_type ())
G_DECLARE_DERIVABLE_TYPE (TdRecipeGroup, td_recipe_group, TD, RECIPE_GROUP, AdwPreferencesGroup)

struct _TdRecipeGroupClass {
  AdwPreferencesGroupClass parent_class;
  /* Sets the controls that are not bound; NULL: all are. @facts: (nullable). Edits made by the
   * controls while it runs are ignored. */
  void (*show) (TdRecipeGroup *self, const TdScanFacts *facts, const TdRecipe *recipe);
};

void td_recipe_group_show (TdRecipeGroup *self, const TdScanFacts *facts, const TdRecipe *recipe);
/* The value to change; NULL while the group is being set from outside. */
TdRecipe *td_recipe_group_edit (TdRecipeGroup *self);
void td_recipe_group_commit (TdRecipeGroup *self, const char *key);

/* The row of one field: a number if step is set, else a switch or a list. The field's table has its
   title and range. */
typedef struct {
  const char *option;
  const char *key;      /* NULL: edits are never joined */
  const char *subtitle; /* nullable; to be translated */
  double step, page;
  guint digits;
  gboolean hides; /* while the field does not apply, instead of being insensitive */
} TdRecipeRow;

/* Adds the row and binds it. A group of which all rows are hidden is hidden, too. */
GtkWidget *td_recipe_group_add (TdRecipeGroup *self, const TdRecipeRow *row);
/* Why a choice of a field cannot be taken now; NULL: it can. */
typedef const char *(*TdChoiceReason) (const char *option, guint index, gpointer user);
/* Greys the choices of all bound lists that cannot be taken. */
void td_recipe_group_set_reasons (TdRecipeGroup *self, TdChoiceReason reason, gpointer user);
/* Binds a control to a field of the recipe (compute/recipe/field.h) by its option. The group shows
   the field in the control and commits under @key (NULL: never joined) when the user changes it. A
   control of a field that does not apply is insensitive, and its tooltip says why. A TdNumberRow
   takes numbers, a GtkSwitch takes switches, an AdwComboRow takes choices, whose indices are those
   of its list. */
void td_recipe_group_bind (TdRecipeGroup *self, gpointer control, const char *option,
                           const char *key);
