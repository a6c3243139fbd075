/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch-dialog.h"

#include <glib/gi18n.h>
#include <math.h>

#include "choose-file.h"
#include "cluster/arrivals.h"
#include "cluster/batch.h"
#include "compute/recipe/field.h"
#include "dataset/file-bytes.h"
#include "dataset/unit.h"
#include "labels.h"
#include "latest.h"
#include "number-row.h"
#include "quantity.h"
#include "reconstruct-dialog.h"
#include "target-check.h"
#include "ui.h"

struct _TdBatchDialog {
  AdwWindow parent_instance;
  TdRecipe recipe;
  char **settings;
  GPtrArray *paths; /* char *, in the list's order */
  AdwComboRow *which, *format;
  GtkWidget *accept, *list, *chosen, *watched, *none, *stated;
  AdwEntryRow *watch, *folder;
  TdNumberRow *settle;
  GtkSwitch *find, *overwrite;
  AdwActionRow *find_row, *recipe_row, *problem, *in_all;
  GtkWidget *together;
  TdEngine *engine;
  TdLatest *looks;
  guint n_looked, n_there, n_refused;
  TdBatchNeed need; /* of all that were looked at */
  guint64 room;     /* in the volumes' folder, as it was seen last */
  gboolean filling;
  GCancellable *listing; /* a folder's scans; NULL: none are looked for */
};

enum { CHOSEN, WATCHED };
G_DEFINE_FINAL_TYPE (TdBatchDialog, td_batch_dialog, ADW_TYPE_WINDOW)

/* ── What is wrong ── */

static gboolean
batch_dialog_watches (TdBatchDialog *self)
{
  return adw_combo_row_get_selected (self->which) == WATCHED;
}

static char **
batch_dialog_scans (TdBatchDialog *self)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (guint i = 0; i < self->paths->len; i++)
    g_strv_builder_add (builder, self->paths->pdata[i]);
  return g_strv_builder_end (builder);
}

/* What is still empty is no fault, but nothing can start. */
static gboolean
batch_dialog_is_complete (TdBatchDialog *self)
{
  const char *from = gtk_editable_get_text (GTK_EDITABLE (self->watch));

  return *gtk_editable_get_text (GTK_EDITABLE (self->folder))
         && (batch_dialog_watches (self) ? *from != '\0' : self->paths->len > 0);
}

/* NULL: nothing. */
static void
batch_dialog_say (TdBatchDialog *self, const char *words)
{
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->problem), words ? words : "");
  gtk_widget_set_visible (GTK_WIDGET (self->problem), words != NULL);
}

static void
batch_dialog_say_problem (TdBatchDialog *self, const GError *error)
{
  g_autofree char *words = error ? td_label_error (error) : NULL;

  batch_dialog_say (self, words);
}

/* ── What each scan takes, asked off the main thread ── */

typedef struct {
  TdEngine *engine;
  TdRecipe recipe;
  char **scans, **outputs, **settings;
  char *folder, *watch; /* "": not given yet; watch: NULL where nothing is watched */
  gboolean overwrite;
} Question;

#define NO_SCAN G_MAXUINT

typedef struct {
  guint at; /* in the list; NO_SCAN: there is none, and the folders are as they must be */
  gboolean there;
  TdBatchNeed need;
  char *problem;  /* NULL: it can be done */
  guint64 room;   /* in the volumes' folder; G_MAXUINT64: not known */
  GError *narrow; /* of the last one: all of them have no room there; NULL: they have */
} Look;

static void
batch_dialog_question_free (gpointer user)
{
  Question *question = user;

  td_engine_unref (question->engine);
  g_strfreev (question->scans);
  g_strfreev (question->outputs);
  g_strfreev (question->settings);
  g_free (question->folder);
  g_free (question->watch);
  g_free (question);
}

static void
batch_dialog_look_free (gpointer user)
{
  Look *look = user;

  g_free (look->problem);
  g_clear_error (&look->narrow);
  g_free (look);
}

/* The volumes' folder may exist, and is made if its parent does. */
static gboolean
batch_dialog_check_folder (const char *folder, GError **error)
{
  if (!g_file_test (folder, G_FILE_TEST_EXISTS))
    return td_target_check (folder, error);
  if (g_path_is_absolute (folder) && g_file_test (folder, G_FILE_TEST_IS_DIR))
    return TRUE;
  return td_set_error (error, TD_ERROR_INVALID, "“%s” is no folder", folder);
}

static gboolean
batch_dialog_check_folders (const Question *question, GError **error)
{
  const char *watch = question->watch;

  if (watch && *watch && !(g_path_is_absolute (watch) && g_file_test (watch, G_FILE_TEST_IS_DIR)))
    return td_set_error (error, TD_ERROR_INVALID, "“%s” is no folder", watch);
  return !*question->folder || batch_dialog_check_folder (question->folder, error);
}

/* Worker thread. */
static Look *
batch_dialog_look_at (const Question *question, guint at, GCancellable *cancellable)
{
  TdScanOptions options = { 0 };
  const TdBatchWork work = { .engine = question->engine,
                             .options = &options,
                             .recipe = &question->recipe,
                             .overwrite = question->overwrite };
  g_autoptr (TdBatchRow) row = td_batch_row_new (question->scans[at], question->outputs[at]);
  g_autoptr (GError) error = NULL;
  Look *look = g_new0 (Look, 1);
  gboolean sound = TRUE;

  look->at = at;
  for (char **s = question->settings; sound && s && s[0]; s += 2)
    sound = td_scan_options_set (&options, s[0], s[1], &error);
  if (!sound || !td_batch_look (&work, row, &look->need, cancellable, &error))
    look->problem = td_label_error (error);
  look->there = row->state == TD_BATCH_THERE;
  return look;
}

static gpointer
batch_dialog_look (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Question *question = user;
  TdBatchNeed all = { 0 };

  if (!batch_dialog_check_folders (question, error))
    return NULL;
  if (question->watch || !question->scans[0]) {
    Look *none = g_new0 (Look, 1);
    none->at = NO_SCAN;
    return none;
  }
  for (guint i = 0;; i++) {
    Look *look = batch_dialog_look_at (question, i, cancellable);
    if (g_cancellable_set_error_if_cancelled (cancellable, error)) {
      batch_dialog_look_free (look);
      return NULL;
    }
    if (!look->there && !look->problem)
      td_batch_need_add (&all, &look->need);
    look->room = *question->folder ? td_file_room (question->folder) : G_MAXUINT64;
    if (!question->scans[i + 1]) {
      if (*question->folder)
        td_batch_need_fits (&all, question->folder, &look->narrow);
      return look;
    }
    td_latest_post (run, look, TRUE);
  }
}

static char *
batch_dialog_need_text (const TdBatchNeed *need)
{
  g_autofree char *host = td_memory_text (need->host_bytes);
  g_autofree char *device = td_memory_text (need->device_bytes);
  g_autofree char *memory = need->device_bytes
                                ? g_strdup_printf (_ ("%s, %s on the device"), host, device)
                                : g_strdup (host);
  g_autofree char *written = g_format_size (need->write_bytes);
  g_autofree char *time = td_estimate_text (need->estimate_s);

  return g_strdup_printf (_ ("Memory: %s. To write: %s. Time: %s"), memory, written, time);
}

/* Each stage of all scans alone; they overlap. What no job has shown is "not known yet". */
static char *
batch_dialog_stages_text (const TdPlanTimes *times)
{
  g_autofree char *read = td_estimate_text (times->read);
  g_autofree char *compute = td_estimate_text (times->compute);
  g_autofree char *write = td_estimate_text (times->write);

  return g_strdup_printf (_ ("Reading alone: %s. Computing alone: %s. Writing alone: %s"), read,
                          compute, write);
}

/* (nullable): the file system does not tell. */
static char *
batch_dialog_room_text (guint64 room)
{
  g_autofree char *size = g_format_size (room);

  return room == G_MAXUINT64 ? NULL : g_strdup_printf (_ ("Free in the folder: %s"), size);
}

static void
batch_dialog_show_look (TdBatchDialog *self, const Look *look)
{
  GtkListBoxRow *row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), (int) look->at);
  g_autofree char *parent = g_path_get_dirname (self->paths->pdata[look->at]);
  g_autofree char *need = batch_dialog_need_text (&look->need);
  g_autofree char *size = g_strdup_printf (_ ("%u of %u × %u pixels"), look->need.n_slices,
                                           look->need.nx, look->need.ny);
  g_autofree char *takes = g_strdup_printf (_ ("%s. %s"), size, need);
  g_autofree char *text = g_strdup_printf ("%s\n%s", parent,
                                           look->problem ? look->problem
                                           : look->there ? _ ("The volume is there, and stays")
                                                         : takes);

  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), text);
  td_set_style_class (row, "wrong", look->problem != NULL);
}

static void
batch_dialog_count (TdBatchDialog *self, const Look *look)
{
  self->n_looked++;
  self->n_there += look->there;
  self->n_refused += look->problem != NULL;
  if (look->there || look->problem)
    return;
  td_batch_need_add (&self->need, &look->need);
}

static void
batch_dialog_show_all (TdBatchDialog *self)
{
  const guint to_do = self->n_looked - self->n_there - self->n_refused;
  g_autofree char *need = batch_dialog_need_text (&self->need);
  g_autofree char *stages = batch_dialog_stages_text (&self->need.times);
  g_autofree char *room = batch_dialog_room_text (self->room);
  g_autofree char *counts
      = g_strdup_printf (_ ("To reconstruct: %u. There already: %u. Refused: %u"), to_do,
                         self->n_there, self->n_refused);
  g_autofree char *axes = gtk_switch_get_active (self->find)
                              ? g_strdup_printf ("\n%s", _ ("The search for axes comes on top"))
                              : g_strdup ("");
  g_autofree char *text = g_strdup_printf ("%s\n%s\n%s%s%s%s", counts, need, stages, axes,
                                           room ? "\n" : "", room ? room : "");
  g_autofree char *looking
      = g_strdup_printf (_ ("Looking at the scans: %u of %u"), self->n_looked, self->paths->len);

  adw_action_row_set_subtitle (self->in_all, self->n_looked < self->paths->len ? looking : text);
}

static void
batch_dialog_on_look (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdBatchDialog *self = user;
  const Look *look = result;
  const gboolean scan = look && look->at != NO_SCAN;

  if (!look) {
    gtk_widget_set_visible (self->together, FALSE);
    batch_dialog_say_problem (self, error);
    return;
  }
  if (scan) {
    self->room = look->room;
    batch_dialog_show_look (self, look);
    batch_dialog_count (self, look);
    batch_dialog_show_all (self);
  }
  if (!last)
    return;
  if (look->narrow)
    batch_dialog_say_problem (self, look->narrow);
  gtk_widget_set_sensitive (self->accept, batch_dialog_is_complete (self) && !look->narrow
                                              && (!scan || self->n_refused < self->n_looked));
}

static TdRecipe
batch_dialog_recipe (TdBatchDialog *self)
{
  TdRecipe recipe = self->recipe;

  recipe.centre_auto = recipe.centre_auto || gtk_switch_get_active (self->find);
  return recipe;
}

static void
batch_dialog_ask (TdBatchDialog *self)
{
  const char *folder = gtk_editable_get_text (GTK_EDITABLE (self->folder));
  Question *question = g_new0 (Question, 1);

  question->engine = td_engine_ref (self->engine);
  question->recipe = batch_dialog_recipe (self);
  question->scans = batch_dialog_scans (self);
  question->outputs = td_batch_outputs ((const char *const *) question->scans, folder,
                                        self->recipe.output_format, NULL);
  question->settings = g_strdupv (self->settings);
  question->folder = g_strdup (folder);
  question->watch = batch_dialog_watches (self)
                        ? g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->watch)))
                        : NULL;
  question->overwrite = gtk_switch_get_active (self->overwrite);
  self->n_looked = self->n_there = self->n_refused = 0;
  self->need = (TdBatchNeed) { 0 };
  td_latest_request (self->looks, question);
  if (self->paths->len > 0)
    batch_dialog_show_all (self);
}

/* Of what needs no disk. */
static gboolean
batch_dialog_check (TdBatchDialog *self, GError **error)
{
  const char *folder = gtk_editable_get_text (GTK_EDITABLE (self->folder));
  g_auto (GStrv) scans = batch_dialog_scans (self);

  if (batch_dialog_watches (self))
    return TRUE;
  g_auto (GStrv) outputs
      = td_batch_outputs ((const char *const *) scans, folder, self->recipe.output_format, error);
  return outputs != NULL;
}

static void
batch_dialog_update (TdBatchDialog *self)
{
  g_autoptr (GError) error = NULL;
  const gboolean sound = batch_dialog_check (self, &error);
  const gboolean looks = sound && !batch_dialog_watches (self) && self->paths->len > 0;

  if (self->filling)
    return;
  gtk_widget_set_visible (self->chosen, !batch_dialog_watches (self));
  gtk_widget_set_visible (self->watched, batch_dialog_watches (self));
  gtk_widget_set_visible (self->none, self->paths->len == 0);
  gtk_widget_set_visible (self->list, self->paths->len > 0);
  gtk_widget_set_visible (self->together, looks);
  batch_dialog_say_problem (self, error);
  gtk_widget_set_sensitive (self->accept, FALSE);
  td_set_tooltip (self->accept, batch_dialog_is_complete (self) ? NULL
                                : batch_dialog_watches (self)
                                    ? _ ("Needs a folder to watch, and one for the volumes")
                                    : _ ("Needs scans, and a folder for the volumes"));
  td_latest_cancel (self->looks);
  if (sound)
    batch_dialog_ask (self);
}

/* ── The list ── */

/* The focus goes on to what follows, so that a key removes the next. */
static void
batch_dialog_on_remove (GtkButton *button, TdBatchDialog *self)
{
  GtkWidget *row = gtk_widget_get_ancestor (GTK_WIDGET (button), ADW_TYPE_ACTION_ROW);
  const char *path = g_object_get_data (G_OBJECT (row), "path");
  guint at;

  if (!g_ptr_array_find_with_equal_func (self->paths, path, g_str_equal, &at))
    return;
  GtkWidget *next = gtk_widget_get_next_sibling (row);
  gtk_widget_child_focus (next ? next : self->chosen, GTK_DIR_TAB_FORWARD);
  gtk_list_box_remove (GTK_LIST_BOX (self->list), row);
  g_ptr_array_remove_index (self->paths, at);
  batch_dialog_update (self);
}

static GtkWidget *
batch_dialog_new_row (TdBatchDialog *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *tip = g_strdup_printf (_ ("Take %s off the list"), name);
  GtkWidget *row = td_plain_row_new (name, parent);
  GtkWidget *remove
      = td_symbol_button ("list-remove-symbolic", tip, G_CALLBACK (batch_dialog_on_remove), self);

  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), FALSE);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), remove);
  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (path), g_free);
  return row;
}

static void
batch_dialog_append (TdBatchDialog *self, const char *path)
{
  g_autofree char *whole = g_canonicalize_filename (path, NULL);

  if (g_ptr_array_find_with_equal_func (self->paths, whole, g_str_equal, NULL))
    return;
  gtk_list_box_append (GTK_LIST_BOX (self->list), batch_dialog_new_row (self, whole));
  if (self->paths->len == 0 && !*gtk_editable_get_text (GTK_EDITABLE (self->folder))) {
    g_autofree char *parent = g_path_get_dirname (whole);
    g_autofree char *beside = g_build_filename (parent, "volumes", NULL);
    td_set_path (self->folder, beside);
  }
  g_ptr_array_add (self->paths, g_steal_pointer (&whole));
}

void
td_batch_dialog_add (TdBatchDialog *self, const char *path)
{
  batch_dialog_append (self, path);
  batch_dialog_update (self);
}

/* ── All of a folder ── */

static void
batch_dialog_list (GTask *task, gpointer source, gpointer arrivals, GCancellable *cancellable)
{
  GError *error = NULL;
  char **paths = td_arrivals_look (arrivals, NULL, &error);

  if (paths)
    g_task_return_pointer (task, paths, (GDestroyNotify) g_strfreev);
  else
    g_task_return_error (task, error);
}

/* All are looked at together, not each with those before it. */
static void
batch_dialog_on_listed (GObject *object, GAsyncResult *result, gpointer user)
{
  TdBatchDialog *self = TD_BATCH_DIALOG (object);
  g_autofree char *folder = user;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) paths = g_task_propagate_pointer (G_TASK (result), &error);

  /* Another folder, or the dialog's end, has taken the place of this one. */
  if (self->listing != g_task_get_cancellable (G_TASK (result)))
    return;
  g_clear_object (&self->listing);
  for (guint i = 0; paths && paths[i]; i++)
    batch_dialog_append (self, paths[i]);
  batch_dialog_update (self);
  if (paths && *paths)
    return;
  g_autofree char *words
      = error ? td_label_error (error) : g_strdup_printf (_ ("No scan lies in “%s”"), folder);
  batch_dialog_say (self, words);
}

static void
batch_dialog_stop_listing (TdBatchDialog *self)
{
  g_cancellable_cancel (self->listing);
  g_clear_object (&self->listing);
}

/* Adds what of a folder has a scan's name. As a folder that is watched is looked at, once, and off
   the main thread: each scan that is a folder is looked into. */
static void
batch_dialog_add_all (TdBatchDialog *self, const char *folder)
{
  g_autofree char *words = g_strdup_printf (_ ("Looking for scans in “%s”"), folder);

  batch_dialog_stop_listing (self);
  self->listing = g_cancellable_new ();
  batch_dialog_say (self, words);
  g_autoptr (GTask) task
      = g_task_new (self, self->listing, batch_dialog_on_listed, g_strdup (folder));
  g_task_set_task_data (
      task, td_arrivals_new (folder, gtk_editable_get_text (GTK_EDITABLE (self->folder)), 0),
      (GDestroyNotify) td_arrivals_free);
  g_task_run_in_thread (task, batch_dialog_list);
}

/* ── Choosing ── */

static void
batch_dialog_on_add_files (GtkButton *button, TdBatchDialog *self)
{
  td_choose_files (GTK_WIDGET (self), _ ("Scans of the Batch"), GTK_FILE_CHOOSER_ACTION_OPEN,
                   (TdFileChosen) td_batch_dialog_add, self);
}

static void
batch_dialog_on_add_folders (GtkButton *button, TdBatchDialog *self)
{
  td_choose_files (GTK_WIDGET (self), _ ("Folders That Are Scans"),
                   GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, (TdFileChosen) td_batch_dialog_add, self);
}

static void
batch_dialog_on_add_all (GtkButton *button, TdBatchDialog *self)
{
  td_choose_file (GTK_WIDGET (self), _ ("A Folder of Scans"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
                  (TdFileChosen) batch_dialog_add_all, self);
}

static void
batch_dialog_on_choose (GtkButton *button, GtkWidget *row)
{
  td_choose_file (row, g_object_get_data (G_OBJECT (button), "title"),
                  GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, td_set_path, row);
}

/* @title: of the dialog, static. */
static void
batch_dialog_add_chooser (AdwEntryRow *row, const char *title)
{
  GtkWidget *button = td_symbol_button ("folder-open-symbolic", _ ("Choose…"),
                                        G_CALLBACK (batch_dialog_on_choose), row);

  g_object_set_data (G_OBJECT (button), "title", (gpointer) title);
  adw_entry_row_add_suffix (row, button);
}

/* ── The recipe ── */

static void
batch_dialog_show_axis (TdBatchDialog *self)
{
  g_autofree char *stated = isnan (self->recipe.centre_px)
                                ? g_strdup (_ ("Off: the middle of the detector for each"))
                                : g_strdup_printf (_ ("Off: %.3f px for each, as in the window"),
                                                   self->recipe.centre_px);

  adw_action_row_set_subtitle (self->find_row, gtk_switch_get_active (self->find) ? _ (
                                                   "Of parallel beams; a cone beam’s is its scan’s")
                                                                                  : stated);
}

static void
batch_dialog_on_changed (gpointer object, gpointer property, TdBatchDialog *self)
{
  if (self->filling)
    return;
  self->recipe.output_format = adw_combo_row_get_selected (self->format);
  batch_dialog_show_axis (self);
  batch_dialog_update (self);
}

static void
batch_dialog_on_accept (GtkButton *button, TdBatchDialog *self)
{
  gtk_window_set_focus (GTK_WINDOW (self), NULL); /* what was typed is taken */
  const gboolean watches = batch_dialog_watches (self);
  g_auto (GStrv) scans = watches ? NULL : batch_dialog_scans (self);
  const TdJobBatch batch
      = { .scans = scans,
          .watch = watches ? (char *) gtk_editable_get_text (GTK_EDITABLE (self->watch)) : NULL,
          .settle_s = td_number_row_get_value (self->settle) };
  const TdRecipe recipe = batch_dialog_recipe (self);
  g_autoptr (TdRemoteJob) job = td_remote_job_new_batch (
      &batch, self->settings, &recipe, gtk_editable_get_text (GTK_EDITABLE (self->folder)),
      gtk_switch_get_active (self->overwrite));
  g_signal_emit_by_name (self, "accepted", job);
  gtk_window_close (GTK_WINDOW (self));
}

/* ── Object ── */

TD_DISPOSE (TdBatchDialog, td_batch_dialog)
{
  batch_dialog_stop_listing (self);
  g_clear_pointer (&self->looks, td_latest_free);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_pointer (&self->paths, g_ptr_array_unref);
  g_clear_pointer (&self->settings, g_strfreev);
}

static void
td_batch_dialog_class_init (TdBatchDialogClass *class)
{
  g_type_ensure (TD_TYPE_NUMBER_ROW);
  td_close_on_escape (class);
  G_OBJECT_CLASS (class)->dispose = td_batch_dialog_dispose;
  td_bind_template (class, TdBatchDialog, "/org/tomodesk/ui/batch-dialog.ui", which, format, accept,
                    list, chosen, watched, none, stated, watch, folder, settle, find, overwrite,
                    find_row, recipe_row, problem, in_all, together);
  td_bind_callbacks (class, batch_dialog_on_accept, batch_dialog_on_add_files,
                     batch_dialog_on_add_folders, batch_dialog_on_add_all, batch_dialog_on_changed,
                     batch_dialog_update);
  td_signal_new (class, "accepted", 1, G_TYPE_POINTER);
}

static void
batch_dialog_fill (TdBatchDialog *self)
{
  const char *const which[] = { _ ("These scans"), _ ("A watched folder’s"), NULL };
  g_autoptr (GtkStringList) whiches = gtk_string_list_new (which);
  g_autoptr (GtkStringList) formats = gtk_string_list_new (NULL);

  for (guint i = 0; i <= TD_VOLUME_HDF5; i++)
    gtk_string_list_append (formats, td_volume_format_label (i));
  adw_combo_row_set_model (self->which, G_LIST_MODEL (whiches));
  adw_combo_row_set_model (self->format, G_LIST_MODEL (formats));
  td_number_row_set_range (self->settle, 0, 86400);
  td_number_row_set_steps (self->settle, 1, 10, 0);
  td_number_row_set_value (self->settle, TD_ARRIVALS_SETTLE_S);
}

static void
td_batch_dialog_init (TdBatchDialog *self)
{
  self->filling = TRUE;
  self->paths = g_ptr_array_new_with_free_func (g_free);
  self->looks = td_latest_new (batch_dialog_look, batch_dialog_question_free, batch_dialog_on_look,
                               batch_dialog_look_free, self);
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  batch_dialog_fill (self);
  batch_dialog_add_chooser (self->watch, _ ("Folder to Watch"));
  batch_dialog_add_chooser (self->folder, _ ("Write the Volumes To"));
}

static void
batch_dialog_show_recipe (TdBatchDialog *self)
{
  TdRecipe preset;

  td_recipe_init (&preset);
  preset.centre_px = self->recipe.centre_px;
  preset.centre_auto = self->recipe.centre_auto;
  preset.output_format = self->recipe.output_format;
  g_autofree char *change = td_label_change (&preset, &self->recipe);
  adw_action_row_set_subtitle (self->recipe_row,
                               *change ? change : _ ("All steps and values are the defaults"));
}

GtkWidget *
td_batch_dialog_new (GtkWindow *parent, TdEngine *engine, const TdRecipe *recipe,
                     char *const *settings, const char *folder)
{
  TdBatchDialog *self = g_object_new (TD_TYPE_BATCH_DIALOG, "transient-for", parent, NULL);
  g_autofree char *stated = settings ? g_strjoinv (" ", (char **) settings) : NULL;

  self->engine = td_engine_ref (engine);
  self->recipe = *recipe;
  self->settings = g_strdupv ((char **) settings);
  adw_combo_row_set_selected (self->format, recipe->output_format);
  batch_dialog_show_recipe (self);
  gtk_widget_set_visible (self->stated, stated && *stated);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->stated), stated ? stated : "");
  td_set_path (self->folder, folder ? folder : "");
  batch_dialog_show_axis (self);
  self->filling = FALSE;
  batch_dialog_update (self);
  return GTK_WIDGET (self);
}
