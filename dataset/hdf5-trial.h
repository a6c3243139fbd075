/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * libhdf5 crashes in some damaged files, and in others it never ends while it holds its lock. So a
 * child process (helper.h) first opens a file just as it is to be opened here. Where the child's
 * walk through the file ends, whatever it found, the same walk ends here, too. What was tried once
 * is not tried again in this process, until the file changes.
 *
 * The child reads a row of the first and the last frame of each kind too. Of a volume it reads the
 * first and the last slice. Damage in the compressed samples of others can still crash.
 */

/* FALSE with @error: opening @path (a file, or a folder of them) with @options is no good, or was
   cancelled. TRUE at once where there is no HDF5 file, or no child. */
gboolean td_h5_trial_scan (const char *path, const TdScanOptions *options,
                           GCancellable *cancellable, GError **error);
/* The same for td_volume_open…() and td_h5_program(). @dataset: NULL: none is stated. */
gboolean td_h5_trial_volume (const char *path, const char *dataset, GCancellable *cancellable,
                             GError **error);
/* As td_helper_begin(), and does the child's work: it returns FALSE or not at all. */
gboolean td_h5_trial_helper (int argc, char **argv);
