/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-group.h"

#include <glib/gi18n.h>

#include "device-catalog.h"
#include "device-row.h"
#include "labels.h"
#include "tuning-row.h"
#include "ui.h"

struct _TdDeviceGroup {
  TdRecipeGroup parent_instance;
  TdDeviceRow *device;
  TdTuningRow *tuning;
  AdwExpanderRow *absent; /* devices with a reason why not */
  GPtrArray *absent_rows;
};

G_DEFINE_FINAL_TYPE (TdDeviceGroup, td_device_group, TD_TYPE_RECIPE_GROUP)

static void
on_picked (TdDeviceRow *row, const char *id, TdDeviceGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  g_strlcpy (recipe->devices, id, sizeof recipe->devices);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), "device");
}

static void
fill_absent (TdDeviceGroup *self)
{
  GPtrArray *entries = td_device_catalog_entries (td_device_catalog_default ());

  for (guint i = 0; i < self->absent_rows->len; i++)
    adw_expander_row_remove (self->absent, g_ptr_array_index (self->absent_rows, i));
  g_ptr_array_set_size (self->absent_rows, 0);
  for (guint i = 0; entries && i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    if (entry->available)
      continue;
    g_autofree char *reason = td_message_words (entry->reason, td_label_naming);
    GtkWidget *row = td_plain_row_new (entry->name ? entry->name : entry->id, reason);
    adw_expander_row_add_row (self->absent, row);
    g_ptr_array_add (self->absent_rows, row);
  }
  gtk_widget_set_visible (GTK_WIDGET (self->absent), self->absent_rows->len > 0);
}

static void
td_device_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdDeviceGroup *self = TD_DEVICE_GROUP (group);

  td_device_row_select (self->device, recipe->devices);
  td_tuning_row_set_device (self->tuning, recipe->devices, 0);
}

TD_FINALIZE (TdDeviceGroup, td_device_group)
{
  g_ptr_array_unref (self->absent_rows);
}

static void
td_device_group_class_init (TdDeviceGroupClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_device_group_finalize;
  TD_RECIPE_GROUP_CLASS (class)->show = td_device_group_show;
}

static void
td_device_group_init (TdDeviceGroup *self)
{
  static const TdRecipeRow limits[]
      = { { "memory-limit", "memory", N_ ("0: all there is"), 0.5, 5, 1 },
          { "device-memory-limit", "device-memory", N_ ("Each device but the host; 0: as above"),
            0.5, 5, 1 } };
  AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP (self);

  adw_preferences_group_set_title (group, _ ("Device"));
  self->absent_rows = g_ptr_array_new ();
  self->device = g_object_new (TD_TYPE_DEVICE_ROW, "title", _ ("Compute on"), NULL);
  self->tuning = g_object_new (TD_TYPE_TUNING_ROW, NULL);
  self->absent = g_object_new (ADW_TYPE_EXPANDER_ROW, "title", _ ("Not available here"), NULL);
  g_signal_connect (self->device, "picked", G_CALLBACK (on_picked), self);
  adw_preferences_group_add (group, GTK_WIDGET (self->device));
  adw_preferences_group_add (group, GTK_WIDGET (self->tuning));
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    td_recipe_group_add (TD_RECIPE_GROUP (self), &limits[i]);
  adw_preferences_group_add (group, GTK_WIDGET (self->absent));
  fill_absent (self);
  g_signal_connect_object (td_device_catalog_default (), "loaded", G_CALLBACK (fill_absent), self,
                           G_CONNECT_SWAPPED);
}
