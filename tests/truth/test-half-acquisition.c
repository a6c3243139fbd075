/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Half acquisition: a detector sees one side of the axis over a full turn. Its slices agree with
   those of a detector of the wide field's full width, and with the object. */
#include <math.h>
#include <string.h>

#include "compute/axis/axis-line.h"
#include "compute/methods/methods.h"
#include "compute/parallel/backproject.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"
#include "tests/common/pins.h"

static TdEngine *engine;

typedef struct {
  const char *name;
  guint n_columns, n_views;
  double centre_px, tilt_deg, first_deg, range_deg;
  gboolean end_point;
} Field;

static const Field fields[] = {
  { "left", 128, 720, 20.3, 0, 0, 360, FALSE },
  { "right", 128, 720, 106.75, 0, 0, 360, FALSE },
  { "odd-sizes", 97, 541, 13, 0, 7, 360, TRUE },
  { "narrow-overlap", 101, 600, 3.5, 0, 0, -360, FALSE },
  { "wide-overlap", 96, 480, 40.2, 0, 0, 360, FALSE },
  { "tilted", 96, 600, 14.6, 2, 0, 360, FALSE },
  { "more-than-a-turn", 80, 660, 64.4, 0, 0, 396, FALSE },
};

typedef struct {
  const char *device, *family;
  const Field *field;
} Case;

static void
describe (const Field *field, TdPhantomScan *spec)
{
  /* Cylinders along the axis: about a tilted one, other bodies show opposite views other heights.
   */
  td_phantom_scan_init (spec, field->tilt_deg == 0 ? "shepp-logan" : "discs", field->n_columns, 21,
                        field->n_views);
  spec->centre_px = field->centre_px;
  spec->tilt_deg = field->tilt_deg;
  spec->first_deg = field->first_deg;
  spec->range_deg = field->range_deg;
  spec->end_point = field->end_point;
  spec->offset_field = TRUE;
  spec->logged = TRUE;
}

static void
set_recipe (TdRecipe *recipe, const Case *c, const char *field_of_view)
{
  g_autoptr (GError) error = NULL;

  td_recipe_init (recipe);
  recipe->filter.kind = TD_FILTER_HANN;
  g_strlcpy (recipe->devices, c->device, sizeof recipe->devices);
  g_strlcpy (recipe->family, c->family, sizeof recipe->family);
  g_assert_true (td_recipe_set (recipe, "field-of-view", field_of_view, &error));
  g_assert_no_error (error);
}

/* Relative error against the object within @part of the field's radius. */
static double
error_of (const TdTestVolume *volume, const float *truth, double part)
{
  const guint n = volume->nx;
  double squares = 0, reference = 0;

  for (guint i = 0; i < n * n; i++) {
    const double x = i % n - (n - 1) / 2.0, y = i / n - (n - 1) / 2.0;
    if (hypot (x, y) > part * n / 2)
      continue;
    squares += (volume->slices[i] - truth[i]) * (volume->slices[i] - truth[i]);
    reference += truth[i] * truth[i];
  }
  return sqrt (squares / reference);
}

/* The error of the same object on a detector as wide as the field. The axis is in its middle, or as
   near to it as the half detector's columns allow. */
static double
full_width_error (const Case *c, const TdPhantomScan *half, guint row, const float *truth, guint n)
{
  TdPhantomScan spec = *half;
  TdRecipe recipe;
  TdTestVolume volume;
  g_autoptr (GError) error = NULL;

  spec.n_columns = n;
  spec.centre_px = NAN;
  spec.attenuation = half->attenuation * n / td_phantom_scan_side (half);
  spec.offset_field = FALSE;
  spec.range_deg = copysign (180, half->range_deg);
  spec.n_views = (guint) floor (half->n_views / fabs (half->range_deg) * 180);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  set_recipe (&recipe, c, "auto");
  recipe.row_first = row;
  recipe.row_end = row + 1;
  recipe.tilt_deg = spec.tilt_deg;
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (volume.nx, ==, n);
  const double found = error_of (&volume, truth, 0.95);
  td_test_volume_clear (&volume);
  return found;
}

/* The relative difference of a slice from that of the same cylinders about an upright axis. That
   axis lies where the tilted one lies at this row. Only pixels that both have count. */
static double
differs_from_upright (const Case *c, const TdPhantomScan *tilted, guint row,
                      const TdTestVolume *slice)
{
  const TdAxisLine axis = td_axis_line (tilted->centre_px, tilted->tilt_deg, tilted->n_rows);
  const guint n = slice->nx;
  TdPhantomScan spec = *tilted;
  TdRecipe recipe;
  TdTestVolume volume;
  g_autoptr (GError) error = NULL;
  double squares = 0, reference = 0;

  spec.tilt_deg = 0;
  spec.centre_px = td_axis_line_at (&axis, row);
  spec.fill = td_phantom_scan_side (tilted) / td_phantom_scan_side (&spec);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  set_recipe (&recipe, c, "auto");
  recipe.row_first = row;
  recipe.row_end = row + 1;
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n, >=, volume.nx);
  const guint edge = (n - volume.nx) / 2;
  g_assert_cmpuint (n, ==, volume.nx + 2 * edge);
  for (guint y = 0; y < volume.nx; y++)
    for (guint x = 0; x < volume.nx; x++) {
      const double upright = volume.slices[y * volume.nx + x];
      squares += pow (slice->slices[(y + edge) * n + x + edge] - upright, 2);
      reference += upright * upright;
    }
  td_test_volume_clear (&volume);
  return sqrt (squares / reference);
}

static void
test_field (gconstpointer data)
{
  const Case *c = data;
  const Field *field = c->field;
  const guint row = 6, n_slices = 2;
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;
  TdTestVolume volume;

  describe (field, &spec);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  set_recipe (&recipe, c, "auto");
  recipe.tilt_deg = field->tilt_deg;
  recipe.row_first = row;
  recipe.row_end = row + n_slices;
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);

  if (field->tilt_deg == 0) {
    const double farther = MAX (field->centre_px, field->n_columns - 1 - field->centre_px);
    g_assert_cmpuint (volume.nx, ==, (guint) ceil (2 * farther + 1 - 1e-9));
  }
  g_assert_cmpuint (volume.ny, ==, volume.nx);
  const guint n = volume.nx;
  g_autofree float *truth = g_new (float, (gsize) n *n);
  td_phantom_scan_truth (&spec, row, n, n, 4, truth);
  const double half = error_of (&volume, truth, 0.95);
  const double full = full_width_error (c, &spec, row, truth, n);
  td_test_pin ("%u pixels: relative error %.4f, of a full-width detector %.4f", n, half, full);
  g_assert_cmpfloat (half, <, 1.1 * full);
  if (field->tilt_deg != 0) {
    const double differs = differs_from_upright (c, &spec, row, &volume);
    td_test_pin ("from an upright axis it differs by %.4f", differs);
    g_assert_cmpfloat (differs, <, 0.01);
  }
  td_test_volume_clear (&volume);
}

/* ── By hand ── */

/* The definition in double: weight, put into the wide row, filter, back-project over the whole
 * turn. */
static double *
by_hand (const float *sinogram, const double *angles_rad, guint n_views, guint n_columns,
         double centre_px, const TdFilter *filter, guint n)
{
  const double last = n_columns - 1, overlap = MAX (MIN (centre_px, last - centre_px), 0.5);
  const gboolean left = centre_px <= last / 2;
  const guint shift = left ? n - n_columns : 0;
  g_autofree float *wide = g_new0 (float, (gsize) n_views *n);
  g_autofree double *weights = g_new (double, n_views);

  for (guint v = 0; v < n_views; v++)
    for (guint u = 0; u < n_columns; u++) {
      const double outwards = left ? u - centre_px : centre_px - u;
      const double t = CLAMP ((outwards + overlap) / (2 * overlap), 0, 1);
      wide[(gsize) v * n + shift + u]
          = (float) (pow (t, 3) * (10 - 15 * t + 6 * t * t) * sinogram[(gsize) v * n_columns + u]);
    }
  if (filter->extend_edges) /* the outer edge goes on; the inner one weighs nothing */
    for (guint v = 0; v < n_views; v++)
      for (guint u = 0; u < n; u++)
        if (left ? u >= shift + n_columns : u >= n_columns)
          wide[(gsize) v * n + u] = wide[(gsize) v * n + shift + n_columns - 1];
  for (guint v = 0; v < n_views; v++)
    weights[v] = 2 * G_PI / n_views;

  TdBackprojectTask task = {
    .n_columns = n,
    .n_views = n_views,
    .nx = n,
    .ny = n,
    .x0 = -(n - 1.0) / 2,
    .y0 = (n - 1) / 2.0,
    .step = 1,
    .centre_px = centre_px + shift,
    .angles_rad = angles_rad,
    .weights = weights,
    .scale = 1,
    .interpolation = TD_INTERPOLATION_LINEAR,
  };
  return td_truth_fbp (filter, &task, wide);
}

static const struct {
  guint n_columns, n_views, n_rows;
  double centre_px;
  gboolean extend_edges;
} noises[] = {
  { 31, 40, 3, 4.3, FALSE }, { 31, 41, 3, 26.15, TRUE }, { 64, 54, 18, 63, FALSE },
  { 1, 24, 1, 0, FALSE },    { 45, 60, 2, 22, FALSE },   { 33, 50, 1, -3.5, FALSE },
};

static void
test_by_hand (gconstpointer id)
{
  for (guint i = 0; i < G_N_ELEMENTS (noises); i++) {
    const guint columns = noises[i].n_columns, views = noises[i].n_views, rows = noises[i].n_rows;
    g_autofree float *sinograms = g_new (float, (gsize) rows *views *columns);
    g_autofree double *angles = g_new (double, views);
    const Case c = { id, "auto", NULL };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    TdTestVolume volume;

    td_test_random (sinograms, (gsize) rows * views * columns, 77 + i);
    for (guint v = 0; v < views; v++)
      angles[v] = 0.3 + 2 * G_PI * v / views;
    g_autoptr (TdScan) scan = td_test_scan (sinograms, rows, views, columns, angles);
    set_recipe (&recipe, &c, "half");
    recipe.centre_px = noises[i].centre_px;
    recipe.filter.extend_edges = noises[i].extend_edges;
    td_test_reconstruct (engine, scan, &recipe, &volume, &error);
    g_assert_no_error (error);
    for (guint row = 0; row < rows; row++) {
      const gsize pixels = (gsize) volume.nx * volume.ny;
      g_autofree double *truth = by_hand (sinograms + (gsize) row * views * columns, angles, views,
                                          columns, noises[i].centre_px, &recipe.filter, volume.nx);
      const double off = td_truth_relative_rms (volume.slices + row * pixels, truth, pixels);
      td_test_pin ("%u columns, axis at %g, row %u: %.2e", columns, noises[i].centre_px, row, off);
      g_assert_cmpfloat (off, <, 1e-5);
    }
    td_test_volume_clear (&volume);
  }
}

/* The same views in another order, some of them twice; and a part of the slice. */
static void
test_order (gconstpointer id)
{
  const guint columns = 41, views = 60, more = 75, rows = 2;
  const Case c = { id, "auto", NULL };
  const gint region[4] = { 3, 50, 40, 11 };
  g_autofree float *sinograms = g_new (float, rows *more *columns);
  g_autofree float *mixed = g_new (float, rows *more *columns);
  g_autofree double *angles = g_new (double, more), *mixed_angles = g_new (double, more);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  TdTestVolume plain, volume, part;

  td_test_random (sinograms, rows * views * columns, 5);
  for (guint v = 0; v < views; v++)
    angles[v] = 2 * G_PI * v / views;
  for (guint v = 0; v < more; v++) {
    const guint from
        = v < views ? v * 23 % views : (v * 7) % views; /* 23 and 60: all of them once */
    mixed_angles[v] = angles[from] + (v % 3) * 2 * G_PI;
    for (guint row = 0; row < rows; row++)
      memcpy (mixed + (row * more + v) * columns, sinograms + (row * views + from) * columns,
              columns * sizeof (float));
  }
  g_autoptr (TdScan) scan = td_test_scan (sinograms, rows, views, columns, angles);
  g_autoptr (TdScan) shuffled = td_test_scan (mixed, rows, more, columns, mixed_angles);
  set_recipe (&recipe, &c, "half");
  recipe.centre_px = 5.2;
  td_test_reconstruct (engine, scan, &recipe, &plain, &error);
  g_assert_no_error (error);
  td_test_reconstruct (engine, shuffled, &recipe, &volume, &error);
  g_assert_no_error (error);
  memcpy (recipe.region, region, sizeof region);
  td_test_reconstruct (engine, scan, &recipe, &part, &error);
  g_assert_no_error (error);

  const guint n = plain.nx;
  const gsize pixels = (gsize) rows * n * n;
  g_autofree double *truth = g_new (double, pixels);
  for (gsize i = 0; i < pixels; i++)
    truth[i] = plain.slices[i];
  g_assert_cmpfloat (td_truth_relative_rms (volume.slices, truth, pixels), <, 1e-5);
  for (guint row = 0; row < rows; row++)
    for (gint y = 0; y < region[3]; y++)
      for (gint x = 0; x < region[2]; x++)
        g_assert_cmpfloat_with_epsilon (part.slices[(row * region[3] + y) * region[2] + x],
                                        truth[(row * n + region[1] + y) * n + region[0] + x], 1e-4);
  td_test_volume_clear (&plain);
  td_test_volume_clear (&volume);
  td_test_volume_clear (&part);
}

/* ── When it is taken, and when refused ── */

static const struct {
  double centre_px, range_deg;
  gboolean stated;
  const char *asked;
  gboolean wide; /* 2: refused */
} choices[] = {
  { 10, 360, FALSE, "auto", TRUE },  { 10, 360, FALSE, "full", FALSE },
  { 25, 360, FALSE, "auto", FALSE }, { 25, 360, TRUE, "auto", TRUE },
  { 25, 360, FALSE, "half", TRUE },  { 10, 180, TRUE, "auto", FALSE },
  { 10, 180, FALSE, "half", 2 },     { 10, 300, TRUE, "auto", TRUE },
  { 10, 300, FALSE, "auto", FALSE },
};

static void
test_choice (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    const guint n = 64, views = 60;
    g_autofree float *values = g_new0 (float, n *views);
    g_autofree double *angles = g_new (double, views);
    const Case c = { "host", "auto", NULL };
    g_autoptr (GError) error = NULL;
    TdScanFacts facts = {
      .n_columns = n,
      .n_rows = 1,
      .n_views = views,
      .sample_type = TD_SAMPLE_FLOAT32,
      .transmission_logged = TRUE,
      .angles_rad = angles,
      .half_acquisition = choices[i].stated,
    };
    TdRecipe recipe;

    for (guint v = 0; v < views; v++)
      angles[v] = choices[i].range_deg * v / views * G_PI / 180;
    td_geometry_init_parallel (&facts.geometry);
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, values, NULL, NULL, NULL, NULL);
    set_recipe (&recipe, &c, choices[i].asked);
    recipe.centre_px = choices[i].centre_px;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    td_test_pin ("choice %u", i);
    if (choices[i].wide == 2) {
      g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpint (td_plan_facts (plan)->half_acquisition, ==, choices[i].wide);
    g_assert_cmpuint (td_plan_facts (plan)->nx, ==,
                      choices[i].wide ? 2 * (n - 1 - (guint) choices[i].centre_px) + 1 : n);
  }
}

/* A preview whose centre is dragged: the engine's working set follows to another width. */
static void
test_drag (gconstpointer id)
{
  static const double centres[] = { 12.25, 12.3, 14, 12.25 };
  const Case c = { id, "auto", NULL };
  const Field field = { "drag", 64, 200, 12.25, 0, 0, 360, FALSE };
  TdPhantomScan spec;
  TdTestVolume volumes[G_N_ELEMENTS (centres)];
  g_autoptr (GError) error = NULL;

  describe (&field, &spec);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (centres); i++) {
    TdRecipe recipe;
    set_recipe (&recipe, &c, "auto");
    recipe.centre_px = centres[i];
    recipe.row_first = 3;
    recipe.row_end = 4;
    td_test_reconstruct (engine, scan, &recipe, &volumes[i], &error);
    g_assert_no_error (error);
    g_assert_cmpuint (volumes[i].nx, ==, (guint) ceil (2 * (63 - centres[i]) + 1));
  }
  const gsize bytes = (gsize) volumes[0].nx * volumes[0].nx * sizeof (float);
  g_assert_cmpmem (volumes[0].slices, bytes, volumes[3].slices, bytes);
  g_assert_cmpuint (volumes[0].nx, ==, volumes[1].nx);
  g_assert_cmpint (memcmp (volumes[0].slices, volumes[1].slices, bytes), !=, 0);
  for (guint i = 0; i < G_N_ELEMENTS (centres); i++)
    td_test_volume_clear (&volumes[i]);
}

/* ── The axis nobody stated ── */

/* The scan's frames without what it says about its axis. */
static TdScan *
without_centre (TdScan *scan)
{
  TdScanFacts facts = *td_scan_facts (scan);
  const gsize frame = (gsize) facts.n_rows * facts.n_columns;
  float *all = g_new (float, frame *(facts.n_views + facts.n_flats + facts.n_darks));
  float *flats = all + frame * facts.n_views, *darks = flats + frame * facts.n_flats;
  g_autoptr (GError) error = NULL;

  facts.centre_px = NAN;
  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts.n_views, 0, facts.n_rows },
                all, NULL, &error);
  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_FLAT, 0, facts.n_flats, 0, facts.n_rows }, flats,
                NULL, &error);
  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_DARK, 0, facts.n_darks, 0, facts.n_rows }, darks,
                NULL, &error);
  g_assert_no_error (error);
  return td_scan_new_from_memory (&facts, all, flats, darks, g_free, all);
}

static const struct {
  const char *phantom;
  guint n_columns;
  double centre_px, photons;
} unknowns[] = {
  { "shepp-logan", 128, 20.31, 30000 },
  { "discs", 101, 84.62, 5000 },
  { "ellipsoids", 140, 11.5, 100000 },
  { "boxes", 120, 103.77, 20000 },
};

/* --centre auto: found, and the slice is as good as with the axis known. */
static void
test_auto (void)
{
  const Case c = { "host", "auto", NULL };

  /* The suite "slow" has them all. */
  for (guint i = 0; i < G_N_ELEMENTS (unknowns); i += g_test_slow () ? 1 : 3) {
    const Field field
        = { "auto", unknowns[i].n_columns, 600, unknowns[i].centre_px, 0, 0, 360, FALSE };
    TdPhantomScan spec;
    TdRecipe recipe;
    g_autoptr (GError) error = NULL;

    describe (&field, &spec);
    spec.phantom = unknowns[i].phantom;
    spec.logged = FALSE;
    spec.photons = unknowns[i].photons;
    g_autoptr (TdScan) known = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    g_autoptr (TdScan) scan = without_centre (known);
    set_recipe (&recipe, &c, "auto");
    recipe.centre_auto = TRUE;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdPlanFacts *facts = td_plan_facts (plan);
    td_test_pin ("%s, axis %.2f: %.3f. %s", spec.phantom, spec.centre_px, facts->centre_px,
                 td_message_id (facts->notes[0]));
    g_assert_cmpfloat_with_epsilon (facts->centre_px, spec.centre_px, 0.25);
    g_assert_true (facts->half_acquisition);
  }
}

static void
add_device (const char *device)
{
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    Case c = { device, "auto", &fields[i] };
    g_autofree char *path = g_strdup_printf ("/half/%s/%s", device, fields[i].name);
    g_test_add_data_func_full (path, g_memdup2 (&c, sizeof c), test_field, g_free);
  }
  g_autofree char *hand = g_strdup_printf ("/half/%s/by-hand", device);
  g_autofree char *drag = g_strdup_printf ("/half/%s/drag", device);
  g_autofree char *order = g_strdup_printf ("/half/%s/order", device);
  g_test_add_data_func_full (hand, g_strdup (device), test_by_hand, g_free);
  g_test_add_data_func_full (drag, g_strdup (device), test_drag, g_free);
  g_test_add_data_func_full (order, g_strdup (device), test_order, g_free);
}

/* Slow (-m slow): each family that takes the task on this device, on one field. */
static void
add_families (const char *id)
{
  g_autoptr (TdDevice) device = td_device_open (id, NULL);
  const double angles[] = { 0, 1 };
  const TdBackprojectTask task = {
    .n_columns = 215,
    .n_views = 2,
    .nx = 215,
    .ny = 215,
    .x0 = -107,
    .y0 = 107,
    .step = 1,
    .centre_px = 107,
    .angles_rad = angles,
    .scale = 1,
    .interpolation = TD_INTERPOLATION_LINEAR,
  };

  for (const TdBackprojectFamily *const *family = td_backproject_families (); *family; family++) {
    if ((*family)->unsupported (*family, &task, td_device_info (device)))
      continue;
    Case c = { id, (*family)->name, &fields[0] };
    g_autofree char *path = g_strdup_printf ("/half/families/%s-%s", id, (*family)->name);
    g_test_add_data_func_full (path, g_memdup2 (&c, sizeof c), test_field, g_free);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) devices = td_test_devices ();

  g_test_add_func ("/half/choice", test_choice);
  g_test_add_func ("/half/auto", test_auto);
  for (guint i = 0; i < devices->len; i++) {
    add_device (devices->pdata[i]);
    if (g_test_slow ())
      add_families (devices->pdata[i]);
  }
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
