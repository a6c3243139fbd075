/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "dataset/message.h"

/* Members of the object that @builder is in. Numbers that JSON cannot hold (NaN, infinite) and NULL
   strings become null; bytes that are not UTF-8 become U+FFFD. */
void td_json_add_number (JsonBuilder *builder, const char *name, double value);
void td_json_add_integer (JsonBuilder *builder, const char *name, guint64 value);
void td_json_add_string (JsonBuilder *builder, const char *name, const char *value);
void td_json_add_boolean (JsonBuilder *builder, const char *name, gboolean value);
/* The members "notes", in the command line's words, and "messages": each note's id, field and
 * values.
 */
void td_json_add_notes (JsonBuilder *builder, TdMessage *const *notes);
void td_json_add_strings (JsonBuilder *builder, const char *name, char **values); /* NULL: none */
/* A member that goes on until json_builder_end_array() or json_builder_end_object(). */
void td_json_begin_list (JsonBuilder *builder, const char *name);
void td_json_begin_object (JsonBuilder *builder, const char *name);
/* The whole, indented. (transfer full) */
char *td_json_print (JsonBuilder *builder);
/* Into a file of the user's own, which is on the disk whole or not at all. */
gboolean td_json_save (JsonBuilder *builder, const char *path, GError **error);
