/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "prepare.h"

/* Up to this part of a slab's rows may be made without the others (TdStepKind.run_core). */
#define TD_PREPARATION_CORE_SHARE 8

static inline guint64
td_preparation_row_bytes (const TdScanFacts *facts)
{
  return (guint64) facts->n_views * facts->n_columns * sizeof (float);
}
