/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "centre.h"

#include <string.h>

#include "centre-private.h"
#include "compute/device/device-reaction.h"
#include "engine-private.h"
#include "plan-private.h"

#define N_KEPT 16
/* How soon somebody who waits sees that he was cancelled. */
#define LOOK_US (50 * 1000)

typedef struct {
  TdScan *scan;
  char *key;
  TdAxisResult *result;
} Found;

struct TdCentres {
  GMutex lock;
  GCond done;
  gboolean searching;
  GQueue found; /* Found, newest first */
};

/* ── What was found ── */

static void
found_free (gpointer data)
{
  Found *found = data;

  td_scan_unref (found->scan);
  g_free (found->key);
  td_axis_result_free (found->result);
  g_free (found);
}

TdCentres *
td_centres_new (void)
{
  TdCentres *centres = g_new0 (TdCentres, 1);

  g_mutex_init (&centres->lock);
  g_cond_init (&centres->done);
  return centres;
}

void
td_centres_clear (TdCentres *centres)
{
  g_mutex_lock (&centres->lock);
  g_queue_clear_full (&centres->found, found_free);
  g_mutex_unlock (&centres->lock);
}

void
td_centres_free (TdCentres *centres)
{
  td_centres_clear (centres);
  g_mutex_clear (&centres->lock);
  g_cond_clear (&centres->done);
  g_free (centres);
}

static TdAxisResult *
look_up (TdCentres *centres, TdScan *scan, const char *key)
{
  for (GList *link = centres->found.head; link; link = link->next) {
    const Found *found = link->data;
    if (found->scan == scan && strcmp (found->key, key) == 0)
      return td_axis_result_copy (found->result);
  }
  return NULL;
}

/* What was found for @key. NULL without error: nothing yet, and the caller is the one to search: it
   must end with centres_put(). Waits while anybody else searches; NULL with @error: cancelled. */
static TdAxisResult *
centres_get (TdCentres *centres, TdScan *scan, const char *key, GCancellable *cancellable,
             GError **error)
{
  TdAxisResult *result = NULL;
  gboolean cancelled = FALSE;

  g_mutex_lock (&centres->lock);
  while (!(result = look_up (centres, scan, key)) && centres->searching && !cancelled) {
    g_cond_wait_until (&centres->done, &centres->lock, g_get_monotonic_time () + LOOK_US);
    cancelled = g_cancellable_set_error_if_cancelled (cancellable, error);
  }
  if (!result && !cancelled)
    centres->searching = TRUE;
  g_mutex_unlock (&centres->lock);
  return result;
}

/* @result: (nullable): the search failed. Copied. */
static void
centres_put (TdCentres *centres, TdScan *scan, const char *key, const TdAxisResult *result)
{
  g_mutex_lock (&centres->lock);
  if (result) {
    Found *found = g_new (Found, 1);
    *found = (Found) { td_scan_ref (scan), g_strdup (key), td_axis_result_copy (result) };
    g_queue_push_head (&centres->found, found);
    if (centres->found.length > N_KEPT)
      found_free (g_queue_pop_tail (&centres->found));
  }
  centres->searching = FALSE;
  g_cond_broadcast (&centres->done);
  g_mutex_unlock (&centres->lock);
}

double
td_stated_centre (const TdScanFacts *facts)
{
  TdRecipe preset;

  td_recipe_init (&preset);
  const TdMethod *method = td_method_choose (facts, &preset, NULL);
  return method ? td_method_stated_centre (method, facts) : facts->centre_px;
}

/* ── The search ── */

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

  g_autoptr (TdDevice) own = td_plan_account (recipe, device);
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
  TdCentres *centres = td_engine_centres (engine);
  GError *problem = NULL;

  if (!devices)
    return NULL;
  g_autoptr (TdScan) seen = td_engine_measured (engine, scan, recipe, error);
  if (!seen || !td_scan_complete (seen, error))
    return NULL;
  TdAxisResult *result = centres_get (centres, seen, key, cancellable, &problem);
  if (!result && !problem) {
    result = centre_search (engine, devices, seen, recipe, options, cancellable, &problem);
    centres_put (centres, seen, key, result);
  }
  if (problem)
    g_propagate_error (error, problem);
  return result;
}
