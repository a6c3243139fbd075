/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "scan.h"

/**
 * TdOutput: a file or folder that appears under its own name only when it is whole. It is written
 * as "NAME.part". td_output_commit() brings it to the disk and renames it. Freeing the output
 * before that removes the part. A part that a dead run left is replaced; a part that another run is
 * writing is refused.
 *
 * One thread at a time.
 */
typedef struct TdOutput TdOutput;

/* @bytes: what will be written. More than is free on the disk is refused now rather than later.
   @overwrite: an existing target is replaced, but only if this program wrote it. That is a folder
   that holds nothing else, or a file that says so. */
TdOutput *td_output_begin (const char *path, gboolean folder, gboolean overwrite, guint64 bytes,
                           GError **error);
/* The same for an output that several processes write; the caller's process owns it. The part is
   "PATH.JOB.part" and stays until td_output_commit() or td_output_discard(). @go_on: the output
   goes on with the part that an earlier run of the job left, which must be there. Otherwise such a
   part is replaced. */
TdOutput *td_output_begin_shared (const char *path, gboolean folder, gboolean overwrite,
                                  guint64 bytes, const char *job, gboolean go_on, GError **error);
/* FALSE with @error: the output's folder is not there, or has no room for so many bytes. */
gboolean td_output_has_room (const char *path, guint64 bytes, GError **error);
void td_output_discard (TdOutput *output);           /* the part is removed when it is freed */
const char *td_output_part (const TdOutput *output); /* where to write now */
const char *td_output_path (const TdOutput *output); /* where it will be */
/* A small text file @name inside a folder that is being written. */
gboolean td_output_save_text (const TdOutput *output, const char *name, const char *text,
                              GError **error);
/* What took the output's name since td_output_begin() is not replaced, unless this program wrote it
   and @overwrite was stated. The part stays then. */
gboolean td_output_commit (TdOutput *output, GError **error);
void td_output_free (TdOutput *output);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdOutput, td_output_free)

/* All of it: @data becomes the file @path, in place of one that this program wrote. */
gboolean td_output_save (const char *path, gconstpointer data, gsize n, GError **error);

/* FALSE with @error: what is written to @path would replace @input, or a folder that @input lies
   in. Other names of either and links are seen through. @input may be NULL. */
gboolean td_output_spares (const char *path, const char *input, GError **error);

/* The same for a volume, which may be a folder of slices or name a data set (FILE::DATASET). What
   would make a slice of that folder, or replace a file in it, does not spare it either. */
gboolean td_output_spares_volume (const char *path, const char *volume, GError **error);

/* The same for several inputs; NULL: none. */
gboolean td_output_spares_all (const char *path, const char *const *inputs, GError **error);
/* And a scan, with all that it refers to. */
gboolean td_output_spares_scan (const char *path, const TdScanFacts *scan, GError **error);

/* “PATH” cannot be written: REASON; with the remedy where it is known (a full disk). */
gboolean td_output_set_error (GError **error, const char *path, int errno_value);
/* The same for a caller that returns a pointer. */
#define td_output_set_error_null(...) (td_output_set_error (__VA_ARGS__), NULL)
