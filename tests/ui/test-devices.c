/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices that are made up: in the choice of the panel, among what is not available, and in the
   window of devices. There, how devices are ordered, what a self-test tells and what tuning found.
   Both do as the test tells them. */
#include <string.h>

#include <adwaita.h>

#include "compute/engine/fdk/fdk-self-test.h"
#include "compute/parallel/tune.h"
#include "dataset/unit.h"
#include "ui-test.h"
#include "ui/device-catalog.h"
#include "ui/device-group.h"
#include "ui/device-row.h"
#include "ui/devices-window.h"
#include "ui/labels.h"
#include "ui/number-row.h"
#include "ui/quantity.h"
#include "ui/tuning-row.h"
#include "window-test.h"

#define GIB (1024 * 1024 * 1024ULL)

/* ── Devices that are made up ── */

/* reason: why it is not available. */
static const struct {
  const char *id, *name, *reason, *same_as;
  guint64 memory_bytes;
} made_up[] = { { "cuda:0", "Card <&> Co", NULL, NULL, 24 * GIB },
                { "cuda:1", NULL, "it is broken", NULL, 8 * GIB },
                { "opencl:0", "Card <&> Co", NULL, "cuda:0", 0 },
                { "opencl:1", "Other", "no driver", "cuda:1", 0 },
                { "host", "CPU", NULL, NULL, 5 * GIB / 2 } };

/* Puts those of @which into the catalog, bit by bit, as if they were found now. */
static void
find_devices (guint which)
{
  TdDeviceCatalog *catalog = td_device_catalog_default ();
  GPtrArray *entries = td_device_catalog_entries (catalog);

  g_ptr_array_set_size (entries, 0);
  for (guint i = 0; i < G_N_ELEMENTS (made_up); i++) {
    if (!(which >> i & 1))
      continue;
    TdDeviceEntry *entry = g_new0 (TdDeviceEntry, 1);
    entry->id = g_strdup (made_up[i].id);
    entry->name = g_strdup (made_up[i].name);
    entry->reason = g_strdup (made_up[i].reason);
    entry->available = !made_up[i].reason;
    entry->memory_bytes = made_up[i].memory_bytes;
    entry->same_as = made_up[i].same_as;
    g_ptr_array_add (entries, entry);
  }
  g_signal_emit_by_name (catalog, "loaded");
}

static gboolean
are_listed (gpointer unused)
{
  return td_device_catalog_entries (td_device_catalog_default ()) != NULL;
}

/* ── What is shown ── */

/* Rows below @parent in their order, "title: subtitle" with "; " between. */
static void
say_rows (GtkWidget *parent, GString *says)
{
  for (GtkWidget *child = gtk_widget_get_first_child (parent); child;
       child = gtk_widget_get_next_sibling (child)) {
    if (!ADW_IS_ACTION_ROW (child)) {
      say_rows (child, says);
      continue;
    }
    const char *subtitle = adw_action_row_get_subtitle (ADW_ACTION_ROW (child));
    g_string_append_printf (says, "%s%s", says->len ? "; " : "",
                            adw_preferences_row_get_title (ADW_PREFERENCES_ROW (child)));
    if (subtitle && *subtitle)
      g_string_append_printf (says, ": %s", subtitle);
  }
}

static void
count_pick (gpointer row, const char *id, char **picked)
{
  g_assert_null (*picked);
  *picked = g_strdup (id);
}

/* The choices, with "> " before what is chosen. */
static void
assert_choices (gpointer row, const char *meant)
{
  g_autoptr (GString) says = g_string_new (NULL);
  GListModel *model = adw_combo_row_get_model (row);

  for (guint i = 0; i < g_list_model_get_n_items (model); i++)
    g_string_append_printf (says, "%s%s%s", i ? "; " : "",
                            i == adw_combo_row_get_selected (row) ? "> " : "",
                            gtk_string_list_get_string (GTK_STRING_LIST (model), i));
  g_assert_cmpstr (says->str, ==, meant);
}

/* While nobody knows which there are, and then. */
static void
test_looking (void)
{
  g_autoptr (GString) says = g_string_new (NULL);
  gpointer row = g_object_ref_sink (g_object_new (TD_TYPE_DEVICE_ROW, NULL));
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_DEVICE_GROUP, NULL));
  GtkWidget *window = td_devices_window_new (NULL);

  assert_choices (row, "> Automatic");
  td_device_row_select (row, "opencl:3");
  assert_choices (row, "Automatic; > opencl:3");
  g_assert_false (gtk_widget_get_visible (td_test_row (group, "Not available here")));
  say_rows (window, says);
  g_assert_cmpstr (says->str, ==,
                   "The slice in the window: No slice was computed yet; Looking for devices");
  td_test_wait (are_listed, NULL, "the list of devices");
  find_devices (16);
  g_string_truncate (says, 0);
  say_rows (window, says);
  g_assert_null (strstr (says->str, "Looking for devices"));
  assert_choices (row, "Automatic; CPU (host); > opencl:3");
  gtk_window_destroy (GTK_WINDOW (window));
  g_object_unref (group);
  g_object_unref (row);
}

/* What is chosen is listed, by its name or as it was asked for. Who chooses is told of once, and
   who is shown something is not. */
static void
test_choice (void)
{
  static const struct {
    guint which;
    const char *chosen, *choices;
    const char *ids[4]; /* of the choices */
  } cases[] = {
    { 31,
      "auto",
      "> Automatic; Card <&> Co (cuda:0); Card <&> Co (opencl:0); CPU (host)",
      { "auto", "cuda:0", "opencl:0", "host" } },
    { 31,
      "cuda:0",
      "Automatic; > Card <&> Co (cuda:0); Card <&> Co (opencl:0); CPU (host)",
      { "auto", "cuda:0", "opencl:0", "host" } },
    { 31,
      "host",
      "Automatic; Card <&> Co (cuda:0); Card <&> Co (opencl:0); > CPU (host)",
      { "auto", "cuda:0", "opencl:0", "host" } },
    { 18, "host", "Automatic; > CPU (host)", { "auto", "host" } },
    { 18, "cuda:1", "Automatic; CPU (host); > cuda:1", { "auto", "host", "cuda:1" } },
    { 17,
      "host,cuda:0",
      "Automatic; Card <&> Co (cuda:0); CPU (host); > host,cuda:0",
      { "auto", "cuda:0", "host", "host,cuda:0" } },
    { 0, "auto", "> Automatic", { "auto" } },
  };
  gpointer row = g_object_ref_sink (g_object_new (TD_TYPE_DEVICE_ROW, NULL));
  g_autofree char *picked = NULL;

  g_signal_connect (row, "picked", G_CALLBACK (count_pick), &picked);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint pick = 0; pick < G_N_ELEMENTS (cases[i].ids) && cases[i].ids[pick]; pick++) {
      td_device_row_select (row, cases[i].chosen);
      find_devices (cases[i].which);
      assert_choices (row, cases[i].choices);
      const guint before = adw_combo_row_get_selected (row);
      g_assert_null (picked);
      adw_combo_row_set_selected (row, pick);
      g_assert_cmpstr (picked, ==, pick == before ? NULL : cases[i].ids[pick]);
      g_clear_pointer (&picked, g_free);
    }
  g_object_unref (row);
}

static TdRecipe edited;
static char *edited_key;

static void
on_edited (TdRecipeGroup *group, const TdRecipe *recipe, const char *key)
{
  g_assert_null (edited_key);
  edited = *recipe;
  edited_key = g_strdup (key);
}

static gboolean
is_nth (GtkWidget *row, gpointer left)
{
  return (*(guint *) left)-- == 0;
}

/* Those that are not available are listed with their reasons, each once, however often drivers are
   asked. What is chosen becomes the recipe's. */
static void
test_group (void)
{
  static const struct {
    guint which;
    const char *absent;
  } cases[] = { { 31, "cuda:1: it is broken; Other: no driver" },
                { 31, "cuda:1: it is broken; Other: no driver" },
                { 10, "cuda:1: it is broken; Other: no driver" },
                { 8, "Other: no driver" },
                { 21, "" },
                { 2, "cuda:1: it is broken" } };
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_DEVICE_GROUP, NULL));
  GtkWidget *absent = td_test_row (group, "Not available here");
  TdScanFacts facts = { .n_columns = 96, .n_rows = 24, .n_views = 120 };
  TdRecipe recipe;

  td_geometry_init_parallel (&facts.geometry);
  td_recipe_init (&recipe);
  g_signal_connect (group, "edited", G_CALLBACK (on_edited), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GString) says = g_string_new (NULL);
    find_devices (cases[i].which);
    say_rows (absent, says); /* the heading of an expander is a row as well */
    g_autofree char *meant
        = g_strconcat ("Not available here", *cases[i].absent ? "; " : "", cases[i].absent, NULL);
    g_assert_cmpstr (says->str, ==, meant);
    g_assert_cmpint (gtk_widget_get_visible (absent), ==, *cases[i].absent != '\0');
  }
  /* What a recipe has is shown without a word. */
  find_devices (31);
  gpointer row = td_test_find (group, TD_TYPE_DEVICE_ROW, NULL, NULL);
  g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
  td_recipe_group_show (group, &facts, &recipe);
  g_assert_null (edited_key);
  g_assert_cmpuint (adw_combo_row_get_selected (row), ==, 2);
  adw_combo_row_set_selected (row, 3);
  g_assert_cmpstr (edited_key, ==, "device");
  g_assert_cmpstr (edited.devices, ==, "host");
  g_clear_pointer (&edited_key, g_free);
  /* Memory is typed in GiB, half by half. */
  static const struct {
    const char *subtitle, *key;
  } limits[] = { { "0: all there is", "memory" },
                 { "Each device but the host; 0: as above", "device-memory" } };
  recipe.memory_limit_bytes = 8 * GIB;
  recipe.device_memory_limit_bytes = 3 * GIB / 2;
  td_recipe_group_show (group, &facts, &recipe);
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++) {
    guint nth = i;
    gpointer number = td_test_find (group, TD_TYPE_NUMBER_ROW, is_nth, &nth);
    GtkSpinButton *spin = GTK_SPIN_BUTTON (td_test_find (number, GTK_TYPE_SPIN_BUTTON, NULL, NULL));
    double step, page;
    gtk_spin_button_get_increments (spin, &step, &page);
    g_assert_true (step == 0.5 && page == 5 && gtk_spin_button_get_digits (spin) == 1);
    g_assert_cmpstr (adw_action_row_get_subtitle (number), ==, limits[i].subtitle);
    g_assert_cmpfloat (td_number_row_get_value (number), ==, i ? 1.5 : 8);
    gtk_spin_button_set_value (spin, 2.5);
    g_assert_cmpstr (edited_key, ==, limits[i].key);
    g_assert_cmpuint (edited.memory_limit_bytes, ==, i ? 8 * GIB : 5 * GIB / 2);
    g_assert_cmpuint (edited.device_memory_limit_bytes, ==, i ? 5 * GIB / 2 : 3 * GIB / 2);
    g_clear_pointer (&edited_key, g_free);
    td_recipe_group_show (group, &facts, &recipe);
  }
  g_object_unref (group);
}

/* ── The window ── */

static gboolean
has_description (GtkWidget *group, gpointer text)
{
  const char *description = adw_preferences_group_get_description (ADW_PREFERENCES_GROUP (group));

  return description && g_str_has_prefix (description, text);
}

/* The group of a device. */
static GtkWidget *
group_of (GtkWidget *window, const char *id)
{
  return td_test_find (window, ADW_TYPE_PREFERENCES_GROUP, has_description, (gpointer) id);
}

static gboolean
label_is (GtkWidget *label, gpointer text)
{
  return g_str_equal (gtk_label_get_text (GTK_LABEL (label)), text);
}

/* The heading of each device, and its rows or why there are none. */
static void
test_window (void)
{
  static const struct {
    const char *id, *title, *description;
  } groups[] = {
    { "cuda:0", "Card <&> Co", "cuda:0, 24.0\u00a0GiB" },
    { "cuda:1", "cuda:1", "cuda:1, 8.0\u00a0GiB" },
    { "opencl:0", "Card <&> Co", "opencl:0; the same hardware as cuda:0" },
    { "opencl:1", "Other", "opencl:1; the same hardware as cuda:1" },
    { "host", "CPU", "host, 2.5\u00a0GiB" },
  };
  GtkWidget *window = td_devices_window_new (NULL);

  for (guint which = 0; which < 32; which++) {
    g_autoptr (GString) meant = g_string_new ("The slice in the window: No slice was computed yet");
    g_autoptr (GString) says = g_string_new (NULL);
    find_devices (which);
    for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
      GtkWidget *group = group_of (window, groups[i].id);
      g_assert_cmpint (group != NULL, ==, which >> i & 1);
      if (!group)
        continue;
      g_assert_nonnull (td_test_find (group, GTK_TYPE_LABEL, label_is, (gpointer) groups[i].title));
      g_assert_cmpstr (adw_preferences_group_get_description (ADW_PREFERENCES_GROUP (group)), ==,
                       groups[i].description);
      g_assert_cmpstr (gtk_widget_get_tooltip_text (group), ==,
                       made_up[i].name ? made_up[i].name : made_up[i].id);
      if (made_up[i].reason)
        g_string_append_printf (meant, "; Not available here: %s", made_up[i].reason);
      else
        g_string_append (meant,
                         "; Use: Open a scan to choose devices for it; Self-test: Whether every "
                         "kernel computes the right thing here; Tune the kernels: Finds the "
                         "fastest variants on this device, in minutes");
    }
    say_rows (window, says);
    g_assert_cmpstr (says->str, ==, meant->str);
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* How long a slice took, and before on another device. */
static void
test_times (void)
{
  static const struct {
    const char *device;
    double seconds;
    const char *before; /* nullable */
    double seconds_before;
  } cases[] = { { "host", 0.5, NULL, 0 },          { "host", 0.25, NULL, 0 },
                { "cuda:0", 0.125, "host", 0.25 }, { "cuda:0", 2, "host", 0.25 },
                { "opencl:0", 3, "cuda:0", 2 },    { "host", 90, "opencl:0", 3 } };
  GtkWidget *window = td_devices_window_new (NULL);
  gpointer row = td_test_row (window, "The slice in the window");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *now = td_moment_text (cases[i].seconds);
    g_autofree char *before = td_moment_text (cases[i].seconds_before);
    g_autofree char *meant = cases[i].before
                                 ? g_strdup_printf ("%s: %s a slice; before, %s: %s",
                                                    cases[i].device, now, cases[i].before, before)
                                 : g_strdup_printf ("%s: %s a slice", cases[i].device, now);
    td_devices_window_took (TD_DEVICES_WINDOW (window), cases[i].device, cases[i].seconds);
    g_assert_cmpstr (adw_action_row_get_subtitle (row), ==, meant);
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* The order of the recipe's devices, and what becomes of it by each switch and by each button that
   puts a device before the others. */
static void
test_order (void)
{
  enum { N = 3 };
  static const char *const ids[N] = { "cuda:0", "opencl:0", "host" };
  static const struct {
    const char *devices;
    int places[N], n; /* -1: it is not used; n: 0: automatic, -1: there is no recipe */
    const char *switched[N], *first[N];
  } cases[] = {
    { NULL, { -1, -1, -1 }, -1, { NULL }, { NULL } },
    { "auto", { -1, -1, -1 }, 0, { "cuda:0", "opencl:0", "host" }, { NULL } },
    { "", { -1, -1, -1 }, 0, { "cuda:0", "opencl:0", "host" }, { NULL } },
    { "host", { -1, -1, 0 }, 1, { "host,cuda:0", "host,opencl:0", "auto" }, { NULL } },
    { "host,cuda:0",
      { 1, -1, 0 },
      2,
      { "host", "host,cuda:0,opencl:0", "cuda:0" },
      { "cuda:0,host", NULL, NULL } },
    { "opencl:0,host,cuda:0",
      { 2, 0, 1 },
      3,
      { "opencl:0,host", "host,cuda:0", "opencl:0,cuda:0" },
      { "cuda:0,opencl:0,host", NULL, "host,opencl:0,cuda:0" } },
    { "cuda:9,cuda:0",
      { 1, -1, -1 },
      2,
      { "cuda:9", "cuda:9,cuda:0,opencl:0", "cuda:9,cuda:0,host" },
      { "cuda:0,cuda:9", NULL, NULL } },
  };
  GtkWidget *window = td_devices_window_new (NULL);
  g_autofree char *picked = NULL;

  find_devices (31);
  g_signal_connect (window, "picked", G_CALLBACK (count_pick), &picked);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint k = 0; k < N; k++) {
      GtkWidget *row = td_test_row (group_of (window, ids[k]), "Use");
      GtkWidget *use = td_test_find (row, GTK_TYPE_SWITCH, NULL, NULL);
      GtkWidget *first = td_test_button (row, "First");
      const int place = cases[i].places[k], n = cases[i].n;
      td_devices_window_set_devices (TD_DEVICES_WINDOW (window), cases[i].devices);
      g_autofree char *number = g_strdup_printf ("Used, number %d of %d", place + 1, n);
      g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==,
                       n < 0        ? "Open a scan to choose devices for it"
                       : place >= 0 ? number
                       : n == 0     ? "As the program chooses: all are automatic"
                                    : "Not used");
      g_assert_cmpint (gtk_switch_get_active (GTK_SWITCH (use)), ==, place >= 0);
      g_assert_cmpint (gtk_widget_get_sensitive (use), ==, n >= 0);
      g_assert_cmpint (gtk_widget_get_visible (first), ==, cases[i].first[k] != NULL);
      g_assert_null (picked);
      if (n < 0)
        continue;
      gtk_switch_set_active (GTK_SWITCH (use), place < 0);
      g_assert_cmpstr (picked, ==, cases[i].switched[k]);
      g_clear_pointer (&picked, g_free);
      td_devices_window_set_devices (TD_DEVICES_WINDOW (window), cases[i].devices);
      if (cases[i].first[k]) {
        td_test_click (first);
        g_assert_cmpstr (picked, ==, cases[i].first[k]);
        g_clear_pointer (&picked, g_free);
        g_assert_false (gtk_widget_get_visible (first));
      }
    }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── Tests and tuning that do as they are told ── */

/* What a worker has told and the window has not shown yet, for that may be replaced by what comes
   next. */
static int unseen;
static GPtrArray *seen; /* char *, with how far the bar is */

#define MOST_MS 20000 /* then the test tells what was not shown */

static void
wait_until_seen (GCancellable *cancellable)
{
  for (guint ms = 0;
       ms < MOST_MS && g_atomic_int_get (&unseen) && !g_cancellable_is_cancelled (cancellable);
       ms++)
    g_usleep (1000);
}

static void
on_subtitle (GtkWidget *row, GParamSpec *property, gpointer unused)
{
  GtkWidget *bar = td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL);
  g_autofree char *words = NULL;

  g_object_get (row, "subtitle", &words, NULL);
  g_ptr_array_add (seen, g_strdup_printf ("%s; %.3f", words,
                                          gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (bar))));
  g_atomic_int_set (&unseen, FALSE);
}

static void
assert_seen (const char *const *meant)
{
  guint i = 0;

  for (; meant[i]; i++) {
    g_assert_cmpuint (i, <, seen->len);
    g_assert_cmpstr (seen->pdata[i], ==, meant[i]);
  }
  g_assert_cmpuint (seen->len, ==, i);
}

/* What the next test finds: in "passed" a letter for each kernel, f: it failed. */
static struct {
  const char *passed, *cones; /* NULL: the device itself fails */
} told;

static GPtrArray *
answer_tests (const char *passed, TdSelfTestTell tell, gpointer user, GCancellable *cancellable,
              GError **error)
{
  if (!passed) {
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "it fell off");
    return NULL;
  }
  GPtrArray *rows = td_self_test_rows_new ();
  for (guint i = 0; passed[i]; i++) {
    TdSelfTestRow row
        = { .family = "alu", .interpolation = TD_INTERPOLATION_LINEAR, .n_slices = i + 1 };
    wait_until_seen (cancellable);
    g_atomic_int_set (&unseen, TRUE);
    tell (&row, i + 1, (guint) strlen (passed), user);
    row.passed = passed[i] != 'f';
    row.reason = row.passed ? NULL : g_strdup_printf ("wrong by %u", i + 1);
    td_self_test_add (rows, &row);
  }
  wait_until_seen (cancellable);
  return rows;
}

/* The linker puts these in the place of the program's (meson.build). */
GPtrArray *__wrap_td_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                                       GCancellable *cancellable, GError **error);
GPtrArray *__wrap_td_fdk_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                                           GCancellable *cancellable, GError **error);
GPtrArray *__wrap_td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error);

GPtrArray *
__wrap_td_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                            GCancellable *cancellable, GError **error)
{
  g_assert_cmpstr (td_device_info (device)->id, ==, "host");
  return answer_tests (told.passed, tell, user, cancellable, error);
}

GPtrArray *
__wrap_td_fdk_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                                GCancellable *cancellable, GError **error)
{
  return answer_tests (told.cones, tell, user, cancellable, error);
}

/* Each test that begins is told with its number, and at the end what failed and why. Meanwhile
   nothing else is measured there. */
static void
test_self_test (void)
{
  static const struct {
    const char *passed, *cones;
    const char *said[8];
  } cases[] = {
    { "..",
      ".",
      { "Opening the device; 0.000", "Test 1 of 2: KERNEL, 1 slice; 0.000",
        "Test 2 of 2: KERNEL, 2 slices; 0.500", "Test 1 of 1: KERNEL, 1 slice; 0.000",
        "All 3 tests passed; 0.000" } },
    { ".f",
      ".f",
      { "Opening the device; 0.000", "Test 1 of 2: KERNEL, 1 slice; 0.000",
        "Test 2 of 2: KERNEL, 2 slices; 0.500", "Test 1 of 2: KERNEL, 1 slice; 0.000",
        "Test 2 of 2: KERNEL, 2 slices; 0.500",
        "2 of 4 tests failed, and these kernels are no longer used; alu: wrong by 2; "
        "alu: wrong by 2; 0.500" } },
    { "f",
      "",
      { "Opening the device; 0.000", "Test 1 of 1: KERNEL, 1 slice; 0.000",
        "1 of 1 tests failed, and these kernels are no longer used; alu: wrong by 1; 0.000" } },
    { NULL, ".", { "Opening the device; 0.000", "it fell off; 0.000" } },
    { "", NULL, { "Opening the device; 0.000", "it fell off; 0.000" } },
  };
  GtkWidget *window = td_devices_window_new (NULL);

  find_devices (31);
  GtkWidget *group = group_of (window, "host");
  GtkWidget *row = td_test_row (group, "Self-test"),
            *tuning = td_test_row (group, "Tune the kernels");
  GtkWidget *bar = td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL);
  GtkWidget *test = td_test_button (row, "Test"), *tune = td_test_button (tuning, "Tune");
  g_autofree char *kernel
      = td_label_kernel_task ("alu", TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE, 1);
  g_autofree char *named = g_strndup (kernel, strlen (kernel) - strlen (", 1 slice"));
  g_signal_connect (row, "notify::subtitle", G_CALLBACK (on_subtitle), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GStrvBuilder) meant = g_strv_builder_new ();
    told.passed = cases[i].passed;
    told.cones = cases[i].cones;
    g_ptr_array_set_size (seen, 0);
    g_assert_false (gtk_widget_get_visible (bar));
    td_test_click (test);
    g_assert_true (gtk_widget_get_visible (bar));
    g_assert_false (gtk_widget_get_sensitive (tune));
    td_test_wait (td_test_is_sensitive, test, "the end of the self-test");
    g_assert_false (gtk_widget_get_visible (bar));
    g_assert_true (gtk_widget_get_sensitive (tune));
    for (guint k = 0; cases[i].said[k]; k++) {
      GString *line = g_string_new (cases[i].said[k]);
      g_string_replace (line, "KERNEL", named, 0);
      g_strv_builder_add (meant, line->str);
      g_string_free (line, TRUE);
    }
    g_auto (GStrv) lines = g_strv_builder_end (meant);
    assert_seen ((const char *const *) lines);
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── Tuning ── */

static TdBackprojectFamily tuned_family = { .name = "alu" };
static guint tuned_size;
/* A letter for each case: f: something faster was found, e: it could not be tuned. */
static const char *tuned;

static void
tuned_row_free (gpointer user)
{
  TdTuneRow *row = user;

  g_free (row->defines);
  g_free (row->error);
  g_free (row);
}

GPtrArray *
__wrap_td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error)
{
  const guint n = (guint) strlen (tuned);
  GPtrArray *rows = g_ptr_array_new_with_free_func (tuned_row_free);

  g_assert_cmpstr (td_device_info (device)->id, ==, "host");
  tuned_size = options->size;
  for (guint i = 0; i < n; i++) {
    const TdTuneStep step
        = { &tuned_family, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE, 1, i + 1, n, i + 2, 7,
            0.125 * i };
    TdTuneRow *row = g_new0 (TdTuneRow, 1);
    wait_until_seen (options->cancellable);
    g_atomic_int_set (&unseen, TRUE);
    options->progress (&step, options->user);
    row->family = &tuned_family;
    row->interpolation = TD_INTERPOLATION_LINEAR;
    row->n_slices = 1;
    row->candidates = 5;
    row->default_rate = 2e9;
    row->best_rate = 3e9 + 1e8 * i;
    row->defines = g_strdup (tuned[i] == 'f' ? "-DROWS=8" : "");
    row->error = tuned[i] == 'e' ? g_strdup ("no such kernel") : NULL;
    g_ptr_array_add (rows, row);
  }
  wait_until_seen (options->cancellable);
  return rows;
}

static gboolean
is_tuned (gpointer row)
{
  return gtk_widget_get_visible (td_test_button (row, "Tune"));
}

/* The table has what was found, case by case. The line above counts them. */
static void
test_tuning (void)
{
  static const struct {
    const char *tuned, *said;
    double bar;
    const char *table[3];
  } cases[] = {
    { ".",
      "host: the usual variants are the fastest",
      0,
      { "3.0 GU/s; the usual variant is the fastest of 5" } },
    { "fe.",
      "host: in 1 of 3 cases something faster was found; jobs use it from now on",
      0.25,
      { "3.0 GU/s, before 2.0: -DROWS=8", "no such kernel",
        "3.2 GU/s; the usual variant is the fastest of 5" } },
    { "", "host: the usual variants are the fastest", 0, { NULL } },
    { "ff",
      "host: in 2 of 2 cases something faster was found; jobs use it from now on",
      0.125,
      { "3.0 GU/s, before 2.0: -DROWS=8", "3.1 GU/s, before 2.0: -DROWS=8" } },
  };
  gpointer row = g_object_ref_sink (g_object_new (TD_TYPE_TUNING_ROW, NULL));
  g_autofree char *kernel
      = td_label_kernel_task ("alu", TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE, 1);

  td_tuning_row_set_device (row, "host,cuda:0", 64);
  g_signal_connect (row, "notify::subtitle", G_CALLBACK (on_subtitle), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = (guint) strlen (cases[i].tuned);
    g_autoptr (GString) says = g_string_new (NULL);
    g_autoptr (GString) meant = g_string_new (NULL);
    g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();
    tuned = cases[i].tuned;
    tuned_size = 0;
    g_ptr_array_set_size (seen, 0);
    td_test_click (td_test_button (row, "Tune"));
    g_assert_true (gtk_widget_get_visible (td_test_button (row, "Stop")));
    g_assert_true (gtk_widget_get_visible (td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL)));
    td_test_wait (is_tuned, row, "the table");
    g_assert_false (gtk_widget_get_visible (td_test_button (row, "Stop")));
    g_assert_false (gtk_widget_get_visible (td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL)));
    g_assert_cmpuint (tuned_size, ==, 64);
    g_assert_cmpint (adw_expander_row_get_enable_expansion (row), ==, n > 0);
    g_strv_builder_add (lines, "Opening the device; 0.000");
    for (guint k = 0; k < n; k++) {
      g_autofree char *line = g_strdup_printf ("Case %u of %u: %s; variant %u of 7; %.3f", k + 1, n,
                                               kernel, k + 2, 0.125 * k);
      g_strv_builder_add (lines, line);
    }
    g_autofree char *last = g_strdup_printf ("%s; %.3f", cases[i].said, cases[i].bar);
    g_strv_builder_add (lines, last);
    g_auto (GStrv) all = g_strv_builder_end (lines);
    assert_seen ((const char *const *) all);
    say_rows (row, says);
    g_string_append_printf (meant, "Tune the kernels: %s", cases[i].said);
    for (guint k = 0; k < n; k++)
      g_string_append_printf (meant, "; %s: %s", kernel, cases[i].table[k]);
    g_assert_cmpstr (says->str, ==, meant->str);
  }
  g_object_unref (row);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  seen = g_ptr_array_new_with_free_func (g_free);
  g_test_add_func ("/devices/looking", test_looking);
  g_test_add_func ("/devices/choice", test_choice);
  g_test_add_func ("/devices/group", test_group);
  g_test_add_func ("/devices/window", test_window);
  g_test_add_func ("/devices/times", test_times);
  g_test_add_func ("/devices/order", test_order);
  g_test_add_func ("/devices/self-test", test_self_test);
  g_test_add_func ("/devices/tuning", test_tuning);
  int status = g_test_run ();
  g_ptr_array_unref (seen);
  td_device_leave (status);
}
