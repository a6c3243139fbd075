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
  for (guint i = 0; i < tests->len; i++)
    g_assert_true (((const TdSelfTestRow *) tests->pdata[i])->passed);
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
