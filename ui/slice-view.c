/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-view.h"

#include <math.h>
#include <string.h>

#include "picture-input.h"
#include "scale-bar.h"
#include "slice-canvas.h"
#include "ui.h"

#define GRAB_PX 7.0  /* how near a line the pointer must be to take it */
#define CLICK_PX 4.0 /* a drag shorter than this is a click */
#define THIN_PX 8.0  /* a line along a picture thinner than this would cover it */
#define WHEEL_FACTOR 1.18
#define PAN_STEP_PX 40.0
#define MOST_GRIPS 2
#define GRIP_PX 6.0 /* radius */

struct _TdSliceView {
  GtkWidget parent_instance;
  GtkWidget *canvas;
  gboolean uses_gl;
  TdScene scene;
  gboolean filling; /* fitted means stretched over the widget */
  gboolean fitted;  /* stays fitted when the widget or the picture changes size */
  double row_line, column_line;
  gboolean row_draggable, column_draggable;
  gboolean is_axis; /* the vertical line, through column_line at axis_row */
  double axis_row, axis_slope;
  double grips[MOST_GRIPS][2];
  guint n_grips;
  gboolean wheel_steps;
  double stepped;     /* turned of the wheel, less than a step */
  double region[4];   /* width 0: none */
  double measured[4]; /* width 0: none */
  double pixel_mm[2];
  GArray *marks;  /* TdMark; NULL: none */
  int tool;       /* a TdMeasureKind; -1: none */
  TdMark drawing; /* n_points 0: nothing is being drawn */

  /* Input */
  double pointer_x, pointer_y; /* where it was last, widget pixels */
  enum {
    DRAG_NONE,
    DRAG_PAN,
    DRAG_RANGE,
    DRAG_LINE,
    DRAG_COLUMN,
    DRAG_CROSS,
    DRAG_GRIP,
    DRAG_WIPE,
    DRAG_REGION,
    DRAG_MEASURE,
    DRAG_DRAW
  } drag;
  TdView drag_view;
  double drag_range[2];
  double drag_x, drag_y; /* where it began, widget pixels */
  gboolean drag_moved;
  guint drag_number, drag_grip;
  double pinch_zoom;
};

G_DEFINE_FINAL_TYPE (TdSliceView, td_slice_view, GTK_TYPE_WIDGET)

/* ── State ── */

static void
slice_view_redraw (TdSliceView *self)
{
  if (self->uses_gl && self->canvas)
    gtk_gl_area_queue_render (GTK_GL_AREA (self->canvas));
  else if (self->canvas)
    gtk_widget_queue_draw (self->canvas);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* After scene.view was changed by hand. */
static void
slice_view_moved (TdSliceView *self)
{
  slice_view_redraw (self);
  g_signal_emit_by_name (self, "view-changed");
}

static void
slice_view_refit (TdSliceView *self)
{
  const TdImage *image = self->scene.image;
  int w = gtk_widget_get_width (GTK_WIDGET (self)), h = gtk_widget_get_height (GTK_WIDGET (self));

  if (image && w > 0 && h > 0)
    (self->filling ? td_view_fill : td_view_fit) (&self->scene.view, w, h, image->extent_width,
                                                  image->extent_height);
}

void
td_slice_view_set_image (TdSliceView *self, TdImage *image)
{
  TdImage *old = self->scene.image;

  if (image == old)
    return;
  gboolean resized = !old || !image || old->extent_width != image->extent_width
                     || old->extent_height != image->extent_height;
  self->scene.image = image ? td_image_ref (image) : NULL;
  if (!old)
    self->fitted = TRUE;
  g_clear_pointer (&old, td_image_unref);
  if (resized && self->fitted) {
    slice_view_refit (self);
    slice_view_moved (self);
  }
  slice_view_redraw (self);
}

gboolean
td_slice_view_is_current (TdSliceView *self)
{
  return !self->uses_gl || !self->canvas || !gtk_widget_get_mapped (self->canvas)
         || td_gl_canvas_is_current (self->canvas);
}

TdImage *
td_slice_view_get_image (TdSliceView *self)
{
  return self->scene.image;
}

void
td_slice_view_set_second (TdSliceView *self, TdImage *image)
{
  if (image == self->scene.second)
    return;
  td_hold (image, &self->scene.second, image);
  slice_view_redraw (self);
}

void
td_slice_view_set_range (TdSliceView *self, double low, double high)
{
  if (low == self->scene.style.low && high == self->scene.style.high)
    return;
  self->scene.style.low = low;
  self->scene.style.high = high;
  slice_view_redraw (self);
}

void
td_slice_view_set_colour_map (TdSliceView *self, TdColourMap map)
{
  self->scene.style.map = map;
  slice_view_redraw (self);
}

const TdStyle *
td_slice_view_get_style (TdSliceView *self)
{
  return &self->scene.style;
}

void
td_slice_view_set_smooth (TdSliceView *self, gboolean smooth)
{
  self->scene.style.smooth = smooth;
  slice_view_redraw (self);
}

void
td_slice_view_fit (TdSliceView *self)
{
  self->fitted = TRUE;
  slice_view_refit (self);
  slice_view_moved (self);
}

void
td_slice_view_set_filling (TdSliceView *self, gboolean filling)
{
  self->filling = filling;
  if (self->fitted)
    td_slice_view_fit (self);
}

static void
slice_view_zoom_by (TdSliceView *self, double factor)
{
  double w = gtk_widget_get_width (GTK_WIDGET (self));
  double h = gtk_widget_get_height (GTK_WIDGET (self));

  self->fitted = FALSE;
  td_view_zoom_about (&self->scene.view, w, h, w / 2, h / 2, factor);
  slice_view_moved (self);
}

void
td_slice_view_one_to_one (TdSliceView *self)
{
  double factor = 1.0 / gtk_widget_get_scale_factor (GTK_WIDGET (self)) / self->scene.view.zoom;

  self->scene.view.stretch = 1;
  slice_view_zoom_by (self, factor);
}

const TdView *
td_slice_view_get_view (TdSliceView *self, gboolean *fitted)
{
  if (fitted)
    *fitted = self->fitted;
  return &self->scene.view;
}

void
td_slice_view_set_view (TdSliceView *self, const TdView *view, gboolean fitted)
{
  self->scene.view = *view;
  self->fitted = fitted;
  if (fitted)
    slice_view_refit (self);
  slice_view_redraw (self);
}

/* Of a line: NAN is none. What stays where it is need not be drawn again. */
static gboolean
same_place (double a, double b)
{
  return a == b || (isnan (a) && isnan (b));
}

void
td_slice_view_set_row_line (TdSliceView *self, double row, gboolean draggable)
{
  const gboolean same = same_place (row, self->row_line);

  self->row_line = row;
  self->row_draggable = draggable;
  if (!same)
    gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_column_line (TdSliceView *self, double column, gboolean draggable)
{
  self->column_draggable = draggable;
  if (same_place (column, self->column_line))
    return;
  self->column_line = column;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_axis_line (TdSliceView *self, double column, double row, double slope)
{
  self->is_axis = TRUE;
  self->axis_row = row;
  self->axis_slope = slope;
  td_slice_view_set_column_line (self, column, TRUE);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_grips (TdSliceView *self, const double (*points)[2], guint n)
{
  self->n_grips = MIN (n, MOST_GRIPS);
  for (guint i = 0; i < self->n_grips; i++)
    memcpy (self->grips[i], points[i], sizeof self->grips[i]);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

guint
td_slice_view_get_drag (TdSliceView *self)
{
  return self->drag == DRAG_NONE ? 0 : self->drag_number;
}

static void
slice_view_set_measured (TdSliceView *self, double x, double y, double width, double height)
{
  const double box[4] = { x, y, width, height };

  memcpy (self->measured, box, sizeof box);
  slice_view_redraw (self);
}

void
td_slice_view_renew (TdSliceView *self)
{
  self->drag = DRAG_NONE;
  self->drawing.n_points = 0;
  slice_view_set_measured (self, 0, 0, 0, 0);
  g_signal_emit_by_name (self, "measured", 0.0, 0.0, 0.0, 0.0);
  td_slice_view_fit (self);
}

void
td_slice_view_set_region (TdSliceView *self, double x, double y, double width, double height)
{
  if (x == self->region[0] && y == self->region[1] && width == self->region[2]
      && height == self->region[3])
    return;
  self->region[0] = x;
  self->region[1] = y;
  self->region[2] = width;
  self->region[3] = height;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_set_wheel_steps (TdSliceView *self, gboolean steps)
{
  self->wheel_steps = steps;
}

void
td_slice_view_set_tool (TdSliceView *self, int kind)
{
  self->tool = kind;
  self->drawing.n_points = 0;
  if (self->drag == DRAG_DRAW) /* the button is still held */
    self->drag = DRAG_NONE;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_slice_view_take_marks (TdSliceView *self, GArray *marks)
{
  g_clear_pointer (&self->marks, g_array_unref);
  self->marks = marks;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

const GArray *
td_slice_view_get_marks (TdSliceView *self)
{
  return self->marks;
}

void
td_slice_view_set_pixel_mm (TdSliceView *self, double width_mm, double height_mm)
{
  if (width_mm == self->pixel_mm[0] && height_mm == self->pixel_mm[1])
    return;
  self->pixel_mm[0] = width_mm;
  self->pixel_mm[1] = height_mm;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

double
td_slice_view_get_pixel_mm (TdSliceView *self)
{
  return self->pixel_mm[0];
}

/* Widget position to picture position; FALSE without a picture. */
static gboolean
slice_view_locate (TdSliceView *self, double wx, double wy, double *column, double *row)
{
  const TdImage *image = self->scene.image;
  double px, py;

  if (!image)
    return FALSE;
  td_view_to_picture (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                      gtk_widget_get_height (GTK_WIDGET (self)), wx, wy, &px, &py);
  *column = px + (image->extent_width - 1) / 2;
  *row = py + (image->extent_height - 1) / 2;
  return TRUE;
}

/* Picture position to widget position. */
static void
slice_view_place (TdSliceView *self, double column, double row, double *wx, double *wy)
{
  const TdImage *image = self->scene.image;
  double width = image ? image->extent_width : 1, height = image ? image->extent_height : 1;

  td_view_from_picture (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                        gtk_widget_get_height (GTK_WIDGET (self)), column - (width - 1) / 2,
                        row - (height - 1) / 2, wx, wy);
}

/* ── Drawing over the picture ── */

/* The vertical line's column at the height of @wy. */
static double
slice_view_column_at (TdSliceView *self, double wy)
{
  double column, row;

  if (!self->is_axis || !slice_view_locate (self, 0, wy, &column, &row))
    return self->column_line;
  return self->column_line + self->axis_slope * (row - self->axis_row);
}

/* A line is there along a picture that is seen beside it. */
static gboolean
slice_view_has_row_line (TdSliceView *self)
{
  double x, top, bottom;

  if (!self->scene.image || !isfinite (self->row_line))
    return FALSE;
  slice_view_place (self, 0, 0, &x, &top);
  slice_view_place (self, 0, self->scene.image->extent_height, &x, &bottom);
  return bottom - top >= THIN_PX;
}

/* An axis may be anywhere, and is looked for in pictures of any width. */
static gboolean
slice_view_has_column_line (TdSliceView *self)
{
  double y, left, right;

  if (!self->scene.image || !isfinite (self->column_line))
    return FALSE;
  slice_view_place (self, 0, 0, &left, &y);
  slice_view_place (self, self->scene.image->extent_width, 0, &right, &y);
  return self->is_axis || right - left >= THIN_PX;
}

static const GdkRGBA accent = { 1.0f, 0.72f, 0.16f, 0.95f };
static const GdkRGBA axis_colour = { 0.55f, 1.0f, 0.45f, 0.95f };
static const GdkRGBA measuring = { 0.35f, 0.85f, 1.0f, 0.95f };
static const GdkRGBA shade = { 0, 0, 0, 0.55f };
static const GdkRGBA white = { 1, 1, 1, 0.95f };

/* A bright line with a dark edge is seen on any picture. */
static void
draw_bar (GtkSnapshot *snapshot, const GdkRGBA *colour, double x, double y, double width,
          double height)
{
  gtk_snapshot_append_color (
      snapshot, &shade,
      &GRAPHENE_RECT_INIT ((float) x - 1, (float) y - 1, (float) width + 2, (float) height + 2));
  gtk_snapshot_append_color (
      snapshot, colour, &GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height));
}

/* Dashes: the line that says how it turns is not taken for the one that says which row. */
static void
slice_view_draw_axis (TdSliceView *self, cairo_t *cr, double height)
{
  static const double dashes[] = { 10, 5 };
  double x0, x1, y;

  slice_view_place (self, slice_view_column_at (self, 0), 0, &x0, &y);
  slice_view_place (self, slice_view_column_at (self, height), 0, &x1, &y);
  cairo_move_to (cr, round (x0) + 0.5, 0);
  cairo_line_to (cr, round (x1) + 0.5, height);
  cairo_set_source_rgba (cr, 0, 0, 0, 0.55);
  cairo_set_line_width (cr, 3);
  cairo_stroke_preserve (cr);
  cairo_set_dash (cr, dashes, G_N_ELEMENTS (dashes), 0);
  gdk_cairo_set_source_rgba (cr, &axis_colour);
  cairo_set_line_width (cr, 1.5);
  cairo_stroke (cr);
  cairo_set_dash (cr, NULL, 0, 0);
}

/* A ring of which the picture is seen, and while it is dragged a line to the pointer. */
static void
slice_view_draw_grip (TdSliceView *self, cairo_t *cr, guint i)
{
  double x, y;

  slice_view_place (self, self->grips[i][0], self->grips[i][1], &x, &y);
  if (self->drag == DRAG_GRIP && self->drag_grip == i && self->drag_moved) {
    cairo_move_to (cr, x, y);
    cairo_line_to (cr, self->pointer_x, self->pointer_y);
  }
  cairo_new_sub_path (cr);
  cairo_arc (cr, x, y, GRIP_PX, 0, 2 * G_PI);
  cairo_set_source_rgba (cr, 0, 0, 0, 0.55);
  cairo_set_line_width (cr, 4);
  cairo_stroke_preserve (cr);
  gdk_cairo_set_source_rgba (cr, &axis_colour);
  cairo_set_line_width (cr, 2);
  cairo_stroke (cr);
}

static void
slice_view_draw_axis_tool (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  const gboolean line = self->is_axis && slice_view_has_column_line (self);

  if (!line && self->n_grips == 0)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  if (line)
    slice_view_draw_axis (self, cr, height);
  for (guint i = 0; i < self->n_grips; i++)
    slice_view_draw_grip (self, cr, i);
  cairo_destroy (cr);
}

static void
draw_lines (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  double x, y;

  if (slice_view_has_row_line (self)) {
    slice_view_place (self, 0, self->row_line, &x, &y);
    draw_bar (snapshot, &accent, 0, round (y), width, 1);
  }
  if (!self->is_axis && slice_view_has_column_line (self)) {
    slice_view_place (self, self->column_line, 0, &x, &y);
    draw_bar (snapshot, &accent, round (x), 0, 1, height);
  }
  if (self->scene.second) {
    x = round (self->scene.wipe * width);
    draw_bar (snapshot, &white, x - 1, 0, 2, height);
    draw_bar (snapshot, &white, x - 3, height / 2 - 18, 6, 36);
  }
}

static void
draw_box (TdSliceView *self, GtkSnapshot *snapshot, const double r[4], const GdkRGBA *colour)
{
  double x0, y0, x1, y1;

  if (r[2] <= 0)
    return;
  slice_view_place (self, r[0] - 0.5, r[1] - 0.5, &x0, &y0);
  slice_view_place (self, r[0] + r[2] - 0.5, r[1] + r[3] - 0.5, &x1, &y1);
  GskRoundedRect outline = GSK_ROUNDED_RECT_INIT ((float) round (x0), (float) round (y0),
                                                  (float) (x1 - x0), (float) (y1 - y0));
  float widths[4] = { 1.5f, 1.5f, 1.5f, 1.5f };
  GdkRGBA colours[4] = { *colour, *colour, *colour, *colour };
  gtk_snapshot_append_border (snapshot, &outline, widths, colours);
}

static void
draw_scale_bar (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  g_autofree char *text = NULL;
  const double bar = self->pixel_mm[0] == self->pixel_mm[1]
                         ? td_scale_bar (width, self->scene.view.zoom, self->pixel_mm[0], &text)
                         : 0;

  if (!(bar > 0))
    return;
  g_autoptr (PangoLayout) layout = td_small_layout (self, text, 0.85);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  td_scale_bar_draw (cr, height, bar, layout);
  cairo_destroy (cr);
}

static void
slice_view_place_mark (const double point[2], double *x, double *y, gpointer self)
{
  slice_view_place (self, point[0], point[1], x, y);
}

static void
slice_view_draw_marks (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  if ((!self->marks || self->marks->len == 0) && self->drawing.n_points == 0)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));

  td_marks_draw (cr, self->marks, slice_view_place_mark, self, 1);
  if (self->drawing.n_points > 0) {
    g_autoptr (GArray) one = g_array_new (FALSE, FALSE, sizeof (TdMark));
    g_array_append_val (one, self->drawing);
    td_marks_draw (cr, one, slice_view_place_mark, self, 1);
  }
  cairo_destroy (cr);
}

static void
slice_view_draw_overlay (TdSliceView *self, GtkSnapshot *snapshot)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self));
  double height = gtk_widget_get_height (GTK_WIDGET (self));

  draw_lines (self, snapshot, width, height);
  slice_view_draw_axis_tool (self, snapshot, width, height);
  draw_box (self, snapshot, self->region, &accent);
  draw_box (self, snapshot, self->measured, &measuring);
  slice_view_draw_marks (self, snapshot, width, height);
  draw_scale_bar (self, snapshot, width, height);
  td_draw_focus (GTK_WIDGET (self), snapshot);
}

/* ── Pointer ── */

static void
emit_pointed (TdSliceView *self, double wx, double wy)
{
  double column = 0, row = 0;
  gboolean inside = slice_view_locate (self, wx, wy, &column, &row);
  const TdImage *image = self->scene.image;

  inside = inside && column >= -0.5 && row >= -0.5 && column < image->extent_width - 0.5
           && row < image->extent_height - 0.5;
  g_signal_emit_by_name (self, "pointed", column, row, inside);
}

static gboolean
near_row_line (TdSliceView *self, double wy)
{
  double x, y;

  if (!self->row_draggable || !slice_view_has_row_line (self))
    return FALSE;
  slice_view_place (self, 0, self->row_line, &x, &y);
  return fabs (wy - y) <= GRAB_PX;
}

static gboolean
near_column_line (TdSliceView *self, double wx, double wy)
{
  double x, y;

  if (!self->column_draggable || !slice_view_has_column_line (self))
    return FALSE;
  slice_view_place (self, slice_view_column_at (self, wy), 0, &x, &y);
  return fabs (wx - x) <= GRAB_PX;
}

/* MOST_GRIPS: none. */
static guint
slice_view_near_grip (TdSliceView *self, double wx, double wy)
{
  double x, y;

  for (guint i = 0; i < self->n_grips && self->scene.image; i++) {
    slice_view_place (self, self->grips[i][0], self->grips[i][1], &x, &y);
    if (hypot (wx - x, wy - y) <= GRIP_PX + 3)
      return i;
  }
  return MOST_GRIPS;
}

static gboolean
near_wipe (TdSliceView *self, double wx)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self));
  return self->scene.second && fabs (wx - self->scene.wipe * width) <= GRAB_PX;
}

/* What is to be measured may lie under a line: who has a tool in hand does not want the line. */
static gboolean
slice_view_draws (TdSliceView *self, GdkModifierType state)
{
  return self->tool >= 0 && self->scene.image && !(state & (GDK_SHIFT_MASK | GDK_CONTROL_MASK));
}

static void
on_motion (GtkEventControllerMotion *motion, double x, double y, TdSliceView *self)
{
  const GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (motion));
  const gboolean cross = near_row_line (self, y) && near_column_line (self, x, y);
  const gboolean grip = slice_view_near_grip (self, x, y) < MOST_GRIPS;
  const char *cursor = slice_view_draws (self, state)  ? "crosshair"
                       : grip                          ? "grab"
                       : near_wipe (self, x)           ? "col-resize"
                       : cross                         ? "move"
                       : near_row_line (self, y)       ? "row-resize"
                       : near_column_line (self, x, y) ? "col-resize"
                                                       : "crosshair";

  self->pointer_x = x;
  self->pointer_y = y;
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), cursor);
  emit_pointed (self, x, y);
}

static void
on_leave (GtkEventControllerMotion *motion, TdSliceView *self)
{
  g_signal_emit_by_name (self, "pointed", 0.0, 0.0, FALSE);
}

static void
zoom_about (TdSliceView *self, double wx, double wy, double factor)
{
  self->fitted = FALSE;
  td_view_zoom_about (&self->scene.view, gtk_widget_get_width (GTK_WIDGET (self)),
                      gtk_widget_get_height (GTK_WIDGET (self)), wx, wy, factor);
  slice_view_moved (self);
}

static gboolean
slice_view_on_scroll (GtkEventControllerScroll *scroll, double dx, double dy, TdSliceView *self)
{
  const GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (scroll));

  if (!self->scene.image)
    return FALSE;
  if (self->wheel_steps && !(state & GDK_CONTROL_MASK)) {
    self->stepped += dy;
    const int whole = (int) self->stepped;
    self->stepped -= whole;
    if (whole != 0)
      g_signal_emit_by_name (self, "stepped", whole);
    return TRUE;
  }
  zoom_about (self, self->pointer_x, self->pointer_y, pow (WHEEL_FACTOR, -dy));
  emit_pointed (self, self->pointer_x, self->pointer_y);
  return TRUE;
}

static void
slice_view_on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, TdSliceView *self)
{
  self->pinch_zoom = self->scene.view.zoom;
}

static void
slice_view_on_pinch (GtkGestureZoom *gesture, double scale, TdSliceView *self)
{
  double x, y;

  if (gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y))
    zoom_about (self, x, y, self->pinch_zoom * scale / self->scene.view.zoom);
}

/* ── Dragging ── */

/* The second arm of an angle goes on from the first; anything else begins anew. */
static void
drag_draw_begin (TdSliceView *self)
{
  TdMark *mark = &self->drawing;

  if (mark->measure.kind == TD_MEASURE_ANGLE && mark->n_points == 2
      && self->tool == TD_MEASURE_ANGLE)
    mark->n_points = 3;
  else
    *mark = (TdMark) { .measure.kind = (TdMeasureKind) self->tool, .n_points = 2 };
  slice_view_locate (self, self->drag_x, self->drag_y, &mark->measure.points[mark->n_points - 1][0],
                     &mark->measure.points[mark->n_points - 1][1]);
  if (mark->n_points == 2)
    memcpy (mark->measure.points[0], mark->measure.points[1], sizeof mark->measure.points[0]);
}

static void
drag_draw (TdSliceView *self, double wx, double wy)
{
  double *point = self->drawing.measure.points[self->drawing.n_points - 1];

  slice_view_locate (self, wx, wy, &point[0], &point[1]);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* A click draws nothing, but places an angle's last point. */
static void
drag_draw_end (TdSliceView *self)
{
  TdMark *mark = &self->drawing;
  const guint wanted = td_measure_points (mark->measure.kind);
  const TdMeasure measure = mark->measure;

  if (mark->n_points < wanted && self->drag_moved)
    return;
  const gboolean whole = mark->n_points == wanted && (self->drag_moved || wanted == 3);
  mark->n_points = 0;
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (whole)
    g_signal_emit_by_name (self, "drawn", &measure);
}

static guint n_drags; /* main thread */

/* Without anybody to take it, a region would stay on the picture and be nothing. */
static gboolean
slice_view_takes_region (TdSliceView *self)
{
  return g_signal_has_handler_pending (self, g_signal_lookup ("region-drawn", TD_TYPE_SLICE_VIEW),
                                       0, FALSE);
}

static void
slice_view_on_drag_begin (GtkGestureDrag *gesture, double x, double y, TdSliceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_view = self->scene.view;
  self->drag_range[0] = self->scene.style.low;
  self->drag_range[1] = self->scene.style.high;
  self->drag_x = x;
  self->drag_y = y;
  self->drag_moved = FALSE;
  self->drag_number = ++n_drags;
  self->drag_grip = slice_view_near_grip (self, x, y);
  if (button == GDK_BUTTON_SECONDARY)
    self->drag = DRAG_RANGE;
  else if (button == GDK_BUTTON_MIDDLE)
    self->drag = DRAG_PAN;
  else if (slice_view_draws (self, state))
    self->drag = DRAG_DRAW;
  else if (near_wipe (self, x))
    self->drag = DRAG_WIPE;
  else if (self->drag_grip < MOST_GRIPS)
    self->drag = DRAG_GRIP;
  else if (near_row_line (self, y) && near_column_line (self, x, y))
    self->drag = DRAG_CROSS;
  else if (near_row_line (self, y))
    self->drag = DRAG_LINE;
  else if (near_column_line (self, x, y))
    self->drag = DRAG_COLUMN;
  else
    self->drag = state & GDK_SHIFT_MASK && slice_view_takes_region (self) ? DRAG_REGION
                 : state & GDK_CONTROL_MASK                               ? DRAG_MEASURE
                                                                          : DRAG_PAN;
  if (self->drag == DRAG_DRAW)
    drag_draw_begin (self);
}

static void
drag_range (TdSliceView *self, double dx, double dy)
{
  double low = self->drag_range[0], high = self->drag_range[1];
  double level = (low + high) / 2, width = high - low;

  level += dy / 300 * width;
  width *= exp (dx / 200);
  td_slice_view_set_range (self, level - width / 2, level + width / 2);
  g_signal_emit_by_name (self, "range-changed", self->scene.style.low, self->scene.style.high);
}

static void
drag_line (TdSliceView *self, double wx, double wy)
{
  double column, row;

  if (!slice_view_locate (self, wx, wy, &column, &row))
    return;
  row = CLAMP (round (row), 0, self->scene.image->extent_height - 1);
  td_slice_view_set_row_line (self, row, TRUE);
  g_signal_emit_by_name (self, "line-moved", row);
}

static void
drag_column (TdSliceView *self, double wx, double wy)
{
  double column, row;

  if (!slice_view_locate (self, wx, wy, &column, &row))
    return;
  if (self->is_axis)
    column -= self->axis_slope * (row - self->axis_row);
  column = round (column * 100) / 100;
  td_slice_view_set_column_line (self, column, TRUE);
  g_signal_emit_by_name (self, "column-moved", column);
}

static void
slice_view_drag_grip (TdSliceView *self, double wx, double wy)
{
  double column, row;

  self->pointer_x = wx;
  self->pointer_y = wy;
  gtk_widget_queue_draw (GTK_WIDGET (self));
  if (slice_view_locate (self, wx, wy, &column, &row))
    g_signal_emit_by_name (self, "grip-moved", self->drag_grip, column, row);
}

/* The pixels from where the drag began to the pointer: x, y, width, height. */
static gboolean
drag_box (TdSliceView *self, double dx, double dy, double box[4])
{
  double c0, r0, c1, r1;

  if (!slice_view_locate (self, self->drag_x, self->drag_y, &c0, &r0)
      || !slice_view_locate (self, self->drag_x + dx, self->drag_y + dy, &c1, &r1))
    return FALSE;
  double x = MAX (round (MIN (c0, c1)), 0), y = MAX (round (MIN (r0, r1)), 0);
  double right = MIN (round (MAX (c0, c1)), self->scene.image->extent_width - 1);
  double bottom = MIN (round (MAX (r0, r1)), self->scene.image->extent_height - 1);
  memcpy (box, (double[]) { x, y, MAX (right - x + 1, 1), MAX (bottom - y + 1, 1) },
          4 * sizeof *box);
  return TRUE;
}

static void
slice_view_measure (TdSliceView *self, const double box[4])
{
  slice_view_set_measured (self, box[0], box[1], box[2], box[3]);
  g_signal_emit_by_name (self, "measured", box[0], box[1], box[2], box[3]);
}

static void
slice_view_on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TdSliceView *self)
{
  double box[4];

  if (!self->drag_moved && hypot (dx, dy) < CLICK_PX)
    return;
  self->drag_moved = TRUE;
  switch (self->drag) {
  case DRAG_PAN:
    self->fitted = FALSE;
    self->scene.view.x = self->drag_view.x - dx / self->scene.view.zoom;
    self->scene.view.y = self->drag_view.y - dy / td_view_zoom_down (&self->scene.view);
    slice_view_moved (self);
    break;
  case DRAG_RANGE: drag_range (self, dx, dy); break;
  case DRAG_LINE: drag_line (self, self->drag_x + dx, self->drag_y + dy); break;
  case DRAG_COLUMN: drag_column (self, self->drag_x + dx, self->drag_y + dy); break;
  case DRAG_DRAW: drag_draw (self, self->drag_x + dx, self->drag_y + dy); break;
  case DRAG_GRIP: slice_view_drag_grip (self, self->drag_x + dx, self->drag_y + dy); break;
  case DRAG_CROSS:
    drag_line (self, self->drag_x + dx, self->drag_y + dy);
    drag_column (self, self->drag_x + dx, self->drag_y + dy);
    break;
  case DRAG_WIPE:
    self->scene.wipe
        = CLAMP ((self->drag_x + dx) / gtk_widget_get_width (GTK_WIDGET (self)), 0.02, 0.98);
    slice_view_redraw (self);
    break;
  case DRAG_REGION:
    if (drag_box (self, dx, dy, box))
      td_slice_view_set_region (self, box[0], box[1], box[2], box[3]);
    break;
  case DRAG_MEASURE:
    if (drag_box (self, dx, dy, box))
      slice_view_measure (self, box);
    break;
  case DRAG_NONE: break;
  }
}

static void
slice_view_on_drag_end (GtkGestureDrag *gesture, double dx, double dy, TdSliceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  double column, row;

  if (self->drag == DRAG_NONE)
    return;
  if (self->drag == DRAG_REGION && self->drag_moved)
    g_signal_emit_by_name (self, "region-drawn", self->region[0], self->region[1], self->region[2],
                           self->region[3]);
  else if (self->drag == DRAG_DRAW)
    drag_draw_end (self);
  else if (self->drag == DRAG_MEASURE && !self->drag_moved)
    slice_view_measure (self, (double[4]) { 0 });
  else if (!self->drag_moved && button == GDK_BUTTON_PRIMARY
           && slice_view_locate (self, self->drag_x, self->drag_y, &column, &row))
    g_signal_emit_by_name (self, "picked", column, row);
  self->drag = DRAG_NONE;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* ── Keys ── */

static void
slice_view_on_arrow (TdSliceView *self, int dx, int dy, GdkModifierType state)
{
  if (state & GDK_CONTROL_MASK) {
    self->fitted = FALSE;
    self->scene.view.x += dx * PAN_STEP_PX / self->scene.view.zoom;
    self->scene.view.y += dy * PAN_STEP_PX / td_view_zoom_down (&self->scene.view);
    slice_view_moved (self);
  } else {
    g_signal_emit_by_name (self, state & GDK_ALT_MASK ? "shifted" : "nudged", dx, dy,
                           (state & GDK_SHIFT_MASK) != 0);
  }
}

static gboolean
slice_view_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                   TdSliceView *self)
{
  int dx, dy;

  if (td_key_arrow (key, &dx, &dy))
    slice_view_on_arrow (self, dx, dy, state);
  else if (td_key_zoom (key))
    slice_view_zoom_by (self, td_key_zoom (key) > 0 ? 1.25 : 0.8);
  else if (td_key_is_digit (key, 0))
    td_slice_view_fit (self);
  else if (td_key_is_digit (key, 1))
    td_slice_view_one_to_one (self);
  else
    return FALSE;
  return TRUE;
}

static void
slice_view_add_input (TdSliceView *self)
{
  static const TdPictureInput input = {
    .scroll = G_CALLBACK (slice_view_on_scroll),
    .key_pressed = G_CALLBACK (slice_view_on_key),
    .pinch_begin = G_CALLBACK (slice_view_on_pinch_begin),
    .pinch_changed = G_CALLBACK (slice_view_on_pinch),
    .drag_begin = G_CALLBACK (slice_view_on_drag_begin),
    .drag_update = G_CALLBACK (slice_view_on_drag_update),
    .drag_end = G_CALLBACK (slice_view_on_drag_end),
  };
  GtkEventController *motion = gtk_event_controller_motion_new ();

  g_signal_connect (motion, "enter", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "motion", G_CALLBACK (on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (on_leave), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  td_picture_input_add (GTK_WIDGET (self), &input);
}

/* ── Widget ── */

static void
set_canvas (TdSliceView *self, GtkWidget *canvas, gboolean uses_gl)
{
  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  self->canvas = canvas;
  self->uses_gl = uses_gl;
  gtk_widget_set_can_target (canvas, FALSE);
  gtk_widget_set_parent (canvas, GTK_WIDGET (self));
}

static gboolean
slice_view_go_without_gl (gpointer user)
{
  TdSliceView *self = user;

  if (self->canvas && self->uses_gl)
    set_canvas (self, td_soft_canvas_new (&self->scene), FALSE);
  return G_SOURCE_REMOVE;
}

/* Called while the canvas is being realised: it cannot be replaced before that is over. */
static void
slice_view_gl_failed (const char *reason, gpointer user)
{
  g_signal_emit_by_name (user, "failed", reason);
  g_idle_add_full (G_PRIORITY_HIGH, slice_view_go_without_gl, g_object_ref (user), g_object_unref);
}

static void
td_slice_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TdSliceView *self = TD_SLICE_VIEW (widget);

  gtk_widget_size_allocate (self->canvas, &(GtkAllocation) { 0, 0, width, height }, -1);
  if (self->fitted)
    slice_view_refit (self);
}

static void
td_slice_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                       int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = 80;
  *natural = 320;
  *minimum_baseline = *natural_baseline = -1;
}

static void
td_slice_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdSliceView *self = TD_SLICE_VIEW (widget);

  gtk_widget_snapshot_child (widget, self->canvas, snapshot);
  if (self->scene.image)
    slice_view_draw_overlay (self, snapshot);
}

TD_DISPOSE (TdSliceView, td_slice_view)
{
  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  g_clear_pointer (&self->marks, g_array_unref);
  g_clear_pointer (&self->scene.image, td_image_unref);
  g_clear_pointer (&self->scene.second, td_image_unref);
}

static void
td_slice_view_class_init (TdSliceViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);
  GType number = G_TYPE_DOUBLE, flag = G_TYPE_BOOLEAN;

  G_OBJECT_CLASS (class)->dispose = td_slice_view_dispose;
  widget->size_allocate = td_slice_view_size_allocate;
  widget->measure = td_slice_view_measure;
  widget->snapshot = td_slice_view_snapshot;
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget, "sliceview");

  td_signal_new (class, "pointed", 3, number, number, flag);
  td_signal_new (class, "picked", 2, number, number);
  td_signal_new (class, "line-moved", 1, number);
  td_signal_new (class, "column-moved", 1, number);
  td_signal_new (class, "grip-moved", 3, G_TYPE_UINT, number, number);
  td_signal_new (class, "shifted", 3, G_TYPE_INT, G_TYPE_INT, flag);
  td_signal_new (class, "nudged", 3, G_TYPE_INT, G_TYPE_INT, flag);
  td_signal_new (class, "view-changed", 0);
  td_signal_new (class, "stepped", 1, G_TYPE_INT);
  td_signal_new (class, "range-changed", 2, number, number);
  td_signal_new (class, "region-drawn", 4, number, number, number, number);
  td_signal_new (class, "measured", 4, number, number, number, number);
  td_signal_new (class, "drawn", 1, G_TYPE_POINTER);
  td_signal_new (class, "failed", 1, G_TYPE_STRING);
}

static void
td_slice_view_init (TdSliceView *self)
{
  self->scene.view = (TdView) { .zoom = 1 };
  self->scene.wipe = 0.5;
  self->scene.style = (TdStyle) {
    .low = 0, .high = 1, .bad_rgb = { 0.90f, 0.20f, 0.75f }, .background = { 0.11f, 0.11f, 0.12f }
  };
  self->fitted = TRUE;
  self->tool = -1;
  self->row_line = self->column_line = NAN;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "crosshair");
  if (td_drawing_by_processor ())
    set_canvas (self, td_soft_canvas_new (&self->scene), FALSE);
  else
    set_canvas (self, td_gl_canvas_new (&self->scene, slice_view_gl_failed, self), TRUE);
  slice_view_add_input (self);
}
