/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frame-loader.h"

#include <math.h>

#include "compute/device/device.h"
#include "compute/prepare/prepare.h"
#include "latest.h"

#define MOST_REFERENCES 8 /* flats and darks averaged for a quick look */

struct TdFrameLoader {
  TdEngine *engine;
  TdLatest *latest;
  TdFrameShow show;
  gpointer user;
};

typedef struct {
  TdScan *scan;
  gboolean sinogram;
  guint index; /* view or row */
  gboolean corrected;
  TdEngine *engine;
  TdRecipe *recipe; /* of a sinogram; NULL: raw */
} Request;

static void
frame_loader_request_free (gpointer user)
{
  Request *request = user;

  td_scan_unref (request->scan);
  td_engine_unref (request->engine);
  g_free (request->recipe);
  g_free (request);
}

/* ── Worker thread ── */

/* The mean of some frames of a kind; @fallback where there are none. */
static float *
mean_frame (TdScan *scan, TdFrameKind kind, guint n_frames, float fallback,
            GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize n = (gsize) facts->n_rows * facts->n_columns;
  guint used = MIN (n_frames, MOST_REFERENCES);
  g_autofree float *frame = g_new (float, n), *mean = g_new0 (float, n);

  for (gsize i = 0; used == 0 && i < n; i++)
    mean[i] = fallback;
  for (guint f = 0; f < used; f++) {
    if (!td_scan_read (scan, &(TdFrameRange) { kind, f, 1, 0, facts->n_rows }, frame, cancellable,
                       error))
      return NULL;
    for (gsize i = 0; i < n; i++)
      mean[i] += frame[i] / (float) used;
  }
  return g_steal_pointer (&mean);
}

static gboolean
frame_loader_correct (TdScan *scan, float *frame, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize n = (gsize) facts->n_rows * facts->n_columns;

  if (facts->transmission_logged || facts->n_flats == 0)
    return TRUE;
  g_autofree float *flat = mean_frame (scan, TD_FRAME_FLAT, facts->n_flats, 1, cancellable, error);
  if (!flat)
    return FALSE;
  g_autofree float *dark = mean_frame (scan, TD_FRAME_DARK, facts->n_darks, 0, cancellable, error);
  if (!dark)
    return FALSE;
  for (gsize i = 0; i < n; i++) {
    float t = (frame[i] - dark[i]) / (flat[i] - dark[i]);
    frame[i] = t > 0 ? -logf (t) : NAN;
  }
  return TRUE;
}

static TdImage *
load_projection (const Request *request, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (request->scan);
  g_autofree float *frame = g_new (float, (gsize) facts->n_rows * facts->n_columns);

  if (!td_scan_read (request->scan,
                     &(TdFrameRange) { TD_FRAME_PROJECTION, request->index, 1, 0, facts->n_rows },
                     frame, cancellable, error)
      || (request->corrected && !frame_loader_correct (request->scan, frame, cancellable, error)))
    return NULL;
  return td_image_new_take (g_steal_pointer (&frame), facts->n_columns, facts->n_rows);
}

/* Runs the steps on rows [first, first + n_rows), of @bytes, on the host: it is one sinogram. The
   request's comes to the first of them. */
static gboolean
prepare_rows (const Request *request, guint first, guint n_rows, float *rows, gsize bytes,
              GCancellable *cancellable, GError **error)
{
  const gsize row_bytes = bytes / n_rows;

  g_autoptr (TdDevice) device = td_device_open ("host", error);
  if (!device)
    return FALSE;
  g_autoptr (TdQueue) queue = td_queue_new (device, error);
  if (!queue)
    return FALSE;
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, bytes, error);
  if (!buffer)
    return FALSE;
  g_autoptr (TdScan) scan
      = td_engine_masked (request->engine, request->scan, td_recipe_mask (request->recipe), error);
  if (!scan)
    return FALSE;
  g_autoptr (TdFlats) flats = td_engine_flats (request->engine, scan);
  g_autoptr (TdPreparation) preparation = td_preparation_new (
      device, scan, flats, request->recipe->steps, request->recipe->n_steps, n_rows, error);
  if (!preparation)
    return FALSE;
  TdPreparationRows left = { buffer, first, n_rows };
  return td_upload (queue, buffer, 0, rows, bytes, error)
         && td_preparation_run_for (preparation, queue, &left, request->index, 1, cancellable,
                                    error)
         && td_download (queue, rows, buffer, (request->index - left.row0) * row_bytes, row_bytes,
                         error)
         && td_queue_finish (queue, error);
}

static TdImage *
frame_loader_load_sinogram (const Request *request, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (request->scan);
  const TdRecipe *recipe = request->recipe;
  guint halo = recipe ? td_preparation_halo (recipe->steps, recipe->n_steps, facts) : 0;
  guint first = request->index > halo ? request->index - halo : 0;
  guint end = MIN (request->index + halo + 1, facts->n_rows);
  gsize n = (gsize) facts->n_views * facts->n_columns;
  gsize bytes = (end - first) * n * sizeof (float);
  g_autofree float *rows = g_malloc (bytes);

  if (!td_scan_read_sinograms (
          request->scan,
          &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, first, end - first }, rows,
          cancellable, error)
      || (recipe && !prepare_rows (request, first, end - first, rows, bytes, cancellable, error)))
    return NULL;
  const guint place = recipe ? 0 : request->index - first;
  float *row = g_memdup2 (rows + place * n, n * sizeof (float));
  return td_image_new_take (row, facts->n_columns, facts->n_views);
}

static gpointer
frame_loader_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;

  return request->sinogram ? frame_loader_load_sinogram (request, cancellable, error)
                           : load_projection (request, cancellable, error);
}

/* ── Main thread ── */

static void
frame_loader_show (gpointer image, const GError *error, gboolean last, gpointer user)
{
  TdFrameLoader *loader = user;

  loader->show (image, error, loader->user);
}

TdFrameLoader *
td_frame_loader_new (TdEngine *engine, TdFrameShow show_image, gpointer user)
{
  TdFrameLoader *loader = g_new0 (TdFrameLoader, 1);

  loader->engine = td_engine_ref (engine);
  loader->show = show_image;
  loader->user = user;
  loader->latest = td_latest_new (frame_loader_work, frame_loader_request_free, frame_loader_show,
                                  (GDestroyNotify) td_image_unref, loader);
  return loader;
}

void
td_frame_loader_projection (TdFrameLoader *loader, TdScan *scan, guint view, gboolean corrected)
{
  Request *request = g_new0 (Request, 1);

  request->scan = td_scan_ref (scan);
  request->engine = td_engine_ref (loader->engine);
  request->index = view;
  request->corrected = corrected;
  td_latest_request (loader->latest, request);
}

void
td_frame_loader_sinogram (TdFrameLoader *loader, TdScan *scan, guint row, const TdRecipe *recipe)
{
  Request *request = g_new0 (Request, 1);

  request->scan = td_scan_ref (scan);
  request->engine = td_engine_ref (loader->engine);
  request->sinogram = TRUE;
  request->index = row;
  request->recipe = recipe ? g_memdup2 (recipe, sizeof *recipe) : NULL;
  td_latest_request (loader->latest, request);
}

void
td_frame_loader_cancel (TdFrameLoader *loader)
{
  td_latest_cancel (loader->latest);
}

gboolean
td_frame_loader_busy (TdFrameLoader *loader)
{
  return td_latest_busy (loader->latest);
}

void
td_frame_loader_free (TdFrameLoader *loader)
{
  if (!loader)
    return;
  td_latest_free (loader->latest);
  td_engine_unref (loader->engine);
  g_free (loader);
}
