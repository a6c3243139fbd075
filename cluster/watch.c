/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compute/recipe/json.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"
#include "worker.h"

#define PACE_US 20000
#define BEAT_US 500000
#define TELL_US 900000
#define FLAG_US 300000
/* A rank that was silent for so long has ended, unless its process is seen to live. */
#define LOST_S 7
#define MOST_LOST_S 3600
#define SILENCE_VARIABLE "TOMODESK_SILENCE_S"
/* A living process may be silent for so many times that long: its disk or its processor is busy. */
#define LIVING_TIMES 9
/* Ranks have so long to end their threads. */
#define UNWIND_US (3 * G_USEC_PER_SEC)
/* MPI has so long to end them. */
#define ABORT_S 10
/* The most by which one turn of the watching thread moves its clock. */
#define TURN_US (G_USEC_PER_SEC / 4)

/* What rank 0 knows of a rank. */
typedef struct {
  gint64 heard_us; /* as TdWatch.awake_us */
  pid_t process;   /* that this rank can look at; 0: none */
  char stage[32], node[64];
  double done, total, rate;
  gboolean finished, stopped;
} Peer;

typedef struct {
  char *text;
  int to;
  MPI_Request request;
} Message;

struct TdWatch {
  MPI_Comm comm;
  int rank, size;
  char *folder, *node;
  TdEvents *events;
  GCancellable *cancellable;
  TdWatchCalls calls;
  GThread *thread;
  GPtrArray *sending; /* Message; the thread's */
  Peer *peers;        /* rank 0: of all; else peers[0] only */
  gint64 beaten_us, told_us, looked_us;
  gint64 lost_us; /* a rank may be silent for so long */
  /* The time in which the watching thread ran. It stands still while the process, or the whole
     computer, is stopped, lest the others seem silent when they were stopped as well. */
  gint64 awake_us, woken_us;
  char *place;    /* where a number means the same process */
  double began_s; /* since 1970, as events have it */

  GMutex lock; /* all below */
  GCond changed;
  GQueue out; /* Message, to be sent */
  const char *stage;
  TdJob *job;           /* that runs; NULL: none */
  double before, total; /* updates, of the rank */
  TdGridShare grant;
  gboolean granted, wants, ended;
  gint64 stopping_us; /* 0: not */
  int exit_status;    /* of all ranks, once they stop */
};

static volatile sig_atomic_t watch_signal;

static void
on_signal (int number)
{
  watch_signal = number;
}

/* ── Messages ── */

static JsonBuilder *
message_begin (const char *kind)
{
  JsonBuilder *builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "kind", kind);
  return builder;
}

/* Takes @builder. */
static void
watch_post (TdWatch *watch, int to, JsonBuilder *builder)
{
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  Message *message = g_new0 (Message, 1);

  message->text = td_json_text (root, FALSE);
  message->to = to;
  message->request = MPI_REQUEST_NULL;
  g_object_unref (builder);
  g_mutex_lock (&watch->lock);
  g_queue_push_tail (&watch->out, message);
  g_mutex_unlock (&watch->lock);
}

/* ── Ending ── */

/* The last of a job: MPI ends all its ranks, those too that wait in it. A signal ends this one if
   MPI hangs. */
G_NORETURN static void
watch_abort (TdWatch *watch, int status)
{
  fflush (NULL);
  alarm (ABORT_S);
  MPI_Abort (MPI_COMM_WORLD, status);
  _exit (status);
}

static void
watch_tell_failed (TdWatch *watch, guint rank, const char *node, const char *stage, const char *why)
{
  JsonBuilder *builder = td_events_begin (watch->events, "failed");

  td_json_add_string (builder, "stage", stage);
  td_json_add_integer (builder, "rank", rank);
  td_json_add_string (builder, "node", node && *node ? node : NULL);
  if (watch_signal) /* the launcher tells more of it */
    td_json_add_integer (builder, "signal", (guint64) watch_signal);
  td_events_add_message (builder, why);
  td_events_end (watch->events);
}

/* Rank 0: all ranks end their threads now. */
static void
watch_stop (TdWatch *watch, int status)
{
  if (watch->stopping_us)
    return;
  watch->stopping_us = watch->awake_us;
  watch->exit_status = status;
  for (int i = 1; i < watch->size; i++)
    watch_post (watch, i, message_begin ("stop"));
  g_cancellable_cancel (watch->cancellable);
}

static void
watch_fail_rank (TdWatch *watch, guint rank, const char *node, const char *stage, const char *why)
{
  if (watch->stopping_us)
    return;
  const char *told = td_events_end_told (watch->folder, watch->began_s);
  if (told) /* what comes after it changes nothing, but ranks that wait for this one end */
    watch_abort (watch, strcmp (told, "done") == 0 ? TD_WORKER_DONE : TD_WORKER_FAILED);
  watch_tell_failed (watch, rank, node, stage, why);
  watch_stop (watch, TD_WORKER_FAILED);
}

/* Another rank: rank 0 may be gone. The first of those that are left tells. */
static void
watch_tell_alone (TdWatch *watch, const char *why)
{
  g_usleep ((gulong) (100000 * MIN (watch->rank, 5)));
  if (!td_events_end_told (watch->folder, watch->began_s)) {
    watch->events = td_events_open (watch->folder, NULL);
    if (watch->events)
      watch_tell_failed (watch, (guint) watch->rank, watch->node, watch->stage, why);
  }
}

/* ── Rank 0 ── */

static void
watch_tell_progress (TdWatch *watch)
{
  double done = 0, total = 0, rate = 0;
  const char *stage = watch->stage;
  JsonBuilder *builder = td_events_begin (watch->events, "progress");

  for (int i = 0; i < watch->size; i++) {
    const Peer *peer = &watch->peers[i];
    done += peer->done;
    total += peer->total;
    rate += peer->rate;
    if (!peer->finished && peer->total > 0 && peer->done < peer->total && *peer->stage)
      stage = peer->stage;
  }
  td_json_add_string (builder, "stage", stage);
  td_json_add_number (builder, "done", done);
  td_json_add_number (builder, "total", total);
  td_json_add_string (builder, "unit", "updates");
  td_json_add_number (builder, "rate", rate);
  td_json_add_number (builder, "left_s", rate > 0 ? (total - done) / rate : NAN);
  td_json_begin_list (builder, "silent_s");
  for (int i = 0; i < watch->size; i++)
    json_builder_add_double_value (
        builder, rint ((watch->awake_us - watch->peers[i].heard_us) * 1e-5) * 0.1);
  json_builder_end_array (builder);
  td_events_end (watch->events);
}

static void
watch_take_beat (Peer *peer, JsonNode *root)
{
  const char *stage = td_json_string (root, "stage"), *node = td_json_string (root, "node");

  g_strlcpy (peer->node, node ? node : "", sizeof peer->node);
  g_strlcpy (peer->stage, stage ? stage : "", sizeof peer->stage);
  peer->done = td_json_number (root, "done");
  peer->total = td_json_number (root, "total");
  peer->rate = td_json_number (root, "rate");
}

/* What a rank told as an event: its members are the message's. */
static void
watch_tell (TdWatch *watch, const char *event, JsonNode *root)
{
  JsonBuilder *builder = td_events_begin (watch->events, event);
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  json_object_iter_init_ordered (&iter, json_node_get_object (root));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (strcmp (name, "message") == 0) {
      td_events_add_message (builder, json_node_get_string (value));
    } else if (strcmp (name, "kind") != 0) {
      json_builder_set_member_name (builder, name);
      json_builder_add_value (builder, json_node_copy (value));
    }
  td_events_end (watch->events);
}

static void
watch_grant (TdWatch *watch, guint rank)
{
  gboolean later = FALSE;
  const TdGridShare share = watch->calls.grant (rank, &later, watch->calls.user);
  JsonBuilder *builder = message_begin ("grant");

  td_json_add_integer (builder, "first", share.first);
  td_json_add_integer (builder, "count", share.count);
  td_json_add_boolean (builder, "later", later);
  watch_post (watch, (int) rank, builder);
}

/* ── All ranks ── */

static void
watch_take_grant (TdWatch *watch, JsonNode *root)
{
  g_mutex_lock (&watch->lock);
  watch->grant = (TdGridShare) { td_json_count (root, "first"), td_json_count (root, "count") };
  watch->granted = !td_json_true (root, "later");
  watch->wants = FALSE;
  g_cond_broadcast (&watch->changed);
  g_mutex_unlock (&watch->lock);
}

static void
watch_handle (TdWatch *watch, guint from, const char *text)
{
  g_autoptr (JsonNode) root = td_json_parse (text);
  const char *kind = root ? td_json_string (root, "kind") : "";
  Peer *peer = &watch->peers[watch->rank == 0 ? from : 0];

  peer->heard_us = watch->awake_us;
  if (strcmp (kind, "beat") == 0 && g_strcmp0 (td_json_string (root, "place"), watch->place) == 0)
    peer->process = (pid_t) td_json_number (root, "process");
  if (strcmp (kind, "grant") == 0) {
    watch_take_grant (watch, root);
  } else if (strcmp (kind, "stop") == 0) {
    watch->stopping_us = watch->awake_us;
    g_cancellable_cancel (watch->cancellable);
  } else if (watch->rank != 0) {
    return;
  } else if (strcmp (kind, "beat") == 0) {
    watch_take_beat (peer, root);
  } else if (strcmp (kind, "note") == 0 || strcmp (kind, "slice") == 0) {
    watch_tell (watch, kind, root);
  } else if (strcmp (kind, "part") == 0) {
    if (watch->calls.part)
      watch->calls.part (td_json_count (root, "first"), td_json_count (root, "count"),
                         watch->calls.user);
    watch_tell (watch, kind, root);
  } else if (strcmp (kind, "want") == 0) {
    watch_grant (watch, from);
  } else if (strcmp (kind, "failed") == 0) {
    peer->stopped = TRUE;
    watch_fail_rank (watch, from, td_json_string (root, "node"), td_json_string (root, "stage"),
                     td_json_string (root, "message"));
  } else if (strcmp (kind, "stopped") == 0) {
    peer->stopped = TRUE;
  } else if (strcmp (kind, "finished") == 0) {
    peer->done = peer->total;
    g_mutex_lock (&watch->lock);
    peer->finished = TRUE;
    g_cond_broadcast (&watch->changed);
    g_mutex_unlock (&watch->lock);
  }
}

static void
watch_message_free (gpointer data)
{
  Message *message = data;

  g_free (message->text);
  g_free (message);
}

/* Sends what waits. To itself a rank talks directly. */
static void
watch_send (TdWatch *watch)
{
  for (;;) {
    g_mutex_lock (&watch->lock);
    Message *message = g_queue_pop_head (&watch->out);
    g_mutex_unlock (&watch->lock);
    if (!message)
      break;
    if (message->to == watch->rank) {
      watch_handle (watch, (guint) watch->rank, message->text);
      watch_message_free (message);
      continue;
    }
    MPI_Isend (message->text, (int) strlen (message->text) + 1, MPI_CHAR, message->to, 0,
               watch->comm, &message->request);
    g_ptr_array_add (watch->sending, message);
  }
  for (guint i = 0; i < watch->sending->len;) {
    Message *message = watch->sending->pdata[i];
    int done = 0;
    MPI_Test (&message->request, &done, MPI_STATUS_IGNORE);
    if (done)
      g_ptr_array_remove_index (watch->sending, i);
    else
      i++;
  }
  g_mutex_lock (&watch->lock);
  g_cond_broadcast (&watch->changed);
  g_mutex_unlock (&watch->lock);
}

static void
watch_receive (TdWatch *watch)
{
  for (;;) {
    MPI_Status status;
    int there = 0, length = 0;

    if (MPI_Iprobe (MPI_ANY_SOURCE, 0, watch->comm, &there, &status) != MPI_SUCCESS || !there)
      return;
    MPI_Get_count (&status, MPI_CHAR, &length);
    g_autofree char *text = g_malloc0 ((gsize) length + 1);
    if (MPI_Recv (text, length, MPI_CHAR, status.MPI_SOURCE, 0, watch->comm, MPI_STATUS_IGNORE)
        != MPI_SUCCESS)
      return;
    watch_handle (watch, (guint) status.MPI_SOURCE, text);
  }
}

/* (transfer full) */
static JsonBuilder *
watch_begin_beat (const TdWatch *watch)
{
  JsonBuilder *builder = message_begin ("beat");

  td_json_add_string (builder, "place", watch->place);
  td_json_add_integer (builder, "process", (guint64) getpid ());
  return builder;
}

static void
watch_beat (TdWatch *watch)
{
  JsonBuilder *builder = watch_begin_beat (watch);
  TdJobProgress progress = { 0 };

  g_mutex_lock (&watch->lock);
  if (watch->job) {
    td_job_progress (watch->job, &progress);
    watch->stage = progress.stage;
  }
  const double own = watch->job ? td_plan_facts (td_job_plan (watch->job))->updates : 0;
  td_json_add_string (builder, "stage", watch->stage);
  td_json_add_string (builder, "node", watch->node);
  td_json_add_number (builder, "done", watch->before + progress.fraction * own);
  td_json_add_number (builder, "total", watch->total);
  td_json_add_number (builder, "rate", progress.updates_per_s);
  g_mutex_unlock (&watch->lock);
  watch_post (watch, 0, builder);
  for (int i = 1; watch->rank == 0 && i < watch->size; i++)
    watch_post (watch, i, watch_begin_beat (watch));
}

/* ── Silence ── */

/* The kernel that runs, and its name space of processes: ranks with the same see each other. */
static char *
watch_find_place (void)
{
  g_autofree char *space = g_file_read_link ("/proc/self/ns/pid", NULL);
  g_autofree char *boot = NULL;

  g_file_get_contents ("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL);
  if (!boot || !space)
    return g_uuid_string_random (); /* nobody's */
  return g_strconcat (g_strchomp (boot), " ", space, NULL);
}

/* Whether the process is there and is not stopped. */
static gboolean
watch_sees_living (pid_t process)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int) process);
  g_autofree char *text = NULL;

  if (process <= 0 || !g_file_get_contents (path, &text, NULL, NULL))
    return FALSE;
  const char *name_end = strrchr (text, ')');
  return name_end && name_end[1] == ' ' && name_end[2] && !strchr ("TtZXx", name_end[2]);
}

static gboolean
watch_has_lost (const TdWatch *watch, const Peer *peer)
{
  const gint64 silent_us = watch->awake_us - peer->heard_us;

  return silent_us > watch->lost_us
         && (silent_us > LIVING_TIMES * watch->lost_us || !watch_sees_living (peer->process));
}

static gint64
watch_find_limit (void)
{
  const char *wish = g_getenv (SILENCE_VARIABLE);
  guint64 seconds = LOST_S;

  if (wish && !g_ascii_string_to_unsigned (wish, 10, 1, MOST_LOST_S, &seconds, NULL))
    fprintf (stderr, "tomodesk-worker: %s is a whole number from 1 to %d, not “%s”; it is %d\n",
             SILENCE_VARIABLE, MOST_LOST_S, wish, LOST_S);
  return (gint64) seconds * G_USEC_PER_SEC;
}

/* Moves the watch's own clock on. */
static void
watch_wake (TdWatch *watch, gint64 now)
{
  watch->awake_us += MIN (now - watch->woken_us, TURN_US);
  watch->woken_us = now;
}

/* What started this rank by ssh would wait for a quarter of an hour for a launcher whose host is
   gone. */
static void
watch_end_daemon (void)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/comm", (int) getppid ());
  g_autofree char *name = NULL;

  if (g_file_get_contents (path, &name, NULL, NULL)
      && (strcmp (name, "orted\n") == 0 || strcmp (name, "prted\n") == 0))
    kill (getppid (), SIGTERM);
}

/* Who is silent. */
static void
watch_look_for_lost (TdWatch *watch)
{
  for (int i = 1; watch->rank == 0 && i < watch->size; i++)
    if (watch_has_lost (watch, &watch->peers[i])) {
      g_autofree char *why = td_message_packed (
          "Rank %d has not been heard of for %d seconds: its process or its node has ended, or the "
          "network is cut; look at the job's log, and start the job again, which goes on where it "
          "was",
          i, (int) ((watch->awake_us - watch->peers[i].heard_us) / G_USEC_PER_SEC));
      watch->peers[i].stopped = TRUE; /* nobody waits for it */
      watch_fail_rank (watch, (guint) i, watch->peers[i].node, watch->peers[i].stage, why);
    }
  if (watch->rank != 0 && watch_has_lost (watch, &watch->peers[0])) {
    watch_tell_alone (watch,
                      N_ ("Rank 0 has not been heard of: its process or its node has ended; look "
                          "at the job's log, and start the job again, which goes on where it "
                          "was"));
    watch_end_daemon ();
    watch_abort (watch, TD_WORKER_FAILED);
  }
}

/* The rank whose process has ended, of those that this rank knows and can look at; -1: none. */
static int
watch_find_ended (const TdWatch *watch)
{
  if (watch->rank != 0)
    return watch->peers[0].process && !watch_sees_living (watch->peers[0].process) ? 0 : -1;
  for (int i = 1; i < watch->size; i++)
    if (watch->peers[i].process && !watch_sees_living (watch->peers[i].process))
      return i;
  return -1;
}

/* The launcher ends all ranks when one has ended. */
static void
watch_look_for_signal (TdWatch *watch)
{
  if (!watch_signal || watch->stopping_us)
    return;
  watch_receive (watch); /* what was said before it came */
  if (watch->stopping_us)
    return;
  const int ended = watch_find_ended (watch);
  g_autofree char *said
      = ended >= 0 ? td_message_packed (
            "Rank %d has ended without a word: it was killed, or it crashed, perhaps because "
            "memory "
            "was short; look at the job's log, and start the job again, which goes on where it was",
            ended)
                   : td_message_packed (
                       "The job was ended from outside (signal %d): another rank has ended, the "
                       "wall time was reached, or it was cancelled by the scheduler; look at the "
                       "job's log, and start the job again, which goes on where it was",
                       (int) watch_signal);
  if (watch->rank == 0 && td_job_is_cancelled (watch->folder)) {
    watch_stop (watch, TD_WORKER_CANCELLED);
    return;
  }
  if (watch->rank != 0) {
    watch_tell_alone (watch, said);
    watch_abort (watch, TD_WORKER_FAILED);
  }
  const Peer *peer = &watch->peers[MAX (ended, 0)];
  watch_fail_rank (watch, (guint) MAX (ended, 0), watch->node,
                   ended > 0 && *peer->stage ? peer->stage : watch->stage, said);
  /* Who sends SIGTERM soon sends SIGKILL. */
  watch_send (watch);
  watch_abort (watch, TD_WORKER_FAILED);
}

/* Rank 0: the ranks' threads have ended, or had time to. */
static void
watch_look_for_end (TdWatch *watch)
{
  guint forced = 0; /* ranks that have not ended */

  if (!watch->stopping_us)
    return;
  if (watch->rank != 0) {
    if (watch->awake_us - watch->stopping_us > 2 * UNWIND_US)
      watch_abort (watch, TD_WORKER_FAILED);
    return;
  }
  for (int i = 0; i < watch->size; i++) {
    const Peer *peer = &watch->peers[i];
    forced += !peer->stopped && !(peer->process && !watch_sees_living (peer->process));
  }
  if (forced > 0 && watch->awake_us - watch->stopping_us < UNWIND_US)
    return;
  if (watch->exit_status == TD_WORKER_CANCELLED) {
    if (watch->calls.discard)
      watch->calls.discard (watch->calls.user);
    td_json_add_integer (td_events_begin (watch->events, "cancelled"), "ended_by_force", forced);
    td_events_end (watch->events);
  }
  watch_abort (watch, watch->exit_status);
}

static gpointer
watch_thread (gpointer user)
{
  TdWatch *watch = user;
  gboolean ended = FALSE;

  while (!ended) {
    const gint64 now = g_get_monotonic_time ();

    watch_wake (watch, now);
    if (now - watch->beaten_us > BEAT_US) {
      watch->beaten_us = now;
      watch_beat (watch);
    }
    watch_send (watch);
    watch_receive (watch);
    watch_look_for_signal (watch);
    if (watch->rank == 0 && now - watch->looked_us > FLAG_US) {
      watch->looked_us = now;
      if (td_job_is_cancelled (watch->folder))
        watch_stop (watch, TD_WORKER_CANCELLED);
    }
    if (watch->rank == 0 && now - watch->told_us > TELL_US && !watch->stopping_us) {
      watch->told_us = now;
      watch_tell_progress (watch);
    }
    watch_look_for_lost (watch);
    watch_look_for_end (watch);
    g_usleep (PACE_US);
    g_mutex_lock (&watch->lock);
    ended = watch->ended && g_queue_is_empty (&watch->out) && watch->sending->len == 0;
    g_mutex_unlock (&watch->lock);
  }
  return NULL;
}

/* ── Life ── */

TdWatch *
td_watch_new (MPI_Comm comm, const char *folder, TdEvents *events, GCancellable *cancellable)
{
  TdWatch *watch = g_new0 (TdWatch, 1);

  watch->comm = comm;
  MPI_Comm_rank (comm, &watch->rank);
  MPI_Comm_size (comm, &watch->size);
  watch->began_s = g_get_real_time () * 1e-6;
  watch->folder = g_strdup (folder);
  watch->node = g_strdup (g_get_host_name ());
  watch->events = events;
  watch->cancellable = g_object_ref (cancellable);
  watch->stage = N_ ("starting");
  watch->sending = g_ptr_array_new_with_free_func (watch_message_free);
  watch->peers = g_new0 (Peer, watch->size);
  watch->lost_us = watch_find_limit ();
  watch->woken_us = g_get_monotonic_time ();
  watch->awake_us = 1; /* 0 is no time at which a job stops */
  watch->place = watch_find_place ();
  g_mutex_init (&watch->lock);
  g_cond_init (&watch->changed);
  const struct sigaction action = { .sa_handler = on_signal };
  sigaction (SIGTERM, &action, NULL);
  sigaction (SIGINT, &action, NULL);
  watch->thread = g_thread_new ("watch", watch_thread, watch);
  return watch;
}

void
td_watch_set_calls (TdWatch *watch, const TdWatchCalls *calls)
{
  watch->calls = *calls;
}

void
td_watch_free (TdWatch *watch)
{
  g_mutex_lock (&watch->lock);
  watch->ended = TRUE;
  g_mutex_unlock (&watch->lock);
  g_thread_join (watch->thread);
  g_ptr_array_unref (watch->sending);
  g_object_unref (watch->cancellable);
  g_clear_pointer (&watch->job, td_job_unref);
  g_free (watch->peers);
  g_free (watch->folder);
  g_free (watch->node);
  g_free (watch->place);
  g_mutex_clear (&watch->lock);
  g_cond_clear (&watch->changed);
  g_free (watch);
}

/* ── What a rank tells ── */

void
td_watch_stage (TdWatch *watch, const char *stage)
{
  g_mutex_lock (&watch->lock);
  watch->stage = stage;
  g_mutex_unlock (&watch->lock);
}

void
td_watch_follow (TdWatch *watch, TdJob *job, double before, double total)
{
  g_mutex_lock (&watch->lock);
  g_clear_pointer (&watch->job, td_job_unref);
  watch->job = job ? td_job_ref (job) : NULL;
  watch->before = before;
  watch->total = total;
  g_mutex_unlock (&watch->lock);
}

void
td_watch_note (TdWatch *watch, TdMessage *message)
{
  g_autoptr (TdMessage) note = message;
  JsonBuilder *builder = message_begin ("note");
  g_autofree char *field = td_message_field (note);
  g_autofree char *packed = td_message_pack (note);

  td_json_add_string (builder, "id", td_message_id (note));
  td_json_add_string (builder, "field", field);
  td_json_add_string (builder, "message", packed);
  watch_post (watch, 0, builder);
}

void
td_watch_slice (TdWatch *watch, guint index, const char *path)
{
  JsonBuilder *builder = message_begin ("slice");

  td_json_add_integer (builder, "index", index);
  td_json_add_string (builder, "path", path);
  watch_post (watch, 0, builder);
}

void
td_watch_part (TdWatch *watch, guint first, guint count)
{
  JsonBuilder *builder = message_begin ("part");

  td_json_add_integer (builder, "first", first);
  td_json_add_integer (builder, "count", count);
  watch_post (watch, 0, builder);
}

gboolean
td_watch_want (TdWatch *watch, TdGridShare *share)
{
  gboolean granted = FALSE;

  while (!granted && !g_cancellable_is_cancelled (watch->cancellable)) {
    g_mutex_lock (&watch->lock);
    watch->wants = TRUE;
    g_mutex_unlock (&watch->lock);
    watch_post (watch, 0, message_begin ("want"));
    g_mutex_lock (&watch->lock);
    while (watch->wants && !g_cancellable_is_cancelled (watch->cancellable))
      g_cond_wait_until (&watch->changed, &watch->lock, g_get_monotonic_time () + PACE_US);
    granted = watch->granted && !watch->wants;
    *share = watch->grant;
    watch->granted = FALSE;
    g_mutex_unlock (&watch->lock);
    if (!granted)
      g_usleep (5 * PACE_US);
  }
  return granted;
}

/* Until MPI_Abort() ends the process. */
G_NORETURN static void
watch_await_end (void)
{
  for (;;)
    g_usleep (G_USEC_PER_SEC);
}

void
td_watch_fail (TdWatch *watch, const GError *error)
{
  JsonBuilder *builder = message_begin ("failed");
  g_autofree char *packed = td_error_pack (error);
  g_autofree char *text = td_error_text (error, NULL);

  td_json_add_string (builder, "node", watch->node);
  td_json_add_string (builder, "stage", watch->stage);
  td_json_add_string (builder, "message", packed);
  fprintf (stderr, "tomodesk-worker: rank %d on %s: %s\n", watch->rank, watch->node, text);
  watch_post (watch, 0, builder);
  watch_await_end ();
}

void
td_watch_cancelled (TdWatch *watch)
{
  watch_post (watch, 0, message_begin ("stopped"));
  watch_await_end ();
}

void
td_watch_finish (TdWatch *watch)
{
  gboolean all = FALSE;

  watch_post (watch, 0, message_begin ("finished"));
  while (!all) {
    g_mutex_lock (&watch->lock);
    all = g_queue_is_empty (&watch->out) && watch->sending->len == 0;
    for (int i = 0; watch->rank == 0 && i < watch->size; i++)
      all = all && watch->peers[i].finished;
    if (!all)
      g_cond_wait_until (&watch->changed, &watch->lock, g_get_monotonic_time () + PACE_US);
    g_mutex_unlock (&watch->lock);
  }
}
