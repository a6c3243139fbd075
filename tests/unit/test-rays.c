/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Projection and back-projection of iterative methods against a naive projector in double
   precision, as each other's adjoint on random data, and against exact line integrals. */
#include <math.h>
#include <string.h>

#include "compute/iterative/ray-store.h"
#include "compute/iterative/rays-private.h"
#include "compute/iterative/rays.h"
#include "compute/portion.h"
#include "dataset/phantom.h"
#include "tests/common/devices.h"
#include "tests/common/truth.h"

#define VIEWS 7u

typedef struct {
  const char *name;
  guint n_columns, n_rows, nx, ny, nz;
  double voxel_mm;    /* 0: the pitch at the axis */
  double tilt_rad[3]; /* of the detector */
  double offset_u, offset_v;
  double lean_rad; /* of the whole setup about x, as in laminography */
  gboolean parallel;
  double parallel_tilt;
} Setup;

static const Setup setups[] = {
  { "cone", 37, 29, 33, 35, 31, 0, { 0 }, 2.3, -1.2, 0, FALSE, 0 },
  { "fan", 41, 1, 40, 40, 1, 0, { 0 }, 0.4, 0, 0, FALSE, 0 },
  { "tilted", 31, 35, 33, 30, 29, 0, { 0.05, -0.08, 0.1 }, -1.5, 0.7, 0, FALSE, 0 },
  { "laminography", 33, 31, 30, 31, 17, 0, { 0 }, 0, 0, 0.9, FALSE, 0 },
  { "fine voxels", 25, 19, 48, 45, 37, 0.13, { 0 }, 0, 0, 0, FALSE, 0 },
  { "tall", 21, 150, 12, 11, 260, 0.3, { 0 }, 0.3, 0, 0, FALSE, 0 },
  { "coarse voxels", 45, 41, 17, 16, 15, 0.6, { 0 }, 0, 0, 0, FALSE, 0 },
  { "voxels of many columns", 61, 23, 9, 8, 35, 1.2, { 0 }, 0.3, 0, 0, FALSE, 0 },
  { "parallel", 33, 19, 33, 33, 19, 0.5, { 0 }, 0.7, 0, 0, TRUE, 0 },
  { "parallel, leaning axis", 33, 19, 33, 33, 19, 0.5, { 0 }, 0.7, 0, 0, TRUE, 0.03 },
  { "nearly narrow", 33, 71, 17, 16, 35, 0.48, { 0 }, 0.3, 0, 0, FALSE, 0 },
  { "upside down", 9, 150, 6, 5, 130, 0.3, { 0, 0, G_PI }, 0.3, 1.3, 0, FALSE, 0 },
};

/* Source and detector turned about x: the axis leans in the world. */
static void
lean (double matrix[12], double angle)
{
  for (guint row = 0; row < 3; row++) {
    double *m = matrix + 4 * row;
    const double y = m[1], z = m[2];
    m[1] = cos (angle) * y - sin (angle) * z;
    m[2] = sin (angle) * y + cos (angle) * z;
  }
}

static void
make_task (const Setup *setup, TdConeTask *task)
{
  TdGeometry geometry = { .beam = TD_BEAM_CONE,
                          .pixel_width_mm = 0.4,
                          .pixel_height_mm = 0.4,
                          .source_axis_mm = 60,
                          .source_detector_mm = 90,
                          .detector_offset_u_px = setup->offset_u,
                          .detector_offset_v_px = setup->offset_v };
  double angles[VIEWS];
  g_autoptr (GError) error = NULL;

  /* About 45 degrees is among them: rays of one view are steepest against two axes; but no ray is
     so evenly, which rounding would decide. */
  for (guint i = 0; i < VIEWS; i++)
    angles[i] = 0.78 + 2 * G_PI * i / VIEWS;
  if (setup->parallel) {
    td_ray_task_parallel (task,
                          &(TdRayParallel) { angles, VIEWS, setup->n_columns, setup->n_rows,
                                             (setup->n_columns - 1) / 2.0 + setup->offset_u,
                                             setup->parallel_tilt, setup->nx, setup->voxel_mm });
    return;
  }
  memcpy (geometry.detector_tilt_rad, setup->tilt_rad, sizeof setup->tilt_rad);
  g_assert_true (
      td_cone_task_init (task, &geometry, angles, VIEWS, setup->n_columns, setup->n_rows, &error));
  td_cone_task_set_volume (task, setup->nx, setup->ny, setup->nz,
                           setup->voxel_mm > 0 ? setup->voxel_mm : task->voxel_mm);
  for (guint view = 0; view < VIEWS; view++)
    lean (task->matrices + 12 * view, setup->lean_rad);
}

/* ── To and from the device's order ── */

typedef struct {
  TdDevice *device;
  TdConeTask task;
  TdRayProjector *rays;
  gsize n_voxels, n_pixels; /* of the volume; of all projections */
  gboolean cpu_shaped;
} Fixture;

/* "test-rays gpu": CPUs of OpenCL take the GPUs' kernels too, so that these are tested where there
   is no GPU. */
static gboolean as_gpu;

static void
fixture_init (Fixture *f, gconstpointer id, const Setup *setup, const guint *order)
{
  g_autoptr (GError) error = NULL;

  f->device = td_test_open (id);
  f->cpu_shaped = f->device->info.cpu_shaped;
  if (as_gpu)
    f->device->info.cpu_shaped = FALSE;
  make_task (setup, &f->task);
  f->rays = td_rays_new (f->device, &f->task, order, NULL, &error);
  g_assert_no_error (error);
  f->n_voxels = (gsize) f->task.nx * f->task.ny * f->task.nz;
  f->n_pixels = (gsize) f->task.n_columns * f->task.n_rows * VIEWS;
}

static void
fixture_clear (Fixture *f)
{
  td_rays_free (f->rays);
  td_cone_task_clear (&f->task);
  f->device->info.cpu_shaped = f->cpu_shaped;
  td_test_close (f->device);
}

static TdBuffer *
lines_buffer (const Fixture *f, const float *views)
{
  g_autoptr (GError) error = NULL;
  TdBuffer *buffer = td_rays_projections_new (f->rays, VIEWS, &error);
  const guint nu = f->task.n_columns, nv = f->task.n_rows;
  g_autofree float *lines = g_new (float, f->n_pixels);

  for (guint view = 0; view < VIEWS; view++)
    for (guint row = 0; row < nv; row++)
      for (guint column = 0; column < nu; column++)
        lines[(view * nu + column) * nv + row] = views[(view * nv + row) * nu + column];
  g_assert_true (
      td_upload (td_rays_queue (f->rays), buffer, 0, lines, f->n_pixels * sizeof (float), &error));
  td_test_finish (td_rays_queue (f->rays));
  return buffer;
}

static float *
lines_read (const Fixture *f, TdBuffer *buffer)
{
  const guint nu = f->task.n_columns, nv = f->task.n_rows;
  g_autofree float *lines = g_new (float, f->n_pixels);
  float *views = g_new (float, f->n_pixels);

  g_assert_true (
      td_download (td_rays_queue (f->rays), lines, buffer, 0, f->n_pixels * sizeof (float), NULL));
  td_test_finish (td_rays_queue (f->rays));
  for (guint view = 0; view < VIEWS; view++)
    for (guint row = 0; row < nv; row++)
      for (guint column = 0; column < nu; column++)
        views[(view * nv + row) * nu + column] = lines[(view * nu + column) * nv + row];
  return views;
}

static TdBuffer *
volume_buffer (const Fixture *f, const float *voxels)
{
  g_autoptr (GError) error = NULL;
  const TdConeTask *t = &f->task;
  const gsize bytes = td_rays_volume_bytes (t);
  TdBuffer *buffer = td_rays_volume_new (f->rays, &error);
  g_autofree float *padded = g_malloc0 (bytes);

  for (guint z = 0; z < t->nz; z++)
    for (guint y = 0; y < t->ny; y++)
      for (guint x = 0; x < t->nx; x++)
        padded[((gsize) (y + 1) * (t->nx + 3) + x + 1) * (t->nz + 3) + z + 1]
            = voxels[((gsize) z * t->ny + y) * t->nx + x];
  g_assert_true (td_upload (td_rays_queue (f->rays), buffer, 0, padded, bytes, &error));
  td_test_finish (td_rays_queue (f->rays));
  return buffer;
}

static float *
volume_read (const Fixture *f, TdBuffer *buffer)
{
  const TdConeTask *t = &f->task;
  const TdRayBox box = { { 0 }, { t->nx, t->ny, t->nz } };
  g_autoptr (TdBuffer) slices = td_buffer_new (f->device, f->n_voxels * sizeof (float), NULL);
  float *voxels = g_new (float, f->n_voxels);

  g_assert_true (td_rays_give (f->rays, buffer, &box, slices, NULL));
  g_assert_true (
      td_download (td_rays_queue (f->rays), voxels, slices, 0, f->n_voxels * sizeof (float), NULL));
  td_test_finish (td_rays_queue (f->rays));
  return voxels;
}

/* ── Tests ── */

static double
dot (const float *a, const float *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += (double) a[i] * b[i];
  return sum;
}

static void
check_setup (gconstpointer id, const Setup *setup)
{
  Fixture f;
  g_autoptr (GError) error = NULL;

  fixture_init (&f, id, setup, NULL);
  g_autofree float *x = g_new (float, f.n_voxels), *y = g_new (float, f.n_pixels);
  g_autofree double *projected = g_new0 (double, f.n_pixels),
                    *gathered = g_new0 (double, f.n_voxels);
  td_test_random (x, f.n_voxels, 11);
  td_test_random (y, f.n_pixels, 12);
  for (guint view = 0; view < VIEWS; view++) {
    const gsize at = f.n_pixels / VIEWS * view;
    td_rays_reference_project (&f.task, view, x, projected + at);
    td_rays_reference_back (&f.task, view, y + at, gathered);
  }
  g_autoptr (TdBuffer) volume = volume_buffer (&f, x);
  g_autoptr (TdBuffer) lines = lines_buffer (&f, y);
  g_autoptr (TdBuffer) image = lines_buffer (&f, y);
  g_autoptr (TdBuffer) sum = volume_buffer (&f, x);
  g_assert_true (td_rays_project (f.rays, volume, (TdRayViews) { 0, VIEWS }, image, &error));
  g_assert_true (td_rays_back (f.rays, lines, (TdRayViews) { 0, VIEWS }, sum, &error));
  g_autofree float *ax = lines_read (&f, image), *ay = volume_read (&f, sum);
  const double there = td_truth_relative_rms (ax, projected, f.n_pixels);
  const double back = td_truth_relative_rms (ay, gathered, f.n_voxels);
  const double left = dot (ax, y, f.n_pixels), right = dot (x, ay, f.n_voxels);
  const double scale = sqrt (dot (ax, ax, f.n_pixels) * dot (y, y, f.n_pixels));
  g_test_message ("%s: there %.1e, back %.1e, <Ax,y> - <x,A'y> %.1e", setup->name, there, back,
                  fabs (left - right) / scale);
  g_assert_cmpfloat (there, <, 1e-4);
  g_assert_cmpfloat (back, <, 1e-4);
  g_assert_cmpfloat (fabs (left - right) / scale, <, 1e-6);
  g_clear_pointer (&volume, td_buffer_free);
  g_clear_pointer (&lines, td_buffer_free);
  g_clear_pointer (&image, td_buffer_free);
  g_clear_pointer (&sum, td_buffer_free);
  fixture_clear (&f);
}

/* As a GPU, in whatever way the device's own kernels are. */
static gboolean
also_as_gpu (gconstpointer id)
{
  g_autoptr (TdDevice) device = td_device_open (id, NULL);

  return device->info.cpu_shaped && !device->info.host_pointers;
}

static gboolean
skip_gpu (gconstpointer id)
{
  const gboolean skip = as_gpu && !also_as_gpu (id);

  if (skip)
    g_test_skip ("the device's own kernels are tested without \"gpu\"");
  return skip;
}

static void
test_reference (gconstpointer id)
{
  if (skip_gpu (id))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (setups); i++)
    check_setup (id, &setups[i]);
  /* There is room to weigh the lines of so many views at once: 3, 3 and 1 of them. */
  td_portion_shift = 12;
  check_setup (id, &setups[0]);
  td_portion_shift = 0;
}

/* A subset is a range of places, in whatever order the views were put. */
static void
test_places (gconstpointer id)
{
  const guint order[VIEWS] = { 4, 2, 6, 0, 5, 1, 3 }, first = 2, n = 3;
  g_autoptr (GError) error = NULL;
  Fixture f;

  fixture_init (&f, id, &setups[0], order);
  g_autofree float *x = g_new (float, f.n_voxels), *y = g_new (float, f.n_pixels);
  const gsize view_pixels = f.n_pixels / VIEWS;
  g_autofree double *projected = g_new0 (double, view_pixels);
  td_test_random (x, f.n_voxels, 21);
  td_test_random (y, f.n_pixels, 22);
  g_autoptr (TdBuffer) volume = volume_buffer (&f, x);
  g_autoptr (TdBuffer) image = lines_buffer (&f, y);
  g_assert_true (td_rays_project (f.rays, volume, (TdRayViews) { first, n }, image, &error));
  g_autofree float *ax = lines_read (&f, image);
  for (guint i = 0; i < n; i++) {
    td_rays_reference_project (&f.task, order[first + i], x, projected);
    g_assert_cmpfloat (td_truth_relative_rms (ax + i * view_pixels, projected, view_pixels), <,
                       1e-4);
  }
  /* The rest is as it was. */
  g_assert_true (memcmp (ax + n * view_pixels, y + n * view_pixels, (VIEWS - n) * view_pixels * 4)
                 == 0);
  g_clear_pointer (&volume, td_buffer_free);
  g_clear_pointer (&image, td_buffer_free);
  fixture_clear (&f);
}

/* A correction by one subset, x - x' for nothing measured, stretches nothing. It is weighted by the
   row and column sums of the subset's own views. So its largest eigenvalue is at most 1, which a
   power iteration comes near. Hence relaxation up to 2 converges, whatever the subset. */
static double
largest_eigenvalue (Fixture *f, guint first, guint n)
{
  g_autoptr (GError) error = NULL;
  g_autofree float *x = g_new (float, f->n_voxels), *zeros = g_new0 (float, f->n_pixels);
  double norm = 0;

  td_test_random (x, f->n_voxels, 31);
  for (gsize i = 0; i < f->n_voxels; i++)
    x[i] += 1; /* the constant has much of the largest one */
  for (guint step = 0; step < 12; step++) {
    g_autoptr (TdBuffer) volume = volume_buffer (f, x);
    g_autoptr (TdBuffer) nothing = lines_buffer (f, zeros);
    g_autoptr (TdBuffer) off = lines_buffer (f, zeros);
    g_autoptr (TdBuffer) squares = lines_buffer (f, zeros);

    const TdRayMeasured measured = { nothing, 0 };
    const TdRayMissing missing = { off, squares };
    const TdRayViews views = { first, n };

    g_assert_true (td_rays_compare (f->rays, volume, &measured, views, &missing, &error));
    g_assert_true (
        td_rays_correct (f->rays, off, views, (TdRayStep) { 1, FALSE, NULL }, volume, &error));
    g_autofree float *moved = volume_read (f, volume);
    double before = 0, after = 0;
    for (gsize i = 0; i < f->n_voxels; i++) {
      before += (double) x[i] * x[i];
      x[i] -= moved[i];
      after += (double) x[i] * x[i];
    }
    norm = sqrt (after / before);
  }
  return norm;
}

/* Rows of sinograms come to their places, whichever were read and whichever are there. */
static void
test_take (gconstpointer id)
{
  static const struct {
    guint from, first, count, origin;
  } takes[]
      = { { 0, 0, 29, 0 }, { 3, 3, 4, 0 }, { 3, 5, 2, 1 }, { 10, 12, 6, 10 }, { 0, 28, 1, 0 } };
  const guint order[VIEWS] = { 4, 2, 6, 0, 5, 1, 3 };
  Fixture f;

  if (skip_gpu (id))
    return;
  fixture_init (&f, id, &setups[0], order);
  const guint nu = f.task.n_columns, nv = f.task.n_rows;
  g_autofree float *rows = g_new (float, f.n_pixels), *before = g_new (float, f.n_pixels);
  td_test_random (rows, f.n_pixels, 61);
  td_test_random (before, f.n_pixels, 62);
  for (guint i = 0; i < G_N_ELEMENTS (takes); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdBuffer) lines = lines_buffer (&f, before);
    g_autoptr (TdBuffer) given
        = td_test_buffer (f.device, td_rays_queue (f.rays), rows, f.n_pixels * sizeof *rows);
    const TdRowRange which = { takes[i].first, takes[i].count };

    g_assert_true (
        td_rays_take (f.rays, given, takes[i].from, which, takes[i].origin, lines, &error));
    g_autofree float *taken = lines_read (&f, lines); /* [place][row][column] */
    for (guint place = 0; place < VIEWS; place++)
      for (guint row = 0; row < nv; row++)
        for (guint column = 0; column < nu; column++) {
          const guint at = row + takes[i].origin;
          const gsize to = ((gsize) place * nv + row) * nu + column;
          const gboolean new_row = at >= which.first && at < which.first + which.count;
          const gsize from = ((gsize) (at - takes[i].from) * VIEWS + order[place]) * nu + column;
          g_assert_cmpfloat (taken[to], ==, new_row ? rows[from] : before[to]);
        }
  }
  fixture_clear (&f);
}

/* The field's component at a voxel, 0 outside. */
static double
field_at (const Fixture *f, const float *field, int x, int y, int z)
{
  const int nx = (int) f->task.nx, ny = (int) f->task.ny, nz = (int) f->task.nz;

  if (x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz)
    return 0;
  return field[((gsize) z * ny + y) * nx + x];
}

/* A step of total variation, there and back, voxel by voxel. */
static void
test_variation (gconstpointer id)
{
  const TdRayVariation variation = { 0.3, TRUE };
  g_autoptr (GError) error = NULL;
  Fixture f;

  fixture_init (&f, id, &setups[0], NULL);
  const int nx = (int) f.task.nx, ny = (int) f.task.ny, nz = (int) f.task.nz;
  g_autofree float *x = g_new (float, f.n_voxels), *along = g_new (float, 3 * f.n_voxels);
  TdBuffer *field[3], *volume, *out;
  float *climbed[3];
  double moves = 0, climbs = 0;

  td_test_random (x, f.n_voxels, 51);
  td_test_random (along, 3 * f.n_voxels, 52);
  volume = volume_buffer (&f, x);
  out = volume_buffer (&f, x);
  for (guint axis = 0; axis < 3; axis++)
    field[axis] = volume_buffer (&f, along + axis * f.n_voxels);
  g_assert_true (td_rays_move (f.rays, volume, field, out, variation, &error));
  g_autofree float *moved = volume_read (&f, out);
  g_assert_true (td_rays_climb (f.rays, volume, field, variation, &error));
  g_assert_no_error (error);
  for (guint axis = 0; axis < 3; axis++)
    climbed[axis] = volume_read (&f, field[axis]);
  for (int i = 0; i < (int) f.n_voxels; i++) {
    const int at[3] = { i % nx, i / nx % ny, i / (nx * ny) };
    double divergence = 0, to[3], length = 0;
    for (guint axis = 0; axis < 3; axis++) {
      const float *one = along + axis * f.n_voxels;
      const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
      const gboolean last = at[axis] == (int[]) { nx, ny, nz }[axis] - 1;
      divergence += one[i] - field_at (&f, one, at[0] - dx, at[1] - dy, at[2] - dz);
      to[axis]
          = one[i]
            + (last ? 0 : x[i + dx + dy * nx + dz * nx * ny] - x[i]) / (12 * variation.strength);
      length += to[axis] * to[axis];
    }
    moves = fmax (moves, fabs (moved[i] - fmax (0, x[i] + variation.strength * divergence)));
    for (guint axis = 0; axis < 3; axis++)
      climbs = fmax (climbs, fabs (climbed[axis][i] - to[axis] / fmax (1, sqrt (length))));
  }
  g_assert_cmpfloat (moves, <, 1e-5);
  g_assert_cmpfloat (climbs, <, 1e-5);
  for (guint axis = 0; axis < 3; axis++) {
    g_free (climbed[axis]);
    td_buffer_free (field[axis]);
  }
  td_buffer_free (volume);
  td_buffer_free (out);
  fixture_clear (&f);
}

/* Rays that pass exactly one voxel beside the volume have no length in it. What was measured along
   them is no residual. */
static void
test_beside (gconstpointer id)
{
  enum { COLUMNS = 13, N = 9, ROWS = 3 };
  const double angles[VIEWS] = { 0 };
  g_autoptr (GError) error = NULL;
  Fixture f = { 0 };

  if (skip_gpu (id))
    return;
  f.device = td_test_open (id);
  td_ray_task_parallel (
      &f.task, &(TdRayParallel) { angles, VIEWS, COLUMNS, ROWS, (COLUMNS - 1) / 2.0, 0, N, 0.5 });
  f.cpu_shaped = f.device->info.cpu_shaped;
  if (as_gpu)
    f.device->info.cpu_shaped = FALSE;
  f.rays = td_rays_new (f.device, &f.task, NULL, NULL, &error);
  g_assert_no_error (error);
  f.n_voxels = N * N * ROWS;
  f.n_pixels = VIEWS * ROWS * COLUMNS;
  g_autofree float *zeros = g_new0 (float, f.n_pixels), *ones = g_new (float, f.n_pixels);
  for (gsize i = 0; i < f.n_pixels; i++)
    ones[i] = 1;
  g_autoptr (TdBuffer) volume = volume_buffer (&f, zeros);
  g_autoptr (TdBuffer) lines = lines_buffer (&f, ones);
  g_autoptr (TdBuffer) off = lines_buffer (&f, ones), squares = lines_buffer (&f, ones);
  g_assert_true (td_rays_compare (f.rays, volume, &(TdRayMeasured) { lines, 0 },
                                  (TdRayViews) { 0, VIEWS }, &(TdRayMissing) { off, squares },
                                  &error));
  g_autofree float *left = lines_read (&f, squares);
  for (gsize i = 0; i < f.n_pixels; i++) {
    const guint column = i % COLUMNS;
    g_assert_cmpfloat (left[i], ==, column >= 2 && column < 2 + N);
  }
  g_clear_pointer (&volume, td_buffer_free);
  g_clear_pointer (&lines, td_buffer_free);
  g_clear_pointer (&off, td_buffer_free);
  g_clear_pointer (&squares, td_buffer_free);
  fixture_clear (&f);
}

/* A correction by weights that were kept is that which computes them. */
static void
check_kept (gconstpointer id, const Setup *setup)
{
  const TdRayViews views = { 1, VIEWS - 2 };
  g_autoptr (GError) error = NULL;
  Fixture f;

  fixture_init (&f, id, setup, NULL);
  g_autofree float *x = g_new (float, f.n_voxels), *y = g_new (float, f.n_pixels);
  g_autofree float *ones = g_new (float, f.n_pixels);
  g_autofree double *expected = g_new (double, f.n_voxels);
  td_test_random (x, f.n_voxels, 41);
  td_test_random (y, f.n_pixels, 42);
  for (gsize i = 0; i < f.n_pixels; i++)
    ones[i] = 1;
  g_autoptr (TdBuffer) weights = volume_buffer (&f, x);
  g_autoptr (TdBuffer) lines = lines_buffer (&f, ones);
  g_assert_true (td_rays_back (f.rays, lines, views, weights, &error));
  for (guint kept = 0; kept < 2; kept++) {
    const TdRayStep step = { 0.7, TRUE, kept ? weights : NULL };
    g_autoptr (TdBuffer) volume = volume_buffer (&f, x);
    g_autoptr (TdBuffer) off = lines_buffer (&f, y);

    g_assert_true (td_rays_correct (f.rays, off, views, step, volume, &error));
    g_autofree float *moved = volume_read (&f, volume);
    for (gsize i = 0; i < f.n_voxels && !kept; i++)
      expected[i] = moved[i];
    if (kept) {
      const double difference = td_truth_relative_rms (moved, expected, f.n_voxels);
      g_test_message ("%s: kept weights, off by %.1e", setup->name, difference);
      g_assert_cmpfloat (difference, <, 1e-5);
    }
  }
  g_clear_pointer (&weights, td_buffer_free);
  g_clear_pointer (&lines, td_buffer_free);
  fixture_clear (&f);
}

static void
test_kept (gconstpointer id)
{
  if (skip_gpu (id))
    return;
  check_kept (id, &setups[0]);
  check_kept (id, &setups[2]);
  check_kept (id, &setups[5]); /* its items hold fewer voxels where views are few */
  check_kept (id, &setups[6]);
}

static void
test_norms (gconstpointer id)
{
  const guint subsets[][2] = { { 0, 1 }, { 2, 3 }, { 0, VIEWS } };

  for (guint i = 0; i < G_N_ELEMENTS (setups); i += 3) {
    Fixture f;

    fixture_init (&f, id, &setups[i], NULL);
    for (guint k = 0; k < G_N_ELEMENTS (subsets); k++) {
      const double norm = largest_eigenvalue (&f, subsets[k][0], subsets[k][1]);
      g_test_message ("%s, %u views: %.4f", setups[i].name, subsets[k][1], norm);
      g_assert_cmpfloat (norm, <, 1 + 1e-4);
      g_assert_cmpfloat (norm, >, 0.8);
    }
    fixture_clear (&f);
  }
}

/* Ellipsoids sampled into voxels are seen as their exact line integrals. */
static void
test_phantom (gconstpointer id)
{
  const Setup setup = { "phantom", 64, 48, 64, 64, 48, 0, { 0 }, 0, 0, 0, FALSE, 0 };
  const TdPhantom *phantom = td_phantom_find ("ellipsoids", NULL);
  g_autoptr (GError) error = NULL;
  Fixture f;

  fixture_init (&f, id, &setup, NULL);
  const TdConeTask *t = &f.task;
  const double unit = t->voxel_mm * t->nx / 2;
  g_autofree float *x = g_new (float, f.n_voxels), *zeros = g_new0 (float, f.n_pixels);
  g_autofree double *exact = g_new (double, f.n_pixels);
  for (guint z = 0; z < t->nz; z++)
    td_phantom_slice_at (phantom, t->nx, t->ny, t->nx / 2.0,
                         ((t->nz - 1) / 2.0 - z) / (t->nx / 2.0), 4, x + (gsize) z * t->nx * t->ny);
  for (guint view = 0; view < VIEWS; view++)
    for (guint row = 0; row < t->n_rows; row++)
      for (guint column = 0; column < t->n_columns; column++) {
        const double *m = t->matrices + 12 * view;
        double source[3], pixel[3];

        td_cone_source (m, source);
        td_cone_pixel (m, column, row, pixel);
        for (guint k = 0; k < 3; k++) {
          pixel[k] = (source[k] + 2 * (pixel[k] - source[k])) / unit;
          source[k] /= unit;
        }
        exact[(view * t->n_rows + row) * t->n_columns + column]
            = unit * td_phantom_ray (phantom, source, pixel);
      }
  g_autoptr (TdBuffer) volume = volume_buffer (&f, x);
  g_autoptr (TdBuffer) image = lines_buffer (&f, zeros);
  g_assert_true (td_rays_project (f.rays, volume, (TdRayViews) { 0, VIEWS }, image, &error));
  g_autofree float *ax = lines_read (&f, image);
  const double off = td_truth_relative_rms (ax, exact, f.n_pixels);
  g_test_message ("against exact integrals: %.4f", off);
  g_assert_cmpfloat (off, <, 0.05);
  g_clear_pointer (&volume, td_buffer_free);
  g_clear_pointer (&image, td_buffer_free);
  fixture_clear (&f);
}

static void
test_refused (void)
{
  g_autoptr (GError) error = NULL;
  TdConeTask task;

  make_task (&setups[0], &task);
  td_cone_task_set_volume (&task, 400, 400, 20, task.voxel_mm);
  g_assert_false (td_rays_check (&task, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  td_cone_task_set_volume (&task, 1280, 1280, 1280, task.voxel_mm / 1000);
  g_assert_true (td_rays_check (&task, &error)); /* 2.11 of the 2.15 thousand million that fit */
  g_assert_no_error (error);
  td_cone_task_set_volume (&task, 1300, 1300, 1300, task.voxel_mm);
  g_assert_false (td_rays_check (&task, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  td_cone_task_clear (&task);
}

/* Projections in a file come back as they were given, in places, whatever rows a chunk has. */
static void
test_store (void)
{
  static const guint order[VIEWS] = { 3, 0, 6, 2, 5, 1, 4 };
  const Setup *setup = &setups[0];
  const gsize row_floats = (gsize) VIEWS * setup->n_columns;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autofree float *rows = g_new (float, setup->n_rows *row_floats);
  TdConeTask task;

  make_task (setup, &task);
  td_test_random (rows, setup->n_rows * row_floats, 5);
  g_autoptr (TdRayProjector) rays = td_rays_new (device, &task, order, NULL, &error);
  for (guint chunk = 1; chunk <= setup->n_rows + 4; chunk += 4) {
    TdRayStore *store = td_ray_store_new (rays, &task, order, chunk, 3, &error);
    g_assert_no_error (error);
    for (guint row = 0; row < setup->n_rows; row += chunk)
      g_assert_true (td_ray_store_take (store, rows + row * row_floats, row,
                                        MIN (chunk, setup->n_rows - row), &error));
    for (guint first = 0; first < VIEWS; first += 2) {
      const guint n = MIN (3, VIEWS - first);
      const float *brought = td_buffer_map (td_ray_store_bring (store, first, n, &error));
      for (guint place = 0; place < n; place++)
        for (guint c = 0; c < setup->n_columns; c++)
          for (guint r = 0; r < setup->n_rows; r++)
            g_assert_cmpfloat (brought[((gsize) place * setup->n_columns + c) * setup->n_rows + r],
                               ==,
                               rows[r * row_floats + order[first + place] * setup->n_columns + c]);
    }
    td_ray_store_free (store);
  }
  td_cone_task_clear (&task);
}

/* A parallel beam's pixels as they are defined: columns by the angle about an axis that leans, rows
   downwards. */
static void
test_parallel (void)
{
  static const double points[][3]
      = { { 0, 0, 0 }, { 3, 0, 0 }, { 0, -2, 0 }, { 0, 0, 1.5 }, { 1, 2, -4 } };
  enum { ROWS = 20 };
  double angles[VIEWS];
  TdConeTask task;

  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 0.3 + view;
  td_ray_task_parallel (&task, &(TdRayParallel) { angles, VIEWS, 31, ROWS, 14.2, 0.03, 31, 0.4 });
  for (guint i = 0; i < VIEWS * G_N_ELEMENTS (points); i++) {
    const double *const at = points[i / VIEWS], angle = angles[i % VIEWS];
    const double *const m = task.matrices + 12 * (i % VIEWS);
    const double down = -at[2] / 0.4;
    const double u = 14.2 + 0.03 * down + (at[0] * cos (angle) + at[1] * sin (angle)) / 0.4;
    const double expected[3] = { u, (ROWS - 1) / 2.0 + down, 1 };

    for (guint k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon (m[4 * k] * at[0] + m[4 * k + 1] * at[1] + m[4 * k + 2] * at[2]
                                          + m[4 * k + 3],
                                      expected[k], 1e-9);
  }
  td_cone_task_clear (&task);
}

/* Axes that some ray is steepest along, just either side of where the detector's rim adds one. A
   margin takes in rays whose other part is 1 / 1.2 of the steepest one. */
static void
test_axes (void)
{
  enum { VIEWS_ROUND = 8 };
  static const struct {
    guint n_columns, n_rows;
    guint views[2]; /* by 45 degrees */
    int axes;
  } cases[] = {
    { 37, 29, { 0, 0 }, 2 },  { 37, 29, { 4, 0 }, 2 },  { 37, 29, { 2, 0 }, 3 },
    { 37, 29, { 1, 1 }, 3 },  { 375, 29, { 0, 0 }, 2 }, { 377, 29, { 0, 0 }, 3 },
    { 37, 375, { 0, 0 }, 2 }, { 37, 377, { 0, 0 }, 6 }, { 377, 29, { 4, 4 }, 3 },
    { 37, 377, { 2, 2 }, 5 }, { 37, 375, { 0, 2 }, 3 }, { 29, 377, { 0, 2 }, 7 },
  };
  const TdGeometry geometry = { .beam = TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_axis_mm = 60,
                                .source_detector_mm = 90 };
  double angles[VIEWS_ROUND];

  for (guint i = 0; i < VIEWS_ROUND; i++)
    angles[i] = G_PI / 4 * i;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    double two[24];
    TdConeTask task;
    td_cone_task_init (&task, &geometry, angles, VIEWS_ROUND, cases[i].n_columns, cases[i].n_rows,
                       &error);
    g_assert_no_error (error);
    td_cone_task_set_volume (&task, 20, 20, 20, task.voxel_mm);
    for (guint k = 0; k < 2; k++)
      memcpy (two + 12 * k, task.matrices + 12 * cases[i].views[k], 12 * sizeof *two);
    memcpy (task.matrices, two, sizeof two);
    task.n_views = 2;
    g_assert_cmpint (td_rays_axes (&task), ==, cases[i].axes);
    g_assert_true (td_rays_upright (&task) == !(cases[i].axes & 4));
    td_cone_task_clear (&task);
  }
}

/* An axis that leans by less than a thousandth of a pixel over the height does not count, whatever
   a pixel measures. */
static void
test_upright (void)
{
  static const double voxels_mm[] = { 1e-4, 1, 100 }, leans_px[] = { 0, 0.99e-3, 1.01e-3, -0.5 };
  const double angles[] = { 0, 0.7, 2 };

  for (guint k = 0; k < G_N_ELEMENTS (voxels_mm); k++)
    for (guint i = 0; i < G_N_ELEMENTS (leans_px); i++) {
      TdConeTask task;
      td_ray_task_parallel (&task, &(TdRayParallel) { .angles_rad = angles,
                                                      .n_views = G_N_ELEMENTS (angles),
                                                      .n_columns = 40,
                                                      .n_rows = 25,
                                                      .centre_px = 19.5,
                                                      .tilt = leans_px[i] / 25,
                                                      .nx = 40,
                                                      .voxel_mm = voxels_mm[k] });
      const gboolean fine = fabs (leans_px[i]) < 1e-3;
      g_assert_cmpint (td_rays_upright (&task), ==, fine);
      for (guint view = 0; view < G_N_ELEMENTS (angles); view++) /* one alone */
        for (guint other = 0; other < G_N_ELEMENTS (angles); other++) {
          task.matrices[12 * other + 2] = other == view ? -leans_px[i] / 25 / voxels_mm[k] : 0;
          g_assert_true (other + 1 < G_N_ELEMENTS (angles) || td_rays_upright (&task) == fine);
        }
      td_cone_task_clear (&task);
    }
}

/* Columns to one side of four voxels' middle that rays_columns() of kernels/rays-upright.cl takes:
   the most of all fours that the detector sees. */
static double
widest_reach (const TdRayProjector *rays)
{
  const TdConeTask *task = &rays->task;
  double most = 0;

  for (guint place = 0; place < task->n_views; place++) {
    const double *view = rays->views + (gsize) place * TD_RAY_FLOATS;
    const double w_x = fabs (view[8]), w_y = fabs (view[9]);

    for (guint x = 0; x < task->nx; x += 2)
      for (guint y = 0; y < task->ny; y += 2) {
        const double w = view[8] * (x + 0.5) + view[9] * (y + 0.5) + view[11];
        const double u = (view[0] * (x + 0.5) + view[1] * (y + 0.5) + view[3]) / w;
        const double along = fabs (view[0] - u * view[8]), across = fabs (view[1] - u * view[9]);
        const double reach = (0.5 * (along + across) + MAX (along, across))
                             / (w - 0.5 * (w_x + w_y) - MAX (w_x, w_y));

        if (fabs (u) <= rays->params.u_middle)
          most = MAX (most, reach);
      }
  }
  return most;
}

/* No item of a card lies on more columns than are said, and mostly no more than 5 % too many are
   said. Sources are near and far, voxels fine and coarse, axes anywhere. */
static void
test_most_columns (void)
{
  enum { ANGLES = 3, VOLUMES = 400 };
  g_autoptr (GRand) random = g_rand_new_with_seed (17);
  double closest = INFINITY;
  guint close = 0, upright = 0;

  for (guint i = 0; i < VOLUMES; i++) {
    const guint n_columns = g_rand_int_range (random, 2, 90);
    const double start = g_rand_double_range (random, 0, 7);
    const double angles[ANGLES] = { start, start + 2, start + 4 };
    const double axis_mm = exp (g_rand_double_range (random, log (8), log (200)));
    const TdGeometry geometry
        = { .beam = TD_BEAM_CONE,
            .pixel_width_mm = 0.4,
            .pixel_height_mm = 0.4,
            .source_axis_mm = axis_mm,
            .source_detector_mm = axis_mm * g_rand_double_range (random, 1.1, 4),
            .detector_offset_u_px = g_rand_double_range (random, -0.4, 0.4) * n_columns };
    g_autoptr (GError) error = NULL;
    double views[ANGLES * TD_RAY_FLOATS];
    TdRayProjector rays = { .views = views };

    td_cone_task_init (&rays.task, &geometry, angles, ANGLES, n_columns, 5, &error);
    g_assert_no_error (error);
    td_cone_task_set_volume (&rays.task, g_rand_int_range (random, 1, 30),
                             g_rand_int_range (random, 1, 30), 3,
                             exp (g_rand_double_range (random, log (0.02), log (2))));
    rays.params.u_middle = (n_columns - 1) / 2.0f;
    for (guint view = 0; view < ANGLES; view++)
      td_rays_view (&rays.task, view, views + view * TD_RAY_FLOATS);
    const double reach = widest_reach (&rays);
    if (reach > 0 && td_rays_check (&rays.task, NULL) && td_rays_upright (&rays.task)) {
      const double more = td_rays_most_columns (&rays) / (2 * reach + 1.002);

      closest = MIN (closest, more);
      close += more < 1.05;
      upright++;
    }
    td_cone_task_clear (&rays.task);
  }
  g_test_message ("%u volumes, %u of them to 5 %%, least %.4f", upright, close, closest);
  g_assert_cmpuint (upright, >=, VOLUMES * 9 / 10);
  g_assert_cmpfloat (closest, >=, 1);
  g_assert_cmpuint (close, >=, upright * 7 / 10);
}

/* ── Faults ── */

static struct {
  const TdDeviceOps *sound;
  gint left;     /* launches that go well; below 0: one has failed */
  guint64 items; /* of those */
} faulty;

static gboolean
faulty_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
               const TdArg *args, guint n_args, GError **error)
{
  if (faulty.left-- <= 0) {
    faulty.left = -1;
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST, "lost");
    return FALSE;
  }
  faulty.items += (guint64) groups[0] * local[0] * groups[1] * local[1] * groups[2] * local[2];
  return faulty.sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static guint64
shared_out (guint n, guint lanes)
{
  return (n + lanes - 1) / lanes;
}

/* Whatever launch of an operation fails, the operation does. A CPU's launches have as many items as
   have something to do. */
static void
test_launches (gconstpointer id)
{
  enum {
    PROJECT,
    COMPARE,
    DIFFER,
    BACK,
    CORRECT,
    KEPT,
    ADD,
    ADD_BOTH,
    APPLY,
    COMBINE,
    SUMS,
    N_OPS
  };
  const TdRayViews views = { 1, 3 };
  guint failed = 0;
  Fixture f;

  if (skip_gpu (id))
    return;
  fixture_init (&f, id, &setups[5], NULL);
  g_autofree float *x = g_new (float, f.n_voxels), *y = g_new (float, f.n_pixels);
  td_test_random (x, f.n_voxels, 51);
  td_test_random (y, f.n_pixels, 52);
  g_autoptr (TdBuffer) a = volume_buffer (&f, x), b = volume_buffer (&f, x);
  g_autoptr (TdBuffer) c = volume_buffer (&f, x), lines = lines_buffer (&f, y);
  g_autoptr (TdBuffer) off = lines_buffer (&f, y), squares = lines_buffer (&f, y);
  const TdRayMeasured measured = { lines, 0 };
  const TdRayMissing missing = { off, squares };
  const guint64 pixels = (guint64) f.task.n_columns * views.n;
  const guint64 columns = (guint64) f.task.nx * f.task.ny;
  const guint64 lines_of = shared_out (f.task.n_rows, f.rays->lanes) * pixels;
  const guint64 pieces = shared_out (f.task.nz, TD_RAY_BACK_LANES) * columns;
  const guint64 items[N_OPS]
      = { [PROJECT] = lines_of, [COMPARE] = lines_of, [DIFFER] = f.task.n_rows * pixels,
          [BACK] = pieces,      [CORRECT] = pieces,   [KEPT] = pieces,
          [ADD] = pieces,       [ADD_BOTH] = pieces };
  faulty.sound = f.device->ops;
  TdDeviceOps ops = *faulty.sound;
  ops.launch = faulty_launch;
  f.device->ops = &ops;
  for (guint op = 0; op < N_OPS; op++)
    for (gint launches = 0;; launches++) {
      const TdRayStep step = { 0.5, FALSE, op == KEPT ? c : NULL };
      g_autoptr (GError) error = NULL;
      gboolean ok = FALSE;
      TdRaySums sums;

      g_assert_cmpint (launches, <, 1000);
      faulty.left = launches;
      faulty.items = 0;
      switch (op) {
      case PROJECT: ok = td_rays_project (f.rays, a, views, off, &error); break;
      case COMPARE: ok = td_rays_compare (f.rays, a, &measured, views, &missing, &error); break;
      case DIFFER: ok = td_rays_differ (f.rays, &measured, views, &missing, &error); break;
      case BACK: ok = td_rays_back (f.rays, lines, views, b, &error); break;
      case CORRECT:
      case KEPT: ok = td_rays_correct (f.rays, off, views, step, b, &error); break;
      case ADD: ok = td_rays_add (f.rays, lines, views, b, NULL, &error); break;
      case ADD_BOTH: ok = td_rays_add (f.rays, lines, views, b, c, &error); break;
      case APPLY: ok = td_rays_apply (f.rays, a, c, step, b, &error); break;
      case COMBINE: ok = td_rays_combine (f.rays, b, (TdRayBlend) { 1, 0 }, a, 0, &error); break;
      default: ok = td_rays_sums (f.rays, a, b, 0, &sums, &error); break;
      }
      g_test_message ("%u, %d launches: %d", op, launches, ok);
      g_assert_cmpint (ok, ==, faulty.left >= 0);
      g_assert_cmpint (ok, ==, error == NULL);
      failed += !ok;
      if (!ok)
        continue;
      if (items[op] && also_as_gpu (id) && !as_gpu)
        g_assert_cmpuint (faulty.items, ==, items[op]);
      break;
    }
  f.device->ops = faulty.sound;
  g_assert_cmpuint (failed, >=, 4); /* the host's own loops launch nothing */
  td_test_finish (td_rays_queue (f.rays));
  g_clear_pointer (&a, td_buffer_free);
  g_clear_pointer (&b, td_buffer_free);
  g_clear_pointer (&c, td_buffer_free);
  g_clear_pointer (&lines, td_buffer_free);
  g_clear_pointer (&off, td_buffer_free);
  g_clear_pointer (&squares, td_buffer_free);
  fixture_clear (&f);
}

int
main (int argc, char **argv)
{
  const TdDeviceTest tests[] = {
    { "reference", test_reference }, { "kept-weights", test_kept }, { "beside", test_beside },
    { "launches", test_launches },   { "places", test_places },     { "norms", test_norms },
    { "phantom", test_phantom },     { "take", test_take },         { "variation", test_variation },
  };

  g_test_init (&argc, &argv, NULL);
  td_test_keep_open ();
  as_gpu = argc > 1 && strcmp (argv[1], "gpu") == 0;
  if (as_gpu) {
    td_test_each_device ("rays-gpu", tests, 4);
    return g_test_run ();
  }
  g_test_add_func ("/rays/refused", test_refused);
  g_test_add_func ("/rays/store", test_store);
  g_test_add_func ("/rays/axes", test_axes);
  g_test_add_func ("/rays/parallel", test_parallel);
  g_test_add_func ("/rays/upright", test_upright);
  g_test_add_func ("/rays/most-columns", test_most_columns);
  td_test_each_device ("rays", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
