/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Takes the wheel from a spin button or slider that sits in a scrolled panel: scrolling past it
   must not change the recipe. */
void td_ignore_scroll (GtkWidget *widget);

/* Brings as much of @widget into sight of the scrolled window around it as there is room for, its
   top first, when it has its size: call it while it is being shown or opened. */
void td_scroll_to (GtkWidget *widget);
