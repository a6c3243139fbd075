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

enum { ACCEPTED, N_SIGNALS };
static guint signals[N_SIGNALS];

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
  g_signal_emit (self, signals[ACCEPTED], 0, statement);
  gtk_window_destroy (GTK_WINDOW (self));
}

/* ── Rows ── */

static AdwPreferencesGroup *
add_group (AdwPreferencesPage *page, const char *title, const char *description)
{
  AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP (adw_preferences_group_new ());

  adw_preferences_group_set_title (group, title);
  adw_preferences_group_set_description (group, description);
  adw_preferences_page_add (page, group);
  return group;
}

static TdFileRow *
open_dialog_add_file (TdOpenDialog *self, AdwPreferencesGroup *group, const char *title,
                      const char *none, const char *const *patterns, gboolean folders)
{
  GtkWidget *row = td_file_row_new (title, none, patterns);

  if (folders)
    td_file_row_allow_folders (TD_FILE_ROW (row));
  g_signal_connect (row, "chosen", G_CALLBACK (open_dialog_on_chosen), self);
  adw_preferences_group_add (group, row);
  return TD_FILE_ROW (row);
}

static AdwEntryRow *
open_dialog_add_entry (AdwPreferencesGroup *group, const char *title)
{
  GtkWidget *row = g_object_new (ADW_TYPE_ENTRY_ROW, "title", title, "tooltip-text", title,
                                 "activates-default", TRUE, NULL);

  adw_preferences_group_add (group, row);
  return ADW_ENTRY_ROW (row);
}

static TdNumberRow *
add_length (AdwPreferencesGroup *group, const char *title)
{
  GtkWidget *row = td_number_row_new (title, _ ("0: what the files say"), 0, 1e6, 0.01, 6);

  adw_preferences_group_add (group, row);
  return TD_NUMBER_ROW (row);
}

static void
add_scan_rows (TdOpenDialog *self, AdwPreferencesPage *page)
{
  static const char *const texts[] = { "*.txt", "*.csv", "*.dat", "*.angles", NULL };
  AdwPreferencesGroup *group;

  self->problem = GTK_LABEL (gtk_label_new (NULL));
  gtk_label_set_wrap (self->problem, TRUE);
  gtk_label_set_xalign (self->problem, 0);
  gtk_widget_add_css_class (GTK_WIDGET (self->problem), "error");
  adw_preferences_group_add (add_group (page, "", NULL), GTK_WIDGET (self->problem));
  group = add_group (page, "", NULL);
  self->path = open_dialog_add_file (self, group, _ ("Scan"), _ ("A file of it, or its folder"),
                                     NULL, TRUE);
  self->flats
      = open_dialog_add_file (self, group, _ ("Flats"), _ ("As found beside the scan"), NULL, TRUE);
  self->darks
      = open_dialog_add_file (self, group, _ ("Darks"), _ ("As found beside the scan"), NULL, TRUE);
  self->angles = open_dialog_add_entry (group, _ ("First and last angle (°), for example 0:180"));
  self->angle_file = TD_FILE_ROW (td_file_row_new (
      _ ("File of angles"), _ ("Degrees, one a line; as found beside the scan"), texts));
  g_signal_connect (self->angle_file, "chosen", G_CALLBACK (on_angle_file), self);
  g_signal_connect (self->angles, "changed", G_CALLBACK (on_angles_changed), self);
  adw_preferences_group_add (group, GTK_WIDGET (self->angle_file));
}

static void
add_geometry_rows (TdOpenDialog *self, AdwPreferencesPage *page)
{
  static const char *const geometries[]
      = { "*.json", "*.xml", "*.csv", "*.txt", "*.xtekct", "*.log", NULL };
  AdwPreferencesGroup *group
      = add_group (page, _ ("Geometry"), _ ("With both distances it is a cone or fan beam"));

  self->geometry = open_dialog_add_file (self, group, _ ("Geometry file"),
                                         _ ("JSON, matrices or vectors, RTK, Nikon, SkyScan"),
                                         geometries, FALSE);
  self->pixel = add_length (group, _ ("Detector pixel (mm)"));
  self->source_axis = add_length (group, _ ("Source to axis (mm)"));
  self->source_detector = add_length (group, _ ("Source to detector (mm)"));
}

static void
open_dialog_add_values (TdOpenDialog *self, AdwPreferencesGroup *group)
{
  g_autoptr (GtkStringList) kinds = gtk_string_list_new (
      (const char *[]) { _ ("As they look"), _ ("Intensities"), _ ("Attenuations (−log)"), NULL });

  self->values
      = g_object_new (ADW_TYPE_COMBO_ROW, "title", _ ("Samples are"), "model", kinds, NULL);
  adw_preferences_group_add (group, GTK_WIDGET (self->values));
}

static GtkSwitch *
open_dialog_add_switch (AdwPreferencesGroup *group, const char *title, const char *subtitle)
{
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "title", title, "subtitle", subtitle, NULL);
  GtkWidget *widget = gtk_switch_new ();

  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                  -1);
  gtk_widget_set_valign (widget, GTK_ALIGN_CENTER);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), widget);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), widget);
  adw_preferences_group_add (group, row);
  return GTK_SWITCH (widget);
}

static void
add_layout_rows (TdOpenDialog *self, AdwPreferencesPage *page)
{
  AdwPreferencesGroup *group = add_group (page, _ ("Files"), NULL);

  open_dialog_add_values (self, group);
  self->dataset = open_dialog_add_entry (group, _ ("HDF5: data set of the projections"));
  self->raw = open_dialog_add_entry (group, _ ("No header: WIDTHxHEIGHT:TYPE, as 1024x768:uint16"));
  self->sinograms = open_dialog_add_switch (group, _ ("Sinograms"),
                                            _ ("Every file or page is one row’s sinogram"));
  self->external = open_dialog_add_switch (
      group, _ ("Raw files elsewhere"), _ ("HDF5 may take samples from outside the file’s folder"));
}

static GtkWidget *
new_header (TdOpenDialog *self)
{
  GtkWidget *header = adw_header_bar_new (), *cancel = gtk_button_new_with_mnemonic (_ ("_Cancel"));

  self->accept = gtk_button_new_with_mnemonic (_ ("_Open"));
  gtk_widget_add_css_class (self->accept, "suggested-action");
  g_signal_connect_swapped (cancel, "clicked", G_CALLBACK (gtk_window_close), self);
  g_signal_connect_swapped (self->accept, "clicked", G_CALLBACK (open_dialog_accept), self);
  adw_header_bar_set_show_start_title_buttons (ADW_HEADER_BAR (header), FALSE);
  adw_header_bar_set_show_end_title_buttons (ADW_HEADER_BAR (header), FALSE);
  adw_header_bar_pack_start (ADW_HEADER_BAR (header), cancel);
  adw_header_bar_pack_end (ADW_HEADER_BAR (header), self->accept);
  return header;
}

/* ── Window ── */

static void
td_open_dialog_class_init (TdOpenDialogClass *class)
{
  gtk_widget_class_add_binding_action (GTK_WIDGET_CLASS (class), GDK_KEY_Escape, 0, "window.close",
                                       NULL);
  signals[ACCEPTED] = td_signal_new (TD_TYPE_OPEN_DIALOG, "accepted", 1, G_TYPE_POINTER);
}

static void
td_open_dialog_init (TdOpenDialog *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  AdwPreferencesPage *page = ADW_PREFERENCES_PAGE (adw_preferences_page_new ());

  gtk_window_set_title (GTK_WINDOW (self), _ ("Open with Details"));
  gtk_window_set_default_size (GTK_WINDOW (self), 560, 680);
  td_size_for_text (GTK_WINDOW (self));
  gtk_window_set_modal (GTK_WINDOW (self), TRUE);
  gtk_box_append (GTK_BOX (box), new_header (self));
  add_scan_rows (self, page);
  add_geometry_rows (self, page);
  add_layout_rows (self, page);
  gtk_widget_set_vexpand (GTK_WIDGET (page), TRUE);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (page));
  adw_window_set_content (ADW_WINDOW (self), box);
  gtk_window_set_default_widget (GTK_WINDOW (self), self->accept);
}

static void
open_dialog_fill (TdOpenDialog *self, const TdScanStatement *statement)
{
  const char *angles = statement->texts[TD_STATED_ANGLES];

  td_file_row_set_path (self->path, statement->path);
  td_file_row_set_path (self->flats, statement->texts[TD_STATED_FLATS]);
  td_file_row_set_path (self->darks, statement->texts[TD_STATED_DARKS]);
  td_file_row_set_path (self->geometry, statement->texts[TD_STATED_GEOMETRY]);
  if (g_file_test (angles, G_FILE_TEST_IS_REGULAR))
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
