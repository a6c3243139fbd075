/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the first of three ranks tells of all. mpirun starts this three times. Ranks 1 and 2 have no
   watch: they send what one would send. Rank 0 reports. */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/mpi-limit.h"
#include "cluster/watch.h"
#include "cluster/worker.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"
#include "tests/unit/test-folder.h"

#define RANKS 3
#define PATIENCE_US (60 * G_USEC_PER_SEC)

static int rank;
static MPI_Comm comm; /* the watch's */

/* Sleeps until a message is there: MPI itself would keep the processor busy. */
static void
await_message (int from, MPI_Comm of, MPI_Status *status)
{
  for (int there = 0;;) {
    MPI_Iprobe (from, 0, of, &there, status);
    if (there)
      return;
    g_usleep (2000);
  }
}

static void
pass (int to)
{
  MPI_Send (NULL, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static void
take (int from)
{
  MPI_Status status;

  await_message (from, MPI_COMM_WORLD, &status);
  MPI_Recv (NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody goes on before all are here. What a rank has sent before comes before that. */
static void
step (void)
{
  for (int i = 0; i < RANKS; i++)
    if (i != rank)
      pass (i);
  for (int i = 0; i < RANKS; i++)
    if (i != rank)
      take (i);
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
    await_message (from, comm, &status);
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

/* @text with this computer's place and a process that lives, the rank's own. (transfer full) */
static char *
fill_in (const char *text)
{
  g_autoptr (GString) filled = g_string_new (text);
  g_autofree char *space = g_file_read_link ("/proc/self/ns/pid", NULL), *boot = NULL;

  g_assert_true (g_file_get_contents ("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL));
  g_autofree char *place = g_strdup_printf ("\"place\": \"%s %s\"", g_strchomp (boot), space);
  g_autofree char *process = g_strdup_printf ("%d", (int) getpid ());
  g_string_replace (filled, "@", place, 0);
  g_string_replace (filled, "$", process, 0);
  return g_strdup (filled->str);
}

/* The first rank lives, and on which computer. */
static void
hear_first (void)
{
  g_autoptr (JsonNode) beat = receive (0, "beat");
  g_autofree char *place = g_strdup_printf ("\"place\": \"%s\"", td_json_string (beat, "place"));
  g_autofree char *own = fill_in ("@");

  g_assert_cmpstr (place, ==, own);
  g_assert_cmpfloat (td_json_number (beat, "process"), >, 1);
  g_assert_cmpfloat (td_json_number (beat, "process"), !=, getpid ());
}

static void
be_watched (void)
{
  hear_first ();
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
  g_setenv ("TOMODESK_SILENCE_S", "3600", TRUE); /* ranks that are said to be elsewhere wait, too */
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
    g_assert_cmpstr (td_json_string (beat, "node"), ==, g_get_host_name ());
    return;
  }
}

/* What a rank says is what the first one takes, in test_told() above. */
static void
hear_rank (void)
{
  g_autoptr (JsonNode) note = receive (1, "note"), slice = receive (1, "slice");
  g_autoptr (JsonNode) part = receive (1, "part");

  g_assert_cmpstr (td_json_string (note, "id"), ==, "Slices %u to %u come later");
  g_assert_null (td_json_string (note, "field"));
  g_autofree char *words = td_message_words (td_json_string (note, "message"), NULL);
  g_assert_cmpstr (words, ==, "Slices 3 to 5 come later");
  g_assert_cmpuint (td_json_count (slice, "index"), ==, 12);
  g_assert_cmpstr (td_json_string (slice, "path"), ==, "preview.tif");
  g_assert_cmpuint (td_json_count (part, "first"), ==, 16);
  g_assert_cmpuint (td_json_count (part, "count"), ==, 5);
}

/* A rank asks again while it is told "later". */
static void
grant_rank (void)
{
  static const char *const grants[]
      = { "{\"kind\": \"grant\", \"first\": 0, \"count\": 0, \"later\": true}",
          "{\"kind\": \"grant\", \"first\": 40, \"count\": 8, \"later\": false}",
          "{\"kind\": \"grant\", \"first\": 0, \"count\": 0, \"later\": false}" };

  for (guint i = 0; i < G_N_ELEMENTS (grants); i++) {
    g_autoptr (JsonNode) want = receive (1, "want");
    MPI_Send (grants[i], (int) strlen (grants[i]) + 1, MPI_CHAR, 1, 0, comm);
  }
}

static void
be_granted (TdWatch *watch)
{
  TdGridShare share;

  g_assert_true (td_watch_want (watch, &share));
  g_assert_cmpuint (share.first, ==, 40);
  g_assert_cmpuint (share.count, ==, 8);
  g_assert_true (td_watch_want (watch, &share));
  g_assert_cmpuint (share.count, ==, 0);
}

/* Rank 1 alone has a watch. It tells where it is and what it has, gets slices, and stops when rank
   0 says so. */
static void
test_stopped (void)
{
  static const char stop[] = "{\"kind\": \"stop\"}";
  g_autoptr (TestFolder) folder = test_folder_new ();

  g_setenv ("TOMODESK_SILENCE_S", "3600", TRUE); /* rank 0 says nothing else */
  MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  if (rank == 0) {
    await_beat ();
    step ();
    hear_rank ();
    grant_rank ();
    MPI_Send (stop, sizeof stop, MPI_CHAR, 1, 0, comm);
    g_autoptr (JsonNode) finished = receive (1, "finished");
  } else if (rank == 1) {
    const gint64 end = g_get_monotonic_time () + PATIENCE_US;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    TdWatch *watch = td_watch_new (comm, folder->path, NULL, cancellable);
    TdGridShare share;

    td_watch_stage (watch, "reading");
    td_watch_follow (watch, NULL, 7, 10);
    step ();
    td_watch_note (watch, td_message_new ("Slices %u to %u come later", 3u, 5u));
    td_watch_slice (watch, 12, "preview.tif");
    td_watch_part (watch, 16, 5);
    be_granted (watch);
    while (!g_cancellable_is_cancelled (cancellable) && g_get_monotonic_time () < end)
      g_usleep (20000);
    g_assert_true (g_cancellable_is_cancelled (cancellable));
    g_assert_false (td_watch_want (watch, &share));
    td_watch_finish (watch);
    td_watch_free (watch);
  } else {
    step ();
  }
  step ();
}

/* The others are told to finish after a while. */
static gpointer
let_finish (gpointer told)
{
  g_usleep (100000);
  g_atomic_int_set ((int *) told, TRUE);
  pass (1);
  pass (2);
  return NULL;
}

/* The first rank waits until all have finished. */
static void
test_finishes (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  g_setenv ("TOMODESK_SILENCE_S", "3600", TRUE);
  MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  if (rank == 0) {
    g_autoptr (TdEvents) events = td_events_open (folder->path, NULL);
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    TdWatch *watch = td_watch_new (comm, folder->path, events, cancellable);
    int told = FALSE;
    GThread *thread = g_thread_new ("finish", let_finish, &told);
    td_watch_finish (watch);
    g_assert_true (g_atomic_int_get (&told));
    g_thread_join (thread);
    td_watch_free (watch);
  } else {
    take (0);
    send (rank, "{\"kind\": \"finished\"}");
  }
  step ();
}

/* ── How a job ends ── */

/* Processes of this computer, of which there is none of the greatest number. */
#define DIED "@, \"process\": 2147483647"
#define LIVES "@, \"process\": $"
#define ELSEWHERE "\"place\": \"elsewhere\", \"process\": 1"
#define BEAT(who, stage)                                                                           \
  "{\"kind\": \"beat\", " who ", \"stage\": \"" stage "\", \"node\": \"far\", \"done\": 1, "       \
  "\"total\": 2, \"rate\": 1}"
#define SAYS_NO                                                                                    \
  "{\"kind\": \"failed\", \"node\": \"far\", \"stage\": \"reading\", \"message\": \"No room\"}"
#define EITHER -1 /* of two ranks, whichever is heard first */
#define OUTSIDE "The job was ended from outside (signal "
#define ENDED(rank) "Rank " #rank " has ended without a word"
#define SILENT(rank) "Rank " #rank " has not been heard of"

/* What the others say to the rank that watches, what happens to it, and what it makes of it. */
typedef struct {
  const char *name;
  int at;                  /* the rank that watches */
  const char *said[RANKS]; /* by the others */
  gboolean unwinds[RANKS]; /* whose threads end when they are asked to */
  gboolean fails, flag;    /* it fails itself; somebody cancels the job */
  int signal;
  const char *known; /* an end that was told before */
  int status;        /* with which all ranks end */
  const char *text;  /* how the event "failed" begins; NULL: there is none */
  int who;           /* of it */
  const char *node, *stage;
  int forced; /* of the event "cancelled"; -1: there is none */
} End;

#define ALL                                                                                        \
  {                                                                                                \
    TRUE, TRUE, TRUE                                                                               \
  }

static const End ends[] = {
  { "a rank fails",
    0,
    { NULL, SAYS_NO },
    ALL,
    .status = TD_WORKER_FAILED,
    .text = "No room",
    .who = 1,
    .node = "far",
    .stage = "reading",
    .forced = -1 },
  { "two ranks fail",
    0,
    { NULL, SAYS_NO, SAYS_NO },
    ALL,
    .status = TD_WORKER_FAILED,
    .text = "No room",
    .who = EITHER,
    .node = "far",
    .stage = "reading",
    .forced = -1 },
  { "the first rank fails",
    0,
    { NULL },
    { FALSE, TRUE, TRUE },
    .fails = TRUE,
    .status = TD_WORKER_FAILED,
    .text = "No disk",
    .who = 0,
    .stage = "gathering",
    .forced = -1 },
  { "is cancelled", 0, { NULL }, ALL, .flag = TRUE, .status = TD_WORKER_CANCELLED },
  { "is cancelled, a rank has ended",
    0,
    { NULL, NULL, BEAT (DIED, "reading") },
    { TRUE, TRUE, FALSE },
    .flag = TRUE,
    .status = TD_WORKER_CANCELLED },
  { "is cancelled, a rank hangs",
    0,
    { NULL, NULL, BEAT (LIVES, "reading") },
    { TRUE, TRUE, FALSE },
    .flag = TRUE,
    .status = TD_WORKER_CANCELLED,
    .forced = 1 },
  { "a rank is silent",
    0,
    { NULL, BEAT (LIVES, "reading"), BEAT (ELSEWHERE, "storing") },
    { TRUE, TRUE, FALSE },
    .status = TD_WORKER_FAILED,
    .text = SILENT (2),
    .who = 2,
    .node = "far",
    .stage = "storing",
    .forced = -1 },
  { "a signal",
    0,
    { NULL, BEAT (LIVES, "reading"), BEAT (ELSEWHERE, "storing") },
    { FALSE },
    .signal = SIGTERM,
    .status = TD_WORKER_FAILED,
    .text = OUTSIDE "15)",
    .stage = "gathering",
    .forced = -1 },
  { "another signal",
    0,
    { NULL },
    { FALSE },
    .signal = SIGINT,
    .status = TD_WORKER_FAILED,
    .text = OUTSIDE "2)",
    .stage = "gathering",
    .forced = -1 },
  { "a signal, a rank has ended",
    0,
    { NULL, BEAT (DIED, "reading"), BEAT (LIVES, "storing") },
    { FALSE },
    .signal = SIGTERM,
    .status = TD_WORKER_FAILED,
    .text = ENDED (1),
    .who = 1,
    .stage = "reading",
    .forced = -1 },
  { "a signal, the last rank has ended",
    0,
    { NULL, BEAT (LIVES, "reading"), BEAT (DIED, "") },
    { FALSE },
    .signal = SIGTERM,
    .status = TD_WORKER_FAILED,
    .text = ENDED (2),
    .who = 2,
    .stage = "gathering",
    .forced = -1 },
  { "a signal since it is cancelled",
    0,
    { NULL },
    ALL,
    .flag = TRUE,
    .signal = SIGTERM,
    .status = TD_WORKER_CANCELLED },
  { "a signal after the end",
    0,
    { NULL },
    { FALSE },
    .signal = SIGTERM,
    .known = "done",
    .status = TD_WORKER_DONE,
    .forced = -1 },
  { "a signal after a failure",
    0,
    { NULL },
    { FALSE },
    .signal = SIGTERM,
    .known = "cancelled",
    .status = TD_WORKER_FAILED,
    .forced = -1 },
  /* Another rank tells the end where the first one is gone. */
  { "the first rank is silent",
    1,
    { BEAT (ELSEWHERE, "") },
    { FALSE },
    .status = TD_WORKER_FAILED,
    .text = SILENT (0),
    .who = 1,
    .stage = "gathering",
    .forced = -1 },
  { "a signal, the first rank has ended",
    1,
    { BEAT (DIED, "") },
    { FALSE },
    .signal = SIGTERM,
    .status = TD_WORKER_FAILED,
    .text = ENDED (0),
    .who = 1,
    .stage = "gathering",
    .forced = -1 },
  { "a signal to another rank",
    2,
    { BEAT (LIVES, "") },
    { FALSE },
    .signal = SIGTERM,
    .status = TD_WORKER_FAILED,
    .text = OUTSIDE "15)",
    .who = 2,
    .stage = "gathering",
    .forced = -1 },
  { "a signal, somebody has told",
    1,
    { BEAT (DIED, "") },
    { FALSE },
    .signal = SIGTERM,
    .known = "failed",
    .status = TD_WORKER_FAILED,
    .forced = -1 },
};

static int aborted; /* the status with which all ranks would have ended; -1: they would not */

/* The last that a watching thread does. The test goes on without it. */
int
MPI_Abort (MPI_Comm of, int status)
{
  g_assert_cmpuint (alarm (0), >, 0); /* should MPI hang */
  g_atomic_int_set (&aborted, status);
  g_thread_exit (NULL);
  return MPI_SUCCESS;
}

/* The signal is forgotten, as if the next watch were the process's first. */
static void
forget_signal (int number)
{
  struct sigaction action;

  g_assert_cmpint (sigaction (number, NULL, &action), ==, 0);
  action.sa_handler (0);
}

static gpointer
fail (gpointer watch)
{
  g_autoptr (GError) error = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "No disk");

  td_watch_fail (watch, error);
}

typedef struct {
  TdWatch *watch;
  GCancellable *cancellable;
  guint discarded;
} Watched;

/* The rank's threads end when the job is cancelled. */
static gpointer
unwind (gpointer user)
{
  const Watched *watched = user;

  while (!g_cancellable_is_cancelled (watched->cancellable))
    g_usleep (2000);
  td_watch_cancelled (watched->watch);
}

static void
on_discard (gpointer user)
{
  ((Watched *) user)->discarded++;
}

/* One end is told at the most, and its members. */
static void
assert_told (const End *end, const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "events.jsonl", NULL), *text = NULL;
  guint n_failed = 0, n_cancelled = 0;

  g_file_get_contents (path, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autoptr (JsonNode) event = td_json_parse (lines[i]);
    const char *name = event ? td_json_string (event, "event") : "";
    if (event && td_json_at (event, "known"))
      continue;
    if (strcmp (name, "failed") == 0) {
      const double number = td_json_number (event, "signal");
      n_failed++;
      g_assert_true (end->text && g_str_has_prefix (td_json_string (event, "text"), end->text));
      g_assert_true (end->who == EITHER || td_json_count (event, "rank") == (guint) end->who);
      g_assert_cmpstr (td_json_string (event, "node"), ==,
                       end->node ? end->node : g_get_host_name ());
      g_assert_cmpstr (td_json_string (event, "stage"), ==, end->stage);
      g_assert_true (end->signal ? number == end->signal : isnan (number));
    } else if (strcmp (name, "cancelled") == 0) {
      n_cancelled++;
      g_assert_cmpint ((int) td_json_number (event, "ended_by_force"), ==, end->forced);
    }
  }
  g_assert_cmpuint (n_failed, ==, end->text != NULL);
  g_assert_cmpuint (n_cancelled, ==, end->forced >= 0);
}

/* @after_s: from now on; below 0: by an earlier run. */
static void
tell_known (const char *event, const char *folder, double after_s)
{
  g_autofree char *path = g_build_filename (folder, "events.jsonl", NULL);
  g_autofree char *line = g_strdup_printf ("{\"event\": \"%s\", \"time\": %f, \"known\": 1}\n",
                                           event, g_get_real_time () * 1e-6 + after_s);

  g_assert_true (g_file_set_contents (path, line, -1, NULL));
}

/* The rank that watches. */
static void
watch_end (const End *end)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *flag = test_folder_file (folder, "cancel");
  g_autoptr (TdEvents) events = rank == 0 ? td_events_open (folder->path, NULL) : NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  const gint64 begun = g_get_monotonic_time ();
  Watched watched = { NULL, cancellable, 0 };
  const TdWatchCalls calls = { .discard = on_discard, .user = &watched };

  watched.watch = td_watch_new (comm, folder->path, events, cancellable);
  td_watch_set_calls (watched.watch, &calls);
  td_watch_stage (watched.watch, "gathering");
  if (end->known)
    tell_known (end->known, folder->path, 100);
  step (); /* what the others say is there */
  if (end->unwinds[rank])
    g_thread_unref (g_thread_new ("unwind", unwind, &watched));
  if (end->fails)
    g_thread_unref (g_thread_new ("fail", fail, watched.watch));
  if (end->flag)
    g_assert_true (g_file_set_contents (flag, "", 0, NULL));
  if (end->signal)
    raise (end->signal);
  while (g_atomic_int_get (&aborted) < 0 && g_get_monotonic_time () < begun + PATIENCE_US)
    g_usleep (2000);
  g_assert_cmpint (g_atomic_int_get (&aborted), ==, end->status);
  if (end->forced > 0) /* whoever hangs had time */
    g_assert_cmpint (g_get_monotonic_time () - begun, >=, 3 * G_USEC_PER_SEC);
  g_assert_cmpint (g_cancellable_is_cancelled (cancellable), ==,
                   rank == 0 && (!end->known || end->forced >= 0));
  g_assert_cmpuint (watched.discarded, ==, end->forced >= 0);
  step ();
  if (end->signal)
    forget_signal (end->signal);
  td_watch_free (watched.watch);
  assert_told (end, folder->path);
}

/* Another one, which the first rank asks to end. */
static void
be_ended (const End *end)
{
  g_autofree char *said = end->said[rank] ? fill_in (end->said[rank]) : NULL;

  if (said)
    MPI_Send (said, (int) strlen (said) + 1, MPI_CHAR, end->at, 0, comm);
  step ();
  if (end->at == 0 && !end->known) {
    g_autoptr (JsonNode) stop = receive (0, "stop");
    if (end->unwinds[rank])
      send (rank, "{\"kind\": \"stopped\"}");
  }
  step ();
}

static void
test_end (gconstpointer data)
{
  const End *end = data;

  g_setenv ("TOMODESK_SILENCE_S", strstr (end->name, "silent") ? "1" : "3600", TRUE);
  MPI_Comm_dup (MPI_COMM_WORLD, &comm);
  aborted = -1;
  if (rank == end->at)
    watch_end (end);
  else
    be_ended (end);
}

/* ── Before a watch, and after it ── */

/* A process that waits for MPI for ever, or for two seconds where nothing ends it. */
typedef struct {
  const char *name;
  TdMpiLimitKind kind;
  const char *seconds, *known; /* an end that was told before */
  gboolean cleared;
  int status;
  const char *says, *text; /* on standard error; of the event "failed" */
  double after_s;          /* of the known end */
} Limited;

#define NO_LIMIT 9
#define NEVER_MET "The ranks had not found each other after 1 seconds: "

static const Limited limits[] = {
  { "start", TD_MPI_LIMIT_START, "1", NULL, FALSE, TD_WORKER_FAILED, "tomodesk-worker: " NEVER_MET,
    NEVER_MET },
  { "started", TD_MPI_LIMIT_START, "1", NULL, TRUE, NO_LIMIT, "", NULL },
  { "start, and all was told", TD_MPI_LIMIT_START, "1", "failed", FALSE, TD_WORKER_FAILED,
    "tomodesk-worker: " NEVER_MET, NULL, 100 },
  { "start of another run", TD_MPI_LIMIT_START, "1", "failed", FALSE, TD_WORKER_FAILED,
    "tomodesk-worker: " NEVER_MET, NEVER_MET, -100 },
  { "end", TD_MPI_LIMIT_END, "1", "done", FALSE, TD_WORKER_DONE,
    "tomodesk-worker: MPI did not end within 1 seconds after all was done\n", NULL, 100 },
  { "no number", TD_MPI_LIMIT_START, "1s", NULL, FALSE, NO_LIMIT,
    "tomodesk-worker: TOMODESK_START_S is a whole number from 1 to 86400, not “1s”; it is 300\n",
    NULL },
  { "too long", TD_MPI_LIMIT_END, "86401", NULL, FALSE, NO_LIMIT,
    "tomodesk-worker: TOMODESK_END_S is a whole number from 1 to 86400, not “86401”; it is 60\n",
    NULL },
  { "measuring", TD_MPI_LIMIT_MEASURE, "1", NULL, FALSE, NO_LIMIT, "", NULL },
};

G_NORETURN static void
wait_for_mpi (const Limited *limit, const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "said", NULL);
  const int said = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  dup2 (said, STDERR_FILENO);
  g_setenv ("TOMODESK_START_S", limit->seconds, TRUE);
  g_setenv ("TOMODESK_END_S", limit->seconds, TRUE);
  td_mpi_limit_begin (limit->kind, folder);
  if (limit->cleared)
    td_mpi_limit_clear ();
  g_usleep ((limit->status == NO_LIMIT ? 2 : 60) * G_USEC_PER_SEC);
  _exit (NO_LIMIT);
}

static void
assert_limited (const Limited *limit, const char *folder, int status)
{
  g_autofree char *path = g_build_filename (folder, "said", NULL), *said = NULL;
  g_autofree char *events_path = g_build_filename (folder, "events.jsonl", NULL), *events = NULL;

  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, limit->status);
  g_assert_true (g_file_get_contents (path, &said, NULL, NULL));
  g_assert_true (*limit->says ? g_str_has_prefix (said, limit->says) : !*said);
  g_file_get_contents (events_path, &events, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (events ? events : "", "\n", -1);
  const guint n = (limit->known != NULL) + (limit->text != NULL);
  g_assert_cmpuint (g_strv_length (lines), ==, n ? n + 1 : 0); /* the last one is empty */
  if (!limit->text)
    return;
  g_autoptr (JsonNode) event = td_json_parse (lines[n - 1]);
  g_assert_cmpstr (td_json_string (event, "event"), ==, "failed");
  g_assert_cmpstr (td_json_string (event, "node"), ==, g_get_host_name ());
  g_assert_true (g_str_has_prefix (td_json_string (event, "text"), limit->text));
}

/* All at once, since each takes a second or two. */
static void
test_limits (void)
{
  TestFolder *folders[G_N_ELEMENTS (limits)];
  pid_t processes[G_N_ELEMENTS (limits)];

  for (guint i = 0; rank == 0 && i < G_N_ELEMENTS (limits); i++) {
    folders[i] = test_folder_new ();
    if (limits[i].known)
      tell_known (limits[i].known, folders[i]->path, limits[i].after_s);
    processes[i] = fork ();
    g_assert_cmpint (processes[i], >=, 0);
    if (processes[i] == 0)
      wait_for_mpi (&limits[i], folders[i]->path);
  }
  for (guint i = 0; rank == 0 && i < G_N_ELEMENTS (limits); i++) {
    int status;
    g_assert_cmpint (waitpid (processes[i], &status, 0), ==, processes[i]);
    g_test_message ("%s", limits[i].name);
    assert_limited (&limits[i], folders[i]->path, status);
    test_folder_free (folders[i]);
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
  g_test_add_func ("/watch/limits", test_limits); /* no thread of the watch was there yet */
  g_test_add_func ("/watch/told", test_told);
  g_test_add_func ("/watch/stopped", test_stopped);
  g_test_add_func ("/watch/finishes", test_finishes);
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    g_autofree char *name = g_strconcat ("/watch/ends/", ends[i].name, NULL);
    g_test_add_data_func (name, &ends[i], test_end);
  }
  const int status = g_test_run ();
  MPI_Finalize ();
  return status;
}
