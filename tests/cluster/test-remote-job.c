/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is made of a remote job's folder: each state, with a host whose commands, clock and Slurm
   say what a table says. All facts of each are kept (tests/pins). */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#include "cluster/jobs-index.h"
#include "cluster/remote-job.h"
#include "config.h"
#include "dataset/json-walk.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-writer.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

#define CLOCK 1000 /* the host's */
#define HERE "\"host\": \"here\", \"session\": 7"
#define START "{\"event\": \"start\", \"time\": 900, \"ranks\": 2}\n"
#define MET "{\"event\": \"start\", \"time\": 900}\n"
#define FAILED "{\"event\": \"failed\", \"time\": 960, \"text\": \"no room\"}\n"
#define SIGNAL                                                                                     \
  "{\"event\": \"failed\", \"time\": 960, \"text\": \"The job was ended\", \"signal\": 15, "       \
  "\"rank\": 0, \"node\": \"a\"}\n"
#define NEXT "{\"event\": \"progress\", \"time\": 931, \"done\": 1, \"total\": 4}\n"
#define KILLED "rule\nmpirun noticed that rank 1 on b exited on signal 9 (Killed)\n"
#define SLURM(id) "\"host\": \"here\", \"scheduler\": \"slurm\", \"id\": \"" #id "\""

typedef struct {
  const char *name;
  const char *launch;     /* members of launch.json; "boot" is added. NULL: there is none */
  const char *events;     /* NULL: there are none */
  gint event_s, output_s; /* the times of events.jsonl and log/stdout; 0: now; -1: there is none */
  gboolean alive;
  const char *status, *error; /* of the launcher */
  const char *flag;           /* a file that is there */
  const char *ranks;          /* files of ranks, with spaces between */
  const char *scontrol;       /* of a job that is looked up alone */
  const char *says;           /* a part of the line that a limit decides */
  const char *more;           /* events that are added for a second look; "": it begins anew */
} State;

static const char squeue[] = "1|PENDING|Resources\n2|RUNNING|None\n3|TIMEOUT|TimeLimit\n"
                             "4|CANCELLED by 0|None\n5|FAILED|NonZeroExitCode\n"
                             "6|PENDING|BeginTime\n7|NODE_FAIL|None\n";

static const State states[] = {
  { "not launched", NULL },
  { "by hand", NULL, START, CLOCK - 59 },
  { "by hand, silent", NULL, START, CLOCK - 60 },
  { "elsewhere", "\"host\": \"there\", \"boot\": \"b\"", START, CLOCK - 59 },
  { "elsewhere, silent", "\"host\": \"there\", \"boot\": \"b\"", START, CLOCK - 60 },
  { "elsewhere, queued", "\"host\": \"there\", \"boot\": \"b\"",
    "{\"event\": \"queue\", \"ahead\": 3}\n" },
  { "elsewhere, not begun", "\"host\": \"there\", \"boot\": \"b\"" },
  { "restarted", "\"host\": \"here\", \"boot\": \"b\"" },
  { "queued, then paused", HERE, "{\"event\": \"queue\", \"ahead\": 2}\n", .alive = TRUE,
    .more = "{\"event\": \"queue\", \"ahead\": 2, \"paused\": true}\n" },
  { "begins", HERE, NULL, .output_s = CLOCK - 5, .alive = TRUE },
  { "hangs", HERE, NULL, .says = "not met in 6 s", .output_s = CLOCK - 6, .alive = TRUE,
    .error = "no slots\n" },
  { "hangs on", HERE, NULL, .says = "not met in 30 s", .output_s = CLOCK - 39, .alive = TRUE,
    .ranks = "1-12-a 2-12-b 2-12-b 0012 x-12-c 3-11-a" },
  { "hangs with all", HERE, NULL, .says = "not met in 10 s", .output_s = CLOCK - 10, .alive = TRUE,
    .ranks = "0-10-n0 1-10-n1 2-10-n2 3-10-n3 4-10-n4 5-10-n5 6-10-n6 7-10-n7 8-10-n8 9-10-n9" },
  { "runs", HERE, MET, .alive = TRUE,
    .more = "{\"event\": \"progress\", \"time\": 930, \"stage\": \"read\", \"done\": 30, "
            "\"total\": 120, \"rate\": 2.5, \"unit\": \"views\", \"left_s\": 36, "
            "\"slices_done\": 4, \"passes\": 9, \"residuals\": [0.5, null, 0.25]}\n" },
  { "begun twice", HERE,
    START
    "{\"event\": \"rank\", \"rank\": 0, \"node\": \"a\"}\n{\"event\": \"queue\", \"ahead\": 3, "
    "\"paused\": true}\n{\"event\": \"progress\", \"slices_done\": 4, \"passes\": 9, "
    "\"done\": 1, \"total\": 2, \"residuals\": [0.5, 0.25]}\n" MET,
    .alive = TRUE },
  { "lost", HERE, MET },
  { "lost with words", HERE, MET, .error = "the end\n" },
  { "no program", HERE, NULL, .status = "127", .error = "sh: mpirun: not found\n" },
  { "no program, silent", HERE, NULL, .status = "127" },
  { "launcher failed", HERE, NULL, .status = "3" },
  { "asked to end", HERE, NULL, .status = "3", .flag = "cancel" },
  { "cancelled", HERE, START "{\"event\": \"cancelled\", \"time\": 950}\n", .flag = "fetched" },
  { "failed", HERE, START FAILED, .error = KILLED },
  { "failed of a rank", HERE,
    START "{\"event\": \"failed\", \"rank\": 1, \"node\": \"b\", \"stage\": \"read\", "
          "\"text\": \"no room\"}\n" },
  { "failed without words", HERE, START "{\"event\": \"failed\", \"rank\": 1, \"node\": \"b\"}\n" },
  { "failed without a rank", HERE, START "{\"event\": \"failed\", \"rank\": 1}\n" },
  { "signalled, ending", HERE, START SIGNAL, CLOCK - 4, .alive = TRUE, .error = KILLED },
  { "signalled, ended", HERE, START SIGNAL, CLOCK - 5, .alive = TRUE, .error = KILLED },
  { "done", HERE, .says = "in 90.0 s",
    .events
    = START "{\"event\": \"done\", \"time\": 990, \"stages\": {\"read\": 2, \"store\": 0.5}, "
            "\"predicted\": {\"store\": 0.25}}\n" },
  { "done in time", HERE, .says = "in 80.0 s",
    .events = START "{\"event\": \"done\", \"time\": 990, \"seconds\": 80}\n" },
  { "run anew", HERE, START FAILED, .alive = TRUE, .more = "" },
  { "waits", SLURM (1), NULL, .output_s = -1 },
  { "runs by Slurm", SLURM (2), MET },
  { "not listed yet", SLURM (9), NULL, .output_s = -1 },
  { "gone", SLURM (9), MET, CLOCK - 5 },
  { "wall time", SLURM (3), MET, CLOCK - 5 },
  { "scancel", SLURM (4), MET, CLOCK - 5 },
  { "failed by Slurm", SLURM (5), NULL, .status = "1", .error = "srun: no\n" },
  { "queued again", SLURM (6), MET SIGNAL, CLOCK - 30,
    .scontrol = "6 JobState=PENDING Reason=BeginTime Restarts=1" },
  { "begun again", SLURM (2), MET SIGNAL, CLOCK - 30,
    .scontrol = "2 JobState=RUNNING Reason=None Restarts=1" },
  { "signalled by Slurm", SLURM (2), MET SIGNAL, CLOCK - 19,
    .scontrol = "2 JobState=RUNNING Reason=None Restarts=0" },
  { "signalled, node gone", SLURM (2), MET SIGNAL, CLOCK - 20,
    .scontrol = "2 JobState=RUNNING Reason=None Restarts=0" },
  { "signalled, node failed", SLURM (7), MET SIGNAL, CLOCK - 20 },
  /* Looks at a job that was seen to run before. */
  { "gone, followed", SLURM (9), MET, CLOCK - 5, .more = NEXT },
  { "not listed, followed", SLURM (9), MET, CLOCK - 4, .more = NEXT },
  { "runs by Slurm, followed", SLURM (2), MET, CLOCK - 5, .more = NEXT },
  { "wall time, followed", SLURM (3), MET, CLOCK - 4, .more = NEXT },
  { "by hand, followed", NULL, MET, CLOCK - 60,
    .more = "{\"event\": \"progress\", \"time\": 931, \"total\": 4}\n" },
  { "lost, followed", HERE, MET, .more = NEXT },
  { "queued again, followed", SLURM (6), MET SIGNAL, CLOCK - 30, .more = MET,
    .scontrol = "6 JobState=PENDING Reason=BeginTime Restarts=1" },
  { "begun again, followed", SLURM (2), MET SIGNAL, CLOCK - 30, .more = MET,
    .scontrol = "2 JobState=RUNNING Reason=None Restarts=1" },
};

/* A host where all is said by functions of the shell, since programs take longer. Slurm's answers
   are remembered by host: each job that is looked up alone has its own. */
static TdShell *
host_with (const char *folder, guint number, const char *more)
{
  g_autofree char *prelude = g_strdup_printf (
      "T='%s'; host=%u\n"
      "cat () { while read -r line || [ -n \"$line\" ]; do echo \"$line\"; done < \"$1\"; }\n"
      "wc () { IFS=; n=0; while read -r line; do n=$((n + ${#line} + 1)); done; echo $((n + "
      "${#line})); }\n"
      "ps () { cat \"$T/ps\"; }\nstat () { cat \"$T/stat\"; }\nsqueue () { cat \"$T/squeue\"; }\n"
      "date () { echo %d; }\nuname () { echo here; }\nrm () { [ \"$1\" = -f ] || command rm "
      "\"$@\"; }\nsacct () { :; }\n"
      "scontrol () { [ -s \"$T/scontrol\" ] && cat \"$T/scontrol\" && return\n"
      "echo 'slurm_load_jobs error: Invalid job id specified' >&2; return 1; }\n%s",
      folder, number, CLOCK, more);

  return td_shell_get ("hall", NULL, prelude);
}

static TdShell *
host_of (const char *folder, guint number)
{
  return host_with (folder, number, "");
}

static void
put (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
  g_remove (path); /* or the end of a longer one would stay */
  if (text)
    g_assert_true (g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* The job's folder is @folder/job. A process of it lives all the time; @state says who sees it. */
static void
make_folder (const char *folder, const State *state, GPid process)
{
  g_autofree char *job = g_build_filename (folder, "job", NULL);
  g_autofree char *boot = NULL;
  g_autofree char *ps = g_strdup_printf ("1 1 S\n%d 7 %s\n%d 8 S\n", (int) process,
                                         state->alive ? "S" : "Z", (int) process);
  g_autofree char *alone = g_strconcat ("JobId=", state->scontrol, NULL);
  g_autoptr (GString) times = g_string_new (NULL);
  g_auto (GStrv) ranks = g_strsplit (state->ranks ? state->ranks : "", " ", -1);

  test_folder_remove (job);
  put (job, "job.json",
       "{\"title\": \"Bone\", \"profile\": \"hall\", \"output\": {\"path\": \"/o.tif\", "
       "\"overwrite\": true}, \"scan\": {\"path\": \"/s.nxs\"}, \"recipe\": {\"a\": 1}}");
  g_assert_true (g_file_get_contents ("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL));
  g_autofree char *own_boot = g_strdup_printf (", \"boot\": \"%s\"", g_strchomp (boot));
  g_autofree char *launch
      = g_strdup_printf ("{%s%s}", state->launch ? state->launch : "",
                         state->launch && !strstr (state->launch, "boot") ? own_boot : "");
  put (job, "launch.json", state->launch ? launch : NULL);
  put (job, "events.jsonl", state->events);
  put (job, "log/status", state->status);
  put (job, "log/stderr", state->error);
  if (state->flag)
    put (job, state->flag, "");
  for (guint i = 0; ranks[i]; i++) {
    g_autofree char *file = g_strconcat ("log/ranks/", ranks[i], NULL);
    if (*ranks[i])
      put (job, file, "");
  }
  if (state->events)
    g_string_append_printf (times, "events.jsonl %d\n", state->event_s ? state->event_s : CLOCK);
  if (state->output_s >= 0)
    g_string_append_printf (times, "log/stdout %d\n", state->output_s ? state->output_s : CLOCK);
  g_string_append_printf (times, ".look %d\n", CLOCK);
  put (folder, "ps", ps);
  put (folder, "stat", times->str);
  put (folder, "squeue", squeue);
  put (folder, "scontrol", state->scontrol ? alone : NULL);
}

static void
add_list (GString *text, const char *name, char *const *list)
{
  for (guint i = 0; list[i]; i++) {
    g_autofree char *words = td_message_words (list[i], NULL);
    g_string_append_printf (text, "; %s %s", name, words);
  }
}

static void
pin_facts (const char *name, TdRemoteJob *job)
{
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GString) text = g_string_new (NULL);

  td_remote_job_facts (job, &facts);
  g_assert_cmpint (facts.scans != NULL, ==, facts.watch != NULL); /* a batch has them */
  g_autofree char *line = td_remote_facts_line (&facts);
  for (guint i = 0; i < facts.slices->len; i++) {
    const TdRemoteSlice *slice = &g_array_index (facts.slices, TdRemoteSlice, i);
    g_string_append_printf (text, "; slice %u of pass %u: %s", slice->index, slice->pass,
                            slice->path);
  }
  for (guint i = 0; i < facts.residuals->len; i++)
    g_string_append_printf (text, "; residual %g", g_array_index (facts.residuals, double, i));
  for (guint i = 0; facts.scans && i < facts.scans->len; i++) {
    const TdBatchRow *row = facts.scans->pdata[i];
    g_string_append_printf (text, "; scan %s %s %g", row->path, td_batch_state_name (row->state),
                            row->fraction);
  }
  add_list (text, "rank line", facts.rank_lines);
  add_list (text, "note", facts.notes);
  td_test_pin ("%s: %s", name, line);
  td_test_pin (
      "%s: %s, %g, %g %s, left %g, in all %g; ranks %u, %u × %u × %u from %u by %u, %g %s; "
      "%u done, %u passes, %u ahead, %d; launched %d, home %d, fetched %d of %d",
      name, facts.stage, facts.fraction, facts.rate, facts.unit, facts.left_s, facts.seconds,
      facts.ranks, facts.nx, facts.ny, facts.n_slices, facts.first_row, facts.slice_rows,
      facts.pixel_mm, facts.units, facts.slices_done, facts.n_passes, facts.ahead, facts.paused,
      td_remote_job_was_launched (job), td_remote_job_is_home (job), facts.fetched,
      facts.to_be_fetched);
  td_test_pin ("%s: %s of %s, %s, %s of %s, %s, by %s, %s, at %s, %s, in %s%s", name, facts.id,
               facts.title, facts.profile, facts.scan, facts.recipe, facts.output_there,
               facts.scheduler_id, facts.method, facts.place, facts.output, facts.watch, text->str);
}

/* Seconds are not kept. */
static void
assert_says (TdRemoteJob *job, const char *says)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  g_autofree char *line = td_remote_facts_line (&facts);
  g_assert_nonnull (strstr (line, says));
}

static void
look (TdRemoteJob *job)
{
  g_autoptr (GError) error = NULL;

  td_remote_job_look (job, NULL, &error);
  g_assert_no_error (error);
}

/* What a second look finds: more events behind half a line, or a file that begins anew. */
static void
look_again (const char *job_folder, const State *state, TdRemoteJob *job)
{
  g_autofree char *name = g_strconcat (state->name, ", again", NULL);
  g_autofree char *half = g_strdup_printf ("%s%.20s", state->events, state->more);
  g_autofree char *whole = g_strconcat (state->events, state->more, NULL);

  if (*state->more) {
    put (job_folder, "events.jsonl", half);
    look (job);
    put (job_folder, "events.jsonl", whole);
  } else
    put (job_folder, "events.jsonl", "{\"event\": \"start\", \"time\": 980}\n");
  look (job);
  pin_facts (name, job);
}

/* A process of the job, which sleeps. */
static GPid
start_process (const char *job_folder)
{
  const char *const words[] = { "sleep", "1000", NULL };
  g_autofree char *name = g_strconcat ("TOMODESK_JOB=", job_folder, NULL);
  const char *const env[] = { name, NULL };
  g_autoptr (GError) error = NULL;
  GPid process;

  g_spawn_async (NULL, (char **) words, (char **) env,
                 G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &process, &error);
  g_assert_no_error (error);
  return process;
}

static void
test_states (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  const GPid process = start_process (job_folder);

  for (guint i = 0; i < G_N_ELEMENTS (states); i++) {
    TdShell *shell = host_of (folder->path, states[i].scontrol ? i : 0);
    g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, job_folder);

    make_folder (folder->path, &states[i], process);
    look (job);
    pin_facts (states[i].name, job);
    if (states[i].says)
      assert_says (job, states[i].says);
    if (states[i].more)
      look_again (job_folder, &states[i], job);
  }
  kill (process, SIGKILL);
}

/* ── What events say ── */

static void
test_events (void)
{
  static const char events[]
      = "{\"event\": \"start\", \"time\": 900, \"ranks\": 3, \"nx\": 40, \"ny\": 30, "
        "\"slices\": 20, \"first_row\": 5, \"slice_rows\": 2, \"pixel_mm\": 0.125, \"units\": "
        "\"1/mm\", \"method\": \"sirt\", \"restarts\": 1}\n"
        "{\"event\": \"rank\", \"rank\": 0, \"node\": \"a\", \"device\": \"host\", \"kernel\": "
        "\"k\", \"first\": 4, \"count\": 6, \"first_view\": 10, \"views\": 12}\n"
        "{\"event\": \"rank\", \"rank\": 1, \"node\": \"b\", \"device\": \"host\", \"first\": 4, "
        "\"count\": 1, \"first_view\": 10, \"views\": 12, \"view_parts\": 3}\n"
        "{\"event\": \"rank\", \"rank\": 2}\n"
        "no event\n{\"time\": 905}\n{\"event\": \"note\"}\n"
        "{\"event\": \"note\", \"text\": \"said\"}\n{\"event\": \"note\", \"text\": \"said\"}\n"
        "{\"event\": \"note\", \"text\": \"said too\"}\n"
        "{\"event\": \"slice\", \"index\": 3, \"pass\": 2, \"path\": \"preview/3.tif\"}\n"
        "{\"event\": \"slice\", \"index\": 4, \"path\": \"/preview/3.tif\"}\n"
        "{\"event\": \"slice\", \"index\": 5, \"path\": \"../3.tif\"}\n"
        "{\"event\": \"slice\", \"index\": 6}\n"
        "{\"event\": \"scan\", \"index\": 0, \"path\": \"one\", \"state\": \"running\"}\n"
        "{\"event\": \"scan\", \"index\": 2, \"path\": \"three\", \"state\": \"running\"}\n"
        "{\"event\": \"scan\", \"index\": 1, \"path\": \"two\", \"state\": \"waiting\"}\n"
        "{\"event\": \"scan\", \"index\": 0, \"path\": \"one\", \"state\": \"failed\"}\n"
        "{\"event\": \"scan\", \"index\": 0}\n"
        "{\"event\": \"progress\", \"done\": 3, \"total\": 2, \"scan\": 1, \"scan_done\": 0.5}\n"
        "{\"event\": \"progress\", \"total\": 2, \"scan\": 0}\n"
        "{\"event\": \"progress\", \"time\": 930, \"done\": 1, \"total\": 0, \"scan\": 2, "
        "\"slices_done\": 7, \"passes\": 3, \"residuals\": [0.5, 0.25]}\n";
  static const State state = { "all", HERE, events, .alive = TRUE };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  const GPid process = start_process (job_folder);
  g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (host_of (folder->path, 0), job_folder);

  make_folder (folder->path, &state, process);
  put (job_folder, "job.json", "{\"profile\": \"own\", \"batch\": {\"watch\": \"/w\"}}");
  look (job);
  pin_facts ("told", job);
  /* The next run of the same job says all this anew. */
  put (job_folder, "events.jsonl", "");
  look (job);
  pin_facts ("begun anew", job);
  kill (process, SIGKILL);
}

/* A batch tells its scans before anybody has looked. */
static void
test_new_batch (void)
{
  char *scans[] = { (char *) "/a/one.nxs", (char *) "/b/two", NULL };
  const TdJobBatch batches[] = { { .scans = scans }, { .watch = (char *) "/w", .settle_s = 3 } };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint i = 0; i < G_N_ELEMENTS (batches); i++) {
    g_autoptr (TdRemoteJob) job
        = td_remote_job_new_batch (&batches[i], NULL, &recipe, "/out", FALSE);
    g_auto (TdRemoteFacts) facts = { 0 };

    td_remote_job_facts (job, &facts);
    td_test_pin ("%u scans from %s to %s", facts.scans->len, facts.watch, facts.output);
    for (guint k = 0; k < facts.scans->len; k++) {
      const TdBatchRow *row = facts.scans->pdata[k];
      td_test_pin ("%s: %s", row->path, td_batch_state_name (row->state));
    }
  }
}

/* ── What a host that fails says ── */

#define SILENT                                                                                     \
  "squeue () { echo Slurm is tired >&2; return 1; }\nscontrol () { squeue; }\nsacct () { :; }"

/* Each thing that is done to a job ends with the host's words, and does nothing else. */
static void
test_refused (void)
{
  static const struct {
    const char *name;
    gboolean (*act) (TdRemoteJob *job, GCancellable *cancellable, GError **error);
  } acts[] = { { "look", td_remote_job_look },
               { "cancel", td_remote_job_cancel },
               { "again", td_remote_job_again },
               { "forget", td_remote_job_forget } };
  static const struct {
    const char *commands, *launch, *events;
    guint first, n; /* of acts that it refuses */
  } hosts[] = {
    { "ps () { echo no processes >&2; return 1; }", HERE, START FAILED, 0, 4 },
    { SILENT, SLURM (7), MET, 0, 1 },
    { SILENT, SLURM (7), MET FAILED, 1, 2 },
    { "sbatch () { echo sbatch is tired >&2; return 1; }\nsqueue () { echo '7|FAILED|None'; }",
      SLURM (7) ", \"scheduler_words\": [\"--x\"]", MET FAILED, 2, 1 },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  g_autofree char *started = test_folder_file (folder, "started");

  for (guint h = 0; h < G_N_ELEMENTS (hosts); h++)
    for (guint i = hosts[h].first; i < hosts[h].first + hosts[h].n; i++) {
      g_autofree char *prelude
          = g_strdup_printf ("%s\nsetsid () { touch '%s'; }\n", hosts[h].commands, started);
      TdShell *shell = td_shell_get ("hall", NULL, prelude);
      g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, job_folder);
      const State ended = { "", hosts[h].launch, hosts[h].events };
      g_autoptr (GError) error = NULL;

      make_folder (folder->path, &ended, 1);
      g_assert_false (acts[i].act (job, NULL, &error));
      td_test_pin ("%s: %s", acts[i].name, error->message);
      pin_facts (acts[i].name, job);
      g_assert_false (g_file_test (started, G_FILE_TEST_EXISTS));
      g_assert_true (g_file_test (job_folder, G_FILE_TEST_EXISTS));
    }
}

/* What may be done to a job that runs, has ended, or is done. */
static void
test_allowed (void)
{
  static const State each[] = { { "running", HERE, START, .alive = TRUE },
                                { "failed", HERE, START FAILED },
                                { "done", HERE, START "{\"event\": \"done\", \"time\": 950}\n" } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  const GPid process = start_process (job_folder);

  for (guint i = 0; i < G_N_ELEMENTS (each); i++) {
    g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (host_of (folder->path, 0), job_folder);
    g_autoptr (GError) again = NULL, fetch = NULL, forget = NULL;

    make_folder (folder->path, &each[i], process);
    look (job);
    if (i != 1) { /* which is started */
      g_assert_false (td_remote_job_again (job, NULL, &again));
      td_test_pin ("%s, again: %s", each[i].name, again->message);
    }
    const gboolean fetched = td_remote_job_fetch (job, NULL, NULL, &fetch);
    td_test_pin ("%s, fetched %d: %s", each[i].name, fetched, fetch ? fetch->message : "");
    const gboolean forgotten = td_remote_job_forget (job, NULL, &forget);
    td_test_pin ("%s, forgotten %d: %s", each[i].name, forgotten, forget ? forget->message : "");
    g_assert_cmpint (g_file_test (job_folder, G_FILE_TEST_EXISTS), ==, !forgotten);
  }
  kill (process, SIGKILL);
}

/* A run was ended and queued again, and the next one begins and ends before Slurm answers. What the
   first one left was read before that, and is not the job's end. */
static void
test_ends_meanwhile (void)
{
  static const State state
      = { "ended meanwhile", SLURM (2),
          MET SIGNAL,        CLOCK - 30,
          .status = "143",   .error = "slurmstepd: error: *** JOB 2 CANCELLED ***\n" };
  static const char host[]
      = "next () { : > \"$T/asked\"; echo 0 > \"$T/job/log/status\"\n"
        "echo '{\"event\": \"start\", \"time\": 950, \"ranks\": 2, \"restarts\": 1}' >> "
        "\"$T/job/events.jsonl\"\n"
        "echo '{\"event\": \"done\", \"time\": 960}' >> \"$T/job/events.jsonl\"; }\n"
        "scontrol () { [ -e \"$T/asked\" ] || next\n"
        "echo 'JobId=2 JobState=COMPLETED Reason=None Restarts=1'; }\n";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  const GPid process = start_process (job_folder);
  TdShell *shell = host_with (folder->path, 90, host);
  g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, job_folder);
  g_auto (TdRemoteFacts) facts = { 0 };

  make_folder (folder->path, &state, process);
  look (job);
  td_remote_job_facts (job, &facts);
  g_test_message ("%s: %s", td_remote_state_name (facts.state), facts.why);
  g_assert_cmpint (facts.state, ==, TD_REMOTE_DONE);
  kill (process, SIGKILL);
}

/* ── Cancelling ── */

/* What is done to a job until it has ended, in turn, and what is said of it then. */
static void
test_cancelled (void)
{
  static const char leaves[] /* a job leaves the queue at once */
      = "scancel () { echo \"scancel $*\" >> \"$T/done\"; for id; do :; done\n"
        "echo \"JobId=$id JobState=CANCELLED Reason=None\" > \"$T/scontrol\"; }\n";
  static const char obeys[] /* a worker sees its flag, says so and ends */
      = "end () { echo '{\"event\": \"cancelled\", \"time\": 990}' >> \"$T/job/events.jsonl\"; }\n"
        "ps () { if [ -e \"$T/job/cancel\" ]; then end; else cat \"$T/ps\"; fi; }\n"
        "scontrol () { state=RUNNING; [ -e \"$T/job/cancel\" ] && state=COMPLETED && end\n"
        "echo \"JobId=2 JobState=$state Reason=None\"; }\n"
        "scancel () { echo \"scancel $*\" >> \"$T/done\"; }\n"
        "kill () { echo \"kill $*\" >> \"$T/done\"; }\n";
  static const struct {
    State state;
    const char *host;
  } cases[] = {
    { { "in the queue", SLURM (2) ", \"cluster\": \"west\"", NULL, .output_s = -1 }, leaves },
    { { "by its flag", HERE, START, .alive = TRUE }, obeys },
    { { "by its flag in Slurm", SLURM (2), START }, obeys },
    { { "ended before", HERE, START FAILED }, obeys },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  g_autofree char *done = test_folder_file (folder, "done");
  g_autofree char *flag = test_folder_file (folder, "job/cancel");
  const GPid process = start_process (job_folder);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdShell *shell = host_with (folder->path, 100 + i, cases[i].host);
    g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, job_folder);
    g_autoptr (GError) error = NULL;
    g_autofree char *log = NULL;

    make_folder (folder->path, &cases[i].state, process);
    put (folder->path, "done", "");
    const gboolean ended = td_remote_job_cancel (job, NULL, &error);
    g_assert_true (g_file_get_contents (done, &log, NULL, NULL));
    g_strdelimit (log, "\n", ';');
    td_test_pin ("%s: %d %s, by %s flag %d", cases[i].state.name, ended,
                 error ? error->message : "", log, g_file_test (flag, G_FILE_TEST_EXISTS));
    pin_facts (cases[i].state.name, job);
  }
  kill (process, SIGKILL);
}

/* One command of the host fails after the other, whichever cancelling comes to. Either it is told,
   or the job has ended all the same. */
static void
test_cancel_fails (void)
{
  static const char host[]
      = "fails () { n=0; while read -r line; do n=$((n + 1)); done < \"$T/asked\"\n"
        "echo >> \"$T/asked\"; read -r which < \"$T/which\"; [ $n -eq $which ]; }\n"
        "end () { echo '{\"event\": \"cancelled\", \"time\": 990}' >> \"$T/job/events.jsonl\"; }\n"
        "ps () { fails && return 1; if [ -e \"$T/job/cancel\" ]; then end; else cat \"$T/ps\"; fi; "
        "}\n"
        "scontrol () { fails && return 1; state=RUNNING\n"
        "[ -e \"$T/job/cancel\" ] && state=COMPLETED && end\n"
        "echo \"JobId=2 JobState=$state Reason=None\"; }\n"
        "squeue () { fails && return 1; cat \"$T/squeue\"; }\n";
  static const State each[] = { { "by its flag", HERE, START, .alive = TRUE },
                                { "by its flag in Slurm", SLURM (2), START } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *job_folder = test_folder_file (folder, "job");
  g_autofree char *asked_path = test_folder_file (folder, "asked");
  const GPid process = start_process (job_folder);

  for (guint i = 0; i < G_N_ELEMENTS (each); i++) {
    guint told = 0;
    gsize asked;
    for (guint which = 0, ended = FALSE; !ended || asked > which; which++) {
      g_autofree char *text = g_strdup_printf ("%u\n", which), *asks = NULL;
      TdShell *shell = host_with (folder->path, 200 + 50 * i + which, host);
      g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, job_folder);
      g_auto (TdRemoteFacts) facts = { 0 };
      g_autoptr (GError) error = NULL;

      make_folder (folder->path, &each[i], process);
      put (folder->path, "which", text);
      put (folder->path, "asked", "");
      ended = td_remote_job_cancel (job, NULL, &error);
      td_remote_job_facts (job, &facts);
      g_assert_true (g_file_get_contents (asked_path, &asks, &asked, NULL)); /* a byte each */
      g_test_message ("%s, %u of %" G_GSIZE_FORMAT ": %s", each[i].name, which, asked,
                      error ? error->message : "ended");
      g_assert_cmpint (ended, ==, error == NULL);
      g_assert_true (!ended || facts.state == TD_REMOTE_CANCELLED);
      told += !ended;
    }
    g_assert_cmpuint (told, >, 1);
  }
  kill (process, SIGKILL);
}

/* ── Submitting ── */

/* @text with the test's folder called T, and the job's identity ID. (transfer full) */
static char *
nameless (const char *text, const char *folder, const char *id)
{
  g_autoptr (GString) out = g_string_new (text);

  g_string_replace (out, folder, "T", 0);
  if (id)
    g_string_replace (out, id, "ID", 0);
  g_string_replace (out, "\n", ";", 0);
  return g_strdup (out->str);
}

static void
pin_member (JsonNode *root, const char *path, const char *folder, const char *id)
{
  JsonNode *member = td_json_at (root, path);
  g_autofree char *text = member ? td_json_text (member, FALSE) : g_strdup ("none");
  g_autofree char *said = nameless (text, folder, id);

  td_test_pin ("%s: %s", path, said);
}

static TdClusterProfile *
hall_of (const char *folder, const char *sbatch, const char *lines)
{
  g_autofree char *text = g_strdup_printf (
      "[Profile]\nkind = slurm\nhost = hall\njobs-folder = %s/jobs\nhost-setup = sbatch () { "
      "%secho Submitted batch job 77; }; squeue () { :; }; scontrol () { :; }\n%s",
      folder, sbatch, lines);
  g_autoptr (GString) whole = g_string_new (text);
  g_autoptr (GError) error = NULL;

  g_string_replace (whole, "@T@", folder, 0);
  put (g_getenv ("XDG_CONFIG_HOME"), "tomodesk/profiles/hall.ini", whole->str);
  TdClusterProfile *profile = td_cluster_profile_find ("hall", &error);
  g_assert_no_error (error);
  return profile;
}

/* The volume of a job that is done comes here once. */
static void
pin_fetched (const char *folder, TdRemoteJob *job, const TdRemoteFacts *facts)
{
  static const char done[] = START "{\"event\": \"done\", \"time\": 990}\n";
  const TdShellCopy copy = { 0 };
  g_autofree char *flag = g_build_filename (facts->folder, "fetched", NULL);
  g_autofree char *log_path = g_build_filename (folder, "done", NULL);

  put (facts->folder, "events.jsonl", done);
  look (job);
  for (guint i = 0; i < 2; i++) {
    g_auto (TdRemoteFacts) now = { 0 };
    g_autoptr (GError) error = NULL;
    g_autofree char *log = NULL;

    put (folder, "done", "");
    const gboolean fetched = td_remote_job_fetch (job, &copy, NULL, &error);
    td_remote_job_facts (job, &now);
    g_assert_true (g_file_get_contents (log_path, &log, NULL, NULL));
    g_autofree char *said = nameless (error ? error->message : log, folder, facts->id);
    td_test_pin ("fetched %d, %d, flag %d: %s", fetched, now.fetched,
                 g_file_test (flag, G_FILE_TEST_EXISTS), said);
  }
}

/* Which paths the host is told, and what is copied there and back. */
static void
pin_submitted (const char *folder, const char *lines, const TdRemoteOrder *order)
{
  static const char *const members[]
      = { "scan/path", "scan/settings", "recipe/bad_pixels", "output/path", "output/overwrite" };
  g_autoptr (TdClusterProfile) profile = hall_of (folder, "", lines);
  g_autoptr (TdRemoteJob) job = td_remote_job_new (profile, order);
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *done = g_build_filename (folder, "done", NULL), *log = NULL;

  put (folder, "done", "");
  const gboolean submitted = td_remote_job_submit (job, NULL, &error);
  td_remote_job_facts (job, &facts);
  g_assert_true (g_file_get_contents (done, &log, NULL, NULL));
  g_autofree char *said = nameless (error ? error->message : log, folder, facts.id);
  td_test_pin ("%s: submitted %d, %d, to be fetched %d: %s", lines, submitted, facts.state,
               facts.to_be_fetched, said);
  g_autofree char *path
      = submitted ? g_build_filename (facts.folder, "job.json", NULL) : g_strdup ("none");
  g_autoptr (JsonNode) root = submitted ? td_json_load (path, NULL) : NULL;
  for (guint i = 0; root && i < G_N_ELEMENTS (members); i++)
    pin_member (root, members[i], folder, facts.id);
  if (facts.to_be_fetched)
    pin_fetched (folder, job, &facts);
}

static void
test_submitted (void)
{
  static const char *const profiles[] = {
    "map = @T@/=/there/\n",
    "map = @T@/data=/there\n",
    "map = @T@/data=/there;@T@/out=/o\n",
    "map = @T@/data=/there;@T@/out=/o;@T@/flats=/f/\n",
    "map = @T@/data=/there\nstaging = rsync\n",
    "staging = rsync\n",
    "",
  };
  static const char rsync[] = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; echo \"$*\" >> "
                              "\"$TOMODESK_TEST_DONE\"\n";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *program = test_folder_file (folder, "bin/rsync");
  g_autofree char *done = test_folder_file (folder, "done");
  g_autofree char *scan_path = test_folder_file (folder, "data/a.nxs");
  g_autofree char *flats = test_folder_file (folder, "flats/f.tif");
  g_autofree char *mask = test_folder_file (folder, "data/mask.tif");
  g_autofree char *output = test_folder_file (folder, "out/v.tif");
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *path = g_strconcat (folder->path, "/bin:", before, NULL);
  char *settings[] = { (char *) "flats", flats, (char *) "pixel-mm", (char *) "0.5", NULL };
  TdPhantomScan spec;
  TdRecipe recipe;
  g_autoptr (GError) error = NULL;

  put (folder->path, "bin/rsync", rsync);
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
  put (folder->path, "flats/f.tif", "");
  put (folder->path, "data/mask.tif", "");
  put (folder->path, "out/other.tif", "");
  g_setenv ("PATH", path, TRUE);
  g_setenv ("TOMODESK_TEST_DONE", done, TRUE);
  td_phantom_scan_init (&spec, NULL, 16, 8, 12);
  g_autoptr (TdScan) made = td_phantom_scan_new (&spec, &error);
  g_assert_true (td_scan_save (made, scan_path, TD_SCAN_NXTOMO, NULL, &error));
  g_autoptr (TdScan) scan = td_scan_open (scan_path, NULL, NULL, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_strlcpy (recipe.mask, mask, sizeof recipe.mask);
  const TdRemoteOrder order = {
    .scan = scan, .scan_settings = settings, .recipe = &recipe, .output = output, .overwrite = TRUE
  };
  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++)
    pin_submitted (folder->path, profiles[i], &order);
  g_setenv ("PATH", before, TRUE);
}

typedef struct {
  GCancellable *cancellable;
  char *begun, *go;
} Changed;

/* Cancels while the scheduler still takes the job. */
static gpointer
change_mind (gpointer user)
{
  const Changed *changed = user;

  while (!g_file_test (changed->begun, G_FILE_TEST_EXISTS))
    g_usleep (10000);
  g_cancellable_cancel (changed->cancellable);
  g_usleep (G_USEC_PER_SEC / 4); /* who gives up does so by then */
  g_assert_true (g_file_set_contents (changed->go, "", 0, NULL));
  return NULL;
}

/* A job whose launch is cancelled too late is launched, and known: it can be ended. */
static void
test_launched_all_the_same (void)
{
  static const char waits[]
      = ": > @T@/begun; while [ -e @T@/begun ] && [ ! -e @T@/go ]; do sleep 0.02; done; ";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *scan_path = test_folder_file (folder, "a.nxs");
  g_autofree char *output = test_folder_file (folder, "v.tif");
  g_autofree char *begun = test_folder_file (folder, "begun");
  g_autofree char *go = test_folder_file (folder, "go"), *launch = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Changed changed = { cancellable, begun, go };
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, NULL, 16, 8, 12);
  g_autoptr (TdScan) made = td_phantom_scan_new (&spec, &error);
  g_assert_true (td_scan_save (made, scan_path, TD_SCAN_NXTOMO, NULL, &error));
  g_autoptr (TdScan) scan = td_scan_open (scan_path, NULL, NULL, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  const TdRemoteOrder order = { .scan = scan, .recipe = &recipe, .output = output };
  g_autoptr (TdClusterProfile) profile = hall_of (folder->path, waits, "map = @T@/=/there/\n");
  g_autoptr (TdRemoteJob) job = td_remote_job_new (profile, &order);
  GThread *thread = g_thread_new ("changes", change_mind, &changed);
  const gboolean submitted = td_remote_job_submit (job, cancellable, &error);
  g_assert_no_error (error);
  g_assert_true (submitted);
  g_thread_join (thread);
  td_remote_job_facts (job, &facts);
  g_assert_cmpint (facts.state, ==, TD_REMOTE_QUEUED);
  g_autofree char *record = g_build_filename (facts.folder, "launch.json", NULL);
  g_assert_true (g_file_get_contents (record, &launch, NULL, NULL));
  g_assert_nonnull (strstr (launch, "\"id\":\"77\""));
  /* Before that, nothing is launched. */
  g_unlink (begun);
  g_autoptr (TdRemoteJob) none = td_remote_job_new (profile, &order);
  g_assert_false (td_remote_job_submit (none, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_false (g_file_test (begun, G_FILE_TEST_EXISTS));
}

/* The processes of a job, as their environment says. */
static gboolean
somebody_runs (const char *folder)
{
  g_autofree char *ours = g_strdup_printf ("TOMODESK_JOB=%s", folder);
  const char *const words[]
      = { "sh", "-c", "exec grep -lzFx \"$1\" /proc/[0-9]*/environ", "sh", ours, NULL };
  g_autofree char *found = NULL;

  g_spawn_sync (NULL, (char **) words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                NULL, &found, NULL, NULL, NULL);
  return *found != 0;
}

static void
write_worker (const TestFolder *folder)
{
  g_autofree char *path = test_folder_file (folder, "worker");
  g_autofree char *text = g_strdup_printf (
      "#!/bin/sh\n[ \"$1\" = --version ] && { echo tomodesk-worker " TD_VERSION "; exit; }\n"
      "echo \"$TOMODESK_JOB\" > %s/part; mv %s/part %s/begun; exec sleep 60\n",
      folder->path, folder->path, folder->path);

  put (folder->path, "worker", text);
  g_assert_cmpint (g_chmod (path, 0700), ==, 0);
}

/* How a launch fails whose processes have begun: the record of it cannot be written, or the host is
   gone from then on. Or it has come to its end all the same. */
static const struct {
  const char *setup, *says; /* NULL: it is launched */
  gboolean runs;
} half_launched[] = {
  { "return 1", "the job cannot be started on hall", FALSE },
  { ": > @T@/gone; return 1",
    "may still run on hall, where it could not be ended; \"tomodesk-cli "
    "cancel ",
    TRUE },
  { "command mv \"$@\"; return 1", NULL, TRUE },
};

static void
check_half_launched (guint i)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *scan_path = test_folder_file (folder, "a.nxs");
  g_autofree char *output = test_folder_file (folder, "v.tif");
  g_autofree char *begun = test_folder_file (folder, "begun"), *job_folder = NULL;
  g_autofree char *lines = g_strdup_printf (
      "[Profile]\nkind = ssh\nhost = hall\njobs-folder = @T@/jobs\nworker = @T@/worker\n"
      "launcher = env\nhost-setup = [ ! -e @T@/gone ] || exit 3; mv () { case $* in "
      "*launch.json) until [ -e @T@/begun ]; do sleep 0.02; done; %s;; esac; command mv \"$@\"; }\n"
      "map = @T@/=@T@/\n",
      half_launched[i].setup);
  g_autoptr (GString) whole = g_string_new (lines);
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  write_worker (folder);
  g_string_replace (whole, "@T@", folder->path, 0);
  put (g_getenv ("XDG_CONFIG_HOME"), "tomodesk/profiles/half.ini", whole->str);
  g_autoptr (TdClusterProfile) profile = td_cluster_profile_find ("half", &error);
  g_assert_no_error (error);
  td_phantom_scan_init (&spec, NULL, 16, 8, 12);
  g_autoptr (TdScan) made = td_phantom_scan_new (&spec, &error);
  g_assert_true (td_scan_save (made, scan_path, TD_SCAN_NXTOMO, NULL, &error));
  g_autoptr (TdScan) scan = td_scan_open (scan_path, NULL, NULL, &error);
  td_recipe_init (&recipe);
  const TdRemoteOrder order = { .scan = scan, .recipe = &recipe, .output = output };
  g_autoptr (TdRemoteJob) job = td_remote_job_new (profile, &order);
  const gboolean submitted = td_remote_job_submit (job, NULL, &error);
  td_remote_job_facts (job, &facts);
  g_assert_true (g_file_get_contents (begun, &job_folder, NULL, NULL));
  g_strchomp (job_folder);
  g_assert_cmpint (submitted, ==, !half_launched[i].says);
  g_assert_cmpint (facts.state, ==, submitted ? TD_REMOTE_QUEUED : TD_REMOTE_FAILED);
  if (!submitted)
    g_assert_nonnull (strstr (error->message, half_launched[i].says));
  g_assert_cmpint (somebody_runs (job_folder), ==, half_launched[i].runs);
  g_assert_cmpint (g_file_test (job_folder, G_FILE_TEST_EXISTS), ==, half_launched[i].runs);
  if (!half_launched[i].runs)
    return;
  g_autofree char *gone = test_folder_file (folder, "gone");
  g_unlink (gone);
  g_autofree char *end
      = g_strdup_printf ("for f in $(grep -lzFx TOMODESK_JOB=%s /proc/[0-9]*/environ 2>/dev/null); "
                         "do kill -KILL $(echo $f | tr -dc 0-9); done",
                         job_folder);
  const char *const words[] = { "sh", "-c", end, NULL };
  g_spawn_sync (NULL, (char **) words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                NULL);
}

static void
test_half_launched (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (half_launched); i++)
    check_half_launched (i);
}

/* ── Which jobs there are ── */

static void
put_job (const char *folder, const char *id)
{
  g_autofree char *name = g_build_filename (id, "job.json", NULL);

  put (folder, name, "{\"profile\": \"near\"}");
}

/* The ids, with blanks between. (transfer full) */
static char *
found_ids (const TdClusterProfile *profile, guint n_problems)
{
  g_auto (GStrv) problems = NULL;
  g_autoptr (GPtrArray) jobs = td_jobs_find (profile, &problems, NULL);
  g_autoptr (GString) ids = g_string_new (NULL);

  for (guint i = 0; i < jobs->len; i++) {
    g_auto (TdRemoteFacts) facts = { 0 };
    td_remote_job_facts (jobs->pdata[i], &facts);
    g_string_append_printf (ids, "%s%s", i ? " " : "", facts.id);
  }
  g_assert_cmpuint (g_strv_length (problems), ==, n_problems);
  return g_strdup (ids->str);
}

static void
assert_found (const char *begins, const char *id, const char *says)
{
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdRemoteJob) job = td_jobs_find_one (begins, NULL, &error);

  g_assert_cmpint (job != NULL, ==, id != NULL);
  if (job)
    td_remote_job_facts (job, &facts);
  g_assert_cmpstr (facts.id, ==, id);
  if (says)
    g_assert_true (g_str_has_prefix (error->message, says));
}

/* Folders of jobs, here and where profiles have them, the newest first and each once. One is found
   by what its id begins with. */
static void
test_found (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *jobs = test_folder_file (folder, "tomodesk/jobs");
  g_autofree char *other = test_folder_file (folder, "other");
  g_autofree char *before = g_strdup (g_getenv ("XDG_CONFIG_HOME"));
  g_autofree char *text = g_strdup_printf ("[Profile]\nkind = local\njobs-folder = %s\n", other);
  g_autofree char *profiles = g_build_filename (before, "tomodesk", "profiles", NULL);

  test_folder_remove (profiles); /* of other tests */
  g_setenv ("XDG_DATA_HOME", folder->path, TRUE);
  put (before, "tomodesk/profiles/near.ini", text);
  put (before, "tomodesk/profiles/same.ini", text);
  put (before, "tomodesk/profiles/bad.ini", "[Profile]\nkind = cloud\n");
  put_job (jobs, "2026-1");
  put_job (jobs, "2026-10");
  put_job (other, "2026-2");
  put_job (other, "by hand");
  put (jobs, "2026-notes/text", "no job");
  g_autoptr (TdClusterProfile) near = td_cluster_profile_find ("near", NULL);
  g_autofree char *all = found_ids (NULL, 1), *there = found_ids (near, 0);
  g_assert_cmpstr (all, ==, "by hand 2026-2 2026-10 2026-1");
  g_assert_cmpstr (there, ==, "by hand 2026-2");
  assert_found ("2026-1", "2026-1", NULL); /* and no other that begins so */
  assert_found ("2026-10", "2026-10", NULL);
  assert_found ("by", "by hand", NULL);
  assert_found ("2026", NULL, "3 jobs begin with \"2026\": give more of the id");
  assert_found ("2027", NULL, "there is no job \"2027\" that can be reached: ");
  put (before, "tomodesk/profiles/bad.ini", NULL);
  assert_found ("2027", NULL, "there is no job \"2027\"; ");
  assert_found ("", NULL, "there is no job \"\"; ");
  assert_found (".2026-1", NULL, "\".2026-1\" is no job's id; ");
  assert_found ("../jobs/2026-1", NULL, "\"../jobs/2026-1\" is no job's id; ");
  g_unsetenv ("XDG_DATA_HOME");
}

/* One shell waits for all scripts of a host, which takes less than one for each. */
static const char ssh[]
    = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n";

int
main (int argc, char **argv)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *program = test_folder_file (folder, "ssh");
  g_autofree char *path = g_strconcat (folder->path, ":", g_getenv ("PATH"), NULL);

  g_test_init (&argc, &argv, NULL);
  put (folder->path, "ssh", ssh);
  g_assert_cmpint (g_chmod (program, 0700), ==, 0);
  g_setenv ("PATH", path, TRUE);
  g_setenv ("XDG_CONFIG_HOME", folder->path, TRUE);
  g_test_add_func ("/remote-job/states", test_states);
  g_test_add_func ("/remote-job/ends-meanwhile", test_ends_meanwhile);
  g_test_add_func ("/remote-job/events", test_events);
  g_test_add_func ("/remote-job/new-batch", test_new_batch);
  g_test_add_func ("/remote-job/refused", test_refused);
  g_test_add_func ("/remote-job/allowed", test_allowed);
  g_test_add_func ("/remote-job/cancelled", test_cancelled);
  g_test_add_func ("/remote-job/cancel-fails", test_cancel_fails);
  g_test_add_func ("/remote-job/submitted", test_submitted);
  g_test_add_func ("/remote-job/launched-all-the-same", test_launched_all_the_same);
  g_test_add_func ("/remote-job/half-launched", test_half_launched);
  g_test_add_func ("/remote-job/found", test_found);
  return g_test_run ();
}
