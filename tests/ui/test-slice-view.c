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
  g_test_add_func ("/slice-view/large", test_large);
  if (td_drawing_by_processor ()) /* OpenGL draws edges otherwise */
    g_test_add_func ("/slice-view/overlays", test_overlays);
  g_test_add_func ("/slice-view/gone", test_gone);
  td_device_leave (g_test_run ());
}
