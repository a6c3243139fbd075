/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* When the widget with the keyboard focus disappears (or its page, row or dialog), the nearest
   widget that is shown gets the focus. So keys never go to a widget that nobody sees. Main thread.
 */
void td_focus_guard (GtkWindow *window);
