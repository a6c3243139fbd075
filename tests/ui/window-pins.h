/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* td_test_pins_wrong() of what a window or a part of it shows, once it is so or after a while.
   Words, tooltips, what readers of screens say, numbers, switches, what can be used, and what is
   drawn. It looks in English, at the usual size, by the toolkit that made the figures. */
void td_test_pin_window (const char *place, gpointer top);
/* The same of each menu and each list of choices that can be opened below @top, once in the
   program. */
void td_test_pin_popovers (const char *place, gpointer top);
/* What changes below @top by each choice, switch, number and button that stays down, and by the
   pointer on a picture. A choice takes each value, and a number the next. Each is as it was
   afterwards. */
void td_test_pin_choices (const char *place, gpointer top);
