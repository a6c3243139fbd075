/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "error.h"
#include "hdf5-util.h"
#include "volume-private.h"

TdVolume *
td_volume_open (const char *path, GError **error)
{
  g_autoptr (TdVolume) volume = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "“%s” does not exist", path);
    return NULL;
  }
  volume
      = td_h5_probe (path) ? td_volume_open_hdf5 (path, error) : td_volume_open_tiff (path, error);
  if (!volume)
    return NULL;
  volume->facts.path = g_strdup (path);
  if (g_str_has_suffix (path, ".part"))
    volume->facts.complete = FALSE;
  return g_steal_pointer (&volume);
}

const TdVolumeFacts *
td_volume_facts (const TdVolume *volume)
{
  return &volume->facts;
}

gboolean
td_volume_read (TdVolume *volume, guint first, guint count, float *out, GError **error)
{
  const TdVolumeFacts *facts = &volume->facts;
  double largest = facts->bits == 16 ? 65535 : 255;

  if (first > facts->n_slices || count > facts->n_slices - first) {
    td_set_error (error, TD_ERROR_INVALID, "“%s” has %u slices; slices %u to %u were asked for",
                  facts->path, facts->n_slices, first, first + count);
    return FALSE;
  }
  if (count == 0)
    return TRUE;
  if (!volume->vtable->read (volume->source, first, count, out, error))
    return FALSE;
  if (facts->bits <= 16 && (facts->low != 0 || facts->high != largest)) {
    double gain = (facts->high - facts->low) / largest;

    for (gsize i = 0; i < (gsize) count * facts->nx * facts->ny; i++)
      out[i] = (float) (facts->low + gain * out[i]);
  }
  return TRUE;
}

void
td_volume_free (TdVolume *volume)
{
  if (!volume)
    return;
  if (volume->source)
    volume->vtable->free (volume->source);
  g_free (volume->facts.path);
  g_free (volume->facts.provenance_json);
  g_free (volume);
}
