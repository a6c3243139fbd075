/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long it takes from a change to its pixels: 1024 columns, 721 views, without and with a job
   that runs. TOMODESK_LATENCY=2048x1800 takes another scan, for a computer with a card. Times
   depend on the machine, and are printed; only a window that stands still for half a second fails.
   What a change may do on the main thread is asserted by window-flow. */
#include <stdio.h>

#include "app/latency.h"
#include "ui-test.h"
#include "window-test.h"

#define TIMES 8
#define STREAMED 50
#define STALL_MS 500
#define PAUSE_MS 200

static guint counted;
static double latency_middle; /* of the columns */

static gboolean
latency_is_counted (gpointer unused)
{
  return td_latency_count > counted && td_test_scan_view_is_settled (NULL);
}

static gboolean
latency_is_quiet (gpointer panel)
{
  return !td_test_is_updating (panel) && td_test_scan_view_is_settled (NULL);
}

/* A person looks before they change the next thing. */
static void
latency_pause (void)
{
  td_test_wait (latency_is_quiet, td_test_part (td_test_window, "panel"), "quiet");
  td_test_pause (PAUSE_MS);
}

static void
latency_move_centre (double shift)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.centre_auto = FALSE;
  recipe.centre_px = latency_middle + shift;
  td_session_edit (td_test_session (), &recipe, NULL);
}

/* The step as it is now runs anew: its last place for a value is not used, but is another recipe.
 */
static void
latency_change_rings (double value)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  td_recipe_add_step (&recipe, "rings", NULL);
  td_recipe_step (&recipe, "rings")->values[TD_STEP_MAX_PARAMETERS - 1] = value;
  recipe.angle_offset_deg = 1e-6 * value;
  td_session_edit (td_test_session (), &recipe, NULL);
}

static void
latency_expect (const char *what)
{
  const TdLatency found = td_latency_last;

  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  g_test_message ("%s: first picture %.0f ms, full slice %.0f ms, %u changes, longest stall "
                  "%.1f ms, computed at once %.1f ms, in all %.1f ms, jobs %u",
                  what, found.first_ms, found.full_ms, found.changes, found.stall_ms, found.busy_ms,
                  found.main_ms, found.jobs);
  g_assert_cmpfloat (found.first_ms, >, 0);
  g_assert_cmpfloat (found.full_ms, >, 0);
  g_assert_cmpfloat (found.busy_ms, <, STALL_MS);
}

static int
latency_compare (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* The median of a few single changes' full slices. */
static double
latency_single (const char *what, void (*change) (double value), double value)
{
  double full_ms[TIMES];

  for (guint i = 0; i < TIMES; i++) {
    latency_pause ();
    counted = td_latency_count;
    change (value + 0.25 * i);
    td_test_wait (latency_is_counted, NULL, "the full slice");
    latency_expect (what);
    full_ms[i] = td_latency_last.full_ms;
  }
  qsort (full_ms, TIMES, sizeof *full_ms, latency_compare);
  return (full_ms[TIMES / 2 - 1] + full_ms[TIMES / 2]) / 2;
}

static gboolean
latency_stream (gpointer user)
{
  guint *n = user;

  latency_move_centre (18 + 0.25 * (*n)++);
  return *n < STREAMED ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean
latency_is_streamed (gpointer n)
{
  return *(guint *) n == STREAMED;
}

static void
test_stream (void)
{
  for (guint i = 0; i < 3; i++) {
    guint n = 0;
    latency_pause ();
    counted = td_latency_count;
    g_timeout_add (20, latency_stream, &n);
    td_test_wait (latency_is_streamed, &n, "the changes");
    td_test_wait (latency_is_counted, NULL, "the full slice");
    latency_expect ("fifty changes in a second");
  }
}

/* ── Beside a job ── */

static gboolean
latency_job_runs (gpointer item)
{
  return td_job_item_state (item) == TD_JOB_RUNNING;
}

static gboolean
latency_job_ended (gpointer item)
{
  return td_job_item_ended (item);
}

/* One that takes all processors until it is stopped. */
static TdJobItem *
latency_start_job (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  g_autofree char *output = g_build_filename (td_test_folder (), "latency.tif", NULL);

  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = 1000;
  g_unsetenv ("TOMODESK_JOB_NICE"); /* as people start it */
  TdJobItem *item = td_test_submit (&recipe, output);
  td_test_wait (latency_job_runs, item, "the job to run");
  return item;
}

static void
test_change (void)
{
  latency_pause ();
  const double alone_ms = latency_single ("one change", latency_move_centre, -12);
  g_autoptr (TdJobItem) item = latency_start_job ();
  const double beside_ms = latency_single ("one change beside a job", latency_move_centre, -2);

  g_assert_cmpuint (td_latency_last.jobs, ==, 1);
  g_assert_false (td_job_item_ended (item));
  g_test_message ("full slice, medians: %.0f ms alone, %.0f ms beside a job: %.2f times", alone_ms,
                  beside_ms, beside_ms / alone_ms);
  td_job_item_cancel (item);
  td_test_wait (latency_job_ended, item, "the job to stop");
  g_assert_cmpuint (td_latency_last.jobs, ==, 1);
}

static void
test_rings (void)
{
  latency_pause ();
  g_test_message ("full slice, rings removed anew, median: %.0f ms",
                  latency_single ("one change of rings", latency_change_rings, 1));
}

int
main (int argc, char **argv)
{
  guint columns = 1024, views = 721;

  g_test_init (&argc, &argv, NULL);
  if (g_getenv ("TOMODESK_LATENCY"))
    g_assert_cmpint (sscanf (g_getenv ("TOMODESK_LATENCY"), "%ux%u", &columns, &views), ==, 2);
  g_autofree char *wide = g_strdup_printf ("--columns=%u", columns);
  g_autofree char *many = g_strdup_printf ("--views=%u", views);
  g_autofree char *axis = g_strdup_printf ("--centre=%u", columns / 2 - 2);
  latency_middle = columns / 2;
  const char *const options[] = { wide, "--rows=4", many, axis, "--photons=20000", NULL };

  td_latency_want (TRUE);
  g_autofree char *path = td_test_phantom ("latency.nxs", options);
  const gint64 started_us = g_get_monotonic_time ();
  g_autoptr (TdApplication) application = td_test_start ();
  td_test_open (path);
  g_message ("start to first slice: %.2f s", (double) (g_get_monotonic_time () - started_us) / 1e6);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  g_test_add_func ("/window-latency/change", test_change);
  g_test_add_func ("/window-latency/stream", test_stream);
  g_test_add_func ("/window-latency/rings", test_rings);
  const int status = g_test_run ();
  td_test_folder_remove ();
  td_device_leave (status);
}
