/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preferences-window.h"

#include "device-row.h"
#include "number-row.h"
#include "render/colour-map.h"
#include "ui.h"

struct _TdPreferencesWindow {
  AdwPreferencesWindow parent_instance;
  GSettings *settings;
  AdwComboRow *theme, *colours;
  TdDeviceRow *device;
  TdNumberRow *memory, *device_memory;
};

G_DEFINE_FINAL_TYPE (TdPreferencesWindow, td_preferences_window, ADW_TYPE_PREFERENCES_WINDOW)

static void
on_theme_selected (GObject *object, GParamSpec *property, TdPreferencesWindow *self)
{
  if (self->settings)
    g_settings_set_enum (self->settings, "theme", (int) adw_combo_row_get_selected (self->theme));
}

static void
on_colours_selected (GObject *object, GParamSpec *property, TdPreferencesWindow *self)
{
  if (self->settings)
    g_settings_set_string (self->settings, "colour-map",
                           td_colour_map_name (adw_combo_row_get_selected (self->colours)));
}

static void
on_device_picked (TdDeviceRow *row, const char *id, TdPreferencesWindow *self)
{
  if (self->settings)
    g_settings_set_string (self->settings, "device", id);
}

static void
show_settings (TdPreferencesWindow *self, GSettings *settings)
{
  g_autofree char *colours = g_settings_get_string (settings, "colour-map");
  g_autofree char *device = g_settings_get_string (settings, "device");
  TdColourMap map = TD_COLOUR_GREY;

  td_colour_map_parse (colours, &map);
  adw_combo_row_set_selected (self->theme, (guint) g_settings_get_enum (settings, "theme"));
  adw_combo_row_set_selected (self->colours, map);
  td_device_row_select (self->device, device);
  td_number_row_bind (self->memory, settings, "memory-limit-gib");
  td_number_row_bind (self->device_memory, settings, "device-memory-limit-gib");
}

TD_FINALIZE (TdPreferencesWindow, td_preferences_window)
{
  g_clear_object (&self->settings);
}

static void
td_preferences_window_class_init (TdPreferencesWindowClass *class)
{
  td_ensure_types (TD_TYPE_DEVICE_ROW, TD_TYPE_NUMBER_ROW);
  G_OBJECT_CLASS (class)->finalize = td_preferences_window_finalize;
  td_bind_template (class, TdPreferencesWindow, "/org/tomodesk/ui/preferences-window.ui", theme,
                    colours, device, memory, device_memory);
  td_bind_callbacks (class, on_theme_selected, on_colours_selected, on_device_picked);
}

static void
td_preferences_window_init (TdPreferencesWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  td_number_row_set_range (self->memory, 0, 4096);
  td_number_row_set_steps (self->memory, 0.5, 4, 1);
  td_number_row_set_range (self->device_memory, 0, 4096);
  td_number_row_set_steps (self->device_memory, 0.5, 4, 1);
}

GtkWidget *
td_preferences_window_new (GtkWindow *parent, GSettings *settings)
{
  TdPreferencesWindow *self
      = g_object_new (TD_TYPE_PREFERENCES_WINDOW, "transient-for", parent, "modal", TRUE, NULL);

  /* The controls are set first: nothing they tell then is a choice of the user's. */
  show_settings (self, settings);
  self->settings = g_object_ref (settings);
  return GTK_WIDGET (self);
}
