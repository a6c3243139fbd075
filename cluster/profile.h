/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "job-file.h"
#include "shell.h"

/**
 * TdClusterProfile: where and how jobs of a cluster run, as an administrator or a user wrote it in
 * NAME.ini (docs/guide-cluster.md has every key). Files lie in "tomodesk/profiles" below the
 * system's data folders, the site's configuration folder and the user's; of equal names the last
 * wins. Profiles hold no secrets: ssh knows how to log in. Immutable. Any thread.
 */
typedef enum {
  TD_CLUSTER_LOCAL, /* mpirun on this computer */
  TD_CLUSTER_SSH,   /* mpirun on a host */
  TD_CLUSTER_SLURM, /* sbatch, here or on a host */
  TD_CLUSTER_HERE,  /* one process on this computer, without MPI; no file has this kind */
} TdClusterKind;

/* The name of the profile of that kind, which is always there. */
#define TD_CLUSTER_OWN "here"

typedef struct {
  char *name, *file; /* file NULL: "local:N" */
  TdClusterKind kind;
  char *description;            /* NULL: none */
  char *host, *ssh_config;      /* as ssh takes them; NULL: this computer, the user's */
  char *jobs_folder;            /* NULL: the user's data folder there */
  char *worker;                 /* program, path or name */
  char **container, **launcher; /* words before the worker, and before both; never NULL */
  char *setup, *host_setup;     /* shell lines: of each node, of the host; NULL: none */
  guint nodes, ranks_per_node, cards_per_rank;
  char *partition, *time, *account;  /* NULL: the scheduler's own */
  char **scheduler_options;          /* for sbatch; never NULL */
  char **map;                        /* "LOCAL=REMOTE" folders; never NULL */
  gboolean staging;                  /* rsync carries what no mapping reaches */
  char *template_cpu, *template_gpu; /* batch scripts with @NAMES@; NULL: ours */
  TdClusterWish wish;                /* what jobs ask for if nothing else is said */
} TdClusterProfile;

TdClusterProfile *td_cluster_profile_ref (TdClusterProfile *profile);
void td_cluster_profile_unref (TdClusterProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdClusterProfile, td_cluster_profile_unref)

/* "here", "local:4", or the profile of that name. An error names the file, the line and the key. */
TdClusterProfile *td_cluster_profile_find (const char *name, GError **error);
/* All of them, by name (transfer full). @problems: (nullable): gets a sentence for each file that
   is none (transfer full, to be freed as an array of strings). */
GPtrArray *td_cluster_profiles (char ***problems);

/* For scripts of the profile's shell: makes the jobs' folder, "$root", of the profile's own word
   for it, "$1" ("": none). */
#define TD_CLUSTER_JOBS_ROOT                                                                       \
  "root=$1\n"                                                                                      \
  "[ -n \"$root\" ] || root=${XDG_DATA_HOME:-$HOME/.local/share}/tomodesk/jobs\n"                  \
  "case $root in \"~/\"*) root=$HOME/${root#\"~/\"};; esac\n"

/* Where the benchmark of a profile keeps what it measured, as td_model_machine_parse() takes it.
   (transfer full) */
char *td_cluster_profile_machine_file (const char *name);
guint td_cluster_profile_ranks (const TdClusterProfile *profile);
const char *td_cluster_kind_name (TdClusterKind kind); /* "local", "ssh", "slurm", "here" */
TdShell *td_cluster_profile_shell (const TdClusterProfile *profile);
/* Where the cluster finds @path; NULL: nowhere. (transfer full) */
char *td_cluster_profile_to_remote (const TdClusterProfile *profile, const char *path);
