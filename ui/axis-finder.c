/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-finder.h"

#include "compute/engine/centre.h"
#include "latest.h"

struct TdAxisFinder {
  TdLatest *latest;
  TdAxisShow show;
  gpointer user;
};

typedef struct {
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe;
} Request;

/* What comes back: how far it is, or the answer. */
typedef struct {
  double fraction;
  char *what;
  TdAxisResult *result;
} Report;

static void
axis_finder_request_free (gpointer user)
{
  Request *request = user;

  td_engine_unref (request->engine);
  td_scan_unref (request->scan);
  g_free (request);
}

static void
axis_finder_report_free (gpointer user)
{
  Report *report = user;

  g_free (report->what);
  g_clear_pointer (&report->result, td_axis_result_free);
  g_free (report);
}

/* ── Worker thread ── */

static void
axis_finder_tell (double fraction, const char *what, gpointer user)
{
  TdLatestRun *run = user;

  if (!td_latest_progress_due (run))
    return;
  Report *report = g_new0 (Report, 1);
  report->fraction = fraction;
  report->what = g_strdup (what);
  td_latest_post (run, report, TRUE);
}

static gpointer
axis_finder_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;
  TdAxisOptions options = { .progress = axis_finder_tell, .progress_user = run };
  TdAxisResult *result = td_engine_find_axis (request->engine, request->scan, &request->recipe,
                                              &options, cancellable, error);

  if (!result)
    return NULL;
  Report *report = g_new0 (Report, 1);
  report->fraction = 1;
  report->result = result;
  return report;
}

/* ── Main thread ── */

static void
axis_finder_show (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdAxisFinder *finder = user;
  const Report *report = result;

  finder->show (report ? report->fraction : 1, report ? report->what : NULL,
                report ? report->result : NULL, error, finder->user);
}

TdAxisFinder *
td_axis_finder_new (TdAxisShow show_result, gpointer user)
{
  TdAxisFinder *finder = g_new0 (TdAxisFinder, 1);

  finder->show = show_result;
  finder->user = user;
  finder->latest = td_latest_new (axis_finder_work, axis_finder_request_free, axis_finder_show,
                                  axis_finder_report_free, finder);
  return finder;
}

void
td_axis_finder_start (TdAxisFinder *finder, TdEngine *engine, TdScan *scan, const TdRecipe *recipe)
{
  Request *request = g_new0 (Request, 1);

  request->engine = td_engine_ref (engine);
  request->scan = td_scan_ref (scan);
  request->recipe = *recipe;
  td_latest_request (finder->latest, request);
}

void
td_axis_finder_cancel (TdAxisFinder *finder)
{
  td_latest_cancel (finder->latest);
}

gboolean
td_axis_finder_busy (TdAxisFinder *finder)
{
  return td_latest_busy (finder->latest);
}

void
td_axis_finder_free (TdAxisFinder *finder)
{
  if (!finder)
    return;
  td_latest_free (finder->latest);
  g_free (finder);
}
