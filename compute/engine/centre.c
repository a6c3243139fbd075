/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "centre.h"

#include "compute/device/device.h"
#include "engine-private.h"
#include "found-axes.h"

static void
add_number (GString *key, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (key, " %s", g_ascii_dtostr (text, sizeof text, value));
}

/* What decides the result: the steps in use, and the options. */
static char *
make_key (const TdRecipe *recipe, const TdAxisOptions *options)
{
  GString *key = g_string_new (NULL);

  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStep *step = &recipe->steps[i];
    if (!step->enabled)
      continue;
    g_string_append (key, step->name);
    for (guint v = 0; v < TD_STEP_MAX_PARAMETERS; v++)
      add_number (key, step->values[v]);
    g_string_append_c (key, ';');
  }
  if (options) {
    g_string_append_printf (key, "%u %u %u %u", options->row_first, options->row_end,
                            options->n_rows, options->methods);
    add_number (key, options->search_first_px);
    add_number (key, options->search_last_px);
  }
  return g_string_free (key, FALSE);
}

/* Once more if memory is short: other jobs' idle working sets go. */
static TdAxisResult *
search_on (TdEngine *engine, TdDevice *device, TdScan *scan, const TdRecipe *recipe,
           const TdAxisOptions *options, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) problem = NULL;

  g_autoptr (TdDevice) own = td_engine_account (recipe, device);
  const TdRowSource source = { own, scan, NULL, recipe->steps, recipe->n_steps };
  TdAxisResult *result = td_axis_find (&source, options, cancellable, &problem);
  if (td_device_reaction (problem) == TD_REACTION_RETRY_SMALLER) {
    td_engine_drop_idle (engine);
    return td_axis_find (&source, options, cancellable, error);
  }
  if (problem)
    g_propagate_error (error, g_steal_pointer (&problem));
  return result;
}

/* On the first device that can; at the end there is always the host. */
static TdAxisResult *
centre_search (TdEngine *engine, GPtrArray *devices, TdScan *scan, const TdRecipe *recipe,
               const TdAxisOptions *options, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) host = td_engine_devices (engine, "host", error);

  if (!host)
    return NULL;
  for (guint i = 0; i < devices->len; i++) {
    g_autoptr (GError) problem = NULL;
    TdDevice *device = devices->pdata[i];
    TdAxisResult *result = search_on (engine, device, scan, recipe, options, cancellable, &problem);
    if (result)
      return result;
    if (!td_device_others_can (problem) || device == host->pdata[0]) {
      g_propagate_error (error, g_steal_pointer (&problem));
      return NULL;
    }
    g_debug ("The axis is searched on another device: %s", problem->message);
  }
  return search_on (engine, host->pdata[0], scan, recipe, options, cancellable, error);
}

TdAxisResult *
td_engine_find_axis (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                     const TdAxisOptions *options, GCancellable *cancellable, GError **error)
{
  static const TdAxisOptions preset = { 0 };
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, recipe->devices, error);
  g_autofree char *key = make_key (recipe, options ? options : &preset);
  TdFoundAxes *axes = td_engine_axes (engine);
  GError *problem = NULL;

  if (!devices)
    return NULL;
  g_autoptr (TdScan) seen = td_engine_measured (engine, scan, recipe, error);
  if (!seen || !td_scan_complete (seen, error))
    return NULL;
  TdAxisResult *result = td_found_axes_get (axes, seen, key, cancellable, &problem);
  if (!result && !problem) {
    result = centre_search (engine, devices, seen, recipe, options, cancellable, &problem);
    td_found_axes_put (axes, seen, key, result);
  }
  if (problem)
    g_propagate_error (error, problem);
  return result;
}
