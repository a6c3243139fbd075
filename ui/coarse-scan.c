/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "coarse-scan.h"

#include <math.h>
#include <string.h>

#include "compute/prepare/dose.h"
#include "compute/prepare/paganin.h"

#define QUICK_UPDATES 4e7 /* a slice of so many updates takes well under 0.1 s on two cores */
#define LEAST_COLUMNS 32

/* How a row's columns are averaged. */
typedef struct {
  guint n_columns, factor;
  float *weights; /* of each column in its average */
} Binning;

/* The columns where @bad is set are left out as far as there are others; NULL: none. */
static void
binning_init (Binning *binning, guint n_columns, guint factor, const guint8 *bad)
{
  *binning = (Binning) { n_columns, factor, g_new (float, n_columns) };
  for (guint first = 0; first + factor <= n_columns; first += factor) {
    guint good = 0;
    for (guint i = first; bad && i < first + factor; i++)
      good += !bad[i];
    for (guint i = first; i < first + factor; i++)
      binning->weights[i] = good == 0 ? 1.0f / (float) factor : bad[i] ? 0 : 1.0f / (float) good;
  }
}

static void
binning_clear (Binning *binning)
{
  g_free (binning->weights);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Binning, binning_clear)

/* @n rows, @pace apart; a row's last few columns are dropped. */
static void
bin_rows (const Binning *binning, const float *in, float *out, guint n, guint pace)
{
  const guint factor = binning->factor, n_out = binning->n_columns / factor;

  for (guint r = 0; r < n; r++) {
    const float *from = in + (gsize) r * pace * binning->n_columns;
    float *to = out + (gsize) r * n_out;
    for (guint i = 0; i < n_out; i++) {
      float sum = 0;
      for (guint k = i * factor; k < (i + 1) * factor; k++)
        if (binning->weights[k] != 0) /* what is left out may be no number */
          sum += from[k] * binning->weights[k];
      to[i] = sum;
    }
  }
}

typedef struct {
  float *projections, *flats, *darks;
} Arrays;

static void
arrays_free (gpointer user)
{
  Arrays *arrays = user;

  g_free (arrays->projections);
  g_free (arrays->flats);
  g_free (arrays->darks);
  g_free (arrays);
}

static gboolean
read_binned (TdScan *scan, const Binning *binning, TdFrameKind kind, guint n, guint row,
             float **out, GCancellable *cancellable, GError **error)
{
  if (n == 0)
    return TRUE;
  g_autofree float *full = g_new (float, (gsize) n * binning->n_columns);
  if (!td_scan_read (scan, &(TdFrameRange) { kind, 0, n, row, 1 }, full, cancellable, error))
    return FALSE;
  *out = g_new (float, (gsize) n *(binning->n_columns / binning->factor));
  bin_rows (binning, full, *out, n, 1);
  return TRUE;
}

/* A coarse pixel is bad if all of its own are. */
static guint8 *
bin_mask (const TdScanFacts *facts, guint row, guint factor)
{
  guint n_columns = facts->n_columns / factor;
  guint8 *mask = facts->bad_pixels ? g_new (guint8, n_columns) : NULL;

  for (guint i = 0; mask && i < n_columns; i++) {
    const guint8 *own = facts->bad_pixels + (gsize) row * facts->n_columns + i * factor;
    mask[i] = 1;
    for (guint k = 0; k < factor; k++)
      mask[i] &= own[k] != 0;
  }
  return mask;
}

static void
coarse_facts (const TdScanFacts *facts, guint row, guint factor, TdScanFacts *coarse)
{
  *coarse = *facts;
  coarse->n_columns = facts->n_columns / factor;
  coarse->n_rows = 1;
  coarse->n_views = (facts->n_views + factor - 1) / factor;
  coarse->angles_rad = g_new (double, coarse->n_views);
  for (guint v = 0; v < coarse->n_views; v++)
    coarse->angles_rad[v] = facts->angles_rad[v * factor];
  if (facts->flat_positions) {
    coarse->flat_positions = g_new (double, MAX (facts->n_flats, 1));
    for (guint f = 0; f < facts->n_flats; f++)
      coarse->flat_positions[f] = facts->flat_positions[f] / factor;
  }
  coarse->bad_pixels = bin_mask (facts, row, factor);
  coarse->geometry.pixel_width_mm *= factor;
  coarse->geometry.pixel_height_mm *= factor;
  coarse->centre_px = (facts->centre_px - (factor - 1) / 2.0) / factor;
}

TdScan *
td_coarse_scan_new (TdScan *scan, guint row, guint factor, gboolean mended,
                    GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_auto (Binning) binning = { 0 };
  guint n_views = (facts->n_views + factor - 1) / factor;
  g_autofree float *full = g_new (float, (gsize) facts->n_views * facts->n_columns);

  if (!td_scan_read_sinograms (scan,
                               &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row, 1 },
                               full, cancellable, error))
    return NULL;
  binning_init (&binning, facts->n_columns, factor,
                mended && facts->bad_pixels ? facts->bad_pixels + (gsize) row * facts->n_columns
                                            : NULL);
  Arrays *arrays = g_new0 (Arrays, 1);
  arrays->projections = g_new (float, (gsize) n_views *(facts->n_columns / factor));
  bin_rows (&binning, full, arrays->projections, n_views, factor);
  if (!read_binned (scan, &binning, TD_FRAME_FLAT, facts->n_flats, row, &arrays->flats, cancellable,
                    error)
      || !read_binned (scan, &binning, TD_FRAME_DARK, facts->n_darks, row, &arrays->darks,
                       cancellable, error)) {
    arrays_free (arrays);
    return NULL;
  }
  TdScanFacts coarse;
  coarse_facts (facts, row, factor, &coarse);
  TdScan *result = td_scan_new_from_memory (&coarse, arrays->projections, arrays->flats,
                                            arrays->darks, arrays_free, arrays);
  g_free (coarse.angles_rad);
  g_free (coarse.flat_positions);
  g_free (coarse.bad_pixels);
  return result;
}

void
td_coarse_recipe (const TdRecipe *recipe, const TdScanFacts *facts, guint row, guint factor,
                  TdRecipe *coarse)
{
  double centre = recipe->centre_px;

  if (!isfinite (centre))
    centre = isfinite (facts->centre_px) ? facts->centre_px : (facts->n_columns - 1) / 2.0;
  centre += tan (recipe->tilt_deg * G_PI / 180) * (row - (facts->n_rows - 1) / 2.0);
  *coarse = *recipe;
  coarse->centre_px = (centre - (factor - 1) / 2.0) / factor;
  coarse->tilt_deg = 0;
  coarse->row_first = 0;
  coarse->row_end = 1;
  memset (coarse->region, 0, sizeof coarse->region);
  *coarse->mask = '\0'; /* the coarse scan has its own */
  for (guint i = 0; i < coarse->n_steps; i++)
    td_step_scale_columns (&coarse->steps[i], factor);
  TdStep *paganin = td_recipe_step (coarse, "paganin");
  if (paganin)
    paganin->values[TD_PAGANIN_PIXEL]
        *= factor; /* 0 stays what the scan says, which is coarse itself */
  /* A region of the detector means nothing in a scan of one row. */
  TdStep *dose = td_recipe_step (coarse, "dose");
  if (dose && td_dose_is_of_region (dose))
    dose->enabled = FALSE;
}

guint
td_coarse_factor (const TdScanFacts *facts)
{
  double updates = (double) facts->n_columns * facts->n_columns * facts->n_views;
  guint factor = 1;

  if (facts->geometry.beam != TD_BEAM_PARALLEL || updates <= QUICK_UPDATES)
    return 0;
  while (factor < 8 && updates / pow (factor, 3) > QUICK_UPDATES)
    factor *= 2;
  while (factor > 1 && facts->n_columns / factor < LEAST_COLUMNS)
    factor /= 2;
  return factor > 1 ? factor : 0;
}
