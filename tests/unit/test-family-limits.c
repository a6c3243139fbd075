/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kernels can do on a card that has everything, on either side of each limit. Nothing is run:
   the card is a description. */
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/device/host.h"
#include "compute/parallel/alu-shape.h"
#include "compute/parallel/families.h"
#include "compute/parallel/fourier-shape.h"
#include "compute/parallel/host-backproject-pass.h"
#include "compute/parallel/place-error.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

typedef struct {
  TdBackprojectTask task;
  TdDeviceInfo card;
} Problem;

static Problem
problem (void)
{
  const guint64 memory = (guint64) 64 << 30;
  Problem whole = {
    .task = { .n_columns = 1000,
              .n_views = 500,
              .nx = 64,
              .ny = 64,
              .step = 1,
              .interpolation = TD_INTERPOLATION_LINEAR,
              .precision = TD_PRECISION_SINGLE },
    .card = td_test_card ("card:0", "card", memory),
  };
  whole.card.max_alloc_bytes = memory;
  return whole;
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

#define GPUS "it is made for graphics cards"
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
    const char *reason = (*family)->unsupported (*family, &p.task, &p.card);
    g_test_message ("%u: %s: %s", i, cases[i].family, reason ? reason : "can");
    g_assert_cmpint (reason != NULL, ==, cases[i].says != NULL);
    if (reason)
      g_assert_nonnull (strstr (reason, cases[i].says));
  }
}

/* Two slices in half precision go into texels of four numbers where the card has none of two. */
static void
test_texels (void)
{
  static const struct {
    TdTexel texel;
    guint slices;
  } cards[] = { { TD_TEXEL_RG16F, 2 }, { TD_TEXEL_RGBA16F, 4 } };

  for (guint i = 0; i < G_N_ELEMENTS (cards); i++) {
    Problem p = problem ();

    p.task.precision = TD_PRECISION_HALF;
    p.card.texels = 1u << cards[i].texel;
    const guint64 bytes = td_family_hybrid.workspace_bytes (&td_family_hybrid, &p.task, &p.card, 2);
    p.card.texels = ~0u;
    g_assert_cmpuint (bytes, >, 0);
    g_assert_cmpuint (
        bytes, ==,
        td_family_hybrid.workspace_bytes (&td_family_hybrid, &p.task, &p.card, cards[i].slices));
  }
}

/* What is allocated for many slices is enough where fewer remain: those take other blocks of views.
 */
static void
test_fewer_slices (void)
{
  static const guint columns[] = { 1000, 1500, 3000, 4096, 8192, 20000 };

  for (guint device = 0; device < 2; device++)
    for (guint i = 0; i < G_N_ELEMENTS (columns); i++) {
      Problem p = problem ();

      p.card.host_pointers = device == 0;
      p.card.cpu_shaped = TRUE;
      p.task.n_columns = columns[i];
      p.task.n_views = 6000;
      for (guint most = 1, n = 0; most <= 64; most++, n = 0)
        while (++n < most)
          g_assert_cmpuint (
              td_family_host.workspace_bytes (&td_family_host, &p.task, &p.card, n), <=,
              td_family_host.workspace_bytes (&td_family_host, &p.task, &p.card, most));
    }
}

/* How far off each family may be, in millionths. */
static void
test_bounds (void)
{
  static const guint views[] = { 30, 1800 };
  static const double steps[] = { 1, 3 };

  for (const TdBackprojectFamily *const *family = td_backproject_families (); *family; family++)
    for (guint i = 0; i < 12 * G_N_ELEMENTS (steps); i++) {
      Problem p = problem ();
      double angles[1800];

      p.task.n_views = views[i % 2];
      p.task.interpolation = i / 2 % 2;
      p.task.precision = (TdPrecision[]) { TD_PRECISION_SINGLE, TD_PRECISION_HALF,
                                           TD_PRECISION_HALF_RUN }[i / 4 % 3];
      p.task.step = steps[i / 12];
      p.task.centre_px = 499.5;
      p.task.x0 = p.task.step * -31.5;
      p.task.y0 = p.task.step * 31.5;
      p.task.angles_rad = angles;
      for (guint view = 0; view < p.task.n_views; view++)
        angles[view] = G_PI * view / p.task.n_views;
      td_test_pin ("%s %u: %.3f", (*family)->name, i,
                   1e6 * (*family)->error_bound (*family, &p.task, &p.card));
    }
}

/* The tuner tries one, two and four slices at once; in half precision there are two at least. */
static void
test_candidates (void)
{
  const TdBackprojectFamily *const families[] = { &td_family_alu, &td_family_hybrid };

  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    for (guint half = 0; half < 2; half++) {
      Problem p = problem ();
      guint tried[5] = { 0 };

      p.task.precision = half ? TD_PRECISION_HALF : TD_PRECISION_SINGLE;
      g_autoptr (GPtrArray) list = families[f]->candidates (families[f], &p.task, &p.card);
      for (guint i = 0; i < list->len; i++) {
        const TdBackprojectVariant *variant = list->pdata[i];
        g_assert_cmpuint (variant->slices, <=, 4);
        tried[variant->slices]++;
      }
      g_assert_cmpuint (tried[0] + tried[3], ==, 0);
      g_assert_cmpuint (tried[1], ==, half ? 0 : tried[2]);
      g_assert_cmpuint (tried[2], ==, tried[4]);
      g_assert_cmpuint (tried[2], >, 0);
    }
}

/* Positions are rounded as their size has it: the columns, how far the axis is from the first, and
   the region's furthest pixel. */
static void
test_rounding (void)
{
  static const struct {
    guint n_columns;
    double centre_px, x0, y0; /* of one pixel */
  } tasks[] = {
    { 1000, 0, -1, 1 },   { 700, 300, -1, 1 },     { 700, -300, -1, 1 },   { 1000, 0, 0, 0 },
    { 700, 0, -301, 1 },  { 700, 0, 300, 1 },      { 700, 0, -1, 301 },    { 700, 0, -1, -300 },
    { 600, 100, 300, 1 }, { 600, -100, -1, -300 }, { 700, 0, -301, -300 },
  };

  for (guint interpolation = 0; interpolation < 2; interpolation++)
    for (guint i = 1; i < G_N_ELEMENTS (tasks); i++) {
      double errors[2];
      for (guint k = 0; k < 2; k++) {
        const guint from = k ? i : 0;
        const TdBackprojectTask task = { .n_columns = tasks[from].n_columns,
                                         .nx = 1,
                                         .ny = 1,
                                         .step = 1,
                                         .centre_px = tasks[from].centre_px,
                                         .x0 = tasks[from].x0,
                                         .y0 = tasks[from].y0,
                                         .interpolation = interpolation };
        errors[k] = td_texture_error (&task);
      }
      g_test_message ("%u: %.9g, %.9g", i, errors[0], errors[1]);
      g_assert_cmpfloat_with_epsilon (errors[1], errors[0], 1e-6 * errors[0]);
    }
}

/* A row is padded so that no pixel sees its copies, and to 8 values at least. */
static void
test_padded (void)
{
  static const struct {
    guint n_columns, n;
    double centre_px;
    guint padded; /* before it is made a good size */
  } rows[] = { { 1, 1, 0, 8 }, { 2, 2, 0.5, 8 },     { 5, 1, 2, 8 },     { 6, 1, 2.5, 9 },
               { 5, 7, 2, 9 }, { 64, 64, 31.5, 80 }, { 64, 64, 20, 90 }, { 64, 64, 43, 90 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const TdBackprojectTask task = { .n_columns = rows[i].n_columns,
                                     .nx = rows[i].n,
                                     .ny = rows[i].n,
                                     .step = 1,
                                     .centre_px = rows[i].centre_px,
                                     .x0 = (1 - (double) rows[i].n) / 2,
                                     .y0 = ((double) rows[i].n - 1) / 2 };
    g_test_message ("%u", i);
    g_assert_cmpuint (td_fourier_padded (&task), ==, td_fft_good_size (rows[i].padded));
  }
}

/* ── Shapes of the ALU kernels ── */

/* (transfer full) */
static char *
shape_text (const TdAluShape *s)
{
  return g_strdup_printf (
      "%u² by %u, %u views, lanes %u, side %u, cache %u, unroll %u, %u resident%s%s", s->tile,
      s->threads, s->batch, s->lanes, s->side, s->cache, s->unroll, s->resident,
      s->half ? ", half" : "", s->run ? ", runs" : "");
}

/* What was measured to be best, on either side of what decides. That is a group's memory, the
   slices at once, the precision, the step, and the tiles for each processor. */
static void
test_shapes (void)
{
  enum { LINEAR = TD_INTERPOLATION_LINEAR, NEAREST = TD_INTERPOLATION_NEAREST };
  enum { SINGLE = TD_PRECISION_SINGLE, HALF = TD_PRECISION_HALF, RUN = TD_PRECISION_HALF_RUN };
  static const struct {
    guint local_kib_more; /* than 64, in bytes */
    guint slices, samples, interpolation, precision;
    double step;
    guint nx, ny;
    gboolean cpu;
    const char *text;
  } shapes[] = {
    { 0, 1, 1, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" },
    { 1, 1, 1, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 2, cache 3, unroll 4, 2 resident" },
    { 0, 2, 1, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 32 views, lanes 8, side 2, cache 1, unroll 2, 2 resident" },
    { 1, 2, 1, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 32 views, lanes 16, side 2, cache 1, unroll 2, 2 resident" },
    { 0, 4, 1, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 2, cache 1, unroll 2, 2 resident" },
    { 0, 2, 1, LINEAR, HALF, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 8, side 2, cache 1, unroll 2, 2 resident, half" },
    { 0, 4, 1, LINEAR, HALF, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 2, cache 1, unroll 2, 2 resident, half" },
    { 0, 2, 1, LINEAR, RUN, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 8, side 2, cache 1, unroll 2, 2 resident, half, runs" },
    { 0, 4, 1, LINEAR, RUN, 1, 640, 1280, FALSE,
      "64² by 512, 32 views, lanes 16, side 2, cache 1, unroll 2, 1 resident, half, runs" },
    { 0, 2, 1, NEAREST, RUN, 1, 640, 1280, FALSE,
      "64² by 256, 32 views, lanes 16, side 1, cache 1, unroll 2, 2 resident, half, runs" },
    { 0, 1, 1, NEAREST, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 4, 1, NEAREST, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 32, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 4, 1, NEAREST, HALF, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 1, cache 1, unroll 2, 2 resident, half" },
    { 0, 1, 1, LINEAR, SINGLE, 1.01, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 1, 4, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 8 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 4, 2, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 8 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 4, 4, LINEAR, SINGLE, 1, 640, 1280, FALSE,
      "64² by 256, 8 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { 0, 4, 4, LINEAR, HALF, 1, 640, 1280, FALSE,
      "64² by 256, 8 views, lanes 32, side 1, cache 1, unroll 2, 2 resident, half" },
    { 0, 2, 4, LINEAR, RUN, 1, 640, 1280, FALSE,
      "64² by 256, 16 views, lanes 32, side 1, cache 1, unroll 2, 2 resident, half, runs" },
    { 0, 1, 1, LINEAR, SINGLE, 1, 577, 1217, FALSE,
      "64² by 256, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" }, /* as many tiles */
    { 0, 1, 1, LINEAR, SINGLE, 1, 576, 1280, FALSE,
      "32² by 128, 16 views, lanes 16, side 2, cache 3, unroll 4, 8 resident" }, /* fewer than two
                                                                                    for a processor
                                                                                  */
    { 0, 1, 1, LINEAR, SINGLE, 1, 640, 1216, FALSE,
      "32² by 128, 16 views, lanes 16, side 2, cache 3, unroll 4, 8 resident" },
    { 0, 2, 1, LINEAR, SINGLE, 1, 640, 1216, FALSE,
      "32² by 128, 16 views, lanes 16, side 2, cache 1, unroll 2, 4 resident" },
    { 0, 2, 1, LINEAR, RUN, 1, 640, 1216, FALSE,
      "32² by 128, 16 views, lanes 16, side 2, cache 1, unroll 2, 4 resident, half, runs" },
    { 0, 1, 1, LINEAR, SINGLE, 1, 640, 1280, TRUE,
      "32² by 128, 16 views, lanes 16, side 2, cache 3, unroll 1, 8 resident" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    Problem p = problem ();

    p.task.interpolation = shapes[i].interpolation;
    p.task.precision = shapes[i].precision;
    p.task.step = shapes[i].step;
    p.task.nx = shapes[i].nx;
    p.task.ny = shapes[i].ny;
    p.card.local_memory_bytes = (64 << 10) + shapes[i].local_kib_more;
    p.card.cpu_shaped = shapes[i].cpu;
    const TdAluShape shape
        = td_alu_shape_default (&p.task, &p.card, shapes[i].slices, shapes[i].samples);
    g_autofree char *text = shape_text (&shape);
    g_test_message ("%u", i);
    g_assert_cmpstr (text, ==, shapes[i].text);
    g_assert_true (shape.buffers == 2 && shape.ahead == 256 && shape.copy == 16);
    g_assert_true (shape.float_round == 1 && shape.all_share == 1);
  }
}

/* What cannot be together gives way. */
static void
test_shape_fits (void)
{
  static const struct {
    const char *defines;
    guint slices, samples, precision;
    double step;
    const char *text; /* NULL: it cannot be */
  } fits[] = {
    { "", 1, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" },
    { "TD_SIDE=2 TD_CACHE=3", 1, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" },
    { "TD_SIDE=2 TD_CACHE=3", 2, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 8, side 2, cache 1, unroll 2, 2 resident" },
    { "TD_SIDE=2 TD_CACHE=3", 1, 1, TD_PRECISION_SINGLE, 1.01,
      "64² by 256, 16 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { "TD_SIDE=2 TD_CACHE=3", 1, 4, TD_PRECISION_SINGLE, 1,
      "64² by 256, 8 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { "TD_SIDE=1 TD_CACHE=2", 2, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 8, side 1, cache 2, unroll 2, 2 resident" },
    { "TD_SIDE=1 TD_CACHE=2", 4, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 4 views, lanes 16, side 1, cache 1, unroll 2, 2 resident" },
    { "TD_SIDE=2 TD_CACHE=2", 2, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 8, side 2, cache 1, unroll 2, 2 resident" },
    { "TD_SIDE=1 TD_CACHE=2", 2, 1, TD_PRECISION_HALF, 1,
      "64² by 256, 16 views, lanes 8, side 1, cache 1, unroll 2, 2 resident, half" },
    { "TD_SIDE=1 TD_CACHE=2 TD_HALF=1", 2, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 8, side 1, cache 1, unroll 2, 2 resident" },
    { "TD_RUN=32 TD_BATCH=8", 2, 1, TD_PRECISION_HALF_RUN, 1,
      "64² by 256, 8 views, lanes 8, side 2, cache 1, unroll 2, 2 resident, half, runs" },
    { "TD_THREADS=1024 TD_TILE=32 TD_SIDE=1", 1, 1, TD_PRECISION_SINGLE, 1,
      "32² by 1024, 16 views, lanes 32, side 1, cache 1, unroll 4, 3 resident" },
    { "TD_THREADS=1024 TD_TILE=32 TD_SIDE=2", 1, 1, TD_PRECISION_SINGLE, 1,
      "32² by 256, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" },
    { "TD_THREADS=128 TD_TILE=64 TD_SIDE=2", 1, 1, TD_PRECISION_SINGLE, 1,
      "64² by 128, 16 views, lanes 32, side 2, cache 3, unroll 4, 3 resident" },
    { "TD_THREADS=64 TD_TILE=64 TD_SIDE=2", 1, 1, TD_PRECISION_SINGLE, 1, NULL },
    { "TD_THREADS=256 TD_TILE=64 TD_SIDE=1", 1, 1, TD_PRECISION_SINGLE, 1,
      "64² by 256, 16 views, lanes 32, side 1, cache 1, unroll 4, 3 resident" },
    { "TD_THREADS=128 TD_TILE=64 TD_SIDE=1", 1, 1, TD_PRECISION_SINGLE, 1, NULL },
    { "TD_LANES=64 TD_THREADS=64 TD_TILE=32", 1, 1, TD_PRECISION_SINGLE, 1,
      "32² by 64, 16 views, lanes 64, side 2, cache 3, unroll 4, 3 resident" },
    { "", 1, 1, TD_PRECISION_SINGLE, 1e5, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (fits); i++) {
    Problem p = problem ();
    g_autoptr (GError) error = NULL;

    p.task.precision = fits[i].precision;
    p.task.step = fits[i].step;
    p.task.nx = p.task.ny = 2048;
    TdAluShape shape = td_alu_shape_default (&p.task, &p.card, fits[i].slices, fits[i].samples);
    g_auto (GStrv) defines = g_strsplit (fits[i].defines, " ", -1);
    g_assert_true (td_alu_shape_apply (&shape, (const char *const *) defines, &error));
    const gboolean can = td_alu_shape_fit (&shape, &p.task, &p.card);
    g_autofree char *text = shape_text (&shape);
    g_test_message ("%u: %s", i, text);
    g_assert_cmpint (can, ==, fits[i].text != NULL);
    if (can)
      g_assert_cmpstr (text, ==, fits[i].text);
  }
}

/* Which of the two a kernel lacks is said. */
static void
test_shape_refused (void)
{
  const TdBackprojectFamily *alu = td_backproject_family ("alu", NULL);
  Problem p = problem ();

  g_assert_null (alu->unsupported (alu, &p.task, &p.card));
  p.card.max_group_size = 32;
  g_assert_nonnull (strstr (alu->unsupported (alu, &p.task, &p.card), "work-groups are too small"));
  p.card.max_group_size = 1024;
  p.task.step = 1e5;
  g_assert_nonnull (strstr (alu->unsupported (alu, &p.task, &p.card), "pass the local memory"));
}

/* The views ahead, the columns' places and the cached bins, each as many bytes as it has. */
static void
test_shape_bytes (void)
{
  const TdAluShape plain = { .slices = 2,
                             .tile = 64,
                             .side = 2,
                             .batch = 8,
                             .buffers = 2,
                             .ahead = 32,
                             .bins = 100,
                             .cache = 1,
                             .linear = TRUE };
  TdAluShape shape = plain;
  const guint bins = 2 * 8 * 100 * 2 * 4; /* of one plane */

  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + 2 * bins);
  shape.columns = 1; /* a float for each of the tile's */
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + 2 * 8 * 32 * 4 + 2 * bins);
  shape = plain;
  shape.hybrid = 1;
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 52 + 2 * bins);
  shape = plain;
  shape.half = 1;
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + bins);
  shape = plain;
  shape.cache = 0;
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + bins);
  shape.cache = 3;
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + 4 * bins);
  shape.linear = FALSE;
  g_assert_cmpuint (td_alu_shape_local_bytes (&shape), ==, 32 * 36 + bins);
}

/* Smaller and smaller memories: a step as soon as the larger shape has no room, and not before.
   From 64 KiB on, one group must fit instead of all that are resident. Above four views, a sixth
   is left. */
static void
test_shape_shrinks (void)
{
  g_autoptr (GString) steps = g_string_new (NULL);
  Problem p = problem ();
  TdAluShape before = { 0 };

  p.task.nx = p.task.ny = 2048;
  for (guint bytes = 256 << 10; bytes > 0; bytes--) {
    TdAluShape shape = td_alu_shape_default (&p.task, &p.card, 2, 1); /* of 48 KiB */
    p.card.local_memory_bytes = bytes;
    const gboolean can = td_alu_shape_fit (&shape, &p.task, &p.card);
    p.card.local_memory_bytes = 48 << 10;
    if (!can)
      shape.batch = shape.buffers = shape.ahead = 0;
    if (shape.batch == before.batch && shape.buffers == before.buffers
        && shape.ahead == before.ahead)
      continue;
    g_string_append_printf (steps, "%u: %u x %u, %u\n", bytes, shape.buffers, shape.batch,
                            shape.ahead);
    before = shape;
  }
  g_assert_cmpstr (steps->str, ==,
                   "262144: 2 x 32, 256\n"
                   "224255: 2 x 16, 256\n"
                   "121855: 1 x 16, 256\n"
                   "70655: 1 x 16, 64\n"
                   "65536: 1 x 16, 256\n"
                   "41783: 1 x 16, 64\n"
                   "33485: 2 x 4, 64\n"
                   "15103: 1 x 4, 64\n"
                   "8703: 0 x 0, 0\n");
}

/* ── What plans are told ── */

/* Cards that lack something, each of what another one has. */
static const struct {
  const char *name;
  guint texels; /* bits; ~0: all */
  gboolean no_filter, slow, no_half, no_sums, cpu_shaped, host;
  guint texture_max[2]; /* 0: as large as may be */
} cards[] = {
  { .name = "everything", .texels = ~0u },
  { .name = "one float", .texels = 1u << TD_TEXEL_R32F | 1u << TD_TEXEL_R16F },
  { .name = "two floats", .texels = 1u << TD_TEXEL_RG32F | 1u << TD_TEXEL_RG16F },
  { .name = "four floats", .texels = 1u << TD_TEXEL_RGBA32F | 1u << TD_TEXEL_RGBA16F },
  { .name = "no halves", .texels = 7, .no_half = TRUE, .no_sums = TRUE },
  { .name = "halves to store", .texels = ~0u, .no_sums = TRUE },
  { .name = "no textures" },
  { .name = "unfiltered", .texels = ~0u, .no_filter = TRUE },
  { .name = "narrow", .texels = ~0u, .texture_max = { 999, 4000 } },
  { .name = "low", .texels = ~0u, .texture_max = { 4000, 627 } },
  { .name = "slow", .texels = ~0u, .slow = TRUE, .cpu_shaped = TRUE },
  { .name = "host", .host = TRUE, .cpu_shaped = TRUE },
};

static TdDeviceInfo
card_of (guint i)
{
  TdDeviceInfo card = problem ().card;

  card.texels = cards[i].texels;
  card.texture_linear = !cards[i].no_filter;
  card.texture_slow = cards[i].slow;
  card.half_storage = !cards[i].no_half;
  card.half_arithmetic = !cards[i].no_sums;
  card.cpu_shaped = cards[i].cpu_shaped;
  card.host_pointers = cards[i].host;
  for (guint k = 0; k < 2 && cards[i].texture_max[0]; k++)
    card.texture_max[k] = cards[i].texture_max[k];
  return card;
}

/* Regions of odd sizes, on and off the detector, and an axis that wanders. */
static const struct {
  guint n_columns, n_views, nx, ny;
  double x0, y0, step, centre_px, wander_px;
} scenes[] = {
  { 1000, 500, 640, 1280, -319.5, 639.5, 1, 499.5, 0 },
  { 37, 5, 130, 71, -64.5, 35, 1, 17.3, 0 },
  { 2049, 721, 301, 77, 400.25, -333, 1, 1011.5, 2.5 },
  { 512, 129, 65, 64, -240, 31.5, 0.5, 310, 0 },
  { 300, 63, 33, 190, -48, 270, 3, 12, -1.5 },
};
enum { MOST_VIEWS = 721 };

typedef struct {
  TdBackprojectTask task;
  double angles[MOST_VIEWS], axis[MOST_VIEWS];
} Scene;

static void
scene_init (Scene *scene, guint i)
{
  scene->task = (TdBackprojectTask) {
    .n_columns = scenes[i].n_columns,
    .n_views = scenes[i].n_views,
    .nx = scenes[i].nx,
    .ny = scenes[i].ny,
    .x0 = scenes[i].x0,
    .y0 = scenes[i].y0,
    .step = scenes[i].step,
    .centre_px = scenes[i].centre_px,
    .angles_rad = scene->angles,
    .axis_px = scenes[i].wander_px != 0 ? scene->axis : NULL,
    .scale = 0.5,
  };
  for (guint view = 0; view < scene->task.n_views; view++) {
    scene->angles[view] = 0.03 + G_PI * view / scene->task.n_views;
    scene->axis[view] = scenes[i].wander_px * view / scene->task.n_views;
  }
}

static const char *
precision_name (TdPrecision precision)
{
  return precision == TD_PRECISION_SINGLE ? "single"
         : precision == TD_PRECISION_HALF ? "half"
                                          : "runs";
}

/* @family may be NULL after the last: the Fourier method follows the others. */
static const TdBackprojectFamily *
family_at (guint i)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  guint n = 0;

  while (families[n])
    n++;
  return i < n ? families[i] : i == n ? &td_family_fourier : NULL;
}

/* What each family refuses, or the bytes that it takes for one, two, three and more slices, on each
   card. Scenes and interpolation take turns. */
static void
test_workspaces (void)
{
  const TdBackprojectFamily *family;
  g_autofree Scene *scene = g_new0 (Scene, 1);

  for (guint f = 0; (family = family_at (f)); f++)
    for (guint c = 0, turn = f; c < G_N_ELEMENTS (cards); c++)
      for (TdPrecision precision = 0; precision <= TD_PRECISION_HALF_RUN; precision++)
        for (guint linear = 0; linear < 2; linear++, turn++) {
          static const guint slices[] = { 1, 2, 3, 4, 9, 40 };
          const TdDeviceInfo card = card_of (c);
          g_autoptr (GString) text = g_string_new (NULL);

          scene_init (scene, turn % G_N_ELEMENTS (scenes));
          scene->task.precision = precision;
          scene->task.interpolation = linear ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST;
          const char *reason
              = family->unsupported ? family->unsupported (family, &scene->task, &card) : NULL;
          for (guint i = 0; !reason && i < G_N_ELEMENTS (slices); i++)
            g_string_append_printf (
                text, " %" G_GUINT64_FORMAT,
                family->workspace_bytes (family, &scene->task, &card, slices[i]));
          td_test_pin ("%s, %s, %s, %s %u:%s%s", family->name, cards[c].name,
                       precision_name (precision), linear ? "linear" : "nearest",
                       turn % (guint) G_N_ELEMENTS (scenes), text->str, reason ? reason : "");
        }
}

/* Bounds of the same scenes, in millionths, where textures are there, and where they are not. */
static void
test_scene_bounds (void)
{
  static const guint some[] = { 0, 6, 10 };
  const TdBackprojectFamily *family;
  g_autofree Scene *scene = g_new0 (Scene, 1);

  for (guint f = 0; (family = family_at (f)); f++)
    for (guint s = 0; s < G_N_ELEMENTS (scenes); s++)
      for (guint linear = 0; linear < 2; linear++) {
        g_autoptr (GString) text = g_string_new (NULL);

        scene_init (scene, s);
        scene->task.interpolation = linear ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST;
        for (guint c = 0; c < G_N_ELEMENTS (some); c++) {
          const TdDeviceInfo card = card_of (some[c]);
          for (TdPrecision p = 0; p <= TD_PRECISION_HALF; p++) {
            scene->task.precision = p;
            g_string_append_printf (text, " %.3f",
                                    1e6 * family->error_bound (family, &scene->task, &card));
          }
        }
        td_test_pin ("%s %s %u:%s", family->name, linear ? "linear" : "nearest", s, text->str);
      }
}

/* How many variants the tuner tries of so many slices at once, and which it tries first. */
static void
test_tried (void)
{
  g_autofree Scene *scene = g_new0 (Scene, 1);

  for (guint f = 0; td_backproject_families ()[f]; f++) {
    const TdBackprojectFamily *family = td_backproject_families ()[f];
    /* What is tried of the others does not turn on textures. */
    const gboolean all = g_strv_contains (
        (const char *const[]) { "texture", "hybrid", "standard", NULL }, family->name);
    for (guint c = 0; family->candidates && c < (all ? G_N_ELEMENTS (cards) : 1); c++)
      for (TdPrecision precision = 0; precision <= TD_PRECISION_HALF_RUN; precision++) {
        const TdDeviceInfo card = card_of (c);
        g_autoptr (GString) text = g_string_new (NULL);

        scene_init (scene, 0);
        scene->task.precision = precision;
        g_autoptr (GPtrArray) list = family->candidates (family, &scene->task, &card);
        for (guint i = 0; i < list->len;) {
          const TdBackprojectVariant *first = list->pdata[i];
          g_autofree char *defines = first->defines ? g_strjoinv (" ", first->defines) : NULL;
          guint n = 0;
          while (i < list->len
                 && ((const TdBackprojectVariant *) list->pdata[i])->slices == first->slices)
            i++, n++;
          g_string_append_printf (text, " %u of %u (%s)", n, first->slices,
                                  defines ? defines : "usual");
        }
        td_test_pin ("%s, %s, %s:%s", family->name, cards[c].name, precision_name (precision),
                     text->str);
      }
  }
}

/* The host's bins have an odd number of cache lines a view, and come in blocks of up to 256 MiB. A
   block has whole steps of views. There is room for the largest block of as many slices or fewer.
 */
static void
test_host_rows (void)
{
  static const guint columns[] = { 1, 16, 160, 161, 1000, 4096, 65536, 1u << 20 };
  static const guint views[] = { 1, 63, 64, 65, 2000, 60000 };
  static const guint steps[] = { 32, 64 }, lanes[3] = { 1, 8, 32 };

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    for (guint v = 0; v < G_N_ELEMENTS (views) * G_N_ELEMENTS (steps); v++) {
      const guint n_views = views[v / 2], step = steps[v % 2];
      guint64 room = 0;
      for (guint l = 0; l < G_N_ELEMENTS (lanes); l++) {
        guint64 lines = 0, block = step;
        while (lines * 16 < (columns[c] + 96ull) * lanes[l] || lines % 2 == 0)
          lines++;
        while ((block + step) * lines * 64 <= 256 << 20)
          block += step;
        block = MIN (block, n_views);
        g_assert_cmpuint (td_host_view_stride (columns[c], lanes[l]), ==, lines * 16);
        g_assert_cmpuint (td_host_block_views (columns[c], n_views, lanes[l], step), ==, block);
        room = MAX (room, block * lines * 16);
        g_assert_cmpuint (td_host_bins_floats (columns[c], n_views, lanes, lanes[l], step), ==,
                          room);
      }
      g_assert_cmpuint (td_host_bins_floats (columns[c], n_views, lanes, 1000, step), ==, room);
    }
}

/* Each value that a variant may choose, and what the program and people are told of it. */
static void
test_shape_choices (void)
{
  static const char *const keys[]
      = { "TD_TILE",         "TD_THREADS",       "TD_BATCH",         "TD_LANES",     "TD_SIDE",
          "TD_CACHE",        "TD_HALF",          "TD_SPLIT",         "TD_COLUMNS",   "TD_COPY",
          "TD_UNROLL_VIEWS", "TD_RESIDENT",      "TD_AHEAD",         "TD_BUFFERS",   "TD_RUN",
          "TD_FLOAT_ROUND",  "TD_TEXTURE_CELLS", "TD_TEXTURE_SHARE", "TD_ALL_SHARE", "TD_NONE" };
  Problem p = problem ();

  for (guint k = 0; k < G_N_ELEMENTS (keys); k++) {
    g_autoptr (GString) text = g_string_new (NULL);
    for (guint value = 0; value <= 1040; value++) {
      g_autofree char *define = g_strdup_printf ("%s=%u", keys[k], value);
      const char *const defines[] = { define, NULL };
      TdAluShape shape = td_alu_shape_default (&p.task, &p.card, 2, 1);
      if (!td_alu_shape_apply (&shape, defines, NULL))
        continue;
      g_auto (GStrv) told = td_alu_shape_defines (&shape);
      g_assert_true (g_strv_contains ((const char *const *) told, define));
      g_string_append_printf (text, " %u", value);
    }
    td_test_pin ("%s:%s", keys[k], text->str);
  }
}

/* Variants of one shape, as the program and as people are told of them. */
static void
test_shape_words (void)
{
  static const struct {
    const char *defines;
    guint slices, samples, precision;
    double step;
    guint local_bytes;
  } shapes[] = {
    { "TD_TILE=64", 1, 1, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_SPLIT=1 TD_COPY=8", 4, 1, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_SPLIT=1 TD_COPY=8", 4, 1, TD_PRECISION_HALF, 1, 48 << 10 },
    { "TD_SPLIT=1", 2, 1, TD_PRECISION_SINGLE, 0.7, 48 << 10 },
    { "TD_COLUMNS=1 TD_BUFFERS=1", 1, 1, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_TEXTURE_CELLS=8 TD_SIDE=1 TD_TILE=32 TD_THREADS=512", 1, 1, TD_PRECISION_SINGLE, 1,
      227 << 10 },
    { "TD_TEXTURE_CELLS=4 TD_SIDE=2 TD_TILE=64 TD_THREADS=512", 2, 1, TD_PRECISION_SINGLE, 1,
      227 << 10 },
    { "TD_TEXTURE_SHARE=3 TD_ALL_SHARE=8", 2, 1, TD_PRECISION_HALF_RUN, 1, 227 << 10 },
    { "TD_CACHE=0 TD_SIDE=1", 1, 1, TD_PRECISION_SINGLE, 1.7, 48 << 10 },
    { "TD_CACHE=0", 2, 1, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_CACHE=2 TD_SIDE=1", 1, 1, TD_PRECISION_SINGLE, 3, 48 << 10 },
    { "TD_RESIDENT=1 TD_THREADS=128 TD_TILE=32", 2, 4, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_RESIDENT=1 TD_THREADS=64 TD_TILE=32", 2, 4, TD_PRECISION_HALF_RUN, 2, 48 << 10 },
    { "TD_RUN=8 TD_BATCH=4", 2, 1, TD_PRECISION_HALF_RUN, 1, 48 << 10 },
    { "TD_THREADS=1024 TD_SIDE=1", 4, 1, TD_PRECISION_SINGLE, 1, 48 << 10 },
    { "TD_LANES=64 TD_THREADS=128", 4, 1, TD_PRECISION_SINGLE, 1, 227 << 10 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint nearest = 0; nearest < 2; nearest++) {
      Problem p = problem ();
      g_auto (GStrv) chosen = g_strsplit (shapes[i].defines, " ", -1);

      p.task.interpolation = nearest ? TD_INTERPOLATION_NEAREST : TD_INTERPOLATION_LINEAR;
      p.task.precision = shapes[i].precision;
      p.task.step = shapes[i].step;
      p.task.nx = p.task.ny = 2048;
      p.card.local_memory_bytes = shapes[i].local_bytes;
      TdAluShape shape
          = td_alu_shape_default (&p.task, &p.card, shapes[i].slices, shapes[i].samples);
      g_assert_true (td_alu_shape_apply (&shape, (const char *const *) chosen, NULL));
      const gboolean can = td_alu_shape_fit (&shape, &p.task, &p.card);
      g_auto (GStrv) defines = td_alu_shape_defines (&shape);
      g_autofree char *words = td_alu_shape_describe (&shape), *text = g_strjoinv (" ", defines);
      td_test_pin ("%u %u: %s: %s", i, nearest, can ? words : "none", text);
    }
}

/* ── The Fourier method's shape ── */

static double
sinc_of (double x)
{
  return x == 0 ? 1 : sin (G_PI * x) / (G_PI * x);
}

/* The window's transform, by many steps: sum of window[j] (1 - t^2)^j cos (pi width f t), t from -1
   to 1. */
static double
transform_of (const TdFourierShape *shape, double frequency)
{
  enum { STEPS = 2000 };
  double sum = 0;

  for (guint i = 0; i < STEPS; i++) {
    const double a = G_PI * ((i + 0.5) / STEPS - 0.5), t = sin (a), q = 1 - t * t;
    double value = 0;
    for (guint j = 0; j < TD_FOURIER_TERMS; j++)
      value += shape->window[j] * pow (q, j);
    sum += value * cos (a) * cos (G_PI * shape->width * frequency * t);
  }
  return sum * G_PI / STEPS * shape->width / 2;
}

/* Places of views on the grid, what rows are multiplied by, and pixels divided by. */
static void
test_fourier_tables (void)
{
  g_autofree Scene *scene = g_new0 (Scene, 1);
  double weights[MOST_VIEWS];

  for (guint s = 0; s < 3; s++)
    for (TdPrecision precision = 0; precision <= TD_PRECISION_HALF; precision++) {
      TdFourierShape shape;

      scene_init (scene, s);
      scene->task.precision = precision;
      scene->task.weights = s == 0 ? NULL : weights;
      const TdBackprojectTask *task = &scene->task;
      for (guint view = 0; view < task->n_views; view++)
        weights[view] = 0.5 + 0.001 * view;
      g_assert_true (td_fourier_shape_init (&shape, task));
      td_test_pin ("%u %s: %u columns, %u x %u by %u about %u, %u: cost %.1f, aliases %.4f", s,
                   precision_name (precision), shape.padded, shape.gx, shape.gy, shape.width,
                   shape.centre_x, shape.centre_y, 1e-3 * td_fourier_cost (task),
                   1e6 * td_fourier_alias_error (&shape));
      /* The host holds spectra and columns, and each thread a few rows or columns. */
      const guint64 held = 2 * ((guint64) task->n_views * shape.padded + task->nx * shape.gy);
      const guint64 side = shape.padded + shape.gx + shape.gy + 100;
      g_assert_cmpuint (td_fourier_host_workspace_bytes (&shape), >=,
                        (held + 4 * td_host_threads () * shape.padded) * sizeof (float));
      g_assert_cmpuint (td_fourier_host_workspace_bytes (&shape), <=,
                        (2 * held + (128 * td_host_threads () + 1) * side) * sizeof (float)
                            + task->n_views * sizeof (TdFourierView));
      g_autofree TdFourierView *views = g_new (TdFourierView, task->n_views);
      td_fourier_views (&shape, task, views);
      const double middle_x = task->x0 + task->nx / 2, middle_y = task->y0 - task->ny / 2;
      for (guint view = 0; view < task->n_views; view++) {
        const double angle = task->angles_rad[view];
        const double seen = task->centre_px + (task->axis_px ? task->axis_px[view] : 0)
                            + middle_x * cos (angle) + middle_y * sin (angle);
        g_assert_cmpfloat_with_epsilon (views[view].dx, cos (angle) * shape.gx / shape.padded,
                                        1e-9);
        g_assert_cmpfloat_with_epsilon (views[view].dy, -sin (angle) * shape.gy / shape.padded,
                                        1e-9);
        g_assert_cmpfloat_with_epsilon (views[view].turns, seen / shape.padded, 1e-9);
        g_assert_cmpfloat_with_epsilon (views[view].weight,
                                        0.5 * (s ? weights[view] : 1) / shape.padded, 1e-12);
      }
      g_autofree float *response = g_new (float, shape.padded / 2);
      for (guint power = 1; power <= 2; power++) {
        td_fourier_response (
            &shape, power == 2 ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST, response);
        for (guint k = 0; k < shape.padded / 2; k++)
          g_assert_cmpfloat_with_epsilon (response[k],
                                          pow (sinc_of ((double) k / shape.padded), power), 1e-6);
      }
      g_autofree float *factors = g_new (float, shape.nx);
      td_fourier_deapodise (&shape, shape.nx, shape.centre_x, shape.gx, factors);
      for (guint i = 0; i < shape.nx; i += 1 + shape.nx / 40) {
        const double at = ((double) i - shape.centre_x) / shape.gx;
        const double truth = (i % 2 == shape.centre_x % 2 ? 1 : -1) / transform_of (&shape, at);
        g_assert_cmpfloat_with_epsilon (factors[i], truth, 1e-5 * fabs (truth));
      }
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

/* Of each view a projector holds twice its padded rows, staged and as a texture, and a matrix. */
static void
test_cone_bytes (void)
{
  static const guint sizes[][3] = { /* columns, rows, views */
                                    { 1, 1, 1 },
                                    { 1, 1, 1000 },
                                    { 30, 7, 12 },
                                    { 2000, 100, 64 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const Problem p = problem ();
    const TdConeTask task = { .n_columns = sizes[i][0], .n_rows = 500, .n_views = 1000 };
    const TdConeLimits limits = { .max_rows = sizes[i][1], .max_views = sizes[i][2] };
    const guint64 view = 2 * (sizes[i][0] + 2) * (sizes[i][1] + 3) + 12;

    g_assert_cmpuint (td_cone_family_standard.workspace_bytes (&task, &limits, &p.card), ==,
                      sizes[i][2] * view * sizeof (float));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/family-limits/parallel", test_parallel);
  g_test_add_func ("/family-limits/texels", test_texels);
  g_test_add_func ("/family-limits/fewer-slices", test_fewer_slices);
  g_test_add_func ("/family-limits/bounds", test_bounds);
  g_test_add_func ("/family-limits/candidates", test_candidates);
  g_test_add_func ("/family-limits/rounding", test_rounding);
  g_test_add_func ("/family-limits/padded", test_padded);
  g_test_add_func ("/family-limits/shapes", test_shapes);
  g_test_add_func ("/family-limits/shape-fits", test_shape_fits);
  g_test_add_func ("/family-limits/shape-refused", test_shape_refused);
  g_test_add_func ("/family-limits/shape-bytes", test_shape_bytes);
  g_test_add_func ("/family-limits/shape-shrinks", test_shape_shrinks);
  g_test_add_func ("/family-limits/workspaces", test_workspaces);
  g_test_add_func ("/family-limits/scene-bounds", test_scene_bounds);
  g_test_add_func ("/family-limits/tried", test_tried);
  g_test_add_func ("/family-limits/host-rows", test_host_rows);
  g_test_add_func ("/family-limits/shape-choices", test_shape_choices);
  g_test_add_func ("/family-limits/shape-words", test_shape_words);
  g_test_add_func ("/family-limits/fourier-tables", test_fourier_tables);
  g_test_add_func ("/family-limits/cone", test_cone);
  g_test_add_func ("/family-limits/cone-bytes", test_cone_bytes);
  return g_test_run ();
}
