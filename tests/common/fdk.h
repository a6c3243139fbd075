/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/fdk/fdk.h"
#include "compute/engine/job.h"

/**
 * Small FDK jobs on one and two devices, for the tests of FDK. The two devices are PoCL's, which
 * meson asks for twice.
 */
#define TD_FDK_N 48 /* columns, rows and voxels along each side */

extern TdEngine *td_fdk_engine;
extern TdScan *td_fdk_scan; /* a phantom's full turn */

typedef struct {
  float *slices;
  char *notes;
  gboolean seen[TD_FDK_N];
  guint64 host_bytes, device_bytes; /* peaks */
  double bound;                     /* of its kernels' error: textures filter by 8 bits */
} TdFdkVolume;

void td_fdk_volume_clear (TdFdkVolume *volume);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdFdkVolume, td_fdk_volume_clear)

/* Around g_test_run(). */
void td_fdk_test_begin (const char *name);
void td_fdk_test_end (void);

TdPlan *td_fdk_test_plan (const char *devices, TdShareKind share, TdFilterPlace filter_on,
                          guint64 memory_limit);
/* Every slice must come once. */
gboolean td_fdk_test_run (TdPlan *plan, TdFdkVolume *volume, GError **error);
gboolean td_fdk_test_run_job (TdJob *job, TdFdkVolume *volume, GError **error);
void td_fdk_test_close (const TdFdkVolume *got, const TdFdkVolume *truth);
/* The plain way: one device, everything at once. */
void td_fdk_test_reference (TdFdkVolume *volume);
