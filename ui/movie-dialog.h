/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "movie-save.h"

/**
 * TdMovieDialog: asks through which planes of a volume a movie goes, and saves it, off the main
 * thread. While that goes on it shows how far it is, and can be cancelled.
 */
#define TD_TYPE_MOVIE_DIALOG (td_movie_dialog_get_type ())
G_DECLARE_FINAL_TYPE (TdMovieDialog, td_movie_dialog, TD, MOVIE_DIALOG, AdwWindow)

/* @axis: to begin with; @styles: of the planes across each axis, as they are shown. */
GtkWidget *td_movie_dialog_new (GtkWindow *parent, TdVolumeSource *source, TdVolumeAxis axis,
                                const TdStyle styles[3]);
/* Saves what is chosen to @path. */
void td_movie_dialog_save (TdMovieDialog *self, const char *path);
