/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preview-times SCAN [STEP…] says how long the window takes from a change of a step to its picture.
   For every step, its slider is dragged. The times are those of the first picture (a coarse one
   where the full one is slow), the full slice and the sinogram. The same is timed after a change of
   the first step, so that all steps run.

   Each time is the best of a few. Beside it stand the longest time that the main thread was busy
   with one thing, and the processor time of all threads for a change. The latter tells more where
   others use the machine. Last stands the most memory that a change took anew. This is no test:
   times depend on the machine and on what else it does. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "compute/prepare/paganin.h"
#include "ui-test.h"
#include "window-test.h"

#define TIMES 5
#define TICK_MS 2

typedef struct {
  gint64 begun_us;
  double first_ms, full_ms, sinogram_ms, processor_ms, faulted_mib;
} Times;

static double
processor_ms (void)
{
  return 1e3 * (double) clock () / CLOCKS_PER_SEC;
}

/* Memory that was taken anew. */
static double
faulted_mib (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return (double) usage.ru_minflt * 4096 / (1 << 20);
}

/* The longest that the main thread did nothing else. */
static gint64 ticked_us;
static double silent_ms;

static gboolean
tick (gpointer unused)
{
  const gint64 now = g_get_monotonic_time ();

  if (ticked_us)
    silent_ms = MAX (silent_ms, (double) (now - ticked_us) / 1e3 - TICK_MS);
  ticked_us = now;
  return G_SOURCE_CONTINUE;
}

static double
since_ms (const Times *times)
{
  return (double) (g_get_monotonic_time () - times->begun_us) / 1e3;
}

static void
on_slice_shown (TdScanView *scan_view, gboolean coarse, Times *times)
{
  if (times->first_ms == 0)
    times->first_ms = since_ms (times);
  if (!coarse)
    times->full_ms = since_ms (times);
}

static gboolean
is_settled (gpointer user)
{
  Times *times = user;

  if (times && times->sinogram_ms == 0
      && !td_test_is_updating (td_test_part (td_test_scan_view (), "sinogram")))
    times->sinogram_ms = since_ms (times);
  return td_test_scan_view_is_settled (NULL);
}

/* One change of the step at @place, or of the first one, so that all are run. */
static Times
change (TdRecipe *recipe, guint place, guint i)
{
  td_test_wait (is_settled, NULL, "quiet");
  Times times = { g_get_monotonic_time (), 0, 0, 0, 0, 0 };
  const double faulted = faulted_mib ();
  const double processor = processor_ms ();
  gulong handler
      = g_signal_connect (td_test_scan_view (), "slice-shown", G_CALLBACK (on_slice_shown), &times);
  recipe->steps[place].values[TD_STEP_MAX_PARAMETERS - 1] += 1 + i; /* nothing asks for it … */
  recipe->angle_offset_deg
      = 1e-6 * (1 + i % 2); /* … and a session asks for what is another recipe */
  td_session_edit (td_test_session (), recipe, NULL);
  td_test_wait (is_settled, &times, "the pictures");
  g_signal_handler_disconnect (td_test_scan_view (), handler);
  times.processor_ms = processor_ms () - processor;
  times.faulted_mib = faulted_mib () - faulted;
  return times;
}

static Times
best_of (TdRecipe *recipe, guint place)
{
  Times best = { 0, 1e9, 1e9, 1e9, 1e9, 0 };

  change (recipe, place, 0); /* what is kept of the steps before it is made now */
  for (guint i = 1; i <= TIMES; i++) {
    const Times times = change (recipe, place, i);
    best.processor_ms = MIN (best.processor_ms, times.processor_ms);
    best.faulted_mib = MAX (best.faulted_mib, times.faulted_mib);
    best.first_ms = MIN (best.first_ms, times.first_ms);
    best.full_ms = MIN (best.full_ms, times.full_ms);
    best.sinogram_ms = MIN (best.sinogram_ms, times.sinogram_ms);
  }
  return best;
}

static void
measure (const TdStepKind *kind)
{
  TdSession *session = td_test_session ();
  TdRecipe recipe = *td_session_recipe (session);
  g_autoptr (GError) error = NULL;

  if (kind->n_parameters == TD_STEP_MAX_PARAMETERS
      || !td_recipe_add_step (&recipe, kind->name, &error))
    return;
  TdStep *step = td_recipe_step (&recipe, kind->name);
  if (strcmp (kind->name, "paganin") == 0) { /* what a scan may not know */
    step->values[TD_PAGANIN_ENERGY] = 20;
    step->values[TD_PAGANIN_DISTANCE] = 30;
  }
  step->enabled = TRUE;
  td_session_edit (session, &recipe, NULL);
  td_test_wait (is_settled, NULL, "quiet");
  silent_ms = 0;
  const Times own = best_of (&recipe, (guint) (step - recipe.steps)), all = best_of (&recipe, 0);
  printf (
      "%-18s first %5.0f ms, full %5.0f ms, sinogram %5.0f ms, processor %5.0f ms; with all steps "
      "%5.0f, %5.0f, %5.0f, %5.0f ms; main thread silent for %.0f ms; taken anew %.1f, %.1f MiB\n",
      kind->name, own.first_ms, own.full_ms, own.sinogram_ms, own.processor_ms, all.first_ms,
      all.full_ms, all.sinogram_ms, all.processor_ms, silent_ms, own.faulted_mib, all.faulted_mib);
  fflush (stdout);
  if (!kind->preset_on) {
    step->enabled = FALSE;
    td_session_edit (session, &recipe, NULL);
  }
}

int
main (int argc, char **argv)
{
  if (argc < 2) {
    fprintf (stderr, "preview-times SCAN [STEP…]\n");
    return 2;
  }
  TdApplication *application = td_test_start ();
  const TdStepKind *const *kinds = td_prepare_steps ();

  td_test_open (argv[1]);
  g_timeout_add_full (G_PRIORITY_HIGH, TICK_MS, tick, NULL, NULL);
  for (guint i = 0; kinds[i]; i++)
    if (argc == 2 || g_strv_contains ((const char *const *) argv + 2, kinds[i]->name))
      measure (kinds[i]);
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  return 0;
}
