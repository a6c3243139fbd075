/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-canvas.h"

#include <glib/gi18n.h>

#include "render/image-renderer.h"
#include "render/soft-renderer.h"

/* ── By OpenGL ── */

/* Uploaded in one frame: keeps a 16-megapixel picture from holding up the main thread. A slice of
   2048² goes up at once, in 1 to 4 ms; each further frame would show it 17 ms later. */
#define UPLOAD_BYTES_A_FRAME ((gsize) 32 << 20)

/* One picture in graphics memory: the one shown, and the one on its way there. */
typedef struct {
  TdImageTexture *shown, *coming;
} Slot;

#define TD_TYPE_GL_CANVAS (td_gl_canvas_get_type ())
G_DECLARE_FINAL_TYPE (TdGlCanvas, td_gl_canvas, TD, GL_CANVAS, GtkGLArea)

struct _TdGlCanvas {
  GtkGLArea parent_instance;
  const TdScene *scene;
  TdCanvasFailed failed;
  gpointer failed_user;
  TdImageRenderer *renderer;
  Slot first, second;
  guint tick;
};

G_DEFINE_FINAL_TYPE (TdGlCanvas, td_gl_canvas, GTK_TYPE_GL_AREA)

static void
slot_clear (Slot *slot)
{
  g_clear_pointer (&slot->shown, td_image_texture_free);
  g_clear_pointer (&slot->coming, td_image_texture_free);
}

/* TRUE while more is to be uploaded. */
static gboolean
slot_update (Slot *slot, TdImage *image)
{
  if (!image) {
    slot_clear (slot);
    return FALSE;
  }
  if (slot->shown && td_image_texture_image (slot->shown) == image) {
    g_clear_pointer (&slot->coming, td_image_texture_free);
    return FALSE;
  }
  if (slot->coming && td_image_texture_image (slot->coming) != image)
    g_clear_pointer (&slot->coming, td_image_texture_free);
  if (!slot->coming)
    slot->coming = td_image_texture_new (image, 0);
  if (!td_image_texture_upload (slot->coming, UPLOAD_BYTES_A_FRAME))
    return TRUE;
  g_clear_pointer (&slot->shown, td_image_texture_free);
  slot->shown = g_steal_pointer (&slot->coming);
  return FALSE;
}

static gboolean
upload_more (GtkWidget *widget, GdkFrameClock *clock, gpointer user)
{
  TD_GL_CANVAS (widget)->tick = 0;
  gtk_gl_area_queue_render (GTK_GL_AREA (widget));
  return G_SOURCE_REMOVE;
}

static gboolean
td_gl_canvas_render (GtkGLArea *area, GdkGLContext *context)
{
  TdGlCanvas *self = TD_GL_CANVAS (area);
  const TdScene *scene = self->scene;
  double scale = gtk_widget_get_scale_factor (GTK_WIDGET (area));
  const TdScreen screen = { (guint) (gtk_widget_get_width (GTK_WIDGET (area)) * scale),
                            (guint) (gtk_widget_get_height (GTK_WIDGET (area)) * scale), scale };

  if (!self->renderer)
    return FALSE;
  gboolean more = slot_update (&self->first, scene->image);
  more |= slot_update (&self->second, scene->second);
  td_image_renderer_clear (self->renderer, &scene->style);
  TdSpan left = { 0, scene->wipe }, right = { scene->wipe, 1 };
  gboolean wiped = self->second.shown != NULL;
  if (self->first.shown)
    td_image_renderer_draw (self->renderer, self->first.shown, &scene->view, &scene->style,
                            wiped ? &left : NULL, &screen);
  if (wiped)
    td_image_renderer_draw (self->renderer, self->second.shown, &scene->view, &scene->style, &right,
                            &screen);
  if (more && self->tick == 0)
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (area), upload_more, NULL, NULL);
  return TRUE;
}

static void
td_gl_canvas_realize (GtkWidget *widget)
{
  TdGlCanvas *self = TD_GL_CANVAS (widget);
  g_autoptr (GError) error = NULL;

  GTK_WIDGET_CLASS (td_gl_canvas_parent_class)->realize (widget);
  gtk_gl_area_make_current (GTK_GL_AREA (widget));
  const GError *context_error = gtk_gl_area_get_error (GTK_GL_AREA (widget));
  if (context_error)
    error = g_error_copy (context_error);
  else
    self->renderer = td_image_renderer_new (&error);
  if (!self->renderer) {
    g_autofree char *reason
        = g_strdup_printf (_ ("OpenGL cannot be used here (%s). The processor draws the pictures; "
                              "a graphics driver makes that faster."),
                           error->message);
    self->failed (reason, self->failed_user);
  }
}

static void
td_gl_canvas_unrealize (GtkWidget *widget)
{
  TdGlCanvas *self = TD_GL_CANVAS (widget);

  gtk_gl_area_make_current (GTK_GL_AREA (widget));
  if (!gtk_gl_area_get_error (GTK_GL_AREA (widget))) {
    slot_clear (&self->first);
    slot_clear (&self->second);
    g_clear_pointer (&self->renderer, td_image_renderer_free);
  }
  GTK_WIDGET_CLASS (td_gl_canvas_parent_class)->unrealize (widget);
}

static void
td_gl_canvas_class_init (TdGlCanvasClass *class)
{
  GTK_WIDGET_CLASS (class)->realize = td_gl_canvas_realize;
  GTK_WIDGET_CLASS (class)->unrealize = td_gl_canvas_unrealize;
  GTK_GL_AREA_CLASS (class)->render = td_gl_canvas_render;
}

static void
td_gl_canvas_init (TdGlCanvas *self)
{
  gtk_gl_area_set_required_version (GTK_GL_AREA (self), 3, 2);
  gtk_gl_area_set_auto_render (GTK_GL_AREA (self), FALSE);
}

gboolean
td_gl_canvas_is_current (GtkWidget *canvas)
{
  const TdGlCanvas *self = TD_GL_CANVAS (canvas);
  const TdImage *image = self->scene->image;

  return !image || (self->first.shown && td_image_texture_image (self->first.shown) == image);
}

GtkWidget *
td_gl_canvas_new (const TdScene *scene, TdCanvasFailed failed, gpointer user)
{
  TdGlCanvas *self = g_object_new (TD_TYPE_GL_CANVAS, NULL);

  self->scene = scene;
  self->failed = failed;
  self->failed_user = user;
  return GTK_WIDGET (self);
}

/* ── By the processor ── */

#define TD_TYPE_SOFT_CANVAS (td_soft_canvas_get_type ())
G_DECLARE_FINAL_TYPE (TdSoftCanvas, td_soft_canvas, TD, SOFT_CANVAS, GtkWidget)

struct _TdSoftCanvas {
  GtkWidget parent_instance;
  const TdScene *scene;
};

G_DEFINE_FINAL_TYPE (TdSoftCanvas, td_soft_canvas, GTK_TYPE_WIDGET)

static void
soft_canvas_draw (const TdScene *scene, const TdScreen *screen, guint32 *pixels)
{
  const TdSpan left = { 0, scene->wipe }, right = { scene->wipe, 1 };

  td_soft_clear (&scene->style, screen->width, screen->height, pixels);
  if (scene->image)
    td_soft_render (scene->image, &scene->view, &scene->style, scene->second ? &left : NULL, screen,
                    pixels);
  if (scene->second)
    td_soft_render (scene->second, &scene->view, &scene->style, &right, screen, pixels);
}

/* A surface, and no texture. Where the toolkit draws by cairo, it copies textures whole in every
   frame, also where only a spinner turns beside them. */
static void
td_soft_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  const double scale = gtk_widget_get_scale_factor (widget);
  const int w = gtk_widget_get_width (widget), h = gtk_widget_get_height (widget);
  const TdScreen screen = { (guint) (w * scale), (guint) (h * scale), scale };

  if (screen.width == 0 || screen.height == 0)
    return;
  cairo_surface_t *surface
      = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int) screen.width, (int) screen.height);
  if (cairo_surface_status (surface) == CAIRO_STATUS_SUCCESS) {
    soft_canvas_draw (TD_SOFT_CANVAS (widget)->scene, &screen,
                      (gpointer) cairo_image_surface_get_data (surface));
    cairo_surface_mark_dirty (surface);
    cairo_t *cr
        = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) w, (float) h));
    cairo_scale (cr, 1 / scale, 1 / scale);
    cairo_set_source_surface (cr, surface, 0, 0);
    cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
    cairo_paint (cr);
    cairo_destroy (cr);
  }
  cairo_surface_destroy (surface);
}

static void
td_soft_canvas_class_init (TdSoftCanvasClass *class)
{
  GTK_WIDGET_CLASS (class)->snapshot = td_soft_canvas_snapshot;
}

static void
td_soft_canvas_init (TdSoftCanvas *self)
{
}

GtkWidget *
td_soft_canvas_new (const TdScene *scene)
{
  TdSoftCanvas *self = g_object_new (TD_TYPE_SOFT_CANVAS, NULL);

  self->scene = scene;
  return GTK_WIDGET (self);
}
