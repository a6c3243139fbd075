/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <fftw3.h>
#include "device.h"

/**
 * FFTW in single precision for everybody on the host: its planner is not thread-safe, so all plans
 * come from here. There is one kind of plan, the fastest to run and the quickest to make. It
 * transforms n complex numbers forward, from one buffer of fftwf_alloc_complex() to another.
 * fftwf_execute_dft() runs it. The unnormalised inverse is the same read backwards: its element x
 * is element (n - x) % n of the forward transform.
 *
 * Plans are measured, for a quarter of a second at most, and remembered as wisdom in the user's
 * cache folder. Any thread; blocks. NULL: no memory.
 */
fftwf_plan td_fftw_plan (guint n);
void td_fftw_plan_free (fftwf_plan plan); /* NULL is allowed */

/* Makes both planners of FFTW, which allocate most of their memory at their first plan. FFTW ends
   the process where that fails. So call this before a job's threads fill the memory. Any thread. */
void td_fftw_begin (void);

#define TD_FFTW_WISDOM_BYTES ((gsize) 16 << 20) /* of a file at most */
/* Where wisdom lies in @folder; NULL: the user's. (transfer full) */
char *td_fftw_wisdom_file (const char *folder);
/* From now on wisdom is kept in @folder, and the user's is not looked at. Processes that share the
   folder make the same plans, and so the same bits. Before the first plan. */
void td_fftw_keep_wisdom_in (const char *folder);

/* The same in double precision, made quickly and not measured: forward, not in place, for buffers
   of fftw_alloc_complex(). fftw_execute_dft() runs it. */
fftw_plan td_fftw_plan_double (guint n);
void td_fftw_plan_double_free (fftw_plan plan); /* NULL is allowed */

/* Transforms @count even sequences of that period in place. @values has the first period / 2 + 1
   values of each, one sequence after another. A real, even sequence's transform is real and even
   too. Double precision, not divided by the period. Any thread. FALSE: no memory. */
gboolean td_fftw_even (double *values, guint period, guint count);

/* ── Scratch ── */

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

/* ── Batches and two dimensions ── */

/* FFTs of the device contract: the host's, and OpenCL's on a CPU. FFTW plans only single
   contiguous 1-D transforms, so that measured plans are few and quick to make. The threads share
   batches and the columns of 2-D transforms. execute blocks; one run may go beside another. */
typedef struct {
  guint n[2], batch;
  fftwf_plan rows, columns; /* columns: 2-D only */
  TdHostScratch *scratch;   /* of a row, or of TD_HOST_FFT_COLUMNS columns */
} TdHostFft;
TdHostFft *td_host_fft_make (TdFftKind kind, const guint n[2], guint batch, GError **error);
void td_host_fft_execute (const TdHostFft *fft, void *data, gboolean inverse);
void td_host_fft_destroy (TdHostFft *fft);

#define TD_HOST_FFT_COLUMNS 8 /* at once: a cache line of complex floats */
/* From column to column in the scratch: lines stay aligned, on different cache sets. */
static inline gsize
td_host_fft_pitch (gsize ny)
{
  return (ny + 15) / 8 * 8;
}
