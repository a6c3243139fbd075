/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "cli-verbs.h"
#include "cli.h"
#include "compute/parallel/tune.h"

static const TdCliHelp help = {
  "[OPTION…]",
  "Finds the fastest variant of each back-projection kernel on a device, checks each against the\n"
  "default's result and keeps the best; every later reconstruction on this device uses it.",
  "  Once for the fastest device, after installing or after a new driver:\n"
  "    tomodesk-cli tune\n"
  "  One family on another device, for slices of 1024 pixels:\n"
  "    tomodesk-cli tune --device opencl:0 --family alu --size 1024\n",
};

static void
cli_tune_progress (const TdTuneStep *step, gpointer user)
{
  g_autofree char *what = g_strdup_printf (
      ", case %u of %u: %s, %s, %s, %u slices; variant %u of %u", step->number, step->n_cases,
      step->family->name, td_interpolation_names[step->interpolation],
      td_precision_names[step->precision], step->n_slices, step->variant, step->n_variants);

  td_cli_progress ("tuning", step->fraction, -1, what);
}

static int
cli_tune_print_json (GPtrArray *rows)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_array (builder);
  for (guint i = 0; i < rows->len; i++) {
    const TdTuneRow *row = rows->pdata[i];
    json_builder_begin_object (builder);
    td_json_add_string (builder, "family", row->family->name);
    td_json_add_string (builder, "interpolation", td_interpolation_names[row->interpolation]);
    td_json_add_string (builder, "precision", td_precision_names[row->precision]);
    td_json_add_integer (builder, "slices", row->n_slices);
    td_json_add_integer (builder, "candidates", row->candidates);
    td_json_add_integer (builder, "rejected", row->rejected);
    td_json_add_number (builder, "default_updates_per_second", row->default_rate);
    td_json_add_number (builder, "updates_per_second", row->best_rate);
    td_json_add_string (builder, "defines", row->defines);
    td_json_add_string (builder, "error", row->error);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  return td_cli_print_json (builder);
}

static void
cli_tune_print_table (GPtrArray *rows)
{
  td_cli_print (
      "family       interp.  precision slices  tried  out  default GU/s  best GU/s  variant\n");
  for (guint i = 0; i < rows->len; i++) {
    const TdTuneRow *row = rows->pdata[i];
    td_cli_print ("%-12s %-8s %-9s %6u %6u %4u ", row->family->name,
                  td_interpolation_names[row->interpolation], td_precision_names[row->precision],
                  row->n_slices, row->candidates, row->rejected);
    if (row->error)
      td_cli_print ("  %s\n", row->error);
    else
      td_cli_print ("%13.1f %10.1f  %s\n", row->default_rate * 1e-9, row->best_rate * 1e-9,
                    *row->defines ? row->defines : "default");
  }
}

int
td_cli_tune (int argc, char **argv)
{
  char *id = NULL, *family = NULL;
  gboolean json = FALSE;
  int size = 0, runs = 0;
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &id, "The device (default: the fastest)", "ID" },
    { "family", 0, 0, G_OPTION_ARG_STRING, &family, "Only this kernel family", "NAME" },
    { "size", 0, 0, G_OPTION_ARG_INT, &size,
      "Columns, views and slice width (default: 2048 on GPUs, 512 on CPUs)", "N" },
    { "runs", 0, 0, G_OPTION_ARG_INT, &runs, "Runs of which the best counts (default: 5)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON array", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  if (size < 0 || size > 16384 || runs < 0 || runs > 1000)
    return td_cli_usage (argv[0], "--size goes from 1 to 16384, --runs from 1 to 1000");
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  if (!device)
    return td_cli_fail (error);
  const TdTuneOptions options = { .size = size,
                                  .family = family,
                                  .runs = runs,
                                  .progress = cli_tune_progress,
                                  .cancellable = td_cli_cancellable () };
  g_autoptr (GPtrArray) rows = td_tune_device (device, &options, &error);
  td_cli_progress_clear ();
  if (!rows)
    return td_cli_fail (error);
  if (json)
    return cli_tune_print_json (rows);
  td_cli_print ("%s: %s, %s\n", td_device_info (device)->id, td_device_info (device)->name,
                td_device_info (device)->driver);
  cli_tune_print_table (rows);
  return TD_CLI_DONE;
}
