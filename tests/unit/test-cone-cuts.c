/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tests/common/cone-slabs.h"
#include "tests/common/devices.h"

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

int
main (int argc, char **argv)
{
  const TdDeviceTest tests[] = {
    { "turned", test_turned }, { "odd", test_odd },         { "thin", test_thin },
    { "tilted", test_tilted }, { "columns", test_columns },
  };

  g_test_init (&argc, &argv, NULL);
  td_test_each_device ("cone-cuts", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
