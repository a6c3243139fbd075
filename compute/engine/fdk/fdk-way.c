/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Chooses the kernels that a recipe leaves to "auto", and lists the ways that it leaves open, each
 * with its bound (DESIGN.md, Accuracy). It takes the cheapest of those within the recipe's
 * accuracy, and the most exact where none is. Texture units, which the usual kernels of graphics
 * cards use, are above "standard" and "draft".
 */
#include <string.h>

#include "fdk-self-test.h"
#include "fdk.h"

typedef struct {
  const TdConeFamily **families; /* one a device */
  TdPrecision precision;
  double bound, cost; /* the largest of the devices' */
} Way;

#define MOST_WAYS 3
G_STATIC_ASSERT (MOST_WAYS <= TD_PLAN_MOST_WAYS);

/* The first family on @device that does without a texture unit; NULL: there is none. */
static const TdConeFamily *
fdk_way_exact_family (const TdFdkInput *input, TdPrecision precision, TdDevice *device)
{
  for (const TdConeFamily *const *family = td_cone_families (); *family; family++)
    if (!td_cone_family_fetches (*family, td_device_info (device))
        && td_fdk_family_choose ((*family)->name, &input->task, precision, device, NULL))
      return *family;
  return NULL;
}

/* @exact: of the families that "auto" may take, those without textures. FALSE with @error: a device
   has none. */
static gboolean
fdk_way_fill (const TdPlan *plan, const TdFdkInput *input, gboolean exact, Way *way, GError **error)
{
  const guint n = plan->devices->len;

  way->families = g_new0 (const TdConeFamily *, n);
  way->bound = way->cost = 0;
  for (guint i = 0; i < n; i++) {
    TdDevice *device = plan->devices->pdata[i];
    const TdDeviceInfo *info = td_device_info (device);
    const TdConeFamily *family = exact ? fdk_way_exact_family (input, way->precision, device)
                                       : td_fdk_family_choose (plan->recipe.family, &input->task,
                                                               way->precision, device, error);
    if (!family) {
      g_clear_pointer (&way->families, g_free);
      return FALSE;
    }
    way->families[i] = family;
    way->bound
        = MAX (way->bound, td_cone_family_error_bound (family, &input->task, way->precision, info));
    way->cost = MAX (way->cost, td_cone_family_cost (family, way->precision, info));
  }
  return TRUE;
}

/* The usual way first, which must be there; returns how many. */
static guint
fdk_way_list (const TdPlan *plan, const TdFdkInput *input, Way ways[MOST_WAYS], GError **error)
{
  const gboolean any_kernel = g_str_equal (plan->recipe.family, "auto");
  const gsize bytes = plan->devices->len * sizeof *ways->families;
  guint n = 1;

  ways[0].precision = plan->recipe.precision;
  if (!fdk_way_fill (plan, input, FALSE, &ways[0], error))
    return 0;
  ways[n].precision = plan->recipe.precision;
  if (any_kernel && fdk_way_fill (plan, input, TRUE, &ways[n], NULL)) {
    if (memcmp (ways[n].families, ways[0].families, bytes) != 0)
      n++;
    else
      g_clear_pointer (&ways[n].families, g_free);
  }
  ways[n].precision = TD_PRECISION_HALF;
  if (plan->asked.precision == TD_PRECISION_AUTO
      && fdk_way_fill (plan, input, FALSE, &ways[n], NULL))
    n++;
  return n;
}

/* Within the accuracy first, of these the cheapest; of the others the most exact. */
static gboolean
fdk_way_is_better (const TdPlan *plan, const Way *a, const Way *b)
{
  const double limit = td_accuracy_limit (plan->recipe.accuracy);
  const gboolean good = a->bound <= limit;

  return good != (b->bound <= limit) ? good : good ? a->cost < b->cost : a->bound < b->bound;
}

/* Brings to the front which of them is taken; all but half storage, which is taken by name only. */
static void
fdk_way_choose (const TdPlan *plan, Way *ways, guint n)
{
  const Way usual = ways[0];
  guint best = 0;

  for (guint i = 1; i < n; i++)
    if (ways[i].precision == ways[0].precision && fdk_way_is_better (plan, &ways[i], &ways[best]))
      best = i;
  ways[0] = ways[best];
  ways[best] = usual;
}

/* @usual: what would be taken whatever the accuracy. */
static void
fdk_way_note (TdPlan *plan, const Way *taken, const Way *usual)
{
  const TdAccuracy accuracy = plan->recipe.accuracy;

  if (taken->bound > td_accuracy_limit (accuracy))
    td_plan_note_inexact (plan, taken->families[0]->name, taken->bound);
  else if (usual->families[0] != taken->families[0])
    td_plan_note (plan,
                  "{accuracy=%s} takes the kernel \"%s\", exact to %.2g. {kernel=%s} interpolates "
                  "by a texture unit, exact to %.2g, for %.2g of the computing.",
                  td_accuracy_names[accuracy], taken->families[0]->name, taken->bound,
                  usual->families[0]->name, usual->bound, usual->cost / taken->cost);
}

gboolean
td_fdk_take_way (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme, GError **error)
{
  TdPlanFacts *facts = &plan->facts;
  Way ways[MOST_WAYS] = { 0 };
  const guint n = fdk_way_list (plan, input, ways, error);

  if (n == 0)
    return FALSE;
  const Way usual = ways[0];
  fdk_way_choose (plan, ways, n);
  for (guint i = 0; i < n; i++)
    facts->ways[i] = (TdPlanWay) {
      .method = plan->method->name,
      .family = ways[i].families[0]->name,
      .precision
      = ways[i].precision == TD_PRECISION_SINGLE ? TD_PRECISION_SINGLE : TD_PRECISION_HALF,
      .error_bound = ways[i].bound,
      .cost = ways[i].cost / ways[0].cost,
    };
  facts->n_ways = n;
  fdk_way_note (plan, &ways[0], &usual);
  scheme->families = g_steal_pointer (&ways[0].families);
  for (guint i = 0; i < n; i++)
    g_free (ways[i].families);
  return TRUE;
}
