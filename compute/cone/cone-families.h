/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone-family.h"

/* The rows of the table in cone-family.c. */
extern const TdConeFamily td_cone_family_host;     /* host pointers, vector instructions */
extern const TdConeFamily td_cone_family_standard; /* one voxel a thread, any geometry: RTK's way */
extern const TdConeFamily
    td_cone_family_texture; /* layered textures, voxels along z in registers */
extern const TdConeFamily td_cone_family_arithmetic; /* the same with loads and arithmetic */
extern const TdConeFamily td_cone_family_symmetric; /* views 180 or 90 degrees apart in one texel */
