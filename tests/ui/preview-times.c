/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preview-times SCAN [STEP…]: how long it takes from a change of a step to its picture in the window, for
   every step: the first picture (a coarse one where the full one is slow), the full slice and the
   sinogram. The best of a few; and the processor time of all threads that a change took, which tells
   more where others use the machine. Not a test: times depend on the machine and on what else it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compute/prepare/paganin.h"
#include "ui-test.h"
#include "window-test.h"

#define TIMES 5

typedef struct {
  gint64 begun_us;
  double first_ms, full_ms, sinogram_ms, processor_ms;
} Times;

static double
processor_ms (void)
{
  return 1e3 * (double) clock () / CLOCKS_PER_SEC;
}

static TdScanView *
view (void)
{
  return td_window_scan_view (td_test_window);
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
      && !td_image_pane_get_updating (td_scan_view_sinogram_pane (view ())))
    times->sinogram_ms = since_ms (times);
  return td_scan_view_settled (view ());
}

static void
measure (const TdStepKind *kind)
{
  TdSession *session = td_window_session (td_test_window);
  TdRecipe recipe = *td_session_recipe (session);
  Times best = { 0, 1e9, 1e9, 1e9, 1e9 };
  g_autoptr (GError) error = NULL;

  if (!td_recipe_add_step (&recipe, kind->name, &error))
    return;
  if (strcmp (kind->name, "paganin") == 0) { /* what a scan may not know */
    td_recipe_step (&recipe, "paganin")->values[TD_PAGANIN_ENERGY] = 20;
    td_recipe_step (&recipe, "paganin")->values[TD_PAGANIN_DISTANCE] = 30;
  }
  if (!kind->preset_on)
    td_session_edit (session, &recipe, NULL);
  for (guint i = 0; i < TIMES; i++) {
    td_test_wait (is_settled, NULL, "quiet");
    Times times = { g_get_monotonic_time (), 0, 0, 0, 0 };
    double processor = processor_ms ();
    gulong handler = g_signal_connect (view (), "slice-shown", G_CALLBACK (on_slice_shown), &times);
    /* The slice turned by nothing: the same work again. */
    recipe.angle_offset_deg = 1e-6 * (i + 1);
    td_recipe_step (&recipe, kind->name)->enabled = TRUE;
    recipe.steps[0].values[TD_STEP_MAX_PARAMETERS - 1] = i + 1; /* unused: makes the sinogram follow */
    td_session_edit (session, &recipe, NULL);
    td_test_wait (is_settled, &times, "the pictures");
    g_signal_handler_disconnect (view (), handler);
    best.processor_ms = MIN (best.processor_ms, processor_ms () - processor);
    best.first_ms = MIN (best.first_ms, times.first_ms);
    best.full_ms = MIN (best.full_ms, times.full_ms);
    best.sinogram_ms = MIN (best.sinogram_ms, times.sinogram_ms);
  }
  printf ("%-18s first %5.0f ms, full %5.0f ms, sinogram %5.0f ms, processor %5.0f ms\n", kind->name,
          best.first_ms, best.full_ms, best.sinogram_ms, best.processor_ms);
  fflush (stdout);
  if (!kind->preset_on) {
    td_recipe_step (&recipe, kind->name)->enabled = FALSE;
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
  for (guint i = 0; kinds[i]; i++)
    if (argc == 2 || g_strv_contains ((const char *const *) argv + 2, kinds[i]->name))
      measure (kinds[i]);
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  return 0;
}
