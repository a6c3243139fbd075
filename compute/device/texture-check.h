/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device.h"

/**
 * Whether textures of @texel do what the contract says here: values, filtering, 0 outside, layers.
 * Drivers exist that accept a format and then fetch something else. FALSE with @error: it could not
 * be tried. Any thread; blocks.
 */
gboolean td_texture_check (TdDevice *device, TdTexel texel, gboolean linear, gboolean layered,
                           gboolean *right, GError **error);
