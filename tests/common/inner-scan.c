/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "inner-scan.h"

TdScan *
td_test_scan_around (TdScan *inner, const TdScanSource *vtable, gpointer source)
{
  const TdScanFacts *facts = td_scan_facts (inner);
  TdScan *scan = td_scan_alloc ("around another", vtable, source);

  scan->facts.format = g_strdup ("test");
  scan->facts.n_columns = facts->n_columns;
  scan->facts.n_rows = facts->n_rows;
  scan->facts.n_views = facts->n_views;
  scan->facts.n_flats = facts->n_flats;
  scan->facts.n_darks = facts->n_darks;
  scan->facts.sample_type = facts->sample_type;
  scan->facts.transmission_logged = facts->transmission_logged;
  scan->facts.angles_rad = g_memdup2 (facts->angles_rad, facts->n_views * sizeof (double));
  return scan;
}
