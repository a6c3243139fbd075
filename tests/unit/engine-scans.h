/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* What the tests of the engine share: scans that count their reads, recipes, and the engine. */
#include <math.h>
#include <string.h>

#include "compute/engine/fbp/fbp.h"
#include "tests/common/inner-scan.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

static TdEngine *engine;

/* A scan that counts how often it is read, and can spoil its samples. */
typedef struct {
  TdScan *inner;
  gint reads;
  gsize bytes; /* of projections */
  void (*spoil) (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                 guint count, float *frames);
} Counting;

static inline void
count_read (Counting *counting, const TdFrameRange *range)
{
  const TdScanFacts *facts = td_scan_facts (counting->inner);

  g_atomic_int_inc (&counting->reads);
  g_atomic_pointer_add (&counting->bytes, (gsize) range->count * range->n_rows * facts->n_columns
                                              * td_sample_size (facts->sample_type));
}

static inline gboolean
counting_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
               GCancellable *cancellable, GError **error)
{
  Counting *counting = source;

  if (range->kind == TD_FRAME_PROJECTION)
    count_read (counting, range);
  if (!counting->spoil)
    return td_scan_fill (counting->inner, range, target, cancellable, error);
  const gsize n_columns = td_scan_facts (counting->inner)->n_columns;
  g_autofree float *frames = g_new (float, range->count * range->n_rows * n_columns);
  if (!td_scan_read (counting->inner, range, frames, cancellable, error))
    return FALSE;
  counting->spoil (range->kind, range->first, range->row0, range->n_rows, (guint) n_columns,
                   range->count, frames);
  for (gsize i = 0; i < range->count; i++)
    for (gsize row = 0; row < range->n_rows; row++)
      memcpy (td_frame_target_row (target, i, row), frames + (i * range->n_rows + row) * n_columns,
              n_columns * sizeof *frames);
  return TRUE;
}

static const TdScanSource counting_vtable = { .fill = counting_fill };

static inline TdScan *
counting_scan (Counting *counting, TdScan *inner)
{
  counting->inner = inner;
  return td_test_scan_around (inner, &counting_vtable, counting);
}

static inline TdScan *
phantom_scan (guint n_columns, guint n_rows, guint n_views)
{
  TdPhantomScan spec;
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (&spec, NULL, n_columns, n_rows, n_views);
  spec.centre_px = n_columns / 2.0 + 1.25;
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

static inline void
recipe_init (TdRecipe *recipe, const char *device, double centre_px)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  recipe->centre_px = centre_px;
}

static inline void
reconstruct (TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
}

static inline void
assert_close (const float *a, const float *b, gsize n, double limit)
{
  g_autofree double *reference = g_new (double, n);

  for (gsize i = 0; i < n; i++)
    reference[i] = b[i];
  g_assert_cmpfloat (td_truth_relative_rms (a, reference, n), <, limit);
}

static inline gboolean
have_opencl (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();

  return g_ptr_array_find_with_equal_func (devices, "opencl:0", g_str_equal, NULL);
}

/* FALSE after skipping the test, which is for an OpenCL device. */
static inline gboolean
have_device (const char *id)
{
  const gboolean have = !g_str_has_prefix (id, "opencl") || have_opencl ();

  if (!have)
    g_test_skip ("no OpenCL device");
  return have;
}
