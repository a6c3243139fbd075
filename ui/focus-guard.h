/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Where the widget with the keyboard disappears (its page, its row, its dialog's part), the
   keyboard goes to the nearest thing that is shown, so that keys never go to what nobody sees. Main
   thread. */
void td_focus_guard (GtkWindow *window);
