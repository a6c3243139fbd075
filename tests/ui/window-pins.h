/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* td_test_pins_wrong() of what a window shows, once it is so or after a while: words, tooltips,
   numbers, switches, and what can be used. In English, at the usual size, and by the toolkit's
   version that made the figures; else nothing is looked at. */
void td_test_pin_window (const char *place, gpointer top);
