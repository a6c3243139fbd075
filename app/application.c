/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "application.h"

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <signal.h>

#include "compute/device/host.h"
#include "compute/methods/methods.h"
#include "config.h"
#include "desktop-resources.h"
#include "latency.h"
#include "settings.h"
#include "ui/guide-window.h"
#include "ui/preferences-window.h"
#include "ui/ui.h"

#define APPLICATION_ID "org.tomodesk.Tomodesk"
#define N_CAUGHT 3 /* signals that end the program */

struct _TdApplication {
  AdwApplication parent_instance;
  GSettings *settings;
  TdEngine *engine;
  guint signal_sources[N_CAUGHT];
};

G_DEFINE_FINAL_TYPE (TdApplication, td_application, ADW_TYPE_APPLICATION)

/* ── Actions ── */

static void
on_preferences (TdApplication *self)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));

  gtk_window_present (GTK_WINDOW (td_preferences_window_new (window, self->settings)));
}

/* One window of it, wherever it is asked for. */
static void
on_guide (gpointer user)
{
  for (GList *l = gtk_application_get_windows (user); l; l = l->next)
    if (TD_IS_GUIDE_WINDOW (l->data)) {
      gtk_window_present (l->data);
      return;
    }
  gtk_window_present (GTK_WINDOW (td_guide_window_new (gtk_application_get_active_window (user))));
}

/* Built anew: GTK 4.8 crashes where a reader of screens asks for a window past the last that is
   shown, and the last of all is hidden. */
static void
on_shortcuts (gpointer user)
{
  g_autoptr (GtkBuilder) builder
      = gtk_builder_new_from_resource ("/org/tomodesk/Tomodesk/shortcuts.ui");
  GtkWindow *window = GTK_WINDOW (gtk_builder_get_object (builder, "shortcuts"));

  gtk_window_set_transient_for (window, gtk_application_get_active_window (user));
  gtk_window_present (window);
}

static void
on_about (gpointer user)
{
  const char *const developers[] = { _ ("The Tomodesk developers"), NULL };

  adw_show_about_window (gtk_application_get_active_window (user), "application-name", "Tomodesk",
                         "application-icon", APPLICATION_ID, "version", TD_VERSION,
                         "developer-name", _ ("The Tomodesk developers"), "developers", developers,
                         "license-type", GTK_LICENSE_GPL_3_0, "comments",
                         _ ("Computed tomography: open a scan, see a slice at once, and "
                            "reconstruct it on the graphics card or the processor."),
                         NULL);
}

/* A dialog goes with its window. */
static void
on_quit (gpointer user)
{
  g_autolist (GtkWindow) all = g_list_copy (gtk_application_get_windows (user));

  for (GList *l = all; l; l = l->next)
    g_object_ref (l->data);
  for (GList *l = all; l; l = l->next)
    gtk_window_close (l->data);
}

static void
on_new_window (TdApplication *self)
{
  gtk_window_present (
      GTK_WINDOW (td_window_new (ADW_APPLICATION (self), self->settings, self->engine)));
}

/* A signal ends the program as closing its windows does. Jobs are processes of their own and go on.
 */
static gboolean
application_on_signal (gpointer user)
{
  GListModel *windows = gtk_window_get_toplevels ();
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++)
    g_ptr_array_add (all, g_list_model_get_item (windows, i));
  for (guint i = 0; i < all->len; i++)
    if (TD_IS_WINDOW (all->pdata[i])) {
      td_window_leave (all->pdata[i]);
    } else {
      gtk_window_set_transient_for (all->pdata[i], NULL);
      gtk_window_destroy (all->pdata[i]);
    }
  return G_SOURCE_CONTINUE;
}

static void
application_add_actions (TdApplication *self)
{
  static const TdAction actions[] = {
    { "preferences", G_CALLBACK (on_preferences) },
    { "about", G_CALLBACK (on_about) },
    { "guide", G_CALLBACK (on_guide) },
    { "shortcuts", G_CALLBACK (on_shortcuts) },
    { "quit", G_CALLBACK (on_quit) },
    { "new-window", G_CALLBACK (on_new_window) },
  };
  static const struct {
    const char *action, *keys[3];
  } keys[] = {
    { "app.quit", { "<Control>q" } },
    { "app.new-window", { "<Control>n" } },
    { "app.guide", { "F1" } },
    { "app.shortcuts", { "<Control>question", "<Control>F1" } },
    { "app.preferences", { "<Control>comma" } },
    { "win.open", { "<Control>o" } },
    { "win.open-folder", { "<Control><Shift>o" } },
    { "win.open-details", { "<Control>d" } },
    { "win.close-scan", { "<Control>w" } },
    { "win.undo", { "<Control>z" } },
    { "win.do-next", { "<Control>Return" } },
    { "win.show-trials", { "<Control>t" } },
    { "win.redo", { "<Control><Shift>z", "<Control>y" } },
    { "win.reconstruct", { "<Control>r" } },
    { "win.show-jobs", { "<Control>j" } },
    { "win.batch", { "<Control>b" } },
    { "win.save-recipe", { "<Control>s" } },
    { "win.load-recipe", { "<Control>l" } },
    { "win.toggle-sidebar", { "F9" } },
    { "win.show-page('slices')", { "<Alt>1" } },
    { "win.show-page('lab')", { "<Alt>2" } },
    { "win.show-page('volume')", { "<Alt>3" } },
    { "win.show-page('geometry')", { "<Alt>4" } },
  };

  td_add_actions (self, actions, G_N_ELEMENTS (actions), self);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    gtk_application_set_accels_for_action (GTK_APPLICATION (self), keys[i].action, keys[i].keys);
}

/* ── Life ── */

static void
apply_theme (TdApplication *self)
{
  static const AdwColorScheme schemes[]
      = { ADW_COLOR_SCHEME_DEFAULT, ADW_COLOR_SCHEME_FORCE_LIGHT, ADW_COLOR_SCHEME_FORCE_DARK };

  adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                      schemes[g_settings_get_enum (self->settings, "theme")]);
}

static void
td_application_startup (GApplication *application)
{
  static const int caught[N_CAUGHT] = { SIGTERM, SIGINT, SIGHUP };
  TdApplication *self = TD_APPLICATION (application);
  g_autoptr (GError) error = NULL;

  g_resources_register (td_desktop_get_resource ());
  G_APPLICATION_CLASS (td_application_parent_class)->startup (application);
  td_host_set_background ();
  self->settings = td_settings_new (&error);
  if (!self->settings) {
    g_printerr ("tomodesk: %s\n", error->message);
    exit (1);
  }
  td_ui_init ();
  gtk_icon_theme_add_resource_path (gtk_icon_theme_get_for_display (gdk_display_get_default ()),
                                    "/org/tomodesk/Tomodesk/icons");
  gtk_window_set_default_icon_name (APPLICATION_ID);
  self->engine = td_engine_new (td_methods);
  application_add_actions (self);
  for (guint i = 0; i < N_CAUGHT; i++)
    self->signal_sources[i] = g_unix_signal_add (caught[i], application_on_signal, self);
  apply_theme (self);
  g_signal_connect_object (self->settings, "changed::theme", G_CALLBACK (apply_theme), self,
                           G_CONNECT_SWAPPED);
}

static TdWindow *
window_of (TdApplication *self)
{
  GtkWindow *window = gtk_application_get_active_window (GTK_APPLICATION (self));

  return window && TD_IS_WINDOW (window)
             ? TD_WINDOW (window)
             : td_window_new (ADW_APPLICATION (self), self->settings, self->engine);
}

static void
td_application_activate (GApplication *application)
{
  gtk_window_present (GTK_WINDOW (window_of (TD_APPLICATION (application))));
}

/* The first file goes into the window there is, further ones each into their own. */
static void
td_application_open (GApplication *application, GFile **files, int n_files, const char *hint)
{
  TdApplication *self = TD_APPLICATION (application);

  for (int i = 0; i < n_files; i++) {
    TdWindow *window = i == 0
                           ? window_of (self)
                           : td_window_new (ADW_APPLICATION (self), self->settings, self->engine);
    g_autofree char *path = g_file_get_path (files[i]);
    gtk_window_present (GTK_WINDOW (window));
    if (path)
      td_window_open_path (window, path);
  }
}

TD_FINALIZE (TdApplication, td_application)
{
  g_clear_object (&self->settings);
  g_clear_pointer (&self->engine, td_engine_unref);
  for (guint i = 0; i < N_CAUGHT; i++)
    g_clear_handle_id (&self->signal_sources[i], g_source_remove);
}

static void
td_application_class_init (TdApplicationClass *class)
{
  GApplicationClass *application = G_APPLICATION_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = td_application_finalize;
  application->startup = td_application_startup;
  application->activate = td_application_activate;
  application->open = td_application_open;
}

/* −1: go on as usual. */
static int
application_on_options (GApplication *application, GVariantDict *options)
{
  td_latency_want (g_variant_dict_contains (options, "debug-latency"));
  return -1;
}

static void
td_application_init (TdApplication *self)
{
  g_application_add_main_option (G_APPLICATION (self), "debug-latency", 0, 0, G_OPTION_ARG_NONE,
                                 _ ("Print how long each change takes until its slice is drawn"),
                                 NULL);
  g_signal_connect (self, "handle-local-options", G_CALLBACK (application_on_options), NULL);
  g_application_set_option_context_parameter_string (G_APPLICATION (self), _ ("[SCAN…]"));
  g_application_set_option_context_summary (
      G_APPLICATION (self),
      _ ("Opens tomography scans (NXtomo, DXchange, TIFF files or folders), shows slices live and "
         "reconstructs volumes.\nExample: tomodesk scan.nxs"));
}

TdApplication *
td_application_new (void)
{
  return g_object_new (TD_TYPE_APPLICATION, "application-id", APPLICATION_ID, "flags",
                       G_APPLICATION_HANDLES_OPEN, "resource-base-path", "/org/tomodesk/Tomodesk",
                       NULL);
}
