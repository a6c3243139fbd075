/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "slab.h"

/**
 * Phase retrieval of few rows among many, which only they need: a preview's one row. What is left
 * of the work is a sum over rows and the transforms of paganin-terms.h; the whole slab's are three
 * for each row. As TdStepKind's run_core and its share of workspace_bytes.
 */
gboolean td_paganin_run_core (const TdStep *step, TdSlab *slab, guint first, guint count,
                              TdBuffer *out, GError **error);
guint64 td_paganin_core_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows);
