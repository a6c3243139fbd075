/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs about jobs of a cluster: submit, jobs, follow, cancel, profiles. */
#include <string.h>
#include <unistd.h>

#include "cli-recipe.h"
#include "cli-verbs.h"
#include "cluster/jobs-index.h"
#include "cluster/launch.h"
#include "cluster/model.h"
#include "cluster/own-job.h"
#include "cluster/worker.h"
#include "config.h"
#include "dataset/json-walk.h"
#include "dataset/number.h"

#define LOOK_US (G_USEC_PER_SEC / 2)
#define RETRY_US (3 * G_USEC_PER_SEC) /* after the connection was cut */

static const TdCliHelp submit_help = {
  "SCAN --output PATH --profile NAME [OPTION…]",
  "Reconstructs a scan on a cluster: the same recipe, computed by several processes. The profile\n"
  "says where and how; local:N runs N processes on this computer. Control-C ends the watching, "
  "not\n"
  "the job. The profile \"here\" is this computer alone, without MPI, as the window's jobs are.",
  "  tomodesk-cli submit scan.nxs --output volume.h5 --profile local:2\n"
  "  On a cluster, and on with other work:\n"
  "    tomodesk-cli submit scan.nxs -o volume.h5 --profile hall --detach\n"
  "  The job that failed once more; finished parts are not computed again:\n"
  "    tomodesk-cli submit --again 20261122-151800-3f2a91c0\n",
};
static const TdCliHelp run_help = {
  "FOLDER",
  "Carries out the job in a folder, as the window and \"submit --profile here\" start it: in the\n"
  "background of whatever else computes, one job after the other.",
  "  tomodesk-cli run ~/.local/share/tomodesk/jobs/20261122-151800-3f2a91c0\n",
};
static const TdCliHelp jobs_help = {
  "[OPTION…]",
  "Lists the jobs in the folders of all profiles: those of other computers and those that were\n"
  "started by hand, too.",
  "  tomodesk-cli jobs\n  tomodesk-cli jobs --profile hall --json\n",
};
static const TdCliHelp follow_help = {
  "ID [OPTION…]",
  "Shows how far a job is until it ends, and brings its volume here if it was written elsewhere.\n"
  "The beginning of the id suffices. A cut connection is taken up again.",
  "  tomodesk-cli follow 20261122-151800-3f2a91c0\n  tomodesk-cli follow 2026 --log\n",
};
static const TdCliHelp cancel_help = {
  "ID [OPTION…]",
  "Ends all processes of a job, and says so when none is left.",
  "  tomodesk-cli cancel 20261122-151800-3f2a91c0\n",
};
static const TdCliHelp profiles_help = {
  "[OPTION…]   or   profiles test NAME [OPTION…]   or   profiles benchmark NAME",
  "Lists the clusters that jobs can go to. With \"test\", runs a probe on each node of one: "
  "worker,\n"
  "devices, files, clock; and says what to change. With \"benchmark\", measures what its ranks do\n"
  "together, for \"plan --cluster\" and for the prediction that stands beside a job's times.",
  "  tomodesk-cli profiles\n  tomodesk-cli profiles test hall --read /data/scan.nxs\n"
  "  tomodesk-cli profiles benchmark hall\n",
};

/* ── Telling ── */

static void
cli_cluster_add_facts (JsonBuilder *builder, const TdRemoteFacts *facts)
{
  json_builder_begin_object (builder);
  td_json_add_string (builder, "id", facts->id);
  td_json_add_string (builder, "title", facts->title);
  td_json_add_string (builder, "profile", facts->profile);
  td_json_add_string (builder, "place", facts->place);
  td_json_add_string (builder, "folder", facts->folder);
  td_json_add_string (builder, "state", td_remote_state_name (facts->state));
  g_autofree char *why = td_message_words (facts->why, NULL);
  td_json_add_string (builder, "why", why);
  td_json_add_string (builder, "scheduler_id", facts->scheduler_id);
  td_json_add_string (builder, "output", facts->output);
  td_json_add_string (builder, "stage", facts->stage);
  td_json_add_number (builder, "fraction", facts->fraction);
  if (facts->seconds >= 0)
    td_json_add_number (builder, "seconds", facts->seconds);
  td_json_add_integer (builder, "ranks", facts->ranks);
  td_json_add_strings (builder, "rank_lines", facts->rank_lines);
  td_json_begin_list (builder, "slices");
  for (guint i = 0; i < facts->slices->len; i++)
    json_builder_add_int_value (builder, g_array_index (facts->slices, TdRemoteSlice, i).index);
  json_builder_end_array (builder);
  td_json_begin_list (builder, "notes");
  for (guint i = 0; facts->notes[i]; i++) {
    g_autofree char *words = td_message_words (facts->notes[i], NULL);
    json_builder_add_string_value (builder, words);
  }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

static int
cli_cluster_print_facts (const TdRemoteFacts *facts)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  cli_cluster_add_facts (builder, facts);
  return td_cli_print_json (builder);
}

static void
cli_cluster_print_problems (char **problems)
{
  for (guint i = 0; problems[i]; i++)
    td_cli_say ("note: %s", problems[i]);
}

/* ── Following ── */

static void
cli_cluster_on_fetched (double fraction, gpointer user)
{
  td_cli_progress ("fetching", fraction, -1, NULL);
}

static int
cli_cluster_end (TdRemoteJob *job, gboolean json)
{
  g_auto (TdRemoteFacts) facts = { 0 };
  g_autoptr (GError) error = NULL;
  const TdShellCopy copy = { FALSE, cli_cluster_on_fetched, NULL };

  td_remote_job_facts (job, &facts);
  if (facts.state == TD_REMOTE_DONE
      && !td_remote_job_fetch (job, &copy, td_cli_cancellable (), &error))
    return td_cli_fail (error);
  td_cli_progress_clear ();
  if (json)
    cli_cluster_print_facts (&facts);
  if (facts.state == TD_REMOTE_DONE) {
    if (!json)
      td_cli_print ("%s: %s, by job %s on %s\n", facts.output ? facts.output : facts.output_there,
                    td_remote_state_name (facts.state), facts.id, facts.place);
    for (guint i = 0; !json && facts.notes[i]; i++) {
      g_autofree char *words = td_message_words (facts.notes[i], NULL);
      td_cli_print ("  note  %s\n", words);
    }
    return TD_CLI_DONE;
  }
  g_autofree char *why = td_message_words (facts.why, NULL);
  td_cli_say ("job %s was %s%s%s", facts.id,
              facts.state == TD_REMOTE_CANCELLED ? "cancelled"
              : facts.state == TD_REMOTE_LOST    ? "lost"
                                                 : "not done",
              why ? ": " : "", why ? why : "");
  return facts.state == TD_REMOTE_CANCELLED ? TD_CLI_CANCELLED : TD_CLI_FAILED;
}

/* A line for a change of state or stage where standard error is no terminal, and for what is wrong
   anywhere. */
static void
cli_cluster_show (const TdRemoteFacts *facts, char **shown)
{
  g_autofree char *why = td_message_words (facts->why, NULL);
  g_autofree char *key = g_strdup_printf (
      "%s%s%s%s%s", td_remote_state_name (facts->state), facts->stage ? ", " : "",
      facts->stage ? facts->stage : "", why ? ": " : "", why ? why : "");

  if (facts->state == TD_REMOTE_RUNNING || facts->state == TD_REMOTE_QUEUED)
    td_cli_progress (facts->stage && facts->state == TD_REMOTE_RUNNING
                         ? facts->stage
                         : td_remote_state_name (facts->state),
                     facts->fraction, facts->left_s, NULL);
  if ((why || !isatty (STDERR_FILENO)) && g_strcmp0 (key, *shown) != 0) {
    td_cli_progress_clear ();
    td_cli_say ("%s", key);
  }
  g_free (*shown);
  *shown = g_steal_pointer (&key);
}

/* Ranks that are told of while a job is followed; "jobs --json" tells of all. */
#define TOLD_RANKS 16

/* What each rank is and does, once. */
static void
cli_cluster_show_ranks (const TdRemoteFacts *facts, guint *told)
{
  const guint n = g_strv_length (facts->rank_lines);

  for (; *told < MIN (n, TOLD_RANKS); (*told)++)
    td_cli_say ("%s", facts->rank_lines[*told]);
  if (n > TOLD_RANKS && n == facts->ranks && *told == TOLD_RANKS) {
    td_cli_say ("%u ranks more: \"tomodesk-cli jobs --json\" tells of them", n - TOLD_RANKS);
    (*told)++;
  }
}

/* How a job is followed. */
typedef struct {
  gboolean json;
  const char *slice; /* where the first slice goes; NULL: nowhere */
} Following;

/* TRUE: the slice is there, or none is wanted. */
static gboolean
cli_cluster_save_slice (TdRemoteJob *job, const TdRemoteFacts *facts, const char *path)
{
  g_autoptr (GError) error = NULL;

  if (!path || facts->slices->len == 0)
    return path == NULL;
  g_autoptr (GBytes) bytes = td_remote_job_read (
      job, g_array_index (facts->slices, TdRemoteSlice, 0).path, td_cli_cancellable (), &error);
  if (!bytes
      || !g_file_set_contents (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes),
                               &error))
    td_cli_say ("note: the slice is not saved: %s", error->message);
  return TRUE;
}

static int
cli_cluster_follow (TdRemoteJob *job, const Following *following)
{
  GCancellable *cancellable = td_cli_cancellable ();
  g_autofree char *shown = NULL;
  const char *slice = following->slice;
  guint told = 0;

  for (;;) {
    g_auto (TdRemoteFacts) facts = { 0 };
    g_autoptr (GError) error = NULL;
    const gboolean reached = td_remote_job_look (job, cancellable, &error);

    td_remote_job_facts (job, &facts);
    if (g_cancellable_is_cancelled (cancellable)) {
      td_cli_progress_clear ();
      td_cli_say ("job %s goes on; \"tomodesk-cli cancel %s\" ends it", facts.id, facts.id);
      return TD_CLI_CANCELLED;
    }
    cli_cluster_show (&facts, &shown);
    if (facts.ranks > 1)
      cli_cluster_show_ranks (&facts, &told);
    if (reached && cli_cluster_save_slice (job, &facts, slice))
      slice = NULL;
    if (reached && td_remote_state_ended (facts.state))
      return cli_cluster_end (job, following->json);
    g_usleep (reached ? LOOK_US : RETRY_US);
  }
}

int
td_cli_follow (int argc, char **argv)
{
  gboolean json = FALSE, log = FALSE, overwrite = FALSE;
  char *slice = NULL;
  const GOptionEntry entries[] = {
    { "slice", 0, 0, G_OPTION_ARG_FILENAME, &slice,
      "Save the slice that is computed first, as soon as it is there", "FILE" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &overwrite, "Replace FILE", NULL },
    { "log", 0, 0, G_OPTION_ARG_NONE, &log, "Print what the job printed, and end", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object at the end", NULL },
    { NULL },
  };
  const char *id = NULL;
  g_autoptr (GError) error = NULL;
  const int status = td_cli_parse (argc, argv, &follow_help, entries, NULL, 1, &id);

  if (status >= 0)
    return status;
  if (log && (json || slice))
    return td_cli_usage (argv[0], "--log prints and ends: neither --slice nor --json is used then");
  if (!td_cli_may_write (slice, overwrite, &error))
    return td_cli_fail (error);
  g_autoptr (TdRemoteJob) job = td_jobs_find_one (id, td_cli_cancellable (), &error);
  if (!job)
    return td_cli_fail (error);
  if (!log)
    return cli_cluster_follow (job, &(Following) { json, slice });
  g_autofree char *text = td_remote_job_log (job, td_cli_cancellable (), &error);
  if (!text)
    return td_cli_fail (error);
  return td_cli_print_text (text);
}

/* ── Submitting ── */

typedef struct {
  char *output, *profile, *mode, *grid, *again;
  int view_slice;
  gboolean overwrite, ordered, detach, json;
} Submission;

/* The profile's wishes, and over them what was typed. -1 to go on. */
static int
cli_cluster_wish (const Submission *submission, const TdCliRecipe *recipe, TdClusterWish *wish)
{
  gint64 grid[2];

  if (recipe->recipe.device_memory_limit_bytes
      && !g_str_equal (submission->profile, TD_CLUSTER_OWN))
    return td_cli_usage ("submit", "--memory-limit is that of a rank and of its device; "
                                   "--device-memory-limit is for this computer");
  if (submission->mode && !td_cluster_mode_from_name (submission->mode, &wish->mode))
    return td_cli_usage ("submit", "--cluster-mode is slab, ifdk or slices");
  if (submission->grid) {
    if (!td_parse_integers (submission->grid, 'x', 1, 100000, grid, 2))
      return td_cli_usage ("submit", "--grid is RxC, such as 2x4");
    wish->rows = (guint) grid[0];
    wish->columns = (guint) grid[1];
  }
  wish->ordered |= submission->ordered;
  wish->view_slice = submission->view_slice;
  if (!g_str_equal (recipe->recipe.devices, "auto"))
    wish->device = (char *) recipe->recipe.devices;
  if (recipe->recipe.memory_limit_bytes)
    wish->memory_bytes = recipe->recipe.memory_limit_bytes;
  return -1;
}

static int
cli_cluster_submitted (TdRemoteJob *job, const Submission *submission)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  if (submission->detach && submission->json)
    return cli_cluster_print_facts (&facts);
  if (submission->detach) {
    td_cli_print ("%s\n", facts.id);
    return TD_CLI_DONE;
  }
  td_cli_say ("job %s on %s", facts.id, facts.place);
  return cli_cluster_follow (job, &(Following) { submission->json, NULL });
}

static int
cli_cluster_submit (TdCliRecipe *recipe, const char *path, const Submission *submission)
{
  g_autoptr (GError) error = NULL;
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdClusterProfile) profile = td_cluster_profile_find (submission->profile, &error);

  if (!profile)
    return td_cli_fail (error);
  TdClusterWish wish = profile->wish;
  int status = cli_cluster_wish (submission, recipe, &wish);
  if (status >= 0)
    return status;
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, cancellable, &error);
  if (!scan)
    return td_cli_fail (error);
  status = td_cli_recipe_check (recipe, "submit", td_scan_facts (scan));
  if (status >= 0)
    return status;
  if (!td_recipe_check (&recipe->recipe, td_scan_facts (scan), &error))
    return td_cli_fail (error);
  g_auto (GStrv) settings = td_cli_recipe_scan_settings (recipe);
  g_autofree char *output = g_canonicalize_filename (submission->output, NULL);
  const TdRemoteOrder order
      = { scan, settings, &recipe->recipe, output, submission->overwrite, wish };
  g_autoptr (TdRemoteJob) job = td_remote_job_new (profile, &order);
  if (!td_remote_job_submit (job, cancellable, &error))
    return td_cli_fail (error);
  return cli_cluster_submitted (job, submission);
}

static int
cli_cluster_again (const Submission *submission, const TdCliRecipe *recipe)
{
  g_autoptr (GError) error = NULL;

  if (submission->output || submission->profile || submission->mode || submission->grid
      || submission->view_slice >= 0 || submission->overwrite || submission->ordered
      || recipe->settings->len > 0)
    return td_cli_usage ("submit", "--again goes on as the job was submitted: only --detach and "
                                   "--json are used beside it");
  g_autoptr (TdRemoteJob) job = td_jobs_find_one (submission->again, td_cli_cancellable (), &error);

  if (!job || !td_remote_job_again (job, td_cli_cancellable (), &error))
    return td_cli_fail (error);
  return cli_cluster_submitted (job, submission);
}

static gboolean
cli_cluster_says_again (int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (g_str_has_prefix (argv[i], "--again"))
      return TRUE;
  return FALSE;
}

int
td_cli_submit (int argc, char **argv)
{
  Submission submission = { .view_slice = -1 };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &submission.output, "Where the volume goes",
      "PATH" },
    { "profile", 0, 0, G_OPTION_ARG_STRING, &submission.profile,
      "The cluster: a profile, or local:N for N processes here", "NAME" },
    { "detach", 0, 0, G_OPTION_ARG_NONE, &submission.detach,
      "Print the job's id and end, without following the job", NULL },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &submission.overwrite, "Replace what is at PATH",
      NULL },
    { "cluster-mode", 0, 0, G_OPTION_ARG_STRING, &submission.mode,
      "How processes share the work: slab, ifdk or slices", "MODE" },
    { "grid", 0, 0, G_OPTION_ARG_STRING, &submission.grid,
      "Parts of the volume times groups of views", "RxC" },
    { "ordered", 0, 0, G_OPTION_ARG_NONE, &submission.ordered,
      "Add views in their order: the bits of a single process", NULL },
    { "view-slice", 0, 0, G_OPTION_ARG_INT, &submission.view_slice,
      "Compute this slice first, to look at", "N" },
    { "again", 0, 0, G_OPTION_ARG_STRING, &submission.again,
      "Go on with a job that has ended without a volume, as it was submitted", "ID" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &submission.json, "Print one JSON object", NULL },
    { NULL },
  };
  const gboolean again = cli_cluster_says_again (argc, argv);
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };
  int status = td_cli_recipe_parse (&recipe, again ? 0 : TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv,
                                    &submit_help, entries, &path);

  if (status >= 0)
    return status;
  if (again)
    return cli_cluster_again (&submission, &recipe);
  if (!submission.output)
    return td_cli_usage (argv[0], "say with --output where the volume goes");
  if (!submission.profile)
    return td_cli_usage (argv[0], "say with --profile which cluster computes: \"tomodesk-cli "
                                  "profiles\" lists them, and local:2 is this computer");
  td_cli_recipe_choose_format (&recipe, submission.output);
  return cli_cluster_submit (&recipe, path, &submission);
}

/* ── The process of a job ── */

int
td_cli_run (int argc, char **argv)
{
  const char *folder = NULL;
  int status = td_cli_parse (argc, argv, &run_help, NULL, NULL, 1, &folder);

  if (status >= 0)
    return status;
  g_autofree char *whole = g_canonicalize_filename (folder, NULL);
  status = td_own_job_run (whole);
  return status == TD_WORKER_DONE        ? TD_CLI_DONE
         : status == TD_WORKER_CANCELLED ? TD_CLI_CANCELLED
                                         : TD_CLI_FAILED;
}

/* ── Lists ── */

static int
cli_cluster_print_jobs (GPtrArray *jobs, char **problems, gboolean json)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_begin_list (builder, "jobs");
  for (guint i = 0; i < jobs->len; i++) {
    g_auto (TdRemoteFacts) facts = { 0 };
    td_remote_job_facts (jobs->pdata[i], &facts);
    g_autofree char *line = td_remote_facts_line (&facts);
    if (!json)
      td_cli_print ("%s  %-12s  %-20s  %s\n", facts.id, *facts.profile ? facts.profile : "by hand",
                    facts.title, line);
    cli_cluster_add_facts (builder, &facts);
  }
  json_builder_end_array (builder);
  td_json_add_strings (builder, "problems", problems);
  json_builder_end_object (builder);
  return json ? td_cli_print_json (builder) : TD_CLI_DONE;
}

int
td_cli_jobs (int argc, char **argv)
{
  gboolean json = FALSE;
  char *name = NULL;
  const GOptionEntry entries[] = {
    { "profile", 0, 0, G_OPTION_ARG_STRING, &name, "Jobs in the folder of this profile alone",
      "NAME" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) problems = NULL;
  const int status = td_cli_parse (argc, argv, &jobs_help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  g_autoptr (TdClusterProfile) profile = name ? td_cluster_profile_find (name, &error) : NULL;
  if (error)
    return td_cli_fail (error);
  g_autoptr (GPtrArray) jobs = td_jobs_find (profile, &problems, td_cli_cancellable ());
  cli_cluster_print_problems (problems);
  return cli_cluster_print_jobs (jobs, problems, json);
}

int
td_cli_cancel (int argc, char **argv)
{
  const char *id = NULL;
  g_autoptr (GError) error = NULL;
  const int status = td_cli_parse (argc, argv, &cancel_help, NULL, NULL, 1, &id);

  if (status >= 0)
    return status;
  g_autoptr (TdRemoteJob) job = td_jobs_find_one (id, td_cli_cancellable (), &error);
  if (!job || !td_remote_job_cancel (job, td_cli_cancellable (), &error))
    return td_cli_fail (error);
  g_auto (TdRemoteFacts) facts = { 0 };
  td_remote_job_facts (job, &facts);
  td_cli_print ("%s: %s; none of its processes is left on %s\n", facts.id,
                td_remote_state_name (facts.state), facts.place);
  return TD_CLI_DONE;
}

/* ── Profiles ── */

static int
cli_cluster_list_profiles (gboolean json)
{
  g_auto (GStrv) problems = NULL;
  g_autoptr (GPtrArray) profiles = td_cluster_profiles (&problems);
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  cli_cluster_print_problems (problems);
  json_builder_begin_object (builder);
  td_json_begin_list (builder, "profiles");
  for (guint i = 0; i < profiles->len; i++) {
    const TdClusterProfile *profile = profiles->pdata[i];
    if (!json)
      td_cli_print ("%-16s %-6s %3u ranks  %-16s %s\n", profile->name,
                    td_cluster_kind_name (profile->kind), td_cluster_profile_ranks (profile),
                    profile->host ? profile->host : "this computer",
                    profile->description ? profile->description : "");
    json_builder_begin_object (builder);
    td_json_add_string (builder, "name", profile->name);
    td_json_add_string (builder, "file", profile->file);
    td_json_add_string (builder, "kind", td_cluster_kind_name (profile->kind));
    td_json_add_string (builder, "host", profile->host);
    td_json_add_integer (builder, "ranks", td_cluster_profile_ranks (profile));
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  if (json)
    return td_cli_print_json (builder);
  td_cli_print ("%-16s %-6s   N ranks  %-16s %s\n", "local:N", "local", "this computer",
                "always there");
  td_cli_print ("%-16s %-6s   1 rank   %-16s %s\n", "here", "here", "this computer",
                "always there, without MPI");
  return TD_CLI_DONE;
}

/* The files that a node cannot use; returns how many. */
static guint
cli_cluster_print_paths (JsonNode *probe, const char *member, const char *what)
{
  JsonArray *paths = td_json_list (probe, member);
  guint bad = 0;

  for (guint i = 0; paths && i < json_array_get_length (paths); i++) {
    JsonNode *path = json_array_get_element (paths, i);
    const gboolean ok = td_json_true (path, "ok");
    const char *reason = td_json_string (path, "reason");

    td_cli_print ("    %s %s: %s%s%s\n", what, td_json_string (path, "path"), ok ? "yes" : "NO",
                  !ok && reason ? ", " : "", !ok && reason ? reason : "");
    bad += !ok;
  }
  return bad;
}

static guint
cli_cluster_print_devices (JsonNode *probe)
{
  JsonArray *devices = td_json_list (probe, "devices");
  const guint n = devices ? json_array_get_length (devices) : 0;
  guint bad = 0;

  for (guint i = 0; i < n; i++) {
    JsonNode *device = json_array_get_element (devices, i);
    const char *id = td_json_string (device, "id"), *name = td_json_string (device, "name");
    const char *test = td_json_string (device, "self_test");
    td_cli_print ("    device %s: %s%s%s\n", id ? id : "?", name ? name : "",
                  test ? " NOT SOUND: " : "", test ? test : "");
    bad += test != NULL;
  }
  if (n == 0)
    td_cli_print ("    no device that can compute: see \"tomodesk-cli devices\" there\n");
  return bad + (n == 0);
}

static double
cli_cluster_now_s (void)
{
  return (double) g_get_real_time () / G_USEC_PER_SEC;
}

/* A node's answer; returns how many things must be changed. */
static guint
cli_cluster_print_probe (JsonNode *probe, double asked_s)
{
  const char *node = td_json_string (probe, "node"), *version = td_json_string (probe, "version");
  /* It answered at some time since it was asked, perhaps after a queue. */
  const double answer_s = td_json_number (probe, "time");
  const double clock = answer_s - CLAMP (answer_s, asked_s, cli_cluster_now_s ());
  guint bad = 0;

  td_cli_print ("  node %s, worker %s\n", node ? node : "?", version ? version : "?");
  if (g_strcmp0 (version, TD_VERSION) != 0) {
    td_cli_print ("    the worker is of version %s, this program of %s: install the same on both\n",
                  version ? version : "?", TD_VERSION);
    bad++;
  }
  bad += cli_cluster_print_devices (probe);
  bad += cli_cluster_print_paths (probe, "read", "reads");
  bad += cli_cluster_print_paths (probe, "write", "writes");
  if (clock > 60 || clock < -60)
    td_cli_print ("    its clock is %.0f s off this computer's: times shown will be wrong\n",
                  clock);
  return bad;
}

static int
cli_cluster_test (const char *name, char **reads)
{
  g_autoptr (GError) error = NULL;
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdClusterProfile) profile = td_cluster_profile_find (name, &error);
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  guint bad = 0, nodes = 0;

  if (!profile || !td_launch_check_worker (profile, cancellable, &error))
    return td_cli_fail (error);
  for (guint i = 0; reads && reads[i]; i++) {
    g_autofree char *whole = g_canonicalize_filename (reads[i], NULL);
    char *there = td_cluster_profile_to_remote (profile, whole);
    if (there)
      g_ptr_array_add (paths, there);
    else
      td_cli_print ("  %s is under no folder of \"map\": it %s\n", whole,
                    profile->staging ? "would be copied by rsync" : "cannot be read there");
  }
  g_ptr_array_add (paths, NULL);
  const double asked_s = cli_cluster_now_s ();
  td_cli_say ("each node of \"%s\" is asked, and has %u s to answer", name, TD_LAUNCH_PROBE_S);
  g_autofree char *text
      = td_launch_probe (profile, (const char *const *) paths->pdata, cancellable, &error);
  if (!text)
    return td_cli_fail (error);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autoptr (JsonNode) probe = td_json_parse (lines[i]);
    if (!probe)
      continue;
    nodes++;
    bad += cli_cluster_print_probe (probe, asked_s);
  }
  if (nodes < profile->nodes) {
    td_cli_print ("  %u of %u nodes answered\n", nodes, profile->nodes);
    bad++;
  }
  td_cli_print ("%s: %s\n", profile->name, bad ? "something must be changed, see above" : "ready");
  return bad ? TD_CLI_FAILED : TD_CLI_DONE;
}

/* Measures a profile's machine, and keeps the constants for plans and jobs. */
static int
cli_cluster_benchmark (const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdClusterProfile) profile = td_cluster_profile_find (name, &error);
  g_autofree char *file = td_cluster_profile_machine_file (name);
  g_autofree char *folder = g_path_get_dirname (file);
  const char *words = NULL;
  TdModelMachine machine;

  if (!profile || !td_launch_check_worker (profile, td_cli_cancellable (), &error))
    return td_cli_fail (error);
  td_cli_say ("all ranks of \"%s\" measure, and have %u s to meet and to be done", name,
              TD_LAUNCH_BENCHMARK_S);
  g_autofree char *text = td_launch_benchmark (profile, td_cli_cancellable (), &error);
  if (!text)
    return td_cli_fail (error);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (g_str_has_prefix (lines[i], "machine "))
      words = lines[i] + strlen ("machine ");
    else if (g_str_has_prefix (lines[i], "note "))
      td_cli_say ("note: %s", lines[i] + strlen ("note "));
  if (!words)
    td_set_error (&error, TD_ERROR_IO, "the benchmark of %s ended without a result", name);
  g_mkdir_with_parents (folder, 0700);
  if (!words || !td_model_machine_parse (&machine, words, &error)
      || !g_file_set_contents (file, words, -1, &error))
    return td_cli_fail (error);
  g_autofree char *described = td_model_machine_describe (&machine);
  td_cli_print ("%s%s: \"plan --cluster %s\" and jobs take these from now on\n", described, file,
                name);
  return TD_CLI_DONE;
}

int
td_cli_profiles (int argc, char **argv)
{
  gboolean json = FALSE;
  char **reads = NULL;
  const GOptionEntry entries[] = {
    { "read", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &reads,
      "With \"test\": a file that nodes must be able to read", "PATH" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print the list as one JSON object", NULL },
    { NULL },
  };
  const char *words[2] = { NULL };
  const gboolean test = argc > 1 && g_str_equal (argv[1], "test");
  const gboolean benchmark = argc > 1 && g_str_equal (argv[1], "benchmark");
  const int status
      = td_cli_parse (argc, argv, &profiles_help, entries, NULL, test || benchmark ? 2 : 0, words);

  if (status >= 0)
    return status;
  if ((reads && !test) || (json && (test || benchmark)))
    return td_cli_usage (argv[0], "--read is used with \"test\", and --json with the list alone");
  return benchmark ? cli_cluster_benchmark (words[1])
         : test    ? cli_cluster_test (words[1], reads)
                   : cli_cluster_list_profiles (json);
}
