/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Chooses what a recipe leaves to "auto" of method, kernels, interpolation and precision. The error
 * bound is within the recipe's accuracy, and the slices cost least (DESIGN.md, Accuracy). What it
 * names is done as it says.
 */
#include <string.h>

#include "compute/engine/engine-private.h"
#include "compute/parallel/families.h"
#include "dataset/error.h"
#include "fbp.h"

/* What arithmetic in half storage costs on a graphics card, beside single precision. */
#define HALF_COST 0.6

static const struct {
  const TdMethod *method;
  TdPrecision precision;
} fbp_ways[] = {
  { &td_method_fourier, TD_PRECISION_SINGLE }, { &td_method_fourier, TD_PRECISION_HALF },
  { &td_method_fbp, TD_PRECISION_SINGLE },     { &td_method_fbp, TD_PRECISION_HALF },
  { &td_method_fbp, TD_PRECISION_HALF_RUN },
};
G_STATIC_ASSERT (G_N_ELEMENTS (fbp_ways) == TD_PLAN_MOST_WAYS);

static void
fbp_way_free (gpointer data)
{
  TdFbpWay *way = data;

  g_free (way->families);
  g_free (way);
}

/* Linear interpolation is one formula and band-limited interpolation another; kernels by name are
   those of back-projection. */
static gboolean
fbp_way_is_open (const TdRecipe *asked, const TdMethod *method, TdPrecision precision)
{
  const gboolean named = asked->method == method->kind;

  if (asked->method != TD_METHOD_AUTO && !named)
    return FALSE;
  if (asked->precision != TD_PRECISION_AUTO && asked->precision != precision)
    return FALSE;
  return named || !method->family
         || (asked->interpolation == TD_INTERPOLATION_AUTO && strcmp (asked->family, "auto") == 0);
}

/* For @device; NULL with @error. */
static const TdBackprojectFamily *
fbp_way_family (const TdPlan *plan, const TdMethod *method, const TdBackprojectTask *task,
                TdDevice *device, GError **error)
{
  const TdFbp *fbp = plan->extra;
  const guint slices = fbp->tilt != 0 ? 1 : MIN (plan->facts.n_slices, TD_FBP_GRAIN);

  if (!method->family)
    return td_backproject_choose (plan->recipe.family, task, device, slices, error);
  const char *reason = method->family->unsupported (method->family, task, td_device_info (device));
  if (!reason)
    return method->family;
  return td_set_error_null (error, TD_ERROR_INVALID,
                            "The Fourier method cannot reconstruct this: %p; take {method=fbp}",
                            td_message_unpack (reason));
}

/* On all devices. @most_error: of kernels left to "auto"; 0: any. */
static TdFbpWay *
fbp_way_new (const TdPlan *plan, guint index, double most_error, GError **error)
{
  const TdMethod *method = fbp_ways[index].method;
  const guint n = plan->devices->len;
  gboolean graphics = FALSE, single_only = TRUE;
  TdFbpWay *way = g_new0 (TdFbpWay, 1);
  TdBackprojectTask task;

  way->method = method;
  way->precision = fbp_ways[index].precision;
  way->families = g_new0 (const TdBackprojectFamily *, n);
  td_fbp_task (plan, (td_scan_facts (plan->scan)->n_rows - 1) / 2.0, &task);
  task.precision = way->precision;
  task.most_error = most_error;
  for (guint i = 0; i < n; i++) {
    TdDevice *device = plan->devices->pdata[i];
    way->families[i] = fbp_way_family (plan, method, &task, device, error);
    if (!way->families[i]) {
      fbp_way_free (way);
      return NULL;
    }
    const double bound
        = way->families[i]->error_bound (way->families[i], &task, td_device_info (device));
    way->error_bound = MAX (way->error_bound, bound);
    graphics = graphics || td_device_info (device)->kind == TD_DEVICE_GPU;
    single_only = single_only && way->families[i]->single_only;
  }
  way->cost = method->family ? td_fourier_cost (&task)
                             : (double) task.n_views * task.nx * task.ny
                                   * (graphics && !single_only && way->precision ? HALF_COST : 1);
  way->exact_enough = way->error_bound <= td_accuracy_limit (plan->asked.accuracy);
  /* Kernels that compute in single precision anyway are listed as such, once. */
  if (single_only && way->precision && plan->asked.precision == TD_PRECISION_AUTO)
    g_clear_pointer (&way, fbp_way_free);
  return way;
}

/* Exact enough first, of these the cheapest; of the others the most exact. */
static gint
fbp_way_compare (gconstpointer a, gconstpointer b)
{
  const TdFbpWay *x = *(TdFbpWay *const *) a, *y = *(TdFbpWay *const *) b;
  const double p = x->exact_enough ? x->cost : x->error_bound;
  const double q = y->exact_enough ? y->cost : y->error_bound;

  if (x->exact_enough != y->exact_enough)
    return x->exact_enough ? -1 : 1;
  return p < q ? -1 : p > q;
}

gboolean
td_fbp_list_ways (TdPlan *plan, GError **error)
{
  TdFbp *fbp = plan->extra;
  GError *problem = NULL;

  fbp->ways = g_ptr_array_new_with_free_func (fbp_way_free);
  for (guint i = 0; i < G_N_ELEMENTS (fbp_ways); i++) {
    if (!fbp_way_is_open (&plan->asked, fbp_ways[i].method, fbp_ways[i].precision))
      continue;
    TdFbpWay *way = fbp_way_new (plan, i, td_accuracy_limit (plan->asked.accuracy), NULL);
    if (!way) {
      g_autoptr (GError) why = NULL;
      way = fbp_way_new (plan, i, 0, &why);
      if (why && !problem)
        problem = g_steal_pointer (&why);
    }
    if (way)
      g_ptr_array_add (fbp->ways, way);
  }
  if (fbp->ways->len == 0 && !problem)
    td_set_error (&problem, TD_ERROR_INVALID,
                  "The method \"%s\" does not compute in the precision \"%s\"; choose another one "
                  "({method}, {precision})",
                  td_method_names[plan->asked.method], td_precision_names[plan->asked.precision]);
  if (fbp->ways->len == 0) {
    g_propagate_error (error, problem);
    return FALSE;
  }
  g_clear_error (&problem);
  g_ptr_array_sort (fbp->ways, fbp_way_compare);
  return TRUE;
}

void
td_fbp_take_way (TdPlan *plan, const TdFbpWay *way)
{
  TdFbp *fbp = plan->extra;

  fbp->families = way->families;
  plan->method = way->method;
  plan->recipe.method = way->method->kind;
  plan->recipe.precision = way->precision;
  plan->facts.method = way->method->name;
  plan->facts.family = way->families[0]->name;
  plan->facts.precision = td_fbp_precision (plan, way->families[0]);
}

/* Updates a second of all devices together; 0: not known of one of them. */
static double
fbp_way_rate (TdPlan *plan, const TdFbpWay *way)
{
  double rate = 0;

  for (guint i = 0; i < plan->devices->len; i++) {
    g_autofree char *key = td_fbp_rate_key (plan->devices->pdata[i], way->families[i],
                                            plan->recipe.interpolation, way->precision);
    const double one = td_engine_rate (plan->engine, key, plan->facts.updates / plan->devices->len);
    rate = one > 0 && (i == 0 || rate > 0) ? rate + one : 0;
  }
  return rate;
}

static void
fbp_way_note (TdPlan *plan, const TdFbpWay *way)
{
  const TdRecipe *asked = &plan->asked;

  for (guint i = 0; i < plan->devices->len; i++)
    if (td_fbp_precision (plan, way->families[i]) != plan->recipe.precision)
      td_plan_note (plan,
                    "The kernel \"%s\" on %s computes in single precision: nothing here is faster "
                    "in the precision \"%s\", which was asked for.",
                    way->families[i]->name, td_device_info (plan->devices->pdata[i])->id,
                    td_precision_names[plan->recipe.precision]);
  if (way->method->family && strcmp (asked->family, "auto") != 0)
    td_plan_note (plan, "The Fourier method has kernels of its own: \"%s\" is not used.",
                  asked->family);
  if (!way->exact_enough)
    td_plan_note_inexact (plan, way->families[0]->name, way->error_bound);
}

void
td_fbp_describe_ways (TdPlan *plan, guint taken)
{
  const TdFbp *fbp = plan->extra;
  const TdFbpWay *first = fbp->ways->pdata[taken];
  TdPlanFacts *facts = &plan->facts;
  TdPlanTimes times;

  plan->updates_per_s = fbp_way_rate (plan, first);
  td_plan_times (plan, &times);
  for (guint i = 0; i < fbp->ways->len; i++) {
    const TdFbpWay *way = fbp->ways->pdata[i];
    /* The one that was taken goes to the front. */
    const guint place = i == taken ? 0 : i < taken ? i + 1 : i;
    facts->ways[place] = (TdPlanWay) {
      .method = way->method->name,
      .family = way->families[0]->name,
      .precision = way->families[0]->single_only ? TD_PRECISION_SINGLE : way->precision,
      .error_bound = way->error_bound,
      .cost = way->cost / first->cost,
      .estimate_s = td_plan_estimate (plan, &times, fbp_way_rate (plan, way), facts->n_slabs),
    };
  }
  facts->n_ways = fbp->ways->len;
  facts->estimate_s = facts->ways[0].estimate_s;
  fbp_way_note (plan, first);
}
