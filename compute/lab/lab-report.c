/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-report.h"

#include <math.h>
#include <string.h>

#include "dataset/csv-text.h"

/* ── Curves ── */

static const char *
lab_report_name (const TdLab *lab, int index)
{
  return index < 0 ? N_ ("reference, double")
                   : ((TdLabVariant *) lab->variants->pdata[index])->name;
}

static const TdLabOutcome *
lab_report_outcome (const TdLabResult *result, int index)
{
  const TdLabOutcome *outcome = index < 0 ? result->reference : result->outcomes[index];

  return outcome && outcome->pixels ? outcome : NULL;
}

static TdLabSeries *
lab_report_add_profile (TdLabPlot *plot, const TdLab *lab, const TdLabResult *result, int index)
{
  const TdLabOutcome *outcome = lab_report_outcome (result, index);
  const TdLabPicture picture = { outcome->pixels, outcome->nx, outcome->ny };

  return td_lab_plot_add_profile (plot, lab_report_name (lab, index), index, &picture,
                                  &result->line);
}

TdLabPlot *
td_lab_plot_profile (const TdLab *lab, const TdLabResult *result)
{
  TdLabPlot *plot = td_lab_plot_new ("Profile", N_ ("pixels along the line"), N_ ("value"));

  for (int i = -1; i < (int) result->n; i++)
    if (lab_report_outcome (result, i))
      lab_report_add_profile (plot, lab, result, i);
  td_lab_plot_fit (plot);
  return plot;
}

static void
lab_report_add_level (TdLabPlot *plot, const char *name, double x1, double level)
{
  TdLabSeries *series = td_lab_plot_add (plot, name, 0x777777, 2);

  series->dashed = TRUE;
  series->x[0] = 0;
  series->x[1] = x1;
  series->y[0] = series->y[1] = level;
}

TdLabPlot *
td_lab_plot_differences (const TdLab *lab, const TdLabResult *result)
{
  const TdLabOutcome *against = td_lab_against (result);
  g_autofree char *title
      = against ? g_strdup_printf ("Difference from %s", lab_report_name (lab, result->against))
                : g_strdup ("Difference");
  TdLabPlot *plot = td_lab_plot_new (title, N_ ("pixels along the line"), N_ ("|difference|"));
  double length = hypot (result->line.x1 - result->line.x0, result->line.y1 - result->line.y0);

  plot->y_log = TRUE;
  for (int i = 0; against && i < (int) result->n; i++) {
    const TdLabOutcome *outcome = lab_report_outcome (result, i);
    if (!outcome || !outcome->compared || i == result->against)
      continue;
    const TdLabPicture picture = { against->pixels, against->nx, against->ny };
    td_lab_series_differ (lab_report_add_profile (plot, lab, result, i), &picture, &result->line);
  }
  if (result->noise > 0)
    lab_report_add_level (plot, N_ ("the data's noise"), length, result->noise);
  td_lab_plot_fit (plot);
  return plot;
}

TdLabPlot *
td_lab_plot_frc (const TdLab *lab, const TdLabResult *result)
{
  TdLabPlot *plot = td_lab_plot_new ("Fourier ring correlation, even against odd views",
                                     N_ ("cycles a pixel"), N_ ("correlation"));
  const TdLabFrc *any = NULL;

  for (guint i = 0; i < result->n; i++) {
    const TdLabOutcome *outcome = lab_report_outcome (result, (int) i);
    if (!outcome || !outcome->frc)
      continue;
    any = outcome->frc;
    TdLabSeries *series = td_lab_plot_add (plot, lab_report_name (lab, (int) i),
                                           td_lab_plot_colour ((int) i), any->n);
    memcpy (series->x, any->frequency, any->n * sizeof (double));
    memcpy (series->y, any->correlation, any->n * sizeof (double));
  }
  if (any) {
    TdLabSeries *series = td_lab_plot_add (plot, N_ ("half bit"), 0x777777, any->n);
    series->dashed = TRUE;
    memcpy (series->x, any->frequency, any->n * sizeof (double));
    memcpy (series->y, any->half_bit, any->n * sizeof (double));
    lab_report_add_level (plot, "1/7", 0.5, 1.0 / 7);
  }
  td_lab_plot_fit (plot);
  return plot;
}

/* Warm times come one by one, after all the first ones. */
static gboolean
lab_report_is_warm (const TdLabResult *result)
{
  for (guint i = 0; i < result->n; i++) {
    const TdLabOutcome *outcome = lab_report_outcome (result, (int) i);
    if (outcome && isfinite (outcome->warm_s))
      return TRUE;
  }
  return FALSE;
}

TdLabPlot *
td_lab_plot_scatter (const TdLab *lab, const TdLabResult *result)
{
  const gboolean warm = lab_report_is_warm (result);
  TdLabPlot *plot = td_lab_plot_new ("Time against error",
                                     warm ? N_ ("seconds, warm") : N_ ("seconds, first run"),
                                     N_ ("RMS difference"));

  plot->x_log = plot->y_log = TRUE;
  for (guint i = 0; i < result->n; i++) {
    const TdLabOutcome *outcome = lab_report_outcome (result, (int) i);
    TdLabSeries *series
        = td_lab_plot_add (plot, lab_report_name (lab, (int) i), td_lab_plot_colour ((int) i), 1);
    series->dots = TRUE;
    series->x[0] = series->y[0] = NAN;
    if (!outcome || !outcome->compared)
      continue;
    series->x[0] = warm ? outcome->warm_s : outcome->first_s;
    series->y[0] = outcome->difference.rms;
  }
  td_lab_plot_fit (plot);
  return plot;
}

char *
td_lab_svg (const TdLab *lab, const TdLabResult *result)
{
  g_autoptr (TdLabPlot) profile = td_lab_plot_profile (lab, result);
  g_autoptr (TdLabPlot) differences = td_lab_plot_differences (lab, result);
  g_autoptr (TdLabPlot) frc = td_lab_plot_frc (lab, result);
  g_autoptr (TdLabPlot) scatter = td_lab_plot_scatter (lab, result);
  TdLabPlot *plots[] = { profile, frc, differences, scatter };

  return td_lab_plots_svg (plots, G_N_ELEMENTS (plots), 2, 620, 320);
}

/* ── Numbers ── */

static void
lab_report_text (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text ? text : "", -1);

  td_csv_add_text (out, valid);
}

static void
lab_report_difference (GString *out, const TdLabDifference *difference, double noise)
{
  td_csv_add_number (out, difference ? difference->rms : NAN);
  td_csv_add_number (out, difference ? difference->relative_rms : NAN);
  td_csv_add_number (out, difference ? difference->max_abs : NAN);
  td_csv_add_number (out, difference ? difference->psnr_db : NAN);
  td_csv_add_number (out, difference && noise > 0 ? difference->rms / noise : NAN);
}

static void
lab_report_row (GString *out, const TdLab *lab, const TdLabResult *result, int index)
{
  const TdLabOutcome *outcome = index < 0 ? result->reference : result->outcomes[index];
  const TdLabVariant *variant = index < 0 ? NULL : lab->variants->pdata[index];
  g_autofree char *astray = td_messages_join (outcome->astray, "; ", NULL);
  g_autofree char *error = outcome->error ? td_error_text (outcome->error, NULL) : NULL;

  lab_report_text (out, lab_report_name (lab, index));
  lab_report_text (out, variant ? variant->options : "");
  lab_report_text (out, error ? error : astray);
  lab_report_text (out, outcome->device);
  lab_report_text (out, outcome->method);
  lab_report_text (out, outcome->kernel);
  lab_report_text (out, outcome->words);
  lab_report_text (out, outcome->precision);
  td_csv_add_number (out, outcome->first_s);
  td_csv_add_number (out, outcome->warm_s);
  td_csv_add_number (out, outcome->updates_per_s * 1e-9);
  td_csv_add_number (out, outcome->host_bytes ? outcome->host_bytes : NAN);
  td_csv_add_number (out, outcome->device_bytes ? outcome->device_bytes : NAN);
  lab_report_difference (out, outcome->compared ? &outcome->difference : NULL, result->noise);
  td_csv_add_number (out, outcome->arithmetic);
  td_csv_add_number (out, outcome->bound);
  td_csv_add_number (out, outcome->noise);
  td_csv_add_number (out, outcome->frc && outcome->frc->half_bit_px > 0 ? outcome->frc->half_bit_px
                                                                        : NAN);
  td_csv_add_number (out,
                     outcome->frc && outcome->frc->seventh_px > 0 ? outcome->frc->seventh_px : NAN);
  lab_report_text (out, outcome->units);
  g_string_append (out, "\r\n");
}

char *
td_lab_csv (const TdLab *lab, const TdLabResult *result)
{
  GString *out = g_string_new (
      "variant,options,remark,device,method,kernel,kernel_words,precision,first_s,warm_s,gups,"
      "host_bytes,device_bytes,rms,relative_rms,largest,psnr_db,rms_in_noise,arithmetic_error,"
      "bound,noise,resolution_half_bit_px,resolution_seventh_px,units\r\n");

  for (int i = 0; i < (int) result->n; i++)
    lab_report_row (out, lab, result, i);
  if (result->reference)
    lab_report_row (out, lab, result, -1);
  for (guint i = 0; i < result->budget_n; i++) {
    const TdLabBudgetRow *row = &result->budget[i];
    lab_report_text (out, row->id);
    g_string_append (out, ",,budget,,,,,,,,,,");
    lab_report_difference (out, &row->difference, result->noise);
    g_string_append (out, ",,,,,,\r\n");
  }
  return g_string_free (out, FALSE);
}
