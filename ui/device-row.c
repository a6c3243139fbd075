/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-row.h"

#include <glib/gi18n.h>

#include "device-catalog.h"
#include "ui.h"

struct _TdDeviceRow {
  AdwComboRow parent_instance;
  GPtrArray *ids; /* of the rows of the model */
  char *selected; /* what was asked for, listed or not */
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (TdDeviceRow, td_device_row, ADW_TYPE_COMBO_ROW)

static void
device_row_append (TdDeviceRow *self, GtkStringList *list, const char *id, const char *label)
{
  g_ptr_array_add (self->ids, g_strdup (id));
  gtk_string_list_append (list, label);
}

static void
device_row_fill (TdDeviceRow *self)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);
  GPtrArray *entries = td_device_catalog_entries (td_device_catalog_default ());
  guint selected = G_MAXUINT;

  self->filling = TRUE;
  g_ptr_array_set_size (self->ids, 0);
  device_row_append (self, list, "auto", _ ("Automatic"));
  for (guint i = 0; entries && i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    g_autofree char *label = g_strdup_printf ("%s (%s)", entry->name, entry->id);
    if (entry->available)
      device_row_append (self, list, entry->id, label);
  }
  for (guint i = 0; i < self->ids->len; i++)
    if (g_strcmp0 (g_ptr_array_index (self->ids, i), self->selected) == 0)
      selected = i;
  if (selected == G_MAXUINT) {
    device_row_append (self, list, self->selected, self->selected);
    selected = self->ids->len - 1;
  }
  adw_combo_row_set_model (ADW_COMBO_ROW (self), G_LIST_MODEL (list));
  adw_combo_row_set_selected (ADW_COMBO_ROW (self), selected);
  self->filling = FALSE;
}

static void
device_row_on_selected (GObject *object, GParamSpec *property, gpointer user)
{
  TdDeviceRow *self = TD_DEVICE_ROW (object);
  guint i = adw_combo_row_get_selected (ADW_COMBO_ROW (self));

  if (self->filling || i >= self->ids->len)
    return;
  g_free (self->selected);
  self->selected = g_strdup (g_ptr_array_index (self->ids, i));
  g_signal_emit_by_name (self, "picked", self->selected);
}

void
td_device_row_select (TdDeviceRow *self, const char *id)
{
  if (g_strcmp0 (id, self->selected) == 0)
    return;
  g_free (self->selected);
  self->selected = g_strdup (id);
  device_row_fill (self);
}

TD_FINALIZE (TdDeviceRow, td_device_row)
{
  g_ptr_array_unref (self->ids);
  g_free (self->selected);
}

static void
td_device_row_class_init (TdDeviceRowClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_device_row_finalize;
  td_signal_new (class, "picked", 1, G_TYPE_STRING);
}

static void
td_device_row_init (TdDeviceRow *self)
{
  self->ids = g_ptr_array_new_with_free_func (g_free);
  /* Below the title there is room for a whole name. */
  adw_combo_row_set_use_subtitle (ADW_COMBO_ROW (self), TRUE);
  self->selected = g_strdup ("auto");
  device_row_fill (self);
  g_signal_connect (self, "notify::selected", G_CALLBACK (device_row_on_selected), NULL);
  g_signal_connect_object (td_device_catalog_default (), "loaded", G_CALLBACK (device_row_fill),
                           self, G_CONNECT_SWAPPED);
}
