/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever numbers and names the program writes as JSON, it is JSON. */
#include <math.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "compute/recipe/json.h"
#include "dataset/csv-text.h"
#include "dataset/json-walk.h"

/* ── RFC 8259, to the letter: NULL, or what follows a value ── */

static const char *
skip (const char *at)
{
  return at + strspn (at, " \t\r\n");
}

static const char *
strict_string (const char *at)
{
  if (*at++ != '"')
    return NULL;
  for (; *at != '"'; at++) {
    if ((guchar) *at < 0x20)
      return NULL;
    if (*at != '\\')
      continue;
    if (!*++at || !strchr ("\"\\/bfnrtu", *at))
      return NULL;
    for (guint i = 0; *at == 'u' && i < 4; i++)
      if (!g_ascii_isxdigit (at[1 + i]))
        return NULL;
  }
  return at + 1;
}

static const char *
strict_digits (const char *at)
{
  const gsize n = strspn (at, "0123456789");
  return n ? at + n : NULL;
}

static const char *
strict_number (const char *at)
{
  at += *at == '-';
  if (*at == '0')
    at++;
  else if (!(at = strict_digits (at)))
    return NULL;
  if (*at == '.' && !(at = strict_digits (at + 1)))
    return NULL;
  if (*at == 'e' || *at == 'E') {
    at++;
    at += *at == '-' || *at == '+';
    at = strict_digits (at);
  }
  return at;
}

static const char *
strict_value (const char *at)
{
  static const char *const words[] = { "true", "false", "null" };
  const gboolean object = *at == '{';

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_has_prefix (at, words[i]))
      return at + strlen (words[i]);
  if (*at == '"')
    return strict_string (at);
  if (!object && *at != '[')
    return strict_number (at);
  const char end = object ? '}' : ']';
  at = skip (at + 1);
  if (*at == end)
    return at + 1;
  for (;; at = skip (at + 1)) {
    if (object) {
      at = strict_string (at);
      at = at ? skip (at) : NULL;
      if (!at || *at++ != ':')
        return NULL;
      at = skip (at);
    }
    at = strict_value (at);
    at = at ? skip (at) : NULL;
    if (!at || *at != ',')
      return at && *at == end ? at + 1 : NULL;
  }
}

static void
assert_json (const char *text)
{
  const char *end = strict_value (skip (text));

  g_assert_true (g_utf8_validate (text, -1, NULL));
  if (!end || *skip (end))
    g_error ("not JSON: %s", text);
}

/* ── What is written ── */

static double
any_double (void)
{
  union {
    guint64 bits;
    double value;
  } both = { .bits = ((guint64) g_test_rand_int () << 32) | (guint32) g_test_rand_int () };

  return both.value;
}

static void
check_number (double value)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonParser) parser = json_parser_new ();

  json_builder_begin_object (builder);
  td_json_add_number (builder, "checked", value);
  json_builder_set_member_name (builder, "as it is");
  json_builder_add_double_value (builder, value);
  json_builder_end_object (builder);
  g_autofree char *text = td_json_print (builder);
  assert_json (text);
  g_assert_true (json_parser_load_from_data (parser, text, -1, NULL));
  JsonObject *object = json_node_get_object (json_parser_get_root (parser));
  if (isfinite (value))
    g_assert_cmpfloat (json_object_get_double_member (object, "as it is"), ==, value);
  else
    g_assert_true (json_object_get_null_member (object, "as it is"));
}

static void
test_numbers (void)
{
  static const double edges[]
      = { 0,    -0.0,  1e-10,       1e20, -1e300,   5e-324,    G_MAXDOUBLE, 1e15,
          1e-5, 1e100, G_MINDOUBLE, NAN,  INFINITY, -INFINITY, 3,           123456 };

  for (guint i = 0; i < G_N_ELEMENTS (edges); i++)
    check_number (edges[i]);
  for (int e = -320; e <= 308; e++)
    check_number (pow (10, e));
  for (guint i = 0; i < 20000; i++)
    check_number (any_double ());
}

static void
test_names (void)
{
  for (guint i = 0; i < 20000; i++) {
    g_autoptr (JsonBuilder) builder = json_builder_new ();
    char name[24];
    const guint n = g_test_rand_int_range (0, sizeof name);

    for (guint k = 0; k < n; k++) /* often what must be escaped, or is no UTF-8 */
      name[k] = (char) (g_test_rand_bit () ? "\"\\\x1f\xe2\xff\n\x7f/"[g_test_rand_int_range (0, 8)]
                                           : g_test_rand_int_range (1, 256));
    name[n] = 0;
    char *names[] = { name, name, NULL };
    json_builder_begin_object (builder);
    td_json_add_string (builder, "path", name);
    td_json_add_strings (builder, "notes", names);
    json_builder_end_object (builder);
    g_autofree char *text = td_json_print (builder);
    assert_json (text);
  }
}

/* Members of every kind, to the letter. Notes come in the command line's words, and taken apart. */
static void
test_members (void)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  char *names[] = { (char *) "a", (char *) "b\xff", NULL };
  TdMessage **notes = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  td_messages_add (&notes, td_message_new ("%u of %s ({centre:PX})", 5, "all"));
  td_messages_add (&notes, td_message_new_plain ("As it is."));
  json_builder_begin_object (builder);
  td_json_add_integer (builder, "most", G_MAXUINT64);
  td_json_add_integer (builder, "seven", 7);
  td_json_add_number (builder, "none", NAN);
  td_json_add_number (builder, "half", 0.5);
  td_json_add_string (builder, "no name", NULL);
  td_json_add_string (builder, "name", "n");
  td_json_add_boolean (builder, "yes", TRUE);
  td_json_add_boolean (builder, "no", FALSE);
  td_json_add_strings (builder, "nothing", NULL);
  td_json_add_strings (builder, "names", names);
  td_json_begin_list (builder, "list");
  json_builder_begin_object (builder);
  td_json_add_notes (builder, NULL);
  json_builder_end_object (builder);
  json_builder_end_array (builder);
  td_json_begin_object (builder, "object");
  td_json_add_notes (builder, notes);
  json_builder_end_object (builder);
  td_recipe_add_json (builder, "recipe", &recipe);
  json_builder_end_object (builder);
  td_messages_free (notes);
  g_autofree char *text = td_json_print (builder);
  assert_json (text);
  g_autoptr (JsonNode) root = json_from_string (text, NULL);
  JsonObject *object = json_node_get_object (root);
  g_autofree char *own = td_recipe_to_json (&recipe);
  g_autoptr (JsonNode) recipe_node = json_from_string (own, NULL);
  g_assert_true (json_node_equal (json_object_get_member (object, "recipe"), recipe_node));
  json_object_remove_member (object, "recipe");
  g_autofree char *rest = json_to_string (root, FALSE);
  g_assert_cmpstr (
      rest, ==,
      "{\"most\":9223372036854775807,\"seven\":7,\"none\":null,\"half\":0.5,\"no name\":null,"
      "\"name\":\"n\",\"yes\":true,\"no\":false,\"nothing\":[],\"names\":[\"a\",\"b\xef\xbf\xbd\"],"
      "\"list\":[{\"notes\":[],\"messages\":[]}],"
      "\"object\":{\"notes\":[\"5 of all (--centre PX)\",\"As it is.\"],\"messages\":["
      "{\"id\":\"%u of %s ({centre:PX})\",\"field\":\"centre\",\"values\":[\"5\",\"all\"]},"
      "{\"id\":\"As it is.\",\"field\":null,\"values\":[]}]}}");
}

/* Lists of strings in a text of others: what is no string is left out. */
static void
test_strings (void)
{
  static const struct {
    const char *json, *joined; /* joined: NULL: there is no list */
  } cases[] = {
    { "{\"a\": [\"one\", \"two\"]}", "one two" },
    { "{\"a\": []}", "" },
    { "{\"a\": [1, \"two\", null, {}, [\"x\"], true, \"\"]}", "two " },
    { "{\"a\": \"one\"}", NULL },
    { "{\"b\": [\"one\"]}", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (JsonNode) root = td_json_parse (cases[i].json);
    g_auto (GStrv) strings = td_json_strings (root, "a");
    g_autofree char *joined = strings ? g_strjoinv (" ", strings) : NULL;
    g_assert_cmpstr (joined, ==, cases[i].joined);
  }
}

/* A table's fields: what holds a comma, a quote or an end of line stands in quotes. */
static void
test_csv (void)
{
  static const char *const texts[]
      = { "plain", "", NULL, "a,b", "say \"no\"", "two\nlines", "cr\r", "a;b 'c'" };
  static const double numbers[] = { 0.1, -5, 1e300, NAN, INFINITY, 123456789.25 };
  g_autoptr (GString) csv = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    td_csv_add_text (csv, texts[i]);
  g_string_append_c (csv, '\n');
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    td_csv_add_number (csv, numbers[i]);
  g_assert_cmpstr (csv->str, ==,
                   "plain,,,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",\"cr\r\",a;b 'c'\n"
                   "0.1,-5,1e+300,,,123456789");
}

/* A recipe's numbers, as far as it takes them, come back as they were. */
static void
test_recipes (void)
{
  static const char *const values[] = { "1e-10", "1e-300", "4.9e-324", "0.1", "1", "0.5" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *range = g_strdup_printf ("-%s:%s", values[i], values[i]);
    TdRecipe recipe, back;

    td_recipe_init (&recipe);
    g_assert_true (td_recipe_set (&recipe, "tilt", values[i], &error));
    g_assert_true (td_recipe_set (&recipe, "cutoff", values[i], &error));
    g_assert_true (td_recipe_set (&recipe, "tolerance", values[i], &error));
    g_assert_true (td_recipe_set (&recipe, "centre", values[i], &error));
    g_assert_true (td_recipe_set (&recipe, "range", range, &error));
    g_autofree char *text = td_recipe_to_json (&recipe);
    assert_json (text);
    td_recipe_from_json (&back, text, &error);
    g_assert_no_error (error);
    g_assert_true (td_recipe_equal (&recipe, &back));
  }
}

/* ── What is read ── */

/* A value with its unit, in millimetres and radians; a unit that nobody knows makes it unknown. */
static void
test_units (void)
{
  static const struct {
    const char *unit;
    double mm, rad; /* of 7; NAN: it is none */
  } units[] = {
    { "nm", 7e-6, NAN },
    { "um", 7e-3, NAN },
    { "mm", 7, NAN },
    { "cm", 70, NAN },
    { "dm", 700, NAN },
    { "m", 7000, NAN },
    { "deg", NAN, 7 * G_PI / 180 },
    { "rad", NAN, 7 },
    { "inch", NAN, NAN },
  };

  for (guint i = 0; i < G_N_ELEMENTS (units); i++) {
    g_autofree char *text
        = g_strdup_printf ("{ \"a\": { \"value\": 7, \"unit\": \"%s\" } }", units[i].unit);
    g_autoptr (JsonNode) root = json_from_string (text, NULL);
    const double mm = td_json_length_mm (root, "a"), rad = td_json_angle_rad (root, "a");

    g_test_message ("%s: %g mm, %g rad", units[i].unit, mm, rad);
    g_assert_true (isnan (units[i].mm) ? isnan (mm) : fabs (mm / units[i].mm - 1) < 1e-12);
    g_assert_true (isnan (units[i].rad) ? isnan (rad) : fabs (rad / units[i].rad - 1) < 1e-12);
  }
}

/* Brackets in a string are no depth, and nothing that the library skips hides those outside. */
static void
test_depth (void)
{
  static const struct {
    const char *before;
    gboolean deep;
  } cases[] = {
    { "{\"a\": \"", FALSE },
    { "{\"a\": \"\\\"", FALSE },
    { "{\"a\": \"\\\\\\\"", FALSE },
    { "{\"a\": ", TRUE },
    { "{\"a\": \"\\\"\", \"b\": ", TRUE },
    { "{\"a\": \"\\\\\", \"b\": ", TRUE },
    { "/* \" */ {\"a\": ", TRUE },
    { "/ \" / {\"a\": ", TRUE },
    { "{'\"': ", TRUE },
    { "{\"a\": '\"', \"b\": ", TRUE },
  };
  g_autofree char *most = g_strnfill (100000, '[');
  g_autoptr (GString) hidden = g_string_new ("{\"a\": ");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text = g_strconcat (cases[i].before, most, cases[i].deep ? "" : "\"}", NULL);
    g_test_message ("%s…", cases[i].before);
    g_assert_cmpint (td_json_is_deep (text), ==, cases[i].deep);
    g_autoptr (JsonNode) root = td_json_parse (text);
    g_assert_true (cases[i].deep ? !root : root != NULL);
  }
  for (guint i = 0; i < 1000; i++)
    g_string_append (hidden, "[/* ] */");
  g_assert_true (td_json_is_deep (hidden->str));
  g_autoptr (JsonNode) noted = td_json_parse ("{ /* [ */ \"a\": [1] }");
  g_assert_nonnull (noted);
}

/* Names count within one object. */
static void
test_twice (void)
{
  g_autofree char *none
      = td_json_twice ("{\"a\": {\"a\": 1}, \"b\": [{\"a\": 1}, {\"a\": 1}], \"c\": 1}");
  g_autofree char *after = td_json_twice ("{\"a\": 1, \"b\": {\"c\": [{}, {}]}, \"a\": 1}");
  g_autofree char *within = td_json_twice ("[{\"a\": {\"b\": 1, \"c\": 2, \"b\": 1}}]");

  g_assert_null (none);
  g_assert_cmpstr (after, ==, "a");
  g_assert_cmpstr (within, ==, "b");
}

/* A text that a person typed comes back, whatever it is. */
static void
test_brackets (void)
{
  g_autofree char *most = g_strnfill (99, '[');
  g_autofree char *text = g_strconcat ("a\"", most, "{{", NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe, back;

  td_recipe_init (&recipe);
  g_assert_true (td_recipe_set (&recipe, "bad-pixels", text, &error));
  g_assert_no_error (error);
  g_autofree char *json = td_recipe_to_json (&recipe);
  g_assert_true (td_recipe_from_json (&back, json, &error));
  g_assert_no_error (error);
  g_assert_true (td_recipe_equal (&recipe, &back));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json/strings", test_strings);
  g_test_add_func ("/json/csv", test_csv);
  g_test_add_func ("/json/units", test_units);
  g_test_add_func ("/json/numbers", test_numbers);
  g_test_add_func ("/json/names", test_names);
  g_test_add_func ("/json/members", test_members);
  g_test_add_func ("/json/recipes", test_recipes);
  g_test_add_func ("/json/depth", test_depth);
  g_test_add_func ("/json/twice", test_twice);
  g_test_add_func ("/json/brackets", test_brackets);
  return g_test_run ();
}
