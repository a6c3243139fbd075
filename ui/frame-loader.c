/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frame-loader.h"

#include "compute/engine/preview.h"

typedef struct {
  TdScan *scan;
  gboolean sinogram;
  guint index;       /* view or row */
  gboolean mirrored; /* less @opposite, mirrored at @axis */
  guint opposite;
  TdAxisLine axis;
  TdEngine *engine;
  TdRecipe *recipe; /* NULL: raw */
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

static gpointer
frame_loader_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;
  const TdScanFacts *facts = td_scan_facts (request->scan);
  const guint views[2] = { request->index, request->opposite };
  float *pixels = request->mirrored
                      ? td_preview_opposite (request->engine, request->scan, views, request->recipe,
                                             &request->axis, cancellable, error)
                      : (request->sinogram ? td_preview_sinogram : td_preview_projection) (
                          request->engine, request->scan, request->index, request->recipe,
                          cancellable, error);

  return pixels ? td_image_new_take (pixels, facts->n_columns,
                                     request->sinogram ? facts->n_views : facts->n_rows)
                : NULL;
}

/* ── Main thread ── */

TdLatest *
td_frame_loader_new (TdLatestShow show, gpointer user)
{
  return td_latest_new (frame_loader_work, frame_loader_request_free, show,
                        (GDestroyNotify) td_image_unref, user);
}

/* (transfer full) */
static Request *
frame_loader_new_request (TdEngine *engine, TdScan *scan, guint index, const TdRecipe *recipe)
{
  Request *request = g_new0 (Request, 1);

  request->scan = td_scan_ref (scan);
  request->engine = td_engine_ref (engine);
  request->index = index;
  request->recipe = recipe ? g_memdup2 (recipe, sizeof *recipe) : NULL;
  return request;
}

void
td_frame_loader_projection (TdLatest *loader, TdEngine *engine, TdScan *scan, guint view,
                            const TdRecipe *recipe)
{
  td_latest_request (loader, frame_loader_new_request (engine, scan, view, recipe));
}

void
td_frame_loader_opposite (TdLatest *loader, TdEngine *engine, TdScan *scan, const guint views[2],
                          const TdRecipe *recipe, const TdAxisLine *axis)
{
  Request *request = frame_loader_new_request (engine, scan, views[0], recipe);

  request->mirrored = TRUE;
  request->opposite = views[1];
  request->axis = *axis;
  td_latest_request (loader, request);
}

void
td_frame_loader_sinogram (TdLatest *loader, TdEngine *engine, TdScan *scan, guint row,
                          const TdRecipe *recipe)
{
  Request *request = frame_loader_new_request (engine, scan, row, recipe);

  request->sinogram = TRUE;
  td_latest_request (loader, request);
}
