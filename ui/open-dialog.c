/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "open-dialog.h"

#include <glib/gi18n.h>
#include <string.h>

#include "file-row.h"
#include "number-row.h"
#include "ui.h"

struct _TdOpenDialog {
  AdwWindow parent_instance;
  GtkWidget *accept;
  GtkLabel *problem;
  TdFileRow *path, *flats, *darks, *angle_file, *geometry;
  AdwEntryRow *angles, *dataset, *raw;
  TdNumberRow *pixel, *source_axis, *source_detector;
  AdwComboRow *values;
  GtkSwitch *sinograms, *external;
};

G_DEFINE_FINAL_TYPE (TdOpenDialog, td_open_dialog, ADW_TYPE_WINDOW)

/* What the samples are, as statements have it, in the order of the choices. */
static const char *const value_kinds[] = { "", "intensities", "attenuations" };

static void
open_dialog_update (TdOpenDialog *self)
{
  gtk_widget_set_sensitive (self->accept, td_file_row_get_path (self->path) != NULL);
}

static void
open_dialog_on_chosen (TdFileRow *row, const char *path, TdOpenDialog *self)
{
  td_file_row_set_path (row, path);
  open_dialog_update (self);
}

/* A file of angles and a range are one statement: who chooses one drops the other. */
static void
on_angle_file (TdFileRow *row, const char *path, TdOpenDialog *self)
{
  td_file_row_set_path (row, path);
  if (path)
    gtk_editable_set_text (GTK_EDITABLE (self->angles), "");
}

static void
on_angles_changed (AdwEntryRow *row, TdOpenDialog *self)
{
  if (*gtk_editable_get_text (GTK_EDITABLE (row)))
    td_file_row_set_path (self->angle_file, NULL);
}

static void
take_text (TdScanStatement *statement, TdStated which, AdwEntryRow *row)
{
  td_scan_statement_set (statement, which, gtk_editable_get_text (GTK_EDITABLE (row)));
}

static void
open_dialog_accept (TdOpenDialog *self)
{
  g_autoptr (TdScanStatement) statement = td_scan_statement_new (td_file_row_get_path (self->path));

  if (!statement->path)
    return;
  td_scan_statement_set (statement, TD_STATED_FLATS, td_file_row_get_path (self->flats));
  td_scan_statement_set (statement, TD_STATED_DARKS, td_file_row_get_path (self->darks));
  td_scan_statement_set (statement, TD_STATED_GEOMETRY, td_file_row_get_path (self->geometry));
  take_text (statement, TD_STATED_ANGLES, self->angles);
  if (td_file_row_get_path (self->angle_file))
    td_scan_statement_set (statement, TD_STATED_ANGLES, td_file_row_get_path (self->angle_file));
  take_text (statement, TD_STATED_DATASET, self->dataset);
  take_text (statement, TD_STATED_RAW, self->raw);
  td_scan_statement_set (statement, TD_STATED_VALUES,
                         value_kinds[adw_combo_row_get_selected (self->values)]);
  statement->sinograms = gtk_switch_get_active (self->sinograms);
  statement->allow_external = gtk_switch_get_active (self->external);
  statement->pixel_mm = td_number_row_get_value (self->pixel);
  statement->source_axis_mm = td_number_row_get_value (self->source_axis);
  statement->source_detector_mm = td_number_row_get_value (self->source_detector);
  g_signal_emit_by_name (self, "accepted", statement);
  gtk_window_destroy (GTK_WINDOW (self));
}

/* ── Window ── */

static void
td_open_dialog_class_init (TdOpenDialogClass *class)
{
  td_ensure_types (TD_TYPE_FILE_ROW, TD_TYPE_NUMBER_ROW);
  td_close_on_escape (class);
  td_bind_template (class, TdOpenDialog, "/org/tomodesk/ui/open-dialog.ui", accept, problem, path,
                    flats, darks, angle_file, geometry, angles, dataset, raw, pixel, source_axis,
                    source_detector, values, sinograms, external);
  td_bind_callbacks (class, open_dialog_accept, open_dialog_on_chosen, on_angle_file,
                     on_angles_changed);
  td_signal_new (class, "accepted", 1, G_TYPE_POINTER);
}

static void
td_open_dialog_init (TdOpenDialog *self)
{
  static const char *const texts[] = { "*.txt", "*.csv", "*.dat", "*.angles", NULL };
  static const char *const geometries[]
      = { "*.json", "*.xml", "*.csv", "*.txt", "*.xtekct", "*.log", NULL };

  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  TdFileRow *const with_folders[] = { self->path, self->flats, self->darks };
  TdNumberRow *const lengths[] = { self->pixel, self->source_axis, self->source_detector };
  td_file_row_offer (self->path, _ ("A file of it, or its folder"), NULL);
  td_file_row_offer (self->flats, _ ("As found beside the scan"), NULL);
  td_file_row_offer (self->darks, _ ("As found beside the scan"), NULL);
  td_file_row_offer (self->angle_file, _ ("Degrees, one a line; as found beside the scan"), texts);
  td_file_row_offer (self->geometry, _ ("JSON, matrices or vectors, RTK, Nikon, SkyScan"),
                     geometries);
  for (guint i = 0; i < G_N_ELEMENTS (with_folders); i++)
    td_file_row_allow_folders (with_folders[i]);
  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++) {
    td_number_row_set_steps (lengths[i], 0.01, 0.1, 6);
    td_number_row_set_range (lengths[i], 0, 1e6);
  }
}

static void
open_dialog_fill (TdOpenDialog *self, const TdScanStatement *statement)
{
  const char *angles = statement->texts[TD_STATED_ANGLES];

  td_file_row_set_path (self->path, statement->path);
  td_file_row_set_path (self->flats, statement->texts[TD_STATED_FLATS]);
  td_file_row_set_path (self->darks, statement->texts[TD_STATED_DARKS]);
  td_file_row_set_path (self->geometry, statement->texts[TD_STATED_GEOMETRY]);
  if (g_path_is_absolute (angles)) /* else a range */
    td_file_row_set_path (self->angle_file, angles);
  else
    gtk_editable_set_text (GTK_EDITABLE (self->angles), angles);
  gtk_editable_set_text (GTK_EDITABLE (self->dataset), statement->texts[TD_STATED_DATASET]);
  gtk_editable_set_text (GTK_EDITABLE (self->raw), statement->texts[TD_STATED_RAW]);
  for (guint i = 0; i < G_N_ELEMENTS (value_kinds); i++)
    if (strcmp (value_kinds[i], statement->texts[TD_STATED_VALUES]) == 0)
      adw_combo_row_set_selected (self->values, i);
  gtk_switch_set_active (self->sinograms, statement->sinograms);
  td_number_row_set_value (self->pixel, statement->pixel_mm);
  td_number_row_set_value (self->source_axis, statement->source_axis_mm);
  td_number_row_set_value (self->source_detector, statement->source_detector_mm);
}

GtkWidget *
td_open_dialog_new (GtkWindow *parent, const TdScanStatement *statement, const char *problem)
{
  TdOpenDialog *self = g_object_new (TD_TYPE_OPEN_DIALOG, "transient-for", parent, NULL);

  if (statement)
    open_dialog_fill (self, statement);
  gtk_label_set_text (self->problem, problem ? problem : "");
  gtk_widget_set_visible (GTK_WIDGET (self->problem), problem != NULL);
  open_dialog_update (self);
  /* What is missing most often; and the return key opens, wherever the focus would have begun. */
  gtk_widget_grab_focus (GTK_WIDGET (self->angles));
  return GTK_WIDGET (self);
}

void
td_open_dialog_ask_flats (TdOpenDialog *self)
{
  gtk_widget_child_focus (GTK_WIDGET (self->flats), GTK_DIR_TAB_FORWARD);
}
