/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rates.h"

#include <math.h>

#include "dataset/text-file.h"

#define MAX_BYTES ((gsize) 16 << 20)

#define GROUP "per second, by size"
#define LARGER 16 /* sizes that are looked at above the one in question */

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

/* Work of 8^size to 8^(size + 1). */
static int
rates_size (double work)
{
  return work > 1 ? (int) floor (log2 (work) / 3) : 0;
}

/* Key files forbid "=" and "[" in keys. */
static char *
clean_key (const char *key, int size)
{
  return g_strdelimit (g_strdup_printf ("%s 8^%d", key, size), "=[]\n", '-');
}

static double
rates_look_up (TdRates *rates, const char *key, int size)
{
  g_autofree char *clean = clean_key (key, size);
  const double value = g_key_file_get_double (rates->file, GROUP, clean, NULL);

  return value > 0 && isfinite (value) ? value : 0;
}

double
td_rates_get (TdRates *rates, const char *key, double work)
{
  const int size = rates_size (work);

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&rates->lock);
  double rate = rates_look_up (rates, key, size);
  for (int larger = 1; rate == 0 && larger <= LARGER; larger++) {
    rate = rates_look_up (rates, key, size + larger);
    if (larger == 1 && rate == 0)
      rate = rates_look_up (rates, key, size - 1);
  }
  return rate;
}

void
td_rates_set (TdRates *rates, const char *key, double work, double seconds)
{
  const double per_second = work / seconds;

  if (!(per_second > 0) || !isfinite (per_second))
    return;
  g_autofree char *clean = clean_key (key, rates_size (work));
  g_autofree char *folder = g_path_get_dirname (rates->path);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&rates->lock);
  g_key_file_set_double (rates->file, GROUP, clean, per_second);
  /* A cache that cannot be written is no reason to trouble anybody. */
  if (g_mkdir_with_parents (folder, 0755) == 0)
    g_key_file_save_to_file (rates->file, rates->path, NULL);
}
