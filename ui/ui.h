/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Registers the room's templates and style sheet; before any widget is made. Main thread. */
void td_ui_init (void);

/**
 * Whether the processor draws pictures although there is an OpenGL. Without a graphics card, and on
 * remote desktops, OpenGL is itself computed by the processor (llvmpipe). It then takes several
 * times as long for every change, and takes the cores that the preview needs. In that case the
 * toolkit draws without OpenGL too. The room decides once, when it starts; TOMODESK_DRAW=gl or
 * =processor overrides it. Main thread.
 */
gboolean td_drawing_by_processor (void);

/* Makes a dialog's default size larger as the desktop's text is, up to a small screen's; while it
   is built. Main thread. */
void td_size_for_text (GtkWindow *window);

/* Sets a label's text or a widget's tooltip, if it is another than before. The toolkit would lay
   the window out anew for the same text too. For the same tooltip it would ask the display where
   the pointer is. A change of the recipe meets dozens that are the same. Main thread. */
void td_set_text (GtkLabel *label, const char *text);
void td_set_tooltip (gpointer widget, const char *text);

/* The longest side of a volume that is looked at from outside, in voxels: as many as whoever draws
   turns at once (render/gl.h). Main thread. */
guint td_drawing_volume_side (void);

/* A signal of a type, with @... the number of its parameters and their types. */
#define td_signal_new(type, name, ...)                                                             \
  g_signal_new (name, type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, __VA_ARGS__)
