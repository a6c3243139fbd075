/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmark.h"

#include <glib/gstdio.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "compute/bench/disk-bench.h"
#include "compute/bench/fdk-bench.h"
#include "compute/methods/methods.h"
#include "dataset/error.h"
#include "model.h"
#include "reduce.h"
#include "worker.h"

/* The two sizes: voxels, columns and views of an FDK job; bytes of a file and of a message. */
static const guint cpu_sizes[2] = { 64, 160 }, gpu_sizes[2] = { 256, 768 };
static const guint64 file_bytes[2] = { 8 << 20, 64 << 20 };
static const guint64 message_bytes[2] = { 1 << 20, 64 << 20 };
#define RUNS 3

/* Seconds that something of @n units took. */
typedef struct {
  double n, seconds;
} Sample;

typedef struct {
  const char *folder;
  int rank, size;
  int local_rank, node_ranks, n_nodes;
  MPI_Comm node;
  char device[64];
  gboolean gpu;
  TdModelMachine machine;
} Benchmark;

/* The line through two samples; through the larger one alone, if it took no longer. */
static TdModelCost
benchmark_line (const Sample samples[2])
{
  const double slope = (samples[1].seconds - samples[0].seconds) / (samples[1].n - samples[0].n);
  TdModelCost cost = { 0, slope };

  if (!(slope > 0))
    cost.m = samples[1].seconds / samples[1].n;
  cost.c = MAX (0, samples[0].seconds - cost.m * samples[0].n);
  return cost;
}

/* Ranks that wait leave the others the processors, which are being measured. */
static void
benchmark_await (MPI_Request *request)
{
  int done = 0;

  while (MPI_Test (request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
    g_usleep (100);
}

static void
benchmark_meet (void)
{
  MPI_Request request;

  MPI_Ibarrier (MPI_COMM_WORLD, &request);
  benchmark_await (&request);
}

/* The slowest rank's. */
static double
benchmark_slowest (double seconds)
{
  double slowest = seconds;
  MPI_Request request;
  int size;

  MPI_Comm_size (MPI_COMM_WORLD, &size);
  g_autofree double *all = g_new0 (double, size);
  MPI_Iallgather (&seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  benchmark_await (&request);
  for (int i = 0; i < size; i++)
    slowest = MAX (slowest, all[i]);
  return slowest;
}

/* Every rank has done so. */
static gboolean
benchmark_agree (gboolean ok, GError **error)
{
  const gboolean all = benchmark_slowest (ok ? 0 : 1) == 0;

  if (ok && !all)
    td_set_error (error, TD_ERROR_IO, "another rank failed, and says why");
  return all;
}

/* ── Computing ── */

static double
benchmark_stage (const TdFdkBenchRow *row, const char *name)
{
  for (guint i = 0; i < row->n_stages; i++)
    if (strcmp (row->stages[i].name, name) == 0)
      return row->stages[i].seconds;
  return 0;
}

/* Of one size: all ranks run the job at once. */
static gboolean
benchmark_job (const Benchmark *benchmark, guint size, TdFdkBenchRow *row, GError **error)
{
  TdFdkBenchSpec spec = { .size = size, .n_columns = size, .n_views = size, .runs = RUNS };
  const TdFdkBenchLimit limit = { 0 };

  td_recipe_init (&spec.recipe);
  g_autoptr (TdFdkBench) bench = td_fdk_bench_new (&spec, error);
  if (!benchmark_agree (bench != NULL, error))
    return FALSE;
  benchmark_meet ();
  const gboolean ok = td_fdk_bench_run (bench, benchmark->device, &limit, row, error);
  return benchmark_agree (ok, error);
}

static gboolean
benchmark_compute (Benchmark *benchmark, GError **error)
{
  const guint *sizes = benchmark->gpu ? gpu_sizes : cpu_sizes;
  Sample filter[2], update[2], link[2];
  double start = INFINITY;

  for (guint i = 0; i < 2; i++) {
    const double cube = pow (sizes[i], 3);
    TdFdkBenchRow row = { 0 };
    if (!benchmark_job (benchmark, sizes[i], &row, error))
      return FALSE;
    const double filtering = benchmark_slowest (benchmark_stage (&row, "filter"));
    const double kernel = benchmark_slowest (benchmark_stage (&row, "back-project"));
    const double transfers
        = benchmark_slowest (benchmark_stage (&row, "upload") + benchmark_stage (&row, "download"));
    filter[i] = (Sample) { 4 * cube, filtering };
    update[i] = (Sample) { cube * sizes[i], kernel };
    link[i] = (Sample) { 2 * 4 * cube, MAX (transfers, 1e-9) };
    start = MIN (start, MAX (0, benchmark_slowest (row.median_s) - MAX (filtering, kernel)));
    td_fdk_bench_row_clear (&row);
  }
  benchmark->machine.filter = benchmark_line (filter);
  benchmark->machine.update = benchmark_line (update);
  benchmark->machine.link = benchmark_line (link);
  benchmark->machine.start_s = start;
  return TRUE;
}

/* ── Storage ── */

static gboolean
benchmark_storage (Benchmark *benchmark, GError **error)
{
  g_autofree char *name = g_strdup_printf ("benchmark-%d", benchmark->rank);
  g_autofree char *folder = g_build_filename (benchmark->folder, name, NULL);
  Sample load[2], store[2];
  gboolean ok = g_mkdir_with_parents (folder, 0700) == 0;

  if (!ok)
    td_set_error (error, TD_ERROR_IO, "“%s” cannot be written", folder);
  ok = benchmark_agree (ok, error);
  for (guint i = 0; ok && i < 2; i++) {
    const double all = (double) file_bytes[i] * benchmark->size;
    TdStorageRates rates = { 0 };
    benchmark_meet ();
    ok = benchmark_agree (td_storage_measure (folder, file_bytes[i], &rates, NULL, error), error);
    if (!ok)
      break;
    load[i] = (Sample) { all, benchmark_slowest (file_bytes[i] / rates.read_many) };
    store[i] = (Sample) { all, benchmark_slowest (file_bytes[i] / rates.write_many) };
  }
  g_rmdir (folder);
  if (!ok)
    return FALSE;
  benchmark->machine.load = benchmark_line (load);
  benchmark->machine.store = benchmark_line (store);
  return TRUE;
}

/* ── Exchange ── */

/* Each rank gives its neighbour @distance ranks on so many bytes, all at once. */
static double
benchmark_pass_on (const Benchmark *benchmark, MPI_Comm comm, int distance, guint64 bytes)
{
  g_autofree char *from = g_malloc0 (bytes), *to = g_malloc0 (bytes);
  int rank, size;
  double best = INFINITY;

  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  for (guint run = 0; run < RUNS; run++) {
    benchmark_meet ();
    const double start = MPI_Wtime ();
    MPI_Sendrecv (from, (int) bytes, MPI_BYTE, (rank + distance) % size, 0, to, (int) bytes,
                  MPI_BYTE, (rank + size - distance % size) % size, 0, comm, MPI_STATUS_IGNORE);
    best = MIN (best, benchmark_slowest (MPI_Wtime () - start));
  }
  return best;
}

/* Between ranks of a node, and between nodes. */
static void
benchmark_gather (Benchmark *benchmark)
{
  Sample copy[2], network[2];

  for (guint i = 0; i < 2; i++) {
    const double bytes = (double) message_bytes[i] * benchmark->node_ranks;
    copy[i]
        = (Sample) { bytes, benchmark_pass_on (benchmark, benchmark->node, 1, message_bytes[i]) };
    network[i] = (Sample) { bytes, benchmark_pass_on (benchmark, MPI_COMM_WORLD,
                                                      benchmark->node_ranks, message_bytes[i]) };
  }
  benchmark->machine.copy = benchmark_line (copy);
  if (benchmark->n_nodes > 1)
    benchmark->machine.network = benchmark_line (network);
}

typedef struct {
  TdReduce *reduce;
  const float *slices;
  guint n;
} Feed;

static gpointer
benchmark_feed (gpointer user)
{
  const Feed *feed = user;

  for (guint i = 0; i < feed->n; i++)
    td_reduce_put (feed->reduce, i, 1, feed->slices, NULL, NULL);
  return NULL;
}

static gpointer
benchmark_take (gpointer user)
{
  const Feed *feed = user;
  TdReduceSum sum;

  while (td_reduce_next (feed->reduce, &sum, NULL))
    td_reduce_written (feed->reduce, &sum);
  return NULL;
}

/* All ranks add up one sub-volume. */
static gboolean
benchmark_reduce (Benchmark *benchmark, GError **error)
{
  const guint slice_floats = 1 << 18;
  g_autofree float *slice = g_new0 (float, slice_floats);
  g_autofree int *nodes = g_new0 (int, benchmark->size);
  int node = benchmark->rank - benchmark->local_rank;
  Sample samples[2];
  gboolean ok = TRUE;

  MPI_Allgather (&node, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
  for (guint i = 0; ok && i < 2; i++) {
    const guint n = (guint) (message_bytes[i] / slice_floats / sizeof (float));
    const TdReduceSpec spec = { .row = MPI_COMM_WORLD,
                                .nodes = nodes,
                                .n_slices = n,
                                .slice_floats = slice_floats,
                                .memory = G_MAXUINT64 };
    Feed feed = { td_reduce_new (&spec), slice, n };
    benchmark_meet ();
    const double start = MPI_Wtime ();
    GThread *put = g_thread_new ("put", benchmark_feed, &feed);
    GThread *take = g_thread_new ("take", benchmark_take, &feed);
    ok = td_reduce_run (feed.reduce, NULL, error);
    g_thread_join (put);
    g_thread_join (take);
    /* What the model counts: all but a rank's own part. */
    samples[i] = (Sample) { (double) message_bytes[i] * (benchmark->size - 1) / benchmark->size,
                            benchmark_slowest (MPI_Wtime () - start) };
    td_reduce_free (feed.reduce);
  }
  if (ok)
    benchmark->machine.reduce = benchmark_line (samples);
  return ok;
}

/* ── All together ── */

static gboolean
benchmark_open (Benchmark *benchmark, GError **error)
{
  int first, firsts;

  MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, benchmark->rank, MPI_INFO_NULL,
                       &benchmark->node);
  MPI_Comm_rank (benchmark->node, &benchmark->local_rank);
  MPI_Comm_size (benchmark->node, &benchmark->node_ranks);
  first = benchmark->local_rank == 0;
  MPI_Allreduce (&first, &firsts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  benchmark->n_nodes = firsts;
  td_worker_share_processors ((guint) benchmark->node_ranks);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "auto", error);
  if (!benchmark_agree (devices != NULL, error))
    return FALSE;
  const TdDeviceInfo *info
      = td_device_info (devices->pdata[(guint) benchmark->local_rank % devices->len]);
  g_strlcpy (benchmark->device, info->id, sizeof benchmark->device);
  benchmark->gpu = info->kind != TD_DEVICE_CPU;
  if (!td_model_machine_parse (&benchmark->machine, "", error))
    return FALSE;
  benchmark->machine.nodes = (guint) benchmark->n_nodes;
  benchmark->machine.ranks = (guint) benchmark->node_ranks;
  /* Each rank's own transfers were timed while the others transferred. */
  benchmark->machine.links = (guint) benchmark->node_ranks;
  benchmark->machine.memory_bytes = (double) info->memory_bytes;
  return TRUE;
}

static gboolean
benchmark_all (Benchmark *benchmark, GError **error)
{
  if (!benchmark_open (benchmark, error) || !benchmark_storage (benchmark, error)
      || !benchmark_compute (benchmark, error))
    return FALSE;
  if (benchmark->size == 1)
    return TRUE;
  benchmark_gather (benchmark);
  return benchmark_agree (benchmark_reduce (benchmark, error), error);
}

int
td_worker_benchmark (const char *folder)
{
  Benchmark benchmark = { .folder = folder, .node = MPI_COMM_NULL };
  g_autoptr (GError) error = NULL;
  int provided;

  MPI_Init_thread (NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank (MPI_COMM_WORLD, &benchmark.rank);
  MPI_Comm_size (MPI_COMM_WORLD, &benchmark.size);
  const gboolean ok = benchmark_all (&benchmark, &error);
  if (!ok)
    fprintf (stderr, "tomodesk-worker: rank %d: %s\n", benchmark.rank, error->message);
  if (ok && benchmark.rank == 0) {
    g_autofree char *words = td_model_machine_words (&benchmark.machine);
    if (benchmark.size == 1)
      printf ("note one rank exchanges nothing: copy, network and reduce are guesses\n");
    else if (benchmark.n_nodes == 1)
      printf ("note one node has no neighbour: network is a guess\n");
    printf ("machine %s\n", words);
  }
  if (benchmark.node != MPI_COMM_NULL)
    MPI_Comm_free (&benchmark.node);
  MPI_Finalize ();
  return ok ? TD_WORKER_DONE : TD_WORKER_FAILED;
}
