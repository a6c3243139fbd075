/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "slice-view.h"

/* Lines, region, wipe divider, scale bar and focus ring, over the picture. */
void td_slice_view_draw_overlay (TdSliceView *self, GtkSnapshot *snapshot);
