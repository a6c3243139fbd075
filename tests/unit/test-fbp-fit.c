/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slabs that a plan of filtered back-projection chooses for little memory, and the memory that
 * it says they take: counted again here. Nothing is run. */
#include <math.h>
#include <string.h>

#include "compute/engine/fbp/fbp.h"
#include "compute/engine/field.h"
#include "compute/methods/methods.h"
#include "compute/prepare/paganin.h"
#include "compute/stored-samples.h"
#include "dataset/scan-private.h"
#include "dataset/scan-spool.h"
#include "tests/common/cases.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

typedef struct {
  const char *devices;
  gboolean cards; /* played by devices that are none */
  guint n_columns, n_rows, n_views;
  gboolean in_memory, stored; /* stored: samples of 16 bits, which cards take as they are */
  gboolean wide;              /* half acquisition */
  double tilt_deg;
  const char *steps;
  guint output_bits; /* 0: no volume is written */
  guint together;    /* rows that are unpacked together; 0: each by itself */
} Job;

static const Job jobs[] = {
  { "host", FALSE, 700, 600, 900, FALSE, FALSE, FALSE, 0, "", 32 },
  { "host", FALSE, 700, 600, 900, TRUE, FALSE, TRUE, 0, "", 0 },
  { "opencl:0", FALSE, 600, 300, 800, FALSE, FALSE, FALSE, 0, "paganin=30:energy=25:distance=20",
    16 },
  { "opencl:0", TRUE, 1500, 700, 1100, FALSE, TRUE, FALSE, 0, "", 16 },
  { "opencl:0", TRUE, 1500, 700, 1100, TRUE, TRUE, TRUE, 0, "", 8 },
  { "opencl:0", TRUE, 800, 500, 700, FALSE, TRUE, FALSE, 0.5, "", 32 },
  { "opencl:0,opencl:1", TRUE, 1200, 800, 900, FALSE, TRUE, FALSE, 0,
    "zingers,flat-field=60000,minus-log", 16 },
  { "opencl:0", TRUE, 300, 12, 200, FALSE, TRUE, FALSE, 0, "", 0 },
  { "host", FALSE, 300, 40, 200, TRUE, FALSE, FALSE, 0, "paganin=30:energy=25:distance=20", 32 },
  /* a preview's slab whose rows are the largest buffer, nearly as large as it may be */
  { "host", FALSE, 1000, 16, 1597, TRUE, FALSE, FALSE, 0, "zingers=0.3:size=5x5", 0 },
  { "host", FALSE, 700, 120, 200, FALSE, FALSE, FALSE, 0, "", 32, 120 }, /* by way of a copy */
};

static TdEngine *engine;

static gboolean
nothing_filled (gpointer data, const TdFrameRange *range, const TdFrameTarget *target,
                GCancellable *cancellable, GError **error)
{
  g_assert_not_reached ();
}

/* As the scan's own source, but nothing may be read. */
static TdScanSource job_sources[2];

static TdScan *
job_scan (const Job *job)
{
  g_autofree double *angles = g_new (double, job->n_views);
  TdScanFacts facts = { .n_columns = job->n_columns,
                        .n_rows = job->n_rows,
                        .n_views = job->n_views,
                        .sample_type = job->stored ? TD_SAMPLE_UINT16 : TD_SAMPLE_FLOAT32,
                        .transmission_logged = FALSE,
                        .angles_rad = angles,
                        .centre_px = job->n_columns * (job->wide ? 0.13 : 0.49),
                        .geometry = { .pixel_width_mm = 0.001 } };

  for (guint v = 0; v < job->n_views; v++)
    angles[v] = (job->wide ? 2 : 1) * G_PI * v / job->n_views;
  TdScan *scan = td_scan_new_from_memory (&facts, NULL, NULL, NULL, NULL, NULL);
  TdScanSource *source = &job_sources[job->stored];
  *source = (TdScanSource) { .free = scan->vtable->free,
                             .fill = nothing_filled,
                             .stored = job->stored };
  scan->vtable = source;
  scan->facts.in_memory = job->in_memory;
  scan->facts.rows_together = job->together;
  return scan;
}

/* ── Sizes ── */

static void
check_sizes (const TdPlan *plan, const Job *job)
{
  const TdFbp *fbp = plan->extra;
  const guint n = plan->facts.n_slices, slab = fbp->slab_slices;
  /* A card computes one slab while another one travels. */
  const guint lanes = plan->devices->len * (job->cards && fbp->n_slabs > 1 ? 2 : 1);
  /* The part of the detector's row beside the axis that is the wider, twice. */
  const double last = job->n_columns - 1, far = MAX (fbp->centre_px, last - fbp->centre_px);

  g_assert_cmpuint ((guint64) fbp->n_slabs * slab, >=, n);
  g_assert_cmpuint ((guint64) (fbp->n_slabs - 1) * slab, <, n);
  g_assert_cmpint (fbp->blend, ==, job->wide);
  if (job->wide) {
    g_assert_cmpuint (fbp->n_filtered, >=, 2 * far);
    g_assert_cmpuint (fbp->n_filtered, <=, 2 * far + 3);
  } else {
    g_assert_cmpuint (fbp->n_filtered, ==, job->n_columns);
  }
  g_assert_cmpuint (fbp->nx, ==, fbp->n_filtered);
  g_assert_cmpuint (fbp->ny, ==, fbp->n_filtered);
  g_assert_cmpuint (fbp->batch, >=, 1);
  g_assert_cmpuint (fbp->batch, <=, slab);
  if (job->tilt_deg != 0) /* each slice has an axis of its own */
    g_assert_cmpuint (fbp->batch, ==, 1);
  else
    g_assert_cmpuint (fbp->batch, ==, MIN (slab, 16 * (job->cards ? 2 : 1)));
  g_assert_cmpuint (fbp->filter_rows, >=, 1);
  g_assert_cmpuint (fbp->filter_rows, <=, slab * job->n_views);
  g_assert_cmpuint (fbp->in_slots, >=, 1);
  g_assert_cmpuint (fbp->in_slots, ==, MIN (lanes + fbp->n_readers, fbp->n_slabs));
  g_assert_cmpuint (fbp->out_slots, ==, MIN (lanes + 1, fbp->n_slabs));
  /* Rows that slabs share are read in order, and so is what is there already. */
  g_assert_cmpuint (fbp->n_readers, ==, fbp->halo || fbp->keep || job->in_memory ? 1 : 2);
  g_assert_cmpint (fbp->direct, ==, g_str_equal (job->devices, "host") && !fbp->keep);
  g_assert_cmpuint (fbp->raw_bytes, ==, job->stored && !fbp->halo && !fbp->keep ? 2 : 0);
  g_assert_cmpint (fbp->stores, ==,
                   (job->output_bits == 8 || job->output_bits == 16) && !fbp->keep
                       && !g_str_equal (job->devices, "host"));
  /* A preview's slab, none of whose buffers is large, stays. */
  const guint64 largest = MAX (td_test_floats (slab + 2 * fbp->halo, job->n_views, job->n_columns),
                               MAX (td_test_floats (slab, job->n_views, fbp->n_filtered),
                                    td_test_floats (slab, fbp->nx, fbp->ny)));
  g_assert_cmpint (fbp->keep, ==, fbp->n_slabs == 1 && largest <= 128 << 20);
}

/* ── Bytes ── */

static guint64
own_bytes (const TdPlan *plan, const Job *job, guint index)
{
  const TdFbp *fbp = plan->extra;
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[index]);
  const guint slab = fbp->slab_slices, rows = MIN (slab + 2 * fbp->halo, job->n_rows);
  const guint64 in = td_test_floats (rows, job->n_views, job->n_columns);
  const guint64 out = td_test_floats (slab, fbp->nx, fbp->ny);
  TdBackprojectTask task;

  td_fbp_task (plan, 0, &task);
  guint64 bytes
      = td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                        td_scan_facts (plan->scan), rows)
        + td_row_filter_workspace_bytes (fbp->n_filtered, fbp->filter_rows)
        + fbp->families[index]->workspace_bytes (fbp->families[index], &task, info, fbp->batch);
  if (fbp->keep || fbp->blend) /* filtered rows beside the prepared ones */
    bytes += td_test_floats (slab, job->n_views, fbp->n_filtered);
  if (fbp->direct) /* its own memory is the host's */
    return bytes + fbp->in_slots * in + fbp->out_slots * out;
  if (fbp->keep)
    bytes += in;
  const guint lanes = job->cards && fbp->n_slabs > 1 ? 2 : 1;
  bytes += lanes * (in + out);
  if (fbp->raw_bytes)
    bytes += lanes * in / sizeof (float) * fbp->raw_bytes;
  if (fbp->stores)
    bytes += lanes * td_stored_samples_bytes (job->output_bits, (guint64) slab * fbp->nx * fbp->ny);
  return bytes;
}

static void
check_bytes (const TdPlan *plan, const Job *job, guint64 limit)
{
  const TdFbp *fbp = plan->extra;
  const TdPlanFacts *facts = &plan->facts;
  const guint slab = fbp->slab_slices, rows = MIN (slab + 2 * fbp->halo, job->n_rows);
  const guint64 row = (guint64) job->n_views * job->n_columns;
  const guint64 in = rows * row * (fbp->raw_bytes ? fbp->raw_bytes : sizeof (float));
  guint64 host = td_plan_own_bytes (plan->devices), most = 0;

  for (guint d = 0; d < plan->devices->len; d++) {
    const guint64 bytes = own_bytes (plan, job, d);
    most = MAX (most, bytes);
    host += job->cards ? 0 : bytes;
  }
  if (!fbp->direct)
    host += fbp->in_slots * in + fbp->out_slots * td_test_floats (slab, fbp->nx, fbp->ny);
  host += 2 * fbp->halo * row * sizeof (float) + (fbp->keep ? in : 0)
          + td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                       td_scan_facts (plan->scan), rows);
  g_assert_cmpint (fbp->spool != NULL, ==, job->together > slab);
  if (fbp->spool)
    host += td_scan_spool_work_bytes (td_scan_facts (plan->scan), job->n_rows);
  g_assert_cmpuint (facts->device_bytes, ==, most);
  g_assert_cmpuint (facts->host_bytes, ==, host);
  g_assert_cmpuint (most, <=, limit);
  g_assert_cmpuint (host, <=, limit);
  g_assert_cmpuint (facts->read_bytes, ==,
                    MIN (facts->n_slices + 2 * fbp->halo, job->n_rows) * row
                        * (job->stored ? 2 : 4));
  g_assert_cmpuint (facts->write_bytes, ==,
                    (guint64) facts->n_slices * fbp->nx * fbp->ny
                        * (job->output_bits ? job->output_bits : 32) / 8);
  g_assert_cmpfloat (facts->updates, ==,
                     (double) facts->n_slices * fbp->nx * fbp->ny * job->n_views);
  g_assert_cmpuint (facts->sent_bits, ==, fbp->raw_bytes ? 16 : 32);
}

/* ── Little memory ── */

/* From much memory to too little. Slabs never grow meanwhile, and are no smaller than they must. */
static void
test_limits (gconstpointer data)
{
  const Job *job = data;
  g_autoptr (TdScan) scan = job_scan (job);
  guint before = G_MAXUINT, usual = 0, planned = 0, refused = 0;

  if (!g_str_equal (job->devices, "host") && !td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, job->devices, NULL);
  TdDeviceInfo *infos[2], real[2];
  for (guint d = 0; d < devices->len; d++) {
    infos[d] = &((TdDevice *) devices->pdata[d])->info;
    real[d] = *infos[d];
    if (!job->cards && real[d].kind != TD_DEVICE_CPU) {
      g_test_skip ("the device is a card");
      return;
    }
    if (job->cards) {
      infos[d]->kind = TD_DEVICE_GPU;
      infos[d]->cpu_shaped = FALSE;
    }
  }
  for (guint step = 0; step < 14; step++) {
    const guint64 limit = (guint64) ((4ull << 30) * exp2 (-0.6 * step));
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, job->devices, sizeof recipe.devices);
    g_assert_true (td_recipe_set (&recipe, "prepare", job->steps[0] ? job->steps : "none", &error));
    recipe.method = TD_METHOD_FBP;
    recipe.memory_limit_bytes = limit;
    td_recipe_state_axis (&recipe, scan->facts.centre_px, job->tilt_deg);
    if (job->output_bits)
      recipe.output_bits = job->output_bits;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe,
                                           job->output_bits ? "/tmp/none.tif" : NULL, NULL, &error);
    if (!plan) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      refused++;
      continue;
    }
    planned++;
    g_assert_cmpuint (refused, ==, 0);
    const TdFbp *fbp = plan->extra;
    td_test_pin ("%" G_GUINT64_FORMAT " MiB: %u slabs of %u, halo %u, %u at once%s, device %.1f, "
                 "host %.1f",
                 limit >> 20, fbp->n_slabs, fbp->slab_slices, fbp->halo, fbp->batch,
                 fbp->keep ? ", kept" : "", plan->facts.device_bytes / 1048576.,
                 plan->facts.host_bytes / 1048576.);
    check_sizes (plan, job);
    check_bytes (plan, job, limit);
    g_assert_cmpuint (fbp->slab_slices, <=, before);
    before = fbp->slab_slices;
    usual = MAX (usual, before);
    if (fbp->slab_slices < usual && fbp->slab_slices > 1)
      g_assert_cmpuint (MAX (plan->facts.host_bytes, plan->facts.device_bytes), >, limit / 3);
  }
  g_assert_cmpuint (planned, >, 2);
  for (guint d = 0; d < devices->len; d++) {
    infos[d]->kind = real[d].kind;
    infos[d]->cpu_shaped = real[d].cpu_shaped;
  }
}

/* ── What is said ── */

/* What the views miss, where the axis is, what half acquisition puts together: where it is so, and
   with the right figures. */
static void
test_notes (void)
{
  static const char *const kinds[] = { "expect streaks",
                                       "is outside the detector",
                                       "Half acquisition: the two sides",
                                       "seen from one side only",
                                       "Slabs of",
                                       "seen in a part of the views only" };
  static const struct {
    gboolean wide;
    guint n_views;
    double part; /* of the turn */
    double centre_px;
    guint64 limit;
    guint says; /* bits of kinds */
    const char *figures;
  } cases[] = {
    { FALSE, 180, 1, 99.5, 0, 0, NULL },
    { FALSE, 181, 181. / 180, 99.5, 0, 0, NULL },
    { FALSE, 90, 120. / 180, 99.5, 0, 1,
      "cover 120.0 of 180 degrees: expect streaks along the "
      "missing 60.0 degrees" },
    { FALSE, 180, 1, 0, 0, 32, "more than 0 pixels" },
    { FALSE, 180, 1, 49.5, 0, 0, NULL },
    { FALSE, 180, 1, 49.4, 0, 32, "more than 49 pixels" },
    { FALSE, 180, 1, 149.5, 0, 0, NULL },
    { FALSE, 180, 1, 149.6, 0, 32, "more than 49 pixels" },
    { FALSE, 180, 1, -0.5, 0, 34, "column -0.50, is outside" },
    { FALSE, 180, 1, 199, 0, 32, NULL },
    { FALSE, 180, 1, 199.25, 0, 34, "column 199.25, is outside" },
    { TRUE, 360, 1, 30, 0, 4,
      "overlap, 30 pixels to either side of the axis, into slices of 339 × "
      "339 pixels" },
    { TRUE, 360, 1, 169, 0, 4, "overlap, 30 pixels" },
    { TRUE, 360, 1, 90, 0, 8, "more than 90 pixels from the axis" },
    { TRUE, 360, 1, 99.5, 0, 0, NULL },
    { FALSE, 180, 1, 99.5, 72 << 20, 16, "slices instead of 16, to fit" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Job job = { "host", FALSE, 200, 160, cases[i].n_views, FALSE, FALSE, cases[i].wide };
    g_autoptr (TdScan) scan = job_scan (&job);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    for (guint v = 0; v < job.n_views; v++)
      scan->facts.angles_rad[v] *= cases[i].part;
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
    recipe.method = TD_METHOD_FBP;
    recipe.memory_limit_bytes = cases[i].limit;
    td_recipe_state_axis (&recipe, cases[i].centre_px, 0);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (plan->facts.notes, "\n", NULL);
    td_test_pin ("%u: %s", i, notes);
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
      g_assert_cmpint (strstr (notes, kinds[k]) != NULL, ==, cases[i].says >> k & 1);
    if (cases[i].figures)
      g_assert_nonnull (strstr (notes, cases[i].figures));
  }
}

/* ── Slabs ── */

/* Slices a slab, where memory is no matter: a twenty-fourth of all in sixteens, up to 64. More
   where halos, packed rows or short rows want more; sixteen where reading costs nothing. */
static void
test_slabs (void)
{
  static const struct {
    guint n_columns, n_rows, n_views, together;
    gboolean stored, in_memory;
    const char *steps;
    guint slab;
  } cases[] = {
    { 700, 7, 20, 0, FALSE, FALSE, "", 7 },
    { 700, 60, 20, 0, FALSE, FALSE, "", 16 },
    { 700, 407, 20, 0, FALSE, FALSE, "", 16 },
    { 700, 408, 20, 0, FALSE, FALSE, "", 32 },
    { 700, 3000, 20, 0, FALSE, FALSE, "", 64 },
    { 700, 3000, 20, 0, FALSE, TRUE, "", 16 },
    { 700, 7, 20, 0, FALSE, TRUE, "", 7 },
    /* 64 KiB of a view at once, of an eighth of the slices at most */
    { 512, 400, 20, 0, FALSE, FALSE, "", 32 },
    { 512, 400, 20, 0, TRUE, FALSE, "", 48 },
    { 128, 400, 20, 0, TRUE, FALSE, "", 48 },
    { 128, 380, 20, 0, TRUE, FALSE, "", 32 },
    { 128, 384, 20, 0, TRUE, FALSE, "", 48 },
    /* slabs end where rows end that are unpacked together */
    { 700, 60, 20, 24, FALSE, FALSE, "", 24 },
    { 700, 60, 20, 7, FALSE, FALSE, "", 21 },
    { 700, 600, 20, 64, FALSE, FALSE, "", 64 },
    { 700, 600, 20, 65, FALSE, FALSE, "", 32 },
    /* halos are work done twice: four times as many rows */
    { 700, 3000, 20, 0, FALSE, FALSE, "zingers=0.3:size=5x5", 64 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Job job = { "host",
                      FALSE,
                      cases[i].n_columns,
                      cases[i].n_rows,
                      cases[i].n_views,
                      cases[i].in_memory,
                      cases[i].stored };
    g_autoptr (TdScan) scan = job_scan (&job);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    scan->facts.rows_together = cases[i].together;
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    recipe.method = TD_METHOD_FBP;
    const char *const steps = cases[i].steps[0] ? cases[i].steps : "none";
    g_assert_true (td_recipe_set (&recipe, "prepare", steps, &error));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    td_test_pin ("%u", i);
    g_assert_cmpuint (((const TdFbp *) plan->extra)->slab_slices, ==, cases[i].slab);
    g_assert_cmpuint (plan->facts.slab_slices, ==, cases[i].slab);
  }
}

/* No buffer is larger than a device gives at once: of rows, of filtered rows, or of slices. */
static void
test_max_alloc (void)
{
  static const Job shapes[] = {
    { "opencl:0", TRUE, 200, 400, 900, FALSE, FALSE, FALSE, 0, "", 32 }, /* rows are larger */
    { "opencl:0", TRUE, 900, 400, 100, FALSE, FALSE, FALSE, 0, "", 32 }, /* slices */
    { "opencl:0", TRUE, 900, 400, 1600, FALSE, FALSE, TRUE, 0, "", 32 }, /* filtered rows, wide */
  };

  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", NULL);
  TdDeviceInfo *info = &((TdDevice *) devices->pdata[0])->info;
  const TdDeviceInfo real = *info;
  info->kind = TD_DEVICE_GPU;
  info->cpu_shaped = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    g_autoptr (TdScan) scan = job_scan (&shapes[i]);
    guint64 largest = 0;
    guint slab = 0;

    for (guint less = 0; less < 3; less++) { /* any; just enough; a byte less */
      g_autoptr (GError) error = NULL;
      TdRecipe recipe;

      info->max_alloc_bytes = less == 0 ? G_MAXUINT64 / 4 : largest - (less - 1);
      td_recipe_init (&recipe);
      g_strlcpy (recipe.devices, "opencl:0", sizeof recipe.devices);
      recipe.method = TD_METHOD_FBP;
      g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
      td_recipe_state_axis (&recipe, scan->facts.centre_px, 0);
      g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, "/tmp/none.tif", NULL, &error);
      g_assert_no_error (error);
      const TdFbp *fbp = plan->extra;
      if (less == 0) {
        slab = fbp->slab_slices;
        largest = MAX (td_test_floats (slab, shapes[i].n_views, shapes[i].n_columns),
                       td_test_floats (slab, fbp->nx, fbp->ny));
        if (fbp->blend)
          largest = MAX (largest, td_test_floats (slab, shapes[i].n_views, fbp->n_filtered));
      }
      td_test_pin ("%u: slabs of %u", i, fbp->slab_slices);
      if (less < 2)
        g_assert_cmpuint (fbp->slab_slices, ==, slab);
      else
        g_assert_cmpuint (fbp->slab_slices, <, slab);
    }
  }
  info->kind = real.kind;
  info->cpu_shaped = real.cpu_shaped;
  info->max_alloc_bytes = real.max_alloc_bytes;
}

/* ── Ways ── */

/* Which ways a recipe leaves open on a host, a card and both, in their order. Those that are exact
   enough come first, the cheapest before the others. The rest comes by its error. */
static void
test_ways (void)
{
  static const struct {
    const char *devices; /* OpenCL plays a card */
    const char *options[3];
    const char *ways; /* first letters of method and precision */
  } cases[] = {
    { "host", { NULL }, "fbp single, fourier single, fourier half" },
    { "host", { "accuracy=single" }, "fbp single, fourier single, fourier half" },
    { "host", { "accuracy=draft" }, "fourier half, fbp single, fourier single" },
    { "host", { "method=fbp" }, "fbp single" },
    { "host", { "method=fourier" }, "fourier single, fourier half" },
    { "host", { "method=fbp", "precision=half" }, "fbp single" },
    { "host", { "precision=half" }, "fbp single, fourier half" },
    { "host", { "interpolation=linear" }, "fbp single" },
    { "host", { "interpolation=nearest" }, "fbp single" },
    { "host", { "kernel=host" }, "fbp single" },
    { "opencl:0", { NULL }, "fbp single, fourier single, fourier half" },
    { "opencl:0", { "accuracy=draft" }, "fourier half, fbp single, fourier single" },
    { "opencl:0", { "kernel=alu" }, "fbp single, fbp half" },
    { "opencl:0", { "kernel=alu", "accuracy=draft" }, "fbp half, fbp single" },
    { "opencl:0", { "kernel=alu", "precision=half" }, "fbp half" },
    { "host,opencl:0", { "accuracy=draft" }, "fourier half, fbp single, fourier single" },
  };
  const Job job = { "host", FALSE, 200, 20, 180, FALSE, FALSE, FALSE, 0, "", 32 };

  const gboolean opencl = td_test_two_alike ();
  g_autoptr (TdScan) scan = job_scan (&job);
  g_autoptr (GPtrArray) cards
      = opencl ? td_engine_devices (engine, "opencl:0", NULL) : g_ptr_array_new ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    if (strstr (cases[i].devices, "opencl") && !opencl)
      continue;
    g_autoptr (GString) ways = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, cases[i].devices, sizeof recipe.devices);
    g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
    for (guint k = 0; k < 3 && cases[i].options[k]; k++) {
      g_auto (GStrv) parts = g_strsplit (cases[i].options[k], "=", 2);
      g_assert_true (td_recipe_set (&recipe, parts[0], parts[1], &error));
    }
    td_test_play_cards (cards, TRUE);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    td_test_play_cards (cards, FALSE);
    g_assert_no_error (error);
    const TdPlanFacts *facts = td_plan_facts (plan);
    for (guint w = 0; w < facts->n_ways; w++)
      g_string_append_printf (ways, "%s%s %s", w ? ", " : "", facts->ways[w].method,
                              td_precision_names[facts->ways[w].precision]);
    g_test_message ("%u: %s", i, ways->str);
    g_assert_cmpstr (ways->str, ==, cases[i].ways);
    const double limit = td_accuracy_limit (recipe.accuracy);
    g_assert_cmpfloat (facts->ways[0].cost, ==, 1);
    for (guint w = 1; w < facts->n_ways; w++) {
      const TdPlanWay *a = &facts->ways[w - 1], *b = &facts->ways[w];
      const gboolean exact = a->error_bound <= limit, exact_too = b->error_bound <= limit;
      g_assert_true (exact || !exact_too);
      if (exact && exact_too)
        g_assert_cmpfloat (a->cost, <=, b->cost);
      if (!exact)
        g_assert_cmpfloat (a->error_bound, <=, b->error_bound);
    }
    for (guint w = 0; w < facts->n_ways && g_str_equal (recipe.devices, "host"); w++)
      td_test_pin ("%u: %s %s, bound %.2e, cost %.3f", i, facts->ways[w].method,
                   facts->ways[w].family, facts->ways[w].error_bound, facts->ways[w].cost);
  }
}

/* ── The field of view ── */

typedef struct {
  TdFieldOfView asked;
  gboolean half;  /* the scan says so */
  gboolean whole; /* the turn is a full one */
  double covered_deg, gap_deg, centre_px, slope;
  guint columns;    /* 0: refused */
  const char *says; /* NULL: not refused */
} Field;

#define N_COLUMNS 101

/* The axis nearer to an edge than to the middle, columns 25 and 75, in a full turn. */
static const Field fields[] = {
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 50, 0, 101, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 25, 0, 101, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 24.5, 0, 152, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 75, 0, 101, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 75.5, 0, 152, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 0, 0, 201, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, -0.5, 0, 101, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 100, 0, 201, NULL },
  { TD_FIELD_AUTO, FALSE, TRUE, 360, 1, 100.5, 0, 101, NULL },
  { TD_FIELD_AUTO, FALSE, FALSE, 360, 1, 10, 0, 101, NULL },
  { TD_FIELD_AUTO, TRUE, FALSE, 360, 1, 50, 0, 101, NULL },
  { TD_FIELD_AUTO, TRUE, FALSE, 270.001, 90, 10, 0, 181, NULL },
  { TD_FIELD_AUTO, TRUE, FALSE, 269.999, 90, 10, 0, 101, NULL },
  { TD_FIELD_AUTO, TRUE, FALSE, 300, 179.8, 10, 0, 181, NULL },
  { TD_FIELD_AUTO, TRUE, FALSE, 300, 179.83, 10, 0, 101, NULL },
  { TD_FIELD_FULL, TRUE, TRUE, 360, 1, 10, 0, 101, NULL },
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, 10, 0, 181, NULL },
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, -10, 0, 221, NULL },
  { TD_FIELD_HALF, FALSE, FALSE, 269, 60, 10, 0, 0, "these cover 269.0 of 360 degrees" },
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, 80, 0.5, 166, NULL }, /* of 11 rows, that lean */
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, 80, -0.5, 166, NULL },
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, 524287, 0, 1048575, NULL },
  { TD_FIELD_HALF, FALSE, FALSE, 300, 60, 524288, 0, 0, "would be 1048577 pixels wide" },
};

static void
test_fields (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    const TdScanFacts facts
        = { .n_columns = N_COLUMNS, .n_rows = 11, .half_acquisition = fields[i].half };
    const TdAxisLine axis = { fields[i].centre_px, fields[i].slope, 5 };
    const TdTurn turn = { .n_views = 300,
                          .kind = fields[i].whole ? TD_TURN_FULL : TD_TURN_PART,
                          .full = { .covered_rad = fields[i].covered_deg * G_PI / 180,
                                    .largest_gap_rad = fields[i].gap_deg * G_PI / 180 } };
    g_autoptr (GError) error = NULL;
    TdField field;

    td_test_pin ("%u", i);
    g_assert_cmpint (td_field_choose (&facts, fields[i].asked, &axis, &turn, &field, &error), ==,
                     fields[i].columns > 0);
    if (fields[i].says) {
      g_assert_nonnull (strstr (error->message, fields[i].says));
      continue;
    }
    g_assert_cmpuint (field.columns, ==, fields[i].columns);
  }
}

/* What each step asks for besides its slab, of small and of large scans: neither less nor more than
 * it did. */
static void
test_workspaces (void)
{
  static const Job sizes[] = {
    { "host", FALSE, 61, 9, 35, FALSE, FALSE, FALSE, 0, "", 0 },
    { "host", FALSE, 700, 300, 900, FALSE, FALSE, FALSE, 0, "", 0 },
    { "host", FALSE, 2600, 40, 1801, FALSE, FALSE, TRUE, 0, "", 0 },
  };
  static const guint rows[] = { 1, 9 };
  const TdStepKind *const *kinds = td_prepare_steps ();

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    TdScan *scan = job_scan (&sizes[i]);

    for (guint k = 0; kinds[k]; k++)
      for (guint r = 0; kinds[k]->workspace_bytes && r < G_N_ELEMENTS (rows); r++) {
        TdStep step;

        td_step_init (&step, kinds[k]);
        if (g_str_equal (step.name, "paganin")) {
          step.values[TD_PAGANIN_DELTA_BETA] = 30;
          step.values[TD_PAGANIN_ENERGY] = 25;
          step.values[TD_PAGANIN_DISTANCE] = 20;
        }
        td_test_pin ("%s, %u rows of %u views of %u columns: %" G_GUINT64_FORMAT, step.name,
                     rows[r], sizes[i].n_views, sizes[i].n_columns,
                     kinds[k]->workspace_bytes (&step, td_scan_facts (scan), rows[r]));
      }
    td_scan_unref (scan);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("fbp-fit");
  engine = td_engine_new (td_methods);
  td_test_add_cases ("/fbp-fit/limits", jobs, sizeof *jobs, G_N_ELEMENTS (jobs), test_limits);
  g_test_add_func ("/fbp-fit/notes", test_notes);
  g_test_add_func ("/fbp-fit/slabs", test_slabs);
  g_test_add_func ("/fbp-fit/max-alloc", test_max_alloc);
  g_test_add_func ("/fbp-fit/ways", test_ways);
  g_test_add_func ("/fbp-fit/fields", test_fields);
  g_test_add_func ("/fbp-fit/workspaces", test_workspaces);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
