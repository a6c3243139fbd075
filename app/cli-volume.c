/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-volume.h"

#include <math.h>

void
td_cli_volume_print (const TdVolumeFacts *facts)
{
  const guint64 voxels = (guint64) facts->nx * facts->ny * facts->n_slices;
  g_autofree char *size = g_format_size (voxels * td_sample_size (facts->type));
  td_cli_print ("%s\n", facts->path);
  td_cli_print ("  format       %s%s%s\n", facts->format, facts->dataset ? ", data set " : "",
                facts->dataset ? facts->dataset : "");
  td_cli_print ("  slices       %u of %u × %u pixels, %s, %s\n", facts->n_slices, facts->nx,
                facts->ny, td_sample_name (facts->type), size);
  if (facts->voxel_mm > 0)
    td_cli_print ("  voxel        %g mm\n", facts->voxel_mm);
  else
    td_cli_print ("  voxel        size unknown (--pixel-mm)\n");
  if (facts->units)
    td_cli_print ("  values       %s\n", facts->units);
  if (facts->bits <= 16 && facts->units)
    td_cli_print ("  scaled       %g … %g\n", facts->low, facts->high);
  td_cli_print ("  provenance   %s\n", facts->provenance_json ? "inside" : "none");
  td_cli_print_notes ("  note         ", facts->notes);
}

void
td_cli_volume_add (JsonBuilder *builder, const TdVolumeFacts *facts)
{
  td_json_add_string (builder, "path", facts->path);
  td_json_add_string (builder, "format", facts->format);
  td_json_add_string (builder, "dataset", facts->dataset);
  td_json_add_integer (builder, "nx", facts->nx);
  td_json_add_integer (builder, "ny", facts->ny);
  td_json_add_integer (builder, "slices", facts->n_slices);
  td_json_add_string (builder, "sample_type", td_sample_name (facts->type));
  td_json_add_number (builder, "voxel_mm", facts->voxel_mm > 0 ? facts->voxel_mm : NAN);
  td_json_add_string (builder, "units", facts->units);
  td_json_add_boolean (builder, "complete", facts->complete);
  td_json_add_boolean (builder, "provenance", facts->provenance_json != NULL);
  td_json_add_notes (builder, facts->notes);
}

int
td_cli_volume_info (const char *path, const TdScanOptions *options, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open_stated (path, options, &error);

  if (!volume)
    return td_cli_fail (error);
  if (!json) {
    td_cli_volume_print (td_volume_facts (volume));
    return TD_CLI_DONE;
  }
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  td_cli_volume_add (builder, td_volume_facts (volume));
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}
