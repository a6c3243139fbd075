/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine's benchmark with jobs that are none. Each is asked to do what it should, and nothing is
   left on the disk. The times that they say they took come back as the machine's words. mpirun
   starts this twice; the first rank reports. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "cluster/benchmark-fit.h"
#include "cluster/job-file.h"
#include "cluster/mpi-limit.h"
#include "compute/bench/disk-bench.h"
#include "dataset/error.h"
#include "tests/unit/test-folder.h"

#define RANKS 2u
#define RUNS 3u /* of processors */
#define WAYS 4u
#define LATE_S 0.25 /* by which the first start of a size is later */

static const struct {
  guint side, rows, views;
} sizes[] = { { 96, 96, 96 }, { 192, 192, 144 }, { 320, 320, 160 } };

static const TdBenchmarkWay ways[WAYS] = {
  { TD_CLUSTER_SLAB, FALSE, TD_VOLUME_BIGTIFF },
  { TD_CLUSTER_SLAB, FALSE, TD_VOLUME_TIFF_STACK },
  { TD_CLUSTER_SLAB, TRUE, TD_VOLUME_TIFF_STACK },
  { TD_CLUSTER_IFDK, FALSE, TD_VOLUME_BIGTIFF },
};

/* Of one node, and of two that have a rank each. */
static const char *const machines[]
    = { "nodes:1 ranks:2 links:2 shared:1 column:0 overlap:0.35 start:3.25 widening:0.001 "
        "load:0.01+3G filter:0.02+2G copy:0.03+5G update:0.04+2G group:0.05+1G link:0.06+11G "
        "reduce:0.07+4G store:0.08+1G stack:0.001+2G added:0.002+1.5G",
        "nodes:2 ranks:1 links:1 shared:1 column:0 overlap:0.35 start:3.25 widening:0.001 "
        "load:0.01+3G filter:0.02+2G copy:0.03+5G network:0.04+6G update:0.04+2G group:0.05+1G "
        "link:0.06+11G reduce:0.07+4G store:0.08+1G stack:0.001+2G added:0.002+1.5G" };

static int rank;
static TestFolder *folder;
static gboolean apart; /* each rank is a node of its own */
static gboolean disk_is_full;
static TdModelMachine right; /* whose times the jobs have */
static guint n_scans, n_jobs, n_sent, n_finished;
static double clock_s;

/* ── What the benchmark calls ── */

int
MPI_Init_thread (int *argc, char ***argv, int wanted, int *provided)
{
  *provided = wanted;
  return MPI_SUCCESS;
}

int
MPI_Finalize (void)
{
  n_finished++;
  return MPI_SUCCESS;
}

int
MPI_Comm_split_type (MPI_Comm of, int type, int key, MPI_Info info, MPI_Comm *comm)
{
  return apart ? PMPI_Comm_dup (MPI_COMM_SELF, comm)
               : PMPI_Comm_split_type (of, type, key, info, comm);
}

double
MPI_Wtime (void)
{
  return clock_s;
}

/* Takes what the machine takes, on the slower rank. The first of three is slow. */
int
MPI_Sendrecv (const void *from, int n, MPI_Datatype type, int dest, int tag, void *to, int n_to,
              MPI_Datatype type_to, int source, int tag_to, MPI_Comm comm, MPI_Status *status)
{
  int size, own;
  static const int bytes[] = { 1 << 20, 64 << 20 };
  const gboolean network = n_sent / RUNS % 2 == 1;
  const TdModelCost *cost = network ? &right.network : &right.copy;

  PMPI_Comm_size (comm, &size);
  PMPI_Comm_rank (comm, &own);
  g_assert_cmpint (size, ==, network ? (int) RANKS : 1);
  g_assert_cmpint (n, ==, bytes[n_sent / (2 * RUNS)]);
  g_assert_cmpint (n_to, ==, n);
  g_assert_cmpint (dest, ==, (own + 1) % size);
  g_assert_cmpint (source, ==, (own + size - 1) % size);
  clock_s += (cost->c + cost->m * n) * (network == (rank == 1) ? 1 : 0.5) * (n_sent % RUNS ? 1 : 2);
  n_sent++;
  return MPI_SUCCESS;
}

gboolean
td_disk_bench_write_scan (const char *path, TdScanFormat format, const TdScanFacts *facts,
                          GCancellable *cancellable, GError **error)
{
  g_autofree char *name = g_strdup_printf ("scan-%u.nxs", sizes[n_scans].side);
  g_autofree char *base = g_path_get_basename (path);
  const guint views = sizes[n_scans].views;

  g_assert_cmpint (rank, ==, 0);
  g_assert_cmpstr (base, ==, name);
  g_assert_cmpint (format, ==, TD_SCAN_NXTOMO);
  g_assert_cmpuint (facts->n_columns, ==, sizes[n_scans].side);
  g_assert_cmpuint (facts->n_rows, ==, sizes[n_scans].rows);
  g_assert_cmpuint (facts->geometry.volume_size[2], ==, sizes[n_scans].rows);
  g_assert_cmpuint (facts->n_views, ==, views);
  g_assert_cmpuint (facts->n_flats, ==, 1);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->sample_type, ==, TD_SAMPLE_UINT16);
  for (guint i = 0; i < views; i++)
    g_assert_cmpfloat_with_epsilon (facts->angles_rad[i] * views, 2 * G_PI * i, 1e-9);
  n_scans++;
  if (disk_is_full)
    return td_set_error (error, TD_ERROR_IO, "no room");
  return g_file_set_contents (path, "", 0, error);
}

void
td_disk_bench_remove (const char *path)
{
  test_folder_remove (path);
}

/* What a job takes on the machine. Its first run takes longer, and its last one less. */
static TdPipelineTimes
job_takes (const TdBenchmarkWay *way, const TdModelProblem *problem, guint run, double late_s)
{
  static const double factors[RUNS] = { 1.25, 1, 0.5 };
  const guint rows = way->columns ? 1 : RANKS, columns = way->columns ? RANKS : 1;
  const gboolean slab = way->mode == TD_CLUSTER_SLAB;
  const double part = factors[run];
  TdModelTimes times;

  td_model_predict (&right, problem, way->mode, rows, columns, &times);
  const double kernel = times.back_project - (slab ? 0 : times.upload);
  return (TdPipelineTimes) {
    .read = times.load * part,
    .filter = times.filter * part,
    .gather = times.gather * part,
    .back_project = kernel * part,
    .transfer = (times.upload + times.download - right.link.c) * part, /* both at once */
    .reduce = times.reduce * part,
    .store = times.store * part,
    .start = right.start_s - LATE_S + (slab ? right.widening_s * problem->n_columns : 0)
             + (run == 0 ? late_s : 0),
    .all = (times.total - LATE_S) * part,
  };
}

/* Each way in turns, three times, of each size. */
void
td_worker_do (const char *job_folder, TdPipelineTimes *slowest, TdModelProblem *problem)
{
  const guint size = n_jobs / (RUNS * WAYS), run = n_jobs / WAYS % RUNS;
  const TdBenchmarkWay *way = &ways[n_jobs % WAYS];
  g_autofree char *id = g_strdup_printf ("20000101-000000-%08u", n_jobs);
  g_autofree char *scan
      = g_strdup_printf ("%s/" TD_WORKER_BENCHMARK "/scan-%u.nxs", folder->path, sizes[size].side);
  g_autofree char *output = g_strdup_printf ("%s/" TD_WORKER_BENCHMARK "/volume", folder->path);
  g_auto (TdJobFile) job;
  g_autoptr (GError) error = NULL;

  td_job_file_load (&job, job_folder, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (job.id, ==, id);
  g_assert_cmpstr (job.scan_path, ==, scan);
  g_assert_cmpstr (job.output, ==, output);
  g_assert_cmpint (job.cluster.mode, ==, way->mode);
  g_assert_cmpuint (job.cluster.rows, ==, way->columns ? 1 : RANKS);
  g_assert_cmpuint (job.cluster.columns, ==, way->columns ? RANKS : 1);
  g_assert_cmpstr (job.cluster.device, ==, "host");
  g_assert_cmpint (job.cluster.view_slice, ==, -1);
  g_assert_cmpint (job.recipe.output_format, ==, way->format);
  if (rank == 0) { /* the volume of the job before is gone */
    g_assert_true (g_file_test (scan, G_FILE_TEST_EXISTS));
    g_assert_cmpint (g_mkdir (output, 0700), ==, 0);
  }
  *problem = (TdModelProblem) { .n_columns = sizes[size].side,
                                .n_rows = sizes[size].rows,
                                .n_views = sizes[size].views,
                                .nx = sizes[size].side,
                                .ny = sizes[size].side,
                                .nz = sizes[size].rows,
                                .sample_bytes = 2,
                                .voxel_bytes = 4,
                                .slab_slices = 32,
                                .together = 1,
                                .stack = way->format == TD_VOLUME_TIFF_STACK,
                                .fan = 0.1 };
  *slowest = job_takes (way, problem, run, way == ways ? LATE_S : 2 * LATE_S);
  n_jobs++;
}

/* ── What comes of it ── */

/* All that is printed meanwhile. (transfer full) */
static char *
run_benchmark (int status)
{
  g_autofree char *path = test_folder_file (folder, "said"), *said = NULL;
  const int before = dup (STDOUT_FILENO);

  fflush (stdout);
  g_assert_nonnull (freopen (path, "w", stdout));
  g_assert_cmpint (td_worker_benchmark (folder->path, "host"), ==, status);
  td_mpi_limit_clear ();
  fflush (stdout);
  g_assert_cmpint (dup2 (before, STDOUT_FILENO), ==, STDOUT_FILENO);
  close (before);
  g_assert_true (g_file_get_contents (path, &said, NULL, NULL));
  return g_steal_pointer (&said);
}

/* What the first rank prints, nothing of the others. (transfer full) */
static char *
benchmark_says (int status)
{
  char path[256] = "";
  char *said = NULL;

  n_scans = n_jobs = n_sent = n_finished = 0;
  folder = test_folder_new ();
  if (rank == 0)
    g_strlcpy (path, folder->path, sizeof path);
  else
    test_folder_remove (folder->path);
  MPI_Bcast (path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  g_free (folder->path);
  folder->path = g_strdup (path);
  if (rank == 0)
    said = run_benchmark (status);
  else
    g_assert_cmpint (td_worker_benchmark (folder->path, "host"), ==, status);
  td_mpi_limit_clear ();
  g_assert_cmpuint (n_finished, ==, 1);
  if (rank == 0)
    g_assert_cmpuint (test_folder_count (folder), ==, 1); /* what was said */
  PMPI_Barrier (MPI_COMM_WORLD);
  test_folder_free (folder);
  return said;
}

static void
test_benchmark (gconstpointer of_two_nodes)
{
  g_autoptr (GError) error = NULL;

  apart = of_two_nodes != NULL;
  g_assert_true (td_model_machine_parse (&right, machines[apart], &error));
  g_autofree char *said = benchmark_says (TD_WORKER_DONE);
  g_assert_cmpuint (n_jobs, ==, G_N_ELEMENTS (sizes) * WAYS * RUNS);
  g_assert_cmpuint (n_scans, ==, rank == 0 ? G_N_ELEMENTS (sizes) : 0);
  g_assert_cmpuint (n_sent, ==, apart ? 4 * RUNS : 0);
  if (rank != 0)
    return;
  TdModelMachine found;
  const char *words = strstr (said, "machine ");
  g_assert_nonnull (words);
  g_assert_cmpint (strstr (said, "one node has no neighbour") != NULL, ==, !apart);
  g_assert_null (strstr (said, "one rank exchanges nothing"));
  g_assert_true (td_model_machine_parse (&found, words + strlen ("machine "), &error));
  right.memory_bytes = found.memory_bytes; /* the computer's */
  g_autofree char *found_words = td_model_machine_words (&found);
  g_autofree char *right_words = td_model_machine_words (&right);
  g_assert_cmpfloat (found.memory_bytes, >, 1 << 28);
  g_assert_cmpstr (found_words, ==, right_words);
}

/* A scan that cannot be written ends it on all ranks, and leaves nothing. */
static void
test_fails (void)
{
  disk_is_full = TRUE;
  g_autofree char *said = benchmark_says (TD_WORKER_FAILED);
  disk_is_full = FALSE;
  g_assert_cmpuint (n_jobs, ==, 0);
  g_assert_cmpuint (n_scans, ==, rank == 0);
  if (rank == 0)
    g_assert_cmpstr (said, ==, "");
}

int
main (int argc, char **argv)
{
  int threads, ranks;

  PMPI_Init_thread (&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  g_assert_cmpint (ranks, ==, RANKS);
  if (rank > 0)
    g_assert_nonnull (freopen ("/dev/null", "w", stdout));
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/benchmark/one-node", NULL, test_benchmark);
  g_test_add_data_func ("/benchmark/two-nodes", "two", test_benchmark);
  g_test_add_func ("/benchmark/fails", test_fails);
  const int status = g_test_run ();
  PMPI_Finalize ();
  return status;
}
