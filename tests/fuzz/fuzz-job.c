/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as the file of a cluster's job; what is taken must say and read
   itself alike. */
#include <stdio.h>
#include <string.h>

#include "cluster/job-file.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *
fuzz_job_folder (void)
{
  char *folder = g_strdup ("/dev/shm/fuzz-job-XXXXXX");

  if (!g_mkdtemp (folder))
    g_error ("no folder");
  return folder;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static char *folder, *other;
  g_auto (TdJobFile) job = { 0 }, again = { 0 };

  if (!folder) {
    folder = fuzz_job_folder ();
    other = fuzz_job_folder ();
  }
  g_autofree char *path = g_build_filename (folder, "job.json", NULL);
  FILE *file = fopen (path, "w");
  if (!file || fwrite (data, 1, size, file) != size || fclose (file) != 0)
    g_error ("no file");
  if (!td_job_file_load (&job, folder, NULL))
    return 0;
  if (!td_job_file_save (&job, other, NULL) || !td_job_file_load (&again, other, NULL)
      || !td_recipe_equal (&job.recipe, &again.recipe) || g_strcmp0 (job.id, again.id) != 0
      || g_strcmp0 (job.scan_path, again.scan_path) != 0
      || g_strcmp0 (job.output, again.output) != 0
      || memcmp (&job.cluster.mode, &again.cluster.mode, sizeof job.cluster.mode) != 0
      || job.cluster.memory_bytes != again.cluster.memory_bytes)
    g_error ("not the same job");
  return 0;
}
