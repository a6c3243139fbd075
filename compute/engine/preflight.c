/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preflight.h"

#include <math.h>

#include "dataset/message.h"

static void
preflight_free (gpointer data)
{
  TdPreflight *row = data;

  g_free (row->id);
  g_free (row->name);
  td_message_unref (row->problem);
  g_free (row);
}

static TdPreflight *
preflight_device (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
                  const TdDeviceEntry *entry, GCancellable *cancellable)
{
  TdPreflight *row = g_new0 (TdPreflight, 1);
  TdRecipe alone = *recipe;
  g_autoptr (GError) error = NULL;

  row->id = g_strdup (entry->id);
  row->name = g_strdup (entry->name);
  g_strlcpy (alone.devices, entry->id, sizeof alone.devices);
  if (alone.centre_auto)
    td_recipe_state_axis (&alone, NAN, alone.tilt_deg);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &alone, output, cancellable, &error);
  if (!plan) {
    row->problem = td_error_message (error);
    return row;
  }
  const TdPlanFacts *facts = td_plan_facts (plan);
  row->estimate_s = facts->estimate_s;
  row->host_bytes = facts->host_bytes;
  row->device_bytes = facts->device_bytes;
  td_plan_times (plan, &row->times);
  return row;
}

GPtrArray *
td_preflight_devices (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
                      GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (preflight_free);

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return NULL;
    if (entry->available)
      g_ptr_array_add (rows, preflight_device (engine, scan, recipe, output, entry, cancellable));
  }
  /* A plan that was cancelled is no device's problem. */
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  return g_steal_pointer (&rows);
}
