/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Lets a number be typed or pasted with a point or a comma, whatever the locale writes: "190.75"
   must not become 19075. What is no number leaves the value as it was. */
void td_accept_decimals (GtkSpinButton *spin);
