/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume by three planes: they are those of the array, move with one cross-hair, and share their
   levels. Files of several data sets and headerless ones are asked about. The tests run in order.
 */
#include <math.h>
#include <string.h>

#include "dataset/hdf5-util.h"
#include "ui-test.h"
#include "ui/measure-list.h"
#include "ui/movie-dialog.h"
#include "ui/number-row.h"
#include "ui/save-file.h"
#include "ui/volume-window.h"
#include "window-pins.h"
#include "window-test.h"

#define NX 70u
#define NY 50u
#define N 40u
#define MOST_TRIES 100

static float *voxels; /* [slice][y][x] */
static TdVolumeBrowser *browser;
static TdVolumeWindow *window;

static float
voxel (guint x, guint y, guint z)
{
  return voxels[((gsize) z * NY + y) * NX + x];
}

/* A ball in a box, with some noise: something to see in every plane. */
static void
make_voxels (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (9);

  voxels = g_new (float, (gsize) NX *NY *N);
  for (guint z = 0; z < N; z++)
    for (guint y = 0; y < NY; y++)
      for (guint x = 0; x < NX; x++) {
        const double r = sqrt (pow (x - 30.0, 2) + pow (y - 22.0, 2) + pow (z - 25.0, 2));
        voxels[((gsize) z * NY + y) * NX + x]
            = (float) ((r < 14) + 0.3 * (x > 5 && x < 60 && y > 8 && z > 4)
                       + g_rand_double_range (random, -0.05, 0.05));
      }
}

static char *
save_volume (const char *name, TdVolumeFormat format, guint n_slices)
{
  char *path = g_build_filename (td_test_folder (), name, NULL);
  const TdVolumeSpec spec = { .path = path,
                              .format = format,
                              .bits = 32,
                              .nx = NX,
                              .ny = NY,
                              .n_slices = n_slices,
                              .voxel_mm = 0.01,
                              .units = "1/mm" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  g_assert_true (td_volume_writer_write (writer, 0, n_slices, voxels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  return path;
}

static TdImagePane *
pane (const char *name)
{
  return td_test_part (browser, name);
}

static gboolean
planes_are_settled (gpointer unused)
{
  static const char *const names[] = { "x", "y", "z" };

  for (guint i = 0; i < 3; i++)
    if (!td_image_pane_get_image (pane (names[i])) || td_test_is_updating (pane (names[i])))
      return FALSE;
  return TRUE;
}

static void
assert_planes (const guint at[3])
{
  const char *const names[] = { "x", "y", "z" };
  const guint sizes[] = { NX, NY, N };

  td_test_wait (planes_are_settled, NULL, "the planes");
  for (guint i = 0; i < 3; i++) {
    g_autofree char *text = g_strdup_printf ("%u of 0–%u", at[i], sizes[i] - 1);
    g_assert_cmpstr (gtk_label_get_text (td_test_part (pane (names[i]), "subtitle")), ==, text);
  }
  const TdImage *x = td_image_pane_get_image (pane ("x")),
                *y = td_image_pane_get_image (pane ("y"));
  const TdImage *z = td_image_pane_get_image (pane ("z"));
  g_assert_cmpuint (x->width, ==, NY);
  g_assert_cmpuint (x->height, ==, N);
  g_assert_cmpuint (y->width, ==, NX);
  for (guint row = 0; row < N; row++) {
    for (guint i = 0; i < NY; i++)
      g_assert_cmpfloat (x->pixels[row * NY + i], ==, voxel (at[0], i, row));
    for (guint i = 0; i < NX; i++)
      g_assert_cmpfloat (y->pixels[row * NX + i], ==, voxel (i, at[1], row));
  }
  for (guint row = 0; row < NY; row++)
    for (guint i = 0; i < NX; i++)
      g_assert_cmpfloat (z->pixels[row * NX + i], ==, voxel (i, row, at[2]));
}

/* As by clicks into two planes. */
static void
go_to (guint x, guint y, guint z)
{
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "picked", (double) x, (double) y);
  g_signal_emit_by_name (td_image_pane_view (pane ("y")), "picked", (double) x, (double) z);
}

static gboolean
survey_is_there (gpointer unused)
{
  return gtk_label_get_text (td_test_part (browser, "survey"))[0] != 0;
}

static void
test_planes (void)
{
  g_autoptr (GBytes) last = NULL;
  g_autofree char *size = g_format_size ((guint64) NX * NY * N * sizeof (float));
  g_autofree char *facts = g_strdup_printf ("%u × %u × %u voxels, float32, %s\n", NX, NY, N, size);

  assert_planes ((guint[]) { (NX - 1) / 2, (NY - 1) / 2, (N - 1) / 2 });
  g_assert_true (g_str_has_prefix (gtk_label_get_text (td_test_part (browser, "facts")), facts));
  g_assert_true (
      g_str_has_suffix (gtk_label_get_text (td_test_part (browser, "facts")), "\nvoxel 0.01 mm"));
  td_test_wait (survey_is_there, NULL, "the figures of the whole volume");
  g_assert_nonnull (strstr (gtk_label_get_text (td_test_part (browser, "survey")), "From outside"));
  g_assert_false (gtk_widget_get_visible (td_test_part (browser, "survey_box")));
  g_assert_true (gtk_widget_get_visible (td_test_part (browser, "space")));
  for (guint look = 0; look < 4; look++) {
    static const char *const names[]
        = { "volume-browser", "volume-average", "volume-composite", "volume-peak" };
    const guint kind = MIN (look, 2);
    gtk_adjustment_set_value (td_test_part (browser, "peak_adjustment"), look == 3 ? 0.5 : 1);
    gtk_drop_down_set_selected (td_test_part (browser, "cast"), kind);
    gtk_toggle_button_set_active (td_test_part (browser, "clip_y"), kind == 2);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (browser, "opacity")), ==, kind == 2);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (browser, "peak")), ==, kind == 2);
    td_test_pin_window (names[look], window);
    /* What is cast, beside lines, is another picture, which a busy machine draws late. */
    GBytes *drawn = td_test_picture_at_rest (td_test_part (browser, "space"));
    for (guint tries = 0; last && g_bytes_equal (drawn, last); tries++) {
      g_assert_cmpuint (tries, <, MOST_TRIES);
      g_bytes_unref (drawn);
      drawn = td_test_picture_at_rest (td_test_part (browser, "space"));
    }
    g_clear_pointer (&last, g_bytes_unref);
    last = drawn;
  }
  go_to (31, 0, N - 1);
  assert_planes ((guint[]) { 31, 0, N - 1 });
}

/* What a pointer, the wheel and the arrows do, as their signals say it. */
static void
test_cross_hair (void)
{
  go_to (10, 11, 12);
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "picked", 40.2, 20.8);
  assert_planes ((guint[]) { 40, 21, 12 });
  g_signal_emit_by_name (td_image_pane_view (pane ("y")), "picked", 41.0, 25.0);
  assert_planes ((guint[]) { 41, 21, 25 });
  g_signal_emit_by_name (td_image_pane_view (pane ("x")), "line-moved", 26.0);
  g_signal_emit_by_name (td_image_pane_view (pane ("x")), "column-moved", 22.3);
  assert_planes ((guint[]) { 41, 22, 26 });
  g_signal_emit_by_name (td_image_pane_view (pane ("x")), "stepped", 3);
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "nudged", -1, 0, FALSE);
  assert_planes ((guint[]) { 43, 22, 26 });
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "stepped", 1000);
  assert_planes ((guint[]) { 43, 22, N - 1 });
}

/* What the headings say. */
static void
assert_at (guint step, guint x, guint y, guint z)
{
  const char *const names[] = { "x", "y", "z" };
  const guint at[] = { x, y, z };

  for (guint i = 0; i < 3; i++) {
    g_autofree char *text = g_strdup_printf ("%u of ", at[i]);
    const char *says = gtk_label_get_text (td_test_part (pane (names[i]), "subtitle"));
    if (!g_str_has_prefix (says, text))
      g_error ("step %u: across %s it says “%s” instead of “%s”", step, names[i], says, text);
  }
}

static gpointer
keys_of (gpointer widget)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (GTK_IS_EVENT_CONTROLLER_KEY (one))
      return one; /* the widget's */
  }
  g_assert_not_reached ();
}

/* Whatever is done in a plane moves the others by its own axes, and never out of the volume. */
static void
test_hands (void)
{
  static const struct {
    const char *plane, *signal;
    double column, row;
    guint x, y, z;
  } hands[] = {
    { "x", "picked", 10, 12, 20, 10, 12 },
    { "y", "picked", 10, 12, 10, 20, 12 },
    { "z", "picked", 10, 12, 10, 12, 20 },
    { "x", "line-moved", 11.6, 0, 20, 20, 12 },
    { "y", "line-moved", 12.4, 0, 20, 20, 12 },
    { "z", "line-moved", 12, 0, 20, 12, 20 },
    { "x", "column-moved", 12, 0, 20, 12, 20 },
    { "y", "column-moved", 12, 0, 12, 20, 20 },
    { "z", "column-moved", 12, 0, 12, 20, 20 },
    { "x", "nudged", 1, -2, 20, 21, 18 },
    { "y", "nudged", -1, 2, 19, 20, 22 },
    { "z", "nudged", 3, 1, 23, 21, 20 },
    { "x", "stepped", 2, 0, 22, 20, 20 },
    { "y", "stepped", -3, 0, 20, 17, 20 },
    { "z", "stepped", 1, 0, 20, 20, 21 },
    { "x", "picked", -5, 1000, 20, 0, N - 1 },
    { "z", "picked", 1000, -3, NX - 1, 0, 20 },
    { "x", "slider", 33, 0, 33, 20, 20 },
    { "y", "slider", 33, 0, 20, 33, 20 },
    { "z", "slider", 33, 0, 20, 20, 33 },
    { "x", "keys", GDK_KEY_Page_Up, 0, 19, 20, 20 },
    { "y", "keys", GDK_KEY_Page_Down, 0, 20, 21, 20 },
    { "z", "keys", GDK_KEY_Home, 0, 20, 20, 0 },
    { "x", "keys", GDK_KEY_End, 0, NX - 1, 20, 20 },
    { "z", "keys", GDK_KEY_End, 0, 20, 20, N - 1 },
    { "y", "keys", GDK_KEY_Page_Down, GDK_CONTROL_MASK, 20, 20, 20 },
    { "y", "keys", GDK_KEY_Page_Down, GDK_ALT_MASK, 20, 20, 20 },
    { "y", "keys", GDK_KEY_a, 0, 20, 20, 20 },
  };

  td_test_wait (planes_are_settled, NULL, "the planes");
  for (guint i = 0; i < G_N_ELEMENTS (hands); i++) {
    TdSliceView *view = td_image_pane_view (pane (hands[i].plane));
    const double column = hands[i].column, row = hands[i].row;
    go_to (20, 20, 20);
    if (strcmp (hands[i].signal, "picked") == 0)
      g_signal_emit_by_name (view, "picked", column, row);
    else if (g_str_has_suffix (hands[i].signal, "-moved"))
      g_signal_emit_by_name (view, hands[i].signal, column);
    else if (strcmp (hands[i].signal, "nudged") == 0)
      g_signal_emit_by_name (view, "nudged", (int) column, (int) row, FALSE);
    else if (strcmp (hands[i].signal, "stepped") == 0)
      g_signal_emit_by_name (view, "stepped", (int) column);
    else if (strcmp (hands[i].signal, "slider") == 0)
      gtk_spin_button_set_value (GTK_SPIN_BUTTON (td_test_find (GTK_WIDGET (pane (hands[i].plane)),
                                                                GTK_TYPE_SPIN_BUTTON, NULL, NULL)),
                                 column);
    else {
      gboolean taken;
      const gboolean moves = row == 0 && column != GDK_KEY_a;
      gtk_widget_grab_focus (GTK_WIDGET (view));
      g_signal_emit_by_name (keys_of (browser), "key-pressed", (guint) column, 0,
                             (GdkModifierType) row, &taken);
      g_assert_cmpint (taken, ==, moves);
    }
    assert_at (i, hands[i].x, hands[i].y, hands[i].z);
    GtkWidget *spin = td_test_find (GTK_WIDGET (pane ("y")), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
    g_assert_cmpfloat (gtk_spin_button_get_value (GTK_SPIN_BUTTON (spin)), ==, hands[i].y);
  }
  /* Elsewhere keys are others'. */
  gboolean taken;
  gtk_widget_grab_focus (td_test_part (browser, "play"));
  go_to (20, 20, 20);
  g_signal_emit_by_name (keys_of (browser), "key-pressed", GDK_KEY_Page_Down, 0, 0, &taken);
  g_assert_false (taken);
  assert_at (99, 20, 20, 20);
  /* The space bar plays along the plane that has the keyboard, and a movie is of that one. */
  gtk_widget_grab_focus (GTK_WIDGET (td_image_pane_view (pane ("y"))));
  for (guint i = 0; i < 2; i++) {
    g_signal_emit_by_name (keys_of (browser), "key-pressed", GDK_KEY_space, 0, 0, &taken);
    g_assert_true (taken);
    g_assert_cmpint (gtk_toggle_button_get_active (td_test_part (browser, "play")), ==, i == 0);
    g_assert_cmpstr (gtk_button_get_icon_name (td_test_part (browser, "play")), ==,
                     i ? "media-playback-start-symbolic" : "media-playback-pause-symbolic");
  }
  td_test_click (td_test_part (browser, "movie"));
  GtkWindow *dialog = td_test_other_window (TD_TYPE_MOVIE_DIALOG);
  g_assert_cmpuint (adw_combo_row_get_selected (td_test_part (dialog, "through")), ==, 1);
  gtk_window_destroy (dialog);
  gtk_widget_grab_focus (GTK_WIDGET (td_image_pane_view (pane ("z"))));
  for (guint i = 0; i < 2; i++)
    g_signal_emit_by_name (keys_of (browser), "key-pressed", GDK_KEY_space, 0, 0, &taken);
  td_test_wait (planes_are_settled, NULL, "the planes");
}

/* Under the pointer stand the voxel, where it is and its value, in each plane. */
static void
test_readout (void)
{
  static const struct {
    const char *plane;
    double column, row;
    guint x, y, z;
  } places[] = { { "x", 7.4, 3, 31, 7, 3 }, { "y", 7.6, 3, 8, 22, 3 }, { "z", 7, 3.4, 7, 3, 24 } };

  go_to (31, 22, 24);
  td_test_wait (planes_are_settled, NULL, "the planes");
  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_signal_emit_by_name (td_image_pane_view (pane (places[i].plane)), "pointed", places[i].column,
                           places[i].row, TRUE);
    g_autofree char *text = g_strdup_printf (
        "x %u  y %u  z %u  (%.3f, %.3f, %.3f mm)  %.9g 1/mm", places[i].x, places[i].y, places[i].z,
        0.01 * places[i].x, 0.01 * places[i].y, 0.01 * places[i].z,
        (double) voxel (places[i].x, places[i].y, places[i].z));
    g_assert_cmpstr (gtk_label_get_text (td_test_part (pane (places[i].plane), "readout")), ==,
                     text);
    g_signal_emit_by_name (td_image_pane_view (pane (places[i].plane)), "pointed", 0.0, 0.0, FALSE);
  }
}

static const TdStyle *
style_of (const char *name)
{
  return td_slice_view_get_style (td_image_pane_view (pane (name)));
}

/* One contrast for all; stepping keeps it; unlinked, each has its own; presets are percentiles. */
static void
test_levels (void)
{
  g_assert_cmpfloat (style_of ("x")->high, ==, style_of ("z")->high);
  td_image_pane_set_range (pane ("y"), -0.5, 0.75);
  g_assert_cmpfloat (style_of ("z")->low, ==, -0.5);
  g_assert_cmpfloat (style_of ("x")->high, ==, 0.75);
  go_to (20, 20, 20);
  assert_planes ((guint[]) { 20, 20, 20 });
  g_assert_cmpfloat (style_of ("z")->high, ==, 0.75);
  gtk_widget_activate_action (GTK_WIDGET (pane ("z")), "pane.levels", "s", "0");
  const TdImage *z = td_image_pane_get_image (pane ("z"));
  g_assert_cmpfloat (style_of ("z")->low, ==, z->minimum);
  g_assert_cmpfloat (style_of ("x")->high, ==, z->maximum);
  gtk_widget_activate_action (GTK_WIDGET (pane ("z")), "pane.levels", "s", "1");
  g_assert_cmpfloat (style_of ("z")->low, ==, td_image_quantile (z, 0.01));
  gtk_toggle_button_set_active (td_test_part (browser, "link"), FALSE);
  td_image_pane_set_range (pane ("z"), 1, 2);
  g_assert_cmpfloat (style_of ("x")->high, <, 1.5);
  gtk_toggle_button_set_active (td_test_part (browser, "link"), TRUE);
}

/* ── Measuring ── */

static void
draw (const char *plane, const TdMeasure *measure)
{
  g_signal_emit_by_name (td_image_pane_view (pane (plane)), "drawn", measure);
}

static const GArray *
marks_of (const char *plane)
{
  return td_slice_view_get_marks (td_image_pane_view (pane (plane)));
}

/* The numbers of a line of the export, by the names in its head. */
static double
exported (char **lines, guint line, const char *name)
{
  g_auto (GStrv) names = g_strsplit (lines[0], ",", -1);
  g_auto (GStrv) values = g_strsplit (lines[line], ",", -1);

  for (guint i = 0; names[i]; i++)
    if (g_str_equal (names[i], name))
      return values[i][0] ? g_ascii_strtod (values[i], NULL) : NAN;
  g_assert_not_reached ();
}

static gboolean
file_is_there (gpointer path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* Each kind against what its points and the array say; they stay with their plane and go out. */
/* The last row of the list lies within what scrolls it. */
static gboolean
is_in_sight (gpointer list)
{
  GtkWidget *row = gtk_widget_get_last_child (td_test_find (list, GTK_TYPE_LIST_BOX, NULL, NULL));
  GtkWidget *scrolled = gtk_widget_get_ancestor (list, GTK_TYPE_SCROLLED_WINDOW);
  graphene_rect_t bounds;

  return gtk_widget_compute_bounds (row, scrolled, &bounds) && bounds.size.height > 0
         && bounds.origin.y >= 0
         && bounds.origin.y + bounds.size.height <= gtk_widget_get_height (scrolled);
}

static void
test_measures (void)
{
  static const TdMeasure measures[] = {
    { TD_MEASURE_DISTANCE, { { 3, 4 }, { 33, 44 } } },
    { TD_MEASURE_ANGLE, { { 10, 10 }, { 20, 10 }, { 30, 20 } } },
    { TD_MEASURE_LINE, { { 2, 7 }, { 42, 7 } } },
    { TD_MEASURE_REGION, { { 24.3, 25.8 }, { 19.6, 16.4 } } },
  };
  g_autofree char *path = g_build_filename (td_test_folder (), "measures.csv", NULL);
  g_autofree char *beside = g_build_filename (td_test_folder (), "measures-3.csv", NULL);
  g_autofree char *text = NULL, *profile = NULL;
  g_autoptr (GError) error = NULL;
  double sum = 0, squares = 0;

  go_to (31, 22, 24);
  assert_planes ((guint[]) { 31, 22, 24 });
  for (guint i = 0; i < G_N_ELEMENTS (measures); i++)
    draw ("z", &measures[i]);
  g_assert_cmpuint (marks_of ("z")->len, ==, 4);
  g_assert_cmpuint (marks_of ("x")->len, ==, 0);
  td_test_wait (is_in_sight, td_test_part (browser, "measures"), "the last one's values");
  td_test_pin_window ("volume-measures", window);
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "stepped", 1);
  g_assert_cmpuint (marks_of ("z")->len, ==, 0);
  /* A click on a row goes to its plane. */
  GtkListBoxRow *row = GTK_LIST_BOX_ROW (gtk_widget_get_ancestor (
      td_test_button (td_test_part (browser, "measures"), "Remove"), GTK_TYPE_LIST_BOX_ROW));
  g_assert_true (gtk_list_box_row_get_activatable (row));
  g_signal_emit_by_name (row, "activated");
  g_assert_cmpuint (marks_of ("z")->len, ==, 4);
  g_auto (GStrv) texts = td_measure_list_texts (td_test_part (browser, "measures"));
  g_autofree char *asked = td_test_choose_by (td_test_part (browser, "export"), path);
  g_assert_cmpstr (asked, ==, "Export the Measures; save; measures.csv; Comma-separated values");
  td_test_wait (file_is_there, beside, "the files of the measures");
  td_test_wait (file_is_there, path, "the file of the measures");
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_assert_cmpfloat (exported (lines, 1, "length_px"), ==, 50);
  g_assert_cmpfloat_with_epsilon (exported (lines, 1, "length_mm"), 0.5, 1e-9);
  g_assert_true (isnan (exported (lines, 1, "mean")));
  g_assert_cmpfloat_with_epsilon (exported (lines, 2, "angle_deg"), 135, 1e-6);
  for (guint y = 16; y <= 26; y++)
    for (guint x = 20; x <= 24; x++) {
      sum += voxel (x, y, 24);
      squares += (double) voxel (x, y, 24) * voxel (x, y, 24);
    }
  g_assert_cmpfloat (exported (lines, 4, "samples"), ==, 55);
  g_assert_cmpfloat_with_epsilon (exported (lines, 4, "mean"), sum / 55, 1e-7);
  g_assert_cmpfloat_with_epsilon (exported (lines, 4, "deviation"),
                                  sqrt ((squares - sum * sum / 55) / 54), 1e-6);
  g_assert_cmpfloat_with_epsilon (exported (lines, 4, "area_mm2"), 55e-4, 1e-9);
  g_assert_true (g_file_get_contents (beside, &profile, NULL, NULL));
  g_auto (GStrv) samples = g_strsplit (profile, "\n", -1);
  for (guint i = 0; i <= 40; i++)
    g_assert_cmpfloat_with_epsilon (exported (samples, i + 1, "value"), voxel (2 + i, 7, 24), 1e-6);
  /* The profiles' files are nobody's choice: one that is something else stays, and all the rest. */
  g_assert_true (td_measure_texts_save (texts, path, &error));
  g_assert_true (g_file_set_contents (beside, "other", -1, NULL));
  g_assert_true (g_file_set_contents (path, "old", -1, NULL));
  g_assert_false (td_measure_texts_save (texts, path, &error));
  g_assert_nonnull (strstr (error->message, "measures-3.csv"));
  g_autofree char *old = NULL, *other = NULL;
  g_assert_true (g_file_get_contents (path, &old, NULL, NULL));
  g_assert_true (g_file_get_contents (beside, &other, NULL, NULL));
  g_assert_cmpstr (old, ==, "old");
  g_assert_cmpstr (other, ==, "other");
  td_test_click (td_test_button (td_test_part (browser, "measures"), "Remove"));
  g_assert_cmpuint (marks_of ("z")->len, ==, 3);
}

static guint n_changed;
static char *shown;

static void
on_list_changed (TdMeasureList *list)
{
  n_changed++;
}

static void
on_list_shown (TdMeasureList *list, int axis, guint at)
{
  g_free (shown);
  shown = g_strdup_printf ("%d, %u", axis, at);
}

static char *
row_text (TdMeasureList *list, int index)
{
  GtkWidget *rows = td_test_find (GTK_WIDGET (list), GTK_TYPE_LIST_BOX, NULL, NULL);
  gpointer row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (rows), index);

  return row ? g_strdup_printf ("%s: %s", adw_preferences_row_get_title (row),
                                adw_action_row_get_subtitle (row))
             : NULL;
}

/* The row of each kind and its line of the export, with and without the size of a voxel. The values
   go from 0 to 18, and one is no number. */
static void
test_measure_texts (void)
{
  static const TdMeasure measures[] = {
    { TD_MEASURE_DISTANCE, { { 0, 0 }, { 3, 4 } } },
    { TD_MEASURE_ANGLE, { { 0, 0 }, { 2, 0 }, { 2, 2 } } },
    { TD_MEASURE_LINE, { { 0, 1 }, { 4, 1 } } },
    { TD_MEASURE_REGION, { { 1, 0 }, { 3, 1 } } },
    { TD_MEASURE_REGION, { { 4, 3 }, { 4, 3 } } }, /* no number */
  };
  static const char *const rows[2][5] = {
    { "1  Distance, x = 3: 2.5 mm (5.0 px)", "2  Angle, y = 4: 90.00°",
      "3  Line, z = 5: 2 mm (4.0 px)\nmean 7  σ 1.581  5 … 9 1/mm",
      "4  Region, x = 6: 3 × 2 px, 1.5 mm²\nmean 4.5  σ 2.881  1 … 8 1/mm",
      "5  Region, y = 7: 1 × 1 px, 0.25 mm²\nnothing finite" },
    { "1  Distance, x = 3: 5.0 px", "2  Angle, y = 4: 90.00°",
      "3  Line, z = 5: 4.0 px\nmean 7  σ 1.581  5 … 9 ",
      "4  Region, x = 6: 3 × 2 px\nmean 4.5  σ 2.881  1 … 8 ",
      "5  Region, y = 7: 1 × 1 px\nnothing finite" },
  };
  static const char *const exports[2] = {
    "1,distance,x,3,0,0,3,4,,,5,2.5,,,,,,,,,1/mm\n"
    "2,angle,y,4,0,0,2,0,2,2,,,90,,,,,,,,1/mm\n"
    "3,line,z,5,0,1,4,1,,,4,2,,,,7,1.58113883,5,9,5,1/mm\n"
    "4,region,x,6,1,0,3,1,,,,,,6,1.5,4.5,2.88097206,1,8,6,1/mm\n"
    "5,region,y,7,4,3,4,3,,,,,,1,0.25,,,,,,1/mm\n",
    "1,distance,x,3,0,0,3,4,,,5,,,,,,,,,,\n"
    "2,angle,y,4,0,0,2,0,2,2,,,90,,,,,,,,\n"
    "3,line,z,5,0,1,4,1,,,4,,,,,7,1.58113883,5,9,5,\n"
    "4,region,x,6,1,0,3,1,,,,,,6,,4.5,2.88097206,1,8,6,\n"
    "5,region,y,7,4,3,4,3,,,,,,1,,,,,,,\n",
  };
  static const char *const profiles[2]
      = { "sample,position_mm,value\n0,0,5\n1,0.5,6\n2,1,7\n3,1.5,8\n4,2,9\n",
          "sample,position_px,value\n0,0,5\n1,1,6\n2,2,7\n3,3,8\n4,4,9\n" };
  TdMeasureList *list = g_object_ref_sink (g_object_new (TD_TYPE_MEASURE_LIST, NULL));
  float *pixels = g_new (float, 20);

  for (guint i = 0; i < 20; i++)
    pixels[i] = i == 19 ? NAN : (float) i;
  g_autoptr (TdImage) image = td_image_new_take (pixels, 5, 4);
  g_signal_connect (list, "changed", G_CALLBACK (on_list_changed), NULL);
  g_signal_connect (list, "shown", G_CALLBACK (on_list_shown), NULL);
  for (guint pass = 0; pass < 2; pass++) {
    GtkWidget *box = td_test_find (GTK_WIDGET (list), GTK_TYPE_LIST_BOX, NULL, NULL);
    GtkWidget *plot = td_test_find (GTK_WIDGET (list), GTK_TYPE_DRAWING_AREA, NULL, NULL);
    td_measure_list_begin (list, pass ? 0 : 0.5, pass ? NULL : "1/mm");
    g_assert_cmpuint (td_measure_list_length (list), ==, 0);
    g_assert_false (gtk_widget_get_visible (box) || gtk_widget_get_visible (plot));
    n_changed = 0;
    for (guint i = 0; i < G_N_ELEMENTS (measures); i++) {
      td_measure_list_add (list, &measures[i], (TdVolumeAxis) (i % 3), 3 + i, image);
      g_autofree char *text = row_text (list, (int) i);
      g_assert_cmpstr (text, ==, rows[pass][i]);
      g_assert_cmpuint (n_changed, ==, i + 1);
      g_assert_true (gtk_widget_get_visible (box));
      g_assert_cmpint (gtk_widget_get_visible (plot), ==, i >= 2);
    }
    g_auto (GStrv) texts = td_measure_list_texts (list);
    g_assert_cmpuint (g_strv_length (texts), ==, 4);
    g_assert_cmpstr (strchr (texts[1], '\n') + 1, ==, exports[pass]);
    g_assert_cmpstr (texts[2], ==, "-3");
    g_assert_cmpstr (texts[3], ==, profiles[pass]);
    /* Marks are of their plane. */
    g_autoptr (GArray) marks = td_measure_list_marks (list, TD_AXIS_X, 6);
    g_assert_cmpuint (marks->len, ==, 1);
    const TdMark *mark = &g_array_index (marks, TdMark, 0);
    g_assert_cmpstr (mark->label, ==, "4");
    g_assert_cmpuint (mark->n_points, ==, 2);
    g_assert_cmpfloat (mark->measure.points[1][0], ==, 3);
    g_autoptr (GArray) others = td_measure_list_marks (list, TD_AXIS_Y, 6);
    g_assert_cmpuint (others->len, ==, 0);
    /* A row leads to its plane, a line's to its profile as well. */
    g_signal_emit_by_name (gtk_list_box_get_row_at_index (GTK_LIST_BOX (box), 1), "activated");
    g_assert_cmpstr (shown, ==, "1, 4");
    g_assert_true (gtk_widget_get_visible (plot));
    /* What is removed goes, and its profile; the others keep their numbers. */
    for (int i = 4; i >= 0; i -= 2) {
      gpointer row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (box), i);
      td_test_click (td_test_button (row, "Remove"));
      g_assert_cmpint (gtk_widget_get_visible (plot), ==, i == 4);
    }
    g_autofree char *left = row_text (list, 1);
    g_assert_cmpstr (left, ==, rows[pass][3]);
    g_assert_cmpuint (td_measure_list_length (list), ==, 2);
    g_assert_cmpuint (n_changed, ==, G_N_ELEMENTS (measures) + 3);
  }
  g_clear_pointer (&shown, g_free);
  g_object_unref (list);
}

/* While a plane is read nothing is measured in the one before. */
static void
test_too_early (void)
{
  static const TdMeasure line = { TD_MEASURE_DISTANCE, { { 3, 4 }, { 33, 44 } } };
  const guint before = td_measure_list_length (td_test_part (browser, "measures"));

  go_to (30, 20, 21);
  td_test_wait (planes_are_settled, NULL, "the planes");
  g_signal_emit_by_name (td_image_pane_view (pane ("z")), "stepped", 1);
  draw ("z", &line);
  g_assert_cmpuint (td_measure_list_length (td_test_part (browser, "measures")), ==, before);
  g_assert_cmpstr (gtk_label_get_text (td_test_part (pane ("z"), "badge")), ==,
                   "still reading: nothing was measured");
  td_test_wait (planes_are_settled, NULL, "the plane");
  g_assert_false (gtk_widget_get_visible (td_test_part (pane ("z"), "badge")));
  draw ("z", &line);
  g_assert_cmpuint (td_measure_list_length (td_test_part (browser, "measures")), ==, before + 1);
}

/* Whoever waits for what is written waits for as long. */
#define HELD_US (60 * G_USEC_PER_SEC)

static struct {
  GMutex lock;
  GCond changed;
  gboolean is_open, too_late;
} gate;

/* On a storage that takes its time: until the window has gone on. */
static gboolean
write_slowly (gpointer what, const char *path, GError **error)
{
  const gint64 end_us = g_get_monotonic_time () + HELD_US;

  g_mutex_lock (&gate.lock);
  while (!gate.is_open && !gate.too_late)
    gate.too_late = !g_cond_wait_until (&gate.changed, &gate.lock, end_us);
  g_mutex_unlock (&gate.lock);
  return g_file_set_contents (path, what, -1, error);
}

static gboolean
is_written (gpointer path)
{
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) && g_str_equal (text, "saved");
}

/* The window is not held up by the storage, and says what was not written. */
static void
test_slow_save (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "saved.txt", NULL);
  g_autofree char *nowhere = g_build_filename (td_test_folder (), "none", "saved.txt", NULL);

  td_save_file (GTK_WIDGET (browser), "Not saved", path, write_slowly, g_strdup ("saved"), g_free,
                NULL);
  td_save_file (GTK_WIDGET (browser), "Not saved", nowhere, write_slowly, g_strdup ("x"), g_free,
                NULL);
  g_mutex_lock (&gate.lock);
  g_assert_false (gate.too_late);
  gate.is_open = TRUE;
  g_cond_broadcast (&gate.changed);
  g_mutex_unlock (&gate.lock);
  td_test_wait (is_written, path, "the file");
  GType type = ADW_TYPE_MESSAGE_DIALOG;
  td_test_wait (td_test_window_is_mapped, &type, "the dialog");
  gtk_window_destroy (td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
}

static gboolean
shows_first_slice (gpointer unused)
{
  const TdImage *z = td_image_pane_get_image (pane ("z"));

  return z && z->pixels[0] == voxel (0, 0, 0);
}

/* Whoever stops a plane has the reduced one, if there is one, and else reads that there is none. */
static void
planes_are_stopped (void)
{
  static const char *const names[] = { "x", "y", "z" };

  for (guint i = 0; i < 3; i++) {
    GtkWidget *badge = td_test_part (pane (names[i]), "badge");
    g_signal_emit_by_name (
        td_test_button (pane (names[i]),
                        "Stop reading: the reduced plane is shown, if there is one"),
        "clicked");
    const TdImage *image = td_image_pane_get_image (pane (names[i]));
    g_assert_false (td_test_is_updating (pane (names[i])));
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (pane (names[i]), "message_box")), ==,
                     image == NULL);
    g_assert_cmpint (gtk_widget_get_visible (badge), ==, image != NULL);
  }
}

static void
test_play (void)
{
  go_to (5, 5, N - 1);
  gtk_toggle_button_set_active (td_test_part (browser, "play"), TRUE);
  td_test_wait (shows_first_slice, NULL, "the movie to begin anew");
  gtk_toggle_button_set_active (td_test_part (browser, "play"), FALSE);
  td_test_wait (planes_are_settled, NULL, "the planes");
  planes_are_stopped ();
  go_to (6, 6, N - 2);
  td_test_wait (planes_are_settled, NULL, "the planes once more");
}

/* ── A movie as a file ── */

static TdMovieDialog *
movie_dialog (void)
{
  return TD_MOVIE_DIALOG (td_test_other_window (TD_TYPE_MOVIE_DIALOG));
}

static gboolean
movie_ended (gpointer unused)
{
  return !gtk_widget_get_visible (td_test_part (movie_dialog (), "bar"));
}

/* Through what is chosen, in the contrast that is shown; whoever cancels is told so. */
static void
test_movie (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "a.avi", NULL);
  g_autofree char *bytes = NULL;
  gsize length;
  guint32 n;

  td_test_click (td_test_part (browser, "movie"));
  TdMovieDialog *dialog = movie_dialog ();
  GtkLabel *state = td_test_part (dialog, "state");
  g_assert_cmpstr (gtk_label_get_text (state), ==, "40 pictures: 1.6 s");
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (dialog)) == td_test_part (dialog, "accept"));
  td_test_pin_window ("movie-dialog", dialog);
  adw_combo_row_set_selected (td_test_part (dialog, "through"), 0);
  g_assert_cmpstr (gtk_label_get_text (state), ==, "70 pictures: 2.8 s");
  td_number_row_set_value (td_test_part (dialog, "first"), 60);
  td_number_row_set_value (td_test_part (dialog, "last"), 31);
  td_number_row_set_value (td_test_part (dialog, "rate"), 10);
  g_assert_cmpstr (gtk_label_get_text (state), ==, "30 pictures: 3.0 s");
  g_autofree char *asked = td_test_choose_by (td_test_part (dialog, "accept"), path);
  g_assert_cmpstr (asked, ==, "Save a Movie; save; slices.avi; AVI: a movie");
  g_assert_false (gtk_widget_get_sensitive (td_test_part (dialog, "choices")));
  g_assert_false (gtk_widget_get_sensitive (td_test_part (dialog, "accept")));
  g_assert_cmpstr (gtk_button_get_label (td_test_part (dialog, "leave")), ==, "_Cancel");
  td_test_wait (movie_ended, NULL, "the movie");
  g_assert_true (gtk_widget_get_sensitive (td_test_part (dialog, "accept")));
  g_assert_cmpstr (gtk_button_get_label (td_test_part (dialog, "leave")), ==, "_Close");
  g_assert_true (g_str_has_suffix (gtk_label_get_text (state), "a.avi” is saved."));
  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  memcpy (&n, bytes + 48, sizeof n);
  g_assert_cmpuint (GUINT32_FROM_LE (n), ==, 30);
  /* Escape and the button cancel what goes on, and close what does not. */
  for (guint i = 0; i < 2; i++) {
    gtk_window_close (GTK_WINDOW (dialog));
    if (i == 0) {
      td_test_click (td_test_part (browser, "movie"));
      dialog = movie_dialog ();
      td_movie_dialog_save (dialog, path);
      gtk_window_close (GTK_WINDOW (dialog));
      td_test_wait (movie_ended, NULL, "the movie to end");
      g_assert_cmpstr (gtk_label_get_text (td_test_part (dialog, "state")), ==,
                       "Cancelled: no movie was saved.");
      g_assert_true (gtk_widget_get_sensitive (td_test_part (dialog, "choices")));
    }
  }
  g_assert_null (movie_dialog ());
}

static gboolean
is_asked (gpointer unused)
{
  return td_test_other_window (ADW_TYPE_MESSAGE_DIALOG) != NULL;
}

static void
open_window (const char *path)
{
  window = td_volume_window_open (gtk_window_get_application (GTK_WINDOW (td_test_window)), path,
                                  "viridis");
  browser
      = (TdVolumeBrowser *) td_test_find (GTK_WIDGET (window), TD_TYPE_VOLUME_BROWSER, NULL, NULL);
}

/* Headerless samples: the window asks how they lie, once more where the answer is none. */
static void
test_raw (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "volume.raw", NULL);
  static const char *const answers[] = { "70 by 50", " 70x50:float32 " };

  g_assert_true (g_file_set_contents (path, (const char *) voxels,
                                      (gssize) ((gsize) NX * NY * N * sizeof *voxels), NULL));
  gtk_window_close (GTK_WINDOW (window));
  open_window (path);
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++) {
    td_test_wait (is_asked, NULL, "the question");
    GtkWindow *dialog = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);
    GtkWidget *row = td_test_find (GTK_WIDGET (dialog), ADW_TYPE_ENTRY_ROW, NULL, NULL);
    gtk_editable_set_text (GTK_EDITABLE (row), answers[i]);
    g_assert_true (adw_entry_row_get_activates_default (ADW_ENTRY_ROW (row))); /* as Open does */
    if (i == 0)
      td_test_pin_window ("volume-question", dialog);
    g_assert_null (strstr (adw_message_dialog_get_body (ADW_MESSAGE_DIALOG (dialog)), "scan"));
    adw_message_dialog_response (ADW_MESSAGE_DIALOG (dialog), "open");
    gtk_window_destroy (dialog);
  }
  assert_planes ((guint[]) { (NX - 1) / 2, (NY - 1) / 2, (N - 1) / 2 });
}

/* Every letter of it is on the screen. */
static gboolean
dataset_is_whole (gpointer label)
{
  return gtk_widget_get_width (label) > 0
         && !pango_layout_is_ellipsized (gtk_label_get_layout (label));
}

static gboolean
dataset_is (GtkWidget *label, gpointer text)
{
  return strcmp (gtk_label_get_text (GTK_LABEL (label)), text) == 0;
}

static gboolean
takes_hands (GtkWidget *mark, gpointer unused)
{
  return gtk_widget_get_focusable (mark) || gtk_widget_get_can_target (mark);
}

/* One of each name, as thick as its place. */
static char *
save_datasets (const char *const *names)
{
  char *path = g_build_filename (td_test_folder (), "datasets.h5", NULL);
  g_auto (TdH5Id) file = H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

  for (guint i = 0; names[i]; i++) {
    const hsize_t shape[3] = { i + 2, NY, NX };
    g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
    g_auto (TdH5Id) dataset = H5Dcreate2 (file, names[i], H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                          H5P_DEFAULT, H5P_DEFAULT);
    g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, voxels),
                     >=, 0);
  }
  return path;
}

/* Files of several data sets: each path is there to read, however long, and one is taken. */
static void
test_datasets (void)
{
  static const char *const names[]
      = { "first & <only>",
          "a_data_set_with_a_name_of_about_as_many_letters_as_lines_of_"
          "sources_may_have_here_at_the_most_or_some_more_than_that",
          NULL };
  g_autofree char *path = save_datasets (names), *place = g_strconcat ("/", names[1], NULL);
  g_autofree char *first = g_strconcat (place, "\n70 × 50 × 3", NULL);
  const char *const texts[] = { first, "/first & <only>\n70 × 50 × 2" };
  GtkWidget *label = NULL;

  gtk_window_close (GTK_WINDOW (window));
  open_window (path);
  td_test_wait (is_asked, NULL, "the question");
  GtkWindow *dialog = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);
  g_assert_cmpstr (adw_message_dialog_get_body (ADW_MESSAGE_DIALOG (dialog)), ==,
                   "The file holds several data sets. Which one is it?");
  const char *why = adw_status_page_get_description (td_test_part (browser, "failed_page"));
  g_assert_nonnull (strstr (why, "(“Data set”, or as"));
  for (guint i = 0; i < 2; i++) {
    label = td_test_find (GTK_WIDGET (dialog), GTK_TYPE_LABEL, dataset_is, (gpointer) texts[i]);
    td_test_wait (dataset_is_whole, label, "the path to be laid out");
  }
  td_test_pin_window ("volume-datasets", dialog);
  GtkWidget *list = gtk_widget_get_ancestor (label, GTK_TYPE_SCROLLED_WINDOW);
  g_assert_cmpint (gtk_widget_get_height (list), >, 100); /* both */
  /* The keyboard goes from row to row, and not into the marks. */
  g_assert_null (td_test_find (list, GTK_TYPE_CHECK_BUTTON, takes_hands, NULL));
  /* What is marked is what would open. */
  GtkListBox *rows = GTK_LIST_BOX (gtk_widget_get_ancestor (label, GTK_TYPE_LIST_BOX));
  g_assert_cmpint (gtk_list_box_row_get_index (gtk_list_box_get_selected_row (rows)), ==, 0);
  /* As the arrow down does. */
  g_signal_emit_by_name (gtk_widget_get_ancestor (label, GTK_TYPE_LIST_BOX), "move-cursor",
                         GTK_MOVEMENT_DISPLAY_LINES, 1, FALSE, FALSE);
  td_test_click (td_test_button (dialog, "Open"));
  td_test_wait (planes_are_settled, NULL, "the planes");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (pane ("z"), "subtitle")), ==, "0 of 0–1");
}

/* Without an answer there is nothing to show: by the button, and as Escape closes the dialog. */
static void
test_unanswered (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "unsaid.raw", NULL);
  GType type = TD_TYPE_VOLUME_WINDOW;

  g_assert_true (g_file_set_contents (path, "no volume", -1, NULL));
  gtk_window_close (GTK_WINDOW (window));
  for (guint i = 0; i < 2; i++) {
    open_window (path);
    td_test_wait (is_asked, NULL, "the question");
    GtkWindow *dialog = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);
    if (i == 0)
      td_test_click (td_test_button (dialog, "Close"));
    else
      gtk_window_close (dialog);
    td_test_wait (td_test_window_is_gone, &type, "the window to close");
    g_assert_null (td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
  }
}

/* As the windows before it were closed. */
static void
open_anew (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "slices", NULL);

  open_window (path);
  td_test_wait (planes_are_settled, NULL, "the planes");
}

typedef struct {
  gboolean stops, is_open;
} Another;

/* As it is when it begins to be shown: nothing of the volume before it is left. */
static void
on_another (TdVolumeBrowser *opened, Another *another)
{
  static const char *const names[] = { "x", "y", "z" };
  GtkProgressBar *bar = td_test_part (browser, "survey_bar");

  another->is_open = TRUE;
  g_assert_cmpstr (gtk_label_get_text (td_test_part (browser, "name")), ==, "few");
  g_assert_nonnull (strstr (gtk_label_get_text (td_test_part (browser, "facts")), "× 9 voxels"));
  g_assert_cmpstr (gtk_label_get_text (td_test_part (browser, "survey")), ==, "");
  g_assert_true (gtk_widget_get_visible (td_test_part (browser, "survey_box")));
  g_assert_cmpfloat (gtk_progress_bar_get_fraction (bar), ==, 0);
  for (guint i = 0; i < 3; i++)
    g_assert_null (td_image_pane_get_image (pane (names[i])));
  if (another->stops)
    td_test_click (td_test_button (browser, "Stop measuring"));
}

static gboolean
another_has_figures (gpointer another)
{
  return ((Another *) another)->is_open && survey_is_there (NULL);
}

/* Another volume in the same window, whose figures are stopped at first. */
static void
test_another (void)
{
  g_autofree char *path = save_volume ("few", TD_VOLUME_BIGTIFF, 9);

  open_anew ();
  td_test_wait (survey_is_there, NULL, "the figures of the volume before");
  g_autofree char *before = g_strdup (gtk_label_get_text (td_test_part (browser, "survey")));
  for (guint i = 0; i < 2; i++) {
    Another another = { .stops = i == 0 };
    gulong handler = g_signal_connect (browser, "opened", G_CALLBACK (on_another), &another);
    td_volume_browser_open (browser, path, NULL);
    td_test_wait (another_has_figures, &another, "the figures of another volume");
    g_signal_handler_disconnect (browser, handler);
    g_autofree char *told = g_strdup (gtk_label_get_text (td_test_part (browser, "survey")));
    const char *figures = told;
    g_assert_true (another.stops == g_str_equal (figures, "The whole volume was not measured."));
    g_assert_cmpstr (figures, !=, before);
    g_assert_false (gtk_widget_get_visible (td_test_part (browser, "survey_box")));
    td_test_wait (planes_are_settled, NULL, "the planes");
    g_assert_cmpfloat (td_image_pane_get_image (pane ("z"))->pixels[0], ==, voxel (0, 0, 4));
    g_assert_cmpstr (gtk_label_get_text (td_test_part (pane ("z"), "subtitle")), ==, "4 of 0–8");
    /* What was stopped brings no figures afterwards. */
    g_assert_cmpstr (gtk_label_get_text (td_test_part (browser, "survey")), ==, told);
  }
}

static gboolean
slice_is_wide (gpointer unused)
{
  return gtk_widget_get_width (GTK_WIDGET (pane ("z")))
             > 0.6 * gtk_widget_get_width (GTK_WIDGET (browser))
         && gtk_widget_get_height (GTK_WIDGET (pane ("z")))
                > 0.9 * gtk_widget_get_height (GTK_WIDGET (browser));
}

static gboolean
slice_is_narrow (gpointer unused)
{
  return gtk_widget_get_width (GTK_WIDGET (pane ("z")))
         < 0.6 * gtk_widget_get_width (GTK_WIDGET (browser));
}

/* One slice has the room of the planes that it has not, and nothing to step through. */
static void
test_lone (void)
{
  static const char *const names[] = { "x", "y", "z" };
  g_autofree char *one = save_volume ("one", TD_VOLUME_BIGTIFF, 1);
  g_autofree char *few = g_build_filename (td_test_folder (), "few", NULL);

  gtk_toggle_button_set_active (td_test_part (pane ("y"), "enlarge"), TRUE);
  for (guint turn = 0; turn < 2; turn++) {
    const gboolean lone = turn == 0;
    td_volume_browser_open (browser, lone ? one : few, NULL);
    td_test_wait (lone ? slice_is_wide : slice_is_narrow, NULL, "the slice's room");
    td_test_wait (planes_are_settled, NULL, "the planes");
    for (guint i = 0; i < 3; i++)
      g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (pane (names[i]))), ==, !lone || i == 2);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (pane ("z"), "subtitle")), ==, !lone);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (browser, "play")), ==, !lone);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (browser, "link")), ==, !lone);
    g_assert_true (gtk_widget_get_visible (td_test_part (browser, "side")));
    GtkWidget *spin = td_test_find (GTK_WIDGET (pane ("z")), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
    g_assert_cmpint (gtk_widget_get_visible (spin), ==, !lone);
    td_test_pin_window (lone ? "volume-lone" : "volume-few", window);
    gtk_toggle_button_set_active (td_test_part (pane ("z"), "enlarge"), TRUE);
    g_assert_false (gtk_widget_get_visible (td_test_part (browser, "side")));
    gtk_toggle_button_set_active (td_test_part (pane ("z"), "enlarge"), FALSE);
    g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (pane ("x"))), ==, !lone);
  }
}

static gboolean
has_nothing (gpointer unused)
{
  return g_str_has_prefix (gtk_label_get_text (td_test_part (browser, "survey")),
                           "nothing finite\n10500 ");
}

/* A flat slice has no contrast to give: what lies beside it would be white or black. */
static void
test_flat (void)
{
  float *whole = voxels;
  g_autofree float *flat = g_memdup2 (voxels, (gsize) 3 * NX * NY * sizeof *voxels);
  double low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < 3 * NX * NY; i++) {
    if (i / (NX * NY) == 1)
      flat[i] = 0.25f;
    low = fmin (low, flat[i]);
    high = fmax (high, flat[i]);
  }
  voxels = flat;
  g_autofree char *path = save_volume ("flat", TD_VOLUME_BIGTIFF, 3);
  for (guint i = 0; i < 3 * NX * NY; i++)
    flat[i] = NAN;
  g_autofree char *nothing = save_volume ("nothing", TD_VOLUME_BIGTIFF, 3);
  voxels = whole;
  td_volume_browser_open (browser, path, NULL);
  td_test_wait (survey_is_there, NULL, "its figures");
  td_test_wait (planes_are_settled, NULL, "the planes");
  const char *const names[] = { "x", "y", "z" };
  for (guint i = 0; i < 3; i++) {
    const TdStyle *style = td_slice_view_get_style (td_image_pane_view (pane (names[i])));
    g_assert_cmpfloat_with_epsilon (style->low, low, 1e-6);
    g_assert_cmpfloat_with_epsilon (style->high, high, 1e-6);
  }
  td_volume_browser_open (browser, nothing, NULL);
  td_test_wait (has_nothing, NULL, "what there is of nothing");
  const TdMeasure region = { TD_MEASURE_REGION, { { 5, 5 }, { 9, 9 } } };
  td_test_wait (planes_are_settled, NULL, "the planes");
  draw ("z", &region);
}

static void
on_failed (TdVolumeBrowser *self, const GError *error, char **why)
{
  g_assert_null (*why);
  *why = g_strdup (error->message);
}

static gboolean
is_said (gpointer why)
{
  return *(char **) why != NULL;
}

/* What does not open says why, in place of what was shown. */
static void
test_failed (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "a & b.tif", NULL);
  g_autofree char *why = NULL;
  gulong handler = g_signal_connect (browser, "failed", G_CALLBACK (on_failed), &why);

  td_volume_browser_open (browser, path, NULL);
  g_assert_cmpstr (gtk_stack_get_visible_child_name (td_test_part (browser, "stack")), ==,
                   "opening");
  td_test_wait (is_said, &why, "the volume to fail");
  g_assert_cmpstr (gtk_stack_get_visible_child_name (td_test_part (browser, "stack")), ==,
                   "failed");
  const char *words = adw_status_page_get_description (td_test_part (browser, "failed_page"));
  g_assert_nonnull (strstr (words, "a &amp; b.tif"));
  td_test_pin_window ("volume-failed", window);
  g_signal_handler_disconnect (browser, handler);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  make_voxels ();
  g_autofree char *path = save_volume ("slices", TD_VOLUME_TIFF_STACK, N);
  TdApplication *application = td_test_start ();
  open_window (path);
  g_test_add_func ("/volume-browser/planes", test_planes);
  g_test_add_func ("/volume-browser/cross-hair", test_cross_hair);
  g_test_add_func ("/volume-browser/hands", test_hands);
  g_test_add_func ("/volume-browser/readout", test_readout);
  g_test_add_func ("/volume-browser/levels", test_levels);
  g_test_add_func ("/volume-browser/measures", test_measures);
  g_test_add_func ("/volume-browser/too-early", test_too_early);
  g_test_add_func ("/volume-browser/measure-texts", test_measure_texts);
  g_test_add_func ("/volume-browser/slow-save", test_slow_save);
  g_test_add_func ("/volume-browser/play", test_play);
  g_test_add_func ("/volume-browser/movie", test_movie);
  g_test_add_func ("/volume-browser/raw", test_raw);
  g_test_add_func ("/volume-browser/datasets", test_datasets);
  g_test_add_func ("/volume-browser/unanswered", test_unanswered);
  g_test_add_func ("/volume-browser/another", test_another);
  g_test_add_func ("/volume-browser/lone", test_lone);
  g_test_add_func ("/volume-browser/flat", test_flat);
  g_test_add_func ("/volume-browser/failed", test_failed);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (window));
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (voxels);
  td_device_leave (status);
}
