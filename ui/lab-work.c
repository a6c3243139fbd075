/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-work.h"

#include <string.h>

typedef struct {
  TdEngine *engine;
  TdScan *scan;
  TdLab *lab;
  gboolean review;
} Request;

/* One request being worked on. */
typedef struct {
  const Request *request;
  TdLatestRun *run;
  TdImage *images[TD_LAB_MOST + 1];
  const float *made_of[TD_LAB_MOST + 1]; /* whose pixels an image has */
} Work;

static void
lab_work_request_free (gpointer data)
{
  Request *request = data;

  td_engine_unref (request->engine);
  td_scan_unref (request->scan);
  td_lab_free (request->lab);
  g_free (request);
}

/* ── News ── */

TdLabNews *
td_lab_news_ref (TdLabNews *news)
{
  return g_atomic_rc_box_acquire (news);
}

static void
lab_work_news_clear (gpointer data)
{
  TdLabNews *news = data;

  td_lab_free (news->lab);
  td_lab_result_free (news->result);
  for (guint i = 0; i < G_N_ELEMENTS (news->images); i++)
    g_clear_pointer (&news->images[i], td_image_unref);
  for (guint i = 0; i < G_N_ELEMENTS (news->figures); i++)
    td_lab_plot_unref (news->figures[i]);
}

void
td_lab_news_unref (TdLabNews *news)
{
  if (news)
    g_atomic_rc_box_release_full (news, lab_work_news_clear);
}

/* An image is made when its pixels are new: it costs a pass over them. */
static void
lab_work_update_image (Work *work, guint i, const TdLabOutcome *outcome)
{
  const float *pixels = outcome ? outcome->pixels : NULL;

  if (!pixels || work->made_of[i] == pixels)
    return;
  const gsize bytes = (gsize) outcome->nx * outcome->ny * sizeof *pixels;
  float *copy = g_try_malloc (bytes);
  g_clear_pointer (&work->images[i], td_image_unref);
  if (!copy)
    return; /* no picture, but its figures */
  memcpy (copy, pixels, bytes);
  work->images[i] = td_image_new_take (copy, outcome->nx, outcome->ny);
  work->made_of[i] = pixels;
}

static TdLabNews *
lab_work_news (Work *work, const TdLabResult *result, double fraction)
{
  TdLabNews *news = g_atomic_rc_box_new0 (TdLabNews);

  for (guint i = 0; i < result->n; i++)
    lab_work_update_image (work, i, result->outcomes[i]);
  lab_work_update_image (work, result->n, result->reference);
  news->lab = td_lab_copy (work->request->lab);
  news->result = td_lab_result_copy (result);
  news->fraction = fraction;
  for (guint i = 0; i <= result->n; i++)
    news->images[i] = work->images[i] ? td_image_ref (work->images[i]) : NULL;
  return news;
}

/* ── Worker thread ── */

/* Two pictures are enough to look at: a newer request need not wait for the rest. */
static void
lab_work_on_step (const TdLabResult *result, double fraction, gpointer user)
{
  Work *work = user;
  const gboolean enough = result->outcomes[MIN (1, result->n - 1)] != NULL;

  td_latest_post (work->run, lab_work_news (work, result, fraction), enough);
}

static TdLabNews *
lab_work_review (Work *work, GCancellable *cancellable, GError **error)
{
  const Request *request = work->request;
  g_autoptr (TdLabReview) review = td_lab_review_run (request->lab, request->engine, request->scan,
                                                      lab_work_on_step, work, cancellable, error);

  if (!review)
    return NULL;
  TdLabNews *news = lab_work_news (work, review->scan, 1);
  td_lab_review_plots (review, news->figures);
  return news;
}

static TdLabNews *
lab_work_run (Work *work, GCancellable *cancellable, GError **error)
{
  const Request *request = work->request;

  if (request->review)
    return lab_work_review (work, cancellable, error);
  g_autoptr (TdLabResult) result = td_lab_run (request->lab, request->engine, request->scan,
                                               lab_work_on_step, work, cancellable, error);
  return result ? lab_work_news (work, result, 1) : NULL;
}

static gpointer
lab_work_in_thread (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  Work work = { .request = user, .run = run };
  TdLabNews *news = lab_work_run (&work, cancellable, error);

  for (guint i = 0; i < G_N_ELEMENTS (work.images); i++)
    g_clear_pointer (&work.images[i], td_image_unref);
  return news;
}

/* ── Main thread ── */

TdLatest *
td_lab_work_new (TdLatestShow show, gpointer user)
{
  return td_latest_new (lab_work_in_thread, lab_work_request_free, show,
                        (GDestroyNotify) td_lab_news_unref, user);
}

void
td_lab_work_request (TdLatest *work, TdEngine *engine, TdScan *scan, const TdLab *lab,
                     gboolean review)
{
  Request *request = g_new (Request, 1);

  *request = (Request) { td_engine_ref (engine), td_scan_ref (scan), td_lab_copy (lab), review };
  td_latest_request (work, request);
}
