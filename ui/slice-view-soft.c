/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-view-scene.h"

#include "render/soft-renderer.h"

#define TD_TYPE_SOFT_CANVAS (td_soft_canvas_get_type ())
G_DECLARE_FINAL_TYPE (TdSoftCanvas, td_soft_canvas, TD, SOFT_CANVAS, GtkWidget)

struct _TdSoftCanvas {
  GtkWidget parent_instance;
  const TdScene *scene;
};

G_DEFINE_FINAL_TYPE (TdSoftCanvas, td_soft_canvas, GTK_TYPE_WIDGET)

static void
td_soft_canvas_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  const TdScene *scene = TD_SOFT_CANVAS (widget)->scene;
  double scale = gtk_widget_get_scale_factor (widget);
  int w = gtk_widget_get_width (widget), h = gtk_widget_get_height (widget);
  guint width = (guint) (w * scale), height = (guint) (h * scale);

  if (width == 0 || height == 0)
    return;
  gsize stride = (gsize) width * 4;
  guint8 *rgba = g_malloc (stride * height);
  td_soft_clear (&scene->style, width, height, rgba);
  TdSpan left = { 0, scene->wipe }, right = { scene->wipe, 1 };
  if (scene->image)
    td_soft_render (scene->image, &scene->view, &scene->style, scene->second ? &left : NULL, width,
                    height, scale, rgba);
  if (scene->second)
    td_soft_render (scene->second, &scene->view, &scene->style, &right, width, height, scale, rgba);
  g_autoptr (GBytes) bytes = g_bytes_new_take (rgba, stride * height);
  g_autoptr (GdkTexture) texture
      = gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8A8, bytes, stride);
  gtk_snapshot_append_texture (snapshot, texture, &GRAPHENE_RECT_INIT (0, 0, w, h));
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
