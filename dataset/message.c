/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "message.h"

#include <glib/gi18n-lib.h>
#include <stdint.h>
#include <string.h>

#include "json-walk.h"

struct TdMessage {
  gatomicrefcount references;
  const char *id;
  char *kept;     /* nullable: the id itself, of a message from another process */
  gboolean plain; /* the id has no conversions */
  char **values;
  GPtrArray *inner; /* TdMessage or NULL for each value; NULL: all are text */
  TdMessage *rest;  /* nullable: said behind this one, which introduces it */
};

/* ── Values ── */

/* Length of the conversion that starts at the '%' of @at, which may end in the middle of it; 0: it
   is "%%". */
static gsize
conversion_length (const char *at)
{
  gsize n = 1;

  if (at[1] == '%')
    return 0;
  n += strspn (at + n, "0123456789$");
  n += strspn (at + n, "-+ #0'");
  n += strspn (at + n, "0123456789*.");
  n += strspn (at + n, "hlqjzt");
  return at[n] ? n + 1 : n;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

/* What printf() makes of one conversion. va_list is passed in a struct, for it may be an array. */
typedef struct {
  va_list list;
} Values;

static char *
format_value (const char *spec, Values *values)
{
  const char kind = spec[strlen (spec) - 1];
  const gboolean is_long = strpbrk (spec, "lqjzt") != NULL;
  int width[2];
  guint n_widths = 0;

  for (const char *star = strchr (spec, '*'); star && n_widths < 2; star = strchr (star + 1, '*'))
    width[n_widths++] = va_arg (values->list, int);
#define FORMAT(value)                                                                              \
  (n_widths == 2   ? g_strdup_printf (spec, width[0], width[1], value)                             \
   : n_widths == 1 ? g_strdup_printf (spec, width[0], value)                                       \
                   : g_strdup_printf (spec, value))
  switch (kind) {
  case 's': {
    const char *text = va_arg (values->list, const char *);
    return FORMAT (text ? text : "(null)");
  }
  case 'c':
  case 'd':
  case 'i':
  case 'u':
  case 'x':
  case 'X':
  case 'o': {
    /* The conversion says whether the bits have a sign. */
    if (is_long) {
      const long whole = va_arg (values->list, long);
      return FORMAT (whole);
    }
    const int whole = va_arg (values->list, int);
    return FORMAT (whole);
  }
  default: {
    const double number = va_arg (values->list, double);
    return FORMAT (number);
  }
  }
#undef FORMAT
}

#pragma GCC diagnostic pop

_Static_assert(sizeof (long) == 8 && sizeof (gsize) == 8 && sizeof (intmax_t) == 8,
               "long, size_t and intmax_t are read alike");

static void
message_take_values (TdMessage *message, va_list list)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  Values rest;

  va_copy (rest.list, list);
  for (const char *at = strchr (message->id, '%'); at; at = strchr (at, '%')) {
    const gsize n = conversion_length (at);
    if (n == 2 && at[1] == 'p') {
      TdMessage *inner = va_arg (rest.list, TdMessage *);
      if (!message->inner)
        message->inner = g_ptr_array_new_with_free_func ((GDestroyNotify) td_message_unref);
      g_ptr_array_set_size (message->inner, (int) values->len);
      g_ptr_array_add (message->inner, inner);
      g_ptr_array_add (values, td_message_text (inner, NULL));
    } else if (n) {
      g_autofree char *spec = g_strndup (at, n);
      g_ptr_array_add (values, format_value (spec, &rest));
    }
    at += n ? n : 2;
  }
  va_end (rest.list);
  g_ptr_array_add (values, NULL);
  message->values = (char **) g_ptr_array_steal (values, NULL);
}

/* ── Life ── */

static TdMessage *
message_new_empty (const char *id)
{
  TdMessage *message = g_new0 (TdMessage, 1);

  g_atomic_ref_count_init (&message->references);
  message->id = id;
  return message;
}

TdMessage *
td_message_new_list (const char *id, va_list values)
{
  TdMessage *message = message_new_empty (id);

  message_take_values (message, values);
  return message;
}

TdMessage *
td_message_new (const char *id, ...)
{
  va_list values;

  va_start (values, id);
  TdMessage *message = td_message_new_list (id, values);
  va_end (values);
  return message;
}

TdMessage *
td_message_new_plain (const char *id)
{
  TdMessage *message = message_new_empty (id);

  message->plain = TRUE;
  message->values = g_new0 (char *, 1);
  return message;
}

TdMessage *
td_message_quoted (const char *text, const char *otherwise)
{
  return text && *text ? td_message_new ("%s", text) : td_message_new_plain (otherwise);
}

TdMessage *
td_message_ref (TdMessage *message)
{
  g_atomic_ref_count_inc (&message->references);
  return message;
}

void
td_message_unref (TdMessage *message)
{
  if (!message || !g_atomic_ref_count_dec (&message->references))
    return;
  g_strfreev (message->values);
  g_clear_pointer (&message->inner, g_ptr_array_unref);
  td_message_unref (message->rest);
  g_free (message->kept);
  g_free (message);
}

const char *
td_message_id (const TdMessage *message)
{
  return message->id;
}

const char *const *
td_message_values (const TdMessage *message)
{
  return (const char *const *) message->values;
}

static gboolean
message_equal (const TdMessage *a, const TdMessage *b)
{
  if (!a || !b)
    return a == b;
  return g_str_equal (a->id, b->id)
         && g_strv_equal ((const char *const *) a->values, (const char *const *) b->values)
         && message_equal (a->rest, b->rest);
}

/* ── Words ── */

/* Length of "{field…}" or "{%s…}" at @at; 0: it is only a brace. */
static gsize
field_length (const char *at)
{
  gsize n = 1;

  if (at[0] != '{')
    return 0;
  if (at[1] == '%')
    n += conversion_length (at + 1);
  else if (g_ascii_islower (at[1]))
    while (g_ascii_islower (at[n]) || g_ascii_isdigit (at[n]) || at[n] == '-')
      n++;
  if (n == 1)
    return 0;
  if (at[n] == '}')
    return n + 1;
  if (at[n] != '=' && at[n] != ':')
    return 0;
  const char *end = strchr (at, '}');
  return end ? (gsize) (end - at) + 1 : 0;
}

char *
td_naming_options (const char *field, const char *value, const char *argument)
{
  const char *more = value ? value : argument;

  return g_strdup_printf ("--%s%s%s", field, more ? " " : "", more ? more : "");
}

static void add_text (GString *out, const TdMessage *message, TdNaming naming);

/* Adds the form of "[slice|slices]" that the language has for that number; where it ends. NULL: it
   is only a bracket. */
static const char *
add_form (GString *out, const char *at, const char *end, const char *number)
{
  const char *close = memchr (at, ']', (gsize) (end - at));

  if (!number || !close || !memchr (at, '|', (gsize) (close - at)))
    return NULL;
  g_autofree char *inside = g_strndup (at + 1, (gsize) (close - at - 1));
  g_auto (GStrv) forms = g_strsplit (inside, "|", -1);
  /* A catalogue's rule says which: its words for these two end with the place of the form. */
  const char *form = g_dngettext (GETTEXT_PACKAGE, "form 0", "form 1", strtoul (number, NULL, 10));
  const guint place = (guint) g_ascii_digit_value (form[strlen (form) - 1]);
  g_string_append (out, forms[MIN (place, g_strv_length (forms) - 1)]);
  return close + 1;
}

/* How far a template has been said: the next value, and the last that was, by which forms go. */
typedef struct {
  guint next;
  const char *number;
} Said;

/* Adds @n bytes of a template. Conversions without a number take the next value. */
static void
add_values (GString *out, const TdMessage *message, const char *text, gsize n, Said *said,
            TdNaming naming)
{
  const guint n_values = g_strv_length (message->values);
  const char *after;

  for (const char *at = text, *end = text + n; at < end;) {
    const gsize length = *at == '%' && !message->plain ? conversion_length (at) : 0;
    if (length) {
      const guint place = (guint) strtoul (at + 1, NULL, 10);
      const gboolean numbered = place && at[1 + strspn (at + 1, "0123456789")] == '$';
      const guint index = numbered ? place - 1 : said->next++;
      TdMessage *inner
          = message->inner && index < message->inner->len ? message->inner->pdata[index] : NULL;
      if (inner)
        add_text (out, inner, naming);
      else
        g_string_append (out, said->number = index < n_values ? message->values[index] : "");
      at += length;
    } else if (*at == '[' && (after = add_form (out, at, end, said->number))) {
      at = after;
    } else {
      g_string_append_c (out, *at);
      at += *at == '%' && !message->plain ? 2 : 1;
    }
  }
}

static void
add_field (GString *out, const TdMessage *message, const char *at, gsize n, Said *said,
           TdNaming naming)
{
  const gsize name_length = strcspn (at + 1, "=:}");
  g_autoptr (GString) field = g_string_new (NULL);
  g_autoptr (GString) more = g_string_new (NULL);
  const char kind = at[1 + name_length], *number = said->number;

  add_values (field, message, at + 1, name_length, said, naming);
  if (kind != '}')
    add_values (more, message, at + name_length + 2, n - name_length - 3, said, naming);
  g_autofree char *name
      = naming (field->str, kind == '=' ? more->str : NULL, kind == ':' ? more->str : NULL);
  g_string_append (out, name);
  said->number = number; /* the field's own are none of the sentence's */
}

static void
add_text (GString *out, const TdMessage *message, TdNaming naming)
{
  const char *text = *message->id ? g_dgettext (GETTEXT_PACKAGE, message->id) : "";
  Said said = { 0 };

  while (*text) {
    const gsize field = field_length (text);
    if (field) {
      add_field (out, message, text, field, &said, naming);
      text += field;
    } else {
      const gsize n = 1 + strcspn (text + 1, "{");
      add_values (out, message, text, n, &said, naming);
      text += n;
    }
  }
  if (message->rest)
    add_text (out, message->rest, naming);
}

char *
td_message_field (const TdMessage *message)
{
  g_autoptr (GString) before = g_string_new (NULL);
  GString *field = g_string_new (NULL);
  Said said = { 0 };

  for (const char *at = strchr (message->id, '{'); at; at = strchr (at + 1, '{'))
    if (field_length (at)) {
      add_values (before, message, message->id, (gsize) (at - message->id), &said,
                  td_naming_options);
      add_values (field, message, at + 1, strcspn (at + 1, "=:}"), &said, td_naming_options);
      return g_string_free (field, FALSE);
    }
  g_string_free (field, TRUE);
  return message->rest ? td_message_field (message->rest) : NULL;
}

/* What a file holds, or what somebody typed, may be of any length. A reader wants the sentence: how
   it begins, and what it says to do at its end. */
#define LONGEST 4000 /* characters */
#define KEPT_AT_END 1000

static char *
message_shorten (char *text)
{
  const glong n = g_utf8_strlen (text, -1);

  if (n <= LONGEST)
    return text;
  const char *end = g_utf8_offset_to_pointer (text, LONGEST - KEPT_AT_END);
  const char *begin = g_utf8_offset_to_pointer (text, n - KEPT_AT_END);
  char *said = g_strdup_printf (_ ("%.*s… (%ld characters are left out here) …%s"),
                                (int) (end - text), text, n - LONGEST, begin);
  g_free (text);
  return said;
}

char *
td_message_text (const TdMessage *message, TdNaming naming)
{
  GString *out = g_string_new (NULL);

  add_text (out, message, naming ? naming : td_naming_options);
  g_autofree char *text = g_string_free (out, FALSE);
  return message_shorten (g_utf8_make_valid (text, -1));
}

/* ── Between processes ── */

#define PACKED "{\"id\":"
#define MOST_DEEP 24 /* messages in messages: what another program wrote may have any */

/* What is deeper than another process takes is said in this one's language. (transfer full) */
static JsonNode *
message_to_json (const TdMessage *message, guint depth)
{
  if (depth > MOST_DEEP) {
    g_autofree char *text = td_message_text (message, NULL);
    return json_node_init_string (json_node_alloc (), text);
  }
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);
  JsonObject *object = json_object_new ();
  JsonArray *values = json_array_new ();

  json_node_take_object (node, object);
  json_object_set_string_member (object, "id", message->id);
  json_object_set_boolean_member (object, "plain", message->plain);
  json_object_set_array_member (object, "values", values);
  for (guint i = 0; message->values[i]; i++)
    if (message->inner && i < message->inner->len && message->inner->pdata[i]) {
      json_array_add_element (values, message_to_json (message->inner->pdata[i], depth + 1));
    } else {
      g_autofree char *value = message_shorten (g_utf8_make_valid (message->values[i], -1));
      json_array_add_string_element (values, value);
    }
  if (message->rest)
    json_object_set_member (object, "rest", message_to_json (message->rest, depth + 1));
  return node;
}

char *
td_message_pack (const TdMessage *message)
{
  g_autoptr (JsonNode) root = message_to_json (message, 0);

  return td_json_text (root, FALSE);
}

char *
td_message_packed (const char *id, ...)
{
  va_list values;

  va_start (values, id);
  g_autoptr (TdMessage) message = td_message_new_list (id, values);
  va_end (values);
  return td_message_pack (message);
}

static TdMessage *message_of_json (JsonNode *node, guint depth);

static TdMessage *
message_new_said (const char *text)
{
  TdMessage *message = td_message_new_plain (NULL);

  message->id = message->kept = g_utf8_make_valid (text, -1);
  return message;
}

/* Values of a message that was packed: strings and messages. */
static void
message_take_json (TdMessage *message, JsonArray *array, guint depth)
{
  const guint n = array ? json_array_get_length (array) : 0;

  message->inner = g_ptr_array_new_with_free_func ((GDestroyNotify) td_message_unref);
  message->values = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++) {
    JsonNode *node = json_array_get_element (array, i);
    const char *value = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
    TdMessage *inner = value ? NULL : message_of_json (node, depth + 1);
    message->values[i] = inner ? td_message_text (inner, NULL) : g_strdup (value ? value : "…");
    g_ptr_array_add (message->inner, inner);
  }
}

/* NULL: it is none. */
static TdMessage *
message_of_json (JsonNode *node, guint depth)
{
  const char *id = td_json_string (node, "id"), *said = td_json_string (node, "rest");
  JsonNode *rest = td_json_at (node, "rest");

  if (!id || depth > MOST_DEEP)
    return NULL;
  TdMessage *message = message_new_empty (NULL);
  message->id = message->kept = g_utf8_make_valid (id, -1);
  message->plain = td_json_true (node, "plain");
  message_take_json (message, td_json_list (node, "values"), depth);
  message->rest = said ? message_new_said (said) : rest ? message_of_json (rest, depth + 1) : NULL;
  return message;
}

TdMessage *
td_message_unpack (const char *text)
{
  g_autoptr (JsonNode) root = g_str_has_prefix (text, PACKED) ? td_json_parse (text) : NULL;
  TdMessage *message = root ? message_of_json (root, 0) : NULL;

  return message ? message : message_new_said (text);
}

char *
td_message_words (const char *text, TdNaming naming)
{
  g_autoptr (TdMessage) message = text ? td_message_unpack (text) : NULL;

  return message ? td_message_text (message, naming) : NULL;
}

/* ── Lists ── */

guint
td_messages_length (TdMessage *const *list)
{
  guint n = 0;

  while (list && list[n])
    n++;
  return n;
}

void
td_messages_add (TdMessage ***list, TdMessage *message)
{
  const guint n = td_messages_length (*list);

  for (guint i = 0; i < n; i++)
    if (message_equal ((*list)[i], message)) {
      td_message_unref (message);
      return;
    }
  *list = g_renew (TdMessage *, *list, n + 2);
  (*list)[n] = message;
  (*list)[n + 1] = NULL;
}

void
td_messages_note (TdMessage ***list, const char *id, ...)
{
  va_list values;

  va_start (values, id);
  td_messages_add (list, td_message_new_list (id, values));
  va_end (values);
}

void
td_messages_append (TdMessage ***list, TdMessage *const *more)
{
  for (guint i = 0; more && more[i]; i++)
    td_messages_add (list, td_message_ref (more[i]));
}

TdMessage **
td_messages_copy (TdMessage *const *list)
{
  const guint n = td_messages_length (list);
  TdMessage **copy = list ? g_new0 (TdMessage *, n + 1) : NULL;

  for (guint i = 0; i < n; i++)
    copy[i] = td_message_ref (list[i]);
  return copy;
}

void
td_messages_free (TdMessage **list)
{
  for (guint i = 0; list && list[i]; i++)
    td_message_unref (list[i]);
  g_free (list);
}

char **
td_messages_texts (TdMessage *const *list, TdNaming naming)
{
  const guint n = td_messages_length (list);
  char **texts = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    texts[i] = td_message_text (list[i], naming);
  return texts;
}

char *
td_messages_join (TdMessage *const *list, const char *separator, TdNaming naming)
{
  g_auto (GStrv) texts = td_messages_texts (list, naming);

  return g_strjoinv (separator, texts);
}

/* ── Errors ── */

typedef struct {
  TdMessage *message;
} TdErrorPrivate;

static void
td_error_private_init (TdErrorPrivate *private)
{
}

static void
td_error_private_copy (const TdErrorPrivate *source, TdErrorPrivate *copy)
{
  copy->message = source->message ? td_message_ref (source->message) : NULL;
}

static void
td_error_private_clear (TdErrorPrivate *private)
{
  td_message_unref (private->message);
}

/* clang-format off: the macro's first word makes the domain's name. */
G_DEFINE_EXTENDED_ERROR (TdError, td_error)
/* clang-format on */

gboolean
td_set_error_message (GError **error, TdErrorCode code, TdMessage *message)
{
  if (!error) {
    td_message_unref (message);
    return FALSE;
  }
  g_autofree char *text = td_message_text (message, NULL);
  g_set_error_literal (error, TD_ERROR, (int) code, text);
  td_error_get_private (*error)->message = message;
  return FALSE;
}

gboolean
td_set_error (GError **error, TdErrorCode code, const char *id, ...)
{
  va_list values;

  va_start (values, id);
  td_set_error_message (error, code, td_message_new_list (id, values));
  va_end (values);
  return FALSE;
}

gboolean
td_set_error_plain (GError **error, TdErrorCode code, const char *id)
{
  return td_set_error_message (error, code, td_message_new_plain (id));
}

gboolean
td_prefix_error (GError **error, const char *id, ...)
{
  va_list values;

  if (!error || !*error)
    return FALSE;
  va_start (values, id);
  TdMessage *message = td_message_new_list (id, values);
  va_end (values);
  g_autofree char *text = td_message_text (message, NULL);
  g_prefix_error (error, "%s", text);
  TdErrorPrivate *private = (*error)->domain == TD_ERROR ? td_error_get_private (*error) : NULL;
  if (private && private->message) {
    message->rest = private->message;
    private->message = message;
  } else {
    td_message_unref (message);
  }
  return FALSE;
}

gboolean
td_error_blame_file (GError **error)
{
  if (error && g_error_matches (*error, TD_ERROR, TD_ERROR_INVALID))
    (*error)->code = TD_ERROR_BAD_FILE;
  return FALSE;
}

TdMessage *
td_error_message (const GError *error)
{
  TdMessage *message
      = error->domain == TD_ERROR ? td_error_get_private ((GError *) error)->message : NULL;

  return message ? td_message_ref (message) : td_message_new ("%s", error->message);
}

char *
td_error_text (const GError *error, TdNaming naming)
{
  g_autoptr (TdMessage) message = td_error_message (error);

  return td_message_text (message, naming);
}

char *
td_error_pack (const GError *error)
{
  g_autoptr (TdMessage) message = td_error_message (error);

  return td_message_pack (message);
}
