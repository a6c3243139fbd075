/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterated.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/job.h"
#include "compute/engine/preview.h"
#include "preview.h"
#include "scan-question.h"

/* Pixels times views of a pass. A processor, whose vectors take rows of which there is one, does so
   many in about a second (docs/benchmarks.md). */
#define PASS_UPDATES 16e6
#define LEAST_COLUMNS 64
#define MOST_FACTOR 8u

/* One request on its way; of the job's threads. */
typedef struct {
  const TdScanQuestion *request;
  TdLatestRun *run;
  TdJob *job;
  const TdPlanFacts *facts;
  guint factor, pass;
} Work;

static void
iterated_result_free (gpointer user)
{
  TdIteratedResult *result = user;

  td_image_unref (result->image);
  g_free (result->units);
  g_free (result->device);
  g_free (result);
}

static guint
iterated_factor (const TdScanFacts *facts)
{
  const double updates = (double) facts->n_columns * facts->n_columns * facts->n_views;
  guint factor = 1;

  while (factor < MOST_FACTOR && updates / pow (factor, 3) > PASS_UPDATES
         && facts->n_columns / (2 * factor) >= LEAST_COLUMNS)
    factor *= 2;
  return factor;
}

/* ── Worker thread ── */

/* Takes @pixels. */
static TdIteratedResult *
iterated_result_new (Work *work, float *pixels)
{
  const TdPlanFacts *facts = work->facts;
  const double side
      = td_preview_coarse_side (td_scan_facts (work->request->scan), facts, work->factor);
  TdIteratedResult *result = g_new0 (TdIteratedResult, 1);
  TdJobProgress progress;

  td_job_progress (work->job, &progress);
  td_preview_coarse_values (facts, work->factor, pixels);
  result->image = td_image_new_coarse_take (pixels, facts->nx, facts->ny, side, side);
  result->pass = work->pass;
  result->n_passes = progress.n_passes;
  result->factor = work->factor;
  result->residual = progress.residual;
  result->seconds = progress.elapsed_s;
  result->units = g_strdup (facts->units);
  result->device = g_strjoinv (", ", facts->devices);
  return result;
}

static void
iterated_on_estimate (guint slice, guint pass, const float *pixels, gpointer user)
{
  Work *work = user;

  work->pass = pass;
  const gsize n = (gsize) work->facts->nx * work->facts->ny;
  float *copy = g_try_new (float, n);
  if (!copy) /* the last one is asked for already */
    return;
  memcpy (copy, pixels, n * sizeof *copy);
  td_latest_post (work->run, iterated_result_new (work, copy), TRUE);
}

static gpointer
iterated_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const TdScanQuestion *request = user;
  const TdScanFacts *facts = td_scan_facts (request->scan);
  const guint factor = iterated_factor (facts);
  TdRecipe recipe;

  g_autoptr (TdScan) masked
      = td_engine_masked (request->engine, request->scan, td_recipe_mask (&request->recipe), error);
  g_autoptr (TdScan) alone = masked ? td_preview_coarse_scan (
                                 masked, &request->recipe, request->row, factor, cancellable, error)
                                    : NULL;
  if (!alone)
    return NULL;
  td_preview_coarse_recipe (&request->recipe, facts, request->row, factor, &recipe);
  g_autoptr (TdPlan) plan = td_plan_new (request->engine, alone, &recipe, NULL, cancellable, error);
  if (!plan)
    return NULL;
  g_autoptr (TdJob) job = td_job_new (plan);
  Work work = { request, run, job, td_plan_facts (plan), factor, 0 };
  g_autofree float *pixels
      = td_host_malloc ((guint64) work.facts->nx * work.facts->ny * sizeof *pixels, error);
  if (!pixels)
    return NULL;
  td_job_set_estimate_sink (job, iterated_on_estimate, &work);
  td_job_set_slice (job, pixels);
  if (!td_job_run (job, cancellable, error))
    return NULL;
  g_autoptr (GArray) passes = td_job_passes_so_far (job);
  work.pass = passes->len;
  return iterated_result_new (&work, g_steal_pointer (&pixels));
}

/* ── Main thread ── */

TdLatest *
td_iterated_new (TdLatestShow show, gpointer user)
{
  return td_latest_new (iterated_work, td_scan_question_free, show, iterated_result_free, user);
}

const char *
td_iterated_why_not (const TdScan *scan, const TdRecipe *recipe)
{
  if (td_scan_facts (scan)->geometry.beam != TD_BEAM_PARALLEL)
    return _ ("Filtered slice: only the job iterates. For a cone beam, one slice takes as long as "
              "the volume");
  if (!td_preview_is_whole (recipe) || recipe->view_first != 0 || recipe->view_end != 0)
    return _ (
        "Filtered slice: only the job iterates. The preview iterates on the whole row, and the "
        "recipe takes a part of the scan or bins it");
  if (td_recipe_start_volume (recipe))
    return _ ("Filtered slice: only the job iterates. It begins with a volume");
  return NULL;
}

void
td_iterated_request (TdLatest *latest, TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                     guint row)
{
  TdScanQuestion *request = td_scan_question_new (engine, scan, recipe);

  request->row = row;
  td_latest_request (latest, request);
}
