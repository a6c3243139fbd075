/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "demo-scan.h"

#include "dataset/phantom-scan.h"

TdScan *
td_demo_scan_new (GError **error)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 0, 96, 0);
  /* Of which the scan says nothing, so that there is something to find. */
  spec.centre_px = 131.4;
  spec.centre_unsaid = TRUE;
  spec.photons = 20000;
  spec.rings = 0.002;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 0.02;
  return td_phantom_scan_new (&spec, error);
}
