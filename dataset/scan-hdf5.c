/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-hdf5.h"

#include <math.h>

#include "error.h"

static gboolean
scan_hdf5_read (gpointer source, const TdFrameRange *range, float *out, GCancellable *cancellable,
                GError **error)
{
  TdH5Source *own = source;
  const guint *indices
      = own->indices[range->kind] ? own->indices[range->kind] + range->first : NULL;

  return td_h5_frames_read (own->frames[range->kind], indices, range, out, cancellable, error);
}

static void
scan_hdf5_free (gpointer source)
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

/* Only for data sets by rows: transposing others is scan.c's. */
static gboolean
hdf5_read_sinograms (gpointer source, const TdFrameRange *range, float *out,
                     GCancellable *cancellable, GError **error)
{
  return td_h5_frames_read_sinograms (((TdH5Source *) source)->frames[TD_FRAME_PROJECTION], range,
                                      out, cancellable, error);
}

static const TdScanSource hdf5_vtable = { .read = scan_hdf5_read, .free = scan_hdf5_free };
static const TdScanSource by_rows_vtable = { scan_hdf5_read, hdf5_read_sinograms, scan_hdf5_free };

TdScan *
td_h5_scan_new (const char *path, gboolean by_rows, TdH5Source **source)
{
  TdScan *scan;

  *source = g_new0 (TdH5Source, 1);
  scan = td_scan_alloc (path, by_rows ? &by_rows_vtable : &hdf5_vtable, *source);
  scan->facts.sinogram_order = by_rows;
  return scan;
}

gboolean
td_h5_scan_add (TdScan *scan, TdH5Source *source, TdFrameKind kind, hid_t dataset,
                const char *label, GError **error)
{
  TdScanFacts *facts = &scan->facts;
  TdH5Frames *frames;

  if (dataset < 0)
    return TRUE;
  frames = facts->sinogram_order ? td_h5_frames_new_by_rows (dataset, label, error)
                                 : td_h5_frames_new (dataset, label, error);
  source->frames[kind] = frames;
  if (!frames)
    return FALSE;
  if (kind == TD_FRAME_PROJECTION) {
    td_h5_scan_take_size (scan, frames);
    facts->n_views = td_h5_frames_count (frames);
    return TRUE;
  }
  if (td_h5_frames_columns (frames) != facts->n_columns
      || td_h5_frames_rows (frames) != facts->n_rows) {
    td_set_error (error, TD_ERROR_BAD_FILE,
                  "%s has frames of %u × %u pixels, but the projections have %u × %u", label,
                  td_h5_frames_columns (frames), td_h5_frames_rows (frames), facts->n_columns,
                  facts->n_rows);
    return FALSE;
  }
  *(kind == TD_FRAME_FLAT ? &facts->n_flats : &facts->n_darks) = td_h5_frames_count (frames);
  return TRUE;
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
