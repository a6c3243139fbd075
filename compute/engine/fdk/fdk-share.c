/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include "compute/engine/engine-private.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"
#include "fdk.h"

/* Taken until a job has measured them. Only their ratios decide. */
#define GPU_RATE 3e11 /* updates a second */
#define CPU_RATE 3e9
#define GPU_TRANSFER 2e10 /* bytes a second, each way */
#define CPU_TRANSFER 5e9
#define HOST_SUM_RATE 2e9  /* bytes added or copied a second, each thread … */
#define MOST_SUM_RATE 2e10 /* … until memory gives no more */
#define FILE_RATE 2e9      /* bytes a second to a temporary file, and from it */
#define GPU_PACK 3e11 /* bytes of projections a second that are brought into a kernel's order */
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
rate_or (TdEngine *engine, char *key, double work, double otherwise)
{
  g_autofree char *owned = key;
  const double rate = td_engine_rate (engine, owned, work);

  return rate > 0 ? rate : otherwise;
}

/* Of devices that do @updates, or move or filter @bytes, in all. */
static double
kernel_rate (const TdPlan *plan, TdDevice *device, const TdConeFamily *family, double updates)
{
  return rate_or (plan->engine, td_fdk_device_rate_key (device, family),
                  updates / plan->devices->len, is_gpu (device) ? GPU_RATE : CPU_RATE);
}

static double
transfer_rate (const TdPlan *plan, TdDevice *device, double bytes)
{
  return rate_or (plan->engine, td_fdk_transfer_rate_key (device), bytes / plan->devices->len,
                  is_gpu (device) ? GPU_TRANSFER : CPU_TRANSFER);
}

static double
filter_rate (const TdPlan *plan, TdDevice *device, double bytes)
{
  return rate_or (plan->engine, td_fdk_filter_rate_key (device), bytes / plan->devices->len,
                  is_gpu (device) ? GPU_FILTER
                                  : CPU_FILTER * td_device_info (device)->compute_units);
}

static double
sum_rate (const TdPlan *plan, double bytes)
{
  return rate_or (plan->engine, g_strdup (TD_FDK_SUM_RATE_KEY), bytes,
                  MIN (HOST_SUM_RATE * g_get_num_processors (), MOST_SUM_RATE));
}

/* ── The task's sizes ── */

static double
fdk_share_volume_bytes (const TdFdkInput *input)
{
  return (double) input->n_slices * input->task.ny * input->task.nx * sizeof (float);
}

static double
fdk_share_updates (const TdFdkInput *input)
{
  return fdk_share_volume_bytes (input) / sizeof (float) * input->task.n_views;
}

/* ── Who filters ── */

static gboolean
filters_on_device (TdPlan *plan, const TdFdkInput *input)
{
  const TdFilterPlace wish = plan->recipe.filter_on;
  const double bytes = (double) td_fdk_filtered_bytes (input, input->n_rows);
  g_autoptr (GPtrArray) host = td_engine_devices (plan->engine, "host", NULL);
  gboolean gpus = TRUE;
  double device = 0;

  for (guint i = 0; i < plan->devices->len; i++) {
    gpus = gpus && is_gpu (plan->devices->pdata[i]);
    device += filter_rate (plan, plan->devices->pdata[i], bytes);
  }
  const double cpu = host ? filter_rate (plan, host->pdata[0], bytes) : 0;
  const gboolean on_device
      = wish == TD_FILTER_ON_DEVICE || (wish == TD_FILTER_ON_AUTO && gpus && device > cpu);
  if (wish == TD_FILTER_ON_AUTO && gpus)
    td_plan_note (plan,
                  on_device
                      ? N_ ("The device filters: %.1f GB/s for %.1f on the CPU ({filter-on}).")
                      : N_ ("The CPU filters: %.1f GB/s for %.1f on the device ({filter-on})."),
                  MAX (device, cpu) * 1e-9, MIN (device, cpu) * 1e-9);
  return on_device;
}

/* ── What they share ── */

/* Seconds of each resource; they work beside each other. */
typedef struct {
  double upload, kernel, download, filter, host;
  double total;
} Cost;

/* The longest decides, and what the others take for one of the slabs: they begin after it, or end
   before it. */
static void
cost_add_up (Cost *cost, guint n_slabs)
{
  const double each[] = { cost->upload, cost->kernel, cost->download, cost->filter, cost->host };
  double longest = 0, all = 0;

  for (guint i = 0; i < G_N_ELEMENTS (each); i++) {
    longest = MAX (longest, each[i]);
    all += each[i];
  }
  cost->total = longest + (all - longest) / n_slabs;
}

/* Row caches: each device does its own slabs, and filters what they see between the kernels. The
   slowest device counts. */
static Cost
cost_of_own (const TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdFdkInput *input = fdk->input;
  const double row = (double) td_fdk_filtered_bytes (input, 1),
               volume = fdk_share_volume_bytes (input);
  Cost cost = { 0 };

  for (guint d = 0; d < plan->devices->len; d++) {
    TdDevice *device = plan->devices->pdata[d];
    const double transfer = transfer_rate (plan, device, volume);
    guint slices = 0, rows = 0, first = G_MAXUINT, end = 0;
    for (guint s = fdk->cut.own[d]; s < fdk->cut.own[d + 1]; s++) {
      const TdFdkSlabCut *slab = &fdk->cut.slabs[s];
      slices += slab->n_slices;
      rows += slab->row_end - slab->row0;
      first = MIN (first, slab->row0);
      end = MAX (end, slab->row_end);
    }
    const double sent = end > first ? (end - first) * row : 0,
                 part = (double) slices / input->n_slices;
    const double filter = sent / filter_rate (plan, device, input->n_rows * row);
    const double kernel
        = fdk_share_updates (input) * part
          / kernel_rate (plan, device, fdk->scheme.families[d], fdk_share_updates (input));
    cost.filter = MAX (cost.filter, filter);
    cost.kernel
        = MAX (cost.kernel, kernel + filter + rows * row / (is_gpu (device) ? GPU_PACK : CPU_PACK));
    cost.upload = MAX (cost.upload, sent / transfer);
    cost.download = MAX (cost.download, volume * part / transfer);
  }
  return cost;
}

/* Rows wait on the host: whoever is free takes the next slab, or the next views of a slab. */
static Cost
cost_of_taking (const TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdFdkInput *input = fdk->input;
  const guint n = plan->devices->len;
  const gboolean whole = fdk->scheme.share == TD_SHARE_VOLUME;
  const double row = (double) td_fdk_filtered_bytes (input, 1),
               volume = fdk_share_volume_bytes (input);
  const double filtered = input->n_rows * row, updates = fdk_share_updates (input);
  g_autoptr (TdDevice) host = td_plan_host (plan, NULL);
  TdDevice *filters = fdk->scheme.filter_on_device || !host ? plan->devices->pdata[0] : host;
  /* Parts that are not a multiple of the devices leave some idle at the end. */
  const guint parts = fdk->cut.n_slabs * (whole ? 1 : fdk->fit.n_batches);
  const double idle = (double) ((parts + n - 1) / n) * n / parts;
  double kernels = 0, transfers = 0, packs = 0, seen = 0;

  for (guint s = 0; s < fdk->cut.n_slabs; s++)
    seen += (fdk->cut.slabs[s].row_end - fdk->cut.slabs[s].row0) * row;
  for (guint i = 0; i < n; i++) {
    TdDevice *device = plan->devices->pdata[i];
    kernels += kernel_rate (plan, device, fdk->scheme.families[i], updates);
    transfers += transfer_rate (plan, device, volume);
    packs += is_gpu (device) ? GPU_PACK : CPU_PACK;
  }
  const double stored = fdk->fit.on_disk ? FILE_RATE : INFINITY;
  const double filter = filtered / filter_rate (plan, filters, filtered);
  const double added = whole ? 0 : (n - 1) * volume;
  return (Cost) { .kernel = updates / kernels * idle + seen / packs
                            + (fdk->scheme.filter_on_device ? filter / n : 0),
                  .upload = MAX (seen / transfers, seen / stored),
                  .download = volume * (whole ? 1 : n) / transfers,
                  .filter = MAX (filter, filtered / stored),
                  .host = (filtered + seen + added) / sum_rate (plan, volume) };
}

/* Okitsu et al., Table 1, with the detector rows that a slab does not see left out. */
static Cost
fdk_share_cost_of (const TdPlan *plan, const TdFdkInput *input, const TdFdkScheme *scheme,
                   const TdFdkFit *fit)
{
  TdFdkPlan fdk = { .input = input, .gathered = plan->gathered, .scheme = *scheme, .fit = *fit };

  fdk.cut = td_fdk_cut_by_speed (plan, &fdk, NULL);
  Cost cost = (fit->cached ? cost_of_own : cost_of_taking) (plan, &fdk);
  cost_add_up (&cost, fdk.cut.n_slabs);
  td_fdk_cut_clear (&fdk.cut);
  return cost;
}

static void
note_costs (TdPlan *plan, gboolean volume, const Cost *cost, const Cost *other)
{
  td_plan_note (
      plan,
      volume
          ? N_ ("The devices share the volume: about %.3g s, %.3g s if they shared the projections "
                "(kernels "
                "%.3g and %.3g, sending %.3g and %.3g, fetching %.3g and %.3g, copies and sums on "
                "the host %.3g and %.3g s; {share}).")
          : N_ ("The devices share the projections: about %.3g s, %.3g s if they shared the volume "
                "(kernels "
                "%.3g and %.3g, sending %.3g and %.3g, fetching %.3g and %.3g, copies and sums on "
                "the host %.3g and %.3g s; {share})."),
      cost->total, other->total, cost->kernel, other->kernel, cost->upload, other->upload,
      cost->download, other->download, cost->host, other->host);
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
      costs[i] = fdk_share_cost_of (plan, input, scheme, fit);
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
  if (!td_fdk_take_way (plan, input, scheme, error))
    return FALSE;
  scheme->filter_on_device = filters_on_device (plan, input);
  scheme->share = plan->devices->len == 1 ? TD_SHARE_VOLUME : plan->recipe.share;
  return scheme->share == TD_SHARE_AUTO ? decide_share (plan, input, scheme, fit, error)
                                        : td_fdk_fit (plan, input, scheme, NULL, fit, error);
}

/* ── Frames of a detector on its side ──

   They are read whole, however few of their columns are wanted. If the plan would read them several
   times, each is read once, and copied. */

guint64
td_fdk_spool_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_CONE_SPOOL_NONE
             ? 0
             : td_scan_spool_bytes (td_scan_facts (fdk->input->scan),
                                    td_fdk_span_all (fdk->input).from.count, TD_SAMPLE_FLOAT32);
}

guint64
td_fdk_spool_work_bytes (const TdFdkPlan *fdk)
{
  return fdk->scheme.spool == TD_CONE_SPOOL_NONE
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
  const gboolean in_memory = with->scheme.spool == TD_CONE_SPOOL_MEMORY;

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
  for (with.scheme.spool = TD_CONE_SPOOL_MEMORY; with.scheme.spool <= TD_CONE_SPOOL_FILE;
       with.scheme.spool++)
    if (spool_fits (plan, &with, &fit_with)) {
      td_cone_spool_note (plan, with.scheme.spool, td_fdk_spool_bytes (&with));
      *scheme = with.scheme;
      *fit = fit_with;
      return;
    }
  with.scheme.spool = TD_CONE_SPOOL_FILE;
  td_cone_spool_note (plan, TD_CONE_SPOOL_NONE, td_fdk_spool_bytes (&with));
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
      shares[i] = kernel_rate (plan, plan->devices->pdata[i], fdk->scheme.families[i],
                               fdk_share_updates (fdk->input));
    all += shares[i];
  }
  for (guint i = 0; i < n; i++)
    shares[i] /= all;
  return td_fdk_cut (plan, fdk, n, shares);
}
