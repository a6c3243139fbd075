/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-test.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "ui-test.h"
#include "ui/ui.h"

TdWindow *td_test_window;

void
td_test_tell_place (GtkWidget *widget)
{
  for (GtkWidget *up = widget; up; up = gtk_widget_get_parent (up)) {
    graphene_rect_t at;
    const gboolean placed = gtk_widget_compute_bounds (widget, up, &at);
    g_printerr ("# %s %d × %d: at %.0f, %.0f%s%s%s\n", G_OBJECT_TYPE_NAME (up),
                gtk_widget_get_width (up), gtk_widget_get_height (up),
                placed ? (double) at.origin.x : NAN, placed ? (double) at.origin.y : NAN,
                gtk_widget_get_visible (up) ? "" : " (hidden)",
                gtk_widget_get_child_visible (up) ? "" : " (another is shown)",
                gtk_widget_get_mapped (up) ? "" : " (not mapped)");
  }
}

/* libadwaita's message dialog measures the large form of its heading in the width of the small one,
   and GTK from 4.18 on warns about that. Such a warning about a window of the program's own stays
   fatal. */
static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user)
{
  for (gsize i = 0; i < n_fields; i++) {
    gpointer widget = NULL;
    if (!g_str_equal (fields[i].key, "MESSAGE"))
      continue;
    if (g_str_has_prefix (fields[i].value, "Trying to measure GtkLabel")
        && td_test_other_window (ADW_TYPE_MESSAGE_DIALOG))
      return G_LOG_WRITER_HANDLED;
    const char *address = strstr (fields[i].value, " 0x");
    if (strstr (fields[i].value, "without a current allocation") && address
        && sscanf (address, "%p", &widget) == 1)
      td_test_tell_place (widget);
  }
  return g_log_writer_default (level, fields, n_fields, user);
}

/* Says where a crash happened that may not come again. */
static void
on_crash (int number)
{
  void *calls[64];

  backtrace_symbols_fd (calls, backtrace (calls, G_N_ELEMENTS (calls)), STDERR_FILENO);
  raise (number);
}

AdwApplication *
td_test_start_parts (int *argc, char ***argv)
{
  gtk_test_init (argc, argv, NULL);
  adw_init ();
  td_ui_init ();
  AdwApplication *application = adw_application_new ("org.tomodesk.Test", G_APPLICATION_NON_UNIQUE);
  g_application_set_default (G_APPLICATION (application));
  return application;
}

TdApplication *
td_test_start (void)
{
  const struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_RESETHAND };

  sigaction (SIGSEGV, &action, NULL);
  /* Jobs are processes that look for their place in the queue among the folders there. */
  g_setenv ("XDG_DATA_HOME", td_test_folder (), TRUE);
  g_setenv ("XDG_CONFIG_HOME", td_test_folder (), TRUE); /* no presets that another run left */
  g_setenv ("TOMODESK_JOB_NICE", "0", TRUE);
  TdApplication *application = td_application_new ();
  g_autoptr (GError) error = NULL;

  g_log_set_writer_func (write_log, NULL, NULL);
  g_application_set_flags (G_APPLICATION (application),
                           G_APPLICATION_HANDLES_OPEN | G_APPLICATION_NON_UNIQUE);
  g_application_register (G_APPLICATION (application), NULL, &error);
  g_assert_no_error (error);
  g_application_activate (G_APPLICATION (application));
  td_test_window = TD_WINDOW (gtk_application_get_active_window (GTK_APPLICATION (application)));
  g_assert_nonnull (td_test_window);
  g_object_add_weak_pointer (G_OBJECT (td_test_window), (gpointer *) &td_test_window);
  return application;
}

void
td_test_activate (const char *action, GVariant *parameter)
{
  g_action_group_activate_action (G_ACTION_GROUP (td_test_window), action, parameter);
}

gboolean
td_test_with_gl (void)
{
  return g_strcmp0 (g_getenv ("GDK_DEBUG"), "gl-disable") != 0
         && g_strcmp0 (g_getenv ("TOMODESK_DRAW"), "gl") == 0;
}

const char *
td_test_state (void)
{
  return gtk_stack_get_visible_child_name (td_test_part (td_test_window, "stack"));
}

void
td_test_show_page (const char *page)
{
  td_test_activate ("show-page", g_variant_new_string (page));
}

/* The window holds what its property has. */
static gpointer
window_object (const char *property)
{
  g_autoptr (GObject) object = NULL;

  g_object_get (td_test_window, property, &object, NULL);
  return object;
}

TdSession *
td_test_session (void)
{
  return window_object ("session");
}

TdJobQueue *
td_test_jobs (void)
{
  return window_object ("jobs");
}

TdJobItem *
td_test_submit (const TdRecipe *recipe, const char *output)
{
  g_autoptr (TdClusterProfile) here = td_cluster_profile_find (TD_CLUSTER_OWN, NULL);
  const TdRemoteOrder order
      = { .scan = td_session_scan (td_test_session ()), .recipe = recipe, .output = output };
  g_autoptr (TdRemoteJob) job = td_remote_job_new (here, &order);
  g_autoptr (TdJobItem) item = td_job_item_new (job, TD_REMOTE_SUBMIT);

  td_job_queue_add (td_test_jobs (), item);
  return g_steal_pointer (&item);
}

guint
td_test_active_jobs (void)
{
  GListModel *model = td_job_queue_model (td_test_jobs ());
  guint active = 0;

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    active += !td_job_item_ended (item);
  }
  return active;
}

TdScanView *
td_test_scan_view (void)
{
  return td_test_part (td_test_window, "scan_view");
}

TdImagePane *
td_test_slice_pane (void)
{
  return td_test_part (td_test_window, "scan_view.slice");
}

gboolean
td_test_is_updating (gpointer pane)
{
  return gtk_widget_has_css_class (pane, "updating");
}

gboolean
td_test_scan_view_is_settled (gpointer unused)
{
  static const char *const panes[] = { "slice", "sinogram", "projection" };

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++)
    if (td_test_is_updating (td_test_part (td_test_scan_view (), panes[i])))
      return FALSE;
  return TRUE;
}

TdImage *
td_test_shown_slice (void)
{
  return td_image_pane_get_image (td_test_slice_pane ());
}

gboolean
td_test_slice_is_there (gpointer other)
{
  const TdScanFacts *facts = td_session_facts (td_test_session ());
  TdImage *image = td_test_shown_slice ();

  return image && image != other && facts && image->width == facts->n_columns
         && !td_test_is_updating (td_test_slice_pane ());
}

gboolean
td_test_in_state (gpointer state)
{
  return g_strcmp0 (td_test_state (), state) == 0;
}

void
td_test_open (const char *path)
{
  td_window_open_path (td_test_window, path);
  g_assert_cmpstr (td_test_state (), ==, "opening");
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan to open");
  td_test_wait (td_test_slice_is_there, NULL, "the first slice");
}

GtkWindow *
td_test_other_window (GType type)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++) {
    g_autoptr (GtkWindow) other = g_list_model_get_item (windows, i);
    if (g_type_is_a (G_OBJECT_TYPE (other), type) && gtk_widget_get_visible (GTK_WIDGET (other)))
      return other;
  }
  return NULL;
}

gboolean
td_test_window_is_mapped (gpointer type)
{
  GtkWindow *window = td_test_other_window (*(GType *) type);

  return window && gtk_widget_get_mapped (GTK_WIDGET (window));
}

gboolean
td_test_window_is_gone (gpointer type)
{
  return !td_test_other_window (*(GType *) type);
}

GtkWidget *
td_test_find (GtkWidget *parent, GType type, TdTestMatch matches, gpointer user)
{
  if (g_type_is_a (G_OBJECT_TYPE (parent), type) && (!matches || matches (parent, user)))
    return parent;
  for (GtkWidget *child = gtk_widget_get_first_child (parent); child;
       child = gtk_widget_get_next_sibling (child)) {
    GtkWidget *found = td_test_find (child, type, matches, user);
    if (found)
      return found;
  }
  return NULL;
}

gpointer
td_test_part (gpointer widget, const char *names)
{
  g_auto (GStrv) parts = g_strsplit (names, ".", -1);

  for (guint i = 0; parts[i]; i++) {
    widget = gtk_widget_get_template_child (widget, G_OBJECT_TYPE (widget), parts[i]);
    g_assert_nonnull (widget);
  }
  return widget;
}

void
td_test_reaches_all (gpointer adjustment, guint n)
{
  g_assert_cmpfloat (gtk_adjustment_get_lower (adjustment), ==, 0);
  g_assert_cmpfloat (gtk_adjustment_get_upper (adjustment), ==, n - 1.0);
  g_assert_cmpfloat (gtk_adjustment_get_step_increment (adjustment), ==, 1);
  g_assert_cmpfloat (gtk_adjustment_get_page_increment (adjustment), ==, 10);
  g_assert_cmpfloat (gtk_adjustment_get_page_size (adjustment), ==, 0);
}

static gboolean
button_has_label (GtkWidget *button, gpointer label)
{
  g_autoptr (GString) shown = g_string_new (gtk_button_get_label (GTK_BUTTON (button)));

  g_string_replace (shown, "_", "", 0);
  return g_strcmp0 (shown->str, label) == 0
         || g_strcmp0 (gtk_widget_get_tooltip_text (button), label) == 0;
}

GtkWidget *
td_test_button (gpointer parent, const char *label)
{
  GtkWidget *button = td_test_find (parent, GTK_TYPE_BUTTON, button_has_label, (gpointer) label);

  g_assert_nonnull (button);
  return button;
}

static gboolean
row_has_title (GtkWidget *row, gpointer title)
{
  return strcmp (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), title) == 0;
}

gpointer
td_test_row (gpointer parent, const char *title)
{
  GtkWidget *row = td_test_find (parent, ADW_TYPE_PREFERENCES_ROW, row_has_title, (gpointer) title);

  g_assert_nonnull (row);
  return row;
}

void
td_test_click (gpointer button)
{
  g_assert_true (gtk_widget_is_sensitive (button));
  g_signal_emit_by_name (button, "clicked");
}

gboolean
td_test_key (guint key, GdkModifierType state, gboolean down)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (td_test_window));
  gboolean taken = FALSE;

  for (guint i = 0; i < g_list_model_get_n_items (controllers) && !taken; i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
    if (GTK_IS_EVENT_CONTROLLER_KEY (one) && down)
      g_signal_emit_by_name (one, "key-pressed", key, 0, state, &taken);
    else if (GTK_IS_EVENT_CONTROLLER_KEY (one))
      g_signal_emit_by_name (one, "key-released", key, 0, state);
  }
  return taken;
}

void
td_test_press (gpointer widget, guint key)
{
  const GtkShortcutTrigger *wanted = GTK_SHORTCUT_TRIGGER (gtk_keyval_trigger_new (key, 0));
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GObject) controller = g_list_model_get_item (controllers, i);
    if (!GTK_IS_SHORTCUT_CONTROLLER (controller))
      continue;
    for (guint k = 0; k < g_list_model_get_n_items (G_LIST_MODEL (controller)); k++) {
      g_autoptr (GtkShortcut) shortcut = g_list_model_get_item (G_LIST_MODEL (controller), k);
      if (gtk_shortcut_trigger_equal (gtk_shortcut_get_trigger (shortcut), wanted))
        gtk_shortcut_action_activate (gtk_shortcut_get_action (shortcut),
                                      GTK_SHORTCUT_ACTION_EXCLUSIVE, widget,
                                      gtk_shortcut_get_arguments (shortcut));
    }
  }
  g_object_unref ((gpointer) wanted);
}

gboolean
td_test_message_is_shown (gpointer unused)
{
  return td_test_other_window (ADW_TYPE_MESSAGE_DIALOG) != NULL;
}

gboolean
td_test_plan_is_ready (gpointer dialog)
{
  return gtk_widget_get_sensitive (td_test_part (dialog, "accept"));
}

/* ── Files that a person chooses ── */

/* Of the dialog that is shown next. */
static struct {
  gboolean waits;
  const char *path;
  char *asked;
} choosing;

/* The program's functions are found before the toolkit's of the same name. */
void
gtk_native_dialog_show (GtkNativeDialog *dialog)
{
  static const char *const actions[] = { "open", "save", "folder" };
  void (*show) (GtkNativeDialog *) = NULL;

  if (!choosing.waits) {
    *(void **) &show = dlsym (RTLD_NEXT, "gtk_native_dialog_show");
    show (dialog);
    return;
  }
  GtkFileChooser *chooser = GTK_FILE_CHOOSER (dialog);
  g_autoptr (GListModel) filters = gtk_file_chooser_get_filters (chooser);
  const GtkFileChooserAction action = gtk_file_chooser_get_action (chooser);
  g_autofree char *name
      = action == GTK_FILE_CHOOSER_ACTION_SAVE ? gtk_file_chooser_get_current_name (chooser) : NULL;
  GString *asked = g_string_new (gtk_native_dialog_get_title (dialog));
  g_string_append_printf (asked, "; %s%s", actions[action],
                          gtk_file_chooser_get_select_multiple (chooser) ? " several" : "");
  if (name)
    g_string_append_printf (asked, "; %s", name);
  for (guint i = 0; i < g_list_model_get_n_items (filters); i++) {
    g_autoptr (GtkFileFilter) filter = g_list_model_get_item (filters, i);
    g_string_append_printf (asked, "; %s", gtk_file_filter_get_name (filter));
  }
  choosing.asked = g_string_free (asked, FALSE);
  g_signal_emit_by_name (dialog, "response",
                         choosing.path ? GTK_RESPONSE_ACCEPT : GTK_RESPONSE_CANCEL);
}

GListModel *
gtk_file_chooser_get_files (GtkFileChooser *chooser)
{
  GListStore *files = g_list_store_new (G_TYPE_FILE);
  g_autoptr (GFile) file = choosing.path ? g_file_new_for_path (choosing.path) : NULL;

  if (file)
    g_list_store_append (files, file);
  return G_LIST_MODEL (files);
}

static gboolean
was_asked (gpointer unused)
{
  return choosing.asked != NULL;
}

char *
td_test_choose (const char *path, void (*ask) (gpointer user), gpointer user)
{
  choosing.waits = TRUE;
  choosing.path = path;
  ask (user);
  td_test_wait (was_asked, NULL, "the dialog for a file");
  choosing.waits = FALSE;
  choosing.path = NULL;
  return g_steal_pointer (&choosing.asked);
}

char *
td_test_choose_by (gpointer button, const char *path)
{
  return td_test_choose (path, td_test_click, button);
}

/* ── The truth ── */

typedef struct {
  float *slice;
  gsize n;
} Kept;

static void
keep (guint first, guint count, const float *slices, gpointer user)
{
  Kept *kept = user;

  g_assert_null (kept->slice);
  kept->slice = g_memdup2 (slices, kept->n * sizeof (float));
}

float *
td_test_slice_by_job (const TdRecipe *recipe, guint row)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdRecipe single = *recipe;

  single.row_first = row;
  single.row_end = row + 1;
  g_autoptr (TdPlan) plan
      = td_plan_new (engine, td_session_scan (td_test_session ()), &single, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdPlanFacts *facts = td_plan_facts (plan);
  Kept kept = { NULL, (gsize) facts->nx * facts->ny };
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, keep, &kept);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (kept.slice);
  return kept.slice;
}

double
td_test_rms_between (const float *a, const float *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
  return sqrt (sum / n);
}

void
td_test_assert_slice_is_right (const TdRecipe *recipe)
{
  g_autofree float *truth
      = td_test_slice_by_job (recipe, td_scan_view_get_row (td_test_scan_view ()));
  const TdScanFacts *facts = td_session_facts (td_test_session ());
  TdImage *image = td_test_shown_slice ();
  double scale = image->maximum - image->minimum;

  g_assert_cmpuint (image->width, ==, facts->n_columns);
  g_assert_cmpfloat (scale, >, 0);
  g_assert_cmpfloat (
      td_test_rms_between (image->pixels, truth, (gsize) image->width * image->height), <,
      1e-5 * scale);
}

void
td_test_assert_shown_slice (void)
{
  td_test_assert_slice_is_right (td_session_recipe (td_test_session ()));
}
