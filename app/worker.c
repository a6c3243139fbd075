/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cluster/worker.h"
#include "config.h"

static int
worker_usage (FILE *to)
{
  fprintf (to,
           "Usage: tomodesk-worker run FOLDER\n"
           "       tomodesk-worker --version\n"
           "\n"
           "One rank of a cluster job, for mpirun or srun to start. FOLDER is the job's: it has\n"
           "the file job.json.\n");
  return to == stdout ? 0 : 2;
}

int
main (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--version") == 0) {
    printf ("tomodesk-worker %s\n", TD_VERSION);
    return 0;
  }
  if (argc == 2 && strcmp (argv[1], "--help") == 0)
    return worker_usage (stdout);
  if (argc == 3 && strcmp (argv[1], "run") == 0)
    return td_worker_run (argv[2]);
  return worker_usage (stderr);
}
