/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "error.h"

/**
 * TdMessage: what a note or an error says, before anybody has put it into words for a reader.
 *
 * The id is the English sentence as printf() takes it, and gettext's key. It names what a person
 * can change in braces. "{centre}" is a field, "{method=fbp}" a field with a value to take, and
 * "{rows:A:B}" a field with what its option is given. "{%s}" is the field that a value names. A
 * front end renders the message: options on the command line ("--method fbp"), labels in the
 * window. "%u [slice|slices]" has the form for the number before it.
 *
 * Messages are immutable. Any thread.
 */

/* "--field", "--field value" or "--field ARGUMENT". */
char *td_naming_options (const char *field, const char *value, const char *argument);

/* @id: static, marked with N_() where no function below marks it. A value may be a message itself:
 * its conversion is %p, and it is taken. */
TdMessage *td_message_new (const char *id, ...) G_GNUC_PRINTF (1, 2);
TdMessage *td_message_new_list (const char *id, va_list values) G_GNUC_PRINTF (1, 0);
/* @id itself is the message: it has fields and no conversions. */
TdMessage *td_message_new_plain (const char *id);
/* What somebody else said, as it is. Where that is NULL or empty, @otherwise, a plain @id. */
TdMessage *td_message_quoted (const char *text, const char *otherwise);
TdMessage *td_message_ref (TdMessage *message);
void td_message_unref (TdMessage *message);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdMessage, td_message_unref)

const char *td_message_id (const TdMessage *message);
/* The first field that the message names; NULL: none. (transfer full) */
char *td_message_field (const TdMessage *message);
/* A string for each conversion of the id, in its order. */
const char *const *td_message_values (const TdMessage *message);
/* In the reader's language, valid UTF-8. Of more than 4000 characters the middle is left out, which
 * the text says. @naming: NULL for options. (transfer full) */
char *td_message_text (const TdMessage *message, TdNaming naming);

/* The message as a line of text, and back: another process renders it in its reader's language.
 * What was not packed is itself the message, which has fields and no conversions. Values are
 * shortened as texts are. (transfer full) */
char *td_message_pack (const TdMessage *message);
char *td_message_packed (const char *id, ...) G_GNUC_PRINTF (1, 2);
TdMessage *td_message_unpack (const char *text);
/* What was packed, or a sentence, in the reader's language; NULL for NULL. (transfer full) */
char *td_message_words (const char *text, TdNaming naming);

/* Lists of messages end with NULL; NULL is the empty list. Takes @message; one that is in the list
 * already is dropped. */
void td_messages_add (TdMessage ***list, TdMessage *message);
/* The same of a message that is made of these. */
void td_messages_note (TdMessage ***list, const char *id, ...) G_GNUC_PRINTF (2, 3);
/* The same of each message of @more. */
void td_messages_append (TdMessage ***list, TdMessage *const *more);
TdMessage **td_messages_copy (TdMessage *const *list);
void td_messages_free (TdMessage **list);
guint td_messages_length (TdMessage *const *list);
/* (transfer full): one string a message; never NULL. */
char **td_messages_texts (TdMessage *const *list, TdNaming naming);
/* All of them with @separator between, "" for none. (transfer full) */
char *td_messages_join (TdMessage *const *list, const char *separator, TdNaming naming);
