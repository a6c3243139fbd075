/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reconstruct-dialog.h"

#include <glib/gi18n.h>
#include <string.h>

#include "choose-file.h"
#include "compute/engine/preflight.h"
#include "job-item.h"
#include "labels.h"
#include "latest.h"
#include "method-choices.h"
#include "number-row.h"
#include "quantity.h"
#include "scan-question.h"
#include "target-check.h"
#include "ui.h"
#include "dataset/unit.h"

/* In the order of TdVolumeFormat. */
static const struct {
  const char *suffix, *label;
} formats[] = {
  { "", N_ ("TIFF stack") },
  { ".tif", N_ ("BigTIFF, one file") },
  { ".h5", N_ ("HDF5 (NeXus)") },
};

const char *
td_volume_format_label (TdVolumeFormat format)
{
  return _ (formats[format].label);
}

static const struct {
  guint bits;
  const char *label;
} samples[] = {
  { 32, N_ ("32-bit float") },
  { 16, N_ ("16-bit, scaled") },
  { 8, N_ ("8-bit, scaled") },
};

struct _TdReconstructDialog {
  AdwWindow parent_instance;
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe;
  TdLatest *plans;
  GtkWidget *accept;
  AdwEntryRow *path;
  AdwComboRow *where, *format, *bits;
  GPtrArray *profiles; /* TdClusterProfile; the list has this computer before them */
  GtkWidget *range_row;
  GtkSwitch *range_auto;
  TdNumberRow *low, *high;
  AdwPreferencesGroup *plan;
  GtkSpinner *spinner;
  AdwActionRow *problem, *no_profiles; /* files that are none */
  GPtrArray *plan_rows;
  AdwPreferencesGroup *each_device;
  TdLatest *preflights;
  GPtrArray *device_rows;
  GHashTable *rates; /* name of a profile → double */
  gboolean filling;  /* also while what files say is looked for */
};

G_DEFINE_FINAL_TYPE (TdReconstructDialog, td_reconstruct_dialog, ADW_TYPE_WINDOW)

TdClusterProfile *
td_reconstruct_dialog_profile (TdReconstructDialog *self)
{
  const guint at = adw_combo_row_get_selected (self->where);

  return at > 0 && at <= self->profiles->len ? self->profiles->pdata[at - 1] : NULL;
}

/* ── Planning, off the main thread ── */

static gpointer
reconstruct_dialog_make_plan (gpointer user, TdLatestRun *run, GCancellable *cancellable,
                              GError **error)
{
  const TdScanQuestion *request = user;

  if (!td_target_check (request->output, error))
    return NULL;
  g_autoptr (TdPlan) plan = td_plan_new (request->engine, request->scan, &request->recipe,
                                         request->output, cancellable, error);
  if (!plan || !td_target_check_room (request->output, td_plan_facts (plan)->write_bytes, error))
    return NULL;
  return g_steal_pointer (&plan);
}

static gpointer
reconstruct_dialog_make_preflight (gpointer user, TdLatestRun *run, GCancellable *cancellable,
                                   GError **error)
{
  const TdScanQuestion *request = user;

  return td_preflight_devices (request->engine, request->scan, &request->recipe, request->output,
                               cancellable, error);
}

static char *
reconstruct_dialog_preflight_text (const TdPreflight *row)
{
  g_autofree char *time = td_estimate_text (row->estimate_s);
  g_autofree char *host = td_memory_text (row->host_bytes);
  g_autofree char *device = td_memory_text (row->device_bytes);

  return row->problem
             ? td_message_text (row->problem, td_label_naming)
             : g_strdup_printf (_ ("Time: %s. Memory: %s, %s on the device"), time, host, device);
}

/* With one device there is nothing to compare, and a cluster has others. */
static void
reconstruct_dialog_on_preflight (gpointer rows, const GError *error, gboolean last, gpointer user)
{
  TdReconstructDialog *self = user;
  const guint n = rows ? ((GPtrArray *) rows)->len : 0;

  for (guint i = 0; i < self->device_rows->len; i++)
    adw_preferences_group_remove (self->each_device, self->device_rows->pdata[i]);
  g_ptr_array_set_size (self->device_rows, 0);
  for (guint i = 0; n > 1 && i < n; i++) {
    const TdPreflight *preflight = ((GPtrArray *) rows)->pdata[i];
    g_autofree char *title = g_strdup_printf ("%s (%s)", preflight->name, preflight->id);
    g_autofree char *text = reconstruct_dialog_preflight_text (preflight);
    GtkWidget *row = td_plain_row_new (title, text);
    adw_preferences_group_add (self->each_device, row);
    g_ptr_array_add (self->device_rows, row);
  }
  gtk_widget_set_visible (GTK_WIDGET (self->each_device),
                          n > 1 && !td_reconstruct_dialog_profile (self));
}

static void
reconstruct_dialog_add_row (TdReconstructDialog *self, const char *title, const char *text)
{
  GtkWidget *row = td_plain_row_new (title, NULL);

  if (text) {
    GtkWidget *label = g_object_new (GTK_TYPE_LABEL, "label", text, "wrap", TRUE, "wrap-mode",
                                     PANGO_WRAP_WORD_CHAR, "justify", GTK_JUSTIFY_RIGHT, "xalign",
                                     1.0, "max-width-chars", 36, "hexpand", TRUE, NULL);
    td_add_style (label, "numeric dim-label");
    adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  } else {
    gtk_widget_add_css_class (row, "note");
  }
  adw_preferences_group_add (self->plan, row);
  g_ptr_array_add (self->plan_rows, row);
}

/* What the recipe allows, where it allows less than there is. */
static void
add_limit_row (TdReconstructDialog *self)
{
  const guint64 both = self->recipe.memory_limit_bytes;
  const guint64 device = self->recipe.device_memory_limit_bytes;
  g_autofree char *both_text = td_memory_text (both);
  g_autofree char *device_text = td_memory_text (device);
  g_autofree char *text
      = !device ? g_strdup (both_text)
        : !both ? g_strdup_printf (_ ("%s on the device"), device_text)
                : g_strdup_printf (_ ("%s, %s on the device"), both_text, device_text);

  if (both || device)
    reconstruct_dialog_add_row (self, _ ("Memory limit"), text);
}

/* What this computer's plan says of memory and devices does not hold on a cluster. */
static void
add_profile_rows (TdReconstructDialog *self, const TdClusterProfile *profile, const char *bytes)
{
  const guint ranks = td_cluster_profile_ranks (profile);
  g_autofree char *place
      = g_strdup_printf (ngettext ("%u process on %s", "%u processes on %s", ranks), ranks,
                         profile->host ? profile->host : _ ("this computer"));

  reconstruct_dialog_add_row (self, _ ("Computed by"), place);
  if (profile->time)
    reconstruct_dialog_add_row (self, _ ("Wall time"), profile->time);
  reconstruct_dialog_add_row (self, _ ("To read, to write"), bytes);
  if (profile->description)
    reconstruct_dialog_add_row (self, profile->description, NULL);
}

static void
add_way_rows (TdReconstructDialog *self, const TdPlanFacts *facts)
{
  for (guint i = 0; i < facts->n_ways; i++) {
    const TdPlanWay *way = &facts->ways[i];
    g_autofree char *name
        = g_strdup_printf ("%s, %s, %s", td_choice_label (TD_CHOICE_METHOD, way->method),
                           td_choice_label (TD_CHOICE_KERNEL, way->family),
                           td_choice_text (TD_CHOICE_PRECISION, way->precision, TRUE));
    g_autofree char *bound = g_strdup_printf (_ ("exact to %.2g"), way->error_bound);
    g_autofree char *time = way->estimate_s > 0 ? td_duration_text (way->estimate_s) : NULL;
    g_autofree char *words
        = i == 0 ? g_strdup (bound)
          : time ? g_strdup_printf (_ ("%s, %.2g times the computing, %s in all"), bound, way->cost,
                                    time)
                 : g_strdup_printf (_ ("%s, %.2g times the computing"), bound, way->cost);
    g_autofree char *title
        = i == 0 ? g_strdup (_ ("Accuracy")) : g_strdup_printf (_ ("Or by %s"), name);
    reconstruct_dialog_add_row (self, title, words);
  }
}

/* Each stage alone; they overlap. A stage whose rate no job has shown has no row: the time is not
 * known. */
static void
reconstruct_dialog_add_stages (TdReconstructDialog *self, const TdPlan *plan)
{
  TdPlanTimes times;

  td_plan_times (plan, &times);
  const struct {
    const char *title;
    double seconds;
  } stages[] = { { _ ("Reading alone"), times.read },
                 { _ ("Computing alone"), times.compute },
                 { _ ("Writing alone"), times.write } };
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++) {
    g_autofree char *text = td_estimate_text (stages[i].seconds);
    if (stages[i].seconds > 0)
      reconstruct_dialog_add_row (self, stages[i].title, text);
  }
}

/* Each place with the time that earlier jobs there let expect. */
static void
reconstruct_dialog_label_places (TdReconstructDialog *self, const TdPlanFacts *facts)
{
  g_autoptr (GtkStringList) places = gtk_string_list_new (NULL);
  const guint selected = adw_combo_row_get_selected (self->where);

  for (guint i = 0; i <= self->profiles->len; i++) {
    const char *name
        = i ? ((TdClusterProfile *) self->profiles->pdata[i - 1])->name : _ ("This computer");
    const double *rate = i ? g_hash_table_lookup (self->rates, name) : NULL;
    const double seconds = i == 0 ? facts->estimate_s : rate ? facts->updates / *rate : 0;
    g_autofree char *time
        = seconds > 0 ? td_duration_text (seconds) : g_strdup (_ ("time not known yet"));
    g_autofree char *label = g_strdup_printf ("%s: %s", name, time);
    gtk_string_list_append (places, label);
  }
  self->filling = TRUE;
  adw_combo_row_set_model (self->where, G_LIST_MODEL (places));
  adw_combo_row_set_selected (self->where, selected);
  self->filling = FALSE;
}

static void
add_plan_rows (TdReconstructDialog *self, const TdPlan *plan)
{
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autofree char *slices
      = g_strdup_printf (_ ("%u of %u × %u pixels"), facts->n_slices, facts->nx, facts->ny);
  g_autofree char *read = g_format_size (facts->read_bytes);
  g_autofree char *written = g_format_size (facts->write_bytes);
  g_autofree char *bytes = g_strdup_printf (_ ("%s, %s"), read, written);
  g_autofree char *host = td_memory_text (facts->host_bytes);
  g_autofree char *device = td_memory_text (facts->device_bytes);
  g_autofree char *memory = g_strdup_printf (_ ("%s, %s on the device"), host, device);
  g_autofree char *devices = g_strjoinv (", ", facts->devices);
  g_autofree char *method
      = g_strdup_printf ("%s, %s", td_choice_label (TD_CHOICE_METHOD, facts->method),
                         td_choice_label (TD_CHOICE_KERNEL, facts->family));
  g_autofree char *time = td_estimate_text (facts->estimate_s);
  g_autofree char *slabs
      = g_strdup_printf (_ ("%u of up to %u slices"), facts->n_slabs, facts->slab_slices);

  reconstruct_dialog_add_row (self, _ ("Slices"), slices);
  if (td_reconstruct_dialog_profile (self)) {
    add_profile_rows (self, td_reconstruct_dialog_profile (self), bytes);
    return;
  }
  reconstruct_dialog_add_row (self, _ ("Time"), time);
  reconstruct_dialog_add_stages (self, plan);
  reconstruct_dialog_add_row (self, _ ("To read, to write"), bytes);
  reconstruct_dialog_add_row (self, _ ("Memory"), memory);
  add_limit_row (self);
  reconstruct_dialog_add_row (self, _ ("Computed on"), devices);
  reconstruct_dialog_add_row (self, _ ("Method, kernel"), method);
  add_way_rows (self, facts);
  reconstruct_dialog_add_row (self, _ ("Slabs"), slabs);
  for (guint i = 0; facts->notes && facts->notes[i]; i++) {
    g_autofree char *words = td_message_text (facts->notes[i], td_label_naming);
    reconstruct_dialog_add_row (self, words, NULL);
  }
}

static void
clear_plan (TdReconstructDialog *self)
{
  for (guint i = 0; i < self->plan_rows->len; i++)
    adw_preferences_group_remove (self->plan, g_ptr_array_index (self->plan_rows, i));
  g_ptr_array_set_size (self->plan_rows, 0);
  gtk_widget_set_visible (GTK_WIDGET (self->problem), FALSE);
}

static void
on_plan (gpointer plan, const GError *error, gboolean last, gpointer user)
{
  TdReconstructDialog *self = user;

  clear_plan (self);
  gtk_spinner_set_spinning (self->spinner, td_latest_busy (self->plans));
  if (plan) {
    add_plan_rows (self, plan);
    reconstruct_dialog_label_places (self, td_plan_facts (plan));
  } else {
    g_autofree char *words = td_label_error (error);
    adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->problem), words);
    gtk_widget_set_visible (GTK_WIDGET (self->problem), TRUE);
  }
  gtk_widget_set_sensitive (self->accept, plan && !td_latest_busy (self->plans));
}

static TdScanQuestion *
reconstruct_dialog_request (TdReconstructDialog *self)
{
  TdScanQuestion *request = td_scan_question_new (self->engine, self->scan, &self->recipe);

  request->output = g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->path)));
  return request;
}

static void
request_plan (TdReconstructDialog *self)
{
  if (self->filling)
    return;
  gtk_widget_set_sensitive (self->accept, FALSE);
  gtk_spinner_set_spinning (self->spinner, TRUE);
  td_latest_request (self->plans, reconstruct_dialog_request (self));
  td_latest_request (self->preflights, reconstruct_dialog_request (self));
}

/* ── Choices ── */

static void
show_range_rows (TdReconstructDialog *self)
{
  gboolean scaled = self->recipe.output_bits != 32;

  gtk_widget_set_visible (self->range_row, scaled);
  gtk_widget_set_visible (GTK_WIDGET (self->low), scaled && !self->recipe.output_range_auto);
  gtk_widget_set_visible (GTK_WIDGET (self->high), scaled && !self->recipe.output_range_auto);
}

static void
reconstruct_dialog_collect (TdReconstructDialog *self)
{
  if (self->filling)
    return;
  self->recipe.output_format = adw_combo_row_get_selected (self->format);
  self->recipe.output_bits = samples[adw_combo_row_get_selected (self->bits)].bits;
  self->recipe.output_range_auto = gtk_switch_get_active (self->range_auto);
  self->recipe.output_low = td_number_row_get_value (self->low);
  self->recipe.output_high = td_number_row_get_value (self->high);
  show_range_rows (self);
  request_plan (self);
}

static char *
without_suffix (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (*formats[i].suffix && g_str_has_suffix (path, formats[i].suffix))
      return g_strndup (path, strlen (path) - strlen (formats[i].suffix));
  return g_strdup (path);
}

static void
on_format_changed (GObject *object, GParamSpec *property, TdReconstructDialog *self)
{
  if (self->filling)
    return;
  g_autofree char *base = without_suffix (gtk_editable_get_text (GTK_EDITABLE (self->path)));
  g_autofree char *path
      = g_strconcat (base, formats[adw_combo_row_get_selected (self->format)].suffix, NULL);
  self->filling = TRUE;
  td_set_path (self->path, path);
  self->filling = FALSE;
  reconstruct_dialog_collect (self);
}

static void
reconstruct_dialog_on_choose (GtkButton *button, TdReconstructDialog *self)
{
  g_autofree char *name = g_path_get_basename (gtk_editable_get_text (GTK_EDITABLE (self->path)));
  g_autofree char *folder = g_path_get_dirname (gtk_editable_get_text (GTK_EDITABLE (self->path)));
  g_autoptr (GFile) file = g_file_new_for_path (folder);
  GtkFileChooser *chooser
      = td_choose_name (self, _ ("Write the Volume To"), name, td_set_path, self->path);

  gtk_file_chooser_set_current_folder (chooser, file, NULL);
}

static void
on_accept (GtkButton *button, TdReconstructDialog *self)
{
  /* A key that presses the button leaves the focus where a number is typed. */
  gtk_window_set_focus (GTK_WINDOW (self), NULL);
  g_autofree char *output = g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->path)));
  TdRecipe recipe = self->recipe;

  g_signal_emit_by_name (self, "accepted", &recipe, output);
  gtk_window_close (GTK_WINDOW (self));
}

/* ── Object ── */

/* What files say before there is anything to ask for. */
typedef struct {
  char *stem;
  const char *suffix;
  char **written; /* by jobs that have not ended */
  char *path;     /* from here on the worker thread's */
  GPtrArray *profiles;
  char **problems;
} Question;

static void
reconstruct_dialog_question_free (gpointer user)
{
  Question *question = user;

  g_free (question->stem);
  g_strfreev (question->written);
  g_free (question->path);
  g_clear_pointer (&question->profiles, g_ptr_array_unref);
  g_strfreev (question->problems);
  g_free (question);
}

static char **
reconstruct_dialog_written (GListModel *jobs)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (guint i = 0; jobs && i < g_list_model_get_n_items (jobs); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (jobs, i);
    if (!td_job_item_ended (item) && td_job_item_output (item))
      g_strv_builder_add (builder, td_job_item_output (item));
  }
  return g_strv_builder_end (builder);
}

/* A name beside the scan (or in @folder). */
static Question *
reconstruct_dialog_question (TdReconstructDialog *self, GListModel *jobs, const char *folder)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);
  g_autofree char *beside = g_path_is_absolute (facts->path) ? g_path_get_dirname (facts->path)
                                                             : g_strdup (g_get_home_dir ());
  g_autofree char *title = g_strdup (facts->title);
  Question *question = g_new0 (Question, 1);

  g_strdelimit (title, "/ ", '_');
  question->stem = g_strdup_printf ("%s/%s-slices", folder && *folder ? folder : beside, title);
  question->suffix = formats[self->recipe.output_format].suffix;
  question->written = reconstruct_dialog_written (jobs);
  return question;
}

/* Worker thread. The first name that is not taken yet. */
static void
reconstruct_dialog_find (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Question *question = data;

  question->profiles = td_cluster_profiles (&question->problems);
  question->path = g_strconcat (question->stem, question->suffix, NULL);
  for (guint i = 2; g_file_test (question->path, G_FILE_TEST_EXISTS)
                    || g_strv_contains ((const char *const *) question->written, question->path);
       i++) {
    g_free (question->path);
    question->path = g_strdup_printf ("%s-%u%s", question->stem, i, question->suffix);
  }
  g_task_return_boolean (task, TRUE);
}

/* This computer, and each profile; nothing to choose without one. A file that is no profile is
   told, lest its place is looked for in vain. */
static void
reconstruct_dialog_fill_where (TdReconstructDialog *self, const Question *question)
{
  g_autoptr (GtkStringList) places = gtk_string_list_new (NULL);
  g_autofree char *told = g_strjoinv ("\n", question->problems);

  g_ptr_array_unref (self->profiles);
  self->profiles = g_ptr_array_ref (question->profiles);
  gtk_string_list_append (places, _ ("This computer"));
  for (guint i = 0; i < self->profiles->len; i++)
    gtk_string_list_append (places, ((TdClusterProfile *) self->profiles->pdata[i])->name);
  adw_combo_row_set_model (self->where, G_LIST_MODEL (places));
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->no_profiles), told);
  gtk_widget_set_visible (GTK_WIDGET (self->no_profiles), *told);
  gtk_widget_set_visible (GTK_WIDGET (self->where), self->profiles->len > 0);
}

static void
reconstruct_dialog_on_found (GObject *dialog, GAsyncResult *result, gpointer user)
{
  TdReconstructDialog *self = TD_RECONSTRUCT_DIALOG (dialog);
  const Question *question = g_task_get_task_data (G_TASK (result));

  if (!self->scan) /* the dialog has gone */
    return;
  const gboolean typed = *gtk_editable_get_text (GTK_EDITABLE (self->path));
  reconstruct_dialog_fill_where (self, question);
  gtk_widget_grab_focus (GTK_WIDGET (self->path));
  if (!typed)
    td_set_path (self->path, question->path);
  self->filling = FALSE;
  if (typed)
    reconstruct_dialog_collect (self);
  else
    on_format_changed (NULL, NULL, self);
}

static void
show_recipe (TdReconstructDialog *self)
{
  adw_combo_row_set_selected (self->format, self->recipe.output_format);
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    if (samples[i].bits == self->recipe.output_bits)
      adw_combo_row_set_selected (self->bits, i);
  gtk_switch_set_active (self->range_auto, self->recipe.output_range_auto);
  td_number_row_set_value (self->low, self->recipe.output_low);
  td_number_row_set_value (self->high, self->recipe.output_high);
  show_range_rows (self);
}

GtkWidget *
td_reconstruct_dialog_new (GtkWindow *parent, TdEngine *engine, TdScan *scan,
                           const TdRecipe *recipe, GListModel *jobs, const char *folder)
{
  TdReconstructDialog *self
      = g_object_new (TD_TYPE_RECONSTRUCT_DIALOG, "transient-for", parent, NULL);

  self->engine = td_engine_ref (engine);
  self->scan = td_scan_ref (scan);
  self->recipe = *recipe;
  show_recipe (self);
  gtk_widget_set_sensitive (self->accept, FALSE);
  gtk_spinner_set_spinning (self->spinner, TRUE);
  g_autoptr (GTask) task = g_task_new (self, NULL, reconstruct_dialog_on_found, NULL);
  g_task_set_task_data (task, reconstruct_dialog_question (self, jobs, folder),
                        reconstruct_dialog_question_free);
  g_task_run_in_thread (task, reconstruct_dialog_find);
  return GTK_WIDGET (self);
}

TD_DISPOSE (TdReconstructDialog, td_reconstruct_dialog)
{
  gtk_window_set_focus (GTK_WINDOW (self), NULL); /* what was typed is taken while all is there */
  g_clear_pointer (&self->plans, td_latest_free);
  g_clear_pointer (&self->preflights, td_latest_free);
  g_clear_pointer (&self->device_rows, g_ptr_array_unref);
  g_clear_pointer (&self->rates, g_hash_table_unref);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_pointer (&self->plan_rows, g_ptr_array_unref);
  g_clear_pointer (&self->profiles, g_ptr_array_unref);
}

static void
td_reconstruct_dialog_class_init (TdReconstructDialogClass *class)
{
  g_type_ensure (TD_TYPE_NUMBER_ROW);
  td_close_on_escape (class);
  G_OBJECT_CLASS (class)->dispose = td_reconstruct_dialog_dispose;
  td_bind_template (class, TdReconstructDialog, "/org/tomodesk/ui/reconstruct-dialog.ui", accept,
                    path, where, format, bits, range_row, range_auto, low, high, plan, each_device,
                    spinner, problem, no_profiles);
  td_bind_callbacks (class, on_accept, reconstruct_dialog_on_choose, request_plan,
                     on_format_changed, reconstruct_dialog_collect);
  td_signal_new (class, "accepted", 2, G_TYPE_POINTER, G_TYPE_STRING);
}

void
td_reconstruct_dialog_set_rate (TdReconstructDialog *self, const char *profile,
                                double updates_per_s)
{
  g_hash_table_replace (self->rates, g_strdup (profile),
                        g_memdup2 (&updates_per_s, sizeof updates_per_s));
}

static void
fill_choices (TdReconstructDialog *self)
{
  g_autoptr (GtkStringList) format_list = gtk_string_list_new (NULL);
  g_autoptr (GtkStringList) sample_list = gtk_string_list_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    gtk_string_list_append (format_list, td_volume_format_label (i));
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    gtk_string_list_append (sample_list, _ (samples[i].label));
  adw_combo_row_set_model (self->format, G_LIST_MODEL (format_list));
  adw_combo_row_set_model (self->bits, G_LIST_MODEL (sample_list));
}

static void
td_reconstruct_dialog_init (TdReconstructDialog *self)
{
  self->filling = TRUE;
  self->plan_rows = g_ptr_array_new ();
  self->plans = td_latest_new (reconstruct_dialog_make_plan, td_scan_question_free, on_plan,
                               (GDestroyNotify) td_plan_unref, self);
  self->device_rows = g_ptr_array_new ();
  self->rates = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->preflights
      = td_latest_new (reconstruct_dialog_make_preflight, td_scan_question_free,
                       reconstruct_dialog_on_preflight, (GDestroyNotify) g_ptr_array_unref, self);
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  self->profiles = g_ptr_array_new ();
  fill_choices (self);
  td_number_row_set_range (self->low, -1e6, 1e6);
  td_number_row_set_steps (self->low, 0.001, 0.01, 5);
  td_number_row_set_range (self->high, -1e6, 1e6);
  td_number_row_set_steps (self->high, 0.001, 0.01, 5);
}
