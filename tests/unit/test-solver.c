/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When solvers end, what they say of it, and how strongly they denoise: on the host, without jobs.
 */
#include <math.h>
#include <string.h>

#include "compute/iterative/solver-private.h"
#include "tests/common/pins.h"

#define N 24 /* columns, and voxels across */
#define N_ROWS 5
#define VIEWS 12

typedef struct {
  TdDevice *device;
  TdConeTask task;
  TdRayGroup *group;
  TdBuffer *measured; /* of the object, places in the solver's order */
  float *object;      /* [slice][y][x] */
  gboolean begins;    /* with the object */
  guint stop_after;   /* calls of progress; 0: never */
  guint calls;
  double residuals[400];
  guint passes;
} Fixture;

/* Two materials, with a plane between them. */
static float
object_at (guint x)
{
  return x < N / 2 ? 0.2f : 0.8f;
}

/* Takes @device. */
static void
fixture_init_on (Fixture *f, TdDevice *device, guint subsets)
{
  g_autoptr (GError) error = NULL;
  double angles[VIEWS];
  guint failed;

  *f = (Fixture) { .device = device };
  for (guint i = 0; i < VIEWS; i++)
    angles[i] = 0.1 + G_PI * i / VIEWS;
  td_ray_task_parallel (&f->task, &(TdRayParallel) { .angles_rad = angles,
                                                     .n_views = VIEWS,
                                                     .n_columns = N + 12,
                                                     .n_rows = N_ROWS,
                                                     .centre_px = (N + 11) / 2.0,
                                                     .nx = N,
                                                     .voxel_mm = 1 });
  g_autofree guint *order = td_solver_order (VIEWS, subsets);
  const TdGroupMember member = { f->device, 0, N };
  const TdGroupShares shares = { &member, 1, 0, f->device };
  f->group = td_ray_group_new (&shares, &f->task, order, &failed, NULL, &error);
  g_assert_no_error (error);

  f->object = g_new (float, N *N *N_ROWS);
  for (guint i = 0; i < N * N * N_ROWS; i++)
    f->object[i] = object_at (i % N);
  g_autoptr (TdGroupVolume) volume = td_ray_group_volume_new (f->group, &error);
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };
  f->measured = td_ray_group_lines_new (f->group, VIEWS, &error);
  g_assert_true (td_ray_group_put (f->group, f->object, &all, -G_MAXFLOAT, volume, &error));
  g_assert_true (
      td_ray_group_project (f->group, volume, (TdRayViews) { 0, VIEWS }, f->measured, &error));
  g_assert_true (td_ray_group_finish (f->group, &error));
}

static void
fixture_init (Fixture *f, guint subsets)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open ("host", &error);

  g_assert_no_error (error);
  fixture_init_on (f, device, subsets);
}

static void
fixture_clear (Fixture *f)
{
  td_buffer_free (f->measured);
  td_ray_group_free (f->group);
  td_cone_task_clear (&f->task);
  td_device_unref (f->device);
  g_free (f->object);
}

static gboolean
on_begin (TdGroupVolume *volume, gpointer user, GError **error)
{
  const Fixture *f = user;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };

  return td_ray_group_put (f->group, f->object, &all, -G_MAXFLOAT, volume, error);
}

static gboolean
on_pass (guint pass, double residual, TdGroupVolume *volume, gpointer user, GError **error)
{
  Fixture *f = user;

  g_assert_cmpuint (pass, ==, f->passes + 1);
  f->residuals[f->passes++] = residual;
  return TRUE;
}

static gboolean
on_progress (double updates, gpointer user)
{
  Fixture *f = user;

  return f->stop_after == 0 || ++f->calls < f->stop_after;
}

/* The volume as [slice][y][x]. (transfer full) */
static float *
run (Fixture *f, const TdSolverSettings *settings, TdSolverEnd *end)
{
  const TdSolverWatch watch = {
    .begin = f->begins ? on_begin : NULL, .pass = on_pass, .progress = on_progress, .user = f
  };
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };
  g_autoptr (GError) error = NULL;
  float *out = g_new (float, N *N *N_ROWS);

  f->passes = f->calls = 0;
  g_autoptr (TdGroupVolume) volume
      = td_solver_run (f->group, settings, f->measured, &watch, end, &error);
  g_assert_no_error (error);
  g_assert_true (td_ray_group_give (f->group, volume, &all, out, &error));
  return out;
}

/* ── Waiting ── */

static struct {
  const TdDeviceOps *sound;
  gboolean downloaded;  /* and nothing was launched or awaited since */
  guint waits, goes_on; /* what came next: the host waited; something was launched */
} watched;

static gboolean
watched_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                  GError **error)
{
  watched.downloaded = TRUE;
  return watched.sound->download (queue, host, from, offset, bytes, error);
}

static gboolean
watched_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                const TdArg *args, guint n_args, GError **error)
{
  watched.goes_on += watched.downloaded;
  watched.downloaded = FALSE;
  return watched.sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static gboolean
watched_finish (TdQueue *queue, GError **error)
{
  watched.waits += watched.downloaded;
  watched.downloaded = FALSE;
  return watched.sound->queue_finish (queue, error);
}

static gboolean
watched_sync (TdEvent *event, GError **error)
{
  watched.waits += watched.downloaded;
  watched.downloaded = FALSE;
  return watched.sound->event_sync (event, error);
}

/* The device corrects the volume while the host adds the subset's residual up. */
static void
test_residual_waits_for_nobody (void)
{
  const TdSolverSettings settings
      = { .kind = TD_SOLVER_SIRT, .iterations = 3, .subsets = 4, .relaxation = 1 };
  TdDevice *device = td_device_open ("opencl:0", NULL);
  TdSolverEnd end;
  Fixture f;

  if (!device) {
    g_test_skip ("no OpenCL device; the host's own loops have no queue");
    return;
  }
  fixture_init_on (&f, device, settings.subsets);
  watched.sound = f.device->ops;
  TdDeviceOps ops = *f.device->ops;
  ops.download = watched_download;
  ops.launch = watched_launch;
  ops.queue_finish = watched_finish;
  ops.event_sync = watched_sync;
  f.device->ops = &ops;
  g_free (run (&f, &settings, &end));
  f.device->ops = watched.sound;
  td_test_pin ("after %u downloads something was launched, after %u the host waited",
               watched.goes_on, watched.waits);
  g_assert_cmpuint (watched.goes_on, >=, settings.iterations * settings.subsets);
  g_assert_cmpuint (watched.waits, <=, 3); /* what was measured, the volume */
  fixture_clear (&f);
}

/* ── Errors ── */

static double
square_of (const Fixture *f, guint n_views)
{
  const float *lines = td_buffer_map (f->measured);
  double sum = 0;

  for (gsize i = 0; i < (gsize) n_views * f->task.n_columns * f->task.n_rows; i++)
    sum += (double) lines[i] * lines[i];
  return sum;
}

typedef enum { AT_BEGIN, AT_PASS, AT_LATER_PASS, AT_RECALL, AT_REMEMBER, N_MOMENTS } Moment;

typedef struct {
  Fixture *f;
  Moment moment; /* at which an error is told */
  guint passes;
  gboolean ended; /* it was told */
} Teller;

static gboolean
teller_on_progress (double updates, gpointer user)
{
  g_assert_false (((const Teller *) user)->ended);
  return TRUE;
}

static gboolean
teller_tell (Teller *teller, gboolean now, GError **error)
{
  g_assert_false (teller->ended); /* nothing is asked any more */
  teller->ended = now;
  if (now)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_PENDING, "moment %u", teller->moment);
  return !now;
}

static gboolean
teller_on_begin (TdGroupVolume *volume, gpointer user, GError **error)
{
  Teller *teller = user;

  return teller_tell (teller, teller->moment == AT_BEGIN, error); /* else with zeros */
}

static gboolean
teller_on_pass (guint pass, double residual, TdGroupVolume *volume, gpointer user, GError **error)
{
  Teller *teller = user;

  teller->passes = pass;
  return teller_tell (teller, teller->moment == (pass == 1 ? AT_PASS : AT_LATER_PASS), error);
}

static gboolean
teller_on_recall (TdSolverMomentum *momentum, gpointer user)
{
  const Teller *teller = user;

  /* An earlier run of no pass: all is still missing. */
  *momentum = (TdSolverMomentum) { .passes = 3 };
  for (guint i = 0; i < TD_SOLVER_NUMBERS; i++)
    momentum->numbers[i] = square_of (teller->f, VIEWS);
  return teller->moment == AT_RECALL;
}

static gboolean
teller_on_recall_volumes (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Teller *teller = user;

  return teller_tell (teller, TRUE, error);
}

static void
teller_on_recall_failed (gpointer user)
{
}

static gboolean
teller_on_remember (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Teller *teller = user;

  return teller_tell (teller, teller->moment == AT_REMEMBER, error);
}

/* Whatever fails meanwhile, its error comes back and no volume. */
static void
check_moment (TdSolverKind kind, Moment moment)
{
  const TdSolverSettings settings = {
    .kind = kind, .iterations = 3, .subsets = kind == TD_SOLVER_CGLS ? 1 : 3, .relaxation = 1
  };
  Fixture f;
  Teller teller = { &f, moment, 0, FALSE };
  const TdSolverWatch watch = { .begin = teller_on_begin,
                                .pass = teller_on_pass,
                                .progress = teller_on_progress,
                                .recall = teller_on_recall,
                                .recall_volumes = teller_on_recall_volumes,
                                .recall_failed = teller_on_recall_failed,
                                .remember = teller_on_remember,
                                .user = &teller };
  g_autoptr (GError) error = NULL;
  TdSolverEnd end;

  fixture_init (&f, settings.subsets);
  g_autoptr (TdGroupVolume) volume
      = td_solver_run (f.group, &settings, f.measured, &watch, &end, &error);
  td_test_pin ("solver %u, moment %u: %u passes, %s", kind, moment, teller.passes,
               error ? error->message : "no error");
  const gboolean goes_on = td_solver_momentum_volumes (kind) > 0;
  g_assert_cmpint (teller.ended, ==, moment < AT_RECALL || (moment < N_MOMENTS && goes_on));
  g_assert_true (teller.ended == g_error_matches (error, G_IO_ERROR, G_IO_ERROR_PENDING));
  g_assert_true (teller.ended == !volume);
  fixture_clear (&f);
}

static void
test_errors (void)
{
  for (TdSolverKind kind = TD_SOLVER_SIRT; kind <= TD_SOLVER_CGLS; kind++)
    for (Moment moment = 0; moment <= N_MOMENTS; moment++) /* the last one: none */
      check_moment (kind, moment);
}

/* ── Ends ── */

static gboolean
is_little (const Fixture *f, guint pass, double tolerance)
{
  return pass > 0
         && fabs (f->residuals[pass] - f->residuals[pass - 1]) < tolerance * f->residuals[pass - 1];
}

/* Just two passes that change the residual by less than the tolerance, and not one earlier. */
static void
test_tolerance (void)
{
  static const TdSolverKind kinds[] = { TD_SOLVER_SIRT, TD_SOLVER_FISTA_TV, TD_SOLVER_CGLS };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const gboolean cgls = kinds[i] == TD_SOLVER_CGLS;
    const TdSolverSettings settings = { .kind = kinds[i],
                                        .iterations = G_N_ELEMENTS (((Fixture *) NULL)->residuals),
                                        .subsets = cgls ? 1 : 3,
                                        .relaxation = 1,
                                        .tolerance = cgls ? 0.3 : 0.05 };
    TdSolverEnd end;
    Fixture f;

    fixture_init (&f, settings.subsets);
    g_free (run (&f, &settings, &end));
    td_test_pin ("solver %u: %u passes, residual %.2e", i, f.passes, f.residuals[f.passes - 1]);
    g_assert_cmpint (end, ==, TD_SOLVER_SETTLED);
    g_assert_cmpuint (f.passes, >=, 3);
    for (guint pass = 1; pass < f.passes; pass++)
      g_assert_cmpint (is_little (&f, pass, settings.tolerance)
                           && is_little (&f, pass - 1, settings.tolerance),
                       ==, pass + 1 == f.passes);
    fixture_clear (&f);
  }
}

/* A pass that is ended after some subsets tells the residual of those, as if they were all. */
static void
test_ended_early (void)
{
  const TdSolverSettings settings
      = { .kind = TD_SOLVER_SIRT, .iterations = 9, .subsets = 4, .relaxation = 1 };
  TdSolverEnd end;
  Fixture f;

  fixture_init (&f, settings.subsets);
  f.stop_after = 1;
  g_free (run (&f, &settings, &end));
  g_assert_cmpint (end, ==, TD_SOLVER_ASKED);
  g_assert_cmpuint (f.passes, ==, 1);
  const guint done = VIEWS / 4;
  const double expected = sqrt (square_of (&f, done) / square_of (&f, VIEWS) * VIEWS / done);
  td_test_pin ("residual %.5f, expected %.5f", f.residuals[0], expected);
  g_assert_cmpfloat_with_epsilon (f.residuals[0], expected, 1e-4);
  fixture_clear (&f);
}

/* Momentum takes the same corrections further. There is none before the second correction; after so
   many passes less is missing than without. */
static void
test_momentum (void)
{
  double missing[2], first[2][2];

  for (guint k = 0; k < 2; k++) {
    const TdSolverSettings settings = { .kind = k ? TD_SOLVER_FISTA_TV : TD_SOLVER_SIRT,
                                        .iterations = 25,
                                        .subsets = 1,
                                        .relaxation = 1 };
    TdSolverEnd end;
    Fixture f;

    fixture_init (&f, settings.subsets);
    g_free (run (&f, &settings, &end));
    missing[k] = f.residuals[f.passes - 1];
    memcpy (first[k], f.residuals, sizeof first[k]);
    fixture_clear (&f);
  }
  td_test_pin ("%.2e without, %.2e with", missing[0], missing[1]);
  g_assert_cmpfloat (missing[1], <, 0.3 * missing[0]);
  for (guint pass = 0; pass < 2; pass++)
    g_assert_cmpfloat_with_epsilon (first[1][pass], first[0][pass], 1e-6);
}

/* ── Going on ── */

typedef struct {
  Fixture f;
  TdSolverMomentum kept;
  float *volume;
  float *more[4]; /* what else the momentum holds, as the direction of conjugate gradients */
  double factor;  /* of the kept residual of conjugate gradients, as it is recalled */
  guint failed, recalled;
  guint end; /* the passes that a run that went on told to a later one */
} Going;

static gboolean
going_remember (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Going *going = user;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };

  going->kept = *momentum;
  for (guint i = 0; i < momentum->n_volumes; i++)
    if (!td_ray_group_give (going->f.group, momentum->volumes[i], &all, going->more[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
going_begin (TdGroupVolume *volume, gpointer user, GError **error)
{
  Going *going = user;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };

  return td_ray_group_put (going->f.group, going->volume, &all, -G_MAXFLOAT, volume, error);
}

static gboolean
going_recall (TdSolverMomentum *momentum, gpointer user)
{
  Going *going = user;

  *momentum = going->kept;
  if (momentum->n_volumes == 1)
    momentum->numbers[TD_SOLVER_OWN + 1] *= going->factor * going->factor;
  return TRUE;
}

static gboolean
going_recall_volumes (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Going *going = user;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };

  going->recalled++;
  g_assert_cmpuint (momentum->n_volumes, ==, going->kept.n_volumes);
  for (guint i = 0; i < momentum->n_volumes; i++)
    if (!td_ray_group_put (going->f.group, going->more[i], &all, -G_MAXFLOAT, momentum->volumes[i],
                           error))
      return FALSE;
  return TRUE;
}

static void
going_failed (gpointer user)
{
  ((Going *) user)->failed++;
}

static gboolean
going_remember_end (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  ((Going *) user)->end = momentum->passes;
  return TRUE;
}

static void
going_init (Going *going, guint subsets)
{
  *going = (Going) { .volume = g_new (float, N *N *N_ROWS), .factor = 1 };
  for (guint i = 0; i < G_N_ELEMENTS (going->more); i++)
    going->more[i] = g_new (float, N *N *N_ROWS);
  fixture_init (&going->f, subsets);
}

static void
going_clear (Going *going)
{
  fixture_clear (&going->f);
  for (guint i = 0; i < G_N_ELEMENTS (going->more); i++)
    g_free (going->more[i]);
  g_free (going->volume);
}

/* A run that remembers, or one that goes on from what is kept; its end, and its volume in out. */
static TdSolverEnd
going_run (Going *going, const TdSolverSettings *settings, gboolean goes_on, float *out)
{
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };
  const TdSolverWatch watch = {
    .begin = goes_on ? going_begin : NULL,
    .pass = on_pass,
    .progress = on_progress,
    .recall = goes_on ? going_recall : NULL,
    .recall_volumes = going_recall_volumes,
    .recall_failed = going_failed,
    .remember = goes_on ? going_remember_end : going_remember,
    .user = going,
  };
  g_autoptr (GError) error = NULL;
  TdSolverEnd end;

  going->failed = going->recalled = going->f.passes = 0;
  g_autoptr (TdGroupVolume) volume
      = td_solver_run (going->f.group, settings, going->f.measured, &watch, &end, &error);
  g_assert_no_error (error);
  g_assert_true (td_ray_group_give (going->f.group, volume, &all, out, &error));
  return end;
}

/* The direction of conjugate gradients is of use while the residual is what it was. It may be off
   by a hundredth of itself and a ten thousandth of the projections. */
static void
test_going_on (void)
{
  static const struct {
    double part; /* of what it may be off by */
    gboolean fits;
  } cases[] = { { 0, TRUE }, { 0.97, TRUE }, { 1.03, FALSE }, { -0.97, TRUE }, { -1.03, FALSE } };
  const guint n = N * N * N_ROWS;
  TdSolverSettings settings = { .kind = TD_SOLVER_CGLS, .iterations = 2, .subsets = 1 };
  g_autofree float *whole = g_new (float, n);
  Going going;

  going_init (&going, 1);
  for (guint i = 0; i < 2; i++) { /* four passes at once, and then two */
    settings.iterations = i ? 2 : 4;
    going_run (&going, &settings, FALSE, i ? going.volume : whole);
  }
  const double rest = sqrt (going.kept.numbers[TD_SOLVER_OWN + 1]);
  const double may = 0.01 + 0.0001 * sqrt (going.kept.numbers[0]) / rest;
  const TdSolverMomentum kept = going.kept;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double off = 0, norm = 0;
    g_autofree float *out = g_new (float, n);

    going.kept = kept;
    going.factor = 1 + cases[i].part * may / (cases[i].part < 0 ? 1.01 : 0.99);
    going_run (&going, &settings, TRUE, out);
    for (guint k = 0; k < n; k++) {
      off += pow (out[k] - whole[k], 2);
      norm += pow (whole[k], 2);
    }
    td_test_pin ("%g of %g: %u failed, %.1e from the whole", cases[i].part, may, going.failed,
                 sqrt (off / norm));
    g_assert_cmpuint (going.failed, ==, !cases[i].fits);
    g_assert_cmpuint (going.recalled, ==, cases[i].fits);
    g_assert_cmpint (sqrt (off / norm) < 1e-4, ==, cases[i].fits);
  }
  going_clear (&going);
}

/* Wherever a run is cut, the other part makes the passes that are left, to the one at which the
   residual has settled. Without the momentum of the first part it begins to count anew. */
static void
test_settles_in_parts (void)
{
  static const TdSolverKind kinds[] = { TD_SOLVER_FISTA_TV, TD_SOLVER_CGLS };
  static const double factors[] = { 1 - 1.1e-5, 1 - 0.9e-5, 1 + 0.9e-5, 1 + 1.1e-5 };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    const gboolean cgls = kinds[i] == TD_SOLVER_CGLS;
    TdSolverSettings settings = { .kind = kinds[i],
                                  .iterations = 100,
                                  .subsets = cgls ? 1 : 3,
                                  .relaxation = 1,
                                  .tolerance = cgls ? 0.5 : 0.05 };
    g_autofree float *out = g_new (float, N *N *N_ROWS);
    double whole[100];
    Going going;

    going_init (&going, settings.subsets);
    g_assert_cmpint (going_run (&going, &settings, FALSE, out), ==, TD_SOLVER_SETTLED);
    const guint n = going.f.passes;
    memcpy (whole, going.f.residuals, n * sizeof *whole);
    for (guint cut = 1; cut < n; cut++) {
      settings.iterations = cut;
      g_assert_cmpint (going_run (&going, &settings, FALSE, going.volume), ==, TD_SOLVER_ALL);
      g_assert_cmpuint (going.kept.passes, ==, cut);
      settings.iterations = 100;
      g_assert_cmpint (going_run (&going, &settings, TRUE, out), ==, TD_SOLVER_SETTLED);
      g_assert_cmpuint (going.recalled, ==, 1);
      g_assert_cmpuint (cut + going.f.passes, ==, n);
      g_assert_cmpuint (going.end, ==, n);
      for (guint pass = cut; pass < n; pass++)
        g_assert_cmpfloat_with_epsilon (going.f.residuals[pass - cut], whole[pass],
                                        1e-4 * whole[pass]);
    }
    const TdSolverMomentum kept = going.kept;
    g_assert_cmpfloat (kept.numbers[2], ==, 1);
    for (guint f = 0; f < G_N_ELEMENTS (factors); f++) { /* of what was measured */
      const gboolean fits = fabs (factors[f] - 1) < 1e-5;

      going.kept = kept;
      going.kept.numbers[0] *= factors[f];
      going_run (&going, &settings, TRUE, out);
      g_assert_cmpuint (going.failed, ==, !fits);
      g_assert_cmpuint (going.recalled, ==, fits);
      g_assert_true (fits ? going.f.passes == 1 : going.f.passes >= 3);
    }
    going.kept = kept;
    going.factor = 2;
    going_run (&going, &settings, TRUE, out);
    g_assert_cmpuint (going.failed, ==, cgls);
    g_assert_true (cgls ? going.f.passes >= 3 : going.f.passes == 1);
    going_clear (&going);
  }
}

/* What subsets weigh is the same in every pass: kept or made anew, it corrects alike. */
static void
test_kept_weights (void)
{
  for (guint subsets = 1; subsets <= 5; subsets += 2)
    for (guint kind = 0; kind < 2; kind++) {
      float *volumes[2];
      double off = 0, norm = 0;

      for (guint kept = 0; kept < 2; kept++) {
        const TdSolverSettings settings = { .kind = kind ? TD_SOLVER_FISTA_TV : TD_SOLVER_SIRT,
                                            .iterations = 3,
                                            .subsets = subsets,
                                            .relaxation = 0.9,
                                            .keep_weights = kept };
        TdSolverEnd end;
        Fixture f;

        fixture_init (&f, subsets);
        volumes[kept] = run (&f, &settings, &end);
        g_assert_cmpuint (f.passes, ==, 3);
        fixture_clear (&f);
      }
      for (guint i = 0; i < N * N * N_ROWS; i++) {
        off += pow (volumes[1][i] - volumes[0][i], 2);
        norm += pow (volumes[0][i], 2);
      }
      td_test_pin ("%u subsets: %.1e", subsets, sqrt (off / norm));
      g_assert_cmpfloat (norm, >, 0);
      g_assert_cmpfloat (sqrt (off / norm), <, 1e-5);
      g_free (volumes[0]);
      g_free (volumes[1]);
    }
}

/* Of nothing, every method makes nothing, and says that nothing is left. */
static void
test_empty (void)
{
  static const TdSolverKind kinds[] = { TD_SOLVER_SIRT, TD_SOLVER_CGLS, TD_SOLVER_FISTA_TV };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    const TdSolverSettings settings
        = { .kind = kinds[k], .iterations = 3, .subsets = 1, .relaxation = 0.9, .tv = 0.1 };
    g_autoptr (GError) error = NULL;
    TdSolverEnd end;
    Fixture f;

    fixture_init (&f, 1);
    g_autoptr (TdQueue) queue = td_queue_new (f.device, &error);
    g_assert_no_error (error);
    g_assert_true (td_fill_zero (queue, f.measured, 0, f.measured->bytes, &error));
    g_assert_true (td_queue_finish (queue, &error));
    g_autofree float *volume = run (&f, &settings, &end);
    for (guint i = 0; i < N * N * N_ROWS; i++)
      g_assert_cmpfloat (volume[i], ==, 0);
    for (guint i = 0; i < f.passes; i++)
      g_assert_cmpfloat (f.residuals[i], ==, 0);
    fixture_clear (&f);
  }
}

/* ── Total variation ── */

/* Denoising to the end takes strength / width off either side of a step between two slabs. */
static void
test_denoise (void)
{
  const double strength = 0.6;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };
  g_autoptr (GError) error = NULL;
  Fixture f;

  fixture_init (&f, 1);
  TdGroupDenoise denoise = { .variation = { strength, FALSE }, .steps = 3000 };
  TdGroupVolume *volume = td_ray_group_volume_new (f.group, &error);
  denoise.spare = td_ray_group_volume_new (f.group, &error);
  for (guint i = 0; i < 3; i++)
    denoise.field[i] = td_ray_group_volume_new (f.group, &error);
  g_assert_true (td_ray_group_put (f.group, f.object, &all, -G_MAXFLOAT, volume, &error));
  g_assert_true (td_ray_group_denoise (f.group, volume, &denoise, &error));
  g_autofree float *out = g_new (float, N *N *N_ROWS);
  g_assert_true (td_ray_group_give (f.group, volume, &all, out, &error));
  const double taken = strength / (N / 2);
  td_test_pin ("%.5f and %.5f, expected %.5f and %.5f", out[1], out[N - 2], 0.2 + taken,
               0.8 - taken);
  for (guint i = 0; i < N * N * N_ROWS; i++)
    g_assert_cmpfloat_with_epsilon (out[i], i % N < N / 2 ? 0.2 + taken : 0.8 - taken, 2e-3);
  td_ray_group_volume_free (volume);
  td_ray_group_volume_free (denoise.spare);
  for (guint i = 0; i < 3; i++)
    td_ray_group_volume_free (denoise.field[i]);
  fixture_clear (&f);
}

/* A run that begins with the object corrects nothing. Its second pass denoises the object by tv
   times the volume's typical value, a share of it after each subset. */
static void
test_strength (void)
{
  const double tv = 0.1;
  const TdRayBox all = { { 0 }, { N, N, N_ROWS } };
  const TdSolverSettings settings
      = { .kind = TD_SOLVER_FISTA_TV, .iterations = 2, .subsets = 1, .relaxation = 1, .tv = tv };
  g_autoptr (GError) error = NULL;
  double squares = 0, sum = 0, moved = 0, off = 0;
  TdSolverEnd end;
  Fixture f;

  fixture_init (&f, settings.subsets);
  f.begins = TRUE;
  g_autofree float *got = run (&f, &settings, &end);
  g_assert_cmpuint (f.passes, ==, 2);
  for (guint i = 0; i < N * N * N_ROWS; i++) {
    squares += (double) f.object[i] * f.object[i];
    sum += f.object[i];
  }
  TdGroupDenoise denoise = { .variation = { tv * squares / sum, FALSE }, .steps = 3 };
  TdGroupVolume *volume = td_ray_group_volume_new (f.group, &error);
  denoise.spare = td_ray_group_volume_new (f.group, &error);
  for (guint i = 0; i < 3; i++)
    denoise.field[i] = td_ray_group_volume_new (f.group, &error);
  g_assert_true (td_ray_group_put (f.group, f.object, &all, -G_MAXFLOAT, volume, &error));
  g_assert_true (td_ray_group_denoise (f.group, volume, &denoise, &error));
  g_autofree float *expected = g_new (float, N *N *N_ROWS);
  g_assert_true (td_ray_group_give (f.group, volume, &all, expected, &error));
  for (guint i = 0; i < N * N * N_ROWS; i++) {
    moved += pow (expected[i] - f.object[i], 2);
    off += pow (got[i] - expected[i], 2);
  }
  td_test_pin ("denoising moves by %.2e, the solver's differs by %.2e", sqrt (moved), sqrt (off));
  g_assert_cmpfloat (moved, >, 0);
  g_assert_cmpfloat (sqrt (off), <, 0.02 * sqrt (moved));
  td_ray_group_volume_free (volume);
  td_ray_group_volume_free (denoise.spare);
  for (guint i = 0; i < 3; i++)
    td_ray_group_volume_free (denoise.field[i]);
  fixture_clear (&f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/solver/residual-waits-for-nobody", test_residual_waits_for_nobody);
  g_test_add_func ("/solver/errors", test_errors);
  g_test_add_func ("/solver/tolerance", test_tolerance);
  g_test_add_func ("/solver/ended-early", test_ended_early);
  g_test_add_func ("/solver/momentum", test_momentum);
  g_test_add_func ("/solver/going-on", test_going_on);
  g_test_add_func ("/solver/settles-in-parts", test_settles_in_parts);
  g_test_add_func ("/solver/kept-weights", test_kept_weights);
  g_test_add_func ("/solver/empty", test_empty);
  g_test_add_func ("/solver/denoise", test_denoise);
  g_test_add_func ("/solver/strength", test_strength);
  return g_test_run ();
}
