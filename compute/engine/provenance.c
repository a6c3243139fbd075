/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provenance.h"

#include <math.h>

#include "dataset/json-walk.h"
#include "dataset/volume.h"

#define MOST_NOTES 100 /* a stranger's file may have a million */

/* The scan as it was called; else beside the volume, by that path or by its name alone. */
static char *
find_scan (const char *scan, const char *volume)
{
  g_autofree char *folder = g_path_get_dirname (volume);
  g_autofree char *name = g_path_get_basename (scan);
  const char *const named[] = { scan, name };

  if (g_path_is_absolute (scan) && g_file_test (scan, G_FILE_TEST_EXISTS))
    return g_strdup (scan);
  for (guint i = 0; i < G_N_ELEMENTS (named); i++) {
    char *beside = g_build_filename (folder, named[i], NULL);
    if (g_file_test (beside, G_FILE_TEST_EXISTS))
      return beside;
    g_free (beside);
  }
  return g_strdup (scan);
}

static TdProvenance *
provenance_parse (const char *volume, const TdVolumeFacts *facts)
{
  g_autoptr (JsonNode) root = td_json_parse (facts->provenance_json);
  JsonNode *recipe = td_json_at (root, "recipe");
  const char *path = td_json_string (root, "scan/path");
  g_autoptr (TdProvenance) self = g_new0 (TdProvenance, 1);

  if (!path || !recipe || g_strcmp0 (td_json_string (root, "program"), "Tomodesk") != 0)
    return NULL;
  g_autofree char *text = td_json_text (recipe, FALSE);
  if (!td_recipe_from_json (&self->recipe, text, NULL))
    return NULL;
  self->volume = g_strdup (volume);
  self->scan = find_scan (path, volume);
  self->units = g_strdup (td_json_string (root, "units"));
  self->nx = facts->nx;
  self->ny = facts->ny;
  self->n_slices = facts->n_slices;
  self->pixel_mm = facts->voxel_mm;
  self->seconds = fmax (td_json_number (root, "seconds"), 0); /* none is 0, too */
  self->axis_searched = td_json_at (root, "axis") != NULL;
  self->axis_agreed = td_json_true (root, "axis/agreed");
  self->axis_sigma_px = td_json_number (root, "axis/sigma_px");
  g_auto (GStrv) notes = td_json_strings (root, "notes");
  for (guint i = 0; notes && notes[i] && i < MOST_NOTES; i++)
    td_messages_add (&self->notes, td_message_quoted (notes[i], ""));
  return g_steal_pointer (&self);
}

TdProvenance *
td_provenance_read (const char *path)
{
  g_autofree char *own = td_volume_whole (path);
  const gboolean is_file = g_file_test (own, G_FILE_TEST_IS_REGULAR); /* nothing waits for a pipe */
  g_autoptr (TdVolume) volume
      = is_file || g_file_test (own, G_FILE_TEST_IS_DIR) ? td_volume_open (own, NULL) : NULL;

  if (!volume || !td_volume_facts (volume)->provenance_json)
    return NULL;
  return provenance_parse (own, td_volume_facts (volume));
}

void
td_provenance_free (TdProvenance *self)
{
  if (!self)
    return;
  g_free (self->volume);
  g_free (self->scan);
  g_free (self->units);
  td_messages_free (self->notes);
  g_free (self);
}
