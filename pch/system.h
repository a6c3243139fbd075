/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read once for all files of a library. A file that lacks an include of its own is not noticed there:
   tests/house.py looks for those (PRECOMPILED). */
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
