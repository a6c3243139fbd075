/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The first TIFF file of the series that a .log file belongs to: Filename Prefix and a number,
   beside it. (transfer full) */
char *td_skyscan_first_projection (const char *path, GError **error);
