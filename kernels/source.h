/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The kernel sources, embedded at build time, ending with a NULL name. */
typedef struct {
  const char *name; /* file name, "backproject-standard.cl" */
  const char *text;
} TdKernelSource;

extern const TdKernelSource td_kernel_sources[];

const char *td_kernel_source_text (const char *file_name); /* NULL: no such file */

/**
 * The text a run-time compiler gets: the dialect header ("opencl.h", "cuda.h"), then @name ".cl" with
 * each #include "file" replaced by that file, once. (transfer full); NULL if there is no such kernel.
 */
char *td_kernel_source_expand (const char *name, const char *dialect);
