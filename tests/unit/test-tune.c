/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuner takes the fastest of made-up measures, and its store survives damage. Both and the
   self-test decide what "auto" takes on the host.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/parallel/self-test.h"
#include "compute/parallel/trial.h"
#include "compute/parallel/tune-store.h"
#include "compute/parallel/tune.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"

/* ── The tuner ── */

typedef struct {
  const double *seconds;     /* a run of each candidate takes; negative: does not build */
  const double *differences; /* from the default's result */
  guint prepared, released, measured[8];
  GCancellable *cancel_at_second;
} Fake;

static gboolean
fake_prepare (guint index, gpointer user, GError **error)
{
  Fake *fake = user;

  if (fake->seconds[index] < 0) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD, "does not build");
    return FALSE;
  }
  fake->prepared++;
  return TRUE;
}

static gboolean
fake_measure (guint index, gpointer user, double *seconds, GError **error)
{
  Fake *fake = user;

  /* The first run is slow, as on a cold device. */
  *seconds = fake->seconds[index] * (fake->measured[index]++ == 0 ? 1.5 : 1);
  if (fake->cancel_at_second && index == 1)
    g_cancellable_cancel (fake->cancel_at_second);
  return TRUE;
}

static gboolean
fake_judge (guint index, gpointer user, double *difference, GError **error)
{
  *difference = ((Fake *) user)->differences[index];
  if (*difference < 1e-3 || !isfinite (*difference))
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG, "wrong");
  return FALSE;
}

static void
fake_release (guint index, gpointer user)
{
  ((Fake *) user)->released++;
}

static int
run_fake (Fake *fake, guint n, TdTunerResult *results, GCancellable *cancellable, GError **error)
{
  const TdTuner tuner = { .n_candidates = n,
                          .user = fake,
                          .prepare = fake_prepare,
                          .measure = fake_measure,
                          .judge = fake_judge,
                          .release = fake_release };

  return td_tuner_run (&tuner, 5, results, cancellable, error);
}

static void
test_choice (void)
{
  const double seconds[] = { 1.0, 0.99, 0.5, 0.1, -1, 0.6, 0.2 };
  const double differences[] = { 0, 0, 1e-6, 0.5, 0, 0, NAN };
  Fake fake = { .seconds = seconds, .differences = differences };
  TdTunerResult results[G_N_ELEMENTS (seconds)];
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (run_fake (&fake, G_N_ELEMENTS (seconds), results, NULL, &error), ==, 2);
  g_assert_no_error (error);
  g_assert_null (results[2].rejected);
  g_assert_nonnull (results[3].rejected); /* fastest, but wrong */
  g_assert_nonnull (results[4].rejected);
  g_assert_nonnull (results[6].rejected);
  g_assert_cmpfloat_with_epsilon (results[2].seconds, 0.5, 1e-9);
  g_assert_cmpuint (fake.prepared, ==, fake.released);
  for (guint i = 0; i < G_N_ELEMENTS (results); i++)
    td_tuner_result_clear (&results[i]);
}

/* Not worth changing for one per cent, and nothing but the default may be wrong. */
static void
test_default_stays (void)
{
  const double seconds[] = { 1.0, 0.99 }, broken[] = { -1, 0.5 }, differences[] = { 0, 0 };
  Fake fake = { .seconds = seconds, .differences = differences };
  Fake no_default = { .seconds = broken, .differences = differences };
  TdTunerResult results[2];
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (run_fake (&fake, 2, results, NULL, &error), ==, 0);
  g_assert_cmpint (run_fake (&no_default, 2, results, NULL, &error), ==, -1);
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
}

static void
test_cancel (void)
{
  const double seconds[] = { 1.0, 0.9, 0.8 }, differences[] = { 0, 0, 0 };
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Fake fake = { .seconds = seconds, .differences = differences, .cancel_at_second = cancellable };
  TdTunerResult results[3];
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (run_fake (&fake, 3, results, cancellable, &error), ==, -1);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (fake.measured[2], ==, 0);
}

/* Two runs of a candidate warm up, and the best of the others counts. The spread is from there to
   the middle one. What is hopeless runs once. */
static gboolean
listed_measure (guint index, gpointer user, double *seconds, GError **error)
{
  static const double times[3][8] = { { 9, 0.5, 4, 2, 7, 3, 5 },
                                      { 1.5, 1.2, 3, 1, 2, 6, 4 },
                                      { 9, 9, 0.1, 0.1, 0.1, 0.1, 0.1 } };
  Fake *fake = user;

  *seconds = times[index][fake->measured[index]++];
  return TRUE;
}

static void
test_runs (void)
{
  static const struct {
    guint runs;
    double seconds[3], spread[3];
    guint measured[3];
    int winner;
  } cases[] = {
    { 5, { 2, 1, 9 }, { 1, 2, 0 }, { 7, 7, 1 }, 1 },
    { 2, { 2, 1, 9 }, { 1, 2, 0 }, { 4, 4, 1 }, 1 },
    { 1, { 4, 3, 9 }, { 0, 0, 0 }, { 3, 3, 1 }, 1 },
    { 0, { 4, 3, 9 }, { 0, 0, 0 }, { 3, 3, 1 }, 1 },
  };
  const double seconds[] = { 0, 0, 0 }, differences[] = { 0, 0, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    Fake fake = { .seconds = seconds, .differences = differences };
    const TdTuner tuner = { .n_candidates = 3,
                            .user = &fake,
                            .prepare = fake_prepare,
                            .measure = listed_measure,
                            .judge = fake_judge,
                            .release = fake_release };
    TdTunerResult results[3];

    g_assert_cmpint (td_tuner_run (&tuner, cases[i].runs, results, NULL, NULL), ==,
                     cases[i].winner);
    for (guint k = 0; k < 3; k++) {
      g_test_message ("%u %u: %g %g, %u", i, k, results[k].seconds, results[k].spread,
                      fake.measured[k]);
      g_assert_cmpfloat (results[k].seconds, ==, cases[i].seconds[k]);
      g_assert_cmpfloat (results[k].spread, ==, cases[i].spread[k]);
      g_assert_cmpuint (fake.measured[k], ==, cases[i].measured[k]);
    }
  }
}

/* ── The store ── */

static TdDeviceInfo
some_card (void)
{
  return (TdDeviceInfo) { .id = (char *) "cuda:0",
                          .name = (char *) "Card",
                          .api = (char *) "cuda",
                          .driver = (char *) "1.0" };
}

static TdBackprojectTask
some_task (guint size)
{
  return (TdBackprojectTask) { .n_columns = size,
                               .n_views = size,
                               .nx = size,
                               .ny = size,
                               .step = 1,
                               .interpolation = TD_INTERPOLATION_LINEAR };
}

static char *
store_file (void)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "tuned.json", NULL);
}

/* Whoever writes reads the file first: what this process knew is forgotten. */
static void
reread (void)
{
  const TdDeviceInfo other = { .name = (char *) "Other", .api = (char *) "cuda" };
  g_autoptr (GError) error = NULL;

  g_assert_true (td_tune_store_disable (&other, "alu", "only to write", &error));
  g_assert_no_error (error);
}

static void
clean (void)
{
  g_autofree char *file = store_file ();

  g_unlink (file);
  reread ();
}

static void
test_store (void)
{
  char *defines[] = { (char *) "TD_TILE=64", (char *) "TEXT=a b", NULL };
  const TdTuned tuned = { .defines = defines, .slices = 2, .updates_per_second = 5e12 };
  TdDeviceInfo card = some_card (), updated = some_card ();
  TdBackprojectTask task = some_task (2000), larger = some_task (2100);
  TdTuned found;
  g_autoptr (GError) error = NULL;

  clean ();
  updated.driver = (char *) "1.1";
  g_assert_false (td_tune_store_find (&card, "alu", &task, 2, &found));
  g_assert_true (td_tune_store_add (&card, "alu", &task, 3, &tuned, &error));
  reread ();
  g_assert_true (td_tune_store_find (&card, "alu", &task, 2, &found));
  g_assert_cmpstrv (found.defines, defines);
  g_assert_cmpuint (found.slices, ==, 2);
  g_assert_cmpfloat (found.updates_per_second, ==, 5e12);
  td_tuned_clear (&found);
  g_assert_false (td_tune_store_find (&card, "alu", &task, 1, &found));
  g_assert_false (td_tune_store_find (&card, "alu", &larger, 2, &found));
  g_assert_false (td_tune_store_find (&card, "texture", &task, 2, &found));
  g_assert_false (td_tune_store_find (&updated, "alu", &task, 2, &found));

  g_assert_true (td_tune_store_disable (&card, "alu", "off by 7", &error));
  reread ();
  g_autofree char *reason = td_tune_store_disabled (&card, "alu");
  g_assert_cmpstr (reason, ==, "off by 7");
  g_assert_null (td_tune_store_disabled (&updated, "alu"));
  g_assert_true (td_tune_store_disable (&card, "alu", NULL, &error));
  g_assert_null (td_tune_store_disabled (&card, "alu"));
  g_assert_true (td_tune_store_find (&card, "alu", &task, 2, &found)); /* that stays */
  td_tuned_clear (&found);
}

/* What decides which variant is fastest keeps entries apart: each finds its own. */
static void
test_store_apart (void)
{
  static const char *const families[] = { "alu", "texture" };
  /* The last size of a class, and the first of the next; the widest of columns and pixels counts.
   */
  static const guint sizes[] = { 256, 257, 512, 513, 16384, 17000 };
  static const guint classes[] = { 0, 1, 1, 2, 6, 6 };
  TdDeviceInfo card = some_card (), renamed = some_card (), other_api = some_card ();
  g_autoptr (GError) error = NULL;

  clean ();
  renamed.name = (char *) "Another card";
  other_api.api = (char *) "another";
  const TdDeviceInfo *cards[] = { &card, &renamed, &other_api };
  for (guint pass = 0; pass < 2; pass++) { /* first all are kept, then all are found */
    for (guint c = 0; c < G_N_ELEMENTS (cards); c++)
      for (guint f = 0; f < G_N_ELEMENTS (families); f++)
        for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
          for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
            for (guint n = 1; n <= 5; n++) {
              /* One size of all for most: the file is read for each that is kept. */
              const guint last = c + f + i + p == 0 && n == 1 ? G_N_ELEMENTS (sizes) : 1;
              for (guint s = 0; s < last; s++) {
                TdBackprojectTask task = some_task (sizes[s]);
                const guint slices = n >= 4 ? 4 : n >= 2 ? 2 : 1;
                const TdTuned tuned = { .slices = 1,
                                        .updates_per_second = 1 + c + 10 * f + 100 * i + 1000. * p
                                                              + 1e4 * slices + 1e5 * classes[s] };
                TdTuned found;
                task.interpolation = i;
                task.precision = p;
                if (pass == 0 && n != 3 && n != 5) {
                  g_assert_true (
                      td_tune_store_add (cards[c], families[f], &task, n, &tuned, &error));
                } else if (pass == 1) {
                  g_assert_true (td_tune_store_find (cards[c], families[f], &task, n, &found));
                  g_assert_cmpfloat (found.updates_per_second, ==, tuned.updates_per_second);
                  td_tuned_clear (&found);
                }
              }
            }
    reread ();
  }
  for (guint k = 0; k < 3; k++) { /* the widest decides */
    TdBackprojectTask task = some_task (100);
    TdTuned found;
    *(k == 0 ? &task.n_columns : k == 1 ? &task.nx : &task.ny) = 257;
    task.interpolation = TD_INTERPOLATION_NEAREST;
    task.precision = TD_PRECISION_SINGLE;
    g_assert_true (td_tune_store_find (&card, "alu", &task, 1, &found));
    g_assert_cmpfloat (found.updates_per_second, ==, 1 + 1e4 + 1e5);
    td_tuned_clear (&found);
  }
  clean ();
}

static void
test_damaged (gconstpointer text)
{
  g_autofree char *file = store_file ();
  g_autofree char *folder = g_path_get_dirname (file);
  TdDeviceInfo card = some_card ();
  TdBackprojectTask task = some_task (512);
  TdTuned found;
  g_autoptr (GError) error = NULL;

  clean ();
  g_mkdir_with_parents (folder, 0700);
  g_assert_true (g_file_set_contents (file, text, -1, NULL));
  reread ();
  g_assert_false (td_tune_store_find (&card, "alu", &task, 1, &found));
  g_assert_null (td_tune_store_disabled (&card, "alu"));
  g_assert_true (td_tune_store_disable (&card, "alu", "wrong", &error));
  g_autofree char *reason = td_tune_store_disabled (&card, "alu");
  g_assert_cmpstr (reason, ==, "wrong");
  clean ();
}

/* ── On the host ── */

static void
count_progress (const TdTuneStep *step, gpointer user)
{
  double *done = user;

  g_assert_cmpstr (step->family->name, ==, "host");
  g_assert_cmpfloat (step->fraction, >=, *done);
  g_assert_cmpfloat (step->fraction, <, 1);
  g_assert_cmpfloat_with_epsilon (
      step->fraction, (step->number - 1 + (step->variant - 1.0) / step->n_variants) / step->n_cases,
      1e-12);
  *done = step->fraction;
}

static void
count_test (const TdSelfTestRow *about, guint number, guint total, gpointer told)
{
  g_assert_cmpuint (number, ==, ++*(guint *) told);
  g_assert_cmpuint (number, <=, total);
  g_assert_nonnull (about->family);
}

/* Every kind of task that the family computes, for one, two and four slices, once; and kept. */
static void
check_kinds (TdDevice *host, GPtrArray *rows)
{
  const TdBackprojectFamily *family = td_backproject_family ("host", NULL);
  TdBackprojectTask task = some_task (128);
  guint n = 0;

  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++) {
      task.interpolation = i;
      task.precision = p;
      if (family->unsupported && family->unsupported (family, &task, td_device_info (host)))
        continue;
      for (guint slices = 1; slices <= 4; slices *= 2, n++) {
        guint times = 0;
        for (guint r = 0; r < rows->len; r++) {
          const TdTuneRow *row = rows->pdata[r];
          if (row->interpolation != i || row->precision != p || row->n_slices != slices)
            continue;
          times++;
          g_assert_true (row->family == family);
          g_assert_null (row->error);
          g_assert_cmpuint (row->rejected, <, row->candidates);
          g_assert_cmpfloat (row->default_rate, >, 0);
          g_assert_cmpfloat (row->best_rate, >=, row->default_rate);
          TdTuned found;
          g_assert_true (td_tune_store_find (td_device_info (host), "host", &task, slices, &found));
          g_assert_cmpfloat_with_epsilon (found.updates_per_second, row->best_rate,
                                          1e-6 * row->best_rate);
          td_tuned_clear (&found);
        }
        g_assert_cmpuint (times, ==, 1);
      }
    }
  g_assert_cmpuint (rows->len, ==, n);
}

static void
test_host (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) host = td_device_open ("host", &error);
  const TdDeviceInfo *info = td_device_info (host);
  TdBackprojectTask task = some_task (128);
  double done = 0;
  const TdTuneOptions options
      = { .size = 128, .runs = 2, .family = "host", .progress = count_progress, .user = &done };
  TdTuned found;

  clean ();
  g_assert_nonnull (td_backproject_choose ("auto", &task, host, 1, &error));
  g_assert_true (td_tune_store_disable (info, "host", "off by 7", &error));
  g_assert_null (td_backproject_choose ("auto", &task, host, 1, &error));
  g_assert_nonnull (strstr (error->message, "off by 7"));
  g_clear_error (&error);
  g_assert_null (td_backproject_choose ("host", &task, host, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);

  /* The family is right after all: it comes back. */
  guint told = 0;
  g_autoptr (GPtrArray) tests = td_self_test_device (host, count_test, &told, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (tests->len, >, 0);
  g_assert_cmpuint (told, ==, tests->len);
  g_assert_cmpuint (tests->len, ==, 2 * 3 * 3); /* interpolations, precisions, 1, 3 and 5 slices */
  for (guint i = 0; i < tests->len; i++) {
    const TdSelfTestRow *row = tests->pdata[i];
    g_assert_true (row->passed);
    g_assert_cmpfloat (row->error, >, 0);
    g_assert_cmpstr (row->family, ==, "host");
    g_assert_cmpuint (row->n_slices, ==, 1 + 2 * (i % 3));
    g_assert_cmpint (row->precision, ==, i / 3 % 3);
    g_assert_cmpint (row->interpolation, ==, i / 9);
  }
  g_assert_nonnull (td_backproject_choose ("auto", &task, host, 1, &error));

  g_autoptr (GPtrArray) rows = td_tune_device (host, &options, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (rows->len, >, 0);
  g_assert_cmpfloat (done, >, 0.5);
  check_kinds (host, rows);
  g_assert_true (td_tune_store_find (info, "host", &task, 1, &found));
  g_assert_cmpfloat (found.updates_per_second, >, 0);
  td_tuned_clear (&found);
  clean ();
}

/* ── The verdict ── */

typedef struct {
  const TdDeviceOps *sound;
  TdDevice *device;
  double part; /* of the family's bound, by which candidates are off */
  double off;  /* of their values */
  guint n;     /* downloads since the row began */
} Spoiled;

static Spoiled spoiled;

static gboolean
spoiled_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                  GError **error)
{
  if (!spoiled.sound->download (queue, host, from, offset, bytes, error)
      || !spoiled.sound->queue_finish (queue, error))
    return FALSE;
  if (spoiled.n++ > 0) /* the first is the usual variant's */
    for (gsize i = 0; i < bytes / sizeof (float); i++)
      ((float *) host)[i] *= (float) (1 + spoiled.off);
  return TRUE;
}

static void
spoil_next (const TdTuneStep *step, gpointer size)
{
  TdBackprojectTask task;

  if (step->variant > 1)
    return;
  const guint n = GPOINTER_TO_UINT (size);
  td_trial_task_init (&task, n, n, n, step->interpolation, step->precision);
  spoiled.off = spoiled.part
                * step->family->error_bound (step->family, &task, td_device_info (spoiled.device));
  spoiled.n = 0;
  g_free ((gpointer) task.angles_rad);
}

/* A candidate may differ by twice of what the family states, and no more. Here it is the usual
   variant itself, and what comes of it is changed. */
static void
test_verdict (void)
{
  enum { SIZE = 12 };
  static const double parts[] = { 0, 1.5, 2.5, NAN };
  const TdTuneOptions options = { .size = SIZE,
                                  .runs = 1,
                                  .family = "standard",
                                  .progress = spoil_next,
                                  .user = GUINT_TO_POINTER (SIZE) };
  g_autoptr (GPtrArray) devices = td_test_devices ();

  if (devices->len < 2) {
    g_test_skip ("no device but the host");
    return;
  }
  TdDevice *device = spoiled.device = td_test_open (devices->pdata[1]);
  const gboolean linear = device->info.texture_linear;
  spoiled.sound = device->ops;
  TdDeviceOps ops = *spoiled.sound;
  ops.download = spoiled_download;
  device->ops = &ops;
  device->info.texture_linear = FALSE; /* or there is one more */
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autoptr (GError) error = NULL;

    spoiled.part = parts[i];
    g_autoptr (GPtrArray) rows = td_tune_device (device, &options, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (rows->len, ==, 6);
    for (guint r = 0; r < rows->len; r++) {
      const TdTuneRow *row = rows->pdata[r];
      g_assert_null (row->error);
      g_assert_cmpuint (row->candidates, ==, 2);
      g_assert_cmpuint (row->rejected, ==, !(parts[i] < 2));
    }
  }
  device->ops = spoiled.sound;
  device->info.texture_linear = linear;
  td_test_close (device);
  clean ();
}

/* ── Which family ── */

/* What "auto" takes on a device that is none here, and what it takes after that did not build, and
   so on to the end. */
static void
test_families_in_turn (void)
{
  static const struct {
    gboolean cpu_shaped, no_textures;
    TdPrecision precision;
    double most_error;
    const char *out, *fast; /* of use; the fastest as tuned */
    const char *turns;
  } cases[] = {
    { .turns = "alu texture hybrid standard oversampling" },
    { .no_textures = TRUE, .turns = "alu standard oversampling" },
    { .cpu_shaped = TRUE, .turns = "host standard alu texture hybrid oversampling" },
    { .precision = TD_PRECISION_HALF, .turns = "alu texture hybrid oversampling" },
    { .precision = TD_PRECISION_HALF_RUN, .turns = "alu hybrid oversampling" },
    { .out = "alu", .turns = "texture hybrid standard oversampling" },
    { .out = "texture", .turns = "alu hybrid standard oversampling" },
    { .fast = "hybrid", .turns = "hybrid alu texture standard oversampling" },
    { .fast = "standard", .turns = "standard alu texture hybrid oversampling" },
    { .most_error = 1e-4, .turns = "alu texture hybrid standard oversampling" },
    { .most_error = 1e-4, .out = "alu", .turns = "" },
    { .most_error = 1e-4, .no_textures = TRUE, .turns = "alu standard oversampling" },
    { .most_error = 1e-9, .turns = "" },
  };
  static const double angles[2] = { 0, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdDevice) device = td_device_open ("host", &error);
    const TdDeviceInfo host = device->info;
    TdBackprojectTask task = some_task (300);
    g_autoptr (GString) turns = g_string_new (NULL);
    const TdBackprojectFamily *family;
    guint tried = 0;

    clean ();
    device->info.host_pointers = FALSE;
    device->info.cpu_shaped = cases[i].cpu_shaped;
    device->info.kind = TD_DEVICE_GPU;
    device->info.local_memory_bytes = 48 << 10;
    device->info.max_group_size = 1024;
    device->info.compute_units = 4;
    device->info.texels = cases[i].no_textures ? 0 : ~0u;
    device->info.texture_linear = TRUE;
    device->info.texture_max[0] = device->info.texture_max[1] = 1 << 15;
    device->info.half_storage = device->info.half_arithmetic = TRUE;
    task.n_views = 2;
    task.angles_rad = angles;
    task.precision = cases[i].precision;
    task.most_error = cases[i].most_error;
    if (cases[i].out)
      g_assert_true (td_tune_store_disable (&device->info, cases[i].out, "off by 7", &error));
    if (cases[i].fast)
      for (guint k = 0; k < 2; k++) { /* the other one is slower */
        const TdTuned tuned = { .updates_per_second = k ? 2e9 : 1e9 };
        g_assert_true (
            td_tune_store_add (&device->info, k ? cases[i].fast : "alu", &task, 3, &tuned, &error));
      }
    family = td_backproject_choose (i % 2 ? NULL : "auto", &task, device, 3, &error);
    g_assert_true ((family == NULL) == (error != NULL));
    if (error) {
      g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
      g_assert_nonnull (strstr (error->message, cases[i].out ? "off by 7" : "its error may be"));
    }
    for (; family; family = td_backproject_another (family, &task, device, 3, &tried)) {
      g_assert_cmpuint (turns->len, <, 100);
      g_string_append_printf (turns, "%s%s", turns->len ? " " : "", family->name);
    }
    g_test_message ("%u", i);
    g_assert_cmpstr (turns->str, ==, cases[i].turns);
    if (cases[i].out) {
      g_clear_error (&error);
      g_assert_null (td_backproject_choose (cases[i].out, &task, device, 3, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
      g_assert_nonnull (strstr (error->message, "off by 7"));
    }
    device->info = host;
  }
  clean ();
}

/* ── A family that is right but for what it is told ── */

static struct {
  const TdTrial *trial;
  guint slice, x, y; /* where it is wrong */
  float by;          /* how much; NAN: it writes nothing there */
  double factor;     /* of everything */
  double *truths;    /* of all slices; NULL: not computed yet */
  char *variants;    /* what it was made by, in turn */
  const char *cannot;
} told;

static gboolean
told_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
          guint n_slices, GError **error)
{
  const TdBackprojectTask *task = td_trial_task (told.trial);
  const gsize n = (gsize) task->nx * task->ny;
  g_autofree double *truth = g_new (double, n);

  for (guint s = 0; s < n_slices; s++) {
    float *to = (float *) td_place_map (slices) + s * n;
    const float *from
        = (const float *) td_place_map (sinograms) + (gsize) s * task->n_views * task->n_columns;
    if (!td_backprojector_mark (projector, queue, error))
      return FALSE;
    td_backproject_reference (task, from, truth);
    for (gsize i = 0; i < n; i++)
      if (s != told.slice || i != told.y * task->nx + told.x || !isnan (told.by))
        to[i] = (float) (told.factor * truth[i]);
    if (s == told.slice && !isnan (told.by))
      to[told.y * task->nx + told.x] += told.by;
    if (!td_backprojector_mark (projector, queue, error))
      return FALSE;
    g_usleep (2000); /* no kernel's time */
  }
  return TRUE;
}

static void
told_free (TdBackprojector *projector)
{
  g_free (projector);
}

static TdBackprojector *
told_create (const TdBackprojectFamily *family, TdDevice *device, const TdBackprojectTask *task,
             const TdBackprojectVariant *variant, guint max_slices, GError **error)
{
  static const TdBackprojectorOps ops = { .run = told_run, .free = told_free };
  g_autofree char *defines
      = variant && variant->defines ? g_strjoinv (" ", variant->defines) : NULL;
  g_autofree char *before = told.variants;

  told.variants = variant ? g_strdup_printf ("%s[%u %s]", before ? before : "", variant->slices,
                                             defines ? defines : "usual")
                          : g_strdup_printf ("%s[none]", before ? before : "");
  if (variant && told.cannot && g_strcmp0 (defines, told.cannot) == 0)
    return td_set_error_null (error, TD_ERROR_DEVICE_BUILD, "does not build");
  TdBackprojector *projector = td_backprojector_alloc (sizeof *projector, &ops, device, task);
  projector->description = g_strdup ("as told");
  return projector;
}

static void
told_twice (const TdBackprojectTask *task, const float *sinogram, double *out)
{
  td_backproject_reference (task, sinogram, out);
  for (gsize i = 0; i < (gsize) task->nx * task->ny; i++)
    out[i] *= 2;
}

static const TdBackprojectFamily told_family = { .name = "told", .create = told_create };
static const TdBackprojectFamily told_own
    = { .name = "told", .create = told_create, .reference = told_twice };

/* The square of the truth over a part of a slice of the trial, by its own sinograms. */
static double
square_of (const TdBackprojectTask *task, const float *slice, guint x, guint y, guint nx, guint ny)
{
  double sum = 0;

  for (guint j = y; j < y + ny; j++)
    for (guint i = x; i < x + nx; i++)
      sum += (double) slice[j * task->nx + i] * slice[j * task->nx + i];
  return sum;
}

typedef struct {
  guint n, n_views, n_slices;
  gboolean own; /* a truth of the family's own */
  guint slice, x, y;
  gboolean seen;
} TrialCase;

/* A wrong pixel of the first or the last slice shows. Of large slices, and where the truth is dear,
   it shows in the middle, at the right and in the lower left corner. */
static void
check_trial (TdDevice *device, const TrialCase *c)
{
  const TdBackprojectFamily *family = c->own ? &told_own : &told_family;
  const guint square = c->own ? 8 : 32, n = c->n;
  const gboolean whole = !c->own && n * n * c->n_views <= 1 << 22;
  g_autoptr (GError) error = NULL;
  double relative = NAN, seconds = NAN, norm = 0;
  TdBackprojectTask task;

  td_trial_task_init (&task, 24, c->n_views, n, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree const double *angles = task.angles_rad;
  g_autoptr (TdTrial) trial = td_trial_new (device, &task, c->n_slices, 9, &error);
  g_assert_no_error (error);
  told.trial = trial;
  told.slice = c->slice;
  told.x = c->x;
  told.y = c->y;
  told.factor = c->own ? 2 : 1;
  for (guint way = 0; way < (n > 200 ? 2 : 3); way++) { /* right, wrong, not written */
    told.by = way == 2 ? NAN : way == 1 ? 7 : 0;
    g_assert_true (td_trial_prepare (trial, family, &td_backproject_default, &error));
    g_assert_cmpstr (td_trial_description (trial), ==, "as told");
    for (guint run = 0; run < (way == 0 ? 2 : 1); run++) {
      g_assert_true (td_trial_run (trial, &seconds, &error));
      g_assert_cmpfloat (td_trial_kernel_seconds (trial), >, 0);
      g_assert_cmpfloat (td_trial_kernel_seconds (trial), <=, seconds - 0.0019 * (c->n_slices - 1));
    }
    g_assert_true (td_trial_error (trial, &relative, &error));
    if (way == 0) {
      g_assert_cmpfloat (relative, <, 1e-6);
      g_autofree float *slices = td_trial_slices (trial, &error);
      for (guint s = 0; s < c->n_slices; s += MAX (c->n_slices - 1, 1)) {
        const float *slice = slices + (gsize) s * n * n;
        const guint middle = (n - square) / 2, last = n - square;
        norm += whole ? square_of (&task, slice, 0, 0, n, n)
                      : square_of (&task, slice, middle, middle, square, square)
                            + square_of (&task, slice, last, middle, square, square)
                            + square_of (&task, slice, 0, last, square, square);
      }
    } else if (way == 1) {
      g_assert_cmpfloat_with_epsilon (relative, c->seen ? 7 / sqrt (norm) : 0,
                                      1e-5 * (1 + 7 / sqrt (norm)));
    } else {
      g_assert_true (isinf (relative) == c->seen);
    }
  }
  g_assert_cmpfloat (td_trial_updates (trial), ==, (double) c->n_slices * n * n * c->n_views);
  td_trial_release (trial);
  g_assert_null (td_trial_description (trial));
}

static void
test_trial (void)
{
  static const TrialCase cases[] = {
    { 20, 5, 1, FALSE, 0, 19, 0, TRUE },      { 20, 5, 3, FALSE, 2, 0, 19, TRUE },
    { 20, 5, 3, FALSE, 1, 3, 4, FALSE },      { 20, 5, 3, FALSE, 0, 7, 7, TRUE },
    { 30, 5, 2, TRUE, 1, 11, 11, TRUE },      { 30, 5, 2, TRUE, 1, 10, 11, FALSE },
    { 30, 5, 2, TRUE, 0, 18, 18, TRUE },      { 30, 5, 2, TRUE, 0, 19, 19, FALSE },
    { 30, 5, 1, TRUE, 0, 29, 11, TRUE },      { 30, 5, 1, TRUE, 0, 29, 10, FALSE },
    { 30, 5, 1, TRUE, 0, 0, 29, TRUE },       { 30, 5, 1, TRUE, 0, 7, 22, TRUE },
    { 30, 5, 1, TRUE, 0, 8, 29, FALSE },      { 30, 5, 1, TRUE, 0, 0, 21, FALSE },
    { 30, 5, 1, TRUE, 0, 22, 18, TRUE },      { 256, 64, 1, FALSE, 0, 1, 1, TRUE },
    { 256, 65, 1, FALSE, 0, 1, 1, FALSE },    { 256, 65, 1, FALSE, 0, 112, 143, TRUE },
    { 256, 65, 1, FALSE, 0, 255, 112, TRUE }, { 256, 65, 1, FALSE, 0, 31, 224, TRUE },
  };
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_test_message ("%u", i);
    if (i > 0
        && (cases[i].n != cases[i - 1].n || cases[i].n_views != cases[i - 1].n_views
            || cases[i].n_slices != cases[i - 1].n_slices))
      g_clear_pointer (&told.truths, g_free); /* of other sinograms */
    check_trial (device, &cases[i]);
  }
  g_clear_pointer (&told.truths, g_free);
  g_clear_pointer (&told.variants, g_free);
}

/* A scan of trials, and a trial that serves another task of its kind. */
static void
test_trial_tasks (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  g_autoptr (TdTrial) trial = NULL;
  TdBackprojectTask task;

  td_trial_task_init (&task, 31, 10, 21, TD_INTERPOLATION_NEAREST, TD_PRECISION_HALF);
  g_autofree double *angles = (double *) task.angles_rad;
  g_assert_true (task.n_columns == 31 && task.n_views == 10 && task.nx == 21 && task.ny == 21);
  g_assert_true (task.x0 == -10 && task.y0 == 10 && task.step == 1 && !task.axis_px
                 && !task.weights);
  g_assert_true (task.interpolation == TD_INTERPOLATION_NEAREST
                 && task.precision == TD_PRECISION_HALF);
  g_assert_cmpfloat_with_epsilon (task.centre_px, 15.3, 1e-12);
  g_assert_cmpfloat_with_epsilon (task.scale, G_PI / 10, 1e-12);
  for (guint v = 0; v < 10; v++)
    g_assert_cmpfloat_with_epsilon (angles[v], G_PI * v / 10, 1e-12);

  g_assert_true (td_trial_serve (&trial, device, &task, 2, 1, &error));
  TdTrial *first = trial;
  for (guint i = 0; i < 4; i++) {
    TdBackprojectTask other = task;
    other.interpolation = i == 1 ? TD_INTERPOLATION_LINEAR : task.interpolation;
    other.precision = i == 2 ? TD_PRECISION_SINGLE : task.precision;
    g_assert_true (td_trial_serve (&trial, device, &other, i == 3 ? 3 : 2, 1, &error));
    g_assert_cmpint (td_trial_task (trial)->interpolation, ==, other.interpolation);
    g_assert_cmpint (td_trial_task (trial)->precision, ==, other.precision);
    g_assert_cmpfloat (td_trial_updates (trial), ==, (i == 3 ? 3 : 2) * 21. * 21 * 10);
    if (i == 0)
      g_assert_true (trial == first);
  }
  angles[3] = 9; /* the trial has its own */
  g_assert_cmpfloat_with_epsilon (td_trial_task (trial)->angles_rad[3], G_PI * 3 / 10, 1e-12);
}

/* A projector is made as tuned. If that no longer builds, and where only the default was the best,
   it is made as usual. */
static void
test_made_as_tuned (void)
{
  static const struct {
    const char *defines;
    guint slices;
    const char *cannot, *made;
  } cases[] = {
    { NULL, 0, NULL, "[none]" },          { "A=1 B=2", 2, NULL, "[2 A=1 B=2]" },
    { "A=1", 0, NULL, "[0 A=1]" },        { NULL, 4, NULL, "[4 usual]" },
    { "A=1", 2, "A=1", "[2 A=1][none]" },
  };
  TdBackprojectTask task;

  td_trial_task_init (&task, 16, 3, 16, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree const double *angles = task.angles_rad;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint way = 0; way < 3; way++) {
      g_autoptr (GError) error = NULL;
      g_autoptr (TdDevice) device = td_device_open ("host", NULL);
      g_auto (GStrv) defines = cases[i].defines ? g_strsplit (cases[i].defines, " ", -1) : NULL;
      const TdTuned tuned
          = { .defines = defines, .slices = cases[i].slices, .updates_per_second = 1e9 };
      const TdBackprojectVariant own = { .family = "told", .slices = 7 };

      if (way == 0) {
        clean ();
        g_assert_true (
            td_tune_store_add (td_device_info (device), "told", &task, 2, &tuned, &error));
      }
      told.cannot = cases[i].cannot;
      TdBackprojector *projector = td_backprojector_new (&told_family, device, &task,
                                                         way == 0   ? NULL
                                                         : way == 1 ? &td_backproject_default
                                                                    : &own,
                                                         2, &error);
      g_assert_no_error (error);
      g_assert_true (projector->family == &told_family && projector->max_slices == 2);
      g_assert_cmpstr (told.variants, ==,
                       way == 0   ? cases[i].made
                       : way == 1 ? "[none]"
                                  : "[7 usual]");
      td_backprojector_free (projector);
      g_clear_pointer (&told.variants, g_free);
    }
  told.cannot = NULL;
  clean ();
}

/* A family is out of use while one of its tests fails, by the first reason; the others are not. */
static void
test_remembered (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open ("host", NULL);
  const TdDeviceInfo *info = td_device_info (device);

  clean ();
  for (guint round = 0; round < 2; round++) {
    static const struct {
      const char *family;
      double error, bound;
    } tests[] = { { "a", 1e-6, 1e-5 }, { "b", 1e-5, 1e-5 }, { "a", 2e-5, 1e-5 },
                  { "c", NAN, 1 },     { "a", 3e-5, 1e-5 }, { "b", 0, 1 } };
    g_autoptr (GPtrArray) rows = td_self_test_rows_new ();

    for (guint i = 0; i < G_N_ELEMENTS (tests); i++) {
      td_self_test_add (rows, &(TdSelfTestRow) { .family = tests[i].family,
                                                 .error = round ? 0 : tests[i].error,
                                                 .bound = tests[i].bound });
      TdSelfTestRow *row = rows->pdata[i];
      td_self_test_judge (row, NULL);
      g_assert_cmpint (row->passed, ==, round || i == 0 || i == 1 || i == 5);
      g_assert_cmpint (row->passed, ==, row->reason == NULL);
    }
    g_assert_true (td_self_test_remember (device, "kind ", rows, &error));
    for (guint f = 0; f < 3; f++) {
      const char *const keys[] = { "kind a", "kind b", "kind c" };
      g_autofree char *reason = td_tune_store_disabled (info, keys[f]);
      g_assert_cmpint (reason != NULL, ==, round == 0 && f != 1);
      if (reason && f == 0)
        g_assert_nonnull (strstr (reason, "2e-05"));
    }
    g_assert_null (td_tune_store_disabled (info, "a"));
  }
  TdSelfTestRow row = { .family = "a", .bound = 1 };
  g_set_error (&error, TD_ERROR, TD_ERROR_DEVICE_LOST, "gone");
  td_self_test_judge (&row, error);
  g_assert_false (row.passed);
  g_assert_cmpstr (row.reason, ==, "gone");
  g_free (row.reason);
  clean ();
}

/* What a variant is judged by. */
static void
test_relative (void)
{
  const float truth[] = { 3, 4, 0, 12 }, off[] = { 3, 4.5f, -0.5f, 13 }, none[] = { 0, 0, 0, 0 };

  g_assert_cmpfloat (td_relative_l2 (truth, truth, 4), ==, 0);
  g_assert_cmpfloat_with_epsilon (td_relative_l2 (off, truth, 4), sqrt (1.5) / 13, 1e-12);
  g_assert_cmpfloat (td_relative_l2 (none, none, 4), ==, 0);
  g_assert_true (isinf (td_relative_l2 (off, none, 4)));
}

int
main (int argc, char **argv)
{
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-XXXXXX", NULL);

  g_setenv ("XDG_CACHE_HOME", folder, TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tune/choice", test_choice);
  g_test_add_func ("/tune/default-stays", test_default_stays);
  g_test_add_func ("/tune/cancel", test_cancel);
  g_test_add_func ("/tune/runs", test_runs);
  g_test_add_func ("/tune/verdict", test_verdict);
  g_test_add_func ("/tune/families-in-turn", test_families_in_turn);
  g_test_add_func ("/tune/trial", test_trial);
  g_test_add_func ("/tune/trial-tasks", test_trial_tasks);
  g_test_add_func ("/tune/made-as-tuned", test_made_as_tuned);
  g_test_add_func ("/tune/remembered", test_remembered);
  g_test_add_func ("/tune/store", test_store);
  g_test_add_func ("/tune/store/apart", test_store_apart);
  g_test_add_func ("/tune/relative", test_relative);
  g_test_add_data_func ("/tune/damaged/empty", "", test_damaged);
  g_test_add_data_func ("/tune/damaged/text", "{ \"format\": 1, \"entries\": [ {", test_damaged);
  g_test_add_data_func ("/tune/damaged/types",
                        "{ \"format\": 1, \"entries\": [ 1, {}, { \"key\": 3 } ] }", test_damaged);
  g_test_add_data_func ("/tune/damaged/format", "{ \"format\": [1], \"entries\": {} }",
                        test_damaged);
  g_test_add_func ("/tune/host", test_host);
  int status = g_test_run ();
  g_autofree char *cache = g_build_filename (folder, "tomodesk", NULL);
  g_rmdir (cache);
  g_rmdir (folder);
  return status;
}
