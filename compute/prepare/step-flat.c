/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/portion.h"
#include "flat-beam.h"
#include "slab.h"
#include "steps.h"

/**
 * Flat field: (I - dark) / (flat - dark). Flats taken at several moments of the scan are averaged
 * for each moment and interpolated to each view. A pixel whose flat is not above its dark measures
 * nothing. It takes the transmission of the nearest sound pixel of its row; a row without any is
 * left empty.
 */
static const char *const averages[] = { N_ ("mean"), N_ ("median"), NULL };
static const char *const drifts[] = { N_ ("none"), N_ ("views"), N_ ("angles"), NULL };

static const TdStepParameter parameters[] = {
  [TD_FLAT_FIELD_WHITE]
  = { "white", N_ ("Intensity without a sample"),
      N_ ("0 takes the flats; give the value of an open beam where there are none."), 0, 0, 1e9, 3,
      NULL },
  [TD_FLAT_FIELD_AVERAGE]
  = { "average", N_ ("Average of the frames"),
      N_ ("The mean has the least noise; the median is not misled by zingers in flats and darks."),
      TD_FLAT_FIELD_MEAN, TD_FLAT_FIELD_MEAN, TD_FLAT_FIELD_MEDIAN, 0, averages },
  [TD_FLAT_FIELD_DRIFT]
  = { "drift", N_ ("Between flats before and after"),
      N_ ("Interpolates the flats to each view, as a drifting beam wants it: by view where frames "
          "were taken at a constant rate, by angle where the stage turned at one. None pools all "
          "flats."),
      TD_FLAT_FIELD_DRIFT_VIEWS, TD_FLAT_FIELD_DRIFT_NONE, TD_FLAT_FIELD_DRIFT_ANGLES, 0, drifts },
};

typedef struct {
  gint32 row, column, source;
} Dead;

/* What the tables on the device were made for. */
typedef struct {
  guint row0, n_rows;
  TdStep step, mended; /* mended: "bad-pixels"; disabled if it did not run */
  GArray *dead;        /* Dead, by row */
  TdFlatsOdd odd;
  float *places;     /* of all views of the scan: td_flats_places() … */
  TdViewOrder views; /* … on the device are those of these */
  guint n_views;
} Held;

/* Transmissions come near 1 at the most, and are floats. */
static gboolean
step_flat_is_done (const TdScanFacts *facts)
{
  return (facts->sample_type == TD_SAMPLE_FLOAT32 || facts->sample_type == TD_SAMPLE_FLOAT64)
         && !(facts->brightest > 2);
}

static gboolean
step_flat_skips (const TdStep *step, const TdScanFacts *facts)
{
  return td_flat_field_lacks (step, facts) && step_flat_is_done (facts);
}

static TdMessage *
step_flat_unsupported (const TdStep *step, const TdScanFacts *facts)
{
  if (!td_flat_field_lacks (step, facts) || step_flat_is_done (facts))
    return NULL;
  TdMessage *values = facts->brightest > 2
                          ? td_message_new ("values up to %.4g", facts->brightest)
                          : td_message_new ("%s values", td_sample_name (facts->sample_type));
  return td_message_new (
      "“%s” has no flat field, and %p cannot be transmissions; name the flats ({flats:PATH}), or "
      "the intensity of the open beam ({prepare=flat-field=65535}), or state that −log was taken "
      "({values=attenuations}), or take the values as they are ({prepare=none})",
      facts->title ? facts->title : facts->path, values);
}

static guint64
step_flat_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  guint n_groups = td_flats_groups (facts, td_flat_field_how (step).one_group, NULL, NULL);

  return (guint64) n_rows * facts->n_columns * ((n_groups + 1) * sizeof (float) + sizeof (Dead))
         + 2 * sizeof (float) * facts->n_views;
}

static guint64
step_flat_host_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  TdFlatsHow how = td_flat_field_how (step);
  guint n_groups = td_flats_groups (facts, how.one_group, NULL, NULL);

  return td_flats_host_bytes (facts, how, n_rows)
         + (guint64) n_rows * facts->n_columns * (n_groups + 1) * sizeof (float);
}

static gboolean
step_flat_fetch (const TdStep *step, TdFlats *flats, guint row0, guint n_rows,
                 GCancellable *cancellable, GError **error)
{
  g_autoptr (TdFlatRows) rows
      = td_flats_read (flats, td_flat_field_how (step), row0, n_rows, cancellable, error);

  return rows != NULL;
}

/* Nearest column of the row with a beam; -1: none. */
static gint32
nearest_sound (const float *beam, guint n_columns, guint column)
{
  for (guint away = 1; away < n_columns; away++) {
    if (column >= away && beam[column - away] > 0)
      return (gint32) (column - away);
    if (column + away < n_columns && beam[column + away] > 0)
      return (gint32) (column + away);
  }
  return -1;
}

static GArray *
list_dead (const TdFlatBeam *beam)
{
  GArray *dead = g_array_new (FALSE, FALSE, sizeof (Dead));

  for (guint row = 0; row < beam->n_rows; row++) {
    const float *line = beam->beam + (gsize) row * beam->n_columns;
    gint32 source = 0;
    for (guint column = 0; column < beam->n_columns; column++) {
      if (line[column] > 0)
        continue;
      if (source >= 0)
        source = nearest_sound (line, beam->n_columns, column);
      g_array_append_vals (dead, &(Dead) { (gint32) row, (gint32) column, source }, 1);
    }
  }
  return dead;
}

/* All pixels of these rows are dead: the sample's shadow edge, or flats that are no flats? */
static gboolean
refuse_if_all_dead (TdSlab *slab, TdFlatsHow how, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (slab->scan);
  guint portion
      = MAX (1, (guint) (td_portion (16u << 20) / MAX ((guint64) facts->n_columns * 4, 1)));

  for (guint row0 = 0; row0 < facts->n_rows; row0 += portion) {
    guint n_rows = MIN (portion, facts->n_rows - row0);
    g_autoptr (TdFlatRows) rows
        = td_flats_read (td_slab_flats (slab), how, row0, n_rows, slab->cancellable, error);
    if (!rows)
      return FALSE;
    for (gsize i = 0; i < (gsize) n_rows * facts->n_columns; i++)
      if (rows->flat[i] > rows->dark[i])
        return TRUE;
  }
  if (facts->sample_type == TD_SAMPLE_INT16)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "no pixel of the flat field is brighter than the dark field in “%s”, whose samples have a "
        "sign: counts above 32767 that were stored so are below zero; store them without a sign, "
        "or check that the flats and darks are not exchanged or empty ({flats}, {darks})",
        facts->title ? facts->title : facts->path);
  if (facts->inverted)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "no pixel of the flat field is brighter than the dark field in “%s”, whose images say that "
        "white is their lowest value, so that their values were turned round: if that is wrong, "
        "save them with black as the lowest value, or check that the flats and darks are not "
        "exchanged or empty ({flats}, {darks})",
        facts->title ? facts->title : facts->path);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "no pixel of the flat field is brighter than the dark field in “%s”; check that the "
      "flats and darks are not exchanged or empty ({flats}, {darks})",
      facts->title ? facts->title : facts->path);
}

static void
step_flat_held_free (gpointer user)
{
  Held *held = user;

  g_clear_pointer (&held->dead, g_array_unref);
  g_free (held->places);
  g_free (held);
}

static gboolean
send_places (TdSlab *slab, Held *held, GError **error)
{
  g_autofree float *places = g_new (float, 2 * (gsize) slab->n_views);

  for (guint i = 0; i < slab->n_views; i++)
    memcpy (places + 2 * (gsize) i, held->places + 2 * (gsize) td_view_order_at (&slab->views, i),
            2 * sizeof *places);
  held->views = slab->views;
  held->n_views = slab->n_views;
  return td_slab_send (slab, "flat-field places", places,
                       2 * sizeof *places * (gsize) slab->n_views, error)
         != NULL;
}

static gboolean
send_tables (TdSlab *slab, const TdFlatBeam *beam, const GArray *dead, GError **error)
{
  gsize row_bytes = (gsize) beam->n_rows * beam->n_columns * sizeof (float);

  return td_slab_send (slab, "flat-field dark", beam->dark, row_bytes, error)
         && td_slab_send (slab, "flat-field beam", beam->beam, beam->n_groups * row_bytes, error)
         && td_slab_send (slab, "flat-field dead", dead->data, dead->len * sizeof (Dead), error);
}

static gboolean
load_tables (const TdStep *step, TdSlab *slab, Held *held, GError **error)
{
  gsize pixels = (gsize) slab->n_rows * slab->n_columns;
  const GArray *bad = td_bad_pixels_of_slab (slab);
  TdFlatBeam beam;

  if (!td_flats_odd (td_slab_flats (slab), &held->odd, slab->cancellable, error))
    return FALSE;
  gboolean ok = td_flat_beam_read (&beam, td_slab_flats (slab), step, slab->row0, slab->n_rows,
                                   slab->cancellable, error);
  if (ok && bad)
    td_bad_pixels_mend_beam (bad, &beam);
  g_autoptr (GArray) dead = ok ? list_dead (&beam) : NULL;
  if (ok && dead->len == pixels && step->values[TD_FLAT_FIELD_WHITE] == 0)
    ok = refuse_if_all_dead (slab, td_flat_field_how (step), error);
  if (ok) {
    g_clear_pointer (&held->dead, g_array_unref);
    held->dead = g_array_ref (dead);
    g_free (held->places);
    held->places = g_steal_pointer (&beam.places);
  }
  ok = ok && send_tables (slab, &beam, dead, error) && send_places (slab, held, error);
  td_flat_beam_clear (&beam);
  return ok;
}

/* The tables for this slab, from the last one if it was the same. */
static const Held *
hold_tables (const TdStep *step, TdSlab *slab, GError **error)
{
  Held *held = td_slab_kept (slab, "flat-field held");
  const TdStep *bad_pixels = td_slab_step (slab, "bad-pixels");
  const TdStep mended = bad_pixels ? *bad_pixels : (TdStep) { .enabled = FALSE };

  if (!held) {
    held = g_new0 (Held, 1);
    td_slab_keep (slab, "flat-field held", held, step_flat_held_free);
  }
  if (held->row0 != slab->row0 || held->n_rows != slab->n_rows || !td_step_equal (&held->step, step)
      || !td_step_equal (&held->mended, &mended)) {
    held->n_rows = 0;
    if (!load_tables (step, slab, held, error))
      return NULL;
    held->row0 = slab->row0;
    held->n_rows = slab->n_rows;
    held->step = *step;
    held->mended = mended;
  } else if ((!td_view_order_equal (&held->views, &slab->views) || held->n_views != slab->n_views)
             && !send_places (slab, held, error)) {
    held->n_rows = 0;
    return NULL;
  }
  return held;
}

static gboolean
step_flat_run (const TdStep *step, TdSlab *slab, GError **error)
{
  const Held *held = hold_tables (step, slab, error);

  if (!held)
    return FALSE;
  const guint n_dead = held->dead->len;
  guint64 counted = 0;
  for (guint i = 0; i < n_dead; i++)
    counted += td_slab_counts_row (slab, (guint) g_array_index (held->dead, Dead, i).row);
  td_slab_counts (slab)->dead_pixels += counted;
  td_slab_counts (slab)->odd = held->odd;

  return td_slab_launch (slab, "prepare", "prepare_flat_field",
                         (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
                         TD_ARGS (slab->data, td_slab_buffer (slab, "flat-field dark", 0, NULL),
                                  td_slab_buffer (slab, "flat-field beam", 0, NULL),
                                  td_slab_buffer (slab, "flat-field places", 0, NULL), slab->n_rows,
                                  slab->n_views, slab->n_columns, td_slab_strip (slab)),
                         error)
         && (n_dead == 0
             || td_slab_launch (
                 slab, "prepare", "prepare_fill_dead", (guint[]) { n_dead, slab->n_views, 1 },
                 TD_ARGS (slab->data, td_slab_buffer (slab, "flat-field dead", 0, NULL), n_dead,
                          slab->n_views, slab->n_columns, 1.0f),
                 error));
}

const TdStepKind td_step_flat_field = {
  .name = "flat-field",
  .title = N_ ("Flat field"),
  .summary = N_ ("Divides out the beam and the detector: (image − dark) / (flat − dark)."),
  .stage = TD_STEP_FLAT,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .preset_on = TRUE,
  .skips = step_flat_skips,
  .unsupported = step_flat_unsupported,
  .workspace_bytes = step_flat_workspace_bytes,
  .host_bytes = step_flat_host_bytes,
  .fetch = step_flat_fetch,
  .run = step_flat_run,
};
