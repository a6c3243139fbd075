/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search for the axis that is cancelled at any moment ends at once, and leaves nothing behind.
   "--big" takes a row of 2048 columns and 1800 views and forty-five like it, and says how long the
   end took. */
#include <string.h>

#include "compute/engine/centre.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"

#define FIRST_MS 1

static gboolean big;

typedef struct {
  GCancellable *cancellable;
  guint after_ms;
  gint64 at;
} Alarm;

static gpointer
ring (gpointer data)
{
  Alarm *alarm = data;

  g_usleep (alarm->after_ms * 1000);
  alarm->at = g_get_monotonic_time ();
  g_cancellable_cancel (alarm->cancellable);
  return NULL;
}

/* The first alarm rings before the search has ended, however late its thread begins. */
static void
await_first (double fraction, const char *what, gpointer user)
{
  const Alarm *alarm = user;

  while (alarm->after_ms == FIRST_MS && !g_cancellable_is_cancelled (alarm->cancellable))
    g_usleep (100);
}

/* Milliseconds from the cancelling to the end; -1: it had ended before. */
static double
cancel_after (TdEngine *engine, TdScan *scan, const char *device, guint after_ms)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  Alarm alarm = { cancellable, after_ms, 0 };
  const TdAxisOptions options = { .progress = await_first, .progress_user = &alarm };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  GThread *thread = g_thread_new ("alarm", ring, &alarm);
  g_autoptr (TdAxisResult) result
      = td_engine_find_axis (engine, scan, &recipe, &options, cancellable, &error);
  gint64 end = g_get_monotonic_time ();
  g_thread_join (thread);
  td_engine_trim (engine); /* nothing found is remembered */
  if (result)
    return -1;
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  return (end - alarm.at) / 1000.0;
}

/* Cancels when something is begun for the @at-th time, and counts what is begun in all. */
typedef struct {
  GCancellable *cancellable;
  guint at, begun;
} Stop;

static void
stop_at (double fraction, const char *what, gpointer user)
{
  Stop *stop = user;

  if (stop->begun++ == stop->at)
    g_cancellable_cancel (stop->cancellable);
}

/* The search ends in what it does when it is cancelled: it begins nothing else. */
static void
cancel_at_parts (TdEngine *engine, TdScan *scan)
{
  Stop stop = { .at = G_MAXUINT };
  TdAxisOptions options = { .progress = stop_at, .progress_user = &stop };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_autoptr (TdAxisResult) whole
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, NULL);
  const guint n = stop.begun - 1; /* the last one says that it is done */
  g_assert_nonnull (whole);
  g_assert_cmpuint (n, >, 3);
  td_engine_trim (engine);
  for (guint at = 0; at < n; at += MAX (1, n / 6)) {
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (GError) error = NULL;

    stop = (Stop) { cancellable, at, 0 };
    g_assert_null (td_engine_find_axis (engine, scan, &recipe, &options, cancellable, &error));
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpuint (stop.begun, ==, at + 1);
  }
}

static void
cancel_often (guint n_rows, gboolean logged)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  double worst = 0;
  guint ended = 0, cancelled = 0, after = FIRST_MS;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, "discs", big ? 2048 : 250, n_rows, big ? 1800 : 240);
  spec.range_deg = 360;
  spec.centre_px = 0.52 * spec.n_columns;
  spec.logged = logged;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  for (; after < 600000; after += MAX (after * 3 / 2, 7)) {
    double took = cancel_after (engine, scan, "host", after);
    if (took < 0) {
      ended++;
      break;
    }
    cancelled++;
    g_test_message ("cancelled after %u ms, ended %.0f ms later", after, took);
    worst = MAX (worst, took);
  }
  g_assert_cmpuint (ended, ==, 1); /* left alone it ends */
  g_assert_cmpuint (cancelled, >, 0);
  if (!big)
    cancel_at_parts (engine, scan);
  g_test_message ("%u rows: at most %.0f ms", n_rows, worst);
}

static void
test_row (void)
{
  cancel_often (1, FALSE);
}

static void
test_rows (void)
{
  cancel_often (big ? 45 : 12, TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int i = 1; i < argc; i++)
    big |= strcmp (argv[i], "--big") == 0;
  g_test_add_func ("/axis/cancel/row", test_row);
  g_test_add_func ("/axis/cancel/rows", test_rows);
  return g_test_run ();
}
