/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cluster/node-probe.h"
#include "cluster/worker.h"
#include "compute/device/device-probe.h"
#include "config.h"
#include "dataset/hdf5-trial.h"

static int
worker_usage (FILE *to)
{
  static const char text[]
      = "Usage: tomodesk-worker run FOLDER\n"
        "       tomodesk-worker probe [--json] [--device NAME] [--read PATH]... [--write PATH]...\n"
        "       tomodesk-worker benchmark [--device NAME] FOLDER\n"
        "       tomodesk-worker --version\n"
        "\n"
        "run: one rank of a cluster job, for mpirun or srun to start. FOLDER is the job's: it\n"
        "has the file job.json. probe: what this node can do, as one line of JSON. benchmark:\n"
        "how fast all ranks together are, with files in FOLDER; also for mpirun or srun.\n";

  fputs (text, to);
  return to == stdout ? 0 : 2;
}

static int
worker_probe (int argc, char **argv)
{
  g_autoptr (GPtrArray) reads = g_ptr_array_new (), writes = g_ptr_array_new ();
  const char *device = "auto";

  for (int i = 2; i < argc; i++)
    if (i + 1 < argc && strcmp (argv[i], "--read") == 0)
      g_ptr_array_add (reads, argv[++i]);
    else if (i + 1 < argc && strcmp (argv[i], "--write") == 0)
      g_ptr_array_add (writes, argv[++i]);
    else if (i + 1 < argc && strcmp (argv[i], "--device") == 0)
      device = argv[++i];
    else if (strcmp (argv[i], "--json") != 0)
      return worker_usage (stderr);
  g_ptr_array_add (reads, NULL);
  g_ptr_array_add (writes, NULL);
  td_node_probe (device, (char **) reads->pdata, (char **) writes->pdata);
  return 0;
}

static int
worker_do (int argc, char **argv)
{
  if (argc == 2 && strcmp (argv[1], "--version") == 0) {
    printf ("tomodesk-worker %s\n", TD_VERSION);
    return 0;
  }
  if (argc == 2 && strcmp (argv[1], "--help") == 0)
    return worker_usage (stdout);
  if (argc == 3 && strcmp (argv[1], "run") == 0)
    return td_worker_run (argv[2]);
  if (argc == 3 && strcmp (argv[1], "benchmark") == 0)
    return td_worker_benchmark (argv[2], NULL);
  if (argc == 5 && strcmp (argv[1], "benchmark") == 0 && strcmp (argv[2], "--device") == 0)
    return td_worker_benchmark (argv[4], argv[3]);
  if (argc >= 2 && strcmp (argv[1], "probe") == 0)
    return worker_probe (argc, argv);
  return worker_usage (stderr);
}

int
main (int argc, char **argv)
{
  if (td_device_probe_helper (argc, argv) || td_h5_trial_helper (argc, argv))
    return 0;
  setlocale (LC_NUMERIC, "C");
  td_device_leave (worker_do (argc, argv));
}
