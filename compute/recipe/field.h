/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "recipe.h"

/**
 * TdField: one thing that a person chooses, told once. A row says where the value lies in its
 * record, what it may be, and how files, the command line and the window call it. Reading and
 * writing JSON, options, --help, equality, ranges and the words of messages all follow from it.
 * Records are TdRecipe (recipe-fields.c) and TdScanOptions (scan-fields.c).
 */
typedef struct TdField TdField;

/* The JSON values that a kind reads; others are refused. */
typedef enum {
  TD_FIELD_NULL = 1,
  TD_FIELD_BOOLEAN = 2,
  TD_FIELD_NUMBER = 4,
  TD_FIELD_STRING = 8,
  TD_FIELD_LIST = 16, /* of TdField.n numbers */
} TdFieldJson;

/* How values of one kind are read, written and compared. @record is the whole struct. */
typedef struct {
  guint json; /* TdFieldJson, added */
  /* From the command line's text; @text NULL: nothing is chosen, JSON's null. FALSE: it is not what
     the field expects; @error may say more, else the caller says so. */
  gboolean (*set) (const TdField *field, gpointer record, const char *text, GError **error);
  void (*write) (const TdField *field, gconstpointer record, JsonBuilder *builder);
  gboolean (*equal) (const TdField *field, gconstpointer a, gconstpointer b);
  /* JSON that no text stands for; NULL: by the text. */
  gboolean (*read) (const TdField *field, gpointer record, JsonNode *node, GError **error);
  /* What is wanted, from a table elsewhere; --help has it as well. NULL: the row says it. */
  TdMessage *(*expects) (void);
} TdFieldKind;

struct TdField {
  const char *option;      /* "centre": after "--", and what messages call it by */
  const char *placeholder; /* "PX|auto"; NULL: a switch */
  const char *help;
  const char *json;  /* "filter.cutoff": the member "cutoff" of "filter"; NULL: another option for
                        the value of the row above */
  const char *label; /* in the window, to be translated; NULL: it is not there */
  const TdFieldKind *kind;
  gsize offset;
  guint n;                   /* numbers of a list, bytes of a text */
  char separator;            /* between the numbers of a list; 0: a comma */
  double low, high;          /* what the number may be, both included */
  gboolean above, below;     /* low, high themselves are not */
  const char *none;          /* the word for 0: "auto", "all" */
  const char *preset;        /* as text; NULL: nothing is chosen */
  const char *expects;       /* what is wanted, for errors; NULL: follows from the rest */
  const char *const *names;  /* of an enumeration, in its order; of a count; NULL-terminated */
  const char *const *labels; /* the same in the window, to be translated */
  const char *const *brief;  /* and where room is short; NULL: as labels */
  guint methods;             /* bits (1 << TdMethodKind) of those that use it; 0: all */
  const char *elsewhere;     /* one sentence that says why the others do not */
  /* NULL: it applies; else such a sentence. @facts NULL: no scan is known. */
  const char *(*applies) (const TdRecipe *recipe, const TdScanFacts *facts);
};

/* ── The tables ── */

/* Both end with a row without an option; the order is that of --help and of the JSON. */
extern const TdField td_recipe_fields[];
extern const TdField td_scan_fields[];
/* The row of an option, of either table; NULL: there is none. */
const TdField *td_recipe_field (const char *option);
const TdField *td_scan_field (const char *option);

/* FALSE: a recipe that is otherwise like this one does not use the field. *@reason (optional) then
   says why, to be translated. @facts NULL: no scan is known. */
gboolean td_recipe_field_applies (const TdField *field, const TdRecipe *recipe,
                                  const TdScanFacts *facts, const char **reason);

/* The recipe as the member @name of the object that @builder is in. */
void td_recipe_add_json (JsonBuilder *builder, const char *name, const TdRecipe *recipe);

/* Sets @option of @options, as td_recipe_set() does; strings stay @value's. */
gboolean td_scan_options_set (TdScanOptions *options, const char *option, const char *value,
                              GError **error);

/* ── Kinds (field-kinds.c) ── */

extern const TdFieldKind td_kind_number; /* double */
/* guint; 0 is TdField.none, else the least stands for it. TdField.names: the only values. */
extern const TdFieldKind td_kind_count;
extern const TdFieldKind td_kind_switch; /* gboolean */
extern const TdFieldKind td_kind_choice; /* an enumeration */
extern const TdFieldKind td_kind_text;   /* char[n], UTF-8, not empty */
extern const TdFieldKind td_kind_bytes;  /* guint64 */
extern const TdFieldKind td_kind_box; /* gint or guint [4]: first two from @low on, sizes above 0 */
extern const TdFieldKind
    td_kind_pointer; /* const char *, the caller's; paths and names of a scan */

/* For kinds of a table's own. */
gboolean td_field_set_text (const TdField *field, gpointer record, const char *text);
void td_field_write_text (const TdField *field, gconstpointer record, JsonBuilder *builder);
gboolean td_field_equal_text (const TdField *field, gconstpointer a, gconstpointer b);
/* Null where the first size or the end is 0: nothing was chosen. */
void td_field_write_integers (const TdField *field, gconstpointer record, JsonBuilder *builder);

/* @text into @record by the field's kind; an error names the option, the text and what is wanted.
 */
gboolean td_field_set (const TdField *field, gpointer record, const char *text, GError **error);
/* The row of @option among @fields; NULL: there is none. */
const TdField *td_field_find (const TdField *fields, const char *option);
/* What the field wants, from its row: "a number from 0 to 1". (transfer full) */
TdMessage *td_field_expects (const TdField *field);
/* Sets @error, "{OPTION} "TEXT" is not EXPECTED", and returns FALSE. */
gboolean td_field_refuse (const TdField *field, const char *text, GError **error);

/* recipe-steps.c: the list of preparation steps. */
extern const TdFieldKind td_kind_steps;
