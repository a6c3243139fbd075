/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any bytes as what the program keeps for the next time: what tuning found,
 * rates, a compiled program. */

#include "compute/device/program-cache.h"
#include "compute/engine/rates.h"
#include "compute/parallel/tune-store.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static char *folder;
  TdDeviceInfo info = { .id = "cuda:0", .name = "card", .driver = "1" };
  const TdBackprojectTask task = { .n_columns = 512, .n_views = 512, .nx = 512, .ny = 512 };

  if (!folder) {
    folder = g_strdup ("/dev/shm/fuzz-kept-XXXXXX");
    if (!g_mkdtemp (folder))
      g_error ("no folder");
    g_setenv ("XDG_CACHE_HOME", folder, TRUE);
  }
  g_autofree char *beside = g_build_filename (folder, "tomodesk", NULL);
  g_autofree char *tuned = g_build_filename (beside, "tuned.json", NULL);
  g_autofree char *kept = g_build_filename (beside, "rates.ini", NULL);
  g_mkdir_with_parents (beside, 0700);
  if (!g_file_set_contents (tuned, (const char *) data, (gssize) size, NULL)
      || !g_file_set_contents (kept, (const char *) data, (gssize) size, NULL))
    g_error ("no file");
  /* Whoever writes reads the file first. */
  td_tune_store_disable (&info, "texture", "off by 7", NULL);
  TdTuned found = { 0 };
  if (td_tune_store_find (&info, "alu", &task, 1, &found))
    td_tuned_clear (&found);
  g_free (td_tune_store_disabled (&info, "alu"));
  TdRates *rates = td_rates_new ();
  td_rates_get (rates, "fdk kernel card alu", 1e12);
  td_rates_free (rates);
  g_autofree char *programs = g_build_filename (beside, "programs", NULL);
  g_autofree char *program = g_build_filename (programs, "key", NULL);
  g_mkdir_with_parents (programs, 0700);
  if (!g_file_set_contents (program, (const char *) data, (gssize) size, NULL))
    g_error ("no file");
  GBytes *loaded = td_program_cache_load ("key");
  if (loaded)
    g_bytes_unref (loaded);
  return 0;
}
