/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When solvers end, what they say of it, and how strongly they denoise: on the host, without jobs.
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compute/iterative/solver-private.h"
#include "dataset/error.h"
#include "tests/common/devices.h"
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
      g_autofree float *plain = NULL;

      /* Of none, of some, of all, and of more than there are. */
      for (guint kept = 0; kept <= subsets + 1; kept++) {
        const TdSolverSettings settings = { .kind = kind ? TD_SOLVER_FISTA_TV : TD_SOLVER_SIRT,
                                            .iterations = 3,
                                            .subsets = subsets,
                                            .relaxation = 0.9,
                                            .kept_subsets = kept };
        double off = 0, norm = 0;
        TdSolverEnd end;
        Fixture f;

        fixture_init (&f, subsets);
        g_autofree float *volume = run (&f, &settings, &end);
        g_assert_cmpuint (f.passes, ==, 3);
        fixture_clear (&f);
        if (!plain)
          plain = g_memdup2 (volume, (gsize) N * N * N_ROWS * sizeof *volume);
        for (guint i = 0; i < N * N * N_ROWS; i++) {
          off += pow (volume[i] - plain[i], 2);
          norm += pow (plain[i], 2);
        }
        g_test_message ("%u of %u subsets: %.1e", kept, subsets, sqrt (off / norm));
        g_assert_cmpfloat (norm, >, 0);
        g_assert_cmpfloat (sqrt (off / norm), <, 1e-5);
      }
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

/* Values a million times as small or as large make the same passes, and as much smaller or larger
   volumes. */
static void
test_scales (void)
{
  static const TdSolverKind kinds[] = { TD_SOLVER_SIRT, TD_SOLVER_CGLS, TD_SOLVER_FISTA_TV };
  static const double scales[] = { 1, 0x1p-20, 0x1p20 };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    const TdSolverSettings settings = { .kind = kinds[k],
                                        .iterations = 5,
                                        .subsets = kinds[k] == TD_SOLVER_CGLS ? 1 : 3,
                                        .relaxation = 0.9,
                                        .tv = 0.05 };
    g_autofree float *usual = NULL;
    double residuals[5];

    for (guint i = 0; i < G_N_ELEMENTS (scales); i++) {
      TdSolverEnd end;
      Fixture f;

      fixture_init (&f, settings.subsets);
      float *lines = td_buffer_map (f.measured);
      for (gsize n = 0; n < f.measured->bytes / sizeof *lines; n++)
        lines[n] *= (float) scales[i];
      float *volume = run (&f, &settings, &end);
      g_assert_cmpuint (f.passes, ==, 5);
      g_test_message ("solver %u, times %g: residual %g", kinds[k], scales[i], f.residuals[4]);
      for (guint pass = 0; pass < 5; pass++) {
        if (i == 0)
          residuals[pass] = f.residuals[pass];
        g_assert_cmpfloat (f.residuals[pass], >, 0);
        g_assert_cmpfloat_with_epsilon (f.residuals[pass], residuals[pass], 1e-5);
      }
      for (guint n = 0; usual && n < N * N * N_ROWS; n++)
        g_assert_cmpfloat_with_epsilon (volume[n] / scales[i], usual[n], 1e-5);
      if (usual)
        g_free (volume);
      else
        usual = volume;
      fixture_clear (&f);
    }
  }
}

/* What a run holds on a device, a member and the host, of each method, in bytes. */
static void
test_bytes (void)
{
  static const struct {
    guint n_columns, n_rows, n_views, nx, ny, nz;
  } tasks[]
      = { { 36, 5, 12, 24, 24, 5 }, { 5, 700, 90, 7, 9, 300 }, { 1000, 800, 1201, 900, 870, 600 } };

  for (guint t = 0; t < G_N_ELEMENTS (tasks); t++)
    for (TdSolverKind kind = TD_SOLVER_SIRT; kind <= TD_SOLVER_CGLS; kind++)
      for (guint kept = 0; kept < 2; kept++) {
        const TdConeTask task = { .n_columns = tasks[t].n_columns,
                                  .n_rows = tasks[t].n_rows,
                                  .n_views = tasks[t].n_views,
                                  .nx = tasks[t].nx,
                                  .ny = tasks[t].ny,
                                  .nz = tasks[t].nz };
        const guint subsets = td_solver_usual_subsets (kind, task.n_views);
        const TdSolverSettings settings
            = { .kind = kind, .subsets = subsets, .kept_subsets = kept * subsets };
        td_test_pin ("%u solver %u%s: %u subsets of %u, store %d, momentum %u; %" G_GUINT64_FORMAT
                     " %" G_GUINT64_FORMAT "; member %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                     " %" G_GUINT64_FORMAT "; lines %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
                     "; scratch %" G_GUINT64_FORMAT,
                     t, kind, kept ? ", kept" : "", subsets,
                     td_solver_most_views (task.n_views, &settings),
                     td_solver_can_store (&settings), td_solver_momentum_volumes (kind),
                     td_solver_bytes (&task, &settings, 0), td_ray_group_volume_bytes (&task, 3),
                     td_solver_member_bytes (&task, &settings, 4, 0),
                     td_solver_member_bytes (&task, &settings, 4, 2),
                     td_solver_member_bytes (&task, &settings, 4, 5000),
                     td_solver_lines_bytes (&task, &settings, 1, 0),
                     td_solver_lines_bytes (&task, &settings, 3, 0),
                     td_rays_scratch_bytes (&task, task.n_views));
      }
}

/* The temporary file of that size, which has no name any more; it must be the only one. */
static int
file_of_size (guint64 bytes)
{
  int found = -1;

  for (int file = 3; file < 256; file++) {
    struct stat status;
    if (fstat (file, &status) != 0 || !S_ISREG (status.st_mode) || status.st_nlink != 0
        || (guint64) status.st_size != bytes)
      continue;
    g_assert_cmpint (found, ==, -1);
    found = file;
  }
  return found;
}

/* What was measured lies in a file, a few views of which are in memory. All that asks for others
   says so when the file is no longer what it was. */
static void
test_store_lost (void)
{
  enum { SUBSETS = 3, ROW = VIEWS * (N + 12) };
  const TdSolverSettings settings
      = { .kind = TD_SOLVER_SIRT, .iterations = 1, .subsets = SUBSETS, .relaxation = 1 };
  const TdSolverWatch watch = { 0 };
  const guint most = td_solver_most_views (VIEWS, &settings);
  g_autofree float *rows = g_new (float, N_ROWS *ROW);
  g_autofree guint *order = td_solver_order (VIEWS, SUBSETS);
  g_autoptr (GError) error = NULL;
  double squares = 0, told;
  TdSolverEnd end;
  Fixture f;

  fixture_init (&f, SUBSETS);
  td_test_random (rows, N_ROWS * ROW, 5);
  for (guint i = 0; i < N_ROWS * ROW; i++)
    squares += (double) rows[i] * rows[i];
  TdRayStore *store
      = td_ray_store_new (td_ray_group_lead (f.group), &f.task, order, 2, most, &error);
  g_assert_no_error (error);
  for (guint row = 0; row < N_ROWS; row += 2)
    g_assert_true (td_ray_store_take (store, rows + row * ROW, row, MIN (2, N_ROWS - row), &error));
  td_ray_group_set_store (f.group, store);
  g_assert_true (td_ray_group_measured_squares (f.group, NULL, &told, &error));
  g_assert_cmpfloat_with_epsilon (told, squares, 1e-5 * squares);

  g_autoptr (TdGroupVolume) volume = td_ray_group_volume_new (f.group, &error);
  const TdRayMissing missing = { td_ray_group_lines_new (f.group, most, &error),
                                 td_ray_group_lines_new (f.group, most, &error) };
  const TdRayViews first = td_solver_subset (VIEWS, SUBSETS, 0);
  g_assert_true (td_ray_group_compare (f.group, volume, NULL, first, &missing, &error));
  g_assert_no_error (error);
  const int file = file_of_size (td_rays_projection_bytes (&f.task, VIEWS));
  g_assert_cmpint (file, >=, 0);
  g_assert_cmpint (ftruncate (file, 0), ==, 0);
  g_assert_true (td_ray_group_compare (f.group, volume, NULL, first, &missing, &error));
  for (guint what = 0; what < 3; what++) {
    const TdRayViews second = td_solver_subset (VIEWS, SUBSETS, 1);
    gboolean ok = FALSE;
    if (what == 0)
      ok = td_ray_group_compare (f.group, volume, NULL, second, &missing, &error);
    else if (what == 1)
      ok = td_ray_group_measured_squares (f.group, NULL, &told, &error);
    else
      ok = td_solver_run (f.group, &settings, NULL, &watch, &end, &error) != NULL;
    g_assert_false (ok);
    g_assert_error (error, TD_ERROR, TD_ERROR_IO);
    g_clear_error (&error);
  }
  td_buffer_free (missing.lines);
  td_buffer_free (missing.squares);
  td_ray_group_volume_free (g_steal_pointer (&volume));
  fixture_clear (&f);
  td_ray_store_free (store);
}

/* Subsets that nobody has stated have two views at least, with momentum four. */
static void
test_usual_subsets (void)
{
  static const struct {
    TdSolverKind kind;
    guint n_views, subsets;
  } cases[] = {
    { TD_SOLVER_SIRT, 1, 1 },       { TD_SOLVER_SIRT, 2, 1 },       { TD_SOLVER_SIRT, 3, 1 },
    { TD_SOLVER_SIRT, 4, 2 },       { TD_SOLVER_SIRT, 39, 19 },     { TD_SOLVER_SIRT, 40, 20 },
    { TD_SOLVER_SIRT, 42, 20 },     { TD_SOLVER_SIRT, 5000, 20 },   { TD_SOLVER_FISTA_TV, 1, 1 },
    { TD_SOLVER_FISTA_TV, 7, 1 },   { TD_SOLVER_FISTA_TV, 8, 2 },   { TD_SOLVER_FISTA_TV, 39, 9 },
    { TD_SOLVER_FISTA_TV, 40, 10 }, { TD_SOLVER_FISTA_TV, 44, 10 }, { TD_SOLVER_CGLS, 1, 1 },
    { TD_SOLVER_CGLS, 5000, 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint subsets = td_solver_usual_subsets (cases[i].kind, cases[i].n_views);

    g_test_message ("%u, %u views: %u", cases[i].kind, cases[i].n_views, subsets);
    g_assert_cmpuint (subsets, ==, cases[i].subsets);
  }
}

/* Each view comes once. Subsets follow each other as they are visited, and views of a subset are
   evenly apart. */
static void
test_order (void)
{
  for (guint n_views = 1; n_views < 50; n_views++)
    for (guint subsets = 1; subsets <= MIN (n_views, 21); subsets++) {
      g_autofree guint *order = td_solver_order (n_views, subsets);
      g_autofree guint *seen = g_new0 (guint, n_views);
      guint place = 0, least = n_views, most = 0;

      for (guint i = 0; i < subsets; i++) {
        const TdRayViews views = td_solver_subset (n_views, subsets, i);
        g_assert_cmpuint (views.first, ==, place);
        g_assert_cmpuint (order[place], <, subsets);
        for (guint k = 0; k < views.n; k++, place++) {
          g_assert_cmpuint (order[place], ==, order[views.first] + k * subsets);
          seen[order[place]]++;
        }
        /* Neighbours come one after the other only where there is nothing else. */
        const guint apart
            = i ? (order[views.first] + subsets - order[place - views.n - 1] % subsets) % subsets
                : 0;
        g_assert_true (i == 0 || subsets < 7 || (apart > 1 && apart < subsets - 1));
        least = MIN (least, views.n);
        most = MAX (most, views.n);
      }
      g_assert_cmpuint (place, ==, n_views);
      for (guint view = 0; view < n_views; view++)
        g_assert_cmpuint (seen[view], ==, 1);
      g_assert_cmpuint (most - least, <=, 1);
      const TdSolverSettings settings = { .kind = TD_SOLVER_SIRT, .subsets = subsets };
      g_assert_cmpuint (td_solver_most_views (n_views, &settings), ==, most);
    }
}

/* ── Parts of a volume ── */

enum { PX = 9, PY = 11, PZ = 7, P_VIEWS = 5, P_COLUMNS = 15, P_ROWS = 12 };
#define P_VOXELS (PX * PY * PZ)
#define P_VIEW (P_COLUMNS * P_ROWS)

typedef struct {
  guint n, rows[3], batch;
} Split;

/* What a split came to. */
typedef struct {
  float missing[3 * P_VIEW], squares[3 * P_VIEW], corrected[P_VOXELS], denoised[P_VOXELS];
} Outcome;

static void
parts_task (TdConeTask *task, gboolean tilted)
{
  const TdGeometry geometry = { .beam = TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_axis_mm = 60,
                                .source_detector_mm = 90,
                                .detector_tilt_rad = { tilted ? 0.1 : 0, 0, tilted ? 0.2 : 0 } };
  const double angles[P_VIEWS] = { 0.1, 1.4, 2.6, 3.9, 5.2 };
  g_autoptr (GError) error = NULL;

  td_cone_task_init_rays (task, &geometry, angles, P_VIEWS, P_COLUMNS, P_ROWS, &error);
  g_assert_no_error (error);
  /* Some voxels lie beside the detector. */
  td_cone_task_set_volume (task, PX, PY, PZ, 3.6 * task->voxel_mm);
}

static void
fill (float *values, gsize n, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    values[i] = (float) g_rand_double_range (rand, -1, 1);
}

/* Projections from and to whoever has them. */
static void
lines_get (TdRayGroup *group, TdBuffer *lines, float *values, gsize n)
{
  TdQueue *queue = td_rays_queue (td_ray_group_lead (group));

  g_assert_true (td_download (queue, values, lines, 0, n * sizeof *values, NULL));
  g_assert_true (td_queue_finish (queue, NULL));
}

static void
lines_set (TdRayGroup *group, TdBuffer *lines, const float *values, gsize n)
{
  TdQueue *queue = td_rays_queue (td_ray_group_lead (group));

  g_assert_true (td_upload (queue, lines, 0, values, n * sizeof *values, NULL));
  g_assert_true (td_queue_finish (queue, NULL));
}

/* Boxes in and out, whatever members they lie on. @x holds what the volume does. */
static void
check_boxes (TdRayGroup *group, TdGroupVolume *volume, float *x)
{
  static const TdRayBox boxes[]
      = { { { 0, 0, 0 }, { PX, PY, PZ } }, { { 2, 3, 1 }, { 4, 5, 3 } },
          { { 8, 10, 6 }, { 1, 1, 1 } },   { { 0, 4, 2 }, { 9, 1, 5 } },
          { { 1, 0, 0 }, { 3, 4, 7 } },    { { 5, 1, 3 }, { 2, 10, 2 } } };
  float box[P_VOXELS];

  for (guint i = 0; i < G_N_ELEMENTS (boxes); i++) {
    const TdRayBox *b = &boxes[i];
    const gsize n = (gsize) b->size[0] * b->size[1] * b->size[2];
    const float least = i % 2 ? -0.2f : -G_MAXFLOAT;

    for (guint put = 0; put < 2; put++) {
      fill (box, P_VOXELS, 70 + i);
      if (put)
        g_assert_true (td_ray_group_put (group, box, b, least, volume, NULL));
      else
        g_assert_true (td_ray_group_give (group, volume, b, box, NULL));
      for (gsize k = 0; k < n; k++) {
        const guint at[3]
            = { b->first[0] + k % b->size[0], b->first[1] + k / b->size[0] % b->size[1],
                b->first[2] + k / b->size[0] / b->size[1] };
        float *voxel = &x[(at[2] * PY + at[1]) * PX + at[0]];
        if (put)
          *voxel = MAX (box[k], least);
        else
          g_assert_cmpfloat (box[k], ==, *voxel);
      }
    }
  }
  g_assert_true (td_ray_group_give (group, volume, &boxes[0], box, NULL));
  g_assert_cmpmem (box, sizeof box, x, sizeof box);
}

/* Sums and blends of whole volumes. */
static void
check_vectors (TdRayGroup *group, TdGroupVolume *volume, float *x)
{
  const TdRayBox all = { { 0 }, { PX, PY, PZ } };
  g_autoptr (TdGroupVolume) other = td_ray_group_volume_new (group, NULL);
  float y[P_VOXELS], out[P_VOXELS];
  double product = 0, magnitude = 0;
  TdRaySums sums;

  fill (y, P_VOXELS, 3);
  g_assert_true (td_ray_group_put (group, y, &all, -G_MAXFLOAT, other, NULL));
  g_assert_true (td_ray_group_sums (group, volume, other, &sums, NULL));
  for (guint i = 0; i < P_VOXELS; i++) {
    product += (double) x[i] * y[i];
    magnitude += fabs (x[i]);
  }
  g_assert_cmpfloat_with_epsilon (sums.product, product, 1e-4);
  g_assert_cmpfloat_with_epsilon (sums.magnitude, magnitude, 1e-4);
  g_assert_true (td_ray_group_combine (group, volume, (TdRayBlend) { 0.5, -2 }, other, NULL));
  for (guint i = 0; i < P_VOXELS; i++)
    x[i] = 0.5f * x[i] - 2 * y[i];
  g_assert_true (td_ray_group_extrapolate (group, volume, other, 0.7, NULL));
  g_assert_true (td_ray_group_give (group, other, &all, out, NULL));
  for (guint i = 0; i < P_VOXELS; i++) {
    g_assert_cmpfloat_with_epsilon (out[i], x[i], 1e-6);
    x[i] += 0.7f * (x[i] - y[i]);
  }
  g_assert_true (td_ray_group_give (group, volume, &all, out, NULL));
  for (guint i = 0; i < P_VOXELS; i++)
    g_assert_cmpfloat_with_epsilon (out[i], x[i], 1e-5);
  g_assert_true (td_ray_group_put (group, x, &all, -G_MAXFLOAT, volume, NULL));
}

/* Line integrals and their adjoint of places 1 to 3, by the plain way. */
static void
check_projection (TdRayGroup *group, TdGroupVolume *volume, const float *x, const guint *order)
{
  const TdConeTask *task = td_ray_group_task (group);
  const TdRayBox all = { { 0 }, { PX, PY, PZ } };
  const TdRayViews views = { 1, 3 };
  g_autoptr (TdBuffer) lines = td_ray_group_lines_new (group, 3, NULL);
  g_autoptr (TdGroupVolume) sum = td_ray_group_volume_new (group, NULL);
  double there[P_VIEW], back[P_VOXELS] = { 0 };
  float turned[P_VIEW], out[P_VOXELS], values[3 * P_VIEW];

  g_assert_true (td_ray_group_project (group, volume, views, lines, NULL));
  lines_get (group, lines, values, 3 * P_VIEW);
  for (guint i = 0; i < views.n; i++) {
    memset (there, 0, sizeof there);
    td_rays_reference_project (task, order[views.first + i], x, there);
    for (guint k = 0; k < P_VIEW; k++)
      g_assert_cmpfloat_with_epsilon (values[i * P_VIEW + k % P_COLUMNS * P_ROWS + k / P_COLUMNS],
                                      there[k], 2e-3);
  }
  fill (values, 3 * P_VIEW, 4);
  lines_set (group, lines, values, 3 * P_VIEW);
  for (guint i = 0; i < views.n; i++) {
    for (guint k = 0; k < P_VIEW; k++)
      turned[k] = values[i * P_VIEW + k % P_COLUMNS * P_ROWS + k / P_COLUMNS];
    td_rays_reference_back (task, order[views.first + i], turned, back);
  }
  g_assert_true (td_ray_group_back (group, lines, views, sum, NULL));
  g_assert_true (td_ray_group_give (group, sum, &all, out, NULL));
  for (guint i = 0; i < P_VOXELS; i++)
    g_assert_cmpfloat_with_epsilon (out[i], back[i], 2e-3);
}

/* A correction by what is missing, and denoising twice. */
static void
correct_and_denoise (TdRayGroup *group, TdGroupVolume *volume, Outcome *outcome)
{
  const TdRayBox all = { { 0 }, { PX, PY, PZ } };
  const TdRayViews views = { 1, 3 };
  const TdGroupStep step = { .relaxation = 0.7, .non_negative = TRUE };
  TdGroupDenoise denoise = { .variation = { 0.05, FALSE }, .steps = 2 };
  TdRayMissing missing
      = { td_ray_group_lines_new (group, 3, NULL), td_ray_group_lines_new (group, 3, NULL) };
  g_autoptr (TdBuffer) measured = td_ray_group_lines_new (group, P_VIEWS, NULL);
  double squares, sum = 0;
  float values[P_VIEWS * P_VIEW];

  fill (values, P_VIEWS * P_VIEW, 5);
  lines_set (group, measured, values, P_VIEWS * P_VIEW);
  for (guint i = 0; i < P_VIEWS * P_VIEW; i++)
    sum += (double) values[i] * values[i];
  g_assert_true (td_ray_group_measured_squares (group, measured, &squares, NULL));
  g_assert_cmpfloat_with_epsilon (squares, sum, 1e-4);
  g_assert_true (td_ray_group_compare (group, volume, measured, views, &missing, NULL));
  lines_get (group, missing.lines, outcome->missing, 3 * P_VIEW);
  lines_get (group, missing.squares, outcome->squares, 3 * P_VIEW);
  g_assert_true (td_ray_group_correct (group, missing.lines, views, &step, volume, NULL));
  g_assert_true (td_ray_group_give (group, volume, &all, outcome->corrected, NULL));
  denoise.spare = td_ray_group_volume_new (group, NULL);
  for (guint i = 0; i < 3; i++)
    denoise.field[i] = td_ray_group_volume_new (group, NULL);
  for (guint i = 0; i < 2; i++)
    g_assert_true (td_ray_group_denoise (group, volume, &denoise, NULL));
  g_assert_true (td_ray_group_give (group, volume, &all, outcome->denoised, NULL));
  td_ray_group_volume_free (denoise.spare);
  for (guint i = 0; i < 3; i++)
    td_ray_group_volume_free (denoise.field[i]);
  td_buffer_free (missing.lines);
  td_buffer_free (missing.squares);
}

/* The correction by what was missing at places 1 to 3, plainly. Voxels that nobody sees stay. */
static void
check_correction (const TdConeTask *task, const guint *order, const float *x,
                  const Outcome *outcome)
{
  float view[P_VIEW], ones[P_VIEW];
  double sums[P_VOXELS] = { 0 }, weights[P_VOXELS] = { 0 };
  guint unseen = 0;

  for (guint k = 0; k < P_VIEW; k++)
    ones[k] = 1;
  for (guint i = 0; i < 3; i++) {
    for (guint k = 0; k < P_VIEW; k++)
      view[k] = outcome->missing[i * P_VIEW + k % P_COLUMNS * P_ROWS + k / P_COLUMNS];
    td_rays_reference_back (task, order[1 + i], view, sums);
    td_rays_reference_back (task, order[1 + i], ones, weights);
  }
  for (guint k = 0; k < P_VOXELS; k++) {
    const double moved = weights[k] > 0 ? 0.7 * sums[k] / weights[k] : 0;
    g_assert_cmpfloat_with_epsilon (outcome->corrected[k], MAX (x[k] + moved, 0), 1e-3);
    unseen += weights[k] == 0 && x[k] > 0;
  }
  g_assert_cmpuint (unseen, >, 0);
}

/* The same correction by weights that are known. @x is what the volume was. */
static void
check_weights (TdRayGroup *group, const float *x, const Outcome *outcome)
{
  const TdRayBox all = { { 0 }, { PX, PY, PZ } };
  const TdRayViews views = { 1, 3 };
  g_autoptr (TdBuffer) lines = td_ray_group_lines_new (group, 3, NULL);
  g_autoptr (TdGroupVolume) volume = td_ray_group_volume_new (group, NULL);
  g_autoptr (TdGroupVolume) weights = td_ray_group_volume_new (group, NULL);
  const TdGroupStep step = { .relaxation = 0.7, .non_negative = TRUE, .weights = weights };
  float out[P_VOXELS];

  g_assert_true (td_rays_fill_ones (td_ray_group_lead (group), 3, lines, NULL));
  g_assert_true (td_ray_group_back (group, lines, views, weights, NULL));
  lines_set (group, lines, outcome->missing, 3 * P_VIEW);
  g_assert_true (td_ray_group_put (group, x, &all, -G_MAXFLOAT, volume, NULL));
  g_assert_true (td_ray_group_correct (group, lines, views, &step, volume, NULL));
  g_assert_true (td_ray_group_give (group, volume, &all, out, NULL));
  for (guint k = 0; k < P_VOXELS; k++)
    g_assert_cmpfloat_with_epsilon (out[k], outcome->corrected[k], 1e-4);
}

/* However a volume is split, and projections come in batches, a group does what one device does. */
static void
check_split (TdDevice *device, const Split *split, gboolean tilted, const Outcome *whole,
             Outcome *outcome)
{
  const guint order[P_VIEWS] = { 3, 1, 4, 0, 2 };
  const TdRayBox all = { { 0 }, { PX, PY, PZ } };
  g_autoptr (GError) error = NULL;
  TdGroupMember members[3];
  float x[P_VOXELS];
  TdConeTask task;
  guint failed;

  g_test_message ("%s, %u parts, %u views", tilted ? "tilted" : "upright", split->n, split->batch);
  parts_task (&task, tilted);
  for (guint m = 0, first = 0; m < split->n; first += split->rows[m++])
    members[m] = (TdGroupMember) { device, first, split->rows[m] };
  const TdGroupShares shares = { members, split->n, split->batch, device };
  g_autoptr (TdRayGroup) group = td_ray_group_new (&shares, &task, order, &failed, NULL, &error);
  g_assert_no_error (error);
  TdGroupVolume *volume = td_ray_group_volume_new (group, &error);
  fill (x, P_VOXELS, 2);
  g_assert_true (td_ray_group_put (group, x, &all, -G_MAXFLOAT, volume, &error));
  check_boxes (group, volume, x);
  check_vectors (group, volume, x);
  check_projection (group, volume, x, order);
  correct_and_denoise (group, volume, outcome);
  check_correction (&task, order, x, outcome);
  if (split->batch == 0 || split->batch >= 3)
    check_weights (group, x, outcome);
  for (guint k = 0; whole && k < 3 * P_VIEW; k++) {
    g_assert_cmpfloat_with_epsilon (outcome->missing[k], whole->missing[k], 1e-4);
    g_assert_cmpfloat_with_epsilon (outcome->squares[k], whole->squares[k], 1e-3);
  }
  for (guint k = 0; k < P_VOXELS; k++) {
    g_assert_cmpfloat (outcome->corrected[k], >=, 0);
    if (!whole)
      continue;
    g_assert_cmpfloat_with_epsilon (outcome->corrected[k], whole->corrected[k], 1e-4);
    g_assert_cmpfloat_with_epsilon (outcome->denoised[k], whole->denoised[k], 1e-4);
  }
  td_ray_group_volume_free (volume);
  td_cone_task_clear (&task);
}

static void
test_parts (void)
{
  static const Split splits[] = {
    { 1, { 11 }, 0 },   { 1, { 11 }, 2 },      { 1, { 11 }, 20 },
    { 2, { 4, 7 }, 3 }, { 3, { 1, 9, 1 }, 1 }, { 3, { 5, 2, 4 }, 2 },
  };
  g_autofree Outcome *outcomes = g_new (Outcome, 2);
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);

  for (guint tilted = 0; tilted < 2; tilted++)
    for (guint i = 0; i < G_N_ELEMENTS (splits); i++) {
      check_split (host, &splits[i], tilted, i > 0 ? &outcomes[0] : NULL, &outcomes[i > 0]);
      if (i == 0) {
        td_test_pin_values ("missing", outcomes[0].missing, 3 * P_VIEW);
        td_test_pin_values ("squares", outcomes[0].squares, 3 * P_VIEW);
        td_test_pin_values ("corrected", outcomes[0].corrected, P_VOXELS);
        td_test_pin_values ("denoised", outcomes[0].denoised, P_VOXELS);
      }
    }
}

/* The same where the first member leads, by each device with memory of its own. */
static void
test_parts_of_cards (void)
{
  static const Split splits[] = { { 1, { 11 }, 0 },
                                  { 1, { 11 }, 3 },
                                  { 2, { 4, 7 }, 3 },
                                  { 3, { 1, 9, 1 }, 3 },
                                  { 3, { 5, 2, 4 }, 20 } };
  g_autofree Outcome *outcomes = g_new (Outcome, 2);
  g_autoptr (GPtrArray) entries = td_device_list ();
  guint tried = 0;

  for (guint d = 0; d < entries->len; d++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, d);
    g_autoptr (TdDevice) device = entry->available ? td_device_open (entry->id, NULL) : NULL;

    if (!device || td_device_info (device)->host_pointers)
      continue;
    g_test_message ("%s", entry->id);
    tried++;
    for (guint tilted = 0; tilted < 2; tilted++)
      for (guint i = 0; i < G_N_ELEMENTS (splits); i++)
        check_split (device, &splits[i], tilted, i > 0 ? &outcomes[0] : NULL, &outcomes[i > 0]);
  }
  if (!tried)
    g_test_skip ("no OpenCL or CUDA here");
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
  g_test_add_func ("/solver/scales", test_scales);
  g_test_add_func ("/solver/bytes", test_bytes);
  g_test_add_func ("/solver/usual-subsets", test_usual_subsets);
  g_test_add_func ("/solver/store-lost", test_store_lost);
  g_test_add_func ("/solver/order", test_order);
  g_test_add_func ("/solver/parts", test_parts);
  g_test_add_func ("/solver/parts-of-cards", test_parts_of_cards);
  g_test_add_func ("/solver/denoise", test_denoise);
  g_test_add_func ("/solver/strength", test_strength);
  return g_test_run ();
}
