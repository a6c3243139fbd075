/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kernels can do on a card that has everything, on either side of each limit. Nothing is run:
   the card is a description. */
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/parallel/backproject.h"

typedef struct {
  TdBackprojectTask task;
  TdDeviceInfo card;
} Problem;

static Problem
problem (void)
{
  return (Problem) {
    .task = { .n_columns = 1000,
              .n_views = 500,
              .nx = 64,
              .ny = 64,
              .step = 1,
              .interpolation = TD_INTERPOLATION_LINEAR,
              .precision = TD_PRECISION_SINGLE },
    .card = { .id = (char *) "card:0",
              .name = (char *) "card",
              .kind = TD_DEVICE_GPU,
              .memory_bytes = (guint64) 64 << 30,
              .max_alloc_bytes = (guint64) 64 << 30,
              .compute_units = 100,
              .warp_width = 32,
              .local_memory_bytes = 48 << 10,
              .max_group_size = 1024,
              .texture_max = { 131072, 65536 },
              .texture_max_layers = 2048,
              .texels = ~0u,
              .texture_linear = TRUE,
              .half_storage = TRUE,
              .half_arithmetic = TRUE,
              .double_arithmetic = TRUE,
              .shuffle = TRUE },
  };
}

/* ── Parallel beams ── */

typedef struct {
  const char *family;
  void (*change) (Problem *problem, guint value);
  guint value;
  const char *says; /* NULL: it can */
} Case;

static void
set_views (Problem *p, guint value)
{
  p->task.n_views = value;
}

static void
set_columns (Problem *p, guint value)
{
  p->task.n_columns = value;
}

static void
set_precision (Problem *p, guint value)
{
  p->task.precision = value;
}

static void
set_host (Problem *p, guint value)
{
  p->card.host_pointers = value;
}

/* Half precision where the card cannot store it (1), or not calculate in it (2); or a CPU (3). */
static void
set_without_half (Problem *p, guint value)
{
  p->task.precision = value == 1 ? TD_PRECISION_HALF : TD_PRECISION_HALF_RUN;
  p->card.half_storage = value != 1;
  p->card.half_arithmetic = FALSE;
  p->card.kind = value == 3 ? TD_DEVICE_CPU : TD_DEVICE_GPU;
}

/* Without filtering by the hardware. */
static void
set_unfiltered (Problem *p, guint interpolation)
{
  p->card.texture_linear = FALSE;
  p->task.interpolation = interpolation;
}

static void
set_small_textures (Problem *p, guint views)
{
  p->card.texture_max[0] = 2000;
  p->card.texture_max[1] = 1000;
  p->task.n_columns = 2000;
  p->task.n_views = views;
}

static void
set_small_widths (Problem *p, guint columns)
{
  set_small_textures (p, 1000);
  p->task.n_columns = columns;
}

#define GPUS "it is made for GPUs"
#define MANY "it takes at most 60000 views"

static const Case cases[] = {
  { "alu", set_views, 500, NULL },
  { "alu", set_host, TRUE, GPUS },
  { "alu", set_views, 60000, NULL },
  { "alu", set_views, 60001, MANY },
  { "alu", set_precision, TD_PRECISION_HALF, NULL },
  { "alu", set_precision, TD_PRECISION_HALF_RUN, NULL },
  { "alu", set_without_half, 1, "cannot store half-precision" },
  { "alu", set_without_half, 2, "cannot calculate in half precision" },
  { "alu", set_without_half, 3, NULL },
  { "texture", set_views, 500, NULL },
  { "texture", set_host, TRUE, GPUS },
  { "texture", set_views, 60000, NULL },
  { "texture", set_views, 60001, MANY },
  { "texture", set_precision, TD_PRECISION_HALF, NULL },
  { "texture", set_precision, TD_PRECISION_HALF_RUN, "adds nothing in half precision" },
  { "texture", set_unfiltered, TD_INTERPOLATION_LINEAR, "no textures that can do it" },
  { "texture", set_unfiltered, TD_INTERPOLATION_NEAREST, NULL },
  { "texture", set_small_textures, 1000, NULL },
  { "texture", set_small_textures, 1001, "larger than a texture" },
  { "texture", set_small_widths, 2000, NULL },
  { "texture", set_small_widths, 2001, "larger than a texture" },
  { "standard", set_columns, 5000, NULL },
  { "standard", set_host, TRUE, GPUS },
  { "standard", set_precision, TD_PRECISION_HALF, "single precision only" },
  { "oversampling", set_host, TRUE, GPUS },
  { "hybrid", set_host, TRUE, GPUS },
};

static void
test_parallel (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdBackprojectFamily *const *family = td_backproject_families ();
    Problem p = problem ();

    while (*family && !g_str_equal ((*family)->name, cases[i].family))
      family++;
    g_assert_nonnull (*family);
    cases[i].change (&p, cases[i].value);
    const char *reason = (*family)->unsupported (&p.task, &p.card);
    g_test_message ("%u: %s: %s", i, cases[i].family, reason ? reason : "can");
    g_assert_cmpint (reason != NULL, ==, cases[i].says != NULL);
    if (reason)
      g_assert_nonnull (strstr (reason, cases[i].says));
  }
}

/* ── Cone beams ── */

/* Sides above 65536 pixels or voxels, and views that with a margin have more than 2^31 pixels. */
static void
test_cone (void)
{
  static const struct {
    guint nx, ny, n_columns, n_rows;
    const char *says;
  } sizes[] = {
    { 64, 64, 64, 64, NULL },
    { 65536, 64, 64, 64, NULL },
    { 65537, 64, 64, 64, "sides above 65536" },
    { 64, 65536, 64, 64, NULL },
    { 64, 65537, 64, 64, "sides above 65536" },
    { 64, 64, 65536, 64, NULL },
    { 64, 64, 65537, 64, "sides above 65536" },
    { 64, 64, 64, 65536, NULL },
    { 64, 64, 64, 65537, "sides above 65536" },
    { 64, 64, 32766, 65532, NULL },
    { 64, 64, 32766, 65533, "more than 2^31 pixels" },
    { 64, 64, 32767, 65532, "more than 2^31 pixels" },
  };
  guint seen = 0;

  for (const TdConeFamily *const *family = td_cone_families (); *family; family++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
      const Problem p = problem ();
      const TdConeTask task = { .nx = sizes[i].nx,
                                .ny = sizes[i].ny,
                                .nz = 64,
                                .n_columns = sizes[i].n_columns,
                                .n_rows = sizes[i].n_rows,
                                .n_views = 0,
                                .voxel_mm = 1 };
      const char *reason = (*family)->unsupported (&task, TD_PRECISION_SINGLE, &p.card);
      g_test_message ("%s %u: %s", (*family)->name, i, reason ? reason : "can");
      if (!sizes[i].says) {
        g_assert_true (!reason || !(strstr (reason, "65536") || strstr (reason, "2^31")));
        continue;
      }
      g_assert_nonnull (reason);
      seen += strstr (reason, sizes[i].says) != NULL;
    }
  g_assert_cmpuint (seen, ==, 4 * 6); /* of all families but the host's */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/family-limits/parallel", test_parallel);
  g_test_add_func ("/family-limits/cone", test_cone);
  return g_test_run ();
}
