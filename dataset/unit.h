/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Units by the names that files give them, in letters of any case; 0: there is no such unit. */

double td_length_unit (const char *name); /* in millimetres */
double td_energy_unit (const char *name); /* in keV */
/* In radians. @in_text: a word of a text, where a "turn" or a revision is none. */
double td_angle_unit (const char *name, gboolean in_text);

/* Memory in KiB, MiB, … as limits of it are stated; what lies on disks is told by g_format_size().
   (transfer full) */
char *td_memory_text (guint64 bytes);
