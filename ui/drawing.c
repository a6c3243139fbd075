/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "drawing.h"

#include <gtk/gtk.h>

#include "render/gl.h"

/* Where OpenGL is missing, nobody is asked to draw with it: the views find out and say so. */
static gboolean
gl_is_software (GdkDisplay *display)
{
  g_autoptr (GdkGLContext) context = gdk_display_create_gl_context (display, NULL);

  if (!context || !gdk_gl_context_realize (context, NULL))
    return FALSE;
  gdk_gl_context_make_current (context);
  gboolean software = td_gl_is_software ();
  gdk_gl_context_clear_current ();
  return software;
}

static gboolean
drawing_decide (void)
{
  GdkDisplay *display = gdk_display_get_default ();
  const char *wish = g_getenv ("TOMODESK_DRAW");

  if (g_strcmp0 (wish, "gl") == 0 || !display)
    return FALSE;
  if (g_strcmp0 (wish, "processor") != 0 && !gl_is_software (display))
    return FALSE;
  /* As the toolkit's inspector asks for its own windows: those made from now on are drawn by it. */
  if (!g_getenv ("GSK_RENDERER"))
    g_object_set_data (G_OBJECT (display), "gsk-renderer", (gpointer) "cairo");
  return TRUE;
}

gboolean
td_drawing_by_processor (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    g_once_init_leave (&once, 1 + drawing_decide ());
  return once == 2;
}
