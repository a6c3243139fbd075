/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"
#include "compute/parallel/self-test.h"

/**
 * Runs a small cone with a known answer through every family that can do it, and remembers which
 * failed. The function td_fdk_family_choose() avoids those on this device and driver until a later
 * test passes. Blocks for seconds. Any thread.
 *
 * @tell: (nullable). (transfer full) (element-type TdSelfTestRow); NULL: the device itself fails.
 */
GPtrArray *td_fdk_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                                    GCancellable *cancellable, GError **error);

/* td_cone_family_choose() among those in use. */
const TdConeFamily *td_fdk_family_choose (const char *name, const TdConeTask *task,
                                          TdPrecision precision, TdDevice *device, GError **error);
