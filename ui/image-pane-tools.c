/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "image-pane-private.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "picture-save.h"

/* ── A profile along the row under the pointer ── */

static void
update_profile (TdImagePane *self)
{
  TdImage *image = td_slice_view_get_image (self->view);
  const double row = isfinite (self->row) ? self->row : image ? (image->extent_height - 1) / 2 : 0;

  if (gtk_widget_get_visible (GTK_WIDGET (self->profile)))
    td_profile_show (self->profile, image, td_slice_view_get_view (self->view, NULL), round (row),
                     self->pointed ? self->column : NAN);
}

static void
on_profile (GSimpleAction *action, GVariant *state, gpointer user)
{
  TdImagePane *self = user;

  g_simple_action_set_state (action, state);
  gtk_widget_set_visible (GTK_WIDGET (self->profile), g_variant_get_boolean (state));
  update_profile (self);
}

/* ── Statistics of a box ── */

static char *
statistics_text (const TdImageStatistics *s, const char *units, double width, double height)
{
  g_autofree char *bad = g_strdup_printf ("%" G_GUINT64_FORMAT, s->n_bad);
  g_autoptr (GString) text = g_string_new (NULL);

  /* σ: the standard deviation. */
  g_string_append_printf (text, _ ("mean %.5g  σ %.3g  %.5g … %.5g %s (%.0f × %.0f)"), s->mean,
                          s->deviation, s->minimum, s->maximum, units, width, height);
  if (s->n_bad)
    g_string_append_printf (text, _ (", %s not finite"), bad);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
update_statistics (TdImagePane *self)
{
  const double *box = self->measured;
  TdImage *image = td_slice_view_get_image (self->view);
  TdImageStatistics statistics;
  g_autofree char *text = NULL;

  if (box[2] > 0 && image
      && td_image_statistics (image, box[0], box[1], box[2], box[3], &statistics))
    text = statistics_text (&statistics, self->units, box[2], box[3]);
  gtk_label_set_text (self->statistics, text ? text : "");
  gtk_widget_set_visible (GTK_WIDGET (self->statistics), text != NULL);
}

void
td_image_pane_set_units (TdImagePane *self, const char *units)
{
  if (strcmp (units, self->units) == 0)
    return;
  g_strlcpy (self->units, units, sizeof self->units);
  td_histogram_set_units (self->histogram, units);
  td_profile_set_units (self->profile, units);
  update_statistics (self);
}

void
td_image_pane_measure (TdImagePane *self, const double box[4])
{
  memcpy (self->measured, box, sizeof self->measured);
  update_statistics (self);
}

/* ── Saving ── */

static void
on_save (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdImagePane *self = user;
  TdImage *image = td_slice_view_get_image (self->view);
  g_autofree char *name = g_utf8_strdown (gtk_label_get_text (self->title), -1);

  if (image)
    td_picture_save_ask (GTK_WIDGET (self), image, td_slice_view_get_style (self->view), name);
}

/* ── Both ── */

void
td_image_pane_update_tools (TdImagePane *self)
{
  update_profile (self);
}

void
td_image_pane_picture_changed (TdImagePane *self)
{
  GAction *save = g_action_map_lookup_action (G_ACTION_MAP (self->actions), "save");

  g_simple_action_set_enabled (G_SIMPLE_ACTION (save),
                               td_slice_view_get_image (self->view) != NULL);
  update_profile (self);
  update_statistics (self);
}

void
td_image_pane_add_tools (TdImagePane *self)
{
  static const GActionEntry entries[] = {
    { .name = "profile", .state = "false", .change_state = on_profile },
    { .name = "save", .activate = on_save },
  };

  g_action_map_add_action_entries (G_ACTION_MAP (self->actions), entries, G_N_ELEMENTS (entries),
                                   self);
}
