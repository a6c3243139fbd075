/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frames beside the views: a scan with them behind its views, over the same source. */
#include <string.h>

#include "scan-private.h"
#include "scan-view.h"

void
td_scan_take_extra (TdScan *scan, const double *angles_rad, guint n)
{
  g_free (scan->extra_rad);
  scan->extra_rad = g_memdup2 (angles_rad, n * sizeof *angles_rad);
  scan->n_extra = n;
}

guint
td_scan_extra_frames (const TdScan *scan)
{
  TdScanFrame frame;
  TdScan *base = td_scan_view_base (scan, &frame);

  if (!base)
    return scan->n_extra;
  /* What came after the last view is of no use once that is left out. */
  return frame.crop_views > 0 ? 0 : td_scan_extra_frames (base);
}

static TdScan *
with_extra (TdScan *scan)
{
  const TdScanFacts *whole = &scan->facts;
  TdScan *out = td_scan_new_over (scan);
  TdScanFacts *facts = &out->facts;

  td_scan_take_extra (out, NULL, 0);
  if (facts->absent) {
    facts->absent = g_realloc (facts->absent, whole->n_views + scan->n_extra);
    memset (facts->absent + whole->n_views, 0, scan->n_extra);
  }
  if (facts->monitor) {
    /* It is not known for frames that only help to find the axis: the views' mean will do. */
    const gsize n = whole->n_views, n_all = n + scan->n_extra;
    double mean = 0;
    facts->monitor = g_renew (double, facts->monitor, n_all + whole->n_flats);
    memcpy (facts->monitor + n_all, whole->monitor + n, whole->n_flats * sizeof (double));
    for (gsize i = 0; i < n; i++)
      mean += whole->monitor[i] / n;
    for (gsize i = n; i < n_all; i++)
      facts->monitor[i] = mean;
  }
  g_free (facts->angles_rad);
  facts->n_views = whole->n_views + scan->n_extra;
  facts->angles_rad = g_new (double, facts->n_views);
  memcpy (facts->angles_rad, whole->angles_rad, whole->n_views * sizeof (double));
  memcpy (facts->angles_rad + whole->n_views, scan->extra_rad, scan->n_extra * sizeof (double));
  return out;
}

TdScan *
td_scan_with_extra (TdScan *scan)
{
  TdScanFrame frame;
  TdScan *base = td_scan_view_base (scan, &frame);

  if (td_scan_extra_frames (scan) == 0 || frame.bin_views > 1)
    return td_scan_ref (scan);
  if (!base)
    return with_extra (scan);
  g_autoptr (TdScan) all = td_scan_with_extra (base);
  /* What was good for the views is good for more of them. */
  return td_scan_view_new (all, &frame, NULL);
}
