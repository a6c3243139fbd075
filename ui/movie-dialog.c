/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "movie-dialog.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "choose-file.h"
#include "compute/device/host.h"
#include "labels.h"
#include "number-row.h"
#include "scale-bar.h"
#include "ui.h"

#define RATE 25 /* as the planes are played */
#define TELL_MS 100

/* A movie that is being saved. */
typedef struct {
  TdVolumeSource *source;
  TdMovie movie;
  char *path;
  int pictures; /* saved so far; atomic */
} Saving;

struct _TdMovieDialog {
  AdwWindow parent_instance;
  GtkButton *leave, *accept;
  GtkWidget *choices, *bar;
  AdwComboRow *through, *size;
  AdwActionRow *bar_row;
  GtkSwitch *scale_bar;
  TdNumberRow *first, *last, *rate;
  GtkLabel *state;
  TdVolumeSource *source;
  TdStyle styles[3]; /* by axis */
  GCancellable *cancellable;
  Saving *saving;    /* the task's; NULL: nothing is being saved */
  guint telling;     /* timeout */
  gboolean disposed; /* nothing is shown any more */
};

G_DEFINE_FINAL_TYPE (TdMovieDialog, td_movie_dialog, ADW_TYPE_WINDOW)

/* ── Worker thread ── */

static void
movie_dialog_saving_free (gpointer user)
{
  Saving *saving = user;

  td_volume_source_unref (saving->source);
  g_free (saving->path);
  g_free (saving);
}

static void
movie_dialog_tell (double fraction, gpointer user)
{
  Saving *saving = user;

  g_atomic_int_set (&saving->pictures, (int) round (fraction * td_movie_pictures (&saving->movie)));
}

static gpointer
movie_dialog_work (gpointer user)
{
  g_autoptr (GTask) task = user;
  Saving *saving = g_task_get_task_data (task);
  GError *error = NULL;

  td_host_enter_background ();
  if (td_movie_save (saving->source, &saving->movie, saving->path, movie_dialog_tell, saving,
                     g_task_get_cancellable (task), &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
  return NULL;
}

/* ── Choices ── */

static TdMovie
movie_dialog_movie (TdMovieDialog *self)
{
  const guint axis = adw_combo_row_get_selected (self->through);
  const guint size = adw_combo_row_get_selected (self->size);

  return (TdMovie) { .axis = (TdVolumeAxis) axis,
                     .first = (guint) td_number_row_get_value (self->first),
                     .last = (guint) td_number_row_get_value (self->last),
                     /* A list that is not filled yet has nothing selected. */
                     .shrink = size == GTK_INVALID_LIST_POSITION ? 1 : 1u << size,
                     .rate = td_number_row_get_value (self->rate),
                     .style = self->styles[axis],
                     .scale_bar = gtk_switch_get_active (self->scale_bar) };
}

static void
movie_dialog_show_length (TdMovieDialog *self)
{
  const TdMovie movie = movie_dialog_movie (self);
  const guint n = td_movie_pictures (&movie);
  g_autofree char *text = g_strdup_printf (
      g_dngettext (NULL, "%u picture: %.1f s", "%u pictures: %.1f s", n), n, n / movie.rate);

  gtk_label_set_text (self->state, text);
}

/* A small picture would be covered by it. */
static void
movie_dialog_offer_bar (TdMovieDialog *self)
{
  const TdMovie movie = movie_dialog_movie (self);
  const gboolean fits
      = self->source
        && td_volume_cut_size (td_volume_source_facts (self->source), movie.axis).width
                   / movie.shrink
               >= TD_SCALE_BAR_ROOM;

  td_set_sensitive (GTK_WIDGET (self->bar_row), fits);
  adw_action_row_set_subtitle (self->bar_row, fits ? "" : _ ("The pictures are too small for one"));
}

static void
movie_dialog_fill (TdMovieDialog *self)
{
  const TdVolumeFacts *facts = self->source ? td_volume_source_facts (self->source) : NULL;

  if (!facts)
    return;
  const TdCutSize size
      = td_volume_cut_size (facts, (TdVolumeAxis) adw_combo_row_get_selected (self->through));
  g_autoptr (GtkStringList) sizes = gtk_string_list_new (NULL);
  for (guint shrink = 1; shrink <= 4 && MIN (size.width, size.height) >= shrink; shrink *= 2) {
    g_autofree char *text = g_strdup_printf ("%u × %u", size.width / shrink, size.height / shrink);
    gtk_string_list_append (sizes, text);
  }
  adw_combo_row_set_model (self->size, G_LIST_MODEL (sizes));
  td_number_row_set_range (self->first, 0, size.count - 1);
  td_number_row_set_range (self->last, 0, size.count - 1);
  td_number_row_set_value (self->first, 0);
  td_number_row_set_value (self->last, size.count - 1);
  movie_dialog_show_length (self);
  movie_dialog_offer_bar (self);
}

/* ── Saving ── */

static void
movie_dialog_show_saving (TdMovieDialog *self)
{
  const gboolean saving = self->saving != NULL;

  td_set_sensitive (self->choices, !saving);
  td_set_sensitive (GTK_WIDGET (self->accept), !saving);
  gtk_widget_set_visible (self->bar, saving);
  gtk_button_set_label (self->leave, saving ? _ ("_Cancel") : _ ("_Close"));
}

static gboolean
movie_dialog_show_progress (gpointer user)
{
  TdMovieDialog *self = user;
  const guint n = td_movie_pictures (&self->saving->movie);
  const int pictures = g_atomic_int_get (&self->saving->pictures);
  g_autofree char *text = g_strdup_printf (_ ("%d of %u pictures"), pictures, n);

  gtk_label_set_text (self->state, text);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), (double) pictures / n);
  return G_SOURCE_CONTINUE;
}

static void
movie_dialog_on_saved (GObject *object, GAsyncResult *result, gpointer unused)
{
  TdMovieDialog *self = TD_MOVIE_DIALOG (object);
  const Saving *saving = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autofree char *words = NULL;

  g_application_release (g_application_get_default ());
  const gboolean saved = g_task_propagate_boolean (G_TASK (result), &error);
  if (self->disposed)
    return;
  g_clear_handle_id (&self->telling, g_source_remove);
  self->saving = NULL;
  if (saved)
    words = g_strdup_printf (_ ("“%s” is saved."), saving->path);
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    words = g_strdup (_ ("Cancelled: no movie was saved."));
  else
    words = td_label_volume_error (error);
  gtk_label_set_text (self->state, words);
  movie_dialog_show_saving (self);
}

void
td_movie_dialog_save (TdMovieDialog *self, const char *path)
{
  GError *error = NULL;

  if (self->saving)
    return;
  Saving *saving = g_new (Saving, 1);
  *saving = (Saving) { td_volume_source_ref (self->source), movie_dialog_movie (self),
                       g_strdup (path), 0 };
  g_clear_object (&self->cancellable);
  self->cancellable = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->cancellable, movie_dialog_on_saved, NULL);
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, saving, movie_dialog_saving_free);
  self->saving = saving;
  self->telling = g_timeout_add (TELL_MS, movie_dialog_show_progress, self);
  movie_dialog_show_progress (self);
  movie_dialog_show_saving (self);
  /* Whoever quits meanwhile leaves no part of a movie behind. */
  g_application_hold (g_application_get_default ());
  GThread *thread = td_thread_start ("movie", movie_dialog_work, g_object_ref (task), &error);
  if (thread) {
    g_thread_unref (thread);
    return;
  }
  g_task_return_error (task, error);
  g_object_unref (task);
}

static void
movie_dialog_choose (TdMovieDialog *self)
{
  static const char *const avi[] = { "*.avi", NULL };
  g_autofree char *base = g_path_get_basename (td_volume_source_facts (self->source)->path);
  char *dot = strrchr (base, '.');

  if (dot && dot > base)
    *dot = '\0';
  g_autofree char *name = g_strconcat (base, ".avi", NULL);
  GtkFileChooser *chooser
      = td_choose_name (self, _ ("Save a Movie"), name, (TdFileChosen) td_movie_dialog_save, self);
  td_choose_file_add_filter (chooser, _ ("AVI: a movie"), avi);
}

/* ── Window ── */

/* What is being saved is cancelled first; the window then says so. */
static gboolean
movie_dialog_on_close (TdMovieDialog *self)
{
  if (!self->saving)
    return GDK_EVENT_PROPAGATE;
  g_cancellable_cancel (self->cancellable);
  return GDK_EVENT_STOP;
}

TD_DISPOSE (TdMovieDialog, td_movie_dialog)
{
  self->disposed = TRUE;
  g_clear_handle_id (&self->telling, g_source_remove);
  g_cancellable_cancel (self->cancellable);
}

TD_FINALIZE (TdMovieDialog, td_movie_dialog)
{
  g_clear_object (&self->cancellable);
  g_clear_pointer (&self->source, td_volume_source_unref);
}

static void
td_movie_dialog_class_init (TdMovieDialogClass *class)
{
  g_type_ensure (TD_TYPE_NUMBER_ROW);
  G_OBJECT_CLASS (class)->dispose = td_movie_dialog_dispose;
  G_OBJECT_CLASS (class)->finalize = td_movie_dialog_finalize;
  td_close_on_escape (class);
  td_bind_template (class, TdMovieDialog, "/org/tomodesk/ui/movie-dialog.ui", leave, accept,
                    choices, bar, through, size, first, last, rate, state, bar_row, scale_bar);
  td_bind_callbacks (class, movie_dialog_fill, movie_dialog_offer_bar, movie_dialog_show_length,
                     movie_dialog_choose, movie_dialog_on_close);
}

static void
td_movie_dialog_init (TdMovieDialog *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  td_number_row_set_steps (self->first, 1, 10, 0);
  td_number_row_set_steps (self->last, 1, 10, 0);
  td_number_row_set_steps (self->rate, 1, 5, 0);
  td_number_row_set_range (self->rate, 1, 60);
  td_number_row_set_value (self->rate, RATE);
}

GtkWidget *
td_movie_dialog_new (GtkWindow *parent, TdVolumeSource *source, TdVolumeAxis axis,
                     const TdStyle styles[3])
{
  TdMovieDialog *self = g_object_new (TD_TYPE_MOVIE_DIALOG, "transient-for", parent, NULL);

  self->source = td_volume_source_ref (source);
  memcpy (self->styles, styles, sizeof self->styles);
  adw_combo_row_set_selected (self->through, axis);
  movie_dialog_fill (self);
  gtk_widget_grab_focus (GTK_WIDGET (self->accept)); /* the header's first button closes */
  return GTK_WIDGET (self);
}
