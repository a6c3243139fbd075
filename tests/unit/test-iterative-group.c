/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterative methods on several devices, or on one without room for everything. Their volume is that
   of one device with room, but for rounding. They keep to the memory that the plan says, whatever
   fails. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/engine/engine-private.h"
#include "compute/engine/iterative/iterative.h"
#include "compute/methods/methods.h"
#include "tests/common/devices.h"
#include "tests/common/faulty.h"
#include "tests/common/iterative.h"
#include "tests/common/pipeline.h"

static TdEngine *engine;
static const char *const methods[] = { "sirt", "fista-tv", "cgls" };

static void
set (TdRecipe *recipe, const char *option, const char *value)
{
  g_autoptr (GError) error = NULL;

  td_recipe_set (recipe, option, value, &error);
  g_assert_no_error (error);
}

static void
make_recipe (TdRecipe *recipe, const char *method, const char *devices)
{
  td_test_recipe (recipe, method, devices);
  recipe->iterations = 4;
  set (recipe, "start", "zero");
}

/* Lest somebody who was slow before has nothing to do. */
static void
make_speeds_alike (const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, recipe->devices, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < devices->len; i++) {
    g_autofree char *key = g_strdup_printf ("%s %s", td_method_names[recipe->method],
                                            td_device_info (devices->pdata[i])->name);
    for (double work = 1; work < 1e12; work *= 8)
      td_engine_set_rate (engine, key, work, work / 1e9);
  }
}

/* The relative residual that the notes tell of. */
static double
residual_of (const TdTestVolume *volume)
{
  static const char words[] = "relative residual of ";
  const char *note = strstr (volume->notes, words);

  g_assert_nonnull (note);
  return g_ascii_strtod (note + strlen (words), NULL);
}

static void
check_same (TdScan *scan, const TdRecipe *recipe, const TdTestVolume *truth, double bound,
            const char *says)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;

  make_speeds_alike (recipe);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autofree char *notes = td_messages_join (facts->notes, "\n", NULL);
  g_test_message ("%s", notes);
  g_assert_nonnull (strstr (notes, says));
  td_test_reconstruct_well (engine, scan, recipe, &volume);
  const double off = td_test_difference (&volume, truth);
  g_test_message ("%s on %s: %.1e; device %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                  " bytes, host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT,
                  td_method_names[recipe->method], recipe->devices, off,
                  volume.result.device_peak_bytes, facts->device_bytes,
                  volume.result.host_peak_bytes, facts->host_bytes);
  g_assert_cmpfloat (off, <, bound);
  g_assert_cmpfloat_with_epsilon (residual_of (&volume), residual_of (truth), 2e-4);
  g_assert_cmpuint (volume.result.device_peak_bytes, <=, facts->device_bytes);
  g_assert_cmpuint (volume.result.host_peak_bytes, <=, facts->host_bytes);
  if (recipe->memory_limit_bytes)
    g_assert_cmpuint (facts->host_bytes, <=, recipe->memory_limit_bytes);
  td_test_volume_clear (&volume);
}

/* ── Several devices ── */

static void
check_shared (TdScan *scan)
{
  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    TdTestVolume truth;
    TdRecipe recipe;

    make_recipe (&recipe, methods[i], "opencl:0");
    td_test_reconstruct_well (engine, scan, &recipe, &truth);
    set (&recipe, "device", "opencl:0,opencl:1");
    check_same (scan, &recipe, &truth, 1e-5, "(opencl:1)");
    set (&recipe, "device", "opencl:1,host,opencl:0");
    check_same (scan, &recipe, &truth, 1e-5, "(host)");
    td_test_volume_clear (&truth);
  }
}

static void
test_shared_cone (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 28, 20, 15, 360, TRUE);

  check_shared (scan);
}

static void
test_shared_parallel (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 28, 5, 15, 180, FALSE);

  check_shared (scan);
}

/* A detector that leans: rays of one column lie in no upright plane. */
static void
test_shared_tilted (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) plain = td_test_phantom_scan (&spec, 24, 20, 12, 360, TRUE);

  spec.geometry.detector_tilt_rad[0] = 0.05;
  spec.geometry.detector_tilt_rad[2] = 0.03;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  check_shared (scan);
}

/* OpenCL's devices as graphics cards: one of several leads, and the host only writes. */
static void
make_cards (gboolean cards)
{
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0,opencl:1", NULL);

  for (guint i = 0; i < devices->len; i++)
    ((TdDevice *) devices->pdata[i])->info.kind = cards ? TD_DEVICE_GPU : TD_DEVICE_CPU;
}

static void
check_cards (TdScan *scan, const char *method)
{
  TdTestVolume truth;
  TdRecipe recipe;

  make_recipe (&recipe, method, "opencl:0");
  td_test_reconstruct_well (engine, scan, &recipe, &truth);
  make_cards (TRUE);
  set (&recipe, "device", "opencl:1,opencl:0");
  check_same (scan, &recipe, &truth, 1e-5, "stay on opencl:1 and go to");
  set (&recipe, "device", "opencl:1,host,opencl:0"); /* not by cards alone */
  check_same (scan, &recipe, &truth, 1e-5, "stay in the host's memory and go to");
  make_cards (FALSE);
  td_test_volume_clear (&truth);
}

static void
test_cards (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) cone = td_test_phantom_scan (&spec, 28, 20, 15, 360, TRUE);

  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    check_cards (cone, methods[i]);
  spec.geometry.detector_tilt_rad[0] = 0.05;
  g_autoptr (TdScan) tilted = td_phantom_scan_new (&spec, NULL);
  check_cards (tilted, "sirt");
  g_autoptr (TdScan) parallel = td_test_phantom_scan (&spec, 28, 5, 15, 180, FALSE);
  check_cards (parallel, "cgls");
}

/* ── Little memory ── */

#define OWN_BYTES ((guint64) 64 << 20) /* what the process itself takes */

/* So much for each device, and for all of them, which are the host's, what they want together. */
static void
set_limits (TdRecipe *recipe, guint64 bytes)
{
  recipe->device_memory_limit_bytes = bytes;
  recipe->memory_limit_bytes = OWN_BYTES + 4 * bytes;
}

/* The largest limit, of some, with which the plan says so. Whoever makes the plan again knows the
   same speeds, and not those that a busy machine just came to. */
static guint64
limit_for (TdScan *scan, TdRecipe *recipe, const char *says)
{
  make_speeds_alike (recipe);
  for (guint64 limit = 8 << 20; limit > 100000; limit = limit / 16 * 15) {
    set_limits (recipe, limit);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, NULL);
    g_autofree char *notes
        = plan ? td_messages_join (td_plan_facts (plan)->notes, "\n", NULL) : NULL;

    if (notes && strstr (notes, says))
      return limit;
  }
  g_error ("no limit makes the plan say \"%s\"", says);
}

/* A device that has less memory than its host. */
static guint64 little;

static guint64
little_free (TdDevice *device)
{
  return little;
}

static void
check_little (TdScan *scan, const char *method, guint subsets, guint64 bytes, const char *says)
{
  g_autoptr (TdDevice) device = td_device_open ("opencl:0", NULL);
  const TdDeviceOps *const whole = device->ops;
  TdDeviceOps small = *whole;
  TdTestVolume truth;
  TdRecipe recipe;

  make_recipe (&recipe, method, "opencl:0");
  recipe.subsets = subsets;
  td_test_reconstruct_well (engine, scan, &recipe, &truth);
  little = bytes;
  small.memory_free = little_free;
  device->ops = &small;
  check_same (scan, &recipe, &truth, 1e-5, says);
  device->ops = whole;
  td_test_volume_clear (&truth);
}

static void
check_limit (TdScan *scan, const char *method, guint subsets, const char *says)
{
  TdTestVolume truth;
  TdRecipe recipe;

  make_recipe (&recipe, method, "opencl:0");
  recipe.subsets = subsets;
  td_test_reconstruct_well (engine, scan, &recipe, &truth);
  limit_for (scan, &recipe, says);
  check_same (scan, &recipe, &truth, 1e-5, says);
  td_test_volume_clear (&truth);
}

/* Who has what of the volume, and where the projections are, in the plan's words. */
static void
check_cut_notes (const TdPlan *plan)
{
  const TdIterativePlan *self = plan->extra;
  const TdIterativeCut *cut = &self->cut;
  g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
  const guint64 floats = (guint64) self->task.n_columns * self->task.n_rows * self->task.n_views;
  g_autofree char *size = g_format_size (floats * sizeof (float));
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text, "The projections, %s, stay %s and go to %s, up to %u %s at a time.", size,
                   cut->in_file ? "with the host" : "in the host's memory",
                   cut->n > 1 ? "the devices that share the volume"
                              : "the device, which has no room for all",
                   cut->batch_views, cut->batch_views == 1 ? "view" : "views");
  g_test_message ("%s", text->str);
  g_assert_nonnull (strstr (notes, text->str));
  g_string_printf (text, "Of the volume's %u rows y there are ", self->task.ny);
  for (guint i = 0; i < cut->n; i++)
    g_string_append_printf (text, "%s%u (%s)", i ? ", " : "", cut->members[i].n,
                            td_device_info (cut->members[i].device)->id);
  g_assert_cmpint (strstr (notes, text->str) != NULL, ==, cut->n > 1);
  g_assert_cmpint (strstr (notes, "in a temporary file, because memory is short") != NULL, ==,
                   cut->in_file);
}

/* Rows of the volume by the devices' speed, as far as their memory goes; what is left goes to those
   that have room. */
static void
test_shares (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 60, 40, 12, 360, TRUE);
  guint refused = 0, unequal = 0;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  make_recipe (&recipe, "sirt", "opencl:0,opencl:1,host");
  for (guint step = 0; step < 12; step++) {
    static const double speeds[] = { 3e9, 3e9, 1e9 };
    g_autoptr (GError) error = NULL;
    guint next = 0;

    set_limits (&recipe, (guint64) ((16 << 20) * exp2 (-0.5 * step)));
    g_autoptr (GPtrArray) devices = td_engine_devices (engine, recipe.devices, &error);
    for (guint i = 0; i < 3; i++) {
      g_autofree char *key = g_strdup_printf ("%s %s", td_method_names[recipe.method],
                                              td_device_info (devices->pdata[i])->name);
      for (double work = 1; work < 1e12; work *= 8)
        td_engine_set_rate (engine, key, work, work / speeds[i]);
    }
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    if (!plan) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      refused++;
      continue;
    }
    g_assert_cmpuint (refused, ==, 0);
    const TdIterativePlan *self = plan->extra;
    const TdIterativeCut *cut = &self->cut;
    g_assert_cmpuint (cut->n, <=, 3);
    g_assert_cmpuint (cut->batch_views, >=, 1);
    g_autoptr (GString) text = g_string_new (NULL);
    for (guint i = 0; i < cut->n; i++) {
      const TdGroupMember *member = &cut->members[i];
      g_string_append_printf (text, " %u of %s", member->n, td_device_info (member->device)->id);
      g_assert_cmpuint (member->first, ==, next);
      g_assert_cmpuint (member->n, >, 0);
      next += member->n;
      g_assert_cmpuint (
          td_solver_member_bytes (&self->task, &self->settings, member->n, cut->batch_views), <=,
          recipe.memory_limit_bytes);
    }
    g_test_message ("%" G_GUINT64_FORMAT " KiB:%s, %u views at once",
                    recipe.device_memory_limit_bytes >> 10, text->str, cut->batch_views);
    g_assert_cmpuint (next, ==, self->task.ny);
    check_cut_notes (plan);
    if (step == 0) { /* 3 : 3 : 1, but for rounding, which the first has */
      g_assert_cmpuint (cut->n, ==, 3);
      g_assert_cmpuint (cut->members[1].n, ==, self->task.ny * 3 / 7);
      g_assert_cmpuint (cut->members[2].n, ==, self->task.ny / 7);
    }
    unequal += cut->n == 3 && cut->members[0].n > 2 * cut->members[2].n;
  }
  g_assert_cmpuint (unequal, >, 2);
  /* Two are several, too. */
  make_recipe (&recipe, "sirt", "opencl:0,opencl:1");
  g_autoptr (TdPlan) of_two = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  g_assert_nonnull (of_two);
  g_assert_cmpuint (((const TdIterativePlan *) of_two->extra)->cut.n, ==, 2);
  check_cut_notes (of_two);
}

/* The volume is on the device, and projections come subset by subset, or in parts of subsets. */
static void
test_streamed (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 24, 40, 96, 360, TRUE);

  if (!td_test_two_alike ())
    return;
  check_limit (scan, "sirt", 8, "up to 12 views");
  check_little (scan, "sirt", 1, 634880, "up to 24 views");
  check_little (scan, "cgls", 1, 950000, "up to 48 views");
  check_little (scan, "fista-tv", 1, 1296000, "up to 24 views");
  check_limit (scan, "fista-tv", 4, "up to 24 views");
}

/* Nor is there room for the volume: the host has some rows. */
static void
test_helped (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 48, 40, 8, 360, TRUE);

  if (!td_test_two_alike ())
    return;
  check_limit (scan, "fista-tv", 2, "(host)");
}

/* Nor does the host hold the projections: they are in a file, and as good. */
static void
check_file (TdScan *scan, const char *method, const char *device)
{
  gboolean said = FALSE;
  TdTestVolume truth;
  TdRecipe recipe;

  make_recipe (&recipe, method, device);
  recipe.subsets = 12;
  recipe.iterations = 2;
  td_test_reconstruct_well (engine, scan, &recipe, &truth);
  for (guint64 bytes = 8 << 20; !said; bytes = bytes / 16 * 15) {
    recipe.memory_limit_bytes = OWN_BYTES + bytes;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    g_assert_nonnull (plan);
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
    said = strstr (notes, "temporary file") != NULL;
  }
  /* A little less, in smaller chunks. */
  check_same (scan, &recipe, &truth, 1e-6, "temporary file");
  td_test_volume_clear (&truth);
}

static void
test_file (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 24, 20, 96, 360, TRUE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  check_file (scan, "sirt", "host");
  check_file (scan, "fista-tv", "host");
  spec.geometry.detector_tilt_rad[2] = 0.1; /* by kernels that are not the host's own */
  g_autoptr (TdScan) rolled = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  check_file (rolled, "sirt", "host");
  make_recipe (&recipe, "cgls", "host");
  recipe.memory_limit_bytes = OWN_BYTES + (1 << 20);
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_test_message ("%s", error->message);
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  g_assert_nonnull (strstr (error->message, "sirt and fista-tv can"));
  g_clear_error (&error);
  if (!td_test_two_alike ())
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", &error);
  g_assert_no_error (error);
  /* So small a scan fills the host before a card's own memory. */
  if (td_device_info (devices->pdata[0])->host_pointers)
    check_file (scan, "sirt", "opencl:0");
}

/* ── Faults ── */

typedef struct {
  const char *path, *devices, *on;
  gint launches, downloads, allocations;
  TdErrorCode code;
  gboolean cards;
} Fault;

static const Fault faults[] = {
  { "first", "opencl:0,opencl:1", "opencl:0", 0, 1000, 100000, TD_ERROR_DEVICE_LOST },
  { "midway", "opencl:0,opencl:1", "opencl:1", 45, 1000, 100000, TD_ERROR_DEVICE_LOST },
  { "download", "opencl:0,opencl:1", "opencl:0", 100000, 12, 100000, TD_ERROR_DEVICE_BUG },
  { "alone", "opencl:0", "opencl:0", 60, 1000, 100000, TD_ERROR_DEVICE_LOST },
  { "full", "opencl:0", "opencl:0", 60, 1000, 100000, TD_ERROR_DEVICE_MEMORY },
  { "no-room", "opencl:0,opencl:1", "opencl:1", 100000, 1000, 0, TD_ERROR_DEVICE_MEMORY },
  { "lead", "opencl:0,opencl:1", "opencl:0", 90, 1000, 100000, TD_ERROR_DEVICE_LOST, TRUE },
  { "lead-download", "opencl:0,opencl:1", "opencl:0", 100000, 12, 100000, TD_ERROR_DEVICE_BUG,
    TRUE },
  { "lead-no-room", "opencl:0,opencl:1", "opencl:0", 100000, 1000, 5, TD_ERROR_DEVICE_MEMORY,
    TRUE },
  { "led", "opencl:0,opencl:1", "opencl:1", 45, 1000, 100000, TD_ERROR_DEVICE_LOST, TRUE },
};

/* What is made again counts once. */
static void
check_counted (const TdTestVolume *volume, const TdTestVolume *truth)
{
  const double updates = volume->result.updates_per_s * volume->result.seconds;
  const double wanted = truth->result.updates_per_s * truth->result.seconds;

  g_test_message ("%u passes of %u, %.4g updates of %.4g", volume->n_passes, truth->n_passes,
                  updates, wanted);
  g_assert_cmpuint (volume->n_passes, ==, truth->n_passes);
  g_assert_cmpfloat (fabs (updates / wanted - 1), <, 1e-6);
}

static void
test_fault (gconstpointer data)
{
  const Fault *fault = data;
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 28, 20, 15, 360, TRUE);
  TdTestVolume truth, volume;
  TdRecipe recipe;

  if (!td_test_two_alike ())
    return;
  make_cards (fault->cards);
  make_recipe (&recipe, "sirt", fault->devices);
  recipe.iterations = 6;
  td_test_reconstruct_well (engine, scan, &recipe, &truth);
  g_autoptr (TdDevice) device = td_device_open (fault->on, &error);
  g_assert_no_error (error);
  td_faulty_begin (device);
  td_faulty.launches_left = fault->launches;
  td_faulty.downloads_left = fault->downloads;
  td_faulty.allocations_left = fault->allocations;
  td_faulty.code = fault->code;
  td_test_reconstruct_well (engine, scan, &recipe, &volume);
  td_faulty_end ();
  make_cards (FALSE);
  g_assert_true (td_faulty_failed ());
  g_test_message ("%s", volume.notes);
  g_autofree char *who = g_strconcat (fault->on, " failed after", NULL);
  g_assert_nonnull (strstr (volume.notes, who));
  g_assert_nonnull (strstr (volume.notes, " went on without it"));
  g_assert_nonnull (strstr (volume.notes, "6 passes left"));
  check_counted (&volume, &truth);
  g_assert_cmpfloat (td_test_difference (&volume, &truth), <, 1e-4);
  td_test_volume_clear (&truth);
  td_test_volume_clear (&volume);
}

static double
said_residual (const char *notes, const char *left)
{
  double residual = NAN;
  const char *said = strstr (notes, left);

  g_assert_nonnull (said);
  sscanf (said + strlen (left), " residual of %lf", &residual);
  return residual;
}

/* The host is one of the devices and fails: nothing can go on, and what was kept is written. */
static void
test_host_fails (void)
{
  static const gint launches[] = { 10, 50, 60 };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 28, 20, 15, 360, TRUE);
  TdTestVolume truth, volume;
  TdRecipe recipe;
  guint kept, all, ends = 0;

  if (!td_test_two_alike ())
    return;
  for (guint i = 0; i < G_N_ELEMENTS (launches); i++) {
    make_recipe (&recipe, "sirt", "host,opencl:0");
    recipe.iterations = 6;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    g_assert_no_error (error);
    td_faulty_begin (device);
    td_faulty.launches_left = launches[i];
    td_faulty.code = TD_ERROR_DEVICE_LOST;
    const gboolean ok = td_test_reconstruct (engine, scan, &recipe, &volume, &error);
    td_faulty_end ();
    g_assert_true (td_faulty_failed ());
    if (!ok) { /* in the first pass */
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
      g_clear_error (&error);
      continue;
    }
    g_test_message ("%s", volume.notes);
    const char *said = strstr (volume.notes, "What was written is what ");
    g_assert_nonnull (said);
    g_assert_cmpint (sscanf (said, "What was written is what %u of %u passes", &kept, &all), ==, 2);
    g_assert_cmpuint (all, ==, 6);
    recipe.iterations = kept;
    td_test_reconstruct_well (engine, scan, &recipe, &truth);
    g_assert_cmpfloat (td_test_difference (&volume, &truth), <, 1e-4);
    check_counted (&volume, &truth);
    g_autofree char *left
        = g_strdup_printf ("%u pass%s left a relative", kept, kept == 1 ? "" : "es");
    g_assert_cmpfloat (
        fabs (said_residual (volume.notes, left) / said_residual (truth.notes, left) - 1), <, 1e-3);
    td_test_volume_clear (&truth);
    td_test_volume_clear (&volume);
    ends++;
  }
  g_assert_cmpuint (ends, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("iterative-group"); /* rates that others measured would cut otherwise */
  engine = td_engine_new (td_methods);
  g_test_add_func ("/iterative-group/shared/cone", test_shared_cone);
  g_test_add_func ("/iterative-group/shared/parallel", test_shared_parallel);
  g_test_add_func ("/iterative-group/shared/tilted", test_shared_tilted);
  g_test_add_func ("/iterative-group/cards", test_cards);
  g_test_add_func ("/iterative-group/shares", test_shares);
  g_test_add_func ("/iterative-group/streamed", test_streamed);
  g_test_add_func ("/iterative-group/helped", test_helped);
  g_test_add_func ("/iterative-group/file", test_file);
  g_test_add_func ("/iterative-group/host-fails", test_host_fails);
  for (guint i = 0; i < G_N_ELEMENTS (faults); i++) {
    g_autofree char *path = g_strconcat ("/iterative-group/faults/", faults[i].path, NULL);
    g_test_add_data_func (path, &faults[i], test_fault);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
