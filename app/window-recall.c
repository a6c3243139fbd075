/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scan that is opened again has the recipe it was left with. */
#include "window-private.h"

#include <glib/gi18n.h>

#include "settings.h"
#include "ui/gib.h"

void
td_window_preset_recipe (TdWindow *self, TdRecipe *recipe)
{
  g_autofree char *device = g_settings_get_string (self->settings, "device");

  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  recipe->memory_limit_bytes
      = td_bytes_from_gib (g_settings_get_double (self->settings, "memory-limit-gib"));
  recipe->device_memory_limit_bytes
      = td_bytes_from_gib (g_settings_get_double (self->settings, "device-memory-limit-gib"));
}

static char *
detector_of (const TdScanFacts *facts)
{
  return g_strdup_printf ("%u x %u x %u", facts->n_columns, facts->n_rows, facts->n_views);
}

/* What is the machine's and not the scan's is as the preferences have it. */
static void
take_machine (TdRecipe *recipe, const TdRecipe *preset)
{
  g_strlcpy (recipe->devices, preset->devices, sizeof recipe->devices);
  recipe->memory_limit_bytes = preset->memory_limit_bytes;
  recipe->device_memory_limit_bytes = preset->device_memory_limit_bytes;
}

void
td_window_remember_recipe (TdWindow *self)
{
  const TdScanFacts *facts = self->session ? td_session_facts (self->session) : NULL;

  if (!facts || !self->statement)
    return;
  TdRecipe preset, recipe = *td_session_recipe (self->session);
  td_window_preset_recipe (self, &preset);
  take_machine (&recipe, &preset);
  g_autofree char *detector = detector_of (facts);
  g_autofree char *json = td_recipe_equal (&recipe, &preset) ? NULL : td_recipe_to_json (&recipe);
  td_settings_set_recipe (self->settings, self->statement->path, detector, json);
}

/* The toast may still be there when another scan is. */
static void
on_afresh (AdwToast *toast, TdWindow *self)
{
  TdRecipe preset;

  if (!td_session_scan (self->session)
      || GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (toast), "recall")) != self->n_recalls)
    return;
  td_window_preset_recipe (self, &preset);
  td_session_edit (self->session, &preset, NULL);
}

void
td_window_recall_recipe (TdWindow *self)
{
  g_autofree char *detector = detector_of (td_session_facts (self->session));

  self->n_recalls++;
  g_autofree char *json = td_settings_get_recipe (self->settings, self->statement->path, detector);
  TdRecipe preset, recipe;

  /* One that an older or newer version cannot read is no loss worth a message. */
  if (!json || !td_recipe_from_json (&recipe, json, NULL))
    return;
  td_window_preset_recipe (self, &preset);
  take_machine (&recipe, &preset);
  td_session_edit (self->session, &recipe, NULL);
  AdwToast *toast = adw_toast_new (_ ("The recipe is as this scan was left"));
  adw_toast_set_button_label (toast, _ ("Begin Afresh"));
  g_signal_connect_object (toast, "button-clicked", G_CALLBACK (on_afresh), self, 0);
  g_object_set_data (G_OBJECT (toast), "recall", GUINT_TO_POINTER (self->n_recalls));
  adw_toast_overlay_add_toast (self->toasts, toast);
}
