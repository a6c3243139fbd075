/* SPDX-License-Identifier: GPL-3.0-or-later */
#define FUNCS td_cone_funcs_plain
#include "cone-host-tile.h"
