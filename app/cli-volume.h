/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "dataset/volume.h"

/* What a volume is, for people and as members of a JSON object. */
void td_cli_volume_print (const TdVolumeFacts *facts);
void td_cli_volume_add (JsonBuilder *builder, const TdVolumeFacts *facts);
/* Both ways out of "info --volume". Exit status. */
int td_cli_volume_info (const char *path, const TdScanOptions *options, gboolean json);
