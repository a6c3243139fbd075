/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* @path is on a disk of this machine; where what was chosen is not, that is told. */
typedef void (*TdFileChosen) (gpointer user, const char *path);

/* Asks for a file or a folder in a dialog over the window of @parent. @user is a GObject. Once it
   is gone, @chosen is not called. The caller may add to the chooser before it returns to the main
   loop. (transfer none) */
GtkFileChooser *td_choose_file (GtkWidget *parent, const char *title, GtkFileChooserAction action,
                                TdFileChosen chosen, gpointer user);
/* The same of several: @chosen is called for each. */
GtkFileChooser *td_choose_files (GtkWidget *parent, const char *title, GtkFileChooserAction action,
                                 TdFileChosen chosen, gpointer user);
/* The same of a file to be written, of which @name is what the person may leave as it is. */
GtkFileChooser *td_choose_name (gpointer parent, const char *title, const char *name,
                                TdFileChosen chosen, gpointer user);
/* @patterns: "*.tif", …, in letters of any case, NULL-terminated; NULL: every file. */
void td_choose_file_add_filter (GtkFileChooser *chooser, const char *name,
                                const char *const *patterns);
