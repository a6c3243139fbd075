/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/**
 * TdEngine: what outlives a job, so that the next preview starts warm: opened devices with their
 * programs, row filters, back-projectors, averaged flats, and the last rows read from a scan. One for
 * the process; any thread.
 */
typedef struct TdEngine TdEngine;

TdEngine *td_engine_new (void);
TdEngine *td_engine_ref (TdEngine *engine);
void td_engine_unref (TdEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdEngine, td_engine_unref)

/* Devices named by a recipe ("auto", "host", "cuda:0,opencl:1"). (transfer full) (element-type
   TdDevice, freed with the array). May block on drivers the first time. */
GPtrArray *td_engine_devices (TdEngine *engine, const char *names, GError **error);
/* Drops cached rows and working buffers (a scan was closed). */
void td_engine_trim (TdEngine *engine);
