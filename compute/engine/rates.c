/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rates.h"

#include <math.h>

#include "dataset/text-file.h"

#define MAX_BYTES ((gsize) 16 << 20)

#define GROUP "per second"

struct TdRates {
  GMutex lock;
  GKeyFile *file;
  char *path;
};

TdRates *
td_rates_new (void)
{
  TdRates *rates = g_new0 (TdRates, 1);

  g_mutex_init (&rates->lock);
  rates->path = g_build_filename (g_get_user_cache_dir (), "tomodesk", "rates.ini", NULL);
  rates->file = g_key_file_new ();
  g_autofree char *text = td_text_load (rates->path, MAX_BYTES, NULL);
  if (text)
    g_key_file_load_from_data (rates->file, text, (gsize) -1, G_KEY_FILE_NONE, NULL);
  return rates;
}

void
td_rates_free (TdRates *rates)
{
  g_key_file_unref (rates->file);
  g_free (rates->path);
  g_mutex_clear (&rates->lock);
  g_free (rates);
}

/* Key files forbid "=" and "[" in keys. */
static char *
clean_key (const char *key)
{
  return g_strdelimit (g_strdup (key), "=[]\n", '-');
}

double
td_rates_get (TdRates *rates, const char *key)
{
  g_autofree char *clean = clean_key (key);

  g_mutex_lock (&rates->lock);
  double value = g_key_file_get_double (rates->file, GROUP, clean, NULL);
  g_mutex_unlock (&rates->lock);
  return value > 0 && isfinite (value) ? value : 0;
}

void
td_rates_set (TdRates *rates, const char *key, double per_second)
{
  g_autofree char *clean = clean_key (key);
  g_autofree char *folder = g_path_get_dirname (rates->path);

  if (!(per_second > 0) || !isfinite (per_second))
    return;
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&rates->lock);
  g_key_file_set_double (rates->file, GROUP, clean, per_second);
  /* A cache that cannot be written is no reason to trouble anybody. */
  if (g_mkdir_with_parents (folder, 0755) == 0)
    g_key_file_save_to_file (rates->file, rates->path, NULL);
}
