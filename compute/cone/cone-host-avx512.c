/* SPDX-License-Identifier: GPL-3.0-or-later */
#define FUNCS td_cone_funcs_avx512
#include "cone-host-tile.h"
