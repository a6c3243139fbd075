/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long it takes from a change to its pixels: 1024 columns, 721 views. Times depend on the
   machine, and are printed; only a window that stands still for half a second fails. */
#include "app/latency.h"
#include "ui-test.h"
#include "window-test.h"

#define CHANGES 50
#define STALL_MS 500

static guint counted;

static gboolean
latency_is_counted (gpointer unused)
{
  return td_latency_count > counted && td_test_scan_view_is_settled (NULL);
}

static void
latency_move_centre (guint i)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.centre_auto = FALSE;
  recipe.centre_px = 500 + 0.25 * i;
  td_session_edit (td_test_session (), &recipe, NULL);
}

static void
latency_expect (const char *what)
{
  const TdLatency found = td_latency_last;

  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  g_test_message (
      "%s: first picture %.0f ms, full slice %.0f ms, %u changes, longest stall %.1f ms, "
      "computed at once %.1f ms",
      what, found.first_ms, found.full_ms, found.changes, found.stall_ms, found.busy_ms);
  g_assert_cmpfloat (found.first_ms, >, 0);
  g_assert_cmpfloat (found.full_ms, >, 0);
  g_assert_cmpfloat (found.busy_ms, <, STALL_MS);
}

static void
test_change (void)
{
  for (guint i = 0; i < 8; i++) {
    counted = td_latency_count;
    latency_move_centre (i);
    td_test_wait (latency_is_counted, NULL, "the full slice");
    latency_expect ("one change");
  }
}

static gboolean
latency_stream (gpointer user)
{
  guint *n = user;

  latency_move_centre (100 + (*n)++);
  return *n < CHANGES ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean
latency_is_streamed (gpointer n)
{
  return *(guint *) n == CHANGES;
}

static void
test_stream (void)
{
  for (guint i = 0; i < 3; i++) {
    guint n = 0;
    g_timeout_add (20, latency_stream, &n);
    td_test_wait (latency_is_streamed, &n, "the changes");
    td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
    latency_expect ("fifty changes in a second");
  }
}

int
main (int argc, char **argv)
{
  static const char *const options[]
      = { "--columns=1024", "--rows=4", "--views=721", "--centre=510", "--photons=20000", NULL };

  g_test_init (&argc, &argv, NULL);
  td_latency_want (TRUE);
  g_autofree char *path = td_test_phantom ("latency.nxs", options);
  g_autoptr (TdApplication) application = td_test_start ();
  td_test_open (path);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  g_test_add_func ("/window-latency/change", test_change);
  g_test_add_func ("/window-latency/stream", test_stream);
  const int status = g_test_run ();
  td_test_folder_remove ();
  return status;
}
