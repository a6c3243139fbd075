/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"

/* ── Names ────────────────────────────────────────────────────────────────────────────────────── */

static const char *const method_names[] = { "auto", "fbp", "fdk", "fourier", NULL };
static const char *const field_names[] = { "auto", "full", "half", NULL };
static const char *const interpolation_names[] = { "nearest", "linear", NULL };
static const char *const precision_names[] = { "single", "half", "half-run", NULL };
static const char *const share_names[] = { "auto", "volume", "projection", NULL };
static const char *const filter_place_names[] = { "auto", "cpu", "device", NULL };

const char *
td_method_name (TdMethodKind kind)
{
  return method_names[kind];
}

const char *
td_field_of_view_name (TdFieldOfView field)
{
  return field_names[field];
}

const char *
td_interpolation_name (TdInterpolation kind)
{
  return interpolation_names[kind];
}

const char *
td_precision_name (TdPrecision kind)
{
  return precision_names[kind];
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

/* ── Values ───────────────────────────────────────────────────────────────────────────────────── */

static gboolean
invalid (GError **error, const char *option, const char *value, const char *expected)
{
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "--%s \"%s\" is not %s", option, value, expected);
  return FALSE;
}

static gboolean
parse_name (const char *option, const char *value, const char *const *names, int *index,
            GError **error)
{
  for (int i = 0; names[i]; i++)
    if (strcmp (names[i], value) == 0) {
      *index = i;
      return TRUE;
    }
  g_autofree char *list = g_strjoinv (", ", (char **) names);
  g_autofree char *expected = g_strconcat ("one of ", list, NULL);
  return invalid (error, option, value, expected);
}

static gboolean
parse_number (const char *option, const char *value, double low, double high, double *number,
              GError **error)
{
  char *end = NULL;
  double parsed = g_ascii_strtod (value, &end);

  if (end == value || *end || !isfinite (parsed))
    return invalid (error, option, value, "a number");
  if (parsed < low || parsed > high) {
    g_autofree char *expected = g_strdup_printf ("between %g and %g", low, high);
    return invalid (error, option, value, expected);
  }
  *number = parsed;
  return TRUE;
}

static gboolean
parse_switch (const char *option, const char *value, gboolean *on, GError **error)
{
  static const char *const names[] = { "false", "true", NULL };
  return parse_name (option, value, names, on, error);
}

/* Whole numbers separated by @separator; exactly @n of them. */
static gboolean
parse_integers (const char *value, const char *separator, gint64 *numbers, guint n)
{
  g_auto (GStrv) words = g_strsplit (value, separator, -1);

  if (g_strv_length (words) != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!g_ascii_string_to_signed (words[i], 10, G_MININT32, G_MAXINT32, &numbers[i], NULL))
      return FALSE;
  return TRUE;
}

gboolean
td_parse_size (const char *text, guint64 *bytes, GError **error)
{
  static const char units[] = "KMGTP";
  char *end = NULL;
  double number = g_ascii_strtod (text, &end);
  const char *unit = *end ? strchr (units, g_ascii_toupper (*end)) : NULL;

  if (end != text && unit) {
    number *= ldexp (1, 10 * (int) (unit - units + 1));
    end++;
    if (g_ascii_strcasecmp (end, "iB") == 0 || g_ascii_strcasecmp (end, "B") == 0)
      end += strlen (end);
  }
  if (end == text || *end || !(number >= 0) || number > 0x1p62) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                 "\"%s\" is not a size; write bytes, or a number with K, M, G or T as in 512M", text);
    return FALSE;
  }
  *bytes = (guint64) number;
  return TRUE;
}

/* ── Preparation steps: STEP[=VALUE][:NAME=VALUE…], no-STEP, none ─────────────────────────────── */

static gboolean
set_parameter (TdStep *step, const TdStepKind *kind, guint index, const char *value, GError **error)
{
  const TdStepParameter *parameter = &kind->parameters[index];
  g_autofree char *option = g_strdup_printf ("prepare %s:%s", kind->name, parameter->name);
  double number;
  int choice;

  if (parameter->choices) {
    if (!parse_name (option, value, parameter->choices, &choice, error))
      return FALSE;
    number = choice;
  } else {
    if (!parse_number (option, value, parameter->minimum, parameter->maximum, &number, error))
      return FALSE;
    if (parameter->digits == 0 && number != floor (number))
      return invalid (error, option, value, "a whole number");
  }
  step->values[index] = number;
  return TRUE;
}

static gboolean
set_named_parameter (TdStep *step, const TdStepKind *kind, const char *word, GError **error)
{
  g_auto (GStrv) pair = g_strsplit (word, "=", 2);

  for (guint i = 0; i < kind->n_parameters && pair[0] && pair[1]; i++)
    if (strcmp (kind->parameters[i].name, pair[0]) == 0)
      return set_parameter (step, kind, i, pair[1], error);

  GString *names = g_string_new (NULL);
  for (guint i = 0; i < kind->n_parameters; i++)
    g_string_append_printf (names, "%s%s", i ? ", " : "", kind->parameters[i].name);
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
               "--prepare %s: \"%s\" is not NAME=VALUE of one of its parameters (%s)", kind->name,
               word, names->len ? names->str : "it has none");
  g_string_free (names, TRUE);
  return FALSE;
}

static gboolean
set_step (TdRecipe *recipe, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ":", -1);
  g_auto (GStrv) head = g_strsplit (words[0] ? words[0] : "", "=", 2);
  const char *name = head[0] ? head[0] : "";

  if (strcmp (text, "none") == 0) {
    recipe->n_steps = 0;
    return TRUE;
  }
  if (g_str_has_prefix (text, "no-")) {
    if (!td_prepare_step (text + 3, error))
      return FALSE;
    TdStep *step = td_recipe_step (recipe, text + 3);
    if (step)
      step->enabled = FALSE;
    return TRUE;
  }

  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = kind ? td_recipe_add_step (recipe, name, error) : NULL;
  if (!step)
    return FALSE;
  if (head[1] && kind->n_parameters == 0) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "--prepare %s takes no value", name);
    return FALSE;
  }
  if (head[1] && !set_parameter (step, kind, 0, head[1], error))
    return FALSE;
  for (guint i = 1; words[i]; i++)
    if (!set_named_parameter (step, kind, words[i], error))
      return FALSE;
  return TRUE;
}

/* ── Options ──────────────────────────────────────────────────────────────────────────────────── */

static gboolean
set_prepare (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  g_auto (GStrv) steps = g_strsplit (value, ",", -1);

  for (guint i = 0; steps[i]; i++)
    if (!set_step (recipe, steps[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
set_centre (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  recipe->centre_auto = strcmp (value, "auto") == 0;
  if (recipe->centre_auto)
    return TRUE;
  if (!parse_number (option, value, -1e6, 1e6, &recipe->centre_px, NULL))
    return invalid (error, option, value,
                    "a column (the first column's centre is 0) nor \"auto\"");
  return TRUE;
}

static gboolean
set_tilt (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return parse_number (option, value, -45, 45, &recipe->tilt_deg, error);
}

static gboolean
set_filter (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (td_filter_parse (value, &recipe->filter.kind))
    return TRUE;
  g_autofree char *list = g_strjoinv (", ", (char **) td_filter_names ());
  g_autofree char *expected = g_strconcat ("one of ", list, NULL);
  return invalid (error, option, value, expected);
}

static gboolean
set_cutoff (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (!parse_number (option, value, 0, 1, &recipe->filter.cutoff, NULL)
      || recipe->filter.cutoff <= 0)
    return invalid (error, option, value,
                    "a part of the Nyquist frequency, above 0 and at most 1");
  return TRUE;
}

static gboolean
set_order (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  double order;

  if (!parse_number (option, value, 1, 64, &order, error))
    return FALSE;
  recipe->filter.order = (guint) order;
  return order == floor (order) || invalid (error, option, value, "a whole number");
}

static gboolean
set_extend_edges (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return parse_switch (option, value, &recipe->filter.extend_edges, error);
}

/* The same choice by its kinds' names. */
static gboolean
set_padding (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  static const char *const names[] = { "zero", "edge", NULL };

  return parse_name (option, value, names, &recipe->filter.extend_edges, error);
}

static gboolean
set_method (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!parse_name (option, value, method_names, &index, error))
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

  if (!parse_name (option, value, interpolation_names, &index, error))
    return FALSE;
  recipe->interpolation = index;
  return TRUE;
}

static gboolean
set_precision (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!parse_name (option, value, precision_names, &index, error))
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
  else if (parse_integers (value, ":", range, 1))
    range[1] = range[0] + 1;
  else if (!parse_integers (value, ":", range, 2) || range[0] >= range[1])
    return invalid (error, option, value,
                    "FIRST:END with FIRST below END (END itself is not included), ROW or \"all\"");
  if (range[0] < 0)
    return invalid (error, option, value, "a range of rows: rows are counted from 0");
  recipe->row_first = (guint) range[0];
  recipe->row_end = (guint) range[1];
  return TRUE;
}

static gboolean
set_crop (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (strcmp (value, "all") != 0
      && (!parse_integers (value, ",", box, 4) || box[0] < 0 || box[1] < 0 || box[2] < 1
          || box[3] < 1))
    return invalid (error, option, value, "COLUMN,ROW,COLUMNS,ROWS of the detector, nor \"all\"");
  for (guint i = 0; i < 4; i++)
    recipe->crop[i] = (guint) box[i];
  return TRUE;
}

static gboolean
set_bin (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 bin[2];

  if (parse_integers (value, ",", bin, 1))
    bin[1] = bin[0];
  else if (!parse_integers (value, ",", bin, 2))
    bin[0] = bin[1] = 0;
  if (bin[0] < 1 || bin[1] < 1 || bin[0] > TD_RECIPE_MAX_BIN || bin[1] > TD_RECIPE_MAX_BIN)
    return invalid (error, option, value, "N or COLUMNS,ROWS, whole numbers from 1 to 64");
  recipe->bin[0] = (guint) bin[0];
  recipe->bin[1] = (guint) bin[1];
  return TRUE;
}

static gboolean
set_bin_views (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 bin;

  if (!parse_integers (value, ",", &bin, 1) || bin < 1 || bin > TD_RECIPE_MAX_BIN)
    return invalid (error, option, value, "a whole number from 1 to 64");
  recipe->bin_views = (guint) bin;
  return TRUE;
}

static gboolean
set_region (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (strcmp (value, "all") != 0
      && (!parse_integers (value, ",", box, 4) || box[2] < 1 || box[3] < 1))
    return invalid (error, option, value, "X,Y,WIDTH,HEIGHT in pixels of the slice, nor \"all\"");
  for (guint i = 0; i < 4; i++)
    recipe->region[i] = (gint) box[i];
  return TRUE;
}

static gboolean
set_angle_offset (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return parse_number (option, value, -3600, 3600, &recipe->angle_offset_deg, error);
}

static gboolean
set_reverse_rotation (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return parse_switch (option, value, &recipe->reverse_rotation, error);
}

static gboolean
set_field_of_view (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!parse_name (option, value, field_names, &index, error))
    return FALSE;
  recipe->field_of_view = index;
  return TRUE;
}

static gboolean
set_device (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  if (!*value || strlen (value) >= sizeof recipe->devices)
    return invalid (error, option, value,
                    "a list of devices such as host or cuda:0,opencl:1 (tomodesk-cli devices)");
  g_strlcpy (recipe->devices, value, sizeof recipe->devices);
  return TRUE;
}

static gboolean
set_memory_limit (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_parse_size (value, &recipe->memory_limit_bytes, error);
}

static gboolean
set_share (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!parse_name (option, value, share_names, &index, error))
    return FALSE;
  recipe->share = index;
  return TRUE;
}

static gboolean
set_filter_on (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  int index = 0;

  if (!parse_name (option, value, filter_place_names, &index, error))
    return FALSE;
  recipe->filter_on = index;
  return TRUE;
}

static gboolean
set_format (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  return td_volume_format_parse (value, &recipe->output_format)
         || invalid (error, option, value, "one of tiff, bigtiff, hdf5");
}

static gboolean
set_bits (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  static const char *const names[] = { "8", "16", "32", NULL };
  int index = 0;

  if (!parse_name (option, value, names, &index, error))
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
      || !parse_number (option, words[0], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_low, NULL)
      || !parse_number (option, words[1], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_high, NULL)
      || recipe->output_low >= recipe->output_high)
    return invalid (error, option, value, "LOW:HIGH with LOW below HIGH, nor \"auto\"");
  return TRUE;
}

static const TdRecipeOption options[] = {
  { "prepare", "STEPS", "Preparation: STEP[=VALUE][:NAME=VALUE…], no-STEP, none; comma-separated",
    set_prepare },
  { "centre", "PX|auto", "Column of the rotation axis; the first column's centre is 0",
    set_centre },
  { "tilt", "DEG", "Tilt of the axis in the detector plane",
    set_tilt },
  { "filter", "NAME",
    "none, ram-lak, shepp-logan, cosine, hamming, hann, parzen or butterworth",
    set_filter },
  { "cutoff", "F", "Width of the filter's window, of the Nyquist frequency (1)",
    set_cutoff },
  { "order", "N", "Order of the Butterworth filter (4)",
    set_order },
  { "padding", "NAME",
    "What stands beside each row: zero, or edge (its edge values) for samples wider than the detector",
    set_padding },
  { "extend-edges", NULL, "The same as --padding edge",
    set_extend_edges },
  { "method", "NAME", "auto, fbp, fdk or fourier",
    set_method },
  { "kernel", "NAME",
    "Back-projection: auto, standard, texture, alu, hybrid, oversampling or host; cone beam: auto, "
    "turned, texture, arithmetic, standard or host",
    set_kernel },
  { "interpolation", "NAME", "nearest or linear",
    set_interpolation },
  { "precision", "NAME", "single, half or half-run",
    set_precision },
  { "crop", "X,Y,W,H", "Only these columns and rows of the detector: the first ones, and how many",
    set_crop },
  { "bin", "N|C,R", "Average N × N detector pixels to one, or C columns and R rows",
    set_bin },
  { "bin-views", "N", "Average N views to one",
    set_bin_views },
  { "rows", "A:B", "Detector rows A to B - 1 only",
    set_rows },
  { "region", "X,Y,W,H", "This part of every slice only, in pixels from the top left",
    set_region },
  { "angle-offset", "DEG", "Turn the slices",
    set_angle_offset },
  { "reverse-rotation", NULL, "The stage turned the other way",
    set_reverse_rotation },
  { "field-of-view", "NAME",
    "auto, full, or half: an axis near one edge, both sides of a full turn put together",
    set_field_of_view },
  { "device", "ID[,ID…]", "auto, host, opencl:0, cuda:0, … (tomodesk-cli devices lists them)",
    set_device },
  { "memory-limit", "SIZE", "Memory to use on the host and on each device, as in 4G",
    set_memory_limit },
  { "share", "NAME", "Cone beam, several devices: auto, volume (each its slabs) or projection (each its views)",
    set_share },
  { "filter-on", "NAME", "Cone beam: filter the projections on the cpu, the device or auto",
    set_filter_on },
  { "format", "NAME", "tiff (a folder, one file a slice), bigtiff or hdf5",
    set_format },
  { "bits", "N", "32 (float), 16 or 8",
    set_bits },
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
