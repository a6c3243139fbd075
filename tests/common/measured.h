/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/* A real scan by its name in the folder TOMODESK_SCANS (transfer full). NULL where it is absent:
   the test was skipped with "no scan". @options may be NULL. */
TdScan *td_test_open_measured (const char *name, const TdScanOptions *options);
