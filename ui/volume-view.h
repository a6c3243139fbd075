/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "image-pane.h"
#include "job-item.h"
#include "volume-browser.h"

/**
 * TdVolumeView: shows the slices of a running job as they are finished, then the written volume by
 * planes across all axes. Slices are read off the main thread.
 */
#define TD_TYPE_VOLUME_VIEW (td_volume_view_get_type ())
G_DECLARE_FINAL_TYPE (TdVolumeView, td_volume_view, TD, VOLUME_VIEW, AdwBin)

void td_volume_view_show_job (TdVolumeView *self, TdJobItem *item); /* NULL: empty */
TdJobItem *td_volume_view_get_job (TdVolumeView *self);             /* (transfer none) (nullable) */
void td_volume_view_set_colour_map (TdVolumeView *self, const char *name);
