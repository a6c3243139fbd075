/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/device/host.h"
#include "kernels/params.h"
#include "rings-axis.h"
#include "rings-noise.h"
#include "rings-offsets.h"
#include "rings-shade.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * The step to begin with. A pixel's gain adds the same to its column in every view; the object does
 * not. So the median over the views of a column's second difference across columns is that of the
 * offsets sought, however sharp the object's edges are. Where there is noise, rings-noise.h has a
 * better estimate.
 *
 * The device finds the medians and how certain they are. rings-offsets.h finds from them what each
 * column adds. rings-shade.h finds the part that too many neighbouring columns share. The device
 * subtracts both and bridges the dead columns.
 */
enum { SIZE, THRESHOLD, DEAD };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Reach (columns)"),
             N_ ("How far an offset may be told from its neighbours': larger for strong, wide "
                 "rings, smaller "
                 "where smooth shades come of it."),
             6, 0.5, 50, 1, NULL, TRUE },
  [THRESHOLD]
  = { "threshold", N_ ("Detection threshold (standard errors)"),
      N_ ("0 corrects every column; 3 to 5 leave a scan without rings alone."), 4, 0, 20, 1, NULL },
  [DEAD] = { "dead", N_ ("Detection threshold of dead pixels"),
             N_ ("Bridges pixels that vary so many times less, or more, along the turn than those "
                 "around do."),
             3, 1.5, 100, 1, NULL },
};

#define MAX_BLOCKS 8  /* as in kernels/rings-sort.cl */
#define LEAST_BLOCK 8 /* views */
#define LEAST_VIEWS 16
#define FOUND 4 /* profiles of kernels/rings-sort.cl */

static guint64
step_rings_row_bytes (const TdScanFacts *facts)
{
  guint64 profiles = FOUND + TD_RINGS_AXIS_MODES + 2; /* and offsets, dead columns */
  profiles += td_rings_shade_bins (facts->n_views);
  return td_rings_lines_bytes (facts, TRUE) + td_rings_profiles_bytes (facts)
         + profiles * sizeof (float) * facts->n_columns;
}

static guint64
step_rings_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_rings_workspace_bytes (n_rows, step_rings_row_bytes (facts))
         + (1 + TD_RINGS_AXIS_MODES) * sizeof (float) * (guint64) facts->n_views;
}

/* ── What the columns show ── */

/* Profiles of a chunk, on the device and on the host. */
typedef struct {
  TdBuffer *found, *modes, *roughness, *offsets, *dead;
  float *host_found, *host_modes, *host_roughness, *host_offsets, *host_dead;
  float *host_bins;           /* NULL: no row needs them */
  float *host_views;          /* for the axis */
  TdRingsAxis *masses, *axes; /* by the centre of mass, and with all that is known */
  TdRingsPair pairs[TD_RINGS_AXIS_PAIRS];
  guint n_pairs;
  guint n_samples;
} Profiles;

static void
profiles_clear (Profiles *profiles)
{
  g_free (profiles->host_found);
  g_free (profiles->host_modes);
  g_free (profiles->host_roughness);
  g_free (profiles->host_offsets);
  g_free (profiles->host_dead);
  g_free (profiles->host_bins);
  g_free (profiles->host_views);
  g_free (profiles->masses);
  g_free (profiles->axes);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Profiles, profiles_clear)

static gboolean
profiles_init (Profiles *profiles, const TdRings *rings, GError **error)
{
  guint n = rings->slab->n_columns;
  gsize floats = (gsize) rings->n_rows * n;

  profiles->host_found = g_new (float, FOUND *floats);
  profiles->host_modes = g_new (float, TD_RINGS_AXIS_MODES *floats);
  profiles->host_roughness = g_new (float, floats);
  profiles->host_offsets = g_new (float, floats);
  profiles->host_dead = g_new (float, floats);
  profiles->masses = g_new (TdRingsAxis, rings->n_rows);
  profiles->axes = g_new (TdRingsAxis, rings->n_rows);
  profiles->n_pairs = td_rings_axis_pairs (td_scan_facts (rings->slab->scan)->angles_rad,
                                           rings->slab->n_views, profiles->pairs);
  profiles->host_views = g_new (float, 4 * profiles->n_pairs * floats);
  return (profiles->found = td_rings_buffer (rings, "rings found", FOUND * n, error))
         && (profiles->modes
             = td_rings_buffer (rings, "rings axis modes", TD_RINGS_AXIS_MODES * n, error))
         && (profiles->roughness = td_rings_buffer (rings, "rings own means", n, error))
         && (profiles->offsets = td_rings_buffer (rings, "rings offsets", n, error))
         && (profiles->dead = td_rings_buffer (rings, "rings marks", n, error));
}

/* Medians of the second differences in all blocks of the views. */
static gboolean
find_medians (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint n_blocks = CLAMP (slab->n_views / LEAST_BLOCK, 1, MAX_BLOCKS), n = slab->n_views / n_blocks;
  const guint n_used = n_blocks * n;
  TdRingsLines lines;

  profiles->n_samples = n_used;
  if (!td_rings_lines (rings, TRUE, &lines, error))
    return FALSE;
  const TdArg turn_args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (lines.lines[0]), TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (n_used),
  };
  if (!td_rings_launch (rings, "rings-sort", "rings_curvature_to_lines", td_rings_tiles (rings),
                        turn_args, G_N_ELEMENTS (turn_args), error)
      || !td_rings_sort_values (rings, &lines, n, slab->n_columns * n_blocks, error))
    return FALSE;
  const TdArg median_args[] = {
    TD_ARG_BUFFER (lines.lines[0]),  TD_ARG_BUFFER (profiles->offsets),
    TD_ARG_BUFFER (profiles->found), TD_ARG_VALUE (n),
    TD_ARG_VALUE (slab->n_columns),  TD_ARG_VALUE (n_blocks),
  };
  return td_rings_launch (rings, "rings-sort", "rings_block_medians", slab->n_columns, median_args,
                          G_N_ELEMENTS (median_args), error);
}

/* The table of the axis; its key is the scan's, which has the same angles as long as it lives. */
static TdBuffer *
axis_table (const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  gsize floats = TD_RINGS_AXIS_MODES * (gsize) slab->n_views;
  TdBuffer *buffer = td_slab_buffer (slab, "rings axis table", floats * sizeof (float), error);

  if (!buffer || td_slab_kept (slab, "rings axis table"))
    return buffer;
  float *table = g_new (float, floats);
  td_rings_axis_table (td_scan_facts (slab->scan)->angles_rad, slab->n_views, table);
  td_slab_keep (slab, "rings axis table", table, g_free);
  return td_slab_upload (slab, buffer, table, floats * sizeof (float), error) ? buffer : NULL;
}

/* The views of all rows that tell the axis. */
static gboolean
fetch_views (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  gsize n = slab->n_columns;
  float *to = profiles->host_views;

  for (guint row = 0; row < rings->n_rows; row++)
    for (guint i = 0; i < profiles->n_pairs; i++)
      for (guint k = 0; k < 2; k++, to += 2 * n) {
        guint64 from
            = ((guint64) (rings->first_row + row) * slab->n_views + profiles->pairs[i].views[k])
              * n;
        if (!td_download (slab->queue, to, slab->data, from * sizeof (float),
                          2 * n * sizeof (float), error))
          return FALSE;
      }
  return TRUE;
}

/* How the medians are to be told, by the noise; in the place of the offsets, which come later. */
static gboolean
send_bounds (const TdRings *rings, Profiles *profiles, GError **error)
{
  TdSlab *slab = rings->slab;
  gsize n = slab->n_columns;
  guint64 bytes = (guint64) rings->n_rows * n * sizeof (float);

  if (!td_download (slab->queue, profiles->host_modes, profiles->modes, 0,
                    TD_RINGS_AXIS_MODES * bytes, error)
      || !td_download (slab->queue, profiles->host_roughness, profiles->roughness, 0, bytes, error)
      || !fetch_views (rings, profiles, error) || !td_queue_finish (slab->queue, error))
    return FALSE;
  for (guint row = 0; row < rings->n_rows; row++)
    td_rings_noise_bounds (profiles->host_modes + TD_RINGS_AXIS_MODES * row * n,
                           profiles->host_roughness + row * n, slab->n_columns, slab->n_views,
                           profiles->host_offsets + row * n);
  return td_slab_upload (slab, profiles->offsets, profiles->host_offsets, bytes, error);
}

static gboolean
step_rings_measure (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  TdBuffer *table = axis_table (rings, error);
  guint64 bytes = (guint64) rings->n_rows * slab->n_columns * sizeof (float);

  return table && td_rings_project (rings, table, TD_RINGS_AXIS_MODES, profiles->modes, error)
         && td_rings_roughness (rings, TD_RINGS_ROUGHNESS, profiles->roughness, error)
         && send_bounds (rings, profiles, error) && find_medians (rings, profiles, error)
         && td_download (slab->queue, profiles->host_found, profiles->found, 0, FOUND * bytes,
                         error)
         && td_queue_finish (slab->queue, error);
}

/* ── What is done about it ── */

typedef struct {
  const TdRings *rings;
  const TdStep *step;
  Profiles *profiles;
} Decision;

static void
decide_row (guint row, gpointer data)
{
  const Decision *decision = data;
  const Profiles *profiles = decision->profiles;
  const TdSlab *slab = decision->rings->slab;
  gsize n = slab->n_columns, at = row * n;
  const float *found = profiles->host_found + FOUND * at;
  const TdRingsAxis mass = td_rings_axis (profiles->host_modes + TD_RINGS_AXIS_MODES * at,
                                          slab->n_columns, td_scan_facts (slab->scan)->angles_rad,
                                          slab->n_views, td_rings_size (found, slab->n_columns));
  const TdRingsColumns columns = {
    .n_columns = slab->n_columns,
    .n_samples = profiles->n_samples,
    .axis
    = td_rings_axis_refine (mass, profiles->pairs, profiles->n_pairs,
                            profiles->host_views + 4 * profiles->n_pairs * at, slab->n_columns),
    .medians = found,
    .spreads = found + n,
    .widths = found + 2 * n,
    .skews = found + 3 * n,
    .roughness = profiles->host_roughness + at,
  };
  const double *values = decision->step->values;
  const TdRingsLimits limits = { values[SIZE], values[THRESHOLD], values[DEAD] };

  profiles->masses[row] = mass;
  profiles->axes[row]
      = td_rings_offsets (&columns, &limits, profiles->host_offsets + at, profiles->host_dead + at);
}

/* ── Shade ── */

/* Slices of a cone beam are not of one row. */
static guint
half_turns (const TdSlab *slab)
{
  const TdScanFacts *facts = td_scan_facts (slab->scan);

  return facts->geometry.beam == TD_BEAM_PARALLEL
             ? td_rings_half_turns (facts->angles_rad, slab->n_views)
             : 0;
}

static gboolean
has_shade (const Profiles *profiles, const TdSlab *slab, guint row)
{
  return isfinite (profiles->axes[row].axis)
         && td_rings_have_shade (profiles->host_offsets + (gsize) row * slab->n_columns,
                                 slab->n_columns);
}

/* What of the offsets is too broad for their neighbours to tell. */
static void
decide_shade (guint row, gpointer data)
{
  const Decision *decision = data;
  const Profiles *profiles = decision->profiles;
  const TdSlab *slab = decision->rings->slab;
  gsize n = slab->n_columns;
  guint n_bins = td_rings_shade_bins (slab->n_views);
  const TdRingsShade shade = {
    .turn = { slab->n_columns, n_bins, half_turns (slab), profiles->axes[row].axis },
    .reach = decision->step->values[SIZE],
    .sinogram = profiles->host_bins + row * n_bins * n,
    .dead = profiles->host_dead + row * n,
    .sums = profiles->host_modes + TD_RINGS_AXIS_MODES * row * n,
    .n_views = slab->n_views,
    .moment = td_rings_axis_moment (profiles->masses[row], profiles->axes[row]),
    .moment_error = td_rings_axis_moment_error (profiles->masses[row], profiles->axes[row]),
  };

  if (has_shade (profiles, slab, row))
    td_rings_add_shade (&shade, profiles->host_offsets + row * n);
}

/* The views of a few neighbours together, if there is a row that needs them. */
static gboolean
fetch_bins (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint n_bins = td_rings_shade_bins (slab->n_views), lanes = td_rings_lanes (rings), row = 0;
  guint64 floats = (guint64) n_bins * slab->n_columns;

  while (row < rings->n_rows && !has_shade (profiles, slab, row))
    row++;
  if (row == rings->n_rows || half_turns (slab) == 0)
    return TRUE;
  TdBuffer *bins = td_rings_buffer (rings, "rings bins", floats, error);
  if (!bins)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (bins),           TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (n_bins),
  };
  profiles->host_bins = g_new (float, rings->n_rows *floats);
  return td_rings_launch (rings, "rings-columns", "rings_bin_views",
                          (guint64) n_bins * ((slab->n_columns + lanes - 1) / lanes), args,
                          G_N_ELEMENTS (args), error)
         && td_download (slab->queue, profiles->host_bins, bins, 0,
                         rings->n_rows * floats * sizeof (float), error)
         && td_queue_finish (slab->queue, error);
}

static void
fill_ones (float *ones, const double *made_for)
{
  for (guint view = 0; view < (guint) made_for[0]; view++)
    ones[view] = 1;
}

static gboolean
step_rings_run_chunk (const TdRings *rings, gconstpointer user, GError **error)
{
  TdSlab *slab = rings->slab;
  const double ones_for[TD_RINGS_TABLE_KEYS] = { slab->n_views };
  guint64 bytes = (guint64) rings->n_rows * slab->n_columns * sizeof (float);
  g_auto (Profiles) profiles = { 0 };
  Decision decision = { rings, user, &profiles };
  TdBuffer *ones = td_rings_table (slab, "rings ones", ones_for, slab->n_views, fill_ones, error);

  if (!ones || !profiles_init (&profiles, rings, error)
      || !step_rings_measure (rings, &profiles, error))
    return FALSE;
  td_parallel_for (rings->n_rows, decide_row, &decision);
  if (!fetch_bins (rings, &profiles, error))
    return FALSE;
  if (profiles.host_bins)
    td_parallel_for (rings->n_rows, decide_shade, &decision);
  for (gsize i = 0; i < bytes / sizeof (float); i++)
    profiles.host_offsets[i] *= -1; /* to be added */
  return td_slab_upload (slab, profiles.offsets, profiles.host_offsets, bytes, error)
         && td_slab_upload (slab, profiles.dead, profiles.host_dead, bytes, error)
         && td_rings_add_modes (rings, ones, 1, profiles.offsets, error)
         && td_rings_bridge (rings, profiles.dead, error);
}

static gboolean
step_rings_run (const TdStep *step, TdSlab *slab, GError **error)
{
  /* What stays the same cannot be told from so little. */
  if (slab->n_views < LEAST_VIEWS)
    return TRUE;
  return td_rings_each (slab, step_rings_row_bytes (td_scan_facts (slab->scan)),
                        step_rings_run_chunk, step, error);
}

const TdStepKind td_step_rings = {
  .name = "rings",
  .title = N_ ("Rings"),
  .summary
  = N_ ("Removes rings where there are any: what a pixel adds to all views, and dead pixels."),
  .stage = TD_STEP_ABSORPTION,
  .parameters = parameters,
  .n_parameters = G_N_ELEMENTS (parameters),
  .workspace_bytes = step_rings_workspace_bytes,
  .run = step_rings_run,
};
