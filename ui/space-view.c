/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space-view-private.h"

#include <math.h>

#include "drawing.h"
#include "focus-ring.h"
#include "render/soft-space.h"

#define FIRST_YAW_DEG 38.0
#define FIRST_PITCH_DEG 24.0

G_DEFINE_FINAL_TYPE (TdSpaceView, td_space_view, GTK_TYPE_WIDGET)

/* ── State ── */

void
td_space_view_redraw (TdSpaceView *self)
{
  if (self->canvas)
    gtk_gl_area_queue_render (GTK_GL_AREA (self->canvas));
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_space_view_take_space (TdSpaceView *self, TdSpace *space)
{
  td_space_free (self->scene.space);
  self->scene.space = space;
  td_space_view_redraw (self);
}

void
td_space_view_set_ball (TdSpaceView *self, const double centre[3], double radius)
{
  TdCamera before = self->scene.camera;

  td_camera_init (&self->scene.camera, centre, radius);
  self->scene.camera.yaw_rad = before.yaw_rad;
  self->scene.camera.pitch_rad = before.pitch_rad;
  self->scene.camera.zoom = before.zoom;
  self->scene.camera.pan_x = before.pan_x;
  self->scene.camera.pan_y = before.pan_y;
  td_space_view_redraw (self);
}

void
td_space_view_look_from (TdSpaceView *self, double yaw_deg, double pitch_deg)
{
  self->scene.camera.yaw_rad = yaw_deg * G_PI / 180;
  self->scene.camera.pitch_rad = pitch_deg * G_PI / 180;
  td_space_view_redraw (self);
}

void
td_space_view_reset (TdSpaceView *self)
{
  self->scene.camera.zoom = 1;
  self->scene.camera.pan_x = self->scene.camera.pan_y = 0;
  td_space_view_look_from (self, FIRST_YAW_DEG, FIRST_PITCH_DEG);
}

const TdCamera *
td_space_view_camera (TdSpaceView *self)
{
  return &self->scene.camera;
}

void
td_space_view_set_label (TdSpaceView *self, const char *label)
{
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}

gboolean
td_space_view_uses_gl (TdSpaceView *self)
{
  return self->canvas != NULL;
}

/* ── Drawing ── */

static void
draw_soft (TdSpaceView *self, GtkSnapshot *snapshot, double width, double height)
{
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  g_autoptr (GArray) shapes
      = self->scene.space
            ? td_space_project (self->scene.space, &self->scene.camera, width, height, 1)
            : g_array_new (FALSE, FALSE, sizeof (TdShape));

  td_soft_space_draw (cr, shapes, self->scene.background);
  cairo_destroy (cr);
}

#define LABEL_RINGS 4

static gboolean
is_free (const graphene_rect_t *place, const graphene_rect_t *all, const graphene_rect_t *taken,
         guint n)
{
  gboolean free = graphene_rect_contains_rect (all, place);

  for (guint i = 0; i < n && free; i++)
    free = !graphene_rect_intersection (place, &taken[i], NULL);
  return free;
}

/* Where a label of that size can stand beside its point, or a line or more above or below, inside
   the picture and without covering one that stands already; where there is no such place, the first
   choice. */
static graphene_rect_t
place_label (TdSpaceView *self, double x, double y, float width, float height,
             const graphene_rect_t *taken, guint n)
{
  const float gap = 5, left = (float) round (x), top = (float) round (y);
  const float columns[] = { left + gap, left - gap - width, left - width / 2 };
  const graphene_rect_t all
      = GRAPHENE_RECT_INIT (0, 0, (float) gtk_widget_get_width (GTK_WIDGET (self)),
                            (float) gtk_widget_get_height (GTK_WIDGET (self)));

  for (guint ring = 0; ring < LABEL_RINGS; ring++) {
    const float away = 2 + (float) ring * (height + 2);
    const float rows[] = { top - height - away, top + away };
    for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
      for (guint c = 0; c < (ring ? 3 : 2); c++) {
        const graphene_rect_t place = GRAPHENE_RECT_INIT (columns[c], rows[r], width, height);
        if (is_free (&place, &all, taken, n))
          return place;
      }
  }
  return GRAPHENE_RECT_INIT (columns[0], top - height - 2, width, height);
}

/* Text stands on a dark ground, so that it is read over lines. */
static void
draw_label (TdSpaceView *self, GtkSnapshot *snapshot, const TdSpaceLabel *label,
            graphene_rect_t *taken, guint n)
{
  const float *c = label->ink.rgba;
  GdkRGBA colour = { c[0], c[1], c[2], c[3] }, shade = { 0, 0, 0, 0.45f };
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), label->text);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();
  double x, y, depth;
  int tw, th;

  td_camera_project (&self->scene.camera, gtk_widget_get_width (GTK_WIDGET (self)),
                     gtk_widget_get_height (GTK_WIDGET (self)), label->point, &x, &y, &depth);
  pango_attr_list_insert (attributes, pango_attr_scale_new (0.85));
  pango_layout_set_attributes (layout, attributes);
  pango_layout_get_pixel_size (layout, &tw, &th);
  taken[n] = place_label (self, x, y, (float) tw + 8, (float) th + 2, taken, n);
  GskRoundedRect back;
  gsk_rounded_rect_init_from_rect (&back, &taken[n], 4);
  gtk_snapshot_push_rounded_clip (snapshot, &back);
  gtk_snapshot_append_color (snapshot, &shade, &back.bounds);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (
      snapshot, &GRAPHENE_POINT_INIT (back.bounds.origin.x + 4, back.bounds.origin.y + 1));
  gtk_snapshot_append_layout (snapshot, layout, &colour);
  gtk_snapshot_restore (snapshot);
}

static void
td_space_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdSpaceView *self = TD_SPACE_VIEW (widget);
  double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  guint n = 0;
  const TdSpaceLabel *labels = self->scene.space ? td_space_labels (self->scene.space, &n) : NULL;

  if (self->canvas)
    gtk_widget_snapshot_child (widget, self->canvas, snapshot);
  else
    draw_soft (self, snapshot, width, height);
  g_autofree graphene_rect_t *taken = g_new (graphene_rect_t, n);
  for (guint i = 0; i < n; i++)
    draw_label (self, snapshot, &labels[i], taken, i);
  td_draw_focus (widget, snapshot);
}

/* ── Widget ── */

static gboolean
space_view_go_without_gl (gpointer user)
{
  TdSpaceView *self = user;

  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  td_space_view_redraw (self);
  return G_SOURCE_REMOVE;
}

/* Called while the canvas is being realised: it cannot be removed before that is over. */
static void
space_view_gl_failed (gpointer user)
{
  g_idle_add_full (G_PRIORITY_HIGH, space_view_go_without_gl, g_object_ref (user), g_object_unref);
}

static void
td_space_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TdSpaceView *self = TD_SPACE_VIEW (widget);

  if (self->canvas)
    gtk_widget_size_allocate (self->canvas, &(GtkAllocation) { 0, 0, width, height }, -1);
}

static void
td_space_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                       int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = 80;
  *natural = 320;
  *minimum_baseline = *natural_baseline = -1;
}

static void
td_space_view_dispose (GObject *object)
{
  TdSpaceView *self = TD_SPACE_VIEW (object);

  g_clear_pointer (&self->canvas, gtk_widget_unparent);
  g_clear_pointer (&self->scene.space, td_space_free);
  G_OBJECT_CLASS (td_space_view_parent_class)->dispose (object);
}

static void
td_space_view_class_init (TdSpaceViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->dispose = td_space_view_dispose;
  widget->size_allocate = td_space_view_size_allocate;
  widget->measure = td_space_view_measure;
  widget->snapshot = td_space_view_snapshot;
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
td_space_view_init (TdSpaceView *self)
{
  const double origin[3] = { 0 };

  self->scene.background = (TdInk) { { 0.11f, 0.11f, 0.12f, 1 } };
  td_camera_init (&self->scene.camera, origin, 1);
  td_space_view_reset (self);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "grab");
  td_space_view_add_input (self);
  if (td_drawing_by_processor ())
    return;
  self->canvas = td_space_canvas_new (&self->scene, space_view_gl_failed, self);
  gtk_widget_set_can_target (self->canvas, FALSE);
  gtk_widget_set_parent (self->canvas, GTK_WIDGET (self));
}
