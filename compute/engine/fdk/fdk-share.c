/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/engine/engine-private.h"
#include "fdk.h"
#include "compute/engine/plan-private.h"

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
fdk_share_kernel_rate (const TdPlan *plan, TdDevice *device, const TdConeFamily *family)
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

static void
choose_filter (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices)
{
  const TdFilterPlace wish = plan->recipe.filter_on;
  g_autoptr (GPtrArray) host = td_engine_devices (plan->engine, "host", NULL);
  gboolean gpus = TRUE;
  double device = 0;

  for (guint i = 0; i < devices->len; i++) {
    gpus = gpus && is_gpu (devices->pdata[i]);
    device += filter_rate (plan, devices->pdata[i]);
  }
  const double cpu = host ? filter_rate (plan, host->pdata[0]) : 0;
  fdk->filter_on_device
      = wish == TD_FILTER_ON_DEVICE || (wish == TD_FILTER_ON_AUTO && gpus && device > cpu);
  if (wish == TD_FILTER_ON_AUTO && gpus)
    td_plan_note (plan, "The %s filters: %.1f GB/s for %.1f on the %s ({filter-on}).",
                  fdk->filter_on_device ? "device" : "CPU", MAX (device, cpu) * 1e-9,
                  MIN (device, cpu) * 1e-9, fdk->filter_on_device ? "CPU" : "device");
}

/* ── What they share ── */

/* Seconds of each resource; they work beside each other, so the longest decides. */
typedef struct {
  double upload, kernel, download, filter, sum;
  double total;
} Cost;

/* Okitsu et al., Table 1, with the detector rows that a slab does not see left out. */
static Cost
cost_of (const TdPlan *plan, const TdFdkPlan *fdk, GPtrArray *devices)
{
  const guint n = devices->len;
  const gboolean volume = fdk->share == TD_SHARE_VOLUME;
  const double row_bytes = (double) fdk->task.n_views * fdk->task.n_columns * sizeof (float);
  const double volume_bytes = (double) fdk->task.nz * fdk->task.ny * fdk->task.nx * sizeof (float);
  const double updates = volume_bytes / sizeof (float) * fdk->task.n_views;
  const double rows_sent = fdk->window
                               ? MIN (fdk->n_rows, (double) fdk->n_rows / n + fdk->slab_rows)
                               : (double) fdk->n_slabs * fdk->slab_rows / n;
  /* Parts that are not a multiple of the devices leave some idle at the end. */
  const guint parts = volume ? fdk->n_slabs : fdk->n_batches;
  const double idle = (double) ((parts + n - 1) / n) * n / parts;
  double kernels = 0, transfers = 0, filters = 0, packs = 0;
  Cost cost = { 0 };

  for (guint i = 0; i < n; i++) {
    kernels += fdk_share_kernel_rate (plan, devices->pdata[i], fdk->families[i]);
    transfers += transfer_rate (plan, devices->pdata[i]) / n;
    filters += filter_rate (plan, devices->pdata[i]) / n;
    packs += is_gpu (devices->pdata[i]) ? GPU_PACK : CPU_PACK;
  }
  cost.kernel = updates / kernels * idle + fdk->n_slabs * fdk->slab_rows * row_bytes / packs;
  cost.upload = rows_sent * row_bytes / transfers;
  cost.download = volume_bytes / (volume ? n : 1) / transfers;
  cost.sum = volume ? 0 : (n - 1) * volume_bytes / HOST_SUM_RATE;
  if (fdk->window) /* between the kernels */
    cost.kernel += cost.filter = rows_sent * row_bytes / filters;
  else
    cost.filter = fdk->n_rows * row_bytes / filters;
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
fdk_share_compare (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  const TdShareKind kinds[2] = { TD_SHARE_VOLUME, TD_SHARE_PROJECTION };
  Cost costs[2] = { { .total = INFINITY }, { .total = INFINITY } };

  for (guint i = 0; i < 2; i++) {
    fdk->share = kinds[i];
    if (td_fdk_fit (plan, fdk, devices, NULL))
      costs[i] = cost_of (plan, fdk, devices);
  }
  /* Parts that are added up must be worth it. */
  const guint best = costs[1].total < 0.95 * costs[0].total;
  fdk->share = kinds[best];
  if (!td_fdk_fit (plan, fdk, devices, error))
    return FALSE;
  if (isfinite (costs[!best].total))
    note_costs (plan, best == 0, &costs[best], &costs[!best]);
  return TRUE;
}

/* In proportion to what the devices did earlier. Without windows all take the top slab: the rows
   that it sees are filtered first. */
void
td_fdk_share_slabs (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices)
{
  g_autofree double *shares = g_new0 (double, devices->len);
  double all = 0;

  for (guint i = 0; i < devices->len; i++) {
    if (!fdk->retired || !fdk->retired[i])
      shares[i] = fdk_share_kernel_rate (plan, devices->pdata[i], fdk->families[i]);
    all += shares[i];
  }
  for (guint i = 0; i < devices->len; i++)
    shares[i] /= all;
  td_fdk_cut (plan, fdk, devices->len, shares);
}

gboolean
td_fdk_choose_share (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  choose_filter (plan, fdk, devices);
  fdk->share = plan->recipe.share;
  if (devices->len == 1)
    fdk->share = TD_SHARE_VOLUME;
  if (fdk->share == TD_SHARE_AUTO ? !fdk_share_compare (plan, fdk, devices, error)
                                  : !td_fdk_fit (plan, fdk, devices, error))
    return FALSE;
  td_fdk_share_slabs (plan, fdk, devices);
  return TRUE;
}
