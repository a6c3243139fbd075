/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "cli-verbs.h"
#include "cli.h"
#include "compute/device/device-probe.h"
#include "compute/engine/fdk/fdk-self-test.h"
#include "compute/device/device.h"
#include "dataset/unit.h"

static const TdCliHelp help = {
  "[OPTION…]",
  "Lists the devices that can reconstruct, and why others cannot. A card that two programming\n"
  "interfaces see is listed under both; they are the same hardware.",
  "  What is there?\n"
  "    tomodesk-cli devices\n"
  "  Does every kernel compute the right thing here? Those that do not are no longer used:\n"
  "    tomodesk-cli devices --self-test\n",
};

/* One device with its self-test, if that was asked for. */
typedef struct {
  const TdDeviceEntry *entry;
  GPtrArray *tests[2]; /* TdSelfTestRow, of parallel and cone beams; NULL: not tested */
  GError *error;       /* the test could not run */
} Report;

static void
cli_devices_report_free (gpointer data)
{
  Report *report = data;

  for (guint beam = 0; beam < 2; beam++)
    g_clear_pointer (&report->tests[beam], g_ptr_array_unref);
  g_clear_error (&report->error);
  g_free (report);
}

static void
cli_devices_tell (const TdSelfTestRow *about, guint number, guint total, gpointer device)
{
  g_autofree char *detail
      = g_strdup_printf (", %s, %s", about->n_slices ? "parallel beam" : "cone", about->family);

  td_cli_progress (device, (number - 1.0) / total, -1, detail);
}

static void
self_test (Report *report)
{
  const char *id = report->entry->id;
  g_autoptr (TdDevice) device = td_device_open (id, &report->error);

  if (device)
    report->tests[0] = td_self_test_device (device, cli_devices_tell, (gpointer) id,
                                            td_cli_cancellable (), &report->error);
  if (report->tests[0])
    report->tests[1] = td_fdk_self_test_device (device, cli_devices_tell, (gpointer) id,
                                                td_cli_cancellable (), &report->error);
  td_cli_progress_clear ();
}

/* ── Text ── */

static void
cli_devices_print_test (const TdSelfTestRow *row)
{
  const char *precision = td_precision_names[row->precision];

  td_cli_print ("    %-4s ", row->passed ? "ok" : "FAIL");
  if (row->n_slices)
    td_cli_print ("%-12s %-8s %-8s %u slices", row->family,
                  td_interpolation_names[row->interpolation], precision, row->n_slices);
  else
    td_cli_print ("cone %-16s %-17s", row->family, precision);
  g_autofree char *reason = td_message_words (row->reason, NULL);
  td_cli_print ("  error %.1e of %.1e%s%s\n", row->error, row->bound, reason ? ": " : "",
                reason ? reason : "");
}

static void
print_tests (const Report *report)
{
  for (guint beam = 0; beam < 2 && report->tests[beam]; beam++)
    for (guint i = 0; i < report->tests[beam]->len; i++)
      cli_devices_print_test (report->tests[beam]->pdata[i]);
  if (report->error)
    td_cli_print ("    FAIL %s\n", report->error->message);
}

static void
cli_devices_print_text (GPtrArray *reports)
{
  for (guint i = 0; i < reports->len; i++) {
    const Report *report = reports->pdata[i];
    const TdDeviceEntry *entry = report->entry;
    g_autofree char *memory
        = entry->memory_bytes ? td_memory_text (entry->memory_bytes) : g_strdup ("");
    td_cli_print ("%-10s %s%s%s", entry->id, entry->name, *memory ? ", " : "", memory);
    if (entry->same_as)
      td_cli_print (" (the same hardware as %s)", entry->same_as);
    if (!entry->available) {
      g_autofree char *reason = td_message_words (entry->reason, NULL);
      td_cli_print ("\n           not available: %s", reason);
    }
    td_cli_print ("\n");
    print_tests (report);
  }
}

/* ── JSON ── */

static void
cli_devices_add_tests (JsonBuilder *builder, const char *member, const GPtrArray *tests)
{
  td_json_begin_list (builder, member);
  for (guint i = 0; tests && i < tests->len; i++) {
    const TdSelfTestRow *row = tests->pdata[i];
    json_builder_begin_object (builder);
    td_json_add_string (builder, "family", row->family);
    if (row->n_slices) {
      td_json_add_string (builder, "interpolation", td_interpolation_names[row->interpolation]);
      td_json_add_integer (builder, "slices", row->n_slices);
    }
    td_json_add_string (builder, "precision", td_precision_names[row->precision]);
    td_json_add_boolean (builder, "passed", row->passed);
    if (isfinite (row->error))
      td_json_add_number (builder, "error", row->error);
    td_json_add_number (builder, "bound", row->bound);
    g_autofree char *reason = td_message_words (row->reason, NULL);
    td_json_add_string (builder, "reason", reason);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static int
cli_devices_print_json (GPtrArray *reports, gboolean tested)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_array (builder);
  for (guint i = 0; i < reports->len; i++) {
    const Report *report = reports->pdata[i];
    const TdDeviceEntry *entry = report->entry;
    json_builder_begin_object (builder);
    td_json_add_string (builder, "id", entry->id);
    td_json_add_string (builder, "name", entry->name);
    td_json_add_string (builder, "kind",
                        entry->kind == TD_DEVICE_GPU   ? "gpu"
                        : entry->kind == TD_DEVICE_CPU ? "cpu"
                                                       : "other");
    td_json_add_string (builder, "api", entry->api);
    td_json_add_boolean (builder, "available", entry->available);
    g_autofree char *reason = td_message_words (entry->reason, NULL);
    td_json_add_string (builder, "reason", reason);
    td_json_add_integer (builder, "memory_bytes", entry->memory_bytes);
    td_json_add_string (builder, "same_as", entry->same_as);
    if (tested) {
      cli_devices_add_tests (builder, "tests", report->tests[0]);
      cli_devices_add_tests (builder, "cone_tests", report->tests[1]);
      td_json_add_string (builder, "test_error", report->error ? report->error->message : NULL);
    }
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  return td_cli_print_json (builder);
}

static guint
count_failures (GPtrArray *reports)
{
  guint failed = 0;

  for (guint i = 0; i < reports->len; i++) {
    const Report *report = reports->pdata[i];
    for (guint beam = 0; beam < 2 && report->tests[beam]; beam++)
      for (guint j = 0; j < report->tests[beam]->len; j++)
        failed += !((const TdSelfTestRow *) report->tests[beam]->pdata[j])->passed;
    failed += report->error != NULL;
  }
  return failed;
}

int
td_cli_devices (int argc, char **argv)
{
  gboolean test = FALSE, json = FALSE;
  char *only = NULL;
  const GOptionEntry entries[] = {
    { "self-test", 0, 0, G_OPTION_ARG_NONE, &test,
      "Run a small problem through every kernel family and take those that fail out of use", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &only, "Only this one", "ID" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON array", NULL },
    { NULL },
  };
  int status = td_cli_parse (argc, argv, &help, entries, NULL, 0, NULL);

  if (status >= 0)
    return status;
  td_device_probe_anew ();
  g_autoptr (GPtrArray) list = td_device_list ();
  g_autoptr (GPtrArray) reports = g_ptr_array_new_with_free_func (cli_devices_report_free);
  for (guint i = 0; i < list->len; i++) {
    const TdDeviceEntry *entry = list->pdata[i];
    if (only && !g_str_equal (only, entry->id))
      continue;
    Report *report = g_new0 (Report, 1);
    report->entry = entry;
    g_ptr_array_add (reports, report);
    td_cli_progress ("testing", (double) i / list->len, -1, entry->name);
    if (test && entry->available)
      self_test (report);
    if (g_error_matches (report->error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
      return td_cli_fail (report->error);
  }
  td_cli_progress_clear ();
  if (reports->len == 0)
    return td_cli_usage (argv[0], "there is no device \"%s\"", only);
  status = json ? cli_devices_print_json (reports, test) : TD_CLI_DONE;
  if (!json)
    cli_devices_print_text (reports);
  return status == TD_CLI_DONE && count_failures (reports) > 0 ? TD_CLI_FAILED : status;
}
