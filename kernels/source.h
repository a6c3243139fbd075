/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* ── Text for run-time compilers ── */

/* The kernel sources, embedded at build time, ending with a NULL name. */
typedef struct {
  const char *name; /* file name, "backproject-standard.cl" */
  const char *text;
} TdKernelSource;

extern const TdKernelSource td_kernel_sources[];

/**
 * The text that a run-time compiler gets. It begins with the dialect header ("opencl.h", "cuda.h").
 * Then comes @name ".cl" with each #include "file" replaced by that file, once. (transfer full);
 * NULL if there is no such kernel.
 */
char *td_kernel_source_expand (const char *name, const char *dialect);

/* ── Kernels compiled as C ── */

/**
 * The kernels compiled as C for the host. kernels/embed.py makes one table a source, and meson
 * compiles it once for each instruction set.
 *
 * run() computes a box of work-items at z: all x0 <= x < x1, y0 <= y < y1. args[i] points to the
 * value of argument i; a buffer's value is its pointer.
 */
typedef struct {
  const char *name;
  void (*run) (const void *const *args, const int groups[3], const int local[3], int z, int y0,
               int y1, int x0, int x1);
  unsigned n_args;
  const unsigned *sizes; /* of the values; 0: a buffer */
} TdHostKernel;

typedef struct {
  const char *source;          /* "pack-rows", without its ending */
  const TdHostKernel *kernels; /* ends with a NULL name */
} TdHostSource;

/* Ends with a NULL source. Only what the build's processor family has is there. */
extern const TdHostSource td_host_sources_plain[];
extern const TdHostSource td_host_sources_avx2[];
extern const TdHostSource td_host_sources_avx512[];
