/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an engine keeps between jobs, and when it lets go: rows, idle working sets, flats, scans
   seen otherwise, found axes, rates. And how it picks devices and methods. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/time.h>

#include "compute/device/host.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/found-axes.h"
#include "compute/engine/monitor.h"
#include "compute/engine/rates.h"
#include "compute/methods/methods.h"
#include "dataset/volume.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/devices.h"

#define MIB ((guint64) 1 << 20)

/* ── Rows ── */

#define ROW_FLOATS 262144 /* 1 MiB a row */

typedef struct {
  guint reads;
} Plain;

static gboolean
plain_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
            GCancellable *cancellable, GError **error)
{
  Plain *plain = source;

  plain->reads++;
  for (guint row = 0; row < range->n_rows; row++)
    *(float *) td_frame_target_row (target, 0, row) = (float) (range->row0 + row);
  return TRUE;
}

static const TdScanSource plain_vtable = { .fill = plain_fill };

/* One view: frames and sinograms lie alike. */
static TdScan *
plain_scan (Plain *plain)
{
  TdScan *scan = td_scan_alloc ("plain", &plain_vtable, plain);

  scan->facts.format = g_strdup ("test");
  scan->facts.n_columns = ROW_FLOATS;
  scan->facts.n_rows = 1000;
  scan->facts.n_views = 1;
  scan->facts.sample_type = TD_SAMPLE_FLOAT32;
  scan->facts.angles_rad = g_new0 (double, 1);
  return scan;
}

static void
assert_rows (TdEngine *own, Plain *plain, TdScan *scan, guint row0, guint n, gboolean kept)
{
  g_autofree float *out = g_new (float, (gsize) n *ROW_FLOATS);
  const guint before = plain->reads;

  g_assert_true (td_engine_read_rows (own, scan, row0, n, out, NULL, NULL));
  for (guint row = 0; row < n; row++)
    g_assert_cmpfloat (out[(gsize) row * ROW_FLOATS], ==, row0 + row);
  g_assert_cmpint (plain->reads == before, ==, kept);
}

/* 256 MiB, of requests that take half of that at most. Those used last stay. */
static void
test_rows (void)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  Plain plain = { 0 }, another = { 0 };
  g_autoptr (TdScan) scan = plain_scan (&plain);
  g_autoptr (TdScan) other = plain_scan (&another);

  assert_rows (own, &plain, scan, 10, 5, FALSE);
  assert_rows (own, &plain, scan, 10, 5, TRUE);
  assert_rows (own, &plain, scan, 12, 3, TRUE);
  assert_rows (own, &plain, scan, 11, 1, TRUE);
  assert_rows (own, &plain, scan, 9, 2, FALSE); /* one of them is not there */
  assert_rows (own, &plain, scan, 14, 2, FALSE);
  assert_rows (own, &another, other, 10, 5, FALSE);
  td_engine_trim (own);
  assert_rows (own, &plain, scan, 10, 5, FALSE);

  td_engine_trim (own);
  assert_rows (own, &plain, scan, 0, 129, FALSE);
  assert_rows (own, &plain, scan, 7, 1, FALSE); /* it was more than half */
  assert_rows (own, &plain, scan, 0, 128, FALSE);
  assert_rows (own, &plain, scan, 200, 128, FALSE); /* just the budget */
  assert_rows (own, &plain, scan, 200, 1, TRUE);
  assert_rows (own, &plain, scan, 127, 1, TRUE); /* the newest now */
  assert_rows (own, &plain, scan, 400, 1, FALSE);
  assert_rows (own, &plain, scan, 200, 1, FALSE);
  assert_rows (own, &plain, scan, 0, 1, TRUE);
}

/* ── Idle working sets ── */

typedef struct {
  guint freed[8], n_freed; /* their numbers, in that order */
} Freed;

typedef struct {
  Freed *freed;
  guint number;
} Set;

static void
set_free (gpointer item)
{
  Set *set = item;

  set->freed->freed[set->freed->n_freed++] = set->number;
  g_free (set);
}

static void
other_free (gpointer item)
{
  set_free (item);
}

static gboolean
set_is (gpointer item, gpointer number)
{
  const Set *set = item;

  return set->number == GPOINTER_TO_UINT (number) || GPOINTER_TO_UINT (number) == G_MAXUINT;
}

static void
give (TdEngine *own, Freed *freed, guint number, guint64 bytes, GDestroyNotify free)
{
  Set *set = g_new (Set, 1);

  *set = (Set) { freed, number };
  td_engine_give (own, set, bytes, free);
}

static void
assert_taken (TdEngine *own, guint wanted, GDestroyNotify free, guint number)
{
  g_autofree Set *set = td_engine_take (own, free, set_is, GUINT_TO_POINTER (wanted));

  if (number == 0)
    g_assert_null (set);
  else
    g_assert_cmpuint (set->number, ==, number);
}

/* The newest that matches is taken, once. The oldest go when all are too much. */
static void
test_idle (void)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  const guint64 budget = MAX (768 * MIB, td_host_memory_available () / 16);
  Freed freed = { { 0 } };

  assert_taken (own, G_MAXUINT, set_free, 0);
  give (own, &freed, 1, 1000, set_free);
  give (own, &freed, 2, 1000, set_free);
  give (own, &freed, 3, 1000, other_free);
  assert_taken (own, 3, set_free, 0);
  assert_taken (own, G_MAXUINT, set_free, 2);
  assert_taken (own, 2, set_free, 0);
  assert_taken (own, 3, other_free, 3);
  assert_taken (own, 1, set_free, 1);
  g_assert_cmpuint (freed.n_freed, ==, 0);

  give (own, &freed, 1, budget / 2, set_free);
  give (own, &freed, 2, budget / 4, set_free);
  give (own, &freed, 3, budget / 8, set_free);
  g_assert_cmpuint (freed.n_freed, ==, 0);
  give (own, &freed, 4, budget / 2, set_free);
  g_assert_cmpuint (freed.n_freed, ==, 1);
  g_assert_cmpuint (freed.freed[0], ==, 1);
  give (own, &freed, 5, budget * 2, set_free); /* nothing helps */
  g_assert_cmpuint (freed.n_freed, ==, 5);
  g_assert_cmpuint (freed.freed[1], ==, 2);
  g_assert_cmpuint (freed.freed[4], ==, 5);

  freed.n_freed = 0;
  give (own, &freed, 6, 0, set_free); /* takes nothing, and goes all the same */
  g_assert_cmpuint (freed.n_freed, ==, 0);
  td_engine_drop_idle (own);
  g_assert_cmpuint (freed.n_freed, ==, 1);
}

/* ── Flats and frames ── */

static void
test_flats (void)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (TdScan) a = phantom_scan (8, 2, 3);
  g_autoptr (TdScan) b = phantom_scan (8, 2, 3);
  g_autoptr (TdScan) c = phantom_scan (8, 2, 3);
  g_autoptr (TdFlats) of_a = td_engine_flats (own, a);
  g_autoptr (TdFlats) of_b = td_engine_flats (own, b);
  g_autoptr (TdFlats) a_again = td_engine_flats (own, a);
  g_autoptr (TdFlats) b_again = td_engine_flats (own, b);

  g_assert_true (of_a == a_again && of_b == b_again && of_a != of_b);
  g_autoptr (TdFlats) of_c = td_engine_flats (own, c); /* the place of the older one */
  g_autoptr (TdFlats) b_third = td_engine_flats (own, b);
  g_autoptr (TdFlats) a_third = td_engine_flats (own, a);
  g_assert_true (b_third == of_b);
  g_assert_true (a_third != of_a && a_third != of_c);
}

/* Five scans as frames show them, the one that was used last first. */
static void
test_views (void)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (TdScan) scan = phantom_scan (16, 2, 3);
  const TdScanFrame plain = { .bin_columns = 1 };
  TdScan *seen[6], *again;

  again = td_engine_view (own, scan, &plain, NULL);
  g_assert_true (again == scan);
  td_scan_unref (again);
  for (guint i = 0; i < 6; i++) {
    const TdScanFrame frame = { .crop_column = i + 1, .crop_columns = 4, .crop_rows = 2 };
    seen[i] = td_engine_view (own, scan, &frame, NULL);
    g_assert_cmpuint (td_scan_facts (seen[i])->n_columns, ==, 4);
    if (i == 4) { /* the oldest becomes the newest */
      const TdScanFrame first = { .crop_column = 1, .crop_columns = 4, .crop_rows = 2 };
      again = td_engine_view (own, scan, &first, NULL);
      g_assert_true (again == seen[0]);
      td_scan_unref (again);
    }
  }
  for (guint i = 6; i-- > 0;) {
    const TdScanFrame frame = { .crop_column = i + 1, .crop_columns = 4, .crop_rows = 2 };
    if (i == 1) /* the one that had to go */
      continue;
    again = td_engine_view (own, scan, &frame, NULL);
    g_assert_true (again == seen[i]);
    td_scan_unref (again);
  }
  const TdScanFrame second = { .crop_column = 2, .crop_columns = 4, .crop_rows = 2 };
  again = td_engine_view (own, scan, &second, NULL);
  g_assert_true (again != seen[1]);
  td_scan_unref (again);
  for (guint i = 0; i < 6; i++)
    td_scan_unref (seen[i]);
}

/* A part of the views is a scan of its own; asked for again of that one, it is the same. */
static void
test_measured (void)
{
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (TdScan) scan = phantom_scan (16, 2, 9);
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  g_autoptr (TdScan) all = td_engine_measured (own, scan, &recipe, NULL);
  g_assert_true (all == scan);
  recipe.view_first = 2;
  recipe.view_end = 7;
  g_autoptr (TdScan) part = td_engine_measured (own, scan, &recipe, NULL);
  g_assert_true (part != scan);
  g_assert_cmpuint (td_scan_facts (part)->n_views, ==, 5);
  g_autoptr (TdScan) again = td_engine_measured (own, part, &recipe, NULL);
  g_assert_true (again == part);
  recipe.view_first = 1;
  recipe.view_end = 5; /* of those */
  g_autoptr (TdScan) less = td_engine_measured (own, part, &recipe, NULL);
  g_assert_cmpuint (td_scan_facts (less)->n_views, ==, 4);
  recipe.view_first = 2; /* as few, but others */
  recipe.view_end = 6;
  g_assert_null (td_engine_measured (own, part, &recipe, NULL));
}

/* An image of the detector with one bad pixel, or with two. */
static void
write_mask (const char *path, guint bad, gint64 changed_s, gint64 changed_us)
{
  g_autofree char *stack = g_strconcat (path, ".stack", NULL);
  g_autofree char *slice = g_build_filename (stack, "slice_00000.tif", NULL);
  const TdVolumeSpec spec = {
    .path = stack, .format = TD_VOLUME_TIFF_STACK, .bits = 32, .nx = 16, .ny = 2, .n_slices = 1
  };
  float pixels[32] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  const struct timeval times[2] = { { 0, 0 }, { changed_s, changed_us } };

  g_assert_no_error (error);
  for (guint i = 0; i < bad; i++)
    pixels[5 + i] = 1;
  g_assert_true (td_volume_writer_write (writer, 0, 1, pixels, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  g_assert_cmpint (g_rename (slice, path), ==, 0);
  g_assert_cmpint (utimes (path, times), ==, 0);
  test_folder_remove (stack);
}

/* A scan with a mask is the same one as long as the mask's file is as it was. */
static void
test_masks (void)
{
  static const struct {
    guint bad;
    gint64 changed_s, changed_us;
    gboolean same;
  } changes[] = { { 1, 1000, 5, FALSE },
                  { 1, 1000, 5, TRUE },
                  { 2, 1001, 5, FALSE },
                  { 2, 1001, 6, FALSE },
                  { 2, 1001, 6, TRUE } };
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "mask.tif");
  g_autofree char *other = test_folder_file (folder, "other.tif");
  g_autofree char *none = test_folder_file (folder, "none.tif");
  g_autoptr (TdScan) scan = phantom_scan (16, 2, 3);
  g_autoptr (TdScan) plain = td_engine_masked (own, scan, NULL, NULL);
  g_autoptr (GError) error = NULL;
  TdScan *before = NULL;

  g_assert_true (plain == scan);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    if (!changes[i].same)
      write_mask (path, changes[i].bad, changes[i].changed_s, changes[i].changed_us);
    TdScan *masked = td_engine_masked (own, scan, path, &error);
    g_assert_no_error (error);
    g_assert_true (masked != scan);
    g_assert_cmpint (masked == before, ==, changes[i].same);
    g_autoptr (TdScan) again = td_engine_masked (own, masked, path, &error); /* it has it */
    g_assert_true (again == masked);
    td_scan_unref (before);
    before = masked;
  }
  write_mask (other, 1, 1001, 6);
  g_autoptr (TdScan) with_other = td_engine_masked (own, scan, other, &error);
  g_assert_true (with_other != before && with_other != scan);
  td_scan_unref (before);
  g_assert_null (td_engine_masked (own, scan, none, &error));
  g_assert_nonnull (error);
}

/* ── Found axes ── */

static void
assert_found (TdFoundAxes *axes, TdScan *scan, const char *key, double centre_px)
{
  TdAxisResult *result = td_found_axes_get (axes, scan, key, NULL, NULL);

  if (!result)
    td_found_axes_put (axes, scan, key, NULL); /* somebody else may look */
  g_assert_cmpfloat (result ? result->centre_px : -1, ==, centre_px);
  td_axis_result_free (result);
}

/* The last sixteen, by the scan and what was asked. */
static void
test_found_axes (void)
{
  g_autoptr (TdScan) a = phantom_scan (8, 2, 3);
  g_autoptr (TdScan) b = phantom_scan (8, 2, 3);
  TdFoundAxes *axes = td_found_axes_new ();

  for (guint i = 0; i < 17; i++) {
    g_autofree char *key = g_strdup_printf ("%u", i);
    TdAxisResult result = { .centre_px = i };

    assert_found (axes, a, key, -1);
    td_found_axes_put (axes, a, key, &result);
    assert_found (axes, a, key, i);
    assert_found (axes, b, key, -1);
    if (i == 15)
      assert_found (axes, a, "0", 0);
  }
  assert_found (axes, a, "1", 1);
  assert_found (axes, a, "16", 16);
  assert_found (axes, a, "0", -1);
  td_found_axes_clear (axes);
  assert_found (axes, a, "16", -1);
  td_found_axes_free (axes);
}

typedef struct {
  TdFoundAxes *axes;
  TdScan *scan;
  gint got; /* atomic */
} Searcher;

static gpointer
search (gpointer user)
{
  Searcher *searcher = user;
  TdAxisResult *result = td_found_axes_get (searcher->axes, searcher->scan, "key", NULL, NULL);

  g_atomic_int_set (&searcher->got, result ? (gint) result->centre_px : -1);
  td_axis_result_free (result);
  return NULL;
}

/* Who asks while another one searches waits for his answer, or sees that he was cancelled. */
static void
test_found_at_once (void)
{
  g_autoptr (TdScan) scan = phantom_scan (8, 2, 3);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Searcher searcher = { td_found_axes_new (), scan, 0 };
  const TdAxisResult result = { .centre_px = 7 };

  g_assert_null (td_found_axes_get (searcher.axes, scan, "key", NULL, NULL));
  g_cancellable_cancel (cancellable);
  g_assert_null (td_found_axes_get (searcher.axes, scan, "key", cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  GThread *thread = g_thread_new ("search", search, &searcher);
  g_usleep (20000);
  g_assert_cmpint (g_atomic_int_get (&searcher.got), ==, 0);
  td_found_axes_put (searcher.axes, scan, "key", &result);
  g_thread_join (thread);
  g_assert_cmpint (searcher.got, ==, 7);
  td_found_axes_free (searcher.axes);
}

/* ── Monitors ── */

typedef struct {
  TdMonitor monitor;
  GQueue queue;
  guint figure;
  gboolean stop;
  gint step; /* atomic: what the thread has done */
  guint what;
} Watched;

static gboolean
watched_stopped (gconstpointer user)
{
  return ((const Watched *) user)->stop;
}

static gpointer
watch_touch (gpointer user)
{
  Watched *watched = user;

  switch (watched->what) {
  case 0: td_monitor_wake (NULL, &watched->monitor); break;
  case 1: td_monitor_set (&watched->monitor, &watched->figure, 7); break;
  case 2: td_monitor_put (&watched->monitor, &watched->queue, watched); break;
  default: td_monitor_get (&watched->monitor, &watched->queue, watched_stopped, watched); break;
  }
  g_atomic_int_set (&watched->step, 1);
  return NULL;
}

static gpointer
watch_wait (gpointer user)
{
  Watched *watched = user;

  g_mutex_lock (&watched->monitor.lock);
  g_atomic_int_set (&watched->step, 1);
  while (!watched->stop)
    td_monitor_wait (&watched->monitor);
  td_monitor_release (&watched->monitor);
  return NULL;
}

/* Nobody touches anything while another one has the lock; whoever waits is woken by each of them.
 */
static void
test_monitor (void)
{
  for (guint what = 0; what < 4; what++) {
    Watched watched = { .what = what };

    td_monitor_init (&watched.monitor);
    g_queue_init (&watched.queue);
    if (what == 3)
      g_queue_push_tail (&watched.queue, &watched);
    g_mutex_lock (&watched.monitor.lock);
    GThread *thread = g_thread_new ("touch", watch_touch, &watched);
    g_usleep (10000);
    g_assert_cmpint (g_atomic_int_get (&watched.step), ==, 0);
    g_assert_cmpuint (watched.figure, ==, 0);
    g_assert_cmpuint (watched.queue.length, ==, what == 3);
    g_mutex_unlock (&watched.monitor.lock);
    g_thread_join (thread);
    g_assert_cmpuint (watched.figure, ==, what == 1 ? 7 : 0);
    g_assert_cmpuint (watched.queue.length, ==, what == 2);
    g_assert_true (g_mutex_trylock (&watched.monitor.lock)); /* it was given back */
    g_mutex_unlock (&watched.monitor.lock);
    g_queue_clear (&watched.queue);

    watched.step = 0;
    thread = g_thread_new ("wait", watch_wait, &watched);
    while (!g_atomic_int_get (&watched.step))
      g_thread_yield ();
    g_mutex_lock (&watched.monitor.lock); /* it waits now */
    watched.stop = TRUE;
    g_mutex_unlock (&watched.monitor.lock);
    watch_touch (&watched);
    if (what == 3) /* who looks into the queue changes nothing for others */
      td_monitor_wake (NULL, &watched.monitor);
    g_thread_join (thread);
    g_queue_clear (&watched.queue);
    td_monitor_clear (&watched.monitor);
  }
}

/* What was put first comes first. Who is told to stop gets nothing, and takes nothing away. */
static void
test_monitor_queue (void)
{
  Watched watched = { 0 };
  guint items[3];

  td_monitor_init (&watched.monitor);
  g_queue_init (&watched.queue);
  for (guint i = 0; i < 3; i++)
    td_monitor_put (&watched.monitor, &watched.queue, &items[i]);
  g_assert_true (td_monitor_get (&watched.monitor, &watched.queue, watched_stopped, &watched)
                 == &items[0]);
  watched.stop = TRUE;
  g_assert_null (td_monitor_get (&watched.monitor, &watched.queue, watched_stopped, &watched));
  g_assert_cmpuint (watched.queue.length, ==, 2);
  watched.stop = FALSE;
  g_assert_true (td_monitor_get (&watched.monitor, &watched.queue, watched_stopped, &watched)
                 == &items[1]);
  g_assert_true (td_monitor_get (&watched.monitor, &watched.queue, watched_stopped, &watched)
                 == &items[2]);
  td_monitor_clear (&watched.monitor);
  g_autoptr (GCancellable) other = g_cancellable_new ();
  td_monitor_cancel (NULL, other);
  g_assert_true (g_cancellable_is_cancelled (other));
}

/* ── Rates ── */

static double
power (guint n)
{
  return pow (8, n);
}

static void
test_rates (void)
{
  g_autofree char *path = g_build_filename (g_get_user_cache_dir (), "tomodesk", "rates.ini", NULL);

  g_unlink (path);
  TdRates *rates = td_rates_new ();
  g_assert_cmpfloat (td_rates_get (rates, "a", power (5)), ==, 0);
  td_rates_set (rates, "a", power (5), 2);
  const double rate = power (5) / 2;
  /* Of its size, of the next one below, and of all that are not much larger. */
  for (guint n = 0; n < 12; n++) {
    g_assert_cmpfloat (td_rates_get (rates, "a", power (n)), ==, n <= 6 ? rate : 0);
    g_assert_cmpfloat (td_rates_get (rates, "a", power (n + 1) * 0.999), ==, n <= 6 ? rate : 0);
  }
  g_assert_cmpfloat (td_rates_get (rates, "a", 0.5), ==, rate);
  g_assert_cmpfloat (td_rates_get (rates, "b", power (5)), ==, 0);
  td_rates_set (rates, "far", power (16), 1);
  g_assert_cmpfloat (td_rates_get (rates, "far", 1), ==, power (16));
  td_rates_set (rates, "farther", power (17), 1);
  g_assert_cmpfloat (td_rates_get (rates, "farther", 1), ==, 0);
  g_assert_cmpfloat (td_rates_get (rates, "farther", power (1)), ==, power (17));

  /* The own size, then the next larger one, the next smaller one, and those that are larger still.
   */
  td_rates_set (rates, "c", power (7), 7);
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (7) / 7);
  td_rates_set (rates, "c", power (4), 4);
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (4) / 4);
  td_rates_set (rates, "c", power (6), 6);
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (6) / 6);
  td_rates_set (rates, "c", power (5), 5);
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (5) / 5);
  td_rates_set (rates, "c", power (5), 50); /* the last counts */
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (5) / 50);

  const double nonsense[] = { 0, -1, NAN, INFINITY };
  for (guint i = 0; i < G_N_ELEMENTS (nonsense); i++)
    td_rates_set (rates, "c", power (5), nonsense[i]);
  td_rates_set (rates, "c", 0, 1);
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (5) / 50);

  /* Of any name; and the next process knows them. */
  td_rates_set (rates, "fbp a=b [c]\nd", 100, 10);
  g_assert_cmpfloat (td_rates_get (rates, "fbp a=b [c]\nd", 100), ==, 10);
  td_rates_free (rates);
  rates = td_rates_new ();
  g_assert_cmpfloat (td_rates_get (rates, "c", power (5)), ==, power (5) / 50);
  g_assert_cmpfloat (td_rates_get (rates, "fbp a=b [c]\nd", 100), ==, 10);
  td_rates_free (rates);

  /* What others wrote there is not believed. */
  g_assert_true (g_file_set_contents (path,
                                      "[per second, by size]\nx 8^5=-3\ny 8^5=inf\nz 8^5=nan\n"
                                      "u 8^5=word\nw 8^5=12\n",
                                      -1, NULL));
  rates = td_rates_new ();
  for (const char *name = "x\0y\0z\0u\0"; *name; name += 2)
    g_assert_cmpfloat (td_rates_get (rates, name, power (5)), ==, 0);
  g_assert_cmpfloat (td_rates_get (rates, "w", power (5)), ==, 12);
  td_rates_free (rates);
  g_unlink (path);
}

/* ── Devices and methods ── */

/* What the host and a card may take of limits for both and for cards alone. */
static void
test_accounts (void)
{
  static const struct {
    guint64 both, alone, host, card;
  } cases[] = { { 0, 0, 0, 0 },
                { 5000, 0, 5000, 5000 },
                { 0, 7000, 0, 7000 },
                { 5000, 7000, 5000, 5000 },
                { 7000, 5000, 7000, 5000 } };
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", NULL);
  TdDevice *device = devices->pdata[0];

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint card = 0; card < 2; card++) {
      TdRecipe recipe;

      recipe_init (&recipe, "host", NAN);
      recipe.memory_limit_bytes = cases[i].both;
      recipe.device_memory_limit_bytes = cases[i].alone;
      device->info.host_pointers = !card;
      g_autoptr (TdDevice) account = td_engine_account (&recipe, device);
      device->info.host_pointers = TRUE;
      g_assert_cmpuint (account->memory_limit_bytes, ==, card ? cases[i].card : cases[i].host);
    }
}

static void
test_devices (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) one = td_engine_devices (engine, " host , host", &error);
  g_assert_no_error (error);
  g_assert_cmpuint (one->len, ==, 1); /* named twice */
  g_autoptr (GPtrArray) again = td_engine_devices (engine, "host", &error);
  g_assert_true (again->pdata[0] == one->pdata[0]);
  g_autoptr (GPtrArray) any = td_engine_devices (engine, "", &error);
  g_autoptr (GPtrArray) same = td_engine_devices (engine, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (any->len == 1 && any->pdata[0] == same->pdata[0]);
  g_assert_null (td_engine_devices (engine, "host,abacus", &error));
  g_assert_nonnull (error);
}

static const char *
cannot (const TdScanFacts *facts, const TdRecipe *recipe)
{
  return "cannot";
}

static const char *
can (const TdScanFacts *facts, const TdRecipe *recipe)
{
  return NULL;
}

/* By itself the first that suits; by name those of that name only. */
static void
test_methods (void)
{
  static const TdMethod slow = { .name = "slow", .kind = TD_METHOD_SIRT, .by_name = TRUE },
                        unfit = { .name = "unfit", .kind = TD_METHOD_FDK, .unsupported = cannot },
                        fit = { .name = "fit", .kind = TD_METHOD_FDK, .unsupported = can },
                        last = { .name = "last", .kind = TD_METHOD_FBP };
  static const struct {
    const TdMethod *methods[5];
    TdMethodKind kind;
    const char *name, *says;
  } cases[] = {
    { { &slow, &unfit, &fit, &last, NULL }, TD_METHOD_AUTO, "fit", NULL },
    { { &slow, &last, &fit, NULL }, TD_METHOD_AUTO, "last", NULL },
    { { &slow, &unfit, NULL }, TD_METHOD_AUTO, NULL, "cannot" },
    { { &slow, &unfit, &last, NULL }, TD_METHOD_SIRT, "slow", NULL },
    { { &slow, &unfit, &last, NULL }, TD_METHOD_FDK, NULL, "cannot" },
    { { &unfit, &fit, &last, NULL }, TD_METHOD_FDK, "fit", NULL },
    { { &slow, &fit, NULL }, TD_METHOD_FBP, NULL, "The method \"fbp\" is not in this version" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    recipe.method = cases[i].kind;
    const TdMethod *method = td_method_choose (cases[i].methods, NULL, &recipe, &error);
    g_assert_cmpstr (method ? method->name : NULL, ==, cases[i].name);
    if (!cases[i].says)
      continue;
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, cases[i].says));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("engine-keeps");
  engine = td_engine_new (td_methods);
  g_test_add_func ("/engine-keeps/rows", test_rows);
  g_test_add_func ("/engine-keeps/idle", test_idle);
  g_test_add_func ("/engine-keeps/flats", test_flats);
  g_test_add_func ("/engine-keeps/views", test_views);
  g_test_add_func ("/engine-keeps/measured", test_measured);
  g_test_add_func ("/engine-keeps/masks", test_masks);
  g_test_add_func ("/engine-keeps/found-axes", test_found_axes);
  g_test_add_func ("/engine-keeps/found-at-once", test_found_at_once);
  g_test_add_func ("/engine-keeps/monitor", test_monitor);
  g_test_add_func ("/engine-keeps/monitor-queue", test_monitor_queue);
  g_test_add_func ("/engine-keeps/rates", test_rates);
  g_test_add_func ("/engine-keeps/accounts", test_accounts);
  g_test_add_func ("/engine-keeps/devices", test_devices);
  g_test_add_func ("/engine-keeps/methods", test_methods);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
