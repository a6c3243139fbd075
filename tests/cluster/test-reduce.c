/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sub-volumes that four ranks add up: each sum once, whatever ranks share a node, as a tree and as
   a chain. mpirun starts it four times; the first rank reports. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cluster/chain.h"
#include "cluster/mpi-util.h"
#include "cluster/reduce.h"

#define RANKS 4
#define FLOATS 33
#define MOST_SLICES 150
#define SLICES 29

static int rank;

typedef struct {
  const char *name;
  int nodes[RANKS];
  guint n_slices;
  guint64 memory;
  int slow;               /* a rank that is late with each slice; -1: none */
  guint buffers, segment; /* four of its own and three of others; slices of each */
} Row;

static const Row rows[] = {
  { "/reduce/one-node", { 0, 0, 0, 0 }, SLICES, 1 << 20, -1, 7, 1 },
  { "/reduce/two-nodes", { 0, 0, 1, 1 }, SLICES, 1 << 20, 2, 7, 1 },
  { "/reduce/in-turns", { 0, 1, 0, 1 }, 13, 0, 0, 7, 1 },
  { "/reduce/uneven", { 0, 0, 0, 1 }, 17, 1 << 12, 3, 7, 1 },
  { "/reduce/apart", { 0, 1, 2, 3 }, SLICES, 1 << 12, 1, 7, 1 },
  { "/reduce/few-slices", { 0, 0, 1, 1 }, 2, 1 << 20, -1, 4, 1 },
  /* Segments of four slices, which the pieces do not divide. */
  { "/reduce/segments", { 0, 0, 1, 1 }, 67, 1 << 20, -1, 7, 4 },
};

/* Whole numbers, so that sums are exact. */
static float
part_of (int of, guint slice, guint i)
{
  return (float) ((of + 1) * 1000 + (int) (slice * 37 + i * i % 11));
}

typedef struct {
  const Row *row;
  TdReduce *reduce;
  guint sums[MOST_SLICES]; /* how often this rank had one */
} Adding;

static gpointer
reduce_put_all (gpointer data)
{
  const Adding *adding = data;
  const Row *row = adding->row;
  g_autoptr (GError) error = NULL;
  float slices[3 * FLOATS];

  /* As an engine's pieces: some slices each. */
  for (guint first = 0, n; first < row->n_slices; first += n) {
    n = MIN (1 + first % 3, row->n_slices - first);
    for (guint i = 0; i < n * FLOATS; i++)
      slices[i] = part_of (rank, first + i / FLOATS, i % FLOATS);
    if (rank == row->slow)
      g_usleep (3000);
    td_reduce_put (adding->reduce, first, n, slices, NULL, &error);
    g_assert_no_error (error);
  }
  return NULL;
}

static gpointer
reduce_take_all (gpointer data)
{
  Adding *adding = data;
  TdReduceSum sum;

  while (td_reduce_next (adding->reduce, &sum, NULL)) {
    for (guint i = 0; i < sum.count * FLOATS; i++) {
      float right = 0;
      for (int of = 0; of < RANKS; of++)
        right += part_of (of, sum.first + i / FLOATS, i % FLOATS);
      g_assert_cmpfloat (sum.slices[i], ==, right);
    }
    for (guint i = 0; i < sum.count; i++) {
      g_assert_true (td_reduce_has (adding->reduce, sum.first + i));
      adding->sums[sum.first + i]++;
    }
    td_reduce_written (adding->reduce, &sum);
  }
  return NULL;
}

static void
test_row (gconstpointer data)
{
  const Row *row = data;
  const TdReduceSpec spec = { .row = MPI_COMM_WORLD,
                              .nodes = row->nodes,
                              .n_slices = row->n_slices,
                              .slice_floats = FLOATS,
                              .memory = row->memory };
  g_autoptr (TdReduce) reduce = td_reduce_new (&spec);
  Adding adding = { .row = row, .reduce = reduce };
  GThread *put = g_thread_new ("put", reduce_put_all, &adding);
  GThread *take = g_thread_new ("take", reduce_take_all, &adding);
  g_autoptr (GError) error = NULL;
  const gint64 begun = g_get_monotonic_time ();
  guint all[MOST_SLICES];

  td_reduce_run (reduce, NULL, &error);
  g_assert_no_error (error);
  const double took_s = (g_get_monotonic_time () - begun) * 1e-6;
  g_thread_join (put);
  g_thread_join (take);
  g_assert_cmpuint (td_reduce_bytes (reduce), ==,
                    row->buffers * row->segment * FLOATS * sizeof (float));
  g_assert_cmpfloat (td_reduce_seconds (reduce), >=, 0);
  g_assert_cmpfloat (td_reduce_seconds (reduce), <=, took_s);
  MPI_Allreduce (adding.sums, all, MOST_SLICES, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  for (guint i = 0; i < row->n_slices; i++)
    g_assert_cmpuint (all[i], ==, 1);
}

/* ── The chain ── */

typedef struct {
  const char *name;
  int nodes[RANKS];
  guint n_slices, slab[RANKS], bands[RANKS]; /* of each rank */
  guint64 memory;
  gboolean again; /* the ranks compute their second slab once more, as after a failure */
  guint nx, ny;
} Chained;

static const Chained chains[] = {
  { "/chain/slabs",
    { 0, 1, 2, 3 },
    SLICES,
    { 7, 7, 7, 7 },
    { 1, 1, 1, 1 },
    G_MAXUINT64,
    FALSE,
    3,
    11 },
  { "/chain/bands",
    { 0, 0, 0, 0 },
    SLICES,
    { 8, 8, 8, 8 },
    { 4, 4, 4, 4 },
    G_MAXUINT64,
    TRUE,
    3,
    11 },
  { "/chain/more-bands-than-rows",
    { 0, 1, 1, 0 },
    5,
    { 5, 5, 5, 5 },
    { 40, 40, 40, 40 },
    G_MAXUINT64,
    FALSE,
    3,
    11 },
  { "/chain/little-memory",
    { 0, 0, 1, 1 },
    SLICES,
    { 8, 8, 8, 8 },
    { 3, 3, 3, 3 },
    1 << 10,
    TRUE,
    3,
    11 },
  /* Ranks whose memory differs, of which some cannot compute by bands. */
  { "/chain/unlike-in-a-node",
    { 0, 0, 0, 0 },
    SLICES,
    { 13, 4, 29, 5 },
    { 3, 1, 2, 1 },
    1 << 10,
    FALSE,
    3,
    11 },
  { "/chain/unlike",
    { 0, 1, 2, 3 },
    SLICES,
    { 13, 4, 29, 5 },
    { 3, 1, 2, 1 },
    1 << 10,
    FALSE,
    3,
    11 },
  /* Slices of which several threads copy a strip each. */
  { "/chain/strips",
    { 0, 0, 1, 1 },
    5,
    { 3, 3, 3, 3 },
    { 1, 1, 1, 1 },
    G_MAXUINT64,
    FALSE,
    1030,
    83 },
  { "/chain/strips-of-bands",
    { 0, 1, 1, 1 },
    3,
    { 2, 2, 2, 2 },
    { 2, 2, 2, 2 },
    G_MAXUINT64,
    FALSE,
    1031,
    101 },
};

typedef struct {
  const Chained *row;
  TdChain *chain;
  float *sums; /* the last rank's */
} Passing;

/* A band of a slab: what it begins with, this rank's part, and on. */
static void
chain_add (const Passing *passing, guint first, guint count, TdRowRange band)
{
  const gboolean last = td_chain_is_last (passing->chain);
  const guint nx = passing->row->nx;
  const gsize slice = (gsize) nx * passing->row->ny;
  g_autofree float *slab = g_new0 (float, count *slice);
  g_autoptr (GError) error = NULL;

  if (rank > 0)
    td_chain_begin (first, count, band, slab, NULL, &error, passing->chain);
  g_assert_no_error (error);
  for (guint k = 0; k < count; k++)
    for (guint i = band.first * nx; i < (band.first + band.count) * nx; i++) {
      slab[k * slice + i] += part_of (rank, first + k, i);
      if (last && passing->sums[(first + k) * slice + i] == 0)
        passing->sums[(first + k) * slice + i] = slab[k * slice + i];
    }
  td_chain_pass (first, count, band, slab, NULL, &error, passing->chain);
  g_assert_no_error (error);
}

static gpointer
chain_add_all (gpointer data)
{
  const Passing *passing = data;
  const Chained *row = passing->row;
  const guint bands = row->bands[rank] > 1 ? td_chain_bands (passing->chain) : 1;
  const guint slab = row->slab[rank];

  for (guint first = 0, n; first < row->n_slices; first += n) {
    const guint times = row->again && first == slab ? 2 : 1;
    n = MIN (slab, row->n_slices - first);
    for (guint i = 0; i < times * bands; i++) {
      const guint band = i % bands, y = row->ny * band / bands;
      chain_add (passing, first, n, (TdRowRange) { y, row->ny * (band + 1) / bands - y });
    }
  }
  return NULL;
}

/* Files of memory that ranks share, which this process has mapped. */
static guint
count_shared (void)
{
  g_autofree char *maps = NULL;
  guint count = 0;

  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (maps, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    count += strstr (lines[i], "rw-s ") != NULL;
  return count;
}

static void
test_chain (gconstpointer data)
{
  const Chained *row = data;
  const guint slice = row->nx * row->ny;
  const TdChainSpec spec = { .row = MPI_COMM_WORLD,
                             .nodes = row->nodes,
                             .n_slices = row->n_slices,
                             .ny = row->ny,
                             .nx = row->nx,
                             .slab_slices = row->slab[rank],
                             .bands = row->bands[rank],
                             .memory = row->memory };
  g_autofree float *sums = g_new0 (float, row->n_slices *slice);
  g_autoptr (GError) error = NULL;
  const guint shared = count_shared ();
  TdChain *chain = td_chain_new (&spec, NULL, &error);
  g_assert_no_error (error);
  Passing passing = { row, chain, sums };
  GThread *add = g_thread_new ("add", chain_add_all, &passing);
  const gint64 begun = g_get_monotonic_time ();
  int wrong = 0;

  td_chain_run (chain, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (td_chain_seconds (chain), >=, 0);
  g_assert_cmpfloat (td_chain_seconds (chain), <=, (g_get_monotonic_time () - begun) * 1e-6);
  g_thread_join (add);
  for (guint i = 0; td_chain_is_last (chain) && i < row->n_slices * slice; i++) {
    float right = 0;
    for (int of = 0; of < RANKS; of++)
      right += part_of (of, i / slice, i % slice);
    wrong += sums[i] != right;
  }
  MPI_Bcast (&wrong, 1, MPI_INT, RANKS - 1, MPI_COMM_WORLD);
  g_assert_cmpint (wrong, ==, 0);
  td_chain_free (chain);
  g_assert_cmpuint (count_shared (), ==, shared);
}

/* Ranks that may use the same processors divide them, and no others do. */
static void
test_sharers (void)
{
  cpu_set_t before, own;
  int bound = 0, last = -1, n = 0;

  g_assert_cmpint (sched_getaffinity (0, sizeof before, &before), ==, 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET (cpu, &before)) {
      bound = n++ == 0 ? cpu : bound;
      last = cpu;
    }
  if (n < 2) {
    g_test_skip ("there is one processor");
    return;
  }
  g_assert_cmpuint (td_mpi_sharers (MPI_COMM_WORLD), ==, RANKS);
  CPU_ZERO (&own);
  CPU_SET (rank == 0 ? bound : last, &own);
  g_assert_cmpint (sched_setaffinity (0, sizeof own, &own), ==, 0);
  g_assert_cmpuint (td_mpi_sharers (MPI_COMM_WORLD), ==, rank == 0 ? 1 : RANKS - 1);
  g_assert_cmpint (sched_setaffinity (0, sizeof before, &before), ==, 0);
}

int
main (int argc, char **argv)
{
  int provided, ranks, status;

  MPI_Init_thread (&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  if (rank > 0 && !freopen ("/dev/null", "w", stdout))
    return 1;
  g_assert_cmpint (ranks, ==, RANKS);
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_test_add_data_func (rows[i].name, &rows[i], test_row);
  for (guint i = 0; i < G_N_ELEMENTS (chains); i++)
    g_test_add_data_func (chains[i].name, &chains[i], test_chain);
  g_test_add_func ("/reduce/sharers", test_sharers);
  status = g_test_run ();
  MPI_Finalize ();
  return status;
}
