/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the first of three ranks tells of all. mpirun starts this three times. Ranks 1 and 2 have no
   watch: they send what one would send. Rank 0 reports. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "cluster/watch.h"
#include "dataset/json-walk.h"
#include "tests/unit/test-folder.h"

#define RANKS 3
#define PATIENCE_US (60 * G_USEC_PER_SEC)

static int rank;
static MPI_Comm comm; /* the watch's */

static void
step (void)
{
  MPI_Barrier (MPI_COMM_WORLD);
}

static void
send (int from, const char *text)
{
  if (rank == from)
    MPI_Send (text, (int) strlen (text) + 1, MPI_CHAR, 0, 0, comm);
}

/* The next message of that kind from a rank. (transfer full) */
static JsonNode *
receive (int from, const char *kind)
{
  for (;;) {
    MPI_Status status;
    int length;
    MPI_Probe (from, 0, comm, &status);
    MPI_Get_count (&status, MPI_CHAR, &length);
    g_autofree char *text = g_malloc0 ((gsize) length + 1);
    MPI_Recv (text, length, MPI_CHAR, from, 0, comm, MPI_STATUS_IGNORE);
    g_autoptr (JsonNode) root = td_json_parse (text);
    g_assert_nonnull (root);
    if (strcmp (td_json_string (root, "kind"), kind) == 0)
      return g_steal_pointer (&root);
  }
}

/* Waits for an event. @done: that progress must have come to; NAN: any. (transfer full) */
static JsonNode *
await_event (const char *folder, const char *event, double done)
{
  const gint64 end = g_get_monotonic_time () + PATIENCE_US;
  g_autofree char *path = g_build_filename (folder, "events.jsonl", NULL);

  while (g_get_monotonic_time () < end) {
    g_autofree char *text = NULL;
    g_file_get_contents (path, &text, NULL, NULL);
    g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
    for (guint i = g_strv_length (lines); i > 0; i--) {
      g_autoptr (JsonNode) root = td_json_parse (lines[i - 1]);
      if (root && g_strcmp0 (td_json_string (root, "event"), event) == 0
          && (isnan (done) || td_json_number (root, "done") == done))
        return g_steal_pointer (&root);
    }
    g_usleep (20000);
  }
  g_error ("no event %s of %g within a minute", event, done);
}

static void
assert_progress (const char *folder, double done, double rate, const char *stage)
{
  g_autoptr (JsonNode) event = await_event (folder, "progress", done);
  JsonArray *silent = json_object_get_array_member (json_node_get_object (event), "silent_s");

  g_assert_cmpstr (td_json_string (event, "stage"), ==, stage);
  g_assert_cmpstr (td_json_string (event, "unit"), ==, "updates");
  g_assert_cmpfloat (td_json_number (event, "total"), ==, 160);
  g_assert_cmpfloat (td_json_number (event, "rate"), ==, rate);
  g_assert_cmpfloat_with_epsilon (td_json_number (event, "left_s"), (160 - done) / rate, 1e-6);
  g_assert_cmpuint (json_array_get_length (silent), ==, RANKS);
  for (guint i = 0; i < RANKS; i++) {
    g_assert_cmpfloat (json_array_get_double_element (silent, i), >=, 0);
    g_assert_cmpfloat (json_array_get_double_element (silent, i), <, 60);
  }
}

/* ── Rank 0 ── */

typedef struct {
  guint part_first, part_count, asked, asking;
} Told;

static void
on_part (guint first, guint count, gpointer user)
{
  Told *told = user;

  told->part_first = first;
  told->part_count = count;
}

/* Later, then some. */
static TdGridShare
on_grant (guint asking, gboolean *later, gpointer user)
{
  Told *told = user;

  told->asking = asking;
  *later = told->asked++ == 0;
  return *later ? (TdGridShare) { 0, 0 } : (TdGridShare) { 40, 8 };
}

static void
watch_ranks (void)
{
  g_autoptr (TestFolder) own = test_folder_new ();
  const char *folder = own->path;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdEvents) events = td_events_open (folder, &error);
  g_assert_no_error (error);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Told told = { 0 };
  const TdWatchCalls calls = { on_part, on_grant, NULL, &told };
  TdWatch *watch = td_watch_new (comm, folder, events, cancellable);

  td_watch_set_calls (watch, &calls);
  td_watch_stage (watch, "gathering");
  td_watch_follow (watch, NULL, 7, 10);
  step (); /* beats */
  assert_progress (folder, 57, 7, "reconstructing");
  step (); /* rank 2 has no updates left */
  assert_progress (folder, 77, 7, "reading");
  step (); /* notes, slices, parts, wants */
  g_autoptr (JsonNode) note = await_event (folder, "note", NAN);
  g_assert_cmpstr (td_json_string (note, "id"), ==, "an-id");
  g_assert_cmpstr (td_json_string (note, "field"), ==, "views");
  g_assert_cmpstr (td_json_string (note, "text"), ==, "Said by rank 1");
  g_autoptr (JsonNode) slice = await_event (folder, "slice", NAN);
  g_assert_cmpuint (td_json_count (slice, "index"), ==, 12);
  g_assert_cmpstr (td_json_string (slice, "path"), ==, "preview.tif");
  g_autoptr (JsonNode) part = await_event (folder, "part", NAN);
  g_assert_cmpuint (td_json_count (part, "first"), ==, 16);
  g_assert_cmpuint (td_json_count (part, "count"), ==, 5);
  g_assert_cmpuint (told.part_first, ==, 16);
  g_assert_cmpuint (told.part_count, ==, 5);
  step (); /* granted */
  g_assert_cmpuint (told.asked, ==, 2);
  g_assert_cmpuint (told.asking, ==, 2);
  step (); /* both have finished */
  assert_progress (folder, 157, 7, "gathering");
  g_assert_false (g_cancellable_is_cancelled (cancellable));
  td_watch_finish (watch);
  td_watch_free (watch);
}

/* ── Ranks 1 and 2 ── */

static void
be_watched (void)
{
  send (1, "{\"kind\": \"beat\", \"place\": \"elsewhere\", \"process\": 1, \"stage\": \"reading\", "
           "\"done\": 20, \"total\": 100, \"rate\": 5}");
  send (2, "{\"kind\": \"beat\", \"place\": \"elsewhere\", \"process\": 1, \"stage\": "
           "\"reconstructing\", \"done\": 30, \"total\": 50, \"rate\": 2}");
  step ();
  step ();
  send (2, "{\"kind\": \"beat\", \"place\": \"elsewhere\", \"process\": 1, \"stage\": \"writing\", "
           "\"done\": 50, \"total\": 50, \"rate\": 2}");
  step ();
  send (1, "{\"kind\": \"note\", \"id\": \"an-id\", \"field\": \"views\", \"message\": "
           "\"Said by rank 1\"}");
  send (1, "{\"kind\": \"slice\", \"index\": 12, \"path\": \"preview.tif\"}");
  send (1, "{\"kind\": \"part\", \"first\": 16, \"count\": 5}");
  if (rank == 2)
    for (guint i = 0; i < 2; i++) {
      send (2, "{\"kind\": \"want\"}");
      g_autoptr (JsonNode) grant = receive (0, "grant");
      g_assert_cmpuint (td_json_count (grant, "first"), ==, i * 40);
      g_assert_cmpuint (td_json_count (grant, "count"), ==, i * 8);
      g_assert_cmpint (td_json_true (grant, "later"), ==, i == 0);
    }
  step ();
  step ();
  send (1, "{\"kind\": \"finished\"}");
  send (2, "{\"kind\": \"finished\"}");
}

static void
test_told (void)
{
  MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  if (rank == 0)
    watch_ranks ();
  else
    be_watched ();
  step ();
}

/* Waits until rank 1 says how far it is. */
static void
await_beat (void)
{
  for (;;) {
    g_autoptr (JsonNode) beat = receive (1, "beat");
    if (g_strcmp0 (td_json_string (beat, "stage"), "reading") != 0
        || td_json_number (beat, "total") != 10)
      continue;
    g_assert_cmpfloat (td_json_number (beat, "done"), ==, 7);
    g_assert_cmpfloat (td_json_number (beat, "process"), >, 1);
    g_assert_nonnull (td_json_string (beat, "place"));
    return;
  }
}

/* Rank 1 alone has a watch. It tells where it is, and stops when rank 0 says so. */
static void
test_stopped (void)
{
  static const char stop[] = "{\"kind\": \"stop\"}";
  g_autoptr (TestFolder) folder = test_folder_new ();

  g_setenv ("TOMODESK_SILENCE_S", "3600", TRUE); /* rank 0 says nothing else */
  MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  if (rank == 0) {
    await_beat ();
    MPI_Send (stop, sizeof stop, MPI_CHAR, 1, 0, comm);
    g_autoptr (JsonNode) finished = receive (1, "finished");
  } else if (rank == 1) {
    const gint64 end = g_get_monotonic_time () + PATIENCE_US;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    TdWatch *watch = td_watch_new (comm, folder->path, NULL, cancellable);

    td_watch_stage (watch, "reading");
    td_watch_follow (watch, NULL, 7, 10);
    while (!g_cancellable_is_cancelled (cancellable) && g_get_monotonic_time () < end)
      g_usleep (20000);
    g_assert_true (g_cancellable_is_cancelled (cancellable));
    td_watch_finish (watch);
    td_watch_free (watch);
  }
  step ();
}

int
main (int argc, char **argv)
{
  int threads, ranks;

  MPI_Init_thread (&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  g_assert_cmpint (ranks, ==, RANKS);
  if (rank > 0)
    g_assert_nonnull (freopen ("/dev/null", "w", stdout));
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/watch/told", test_told);
  g_test_add_func ("/watch/stopped", test_stopped);
  const int status = g_test_run ();
  MPI_Finalize ();
  return status;
}
