/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

/* The tree as JSON that every parser takes. What json-glib writes is mended: it makes "1e-10.0" of
   1e-10 and "nan.0" of NaN, and keeps one control character in strings. Numbers that JSON cannot
   hold become null. Strings of the tree must be UTF-8. (transfer full) */
char *td_json_text (JsonNode *root, gboolean pretty);
