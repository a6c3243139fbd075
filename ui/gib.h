/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Memory limits are typed in GiB and kept in bytes. */
guint64 td_bytes_from_gib (double gib);
double td_gib_from_bytes (guint64 bytes);
