/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* From now on what drops down closes when that which it hangs on leaves sight. It may have been
   scrolled away, folded in, or moved out of the window. GTK would let it hang in the air. Call this
   once, before any widget is made. Main thread. */
void td_popovers_init (void);

/* Closes what dropped down in the widget @parent. It is about to change or to go. Main thread. */
void td_popovers_close (gpointer parent);
