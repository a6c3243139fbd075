/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worker.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "benchmark-fit.h"
#include "compute/bench/cone-bench.h"
#include "compute/bench/disk-bench.h"
#include "compute/methods/methods.h"
#include "dataset/error.h"
#include "job-file.h"
#include "mpi-limit.h"
#include "mpi-util.h"

/* The jobs: columns, which are voxels along x and y, rows, which are slices, and views. Volumes of
   1024 slices fit no cache. Clusters are for jobs of wide slices, which the last job of cards has.
   Their files of 16 MB cost less a byte than those of 4 MB. */
typedef struct {
  guint side, rows, views;
} Size;
static const Size cpu_sizes[] = { { 96, 96, 96 }, { 192, 192, 144 }, { 320, 320, 160 }, { 0 } };
static const Size gpu_sizes[]
    = { { 256, 256, 256 }, { 512, 512, 512 }, { 1024, 1024, 1024 }, { 2048, 256, 512 }, { 0 } };
/* Runs of each job. Of processors each stage's middle time counts, since they are disturbed in
   jobs, too, by the ranks' other threads at least. Cards are disturbed by nobody but the first run,
   which loads their kernels: their shortest time counts. */
#define RUNS TD_BENCHMARK_MOST_RUNS
#define GPU_RUNS 2
#define N_WAYS 4
static const guint64 message_bytes[2] = { 1 << 20, 64 << 20 };

/* The ways to share that are timed. A single rank has the first two. */
static const TdBenchmarkWay benchmark_ways[N_WAYS] = {
  { TD_CLUSTER_SLAB, FALSE, TD_VOLUME_BIGTIFF },
  { TD_CLUSTER_SLAB, FALSE, TD_VOLUME_TIFF_STACK },
  { TD_CLUSTER_SLAB, TRUE, TD_VOLUME_TIFF_STACK },
  { TD_CLUSTER_IFDK, FALSE, TD_VOLUME_BIGTIFF },
};

typedef struct {
  const char *folder, *device;
  int rank, size;
  int local_rank, node_ranks, n_nodes;
  MPI_Comm node;
  guint n_jobs;
  TdBenchmarkJob timed[TD_BENCHMARK_MOST_JOBS];
  guint n_timed;
  TdModelMachine machine;
} Benchmark;

/* ── All ranks ── */

/* Ranks that wait leave the others the processors, which are being measured. */
static void
benchmark_await (MPI_Request *request)
{
  td_mpi_limit_begin (TD_MPI_LIMIT_MEASURE, NULL);
  td_mpi_await (request, 100, NULL, NULL);
  td_mpi_limit_clear ();
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

/* ── The scan ── */

static gboolean
benchmark_write_scan (const char *path, Size wanted, GError **error)
{
  const guint size = wanted.side, views = wanted.views;
  g_autofree double *angles = g_new (double, views);
  TdScanFacts facts = { .n_columns = size,
                        .n_rows = wanted.rows,
                        .n_views = views,
                        .n_flats = 1,
                        .n_darks = 1,
                        .sample_type = TD_SAMPLE_UINT16,
                        .angles_rad = angles,
                        .centre_px = NAN };

  td_cone_bench_geometry (size, size, &facts.geometry);
  facts.geometry.volume_size[2] = wanted.rows;
  for (guint i = 0; i < views; i++)
    angles[i] = 2 * G_PI * i / views;
  return td_disk_bench_write_scan (path, TD_SCAN_NXTOMO, &facts, NULL, error);
}

/* Reading is to come from the storage, as with a scan that nobody has read yet. */
static void
benchmark_forget (const char *path)
{
  const int file = open (path, O_RDONLY | O_CLOEXEC);

  if (file < 0)
    return;
  posix_fadvise (file, 0, 0, POSIX_FADV_DONTNEED);
  close (file);
}

/* ── Jobs ── */

static gboolean
benchmark_submit (const Benchmark *benchmark, const TdBenchmarkJob *timed, const char *scan,
                  const char *output, GError **error)
{
  g_auto (TdJobFile) job;

  td_job_file_init (&job);
  job.id = g_strdup_printf ("20000101-000000-%08u", benchmark->n_jobs);
  job.scan_path = g_strdup (scan);
  job.output = g_strdup (output);
  job.recipe.output_format = timed->way->format;
  job.cluster.mode = timed->way->mode;
  job.cluster.device = g_strdup (benchmark->device);
  job.cluster.rows = timed->rows;
  job.cluster.columns = timed->columns;
  job.cluster.view_slice = -1;
  return td_job_file_save (&job, benchmark->folder, error);
}

static gboolean
benchmark_job (Benchmark *benchmark, TdBenchmarkJob *timed, const char *scan, GError **error)
{
  g_autofree char *output = g_build_filename (benchmark->folder, "volume", NULL);
  gboolean ok = TRUE;

  if (benchmark->rank == 0) {
    benchmark_forget (scan);
    ok = benchmark_submit (benchmark, timed, scan, output, error);
  }
  if (!benchmark_agree (ok, error))
    return FALSE;
  td_worker_do (benchmark->folder, &timed->runs[timed->n_runs++], &timed->problem);
  benchmark->n_jobs++;
  benchmark_meet ();
  if (benchmark->rank == 0)
    td_disk_bench_remove (output);
  return TRUE;
}

static void
benchmark_begin_timed (const Benchmark *benchmark, const TdBenchmarkWay *way, TdBenchmarkJob *timed)
{
  const guint ranks = (guint) benchmark->size;

  *timed = (TdBenchmarkJob) { .way = way,
                              .rows = way->columns ? 1 : ranks,
                              .columns = way->columns ? ranks : 1 };
}

/* The jobs of a size, each way in turns, so that what else the machine does disturbs all alike. */
static gboolean
benchmark_size (Benchmark *benchmark, Size size, GError **error)
{
  g_autofree char *name = g_strdup_printf ("scan-%u.nxs", size.side);
  g_autofree char *scan = g_build_filename (benchmark->folder, name, NULL);
  const guint ways = benchmark->size > 1 ? N_WAYS : 2;
  const guint runs = benchmark->machine.shared > 0 ? RUNS : GPU_RUNS;
  gboolean ok
      = benchmark_agree (benchmark->rank != 0 || benchmark_write_scan (scan, size, error), error);

  for (guint i = 0; ok && i < runs * ways; i++) {
    TdBenchmarkJob *timed = &benchmark->timed[benchmark->n_timed + i % ways];
    if (i < ways)
      benchmark_begin_timed (benchmark, &benchmark_ways[i], timed);
    ok = benchmark_job (benchmark, timed, scan, error);
  }
  for (guint i = 0; ok && i < ways; i++)
    td_benchmark_settle (&benchmark->timed[benchmark->n_timed + i], benchmark->machine.shared > 0);
  benchmark->n_timed += ways;
  if (benchmark->rank == 0)
    g_unlink (scan);
  return ok;
}

/* ── Exchange between nodes ── */

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
    td_mpi_limit_begin (TD_MPI_LIMIT_MEASURE, NULL);
    const double start = MPI_Wtime ();
    MPI_Sendrecv (from, (int) bytes, MPI_BYTE, (rank + distance) % size, 0, to, (int) bytes,
                  MPI_BYTE, (rank + size - distance % size) % size, 0, comm, MPI_STATUS_IGNORE);
    best = MIN (best, benchmark_slowest (MPI_Wtime () - start));
  }
  return best;
}

static void
benchmark_network (Benchmark *benchmark)
{
  TdLineSample copy[2], network[2];

  for (guint i = 0; i < 2; i++) {
    const double bytes = (double) message_bytes[i] * benchmark->node_ranks;
    copy[i] = (TdLineSample) { bytes, benchmark_pass_on (benchmark, benchmark->node, 1,
                                                         message_bytes[i]) };
    network[i]
        = (TdLineSample) { bytes, benchmark_pass_on (benchmark, MPI_COMM_WORLD,
                                                     benchmark->node_ranks, message_bytes[i]) };
  }
  benchmark->machine.copy = td_line_through (copy, 2);
  benchmark->machine.network = td_line_through (network, 2);
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
  td_mpi_share_node (benchmark->node);
  td_mpi_limit_clear ();
  benchmark->n_nodes = firsts;
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_auto (GStrv) names = td_device_names (benchmark->device);
  const char *own = names[(guint) benchmark->local_rank % g_strv_length (names)];
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, own, error);
  if (!benchmark_agree (devices != NULL, error))
    return FALSE;
  const TdDeviceInfo *info = td_device_info (devices->pdata[0]);
  if (!td_model_machine_parse (&benchmark->machine, "", error))
    return FALSE;
  benchmark->machine.shared = benchmark_slowest (info->kind == TD_DEVICE_CPU ? 1 : 0);
  benchmark->machine.nodes = (guint) benchmark->n_nodes;
  benchmark->machine.ranks = (guint) benchmark->node_ranks;
  /* Each rank's own transfers were timed while the others transferred. */
  benchmark->machine.links = (guint) benchmark->node_ranks;
  benchmark->machine.memory_bytes = (double) info->memory_bytes;
  benchmark->machine.column = 0;
  return TRUE;
}

static gboolean
benchmark_all (Benchmark *benchmark, GError **error)
{
  const char *folder = benchmark->folder; /* in the jobs' one */
  gboolean ok = benchmark_open (benchmark, error)
                && benchmark_agree (
                    benchmark->rank != 0 || g_mkdir_with_parents (folder, 0700) == 0
                        || td_set_error (error, TD_ERROR_IO, "“%s” cannot be written", folder),
                    error);

  const Size *sizes = benchmark->machine.shared > 0 ? cpu_sizes : gpu_sizes;

  for (; ok && sizes->side > 0; sizes++)
    ok = benchmark_size (benchmark, *sizes, error);
  if (ok && benchmark->n_nodes > 1)
    benchmark_network (benchmark);
  if (ok)
    td_benchmark_fit (&benchmark->machine, benchmark->timed, benchmark->n_timed);
  return ok;
}

int
td_worker_benchmark (const char *folder, const char *device)
{
  g_autofree char *own = g_build_filename (folder, TD_WORKER_BENCHMARK, NULL);
  Benchmark benchmark
      = { .folder = own, .node = MPI_COMM_NULL, .device = device ? device : "auto" };
  g_autoptr (GError) error = NULL;
  int provided;

  td_mpi_limit_begin (TD_MPI_LIMIT_START, NULL);
  MPI_Init_thread (NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank (MPI_COMM_WORLD, &benchmark.rank);
  MPI_Comm_size (MPI_COMM_WORLD, &benchmark.size);
  const gboolean ok = benchmark_all (&benchmark, &error);
  if (!ok)
    fprintf (stderr, "tomodesk-worker: rank %d: %s\n", benchmark.rank, error->message);
  if (benchmark.rank == 0)
    td_disk_bench_remove (own);
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
  td_mpi_limit_begin (ok ? TD_MPI_LIMIT_END : TD_MPI_LIMIT_MEASURE, NULL);
  MPI_Finalize ();
  return ok ? TD_WORKER_DONE : TD_WORKER_FAILED;
}
