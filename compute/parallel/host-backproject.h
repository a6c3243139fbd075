/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * Back-projection by the host's own vector code: the kernels of host-backproject-isa.c for the
 * best instruction set there is (td_host_isa), spread over the host's threads tile by tile. Memory
 * to memory; the "host" family wraps it for devices with host_pointers.
 */
typedef struct TdHostBackproject TdHostBackproject;

/* @max_slices bounds the work space. */
TdHostBackproject *td_host_backproject_new (const TdBackprojectTask *task, guint max_slices,
                                            GError **error);
/* New geometry, same sizes. FALSE: the sizes differ. */
gboolean td_host_backproject_update (TdHostBackproject *host, const TdBackprojectTask *task);
/* sinograms: [slice][view][column]; slices: [slice][ny][nx], overwritten. Blocks; looks at
   @cancellable (may be NULL) between tiles. One thread at a time. */
gboolean td_host_backproject_run (TdHostBackproject *host, const float *sinograms, float *slices,
                                  guint n_slices, GCancellable *cancellable, GError **error);
void td_host_backproject_free (TdHostBackproject *host);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdHostBackproject, td_host_backproject_free)

guint64 td_host_backproject_workspace_bytes (const TdBackprojectTask *task, guint max_slices);
/* "AVX-512, 32 slices at once": static. */
const char *td_host_backproject_description (guint n_slices);
