/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>

#include "cli-verbs.h"
#include "compute/device/device-probe.h"
#include "config.h"
#include "dataset/hdf5-trial.h"

typedef struct {
  const char *name;
  int (*run) (int argc, char **argv);
  const char *summary;
} TdCliVerb;

/* In the order of a day's work, as --help lists them. */
static const TdCliVerb verbs[] = {
  { "phantom", td_cli_phantom, "Make a scan of an object that is known exactly" },
  { "info", td_cli_info, "Say what a scan is" },
  { "centre", td_cli_centre, "Find the rotation axis" },
  { "plan", td_cli_plan, "Say what a reconstruction would take" },
  { "reconstruct", td_cli_reconstruct, "Make a volume of a scan" },
  { "batch", td_cli_batch, "Make volumes of many scans by one recipe" },
  { "watch", td_cli_watch, "Make volumes of the scans that come into a folder" },
  { "submit", td_cli_submit, "Make a volume of a scan on a cluster" },
  { "jobs", td_cli_jobs, "List the jobs of this computer's profiles" },
  { "follow", td_cli_follow, "Show how far a job is, and bring its volume" },
  { "cancel", td_cli_cancel, "End a job" },
  { "run", td_cli_run, "Carry out the job in a folder" },
  { "profiles", td_cli_profiles, "List the clusters that jobs can go to; test one" },
  { "lab", td_cli_lab, "Compare variants of one slice: precision, kernels, filters, noise" },
  { "compare", td_cli_compare, "Compare two volumes" },
  { "slice", td_cli_slice, "Take a plane out of a volume; measure a volume" },
  { "devices", td_cli_devices, "List the devices; test that they compute the right thing" },
  { "tune", td_cli_tune, "Find the fastest kernels for a device" },
  { "bench", td_cli_bench, "Measure how fast and how exact the kernels are" },
  { NULL, NULL, NULL },
};

static void
cli_print_help (void)
{
  td_cli_print ("Usage: tomodesk-cli VERB [OPTION…]\n"
                "\n"
                "Reconstructs computed-tomography scans: the same engine as the Tomodesk window.\n"
                "\n"
                "Verbs:\n");
  for (const TdCliVerb *verb = verbs; verb->name; verb++)
    td_cli_print ("  %-12s %s\n", verb->name, verb->summary);
  td_cli_print (
      "\n"
      "A first reconstruction:\n"
      "  tomodesk-cli phantom shepp-logan --output demo.nxs --columns 256 --rows 16 --views 361\n"
      "  tomodesk-cli info demo.nxs\n"
      "  tomodesk-cli plan demo.nxs\n"
      "  tomodesk-cli reconstruct demo.nxs --output slices\n"
      "\n"
      "tomodesk-cli VERB --help shows the options of a verb with examples. With --json a verb\n"
      "prints one JSON value on standard output. Exit status: 0 done, 1 failed (one line on\n"
      "standard error), 2 wrong usage, 130 cancelled.\n");
}

/* A job that was cancelled, refused or failed may have left a thread in a long kernel, or a driver
   that still compiles one. The program waits for neither, and frees nothing that they use. */
static int
cli_end (int status)
{
  if (status == TD_CLI_DONE && !td_cli_flush ())
    status = TD_CLI_FAILED;
  td_device_leave (status);
}

int
main (int argc, char **argv)
{
  if (td_device_probe_helper (argc, argv) || td_h5_trial_helper (argc, argv))
    return 0;
  setlocale (LC_ALL, "");
  /* Jobs of cron and of clusters often have no language. Names have letters all the same. */
  if (g_str_equal (nl_langinfo (CODESET), "ANSI_X3.4-1968"))
    setlocale (LC_CTYPE, "C.UTF-8");
  setlocale (LC_NUMERIC, "C"); /* options, recipes and JSON have decimal points everywhere */
  g_set_prgname ("tomodesk-cli");

  if (argc < 2) {
    td_cli_say ("say what to do; tomodesk-cli --help lists the verbs");
    return TD_CLI_USAGE;
  }
  if (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h")
      || (g_str_equal (argv[1], "help") && argc == 2)) {
    cli_print_help ();
    return cli_end (TD_CLI_DONE);
  }
  if (g_str_equal (argv[1], "--version")) {
    td_cli_print ("tomodesk-cli %s\n", TD_VERSION);
    return cli_end (TD_CLI_DONE);
  }

  for (const TdCliVerb *verb = verbs; verb->name; verb++)
    if (g_str_equal (verb->name, argv[1]))
      return cli_end (verb->run (argc - 1, argv + 1));
  td_cli_say ("there is no verb \"%s\"; tomodesk-cli --help lists them", argv[1]);
  return TD_CLI_USAGE;
}
