/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hdf5-util.h"

/**
 * Small writing helpers for HDF5. They take the library's lock; each returns FALSE (or -1) when the
 * library fails, and td_h5_set_write_error() says why.
 */

/* An existing one, to add to it. */
hid_t td_h5_reopen (const char *path);
/* A new file without locks of the library's own, in a format that HDF5 1.8 reads. Where the file
   system can promise it, there is room on the disk for @bytes of samples. */
hid_t td_h5_create_sized (const char *path, guint64 bytes);
gboolean td_h5_flush (hid_t file);
/* Flushes and closes; @file is gone either way. */
gboolean td_h5_finish (hid_t file);
/* To be called right after the failure: “NAME” cannot be written, for what errno says. */
gboolean td_h5_set_write_error (GError **error, const char *name);

hid_t td_h5_add_group (hid_t parent, const char *name, const char *nx_class);
gboolean td_h5_add_string (hid_t group, const char *name, const char *text);
/* @n > 0 makes a 1-D data set, 0 a scalar. @units may be NULL. */
gboolean td_h5_add_doubles (hid_t group, const char *name, const double *values, gsize n,
                            const char *units);
gboolean td_h5_add_bytes (hid_t group, const char *name, const guint8 *values, gsize n);
gboolean td_h5_set_string (hid_t object, const char *attribute, const char *text);
gboolean td_h5_set_strings (hid_t object, const char *attribute, const char *const *texts, gsize n);
gboolean td_h5_set_double (hid_t object, const char *attribute, double value);
/* Contiguous [depth][rows][columns], its room taken at once, nothing filled in. */
hid_t td_h5_add_frames (hid_t group, const char *name, TdSampleType type, gsize depth, gsize rows,
                        gsize columns);
/* Where in the file its first frame begins; the others follow without gaps. 0: nowhere. */
guint64 td_h5_frames_offset (hid_t dataset);
/* One frame of it, in the stored type. */
gboolean td_h5_write_frame (hid_t dataset, TdSampleType type, gsize number, gsize rows,
                            gsize columns, const void *samples);
