/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include "compute/engine/engine-private.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"
#include "fdk-self-test.h"
#include "fdk.h"

/* Taken until a job has measured them. Only their ratios decide. */
#define GPU_RATE 3e11 /* updates a second */
#define CPU_RATE 3e9
#define GPU_TRANSFER 2e10 /* bytes a second, each way */
#define CPU_TRANSFER 5e9
#define HOST_SUM_RATE 4e9 /* bytes added a second */
#define GPU_PACK 3e11     /* bytes of projections a second that are brought into a kernel's order */
#define CPU_PACK 2e9
#define GPU_FILTER 5e10 /* bytes a second */
#define CPU_FILTER 1e9  /* bytes a second, each thread */

/* The copy of turned frames stays in memory if this part of the host's holds it. */
#define MEMORY_SHARE 4

/* ── Rates ── */

static gboolean
is_gpu (TdDevice *device)
{
  return td_device_info (device)->kind != TD_DEVICE_CPU;
}

static double
rate_or (TdEngine *engine, char *key, double otherwise)
{
  g_autofree char *owned = key;
  const double rate = td_engine_rate (engine, owned);

  return rate > 0 ? rate : otherwise;
}

static double
kernel_rate (const TdPlan *plan, TdDevice *device, const TdConeFamily *family)
{
  return rate_or (plan->engine, td_fdk_device_rate_key (device, family),
                  is_gpu (device) ? GPU_RATE : CPU_RATE);
}

static double
transfer_rate (const TdPlan *plan, TdDevice *device)
{
  return rate_or (plan->engine, td_fdk_transfer_rate_key (device),
                  is_gpu (device) ? GPU_TRANSFER : CPU_TRANSFER);
}

static double
filter_rate (const TdPlan *plan, TdDevice *device)
{
  return rate_or (plan->engine, td_fdk_filter_rate_key (device),
                  is_gpu (device) ? GPU_FILTER
                                  : CPU_FILTER * td_device_info (device)->compute_units);
}

/* ── Who filters ── */

static gboolean
filters_on_device (TdPlan *plan)
{
  const TdFilterPlace wish = plan->recipe.filter_on;
  g_autoptr (GPtrArray) host = td_engine_devices (plan->engine, "host", NULL);
  gboolean gpus = TRUE;
  double device = 0;

  for (guint i = 0; i < plan->devices->len; i++) {
    gpus = gpus && is_gpu (plan->devices->pdata[i]);
    device += filter_rate (plan, plan->devices->pdata[i]);
  }
  const double cpu = host ? filter_rate (plan, host->pdata[0]) : 0;
  const gboolean on_device
      = wish == TD_FILTER_ON_DEVICE || (wish == TD_FILTER_ON_AUTO && gpus && device > cpu);
  if (wish == TD_FILTER_ON_AUTO && gpus)
    td_plan_note (plan, "The %s filters: %.1f GB/s for %.1f on the %s ({filter-on}).",
                  on_device ? "device" : "CPU", MAX (device, cpu) * 1e-9, MIN (device, cpu) * 1e-9,
                  on_device ? "CPU" : "device");
  return on_device;
}

/* ── What they share ── */

/* Seconds of each resource; they work beside each other, so the longest decides. */
typedef struct {
  double upload, kernel, download, filter, sum;
  double total;
} Cost;

/* Okitsu et al., Table 1, with the detector rows that a slab does not see left out. */
static Cost
cost_of (const TdPlan *plan, const TdFdkInput *input, const TdFdkScheme *scheme,
         const TdFdkFit *fit)
{
  const guint n = plan->devices->len;
  const gboolean volume = scheme->share == TD_SHARE_VOLUME;
  const TdConeTask *task = &input->task;
  const double row_bytes = (double) task->n_views * task->n_columns * sizeof (float);
  const double volume_bytes = (double) input->n_slices * task->ny * task->nx * sizeof (float);
  const double updates = volume_bytes / sizeof (float) * task->n_views;
  const double rows_sent = fit->cached
                               ? MIN (input->n_rows, (double) input->n_rows / n + fit->slab_rows)
                               : (double) fit->n_slabs * fit->slab_rows / n;
  /* Parts that are not a multiple of the devices leave some idle at the end. */
  const guint parts = volume ? fit->n_slabs : fit->n_batches;
  const double idle = (double) ((parts + n - 1) / n) * n / parts;
  double kernels = 0, transfers = 0, filters = 0, packs = 0;
  Cost cost = { 0 };

  for (guint i = 0; i < n; i++) {
    TdDevice *device = plan->devices->pdata[i];
    kernels += kernel_rate (plan, device, scheme->families[i]);
    transfers += transfer_rate (plan, device) / n;
    filters += filter_rate (plan, device) / n;
    packs += is_gpu (device) ? GPU_PACK : CPU_PACK;
  }
  cost.kernel = updates / kernels * idle + fit->n_slabs * fit->slab_rows * row_bytes / packs;
  cost.upload = rows_sent * row_bytes / transfers;
  cost.download = volume_bytes / (volume ? n : 1) / transfers;
  cost.sum = volume ? 0 : (n - 1) * volume_bytes / HOST_SUM_RATE;
  if (fit->cached) /* between the kernels */
    cost.kernel += cost.filter = rows_sent * row_bytes / filters;
  else
    cost.filter = input->n_rows * row_bytes / filters;
  cost.total
      = MAX (MAX (MAX (cost.kernel, cost.upload), MAX (cost.download, cost.sum)), cost.filter);
  return cost;
}

static void
note_costs (TdPlan *plan, gboolean volume, const Cost *cost, const Cost *other)
{
  td_plan_note (plan,
                "The devices share the %s: about %.3g s, %.3g s if they shared the %s (kernels "
                "%.3g and %.3g, sending %.3g and %.3g, fetching %.3g and %.3g, adding up %.3g and "
                "%.3g s; {share}).",
                volume ? "volume" : "projections", cost->total, other->total,
                volume ? "projections" : "volume", cost->kernel, other->kernel, cost->upload,
                other->upload, cost->download, other->download, cost->sum, other->sum);
}

/* The cheaper scheme of those that fit. */
static gboolean
decide_share (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme, TdFdkFit *fit,
              GError **error)
{
  const TdShareKind kinds[2] = { TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  Cost costs[2] = { { .total = INFINITY }, { .total = INFINITY } };

  for (guint i = 0; i < 2; i++) {
    scheme->share = kinds[i];
    if (td_fdk_fit (plan, input, scheme, NULL, fit, NULL))
      costs[i] = cost_of (plan, input, scheme, fit);
  }
  /* Parts that are added up must be worth it. */
  const guint best = costs[1].total < 0.95 * costs[0].total;
  scheme->share = kinds[best];
  if (!td_fdk_fit (plan, input, scheme, NULL, fit, error))
    return FALSE;
  if (isfinite (costs[!best].total))
    note_costs (plan, best == 0, &costs[best], &costs[!best]);
  return TRUE;
}

gboolean
td_fdk_decide (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme, TdFdkFit *fit,
               GError **error)
{
  const guint n = plan->devices->len;

  scheme->families = g_new0 (const TdConeFamily *, n);
  for (guint i = 0; i < n; i++) {
    scheme->families[i] = td_fdk_family_choose (
        plan->recipe.family, &input->task, plan->recipe.precision, plan->devices->pdata[i], error);
    if (!scheme->families[i])
      return FALSE;
  }
  scheme->filter_on_device = filters_on_device (plan);
  scheme->share = n == 1 ? TD_SHARE_VOLUME : plan->recipe.share;
  return scheme->share == TD_SHARE_AUTO ? decide_share (plan, input, scheme, fit, error)
                                        : td_fdk_fit (plan, input, scheme, NULL, fit, error);
}

/* ── Frames of a detector on its side ──

   They are read whole, however few of their columns are wanted. If the plan would read them several
   times, each is read once, and copied. */

guint64
td_fdk_spool_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_bytes (td_scan_facts (fdk->input->scan),
                                    td_fdk_span_all (fdk->input).from.count, TD_SAMPLE_FLOAT32);
}

guint64
td_fdk_spool_work_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_FDK_SPOOL_NONE
             ? 0
             : td_scan_spool_work_bytes (td_scan_facts (fdk->input->scan),
                                         td_fdk_span_all (fdk->input).from.count);
}

static gboolean
reads_once (const TdFdkInput *input, const TdFdkFit *fit, guint n_devices)
{
  if (fit->n_chunks == 1)
    return !fit->cached || n_devices == 1;
  return fit->cached && n_devices == 1 && fit->block_rows >= td_fdk_span_all (input).from.count;
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
  return in_memory
         || bytes + (fit->on_disk ? td_fdk_filtered_bytes (with->input, with->input->n_rows) : 0)
                <= td_file_temporary_room ();
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
          "The turned frames are too many to be turned at once: each is read once, and waits for "
          "its rows to be wanted in %s (%s).",
          with.scheme.spool == TD_FDK_SPOOL_MEMORY ? "memory" : "a temporary file", size);
      *scheme = with.scheme;
      *fit = fit_with;
      return;
    }
  with.scheme.spool = TD_FDK_SPOOL_FILE;
  g_autofree char *wanted = g_format_size (td_fdk_spool_bytes (&with));
  td_plan_note (plan,
                "The turned frames are read several times: a copy of them wants %s, which %s has "
                "no room for; set TMPDIR to a larger disk.",
                wanted, g_get_tmp_dir ());
}

/* ── Slabs by speed ── */

/* In proportion to what the devices did earlier. Without row caches all take the top slab: the rows
   that it sees are filtered first. */
TdFdkCut
td_fdk_cut_by_speed (const TdPlan *plan, const TdFdkPlan *fdk, const TdFdkAttempt *attempt)
{
  const guint n = plan->devices->len;
  g_autofree double *shares = g_new0 (double, n);
  double all = 0;

  for (guint i = 0; i < n; i++) {
    if (!attempt || !attempt->retired || !attempt->retired[i])
      shares[i] = kernel_rate (plan, plan->devices->pdata[i], fdk->scheme.families[i]);
    all += shares[i];
  }
  for (guint i = 0; i < n; i++)
    shares[i] /= all;
  return td_fdk_cut (plan, fdk, n, shares);
}
