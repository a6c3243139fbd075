/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read once for all files of a library where -Db_pch=true, as in build-asan/ of ./test. build/ goes
   without, so that a file which lacks an include of its own is noticed there. */
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
