/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A picture's view by itself. It tells its owner about each thing that a hand does, and looks
   elsewhere. What it draws over the picture is where it belongs. */
#include <math.h>
#include <string.h>

#include <adwaita.h>

#include "hand.h"
#include "ui-test.h"
#include "ui/image-pane.h"
#include "ui/slice-view.h"
#include "ui/ui.h"
#include "window-test.h"

#define FOCUS_SHOWN_S 3 /* GTK hides again where the keyboard is: here it does not */

guint
g_timeout_add_seconds (guint interval, GSourceFunc function, gpointer user)
{
  return g_timeout_add_seconds_full (
      G_PRIORITY_DEFAULT, interval == FOCUS_SHOWN_S ? G_MAXINT : interval, function, user, NULL);
}

/* A view of 200 × 100 pixels with a picture of 50 × 40, of which one takes two. So picture (24.5,
   19.5) is at (100, 50). */
enum { WIDTH = 200, HEIGHT = 100, COLUMNS = 50, ROWS = 40 };

typedef struct {
  GtkWidget *window, *box;
  TdSliceView *view;
  TdImage *image;
  GString *told; /* by signals since the last look */
} Desk;

static void
desk_tell (GClosure *closure, GValue *result, guint n, const GValue *values, gpointer hint,
           gpointer data)
{
  Desk *desk = closure->data;
  const char *name = g_signal_name (((GSignalInvocationHint *) hint)->signal_id);

  if (desk->told->len)
    g_string_append (desk->told, "; ");
  g_string_append (desk->told, name);
  if (strcmp (name, "view-changed") == 0) {
    gboolean fitted;
    const TdView *view = td_slice_view_get_view (desk->view, &fitted);
    g_string_append_printf (desk->told, " %.5g at %.4g %.4g%s", view->zoom, view->x + 0,
                            view->y + 0, fitted ? " fitted" : "");
  }
  for (guint i = 1; i < n; i++)
    if (G_VALUE_HOLDS_DOUBLE (&values[i]))
      g_string_append_printf (desk->told, " %.5g", g_value_get_double (&values[i]) + 0);
    else if (G_VALUE_HOLDS_INT (&values[i]))
      g_string_append_printf (desk->told, " %d", g_value_get_int (&values[i]));
    else if (G_VALUE_HOLDS_UINT (&values[i]))
      g_string_append_printf (desk->told, " #%u", g_value_get_uint (&values[i]));
    else if (G_VALUE_HOLDS_BOOLEAN (&values[i]))
      g_string_append (desk->told, g_value_get_boolean (&values[i]) ? " yes" : " no");
    else {
      const TdMeasure *measure = g_value_get_pointer (&values[i]);
      g_string_append_printf (desk->told, " %d:", measure->kind);
      for (guint k = 0; k < td_measure_points (measure->kind); k++)
        g_string_append_printf (desk->told, " %g,%g", measure->points[k][0], measure->points[k][1]);
    }
}

static gboolean
is_wide (gpointer widget)
{
  return gtk_widget_get_width (widget) == WIDTH && gtk_widget_get_height (widget) == HEIGHT;
}

static TdImage *
image_of (double value, guint columns, guint rows)
{
  float *pixels = g_new (float, columns *rows);

  for (guint i = 0; i < columns * rows; i++)
    pixels[i] = (float) value;
  return td_image_new_take (pixels, columns, rows);
}

static void
desk_look_again (Desk *desk)
{
  td_slice_view_set_view (desk->view, &(TdView) { .zoom = 2 }, FALSE);
  td_slice_view_set_range (desk->view, 0, 1);
  g_string_truncate (desk->told, 0);
}

static void
desk_init (Desk *desk)
{
  *desk = (Desk) { .window = gtk_window_new (), .told = g_string_new (NULL) };
  guint n;
  g_autofree guint *ids = NULL;

  desk->view = g_object_new (TD_TYPE_SLICE_VIEW, "hexpand", FALSE, "vexpand", FALSE, NULL);
  desk->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  desk->image = image_of (0.5, COLUMNS, ROWS);
  gtk_widget_set_size_request (GTK_WIDGET (desk->view), WIDTH, HEIGHT);
  gtk_widget_set_halign (GTK_WIDGET (desk->view), GTK_ALIGN_START);
  gtk_widget_set_valign (GTK_WIDGET (desk->view), GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (desk->box), GTK_WIDGET (desk->view));
  gtk_window_set_child (GTK_WINDOW (desk->window), desk->box);
  gtk_window_set_default_size (GTK_WINDOW (desk->window), WIDTH, HEIGHT);
  gtk_window_present (GTK_WINDOW (desk->window));
  ids = g_signal_list_ids (TD_TYPE_SLICE_VIEW, &n);
  for (guint i = 0; i < n; i++) {
    GClosure *closure = g_closure_new_simple (sizeof (GClosure), desk);
    g_closure_set_marshal (closure, desk_tell);
    g_signal_connect_closure_by_id (desk->view, ids[i], 0, closure, FALSE);
  }
  td_slice_view_set_image (desk->view, desk->image);
  int least, usual;
  gtk_widget_set_size_request (GTK_WIDGET (desk->view), -1, -1);
  gtk_widget_measure (GTK_WIDGET (desk->view), GTK_ORIENTATION_HORIZONTAL, -1, &least, &usual, NULL,
                      NULL);
  g_assert_cmpint (least, ==, 80);
  g_assert_cmpint (usual, ==, 320);
  gtk_widget_set_size_request (GTK_WIDGET (desk->view), WIDTH, HEIGHT);
  td_test_wait (is_wide, desk->view, "the view's size");
  desk_look_again (desk);
}

static void
desk_clear (Desk *desk)
{
  gtk_window_destroy (GTK_WINDOW (desk->window));
  td_image_unref (desk->image);
  g_string_free (desk->told, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Desk, desk_clear)

static void
desk_assert_told (Desk *desk, guint i, const char *told)
{
  g_test_message ("%u: %s", i, desk->told->str);
  g_assert_cmpstr (desk->told->str, ==, told);
  g_string_truncate (desk->told, 0);
}

/* ── Drags ── */

typedef struct {
  guint button;
  GdkModifierType keys;
  double x, y, dx, dy; /* in one move */
  const char *told;
} Drag;

static void
desk_drag (Desk *desk, const Drag *drags, guint n)
{
  gpointer drag = hand_on (desk->view, GTK_TYPE_GESTURE_DRAG);

  for (guint i = 0; i < n; i++) {
    held_button = drags[i].button;
    held_keys = drags[i].keys;
    g_assert_cmpuint (td_slice_view_get_drag (desk->view), ==, 0);
    g_signal_emit_by_name (drag, "drag-begin", drags[i].x, drags[i].y);
    const guint number = td_slice_view_get_drag (desk->view);
    g_assert_cmpuint (number, >, 0);
    g_signal_emit_by_name (drag, "drag-update", drags[i].dx, drags[i].dy);
    g_signal_emit_by_name (drag, "drag-end", drags[i].dx, drags[i].dy);
    g_signal_emit_by_name (drag, "drag-update", 50.0, 50.0); /* it is over */
    desk_assert_told (desk, i, drags[i].told);
    held_button = GDK_BUTTON_SECONDARY; /* a click that picks nothing */
    held_keys = 0;
    g_signal_emit_by_name (drag, "drag-begin", 5.0, 5.0);
    g_assert_cmpuint (td_slice_view_get_drag (desk->view), ==, number + 1);
    g_signal_emit_by_name (drag, "drag-end", 0.0, 0.0);
    desk_look_again (desk);
  }
}

#define ONE GDK_BUTTON_PRIMARY
#define TWO GDK_BUTTON_MIDDLE
#define THREE GDK_BUTTON_SECONDARY
#define SHIFT GDK_SHIFT_MASK
#define CTRL GDK_CONTROL_MASK
#define ALT GDK_ALT_MASK

/* Panning, clicks, contrast, regions and boxes; a drag of less than four pixels is a click. */
static void
test_drags (void)
{
  static const Drag drags[] = {
    { ONE, 0, 100, 50, 20, 10, "view-changed 2 at -10 -5" },
    { TWO, 0, 100, 50, -4, 0, "view-changed 2 at 2 0" },
    { ONE, 0, 100, 50, 3.9, 0, "picked 24.5 19.5" },
    { ONE, 0, 60, 20, 0, -3, "picked 4.5 4.5" },
    { TWO, 0, 100, 50, 1, 0, "" },
    { THREE, 0, 100, 50, 1, 0, "" },
    { THREE, 0, 100, 50, 200, 0, "range-changed -0.85914 1.8591" },
    { THREE, 0, 100, 50, 0, -30, "range-changed -0.1 0.9" },
    { ONE, SHIFT, 61, 21, 18, 28, "region-drawn 5 5 10 15" },
    { ONE, SHIFT, 79, 49, -18, -28, "region-drawn 5 5 10 15" },
    { ONE, SHIFT, 10, 90, 180, -90, "region-drawn 0 0 50 40" },
    { ONE, SHIFT, 2, 51, 8, 4, "region-drawn 0 20 1 3" },
    { ONE, SHIFT, 60, 20, 1, 1, "picked 4.5 4.5" },
    { ONE, CTRL, 61, 21, 18, 28, "measured 5 5 10 15" },
    { ONE, CTRL, 60, 20, 1, 1, "measured 0 0 0 0" },
    { TWO, SHIFT, 100, 50, 0, 8, "view-changed 2 at 0 -4" },
  };
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  desk_drag (&desk, drags, G_N_ELEMENTS (drags));
  /* Another place and another contrast, which are neither 0 nor even. */
  static const Drag elsewhere[] = {
    { ONE, 0, 100, 50, 20, 10, "view-changed 2 at -6 -8" },
    { TWO, SHIFT, 100, 50, -8, 6, "view-changed 2 at 8 -6" },
    { ONE, 0, 100, 50, 1, 0, "picked 28.5 16.5" },
    { THREE, 0, 100, 50, 200, 0, "range-changed 1.1409 3.8591" },
    { THREE, 0, 100, 50, 0, -30, "range-changed 1.9 2.9" },
    { THREE, 0, 100, 50, 100, 60, "range-changed 1.8756 3.5244" },
    { ONE, SHIFT, 61, 21, 18, 28, "region-drawn 9 2 10 15" },
    { ONE, CTRL, 61, 21, 18, 28, "measured 9 2 10 15" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (elsewhere); i++) {
    td_slice_view_set_view (desk.view, &(TdView) { .x = 4, .y = -3, .zoom = 2 }, FALSE);
    td_slice_view_set_range (desk.view, 2, 3);
    g_string_truncate (desk.told, 0);
    desk_drag (&desk, &elsewhere[i], 1);
  }
  /* Where nobody takes a region, none is left on the picture. */
  static const Drag untaken[] = { { ONE, SHIFT, 61, 21, 18, 28, "view-changed 2 at -9 -14" } };
  const guint drawn = g_signal_lookup ("region-drawn", TD_TYPE_SLICE_VIEW);
  g_signal_handler_disconnect (
      desk.view, g_signal_handler_find (desk.view, G_SIGNAL_MATCH_ID, drawn, 0, NULL, NULL, NULL));
  desk_drag (&desk, untaken, G_N_ELEMENTS (untaken));
}

/* A drag begins on what is nearest on top: the wipe, a grip, where two lines cross, a line. */
static void
test_lines (void)
{
  /* The row 10 is at y = 31, the column 30 at x = 111; they may be dragged. */
  static const Drag lines[] = {
    { ONE, 0, 60, 31, 0, 20, "line-moved 20" },
    { ONE, 0, 60, 38, 0, -80, "line-moved 0" },
    { ONE, 0, 60, 24, 0, 80, "line-moved 39" },
    { ONE, 0, 60, 38.5, 10, 0, "view-changed 2 at -5 0" },
    { ONE, 0, 111, 80, 5, 0, "column-moved 32.5" },
    { ONE, 0, 104, 80, 0.333, 4, "column-moved 26.67" },
    { ONE, 0, 118.5, 80, 5, 0, "view-changed 2 at -2.5 0" },
    { ONE, 0, 115, 33, 10, 10, "line-moved 16; column-moved 37" },
    { THREE, 0, 111, 31, 0, 30, "range-changed 0.1 1.1" },
    { ONE, SHIFT, 60, 31, 0, 20, "line-moved 20" },
  };
  /* An axis through column 30 at row 19.5, half a column a row: at y = 20 it is 7.5 columns left.
   */
  static const Drag axis[] = {
    { ONE, 0, 111, 50, 4, 0, "column-moved 32" },
    { ONE, 0, 96, 20, 4, 0, "column-moved 32" },
    { ONE, 0, 126, 80, 0, 10, "column-moved 27.5" },
    { ONE, 0, 111, 20, 4, 0, "view-changed 2 at -2 0" },
  };
  /* The grips 0 and 1 are at (61, 21) and (151, 71), the wipe in the middle. */
  static const Drag grips[] = {
    { ONE, 0, 61, 21, -6, 4, "grip-moved #0 2 7" },
    { ONE, 0, 151, 80, 8, 0, "grip-moved #1 54 34.5" },
    { ONE, 0, 151, 80.5, 8, 0, "view-changed 2 at -4 0" },
    { ONE, 0, 61, 21, 1, 1, "picked 5 5" },
    { TWO, 0, 61, 21, 10, 0, "view-changed 2 at -5 0" },
  };
  static const Drag wipes[] = {
    { ONE, 0, 100, 21, 10, 0, "" },
    { ONE, 0, 113, 21, 400, 0, "" },
    { ONE, 0, 203, 21, -400, 0, "" },
    { ONE, 0, -3, 21, 103, 0, "" },
    { ONE, 0, 89, 21, 10, 0, "view-changed 2 at -5 0" },
  };
  const double points[3][2] = { { 5, 5 }, { 50, 30 }, { 24, 20 } };
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    td_slice_view_set_row_line (desk.view, 10, TRUE);
    td_slice_view_set_column_line (desk.view, 30, TRUE);
    desk_drag (&desk, &lines[i], 1);
  }
  td_slice_view_set_row_line (desk.view, 10, FALSE);
  td_slice_view_set_column_line (desk.view, 30, FALSE);
  desk_drag (&desk, &(Drag) { ONE, 0, 111, 31, 10, 0, "view-changed 2 at -5 0" }, 1);
  td_slice_view_set_row_line (desk.view, NAN, TRUE);
  td_slice_view_set_column_line (desk.view, NAN, TRUE);
  desk_drag (&desk, &(Drag) { ONE, 0, 111, 31, 10, 0, "view-changed 2 at -5 0" }, 1);
  for (guint i = 0; i < G_N_ELEMENTS (axis); i++) {
    td_slice_view_set_axis_line (desk.view, 30, 19.5, 0.5);
    desk_drag (&desk, &axis[i], 1);
  }
  td_slice_view_set_column_line (desk.view, NAN, FALSE);
  td_slice_view_set_grips (desk.view, points, G_N_ELEMENTS (points));
  desk_drag (&desk, grips, G_N_ELEMENTS (grips));
  td_slice_view_set_grips (desk.view, points, 0);
  td_slice_view_set_second (desk.view, desk.image);
  desk_drag (&desk, wipes, G_N_ELEMENTS (wipes));
  td_slice_view_set_second (desk.view, NULL);
  desk_drag (&desk, &(Drag) { ONE, 0, 100, 21, 10, 0, "view-changed 2 at -5 0" }, 1);
}

/* A tool draws instead of panning, also where a line that can be dragged lies under it. An angle
   takes two drags, of which the second may be a click. */
static void
test_tools (void)
{
  static const struct {
    int tool;
    Drag drag;
  } drags[] = {
    { TD_MEASURE_DISTANCE, { ONE, 0, 60, 20, 20, 30, "drawn 0: 4.5,4.5 14.5,19.5" } },
    { TD_MEASURE_DISTANCE, { ONE, 0, 60, 20, 1, 1, "" } },
    { TD_MEASURE_LINE, { ONE, 0, 100, 50, -10, 0, "drawn 2: 24.5,19.5 19.5,19.5" } },
    { TD_MEASURE_REGION, { ONE, 0, 100, 50, -10, 4, "drawn 3: 24.5,19.5 19.5,21.5" } },
    { TD_MEASURE_ANGLE, { ONE, 0, 60, 20, 20, 0, "" } },
    { TD_MEASURE_ANGLE, { ONE, 0, 80, 24, 0, 20, "drawn 1: 4.5,4.5 14.5,4.5 14.5,16.5" } },
    { TD_MEASURE_ANGLE, { ONE, 0, 60, 20, 1, 0, "" } },
    { TD_MEASURE_ANGLE, { ONE, 0, 60, 20, 20, 0, "" } },
    { TD_MEASURE_ANGLE, { ONE, 0, 90, 50, 0, 0, "drawn 1: 4.5,4.5 14.5,4.5 19.5,19.5" } },
    { TD_MEASURE_LINE, { ONE, SHIFT, 61, 21, 18, 28, "region-drawn 5 5 10 15" } },
    { TD_MEASURE_LINE, { ONE, CTRL, 61, 21, 18, 28, "measured 5 5 10 15" } },
    { TD_MEASURE_LINE, { TWO, 0, 100, 50, 20, 0, "view-changed 2 at -10 0" } },
    { -1, { ONE, 0, 100, 50, 20, 0, "view-changed 2 at -10 0" } },
  };
  g_auto (Desk) desk = { 0 };
  gpointer drag;

  desk_init (&desk);
  drag = hand_on (desk.view, GTK_TYPE_GESTURE_DRAG);
  for (guint i = 0; i < G_N_ELEMENTS (drags); i++) {
    const Drag *one = &drags[i].drag;
    if (i == 0 || drags[i].tool != drags[i - 1].tool)
      td_slice_view_set_tool (desk.view, drags[i].tool);
    td_slice_view_set_row_line (desk.view, one->keys ? NAN : 4.5, TRUE);
    td_slice_view_set_column_line (desk.view, one->keys ? NAN : 4.5, TRUE);
    held_button = one->button;
    held_keys = one->keys;
    g_signal_emit_by_name (drag, "drag-begin", one->x, one->y);
    g_signal_emit_by_name (drag, "drag-update", one->dx, one->dy);
    g_signal_emit_by_name (drag, "drag-end", one->dx, one->dy);
    desk_assert_told (&desk, i, one->told);
    desk_look_again (&desk);
  }
  /* A tool that goes, or a picture of something else, while the button is held ends the drag. */
  for (guint i = 0; i < 2; i++) {
    held_button = GDK_BUTTON_PRIMARY;
    held_keys = 0;
    td_slice_view_set_tool (desk.view, TD_MEASURE_LINE);
    g_signal_emit_by_name (drag, "drag-begin", 60.0, 20.0);
    g_signal_emit_by_name (drag, "drag-update", 20.0, 0.0);
    if (i == 0)
      td_slice_view_set_tool (desk.view, TD_MEASURE_REGION);
    else
      td_slice_view_renew (desk.view);
    g_string_truncate (desk.told, 0);
    g_signal_emit_by_name (drag, "drag-update", 30.0, 10.0);
    g_signal_emit_by_name (drag, "drag-end", 30.0, 10.0);
    desk_assert_told (&desk, i, "");
    desk_look_again (&desk);
  }
  /* Another tool begins anew. */
  td_slice_view_set_tool (desk.view, TD_MEASURE_ANGLE);
  for (guint i = 0; i < 2; i++) {
    held_button = GDK_BUTTON_PRIMARY;
    held_keys = 0;
    g_signal_emit_by_name (drag, "drag-begin", 60.0, 20.0);
    g_signal_emit_by_name (drag, "drag-update", 20.0, 0.0);
    g_signal_emit_by_name (drag, "drag-end", 20.0, 0.0);
    td_slice_view_set_tool (desk.view, TD_MEASURE_DISTANCE);
    desk_assert_told (&desk, i, i ? "drawn 0: 4.5,4.5 14.5,4.5" : "");
  }
}

/* ── Keys, the wheel and the pointer ── */

static void
test_keys (void)
{
  static const struct {
    guint key;
    GdkModifierType state;
    const char *told;
  } keys[] = {
    { GDK_KEY_Left, 0, "nudged -1 0 no" },
    { GDK_KEY_KP_Right, SHIFT, "nudged 1 0 yes" },
    { GDK_KEY_Up, ALT, "shifted 0 -1 no" },
    { GDK_KEY_KP_Down, ALT | SHIFT, "shifted 0 1 yes" },
    { GDK_KEY_KP_Left, CTRL, "view-changed 2 at -20 0" },
    { GDK_KEY_Right, CTRL | ALT, "view-changed 2 at 20 0" },
    { GDK_KEY_KP_Up, CTRL, "view-changed 2 at 0 -20" },
    { GDK_KEY_Down, CTRL, "view-changed 2 at 0 20" },
    { GDK_KEY_plus, 0, "view-changed 2.5 at 0 0" },
    { GDK_KEY_equal, 0, "view-changed 2.5 at 0 0" },
    { GDK_KEY_KP_Add, 0, "view-changed 2.5 at 0 0" },
    { GDK_KEY_minus, 0, "view-changed 1.6 at 0 0" },
    { GDK_KEY_KP_Subtract, 0, "view-changed 1.6 at 0 0" },
    { GDK_KEY_0, 0, "view-changed 2.45 at 0 0 fitted" },
    { GDK_KEY_KP_0, 0, "view-changed 2.45 at 0 0 fitted" },
    { GDK_KEY_1, 0, "view-changed 1 at 0 0" },
    { GDK_KEY_KP_1, 0, "view-changed 1 at 0 0" },
    { GDK_KEY_2, 0, NULL },
    { GDK_KEY_a, 0, NULL },
  };
  g_auto (Desk) desk = { 0 };
  gboolean taken;

  desk_init (&desk);
  gpointer typed = hand_on (desk.view, GTK_TYPE_EVENT_CONTROLLER_KEY);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_signal_emit_by_name (typed, "key-pressed", keys[i].key, 0, keys[i].state, &taken);
    g_assert_cmpint (taken, ==, keys[i].told != NULL);
    desk_assert_told (&desk, i, keys[i].told ? keys[i].told : "");
    desk_look_again (&desk);
  }
}

static void
test_pointer (void)
{
  static const struct {
    double x, y;
    const char *cursor, *told;
  } moves[] = {
    { 100, 50, "crosshair", "pointed 24.5 19.5 yes" },
    { 50, 10, "crosshair", "pointed -0.5 -0.5 yes" },
    { 49.9, 60, "crosshair", "pointed -0.55 24.5 no" },
    { 149.9, 89.9, "crosshair", "pointed 49.45 39.45 yes" },
    { 150, 60, "crosshair", "pointed 49.5 24.5 no" },
    { 120, 90, "crosshair", "pointed 34.5 39.5 no" },
    { 80, 9.9, "crosshair", "pointed 14.5 -0.55 no" },
    { 80, 38, "row-resize", "pointed 14.5 13.5 yes" },
    { 80, 38.1, "crosshair", "pointed 14.5 13.55 yes" },
    { 104, 60, "col-resize", "pointed 26.5 24.5 yes" },
    { 118, 24, "move", "pointed 33.5 6.5 yes" },
    { 118.1, 24, "row-resize", "pointed 33.55 6.5 yes" },
    { 61, 80, "grab", "pointed 5 34.5 yes" },
  };
  const double grip[2][2] = { { 5, 35 }, { 0 } };
  g_auto (Desk) desk = { 0 };
  gboolean taken;

  desk_init (&desk);
  gpointer motion = hand_on (desk.view, GTK_TYPE_EVENT_CONTROLLER_MOTION);
  gpointer scroll = hand_on (desk.view, GTK_TYPE_EVENT_CONTROLLER_SCROLL);
  td_slice_view_set_row_line (desk.view, 10, TRUE);
  td_slice_view_set_column_line (desk.view, 30, TRUE);
  td_slice_view_set_grips (desk.view, grip, 1);
  for (guint i = 0; i < G_N_ELEMENTS (moves); i++) {
    g_signal_emit_by_name (motion, "motion", moves[i].x, moves[i].y);
    desk_assert_told (&desk, i, moves[i].told);
    GdkCursor *cursor = gtk_widget_get_cursor (GTK_WIDGET (desk.view));
    g_assert_cmpstr (gdk_cursor_get_name (cursor), ==, moves[i].cursor);
  }
  g_signal_emit_by_name (motion, "leave");
  desk_assert_told (&desk, 0, "pointed 0 0 no");

  /* The wheel zooms about the pointer: what is there stays. */
  g_signal_emit_by_name (motion, "motion", 140.0, 30.0);
  g_string_truncate (desk.told, 0);
  held_keys = 0;
  g_signal_emit_by_name (scroll, "scroll", 0.0, -1.0, &taken);
  g_assert_true (taken);
  desk_assert_told (&desk, 1, "view-changed 2.36 at 3.051 -1.525; pointed 44.5 9.5 yes");
  g_signal_emit_by_name (scroll, "scroll", 0.0, 2.0, &taken);
  desk_assert_told (&desk, 2, "view-changed 1.6949 at -3.6 1.8; pointed 44.5 9.5 yes");
  desk_look_again (&desk);
  td_slice_view_set_wheel_steps (desk.view, TRUE);
  static const struct {
    double by;
    GdkModifierType keys;
    const char *told;
  } turns[] = { { 1, 0, "stepped 1" },
                { -2, SHIFT, "stepped -2" },
                { 0.4, 0, "" },
                { 0.4, 0, "" },
                { 0.4, 0, "stepped 1" },
                { -0.5, 0, "" },
                { -0.8, 0, "stepped -1" },
                { 0.9, 0, "" },
                { -1, CTRL, "view-changed 2.36 at 3.051 -1.525; pointed 44.5 9.5 yes" } };
  for (guint i = 0; i < G_N_ELEMENTS (turns); i++) {
    held_keys = turns[i].keys;
    g_signal_emit_by_name (scroll, "scroll", 0.0, turns[i].by, &taken);
    g_assert_true (taken);
    desk_assert_told (&desk, i, turns[i].told);
  }
  td_slice_view_set_image (desk.view, NULL);
  g_signal_emit_by_name (scroll, "scroll", 0.0, 1.0, &taken);
  g_assert_false (taken);
  g_string_truncate (desk.told, 0);
  g_signal_emit_by_name (motion, "motion", 140.0, 30.0);
  desk_assert_told (&desk, 0, "pointed 0 0 no");
  held_keys = 0;
}

/* ── Pictures of other sizes ── */

static gboolean
is_twice_as_high (gpointer view)
{
  return gtk_widget_get_height (view) == 2 * HEIGHT;
}

static void
test_fit (void)
{
  g_autoptr (TdImage) same = image_of (0.2, COLUMNS, ROWS), wide = image_of (0.2, 100, ROWS);
  g_autoptr (TdImage) coarse
      = td_image_new_coarse_take (g_new0 (float, 25 * 20), 25, 20, COLUMNS, ROWS);
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  TdSliceView *view = desk.view;
  td_slice_view_set_image (view, wide); /* placed by hand: it stays */
  desk_assert_told (&desk, 0, "");
  td_slice_view_fit (view);
  desk_assert_told (&desk, 1, "view-changed 1.96 at 0 0 fitted");
  td_slice_view_set_image (view, wide);
  desk_assert_told (&desk, 2, "");
  td_slice_view_set_image (view, same);
  desk_assert_told (&desk, 3, "view-changed 2.45 at 0 0 fitted");
  td_slice_view_set_image (view, coarse); /* the same size, by its extent */
  desk_assert_told (&desk, 4, "");
  td_slice_view_set_filling (view, TRUE);
  desk_assert_told (&desk, 5, "view-changed 3.92 at 0 0 fitted");
  g_assert_cmpfloat_with_epsilon (td_view_zoom_down (td_slice_view_get_view (view, NULL)), 2.45,
                                  1e-9);
  td_slice_view_one_to_one (view);
  desk_assert_told (&desk, 6, "view-changed 1 at 0 0");
  g_assert_cmpfloat (td_view_zoom_down (td_slice_view_get_view (view, NULL)), ==, 1);
  td_slice_view_set_filling (view, FALSE); /* not while it is placed by hand */
  desk_assert_told (&desk, 7, "");
  td_slice_view_set_view (view, &(TdView) { .zoom = 9 }, TRUE);
  desk_assert_told (&desk, 8, "");
  g_assert_cmpfloat_with_epsilon (td_slice_view_get_view (view, NULL)->zoom, 2.45, 1e-9);
  td_slice_view_set_view (view, &(TdView) { .zoom = 9, .x = 1 }, FALSE);
  td_slice_view_set_image (view, NULL);
  td_slice_view_set_image (view, same); /* the first fits */
  desk_assert_told (&desk, 9, "view-changed 2.45 at 0 0 fitted");
  /* A fitted picture follows the widget's size. */
  gtk_widget_set_size_request (GTK_WIDGET (view), WIDTH, 2 * HEIGHT);
  td_test_wait (is_twice_as_high, view, "the higher view");
  g_assert_cmpfloat_with_epsilon (td_slice_view_get_view (view, NULL)->zoom, 3.92, 1e-9);
}

/* ── What is drawn ── */

typedef struct {
  guint8 *pixels;
  guint width, height;
} Drawn;

static Drawn
desk_draw (Desk *desk)
{
  g_autoptr (GBytes) png = td_test_picture_at_rest (GTK_WIDGET (desk->view));
  g_autoptr (GError) error = NULL;
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_bytes (png, &error);
  Drawn drawn = { .width = (guint) gdk_texture_get_width (texture),
                  .height = (guint) gdk_texture_get_height (texture) };

  g_assert_no_error (error);
  drawn.pixels = g_malloc (4 * (gsize) drawn.width * drawn.height);
  gdk_texture_download (texture, drawn.pixels, 4 * (gsize) drawn.width);
  return drawn;
}

/* The letter of the nearest colour; ?: none is near. */
static char
drawn_at (const Drawn *drawn, double x, double y)
{
  static const struct {
    char letter;
    guint8 rgb[3];
  } colours[] = {
    { '.', { 128, 128, 128 } }, { 'o', { 28, 28, 31 } },    { 'd', { 58, 58, 58 } },
    { 'O', { 13, 13, 14 } },    { 'a', { 245, 177, 42 } },  { 'x', { 136, 245, 112 } },
    { 'm', { 91, 212, 249 } },  { 'w', { 245, 245, 245 } }, { 'b', { 51, 51, 51 } },
  };
  const guint8 *pixel = drawn->pixels + 4 * ((gsize) y * drawn->width + (gsize) x);
  char nearest = '?';
  double least = 30;

  for (guint i = 0; i < G_N_ELEMENTS (colours); i++) {
    const double off = hypot (hypot (pixel[2] - colours[i].rgb[0], pixel[1] - colours[i].rgb[1]),
                              pixel[0] - colours[i].rgb[2]);
    if (off < least) {
      least = off;
      nearest = colours[i].letter;
    }
  }
  return nearest;
}

/* From (x, y) on, a pixel right or down each. */
typedef struct {
  double x, y;
  gboolean down;
  const char *letters;
} Probe;

static void
desk_assert_drawn (Desk *desk, const Probe *probes, guint n)
{
  const Drawn drawn = desk_draw (desk);

  for (guint i = 0; i < n; i++) {
    const guint length = (guint) strlen (probes[i].letters);
    g_autofree char *letters = g_strnfill (length, 0);
    for (guint k = 0; k < length; k++)
      letters[k] = drawn_at (&drawn, probes[i].x + (probes[i].down ? 0 : k),
                             probes[i].y + (probes[i].down ? k : 0));
    g_test_message ("%u: %s", i, letters);
    g_assert_cmpstr (letters, ==, probes[i].letters);
  }
  g_free (drawn.pixels);
}

/* One picture left of the divider and the other right of it, wherever that is. */
static void
test_wipe (void)
{
  static const Probe middle[] = { { 47, 20, FALSE, "ooo..." },
                                  { 90, 20, FALSE, "......" },
                                  { 104, 20, FALSE, "bbbbbb" },
                                  { 146, 20, FALSE, "bbbboo" } };
  static const Probe right[]
      = { { 47, 20, FALSE, "ooo..." }, { 121, 20, FALSE, "......" }, { 134, 20, FALSE, "bbbbbb" } };
  g_autoptr (TdImage) dark = image_of (0.2, COLUMNS, ROWS);
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  td_slice_view_set_pixel_mm (desk.view, 1, 2); /* no scale bar */
  td_slice_view_set_second (desk.view, dark);
  desk_assert_drawn (&desk, middle, G_N_ELEMENTS (middle));
  desk_drag (&desk, &(Drag) { ONE, 0, 100, 50, 30, 0, "" }, 1);
  desk_assert_drawn (&desk, right, G_N_ELEMENTS (right));
}

/* Where there is nothing but the picture: its pixels, and the edges of the picture. */
static void
test_overlays (void)
{
  static const Probe bare[] = { { 47, 50, FALSE, "ooo..." },
                                { 148, 50, FALSE, "..oo" },
                                { 100, 8, TRUE, "oo.." },
                                { 100, 88, TRUE, "..oo" } };
  static const Probe lines[] = {
    { 70, 28, TRUE, "..dad.." }, { 130, 60, FALSE, "..dad.." }, { 0, 30, TRUE, "OaO" },
    { 199, 30, TRUE, "OaO" },    { 132, 0, TRUE, "OOOO" },      { 133, 0, TRUE, "aaaa" },
  };
  /* At the top it is 25 pixels left of where it is amid; dashes of ten and five along it. */
  static const Probe axis[] = {
    { 82, 2, FALSE, "ooooox?ooo" },
    { 106, 50, FALSE, "....ddd?..." },
    { 128, 96, FALSE, "oooooox?oooo" },
    { 111, 40, TRUE, "......???dddd?......" },
  };
  static const Probe grips[] = { { 51, 21, FALSE, "..dxxd........dxxd.." },
                                 { 61, 11, TRUE, "..dxxd........dxxd.." },
                                 { 141, 71, FALSE, "..dxxd...oooooOxxOoo" } };
  static const Probe boxes[] = { { 57, 40, FALSE, "...a?." },
                                 { 77, 40, FALSE, ".?a..." },
                                 { 70, 17, TRUE, "...a?." },
                                 { 70, 47, TRUE, ".?a..." },
                                 { 112, 60, FALSE, "..m?.." } };
  static const Probe wipe[] = { { 95, 2, FALSE, "oooOwwOooo" },
                                { 95, 50, FALSE, ".dwwwwwwd." },
                                { 97, 28, TRUE, "...dww" },
                                { 97, 65, TRUE, "wwwd.." } };
  static const Probe marks[] = { { 66, 31, FALSE, "...???" },     { 88, 31, FALSE, "?????." },
                                 { 80, 27, TRUE, "..????..." },   { 97, 60, FALSE, "??d......" },
                                 { 117, 60, FALSE, "??d......" }, { 110, 47, TRUE, ".????...." },
                                 { 110, 67, TRUE, ".????...." } };
  static const Probe bar[] = { { 8, 83, FALSE, "ooOOOOOOOOwwwwwwwwww" },
                               { 50, 83, FALSE, "wwwwwwwwdddddddd...." },
                               { 30, 79, TRUE, "OOOwwwOOOO" } };
  static const TdMark drawn[] = {
    { { TD_MEASURE_DISTANCE, { { 10, 10 }, { 20, 10 } } }, 2, "" },
    { { TD_MEASURE_REGION, { { 24, 20 }, { 32.8, 29.4 } } }, 2, "" },
  };
  const double points[2][2] = { { 5, 5 }, { 50, 30 } };
  GArray *all = g_array_new (FALSE, FALSE, sizeof (TdMark));
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  td_slice_view_set_pixel_mm (desk.view, 1, 2); /* no scale bar */
  desk_assert_drawn (&desk, bare, G_N_ELEMENTS (bare));
  td_slice_view_set_row_line (desk.view, 10, FALSE);
  td_slice_view_set_column_line (desk.view, 41, FALSE);
  desk_assert_drawn (&desk, lines, G_N_ELEMENTS (lines));
  td_slice_view_set_row_line (desk.view, NAN, FALSE);
  td_slice_view_set_axis_line (desk.view, 30, 19.5, 0.5);
  desk_assert_drawn (&desk, axis, G_N_ELEMENTS (axis));
  td_slice_view_set_column_line (desk.view, NAN, FALSE);
  td_slice_view_set_grips (desk.view, points, 2);
  desk_assert_drawn (&desk, grips, G_N_ELEMENTS (grips));
  td_slice_view_set_grips (desk.view, points, 0);
  td_slice_view_set_region (desk.view, 5, 5, 10, 15);
  desk_drag (&desk, &(Drag) { ONE, CTRL, 115, 55, 10, 10, "measured 32 22 6 6" }, 1);
  desk_assert_drawn (&desk, boxes, G_N_ELEMENTS (boxes));
  td_slice_view_set_region (desk.view, 0, 0, 0, 0);
  desk_drag (&desk, &(Drag) { ONE, CTRL, 115, 55, 0, 0, "measured 0 0 0 0" }, 1);
  desk_assert_drawn (&desk, bare, G_N_ELEMENTS (bare));
  td_slice_view_set_second (desk.view, desk.image);
  desk_assert_drawn (&desk, wipe, G_N_ELEMENTS (wipe));
  td_slice_view_set_second (desk.view, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (drawn); i++)
    g_array_append_val (all, drawn[i]);
  td_slice_view_take_marks (desk.view, all);
  desk_assert_drawn (&desk, marks, G_N_ELEMENTS (marks));
  td_slice_view_take_marks (desk.view, NULL);
  td_slice_view_set_pixel_mm (desk.view, 1, 1);
  desk_assert_drawn (&desk, bar, G_N_ELEMENTS (bar));
}

/* A line along a picture of few pixels would cover it, until one looks closer. */
static void
test_thin (void)
{
  /* Of 50 × 3 pixels; at twice their size they fill the rows 47 to 53, at four times 44 to 56. */
  static const Probe wide[] = { { 80, 45, TRUE, "oo......oo" }, { 111, 45, TRUE, "aaaaaaaaaa" } };
  static const Probe closer[] = { { 150, 42, TRUE, "oo.....dad....oo" } };
  static const Probe high[] = { { 95, 80, FALSE, "oo......oo" }, { 95, 31, FALSE, "aaaaaaaaaa" } };
  g_autoptr (TdImage) flat = image_of (0.5, COLUMNS, 3), upright = image_of (0.5, 3, ROWS);
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  td_slice_view_set_pixel_mm (desk.view, 1, 2); /* no scale bar */
  td_slice_view_set_image (desk.view, flat);
  desk_look_again (&desk);
  td_slice_view_set_row_line (desk.view, 1, TRUE);
  td_slice_view_set_column_line (desk.view, 30, TRUE);
  desk_assert_drawn (&desk, wide, G_N_ELEMENTS (wide));
  desk_drag (&desk, &(Drag) { ONE, 0, 60, 50, 10, 0, "view-changed 2 at -5 0" }, 1);
  td_slice_view_set_view (desk.view, &(TdView) { .zoom = 4 }, FALSE);
  desk_assert_drawn (&desk, closer, G_N_ELEMENTS (closer));
  td_slice_view_set_image (desk.view, upright);
  desk_look_again (&desk);
  td_slice_view_set_row_line (desk.view, 10, TRUE);
  td_slice_view_set_column_line (desk.view, 1, TRUE);
  desk_assert_drawn (&desk, high, G_N_ELEMENTS (high));
  desk_drag (&desk, &(Drag) { ONE, 0, 100, 80, 10, 0, "view-changed 2 at -5 0" }, 1);
}

/* ── What is drawn anew ── */

enum {
  NEW_IMAGE,
  NEW_SECOND,
  NEW_RANGE,
  NEW_COLOURS,
  NEW_SMOOTH,
  NEW_FIT,
  NEW_VIEW,
  NEW_ROW,
  NEW_COLUMN,
  NEW_AXIS,
  NEW_SLOPE,
  NEW_GRIPS,
  NEW_GRIP_DRAG,
  NEW_REGION,
  NEW_BOX,
  NEW_BOX_GONE,
  NEW_DRAWING,
  NEW_DRAWING_ON,
  NEW_TOOL,
  NEW_DRAWN,
  NEW_MARKS,
  NEW_SCALE,
  NEW_ZOOM,
  NEW_PAN,
  NEW_WIPE,
  N_NEW
};

typedef struct {
  Desk *desk;
  TdImage *other;
  guint what;
} Anew;

static void
desk_drag_anew (Desk *desk, GdkModifierType keys, double x, double y, double dx, double dy)
{
  gpointer drag = hand_on (desk->view, GTK_TYPE_GESTURE_DRAG);

  held_button = GDK_BUTTON_PRIMARY;
  held_keys = keys;
  g_signal_emit_by_name (drag, "drag-begin", x, y);
  g_signal_emit_by_name (drag, "drag-update", dx, dy);
}

static void
desk_change (gpointer user)
{
  static const double grips[2][2] = { { 5, 5 }, { 20, 30 } };
  const Anew *anew = user;
  Desk *desk = anew->desk;
  TdSliceView *view = desk->view;
  gpointer drag = hand_on (view, GTK_TYPE_GESTURE_DRAG);
  gboolean taken;

  switch (anew->what) {
  case NEW_IMAGE: td_slice_view_set_image (view, anew->other); break;
  case NEW_SECOND: td_slice_view_set_second (view, desk->image); break;
  case NEW_RANGE: td_slice_view_set_range (view, 0, 3); break;
  case NEW_COLOURS: td_slice_view_set_colour_map (view, TD_COLOUR_VIRIDIS); break;
  case NEW_SMOOTH: td_slice_view_set_smooth (view, TRUE); break;
  case NEW_FIT: td_slice_view_fit (view); break;
  case NEW_VIEW: td_slice_view_set_view (view, &(TdView) { .zoom = 2 }, FALSE); break;
  case NEW_ROW: td_slice_view_set_row_line (view, 30, TRUE); break;
  case NEW_COLUMN: td_slice_view_set_column_line (view, 40, TRUE); break;
  case NEW_AXIS: td_slice_view_set_axis_line (view, 20, 3, 0.1); break;
  case NEW_SLOPE: td_slice_view_set_axis_line (view, 20, 3, 0.3); break;
  case NEW_GRIPS: td_slice_view_set_grips (view, grips, 2); break;
  case NEW_GRIP_DRAG: desk_drag_anew (desk, 0, 61, 21, 20, 10); break;
  case NEW_REGION: td_slice_view_set_region (view, 3, 4, 10, 12); break;
  case NEW_BOX: desk_drag_anew (desk, CTRL, 110, 40, 20, 20); break;
  case NEW_BOX_GONE: td_slice_view_renew (view); break;
  case NEW_DRAWING: td_slice_view_set_tool (view, TD_MEASURE_ANGLE); break;
  case NEW_DRAWING_ON: desk_drag_anew (desk, 0, 130, 30, 20, 20); break;
  case NEW_TOOL: td_slice_view_set_tool (view, TD_MEASURE_LINE); break;
  case NEW_DRAWN: g_signal_emit_by_name (drag, "drag-end", 20.0, 20.0); break;
  case NEW_MARKS:
    td_slice_view_take_marks (view, g_array_new (FALSE, FALSE, sizeof (TdMark)));
    break;
  case NEW_SCALE: td_slice_view_set_pixel_mm (view, 0.5, 0.5); break;
  case NEW_ZOOM:
    g_signal_emit_by_name (hand_on (view, GTK_TYPE_EVENT_CONTROLLER_KEY), "key-pressed",
                           GDK_KEY_plus, 0, 0, &taken);
    break;
  case NEW_PAN: desk_drag_anew (desk, 0, 180, 90, -20, -10); break;
  case NEW_WIPE: desk_drag_anew (desk, 0, 100, 90, 30, 0); break;
  default: g_assert_not_reached ();
  }
}

static gboolean
is_active (gpointer window)
{
  return gtk_window_is_active (window);
}

/* Each change is on the screen with the next frame, and what is as it was costs none. The display
   has told that the window is in use: that is drawn, too. */
static void
test_redrawn (void)
{
  g_autoptr (TdImage) other = image_of (0.7, COLUMNS, ROWS);
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  td_test_wait (is_active, desk.window, "the window to be active");
  gpointer drag = hand_on (desk.view, GTK_TYPE_GESTURE_DRAG);
  Anew anew = { &desk, other, 0 };
  for (; anew.what < N_NEW; anew.what++) {
    if (anew.what == NEW_ROW)
      td_slice_view_set_view (desk.view, &(TdView) { .zoom = 2 }, FALSE);
    if (anew.what == NEW_TOOL) /* while the button is held */
      g_signal_emit_by_name (drag, "drag-update", 5.0, 5.0);
    if (anew.what == NEW_DRAWN)
      desk_drag_anew (&desk, 0, 130, 30, 20, 20);
    if (anew.what == NEW_PAN) {
      td_slice_view_set_tool (desk.view, -1);
      td_slice_view_set_second (desk.view, NULL);
    }
    if (anew.what == NEW_WIPE)
      td_slice_view_set_second (desk.view, desk.image);
    g_test_message ("change %u", anew.what);
    g_assert_true (td_test_redraws (desk.view, desk_change, &anew));
    /* The same once more. */
    if (anew.what == NEW_IMAGE || anew.what == NEW_SECOND || anew.what == NEW_RANGE
        || anew.what == NEW_ROW || anew.what == NEW_COLUMN || anew.what == NEW_REGION
        || anew.what == NEW_SCALE)
      g_assert_false (td_test_redraws (desk.view, desk_change, &anew));
    if (anew.what == NEW_GRIP_DRAG || anew.what == NEW_BOX || anew.what >= NEW_PAN)
      g_signal_emit_by_name (drag, "drag-end", 0.0, 0.0);
  }
  held_keys = 0;
}

/* Who uses the keyboard sees which picture has it, and two fingers zoom about where they are. */
static void
test_hands (void)
{
  static const Probe framed[] = { { 0, 20, FALSE, "??" }, { 198, 20, FALSE, "??" } };
  static const Probe bare[] = { { 0, 20, FALSE, "oo" }, { 198, 20, FALSE, "oo" } };
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  GtkWidget *beside = gtk_button_new ();
  gtk_box_append (GTK_BOX (desk.box), beside);
  td_slice_view_set_pixel_mm (desk.view, 1, 2); /* no scale bar */
  gtk_window_set_focus_visible (GTK_WINDOW (desk.window), TRUE);
  gtk_widget_grab_focus (beside);
  desk_assert_drawn (&desk, bare, G_N_ELEMENTS (bare));
  gtk_widget_grab_focus (GTK_WIDGET (desk.view));
  gtk_window_set_focus_visible (GTK_WINDOW (desk.window), TRUE);
  desk_assert_drawn (&desk, framed, G_N_ELEMENTS (framed));
  /* A press takes the focus. */
  gtk_widget_grab_focus (beside);
  desk_drag_anew (&desk, 0, 180, 90, 0, 0);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (desk.window)) == GTK_WIDGET (desk.view));
  /* Any button drags. */
  g_assert_cmpuint (gtk_gesture_single_get_button (hand_on (desk.view, GTK_TYPE_GESTURE_DRAG)), ==,
                    0);
  /* Scales are of the distance that the fingers began with. */
  gpointer pinch = hand_on (desk.view, GTK_TYPE_GESTURE_ZOOM);
  desk_look_again (&desk);
  held_middle[0] = 140;
  held_middle[1] = 30;
  g_signal_emit_by_name (pinch, "begin", NULL);
  g_signal_emit_by_name (pinch, "scale-changed", 1.18);
  desk_assert_told (&desk, 0, "view-changed 2.36 at 3.051 -1.525");
  g_signal_emit_by_name (pinch, "scale-changed", 0.5);
  desk_assert_told (&desk, 1, "view-changed 1 at -20 10");
}

typedef struct {
  TdSliceView *view;
  guint frames;     /* since the picture came */
  guint current_at; /* the first that showed it; 0: none yet */
} Frames;

static void
on_painted (GdkFrameClock *clock, Frames *frames)
{
  frames->frames++;
  if (frames->current_at == 0 && td_slice_view_is_current (frames->view))
    frames->current_at = frames->frames;
}

static gboolean
is_painted (gpointer frames)
{
  return ((Frames *) frames)->current_at > 0;
}

static gboolean
is_current (gpointer view)
{
  return td_slice_view_is_current (view);
}

/* A slice as large as a usual detector makes is on the screen with the next frame. */
static void
test_large (void)
{
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  Frames frames = { .view = desk.view };
  GdkFrameClock *clock = gtk_widget_get_frame_clock (GTK_WIDGET (desk.view));
  td_test_wait (is_current, desk.view, "the first picture");
  g_autoptr (TdImage) image = image_of (1, 2048, 2048);
  gulong handler = g_signal_connect (clock, "after-paint", G_CALLBACK (on_painted), &frames);
  td_slice_view_set_image (desk.view, image);
  td_test_wait (is_painted, &frames, "the large picture");
  g_signal_handler_disconnect (clock, handler);
  g_assert_cmpuint (frames.current_at, ==, 1);
}

/* ── A picture with what is around it ── */

typedef struct {
  GtkWidget *window;
  TdImagePane *pane;
  TdImage *image; /* of 50 × 40: the values are the numbers of its pixels, but for one */
  GString *told;
} Frame;

#define NO_NUMBER (7 * COLUMNS + 9)

static void
frame_tell (Frame *frame, const char *what, double a, double b)
{
  g_string_append_printf (frame->told, "%s%s %.6g %.6g", frame->told->len ? "; " : "", what, a, b);
}

static void
frame_on_contrast (TdImagePane *pane, double low, double high, Frame *frame)
{
  frame_tell (frame, "contrast", low, high);
}

static void
frame_on_option (TdImagePane *pane, gboolean on, Frame *frame)
{
  frame_tell (frame, "option", on, 0);
}

static void
frame_on_enlarge (TdImagePane *pane, gboolean on, Frame *frame)
{
  frame_tell (frame, "enlarge", on, 0);
}

static void
frame_init (Frame *frame)
{
  float *pixels = g_new (float, COLUMNS *ROWS);

  for (guint i = 0; i < COLUMNS * ROWS; i++)
    pixels[i] = i == NO_NUMBER ? NAN : (float) i;
  *frame = (Frame) { .window = gtk_window_new (),
                     .pane = g_object_new (TD_TYPE_IMAGE_PANE, NULL),
                     .image = td_image_new_take (pixels, COLUMNS, ROWS),
                     .told = g_string_new (NULL) };
  g_signal_connect (frame->pane, "contrast-changed", G_CALLBACK (frame_on_contrast), frame);
  g_signal_connect (frame->pane, "option-toggled", G_CALLBACK (frame_on_option), frame);
  g_signal_connect (frame->pane, "enlarge-toggled", G_CALLBACK (frame_on_enlarge), frame);
  gtk_window_set_child (GTK_WINDOW (frame->window), GTK_WIDGET (frame->pane));
  gtk_window_set_default_size (GTK_WINDOW (frame->window), 500, 400);
  gtk_window_present (GTK_WINDOW (frame->window));
  td_test_frames (GTK_WIDGET (frame->pane));
}

static void
frame_clear (Frame *frame)
{
  gtk_window_destroy (GTK_WINDOW (frame->window));
  td_image_unref (frame->image);
  g_string_free (frame->told, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Frame, frame_clear)

static void
frame_assert_told (Frame *frame, const char *told)
{
  g_assert_cmpstr (frame->told->str, ==, told);
  g_string_truncate (frame->told, 0);
}

static gpointer
frame_part (Frame *frame, const char *name)
{
  return td_test_part (frame->pane, name);
}

/* As an entry of the menu does it. */
static void
frame_choose (Frame *frame, const char *action, const char *parameter)
{
  g_autofree char *name = g_strconcat ("pane.", action, NULL);
  g_autoptr (GVariant) value
      = parameter ? g_variant_ref_sink (g_variant_new_string (parameter)) : NULL;

  g_assert_true (gtk_widget_activate_action_variant (GTK_WIDGET (frame->pane), name, value));
}

static void
frame_assert_range (Frame *frame, double low, double high)
{
  const TdStyle *style = td_slice_view_get_style (td_image_pane_view (frame->pane));
  g_autofree char *told = g_strdup_printf ("contrast %.6g %.6g", low, high);

  g_assert_cmpfloat_with_epsilon (style->low, low, 1e-4);
  g_assert_cmpfloat_with_epsilon (style->high, high, 1e-4);
  frame_assert_told (frame, told);
}

/* Contrast is automatic until somebody chooses it, and again when somebody asks for that. */
static void
test_contrast (void)
{
  static const struct {
    const char *name;
    double part;
  } levels[] = { { "0.1", 0.001 }, { "1", 0.01 }, { "0", 0 }, { "0.5", 0.005 } };
  g_autoptr (TdImage) other = image_of (5, COLUMNS, ROWS);
  g_auto (Frame) frame = { 0 };
  double low, high;

  frame_init (&frame);
  td_image_pane_set_image (frame.pane, frame.image);
  td_image_range (frame.image, 0.005, &low, &high);
  frame_assert_range (&frame, low, high);
  g_assert_cmpfloat_with_epsilon (low, 0.005 * COLUMNS * ROWS, 2);
  for (guint i = 0; i < G_N_ELEMENTS (levels); i++) {
    frame_choose (&frame, "levels", levels[i].name);
    td_image_range (frame.image, levels[i].part, &low, &high);
    frame_assert_range (&frame, low, high);
  }
  td_image_pane_set_range (frame.pane, 10, 20);
  frame_assert_range (&frame, 10, 20);
  /* The histogram has the same, from which its keys go on. */
  g_autoptr (GListModel) hands = gtk_widget_observe_controllers (frame_part (&frame, "histogram"));
  for (guint i = 0; i < g_list_model_get_n_items (hands); i++) {
    g_autoptr (GObject) hand = g_list_model_get_item (hands, i);
    gboolean taken;
    if (GTK_IS_EVENT_CONTROLLER_KEY (hand))
      g_signal_emit_by_name (hand, "key-pressed", GDK_KEY_Right, 0, 0, &taken);
  }
  frame_assert_range (&frame, 10.2, 20.2);
  td_image_pane_set_image (frame.pane, other);
  frame_assert_told (&frame, "");
  frame_choose (&frame, "auto-contrast", NULL);
  td_image_range (other, 0.005, &low, &high);
  frame_assert_range (&frame, low, high);
  td_image_pane_flip_image (frame.pane, frame.image); /* keeps it all the same */
  frame_assert_told (&frame, "");
  frame_choose (&frame, "auto-contrast", NULL);
  td_image_pane_set_image (frame.pane, other);
  td_image_pane_set_image (frame.pane, frame.image);
  frame_assert_told (&frame, "");
  /* By the histogram. */
  g_signal_emit_by_name (frame_part (&frame, "histogram"), "auto-requested");
  td_image_range (frame.image, 0.005, &low, &high);
  frame_assert_range (&frame, low, high);
  g_signal_emit_by_name (frame_part (&frame, "histogram"), "range-changed", 30.0, 40.0);
  frame_assert_range (&frame, 30, 40);
  td_image_pane_set_image (frame.pane, other);
  frame_assert_told (&frame, "");
  g_signal_emit_by_name (td_image_pane_view (frame.pane), "range-changed", 3.0, 4.0);
  frame_assert_range (&frame, 3, 4);
  td_image_pane_renew (frame.pane);
  g_assert_null (td_image_pane_get_image (frame.pane));
  frame_assert_told (&frame, "");
  td_image_pane_set_image (frame.pane, frame.image);
  frame_assert_range (&frame, low, high);
}

static char *
frame_describe (gpointer user, double column, double row, const float *value)
{
  return g_strdup_printf ("%s %g, %g: %g", (char *) user, column, row, (double) *value);
}

static void
frame_assert_says (Frame *frame, const char *part, const char *words)
{
  GtkLabel *label = frame_part (frame, part);

  g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (label)), ==, words != NULL);
  if (words)
    g_assert_cmpstr (gtk_label_get_text (label), ==, words);
}

/* Values are told where the pointer is and in a box, in the units that there are. */
static void
test_values (void)
{
  g_auto (Frame) frame = { 0 };
  double sum = 0, squares = 0;

  frame_init (&frame);
  TdSliceView *view = td_image_pane_view (frame.pane);
  g_signal_emit_by_name (view, "pointed", 4.0, 3.0, TRUE);
  frame_assert_says (&frame, "readout", NULL);
  td_image_pane_set_image (frame.pane, frame.image); /* the pointer has stayed */
  frame_assert_says (&frame, "readout", "column 4  row 3  154");
  g_signal_emit_by_name (view, "pointed", 4.0, 3.0, FALSE);
  frame_assert_says (&frame, "readout", NULL);
  td_image_pane_set_readout (frame.pane, frame_describe, "at");
  g_signal_emit_by_name (view, "pointed", 49.0, 39.0, TRUE);
  frame_assert_says (&frame, "readout", "at 49, 39: 1999");
  frame_assert_says (&frame, "statistics", NULL);
  g_signal_emit_by_name (view, "measured", 20.0, 5.0, 3.0, 2.0);
  for (guint i = 0; i < 6; i++) {
    const double value = (5 + i / 3) * COLUMNS + 20 + i % 3;
    sum += value;
    squares += value * value;
  }
  const double deviation = sqrt ((squares - sum * sum / 6) / 5);
  g_autofree char *plain
      = g_strdup_printf ("mean %.5g  σ %.3g  270 … 322  (3 × 2)", sum / 6, deviation);
  frame_assert_says (&frame, "statistics", plain);
  td_image_pane_set_units (frame.pane, "1/mm");
  g_autofree char *with_units
      = g_strdup_printf ("mean %.5g  σ %.3g  270 … 322 1/mm (3 × 2)", sum / 6, deviation);
  frame_assert_says (&frame, "statistics", with_units);
  g_signal_emit_by_name (view, "measured", 8.0, 7.0, 2.0, 1.0); /* one of two is no number */
  g_assert_true (g_str_has_suffix (gtk_label_get_text (frame_part (&frame, "statistics")),
                                   "358 … 358 1/mm (2 × 1), 1 samples not finite"));
  td_image_pane_set_image (frame.pane, NULL);
  frame_assert_says (&frame, "statistics", NULL);
  frame_assert_says (&frame, "readout", NULL);
  td_image_pane_set_image (frame.pane, frame.image);
  g_assert_true (gtk_widget_get_visible (frame_part (&frame, "statistics")));
  g_signal_emit_by_name (view, "measured", 0.0, 0.0, 0.0, 0.0);
  frame_assert_says (&frame, "statistics", NULL);
  g_signal_emit_by_name (view, "measured", 9.0, 7.0, 1.0, 1.0);
  frame_assert_says (&frame, "statistics", NULL);
}

static void
frame_point (gpointer frame)
{
  g_signal_emit_by_name (td_image_pane_view (((Frame *) frame)->pane), "pointed", 4.0, 30.0, TRUE);
}

static void
frame_move (gpointer frame)
{
  td_slice_view_one_to_one (td_image_pane_view (((Frame *) frame)->pane));
}

static void
frame_show_other (gpointer frame)
{
  g_autoptr (TdImage) other = image_of (5, COLUMNS, ROWS);

  td_image_pane_set_image (((Frame *) frame)->pane, other);
}

/* What the menu and the buttons do with the picture. */
static void
test_entries (void)
{
  g_auto (Frame) frame = { 0 };
  gboolean fitted, taken;

  frame_init (&frame);
  TdSliceView *view = td_image_pane_view (frame.pane);
  const TdStyle *style = td_slice_view_get_style (view);
  td_image_pane_set_image (frame.pane, frame.image);
  const double zoom = td_slice_view_get_view (view, &fitted)->zoom;
  g_assert_true (fitted && zoom > 1.5);
  frame_choose (&frame, "one-to-one", NULL);
  g_assert_cmpfloat (td_slice_view_get_view (view, &fitted)->zoom, ==, 1);
  g_assert_false (fitted);
  frame_choose (&frame, "fit", NULL);
  g_assert_cmpfloat (td_slice_view_get_view (view, &fitted)->zoom, ==, zoom);
  g_assert_true (fitted);
  frame_choose (&frame, "colours", "viridis");
  g_assert_cmpint (style->map, ==, TD_COLOUR_VIRIDIS);
  td_image_pane_set_colour_map (frame.pane, "magma");
  g_assert_cmpint (style->map, ==, TD_COLOUR_MAGMA);
  td_image_pane_set_colour_map (frame.pane, "nothing of that name");
  g_assert_cmpint (style->map, ==, TD_COLOUR_GREY);
  for (guint i = 0; i < 2; i++) {
    frame_choose (&frame, "smooth", NULL);
    g_assert_cmpint (style->smooth, ==, i == 0);
  }
  g_string_truncate (frame.told, 0);
  td_image_pane_add_option (frame.pane, "Option");
  g_assert_true (td_image_pane_get_option (frame.pane));
  frame_choose (&frame, "option", NULL);
  g_assert_false (td_image_pane_get_option (frame.pane));
  frame_choose (&frame, "option", NULL);
  frame_assert_told (&frame, "option 0 0; option 1 0");
  td_image_pane_set_enlarged (frame.pane, TRUE);
  g_assert_cmpstr (gtk_button_get_icon_name (frame_part (&frame, "enlarge")), ==,
                   "view-restore-symbolic");
  td_image_pane_set_enlarged (frame.pane, FALSE);
  g_assert_cmpstr (gtk_button_get_icon_name (frame_part (&frame, "enlarge")), ==,
                   "view-fullscreen-symbolic");
  frame_assert_told (&frame, "enlarge 1 0; enlarge 0 0");
  td_image_pane_set_can_enlarge (frame.pane, FALSE);
  g_assert_false (gtk_widget_get_visible (frame_part (&frame, "enlarge")));
  td_image_pane_set_histogram (frame.pane, FALSE);
  g_assert_false (gtk_widget_get_visible (frame_part (&frame, "histogram")));
  td_image_pane_set_histogram (frame.pane, TRUE);
  /* The profile is of the row that was pointed at last, and follows. */
  GtkWidget *profile = frame_part (&frame, "profile");
  g_assert_false (gtk_widget_get_visible (profile));
  frame_choose (&frame, "profile", NULL);
  g_assert_true (gtk_widget_get_visible (profile));
  td_test_frames (profile);
  g_assert_true (td_test_redraws (profile, frame_point, &frame));
  g_assert_true (td_test_redraws (profile, frame_move, &frame));
  g_assert_true (td_test_redraws (profile, frame_show_other, &frame));
  frame_choose (&frame, "profile", NULL);
  g_assert_false (gtk_widget_get_visible (profile));
  /* A heading that is cut has its whole in the tooltip, with how large the picture is. */
  static const struct {
    const char *subtitle, *tip;
  } headings[] = { { "row 3", "row 3\nZoom 100 %" }, { NULL, "Zoom 100 %" } };
  g_autoptr (GtkTooltip) tooltip = g_object_new (GTK_TYPE_TOOLTIP, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (headings); i++) {
    td_image_pane_set_subtitle (frame.pane, headings[i].subtitle);
    g_signal_emit_by_name (frame_part (&frame, "subtitle"), "query-tooltip", 1, 1, FALSE, tooltip,
                           &taken);
    g_assert_cmpstr (gtk_widget_get_tooltip_text (frame_part (&frame, "subtitle")), ==,
                     headings[i].tip);
    g_assert_cmpint (gtk_widget_get_visible (frame_part (&frame, "subtitle")), ==, i == 0);
  }
  int heights[2];
  gtk_widget_measure (frame_part (&frame, "heading"), GTK_ORIENTATION_VERTICAL, 300, &heights[0],
                      NULL, NULL, NULL);
  gtk_widget_measure (frame_part (&frame, "histogram"), GTK_ORIENTATION_VERTICAL, 300, &heights[1],
                      NULL, NULL, NULL);
  g_assert_cmpint (td_image_pane_frame_height (frame.pane, 300, FALSE), ==, heights[0]);
  g_assert_cmpint (td_image_pane_frame_height (frame.pane, 300, TRUE), ==, heights[0] + heights[1]);
}

static gboolean
frame_can_save (Frame *frame)
{
  GtkWidget *item = gtk_button_new ();

  gtk_actionable_set_action_name (GTK_ACTIONABLE (item), "pane.save");
  gtk_widget_insert_before (item, GTK_WIDGET (frame_part (frame, "box")), NULL);
  const gboolean can = gtk_widget_get_sensitive (item);
  gtk_widget_unparent (item);
  return can;
}

/* Why there is no picture, and that one is on its way. */
static void
test_messages (void)
{
  g_autoptr (GError) cancelled
      = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled");
  g_autoptr (GError) gone = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "The disk is gone");
  g_auto (Frame) frame = { 0 };

  frame_init (&frame);
  GtkWidget *view = GTK_WIDGET (td_image_pane_view (frame.pane));
  td_image_pane_set_image (frame.pane, frame.image);
  g_assert_true (frame_can_save (&frame));
  for (guint i = 0; i < 3; i++) {
    const gboolean there = i == 1;
    if (i < 2)
      td_image_pane_set_problem (frame.pane, there ? gone : cancelled);
    else
      td_image_pane_set_image (frame.pane, frame.image);
    g_assert_cmpint (gtk_widget_get_visible (frame_part (&frame, "message_box")), ==, there);
    g_assert_cmpint (gtk_widget_has_css_class (view, "stale"), ==, there);
    g_assert_cmpint (frame_can_save (&frame), ==, !there);
    g_assert_null (gtk_widget_get_first_child (frame_part (&frame, "remedies")));
    g_assert_false (gtk_widget_get_visible (frame_part (&frame, "remedies")));
    if (there) {
      g_assert_cmpstr (gtk_label_get_text (frame_part (&frame, "message")), ==, "The disk is gone");
      td_image_pane_offer (frame.pane, "_Once More", "pane.fit");
      g_assert_true (gtk_widget_get_visible (frame_part (&frame, "remedies")));
      GtkWidget *remedy = gtk_widget_get_first_child (frame_part (&frame, "remedies"));
      g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (remedy)), ==, "_Once More");
      g_assert_true (gtk_button_get_use_underline (GTK_BUTTON (remedy)));
      g_assert_cmpstr (gtk_actionable_get_action_name (GTK_ACTIONABLE (remedy)), ==, "pane.fit");
    }
  }
  td_image_pane_set_badge (frame.pane, "reduced");
  frame_assert_says (&frame, "badge", "reduced");
  td_image_pane_set_badge (frame.pane, NULL);
  frame_assert_says (&frame, "badge", NULL);
  td_image_pane_set_image (frame.pane, NULL);
  g_assert_false (frame_can_save (&frame));
  /* What comes soon has no spinner. */
  for (guint i = 0; i < 2; i++) {
    td_image_pane_set_updating (frame.pane, TRUE);
    td_image_pane_set_updating (frame.pane, TRUE);
    g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (frame.pane), "updating"));
    g_assert_false (gtk_spinner_get_spinning (frame_part (&frame, "spinner")));
    if (i == 1) {
      td_test_pause (400);
      g_assert_true (gtk_spinner_get_spinning (frame_part (&frame, "spinner")));
      g_assert_true (gtk_widget_get_can_target (frame_part (&frame, "spinner")));
    }
    td_image_pane_set_updating (frame.pane, FALSE);
    g_assert_false (gtk_widget_has_css_class (GTK_WIDGET (frame.pane), "updating"));
    if (i == 0)
      td_test_pause (400);
    g_assert_false (gtk_spinner_get_spinning (frame_part (&frame, "spinner")));
    g_assert_false (gtk_widget_get_can_target (frame_part (&frame, "spinner")));
  }
}

/* A pane that goes while it waits for a picture leaves nothing that comes back to it. */
static void
test_gone (void)
{
  TdImagePane *pane = g_object_ref_sink (g_object_new (TD_TYPE_IMAGE_PANE, NULL));

  td_image_pane_set_updating (pane, TRUE);
  g_assert_nonnull (g_main_context_find_source_by_user_data (NULL, pane));
  g_object_run_dispose (G_OBJECT (pane));
  g_assert_null (g_main_context_find_source_by_user_data (NULL, pane));
  g_object_unref (pane);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  g_test_add_func ("/slice-view/drags", test_drags);
  g_test_add_func ("/slice-view/lines", test_lines);
  g_test_add_func ("/slice-view/thin", test_thin);
  g_test_add_func ("/slice-view/tools", test_tools);
  g_test_add_func ("/slice-view/keys", test_keys);
  g_test_add_func ("/slice-view/pointer", test_pointer);
  g_test_add_func ("/slice-view/fit", test_fit);
  g_test_add_func ("/slice-view/wipe", test_wipe);
  g_test_add_func ("/slice-view/redrawn", test_redrawn);
  g_test_add_func ("/slice-view/hands", test_hands);
  g_test_add_func ("/slice-view/large", test_large);
  if (td_drawing_by_processor ()) /* OpenGL draws edges otherwise */
    g_test_add_func ("/slice-view/overlays", test_overlays);
  g_test_add_func ("/slice-view/contrast", test_contrast);
  g_test_add_func ("/slice-view/values", test_values);
  g_test_add_func ("/slice-view/entries", test_entries);
  g_test_add_func ("/slice-view/messages", test_messages);
  g_test_add_func ("/slice-view/gone", test_gone);
  td_device_leave (g_test_run ());
}
