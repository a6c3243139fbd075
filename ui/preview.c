/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preview.h"

#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/cone-scan.h"
#include "compute/engine/job.h"
#include "compute/engine/preview.h"
#include "latest.h"
#include "ui.h"

#define COARSE_FIRST_ABOVE_S 0.1

/* What outlives one request, shared with worker threads that may outlive the preview. */
typedef struct {
  gatomicrefcount references;
  GMutex lock;
  TdEngine *engine;
  TdScan *scan;   /* what the rest is about */
  double full_s;  /* how long its last full slice took; 0: not known */
  TdScan *coarse; /* of row coarse_row of coarse_of, which is the scan with its mask */
  TdScan *coarse_of;
  guint coarse_row;
} Memory;

struct TdPreview {
  TdLatest *latest;
  Memory *memory;
  TdPreviewShow show;
  TdPreviewShowSinogram show_sinogram;
  gpointer user;
};

typedef struct {
  Memory *memory;
  TdScan *scan;
  TdRecipe recipe;
  guint row;
  gboolean sinogram;
} Request;

/* What travels to the main thread: one of the two. */
typedef struct {
  TdPreviewResult *slice;
  TdImage *sinogram;
} Picture;

static void
memory_unref (Memory *memory)
{
  if (!g_atomic_ref_count_dec (&memory->references))
    return;
  g_clear_pointer (&memory->scan, td_scan_unref);
  g_clear_pointer (&memory->coarse, td_scan_unref);
  g_clear_pointer (&memory->coarse_of, td_scan_unref);
  td_engine_unref (memory->engine);
  g_mutex_clear (&memory->lock);
  g_free (memory);
}

static void
memory_forget (Memory *memory)
{
  g_clear_pointer (&memory->scan, td_scan_unref);
  g_clear_pointer (&memory->coarse, td_scan_unref);
  g_clear_pointer (&memory->coarse_of, td_scan_unref);
  memory->full_s = 0;
}

static void
preview_request_free (gpointer user)
{
  Request *request = user;

  td_scan_unref (request->scan);
  memory_unref (request->memory);
  g_free (request);
}

static void
result_free (TdPreviewResult *result)
{
  g_clear_pointer (&result->image, td_image_unref);
  g_free (result->units);
  g_free (result->device);
  g_free (result);
}

static Picture *
picture_new (TdPreviewResult *slice, TdImage *sinogram)
{
  Picture *picture = g_new (Picture, 1);

  *picture = (Picture) { slice, sinogram };
  return picture;
}

static void
picture_free (gpointer user)
{
  Picture *picture = user;

  g_clear_pointer (&picture->slice, result_free);
  g_clear_pointer (&picture->sinogram, td_image_unref);
  g_free (picture);
}

/* ── Worker thread ── */

typedef struct {
  TdLatestRun *run;
  guint n_columns, n_views;
} Row;

/* On a thread of the job. */
static void
post_sinogram (float *sinogram, gpointer user)
{
  const Row *row = user;
  TdImage *image = td_image_new_take (sinogram, row->n_columns, row->n_views);

  td_latest_post (row->run, picture_new (NULL, image), FALSE);
}

/* One slice of @scan by @recipe; @factor: how coarse; @row: where to show its sinogram, NULL:
 * nowhere. */
static TdPreviewResult *
preview_make_slice (const Request *request, TdScan *scan, const TdRecipe *recipe, guint factor,
                    Row *row, GCancellable *cancellable, GError **error)
{
  g_autoptr (TdPlan) plan
      = td_plan_new (request->memory->engine, scan, recipe, NULL, cancellable, error);
  if (!plan)
    return NULL;
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autofree float *pixels
      = td_host_malloc ((guint64) facts->nx * facts->ny * sizeof *pixels, error);

  if (!pixels)
    return NULL;
  if (row)
    td_job_set_sinogram_sink (job, post_sinogram, row);
  td_job_set_slice (job, pixels);
  if (!td_job_run (job, cancellable, error))
    return NULL;
  const TdJobResult *outcome = td_job_result (job);
  TdPreviewResult *result = g_new0 (TdPreviewResult, 1);
  td_preview_coarse_values (facts, factor, pixels);
  const double side = td_preview_coarse_side (td_scan_facts (request->scan), facts, factor);
  result->image
      = td_image_new_coarse_take (g_steal_pointer (&pixels), facts->nx, facts->ny, side, side);
  result->coarse = factor > 1;
  result->row = request->row;
  result->centre_px = factor > 1 ? request->recipe.centre_px : facts->centre_px;
  result->pixel_mm = facts->pixel_mm / factor;
  result->units = g_strdup (facts->units);
  result->device = g_strdup (outcome->device);
  result->kernel = outcome->kernel;
  result->precision = outcome->precision;
  result->seconds = outcome->seconds;
  result->counts = outcome->counts;
  return result;
}

/* The coarse scan of the request's row, from memory if it is there. (transfer full) (nullable) */
static TdScan *
coarse_scan (const Request *request, guint factor, GCancellable *cancellable)
{
  Memory *memory = request->memory;
  g_autoptr (TdScan) masked
      = td_engine_masked (memory->engine, request->scan, td_recipe_mask (&request->recipe), NULL);
  TdScan *coarse = NULL;

  if (!masked) /* the full slice says why */
    return NULL;
  g_mutex_lock (&memory->lock);
  if (memory->scan == request->scan && memory->coarse && memory->coarse_of == masked
      && memory->coarse_row == request->row)
    coarse = td_scan_ref (memory->coarse);
  g_mutex_unlock (&memory->lock);
  if (coarse)
    return coarse;
  coarse
      = td_preview_coarse_scan (masked, &request->recipe, request->row, factor, cancellable, NULL);
  if (!coarse)
    return NULL;
  g_mutex_lock (&memory->lock);
  if (memory->scan == request->scan) {
    td_hold (scan, &memory->coarse, coarse);
    td_hold (scan, &memory->coarse_of, masked);
    memory->coarse_row = request->row;
  }
  g_mutex_unlock (&memory->lock);
  return coarse;
}

static void
post_coarse (const Request *request, guint factor, TdLatestRun *run, GCancellable *cancellable)
{
  g_autoptr (TdScan) coarse = coarse_scan (request, factor, cancellable);
  TdRecipe recipe;

  if (!coarse)
    return;
  td_preview_coarse_recipe (&request->recipe, td_scan_facts (request->scan), request->row, factor,
                            &recipe);
  /* A coarse picture that fails says nothing about the full one: that reports for itself. */
  TdPreviewResult *result
      = preview_make_slice (request, coarse, &recipe, factor, NULL, cancellable, NULL);
  if (result)
    td_latest_post (run, picture_new (result, NULL), TRUE);
}

gboolean
td_preview_is_whole (const TdRecipe *recipe)
{
  return recipe->crop[2] == 0
         && MAX (recipe->bin[0], 1) * MAX (recipe->bin[1], 1) * MAX (recipe->bin_views, 1) == 1;
}

static gpointer
preview_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;
  Memory *memory = request->memory;
  TdRecipe recipe = request->recipe;
  /* What is cropped or binned is small already. */
  const gboolean whole = td_preview_is_whole (&recipe);
  guint factor = whole ? td_preview_coarse_factor (td_scan_facts (request->scan)) : 0;

  g_mutex_lock (&memory->lock);
  double full_s = memory->scan == request->scan ? memory->full_s : 0;
  g_mutex_unlock (&memory->lock);
  if (factor && (full_s == 0 || full_s > COARSE_FIRST_ABOVE_S))
    post_coarse (request, factor, run, cancellable);
  recipe.row_first = td_recipe_slice_at (&recipe, td_scan_facts (request->scan), request->row);
  recipe.row_end = recipe.row_first + 1;
  memset (recipe.region, 0, sizeof recipe.region);
  const TdScanFacts *facts = td_scan_facts (request->scan);
  Row row = { run, facts->n_columns, facts->n_views };
  TdPreviewResult *result
      = preview_make_slice (request, request->scan, &recipe, 1,
                            whole && request->sinogram ? &row : NULL, cancellable, error);
  if (!result)
    return NULL;
  g_mutex_lock (&memory->lock);
  if (memory->scan == request->scan)
    memory->full_s = result->seconds;
  g_mutex_unlock (&memory->lock);
  return picture_new (result, NULL);
}

/* ── Main thread ── */

static void
preview_show (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdPreview *preview = user;
  const Picture *picture = result;

  if (picture && picture->sinogram)
    preview->show_sinogram (picture->sinogram, preview->user);
  else
    preview->show (picture ? picture->slice : NULL, error, last, preview->user);
}

TdPreview *
td_preview_new (TdEngine *engine, TdPreviewShow show_slice, TdPreviewShowSinogram show_sinogram,
                gpointer user)
{
  TdPreview *preview = g_new0 (TdPreview, 1);

  preview->memory = g_new0 (Memory, 1);
  g_atomic_ref_count_init (&preview->memory->references);
  g_mutex_init (&preview->memory->lock);
  preview->memory->engine = td_engine_ref (engine);
  preview->show = show_slice;
  preview->show_sinogram = show_sinogram;
  preview->user = user;
  preview->latest
      = td_latest_new (preview_work, preview_request_free, preview_show, picture_free, preview);
  return preview;
}

void
td_preview_request (TdPreview *preview, TdScan *scan, const TdRecipe *recipe, guint row,
                    gboolean sinogram)
{
  Memory *memory = preview->memory;
  Request *request = g_new0 (Request, 1);

  g_mutex_lock (&memory->lock);
  if (memory->scan != scan) {
    memory_forget (memory);
    memory->scan = td_scan_ref (scan);
  }
  g_mutex_unlock (&memory->lock);
  g_atomic_ref_count_inc (&memory->references);
  request->memory = memory;
  request->scan = td_scan_ref (scan);
  request->recipe = *recipe;
  /* Iterations want the whole volume and their time: what is shown at once is the filtered slice.
   */
  if (td_method_iterates (recipe->method))
    request->recipe.method = TD_METHOD_AUTO;
  request->row = row;
  request->sinogram = sinogram && preview->show_sinogram;
  td_latest_request (preview->latest, request);
}

void
td_preview_cancel (TdPreview *preview)
{
  td_latest_cancel (preview->latest);
  g_mutex_lock (&preview->memory->lock);
  memory_forget (preview->memory);
  g_mutex_unlock (&preview->memory->lock);
}

gboolean
td_preview_busy (TdPreview *preview)
{
  return td_latest_busy (preview->latest);
}

void
td_preview_free (TdPreview *preview)
{
  if (!preview)
    return;
  td_latest_free (preview->latest);
  memory_unref (preview->memory);
  g_free (preview);
}
