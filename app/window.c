/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "render/colour-map.h"
#include "ui/window-words.h"

G_DEFINE_FINAL_TYPE (TdWindow, td_window, ADW_TYPE_APPLICATION_WINDOW)

/* ── Messages ── */

void
td_window_toast (TdWindow *self, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  adw_toast_overlay_add_toast (self->toasts, adw_toast_new (escaped));
}

void
td_window_error_dialog (TdWindow *self, const char *heading, const char *text)
{
  g_autofree char *words = td_window_words (text);
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (self), heading, words);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _ ("_Close"));
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
window_on_no_gl (TdScanView *view, const char *reason, TdWindow *self)
{
  gtk_label_set_text (self->notice_label, reason);
  gtk_info_bar_set_revealed (self->notice, TRUE);
}

static void
on_notice_response (GtkInfoBar *bar, int response, TdWindow *self)
{
  gtk_info_bar_set_revealed (bar, FALSE);
}

/* ── The session ── */

static void
window_enable (TdWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), name);
  g_simple_action_set_enabled (G_SIMPLE_ACTION (action), enabled);
}

static void
update_actions (TdWindow *self)
{
  gboolean has_scan = td_session_scan (self->session) != NULL;

  window_enable (self, "undo", td_session_can_undo (self->session));
  window_enable (self, "redo", td_session_can_redo (self->session));
  window_enable (self, "reconstruct", has_scan);
  window_enable (self, "save-recipe", has_scan);
  window_enable (self, "load-recipe", has_scan);
  gtk_widget_set_visible (self->reconstruct_button, has_scan);
  gtk_widget_set_visible (GTK_WIDGET (self->sidebar_button), has_scan);
  adw_view_switcher_title_set_view_switcher_enabled (self->switcher, has_scan);
}

static void
on_recipe_changed (TdSession *session, TdWindow *self)
{
  const TdRecipe *recipe = td_session_recipe (session);
  const TdScanFacts *facts = td_session_facts (session);

  td_recipe_panel_show_recipe (self->panel, facts, recipe);
  td_scan_view_set_recipe (self->scan_view, recipe);
  td_compare_view_set_base (self->compare_view, recipe, td_scan_view_get_row (self->scan_view));
  td_geometry_view_set_recipe (self->geometry_view, recipe);
  update_actions (self);
}

static void
on_scan_changed (TdSession *session, TdWindow *self)
{
  TdScan *scan = td_session_scan (session);
  const TdScanFacts *facts = td_session_facts (session);

  td_steps_group_set_before (td_recipe_panel_steps (self->panel), FALSE);
  td_recipe_panel_set_scan (self->panel, td_session_engine (session), scan);
  td_scan_view_set_scan (self->scan_view, scan);
  td_compare_view_set_scan (self->compare_view, scan);
  td_geometry_view_set_scan (self->geometry_view, scan);
  gtk_window_set_title (GTK_WINDOW (self), facts ? facts->title : "Tomodesk");
  adw_view_switcher_title_set_title (self->switcher, facts ? facts->title : "Tomodesk");
  if (facts) {
    adw_view_stack_set_visible_child_name (self->pages, "slices");
    on_recipe_changed (session, self);
  }
  gtk_stack_set_visible_child_name (self->stack, facts ? "scan" : "empty");
  update_actions (self);
}

static void
window_on_edited (TdRecipePanel *panel, gpointer recipe, const char *key, TdWindow *self)
{
  td_session_edit (self->session, recipe, key);
}

static void
window_on_before (TdRecipePanel *panel, const char *step, TdWindow *self)
{
  td_scan_view_set_before (self->scan_view, step);
}

/* Before and after while B is held: pressed again and again by the keyboard's repeat, let go once.
 */
static gboolean
on_key_pressed (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state,
                TdWindow *self)
{
  if ((key != GDK_KEY_b && key != GDK_KEY_B) || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)))
    return GDK_EVENT_PROPAGATE;
  td_steps_group_set_before (td_recipe_panel_steps (self->panel), TRUE);
  return GDK_EVENT_STOP;
}

static void
on_key_released (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state,
                 TdWindow *self)
{
  if (key == GDK_KEY_b || key == GDK_KEY_B)
    td_steps_group_set_before (td_recipe_panel_steps (self->panel), FALSE);
}

static void
on_nudge_centre (TdScanView *view, double by_px, TdWindow *self)
{
  td_centre_group_nudge (td_recipe_panel_centre (self->panel), by_px);
}

static void
on_region_drawn (TdScanView *view, int x, int y, int width, int height, TdWindow *self)
{
  TdRecipe recipe = *td_session_recipe (self->session);

  recipe.region[0] = x;
  recipe.region[1] = y;
  recipe.region[2] = width;
  recipe.region[3] = height;
  td_session_edit (self->session, &recipe, NULL);
}

static void
on_crop_drawn (TdScanView *view, int x, int y, int width, int height, TdWindow *self)
{
  TdRecipe recipe = *td_session_recipe (self->session);
  const guint crop[4] = { (guint) x, (guint) y, (guint) width, (guint) height };

  memcpy (recipe.crop, crop, sizeof crop);
  td_session_edit (self->session, &recipe, NULL);
}

static void
on_row_changed (TdScanView *view, guint row, TdWindow *self)
{
  td_compare_view_set_base (self->compare_view, td_session_recipe (self->session), row);
}

static void
on_take_requested (TdCompareView *view, gpointer recipe, TdWindow *self)
{
  td_session_edit (self->session, recipe, NULL);
  adw_view_stack_set_visible_child_name (self->pages, "slices");
}

static void
on_page_changed (GObject *object, GParamSpec *property, TdWindow *self)
{
  const char *page = adw_view_stack_get_visible_child_name (self->pages);

  /* Two more slices for each edit are computed only while somebody looks at them. */
  td_compare_view_set_active (self->compare_view, g_strcmp0 (page, "compare") == 0);
  td_geometry_view_set_active (self->geometry_view, g_strcmp0 (page, "geometry") == 0);
}

/* ── Actions ── */

static void
on_undo (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_session_undo (TD_WINDOW (user)->session);
}

static void
on_redo (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_session_redo (TD_WINDOW (user)->session);
}

static void
on_toggle_sidebar (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  GtkToggleButton *button = TD_WINDOW (user)->sidebar_button;

  gtk_toggle_button_set_active (button, !gtk_toggle_button_get_active (button));
}

static void
on_show_page (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_window_show_page (user, g_variant_get_string (parameter, NULL));
}

static void
window_add_actions (TdWindow *self)
{
  static const GActionEntry entries[] = {
    { .name = "undo", .activate = on_undo },
    { .name = "redo", .activate = on_redo },
    { .name = "toggle-sidebar", .activate = on_toggle_sidebar },
    { .name = "show-page", .activate = on_show_page, .parameter_type = "s" },
  };

  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries), self);
  td_window_add_open_actions (self);
  td_window_add_job_actions (self);
}

/* ── Interface ── */

TdSession *
td_window_session (TdWindow *self)
{
  return self->session;
}

TdScanView *
td_window_scan_view (TdWindow *self)
{
  return self->scan_view;
}

TdCompareView *
td_window_compare_view (TdWindow *self)
{
  return self->compare_view;
}

TdCentreGroup *
td_window_centre_group (TdWindow *self)
{
  return td_recipe_panel_centre (self->panel);
}

TdGeometryView *
td_window_geometry_view (TdWindow *self)
{
  return self->geometry_view;
}

TdVolumeView *
td_window_volume_view (TdWindow *self)
{
  return self->volume_view;
}

TdJobQueue *
td_window_jobs (TdWindow *self)
{
  return self->jobs;
}

const char *
td_window_state (TdWindow *self)
{
  return gtk_stack_get_visible_child_name (self->stack);
}

const char *
td_window_failure (TdWindow *self)
{
  return adw_status_page_get_description (self->failed_page);
}

void
td_window_show_page (TdWindow *self, const char *page)
{
  adw_view_stack_set_visible_child_name (self->pages, page);
}

/* ── Object ── */

static gboolean
td_window_close_request (GtkWindow *window)
{
  TdWindow *self = TD_WINDOW (window);

  if (!td_window_may_close (self))
    return TRUE;
  return GTK_WINDOW_CLASS (td_window_parent_class)->close_request (window);
}

static void
td_window_dispose (GObject *object)
{
  TdWindow *self = TD_WINDOW (object);

  if (self->opening)
    g_cancellable_cancel (self->opening);
  g_clear_object (&self->opening);
  td_window_remember_recipe (self);
  g_clear_pointer (&self->statement, td_scan_statement_free);
  g_clear_pointer (&self->failure, g_free);
  if (self->jobs)
    td_job_queue_cancel_all (self->jobs);
  if (self->session)
    g_signal_handlers_disconnect_by_data (self->session, self);
  if (self->jobs)
    g_signal_handlers_disconnect_by_data (self->jobs, self);
  g_clear_object (&self->jobs);
  g_clear_object (&self->session);
  g_clear_object (&self->settings);
  G_OBJECT_CLASS (td_window_parent_class)->dispose (object);
}

static void
window_bind_children (GtkWidgetClass *widget)
{
  gtk_widget_class_bind_template_child (widget, TdWindow, toasts);
  gtk_widget_class_bind_template_child (widget, TdWindow, stack);
  gtk_widget_class_bind_template_child (widget, TdWindow, pages);
  gtk_widget_class_bind_template_child (widget, TdWindow, switcher);
  gtk_widget_class_bind_template_child (widget, TdWindow, flap);
  gtk_widget_class_bind_template_child (widget, TdWindow, sidebar_button);
  gtk_widget_class_bind_template_child (widget, TdWindow, failed_page);
  gtk_widget_class_bind_template_child (widget, TdWindow, opening_label);
  gtk_widget_class_bind_template_child (widget, TdWindow, recent_list);
  gtk_widget_class_bind_template_child (widget, TdWindow, recent_box);
  gtk_widget_class_bind_template_child (widget, TdWindow, recent_menu);
  gtk_widget_class_bind_template_child (widget, TdWindow, reconstruct_button);
  gtk_widget_class_bind_template_child (widget, TdWindow, notice);
  gtk_widget_class_bind_template_child (widget, TdWindow, notice_label);
  gtk_widget_class_bind_template_child (widget, TdWindow, panel);
  gtk_widget_class_bind_template_child (widget, TdWindow, scan_view);
  gtk_widget_class_bind_template_child (widget, TdWindow, compare_view);
  gtk_widget_class_bind_template_child (widget, TdWindow, geometry_view);
  gtk_widget_class_bind_template_child (widget, TdWindow, volume_view);
  gtk_widget_class_bind_template_child (widget, TdWindow, jobs_revealer);
  gtk_widget_class_bind_template_child (widget, TdWindow, jobs_list);
}

static void
on_recent_activated (GtkListBox *box, GtkListBoxRow *row, TdWindow *self)
{
  td_window_open_path (self, g_object_get_data (G_OBJECT (row), "path"));
}

static void
td_window_class_init (TdWindowClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_RECIPE_PANEL);
  g_type_ensure (TD_TYPE_SCAN_VIEW);
  g_type_ensure (TD_TYPE_COMPARE_VIEW);
  g_type_ensure (TD_TYPE_GEOMETRY_VIEW);
  g_type_ensure (TD_TYPE_VOLUME_VIEW);
  G_OBJECT_CLASS (class)->dispose = td_window_dispose;
  GTK_WINDOW_CLASS (class)->close_request = td_window_close_request;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/Tomodesk/window.ui");
  window_bind_children (widget);
  gtk_widget_class_bind_template_callback (widget, on_notice_response);
  gtk_widget_class_bind_template_callback (widget, on_recent_activated);
  gtk_widget_class_bind_template_callback (widget, window_on_edited);
  gtk_widget_class_bind_template_callback (widget, window_on_before);
  gtk_widget_class_bind_template_callback (widget, on_nudge_centre);
  gtk_widget_class_bind_template_callback (widget, on_region_drawn);
  gtk_widget_class_bind_template_callback (widget, on_crop_drawn);
  gtk_widget_class_bind_template_callback (widget, on_row_changed);
  gtk_widget_class_bind_template_callback (widget, window_on_no_gl);
  gtk_widget_class_bind_template_callback (widget, on_take_requested);
}

static void
td_window_init (TdWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

static void
apply_colour_map (TdWindow *self)
{
  g_autofree char *name = g_settings_get_string (self->settings, "colour-map");
  TdColourMap map;

  if (!td_colour_map_parse (name, &map))
    map = TD_COLOUR_GREY;
  td_scan_view_set_colour_map (self->scan_view, map);
  td_compare_view_set_colour_map (self->compare_view, map);
  td_volume_view_set_colour_map (self->volume_view, map);
}

TdWindow *
td_window_new (AdwApplication *application, GSettings *settings, TdEngine *engine)
{
  TdWindow *self = g_object_new (TD_TYPE_WINDOW, "application", application, NULL);

  self->settings = g_object_ref (settings);
  self->session = td_session_new (engine);
  self->jobs = td_job_queue_new ();
  td_scan_view_set_engine (self->scan_view, engine);
  td_compare_view_set_engine (self->compare_view, engine);
  window_add_actions (self);
  td_window_add_drop_target (self);
  GtkEventController *keys = gtk_event_controller_key_new ();
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key_pressed), self);
  g_signal_connect (keys, "key-released", G_CALLBACK (on_key_released), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  g_signal_connect (self->session, "scan-changed", G_CALLBACK (on_scan_changed), self);
  g_signal_connect (self->session, "recipe-changed", G_CALLBACK (on_recipe_changed), self);
  g_signal_connect (self->pages, "notify::visible-child", G_CALLBACK (on_page_changed), self);
  g_settings_bind (settings, "window-width", self, "default-width", G_SETTINGS_BIND_DEFAULT);
  g_settings_bind (settings, "window-height", self, "default-height", G_SETTINGS_BIND_DEFAULT);
  g_settings_bind (settings, "window-maximized", self, "maximized", G_SETTINGS_BIND_DEFAULT);
  g_signal_connect_object (settings, "changed::colour-map", G_CALLBACK (apply_colour_map), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (settings, "changed::recent-scans", G_CALLBACK (td_window_show_recent),
                           self, G_CONNECT_SWAPPED);
  apply_colour_map (self);
  td_window_show_recent (self);
  update_actions (self);
  return self;
}
