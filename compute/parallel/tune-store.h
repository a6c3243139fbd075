/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * What tuning and self-tests found out, kept as JSON in the user's cache folder
 * ($XDG_CACHE_HOME/tomodesk/tuned.json). The key is device, driver and program version, so that old
 * findings do not count after a new driver. A damaged or foreign file counts as empty. Any thread;
 * several processes may write, the last one wins.
 */
typedef struct {
  char **defines;            /* the family's own, NULL-terminated; NULL: its default */
  guint slices;              /* at once; 0: the family's default */
  double updates_per_second; /* when it was tuned */
} TdTuned;

/* The fastest variant of @family for tasks like @task with @n_slices at once; FALSE: never tuned.
   Like means the same interpolation, precision, 1, 2 or more slices, and size to a power of two.
   td_tuned_clear() clears @tuned. */
gboolean td_tune_store_find (const TdDeviceInfo *device, const char *family,
                             const TdBackprojectTask *task, guint n_slices, TdTuned *tuned);
void td_tuned_clear (TdTuned *tuned);

gboolean td_tune_store_add (const TdDeviceInfo *device, const char *family,
                            const TdBackprojectTask *task, guint n_slices, const TdTuned *tuned,
                            GError **error);

/* Why the self-test took @family out of use on this device; NULL: it did not. (transfer full) */
char *td_tune_store_disabled (const TdDeviceInfo *device, const char *family);
/* @reason NULL: takes it into use again. */
gboolean td_tune_store_disable (const TdDeviceInfo *device, const char *family, const char *reason,
                                GError **error);
