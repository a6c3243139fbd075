/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"
#include "tests/common/truth.h"

/* The volume is the same to the last bit, however it is cut into slabs and the views into batches.
   The projections are random, so that the least difference of a texture's weights would show. */

typedef struct {
  const char *name;
  guint n_columns, n_rows, n_views, nx, ny, nz;
  double offset_u, offset_v, tilt;
  const char *family; /* NULL: all that can */
} Case;

static const Case cases[] = {
  { "turned", 60, 150, 24, 48, 48, 100, 0.3, 0, 0 }, /* views and voxels in fours */
  { "odd", 61, 130, 21, 45, 43, 91, -1.2, 3.3, 0 },  /* no symmetry; slabs beyond the detector */
  { "thin", 50, 33, 16, 44, 44, 17, 0, 0.4, 0 },     /* too few slices for columns of them */
  { "tilted", 52, 80, 18, 41, 45, 60, 0.7, -2, 0.05 },
  { "columns", 12, 52, 8, 10, 10, 40, 0, 1.5, 0, "arithmetic" }, /* little, for the simulator */
};

static void
make_task (const Case *c, TdConeTask *task)
{
  const TdGeometry geometry = {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = 0.4,
    .pixel_height_mm = 0.4,
    .source_axis_mm = 80, /* a wide cone: far slices see many rows */
    .source_detector_mm = 120,
    .detector_offset_u_px = c->offset_u,
    .detector_offset_v_px = c->offset_v,
    .detector_tilt_rad = { c->tilt, -c->tilt / 2, c->tilt / 3 },
  };
  g_autofree double *angles = g_new (double, c->n_views);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < c->n_views; i++)
    angles[i] = 0.1 + 2 * G_PI * i / c->n_views;
  td_cone_task_init (task, &geometry, angles, c->n_views, c->n_columns, c->n_rows, &error);
  g_assert_no_error (error);
  td_cone_task_set_volume (task, c->nx, c->ny, c->nz, task->pitch_mm * 1.07);
}

static void
check_cuts (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
            TdPrecision precision, const float *projections)
{
  const gsize slice = (gsize) task->ny * task->nx, samples = slice * task->nz;
  const guint sets = task->n_views / family->symmetric_views (task, precision);
  const guint cuts[][2] = { { (task->nz + 1) / 2, 1 }, { 13, 3 }, { 5, sets } };
  g_autofree float *whole = g_new (float, samples), *cut = g_new (float, samples);

  td_test_cone_slabs (&(TdTestConeSlabs) { family, device, precision, task->nz, sets }, task,
                      projections, whole);
  for (guint i = 0; i < G_N_ELEMENTS (cuts); i++) {
    memset (cut, 0xff, samples * sizeof *cut);
    td_test_cone_slabs (
        &(TdTestConeSlabs) { family, device, precision, cuts[i][0], MIN (sets, cuts[i][1]) }, task,
        projections, cut);
    gsize different = 0, first = 0;
    for (gsize k = samples; k-- > 0;)
      if (memcmp (&whole[k], &cut[k], sizeof *cut) != 0) {
        different++;
        first = k;
      }
    g_test_message ("slabs of %u, batches of %u sets: %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
                    " voxels differ; first in slice %" G_GSIZE_FORMAT ", %.9g and %.9g",
                    cuts[i][0], cuts[i][1], different, samples, first / slice, whole[first],
                    cut[first]);
    g_assert_cmpuint (different, ==, 0);
  }
}

static void
test_cuts (gconstpointer id, const Case *c)
{
  g_autoptr (TdDevice) device = td_test_open (id);
  TdConeTask task;

  make_task (c, &task);
  const gsize n = (gsize) c->n_views * c->n_rows * c->n_columns;
  g_autofree float *projections = g_new (float, n);
  td_test_random (projections, n, 7);
  for (const TdConeFamily *const *f = td_cone_families (); *f; f++)
    for (TdPrecision precision = TD_PRECISION_SINGLE; precision <= TD_PRECISION_HALF; precision++)
      if ((!c->family || g_str_equal (c->family, (*f)->name))
          && !(*f)->unsupported (&task, precision, td_device_info (device))) {
        g_test_message ("%s, precision %d", (*f)->name, precision);
        check_cuts (*f, device, &task, precision, projections);
      }
  td_cone_task_clear (&task);
  g_assert_cmpuint (td_test_live_objects (device), ==, 0);
}

static void
test_turned (gconstpointer id)
{
  test_cuts (id, &cases[0]);
}

static void
test_odd (gconstpointer id)
{
  test_cuts (id, &cases[1]);
}

static void
test_thin (gconstpointer id)
{
  test_cuts (id, &cases[2]);
}

static void
test_tilted (gconstpointer id)
{
  test_cuts (id, &cases[3]);
}

static void
test_columns (gconstpointer id)
{
  test_cuts (id, &cases[4]);
}

static void
check_truth (const TdConeTask *task, const float *projections, const float *volume)
{
  const gsize samples = (gsize) task->nx * task->ny * task->nz;
  g_autofree double *truth = g_new (double, samples);

  td_cone_reference (task, projections, truth);
  g_assert_cmpfloat (td_truth_relative_rms (volume, truth, samples), <, 1e-5);
}

/* The host's slabs come by bands of rows of voxels, which are the same to the last bit as the
   whole. Views that were arranged for one band serve the others, but not the next slab's. */
static void
test_bands (void)
{
  static const Case some[] = {
    { "upright", 34, 70, 17, 19, 23, 52, -1.2, 3.3, 0 }, /* one view more than a batch */
    { "tilted", 32, 40, 18, 21, 23, 34, 0.7, -2, 0.05 },
    { "thin", 34, 40, 5, 19, 23, 6, -1.2, 3.3, 0 },
    { "tall", 12, 60, 5, 5, 23, 330, 0, 0.4, 0 }, /* slabs of more slices than are summed at once */
  };
  static const guint ends[][4] = { { 23 }, { 1, 23 }, { 16, 23 }, { 5, 6, 22, 23 } };
  g_autoptr (TdDevice) device = td_test_open ("host");

  for (guint i = 0; i < G_N_ELEMENTS (some) * G_N_ELEMENTS (ends) * 2; i++) {
    const Case *c = &some[i / 2 / G_N_ELEMENTS (ends)];
    const guint *end = ends[i / 2 % G_N_ELEMENTS (ends)];
    g_autoptr (GError) error = NULL;
    g_autoptr (TdQueue) queue = td_queue_new (device, &error);
    TdConeTask task;

    make_task (c, &task);
    const guint slab_slices = (task.nz + 1) / 2;
    const gsize n = (gsize) c->n_views * c->n_rows * c->n_columns;
    const gsize slice = (gsize) task.nx * task.ny, samples = slice * task.nz;
    const TdConeLimits limits = {
      .max_views = c->n_views, .max_rows = c->n_rows, .max_slices = slab_slices, .bands = i % 2
    };
    g_autofree float *whole = g_new (float, samples);
    g_autofree guint *views = g_new (guint, c->n_views);
    g_autoptr (TdBuffer) projections = td_buffer_new (device, n * sizeof (float), &error);
    g_autoptr (TdConeProjector) projector
        = td_cone_projector_new (&td_cone_family_host, device, &task, &limits, &error);
    g_assert_no_error (error);
    td_test_random (td_buffer_map (projections), n, 5);
    for (guint view = 0; view < c->n_views; view++)
      views[view] = view;
    td_test_cone_slabs (&(TdTestConeSlabs) { &td_cone_family_host, device, TD_PRECISION_SINGLE,
                                             task.nz, c->n_views },
                        &task, td_buffer_map (projections), whole);
    if (i % 2 == 0 && end == ends[0])
      check_truth (&task, td_buffer_map (projections), whole);
    for (guint k = 0; k < task.nz; k += slab_slices) {
      const guint count = MIN (slab_slices, task.nz - k);
      const gsize bytes = count * slice * sizeof (float);
      const TdConeBatch batch = { projections, { 0, c->n_rows }, views, c->n_views };
      g_autoptr (TdBuffer) volume = td_buffer_new (device, bytes, &error);
      td_fill_zero (queue, volume, 0, bytes, &error);
      for (guint b = 0, from = 0; from < task.ny; from = end[b++]) {
        const TdConeSlab slab = { volume, k, count, { from, end[b] - from } };
        td_cone_projector_add (projector, queue, &batch, &slab, NULL, &error);
        g_assert_no_error (error);
      }
      g_test_message ("%s %u, slice %u", c->name, i, k);
      g_assert_cmpmem (td_buffer_map (volume), bytes, whole + k * slice, bytes);
    }
    td_cone_task_clear (&task);
  }
}

int
main (int argc, char **argv)
{
  const TdDeviceTest tests[] = {
    { "turned", test_turned }, { "odd", test_odd },         { "thin", test_thin },
    { "tilted", test_tilted }, { "columns", test_columns },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cone-cuts/bands", test_bands);
  td_test_each_device ("cone-cuts", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
