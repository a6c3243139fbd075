/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages become text with the names that a front end gives, whatever they hold. */
#include <string.h>

#include <gio/gio.h>

#include "dataset/message.h"
#include "tests/common/pins.h"

/* A front end of its own. */
static char *
shout (const char *field, const char *value, const char *argument)
{
  return g_strdup_printf ("<%s|%s|%s>", field, value ? value : "", argument ? argument : "");
}

static void
test_words (void)
{
  g_autoptr (TdMessage) message
      = td_message_new ("%5.1f %% of “%s”: give {centre:PX}, take {method=%s} or {rows}; {not a "
                        "field} %u %" G_GUINT64_FORMAT,
                        2.25, "a {centre} b", "fbp", 7u, G_GUINT64_CONSTANT (1) << 40);
  g_autofree char *options = td_message_text (message, NULL);
  g_autofree char *other = td_message_text (message, shout);
  g_autofree char *field = td_message_field (message);

  g_assert_cmpstr (options, ==,
                   "  2.2 % of “a {centre} b”: give --centre PX, take --method fbp or --rows; "
                   "{not a field} 7 1099511627776");
  g_assert_cmpstr (other, ==,
                   "  2.2 % of “a {centre} b”: give <centre||PX>, take <method|fbp|> or <rows||>; "
                   "{not a field} 7 1099511627776");
  g_assert_cmpstr (field, ==, "centre");
  g_assert_cmpuint (g_strv_length ((char **) td_message_values (message)), ==, 5);
  g_assert_cmpstr (td_message_values (message)[2], ==, "fbp");
}

/* A word has the form for the number before it. Other brackets stay. */
static void
test_forms (void)
{
  static const struct {
    guint n;
    const char *text;
  } cases[] = { { 0, "[a|b] 0 [1] slices of [c|d] are left out" },
                { 1, "[a|b] 1 [1] slice of [c|d] is left out" },
                { 21, "[a|b] 21 [1] slices of [c|d] are left out" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdMessage) message
        = td_message_new ("[a|b] %u [1] [slice|slices] of %p [is|are|were] left out", cases[i].n,
                          td_message_new_plain ("[c|d]"));
    g_autofree char *text = td_message_text (message, NULL);
    g_assert_cmpstr (text, ==, cases[i].text);
    /* A field between the number and the word changes nothing. */
    g_autoptr (TdMessage) field
        = td_message_new ("%u {bin=%u} {%s} [slice|slices]", cases[i].n, 1 - cases[i].n, "rows");
    g_autofree char *named = td_message_text (field, shout);
    g_assert_true (g_str_has_suffix (named, cases[i].n == 1 ? "> slice" : "> slices"));
  }
}

static void
test_inner (void)
{
  g_autoptr (TdMessage) message
      = td_message_new ("It cannot: %p; %s", td_message_new_plain ("100 % wants {bits=8}"), "so");
  g_autofree char *text = td_message_text (message, shout);

  g_assert_cmpstr (text, ==, "It cannot: 100 % wants <bits|8|>; so");
}

static void
test_lists (void)
{
  TdMessage **list = NULL;

  for (guint i = 0; i < 4; i++)
    td_messages_add (&list, td_message_new ("%u of {bin}", i / 2));
  TdMessage **copy = td_messages_copy (list);
  td_messages_free (list);
  g_autofree char *text = td_messages_join (copy, "; ", NULL);
  g_assert_cmpstr (text, ==, "0 of --bin; 1 of --bin");
  td_messages_free (copy);
  g_autofree char *none = td_messages_join (NULL, "; ", NULL);
  g_assert_cmpstr (none, ==, "");
}

static void
test_errors (void)
{
  GError *error = NULL;

  td_set_error (NULL, TD_ERROR_INVALID, "nobody asks");
  td_set_error (&error, TD_ERROR_IO, "row %u ({rows:A:B})", 3u);
  g_autoptr (GError) copy = g_error_copy (error);
  td_prefix_error (&error, "“%s”: ", "x");
  td_prefix_error (&error, "step {prepare=%s}: ", "dose");
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  td_test_pin_refused (error);
  g_assert_cmpstr (error->message, ==, "step --prepare dose: “x”: row 3 (--rows A:B)");
  g_autofree char *other = td_error_text (error, shout);
  g_assert_cmpstr (other, ==, "step <prepare|dose|>: “x”: row 3 (<rows||A:B>)");
  g_autofree char *copied = td_error_text (copy, shout);
  g_assert_cmpstr (copied, ==, "row 3 (<rows||A:B>)");
  g_error_free (error);

  error = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_FAILED, "as it is {rows}");
  td_prefix_error (&error, "%s: ", "file");
  g_autofree char *plain = td_error_text (error, shout);
  g_assert_cmpstr (plain, ==, "file: as it is {rows}");
  g_error_free (error);
}

/* A field that a value names: the front end names it as any other. */
static void
test_named_by_value (void)
{
  g_autoptr (TdMessage) message
      = td_message_new ("%u of {%s}: {%s=%s}, {rows}", 3u, "cutoff", "method", "fbp");
  g_autofree char *options = td_message_text (message, NULL);
  g_autofree char *other = td_message_text (message, shout);
  g_autofree char *field = td_message_field (message);

  g_assert_cmpstr (options, ==, "3 of --cutoff: --method fbp, --rows");
  g_assert_cmpstr (other, ==, "3 of <cutoff||>: <method|fbp|>, <rows||>");
  g_assert_cmpstr (field, ==, "cutoff");
}

/* Another process says what this one would have said, in its own language and its own names. */
static void
test_packed (void)
{
  g_autoptr (TdMessage) message = td_message_new (
      "%u %% in {%s}: %p and %s", 3u, "cutoff",
      td_message_new ("take {method=%s} (%p)", "fbp", td_message_new_plain ("100 % of {rows}")),
      "a “{centre}” \"\xff\n");
  g_autofree char *packed = td_message_pack (message);
  g_autofree char *text = td_message_text (message, shout);
  g_autofree char *words = td_message_words (packed, shout);
  g_autoptr (TdMessage) back = td_message_unpack (packed);
  g_autofree char *field = td_message_field (back);

  g_assert_null (strchr (packed, '\n'));
  g_assert_cmpstr (words, ==, text);
  g_assert_cmpstr (td_message_id (back), ==, td_message_id (message));
  g_assert_cmpstr (field, ==, "cutoff");
  /* A sentence that nobody packed, and a prefixed error. */
  g_autofree char *plain = td_message_words ("30 % of {rows}", shout);
  g_assert_cmpstr (plain, ==, "30 % of <rows||>");
  g_assert_null (td_message_words (NULL, NULL));
  g_autoptr (GError) error = NULL;
  td_set_error (&error, TD_ERROR_IO, "row %u ({rows:A:B})", 3u);
  td_prefix_error (&error, "“%s”: ", "x");
  g_autoptr (TdMessage) prefixed = td_error_message (error);
  g_autofree char *line = td_message_pack (prefixed);
  g_autofree char *said = td_message_words (line, NULL);
  g_assert_cmpstr (said, ==, error->message);
}

/* Another program may have written anything. */
static void
test_packed_by_others (void)
{
  static const char *const lines[][2] = {
    { "{\"id\":\"%s %n %99999d {%s=%s\",\"values\":[]}", "   {=" },
    { "{\"id\":\"%p%s\",\"values\":[7,[1],{\"id\":4},null]}", "……" },
    { "{\"id\":\"%p %s\",\"values\":[{\"id\":\"%s\",\"values\":[\"in\"]}, \"%s\"]}", "in %s" },
    { "{\"id\":\"a%%\",\"rest\":[2],\"values\":{}}", "a%" },
    { "{\"id\":\"\",\"plain\":true}", "" },
    { "{\"id\":", "{\"id\":" },
    { "{\"id\":3}", "{\"id\":3}" },
    /* Ends in the middle of a conversion, of a field too. */
    { "{\"id\":\"{%\",\"values\":[\"a\"]}", "{a" },
    { "{\"id\":\"{%08\"}", "{" },
    { "{\"id\":\"%-5l\",\"values\":[\"a\"]}", "a" },
    { "{\"id\":\"a\",\"rest\":\"b\"}", "ab" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_autofree char *said = td_message_words (lines[i][0], NULL);
    g_test_message ("%s", said);
    g_assert_cmpstr (said, ==, lines[i][1]);
  }
  /* Messages in messages without an end. */
  g_autoptr (GString) deep = g_string_new ("");
  for (guint i = 0; i < 40; i++)
    g_string_append (deep, "{\"id\":\"x%p\",\"values\":[");
  for (guint i = 0; i < 40; i++)
    g_string_append (deep, "]}");
  g_autofree char *said = td_message_words (deep->str, NULL);
  g_assert_cmpuint (strlen (said), <, 60);
}

/* A list of any length is a message in a message for each of its parts: all of them are said. */
static void
test_packed_deep (void)
{
  TdMessage *list = td_message_new ("%u", 0u);

  for (guint i = 1; i < 60; i++)
    list = td_message_new ("%p, %u", list, i);
  g_autofree char *packed = td_message_pack (list), *text = td_message_text (list, NULL);
  g_autofree char *said = td_message_words (packed, NULL);
  g_assert_cmpstr (said, ==, text);
  g_assert_true (g_str_has_prefix (said, "0, 1, 2, "));
  /* As many as another process unpacks are packed, the deepest of the others in words. */
  guint n = 0;
  for (const char *at = packed; (at = strstr (at, "\"id\":")) != NULL; at++)
    n++;
  g_assert_cmpuint (n, ==, 25);
  td_message_unref (list);
}

/* Of a long value the middle is left out, and the text says how much of it. */
static void
test_long (void)
{
  g_autofree char *value = g_strnfill (60000, 'x');
  g_autoptr (GError) error = NULL;

  td_set_error (&error, TD_ERROR_BAD_FILE, "“%s” is not a number; give another ({centre})", value);
  g_assert_cmpuint (strlen (error->message), <, 4200);
  g_assert_true (g_str_has_prefix (error->message, "“xxx"));
  g_assert_true (
      g_str_has_suffix (error->message, "xxx” is not a number; give another (--centre)"));
  g_assert_nonnull (strstr (error->message, "characters are left out"));
  /* One that is long, but not too long, stays. */
  g_autofree char *fits = g_strnfill (3900, 'x');
  g_autoptr (TdMessage) message = td_message_new ("%s", fits);
  g_autofree char *text = td_message_text (message, NULL);
  g_assert_cmpstr (text, ==, fits);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/message/words", test_words);
  g_test_add_func ("/message/forms", test_forms);
  g_test_add_func ("/message/inner", test_inner);
  g_test_add_func ("/message/named-by-value", test_named_by_value);
  g_test_add_func ("/message/packed", test_packed);
  g_test_add_func ("/message/packed-by-others", test_packed_by_others);
  g_test_add_func ("/message/packed-deep", test_packed_deep);
  g_test_add_func ("/message/long", test_long);
  g_test_add_func ("/message/lists", test_lists);
  g_test_add_func ("/message/errors", test_errors);
  return g_test_run ();
}
