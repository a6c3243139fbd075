/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"
#include "job-private.h"

/* Part of the samples left out at either end, against single hot pixels, and the margin added then.
 */
#define TAIL 0.0002
#define MARGIN 0.1

typedef struct {
  float *slice;
  gsize n;
} Middle;

static void
take_slice (guint first, guint count, const float *slices, gpointer user)
{
  Middle *middle = user;

  middle->slice = g_memdup2 (slices, middle->n * sizeof *slices);
}

static void
range_of (float *values, gsize n, double *low, double *high)
{
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      values[finite++] = values[i];
  *low = 0;
  *high = 1;
  if (finite == 0)
    return;
  qsort (values, finite, sizeof *values, td_compare_floats);
  gsize tail = (gsize) (TAIL * finite);
  double first = values[tail], last = values[finite - 1 - tail];
  double margin = last > first ? MARGIN * (last - first) : 0.5;
  *low = first - margin;
  *high = last + margin;
}

gboolean
td_job_output_range (TdJob *job, double *low, double *high, GError **error)
{
  TdPlan *plan = job->plan;
  TdRecipe recipe = plan->recipe;
  Middle middle = { .n = (gsize) plan->facts.nx * plan->facts.ny };

  *low = recipe.output_low;
  *high = recipe.output_high;
  if (!plan->output || recipe.output_bits == 32 || !recipe.output_range_auto)
    return TRUE;

  recipe.row_first += (recipe.row_end - recipe.row_first) / 2;
  recipe.row_end = recipe.row_first + 1;
  /* Iterations would take as long for one slice as for all; what filtering makes of it is near
   * enough. */
  if (plan->method->by_name)
    recipe.method = TD_METHOD_AUTO;
  g_autoptr (TdPlan) preview
      = td_plan_new (plan->engine, plan->measured, &recipe, NULL, job->cancellable, error);
  if (!preview)
    return FALSE;
  g_autoptr (TdJob) one = td_job_new (preview);
  td_job_set_sink (one, take_slice, &middle);
  gboolean ok = td_job_run (one, job->cancellable, error);
  if (ok)
    range_of (middle.slice, middle.n, low, high);
  g_free (middle.slice);
  if (!ok)
    return FALSE;
  td_job_note (job, "The output's range, %.4g to %.4g, was taken from slice %u.", *low, *high,
               td_plan_facts (preview)->first_slice);
  return TRUE;
}
