/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "quantity.h"

#include <glib/gi18n.h>
#include <math.h>

#define GIB_BYTES 1073741824.0

int
td_compare_numbers (double one, double other)
{
  if (isnan (one) || isnan (other))
    return isnan (one) - isnan (other);
  return (one > other) - (one < other);
}

guint64
td_bytes_from_gib (double gib)
{
  return (guint64) (gib * GIB_BYTES);
}

double
td_gib_from_bytes (guint64 bytes)
{
  return (double) bytes / GIB_BYTES;
}

char *
td_duration_text (double seconds)
{
  guint64 s = (guint64) (seconds + 0.5);

  if (seconds < 0.05)
    return g_strdup (_ ("less than 0.1 s")); /* and not none at all */
  if (seconds < 9.95)
    return g_strdup_printf (_ ("%.1f s"), seconds);
  if (s < 60)
    return g_strdup_printf (_ ("%u s"), (guint) s);
  if (s < 3600)
    return g_strdup_printf (_ ("%u min %u s"), (guint) (s / 60), (guint) (s % 60));
  return g_strdup_printf (_ ("%u h %u min"), (guint) (s / 3600), (guint) (s / 60 % 60));
}

char *
td_moment_text (double seconds)
{
  return seconds < 0.0005 ? g_strdup (_ ("less than 1 ms"))
                          : g_strdup_printf (_ ("%.0f ms"), seconds * 1e3);
}

char *
td_estimate_text (double seconds)
{
  return seconds > 0 ? td_duration_text (seconds) : g_strdup (_ ("not known yet"));
}

char *
td_progress_text (const TdJobProgress *progress)
{
  g_autofree char *left
      = progress->remaining_s < 0 ? NULL : td_duration_text (progress->remaining_s);

  if (progress->n_slices == 0)
    return g_strdup (_ ("Preparing"));
  if (progress->stage && g_str_has_prefix (progress->stage, "building"))
    return g_strdup (_ ("Building kernels, once"));
  if (progress->n_passes > 0 && progress->slices_done == 0) {
    if (progress->pass == 0)
      return g_strdup (_ ("Iterating: first pass"));
    if (!left)
      return g_strdup_printf (_ ("%u of %u passes, residual %.4f"), progress->pass,
                              progress->n_passes, progress->residual);
    return g_strdup_printf (_ ("%u of %u passes, residual %.4f, %s left"), progress->pass,
                            progress->n_passes, progress->residual, left);
  }
  /* All is computed, and slices are still on their way to the disk: their count is behind the bar.
   */
  if (g_strcmp0 (progress->stage, "writing") == 0)
    return g_strdup_printf (_ ("Computed; %u of %u slices written"), progress->slices_done,
                            progress->n_slices);
  if (!left)
    return g_strdup_printf (_ ("%u of %u slices"), progress->slices_done, progress->n_slices);
  return g_strdup_printf (_ ("%u of %u slices, %s left"), progress->slices_done, progress->n_slices,
                          left);
}
