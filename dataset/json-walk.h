/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

/**
 * Values of an untrusted JSON file by path ("output/projections/number"). What is missing or of
 * another type is NULL, 0 or NAN, never a complaint of the library.
 */

/* The library's parser recurses, and 100,000 brackets would overflow its stack. TRUE: @text is
   nested deeper than any file of the field. */
gboolean td_json_is_deep (const char *text);
/* NULL: @text (nullable) is no sound JSON, is nested deeper than any file of the field, or its root
   is no object. */
JsonNode *td_json_parse (const char *text);
/* The first name that an object of the sound JSON @text holds twice. The library keeps its last
   value alone, so that a person's other value would be lost. NULL: none. (transfer full) */
char *td_json_twice (const char *text);
/* At most 16 MiB; the root is an object. */
JsonNode *td_json_load (const char *path, GError **error);
JsonNode *td_json_at (JsonNode *root, const char *path); /* NULL: absent or null */
const char *td_json_string (JsonNode *root, const char *path);
JsonArray *td_json_list (JsonNode *root, const char *path); /* NULL: none */
/* The strings of a list, without what else is in it. NULL: no list. (transfer full) */
char **td_json_strings (JsonNode *root, const char *path);
double td_json_number (JsonNode *root, const char *path); /* NAN: none */
guint td_json_count (JsonNode *root, const char *path);   /* a whole number >= 0; else 0 */
gboolean td_json_true (JsonNode *root, const char *path);
/* The same where nothing else than true or false may stand, or nothing; FALSE: it does. */
gboolean td_json_flag (JsonNode *root, const char *path, gboolean *flag);
/* {"value": 3, "unit": "mm"} in mm, which no unit means; NAN: none or another unit. */
double td_json_length_mm (JsonNode *root, const char *path);
/* The same in radians. */
double td_json_angle_rad (JsonNode *root, const char *path);

/* The tree as JSON that every parser takes. What json-glib writes is mended: it makes "1e-10.0" of
   1e-10 and "nan.0" of NaN, and keeps one control character in strings. Numbers that JSON cannot
   hold become null. Strings of the tree must be UTF-8. (transfer full) */
char *td_json_text (JsonNode *root, gboolean pretty);
