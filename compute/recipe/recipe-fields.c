/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of a recipe. A row of the table at the end is all that a new one needs. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/cone/cone.h"
#include "compute/parallel/backproject.h"
#include "dataset/error.h"
#include "dataset/number.h"
#include "field.h"

/* ── Names of enumerations, in their order ── */

const char *const td_method_names[]
    = { "auto", "fbp", "fdk", "fourier", "sirt", "fista-tv", "cgls", NULL };
static const char *const method_labels[] = { N_ ("Automatic"),
                                             N_ ("Filtered back-projection"),
                                             N_ ("Cone beam (FDK)"),
                                             N_ ("Fourier (fast)"),
                                             N_ ("Iterative (SIRT)"),
                                             N_ ("Few views (FISTA-TV)"),
                                             N_ ("Least squares (CGLS)"),
                                             NULL };
static const char *const filter_labels[] = { N_ ("None (blurred)"),
                                             N_ ("Ram-Lak (sharpest)"),
                                             N_ ("Shepp-Logan"),
                                             N_ ("Cosine"),
                                             N_ ("Hamming"),
                                             N_ ("Hann (smooth)"),
                                             N_ ("Parzen (smoothest)"),
                                             N_ ("Butterworth"),
                                             NULL };
static const char *const filter_brief[]
    = { N_ ("None"), N_ ("Ram-Lak"), N_ ("Shepp-Logan"), N_ ("Cosine"), N_ ("Hamming"),
        N_ ("Hann"), N_ ("Parzen"),  N_ ("Butterworth"), NULL };
static const char *const padding_names[] = { "zero", "edge", NULL };
static const char *const accuracy_labels[]
    = { N_ ("As single precision (1e-5)"), N_ ("Standard (2e-4)"), N_ ("Draft (5e-3)"), NULL };
static const char *const interpolation_labels[]
    = { N_ ("Nearest"), N_ ("Linear"), N_ ("Automatic"), NULL };
static const char *const precision_labels[]
    = { N_ ("Single (32 bits)"), N_ ("Half storage (16 bits)"), N_ ("Half, short half sums"),
        N_ ("Automatic"), NULL };
static const char *const precision_brief[]
    = { N_ ("Single"), N_ ("Half"), N_ ("Half sums"), N_ ("Automatic"), NULL };
static const char *const view_names[] = { "auto", "full", "half", NULL };
static const char *const view_labels[]
    = { N_ ("Automatic"), N_ ("As the detector"), N_ ("Wide: half acquisition"), NULL };
static const char *const share_names[] = { "auto", "volume", "projection", NULL };
static const char *const filter_place_names[] = { "auto", "cpu", "device", NULL };
const char *const td_volume_format_names[] = { "tiff", "bigtiff", "hdf5", NULL };
static const char *const bits_names[] = { "8", "16", "32", NULL };
static const char *const format_labels[]
    = { N_ ("TIFF stack"), N_ ("BigTIFF, one file"), N_ ("HDF5 (NeXus)"), NULL };

gboolean
td_method_iterates (TdMethodKind kind)
{
  return kind == TD_METHOD_SIRT || kind == TD_METHOD_FISTA_TV || kind == TD_METHOD_CGLS;
}

/* ── Kinds of their own ── */

static gboolean
recipe_fields_set_centre (const TdField *field, gpointer record, const char *text, GError **error)
{
  TdRecipe *recipe = record;

  recipe->centre_auto = text && strcmp (text, "auto") == 0;
  if (!text)
    recipe->centre_px = NAN;
  return !text || recipe->centre_auto
         || td_parse_number (text, field->low, field->high, &recipe->centre_px);
}

static void
recipe_fields_write_centre (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const TdRecipe *recipe = record;

  if (recipe->centre_auto)
    json_builder_add_string_value (builder, "auto");
  else if (isnan (recipe->centre_px))
    json_builder_add_null_value (builder);
  else
    json_builder_add_double_value (builder, recipe->centre_px);
}

static gboolean
recipe_fields_equal_centre (const TdField *field, gconstpointer a, gconstpointer b)
{
  const TdRecipe *x = a, *y = b;

  return x->centre_auto == y->centre_auto && (x->centre_auto || td_kind_number.equal (field, a, b));
}

static const TdFieldKind centre_kind
    = { TD_FIELD_NULL | TD_FIELD_NUMBER | TD_FIELD_STRING, recipe_fields_set_centre,
        recipe_fields_write_centre, recipe_fields_equal_centre, NULL };

/* The name of a parallel-beam family or of a cone-beam one. */
static gboolean
recipe_fields_set_kernel (const TdField *field, gpointer record, const char *text, GError **error)
{
  return (strcmp (text, "auto") == 0 || td_cone_family (text, NULL)
          || td_backproject_family (text, NULL))
         && td_field_set_text (field, record, text);
}

static TdMessage *
recipe_fields_expect_kernel (void)
{
  g_autoptr (GString) parallel = g_string_new ("auto"), cone = g_string_new ("auto");

  for (const TdBackprojectFamily *const *one = td_backproject_families (); *one; one++)
    g_string_append_printf (parallel, ", %s", (*one)->name);
  for (const TdConeFamily *const *one = td_cone_families (); *one; one++)
    g_string_append_printf (cone, ", %s", (*one)->name);
  return td_message_new (N_ ("one of %s for parallel beams or %s for cone beams"), parallel->str,
                         cone->str);
}

static const TdFieldKind kernel_kind = { TD_FIELD_STRING,
                                         recipe_fields_set_kernel,
                                         td_field_write_text,
                                         td_field_equal_text,
                                         NULL,
                                         recipe_fields_expect_kernel };

/* A word, or a path that is kept whole. */
static gboolean
recipe_fields_set_start (const TdField *field, gpointer record, const char *text, GError **error)
{
  static const char *const words[] = { "auto", "zero", "filtered", NULL };

  if (strcmp (text, "fdk") == 0 || strcmp (text, "fbp") == 0)
    text = "filtered";
  g_autofree char *path
      = *text && !g_strv_contains (words, text) ? g_canonicalize_filename (text, NULL) : NULL;
  return td_field_set_text (field, record, path ? path : text);
}

static const TdFieldKind start_kind
    = { TD_FIELD_STRING, recipe_fields_set_start, td_field_write_text, td_field_equal_text, NULL };

/* As a file names it: from its own folder on (td_recipe_load()). */
static gboolean
recipe_fields_set_mask (const TdField *field, gpointer record, const char *text, GError **error)
{
  if (text)
    return td_field_set_text (field, record, text);
  ((TdRecipe *) record)->mask[0] = 0;
  return TRUE;
}

static void
recipe_fields_write_mask (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  if (*((const TdRecipe *) record)->mask)
    td_field_write_text (field, record, builder);
  else
    json_builder_add_null_value (builder);
}

static const TdFieldKind mask_kind = { TD_FIELD_NULL | TD_FIELD_STRING, recipe_fields_set_mask,
                                       recipe_fields_write_mask, td_field_equal_text, NULL };

/* Two numbers that follow each other in the recipe: the first, and the end. */
static gboolean
recipe_fields_set_rows (const TdField *field, gpointer record, const char *text, GError **error)
{
  gint64 range[2] = { 0, 0 };
  guint *place = (guint *) ((char *) record + field->offset);

  if (text && td_parse_integer (text, 0, G_MAXINT32 - 1, range))
    range[1] = range[0] + 1;
  else if (text && strcmp (text, "all") != 0
           && (!td_parse_integers (text, ':', 0, G_MAXINT32, range, 2) || range[0] >= range[1]))
    return FALSE;
  place[0] = (guint) range[0];
  place[1] = (guint) range[1];
  return TRUE;
}

static gboolean
recipe_fields_equal_rows (const TdField *field, gconstpointer a, gconstpointer b)
{
  const guint *x = (const guint *) ((const char *) a + field->offset);
  const guint *y = (const guint *) ((const char *) b + field->offset);

  return x[1] == y[1] && (x[1] == 0 || x[0] == y[0]);
}

static const TdFieldKind rows_kind = { TD_FIELD_NULL | TD_FIELD_LIST, recipe_fields_set_rows,
                                       td_field_write_integers, recipe_fields_equal_rows, NULL };

static gboolean
recipe_fields_set_bin (const TdField *field, gpointer record, const char *text, GError **error)
{
  gint64 bin[2];
  TdRecipe *recipe = record;

  if (td_parse_integer (text, 1, TD_RECIPE_MAX_BIN, bin))
    bin[1] = bin[0];
  else if (!td_parse_integers (text, ',', 1, TD_RECIPE_MAX_BIN, bin, 2))
    return FALSE;
  recipe->bin[0] = (guint) bin[0];
  recipe->bin[1] = (guint) bin[1];
  return TRUE;
}

static void
recipe_fields_write_bin (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const TdRecipe *recipe = record;

  json_builder_begin_array (builder);
  for (guint i = 0; i < 2; i++)
    json_builder_add_int_value (builder, MAX (recipe->bin[i], 1));
  json_builder_end_array (builder);
}

static gboolean
recipe_fields_equal_bin (const TdField *field, gconstpointer a, gconstpointer b)
{
  const TdRecipe *x = a, *y = b;

  return MAX (x->bin[0], 1) == MAX (y->bin[0], 1) && MAX (x->bin[1], 1) == MAX (y->bin[1], 1);
}

static const TdFieldKind bin_kind = { TD_FIELD_LIST, recipe_fields_set_bin, recipe_fields_write_bin,
                                      recipe_fields_equal_bin, NULL };

static gboolean
recipe_fields_set_range (const TdField *field, gpointer record, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ":", 2);
  TdRecipe *recipe = record;

  recipe->output_range_auto = strcmp (text, "auto") == 0;
  return recipe->output_range_auto
         || (g_strv_length (words) == 2
             && td_parse_number (words[0], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_low)
             && td_parse_number (words[1], -G_MAXFLOAT, G_MAXFLOAT, &recipe->output_high)
             && recipe->output_low < recipe->output_high);
}

static void
recipe_fields_write_range (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const TdRecipe *recipe = record;

  if (recipe->output_range_auto) {
    json_builder_add_string_value (builder, "auto");
    return;
  }
  json_builder_begin_array (builder);
  json_builder_add_double_value (builder, recipe->output_low);
  json_builder_add_double_value (builder, recipe->output_high);
  json_builder_end_array (builder);
}

static gboolean
recipe_fields_equal_range (const TdField *field, gconstpointer a, gconstpointer b)
{
  const TdRecipe *x = a, *y = b;

  return x->output_range_auto == y->output_range_auto
         && (x->output_range_auto
             || (x->output_low == y->output_low && x->output_high == y->output_high));
}

static const TdFieldKind range_kind
    = { TD_FIELD_STRING | TD_FIELD_LIST, recipe_fields_set_range, recipe_fields_write_range,
        recipe_fields_equal_range, NULL };

/* ── When a field applies: NULL, or why it does not ── */

static const char only_iterating[] = N_ ("Only iterative methods use it");
static const char only_correcting[] = N_ ("Only the methods SIRT and FISTA-TV use it");

/* What filters and back-projects the scan; AUTO: not known, since no scan is. */
static TdMethodKind
recipe_fields_method (const TdRecipe *recipe, const TdScanFacts *facts)
{
  if (recipe->method != TD_METHOD_AUTO || !facts)
    return recipe->method;
  return facts->geometry.beam == TD_BEAM_PARALLEL ? TD_METHOD_FBP : TD_METHOD_FDK;
}

/* Iterations that begin with the filtered volume filter too. */
static const char *
recipe_fields_filters (const TdRecipe *recipe, const TdScanFacts *facts)
{
  if (facts && facts->filtered)
    return N_ ("The scan's projections are filtered already");
  return td_method_iterates (recipe->method) && strcmp (recipe->start, "filtered") != 0
             ? N_ ("Iterative methods do not filter")
             : NULL;
}

static const char *
recipe_fields_windows (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return recipe->filter.kind == TD_FILTER_NONE ? N_ ("Nothing is filtered")
                                               : recipe_fields_filters (recipe, facts);
}

static const char *
recipe_fields_has_order (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return recipe->filter.kind != TD_FILTER_BUTTERWORTH
             ? N_ ("Only the Butterworth filter has an order")
             : recipe_fields_filters (recipe, facts);
}

static const char *
recipe_fields_has_column (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return facts && td_cone_scan_portrait (facts)
             ? N_ ("The detector lies on its side: the axis runs along its rows and has no column")
             : NULL;
}

static const char *
recipe_fields_tilts (const TdRecipe *recipe, const TdScanFacts *facts)
{
  if (facts && facts->geometry.view_matrices)
    return N_ ("The matrices of the views say how the axis stands");
  return facts && facts->n_rows == 1 ? N_ ("The axis of a single row has no tilt") : NULL;
}

static const char *
recipe_fields_turns (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return facts && facts->geometry.view_matrices ? N_ ("The matrices of the views say how it turned")
                                                : NULL;
}

static const char *
recipe_fields_parallel (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return facts && facts->geometry.beam != TD_BEAM_PARALLEL ? N_ ("It is for parallel beams") : NULL;
}

static const char *
recipe_fields_cone (const TdRecipe *recipe, const TdScanFacts *facts)
{
  const TdMethodKind method = recipe_fields_method (recipe, facts);

  return method == TD_METHOD_FDK || method == TD_METHOD_AUTO
             ? NULL
             : N_ ("Only the method FDK, for cone beams, uses it");
}

static const char *
recipe_fields_scales (const TdRecipe *recipe, const TdScanFacts *facts)
{
  return recipe->output_bits == 32 ? N_ ("Values of 32 bits are written as they are") : NULL;
}

/* ── The table ── */

#define IN(member) .offset = offsetof (TdRecipe, member)
#define TEXT_IN(member) IN (member), .n = sizeof ((TdRecipe *) NULL)->member
#define NUMBER(member, least, most) .kind = &td_kind_number, IN (member), .low = least, .high = most
#define COUNT(member, least, most) .kind = &td_kind_count, IN (member), .low = least, .high = most
#define SWITCH(member) .kind = &td_kind_switch, IN (member)
#define CHOICE(member, list) .kind = &td_kind_choice, IN (member), .names = list
#define BYTES(member) .kind = &td_kind_bytes, IN (member)
#define BIT(method) (1u << TD_METHOD_##method)
#define ITERATING (BIT (SIRT) | BIT (FISTA_TV) | BIT (CGLS))
#define FOR_ITERATING .methods = ITERATING, .elsewhere = only_iterating
#define FOR_CORRECTING .methods = BIT (SIRT) | BIT (FISTA_TV), .elsewhere = only_correcting
#define BOX(member, least) .kind = &td_kind_box, IN (member), .n = 4, .low = least

/* clang-format off */
const TdField td_recipe_fields[] = {
  { "prepare", "STEPS", "Preparation: STEP[=VALUE][:NAME=VALUE…], no-STEP, none; comma-separated",
    "prepare", N_ ("Preparation"), &td_kind_steps,
    .expects = N_ ("a list of objects that name a \"step\"") },
  { "bad-pixels", "FILE", "An image of the detector, not 0 where a pixel is bad",
    "bad_pixels", N_ ("Bad pixels"), &mask_kind, TEXT_IN (mask),
    .expects = N_ ("the path of an image, in UTF-8 and of less than 1024 bytes") },
  { "centre", "PX|auto", "Column of the rotation axis; the first column's centre is 0",
    "centre_px", N_ ("Centre of rotation"), &centre_kind, IN (centre_px), .low = -1e6, .high = 1e6,
    .expects = N_ ("a column (the first column's centre is 0) nor \"auto\""),
    .applies = recipe_fields_has_column },
  { "tilt", "DEG", "Tilt of the axis in the detector plane",
    "tilt_deg", N_ ("Tilt of the axis (°)"), NUMBER (tilt_deg, -45, 45), .preset = "0",
    .applies = recipe_fields_tilts },
  { "filter", "NAME", "none, ram-lak, shepp-logan, cosine, hamming, hann, parzen or butterworth",
    "filter.kind", N_ ("Filter"), CHOICE (filter.kind, td_filter_names), .labels = filter_labels,
    .brief = filter_brief, .preset = "ram-lak",
    .applies = recipe_fields_filters },
  { "cutoff", "F", "Width of the filter's window, of the Nyquist frequency (1)",
    "filter.cutoff", N_ ("Cut-off"), NUMBER (filter.cutoff, 0, 1), .above = TRUE, .preset = "1",
    .expects = N_ ("a part of the Nyquist frequency, above 0 and at most 1"),
    .applies = recipe_fields_windows },
  { "order", "N", "Order of the Butterworth filter (4)",
    "filter.order", N_ ("Order"), COUNT (filter.order, 1, 64), .preset = "4",
    .applies = recipe_fields_has_order },
  { "padding", "NAME",
    "What stands beside each row: zero, or edge (its edge values) for samples wider than the "
    "detector",
    NULL, N_ ("Extend the edges"), CHOICE (filter.extend_edges, padding_names),
    .applies = recipe_fields_windows },
  { "extend-edges", NULL, "The same as --padding edge",
    "filter.extend_edges", N_ ("Extend the edges"), SWITCH (filter.extend_edges),
    .preset = "false", .applies = recipe_fields_windows },
  { "method", "NAME", "auto, fbp, fdk, fourier (fast) or, iterating, sirt, fista-tv or cgls",
    "method", N_ ("Method"), CHOICE (method, td_method_names), .labels = method_labels,
    .preset = "auto" },
  { "iterations", "N", "Iterative methods: passes over all views (20)",
    "iterative.iterations", N_ ("Passes over all views"), COUNT (iterations, 1, 10000),
    .preset = "20", FOR_ITERATING },
  { "subsets", "N", "sirt, fista-tv: parts that the views are taken in, or auto; 1: all at once",
    "iterative.subsets", N_ ("Subsets of the views"), COUNT (subsets, 1, 100000), .none = "auto",
    .preset = "auto", FOR_CORRECTING },
  { "relaxation", "F", "sirt: factor of each correction, below 2 (1)",
    "iterative.relaxation", N_ ("Relaxation"), NUMBER (relaxation, 0, 2), .above = TRUE,
    .below = TRUE, .preset = "1", .methods = BIT (SIRT),
    .elsewhere = N_ ("Only the method SIRT uses it") },
  { "non-negative", "true|false", "sirt, fista-tv: values below 0 become 0 (true)",
    "iterative.non_negative", N_ ("Nothing below 0"), SWITCH (non_negative), .preset = "true",
    FOR_CORRECTING },
  { "tv", "F", "fista-tv: strength of the total variation, of the material's value a pass (0.003)",
    "iterative.tv", N_ ("Total variation"), NUMBER (tv, 0, 1), .preset = "0.003",
    .methods = BIT (FISTA_TV), .elsewhere = N_ ("Only the method FISTA-TV uses it") },
  { "stop-at", "F", "Iterative methods: end at this relative residual, the noise's (0: never)",
    "iterative.stop_at", NULL, NUMBER (stop_at, 0, 1), .preset = "0",
    FOR_ITERATING },
  { "tolerance", "F",
    "Iterative methods: end when a pass changes the residual by less than this part of it "
    "(0: never)",
    "iterative.tolerance", N_ ("Tolerance"), NUMBER (tolerance, 0, 1), .preset = "0",
    FOR_ITERATING },
  { "start", "auto|zero|fdk|FILE",
    "Iterative methods: begin with nothing, with what fdk or fbp makes, or go on from a volume",
    "iterative.start", N_ ("Begin with the filtered volume"), &start_kind, TEXT_IN (start),
    .preset = "auto",
    .expects = N_ ("auto, zero, fdk or the path of a volume, in UTF-8 and of less than 1024 bytes"),
    FOR_ITERATING },
  { "kernel", "NAME", "Back-projection",
    "kernel", N_ ("Kernel"), &kernel_kind, TEXT_IN (family), .preset = "auto",
    .methods = ~BIT (FOURIER), .elsewhere = N_ ("The Fourier method has kernels of its own") },
  { "accuracy", "NAME",
    "single (1e-5), standard (2e-4) or draft (5e-3); the fastest way within it is taken of the "
    "methods, kernels, interpolations and precisions that are left to auto",
    "accuracy", N_ ("Accuracy"), CHOICE (accuracy, td_accuracy_names), .labels = accuracy_labels,
    .preset = "standard", .methods = ~ITERATING,
    .elsewhere = N_ ("Iterative methods have one way of projecting") },
  { "interpolation", "NAME", "nearest, linear or auto",
    "interpolation", N_ ("Interpolation"), CHOICE (interpolation, td_interpolation_names),
    .labels = interpolation_labels, .preset = "auto" },
  { "precision", "NAME", "single, half, half-run or auto",
    "precision", N_ ("Precision"), CHOICE (precision, td_precision_names),
    .labels = precision_labels, .brief = precision_brief, .preset = "auto" },
  { "crop", "X,Y,W,H", "Only these columns and rows of the detector: the first ones, and how many",
    "crop", N_ ("Detector"), BOX (crop, 0),
    .expects = N_ ("COLUMN,ROW,COLUMNS,ROWS of the detector, nor \"all\"") },
  { "bin", "N|C,R", "Average N × N detector pixels to one, or C columns and R rows",
    "bin", N_ ("Columns averaged to one"), &bin_kind, IN (bin), .n = 2, .low = 1,
    .high = TD_RECIPE_MAX_BIN, .preset = "1",
    .expects = N_ ("N or COLUMNS,ROWS, whole numbers from 1 to 64") },
  { "bin-views", "N", "Average N views to one",
    "bin_views", N_ ("Views averaged to one"), COUNT (bin_views, 1, TD_RECIPE_MAX_BIN),
    .preset = "1" },
  { "views", "A:B", "Views A to B - 1 only, as the scan has them, counted from 0",
    "views", NULL, &rows_kind, IN (view_first), .n = 2, .separator = ':',
    .expects = N_ ("FIRST:END with FIRST below END (END itself is not included), VIEW or "
                   "\"all\"") },
  { "rows", "A:B", "Detector rows A to B - 1 only",
    "rows", N_ ("Region: first row"), &rows_kind, IN (row_first), .n = 2,
    .separator = ':',
    .expects = N_ ("FIRST:END with FIRST below END (END itself is not included), ROW or \"all\"") },
  { "region", "X,Y,W,H", "This part of every slice only, in pixels from the top left",
    "region", N_ ("Part of the slice"), BOX (region, G_MININT32),
    .expects = N_ ("X,Y,WIDTH,HEIGHT in pixels of the slice, nor \"all\"") },
  { "angle-offset", "DEG", "Turn the slices",
    "angle_offset_deg", N_ ("Turn the slice (°)"), NUMBER (angle_offset_deg, -3600, 3600),
    .preset = "0" },
  { "reverse-rotation", NULL, "The stage turned the other way",
    "reverse_rotation", N_ ("Reverse rotation"), SWITCH (reverse_rotation), .preset = "false",
    .applies = recipe_fields_turns },
  { "field-of-view", "NAME",
    "auto, full, or half: an axis near one edge, both sides of a full turn put together",
    "field_of_view", N_ ("Field of view"), CHOICE (field_of_view, view_names),
    .labels = view_labels, .preset = "auto", .applies = recipe_fields_parallel },
  { "device", "ID[,ID…]", "auto, host, opencl:0, cuda:0, … (tomodesk-cli devices lists them)",
    "devices", N_ ("Compute on"), &td_kind_text, TEXT_IN (devices), .preset = "auto",
    .expects = N_ ("a list of devices such as host or cuda:0,opencl:1 (tomodesk-cli devices)") },
  { "memory-limit", "SIZE", "Memory to use on the host and on each device, as in 4G",
    "memory_limit_bytes", N_ ("Memory limit (GiB)"), BYTES (memory_limit_bytes), .preset = "0" },
  { "device-memory-limit", "SIZE", "Memory to use on each device, whatever the host has",
    "device_memory_limit_bytes", N_ ("Device memory limit (GiB)"),
    BYTES (device_memory_limit_bytes), .preset = "0" },
  { "share", "NAME",
    "Cone beam, several devices: auto, volume (each its slabs) or projection (each its views)",
    "share", NULL, CHOICE (share, share_names), .preset = "auto", .applies = recipe_fields_cone },
  { "filter-on", "NAME", "Cone beam: filter the projections on the cpu, the device or auto",
    "filter_on", NULL, CHOICE (filter_on, filter_place_names), .preset = "auto",
    .applies = recipe_fields_cone },
  { "format", "NAME", "tiff (a folder, one file a slice), bigtiff or hdf5",
    "output.format", N_ ("Format"), CHOICE (output_format, td_volume_format_names),
    .labels = format_labels, .preset = "tiff" },
  { "bits", "N", "32 (float), 16 or 8",
    "output.bits", N_ ("Values"), COUNT (output_bits, 8, 32), .names = bits_names,
    .preset = "32" },
  { "range", "LOW:HIGH", "16 and 8 bits: values of 0 and of the largest sample; or auto",
    "output.range", N_ ("Range"), &range_kind, .n = 2, .separator = ':', .preset = "auto",
    .expects = N_ ("LOW:HIGH with LOW below HIGH, nor \"auto\""), .applies = recipe_fields_scales },
  { NULL },
};
/* clang-format on */

const TdField *
td_recipe_field (const char *option)
{
  return td_field_find (td_recipe_fields, option);
}

gboolean
td_recipe_field_applies (const TdField *field, const TdRecipe *recipe, const TdScanFacts *facts,
                         const char **reason)
{
  const gboolean used = field->methods == 0 || (field->methods >> recipe->method & 1);
  const char *why = !used            ? field->elsewhere
                    : field->applies ? field->applies (recipe, facts)
                                     : NULL;

  if (reason)
    *reason = why;
  return !why;
}

/* ── All of them ── */

void
td_recipe_init (TdRecipe *recipe)
{
  memset (recipe, 0, sizeof *recipe);
  for (const TdField *field = td_recipe_fields; field->option; field++)
    if (field->json)
      field->kind->set (field, recipe, field->preset, NULL);
}

void
td_recipe_state_axis (TdRecipe *recipe, double centre_px, double tilt_deg)
{
  recipe->centre_auto = FALSE;
  recipe->centre_px = centre_px;
  recipe->tilt_deg = tilt_deg;
}

gboolean
td_recipe_equal_in (const TdRecipe *a, const TdRecipe *b, const char *part)
{
  const gsize n = strlen (part);

  for (const TdField *field = td_recipe_fields; field->option; field++)
    if (field->json && strncmp (field->json, part, n) == 0
        && (n == 0 || field->json[n] == 0 || field->json[n] == '.')
        && !field->kind->equal (field, a, b))
      return FALSE;
  return TRUE;
}

gboolean
td_recipe_equal (const TdRecipe *a, const TdRecipe *b)
{
  return td_recipe_equal_in (a, b, "");
}

gboolean
td_recipe_set (TdRecipe *recipe, const char *option, const char *value, GError **error)
{
  const TdField *field = td_recipe_field (option);
  TdRecipe edited = *recipe;

  if (!field)
    return td_set_error (error, TD_ERROR_INVALID, "There is no recipe option \"--%s\"", option);
  if (!(field->kind == &mask_kind ? td_recipe_set_mask (&edited, value, error)
                                  : td_field_set (field, &edited, value, error)))
    return FALSE;
  *recipe = edited;
  return TRUE;
}
