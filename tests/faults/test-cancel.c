/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches and jobs begin nothing new once they are cancelled, wherever they are; what was begun
   may end. The tests count reads and reports. Time would say more of the machine. And a read that
   fails ends each of them with its error, whichever read it is. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "compute/engine/centre.h"
#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "dataset/error.h"
#include "dataset/helper.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-view.h"
#include "tests/common/inner-scan.h"

#define INTERRUPTED "--interrupted"
/* Which reads fail, one after another: sanitizers take long to begin and end threads. */
#ifdef __SANITIZE_ADDRESS__
#define FAILING_STEP 9
#else
#define FAILING_STEP 1
#endif

/* A scan of a phantom that cancels when it is read for the @cancel_at-th time, counted from 1. */
typedef struct {
  TdScan *inner;
  GCancellable *cancellable;
  guint cancel_at; /* 0: never */
  gint events;
  GHashTable *after; /* threads that began something after that; changed by many */
  GMutex lock;
  const char *const *options; /* of the recipe, names and values; NULL: presets */
  guint fail_at;              /* the read that fails, counted from 1; 0: none */
  gint reads;
} Watched;

/* A piece of work that can be seen: a read, a report, a slice. What a thread had begun when it was
   cancelled may still be seen, however many threads there are. What the same thread begins after
   that is new. */
static void
happened (Watched *watched)
{
  if (g_cancellable_is_cancelled (watched->cancellable)) {
    g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&watched->lock);
    g_assert_true (g_hash_table_add (watched->after, g_thread_self ()));
  }
  if ((guint) g_atomic_int_add (&watched->events, 1) + 1 == watched->cancel_at)
    g_cancellable_cancel (watched->cancellable);
}

static gboolean
watched_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Watched *watched = source;

  happened (watched);
  if ((guint) g_atomic_int_add (&watched->reads, 1) + 1 == watched->fail_at)
    return td_set_error (error, TD_ERROR_IO, "read number %u fails", watched->fail_at);
  return td_scan_fill (watched->inner, range, target, NULL, error);
}

static void
reported (double fraction, const char *what, gpointer user)
{
  happened (user);
}

static void
delivered (guint first, guint count, const float *slices, gpointer user)
{
  happened (user);
}

static TdScan *
watched_scan (Watched *watched)
{
  static const TdScanSource source = { .fill = watched_fill };

  return td_test_scan_around (watched->inner, &source, watched);
}

typedef gboolean (*Work) (TdScan *scan, Watched *watched, GError **error);

static gboolean
search (TdScan *scan, Watched *watched, GError **error)
{
  const TdAxisOptions options = { .progress = reported, .progress_user = watched };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  for (guint i = 0; watched->options && watched->options[i]; i += 2)
    g_assert_true (td_recipe_set (&recipe, watched->options[i], watched->options[i + 1], NULL));
  TdAxisResult *result
      = td_engine_find_axis (engine, scan, &recipe, &options, watched->cancellable, error);
  if (!result)
    return FALSE;
  td_axis_result_free (result);
  return TRUE;
}

static gboolean
reconstruct (TdScan *scan, Watched *watched, GError **error)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  for (guint i = 0; watched->options && watched->options[i]; i += 2)
    g_assert_true (td_recipe_set (&recipe, watched->options[i], watched->options[i + 1], NULL));
  if (!watched->options)
    recipe.centre_px = 47.5;
  recipe.memory_limit_bytes = 96 << 20;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, watched->cancellable, error);
  if (!plan)
    return FALSE;
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, delivered, watched);
  return td_job_run (job, watched->cancellable, error);
}

static guint
run (Work work, guint cancel_at)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 96, 160, 96);
  g_autoptr (TdScan) inner = td_phantom_scan_new (&spec, NULL);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) after = g_hash_table_new (NULL, NULL);
  Watched watched
      = { .inner = inner, .cancellable = cancellable, .cancel_at = cancel_at, .after = after };
  g_autoptr (TdScan) scan = watched_scan (&watched);

  gboolean ok = work (scan, &watched, &error);
  if (cancel_at == 0) {
    g_assert_no_error (error);
    return (guint) watched.events;
  }
  g_assert_false (ok);
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  return (guint) watched.events;
}

static void
test_everywhere (Work work)
{
  const guint events = run (work, 0);

  g_assert_cmpuint (events, >, 10);
  g_test_message ("%u events", events);
  /* Not at the very last one: nothing is left to be cancelled then. */
  for (guint i = 0; i < 8; i++)
    run (work, 1 + i * (events - 2) / 8);
}

static void
test_search (void)
{
  test_everywhere (search);
}

static void
test_job (void)
{
  test_everywhere (reconstruct);
}

/* ── Reads that fail ── */

static const struct {
  Work work;
  enum { STRAIGHT, TURNED, CONE } kind;
  const char *options[7];
} reading[] = {
  { search, STRAIGHT },
  { reconstruct, STRAIGHT, { "centre", "auto" } },
  { reconstruct, STRAIGHT, { "method", "fourier", "prepare", "flat-field:average=median" } },
  { reconstruct, STRAIGHT, { "method", "sirt", "iterations", "2", "prepare", "rings" } },
  { reconstruct, STRAIGHT, { "prepare", "flat-field:drift=angles,dose,minus-log" } },
  { reconstruct, STRAIGHT, { "prepare", "bad-pixels,flat-field,minus-log", "bits", "8" } },
  { reconstruct, TURNED, { "prepare", "flat-field,dose,minus-log" } },
  { reconstruct, TURNED, { "prepare", "bad-pixels,flat-field,dose:air=rows,minus-log" } },
  { reconstruct, CONE, { "method", "fdk", "prepare", "flat-field,dose,minus-log" } },
  { reconstruct, CONE, { "method", "sirt", "iterations", "1" } },
};

/* Returns how many reads there are. */
static guint
read_scan (guint index, guint fail_at)
{
  static const TdScanFrame turned = { .turned = TRUE };
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 24, 24, 32);
  g_autoptr (TdScan) inner = td_phantom_scan_new (&spec, NULL);
  g_autoptr (GError) error = NULL;
  Watched watched = { .inner = inner, .options = reading[index].options, .fail_at = fail_at };
  g_autoptr (TdScan) scan = watched_scan (&watched);
  if (reading[index].kind == CONE)
    scan->facts.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                          .pixel_width_mm = 0.1,
                                          .pixel_height_mm = 0.1,
                                          .source_axis_mm = 300,
                                          .source_detector_mm = 450 };
  g_autoptr (TdScan) view
      = reading[index].kind == TURNED ? td_scan_view_new (scan, &turned, NULL) : td_scan_ref (scan);
  const gboolean ok = reading[index].work (view, &watched, &error);

  g_assert_cmpint (ok, ==, fail_at == 0);
  if (fail_at == 0) {
    g_assert_no_error (error);
    return (guint) watched.reads;
  }
  g_autofree char *planted = g_strdup_printf ("read number %u fails", fail_at);
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
  g_assert_true (g_str_has_suffix (error->message, planted));
  return (guint) watched.reads;
}

static void
test_reads (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (reading); i++) {
    const guint reads = read_scan (i, 0);
    for (guint at = 1; at <= reads; at += FAILING_STEP)
      read_scan (i, at);
  }
}

/* Control-C comes to the parent and to a child that only begins. */
static void
test_child (void)
{
  static const char *const words[] = { INTERRUPTED, NULL };
  g_autofree char *how = td_helper_run (words, NULL, 0, NULL);

  g_assert_cmpstr (how, ==, NULL);
}

/* What a child of this program does. */
#define CHILD "child-"

static int
child_main (const char *what)
{
  const struct rlimit none = { 0, 0 };

  setrlimit (RLIMIT_CORE, &none);
  if (g_ascii_isdigit (*what))
    return (int) g_ascii_strtoll (what, NULL, 10);
  if (strcmp (what, "named") == 0)
    return g_getenv ("TOMODESK_CHILD") && g_getenv ("HOME") ? 0 : 4;
  if (strcmp (what, "told") == 0)
    return g_getenv ("TOMODESK_CHILD") && g_getenv ("TOLD") && !g_getenv ("HOME") ? 0 : 5;
  if (strcmp (what, "begins") == 0 || strcmp (what, "begins otherwise") == 0) {
    char *words[] = { (char *) "program", (char *) "begins", NULL };
    return td_helper_begin (2, words, what) == (strcmp (what, "begins") == 0)
                   && !td_helper_begin (1, words, what) && !td_helper_exists ()
               ? 0
               : 7;
  }
  if (strcmp (what, "limited") == 0) {
    struct rlimit now[2];
    td_helper_limit (0, 0);
    getrlimit (RLIMIT_CPU, &now[0]);
    td_helper_limit (77, 0);
    td_helper_limit (900, 0); /* never more than before */
    getrlimit (RLIMIT_CPU, &now[1]);
    return now[0].rlim_cur > 900 && now[1].rlim_cur == 77 ? 0 : 8;
  }
  if (strcmp (what, "sleeps") == 0)
    g_usleep (60 * G_USEC_PER_SEC);
  raise (strcmp (what, "trap") == 0 ? SIGTRAP : strcmp (what, "computes") == 0 ? SIGXCPU : SIGUSR1);
  return 6;
}

/* How a child ends is told in words; one that ends well, or is cancelled, says nothing. */
static void
test_child_ends (void)
{
  static const struct {
    const char *what, *says; /* says: NULL: nothing */
    gboolean cancelled, told;
  } cases[] = {
    { CHILD "0", NULL },
    { CHILD "3", "ended the process (status 3)" },
    { CHILD "trap", TD_HELPER_NO_MEMORY },
    { CHILD "computes", "computed without an end" },
    { CHILD "crashes", "crashed (User defined signal 1)" },
    { CHILD "sleeps", "did not answer within 1 s" },
    { CHILD "sleeps", NULL, TRUE },
    { CHILD "named", NULL },
    { CHILD "begins", NULL }, /* it has no children of its own */
    { CHILD "begins otherwise", NULL },
    { CHILD "limited", NULL },
    { CHILD "told", NULL, FALSE, TRUE },
  };

  g_setenv ("HOME", "/", FALSE);
  g_setenv ("TOMODESK_PROBE_SECONDS", "7", TRUE);
  g_assert_cmpuint (td_helper_seconds (3), ==, 7);
  g_unsetenv ("TOMODESK_PROBE_SECONDS");
  g_assert_cmpuint (td_helper_seconds (3), ==, 3);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const char *const words[] = { cases[i].what, NULL };
    /* Where libraries are carried along, nothing begins without them. */
    const char *libraries = g_getenv ("LD_LIBRARY_PATH");
    g_autofree char *carried = g_strconcat ("LD_LIBRARY_PATH=", libraries, NULL);
    char *environment[] = { (char *) "TOLD=1", libraries ? carried : NULL, NULL };
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    const gint64 begun = g_get_monotonic_time ();

    if (cases[i].cancelled)
      g_cancellable_cancel (cancellable);
    g_autofree char *how
        = td_helper_run (words, cases[i].told ? environment : NULL,
                         cases[i].says && strstr (cases[i].says, "answer") ? 1 : 0, cancellable);
    g_autoptr (TdMessage) message = how ? td_message_unpack (how) : NULL;
    g_autofree char *text = message ? td_message_text (message, NULL) : NULL;
    g_test_message ("%s: %s", cases[i].what, text);
    g_assert_cmpstr (text, ==, cases[i].says);
    g_assert_cmpint (g_get_monotonic_time () - begun, <, 50 * G_USEC_PER_SEC);
  }
}

int
main (int argc, char **argv)
{
  if (argc == 2 && g_str_has_prefix (argv[1], CHILD))
    return child_main (argv[1] + strlen (CHILD));
  if (argc == 2 && strcmp (argv[1], INTERRUPTED) == 0)
    return raise (SIGINT) || raise (SIGTERM) || raise (SIGHUP);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cancel/search", test_search);
  g_test_add_func ("/cancel/job", test_job);
  g_test_add_func ("/cancel/child", test_child);
  g_test_add_func ("/cancel/child-ends", test_child_ends);
  g_test_add_func ("/reads/fail", test_reads);
  return g_test_run ();
}
