/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/cone/cone-filter.h"
#include "fdk.h"
#include "compute/engine/plan-private.h"

/* Slices of a slab: enough for the CPU's vectors and to bring each row of projections into a
   kernel's order rarely; few enough that two leave memory for rows. A GPU's first and last slabs
   are smaller (fdk-cut.c). */
#define CPU_SLAB 128
#define GPU_SLAB 192
#define GPU_BATCH                                                                                  \
  256 /* views: as many as the kernels add in two launches; of half storage twice that */
/* Below these every launch and every row costs more than it should; below the second ones much
 * more. */
#define GOOD_SLAB 16
#define GOOD_BATCH 64
#define GOOD_SENT_BATCH 32 /* of what is sent to a card: larger slabs want fewer rows twice */
#define MIN_SLAB 8
#define MIN_BATCH 16
#define CHUNK_BYTES                                                                                \
  (32u << 20) /* window: one transfer, one pass of the filter; for large rows twice that */
#define FILTER_BYTES (256u << 20) /* host */
#define LEAST_FILTER_BYTES                                                                         \
  (64u << 20) /* on a card that has little memory, which slabs need more                           \
               */
#define LAND_BYTES (64u << 20)
#define AHEAD 4 /* chunks beyond a slab's own that make a window worth having */

static guint
parts_of (guint64 whole, guint64 part)
{
  return (guint) ((whole + part - 1) / part);
}

static guint64
fdk_fit_row_bytes (const TdFdkPlan *fdk)
{
  return (guint64) fdk->task.n_views * fdk->task.n_columns * sizeof (float);
}

static guint64
fdk_fit_read_bytes (const TdScanFacts *facts)
{
  return (guint64) facts->n_views * facts->n_columns * sizeof (float);
}

/* Rows to read at once on the host. Of turned frames (scan-turned.h) that are not copied any few
   cost as much as all:
   @most. */
static guint64
reading_bytes (const TdFdkPlan *fdk, guint64 most)
{
  return fdk->turned && fdk->spool == TD_FDK_SPOOL_NONE ? MAX (most, FILTER_BYTES) : FILTER_BYTES;
}

static guint64
slab_bytes (const TdFdkPlan *fdk)
{
  return (guint64) fdk->slab * fdk->task.ny * fdk->task.nx * sizeof (float);
}

static void
fdk_fit_set_slab (TdFdkPlan *fdk, guint slab)
{
  fdk->slab = slab;
  fdk->n_slabs = parts_of (fdk->task.nz, slab);
  fdk->slab_rows = 1;
  for (guint i = 0; i < fdk->n_slabs; i++) {
    guint first, end;
    td_cone_rows_seen (&fdk->task, i * slab, MIN (slab, fdk->task.nz - i * slab), &first, &end);
    fdk->slab_rows = MAX (fdk->slab_rows, end > first ? end - first : 0);
  }
  fdk->volumes = fdk->n_slabs > 1 ? 2 : 1;
}

static void
set_batch (TdFdkPlan *fdk, guint batch)
{
  fdk->batch = MAX (fdk->turns, MIN (batch, fdk->most_views) / fdk->turns * fdk->turns);
  fdk->n_batches = parts_of (fdk->task.n_views, fdk->batch);
}

/* Chunks that a slab may need at once, and some that are on their way. */
static guint
least_chunks (const TdFdkPlan *fdk)
{
  return MIN (fdk->n_chunks, parts_of (fdk->slab_rows, fdk->filter_rows) + 1 + AHEAD);
}

/* And those of the next two slabs, which may lie on the other side of the mid-plane: more would
   bring nothing. */
static guint
enough_chunks (const TdFdkPlan *fdk)
{
  return MIN (fdk->n_chunks, least_chunks (fdk) + 2 * parts_of (fdk->slab_rows, fdk->filter_rows));
}

static void
set_filter_rows (TdFdkPlan *fdk, guint rows)
{
  fdk->filter_rows = rows;
  fdk->chunk_rows = td_fdk_most_rows (fdk, 0, rows);
  if (rows > 1 && !td_fdk_rows_fit (fdk, fdk->chunk_rows)) {
    set_filter_rows (fdk, (rows + 1) / 2);
    return;
  }
  fdk->n_chunks = parts_of (fdk->n_rows, rows);
  fdk->window_chunks = enough_chunks (fdk);
}

/* ── Bytes ── */

static guint64
filter_workspace (const TdFdkPlan *fdk, const TdPlan *plan)
{
  const guint filtered = td_fdk_most_filtered (fdk, fdk->chunk_rows, fdk->filter_rows);

  return td_cone_filter_workspace_bytes (&fdk->task, filtered)
         + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                           td_scan_facts (plan->scan), fdk->chunk_rows);
}

static guint64
filter_bytes (const TdFdkPlan *fdk, const TdPlan *plan)
{
  return td_fdk_chunk_bytes (fdk) + filter_workspace (fdk, plan);
}

static guint64
device_bytes (const TdFdkPlan *fdk, const TdPlan *plan, TdDevice *device,
              const TdConeFamily *family)
{
  const TdDeviceInfo *info = td_device_info (device);
  const TdConeLimits limits = { fdk->batch, fdk->slab_rows, fdk->slab, plan->recipe.precision };
  const guint64 batch
      = (guint64) fdk->batch * fdk->slab_rows * fdk->task.n_columns * sizeof (float);
  guint64 bytes
      = fdk->volumes * slab_bytes (fdk) + family->workspace_bytes (&fdk->task, &limits, info);

  if (fdk->window)
    return bytes + batch + filter_workspace (fdk, plan)
           + fdk->window_chunks * td_fdk_chunk_bytes (fdk);
  bytes += batch * (fdk->n_slabs > 1 || fdk->n_batches > 1 ? 2 : 1);
  return bytes + (fdk->filter_on_device || info->host_pointers ? filter_bytes (fdk, plan) : 0);
}

guint64
td_fdk_device_bytes (const TdPlan *plan, const TdFdkPlan *fdk, GPtrArray *devices, guint index)
{
  return device_bytes (fdk, plan, devices->pdata[index], fdk->families[index]);
}

/* ── Shrinking ── */

/* One step smaller, what costs least first; FALSE: there is none left. @sent: the rows come from
   the host's store to a card. */
static gboolean
fdk_fit_shrink (TdFdkPlan *fdk, gboolean sent)
{
  if (fdk->window && fdk->window_chunks > least_chunks (fdk))
    fdk->window_chunks = MAX (least_chunks (fdk), fdk->window_chunks * 3 / 4);
  else if (sent && fdk->filter_on_device
           && fdk->filter_rows * fdk_fit_row_bytes (fdk) >= 2 * LEAST_FILTER_BYTES)
    set_filter_rows (fdk, fdk->filter_rows / 2);
  else if (fdk->batch >= 2 * (sent ? GOOD_SENT_BATCH : GOOD_BATCH))
    set_batch (fdk, fdk->batch / 2);
  else if (fdk->slab >= 2 * GOOD_SLAB)
    fdk_fit_set_slab (fdk, (fdk->slab + 1) / 2);
  else if (fdk->batch > MIN_BATCH && fdk->batch / 2 >= fdk->turns)
    set_batch (fdk, fdk->batch / 2);
  else if (fdk->slab > MIN_SLAB)
    fdk_fit_set_slab (fdk, (fdk->slab + 1) / 2);
  else if (fdk->filter_rows > 1)
    set_filter_rows (fdk, (fdk->filter_rows + 1) / 2);
  else if (fdk->volumes > 1)
    fdk->volumes = 1;
  else if (fdk->batch > fdk->turns)
    set_batch (fdk, fdk->batch / 2);
  else if (fdk->slab > 1)
    fdk_fit_set_slab (fdk, 1);
  else
    return FALSE;
  return TRUE;
}

/* Out of core is nothing but this. */
static gboolean
fit_device (const TdPlan *plan, TdFdkPlan *fdk, TdDevice *device, const TdConeFamily *family,
            guint64 budget, GError **error)
{
  const gboolean sent = !fdk->window && td_device_info (device)->kind != TD_DEVICE_CPU;
  guint64 need;

  while ((need = device_bytes (fdk, plan, device, family)) > budget)
    if (!fdk_fit_shrink (fdk, sent)) {
      td_set_error (error, TD_ERROR_TOO_LARGE,
                    "%s has %" G_GUINT64_FORMAT
                    " MiB for this, but one slice needs %" G_GUINT64_FORMAT
                    " MiB; use another device, a higher memory limit or a smaller region.",
                    td_device_info (device)->name, budget >> 20, (need >> 20) + 1);
      return FALSE;
    }
  return TRUE;
}

/* Pinned memory: a quarter of what the host has left for slices that land, an eighth for rows that
   are sent. */
static void
fit_pinned (TdFdkPlan *fdk, guint n_devices, guint64 left)
{
  const guint64 slice = slab_bytes (fdk) / fdk->slab;
  const guint64 ring = left / 8 / (TD_FDK_RING * n_devices);
  const guint64 most_landing = LAND_BYTES >> fdk->halvings;
  const guint64 most_ring = (fdk->window ? 2 * CHUNK_BYTES : CHUNK_BYTES) >> fdk->halvings;

  if (fdk->share == TD_SHARE_PROJECTION) {
    /* Each device fetches one and holds a part of two others at most: with three for each, and one
       on its way to the writer, somebody can always go on. */
    fdk->n_landing = 3 * n_devices + 1;
    while (fdk->slab > 1 && fdk->n_landing * slab_bytes (fdk) > left / 4)
      fdk_fit_set_slab (fdk, (fdk->slab + 1) / 2);
    fdk->land_slices = fdk->slab;
  } else {
    fdk->n_landing = 2 * n_devices + 2;
    fdk->land_slices = (guint) CLAMP (MIN (most_landing, left / 4 / fdk->n_landing) / slice, 1,
                                      (guint64) fdk->slab);
  }
  while (fdk->window && fdk->filter_rows > 1 && td_fdk_chunk_bytes (fdk) > MIN (ring, most_ring))
    set_filter_rows (fdk, (fdk->filter_rows + 1) / 2);
  fdk->ring_bytes = fdk->window
                        ? td_fdk_chunk_bytes (fdk)
                        : MAX (MIN (most_ring, ring),
                               (guint64) fdk->task.n_columns * fdk->slab_rows * sizeof (float));
}

/* ── All together ── */

static gboolean
any_device (GPtrArray *devices, gboolean (*is) (const TdDeviceInfo *info))
{
  for (guint i = 0; i < devices->len; i++)
    if (is (td_device_info (devices->pdata[i])))
      return TRUE;
  return FALSE;
}

static gboolean
is_host (const TdDeviceInfo *info)
{
  return info->host_pointers;
}

static gboolean
fdk_fit_is_cpu (const TdDeviceInfo *info)
{
  return info->kind == TD_DEVICE_CPU;
}

/* A batch's views are the layers of a texture where there is one. */
static guint
most_views (const TdPlan *plan, const TdFdkPlan *fdk, GPtrArray *devices)
{
  guint64 most = G_MAXINT;

  for (guint i = 0; i < devices->len; i++) {
    const guint64 layers = td_device_info (devices->pdata[i])->texture_max_layers;
    if (layers > 0)
      most = MIN (most,
                  layers * fdk->families[i]->symmetric_views (&fdk->task, plan->recipe.precision));
  }
  return (guint) most;
}

/* What one would like, were there memory enough. */
static void
fdk_fit_wish (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint nz = fdk->task.nz, n = devices->len;
  const guint64 chunk = fdk->window ? CHUNK_BYTES << (fdk_fit_row_bytes (fdk) > CHUNK_BYTES / 8)
                                    : reading_bytes (fdk, td_plan_host_budget (plan) / 8);
  guint end;

  td_cone_rows_seen (&fdk->task, 0, nz, &fdk->row0, &end);
  if (end <= fdk->row0)
    end = MIN (fdk->task.n_rows, fdk->row0 + 1), fdk->row0 = end - 1;
  fdk->n_rows = end - fdk->row0;
  fdk->halo = td_preparation_halo (plan->recipe.steps, plan->recipe.n_steps, facts);
  fdk->projection_bytes = fdk->n_rows * fdk_fit_row_bytes (fdk);
  fdk->turns = 1;
  for (guint i = 0; i < n; i++)
    fdk->turns
        = MAX (fdk->turns, fdk->families[i]->symmetric_views (&fdk->task, plan->recipe.precision));
  fdk->most_views = most_views (plan, fdk, devices);
  if (fdk->share == TD_SHARE_PROJECTION) {
    fdk_fit_set_slab (fdk, MIN (GPU_SLAB, nz));
    set_batch (fdk, fdk->task.n_views / (4 * n));
  } else {
    if (any_device (devices, fdk_fit_is_cpu))
      fdk_fit_set_slab (fdk,
                        n > 1 ? CLAMP (parts_of (nz, 2 * n), 1, CPU_SLAB) : MIN (CPU_SLAB, nz));
    else
      fdk_fit_set_slab (fdk, MIN (nz, CLAMP (parts_of (nz, 4 * n), 16, GPU_SLAB)));
    /* What is allocated must be freed, which takes a card as long as many a slab. */
    const guint least = GPU_BATCH << (plan->recipe.precision != TD_PRECISION_SINGLE);
    set_batch (fdk, any_device (devices, fdk_fit_is_cpu)
                        ? fdk->task.n_views
                        : MIN (fdk->task.n_views, MAX (least, parts_of (fdk->task.n_views, 4))));
  }
  if (fdk->most_slab)
    fdk_fit_set_slab (fdk, MIN (fdk->slab, fdk->most_slab));
  if (fdk->most_batch)
    set_batch (fdk, MIN (fdk->batch, fdk->most_batch));
  set_filter_rows (fdk, (guint) CLAMP (chunk / fdk_fit_row_bytes (fdk), 1, (guint64) fdk->n_rows));
}

/* The CPU filters for devices that have memory of their own. */
static gboolean
fit_filter (const TdPlan *plan, TdFdkPlan *fdk, guint64 host, GError **error)
{
  while (filter_bytes (fdk, plan) > host / 2 && fdk->filter_rows > 1)
    set_filter_rows (fdk, (fdk->filter_rows + 1) / 2);
  if (filter_bytes (fdk, plan) <= host)
    return TRUE;
  td_set_error (error, TD_ERROR_TOO_LARGE,
                "The host has %" G_GUINT64_FORMAT
                " MiB for this, but filtering one row of the detector needs %" G_GUINT64_FORMAT
                " MiB; use a higher memory limit, or crop or bin the scan.",
                host >> 20, (filter_bytes (fdk, plan) >> 20) + 1);
  return FALSE;
}

/* @spill: filtered projections go to a file, whatever room there is for them. */
static gboolean
fit_place (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, gboolean spill, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  guint64 host = td_plan_host_budget (plan);

  fdk_fit_wish (plan, fdk, devices);
  if (!td_fdk_rows_fit (fdk, fdk->chunk_rows)) {
    td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "The detector is tilted so much that %u of its rows make one row of a level one, which is "
        "more than 2^31 samples; crop the scan or bin it ({crop}, {bin}).",
        fdk->chunk_rows);
    return FALSE;
  }
  const guint64 spool = fdk->spool == TD_FDK_SPOOL_MEMORY ? td_fdk_spool_bytes (plan, fdk) : 0;
  host -= MIN (spool, host);
  /* Half of the host's memory at most for the projections; the rest is for slabs on their way. */
  fdk->on_disk = !fdk->window && (spill || fdk->projection_bytes > host / 2);
  const guint64 left = fdk->window || fdk->on_disk ? host : host - fdk->projection_bytes;
  fit_pinned (fdk, devices->len, left);
  for (guint i = 0; i < devices->len; i++) {
    TdDevice *device = devices->pdata[i];
    if (fdk->retired && fdk->retired[i])
      continue;
    const gboolean shared = td_device_info (device)->host_pointers;
    const guint64 free = shared ? left / 2 : td_device_memory_free (device) / 10 * 8;
    const guint64 budget = fdk->budgets ? MIN (free, fdk->budgets[i]) : free;
    if (!fit_device (plan, fdk, device, fdk->families[i], budget, error))
      return FALSE;
  }
  if (!fdk->window && !fdk->filter_on_device && !any_device (devices, is_host)
      && !fit_filter (plan, fdk, host, error))
    return FALSE;
  fit_pinned (fdk, devices->len, left); /* slabs and chunks may be smaller now */

  fdk->block_rows = 0;
  if (fdk->window && fdk->n_chunks > 1 && !facts->in_memory && !facts->sinogram_order)
    fdk->block_rows = MIN (
        facts->n_rows, fdk->chunk_rows
                           + (guint) (MIN (reading_bytes (fdk, left / 4), left / 4 / devices->len)
                                      / fdk_fit_read_bytes (facts)));
  fdk->filter_bytes = filter_bytes (fdk, plan);
  fdk->device_bytes = fdk->host_bytes = 0;
  for (guint i = 0; i < devices->len; i++) {
    const guint64 bytes = td_fdk_device_bytes (plan, fdk, devices, i);
    fdk->device_bytes = MAX (fdk->device_bytes, bytes);
    fdk->host_bytes += fdk_fit_is_cpu (td_device_info (devices->pdata[i])) ? bytes : 0;
  }
  fdk->host_bytes
      += spool + td_fdk_spool_work_bytes (plan, fdk)
         + fdk->n_landing * fdk->land_slices * (slab_bytes (fdk) / fdk->slab)
         + devices->len
               * (TD_FDK_RING * fdk->ring_bytes + fdk->block_rows * fdk_fit_read_bytes (facts));
  if (!fdk->window)
    fdk->host_bytes
        += (fdk->on_disk ? 0 : fdk->projection_bytes) + td_fdk_chunk_bytes (fdk)
           + (td_fdk_holds (fdk) ? td_fdk_filtered_bytes (fdk, fdk->filter_rows) : 0)
           + (fdk->filter_on_device || any_device (devices, is_host) ? 0 : fdk->filter_bytes);
  return TRUE;
}

gboolean
td_fdk_fit (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error)
{
  fdk->window
      = fdk->filter_on_device && fdk->share == TD_SHARE_VOLUME && !any_device (devices, is_host);
  if (fdk->window && fit_place (plan, fdk, devices, FALSE, NULL))
    return TRUE;
  fdk->window = FALSE;
  /* Projections in memory may leave too little of it for a slice. */
  return fit_place (plan, fdk, devices, FALSE, NULL) || fit_place (plan, fdk, devices, TRUE, error);
}
