/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cairo.h>

#include "space.h"

/* Shapes by the processor, over @background, on the whole surface behind @cr. Any thread. */
void td_soft_space_draw (cairo_t *cr, GArray *shapes, TdInk background);
