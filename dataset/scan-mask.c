/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-mask.h"

#include "error.h"
#include "scan-private.h"
#include "scan-view.h"
#include "volume.h"

/* ── The image ── */

/* The mask's file, if it is as large as the frames are. */
static TdVolume *
open_mask (const TdScan *scan, const char *path, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (TdVolume) image = td_volume_open (path, error);

  if (!image) {
    td_prefix_error (error, "The mask of bad pixels: ");
    return NULL;
  }
  const TdVolumeFacts *mask = td_volume_facts (image);
  if (mask->nx == facts->n_columns && mask->ny == facts->n_rows && mask->n_slices == 1)
    return g_steal_pointer (&image);
  return td_set_error_null (error, TD_ERROR_BAD_FILE,
                            "The mask of bad pixels “%s” has %u [image|images] of %u × %u pixels, "
                            "but the detector has %u × %u: give the mask that belongs to this scan",
                            path, mask->n_slices, mask->nx, mask->ny, facts->n_columns,
                            facts->n_rows);
}

gboolean
td_scan_mask_fits (const TdScan *scan, const char *path, GError **error)
{
  g_autoptr (TdVolume) image = open_mask (scan, path, error);

  return image != NULL;
}

static guint8 *
scan_mask_read_mask (const TdScan *scan, const char *path, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize n = (gsize) facts->n_rows * facts->n_columns;
  g_autoptr (TdVolume) image = open_mask (scan, path, error);

  if (!image)
    return NULL;
  g_autofree float *values = g_try_new (float, n);
  g_autofree guint8 *bad = g_try_malloc (n);
  if (!values || !bad)
    return td_set_error_null (error, TD_ERROR_TOO_LARGE,
                              "There is no memory for the %u × %u pixels of the mask “%s”",
                              facts->n_columns, facts->n_rows, path);
  if (!td_volume_read (image, 0, 1, values, error))
    return NULL;
  gsize n_bad = 0;
  for (gsize i = 0; i < n; i++)
    n_bad += bad[i] = values[i] != 0;
  if (n_bad > n / 2)
    return td_set_error_null (
        error, TD_ERROR_BAD_FILE,
        "The mask of bad pixels “%s” leaves less than half of the detector (%.3g of 100 "
        "pixels are bad): a bad pixel is one that is not 0 there; turn the mask round",
        path, 100.0 * n_bad / n);
  return g_steal_pointer (&bad);
}

/* ── The scan ── */

static TdScan *
with_mask (TdScan *scan, const char *path, GError **error)
{
  guint8 *bad = scan_mask_read_mask (scan, path, error);

  if (!bad)
    return NULL;
  TdScan *out = td_scan_new_over (scan);
  g_free (out->facts.bad_pixels);
  out->facts.bad_pixels = bad;
  return out;
}

/* A mask is stored as the frames are: what turns them over turns it over. */
TdScan *
td_scan_with_mask (TdScan *scan, const char *path, GError **error)
{
  TdScanFrame frame;
  TdScan *base = td_scan_view_base (scan, &frame);

  if (!base)
    return with_mask (scan, path, error);
  g_autoptr (TdScan) masked = td_scan_with_mask (base, path, error);
  return masked ? td_scan_view_new (masked, &frame, error) : NULL;
}
