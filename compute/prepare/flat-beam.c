/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "flat-beam.h"

#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "steps.h"

TdFlatsHow
td_flat_field_how (const TdStep *step)
{
  return (TdFlatsHow) {
    .median = step->values[TD_FLAT_FIELD_AVERAGE] == TD_FLAT_FIELD_MEDIAN,
    .one_group = step->values[TD_FLAT_FIELD_DRIFT] == TD_FLAT_FIELD_DRIFT_NONE
                 || step->values[TD_FLAT_FIELD_WHITE] > 0,
  };
}

TdFlatsBy
td_flat_field_by (const TdStep *step)
{
  return step->values[TD_FLAT_FIELD_DRIFT] == TD_FLAT_FIELD_DRIFT_ANGLES ? TD_FLATS_BY_ANGLE
                                                                         : TD_FLATS_BY_VIEW;
}

gboolean
td_flat_field_lacks (const TdStep *step, const TdScanFacts *facts)
{
  return facts->n_flats == 0 && step->values[TD_FLAT_FIELD_WHITE] == 0;
}

/* beam = flat - dark; 0 in every group where that says nothing in one of them. */
static void
flat_beam_fill (TdFlatBeam *beam, const TdFlatRows *rows, double white)
{
  gsize pixels = (gsize) beam->n_rows * beam->n_columns;

  memcpy (beam->dark, rows->dark, pixels * sizeof (float));
  for (gsize i = 0; i < pixels; i++) {
    gboolean sound = TRUE;
    for (guint g = 0; g < beam->n_groups; g++) {
      double above = (white > 0 ? white : (double) rows->flat[g * pixels + i]) - rows->dark[i];
      beam->beam[g * pixels + i] = (float) above;
      sound = sound && above > 0 && isfinite ((float) (1 / above));
    }
    for (guint g = 0; g < beam->n_groups && !sound; g++)
      beam->beam[g * pixels + i] = 0;
  }
}

gboolean
td_flat_beam_read (TdFlatBeam *beam, TdFlats *flats, const TdStep *step, guint row0, guint n_rows,
                   GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (td_flats_scan (flats));
  gsize pixels = (gsize) n_rows * facts->n_columns;
  TdFlatsHow how = td_flat_field_how (step);
  double positions[TD_FLATS_MAX_GROUPS];

  memset (beam, 0, sizeof *beam);
  g_autoptr (TdFlatRows) rows = td_flats_read (flats, how, row0, n_rows, cancellable, error);
  if (!rows)
    return FALSE;
  beam->n_groups = td_flats_groups (facts, how.one_group, positions, NULL);
  beam->n_rows = n_rows;
  beam->n_columns = facts->n_columns;
  beam->beam = td_host_malloc (beam->n_groups * pixels * sizeof (float), error);
  if (beam->beam)
    beam->dark = td_host_malloc (pixels * sizeof (float), error);
  if (beam->dark)
    beam->places = td_host_malloc (2 * (gsize) facts->n_views * sizeof (float), error);
  if (!beam->places) {
    td_flat_beam_clear (beam);
    memset (beam, 0, sizeof *beam);
    return FALSE;
  }
  td_flats_places (facts, td_flat_field_by (step), positions, beam->n_groups, beam->places);
  flat_beam_fill (beam, rows, step->values[TD_FLAT_FIELD_WHITE]);
  return TRUE;
}

void
td_flat_beam_clear (TdFlatBeam *beam)
{
  g_free (beam->beam);
  g_free (beam->dark);
  g_free (beam->places);
}
