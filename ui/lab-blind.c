/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-blind.h"

#include <glib/gi18n.h>

#include "compute/lab/lab-abx.h"
#include "ui.h"

struct _TdLabBlind {
  AdwBin parent_instance;
  GtkWidget *test;
  GtkLabel *words, *score;
  GtkToggleButton *show_a, *show_b, *show_x;
  GtkButton *is_a, *is_b, *begin;
  TdLabAbx abx;
  gboolean running;
};

G_DEFINE_FINAL_TYPE (TdLabBlind, td_lab_blind, ADW_TYPE_BIN)

const char *
td_lab_blind_title (TdLabBlind *self)
{
  return gtk_toggle_button_get_active (self->show_a)   ? "A"
         : gtk_toggle_button_get_active (self->show_b) ? "B"
                                                       : "X";
}

static void
lab_blind_show (TdLabBlind *self)
{
  const char *title = td_lab_blind_title (self);

  if (self->running)
    g_signal_emit_by_name (self, "shown",
                           *title == 'A'   ? 0
                           : *title == 'B' ? 1
                                           : (int) self->abx.x_is_b);
}

static void
lab_blind_on_show (GtkToggleButton *button, TdLabBlind *self)
{
  if (gtk_toggle_button_get_active (button))
    lab_blind_show (self);
}

static void
lab_blind_show_score (TdLabBlind *self)
{
  const TdLabAbx *abx = &self->abx;
  const double p = td_lab_abx_p_value (abx->right, abx->trials);
  g_autofree char *text = NULL;

  if (abx->trials == 0) {
    gtk_label_set_text (self->score, "");
    return;
  }
  text = g_strdup_printf (
      td_lab_abx_is_shown (abx)
          ? _ ("%u of %u right: by guessing that happens with p = %.3g. You can tell them "
               "apart.")
      : p < 0.05
          ? _ ("%u of %u right: by guessing that happens with p = %.3g. Go on: with a look at p "
               "after each trial, this is not enough.")
          : _ ("%u of %u right: by guessing that happens with p = %.3g. No difference was "
               "shown (yet)."),
      abx->right, abx->trials, p);
  gtk_label_set_text (self->score, text);
}

static void
lab_blind_on_answer (GtkButton *button, TdLabBlind *self)
{
  td_lab_abx_answer (&self->abx, button == self->is_b);
  lab_blind_show_score (self);
  gtk_toggle_button_set_active (self->show_x, TRUE);
  lab_blind_show (self);
}

static void
lab_blind_on_begin (GtkButton *button, TdLabBlind *self)
{
  if (self->running)
    td_lab_blind_end (self);
  else
    g_signal_emit_by_name (self, "begin-requested");
}

static void
lab_blind_invite (TdLabBlind *self)
{
  gtk_label_set_text (self->words, _ ("Can you tell A and B apart? X is one of the two. Look at A, "
                                      "B and X as often as you like, then say which X is."));
}

static void
lab_blind_set_running (TdLabBlind *self, gboolean running)
{
  self->running = running;
  gtk_widget_set_visible (self->test, running);
  gtk_button_set_label (self->begin, running ? _ ("_End the Test") : _ ("_Begin the Blind Test"));
}

void
td_lab_blind_begin (TdLabBlind *self, const char *a, const char *b)
{
  td_lab_abx_begin (&self->abx, (guint64) g_get_real_time ());
  g_autofree char *text
      = g_strdup_printf (_ ("A is “%s”, B is “%s”. Which of the two is X?"), a, b);
  gtk_label_set_text (self->words, text);
  lab_blind_set_running (self, TRUE);
  lab_blind_show_score (self);
  gtk_toggle_button_set_active (self->show_x, TRUE);
  gtk_widget_grab_focus (GTK_WIDGET (self->show_x)); /* the button that began would end it */
  lab_blind_show (self);
}

void
td_lab_blind_say (TdLabBlind *self, const char *why_not)
{
  gtk_label_set_text (self->words, why_not);
}

void
td_lab_blind_end (TdLabBlind *self)
{
  if (!self->running)
    return;
  lab_blind_set_running (self, FALSE);
  lab_blind_invite (self);
  g_signal_emit_by_name (self, "shown", -1);
}

static void
td_lab_blind_class_init (TdLabBlindClass *class)
{
  td_bind_template (class, TdLabBlind, "/org/tomodesk/ui/lab-blind.ui", test, words, score, show_a,
                    show_b, show_x, is_a, is_b, begin);
  td_bind_callbacks (class, lab_blind_on_show, lab_blind_on_answer, lab_blind_on_begin);
  td_signal_new (class, "begin-requested", 0);
  td_signal_new (class, "shown", 1, G_TYPE_INT);
}

static void
td_lab_blind_init (TdLabBlind *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  lab_blind_invite (self);
}
