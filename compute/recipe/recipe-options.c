/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/parallel/backproject.h"
#include "recipe-option-values.h"

/* ── Names ── */

static const char *const method_names[]
    = { "auto", "fbp", "fdk", "fourier", "sirt", "fista-tv", "cgls", NULL };
static const char *const field_names[] = { "auto", "full", "half", NULL };
static const char *const share_names[] = { "auto", "volume", "projection", NULL };
static const char *const filter_place_names[] = { "auto", "cpu", "device", NULL };

const char *
td_method_name (TdMethodKind kind)
{
  return method_names[kind];
}

gboolean
td_method_iterates (TdMethodKind kind)
{
  return kind == TD_METHOD_SIRT || kind == TD_METHOD_FISTA_TV || kind == TD_METHOD_CGLS;
}

const char *
td_field_of_view_name (TdFieldOfView field)
{
  return field_names[field];
}

const char *
td_share_name (TdShareKind kind)
{
  return share_names[kind];
}

const char *
td_filter_place_name (TdFilterPlace place)
{
  return filter_place_names[place];
}

/* ── Options ── */

static gboolean
set_prepare (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  g_auto (GStrv) steps = g_strsplit (value, ",", -1);

  for (guint i = 0; steps[i]; i++)
    if (!td_option_step (recipe, steps[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
set_centre (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  recipe->centre_auto = strcmp (value, "auto") == 0;
  if (recipe->centre_auto)
    return TRUE;
  if (!td_option_number (option, value, -1e6, 1e6, &recipe->centre_px, NULL))
    return td_option_invalid (error, option, value,
                              "a column (the first column's centre is 0) nor \"auto\"");
  return TRUE;
}

static gboolean
set_tilt (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_number (option, value, -45, 45, &recipe->tilt_deg, error);
}

static gboolean
set_filter (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (td_filter_parse (value, &recipe->filter.kind))
    return TRUE;
  g_autofree char *list = g_strjoinv (", ", (char **) td_filter_names ());
  g_autofree char *expected = g_strconcat ("one of ", list, NULL);
  return td_option_invalid (error, option, value, expected);
}

static gboolean
set_cutoff (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (!td_option_number (option, value, 0, 1, &recipe->filter.cutoff, NULL)
      || recipe->filter.cutoff <= 0)
    return td_option_invalid (error, option, value,
                              "a part of the Nyquist frequency, above 0 and at most 1");
  return TRUE;
}

static gboolean
set_order (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  double order;

  if (!td_option_number (option, value, 1, 64, &order, error))
    return FALSE;
  recipe->filter.order = (guint) order;
  return order == floor (order) || td_option_invalid (error, option, value, "a whole number");
}

static gboolean
set_extend_edges (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_switch (option, value, &recipe->filter.extend_edges, error);
}

/* The same choice by its kinds' names. */
static gboolean
set_padding (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  static const char *const names[] = { "zero", "edge", NULL };

  return td_option_name (option, value, names, &recipe->filter.extend_edges, error);
}

static gboolean
set_method (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, method_names, &index, error))
    return FALSE;
  recipe->method = index;
  return TRUE;
}

static gboolean
set_kernel (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  const TdConeFamily *const *cone = td_cone_families ();

  while (*cone && strcmp ((*cone)->name, value) != 0)
    cone++;
  if (strcmp (value, "auto") != 0 && !*cone && !td_backproject_family (value, error))
    return FALSE;
  g_strlcpy (recipe->family, value, sizeof recipe->family);
  return TRUE;
}

static gboolean
set_interpolation (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, td_interpolation_names (), &index, error))
    return FALSE;
  recipe->interpolation = index;
  return TRUE;
}

static gboolean
set_precision (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, td_precision_names (), &index, error))
    return FALSE;
  recipe->precision = index;
  return TRUE;
}

static gboolean
set_rows (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 range[2];

  if (strcmp (value, "all") == 0)
    range[0] = range[1] = 0;
  else if (td_option_integers (value, ":", range, 1))
    range[1] = range[0] + 1;
  else if (!td_option_integers (value, ":", range, 2) || range[0] >= range[1])
    return td_option_invalid (error, option, value,
                              "FIRST:END with FIRST below END (END itself is not included), ROW or "
                              "\"all\"");
  if (range[0] < 0)
    return td_option_invalid (error, option, value, "a range of rows: rows are counted from 0");
  recipe->row_first = (guint) range[0];
  recipe->row_end = (guint) range[1];
  return TRUE;
}

static gboolean
set_crop (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (strcmp (value, "all") != 0
      && (!td_option_integers (value, ",", box, 4) || box[0] < 0 || box[1] < 0 || box[2] < 1
          || box[3] < 1))
    return td_option_invalid (error, option, value,
                              "COLUMN,ROW,COLUMNS,ROWS of the detector, nor \"all\"");
  for (guint i = 0; i < 4; i++)
    recipe->crop[i] = (guint) box[i];
  return TRUE;
}

static gboolean
set_bin (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 bin[2];

  if (td_option_integers (value, ",", bin, 1))
    bin[1] = bin[0];
  else if (!td_option_integers (value, ",", bin, 2))
    bin[0] = bin[1] = 0;
  if (bin[0] < 1 || bin[1] < 1 || bin[0] > TD_RECIPE_MAX_BIN || bin[1] > TD_RECIPE_MAX_BIN)
    return td_option_invalid (error, option, value,
                              "N or COLUMNS,ROWS, whole numbers from 1 to 64");
  recipe->bin[0] = (guint) bin[0];
  recipe->bin[1] = (guint) bin[1];
  return TRUE;
}

static gboolean
set_bin_views (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 bin;

  if (!td_option_integers (value, ",", &bin, 1) || bin < 1 || bin > TD_RECIPE_MAX_BIN)
    return td_option_invalid (error, option, value, "a whole number from 1 to 64");
  recipe->bin_views = (guint) bin;
  return TRUE;
}

static gboolean
set_region (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (strcmp (value, "all") != 0
      && (!td_option_integers (value, ",", box, 4) || box[2] < 1 || box[3] < 1))
    return td_option_invalid (error, option, value,
                              "X,Y,WIDTH,HEIGHT in pixels of the slice, nor \"all\"");
  for (guint i = 0; i < 4; i++)
    recipe->region[i] = (gint) box[i];
  return TRUE;
}

static gboolean
set_angle_offset (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_number (option, value, -3600, 3600, &recipe->angle_offset_deg, error);
}

static gboolean
set_reverse_rotation (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_option_switch (option, value, &recipe->reverse_rotation, error);
}

static gboolean
set_field_of_view (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, field_names, &index, error))
    return FALSE;
  recipe->field_of_view = index;
  return TRUE;
}

static gboolean
set_device (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (!*value || strlen (value) >= sizeof recipe->devices)
    return td_option_invalid (error, option, value,
                              "a list of devices such as host or cuda:0,opencl:1 (tomodesk-cli "
                              "devices)");
  g_strlcpy (recipe->devices, value, sizeof recipe->devices);
  return TRUE;
}

static gboolean
set_memory_limit (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_parse_size (value,
                        strcmp (option, "memory-limit") ? &recipe->device_memory_limit_bytes
                                                        : &recipe->memory_limit_bytes,
                        error);
}

static gboolean
set_share (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, share_names, &index, error))
    return FALSE;
  recipe->share = index;
  return TRUE;
}

static gboolean
set_filter_on (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!td_option_name (option, value, filter_place_names, &index, error))
    return FALSE;
  recipe->filter_on = index;
  return TRUE;
}

static gboolean
set_format (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_volume_format_parse (value, &recipe->output_format)
         || td_option_invalid (error, option, value, "one of tiff, bigtiff, hdf5");
}

static gboolean
set_bits (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  static const char *const names[] = { "8", "16", "32", NULL };
  int index = 0;

  if (!td_option_name (option, value, names, &index, error))
    return FALSE;
  recipe->output_bits = 8u << index;
  return TRUE;
}

static gboolean
set_range (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  g_auto (GStrv) words = g_strsplit (value, ":", 2);

  recipe->output_range_auto = strcmp (value, "auto") == 0;
  if (recipe->output_range_auto)
    return TRUE;
  if (g_strv_length (words) != 2
      || !td_option_number (option, words[0], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_low, NULL)
      || !td_option_number (option, words[1], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_high, NULL)
      || recipe->output_low >= recipe->output_high)
    return td_option_invalid (error, option, value, "LOW:HIGH with LOW below HIGH, nor \"auto\"");
  return TRUE;
}

static const TdRecipeOption options[] = {
  { "prepare", "STEPS", "Preparation: STEP[=VALUE][:NAME=VALUE…], no-STEP, none; comma-separated",
    set_prepare },
  { "centre", "PX|auto", "Column of the rotation axis; the first column's centre is 0",
    set_centre },
  { "tilt", "DEG", "Tilt of the axis in the detector plane", set_tilt },
  { "filter", "NAME", "none, ram-lak, shepp-logan, cosine, hamming, hann, parzen or butterworth",
    set_filter },
  { "cutoff", "F", "Width of the filter's window, of the Nyquist frequency (1)", set_cutoff },
  { "order", "N", "Order of the Butterworth filter (4)", set_order },
  { "padding", "NAME",
    "What stands beside each row: zero, or edge (its edge values) for samples wider than the "
    "detector",
    set_padding },
  { "extend-edges", NULL, "The same as --padding edge", set_extend_edges },
  { "method", "NAME", "auto, fbp, fdk, fourier (fast) or, iterating, sirt, fista-tv or cgls",
    set_method },
  { "iterations", "N", "Iterative methods: passes over all views (20)", td_option_set_iterations },
  { "subsets", "N", "sirt, fista-tv: parts that the views are taken in, or auto; 1: all at once",
    td_option_set_subsets },
  { "relaxation", "F", "sirt: factor of each correction, below 2 (1)", td_option_set_relaxation },
  { "non-negative", "true|false", "sirt, fista-tv: values below 0 become 0 (true)",
    td_option_set_non_negative },
  { "tv", "F", "fista-tv: strength of the total variation, of the material's value a pass (0.003)",
    td_option_set_tv },
  { "stop-at", "F", "Iterative methods: end at this relative residual, the noise's (0: never)",
    td_option_set_stop_at },
  { "tolerance", "F",
    "Iterative methods: end when a pass changes the residual by less than this part of it "
    "(0: never)",
    td_option_set_tolerance },
  { "start", "auto|zero|fdk|FILE",
    "Iterative methods: begin with nothing, with what fdk or fbp makes, or go on from a volume",
    td_option_set_start },
  { "kernel", "NAME",
    "Back-projection: auto, standard, texture, alu, hybrid, oversampling or host; cone beam: auto, "
    "turned, texture, arithmetic, standard or host",
    set_kernel },
  { "interpolation", "NAME", "nearest or linear", set_interpolation },
  { "precision", "NAME", "single, half or half-run", set_precision },
  { "crop", "X,Y,W,H", "Only these columns and rows of the detector: the first ones, and how many",
    set_crop },
  { "bin", "N|C,R", "Average N × N detector pixels to one, or C columns and R rows", set_bin },
  { "bin-views", "N", "Average N views to one", set_bin_views },
  { "rows", "A:B", "Detector rows A to B - 1 only", set_rows },
  { "region", "X,Y,W,H", "This part of every slice only, in pixels from the top left", set_region },
  { "angle-offset", "DEG", "Turn the slices", set_angle_offset },
  { "reverse-rotation", NULL, "The stage turned the other way", set_reverse_rotation },
  { "field-of-view", "NAME",
    "auto, full, or half: an axis near one edge, both sides of a full turn put together",
    set_field_of_view },
  { "device", "ID[,ID…]", "auto, host, opencl:0, cuda:0, … (tomodesk-cli devices lists them)",
    set_device },
  { "memory-limit", "SIZE", "Memory to use on the host and on each device, as in 4G",
    set_memory_limit },
  { "device-memory-limit", "SIZE", "Memory to use on each device, whatever the host has",
    set_memory_limit },
  { "share", "NAME",
    "Cone beam, several devices: auto, volume (each its slabs) or projection (each its views)",
    set_share },
  { "filter-on", "NAME", "Cone beam: filter the projections on the cpu, the device or auto",
    set_filter_on },
  { "format", "NAME", "tiff (a folder, one file a slice), bigtiff or hdf5", set_format },
  { "bits", "N", "32 (float), 16 or 8", set_bits },
  { "range", "LOW:HIGH", "16 and 8 bits: values of 0 and of the largest sample; or auto",
    set_range },
  { NULL },
};

const TdRecipeOption *
td_recipe_options (void)
{
  return options;
}

gboolean
td_recipe_set (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  TdRecipe edited = *recipe;

  for (guint i = 0; options[i].name; i++)
    if (strcmp (options[i].name, option) == 0) {
      if (!options[i].set (&edited, option, value, error))
        return FALSE;
      *recipe = edited;
      return TRUE;
    }
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "There is no recipe option \"--%s\"", option);
  return FALSE;
}
