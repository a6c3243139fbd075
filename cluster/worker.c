/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/engine/job.h"
#include "compute/engine/method.h"
#include "compute/methods/methods.h"
#include "compute/recipe/json.h"
#include "config.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"
#include "dataset/text-file.h"
#include "gather.h"
#include "job-file.h"
#include "model.h"
#include "mpi-limit.h"
#include "mpi-util.h"
#include "parts.h"
#include "pipeline.h"
#include "watch.h"

/* Segments in flight may take one part in so many of a rank's memory, gathered views another. */
#define SEGMENTS_PART 8
/* Ranks of which none is so many times as fast as another do the same. */
#define ALIKE 1.15

/* What all ranks know of each. */
typedef struct {
  char node[64], device[64], kernel[64], precision[16];
  double estimate_s;                         /* of the whole volume on this rank; 0: not known */
  guint64 host_bytes, device_bytes, updates; /* of the plan */
  guint64 device_memory, host_memory;        /* that the rank may take */
  guint nx, ny, n_slices, symmetric_views;
} RankFacts;

/* What ranks of a node tell each other of their devices. */
typedef struct {
  char id[64];
} RankDevice;

/* What rank 0 has decided. */
typedef struct {
  double low, high; /* of integer output */
  gboolean go_on;   /* with the output of an earlier run */
  guint64 samples_at;
  char part[PATH_MAX]; /* where the output is written (TdVolumeLayout) */
} Decided;

typedef struct {
  const char *folder;
  int rank, size;
  int local_rank, node_ranks, node; /* among those of the node; how many; the first rank there */
  TdJobFile job;
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe;       /* concrete; devices: this rank's */
  const char *undivided; /* why one rank computes all slices at once (td_method_undivided()) */
  TdPlan *whole;
  RankFacts *ranks;
  int *nodes; /* of all ranks */
  TdGrid grid;
  Decided decided;
  TdVolumeSpec spec;
  TdVolumeWriter *volume;
  TdParts *parts;     /* rank 0 */
  GThreadPool *notes; /* rank 0: one thread, which saves the parts */
  TdHandout *handout; /* rank 0, and rows are handed out */
  TdEvents *events;
  TdWatch *watch;
  GCancellable *cancellable;
  MPI_Comm local;                                   /* the node's ranks */
  MPI_Comm row, column;                             /* of the grid; column: with the mode ifdk */
  char device[sizeof ((TdRecipe *) NULL)->devices]; /* this rank's */
  guint64 device_memory;                            /* that it may take of it */
  TdPipeline pipeline;
  TdPipelineTimes slowest; /* of all ranks, once they are done */
  gint64 started_us;
} Worker;

/* ── MPI without spinning ── */

/* Ranks that wait for others leave them the processors. Where the job ends meanwhile, nobody waits
   for those that failed. */
static void
worker_await (const Worker *worker, MPI_Request *request)
{
  g_autoptr (GError) error = NULL;

  if (td_mpi_await (request, 500, worker->cancellable, &error))
    return;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    td_watch_cancelled (worker->watch);
  td_watch_fail (worker->watch, error);
}

static void
worker_share (const Worker *worker, void *data, gsize bytes)
{
  MPI_Request request;

  MPI_Ibcast (data, (int) bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  worker_await (worker, &request);
}

/* Rank 0's text, on all ranks. (transfer full) */
static char *
worker_share_text (const Worker *worker, const char *text)
{
  guint64 length = worker->rank == 0 ? strlen (text) + 1 : 0;

  worker_share (worker, &length, sizeof length);
  char *copy = worker->rank == 0 ? g_strdup (text) : g_malloc (length);
  worker_share (worker, copy, length);
  return copy;
}

/* ── Where this rank is ── */

static void
worker_find_node (Worker *worker)
{
  MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, worker->rank, MPI_INFO_NULL,
                       &worker->local);
  MPI_Comm_set_errhandler (worker->local, MPI_ERRORS_RETURN);
  MPI_Comm_rank (worker->local, &worker->local_rank);
  MPI_Comm_size (worker->local, &worker->node_ranks);
  worker->node = worker->rank;
  MPI_Bcast (&worker->node, 1, MPI_INT, 0, worker->local);
  td_mpi_share_node (worker->local);
}

static gboolean
worker_gathers (const Worker *worker)
{
  return worker->job.cluster.mode == TD_CLUSTER_IFDK;
}

/* Of the rank's memory, where that is limited, for what ranks exchange. */
static guint64
worker_exchange_bytes (const Worker *worker)
{
  return worker->job.cluster.memory_bytes / SEGMENTS_PART * (worker_gathers (worker) ? 2 : 1);
}

/* This rank's devices and memory, in a recipe that all have. */
static void
worker_set_own (Worker *worker, TdRecipe *recipe)
{
  const guint64 memory = worker->job.cluster.memory_bytes;

  g_strlcpy (recipe->devices, worker->device, sizeof recipe->devices);
  recipe->memory_limit_bytes = memory ? memory - worker_exchange_bytes (worker) : 0;
  recipe->device_memory_limit_bytes = worker->device_memory;
}

/* Ranks of the node that have this rank's device. Its number differs where each rank sees other
   cards. */
static guint
worker_sharers (const Worker *worker, const TdDeviceInfo *info)
{
  RankDevice own = { 0 };
  g_autofree RankDevice *all = g_new0 (RankDevice, worker->node_ranks);
  MPI_Request request;
  guint sharers = 0;

  g_strlcpy (own.id, info->hardware_id && *info->hardware_id ? info->hardware_id : info->id,
             sizeof own.id);
  MPI_Iallgather (&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, worker->local, &request);
  worker_await (worker, &request);
  for (int i = 0; i < worker->node_ranks; i++)
    sharers += strcmp (all[i].id, own.id) == 0;
  return sharers;
}

/* @names of them were asked for. */
static void
worker_note_spare_devices (const Worker *worker, char *const *names)
{
  const guint n = g_strv_length ((char **) names), used = (guint) worker->node_ranks;

  if (worker->local_rank != 0 || n <= used)
    return;
  g_autofree char *spare = g_strjoinv (", ", (char **) names + used);
  td_watch_note (worker->watch,
                 td_message_new ("No rank uses %s of %s, which has %u ranks for %u devices.", spare,
                                 g_get_host_name (), used, n));
}

/* Ranks of a node take its devices in turns. Each opens its own only: drivers take long to open a
   card, and open one after the other. */
static gboolean
worker_choose_device (Worker *worker, GError **error)
{
  g_auto (GStrv) names = td_device_names (worker->job.cluster.device);
  const char *name = names[(guint) worker->local_rank % g_strv_length (names)];
  g_autoptr (GPtrArray) devices = td_engine_devices (worker->engine, name, error);

  if (!devices)
    return FALSE;
  const TdDeviceInfo *info = td_device_info (devices->pdata[0]);
  const guint64 memory = worker->job.cluster.memory_bytes;
  g_strlcpy (worker->device, info->id, sizeof worker->device);
  worker->device_memory = info->memory_bytes / worker_sharers (worker, info);
  if (memory)
    worker->device_memory = MIN (worker->device_memory, memory - worker_exchange_bytes (worker));
  worker_set_own (worker, &worker->recipe);
  worker_note_spare_devices (worker, names);
  return TRUE;
}

/* ── The plan of the whole ── */

/* Rank 0 makes everything "auto" concrete, so that the centre is looked for once. */
static gboolean
worker_make_plan (Worker *worker, GError **error)
{
  g_autofree char *text = NULL;

  td_watch_stage (worker->watch, N_ ("planning"));
  if (worker->rank == 0) {
    worker->whole = td_plan_new (worker->engine, worker->scan, &worker->recipe, worker->job.output,
                                 worker->cancellable, error);
    if (!worker->whole)
      return FALSE;
    text = td_recipe_to_json (td_plan_recipe (worker->whole));
  }
  g_autofree char *shared = worker_share_text (worker, text);
  if (!td_recipe_from_json (&worker->recipe, shared, error))
    return FALSE;
  worker_set_own (worker, &worker->recipe);
  if (worker->rank != 0) /* with the output, too, lest the first seem slower for having to write */
    worker->whole = td_plan_new (worker->engine, worker->scan, &worker->recipe, worker->job.output,
                                 worker->cancellable, error);
  return worker->whole != NULL;
}

/* All ranks learn of each other. */
static gboolean
worker_meet_ranks (Worker *worker, GError **error)
{
  const TdPlanFacts *facts = td_plan_facts (worker->whole);
  RankFacts own = { .estimate_s = facts->estimate_s,
                    .host_bytes = facts->host_bytes + worker_exchange_bytes (worker),
                    .device_bytes = facts->device_bytes,
                    .device_memory = worker->device_memory,
                    .host_memory = td_host_memory_available (),
                    .nx = facts->nx,
                    .ny = facts->ny,
                    .n_slices = facts->n_slices,
                    .symmetric_views = facts->symmetric_views };
  MPI_Request request;

  g_strlcpy (own.node, g_get_host_name (), sizeof own.node);
  g_strlcpy (own.device, facts->devices[0], sizeof own.device);
  g_strlcpy (own.kernel, facts->family, sizeof own.kernel);
  g_strlcpy (own.precision, td_precision_names[facts->precision], sizeof own.precision);
  worker->ranks = g_new0 (RankFacts, worker->size);
  worker->nodes = g_new0 (int, worker->size);
  MPI_Iallgather (&own, sizeof own, MPI_BYTE, worker->ranks, sizeof own, MPI_BYTE, MPI_COMM_WORLD,
                  &request);
  worker_await (worker, &request);
  MPI_Iallgather (&worker->node, 1, MPI_INT, worker->nodes, 1, MPI_INT, MPI_COMM_WORLD, &request);
  worker_await (worker, &request);
  for (int i = 1; i < worker->size; i++) {
    const RankFacts *other = &worker->ranks[i], *first = worker->ranks;
    if (other->nx == first->nx && other->ny == first->ny && other->n_slices == first->n_slices)
      continue;
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "Rank %d (%s) sees another scan than rank 0 (%s): %u × %u × %u voxels instead of "
        "%u × %u × %u; give all nodes the same files",
        i, other->node, first->node, other->nx, other->ny, other->n_slices, first->nx, first->ny,
        first->n_slices);
  }
  return TRUE;
}

/* ── The grid ── */

static gboolean
worker_hands_out (const Worker *worker)
{
  return worker->job.cluster.mode == TD_CLUSTER_SLICES;
}

/* The most views that a rank's kernel adds together, a part of a turn apart from each other. */
static guint
worker_together (const Worker *worker)
{
  guint together = 1;

  for (int i = 0; i < worker->size; i++)
    together = MAX (together, worker->ranks[i].symmetric_views);
  return together;
}

/* The filter transforms two lines at once. So groups with views of each part of the turn want an
   even number of them in each, to have the bits of one process. */
static gboolean
worker_parts_in_order (const Worker *worker)
{
  const guint together = worker_together (worker);
  const guint n_views = td_plan_facts (worker->whole)->n_views;

  return together == 1 || n_views % (2 * together) == 0;
}

/* Why one rank must add all views of its slices; NULL: it need not. (transfer full) */
static char *
worker_one_column (Worker *worker)
{
  static const double halves[] = { 1, 1 };
  const TdPlanPart part = { .views = td_grid_views (td_plan_facts (worker->whole)->n_views,
                                                    worker_together (worker), halves, 2, 0) };
  g_autoptr (GError) error = NULL;

  if (worker_hands_out (worker))
    return g_strdup (N_ ("rows are handed out whole in the mode slices; take the mode slab"));
  const gboolean ordered = worker->job.cluster.ordered;
  if (ordered && !worker_parts_in_order (worker))
    return g_strdup (N_ ("its kernel adds views half a turn or a quarter apart together, and the "
                         "order of the views was asked for; take another kernel, or one column"));
  for (int i = 1; ordered && i < worker->size; i++)
    if (strcmp (worker->ranks[i].kernel, worker->ranks[0].kernel) != 0)
      return g_strdup (
          N_ ("the ranks have different kernels, and the bits of one process were asked "
              "for; name the device, or take one column"));
  g_autoptr (TdPlan) some
      = td_plan_new_part (worker->engine, worker->scan, &worker->recipe, &part, NULL, &error);
  return some || !g_error_matches (error, TD_ERROR, TD_ERROR_UNSUPPORTED) ? NULL
                                                                          : td_error_pack (error);
}

/* How fast a rank is, by what earlier jobs of its device left, if the ranks differ. */
static double
worker_speed (const Worker *worker, guint rank)
{
  double least = INFINITY, most = 0;

  for (int i = 0; i < worker->size; i++) {
    least = MIN (least, worker->ranks[i].estimate_s);
    most = MAX (most, worker->ranks[i].estimate_s);
  }
  return least > 0 && most > ALIKE * least ? 1 / worker->ranks[rank].estimate_s : 1;
}

/* Of each row of the grid. (transfer full) */
static double *
worker_row_speeds (const Worker *worker)
{
  const guint rows = worker->grid.rows, columns = worker->grid.columns;
  double *speeds = g_new0 (double, rows);

  for (guint i = 0; i < rows * columns; i++)
    speeds[i / columns] += worker_speed (worker, i);
  return speeds;
}

/* The views that a rank of the grid adds. */
static TdViewGroup
worker_views_of (const Worker *worker, guint rank)
{
  const guint rows = worker->grid.rows, columns = worker->grid.columns;
  g_autofree double *speeds = g_new0 (double, columns);

  /* Ranks that gather have the same views as the others of their column. */
  for (guint i = 0; i < rows * columns; i++)
    if (worker_gathers (worker) || i / columns == rank / columns)
      speeds[i % columns] += worker_speed (worker, i);
  return td_grid_views (td_plan_facts (worker->whole)->n_views, worker_together (worker), speeds,
                        columns, rank % columns);
}

/* R of Equation 7 for the rank with the least memory; 0: the mode wants as many rows as there may
 * be.
 */
static guint
worker_least_rows (const Worker *worker)
{
  const TdPlanFacts *facts = td_plan_facts (worker->whole);
  const TdScanFacts *scan = td_scan_facts (worker->scan);
  double memory = INFINITY;

  if (!worker_gathers (worker))
    return 0;
  for (int i = 0; i < worker->size; i++)
    memory = MIN (memory, (double) worker->ranks[i].device_memory);
  return td_grid_least_rows ((double) sizeof (float) * facts->nx * facts->ny * facts->n_slices,
                             (double) sizeof (float) * scan->n_columns * scan->n_rows
                                 * TD_GRID_BATCH,
                             memory, facts->n_slices);
}

static void
worker_tell_start (Worker *worker)
{
  const char *scheduler = g_getenv ("SLURM_JOB_ID"), *restarts = g_getenv ("SLURM_RESTART_COUNT");

  if (worker->rank != 0)
    return;
  JsonBuilder *builder = td_events_begin (worker->events, "start");
  td_json_add_integer (builder, "ranks", (guint64) worker->size);
  td_json_add_integer (builder, "rows", worker->grid.rows);
  td_json_add_integer (builder, "columns", worker->grid.columns);
  td_json_add_string (builder, "mode", td_cluster_mode_name (worker->job.cluster.mode));
  td_json_begin_list (builder, "nodes");
  for (int i = 0; i < worker->size; i++)
    if (worker->nodes[i] == i)
      json_builder_add_string_value (builder, worker->ranks[i].node);
  json_builder_end_array (builder);
  const TdPlanFacts *facts = td_plan_facts (worker->whole);
  td_json_add_string (builder, "version", TD_VERSION);
  td_json_add_string (builder, "job", scheduler);
  if (restarts)
    td_json_add_integer (builder, "restarts", g_ascii_strtoull (restarts, NULL, 10));
  td_events_add_volume (builder, facts);
  td_events_end (worker->events);
}

/* What each rank is, and what it does of the volume. */
static void
worker_tell_ranks (Worker *worker)
{
  const guint rows = worker->grid.rows, columns = worker->grid.columns;
  g_autofree double *of_rows = worker_row_speeds (worker);

  for (guint i = 0; worker->rank == 0 && i < (guint) worker->size; i++) {
    const RankFacts *facts = &worker->ranks[i];
    JsonBuilder *builder = td_events_begin (worker->events, "rank");
    td_json_add_integer (builder, "rank", i);
    td_json_add_string (builder, "node", facts->node);
    td_json_add_string (builder, "device", facts->device);
    td_json_add_string (builder, "kernel", facts->kernel);
    td_json_add_string (builder, "precision", facts->precision);
    td_json_add_integer (builder, "memory", facts->host_bytes);
    td_json_add_integer (builder, "memory_there", facts->host_memory);
    td_json_add_integer (builder, "device_memory", facts->device_bytes);
    if (!worker_hands_out (worker) && i < rows * columns) {
      const TdGridShare slices = td_grid_share (facts->n_slices, 1, of_rows, rows, i / columns);
      const TdViewGroup views = worker_views_of (worker, i);
      td_json_add_integer (builder, "first", slices.first);
      td_json_add_integer (builder, "count", slices.count);
      td_json_add_integer (builder, "first_view", views.first);
      td_json_add_integer (builder, "views", views.count);
      td_json_add_integer (builder, "view_parts", columns > 1 ? views.parts : 1);
    }
    td_events_end (worker->events);
  }
}

/* Takes @notes. */
static void
worker_tell_notes (const Worker *worker, TdMessage **notes)
{
  for (guint i = 0; notes && notes[i]; i++)
    td_watch_note (worker->watch, notes[i]);
  g_free (notes);
}

static void
worker_note_idle (Worker *worker)
{
  const guint used = worker->grid.rows * worker->grid.columns;

  if (worker->rank != 0 || used == (guint) worker->size)
    return;
  td_watch_note (worker->watch,
                 td_message_new ("Ranks %u to %d have nothing to do: the grid has %u rows of %u.",
                                 used, worker->size - 1, worker->grid.rows, worker->grid.columns));
}

static TdModelProblem
worker_problem (const Worker *worker)
{
  return td_model_problem (td_scan_facts (worker->scan), td_plan_facts (worker->whole),
                           &worker->recipe);
}

/* What the grid should take, if the job's folder says what the machine can do ("machine.txt", as
   td_model_machine_parse() takes it). FALSE: it does not, or the method iterates, of which the
   model knows nothing; @error: what it says is none of that. */
static gboolean
worker_predict (const Worker *worker, TdModelTimes *times, gboolean *shared, GError **error)
{
  g_autofree char *path = g_build_filename (worker->folder, "machine.txt", NULL);
  TdModelMachine machine;

  if (td_method_iterates (worker->recipe.method) || !g_file_test (path, G_FILE_TEST_EXISTS)
      || !td_model_machine_parse (&machine, path, error))
    return FALSE;
  const TdModelProblem problem = worker_problem (worker);
  td_model_predict (&machine, &problem, worker->job.cluster.mode, worker->grid.rows,
                    worker->grid.columns, times);
  *shared = machine.shared > 0;
  return TRUE;
}

static void
worker_add_prediction (const TdModelTimes *times, gboolean shared, JsonBuilder *builder)
{
  td_json_add_number (builder, "back-project", times->back_project);
  td_json_add_number (builder, "compute", times->total);
  td_json_add_string (builder, "bound", times->bound);
  if (shared)
    return;
  td_json_add_number (builder, "read", times->load);
  td_json_add_number (builder, "filter", times->filter);
  td_json_add_number (builder, "gather", times->gather);
  td_json_add_number (builder, "transfer", times->upload + times->download);
  td_json_add_number (builder, "reduce", times->reduce);
  td_json_add_number (builder, "store", times->store);
}

static void
worker_tell_plan (Worker *worker)
{
  TdModelTimes times;
  gboolean shared;
  g_autoptr (GError) error = NULL;

  if (worker->rank != 0)
    return;
  if (!worker_predict (worker, &times, &shared, &error)) {
    if (error)
      fprintf (stderr, "tomodesk-worker: the job is not predicted: machine.txt: %s\n",
               error->message);
    return;
  }
  JsonBuilder *builder = td_events_begin (worker->events, "plan");
  worker_add_prediction (&times, shared, builder);
  td_events_end (worker->events);
}

/* The ranks of a colour; none for MPI_UNDEFINED. */
static MPI_Comm
worker_split (const Worker *worker, int colour)
{
  MPI_Comm comm;

  MPI_Comm_split (MPI_COMM_WORLD, colour, worker->rank, &comm);
  if (comm != MPI_COMM_NULL)
    MPI_Comm_set_errhandler (comm, MPI_ERRORS_RETURN);
  return comm;
}

static gboolean
worker_make_grid (Worker *worker, GError **error)
{
  g_autofree char *one_column = worker_one_column (worker);
  /* In the order of views all groups are parted, or none is. */
  const gboolean ordered = worker->job.cluster.ordered;
  const TdGridLimits limits = { .n_slices = td_plan_facts (worker->whole)->n_slices,
                                .n_views = td_plan_facts (worker->whole)->n_views,
                                .least_rows = worker_least_rows (worker),
                                .one_column = one_column,
                                .parts = ordered ? worker_together (worker) : 1 };

  if (!td_grid_choose ((guint) worker->size, &worker->job.cluster, &limits, &worker->grid, error))
    return FALSE;
  const guint used = worker->grid.rows * worker->grid.columns, rank = (guint) worker->rank;
  const guint columns = worker->grid.columns;
  worker->row = worker_split (worker, rank < used ? (int) (rank / columns) : MPI_UNDEFINED);
  worker->column = worker_split (
      worker, worker_gathers (worker) && rank < used ? (int) (rank % columns) : MPI_UNDEFINED);
  worker_tell_start (worker);
  worker_tell_ranks (worker);
  if (worker->rank == 0)
    worker_tell_notes (worker, td_messages_copy (td_plan_facts (worker->whole)->notes));
  worker_note_idle (worker);
  worker_tell_plan (worker);
  return TRUE;
}

/* ── The output ── */

static void
on_note (gpointer data, gpointer user)
{
  Worker *worker = user;
  g_autoptr (GError) error = NULL;

  if (!td_parts_save (worker->parts, &error)) /* a restart then computes it again */
    fprintf (stderr, "tomodesk-worker: %s\n", error->message);
}

/* A busy disk may take seconds, for which the watching thread does not wait. */
static void
on_part (guint first, guint count, gpointer user)
{
  Worker *worker = user;

  td_parts_note (worker->parts, first, count);
  if (g_thread_pool_unprocessed (worker->notes) == 0)
    g_thread_pool_push (worker->notes, worker, NULL); /* its thread is there since it was made */
}

static TdGridShare
on_grant (guint rank, gboolean *later, gpointer user)
{
  Worker *worker = user;
  guint slow;
  const TdGridShare share = td_handout_grant (worker->handout, rank, worker->parts,
                                              g_get_monotonic_time (), later, &slow);

  if (slow != G_MAXUINT)
    td_watch_note (
        worker->watch,
        td_message_new ("Rank %u is slow: its slices %u to %u are computed by rank %u, too.", slow,
                        share.first, share.first + share.count - 1, rank));
  return share;
}

static void
on_discard (gpointer user)
{
  Worker *worker = user;

  if (worker->volume)
    td_volume_writer_discard (worker->volume);
}

static void
worker_fill_spec (Worker *worker)
{
  worker->spec = td_plan_volume (worker->whole);
  worker->spec.path = worker->job.output;
  worker->spec.low = worker->decided.low;
  worker->spec.high = worker->decided.high;
  worker->spec.overwrite = worker->job.overwrite;
  worker->spec.job = worker->job.id;
  worker->spec.go_on = worker->decided.go_on;
}

/* Rank 0 lays the volume out, or finds what an earlier run of the job left. */
static gboolean
worker_begin_output (Worker *worker, GError **error)
{
  const TdPlanFacts *facts = td_plan_facts (worker->whole);
  /* Neither the memory that there is today nor the device makes another volume of it. */
  TdRecipe same = worker->recipe;
  same.memory_limit_bytes = same.device_memory_limit_bytes = 0;
  same.devices[0] = '\0';
  g_autofree char *recipe = td_recipe_to_json (&same);
  g_autoptr (TdJob) job = td_job_new (worker->whole);

  if (!td_job_output_range (job, &worker->decided.low, &worker->decided.high, error))
    return FALSE;
  worker_tell_notes (worker, td_job_take_notes (job));
  const TdPartsOf of
      = { worker->job.id, worker->job.output, recipe, facts->nx, facts->ny, facts->n_slices };
  worker->parts = td_parts_new (worker->folder, &of);
  /* Slices that are missing would come out another way without the others. */
  if (!worker->undivided && td_parts_resume (worker->parts)) {
    worker->decided.go_on = TRUE;
    worker_fill_spec (worker);
    worker->volume = td_volume_writer_new (&worker->spec, NULL);
  }
  if (!worker->volume) {
    g_clear_pointer (&worker->parts, td_parts_free);
    worker->parts = td_parts_new (worker->folder, &of);
    worker->decided.go_on = FALSE;
    worker_fill_spec (worker);
    worker->volume = td_volume_writer_new (&worker->spec, error);
  }
  if (!worker->volume || !td_parts_save (worker->parts, error))
    return FALSE;
  worker->notes = g_thread_pool_new (on_note, worker, 1, TRUE, error);
  if (!worker->notes)
    return FALSE;
  const TdVolumeLayout layout = td_volume_writer_layout (worker->volume);
  worker->decided.samples_at = layout.samples_at;
  if (g_strlcpy (worker->decided.part, layout.part, sizeof worker->decided.part)
      >= sizeof worker->decided.part)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "The output's path “%s” is too long",
                         layout.part);
  const TdWatchCalls calls
      = { .part = on_part, .grant = on_grant, .discard = on_discard, .user = worker };
  td_watch_set_calls (worker->watch, &calls);
  return TRUE;
}

static gboolean
worker_open_output (Worker *worker, GError **error)
{
  td_watch_stage (worker->watch, N_ ("opening the output"));
  if (worker->rank == 0 && !worker_begin_output (worker, error))
    return FALSE;
  worker_share (worker, &worker->decided, sizeof worker->decided);
  if (worker->rank == 0)
    return TRUE;
  worker_fill_spec (worker);
  const TdVolumeLayout layout = { worker->decided.part, worker->decided.samples_at };
  worker->volume = td_volume_writer_join (&worker->spec, &layout, error);
  return worker->volume != NULL;
}

/* Ranges (TdGridShare) that are missing, on all ranks. (transfer full) */
static GArray *
worker_missing (Worker *worker)
{
  GArray *missing = worker->rank == 0 ? td_parts_list (worker->parts, FALSE)
                                      : g_array_new (FALSE, TRUE, sizeof (TdGridShare));
  guint n = missing->len;

  if (worker->rank == 0 && worker_hands_out (worker))
    worker->handout = td_handout_new (missing, (guint) worker->size);
  worker_share (worker, &n, sizeof n);
  g_array_set_size (missing, n);
  worker_share (worker, missing->data, n * sizeof (TdGridShare));
  if (worker->rank == 0 && worker->decided.go_on) {
    guint left = 0;
    for (guint i = 0; i < n; i++)
      left += g_array_index (missing, TdGridShare, i).count;
    td_watch_note (worker->watch,
                   td_message_new ("An earlier run of the job left %u of %u slices, which stay.",
                                   worker->spec.n_slices - left, worker->spec.n_slices));
  }
  return missing;
}

/* ── The work ── */

/* The slice in view comes first, from the row that computes it anyway. */
static gboolean
worker_show_slice (Worker *worker, const GArray *ranges, GError **error)
{
  const gint slice = worker->job.cluster.view_slice - (gint) worker->spec.first_slice;

  if (worker->undivided && slice >= 0) {
    td_watch_note (worker->watch, td_message_new ("No slice is shown first: %p.",
                                                  td_message_new_plain (worker->undivided)));
    return TRUE;
  }
  for (guint i = 0; i < ranges->len; i++) {
    const TdGridShare *range = &g_array_index (ranges, TdGridShare, i);
    if (slice < (gint) range->first || slice >= (gint) (range->first + range->count))
      continue;
    g_autofree char *preview = g_build_filename (worker->folder, "preview", NULL);
    g_autofree char *name = g_strdup_printf ("%06u.tif", worker->job.cluster.view_slice);
    g_autofree char *path = g_build_filename (preview, name, NULL);
    if (g_mkdir_with_parents (preview, 0700) != 0)
      return td_set_error (error, TD_ERROR_IO, "“%s” cannot be written: %s", preview,
                           g_strerror (errno));
    return td_pipeline_run (&worker->pipeline, (TdGridShare) { (guint) slice, 1 }, path, error);
  }
  return TRUE;
}

/* What the rank's row does of @ranges. Where views are gathered, all rows do something of each
   range, since all filter for it. Where there is too little, several rows write the same. */
static GArray *
worker_share_ranges (const Worker *worker, const GArray *ranges, const double *of_rows)
{
  const guint rows = worker->grid.rows, row = (guint) worker->rank / worker->grid.columns;

  if (!worker_gathers (worker))
    return td_parts_share (ranges, of_rows, rows, row);
  GArray *mine = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  for (guint i = 0; i < ranges->len; i++) {
    const TdGridShare *range = &g_array_index (ranges, TdGridShare, i);
    TdGridShare share = td_grid_share (range->count, 1, of_rows, rows, row);
    share = (TdGridShare) { range->first + MIN (share.first, range->count - 1),
                            MAX (share.count, 1) };
    g_array_append_val (mine, share);
  }
  return mine;
}

/* How the rank's views travel to the other rows. */
static void
worker_gather_views (Worker *worker)
{
  const TdScanFacts *scan = td_scan_facts (worker->scan);
  const guint64 memory = worker->job.cluster.memory_bytes;

  worker->pipeline.column = worker->column;
  worker->pipeline.gathered
      = td_gather_chunk (memory ? memory / SEGMENTS_PART : G_MAXUINT64,
                         (guint64) scan->n_columns * scan->n_rows * sizeof (float),
                         worker->pipeline.views.count, worker->grid.rows);
  const TdViewGroup *views = &worker->pipeline.views;
  const guint chunk = td_grid_gathered (worker->pipeline.gathered, views->count, views->parts);
  worker->pipeline.gathered_parts = chunk ? views->parts : 1;
  worker->pipeline.gathered = chunk ? chunk : worker->pipeline.gathered;
}

/* The sub-volumes of this rank's row, with the rank's views. */
static gboolean
worker_do_slabs (Worker *worker, const GArray *missing, GError **error)
{
  const guint rank = (guint) worker->rank;
  g_autofree double *of_rows = worker_row_speeds (worker);
  const TdPlanFacts *facts = td_plan_facts (worker->whole);
  const double slice_updates = facts->updates / facts->n_slices;

  if (rank >= worker->grid.rows * worker->grid.columns)
    return TRUE;
  const TdViewGroup views = worker_views_of (worker, rank);
  g_autoptr (GArray) ranges = worker_share_ranges (worker, missing, of_rows);
  worker->pipeline.views = views;
  worker_gather_views (worker);
  for (guint i = 0; i < ranges->len; i++)
    worker->pipeline.updates += g_array_index (ranges, TdGridShare, i).count * slice_updates
                                * views.count / facts->n_views;
  if (!worker_show_slice (worker, ranges, error))
    return FALSE;
  for (guint i = 0; i < ranges->len; i++)
    if (!td_pipeline_run (&worker->pipeline, g_array_index (ranges, TdGridShare, i), NULL, error))
      return FALSE;
  return TRUE;
}

/* Rows as rank 0 hands them out: who is fast gets more. */
static gboolean
worker_do_slices (Worker *worker, const GArray *missing, GError **error)
{
  TdGridShare share;

  worker->pipeline.updates = td_plan_facts (worker->whole)->updates / worker->size;
  if (worker->rank == 0 && !worker_show_slice (worker, missing, error))
    return FALSE;
  while (td_watch_want (worker->watch, &share) && share.count > 0)
    if (!td_pipeline_run (&worker->pipeline, share, NULL, error))
      return FALSE;
  return !g_cancellable_set_error_if_cancelled (worker->cancellable, error);
}

static gboolean
worker_compute (Worker *worker, GError **error)
{
  const guint64 memory = worker->job.cluster.memory_bytes;
  g_autoptr (GArray) missing = worker_missing (worker);
  g_autofree int *nodes = NULL;

  worker->pipeline = (TdPipeline) {
    .engine = worker->engine,
    .scan = worker->scan,
    .recipe = &worker->recipe,
    .row = worker->row,
    .column = MPI_COMM_NULL,
    .ordered = worker->job.cluster.ordered,
    .memory = memory ? memory / SEGMENTS_PART : G_MAXUINT64,
    .watch = worker->watch,
    .cancellable = worker->cancellable,
    .volume = worker->volume,
    .says = worker->decided.go_on,
    .told = g_hash_table_new (g_str_hash, g_str_equal),
  };
  if (worker->row != MPI_COMM_NULL) {
    nodes = g_new (int, worker->grid.columns);
    const guint first = (guint) worker->rank / worker->grid.columns * worker->grid.columns;
    for (guint i = 0; i < worker->grid.columns; i++)
      nodes[i] = worker->nodes[first + i];
    worker->pipeline.nodes = nodes;
  }
  return worker_hands_out (worker) ? worker_do_slices (worker, missing, error)
                                   : worker_do_slabs (worker, missing, error);
}

/* ── The end ── */

static const struct {
  const char *name;
  gsize offset;
} stages[] = {
  { N_ ("start"), G_STRUCT_OFFSET (TdPipelineTimes, start) },
  { N_ ("read"), G_STRUCT_OFFSET (TdPipelineTimes, read) },
  { N_ ("filter"), G_STRUCT_OFFSET (TdPipelineTimes, filter) },
  { N_ ("gather"), G_STRUCT_OFFSET (TdPipelineTimes, gather) },
  { N_ ("back-project"), G_STRUCT_OFFSET (TdPipelineTimes, back_project) },
  { N_ ("transfer"), G_STRUCT_OFFSET (TdPipelineTimes, transfer) },
  { N_ ("reduce"), G_STRUCT_OFFSET (TdPipelineTimes, reduce) },
  { N_ ("store"), G_STRUCT_OFFSET (TdPipelineTimes, store) },
  { N_ ("compute"), G_STRUCT_OFFSET (TdPipelineTimes, all) },
};

/* What each rank reports at the end. */
typedef struct {
  TdPipelineTimes times;
  TdPreparationCounts counts;
  guint64 clamped, peak_bytes;
  guint64 resident_bytes; /* memory of the process, by the kernel, at most */
  gint32 says;
} Report;

static TdPipelineTimes
worker_slowest (const Report *reports, int n)
{
  TdPipelineTimes times = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    for (int r = 0; r < n; r++) {
      double *most = &G_STRUCT_MEMBER (double, &times, stages[i].offset);
      *most = MAX (*most, G_STRUCT_MEMBER (double, &reports[r].times, stages[i].offset));
    }
  return times;
}

static void
worker_tell_done (Worker *worker, const Report *reports)
{
  JsonBuilder *builder = td_events_begin (worker->events, "done");
  guint64 peak = 0, resident = 0;

  td_json_add_string (builder, "output", worker->job.output);
  td_json_add_number (builder, "seconds", (g_get_monotonic_time () - worker->started_us) * 1e-6);
  td_json_begin_object (builder, "stages");
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    td_json_add_number (builder, stages[i].name,
                        G_STRUCT_MEMBER (double, &worker->slowest, stages[i].offset));
  json_builder_end_object (builder);
  for (int r = 0; r < worker->size; r++) {
    peak = MAX (peak, reports[r].peak_bytes);
    resident = MAX (resident, reports[r].resident_bytes);
  }
  td_json_add_integer (builder, "peak_bytes", peak);
  td_json_add_integer (builder, "resident_bytes", resident);
  TdModelTimes times;
  gboolean shared;
  if (worker_predict (worker, &times, &shared, NULL)) {
    td_json_begin_object (builder, "predicted");
    worker_add_prediction (&times, shared, builder);
    json_builder_end_object (builder);
  }
  td_events_end (worker->events);
}

/* Of pixels of the detector each row of ranks has its own, which all groups of views count again.
   Who gathers views has filtered whole frames. */
static gboolean
worker_counts_pixels (const Worker *worker, guint rank)
{
  return worker_gathers (worker) ? rank == 0 : rank % worker->grid.columns == 0;
}

/* A job of the whole volume that knows what all ranks counted of its samples. (transfer full) */
static TdJob *
worker_counted_job (const Worker *worker, const Report *reports)
{
  TdJob *job = td_job_new (worker->whole);
  TdPreparationCounts sum = { 0 };
  guint64 clamped = 0;

  for (int r = 0; r < worker->size; r++) {
    TdPreparationCounts counts = reports[r].counts;
    if (!worker_counts_pixels (worker, (guint) r))
      td_preparation_counts_drop_pixels (&counts);
    td_preparation_counts_add (&sum, &counts);
    clamped += reports[r].clamped;
  }
  td_job_note_counts (job, &sum, clamped);
  return job;
}

/* What the desktop writes with a volume, and how ranks shared the work. (transfer full) */
static char *
worker_provenance (Worker *worker, TdJob *job)
{
  g_autofree char *text = td_job_provenance_json (job);
  g_autoptr (JsonNode) root = td_json_parse (text);
  JsonObject *all = json_node_get_object (root), *cluster = json_object_new ();
  JsonObject *recipe = json_object_get_object_member (all, "recipe");
  const TdRecipe *asked = &worker->job.recipe;

  /* What this rank may take is nothing that a person asked for. */
  json_object_set_int_member (recipe, "memory_limit_bytes", (gint64) asked->memory_limit_bytes);
  json_object_set_int_member (recipe, "device_memory_limit_bytes",
                              (gint64) asked->device_memory_limit_bytes);
  json_object_set_string_member (cluster, "id", worker->job.id);
  json_object_set_int_member (cluster, "ranks", worker->size);
  json_object_set_int_member (cluster, "rows", worker->grid.rows);
  json_object_set_int_member (cluster, "columns", worker->grid.columns);
  json_object_set_string_member (cluster, "mode", td_cluster_mode_name (worker->job.cluster.mode));
  json_object_set_object_member (all, "cluster", cluster);
  json_object_set_double_member (all, "seconds",
                                 (g_get_monotonic_time () - worker->started_us) * 1e-6);
  return td_json_text (root, TRUE);
}

static gboolean
worker_finish_output (Worker *worker, const Report *reports, TdJob *job, GError **error)
{
  g_autoptr (GArray) there = td_parts_list (worker->parts, TRUE);
  g_autofree char *provenance = worker_provenance (worker, job);
  gboolean says = FALSE;
  guint64 clamped = 0;

  for (int r = 0; r < worker->size; r++) {
    says = says || reports[r].says;
    clamped += reports[r].clamped;
  }
  if (!td_job_check_volume (worker->whole, says, clamped, error))
    return FALSE;
  for (guint i = 0; i < there->len; i++) {
    const TdGridShare *range = &g_array_index (there, TdGridShare, i);
    td_volume_writer_account (worker->volume, range->first, range->count, 0);
  }
  return td_volume_writer_finish (worker->volume, provenance, error);
}

static gboolean
worker_finish (Worker *worker, GError **error)
{
  struct rusage usage = { 0 };
  getrusage (RUSAGE_SELF, &usage);
  const Report own = { .times = worker->pipeline.times,
                       .counts = worker->pipeline.counts,
                       .clamped = td_volume_writer_clamped (worker->volume),
                       .peak_bytes = worker->pipeline.peak_bytes,
                       .resident_bytes = (guint64) usage.ru_maxrss * 1024,
                       .says = worker->pipeline.says };
  g_autofree Report *reports = g_new0 (Report, worker->size);
  MPI_Request request;

  td_watch_stage (worker->watch, N_ ("waiting for the other ranks"));
  if (worker->rank != 0)
    g_clear_pointer (&worker->volume, td_volume_writer_free);
  MPI_Iallgather (&own, sizeof own, MPI_BYTE, reports, sizeof own, MPI_BYTE, MPI_COMM_WORLD,
                  &request);
  worker_await (worker, &request);
  worker->slowest = worker_slowest (reports, worker->size);
  td_watch_finish (worker->watch);
  if (g_cancellable_set_error_if_cancelled (worker->cancellable, error))
    return FALSE;
  if (worker->rank == 0) {
    g_thread_pool_free (g_steal_pointer (&worker->notes), FALSE, TRUE);
    td_watch_stage (worker->watch, N_ ("finishing the output"));
    g_autoptr (TdJob) job = worker_counted_job (worker, reports);
    if (!worker_finish_output (worker, reports, job, error))
      return FALSE;
    worker_tell_notes (worker, td_job_take_notes (job));
    td_watch_finish (worker->watch);
    worker_tell_done (worker, reports);
  }
  MPI_Ibarrier (MPI_COMM_WORLD, &request);
  worker_await (worker, &request);
  return TRUE;
}

/* ── All together ── */

/* All ranks plan their transforms alike, lest bits depend on whose home a rank has. What the
   submitter had measured is in the job's folder. Else rank 0 brings its own before the others plan,
   since they wait for its recipe (worker_make_plan()). */
static void
worker_share_wisdom (const Worker *worker)
{
  g_autofree char *shared = td_fftw_wisdom_file (worker->folder);
  g_autofree char *own = td_fftw_wisdom_file (NULL);

  td_fftw_keep_wisdom_in (worker->folder);
  if (worker->rank != 0 || g_file_test (shared, G_FILE_TEST_EXISTS))
    return;
  g_autofree char *text = td_text_load (own, TD_FFTW_WISDOM_BYTES, NULL);
  if (text)
    g_file_set_contents (shared, text, -1, NULL);
}

static gboolean
worker_open (Worker *worker, GError **error)
{
  worker_share_wisdom (worker);
  if (!td_job_file_load (&worker->job, worker->folder, error))
    return FALSE;
  worker->recipe = worker->job.recipe;
  td_watch_stage (worker->watch, N_ ("opening the scan"));
  worker->scan = td_job_file_open_scan (&worker->job, worker->cancellable, error);
  if (!worker->scan)
    return FALSE;
  const TdScanFacts *facts = td_scan_facts (worker->scan);
  worker->undivided = td_method_undivided (td_methods, facts, &worker->recipe);
  return td_grid_check_job (facts, worker->undivided, worker->job.cluster.mode,
                            (guint) worker->size, error)
         && worker_choose_device (worker, error);
}

static void
worker_clear (Worker *worker)
{
  g_clear_pointer (&worker->volume, td_volume_writer_free);
  g_clear_pointer (&worker->parts, td_parts_free);
  g_clear_pointer (&worker->handout, td_handout_free);
  g_clear_pointer (&worker->pipeline.told, g_hash_table_unref);
  g_clear_pointer (&worker->whole, td_plan_unref);
  g_clear_pointer (&worker->scan, td_scan_unref);
  g_clear_pointer (&worker->engine, td_engine_unref);
  g_clear_pointer (&worker->events, td_events_free);
  g_object_unref (worker->cancellable);
  td_job_file_clear (&worker->job);
  g_free (worker->ranks);
  g_free (worker->nodes);
}

void
td_worker_do (const char *folder, TdPipelineTimes *slowest, TdModelProblem *problem)
{
  Worker worker = { .folder = folder,
                    .cancellable = g_cancellable_new (),
                    .row = MPI_COMM_NULL,
                    .column = MPI_COMM_NULL,
                    .started_us = g_get_monotonic_time () };
  g_autoptr (GError) error = NULL;
  MPI_Comm watched;
  int provided;

  td_mpi_limit_begin (TD_MPI_LIMIT_START, folder);
  MPI_Query_thread (&provided);
  MPI_Comm_rank (MPI_COMM_WORLD, &worker.rank);
  MPI_Comm_size (MPI_COMM_WORLD, &worker.size);
  MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup (MPI_COMM_WORLD, &watched);
  MPI_Comm_set_errhandler (watched, MPI_ERRORS_RETURN);
  if (worker.rank == 0)
    worker.events = td_events_open (folder, &error);
  if (provided < MPI_THREAD_MULTIPLE || (worker.rank == 0 && !worker.events)) {
    fprintf (stderr, "tomodesk-worker: %s\n",
             error ? error->message
                   : "this MPI lets only one thread talk; take one with MPI_THREAD_MULTIPLE");
    MPI_Abort (MPI_COMM_WORLD, TD_WORKER_FAILED);
  }
  td_job_file_init (&worker.job);
  worker.watch = td_watch_new (watched, folder, worker.events, worker.cancellable);
  td_mpi_limit_clear ();
  worker_find_node (&worker);
  worker.engine = td_engine_new (td_methods);
  const gboolean ok = worker_open (&worker, &error) && worker_make_plan (&worker, &error)
                      && worker_meet_ranks (&worker, &error) && worker_make_grid (&worker, &error)
                      && worker_open_output (&worker, &error) && worker_compute (&worker, &error)
                      && worker_finish (&worker, &error);
  if (!ok && g_cancellable_is_cancelled (worker.cancellable))
    td_watch_cancelled (worker.watch);
  if (!ok)
    td_watch_fail (worker.watch, error);
  if (slowest)
    *slowest = worker.slowest;
  if (problem)
    *problem = worker_problem (&worker);
  td_mpi_limit_begin (slowest ? TD_MPI_LIMIT_MEASURE : TD_MPI_LIMIT_END, NULL);
  td_watch_free (worker.watch);
  worker_clear (&worker);
  MPI_Comm_free (&worker.local);
  if (worker.row != MPI_COMM_NULL)
    MPI_Comm_free (&worker.row);
  if (worker.column != MPI_COMM_NULL)
    MPI_Comm_free (&worker.column);
  MPI_Comm_free (&watched);
  td_mpi_limit_clear ();
}

/* Says that this rank has begun: MPI may hang, and nobody would know who came. What has no number
   from its launcher says nothing. */
static void
worker_come (const char *folder)
{
  static const char *const launchers[][2] = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
                                              { "PMI_RANK", "PMI_SIZE" },
                                              { "SLURM_PROCID", "SLURM_NTASKS" } };
  g_autofree char *ranks = g_build_filename (folder, TD_WORKER_RANKS, NULL);
  guint i = 0;

  while (i < G_N_ELEMENTS (launchers) && !g_getenv (launchers[i][0]))
    i++;
  if (i == G_N_ELEMENTS (launchers) || g_mkdir_with_parents (ranks, 0700) != 0)
    return;
  const char *size = g_getenv (launchers[i][1]);
  g_autofree char *name = g_strdup_printf ("%s-%s-%s", g_getenv (launchers[i][0]),
                                           size ? size : "0", g_get_host_name ());
  g_autofree char *path = g_build_filename (ranks, name, NULL);
  const int file = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0)
    close (file);
}

int
td_worker_run (const char *folder)
{
  int provided;

  td_mpi_limit_begin (TD_MPI_LIMIT_START, folder);
  worker_come (folder);
  MPI_Init_thread (NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  td_worker_do (folder, NULL, NULL);
  td_mpi_limit_begin (TD_MPI_LIMIT_END, NULL);
  MPI_Finalize ();
  return TD_WORKER_DONE;
}
