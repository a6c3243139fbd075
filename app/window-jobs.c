/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-private.h"

#include <glib/gi18n.h>

#include "ui/job-row.h"
#include "ui/reconstruct-dialog.h"

/* ── Asking for a volume ── */

static void
on_accepted (TdReconstructDialog *dialog, gpointer recipe, const char *output, TdWindow *self)
{
  g_autoptr (TdJobItem) item = td_job_item_new (td_session_engine (self->session),
                                                td_session_scan (self->session), recipe, output);
  g_autofree char *folder = g_path_get_dirname (output);

  /* Format and bits were chosen in the dialog: they are the recipe's from now on. */
  td_session_edit (self->session, recipe, "output");
  td_window_remember_recipe (self);
  g_settings_set_string (self->settings, "output-folder", folder);
  td_job_queue_add (self->jobs, item);
  td_volume_view_show_job (self->volume_view, item);
}

static void
on_reconstruct (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  g_autofree char *folder = g_settings_get_string (self->settings, "output-folder");
  GtkWidget *dialog = td_reconstruct_dialog_new (
      GTK_WINDOW (self), td_session_engine (self->session), td_session_scan (self->session),
      td_session_recipe (self->session), folder);

  g_signal_connect_object (dialog, "accepted", G_CALLBACK (on_accepted), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

/* ── The list ── */

static void
on_show_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  td_volume_view_show_job (self->volume_view, item);
  if (td_session_scan (self->session))
    td_window_show_page (self, "volume");
}

static void
on_dismiss_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  td_job_queue_dismiss (self->jobs, item);
}

static void
on_again_requested (TdJobRow *row, TdJobItem *item, TdWindow *self)
{
  g_autoptr (TdJobItem) again = td_job_item_again (item);

  if (!again)
    return;
  td_job_queue_dismiss (self->jobs, item);
  td_job_queue_add (self->jobs, again);
  td_volume_view_show_job (self->volume_view, again);
}

static GtkWidget *
window_jobs_make_row (gpointer item, gpointer user)
{
  GtkWidget *row = td_job_row_new (item);

  g_signal_connect_object (row, "show-requested", G_CALLBACK (on_show_requested), user, 0);
  g_signal_connect_object (row, "again-requested", G_CALLBACK (on_again_requested), user, 0);
  g_signal_connect_object (row, "dismiss-requested", G_CALLBACK (on_dismiss_requested), user, 0);
  return row;
}

static void
on_jobs_changed (GListModel *model, guint position, guint removed, guint added, TdWindow *self)
{
  gtk_revealer_set_reveal_child (self->jobs_revealer, g_list_model_get_n_items (model) > 0);
}

/* ── At the end ── */

static void
on_toast_folder (AdwToast *toast, TdJobItem *item)
{
  td_job_show_folder (NULL, item);
}

static void
unref_item (gpointer item, GClosure *closure)
{
  g_object_unref (item);
}

static void
on_job_ended (TdJobQueue *jobs, TdJobItem *item, TdWindow *self)
{
  if (td_job_item_state (item) == TD_JOB_FAILED) {
    g_autofree char *heading
        = g_strdup_printf (_ ("“%s” was not reconstructed"), td_job_item_title (item));
    td_window_error_dialog (self, heading, td_job_item_error (item));
  } else if (td_job_item_state (item) == TD_JOB_DONE) {
    g_autofree char *escaped = g_markup_escape_text (td_job_item_title (item), -1);
    g_autofree char *text = g_strdup_printf (_ ("%s is written"), escaped);
    AdwToast *toast = adw_toast_new (text);
    adw_toast_set_button_label (toast, _ ("Open Folder"));
    g_signal_connect_data (toast, "button-clicked", G_CALLBACK (on_toast_folder),
                           g_object_ref (item), unref_item, 0);
    adw_toast_overlay_add_toast (self->toasts, toast);
  }
}

/* ── Closing ── */

static gboolean
close_now (gpointer window)
{
  gtk_window_close (window);
  return G_SOURCE_REMOVE;
}

static void
on_close_response (AdwMessageDialog *dialog, const char *response, TdWindow *self)
{
  if (g_strcmp0 (response, "stop") != 0)
    return;
  self->leaving = TRUE;
  td_job_queue_cancel_all (self->jobs);
  /* After the dialog, which still knows the window as its parent. */
  g_idle_add_full (G_PRIORITY_DEFAULT_IDLE, close_now, g_object_ref (self), g_object_unref);
}

gboolean
td_window_may_close (TdWindow *self)
{
  guint active = td_job_queue_active (self->jobs);

  if (active == 0 || self->leaving)
    return TRUE;
  AdwMessageDialog *dialog = ADW_MESSAGE_DIALOG (adw_message_dialog_new (
      GTK_WINDOW (self), _ ("Stop the reconstruction?"),
      _ ("A volume is still being written. If the window closes now, nothing of it is kept.")));
  adw_message_dialog_add_responses (dialog, "keep", _ ("_Keep Running"), "stop",
                                    _ ("_Stop and Close"), NULL);
  adw_message_dialog_set_response_appearance (dialog, "stop", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_default_response (dialog, "keep");
  adw_message_dialog_set_close_response (dialog, "keep");
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_close_response), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
  return FALSE;
}

void
td_window_add_job_actions (TdWindow *self)
{
  static const GActionEntry entries[] = {
    { .name = "reconstruct", .activate = on_reconstruct },
  };
  GListModel *model = td_job_queue_model (self->jobs);

  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries), self);
  gtk_list_box_bind_model (self->jobs_list, model, window_jobs_make_row, self, NULL);
  g_signal_connect_object (model, "items-changed", G_CALLBACK (on_jobs_changed), self, 0);
  g_signal_connect (self->jobs, "ended", G_CALLBACK (on_job_ended), self);
}
