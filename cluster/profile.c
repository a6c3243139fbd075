/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile.h"

#include <string.h>

#include "dataset/message.h"
#include "dataset/number.h"
#include "dataset/text-file.h"

#define GROUP "Profile"
#define FOLDER "tomodesk", "profiles"
#define SUFFIX ".ini"
#define LOCAL "local:"
#define MAX_COUNT 100000
#define MAX_BYTES ((gsize) 1 << 20)
#define WORKER "tomodesk-worker"
#define OWN_WORKER "tomodesk-cli"

static const char *const kinds[] = { "local", "ssh", "slurm", NULL }; /* of files */

typedef struct {
  gatomicrefcount references;
  TdClusterProfile profile; /* handed out */
} Counted;

/* ── The table of keys ── */

enum {
  FOR_LOCAL = 1 << TD_CLUSTER_LOCAL,
  FOR_SSH = 1 << TD_CLUSTER_SSH,
  FOR_SLURM = 1 << TD_CLUSTER_SLURM
};
#define FOR_REMOTE (FOR_SSH | FOR_SLURM)
#define FOR_ALL (FOR_LOCAL | FOR_REMOTE)

typedef enum {
  VALUE_TEXT,  /* one line */
  VALUE_LINES, /* several */
  VALUE_LIST,  /* words with semicolons between */
  VALUE_COUNT,
  VALUE_SIZE,
  VALUE_SWITCH,
  VALUE_MODE,
  VALUE_FILE, /* the text of the file that is named */
} Value;

typedef struct {
  const char *key;
  Value value;
  guint kinds; /* that use it */
  gsize offset;
  guint least; /* of counts */
} Key;

#define MEMBER(name) G_STRUCT_OFFSET (TdClusterProfile, name)

#define LEAST_SIZE ((guint64) 1 << 20)

static const Key keys[] = {
  { "description", VALUE_TEXT, FOR_ALL, MEMBER (description) },
  { "host", VALUE_TEXT, FOR_REMOTE, MEMBER (host) },
  { "ssh-config", VALUE_TEXT, FOR_REMOTE, MEMBER (ssh_config) },
  { "host-setup", VALUE_LINES, FOR_REMOTE, MEMBER (host_setup) },
  { "jobs-folder", VALUE_TEXT, FOR_ALL, MEMBER (jobs_folder) },
  { "worker", VALUE_TEXT, FOR_ALL, MEMBER (worker) },
  { "container", VALUE_LIST, FOR_ALL, MEMBER (container) },
  { "launcher", VALUE_LIST, FOR_ALL, MEMBER (launcher) },
  { "setup", VALUE_LINES, FOR_ALL, MEMBER (setup) },
  { "nodes", VALUE_COUNT, FOR_REMOTE, MEMBER (nodes), 1 },
  { "ranks-per-node", VALUE_COUNT, FOR_ALL, MEMBER (ranks_per_node), 1 },
  { "cards-per-rank", VALUE_COUNT, FOR_ALL, MEMBER (cards_per_rank), 0 },
  { "partition", VALUE_TEXT, FOR_SLURM, MEMBER (partition) },
  { "time", VALUE_TEXT, FOR_SLURM, MEMBER (time) },
  { "account", VALUE_TEXT, FOR_SLURM, MEMBER (account) },
  { "scheduler-options", VALUE_LIST, FOR_SLURM, MEMBER (scheduler_options) },
  { "map", VALUE_LIST, FOR_REMOTE, MEMBER (map) },
  { "staging", VALUE_SWITCH, FOR_REMOTE, MEMBER (staging) },
  { "template-cpu", VALUE_FILE, FOR_ALL, MEMBER (template_cpu) },
  { "template-gpu", VALUE_FILE, FOR_ALL, MEMBER (template_gpu) },
  { "device", VALUE_TEXT, FOR_ALL, MEMBER (wish.device) },
  { "mode", VALUE_MODE, FOR_ALL, MEMBER (wish.mode) },
  { "rows", VALUE_COUNT, FOR_ALL, MEMBER (wish.rows), 0 },
  { "columns", VALUE_COUNT, FOR_ALL, MEMBER (wish.columns), 0 },
  { "memory", VALUE_SIZE, FOR_ALL, MEMBER (wish.memory_bytes) },
};

static const Key *
profile_find_key (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_str_equal (keys[i].key, name))
      return &keys[i];
  return NULL;
}

/* ── Life ── */

static TdClusterProfile *
profile_new (const char *name, const char *file, TdClusterKind kind)
{
  Counted *counted = g_new0 (Counted, 1);
  TdClusterProfile *profile = &counted->profile;

  g_atomic_ref_count_init (&counted->references);
  profile->name = g_strdup (name);
  profile->file = g_strdup (file);
  profile->kind = kind;
  profile->nodes = 1;
  profile->ranks_per_node = 1;
  profile->wish.view_slice = -1;
  return profile;
}

static Counted *
profile_counted (TdClusterProfile *profile)
{
  return (Counted *) ((char *) profile - G_STRUCT_OFFSET (Counted, profile));
}

TdClusterProfile *
td_cluster_profile_ref (TdClusterProfile *profile)
{
  g_atomic_ref_count_inc (&profile_counted (profile)->references);
  return profile;
}

void
td_cluster_profile_unref (TdClusterProfile *profile)
{
  if (!profile || !g_atomic_ref_count_dec (&profile_counted (profile)->references))
    return;
  g_free (profile->name);
  g_free (profile->file);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    gpointer member = (char *) profile + keys[i].offset;

    if (keys[i].value == VALUE_LIST)
      g_strfreev (*(char ***) member);
    else if (keys[i].value == VALUE_TEXT || keys[i].value == VALUE_LINES
             || keys[i].value == VALUE_FILE)
      g_free (*(char **) member);
  }
  g_free (profile_counted (profile));
}

/* ── Reading ── */

typedef struct {
  const char *path;
  char *text;
  GKeyFile *file;
} Source;

/* The last line on which @key is set, for messages; 0: none. @times: (nullable): gets how often it
   is. */
static guint
profile_find_line (const Source *source, const char *key, guint *times)
{
  g_auto (GStrv) lines = g_strsplit (source->text, "\n", -1);
  const gsize n = strlen (key);
  guint found = 0, n_found = 0;

  for (guint i = 0; lines[i]; i++) {
    const char *line = g_strchug (lines[i]);
    if (strncmp (line, key, n) == 0 && *g_strchug ((char *) line + n) == '=') {
      found = i + 1;
      n_found++;
    }
  }
  if (times)
    *times = n_found;
  return found;
}

G_GNUC_PRINTF (4, 5)
static gboolean
profile_refuse (const Source *source, const char *key, GError **error, const char *why, ...)
{
  va_list values;

  va_start (values, why);
  TdMessage *message = td_message_new_list (why, values);
  va_end (values);
  return td_set_error (error, TD_ERROR_BAD_FILE, "%s, line %u: \"%s\" %p", source->path,
                       profile_find_line (source, key, NULL), key, message);
}

/* The file that @text names, from the profile's folder on. */
static gboolean
profile_read_file (const Source *source, const Key *key, const char *text, char **value,
                   GError **error)
{
  g_autofree char *folder = g_path_get_dirname (source->path);
  g_autofree char *path
      = g_path_is_absolute (text) ? g_strdup (text) : g_build_filename (folder, text, NULL);

  *value = td_text_load (path, MAX_BYTES, NULL);
  if (*value)
    return TRUE;
  return profile_refuse (source, key->key, error, N_ ("names %s, which cannot be read"), path);
}

static gboolean
profile_take (const Source *source, const Key *key, TdClusterProfile *profile, GError **error)
{
  gpointer member = (char *) profile + key->offset;
  g_autofree char *text = g_key_file_get_string (source->file, GROUP, key->key, NULL);
  gint64 number;

  if (!text)
    return profile_refuse (source, key->key, error,
                           N_ ("has an escape that is none; write \\\\ for \\"));
  if (key->value != VALUE_LINES && strpbrk (text, "\n\r"))
    return profile_refuse (source, key->key, error,
                           N_ ("is one line; only setup may have several"));
  if (key->value != VALUE_LINES && key->value != VALUE_LIST && !*g_strstrip (text))
    return profile_refuse (source, key->key, error,
                           N_ ("is empty: give a value, or remove the line"));
  switch (key->value) {
  case VALUE_TEXT:
  case VALUE_LINES: *(char **) member = g_steal_pointer (&text); return TRUE;
  case VALUE_LIST:
    *(char ***) member = g_key_file_get_string_list (source->file, GROUP, key->key, NULL, NULL);
    return *(char ***) member
           || profile_refuse (source, key->key, error, N_ ("is no list of words with ; between"));
  case VALUE_FILE: return profile_read_file (source, key, text, member, error);
  case VALUE_SIZE:
    if (!td_parse_size (text, member))
      return profile_refuse (source, key->key, error, N_ ("is no size, such as 16G"));
    return *(guint64 *) member == 0 || *(guint64 *) member >= LEAST_SIZE
           || profile_refuse (
               source, key->key, error,
               N_ ("is less than a megabyte, with which nothing is computed; 16G are "
                   "gigabytes"));
  case VALUE_SWITCH:
    *(gboolean *) member = g_str_equal (text, "rsync");
    return *(gboolean *) member || g_str_equal (text, "none")
           || profile_refuse (source, key->key, error, N_ ("is rsync or none"));
  case VALUE_MODE:
    return td_cluster_mode_from_name (text, member)
           || profile_refuse (source, key->key, error, N_ ("is slab, ifdk or slices"));
  default:
    if (!td_parse_integer (text, key->least, MAX_COUNT, &number))
      return profile_refuse (source, key->key, error, N_ ("is a whole number from %u to %u"),
                             key->least, MAX_COUNT);
    *(guint *) member = (guint) number;
    return TRUE;
  }
}

/* Words that were written as a shell takes them; NULL: none. A path may have a blank. */
static const char *
profile_find_blank (char *const *words)
{
  for (guint i = 0; words && words[i]; i++)
    if (strstr (words[i], " -")
        || (i == 0 && words[i][0] != '/' && words[i][0] != '-' && strchr (words[i], ' ')))
      return words[i];
  return NULL;
}

/* Lists that are options and programs. */
static gboolean
profile_check_words (const Source *source, const TdClusterProfile *profile, GError **error)
{
  static const char *const names[] = { "launcher", "container", "scheduler-options" };
  char *const *const lists[]
      = { profile->launcher, profile->container, profile->scheduler_options };

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++) {
    const char *blank = profile_find_blank (lists[i]);
    if (!blank)
      continue;
    return profile_refuse (source, names[i], error, N_ ("has words with ; between, not as in “%s”"),
                           blank);
  }
  return TRUE;
}

/* What one key alone does not show. */
static gboolean
profile_check (const Source *source, const TdClusterProfile *profile, GError **error)
{
  if (profile->kind == TD_CLUSTER_SSH && !profile->host)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "%s: kind = ssh needs a \"host\", as \"ssh HOST\" takes it", source->path);
  if (profile->host && (*profile->host == '-' || strpbrk (profile->host, " \t:'\"")))
    return profile_refuse (source, "host", error, N_ ("is no host as \"ssh HOST\" takes it"));
  if (profile->ssh_config && !profile->host)
    return profile_refuse (source, "ssh-config", error, N_ ("is for profiles with a \"host\""));
  if (profile->staging && !profile->host)
    return profile_refuse (source, "staging", error,
                           N_ ("is for profiles with a \"host\": this computer has the files"));
  if ((guint64) profile->nodes * profile->ranks_per_node > MAX_COUNT
      || (guint64) profile->ranks_per_node * profile->cards_per_rank > MAX_COUNT)
    return profile_refuse (source, "ranks-per-node", error,
                           N_ ("makes more than %u ranks in all, or cards of a node"), MAX_COUNT);
  for (guint i = 0; profile->map && profile->map[i]; i++) {
    const char *sign = strchr (profile->map[i], '=');
    if (profile->map[i][0] != '/' || !sign || sign[1] != '/' || strchr (sign + 1, '='))
      return profile_refuse (source, "map", error,
                             N_ ("is a list of LOCAL=REMOTE, both whole paths of folders"));
  }
  const char *folder = profile->jobs_folder;
  if (folder && *folder != '/' && !g_str_has_prefix (folder, "~/"))
    return profile_refuse (source, "jobs-folder", error,
                           N_ ("is a whole path, or begins with ~/; no variables are put in"));
  return profile_check_words (source, profile, error);
}

static gboolean
profile_fill (const Source *source, TdClusterProfile *profile, GError **error)
{
  g_auto (GStrv) given = g_key_file_get_keys (source->file, GROUP, NULL, NULL);
  g_auto (GStrv) groups = g_key_file_get_groups (source->file, NULL);

  if (groups[1])
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "%s has a part [%s]: all lines stand below [Profile]", source->path,
                         groups[g_str_equal (groups[0], GROUP)]);
  for (guint i = 0; given && given[i]; i++) {
    const Key *key = profile_find_key (given[i]);
    guint times;

    profile_find_line (source, given[i], &times);
    if (times > 1)
      return profile_refuse (source, given[i], error,
                             N_ ("is given twice; delete one of the lines"));
    if (g_str_equal (given[i], "kind"))
      continue;
    if (!key && (strstr (given[i], "pass") || strstr (given[i], "secret")))
      return profile_refuse (source, given[i], error,
                             N_ ("is not kept here: let ssh log in with a key (ssh-add)"));
    if (!key)
      return profile_refuse (source, given[i], error,
                             N_ ("is no key of a profile; the guide to clusters lists them"));
    if (!(key->kinds & (1u << profile->kind)))
      return profile_refuse (source, key->key, error, N_ ("is not used with kind = %s"),
                             kinds[profile->kind]);
    if (!profile_take (source, key, profile, error))
      return FALSE;
  }
  return profile_check (source, profile, error);
}

/* What was not given. */
static void
profile_complete (TdClusterProfile *profile)
{
  char ***const lists[] = { &profile->container, &profile->scheduler_options, &profile->map };

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    if (!*lists[i])
      *lists[i] = g_new0 (char *, 1);
  if (!profile->launcher)
    profile->launcher = g_strsplit (profile->kind == TD_CLUSTER_SLURM  ? "srun"
                                    : profile->kind == TD_CLUSTER_HERE ? ""
                                                                       : "mpirun",
                                    " ", -1);
  if (!profile->worker) {
    const char *name = profile->kind == TD_CLUSTER_HERE ? OWN_WORKER : WORKER;
    /* Here the worker lies beside this program; elsewhere the search path has it. */
    g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
    g_autofree char *folder = self ? g_path_get_dirname (self) : g_strdup ("");
    g_autofree char *beside = g_build_filename (folder, name, NULL);
    const gboolean take = !profile->host && g_file_test (beside, G_FILE_TEST_IS_EXECUTABLE);
    profile->worker = take ? g_steal_pointer (&beside) : g_strdup (name);
  }
}

static gboolean
profile_kind (const Source *source, TdClusterKind *kind, GError **error)
{
  g_autofree char *text = g_key_file_get_string (source->file, GROUP, "kind", NULL);

  for (guint i = 0; text && kinds[i]; i++)
    if (g_str_equal (g_strstrip (text), kinds[i])) {
      *kind = i;
      return TRUE;
    }
  if (text)
    return profile_refuse (source, "kind", error, N_ ("is local, ssh or slurm"));
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "%s has no line \"kind = local\", \"ssh\" or \"slurm\" below [Profile]",
                       source->path);
}

static TdClusterProfile *
profile_load (const char *path, GError **error)
{
  g_autofree char *base = g_path_get_basename (path);
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (GError) problem = NULL;
  g_autofree char *text = td_text_load (path, MAX_BYTES, &problem);
  const Source source = { path, text, file };
  TdClusterKind kind = TD_CLUSTER_LOCAL;

  if (!text)
    return td_set_error_null (error, TD_ERROR_IO, "the profile %s cannot be read: %s", path,
                              problem->message);
  if (!g_key_file_load_from_data (file, text, -1, G_KEY_FILE_NONE, &problem))
    return td_set_error_null (error, TD_ERROR_BAD_FILE,
                              "the profile %s is not written as [Profile] and lines "
                              "\"key = value\": %s",
                              path, problem->message);
  if (!profile_kind (&source, &kind, error))
    return NULL;
  if (g_str_has_suffix (base, SUFFIX))
    base[strlen (base) - strlen (SUFFIX)] = '\0';
  g_autoptr (TdClusterProfile) profile = profile_new (base, path, kind);
  if (!profile_fill (&source, profile, error))
    return NULL;
  profile_complete (profile);
  return g_steal_pointer (&profile);
}

/* ── Finding ── */

/* The folders, those that win first. */
static GPtrArray *
profile_folders (void)
{
  GPtrArray *folders = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (folders, g_build_filename (g_get_user_config_dir (), FOLDER, NULL));
  g_ptr_array_add (folders, g_build_filename (TD_SYSCONFDIR, FOLDER, NULL));
  for (const char *const *at = g_get_system_data_dirs (); *at; at++)
    g_ptr_array_add (folders, g_build_filename (*at, FOLDER, NULL));
  return folders;
}

/* "local:N", which has N ranks. */
static TdClusterProfile *
profile_new_local (const char *name, GError **error)
{
  gint64 ranks;

  if (!td_parse_integer (name + strlen (LOCAL), 1, 4096, &ranks))
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "\"%s\" is no profile: local:N has a number of ranks from 1 to 4096",
                              name);
  TdClusterProfile *profile = profile_new (name, NULL, TD_CLUSTER_LOCAL);
  profile->ranks_per_node = (guint) ranks;
  profile_complete (profile);
  return profile;
}

/* Tests have the program elsewhere, and say where. */
static TdClusterProfile *
profile_new_here (void)
{
  TdClusterProfile *profile = profile_new (TD_CLUSTER_OWN, NULL, TD_CLUSTER_HERE);

  profile->worker = g_strdup (g_getenv ("TOMODESK_CLI"));
  profile_complete (profile);
  return profile;
}

TdClusterProfile *
td_cluster_profile_find (const char *name, GError **error)
{
  g_autoptr (GPtrArray) folders = profile_folders ();
  g_autofree char *file = g_strconcat (name, SUFFIX, NULL);

  if (g_str_has_prefix (name, LOCAL))
    return profile_new_local (name, error);
  if (g_str_equal (name, TD_CLUSTER_OWN))
    return profile_new_here ();
  if (strchr (name, '/') || g_str_has_suffix (name, SUFFIX))
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "\"%s\" is no profile's name: that is the file's, without its folder "
                              "and without .ini",
                              name);
  for (guint i = 0; i < folders->len; i++) {
    g_autofree char *path = g_build_filename (folders->pdata[i], file, NULL);
    if (g_file_test (path, G_FILE_TEST_EXISTS))
      return profile_load (path, error);
  }
  return td_set_error_null (
      error, TD_ERROR_INVALID,
      "there is no profile \"%s\": write %s/%s, or take local:N for N ranks on this "
      "computer",
      name, (const char *) folders->pdata[0], file);
}

static int
profile_by_name (gconstpointer a, gconstpointer b)
{
  const TdClusterProfile *const *left = a, *const *right = b;

  return strcmp ((*left)->name, (*right)->name);
}

GPtrArray *
td_cluster_profiles (char ***problems)
{
  g_autoptr (GPtrArray) folders = profile_folders ();
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GStrvBuilder) bad = g_strv_builder_new ();
  GPtrArray *found = g_ptr_array_new_with_free_func ((GDestroyNotify) td_cluster_profile_unref);

  for (guint i = 0; i < folders->len; i++) {
    g_autoptr (GDir) dir = g_dir_open (folders->pdata[i], 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name (dir));) {
      g_autofree char *path = g_build_filename (folders->pdata[i], name, NULL);
      g_autoptr (GError) error = NULL;
      if (!g_str_has_suffix (name, SUFFIX) || !g_hash_table_add (seen, g_strdup (name)))
        continue;
      TdClusterProfile *profile = profile_load (path, &error);
      if (profile)
        g_ptr_array_add (found, profile);
      else
        g_strv_builder_add (bad, error->message);
    }
  }
  g_ptr_array_sort (found, profile_by_name);
  if (problems)
    *problems = g_strv_builder_end (bad);
  return found;
}

/* ── Telling ── */

char *
td_cluster_profile_machine_file (const char *name)
{
  g_autofree char *base = g_strconcat (name, ".txt", NULL);

  g_strdelimit (base, "/", '-');
  return g_build_filename (g_get_user_data_dir (), "tomodesk", "machines", base, NULL);
}

guint
td_cluster_profile_ranks (const TdClusterProfile *profile)
{
  return profile->nodes * profile->ranks_per_node;
}

const char *
td_cluster_kind_name (TdClusterKind kind)
{
  return kind == TD_CLUSTER_HERE ? TD_CLUSTER_OWN : kinds[kind];
}

TdShell *
td_cluster_profile_shell (const TdClusterProfile *profile)
{
  return td_shell_get (profile->host, profile->ssh_config, profile->host_setup);
}

/* @path below @from (of @n letters), as it is called below @to; NULL: it is not below. */
static char *
profile_replace (const char *path, const char *from, gsize n, const char *to)
{
  while (n > 0 && from[n - 1] == '/')
    n--;
  if (strncmp (path, from, n) != 0 || (path[n] != '/' && path[n] != '\0'))
    return NULL;
  gsize length = strlen (to);
  while (length > 0 && to[length - 1] == '/')
    length--;
  return g_strdup_printf ("%.*s%s", (int) length, to, path + n);
}

/* The longest folder of the list that holds @path decides. */
char *
td_cluster_profile_to_remote (const TdClusterProfile *profile, const char *path)
{
  char *best = NULL;
  gsize longest = 0;

  if (!profile->host && !*profile->map)
    return g_strdup (path);
  for (guint i = 0; profile->map[i]; i++) {
    const char *local = profile->map[i], *sign = strchr (local, '=');
    const gsize n = sign - local;
    char *there = profile_replace (path, local, n, sign + 1);

    if (!there || n < longest) {
      g_free (there);
      continue;
    }
    g_free (best);
    best = there;
    longest = n;
  }
  return best;
}
