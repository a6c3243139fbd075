/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurm.h"

#define SQUEUE_US (15 * G_USEC_PER_SEC)
#define FIRST_S 4 /* until a job that squeue does not list is looked up again */
#define LIMIT_S 30

/* What is known of the jobs of one cluster, through one host. */
typedef struct {
  GMutex lock;
  char *cluster;      /* "": the host's own */
  GHashTable *states; /* id → TdSlurmState */
  gint64 queue_time, urgent_time;
  GError *problem; /* of the last question, if nobody answered it; NULL */
} Queue;

static GMutex registry_lock;
static GHashTable *registry; /* shell and cluster → Queue */

void
td_slurm_state_clear (TdSlurmState *state)
{
  g_clear_pointer (&state->state, g_free);
  g_clear_pointer (&state->reason, g_free);
}

static void
slurm_state_free (gpointer data)
{
  td_slurm_state_clear (data);
  g_free (data);
}

static Queue *
slurm_queue (TdShell *shell, const char *cluster)
{
  g_autofree char *key = g_strdup_printf ("%p %s", (gpointer) shell, cluster ? cluster : "");

  g_mutex_lock (&registry_lock);
  if (!registry)
    registry = g_hash_table_new (g_str_hash, g_str_equal);
  Queue *queue = g_hash_table_lookup (registry, key);
  if (!queue) {
    queue = g_new0 (Queue, 1);
    g_mutex_init (&queue->lock);
    queue->states = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, slurm_state_free);
    queue->cluster = g_strdup (cluster ? cluster : "");
    g_hash_table_insert (registry, g_steal_pointer (&key), queue);
  }
  g_mutex_unlock (&registry_lock);
  return queue;
}

static TdSlurmPhase
slurm_phase (const char *state)
{
  static const char *const waiting[]
      = { "PENDING",       "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
          "RESV_DEL_HOLD", NULL };
  static const char *const running[]
      = { "RUNNING",   "CONFIGURING", "COMPLETING", "SUSPENDED", "STAGE_OUT",
          "SIGNALING", "STOPPED",     "RESIZING",   NULL };

  return g_strv_contains (waiting, state)   ? TD_SLURM_PENDING
         : g_strv_contains (running, state) ? TD_SLURM_RUNNING
                                            : TD_SLURM_ENDED;
}

/* Lines "ID|STATE|REASON", and of a job that was asked about alone "|RESTARTS". */
static void
slurm_take_lines (Queue *queue, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i]; i++) {
    g_auto (GStrv) words = g_strsplit (lines[i], "|", 4);
    if (g_strv_length (words) < 3 || !*words[0] || !*words[1])
      continue;
    TdSlurmState *state = g_new0 (TdSlurmState, 1);
    state->phase = slurm_phase (words[1]);
    state->state = g_strdup (words[1]);
    state->reason = *words[2] && !g_str_equal (words[2], "None") ? g_strdup (words[2]) : NULL;
    state->restarts = words[3] ? (guint) g_ascii_strtoull (words[3], NULL, 10) : 0;
    g_hash_table_replace (queue->states, g_strdup (words[0]), state);
  }
}

/* What a command of Slurm could not tell. */
static gboolean
slurm_refuse (TdShell *shell, Queue *queue, const char *command, const char *words, GError **error)
{
  g_clear_error (&queue->problem);
  td_set_error (&queue->problem, TD_ERROR_IO, "%s on %s says: %p", command, td_shell_name (shell),
                td_message_quoted (words, N_ ("nothing")));
  g_propagate_error (error, g_error_copy (queue->problem));
  return FALSE;
}

/* One squeue for all jobs of the user; those that ended minutes ago are still in it. */
static gboolean
slurm_ask_queue (TdShell *shell, Queue *queue, GCancellable *cancellable, GError **error)
{
  static const char script[]
      = TD_SLURM_MANY "squeue $many -h -t all -u \"$(id -un)\" -o '%i|%T|%r'";
  const char *const words[] = { queue->cluster, NULL };
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (shell, script, words, LIMIT_S, &result, cancellable, error))
    return FALSE;
  queue->queue_time = g_get_monotonic_time ();
  if (result.status != 0)
    return slurm_refuse (shell, queue, "squeue", result.error, error);
  g_clear_error (&queue->problem);
  g_hash_table_remove_all (queue->states);
  slurm_take_lines (queue, result.out);
  return TRUE;
}

/* One job, by scontrol while Slurm remembers it, else by its accounts where it keeps any. A
   controller that does not answer knows the job perhaps: that is an error. */
static gboolean
slurm_ask_one (TdShell *shell, Queue *queue, const char *id, GCancellable *cancellable,
               GError **error)
{
  static const char script[] = TD_SLURM_MANY
      "said=$(scontrol $many -o show job \"$1\" 2>&1)\n"
      "failed=$?\n"
      "printf '%s\\n' \"$said\" | sed -n 's/^JobId=\\([0-9]*\\) .*JobState=\\([A-Z_]*\\) "
      "Reason=\\([^ ]*\\).* Restarts=\\([0-9]*\\).*/\\1|\\2|\\3|\\4/p; t; "
      "s/^JobId=\\([0-9]*\\) .*JobState=\\([A-Z_]*\\) Reason=\\([^ ]*\\).*/\\1|\\2|\\3/p' | "
      "grep . && return 0\n"
      "command -v sacct >/dev/null 2>&1 && sacct $many -n -X -P -j \"$1\" -o JobID,State,Reason "
      "2>/dev/null | grep . && return 0\n"
      "case $failed$said in 0*|*'Invalid job id'*) return 0;; esac\n"
      "printf '%s\\n' \"$said\" >&2\n"
      "return 1";
  const char *const words[] = { queue->cluster, id, NULL };
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (shell, script, words, LIMIT_S, &result, cancellable, error))
    return FALSE;
  queue->urgent_time = g_get_monotonic_time ();
  if (result.status != 0)
    return slurm_refuse (shell, queue, "scontrol", result.error, error);
  g_clear_error (&queue->problem);
  slurm_take_lines (queue, result.out);
  if (!g_hash_table_contains (queue->states, id))
    g_hash_table_replace (queue->states, g_strdup (id), g_new0 (TdSlurmState, 1));
  return TRUE;
}

gboolean
td_slurm_ask (TdShell *shell, const TdSlurmJob *job, guint patience_s, TdSlurmState *state,
              GCancellable *cancellable, GError **error)
{
  Queue *queue = slurm_queue (shell, job->cluster);
  const gboolean at_once = patience_s == TD_SLURM_AT_ONCE;
  const char *id = job->id;
  gboolean answered = TRUE;

  *state = (TdSlurmState) { 0 };
  g_mutex_lock (&queue->lock);
  const gint64 now = g_get_monotonic_time ();
  const TdSlurmState *known = g_hash_table_lookup (queue->states, id);
  if (known && known->phase == TD_SLURM_ENDED)
    ; /* nothing more happens to it */
  else if (!queue->queue_time || now - queue->queue_time >= SQUEUE_US)
    answered = slurm_ask_queue (shell, queue, cancellable, error);
  known = g_hash_table_lookup (queue->states, id);
  const gint64 patience_us = (patience_s && !at_once ? patience_s : FIRST_S) * G_USEC_PER_SEC;
  if (answered && (!known || (patience_s && known->phase != TD_SLURM_ENDED))
      && (!queue->urgent_time || now - queue->urgent_time >= patience_us || (known && at_once))) {
    answered = slurm_ask_one (shell, queue, id, cancellable, error);
    known = g_hash_table_lookup (queue->states, id);
  }
  if (known)
    *state = (TdSlurmState) { known->phase, g_strdup (known->state), g_strdup (known->reason),
                              known->restarts };
  /* Who was asked in vain a moment ago is not asked again, and knows no more of the job now. */
  if (answered && !known && queue->problem) {
    g_propagate_error (error, g_error_copy (queue->problem));
    answered = FALSE;
  }
  g_mutex_unlock (&queue->lock);
  return answered;
}

TdMessage *
td_slurm_explain (const TdSlurmState *state)
{
  static const struct {
    const char *state, *text;
  } ends[] = {
    { "TIMEOUT",
      N_ ("the job reached its wall time. Raise \"time\" in the profile; submitted again, "
          "the job goes on from the parts that are finished") },
    { "CANCELLED", N_ ("the job was cancelled outside this program (scancel)") },
    { "NODE_FAIL", N_ ("a node failed. Submit the job again; it goes on from the finished parts") },
    { "BOOT_FAIL", N_ ("a node did not start. Submit the job again") },
    { "OUT_OF_MEMORY",
      N_ ("a node ran out of memory. Ask for more with scheduler-options = --mem=…, "
          "or lower \"memory\" in the profile") },
    { "PREEMPTED", N_ ("the job gave way to another one. Submit the job again; it goes on from the "
                       "finished parts") },
    { "DEADLINE", N_ ("the job's deadline passed") },
  };

  for (guint i = 0; state->state && i < G_N_ELEMENTS (ends); i++)
    if (g_str_has_prefix (state->state, ends[i].state))
      return td_message_new ("Slurm says %s: %p", state->state,
                             td_message_new_plain (ends[i].text));
  if (state->state && state->reason)
    return td_message_new ("Slurm says %s, %s", state->state, state->reason);
  return state->state ? td_message_new ("Slurm says %s", state->state) : NULL;
}
