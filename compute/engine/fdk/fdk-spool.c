/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of a detector that lies on its side are read whole, however few of their columns are
   wanted. If the plan would read them several times, each is read once, and copied. */
#include <sys/statvfs.h>

#include "dataset/scan-spool.h"
#include "fdk.h"

#define MEMORY_SHARE 4 /* in memory, if this part of the host's holds it */

guint64
td_fdk_spool_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_bytes (td_scan_facts (fdk->input->scan),
                                    td_fdk_span_all (fdk->input).from.n);
}

guint64
td_fdk_spool_work_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_work_bytes (td_scan_facts (fdk->input->scan),
                                         td_fdk_span_all (fdk->input).from.n);
}

static gboolean
reads_once (const TdFdkInput *input, const TdFdkFit *fit, guint n_devices)
{
  if (fit->n_chunks == 1)
    return !fit->cached || n_devices == 1;
  return fit->cached && n_devices == 1 && fit->block_rows >= td_fdk_span_all (input).from.n;
}

static guint64
disk_room (void)
{
  struct statvfs facts;

  return statvfs (g_get_tmp_dir (), &facts) == 0 ? (guint64) facts.f_bavail * facts.f_frsize : 0;
}

/* Whether there is room for the copy, and the rest of the plan fits beside it. */
static gboolean
spool_fits (const TdPlan *plan, const TdFdkPlan *with, TdFdkFit *fit)
{
  const guint64 bytes = td_fdk_spool_bytes (with);
  const gboolean in_memory = with->scheme.spool == TD_FDK_SPOOL_MEMORY;

  if (in_memory && bytes > td_plan_host_budget (plan) / MEMORY_SHARE)
    return FALSE;
  if (!td_fdk_fit (plan, with->input, &with->scheme, NULL, fit, NULL))
    return FALSE;
  return in_memory || bytes + (fit->on_disk ? with->input->projection_bytes : 0) <= disk_room ();
}

void
td_fdk_decide_spool (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme, TdFdkFit *fit)
{
  TdFdkPlan with = { .input = input, .scheme = *scheme };
  TdFdkFit fit_with;

  if (!input->turned || td_scan_facts (plan->measured)->in_memory
      || reads_once (input, fit, plan->devices->len))
    return;
  for (with.scheme.spool = TD_FDK_SPOOL_MEMORY; with.scheme.spool <= TD_FDK_SPOOL_FILE;
       with.scheme.spool++)
    if (spool_fits (plan, &with, &fit_with)) {
      g_autofree char *size = g_format_size (td_fdk_spool_bytes (&with));
      td_plan_note (
          plan,
          "The turned frames are too many to be turned at once: each is read once, and waits "
          "for its rows to be "
          "wanted in %s (%s).",
          with.scheme.spool == TD_FDK_SPOOL_MEMORY ? "memory" : "a temporary file", size);
      *scheme = with.scheme;
      *fit = fit_with;
      return;
    }
  with.scheme.spool = TD_FDK_SPOOL_FILE;
  g_autofree char *wanted = g_format_size (td_fdk_spool_bytes (&with));
  td_plan_note (plan,
                "The turned frames are read several times: a copy of them wants %s, which %s has "
                "no room for; set "
                "TMPDIR to a larger disk.",
                wanted, g_get_tmp_dir ());
}
