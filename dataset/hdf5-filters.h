/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "config.h"
#include "hdf5-util.h"

/**
 * What data sets of HDF5 are compressed by. The library's plugins undo the filters that it lacks;
 * LZF, which h5py writes, is known to it here.
 */
#define TD_H5_FILTER_LZF ((H5Z_filter_t) 32000)

/* Makes LZF known to the library; once, before a file is opened. */
void td_h5_filters_init (void);
/* FALSE: the bytes are no LZF stream of exactly @room bytes. Any thread. */
gboolean td_h5_lzf_unpack (const guint8 *from, gsize bytes, guint8 *to, gsize room);
/* FALSE with @error: a filter of the data set is missing; says where it is to be had. @name is what
   messages call the data set. */
gboolean td_h5_filters_check (hid_t dataset, const char *name, GError **error);
