/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdTuningRow: looks for the fastest variants of the back-projection kernels on a device, off the
 * main thread. The row shows the progress, and what the search found beside what was used before.
 * Every job uses the variants from then on. The search runs only when a person asks: it takes
 * minutes on a graphics card.
 */
#define TD_TYPE_TUNING_ROW (td_tuning_row_get_type ())
G_DECLARE_FINAL_TYPE (TdTuningRow, td_tuning_row, TD, TUNING_ROW, AdwExpanderRow)

/* What the button tunes. @devices: as a recipe names them, of which the first is tuned, or "auto".
   @size: how many columns, views and pixels of the slice's width to measure with. 0: the usual. */
void td_tuning_row_set_device (TdTuningRow *self, const char *devices, guint size);
/* The button that begins; it is visible while nothing is tuned. */
GtkWidget *td_tuning_row_start_button (TdTuningRow *self);
