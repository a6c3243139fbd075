/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk.h"

#include <inttypes.h>

#include "compute/stored-samples.h"

/* Slices of a slab: enough for the CPU's vectors, and so many that each row of projections is
   rarely brought into a kernel's order. Two slabs still leave memory for rows. A GPU's first and
   last slabs are smaller (fdk-cut.c). */
#define CPU_SLAB 128
#define GPU_SLAB 192
#define LEAST_SLAB 16 /* slices: what most kernels' groups take at once */
/* Views: as many as the kernels add in two launches; of half storage twice that. */
#define GPU_BATCH 256
/* Of views that pass by: the kernel begins as soon as so many have come (iFDK takes 32). */
#define PASSED_BATCH 64
/* Below the GOOD sizes every launch and every row costs more than it should, below the MIN sizes
   much more. */
#define GOOD_SLAB 16
#define GOOD_BATCH 64
#define GOOD_SENT_BATCH 32 /* of what is sent to a card: larger slabs want fewer rows twice */
#define MIN_SLAB 8
#define MIN_BATCH 16
/* Row cache: one transfer, one pass of the filter; for large rows twice that. */
#define CHUNK_BYTES (32u << 20)
#define FILTER_BYTES (256u << 20) /* host */
/* On a card that has little memory, which slabs need more. */
#define LEAST_FILTER_BYTES (64u << 20)
#define DOWNLOAD_BYTES (64u << 20)
#define AHEAD 4 /* chunks beyond a slab's own that make a row cache worth having */

/* The fit in the making: fdk->fit changes, all else is given. */

static guint
fdk_fit_parts_of (guint64 whole, guint64 part)
{
  return (guint) ((whole + part - 1) / part);
}

/* Rows to read at once on the host. Of turned frames (scan-view.h) that are not copied any few
   cost as much as all:
   @most. */
static guint64
reading_bytes (const TdFdkPlan *fdk, guint64 most)
{
  return fdk->input->turned && fdk->scheme.spool == TD_CONE_SPOOL_NONE ? MAX (most, FILTER_BYTES)
                                                                       : FILTER_BYTES;
}

guint64
td_fdk_slice_bytes (const TdFdkPlan *fdk)
{
  return (guint64) fdk->input->task.ny * fdk->input->task.nx * sizeof (float);
}

static guint64
slab_bytes (const TdFdkPlan *fdk)
{
  return fdk->fit.slab * td_fdk_slice_bytes (fdk);
}

static void
fdk_fit_set_slab (TdFdkPlan *fdk, guint slab)
{
  fdk->fit.slab = slab;
  fdk->fit.n_slabs = fdk_fit_parts_of (fdk->input->n_slices, slab);
  fdk->fit.slab_rows = 1;
  const guint slices_end = fdk->input->slice0 + fdk->input->n_slices;
  for (guint a = fdk->input->slice0, n; a < slices_end; a += n) {
    guint first, end;
    n = td_fdk_even_slices (fdk, a, slices_end);
    td_cone_rows_seen (&fdk->input->task, a, n, &first, &end);
    fdk->fit.slab_rows = MAX (fdk->fit.slab_rows, end > first ? end - first : 0);
  }
  fdk->fit.volumes = fdk->fit.n_slabs > 1 ? 2 : 1;
}

static void
set_batch (TdFdkPlan *fdk, guint batch)
{
  fdk->fit.batch
      = MAX (fdk->fit.symmetric_views, MIN (batch, fdk->fit.most_views) / fdk->fit.symmetric_views
                                           * fdk->fit.symmetric_views);
  fdk->fit.n_batches = fdk_fit_parts_of (fdk->input->task.n_views, fdk->fit.batch);
}

/* Chunks that a slab may need at once, and some that are on their way. */
static guint
least_chunks (const TdFdkPlan *fdk)
{
  return MIN (fdk->fit.n_chunks,
              fdk_fit_parts_of (fdk->fit.slab_rows, fdk->fit.filter_rows) + 1 + AHEAD);
}

/* And those of the next two slabs, which may lie on the other side of the mid-plane: more would
   bring nothing. */
static guint
enough_chunks (const TdFdkPlan *fdk)
{
  return MIN (fdk->fit.n_chunks,
              least_chunks (fdk) + 2 * fdk_fit_parts_of (fdk->fit.slab_rows, fdk->fit.filter_rows));
}

/* What goes through the filter at once: a chunk of rows, or some of the views with all rows that
   anybody may see. */
static TdFdkInput
fdk_fit_filtered (const TdFdkPlan *fdk)
{
  return fdk->gathered ? td_fdk_some_views (fdk->input, 0, fdk->gathered,
                                            (TdRowRange) { 0, fdk->input->task.n_rows })
                       : *fdk->input;
}

static void
set_filter_rows (TdFdkPlan *fdk, guint rows)
{
  if (fdk->gathered) {
    const TdFdkInput whole = fdk_fit_filtered (fdk);
    fdk->fit.filter_rows = fdk->fit.n_chunks = 1;
    fdk->fit.chunk_rows = td_fdk_span_all (&whole).from.count;
    return;
  }
  fdk->fit.filter_rows = rows;
  fdk->fit.chunk_rows = td_fdk_most_rows (fdk->input, 0, rows);
  if (rows > 1 && !td_fdk_rows_fit (fdk->input, fdk->fit.chunk_rows)) {
    set_filter_rows (fdk, (rows + 1) / 2);
    return;
  }
  fdk->fit.n_chunks = fdk_fit_parts_of (fdk->input->n_rows, rows);
  fdk->fit.cached_chunks = enough_chunks (fdk);
}

/* ── Bytes ── */

TdConeLimits
td_fdk_limits (const TdPlan *plan, const TdFdkPlan *fdk)
{
  return (TdConeLimits) { .max_views = fdk->fit.batch,
                          .max_rows = fdk->fit.slab_rows,
                          .max_slices = fdk->fit.slab,
                          .precision = plan->recipe.precision,
                          .half_scale = fdk->input->half_scale,
                          .bands = fdk->fit.bands };
}

static guint64
filter_workspace (const TdPlan *plan, const TdFdkPlan *fdk)
{
  const TdFdkInput input = fdk_fit_filtered (fdk);
  const guint filtered = td_fdk_most_filtered (&input, fdk->fit.chunk_rows,
                                               fdk->gathered ? input.n_rows : fdk->fit.filter_rows);

  return td_cone_filter_workspace_bytes (&input.task, filtered)
         + td_preparation_workspace_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                           td_scan_facts (input.scan), fdk->fit.chunk_rows);
}

static guint64
filter_bytes (const TdPlan *plan, const TdFdkPlan *fdk)
{
  return td_fdk_chunk_bytes (fdk) + filter_workspace (plan, fdk);
}

/* Parts of slices are added up by the host, which then converts the sums. */
gboolean
td_fdk_device_stores (const TdPlan *plan, const TdFdkPlan *fdk, guint index)
{
  return plan->output && plan->recipe.output_bits < 32 && fdk->scheme.share == TD_SHARE_VOLUME
         && td_stored_samples_supported (plan->devices->pdata[index]);
}

static guint64
fdk_fit_stored_bytes (const TdPlan *plan, const TdFdkPlan *fdk, guint index)
{
  const guint64 voxels = slab_bytes (fdk) / fdk->fit.slab / sizeof (float)
                         * MIN (fdk->fit.download_slices, fdk->fit.slab);

  return td_fdk_device_stores (plan, fdk, index)
             ? td_stored_samples_bytes (plan->recipe.output_bits, voxels)
             : 0;
}

guint64
td_fdk_device_bytes (const TdPlan *plan, const TdFdkPlan *fdk, guint index)
{
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[index]);
  const TdFdkFit *fit = &fdk->fit;
  const TdConeTask *task = &fdk->input->task;
  const TdConeLimits limits = td_fdk_limits (plan, fdk);
  const guint64 batch = (guint64) fit->batch * fit->slab_rows * task->n_columns * sizeof (float);
  const guint64 bytes = fit->volumes * slab_bytes (fdk)
                        + fdk->scheme.families[index]->workspace_bytes (task, &limits, info)
                        + fdk_fit_stored_bytes (plan, fdk, index);

  if (fit->cached)
    return bytes + batch + filter_workspace (plan, fdk)
           + fit->cached_chunks * td_fdk_chunk_bytes (fdk);
  return bytes + batch * (fit->n_slabs > 1 || fit->n_batches > 1 ? 2 : 1)
         + (fdk->scheme.filter_on_device || info->host_pointers ? filter_bytes (plan, fdk) : 0);
}

/* ── Shrinking ── */

/* One step smaller, what costs least first; FALSE: there is none left. @sent: the rows come from
   the host's store to a card. */
static gboolean
fdk_fit_shrink (TdFdkPlan *fdk, gboolean sent)
{
  if (fdk->fit.bands)
    fdk->fit.bands = FALSE;
  else if (fdk->fit.cached && fdk->fit.cached_chunks > least_chunks (fdk))
    fdk->fit.cached_chunks = MAX (least_chunks (fdk), fdk->fit.cached_chunks * 3 / 4);
  else if (sent && fdk->scheme.filter_on_device && !fdk->gathered
           && fdk->fit.filter_rows * td_fdk_filtered_bytes (fdk->input, 1)
                  >= 2 * LEAST_FILTER_BYTES)
    set_filter_rows (fdk, fdk->fit.filter_rows / 2);
  else if (fdk->fit.batch >= 2 * (sent ? GOOD_SENT_BATCH : GOOD_BATCH))
    set_batch (fdk, fdk->fit.batch / 2);
  else if (fdk->fit.slab >= 2 * GOOD_SLAB)
    fdk_fit_set_slab (fdk, (fdk->fit.slab + 1) / 2);
  else if (fdk->fit.batch > MIN_BATCH && fdk->fit.batch / 2 >= fdk->fit.symmetric_views)
    set_batch (fdk, fdk->fit.batch / 2);
  else if (fdk->fit.slab > MIN_SLAB)
    fdk_fit_set_slab (fdk, (fdk->fit.slab + 1) / 2);
  else if (fdk->fit.filter_rows > 1)
    set_filter_rows (fdk, (fdk->fit.filter_rows + 1) / 2);
  else if (fdk->fit.volumes > 1)
    fdk->fit.volumes = 1;
  else if (fdk->fit.batch > fdk->fit.symmetric_views)
    set_batch (fdk, fdk->fit.batch / 2);
  else if (fdk->fit.slab > 1)
    fdk_fit_set_slab (fdk, 1);
  else
    return FALSE;
  return TRUE;
}

/* Out of core is nothing but this. */
static gboolean
fit_device (const TdPlan *plan, TdFdkPlan *fdk, guint index, guint64 budget, GError **error)
{
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[index]);
  const gboolean sent = !fdk->fit.cached && info->kind != TD_DEVICE_CPU;
  guint64 need;

  while ((need = td_fdk_device_bytes (plan, fdk, index)) > budget)
    if (!fdk_fit_shrink (fdk, sent))
      return td_set_error (
          error, TD_ERROR_TOO_LARGE,
          "%s has %" PRIu64 " MiB for this, but one slice needs %" PRIu64 " MiB: %p", info->name,
          budget >> 20, (need >> 20) + 1,
          td_message_new_plain (td_plan_remedy (plan, plan->devices->pdata[index])));
  return TRUE;
}

/* Pinned memory: a quarter of what the host has left for slices that are downloaded, an eighth for
   rows that are sent. */
static void
fit_pinned (TdFdkPlan *fdk, guint n_devices, guint halvings, guint64 left)
{
  const guint64 slice = td_fdk_slice_bytes (fdk);
  const guint64 ring = left / 8 / (TD_FDK_RING * n_devices);
  const guint64 most_download = DOWNLOAD_BYTES >> halvings;
  const guint64 most_ring = (fdk->fit.cached ? 2 * CHUNK_BYTES : CHUNK_BYTES) >> halvings;

  if (fdk->scheme.share == TD_SHARE_PROJECTION) {
    /* Each device downloads one part and holds a part of two others at most. With three buffers
       each, and one on its way to the writer, some device can always go on. */
    fdk->fit.n_downloads = 3 * n_devices + 1;
    while (fdk->fit.slab > 1 && fdk->fit.n_downloads * slab_bytes (fdk) > left / 4)
      fdk_fit_set_slab (fdk, (fdk->fit.slab + 1) / 2);
    fdk->fit.download_slices = fdk->fit.slab;
  } else {
    fdk->fit.n_downloads = 2 * n_devices + 2;
    fdk->fit.download_slices = (guint) CLAMP (
        MIN (most_download, left / 4 / fdk->fit.n_downloads) / slice, 1, (guint64) fdk->fit.slab);
  }
  while (fdk->fit.cached && fdk->fit.filter_rows > 1
         && td_fdk_chunk_bytes (fdk) > MIN (ring, most_ring))
    set_filter_rows (fdk, (fdk->fit.filter_rows + 1) / 2);
  fdk->fit.ring_bytes
      = fdk->fit.cached ? td_fdk_chunk_bytes (fdk)
                        : MAX (MIN (most_ring, ring), (guint64) fdk->input->task.n_columns
                                                          * fdk->fit.slab_rows * sizeof (float));
}

/* ── All together ── */

static gboolean
fdk_fit_has_host (const GPtrArray *devices)
{
  for (guint i = 0; i < devices->len; i++)
    if (td_device_info (devices->pdata[i])->host_pointers)
      return TRUE;
  return FALSE;
}

/* A batch's views are the layers of a texture where there is one. */
static guint
most_views (const TdPlan *plan, const TdFdkPlan *fdk)
{
  const GPtrArray *devices = plan->devices;
  guint64 most = G_MAXINT;

  for (guint i = 0; i < devices->len; i++) {
    const guint64 layers = td_device_info (devices->pdata[i])->texture_max_layers;
    if (layers > 0)
      most = MIN (most, layers
                            * fdk->scheme.families[i]->symmetric_views (&fdk->input->task,
                                                                        plan->recipe.precision));
  }
  return (guint) most;
}

/* What one would like, were there memory enough. */
static void
fdk_fit_wish (const TdPlan *plan, TdFdkPlan *fdk, const TdFdkAttempt *attempt)
{
  const TdConeTask *task = &fdk->input->task;
  const guint nz = fdk->input->n_slices, n = plan->devices->len, n_rows = fdk->input->n_rows;
  gboolean any_cpu = FALSE;
  const guint64 row = td_fdk_filtered_bytes (fdk->input, 1);
  const guint64 chunk = fdk->fit.cached ? CHUNK_BYTES << (row > CHUNK_BYTES / 8)
                                        : reading_bytes (fdk, td_plan_host_budget (plan) / 8);

  fdk->fit.symmetric_views = 1;
  fdk->fit.least_slab = LEAST_SLAB;
  for (guint i = 0; i < n; i++) {
    const TdConeFamily *family = fdk->scheme.families[i];
    any_cpu |= td_device_info (plan->devices->pdata[i])->kind == TD_DEVICE_CPU;
    fdk->fit.symmetric_views
        = MAX (fdk->fit.symmetric_views, family->symmetric_views (task, plan->recipe.precision));
    if (family->whole_slices)
      fdk->fit.least_slab = MAX (fdk->fit.least_slab, family->whole_slices (task));
  }
  fdk->fit.most_views = most_views (plan, fdk);
  fdk->fit.bands = plan->least_slabs > 0 && n == 1 && fdk->scheme.families[0]->bands;
  if (fdk->scheme.share == TD_SHARE_PROJECTION) {
    fdk_fit_set_slab (fdk, MIN (GPU_SLAB, nz));
    set_batch (fdk, task->n_views / (4 * n));
  } else if (fdk->gathered && n == 1 && plan->least_slabs == 0) {
    /* iFDK, section 4.1.5: the whole sub-volume, so that each view is wanted once. */
    fdk_fit_set_slab (fdk, nz);
    set_batch (fdk, MIN (task->n_views, GPU_BATCH));
  } else {
    const guint turn = MAX (fdk_fit_parts_of (nz, MAX (plan->least_slabs, 1)), fdk->fit.least_slab);
    if (any_cpu) {
      const guint slab
          = n > 1 ? CLAMP (fdk_fit_parts_of (nz, 2 * n), 1, CPU_SLAB) : MIN (CPU_SLAB, nz);
      fdk_fit_set_slab (fdk, fdk->scheme.families[0]->bands ? slab : MIN (slab, turn));
    } else {
      const guint slab = MIN (turn, CLAMP (fdk_fit_parts_of (nz, 4 * n), LEAST_SLAB, GPU_SLAB));
      const guint whole = MIN (slab, fdk->fit.least_slab);
      fdk_fit_set_slab (fdk, MIN (nz, slab / whole * whole));
    }
    /* What is allocated must be freed, which takes a card as long as many a slab. */
    const guint least = GPU_BATCH << (plan->recipe.precision != TD_PRECISION_SINGLE);
    set_batch (fdk, any_cpu
                        ? task->n_views
                        : MIN (task->n_views, MAX (least, fdk_fit_parts_of (task->n_views, 4))));
  }
  if (attempt->most_slab)
    fdk_fit_set_slab (fdk, MIN (fdk->fit.slab, attempt->most_slab));
  if (attempt->most_batch)
    set_batch (fdk, MIN (fdk->fit.batch, attempt->most_batch));
  set_filter_rows (fdk, (guint) CLAMP (chunk / row, 1, (guint64) n_rows));
}

/* The CPU filters for devices that have memory of their own. */
static gboolean
fit_filter (const TdPlan *plan, TdFdkPlan *fdk, guint64 host, GError **error)
{
  while (filter_bytes (plan, fdk) > host / 2 && fdk->fit.filter_rows > 1)
    set_filter_rows (fdk, (fdk->fit.filter_rows + 1) / 2);
  if (filter_bytes (plan, fdk) <= host)
    return TRUE;
  return td_set_error (error, TD_ERROR_TOO_LARGE,
                       "The host has %" PRIu64
                       " MiB for this, but filtering one row of the detector needs %" PRIu64
                       " MiB: raise {memory-limit}, or crop or bin the scan",
                       host >> 20, (filter_bytes (plan, fdk) >> 20) + 1);
}

/* Rows read at once from a file that likes large pieces; 0: a chunk's. */
static guint
block_rows (const TdPlan *plan, const TdFdkPlan *fdk, guint64 left)
{
  const TdScanFacts *facts = td_scan_facts (fdk->input->scan);

  if (!fdk->fit.cached || fdk->fit.n_chunks == 1 || facts->in_memory || facts->sinogram_order)
    return 0;
  return MIN (facts->n_rows,
              fdk->fit.chunk_rows
                  + (guint) (MIN (reading_bytes (fdk, left / 4), left / 4 / plan->devices->len)
                             / td_fdk_read_bytes (fdk->input, 1)));
}

/* What the steps take of the host's memory: once for each device that prepares rows. */
static guint64
fdk_fit_preparing_bytes (const TdPlan *plan, const TdFdkPlan *fdk)
{
  return (fdk->fit.cached ? plan->devices->len : 1)
         * td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                      td_scan_facts (fdk->input->scan), fdk->fit.chunk_rows);
}

/* What all of this takes. */
static void
count_bytes (const TdPlan *plan, TdFdkPlan *fdk)
{
  const GPtrArray *devices = plan->devices;
  TdFdkFit *fit = &fdk->fit;
  const guint64 read = td_fdk_read_bytes (fdk->input, 1);

  fit->filter_bytes = filter_bytes (plan, fdk);
  fit->device_bytes = fit->host_bytes = 0;
  for (guint i = 0; i < devices->len; i++) {
    const guint64 bytes = td_fdk_device_bytes (plan, fdk, i);
    fit->device_bytes = MAX (fit->device_bytes, bytes);
    fit->host_bytes += td_device_info (devices->pdata[i])->kind == TD_DEVICE_CPU ? bytes : 0;
  }
  fit->host_bytes += (fdk->scheme.spool == TD_CONE_SPOOL_MEMORY ? td_fdk_spool_bytes (fdk) : 0)
                     + td_fdk_spool_work_bytes (fdk) + fdk_fit_preparing_bytes (plan, fdk)
                     + fit->n_downloads * fit->download_slices * td_fdk_slice_bytes (fdk)
                     + devices->len * (TD_FDK_RING * fit->ring_bytes + fit->block_rows * read);
  if (!fit->cached)
    fit->host_bytes
        += (fit->on_disk ? 0 : td_fdk_store_bytes (fdk))
           + td_fdk_chunk_bytes (fdk) * (fdk->gathered ? 2 : 1) /* rows in, and views out */
           + (td_fdk_holds (fdk) ? td_fdk_filtered_bytes (fdk->input, fit->filter_rows) : 0)
           + (fdk->scheme.filter_on_device || fdk_fit_has_host (plan->devices) ? 0
                                                                               : fit->filter_bytes);
}

static gboolean
check_rows (const TdFdkPlan *fdk, GError **error)
{
  const TdFdkInput filtered = fdk_fit_filtered (fdk);

  if (td_fdk_rows_fit (&filtered, fdk->fit.chunk_rows))
    return TRUE;
  return td_set_error (
      error, TD_ERROR_TOO_LARGE,
      "The detector is tilted so much that %u of its rows make one row of a level one, which is "
      "more than 2^31 samples; crop the scan or bin it ({crop}, {bin}).",
      fdk->fit.chunk_rows);
}

/* Where filtered projections wait on the host. */
typedef enum {
  FDK_FIT_KEPT,   /* in memory, if half of it holds them, else in a file */
  FDK_FIT_FILED,  /* in a file, whatever room there is for them */
  FDK_FIT_PASSED, /* gathered: they pass through a circular buffer, for one slab */
} FdkFitStore;

static void
fdk_fit_set_store (TdFdkPlan *fdk, FdkFitStore store)
{
  const guint n_views = fdk->input->task.n_views, chunk = fdk->gathered;

  fdk->fit.held_views = n_views;
  if (store != FDK_FIT_PASSED)
    return;
  set_batch (fdk, MIN (fdk->fit.batch, PASSED_BATCH));
  /* Chunks lie whole in it. */
  fdk->fit.held_views = MIN (n_views, (fdk_fit_parts_of (2 * fdk->fit.batch, chunk) + 1) * chunk);
}

static gboolean
fit_place (const TdPlan *plan, TdFdkPlan *fdk, const TdFdkAttempt *attempt, FdkFitStore store,
           GError **error)
{
  const GPtrArray *devices = plan->devices;
  guint64 host = td_plan_host_budget (plan);

  fdk_fit_wish (plan, fdk, attempt);
  fdk_fit_set_store (fdk, store);
  const guint64 projections = td_fdk_store_bytes (fdk);
  if (!check_rows (fdk, error))
    return FALSE;
  if (fdk->scheme.spool == TD_CONE_SPOOL_MEMORY)
    host -= MIN (td_fdk_spool_bytes (fdk), host);
  host -= MIN (fdk_fit_preparing_bytes (plan, fdk), host / 2);
  /* Half of the host's memory at most for the projections; the rest is for slabs on their way. */
  fdk->fit.on_disk = !fdk->fit.cached && store != FDK_FIT_PASSED
                     && (store == FDK_FIT_FILED || projections > host / 2);
  const guint64 left = fdk->fit.cached || fdk->fit.on_disk ? host : host - MIN (projections, host);
  fit_pinned (fdk, devices->len, attempt->halvings, left);
  for (guint i = 0; i < devices->len; i++) {
    TdDevice *device = devices->pdata[i];
    if (attempt->retired && attempt->retired[i])
      continue;
    const gboolean shared = td_device_info (device)->host_pointers;
    const guint64 free = shared ? left / 2 : td_device_memory_free (device) / 10 * 8;
    const guint64 budget = attempt->budgets ? MIN (free, attempt->budgets[i]) : free;
    if (!fit_device (plan, fdk, i, budget, error))
      return FALSE;
  }
  if (!fdk->fit.cached && !fdk->scheme.filter_on_device && !fdk_fit_has_host (plan->devices)
      && !fit_filter (plan, fdk, host, error))
    return FALSE;
  /* Slabs and chunks may be smaller now. */
  fit_pinned (fdk, devices->len, attempt->halvings, left);
  fdk->fit.block_rows = block_rows (plan, fdk, left);
  count_bytes (plan, fdk);
  return TRUE;
}

gboolean
td_fdk_fit (const TdPlan *plan, const TdFdkInput *input, const TdFdkScheme *scheme,
            const TdFdkAttempt *attempt, TdFdkFit *fit, GError **error)
{
  const TdFdkAttempt first = { 0 };
  TdFdkPlan fdk = { .input = input, .gathered = plan->gathered, .scheme = *scheme };
  gboolean ok = FALSE;

  attempt = attempt ? attempt : &first;
  fdk.fit.cached = scheme->filter_on_device && scheme->share == TD_SHARE_VOLUME
                   && !fdk_fit_has_host (plan->devices) && !plan->gathered;
  if (fdk.fit.cached)
    ok = fit_place (plan, &fdk, attempt, FDK_FIT_KEPT, NULL);
  if (!ok && plan->gathered && plan->gathered_parts == 1 && plan->devices->len == 1
      && plan->least_slabs == 0)
    ok = fit_place (plan, &fdk, attempt, FDK_FIT_PASSED, NULL) && fdk.fit.n_slabs == 1
         && fdk.fit.symmetric_views == 1
         && td_fdk_store_bytes (&fdk) <= td_plan_host_budget (plan) / 2;
  if (!ok) {
    fdk.fit = (TdFdkFit) { 0 };
    /* Projections in memory may leave too little of it for a slice. */
    ok = fit_place (plan, &fdk, attempt, FDK_FIT_KEPT, NULL)
         || fit_place (plan, &fdk, attempt, FDK_FIT_FILED, error);
  }
  *fit = fdk.fit;
  return ok;
}
