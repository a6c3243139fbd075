/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "slab.h"
#include "steps.h"

/**
 * Flat field: (I - dark) / (flat - dark), with the means of all flats and all darks. A pixel whose
 * flat is not above its dark knows nothing: it takes the transmission of the nearest sound pixel of
 * its row, and a row without any is left empty.
 */
enum { WHITE };

static const TdStepParameter parameters[] = {
  [WHITE] = { "white", "Intensity without a sample",
              "0 takes the flats; give the value of an empty beam where there are none.", 0, 0, 1e9,
              3, NULL },
};

/* Which rows the tables on the device hold. */
typedef struct {
  guint row0, n_rows, n_dead;
  double white;
} Held;

typedef struct {
  gint32 row, column, source;
} Dead;

static gboolean
has_no_reference (const TdStep *step, const TdScanFacts *facts)
{
  return facts->n_flats == 0 && step->values[WHITE] == 0;
}

static gboolean
skips (const TdStep *step, const TdScanFacts *facts)
{
  return has_no_reference (step, facts)
         && (facts->sample_type == TD_SAMPLE_FLOAT32 || facts->sample_type == TD_SAMPLE_FLOAT64);
}

static char *
unsupported (const TdStep *step, const TdScanFacts *facts)
{
  if (!has_no_reference (step, facts))
    return NULL;
  return g_strdup_printf (
      "%s has no flat field, and %s values cannot be transmissions; name the flats (--flats PATH), "
      "or the intensity of the empty beam (--prepare flat-field=65535), or take the values as they "
      "are (--prepare none)",
      facts->title ? facts->title : "The scan", td_sample_name (facts->sample_type));
}

static guint64
workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return (guint64) n_rows * facts->n_columns * (2 * sizeof (float) + sizeof (Dead));
}

/* Nearest column of the row with a gain; -1: none. */
static gint32
nearest_sound (const float *gain, guint n_columns, guint column)
{
  for (guint away = 1; away < n_columns; away++) {
    if (column >= away && gain[column - away] > 0)
      return (gint32) (column - away);
    if (column + away < n_columns && gain[column + away] > 0)
      return (gint32) (column + away);
  }
  return -1;
}

/* gain = 1 / (flat - dark), 0 where that says nothing; lists those pixels. */
static GArray *
make_gain (const TdFlatRows *rows, guint n_columns, double white, float *gain)
{
  GArray *dead = g_array_new (FALSE, FALSE, sizeof (Dead));

  for (gsize i = 0; i < (gsize) rows->n_rows * n_columns; i++) {
    double beam = (white > 0 ? white : (double) rows->flat[i]) - rows->dark[i];
    gain[i] = beam > 0 ? (float) (1 / beam) : 0;
    if (!isfinite (gain[i]))
      gain[i] = 0;
  }
  for (guint row = 0; row < rows->n_rows; row++) {
    const float *line = gain + (gsize) row * n_columns;
    gint32 source = 0;
    for (guint column = 0; column < n_columns; column++) {
      if (line[column] > 0)
        continue;
      if (source >= 0)
        source = nearest_sound (line, n_columns, column);
      g_array_append_vals (dead, &(Dead) { (gint32) row, (gint32) column, source }, 1);
    }
  }
  return dead;
}

/* All pixels of these rows are dead: the sample's shadow edge, or flats that are no flats? */
static gboolean
refuse_if_all_dead (TdSlab *slab, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (slab->scan);
  guint portion = MAX (1, (guint) ((16u << 20) / MAX ((guint64) facts->n_columns * 4, 1)));

  for (guint row0 = 0; row0 < facts->n_rows; row0 += portion) {
    guint n_rows = MIN (portion, facts->n_rows - row0);
    g_autoptr (TdFlatRows) rows
        = td_flats_read (td_slab_flats (slab), row0, n_rows, slab->cancellable, error);
    if (!rows)
      return FALSE;
    for (gsize i = 0; i < (gsize) n_rows * facts->n_columns; i++)
      if (rows->flat[i] > rows->dark[i])
        return TRUE;
  }
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "no pixel of the flat field is brighter than the dark field in %s; check that the "
               "flats and darks are not exchanged or empty (--flats, --darks)",
               facts->title ? facts->title : "this scan");
  return FALSE;
}

static gboolean
load_tables (const TdStep *step, TdSlab *slab, Held *held, GError **error)
{
  gsize pixels = (gsize) slab->n_rows * slab->n_columns;
  double white = step->values[WHITE];
  g_autoptr (TdFlatRows) rows = td_flats_read (td_slab_flats (slab), slab->row0, slab->n_rows,
                                               slab->cancellable, error);
  if (!rows)
    return FALSE;
  g_autofree float *gain = g_new (float, pixels);
  g_autoptr (GArray) dead = make_gain (rows, slab->n_columns, white, gain);
  if (dead->len == pixels && white == 0 && !refuse_if_all_dead (slab, error))
    return FALSE;

  TdBuffer *on_dark = td_slab_buffer (slab, "flat-field dark", pixels * sizeof (float), error);
  TdBuffer *on_gain
      = on_dark ? td_slab_buffer (slab, "flat-field gain", pixels * sizeof (float), error) : NULL;
  TdBuffer *on_dead = on_gain ? td_slab_buffer (slab, "flat-field dead",
                                                MAX (dead->len, 1) * sizeof (Dead), error)
                              : NULL;
  if (!on_dead || !td_slab_upload (slab, on_dark, rows->dark, pixels * sizeof (float), error)
      || !td_slab_upload (slab, on_gain, gain, pixels * sizeof (float), error)
      || (dead->len && !td_slab_upload (slab, on_dead, dead->data, dead->len * sizeof (Dead), error)))
    return FALSE;
  *held = (Held) { slab->row0, slab->n_rows, dead->len, white };
  return TRUE;
}

static gboolean
run (const TdStep *step, TdSlab *slab, GError **error)
{
  Held *held = td_slab_kept (slab, "flat-field held");
  guint strip = td_slab_strip (slab);

  if (!held) {
    held = g_new0 (Held, 1);
    td_slab_keep (slab, "flat-field held", held, g_free);
  }
  if (held->row0 != slab->row0 || held->n_rows != slab->n_rows
      || held->white != step->values[WHITE]) {
    held->n_rows = 0;
    if (!load_tables (step, slab, held, error))
      return FALSE;
  }
  td_slab_add_dead_pixels (slab, held->n_dead);

  TdKernel *kernel = td_slab_kernel (slab, "prepare", "prepare_flat_field", error);
  TdKernel *fill = kernel ? td_slab_kernel (slab, "prepare", "prepare_fill_dead", error) : NULL;
  if (!fill)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),
    TD_ARG_BUFFER (td_slab_buffer (slab, "flat-field dark", 0, NULL)),
    TD_ARG_BUFFER (td_slab_buffer (slab, "flat-field gain", 0, NULL)),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (strip),
  };
  const float empty = 1;
  const TdArg fill_args[] = {
    TD_ARG_BUFFER (slab->data),
    TD_ARG_BUFFER (td_slab_buffer (slab, "flat-field dead", 0, NULL)),
    TD_ARG_VALUE (held->n_dead), TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns),
    TD_ARG_VALUE (empty),
  };
  return td_slab_launch (slab, kernel, (slab->n_columns + strip - 1) / strip, slab->n_views,
                         slab->n_rows, args, G_N_ELEMENTS (args), error)
         && (held->n_dead == 0
             || td_slab_launch (slab, fill, held->n_dead, slab->n_views, 1, fill_args,
                                G_N_ELEMENTS (fill_args), error));
}

const TdStepKind td_step_flat_field = {
  .name = "flat-field",
  .title = "Flat field",
  .summary = "Divides out the beam and the detector: (image − dark) / (flat − dark).",
  .stage = TD_STEP_FLAT,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .preset_on = TRUE,
  .skips = skips,
  .unsupported = unsupported,
  .workspace_bytes = workspace_bytes,
  .run = run,
};
