/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space-view-private.h"

#include "render/space-renderer.h"

#define TD_TYPE_SPACE_CANVAS (td_space_canvas_get_type ())
G_DECLARE_FINAL_TYPE (TdSpaceCanvas, td_space_canvas, TD, SPACE_CANVAS, GtkGLArea)

struct _TdSpaceCanvas {
  GtkGLArea parent_instance;
  const TdSpaceScene *scene;
  TdSpaceFailed failed;
  gpointer failed_user;
  TdSpaceRenderer *renderer;
};

G_DEFINE_FINAL_TYPE (TdSpaceCanvas, td_space_canvas, GTK_TYPE_GL_AREA)

static gboolean
td_space_canvas_render (GtkGLArea *area, GdkGLContext *context)
{
  TdSpaceCanvas *self = TD_SPACE_CANVAS (area);
  double scale = gtk_widget_get_scale_factor (GTK_WIDGET (area));
  guint width = (guint) (gtk_widget_get_width (GTK_WIDGET (area)) * scale);
  guint height = (guint) (gtk_widget_get_height (GTK_WIDGET (area)) * scale);

  if (!self->renderer)
    return FALSE;
  g_autoptr (GArray) shapes
      = self->scene->space
            ? td_space_project (self->scene->space, &self->scene->camera, width, height, scale)
            : g_array_new (FALSE, FALSE, sizeof (TdShape));
  td_space_renderer_draw (self->renderer, shapes, self->scene->background, width, height);
  return TRUE;
}

static void
td_space_canvas_realize (GtkWidget *widget)
{
  TdSpaceCanvas *self = TD_SPACE_CANVAS (widget);

  GTK_WIDGET_CLASS (td_space_canvas_parent_class)->realize (widget);
  gtk_gl_area_make_current (GTK_GL_AREA (widget));
  if (!gtk_gl_area_get_error (GTK_GL_AREA (widget)))
    self->renderer = td_space_renderer_new (NULL);
  if (!self->renderer)
    self->failed (self->failed_user);
}

static void
td_space_canvas_unrealize (GtkWidget *widget)
{
  TdSpaceCanvas *self = TD_SPACE_CANVAS (widget);

  gtk_gl_area_make_current (GTK_GL_AREA (widget));
  if (!gtk_gl_area_get_error (GTK_GL_AREA (widget)))
    g_clear_pointer (&self->renderer, td_space_renderer_free);
  GTK_WIDGET_CLASS (td_space_canvas_parent_class)->unrealize (widget);
}

static void
td_space_canvas_class_init (TdSpaceCanvasClass *class)
{
  GTK_WIDGET_CLASS (class)->realize = td_space_canvas_realize;
  GTK_WIDGET_CLASS (class)->unrealize = td_space_canvas_unrealize;
  GTK_GL_AREA_CLASS (class)->render = td_space_canvas_render;
}

static void
td_space_canvas_init (TdSpaceCanvas *self)
{
  gtk_gl_area_set_required_version (GTK_GL_AREA (self), 3, 2);
  gtk_gl_area_set_auto_render (GTK_GL_AREA (self), FALSE);
}

GtkWidget *
td_space_canvas_new (const TdSpaceScene *scene, TdSpaceFailed failed, gpointer user)
{
  TdSpaceCanvas *self = g_object_new (TD_TYPE_SPACE_CANVAS, NULL);

  self->scene = scene;
  self->failed = failed;
  self->failed_user = user;
  return GTK_WIDGET (self);
}
