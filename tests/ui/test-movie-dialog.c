/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dialog of a movie: what can be chosen through each axis, what is asked for, and what is shown
   while it is saved. What saves it does as the test tells. */
#include <math.h>
#include <string.h>

#include <adwaita.h>

#include "dataset/volume.h"
#include "ui-test.h"
#include "ui/movie-dialog.h"
#include "ui/movie-save.h"
#include "ui/number-row.h"
#include "ui/scale-bar.h"
#include "window-test.h"

#define TELL_MS 100 /* how often it is shown how far a movie is: here at once */

guint
g_timeout_add (guint interval, GSourceFunc function, gpointer user)
{
  return g_timeout_add_full (G_PRIORITY_DEFAULT, interval == TELL_MS ? 1 : interval, function, user,
                             NULL);
}

#define NX (2 * (guint) TD_SCALE_BAR_ROOM)
#define NY 3u
#define NZ ((guint) TD_SCALE_BAR_ROOM + 1)

/* ── Saving, as it is told ── */

static TdMovie saved; /* what was asked for last */
static char *saved_path;
/* How far it comes, a step each time that was seen; then its end: NULL: it is saved. */
static const double *steps;
static guint n_steps;
static const char *failure;
static gboolean until_cancelled;
static int n_shown; /* how often something was shown */

/* The linker puts this in the place of the program's (meson.build). */
gboolean __wrap_td_movie_save (TdVolumeSource *source, const TdMovie *movie, const char *path,
                               TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                               GError **error);

#define MOST_MS 20000 /* then the test tells what was not shown */

/* Twice: what is shown now may have been asked for before. */
static void
wait_until_shown (void)
{
  const int before = g_atomic_int_get (&n_shown);

  for (guint ms = 0; ms < MOST_MS && g_atomic_int_get (&n_shown) < before + 2; ms++)
    g_usleep (1000);
}

gboolean
__wrap_td_movie_save (TdVolumeSource *source, const TdMovie *movie, const char *path,
                      TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                      GError **error)
{
  saved = *movie;
  g_free (saved_path);
  saved_path = g_strdup (path);
  for (guint i = 0; i < n_steps; i++) {
    progress (steps[i], user);
    wait_until_shown ();
  }
  for (guint ms = 0; until_cancelled && ms < MOST_MS; ms++) {
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    g_usleep (1000);
  }
  if (failure)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, failure);
  return !failure;
}

/* ── The dialog ── */

static TdMovieDialog *dialog;
static GString *said; /* each state once, with how far the bar is */

static gpointer
part (const char *name)
{
  return td_test_part (dialog, name);
}

static void
on_state (GtkWidget *bar, GParamSpec *property, gpointer unused)
{
  g_autofree char *line = g_strdup_printf ("%s %.2f; ", gtk_label_get_text (part ("state")),
                                           gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (bar)));

  if (!g_str_has_suffix (said->str, line))
    g_string_append (said, line);
}

static gboolean
count_look (gpointer unused)
{
  on_state (part ("bar"), NULL, NULL);
  g_atomic_int_inc (&n_shown);
  return G_SOURCE_CONTINUE;
}

static TdVolumeSource *
source_new (void)
{
  g_autofree char *path = g_build_filename (td_test_folder (), "a.ball.h5", NULL);
  const TdVolumeSpec spec = { .path = path,
                              .format = TD_VOLUME_HDF5,
                              .bits = 32,
                              .nx = NX,
                              .ny = NY,
                              .n_slices = NZ,
                              .overwrite = TRUE };
  g_autofree float *voxels = g_new0 (float, NX *NY *NZ);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  g_assert_no_error (error);
  g_assert_true (td_volume_writer_write (writer, 0, NZ, voxels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  TdVolume *volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  return td_volume_source_new (volume, 512);
}

static void
open_dialog (TdVolumeAxis axis)
{
  static const TdStyle styles[3]
      = { { 0, 1, TD_COLOUR_GREY }, { 2, 3, TD_COLOUR_VIRIDIS }, { 4, 5, TD_COLOUR_DIVERGING } };
  g_autoptr (TdVolumeSource) source = source_new ();

  dialog = TD_MOVIE_DIALOG (td_movie_dialog_new (NULL, source, axis, styles));
}

static gboolean
is_over (gpointer unused)
{
  return !gtk_widget_get_visible (part ("bar"));
}

static void
save (void)
{
  td_movie_dialog_save (dialog, "/there/a.avi");
  td_test_wait (is_over, NULL, "the movie to end");
}

static double
most_of (const char *name)
{
  GtkWidget *spin = td_test_find (part (name), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  double least, most;

  gtk_spin_button_get_range (GTK_SPIN_BUTTON (spin), &least, &most);
  g_assert_cmpfloat (least, ==, 0);
  return most;
}

/* Through each axis, in each size; planes forwards and backwards. */
static void
test_choices (void)
{
  static const struct {
    guint count, width, height, sizes; /* of the planes; in how many sizes they are offered */
  } axes[] = { { NX, NY, NZ, 2 }, { NY, NX, NZ, 3 }, { NZ, NX, NY, 2 } };
  static const struct {
    guint first, last;
    double rate;
  } ways[] = { { 0, 2, 25 }, { 2, 1, 10 }, { 1, 1, 60 } };

  steps = NULL;
  n_steps = 0;
  failure = NULL;
  for (guint axis = 0; axis < 3; axis++) {
    const guint w = axes[axis].width, h = axes[axis].height, n = axes[axis].count;
    open_dialog (axis);
    g_assert_cmpuint (adw_combo_row_get_selected (part ("through")), ==, axis);
    GListModel *sizes = adw_combo_row_get_model (part ("size"));
    g_assert_cmpuint (g_list_model_get_n_items (sizes), ==, axes[axis].sizes);
    g_assert_true (most_of ("first") == n - 1 && most_of ("last") == n - 1);
    g_assert_cmpfloat (td_number_row_get_value (part ("last")), ==, n - 1);
    for (guint size = 0; size < axes[axis].sizes; size++) {
      g_autofree char *text = g_strdup_printf ("%u × %u", w >> size, h >> size);
      const gboolean fits = (w >> size) >= TD_SCALE_BAR_ROOM;
      g_assert_cmpstr (gtk_string_list_get_string (GTK_STRING_LIST (sizes), size), ==, text);
      adw_combo_row_set_selected (part ("size"), size);
      g_assert_cmpint (gtk_widget_get_sensitive (part ("bar_row")), ==, fits);
      g_assert_cmpstr (adw_action_row_get_subtitle (part ("bar_row")), ==,
                       fits ? "" : "The pictures are too small for one");
      for (guint way = 0; way < G_N_ELEMENTS (ways); way++) {
        const guint pictures = (guint) abs ((int) ways[way].last - (int) ways[way].first) + 1;
        td_number_row_set_value (part ("first"), ways[way].first);
        td_number_row_set_value (part ("last"), ways[way].last);
        td_number_row_set_value (part ("rate"), ways[way].rate);
        gtk_switch_set_active (part ("scale_bar"), way == 1);
        g_autofree char *state
            = g_strdup_printf (pictures == 1 ? "%u picture: %.1f s" : "%u pictures: %.1f s",
                               pictures, pictures / ways[way].rate);
        g_assert_cmpstr (gtk_label_get_text (part ("state")), ==, state);
        save ();
        g_assert_cmpint (saved.axis, ==, axis);
        g_assert_true (saved.first == ways[way].first && saved.last == ways[way].last);
        g_assert_cmpuint (saved.shrink, ==, 1 << size);
        g_assert_cmpfloat (saved.rate, ==, ways[way].rate);
        g_assert_cmpfloat (saved.style.low, ==, 2 * axis);
        g_assert_cmpfloat (saved.style.high, ==, 2 * axis + 1);
        g_assert_cmpint (saved.scale_bar, ==, way == 1);
        g_assert_cmpstr (saved_path, ==, "/there/a.avi");
        g_assert_cmpstr (gtk_label_get_text (part ("state")), ==, "“/there/a.avi” is saved.");
      }
    }
    g_autofree char *asked = td_test_choose_by (part ("accept"), NULL);
    g_assert_cmpstr (asked, ==, "Save a Movie; save; a.ball.avi; AVI: a movie");
    gtk_window_destroy (GTK_WINDOW (dialog));
  }
}

/* How far it is, and how it ends. Nothing else can be done meanwhile. */
static void
test_progress (void)
{
  static const double quarters[] = { 0.25, 0.5, 1 };

  open_dialog (TD_AXIS_Z);
  gtk_window_present (GTK_WINDOW (dialog));
  td_number_row_set_value (part ("last"), 7);
  steps = quarters;
  n_steps = G_N_ELEMENTS (quarters);
  failure = NULL;
  said = g_string_new (NULL);
  td_movie_dialog_save (dialog, "/there/a.avi");
  g_assert_true (gtk_widget_get_visible (part ("bar")));
  g_assert_false (gtk_widget_get_sensitive (part ("choices")));
  g_assert_false (gtk_widget_get_sensitive (part ("accept")));
  g_assert_cmpstr (gtk_button_get_label (part ("leave")), ==, "_Cancel");
  g_assert_cmpstr (gtk_label_get_text (part ("state")), ==, "0 of 8 pictures");
  td_movie_dialog_save (dialog, "/there/b.avi"); /* one at a time */
  const guint look = g_timeout_add (1, count_look, NULL);
  td_test_wait (is_over, NULL, "the movie to end");
  g_source_remove (look);
  g_assert_true (g_str_has_prefix (said->str, "0 of 8 pictures 0.00; ")
                 || g_str_has_prefix (said->str, "2 of 8 pictures 0.25; "));
  g_assert_nonnull (strstr (said->str, "2 of 8 pictures 0.25; 4 of 8 pictures 0.50; "
                                       "8 of 8 pictures 1.00; "));
  g_assert_cmpstr (saved_path, ==, "/there/a.avi");
  g_assert_true (gtk_widget_get_sensitive (part ("choices")));
  g_assert_true (gtk_widget_get_sensitive (part ("accept")));
  g_assert_cmpstr (gtk_button_get_label (part ("leave")), ==, "_Close");
  n_steps = 0;
  failure = "The disk is full";
  save ();
  g_assert_cmpstr (gtk_label_get_text (part ("state")), ==, failure);
  /* Who closes it meanwhile cancels, and is told so. */
  failure = NULL;
  until_cancelled = TRUE;
  td_movie_dialog_save (dialog, "/there/a.avi");
  gtk_window_close (GTK_WINDOW (dialog));
  td_test_wait (is_over, NULL, "the movie to be cancelled");
  g_assert_cmpstr (gtk_label_get_text (part ("state")), ==, "Cancelled: no movie was saved.");
  /* Or goes away altogether. */
  td_movie_dialog_save (dialog, "/there/a.avi");
  gtk_window_destroy (GTK_WINDOW (dialog));
  td_test_pause (20);
  until_cancelled = FALSE;
  g_string_free (said, TRUE);
}

int
main (int argc, char **argv)
{
  g_autoptr (AdwApplication) application = td_test_start_parts (&argc, &argv);

  g_test_add_func ("/movie-dialog/choices", test_choices);
  g_test_add_func ("/movie-dialog/progress", test_progress);
  int status = g_test_run ();
  td_test_folder_remove ();
  g_free (saved_path);
  td_device_leave (status);
}
