/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs-index.h"

#include <string.h>

typedef struct {
  GPtrArray *jobs;
  GStrvBuilder *problems;
  GHashTable *places; /* host and folder that were listed */
  const char *begins; /* NULL, or what ids begin with */
  GCancellable *cancellable;
} Index;

/* Hosts may share a folder: of two objects for one job the better one stays. */
static void
jobs_index_add_job (Index *index, TdRemoteJob *job)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  for (guint i = 0; i < index->jobs->len; i++) {
    g_auto (TdRemoteFacts) other = { 0 };
    td_remote_job_facts (index->jobs->pdata[i], &other);
    if (!g_str_equal (other.id, facts.id))
      continue;
    if (td_remote_job_is_home (job)) {
      td_remote_job_unref (index->jobs->pdata[i]);
      index->jobs->pdata[i] = td_remote_job_ref (job);
    }
    return;
  }
  g_ptr_array_add (index->jobs, td_remote_job_ref (job));
}

/* The folders that hold a job, and nothing else that lies beside them. */
static void
jobs_index_add_place (Index *index, TdShell *shell, const char *folder)
{
  static const char script[] = TD_CLUSTER_JOBS_ROOT
      "cd -- \"$root\" 2>/dev/null || return 0\n"
      "root=$(pwd -P)\n"
      "for f in \"$2\"*/job.json; do [ -f \"$f\" ] && echo \"$root/${f%/job.json}\"; done\n"
      "return 0";
  const char *const words[] = { folder ? folder : "", index->begins ? index->begins : "", NULL };
  g_autofree char *key = g_strdup_printf ("%p %s", (gpointer) shell, words[0]);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_hash_table_add (index->places, g_steal_pointer (&key)))
    return;
  if (!td_shell_do (shell, script, words, &text, index->cancellable, &error)) {
    g_strv_builder_add (index->problems, error->message);
    return;
  }
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autofree char *place = g_strdup_printf ("%s:%s", td_shell_name (shell), lines[i]);
    if (!*lines[i] || !g_hash_table_add (index->places, g_steal_pointer (&place)))
      continue;
    g_autoptr (TdRemoteJob) job = td_remote_job_of_folder (shell, lines[i]);
    g_clear_error (&error);
    /* One that cannot be looked at now is there, and says why. */
    if (!td_remote_job_look (job, index->cancellable, &error))
      g_strv_builder_add (index->problems, error->message);
    jobs_index_add_job (index, job);
  }
}

static int
jobs_index_newest_first (gconstpointer a, gconstpointer b)
{
  g_auto (TdRemoteFacts) left = { 0 }, right = { 0 };

  td_remote_job_facts (*(TdRemoteJob *const *) a, &left);
  td_remote_job_facts (*(TdRemoteJob *const *) b, &right);
  return -strcmp (left.id, right.id);
}

static GPtrArray *
jobs_index_find (const TdClusterProfile *only, const char *begins, char ***problems,
                 GCancellable *cancellable)
{
  g_auto (GStrv) bad = NULL;
  g_autoptr (GPtrArray) profiles = td_cluster_profiles (&bad);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Index index = { g_ptr_array_new_with_free_func ((GDestroyNotify) td_remote_job_unref), builder,
                  places, begins, cancellable };

  if (only) {
    jobs_index_add_place (&index, td_cluster_profile_shell (only), only->jobs_folder);
  } else {
    g_strv_builder_addv (builder, (const char **) bad);
    jobs_index_add_place (&index, td_shell_get (NULL, NULL, NULL), NULL);
    for (guint i = 0; i < profiles->len; i++) {
      const TdClusterProfile *profile = profiles->pdata[i];
      jobs_index_add_place (&index, td_cluster_profile_shell (profile), profile->jobs_folder);
    }
  }
  g_ptr_array_sort (index.jobs, jobs_index_newest_first);
  if (problems)
    *problems = g_strv_builder_end (builder);
  return index.jobs;
}

GPtrArray *
td_jobs_find (const TdClusterProfile *profile, char ***problems, GCancellable *cancellable)
{
  return jobs_index_find (profile, NULL, problems, cancellable);
}

TdRemoteJob *
td_jobs_find_one (const char *id, GCancellable *cancellable, GError **error)
{
  g_auto (GStrv) problems = NULL;

  if (*id == '.' || strpbrk (id, "/\n"))
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "\"%s\" is no job's id; \"tomodesk-cli jobs\" lists them", id);
  g_autoptr (GPtrArray) jobs = jobs_index_find (NULL, id, &problems, cancellable);
  for (guint i = 0; *id && i < jobs->len; i++) {
    g_auto (TdRemoteFacts) facts = { 0 };
    td_remote_job_facts (jobs->pdata[i], &facts);
    if (jobs->len == 1 || g_str_equal (facts.id, id))
      return td_remote_job_ref (jobs->pdata[i]);
  }
  if (*id && jobs->len > 1)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "%u jobs begin with \"%s\": give more of the id", jobs->len, id);
  if (problems[0])
    return td_set_error_null (error, TD_ERROR_NOT_FOUND,
                              "there is no job \"%s\" that can be reached: %s", id, problems[0]);
  return td_set_error_null (error, TD_ERROR_NOT_FOUND,
                            "there is no job \"%s\"; \"tomodesk-cli jobs\" lists them", id);
}
