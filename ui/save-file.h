/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Worker thread. FALSE with @error. */
typedef gboolean (*TdSaveWork) (gpointer what, const char *path, GError **error);
/* Main thread. @widget may have been disposed of. */
typedef void (*TdSaveEnd) (GtkWidget *widget, const char *path, gboolean saved);

/* The work of what is a text. */
gboolean td_save_text (gpointer text, const char *path, GError **error);

/* Writes @what to @path beside the main loop, for storage may take its time. The program does not
   end before it is written. A failure is told under @heading over the window of @widget. @end
   (nullable) is told how it went. */
void td_save_file (GtkWidget *widget, const char *heading, const char *path, TdSaveWork work,
                   gpointer what, GDestroyNotify free_what, TdSaveEnd end);
