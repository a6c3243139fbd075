/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frame-loader.h"

#include "compute/engine/preview.h"
#include "latest.h"

struct TdFrameLoader {
  TdEngine *engine;
  TdLatest *latest;
  TdFrameShow show;
  gpointer user;
};

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

/* (transfer full) */
static Request *
frame_loader_new_request (TdFrameLoader *loader, TdScan *scan, guint index, const TdRecipe *recipe)
{
  Request *request = g_new0 (Request, 1);

  request->scan = td_scan_ref (scan);
  request->engine = td_engine_ref (loader->engine);
  request->index = index;
  request->recipe = recipe ? g_memdup2 (recipe, sizeof *recipe) : NULL;
  return request;
}

void
td_frame_loader_projection (TdFrameLoader *loader, TdScan *scan, guint view, const TdRecipe *recipe)
{
  td_latest_request (loader->latest, frame_loader_new_request (loader, scan, view, recipe));
}

void
td_frame_loader_opposite (TdFrameLoader *loader, TdScan *scan, const guint views[2],
                          const TdRecipe *recipe, const TdAxisLine *axis)
{
  Request *request = frame_loader_new_request (loader, scan, views[0], recipe);

  request->mirrored = TRUE;
  request->opposite = views[1];
  request->axis = *axis;
  td_latest_request (loader->latest, request);
}

void
td_frame_loader_sinogram (TdFrameLoader *loader, TdScan *scan, guint row, const TdRecipe *recipe)
{
  Request *request = frame_loader_new_request (loader, scan, row, recipe);

  request->sinogram = TRUE;
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
