/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-editor.h"

#include <glib/gi18n.h>
#include <string.h>

#include "compute/parallel/backproject.h"
#include "compute/recipe/field.h"
#include "device-catalog.h"
#include "labels.h"
#include "method-choices.h"
#include "ui.h"

/* The options with a chooser; any others are typed. */
static const char *const options[]
    = { "method", "kernel", "interpolation", "precision", "filter", "device" };
enum { N_OPTIONS = G_N_ELEMENTS (options) };

struct _TdLabEditor {
  GtkPopover parent_instance;
  GtkGrid *form;
  GtkLabel *problem;
  GtkEntry *name, *others;
  GtkDropDown *choices[N_OPTIONS];
  GStrv values[N_OPTIONS]; /* of a chooser's lines; the first is "": as the recipe */
};

G_DEFINE_FINAL_TYPE (TdLabEditor, td_lab_editor, GTK_TYPE_POPOVER)

/* ── Choosers ── */

static void
lab_editor_add_value (GStrvBuilder *values, GtkStringList *labels, const char *value,
                      const char *label)
{
  g_strv_builder_add (values, value);
  gtk_string_list_append (labels, label);
}

static void
lab_editor_add_kernels (GStrvBuilder *values, GtkStringList *labels)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  lab_editor_add_value (values, labels, "auto", td_choice_text (TD_CHOICE_KERNEL, 0, FALSE));
  for (guint i = 0; families[i]; i++)
    lab_editor_add_value (values, labels, families[i]->name,
                          td_choice_text (TD_CHOICE_KERNEL, i + 1, FALSE));
}

static void
lab_editor_add_devices (GStrvBuilder *values, GtkStringList *labels)
{
  GPtrArray *entries = td_device_catalog_entries (td_device_catalog_default ());

  lab_editor_add_value (values, labels, "auto", _ ("Automatic"));
  for (guint i = 0; entries && i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    g_autofree char *label = g_strdup_printf ("%s (%s)", entry->name, entry->id);
    if (entry->available)
      lab_editor_add_value (values, labels, entry->id, label);
  }
}

/* A list as long as what can be chosen now. */
static void
lab_editor_fill (TdLabEditor *self, guint i)
{
  g_autoptr (GStrvBuilder) values = g_strv_builder_new ();
  g_autoptr (GtkStringList) labels = gtk_string_list_new (NULL);
  const TdField *field = td_recipe_field (options[i]);

  lab_editor_add_value (values, labels, "", _ ("As the recipe"));
  if (g_str_equal (options[i], "kernel"))
    lab_editor_add_kernels (values, labels);
  else if (g_str_equal (options[i], "device"))
    lab_editor_add_devices (values, labels);
  else
    for (guint k = 0; field->names[k]; k++)
      lab_editor_add_value (values, labels, field->names[k], _ (field->labels[k]));
  g_strfreev (self->values[i]);
  self->values[i] = g_strv_builder_end (values);
  gtk_drop_down_set_model (self->choices[i], G_LIST_MODEL (labels));
  gtk_drop_down_set_selected (self->choices[i], 0);
}

/* ── Options ── */

/* FALSE: there is no such line. */
static gboolean
lab_editor_choose (TdLabEditor *self, const char *option, const char *value)
{
  for (guint i = 0; i < N_OPTIONS; i++)
    for (guint k = 0; g_str_equal (options[i], option) && self->values[i][k]; k++)
      if (g_str_equal (self->values[i][k], value)) {
        gtk_drop_down_set_selected (self->choices[i], k);
        return TRUE;
      }
  return FALSE;
}

/* What has a chooser goes there, the rest is shown as it was written. */
static void
lab_editor_read (TdLabEditor *self, const char *text)
{
  g_auto (GStrv) words = NULL;
  GString *others = g_string_new (NULL);

  g_shell_parse_argv (text, NULL, &words, NULL);
  for (guint i = 0; words && words[i]; i++) {
    const char *option = g_str_has_prefix (words[i], "--") ? words[i] + 2 : words[i];
    const char *equals = strchr (option, '=');
    g_autofree char *name
        = equals ? g_strndup (option, (gsize) (equals - option)) : g_strdup (option);
    const char *value = equals ? equals + 1 : words[i + 1];
    if (value && lab_editor_choose (self, name, value)) {
      i += !equals;
      continue;
    }
    g_autofree char *quoted
        = strpbrk (words[i], " '\"\\") ? g_shell_quote (words[i]) : g_strdup (words[i]);
    g_string_append_printf (others, "%s%s", others->len ? " " : "", quoted);
  }
  gtk_editable_set_text (GTK_EDITABLE (self->others), others->str);
  g_string_free (others, TRUE);
}

static char *
lab_editor_text (TdLabEditor *self)
{
  GString *text = g_string_new (NULL);
  g_autofree char *name = g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->name))));
  const char *others = gtk_editable_get_text (GTK_EDITABLE (self->others));

  if (*name)
    g_string_append_printf (text, "%s: ", g_strdelimit (name, ":", ' '));
  for (guint i = 0; i < N_OPTIONS; i++) {
    const char *value = self->values[i][gtk_drop_down_get_selected (self->choices[i])];
    if (*value)
      g_string_append_printf (text, "--%s %s ", options[i], value);
  }
  g_string_append (text, others);
  return g_string_free (text, FALSE);
}

static void
lab_editor_apply (TdLabEditor *self)
{
  g_autofree char *text = lab_editor_text (self);

  g_signal_emit_by_name (self, "applied", text);
}

/* ── Interface ── */

void
td_lab_editor_show (TdLabEditor *self, const TdLabVariant *variant)
{
  for (guint i = 0; i < N_OPTIONS; i++)
    lab_editor_fill (self, i);
  const gboolean named = variant && td_label_variant_is_named (variant);
  gtk_editable_set_text (GTK_EDITABLE (self->name), named ? variant->name : "");
  lab_editor_read (self, variant ? variant->options : "");
  td_lab_editor_set_problem (self, "");
  gtk_popover_popup (GTK_POPOVER (self));
}

void
td_lab_editor_set_problem (TdLabEditor *self, const char *problem)
{
  gtk_label_set_text (self->problem, problem ? problem : "");
  gtk_widget_set_visible (GTK_WIDGET (self->problem), problem && *problem);
  if (!problem)
    gtk_popover_popdown (GTK_POPOVER (self));
}

static void
lab_editor_add_line (TdLabEditor *self, int line, const char *label, GtkWidget *widget)
{
  GtkWidget *text = td_label_new (label, NULL);

  gtk_label_set_mnemonic_widget (GTK_LABEL (text), widget);
  td_set_spoken_name (widget, label);
  gtk_widget_set_hexpand (widget, TRUE);
  gtk_grid_attach (self->form, text, 0, line, 1, 1);
  gtk_grid_attach (self->form, widget, 1, line, 1, 1);
}

TD_FINALIZE (TdLabEditor, td_lab_editor)
{
  for (guint i = 0; i < N_OPTIONS; i++)
    g_strfreev (self->values[i]);
}

static void
td_lab_editor_class_init (TdLabEditorClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_lab_editor_finalize;
  td_bind_template (class, TdLabEditor, "/org/tomodesk/ui/lab-editor.ui", form, problem);
  td_bind_callbacks (class, lab_editor_apply);
  td_signal_new (class, "applied", 1, G_TYPE_STRING);
}

static void
td_lab_editor_init (TdLabEditor *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->name = GTK_ENTRY (gtk_entry_new ());
  self->others = GTK_ENTRY (gtk_entry_new ());
  gtk_entry_set_placeholder_text (self->name, _ ("the options"));
  gtk_entry_set_placeholder_text (self->others, "--cutoff 0.5");
  gtk_editable_set_width_chars (GTK_EDITABLE (self->others), 30);
  lab_editor_add_line (self, 0, _ ("Name"), GTK_WIDGET (self->name));
  for (guint i = 0; i < N_OPTIONS; i++) {
    self->choices[i] = GTK_DROP_DOWN (gtk_drop_down_new (NULL, NULL));
    lab_editor_add_line (self, (int) i + 1, _ (td_recipe_field (options[i])->label),
                         GTK_WIDGET (self->choices[i]));
  }
  lab_editor_add_line (self, N_OPTIONS + 1, _ ("Other options"), GTK_WIDGET (self->others));
  g_signal_connect_swapped (self->others, "activate", G_CALLBACK (lab_editor_apply), self);
  g_signal_connect_swapped (self->name, "activate", G_CALLBACK (lab_editor_apply), self);
}
