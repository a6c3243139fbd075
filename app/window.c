/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/jobs-index.h"
#include "compute/engine/cone-scan.h"
#include "dataset/volume.h"
#include "demo-scan.h"
#include "latency.h"
#include "presets.h"
#include "settings.h"
#include "ui/axis-strip.h"
#include "ui/choose-file.h"
#include "ui/devices-window.h"
#include "ui/batch-dialog.h"
#include "ui/batch-window.h"
#include "ui/job-row.h"
#include "ui/jobs-window.h"
#include "ui/labels.h"
#include "ui/open-dialog.h"
#include "ui/popovers.h"
#include "ui/quantity.h"
#include "ui/recipe-panel.h"
#include "ui/reconstruct-dialog.h"
#include "ui/save-file.h"
#include "ui/volume-window.h"
#include "ui/toasts.h"
#include "ui/ui.h"

struct _TdWindow {
  AdwApplicationWindow parent_instance;
  GSettings *settings;
  TdSession *session;
  TdJobQueue *jobs;
  GCancellable *opening;      /* NULL: nothing is being opened */
  TdScanStatement *statement; /* of the scan that is open, or was to be; NULL: none */
  TdProvenance *volume;       /* whose scan is being opened; NULL: none is */
  gboolean shows_job;         /* the scan is opened for the sake of a job's volume */
  TdJobItem *asked;           /* of the scan that is open, the last volume asked for; or NULL */
  TdRecipe asked_recipe;      /* its recipe */
  char *failure;              /* why the last one did not open; NULL: none failed */
  AdwToast *recalled;         /* weak: says that the recipe is an earlier one of the scan */
  gboolean leaving;           /* the program ends */

  AdwToastOverlay *toasts;
  GtkStack *stack;
  AdwViewStack *pages;
  AdwViewSwitcherTitle *switcher;
  AdwViewSwitcherBar *pages_bar; /* where the heading has no room for the switcher */
  AdwFlap *flap;
  GtkWindow *message; /* the last error's dialog; NULL: none is open */
  GtkWindow *asks;    /* weak: the dialog that asks what is to be made of the scan */
  GtkToggleButton *sidebar_button;
  AdwStatusPage *failed_page;
  GtkLabel *opening_label;
  GtkListBox *recent_list;
  GtkWidget *recent_box, *reconstruct_button, *details_button, *undo_box;
  GtkMenuButton *done_button;
  GMenu *recent_menu, *done_menu, *preset_menu, *remove_menu, *remove_section;
  GtkInfoBar *notice;
  GtkLabel *notice_label;
  TdRecipePanel *panel;
  TdScanView *scan_view;
  GtkRevealer *strip_revealer;
  TdAxisStrip *strip;
  TdLabView *lab_view;
  TdGeometryView *geometry_view;
  TdVolumeView *volume_view;
  GtkRevealer *jobs_revealer;
  GtkWidget *jobs_box;
  GtkListBox *jobs_list;
  gboolean job_added; /* the list has not grown yet to hold the last one */
};

enum { PROP_SESSION = 1, PROP_JOBS };

G_DEFINE_FINAL_TYPE (TdWindow, td_window, ADW_TYPE_APPLICATION_WINDOW)

static void window_open_statement (TdWindow *self, const TdScanStatement *statement);

/* ── Messages ── */

static void
window_toast (TdWindow *self, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  td_toasts_show (self->toasts, adw_toast_new (escaped));
}

/* Takes the place of the last one: what went wrong before is no news any more. */
static void
window_present_message (TdWindow *self, GtkWidget *dialog)
{
  if (self->message)
    gtk_window_destroy (self->message);
  g_set_weak_pointer (&self->message, GTK_WINDOW (dialog));
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
window_error_dialog (TdWindow *self, const char *heading, const char *text)
{
  window_present_message (self, td_telling_dialog_new (GTK_WINDOW (self), heading, text));
}

static void
window_say_error (TdWindow *self, const char *heading, const GError *error)
{
  g_autofree char *words = td_label_error (error);

  window_error_dialog (self, heading, words);
}

static void
window_on_no_gl (TdScanView *view, const char *reason, TdWindow *self)
{
  gtk_label_set_text (self->notice_label, reason);
  gtk_info_bar_set_revealed (self->notice, TRUE);
}

static void
on_notice_response (GtkInfoBar *bar, int response, TdWindow *self)
{
  gtk_info_bar_set_revealed (bar, FALSE);
}

/* ── A scan that is opened again has the recipe it was left with ── */

/* What is the machine's and not the scan's is as the preferences have it. */
static void
window_take_machine (TdWindow *self, TdRecipe *recipe)
{
  g_autofree char *device = g_settings_get_string (self->settings, "device");

  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  recipe->memory_limit_bytes
      = td_bytes_from_gib (g_settings_get_double (self->settings, "memory-limit-gib"));
  recipe->device_memory_limit_bytes
      = td_bytes_from_gib (g_settings_get_double (self->settings, "device-memory-limit-gib"));
}

/* What a new scan begins with. */
static void
window_preset_recipe (TdWindow *self, TdRecipe *recipe)
{
  td_recipe_init (recipe);
  window_take_machine (self, recipe);
}

static char *
detector_of (const TdScanFacts *facts)
{
  return g_strdup_printf ("%u x %u x %u", facts->n_columns, facts->n_rows, facts->n_views);
}

/* Before the scan goes. */
static void
window_remember_recipe (TdWindow *self)
{
  const TdScanFacts *facts = self->session ? td_session_facts (self->session) : NULL;

  if (!facts || !self->statement)
    return;
  TdRecipe preset, recipe = *td_session_recipe (self->session);
  window_preset_recipe (self, &preset);
  window_take_machine (self, &recipe);
  g_autofree char *detector = detector_of (facts);
  g_autofree char *json = td_recipe_equal (&recipe, &preset) ? NULL : td_recipe_to_json (&recipe);
  td_settings_set_recipe (self->settings, self->statement->path, detector, json);
}

/* The toast may still be going when another scan is there. */
static void
on_afresh (AdwToast *toast, TdWindow *self)
{
  TdRecipe preset;

  if (!td_session_scan (self->session) || toast != self->recalled)
    return;
  window_preset_recipe (self, &preset);
  td_session_edit (self->session, &preset, NULL);
}

/* Once the scan is open; the user can undo it. */
static void
window_recall_recipe (TdWindow *self)
{
  g_autofree char *detector = detector_of (td_session_facts (self->session));

  g_autofree char *json = td_settings_get_recipe (self->settings, self->statement->path, detector);
  TdRecipe recipe;

  /* One that an older or newer version cannot read is no loss worth a message. */
  if (!json || !td_recipe_from_json (&recipe, json, NULL))
    return;
  window_take_machine (self, &recipe);
  td_session_edit (self->session, &recipe, NULL);
  AdwToast *toast = adw_toast_new (_ ("The recipe is as this scan was left"));
  adw_toast_set_button_label (toast, _ ("Begin Afresh"));
  g_signal_connect_object (toast, "button-clicked", G_CALLBACK (on_afresh), self, 0);
  g_set_weak_pointer (&self->recalled, toast);
  td_toasts_show (self->toasts, toast);
}

/* The message about a scan goes with it. */
static void
window_forget_recall (TdWindow *self)
{
  AdwToast *toast = self->recalled;

  g_clear_weak_pointer (&self->recalled);
  if (toast)
    td_toasts_dismiss (self->toasts, toast);
}

/* ── The volume that was asked for ── */

static gboolean
window_has_volume (TdWindow *self)
{
  return self->asked
         && (td_job_item_state (self->asked) == TD_JOB_DONE || !td_job_item_ended (self->asked))
         && td_recipe_equal (&self->asked_recipe, td_session_recipe (self->session));
}

/* It is what comes next, while it is written too, until it fails or the recipe is another, or it is
   looked at. */
static void
window_show_volume_next (TdWindow *self)
{
  const gboolean has = window_has_volume (self);
  const gboolean seen
      = has && td_volume_view_get_job (self->volume_view) == self->asked
        && g_strcmp0 (adw_view_stack_get_visible_child_name (self->pages), "volume") == 0;

  td_recipe_panel_set_volume (self->panel, has, seen);
}

static void
window_ask (TdWindow *self, TdJobItem *item)
{
  g_set_object (&self->asked, item);
  self->asked_recipe = *td_session_recipe (self->session);
  window_show_volume_next (self);
}

/* ── Opening ── */

/* What opening a path came to: a scan, or a volume of this program's, which names its scan. */
typedef struct {
  TdScan *scan;
  TdProvenance *volume;
} Opened;

static void
opened_free (Opened *opened)
{
  g_clear_pointer (&opened->scan, td_scan_unref);
  td_provenance_free (opened->volume);
  g_free (opened);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Opened, opened_free)

static void
open_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const TdScanStatement *statement = data;
  TdScanOptions options;
  GError *error = NULL;
  TdScan *scan = td_scan_statement_options (statement, &options, &error)
                     ? td_scan_open (statement->path, &options, cancellable, &error)
                     : NULL;

  TdProvenance *volume = scan || g_cancellable_is_cancelled (cancellable)
                             ? NULL
                             : td_provenance_read (statement->path);

  if (!scan && !volume) {
    g_task_return_error (task, error);
    return;
  }
  g_clear_error (&error);
  Opened *opened = g_new (Opened, 1);
  *opened = (Opened) { scan, volume };
  g_task_return_pointer (task, opened, (GDestroyNotify) opened_free);
}

static void
keep_statement (TdWindow *self, const TdScanStatement *statement)
{
  TdScanStatement *old = self->statement;

  self->statement = statement ? td_scan_statement_copy (statement) : NULL;
  td_scan_statement_free (old);
}

/* The scan that is open, stated anew: what was chosen for it still holds. */
static gboolean
is_same_detector (const TdScanFacts *open, const TdScanFacts *opened)
{
  return open && g_strcmp0 (open->path, opened->path) == 0 && open->n_columns == opened->n_columns
         && open->n_rows == opened->n_rows && open->n_views == opened->n_views
         && open->geometry.beam == opened->geometry.beam;
}

/* Another scan of the same file. */
static gboolean
is_other_entry (const TdScanStatement *open, const TdScanStatement *opened)
{
  return open && strcmp (open->path, opened->path) == 0
         && strcmp (open->texts[TD_STATED_DATASET], opened->texts[TD_STATED_DATASET]) != 0;
}

static TdOpenDialog *
ask_details (TdWindow *self, const TdScanStatement *statement, const char *problem)
{
  GtkWidget *dialog = td_open_dialog_new (GTK_WINDOW (self), statement, problem);

  g_signal_connect_object (dialog, "accepted", G_CALLBACK (window_open_statement), self,
                           G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (dialog));
  return TD_OPEN_DIALOG (dialog);
}

/* A volume by itself, with no scan: in a window of its own. */
static void
window_view_volume (TdWindow *self, const char *path)
{
  g_autofree char *colours = g_settings_get_string (self->settings, "colour-map");
  g_autofree char *whole = td_volume_whole (path);

  td_volume_window_open (gtk_window_get_application (GTK_WINDOW (self)), whole, colours);
}

static void
on_failure_response (AdwMessageDialog *dialog, const char *response, TdWindow *self)
{
  const TdScanStatement *statement = g_object_get_data (G_OBJECT (dialog), "statement");

  if (g_strcmp0 (response, "details") == 0)
    ask_details (self, statement, adw_message_dialog_get_body (dialog));
  else if (g_strcmp0 (response, "volume") == 0)
    window_view_volume (self, statement->path);
}

static void
offer_details (TdWindow *self, const TdScanStatement *statement, const char *problem)
{
  GtkWidget *dialog
      = adw_message_dialog_new (GTK_WINDOW (self), _ ("This scan does not open"), problem);

  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "details",
                                    _ ("Open with _Details…"), "volume", _ ("Open as a _Volume"),
                                    "close", _ ("_Close"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "details",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "details");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "close");
  g_object_set_data_full (G_OBJECT (dialog), "statement", td_scan_statement_copy (statement),
                          (GDestroyNotify) td_scan_statement_free);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_failure_response), self, 0);
  window_present_message (self, dialog);
}

static void
show_failure (TdWindow *self, const TdScanStatement *statement, const GError *error)
{
  g_autofree char *words = td_label_error (error);
  g_autofree char *escaped = g_markup_escape_text (words, -1);

  /* An open scan stays: only the message says that the other did not open. */
  if (td_session_scan (self->session)) {
    gtk_stack_set_visible_child_name (self->stack, "scan");
    offer_details (self, statement, words);
    return;
  }
  keep_statement (self, statement);
  g_free (self->failure);
  self->failure = g_steal_pointer (&words);
  adw_status_page_set_description (self->failed_page, escaped);
  gtk_stack_set_visible_child_name (self->stack, "failed");
  gtk_widget_grab_focus (self->details_button); /* what is marked is what Return does */
}

/* A volume's scan is opened next, as it was stated when it was opened last. */
static void
window_on_no_scan (TdWindow *self, const TdScanStatement *statement, Opened *opened,
                   const GError *error)
{
  g_autoptr (TdProvenance) made = g_steal_pointer (&self->volume);
  g_autoptr (GError) said = error ? g_error_copy (error) : NULL;

  if (opened && !made) {
    td_window_open_path (self, opened->volume->scan);
    self->volume = g_steal_pointer (&opened->volume);
    return;
  }
  if (!said)
    td_set_error (&said, TD_ERROR_BAD_FILE, _ ("“%s” is a volume, not a scan"), statement->path);
  if (made) {
    td_prefix_error (&said, _ ("The volume “%s” was made of “%s”, which does not open: "),
                     made->volume, made->scan);
    window_view_volume (self, made->volume);
  }
  show_failure (self, statement, said);
}

/* The slices of a volume, beside the scan and the recipe that made them. */
static void
window_show_volume (TdWindow *self)
{
  g_autoptr (TdProvenance) volume = g_steal_pointer (&self->volume);
  g_autoptr (TdJobItem) item = td_job_item_new_done (volume);

  td_volume_view_show_job (self->volume_view, item);
  adw_view_stack_set_visible_child_name (self->pages, "volume");
  window_ask (self, item);
}

static void
on_opened (GObject *source, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (source);
  const TdScanStatement *statement = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (Opened) opened = g_task_propagate_pointer (G_TASK (result), &error);

  /* A newer opening, or the window's end, has taken the place of this one. */
  if (self->opening != g_task_get_cancellable (G_TASK (result)))
    return;
  g_clear_object (&self->opening);
  if (!opened || !opened->scan) {
    window_on_no_scan (self, statement, opened, error);
    return;
  }
  const gboolean other_entry = is_other_entry (self->statement, statement);
  const gboolean stated_anew
      = !self->volume && !other_entry
        && is_same_detector (td_session_facts (self->session), td_scan_facts (opened->scan));
  TdRecipe recipe = *td_session_recipe (self->session);
  if (self->volume) {
    recipe = self->volume->recipe;
    window_take_machine (self, &recipe);
  } else if (!stated_anew) {
    window_preset_recipe (self, &recipe);
  }
  window_remember_recipe (self);
  keep_statement (self, statement);
  /* What was opened is what is found again: a volume's scan may be a job's own copy. */
  td_settings_add_recent (self->settings, self->volume ? self->volume->volume : statement->path);
  td_settings_set_details (
      self->settings, statement->path,
      td_scan_statement_is_plain (statement) ? NULL : td_scan_statement_to_variant (statement));
  td_session_open (self->session, opened->scan, &recipe);
  if (self->volume)
    window_show_volume (self);
  else if (!stated_anew && !other_entry) /* recipes are remembered by the file */
    window_recall_recipe (self);
  if (self->shows_job)
    adw_view_stack_set_visible_child_name (self->pages, "volume");
  self->shows_job = FALSE;
}

static void
stop_opening (TdWindow *self)
{
  g_cancellable_cancel (self->opening);
  g_clear_object (&self->opening);
  g_clear_pointer (&self->volume, td_provenance_free);
  self->shows_job = FALSE;
}

static void
window_open_statement (TdWindow *self, const TdScanStatement *statement)
{
  g_autofree char *name = g_path_get_basename (statement->path);
  g_autofree char *text = g_strdup_printf (_ ("Opening %s"), name);

  stop_opening (self);
  self->opening = g_cancellable_new ();
  gtk_label_set_text (self->opening_label, text);
  gtk_stack_set_visible_child_name (self->stack, "opening");
  g_autoptr (GTask) task = g_task_new (self, self->opening, on_opened, NULL);
  g_task_set_task_data (task, td_scan_statement_copy (statement),
                        (GDestroyNotify) td_scan_statement_free);
  g_task_run_in_thread (task, open_in_thread);
}

/* What was stated about a scan when it was opened last is stated again. */
void
td_window_open_path (TdWindow *self, const char *path)
{
  g_autoptr (GVariant) details = td_settings_get_details (self->settings, path);
  g_autoptr (TdScanStatement) statement
      = details ? td_scan_statement_from_variant (path, details) : td_scan_statement_new (path);

  window_open_statement (self, statement);
}

static void
on_open_details (TdWindow *self)
{
  const char *state = gtk_stack_get_visible_child_name (self->stack);
  const gboolean failed = g_strcmp0 (state, "failed") == 0;

  ask_details (self, self->statement, failed ? self->failure : NULL);
}

/* Another scan of the same file. */
static void
on_take_entry (TdWindow *self, GVariant *parameter)
{
  if (!self->statement)
    return;
  g_autoptr (TdScanStatement) statement = td_scan_statement_copy (self->statement);
  td_scan_statement_set (statement, TD_STATED_DATASET, g_variant_get_string (parameter, NULL));
  window_open_statement (self, statement);
}

static void
on_choose_flats (TdWindow *self)
{
  td_open_dialog_ask_flats (ask_details (self, self->statement, NULL));
}

static void
on_state_empty_beam (TdWindow *self)
{
  gtk_toggle_button_set_active (self->sidebar_button, TRUE);
  td_steps_group_open_step (td_recipe_panel_steps (self->panel), "flat-field");
}

/* A scan that no file holds, or none. */
static void
window_take_scan (TdWindow *self, TdScan *scan)
{
  TdRecipe recipe;

  stop_opening (self);
  window_remember_recipe (self);
  keep_statement (self, NULL);
  window_preset_recipe (self, &recipe);
  td_session_open (self->session, scan, &recipe);
}

static void
on_close_scan (TdWindow *self)
{
  window_take_scan (self, NULL);
}

/* The scan that was open before stays as it was. */
static void
on_cancel_opening (TdWindow *self)
{
  stop_opening (self);
  gtk_stack_set_visible_child_name (self->stack,
                                    td_session_scan (self->session) ? "scan" : "empty");
}

static void
on_open_demo (TdWindow *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_demo_scan_new (&error);

  if (scan)
    window_take_scan (self, scan);
  else
    window_say_error (self, _ ("There is no demonstration"), error);
}

static void
on_open_path (gpointer window, GVariant *parameter)
{
  td_window_open_path (window, g_variant_get_string (parameter, NULL));
}

/* ── Choosing files ── */

/* Scans of one sample lie side by side. The toolkit would list what any program used of late. */
static void
window_begin_beside (TdWindow *self, GtkFileChooser *chooser)
{
  const TdScanFacts *facts = td_session_facts (self->session);
  g_autofree char *folder = facts ? g_path_get_dirname (facts->path) : g_strdup (g_get_home_dir ());
  g_autoptr (GFile) file = g_file_new_for_path (folder);

  gtk_file_chooser_set_current_folder (chooser, file, NULL);
}

static void
on_open (gpointer window)
{
  g_auto (GStrv) scans = td_scan_patterns ();
  GtkFileChooser *chooser = td_choose_file (window, _ ("Open a Scan"), GTK_FILE_CHOOSER_ACTION_OPEN,
                                            (TdFileChosen) td_window_open_path, window);

  window_begin_beside (window, chooser);
  td_choose_file_add_filter (chooser, _ ("Scans"), (const char *const *) scans);
  td_choose_file_add_filter (chooser, _ ("All files"), NULL);
}

static void
on_open_folder (gpointer window)
{
  window_begin_beside (window, td_choose_file (window, _ ("Open a Scan's Folder"),
                                               GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
                                               (TdFileChosen) td_window_open_path, window));
}

static void
on_open_volume (gpointer window)
{
  static const char *const volumes[]
      = { "*.tif", "*.tiff", "*.h5", "*.hdf5", "*.hdf", "*.nxs", "*.raw", "*.vol", NULL };
  GtkFileChooser *chooser
      = td_choose_file (window, _ ("Open as a Volume"), GTK_FILE_CHOOSER_ACTION_OPEN,
                        (TdFileChosen) window_view_volume, window);

  td_choose_file_add_filter (chooser, _ ("Volumes"), volumes);
  td_choose_file_add_filter (chooser, _ ("All files"), NULL);
}

static void
on_open_volume_folder (gpointer window)
{
  td_choose_file (window, _ ("Open a Folder of Slices"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
                  (TdFileChosen) window_view_volume, window);
}

/* What did not open as a scan. */
static void
on_view_volume (TdWindow *self)
{
  if (!self->statement)
    return;
  window_view_volume (self, self->statement->path);
  window_take_scan (self, NULL); /* nothing failed any more */
}

/* ── Recipes ── */

static void
window_on_recipe_saved (GtkWidget *window, const char *path, gboolean saved)
{
  if (saved && TD_WINDOW (window)->session)
    window_toast (TD_WINDOW (window), _ ("Recipe saved"));
}

static void
window_save_recipe (gpointer user, const char *path)
{
  td_save_file (user, _ ("The recipe was not saved"), path, (TdSaveWork) td_recipe_save,
                g_memdup2 (td_session_recipe (TD_WINDOW (user)->session), sizeof (TdRecipe)),
                g_free, window_on_recipe_saved);
}

typedef struct {
  char *name; /* a file's, or a preset's */
  gboolean is_preset;
  TdRecipe recipe;
} Loading;

static void
window_loading_free (gpointer user)
{
  Loading *loading = user;

  g_free (loading->name);
  g_free (loading);
}

/* Worker thread. */
static void
window_load_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Loading *loading = data;
  GError *error = NULL;
  const gboolean loaded = loading->is_preset
                              ? td_presets_load (loading->name, &loading->recipe, &error)
                              : td_recipe_load (&loading->recipe, loading->name, &error);

  if (loaded)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
window_on_recipe_loaded (GObject *window, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (window);
  const Loading *loading = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;

  const gboolean loaded = g_task_propagate_boolean (G_TASK (result), &error);
  if (!self->session || !td_session_scan (self->session)) /* it was closed meanwhile */
    return;
  if (!loaded) {
    window_say_error (self,
                      loading->is_preset ? _ ("The preset cannot be applied")
                                         : _ ("The recipe does not load"),
                      error);
    return;
  }
  TdRecipe recipe = *td_session_recipe (self->session);
  if (loading->is_preset)
    td_presets_apply (&loading->recipe, &recipe);
  else
    recipe = loading->recipe;
  td_session_edit (self->session, &recipe, NULL);
}

static void
window_load (TdWindow *self, const char *name, gboolean is_preset)
{
  Loading *loading = g_new0 (Loading, 1);
  g_autoptr (GTask) task = g_task_new (self, NULL, window_on_recipe_loaded, NULL);

  loading->name = g_strdup (name);
  loading->is_preset = is_preset;
  g_task_set_task_data (task, loading, window_loading_free);
  g_task_run_in_thread (task, window_load_in_thread);
}

static void
window_load_recipe (gpointer user, const char *path)
{
  window_load (user, path, FALSE);
}

static void
on_save_recipe (TdWindow *self)
{
  g_autofree char *name
      = g_strdup_printf ("%s.recipe.json", td_session_facts (self->session)->title);

  td_choose_name (self, _ ("Save the Recipe"), name, window_save_recipe, self);
}

static void
on_load_recipe (gpointer window)
{
  static const char *const recipes[] = { "*.json", NULL };
  GtkFileChooser *chooser = td_choose_file (
      window, _ ("Load a Recipe"), GTK_FILE_CHOOSER_ACTION_OPEN, window_load_recipe, window);

  td_choose_file_add_filter (chooser, _ ("Recipes"), recipes);
}

/* ── Presets ── */

static void
window_add_entry (GMenu *menu, const char *name, const char *action, GVariant *target)
{
  g_auto (GStrv) parts = g_strsplit (name, "_", -1);
  g_autofree char *label = g_strjoinv ("__", parts); /* one alone is a mnemonic */
  g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

  g_menu_item_set_action_and_target_value (item, action, target);
  g_menu_append_item (menu, item);
}

static void
window_list_presets (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_task_return_pointer (task, td_presets_list (), (GDestroyNotify) g_strfreev);
}

static void
window_on_presets_listed (GObject *window, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (window);
  g_auto (GStrv) names = g_task_propagate_pointer (G_TASK (result), NULL);

  if (!self->session) /* the window has gone */
    return;
  g_menu_remove_all (self->preset_menu);
  g_menu_remove_all (self->remove_menu);
  for (guint i = 0; names[i]; i++) {
    window_add_entry (self->preset_menu, names[i], "win.apply-preset",
                      g_variant_new_string (names[i]));
    window_add_entry (self->remove_menu, names[i], "win.remove-preset",
                      g_variant_new_string (names[i]));
  }
  g_menu_remove_all (self->remove_section);
  if (names[0])
    g_menu_append_submenu (self->remove_section, _ ("Remove"), G_MENU_MODEL (self->remove_menu));
}

static void
window_show_presets (TdWindow *self)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, window_on_presets_listed, NULL);

  g_task_run_in_thread (task, window_list_presets);
}

static void
on_apply_preset (gpointer window, GVariant *parameter)
{
  window_load (window, g_variant_get_string (parameter, NULL), TRUE);
}

static gboolean
window_unlink_preset (gpointer unused, const char *name, GError **error)
{
  return td_presets_remove (name, error);
}

static void
window_on_preset_removed (GtkWidget *window, const char *name, gboolean removed)
{
  window_show_presets (TD_WINDOW (window));
}

static void
on_remove_preset (gpointer window, GVariant *parameter)
{
  td_save_file (window, _ ("The preset was not removed"), g_variant_get_string (parameter, NULL),
                window_unlink_preset, NULL, g_free, window_on_preset_removed);
}

static gboolean
window_write_preset (gpointer recipe, const char *name, GError **error)
{
  return td_presets_save (name, recipe, error);
}

static void
window_on_preset_saved (GtkWidget *window, const char *name, gboolean saved)
{
  if (saved && TD_WINDOW (window)->session)
    window_toast (TD_WINDOW (window), _ ("Preset saved"));
  window_show_presets (TD_WINDOW (window));
}

static void
on_preset_named (AdwMessageDialog *dialog, const char *response, TdWindow *self)
{
  const char *name
      = gtk_editable_get_text (GTK_EDITABLE (adw_message_dialog_get_extra_child (dialog)));

  if (g_strcmp0 (response, "save") == 0)
    td_save_file (GTK_WIDGET (self), _ ("The preset was not saved"), name, window_write_preset,
                  g_memdup2 (td_session_recipe (self->session), sizeof (TdRecipe)), g_free,
                  window_on_preset_saved);
}

static void
on_preset_typed (GtkEditable *entry, AdwMessageDialog *dialog)
{
  adw_message_dialog_set_response_enabled (dialog, "save", *gtk_editable_get_text (entry) != 0);
}

static void
on_save_preset (TdWindow *self)
{
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (adw_message_dialog_new (
      GTK_WINDOW (self), _ ("Save as Preset"),
      _ ("Preparation, filter, method and output for other scans. The axis, regions and devices "
         "stay each scan’s own. A preset of that name is replaced.")));
  GtkWidget *entry = gtk_entry_new ();

  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE);
  td_set_spoken_name (entry, _ ("Name of the preset"));
  g_signal_connect (entry, "changed", G_CALLBACK (on_preset_typed), dialog);
  adw_message_dialog_set_extra_child (dialog, entry);
  adw_message_dialog_add_responses (dialog, "cancel", _ ("_Cancel"), "save", _ ("_Save"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_response_enabled (dialog, "save", FALSE);
  adw_message_dialog_set_default_response (dialog, "save");
  adw_message_dialog_set_close_response (dialog, "cancel");
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_preset_named), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ── Recent scans ── */

static void
add_recent (TdWindow *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *folder = g_path_get_dirname (path);
  GtkWidget *row = td_plain_row_new (name, folder);

  g_object_set (row, "subtitle-lines", 1, "activatable", TRUE, NULL);
  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (path), g_free);
  gtk_list_box_append (self->recent_list, row);
  window_add_entry (self->recent_menu, name, "win.open-path", g_variant_new_string (path));
}

static void
window_show_recent (TdWindow *self)
{
  g_auto (GStrv) paths = g_settings_get_strv (self->settings, "recent-scans");
  GtkListBoxRow *row;

  while ((row = gtk_list_box_get_row_at_index (self->recent_list, 0)))
    gtk_list_box_remove (self->recent_list, GTK_WIDGET (row));
  g_menu_remove_all (self->recent_menu);
  for (guint i = 0; paths[i]; i++)
    add_recent (self, paths[i]);
  gtk_widget_set_visible (self->recent_box, paths[0] != NULL);
}

static void
on_recent_activated (GtkListBox *box, GtkListBoxRow *row, TdWindow *self)
{
  td_window_open_path (self, g_object_get_data (G_OBJECT (row), "path"));
}

/* ── Dropping ── */

static gboolean
window_on_drop (GtkDropTarget *target, const GValue *value, double x, double y, TdWindow *self)
{
  GSList *files = g_value_get_boxed (value);
  g_autofree char *path = files ? g_file_get_path (files->data) : NULL;

  gtk_widget_remove_css_class (GTK_WIDGET (self->stack), "drop-here");
  if (!path) {
    window_toast (self, _ ("Only files on this computer’s disks can be used"));
    return FALSE;
  }
  if (files->next) {
    g_autofree char *text = g_strdup_printf (
        _ ("The first of %u files was opened; Batch takes many scans"), g_slist_length (files));
    window_toast (self, text);
  }
  if (td_session_scan (self->session) && g_str_has_suffix (path, ".recipe.json"))
    window_load_recipe (self, path);
  else
    td_window_open_path (self, path);
  return TRUE;
}

static GdkDragAction
on_drop_enter (GtkDropTarget *target, double x, double y, TdWindow *self)
{
  gtk_widget_add_css_class (GTK_WIDGET (self->stack), "drop-here");
  return GDK_ACTION_COPY;
}

static void
on_drop_leave (GtkDropTarget *target, TdWindow *self)
{
  gtk_widget_remove_css_class (GTK_WIDGET (self->stack), "drop-here");
}

static void
window_add_drop_target (TdWindow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);

  g_signal_connect (target, "drop", G_CALLBACK (window_on_drop), self);
  g_signal_connect (target, "enter", G_CALLBACK (on_drop_enter), self);
  g_signal_connect (target, "leave", G_CALLBACK (on_drop_leave), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}

/* ── Asking for a volume ── */

static TdJobItem *
window_new_job (TdWindow *self, TdClusterProfile *profile, const TdRecipe *recipe,
                const char *output)
{
  TdScan *scan = td_session_scan (self->session);
  g_autoptr (TdClusterProfile) here = td_cluster_profile_find (TD_CLUSTER_OWN, NULL);
  g_auto (GStrv) settings = self->statement ? td_scan_statement_settings (self->statement) : NULL;

  if (!profile)
    profile = here;
  TdRemoteOrder order
      = { .scan = scan, .scan_settings = settings, .recipe = recipe, .output = output };
  order.wish = profile->wish;
  order.wish.view_slice = (int) td_recipe_slice_at (recipe, td_scan_facts (scan),
                                                    td_scan_view_get_row (self->scan_view));
  g_autoptr (TdRemoteJob) job = td_remote_job_new (profile, &order);
  return td_job_item_new (job, TD_REMOTE_SUBMIT);
}

static void
on_show_asked (TdWindow *self)
{
  if (!self->asked)
    return;
  td_volume_view_show_job (self->volume_view, self->asked);
  adw_view_stack_set_visible_child_name (self->pages, "volume");
}

/* Where a volume goes as long as nobody says otherwise: beside its scan. Where nothing can be
   written there, or nobody would look, it is the person's home. (transfer full) */
static char *
window_beside (TdWindow *self)
{
  const TdScanFacts *facts = td_session_facts (self->session);
  g_autofree char *folder = g_path_get_dirname (facts ? facts->path : "");

  if (!g_path_is_absolute (folder) || g_access (folder, W_OK) != 0
      || g_str_has_prefix (folder, g_get_user_cache_dir ()))
    return g_strdup (g_get_home_dir ());
  return g_steal_pointer (&folder);
}

static void
on_accepted (TdReconstructDialog *dialog, gpointer recipe, const char *output, TdWindow *self)
{
  g_autoptr (TdJobItem) item
      = window_new_job (self, td_reconstruct_dialog_profile (dialog), recipe, output);
  g_autofree char *folder = g_path_get_dirname (output);
  g_autofree char *beside = window_beside (self);

  /* Format and bits were chosen in the dialog: they are the recipe's from now on. */
  td_session_edit (self->session, recipe, "output");
  window_remember_recipe (self);
  /* A folder that was chosen holds for other scans. That beside a scan is its own. */
  g_settings_set_string (self->settings, "output-folder",
                         g_str_equal (folder, beside) ? "" : folder);
  td_job_queue_add (self->jobs, item);
  td_volume_view_show_job (self->volume_view, item);
  window_ask (self, item);
}

/* What the latest job of each cluster reached. Jobs are listed from the oldest on. */
static void
window_tell_rates (TdWindow *self, TdReconstructDialog *dialog)
{
  GListModel *model = td_job_queue_model (self->jobs);

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    const TdRemoteFacts *facts = td_job_item_facts (item);
    if (facts->state == TD_REMOTE_DONE && facts->rate > 0)
      td_reconstruct_dialog_set_rate (dialog, facts->profile, facts->rate);
  }
}

static void
on_reconstruct (TdWindow *self)
{
  g_autofree char *chosen = g_settings_get_string (self->settings, "output-folder");
  g_autofree char *beside = window_beside (self);
  const char *folder = *chosen ? chosen : beside;
  GtkWidget *dialog = td_reconstruct_dialog_new (
      GTK_WINDOW (self), td_session_engine (self->session), td_session_scan (self->session),
      td_session_recipe (self->session), td_job_queue_model (self->jobs), folder);

  window_tell_rates (self, TD_RECONSTRUCT_DIALOG (dialog));
  g_signal_connect_object (dialog, "accepted", G_CALLBACK (on_accepted), self, 0);
  if (self->asks)
    gtk_window_destroy (self->asks);
  g_set_weak_pointer (&self->asks, GTK_WINDOW (dialog));
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ── The list ── */

/* Its page is part of a scan's: where none is open, the volume's is opened. */
static void
on_show_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  const char *scan = td_job_item_facts (item)->scan;

  td_volume_view_show_job (self->volume_view, item);
  window_show_volume_next (self);
  if (td_session_scan (self->session)) {
    adw_view_stack_set_visible_child_name (self->pages, "volume");
  } else if (td_job_item_state (item) == TD_JOB_DONE) {
    td_window_open_path (self, td_job_item_output (item));
  } else if (scan) {
    td_window_open_path (self, scan);
    self->shows_job = TRUE;
  }
}

static void
on_dismiss_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  td_job_item_forget (item);
  td_job_queue_dismiss (self->jobs, item);
}

static void
on_again_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  g_autoptr (TdJobItem) again = td_job_item_again (item);

  if (!again)
    return;
  if (item == self->asked) {
    g_set_object (&self->asked, again);
    window_show_volume_next (self);
  }
  td_job_queue_dismiss (self->jobs, item);
  td_job_queue_add (self->jobs, again);
  if (!td_job_item_is_batch (again))
    td_volume_view_show_job (self->volume_view, again);
}

/* Only what can be had for this scan is taken; the user can undo it. */
static void
window_on_recipe_requested (gpointer row, TdJobItem *item, TdWindow *self)
{
  TdRecipe recipe;

  if (!td_session_scan (self->session)) {
    window_toast (self, _ ("Open a scan first: the recipe is for the scan that is open"));
    return;
  }
  if (!td_job_item_recipe (item, &recipe))
    return;
  window_take_machine (self, &recipe);
  td_session_edit (self->session, &recipe, NULL);
  window_toast (self, _ ("The recipe is the job’s"));
}

static void
window_show_table (gpointer shows, TdJobItem *item, TdWindow *self)
{
  GtkWindow *parent = GTK_IS_WINDOW (shows) ? shows : GTK_WINDOW (self);
  GtkWidget *table = td_batch_window_new (parent, self->jobs, item);

  g_signal_connect_object (table, "again-requested", G_CALLBACK (on_again_requested), self, 0);
  g_signal_connect_object (table, "open-requested", G_CALLBACK (td_window_open_path), self,
                           G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (table));
}

static void
window_on_batch_accepted (TdBatchDialog *dialog, gpointer job, TdWindow *self)
{
  g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_SUBMIT);

  g_settings_set_string (self->settings, "output-folder", td_job_item_output (item));
  td_job_queue_add (self->jobs, item);
  window_show_table (gtk_window_get_transient_for (GTK_WINDOW (dialog)), item, self);
}

static void
window_ask_for_batch (TdWindow *self, GtkWindow *parent)
{
  g_autofree char *folder = g_settings_get_string (self->settings, "output-folder");
  g_auto (GStrv) settings = self->statement ? td_scan_statement_settings (self->statement) : NULL;
  GtkWidget *dialog = td_batch_dialog_new (parent, td_session_engine (self->session),
                                           td_session_recipe (self->session), settings, folder);

  if (td_session_scan (self->session) && self->statement)
    td_batch_dialog_add (TD_BATCH_DIALOG (dialog), self->statement->path);
  g_signal_connect_object (dialog, "accepted", G_CALLBACK (window_on_batch_accepted), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
window_on_batch (gpointer window)
{
  window_ask_for_batch (window, GTK_WINDOW (window));
}

/* What shows jobs asks for the same things. */
static void
window_connect_jobs (TdWindow *self, gpointer shows)
{
  g_signal_connect_object (shows, "requested::show", G_CALLBACK (on_show_requested), self, 0);
  g_signal_connect_object (shows, "requested::again", G_CALLBACK (on_again_requested), self, 0);
  g_signal_connect_object (shows, "requested::dismiss", G_CALLBACK (on_dismiss_requested), self, 0);
  g_signal_connect_object (shows, "requested::recipe", G_CALLBACK (window_on_recipe_requested),
                           self, 0);
  g_signal_connect_object (shows, "requested::table", G_CALLBACK (window_show_table), self, 0);
}

static void
window_on_show_jobs (TdWindow *self)
{
  GtkWidget *jobs = td_jobs_window_new (GTK_WINDOW (self), self->jobs);

  window_connect_jobs (self, jobs);
  g_signal_connect_object (jobs, "batch-requested", G_CALLBACK (window_ask_for_batch), self,
                           G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (jobs));
}

/* ── Devices ── */

static void
window_on_devices_picked (TdDevicesWindow *devices, const char *ids, TdWindow *self)
{
  TdRecipe recipe = *td_session_recipe (self->session);

  if (!td_session_scan (self->session))
    return;
  g_strlcpy (recipe.devices, ids, sizeof recipe.devices);
  td_session_edit (self->session, &recipe, "device");
}

static void
window_tell_devices (TdDevicesWindow *devices, gboolean coarse, TdScanView *view)
{
  const char *device;
  const double seconds = td_scan_view_slice_seconds (view, &device);

  if (!coarse && device)
    td_devices_window_took (devices, device, seconds);
}

static void
window_recipe_to_devices (TdDevicesWindow *devices, TdSession *session)
{
  td_devices_window_set_devices (
      devices, td_session_scan (session) ? td_session_recipe (session)->devices : NULL);
}

static void
window_on_show_devices (TdWindow *self)
{
  GtkWidget *devices = td_devices_window_new (GTK_WINDOW (self));

  window_recipe_to_devices (TD_DEVICES_WINDOW (devices), self->session);
  window_tell_devices (TD_DEVICES_WINDOW (devices), FALSE, self->scan_view);
  g_signal_connect_object (devices, "picked", G_CALLBACK (window_on_devices_picked), self, 0);
  g_signal_connect_object (self->scan_view, "slice-shown", G_CALLBACK (window_tell_devices),
                           devices, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->session, "recipe-changed", G_CALLBACK (window_recipe_to_devices),
                           devices, G_CONNECT_SWAPPED);
  gtk_window_present (GTK_WINDOW (devices));
}

static GtkWidget *
window_make_job_row (gpointer item, gpointer user)
{
  GtkWidget *row = td_job_row_new (item);

  window_connect_jobs (user, row);
  return row;
}

/* Jobs of earlier days are in the jobs' window alone. */
static gboolean
window_lists_job (gpointer item, gpointer user)
{
  return !td_job_item_is_old (item);
}

/* As high as the rows are at the width that they have, to the most of about three. By itself the
   toolkit takes the height for all the width that they would like, and cuts second lines. */
#define MOST_JOBS_PX 150

static GtkSizeRequestMode
window_jobs_mode (GtkWidget *box)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
window_measure_jobs (GtkWidget *box, GtkOrientation along, int for_size, int *minimum, int *natural,
                     int *minimum_baseline, int *natural_baseline)
{
  GtkWidget *scroller = gtk_widget_get_first_child (box);
  GtkWidget *list
      = gtk_widget_get_first_child (gtk_scrolled_window_get_child (GTK_SCROLLED_WINDOW (scroller)));

  gtk_widget_measure (scroller, along, for_size, minimum, natural, NULL, NULL);
  if (along == GTK_ORIENTATION_HORIZONTAL)
    return;
  gtk_widget_measure (list, along, for_size, NULL, natural, NULL, NULL);
  *natural = MAX (MIN (*natural, MOST_JOBS_PX), *minimum);
}

static void
window_allocate_jobs (GtkWidget *box, int width, int height, int baseline)
{
  gtk_widget_allocate (gtk_widget_get_first_child (box), width, height, baseline, NULL);
}

/* The last one stands below the others, where only some have room. */
static void
window_on_jobs_grown (GtkAdjustment *along, GParamSpec *property, TdWindow *self)
{
  if (self->job_added)
    gtk_adjustment_set_value (along, gtk_adjustment_get_upper (along));
  self->job_added = FALSE;
}

static void
on_jobs_changed (GListModel *model, guint position, guint removed, guint added, TdWindow *self)
{
  self->job_added |= added > 0;
  gtk_revealer_set_reveal_child (self->jobs_revealer, g_list_model_get_n_items (model) > 0);
}

/* Jobs of clusters are found again by their folders. Those that run are followed; of the others the
   last days' are shown. */
#define DAYS_SHOWN 30

typedef struct {
  GPtrArray *jobs;
  char **problems;
} Found;

static void
window_found_free (gpointer user)
{
  Found *found = user;

  g_ptr_array_unref (found->jobs);
  g_strfreev (found->problems);
  g_free (found);
}

static void
window_find_jobs (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Found *found = g_new0 (Found, 1);

  found->jobs = td_jobs_find (NULL, &found->problems, cancellable);
  g_task_return_pointer (task, found, window_found_free);
}

static gboolean
window_shows_job (const TdRemoteFacts *facts)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autoptr (GDateTime) then = g_date_time_add_days (now, -DAYS_SHOWN);
  g_autofree char *oldest = g_date_time_format (then, "%Y%m%d");

  return !td_remote_state_ended (facts->state) || strcmp (facts->id, oldest) >= 0;
}

/* One that was submitted while the others were looked for. */
static gboolean
window_has_job (TdWindow *self, const char *id)
{
  GListModel *model = td_job_queue_model (self->jobs);

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    if (g_strcmp0 (td_job_item_facts (item)->id, id) == 0)
      return TRUE;
  }
  return FALSE;
}

static void
window_on_jobs_found (GObject *source, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (source);
  Found *found = g_task_propagate_pointer (G_TASK (result), NULL);
  GPtrArray *jobs = found->jobs;

  for (guint i = self->jobs ? jobs->len : 0; i-- > 0;) {
    g_auto (TdRemoteFacts) facts = { 0 };
    td_remote_job_facts (jobs->pdata[i], &facts);
    if (!window_shows_job (&facts) || window_has_job (self, facts.id))
      continue;
    g_autoptr (TdJobItem) item = td_job_item_new (jobs->pdata[i], TD_REMOTE_WATCH);
    td_job_queue_add (self->jobs, item);
  }
  for (char **problem = found->problems; self->jobs && *problem; problem++)
    window_toast (self, *problem);
  window_found_free (found);
}

/* ── At the end ── */

static void
on_toast_folder (AdwToast *toast, TdJobItem *item)
{
  td_job_show_folder (NULL, item);
}

static void
on_job_ended (TdJobQueue *jobs, TdJobItem *item, TdWindow *self)
{
  const TdJobState state = td_job_item_state (item);
  const TdRemoteFacts *facts = td_job_item_facts (item);
  /* The table says which scans failed, and why. */
  const gboolean has_table = td_job_item_is_batch (item) && facts->scans->len > 0;

  if (state == TD_JOB_FAILED && !has_table) {
    g_autofree char *heading = g_strdup_printf (_ ("“%s” was not reconstructed"), facts->title);
    window_error_dialog (self, heading, td_job_item_error (item));
  } else if (state == TD_JOB_FAILED || state == TD_JOB_DONE) {
    g_autofree char *text = has_table ? td_job_item_status (item)
                                      : g_strdup_printf (_ ("%s is written"), facts->title);
    g_autofree char *escaped = g_markup_escape_text (text, -1);
    AdwToast *toast = adw_toast_new (escaped);
    if (state == TD_JOB_DONE) {
      adw_toast_set_button_label (toast, _ ("Open Folder"));
      g_object_set_data_full (G_OBJECT (toast), "item", g_object_ref (item), g_object_unref);
      g_signal_connect (toast, "button-clicked", G_CALLBACK (on_toast_folder), item);
    }
    td_toasts_show (self->toasts, toast);
  }
  window_show_volume_next (self);
}

/* ── Closing ── */

static gboolean
window_close_later (gpointer window)
{
  gtk_window_close (window);
  return G_SOURCE_REMOVE;
}

void
td_window_leave (TdWindow *self)
{
  if (self->leaving)
    return;
  self->leaving = TRUE;
  /* After its dialogs, which still know the window as their parent. */
  g_idle_add_full (G_PRIORITY_DEFAULT_IDLE, window_close_later, g_object_ref (self),
                   g_object_unref);
}

static void
window_bind_jobs (TdWindow *self)
{
  GListModel *model = td_job_queue_model (self->jobs);

  g_autoptr (GTask) task = g_task_new (self, NULL, window_on_jobs_found, NULL);

  g_task_run_in_thread (task, window_find_jobs);
  gtk_widget_set_layout_manager (
      self->jobs_box,
      gtk_custom_layout_new (window_jobs_mode, window_measure_jobs, window_allocate_jobs));
  GtkFilter *lists = GTK_FILTER (gtk_custom_filter_new (window_lists_job, NULL, NULL));
  g_autoptr (GtkFilterListModel) listed = gtk_filter_list_model_new (g_object_ref (model), lists);
  gtk_list_box_bind_model (self->jobs_list, G_LIST_MODEL (listed), window_make_job_row, self, NULL);
  g_signal_connect_object (listed, "items-changed", G_CALLBACK (on_jobs_changed), self, 0);
  g_signal_connect_object (gtk_list_box_get_adjustment (self->jobs_list), "notify::upper",
                           G_CALLBACK (window_on_jobs_grown), self, 0);
  g_signal_connect (self->jobs, "ended", G_CALLBACK (on_job_ended), self);
}

/* ── Trials of the axis ── */

#define TRIALS_REACH_PX 2.0 /* to either side of the centre that is set */

static void
window_show_trials (TdWindow *self, double first_px, double last_px)
{
  const double span[2] = { first_px, last_px };

  adw_view_stack_set_visible_child_name (self->pages, "slices");
  gtk_revealer_set_reveal_child (self->strip_revealer, TRUE);
  td_axis_strip_request (self->strip, td_session_engine (self->session),
                         td_session_scan (self->session), td_session_recipe (self->session),
                         td_scan_view_get_row (self->scan_view), span);
}

static void
window_on_trials_closed (TdAxisStrip *strip, TdWindow *self)
{
  gtk_revealer_set_reveal_child (self->strip_revealer, FALSE);
  td_axis_strip_clear (self->strip);
}

static void
on_show_trials (TdWindow *self)
{
  const double centre = td_centre_group_get_centre (td_recipe_panel_centre (self->panel));

  if (gtk_revealer_get_reveal_child (self->strip_revealer))
    window_on_trials_closed (self->strip, self);
  else
    window_show_trials (self, centre - TRIALS_REACH_PX, centre + TRIALS_REACH_PX);
}

/* ── The session ── */

static void
window_enable (TdWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), name);
  g_simple_action_set_enabled (G_SIMPLE_ACTION (action), enabled);
}

/* With no scan the heading has a title as well, and there are no pages. */
static void
window_reveal_pages (TdWindow *self)
{
  adw_view_switcher_bar_set_reveal (
      self->pages_bar, adw_view_switcher_title_get_title_visible (self->switcher)
                           && adw_view_switcher_title_get_view_switcher_enabled (self->switcher));
}

static void
update_actions (TdWindow *self)
{
  gboolean has_scan = td_session_scan (self->session) != NULL;

  window_enable (self, "undo", td_session_can_undo (self->session));
  window_enable (self, "redo", td_session_can_redo (self->session));
  gtk_widget_set_sensitive (GTK_WIDGET (self->done_button), td_session_can_undo (self->session));
  window_enable (self, "reconstruct", has_scan);
  window_enable (self, "save-recipe", has_scan);
  window_enable (self, "load-recipe", has_scan);
  window_enable (self, "save-preset", has_scan);
  window_enable (self, "apply-preset", has_scan);
  window_enable (self, "do-next", has_scan);
  window_enable (self, "show-trials",
                 has_scan && td_session_facts (self->session)->geometry.beam == TD_BEAM_PARALLEL);
  gtk_widget_set_visible (self->reconstruct_button, has_scan);
  gtk_widget_set_visible (self->undo_box, has_scan);
  gtk_widget_set_visible (GTK_WIDGET (self->sidebar_button), has_scan);
  adw_view_switcher_title_set_view_switcher_enabled (self->switcher, has_scan);
}

/* What was done, the last first; going back to before one undoes those after it too. */
#define MOST_TOLD 20

/* When it is opened: every change of the recipe would take several milliseconds more. */
static void
window_show_done (GtkMenuButton *button, gpointer user)
{
  TdWindow *self = user;
  const guint n = MIN (td_session_n_done (self->session), MOST_TOLD);

  g_menu_remove_all (self->done_menu);
  for (guint i = 1; i <= n; i++) {
    g_autofree char *change = td_label_change (td_session_done (self->session, i),
                                               td_session_done (self->session, i - 1));
    window_add_entry (self->done_menu, change, "win.undo-to", g_variant_new_uint32 (i));
  }
}

/* One button of the window is what comes next. */
static void
window_on_next (TdRecipePanel *panel, TdWindow *self)
{
  td_set_style_class (self->reconstruct_button, "suggested-action",
                      td_recipe_panel_next (panel) == TD_FLOW_RECONSTRUCT
                          && !window_has_volume (self));
}

static void
window_set_lab_base (TdWindow *self)
{
  const TdRecipe *recipe = td_session_recipe (self->session);
  const TdScanFacts *facts = td_session_facts (self->session);
  const guint row = td_scan_view_get_row (self->scan_view);

  td_lab_view_set_base (self->lab_view, recipe,
                        facts ? td_recipe_slice_at (recipe, facts, row) : row);
}

static void
window_on_recipe_changed (TdSession *session, TdWindow *self)
{
  const TdRecipe *recipe = td_session_recipe (session);
  const TdScanFacts *facts = td_session_facts (session);

  td_recipe_panel_show_recipe (self->panel, facts, recipe);
  td_scan_view_set_recipe (self->scan_view, recipe);
  td_axis_strip_set_centre (self->strip,
                            td_centre_group_get_centre (td_recipe_panel_centre (self->panel)));
  window_set_lab_base (self);
  td_geometry_view_set_recipe (self->geometry_view, recipe);
  window_show_volume_next (self);
  update_actions (self);
}

static void
on_scan_changed (TdSession *session, TdWindow *self)
{
  TdScan *scan = td_session_scan (session);
  const TdScanFacts *facts = td_session_facts (session);

  if (self->asks) /* it is about another scan */
    gtk_window_destroy (self->asks);
  td_popovers_close (self->stack);
  td_steps_group_set_before (td_recipe_panel_steps (self->panel), FALSE);
  window_ask (self, NULL);
  window_forget_recall (self);
  td_recipe_panel_set_scan (self->panel, td_session_engine (session), scan);
  window_on_trials_closed (self->strip, self);
  if (!self->shows_job) /* another scan's volume would be taken for this one's */
    td_volume_view_show_job (self->volume_view, NULL);
  td_scan_view_set_scan (self->scan_view, scan);
  td_lab_view_set_scan (self->lab_view, scan);
  td_geometry_view_set_scan (self->geometry_view, scan);
  gtk_window_set_title (GTK_WINDOW (self), facts ? facts->title : "Tomodesk");
  adw_view_switcher_title_set_title (self->switcher, facts ? facts->title : "Tomodesk");
  if (facts) {
    adw_view_stack_set_visible_child_name (self->pages, "slices");
    window_on_recipe_changed (session, self);
  }
  gtk_stack_set_visible_child_name (self->stack, facts ? "scan" : "empty");
  update_actions (self);
  if (facts && adw_flap_get_reveal_flap (self->flap))
    td_recipe_panel_focus_next (self->panel);
}

/* Before and after while B is held: pressed again and again by the keyboard's repeat, let go once.
 */
static gboolean
on_key_pressed (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state,
                TdWindow *self)
{
  if ((key != GDK_KEY_b && key != GDK_KEY_B) || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)))
    return GDK_EVENT_PROPAGATE;
  td_steps_group_set_before (td_recipe_panel_steps (self->panel), TRUE);
  return GDK_EVENT_STOP;
}

static void
on_key_released (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state,
                 TdWindow *self)
{
  if (key == GDK_KEY_b || key == GDK_KEY_B)
    td_steps_group_set_before (td_recipe_panel_steps (self->panel), FALSE);
}

static void
on_region_drawn (TdScanView *view, int x, int y, int width, int height, TdWindow *self)
{
  TdRecipe recipe = *td_session_recipe (self->session);
  const int region[4] = { x, y, width, height };

  memcpy (recipe.region, region, sizeof region);
  td_session_edit (self->session, &recipe, NULL);
}

static void
on_crop_drawn (TdScanView *view, int x, int y, int width, int height, TdWindow *self)
{
  TdRecipe recipe = *td_session_recipe (self->session);
  const guint crop[4] = { (guint) x, (guint) y, (guint) width, (guint) height };

  memcpy (recipe.crop, crop, sizeof crop);
  td_session_edit (self->session, &recipe, NULL);
}

static void
on_take_requested (TdLabView *view, gpointer recipe, TdWindow *self)
{
  td_session_edit (self->session, recipe, NULL);
  adw_view_stack_set_visible_child_name (self->pages, "slices");
}

static void
on_page_changed (GObject *object, GParamSpec *property, TdWindow *self)
{
  const char *page = adw_view_stack_get_visible_child_name (self->pages);

  /* More slices for each edit are computed only while somebody looks at them. */
  td_lab_view_set_active (self->lab_view, g_strcmp0 (page, "lab") == 0);
  td_geometry_view_set_active (self->geometry_view, g_strcmp0 (page, "geometry") == 0);
  window_show_volume_next (self);
}

/* ── Actions ── */

/* The last change, or as many as the parameter says. */
static void
on_undo (TdWindow *self, GVariant *parameter)
{
  td_session_undo (self->session, parameter ? g_variant_get_uint32 (parameter) : 1);
}

static void
on_do_next (TdWindow *self)
{
  /* What a search comes to, and what an advice changes, stands in the panel. */
  if (td_recipe_panel_next (self->panel) != TD_FLOW_RECONSTRUCT)
    gtk_toggle_button_set_active (self->sidebar_button, TRUE);
  td_recipe_panel_do_next (self->panel);
}

static void
on_redo (TdWindow *self)
{
  td_session_redo (self->session);
}

static void
on_toggle_sidebar (TdWindow *self)
{
  GtkToggleButton *button = self->sidebar_button;

  gtk_toggle_button_set_active (button, !gtk_toggle_button_get_active (button));
}

static void
on_show_page (TdWindow *self, GVariant *parameter)
{
  adw_view_stack_set_visible_child_name (self->pages, g_variant_get_string (parameter, NULL));
}

static void
window_add_actions (TdWindow *self)
{
  static const TdAction actions[] = {
    { "open", G_CALLBACK (on_open) },
    { "open-details", G_CALLBACK (on_open_details) },
    { "open-folder", G_CALLBACK (on_open_folder) },
    { "open-volume", G_CALLBACK (on_open_volume) },
    { "open-volume-folder", G_CALLBACK (on_open_volume_folder) },
    { "view-volume", G_CALLBACK (on_view_volume) },
    { "open-demo", G_CALLBACK (on_open_demo) },
    { "open-path", G_CALLBACK (on_open_path), "s" },
    { "take-entry", G_CALLBACK (on_take_entry), "s" },
    { "choose-flats", G_CALLBACK (on_choose_flats) },
    { "state-empty-beam", G_CALLBACK (on_state_empty_beam) },
    { "close-scan", G_CALLBACK (on_close_scan) },
    { "cancel-opening", G_CALLBACK (on_cancel_opening) },
    { "save-recipe", G_CALLBACK (on_save_recipe) },
    { "load-recipe", G_CALLBACK (on_load_recipe) },
    { "reconstruct", G_CALLBACK (on_reconstruct) },
    { "show-jobs", G_CALLBACK (window_on_show_jobs) },
    { "batch", G_CALLBACK (window_on_batch) },
    { "show-devices", G_CALLBACK (window_on_show_devices) },
    { "save-preset", G_CALLBACK (on_save_preset) },
    { "apply-preset", G_CALLBACK (on_apply_preset), "s" },
    { "remove-preset", G_CALLBACK (on_remove_preset), "s" },
    { "do-next", G_CALLBACK (on_do_next) },
    { "show-trials", G_CALLBACK (on_show_trials) },
    { "undo", G_CALLBACK (on_undo) },
    { "undo-to", G_CALLBACK (on_undo), "u" },
    { "redo", G_CALLBACK (on_redo) },
    { "toggle-sidebar", G_CALLBACK (on_toggle_sidebar) },
    { "show-asked", G_CALLBACK (on_show_asked) },
    { "show-page", G_CALLBACK (on_show_page), "s" },
  };

  td_add_actions (self, actions, G_N_ELEMENTS (actions), self);
}

/* ── Focus ── */

/* When the widget with the keyboard focus disappears (or its page, row or dialog), the nearest
   widget that is shown gets the focus. So keys never go to a widget that nobody sees. */
static gboolean
focus_guard_mend (gpointer user)
{
  GtkWindow *window = user;
  GtkWidget *focus = gtk_window_get_focus (window);

  if (!focus || gtk_widget_get_mapped (focus) || !gtk_widget_get_mapped (GTK_WIDGET (window)))
    return G_SOURCE_REMOVE;
  for (GtkWidget *up = gtk_widget_get_parent (focus); up; up = gtk_widget_get_parent (up)) {
    if (!gtk_widget_get_mapped (up) || !gtk_widget_child_focus (up, GTK_DIR_TAB_FORWARD))
      continue;
    focus = gtk_window_get_focus (window);
    if (focus && gtk_widget_get_mapped (focus))
      return G_SOURCE_REMOVE;
  }
  gtk_window_set_focus (window, NULL);
  return G_SOURCE_REMOVE;
}

/* What is not shown now may be so at once, elsewhere. */
static void
focus_guard_on_unmap (GtkWidget *focus, GtkWindow *window)
{
  g_idle_add_full (G_PRIORITY_DEFAULT_IDLE, focus_guard_mend, g_object_ref (window),
                   g_object_unref);
}

static void
focus_guard_on_focus (GtkWindow *window)
{
  GtkWidget *focus = gtk_window_get_focus (window);

  /* A widget that had the focus before keeps its one handler, which then finds nothing to mend. */
  if (focus
      && !g_signal_handler_find (focus, G_SIGNAL_MATCH_FUNC, 0, 0, NULL, focus_guard_on_unmap,
                                 NULL))
    g_signal_connect_object (focus, "unmap", G_CALLBACK (focus_guard_on_unmap), window, 0);
  if (focus && !gtk_widget_get_mapped (focus))
    focus_guard_on_unmap (focus, window);
}

/* ── Object ── */

static void
td_window_get_property (GObject *object, guint id, GValue *value, GParamSpec *property)
{
  TdWindow *self = TD_WINDOW (object);

  g_value_set_object (value,
                      id == PROP_SESSION ? (GObject *) self->session : (GObject *) self->jobs);
}

TD_DISPOSE (TdWindow, td_window)
{
  stop_opening (self);
  window_remember_recipe (self);
  g_clear_pointer (&self->statement, td_scan_statement_free);
  g_clear_pointer (&self->failure, g_free);
  g_clear_weak_pointer (&self->message);
  g_clear_weak_pointer (&self->asks);
  g_clear_weak_pointer (&self->recalled);
  g_clear_object (&self->asked);
  if (self->session)
    g_signal_handlers_disconnect_by_data (self->session, self);
  if (self->jobs)
    g_signal_handlers_disconnect_by_data (self->jobs, self);
  g_clear_object (&self->jobs);
  g_clear_object (&self->session);
  g_clear_object (&self->settings);
}

static void
td_window_class_init (TdWindowClass *class)
{
  td_ensure_types (TD_TYPE_RECIPE_PANEL, TD_TYPE_SCAN_VIEW, TD_TYPE_AXIS_STRIP, TD_TYPE_LAB_VIEW,
                   TD_TYPE_GEOMETRY_VIEW, TD_TYPE_VOLUME_VIEW);
  G_OBJECT_CLASS (class)->dispose = td_window_dispose;
  G_OBJECT_CLASS (class)->get_property = td_window_get_property;
  g_object_class_install_property (
      G_OBJECT_CLASS (class), PROP_SESSION,
      g_param_spec_object ("session", NULL, NULL, TD_TYPE_SESSION, G_PARAM_READABLE));
  g_object_class_install_property (
      G_OBJECT_CLASS (class), PROP_JOBS,
      g_param_spec_object ("jobs", NULL, NULL, TD_TYPE_JOB_QUEUE, G_PARAM_READABLE));
  td_bind_template (class, TdWindow, "/org/tomodesk/Tomodesk/window.ui", toasts, stack, pages,
                    switcher, pages_bar, flap, sidebar_button, failed_page, opening_label,
                    recent_list, recent_box, recent_menu, done_button, done_menu, preset_menu,
                    remove_menu, remove_section, reconstruct_button, details_button, undo_box,
                    notice, notice_label, panel, scan_view, strip_revealer, strip, lab_view,
                    geometry_view, volume_view, jobs_revealer, jobs_box, jobs_list);
  td_bind_callbacks (class, on_notice_response, on_recent_activated, window_on_next,
                     window_on_trials_closed, on_region_drawn, on_crop_drawn, window_set_lab_base,
                     window_on_no_gl, on_take_requested, window_reveal_pages);
}

/* The pointer sees the buttons of pages, and nothing in them. Else what it was over outlives its
   button as the window goes, and libadwaita warns that its binding to the button is broken. */
static void
window_close_page_buttons (GtkWidget *widget)
{
  if (GTK_IS_TOGGLE_BUTTON (widget)) {
    gtk_widget_set_can_target (gtk_button_get_child (GTK_BUTTON (widget)), FALSE);
    return;
  }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    window_close_page_buttons (child);
}

static void
td_window_init (TdWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  window_close_page_buttons (GTK_WIDGET (self->switcher));
  window_close_page_buttons (GTK_WIDGET (self->pages_bar));
  gtk_menu_button_set_create_popup_func (self->done_button, window_show_done, self, NULL);
  g_signal_connect (self, "notify::focus-widget", G_CALLBACK (focus_guard_on_focus), NULL);
  g_signal_connect_swapped (self->flap, "notify::reveal-flap", G_CALLBACK (td_popovers_close),
                            self->panel);
}

static void
apply_colour_map (TdWindow *self)
{
  g_autofree char *name = g_settings_get_string (self->settings, "colour-map");

  td_scan_view_set_colour_map (self->scan_view, name);
  td_lab_view_set_colour_map (self->lab_view, name);
  td_volume_view_set_colour_map (self->volume_view, name);
}

TdWindow *
td_window_new (AdwApplication *application, GSettings *settings, TdEngine *engine)
{
  TdWindow *self = g_object_new (TD_TYPE_WINDOW, "application", application, NULL);

  self->settings = g_object_ref (settings);
  self->session = td_session_new (engine);
  self->jobs = g_object_new (TD_TYPE_JOB_QUEUE, NULL);
  td_latency_watch (self->session, self->scan_view, self->jobs);
  td_scan_view_set_engine (self->scan_view, engine);
  td_lab_view_set_engine (self->lab_view, engine);
  window_add_actions (self);
  window_bind_jobs (self);
  window_add_drop_target (self);
  GtkEventController *keys = gtk_event_controller_key_new ();
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key_pressed), self);
  g_signal_connect (keys, "key-released", G_CALLBACK (on_key_released), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
  TdCentreGroup *centre = td_recipe_panel_centre (self->panel);
  td_recipe_panel_on_edited (self->panel, G_CALLBACK (td_session_edit), self->session);
  g_signal_connect_object (centre, "trials-wanted", G_CALLBACK (window_show_trials), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (self->scan_view, "nudge-centre", G_CALLBACK (td_centre_group_nudge),
                           centre, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->scan_view, "centre-moved", G_CALLBACK (td_centre_group_drag),
                           centre, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->strip, "taken", G_CALLBACK (td_centre_group_move), centre,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (td_recipe_panel_steps (self->panel), "before",
                           G_CALLBACK (td_scan_view_set_before), self->scan_view,
                           G_CONNECT_SWAPPED);
  g_signal_connect (self->session, "scan-changed", G_CALLBACK (on_scan_changed), self);
  g_signal_connect (self->session, "recipe-changed", G_CALLBACK (window_on_recipe_changed), self);
  g_signal_connect (self->pages, "notify::visible-child", G_CALLBACK (on_page_changed), self);
  g_settings_bind (settings, "window-width", self, "default-width", G_SETTINGS_BIND_DEFAULT);
  g_settings_bind (settings, "window-height", self, "default-height", G_SETTINGS_BIND_DEFAULT);
  g_settings_bind (settings, "window-maximized", self, "maximized", G_SETTINGS_BIND_DEFAULT);
  g_signal_connect_object (settings, "changed::colour-map", G_CALLBACK (apply_colour_map), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (settings, "changed::recent-scans", G_CALLBACK (window_show_recent), self,
                           G_CONNECT_SWAPPED);
  apply_colour_map (self);
  window_show_recent (self);
  window_show_presets (self);
  update_actions (self);
  return self;
}
