/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

/* The tree as JSON that every parser takes. json-glib itself writes 1e-10 as "1e-10.0", NaN as
   "nan.0", and leaves one control character in strings as it is. Numbers that JSON cannot hold
   become null. Strings of the tree must be UTF-8. (transfer full) */
char *td_json_text (JsonNode *root, gboolean pretty);
