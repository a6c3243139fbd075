/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of a detector that lies on its side are read whole, however few of their columns are
   wanted. If the plan would read them several times, each is read once, and copied. */
#include <sys/statvfs.h>

#include "dataset/scan-spool.h"
#include "fdk.h"
#include "compute/engine/plan-private.h"

#define MEMORY_SHARE 4 /* in memory, if this part of the host's holds it */

guint64
td_fdk_spool_bytes (const TdPlan *plan, const TdFdkPlan *fdk)
{
  return fdk->spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_bytes (td_scan_facts (plan->scan),
                                    td_fdk_span (fdk, 0, fdk->n_rows).from.n);
}

guint64
td_fdk_spool_work_bytes (const TdPlan *plan, const TdFdkPlan *fdk)
{
  return fdk->spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_work_bytes (td_scan_facts (plan->scan),
                                         td_fdk_span (fdk, 0, fdk->n_rows).from.n);
}

static gboolean
reads_once (const TdFdkPlan *fdk, guint n_devices)
{
  if (fdk->n_chunks == 1)
    return !fdk->window || n_devices == 1;
  return fdk->window && n_devices == 1
         && fdk->block_rows >= td_fdk_span (fdk, 0, fdk->n_rows).from.n;
}

static guint64
disk_room (void)
{
  struct statvfs facts;

  return statvfs (g_get_tmp_dir (), &facts) == 0 ? (guint64) facts.f_bavail * facts.f_frsize : 0;
}

/* Whether there is room for it, and the rest of the plan fits beside. */
static gboolean
can_spool (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, TdFdkSpool spool)
{
  fdk->spool = spool;
  const guint64 bytes = td_fdk_spool_bytes (plan, fdk);

  if (spool == TD_FDK_SPOOL_MEMORY && bytes > td_plan_host_budget (plan) / MEMORY_SHARE)
    return FALSE;
  if (!td_fdk_fit (plan, fdk, devices, NULL))
    return FALSE;
  return spool == TD_FDK_SPOOL_MEMORY
         || bytes + (fdk->on_disk ? fdk->projection_bytes : 0) <= disk_room ();
}

gboolean
td_fdk_plan_spool (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  const TdScanFacts *measured = td_scan_facts (plan->measured);

  if (!fdk->turned || measured->in_memory || reads_once (fdk, devices->len))
    return TRUE;
  if (!can_spool (plan, fdk, devices, TD_FDK_SPOOL_MEMORY)
      && !can_spool (plan, fdk, devices, TD_FDK_SPOOL_FILE)) {
    g_autofree char *wanted = g_format_size (td_fdk_spool_bytes (plan, fdk));
    fdk->spool = TD_FDK_SPOOL_NONE;
    td_plan_note (plan,
                  "The turned frames are read several times: a copy of them wants %s, which %s has "
                  "no room for; set "
                  "TMPDIR to a larger disk.",
                  wanted, g_get_tmp_dir ());
    if (!td_fdk_fit (plan, fdk, devices, error))
      return FALSE;
    td_fdk_share_slabs (plan, fdk, devices);
    return TRUE;
  }
  const TdFdkSpan span = td_fdk_span (fdk, 0, fdk->n_rows);
  TdScan *copy = td_scan_spool_new (plan->scan, span.from.row0, span.from.n,
                                    fdk->spool == TD_FDK_SPOOL_MEMORY);
  g_autofree char *size = g_format_size (td_fdk_spool_bytes (plan, fdk));

  td_plan_note (plan,
                "The turned frames are too many to be turned at once: each is read once, and waits "
                "for its rows to be "
                "wanted in %s (%s).",
                fdk->spool == TD_FDK_SPOOL_MEMORY ? "memory" : "a temporary file", size);
  td_scan_unref (plan->scan);
  plan->scan = copy;
  td_fdk_share_slabs (plan, fdk, devices);
  return TRUE;
}
