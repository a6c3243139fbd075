/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-pins.h"

#include <adwaita.h>
#include <string.h>

#include "tests/common/pins.h"
#include "ui-test.h"
#include "ui/slice-view.h"
#include "window-test.h"

#define TRIES 1000    /* frames */
#define PATIENCE_S 60 /* where there are more frames in that time: what is awaited has none */
#define MOST_CHOICES 3
#define SCROLLING 40 /* frames, at the most */
#define CELLS_X 8
#define CELLS_Y 4

typedef struct {
  guint depth; /* what is said, and stands around */
  gboolean choosing;
  gboolean unsure; /* figures turn on how FFTW chose to transform, and on times */
  GStrvBuilder *lines;
} Looking;

/* What only this computer has, and what the pointer happens to lie on. */
/* Advice comes when the data were looked at anew, and what comes next is said then. */
static gboolean
window_pins_comes_late (GtkWidget *widget)
{
  const char *tip = gtk_widget_get_tooltip_text (widget);

  return g_str_equal (G_OBJECT_TYPE_NAME (widget), "TdAdviceGroup")
         || (tip && g_str_has_prefix (tip, "What comes next"))
         || (GTK_IS_LABEL (widget)
             && g_str_has_prefix (gtk_label_get_text (GTK_LABEL (widget)), "Next:"));
}

static gboolean
window_pins_skip (GtkWidget *widget)
{
  static const char *const own[]
      = { "TdDeviceRow", "TdDeviceGroup", "TdDevicesWindow", "GtkTooltipWindow" };

  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    if (g_str_equal (G_OBJECT_TYPE_NAME (widget), own[i]))
      return TRUE;
  return !gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget);
}

/* ── Drawings ── */

static gboolean
window_pins_is_drawn (GtkWidget *widget)
{
  static const char *const drawn[]
      = { "TdAxisPlot", "TdHistogram", "TdLabChart", "TdProfile", "TdSliceView", "TdSpaceView" };

  for (guint i = 0; i < G_N_ELEMENTS (drawn); i++)
    if (g_str_equal (G_OBJECT_TYPE_NAME (widget), drawn[i]))
      return TRUE;
  return GTK_IS_DRAWING_AREA (widget);
}

/* How dark each part is on white paper, in percent, row by row. */
static void
window_pins_draw (GtkWidget *widget, GString *says)
{
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double sums[CELLS_X * CELLS_Y] = { 0 };
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  GtkSnapshot *snapshot = gtk_snapshot_new ();

  gdk_paintable_snapshot (paintable, snapshot, width, height);
  GskRenderNode *node = gtk_snapshot_free_to_node (snapshot);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  cairo_t *cr = cairo_create (surface);
  cairo_set_source_rgb (cr, 1, 1, 1);
  cairo_paint (cr);
  if (node)
    gsk_render_node_draw (node, cr);
  g_clear_pointer (&node, gsk_render_node_unref);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  const int stride = cairo_image_surface_get_stride (surface);
  const guchar *pixels = cairo_image_surface_get_data (surface);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const guchar *p = pixels + (gsize) y * (gsize) stride + 4 * (gsize) x;
      sums[y * CELLS_Y / height * CELLS_X + x * CELLS_X / width]
          += 1 - (0.2 * p[0] + 0.3 * p[1] + 0.5 * p[2]) / 255;
    }
  cairo_surface_destroy (surface);
  g_string_append (says, " drawn");
  for (guint i = 0; i < G_N_ELEMENTS (sums); i++)
    g_string_append_printf (says, " %.1f",
                            100 * sums[i] / MAX (width * height, 1) * CELLS_X * CELLS_Y);
}

/* ── Words ── */

/* All that can be chosen. */
static void
window_pins_choices (GListModel *choices, guint chosen, GString *says)
{
  for (guint i = 0; choices && i < g_list_model_get_n_items (choices); i++) {
    g_autoptr (GObject) item = g_list_model_get_item (choices, i);
    if (GTK_IS_STRING_OBJECT (item))
      g_string_append_printf (says, "%s“%s”", i == chosen ? " > " : " ",
                              gtk_string_object_get_string (GTK_STRING_OBJECT (item)));
  }
}

/* What a reader of screens says, where it is not what is seen. */
static void
window_pins_spoken (GtkWidget *widget, GString *says)
{
  static const struct {
    GtkAccessibleProperty property;
    const char *word;
  } spoken[] = { { GTK_ACCESSIBLE_PROPERTY_LABEL, "called" },
                 { GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, "described" } };

  for (guint i = 0; i < G_N_ELEMENTS (spoken); i++) {
    if (g_strcmp0 (g_getenv ("GTK_A11Y"), "test") != 0
        || !gtk_test_accessible_has_property (GTK_ACCESSIBLE (widget), spoken[i].property))
      continue;
    g_autofree char *is = gtk_test_accessible_check_property (GTK_ACCESSIBLE (widget),
                                                              spoken[i].property, "", NULL);
    g_autofree char *seen = g_strdup_printf ("“%s”", is);
    if (is && !strstr (says->str, seen))
      g_string_append_printf (says, " %s “%s”", spoken[i].word, is);
  }
}

/* "": nothing to say. */
static void
window_pins_say (const Looking *looking, GtkWidget *widget, GString *says)
{
  static const char *const classes[] = {
    "wrong",    "error", "warning", "success", "accent", "suggested-action", "destructive-action",
    "dim-label"
  };
  const char *tip = gtk_widget_get_tooltip_text (widget);

  if (GTK_IS_LABEL (widget))
    g_string_append_printf (says, " “%s”", gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_TEXT (widget))
    g_string_append_printf (says, " text “%s”", gtk_editable_get_text (GTK_EDITABLE (widget)));
  if (tip)
    g_string_append_printf (says, " tip “%s”", tip);
  if (GTK_IS_SWITCH (widget))
    g_string_append_printf (says, " switch %d", gtk_switch_get_active (GTK_SWITCH (widget)));
  if (GTK_IS_TOGGLE_BUTTON (widget) && !GTK_IS_MENU_BUTTON (gtk_widget_get_parent (widget)))
    g_string_append_printf (says, " toggle %d",
                            gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (widget)));
  if (GTK_IS_CHECK_BUTTON (widget))
    g_string_append_printf (says, " check %d",
                            gtk_check_button_get_active (GTK_CHECK_BUTTON (widget)));
  if (GTK_IS_DROP_DOWN (widget))
    window_pins_choices (gtk_drop_down_get_model (GTK_DROP_DOWN (widget)),
                         gtk_drop_down_get_selected (GTK_DROP_DOWN (widget)), says);
  if (ADW_IS_COMBO_ROW (widget))
    window_pins_choices (adw_combo_row_get_model (ADW_COMBO_ROW (widget)),
                         adw_combo_row_get_selected (ADW_COMBO_ROW (widget)), says);
  if (GTK_IS_SPIN_BUTTON (widget)) {
    GtkAdjustment *number = gtk_spin_button_get_adjustment (GTK_SPIN_BUTTON (widget));
    g_string_append_printf (says, " number %s of %.6g to %.6g by %.6g, %u digits",
                            gtk_editable_get_text (GTK_EDITABLE (widget)),
                            gtk_adjustment_get_lower (number), gtk_adjustment_get_upper (number),
                            gtk_adjustment_get_step_increment (number),
                            gtk_spin_button_get_digits (GTK_SPIN_BUTTON (widget)));
  }
  if (GTK_IS_SCALE (widget)) {
    GtkAdjustment *number = gtk_range_get_adjustment (GTK_RANGE (widget));
    g_string_append_printf (says, " scale %.6g of %.6g to %.6g by %.6g",
                            gtk_adjustment_get_value (number), gtk_adjustment_get_lower (number),
                            gtk_adjustment_get_upper (number),
                            gtk_adjustment_get_step_increment (number));
  }
  if (GTK_IS_PROGRESS_BAR (widget))
    g_string_append_printf (says, " bar %.3f",
                            gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (widget)));
  if (GTK_IS_IMAGE (widget) && gtk_image_get_icon_name (GTK_IMAGE (widget)))
    g_string_append_printf (says, " icon %s", gtk_image_get_icon_name (GTK_IMAGE (widget)));
  if (GTK_IS_WINDOW (widget) && gtk_window_get_title (GTK_WINDOW (widget)))
    g_string_append_printf (says, " title “%s”", gtk_window_get_title (GTK_WINDOW (widget)));
  window_pins_spoken (widget, says);
  if (window_pins_is_drawn (widget))
    window_pins_draw (widget, says);
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (gtk_widget_has_css_class (widget, classes[i])
        && !(looking->choosing && g_str_equal (classes[i], "suggested-action")))
      g_string_append_printf (says, " .%s", classes[i]);
  if (!gtk_widget_get_sensitive (widget))
    g_string_append (says, " off");
}

/* What is of this computer and of the moment is N: times, memory, room on disks, and where the
   line is unsure all figures. */
static char *
window_pins_masked (const char *line, gboolean unsure)
{
  static GRegex *times, *figures;

  if (!times) {
    times = g_regex_new ("(less than )?[0-9][0-9.]*( min [0-9]+)? (ms|s|min|h|[KMGT]iB|[GT]B)\\b"
                         "|not known yet",
                         0, 0, NULL);
    figures = g_regex_new ("[0-9]+([.][0-9]+)?", 0, 0, NULL);
  }
  g_autofree char *timeless = g_regex_replace_literal (times, line, -1, 0, "N", 0, NULL);
  return g_regex_replace_literal (unsure ? figures : times, timeless, -1, 0, "N", 0, NULL);
}

static void
window_pins_line (Looking *looking, GtkWidget *widget, const char *says)
{
  g_autofree char *line
      = g_strdup_printf ("%*s%s%s", (int) looking->depth, "", G_OBJECT_TYPE_NAME (widget), says);
  g_autofree char *masked = window_pins_masked (line, looking->unsure);

  g_strv_builder_add (looking->lines, masked);
}

static void
window_pins_walk (Looking *looking, GtkWidget *widget)
{
  const Looking around = *looking;
  g_autoptr (GString) says = g_string_new (NULL);

  if (window_pins_skip (widget) || (looking->choosing && window_pins_comes_late (widget)))
    return;
  looking->unsure |= g_str_equal (G_OBJECT_TYPE_NAME (widget), "TdAxisAnswer")
                     || g_str_equal (G_OBJECT_TYPE_NAME (widget), "TdBatchWindow")
                     || g_str_equal (G_OBJECT_TYPE_NAME (widget), "TdLabTable");
  window_pins_say (looking, widget, says);
  if (says->len > 0 || g_str_has_prefix (G_OBJECT_TYPE_NAME (widget), "Td")) {
    window_pins_line (looking, widget, says->str);
    looking->depth++;
  }
  /* A number's parts say nothing more. */
  for (GtkWidget *child = GTK_IS_SPIN_BUTTON (widget) ? NULL : gtk_widget_get_first_child (widget);
       child; child = gtk_widget_get_next_sibling (child))
    window_pins_walk (looking, child);
  *looking = around;
}

static char **
window_pins_take (gpointer top, gboolean choosing)
{
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();
  Looking looking = { .choosing = choosing, .lines = lines };

  window_pins_walk (&looking, top);
  return g_strv_builder_end (lines);
}

/* "PLACE@4.8.3/1.2/253x17": the toolkit, and the size of its letters. */
static char *
window_pins_place (const char *place, GtkWidget *top)
{
  g_autoptr (PangoLayout) layout
      = gtk_widget_create_pango_layout (top, "Tomodesk 0123456789 µ°×–…");
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  return g_strdup_printf ("%s@%u.%u.%u/%u.%u/%dx%d", place, gtk_get_major_version (),
                          gtk_get_minor_version (), gtk_get_micro_version (),
                          adw_get_major_version (), adw_get_minor_version (), width, height);
}

/* A window that has no OpenGL says so. */
static gboolean
window_pins_are_compared (void)
{
  return g_strcmp0 (g_getenv ("LANGUAGE"), "C") == 0 && !g_getenv ("TOMODESK_MARKED")
         && !g_getenv ("TOMODESK_TEXT_PERCENT")
         && g_strcmp0 (g_getenv ("GDK_DEBUG"), "gl-disable") != 0;
}

/* What @now has, and @base has not, and the other way round. */
static char **
window_pins_change (char **base, char **now)
{
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();

  for (guint sign = 0; sign < 2; sign++) {
    g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);
    char **others = sign ? base : now, **these = sign ? now : base;
    for (guint i = 0; others[i]; i++)
      g_hash_table_insert (
          counts, others[i],
          GINT_TO_POINTER (1 + GPOINTER_TO_INT (g_hash_table_lookup (counts, others[i]))));
    for (guint i = 0; these[i]; i++) {
      const int left = GPOINTER_TO_INT (g_hash_table_lookup (counts, these[i])) - 1;
      g_autofree char *line
          = g_strdup_printf ("%c %s", sign ? '+' : '-', these[i] + strspn (these[i], " "));
      if (left < 0)
        g_strv_builder_add (lines, line);
      else
        g_hash_table_insert (counts, these[i], GINT_TO_POINTER (left));
    }
  }
  return g_strv_builder_end (lines);
}

/* Until nothing has changed for a while: whoever keeps figures has time. */
static void
window_pins_settle (gpointer top, guint times)
{
  g_auto (GStrv) before = NULL;

  for (guint same = 0; same < times;) {
    td_test_pause (500);
    char **now = window_pins_take (top, FALSE);
    same = before && g_strv_equal ((const char *const *) before, (const char *const *) now)
               ? same + 1
               : 0;
    g_strfreev (before);
    before = now;
  }
}

static void
window_pins_on_painted (GdkFrameClock *clock, gpointer painted)
{
  *(gboolean *) painted = TRUE;
}

static gboolean
window_pins_is_painted (gpointer painted)
{
  return *(gboolean *) painted;
}

/* After a frame everything has its size: nothing else can be drawn. A part of a window that is
   still hidden has no clock of its own. */
static void
window_pins_frame (GtkWidget *top)
{
  GdkFrameClock *own = gtk_widget_get_frame_clock (top);
  GdkFrameClock *clock
      = own ? own : gtk_widget_get_frame_clock (GTK_WIDGET (gtk_widget_get_root (top)));
  gboolean painted = FALSE;
  const gulong handler
      = g_signal_connect (clock, "after-paint", G_CALLBACK (window_pins_on_painted), &painted);

  gdk_frame_clock_request_phase (clock, GDK_FRAME_CLOCK_PHASE_AFTER_PAINT);
  td_test_wait (window_pins_is_painted, &painted, "a frame");
  g_signal_handler_disconnect (clock, handler);
}

/* What is wrong of what @top shows, of all or of what is other than @base (nullable). NULL: nothing
   in the end. */
static char *
window_pins_wrong (const char *place, gpointer top, char **base)
{
  g_autofree char *at = window_pins_place (place, top);
  g_autofree char *wrong = NULL;

  if (g_getenv ("TOMODESK_PINS_NEW"))
    window_pins_settle (top, base ? 2 : 4);
  else if (!td_test_pins_are_kept (at))
    return NULL;
  const gint64 until_us = g_get_monotonic_time () + (base ? 0 : PATIENCE_S * G_USEC_PER_SEC);
  for (guint i = 0; i < TRIES || g_get_monotonic_time () < until_us; i++) {
    window_pins_frame (top);
    g_auto (GStrv) shown = window_pins_take (top, base != NULL);
    g_auto (GStrv) lines = base ? window_pins_change (base, shown) : g_strdupv (shown);
    g_free (wrong);
    wrong = td_test_pins_wrong (at, lines);
    if (!wrong)
      return NULL;
  }
  return g_steal_pointer (&wrong);
}

static void
window_pins_pin (const char *place, gpointer top, char **base)
{
  g_autofree char *wrong = window_pins_wrong (place, top, base);

  if (wrong)
    g_error ("%s\nIf this is meant: tests/pins.py BUILD %s", wrong, g_get_prgname ());
}

void
td_test_pin_window (const char *place, gpointer top)
{
  if (g_getenv ("TOMODESK_PICTURES"))
    td_test_screenshot (top, place);
  if (window_pins_are_compared ())
    window_pins_pin (place, top, NULL);
}

/* ── Actions ── */

/* What is seen below @widget, of one of the types. */
static void
window_pins_collect (GtkWidget *widget, const GType *types, GPtrArray *found)
{
  const char *tip = gtk_widget_get_tooltip_text (widget);

  if (window_pins_skip (widget) || (GTK_IS_MENU_BUTTON (widget) && types[0] != GTK_TYPE_MENU_BUTTON)
      || (tip && g_str_has_prefix (tip, "Play "))) /* a movie is never at rest */
    return;
  for (guint i = 0; types[i]; i++)
    if (g_type_is_a (G_OBJECT_TYPE (widget), types[i])) {
      g_ptr_array_add (found, g_object_ref (widget));
      return;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    window_pins_collect (child, types, found);
}

static gboolean
window_pins_has_size (gpointer popover)
{
  return gtk_widget_get_mapped (popover) && gtk_widget_get_width (popover) > 0;
}

static gboolean
window_pins_is_in_sight (gpointer widget)
{
  GtkWidget *top = GTK_WIDGET (gtk_widget_get_root (widget));
  graphene_rect_t at;

  return gtk_widget_compute_bounds (widget, top, &at) && at.origin.y > 0
         && at.origin.y + at.size.height <= gtk_widget_get_height (top);
}

static gboolean
window_pins_is_closed (gpointer popover)
{
  return !gtk_widget_get_mapped (popover);
}

void
td_test_pin_popovers (const char *place, gpointer top)
{
  static GHashTable *seen;
  const GType types[] = { GTK_TYPE_MENU_BUTTON, ADW_TYPE_COMBO_ROW, 0 };
  g_autoptr (GPtrArray) buttons = g_ptr_array_new_with_free_func (g_object_unref);

  if (!window_pins_are_compared ())
    return;
  if (!seen)
    seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  window_pins_collect (top, types, buttons);
  for (guint i = 0; i < buttons->len; i++) {
    GtkWidget *button = buttons->pdata[i];
    const gboolean menu = GTK_IS_MENU_BUTTON (button);
    const char *tip = gtk_widget_get_tooltip_text (button);
    const char *label = menu ? gtk_menu_button_get_label (GTK_MENU_BUTTON (button))
                             : adw_preferences_row_get_title (ADW_PREFERENCES_ROW (button));
    if (!gtk_widget_get_mapped (button) || !gtk_widget_is_sensitive (button)
        || !g_hash_table_add (seen, g_strdup_printf ("%s %s", tip, label)))
      continue;
    g_autofree char *at = g_strdup_printf ("%s-menu-%s", place, tip ? tip : label);
    g_strdelimit (at, " :", '-');
    if (!menu) { /* a list needs a place beside its row */
      gtk_widget_grab_focus (button);
      for (guint k = 0; k < SCROLLING && !window_pins_is_in_sight (button); k++)
        window_pins_frame (top);
      if (!window_pins_is_in_sight (button)) {
        g_test_message ("%s: out of sight", at);
        continue;
      }
      gtk_popover_popup (GTK_POPOVER (td_test_find (button, GTK_TYPE_POPOVER, NULL, NULL)));
    } else
      gtk_menu_button_popup (GTK_MENU_BUTTON (button));
    gpointer popover = td_test_find (button, GTK_TYPE_POPOVER, NULL, NULL);
    td_test_wait (window_pins_has_size, popover, at);
    window_pins_pin (at, popover, NULL);
    gtk_popover_popdown (popover);
    td_test_wait (window_pins_is_closed, popover, at);
  }
}

/* Chooses number @way of what else can be chosen, and then what was; FALSE: there are fewer. */
static gboolean
window_pins_choose (GtkWidget *control, guint way, void (*look) (gpointer user), gpointer user)
{
  if (ADW_IS_COMBO_ROW (control) || GTK_IS_DROP_DOWN (control)) {
    g_autoptr (GListModel) model = NULL;
    guint before;
    g_object_get (control, "model", &model, "selected", &before, NULL);
    const guint other = way + (way >= before);
    if (!model || other >= g_list_model_get_n_items (model))
      return FALSE;
    g_object_set (control, "selected", other, NULL);
    look (user);
    g_object_set (control, "selected", before, NULL);
  } else if (way > 0)
    return FALSE;
  else if (TD_IS_SLICE_VIEW (control)) {
    const TdImage *image = td_slice_view_get_image (TD_SLICE_VIEW (control));
    if (!image)
      return FALSE;
    g_signal_emit_by_name (control, "pointed", image->extent_width / 2, image->extent_height / 2,
                           TRUE);
    look (user);
    g_signal_emit_by_name (control, "pointed", 0.0, 0.0, FALSE);
  } else if (GTK_IS_SPIN_BUTTON (control)) {
    const double before = gtk_spin_button_get_value (GTK_SPIN_BUTTON (control));
    gtk_spin_button_spin (GTK_SPIN_BUTTON (control), GTK_SPIN_STEP_FORWARD, 0);
    look (user);
    gtk_spin_button_set_value (GTK_SPIN_BUTTON (control), before);
  } else {
    gboolean on;
    g_object_get (control, "active", &on, NULL);
    g_object_set (control, "active", !on, NULL);
    look (user);
    g_object_set (control, "active", on, NULL);
  }
  return TRUE;
}

typedef struct {
  gpointer top;
  char **base, *at, *wrong;
} Choosing;

static void
window_pins_look (gpointer user)
{
  Choosing *choosing = user;

  g_free (choosing->wrong);
  choosing->wrong = window_pins_wrong (choosing->at, choosing->top, choosing->base);
}

/* The pointer of the screen lies somewhere: pictures do not follow it any more. */
static gboolean
window_pins_leave (GtkWidget *widget, gpointer unused)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);

  for (guint i = 0; TD_IS_SLICE_VIEW (widget) && i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
    if (GTK_IS_EVENT_CONTROLLER_MOTION (one))
      gtk_event_controller_set_propagation_phase (one, GTK_PHASE_NONE);
  }
  if (TD_IS_SLICE_VIEW (widget))
    g_signal_emit_by_name (widget, "pointed", 0.0, 0.0, FALSE);
  return FALSE;
}

/* As it stays: not on its way to another size, nor before something comes. */
static char **
window_pins_at_rest (gpointer top)
{
  char **before = window_pins_take (top, TRUE);

  for (guint i = 0; i < TRIES; i++) {
    td_test_frames (top);
    char **now = window_pins_take (top, TRUE);
    const gboolean same = g_strv_equal ((const char *const *) before, (const char *const *) now);
    g_strfreev (before);
    before = now;
    if (same)
      break;
  }
  return before;
}

void
td_test_pin_choices (const char *place, gpointer top)
{
  const GType types[]
      = { ADW_TYPE_COMBO_ROW,    GTK_TYPE_DROP_DOWN,     GTK_TYPE_SPIN_BUTTON, GTK_TYPE_SWITCH,
          GTK_TYPE_CHECK_BUTTON, GTK_TYPE_TOGGLE_BUTTON, TD_TYPE_SLICE_VIEW,   0 };
  g_autoptr (GPtrArray) controls = g_ptr_array_new_with_free_func (g_object_unref);

  if (!window_pins_are_compared ())
    return;
  td_test_find (top, GTK_TYPE_WIDGET, window_pins_leave, NULL);
  g_auto (GStrv) base = window_pins_at_rest (top);
  window_pins_collect (top, types, controls);
  for (guint i = 0; i < controls->len; i++)
    for (guint way = 0, tries = 0;;) {
      g_autofree char *at = g_strdup_printf ("%s-choice-%u-%u", place, i + 1, way + 1);
      Choosing choosing = { top, base, at, NULL };
      GtkWidget *control = controls->pdata[i];
      if (!gtk_widget_get_mapped (control) || !gtk_widget_is_sensitive (control)
          || !window_pins_choose (control, way, window_pins_look, &choosing))
        break;
      /* What was chosen before may come in between: it is chosen again. */
      if (choosing.wrong && ++tries == MOST_CHOICES)
        g_error ("%s", choosing.wrong);
      way += !choosing.wrong;
      g_free (choosing.wrong);
    }
}
