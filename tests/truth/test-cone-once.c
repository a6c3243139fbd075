/* SPDX-License-Identifier: GPL-3.0-or-later */
/* However little memory there is, each row of each frame is read once. If the detector lies on its
   side, each whole frame is. The volume is the same to the last bit. */
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-private.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

static TdEngine *engine;

typedef struct {
  const char *name, *device;
  double roll_deg;
  TdFilterPlace filter_on;
  gboolean portrait;
  const char *steps; /* that look at neighbouring rows; NULL: as they are */
} Case;

static const Case cases[] = {
  { "portrait-host", "host", 90, TD_FILTER_ON_AUTO, TRUE, NULL },
  { "portrait-back-cpu", "opencl:0", -88, TD_FILTER_ON_CPU, TRUE, NULL },
  { "portrait-device", "opencl:0", 91, TD_FILTER_ON_DEVICE, TRUE, NULL },
  { "rolled-host", "host", 9, TD_FILTER_ON_AUTO, FALSE, NULL },
  { "rolled-device", "opencl:0", -9, TD_FILTER_ON_DEVICE, FALSE, NULL },
  { "upside-down-host", "host", 175, TD_FILTER_ON_AUTO, FALSE, NULL },
  { "neighbours-host", "host", 0, TD_FILTER_ON_AUTO, FALSE, "zingers" },
};

/* ── A scan that counts ── */

typedef struct {
  TdScan *inner;
  GMutex lock;
  guint *projections; /* reads of each row of each frame */
} Counter;

static gboolean
counter_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Counter *counter = source;
  const guint rows = td_scan_facts (counter->inner)->n_rows;

  g_mutex_lock (&counter->lock);
  for (guint i = 0; range->kind == TD_FRAME_PROJECTION && i < range->count; i++)
    for (guint k = 0; k < range->n_rows; k++)
      counter->projections[(gsize) (range->first + i) * rows + range->row0 + k]++;
  g_mutex_unlock (&counter->lock);
  return td_scan_fill (counter->inner, range, target, cancellable, error);
}

static void
counter_free (gpointer source)
{
  Counter *counter = source;

  td_scan_unref (counter->inner);
  g_mutex_clear (&counter->lock);
  g_free (counter->projections);
  g_free (counter);
}

static const TdScanSource vtable = { .fill = counter_fill, .free = counter_free };

static TdScan *
make_scan (const Case *c, Counter **counter)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, "ellipsoids", c->portrait ? 40 : 48, c->portrait ? 48 : 44, 36);
  spec.range_deg = 360;
  spec.logged = c->steps == NULL;
  spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                 .pixel_width_mm = 0.4,
                                 .pixel_height_mm = 0.4,
                                 .source_axis_mm = 200,
                                 .source_detector_mm = 300 };
  spec.geometry.detector_tilt_rad[2] = c->roll_deg * G_PI / 180;
  *counter = g_new0 (Counter, 1);
  (*counter)->inner = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  (*counter)->projections = g_new0 (guint, (gsize) spec.n_views * spec.n_rows);
  g_mutex_init (&(*counter)->lock);
  TdScan *scan = td_scan_alloc ("counted", &vtable, *counter);
  td_scan_copy_facts (scan, td_scan_facts ((*counter)->inner));
  scan->facts.in_memory = FALSE;
  return scan;
}

/* ── Runs ── */

static void
set (const Case *c, guint64 limit, TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;

  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, c->device, sizeof recipe->devices);
  recipe->filter_on = c->filter_on;
  recipe->memory_limit_bytes = limit;
  g_assert_true (!c->steps || td_recipe_set (recipe, "prepare", c->steps, &error));
}

/* Whether the plan's notes say so; without a plan they say nothing. */
static gboolean
says (TdScan *scan, const TdRecipe *recipe, const char *words)
{
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, NULL);
  g_autofree char *notes = plan ? td_messages_join (td_plan_facts (plan)->notes, "\n", NULL) : NULL;

  return notes && strstr (notes, words);
}

static void
run (const Case *c, TdScan *scan, Counter *counter, guint64 limit, gboolean anew,
     TdTestVolume *volume)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize n = (gsize) facts->n_views * facts->n_rows;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  guint most = 0;

  set (c, limit, &recipe);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const guint64 allowed = td_plan_facts (plan)->host_bytes;
  memset (counter->projections, 0, n * sizeof *counter->projections);
  td_test_reconstruct (engine, scan, &recipe, volume, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < n; i++)
    most = MAX (most, counter->projections[i]);
  td_test_pin ("limit %" G_GUINT64_FORMAT
               " kiB: rows are read %u times, host memory %" G_GUINT64_FORMAT
               " of %" G_GUINT64_FORMAT " kiB",
               limit >> 10, most, volume->result.host_peak_bytes >> 10, allowed >> 10);
  g_assert_cmpuint (most, <=, 1);
  g_assert_true (most == 1 || !anew); /* the engine remembers rows that are read at once */
  g_assert_cmpuint (volume->result.host_peak_bytes, <=, allowed);
}

static void
test_once (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, c->device, NULL);
  TdTestVolume whole, cut;
  TdRecipe recipe;
  Counter *counter;
  guint64 limit = 128 << 10;

  if (!devices) {
    g_test_skip ("no such device");
    return;
  }
  g_autoptr (TdScan) scan = make_scan (c, &counter);
  run (c, scan, counter, 0, TRUE, &whole);
  /* As little as will do. */
  for (set (c, limit, &recipe); !says (scan, &recipe, "back-projected, of up to ");
       set (c, limit += 64 << 10, &recipe))
    g_assert_cmpuint (limit, <, 64 << 20);
  g_assert_cmpint (says (scan, &recipe, "each is read once"), ==, c->portrait);
  g_assert_true (!c->portrait || says (scan, &recipe, "in a temporary file ("));
  run (c, scan, counter, limit, TRUE, &cut);
  const gsize n = (gsize) whole.n_slices * whole.ny * whole.nx;
  g_assert_cmpmem (cut.slices, n * sizeof (float), whole.slices, n * sizeof (float));
  td_test_volume_clear (&cut);
  if (c->portrait) {
    /* Some more holds the frames, or turns all at once. */
    for (; says (scan, &recipe, "in a temporary file ("); set (c, limit += 64 << 10, &recipe))
      g_assert_cmpuint (limit, <, 64 << 20);
    run (c, scan, counter, limit, FALSE, &cut);
    g_assert_cmpmem (cut.slices, n * sizeof (float), whole.slices, n * sizeof (float));
    td_test_volume_clear (&cut);
  }
  td_test_volume_clear (&whole);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strconcat ("/cone-once/", cases[i].name, NULL);
    g_test_add_data_func (path, &cases[i], test_once);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
