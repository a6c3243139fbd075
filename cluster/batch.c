/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "batch.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/engine/provenance.h"
#include "dataset/message.h"

/* ── Names ── */

static const char *
batch_ending (TdVolumeFormat format)
{
  return format == TD_VOLUME_BIGTIFF ? ".tif" : format == TD_VOLUME_HDF5 ? ".h5" : "";
}

static char *
batch_name (const char *scan)
{
  static const char *const endings[] = { ".nxs", ".nx",   ".h5",  ".hdf5", ".hdf", ".xtekct",
                                         ".log", ".rctd", ".tif", ".tiff", ".raw", ".json" };
  char *name = g_path_get_basename (scan);
  g_autofree char *lower = g_ascii_strdown (name, -1);

  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (lower, endings[i]) && strlen (lower) > strlen (endings[i])) {
      name[strlen (name) - strlen (endings[i])] = '\0';
      break;
    }
  return name;
}

static char *
batch_long_name (const char *scan)
{
  g_autofree char *folder = g_path_get_dirname (scan);
  g_autofree char *parent = g_path_get_basename (folder);
  g_autofree char *name = batch_name (scan);

  return g_strdup_printf ("%s-%s", parent, name);
}

char **
td_batch_outputs (const char *const *scans, const char *folder, TdVolumeFormat format,
                  GError **error)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) taken = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GStrvBuilder) outputs = g_strv_builder_new ();

  for (guint i = 0; scans[i]; i++) {
    char *name = batch_name (scans[i]);
    const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name)) + 1;
    g_hash_table_replace (counts, name, GUINT_TO_POINTER (n));
  }
  for (guint i = 0; scans[i]; i++) {
    g_autofree char *path = g_canonicalize_filename (scans[i], NULL);
    g_autofree char *name = batch_name (path);
    g_autofree char *chosen = GPOINTER_TO_UINT (g_hash_table_lookup (counts, name)) > 1
                                  ? batch_long_name (path)
                                  : g_strdup (name);
    g_autofree char *file = g_strconcat (chosen, batch_ending (format), NULL);
    g_autofree char *output = g_build_filename (folder, file, NULL);
    g_strv_builder_add (outputs, output);
  }
  g_auto (GStrv) all = g_strv_builder_end (outputs);
  for (guint i = 0; all[i]; i++)
    if (!g_hash_table_add (taken, all[i])) {
      td_set_error (error, TD_ERROR_INVALID,
                    "two of the scans would be written to “%s”; reconstruct them into two folders",
                    all[i]);
      return NULL;
    }
  return g_steal_pointer (&all);
}

/* ── What is there ── */

static gboolean
batch_is_same_scan (const TdProvenance *made, const TdScanFacts *facts)
{
  g_autofree char *one = g_canonicalize_filename (made->scan, NULL);
  g_autofree char *other = g_canonicalize_filename (facts->path, NULL);

  return g_str_equal (one, other);
}

/* A folder's own time says when a file came or went. */
static gboolean
batch_is_older (const char *path, const char *than)
{
  GStatBuf one, other;

  return g_stat (path, &one) == 0 && g_stat (than, &other) == 0 && one.st_mtime <= other.st_mtime;
}

/* What a plan would make of the recipe now is what the volume was made by. Devices and what is
   chosen for them may differ. */
static gboolean
batch_is_same_recipe (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                      const TdProvenance *made, GCancellable *cancellable)
{
  TdRecipe asked = *recipe;

  if (asked.centre_auto) {
    asked.centre_auto = FALSE;
    asked.centre_px = made->recipe.centre_px;
    asked.tilt_deg = made->recipe.tilt_deg;
  }
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &asked, NULL, cancellable, NULL);
  if (!plan)
    return FALSE;
  TdRecipe now = *td_plan_recipe (plan);
  g_strlcpy (now.devices, made->recipe.devices, sizeof now.devices);
  now.memory_limit_bytes = made->recipe.memory_limit_bytes;
  now.device_memory_limit_bytes = made->recipe.device_memory_limit_bytes;
  if (g_str_equal (recipe->family, "auto"))
    g_strlcpy (now.family, made->recipe.family, sizeof now.family);
  return td_recipe_equal (&now, &made->recipe);
}

TdBatchFound
td_batch_find (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
               GCancellable *cancellable)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  if (!g_file_test (output, G_FILE_TEST_EXISTS))
    return TD_BATCH_MISSING;
  g_autoptr (TdProvenance) made = td_provenance_read (output);
  return made && batch_is_same_scan (made, facts) && batch_is_older (facts->path, output)
                 && batch_is_same_recipe (engine, scan, recipe, made, cancellable)
             ? TD_BATCH_DONE
             : TD_BATCH_OTHER;
}

void
td_batch_recipe (const TdRecipe *recipe, const TdScanFacts *facts, TdRecipe *out)
{
  *out = *recipe;
  out->centre_auto = recipe->centre_auto
                     || (isnan (recipe->centre_px) && facts->geometry.beam == TD_BEAM_PARALLEL);
}
