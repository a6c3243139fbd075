/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TILE td_cone_tile_plain
#include "cone-host-tile.h"
