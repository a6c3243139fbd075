/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Says a line of figures. The lines that this test had when somebody last looked,
   tests/pins/PROGRAM, must come in their order; others may stand between them. Whole numbers and
   words are the same. Others differ by a thousandth, or by one and a half of their last digit.
   Nothing is compared with -m slow, after a skip, or on computers with a graphics card. With
   TOMODESK_PINS_NEW=FILE nothing is compared, and all lines go to the end of that file. One thread.
 */
void td_test_pin (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* The same of @n values: how many are finite, their size, their mean, and a sum in which each place
   has another weight. */
void td_test_pin_values (const char *what, const float *values, gsize n);
/* The same of a refusal: its sentence tells numbers, and what they are of. The name of a device,
   which is another one elsewhere, is left out. */
void td_test_pin_refused (const GError *error);
/* The same of all lines that there are at a place of a window. Others may stand between only where
   "…" is kept. The word "#" stands for any. "… N SUM" stands for N lines with that checksum, which
   another place shows, too. NULL if they are as they were, else what is wrong. Whoever asks may
   look again. (transfer full) */
char *td_test_pins_wrong (const char *place, char **lines);
/* There is something to compare with at that place. */
gboolean td_test_pins_are_kept (const char *place);
/* Paths in the temporary folder, which is another one each time, go from @line. What is cut to a
   length is rid of them first. */
void td_test_leave_out_folders (char *line);
