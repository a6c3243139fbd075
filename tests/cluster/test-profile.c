/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles of clusters: each key is taken where its kind uses it, within its limits, and refused
   with the line and why elsewhere. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster/launch.h"
#include "cluster/profile.h"
#include "config.h"
#include "dataset/error.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

static char *profiles;                             /* the folder */
static const char *own_folder, *system_folders[2]; /* which have folders of profiles */

static TdClusterProfile *
load (const char *kind, const char *lines, GError **error)
{
  g_autofree char *path = g_build_filename (profiles, "one.ini", NULL);
  g_autofree char *text = g_strdup_printf ("[Profile]\nkind = %s\n%s", kind, lines);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return td_cluster_profile_find ("one", error);
}

/* ── Refusals ── */

static const struct {
  const char *kind, *lines, *says; /* says NULL: taken */
} cases[] = {
  { "local", "", NULL },
  { "slurm", "", NULL },
  { "ssh", "host = h\n", NULL },
  { "ssh", "", "kind = ssh needs a \"host\"" },
  { "cloud", "", "line 2: \"kind\" is local, ssh or slurm" },
  { "slurm", "nodes = 1\n", NULL },
  { "slurm", "nodes = 0\n", "line 3: \"nodes\" is a whole number from 1 to" },
  { "slurm", "nodes = two\n", "\"nodes\" is a whole number" },
  { "local", "nodes = 1\n", "\"nodes\" is not used with kind = local" },
  { "local", "ranks-per-node = 1\n", NULL },
  { "local", "ranks-per-node = 0\n", "\"ranks-per-node\" is a whole number from 1" },
  { "local", "cards-per-rank = 0\n", NULL },
  { "local", "cards-per-rank = -1\n", "\"cards-per-rank\" is a whole number from 0" },
  { "slurm", "nodes = 1000\nranks-per-node = 100\n", NULL },
  { "slurm", "nodes = 1000\nranks-per-node = 101\n", "\"ranks-per-node\" makes more than" },
  { "slurm", "nodes = 100001\n", "\"nodes\" is a whole number from 1 to 100000" },
  { "slurm", "ranks-per-node = 1000\ncards-per-rank = 100\n", NULL },
  { "slurm", "ranks-per-node = 1000\ncards-per-rank = 101\n", "makes more than 100000 ranks" },
  { "slurm", "nodes = 100000\nranks-per-node = 100000\n",
    "line 4: \"ranks-per-node\" makes more than" },
  { "local", "ranks-per-node = 100000\ncards-per-rank = 100000\n",
    "line 3: \"ranks-per-node\" makes" },
  { "local", "rows = 0\ncolumns = 0\n", NULL },
  { "local", "rows = -1\n", "\"rows\" is a whole number from 0" },
  { "local", "memory = 16G\n", NULL },
  { "local", "memory = much\n", "\"memory\" is no size" },
  { "local", "memory = 0\n", NULL },
  { "local", "memory = 1M\n", NULL },
  { "local", "memory = 1048575\n", "\"memory\" is less than a megabyte" },
  { "local", "memory = 1\n", "line 3: \"memory\" is less than a megabyte" },
  { "local", "mode = ifdk\n", NULL },
  { "local", "mode = fast\n", "\"mode\" is slab, ifdk or slices" },
  { "ssh", "host = h\nstaging = rsync\n", NULL },
  { "ssh", "host = h\nstaging = none\n", NULL },
  { "ssh", "host = h\nstaging = yes\n", "line 4: \"staging\" is rsync or none" },
  { "slurm", "staging = rsync\n", "\"staging\" is for profiles with a \"host\"" },
  { "local", "staging = none\n", "\"staging\" is not used with kind = local" },
  { "slurm", "ssh-config = f\n", "\"ssh-config\" is for profiles with a \"host\"" },
  { "slurm", "host = h\nssh-config = f\n", NULL },
  { "ssh", "host = -oh\n", "\"host\" is no host" },
  { "ssh", "host = a b\n", "\"host\" is no host" },
  { "ssh", "host = a:b\n", "\"host\" is no host" },
  { "ssh", "host = me@a.b-c\n", NULL },
  { "slurm", "partition = p\ntime = 1:00\naccount = a\n", NULL },
  { "ssh", "host = h\npartition = p\n", "\"partition\" is not used with kind = ssh" },
  { "ssh", "host = h\ntime = 1\n", "\"time\" is not used with kind = ssh" },
  { "ssh", "host = h\naccount = a\n", "\"account\" is not used with kind = ssh" },
  { "ssh", "host = h\nscheduler-options = a;b\n", "\"scheduler-options\" is not used" },
  { "slurm", "map = /a=/b;/c=/d\n", NULL },
  { "slurm", "map = a=/b\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a==/b\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a=/b=/c\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a=/b;c=/d\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a=b\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "map = /a=/b, /c=/d\n", "\"map\" is a list of LOCAL=REMOTE" },
  { "slurm", "launcher = srun --mpi=pmix\n", "line 3: \"launcher\" has words with ; between" },
  { "slurm", "launcher = srun;--mpi=pmix -l\n", "not as in “--mpi=pmix -l”" },
  { "slurm", "launcher = /my tools/srun;--mpi=pmix\n", NULL },
  { "slurm", "launcher = s-run x\n", "not as in “s-run x”" },
  { "slurm", "scheduler-options = -J my job\n", NULL }, /* of one option */
  { "slurm", "scheduler-options = --x;my job\n", NULL },
  { "slurm", "scheduler-options = --x;my job -y\n", "not as in “my job -y”" },
  { "local", "container = apptainer exec /x.sif\n", "\"container\" has words with ;" },
  { "slurm", "scheduler-options = --exclusive --mem=0\n", "\"scheduler-options\" has words" },
  { "slurm", "scheduler-options = --comment=my job;--mem=0\n", NULL },
  { "local", "jobs-folder = jobs\n", "line 3: \"jobs-folder\" is a whole path" },
  { "local", "jobs-folder = $SCRATCH/jobs\n", "no variables are put in" },
  { "local", "jobs-folder = ~/my jobs\n", NULL },
  { "local", "ranks-per-node = 2\n# more\nranks-per-node=3\n",
    "line 5: \"ranks-per-node\" is given" },
  { "local", "kind = slurm\n", "line 3: \"kind\" is given twice" },
  { "local", "[Other]\nsetup = x\n", "has a part [Other]" },
  { "local", "password = x\n", "is not kept here" },
  { "local", "colour = red\n", "\"colour\" is no key of a profile" },
  { "local", "description =\n", "\"description\" is empty" },
  { "local", "description = a\\nb\n", "\"description\" is one line" },
  { "local", "setup = a\\nb\n", NULL },
  { "local", "setup =\n", NULL },
  { "local", "template-cpu = none.sh\n", "\"template-cpu\" names" },
};

static void
test_keys (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdClusterProfile) profile = load (cases[i].kind, cases[i].lines, &error);

    g_test_message ("%u: %s", i, error ? error->message : "taken");
    g_assert_cmpint (profile != NULL, ==, cases[i].says == NULL);
    if (cases[i].says) {
      g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
      g_assert_nonnull (strstr (error->message, cases[i].says));
    }
  }
}

/* Lines may stand in any order, and all are looked at. */
static void
test_order (void)
{
  static const struct {
    const char *text, *says;
  } files[] = {
    { "[Profile]\nnodes = 0\nkind = slurm\n", "line 2: \"nodes\" is a whole number" },
    { "# ours\n\n[Profile]\n  nodes  =  3\n\tkind = slurm\n", NULL },
    { "[Profile]\ncolour = red\nkind = slurm\nnodes = 3\n", "line 2: \"colour\" is no key" },
    { "[Profile]\nnodes = 3\n", "has no line \"kind = local\"" },
    { "nodes = 3\nkind = slurm\n", "is not written as [Profile] and lines" },
    { "", "has no line \"kind = local\"" },
  };
  g_autofree char *path = g_build_filename (profiles, "one.ini", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_true (g_file_set_contents (path, files[i].text, -1, NULL));
    g_autoptr (TdClusterProfile) profile = td_cluster_profile_find ("one", &error);
    g_test_message ("%u: %s", i, error ? error->message : "taken");
    g_assert_cmpint (profile != NULL, ==, files[i].says == NULL);
    if (profile)
      g_assert_cmpuint (profile->nodes, ==, 3);
    else
      g_assert_nonnull (strstr (error->message, files[i].says));
  }
}

/* ── What they say ── */

static void
test_values (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdClusterProfile) profile
      = load ("slurm",
              "description = The hall's\nhost = hall\nssh-config = /c\njobs-folder = /jobs\n"
              "worker = /w\ncontainer = a;b c\nlauncher = srun;-l\nsetup = module x\\nset y\n"
              "host-setup = z\nnodes = 3\nranks-per-node = 4\ncards-per-rank = 2\npartition = p\n"
              "time = 2:00\naccount = me\nscheduler-options = --x;--y\nmap = /a=/b\n"
              "staging = rsync\ndevice = cuda:0\nmode = ifdk\nrows = 5\ncolumns = 6\n"
              "memory = 2G\n",
              &error);

  g_assert_no_error (error);
  g_assert_cmpstr (profile->name, ==, "one");
  g_assert_cmpint (profile->kind, ==, TD_CLUSTER_SLURM);
  g_assert_cmpstr (profile->description, ==, "The hall's");
  g_assert_cmpstr (profile->host, ==, "hall");
  g_assert_cmpstr (profile->ssh_config, ==, "/c");
  g_assert_cmpstr (profile->jobs_folder, ==, "/jobs");
  g_assert_cmpstr (profile->worker, ==, "/w");
  g_assert_cmpstr (profile->container[1], ==, "b c");
  g_assert_cmpstr (profile->launcher[1], ==, "-l");
  g_assert_null (profile->launcher[2]);
  g_assert_cmpstr (profile->setup, ==, "module x\nset y");
  g_assert_cmpstr (profile->host_setup, ==, "z");
  g_assert_cmpuint (profile->nodes, ==, 3);
  g_assert_cmpuint (profile->ranks_per_node, ==, 4);
  g_assert_cmpuint (profile->cards_per_rank, ==, 2);
  g_assert_cmpuint (td_cluster_profile_ranks (profile), ==, 12);
  g_assert_cmpstr (profile->partition, ==, "p");
  g_assert_cmpstr (profile->time, ==, "2:00");
  g_assert_cmpstr (profile->account, ==, "me");
  g_assert_cmpstr (profile->scheduler_options[1], ==, "--y");
  g_assert_cmpstr (profile->map[0], ==, "/a=/b");
  g_assert_true (profile->staging);
  g_assert_cmpstr (profile->wish.device, ==, "cuda:0");
  g_assert_cmpint (profile->wish.mode, ==, TD_CLUSTER_IFDK);
  g_assert_cmpuint (profile->wish.rows, ==, 5);
  g_assert_cmpuint (profile->wish.columns, ==, 6);
  g_assert_cmpuint (profile->wish.memory_bytes, ==, 2ull << 30);
}

/* What is not given. */
static void
test_presets (void)
{
  static const struct {
    const char *kind, *lines, *launcher;
  } kinds[]
      = { { "local", "", "mpirun" }, { "ssh", "host = h\n", "mpirun" }, { "slurm", "", "srun" } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (TdClusterProfile) profile = load (kinds[i].kind, kinds[i].lines, NULL);

    g_assert_cmpstr (profile->launcher[0], ==, kinds[i].launcher);
    g_assert_null (profile->launcher[1]);
    g_assert_null (profile->container[0]);
    g_assert_null (profile->map[0]);
    g_assert_null (profile->scheduler_options[0]);
    g_assert_cmpuint (profile->nodes, ==, 1);
    g_assert_cmpuint (profile->ranks_per_node, ==, 1);
    g_assert_cmpuint (profile->cards_per_rank, ==, 0);
    g_assert_cmpint (profile->wish.view_slice, ==, -1);
    g_assert_false (profile->staging);
    g_assert_nonnull (profile->worker);
  }
}

/* Ranks of this computer need no file. */
static void
test_local (void)
{
  static const struct {
    const char *name;
    guint ranks; /* 0: refused */
  } names[] = { { "local:1", 1 }, { "local:4096", 4096 }, { "local:4097", 0 }, { "local:0", 0 },
                { "local:", 0 },  { "nowhere", 0 },       { "../one", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdClusterProfile) profile = td_cluster_profile_find (names[i].name, &error);

    g_assert_cmpint (profile != NULL, ==, names[i].ranks > 0);
    if (!profile) {
      g_assert_nonnull (error);
      continue;
    }
    g_assert_cmpuint (td_cluster_profile_ranks (profile), ==, names[i].ranks);
    /* All else is as a file of that kind has it that says nothing. */
    g_assert_cmpint (profile->kind, ==, TD_CLUSTER_LOCAL);
    g_assert_cmpstr (profile->name, ==, names[i].name);
    g_assert_cmpstr (profile->launcher[0], ==, "mpirun");
    g_assert_null (profile->launcher[1]);
    g_assert_true (!profile->container[0] && !profile->map[0] && !profile->scheduler_options[0]);
    g_assert_true (g_str_has_suffix (profile->worker, "tomodesk-worker"));
  }
}

/* ── What they launch ── */

/* Who starts ranks on other hosts by ssh takes no variables along: each gets those of the set-up.
 */
static void
test_setup_of_each_node (void)
{
  g_autofree char *folder = g_build_filename (profiles, "job", NULL);
  g_autofree char *mpirun = g_build_filename (folder, "mpirun", NULL);
  g_autofree char *worker = g_build_filename (folder, "worker", NULL);
  g_autofree char *run = g_build_filename (folder, "run.sh", NULL);
  g_autofree char *lines = g_strdup_printf (
      "host = h\nnodes = 2\nlauncher = %s\nworker = %s\nsetup = export SET=\"a b\"\n", mpirun,
      worker);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdClusterProfile) profile = load ("ssh", lines, &error);
  g_autofree char *script = td_launch_script (profile, "id", folder, &error);
  g_autofree char *out = NULL, *said = NULL;
  const char *const words[] = { "sh", run, NULL };

  g_assert_no_error (error);
  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (run, script, -1, NULL));
  g_assert_true (
      g_file_set_contents (mpirun, "#!/bin/sh\nshift 2\nenv -i PATH=\"$PATH\" \"$@\"\n", -1, NULL));
  g_assert_cmpint (g_chmod (mpirun, 0700), ==, 0);
  for (guint there = 0; there < 2; there++) {
    int status;
    g_spawn_sync (NULL, (char **) words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &said,
                  &status, &error);
    g_assert_no_error (error);
    g_autofree char *missing
        = g_strdup_printf ("tomodesk-worker: %s has no program %s\n", g_get_host_name (), worker);
    g_autofree char *ran = g_strdup_printf ("run %s: a b\n", folder);
    g_assert_cmpstr (said, ==, there ? "" : missing);
    g_assert_cmpstr (out, ==, there ? ran : "");
    g_clear_pointer (&out, g_free);
    g_clear_pointer (&said, g_free);
    g_assert_true (g_file_set_contents (worker, "#!/bin/sh\necho \"$*: $SET\"\n", -1, NULL));
    g_assert_cmpint (g_chmod (worker, 0700), ==, 0);
  }
}

/* Profiles that differ in what is launched. All of it is kept (tests/pins). */
static const struct {
  const char *kind, *lines;
} launched[] = {
  { "local", "ranks-per-node = 3\nworker = echo\nsetup = x=1\\ny=2\ndevice = host\n" },
  { "local", "launcher = /my tools/mpiexec.x;-l\nworker = echo\ncontainer = echo;a b\n" },
  { "ssh", "host = h\nworker = echo\njobs-folder = ~/jobs\nranks-per-node = 2\n"
           "map = /a=/b;/a/c=/d/\nstaging = rsync\n" },
  { "ssh", "host = h\nnodes = 2\nranks-per-node = 4\nworker = echo\nsetup = module x\n" },
  { "ssh", "host = h\nnodes = 3\nlauncher = srun;--mpi=pmix\nworker = echo\n" },
  { "slurm", "worker = echo\n" },
  { "slurm", "nodes = 3\nranks-per-node = 4\ncards-per-rank = 2\npartition = p q\ntime = 2:00\n"
             "account = me\nscheduler-options = --x;--y z\nlauncher = srun;-l\nworker = echo\n"
             "device = cuda\njobs-folder = /j\ntemplate-cpu = t.sh\n" },
  { "slurm", "nodes = 3\npartition = p q\ntemplate-cpu = t.sh\nworker = echo\n" },
  { "slurm", "cards-per-rank = 2\nranks-per-node = 3\naccount = me\ntime = 1\n"
             "template-gpu = t.sh\nworker = echo\n" },
};

/* Each variable, and lines that ask the scheduler for something. */
static const char template[]
    = "#!/bin/sh\n#SBATCH -n @RANKS@ -p @PARTITION@\n#SBATCH -t @TIME@\n#SBATCH -A @ACCOUNT@\n"
      "#SBATCH -g @CARDS_PER_NODE@\n@PARTITION@, @CARDS_PER_RANK@, @NODES@ x @RANKS_PER_NODE@\n"
      "@ID@ in @FOLDER@ by @COMMAND@ or @LAUNCHER@ and @CONTAINER@ and @WORKER@; @SETUP@\n"
      "me@b, @@, @c@";

/* Lines that no script before it has. */
static void
pin_script (const TdClusterProfile *profile, GHashTable *said)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *script = td_launch_script (profile, "an-id", "/j/a b%c", &error);
  g_assert_no_error (error);
  g_auto (GStrv) lines = g_strsplit (script, "\n", -1);

  for (guint i = 0; lines[i]; i++)
    if (g_hash_table_add (said, g_strdup (lines[i])))
      td_test_pin ("script: %s", lines[i]);
}

static void
pin_words (const TdClusterProfile *profile)
{
  const TdLaunchOutput output = { "/o/here", "/o/there", profile->staging };
  g_auto (GStrv) words = td_launch_words (profile, "an-id", "/j/a b%c");
  g_autofree char *all = words ? g_strjoinv ("|", words) : NULL;
  g_autofree char *record = td_launch_record (profile, words, &output);

  td_test_pin ("words: %s", all);
  td_test_pin ("record: %s", record);
}

static void
pin_places (const TdClusterProfile *profile)
{
  static const char *const paths[] = { "/a", "/a/x", "/ab/x", "/a/c", "/a/c/y", "/z" };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    g_autofree char *there = td_cluster_profile_to_remote (profile, paths[i]);
    td_test_pin ("%s: %s", paths[i], there);
  }
}

/* What the commands are given, which they print. */
static void
pin_runs (const TdClusterProfile *profile)
{
  static const char *const paths[] = { "/a b", "/c", NULL };
  g_autoptr (GError) benchmark_error = NULL, probe_error = NULL;
  g_autofree char *benchmark = td_launch_benchmark (profile, NULL, &benchmark_error);
  g_autofree char *probe = td_launch_probe (profile, paths, NULL, &probe_error);

  td_test_pin ("benchmark: %s", benchmark ? benchmark : benchmark_error->message);
  td_test_pin ("probe: %s", probe ? probe : probe_error->message);
}

static void
put_program (const char *folder, const char *name, const char *script)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, script, -1, NULL));
  g_assert_cmpint (g_chmod (path, 0700), ==, 0);
}

static void
test_launched (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *path = g_strconcat (folder->path, ":", before, NULL);

  put_program (folder->path, "ssh",
               "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n");
  put_program (folder->path, "srun",
               "#!/bin/sh\n[ \"$*\" = --version ] && echo slurm 1 || echo \"srun $*\"\n");
  put_program (folder->path, "salloc", "#!/bin/sh\necho \"salloc $*\"\n");
  put_program (folder->path, "mpirun",
               "#!/bin/sh\n[ \"$*\" = --version ] && echo OpenRTE || echo \"mpirun $*\"\n");
  put_program (profiles, "t.sh", template);
  g_setenv ("PATH", path, TRUE);
  g_setenv ("XDG_DATA_HOME", folder->path, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (launched); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdClusterProfile) profile = load (launched[i].kind, launched[i].lines, &error);

    g_assert_no_error (error);
    td_test_pin ("%s: %u ranks", td_cluster_kind_name (profile->kind),
                 td_cluster_profile_ranks (profile));
    pin_script (profile, said);
    pin_words (profile);
    pin_places (profile);
    if (!strchr (launched[i].lines, '/')) /* whose folders and programs are there */
      pin_runs (profile);
  }
  g_setenv ("PATH", before, TRUE);
}

/* ── Which there are ── */

static void
put (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, "tomodesk", "profiles", name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* By name, from the user's folder and the system's. Of equal names the user's is taken, whether it
   is a profile or not, and of two folders of the system the first one's. */
static void
test_listed (void)
{
  static const char *const names[] = { "a", "b", "z" }, *const hosts[] = { "own", "first", "own" };
  g_autofree char *one_ini = g_build_filename (profiles, "one.ini", NULL);
  g_auto (GStrv) problems = NULL;

  g_remove (one_ini); /* of other tests */
  put (own_folder, "z.ini", "[Profile]\nkind = ssh\nhost = own\n");
  put (own_folder, "a.ini", "[Profile]\nkind = ssh\nhost = own\n");
  put (own_folder, "c.ini", "[Profile]\nkind = cloud\n");
  put (own_folder, "notes.txt", "no profile");
  put (system_folders[0], "a.ini", "[Profile]\nkind = ssh\nhost = first\n");
  put (system_folders[0], "b.ini", "[Profile]\nkind = ssh\nhost = first\n");
  put (system_folders[1], "b.ini", "[Profile]\nkind = ssh\nhost = second\n");
  put (system_folders[1], "c.ini", "[Profile]\nkind = ssh\nhost = second\n");
  g_autoptr (GPtrArray) found = td_cluster_profiles (&problems);
  g_assert_cmpuint (found->len, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < found->len; i++) {
    const TdClusterProfile *profile = found->pdata[i];
    g_autoptr (TdClusterProfile) one = td_cluster_profile_find (names[i], NULL);

    g_assert_cmpstr (profile->name, ==, names[i]);
    g_assert_cmpstr (profile->host, ==, hosts[i]);
    g_assert_cmpstr (one->host, ==, hosts[i]);
    g_assert_cmpstr (one->file, ==, profile->file);
  }
  g_assert_cmpuint (g_strv_length (problems), ==, 1);
  g_assert_nonnull (strstr (problems[0], "c.ini, line 2: \"kind\" is local, ssh or slurm"));
  g_autoptr (GPtrArray) again = td_cluster_profiles (NULL);
  g_assert_cmpuint (again->len, ==, found->len);
}

/* What is asked for that no file can be. */
static void
test_no_names (void)
{
  static const struct {
    const char *name, *says;
  } names[] = {
    { "../one", "\"../one\" is no profile's name" },
    { "one.ini", "\"one.ini\" is no profile's name" },
    { "nowhere", "there is no profile \"nowhere\": write " },
    { "local:", "\"local:\" is no profile: local:N" },
    { "local:4097", "\"local:4097\" is no profile: local:N" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (GError) error = NULL;

    g_assert_null (td_cluster_profile_find (names[i].name, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_true (g_str_has_prefix (error->message, names[i].says));
  }
}

/* This computer's own program is always there, and starts no ranks. */
static void
test_here (void)
{
  for (guint told = 0; told < 2; told++) {
    if (told)
      g_setenv ("TOMODESK_CLI", "/other/cli", TRUE);
    else
      g_unsetenv ("TOMODESK_CLI");
    g_autoptr (TdClusterProfile) here = td_cluster_profile_find ("here", NULL);
    g_assert_cmpint (here->kind, ==, TD_CLUSTER_HERE);
    g_assert_cmpstr (here->name, ==, "here");
    g_assert_null (here->file);
    g_assert_null (here->launcher[0]);
    g_assert_cmpstr (here->worker, ==, told ? "/other/cli" : "tomodesk-cli");
    g_assert_cmpstr (td_cluster_kind_name (here->kind), ==, "here");
  }
  g_unsetenv ("TOMODESK_CLI");
  g_autofree char *machine = td_cluster_profile_machine_file ("a/b c");
  g_assert_true (g_str_has_suffix (machine, "/tomodesk/machines/a-b c.txt"));
}

/* Folders that a cluster calls otherwise: the longest that holds a path decides. */
static void
test_mapped (void)
{
  static const struct {
    const char *map, *path, *there;
  } paths[] = {
    { "/a=/", "/a", "" },
    { "/a=/", "/a/b", "/b" },
    { "/a/=/c/", "/a/b", "/c/b" },
    { "/a/=/c/", "/a", "/c" },
    { "/a=/c//", "/a/b", "/c/b" },
    { "/=/c", "/a/b", "/c/a/b" },
    { "/=/", "/a/b", "/a/b" },
    { "/a=/c", "/ab", NULL },
    { "/a=/c", "/", NULL },
    { "/a=/c;/a/b=/d", "/a/b/e", "/d/e" },
    { "/a/b=/d;/a=/c", "/a/b/e", "/d/e" },
    { "/a/b=/d;/a=/c", "/a/bc", "/c/bc" },
    { "/a=/c;/a=/d", "/a/b", "/d/b" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++) {
    g_autofree char *lines = g_strdup_printf ("host = h\nmap = %s\n", paths[i].map);
    g_autoptr (TdClusterProfile) profile = load ("ssh", lines, NULL);
    g_autofree char *there = td_cluster_profile_to_remote (profile, paths[i].path);

    g_assert_cmpstr (there, ==, paths[i].there);
  }
}

/* ── The worker there ── */

#define OK "tomodesk-worker " TD_VERSION "\n"

/* What a worker prints when it is asked for its version, and what is said of that. */
static const struct {
  const char *kind, *lines; /* of the profile */
  const char *prints, *complains;
  int status;
  gint error;
  const char *says; /* NULL: it is taken */
} workers[] = {
  { "local", "", OK, "" },
  { "local", "setup = echo module 7\n", OK, "" }, /* which is not heard */
  { "local", "container = env\n", OK, "" },
  { "local", "", "tomodesk-worker " TD_VERSION ": more\nand more", "" },
  { "ssh", "host = h\n", OK, "" },
  { "slurm", "", OK, "" },
  { "local", "", "tomodesk-worker 0.1\n", "", 0, TD_ERROR_UNSUPPORTED,
    "the worker on this computer is of version 0.1, and this program is of version " TD_VERSION },
  { "ssh", "host = h\n", "tomodesk-worker 0.1\n", "", 0, TD_ERROR_UNSUPPORTED,
    "the worker on h is of version 0.1" },
  { "slurm", "", "tomodesk-worker 0.1\n", "", 0, TD_ERROR_UNSUPPORTED,
    "the worker on this computer is of version 0.1" },
  { "local", "", OK, "no MPI", 1, TD_ERROR_UNSUPPORTED,
    "the worker \"@\" on this computer does not run: no MPI" },
  { "local", "", "", "", 1, TD_ERROR_UNSUPPORTED,
    "the worker \"@\" on this computer does not run: it said nothing" },
  { "local", "", "tomodesk-worker", "", 0, TD_ERROR_UNSUPPORTED,
    "the worker \"@\" on this computer does not run: it said nothing" },
  { "local", "", "tomodesk-cli " TD_VERSION "\n", "", 0, TD_ERROR_UNSUPPORTED,
    "the worker \"@\" on this computer does not run" },
  { "local", "", "", "not here", 127, TD_ERROR_NOT_FOUND,
    "this computer has no program \"@\" (not here): install Tomodesk" },
  { "ssh", "host = h\n", "", "", 126, TD_ERROR_NOT_FOUND,
    "h has no program \"@\" (it said nothing): install Tomodesk " TD_VERSION },
  { "ssh", "host = h\ncontainer = env;-u;X\n", "", "", 127, TD_ERROR_NOT_FOUND,
    "h has no program \"env\"" },
  { "slurm", "", "", "", 127 }, /* the nodes may have it */
  { "slurm", "", "", "", 126 },
};

static void
test_worker_there (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *worker = test_folder_file (folder, "worker");
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *path = g_strconcat (folder->path, ":", before, NULL);

  put_program (folder->path, "ssh",
               "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n");
  g_setenv ("PATH", path, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (workers); i++) {
    g_autofree char *script = g_strdup_printf (
        "#!/bin/sh\n[ \"$*\" = --version ] || exit 3\nprintf '%s'\nprintf '%s' >&2\nexit %d\n",
        workers[i].prints, workers[i].complains, workers[i].status);
    g_autofree char *lines = g_strdup_printf ("worker = %s\n%s", worker, workers[i].lines);
    g_autoptr (TdClusterProfile) profile = load (workers[i].kind, lines, NULL);
    g_autoptr (GString) says = g_string_new (workers[i].says);
    g_autoptr (GError) error = NULL;

    put_program (folder->path, "worker", script);
    g_string_replace (says, "@", worker, 0);
    const gboolean taken = td_launch_check_worker (profile, NULL, &error);
    g_test_message ("%u: %s", i, taken ? "taken" : error->message);
    g_assert_cmpint (taken, ==, !workers[i].says);
    if (!taken) {
      g_assert_error (error, TD_ERROR, workers[i].error);
      g_assert_true (g_str_has_prefix (error->message, says->str));
    }
  }
  /* This computer's own program goes by another name. */
  put_program (folder->path, "worker", "#!/bin/sh\necho tomodesk-cli " TD_VERSION "\n");
  g_setenv ("TOMODESK_CLI", worker, TRUE);
  g_autoptr (TdClusterProfile) here = td_cluster_profile_find ("here", NULL);
  g_assert_true (td_launch_check_worker (here, NULL, NULL));
  put_program (folder->path, "worker", "#!/bin/sh\necho " OK);
  g_assert_false (td_launch_check_worker (here, NULL, NULL));
  g_unsetenv ("TOMODESK_CLI");
  g_setenv ("PATH", before, TRUE);
}

/* What is launched once and for all, and fails: who says why. */
static void
test_runs_fail (void)
{
  static const char script[] /* the jobs' folder is its last word */
      = "#!/bin/sh\nfor last; do :; done\nmkdir -p \"$last/.benchmark\"\n"
        "echo one >&2; echo tomodesk-worker: no room. >&2; exit 3\n";
  static const char *const no_paths[] = { NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *mpirun = test_folder_file (folder, "mpirun");
  g_autofree char *left = test_folder_file (folder, "jobs/.benchmark");
  g_autofree char *jobs = test_folder_file (folder, "jobs");
  g_autofree char *lines = g_strdup_printf ("jobs-folder = %s/jobs\nlauncher = %s\nworker = %s\n",
                                            folder->path, mpirun, mpirun);
  g_autoptr (GError) benchmark = NULL, probe = NULL, missing = NULL;
  g_autoptr (TdClusterProfile) profile = load ("local", lines, NULL);
  g_autofree char *says = g_strdup_printf (
      "the probe on this computer failed: the profile names a launcher that is not there: %s",
      mpirun);

  g_assert_null (td_launch_probe (profile, no_paths, NULL, &missing));
  g_assert_cmpstr (missing->message, ==, says);
  put_program (folder->path, "mpirun", script);
  g_assert_null (td_launch_benchmark (profile, NULL, &benchmark));
  g_assert_error (benchmark, TD_ERROR, TD_ERROR_IO);
  g_assert_cmpstr (benchmark->message, ==,
                   "the benchmark on this computer failed: tomodesk-worker: no room");
  g_assert_true (g_file_test (jobs, G_FILE_TEST_IS_DIR));
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  g_assert_null (td_launch_probe (profile, no_paths, NULL, &probe));
  g_assert_cmpstr (probe->message, ==,
                   "the probe on this computer failed: tomodesk-worker: no room");
}

/* A template that asks for what nobody knows. */
static void
test_template_refused (void)
{
  g_autoptr (GError) error = NULL;

  put_program (profiles, "bad.sh", "#!/bin/sh\n@@ @c@ @SETUP@ me@HOME @NOPE@ @WORKER@\n");
  g_autoptr (TdClusterProfile) profile = load ("slurm", "template-cpu = bad.sh\n", NULL);
  g_assert_null (td_launch_script (profile, "id", "/j", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_true (g_str_has_prefix (
      error->message, "the template of the profile \"one\" uses @NOPE@, which is no variable"));
}

#define RULE "-----------------\n"

/* What they print when they end: the words that tell most, not a rule. */
static void
test_launcher_s_words (void)
{
  static const struct {
    const char *text, *line, *killed;
  } texts[] = {
    { NULL, NULL, NULL },
    { RULE RULE, NULL, NULL },
    { "sh: no.\n", "sh: no", NULL },
    { "first\nsecond\n", "first", NULL },
    { RULE "mpirun could not\nrun it:\n\nNode: b\n" RULE "more\n",
      "mpirun could not run it: Node: b", NULL },
    { "[a:1] plm:rsh: Warning: setpgid failed\n" RULE "one\n", "one", NULL },
    { "\n  \n- no\nyes.\n", "yes", NULL },
    { "tomodesk-worker: a\ntomodesk-worker: b\n", "tomodesk-worker: a", NULL },
    { "one\nsrun: a: Killed\nsrun: b: Killed\n", "srun: a: Killed", "srun: a: Killed" },
    { "one\n" RULE
      "mpirun noticed that process rank 5 on node c exited on signal 9 (Killed).\n" RULE,
      "mpirun noticed that process rank 5 on node c exited on signal 9 (Killed)",
      "mpirun noticed that process rank 5 on node c exited on signal 9 (Killed)" },
    { "srun: error: b: task 2: Killed\ntomodesk-worker: rank 2: no\n",
      "tomodesk-worker: rank 2: no", "srun: error: b: task 2: Killed" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autofree char *line = td_launch_telling_line (texts[i].text, FALSE);
    g_autofree char *killed = td_launch_telling_line (texts[i].text, TRUE);

    g_assert_cmpstr (line, ==, texts[i].line);
    g_assert_cmpstr (killed, ==, texts[i].killed);
  }
}

int
main (int argc, char **argv)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *first = test_folder_file (folder, "first");
  g_autofree char *second = test_folder_file (folder, "second");
  g_autofree char *both = g_strconcat (first, ":", second, NULL);

  own_folder = folder->path;
  system_folders[0] = first;
  system_folders[1] = second;
  g_setenv ("XDG_CONFIG_HOME", folder->path, TRUE);
  g_setenv ("XDG_DATA_DIRS", both, TRUE);
  g_test_init (&argc, &argv, NULL);
  profiles = g_build_filename (folder->path, "tomodesk", "profiles", NULL);
  g_assert_cmpint (g_mkdir_with_parents (profiles, 0700), ==, 0);
  g_test_add_func ("/profile/keys", test_keys);
  g_test_add_func ("/profile/order", test_order);
  g_test_add_func ("/profile/values", test_values);
  g_test_add_func ("/profile/presets", test_presets);
  g_test_add_func ("/profile/local", test_local);
  g_test_add_func ("/profile/setup-of-each-node", test_setup_of_each_node);
  g_test_add_func ("/profile/launched", test_launched);
  g_test_add_func ("/profile/listed", test_listed);
  g_test_add_func ("/profile/no-names", test_no_names);
  g_test_add_func ("/profile/here", test_here);
  g_test_add_func ("/profile/mapped", test_mapped);
  g_test_add_func ("/profile/worker-there", test_worker_there);
  g_test_add_func ("/profile/runs-fail", test_runs_fail);
  g_test_add_func ("/profile/template-refused", test_template_refused);
  g_test_add_func ("/profile/launcher-s-words", test_launcher_s_words);
  const int status = g_test_run ();
  g_free (profiles);
  return status;
}
