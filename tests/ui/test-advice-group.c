/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice of every kind, made up: which rows are shown, which is the first, what their buttons do.
   And when the data are looked at anew. */
#include <adwaita.h>

#include "compute/methods/methods.h"
#include "ui-test.h"
#include "ui/advice-group.h"
#include "ui/ui.h"
#include "window-test.h"

/* ── What the data show, as it is told ── */

/* From the most urgent on. */
static const TdAdviceKind kinds[]
    = { TD_ADVICE_RINGS, TD_ADVICE_RIM,       TD_ADVICE_NO_FLATS,   TD_ADVICE_BACKGROUND,
        TD_ADVICE_DRIFT, TD_ADVICE_FEW_VIEWS, TD_ADVICE_OFFSET_AXIS };
static const char *const verbs[TD_N_ADVICE]
    = { "Take It",    "Show Both Sides",  "Remove Rings", "Follow the Beam",
        "Bring to 0", "Extend the Edges", "Iterate" };
#define ALL ((1u << TD_N_ADVICE) - 1)

static int told = ALL; /* bits (1 << kind); -1: a row cannot be read */
static int n_looks;

/* The linker puts this in the place of the engine's (meson.build). */
GPtrArray *__wrap_td_engine_advise (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                                    GCancellable *cancellable, GError **error);

static void
advice_free (gpointer user)
{
  TdAdvice *advice = user;

  td_message_unref (advice->message);
  g_free (advice);
}

GPtrArray *
__wrap_td_engine_advise (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                         GCancellable *cancellable, GError **error)
{
  const int bits = g_atomic_int_get (&told);

  g_atomic_int_inc (&n_looks);
  if (bits < 0) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "it cannot be read");
    return NULL;
  }
  GPtrArray *list = g_ptr_array_new_with_free_func (advice_free);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (bits >> kinds[i] & 1) {
      TdAdvice *advice = g_new0 (TdAdvice, 1);
      advice->kind = kinds[i];
      advice->message = td_message_new_plain (td_advice_names[kinds[i]]);
      advice->value = kinds[i] == TD_ADVICE_NO_FLATS ? 1000 : 1;
      advice->columns = 4;
      g_ptr_array_add (list, advice);
    }
  return list;
}

/* ── The group ── */

static TdEngine *engine;
static TdScan *scan;
static TdAdviceGroup *group;
static TdRecipe shown;
static guint n_changed, n_edited;
static GString *added;

static void
show (const TdRecipe *recipe)
{
  shown = *recipe;
  td_recipe_group_show (TD_RECIPE_GROUP (group), td_scan_facts (scan), &shown);
}

static void
on_edited (TdRecipeGroup *unused, const TdRecipe *recipe, const char *key)
{
  g_assert_null (key);
  n_edited++;
  show (recipe);
}

static void
on_changed (void)
{
  n_changed++;
}

static void
on_added (TdAdviceGroup *unused, const char *step)
{
  g_string_append_printf (added, "%s ", step);
}

static gboolean
is_quiet (gpointer unused)
{
  return !td_advice_group_busy (group);
}

static GtkWidget *
row_of (TdAdviceKind kind)
{
  static TdAdviceKind left;

  left = kind;
  for (GtkWidget *row = gtk_widget_get_first_child (gtk_widget_get_parent (
           td_test_find (GTK_WIDGET (group), ADW_TYPE_PREFERENCES_ROW, NULL, NULL)));
       row; row = gtk_widget_get_next_sibling (row))
    if (left-- == 0)
      return row;
  g_assert_not_reached ();
}

/* Rows of @bits are shown, and what is told of them; the first is the first of these. @marks: it is
   what to do next. */
static void
assert_shown (guint bits, gboolean marks)
{
  const TdAdvice *first = td_advice_group_first (group);
  int meant = -1;

  for (guint i = 0; i < G_N_ELEMENTS (kinds) && meant < 0; i++)
    if (bits >> kinds[i] & 1)
      meant = (int) kinds[i];
  g_assert_cmpint (first ? (int) first->kind : -1, ==, meant);
  g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (group)), ==, bits != 0);
  for (guint kind = 0; kind < TD_N_ADVICE; kind++) {
    GtkWidget *row = row_of (kind), *follow = td_test_button (row, verbs[kind]);
    g_assert_cmpint (gtk_widget_get_visible (row), ==, bits >> kind & 1);
    g_assert_cmpint (gtk_widget_has_css_class (follow, "suggested-action"), ==,
                     marks && (int) kind == meant);
    if (bits >> kind & 1)
      g_assert_cmpstr (
          gtk_label_get_text (GTK_LABEL (td_test_find (row, GTK_TYPE_LABEL, NULL, NULL))), ==,
          td_advice_names[kind]);
  }
}

/* A new group, which was shown a recipe and has looked. */
static void
begin (int bits)
{
  TdRecipe recipe;

  g_atomic_int_set (&told, bits);
  group = g_object_ref_sink (g_object_new (TD_TYPE_ADVICE_GROUP, NULL));
  g_signal_connect (group, "edited", G_CALLBACK (on_edited), NULL);
  g_signal_connect (group, "changed", G_CALLBACK (on_changed), NULL);
  g_signal_connect (group, "added", G_CALLBACK (on_added), NULL);
  assert_shown (0, FALSE);
  td_advice_group_set_scan (group, engine, scan);
  td_recipe_init (&recipe);
  n_looks = 0;
  n_changed = n_edited = 0;
  g_string_truncate (added, 0);
  show (&recipe);
  g_assert_true (td_advice_group_busy (group));
  assert_shown (0, FALSE);
  td_test_wait (is_quiet, NULL, "the data to be looked at");
  g_assert_cmpuint (n_changed, ==, 1);
  g_assert_cmpint (n_looks, ==, 1);
}

/* Each by itself, all but one, none, and what cannot be read. */
static void
test_shown (void)
{
  for (guint i = 0; i < 2 * TD_N_ADVICE + 2; i++) {
    const guint bits = i < TD_N_ADVICE       ? 1u << i
                       : i < 2 * TD_N_ADVICE ? ALL & ~(1u << (i - TD_N_ADVICE))
                       : i % 2               ? ALL
                                             : 0;
    begin ((int) bits);
    assert_shown (bits, FALSE);
    td_advice_group_mark (group, TRUE);
    assert_shown (bits, TRUE);
    td_advice_group_mark (group, FALSE);
    assert_shown (bits, FALSE);
    const TdAdvice *first = td_advice_group_first (group);
    g_assert_true (!first || g_str_equal (td_advice_group_verb (first), verbs[first->kind]));
    g_object_unref (group);
  }
  begin (-1);
  assert_shown (0, FALSE);
  g_object_unref (group);
}

/* The button does what the advice asks for, and the row goes; so does that of another advice which
   this does as well. */
static void
test_followed (void)
{
  for (guint i = 0; i <= TD_N_ADVICE; i++) {
    g_autoptr (GString) steps = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    guint left = 0;
    begin (ALL);
    td_advice_group_mark (group, TRUE);
    const TdAdviceKind kind = i < TD_N_ADVICE ? i : kinds[0];
    TdAdvice advice
        = { .kind = kind, .value = kind == TD_ADVICE_NO_FLATS ? 1000 : 1, .columns = 4 };
    const TdRecipe before = shown;
    TdRecipe meant = shown;
    g_assert_true (td_advice_apply (&advice, &meant, &error));
    for (guint k = 0; k < meant.n_steps; k++)
      if (!td_recipe_step ((TdRecipe *) &before, meant.steps[k].name))
        g_string_append_printf (steps, "%s ", meant.steps[k].name);
    for (advice.kind = 0; advice.kind < TD_N_ADVICE; advice.kind++)
      if (!td_advice_is_followed (&advice, td_scan_facts (scan), &meant))
        left |= 1u << advice.kind;
    /* An axis in the middle stays there. */
    g_assert_cmpint (left >> kind & 1, ==, kind == TD_ADVICE_OFFSET_AXIS);
    if (i == TD_N_ADVICE)
      td_advice_group_follow_first (group);
    else
      td_test_click (td_test_button (row_of (kind), verbs[kind]));
    g_assert_cmpuint (n_edited, ==, 1);
    g_assert_true (td_recipe_equal (&shown, &meant));
    g_assert_cmpstr (added->str, ==, steps->str);
    td_test_wait (is_quiet, NULL, "the data to be looked at");
    assert_shown (left, TRUE);
    /* What the data are seen through has changed, or not. */
    g_assert_cmpint (n_looks, ==, kind == TD_ADVICE_NO_FLATS ? 2 : 1);
    show (&before);
    td_test_wait (is_quiet, NULL, "the data to be looked at");
    assert_shown (ALL, TRUE);
    g_object_unref (group);
  }
}

/* What is left be goes, one after the other, until another scan comes. */
static void
test_left_be (void)
{
  guint bits = ALL;

  begin (ALL);
  for (guint i = 0; i < TD_N_ADVICE; i++) {
    const guint kind = (3 * i + 1) % TD_N_ADVICE;
    bits &= ~(1u << kind);
    td_test_click (td_test_button (row_of (kind), "Not Now"));
    assert_shown (bits, FALSE);
    g_assert_cmpuint (n_changed, ==, 2 + i);
  }
  td_advice_group_follow_first (group); /* there is none */
  g_assert_cmpuint (n_edited, ==, 0);
  td_advice_group_set_scan (group, engine, scan);
  assert_shown (0, FALSE);
  const TdRecipe again = shown;
  show (&again);
  td_test_wait (is_quiet, NULL, "the data to be looked at");
  assert_shown (ALL, FALSE);
  g_object_unref (group);
}

/* The data are seen through two steps; nothing else makes it look again. */
static void
test_looks (void)
{
  TdRecipe recipe;
  int looks = 1;

  begin (ALL);
  for (guint i = 0; i < 8; i++) {
    td_recipe_init (&recipe);
    switch (i) {
    case 1: recipe.filter.cutoff = 0.5; break;
    case 2: g_assert_nonnull (td_recipe_add_step (&recipe, "rings", NULL)); break;
    case 3: td_recipe_step (&recipe, "flat-field")->enabled = FALSE; break;
    case 5: td_recipe_step (&recipe, "minus-log")->enabled = FALSE; break;
    case 6: td_recipe_step (&recipe, "minus-log")->enabled = FALSE; break;
    default: break;
    }
    looks += i == 3 || i == 4 || i == 5 || i == 7;
    show (&recipe);
    td_test_wait (is_quiet, NULL, "the data to be looked at");
    g_assert_cmpint (n_looks, ==, looks);
  }
  td_advice_group_set_scan (group, engine, NULL);
  g_object_unref (group);
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=48", "--rows=2", "--views=20", NULL };

  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  g_autofree char *path = td_test_phantom ("scan.nxs", options);
  g_autoptr (GError) error = NULL;
  scan = td_scan_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  engine = td_engine_new (td_methods);
  added = g_string_new (NULL);
  g_test_add_func ("/advice-group/shown", test_shown);
  g_test_add_func ("/advice-group/followed", test_followed);
  g_test_add_func ("/advice-group/left-be", test_left_be);
  g_test_add_func ("/advice-group/looks", test_looks);
  int status = g_test_run ();
  g_string_free (added, TRUE);
  td_scan_unref (scan);
  td_engine_unref (engine);
  td_test_folder_remove ();
  td_device_leave (status);
}
