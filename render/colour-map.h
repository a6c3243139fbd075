/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Colour maps. viridis, magma, inferno and cividis are matplotlib's (CC0), turbo is Google's
 * (Apache-2.0), the diverging one is ColorBrewer's RdBu. Each is kept as 33 nodes, within 5/255 of
 * the original tables.
 */
typedef enum {
  TD_COLOUR_GREY,
  TD_COLOUR_INVERSE,
  TD_COLOUR_VIRIDIS,
  TD_COLOUR_MAGMA,
  TD_COLOUR_INFERNO,
  TD_COLOUR_CIVIDIS,
  TD_COLOUR_TURBO,
  TD_COLOUR_DIVERGING,
  TD_COLOUR_COUNT
} TdColourMap;

#define TD_COLOUR_ENTRIES 256

const char *td_colour_map_name (TdColourMap map); /* "grey", … for settings and menus */
gboolean td_colour_map_parse (const char *name, TdColourMap *map);
/* 256 x RGBA, alpha 255; static. Any thread. */
const guint8 *td_colour_map_table (TdColourMap map);
