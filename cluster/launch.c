/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch.h"

#include <string.h>

#include "compute/recipe/json.h"
#include "config.h"
#include "dataset/json-walk.h"
#include "dataset/message.h"
#include "worker.h"

#define PLAIN "_-./:@%+,=" /* letters that a shell leaves alone, besides letters and digits */
#define CHECK_LIMIT_S 60
#define NOT_FOUND 127 /* a shell's status for a program that is not there */
#define NOT_RUN 126

/* MPIs bind a rank to one core, which leaves the others idle, and refuse more ranks than cores.
   Each reads its own variables, and options of the launcher go before them. */
static const char *const mpi_settings[] = {
  "OMPI_MCA_hwloc_base_binding_policy=none",
  "PRTE_MCA_hwloc_default_binding_policy=none",
  /* On this computer: */
  "OMPI_MCA_rmaps_base_oversubscribe=1",
  "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
};
#define FOR_MPIRUN 2 /* of them */

/* ── Words ── */

static char *
launch_quote (const char *word)
{
  for (const char *at = word; *at; at++)
    if (!g_ascii_isalnum (*at) && !strchr (PLAIN, *at))
      return g_shell_quote (word);
  return *word ? g_strdup (word) : g_strdup ("''");
}

static char *
launch_join (char *const *words)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; words[i]; i++) {
    g_autofree char *quoted = launch_quote (words[i]);
    g_string_append_printf (text, "%s%s", i ? " " : "", quoted);
  }
  return g_string_free (text, FALSE);
}

G_GNUC_PRINTF (2, 3)
static void
launch_add (GStrvBuilder *words, const char *format, ...)
{
  va_list values;

  va_start (values, format);
  g_autofree char *word = g_strdup_vprintf (format, values);
  va_end (values);
  g_strv_builder_add (words, word);
}

/* The set-up is for each node, and who launches by ssh takes none of its variables along. Nor does
   each MPI say on which node a program is missing. */
static void
launch_add_setup (const TdClusterProfile *profile, GStrvBuilder *words)
{
  if (profile->kind != TD_CLUSTER_SSH || profile->nodes == 1)
    return;
  g_strv_builder_add_many (words, "sh", "-c", NULL);
  launch_add (words,
              "{ :\n%s\n} >&2\n"
              "command -v \"$1\" >/dev/null || {\n"
              "echo \"tomodesk-worker: $(uname -n) has no program $1\" >&2; exit 127; }\n"
              "exec \"$@\"",
              profile->setup ? profile->setup : "");
  g_strv_builder_add (words, "sh");
}

/* The container's words, the worker, and @rest up to NULL. */
static void
launch_add_worker (const TdClusterProfile *profile, GStrvBuilder *words, const char *const *rest)
{
  g_strv_builder_addv (words, (const char **) profile->container);
  g_strv_builder_add (words, profile->worker);
  g_strv_builder_addv (words, (const char **) rest);
}

/* What launches all ranks of the profile, each a process of the worker. (transfer full) */
static char **
launch_command (const TdClusterProfile *profile, const char *const *rest)
{
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  g_autofree char *program
      = profile->launcher[0] ? g_path_get_basename (profile->launcher[0]) : g_strdup ("");
  const gboolean mpirun
      = g_str_has_prefix (program, "mpirun") || g_str_has_prefix (program, "mpiexec");
  const guint n_settings = profile->kind == TD_CLUSTER_LOCAL ? G_N_ELEMENTS (mpi_settings)
                           : mpirun                          ? FOR_MPIRUN
                                                             : 0;

  if (n_settings)
    g_strv_builder_add (words, "env");
  for (guint i = 0; i < n_settings; i++)
    g_strv_builder_add (words, mpi_settings[i]);
  g_strv_builder_addv (words, (const char **) profile->launcher);
  if (mpirun) {
    g_strv_builder_add (words, "-n");
    launch_add (words, "%u", td_cluster_profile_ranks (profile));
  }
  launch_add_setup (profile, words);
  launch_add_worker (profile, words, rest);
  return g_strv_builder_end (words);
}

/* ── run.sh ── */

/* The status of the launcher is kept. It tells an end without a word from the worker from a job
   that never started. The shell waits in the background of its traps, which a signal then reaches
   at once. */
static const char own_script[]
    = "#!/bin/sh\n"
      "# Job @ID@ of Tomodesk: starts the worker, and keeps the status of its launcher.\n"
      "TOMODESK_JOB=@FOLDER@\n"
      "export TOMODESK_JOB\n"
      "cd \"$TOMODESK_JOB\" || exit 1\n"
      "mkdir -p log\n"
      "rm -rf log/status log/signal " TD_WORKER_RANKS "\n"
      "# When a process has ended, srun ends the others: before they met, nobody else can.\n"
      "SLURM_KILL_BAD_EXIT=1\n"
      "export SLURM_KILL_BAD_EXIT\n"
      "@SETUP@\n"
      "told=$(cat events.jsonl 2>/dev/null | wc -c)\n"
      "@COMMAND@ &\n"
      "child=$!\n"
      "# The ranks tell the end. A launcher waits for minutes more for a node that is gone.\n"
      "(\n"
      "  trap 'kill $nap; exit' TERM INT HUP\n"
      "  rest () { sleep \"$1\" & nap=$!; wait $nap; }\n"
      "  until tail -c +$((told + 1)) events.jsonl | grep -Eq '\"event\": "
      "?\"(failed|cancelled)\"'\n"
      "  do kill -0 $$ || exit; rest 2; done\n"
      "  rest 4; kill -TERM $child; rest 1; kill -KILL $child\n"
      ") 2>/dev/null &\n"
      "guard=$!\n"
      "trap 'echo TERM > log/signal; kill -TERM $child 2>/dev/null' TERM INT HUP\n"
      "wait $child\n"
      "status=$?\n"
      "while kill -0 $child 2>/dev/null; do wait $child; status=$?; done\n"
      "{ kill $guard; wait $guard; } 2>/dev/null\n"
      "echo $status > log/status.part && mv log/status.part log/status\n"
      "exit $status\n";

typedef struct {
  const char *name;
  char *value; /* as it stands in the script; NULL: nothing was said */
} Variable;

static const Variable *
launch_find_variable (const Variable *variables, const char *name, gsize n)
{
  for (; variables->name; variables++)
    if (strlen (variables->name) == n && strncmp (variables->name, name, n) == 0)
      return variables;
  return NULL;
}

/* The length of a NAME that is followed by an @; 0: it is none. */
static gsize
launch_name_length (const char *text)
{
  gsize n = 0;

  while (g_ascii_isupper (text[n]) || text[n] == '_')
    n++;
  return text[n] == '@' ? n : 0;
}

/* One line with its variables; NULL: it is dropped, since it asks the scheduler for something that
   the profile leaves open. */
static char *
launch_expand_line (const char *line, const Variable *variables, const char *name, GError **error)
{
  GString *text = g_string_new (NULL);
  gboolean open = FALSE;

  for (const char *at = line; *at; at++) {
    const gsize n = *at == '@' ? launch_name_length (at + 1) : 0;
    const Variable *variable = n ? launch_find_variable (variables, at + 1, n) : NULL;

    if (n && !variable) {
      td_set_error (error, TD_ERROR_BAD_FILE,
                    "the template of the profile \"%s\" uses @%.*s@, which is no variable; the "
                    "guide to clusters lists them",
                    name, (int) n, at + 1);
      g_string_free (text, TRUE);
      return NULL;
    }
    if (!variable) {
      g_string_append_c (text, *at);
      continue;
    }
    open |= variable->value == NULL;
    g_string_append (text, variable->value ? variable->value : "");
    at += n + 1;
  }
  if (!open || !g_str_has_prefix (line, "#"))
    return g_string_free (text, FALSE);
  g_string_free (text, TRUE);
  return NULL;
}

static char *
launch_expand (const char *template, const Variable *variables, const char *name, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (template, "\n", -1);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; lines[i]; i++) {
    g_autoptr (GError) problem = NULL;
    g_autofree char *line = launch_expand_line (lines[i], variables, name, &problem);

    if (problem) {
      g_propagate_error (error, g_steal_pointer (&problem));
      return NULL;
    }
    if (line)
      g_string_append_printf (text, "%s%s", line, lines[i + 1] ? "\n" : "");
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
td_launch_script (const TdClusterProfile *profile, const char *id, const char *folder,
                  GError **error)
{
  const char *const rest[] = { "run", folder, NULL };
  g_auto (GStrv) command = launch_command (profile, rest);
  const gboolean cards = profile->cards_per_rank > 0;
  const char *given = cards ? profile->template_gpu : profile->template_cpu;
  const Variable variables[] = {
    { "ID", launch_quote (id) },
    { "FOLDER", launch_quote (folder) },
    { "COMMAND", launch_join (command) },
    { "LAUNCHER", launch_join (profile->launcher) },
    { "CONTAINER", launch_join (profile->container) },
    { "WORKER", launch_quote (profile->worker) },
    { "SETUP", g_strdup (profile->setup ? profile->setup : "") },
    { "NODES", g_strdup_printf ("%u", profile->nodes) },
    { "RANKS", g_strdup_printf ("%u", td_cluster_profile_ranks (profile)) },
    { "RANKS_PER_NODE", g_strdup_printf ("%u", profile->ranks_per_node) },
    { "CARDS_PER_RANK", cards ? g_strdup_printf ("%u", profile->cards_per_rank) : NULL },
    { "CARDS_PER_NODE",
      cards ? g_strdup_printf ("%u", profile->cards_per_rank * profile->ranks_per_node) : NULL },
    { "PARTITION", profile->partition ? launch_quote (profile->partition) : NULL },
    { "TIME", profile->time ? launch_quote (profile->time) : NULL },
    { "ACCOUNT", profile->account ? launch_quote (profile->account) : NULL },
    { NULL },
  };
  char *text = launch_expand (given ? given : own_script, variables, profile->name, error);

  for (const Variable *at = variables; at->name; at++)
    g_free (at->value);
  return text;
}

/* ── sbatch ── */

static void
launch_add_nodes (const TdClusterProfile *profile, guint ranks_per_node, const char *time,
                  GStrvBuilder *words)
{
  launch_add (words, "--nodes=%u", profile->nodes);
  launch_add (words, "--ntasks-per-node=%u", ranks_per_node);
  if (profile->cards_per_rank)
    launch_add (words, "--gpus-per-node=%u", profile->cards_per_rank * profile->ranks_per_node);
  if (profile->partition)
    launch_add (words, "--partition=%s", profile->partition);
  if (time)
    launch_add (words, "--time=%s", time);
  if (profile->account)
    launch_add (words, "--account=%s", profile->account);
}

char **
td_launch_words (const TdClusterProfile *profile, const char *id, const char *folder)
{
  const gboolean given
      = profile->cards_per_rank ? profile->template_gpu != NULL : profile->template_cpu != NULL;
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  g_auto (GStrv) parts = g_strsplit (folder, "%", -1);
  g_autofree char *logs = g_strjoinv ("%%", parts); /* one alone begins a name of Slurm's */

  if (profile->kind != TD_CLUSTER_SLURM)
    return NULL;
  g_strv_builder_add (words, "--parsable");
  launch_add (words, "--job-name=tomodesk-%s", id);
  launch_add (words, "--chdir=%s", folder);
  launch_add (words, "--output=%s/log/stdout", logs);
  launch_add (words, "--error=%s/log/stderr", logs);
  if (!given) /* a template asks for these itself */
    launch_add_nodes (profile, profile->ranks_per_node, profile->time, words);
  g_strv_builder_addv (words, (const char **) profile->scheduler_options);
  launch_add (words, "%s/run.sh", folder);
  return g_strv_builder_end (words);
}

char *
td_launch_record (const TdClusterProfile *profile, char **words, const TdLaunchOutput *output)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "profile", profile->name);
  td_json_add_string (builder, "kind", td_cluster_kind_name (profile->kind));
  td_json_add_string (builder, "submit_host", profile->host);
  td_json_add_strings (builder, "scheduler_words", words);
  td_json_begin_object (builder, "output");
  td_json_add_string (builder, "here", output->here);
  td_json_add_string (builder, "there", output->there);
  td_json_add_boolean (builder, "fetch", output->fetch);
  json_builder_end_object (builder);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  char *text = td_json_text (root, FALSE);
  *strrchr (text, '}') = '\0';
  return text;
}

/* ── The worker there ── */

gboolean
td_launch_check_worker (const TdClusterProfile *profile, GCancellable *cancellable, GError **error)
{
  const char *const rest[] = { "--version", NULL };
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autofree char *script
      = g_strdup_printf ("{ :\n%s\n} >&2\n\"$@\"", profile->setup ? profile->setup : "");
  TdShell *shell = td_cluster_profile_shell (profile);
  g_auto (TdShellResult) result = { 0 };

  launch_add_worker (profile, builder, rest);
  g_auto (GStrv) words = g_strv_builder_end (builder);
  if (!td_shell_run (shell, script, (const char *const *) words, CHECK_LIMIT_S, &result,
                     cancellable, error))
    return FALSE;
  if (result.status == NOT_FOUND || result.status == NOT_RUN) {
    if (profile->kind == TD_CLUSTER_SLURM)
      return TRUE;
    return td_set_error (
        error, TD_ERROR_NOT_FOUND,
        "%s has no program \"%s\" (%p): install Tomodesk %s there, or set \"worker\" or \"setup\" "
        "in the profile \"%s\"",
        td_shell_name (shell), profile->container[0] ? profile->container[0] : profile->worker,
        td_message_quoted (result.error, N_ ("it said nothing")), TD_VERSION, profile->name);
  }
  g_autofree char *line = g_strndup (result.out, strcspn (result.out, "\n"));
  g_auto (GStrv) parts = g_strsplit_set (line, " :", 3);
  const char *version = g_strv_length (parts) >= 2 ? parts[1] : NULL;
  const char *name = profile->kind == TD_CLUSTER_HERE ? "tomodesk-cli" : "tomodesk-worker";
  const gboolean ours = result.status == 0 && version && g_str_equal (parts[0], name);
  if (ours && g_str_equal (version, TD_VERSION))
    return TRUE;
  if (ours)
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        "the worker on %s is of version %s, and this program is of version %s: install "
        "the same on both",
        td_shell_name (shell), version, TD_VERSION);
  return td_set_error (error, TD_ERROR_UNSUPPORTED, "the worker \"%s\" on %s does not run: %p",
                       profile->worker, td_shell_name (shell),
                       td_message_quoted (result.error, N_ ("it said nothing")));
}

/* ── What launchers print ── */

#define MOST_PARAGRAPH 400 /* bytes of a sentence's part */

static gboolean
launch_is_rule (const char *line)
{
  return g_str_has_prefix (line, "--");
}

/* The lines from there to the next rule, or one line that no rule is before. */
static char *
launch_paragraph (char **lines, guint first)
{
  GString *text = g_string_new (lines[first]);

  for (guint i = first + 1; first > 0 && launch_is_rule (lines[first - 1]) && lines[i]
                            && !launch_is_rule (lines[i]) && text->len < MOST_PARAGRAPH;
       i++)
    if (*lines[i])
      g_string_append_printf (text, " %s", lines[i]);
  return g_string_free (text, FALSE);
}

char *
td_launch_telling_line (const char *text, gboolean only_killed)
{
  g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
  guint own = G_MAXUINT, killed = G_MAXUINT, first = G_MAXUINT;

  for (guint i = 0; lines[i]; i++) {
    g_strstrip (lines[i]);
    if (own == G_MAXUINT && g_str_has_prefix (lines[i], "tomodesk-worker:"))
      own = i;
    if (killed == G_MAXUINT
        && (strstr (lines[i], "exited on signal") || strstr (lines[i], "Killed")))
      killed = i;
    if (first == G_MAXUINT && *lines[i] && lines[i][0] != '-' && !strstr (lines[i], " Warning: "))
      first = i;
  }
  const guint told = own < G_MAXUINT ? own : killed;
  const guint best = only_killed ? killed : told < G_MAXUINT ? told : first;
  if (best == G_MAXUINT)
    return NULL;
  g_autofree char *said = best == first ? launch_paragraph (lines, best) : g_strdup (lines[best]);
  char *line = g_utf8_make_valid (said, -1);
  if (g_str_has_suffix (line, ".")) /* it becomes a part of a sentence */
    line[strlen (line) - 1] = '\0';
  return line;
}

#define BENCHMARK N_ ("benchmark")
#define PROBE_WRITES "\"$@\" --write \"$root\""

/* The line that runs "$@" once on each node. MPIs have words of their own for that, and the
   launcher of the host says whose it is. (transfer full) */
static char *
launch_probe_line (const TdClusterProfile *profile)
{
  g_autofree char *program = NULL, *launcher = NULL;

  if (profile->kind == TD_CLUSTER_SLURM || !profile->launcher[0])
    return g_strdup (PROBE_WRITES);
  program = launch_quote (profile->launcher[0]);
  if (profile->nodes == 1) /* which runs the probe without it */
    return g_strdup_printf ("command -v %s >/dev/null || {\n"
                            "echo the profile names a launcher that is not there: %s >&2\n"
                            "return 1; }\n" PROBE_WRITES,
                            program, program);
  launcher = launch_join (profile->launcher);
  return g_strdup_printf ("each='-ppn 1'\n"
                          "case $(%s --version 2>&1) in\n"
                          "*'Open MPI'*|*OpenRTE*) each='-npernode 1';;\n"
                          "slurm*) each='--ntasks-per-node=1';;\n"
                          "esac\n"
                          "%s -n %u $each " PROBE_WRITES,
                          program, launcher, profile->nodes);
}

/* Runs the words of @builder after the profile's set-up, the jobs' folder being "$root". */
static char *
launch_run (const TdClusterProfile *profile, const char *what, const char *last_line,
            GStrvBuilder *builder, GCancellable *cancellable, GError **error)
{
  const guint limit_s = g_str_equal (what, BENCHMARK) ? TD_LAUNCH_BENCHMARK_S : TD_LAUNCH_PROBE_S;
  g_autofree char *script = g_strdup_printf ("{ :\n%s\n} >&2\n" TD_CLUSTER_JOBS_ROOT
                                             "shift\numask 077\nmkdir -p -- \"$root\"\n%s",
                                             profile->setup ? profile->setup : "", last_line);
  TdShell *shell = td_cluster_profile_shell (profile);
  g_auto (GStrv) words = g_strv_builder_end (builder);
  g_auto (TdShellResult) result = { 0 };

  if (!td_shell_run (shell, script, (const char *const *) words, limit_s, &result, cancellable,
                     error))
    return NULL;
  if (result.status == 0)
    return g_steal_pointer (&result.out);
  g_autofree char *said = td_launch_telling_line (result.error, FALSE);
  return td_set_error_null (error, TD_ERROR_IO, "the %p on %s failed: %p", td_message_unpack (what),
                            td_shell_name (shell),
                            td_message_quoted (said, N_ ("it said nothing")));
}

char *
td_launch_benchmark (const TdClusterProfile *profile, GCancellable *cancellable, GError **error)
{
  const char *const device = profile->wish.device;
  /* A rank that ends them all leaves the files of all. */
  static const char last_line[]
      = "\"$@\" \"$root\"\nstatus=$?\nrm -rf -- \"$root/" TD_WORKER_BENCHMARK "\"\nreturn $status";
  const char *const rest[] = { "benchmark", device ? "--device" : NULL, device, NULL };
  g_auto (GStrv) command = launch_command (profile, rest);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  g_strv_builder_add (words, profile->jobs_folder ? profile->jobs_folder : "");
  if (profile->kind == TD_CLUSTER_SLURM) {
    g_strv_builder_add_many (words, "salloc", "--quiet", NULL);
    launch_add_nodes (profile, profile->ranks_per_node, "20", words);
    g_strv_builder_addv (words, (const char **) profile->scheduler_options);
  }
  g_strv_builder_addv (words, (const char **) command);
  return launch_run (profile, BENCHMARK, last_line, words, cancellable, error);
}

char *
td_launch_probe (const TdClusterProfile *profile, const char *const *paths,
                 GCancellable *cancellable, GError **error)
{
  const char *device = profile->wish.device;
  const char *const probe[] = { "probe", "--json", device ? "--device" : NULL, device, NULL };
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  g_strv_builder_add (words, profile->jobs_folder ? profile->jobs_folder : "");
  if (profile->kind == TD_CLUSTER_SLURM) {
    g_strv_builder_add (words, "srun");
    launch_add_nodes (profile, 1, "5", words);
    g_strv_builder_addv (words, (const char **) profile->scheduler_options);
  }
  launch_add_setup (profile, words);
  launch_add_worker (profile, words, probe);
  for (guint i = 0; paths[i]; i++)
    g_strv_builder_add_many (words, "--read", paths[i], NULL);
  g_autofree char *line = launch_probe_line (profile);
  return launch_run (profile, N_ ("probe"), line, words, cancellable, error);
}
