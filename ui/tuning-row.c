/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tuning-row.h"

#include <glib/gi18n.h>

#include "compute/parallel/tune.h"
#include "labels.h"
#include "latest.h"
#include "ui.h"

struct _TdTuningRow {
  AdwExpanderRow parent_instance;
  GtkWidget *start, *cancel, *bar;
  GPtrArray *rows; /* of the table; the expander's */
  TdLatest *latest;
  char *device;
  guint size;
};

G_DEFINE_FINAL_TYPE (TdTuningRow, td_tuning_row, ADW_TYPE_EXPANDER_ROW)

typedef struct {
  char *device; /* NULL: the fastest */
  guint size;
} Request;

/* What comes back: a step that begins, and at the end the table. */
typedef struct {
  TdTuneStep step;
  char *device;
  GPtrArray *table; /* TdTuneRow; NULL: a step */
} Report;

static void
tuning_row_request_free (gpointer user)
{
  Request *request = user;

  g_free (request->device);
  g_free (request);
}

static void
tuning_row_report_free (gpointer user)
{
  Report *report = user;

  g_clear_pointer (&report->table, g_ptr_array_unref);
  g_free (report->device);
  g_free (report);
}

/* ── Worker thread ── */

static void
tuning_row_tell (const TdTuneStep *step, gpointer run)
{
  Report *report = g_new0 (Report, 1);

  report->step = *step;
  td_latest_post (run, report, TRUE);
}

static gpointer
tuning_row_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;
  const TdTuneOptions options = {
    .size = request->size,
    .cancellable = cancellable,
    .progress = tuning_row_tell,
    .user = run,
  };
  g_autoptr (TdDevice) device = td_device_open (request->device, error);
  GPtrArray *table = device ? td_tune_device (device, &options, error) : NULL;

  if (!table)
    return NULL;
  Report *report = g_new0 (Report, 1);
  report->table = table;
  report->device = g_strdup (td_device_info (device)->id);
  return report;
}

/* ── The table ── */

static void
clear_table (TdTuningRow *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    adw_expander_row_remove (ADW_EXPANDER_ROW (self), self->rows->pdata[i]);
  g_ptr_array_set_size (self->rows, 0);
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self), FALSE);
}

static char *
rate_text (const TdTuneRow *row)
{
  if (row->error)
    return g_strdup (row->error);
  if (!*row->defines)
    return g_strdup_printf (_ ("%.1f GU/s; the usual variant is the fastest of %u"),
                            1e-9 * row->best_rate, row->candidates);
  return g_strdup_printf (_ ("%.1f GU/s, before %.1f: %s"), 1e-9 * row->best_rate,
                          1e-9 * row->default_rate, row->defines);
}

static void
tuning_row_add_line (TdTuningRow *self, const TdTuneRow *row)
{
  g_autofree char *title
      = td_label_kernel_task (row->family->name, row->interpolation, row->precision, row->n_slices);
  g_autofree char *rate = rate_text (row);
  GtkWidget *line = td_plain_row_new (title, rate);

  adw_expander_row_add_row (ADW_EXPANDER_ROW (self), line);
  g_ptr_array_add (self->rows, line);
}

static void
tuning_row_show_table (TdTuningRow *self, const GPtrArray *table, const char *device)
{
  guint faster = 0;

  for (guint i = 0; i < table->len; i++) {
    const TdTuneRow *row = table->pdata[i];
    faster += !row->error && *row->defines;
    tuning_row_add_line (self, row);
  }
  g_autofree char *text
      = faster ? g_strdup_printf (
            _ ("%s: in %u of %u cases something faster was found; jobs use it from now on"), device,
            faster, table->len)
               : g_strdup_printf (_ ("%s: the usual variants are the fastest"), device);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), text);
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self), table->len > 0);
}

/* ── State ── */

static void
tuning_row_show_state (TdTuningRow *self)
{
  gboolean busy = td_latest_busy (self->latest);

  gtk_widget_set_visible (self->start, !busy);
  gtk_widget_set_visible (self->cancel, busy);
  gtk_widget_set_visible (self->bar, busy);
}

/* The bar and the words count the same cases. */
static void
tuning_row_show_step (TdTuningRow *self, const TdTuneStep *step)
{
  g_autofree char *kernel = td_label_kernel_task (step->family->name, step->interpolation,
                                                  step->precision, step->n_slices);
  g_autofree char *text = g_strdup_printf (_ ("Case %u of %u: %s; variant %u of %u"), step->number,
                                           step->n_cases, kernel, step->variant, step->n_variants);

  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), step->fraction);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), text);
}

static void
tuning_row_show (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdTuningRow *self = user;
  const Report *report = result;

  if (report && !report->table) {
    tuning_row_show_step (self, &report->step);
  } else if (report) {
    tuning_row_show_table (self, report->table, report->device);
  } else {
    g_autofree char *words = td_label_error (error);
    adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), words);
  }
  tuning_row_show_state (self);
}

void
td_tuning_row_set_device (TdTuningRow *self, const char *devices, guint size)
{
  g_auto (GStrv) ids = g_strsplit (devices, ",", 2);

  self->size = size;
  g_free (self->device);
  self->device = ids[0] && *ids[0] && !g_str_equal (ids[0], "auto") ? g_strdup (ids[0]) : NULL;
}

GtkWidget *
td_tuning_row_start_button (TdTuningRow *self)
{
  return self->start;
}

static void
tuning_row_on_start (GtkButton *button, TdTuningRow *self)
{
  Request *request = g_new0 (Request, 1);

  request->device = g_strdup (self->device);
  request->size = self->size;
  clear_table (self);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->bar), 0);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self), _ ("Opening the device"));
  td_latest_request (self->latest, request);
  tuning_row_show_state (self);
}

static void
tuning_row_on_cancel (GtkButton *button, TdTuningRow *self)
{
  td_latest_cancel (self->latest);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self),
                                 _ ("Stopped; what had been found until then is used"));
  tuning_row_show_state (self);
}

/* ── Life ── */

TD_DISPOSE (TdTuningRow, td_tuning_row)
{
  g_clear_pointer (&self->latest, td_latest_free);
}

TD_FINALIZE (TdTuningRow, td_tuning_row)
{
  g_ptr_array_unref (self->rows);
  g_free (self->device);
}

static void
td_tuning_row_class_init (TdTuningRowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_tuning_row_dispose;
  G_OBJECT_CLASS (class)->finalize = td_tuning_row_finalize;
}

static void
td_tuning_row_init (TdTuningRow *self)
{
  self->rows = g_ptr_array_new ();
  self->latest = td_latest_new (tuning_row_work, tuning_row_request_free, tuning_row_show,
                                tuning_row_report_free, self);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self), _ ("Tune the kernels"));
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self), FALSE);
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self),
                                 _ ("Finds the fastest variants on this device, in minutes"));
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self), FALSE);
  self->bar = td_narrow_bar_new (_ ("Progress of tuning"));
  self->start = td_button_new (_ ("Tune"), "flat", G_CALLBACK (tuning_row_on_start), self);
  self->cancel = td_button_new (_ ("Stop"), "flat", G_CALLBACK (tuning_row_on_cancel), self);
  adw_expander_row_add_action (ADW_EXPANDER_ROW (self), self->bar);
  adw_expander_row_add_action (ADW_EXPANDER_ROW (self), self->start);
  adw_expander_row_add_action (ADW_EXPANDER_ROW (self), self->cancel);
  tuning_row_show_state (self);
}
