/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/* A scan to try the program with: its frames are computed as they are read, rings, noise and all,
   so that it needs no file. (transfer full) */
TdScan *td_demo_scan_new (GError **error);
