/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device.h"

/**
 * Whether the device does what everything else rests on: bytes come back as they went, a kernel
 * computes what it says, an FFT is one. FALSE with TD_ERROR_DEVICE_BUG: not to be used. For the
 * self-test; takes milliseconds once programs are built. Any thread; blocks.
 */
gboolean td_device_check (TdDevice *device, GError **error);

/**
 * Whether textures of @texel do what the contract says here: values, filtering, 0 outside, layers.
 * Drivers exist that accept a format and then fetch something else. FALSE with @error: it could not
 * be tried. Any thread; blocks.
 */
gboolean td_texture_check (TdDevice *device, TdTexel texel, gboolean linear, gboolean layered,
                           gboolean *right, GError **error);
