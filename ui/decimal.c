/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decimal.h"

#include <math.h>

static int
on_input (GtkSpinButton *spin, double *value, gpointer user)
{
  g_autoptr (GString) text = g_string_new (gtk_editable_get_text (GTK_EDITABLE (spin)));
  char *end;

  g_string_replace (text, ",", ".", 0);
  g_string_replace (text, "−", "-", 0);
  g_strstrip (text->str);
  *value = g_ascii_strtod (text->str, &end);
  if (end == text->str || *end || !isfinite (*value))
    *value = gtk_spin_button_get_value (spin);
  return TRUE;
}

void
td_accept_decimals (GtkSpinButton *spin)
{
  /* Else the locale's other sign is dropped while it is typed. */
  gtk_spin_button_set_numeric (spin, FALSE);
  g_signal_connect (spin, "input", G_CALLBACK (on_input), NULL);
}
