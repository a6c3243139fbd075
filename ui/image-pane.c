/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-pane.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "choose-file.h"
#include "histogram.h"
#include "labels.h"
#include "picture-save.h"
#include "profile.h"
#include "save-file.h"
#include "ui.h"
#include "wrap-layout.h"

struct _TdImagePane {
  GtkWidget parent_instance;
  GtkBox *box;
  GMenu *option_section;
  GtkLabel *title, *subtitle, *message, *readout, *badge, *statistics;
  GtkWidget *heading, *words, *message_box;
  GtkBox *remedies;
  GtkSpinner *spinner;
  GtkToggleButton *enlarge;
  TdSliceView *view;
  TdHistogram *histogram;
  TdProfile *profile;
  GSimpleActionGroup *actions;
  gboolean auto_contrast;
  double auto_fraction; /* of the values, left out at either end */
  guint spinner_timeout;
  TdReadout describe;
  gpointer describe_user;
  gboolean pointed;
  double column, row; /* under the pointer, now or last; NAN: it never was there */
  char units[16];     /* of the values */
  double measured[4]; /* the box to measure in: x, y, width, height; width 0: none */
};

#define SPINNER_AFTER_MS 120 /* what comes sooner needs no spinner, and no drawing of one */

G_DEFINE_FINAL_TYPE (TdImagePane, td_image_pane, GTK_TYPE_WIDGET)

/* ── Contrast ── */

static void
image_pane_show_range (TdImagePane *self, double low, double high)
{
  td_slice_view_set_range (self->view, low, high);
  td_histogram_set_range (self->histogram, low, high);
  g_signal_emit_by_name (self, "contrast-changed", low, high);
}

void
td_image_pane_set_automatic (TdImagePane *self, gboolean automatic)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "auto-contrast");
  TdImage *image = td_slice_view_get_image (self->view);

  self->auto_contrast = automatic;
  g_simple_action_set_state (G_SIMPLE_ACTION (action), g_variant_new_boolean (automatic));
  if (automatic && image) {
    double low, high;
    td_image_range (image, self->auto_fraction, &low, &high);
    image_pane_show_range (self, low, high);
  }
}

static void
on_auto_requested (TdHistogram *histogram, TdImagePane *self)
{
  td_image_pane_set_automatic (self, TRUE);
}

void
td_image_pane_set_range (TdImagePane *self, double low, double high)
{
  td_image_pane_set_automatic (self, FALSE);
  image_pane_show_range (self, low, high);
}

/* Per cent, as the menu has them. */
static void
image_pane_on_levels (GSimpleAction *action, GVariant *state, gpointer user)
{
  TdImagePane *self = user;

  g_simple_action_set_state (action, state);
  self->auto_fraction = g_ascii_strtod (g_variant_get_string (state, NULL), NULL) / 100;
  td_image_pane_set_automatic (self, TRUE);
}

/* ── A profile along the row under the pointer ── */

static void
image_pane_update_profile (TdImagePane *self)
{
  TdImage *image = td_slice_view_get_image (self->view);
  const double row = isfinite (self->row) ? self->row : image ? (image->extent_height - 1) / 2 : 0;

  if (gtk_widget_get_visible (GTK_WIDGET (self->profile)))
    td_profile_show (self->profile, image, td_slice_view_get_view (self->view, NULL), round (row),
                     self->pointed ? self->column : NAN);
}

static void
on_profile (GSimpleAction *action, GVariant *state, gpointer user)
{
  TdImagePane *self = user;

  g_simple_action_set_state (action, state);
  gtk_widget_set_visible (GTK_WIDGET (self->profile), g_variant_get_boolean (state));
  image_pane_update_profile (self);
}

/* ── Statistics of a box ── */

static char *
statistics_text (const TdImageStatistics *s, const char *units, double width, double height)
{
  g_autofree char *bad = g_strdup_printf ("%" PRIu64, s->n_bad);
  /* σ: the standard deviation. */
  g_autofree char *text
      = g_strdup_printf (_ ("mean %.5g  σ %.3g  %.5g … %.5g %s (%.0f × %.0f)"), s->mean,
                         s->deviation, s->minimum, s->maximum, units, width, height);

  return s->n_bad ? g_strdup_printf (_ ("%s, %s samples not finite"), text, bad)
                  : g_steal_pointer (&text);
}

static void
update_statistics (TdImagePane *self)
{
  const double *box = self->measured;
  TdImage *image = td_slice_view_get_image (self->view);
  TdImageStatistics statistics;
  g_autofree char *text = NULL;

  if (box[2] > 0 && image
      && td_image_statistics (image, box[0], box[1], box[2], box[3], &statistics))
    text = statistics_text (&statistics, self->units, box[2], box[3]);
  gtk_label_set_text (self->statistics, text ? text : "");
  gtk_widget_set_visible (GTK_WIDGET (self->statistics), text != NULL);
}

void
td_image_pane_set_units (TdImagePane *self, const char *units)
{
  if (strcmp (units, self->units) == 0)
    return;
  g_strlcpy (self->units, units, sizeof self->units);
  td_histogram_set_units (self->histogram, units);
  td_profile_set_units (self->profile, units);
  update_statistics (self);
}

static void
image_pane_on_measured (TdSliceView *view, double x, double y, double width, double height,
                        TdImagePane *self)
{
  memcpy (self->measured, (double[]) { x, y, width, height }, sizeof self->measured);
  update_statistics (self);
}

/* ── Saving ── */

/* What was asked to be saved: another picture may be shown when the dialog is answered. */
typedef struct {
  TdImage *image;
  TdStyle style;
  GArray *marks; /* NULL: none */
} Wanted;

static void
image_pane_wanted_free (gpointer data)
{
  Wanted *wanted = data;

  td_image_unref (wanted->image);
  g_clear_pointer (&wanted->marks, g_array_unref);
  g_free (wanted);
}

/* Worker thread. */
static gboolean
image_pane_write (gpointer user, const char *path, GError **error)
{
  const Wanted *wanted = user;

  return td_picture_save (wanted->image, &wanted->style, wanted->marks, path, error);
}

/* What is shown now; NULL: nothing. */
static Wanted *
image_pane_wanted (TdImagePane *self)
{
  TdImage *image = td_slice_view_get_image (self->view);
  const GArray *marks = td_slice_view_get_marks (self->view);
  Wanted *wanted = image ? g_new (Wanted, 1) : NULL;

  if (wanted)
    *wanted = (Wanted) { td_image_ref (image), *td_slice_view_get_style (self->view),
                         marks ? g_array_copy ((GArray *) marks) : NULL };
  return wanted;
}

static void
image_pane_on_chosen (gpointer user, const char *path)
{
  td_save_file (user, _ ("The picture was not saved"), path, image_pane_write,
                g_object_steal_data (user, "picture-wanted"), image_pane_wanted_free, NULL);
}

static void
on_save (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  static const char *const png[] = { "*.png", NULL }, *const tiff[] = { "*.tif", "*.tiff", NULL };
  TdImagePane *self = user;
  Wanted *wanted = image_pane_wanted (self);
  g_autofree char *title = g_utf8_strdown (gtk_label_get_text (self->title), -1);

  if (!wanted)
    return;
  /* Its values are means: the name says so wherever the file goes. */
  const gboolean coarse = wanted->image->extent_width > wanted->image->width;
  g_autofree char *name = g_strconcat (title, coarse ? _ (" reduced") : "", ".png", NULL);
  g_object_set_data_full (G_OBJECT (self), "picture-wanted", wanted, image_pane_wanted_free);
  GtkFileChooser *chooser
      = td_choose_name (self, _ ("Save the Picture"), name, image_pane_on_chosen, self);
  td_choose_file_add_filter (chooser, _ ("PNG: as it looks"), png);
  td_choose_file_add_filter (chooser, _ ("TIFF: the values (.tif)"), tiff);
}

static void
image_pane_picture_changed (TdImagePane *self)
{
  GAction *save = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "save");

  g_simple_action_set_enabled (G_SIMPLE_ACTION (save),
                               td_slice_view_get_image (self->view) != NULL);
  image_pane_update_profile (self);
  update_statistics (self);
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
  td_set_text (self->readout, text);
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
  image_pane_update_profile (self);
}

/* A narrow pane cuts the heading: its tooltip has the whole. Made when it is asked for, since the
 * heading changes with every slice. */
static gboolean
on_query_tooltip (GtkWidget *label, int x, int y, gboolean keyboard, GtkTooltip *tooltip,
                  TdImagePane *self)
{
  const char *subtitle = gtk_label_get_text (self->subtitle);
  const double zoom = td_slice_view_get_view (self->view, NULL)->zoom
                      * gtk_widget_get_scale_factor (GTK_WIDGET (self));
  g_autofree char *zoomed = g_strdup_printf (_ ("Zoom %.0f %%"), zoom * 100);
  g_autofree char *tip = g_strconcat (subtitle, *subtitle ? "\n" : "", zoomed, NULL);

  td_set_tooltip (label, tip);
  return FALSE; /* the toolkit shows it */
}

/* ── Interface ── */

void
td_image_pane_set_title (TdImagePane *self, const char *title)
{
  td_set_text (self->title, title);
  td_set_spoken_name (self->view, title);
}

void
td_image_pane_join_heading (TdImagePane *self, GtkSizeGroup *group)
{
  gtk_size_group_add_widget (group, self->heading);
}

void
td_image_pane_set_subtitle (TdImagePane *self, const char *subtitle)
{
  td_set_text (self->subtitle, subtitle ? subtitle : "");
  gtk_widget_set_visible (GTK_WIDGET (self->subtitle), subtitle && *subtitle);
}

void
td_image_pane_flip_image (TdImagePane *self, TdImage *image)
{
  td_image_pane_set_message (self, NULL);
  td_slice_view_set_image (self->view, image);
  td_histogram_set_image (self->histogram, image);
  update_readout (self);
  image_pane_picture_changed (self);
}

void
td_image_pane_set_image (TdImagePane *self, TdImage *image)
{
  td_image_pane_flip_image (self, image);
  if (image && self->auto_contrast)
    td_image_pane_set_automatic (self, TRUE);
}

TdImage *
td_image_pane_get_image (TdImagePane *self)
{
  return td_slice_view_get_image (self->view);
}

static void
show_spinner (TdImagePane *self, gboolean shown)
{
  /* It keeps its place while it is not seen: the window need not be laid out anew for it. */
  gtk_spinner_set_spinning (self->spinner, shown);
  gtk_widget_set_can_target (GTK_WIDGET (self->spinner), shown);
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
  if (updating == gtk_widget_has_css_class (GTK_WIDGET (self), "updating"))
    return;
  g_clear_handle_id (&self->spinner_timeout, g_source_remove);
  if (updating) {
    gtk_widget_add_css_class (GTK_WIDGET (self), "updating");
    self->spinner_timeout = g_timeout_add (SPINNER_AFTER_MS, on_spinner_timeout, self);
  } else {
    gtk_widget_remove_css_class (GTK_WIDGET (self), "updating");
    show_spinner (self, FALSE);
  }
}

void
td_image_pane_set_message (TdImagePane *self, const char *message)
{
  GAction *save = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "save");

  td_set_text (self->message, message ? message : "");
  gtk_widget_set_visible (self->message_box, message != NULL);
  /* The picture below it is an earlier one: of another row or recipe. */
  g_simple_action_set_enabled (G_SIMPLE_ACTION (save), message == NULL);
  td_set_style_class (self->view, "stale", message != NULL);
  for (GtkWidget *child; (child = gtk_widget_get_first_child (GTK_WIDGET (self->remedies)));)
    gtk_box_remove (self->remedies, child);
  gtk_widget_set_visible (GTK_WIDGET (self->remedies), FALSE);
}

void
td_image_pane_set_problem (TdImagePane *self, const GError *error)
{
  g_autofree char *words = td_label_error (error);

  if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    td_image_pane_set_message (self, words);
}

void
td_image_pane_offer (TdImagePane *self, const char *label, const char *action)
{
  GtkWidget *button = gtk_button_new_with_mnemonic (label);

  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_box_append (self->remedies, button);
  gtk_widget_set_visible (GTK_WIDGET (self->remedies), TRUE);
}

void
td_image_pane_set_badge (TdImagePane *self, const char *badge)
{
  td_set_text (self->badge, badge ? badge : "");
  gtk_widget_set_visible (GTK_WIDGET (self->badge), badge != NULL);
}

void
td_image_pane_set_readout (TdImagePane *self, TdReadout readout, gpointer user)
{
  self->describe = readout;
  self->describe_user = user;
}

void
td_image_pane_set_colour_map (TdImagePane *self, const char *name)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "colours");
  TdColourMap map;

  if (!td_colour_map_parse (name, &map))
    map = TD_COLOUR_GREY;
  td_slice_view_set_colour_map (self->view, map);
  td_histogram_set_colour_map (self->histogram, map);
  g_simple_action_set_state (G_SIMPLE_ACTION (action),
                             g_variant_new_string (td_colour_map_name (map)));
}

void
td_image_pane_renew (TdImagePane *self)
{
  td_image_pane_set_image (self, NULL);
  td_image_pane_set_automatic (self, TRUE);
  td_slice_view_renew (self->view);
}

void
td_image_pane_set_enlarged (TdImagePane *self, gboolean enlarged)
{
  gtk_toggle_button_set_active (self->enlarge, enlarged);
}

void
td_image_pane_set_histogram (TdImagePane *self, gboolean shown)
{
  gtk_widget_set_visible (GTK_WIDGET (self->histogram), shown);
}

int
td_image_pane_frame_height (TdImagePane *self, int width, gboolean histogram)
{
  GtkWidget *const parts[] = { self->heading, GTK_WIDGET (self->histogram) };
  int sum = 0;

  for (guint i = 0; i < (histogram ? 2 : 1); i++) {
    int least = 0;
    gtk_widget_measure (parts[i], GTK_ORIENTATION_VERTICAL, width, &least, NULL, NULL, NULL);
    sum += least;
  }
  return sum;
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
  gtk_box_insert_child_after (self->box, widget,
                              gtk_widget_get_prev_sibling (GTK_WIDGET (self->histogram)));
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
  td_image_pane_set_automatic (user, g_variant_get_boolean (state));
}

static void
on_colours (GSimpleAction *action, GVariant *state, gpointer user)
{
  td_image_pane_set_colour_map (user, g_variant_get_string (state, NULL));
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
  g_signal_emit_by_name (user, "option-toggled", g_variant_get_boolean (state));
}

static void
on_enlarge_toggled (GtkToggleButton *button, TdImagePane *self)
{
  gboolean enlarged = gtk_toggle_button_get_active (button);

  gtk_button_set_icon_name (GTK_BUTTON (button),
                            enlarged ? "view-restore-symbolic" : "view-fullscreen-symbolic");
  g_signal_emit_by_name (self, "enlarge-toggled", enlarged);
}

TD_DISPOSE (TdImagePane, td_image_pane)
{
  g_clear_handle_id (&self->spinner_timeout, g_source_remove);
  if (self->box)
    gtk_widget_unparent (GTK_WIDGET (self->box));
  self->box = NULL;
  g_clear_object (&self->actions);
}

static void
td_image_pane_class_init (TdImagePaneClass *class)
{
  td_ensure_types (TD_TYPE_SLICE_VIEW, TD_TYPE_HISTOGRAM, TD_TYPE_PROFILE);
  G_OBJECT_CLASS (class)->dispose = td_image_pane_dispose;
  td_bind_template (class, TdImagePane, "/org/tomodesk/ui/image-pane.ui", box, heading, words,
                    option_section, title, subtitle, message, message_box, remedies, readout, badge,
                    statistics, profile, spinner, enlarge, view, histogram);
  td_bind_callbacks (class, on_query_tooltip, on_pointed, image_pane_on_measured,
                     td_image_pane_set_range, image_pane_update_profile, on_auto_requested,
                     on_enlarge_toggled);
  td_signal_new (class, "enlarge-toggled", 1, G_TYPE_BOOLEAN);
  td_signal_new (class, "option-toggled", 1, G_TYPE_BOOLEAN);
  td_signal_new (class, "contrast-changed", 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
}

static void
td_image_pane_init (TdImagePane *self)
{
  static const GActionEntry entries[] = {
    { .name = "fit", .activate = on_fit },
    { .name = "one-to-one", .activate = on_one_to_one },
    { .name = "auto-contrast", .state = "true", .change_state = on_auto_contrast },
    { .name = "levels",
      .parameter_type = "s",
      .state = "'0.5'",
      .change_state = image_pane_on_levels },
    { .name = "colours", .parameter_type = "s", .state = "'grey'", .change_state = on_colours },
    { .name = "option", .state = "true", .change_state = image_pane_on_option },
    { .name = "smooth", .state = "false", .change_state = on_smooth },
    { .name = "profile", .state = "false", .change_state = on_profile },
    { .name = "save", .activate = on_save },
  };

  self->auto_contrast = TRUE;
  self->auto_fraction = 0.005;
  self->column = self->row = NAN;
  self->actions = g_simple_action_group_new ();
  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries),
                                   self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "pane", G_ACTION_GROUP (self->actions));
  gtk_widget_init_template (GTK_WIDGET (self));
  /* Large letters leave no room for both beside the buttons. */
  td_wrap (self->words, 8);
}
