/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "render/view.h"
#include "volume-source.h"

/* A movie through the planes of a volume. */
typedef struct {
  TdVolumeAxis axis;
  guint first, last;  /* planes, both are shown; backwards where the first is the higher one */
  guint shrink;       /* 1, 2 or 4: so many pixels of a plane, each way, are one of the movie */
  double rate;        /* pictures a second */
  TdStyle style;      /* contrast and colours of all pictures */
  gboolean scale_bar; /* where it has room (scale-bar.h) */
} TdMovie;

guint td_movie_pictures (const TdMovie *movie);
/* Writes @movie as an AVI file of JPEG pictures (Motion JPEG), whose name must end in ".avi". Until
   it is whole it is "NAME.part". Any thread. */
gboolean td_movie_save (TdVolumeSource *source, const TdMovie *movie, const char *path,
                        TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                        GError **error);
