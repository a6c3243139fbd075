/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-shade.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/row-filter.h"
#include "kernels/params.h"
#include "rings-offsets.h"

#define MOST_BINS 256
#define LAG 3    /* columns a slope is taken over */
#define FINE 768 /* places of wider rows are LAG columns apart, else one */
#define ROUNDS 3
#define AROUND 32    /* columns that offsets are compared over */
#define DRAWS 4      /* rows of random offsets that say how steep shade is */
#define LEAK 2e-3    /* in -log, what objects leave in offsets */
#define NO_AIR 4.0   /* times as much as offsets of that size */
#define LEAST 2e-4   /* in -log, of an offset */
#define KNOWN 4      /* numbers of a knot that the host finds; as in kernels/rings-shade.cl */
#define FILTERED 256 /* rows at a time: the same FFTs, and so the same bits, for every slab */

guint
td_rings_half_turns (const double *angles_rad, guint n_views)
{
  if (n_views < TD_RINGS_SHADE_VIEWS)
    return 0;
  double step = (angles_rad[n_views - 1] - angles_rad[0]) / (n_views - 1),
         turns = fabs (step) * n_views / G_PI;
  for (guint view = 0; view < n_views; view++)
    if (fabs (angles_rad[view] - angles_rad[0] - step * view) > 2 * fabs (step))
      return 0;
  guint whole = (guint) (turns + 0.5);
  return fabs (turns - whole) < 0.01 && whole <= 2 ? whole : 0;
}

guint
td_rings_shade_bins (guint n_views)
{
  guint views = (n_views + MOST_BINS - 1) / MOST_BINS;
  return (n_views + views / 2) / MAX (views, 1);
}

static gboolean
has_shade (const float *offsets, guint n_columns)
{
  guint count = 0;

  for (guint c = 0; c < n_columns; c++)
    count += fabsf (offsets[c]) > LEAST;
  return count > n_columns / 4;
}

static TdShadeParams
shade_params (guint n_columns, guint n_views, guint half_turns)
{
  guint n_bins = td_rings_shade_bins (n_views), spacing = n_columns > FINE ? LAG : 1;
  guint n_knots = (n_columns - 1) / TD_SHADE_KNOTS + 2;

  return (TdShadeParams) {
    .n_columns = n_columns,
    .n_bins = n_bins,
    .bin_rows = n_bins + n_bins % 2, /* two rows are filtered together: both of one slot */
    .per_half = n_bins / MAX (half_turns, 1),
    .n_knots = n_knots,
    .padded = (n_knots + TD_SHADE_TILE - 1) / TD_SHADE_TILE * TD_SHADE_TILE,
    .spacing = spacing,
    .lag = LAG / spacing,
    .max_places = 2 * ((n_columns - 1) / 2 / spacing) + 1,
    .slope_scale = (float) (G_PI / n_bins),
  };
}

static TdShadeRow
shade_row (const TdShadeParams *p, double axis)
{
  double radius = MIN (axis, p->n_columns - 1 - axis);
  int reach = (int) (radius / p->spacing);

  return (TdShadeRow) { reach, 2 * reach + 1, 2 * reach + 1 - p->lag, 0, (float) axis };
}

/* Neighbours have the same places, unless the axis is tilted. */
static int
shade_like (const TdShadeRow *rows, guint slot)
{
  const TdShadeRow *row = &rows[slot], *above = row - 1;

  return slot > 0 && above->reach == row->reach && above->axis == row->axis ? above->like
                                                                            : (int) slot;
}

/* ── Buffers ── */

enum {
  ROWS,
  LIST,
  OFFSETS,
  DEAD,
  KNOWN_PLACE,
  DRAWN,
  BINS,
  PLACES,
  RINGS,
  STEEP, /* places of what was drawn, and then of the knots */
  RESPONSE,
  SQUARES,
  TALLEST,
  COMMON,
  WEIGHTS,
  SOUND,
  TARGETS,
  EQUATIONS,
  KNOTS,
  LINES,
  N_PLACES
};

static const char *const keys[N_PLACES] = {
  "rings shade rows",    "rings shade list",      "rings shade offsets",  "rings shade dead",
  "rings shade known",   "rings shade drawn",     "rings shade bins",     "rings shade places",
  "rings shade rings",   "rings shade steep",     "rings shade response", "rings shade squares",
  "rings shade tallest", "rings shade common",    "rings shade weights",  "rings shade sound",
  "rings shade targets", "rings shade equations", "rings shade knots",    "rings shade lines",
};

/* Floats of a slot. */
static guint64
shade_floats (const TdShadeParams *p, guint place)
{
  const guint64 n = p->n_columns, lines = (guint64) TD_SHADE_DIRECTIONS * p->max_places;
  const guint64 response = (guint64) p->max_places * p->padded;

  switch (place) {
  case ROWS: return sizeof (TdShadeRow) / sizeof (float);
  case LIST: return 1;
  case OFFSETS:
  case DEAD: return n;
  case KNOWN_PLACE: return 2 * KNOWN * (guint64) p->padded;
  case DRAWN: return DRAWS * n;
  case BINS: return p->bin_rows * n;
  case PLACES:
  case RINGS: return lines;
  case STEEP: return MAX (DRAWS * lines, response);
  case RESPONSE: return response;
  case EQUATIONS: return 2 * (guint64) p->padded * (p->padded + TD_SHADE_TILE);
  case KNOTS: return 2 * (guint64) p->padded;
  case LINES: return 2 * n;
  default: /* doubles of slopes */ return 2 * (guint64) p->max_places;
  }
}

guint64
td_rings_shade_row_bytes (const TdScanFacts *facts)
{
  const TdShadeParams p = shade_params (facts->n_columns, facts->n_views, 1);
  guint64 floats = 0;

  for (guint place = 0; place < N_PLACES; place++)
    floats += shade_floats (&p, place);
  return floats * sizeof (float);
}

guint64
td_rings_shade_bytes (const TdScanFacts *facts)
{
  const TdShadeParams p = shade_params (facts->n_columns, facts->n_views, 1);

  return td_row_filter_workspace_bytes (facts->n_columns, FILTERED)
         + (2 * (guint64) p.n_bins + 2 * TD_SHADE_KNOTS * (guint64) p.padded) * sizeof (float);
}

/* ── Tables ── */

static TdShadeParams
shade_params_of (const double *made_for)
{
  /* A bin more makes no difference to what tables ask. */
  TdShadeParams p = shade_params ((guint) made_for[0], TD_RINGS_SHADE_VIEWS, (guint) made_for[2]);

  p.n_bins = (int) made_for[1];
  p.per_half = p.n_bins / MAX ((int) made_for[2], 1);
  return p;
}

/* Cosines of the angle between bins. */
static void
fill_turns (float *table, const double *made_for)
{
  const TdShadeParams p = shade_params_of (made_for);

  for (int b = 0; b < p.n_bins; b++)
    table[b] = (float) cos (G_PI * made_for[2] * b / p.n_bins);
}

/* In how many of the directions a bin so far away, on either side, exists; and a bin's weight. */
static void
fill_shares (float *table, const double *made_for)
{
  const TdShadeParams p = shade_params_of (made_for);

  for (int apart = 0; apart < p.n_bins; apart++) {
    guint count = 0;
    for (int d = 0; d < TD_SHADE_DIRECTIONS; d++) {
      int own = (2 * d + 1) * p.per_half / (2 * TD_SHADE_DIRECTIONS);
      count += (apart <= own) + (apart > 0 && apart < p.n_bins - own);
    }
    table[apart] = (float) (G_PI / p.n_bins * count / TD_SHADE_DIRECTIONS);
  }
}

static double
ramp_at (gint64 i)
{
  return i == 0 ? 0.25 : i % 2 != 0 ? -1 / (G_PI * G_PI * (double) (i * i)) : 0;
}

/* What a knot of height 1 gives once filtered, by how far knots are from the one at or before a
   column: [column % TD_SHADE_KNOTS][padded + distance]. */
static void
fill_knots (float *table, const double *made_for)
{
  const TdShadeParams p = shade_params_of (made_for);
  guint n = TD_SHADE_KNOTS * ((guint) p.padded + 2);
  g_autofree float *knot = g_new (float, n);

  for (guint c = 0; c < n; c++) {
    double sum = 0;
    for (int i = 1 - TD_SHADE_KNOTS; i < TD_SHADE_KNOTS; i++)
      sum += (1 - abs (i) / (double) TD_SHADE_KNOTS) * ramp_at ((gint64) c - i);
    knot[c] = (float) sum;
  }
  for (int place = 0; place < TD_SHADE_KNOTS; place++)
    for (int k = -p.padded; k < p.padded; k++)
      *table++ = knot[abs (place - k * TD_SHADE_KNOTS)];
}

/* ── What the host finds of each row ── */

/* Takes out of @offsets what td_rings_offsets() finds; @memory: for 2 @n. */
static void
leave_shade (double *offsets, guint n, const double *ones, const double *factors, double *memory)
{
  double *values = memory, *found = memory + n;

  for (guint c = 0; c < n; c++)
    values[c] = 2 * offsets[c] - offsets[c > 0 ? c - 1 : 0] - offsets[MIN (c + 1, n - 1)];
  td_rings_solve_by (factors, values, ones, n, found);
  for (guint c = 0; c < n; c++)
    offsets[c] -= found[c];
}

/* Root of the mean square around each of @n places. */
static void
find_sizes (const float *values, guint n, double *sizes)
{
  g_autofree double *sums = g_new (double, n + 1);

  sums[0] = 0;
  for (guint c = 0; c < n; c++)
    sums[c + 1] = sums[c] + (double) values[c] * values[c];
  for (guint c = 0; c < n; c++) {
    guint from = c > AROUND ? c - AROUND : 0, end = MIN (c + AROUND + 1, n);
    sizes[c] = sqrt (MAX (0, sums[end] - sums[from]) / (end - from));
  }
}

/* A row on its way; the numbers of its columns. */
typedef struct {
  guint n, n_views;
  const float *offsets, *dead, *sums;
  const double *sizes;
  double axis, moment, moment_error;
} ShadeColumns;

/* Offsets show in columns that see nothing but air all the time. */
typedef struct {
  guint left, right; /* columns of air at the row's ends */
  double level;      /* of air, which is not nothing where the flats had another exposure */
} Air;

static double
mean_at (const ShadeColumns *row, guint c)
{
  return row->sums[c] / row->n_views;
}

/* The columns from one end on, until those around are not what offsets make. */
static guint
count_air (const ShadeColumns *row, gboolean right)
{
  guint n = row->n, count = 0;
  double sum = 0;

  for (; count < n / 4; count++) {
    guint c = right ? n - 1 - count : count;
    double value = mean_at (row, c);
    sum += value
           - (count >= TD_SHADE_KNOTS
                  ? mean_at (row, right ? c + TD_SHADE_KNOTS : c - TD_SHADE_KNOTS)
                  : 0);
    guint of = MIN (count + 1, TD_SHADE_KNOTS);
    if (fabs (value) > NO_AIR * row->sizes[c]
        || fabs (sum / of) > 0.75 * NO_AIR * row->sizes[c] / sqrt (of))
      break;
  }
  return count > TD_SHADE_KNOTS ? count - TD_SHADE_KNOTS : 0;
}

static gboolean
is_air (const ShadeColumns *row, const Air *air, guint c)
{
  return (c < air->left || c + air->right >= row->n) && !row->dead[c];
}

static Air
find_air (const ShadeColumns *row)
{
  guint count = 0;
  Air air = { count_air (row, FALSE), count_air (row, TRUE), 0 };
  double sum = 0, size = 0;

  for (guint c = 0; c < row->n; c++) {
    if (!is_air (row, &air, c))
      continue;
    sum += mean_at (row, c);
    size += row->sizes[c];
    count++;
  }
  if (count > 0 && fabs (sum) > NO_AIR * size / sqrt (count))
    air.level = sum / count;
  return air;
}

/* The knots' own sizes, the air and the moment, as equations: @known of kernels/rings-shade.cl. */
static void
find_known (const ShadeColumns *row, const TdShadeParams *p, double *known)
{
  const guint n = p->padded;
  double *diagonal = known, *left = known + n, *right = known + 2 * n, *shared = known + 3 * n;
  double moment = row->moment, weight = 1 / (TD_SHADE_KNOTS * LEAK * LEAK);
  gboolean all = TRUE; /* the moment is that of all columns */
  const Air air = find_air (row);

  memset (known, 0, KNOWN * n * sizeof *known);
  for (guint k = 0; k < n; k++) {
    double size = row->sizes[MIN (k * TD_SHADE_KNOTS, row->n - 1)];
    diagonal[k] = (int) k < p->n_knots ? 1 / (size * size / TD_SHADE_KNOTS + LEAK * LEAK) : 1;
  }
  for (guint c = 0; c < row->n; c++) {
    guint knot = c / TD_SHADE_KNOTS;
    double along = (c % TD_SHADE_KNOTS) / (double) TD_SHADE_KNOTS, before = 1 - along;
    double arm = c - row->axis, value = mean_at (row, c) - air.level - row->offsets[c];
    all = all && !row->dead[c];
    moment -= arm * row->offsets[c];
    shared[knot] += before * arm;
    shared[knot + 1] += along * arm;
    if (!is_air (row, &air, c))
      continue;
    diagonal[knot] += weight * before * before;
    diagonal[knot + 1] += weight * along * along;
    left[knot + 1] += weight * before * along;
    right[knot] += weight * before * value;
    right[knot + 1] += weight * along * value;
  }
  double factor = all && isfinite (row->moment_error) ? 1 / row->moment_error : 0;
  for (guint k = 0; k < n; k++) {
    shared[k] *= factor;
    right[k] += shared[k] * factor * moment;
  }
}

/* ── All rows ── */

typedef struct {
  const TdRings *rings;
  const TdRingsShade *shade;
  const float *offsets; /* [row][column] */
  TdShadeParams params;
  guint n_slots;
  guint *list; /* [slot]: rows of the chunk */
  TdShadeRow *rows;
  float *slot_offsets, *slot_dead, *drawn;
  double *known;
  const double *random;   /* [DRAWS][column], -1 to 1; the slab keeps it */
  double *ones, *factors; /* [column]; td_rings_factor()'s of them, for the reach */
  TdSlab *slab;           /* of the device that does it */
  TdBuffer *places[N_PLACES];
  TdBuffer *turns, *shares, *knots;
  TdRowFilter *ramp;
} Shade;

static void
shade_clear (Shade *shade)
{
  g_free (shade->list);
  g_free (shade->rows);
  g_free (shade->slot_offsets);
  g_free (shade->slot_dead);
  g_free (shade->drawn);
  g_free (shade->known);
  g_free (shade->ones);
  g_free (shade->factors);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Shade, shade_clear)

static void
prepare_slot (guint slot, gpointer data)
{
  const Shade *self = data;
  const TdShadeParams *p = &self->params;
  const guint row = self->list[slot], n = p->n_columns;
  const gsize at = (gsize) row * n, to = (gsize) slot * n;
  const TdRingsAxis mass = self->shade->masses[row], axis = self->shade->axes[row];
  g_autofree double *sizes = g_new (double, n), *drawn = g_new (double, 3 * (gsize) n);
  const ShadeColumns columns = {
    .n = n,
    .n_views = self->rings->slab->n_views,
    .offsets = self->offsets + at,
    .dead = self->shade->dead + at,
    .sums = self->shade->sums + TD_RINGS_AXIS_MODES * at,
    .sizes = sizes,
    .axis = axis.axis,
    .moment = td_rings_axis_moment (mass, axis),
    .moment_error = td_rings_axis_moment_error (mass, axis),
  };

  find_sizes (columns.offsets, n, sizes);
  find_known (&columns, p, self->known + (gsize) slot * KNOWN * p->padded);
  memcpy (self->slot_offsets + to, columns.offsets, n * sizeof (float));
  memcpy (self->slot_dead + to, columns.dead, n * sizeof (float));
  /* As steep as what random offsets of these sizes leave. */
  for (guint i = 0; i < DRAWS; i++) {
    for (guint c = 0; c < n; c++)
      drawn[c] = sizes[c] * self->random[(gsize) i * n + c] * sqrt (3);
    leave_shade (drawn, n, self->ones, self->factors, drawn + n);
    for (guint c = 0; c < n; c++)
      self->drawn[(DRAWS * (gsize) slot + i) * n + c] = (float) drawn[c];
  }
}

static void
shade_factor (Shade *self)
{
  const guint n = self->params.n_columns;
  g_autofree double *stiffness = g_new (double, n);

  self->ones = g_new (double, n);
  self->factors = g_new (double, 3 * (gsize) n);
  for (guint c = 0; c < n; c++) {
    self->ones[c] = 1;
    stiffness[c] = pow (self->shade->reach, -4);
  }
  td_rings_factor (self->ones, stiffness, n, self->factors);
}

/* The same for all rows. To draw it takes as long as all else that the host does for one. */
static const double *
shade_random (TdSlab *slab)
{
  static const char key[] = "rings shade random";
  double *random = td_slab_kept (slab, key);

  if (random)
    return random;
  g_autoptr (GRand) generator = g_rand_new_with_seed (1);
  random = g_new (double, DRAWS *(gsize) slab->n_columns);
  for (gsize i = 0; i < DRAWS * (gsize) slab->n_columns; i++)
    random[i] = g_rand_double_range (generator, -1, 1);
  td_slab_keep (slab, key, random, g_free);
  return random;
}

/* Which rows have shade, and what the host says of them. */
static void
shade_prepare (Shade *self)
{
  const TdRings *rings = self->rings;
  const TdShadeParams *p = &self->params;
  const guint n = p->n_columns;

  self->list = g_new (guint, rings->n_rows);
  self->rows = g_new (TdShadeRow, rings->n_rows);
  for (guint row = 0; row < rings->n_rows; row++) {
    double axis = self->shade->axes[row].axis;
    if (!isfinite (axis) || !has_shade (self->offsets + (gsize) row * n, n))
      continue;
    self->rows[self->n_slots] = shade_row (p, axis);
    self->rows[self->n_slots].like = shade_like (self->rows, self->n_slots);
    self->list[self->n_slots] = row;
    self->n_slots += self->rows[self->n_slots].n_slopes > 0;
  }
  const gsize floats = (gsize) self->n_slots * n;
  self->slot_offsets = g_new (float, floats);
  self->slot_dead = g_new (float, floats);
  self->drawn = g_new (float, DRAWS *floats);
  self->known = g_new (double, (gsize) self->n_slots *KNOWN * p->padded);
  if (self->n_slots == 0)
    return;
  self->random = shade_random (rings->slab);
  shade_factor (self);
  td_parallel_for (self->n_slots, prepare_slot, self);
}

/* ── The device's part ── */

static TdRings
shade_rings (const Shade *self)
{
  return (TdRings) { self->slab, 0, self->n_slots };
}

static gboolean
shade_allocate (Shade *self, GError **error)
{
  const TdRings rings = shade_rings (self);
  const TdShadeParams *p = &self->params;
  const double made_for[TD_RINGS_TABLE_KEYS] = { p->n_columns, p->n_bins, self->shade->half_turns };

  for (guint place = 0; place < N_PLACES; place++)
    if (!(self->places[place]
          = td_rings_buffer (&rings, keys[place], shade_floats (p, place), error)))
      return FALSE;
  self->turns
      = td_rings_table (self->slab, "rings shade turns", made_for, p->n_bins, fill_turns, error);
  self->shares = self->turns ? td_rings_table (self->slab, "rings shade shares", made_for,
                                               p->n_bins, fill_shares, error)
                             : NULL;
  self->knots = self->shares
                    ? td_rings_table (self->slab, "rings shade filtered knots", made_for,
                                      2 * TD_SHADE_KNOTS * (guint64) p->padded, fill_knots, error)
                    : NULL;
  if (!self->knots)
    return FALSE;
  self->ramp = td_slab_kept (self->slab, "rings shade ramp");
  if (self->ramp)
    return TRUE;
  static const TdFilter ramp = { .kind = TD_FILTER_RAM_LAK, .cutoff = 1 };
  g_autoptr (TdRowFilter) made
      = td_row_filter_new (self->slab->device, p->n_columns, p->n_columns, FILTERED, error);
  if (!made || !td_row_filter_set (made, &ramp, error))
    return FALSE;
  self->ramp = g_steal_pointer (&made);
  td_slab_keep (self->slab, "rings shade ramp", self->ramp, (GDestroyNotify) td_row_filter_free);
  return TRUE;
}

static gboolean
shade_send (const Shade *self, GError **error)
{
  const TdShadeParams *p = &self->params;
  const void *const from[]
      = { self->rows, self->list, self->slot_offsets, self->slot_dead, self->known, self->drawn };

  for (guint place = 0; place < G_N_ELEMENTS (from); place++)
    if (!td_upload (self->slab->queue, self->places[place], 0, from[place],
                    self->n_slots * shade_floats (p, place) * sizeof (float), error))
      return FALSE;
  return TRUE;
}

static gboolean
shade_launch (const Shade *self, const char *kernel, guint64 n_items, const TdArg *args,
              guint n_args, GError **error)
{
  const TdRings rings = shade_rings (self);

  return td_rings_launch (&rings, "rings-shade", kernel, n_items, args, n_args, error);
}

/* Items of which each takes the device's lanes of @n, for @times lines of them. */
static guint64
shade_blocks (const Shade *self, guint n, guint64 times)
{
  const TdRings rings = shade_rings (self);
  guint lanes = td_rings_lanes (&rings);

  return times * ((n + lanes - 1) / lanes);
}

static gboolean
shade_filter (const Shade *self, guint place, guint rows_a_slot, GError **error)
{
  guint n_rows = self->n_slots * rows_a_slot;

  if (!td_slab_mark (self->slab, "copies", error))
    return FALSE;
  for (guint row = 0; row < n_rows; row += FILTERED) {
    const TdPlace rows
        = { self->places[place], (guint64) row * self->params.n_columns * sizeof (float) };
    if (!td_row_filter_run (self->ramp, self->slab->queue, rows, MIN (FILTERED, n_rows - row), NULL,
                            rows, error))
      return FALSE;
  }
  return td_slab_mark (self->slab, "filter", error);
}

/* The rows' bins without offsets, on the device that has the data, and then where they are wanted.
 */
static gboolean
shade_bin (Shade *self, GError **error)
{
  const TdSlab *from = self->rings->slab;
  const TdRings rings = { self->rings->slab, self->rings->first_row, self->n_slots };
  const TdShadeParams *p = &self->params;
  const guint64 floats = shade_floats (p, BINS), bytes = self->n_slots * floats * sizeof (float);
  TdBuffer *list = td_rings_buffer (&rings, keys[LIST], 1, error);
  TdBuffer *offsets = list ? td_rings_buffer (&rings, keys[OFFSETS], p->n_columns, error) : NULL;
  TdBuffer *bins = offsets ? td_rings_buffer (&rings, keys[BINS], floats, error) : NULL;
  guint lanes = td_rings_lanes (&rings);

  if (!bins)
    return FALSE;
  /* Else shade_send() has sent them. */
  if (self->slab != from
      && (!td_upload (from->queue, list, 0, self->list, self->n_slots * sizeof *self->list, error)
          || !td_upload (from->queue, offsets, 0, self->slot_offsets,
                         (guint64) self->n_slots * p->n_columns * sizeof (float), error)))
    return FALSE;
  if (!td_rings_launch (&rings, "rings-columns", "rings_bin_views",
                        (guint64) p->bin_rows * ((p->n_columns + lanes - 1) / lanes),
                        TD_ARGS (from->data, list, offsets, bins, rings.first_row, from->n_views,
                                 p->n_columns, p->n_bins, p->bin_rows),
                        error))
    return FALSE;
  if (self->slab == from)
    return TRUE;
  g_autofree float *host = g_malloc (bytes);
  return td_download (from->queue, host, bins, 0, bytes, error)
         && td_queue_finish (from->queue, error)
         && td_slab_upload (self->slab, self->places[BINS], host, bytes, error);
}

/* What the rows and the drawn offsets give along the lines. */
static gboolean
shade_look (const Shade *self, GError **error)
{
  TdBuffer *const *at = self->places;
  const TdShadeParams params = self->params;
  const guint strip = td_slab_strip (self->slab), first_row = 0, lines = DRAWS;
  const guint64 strips = (params.n_columns + strip - 1) / strip;
  const TdRings rings = shade_rings (self);

  return td_rings_launch (
             &rings, "rings-columns", "rings_bridge", strips * params.bin_rows,
             TD_ARGS (at[BINS], at[DEAD], first_row, params.bin_rows, params.n_columns, strip),
             error)
         && shade_filter (self, BINS, params.bin_rows, error)
         && shade_launch (self, "rings_shade_places",
                          shade_blocks (self, params.max_places, TD_SHADE_DIRECTIONS),
                          TD_ARGS (at[BINS], self->turns, at[ROWS], at[PLACES], params), error)
         && shade_filter (self, DRAWN, DRAWS, error)
         && shade_launch (
             self, "rings_shade_rings", shade_blocks (self, params.max_places, DRAWS),
             TD_ARGS (at[DRAWN], self->turns, at[ROWS], at[STEEP], lines, lines, params), error)
         && shade_launch (self, "rings_shade_squares", params.max_places,
                          TD_ARGS (at[STEEP], at[ROWS], at[SQUARES], lines, params), error)
         && shade_launch (self, "rings_shade_tallest", params.max_places,
                          TD_ARGS (at[SQUARES], at[ROWS], at[TALLEST], params), error);
}

/* What knots do along the lines. */
static gboolean
shade_respond (const Shade *self, GError **error)
{
  TdBuffer *const *at = self->places;
  const TdShadeParams params = self->params;
  const guint64 blocks = shade_blocks (self, params.padded, params.max_places);
  const guint taken = td_device_info (self->slab->device)->cpu_shaped ? 1 : TD_SHADE_TAKEN;

  return shade_launch (
             self, "rings_shade_knots", blocks / taken,
             TD_ARGS (self->turns, self->shares, self->knots, at[ROWS], at[STEEP], params), error)
         && shade_launch (self, "rings_shade_response", blocks,
                          TD_ARGS (at[STEEP], at[ROWS], at[RESPONSE], params), error);
}

/* The equations of a round, from what is left of slopes; and the broken line that solves them. */
static gboolean
shade_solve (const Shade *self, guint round, GError **error)
{
  TdBuffer *const *at = self->places;
  const TdShadeParams params = self->params;
  const guint64 tiles = (guint64) params.padded / TD_SHADE_TILE;
  const guint group_items = td_slab_group_items (self->slab);

  return shade_launch (self, "rings_shade_common", params.max_places,
                       TD_ARGS (at[PLACES], at[RINGS], at[TALLEST], at[ROWS], at[COMMON],
                                at[WEIGHTS], round > 0, params),
                       error)
         && shade_launch (self, "rings_shade_targets", params.max_places,
                          TD_ARGS (at[COMMON], at[WEIGHTS], at[RESPONSE], at[KNOTS], at[ROWS],
                                   at[SOUND], at[TARGETS], params),
                          error)
         && shade_launch (
             self, "rings_shade_equations", 2 * tiles * tiles,
             TD_ARGS (at[KNOWN_PLACE], at[RESPONSE], at[SOUND], at[ROWS], at[EQUATIONS], params),
             error)
         && shade_launch (
             self, "rings_shade_right", tiles,
             TD_ARGS (at[KNOWN_PLACE], at[RESPONSE], at[TARGETS], at[ROWS], at[EQUATIONS], params),
             error)
         && shade_launch (self, "rings_shade_solve", group_items,
                          TD_ARGS (at[EQUATIONS], at[KNOTS], group_items, params), error)
         && shade_launch (self, "rings_shade_join", params.n_columns,
                          TD_ARGS (at[KNOTS], at[LINES], params), error);
}

static gboolean
shade_rounds (const Shade *self, GError **error)
{
  TdBuffer *const *at = self->places;
  const TdShadeParams params = self->params;
  const int lines = 2, n_used = 1;

  if (!td_fill_zero (self->slab->queue, at[KNOTS], 0,
                     self->n_slots * shade_floats (&params, KNOTS) * sizeof (float), error))
    return FALSE;
  for (guint round = 0; round < ROUNDS; round++)
    if (!shade_solve (self, round, error)
        || (round + 1 < ROUNDS
            && (!shade_filter (self, LINES, lines, error)
                || !shade_launch (
                    self, "rings_shade_rings", shade_blocks (self, params.max_places, n_used),
                    TD_ARGS (at[LINES], self->turns, at[ROWS], at[RINGS], lines, n_used, params),
                    error))))
      return FALSE;
  return TRUE;
}

gboolean
td_rings_add_shade (const TdRings *rings, const TdRingsShade *shade, float *offsets, GError **error)
{
  const guint n = rings->slab->n_columns;
  g_auto (Shade) self = {
    .rings = rings,
    .shade = shade,
    .offsets = offsets,
    .params = shade_params (n, rings->slab->n_views, shade->half_turns),
  };

  if (shade->half_turns == 0)
    return TRUE;
  shade_prepare (&self);
  if (self.n_slots == 0 || !td_slab_mark (rings->slab, "host: shade", error))
    return self.n_slots == 0;
  const TdDeviceInfo *info = td_device_info (rings->slab->device);
  self.slab = info->double_arithmetic ? rings->slab : td_slab_on_host (rings->slab, error);
  const guint64 floats = self.n_slots * shade_floats (&self.params, LINES);
  g_autofree float *found = g_new (float, floats);
  if (!self.slab || !shade_allocate (&self, error) || !shade_send (&self, error)
      || !shade_bin (&self, error) || !shade_look (&self, error) || !shade_respond (&self, error)
      || !shade_rounds (&self, error)
      || !td_download (self.slab->queue, found, self.places[LINES], 0, floats * sizeof (float),
                       error)
      || !td_queue_finish (self.slab->queue, error))
    return FALSE;
  for (guint slot = 0; slot < self.n_slots; slot++)
    for (guint c = 0; c < n; c++)
      if (!self.slot_dead[(gsize) slot * n + c])
        offsets[(gsize) self.list[slot] * n + c] += found[2 * (gsize) slot * n + c];
  return TRUE;
}
