/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis.h"

/**
 * The rotation axes that were found lately, by scan and by a key of what else decides them. One
 * caller at a time searches; the others wait for what it finds. Any thread.
 */
typedef struct TdFoundAxes TdFoundAxes;

TdFoundAxes *td_found_axes_new (void);
void td_found_axes_free (TdFoundAxes *axes);
void td_found_axes_clear (TdFoundAxes *axes);
/* What was found for @key. NULL without @error: nothing yet; the caller searches, and ends with
   td_found_axes_put(). Blocks while anybody else searches; NULL with @error: cancelled. */
TdAxisResult *td_found_axes_get (TdFoundAxes *axes, TdScan *scan, const char *key,
                                 GCancellable *cancellable, GError **error);
/* @result: copied; NULL: the search failed. */
void td_found_axes_put (TdFoundAxes *axes, TdScan *scan, const char *key,
                        const TdAxisResult *result);
