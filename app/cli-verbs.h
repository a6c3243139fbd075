/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The verbs of tomodesk-cli, one file each. The table in cli.c names them. argv[0] is the verb, and
   the return value is the exit status (cli.h). */

int td_cli_batch (int argc, char **argv);
int td_cli_bench (int argc, char **argv);
int td_cli_bench_cone (int argc, char **argv);    /* bench --cone */
int td_cli_bench_prepare (int argc, char **argv); /* bench --prepare */
int td_cli_bench_rays (int argc, char **argv);    /* bench --cone --project */
int td_cli_bench_fdk (int argc, char **argv);     /* bench --cone --end-to-end */
int td_cli_bench_disk (int argc, char **argv);    /* bench --disk */
int td_cli_bench_end (int argc, char **argv);     /* bench --end-to-end, parallel beam */
int td_cli_cancel (int argc, char **argv);
int td_cli_centre (int argc, char **argv);
int td_cli_compare (int argc, char **argv);
int td_cli_devices (int argc, char **argv);
int td_cli_follow (int argc, char **argv);
int td_cli_info (int argc, char **argv);
int td_cli_jobs (int argc, char **argv);
int td_cli_lab (int argc, char **argv);
int td_cli_phantom (int argc, char **argv);
int td_cli_plan (int argc, char **argv);
int td_cli_profiles (int argc, char **argv);
int td_cli_reconstruct (int argc, char **argv);
int td_cli_run (int argc, char **argv);
int td_cli_slice (int argc, char **argv);
int td_cli_submit (int argc, char **argv);
int td_cli_tune (int argc, char **argv);
int td_cli_watch (int argc, char **argv);
