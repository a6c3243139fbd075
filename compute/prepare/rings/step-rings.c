/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <math.h>

#include "compute/device/host.h"
#include "kernels/params.h"
#include "rings-axis.h"
#include "rings-offsets.h"
#include "rings-shade.h"
#include "rings.h"
#include "compute/prepare/steps.h"

/**
 * The step to begin with. A pixel's gain adds the same to its column in every view; the object does
 * not. So the median over the views of a column's second difference across columns is that of the
 * offsets sought, however sharp the object's edges are. Where there is noise, rings-offsets.h has a
 * better estimate.
 *
 * The device finds the medians and how certain they are. From these, the host finds what each
 * column adds (rings-offsets.h) and the part that too many neighbouring columns share
 * (rings-shade.h). The device subtracts both and bridges the dead columns.
 */
enum { SIZE, THRESHOLD, DEAD };

static const TdStepParameter parameters[] = {
  [SIZE] = { "size", N_ ("Reach (columns)"),
             N_ ("How far an offset may be told from its neighbours': larger for strong, wide "
                 "rings, smaller where smooth shades come of it."),
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
#define TILE_VIEWS 8  /* as in kernels/rings-sort.cl */
#define LEAST_VIEWS 16
#define FEW_ROWS 16
#define RANKS 4 /* of each block there */
#define ARCS 32 /* of the turn, or more: two edges of an object seldom share one */

/* Places of the second differences: kernels/rings-sort.cl. */
static guint64
curvature_floats (guint n_views, guint n_columns)
{
  return (guint64) n_views * ((n_columns + TD_SORT_LANES - 1) / TD_SORT_LANES) * TD_SORT_LANES;
}

static guint
arc_views (guint n_views)
{
  return MAX (n_views / ARCS, 1);
}

static guint64
step_rings_row_bytes (const TdStep *step, const TdScanFacts *facts)
{
  guint64 profiles
      = TD_RINGS_FOUND + TD_RINGS_AXIS_MODES + 3; /* and offsets, dead columns, locations */
  profiles += 4 * TD_RINGS_AXIS_PAIRS + RANKS * MAX_BLOCKS;
  profiles += facts->n_views / arc_views (facts->n_views);
  return td_rings_shade_row_bytes (facts) + td_rings_profiles_bytes (facts)
         + sizeof (float)
               * (profiles * facts->n_columns
                  + curvature_floats (facts->n_views, facts->n_columns));
}

/* As many rows as other steps take, or half of the slab, or all of a small one. Where a graphics
   card solves equations for each row, only many rows at once keep it busy. */
static guint
step_rings_rows (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  guint64 bytes = td_rings_workspace_bytes (step, facts, n_rows);
  guint half = MAX ((n_rows + 1) / 2, MIN (n_rows, FEW_ROWS));
  return MAX (bytes / step_rings_row_bytes (step, facts), half);
}

static guint64
step_rings_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return step_rings_rows (step, facts, n_rows) * step_rings_row_bytes (step, facts)
         + td_rings_shade_bytes (facts) + 2 * TD_RINGS_AXIS_PAIRS * sizeof (int)
         + (1 + TD_RINGS_AXIS_MODES) * sizeof (float) * (guint64) facts->n_views;
}

/* What stays the same in all views cannot be told from few. */
static TdMessage *
step_rings_falls_short (const TdStep *step, const TdScanFacts *facts)
{
  if (facts->n_views < LEAST_VIEWS)
    return td_message_new ("{prepare=rings} leaves the scan as it is: in fewer than %u views rings "
                           "cannot be told from the object.",
                           LEAST_VIEWS);
  if (facts->geometry.beam == TD_BEAM_PARALLEL
      && td_rings_half_turns (facts->angles_rad, facts->n_views) == 0)
    return td_message_new ("{prepare=rings} leaves broad shades: to tell them from the object it "
                           "takes %u views or more, spread evenly over half a turn or a whole one, "
                           "the end point left out.",
                           TD_RINGS_SHADE_VIEWS);
  return NULL;
}

/* ── What the columns show ── */

/* Profiles of rows, on the device and on the host. Pieces of a chunk take turns on the device. */
typedef struct {
  TdBuffer *found, *modes, *roughness, *offsets, *dead;
  float *host_found, *host_modes, *host_roughness, *host_bounds, *host_offsets, *host_dead;
  float *host_views;          /* for the axis */
  TdRingsAxis *masses, *axes; /* by the centre of mass, and with all that is known; own */
  TdRingsPair pairs[TD_RINGS_AXIS_PAIRS];
  guint n_pairs;
  guint n_samples;
} Profiles;

static void
profiles_clear (Profiles *profiles)
{
  g_free (profiles->masses);
  g_free (profiles->axes);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Profiles, profiles_clear)

/* Memory for transfers, which is kept: to pin it takes longer than what it is for. */
typedef struct {
  TdDevice *device;
  guint64 bytes;
  void *memory;
} Transfers;

static void
transfers_free (gpointer data)
{
  Transfers *transfers = data;

  td_device_host_free (transfers->device, transfers->memory);
  td_device_unref (transfers->device);
  g_free (transfers);
}

static float *
step_rings_transfers (TdSlab *slab, guint64 bytes, GError **error)
{
  const Transfers *held = td_slab_kept (slab, "rings transfers");

  if (held && held->bytes >= bytes)
    return held->memory;
  /* The queue may still read what was held. */
  void *memory = td_queue_finish (slab->queue, error)
                     ? td_device_host_alloc (slab->device, bytes, error)
                     : NULL;
  if (!memory)
    return NULL;
  Transfers *made = g_new (Transfers, 1);
  *made = (Transfers) { td_device_ref (slab->device), bytes, memory };
  td_slab_keep (slab, "rings transfers", made, transfers_free);
  return memory;
}

static gboolean
profiles_init (Profiles *profiles, const TdRings *rings, GError **error)
{
  const guint n = rings->slab->n_columns;
  const gsize floats = (gsize) rings->n_rows * n;

  profiles->n_pairs = td_rings_axis_pairs (td_scan_facts (rings->slab->scan)->angles_rad,
                                           rings->slab->n_views, profiles->pairs);
  const gsize profiles_held = TD_RINGS_FOUND + TD_RINGS_AXIS_MODES + 4 + 4 * profiles->n_pairs;
  float *at = step_rings_transfers (rings->slab, profiles_held * floats * sizeof *at, error);
  if (!at)
    return FALSE;
  profiles->host_found = at;
  profiles->host_modes = (at += TD_RINGS_FOUND * floats);
  profiles->host_roughness = (at += TD_RINGS_AXIS_MODES * floats);
  profiles->host_bounds = (at += floats);
  profiles->host_offsets = (at += floats);
  profiles->host_dead = (at += floats);
  profiles->host_views = at + floats;
  profiles->masses = g_new (TdRingsAxis, rings->n_rows);
  profiles->axes = g_new (TdRingsAxis, rings->n_rows);
  return (profiles->found = td_rings_buffer (rings, "rings found", TD_RINGS_FOUND * n, error))
         && (profiles->modes
             = td_rings_buffer (rings, "rings axis modes", TD_RINGS_AXIS_MODES * n, error))
         && (profiles->roughness = td_rings_buffer (rings, "rings own means", n, error))
         && (profiles->offsets = td_rings_buffer (rings, "rings offsets", n, error))
         && (profiles->dead = td_rings_buffer (rings, "rings marks", n, error));
}

/* Some rows of a chunk, on their way. */
typedef struct {
  TdRings rings;
  const TdStep *step;
  Profiles profiles; /* theirs on the host, the chunk's on the device */
  TdEvent *done;     /* what was asked of the device last */
} Piece;

static Piece
step_rings_piece (const TdRings *rings, const TdStep *step, const Profiles *all, guint first,
                  guint n_rows)
{
  Piece piece = { { rings->slab, rings->first_row + first, n_rows }, step, *all, NULL };
  const gsize at = (gsize) first * rings->slab->n_columns;

  piece.profiles.host_found += TD_RINGS_FOUND * at;
  piece.profiles.host_modes += TD_RINGS_AXIS_MODES * at;
  piece.profiles.host_roughness += at;
  piece.profiles.host_bounds += at;
  piece.profiles.host_offsets += at;
  piece.profiles.host_dead += at;
  piece.profiles.host_views += 4 * all->n_pairs * at;
  piece.profiles.masses += first;
  piece.profiles.axes += first;
  return piece;
}

static gboolean
piece_mark (Piece *piece, GError **error)
{
  g_clear_pointer (&piece->done, td_event_free);
  return (piece->done = td_event_record (piece->rings.slab->queue, error)) != NULL;
}

static guint
n_parts_of (guint n_views)
{
  return CLAMP (n_views / LEAST_BLOCK, 1, MAX_BLOCKS);
}

/* Medians of the second differences in all blocks of the views. */
static gboolean
find_medians (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint n_blocks = n_parts_of (slab->n_views), n = slab->n_views / n_blocks;
  guint lanes = td_rings_lanes (rings) > 1 ? TD_SORT_LANES : 1;
  const guint64 n_items = (slab->n_columns + lanes - 1) / lanes;
  const guint n_used = n_blocks * n;
  TdBuffer *keys = td_rings_buffer (rings, "rings curvature",
                                    curvature_floats (slab->n_views, slab->n_columns), error);

  const guint64 block_ranks = (guint64) RANKS * n_blocks * slab->n_columns;
  TdBuffer *ranked = keys ? td_rings_buffer (rings, "rings ranks", block_ranks, error) : NULL;
  const guint group_items = td_slab_group_items (slab);
  const guint64 groups = (guint64) (slab->n_columns + TD_SORT_LANES - 1) / TD_SORT_LANES * n_blocks;

  profiles->n_samples = n_used;
  if (!ranked)
    return FALSE;
  return td_rings_launch (
             rings, "rings-sort", "rings_curvature",
             n_items * ((n_used + TILE_VIEWS - 1) / TILE_VIEWS),
             TD_ARGS (slab->data, keys, rings->first_row, slab->n_views, slab->n_columns, n_used),
             error)
         && (lanes > 1
             || td_rings_launch (rings, "rings-ranks", "rings_block_ranks", groups * group_items,
                                 TD_ARGS (keys, ranked, n, slab->n_columns, n_blocks, group_items),
                                 error))
         && td_rings_launch (rings, "rings-sort", "rings_block_medians", n_items,
                             TD_ARGS (keys, ranked, profiles->found, n, slab->n_columns, n_blocks),
                             error);
}

/* Where there is noise, what most arcs of the turn have in common takes the place of the medians.
 */
static gboolean
find_common (const TdRings *rings, Profiles *profiles, GError **error)
{
  const TdSlab *slab = rings->slab;
  const guint n = slab->n_columns, lanes = td_rings_lanes (rings), blocks = (n + lanes - 1) / lanes;
  const guint length = arc_views (slab->n_views), n_arcs = slab->n_views / length;
  const float share = 1 / sqrtf (length);
  TdBuffer *arcs = td_rings_buffer (rings, "rings arcs", (guint64) n_arcs * n, error);
  TdBuffer *located = arcs ? td_rings_buffer (rings, "rings located", n, error) : NULL;

  if (!located)
    return FALSE;
  return td_rings_launch (
             rings, "rings-columns", "rings_sum_arcs", (guint64) n_arcs * blocks,
             TD_ARGS (slab->data, arcs, rings->first_row, slab->n_views, n, length, n_arcs), error)
         && td_rings_launch (
             rings, "rings-columns", "rings_locate_arcs", blocks,
             TD_ARGS (arcs, profiles->offsets, profiles->found, located, n, n_arcs, share), error)
         && td_rings_launch (
             rings, "rings-columns", "rings_mean_arcs", n,
             TD_ARGS (arcs, profiles->offsets, located, profiles->found, n, n_arcs, share), error);
}

/* The table of the axis; its key is the scan's, which has the same angles as long as it lives. */
static TdBuffer *
axis_table (const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  gsize floats = TD_RINGS_AXIS_MODES * (gsize) slab->n_views;

  if (td_slab_kept (slab, "rings axis table"))
    return td_slab_buffer (slab, "rings axis table", 0, error);
  g_autofree float *table = g_new (float, floats);
  td_rings_axis_table (td_scan_facts (slab->scan)->angles_rad, slab->n_views, table);
  TdBuffer *buffer = td_slab_send (slab, "rings axis table", table, floats * sizeof (float), error);
  if (buffer)
    td_slab_keep (slab, "rings axis table", g_steal_pointer (&table), g_free);
  return buffer;
}

/* The pairs' first views; kept as the table of the axis is. */
static TdBuffer *
axis_views (const TdRings *rings, const Profiles *profiles, GError **error)
{
  TdSlab *slab = rings->slab;
  const gsize bytes = 2 * TD_RINGS_AXIS_PAIRS * sizeof (int);

  if (td_slab_kept (slab, "rings axis views"))
    return td_slab_buffer (slab, "rings axis views", 0, error);
  g_autofree int *first = g_malloc0 (bytes);
  for (guint i = 0; i < 2 * profiles->n_pairs; i++)
    first[i] = (int) profiles->pairs[i / 2].views[i % 2];
  TdBuffer *buffer = td_slab_send (slab, "rings axis views", first, bytes, error);
  if (buffer)
    td_slab_keep (slab, "rings axis views", g_steal_pointer (&first), g_free);
  return buffer;
}

/* Enqueues: the views of all rows that tell the axis. */
static gboolean
fetch_views (const TdRings *rings, Profiles *profiles, GError **error)
{
  TdSlab *slab = rings->slab;
  const guint n_taken = 4 * profiles->n_pairs;

  if (n_taken == 0)
    return TRUE;
  TdBuffer *views = axis_views (rings, profiles, error);
  TdBuffer *taken = views ? td_rings_buffer (rings, "rings axis taken",
                                             (guint64) n_taken * slab->n_columns, error)
                          : NULL;
  if (!taken)
    return FALSE;
  return td_rings_launch (rings, "rings-columns", "rings_take_views",
                          (guint64) n_taken * slab->n_columns,
                          TD_ARGS (slab->data, views, taken, rings->first_row, slab->n_views,
                                   slab->n_columns, n_taken),
                          error)
         && td_download (slab->queue, profiles->host_views, taken, 0,
                         (guint64) rings->n_rows * n_taken * slab->n_columns * sizeof (float),
                         error);
}

static void
find_bounds (guint row, gpointer data)
{
  const Piece *piece = data;
  const Profiles *profiles = &piece->profiles;
  const guint n = piece->rings.slab->n_columns;
  const gsize at = (gsize) row * n;

  td_rings_noise_bounds (profiles->host_modes + TD_RINGS_AXIS_MODES * at,
                         profiles->host_roughness + at, n, piece->rings.slab->n_views,
                         profiles->host_bounds + at);
}

static guint64
piece_bytes (const Piece *piece)
{
  return (guint64) piece->rings.n_rows * piece->rings.slab->n_columns * sizeof (float);
}

/* Enqueues: the sums over the views. */
static gboolean
step_rings_sum_up (Piece *piece, TdBuffer *table, GError **error)
{
  const TdRings *rings = &piece->rings;
  TdQueue *queue = rings->slab->queue;
  Profiles *profiles = &piece->profiles;
  const guint64 bytes = piece_bytes (piece);

  return td_rings_project (rings, table, TD_RINGS_AXIS_MODES, profiles->modes, error)
         && td_rings_roughness (rings, TD_RINGS_ROUGHNESS, profiles->roughness, error)
         && td_download (queue, profiles->host_modes, profiles->modes, 0,
                         TD_RINGS_AXIS_MODES * bytes, error)
         && td_download (queue, profiles->host_roughness, profiles->roughness, 0, bytes, error)
         && fetch_views (rings, profiles, error) && piece_mark (piece, error);
}

/* How the medians are to be told, by the noise, and enqueues these. On the device the bounds lie in
   the place of the offsets, which come later. */
static gboolean
step_rings_rank (Piece *piece, GError **error)
{
  const TdRings *rings = &piece->rings;
  TdSlab *slab = rings->slab;
  Profiles *profiles = &piece->profiles;
  const guint64 bytes = piece_bytes (piece);

  if (!td_event_sync (piece->done, error) || !td_slab_mark (slab, "copies", error))
    return FALSE;
  td_parallel_for (rings->n_rows, find_bounds, piece);
  return td_slab_mark (slab, "host: bounds of noise", error)
         && td_upload (slab->queue, profiles->offsets, 0, profiles->host_bounds, bytes, error)
         && find_medians (rings, profiles, error) && find_common (rings, profiles, error)
         && td_download (slab->queue, profiles->host_found, profiles->found, 0,
                         TD_RINGS_FOUND * bytes, error)
         && piece_mark (piece, error);
}

/* ── What is done about it ── */

static void
decide_row (guint row, gpointer data)
{
  const Piece *piece = data;
  const Profiles *profiles = &piece->profiles;
  const TdSlab *slab = piece->rings.slab;
  gsize n = slab->n_columns, at = row * n;
  const float *found = profiles->host_found + TD_RINGS_FOUND * at;
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
    .shares = found + 4 * n,
    .roughness = profiles->host_roughness + at,
    .bounds = profiles->host_bounds + at,
    .n_parts = n_parts_of (slab->n_views),
    .tallest = td_rings_tallest (profiles->host_modes + TD_RINGS_AXIS_MODES * at, slab->n_columns,
                                 slab->n_views),
  };
  const double *values = piece->step->values;
  const TdRingsLimits limits = { values[SIZE], values[THRESHOLD], values[DEAD] };

  profiles->masses[row] = mass;
  profiles->axes[row]
      = td_rings_offsets (&columns, &limits, profiles->host_offsets + at, profiles->host_dead + at);
}

static gboolean
step_rings_decide (Piece *piece, GError **error)
{
  if (!td_event_sync (piece->done, error) || !td_slab_mark (piece->rings.slab, "copies", error))
    return FALSE;
  td_parallel_for (piece->rings.n_rows, decide_row, piece);
  return td_slab_mark (piece->rings.slab, "host: offsets", error);
}

/* What the columns of all rows add. While the host looks at one piece, a card has the other. */
static gboolean
step_rings_look (const TdRings *rings, const TdStep *step, Profiles *profiles, GError **error)
{
  const gboolean whole = td_device_info (rings->slab->device)->cpu_shaped || rings->n_rows < 2;
  const guint first = whole ? rings->n_rows : (rings->n_rows + 1) / 2, n = whole ? 1 : 2;
  Piece pieces[] = { step_rings_piece (rings, step, profiles, 0, first),
                     step_rings_piece (rings, step, profiles, first, rings->n_rows - first) };
  TdBuffer *table = axis_table (rings, error);
  gboolean ok = table != NULL;

  for (guint i = 0; ok && i < n; i++)
    ok = step_rings_sum_up (&pieces[i], table, error);
  for (guint i = 0; ok && i < n; i++)
    ok = step_rings_rank (&pieces[i], error);
  for (guint i = 0; ok && i < n; i++)
    ok = step_rings_decide (&pieces[i], error);
  for (guint i = 0; i < n; i++)
    td_event_free (pieces[i].done);
  return ok;
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

static void
fill_ones (float *ones, const double *made_for)
{
  for (guint view = 0; view < (guint) made_for[0]; view++)
    ones[view] = 1;
}

static gboolean
step_rings_run_chunk (const TdStep *step, const TdRings *rings, GError **error)
{
  TdSlab *slab = rings->slab;
  const double ones_for[TD_RINGS_TABLE_KEYS] = { slab->n_views };
  guint64 bytes = (guint64) rings->n_rows * slab->n_columns * sizeof (float);
  g_auto (Profiles) profiles = { 0 };
  TdBuffer *ones = td_rings_table (slab, "rings ones", ones_for, slab->n_views, fill_ones, error);

  if (!ones || !profiles_init (&profiles, rings, error)
      || !step_rings_look (rings, step, &profiles, error))
    return FALSE;
  const TdRingsShade shade = {
    .half_turns = half_turns (slab),
    .reach = step->values[SIZE],
    .dead = profiles.host_dead,
    .sums = profiles.host_modes,
    .masses = profiles.masses,
    .axes = profiles.axes,
  };
  if (!td_rings_add_shade (rings, &shade, profiles.host_offsets, error))
    return FALSE;
  for (gsize i = 0; i < bytes / sizeof (float); i++)
    profiles.host_offsets[i] *= -1; /* to be added */
  return td_upload (slab->queue, profiles.offsets, 0, profiles.host_offsets, bytes, error)
         && td_slab_upload (slab, profiles.dead, profiles.host_dead, bytes, error)
         && td_rings_add_modes (rings, ones, 1, profiles.offsets, error)
         && td_rings_apply (rings, "rings_bridge", profiles.dead, error);
}

static gboolean
step_rings_run (const TdStep *step, TdSlab *slab, GError **error)
{
  /* The plan says so: step_rings_falls_short(). */
  if (slab->n_views < LEAST_VIEWS)
    return TRUE;
  guint most = step_rings_rows (step, td_scan_facts (slab->scan), slab->n_rows);
  return td_rings_run_rows (step, slab, most, error);
}

const TdStepKind td_step_rings = {
  .name = "rings",
  .title = N_ ("Rings"),
  .summary
  = N_ ("Removes rings where there are any: what a pixel adds to all views, and dead pixels."),
  .stage = TD_STEP_ABSORPTION,
  TD_STEP_PARAMETERS (parameters),
  .falls_short = step_rings_falls_short,
  .workspace_bytes = step_rings_workspace_bytes,
  .run = step_rings_run,
  .row_bytes = step_rings_row_bytes,
  .run_chunk = step_rings_run_chunk,
};
