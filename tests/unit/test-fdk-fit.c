/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sizes that a cone-beam plan chooses for little memory, and the memory that it says they take:
 * counted again here. Nothing is run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/bench/cone-bench.h"
#include "compute/engine/engine-private.h"
#include "compute/stored-samples.h"
#include "dataset/scan-private.h"
#include "tests/common/cases.h"
#include "tests/common/fdk.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

typedef struct {
  const char *devices;
  gboolean cards; /* played by devices that are none */
  TdFilterPlace filter_on;
  TdShareKind share;
  guint n_columns, n_rows, n_views;
  gboolean in_memory;
  double roll_deg;
  const char *steps; /* NULL: the usual ones */
} Job;

static const Job jobs[] = {
  { "host", FALSE, TD_FILTER_ON_CPU, TD_SHARE_AUTO, 200, 160, 180, TRUE },
  { "host", FALSE, TD_FILTER_ON_CPU, TD_SHARE_AUTO, 200, 160, 180, TRUE, 0,
    "dose=borders,minus-log" },
  { "opencl:0", FALSE, TD_FILTER_ON_DEVICE, TD_SHARE_AUTO, 200, 200, 181, FALSE },
  { "opencl:0", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_AUTO, 1024, 900, 600, FALSE },
  { "opencl:0", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_AUTO, 1024, 900, 600, TRUE },
  { "opencl:0", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_AUTO, 800, 800, 720, FALSE, 3 },
  { "opencl:0", TRUE, TD_FILTER_ON_CPU, TD_SHARE_AUTO, 1024, 1024, 721, FALSE },
  { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_VOLUME, 1500, 1000, 900, FALSE },
  { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_VOLUME, 900, 700, 600, FALSE, 0,
    "dose=borders,minus-log" },
  { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_DEVICE, TD_SHARE_PROJECTION, 900, 700, 600, FALSE },
  { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_CPU, TD_SHARE_PROJECTION, 900, 700, 600, FALSE },
};

static TdScan *
job_scan (const Job *job)
{
  g_autofree double *angles = g_new (double, job->n_views);
  TdScanFacts facts = { .n_columns = job->n_columns,
                        .n_rows = job->n_rows,
                        .n_views = job->n_views,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .transmission_logged = !job->steps,
                        .angles_rad = angles,
                        .centre_px = NAN };

  for (guint v = 0; v < job->n_views; v++)
    angles[v] = 2 * G_PI * v / job->n_views;
  td_cone_bench_geometry (job->n_columns, job->n_columns, &facts.geometry);
  facts.geometry.detector_tilt_rad[2] = job->roll_deg * G_PI / 180;
  TdScan *scan = td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
  scan->facts.in_memory = job->in_memory;
  return scan;
}

/* ── Sizes ── */

/* Pieces of @size cover the whole, and the last one is not empty. */
static void
assert_covers (guint n, guint size, guint whole)
{
  g_assert_cmpuint (size, >, 0);
  g_assert_cmpuint ((guint64) n * size, >=, whole);
  g_assert_cmpuint ((guint64) (n - 1) * size, <, whole);
}

/* Rows of the detector, counted from the input's first, that the slab's slices see, slice by slice.
 */
static TdRowRange
seen (const TdFdkInput *input, guint slice0, guint n)
{
  guint first = G_MAXUINT, end = 0;

  for (guint i = 0; i < n; i++) {
    guint one_first, one_end;
    td_cone_rows_seen (&input->task, input->slice0 + slice0 + i, 1, &one_first, &one_end);
    if (one_end > one_first) {
      first = MIN (first, one_first);
      end = MAX (end, one_end);
    }
  }
  return end ? (TdRowRange) { first, end - first } : (TdRowRange) { 0, 0 };
}

static void
check_sizes (const TdFdkPlan *fdk)
{
  const TdFdkFit *fit = &fdk->fit;
  const TdFdkInput *input = fdk->input;
  guint most_rows = 1, most_span = 0;

  assert_covers (fit->n_slabs, fit->slab, input->n_slices);
  assert_covers (fit->n_batches, fit->batch, input->task.n_views);
  assert_covers (fit->n_chunks, fit->filter_rows, input->n_rows);
  g_assert_cmpuint (fit->batch % fit->symmetric_views, ==, 0);
  g_assert_cmpuint (fit->batch, <=, fit->most_views);
  for (guint s = 0, n; s < input->n_slices; s += n) {
    n = td_fdk_even_slices (fdk, input->slice0 + s, input->slice0 + input->n_slices);
    most_rows = MAX (most_rows, seen (input, s, n).count);
  }
  g_assert_cmpuint (fit->slab_rows, ==, most_rows);
  for (guint c = 0; c < fit->n_chunks; c++)
    most_span
        = MAX (most_span, td_fdk_span (input, c * fit->filter_rows,
                                       MIN (fit->filter_rows, input->n_rows - c * fit->filter_rows))
                              .from.count);
  g_assert_cmpuint (fit->chunk_rows, ==, most_span);
  g_assert_cmpuint (fit->volumes, >=, 1);
  g_assert_cmpuint (fit->volumes, <=, MIN (fit->n_slabs, 2));
  g_assert_cmpuint (fit->held_views, ==, input->task.n_views);
  if (fit->cached) {
    /* A slab's rows, which need not begin with a chunk. */
    const guint least = (fit->slab_rows + fit->filter_rows - 1) / fit->filter_rows + 1;
    g_assert_cmpuint (fit->cached_chunks, >=, MIN (least, fit->n_chunks));
    g_assert_cmpuint (fit->cached_chunks, <=, fit->n_chunks);
  }
  g_assert_cmpuint (fit->download_slices, >=, 1);
  g_assert_cmpuint (fit->download_slices, <=, fit->slab);
}

/* Each view is in one batch, beside those that lie an equal part of the turn further. */
static void
test_batches (void)
{
  enum { VIEWS = 24 };

  for (guint sets = 1; sets <= 4; sets *= 2)
    for (guint each = 1; each <= VIEWS / sets; each++) {
      TdFdkInput input = { .task = { .n_views = VIEWS } };
      const TdFdkPlan fdk
          = { .input = &input, .fit = { .symmetric_views = sets, .batch = each * sets } };
      guint seen_views[VIEWS] = { 0 };

      for (guint index = 0; index * each < VIEWS / sets; index++) {
        const TdFdkBatch batch = td_fdk_batch (&fdk, index);
        for (guint place = 0; place < batch.n; place++) {
          const guint view = td_fdk_batch_view (&batch, place);
          g_assert_cmpuint (view, <, VIEWS);
          g_assert_cmpuint (view % (VIEWS / sets), ==, index * each + place % batch.of_each);
          seen_views[view]++;
        }
      }
      for (guint view = 0; view < VIEWS; view++)
        g_assert_cmpuint (seen_views[view], ==, 1);
    }
}

/* ── Bytes ── */

static guint64
chunk_bytes (const TdFdkPlan *fdk)
{
  const TdConeTask *task = &fdk->input->task;
  const guint scan_columns = td_scan_facts (fdk->input->scan)->n_columns;

  /* A rectified detector's rows come as those of the scan, and leave as others. */
  return MAX (td_test_floats (task->n_views, fdk->fit.chunk_rows, scan_columns),
              fdk->input->row_slope_rad != 0
                  ? td_test_floats (task->n_views, fdk->fit.filter_rows, task->n_columns)
                  : 0);
}

static guint64
filtering_bytes (const TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdFdkFit *fit = &fdk->fit;
  const gboolean rectified = fdk->input->task.tilted.n > 0;

  return td_cone_filter_workspace_bytes (&fdk->input->task,
                                         rectified ? fit->filter_rows : fit->chunk_rows)
         + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                           td_scan_facts (fdk->input->scan), fit->chunk_rows);
}

/* Slabs, the kernel's own, batches of views, and what the filter wants where it is the device's. */
static guint64
card_bytes (const TdPlan *plan, const TdFdkPlan *fdk, guint index)
{
  const TdFdkFit *fit = &fdk->fit;
  const TdConeTask *task = &fdk->input->task;
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[index]);
  const TdConeLimits limits = td_fdk_limits (plan, fdk);
  guint64 bytes = fit->volumes * td_test_floats (task->nx, task->ny, fit->slab)
                  + fdk->scheme.families[index]->workspace_bytes (task, &limits, info);
  const guint64 batch = td_test_floats (fit->batch, fit->slab_rows, task->n_columns);

  bytes += batch;
  if (fit->cached)
    bytes += fit->cached_chunks * chunk_bytes (fdk);
  else if (fit->n_slabs > 1 || fit->n_batches > 1)
    bytes += batch; /* one is sent while the other is added */
  if (fit->cached)
    bytes += filtering_bytes (plan, fdk);
  else if (fdk->scheme.filter_on_device || info->host_pointers)
    bytes += filtering_bytes (plan, fdk) + chunk_bytes (fdk);
  return bytes;
}

static void
check_bytes (const TdPlan *plan, const TdFdkPlan *fdk, gboolean cards)
{
  const TdFdkFit *fit = &fdk->fit;
  const TdConeTask *task = &fdk->input->task;
  const guint n = plan->devices->len;
  const guint64 read
      = td_test_floats (task->n_views, td_scan_facts (fdk->input->scan)->n_columns, 1);
  gboolean host_filters = !fdk->scheme.filter_on_device;
  guint64 most = 0, host = 0;

  for (guint d = 0; d < n; d++) {
    most = MAX (most, card_bytes (plan, fdk, d));
    host += cards ? 0 : card_bytes (plan, fdk, d);
    /* Each card that filters has its own flats and masks. */
    host += fit->cached || d == 0
                ? td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                             td_scan_facts (fdk->input->scan), fit->chunk_rows)
                : 0;
    host_filters = host_filters && !td_device_info (plan->devices->pdata[d])->host_pointers;
  }
  g_assert_cmpuint (fit->device_bytes, ==, most);
  g_assert_cmpuint (plan->facts.device_bytes, ==, most);
  g_assert_cmpuint (fit->filter_bytes, ==, filtering_bytes (plan, fdk) + chunk_bytes (fdk));

  /* Pinned memory: slices on their way out, rows on their way in, and what is read of a file. */
  host += fit->n_downloads * td_test_floats (task->nx, task->ny, fit->download_slices)
          + n * TD_FDK_RING * fit->ring_bytes + n * fit->block_rows * read;
  if (!fit->cached) {
    host += chunk_bytes (fdk);
    if (!fit->on_disk)
      host += td_test_floats (task->n_views, fdk->input->n_rows, task->n_columns);
    if (fit->n_chunks > 1 && fit->chunk_rows > fit->filter_rows) /* rows of two chunks wait */
      host += td_test_floats (task->n_views, fit->filter_rows, task->n_columns);
    if (host_filters)
      host += fit->filter_bytes;
  }
  g_assert_cmpuint (fit->host_bytes, ==, host);
  g_assert_cmpuint (plan->facts.host_bytes, ==, host + td_plan_own_bytes (plan->devices));
}

/* Projections that stay in memory take half of the host's, at the most. Pinned memory is a part of
   it: an eighth for rows, a quarter for slices. */
static void
check_pinned (const TdPlan *plan, const TdFdkPlan *fdk, guint64 limit)
{
  const TdFdkFit *fit = &fdk->fit;
  const TdConeTask *task = &fdk->input->task;
  const guint n = plan->devices->len;

  if (!fit->cached && !fit->on_disk)
    g_assert_cmpuint (td_fdk_store_bytes (fdk), <=, limit / 2);
  /* Two of each device and two on their way; three where they share the projections, and one. */
  g_assert_cmpuint (fit->n_downloads, ==,
                    fdk->scheme.share == TD_SHARE_PROJECTION ? 3 * n + 1 : 2 * n + 2);
  if (fdk->scheme.share == TD_SHARE_PROJECTION)
    g_assert_cmpuint (fit->download_slices, ==, fit->slab);
  if (fit->download_slices > 1)
    g_assert_cmpuint (fit->n_downloads * td_test_floats (task->nx, task->ny, fit->download_slices),
                      <=, limit / 4);
  /* A row of a slab's views, however small it is. */
  if (fit->ring_bytes
      > (fit->cached ? chunk_bytes (fdk) : td_test_floats (1, fit->slab_rows, task->n_columns)))
    g_assert_cmpuint (n * TD_FDK_RING * fit->ring_bytes, <=, limit / 8);
  if (fit->cached) {
    g_assert_cmpuint (fit->ring_bytes, ==, chunk_bytes (fdk));
    if (fit->filter_rows > 1)
      g_assert_cmpuint (n * TD_FDK_RING * fit->ring_bytes, <=, limit / 8);
  }
  if (fit->block_rows) {
    g_assert_true (fit->cached);
    g_assert_cmpuint (fit->block_rows, >=, fit->chunk_rows);
    g_assert_cmpuint (
        n * (fit->block_rows - fit->chunk_rows)
            * td_test_floats (task->n_views, td_scan_facts (fdk->input->scan)->n_columns, 1),
        <=, limit / 4);
  }
}

/* ── What is said ── */

/* The plan's own figures. */
static void
check_notes (const TdPlan *plan)
{
  const TdFdkPlan *fdk = plan->extra;
  const TdFdkFit *fit = &fdk->fit;
  const guint last = fdk->input->row0 + fdk->input->n_rows - 1;
  g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
  g_autofree char *slabs = g_strdup_printf (
      "%u %s back-projected, of up to %u %s, from batches of %u %s", fdk->cut.n_slabs,
      fdk->cut.n_slabs == 1 ? "slab is" : "slabs are", fit->slab,
      fit->slab == 1 ? "slice" : "slices", fit->batch, fit->batch == 1 ? "view" : "views");
  g_autofree char *rows = g_strdup_printf ("Detector rows %u to %u are", fdk->input->row0, last);
  g_autofree char *kept
      = g_strdup_printf ("%u at a time; it keeps up to %u of them", fit->filter_rows,
                         MIN (fit->cached_chunks * fit->filter_rows, fdk->input->n_rows));

  g_assert_nonnull (strstr (notes, slabs));
  g_assert_nonnull (strstr (notes, rows));
  g_assert_cmpint (strstr (notes, kept) != NULL, ==, fit->cached);
  g_assert_cmpint (strstr (notes, "into a temporary file") != NULL, ==, fit->on_disk);
}

/* ── Little memory ── */

/* From much memory to too little, of devices and of the host. */
static void
test_limits (gconstpointer data)
{
  const Job *job = data;
  g_autoptr (TdScan) scan = job_scan (job);
  guint wished = 0;
  guint planned = 0, refused = 0;

  if (!g_str_equal (job->devices, "host") && !td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, job->devices, NULL);
  if (job->cards)
    td_test_play_cards (devices, TRUE);
  for (gint step = 0; step < 10; step++) {
    const guint64 limit = (guint64) ((6ull << 30) * exp2 (-1.1 * step));
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, job->devices, sizeof recipe.devices);
    recipe.filter_on = job->filter_on;
    recipe.share = job->share;
    recipe.memory_limit_bytes = limit;
    g_assert_true (!job->steps || td_recipe_set (&recipe, "prepare", job->steps, &error));
    recipe.row_first = job->n_rows / 3; /* planning many slices takes long */
    recipe.row_end = MIN (job->n_rows / 3 + 250, job->n_rows - 3);
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
    if (!plan) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      g_assert_nonnull (strstr (error->message, "--memory-limit"));
      refused++;
      continue;
    }
    planned++;
    g_assert_cmpuint (refused, ==, 0); /* less memory has not become enough */
    const TdFdkPlan *fdk = plan->extra;
    const TdFdkFit *fit = &fdk->fit;
    td_test_pin ("%" G_GUINT64_FORMAT
                 " MiB: %s, %u slabs of %u, batches of %u, %u chunks of %u (%u), %u cached, "
                 "block %u, %u volumes, %u downloads of %u, ring %.2f, device %.1f, host %.1f",
                 limit >> 20,
                 fit->cached    ? "cached"
                 : fit->on_disk ? "on disk"
                                : "on the host",
                 fit->n_slabs, fit->slab, fit->batch, fit->n_chunks, fit->filter_rows,
                 fit->chunk_rows, fit->cached_chunks, fit->block_rows, fit->volumes,
                 fit->n_downloads, fit->download_slices, fit->ring_bytes / 1048576.,
                 fit->device_bytes / 1048576., fit->host_bytes / 1048576.);
    check_sizes (fdk);
    check_bytes (plan, fdk, job->cards);
    check_notes (plan);
    check_pinned (plan, fdk, MIN (limit, td_plan_host_budget (plan)));
    g_assert_cmpuint (fit->device_bytes, <=, limit);
    g_assert_true (step > 0 || fdk->gathered || fit->filter_rows > 1);
    /* Slabs are halved while they are larger than eight; smaller ones are the last that helps. */
    if (fdk->scheme.share != TD_SHARE_PROJECTION && fit->slab > 1)
      g_assert_cmpuint (fit->slab, >, 4);
    /* What there is is used, where it is not enough for what one would like. */
    wished = MAX (wished, fit->slab * fit->batch);
    if (job->cards && fdk->scheme.share == TD_SHARE_VOLUME && limit < 1 << 30
        && fit->slab * fit->batch < wished)
      g_assert_cmpuint (fit->device_bytes, >, limit / 4);
  }
  g_assert_cmpuint (planned, >, 4);
  if (job->cards)
    td_test_play_cards (devices, FALSE);
}

/* ── Who filters ── */

/* The faster one, and the plan says by how much. */
static void
test_filter_rates (void)
{
  static const struct {
    double host, card; /* bytes a second */
    const char *says;
  } cases[] = {
    { 2e9, 5e10, "The device filters: 50.0 GB/s for 2.0 on the CPU" },
    { 7.25e9, 3e9, "The CPU filters: 7.3 GB/s for 3.0 on the device" },
  };
  const Job job = { "opencl:0", TRUE, TD_FILTER_ON_AUTO, TD_SHARE_AUTO, 200, 160, 180, TRUE };

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  g_autoptr (GPtrArray) host = td_engine_devices (td_fdk_engine, "host", NULL);
  g_autofree char *card_key = td_fdk_filter_rate_key (devices->pdata[0]);
  g_autofree char *host_key = td_fdk_filter_rate_key (host->pdata[0]);
  const double bytes = (double) job.n_columns * job.n_rows * job.n_views * sizeof (float);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
    td_engine_set_rate (td_fdk_engine, card_key, bytes, bytes / cases[i].card);
    td_engine_set_rate (td_fdk_engine, host_key, bytes, bytes / cases[i].host);
    td_test_play_cards (devices, TRUE);
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
    td_test_play_cards (devices, FALSE);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
    td_test_pin ("%s", notes);
    g_assert_cmpint (fdk->scheme.filter_on_device, ==, cases[i].card > cases[i].host);
    g_assert_nonnull (strstr (notes, cases[i].says));
  }
}

/* ── What two cards share ── */

/* Bytes and updates a second that jobs of @part of the views and rows reached. */
typedef struct {
  double kernel, transfer, filter, host_filter, adds;
} Rates;

static void
set_rates (const TdPlan *plan, const Rates *rates, double part)
{
  const TdFdkPlan *fdk = plan->extra;
  TdDevice *card = plan->devices->pdata[0];
  g_autoptr (GPtrArray) host = td_engine_devices (td_fdk_engine, "host", NULL);
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const double updates = plan->facts.updates * part;
  const double rows = 4.0 * facts->n_views * facts->n_columns * facts->n_rows * part;
  const double volume = 4.0 * plan->facts.nx * plan->facts.ny * plan->facts.n_slices * part;
  const struct {
    char *key;
    double work, rate;
  } all[] = {
    { td_fdk_device_rate_key (card, fdk->scheme.families[0]), updates, rates->kernel },
    { td_fdk_transfer_rate_key (card), volume, rates->transfer },
    { td_fdk_filter_rate_key (card), rows, rates->filter },
    { td_fdk_filter_rate_key (host->pdata[0]), rows, rates->host_filter },
    { g_strdup (TD_FDK_SUM_RATE_KEY), volume, rates->adds },
  };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    td_engine_set_rate (td_fdk_engine, all[i].key, all[i].work, all[i].work / all[i].rate);
    g_free (all[i].key);
  }
}

static TdPlan *
plan_for_cards (TdScan *scan, const char *devices)
{
  g_autoptr (GPtrArray) played = td_engine_devices (td_fdk_engine, devices, NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, devices, sizeof recipe.devices);
  td_test_play_cards (played, TRUE);
  TdPlan *plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
  td_test_play_cards (played, FALSE);
  g_assert_no_error (error);
  return plan;
}

/* Processes that take turns with slabs, of a card or of PoCL, have as many as they ask for. */
static void
test_turns (void)
{
  const Job job = { "opencl:0", TRUE, .n_columns = 400, .n_rows = 400, .n_views = 300 };
  g_autoptr (TdScan) scan = job_scan (&job);

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, job.devices, NULL);
  for (guint i = 0; i < 6; i++) {
    const guint turns = 10 * (i / 2);
    const TdPlanPart part = { .views = { 0, 150, 1 }, .least_slabs = turns };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, job.devices, sizeof recipe.devices);
    g_strlcpy (recipe.family, "standard", sizeof recipe.family); /* which takes a few slices */
    td_test_play_cards (devices, i % 2 == 0);
    g_autoptr (TdPlan) plan = td_plan_new_part (td_fdk_engine, scan, &recipe, &part, NULL, &error);
    td_test_play_cards (devices, FALSE);
    g_assert_no_error (error);
    g_assert_cmpuint (plan->facts.n_slabs, >=, turns);
    g_assert_cmpuint (plan->facts.n_slabs, <, turns + 10);
  }
}

/* The host computes groups of 16 voxels. A part that begins within one has no other slab do so. */
static void
test_groups (void)
{
  static const guint right[] = { 122, 28 };
  const Job job = { "host", TRUE, .n_columns = 300, .n_rows = 300, .n_views = 40 };
  const TdPlanPart part = { .first_slice = 150, .n_slices = 150 };
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, job.devices, sizeof recipe.devices);
  g_autoptr (TdPlan) plan = td_plan_new_part (td_fdk_engine, scan, &recipe, &part, NULL, &error);
  g_assert_no_error (error);
  const TdFdkPlan *fdk = plan->extra;
  check_sizes (fdk);
  g_assert_cmpuint (fdk->cut.n_slabs, ==, G_N_ELEMENTS (right));
  for (guint i = 0; i < G_N_ELEMENTS (right); i++)
    g_assert_cmpuint (fdk->cut.slabs[i].n_slices, ==, right[i]);
}

/* A rank's part on a card ends with smaller slabs, down to a quarter: its last slices are
   added and stored when all is computed. On the host, which has no downloads, slabs are alike. */
static void
test_part_ends_small (void)
{
  const Job job = { "opencl:0", TRUE, .n_columns = 1024, .n_rows = 1024, .n_views = 300 };
  g_autoptr (TdScan) scan = job_scan (&job);

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, job.devices, NULL);
  for (gint cards = 0; cards <= 1; cards++) {
    const TdPlanPart part = { .views = { 0, 150, 1 } };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, cards ? job.devices : "host", sizeof recipe.devices);
    recipe.filter_on = cards ? TD_FILTER_ON_DEVICE : TD_FILTER_ON_AUTO;
    td_test_play_cards (devices, cards);
    g_autoptr (TdPlan) plan = td_plan_new_part (td_fdk_engine, scan, &recipe, &part, NULL, &error);
    td_test_play_cards (devices, FALSE);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    const TdFdkSlabCut *slabs = fdk->cut.slabs;
    const guint n = fdk->cut.n_slabs;
    guint next = 0;
    g_assert_cmpuint (n, >, 3);
    for (guint i = 0; i < n; i++) {
      g_test_message ("slab %u: %u slices", i, slabs[i].n_slices);
      g_assert_cmpuint (slabs[i].slice0, ==, next);
      next += slabs[i].n_slices;
      if (cards)
        g_assert_cmpuint (slabs[i].n_slices, <=, i > 0 ? slabs[i - 1].n_slices : fdk->fit.slab);
      else if (i + 1 < n)
        g_assert_cmpuint (slabs[i].n_slices, ==, fdk->fit.slab);
    }
    g_assert_cmpuint (next, ==, job.n_rows);
    if (cards) {
      g_assert_cmpuint (slabs[0].n_slices, ==, fdk->fit.slab);
      g_assert_cmpuint (slabs[n - 2].n_slices, <, fdk->fit.slab);
      g_assert_cmpuint (8 * slabs[n - 1].n_slices, <=, 3 * fdk->fit.slab);
      g_assert_cmpuint (8 * slabs[n - 1].n_slices, >=, fdk->fit.slab);
    }
  }
}

/* Two cards share the volume, which is the faster way at any rates that cards reach. Rates of small
   jobs, which launches and pages slow down, change no large plan. */
static void
test_two_cards (void)
{
  /* Two H200 and their host; the same, as jobs of 128 columns see them. */
  static const Rates large = { 1.8e12, 3.4e10, 4.5e10, 1.2e10, 2e10 };
  static const Rates small = { 5e10, 2e9, 1e9, 4e9, 3e10 };
  const Job job = { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_AUTO, TD_SHARE_AUTO, 1024, 1024, 1024 };
  g_autofree char *before = NULL;

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdScan) scan = job_scan (&job);
  for (guint step = 0; step < 4; step++) {
    g_autoptr (TdPlan) plan = plan_for_cards (scan, job.devices);
    const TdFdkPlan *fdk = plan->extra;
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    const char *shares = strstr (notes, "The devices share the volume: about ");
    double seconds = 0, other = 0;

    td_test_pin ("%s", notes);
    g_assert_cmpint (fdk->scheme.share, ==, TD_SHARE_VOLUME);
    g_assert_true (fdk->scheme.filter_on_device && fdk->fit.cached);
    g_assert_nonnull (shares);
    g_assert_cmpint (
        sscanf (shares, "The devices share the volume: about %lf s, %lf s if", &seconds, &other),
        ==, 2);
    g_assert_cmpfloat (seconds, <=, other / 0.95);
    if (step % 2 == 1) { /* small jobs have run */
      g_assert_cmpstr (notes, ==, before);
      set_rates (plan, &large, 0.5);
    } else {
      if (step == 2) { /* half of what one card's kernels take, and little beside */
        const double kernels = plan->facts.updates / large.kernel;
        g_assert_cmpfloat (seconds, >, 0.5 * kernels);
        g_assert_cmpfloat (seconds, <, 0.7 * kernels);
      }
      set_rates (plan, &small, 1. / 512);
    }
    g_free (before);
    before = g_steal_pointer (&notes);
  }
}

/* ── What either way of sharing costs ── */

typedef struct {
  double upload, kernel, download, host, total;
} Costs;

/* Of the plan's own slabs, by rates that both cards reach (compute/engine/fdk/fdk-share.c). */
static Costs
costs_of (const TdPlan *plan, const Rates *rates)
{
  const TdFdkPlan *fdk = plan->extra;
  const TdFdkInput *input = fdk->input;
  const gboolean whole = fdk->scheme.share == TD_SHARE_VOLUME;
  const double n = plan->devices->len, pack = 3e11;
  const double row = (double) td_fdk_filtered_bytes (input, 1), all_rows = input->n_rows * row;
  const double volume = 4.0 * input->n_slices * input->task.ny * input->task.nx;
  const double updates = volume / 4 * input->task.n_views;
  const double filter_rate = fdk->scheme.filter_on_device ? rates->filter : rates->host_filter;
  Costs costs = { 0 };
  double filter = all_rows / filter_rate, seen = 0;

  for (guint i = 0; i < fdk->cut.n_slabs; i++)
    seen += (fdk->cut.slabs[i].row_end - fdk->cut.slabs[i].row0) * row;
  if (fdk->fit.cached) { /* the slowest card: it filters what its own slabs see */
    filter = 0;
    for (guint d = 0; d < plan->devices->len; d++) {
      guint slices = 0, rows = 0, first = G_MAXUINT, end = 0;
      for (guint i = fdk->cut.own[d]; i < fdk->cut.own[d + 1]; i++) {
        slices += fdk->cut.slabs[i].n_slices;
        rows += fdk->cut.slabs[i].row_end - fdk->cut.slabs[i].row0;
        first = MIN (first, fdk->cut.slabs[i].row0);
        end = MAX (end, fdk->cut.slabs[i].row_end);
      }
      const double sent = (end - first) * row, part = (double) slices / input->n_slices;
      filter = MAX (filter, sent / rates->filter);
      costs.kernel = MAX (costs.kernel, updates * part / rates->kernel + sent / rates->filter
                                            + rows * row / pack);
      costs.upload = MAX (costs.upload, sent / rates->transfer);
      costs.download = MAX (costs.download, volume * part / rates->transfer);
    }
  } else { /* whoever is free takes the next part; some are idle at the end */
    const double parts = fdk->cut.n_slabs * (whole ? 1.0 : fdk->fit.n_batches);
    const double idle = ceil (parts / n) * n / parts;
    costs.kernel = updates / (n * rates->kernel) * idle + seen / (n * pack)
                   + (fdk->scheme.filter_on_device ? filter / n : 0);
    costs.upload = seen / (n * rates->transfer);
    costs.download = volume * (whole ? 1 : n) / (n * rates->transfer);
    costs.host = (all_rows + seen + (whole ? 0 : (n - 1) * volume)) / rates->adds;
  }
  const double longest
      = MAX (filter, MAX (MAX (costs.upload, costs.kernel), MAX (costs.download, costs.host)));
  const double sum = costs.upload + costs.kernel + costs.download + costs.host + filter;
  costs.total = longest + (sum - longest) / fdk->cut.n_slabs;
  return costs;
}

static void
assert_told (const char *text, const char *before, const double *values, guint n)
{
  const char *at = strstr (text, before);

  g_assert_nonnull (at);
  at += strlen (before);
  for (guint i = 0; i < n; i++) {
    char *end;
    g_assert_cmpfloat_with_epsilon (g_ascii_strtod (at, &end), values[i],
                                    6e-3 * fabs (values[i]) + 1e-300);
    at = strpbrk (end, "0123456789") ? strpbrk (end, "0123456789") : end;
  }
}

/* The plan tells the costs of either way, and takes the cheaper one. Sums must be worth it. */
static void
test_costs (void)
{
  static const struct {
    Rates rates;
    TdFilterPlace filter_on;
  } cases[] = {
    { { 1e11, 1e10, 5e9, 1e9, 2e10 }, TD_FILTER_ON_DEVICE },
    { { 1e11, 1e10, 5e9, 1e9, 2e10 }, TD_FILTER_ON_CPU },
    { { 1e12, 1e9, 5e10, 2e10, 1e11 }, TD_FILTER_ON_DEVICE },
    { { 1e12, 5e8, 5e10, 2e10, 1e8 }, TD_FILTER_ON_CPU },
    { { 1e12, 1e11, 1e8, 1e11, 1e12 }, TD_FILTER_ON_DEVICE },
  };
  static const TdShareKind shares[] = { TD_SHARE_AUTO, TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  const Job job = { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_AUTO, TD_SHARE_AUTO, 300, 280, 310 };

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GPtrArray) played = td_engine_devices (td_fdk_engine, job.devices, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdPlan) before = plan_for_cards (scan, job.devices);
    TdPlan *plans[3];
    TdRecipe recipe;

    set_rates (before, &cases[i].rates, 0.5);
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, job.devices, sizeof recipe.devices);
    recipe.filter_on = cases[i].filter_on;
    td_test_play_cards (played, TRUE);
    for (guint k = 0; k < 3; k++) {
      recipe.share = shares[k];
      plans[k] = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, NULL);
      g_assert_nonnull (plans[k]);
    }
    td_test_play_cards (played, FALSE);
    const Costs volume = costs_of (plans[1], &cases[i].rates),
                views = costs_of (plans[2], &cases[i].rates);
    const gboolean by_volume
        = ((const TdFdkPlan *) plans[0]->extra)->scheme.share == TD_SHARE_VOLUME;
    const Costs *a = by_volume ? &volume : &views, *b = by_volume ? &views : &volume;
    g_autofree char *notes = td_messages_join (plans[0]->facts.notes, "\n", NULL);
    g_test_message ("%s", notes);
    g_assert_cmpint (by_volume, ==, !(views.total < 0.95 * volume.total));
    assert_told (notes, by_volume ? "share the volume: about " : "share the projections: about ",
                 (const double[]) { a->total, b->total }, 2);
    assert_told (notes, "(kernels ",
                 (const double[]) { a->kernel, b->kernel, a->upload, b->upload, a->download,
                                    b->download, a->host, b->host },
                 8);
    for (guint k = 0; k < 3; k++)
      td_plan_unref (plans[k]);
  }
}

/* A device that makes integers of its slices has them beside these, as many as are downloaded at
   once. Parts that are added up are floats, and so is what no volume takes. */
static void
test_stores (void)
{
  static const struct {
    TdShareKind share;
    gboolean output;
    guint bits;
  } cases[] = {
    { TD_SHARE_VOLUME, TRUE, 32 },     { TD_SHARE_VOLUME, TRUE, 16 },
    { TD_SHARE_VOLUME, TRUE, 8 },      { TD_SHARE_VOLUME, FALSE, 16 },
    { TD_SHARE_PROJECTION, TRUE, 32 }, { TD_SHARE_PROJECTION, TRUE, 16 },
  };
  const Job job = { "opencl:0,opencl:1", TRUE, TD_FILTER_ON_AUTO, TD_SHARE_AUTO, 300, 280, 310 };
  guint64 of_floats = 0;

  if (!td_test_two_alike ())
    return;
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GPtrArray) played = td_engine_devices (td_fdk_engine, job.devices, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, job.devices, sizeof recipe.devices);
    recipe.share = cases[i].share;
    recipe.filter_on = TD_FILTER_ON_DEVICE;
    recipe.output_bits = cases[i].bits;
    td_test_play_cards (played, TRUE);
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe,
                                           cases[i].output ? "/tmp/none.tif" : NULL, NULL, &error);
    td_test_play_cards (played, FALSE);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    const gboolean stores = cases[i].output && cases[i].bits < 32
                            && cases[i].share == TD_SHARE_VOLUME
                            && td_stored_samples_supported (plan->devices->pdata[0]);
    const guint64 voxels = (guint64) fdk->input->task.nx * fdk->input->task.ny
                           * MIN (fdk->fit.download_slices, fdk->fit.slab);
    if (cases[i].bits == 32)
      of_floats = plan->facts.device_bytes;
    g_test_message ("%u: %" G_GUINT64_FORMAT, i, plan->facts.device_bytes);
    g_assert_cmpint (td_fdk_device_stores (plan, fdk, 1), ==, stores);
    g_assert_cmpuint (plan->facts.device_bytes, ==,
                      of_floats + (stores ? td_stored_samples_bytes (cases[i].bits, voxels) : 0));
  }
}

/* Some of the views of an input are those of all from the first one on, and no more than there are.
 */
static void
test_some_views (void)
{
  double matrices[12 * 9], weights[9], angles[9], homographies[9 * 9];

  for (guint i = 0; i < 12; i++) {
    const guint first = i % 4 * 2, n = i / 4 * 2 + 1, tilted = i % 3; /* views with a tilt */
    const TdFdkInput all
        = { .task = { .n_views = 9,
                      .matrices = matrices,
                      .view_weights = weights,
                      .tilted = { .n = tilted == 2 ? 9 : tilted, .homographies = homographies } },
            .views = td_view_order_from (4),
            .angles_rad = angles,
            .row0 = 1,
            .n_rows = 20 };
    const TdFdkInput some = td_fdk_some_views (&all, first, n, (TdRowRange) { 3, 5 });

    g_assert_cmpuint (some.task.n_views, ==, MIN (n, 9 - first));
    g_assert_cmpuint (td_view_order_at (&some.views, 0), ==, 4 + first);
    g_assert_true (some.task.matrices == matrices + 12 * first);
    g_assert_true (some.task.view_weights == weights + first);
    g_assert_true (some.angles_rad == angles + first);
    g_assert_true (some.task.tilted.homographies == homographies + (tilted == 2 ? 9 * first : 0));
    g_assert_cmpuint (some.task.tilted.n, ==, tilted == 2 ? some.task.n_views : tilted);
    g_assert_cmpuint (some.row0, ==, 3);
    g_assert_cmpuint (some.n_rows, ==, 5);
  }
}

/* How far off the middle the axis is, and the radius that is seen from both sides. */
static void
test_off_middle (void)
{
  const Job job = { "host", FALSE, TD_FILTER_ON_CPU, TD_SHARE_AUTO, 200, 60, 180, TRUE };
  g_autoptr (TdScan) scan = job_scan (&job);
  const TdGeometry *g = &scan->facts.geometry;
  const double pitch_mm = g->pixel_width_mm * g->source_axis_mm / g->source_detector_mm;

  for (guint v = 0; v < job.n_views; v++) /* a full turn would be weighted */
    scan->facts.angles_rad[v] *= 0.62;
  for (gint side = -1; side <= 1; side++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    td_recipe_state_axis (&recipe, 99.5 + 22 * side, 0);
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    const char *at = strstr (notes, "columns off the detector's middle: values are right within");
    double off = 0, within = 0;
    td_test_pin ("%s", notes);
    g_assert_cmpint (at != NULL, ==, side != 0);
    if (!at)
      continue;
    at = strstr (notes, "The axis is ");
    g_assert_cmpint (sscanf (at,
                             "The axis is %lf columns off the detector's middle: values are "
                             "right within %lf mm",
                             &off, &within),
                     ==, 2);
    g_assert_cmpfloat_with_epsilon (off, 22, 0.06);
    g_assert_cmpfloat_with_epsilon (within, (100 - off) * pitch_mm, 1e-3 * within);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fdk-fit/batches", test_batches);
  td_fdk_test_begin ("fdk-fit");
  td_test_add_cases ("/fdk-fit/limits", jobs, sizeof *jobs, G_N_ELEMENTS (jobs), test_limits);
  g_test_add_func ("/fdk-fit/filter-rates", test_filter_rates);
  g_test_add_func ("/fdk-fit/turns", test_turns);
  g_test_add_func ("/fdk-fit/groups", test_groups);
  g_test_add_func ("/fdk-fit/part-ends-small", test_part_ends_small);
  g_test_add_func ("/fdk-fit/two-cards", test_two_cards);
  g_test_add_func ("/fdk-fit/stores", test_stores);
  g_test_add_func ("/fdk-fit/some-views", test_some_views);
  g_test_add_func ("/fdk-fit/costs", test_costs);
  g_test_add_func ("/fdk-fit/off-middle", test_off_middle);
  const int status = g_test_run ();
  td_fdk_test_end ();
  return status;
}
