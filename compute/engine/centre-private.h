/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"
#include "compute/axis/axis.h"
#include "dataset/scan.h"

/* The axes that an engine has found. Any thread. */
typedef struct TdCentres TdCentres;

TdCentres *td_centres_new (void);
void td_centres_free (TdCentres *centres);
void td_centres_clear (TdCentres *centres);
TdCentres *td_engine_centres (TdEngine *engine);

/* What was found for @key. NULL without error: nothing yet, and the caller is the one to search: it
   must end with td_centres_put(). Waits while anybody else searches; NULL with @error: cancelled.
 */
TdAxisResult *td_centres_get (TdCentres *centres, TdScan *scan, const char *key,
                              GCancellable *cancellable, GError **error);
/* @result: (nullable): the search failed. Copied. */
void td_centres_put (TdCentres *centres, TdScan *scan, const char *key, const TdAxisResult *result);
