/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "rings.h"
#include "compute/prepare/steps.h"
#include "wavelet.h"

/**
 * Muench et al., Opt. Express 17 (2009). In a wavelet decomposition of the sinogram, stripes are
 * details across columns of every level, and low frequencies along the angle there. The method
 * damps these by 1 - exp (-k^2 / 2 sigma^2).
 *
 * For each level's band across columns this is a linear function along the angle: the level's low
 * pass, the low frequencies, and back. Its rank is low, so few analysing and synthesising functions
 * of the view, made here once, describe it. The sinogram is projected on the analysing functions.
 * Only the few profiles go through the wavelet transform across columns, and the synthesising
 * functions bring them back. The result equals that of the whole two-dimensional transform and its
 * FFTs, for a fraction of the work.
 */
enum { SIZE, SIGMA, WAVELET };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Widest stripe (columns)"),
             N_ ("Stripes up to this width; each doubling is one more level."), 16, 2, 1024, 0,
             NULL, TRUE },
  [SIGMA]
  = { "sigma", N_ ("Damping (frequencies)"),
      N_ ("1 to 3 for stripes of full length; more for such as come and go, and it takes more of "
          "the object."),
      1.5, 0.3, 20, 1, NULL },
  [WAVELET]
  = { "wavelet", N_ ("Wavelet"), N_ ("Longer ones separate stripes more sharply and ring further."),
      1, 0, 2, 0, td_wavelet_names },
};

#define MAX_LEVELS 16

/* Views, levels, sigma and wavelet are all that the tables depend on. */
typedef struct {
  const TdWavelet *wavelet;
  guint n_levels, n_modes;         /* modes of all levels */
  guint n_views[MAX_LEVELS + 1];   /* after so many levels along the angle */
  guint n_columns[MAX_LEVELS + 1]; /* … across columns */
  guint first[MAX_LEVELS + 1];     /* level's first mode */
  guint widest;                    /* modes of one level, at most */
} Levels;

static void
init_levels (Levels *levels, const TdWavelet *wavelet, guint n_levels, guint n_views,
             guint n_columns, double sigma)
{
  *levels = (Levels) { .wavelet = wavelet, .n_levels = n_levels };
  levels->n_views[0] = n_views;
  levels->n_columns[0] = n_columns;
  for (guint i = 1; i <= n_levels; i++) {
    levels->n_views[i] = td_wavelet_half (wavelet, levels->n_views[i - 1]);
    levels->n_columns[i] = td_wavelet_half (wavelet, levels->n_columns[i - 1]);
    guint n = td_rings_low_modes (levels->n_views[i], 0, sigma);
    levels->first[i] = levels->n_modes;
    levels->n_modes += n;
    levels->widest = MAX (levels->widest, n);
  }
}

static void
levels_of (const TdStep *step, guint n_views, guint n_columns, Levels *levels)
{
  const TdWavelet *wavelet = &td_wavelets[(guint) step->values[WAVELET]];
  guint wanted = MAX (1, (guint) ceil (log2 (step->values[SIZE])));

  init_levels (levels, wavelet,
               MIN (MIN (wanted, td_wavelet_max_levels (wavelet, n_columns)), MAX_LEVELS), n_views,
               n_columns, step->values[SIGMA]);
}

/* Samples of a line of any level: the first ones of a short detector are longer than it. */
static guint64
longest_line (const Levels *levels)
{
  return levels->n_columns[0] + levels->wavelet->taps;
}

static guint64
step_rings_wavelet_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  Levels levels;

  levels_of (step, facts->n_views, facts->n_columns, &levels);
  return 2 * sizeof (float)
         * ((guint64) levels.n_modes * facts->n_columns + levels.widest * longest_line (&levels));
}

static guint64
step_rings_wavelet_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  Levels levels;

  levels_of (step, facts->n_views, facts->n_columns, &levels);
  return td_rings_workspace_bytes (step, facts, n_rows)
         + 2 * sizeof (float) * ((guint64) levels.n_modes * facts->n_views + levels.wavelet->taps);
}

/* ── Tables ── */

/* made_for: views, levels, sigma, wavelet. */
static void
step_rings_wavelet_fill_table (float *table, const double *made_for, gboolean synthesis)
{
  Levels levels;
  double sigma = made_for[2];

  init_levels (&levels, &td_wavelets[(guint) made_for[3]], (guint) made_for[1], (guint) made_for[0],
               1, sigma);
  const double *low = levels.wavelet->low;
  guint taps = levels.wavelet->taps, n = levels.n_views[0];
  g_autofree double *line = g_new (double, n + taps), *next = g_new (double, n + taps);

  for (guint level = 1; level <= levels.n_levels; level++) {
    guint own = levels.n_views[level], n_modes = td_rings_low_modes (own, 0, sigma);
    g_autofree double *modes = g_new (double, (gsize) n_modes *own);
    if (synthesis)
      td_rings_low_synthesis (own, 0, sigma, modes);
    else
      td_rings_low_analysis (own, 0, sigma, modes);
    for (guint mode = 0; mode < n_modes; mode++) {
      memcpy (line, modes + (gsize) mode * own, own * sizeof *line);
      for (guint i = level; i-- > 0;) {
        if (synthesis)
          td_wavelet_up (low, taps, line, levels.n_views[i + 1], next, levels.n_views[i]);
        else
          td_wavelet_down_transposed (low, taps, line, levels.n_views[i + 1], next,
                                      levels.n_views[i]);
        memcpy (line, next, levels.n_views[i] * sizeof *line);
      }
      for (guint view = 0; view < n; view++)
        table[(gsize) (levels.first[level] + mode) * n + view]
            = (float) (synthesis ? -line[view] : line[view]);
    }
  }
}

static void
fill_analysis (float *table, const double *made_for)
{
  step_rings_wavelet_fill_table (table, made_for, FALSE);
}

static void
fill_synthesis (float *table, const double *made_for)
{
  step_rings_wavelet_fill_table (table, made_for, TRUE);
}

/* made_for: wavelet. */
static void
fill_low (float *filter, const double *made_for)
{
  const TdWavelet *wavelet = &td_wavelets[(guint) made_for[0]];

  for (guint i = 0; i < wavelet->taps; i++)
    filter[i] = (float) wavelet->low[i];
}

static void
fill_high (float *filter, const double *made_for)
{
  const TdWavelet *wavelet = &td_wavelets[(guint) made_for[0]];
  double high[TD_WAVELET_MAX_TAPS];

  td_wavelet_high (wavelet, high);
  for (guint i = 0; i < wavelet->taps; i++)
    filter[i] = (float) high[i];
}

/* ── Running ── */

/* Lines of a buffer: @first … of @lines in a row, each of @n samples. */
typedef struct {
  TdBuffer *buffer;
  guint n, lines, first;
} Profiles;

/* Between a level and the next finer one, of as many lines as the coarser one has. */
static gboolean
step_rings_wavelet_scale (const TdRings *rings, gboolean up, const Levels *levels,
                          const Profiles *from, TdBuffer *filter, const Profiles *to,
                          GError **error)
{
  const guint lanes = td_rings_lanes (rings), n_lines = up ? from->lines : to->lines;
  const guint64 blocks = (to->n + lanes - 1) / lanes;
  return td_rings_launch (rings, "rings-wavelet", up ? "rings_wavelet_up" : "rings_wavelet_down",
                          blocks * n_lines,
                          TD_ARGS (from->buffer, filter, to->buffer, levels->wavelet->taps, n_lines,
                                   from->n, from->lines, up ? to->n : from->first,
                                   up ? to->lines : to->n, up ? to->first : to->lines),
                          error);
}

/* Low and high pass; two buffers for lines on their way; all profiles, before and after. */
typedef struct {
  TdBuffer *filters[2], *spare[2], *modes, *bands;
} Buffers;

/* What of a level's profiles lies in its band across columns: down to its details, and up again
   from nothing but these. */
static gboolean
keep_band (const TdRings *rings, const Levels *levels, guint level, const Buffers *buffers,
           GError **error)
{
  guint next = level < levels->n_levels ? levels->first[level + 1] : levels->n_modes;
  guint n = next - levels->first[level];
  Profiles from = { buffers->modes, levels->n_columns[0], levels->n_modes, levels->first[level] };
  const Profiles out
      = { buffers->bands, levels->n_columns[0], levels->n_modes, levels->first[level] };

  for (guint i = 1; i <= level; i++) {
    Profiles to = { buffers->spare[i % 2], levels->n_columns[i], n, 0 };
    if (!step_rings_wavelet_scale (rings, FALSE, levels, &from, buffers->filters[i == level], &to,
                                   error))
      return FALSE;
    from = to;
  }
  for (guint i = level; i > 0; i--) {
    Profiles to = { buffers->spare[(i - 1) % 2], levels->n_columns[i - 1], n, 0 };
    if (i == 1)
      to = out;
    if (!step_rings_wavelet_scale (rings, TRUE, levels, &from, buffers->filters[i == level], &to,
                                   error))
      return FALSE;
    from = to;
  }
  return TRUE;
}

static gboolean
step_rings_wavelet_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  Levels levels;

  levels_of (step, slab->n_views, slab->n_columns, &levels);
  const double tables_for[TD_RINGS_TABLE_KEYS]
      = { slab->n_views, levels.n_levels, step->values[SIGMA], step->values[WAVELET] };
  const double filters_for[TD_RINGS_TABLE_KEYS] = { step->values[WAVELET] };
  guint64 table_floats = (guint64) levels.n_modes * slab->n_views;
  guint64 floats = (guint64) levels.n_modes * slab->n_columns;
  guint64 spare_floats = levels.widest * longest_line (&levels);
  TdBuffer *analysis, *synthesis;
  Buffers b;

  if (!(analysis = td_rings_table (slab, "rings-wavelet analysis", tables_for, table_floats,
                                   fill_analysis, error))
      || !(synthesis = td_rings_table (slab, "rings-wavelet synthesis", tables_for, table_floats,
                                       fill_synthesis, error))
      || !(b.filters[0] = td_rings_table (slab, "rings-wavelet low", filters_for,
                                          levels.wavelet->taps, fill_low, error))
      || !(b.filters[1] = td_rings_table (slab, "rings-wavelet high", filters_for,
                                          levels.wavelet->taps, fill_high, error))
      || !(b.spare[0] = td_rings_buffer (rings, "rings wavelet 0", spare_floats, error))
      || !(b.spare[1] = td_rings_buffer (rings, "rings wavelet 1", spare_floats, error))
      || !(b.modes = td_rings_buffer (rings, "rings modes 0", floats, error))
      || !(b.bands = td_rings_buffer (rings, "rings modes 1", floats, error))
      || !td_rings_project (rings, analysis, levels.n_modes, b.modes, error))
    return FALSE;
  for (guint level = 1; level <= levels.n_levels; level++)
    if (!keep_band (rings, &levels, level, &b, error))
      return FALSE;
  return td_rings_add_modes (rings, synthesis, levels.n_modes, b.bands, error);
}

const TdStepKind td_step_rings_wavelet = {
  .name = "rings-wavelet",
  .title = N_ ("Rings: wavelets and Fourier"),
  .summary = N_ ("Damps low frequencies along the angle in the wavelet details across columns."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (parameters),
  .workspace_bytes = step_rings_wavelet_workspace_bytes,
  .run = td_rings_run,
  .row_bytes = step_rings_wavelet_row_bytes,
  .run_chunk = step_rings_wavelet_run_chunk,
};
