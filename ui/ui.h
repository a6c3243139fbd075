/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib-object.h>

/* Registers the room's templates and style sheet; before any widget is made. Main thread. */
void td_ui_init (void);

/**
 * Whether pictures are drawn by the processor although there is an OpenGL: one that is itself drawn
 * by the processor (llvmpipe on machines without a graphics card, over remote desktops) takes
 * several times as long, for the whole window at every change, and all cores that the preview
 * wants. Then the toolkit draws without it too. Decided once, when the room starts;
 * TOMODESK_DRAW=gl or =processor overrides. Main thread.
 */
gboolean td_drawing_by_processor (void);

/* A signal of a type, with @... the number of its parameters and their types. */
#define td_signal_new(type, name, ...)                                                             \
  g_signal_new (name, type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, __VA_ARGS__)
