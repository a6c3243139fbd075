/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/parallel/backproject.h"
#include "dataset/random.h"
#include "tests/common/cases.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

/* Random problems of the parallel beam's families, in every interpolation and precision. Each
   family is within its own bound of the truth in double precision. The suite "slow" sets --first
   and --cases.
 */

static guint64 first_seed = 1;
static int n_cases = 50;

static double
between (TdRandom *random, double low, double high)
{
  return low + (high - low) * td_random_uniform (random);
}

static guint
up_to (TdRandom *random, guint n)
{
  return 1 + MIN ((guint) (n * td_random_uniform (random)), n - 1);
}

static gboolean
chance (TdRandom *random, double p)
{
  return td_random_uniform (random) < p;
}

typedef struct {
  TdBackprojectTask task;
  double *angles_rad, *axis_px, *weights;
  guint n_slices;
  float *sinograms;
} Problem;

/* White noise, what a ramp filter makes of it, or bins that alternate in sign. Of few views the
   last may have hardly anything left between bins. */
static void
make_sinograms (TdRandom *random, Problem *problem)
{
  const guint n = problem->task.n_columns, rows = 5 * problem->task.n_views;
  const TdFilter ramp = { .kind = TD_FILTER_RAM_LAK, .cutoff = 1 };
  const double kind = td_random_uniform (random);

  td_random_noise (problem->sinograms, (guint64) rows * n,
                   (guint64) (1e9 * td_random_uniform (random)));
  if (kind < 0.4) {
    g_autofree float *filtered = td_truth_filter (&ramp, problem->sinograms, rows, n);
    memcpy (problem->sinograms, filtered, (gsize) rows * n * sizeof (float));
  }
  for (gsize i = 0; kind > 0.8 && problem->task.n_views > 10 && i < (gsize) rows * n; i++)
    problem->sinograms[i] = i % n ? -problem->sinograms[i - 1] : problem->sinograms[i];
}

/* Regions anywhere, axes beside the detector, angles in no order and several times, values of any
 * size. */
static void
make (TdRandom *random, Problem *problem)
{
  const guint n_columns = up_to (random, 90), n_views = up_to (random, 50);
  const guint nx = up_to (random, 70), ny = up_to (random, 70);
  const double step = chance (random, 0.6) ? 1 : between (random, 0.2, 4);
  const double spread = chance (random, 0.7) ? 0.1 : 1.5, even = chance (random, 0.5);
  const double size = pow (10, between (random, -6, 6));
  const gsize samples = (gsize) n_columns * n_views * 5;

  *problem = (Problem) { .angles_rad = g_new (double, n_views),
                         .axis_px = g_new (double, n_views),
                         .weights = g_new (double, n_views),
                         .n_slices = up_to (random, 5),
                         .sinograms = g_new (float, samples) };
  problem->task = (TdBackprojectTask) {
    .n_columns = n_columns,
    .n_views = n_views,
    .nx = nx,
    .ny = ny,
    .step = step,
    .x0 = step * (-(nx - 1.0) / 2 + between (random, -spread, spread) * nx) + 0.137,
    .y0 = step * ((ny - 1.0) / 2 + between (random, -spread, spread) * ny) + 0.211,
    .centre_px = (n_columns - 1) / 2.0 + between (random, -0.7, 0.7) * n_columns,
    .angles_rad = problem->angles_rad,
    .scale = pow (10, between (random, -3, 3)),
    .axis_px = chance (random, 0.3) ? problem->axis_px : NULL,
    .weights = chance (random, 0.5) ? problem->weights : NULL,
  };
  for (guint v = 0; v < n_views; v++) {
    problem->angles_rad[v] = even ? G_PI * v / n_views : between (random, -10, 10);
    if (v > 0 && chance (random, 0.1))
      problem->angles_rad[v] = problem->angles_rad[v - 1] + G_PI;
    problem->axis_px[v] = between (random, -3, 3);
    problem->weights[v] = chance (random, 0.05) ? 0 : between (random, 0.1, 2);
  }
  make_sinograms (random, problem);
  for (gsize i = 0; i < samples; i++)
    problem->sinograms[i] *= (float) size;
}

static void
clear (Problem *problem)
{
  g_free (problem->angles_rad);
  g_free (problem->axis_px);
  g_free (problem->weights);
  g_free (problem->sinograms);
}

/* Relative to the truth; the difference itself where that is 0. */
static double
error_of (const Problem *problem, const float *slices)
{
  const TdBackprojectTask *task = &problem->task;
  const gsize pixels = (gsize) task->nx * task->ny, bins = (gsize) task->n_views * task->n_columns;
  g_autofree double *truth = g_new (double, pixels);
  double off = 0, norm = 0;

  for (guint s = 0; s < problem->n_slices; s++) {
    td_backproject_reference (task, problem->sinograms + s * bins, truth);
    for (gsize i = 0; i < pixels; i++) {
      off += pow (slices[s * pixels + i] - truth[i], 2);
      norm += truth[i] * truth[i];
    }
  }
  return norm > 0 ? sqrt (off / norm) : sqrt (off);
}

static double
run (const Problem *problem, const TdBackprojectFamily *family, TdDevice *device, GError **error)
{
  const TdBackprojectTask *task = &problem->task;
  const guint64 in = (guint64) problem->n_slices * task->n_views * task->n_columns * sizeof (float);
  const guint64 out = (guint64) problem->n_slices * task->nx * task->ny * sizeof (float);
  g_autofree float *slices = g_malloc (out);
  g_autoptr (TdQueue) queue = td_queue_new (device, error);
  g_autoptr (TdBuffer) from = queue ? td_buffer_new (device, in, error) : NULL;
  g_autoptr (TdBuffer) to = from ? td_buffer_new (device, out, error) : NULL;
  g_autoptr (TdBackprojector) projector
      = to ? td_backprojector_new (family, device, task, &td_backproject_default, problem->n_slices,
                                   error)
           : NULL;

  if (!projector || !td_upload (queue, from, 0, problem->sinograms, in, error)
      || !td_backprojector_run (projector, queue, (TdPlace) { from, 0 }, (TdPlace) { to, 0 },
                                problem->n_slices, error)
      || !td_download (queue, slices, to, 0, out, error) || !td_queue_finish (queue, error))
    return NAN;
  return error_of (problem, slices);
}

/* How many came out wrong. */
static guint
check (Problem *problem, guint64 seed, const char *id, TdDevice *device)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  guint failed = 0;

  for (guint f = 0; families[f]; f++)
    for (guint way = 0; way < 6; way++) {
      g_autoptr (GError) error = NULL;

      problem->task.interpolation = way % 2 ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST;
      problem->task.precision = way / 2;
      if (families[f]->unsupported
          && families[f]->unsupported (families[f], &problem->task, td_device_info (device)))
        continue;
      const double bound
          = families[f]->error_bound (families[f], &problem->task, td_device_info (device));
      const double found = run (problem, families[f], device, &error);
      /* Bounds hold for what many random bins leave on average; a few pixels may have a little
       * more. */
      if (found <= 1.3 * bound)
        continue;
      failed++;
      g_test_message ("FAILED: seed %" G_GUINT64_FORMAT
                      ", %s, %s, interpolation %d, precision %d: %.2e for %.2e; %u "
                      "columns, %u views, %u slices of %u x %u, step %g, centre %g %s",
                      seed, id, families[f]->name, problem->task.interpolation,
                      problem->task.precision, found, bound, problem->task.n_columns,
                      problem->task.n_views, problem->n_slices, problem->task.nx, problem->task.ny,
                      problem->task.step, problem->task.centre_px, error ? error->message : "");
    }
  return failed;
}

static void
test_families (void)
{
  g_autoptr (GPtrArray) ids = td_test_devices ();
  guint failed = 0;

  for (guint d = 0; d < MIN (ids->len, 2); d++) {
    g_autoptr (TdDevice) device = td_test_open (ids->pdata[d]);
    /* Building programs for another device takes a minute a problem. */
    const int n = d == 0 ? n_cases : MAX (1, n_cases / 50);
    for (int c = 0; c < n; c++) {
      const guint64 seed = first_seed + (guint64) c;
      TdRandom random;
      Problem problem;

      td_random_init (&random, seed, 3);
      make (&random, &problem);
      failed += check (&problem, seed, ids->pdata[d], device);
      clear (&problem);
    }
  }
  g_test_message ("%d problems on the host, %u failures", n_cases, failed);
  if (failed > 0)
    g_test_fail ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  const GOptionEntry options[] = {
    { "first", 0, 0, G_OPTION_ARG_INT64, &first_seed, NULL, NULL },
    { "cases", 0, 0, G_OPTION_ARG_INT, &n_cases, NULL, NULL },
    { NULL },
  };

  td_test_options (&argc, &argv, options);
  g_test_add_func ("/parallel-random/families", test_families);
  return g_test_run ();
}
