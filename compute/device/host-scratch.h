/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What the bodies of td_parallel_for() work in: two pieces of memory for each of the host's
 * threads. They are there before a thread begins, for a body has no way to say that it got none.
 * The pieces are aligned as those of fftwf_alloc_complex() are, so td_fftw_plan() is for them too.
 */
typedef struct TdHostScratch TdHostScratch;
typedef struct {
  gpointer from, to;
} TdHostPieces;

/* Bytes of either piece. NULL with @error: no memory. */
TdHostScratch *td_host_scratch_new (gsize from, gsize to, GError **error);
/* Any thread. While other callers' threads have all pieces, this waits for one that comes back. */
TdHostPieces td_host_scratch_take (TdHostScratch *scratch);
void td_host_scratch_give (TdHostScratch *scratch, const TdHostPieces *pieces);
void td_host_scratch_free (TdHostScratch *scratch); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdHostScratch, td_host_scratch_free)
