/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* From now on widgets get the names for screen readers that the toolkit leaves out. Buttons are
   named without the mark of a mnemonic, and those that show a symbol by their tooltip. Entries of
   lists are named by their words. Call this once, before any widget is made. Main thread. */
void td_spoken_names_init (void);
