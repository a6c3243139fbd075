/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * NVIDIA's run-time compiler, loaded when first needed. It needs no driver and no card, so tests
 * compile every kernel for every architecture. Any thread; compiling blocks (0.1 s and more).
 */
typedef struct TdNvrtc TdNvrtc;

/* The newest installed compiler that knows @arch (90 for sm_90), else the newest. NULL: none. Owned
   by the process. */
const TdNvrtc *td_nvrtc_for_arch (guint arch, GError **error);
const char *td_nvrtc_version (const TdNvrtc *nvrtc); /* "nvrtc 13.0" */

typedef struct {
  const char *name;
  const char *source;         /* expanded, see kernels/source.h */
  const char *const *defines; /* "KEY=VALUE", NULL-terminated; may be NULL */
  guint arch;
} TdNvrtcUnit;

/* @image: a CUBIN for the unit's arch if the compiler knows it, else PTX that the driver finishes.
   @log (may be NULL): the compiler's words with registers and spills of each kernel. */
gboolean td_nvrtc_compile (const TdNvrtc *nvrtc, const TdNvrtcUnit *unit, GBytes **image,
                           char **log, GError **error);
