/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* A picture that has the keyboard's focus says so by a border, inside it and over what it shows. */
void td_draw_focus (GtkWidget *widget, GtkSnapshot *snapshot);
