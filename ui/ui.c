/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ui.h"

#include <math.h>

#include <adwaita.h>
#include <glib/gi18n.h>

#include "popovers.h"
#include "render/gl.h"
#include "spoken-names.h"
#include "ui-resources.h"

/* Where OpenGL is missing, nobody is asked to draw with it: the views find out and say so. */
static gboolean
ui_gl_is_software (GdkDisplay *display)
{
  g_autoptr (GdkGLContext) context = gdk_display_create_gl_context (display, NULL);

  if (!context || !gdk_gl_context_realize (context, NULL))
    return FALSE;
  gdk_gl_context_make_current (context);
  gboolean software = td_gl_is_software ();
  gdk_gl_context_clear_current ();
  return software;
}

static gboolean
ui_decide_drawing (void)
{
  GdkDisplay *display = gdk_display_get_default ();
  const char *wish = g_getenv ("TOMODESK_DRAW");

  if (g_strcmp0 (wish, "gl") == 0 || !display)
    return FALSE;
  if (g_strcmp0 (wish, "processor") != 0 && !ui_gl_is_software (display))
    return FALSE;
  /* As the toolkit's inspector asks for its own windows: those made from now on are drawn by it. */
  if (!g_getenv ("GSK_RENDERER"))
    g_object_set_data (G_OBJECT (display), "gsk-renderer", (gpointer) "cairo");
  return TRUE;
}

gboolean
td_drawing_by_processor (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    g_once_init_leave (&once, 1 + ui_decide_drawing ());
  return once == 2;
}

static guint
ui_find_volume_side (void)
{
  GdkDisplay *display = gdk_display_get_default ();
  g_autoptr (GdkGLContext) context = display && !td_drawing_by_processor ()
                                         ? gdk_display_create_gl_context (display, NULL)
                                         : NULL;

  if (!context || !gdk_gl_context_realize (context, NULL))
    return TD_GL_SOFTWARE_SIDE;
  gdk_gl_context_make_current (context);
  const guint side = td_gl_volume_side ();
  gdk_gl_context_clear_current ();
  return side;
}

guint
td_drawing_volume_side (void)
{
  static gsize side;

  if (g_once_init_enter (&side))
    g_once_init_leave (&side, ui_find_volume_side ());
  return (guint) side;
}

static GtkCssProvider *
ui_add_style (const char *resource, int above)
{
  g_autoptr (GtkCssProvider) css = gtk_css_provider_new ();

  gtk_css_provider_load_from_resource (css, resource);
  gtk_style_context_add_provider_for_display (gdk_display_get_default (), GTK_STYLE_PROVIDER (css),
                                              GTK_STYLE_PROVIDER_PRIORITY_APPLICATION + above);
  return css; /* the display holds it */
}

/* Who asks for high contrast gets lines and words that are not faint. */
static void
ui_on_contrast (AdwStyleManager *styles, GParamSpec *property, gpointer unused)
{
  static GtkCssProvider *contrast;

  if (adw_style_manager_get_high_contrast (styles) && !contrast) {
    contrast = ui_add_style ("/org/tomodesk/ui/style-contrast.css", 1);
  } else if (!adw_style_manager_get_high_contrast (styles) && contrast) {
    gtk_style_context_remove_provider_for_display (gdk_display_get_default (),
                                                   GTK_STYLE_PROVIDER (contrast));
    contrast = NULL;
  }
}

GtkWidget *
td_telling_dialog_new (GtkWindow *over, const char *heading, const char *text)
{
  GtkWidget *dialog = adw_message_dialog_new (over, heading, text);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _ ("_Close"));
  return dialog;
}

void
td_size_for_text (GtkWindow *window)
{
  int width, height, dpi;

  g_object_get (gtk_settings_get_default (), "gtk-xft-dpi", &dpi, NULL);
  gtk_window_get_default_size (window, &width, &height);
  const double factor = dpi > 96 * 1024 ? dpi / (96.0 * 1024) : 1;
  gtk_window_set_default_size (window, (int) MIN (factor * width, MAX (width, 1200)),
                               (int) MIN (factor * height, MAX (height, 740)));
}

void
td_close_on_escape (gpointer class)
{
  gtk_widget_class_add_binding_action (class, GDK_KEY_Escape, 0, "window.close", NULL);
}

void
td_add_actions (gpointer map, const TdAction *actions, guint n, gpointer user)
{
  for (guint i = 0; i < n; i++) {
    const char *type = actions[i].parameter_type;
    g_autoptr (GSimpleAction) action
        = g_simple_action_new (actions[i].name, type ? G_VARIANT_TYPE (type) : NULL);
    g_signal_connect_swapped (action, "activate", actions[i].activate, user);
    g_action_map_add_action (map, G_ACTION (action));
  }
}

void
td_set_text (GtkLabel *label, const char *text)
{
  if (g_strcmp0 (gtk_label_get_text (label), text) != 0)
    gtk_label_set_text (label, text);
}

void
td_set_path (gpointer row, const char *path)
{
  gtk_editable_set_text (row, path);
  gtk_editable_set_position (row, -1);
}

void
td_set_tooltip (gpointer widget, const char *text)
{
  if (g_strcmp0 (gtk_widget_get_tooltip_text (widget), text) != 0)
    gtk_widget_set_tooltip_text (widget, text);
}

void
td_set_spoken_name (gpointer widget, const char *name)
{
  gtk_accessible_update_property (widget, GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

void
td_set_style_class (gpointer widget, const char *name, gboolean on)
{
  (on ? gtk_widget_add_css_class : gtk_widget_remove_css_class) (widget, name);
}

void
td_spin_fit (GtkSpinButton *number)
{
  const double most = gtk_adjustment_get_upper (gtk_spin_button_get_adjustment (number));

  gtk_editable_set_width_chars (GTK_EDITABLE (number), most > 0 ? (int) log10 (most) + 1 : 1);
}

PangoLayout *
td_small_layout (gpointer widget, const char *text, double scale)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (widget, text);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_scale_new (scale));
  pango_layout_set_attributes (layout, attributes);
  return layout;
}

void
td_add_style (gpointer widget, const char *classes)
{
  g_auto (GStrv) each = g_strsplit (classes ? classes : "", " ", -1);

  for (char **name = each; *name; name++)
    gtk_widget_add_css_class (widget, *name);
}

void
td_set_purpose (gpointer widget, const char *purpose)
{
  gtk_widget_set_tooltip_text (widget, purpose);
  td_set_spoken_name (widget, purpose);
}

GtkWidget *
td_box_new (GtkOrientation orientation, int spacing, ...)
{
  GtkWidget *box = gtk_box_new (orientation, spacing), *child;
  va_list children;

  va_start (children, spacing);
  while ((child = va_arg (children, GtkWidget *)))
    gtk_box_append (GTK_BOX (box), child);
  va_end (children);
  return box;
}

GtkWidget *
td_label_new (const char *text, const char *classes)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  td_add_style (label, classes);
  return label;
}

GtkWidget *
td_button_new (const char *label, const char *classes, GCallback clicked, gpointer user)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  td_add_style (button, classes);
  g_signal_connect (button, "clicked", clicked, user);
  return button;
}

GtkWidget *
td_symbol_button (const char *icon, const char *purpose, GCallback clicked, gpointer user)
{
  GtkWidget *button = td_button_new ("", "flat", clicked, user);

  gtk_button_set_icon_name (GTK_BUTTON (button), icon);
  td_set_purpose (button, purpose);
  return button;
}

GtkWidget *
td_footer_new (const char *title, GtkAdjustment *adjustment, const char *what, const char *number)
{
  GtkWidget *scale = gtk_scale_new (GTK_ORIENTATION_HORIZONTAL, adjustment);
  GtkWidget *spin = gtk_spin_button_new (adjustment, 1, 0);
  GtkWidget *footer = td_box_new (GTK_ORIENTATION_HORIZONTAL, 6, scale, spin, NULL);

  if (title)
    gtk_box_prepend (GTK_BOX (footer), gtk_label_new (title));
  gtk_widget_add_css_class (footer, "pane-footer");
  gtk_widget_set_hexpand (scale, TRUE);
  gtk_spin_button_set_numeric (GTK_SPIN_BUTTON (spin), TRUE);
  td_set_spoken_name (scale, what);
  td_set_spoken_name (spin, number);
  return footer;
}

GtkWidget *
td_narrow_bar_new (const char *label)
{
  GtkWidget *bar = gtk_progress_bar_new ();

  gtk_widget_set_valign (bar, GTK_ALIGN_CENTER);
  gtk_widget_set_visible (bar, FALSE);
  gtk_widget_add_css_class (bar, "narrow");
  td_set_spoken_name (bar, label);
  return bar;
}

/* Told all at once, the row takes the words for markup before it knows better, and warns. */
GtkWidget *
td_plain_row_new (const char *title, const char *subtitle)
{
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "use-markup", FALSE, "title-lines", 0,
                                 "subtitle-lines", 0, NULL);

  g_object_set (row, "title", title, "subtitle", subtitle ? subtitle : "", NULL);
  return row;
}

#define MOST_STOPS 8 /* of the focus in one row: its text and its buttons */

static gboolean
ui_has_focus (GtkWidget *widget, GtkRoot *root)
{
  GtkWidget *focus = gtk_root_get_focus (root);

  return focus && (focus == widget || gtk_widget_is_ancestor (focus, widget));
}

void
td_set_sensitive (GtkWidget *widget, gboolean sensitive)
{
  GtkRoot *root = sensitive ? NULL : gtk_widget_get_root (widget);

  for (guint i = 0; root && i < MOST_STOPS && ui_has_focus (widget, root); i++)
    gtk_widget_child_focus (GTK_WIDGET (root), GTK_DIR_TAB_FORWARD);
  if (root && ui_has_focus (widget, root))
    gtk_root_set_focus (root, NULL);
  gtk_widget_set_sensitive (widget, sensitive);
}

/* ── Coming into sight ── */

/* A row opens by an animation: until it is over, and for some frames on a machine too busy to draw
 * it. */
#define SETTLING_US 400000
#define SETTLING_FRAMES 12

typedef struct {
  gint64 until_us;
  guint frames;
} Following;

static gboolean
ui_follow (GtkWidget *widget, GdkFrameClock *clock, gpointer user)
{
  Following *following = user;
  GtkWidget *scrolled = gtk_widget_get_ancestor (widget, GTK_TYPE_SCROLLED_WINDOW);
  graphene_rect_t bounds;

  if (!scrolled || !gtk_widget_compute_bounds (widget, scrolled, &bounds))
    return G_SOURCE_REMOVE;
  GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (scrolled));
  double at = gtk_adjustment_get_value (adjustment),
         page = gtk_adjustment_get_page_size (adjustment);
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (widget));
  if (focus && gtk_widget_get_native (focus) != gtk_widget_get_native (widget)) {
    gtk_adjustment_set_value (adjustment, at); /* what dropped down meanwhile stays where it is */
    return G_SOURCE_REMOVE;
  }
  double top = at + bounds.origin.y, foot = top + bounds.size.height;
  gtk_adjustment_clamp_page (adjustment, top, MIN (foot, top + page));
  following->frames++;
  return g_get_monotonic_time () < following->until_us || following->frames < SETTLING_FRAMES
             ? G_SOURCE_CONTINUE
             : G_SOURCE_REMOVE;
}

void
td_scroll_into_sight (GtkWidget *widget)
{
  Following *following = g_new0 (Following, 1);

  following->until_us = g_get_monotonic_time () + SETTLING_US;
  gtk_widget_add_tick_callback (widget, ui_follow, following, g_free);
}

static gboolean
ui_is_in_sight (GtkWidget *widget)
{
  for (GtkWidget *up = widget; !GTK_IS_NATIVE (up); up = gtk_widget_get_parent (up)) {
    graphene_rect_t at, seen = GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (up),
                                                   (float) gtk_widget_get_height (up));
    if (GTK_IS_VIEWPORT (up) && gtk_widget_compute_bounds (widget, up, &at)
        && !graphene_rect_intersection (&at, &seen, NULL))
      return FALSE;
  }
  return TRUE;
}

/* A key does nothing to what was scrolled away: it brings that back. A list that drops down there
 * may lie on no monitor, and GTK gives it the size of an uninitialised variable. */
static gboolean
ui_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
           GtkWindow *window)
{
  static const guint using[]
      = { GDK_KEY_space, GDK_KEY_KP_Space, GDK_KEY_Return, GDK_KEY_KP_Enter, GDK_KEY_ISO_Enter };
  GtkWidget *focus = gtk_window_get_focus (window);

  for (guint i = 0; focus && !GTK_IS_TEXT (focus) && i < G_N_ELEMENTS (using); i++)
    if (key == using[i] && !ui_is_in_sight (focus)) {
      td_scroll_into_sight (focus);
      return TRUE;
    }
  return FALSE;
}

/* GTK 4.8 scrolls to the focus in a list that dropped down as if it stood in the window. Its button
 * then moved, beyond the monitor even, and the list with it. These handlers lie around GTK's. */
static void
ui_scroll_to_focus (GtkWindow *window, gboolean scrolls)
{
  GtkWidget *focus = gtk_window_get_focus (window);
  GtkWidget *up = focus ? gtk_widget_get_ancestor (focus, GTK_TYPE_POPOVER) : NULL;

  for (; up; up = gtk_widget_get_parent (up))
    if (GTK_IS_VIEWPORT (up))
      gtk_viewport_set_scroll_to_focus (GTK_VIEWPORT (up), scrolls);
}

static void
ui_before_focus (GtkWindow *window, GParamSpec *property, gpointer unused)
{
  ui_scroll_to_focus (window, FALSE);
}

static void
ui_after_focus (GtkWindow *window, GParamSpec *property, gpointer unused)
{
  ui_scroll_to_focus (window, TRUE);
}

static void
ui_on_windows (GListModel *windows, guint at, guint removed, guint added, gpointer unused)
{
  for (guint i = at; i < at + added; i++) {
    g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
    GtkEventController *keys = gtk_event_controller_key_new ();
    gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
    g_signal_connect (keys, "key-pressed", G_CALLBACK (ui_on_key), window);
    gtk_widget_add_controller (window, keys);
    g_signal_connect (window, "notify::focus-widget", G_CALLBACK (ui_before_focus), NULL);
    g_signal_connect_after (window, "notify::focus-widget", G_CALLBACK (ui_after_focus), NULL);
  }
}

/* ── The room ── */

void
td_ui_init (void)
{
  g_resources_register (td_ui_get_resource ());
  td_spoken_names_init ();
  td_popovers_init ();
  td_drawing_by_processor (); /* before the first window asks for its renderer */
  ui_add_style ("/org/tomodesk/ui/style.css", 0);
  AdwStyleManager *styles = adw_style_manager_get_default ();
  g_signal_connect (styles, "notify::high-contrast", G_CALLBACK (ui_on_contrast), NULL);
  ui_on_contrast (styles, NULL, NULL);
  g_signal_connect (gtk_window_get_toplevels (), "items-changed", G_CALLBACK (ui_on_windows), NULL);
}
