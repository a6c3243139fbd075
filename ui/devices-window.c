/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "devices-window.h"

#include <glib/gi18n.h>

#include "compute/engine/fdk/fdk-self-test.h"
#include "device-catalog.h"
#include "labels.h"
#include "latest.h"
#include "quantity.h"
#include "tuning-row.h"
#include "ui.h"
#include "dataset/unit.h"

/* The rows of one device. */
typedef struct {
  const TdDeviceEntry *entry; /* the catalogue's */
  TdDevicesWindow *window;
  GtkWidget *use, *first, *test; /* buttons */
  GtkWidget *bar;                /* of the self-test */
  AdwActionRow *use_row, *test_row;
  TdLatest *testing;
} Device;

struct _TdDevicesWindow {
  AdwWindow parent_instance;
  AdwPreferencesPage *page;
  AdwActionRow *time;
  GPtrArray *groups;  /* widgets of the page */
  GPtrArray *devices; /* Device, those that are available */
  char **order;       /* of the recipe; "auto" is the empty list; NULL: no recipe */
  char *timed_on, *timed_on_before;
  double seconds, seconds_before;
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (TdDevicesWindow, td_devices_window, ADW_TYPE_WINDOW)

/* ── The preview's time ── */

static void
devices_window_show_time (TdDevicesWindow *self)
{
  g_autofree char *time = td_moment_text (self->seconds),
                  *time_before = td_moment_text (self->seconds_before);
  g_autofree char *now
      = self->timed_on ? g_strdup_printf (_ ("%s: %s a slice"), self->timed_on, time) : NULL;
  g_autofree char *text
      = !now ? g_strdup (_ ("No slice was computed yet"))
        : self->timed_on_before
            ? g_strdup_printf (_ ("%s; before, %s: %s"), now, self->timed_on_before, time_before)
            : g_strdup (now);

  adw_action_row_set_subtitle (self->time, text);
}

void
td_devices_window_took (TdDevicesWindow *self, const char *device, double seconds)
{
  if (self->timed_on && g_strcmp0 (self->timed_on, device) != 0) {
    g_free (self->timed_on_before);
    self->timed_on_before = g_steal_pointer (&self->timed_on);
    self->seconds_before = self->seconds;
  }
  g_free (self->timed_on);
  self->timed_on = g_strdup (device);
  self->seconds = seconds;
  devices_window_show_time (self);
}

/* ── The order ── */

static int
devices_window_place (TdDevicesWindow *self, const char *id)
{
  for (int i = 0; self->order && self->order[i]; i++)
    if (g_str_equal (self->order[i], id))
      return i;
  return -1;
}

static void
devices_window_show_order (TdDevicesWindow *self)
{
  self->filling = TRUE;
  for (guint i = 0; i < self->devices->len; i++) {
    Device *device = self->devices->pdata[i];
    const int place = devices_window_place (self, device->entry->id);
    const guint n = self->order ? g_strv_length (self->order) : 0;
    g_autofree char *number = g_strdup_printf (_ ("Used, number %d of %u"), place + 1, n);

    gtk_switch_set_active (GTK_SWITCH (device->use), place >= 0);
    gtk_widget_set_sensitive (device->use, self->order != NULL);
    gtk_widget_set_visible (device->first, place > 0);
    adw_action_row_set_subtitle (device->use_row,
                                 !self->order ? _ ("Open a scan to choose devices for it")
                                 : place >= 0 ? number
                                 : n == 0     ? _ ("As the program chooses: all are automatic")
                                              : _ ("Not used"));
  }
  self->filling = FALSE;
}

void
td_devices_window_set_devices (TdDevicesWindow *self, const char *devices)
{
  g_strfreev (self->order);
  self->order = !devices                                            ? NULL
                : g_str_equal (devices, "auto") || *devices == '\0' ? g_new0 (char *, 1)
                                                                    : g_strsplit (devices, ",", -1);
  devices_window_show_order (self);
}

static void
devices_window_pick (TdDevicesWindow *self, GPtrArray *ids)
{
  g_ptr_array_add (ids, NULL);
  g_autofree char *text = ids->len > 1 ? g_strjoinv (",", (char **) ids->pdata) : g_strdup ("auto");

  td_devices_window_set_devices (self, text);
  g_signal_emit_by_name (self, "picked", text);
}

/* @first: @id goes before the others; else it is put at the end, or taken out. */
static void
devices_window_change (TdDevicesWindow *self, const char *id, gboolean used, gboolean first)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);

  if (used && first)
    g_ptr_array_add (ids, g_strdup (id));
  for (guint i = 0; self->order && self->order[i]; i++)
    if (!g_str_equal (self->order[i], id))
      g_ptr_array_add (ids, g_strdup (self->order[i]));
  if (used && !first)
    g_ptr_array_add (ids, g_strdup (id));
  devices_window_pick (self, ids);
}

static void
devices_window_on_use (GtkSwitch *button, GParamSpec *property, Device *device)
{
  if (!device->window->filling)
    devices_window_change (device->window, device->entry->id, gtk_switch_get_active (button),
                           FALSE);
}

static void
devices_window_on_first (GtkButton *button, Device *device)
{
  devices_window_change (device->window, device->entry->id, TRUE, TRUE);
}

/* ── Self-test ── */

/* What comes back of a self-test: a test that begins, and at the end all of them. */
typedef struct {
  TdSelfTestRow about;
  guint number, total;
  GPtrArray *rows; /* TdSelfTestRow; NULL: a test begins */
} Testing;

static void
devices_window_testing_free (gpointer user)
{
  Testing *testing = user;

  g_clear_pointer (&testing->rows, g_ptr_array_unref);
  g_free (testing);
}

static void
devices_window_tell (const TdSelfTestRow *about, guint number, guint total, gpointer run)
{
  const Testing testing = { *about, number, total, NULL };

  td_latest_post (run, g_memdup2 (&testing, sizeof testing), TRUE);
}

static gpointer
devices_window_test (gpointer id, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  g_autoptr (TdDevice) device = td_device_open (id, error);
  g_autoptr (GPtrArray) rows
      = device ? td_self_test_device (device, devices_window_tell, run, cancellable, error) : NULL;
  g_autoptr (GPtrArray) cones
      = rows ? td_fdk_self_test_device (device, devices_window_tell, run, cancellable, error)
             : NULL;

  if (!cones)
    return NULL;
  g_ptr_array_extend_and_steal (rows, g_steal_pointer (&cones));
  Testing *testing = g_new0 (Testing, 1);
  testing->rows = g_steal_pointer (&rows);
  return testing;
}

/* In words; the failures are named. */
static char *
devices_window_test_text (const GPtrArray *rows)
{
  g_autoptr (GString) bad = g_string_new (NULL);
  guint failed = 0;

  for (guint i = 0; i < rows->len; i++) {
    const TdSelfTestRow *row = rows->pdata[i];
    failed += !row->passed;
    if (!row->passed) {
      g_autofree char *reason = td_message_words (row->reason, td_label_naming);
      g_string_append_printf (bad, "; %s: %s", row->family, reason);
    }
  }
  if (failed == 0)
    return g_strdup_printf (_ ("All %u tests passed"), rows->len);
  return g_strdup_printf (_ ("%u of %u tests failed, and these kernels are no longer used%s"),
                          failed, rows->len, bad->str);
}

static void
devices_window_on_tested (gpointer result, const GError *error, gboolean last, gpointer user)
{
  Device *device = user;
  const Testing *testing = result;
  g_autofree char *text = NULL;

  if (testing && !testing->rows) {
    const TdSelfTestRow *about = &testing->about;
    g_autofree char *kernel = td_label_kernel_task (about->family, about->interpolation,
                                                    about->precision, about->n_slices);
    text = g_strdup_printf (_ ("Test %u of %u: %s"), testing->number, testing->total, kernel);
    gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (device->bar),
                                   (testing->number - 1.0) / testing->total);
  } else {
    text = testing ? devices_window_test_text (testing->rows) : td_label_error (error);
  }
  adw_action_row_set_subtitle (device->test_row, text);
  gtk_widget_set_sensitive (device->test, last);
  gtk_widget_set_visible (device->bar, !last);
}

static void
devices_window_on_test (GtkButton *button, Device *device)
{
  gtk_widget_set_sensitive (device->test, FALSE);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (device->bar), 0);
  gtk_widget_set_visible (device->bar, TRUE);
  adw_action_row_set_subtitle (device->test_row, _ ("Opening the device"));
  td_latest_request (device->testing, g_strdup (device->entry->id));
}

static void
devices_window_device_free (gpointer user)
{
  Device *device = user;

  td_latest_free (device->testing);
  g_free (device);
}

/* ── The groups ── */

static AdwActionRow *
devices_window_add_row (GtkWidget *group, const char *title, const char *subtitle)
{
  GtkWidget *row = td_plain_row_new (title, subtitle);

  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
  return ADW_ACTION_ROW (row);
}

static void
devices_window_add_available (TdDevicesWindow *self, GtkWidget *group, const TdDeviceEntry *entry)
{
  Device *device = g_new0 (Device, 1);
  GtkWidget *tuning = g_object_new (TD_TYPE_TUNING_ROW, NULL);

  device->entry = entry;
  device->window = self;
  device->use_row = devices_window_add_row (group, _ ("Use"), NULL);
  device->first = td_button_new (_ ("First"), NULL, G_CALLBACK (devices_window_on_first), device);
  device->use = gtk_switch_new ();
  device->test_row = devices_window_add_row (
      group, _ ("Self-test"), _ ("Whether every kernel computes the right thing here"));
  device->test = td_button_new (_ ("Test"), NULL, G_CALLBACK (devices_window_on_test), device);
  device->bar = td_narrow_bar_new (_ ("Progress of the self-test"));
  device->testing = td_latest_new (devices_window_test, g_free, devices_window_on_tested,
                                   devices_window_testing_free, device);
  td_set_spoken_name (device->use, entry->name);
  gtk_widget_set_valign (device->use, GTK_ALIGN_CENTER);
  adw_action_row_add_suffix (device->use_row, device->first);
  adw_action_row_add_suffix (device->use_row, device->use);
  adw_action_row_add_suffix (device->test_row, device->bar);
  adw_action_row_add_suffix (device->test_row, device->test);
  td_tuning_row_set_device (TD_TUNING_ROW (tuning), entry->id, 0);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), tuning);
  /* One at a time: what else the device computes would be measured as the kernels' time. */
  GtkWidget *tune = td_tuning_row_start_button (TD_TUNING_ROW (tuning));
  g_object_bind_property (device->test, "sensitive", tune, "sensitive", G_BINDING_SYNC_CREATE);
  g_object_bind_property (tune, "visible", device->test_row, "sensitive", G_BINDING_SYNC_CREATE);
  g_signal_connect (device->use, "notify::active", G_CALLBACK (devices_window_on_use), device);
  g_ptr_array_add (self->devices, device);
}

static void
devices_window_add_entry (TdDevicesWindow *self, const TdDeviceEntry *entry)
{
  g_autofree char *memory
      = entry->memory_bytes ? td_memory_text (entry->memory_bytes) : g_strdup ("");
  g_autofree char *also = entry->same_as
                              ? g_strdup_printf (_ ("; the same hardware as %s"), entry->same_as)
                              : g_strdup ("");
  g_autofree char *text
      = g_strdup_printf ("%s%s%s%s", entry->id, *memory ? _ (", ") : "", memory, also);
  g_autofree char *title = g_markup_escape_text (entry->name ? entry->name : entry->id, -1);
  g_autofree char *description = g_markup_escape_text (text, -1);
  GtkWidget *group
      = g_object_new (ADW_TYPE_PREFERENCES_GROUP, "title", title, "description", description,
                      "tooltip-text", entry->name ? entry->name : entry->id, NULL);

  if (entry->available)
    devices_window_add_available (self, group, entry);
  else {
    g_autofree char *reason = td_message_words (entry->reason, td_label_naming);
    devices_window_add_row (group, _ ("Not available here"), reason);
  }
  adw_preferences_page_add (self->page, ADW_PREFERENCES_GROUP (group));
  g_ptr_array_add (self->groups, group);
}

static void
devices_window_fill (TdDevicesWindow *self)
{
  GPtrArray *entries = td_device_catalog_entries (td_device_catalog_default ());

  for (guint i = 0; i < self->groups->len; i++)
    adw_preferences_page_remove (self->page, self->groups->pdata[i]);
  g_ptr_array_set_size (self->groups, 0);
  g_ptr_array_set_size (self->devices, 0);
  if (!entries) {
    GtkWidget *group = adw_preferences_group_new ();
    devices_window_add_row (group, _ ("Looking for devices"), NULL);
    adw_preferences_page_add (self->page, ADW_PREFERENCES_GROUP (group));
    g_ptr_array_add (self->groups, group);
  }
  for (guint i = 0; entries && i < entries->len; i++)
    devices_window_add_entry (self, entries->pdata[i]);
  devices_window_show_order (self);
}

/* ── Life ── */

/* Tests that go on end with the rows that would show them. */
TD_DISPOSE (TdDevicesWindow, td_devices_window)
{
  for (guint i = 0; i < self->devices->len; i++)
    td_latest_cancel (((Device *) self->devices->pdata[i])->testing);
}

TD_FINALIZE (TdDevicesWindow, td_devices_window)
{
  g_ptr_array_unref (self->groups);
  g_ptr_array_unref (self->devices);
  g_strfreev (self->order);
  g_free (self->timed_on);
  g_free (self->timed_on_before);
}

static void
td_devices_window_class_init (TdDevicesWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_devices_window_dispose;
  G_OBJECT_CLASS (class)->finalize = td_devices_window_finalize;
  td_close_on_escape (class);
  td_signal_new (class, "picked", 1, G_TYPE_STRING);
}

static void
td_devices_window_init (TdDevicesWindow *self)
{
  GtkWidget *preview = adw_preferences_group_new ();

  self->groups = g_ptr_array_new ();
  self->devices = g_ptr_array_new_with_free_func (devices_window_device_free);
  self->page = ADW_PREFERENCES_PAGE (adw_preferences_page_new ());
  self->time = devices_window_add_row (preview, _ ("The slice in the window"), NULL);
  adw_preferences_page_add (self->page, ADW_PREFERENCES_GROUP (preview));
  gtk_widget_set_vexpand (GTK_WIDGET (self->page), TRUE);
  adw_window_set_content (ADW_WINDOW (self), td_box_new (GTK_ORIENTATION_VERTICAL, 0,
                                                         adw_header_bar_new (), self->page, NULL));
}

GtkWidget *
td_devices_window_new (GtkWindow *parent)
{
  TdDevicesWindow *self
      = g_object_new (TD_TYPE_DEVICES_WINDOW, "transient-for", parent, "title", _ ("Devices"),
                      "default-width", 600, "default-height", 640, NULL);

  td_size_for_text (GTK_WINDOW (self));
  devices_window_show_time (self);
  devices_window_fill (self);
  g_signal_connect_object (td_device_catalog_default (), "loaded", G_CALLBACK (devices_window_fill),
                           self, G_CONNECT_SWAPPED);
  return GTK_WIDGET (self);
}
