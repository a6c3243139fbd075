/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "cli-picture.h"
#include "cli-recipe.h"
#include "cli-table.h"
#include "cli-verbs.h"
#include "compute/device/host.h"
#include "compute/engine/plan.h"
#include "compute/lab/lab-report.h"
#include "compute/lab/lab-review.h"
#include "compute/methods/methods.h"
#include "dataset/number.h"
#include "dataset/output.h"

static const TdCliHelp help = {
  "SCAN [--variant OPTIONS]… [OPTION…]",
  "The precision lab: one slice by two to nine variants of a recipe, one after another, with\n"
  "what was really used, time, memory and how far each lies from a reference in double\n"
  "precision, in units of the data's own noise too. A variant is a set of recipe options over\n"
  "the recipe of this call. See docs/guide-lab.md.",
  "  Which precision is good enough for this scan?\n"
  "    tomodesk-cli lab scan.nxs --reference --variant \"--precision single\" \\\n"
  "      --variant \"Half: --precision half\" --variant \"--interpolation nearest\"\n"
  "  A part of row 300 by two methods and two filters, as numbers and curves:\n"
  "    tomodesk-cli lab scan.nxs --row 300 --region 400,400,256,256 --reference \\\n"
  "      --variant \"--filter hann\" --variant \"--method fourier\" --csv lab.csv --picture "
  "lab.svg\n"
  "  What storage, weights, sums and filter each add to the error:\n"
  "    tomodesk-cli lab scan.nxs --variant \"\" --variant \"--precision half\" --budget\n"
  "  The review's Figures 7, 8, 18 and 19 on this scan:\n"
  "    tomodesk-cli lab scan.nxs --preset review --picture review.svg\n"
  "  Keep the variants, and run them again on another scan:\n"
  "    tomodesk-cli lab scan.nxs --variant \"\" --variant \"--precision half\" --save half.json\n"
  "    tomodesk-cli lab other.nxs --variants half.json\n",
};

typedef struct {
  char **variants;
  char *file, *save, *csv, *picture, *preset, *line;
  int row;
  gboolean reference, budget, quick, overwrite, json;
} Options;

/* ── The lab ── */

static gboolean
cli_lab_parse_line (const char *text, TdLabLine *line)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  double *const values[] = { &line->x0, &line->y0, &line->x1, &line->y1 };

  if (g_strv_length (words) != G_N_ELEMENTS (values))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    if (!td_parse_number (words[i], -1e6, 1e6, values[i]))
      return FALSE;
  return TRUE;
}

/* The middle row; of a cone beam the volume's middle slice. */
static gboolean
cli_lab_middle (const TdRecipe *recipe, TdEngine *engine, TdScan *scan, guint *row, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  if (facts->geometry.beam == TD_BEAM_PARALLEL) {
    *row = facts->n_rows / 2;
    return TRUE;
  }
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, td_cli_cancellable (), error);
  if (plan)
    *row = td_plan_facts (plan)->n_slices / 2;
  return plan != NULL;
}

static TdLab *
cli_lab_make (const TdCliRecipe *recipe, const Options *o, TdEngine *engine, TdScan *scan,
              GError **error)
{
  g_autoptr (TdLab) lab = NULL;
  guint row = (guint) MAX (o->row, 0);

  if (o->file) {
    lab = td_lab_load (o->file, error);
    if (lab && o->row >= 0) {
      lab->base.row_first = row;
      lab->base.row_end = row + 1;
      if (!td_lab_set_base (lab, &lab->base, error))
        return NULL;
    }
  } else if (o->row >= 0 || cli_lab_middle (&recipe->recipe, engine, scan, &row, error)) {
    lab = td_lab_new (&recipe->recipe, row);
    lab->measure = !o->quick;
  }
  if (!lab || (o->preset && !td_lab_review_add (lab, error)))
    return NULL;
  for (char **text = o->variants; text && *text; text++)
    if (!td_lab_add (lab, *text, error))
      return NULL;
  lab->reference |= o->reference || o->budget || o->preset;
  lab->budget |= o->budget;
  if (o->line) {
    lab->has_line = TRUE;
    cli_lab_parse_line (o->line, &lab->line); /* it was looked at before */
  }
  return g_steal_pointer (&lab);
}

/* ── Output ── */

static gboolean
cli_lab_write_mosaic (const char *path, const TdLabResult *result, GError **error)
{
  const TdLabOutcome *against = td_lab_against (result);
  const gsize n = (gsize) against->nx * against->ny;
  g_autofree float *slices = g_new (float, n *(TD_LAB_MOST + 1));
  guint count = 0;

  if (against->nx != against->ny)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "A picture of all variants wants a square region, and this one is %u × %u; "
        "--picture FILE.svg writes the curves",
        against->nx, against->ny);
  for (guint i = 0; i < result->n; i++)
    if (result->outcomes[i]->compared)
      memcpy (slices + n * count++, result->outcomes[i]->pixels, n * sizeof (float));
  if (result->reference)
    memcpy (slices + n * count++, result->reference->pixels, n * sizeof (float));
  return td_cli_picture (path, slices, count, against->nx, count <= 4 ? 2 : 3, error);
}

static char *
cli_lab_figures (const TdLabReview *review)
{
  TdLabPlot *plots[TD_LAB_REVIEW_PLOTS];

  td_lab_review_plots (review, plots);
  char *svg = td_lab_review_svg (plots);
  for (guint i = 0; i < TD_LAB_REVIEW_PLOTS; i++)
    td_lab_plot_unref (plots[i]);
  return svg;
}

static gboolean
cli_lab_write_all (const Options *o, const TdLab *lab, const TdLabResult *result,
                   const TdLabReview *review, GError **error)
{
  if (o->save) {
    g_autofree char *json = td_lab_to_json (lab);
    if (!td_output_save (o->save, json, strlen (json), error))
      return FALSE;
  }
  if (o->csv) {
    g_autofree char *csv = td_lab_csv (lab, result);
    if (!td_output_save (o->csv, csv, strlen (csv), error))
      return FALSE;
  }
  if (!o->picture)
    return TRUE;
  if (!g_str_has_suffix (o->picture, ".svg"))
    return cli_lab_write_mosaic (o->picture, result, error);
  g_autofree char *svg = review ? cli_lab_figures (review) : td_lab_svg (lab, result);
  return td_output_save (o->picture, svg, strlen (svg), error);
}

/* ── The table ── */

static void
cli_lab_show_number (TdCliTable *table, const char *head, const char *format, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  td_cli_table_show (table, head, "%9s",
                     isfinite (value) ? g_ascii_formatd (text, sizeof text, format, value) : "-");
}

static void
cli_lab_row (TdCliTable *table, const TdLab *lab, const TdLabResult *result, guint index)
{
  const TdLabOutcome *o = result->outcomes[index];
  const TdLabVariant *variant = lab->variants->pdata[index];
  const double noise = td_lab_in_noise (result, index);
  const double memory = (double) MAX (o->host_bytes, o->device_bytes);
  const TdLabDifference *d = o->compared ? &o->difference : NULL;

  td_cli_table_row (table);
  td_cli_table_show (table, "", "%1u", index + 1);
  td_cli_table_show (table, "kernel", "%-12.12s",
                     o->kernel   ? o->kernel
                     : o->method ? o->method
                                 : "none");
  td_cli_table_show (table, "precision", "%-9s", o->precision ? o->precision : "-");
  cli_lab_show_number (table, "first s", "%.3f", o->first_s);
  cli_lab_show_number (table, "warm s", "%.4f", o->warm_s);
  cli_lab_show_number (table, "GU/s", "%.2f", o->updates_per_s * 1e-9);
  cli_lab_show_number (table, "MiB", "%.0f", memory > 0 ? memory / (1 << 20) : NAN);
  cli_lab_show_number (table, "RMS", "%.2e", d ? d->rms : NAN);
  cli_lab_show_number (table, "largest", "%.2e", d ? d->max_abs : NAN);
  cli_lab_show_number (table, "PSNR dB", "%.1f", d && isfinite (d->psnr_db) ? d->psnr_db : NAN);
  cli_lab_show_number (table, "in noise", "%.2g", noise);
  cli_lab_show_number (table, "error", "%.1e", o->arithmetic);
  cli_lab_show_number (table, "bound", "%.1e", o->bound);
  cli_lab_show_number (table, "res. px", "%.2f",
                       o->frc && o->frc->half_bit_px > 0 ? o->frc->half_bit_px : NAN);
  td_cli_table_text (table, "name", variant->name);
  td_cli_table_text (table, "options", variant->options);
  g_autofree char *error = o->error ? td_error_text (o->error, NULL) : NULL;
  g_autofree char *astray = o->astray ? td_messages_join (o->astray, "; ", NULL) : NULL;
  td_cli_table_text (table, "error", error);
  td_cli_table_text (table, "otherwise_than_asked", astray);
  td_cli_table_text (table, "device", o->device);
  td_cli_table_text (table, "method", o->method);
  td_cli_table_text (table, "kernel", o->kernel);
  td_cli_table_text (table, "precision", o->precision);
  td_cli_table_number (table, "first_s", o->first_s);
  td_cli_table_number (table, "warm_s", o->warm_s);
  td_cli_table_number (table, "gups", o->updates_per_s * 1e-9);
  td_cli_table_integer (table, "host_bytes", (gint64) o->host_bytes);
  td_cli_table_integer (table, "device_bytes", (gint64) o->device_bytes);
  td_cli_table_number (table, "rms", d ? d->rms : NAN);
  td_cli_table_number (table, "relative_rms", d ? d->relative_rms : NAN);
  td_cli_table_number (table, "max_abs", d ? d->max_abs : NAN);
  td_cli_table_number (table, "psnr_db", d ? d->psnr_db : NAN);
  td_cli_table_number (table, "rms_in_noise", noise);
  td_cli_table_number (table, "arithmetic_error", o->arithmetic);
  td_cli_table_number (table, "bound", o->bound);
  td_cli_table_number (table, "noise", o->noise);
  td_cli_table_number (table, "resolution_half_bit_px", o->frc ? o->frc->half_bit_px : NAN);
  td_cli_table_number (table, "resolution_seventh_px", o->frc ? o->frc->seventh_px : NAN);
}

static const char *
cli_lab_verdict (const TdLabResult *result, guint index)
{
  const double noise = td_lab_in_noise (result, index);

  return (int) index == result->against ? "the others are compared with it"
         : !isfinite (noise)            ? NULL
         : noise < 1                    ? "below the noise"
                                        : "above the noise";
}

/* What the table's columns have no room for. */
static void
cli_lab_legend (TdCliTable *table, const TdLab *lab, const TdLabResult *result)
{
  for (guint i = 0; i < result->n; i++) {
    const TdLabOutcome *o = result->outcomes[i];
    const TdLabVariant *variant = lab->variants->pdata[i];
    g_autofree char *error = o->error ? td_error_text (o->error, NULL) : NULL;
    g_autofree char *astray = o->astray ? td_messages_join (o->astray, "; ", NULL) : NULL;
    const char *verdict = cli_lab_verdict (result, i);

    td_cli_table_say (table, "%s%u  %s%s%s\n", i ? "" : "\n", i + 1, variant->name,
                      verdict ? ": " : "", verdict ? verdict : "");
    if (error)
      td_cli_table_say (table, "   refused: %s\n", error);
    else
      td_cli_table_say (table, "   on %s%s%s\n", o->device, o->words ? ", " : "",
                        o->words ? o->words : "");
    if (astray)
      td_cli_table_say (table, "   OTHERWISE THAN ASKED: %s\n", astray);
  }
}

static void
cli_lab_budget (TdCliTable *table, const TdLabResult *result)
{
  if (!result->budget_n)
    return;
  td_cli_table_say (table, "\nError budget: each shortcut alone, the rest in double precision\n");
  for (guint i = 0; i < result->budget_n; i++) {
    const TdLabBudgetRow *row = &result->budget[i];
    td_cli_table_say (table, "  %-40s relative %.2e  largest %.2e", row->label,
                      row->difference.relative_rms, row->difference.max_abs);
    if (result->noise > 0)
      td_cli_table_say (table, "  %.2g of the noise", row->difference.rms / result->noise);
    td_cli_table_say (table, "\n");
  }
  td_cli_table_say (table, "  A kernel's positions and the order of its sums cannot be switched "
                           "alone.\n");
}

static void
cli_lab_review_errors (TdCliTable *table, const TdLabReview *review)
{
  if (!review)
    return;
  td_cli_table_say (table, "\nFigure 18's phantom: RMS difference from the phantom itself\n");
  for (guint i = 0; i < review->phantom->n; i++) {
    const TdLabVariant *variant = review->lab->variants->pdata[i];
    td_cli_table_say (table, "  %-20s %.4e\n", variant->name, review->errors[i].rms);
  }
}

static void
cli_lab_facts (TdCliTable *table, const TdLab *lab, const TdLabResult *result)
{
  const TdLabOutcome *against = td_lab_against (result);

  td_cli_table_say (table, "row %u, %u × %u pixels, values in %s, compared with ",
                    lab->base.row_first, against->nx, against->ny, against->units);
  if (result->against < 0)
    td_cli_table_say (table, "the reference in double precision (%.2f s)\n", against->first_s);
  else
    td_cli_table_say (table, "variant %d\n", result->against + 1);
  td_cli_table_integer (table, "row", lab->base.row_first);
  td_cli_table_integer (table, "nx", against->nx);
  td_cli_table_integer (table, "ny", against->ny);
  td_cli_table_text (table, "units", against->units);
  td_cli_table_text (table, "compared_with", result->against < 0 ? "reference" : "variant");
  td_cli_table_number (table, "reference_s", result->reference ? result->reference->first_s : NAN);
  td_cli_table_integer (table, "reference_slices", result->truths);
  td_cli_table_number (table, "reference_estimate_s", result->truths ? result->truths_s : NAN);
  td_cli_table_number (table, "noise", result->noise);
  if (result->noise > 0)
    td_cli_table_say (table, "noise of the data, from even and odd views: %.3e %s\n", result->noise,
                      against->units);
  TdMessage *const missing[] = { result->no_reference, result->no_measure };
  for (guint i = 0; i < G_N_ELEMENTS (missing); i++)
    if (missing[i]) {
      g_autofree char *text = td_message_text (missing[i], NULL);
      td_cli_table_say (table, "%s: %s\n", i ? "no noise" : "no reference", text);
    }
  td_cli_table_say (table, "\n");
}

static void
cli_lab_budget_json (TdCliTable *table, const TdLabResult *result)
{
  for (guint i = 0; i < result->budget_n; i++) {
    g_autofree char *key = g_strdup_printf ("budget_%s", result->budget[i].id);
    td_cli_table_number (table, key, result->budget[i].difference.relative_rms);
  }
}

static int
cli_lab_print (const Options *o, const TdLab *lab, const TdLabResult *result,
               const TdLabReview *review)
{
  g_autoptr (TdCliTable) table = td_cli_table_new (td_cli_table_form (o->json, FALSE));

  cli_lab_facts (table, lab, result);
  cli_lab_budget_json (table, result);
  td_cli_table_rows (table, "variants");
  for (guint i = 0; i < result->n; i++)
    cli_lab_row (table, lab, result, i);
  cli_lab_legend (table, lab, result);
  cli_lab_budget (table, result);
  cli_lab_review_errors (table, review);
  return td_cli_table_print (table);
}

/* ── The verb ── */

/* What takes longer is told before it begins, in a log too. */
#define LONG_S 5

/* @user: whether the cost of double precision was told. */
static void
cli_lab_progress (const TdLabResult *result, double fraction, gpointer user)
{
  gboolean *told = user;

  if (result->truths && result->truths_s > LONG_S && !*told) {
    g_autofree char *time = td_cli_duration (result->truths_s);
    td_cli_progress_clear ();
    td_cli_say ("double precision: %u slice%s in about %s on %u threads; Ctrl-C ends it",
                result->truths, result->truths == 1 ? "" : "s", time, td_host_threads ());
    *told = TRUE;
  }
  td_cli_progress ("comparing", fraction, -1, NULL);
}

static int
cli_lab (const TdCliRecipe *recipe, const char *path, const Options *o)
{
  g_autoptr (GError) error = NULL;
  GCancellable *cancellable = td_cli_cancellable ();
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, cancellable, &error);

  if (!scan)
    return td_cli_fail (error);
  const int status = td_cli_recipe_check (recipe, "lab", td_scan_facts (scan));
  if (status >= 0)
    return status;
  const char *const outputs[] = { o->csv, o->picture, o->save };
  for (guint i = 0; i < G_N_ELEMENTS (outputs); i++)
    if (outputs[i]
        && (!td_output_spares_scan (outputs[i], td_scan_facts (scan), &error)
            || !td_output_spares (outputs[i], recipe->recipe_path, &error)
            || !td_output_spares (outputs[i], o->file, &error)
            || !td_cli_may_write (outputs[i], o->overwrite, &error)))
      return td_cli_fail (error);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (TdLab) lab = cli_lab_make (recipe, o, engine, scan, &error);
  if (!lab)
    return td_cli_fail (error);
  g_autoptr (TdLabReview) review = NULL;
  g_autoptr (TdLabResult) own = NULL;
  gboolean told = FALSE;
  if (o->preset)
    review = td_lab_review_run (lab, engine, scan, cli_lab_progress, &told, cancellable, &error);
  else
    own = td_lab_run (lab, engine, scan, cli_lab_progress, &told, cancellable, &error);
  td_cli_progress_clear ();
  const TdLabResult *result = review ? review->scan : own;
  if (!result || !cli_lab_write_all (o, lab, result, review, &error))
    return td_cli_fail (error);
  return cli_lab_print (o, lab, result, review);
}

/* What contradicts itself; -1: nothing. */
static int
cli_lab_check (const TdCliRecipe *recipe, const Options *o)
{
  TdLabLine line;

  if (o->preset && !g_str_equal (o->preset, "review"))
    return td_cli_usage ("lab", "there is no preset \"%s\"; the one there is is called review",
                         o->preset);
  if (o->line && !cli_lab_parse_line (o->line, &line))
    return td_cli_usage ("lab", "--line \"%s\" is not X0,Y0,X1,Y1 in pixels of the picture",
                         o->line);
  if (o->row < -1)
    return td_cli_usage ("lab", "--row %d is no row", o->row);
  if (recipe->recipe.row_end > 0)
    return td_cli_usage ("lab", "a lab shows one row: --row says which");
  if (o->picture && !g_str_has_suffix (o->picture, ".svg") && !g_str_has_suffix (o->picture, ".png")
      && !g_str_has_suffix (o->picture, ".tif"))
    return td_cli_usage ("lab",
                         "--picture \"%s\" ends in none of .svg (curves), .png and .tif (pictures)",
                         o->picture);
  for (guint i = 0; o->file && i < recipe->settings->len; i++)
    if (td_cli_recipe_setting_is_recipe (recipe, i))
      return td_cli_usage ("lab", "the recipe is in the variants file: change it there, or leave "
                                  "out --variants");
  if (o->file && o->preset)
    return td_cli_usage ("lab", "--variants and --preset exclude each other");
  if (!o->file && !o->preset && (!o->variants || g_strv_length (o->variants) < TD_LAB_LEAST))
    return td_cli_usage ("lab", "say what to compare: --variant twice or oftener, --variants FILE, "
                                "or --preset review");
  return -1;
}

int
td_cli_lab (int argc, char **argv)
{
  Options o = { .row = -1 };
  const GOptionEntry entries[] = {
    { "row", 0, 0, G_OPTION_ARG_INT, &o.row, "Detector row, or slice of a cone beam (the middle)",
      "N" },
    { "variant", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o.variants,
      "A variant: \"NAME: OPTIONS\" or \"OPTIONS\", over the recipe; \"\": the recipe itself. 2 to "
      "9",
      "OPTIONS" },
    { "variants", 0, 0, G_OPTION_ARG_FILENAME, &o.file, "Recipe and variants, as --save wrote them",
      "FILE" },
    { "save", 0, 0, G_OPTION_ARG_FILENAME, &o.save, "Write recipe and variants as a file", "FILE" },
    { "preset", 0, 0, G_OPTION_ARG_STRING, &o.preset,
      "review: the variants of the review's Figures 7, 8, 18 and 19", "NAME" },
    { "reference", 0, 0, G_OPTION_ARG_NONE, &o.reference,
      "Compare with the same slice in double precision (else with the first variant)", NULL },
    { "budget", 0, 0, G_OPTION_ARG_NONE, &o.budget,
      "What storage, weights, sums and filter each add to the error, one at a time", NULL },
    { "quick", 0, 0, G_OPTION_ARG_NONE, &o.quick,
      "No even and odd views: neither noise nor resolution", NULL },
    { "line", 0, 0, G_OPTION_ARG_STRING, &o.line,
      "The profile's line (the row or column that crosses most)", "X0,Y0,X1,Y1" },
    { "csv", 0, 0, G_OPTION_ARG_FILENAME, &o.csv, "Write the numbers", "FILE" },
    { "picture", 0, 0, G_OPTION_ARG_FILENAME, &o.picture,
      "Write curves (.svg) or all pictures side by side (.png, .tif)", "FILE" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &o.overwrite,
      "Replace the files of --save, --csv and --picture", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &help,
                                    entries, &path);
  if (status < 0)
    status = cli_lab_check (&recipe, &o);
  return status >= 0 ? status : cli_lab (&recipe, path, &o);
}
