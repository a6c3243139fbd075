/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"
#include "dataset/scan-view.h"

typedef struct TdFoundAxes TdFoundAxes; /* found-axes.h */

/**
 * What the engine keeps for its methods between jobs. Any thread.
 */

/* The scan as a frame crops and bins it. Repeated calls return the same object, because the engine
   keeps what it knows about a scan by the object. (transfer full) */
TdScan *td_engine_view (TdEngine *engine, TdScan *scan, const TdScanFrame *frame, GError **error);

/* Reads rows as td_scan_read_sinograms() does for all views, and remembers the last rows of small
   requests. A preview with a new centre or a new preparation does not read the disk again. */
gboolean td_engine_read_rows (TdEngine *engine, TdScan *scan, guint row0, guint n_rows, float *out,
                              GCancellable *cancellable, GError **error);

/**
 * Takes an idle working set: queues, buffers, filters and projectors of a method on a device. One
 * job at a time has it and gives it back. @free tells the type. @matches sees each idle set that
 * was given with the same @free, the newest first. Returns NULL if none matches.
 */
gpointer td_engine_take (TdEngine *engine, GDestroyNotify free,
                         gboolean (*matches) (gpointer item, gpointer user), gpointer user);
/* Keeps @item for the next job; the oldest go when all together pass the engine's budget. */
void td_engine_give (TdEngine *engine, gpointer item, guint64 bytes, GDestroyNotify free);
/* Frees the idle working sets: a job is short of device memory. */
void td_engine_drop_idle (TdEngine *engine);

const TdMethod *const *td_engine_methods (const TdEngine *engine);
/* The axes found lately. */
TdFoundAxes *td_engine_axes (TdEngine *engine);
/* A handle of @device with an account that holds what the recipe's limits say. (transfer full) */
TdDevice *td_engine_account (const TdRecipe *recipe, TdDevice *device);

/* Rates that earlier jobs reached on this machine with @work of about that size (rates.h): updates
   or bytes a second. 0: none yet. */
double td_engine_rate (TdEngine *engine, const char *key, double work);
void td_engine_set_rate (TdEngine *engine, const char *key, double work, double seconds);
