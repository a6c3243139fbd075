/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/**
 * The kernels compiled as C for the host. kernels/embed.py makes one table a source, and meson
 * compiles it once for each instruction set.
 *
 * run() does a box of work-items: all x0 <= x < x1 of the rows y0 <= y < y1 at z. args[i] points to
 * the i-th argument's value; for a buffer, to the pointer.
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
