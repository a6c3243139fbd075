/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Runs the main loop until @condition holds. Ends the test after a minute: nothing here may take as
   long even on a loaded machine. */
typedef gboolean (*TdCondition) (gpointer user);
void td_test_wait (TdCondition condition, gpointer user, const char *what);

/* The widget as it is drawn, GL areas included: as a PNG file's bytes, or as NAME.png beside the
   test program. */
GBytes *td_test_picture (GtkWidget *widget);
void td_test_screenshot (GtkWidget *widget, const char *name);

/* A folder for the test's files, and the path of a scan made by tomodesk-cli in it. */
const char *td_test_folder (void);
char *td_test_phantom (const char *name, const char *const *options);
void td_test_folder_remove (void);
