/* SPDX-License-Identifier: GPL-3.0-or-later */
#define FUNCS td_ray_host_funcs_avx2
#include "rays-host-tile.h"
