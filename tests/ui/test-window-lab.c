/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The precision lab as a person uses it: its pictures, figures, variants and blind test show what
   was computed. The tests run in order in one window. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/lab/lab-review.h"
#include "ui-test.h"
#include "ui/lab-chart.h"
#include "ui/lab-editor.h"
#include "ui/lab-pictures.h"
#include "ui/lab-view.h"
#include "window-pins.h"
#include "window-test.h"

#define COLUMNS 96
#define ROW 12

static TdApplication *application;
static char *scan_path;

static gpointer
lab (const char *part)
{
  return td_test_part (td_test_window, part);
}

static void
activate (const char *action, GVariant *parameter)
{
  g_assert_true (gtk_widget_activate_action_variant (lab ("lab_view"), action, parameter));
}

static gboolean
is_measured (gpointer unused)
{
  return !gtk_widget_get_visible (lab ("lab_view.progress"))
         && g_str_has_prefix (gtk_label_get_text (lab ("lab_view.figures")), "noise of the data ");
}

static void
choose_mode (const char *mode)
{
  g_autofree char *name = g_strconcat ("lab_view.pictures.", mode, NULL);

  gtk_toggle_button_set_active (lab (name), TRUE);
}

static TdImagePane *
big (void)
{
  return lab ("lab_view.pictures.big");
}

static gboolean
pane_is (GtkWidget *pane, gpointer title)
{
  return g_str_has_prefix (gtk_label_get_text (td_test_part (pane, "title")), title);
}

static TdImagePane *
pane_of (const char *title)
{
  gpointer pane = td_test_find (lab ("lab_view.pictures.panes_grid"), TD_TYPE_IMAGE_PANE, pane_is,
                                (gpointer) title);
  g_assert_nonnull (pane);
  return pane;
}

static double
rms_of (const TdImage *image)
{
  double sum = 0;
  const gsize n = (gsize) image->width * image->height;

  for (gsize i = 0; i < n; i++)
    sum += (double) image->pixels[i] * image->pixels[i];
  return sqrt (sum / (double) n);
}

static gboolean
difference_is_there (gpointer unused)
{
  return td_image_pane_get_image (big ())
         && !gtk_widget_has_css_class (GTK_WIDGET (big ()), "updating")
         && strstr (gtk_label_get_text (td_test_part (big (), "title")), "A − B");
}

static gboolean
other_difference_is_there (gpointer than)
{
  return difference_is_there (NULL) && td_image_pane_get_image (big ()) != than;
}

static gboolean
label_has (GtkWidget *label, gpointer text)
{
  return strstr (gtk_label_get_text (GTK_LABEL (label)), text) != NULL;
}

/* A cone's first variants are what its kernels differ in, not what FDK refuses. Those of a graphics
   card are emulated here, and say so. Reference, noise and budget are there, and can be stopped. */
static void
test_cone (void)
{
  const char *options[]
      = { "--cone", "--columns=48", "--rows=40", "--views=60", "--photons=20000", NULL };
  g_autofree char *cone = td_test_phantom ("cone.nxs", options);

  td_test_open (cone);
  td_test_show_page ("lab");
  td_test_wait (is_measured, NULL, "the lab of a cone");
  for (const char *const *title = (const char *const[]) { "A: 1", "B: 2", "3", "Reference", NULL };
       *title; title++) {
    g_assert_nonnull (td_image_pane_get_image (pane_of (*title)));
    g_assert_false (gtk_widget_get_visible (td_test_part (pane_of (*title), "message_box")));
  }
  g_assert_false (gtk_widget_get_visible (td_test_part (pane_of ("A: 1"), "badge")));
  g_assert_true (gtk_widget_get_visible (td_test_part (pane_of ("B: 2"), "badge")));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-cone");
  gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), "budget");
  activate ("lab.budget", NULL);
  activate ("lab.stop", NULL);
  g_assert_false (gtk_widget_get_visible (lab ("lab_view.progress")));
  g_assert_true (
      g_str_has_prefix (gtk_label_get_text (lab ("lab_view.figures")), "Stopped: what is missing"));
  activate ("lab.budget", NULL);
  td_test_wait (is_measured, NULL, "the budget of a cone");
  GtkGrid *budget = lab ("lab_view.budget");
  guint n_rows = 0;
  for (; gtk_grid_get_child_at (budget, 0, (int) n_rows); n_rows++)
    for (guint column = 0; column < 4; column++) {
      GtkWidget *cell = gtk_grid_get_child_at (budget, (int) column, (int) n_rows);
      g_assert_nonnull (cell);
      g_assert_true (column == 0 || n_rows == 0
                     || g_ascii_isdigit (gtk_label_get_text (GTK_LABEL (cell))[0]));
    }
  g_assert_cmpuint (n_rows, >, 2);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-cone-budget");
  gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), "table");
  /* Whoever closes the scan ends its lab: nothing says that it goes on. */
  activate ("lab.budget", NULL);
  g_assert_true (gtk_widget_get_visible (lab ("lab_view.stop")));
  td_test_activate ("close-scan", NULL);
  g_assert_false (gtk_widget_get_visible (lab ("lab_view.stop")));
  td_test_open (scan_path);
  td_test_show_page ("lab");
}

/* Two variants without a click: linear and nearest, beside the reference. They are called as the
   window calls what they take. */
static void
test_pictures (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  const gsize n = (gsize) COLUMNS * COLUMNS;

  td_test_show_page ("lab");
  td_test_wait (is_measured, NULL, "the lab to be measured");
  g_autofree float *linear = td_test_slice_by_job (&recipe, ROW);
  recipe.interpolation = TD_INTERPOLATION_NEAREST;
  g_autofree float *nearest = td_test_slice_by_job (&recipe, ROW);
  const TdImage *a = td_image_pane_get_image (pane_of ("A: 1"));
  const TdImage *b = td_image_pane_get_image (pane_of ("B: 2"));
  const TdImage *reference = td_image_pane_get_image (pane_of ("Reference"));
  const double truth = td_test_rms_between (linear, nearest, n);
  g_assert_cmpfloat (td_test_rms_between (a->pixels, linear, n), <, 1e-3 * truth);
  g_assert_cmpfloat (td_test_rms_between (b->pixels, nearest, n), <, 1e-3 * truth);
  g_assert_cmpfloat (td_test_rms_between (reference->pixels, linear, n), <, 1e-3 * truth);
  GtkWidget *view = td_test_part (td_test_window, "lab_view");
  g_assert_nonnull (td_test_find (view, GTK_TYPE_LABEL, label_has, "2  Interpolation: Nearest"));
  g_assert_nonnull (td_test_find (view, GTK_TYPE_LABEL, label_has, "1  As the recipe"));
  g_assert_null (td_test_find (view, GTK_TYPE_LABEL, label_has, "--interpolation"));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab");

  choose_mode ("difference");
  td_test_wait (difference_is_there, NULL, "the difference");
  const double rms = rms_of (td_image_pane_get_image (big ()));
  g_assert_cmpfloat (fabs (rms - truth), <, 1e-3 * truth);
  /* The difference has the scale of what it is the difference of. */
  g_assert_cmpfloat (td_slice_view_get_pixel_mm (td_image_pane_view (big ())), ==, 0.25);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-difference");

  /* In units of the noise: the same picture, by one number. */
  g_autoptr (TdImage) plain = td_image_ref (td_image_pane_get_image (big ()));
  gtk_toggle_button_set_active (lab ("lab_view.pictures.in_noise"), TRUE);
  td_test_wait (other_difference_is_there, plain, "the difference in units of the noise");
  const TdImage *divided = td_image_pane_get_image (big ());
  const double noise = rms / rms_of (divided);
  g_assert_nonnull (strstr (gtk_label_get_text (td_test_part (big (), "title")), "noise"));
  g_assert_cmpfloat (fabs (noise - 1), >, 1e-3);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (divided->pixels[i] * noise, plain->pixels[i], 1e-5 * rms);
  gtk_toggle_button_set_active (lab ("lab_view.pictures.in_noise"), FALSE);
  td_test_wait (difference_is_there, NULL, "the plain difference");
  td_test_pin_window ("lab", lab ("lab_view"));
}

/* Four bytes a pixel, in the order of the screen. (transfer full) */
static guint8 *
pixels_of (GtkWidget *widget)
{
  g_autoptr (GBytes) png = td_test_picture_at_rest (widget);
  g_autoptr (GError) error = NULL;
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_bytes (png, &error);
  g_assert_no_error (error);
  const gsize n = gdk_texture_get_width (texture);
  guint8 *pixels = g_malloc (4 * n * gdk_texture_get_height (texture));

  g_assert_cmpuint (n, ==, gtk_widget_get_width (widget));
  gdk_texture_download (texture, pixels, 4 * n);
  return pixels;
}

#define LINE_OF_PIXELS 20 /* above the bar's handle */

static void
drag_bar (GtkWidget *view, double from, double by)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (view);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
    if (!GTK_IS_GESTURE_DRAG (one))
      continue;
    g_signal_emit_by_name (one, "drag-begin", from, 5.0);
    g_signal_emit_by_name (one, "drag-update", by, 0.0);
    g_signal_emit_by_name (one, "drag-end", by, 0.0);
  }
}

/* F held: B in the place of A, at the same place and contrast. Let go: A. */
static void
test_flicker (void)
{
  gboolean fitted;

  choose_mode ("single");
  const TdImage *a = td_image_pane_get_image (big ());
  g_assert_true (a == td_image_pane_get_image (pane_of ("A: 1")));
  TdView view = *td_slice_view_get_view (td_image_pane_view (big ()), &fitted);
  view.zoom *= 3;
  td_slice_view_set_view (td_image_pane_view (big ()), &view, FALSE);
  g_signal_emit_by_name (td_image_pane_view (big ()), "view-changed");
  const TdStyle style = *td_slice_view_get_style (td_image_pane_view (big ()));

  g_assert_false (td_test_key (GDK_KEY_g, 0, TRUE));
  g_assert_false (td_test_key (GDK_KEY_f, GDK_CONTROL_MASK, TRUE));
  g_assert_false (td_test_key (GDK_KEY_F, GDK_ALT_MASK, TRUE));
  g_assert_true (td_image_pane_get_image (big ()) == a);
  g_assert_true (td_test_key (GDK_KEY_f, 0, TRUE));
  g_assert_true (td_test_key (GDK_KEY_f, 0, TRUE)); /* the keyboard repeats it */
  const TdImage *b = td_image_pane_get_image (big ());
  g_assert_true (b != a && b == td_image_pane_get_image (pane_of ("B: 2")));
  const TdView *held = td_slice_view_get_view (td_image_pane_view (big ()), &fitted);
  g_assert_cmpfloat (held->zoom, ==, view.zoom);
  g_assert_cmpfloat (held->x, ==, view.x);
  const TdStyle *held_style = td_slice_view_get_style (td_image_pane_view (big ()));
  g_assert_cmpfloat (held_style->low, ==, style.low);
  g_assert_cmpfloat (held_style->high, ==, style.high);
  td_test_key (GDK_KEY_g, 0, FALSE);
  g_assert_true (td_image_pane_get_image (big ()) == b);
  g_autofree guint8 *right = pixels_of (GTK_WIDGET (td_image_pane_view (big ())));
  td_test_key (GDK_KEY_f, 0, FALSE);
  g_assert_true (td_image_pane_get_image (big ()) == a);
  g_assert_true (td_test_key (GDK_KEY_F, 0, TRUE));
  g_assert_true (td_image_pane_get_image (big ()) == b);
  td_test_key (GDK_KEY_F, 0, FALSE);
  g_assert_true (td_image_pane_get_image (big ()) == a);

  /* Divided: A left of the bar and B right of it, each to its end, also where the bar is drawn. */
  GtkWidget *canvas = GTK_WIDGET (td_image_pane_view (big ()));
  const guint n = gtk_widget_get_width (canvas);
  g_autofree guint8 *left = pixels_of (canvas);
  choose_mode ("wipe");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-wipe");
  static const double bars[] = { 0.5, 0.8, 0.02, 0.98 };
  for (guint i = 0; i < G_N_ELEMENTS (bars); i++) {
    if (i > 0)
      drag_bar (canvas, bars[i - 1] * n, (bars[i] - bars[i - 1]) * n * (i > 1 ? 2 : 1));
    g_autofree guint8 *divided = pixels_of (canvas);
    const guint frame = i > 0 ? 2 : 0; /* of the focus */
    guint differs = 0;
    for (guint x = frame; x < n - frame; x++) {
      const gsize at = 4 * ((gsize) LINE_OF_PIXELS * n + x);
      if (fabs (x - bars[i] * n) > 6)
        g_assert_cmpmem (divided + at, 4, (x < bars[i] * n ? left : right) + at, 4);
      differs += memcmp (left + at, right + at, 4) != 0;
    }
    g_assert_cmpuint (differs, >, n / 4);
  }
  choose_mode ("grid");
}

static gboolean
are_lower (gpointer than)
{
  const int one = gtk_widget_get_height (GTK_WIDGET (td_image_pane_view (pane_of ("A: 1"))));
  const int two = gtk_widget_get_height (GTK_WIDGET (td_image_pane_view (pane_of ("B: 2"))));

  return one == two && one < GPOINTER_TO_INT (than);
}

/* However many lines a name takes: pictures beside each other are equally large. */
static void
test_headings (void)
{
  TdImagePane *one = pane_of ("A: 1");
  g_autofree char *title = g_strdup (gtk_label_get_text (td_test_part (one, "title")));
  td_test_frames (GTK_WIDGET (td_test_window)); /* the grid was hidden while things came and went */
  const int before = gtk_widget_get_height (GTK_WIDGET (td_image_pane_view (pane_of ("B: 2"))));

  td_image_pane_set_title (one,
                           "A: 1 Kernel that has a name of very many words, which takes lines");
  td_test_wait (are_lower, GINT_TO_POINTER (before), "both pictures to become lower");
  td_image_pane_set_title (one, title);
  td_test_pin_window ("lab", lab ("lab_view"));
}

/* What is exported for a page has the pictures with their names, and no button. */
static void
test_figure (void)
{
  GtkWidget *area = td_lab_pictures_area (lab ("lab_view.pictures"));
  GtkWidget *button = td_test_button (pane_of ("A: 1"), "Fit (0)");
  graphene_rect_t bounds;
  guint width, height;

  choose_mode ("grid");
  td_test_frames (GTK_WIDGET (td_test_window)); /* what is laid out anew is drawn once more */
  g_assert_true (gtk_widget_get_mapped (button));
  g_autoptr (GBytes) bytes = td_lab_view_picture (lab ("lab_view"), &width, &height);
  g_assert_true (gtk_widget_compute_bounds (button, area, &bounds));
  const guint32 *pixels = g_bytes_get_data (bytes, NULL);
  const guint32 *corner = pixels + (gsize) bounds.origin.y * width + (gsize) bounds.origin.x;
  guint inked = 0;
  for (gsize y = 0; y < (gsize) bounds.size.height; y++)
    for (gsize x = 0; x < (gsize) bounds.size.width; x++)
      inked += corner[y * width + x] != 0;
  g_assert_cmpuint (inked, ==, 0);
  for (gsize x = 0; x < width * (gsize) bounds.size.height; x++) /* the names */
    inked += pixels[x] != 0;
  g_assert_cmpuint (inked, >, 100);
}

/* Linked: zoom and contrast of one are those of all; not linked: they are not. */
static void
test_link (void)
{
  TdSliceView *one = td_image_pane_view (pane_of ("A: 1"));
  TdSliceView *two = td_image_pane_view (pane_of ("B: 2"));
  gboolean fitted;
  TdView view = *td_slice_view_get_view (one, &fitted);

  view.zoom = 7;
  td_slice_view_set_view (one, &view, FALSE);
  g_signal_emit_by_name (one, "view-changed");
  g_assert_cmpfloat (td_slice_view_get_view (two, NULL)->zoom, ==, 7);
  td_image_pane_set_range (pane_of ("B: 2"), -0.25, 0.75);
  g_assert_cmpfloat (td_slice_view_get_style (one)->low, ==, -0.25);
  /* The contrast of a difference is its own, and that of one picture is all's. */
  choose_mode ("difference");
  td_test_wait (difference_is_there, NULL, "the difference");
  td_image_pane_set_range (big (), -3, 5);
  g_assert_cmpfloat (td_slice_view_get_style (one)->low, ==, -0.25);
  td_image_pane_set_range (pane_of ("A: 1"), -0.5, 0.5);
  g_assert_cmpfloat (td_slice_view_get_style (two)->high, ==, 0.5);
  g_assert_cmpfloat (td_slice_view_get_style (td_image_pane_view (big ()))->low, ==, -3);
  g_assert_cmpfloat (td_slice_view_get_style (td_image_pane_view (big ()))->high, ==, 5);
  choose_mode ("single");
  td_image_pane_set_range (big (), -0.75, 0.25);
  g_assert_cmpfloat (td_slice_view_get_style (one)->low, ==, -0.75);
  g_assert_cmpfloat (td_slice_view_get_style (two)->high, ==, 0.25);
  choose_mode ("grid");
  gtk_toggle_button_set_active (lab ("lab_view.pictures.link"), FALSE);
  view.zoom = 2;
  td_slice_view_set_view (one, &view, FALSE);
  g_signal_emit_by_name (one, "view-changed");
  g_assert_cmpfloat (td_slice_view_get_view (two, NULL)->zoom, ==, 7);
  gtk_toggle_button_set_active (lab ("lab_view.pictures.link"), TRUE);
  g_assert_cmpfloat (td_slice_view_get_view (two, NULL)->zoom, ==, 2);
  td_slice_view_fit (one);
}

static gboolean
sheet_settled (gpointer unused)
{
  return gtk_stack_get_transition_running (lab ("lab_view.sheets")) == FALSE;
}

static void
test_sheets (void)
{
  static const char *const sheets[] = { "profile", "resolution", "scatter", "blind" };

  for (guint i = 0; i < G_N_ELEMENTS (sheets); i++) {
    g_autofree char *name = g_strconcat ("window-lab-", sheets[i], NULL);
    gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), sheets[i]);
    td_test_wait (sheet_settled, NULL, "the sheet");
    td_test_screenshot (GTK_WIDGET (td_test_window), name);
    if (g_str_equal (sheets[i], "profile")) /* rounding decides where axes of differences end */
      td_test_pin_window (sheets[i], lab ("lab_view.profile"));
    else if (!g_str_equal (sheets[i], "scatter")) /* of times */
      td_test_pin_window (sheets[i], lab ("lab_view.sheets"));
  }
}

static gboolean
budget_is_there (gpointer unused)
{
  return is_measured (NULL) && gtk_widget_get_first_child (lab ("lab_view.budget"));
}

static void
test_budget (void)
{
  gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), "budget");
  activate ("lab.budget", NULL);
  td_test_wait (budget_is_there, NULL, "the budget");
  /* What is told in units of the noise is that of a mean, and so less than the largest. */
  double noise = 0;
  g_assert_cmpint (
      sscanf (gtk_label_get_text (lab ("lab_view.figures")), "noise of the data %lf", &noise), ==,
      1);
  for (int row = 1; gtk_grid_get_child_at (lab ("lab_view.budget"), 0, row); row++) {
    double told[2];
    for (int i = 0; i < 2; i++)
      told[i] = g_ascii_strtod (gtk_label_get_text (GTK_LABEL (
                                    gtk_grid_get_child_at (lab ("lab_view.budget"), 2 + i, row))),
                                NULL);
    g_test_message ("%g, %g of the noise", told[0], told[1]);
    g_assert_true (told[1] <= 1.1 * told[0] / noise && told[1] >= 1e-3 * told[0] / noise);
  }
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-budget");
  gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), "table");
}

/* ── The line ── */

/* Whether the line's colour is near to the place of a picture's pixel. */
static gboolean
is_drawn_at (TdImagePane *pane, double column, double row)
{
  GtkWidget *all = GTK_WIDGET (td_test_window), *view = GTK_WIDGET (td_image_pane_view (pane));
  const TdImage *image = td_image_pane_get_image (pane);
  g_autofree guint8 *pixels = pixels_of (all);
  const int width = gtk_widget_get_width (all);
  graphene_rect_t bounds;
  double x, y;
  guint found = 0;

  g_assert_true (gtk_widget_compute_bounds (view, all, &bounds));
  td_view_from_picture (td_slice_view_get_view (TD_SLICE_VIEW (view), NULL), bounds.size.width,
                        bounds.size.height, column - (image->extent_width - 1) / 2,
                        row - (image->extent_height - 1) / 2, &x, &y);
  for (int down = -3; down <= 3; down++) {
    const guint8 *pixel
        = pixels
          + 4 * ((gsize) (bounds.origin.y + y + down) * width + (gsize) (bounds.origin.x + x));
    found += pixel[2] > 150 && pixel[1] > 100 && pixel[0] < 100; /* blue, green, red */
  }
  return found > 0;
}

static void
draw_line (double row)
{
  g_signal_emit_by_name (lab ("lab_view.pictures"), "line-drawn", 10.0, row, 86.0, row);
}

/* It lies on the pictures, wherever they are moved to. What was drawn while something is computed
   is still the line when that has come. */
static void
test_line (void)
{
  static const char *const titles[] = { "A: 1", "B: 2", "Reference" };

  choose_mode ("grid");
  draw_line (40);
  for (guint pass = 0; pass < 3; pass++) {
    for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
      g_assert_true (is_drawn_at (pane_of (titles[i]), 48, 40));
    if (pass < 2)
      td_test_activate ("toggle-sidebar", NULL);
    td_test_pause (400);
  }
  /* A heading of more lines moves the pictures, and nothing else. */
  g_autofree char *title = g_strdup (gtk_label_get_text (td_test_part (pane_of ("A: 1"), "title")));
  td_image_pane_set_title (pane_of ("A: 1"), "A: 1 Kernel of a name that has very many words");
  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    g_assert_true (is_drawn_at (pane_of (titles[i]), 48, 40));
  td_image_pane_set_title (pane_of ("A: 1"), title);
  activate ("lab.preset", g_variant_new_string ("interpolations"));
  draw_line (60);
  td_test_wait (is_measured, NULL, "the lab with another line");
  g_assert_true (is_drawn_at (pane_of ("A: 1"), 48, 60));
  activate ("lab.budget", NULL);
  draw_line (24);
  td_test_wait (is_measured, NULL, "the budget with another line");
  g_assert_true (is_drawn_at (pane_of ("A: 1"), 48, 24));
  gtk_stack_set_visible_child_name (lab ("lab_view.sheets"), "table");
}

/* ── Export ── */

/* Nothing is asked where nothing can be written. */
static void
test_nothing_to_export (void)
{
  activate ("lab.preset", g_variant_new_string ("interpolations"));
  activate ("lab.save-csv", NULL);
  g_assert_cmpstr (gtk_label_get_text (lab ("lab_view.figures")), ==,
                   "There is nothing yet to be exported");
  td_test_wait (is_measured, NULL, "the lab again");
}

static void
begin_in_vain (const char *why)
{
  gpointer blind = lab ("lab_view.blind");

  g_signal_emit_by_name (td_test_part (blind, "begin"), "clicked");
  g_assert_true (g_str_has_prefix (gtk_label_get_text (td_test_part (blind, "words")), why));
  g_assert_false (gtk_widget_get_visible (td_test_part (blind, "test")));
}

/* X is A or B; the answers are counted, and the names are back at the end. */
static void
test_blind (void)
{
  gpointer blind = lab ("lab_view.blind");

  gtk_drop_down_set_selected (lab ("lab_view.pictures.choose_b"), 0);
  begin_in_vain ("A and B are the same picture");
  gtk_drop_down_set_selected (lab ("lab_view.pictures.choose_b"), 1);
  activate ("lab.preset", g_variant_new_string ("interpolations"));
  begin_in_vain ("A or B has no picture yet");
  td_test_wait (is_measured, NULL, "the lab for the blind test");

  g_signal_emit_by_name (td_test_part (blind, "begin"), "clicked");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (big (), "title")), ==, "X");
  g_assert_false (gtk_widget_get_sensitive (lab ("lab_view.pictures.tools")));
  g_assert_false (gtk_widget_get_visible (td_test_part (big (), "histogram")));
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (td_test_window))
                 == td_test_part (blind, "show_x"));
  const TdImage *x = td_image_pane_get_image (big ());
  gtk_toggle_button_set_active (td_test_part (blind, "show_b"), TRUE);
  const TdImage *b = td_image_pane_get_image (big ());
  g_assert_cmpstr (gtk_label_get_text (td_test_part (big (), "title")), ==, "B");
  g_signal_emit_by_name (td_test_part (blind, x == b ? "is_b" : "is_a"), "clicked");
  g_assert_true (g_str_has_prefix (gtk_label_get_text (td_test_part (blind, "score")),
                                   "1 of 1 right: by guessing that happens with p = 0.5."));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-blind-running");
  g_signal_emit_by_name (td_test_part (blind, "begin"), "clicked");
  g_assert_true (g_str_has_prefix (gtk_label_get_text (td_test_part (blind, "words")), "Can you"));
  g_assert_true (gtk_widget_get_visible (lab ("lab_view.pictures.panes")));
  g_assert_true (gtk_widget_get_visible (td_test_part (big (), "histogram")));
}

static gboolean
there_are (gpointer n)
{
  GtkDropDown *chooser = lab ("lab_view.pictures.choose_a");

  return g_list_model_get_n_items (gtk_drop_down_get_model (chooser)) == GPOINTER_TO_UINT (n)
         && is_measured (NULL);
}

static TdLabEditor *
editor (void)
{
  return TD_LAB_EDITOR (td_test_find (lab ("lab_view"), TD_TYPE_LAB_EDITOR, NULL, NULL));
}

static gboolean
is_shortened (GtkWidget *label, gpointer unused)
{
  return gtk_widget_get_mapped (label)
         && pango_layout_is_ellipsized (gtk_label_get_layout (GTK_LABEL (label)));
}

static gboolean
begins_with (GtkWidget *label, gpointer text)
{
  return g_str_has_prefix (gtk_label_get_text (GTK_LABEL (label)), text);
}

/* The button of a chooser shortens a long name; its tooltip and its list have all of it. */
static void
choosers_tell_all (const char *number)
{
  static const char *const names[] = { "lab_view.pictures.choose_a", "lab_view.pictures.choose_b" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    GtkDropDown *chooser = lab (names[i]);
    const guint before = gtk_drop_down_get_selected (chooser);
    gtk_drop_down_set_selected (chooser, (guint) g_ascii_strtoull (number, NULL, 10) - 1);
    const char *whole = gtk_string_object_get_string (gtk_drop_down_get_selected_item (chooser));
    GtkWidget *popover = td_test_find (GTK_WIDGET (chooser), GTK_TYPE_POPOVER, NULL, NULL);
    g_assert_nonnull (td_test_find (GTK_WIDGET (chooser), GTK_TYPE_LABEL, is_shortened, NULL));
    g_assert_true (g_str_has_suffix (gtk_widget_get_tooltip_text (GTK_WIDGET (chooser)), whole));
    g_signal_emit_by_name (chooser, "activate");
    td_test_wait (td_test_is_mapped, popover, "the list");
    GtkWidget *line = td_test_find (popover, GTK_TYPE_LABEL, begins_with, (gpointer) number);
    g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (line)), ==, whole);
    g_assert_null (td_test_find (popover, GTK_TYPE_LABEL, is_shortened, NULL));
    gtk_popover_popdown (GTK_POPOVER (popover));
    gtk_drop_down_set_selected (chooser, before);
  }
}

static gboolean
offers_nothing (GtkWidget *choices, gpointer unused)
{
  GListModel *model = gtk_drop_down_get_model (GTK_DROP_DOWN (choices));

  return !model || g_list_model_get_n_items (model) < 2;
}

static void
choose_by_action (gpointer action)
{
  activate (action, NULL);
}

static gboolean
file_is_there (gpointer path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* Each file is of its kind and has what is shown; variants come back from theirs. */
static void
exports_are_made (void)
{
  static const struct {
    const char *action, *name, *begins, *has;
  } files[] = { { "lab.save-png", "lab.png", "\x89PNG", "" },
                { "lab.save-svg", "lab.svg", "<svg", "Smooth" },
                { "lab.save-csv", "lab.csv", "", "Smooth" },
                { "lab.save-variants", "lab-variants.json", "{", "Smooth" } };
  g_autofree char *path = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *meant = g_strdup_printf ("Export from the Lab; save; %s", files[i].name);
    g_autofree char *bytes = NULL;
    g_free (path);
    path = g_build_filename (td_test_folder (), files[i].name, NULL);
    gtk_widget_queue_draw (lab ("lab_view.pictures.panes")); /* as anything that moves does */
    g_autofree char *asked = td_test_choose (path, choose_by_action, (gpointer) files[i].action);
    g_assert_cmpstr (asked, ==, meant);
    td_test_wait (file_is_there, path, "the file");
    g_assert_true (g_file_get_contents (path, &bytes, NULL, NULL));
    g_assert_true (g_str_has_prefix (bytes, files[i].begins));
    g_assert_nonnull (strstr (bytes, files[i].has));
  }
  activate ("lab.remove", g_variant_new_uint32 (2));
  td_test_wait (there_are, GUINT_TO_POINTER (3), "two variants and the reference");
  g_autofree char *asked = td_test_choose (path, choose_by_action, "lab.load");
  g_assert_cmpstr (asked, ==, "Load Variants; open; Variants (.json)");
  td_test_wait (there_are, GUINT_TO_POINTER (4), "the variants of the file");
}

static void
test_variants (void)
{
  activate ("lab.add", NULL);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-editor");
  g_assert_null (td_test_find (GTK_WIDGET (editor ()), GTK_TYPE_DROP_DOWN, offers_nothing, NULL));
  td_test_pin_window ("lab-editor", editor ());
  g_signal_emit_by_name (editor (), "applied", "--filter nonsense");
  g_assert_true (gtk_widget_get_visible (td_test_part (editor (), "problem")));
  g_signal_emit_by_name (editor (), "applied", "Smooth: --filter hann --cutoff 0.5");
  td_test_wait (there_are, GUINT_TO_POINTER (4), "three variants and the reference");
  activate ("lab.duplicate", g_variant_new_uint32 (2));
  activate ("lab.add", NULL);
  g_signal_emit_by_name (editor (), "applied", "--precision half --device host");
  activate ("lab.add", NULL);
  g_signal_emit_by_name (editor (), "applied", "--kernel texture --device host");
  td_test_wait (there_are, GUINT_TO_POINTER (7), "six variants and the reference");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-six");
  /* What fell back says so, what cannot be made says why: the table in full, beside its figures. */
  g_assert_null (td_test_find (lab ("lab_view.table"), GTK_TYPE_LABEL, is_shortened, NULL));
  g_assert_true (gtk_widget_get_visible (td_test_part (pane_of ("5"), "badge")));
  g_assert_true (gtk_widget_get_visible (td_test_part (pane_of ("6"), "message_box")));
  choosers_tell_all ("6  ");
  for (guint i = 6; i > 3; i--)
    activate ("lab.remove", g_variant_new_uint32 (i - 1));
  td_test_wait (there_are, GUINT_TO_POINTER (4), "three variants again");
  exports_are_made ();
  td_test_pin_window ("lab", lab ("lab_view"));
}

static gboolean
is_called (const char *words)
{
  return td_test_find (lab ("lab_view.table"), GTK_TYPE_LABEL, label_has, (gpointer) words) != NULL;
}

/* What the menu of a row does. Held variants keep their recipe, changed ones their place, and
   copies come last. Two are left in any case. */
static void
test_menu (void)
{
  activate ("lab.hold", g_variant_new_uint32 (1));
  g_assert_true (gtk_widget_get_visible (lab ("lab_view.stop")));
  td_test_wait (is_measured, NULL, "the lab with a variant that is held");
  g_assert_true (is_called ("2  Interpolation: Nearest (held)"));
  activate ("lab.hold", g_variant_new_uint32 (1));
  g_assert_true (gtk_widget_get_visible (lab ("lab_view.stop")));
  td_test_wait (is_measured, NULL, "the lab with none");
  g_assert_false (is_called ("(held)"));
  activate ("lab.duplicate", g_variant_new_uint32 (2));
  td_test_wait (there_are, GUINT_TO_POINTER (5), "a copy and the reference");
  g_assert_true (is_called ("4  Smooth, copy"));
  activate ("lab.edit", g_variant_new_uint32 (3));
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (editor ())));
  g_signal_emit_by_name (editor (), "applied", "--filter nonsense");
  g_assert_true (gtk_widget_get_visible (td_test_part (editor (), "problem")));
  g_assert_true (is_called ("4  Smooth, copy"));
  g_signal_emit_by_name (editor (), "applied", "Other: --filter cosine");
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (editor ())));
  td_test_wait (there_are, GUINT_TO_POINTER (5), "the changed copy");
  g_assert_true (is_called ("4  Other") && is_called ("3  Smooth") && !is_called ("copy"));
  activate ("lab.edit", g_variant_new_uint32 (0));
  g_signal_emit_by_name (editor (), "applied", "First: --filter hann");
  g_assert_true (is_called ("1  First") && is_called ("4  Other"));
  for (guint n = 4; n > 2; n--) {
    activate ("lab.remove", g_variant_new_uint32 (0));
    g_assert_cmpint (is_called ("1  First"), ==, FALSE);
  }
  td_test_wait (there_are, GUINT_TO_POINTER (3), "two variants and the reference");
  activate ("lab.remove", g_variant_new_uint32 (0));
  g_assert_cmpstr (gtk_label_get_text (lab ("lab_view.figures")), ==,
                   "A lab compares two variants at least");
  g_assert_true (is_called ("1  Smooth") && is_called ("2  Other"));
  activate ("lab.preset", g_variant_new_string ("interpolations"));
  activate ("lab.add", NULL);
  g_signal_emit_by_name (editor (), "applied", "Smooth: --filter hann --cutoff 0.5");
  td_test_wait (there_are, GUINT_TO_POINTER (4), "three variants again");
}

static guint
rows_of_pictures (void)
{
  static const char *const titles[] = { "A: 1", "B: 2", "3", "Reference" };
  int place[4][2];
  guint rows = 1;

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++) {
    GtkWidget *pane = GTK_WIDGET (pane_of (titles[i]));
    gtk_grid_query_child (GTK_GRID (gtk_widget_get_parent (pane)), pane, &place[i][0], &place[i][1],
                          NULL, NULL);
    rows = MAX (rows, (guint) place[i][1] + 1);
  }
  return rows;
}

static gboolean
there_are_rows (gpointer n)
{
  return rows_of_pictures () == GPOINTER_TO_UINT (n);
}

/* Small pictures under one contrast have no histograms, which are all the same but for noise. */
static void
test_histograms (void)
{
  GtkWidget *histogram = td_test_part (pane_of ("A: 1"), "histogram");
  GtkToggleButton *link = lab ("lab_view.pictures.link");

  td_test_wait (there_are_rows, GUINT_TO_POINTER (2), "two rows of two");
  td_test_wait (td_test_is_hidden, histogram, "small pictures without histograms");
  gtk_toggle_button_set_active (link, FALSE);
  g_assert_true (gtk_widget_get_visible (histogram));
  gtk_toggle_button_set_active (link, TRUE);
  g_assert_false (gtk_widget_get_visible (histogram));
  choose_mode ("single");
  g_assert_true (gtk_widget_get_visible (td_test_part (big (), "histogram")));
  choose_mode ("grid");
  activate ("lab.remove", g_variant_new_uint32 (2));
  td_test_wait (there_are, GUINT_TO_POINTER (3), "two variants and the reference");
  td_test_wait (td_test_is_visible, histogram, "pictures beside each other");
  activate ("lab.add", NULL);
  g_signal_emit_by_name (editor (), "applied", "Smooth: --filter hann --cutoff 0.5");
  td_test_wait (there_are, GUINT_TO_POINTER (4), "three variants again");
}

static gboolean
table_is_low (gpointer unused)
{
  return gtk_widget_get_height (lab ("lab_view.sheets")) < 230;
}

/* As many pictures beside each other as makes them large. They have all the room that the table
   can do without. */
static void
test_room (void)
{
  GtkToggleButton *sidebar = td_test_part (td_test_window, "sidebar_button");

  td_test_wait (table_is_low, NULL, "the table to take what it needs");
  gtk_toggle_button_set_active (sidebar, FALSE);
  td_test_wait (there_are_rows, GUINT_TO_POINTER (1), "four beside each other");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-wide");
  gtk_toggle_button_set_active (sidebar, TRUE);
  td_test_wait (there_are_rows, GUINT_TO_POINTER (2), "two rows");
}

static gboolean
two_fill_the_room (gpointer grid)
{
  const int two = 2 * gtk_widget_get_width (GTK_WIDGET (pane_of ("A: 1")))
                  + (int) gtk_grid_get_column_spacing (grid);

  return abs (two - gtk_widget_get_width (grid)) < 4;
}

/* A reference that is not made leaves no empty place: two pictures share all the room. Who chooses
   it reads that there is none. */
static void
test_no_reference (void)
{
  GtkGrid *grid = lab ("lab_view.pictures.panes_grid");
  GtkDropDown *chooser = lab ("lab_view.pictures.choose_a");

  activate ("lab.remove", g_variant_new_uint32 (2));
  activate ("lab.stop", NULL);
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (pane_of ("Reference"))));
  td_test_wait (two_fill_the_room, grid, "two pictures to share the room");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-no-reference");
  choose_mode ("single");
  gtk_drop_down_set_selected (chooser, 2);
  g_assert_cmpstr (gtk_label_get_text (td_test_part (big (), "message")), ==,
                   "There is no reference of this slice");
  gtk_drop_down_set_selected (chooser, 0);
  choose_mode ("grid");
  activate ("lab.add", NULL);
  g_signal_emit_by_name (editor (), "applied", "Smooth: --filter hann --cutoff 0.5");
  td_test_wait (there_are, GUINT_TO_POINTER (4), "three variants again");
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (pane_of ("Reference"))));
}

static gboolean
pictures_are_there (gpointer unused)
{
  return td_image_pane_get_image (pane_of ("A: 1")) && td_image_pane_get_image (pane_of ("B: 2"))
         && !gtk_widget_get_visible (lab ("lab_view.stop"));
}

static gboolean
says_stopped (GtkWidget *label, gpointer unused)
{
  return g_str_equal (gtk_label_get_text (GTK_LABEL (label)), "Stopped");
}

static gboolean
last_is_in_sight (gpointer panes)
{
  return gtk_widget_get_height (GTK_WIDGET (pane_of ("3"))) <= gtk_widget_get_height (panes);
}

/* Variants that were stopped say so instead of being black, or of another recipe, and go on by a
   button. */
static void
test_stopped (void)
{
  const TdRecipe before = *td_session_recipe (td_test_session ());

  td_test_wait (pictures_are_there, NULL, "the pictures");
  for (guint i = 0; i < 2; i++) {
    TdRecipe recipe = before;
    recipe.filter.cutoff = 0.9 - 0.1 * i;
    td_session_edit (td_test_session (), &recipe, NULL);
    g_assert_true (gtk_widget_get_visible (lab ("lab_view.stop")));
    g_assert_false (gtk_widget_get_visible (lab ("lab_view.go_on")));
    activate ("lab.stop", NULL);
    for (const char *const *title = (const char *const[]) { "A: 1", "B: 2", "3", NULL }; *title;
         title++) {
      TdImagePane *pane = pane_of (*title);
      g_assert_null (td_image_pane_get_image (pane));
      g_assert_cmpstr (gtk_label_get_text (td_test_part (pane, "message")), ==,
                       "Stopped: this was not computed");
      g_assert_nonnull (td_test_button (pane, "Go On"));
    }
    g_assert_nonnull (td_test_find (lab ("lab_view.table"), GTK_TYPE_LABEL, says_stopped, NULL));
    if (i == 0) {
      td_test_frames (GTK_WIDGET (td_test_window));
      td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-stopped");
      td_test_pin_window ("lab-stopped", lab ("lab_view"));
      /* In sight, with no room for the reference that is hidden. */
      td_test_wait (last_is_in_sight, lab ("lab_view.pictures.panes"), "all variants in sight");
    }
    td_test_click (i ? (GtkWidget *) lab ("lab_view.go_on")
                     : td_test_button (pane_of ("B: 2"), "Go On"));
    g_assert_false (gtk_widget_get_visible (td_test_part (pane_of ("3"), "message_box")));
    td_test_wait (pictures_are_there, NULL, "the pictures after all");
    g_assert_false (gtk_widget_get_visible (lab ("lab_view.go_on")));
    g_assert_null (td_test_find (lab ("lab_view.table"), GTK_TYPE_LABEL, says_stopped, NULL));
  }
  td_session_edit (td_test_session (), &before, NULL);
  td_test_wait (is_measured, NULL, "the lab");
}

/* A variant becomes the window's recipe. */
static void
test_use (void)
{
  const TdRecipe before = *td_session_recipe (td_test_session ());

  activate ("lab.use", g_variant_new_uint32 (2));
  const TdRecipe *now = td_session_recipe (td_test_session ());
  g_assert_cmpint (now->filter.kind, ==, TD_FILTER_HANN);
  g_assert_cmpfloat (now->filter.cutoff, ==, 0.5);
  g_assert_cmpuint (now->row_first, ==, before.row_first);
  g_assert_cmpuint (now->row_end, ==, before.row_end);
  td_test_activate ("undo", NULL);
  td_test_show_page ("lab");
  /* One that is held stays as it was, and is of the window's recipe again when it is let go. */
  for (guint let_go = 0; let_go < 2; let_go++) {
    activate ("lab.hold", g_variant_new_uint32 (1));
    if (!let_go) {
      TdRecipe other = before;
      other.filter.cutoff = 0.75;
      td_session_edit (td_test_session (), &other, NULL);
    }
    activate ("lab.use", g_variant_new_uint32 (1));
    now = td_session_recipe (td_test_session ());
    g_assert_cmpint (now->interpolation, ==, TD_INTERPOLATION_NEAREST);
    g_assert_cmpfloat (now->filter.cutoff, ==, let_go ? 0.75 : before.filter.cutoff);
    td_test_activate ("undo", NULL);
    td_test_show_page ("lab");
  }
  td_test_activate ("undo", NULL);
  td_test_wait (is_measured, NULL, "the lab");
}

static gboolean
both_problems_are_shown (gpointer unused)
{
  return gtk_widget_get_visible (td_test_part (pane_of ("A: 1"), "message_box"))
         && gtk_widget_get_visible (td_test_part (pane_of ("B: 2"), "message_box"));
}

/* Neither variant's reason takes the place of the other's. */
static void
test_two_problems (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  g_strlcpy (recipe.devices, "cuda:77", sizeof recipe.devices);
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_wait (both_problems_are_shown, NULL, "both reasons");
  td_test_pin_window ("lab-problems", lab ("lab_view"));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-problems");
  td_test_activate ("undo", NULL);
  td_test_wait (is_measured, NULL, "the lab again");
  td_test_pin_window ("lab", lab ("lab_view"));
}

static gboolean
figures_are_there (gpointer unused)
{
  return g_strcmp0 (gtk_stack_get_visible_child_name (lab ("lab_view.sheets")), "review") == 0
         && !gtk_widget_get_visible (lab ("lab_view.progress"));
}

/* One menu entry makes the review's figures. */
static void
test_review (void)
{
  activate ("lab.preset", g_variant_new_string ("review"));
  td_test_wait (figures_are_there, NULL, "the figures");
  guint n = 0;
  for (GtkWidget *child = gtk_widget_get_first_child (lab ("lab_view.review")); child;
       child = gtk_widget_get_next_sibling (child))
    n += td_test_find (child, TD_TYPE_LAB_CHART, NULL, NULL) != NULL;
  g_assert_cmpuint (n, ==, TD_LAB_REVIEW_PLOTS);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-review");
  activate ("lab.preset", g_variant_new_string ("filters"));
  td_test_wait (is_measured, NULL, "the filters");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-lab-filters");
  td_test_pin_window ("lab", lab ("lab_view"));
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=96",  "--rows=24",       "--views=120",
                            "--centre=48.7", "--photons=20000", "--pixel-mm=0.25",
                            "--flats=2",     "--darks=2",       NULL };

  g_test_init (&argc, &argv, NULL);
  scan_path = td_test_phantom ("scan.nxs", options);
  application = td_test_start ();
  td_test_open (scan_path);
  g_test_add_func ("/window-lab/cone", test_cone);
  g_test_add_func ("/window-lab/pictures", test_pictures);
  g_test_add_func ("/window-lab/line", test_line);
  g_test_add_func ("/window-lab/nothing-to-export", test_nothing_to_export);
  g_test_add_func ("/window-lab/flicker", test_flicker);
  g_test_add_func ("/window-lab/headings", test_headings);
  g_test_add_func ("/window-lab/figure", test_figure);
  g_test_add_func ("/window-lab/link", test_link);
  g_test_add_func ("/window-lab/sheets", test_sheets);
  g_test_add_func ("/window-lab/budget", test_budget);
  g_test_add_func ("/window-lab/blind", test_blind);
  g_test_add_func ("/window-lab/variants", test_variants);
  g_test_add_func ("/window-lab/menu", test_menu);
  g_test_add_func ("/window-lab/histograms", test_histograms);
  g_test_add_func ("/window-lab/room", test_room);
  g_test_add_func ("/window-lab/no-reference", test_no_reference);
  g_test_add_func ("/window-lab/stopped", test_stopped);
  g_test_add_func ("/window-lab/use", test_use);
  g_test_add_func ("/window-lab/two-problems", test_two_problems);
  g_test_add_func ("/window-lab/review", test_review);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (scan_path);
  td_device_leave (status);
}
