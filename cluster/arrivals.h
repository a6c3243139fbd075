/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdArrivals: scans that come into a folder, as files of a scan's kinds or as folders. A scan has
 * arrived when nothing of it has changed for a while. One thread.
 */
typedef struct TdArrivals TdArrivals;

/* @but: (nullable): where volumes go. A folder inside @folder that holds @but is no scan. Volumes
   in @folder itself would come as scans: a look refuses that. @settle_s: for so long a scan must
   not have changed. */
TdArrivals *td_arrivals_new (const char *folder, const char *but, double settle_s);
void td_arrivals_free (TdArrivals *arrivals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdArrivals, td_arrivals_free)
/* Looks once, and returns the paths of scans that have arrived since the last look. Each is told
   once, and again if it changes. @moving: (nullable): how many scans still change. NULL with
   @error: the folder cannot be read. (transfer full) */
char **td_arrivals_look (TdArrivals *arrivals, guint *moving, GError **error);
/* Paths that the last look saw for the first time and that are no scans by their names. Call this
   after a look that succeeded. @arrivals owns them until the next look. */
const char *const *td_arrivals_passed (const TdArrivals *arrivals);
/* The usual settle_s. */
#define TD_ARRIVALS_SETTLE_S 10
