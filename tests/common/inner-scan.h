/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan-private.h"

/* A scan with the facts of @inner whose frames come from @source: for tests that watch or spoil
   reads. (transfer full); @inner is not referenced. */
TdScan *td_test_scan_around (TdScan *inner, const TdScanSource *vtable, gpointer source);
