/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/**
 * TdArrivals: scans that come into a folder: its files of the scans' kinds, and its folders. One is
 * there when nothing of it has changed for a while. One thread.
 */
typedef struct TdArrivals TdArrivals;

/* @but: (nullable): a folder of it that is none, such as where volumes go. @settle_s: so long a
   scan must have been as it is. */
TdArrivals *td_arrivals_new (const char *folder, const char *but, double settle_s);
void td_arrivals_free (TdArrivals *arrivals);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdArrivals, td_arrivals_free)
/* Looks once: the paths that have become still since, each told once, and again if it changes.
   *@moving: (nullable): how many are there that still change. NULL with @error: the folder cannot
   be read. (transfer full) */
char **td_arrivals_look (TdArrivals *arrivals, guint *moving, GError **error);
/* What came since the look before the last and is no scan by its name, each told once. Owned by
   @arrivals, until the next look; after one that was answered. */
const char *const *td_arrivals_passed (const TdArrivals *arrivals);
/* So long a scan must have been as it is. */
#define TD_ARRIVALS_SETTLE_S 10
