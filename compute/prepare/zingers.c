/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zingers.h"

/* A part set aside should still be in a processor's cache when it is read; a graphics card wants
   much work at a time. */
#define CPU_BYTES (16u << 20)
#define GPU_BYTES (64u << 20)

const char *const td_zingers_kinds[] = { "bright", "dark", "both", NULL };

float
td_zingers_side (double kind)
{
  return kind == TD_ZINGERS_BRIGHT ? 1 : kind == TD_ZINGERS_DARK ? -1 : 0;
}

guint64
td_zingers_aside_bytes (guint64 piece, guint n, gboolean cpu_shaped)
{
  return CLAMP ((cpu_shaped ? CPU_BYTES : GPU_BYTES) / MAX (piece, 1), 1, MAX (n, 1)) * piece;
}

gboolean
td_zingers_set_aside (TdSlab *slab, TdBuffer *aside, TdZingersPart part, guint margin,
                      GError **error)
{
  TdKernel *kernel = td_slab_kernel (slab, "prepare-zingers", "prepare_set_aside", error);
  guint strip = td_slab_strip (slab);

  if (!kernel)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (aside),          TD_ARG_VALUE (part.row0),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (part.view0),
    TD_ARG_VALUE (part.n_views),  TD_ARG_VALUE (margin),          TD_ARG_VALUE (strip),
  };
  return td_slab_launch (
      slab, kernel, (guint[]) { (slab->n_columns + strip - 1) / strip, part.n_views, part.n_rows },
      args, G_N_ELEMENTS (args), error);
}
