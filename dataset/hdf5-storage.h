/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hdf5-util.h"
#include "stored-frames.h"

/**
 * TdH5Storage: where the samples of an HDF5 data set lie, so that several threads read them without
 * the library and its lock. It knows contiguous samples, raw files beside the data set, and chunks
 * that are stored plain, shuffled or deflated. Everything else stays the library's.
 *
 * Ranges are in the data set's own order: frames are its first dimension, rows its second.
 */
typedef struct TdH5Storage TdH5Storage;

/* Of an open data set of two or three dimensions, whose shape was checked. The data set must
   outlive the storage. NULL: only the library can read it. */
TdH5Storage *td_h5_storage_new (hid_t dataset);
void td_h5_storage_free (TdH5Storage *storage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdH5Storage, td_h5_storage_free)

typedef enum {
  TD_H5_STORAGE_READ,
  TD_H5_STORAGE_UNREAD, /* damaged or unusual: the library decides what it is */
  TD_H5_STORAGE_SHORT,  /* bytes are not there; the library would give zeros for them */
  TD_H5_STORAGE_FAILED, /* with an error: cancelled */
} TdH5StorageResult;

/* @indices: of the frames that are read, in place of the range's; NULL: the range's. @failure:
   where bytes are not there. */
TdH5StorageResult td_h5_storage_read (TdH5Storage *storage, const guint *indices,
                                      const TdFrameRange *range, const TdFrameTarget *target,
                                      TdStoredFailure *failure, GCancellable *cancellable,
                                      GError **error);

/* How many along a dimension, 0 or 1, are unpacked together if one of them is wanted. */
guint td_h5_storage_together (const TdH5Storage *storage, guint along);
/* What unpacking holds at most while td_h5_storage_read() runs. */
gsize td_h5_storage_scratch_bytes (const TdH5Storage *storage);
