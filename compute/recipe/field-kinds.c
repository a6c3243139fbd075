/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "field.h"

#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/number.h"

/* The value's place in a record, as a pointer to @type. */
#define AT(type, field, record) ((type *) ((char *) (record) + (field)->offset))
#define CONST_AT(type, field, record) ((const type *) ((const char *) (record) + (field)->offset))

/* ── Numbers ── */

static gboolean
field_number_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  double value;

  if (!td_parse_number (text, field->low, field->high, &value)
      || (field->above && value <= field->low) || (field->below && value >= field->high))
    return FALSE;
  *AT (double, field, record) = value;
  return TRUE;
}

static void
field_number_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  json_builder_add_double_value (builder, *CONST_AT (double, field, record));
}

static gboolean
field_number_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  const double x = *CONST_AT (double, field, a), y = *CONST_AT (double, field, b);

  return x == y || (isnan (x) && isnan (y));
}

const TdFieldKind td_kind_number
    = { TD_FIELD_NUMBER, field_number_set, field_number_write, field_number_equal, NULL };

static gboolean
field_count_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  gint64 value = 0;

  if ((!field->none || strcmp (text, field->none) != 0)
      && (!td_parse_integer (text, (gint64) field->low, (gint64) field->high, &value)
          || (field->names && !g_strv_contains (field->names, text))))
    return FALSE;
  *AT (guint, field, record) = (guint) value;
  return TRUE;
}

static guint
field_count (const TdField *field, gconstpointer record)
{
  const guint value = *CONST_AT (guint, field, record);

  return field->none ? value : MAX (value, (guint) field->low);
}

static void
field_count_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const guint value = field_count (field, record);

  if (value == 0 && field->none)
    json_builder_add_string_value (builder, field->none);
  else
    json_builder_add_int_value (builder, value);
}

static gboolean
field_count_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  return field_count (field, a) == field_count (field, b);
}

const TdFieldKind td_kind_count = { TD_FIELD_NUMBER | TD_FIELD_STRING, field_count_set,
                                    field_count_write, field_count_equal, NULL };

static gboolean
field_bytes_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  return td_parse_size (text, AT (guint64, field, record));
}

static void
field_bytes_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, (gint64) *CONST_AT (guint64, field, record));
}

static gboolean
field_bytes_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  return *CONST_AT (guint64, field, a) == *CONST_AT (guint64, field, b);
}

const TdFieldKind td_kind_bytes
    = { TD_FIELD_NUMBER, field_bytes_set, field_bytes_write, field_bytes_equal, NULL };

/* ── Choices ── */

static gboolean
field_switch_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  const gboolean on = strcmp (text, "true") == 0;

  if (!on && strcmp (text, "false") != 0)
    return FALSE;
  *AT (gboolean, field, record) = on;
  return TRUE;
}

static void
field_switch_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  json_builder_add_boolean_value (builder, *CONST_AT (gboolean, field, record));
}

static gboolean
field_int_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  return *CONST_AT (int, field, a) == *CONST_AT (int, field, b);
}

const TdFieldKind td_kind_switch
    = { TD_FIELD_BOOLEAN, field_switch_set, field_switch_write, field_int_equal, NULL };

static gboolean
field_choice_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  for (int i = 0; field->names[i]; i++)
    if (g_ascii_strcasecmp (field->names[i], text) == 0) {
      *AT (int, field, record) = i;
      return TRUE;
    }
  return FALSE;
}

static void
field_choice_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  json_builder_add_string_value (builder, field->names[*CONST_AT (int, field, record)]);
}

const TdFieldKind td_kind_choice
    = { TD_FIELD_STRING, field_choice_set, field_choice_write, field_int_equal, NULL };

/* ── Texts ── */

gboolean
td_field_set_text (const TdField *field, gpointer record, const char *text)
{
  if (!*text || strlen (text) >= field->n || !g_utf8_validate (text, -1, NULL))
    return FALSE;
  g_strlcpy (AT (char, field, record), text, field->n);
  return TRUE;
}

static gboolean
field_text_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  return td_field_set_text (field, record, text);
}

void
td_field_write_text (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  json_builder_add_string_value (builder, CONST_AT (char, field, record));
}

gboolean
td_field_equal_text (const TdField *field, gconstpointer a, gconstpointer b)
{
  return strcmp (CONST_AT (char, field, a), CONST_AT (char, field, b)) == 0;
}

const TdFieldKind td_kind_text
    = { TD_FIELD_STRING, field_text_set, td_field_write_text, td_field_equal_text, NULL };

static gboolean
field_pointer_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  *AT (const char *, field, record) = text;
  return TRUE;
}

const TdFieldKind td_kind_pointer = { TD_FIELD_STRING, field_pointer_set, NULL, NULL, NULL };

/* ── Boxes ── */

static gboolean
field_box_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };
  int *place = AT (int, field, record);

  if (text && strcmp (text, "all") != 0
      && (!td_parse_integers (text, ',', G_MININT32, G_MAXINT32, box, 4) || box[0] < field->low
          || box[1] < field->low || box[2] < 1 || box[3] < 1))
    return FALSE;
  for (guint i = 0; i < 4; i++)
    place[i] = (int) box[i];
  return TRUE;
}

void
td_field_write_integers (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const int *values = CONST_AT (int, field, record);

  if (values[field->n / 2] == 0) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_array (builder);
  for (guint i = 0; i < field->n; i++)
    json_builder_add_int_value (builder, values[i]);
  json_builder_end_array (builder);
}

static gboolean
field_box_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  const int *x = CONST_AT (int, field, a), *y = CONST_AT (int, field, b);

  return (x[2] == 0 && y[2] == 0) || memcmp (x, y, 4 * sizeof *x) == 0;
}

const TdFieldKind td_kind_box = { TD_FIELD_NULL | TD_FIELD_LIST, field_box_set,
                                  td_field_write_integers, field_box_equal, NULL };

/* ── Any field ── */

const TdField *
td_field_find (const TdField *fields, const char *option)
{
  for (; fields->option; fields++)
    if (strcmp (fields->option, option) == 0)
      return fields;
  return NULL;
}

/* Of a number. */
static TdMessage *
field_range (const TdField *field)
{
  const gboolean whole = field->kind == &td_kind_count;
  const double low = field->low, high = field->high;

  if (field->above && field->below)
    return td_message_new (whole ? N_ ("a whole number above %g and below %g")
                                 : N_ ("a number above %g and below %g"),
                           low, high);
  if (field->above)
    return td_message_new (whole ? N_ ("a whole number above %g and at most %g")
                                 : N_ ("a number above %g and at most %g"),
                           low, high);
  if (field->below)
    return td_message_new (whole ? N_ ("a whole number of at least %g and below %g")
                                 : N_ ("a number of at least %g and below %g"),
                           low, high);
  return td_message_new (
      whole ? N_ ("a whole number from %g to %g") : N_ ("a number from %g to %g"), low, high);
}

TdMessage *
td_field_expects (const TdField *field)
{
  if (field->expects)
    return td_message_new_plain (field->expects);
  if (field->kind->expects)
    return field->kind->expects ();
  if (field->names) {
    g_autofree char *list = g_strjoinv (", ", (char **) field->names);
    return td_message_new ("one of %s", list);
  }
  if (field->kind == &td_kind_switch)
    return td_message_new_plain ("true or false");
  if (field->kind == &td_kind_bytes)
    return td_message_new_plain ("a size: bytes, or a number with K, M, G or T as in 512M");
  TdMessage *range = field_range (field);
  return field->none ? td_message_new ("%p, nor %s", range, field->none) : range;
}

gboolean
td_field_refuse (const TdField *field, const char *text, GError **error)
{
  return td_set_error (error, TD_ERROR_INVALID, "{%s} \"%s\" is not %p", field->option, text,
                       td_field_expects (field));
}

gboolean
td_field_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  g_autoptr (GError) reason = NULL;

  if (field->kind->set (field, record, text, &reason))
    return TRUE;
  if (!reason)
    return td_field_refuse (field, text ? text : "null", error);
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}
