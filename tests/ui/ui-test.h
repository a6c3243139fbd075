/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "compute/device/device-probe.h" /* these programs end by td_device_leave(), too */

/* Runs the main loop until @condition holds, also of a file, a process or a thread, of which the
   loop is told nothing. Ends the test after minutes: nothing here may take as long even on a loaded
   machine. */
typedef gboolean (*TdCondition) (gpointer user);
void td_test_wait (TdCondition condition, gpointer user, const char *what);

/* Conditions of a widget, for what the window shows or hides when it has a moment. */
gboolean td_test_is_visible (gpointer widget);
gboolean td_test_is_hidden (gpointer widget);
gboolean td_test_is_sensitive (gpointer widget);
gboolean td_test_is_mapped (gpointer widget);
/* Runs the main loop for so long, whatever happens. */
void td_test_pause (guint ms);
/* Runs it until the widget was drawn some times, after what waits for a moment. What was to be
   placed and laid out is, however late. */
void td_test_frames (GtkWidget *widget);

/* Whether a change makes the toolkit draw the widget anew, which td_test_picture() does in any
   case. Before the change it must come to rest. */
gboolean td_test_redraws (gpointer widget, void (*change) (gpointer user), gpointer user);

/* The widget as it is drawn, GL areas included: as a PNG file's bytes, or as NAME.png beside the
   test program. The latter is only made if the environment has TOMODESK_PICTURES. */
GBytes *td_test_picture (GtkWidget *widget);
/* The same once it stays as it is: what moves beside the widget may still change its size. */
GBytes *td_test_picture_at_rest (GtkWidget *widget);
void td_test_screenshot (GtkWidget *widget, const char *name);

/* A folder for the test's files. td_test_made() returns the path of what a verb of tomodesk-cli
   makes in it: a scan of an object, or a volume of a scan. */
const char *td_test_folder (void);
char *td_test_made (const char *verb, const char *of, const char *name, const char *const *options);
char *td_test_phantom (const char *name, const char *const *options);
void td_test_folder_remove (void);
