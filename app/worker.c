/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"
#include "config.h"

/* The MPI worker. This version says what it is and refuses work, so that a launcher that finds it
   can tell its user why the job did not start. */
int
main (int argc, char **argv)
{
  if (argc == 2 && (strcmp (argv[1], "--version") == 0 || strcmp (argv[1], "--help") == 0)) {
    printf ("tomodesk-worker %s: %s\n", TD_VERSION, td_cluster_description ());
    return 0;
  }
  fprintf (stderr, "tomodesk-worker: %s\n", td_cluster_description ());
  return 1;
}
