/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "cone-bench.h"
#include "compute/device/host.h"
#include "dataset/random.h"
#include "dataset/sort.h"
#include "compute/engine/fdk/fdk.h"
#include "compute/methods/methods.h"

#define PIECE (1u << 18) /* floats that a thread fills at once */

struct TdFdkBench {
  TdFdkBenchSpec spec;
  TdEngine *engine;
  TdScan *scan;
  float *projections, *volume;
  float *kept; /* the first row's volume */
};

static guint64
fdk_bench_projection_bytes (const TdFdkBench *bench)
{
  const TdFdkBenchSpec *spec = &bench->spec;
  return (guint64) spec->n_views * spec->n_columns * spec->n_columns * sizeof (float);
}

static guint64
fdk_bench_slice_floats (const TdFdkBench *bench)
{
  return (guint64) bench->spec.size * bench->spec.size;
}

static guint64
volume_bytes (const TdFdkBench *bench)
{
  return fdk_bench_slice_floats (bench) * bench->spec.size * sizeof (float);
}

/* ── Host memory ── */

/* Without a reserve: virtual machines have their memory grow as it is used, and refuse in advance
   what they could give. A volume's pages come with the run that warms up. */
static float *
map_memory (guint64 bytes, GError **error)
{
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (memory == MAP_FAILED)
    return td_set_error_null (error, TD_ERROR_IO, "Not enough memory for %" PRIu64 " MiB.",
                              bytes >> 20);
  madvise (memory, bytes, MADV_HUGEPAGE);
  return memory;
}

typedef struct {
  float *to;
  guint64 n;
} Noise;

static void
fill_piece (guint index, gpointer user)
{
  const Noise *noise = user;
  const guint64 first = (guint64) index * PIECE;

  td_random_noise (noise->to + first, MIN (PIECE, noise->n - first), index);
}

static void
fdk_bench_fill (float *to, guint64 bytes)
{
  Noise noise = { to, bytes / sizeof *to };

  td_parallel_for ((guint) ((noise.n + PIECE - 1) / PIECE), fill_piece, &noise);
}

/* ── Creation ── */

static TdScan *
fdk_bench_make_scan (const TdFdkBench *bench)
{
  const TdFdkBenchSpec *spec = &bench->spec;
  g_autofree double *angles = g_new (double, spec->n_views);
  TdScanFacts facts = {
    .n_columns = spec->n_columns,
    .n_rows = spec->n_columns,
    .n_views = spec->n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .transmission_logged = TRUE,
    .angles_rad = angles,
    .centre_px = NAN,
  };

  for (guint i = 0; i < spec->n_views; i++)
    angles[i] = 2 * G_PI * i / spec->n_views;
  td_cone_bench_geometry (spec->n_columns, spec->size, &facts.geometry);
  return td_scan_new_from_memory (&facts, bench->projections, NULL, NULL, NULL, NULL);
}

TdFdkBench *
td_fdk_bench_new (const TdFdkBenchSpec *spec, GError **error)
{
  g_autoptr (TdFdkBench) bench = g_new0 (TdFdkBench, 1);

  bench->spec = *spec;
  bench->engine = td_engine_new (td_methods);
  bench->projections = map_memory (fdk_bench_projection_bytes (bench), error);
  bench->volume = bench->projections ? map_memory (volume_bytes (bench), error) : NULL;
  if (!bench->volume)
    return NULL;
  fdk_bench_fill (bench->projections, fdk_bench_projection_bytes (bench));
  bench->scan = fdk_bench_make_scan (bench);
  return g_steal_pointer (&bench);
}

void
td_fdk_bench_free (TdFdkBench *bench)
{
  if (!bench)
    return;
  td_scan_unref (bench->scan);
  td_engine_unref (bench->engine);
  if (bench->projections)
    munmap (bench->projections, fdk_bench_projection_bytes (bench));
  if (bench->volume)
    munmap (bench->volume, volume_bytes (bench));
  if (bench->kept)
    munmap (bench->kept, volume_bytes (bench));
  g_free (bench);
}

void
td_fdk_bench_row_clear (TdFdkBenchRow *row)
{
  g_free (row->devices);
  td_messages_free (row->notes);
  memset (row, 0, sizeof *row);
}

/* ── Whole jobs ── */

static void
fdk_bench_take_slices (guint first, guint count, const float *slices, gpointer user)
{
  TdFdkBench *bench = user;
  const guint64 slice = fdk_bench_slice_floats (bench);

  td_host_copy (bench->volume + first * slice, slices, count * slice * sizeof *slices);
}

typedef struct {
  const TdFdkBench *bench;
  double *difference, *norm; /* of each slice */
  guint64 *different;
} Compare;

static void
compare_slice (guint k, gpointer user)
{
  const Compare *c = user;
  const guint64 slice = fdk_bench_slice_floats (c->bench);
  const float *now = c->bench->volume + k * slice, *kept = c->bench->kept + k * slice;

  for (guint64 i = 0; i < slice; i++) {
    const double apart = (double) now[i] - kept[i];
    c->difference[k] += apart * apart;
    c->norm[k] += (double) kept[i] * kept[i];
    c->different[k] += memcmp (&now[i], &kept[i], sizeof *now) != 0;
  }
}

/* All voxels with those of the first row, which are kept. */
static gboolean
fdk_bench_compare (TdFdkBench *bench, TdFdkBenchRow *row, GError **error)
{
  const guint n = bench->spec.size;

  if (!bench->kept) {
    bench->kept = g_steal_pointer (&bench->volume);
    bench->volume = map_memory (volume_bytes (bench), error);
    return bench->volume != NULL;
  }
  g_autofree double *difference = g_new0 (double, n), *norm = g_new0 (double, n);
  g_autofree guint64 *different = g_new0 (guint64, n);
  Compare c = { bench, difference, norm, different };
  td_parallel_for (n, compare_slice, &c);
  double apart = 0, whole = 0;
  for (guint k = 0; k < n; k++) {
    apart += difference[k];
    whole += norm[k];
    row->different += different[k];
  }
  row->difference = whole > 0 ? sqrt (apart / whole) : 0;
  return TRUE;
}

typedef struct {
  double seconds; /* first: runs are sorted by it */
  TdJobStage stages[8];
  guint n_stages;
} Timed;

/* Each run replaces what the one before it left. */
static gboolean
write_spans (TdJob *job, const char *path, GError **error)
{
  g_autoptr (GString) text = g_string_new ("device,stage,start_s,end_s\n");
  guint n;
  const TdJobSpan *spans = td_job_spans (job, &n);

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%u,%s,%.6f,%.6f\n", spans[i].device, spans[i].stage,
                            spans[i].start_s, spans[i].end_s);
  g_string_append_printf (text, "0,job,0,%.6f\n", td_job_result (job)->seconds);
  return g_file_set_contents (path, text->str, (gssize) text->len, error);
}

/* Planning is not timed: a job's plan has been looked at before it is started. */
static gboolean
fdk_bench_run_once (TdFdkBench *bench, const TdRecipe *recipe, TdFdkBenchRow *row, Timed *timed,
                    GError **error)
{
  g_autoptr (TdPlan) plan
      = td_plan_new (bench->engine, bench->scan, recipe, NULL, bench->spec.cancellable, error);
  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, fdk_bench_take_slices, bench);
  td_job_share_sink (job);
  if (bench->spec.timeline)
    td_job_keep_spans (job);
  if (!td_job_run (job, bench->spec.cancellable, error)
      || (bench->spec.timeline && !write_spans (job, bench->spec.timeline, error)))
    return FALSE;
  const TdJobResult *result = td_job_result (job);
  const TdFdkPlan *fdk = plan->extra;

  timed->seconds = result->seconds;
  memcpy (timed->stages, result->stages, sizeof timed->stages);
  timed->n_stages = result->n_stages;
  td_fdk_bench_row_clear (row);
  row->limit = (TdFdkBenchLimit) { recipe->memory_limit_bytes, recipe->device_memory_limit_bytes };
  row->devices = g_strdup (result->device);
  row->family = fdk->scheme.families[0]->name;
  row->n_devices = plan->devices->len;
  row->notes = td_messages_copy (plan->facts.notes);
  row->host_peak_bytes = result->host_peak_bytes;
  row->device_peak_bytes = result->device_peak_bytes;
  return TRUE;
}

gboolean
td_fdk_bench_run (TdFdkBench *bench, const char *devices, const TdFdkBenchLimit *limit,
                  TdFdkBenchRow *row, GError **error)
{
  const TdFdkBenchSpec *spec = &bench->spec;
  g_autofree Timed *timed = g_new0 (Timed, spec->runs + 1);
  TdRecipe recipe = spec->recipe;

  memset (row, 0, sizeof *row);
  g_strlcpy (recipe.devices, devices, sizeof recipe.devices);
  recipe.memory_limit_bytes = limit->memory_bytes;
  recipe.device_memory_limit_bytes = limit->device_memory_bytes;
  /* The first run warms up: programs are built, memory is pinned, the devices' speed is known. */
  for (guint i = 0; i <= spec->runs; i++)
    if (!fdk_bench_run_once (bench, &recipe, row, &timed[i], error)) {
      td_fdk_bench_row_clear (row);
      return FALSE;
    }
  qsort (timed + 1, spec->runs, sizeof *timed, td_compare_doubles);
  const Timed *median = &timed[1 + spec->runs / 2];
  row->times = (TdBenchTimes) { median->seconds, timed[1].seconds, timed[spec->runs].seconds };
  row->gups = (double) fdk_bench_slice_floats (bench) * spec->size * spec->n_views / median->seconds
              / TD_GUPS;
  memcpy (row->stages, median->stages, sizeof row->stages);
  row->n_stages = median->n_stages;
  if (!fdk_bench_compare (bench, row, error)) {
    td_fdk_bench_row_clear (row);
    return FALSE;
  }
  return TRUE;
}

/* ── The kernel alone ── */

gboolean
td_fdk_bench_kernel (TdFdkBench *bench, const char *id, double *seconds, GError **error)
{
  const TdFdkBenchSpec *spec = &bench->spec;
  const TdConeBenchSpec cone = { spec->size,    spec->size,          spec->n_columns,
                                 spec->n_views, MAX (3, spec->runs), spec->cancellable };
  const TdPrecision precision = spec->recipe.precision;
  const TdConeLimits limits = { spec->n_views, spec->n_columns, spec->size, precision };
  TdRecipe recipe = spec->recipe;
  TdConeBenchRow row;

  *seconds = 0;
  recipe.memory_limit_bytes = recipe.device_memory_limit_bytes = 0;
  g_strlcpy (recipe.devices, id, sizeof recipe.devices);
  g_autoptr (TdPlan) plan
      = td_plan_new (bench->engine, bench->scan, &recipe, NULL, spec->cancellable, error);
  if (!plan)
    return FALSE;
  TdDevice *device = plan->devices->pdata[0];
  const TdDeviceInfo *info = td_device_info (device);
  const TdFdkPlan *fdk = plan->extra;
  const guint64 bytes
      = fdk_bench_projection_bytes (bench) + volume_bytes (bench)
        + fdk->scheme.families[0]->workspace_bytes (&fdk->input->task, &limits, info);
  if (info->kind == TD_DEVICE_CPU || bytes > td_device_memory_free (device) / 20 * 19)
    return TRUE;
  g_autoptr (TdConeBench) alone = td_cone_bench_new (device, &cone, error);
  if (!alone || !td_cone_bench_run (alone, fdk->scheme.families[0], precision, &row, error))
    return FALSE;
  *seconds = row.times.median_s;
  return TRUE;
}
