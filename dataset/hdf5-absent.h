/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hdf5-util.h"

/**
 * TdH5Absent: which frames of a data set are not in its files. The library reads them as its fill
 * value, mostly zero, and reports no error. Frames are missing where a chunk was never written, and
 * behind the end of external raw data. In a virtual data set they are missing where nothing is
 * mapped, or where the source is missing, damaged or too small.
 */
typedef struct {
  guint n;         /* frames */
  guint n_absent;  /* how many of them are missing */
  guint8 *frames;  /* [n]: not 0 where one is missing; NULL: none is */
  char *why;       /* the first reason, as a clause for td_message_words(); NULL: none is missing */
  GPtrArray *from; /* paths of the files that the frames come from */
} TdH5Absent;

/* @along: the dimension that counts frames, 0 or 1. @allow_external: raw data may lie outside the
   file's folder. FALSE with @error: the data set is damaged, or raw data lie where they may not. */
gboolean td_h5_absent_find (TdH5Absent *absent, hid_t dataset, guint along, gboolean allow_external,
                            GError **error);
void td_h5_absent_clear (TdH5Absent *absent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdH5Absent, td_h5_absent_clear)
