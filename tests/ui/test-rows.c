/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of windows by themselves. A file is shown by its name, numbers are taken as people type
   them, and boxes take several lines. A page of the guide, the trials of an axis, and the region.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/axis/axis.h"
#include "compute/methods/methods.h"
#include "compute/recipe/field.h"
#include "compute/engine/turn.h"
#include "dataset/sort.h"
#include "ui-test.h"
#include "ui/axis-strip.h"
#include "ui/choose-file.h"
#include "ui/facts-group.h"
#include "ui/file-row.h"
#include "ui/guide-window.h"
#include "ui/labels.h"
#include "ui/method-choices.h"
#include "ui/number-row.h"
#include "ui/open-dialog.h"
#include "ui/region-group.h"
#include "ui/step-chooser.h"
#include "ui/step-row.h"
#include "ui/steps-group.h"
#include "ui/ui.h"
#include "ui/wrap-layout.h"
#include "window-test.h"

/* ── Files ── */

static char *chosen;
static guint n_chosen;

static void
on_chosen (TdFileRow *row, const char *path)
{
  g_free (chosen);
  chosen = g_strdup (path);
  n_chosen++;
}

static gboolean
is_clear (GtkWidget *widget, gpointer user)
{
  return g_strcmp0 (gtk_widget_get_tooltip_text (widget), "None") == 0;
}

static void
assert_row (TdFileRow *row, const char *path, const char *subtitle, const char *tip, gboolean wrong,
            gboolean clears)
{
  GtkWidget *clear = td_test_find (GTK_WIDGET (row), GTK_TYPE_BUTTON, is_clear, NULL);

  g_assert_cmpstr (td_file_row_get_path (row), ==, path);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==, subtitle);
  g_assert_cmpstr (gtk_widget_get_tooltip_text (GTK_WIDGET (row)), ==, tip);
  g_assert_cmpint (gtk_widget_has_css_class (GTK_WIDGET (row), "wrong"), ==, wrong);
  g_assert_nonnull (clear);
  g_assert_cmpint (gtk_widget_get_visible (clear), ==, clears);
}

static void
test_file (void)
{
  TdFileRow *row = g_object_ref_sink (TD_FILE_ROW (td_file_row_new ("Flats", "found", NULL)));

  g_signal_connect (row, "chosen", G_CALLBACK (on_chosen), NULL);
  g_assert_cmpstr (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), ==, "Flats");
  g_assert_false (adw_preferences_row_get_use_markup (ADW_PREFERENCES_ROW (row)));
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);
  td_file_row_set_path (row, "/data/a & <b>.tif");
  assert_row (row, "/data/a & <b>.tif", "a & <b>.tif", "/data/a & <b>.tif", FALSE, TRUE);
  td_file_row_set_problem (row, "No such file");
  assert_row (row, "/data/a & <b>.tif", "No such file", "No such file", TRUE, TRUE);
  td_file_row_set_path (row, "/data/c");
  assert_row (row, "/data/c", "c", "/data/c", FALSE, TRUE);
  td_file_row_set_path (row, "");
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);
  td_file_row_set_path (row, "/data/c");
  td_file_row_set_path (row, NULL);
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);

  /* The button asks its owner, who may refuse. */
  td_file_row_set_path (row, "/data/c");
  td_test_click (td_test_find (GTK_WIDGET (row), GTK_TYPE_BUTTON, is_clear, NULL));
  g_assert_cmpuint (n_chosen, ==, 1);
  g_assert_null (chosen);
  g_assert_cmpstr (td_file_row_get_path (row), ==, "/data/c");
  g_object_unref (row);
}

/* Which files a chooser offers: by endings, in letters of either case; without any, all. */
static void
test_filters (void)
{
  static const char *const patterns[] = { "*.tif", "*.nxs", NULL };
  static const struct {
    const char *name;
    gboolean fits;
  } names[] = { { "a.tif", TRUE }, { "b.c.NXS", TRUE }, { "a.tiff", FALSE },
                { "tif", FALSE },  { "a.h5", FALSE },   { "a.tif.part", FALSE } };
  GtkFileChooser *chooser = GTK_FILE_CHOOSER (
      gtk_file_chooser_native_new ("Open", NULL, GTK_FILE_CHOOSER_ACTION_OPEN, NULL, NULL));

  td_choose_file_add_filter (chooser, "Scans", patterns);
  td_choose_file_add_filter (chooser, "All files", NULL);
  g_autoptr (GListModel) filters = gtk_file_chooser_get_filters (chooser);
  g_assert_cmpuint (g_list_model_get_n_items (filters), ==, 2);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (GtkFileFilter) filter = g_list_model_get_item (filters, i);
    g_assert_cmpstr (gtk_file_filter_get_name (filter), ==, i ? "All files" : "Scans");
    for (guint k = 0; k < G_N_ELEMENTS (names); k++) {
      g_autoptr (GFileInfo) info = g_file_info_new ();
      g_file_info_set_display_name (info, names[k].name);
      g_assert_cmpint (gtk_filter_match (GTK_FILTER (filter), info), ==, i || names[k].fits);
    }
  }
  g_object_unref (chooser);
}

/* ── Numbers ── */

static double changed;
static guint n_changed;

static void
on_changed (TdNumberRow *row, double value)
{
  changed = value;
  n_changed++;
}

/* A point or a comma, and either minus; what is no number leaves the value as it was. */
static void
test_number (void)
{
  static const struct {
    const char *text;
    double value;
  } texts[] = {
    { "190.75", 190.75 }, { "12,5", 12.5 }, { " 7 ", 7 },     { "-3.25", -3.25 }, { "−2,5", -2.5 },
    { "word", -2.5 },     { "", -2.5 },     { "1.5x", -2.5 }, { "inf", -2.5 },    { "nan", -2.5 },
    { "1e2", 100 },       { "500", 300 },   { "-500", -10 },  { "+4", 4 },
  };
  TdNumberRow *row = g_object_ref_sink (
      TD_NUMBER_ROW (td_number_row_new ("Centre", "in columns", -10, 300, 0.25, 2)));
  GtkWidget *spin = td_test_find (GTK_WIDGET (row), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  double step, page;

  g_signal_connect (row, "changed", G_CALLBACK (on_changed), NULL);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==, "in columns");
  gtk_spin_button_get_increments (GTK_SPIN_BUTTON (spin), &step, &page);
  g_assert_cmpfloat (step, ==, 0.25);
  g_assert_cmpfloat (page, ==, 2.5);
  g_assert_cmpuint (gtk_spin_button_get_digits (GTK_SPIN_BUTTON (spin)), ==, 2);
  g_assert_cmpint (gtk_editable_get_width_chars (GTK_EDITABLE (spin)), ==, 6);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    gtk_editable_set_text (GTK_EDITABLE (spin), texts[i].text);
    gtk_spin_button_update (GTK_SPIN_BUTTON (spin));
    g_test_message ("“%s”", texts[i].text);
    g_assert_cmpfloat (td_number_row_get_value (row), ==, texts[i].value);
    g_assert_cmpfloat (changed, ==, texts[i].value);
  }
  n_changed = 0;
  td_number_row_set_value (row, 8);
  td_number_row_set_value (row, 8);
  g_assert_cmpuint (n_changed, ==, 1);
  td_number_row_set_range (row, 0, 5);
  g_assert_cmpfloat (changed, ==, 5);
  td_number_row_set_steps (row, 0.001, 1, 5);
  g_assert_cmpint (gtk_editable_get_width_chars (GTK_EDITABLE (spin)), ==, 8);
  g_object_unref (row);
}

/* Whoever scrolls past a number does not change it. */
static void
test_wheel (void)
{
  GtkWidget *row = g_object_new (TD_TYPE_NUMBER_ROW, NULL);
  GtkWidget *widgets[] = { td_test_find (row, GTK_TYPE_SPIN_BUTTON, NULL, NULL),
                           gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 1, 0.1) };

  g_object_ref_sink (row);
  td_ignore_scroll (g_object_ref_sink (widgets[1]));
  for (guint k = 0; k < G_N_ELEMENTS (widgets); k++) {
    g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widgets[k]);
    guint n = 0;
    for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
      g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
      if (!GTK_IS_EVENT_CONTROLLER_SCROLL (one))
        continue;
      g_assert_cmpint (gtk_event_controller_get_propagation_phase (one), ==, GTK_PHASE_NONE);
      n++;
    }
    g_assert_cmpuint (n, >, 0);
  }
  g_object_unref (widgets[1]);
  g_object_unref (row);
}

/* ── A row that does not apply ── */

static gboolean
is_active (gpointer window)
{
  return gtk_window_is_active (window);
}

/* It has the focus, and gives it on: else the toolkit warns when the cursor blinks next. */
static void
test_insensitive (void)
{
  GtkWidget *window = gtk_window_new (), *list = gtk_list_box_new ();
  GtkWidget *row = GTK_WIDGET (td_number_row_new ("Order", NULL, 1, 9, 1, 0));
  GtkWidget *button = gtk_button_new_with_label ("Next");
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_list_box_append (GTK_LIST_BOX (list), row);
  gtk_box_append (GTK_BOX (box), list);
  gtk_box_append (GTK_BOX (box), button);
  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_window_present (GTK_WINDOW (window));
  GtkWidget *text = td_test_find (row, GTK_TYPE_TEXT, NULL, NULL);
  gtk_widget_grab_focus (text);
  td_test_wait (is_active, window, "the window to be active");
  g_assert_true (gtk_widget_has_focus (text));
  td_set_sensitive (row, FALSE);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == button);
  td_test_pause (2500);
  td_set_sensitive (row, TRUE);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == button);
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
says (GtkWidget *label, gpointer text)
{
  return strcmp (gtk_label_get_text (GTK_LABEL (label)), text) == 0;
}

static GLogWriterOutput
count_log (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer n_warnings)
{
  *(guint *) n_warnings += (level & G_LOG_LEVEL_MASK) <= G_LOG_LEVEL_WARNING;
  return G_LOG_WRITER_HANDLED;
}

/* What would be markup, were it not a name, is shown as it is, and nobody complains of it. */
static void
test_plain (void)
{
  static guint n_warnings;

  g_log_set_writer_func (count_log, &n_warnings, NULL);
  GtkWidget *row = g_object_ref_sink (td_plain_row_new ("a & <b>", "of R&D"));
  g_assert_cmpuint (n_warnings, ==, 0);
  g_assert_nonnull (td_test_find (row, GTK_TYPE_LABEL, says, (gpointer) "a & <b>"));
  g_assert_nonnull (td_test_find (row, GTK_TYPE_LABEL, says, (gpointer) "of R&D"));
  g_object_unref (row);
}

/* Lines of what has no room side by side, and room between them. */
static void
test_wrapped (void)
{
  enum { WIDE = 100, HIGH = 30, SPACING = 8 };
  GtkWidget *box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0));

  td_wrap (box, SPACING);
  for (guint i = 0; i < 3; i++) {
    GtkWidget *child = gtk_drawing_area_new ();
    gtk_widget_set_size_request (child, WIDE, HIGH);
    gtk_box_append (GTK_BOX (box), child);
  }
  for (int n = 1; n <= 3; n++) { /* side by side */
    const int lines = n == 1 ? 3 : n == 2 ? 2 : 1, least = n * WIDE + (n - 1) * SPACING;
    int high, wide;
    gtk_widget_measure (box, GTK_ORIENTATION_VERTICAL, least, NULL, &high, NULL, NULL);
    g_assert_cmpint (high, ==, lines * HIGH + (lines - 1) * SPACING);
    gtk_widget_measure (box, GTK_ORIENTATION_HORIZONTAL, -1, &wide, &high, NULL, NULL);
    g_assert_cmpint (wide, ==, WIDE);
    g_assert_cmpint (high, ==, 3 * WIDE + 2 * SPACING);
  }
  g_object_unref (box);
}

/* ── Places of what takes several lines ── */

typedef struct {
  int x, y, width, height;
} Place;

static void
test_wrap_places (void)
{
  enum { N = 3, SPACING = 6 };
  static const int sizes[N][2] = { { 40, 20 }, { 60, 30 }, { 50, 25 } };
  static const struct {
    int width;
    guint expand, hidden; /* bits */
    GtkTextDirection direction;
    Place places[N];
  } cases[] = {
    { 200, 0, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 30 }, { 46, 0, 60, 30 }, { 112, 0, 50, 30 } } },
    { 162, 0, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 30 }, { 46, 0, 60, 30 }, { 112, 0, 50, 30 } } },
    { 161, 0, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 30 }, { 46, 0, 60, 30 }, { 0, 36, 50, 25 } } },
    { 60, 0, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 20 }, { 0, 26, 60, 30 }, { 0, 62, 50, 25 } } },
    { 200, 2, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 30 }, { 46, 0, 98, 30 }, { 150, 0, 50, 30 } } },
    { 200, 5, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 59, 30 }, { 65, 0, 60, 30 }, { 131, 0, 69, 30 } } },
    { 120, 6, 0, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 30 }, { 46, 0, 74, 30 }, { 0, 36, 120, 25 } } },
    { 200, 0, 2, GTK_TEXT_DIR_LTR, { { 0, 0, 40, 25 }, { 0, 0, 0, 0 }, { 46, 0, 50, 25 } } },
    { 200, 0, 1, GTK_TEXT_DIR_LTR, { { 0, 0, 0, 0 }, { 0, 0, 60, 30 }, { 66, 0, 50, 30 } } },
    { 200, 0, 0, GTK_TEXT_DIR_RTL, { { 160, 0, 40, 30 }, { 94, 0, 60, 30 }, { 38, 0, 50, 30 } } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    GtkWidget *box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0));
    GtkWidget *children[N];
    int high;
    td_wrap (box, SPACING);
    gtk_widget_set_direction (box, cases[i].direction);
    for (guint k = 0; k < N; k++) {
      children[k] = gtk_drawing_area_new ();
      gtk_widget_set_size_request (children[k], sizes[k][0], sizes[k][1]);
      gtk_widget_set_hexpand (children[k], cases[i].expand >> k & 1);
      gtk_widget_set_visible (children[k], !(cases[i].hidden >> k & 1));
      gtk_box_append (GTK_BOX (box), children[k]);
    }
    gtk_widget_measure (box, GTK_ORIENTATION_VERTICAL, cases[i].width, NULL, &high, NULL, NULL);
    gtk_widget_allocate (box, cases[i].width, high, -1, NULL);
    for (guint k = 0; k < N; k++) {
      const Place *meant = &cases[i].places[k];
      graphene_rect_t at;
      if (cases[i].hidden >> k & 1)
        continue;
      g_assert_true (gtk_widget_compute_bounds (children[k], box, &at));
      g_test_message ("%u, %u: %g, %g, %g × %g", i, k, at.origin.x, at.origin.y, at.size.width,
                      at.size.height);
      g_assert_true (at.origin.x == meant->x && at.origin.y == meant->y
                     && at.size.width == meant->width && at.size.height == meant->height);
      g_assert_true (at.origin.y + at.size.height <= high);
    }
    g_object_unref (box);
  }
}

/* ── The guide ── */

#define GUIDE "/org/tomodesk/guide"

/* The first page is the test's own: the toolkit takes it from a folder. */
static const char guide_page[]
    = "# A *short* title\n"
      "\n"
      "Words over\n"
      "two lines, `code`, **bold**, *slanted*, an ![image](x.png) and\n"
      "[a link](guide-lab.md#part), [elsewhere](https://example.org), [no link] and **open.\n"
      "\n"
      "## Parts\n"
      "### Small ones\n"
      "#### Smaller\n"
      "#hash without a title\n"
      "![a picture](picture.png)\n"
      "- one item\n"
      "  that goes on\n"
      "- **two**\n"
      "\n"
      "1. first\n"
      "2. second\n"
      "\n"
      "    indented *code*\n"
      "```sh\n"
      "fenced **code**\n"
      "# no title\n"
      "```\n"
      "| name | what | more |\n"
      "|---|:--|---|\n"
      "| `a` | b | **c** |\n"
      "The end";

static char *guide_folder;

/* Before anything is read from the program. */
static void
guide_overlay (void)
{
  guide_folder = g_dir_make_tmp ("guide-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (guide_folder, "guide-window.md", NULL);
  g_autofree char *overlay = g_strdup_printf (GUIDE "=%s", guide_folder);

  g_assert_true (g_file_set_contents (path, guide_page, -1, NULL));
  g_setenv ("G_RESOURCE_OVERLAYS", overlay, TRUE);
}

/* "<tags>words" wherever tags change; a link has its page. */
static char *
guide_text (GtkTextBuffer *buffer)
{
  GString *all = g_string_new (NULL);
  GtkTextIter at, next;

  gtk_text_buffer_get_start_iter (buffer, &at);
  while (!gtk_text_iter_is_end (&at)) {
    g_autoptr (GSList) tags = gtk_text_iter_get_tags (&at);
    g_string_append_c (all, '<');
    for (GSList *tag = tags; tag; tag = tag->next) {
      g_autofree char *name = NULL;
      const char *page = g_object_get_data (tag->data, "page");
      g_object_get (tag->data, "name", &name, NULL);
      g_string_append_printf (all, "%s%s", tag == tags ? "" : " ", page ? page : name);
    }
    next = at;
    gtk_text_iter_forward_to_tag_toggle (&next, NULL);
    g_autofree char *words = gtk_text_buffer_get_text (buffer, &at, &next, TRUE);
    g_string_append_printf (all, ">%s", words);
    at = next;
  }
  return g_string_free (all, FALSE);
}

static gboolean
guide_is_laid_out (gpointer view)
{
  return gtk_widget_get_width (view) > 0;
}

/* As a click in the middle of the first letter of @words. */
static void
guide_click (GtkTextView *view, const char *words)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (GTK_WIDGET (view));
  GtkTextIter start, from, to;
  GdkRectangle at;
  int x, y;

  gtk_text_buffer_get_start_iter (gtk_text_view_get_buffer (view), &start);
  g_assert_true (gtk_text_iter_forward_search (&start, words, 0, &from, &to, NULL));
  gtk_text_view_get_iter_location (view, &from, &at);
  gtk_text_view_buffer_to_window_coords (view, GTK_TEXT_WINDOW_WIDGET, at.x + 2, at.y + 4, &x, &y);
  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (GTK_IS_GESTURE_CLICK (one)
        && g_signal_has_handler_pending (one, g_signal_lookup ("released", GTK_TYPE_GESTURE_CLICK),
                                         0, FALSE))
      g_signal_emit_by_name (one, "released", 1, (double) x, (double) y);
  }
}

static const char *
guide_chosen (gpointer guide)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row (td_test_part (guide, "list"));

  return row ? gtk_label_get_text (GTK_LABEL (gtk_list_box_row_get_child (row))) : "";
}

/* Marks of a page become styles of the text, and links lead to pages that are there. */
static void
test_guide_page (void)
{
  static const char text[]
      = "<h1>A <h1 italic>short<h1> title\n"
        "<paragraph>Words over two lines, <paragraph mono>code<paragraph>, <paragraph "
        "bold>bold<paragraph>, <paragraph italic>slanted<paragraph>, an  and <paragraph "
        "guide-lab.md>a link<paragraph>, elsewhere, [no link] and **open.\n"
        "<h2>Parts\n"
        "<h3>Small ones\n"
        "Smaller\n"
        "<paragraph>#hash without a title \n"
        "<item>•  one item that goes on\n"
        "•  <item bold>two<item>\n"
        "<paragraph>1. first\n"
        "2. second\n"
        "<code>indented *code*\n"
        "fenced **code**\n"
        "# no title\n"
        "<cell>name<row>  ·  what; more\n"
        "<cell mono>a<row>  ·  b; <row bold>c<row>\n"
        "<paragraph>The end\n";
  GtkWidget *guide = td_guide_window_new (NULL);
  GtkTextView *view = td_test_part (guide, "view");

  gtk_window_present (GTK_WINDOW (guide));
  g_autofree char *shown = guide_text (gtk_text_view_get_buffer (view));
  g_assert_cmpstr (shown, ==, text);
  td_test_wait (guide_is_laid_out, view, "the page");
  g_assert_cmpstr (guide_chosen (guide), ==, "A *short* title");
  guide_click (view, "Words over");
  guide_click (view, "elsewhere");
  g_assert_cmpstr (guide_chosen (guide), ==, "A *short* title");
  guide_click (view, "a link");
  g_assert_true (g_str_has_prefix (guide_chosen (guide), "The precision lab"));
  GtkListBox *list = td_test_part (guide, "list");
  g_signal_emit_by_name (list, "row-activated", gtk_list_box_get_row_at_index (list, 0));
  g_autofree char *again = guide_text (gtk_text_view_get_buffer (view));
  g_assert_cmpstr (again, ==, text);
  gtk_window_destroy (GTK_WINDOW (guide));
  g_autofree char *path = g_build_filename (guide_folder, "guide-window.md", NULL);
  g_remove (path);
  g_rmdir (guide_folder);
  g_free (guide_folder);
}

/* ── Trials of the axis ── */

static double taken;
static guint n_closed;

static void
on_taken (TdAxisStrip *strip, double centre_px)
{
  taken = centre_px;
}

static void
on_closed (TdAxisStrip *strip)
{
  n_closed++;
}

static gboolean
trials_are_there (gpointer strip)
{
  return !gtk_spinner_get_spinning (td_test_part (strip, "spinner"));
}

static GtkWidget *
trial_of (gpointer strip, guint i)
{
  GtkWidget *button = gtk_widget_get_first_child (td_test_part (strip, "tiles"));

  for (; i > 0; i--)
    button = gtk_widget_get_next_sibling (button);
  return button;
}

/* Least, mean and largest grey of a trial's picture; -1: there is none. */
static void
trial_greys (gpointer strip, guint i, double greys[3])
{
  GtkWidget *picture = td_test_find (trial_of (strip, i), GTK_TYPE_PICTURE, NULL, NULL);
  GdkPaintable *texture = gtk_picture_get_paintable (GTK_PICTURE (picture));

  greys[0] = greys[1] = greys[2] = -1;
  if (!texture)
    return;
  const int side = gdk_texture_get_width (GDK_TEXTURE (texture));
  g_assert_cmpint (side, ==, 160);
  g_assert_cmpint (gdk_texture_get_height (GDK_TEXTURE (texture)), ==, side);
  g_autofree guchar *pixels = g_malloc (4 * (gsize) side * (gsize) side);
  gdk_texture_download (GDK_TEXTURE (texture), pixels, 4 * (gsize) side);
  greys[0] = 255;
  greys[1] = 0;
  for (int k = 0; k < side * side; k++) {
    greys[0] = MIN (greys[0], pixels[4 * k]);
    greys[2] = MAX (greys[2], pixels[4 * k]);
    greys[1] += (double) pixels[4 * k] / (side * side);
    g_assert_true (pixels[4 * k] == pixels[4 * k + 1] && pixels[4 * k] == pixels[4 * k + 2]);
  }
}

static const char *
trial_says (gpointer strip, guint i)
{
  return gtk_label_get_text (
      GTK_LABEL (td_test_find (trial_of (strip, i), GTK_TYPE_LABEL, NULL, NULL)));
}

/* Around the centre that is asked about, under one contrast; a click takes one. */
static void
test_trials (void)
{
  enum { MIDDLE = TD_AXIS_STRIP_TRIALS / 2 };
  const char *options[] = { "--columns=64", "--rows=3", "--views=48", NULL };
  g_autofree char *path = td_test_phantom ("trials.nxs", options);
  const double reach = 0.5 * MIDDLE, span[2] = { 31.5 - reach, 31.5 + reach };
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  double greys[3];

  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  GtkWidget *strip = g_object_ref_sink (g_object_new (TD_TYPE_AXIS_STRIP, NULL));
  g_signal_connect (strip, "taken", G_CALLBACK (on_taken), NULL);
  g_signal_connect (strip, "closed", G_CALLBACK (on_closed), NULL);
  td_axis_strip_set_centre (TD_AXIS_STRIP (strip), 31.5);
  for (guint pass = 0; pass < 4; pass++) {
    const double step = pass == 1 ? 0.25 : 0.5;
    if (pass == 0 || pass == 3)
      td_axis_strip_request (TD_AXIS_STRIP (strip), engine, scan, &recipe, 1, span);
    else
      td_test_click (td_test_button (strip, pass == 1 ? "Finer" : "Wider"));
    g_assert_cmpstr (gtk_label_get_text (td_test_part (strip, "heading")), ==,
                     "Reconstructing trials");
    g_assert_false (trials_are_there (strip));
    td_test_wait (trials_are_there, strip, "the trials");
    g_autofree char *heading
        = g_strdup_printf ("Row 1, trials every %.3g columns. Click the sharpest", step);
    g_assert_cmpstr (gtk_label_get_text (td_test_part (strip, "heading")), ==, heading);
    for (guint i = 0; i < TD_AXIS_STRIP_TRIALS; i++) {
      const double centre = 31.5 + step * ((double) i - MIDDLE);
      g_autofree char *text = g_strdup_printf ("%.2f", centre);
      g_assert_cmpstr (trial_says (strip, i), ==, text);
      g_assert_true (gtk_widget_get_sensitive (trial_of (strip, i)));
      g_assert_cmpint (gtk_widget_has_css_class (trial_of (strip, i), "current"), ==, i == MIDDLE);
      trial_greys (strip, i, greys);
      g_assert_true (greys[2] - greys[0] > 150 && greys[1] > 20 && greys[1] < 235);
      td_test_click (trial_of (strip, i));
      g_assert_cmpfloat_with_epsilon (taken, centre, 1e-9);
    }
    td_axis_strip_set_centre (TD_AXIS_STRIP (strip), 31.5 + step);
    g_assert_true (gtk_widget_has_css_class (trial_of (strip, MIDDLE + 1), "current"));
    g_assert_false (gtk_widget_has_css_class (trial_of (strip, MIDDLE), "current"));
    td_axis_strip_set_centre (TD_AXIS_STRIP (strip), 31.5);
  }
  td_test_click (td_test_button (strip, "Close the trials"));
  g_assert_cmpuint (n_closed, ==, 1);
  td_axis_strip_clear (TD_AXIS_STRIP (strip));
  for (guint i = 0; i < TD_AXIS_STRIP_TRIALS; i++) {
    trial_greys (strip, i, greys);
    g_assert_true (greys[0] == -1 && !gtk_widget_get_sensitive (trial_of (strip, i)));
    g_assert_cmpstr (trial_says (strip, i), ==, "");
    g_assert_false (gtk_widget_has_css_class (trial_of (strip, i), "current"));
  }
  td_test_click (td_test_button (strip, "Finer")); /* of nothing */
  g_assert_true (trials_are_there (strip));
  /* What cannot be made says why. */
  g_strlcpy (recipe.devices, "cuda:77", sizeof recipe.devices);
  td_axis_strip_request (TD_AXIS_STRIP (strip), engine, scan, &recipe, 1, span);
  td_test_wait (trials_are_there, strip, "the reason");
  const char *why = gtk_label_get_text (td_test_part (strip, "heading"));
  g_test_message ("%s", why);
  g_assert_true (strlen (why) > 10 && !g_str_has_prefix (why, "Re") && !strstr (why, "trials"));
  g_assert_false (gtk_widget_get_sensitive (trial_of (strip, 0)));
  g_object_run_dispose (G_OBJECT (strip));
  g_object_unref (strip);
}

/* The part of a slice with most edges, where several have room: each second row is looked at. */
static void
busiest_part (const float *slice, guint side, guint part, guint corner[2])
{
  double most = -1;

  for (guint top = 0; top <= side - part; top += part / 2)
    for (guint left = 0; left <= side - part; left += part / 2) {
      double edges = 0;
      for (guint k = 0; k < part / 2; k++)
        for (guint i = 1; i < part; i++) {
          const guint y = top + 1 + 2 * k, x = left + i;
          edges += fabsf (slice[y * side + x] - slice[y * side + x - 1])
                   + fabsf (slice[y * side + x] - slice[(y - 1) * side + x]);
        }
      if (edges > most) {
        most = edges;
        corner[0] = left;
        corner[1] = top;
      }
    }
}

/* Whether something is drawn there, where there is nothing else. */
static gboolean
is_drawn (const guchar *pixels, int width, double x, double y)
{
  return pixels[4 * ((int) y * width + (int) x) + 3] > 100;
}

/* The curve joins a dot for each trial, the sharpest at the top and the largest. */
static void
assert_curve (gpointer strip, const double sharpness[TD_AXIS_STRIP_TRIALS])
{
  g_autoptr (GBytes) png = td_test_picture_at_rest (td_test_part (strip, "curve"));
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_bytes (png, NULL);
  const int width = gdk_texture_get_width (texture), height = gdk_texture_get_height (texture);
  g_autofree guchar *pixels = g_malloc (4 * (gsize) width * (gsize) height);
  double low = sharpness[0], high = sharpness[0], before = 0;

  g_assert_true (width >= 40 * TD_AXIS_STRIP_TRIALS && height >= 34);
  gdk_texture_download (texture, pixels, 4 * (gsize) width);
  for (guint i = 0; i < TD_AXIS_STRIP_TRIALS; i++) {
    low = MIN (low, sharpness[i]);
    high = MAX (high, sharpness[i]);
  }
  const double apart = (double) width / TD_AXIS_STRIP_TRIALS;
  for (guint i = 0; i < TD_AXIS_STRIP_TRIALS; i++) {
    const double x = apart / 2 + i * apart;
    const double y = 5 + (height - 10) * (high - sharpness[i]) / (high - low);
    g_assert_true (is_drawn (pixels, width, x, y) && is_drawn (pixels, width, x, y - 1.5));
    g_assert_true (is_drawn (pixels, width, x, y + 1.5));
    for (int side = -1; side <= 1; side += 2) {
      g_assert_true (is_drawn (pixels, width, x + 1.5 * side, y));
      g_assert_cmpint (is_drawn (pixels, width, x, y + 3.5 * side), ==, sharpness[i] == high);
      g_assert_false (y + 7.0 * side > 0 && y + 7.0 * side < height
                      && is_drawn (pixels, width, x, y + 7.0 * side));
    }
    if (i > 0)
      for (guint k = 1; k < 8; k++) {
        const double at = x - apart * k / 8, on = y + (before - y) * k / 8;
        g_assert_true (is_drawn (pixels, width, at, on) || is_drawn (pixels, width, at, on - 0.5)
                       || is_drawn (pixels, width, at, on + 0.5));
      }
    before = y;
  }
}

/* A trial's picture is the slice's part with most edges, as far across as 64 trials, under the
   contrast of the middle trial. */
static void
test_trial_pictures (void)
{
  enum { SIDE = 320, TILE = 160, TILES = TILE * TILE, MIDDLE = TD_AXIS_STRIP_TRIALS / 2 };
  const char *options[] = { "--columns=320", "--rows=1", "--views=24", NULL };
  const struct {
    double step;
    guint part;
  } trials[] = { { 0.5, 160 }, { 3, 192 }, { 5.5, 320 } };
  g_autofree char *path = td_test_phantom ("trial-pictures.nxs", options);
  g_autofree float *tile = g_new (float, TILES);
  g_autofree guchar *pixels = g_malloc (4 * TILES);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", &error);
  g_autoptr (TdScan) measured = td_engine_measured (engine, scan, &recipe, &error);
  g_assert_no_error (error);
  const TdRowSource source = { devices->pdata[0], measured, NULL, recipe.steps, recipe.n_steps };
  GtkWidget *strip = g_object_new (TD_TYPE_AXIS_STRIP, NULL), *window = gtk_window_new ();
  gtk_window_set_child (GTK_WINDOW (window), strip);
  gtk_window_present (GTK_WINDOW (window));
  for (guint t = 0; t < G_N_ELEMENTS (trials); t++) {
    const double first = 159.5 - MIDDLE * trials[t].step;
    const double span[2] = { first, 159.5 + MIDDLE * trials[t].step };
    const guint part = trials[t].part;
    double centres[TD_AXIS_STRIP_TRIALS], sharpness[TD_AXIS_STRIP_TRIALS], low = 0, high = 0;
    guint corner[2] = { 0, 0 };
    for (guint i = 0; i < TD_AXIS_STRIP_TRIALS; i++)
      centres[i] = first + i * trials[t].step;
    g_autofree float *slices
        = td_axis_trial_slices (&source, 0, centres, TD_AXIS_STRIP_TRIALS, sharpness, NULL, &error);
    g_assert_no_error (error);
    busiest_part (slices + MIDDLE * SIDE * SIDE, SIDE, part, corner);
    g_test_message ("%u pixels at %u, %u", part, corner[0], corner[1]);
    td_axis_strip_request (TD_AXIS_STRIP (strip), engine, scan, &recipe, 0, span);
    td_test_wait (trials_are_there, strip, "the trials");
    for (guint k = 0; k < TD_AXIS_STRIP_TRIALS; k++) {
      const guint trial = (MIDDLE + k) % TD_AXIS_STRIP_TRIALS; /* the middle one first */
      const float *slice = slices + trial * SIDE * SIDE;
      guint n_wrong = 0;
      for (guint y = 0; y < TILE; y++)
        for (guint x = 0; x < TILE; x++) {
          double sum = 0, n = 0;
          for (guint j = y * part / TILE; j < (y + 1) * part / TILE; j++)
            for (guint i = x * part / TILE; i < (x + 1) * part / TILE; i++, n++)
              sum += slice[(corner[1] + j) * SIDE + corner[0] + i];
          tile[y * TILE + x] = (float) (sum / n);
        }
      if (k == 0) {
        g_autofree float *sorted = g_memdup2 (tile, TILES * sizeof *tile);
        low = td_float_at_rank (sorted, TILES, TILES / 100);
        high = td_float_at_rank (sorted, TILES, TILES / 100 * 99);
      }
      GtkWidget *picture = td_test_find (trial_of (strip, trial), GTK_TYPE_PICTURE, NULL, NULL);
      gdk_texture_download (GDK_TEXTURE (gtk_picture_get_paintable (GTK_PICTURE (picture))), pixels,
                            4 * (gsize) TILE);
      for (guint i = 0; i < TILES; i++)
        n_wrong += fabs (pixels[4 * i] - 255 * CLAMP ((tile[i] - low) / (high - low), 0, 1)) > 1.1;
      g_assert_cmpuint (n_wrong, ==, 0);
    }
    assert_curve (strip, sharpness);
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── The region ── */

static TdRecipe edited;
static char *edited_key;

static void
on_edited (TdRecipeGroup *group, const TdRecipe *recipe, const char *key)
{
  edited = *recipe;
  g_free (edited_key);
  edited_key = g_strdup (key);
}

/* Its rows in their order: first and last row; column, row, columns, rows, and what is averaged. */
static TdNumberRow *
region_row (gpointer group, guint i)
{
  static const char *const titles[] = { "First row",
                                        "Last row",
                                        "First column",
                                        "First row",
                                        "Columns",
                                        "Rows",
                                        "Columns averaged to one",
                                        "Rows averaged to one",
                                        "Views averaged to one" };
  GtkWidget *detector = td_test_find (group, ADW_TYPE_EXPANDER_ROW, NULL, NULL);

  return td_test_row (i < 2 ? group : detector, titles[i]);
}

static void
region_says (gpointer group, const double numbers[9], const char *part, const char *detector)
{
  GtkWidget *expander = td_test_find (group, ADW_TYPE_EXPANDER_ROW, NULL, NULL);
  gpointer region = td_test_row (group, "Part of the slice");

  for (guint i = 0; i < 9; i++)
    g_assert_cmpfloat (td_number_row_get_value (region_row (group, i)), ==, numbers[i]);
  g_assert_cmpstr (adw_action_row_get_subtitle (region), ==,
                   part ? part : "The whole slice. Shift and drag in the slice to choose a part");
  g_assert_cmpint (gtk_widget_get_visible (td_test_button (region, "Whole")), ==, part != NULL);
  g_assert_cmpstr (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (expander)), ==,
                   detector ? detector : "All of it. Shift and drag in the projection to crop");
  g_assert_cmpint (gtk_widget_get_visible (td_test_button (expander, "Whole")), ==,
                   detector != NULL);
}

static void
init_region (TdRecipe *recipe, const guint rows[2], const int region[4], const guint crop[4],
             const guint bin[3])
{
  td_recipe_init (recipe);
  recipe->row_first = rows[0];
  recipe->row_end = rows[1];
  memcpy (recipe->region, region, sizeof recipe->region);
  memcpy (recipe->crop, crop, sizeof recipe->crop);
  memcpy (recipe->bin, bin, sizeof recipe->bin);
  recipe->bin_views = bin[2];
}

/* What the recipe has is shown, and what is typed becomes the recipe's: all of it is none. */
static void
test_region (void)
{
  static const struct {
    guint rows[2];
    int region[4];
    guint crop[4], bin[3];
    double numbers[9];
    const char *part, *detector;
  } shown[] = {
    { { 0, 0 }, { 0 }, { 0 }, { 1, 1, 1 }, { 0, 23, 0, 0, 96, 24, 1, 1, 1 }, NULL, NULL },
    { { 4, 9 }, { 0 }, { 0 }, { 0 }, { 4, 8, 0, 0, 96, 24, 1, 1, 1 }, NULL, NULL },
    { { 0, 0 },
      { 10, 12, 1, 20 },
      { 0 },
      { 1, 1, 1 },
      { 0, 23, 0, 0, 96, 24, 1, 1, 1 },
      "1 × 20 pixels from column 10, row 12",
      NULL },
    { { 2, 3 },
      { 0 },
      { 3, 4, 50, 10 },
      { 1, 1, 1 },
      { 2, 2, 3, 4, 50, 10, 1, 1, 1 },
      NULL,
      "50 × 10 pixels from column 3, row 4" },
    { { 0, 0 },
      { 0 },
      { 3, 4, 1, 10 },
      { 2, 1, 3 },
      { 0, 23, 3, 4, 1, 10, 2, 1, 3 },
      NULL,
      "1 × 10 pixels from column 3, row 4; 2 × 1 pixels to one; 3 views to one" },
    { { 0, 0 },
      { 0 },
      { 0 },
      { 1, 2, 1 },
      { 0, 23, 0, 0, 96, 24, 1, 2, 1 },
      NULL,
      "1 × 2 pixels to one" },
    { { 0, 0 },
      { 0 },
      { 0 },
      { 1, 1, 2 },
      { 0, 23, 0, 0, 96, 24, 1, 1, 2 },
      NULL,
      "2 views to one" },
  };
  static const struct {
    guint row;
    double value;
    const char *key;
    guint rows[2], crop[4], bin[3];
  } edits[] = {
    /* of rows 4 to 8, and columns 3 to 52 of rows 4 to 13 */
    { 0, 6, "rows", { 6, 9 }, { 3, 4, 50, 10 }, { 1, 1, 1 } },
    { 0, 9, "rows", { 9, 10 }, { 3, 4, 50, 10 }, { 1, 1, 1 } },
    { 1, 2, "rows", { 2, 3 }, { 3, 4, 50, 10 }, { 1, 1, 1 } },
    { 1, 6, "rows", { 4, 7 }, { 3, 4, 50, 10 }, { 1, 1, 1 } },
    { 2, 60, "detector", { 4, 9 }, { 60, 4, 36, 10 }, { 1, 1, 1 } },
    { 2, 95, "detector", { 4, 9 }, { 95, 4, 1, 10 }, { 1, 1, 1 } },
    { 3, 20, "detector", { 4, 9 }, { 3, 20, 50, 4 }, { 1, 1, 1 } },
    { 4, 96, "detector", { 4, 9 }, { 3, 4, 93, 10 }, { 1, 1, 1 } },
    { 5, 24, "detector", { 4, 9 }, { 3, 4, 50, 20 }, { 1, 1, 1 } },
    { 6, 3, "detector", { 4, 9 }, { 3, 4, 50, 10 }, { 3, 1, 1 } },
    { 7, 2, "detector", { 4, 9 }, { 3, 4, 50, 10 }, { 1, 2, 1 } },
    { 8, 5, "detector", { 4, 9 }, { 3, 4, 50, 10 }, { 1, 1, 5 } },
  };
  static const guint none[4] = { 0 };
  TdScanFacts facts = { .n_columns = 96, .n_rows = 24, .n_views = 120, .centre_px = NAN };
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_REGION_GROUP, NULL));
  TdRecipe recipe;

  td_geometry_init_parallel (&facts.geometry);
  g_signal_connect (group, "edited", G_CALLBACK (on_edited), NULL);
  td_number_row_set_value (region_row (group, 2), 0); /* of nothing yet */
  for (guint i = 0; i < G_N_ELEMENTS (shown); i++) {
    init_region (&recipe, shown[i].rows, shown[i].region, shown[i].crop, shown[i].bin);
    td_recipe_group_show (group, &facts, &recipe);
    g_test_message ("%u", i);
    region_says (group, shown[i].numbers, shown[i].part, shown[i].detector);
    g_assert_null (edited_key);
  }
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++) {
    init_region (&recipe, (guint[]) { 4, 9 }, (int[]) { 1, 2, 3, 4 }, (guint[]) { 3, 4, 50, 10 },
                 (guint[]) { 1, 1, 1 });
    td_recipe_group_show (group, &facts, &recipe);
    GtkWidget *spin = td_test_find (GTK_WIDGET (region_row (group, edits[i].row)),
                                    GTK_TYPE_SPIN_BUTTON, NULL, NULL);
    gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), edits[i].value);
    g_test_message ("edit %u: rows %u to %u, %u %u %u %u", i, edited.row_first, edited.row_end,
                    edited.crop[0], edited.crop[1], edited.crop[2], edited.crop[3]);
    g_assert_cmpstr (edited_key, ==, edits[i].key);
    g_assert_true (edited.row_first == edits[i].rows[0] && edited.row_end == edits[i].rows[1]);
    g_assert_cmpmem (edited.crop, sizeof edited.crop, edits[i].crop, sizeof edits[i].crop);
    g_assert_true (edited.bin[0] == edits[i].bin[0] && edited.bin[1] == edits[i].bin[1]
                   && edited.bin_views == edits[i].bin[2]);
    g_clear_pointer (&edited_key, g_free);
  }
  /* All rows are none, and so is all of a detector; the buttons take either. */
  init_region (&recipe, (guint[]) { 1, 24 }, (int[]) { 1, 2, 3, 4 }, (guint[]) { 0, 0, 95, 24 },
               (guint[]) { 2, 1, 2 });
  td_recipe_group_show (group, &facts, &recipe);
  gpointer detector = td_test_find (group, ADW_TYPE_EXPANDER_ROW, NULL, NULL);
  GtkWidget *spin
      = td_test_find (GTK_WIDGET (region_row (group, 0)), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), 0);
  g_assert_true (edited.row_first == 0 && edited.row_end == 0);
  spin = td_test_find (GTK_WIDGET (region_row (group, 4)), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (spin), 96);
  g_assert_cmpmem (edited.crop, sizeof edited.crop, none, sizeof none);
  g_assert_cmpuint (edited.bin[0], ==, 2);
  td_test_click (td_test_button (detector, "Whole"));
  g_assert_cmpstr (edited_key, ==, "detector");
  g_assert_true (edited.bin[0] == 1 && edited.bin[1] == 1 && edited.bin_views == 1);
  g_assert_cmpmem (edited.crop, sizeof edited.crop, none, sizeof none);
  g_assert_cmpint (edited.region[2], ==, 3);
  td_test_click (td_test_button (td_test_row (group, "Part of the slice"), "Whole"));
  g_assert_cmpstr (edited_key, ==, "region");
  g_assert_true (edited.region[0] == 0 && edited.region[1] == 0 && edited.region[2] == 0
                 && edited.region[3] == 0);
  g_clear_pointer (&edited_key, g_free);
  g_object_unref (group);
}

/* ── What a scan's file says ── */

/* The rows of an expander in their order, "title: words", with "; " between. */
static char *
facts_rows (GtkWidget *expander)
{
  GString *all = g_string_new (NULL);
  g_autoptr (GPtrArray) queue = g_ptr_array_new ();

  g_ptr_array_add (queue, expander);
  while (queue->len > 0) {
    GtkWidget *widget = g_ptr_array_steal_index (queue, queue->len - 1);
    if (ADW_IS_ACTION_ROW (widget)
        && gtk_widget_get_ancestor (gtk_widget_get_parent (widget), ADW_TYPE_EXPANDER_ROW)
               == expander
        && *adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget))
        && gtk_widget_get_parent (gtk_widget_get_parent (widget)) != expander
        && (gtk_widget_has_css_class (widget, "fact") || gtk_widget_has_css_class (widget, "note")))
      g_string_append_printf (all, "%s%s: %s", all->len ? "; " : "",
                              adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget)),
                              adw_action_row_get_subtitle (ADW_ACTION_ROW (widget)));
    for (GtkWidget *child = gtk_widget_get_last_child (widget); child;
         child = gtk_widget_get_prev_sibling (child))
      g_ptr_array_add (queue, child);
  }
  return g_string_free (all, FALSE);
}

typedef struct {
  TdBeam beam;
  double pixel_mm[2], energy_kev, propagation_mm, centre_px;
  gboolean half, logged;
  const char *title;
  guint notes; /* bits: flats, another one, entries */
  const char *summary, *facts, *said;
  guint n_entries;
} Fact;

/* All facts of scans of each kind, with where flats were found among them and notes beside. */
static void
test_facts (void)
{
  static const Fact all[] = {
    { TD_BEAM_PARALLEL,
      { 0 },
      0,
      0,
      NAN,
      FALSE,
      FALSE,
      "Ball",
      0,
      "ball.nxs\n64 × 4 pixels, 3 views",
      "Format: NXtomo, uint16; Beam: Parallel; Angles: 0.00° … 120.00°; Turn: TURN; "
      "Flats and darks: 2 flats, 3 darks; Detector pixel: unknown: values are per pixel; "
      "Path: /data/ball.nxs",
      "",
      0 },
    { TD_BEAM_PARALLEL,
      { 0.25, 0.25 },
      17.5,
      120,
      31.25,
      TRUE,
      FALSE,
      "ball.nxs",
      1,
      "64 × 4 pixels, 3 views",
      "Format: NXtomo, uint16; Beam: Parallel; Angles: 0.00° … 120.00°; Turn: TURN; "
      "Flats and darks: 2 flats, 3 darks; Detector pixel: 0.25 mm; Energy: 17.5 keV; "
      "Sample to detector: 120 mm; Centre stated by the file: 31.25; "
      "Field of view: half: the axis is near one edge; Path: /data/ball.nxs; FLATS: ",
      "",
      0 },
    { TD_BEAM_CONE,
      { 0.25, 0.5 },
      0,
      0,
      NAN,
      FALSE,
      TRUE,
      "Ball",
      7,
      "ball.nxs\n64 × 4 pixels, 3 views",
      "Format: NXtomo, uint16; Beam: Cone; Angles: 0.00° … 120.00°; Turn: TURN; "
      "Flats and darks: none needed: the values are attenuations; Detector pixel: 0.25 × 0.5 mm; "
      "Path: /data/ball.nxs; FLATS: ",
      "Something else: ; ENTRIES: ",
      3 },
    { TD_BEAM_FAN,
      { 0.25, 0.25 },
      0,
      0,
      NAN,
      FALSE,
      FALSE,
      "Ball",
      2,
      "ball.nxs\n64 × 4 pixels, 3 views",
      "Format: NXtomo, uint16; Beam: Fan; Angles: 0.00° … 120.00°; Turn: TURN; "
      "Flats and darks: 2 flats, 3 darks; Detector pixel: 0.25 mm; Path: /data/ball.nxs",
      "Something else: ",
      0 },
  };
  double angles[3] = { 0, G_PI / 3, 2 * G_PI / 3 };
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_FACTS_GROUP, NULL));
  g_autoptr (GPtrArray) expanders = g_ptr_array_new ();
  TdTurn turn;

  td_turn_of_angles (angles, 3, &turn);
  g_autofree char *described = td_turn_describe (&turn);
  for (GtkWidget *list = td_test_find (group, GTK_TYPE_LIST_BOX, NULL, NULL),
                 *row = gtk_widget_get_first_child (list);
       row; row = gtk_widget_get_next_sibling (row))
    if (ADW_IS_EXPANDER_ROW (row))
      g_ptr_array_add (expanders, row);
  g_assert_cmpuint (expanders->len, ==, 2);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (all); i++) { /* what was shown before goes */
    const Fact *fact = &all[i % G_N_ELEMENTS (all)];
    TdMessage **notes = NULL;
    TdScanFacts facts = { .path = (char *) "/data/ball.nxs",
                          .format = "NXtomo",
                          .title = (char *) fact->title,
                          .n_columns = 64,
                          .n_rows = 4,
                          .n_views = 3,
                          .sample_type = TD_SAMPLE_UINT16,
                          .angles_rad = angles,
                          .n_flats = 2,
                          .n_darks = 3,
                          .energy_kev = fact->energy_kev,
                          .propagation_mm = fact->propagation_mm,
                          .centre_px = fact->centre_px,
                          .half_acquisition = fact->half,
                          .transmission_logged = fact->logged };
    td_geometry_init_parallel (&facts.geometry);
    facts.geometry.beam = fact->beam;
    facts.geometry.pixel_width_mm = fact->pixel_mm[0];
    facts.geometry.pixel_height_mm = fact->pixel_mm[1];
    g_autoptr (GString) meant = g_string_new (fact->facts), said = g_string_new (fact->said);
    g_string_replace (meant, "TURN", described, 0);
    if (fact->notes & 1) {
      td_messages_add (&notes, td_message_new (TD_SCAN_NOTE_FLATS, 2u, "/data/flats"));
      g_autofree char *words = td_message_text (notes[0], NULL);
      g_string_replace (meant, "FLATS", words, 0);
    }
    if (fact->notes & 2)
      td_messages_add (&notes, td_message_new_plain ("Something else"));
    if (fact->notes & 4) {
      td_messages_add (&notes, td_message_new ("The file holds %u scans (%s); %s was taken, "
                                               "{dataset:ENTRY} takes another.",
                                               9, "/one, /two, /three, … and 6 more", "/two"));
      g_autofree char *words
          = td_message_text (notes[td_messages_length (notes) - 1], td_label_naming);
      g_string_replace (said, "ENTRIES", words, 0);
    }
    facts.notes = notes;
    td_facts_group_show (group, &facts);
    g_autofree char *rows = facts_rows (expanders->pdata[0]);
    g_autofree char *other = facts_rows (expanders->pdata[1]);
    g_assert_cmpstr (rows, ==, meant->str);
    g_assert_cmpstr (other, ==, said->str);
    g_assert_cmpstr (adw_preferences_row_get_title (expanders->pdata[0]), ==, fact->title);
    g_assert_cmpstr (adw_expander_row_get_subtitle (expanders->pdata[0]), ==, fact->summary);
    g_assert_cmpstr (gtk_widget_get_tooltip_text (expanders->pdata[0]), ==, "/data/ball.nxs");
    const guint n = !!(fact->notes & 2) + !!(fact->notes & 4);
    g_assert_cmpint (gtk_widget_get_visible (expanders->pdata[1]), ==, n > 0);
    g_assert_cmpint (adw_expander_row_get_expanded (expanders->pdata[1]), ==, n > 0);
    g_assert_cmpstr (adw_preferences_row_get_title (expanders->pdata[1]), ==,
                     n == 1   ? "1 note about this scan"
                     : n == 2 ? "2 notes about this scan"
                              : "0 notes about this scan");
    AdwComboRow *entries = td_test_row (group, "Scan in the file");
    g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (entries)), ==, fact->n_entries > 0);
    g_assert_cmpuint (g_list_model_get_n_items (adw_combo_row_get_model (entries)), ==,
                      fact->n_entries);
    if (fact->n_entries)
      g_assert_cmpuint (adw_combo_row_get_selected (entries), ==, 1);
    td_messages_free (notes);
  }
  g_object_unref (group);
}

/* ── What is stated of a scan ── */

static TdScanStatement *stated;

static void
on_stated (gpointer dialog, const TdScanStatement *statement)
{
  g_clear_pointer (&stated, td_scan_statement_free);
  stated = td_scan_statement_copy (statement);
}

/* Angles are a range or a file, and not both; nothing opens without a path. */
static void
test_stated (void)
{
  g_autoptr (TdScanStatement) given = td_scan_statement_new ("/scan");
  GtkWidget *dialog = td_open_dialog_new (NULL, NULL, NULL);
  gpointer accept = td_test_part (dialog, "accept"), angles, file;

  g_assert_false (gtk_widget_get_visible (td_test_part (dialog, "problem")));
  g_assert_false (gtk_widget_get_sensitive (accept));
  g_signal_emit_by_name (td_test_part (dialog, "path"), "chosen", "/other");
  g_assert_true (gtk_widget_get_sensitive (accept));
  g_signal_emit_by_name (td_test_part (dialog, "path"), "chosen", NULL);
  g_assert_false (gtk_widget_get_sensitive (accept));
  gtk_window_destroy (GTK_WINDOW (dialog));

  td_scan_statement_set (given, TD_STATED_ANGLES, "0:180");
  for (guint i = 0; i < 4; i++) {
    dialog = td_open_dialog_new (NULL, given, i ? "It did not open" : NULL);
    g_signal_connect (dialog, "accepted", G_CALLBACK (on_stated), NULL);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "problem")), ==, i > 0);
    angles = td_test_part (dialog, "angles");
    file = td_test_part (dialog, "angle_file");
    g_assert_true (gtk_widget_get_sensitive (td_test_part (dialog, "accept")));
    g_assert_cmpstr (gtk_editable_get_text (angles), ==, "0:180");
    g_assert_null (td_file_row_get_path (file));
    if (i >= 1)
      g_signal_emit_by_name (file, "chosen", "/angles.txt");
    g_assert_cmpstr (gtk_editable_get_text (angles), ==, i ? "" : "0:180");
    g_assert_cmpstr (td_file_row_get_path (file), ==, i ? "/angles.txt" : NULL);
    if (i == 2) {
      gtk_editable_set_text (angles, "0:90");
      g_assert_null (td_file_row_get_path (file));
    }
    if (i == 3)
      g_signal_emit_by_name (file, "chosen", NULL);
    adw_combo_row_set_selected (td_test_part (dialog, "values"), i % 3);
    gtk_switch_set_active (td_test_part (dialog, "sinograms"), i == 1);
    gtk_switch_set_active (td_test_part (dialog, "external"), i == 2);
    gtk_editable_set_text (td_test_part (dialog, "raw"), i ? "64x64" : "");
    g_signal_emit_by_name (td_test_part (dialog, "flats"), "chosen", "/flats.tif");
    td_test_click (td_test_part (dialog, "accept"));
    g_assert_cmpstr (stated->path, ==, "/scan");
    g_assert_cmpstr (stated->texts[TD_STATED_ANGLES], ==,
                     i == 0   ? "0:180"
                     : i == 1 ? "/angles.txt"
                     : i == 2 ? "0:90"
                              : "");
    g_assert_cmpstr (stated->texts[TD_STATED_RAW], ==, i ? "64x64" : "");
    g_assert_cmpstr (stated->texts[TD_STATED_FLATS], ==, "/flats.tif");
    g_assert_cmpstr (stated->texts[TD_STATED_DARKS], ==, "");
    g_assert_cmpint (stated->sinograms, ==, i == 1);
    g_assert_cmpint (stated->allow_external, ==, i == 2);
  }
  g_clear_pointer (&stated, td_scan_statement_free);
  /* Who asks for flats is led to them. */
  dialog = td_open_dialog_new (NULL, given, NULL);
  gtk_window_present (GTK_WINDOW (dialog));
  g_assert_true (gtk_widget_is_ancestor (gtk_window_get_focus (GTK_WINDOW (dialog)),
                                         td_test_part (dialog, "angles")));
  td_test_frames (dialog);
  td_open_dialog_ask_flats (TD_OPEN_DIALOG (dialog));
  g_assert_true (
      gtk_widget_get_ancestor (gtk_window_get_focus (GTK_WINDOW (dialog)), TD_TYPE_FILE_ROW)
      == td_test_part (dialog, "flats"));
  gtk_window_destroy (GTK_WINDOW (dialog));
}

/* ── Steps ── */

static TdStep told_step;
static guint n_told, n_removed;
static int told_before; /* -1: nothing */

static void
on_step_changed (TdStepRow *row, const TdStep *step)
{
  told_step = *step;
  n_told++;
}

static void
on_step_removed (TdStepRow *row)
{
  n_removed++;
}

static void
on_step_before (TdStepRow *row, gboolean without)
{
  told_before = without;
}

static gboolean
is_before_button (GtkWidget *button, gpointer unused)
{
  const char *icon = gtk_button_get_icon_name (GTK_BUTTON (button));

  return icon && g_str_has_prefix (icon, "view-");
}

static gboolean
has_label (GtkWidget *button, gpointer label)
{
  return g_strcmp0 (gtk_button_get_label (GTK_BUTTON (button)), label) == 0;
}

/* Another value than the present one; returns it. */
static double
step_turn (GtkWidget *row)
{
  if (ADW_IS_COMBO_ROW (row)) {
    const guint other = adw_combo_row_get_selected (ADW_COMBO_ROW (row)) == 0;
    adw_combo_row_set_selected (ADW_COMBO_ROW (row), other);
    return other;
  }
  GtkSpinButton *spin = GTK_SPIN_BUTTON (td_test_find (row, GTK_TYPE_SPIN_BUTTON, NULL, NULL));
  const double before = gtk_spin_button_get_value (spin);
  gtk_spin_button_spin (spin, GTK_SPIN_STEP_FORWARD, 0);
  if (gtk_spin_button_get_value (spin) == before)
    gtk_spin_button_spin (spin, GTK_SPIN_STEP_BACKWARD, 0);
  g_assert_cmpfloat (gtk_spin_button_get_value (spin), !=, before);
  return gtk_spin_button_get_value (spin);
}

/* Each parameter of each step is told alone, as it is then, and goes back with the others. */
static void
test_steps (void)
{
  const TdStepKind *const *kinds = td_prepare_steps ();

  for (guint k = 0; kinds[k]; k++) {
    const TdStepKind *kind = kinds[k];
    GtkWidget *row = g_object_ref_sink (td_step_row_new (kind, NULL));
    GtkWidget *before = td_test_find (row, GTK_TYPE_TOGGLE_BUTTON, is_before_button, NULL);
    GtkWidget *reset = td_test_find (row, GTK_TYPE_BUTTON, has_label, (gpointer) "Reset");
    GtkWidget *removes = td_test_find (row, GTK_TYPE_BUTTON, has_label, (gpointer) "Remove");
    TdStep step;
    g_signal_connect (row, "changed", G_CALLBACK (on_step_changed), NULL);
    g_signal_connect (row, "removed", G_CALLBACK (on_step_removed), NULL);
    g_signal_connect (row, "before-toggled", G_CALLBACK (on_step_before), NULL);
    td_step_init (&step, kind);
    n_told = n_removed = 0;
    told_before = -1;
    g_test_message ("%s", kind->name);
    g_assert_true (td_step_row_kind (TD_STEP_ROW (row)) == kind);
    g_assert_cmpint (reset != NULL, ==, kind->n_parameters > 0);
    g_assert_cmpint (removes != NULL, ==, !kind->preset_on);
    td_step_row_show (TD_STEP_ROW (row), &step, "It does nothing here");
    g_assert_cmpstr (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)), ==,
                     "It does nothing here");
    td_step_row_show (TD_STEP_ROW (row), &step, NULL);
    g_assert_cmpstr (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)), ==,
                     kind->summary ? kind->summary : "");
    g_assert_cmpstr (gtk_widget_get_tooltip_text (row), ==, kind->summary);
    g_assert_true (!reset || !gtk_widget_get_sensitive (reset));
    g_assert_true (gtk_widget_get_sensitive (before));
    for (guint i = 0; i < kind->n_parameters; i++) {
      const guint told = n_told;
      const double value = step_turn (td_test_row (row, kind->parameters[i].title));
      g_assert_cmpuint (n_told, ==, told + 1);
      for (guint other = 0; other < kind->n_parameters; other++)
        g_assert_cmpfloat (told_step.values[other], ==,
                           other == i ? value : kind->parameters[other].preset);
      g_assert_true (told_step.enabled && gtk_widget_get_sensitive (reset));
      td_test_click (reset);
      g_assert_cmpuint (n_told, ==, told + 2);
      g_assert_cmpfloat (told_step.values[i], ==, kind->parameters[i].preset);
      g_assert_false (gtk_widget_get_sensitive (reset));
    }
    n_told = 0;
    adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (row), FALSE);
    g_assert_true (n_told == 1 && !told_step.enabled);
    g_assert_false (gtk_widget_get_sensitive (before));
    td_step_row_show (TD_STEP_ROW (row), &step, NULL);
    g_assert_true (adw_expander_row_get_enable_expansion (ADW_EXPANDER_ROW (row)));
    td_step_row_show (TD_STEP_ROW (row), NULL, NULL);
    g_assert_false (adw_expander_row_get_enable_expansion (ADW_EXPANDER_ROW (row)));
    td_step_row_show_before (TD_STEP_ROW (row), TRUE);
    g_assert_cmpstr (gtk_button_get_icon_name (GTK_BUTTON (before)), ==, "view-conceal-symbolic");
    g_assert_true (n_told == 1 && told_before == -1);
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (before), FALSE);
    g_assert_cmpint (told_before, ==, FALSE);
    g_assert_cmpstr (gtk_button_get_icon_name (GTK_BUTTON (before)), ==, "view-reveal-symbolic");
    gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (before), TRUE);
    g_assert_cmpint (told_before, ==, TRUE);
    if (removes)
      td_test_click (removes);
    g_assert_cmpuint (n_removed, ==, removes != NULL);
    g_object_unref (row);
  }
}

static void
on_group_edited (TdRecipeGroup *group, const TdRecipe *recipe, const char *key)
{
  static const TdScanFacts facts = { .n_columns = 96, .n_rows = 24, .n_views = 120 };

  edited = *recipe;
  td_recipe_group_show (group, &facts, &edited);
}

/* Each step's row, by its kind. */
static gboolean
is_row_of (GtkWidget *row, gpointer kind)
{
  return td_step_row_kind (TD_STEP_ROW (row)) == kind;
}

/* Of all steps that one is opened that was asked for or added, and no other. */
static void
test_steps_opened (void)
{
  const TdStepKind *const *kinds = td_prepare_steps ();
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_STEPS_GROUP, NULL));
  GtkWidget *chooser = td_test_find (group, TD_TYPE_STEP_CHOOSER, NULL, NULL);
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_signal_connect (group, "edited", G_CALLBACK (on_group_edited), NULL);
  for (guint k = 0; kinds[k]; k++)
    g_ptr_array_add (rows, td_test_find (group, TD_TYPE_STEP_ROW, is_row_of, (gpointer) kinds[k]));
  for (guint i = 0; i < 2 * rows->len; i++) {
    const TdStepKind *kind = kinds[i / 2];
    AdwExpanderRow *row = rows->pdata[i / 2];
    const gboolean is_there = td_recipe_step (&recipe, kind->name) != NULL;
    const gboolean added = i % 2 && !is_there;
    for (guint k = 0; k < rows->len; k++)
      adw_expander_row_set_expanded (rows->pdata[k], FALSE);
    on_group_edited (group, &recipe, NULL);
    g_test_message ("%s", kind->name);
    g_assert_null (td_steps_group_show_step (group, "no such step"));
    if (added)
      g_signal_emit_by_name (chooser, "chosen", kind->name);
    else
      g_assert_true (td_steps_group_show_step (group, kind->name) == row);
    g_assert_cmpint (td_recipe_step (&edited, kind->name) != NULL, ==, is_there || added);
    g_assert_true (adw_expander_row_get_expanded (row) || (!is_there && !added));
    for (guint k = 0; k < rows->len; k++)
      g_assert_true (rows->pdata[k] == row || !adw_expander_row_get_expanded (rows->pdata[k]));
  }
  g_object_unref (group);
}

/* ── Fields of a recipe ── */

static guint n_edited;

static void
on_field_edited (TdRecipeGroup *group, const TdRecipe *recipe, const char *key)
{
  edited = *recipe;
  g_free (edited_key);
  edited_key = g_strdup (key);
  n_edited++;
}

/* What a row shows: its number, its choice, or whether it is on. */
static double
field_value (GtkWidget *row)
{
  GtkWidget *is_on = td_test_find (row, GTK_TYPE_SWITCH, NULL, NULL);

  if (TD_IS_NUMBER_ROW (row))
    return td_number_row_get_value (TD_NUMBER_ROW (row));
  if (ADW_IS_COMBO_ROW (row))
    return adw_combo_row_get_selected (ADW_COMBO_ROW (row));
  return gtk_switch_get_active (GTK_SWITCH (is_on));
}

/* As a hand does it. */
static void
field_set (GtkWidget *row, double value)
{
  if (TD_IS_NUMBER_ROW (row))
    gtk_spin_button_set_value (
        GTK_SPIN_BUTTON (td_test_find (row, GTK_TYPE_SPIN_BUTTON, NULL, NULL)), value);
  else if (ADW_IS_COMBO_ROW (row))
    adw_combo_row_set_selected (ADW_COMBO_ROW (row), (guint) value);
  else
    gtk_switch_set_active (GTK_SWITCH (td_test_find (row, GTK_TYPE_SWITCH, NULL, NULL)),
                           value != 0);
}

static gboolean
is_reset (GtkWidget *button, gpointer unused)
{
  return gtk_widget_has_css_class (button, "reset");
}

static const char *
second_filter_is_not (const char *option, guint index, gpointer why)
{
  return strcmp (option, "filter") == 0 && index == 2 ? why : NULL;
}

/* Each kind of field is shown as the recipe has it, is written alone, and goes back to its default.
   A choice that is ruled out is not taken. */
static void
test_fields (void)
{
  const struct {
    TdRecipeRow row;
    double preset, least, most; /* most 0: no number */
    double value;
    const char *text;     /* the same as an option's */
    const char *given[2]; /* with which it applies; NULL: with all */
  } fields[] = {
    { { "cutoff", "c", .step = 0.05, .page = 0.1, .digits = 2 },
      1,
      0.01,
      1,
      0.5,
      "0.5",
      { "filter", "hann" } },
    { { "iterations", "i", "Words below", .step = 1, .page = 10 },
      20,
      1,
      10000,
      7,
      "7",
      { "method", "sirt" } },
    { { "tolerance", "t", .step = 0.001, .page = 0.01, .digits = 3 },
      0,
      0,
      1,
      0.25,
      "0.25",
      { "method", "sirt" } },
    { { "memory-limit", NULL, .step = 0.5, .page = 4, .digits = 1 }, 0, 0, 4096, 2.5, "2.5G" },
    { { "non-negative", "n" }, 1, 0, 0, 0, "false", { "method", "sirt" } },
    { { "start", "s" }, 1, 0, 0, 0, "zero", { "method", "sirt" } },
    { { "filter", "f" }, TD_FILTER_RAM_LAK, 0, 0, TD_FILTER_HANN, "hann" },
    { { "method", NULL }, TD_METHOD_AUTO, 0, 0, TD_METHOD_FOURIER, "fourier" },
    { { "kernel", NULL }, 0, 0, 0, 1, td_family_choice_value (1) },
    { { "interpolation", NULL }, TD_INTERPOLATION_AUTO, 0, 0, TD_INTERPOLATION_NEAREST, "nearest" },
  };
  TdScanFacts facts = { .n_columns = 96, .n_rows = 24, .n_views = 120, .centre_px = NAN };
  gpointer group = g_object_ref_sink (g_object_new (TD_TYPE_RECIPE_GROUP, NULL));
  GtkWidget *rows[G_N_ELEMENTS (fields)];
  TdRecipe preset;

  td_geometry_init_parallel (&facts.geometry);
  td_recipe_init (&preset);
  g_signal_connect (group, "edited", G_CALLBACK (on_field_edited), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    rows[i] = td_recipe_group_add (group, &fields[i].row);
  field_set (rows[0], 0.75); /* of no recipe yet */
  g_assert_cmpuint (n_edited, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    TdRecipe base = preset;
    GtkWidget *reset = td_test_find (rows[i], GTK_TYPE_BUTTON, is_reset, NULL);
    if (fields[i].given[0])
      g_assert_true (td_recipe_set (&base, fields[i].given[0], fields[i].given[1], NULL));
    TdRecipe recipe = base;
    g_assert_true (td_recipe_set (&recipe, fields[i].row.option, fields[i].text, NULL));
    g_test_message ("%s", fields[i].row.option);
    n_edited = 0;
    td_recipe_group_show (group, &facts, &base);
    g_assert_cmpfloat (field_value (rows[i]), ==, fields[i].preset);
    g_assert_false (gtk_widget_get_visible (reset));
    if (!ADW_IS_COMBO_ROW (rows[i])) /* which tells its choice there */
      g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (rows[i])), ==,
                       fields[i].row.subtitle ? fields[i].row.subtitle : "");
    if (fields[i].most > 0) {
      GtkWidget *spin = td_test_find (rows[i], GTK_TYPE_SPIN_BUTTON, NULL, NULL);
      GtkAdjustment *number = gtk_spin_button_get_adjustment (GTK_SPIN_BUTTON (spin));
      g_assert_cmpfloat_with_epsilon (gtk_adjustment_get_lower (number), fields[i].least, 1e-9);
      g_assert_cmpfloat_with_epsilon (gtk_adjustment_get_upper (number), fields[i].most, 1e-9);
      g_assert_cmpfloat (gtk_adjustment_get_step_increment (number), ==, fields[i].row.step);
      g_assert_cmpfloat (gtk_adjustment_get_page_increment (number), ==, fields[i].row.page);
    }
    g_assert_cmpuint (n_edited, ==, 0);
    field_set (rows[i], fields[i].value);
    g_assert_cmpuint (n_edited, ==, 1);
    g_assert_cmpstr (edited_key, ==, fields[i].row.key);
    g_assert_true (td_recipe_equal (&edited, &recipe));
    td_recipe_group_show (group, &facts, &recipe);
    g_assert_cmpfloat (field_value (rows[i]), ==, fields[i].value);
    g_assert_cmpuint (n_edited, ==, 1);
    g_assert_true (gtk_widget_get_visible (reset));
    td_test_click (reset);
    g_assert_cmpuint (n_edited, ==, 2);
    g_assert_null (edited_key);
    g_assert_true (td_recipe_equal (&edited, &base));
  }
  /* Nothing below zero applies to what iterates alone. */
  TdRecipe sirt = preset;
  sirt.method = TD_METHOD_SIRT;
  td_recipe_group_show (group, &facts, &preset);
  g_assert_false (gtk_widget_get_sensitive (rows[1]));
  g_assert_nonnull (gtk_widget_get_tooltip_text (rows[1]));
  td_recipe_group_show (group, &facts, &sirt);
  g_assert_true (gtk_widget_get_sensitive (rows[1]));
  g_assert_null (gtk_widget_get_tooltip_text (rows[1]));
  /* What is ruled out. */
  td_recipe_group_show (group, &facts, &preset);
  td_recipe_group_set_reasons (group, second_filter_is_not, (gpointer) "not today");
  edited = preset;
  field_set (rows[6], 2);
  g_assert_cmpfloat (field_value (rows[6]), ==, TD_FILTER_RAM_LAK);
  g_assert_true (td_recipe_equal (&edited, &preset));
  field_set (rows[6], 3);
  g_assert_cmpint (edited.filter.kind, ==, 3);
  field_set (rows[7], 2); /* another field's second choice */
  g_assert_cmpint (edited.method, ==, 2);
  g_object_unref (group);
  /* A group of rows that hide goes with them. */
  group = g_object_ref_sink (g_object_new (TD_TYPE_RECIPE_GROUP, NULL));
  const TdRecipeRow hiding = { "iterations", NULL, .step = 1, .page = 10, .hides = TRUE };
  GtkWidget *row = td_recipe_group_add (group, &hiding);
  for (guint i = 0; i < 2; i++) {
    td_recipe_group_show (group, &facts, i ? &sirt : &preset);
    g_assert_cmpint (gtk_widget_get_visible (row), ==, i);
    g_assert_cmpint (gtk_widget_get_visible (group), ==, i);
  }
  g_object_unref (group);
  g_clear_pointer (&edited_key, g_free);
}

int
main (int argc, char **argv)
{
  guide_overlay ();
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  g_test_add_func ("/rows/file", test_file);
  g_test_add_func ("/rows/filters", test_filters);
  g_test_add_func ("/rows/number", test_number);
  g_test_add_func ("/rows/wheel", test_wheel);
  g_test_add_func ("/rows/insensitive", test_insensitive);
  g_test_add_func ("/rows/plain", test_plain);
  g_test_add_func ("/rows/wrap-places", test_wrap_places);
  g_test_add_func ("/rows/guide-page", test_guide_page);
  g_test_add_func ("/rows/trials", test_trials);
  g_test_add_func ("/rows/trial-pictures", test_trial_pictures);
  g_test_add_func ("/rows/region", test_region);
  g_test_add_func ("/rows/steps", test_steps);
  g_test_add_func ("/rows/steps-opened", test_steps_opened);
  g_test_add_func ("/rows/fields", test_fields);
  g_test_add_func ("/rows/facts", test_facts);
  g_test_add_func ("/rows/stated", test_stated);
  g_test_add_func ("/rows/wrapped",
                   test_wrapped); /* the last: from here on nobody writes warnings */
  const int status = g_test_run ();
  td_test_folder_remove ();
  g_free (chosen);
  td_device_leave (status);
}
