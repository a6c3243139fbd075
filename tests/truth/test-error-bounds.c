/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What families state of their errors holds for rows of any spectrum. Here are white noise, what
   the ramp filter makes of it, and an object. Bins that alternate in sign are the worst. Texture
   units, which only cards have, are played in double precision. */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/filter.h"
#include "compute/parallel/families.h"
#include "dataset/phantom.h"
#include "dataset/random.h"
#include "tests/common/cases.h"
#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"
#include "tests/common/truth.h"

typedef enum { WHITE, RAMP, ALTERNATING, PHANTOM, N_DATA } Data;
static const char *const data_names[] = { "white", "ramp", "alternating", "phantom" };

static const TdFilter ramp = { .kind = TD_FILTER_RAM_LAK, .cutoff = 1 };

/* @out: of bins' sizes, which become signs in turn. Views differ, and bins a little. */
static void
alternate (float *out, gsize rows, gsize n_columns, TdRandom *random)
{
  for (gsize r = 0; r < rows; r++) {
    const double size = td_random_normal (random);
    for (gsize i = 0; i < n_columns; i++)
      out[r * n_columns + i]
          = (float) ((i % 2 ? size : -size) * (1 + 0.1 * out[r * n_columns + i]));
  }
}

static void
filter_rows (float *rows, gsize n_rows, guint n_columns)
{
  g_autofree float *filtered = td_truth_filter (&ramp, rows, (guint) n_rows, n_columns);

  memcpy (rows, filtered, n_rows * n_columns * sizeof *rows);
}

static float *
make_sinograms (Data data, const TdBackprojectTask *task, guint n_slices)
{
  const gsize rows = (gsize) task->n_views * n_slices, bins = rows * task->n_columns;
  float *out = g_new (float, bins);
  TdRandom random;

  td_random_init (&random, 77, 3);
  td_random_noise (out, bins, 5);
  if (data == ALTERNATING)
    alternate (out, rows, task->n_columns, &random);
  if (data == PHANTOM) {
    const TdPhantom *phantom = td_phantom_find ("shepp-logan", NULL);
    for (guint s = 0; s < n_slices; s++) {
      g_autofree float *one = td_truth_sinogram (phantom, task, 2 * n_slices, s + n_slices / 2);
      memcpy (out + bins / n_slices * s, one, bins / n_slices * sizeof *one);
    }
  }
  if (data == RAMP || data == PHANTOM)
    filter_rows (out, rows, task->n_columns);
  return out;
}

/* ── Parallel beams ── */

typedef struct {
  guint n_columns, n_views, nx, ny, n_slices;
  double step, range_deg, off_centre, x, y;
} Shape;

/* Centres and the first angle lie off all ties. The first two are quick; "-m slow" has all. */
static const Shape shapes[] = {
  { 67, 101, 73, 71, 1, 1, 180, 0.137, 0, 0 },   { 400, 240, 66, 70, 2, 1, 360, 20.41, 49, -76 },
  { 200, 200, 80, 90, 1, 1.9, 180, 0.2, 0, 0 },  { 200, 90, 60, 50, 20, 0.5, 180, -3.3, 10, -20 },
  { 280, 360, 280, 280, 1, 1, 180, 0.41, 0, 0 }, { 1100, 90, 65, 70, 33, 1, 360, 0.3, 300, -200 },
};
enum { QUICK = 2 };

static void
task_init (TdBackprojectTask *task, const Shape *shape)
{
  td_truth_task_init (task, shape->n_columns, shape->n_views, shape->range_deg);
  for (guint v = 0; v < task->n_views; v++)
    ((double *) task->angles_rad)[v] += 0.0123;
  task->nx = shape->nx;
  task->ny = shape->ny;
  task->step = shape->step;
  task->x0 = -(shape->nx - 1.0) / 2 * shape->step + shape->x;
  task->y0 = (shape->ny - 1.0) / 2 * shape->step + shape->y;
  task->centre_px += shape->off_centre;
}

typedef struct {
  TdBackprojectTask task;
  guint n_slices;
  float *sinograms[N_DATA];
  double *truths[N_DATA];
} Problem;

static void
problem_init (Problem *p, const Shape *shape, TdInterpolation interpolation,
              const TdBackprojectFamily *family)
{
  *p = (Problem) { .n_slices = shape->n_slices };
  task_init (&p->task, shape);
  p->task.interpolation = interpolation;
  const gsize bins = (gsize) p->task.n_columns * p->task.n_views;
  const gsize pixels = (gsize) p->task.nx * p->task.ny;
  for (Data d = 0; d < N_DATA; d++) {
    p->sinograms[d] = make_sinograms (d, &p->task, p->n_slices);
    p->truths[d] = g_new (double, p->n_slices *pixels);
    for (guint s = 0; s < p->n_slices; s++)
      (family && family->reference ? family->reference : td_backproject_reference) (
          &p->task, p->sinograms[d] + s * bins, p->truths[d] + s * pixels);
  }
}

static void
problem_clear (Problem *p)
{
  for (Data d = 0; d < N_DATA; d++) {
    g_free (p->sinograms[d]);
    g_free (p->truths[d]);
  }
  td_truth_task_clear (&p->task);
}

/* The largest that were found, each a part of its bound. */
typedef struct {
  double any, filtered; /* of all data; of filtered noise */
} Largest;

static void
note (Largest *largest, Data data, const char *what, double found, double bound)
{
  if (!(found <= bound) || g_test_verbose ())
    g_test_message ("%s, %s: %.3g of %.3g, %.2f", what, data_names[data], found, bound,
                    found / bound);
  g_assert_cmpfloat (found, <=, bound);
  largest->any = MAX (largest->any, found / bound);
  if (data == RAMP)
    largest->filtered = MAX (largest->filtered, found / bound);
}

/* @variant: NULL: the default. Band-limited interpolation has nothing left of bins that alternate.
 */
static void
check (const Problem *p, const TdBackprojectFamily *family, TdDevice *device,
       const TdBackprojectVariant *variant, Largest *largest)
{
  const TdBackprojectTask *task = &p->task;
  const gsize n = (gsize) p->n_slices * task->nx * task->ny;
  const gsize in = (gsize) p->n_slices * task->n_views * task->n_columns * sizeof (float);
  const double bound = family->error_bound (family, task, td_device_info (device));
  g_autoptr (GError) error = NULL;
  g_autofree float *slices = g_new (float, n);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) from = td_buffer_new (device, in, &error);
  g_autoptr (TdBuffer) to = td_buffer_new (device, n * sizeof (float), &error);
  g_autoptr (TdBackprojector) projector = td_backprojector_new (
      family, device, task, variant ? variant : &td_backproject_default, p->n_slices, &error);
  g_assert_no_error (error);
  g_autofree char *what = g_strdup_printf ("%s, %s, %s, %u columns", family->name,
                                           td_interpolation_names[task->interpolation],
                                           td_precision_names[task->precision], task->n_columns);

  for (Data d = 0; d < N_DATA; d++) {
    if (d == ALTERNATING && family->reference)
      continue;
    g_assert_true (td_upload (queue, from, 0, p->sinograms[d], in, &error)
                   && td_backprojector_run (projector, queue, (TdPlace) { from, 0 },
                                            (TdPlace) { to, 0 }, p->n_slices, &error)
                   && td_download (queue, slices, to, 0, n * sizeof (float), &error)
                   && td_queue_finish (queue, &error));
    note (largest, d, what, td_truth_relative_rms (slices, p->truths[d], n), bound);
  }
}

/* Whether what the device does is what the bound is for: most emulate textures exactly. Few updates
   have no tie at all in fixed point. */
static gboolean
is_tight (const TdBackprojectFamily *family, TdInterpolation interpolation, TdDevice *device)
{
  if (family == &td_family_texture || family == &td_family_hybrid)
    return !td_device_info (device)->texture_slow;
  return family != &td_family_standard || interpolation != TD_INTERPOLATION_NEAREST;
}

/* In every precision. */
static void
check_family (Problem *p, const TdBackprojectFamily *family, TdDevice *device, Largest *largest)
{
  const TdDeviceInfo *info = td_device_info (device);

  for (TdPrecision precision = 0; precision <= TD_PRECISION_HALF_RUN; precision++) {
    p->task.precision = precision;
    if ((!family->unsupported || !family->unsupported (family, &p->task, info))
        && (precision == TD_PRECISION_SINGLE || !family->single_only))
      check (p, family, device, NULL, largest);
  }
}

static void
report (const Largest *largest, const TdBackprojectFamily *family, TdInterpolation interpolation,
        TdDevice *device)
{
  if (largest->any == 0)
    return; /* the device has no such family */
  g_test_message ("%s, %s: at the most %.2f of the bound, of filtered noise %.2f", family->name,
                  td_interpolation_names[interpolation], largest->any, largest->filtered);
  if (is_tight (family, interpolation, device))
    g_assert_cmpfloat (largest->filtered, >, 0.1);
}

static void
check_families (TdDevice *device, TdInterpolation interpolation)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  const guint quick = td_device_info (device)->texture_slow ? 1 : QUICK;
  Largest largest[16] = { 0 }, fourier = { 0 };
  Problem p;

  for (guint s = 0; s < (g_test_slow () ? G_N_ELEMENTS (shapes) : quick); s++) {
    problem_init (&p, &shapes[s], interpolation, NULL);
    for (guint f = 0; families[f]; f++)
      check_family (&p, families[f], device, &largest[f]);
    problem_clear (&p);
  }
  problem_init (&p, &shapes[0], interpolation, &td_family_fourier);
  check_family (&p, &td_family_fourier, device, &fourier);
  problem_clear (&p);
  for (guint f = 0; families[f]; f++)
    report (&largest[f], families[f], interpolation, device);
  report (&fourier, &td_family_fourier, interpolation, device);
}

static void
test_families (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  check_families (device, TD_INTERPOLATION_NEAREST);
  check_families (device, TD_INTERPOLATION_LINEAR);
  td_test_close (device);
}

/* A tile of 64 pixels, as graphics cards have it, has larger positions than the one of CPUs. */
static void
test_tiles (gconstpointer id)
{
  static const char *const defines[] = {
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=8 TD_CACHE=1",
    "TD_SIDE=1 TD_TILE=64 TD_THREADS=256 TD_BATCH=8 TD_CACHE=1",
  };
  TdDevice *device = td_test_open (id);
  Largest largest = { 0 };
  Problem p;

  if (td_device_info (device)->host_pointers) {
    g_test_skip ("it has no such tiles");
    td_test_close (device);
    return;
  }
  problem_init (&p, &shapes[1], TD_INTERPOLATION_LINEAR, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (defines); i++) {
    TdBackprojectVariant *variant = td_backproject_variant_new ("alu", 1, defines[i]);
    if (!td_family_alu.unsupported (&td_family_alu, &p.task, td_device_info (device)))
      check (&p, &td_family_alu, device, variant, &largest);
    td_backproject_variant_free (variant);
  }
  g_test_message ("at the most %.2f of the bound, of filtered noise %.2f", largest.any,
                  largest.filtered);
  problem_clear (&p);
  td_test_close (device);
}

/* A texture unit's weight: a place between two bins, in 256 steps. */
static double
eighth_bits (double u)
{
  return rint (u * 256) / 256;
}

/* As the standard kernel computes it: places in single precision, weights of 8 bits, else in
   double. */
static void
play_texture (const TdBackprojectTask *task, const float *sinogram, float *slice)
{
  const gboolean nearest = task->interpolation == TD_INTERPOLATION_NEAREST;
  const float x0 = (float) task->x0, y0 = (float) task->y0, step = (float) task->step;

  for (guint i = 0; i < task->nx * task->ny; i++) {
    const float x = x0 + step * (float) (i % task->nx), y = y0 - step * (float) (i / task->nx);
    double sum = 0;
    for (guint v = 0; v < task->n_views; v++) {
      const float c = (float) cos (task->angles_rad[v]), s = (float) sin (task->angles_rad[v]);
      const float u = fmaf (x, c, fmaf (y, s, (float) task->centre_px));
      const double left = nearest ? floor (u + 0.5) : floor (u);
      const double weight = nearest ? 0 : eighth_bits (u - left);
      const float *bin = sinogram + (gsize) v * task->n_columns + (gssize) left;
      const gboolean first = left >= 0 && left < task->n_columns;
      const gboolean second = left >= -1 && left + 1 < task->n_columns;
      sum += (first ? (1 - weight) * bin[0] : 0) + (second && weight > 0 ? weight * bin[1] : 0);
    }
    slice[i] = (float) (task->scale * sum);
  }
}

static void
test_texture (void)
{
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  Largest largest = { 0 };

  for (guint i = 0; i < 2 * (g_test_slow () ? G_N_ELEMENTS (shapes) : QUICK); i++) {
    const Shape one = { shapes[i / 2].n_columns,
                        shapes[i / 2].n_views,
                        shapes[i / 2].nx,
                        shapes[i / 2].ny,
                        1,
                        shapes[i / 2].step,
                        shapes[i / 2].range_deg,
                        shapes[i / 2].off_centre,
                        shapes[i / 2].x,
                        shapes[i / 2].y };
    const gsize n = (gsize) one.nx * one.ny;
    g_autofree float *slice = g_new (float, n);
    Problem p;
    problem_init (&p, &one, i % 2, NULL);
    for (Data d = 0; d < N_DATA; d++) {
      play_texture (&p.task, p.sinograms[d], slice);
      note (&largest, d, td_interpolation_names[i % 2],
            td_truth_relative_rms (slice, p.truths[d], n),
            td_family_texture.error_bound (&td_family_texture, &p.task, td_device_info (host)));
    }
    problem_clear (&p);
  }
  g_test_message ("at the most %.2f of the bound, of filtered noise %.2f", largest.any,
                  largest.filtered);
  g_assert_cmpfloat (largest.filtered, >, 0.1);
}

/* ── Cone and fan beams ── */

typedef struct {
  guint n_columns, n_rows, n_views, nx, ny, nz;
  double off_axis[3]; /* of the volume's middle, columns at the axis */
  double magnification;
} ConeShape;

/* A full turn that kernels may turn by symmetry, parts near the edge of large detectors, a fan. No
   volume's middle slice is seen between two rows. */
static const ConeShape cone_shapes[] = {
  { 64, 48, 20, 48, 48, 40, { 0, 0, 0 }, 1.5 },
  { 256, 200, 40, 40, 40, 32, { 40, -30, 50 }, 1.5 },
  { 1000, 12, 48, 60, 60, 3, { 250, -210, 0.3 }, 3 },
  { 1024, 700, 9, 40, 40, 30, { 250, -200, 180 }, 1.3 },
  { 500, 1, 90, 100, 90, 1, { 0, 20, 0 }, 2 },
};

static void
cone_task_init (TdConeTask *task, const ConeShape *shape)
{
  const double distance = 3.1 * 0.4 * shape->n_columns;
  const TdGeometry geometry = { .beam = shape->n_rows > 1 ? TD_BEAM_CONE : TD_BEAM_FAN,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_detector_mm = distance,
                                .source_axis_mm = distance / shape->magnification };
  g_autofree double *angles = g_new (double, shape->n_views);
  g_autoptr (GError) error = NULL;

  for (guint v = 0; v < shape->n_views; v++)
    angles[v] = 0.1 + 2 * G_PI * v / shape->n_views;
  td_cone_task_init (task, &geometry, angles, shape->n_views, shape->n_columns, shape->n_rows,
                     &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (task, shape->nx, shape->ny, shape->nz, 1.0137 * task->pitch_mm);
  for (guint i = 0; i < 3; i++)
    task->first_mm[i] += shape->off_axis[i] * task->pitch_mm;
}

/* Alternating: as on a chess board. */
static float *
make_projections (Data data, const TdConeTask *task)
{
  const gsize columns = task->n_columns, rows = (gsize) task->n_views * task->n_rows;
  float *out = g_new (float, rows *columns);
  TdRandom random;
  double size = 1;

  td_random_init (&random, 78, 3);
  td_random_noise (out, rows * columns, 6);
  if (data == RAMP)
    filter_rows (out, rows, task->n_columns);
  for (gsize i = 0; data == ALTERNATING && i < rows * columns; i++) {
    const gsize column = i % columns, row = i / columns % task->n_rows;
    if (column == 0 && row == 0)
      size = td_random_normal (&random);
    out[i] = (float) (((column + row) % 2 ? size : -size) * (1 + 0.1 * out[i]));
  }
  return out;
}

/* The reference with the weights that an H100 turned out to have. Both places are rounded to 8
   bits, and so is their product, the fourth corner's weight. The other corners have what is left.
 */
static void
play_cone_texture (const TdConeTask *task, const float *projections, float *volume)
{
  const gsize view_pixels = (gsize) task->n_rows * task->n_columns;

  for (gsize at = 0; at < (gsize) task->nx * task->ny * task->nz; at++) {
    const double point[3] = { task->first_mm[0] + at % task->nx * task->voxel_mm,
                              task->first_mm[1] - at / task->nx % task->ny * task->voxel_mm,
                              task->first_mm[2] - at / task->nx / task->ny * task->voxel_mm };
    double sum = 0;
    for (guint view = 0; view < task->n_views; view++) {
      double u, v, w;
      td_cone_project (task->matrices + 12 * (gsize) view, point, &u, &v, &w);
      const double across = eighth_bits (u - floor (u)), down = eighth_bits (v - floor (v));
      const double both = eighth_bits (across * down);
      const double weights[4] = { 1 - across - down + both, across - both, down - both, both };
      for (guint corner = 0; corner < 4; corner++) {
        const double column = floor (u) + corner % 2, row = floor (v) + corner / 2;
        if (column >= 0 && row >= 0 && column < task->n_columns && row < task->n_rows)
          sum += task->view_weights[view] / (w * w) * weights[corner]
                 * projections[view * view_pixels + (gsize) row * task->n_columns + (gsize) column];
      }
    }
    volume[at] = (float) sum;
  }
}

/* @device: NULL: the texture unit in double precision. */
static void
check_cone (const ConeShape *shape, TdDevice *device, Largest *largest)
{
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  TdDeviceInfo card = *td_device_info (host);
  TdConeTask task;

  card.texture_slow = FALSE;
  cone_task_init (&task, shape);
  const gsize voxels = (gsize) task.nx * task.ny * task.nz;
  g_autofree float *volume = g_new (float, voxels);
  g_autofree double *truth = g_new (double, voxels);
  for (Data d = 0; d < PHANTOM; d++) {
    g_autofree float *projections = make_projections (d, &task);
    td_cone_reference (&task, projections, truth);
    if (!device) {
      play_cone_texture (&task, projections, volume);
      note (
          largest, d, "texture unit", td_truth_relative_rms (volume, truth, voxels),
          td_cone_family_error_bound (&td_cone_family_texture, &task, TD_PRECISION_SINGLE, &card));
    }
    for (const TdConeFamily *const *f = td_cone_families (); device && *f; f++)
      for (TdPrecision p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF; p++) {
        const TdTestConeSlabs how = { *f, device, p, task.nz, 4 };
        if ((*f)->unsupported (&task, p, td_device_info (device)))
          continue;
        g_autofree char *what = g_strdup_printf ("%s, %s, %u columns", (*f)->name,
                                                 td_precision_names[p], task.n_columns);
        td_test_cone_slabs (&how, &task, projections, volume);
        note (largest, d, what, td_truth_relative_rms (volume, truth, voxels),
              td_cone_family_error_bound (*f, &task, p, td_device_info (device)));
      }
  }
  td_cone_task_clear (&task);
}

static void
check_cones (TdDevice *device)
{
  Largest largest = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (cone_shapes); i += td_test_stride (3))
    check_cone (&cone_shapes[i], device, &largest);
  g_test_message ("at the most %.2f of the bound, of filtered noise %.2f", largest.any,
                  largest.filtered);
  /* The host is held to what iFDK asks for, which AVX2 is far below. */
  if (!device || !td_device_info (device)->host_pointers)
    g_assert_cmpfloat (largest.filtered, >, 0.1);
}

static void
test_cone_families (gconstpointer id)
{
  TdDevice *device = td_test_open (id);

  check_cones (device);
  td_test_close (device);
}

static void
test_cone_texture (void)
{
  check_cones (NULL);
}

/* ── Accuracies ── */

/* What the guide says that accuracies take: a bound that grows takes it from large scans. */
static void
test_accuracies (void)
{
  const Shape large = { 4096, 4096, 4096, 4096, 1, 1, 180, 0, 0, 0 };
  const Shape usual = { 2048, 2048, 2048, 2048, 1, 1, 180, 0, 0, 0 };
  const ConeShape cone = { 1024, 1024, 12, 8, 8, 8, { 0, 0, 0 }, 1.5 };
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);
  const TdDeviceInfo *info = td_device_info (host);
  TdBackprojectTask task;
  TdConeTask cone_task;

  task_init (&task, &large);
  g_assert_cmpfloat (td_family_alu.error_bound (&td_family_alu, &task, info), <=,
                     td_accuracy_limit (TD_ACCURACY_SINGLE));
  g_assert_cmpfloat (td_family_host.error_bound (&td_family_host, &task, info), <=,
                     td_accuracy_limit (TD_ACCURACY_SINGLE));
  g_assert_cmpfloat (td_family_fourier.error_bound (&td_family_fourier, &task, info), <=,
                     td_accuracy_limit (TD_ACCURACY_STANDARD));
  task.precision = TD_PRECISION_HALF_RUN;
  g_assert_cmpfloat (td_family_alu.error_bound (&td_family_alu, &task, info), <=,
                     td_accuracy_limit (TD_ACCURACY_DRAFT));
  td_truth_task_clear (&task);

  task_init (&task, &usual);
  task.precision = TD_PRECISION_HALF;
  g_assert_cmpfloat (td_family_texture.error_bound (&td_family_texture, &task, info), <=,
                     td_accuracy_limit (TD_ACCURACY_DRAFT));
  td_truth_task_clear (&task);

  cone_task_init (&cone_task, &cone);
  g_assert_cmpfloat (td_cone_family_error_bound (&td_cone_family_arithmetic, &cone_task,
                                                 TD_PRECISION_SINGLE, info),
                     <=, td_accuracy_limit (TD_ACCURACY_STANDARD));
  td_cone_task_clear (&cone_task);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "families", test_families },
    { "tiles", test_tiles },
    { "cones", test_cone_families },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/error-bounds/texture-unit", test_texture);
  g_test_add_func ("/error-bounds/cone-texture-unit", test_cone_texture);
  g_test_add_func ("/error-bounds/accuracies", test_accuracies);
  td_test_each_device ("/error-bounds", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
