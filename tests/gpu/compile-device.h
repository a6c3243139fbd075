/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"

/**
 * A device that only compiles: it takes every call, moves no data and runs nothing, and hands each
 * program to a compiler for some card. With it a machine without that card sees what the families
 * would build there: names, defines, registers, spills.
 */
typedef struct {
  char *program, *kernel, *defines;
  guint registers;
  guint64 spill_bytes;
  guint64 local_bytes;
  gboolean launched; /* by what was made of the program */
} TdCompiledKernel;

/* Compiles one program; adds a TdCompiledKernel for each kernel in it. */
typedef gboolean (*TdCompile) (const char *name, const char *source, const char *const *defines,
                               gpointer user, GPtrArray *kernels, GError **error);

/* @info is copied, its strings too; @dialect: "cuda.h" or "opencl.h". */
TdDevice *td_compile_device_new (const TdDeviceInfo *info, const char *dialect, TdCompile compile,
                                 gpointer user);
/* All kernels compiled so far, each program once; element-type TdCompiledKernel. */
GPtrArray *td_compile_device_kernels (TdDevice *device);

void td_compiled_kernel_free (gpointer kernel);

typedef enum {
  TD_COMPILE_SOME,      /* the default one for most slices, linear: it needs most registers */
  TD_COMPILE_DEFAULTS,  /* the default variant for each number of slices */
  TD_COMPILE_CANDIDATES /* the tuner's variants as well */
} TdCompileExtent;

/**
 * Compiles the variants of every family that @extent names, for every interpolation and precision
 * that it takes, and runs the default ones. Returns how many variants were made; a build error
 * fails the test.
 */
guint td_compile_device_families (TdDevice *device, TdCompileExtent extent);
/* The programs that no family builds. With TD_COMPILE_SOME it compiles each source once. */
void td_compile_device_others (TdDevice *device, TdCompileExtent extent);
/* Prints the table and fails the test if a kernel that was launched spills, or if a source was not
   compiled in any variant. */
void td_compile_device_report (TdDevice *device, const char *title);
