/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/**
 * Lays a widget's children out side by side, on as many lines as the width takes, with @spacing
 * pixels between. Long words and large text make a bar of buttons higher, and never wider than its
 * place. What is left of a line goes to its children that expand. Main thread.
 */
void td_wrap (gpointer widget, int spacing);
