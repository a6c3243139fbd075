/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-pane-private.h"

#include <glib/gi18n.h>
#include <math.h>

#include "window-words.h"

#define SPINNER_AFTER_MS 120 /* what comes sooner needs no spinner, and no drawing of one */

enum { ENLARGE_TOGGLED, OPTION_TOGGLED, CONTRAST_CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdImagePane, td_image_pane, GTK_TYPE_WIDGET)

/* ── Contrast ── */

static void
show_window (TdImagePane *self, double low, double high)
{
  td_slice_view_set_window (self->view, low, high);
  td_histogram_set_window (self->histogram, low, high);
  g_signal_emit (self, signals[CONTRAST_CHANGED], 0, low, high);
}

static void
set_auto_contrast (TdImagePane *self, gboolean automatic)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "auto-contrast");
  TdImage *image = td_slice_view_get_image (self->view);

  self->auto_contrast = automatic;
  g_simple_action_set_state (G_SIMPLE_ACTION (action), g_variant_new_boolean (automatic));
  if (automatic && image) {
    double low, high;
    td_image_auto_window (image, &low, &high);
    show_window (self, low, high);
  }
}

static void
on_window_changed (TdSliceView *view, double low, double high, TdImagePane *self)
{
  set_auto_contrast (self, FALSE);
  show_window (self, low, high);
}

static void
on_histogram_window (TdHistogram *histogram, double low, double high, TdImagePane *self)
{
  set_auto_contrast (self, FALSE);
  show_window (self, low, high);
}

static void
on_auto_requested (TdHistogram *histogram, TdImagePane *self)
{
  set_auto_contrast (self, TRUE);
}

void
td_image_pane_set_window (TdImagePane *self, double low, double high)
{
  set_auto_contrast (self, FALSE);
  show_window (self, low, high);
}

/* ── Read-out ── */

static void
update_readout (TdImagePane *self)
{
  TdImage *image = td_slice_view_get_image (self->view);
  float value;

  if (!image || !self->pointed || !td_image_value (image, self->column, self->row, &value)) {
    gtk_widget_set_visible (GTK_WIDGET (self->readout), FALSE);
    return;
  }
  g_autofree char *text
      = self->describe ? self->describe (self->describe_user, self->column, self->row, &value)
                       : g_strdup_printf (_ ("column %.0f  row %.0f  %.5g"), self->column,
                                          self->row, (double) value);
  gtk_label_set_text (self->readout, text);
  gtk_widget_set_visible (GTK_WIDGET (self->readout), TRUE);
}

static void
on_pointed (TdSliceView *view, double column, double row, gboolean inside, TdImagePane *self)
{
  self->pointed = inside;
  if (inside) {
    self->column = column;
    self->row = row;
  }
  update_readout (self);
  td_image_pane_update_tools (self);
}

static void
update_zoom (TdImagePane *self)
{
  g_autofree char *tip = NULL;
  double zoom = td_slice_view_get_view (self->view, NULL)->zoom
                * gtk_widget_get_scale_factor (GTK_WIDGET (self));

  tip = g_strdup_printf (_ ("Zoom %.0f %%"), zoom * 100);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->subtitle), tip);
}

static void
image_pane_on_view_changed (TdSliceView *view, TdImagePane *self)
{
  update_zoom (self);
  td_image_pane_update_tools (self);
}

static void
on_measured (TdSliceView *view, double x, double y, double width, double height, TdImagePane *self)
{
  td_image_pane_measure (self, (double[]) { x, y, width, height });
}

/* ── Interface ── */

void
td_image_pane_set_title (TdImagePane *self, const char *title)
{
  gtk_label_set_text (self->title, title);
  td_slice_view_set_label (self->view, title);
}

void
td_image_pane_set_subtitle (TdImagePane *self, const char *subtitle)
{
  gtk_label_set_text (self->subtitle, subtitle ? subtitle : "");
}

void
td_image_pane_flip_image (TdImagePane *self, TdImage *image)
{
  td_image_pane_set_message (self, NULL);
  td_slice_view_set_image (self->view, image);
  td_histogram_set_image (self->histogram, image);
  update_readout (self);
  td_image_pane_picture_changed (self);
}

void
td_image_pane_set_image (TdImagePane *self, TdImage *image)
{
  td_image_pane_flip_image (self, image);
  if (image && self->auto_contrast)
    set_auto_contrast (self, TRUE);
}

TdImage *
td_image_pane_get_image (TdImagePane *self)
{
  return td_slice_view_get_image (self->view);
}

static void
show_spinner (TdImagePane *self, gboolean shown)
{
  gtk_spinner_set_spinning (self->spinner, shown);
  gtk_widget_set_visible (GTK_WIDGET (self->spinner), shown);
}

static gboolean
on_spinner_timeout (gpointer user)
{
  TdImagePane *self = user;

  self->spinner_timeout = 0;
  show_spinner (self, TRUE);
  return G_SOURCE_REMOVE;
}

void
td_image_pane_set_updating (TdImagePane *self, gboolean updating)
{
  if (updating == self->updating)
    return;
  self->updating = updating;
  g_clear_handle_id (&self->spinner_timeout, g_source_remove);
  if (updating)
    self->spinner_timeout = g_timeout_add (SPINNER_AFTER_MS, on_spinner_timeout, self);
  else
    show_spinner (self, FALSE);
}

void
td_image_pane_set_message (TdImagePane *self, const char *message)
{
  g_autofree char *words = td_window_words (message);

  gtk_label_set_text (self->message, words ? words : "");
  gtk_widget_set_visible (GTK_WIDGET (self->message), message != NULL);
}

void
td_image_pane_set_badge (TdImagePane *self, const char *badge)
{
  gtk_label_set_text (self->badge, badge ? badge : "");
  gtk_widget_set_visible (GTK_WIDGET (self->badge), badge != NULL);
}

void
td_image_pane_set_readout (TdImagePane *self, TdReadout readout, gpointer user)
{
  self->describe = readout;
  self->describe_user = user;
}

void
td_image_pane_set_colour_map (TdImagePane *self, TdColourMap map)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "colours");

  td_slice_view_set_colour_map (self->view, map);
  td_histogram_set_colour_map (self->histogram, map);
  g_simple_action_set_state (G_SIMPLE_ACTION (action),
                             g_variant_new_string (td_colour_map_name (map)));
}

void
td_image_pane_set_enlarged (TdImagePane *self, gboolean enlarged)
{
  gtk_toggle_button_set_active (self->enlarge, enlarged);
}

void
td_image_pane_set_can_enlarge (TdImagePane *self, gboolean can)
{
  gtk_widget_set_visible (GTK_WIDGET (self->enlarge), can);
}

TdSliceView *
td_image_pane_view (TdImagePane *self)
{
  return self->view;
}

void
td_image_pane_add_option (TdImagePane *self, const char *label)
{
  g_menu_append (self->option_section, label, "pane.option");
}

gboolean
td_image_pane_get_option (TdImagePane *self)
{
  g_autoptr (GVariant) state
      = g_action_group_get_action_state (G_ACTION_GROUP (self->actions), "option");
  return g_variant_get_boolean (state);
}

void
td_image_pane_set_footer (TdImagePane *self, GtkWidget *widget)
{
  if (self->footer)
    gtk_box_remove (self->box, self->footer);
  self->footer = widget;
  if (widget)
    gtk_box_insert_child_after (self->box, widget,
                                gtk_widget_get_prev_sibling (GTK_WIDGET (self->histogram)));
}

gboolean
td_image_pane_get_updating (TdImagePane *self)
{
  return self->updating;
}

/* ── Actions ── */

static void
on_fit (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_slice_view_fit (TD_IMAGE_PANE (user)->view);
}

static void
on_one_to_one (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_slice_view_one_to_one (TD_IMAGE_PANE (user)->view);
}

static void
on_auto_contrast (GSimpleAction *action, GVariant *state, gpointer user)
{
  set_auto_contrast (user, g_variant_get_boolean (state));
}

static void
on_colours (GSimpleAction *action, GVariant *state, gpointer user)
{
  TdColourMap map;

  if (td_colour_map_parse (g_variant_get_string (state, NULL), &map))
    td_image_pane_set_colour_map (user, map);
}

static void
on_smooth (GSimpleAction *action, GVariant *state, gpointer user)
{
  td_slice_view_set_smooth (TD_IMAGE_PANE (user)->view, g_variant_get_boolean (state));
  g_simple_action_set_state (action, state);
}

static void
image_pane_on_option (GSimpleAction *action, GVariant *state, gpointer user)
{
  g_simple_action_set_state (action, state);
  g_signal_emit (user, signals[OPTION_TOGGLED], 0, g_variant_get_boolean (state));
}

static void
on_enlarge_toggled (GtkToggleButton *button, TdImagePane *self)
{
  gboolean enlarged = gtk_toggle_button_get_active (button);

  gtk_button_set_icon_name (GTK_BUTTON (button),
                            enlarged ? "view-restore-symbolic" : "view-fullscreen-symbolic");
  g_signal_emit (self, signals[ENLARGE_TOGGLED], 0, enlarged);
}

static void
td_image_pane_dispose (GObject *object)
{
  TdImagePane *self = TD_IMAGE_PANE (object);

  g_clear_handle_id (&self->spinner_timeout, g_source_remove);
  if (self->box)
    gtk_widget_unparent (GTK_WIDGET (self->box));
  self->box = NULL;
  g_clear_object (&self->actions);
  G_OBJECT_CLASS (td_image_pane_parent_class)->dispose (object);
}

static void
td_image_pane_class_init (TdImagePaneClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_SLICE_VIEW);
  g_type_ensure (TD_TYPE_HISTOGRAM);
  g_type_ensure (TD_TYPE_PROFILE);
  G_OBJECT_CLASS (class)->dispose = td_image_pane_dispose;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/image-pane.ui");
  gtk_widget_class_bind_template_child (widget, TdImagePane, box);
  gtk_widget_class_bind_template_child (widget, TdImagePane, option_section);
  gtk_widget_class_bind_template_child (widget, TdImagePane, title);
  gtk_widget_class_bind_template_child (widget, TdImagePane, subtitle);
  gtk_widget_class_bind_template_child (widget, TdImagePane, message);
  gtk_widget_class_bind_template_child (widget, TdImagePane, readout);
  gtk_widget_class_bind_template_child (widget, TdImagePane, badge);
  gtk_widget_class_bind_template_child (widget, TdImagePane, statistics);
  gtk_widget_class_bind_template_child (widget, TdImagePane, profile);
  gtk_widget_class_bind_template_child (widget, TdImagePane, spinner);
  gtk_widget_class_bind_template_child (widget, TdImagePane, enlarge);
  gtk_widget_class_bind_template_child (widget, TdImagePane, view);
  gtk_widget_class_bind_template_child (widget, TdImagePane, histogram);
  gtk_widget_class_bind_template_callback (widget, on_pointed);
  gtk_widget_class_bind_template_callback (widget, on_measured);
  gtk_widget_class_bind_template_callback (widget, on_window_changed);
  gtk_widget_class_bind_template_callback (widget, image_pane_on_view_changed);
  gtk_widget_class_bind_template_callback (widget, on_histogram_window);
  gtk_widget_class_bind_template_callback (widget, on_auto_requested);
  gtk_widget_class_bind_template_callback (widget, on_enlarge_toggled);
  signals[ENLARGE_TOGGLED] = g_signal_new ("enlarge-toggled", TD_TYPE_IMAGE_PANE, G_SIGNAL_RUN_LAST,
                                           0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_BOOLEAN);
  signals[OPTION_TOGGLED] = g_signal_new ("option-toggled", TD_TYPE_IMAGE_PANE, G_SIGNAL_RUN_LAST,
                                          0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_BOOLEAN);
  signals[CONTRAST_CHANGED]
      = g_signal_new ("contrast-changed", TD_TYPE_IMAGE_PANE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                      NULL, G_TYPE_NONE, 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

static void
td_image_pane_init (TdImagePane *self)
{
  static const GActionEntry entries[] = {
    { .name = "fit", .activate = on_fit },
    { .name = "one-to-one", .activate = on_one_to_one },
    { .name = "auto-contrast", .state = "true", .change_state = on_auto_contrast },
    { .name = "colours", .parameter_type = "s", .state = "'grey'", .change_state = on_colours },
    { .name = "option", .state = "true", .change_state = image_pane_on_option },
    { .name = "smooth", .state = "false", .change_state = on_smooth },
  };

  self->auto_contrast = TRUE;
  self->column = self->row = NAN;
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries),
                                   self);
  td_image_pane_add_tools (self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "pane", G_ACTION_GROUP (self->actions));
  gtk_widget_init_template (GTK_WIDGET (self));
}
