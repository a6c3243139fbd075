/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* What pictures and spaces have in common: keys, pointer gestures, and the ring that shows the
   keyboard's focus. Main thread. */

/* Which way an arrow points, x right, y down. FALSE: the key is no arrow. */
gboolean td_key_arrow (guint key, int *dx, int *dy);
/* 1: nearer, -1: farther, 0: neither. */
int td_key_zoom (guint key);
gboolean td_key_is_digit (guint key, guint digit); /* with the keypad's */

/* Handlers of the signals that the controllers of GTK call so; NULL: not wanted. */
typedef struct {
  GCallback scroll, key_pressed;
  GCallback pinch_begin, pinch_changed;
  GCallback drag_begin, drag_update, drag_end; /* with any button */
} TdPictureInput;

void td_picture_input_add (GtkWidget *widget, const TdPictureInput *input);
/* A picture with the keyboard's focus shows a border, inside it and over its content. */
void td_draw_focus (GtkWidget *widget, GtkSnapshot *snapshot);
