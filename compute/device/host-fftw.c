/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-fftw.h"

#include <stdlib.h>

#define PLANNING_SECONDS 0.25

static GMutex planner_lock;
static gboolean wisdom_read;

static char *
wisdom_file (void)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "fftwf-wisdom", NULL);
}

/* Wisdom only saves time: an unreadable or unwritable file is no error. */
static void
read_wisdom (void)
{
  g_autofree char *file = wisdom_file (), *text = NULL;

  if (!wisdom_read && g_file_get_contents (file, &text, NULL, NULL))
    fftwf_import_wisdom_from_string (text);
  wisdom_read = TRUE;
}

static void
write_wisdom (void)
{
  g_autofree char *file = wisdom_file (), *folder = g_path_get_dirname (file);
  char *text = fftwf_export_wisdom_to_string ();

  if (text && g_mkdir_with_parents (folder, 0700) == 0)
    g_file_set_contents (file, text, -1, NULL);
  free (text);
}

fftwf_plan
td_fftw_plan (guint n)
{
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  fftwf_plan plan = NULL;

  g_mutex_lock (&planner_lock);
  if (from && to) {
    read_wisdom ();
    plan = fftwf_plan_dft_1d (n, from, to, FFTW_FORWARD, FFTW_MEASURE | FFTW_WISDOM_ONLY);
    if (!plan) {
      fftwf_set_timelimit (PLANNING_SECONDS);
      plan = fftwf_plan_dft_1d (n, from, to, FFTW_FORWARD, FFTW_MEASURE);
      write_wisdom ();
    }
  }
  g_mutex_unlock (&planner_lock);
  fftwf_free (from);
  fftwf_free (to);
  return plan;
}

void
td_fftw_plan_free (fftwf_plan plan)
{
  if (!plan)
    return;
  g_mutex_lock (&planner_lock);
  fftwf_destroy_plan (plan);
  g_mutex_unlock (&planner_lock);
}

void
td_fftw_even (double *values, guint period, guint count)
{
  static GMutex planner; /* FFTW in double precision is another library, with another planner */
  const guint n = period / 2 + 1;
  double *whole = fftw_alloc_real (period);
  fftw_complex *spectrum = fftw_alloc_complex (n);

  g_mutex_lock (&planner);
  fftw_plan plan = fftw_plan_dft_r2c_1d ((int) period, whole, spectrum, FFTW_ESTIMATE);
  g_mutex_unlock (&planner);
  for (double *line = values; line < values + (gsize) count * n; line += n) {
    for (guint i = 0; i < period; i++)
      whole[i] = line[MIN (i, period - i)];
    fftw_execute (plan);
    for (guint i = 0; i < n; i++)
      line[i] = spectrum[i][0];
  }
  g_mutex_lock (&planner);
  fftw_destroy_plan (plan);
  g_mutex_unlock (&planner);
  fftw_free (spectrum);
  fftw_free (whole);
}
