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

/* What a canvas knows; it goes with its widget. */
typedef struct {
  const TdScene *scene;
  TdCanvasFailed failed;
  gpointer failed_user;
  TdImageRenderer *renderer;
  Slot first, second;
  guint tick;
} GlCanvas;

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
upload_more (GtkWidget *area, GdkFrameClock *clock, gpointer user)
{
  ((GlCanvas *) user)->tick = 0;
  gtk_gl_area_queue_render (GTK_GL_AREA (area));
  return G_SOURCE_REMOVE;
}

static gboolean
gl_canvas_render (GtkGLArea *area, GdkGLContext *context, GlCanvas *self)
{
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
    self->tick = gtk_widget_add_tick_callback (GTK_WIDGET (area), upload_more, self, NULL);
  return TRUE;
}

/* After the area's own handler, which makes the context. */
static void
gl_canvas_on_realize (GtkGLArea *area, GlCanvas *self)
{
  g_autoptr (GError) error = NULL;

  gtk_gl_area_make_current (area);
  const GError *context_error = gtk_gl_area_get_error (area);
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

/* Before the area's own handler. */
static void
gl_canvas_on_unrealize (GtkGLArea *area, GlCanvas *self)
{
  gtk_gl_area_make_current (area);
  if (gtk_gl_area_get_error (area))
    return;
  slot_clear (&self->first);
  slot_clear (&self->second);
  g_clear_pointer (&self->renderer, td_image_renderer_free);
}

gboolean
td_gl_canvas_is_current (GtkWidget *canvas)
{
  const GlCanvas *self = g_object_get_data (G_OBJECT (canvas), "canvas");
  const TdImage *image = self->scene->image;

  return !image || (self->first.shown && td_image_texture_image (self->first.shown) == image);
}

GtkWidget *
td_gl_canvas_new (const TdScene *scene, TdCanvasFailed failed, gpointer user)
{
  GtkWidget *area = gtk_gl_area_new ();
  GlCanvas *self = g_new (GlCanvas, 1);

  *self = (GlCanvas) { .scene = scene, .failed = failed, .failed_user = user };
  g_object_set_data_full (G_OBJECT (area), "canvas", self, g_free);
  gtk_gl_area_set_required_version (GTK_GL_AREA (area), 3, 2);
  gtk_gl_area_set_auto_render (GTK_GL_AREA (area), FALSE);
  g_signal_connect (area, "render", G_CALLBACK (gl_canvas_render), self);
  g_signal_connect (area, "realize", G_CALLBACK (gl_canvas_on_realize), self);
  g_signal_connect (area, "unrealize", G_CALLBACK (gl_canvas_on_unrealize), self);
  return area;
}

/* ── By the processor ── */

static void
soft_canvas_render (const TdScene *scene, const TdScreen *screen, guint32 *pixels)
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
soft_canvas_draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer scene)
{
  const double scale = gtk_widget_get_scale_factor (GTK_WIDGET (area));
  const TdScreen screen = { (guint) (width * scale), (guint) (height * scale), scale };
  cairo_surface_t *surface
      = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int) screen.width, (int) screen.height);

  if (cairo_surface_status (surface) == CAIRO_STATUS_SUCCESS) {
    soft_canvas_render (scene, &screen, (gpointer) cairo_image_surface_get_data (surface));
    cairo_surface_mark_dirty (surface);
    cairo_scale (cr, 1 / scale, 1 / scale);
    cairo_set_source_surface (cr, surface, 0, 0);
    cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
    cairo_paint (cr);
  }
  cairo_surface_destroy (surface);
}

GtkWidget *
td_soft_canvas_new (const TdScene *scene)
{
  GtkWidget *area = gtk_drawing_area_new ();

  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (area), soft_canvas_draw, (gpointer) scene,
                                  NULL);
  return area;
}
