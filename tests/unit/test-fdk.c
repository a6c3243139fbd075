/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "compute/bench/cone-bench.h"
#include "compute/engine/engine-private.h"
#include "dataset/random.h"
#include "test-folder.h"
#include "tests/common/devices.h"
#include "tests/common/faulty.h"
#include "tests/common/fdk.h"
#include "tests/common/pipeline.h"

/* However devices share an FDK job, and wherever rows are filtered, the volume is the same. Plans
   say what is used. */

/* ── Sharing ── */

static void
test_shares (void)
{
  static const char *const devices[] = { "opencl:0", "opencl:0,opencl:1", "host,opencl:0" };
  static const TdShareKind shares[] = { TD_SHARE_AUTO, TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  static const TdFilterPlace places[] = { TD_FILTER_ON_CPU, TD_FILTER_ON_DEVICE };
  g_auto (TdFdkVolume) one = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
    for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
      for (guint p = 0; p < G_N_ELEMENTS (places); p++) {
        g_autoptr (GError) error = NULL;
        g_autoptr (TdPlan) plan = td_fdk_test_plan (devices[d], shares[s], places[p], 0);
        const TdFdkPlan *fdk = plan->extra;
        g_auto (TdFdkVolume) volume = { NULL };

        g_test_message ("%s, %s, filtered on %s", devices[d],
                        td_recipe_field ("share")->names[fdk->scheme.share],
                        td_recipe_field ("filter-on")->names[places[p]]);
        if (shares[s] != TD_SHARE_AUTO && d > 0)
          g_assert_cmpint (fdk->scheme.share, ==, shares[s]);
        g_assert_cmpint (fdk->scheme.filter_on_device, ==, places[p] == TD_FILTER_ON_DEVICE);
        g_assert_cmpint (fdk->fit.cached, ==,
                         places[p] == TD_FILTER_ON_DEVICE && d < 2
                             && fdk->scheme.share == TD_SHARE_VOLUME);
        td_fdk_test_run (plan, &volume, &error);
        g_assert_no_error (error);
        td_fdk_test_close (&volume, &one);
      }
}

/* A job that builds kernels leaves no rates. */
static void
test_cold_rates (void)
{
  if (!td_test_two_alike ())
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_fdk_test_plan ("opencl:0", TD_SHARE_AUTO, TD_FILTER_ON_DEVICE, 0);
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  g_autofree char *key = td_fdk_filter_rate_key (devices->pdata[0]);

  const double bytes
      = (double) TD_FDK_N * TD_FDK_N * td_scan_facts (td_fdk_scan)->n_views * sizeof (float);
  td_engine_set_rate (td_fdk_engine, key, bytes, 1e3);
  const double before = td_engine_rate (td_fdk_engine, key, bytes);
  td_test_free_programs (devices->pdata[0]);
  for (guint run = 0; run < 2; run++) {
    g_auto (TdFdkVolume) volume = { NULL };
    const gint64 start = g_get_monotonic_time ();

    g_assert_cmpfloat (td_engine_rate (td_fdk_engine, key, bytes), ==, before);
    td_fdk_test_run (plan, &volume, &error);
    g_assert_no_error (error);
    if (run == 0 && g_get_monotonic_time () - start > 20 * G_USEC_PER_SEC) {
      g_test_skip ("a job of so many seconds counts, whatever it built (job.c)");
      return;
    }
  }
  g_assert_cmpfloat (td_engine_rate (td_fdk_engine, key, bytes), !=, before);
}

/* ── Some of the views ── */

typedef struct {
  float *sums;
  gsize slice;
} Sums;

static void
add_slices (guint first, guint count, const float *slices, gpointer user)
{
  Sums *sums = user;

  for (gsize i = 0; i < count * sums->slice; i++)
    sums->sums[first * sums->slice + i] += slices[i];
}

static void
run_part (const TdRecipe *recipe, TdViewGroup views, Sums *sums)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_plan_new_part (td_fdk_engine, td_fdk_scan, recipe,
                                              &(TdPlanPart) { .views = views }, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  const TdPlanFacts *facts = td_plan_facts (plan);

  g_assert_cmpfloat (facts->updates, ==,
                     (double) facts->n_slices * facts->ny * facts->nx
                         * (views.count ? views.count : td_scan_facts (td_fdk_scan)->n_views));
  td_job_set_sink (job, add_slices, sums);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
}

/* Without OpenCL the tests of both kinds of device are the host's alone. */
static gboolean
have (const char *device)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, device, NULL);

  if (!devices)
    g_test_skip ("no OpenCL device");
  return devices != NULL;
}

/* The sums of groups of views add up to the slices, wherever rows are filtered. */
static void
test_view_groups (gconstpointer device)
{
  static const TdViewGroup groups[] = { { 0, 11 }, { 11, 1 }, { 12, 24 } };
  const gsize slice = TD_FDK_N * TD_FDK_N, n = 20 * slice;

  if (!have (device))
    return;
  for (TdFilterPlace place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
    g_autofree float *whole = g_new0 (float, n), *parts = g_new0 (float, n);
    double off = 0, norm = 0;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, device, sizeof recipe.devices);
    recipe.filter_on = place;
    recipe.row_first = 9;
    recipe.row_end = 29;
    run_part (&recipe, (TdViewGroup) { 0 }, &(Sums) { whole, slice });
    for (guint g = 0; g < G_N_ELEMENTS (groups); g++)
      run_part (&recipe, groups[g], &(Sums) { parts, slice });
    for (gsize i = 0; i < n; i++) {
      off += pow ((double) parts[i] - whole[i], 2);
      norm += pow (whole[i], 2);
    }
    g_assert_cmpfloat (norm, >, 0);
    g_assert_cmpfloat (sqrt (off / norm), <, 1e-6);
  }
}

/* How many views a group's kernel adds together. */
static guint
group_together (const TdRecipe *recipe, TdViewGroup views)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_plan_new_part (td_fdk_engine, td_fdk_scan, recipe,
                                              &(TdPlanPart) { .views = views }, NULL, &error);
  g_assert_no_error (error);
  return td_plan_facts (plan)->symmetric_views;
}

/* Groups with views of each quarter of the turn: a kernel adds these four by four, as it does all
   views. It does not those of a group that is one part of the turn. */
static void
test_parted_groups (gconstpointer device)
{
  static const TdViewGroup groups[] = { { 0, 16, 4 }, { 4, 4, 4 }, { 5, 16, 4 } };
  static const TdViewGroup halves[] = { { 0, 4, 2 }, { 2, 32, 2 } };
  static const struct {
    const TdViewGroup *groups;
    guint n;
  } cuts[] = { { groups, G_N_ELEMENTS (groups) }, { halves, G_N_ELEMENTS (halves) } };
  const gsize slice = TD_FDK_N * TD_FDK_N, n = 32 * slice;
  g_autofree float *whole = g_new0 (float, n);
  TdRecipe recipe;

  if (!have (device))
    return;
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.row_first = 5;
  recipe.row_end = 37;
  if (!g_str_equal (device, "host"))
    g_strlcpy (recipe.family, "arithmetic", sizeof recipe.family);
  const guint together = group_together (&recipe, (TdViewGroup) { 0 });
  g_assert_cmpuint (together, ==, g_str_equal (device, "host") ? 1 : 4);
  g_assert_cmpuint (group_together (&recipe, (TdViewGroup) { 0, 16 }), ==, 1);
  run_part (&recipe, (TdViewGroup) { 0 }, &(Sums) { whole, slice });
  for (TdFilterPlace place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++)
    for (guint cut = 0; cut < G_N_ELEMENTS (cuts); cut++) {
      g_autofree float *parts = g_new0 (float, n);
      double off = 0, norm = 0;

      recipe.filter_on = place;
      for (guint g = 0; g < cuts[cut].n; g++) {
        const TdViewGroup *group = &cuts[cut].groups[g];
        g_assert_cmpuint (group_together (&recipe, *group), ==, MIN (group->parts, together));
        run_part (&recipe, *group, &(Sums) { parts, slice });
      }
      for (gsize i = 0; i < n; i++) {
        off += pow ((double) parts[i] - whole[i], 2);
        norm += pow (whole[i], 2);
      }
      g_assert_cmpfloat (norm, >, 0);
      g_assert_cmpfloat (sqrt (off / norm), <, 1e-6);
    }
}

static void
test_view_groups_refused (void)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  TdPlanPart part = { .views = { 30, 7 } };
  g_assert_null (td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);
  static const TdViewGroup parted[] = { { 5, 20, 4 }, { 0, 18, 4 }, { 0, 35, 5 } };
  for (guint i = 0; i < G_N_ELEMENTS (parted); i++) {
    part = (TdPlanPart) { .views = parted[i] };
    g_assert_null (td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_clear_error (&error);
  }
  part = (TdPlanPart) { .first_slice = TD_FDK_N - 3, .n_slices = 4 };
  g_assert_null (td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);
  part = (TdPlanPart) { .views = { 0, 7 } };
  recipe.method = TD_METHOD_SIRT;
  g_assert_null (td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  recipe.method = TD_METHOD_AUTO;
  td_recipe_set (&recipe, "prepare", "rings", &error);
  g_assert_no_error (error);
  g_assert_null (td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "rings"));
}

/* Slices as they come, from the first to the last. */
typedef struct {
  float *volume;
  gsize slice;
  guint first, next; /* of the part's slices in the volume; that comes next */
  guint bands;       /* that ended */
} Ascending;

static void
take_ascending (guint first, guint count, const float *slices, gpointer user)
{
  Ascending *taken = user;

  g_assert_cmpuint (first, ==, taken->next);
  taken->next += count;
  memcpy (taken->volume + (taken->first + first) * taken->slice, slices,
          count * taken->slice * sizeof *slices);
}

static gboolean
begin_rows (guint first, guint count, TdRowRange rows, float *slices, GCancellable *cancellable,
            GError **error, gpointer user)
{
  const Ascending *taken = user;
  const gsize at = rows.first * TD_FDK_N, bytes = rows.count * TD_FDK_N * sizeof *slices;

  for (guint i = 0; i < count; i++)
    memcpy (slices + i * taken->slice + at,
            taken->volume + (taken->first + first + i) * taken->slice + at, bytes);
  return TRUE;
}

static gboolean
end_band (guint first, guint count, TdRowRange rows, float *slices, GCancellable *cancellable,
          GError **error, gpointer user)
{
  Ascending *taken = user;
  const gsize at = rows.first * TD_FDK_N, bytes = rows.count * TD_FDK_N * sizeof *slices;

  for (guint i = 0; i < count; i++)
    memcpy (taken->volume + (taken->first + first + i) * taken->slice + at,
            slices + i * taken->slice + at, bytes);
  taken->bands++;
  taken->next += rows.first + rows.count == TD_FDK_N ? count : 0;
  return TRUE;
}

/* Slices are made in parts, and each part from groups of views one after the other. Each group
   begins with the sums of those before it. The result has the bits of the whole. The host computes
   one band of rows after the other, too, which all groups but the last hand on so. */
static void
test_part_bits (gconstpointer device)
{
  static const TdViewGroup groups[] = { { 0, 12 }, { 12, 2 }, { 14, 22 } };
  static const guint bounds[] = { 0, 7, 8, 20 };
  const gsize slice = TD_FDK_N * TD_FDK_N, n = 20 * slice;
  const gboolean host = g_str_equal (device, "host");
  guint uneven = 0; /* plans whose slabs end with a smaller piece */

  if (!have (device))
    return;
  for (TdFilterPlace place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
    g_autofree float *whole = g_new0 (float, n), *parts = g_new0 (float, n);
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, device, sizeof recipe.devices);
    if (!host) /* it adds the views in their order */
      g_strlcpy (recipe.family, "standard", sizeof recipe.family);
    recipe.filter_on = place;
    recipe.row_first = 9;
    recipe.row_end = 29;
    run_part (&recipe, (TdViewGroup) { 0 }, &(Sums) { whole, slice });
    const guint bands = host && place == TD_FILTER_ON_DEVICE ? 5 : 1;
    if (bands == 1)
      recipe.memory_limit_bytes = 1600 << 10; /* sums come and go a few slices at a time */
    for (guint b = 0; b + 1 < G_N_ELEMENTS (bounds); b++)
      for (guint g = 0; g < G_N_ELEMENTS (groups); g++) {
        const TdPlanPart part = { groups[g], bounds[b], bounds[b + 1] - bounds[b],
                                  .least_slabs = bands > 1 ? bands : 0 };
        Ascending taken = { parts, slice, bounds[b], 0 };
        const TdJobTurns turns = { .begin = g > 0 ? begin_rows : NULL,
                                   .bands = bands,
                                   .end = bands > 1 && g < 2 ? end_band : NULL,
                                   .user = &taken };
        g_autoptr (GError) error = NULL;
        g_autoptr (TdPlan) plan
            = td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error);
        g_assert_no_error (error);
        g_assert_cmpuint (td_plan_facts (plan)->symmetric_views, ==, 1);
        const TdFdkFit *fit = &((const TdFdkPlan *) plan->extra)->fit;
        uneven += fit->slab % fit->download_slices != 0;
        g_autoptr (TdJob) job = td_job_new (plan);
        td_job_set_sink (job, take_ascending, &taken);
        td_job_set_turns (job, &turns);
        td_job_run (job, NULL, &error);
        g_assert_no_error (error);
        g_assert_cmpuint (taken.bands, ==, turns.end ? bands * td_plan_facts (plan)->n_slabs : 0);
        g_assert_cmpuint (taken.next, ==, part.n_slices);
        TdJobProgress progress;
        td_job_progress (job, &progress); /* whoever has them: they are done */
        g_assert_cmpuint (progress.slices_done, ==, part.n_slices);
        g_assert_cmpfloat (progress.fraction, ==, 1);
      }
    g_assert_cmpmem (parts, n * sizeof *parts, whole, n * sizeof *whole);
  }
  g_assert_true (host || uneven > 0);
}

/* ── What is chosen ── */

/* One slice cannot be shared by slabs: the planner sees that it pays to share the projections. */
static void
test_share_is_chosen (void)
{
  if (!td_test_two_alike ())
    return;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0,opencl:1", sizeof recipe.devices);
  /* Both devices are one kind, for which there is one rate. */
  g_autoptr (TdPlan) plan = td_fdk_test_plan ("opencl:0", TD_SHARE_AUTO, TD_FILTER_ON_AUTO, 0);
  g_autofree char *key = td_fdk_device_rate_key (
      plan->devices->pdata[0], ((const TdFdkPlan *) plan->extra)->scheme.families[0]);
  const double updates = td_plan_facts (plan)->updates;
  td_engine_set_rate (td_fdk_engine, key, updates / 2, updates / 2e6);
  td_engine_set_rate (td_fdk_engine, key, updates / 2 / TD_FDK_N, updates / 2e6 / TD_FDK_N);
  recipe.row_first = TD_FDK_N / 2;
  recipe.row_end = TD_FDK_N / 2 + 1;
  g_autoptr (TdPlan) slice = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (((const TdFdkPlan *) slice->extra)->scheme.share, ==, TD_SHARE_PROJECTION);
  g_autofree char *notes = td_messages_join (td_plan_facts (slice)->notes, "\n", NULL);
  g_assert_nonnull (strstr (notes, "share the projections"));

  recipe.row_first = recipe.row_end = 0;
  g_autoptr (TdPlan) whole = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  /* A card's slabs have 16 slices at least: three of them leave one of two cards idle. */
  if (td_device_info (whole->devices->pdata[0])->kind == TD_DEVICE_CPU)
    g_assert_cmpint (((const TdFdkPlan *) whole->extra)->scheme.share, ==, TD_SHARE_VOLUME);
}

/* Small row caches, slabs, batches and download buffers: everything is used again and again, and
   the plan's figures hold. */
static void
test_tight (gconstpointer limit)
{
  static const TdShareKind shares[] = { TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  g_auto (TdFdkVolume) one = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  for (guint s = 0; s < G_N_ELEMENTS (shares); s++)
    for (guint place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
      g_autoptr (GError) error = NULL;
      g_auto (TdFdkVolume) volume = { NULL };
      g_autoptr (TdPlan) plan
          = td_fdk_test_plan ("opencl:0,opencl:1", shares[s], place, GPOINTER_TO_SIZE (limit));
      const TdFdkPlan *fdk = plan->extra;
      g_test_message (
          "%s, filtered on %s: row cache of %u of %u chunks, slabs of %u, batches of %u, "
          "downloads of %u slices",
          td_recipe_field ("share")->names[fdk->scheme.share],
          td_recipe_field ("filter-on")->names[place], fdk->fit.cached ? fdk->fit.cached_chunks : 0,
          fdk->fit.n_chunks, fdk->fit.slab, fdk->fit.batch, fdk->fit.download_slices);
      td_fdk_test_run (plan, &volume, &error);
      g_assert_no_error (error);
      td_fdk_test_close (&volume, &one);
      const TdPlanFacts *facts = td_plan_facts (plan);
      g_assert_cmpuint (facts->device_bytes, <=, GPOINTER_TO_SIZE (limit));
      g_assert_cmpuint (volume.device_bytes, <=, facts->device_bytes);
      g_assert_cmpuint (volume.host_bytes, <=, facts->host_bytes);
      g_assert_cmpuint (volume.device_bytes, >, facts->device_bytes / 4);
    }
}

/* The devices are short of memory, the host is not: the projections wait there. */
static void
test_device_limit (void)
{
  const guint64 limit = 640 << 10;
  g_auto (TdFdkVolume) one = { NULL }, volume = { NULL };
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (TdPlan) both = td_fdk_test_plan ("opencl:0", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, limit);
  g_assert_true (((const TdFdkPlan *) both->extra)->fit.on_disk);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
  recipe.filter_on = TD_FILTER_ON_CPU;
  recipe.device_memory_limit_bytes = limit;
  g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdFdkPlan *fdk = plan->extra;
  g_assert_false (fdk->fit.on_disk);
  g_assert_cmpuint (fdk->cut.n_slabs, >, 1);
  td_fdk_test_run (plan, &volume, &error);
  g_assert_no_error (error);
  td_fdk_test_close (&volume, &one);
  g_assert_cmpuint (volume.device_bytes, <=, limit);
}

/* As large as one likes, for plans only: there are no samples. */
static TdScan *
planned_scan (guint n, guint n_views)
{
  g_autofree double *angles = g_new (double, n_views);
  TdScanFacts facts = { .n_columns = n,
                        .n_rows = n,
                        .n_views = n_views,
                        .sample_type = TD_SAMPLE_FLOAT32,
                        .transmission_logged = TRUE,
                        .angles_rad = angles,
                        .centre_px = NAN };

  for (guint v = 0; v < n_views; v++)
    angles[v] = 2 * G_PI * v / n_views;
  td_cone_bench_geometry (n, n, &facts.geometry);
  return td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
}

/* More views than a texture has layers come in several batches. */
static void
test_layers (void)
{
  g_auto (TdFdkVolume) one = { NULL }, volume = { NULL };
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  TdDeviceInfo *info = &((TdDevice *) devices->pdata[0])->info;
  const guint64 layers = info->texture_max_layers;
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
  g_strlcpy (recipe.family, "texture", sizeof recipe.family);
  info->texture_max_layers = 8;
  g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (((const TdFdkPlan *) plan->extra)->fit.batch, ==, 8);
  td_fdk_test_run (plan, &volume, &error);
  info->texture_max_layers = layers;
  g_assert_no_error (error);
  td_fdk_test_close (&volume, &one);
}

/* A card that is short of memory takes larger slabs and fewer views at once, and filters fewer
 * rows. */
static void
test_short_card (void)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  g_autoptr (TdScan) scan = planned_scan (1024, 1024);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
  recipe.filter_on = TD_FILTER_ON_DEVICE;
  recipe.device_memory_limit_bytes = 1 << 30;
  td_test_play_cards (devices, TRUE);
  g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
  td_test_play_cards (devices, FALSE);
  g_assert_no_error (error);
  const TdFdkPlan *fdk = plan->extra;
  g_test_message ("slabs of %u, batches of %u, filtering %u rows", fdk->fit.slab, fdk->fit.batch,
                  fdk->fit.filter_rows);
  g_assert_false (fdk->fit.cached);
  g_assert_cmpuint (fdk->fit.slab, >=, 48);
  g_assert_cmpuint (fdk->fit.batch, >=, 32);
  g_assert_cmpuint (fdk->fit.filter_rows, ==, 16);
  g_assert_cmpuint (fdk->fit.device_bytes, <=, 1 << 30);
}

/* A scan of noise. */
static TdScan *
noise_scan (guint n_views)
{
  static float projections[40 * TD_FDK_N * TD_FDK_N];
  TdScanFacts facts = *td_scan_facts (td_fdk_scan);
  g_autofree double *angles = g_new (double, n_views);

  g_assert_cmpuint (n_views, <=, 40);
  td_random_noise (projections, (gsize) n_views * TD_FDK_N * TD_FDK_N, 11);
  for (guint i = 0; i < n_views; i++)
    angles[i] = 2 * G_PI * i / n_views;
  facts.n_views = n_views;
  facts.angles_rad = angles;
  return td_scan_new_from_memory (&facts, projections, NULL, NULL, NULL, NULL);
}

/* Memory limits and several devices change how the volume is cut, and not a bit of it. */
static void
test_cuts (gconstpointer n_views)
{
  static const char *const devices[] = { "host", "opencl:0", "opencl:0,opencl:1" };
  static const guint64 limits[] = { 0, 3 << 20, 1600 << 10 };

  if (!td_test_two_alike ())
    return;
  TdScan *phantom = td_fdk_scan;
  td_fdk_scan = noise_scan (GPOINTER_TO_UINT (n_views));
  for (guint place = TD_FILTER_ON_CPU; place <= TD_FILTER_ON_DEVICE; place++) {
    g_auto (TdFdkVolume) first = { NULL };
    for (guint i = 0; i < G_N_ELEMENTS (devices) * G_N_ELEMENTS (limits); i++) {
      const guint d = i / G_N_ELEMENTS (limits);
      g_autoptr (GError) error = NULL;
      g_auto (TdFdkVolume) volume = { NULL };
      g_autoptr (TdPlan) plan = td_fdk_test_plan (devices[d], TD_SHARE_VOLUME, place,
                                                  limits[i % G_N_ELEMENTS (limits)]);
      const TdFdkPlan *fdk = plan->extra;
      g_test_message ("%s, filtered on %s: %u slabs, %u batches, %u chunks", devices[d],
                      td_recipe_field ("filter-on")->names[place], fdk->cut.n_slabs,
                      fdk->fit.n_batches, fdk->fit.n_chunks);
      td_fdk_test_run (plan, &volume, &error);
      g_assert_no_error (error);
      /* The first of a kind of device is what the others must be. */
      if (i <= G_N_ELEMENTS (limits) && i % G_N_ELEMENTS (limits) == 0) {
        td_fdk_volume_clear (&first);
        first.slices = g_memdup2 (volume.slices, sizeof (float) * TD_FDK_N * TD_FDK_N * TD_FDK_N);
        first.notes = NULL;
      }
      g_assert_cmpmem (volume.slices, sizeof (float) * TD_FDK_N * TD_FDK_N * TD_FDK_N, first.slices,
                       sizeof (float) * TD_FDK_N * TD_FDK_N * TD_FDK_N);
    }
  }
  td_scan_unref (td_fdk_scan);
  td_fdk_scan = phantom;
}

/* A card's row cache refuses a row without a number before it sends it, not when all is done. */
static void
test_lost_row (void)
{
  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  TdScan *phantom = td_fdk_scan;
  g_autofree float *views = g_new (float, 36 * TD_FDK_N * TD_FDK_N);
  td_random_noise (views, 36 * TD_FDK_N * TD_FDK_N, 12);
  for (guint i = 0; i < 36 * TD_FDK_N * TD_FDK_N; i++)
    if (i / TD_FDK_N % TD_FDK_N == TD_FDK_N / 2)
      views[i] = NAN;
  td_fdk_scan = td_scan_new_from_memory (td_scan_facts (phantom), views, NULL, NULL, NULL, NULL);
  td_test_play_cards (devices, TRUE);
  g_autoptr (GError) error = NULL;
  g_auto (TdFdkVolume) volume = { NULL };
  g_autoptr (TdPlan) plan = td_fdk_test_plan ("opencl:0", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0);
  g_assert_true (((const TdFdkPlan *) plan->extra)->fit.cached);
  td_fdk_test_run (plan, &volume, &error);
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_nonnull (strstr (error->message, "no number in any view: 24."));
  for (guint i = 0; i < TD_FDK_N; i++)
    g_assert_false (volume.seen[i]);
  td_test_play_cards (devices, FALSE);
  td_scan_unref (td_fdk_scan);
  td_fdk_scan = phantom;
}

/* Graphics cards begin in the middle, with small slabs: played by devices that are none. */
static void
test_outwards (void)
{
  static const guint64 limits[] = { 0, 1 << 20 };
  static const char *const devices[] = { "opencl:0", "opencl:0,opencl:1" };

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) both = td_engine_devices (td_fdk_engine, devices[1], NULL);
  TdScan *phantom = td_fdk_scan;
  g_auto (TdFdkVolume) first = { NULL };
  td_fdk_scan = noise_scan (36);
  td_test_play_cards (both, TRUE);
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) volume = { NULL };
    g_autoptr (TdPlan) plan
        = td_fdk_test_plan (devices[i / 2], TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, limits[i % 2]);
    const TdFdkPlan *fdk = plan->extra;
    g_autoptr (GString) order = g_string_new (NULL);
    for (guint d = 0; d < plan->devices->len; d++)
      for (guint k = fdk->cut.own[d]; k < fdk->cut.own[d + 1]; k++)
        g_string_append_printf (order, " %u:%u+%u", d, fdk->cut.slabs[k].slice0,
                                fdk->cut.slabs[k].n_slices);
    g_test_message ("%s: slices%s; rows in %u of %u chunks", devices[i / 2], order->str,
                    fdk->fit.cached_chunks, fdk->fit.n_chunks);
    g_assert_true (fdk->fit.cached);
    g_assert_cmpuint (fdk->cut.slabs[0].slice0, ==, i < 2 ? 24 : 8);
    td_fdk_test_run (plan, &volume, &error);
    g_assert_no_error (error);
    if (i == 0)
      first.slices = g_steal_pointer (&volume.slices);
    else
      g_assert_cmpmem (volume.slices, sizeof (float) * TD_FDK_N * TD_FDK_N * TD_FDK_N, first.slices,
                       sizeof (float) * TD_FDK_N * TD_FDK_N * TD_FDK_N);
  }
  td_test_play_cards (both, FALSE);
  td_scan_unref (td_fdk_scan);
  td_fdk_scan = phantom;
}

/* Each sample that is replaced counts once, whoever prepares its row, and however often. */
static void
test_counts (void)
{
  static const guint limits_kib[] = { 0, 540, 260 };
  static const char *const devices[] = { "opencl:0", "opencl:0,opencl:1" };

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) both = td_engine_devices (td_fdk_engine, devices[1], NULL);
  TdScan *phantom = td_fdk_scan;
  g_autofree float *views = g_new (float, 36 * TD_FDK_N * TD_FDK_N);
  td_random_noise (views, 36 * TD_FDK_N * TD_FDK_N, 12);
  for (guint row = 0; row < TD_FDK_N; row++)
    views[(row % 36 * TD_FDK_N + row) * TD_FDK_N + 20] = NAN;
  td_fdk_scan = td_scan_new_from_memory (td_scan_facts (phantom), views, NULL, NULL, NULL, NULL);
  td_test_play_cards (both, TRUE);
  for (guint i = 0; i < 4 * G_N_ELEMENTS (limits_kib); i++) {
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) volume = { NULL };
    g_autoptr (TdPlan) plan = td_fdk_test_plan (devices[i % 2], TD_SHARE_VOLUME,
                                                i / 2 % 2 ? TD_FILTER_ON_CPU : TD_FILTER_ON_DEVICE,
                                                limits_kib[i / 4] << 10);
    g_autoptr (TdJob) job = td_job_new (plan);
    td_fdk_test_run_job (job, &volume, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (td_job_result (job)->counts.bad_values, ==,
                      ((const TdFdkPlan *) plan->extra)->input->n_rows);
  }
  td_test_play_cards (both, FALSE);
  td_scan_unref (td_fdk_scan);
  td_fdk_scan = phantom;
}

/* A card that keeps few of the rows gives their memory to others: it never has more than planned.
 */
static void
test_recycled (void)
{
  static const guint limits_kib[] = { 540, 470, 260 };

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  TdScan *phantom = td_fdk_scan;
  td_fdk_scan = noise_scan (40);
  td_test_play_cards (devices, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (limits_kib); i++) {
    g_autoptr (GError) error = NULL;
    g_auto (TdFdkVolume) volume = { NULL };
    g_autoptr (TdPlan) plan
        = td_fdk_test_plan ("opencl:0", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, limits_kib[i] << 10);
    const TdFdkPlan *fdk = plan->extra;
    g_assert_true (fdk->fit.cached);
    g_assert_cmpuint (2 * fdk->fit.cached_chunks, <, fdk->fit.n_chunks);
    td_fdk_test_run (plan, &volume, &error);
    g_assert_no_error (error);
    g_test_message ("%u of %u chunks, %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes",
                    fdk->fit.cached_chunks, fdk->fit.n_chunks, volume.device_bytes,
                    td_plan_facts (plan)->device_bytes);
    g_assert_cmpuint (volume.device_bytes, <=, td_plan_facts (plan)->device_bytes);
  }
  td_test_play_cards (devices, FALSE);
  td_scan_unref (td_fdk_scan);
  td_fdk_scan = phantom;
}

/* Slabs in proportion to what the devices did before. */
static void
test_unequal (void)
{
  if (!td_test_two_alike ())
    return;
  g_autoptr (TdPlan) plan
      = td_fdk_test_plan ("opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0);
  const TdFdkPlan *fdk = plan->extra;
  TdDevice *fast = plan->devices->pdata[0];
  TdDevice *slow = ((TdDevice *) plan->devices->pdata[1])->hardware;
  g_assert_cmpuint (fdk->cut.n_slabs, ==, 4);
  g_assert_cmpuint (fdk->cut.own[1], ==, 2);

  char *name = slow->info.name;
  slow->info.name = (char *) "another card";
  g_autofree char *fast_key = td_fdk_device_rate_key (fast, fdk->scheme.families[0]);
  g_autofree char *slow_key = td_fdk_device_rate_key (slow, fdk->scheme.families[0]);
  const double updates = td_plan_facts (plan)->updates / 2;
  td_engine_set_rate (td_fdk_engine, fast_key, updates, updates / 3e6);
  td_engine_set_rate (td_fdk_engine, slow_key, updates, updates / 1e6);
  g_autoptr (TdPlan) unequal
      = td_fdk_test_plan ("opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0);
  slow->info.name = name;
  g_assert_cmpuint (((const TdFdkPlan *) unequal->extra)->cut.own[1], ==, 3);
  g_assert_cmpuint (((const TdFdkPlan *) unequal->extra)->cut.own[2], ==, 4);
}

/* Large problems on small devices, planned only. */
static void
test_large_plans (void)
{
  static const struct {
    guint size, views;
    guint64 limit;
    gboolean cached;
  } cases[] = {
    { 1024, 1024, 1ull << 30, FALSE }, /* some slices see 200 rows, 800 MiB */
    { 1024, 1024, 2ull << 30, TRUE },
    { 2048, 1024, 8ull << 30, TRUE },
    { 2048, 1024, 1ull << 30, FALSE },
  };

  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) large = planned_scan (cases[i].size, cases[i].views);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
    recipe.filter_on = TD_FILTER_ON_DEVICE;
    recipe.memory_limit_bytes = cases[i].limit;
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, large, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, " ", NULL);
    g_test_message ("%s; device %" G_GUINT64_FORMAT " MiB, host %" G_GUINT64_FORMAT " MiB", notes,
                    td_plan_facts (plan)->device_bytes >> 20,
                    td_plan_facts (plan)->host_bytes >> 20);
    g_assert_cmpint (fdk->fit.cached, ==, cases[i].cached);
    g_assert_cmpuint (td_plan_facts (plan)->device_bytes, <=, cases[i].limit);
  }
}

/* Whatever the shares: every slice once, no slab too large, and each device begins near the
   mid-plane and ends with a small slab. A kernel of whole columns has no small slabs. */
static void
test_cut (gconstpointer kernel)
{
  static const double shares[][5] = { { 1 },
                                      { 0.5, 0.5 },
                                      { 0.25, 0.25, 0.25, 0.25 },
                                      { 0.2, 0.2, 0.2, 0.2, 0.2 },
                                      { 0.6, 0.1, 0, 0.28, 0.02 },
                                      { 0, 1 } };
  static const guint sizes[] = { 17, 64, 300, 1024 };

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (sizes) * G_N_ELEMENTS (shares); i++) {
    const guint n = sizes[i % G_N_ELEMENTS (sizes)];
    const double *share = shares[i / G_N_ELEMENTS (sizes)];
    g_autoptr (GError) error = NULL;
    g_autofree gboolean *seen = g_new0 (gboolean, n);
    TdRecipe recipe;

    g_autoptr (TdScan) scan = planned_scan (n, 8);
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
    recipe.filter_on = TD_FILTER_ON_DEVICE;
    g_strlcpy (recipe.family, kernel, sizeof recipe.family);
    td_test_play_cards (devices, TRUE);
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdFdkPlan *fdk = plan->extra;
    TdFdkCut cut = td_fdk_cut (plan, fdk, 5, share);
    td_test_play_cards (devices, FALSE);

    const guint least = g_str_equal (kernel, "arithmetic") ? 128 : 16;
    g_assert_true (fdk->fit.cached);
    g_assert_cmpuint (cut.own[5], ==, cut.n_slabs);
    for (guint k = 0; k < cut.n_slabs; k++) {
      const TdFdkSlabCut *slab = &cut.slabs[k];
      g_assert_cmpuint (slab->n_slices, >, 0);
      g_assert_cmpuint (slab->n_slices, <=, fdk->fit.slab);
      g_assert_cmpuint (slab->row_end - slab->row0, <=, fdk->fit.slab_rows);
      g_assert_cmpuint (slab->slice0 + slab->n_slices, <=, n);
      for (guint s = slab->slice0; s < slab->slice0 + slab->n_slices; s++) {
        g_assert_false (seen[s]);
        seen[s] = TRUE;
      }
    }
    for (guint s = 0; s < n; s++)
      g_assert_true (seen[s]);
    const double near = least > 16 ? 0.5 : 0.25; /* fewer slices are not worth a start elsewhere */
    for (guint d = 0; d < 5 && n == 1024; d++)
      if (share[d] >= near) {
        const TdFdkSlabCut *slab = &cut.slabs[cut.own[d]];
        g_assert_cmpint (ABS ((gint) (slab->slice0 + slab->n_slices / 2) - 512), <, 256);
        g_assert_cmpuint (cut.slabs[cut.own[d + 1] - 1].n_slices, <, least * 3 / 2);
      }
    for (guint k = 0; k < cut.n_slabs && n == 1024 && share[0] == 1; k++)
      g_assert_cmpuint (cut.slabs[k].n_slices % least, ==, 0);
    td_fdk_cut_clear (&cut);
  }
}

/* ── Half storage ── */

/* Line integrals in whatever unit: half storage keeps them as well as single does, to its 11 bits.
 */
static void
test_half_units (void)
{
  static const double units[] = { 2e-6, 1, 3e5 };
  static float projections[36 * TD_FDK_N * TD_FDK_N];
  const TdScanFacts *facts = td_scan_facts (td_fdk_scan);
  const TdFrameRange all = { TD_FRAME_PROJECTION, 0, facts->n_views, 0, facts->n_rows };
  TdScan *phantom = td_fdk_scan;
  g_autofree float *plain = g_new (float, G_N_ELEMENTS (projections));
  g_autoptr (GError) error = NULL;

  if (!td_test_two_alike ())
    return;
  g_assert_cmpuint (facts->n_views, ==, 36);
  g_assert_true (td_scan_read (phantom, &all, plain, NULL, &error));
  for (guint k = 0; k < G_N_ELEMENTS (units); k++) {
    double off = 0, norm = 0;
    g_auto (TdFdkVolume) single = { NULL }, halved = { NULL };

    for (gsize i = 0; i < G_N_ELEMENTS (projections); i++)
      projections[i] = (float) (plain[i] * units[k]);
    td_fdk_scan = td_scan_new_from_memory (facts, projections, NULL, NULL, NULL, NULL);
    for (guint half = 0; half < 2; half++) {
      TdRecipe recipe;

      td_recipe_init (&recipe);
      g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
      g_strlcpy (recipe.family, "texture", sizeof recipe.family);
      recipe.precision = half ? TD_PRECISION_HALF : TD_PRECISION_SINGLE;
      g_autoptr (TdPlan) plan
          = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe, NULL, NULL, &error);
      if (g_error_matches (error, TD_ERROR, TD_ERROR_INVALID)) {
        g_test_skip (error->message);
        td_scan_unref (td_fdk_scan);
        td_fdk_scan = phantom;
        return;
      }
      g_assert_no_error (error);
      td_fdk_test_run (plan, half ? &halved : &single, &error);
      g_assert_no_error (error);
    }
    for (gsize i = 0; i < (gsize) TD_FDK_N * TD_FDK_N * TD_FDK_N; i++) {
      off += pow ((double) halved.slices[i] - single.slices[i], 2);
      norm += pow (single.slices[i], 2);
    }
    g_test_message ("line integrals times %g: half differs by %.1e", units[k], sqrt (off / norm));
    g_assert_cmpfloat (norm, >, 0);
    g_assert_cmpfloat (sqrt (off / norm), <, 1e-3);
    td_scan_unref (td_fdk_scan);
    td_fdk_scan = phantom;
  }
}

/* ── Cancelling ── */

static void
count_slices (guint first, guint count, const float *slices, gpointer user)
{
  *(guint *) user += count;
}

/* Cancelled while the first slab is computed, the other device waiting: nothing is delivered. Where
   devices share the projections and filter them, the first one filters, and is cancelled there. */
static void
test_cancel (void)
{
  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (td_fdk_engine, "opencl:0,opencl:1", NULL);
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (TdPlan) plan
        = td_fdk_test_plan ("opencl:0,opencl:1", i % 2 ? TD_SHARE_VOLUME : TD_SHARE_PROJECTION,
                            i < 2 ? TD_FILTER_ON_CPU : TD_FILTER_ON_DEVICE, 0);
    g_autoptr (TdJob) job = td_job_new (plan);
    guint slices = 0;

    td_job_set_sink (job, count_slices, &slices);
    td_faulty_begin (devices->pdata[i != 2]);
    if (i != 2)
      td_faulty_wait (devices->pdata[0]);
    td_faulty.launches_left = 1;
    td_faulty.cancels = cancellable;
    const gboolean ok = td_job_run (job, cancellable, &error);
    td_faulty_end ();
    g_assert_true (td_faulty_failed ());
    g_assert_false (ok);
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpuint (slices, ==, 0);
  }
}

/* ── Gathered views ── */

#define GATHERED 3u /* views of a chunk: 36 views are four quarters of three chunks */
#define PATIENCE_MS 100000

/* One job filters all views for itself, and the later ones come once its kernel has begun. */
typedef struct {
  float *views; /* of all chunks, as they were put */
  gsize view_floats;
  guint put, waited_for; /* chunks; under the lock */
  gboolean in_vain;
  TdJob *job;
  GMutex lock;
  GCond changed;
} Gathering;

static gboolean
gathering_put (guint first, guint count, const float *views, GCancellable *cancellable,
               GError **error, gpointer user)
{
  Gathering *gathering = user;

  memcpy (gathering->views + first * gathering->view_floats, views,
          count * gathering->view_floats * sizeof *views);
  g_mutex_lock (&gathering->lock);
  gathering->put++;
  g_cond_broadcast (&gathering->changed);
  g_mutex_unlock (&gathering->lock);
  return TRUE;
}

static gboolean
gathering_take (guint first, guint count, float *views, GCancellable *cancellable, GError **error,
                gpointer user)
{
  Gathering *gathering = user;
  TdJobProgress progress = { 0 };

  for (guint i = 0; i < PATIENCE_MS && first / GATHERED >= gathering->waited_for; i++) {
    td_job_progress (gathering->job, &progress);
    if (progress.fraction > 0)
      break;
    g_usleep (1000);
  }
  gathering->in_vain
      = gathering->in_vain || (first / GATHERED >= gathering->waited_for && progress.fraction <= 0);
  g_mutex_lock (&gathering->lock);
  while (gathering->put <= first / GATHERED)
    g_cond_wait (&gathering->changed, &gathering->lock);
  g_mutex_unlock (&gathering->lock);
  memcpy (views, gathering->views + first * gathering->view_floats,
          count * gathering->view_floats * sizeof *views);
  return TRUE;
}

static void
run_gathered (guint parts, guint waited_for, TdFdkVolume *volume)
{
  const TdPlanPart part = { .gathered = GATHERED, .gathered_parts = parts };
  Gathering gathering = { .waited_for = waited_for };
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
  g_strlcpy (recipe.family, "turned", sizeof recipe.family);
  recipe.precision = TD_PRECISION_HALF; /* PoCL has textures of those alone */
  g_autoptr (TdPlan) plan
      = td_plan_new_part (td_fdk_engine, td_fdk_scan, &recipe, &part, NULL, &error);
  g_assert_no_error (error);
  const TdFdkPlan *fdk = plan->extra;
  g_test_message ("%u views together, %u batches of %u", fdk->fit.symmetric_views,
                  fdk->fit.n_batches, fdk->fit.batch);
  ((TdFdkPlan *) fdk)->fit.batch = 12; /* several of them: three views of each quarter */
  ((TdFdkPlan *) fdk)->fit.n_batches = 3;
  const TdFilteredRows filtered = td_plan_filtered_rows (plan);
  gathering.view_floats = (gsize) filtered.rows.count * filtered.n_columns;
  gathering.views = g_new (float, 36 * gathering.view_floats);
  gathering.job = td_job_new (plan);
  const TdJobGathered gathered = { .rows = filtered.rows,
                                   .jobs = 1,
                                   .put = gathering_put,
                                   .take = gathering_take,
                                   .user = &gathering };
  td_job_set_gathered (gathering.job, &gathered);
  td_fdk_test_run_job (gathering.job, volume, &error);
  g_assert_no_error (error);
  g_assert_false (gathering.in_vain);
  td_job_unref (gathering.job);
  g_free (gathering.views);
}

/* Kernels that add views of four quarters together begin when the first chunk of each has come. The
   volume is the same to the last bit. */
static void
test_gathered (void)
{
  g_auto (TdFdkVolume) one = { NULL }, in_turn = { NULL }, in_order = { NULL };

  if (!td_test_two_alike ())
    return;
  td_fdk_test_reference (&one);
  run_gathered (1, 12, &in_order);
  td_fdk_test_close (&in_order, &one);
  run_gathered (4, 4, &in_turn);
  g_assert_cmpmem (in_turn.slices, TD_FDK_N * TD_FDK_N * TD_FDK_N * sizeof (float), in_order.slices,
                   TD_FDK_N * TD_FDK_N * TD_FDK_N * sizeof (float));
}

static int
stage_compare (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The stages that jobs tell of, by who filters, what devices share and what is written. */
static void
test_stages (void)
{
  static const struct {
    const char *devices;
    TdShareKind share;
    TdFilterPlace filter_on;
    guint bits; /* of a volume; 0: none */
    const char *stages;
  } cases[] = {
    { "opencl:0", TD_SHARE_VOLUME, TD_FILTER_ON_CPU, 0,
      "back-project download filter prepare read upload" },
    { "opencl:0", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 16,
      "back-project convert download filter read upload write" },
    { "opencl:0,opencl:1", TD_SHARE_VOLUME, TD_FILTER_ON_DEVICE, 0,
      "back-project download filter read upload" },
    { "opencl:0,opencl:1", TD_SHARE_PROJECTION, TD_FILTER_ON_CPU, 0,
      "back-project download filter prepare read sum upload" },
    { "opencl:0,opencl:1", TD_SHARE_PROJECTION, TD_FILTER_ON_DEVICE, 8,
      "back-project download filter prepare read sum upload write" },
  };

  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *output = test_folder_file (folder, "out.h5");
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, cases[i].devices, sizeof recipe.devices);
    recipe.share = cases[i].share;
    recipe.filter_on = cases[i].filter_on;
    recipe.output_format = TD_VOLUME_HDF5;
    recipe.output_bits = MAX (cases[i].bits, 8);
    recipe.output_range_auto = FALSE;
    recipe.output_high = 1;
    g_autoptr (TdPlan) plan = td_plan_new (td_fdk_engine, td_fdk_scan, &recipe,
                                           cases[i].bits ? output : NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_run (job, NULL, &error);
    g_assert_no_error (error);
    const TdJobResult *result = td_job_result (job);
    for (guint k = 0; k < result->n_stages; k++)
      g_ptr_array_add (names, (gpointer) result->stages[k].name);
    g_ptr_array_sort (names, stage_compare);
    g_ptr_array_add (names, NULL);
    g_autofree char *joined = g_strjoinv (" ", (char **) names->pdata);
    g_assert_cmpstr (joined, ==, cases[i].stages);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_fdk_test_begin ("fdk");
  g_test_add_func ("/fdk/cold-rates", test_cold_rates);
  g_test_add_func ("/fdk/shares", test_shares);
  g_test_add_data_func ("/fdk/view-groups/host", "host", test_view_groups);
  g_test_add_data_func ("/fdk/view-groups/opencl", "opencl:0", test_view_groups);
  g_test_add_data_func ("/fdk/parted-groups/host", "host", test_parted_groups);
  g_test_add_data_func ("/fdk/parted-groups/opencl", "opencl:0", test_parted_groups);
  g_test_add_func ("/fdk/view-groups-refused", test_view_groups_refused);
  g_test_add_data_func ("/fdk/part-bits/host", "host", test_part_bits);
  g_test_add_data_func ("/fdk/part-bits/opencl", "opencl:0", test_part_bits);
  g_test_add_func ("/fdk/share-is-chosen", test_share_is_chosen);
  g_test_add_func ("/fdk/unequal", test_unequal);
  g_test_add_func ("/fdk/large-plans", test_large_plans);
  g_test_add_func ("/fdk/gathered", test_gathered);
  g_test_add_data_func ("/fdk/tight/1M", GSIZE_TO_POINTER (1 << 20), test_tight);
  g_test_add_data_func ("/fdk/tight/3M", GSIZE_TO_POINTER (3 << 20), test_tight);
  g_test_add_func ("/fdk/device-limit", test_device_limit);
  g_test_add_func ("/fdk/short-card", test_short_card);
  g_test_add_func ("/fdk/layers", test_layers);
  g_test_add_data_func ("/fdk/cuts/even", GUINT_TO_POINTER (32), test_cuts);
  g_test_add_data_func ("/fdk/cuts/odd", GUINT_TO_POINTER (33), test_cuts);
  g_test_add_func ("/fdk/outwards", test_outwards);
  g_test_add_func ("/fdk/recycled", test_recycled);
  g_test_add_func ("/fdk/counts", test_counts);
  g_test_add_func ("/fdk/lost-row", test_lost_row);
  g_test_add_data_func ("/fdk/cut/small-ends", "texture", test_cut);
  g_test_add_data_func ("/fdk/cut/whole-columns", "arithmetic", test_cut);
  g_test_add_func ("/fdk/stages", test_stages);
  g_test_add_func ("/fdk/half-units", test_half_units);
  g_test_add_func ("/fdk/cancel", test_cancel);
  const int status = g_test_run ();
  td_fdk_test_end ();
  return status;
}
