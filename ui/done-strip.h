/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "slice-store.h"

/* TdDoneStrip: a thin bar along a slider that marks which slices of a running job are finished. */
#define TD_TYPE_DONE_STRIP (td_done_strip_get_type ())
G_DECLARE_FINAL_TYPE (TdDoneStrip, td_done_strip, TD, DONE_STRIP, GtkWidget)

void td_done_strip_set_store (TdDoneStrip *self, TdSliceStore *store); /* (nullable) */
