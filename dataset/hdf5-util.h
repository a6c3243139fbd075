/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
/* The calls as HDF5 1.10 has them, with whatever later version is installed. */
#define H5_USE_110_API
#include <hdf5.h>

#include "scan.h"

/**
 * HDF5 with care. Every function takes the one lock of the program, since builds of the library
 * without thread safety exist. It silences the library's own error printing; messages are ours.
 * Links to other files are followed here and not by the library, so that a missing target can be
 * named.
 */

/* Held while library calls are made directly: `TD_H5_GUARD;` at the top of a block. */
typedef int TdH5Guard;
TdH5Guard td_h5_lock (void);
void td_h5_unlock (TdH5Guard *guard);
#define TD_H5_GUARD                                                                                \
  G_GNUC_UNUSED __attribute__ ((cleanup (td_h5_unlock))) TdH5Guard td_h5_guard = td_h5_lock ()

/* Any identifier, let go at the end of its block: `g_auto (TdH5Id) set = H5Dopen (…);`. */
typedef hid_t TdH5Id;
void td_h5_close (hid_t id);
G_DEFINE_AUTO_CLEANUP_FREE_FUNC (TdH5Id, td_h5_close, -1)

/* The library's type of a sample in memory; not to be closed. */
hid_t td_h5_native_type (TdSampleType type);

/* A file, and no pipe or device that opening would wait for. */
gboolean td_h5_is_regular (const char *path);
/* Is it a regular file with an HDF5 signature? Asks the file and not the library. */
gboolean td_h5_probe (const char *path);
/* The file that another one in @folder names: as it is stated, else of that name beside it. Where
   neither is there, as it is stated. (transfer full) */
char *td_h5_linked_file (const char *folder, const char *stated);
/* Read only and without file locks (scans lie on read-only and network disks). */
hid_t td_h5_open (const char *path, GError **error);
/* Such a file is read by blocks (hdf5-driver.c); a library that refuses it reads in its own way. */
void td_h5_driver_set (hid_t file_access);

/**
 * td_h5_find:
 * The object at @path below @location, or -1. Soft and external links are followed. An external one
 * is followed relative to the file it stands in, as written. Else its last component is tried
 * beside that file, for data that were copied into one folder. @missing: (out) (optional): the file
 * or object that a link names but that is not there; NULL if the path simply does not exist.
 */
hid_t td_h5_find (hid_t location, const char *path, char **missing);
/* As td_h5_find(), for data sets only; -1 for anything else. */
hid_t td_h5_find_dataset (hid_t location, const char *path, char **missing);
/* How a data set is opened whose raw files are named as from the folder of its own file. */
void td_h5_set_raw_folder (hid_t access);
/* What stands at @path by a hard link and is no frames, since this library cannot open it, or
   since it has not three dimensions. Says so, packed. NULL: it is, or nothing stands there. */
char *td_h5_no_frames (hid_t location, const char *path);

/* Visits the groups of a file (hard links only, each once, no deeper than a scan can be): @visit
   returns TRUE to stop there. Returns whether it was stopped. */
typedef gboolean (*TdH5Visit) (hid_t group, const char *path, gpointer user);
gboolean td_h5_visit_groups (hid_t file, TdH5Visit visit, gpointer user);
/* The names in a group, in alphabetical order. */
char **td_h5_names (hid_t group);

/* Shape; the rank, or -1 if it has more than @max dimensions or none of them is a size. Of more,
   those of length 1 are left out: the last one, then the first ones. */
int td_h5_shape (hid_t dataset, hsize_t *shape, int max);

/**
 * Which dimensions of a data set are frame, row and column. A single image has no frame; further
 * dimensions have a length of 1, as channels or energies that programs of more kinds of data write.
 */
typedef struct {
  int rank;
  int at[3]; /* -1: there is none */
} TdH5Dimensions;

/* Of a data set's space, with its @shape as frames. FALSE: it holds no frames. */
gboolean td_h5_dimensions (hid_t space, TdH5Dimensions *dimensions, hsize_t shape[3]);
/* From frame, row and column to @all, H5S_MAX_RANK numbers, which are @other elsewhere; and back.
 */
void td_h5_dimensions_spread (const TdH5Dimensions *dimensions, const hsize_t frames[3],
                              hsize_t other, hsize_t *all);
void td_h5_dimensions_pick (const TdH5Dimensions *dimensions, const hsize_t *all,
                            hsize_t frames[3]);
/* A scalar or one-element string; NULL: it is something else. At most 16 MiB. */
char *td_h5_string (hid_t location, const char *path);
char *td_h5_attribute_string (hid_t object, const char *name);
/* Exactly @n numbers, all finite; FALSE: the attribute is absent or something else. */
gboolean td_h5_attribute_numbers (hid_t object, const char *name, double *values, guint n);
/* The first number of a data set; FALSE: absent or no number. */
gboolean td_h5_number (hid_t location, const char *path, double *value);
/* A whole 1-D (or scalar, or all-but-one dimensions 1) numeric data set, @n elements; NULL with
   @error. @name is what messages call it. */
double *td_h5_numbers (hid_t dataset, const char *name, gsize *n, GError **error);

/* The program that says of itself in the file @path that it wrote it; NULL: none. */
char *td_h5_program (const char *path);

/* The units attribute; NULL: none. */
char *td_h5_units (hid_t dataset);
/* The factor to mm of a data set of lengths by its units attribute, @default_mm if there is none;
   0: unknown unit. */
double td_h5_length_unit (hid_t dataset, double default_mm);
/* A number by the data set's units attribute and @unit (unit.h); without one it counts @otherwise.
   0: absent or nonsense. */
double td_h5_quantity (hid_t location, const char *path, double (*unit) (const char *name),
                       double otherwise);
/* The factor to radians of a data set of angles by its units attribute; 0: unknown unit. */
double td_h5_angle_unit (hid_t dataset);

/* Where a data set is stored, the same for all links to it. (transfer full) */
char *td_h5_place (hid_t dataset);
/* Name of the file an object lives in, for messages; free it. */
char *td_h5_file_name (hid_t object);
