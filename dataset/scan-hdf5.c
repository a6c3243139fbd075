/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-hdf5.h"

#include <math.h>

#include "error.h"

static gboolean
hdf5_read (gpointer source, TdFrameKind kind, guint first, guint count, guint row0, guint n_rows,
           float *out, GCancellable *cancellable, GError **error)
{
  TdH5Source *own = source;
  const guint *indices = own->indices[kind] ? own->indices[kind] + first : NULL;

  return td_h5_frames_read (own->frames[kind], indices, first, count, row0, n_rows, out,
                            cancellable, error);
}

static void
hdf5_free (gpointer source)
{
  TdH5Source *own = source;

  for (guint i = 0; i < G_N_ELEMENTS (own->frames); i++) {
    TdH5Frames *frames = own->frames[i];

    for (guint j = i; j < G_N_ELEMENTS (own->frames); j++)
      if (own->frames[j] == frames)
        own->frames[j] = NULL;
    g_clear_pointer (&frames, td_h5_frames_free);
    g_free (own->indices[i]);
  }
  g_free (own);
}

static const TdScanSource hdf5_vtable = { .read = hdf5_read, .free = hdf5_free };

TdScan *
td_h5_scan_new (const char *path, TdH5Source **source)
{
  *source = g_new0 (TdH5Source, 1);
  return td_scan_alloc (path, &hdf5_vtable, *source);
}

void
td_h5_scan_take_size (TdScan *scan, TdH5Frames *frames)
{
  scan->facts.n_rows = td_h5_frames_rows (frames);
  scan->facts.n_columns = td_h5_frames_columns (frames);
  scan->facts.sample_type = td_h5_frames_type (frames);
}

char *
td_h5_label (const char *file, const char *path)
{
  return g_strdup_printf ("“%s”: the data set “%s”", file, path);
}

double *
td_h5_read_angles (hid_t dataset, const char *label, gsize *n, TdScan *scan, GError **error)
{
  TD_H5_GUARD;
  g_autofree double *angles = td_h5_numbers (dataset, label, n, error);
  double unit;

  if (!angles)
    return NULL;
  unit = td_h5_angle_unit (dataset);
  if (unit == 0) {
    g_autofree char *name = td_h5_units (dataset);

    td_scan_note (scan, "The unit “%.20s” of %s is not known; degrees were taken.", name, label);
    unit = G_PI / 180;
  }
  for (gsize i = 0; i < *n; i++)
    angles[i] *= unit;
  return g_steal_pointer (&angles);
}
