/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space-view.h"

#include <math.h>
#include <string.h>

#include "latest.h"
#include "picture-input.h"
#include "render/soft-renderer.h"
#include "render/space-renderer.h"
#include "render/voxel-renderer.h"
#include "ui.h"

#define FIRST_YAW_DEG 38.0
#define FIRST_PITCH_DEG 24.0
#define TURN_RAD_A_PX 0.008
#define STEP_DEG 5.0
#define STEP_FINE_DEG 1.0
#define PAN_STEP 0.05
#define ZOOM_STEP 1.25
#define MOST_ZOOM 50.0

struct _TdSpaceView {
  GtkWidget parent_instance;
  GtkGLArea *canvas; /* NULL: drawn by the processor */
  TdSpaceRenderer *renderer;
  TdVoxelRenderer *voxel_renderer; /* NULL: none were drawn yet */
  TdSpace *space;                  /* NULL: nothing */
  TdVoxels *voxels;                /* NULL: none */
  TdCast cast;
  TdCamera camera;
  TdInk background;
  TdLatest *casting;    /* by the processor */
  GdkTexture *picture;  /* of the voxels, by the processor; NULL: none */
  TdCamera drag_camera; /* as the drag began */
  gboolean drag_moves;
  double pinch_zoom;
};

G_DEFINE_FINAL_TYPE (TdSpaceView, td_space_view, GTK_TYPE_WIDGET)

/* ── Voxels by the processor ── */

/* Rays of the first picture, which follows the pointer, and of the one that stays. */
#define COARSE_SIDE 96.0
#define FINE_SIDE 420.0

typedef struct {
  TdVoxels *voxels;
  TdCast cast;
  TdCamera camera;
  int width, height;
} Casting;

static void
casting_free (gpointer user)
{
  Casting *casting = user;

  td_voxels_unref (casting->voxels);
  g_free (casting);
}

static GdkTexture *
casting_draw (const Casting *casting, double side, GCancellable *cancellable)
{
  const double scale = MIN (side / MIN (casting->width, casting->height), 1);
  const guint width = (guint) MAX (casting->width * scale, 1);
  const guint height = (guint) MAX (casting->height * scale, 1);
  guint8 *rgba = g_malloc ((gsize) 4 * width * height);

  if (!td_voxels_cast (casting->voxels, &casting->cast, &casting->camera, width, height,
                       cancellable, rgba)) {
    g_free (rgba);
    return NULL;
  }
  g_autoptr (GBytes) bytes = g_bytes_new_take (rgba, (gsize) 4 * width * height);
  return gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8A8_PREMULTIPLIED,
                                 bytes, (gsize) 4 * width);
}

static gpointer
casting_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  GdkTexture *coarse = casting_draw (user, COARSE_SIDE, cancellable);

  if (coarse)
    td_latest_post (run, coarse, TRUE);
  GdkTexture *fine = casting_draw (user, FINE_SIDE, cancellable);
  if (!fine)
    g_cancellable_set_error_if_cancelled (cancellable, error);
  return fine;
}

static void
casting_show (gpointer texture, const GError *error, gboolean last, gpointer user)
{
  TdSpaceView *self = user;

  if (!texture)
    return;
  g_set_object (&self->picture, texture);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
space_view_cast (TdSpaceView *self)
{
  const int width = gtk_widget_get_width (GTK_WIDGET (self));
  const int height = gtk_widget_get_height (GTK_WIDGET (self));

  if (self->canvas || !self->voxels || width <= 0 || height <= 0)
    return;
  Casting *casting = g_new (Casting, 1);
  *casting = (Casting) { td_voxels_ref (self->voxels), self->cast, self->camera, width, height };
  td_latest_request (self->casting, casting);
}

static void
space_view_redraw (TdSpaceView *self)
{
  space_view_cast (self);
  if (self->canvas)
    gtk_gl_area_queue_render (self->canvas);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_space_view_take_space (TdSpaceView *self, TdSpace *space)
{
  td_space_free (self->space);
  self->space = space;
  space_view_redraw (self);
}

void
td_space_view_set_voxels (TdSpaceView *self, TdVoxels *voxels, const TdCast *cast)
{
  TdVoxels *before = self->voxels;

  /* Casting takes a processor a good while. */
  if (voxels == before && (!voxels || memcmp (cast, &self->cast, sizeof *cast) == 0))
    return;
  self->voxels = voxels ? td_voxels_ref (voxels) : NULL;
  g_clear_pointer (&before, td_voxels_unref);
  self->cast = *cast;
  if (!voxels) {
    td_latest_cancel (self->casting);
    g_clear_object (&self->picture);
  }
  space_view_redraw (self);
}

void
td_space_view_set_ball (TdSpaceView *self, const double centre[3], double radius)
{
  TdCamera before = self->camera;

  td_camera_init (&self->camera, centre, radius);
  self->camera.yaw_rad = before.yaw_rad;
  self->camera.pitch_rad = before.pitch_rad;
  self->camera.zoom = before.zoom;
  self->camera.pan_x = before.pan_x;
  self->camera.pan_y = before.pan_y;
  space_view_redraw (self);
}

void
td_space_view_look_from (TdSpaceView *self, double yaw_deg, double pitch_deg)
{
  self->camera.yaw_rad = yaw_deg * G_PI / 180;
  self->camera.pitch_rad = pitch_deg * G_PI / 180;
  space_view_redraw (self);
}

void
td_space_view_reset (TdSpaceView *self)
{
  self->camera.zoom = 1;
  self->camera.pan_x = self->camera.pan_y = 0;
  td_space_view_look_from (self, FIRST_YAW_DEG, FIRST_PITCH_DEG);
}

/* ── Drawing ── */

/* (transfer full) */
static GArray *
space_view_project (const TdSpaceView *self, double width, double height, double scale)
{
  return self->space ? td_space_project (self->space, &self->camera, width, height, scale)
                     : g_array_new (FALSE, FALSE, sizeof (TdShape));
}

static void
draw_soft (TdSpaceView *self, GtkSnapshot *snapshot, double width, double height)
{
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  g_autoptr (GArray) shapes = space_view_project (self, width, height, 1);

  td_soft_space_draw (cr, shapes, self->background);
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

/* The place of a label of that size: beside its point, or some lines above or below. The label
   stays inside the picture and covers no other label. Where no such place is free it takes the
   first. */
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
  g_autoptr (PangoLayout) layout = td_small_layout (self, label->text, 0.85);
  double x, y, depth;
  int tw, th;

  td_camera_project (&self->camera, gtk_widget_get_width (GTK_WIDGET (self)),
                     gtk_widget_get_height (GTK_WIDGET (self)), label->point, &x, &y, &depth);
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
  const TdSpaceLabel *labels = self->space ? td_space_labels (self->space, &n) : NULL;

  if (self->canvas)
    gtk_widget_snapshot_child (widget, GTK_WIDGET (self->canvas), snapshot);
  else
    draw_soft (self, snapshot, width, height);
  if (!self->canvas && self->picture)
    gtk_snapshot_append_texture (snapshot, self->picture,
                                 &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  g_autofree graphene_rect_t *taken = g_new (graphene_rect_t, n);
  for (guint i = 0; i < n; i++)
    draw_label (self, snapshot, &labels[i], taken, i);
  td_draw_focus (widget, snapshot);
}

/* ── By OpenGL ── */

static gboolean
space_view_go_without_gl (gpointer user)
{
  TdSpaceView *self = user;

  if (self->canvas)
    gtk_widget_unparent (GTK_WIDGET (self->canvas));
  self->canvas = NULL;
  space_view_redraw (self);
  return G_SOURCE_REMOVE;
}

/* GL is missing, too old or does not build the shaders. The canvas is in use: it cannot be removed
   before that is over. */
static void
space_view_gl_failed (TdSpaceView *self)
{
  g_idle_add_full (G_PRIORITY_HIGH, space_view_go_without_gl, g_object_ref (self), g_object_unref);
}

/* Queued while it renders, it would not be drawn. */
static gboolean
space_view_render_again (gpointer canvas)
{
  gtk_gl_area_queue_render (canvas);
  return G_SOURCE_REMOVE;
}

static gboolean
space_view_render (GtkGLArea *area, GdkGLContext *context, TdSpaceView *self)
{
  double scale = gtk_widget_get_scale_factor (GTK_WIDGET (area));
  guint width = (guint) (gtk_widget_get_width (GTK_WIDGET (area)) * scale);
  guint height = (guint) (gtk_widget_get_height (GTK_WIDGET (area)) * scale);

  if (!self->renderer)
    return FALSE;
  g_autoptr (GArray) shapes = space_view_project (self, width, height, scale);
  td_space_renderer_draw (self->renderer, shapes, self->background, width, height);
  if (self->voxels && !self->voxel_renderer) {
    self->voxel_renderer = td_voxel_renderer_new (NULL);
    if (!self->voxel_renderer)
      space_view_gl_failed (self);
  }
  if (self->voxels && self->voxel_renderer
      && td_voxel_renderer_draw (self->voxel_renderer, self->voxels, &self->cast, &self->camera,
                                 width, height))
    g_idle_add_full (G_PRIORITY_DEFAULT_IDLE, space_view_render_again, g_object_ref (area),
                     g_object_unref);
  return TRUE;
}

/* After the area's own handler, which makes the context. */
static void
space_view_on_realize (GtkGLArea *area, TdSpaceView *self)
{
  gtk_gl_area_make_current (area);
  if (!gtk_gl_area_get_error (area))
    self->renderer = td_space_renderer_new (NULL);
  if (!self->renderer)
    space_view_gl_failed (self);
}

/* Before the area's own handler. */
static void
space_view_on_unrealize (GtkGLArea *area, TdSpaceView *self)
{
  gtk_gl_area_make_current (area);
  if (gtk_gl_area_get_error (area))
    return;
  g_clear_pointer (&self->renderer, td_space_renderer_free);
  g_clear_pointer (&self->voxel_renderer, td_voxel_renderer_free);
}

static void
space_view_add_canvas (TdSpaceView *self)
{
  self->canvas = GTK_GL_AREA (gtk_gl_area_new ());
  gtk_gl_area_set_required_version (self->canvas, 3, 2);
  gtk_gl_area_set_auto_render (self->canvas, FALSE);
  g_signal_connect (self->canvas, "render", G_CALLBACK (space_view_render), self);
  g_signal_connect (self->canvas, "realize", G_CALLBACK (space_view_on_realize), self);
  g_signal_connect (self->canvas, "unrealize", G_CALLBACK (space_view_on_unrealize), self);
  gtk_widget_set_can_target (GTK_WIDGET (self->canvas), FALSE);
  gtk_widget_set_parent (GTK_WIDGET (self->canvas), GTK_WIDGET (self));
}

static void
space_view_turn (TdSpaceView *self, double yaw_rad, double pitch_rad)
{
  TdCamera *camera = &self->camera;

  camera->yaw_rad = remainder (yaw_rad, 2 * G_PI);
  camera->pitch_rad = CLAMP (pitch_rad, -G_PI / 2, G_PI / 2);
  space_view_redraw (self);
}

static void
zoom_to (TdSpaceView *self, double zoom)
{
  self->camera.zoom = CLAMP (zoom, 0.2, MOST_ZOOM);
  space_view_redraw (self);
}

/* ── Pointer ── */

static void
space_view_on_drag_begin (GtkGestureDrag *gesture, double x, double y, TdSpaceView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  GdkModifierType state
      = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->drag_camera = self->camera;
  self->drag_moves = button != GDK_BUTTON_PRIMARY || (state & GDK_SHIFT_MASK);
}

static void
space_view_on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TdSpaceView *self)
{
  TdCamera *camera = &self->camera;
  const TdCamera *from = &self->drag_camera;
  double side
      = MIN (gtk_widget_get_width (GTK_WIDGET (self)), gtk_widget_get_height (GTK_WIDGET (self)));

  if (!self->drag_moves) {
    /* The near side follows the pointer. */
    space_view_turn (self, from->yaw_rad - dx * TURN_RAD_A_PX,
                     from->pitch_rad + dy * TURN_RAD_A_PX);
    return;
  }
  camera->pan_x = from->pan_x + dx / side / camera->zoom;
  camera->pan_y = from->pan_y + dy / side / camera->zoom;
  space_view_redraw (self);
}

static gboolean
space_view_on_scroll (GtkEventControllerScroll *scroll, double dx, double dy, TdSpaceView *self)
{
  zoom_to (self, self->camera.zoom * pow (ZOOM_STEP, -dy));
  return TRUE;
}

static void
space_view_on_pinch_begin (GtkGesture *gesture, GdkEventSequence *sequence, TdSpaceView *self)
{
  self->pinch_zoom = self->camera.zoom;
}

static void
space_view_on_pinch (GtkGestureZoom *gesture, double scale, TdSpaceView *self)
{
  zoom_to (self, self->pinch_zoom * scale);
}

/* ── Keys ── */

static void
space_view_on_arrow (TdSpaceView *self, int dx, int dy, GdkModifierType state)
{
  TdCamera *camera = &self->camera;
  double step = (state & GDK_SHIFT_MASK ? STEP_FINE_DEG : STEP_DEG) * G_PI / 180;

  if (!(state & GDK_CONTROL_MASK)) {
    space_view_turn (self, camera->yaw_rad - dx * step, camera->pitch_rad + dy * step);
    return;
  }
  camera->pan_x += dx * PAN_STEP / camera->zoom;
  camera->pan_y += dy * PAN_STEP / camera->zoom;
  space_view_redraw (self);
}

static gboolean
space_view_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                   TdSpaceView *self)
{
  int dx, dy;

  if (td_key_arrow (key, &dx, &dy))
    space_view_on_arrow (self, dx, dy, state);
  else if (td_key_zoom (key))
    zoom_to (self, self->camera.zoom * pow (ZOOM_STEP, td_key_zoom (key)));
  else if (td_key_is_digit (key, 0))
    td_space_view_reset (self);
  else
    return FALSE;
  return TRUE;
}

/* ── Widget ── */

static void
td_space_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TdSpaceView *self = TD_SPACE_VIEW (widget);

  if (self->canvas)
    gtk_widget_allocate (GTK_WIDGET (self->canvas), width, height, -1, NULL);
  space_view_cast (self);
}

static void
td_space_view_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                       int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = 80;
  *natural = 320;
  *minimum_baseline = *natural_baseline = -1;
}

TD_DISPOSE (TdSpaceView, td_space_view)
{
  if (self->canvas)
    gtk_widget_unparent (GTK_WIDGET (self->canvas));
  self->canvas = NULL;
  g_clear_pointer (&self->space, td_space_free);
  g_clear_pointer (&self->casting, td_latest_free);
  g_clear_pointer (&self->voxels, td_voxels_unref);
  g_clear_object (&self->picture);
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
  static const TdPictureInput input = {
    .scroll = G_CALLBACK (space_view_on_scroll),
    .key_pressed = G_CALLBACK (space_view_on_key),
    .pinch_begin = G_CALLBACK (space_view_on_pinch_begin),
    .pinch_changed = G_CALLBACK (space_view_on_pinch),
    .drag_begin = G_CALLBACK (space_view_on_drag_begin),
    .drag_update = G_CALLBACK (space_view_on_drag_update),
  };
  const double origin[3] = { 0 };

  self->casting = td_latest_new (casting_work, casting_free, casting_show, g_object_unref, self);
  self->background = (TdInk) { { 0.11f, 0.11f, 0.12f, 1 } };
  td_camera_init (&self->camera, origin, 1);
  td_space_view_reset (self);
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "grab");
  td_picture_input_add (GTK_WIDGET (self), &input);
  if (!td_drawing_by_processor ())
    space_view_add_canvas (self);
}
