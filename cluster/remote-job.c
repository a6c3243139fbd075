/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "remote-job.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/engine/method.h"
#include "compute/methods/methods.h"
#include "config.h"
#include "dataset/json-walk.h"
#include "dataset/message.h"
#include "dataset/output.h"
#include "dataset/text-file.h"
#include "dataset/scan-writer.h"
#include "events.h"
#include "grid.h"
#include "launch.h"
#include "slurm.h"
#include "worker.h"

#define LOOK_LIMIT_S 30
#define MOST_EVENT_BYTES (256 << 10) /* in one look */
#define SILENT_S 4                   /* a worker says something each second */
#define MEET_S 6                     /* ranks that find each other say something by then … */
#define MEET_STEP_S 10               /* … or how long they do not, which is told so often */
#define BY_HAND_S 60                 /* as long as a job that nobody sees may be silent */
#define FLAG_S 3                     /* a worker looks at its flag twice a second */
#define SIGNAL_S 3
#define LAUNCHER_S 5  /* it has told by then why it ended the ranks */
#define COMPLETE_S 20 /* and Slurm, of a job that it ended */
#define REFUSED 3     /* status: the scheduler took no job */
#define STEP_US (G_USEC_PER_SEC / 4)

/* launch.json: what runs. */
typedef struct {
  gboolean known;
  char *scheduler_id;          /* NULL: processes of the host */
  char *cluster;               /* of those that Slurm knows; NULL: its own */
  char *session, *boot, *host; /* of the computer that started it */
  char *submit_host;           /* NULL: this computer, or whichever has the folder */
  char **words;                /* sbatch's */
} Launched;

/* events.jsonl, summed up. */
typedef struct {
  gboolean started, queued;
  gboolean again;    /* Slurm queued the job again, and the new run has said nothing yet */
  gboolean asked;    /* Slurm was, about the failure */
  gboolean outside;  /* a signal ended the ranks: the launcher may know why */
  guint restarts;    /* before this run, by Slurm */
  gint64 launched;   /* the time of the launcher's output, of the run before; 0: there was none */
  TdRemoteState end; /* RUNNING: none yet */
  char *text;        /* of the failure */
  double first_s, last_s;
} Told;

struct TdRemoteJob {
  gatomicrefcount references;
  GMutex lock; /* facts */
  TdRemoteFacts facts;
  TdShell *shell;

  /* For a job that is to be submitted. */
  TdClusterProfile *profile;
  TdScan *scan;
  TdJobFile file;

  /* The thread that looks alone uses these. */
  Launched launched;
  Told told;
  gint64 offset;  /* bytes of events.jsonl that were taken */
  gint64 ahead_s; /* by which the host's clock is before that of its files */
  gboolean read_files;
  gboolean launching; /* it was begun, and may be launched for all that is known */
};

static const char *const state_names[]
    = { N_ ("staged"), N_ ("queued"),    N_ ("running"), N_ ("done"),
        N_ ("failed"), N_ ("cancelled"), N_ ("lost") };

const char *
td_remote_state_name (TdRemoteState state)
{
  return state_names[state];
}

gboolean
td_remote_state_ended (TdRemoteState state)
{
  return state >= TD_REMOTE_DONE;
}

/* ── Facts ── */

static void
remote_slice_clear (gpointer data)
{
  g_free (((TdRemoteSlice *) data)->path);
}

static GArray *
remote_slices_new (void)
{
  GArray *slices = g_array_new (FALSE, FALSE, sizeof (TdRemoteSlice));

  g_array_set_clear_func (slices, remote_slice_clear);
  return slices;
}

#define TEXT(member) G_STRUCT_OFFSET (TdRemoteFacts, member)
static const gsize remote_texts[] = {
  TEXT (id),     TEXT (title),        TEXT (profile), TEXT (folder),
  TEXT (place),  TEXT (scheduler_id), TEXT (output),  TEXT (output_there),
  TEXT (why),    TEXT (stage),        TEXT (unit),    TEXT (scan),
  TEXT (recipe), TEXT (method),       TEXT (units),   TEXT (watch),
};

void
td_remote_facts_clear (TdRemoteFacts *facts)
{
  for (guint i = 0; i < G_N_ELEMENTS (remote_texts); i++)
    g_free (G_STRUCT_MEMBER (char *, facts, remote_texts[i]));
  g_strfreev (facts->rank_lines);
  g_strfreev (facts->notes);
  g_clear_pointer (&facts->slices, g_array_unref);
  g_clear_pointer (&facts->residuals, g_array_unref);
  g_clear_pointer (&facts->scans, g_ptr_array_unref);
  *facts = (TdRemoteFacts) { 0 };
}

static gpointer
remote_copy_row (gconstpointer row, gpointer unused)
{
  return td_batch_row_copy (row);
}

void
td_remote_job_facts (TdRemoteJob *job, TdRemoteFacts *facts)
{
  const TdRemoteFacts *from = &job->facts;

  g_mutex_lock (&job->lock);
  *facts = *from;
  for (guint i = 0; i < G_N_ELEMENTS (remote_texts); i++)
    G_STRUCT_MEMBER (char *, facts, remote_texts[i])
        = g_strdup (G_STRUCT_MEMBER (char *, from, remote_texts[i]));
  facts->residuals = g_array_copy (from->residuals);
  facts->rank_lines = g_strdupv (from->rank_lines);
  facts->notes = g_strdupv (from->notes);
  facts->scans = from->scans ? g_ptr_array_copy (from->scans, remote_copy_row, NULL) : NULL;
  facts->slices = remote_slices_new ();
  for (guint i = 0; i < from->slices->len; i++) {
    const TdRemoteSlice *slice = &g_array_index (from->slices, TdRemoteSlice, i);
    const TdRemoteSlice copy = { slice->index, slice->pass, g_strdup (slice->path) };
    g_array_append_val (facts->slices, copy);
  }
  g_mutex_unlock (&job->lock);
}

static void
remote_set_text (char **text, const char *value)
{
  if (g_strcmp0 (*text, value) == 0)
    return;
  g_free (*text);
  *text = g_strdup (value);
}

static void
remote_job_set_state (TdRemoteJob *job, TdRemoteState state, const char *why)
{
  g_mutex_lock (&job->lock);
  job->facts.state = state;
  remote_set_text (&job->facts.why, why);
  g_mutex_unlock (&job->lock);
}

static void
remote_job_set_fetched (TdRemoteJob *job, gboolean fetched)
{
  g_mutex_lock (&job->lock);
  job->facts.fetched = fetched;
  g_mutex_unlock (&job->lock);
}

static void
remote_append (char ***list, const char *line)
{
  const guint n = *list ? g_strv_length (*list) : 0;

  if (n && g_strv_contains ((const char *const *) *list, line))
    return;
  *list = g_renew (char *, *list, n + 2);
  (*list)[n] = g_strdup (line);
  (*list)[n + 1] = NULL;
}

/* Takes @message. */
static char *
remote_pack (TdMessage *message)
{
  char *text = td_message_pack (message);

  td_message_unref (message);
  return text;
}

/* With the lock. */
static void
remote_job_set_why (TdRemoteJob *job, const GError *error)
{
  g_autofree char *why = td_error_pack (error);

  remote_set_text (&job->facts.why, why);
}

char *
td_remote_facts_line (const TdRemoteFacts *facts)
{
  g_autofree char *why = td_message_words (facts->why, NULL);
  GString *text = g_string_new (td_remote_state_name (facts->state));

  if (facts->state == TD_REMOTE_RUNNING || facts->state == TD_REMOTE_STAGED) {
    if (facts->stage)
      g_string_append_printf (text, ", %s", facts->stage);
    if (facts->fraction > 0)
      g_string_append_printf (text, " %.0f %%", 100 * facts->fraction);
    if (facts->rate > 0)
      g_string_append_printf (text, ", %.3g %s/s", facts->rate, facts->unit ? facts->unit : "");
    if (facts->left_s >= 0)
      g_string_append_printf (text, ", %.0f s left", facts->left_s);
  } else if (facts->state == TD_REMOTE_DONE && facts->seconds >= 0) {
    g_string_append_printf (text, " in %.1f s", facts->seconds);
  }
  if (facts->state == TD_REMOTE_QUEUED && facts->paused)
    g_string_append (text, ", all jobs of this computer pause");
  else if (facts->state == TD_REMOTE_QUEUED && facts->ahead)
    g_string_append_printf (text, ", %u before it", facts->ahead);
  if (why)
    g_string_append_printf (text, ": %s", why);
  return g_string_free (text, FALSE);
}

/* ── Life ── */

static TdRemoteJob *
remote_job_new (TdShell *shell, const char *id)
{
  TdRemoteJob *job = g_new0 (TdRemoteJob, 1);
  TdRemoteFacts *facts = &job->facts;

  g_atomic_ref_count_init (&job->references);
  g_mutex_init (&job->lock);
  job->shell = shell;
  td_job_file_init (&job->file);
  job->told.end = TD_REMOTE_RUNNING;
  facts->id = g_strdup (id);
  facts->title = g_strdup (id);
  facts->profile = g_strdup ("");
  facts->place = g_strdup (td_shell_name (shell));
  facts->left_s = facts->seconds = -1;
  facts->rank_lines = g_new0 (char *, 1);
  facts->notes = g_new0 (char *, 1);
  facts->slices = remote_slices_new ();
  facts->residuals = g_array_new (FALSE, FALSE, sizeof (double));
  return job;
}

TdRemoteJob *
td_remote_job_of_folder (TdShell *shell, const char *folder)
{
  g_autofree char *id = g_path_get_basename (folder);
  TdRemoteJob *job = remote_job_new (shell, id);

  job->facts.folder = g_strdup (folder);
  return job;
}

gboolean
td_remote_job_is_home (const TdRemoteJob *job)
{
  return g_strcmp0 (job->launched.submit_host, td_shell_host (job->shell)) == 0;
}

gboolean
td_remote_job_was_launched (const TdRemoteJob *job)
{
  return job->launched.known;
}

/* Queues and lists go by the id. So the older of two jobs has the smaller id, wherever they were
   submitted and when summer time ends: the time is UTC. Microseconds come before what makes ids of
   several programs differ. */
static char *
remote_job_new_id (void)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");

  return g_strdup_printf ("%s-%05x%03x", time, (guint) g_date_time_get_microsecond (now),
                          g_random_int () & 0xfff);
}

static TdRemoteJob *
remote_job_new_of (TdClusterProfile *profile, const TdRecipe *recipe, const char *output)
{
  g_autofree char *id = remote_job_new_id ();
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  TdRemoteJob *job = remote_job_new (td_cluster_profile_shell (profile), id);
  TdJobFile *file = &job->file;

  job->profile = td_cluster_profile_ref (profile);
  file->id = g_strdup (id);
  file->title = g_path_get_basename (output);
  file->program = g_strdup ("tomodesk " TD_VERSION);
  file->recipe = *recipe;
  file->output = g_strdup (output);
  file->profile = g_strdup (profile->name);
  file->submitted = g_date_time_format_iso8601 (now);
  remote_set_text (&job->facts.title, file->title);
  remote_set_text (&job->facts.profile, profile->name);
  remote_set_text (&job->facts.output, output);
  job->facts.recipe = td_recipe_to_json (recipe);
  return job;
}

TdRemoteJob *
td_remote_job_new (TdClusterProfile *profile, const TdRemoteOrder *order)
{
  TdRemoteJob *job = remote_job_new_of (profile, order->recipe, order->output);
  TdJobFile *file = &job->file;

  job->scan = td_scan_ref (order->scan);
  file->scan_settings = g_strdupv (order->scan_settings);
  file->overwrite = order->overwrite;
  file->cluster = order->wish;
  file->cluster.device = g_strdup (order->wish.device);
  remote_set_text (&job->facts.scan, td_scan_facts (order->scan)->path);
  return job;
}

static GPtrArray *
remote_rows_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) td_batch_row_free);
}

TdRemoteJob *
td_remote_job_new_batch (const TdJobBatch *batch, char *const *scan_settings,
                         const TdRecipe *recipe, const char *folder, gboolean overwrite)
{
  g_autoptr (TdClusterProfile) here = td_cluster_profile_find (TD_CLUSTER_OWN, NULL);
  TdRemoteJob *job = remote_job_new_of (here, recipe, folder);
  TdJobFile *file = &job->file;

  file->batch.scans = g_strdupv (batch->scans);
  file->batch.watch = g_strdup (batch->watch);
  file->batch.settle_s = batch->settle_s;
  file->scan_settings = g_strdupv ((char **) scan_settings);
  file->overwrite = overwrite;
  job->facts.watch = g_strdup (batch->watch);
  job->facts.scans = remote_rows_new ();
  for (guint i = 0; batch->scans && batch->scans[i]; i++)
    g_ptr_array_add (job->facts.scans, td_batch_row_new (batch->scans[i], NULL));
  return job;
}

TdRemoteJob *
td_remote_job_ref (TdRemoteJob *job)
{
  g_atomic_ref_count_inc (&job->references);
  return job;
}

static void
remote_launched_clear (Launched *launched)
{
  g_free (launched->scheduler_id);
  g_free (launched->cluster);
  g_free (launched->session);
  g_free (launched->boot);
  g_free (launched->host);
  g_free (launched->submit_host);
  g_strfreev (launched->words);
  *launched = (Launched) { 0 };
}

void
td_remote_job_unref (TdRemoteJob *job)
{
  if (!job || !g_atomic_ref_count_dec (&job->references))
    return;
  td_remote_facts_clear (&job->facts);
  g_mutex_clear (&job->lock);
  g_clear_pointer (&job->profile, td_cluster_profile_unref);
  g_clear_pointer (&job->scan, td_scan_unref);
  td_job_file_clear (&job->file);
  remote_launched_clear (&job->launched);
  g_free (job->told.text);
  g_free (job);
}

/* ── Paths of the cluster ── */

/* Where the cluster finds @path. A path that no mapping reaches is put on @copies, and lies below
   the job's folder then. */
static char *
remote_job_place (TdRemoteJob *job, const char *path, GPtrArray *copies, GError **error)
{
  g_autofree char *whole = g_canonicalize_filename (path, NULL);
  char *there = td_cluster_profile_to_remote (job->profile, whole);

  if (there)
    return there;
  if (job->profile->staging) {
    g_ptr_array_add (copies, g_strdup (whole));
    return g_build_filename (job->facts.folder, "scan", whole, NULL);
  }
  return td_set_error_null (
      error, TD_ERROR_IO,
      "%s does not see %s: name the folder that both see in \"map\" of the profile \"%s\", "
      "or set staging = rsync there",
      td_shell_name (job->shell), whole, job->profile->name);
}

/* A member of the recipe that may be a path. */
static gboolean
remote_job_place_in (TdRemoteJob *job, char *member, GPtrArray *copies, GError **error)
{
  if (!strchr (member, '/'))
    return TRUE;
  g_autofree char *there = remote_job_place (job, member, copies, error);
  if (!there)
    return FALSE;
  if (g_strlcpy (member, there, TD_RECIPE_MAX_PATH) < TD_RECIPE_MAX_PATH)
    return TRUE;
  return td_set_error (error, TD_ERROR_TOO_LARGE, "the path %s is too long", there);
}

/* Options of the scan that name files. */
static gboolean
remote_job_place_settings (TdRemoteJob *job, GPtrArray *copies, GError **error)
{
  static const char *const paths[] = { "flats", "darks", "angles", "geometry", NULL };

  for (char **at = job->file.scan_settings; at && at[0]; at += 2) {
    if (!g_strv_contains (paths, at[0]) || !g_file_test (at[1], G_FILE_TEST_EXISTS))
      continue;
    char *there = remote_job_place (job, at[1], copies, error);
    if (!there)
      return FALSE;
    g_free (at[1]);
    at[1] = there;
  }
  return TRUE;
}

static gboolean
remote_job_place_files (TdRemoteJob *job, GPtrArray *copies, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (job->scan);

  g_free (job->file.scan_path);
  job->file.scan_path = remote_job_place (job, facts->path, copies, error);
  if (!job->file.scan_path)
    return FALSE;
  for (char **at = facts->sources; at && *at; at++) {
    g_autofree char *there = remote_job_place (job, *at, copies, error);
    if (!there)
      return FALSE;
  }
  return remote_job_place_settings (job, copies, error)
         && remote_job_place_in (job, job->file.recipe.mask, copies, error)
         && remote_job_place_in (job, job->file.recipe.start, copies, error);
}

/* Whether a volume that is fetched can be written, before anything is computed. The part goes. */
static gboolean
remote_job_try_output (const TdRemoteJob *job, const char *path, GError **error)
{
  const TdJobFile *file = &job->file;
  g_autoptr (TdOutput) output
      = td_output_begin_shared (path, file->recipe.output_format == TD_VOLUME_TIFF_STACK,
                                file->overwrite, 0, file->id, FALSE, error);

  if (output)
    td_output_discard (output);
  return output != NULL;
}

/* The output may be fetched, if the cluster does not write where it is wanted. */
static gboolean
remote_job_place_output (TdRemoteJob *job, GError **error)
{
  g_autofree char *here = g_canonicalize_filename (job->file.output, NULL);
  g_autofree char *base = g_path_get_basename (here);
  g_autofree char *there = td_cluster_profile_to_remote (job->profile, here);
  const gboolean fetch = there == NULL;

  if (fetch && !job->profile->staging)
    return td_set_error (
        error, TD_ERROR_IO,
        "%s cannot write %s: name the folder that both see in \"map\" of the profile "
        "\"%s\", or set staging = rsync there",
        td_shell_name (job->shell), here, job->profile->name);
  if (!job->file.overwrite && g_file_test (here, G_FILE_TEST_EXISTS))
    return td_set_error (error, TD_ERROR_IO,
                         "%s exists already and is left as it is; choose another name", here);
  if (fetch && !remote_job_try_output (job, here, error))
    return FALSE;
  if (fetch)
    there = g_build_filename (job->facts.folder, "output", base, NULL);
  g_free (job->file.output);
  job->file.output = g_steal_pointer (&there);
  g_mutex_lock (&job->lock);
  remote_set_text (&job->facts.output, here);
  remote_set_text (&job->facts.output_there, job->file.output);
  job->facts.to_be_fetched = fetch;
  job->facts.overwrite = job->file.overwrite;
  g_mutex_unlock (&job->lock);
  return TRUE;
}

/* ── Submitting ── */

static gboolean
remote_job_make_folder (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  static const char script[]
      = "umask 077\n" TD_CLUSTER_JOBS_ROOT
        "mkdir -p -- \"$root\" && cd -- \"$root\" && mkdir -- \"$2\" && cd -- \"$2\" && mkdir log "
        "output "
        "&& pwd -P";
  const char *const words[]
      = { job->profile->jobs_folder ? job->profile->jobs_folder : "", job->facts.id, NULL };
  g_autofree char *folder = NULL;

  if (!td_shell_do (job->shell, script, words, &folder, cancellable, error))
    return FALSE;
  g_strchomp (folder);
  g_mutex_lock (&job->lock);
  remote_set_text (&job->facts.folder, folder);
  g_mutex_unlock (&job->lock);
  return TRUE;
}

static gboolean
remote_job_write (TdRemoteJob *job, const char *name, const char *text, GCancellable *cancellable,
                  GError **error)
{
  static const char script[] = "umask 077\ncd -- \"$1\" && printf %s \"$3\" > \"$2.part\" && "
                               "{ sync \"$2.part\" 2>/dev/null; mv -- \"$2.part\" \"$2\"; }";
  const char *const words[] = { job->facts.folder, name, text, NULL };

  return td_shell_do (job->shell, script, words, NULL, cancellable, error);
}

/* The job's file is made by those who read it, in a folder of ours, and sent as it is. */
static gboolean
remote_job_write_file (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-XXXXXX", error);
  g_autofree char *path = folder ? g_build_filename (folder, "job.json", NULL) : NULL;
  g_autofree char *text = NULL;
  const gboolean made = folder && td_job_file_save (&job->file, folder, error)
                        && g_file_get_contents (path, &text, NULL, error);

  if (folder) {
    g_unlink (path);
    g_rmdir (folder);
  }
  return made && remote_job_write (job, "job.json", text, cancellable, error);
}

/* What this computer has measured and the ranks may use. With its Fourier transforms their bits are
   those of a process here; else they measure anew. With the machine's constants they predict. */
static gboolean
remote_job_write_measured (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  g_autofree char *wisdom_path = td_fftw_wisdom_file (NULL);
  g_autofree char *name = g_path_get_basename (wisdom_path);
  g_autofree char *machine_path = td_cluster_profile_machine_file (job->profile->name);
  g_autofree char *wisdom = td_text_load (wisdom_path, TD_FFTW_WISDOM_BYTES, NULL);
  g_autofree char *machine = td_text_load (machine_path, MOST_EVENT_BYTES, NULL);

  return (!wisdom || remote_job_write (job, name, wisdom, cancellable, error))
         && (!machine || remote_job_write (job, "machine.txt", machine, cancellable, error));
}

static void
remote_job_on_copied (double fraction, gpointer user)
{
  TdRemoteJob *job = user;

  g_mutex_lock (&job->lock);
  remote_set_text (&job->facts.stage, N_ ("copying the scan"));
  job->facts.fraction = fraction;
  g_mutex_unlock (&job->lock);
}

static gboolean
remote_job_stage (TdRemoteJob *job, GPtrArray *copies, GCancellable *cancellable, GError **error)
{
  g_autofree char *folder = g_build_filename (job->facts.folder, "scan", "", NULL);
  g_autofree char *to = td_shell_remote_path (job->shell, folder);
  const TdShellCopy copy = { TRUE, remote_job_on_copied, job };

  if (copies->len == 0)
    return TRUE;
  remote_job_on_copied (0, job);
  g_ptr_array_add (copies, NULL);
  return td_shell_copy (job->shell, (const char *const *) copies->pdata, to, &copy, cancellable,
                        error);
}

/* The host adds what only it knows to the record. Processes get a session of their own, which
   outlives the connection; it has begun when the record is there, so that nobody counts too early.
   Until the shell is there in setsid's place, a busy computer may take long, and nobody would find
   either.
   The script of a template names its shell, as Slurm takes it. */
static const char start_here[]
    = "cd -- \"$1\" || return 1\n"
      "record=$2\n"
      "rm -rf cancel log/status " TD_WORKER_RANKS "\n"
      "shell=$(head -n 1 run.sh)\n"
      "case $shell in '#!'*) shell=${shell#'#!'};; *) shell=sh;; esac\n"
      "TOMODESK_JOB=$1 setsid $shell ./run.sh </dev/null >log/stdout 2>log/stderr &\n"
      "pid=$!\n"
      "ours () { tr '\\000' '\\n' < /proc/$pid/environ 2>/dev/null | grep -Fqx "
      "\"TOMODESK_JOB=$1\"; }\n"
      "while kill -0 $pid 2>/dev/null && ! { ours \"$1\" && [ \"$(cat /proc/$pid/comm)\" != setsid "
      "] "
      "&& ours \"$1\"; }; do sleep 0.05; done\n"
      "boot=$(cat /proc/sys/kernel/random/boot_id)\n"
      "printf '%s,\"host\":\"%s\",\"pid\":%s,\"session\":%s,\"boot\":\"%s\"}\\n' "
      "\"$record\" \"$(uname -n)\" $pid $pid \"$boot\" > launch.part && mv launch.part launch.json";
static const char start_by_scheduler[]
    = "cd -- \"$1\" || return 1\n"
      "record=$2\n"
      "shift 2\n"
      "rm -rf cancel log/status log/stdout log/stderr " TD_WORKER_RANKS "\n"
      "said=$(sbatch \"$@\") || return 3\n" /* REFUSED */
      /* "ID", "ID;CLUSTER", or what a site's own sbatch says. */
      "id=$(printf '%s\\n' \"$said\" | sed -n 's/^Submitted batch job //; s/ on cluster /;/; "
      "/^[0-9][0-9]*\\(;[A-Za-z0-9_.-]*\\)*$/p' | tail -n 1)\n"
      "[ -n \"$id\" ] || { echo \"sbatch names no job, but says: $said\" >&2; return 1; }\n"
      "case $id in *';'*) cluster=${id#*;};; *) cluster=;; esac\n"
      "printf '%s,\"host\":\"%s\",\"scheduler\":\"slurm\",\"id\":\"%s\",\"cluster\":\"%s\"}\\n' "
      "\"$record\" \"$(uname -n)\" \"${id%%;*}\" \"$cluster\" > launch.part && mv launch.part "
      "launch.json";

/* It is not cancelled on its way: the job could run or wait, and nobody would know. */
static gboolean
remote_job_start (TdRemoteJob *job, const char *record, char **scheduler_words, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (TdShellResult) result = { 0 };

  g_strv_builder_add_many (builder, job->facts.folder, record, NULL);
  if (scheduler_words)
    g_strv_builder_addv (builder, (const char **) scheduler_words);
  g_auto (GStrv) words = g_strv_builder_end (builder);
  job->launching = TRUE;
  if (!td_shell_run (job->shell, scheduler_words ? start_by_scheduler : start_here,
                     (const char *const *) words, LOOK_LIMIT_S, &result, NULL, error))
    return FALSE;
  if (result.status == 0)
    return TRUE;
  g_strdelimit (result.error, "\n", ' ');
  job->launching = !scheduler_words || result.status != REFUSED;
  if (scheduler_words)
    return td_set_error (error, TD_ERROR_IO, "Slurm on %s refuses the job: %s",
                         td_shell_name (job->shell), result.error);
  return td_set_error (error, TD_ERROR_IO, "the job cannot be started on %s: %s",
                       td_shell_name (job->shell), result.error);
}

static gboolean
remote_job_launch (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  const TdLaunchOutput output
      = { job->facts.output, job->facts.output_there, job->facts.to_be_fetched };
  g_autofree char *script
      = td_launch_script (job->profile, job->facts.id, job->facts.folder, error);
  g_auto (GStrv) words = td_launch_words (job->profile, job->facts.id, job->facts.folder);
  g_autofree char *record = td_launch_record (job->profile, words, &output);

  return script && remote_job_write (job, "run.sh", script, cancellable, error)
         && !g_cancellable_set_error_if_cancelled (cancellable, error)
         && remote_job_start (job, record, words, error);
}

/* A scan of the memory, such as the demonstration, becomes a file of the job's folder. */
static gboolean
remote_job_save_scan (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (job->scan);
  g_autofree char *folder = g_build_filename (job->facts.folder, "scan", NULL);
  g_autofree char *title = g_strdup (facts->title);
  g_autofree char *name = g_strconcat (g_strdelimit (title, "/ :", '_'), ".nxs", NULL);
  g_autofree char *path = g_build_filename (folder, name, NULL);

  if (g_file_test (facts->path, G_FILE_TEST_EXISTS))
    return TRUE;
  if (td_shell_host (job->shell))
    return td_set_error (error, TD_ERROR_UNSUPPORTED,
                         "“%s” is no file that %s could read; reconstruct it on this computer",
                         facts->title, td_shell_name (job->shell));
  if (g_mkdir_with_parents (folder, 0700) != 0)
    return td_set_error (error, TD_ERROR_IO, "“%s” cannot be written: %s", folder,
                         g_strerror (errno));
  if (!td_scan_save (job->scan, path, TD_SCAN_NXTOMO, cancellable, error))
    return FALSE;
  TdScan *saved = td_scan_open (path, NULL, cancellable, error);
  if (!saved)
    return FALSE;
  td_scan_unref (job->scan);
  job->scan = saved;
  return TRUE;
}

static gboolean
remote_job_submit_parts (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) copies = g_ptr_array_new_with_free_func (g_free);

  if (td_job_file_is_batch (&job->file))
    return remote_job_write_file (job, cancellable, error)
           && remote_job_write_measured (job, cancellable, error)
           && remote_job_launch (job, cancellable, error);
  if (!remote_job_save_scan (job, cancellable, error))
    return FALSE;
  g_free (job->file.scan_hash);
  job->file.scan_hash = td_job_scan_hash (job->scan, error);
  return job->file.scan_hash && remote_job_place_output (job, error)
         && remote_job_place_files (job, copies, error)
         && remote_job_stage (job, copies, cancellable, error)
         && remote_job_write_file (job, cancellable, error)
         && remote_job_write_measured (job, cancellable, error)
         && remote_job_launch (job, cancellable, error);
}

/* What the ranks would refuse once they run is refused before they wait for a node. */
static gboolean
remote_job_check (const TdRemoteJob *job, GError **error)
{
  const TdScanFacts *facts = job->scan ? td_scan_facts (job->scan) : NULL;

  return !facts || job->profile->kind == TD_CLUSTER_HERE
         || td_grid_check_job (facts, td_method_undivided (td_methods, facts, &job->file.recipe),
                               job->file.cluster.mode, td_cluster_profile_ranks (job->profile),
                               error);
}

/* A launch that failed, or was given up, may have begun. Processes have no record yet that names
   their session, and Slurm's job no number: both are found by the job's name. What begins later
   finds no script. */
static const char undo_launch[]
    = "[ ! -e \"$1/launch.json\" ] || { echo launched; return 0; }\n"
      "rm -f -- \"$1/run.sh\"\n"
      "if [ -n \"$2\" ]; then scancel --name=\"tomodesk-$2\" >&2 || return 1; fi\n"
      "n=0\n"
      "while all=$(grep -lzFx \"TOMODESK_JOB=$1\" /proc/[0-9]*/environ 2>/dev/null | tr -dc "
      "'0-9\\n'); [ -n \"$all\" ]; do\n"
      "case $((n += 1)) in 1) kill -TERM $all 2>/dev/null;; 3?) kill -KILL $all 2>/dev/null;;\n"
      "40) echo processes of it do not end: $all >&2; return 1;; esac\n"
      "sleep 0.1; done\n"
      "rm -r -- \"$1\"\n"
      "return 0";

/* What was made on the way goes. TRUE: the job is launched all the same, as its record says.
   @error has the reason already, and says so where something may still run. */
static gboolean
remote_job_undo (TdRemoteJob *job, GError **error)
{
  static const char undo[] = "[ -n \"$1\" ] && [ ! -e \"$1/launch.json\" ] && rm -r -- \"$1\"";
  const gboolean slurm = job->profile->kind == TD_CLUSTER_SLURM;
  const char *const words[] = { job->facts.folder, slurm ? job->facts.id : "", NULL };
  g_autofree char *said = NULL;

  if (!job->launching) {
    td_shell_do (job->shell, undo, words, NULL, NULL, NULL);
    return FALSE;
  }
  if (!td_shell_do (job->shell, undo_launch, words, &said, NULL, NULL)) {
    td_prefix_error (error,
                     "the job %s may still run on %s, where it could not be ended; \"tomodesk-cli "
                     "cancel %s\" ends it: ",
                     job->facts.id, td_shell_name (job->shell), job->facts.id);
    return FALSE;
  }
  if (!g_str_has_prefix (said, "launched"))
    return FALSE;
  g_clear_error (error);
  return TRUE;
}

gboolean
td_remote_job_submit (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  gboolean done = FALSE;

  g_return_val_if_fail (job->profile && !job->facts.folder, FALSE);
  if (remote_job_check (job, error) && td_launch_check_worker (job->profile, cancellable, error)
      && remote_job_make_folder (job, cancellable, error)) {
    done = remote_job_submit_parts (job, cancellable, error);
    done = done || remote_job_undo (job, error);
  }
  g_mutex_lock (&job->lock);
  g_clear_pointer (&job->facts.stage, g_free);
  job->facts.fraction = 0;
  job->facts.state = done                                       ? TD_REMOTE_QUEUED
                     : g_cancellable_is_cancelled (cancellable) ? TD_REMOTE_CANCELLED
                                                                : TD_REMOTE_FAILED;
  if (!done) /* it can be submitted once more */
    g_clear_pointer (&job->facts.folder, g_free);
  if (!done && error && *error)
    remote_job_set_why (job, *error);
  g_mutex_unlock (&job->lock);
  return done;
}

/* ── Looking ── */

/* What one look brings: lines "NAME VALUE", and files as "file NAME BYTES" with the bytes after the
   line. Processes are counted before the events are read: those that ended have said their last
   word by then. */
#define PROCESSES                                                                                  \
  "processes () {\n"                                                                               \
  "  all=$(ps -e -o pid=,sess=,stat=) || return 1\n"                                               \
  "  printf '%s\\n' \"$all\" | while read -r p s t; do\n"                                          \
  "    [ \"$s\" = \"$1\" ] || continue\n"                                                          \
  "    case $t in Z*) continue;; esac\n"                                                           \
  "    tr '\\000' '\\n' < \"/proc/$p/environ\" 2>/dev/null | grep -Fqx \"TOMODESK_JOB=$2\" && "    \
  "echo \"$p\"\n"                                                                                  \
  "  done\n"                                                                                       \
  "  return 0\n"                                                                                   \
  "}\n"

static const char look_script[] = PROCESSES
    "if ! cd -- \"$1\" 2>/dev/null; then\n"
    "said=$(LC_ALL=C ls -d -- \"$1/.\" 2>&1)\n"
    "case $said in *'No such file'*) echo 'missing 1'; return 0;; esac\n"
    "echo \"$said\" >&2; return 1; fi\n"
    "put () { [ -f \"$2\" ] && echo \"file $1 $(wc -c < \"$2\")\" && cat \"$2\"; }\n"
    "alive=0\n"
    "if [ -n \"$3\" ]; then all=$(processes \"$3\" \"$1\") || return 1\n"
    "for p in $all; do alive=$((alive + 1)); done; fi\n"
    "echo \"alive $alive\"\n"
    "echo \"boot $(cat /proc/sys/kernel/random/boot_id)\"\n"
    "echo \"host $(uname -n)\"\n"
    "echo \"clock $(date +%s)\"\n"
    "[ -e cancel ] && echo 'cancel 1'\n"
    "[ -e fetched ] && echo 'fetched 1'\n"
    "[ -s log/status ] && echo \"status $(cat log/status)\"\n"
    "now=\n"
    "[ \"$4\" = 1 ] && { true > .look; } 2>/dev/null && now=.look\n"
    "stat -c '%n %Y' log/stdout events.jsonl $now 2>/dev/null\n"
    "[ -z \"$now\" ] || rm -f .look\n"
    "if [ \"$4\" = 1 ]; then put job job.json; put launch launch.json; fi\n"
    "if [ \"$6\" = 1 ]; then for f in " TD_WORKER_RANKS "/*; do echo \"rank ${f##*/}\"; done; fi\n"
    "if [ \"$alive\" = 0 ] || [ ! -s events.jsonl ]; then\n"
    "[ -s log/stderr ] && echo \"file stderr $(tail -c 3000 "
    "log/stderr | wc -c)\" "
    "&& tail -c 3000 log/stderr; fi\n"
    "size=0\n"
    "if [ -f events.jsonl ]; then size=$(wc -c < events.jsonl) || return 1; fi\n"
    "echo \"size $size\"\n"
    "n=$((size - $2))\n"
    "if [ $n -gt $5 ]; then n=$5; fi\n"
    "if [ $n -gt 0 ]; then echo \"file events $n\"; tail -c +$(($2 + 1)) events.jsonl "
    "| head -c $n; "
    "fi\n"
    "return 0";

typedef struct {
  gint64 missing, cancel, fetched; /* 0 or 1 */
  gint64 alive, size;
  gint64 clock;    /* of who writes the times of files; the host's, where that is not known */
  gint64 files;    /* the time of a file that was made just now; 0: none was */
  gint64 launched; /* when the launcher began, or wrote last; 0: not known */
  gint64 written;  /* when an event was; 0: none was */
  char *boot, *host, *status;
  char *job, *launch, *error, *events;
  char **ranks; /* that have begun, as TD_WORKER_RANKS says; NULL: none */
} Look;

#define PLACE(member) G_STRUCT_OFFSET (Look, member)
/* What the script names these. */
static const struct {
  const char *name;
  gsize place;
} look_numbers[] = {
  { "missing", PLACE (missing) }, { "cancel", PLACE (cancel) },
  { "fetched", PLACE (fetched) }, { "alive", PLACE (alive) },
  { "size", PLACE (size) },       { "clock", PLACE (clock) },
  { ".look", PLACE (files) },     { "log/stdout", PLACE (launched) },
  { "events.jsonl", PLACE (written) },
}, look_texts[] = {
  { "boot", PLACE (boot) },     { "host", PLACE (host) },
  { "status", PLACE (status) }, { "job", PLACE (job) },
  { "launch", PLACE (launch) }, { "stderr", PLACE (error) },
  { "events", PLACE (events) },
};

static void
remote_look_clear (Look *look)
{
  for (guint i = 0; i < G_N_ELEMENTS (look_texts); i++)
    g_free (G_STRUCT_MEMBER (char *, look, look_texts[i].place));
  g_strfreev (look->ranks);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Look, remote_look_clear)

static void
remote_look_take_text (Look *look, const char *name, const char *bytes, gsize n)
{
  for (guint i = 0; i < G_N_ELEMENTS (look_texts); i++)
    if (g_str_equal (name, look_texts[i].name)) {
      char **text = &G_STRUCT_MEMBER (char *, look, look_texts[i].place);
      g_free (*text);
      *text = g_strndup (bytes, n);
    }
}

static void
remote_look_take_line (Look *look, const char *name, const char *value)
{
  for (guint i = 0; i < G_N_ELEMENTS (look_numbers); i++)
    if (g_str_equal (name, look_numbers[i].name))
      G_STRUCT_MEMBER (gint64, look, look_numbers[i].place) = g_ascii_strtoll (value, NULL, 10);
  if (g_str_equal (name, "rank"))
    remote_append (&look->ranks, value);
  remote_look_take_text (look, name, value, strlen (value));
}

static void
remote_look_parse (Look *look, const char *text, gsize n)
{
  const char *at = text, *end = text + n;

  while (at < end) {
    const char *stop = memchr (at, '\n', end - at);
    g_autofree char *line = g_strndup (at, (stop ? stop : end) - at);
    g_auto (GStrv) words = g_strsplit (line, " ", 3);

    at = stop ? stop + 1 : end;
    if (g_strv_length (words) == 3 && g_str_equal (words[0], "file")) {
      const gint64 bytes = g_ascii_strtoll (words[2], NULL, 10);
      const gsize taken = (gsize) CLAMP (bytes, 0, end - at);
      remote_look_take_text (look, words[1], at, taken);
      at += taken;
    } else if (g_strv_length (words) >= 2) {
      remote_look_take_line (look, words[0], words[1]);
    }
  }
}

static gboolean
remote_job_fetch_look (TdRemoteJob *job, Look *look, GCancellable *cancellable, GError **error)
{
  g_autofree char *offset = g_strdup_printf ("%" PRId64, job->offset);
  g_autofree char *most = g_strdup_printf ("%d", MOST_EVENT_BYTES);
  const char *const words[] = { job->facts.folder,
                                offset,
                                job->launched.session ? job->launched.session : "",
                                job->launched.known && job->read_files ? "0" : "1",
                                most,
                                job->told.last_s == 0 ? "1" : "",
                                NULL };
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (job->shell, look_script, words, LOOK_LIMIT_S, &result, cancellable, error))
    return FALSE;
  if (result.status != 0)
    return td_set_error (error, TD_ERROR_IO, "the job cannot be looked at on %s: %p",
                         td_shell_name (job->shell),
                         td_message_quoted (result.error, N_ ("a command failed")));
  remote_look_parse (look, result.out, result.out_bytes);
  if (look->files)
    job->ahead_s = look->clock - look->files;
  look->clock -= job->ahead_s;
  return TRUE;
}

static void
remote_job_take_file (TdRemoteJob *job, const char *text)
{
  g_autoptr (JsonNode) root = td_json_parse (text);

  if (!root)
    return;
  job->read_files = TRUE;
  g_mutex_lock (&job->lock);
  if (td_json_string (root, "title"))
    remote_set_text (&job->facts.title, td_json_string (root, "title"));
  if (td_json_string (root, "profile"))
    remote_set_text (&job->facts.profile, td_json_string (root, "profile"));
  if (td_json_string (root, "output/path"))
    remote_set_text (&job->facts.output_there, td_json_string (root, "output/path"));
  job->facts.overwrite = td_json_true (root, "output/overwrite");
  remote_set_text (&job->facts.scan, td_json_string (root, "scan/path"));
  JsonNode *recipe = td_json_at (root, "recipe");
  g_free (job->facts.recipe);
  job->facts.recipe = recipe ? td_json_text (recipe, FALSE) : NULL;
  remote_set_text (&job->facts.watch, td_json_string (root, "batch/watch"));
  if (td_json_at (root, "batch") && !job->facts.scans)
    job->facts.scans = remote_rows_new ();
  /* A job of this computer that was started by hand. */
  if (!td_shell_host (job->shell) && !job->facts.output)
    job->facts.output = g_strdup (job->facts.output_there);
  g_mutex_unlock (&job->lock);
}

static void
remote_job_take_launch (TdRemoteJob *job, const char *text)
{
  g_autoptr (JsonNode) root = td_json_parse (text);
  Launched *launched = &job->launched;

  if (!root)
    return;
  remote_launched_clear (launched);
  launched->known = TRUE;
  launched->scheduler_id = g_strdup (td_json_string (root, "id"));
  const char *cluster = td_json_string (root, "cluster");
  launched->cluster = cluster && *cluster ? g_strdup (cluster) : NULL;
  const guint session = td_json_count (root, "session");
  launched->session = session ? g_strdup_printf ("%u", session) : NULL;
  launched->boot = g_strdup (td_json_string (root, "boot"));
  launched->host = g_strdup (td_json_string (root, "host"));
  launched->submit_host = g_strdup (td_json_string (root, "submit_host"));
  launched->words = td_json_strings (root, "scheduler_words");
  g_mutex_lock (&job->lock);
  if (td_json_string (root, "profile"))
    remote_set_text (&job->facts.profile, td_json_string (root, "profile"));
  remote_set_text (&job->facts.scheduler_id, launched->scheduler_id);
  if (td_json_string (root, "output/here"))
    remote_set_text (&job->facts.output, td_json_string (root, "output/here"));
  job->facts.to_be_fetched = td_json_true (root, "output/fetch");
  g_mutex_unlock (&job->lock);
}

/* ── Events ── */

static double
remote_number (JsonNode *root, const char *path, double otherwise)
{
  const double value = td_json_number (root, path);

  return isnan (value) ? otherwise : value;
}

/* The lock is held by the callers of these. */
static void
remote_job_take_start (TdRemoteJob *job, JsonNode *event)
{
  TdRemoteFacts *facts = &job->facts;

  job->told = (Told) { .started = TRUE,
                       .end = TD_REMOTE_RUNNING,
                       .restarts = td_json_count (event, "restarts"),
                       .first_s = remote_number (event, "time", 0) };
  facts->ahead = facts->paused = facts->slices_done = facts->n_passes = 0;
  g_strfreev (facts->rank_lines); /* of an earlier run */
  facts->rank_lines = g_new0 (char *, 1);
  g_array_set_size (facts->residuals, 0);
  facts->slice_rows = MAX (td_json_count (event, "slice_rows"), 1);
  remote_set_text (&facts->method, td_json_string (event, "method"));
  facts->ranks = td_json_count (event, "ranks");
  facts->nx = td_json_count (event, "nx");
  facts->ny = td_json_count (event, "ny");
  facts->n_slices = td_json_count (event, "slices");
  facts->first_row = td_json_count (event, "first_row");
  facts->pixel_mm = remote_number (event, "pixel_mm", 0);
  remote_set_text (&facts->units, td_json_string (event, "units"));
  remote_set_text (&facts->stage, N_ ("starting"));
  facts->fraction = 0;
  if (job->told.restarts)
    remote_append (&facts->notes,
                   N_ ("Slurm ended the job and began it anew, since a node failed or "
                       "another job came first; finished parts were not computed "
                       "again."));
}

static void
remote_job_take_rank (TdRemoteJob *job, JsonNode *event)
{
  const char *node = td_json_string (event, "node"), *device = td_json_string (event, "device");
  const char *kernel = td_json_string (event, "kernel");
  const guint count = td_json_count (event, "count"), views = td_json_count (event, "views");
  const guint first = td_json_count (event, "first");
  const guint first_view = td_json_count (event, "first_view");
  const guint parts = MAX (td_json_count (event, "view_parts"), 1);
  g_autofree char *line
      = g_strdup_printf ("rank %u: %s, %s%s%s", td_json_count (event, "rank"), node ? node : "?",
                         device ? device : "?", kernel ? ", " : "", kernel ? kernel : "");
  g_autofree char *share
      = count > 0 ? g_strdup_printf (", slices %u to %u, views %u to %u", first, first + count - 1,
                                     first_view, first_view + views / parts - 1)
                  : g_strdup (""); /* it is idle, or takes rows as they are handed out */
  g_autofree char *each
      = parts > 1 ? g_strdup_printf (" of each of %u parts", parts) : g_strdup ("");
  g_autofree char *whole = g_strconcat (line, share, each, NULL);

  remote_append (&job->facts.rank_lines, whole);
}

static void
remote_job_take_progress (TdRemoteJob *job, JsonNode *event)
{
  TdRemoteFacts *facts = &job->facts;
  const double done = remote_number (event, "done", 0), total = remote_number (event, "total", 0);

  if (td_json_string (event, "stage"))
    remote_set_text (&facts->stage, td_json_string (event, "stage"));
  facts->fraction = total > 0 ? CLAMP (done / total, 0, 1) : 0;
  facts->rate = remote_number (event, "rate", 0);
  facts->left_s = remote_number (event, "left_s", -1);
  remote_set_text (&facts->unit, td_json_string (event, "unit"));
  facts->slices_done = td_json_count (event, "slices_done");
  facts->n_passes = td_json_count (event, "passes");
  if (facts->scans && td_json_at (event, "scan")
      && td_json_count (event, "scan") < facts->scans->len)
    ((TdBatchRow *) facts->scans->pdata[td_json_count (event, "scan")])->fraction
        = remote_number (event, "scan_done", 0);
  JsonArray *residuals = td_json_list (event, "residuals");
  if (!residuals)
    return;
  g_array_set_size (facts->residuals, 0);
  for (guint i = 0; i < json_array_get_length (residuals); i++) {
    JsonNode *node = json_array_get_element (residuals, i);
    const double residual = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_double (node) : NAN;
    g_array_append_val (facts->residuals, residual);
  }
}

/* A path of the folder, and of nothing else. */
static void
remote_job_take_slice (TdRemoteJob *job, JsonNode *event)
{
  const char *path = td_json_string (event, "path");
  const TdRemoteSlice slice
      = { td_json_count (event, "index"), td_json_count (event, "pass"), g_strdup (path) };

  if (path && !g_path_is_absolute (path) && !strstr (path, ".."))
    g_array_append_val (job->facts.slices, slice);
  else
    g_free (slice.path);
}

/* Rows come in their order; one that was told before is told anew. */
static void
remote_job_take_scan (TdRemoteJob *job, JsonNode *event)
{
  TdRemoteFacts *facts = &job->facts;
  const guint index = td_json_count (event, "index");
  TdBatchRow *row = td_batch_row_of_json (event);

  if (!row || !facts->scans || index > facts->scans->len) {
    g_clear_pointer (&row, td_batch_row_free);
    return;
  }
  facts->ahead = facts->paused = 0;
  if (index == facts->scans->len) {
    g_ptr_array_add (facts->scans, row);
    return;
  }
  td_batch_row_free (facts->scans->pdata[index]);
  facts->scans->pdata[index] = row;
}

static void
remote_job_take_failure (TdRemoteJob *job, JsonNode *event)
{
  const char *text = td_events_said (event), *node = td_json_string (event, "node");
  const char *stage = td_json_string (event, "stage");
  const double rank = td_json_number (event, "rank");

  job->told.end = TD_REMOTE_FAILED;
  job->told.outside = td_json_at (event, "signal") != NULL;
  g_free (job->told.text);
  if (isnan (rank) || !node) {
    job->told.text = g_strdup (text ? text : N_ ("the worker does not say why"));
    return;
  }
  TdMessage *why = td_message_unpack (text ? text : N_ ("no reason was given"));
  job->told.text = remote_pack (
      stage ? td_message_new ("rank %.0f on %s, %p: %p", rank, node, td_message_unpack (stage), why)
            : td_message_new ("rank %.0f on %s: %p", rank, node, why));
}

#define MOST_STAGES 20 /* a worker has nine */

/* What each stage took, beside what the worker's model had said, if it had. */
static void
remote_job_note_stages (TdRemoteJob *job, JsonNode *event)
{
  JsonNode *stages = td_json_at (event, "stages");
  TdMessage *all = NULL;
  guint n = 0;

  if (!stages || !JSON_NODE_HOLDS_OBJECT (stages))
    return;
  g_autoptr (GList) names = json_object_get_members (json_node_get_object (stages));
  for (GList *at = names; at && n < MOST_STAGES; at = at->next, n++) {
    g_autofree char *predicted = g_strdup_printf ("predicted/%s", (char *) at->data);
    const double took_s = remote_number (stages, at->data, 0);
    const double said_s = td_json_number (event, predicted);

    TdMessage *name = td_message_unpack (at->data);
    TdMessage *one = isnan (said_s)
                         ? td_message_new ("%p %.3g s", name, took_s)
                         : td_message_new ("%p %.3g s (%.3g s predicted)", name, took_s, said_s);
    all = all ? td_message_new ("%p, %p", all, one) : td_message_new ("Stages: %p", one);
  }
  if (all) {
    g_autofree char *note = remote_pack (all);
    remote_append (&job->facts.notes, note);
  }
}

static void
remote_job_take_event (TdRemoteJob *job, JsonNode *event)
{
  const char *name = td_json_string (event, "event");
  TdRemoteFacts *facts = &job->facts;

  job->told.last_s = MAX (job->told.last_s, remote_number (event, "time", 0));
  if (!name)
    return;
  if (g_str_equal (name, "start")) {
    const double last_s = job->told.last_s;
    g_free (job->told.text);
    remote_job_take_start (job, event);
    job->told.last_s = last_s;
  } else if (g_str_equal (name, "queue")) {
    job->told.queued = TRUE;
    facts->ahead = td_json_count (event, "ahead");
    facts->paused = td_json_true (event, "paused");
  } else if (g_str_equal (name, "rank")) {
    remote_job_take_rank (job, event);
  } else if (g_str_equal (name, "progress")) {
    remote_job_take_progress (job, event);
  } else if (g_str_equal (name, "scan")) {
    remote_job_take_scan (job, event);
  } else if (g_str_equal (name, "slice")) {
    remote_job_take_slice (job, event);
  } else if (g_str_equal (name, "note") && td_events_said (event)) {
    remote_append (&facts->notes, td_events_said (event));
  } else if (g_str_equal (name, "done")) {
    job->told.end = TD_REMOTE_DONE;
    facts->seconds = remote_number (event, "seconds", job->told.last_s - job->told.first_s);
    facts->fraction = 1;
    remote_job_note_stages (job, event);
  } else if (g_str_equal (name, "failed")) {
    remote_job_take_failure (job, event);
  } else if (g_str_equal (name, "cancelled")) {
    job->told.end = TD_REMOTE_CANCELLED;
  }
}

/* Another run of the job: what the one before told is no longer so. On a cluster the parts that it
   finished stay, with what is to be known about them. */
static void
remote_job_forget_run (TdRemoteJob *job)
{
  TdRemoteFacts *facts = &job->facts;

  g_free (job->told.text);
  job->told = (Told) { .end = TD_REMOTE_RUNNING };
  g_mutex_lock (&job->lock);
  remote_set_text (&facts->stage, NULL);
  facts->fraction = facts->rate = 0;
  facts->left_s = facts->seconds = -1;
  facts->ahead = facts->paused = facts->slices_done = facts->n_passes = 0;
  g_array_set_size (facts->residuals, 0);
  if (g_str_equal (facts->profile, TD_CLUSTER_OWN)) {
    facts->nx = facts->ny = facts->n_slices = 0;
    g_array_set_size (facts->slices, 0);
    g_strfreev (facts->notes);
    facts->notes = g_new0 (char *, 1);
  }
  g_mutex_unlock (&job->lock);
}

/* Its events begin anew, too. */
static void
remote_job_begin_anew (TdRemoteJob *job)
{
  remote_job_forget_run (job);
  job->offset = 0;
}

/* Whole lines only: what follows the last one is read again with its end. */
static void
remote_job_take_events (TdRemoteJob *job, const char *text)
{
  const char *at = text;

  g_mutex_lock (&job->lock);
  for (const char *stop; (stop = strchr (at, '\n')); at = stop + 1) {
    g_autofree char *line = g_strndup (at, stop - at);
    g_autoptr (JsonNode) event = td_json_parse (line);
    if (event)
      remote_job_take_event (job, event);
  }
  if (job->told.started && job->told.end != TD_REMOTE_DONE)
    job->facts.seconds = job->told.last_s - job->told.first_s;
  g_mutex_unlock (&job->lock);
  job->offset += at - text;
}

/* ── The state ── */

/* The processes ended, and the worker said nothing. */
static void
remote_job_settle_silent (TdRemoteJob *job, const Look *look, const TdSlurmState *slurm)
{
  g_autofree char *line = td_launch_telling_line (look->error, FALSE);
  g_autoptr (TdMessage) said = slurm ? td_slurm_explain (slurm) : NULL;
  g_autoptr (TdMessage) why = NULL;
  TdRemoteState state = TD_REMOTE_FAILED;

  if (look->cancel) {
    remote_job_set_state (job, TD_REMOTE_CANCELLED, NULL);
    return;
  }
  if (slurm && slurm->state && g_str_has_prefix (slurm->state, "CANCELLED"))
    state = TD_REMOTE_CANCELLED;
  if (said && !g_str_has_prefix (slurm->state, "FAILED")
      && !g_str_has_prefix (slurm->state, "COMPLETED"))
    why = g_steal_pointer (&said);
  else if (g_strcmp0 (look->status, "127") == 0)
    why = td_message_new ("a program was not found on the node: %p. Set \"worker\", \"launcher\" "
                          "or \"setup\" in the profile",
                          td_message_quoted (line, N_ ("see the log")));
  else if (look->status)
    why = td_message_new ("the launcher ended with status %s: %p. The log has the rest",
                          look->status, td_message_quoted (line, N_ ("it printed nothing")));
  else if (said)
    why = line ? td_message_new ("%p: %s", g_steal_pointer (&said), line) : g_steal_pointer (&said);
  else {
    state = TD_REMOTE_LOST;
    why = line
              ? td_message_new ("its processes are gone without a word: %s. Look at the log, and "
                                "submit the job again",
                                line)
              : td_message_new_plain ("its processes are gone without a word. Look at the log, and "
                                      "submit the job again");
  }
  g_autofree char *packed = td_message_pack (why);
  remote_job_set_state (job, state, packed);
}

static const char queued_again[]
    = N_ ("the job was ended and queued again, since a node failed or another job came first; it "
          "goes on from the finished parts");

/* Ranks that have begun, as their files tell. */
typedef struct {
  guint there, all; /* all 0: not known */
  GString *nodes, *missing;
} Begun;

#define MOST_NAMES 8 /* that a sentence has */

static void
remote_add_name (GString *names, guint n, const char *name)
{
  if (n <= MOST_NAMES)
    g_string_append_printf (names, "%s%s", n ? ", " : "", n < MOST_NAMES ? name : "…");
}

/* "RANK-SIZE-NODE" of each. */
static void
remote_read_begun (char *const *lines, Begun *begun)
{
  g_autoptr (GHashTable) ranks = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) nodes = g_hash_table_new (g_str_hash, g_str_equal);
  guint missing = 0;

  for (guint i = 0; lines && lines[i]; i++) {
    char *rest;
    const guint64 rank = g_ascii_strtoull (lines[i], &rest, 10);
    if (rest == lines[i] || *rest != '-')
      continue;
    const guint all = (guint) g_ascii_strtoull (rest + 1, &rest, 10);
    begun->all = MAX (begun->all, all);
    begun->there += g_hash_table_add (ranks, GUINT_TO_POINTER ((guint) rank));
    if (*rest == '-' && g_hash_table_add (nodes, rest + 1))
      remote_add_name (begun->nodes, g_hash_table_size (nodes) - 1, rest + 1);
  }
  for (guint i = 0; i < begun->all; i++)
    if (!g_hash_table_contains (ranks, GUINT_TO_POINTER (i))) {
      g_autofree char *name = g_strdup_printf ("%u", i);
      remote_add_name (begun->missing, missing++, name);
    }
}

/* Which ranks have begun, while none has met the others. (transfer full) */
static TdMessage *
remote_tell_begun (char *const *ranks)
{
  Begun begun = { .nodes = g_string_new (NULL), .missing = g_string_new (NULL) };
  TdMessage *message;

  remote_read_begun (ranks, &begun);
  if (begun.there == 0)
    message = td_message_new_plain (N_ ("no rank has begun"));
  else if (*begun.missing->str)
    message = td_message_new ("of %u ranks %u have begun, on %s, and not %s", begun.all,
                              begun.there, begun.nodes->str, begun.missing->str);
  else
    message = td_message_new ("all %u ranks have begun, on %s", begun.there, begun.nodes->str);
  g_string_free (begun.nodes, TRUE);
  g_string_free (begun.missing, TRUE);
  return message;
}

/* The job runs. Nobody knows of a rank that hangs before all have met, nor of a launcher that does.
   The worker waits for minutes, since large clusters are slow to start. */
static void
remote_job_settle_running (TdRemoteJob *job, const Look *look)
{
  const gboolean quiet = look->launched > 0 && look->launched != job->told.launched
                         && job->told.last_s == 0
                         && strcmp (job->facts.profile, TD_CLUSTER_OWN) != 0;
  const gint64 waited = quiet ? look->clock - look->launched : 0;
  g_autofree char *line = td_launch_telling_line (look->error, FALSE), *why = NULL;

  if (waited >= MEET_S)
    why = td_message_packed (
        "the ranks have not met in %u s: %p, and %p. If this goes on, a rank or the launcher "
        "hangs, or the "
        "network lets no rank through to another: look at the job's log and at \"launcher\" and "
        "\"setup\" in the profile",
        (guint) MAX (MEET_S, waited - waited % MEET_STEP_S),
        td_message_quoted (line, N_ ("the launcher printed nothing")),
        remote_tell_begun (look->ranks));
  remote_job_set_state (job, TD_REMOTE_RUNNING, why || !job->told.again ? why : queued_again);
}

static gboolean
remote_job_ask_slurm (TdRemoteJob *job, guint patience_s, TdSlurmState *slurm,
                      GCancellable *cancellable, GError **error)
{
  const TdSlurmJob one = { job->launched.scheduler_id, job->launched.cluster };

  return td_slurm_ask (job->shell, &one, patience_s, slurm, cancellable, error);
}

/* A run was ended, and Slurm queued the job again. */
static void
remote_job_queue_again (TdRemoteJob *job, const Look *look)
{
  remote_job_forget_run (job);
  job->told.again = TRUE;
  job->told.launched = look->launched;
}

static void
remote_job_settle_queued (TdRemoteJob *job, const Look *look, const TdSlurmState *slurm)
{
  if (job->told.started)
    remote_job_queue_again (job, look);
  if (!job->told.again) {
    remote_job_set_state (job, TD_REMOTE_QUEUED, slurm->reason);
    return;
  }
  g_autofree char *why
      = td_message_packed ("Slurm says %s: %p", slurm->reason ? slurm->reason : slurm->state,
                           td_message_new_plain (queued_again));
  remote_job_set_state (job, TD_REMOTE_QUEUED, why);
}

/* TRUE: the state is known; FALSE: processes ended, which must be looked at again. */
static gboolean
remote_job_settle_slurm (TdRemoteJob *job, const Look *look, gboolean again,
                         GCancellable *cancellable, GError **error)
{
  g_auto (TdSlurmState) slurm = { 0 };
  const gboolean silent = job->told.started && look->clock - look->written > SILENT_S;
  const gboolean urgent
      = silent || look->status || look->cancel || again
        || (!job->told.started
            && (look->launched != job->told.launched || job->facts.state == TD_REMOTE_RUNNING));

  if (!remote_job_ask_slurm (job, urgent ? SILENT_S : 0, &slurm, cancellable, error))
    return FALSE;
  if (slurm.phase == TD_SLURM_PENDING
      && job->told.started) { /* or squeue has said so before it ran */
    td_slurm_state_clear (&slurm);
    if (!remote_job_ask_slurm (job, TD_SLURM_AT_ONCE, &slurm, cancellable, error))
      return FALSE;
  }
  switch (slurm.phase) {
  case TD_SLURM_PENDING: remote_job_settle_queued (job, look, &slurm); break;
  case TD_SLURM_RUNNING: remote_job_settle_running (job, look); break;
  default:
    if (slurm.phase == TD_SLURM_UNKNOWN && !look->status
        && (job->facts.state == TD_REMOTE_STAGED || !silent) && !again) {
      /* squeue has not been asked since the job came. */
      remote_job_set_state (job, job->told.started ? TD_REMOTE_RUNNING : TD_REMOTE_QUEUED, NULL);
      break;
    }
    if (!again)
      return FALSE;
    remote_job_settle_silent (job, look, &slurm);
  }
  return TRUE;
}

/* The end that the worker told. Of ranks that a signal ended, the launcher says last who was
   killed, and on which node; it has a few seconds for that. */
static void
remote_job_settle_told (TdRemoteJob *job, const Look *look)
{
  const gboolean ending
      = job->told.outside && look->alive > 0 && look->clock - look->written < LAUNCHER_S;
  g_autofree char *line = job->told.outside ? td_launch_telling_line (look->error, TRUE) : NULL;
  g_autofree char *why = line ? td_message_packed ("%p. The launcher says: %s",
                                                   td_message_unpack (job->told.text), line)
                              : g_strdup (job->told.text);

  remote_job_set_state (job, ending ? TD_REMOTE_RUNNING : job->told.end, why);
}

/* The worker said that it failed. It may be that Slurm ended it to queue the job again. */
static gboolean
remote_job_settle_failed (TdRemoteJob *job, const Look *look, GCancellable *cancellable,
                          GError **error)
{
  g_auto (TdSlurmState) slurm = { 0 };
  g_autoptr (GError) problem = NULL;
  const guint patience_s = job->told.asked ? SILENT_S : TD_SLURM_AT_ONCE;

  if (!remote_job_ask_slurm (job, patience_s, &slurm, cancellable, &problem)
      && job->facts.state == TD_REMOTE_RUNNING) { /* it is followed, and may go on */
    g_propagate_error (error, g_steal_pointer (&problem));
    return FALSE;
  }
  job->told.asked = TRUE;
  if (slurm.phase == TD_SLURM_PENDING || slurm.restarts > job->told.restarts) {
    remote_job_queue_again (job, look);
    /* Where that run has ended meanwhile, too, it is looked at. What was seen is of this one. */
    return remote_job_settle_slurm (job, look, FALSE, cancellable, error);
  }
  /* What Slurm makes of a job that ends it says when its processes have ended. Those of a node that
     is gone end when it is back. */
  if (job->told.outside && slurm.phase == TD_SLURM_RUNNING
      && look->clock - look->written < COMPLETE_S)
    remote_job_set_state (job, TD_REMOTE_RUNNING, job->told.text);
  else if (job->told.outside && slurm.phase == TD_SLURM_ENDED
           && !g_str_has_prefix (slurm.state, "FAILED")
           && !g_str_has_prefix (slurm.state, "COMPLETED")) /* it knows why it sent the signal */
    remote_job_settle_silent (job, look, &slurm);
  else
    remote_job_settle_told (job, look);
  return TRUE;
}

/* Whether the job's processes run where this looks, or the scheduler knows of them. */
static gboolean
remote_job_sees (const TdRemoteJob *job, const Look *look)
{
  const Launched *launched = &job->launched;

  return launched->known
         && (launched->scheduler_id || !launched->host
             || g_strcmp0 (launched->boot, look->boot) == 0
             || g_strcmp0 (launched->host, look->host) == 0);
}

/* Nobody here sees its processes: it was started by hand, or on another computer that sees the
   folder, too. Its words tell how it is. */
static void
remote_job_settle_unseen (TdRemoteJob *job, const Look *look)
{
  const Launched *launched = &job->launched;
  const gboolean silent = look->clock - look->written >= BY_HAND_S;
  g_autofree char *why = launched->known
                             ? td_message_packed ("it was started on %s, and has said nothing for "
                                                  "a minute: look at it there",
                                                  launched->host)
                             : NULL;

  if (job->told.started && silent)
    remote_job_set_state (job, TD_REMOTE_LOST,
                          why ? why
                              : N_ ("it was started by hand, and has said nothing for a minute"));
  else if (job->told.started || (launched->known && !job->told.queued))
    remote_job_set_state (job, TD_REMOTE_RUNNING, NULL);
  else if (launched->known)
    remote_job_set_state (job, TD_REMOTE_QUEUED, NULL);
  else
    remote_job_set_state (job, TD_REMOTE_STAGED, N_ ("it was not launched"));
}

static gboolean
remote_job_settle (TdRemoteJob *job, const Look *look, gboolean again, GCancellable *cancellable,
                   GError **error)
{
  const Launched *launched = &job->launched;

  if (look->missing)
    remote_job_set_state (job, TD_REMOTE_LOST, N_ ("its folder is gone"));
  else if (job->told.end == TD_REMOTE_FAILED && launched->scheduler_id)
    return remote_job_settle_failed (job, look, cancellable, error);
  else if (job->told.end != TD_REMOTE_RUNNING)
    remote_job_settle_told (job, look);
  else if (launched->known && launched->scheduler_id)
    return remote_job_settle_slurm (job, look, again, cancellable, error);
  else if (!remote_job_sees (job, look))
    remote_job_settle_unseen (job, look);
  else if (g_strcmp0 (launched->boot, look->boot) != 0)
    remote_job_set_state (job, TD_REMOTE_LOST,
                          N_ ("the computer was restarted, or this is another one of that name. "
                              "Submit the job again"));
  else if (look->alive > 0 && job->told.queued && !job->told.started)
    remote_job_set_state (job, TD_REMOTE_QUEUED, NULL);
  else if (look->alive > 0)
    remote_job_settle_running (job, look);
  else
    remote_job_settle_silent (job, look, NULL);
  return TRUE;
}

static gboolean
remote_job_look_once (TdRemoteJob *job, gboolean again, gboolean *settled,
                      GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) problem = NULL;

  *settled = FALSE;
  for (;;) {
    g_auto (Look) look = { 0 };
    if (!remote_job_fetch_look (job, &look, cancellable, error))
      return FALSE;
    if (look.job)
      remote_job_take_file (job, look.job);
    remote_job_set_fetched (job, look.fetched != 0);
    const gboolean knew = job->launched.known;
    if (look.launch)
      remote_job_take_launch (job, look.launch);
    if (look.size < job->offset) { /* another run began the file anew */
      remote_job_begin_anew (job);
      continue;
    }
    const gint64 before = job->offset;
    if (look.events)
      remote_job_take_events (job, look.events);
    const gboolean moved = job->offset > before;
    /* More events wait, or processes can be counted only now that their session is known. */
    if ((moved && look.size - job->offset >= MOST_EVENT_BYTES / 2) || knew != job->launched.known)
      continue;
    *settled = remote_job_settle (job, &look, again, cancellable, &problem);
    if (!problem)
      return TRUE;
    g_propagate_error (error, g_steal_pointer (&problem));
    return FALSE;
  }
}

gboolean
td_remote_job_look (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) problem = NULL;
  gboolean settled;

  if (!job->facts.folder)
    return TRUE;
  if (remote_job_look_once (job, FALSE, &settled, cancellable, &problem)
      && (settled || remote_job_look_once (job, TRUE, &settled, cancellable, &problem)))
    return TRUE;
  if (!g_error_matches (problem, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    g_mutex_lock (&job->lock);
    if (job->facts.state == TD_REMOTE_STAGED && job->launched.known) /* what it has told itself */
      job->facts.state = job->told.started ? job->told.end : TD_REMOTE_QUEUED;
    remote_job_set_why (job, problem);
    g_mutex_unlock (&job->lock);
  }
  g_propagate_error (error, g_steal_pointer (&problem));
  return FALSE;
}

/* ── Cancelling ── */

#define PUT_ASIDE "mv events.jsonl events-$(date +%s).jsonl"

static gboolean
remote_job_is_over (TdRemoteJob *job, gint64 *left, GCancellable *cancellable, GError **error)
{
  static const char script[] = PROCESSES "all=$(processes \"$1\" \"$2\") || return 1\n"
                                         "printf '%s\\n' \"$all\" | sed '/^$/d' | wc -l";
  g_autofree char *text = NULL;
  const char *const words[]
      = { job->launched.session ? job->launched.session : "none", job->facts.folder, NULL };

  *left = 0;
  if (!td_remote_job_look (job, cancellable, error))
    return FALSE;
  if (job->launched.scheduler_id) {
    /* The worker may have said its last word with a rank still hanging. */
    g_auto (TdSlurmState) slurm = { 0 };
    if (!remote_job_ask_slurm (job, 1, &slurm, cancellable, error))
      return FALSE;
    *left = slurm.phase == TD_SLURM_PENDING || slurm.phase == TD_SLURM_RUNNING;
    return TRUE;
  }
  if (!td_shell_do (job->shell, script, words, &text, cancellable, error))
    return FALSE;
  *left = g_ascii_strtoll (text, NULL, 10);
  return TRUE;
}

/* Whatever is seen of its processes. */
static gboolean
remote_job_may_run (const TdRemoteJob *job)
{
  return !td_remote_state_ended (job->facts.state) && (job->launched.known || job->told.started);
}

/* Looks until nothing of the job runs any more, or the time is over. */
static gboolean
remote_job_wait_over (TdRemoteJob *job, guint limit_s, gint64 *left, GCancellable *cancellable,
                      GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + limit_s * G_USEC_PER_SEC;

  do {
    if (!remote_job_is_over (job, left, cancellable, error))
      return FALSE;
    if (*left == 0 && !remote_job_may_run (job))
      return TRUE;
    g_usleep (STEP_US);
  } while (g_get_monotonic_time () < deadline);
  return TRUE;
}

static gboolean
remote_job_signal (TdRemoteJob *job, const char *signal, GCancellable *cancellable, GError **error)
{
  static const char script[]
      = PROCESSES "all=$(processes \"$1\" \"$2\") || return 1\n"
                  "for p in $all; do kill -\"$3\" \"$p\" 2>/dev/null; done\nreturn 0";
  const char *const words[] = { job->launched.session, job->facts.folder, signal, NULL };

  if (!job->launched.session)
    return TRUE;
  return td_shell_do (job->shell, script, words, NULL, cancellable, error);
}

/* The signal reaches the job's script as well, and a job that does not run yet leaves the queue. A
   scancel without a signal would wait for half a minute before it kills. */
static gboolean
remote_job_scancel (TdRemoteJob *job, const char *signal, GCancellable *cancellable, GError **error)
{
  static const char script[]
      = TD_SLURM_MANY "[ -z \"$2\" ] || scancel $many --full --signal=\"$2\" \"$1\" >&2\n"
                      "[ \"$2\" = TERM ] || scancel $many \"$1\" >&2\n"
                      "return 0";
  const char *const words[] = { job->launched.cluster ? job->launched.cluster : "",
                                job->launched.scheduler_id, signal, NULL };

  return td_shell_do (job->shell, script, words, NULL, cancellable, error);
}

gboolean
td_remote_job_cancel (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  /* What a run said last that Slurm ended is not how the job ends. */
  static const char flag[] = "cd -- \"$1\" && : > cancel || return 1\n"
                             "[ \"$2\" != again ] || [ ! -f events.jsonl ] || " PUT_ASIDE;
  gint64 left = 0;

  if (!remote_job_is_over (job, &left, cancellable, error))
    return FALSE;
  if (left == 0 && td_remote_state_ended (job->facts.state))
    return TRUE;
  const char *const words[] = { job->facts.folder, job->told.again ? "again" : "", NULL };
  if (!td_shell_do (job->shell, flag, words, NULL, cancellable, error))
    return FALSE;
  const gboolean slurm = job->launched.scheduler_id != NULL;
  if (slurm && !job->told.started) {
    if (!remote_job_scancel (job, "", cancellable, error)
        || !remote_job_wait_over (job, 2 * SIGNAL_S, &left, cancellable, error))
      return FALSE;
  } else if (!remote_job_wait_over (job, FLAG_S, &left, cancellable, error)) {
    return FALSE;
  }
  for (guint hard = 0; hard < 2 && left > 0; hard++) {
    const gboolean sent = slurm
                              ? remote_job_scancel (job, hard ? "KILL" : "TERM", cancellable, error)
                              : remote_job_signal (job, hard ? "KILL" : "TERM", cancellable, error);
    if (!sent || !remote_job_wait_over (job, SIGNAL_S, &left, cancellable, error))
      return FALSE;
  }
  if (left == 0 && !remote_job_may_run (job))
    return TRUE;
  if (left == 0)
    return td_set_error (error, TD_ERROR_IO,
                         "the job %s was asked to end, and has not said that it did: only where it "
                         "was started its processes are seen",
                         job->facts.id);
  return td_set_error (error, TD_ERROR_IO,
                       "%" PRId64
                       " [process|processes] of the job %s on %s cannot be ended: the file "
                       "system may keep them waiting",
                       left, job->facts.id, td_shell_name (job->shell));
}

/* ── Again ── */

/* What is left of the run before, or Slurm would begin anew, would write the same files. */
static gboolean
remote_job_end_rest (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  static const char script[] = PROCESSES
      "n=0\n"
      "while all=$(processes \"$1\" \"$2\") || return 1; [ -n \"$all\" ]; do\n"
      "[ $((n += 1)) -le 50 ] || { echo processes of its last run do not end: $all >&2; "
      "return 1; }\n"
      "kill -KILL $all 2>/dev/null; sleep 0.1; done";
  const char *const words[] = { job->launched.session, job->facts.folder, NULL };
  g_auto (TdSlurmState) slurm = { 0 };

  if (!job->launched.scheduler_id)
    return !job->launched.session
           || td_shell_do (job->shell, script, words, NULL, cancellable, error);
  if (!remote_job_ask_slurm (job, TD_SLURM_AT_ONCE, &slurm, cancellable, error))
    return FALSE;
  return (slurm.phase != TD_SLURM_PENDING && slurm.phase != TD_SLURM_RUNNING)
         || remote_job_scancel (job, "KILL", cancellable, error);
}

gboolean
td_remote_job_again (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  static const char prepare[]
      = "[ -f \"$1/launch.json\" ] || return 0\n"
        "cd -- \"$1\" || return 1\n"
        "[ ! -f events.jsonl ] || " PUT_ASIDE "\n"
        "rm -f cancel keep fetched\n"
        "sed 's/,\"host\":\"[^\"]*\",\\(\"pid\"\\|\"scheduler\"\\).*$//' launch.json";
  const char *const folder[] = { job->facts.folder, NULL };
  g_autofree char *record = NULL;

  if (!td_remote_job_look (job, cancellable, error))
    return FALSE;
  if (!td_remote_state_ended (job->facts.state) || job->facts.state == TD_REMOTE_DONE
      || !job->launched.known)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "the job %s is %p: only one that failed, was cancelled or was lost can go on",
        job->facts.id, td_message_unpack (td_remote_state_name (job->facts.state)));
  if (!remote_job_end_rest (job, cancellable, error)
      || !td_shell_do (job->shell, prepare, folder, &record, cancellable, error))
    return FALSE;
  if (!*record)
    return td_set_error (error, TD_ERROR_NOT_FOUND,
                         "the folder of the job %s is gone: reconstruct the scan once more",
                         job->facts.id);
  g_strchomp (record);
  g_auto (GStrv) words = g_strdupv (job->launched.words);
  if (!remote_job_start (job, record, words && *words ? words : NULL, error))
    return FALSE;
  remote_launched_clear (&job->launched);
  remote_job_begin_anew (job);
  remote_job_set_state (job, TD_REMOTE_QUEUED, NULL);
  return TRUE;
}

/* ── Flags and places ── */

gboolean
td_remote_job_keep (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  const char *const words[] = { job->facts.folder, NULL };

  return td_shell_do (job->shell, "cd -- \"$1\" && : > keep", words, NULL, cancellable, error);
}

gboolean
td_remote_job_set_place (TdRemoteJob *job, gint place, GCancellable *cancellable, GError **error)
{
  g_autofree char *text = g_strdup_printf ("%d", place);

  return remote_job_write (job, "place", text, cancellable, error);
}

gboolean
td_remote_job_forget (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  const char *const words[] = { job->facts.folder, NULL };

  if (!td_remote_job_look (job, cancellable, error))
    return FALSE;
  if (!td_remote_state_ended (job->facts.state))
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "the job %s has not ended; cancel it first",
                         job->facts.id);
  /* Nothing but a job's folder is removed. */
  return td_shell_do (job->shell, "[ ! -f \"$1/job.json\" ] || rm -r -- \"$1\"", words, NULL,
                      cancellable, error);
}

static char *
remote_jobs_pause_path (void)
{
  return g_build_filename (g_get_user_data_dir (), "tomodesk", "jobs", "pause", NULL);
}

gboolean
td_remote_jobs_pause (gboolean pause, GError **error)
{
  g_autofree char *path = remote_jobs_pause_path ();
  g_autofree char *folder = g_path_get_dirname (path);

  if (!pause && (g_unlink (path) == 0 || errno == ENOENT))
    return TRUE;
  if (pause && g_mkdir_with_parents (folder, 0700) == 0)
    return g_file_set_contents (path, "", 0, error);
  return td_set_error (error, TD_ERROR_IO, "%s, by which all jobs pause, cannot be changed: %s",
                       path, g_strerror (errno));
}

gboolean
td_remote_jobs_are_paused (void)
{
  g_autofree char *path = remote_jobs_pause_path ();

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* ── Results ── */

/* The part of an earlier try goes on. */
static TdOutput *
remote_job_begin_fetch (TdRemoteJob *job, const TdRemoteFacts *facts, GCancellable *cancellable,
                        GError **error)
{
  static const char kind_script[] = "[ -d \"$1\" ] && echo folder || echo file";
  const char *const words[] = { facts->output_there, NULL };
  g_autofree char *part = g_strconcat (facts->output, ".", facts->id, ".part", NULL);
  g_autofree char *kind = NULL;

  if (!td_shell_do (job->shell, kind_script, words, &kind, cancellable, error))
    return NULL;
  return td_output_begin_shared (facts->output, g_str_has_prefix (kind, "folder"), facts->overwrite,
                                 0, facts->id, g_file_test (part, G_FILE_TEST_EXISTS), error);
}

gboolean
td_remote_job_fetch (TdRemoteJob *job, const TdShellCopy *copy, GCancellable *cancellable,
                     GError **error)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  if (facts.state != TD_REMOTE_DONE || !facts.output || !facts.output_there)
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "the job %s has no volume yet: it is %p",
                         facts.id, td_message_unpack (td_remote_state_name (facts.state)));
  if (!facts.to_be_fetched || (facts.fetched && g_file_test (facts.output, G_FILE_TEST_EXISTS)))
    return TRUE;
  g_autoptr (TdOutput) output = remote_job_begin_fetch (job, &facts, cancellable, error);
  if (!output)
    return FALSE;
  /* A folder's contents, or the file. */
  const char *part = td_output_part (output);
  const char *end = g_file_test (part, G_FILE_TEST_IS_DIR) ? "/" : "";
  g_autofree char *there = g_strconcat (facts.output_there, end, NULL);
  g_autofree char *to = g_strconcat (part, end, NULL);
  g_autofree char *from = td_shell_remote_path (job->shell, there);
  const char *const files[] = { from, NULL }, *const folder[] = { facts.folder, NULL };
  if (!td_shell_copy (job->shell, files, to, copy, cancellable, error)
      || !td_output_commit (output, error))
    return FALSE;
  remote_job_set_fetched (job, TRUE);
  return td_shell_do (job->shell, "cd -- \"$1\" && : > fetched", folder, NULL, cancellable, error);
}

GBytes *
td_remote_job_read (TdRemoteJob *job, const char *path, GCancellable *cancellable, GError **error)
{
  const char *const words[] = { job->facts.folder, path, NULL };
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (job->shell, "cd -- \"$1\" && cat -- \"$2\"", words, LOOK_LIMIT_S, &result,
                     cancellable, error))
    return NULL;
  if (result.status == 0)
    return g_bytes_new_take (g_steal_pointer (&result.out), result.out_bytes);
  return td_set_error_null (error, TD_ERROR_IO, "%s: %s", td_shell_name (job->shell), result.error);
}

char *
td_remote_job_log (TdRemoteJob *job, GCancellable *cancellable, GError **error)
{
  static const char script[]
      = "cd -- \"$1\" || return 1\n"
        "for f in launch.json log/stdout log/stderr log/status; do\n"
        "  [ -s \"$f\" ] && echo \"── $f\" && tail -c 200000 \"$f\"\n"
        "done\n"
        "[ -f events.jsonl ] && echo '── events.jsonl, the last lines' && tail -n 40 events.jsonl\n"
        "return 0";
  const char *const words[] = { job->facts.folder, NULL };
  char *text = NULL;

  return td_shell_do (job->shell, script, words, &text, cancellable, error) ? text : NULL;
}
