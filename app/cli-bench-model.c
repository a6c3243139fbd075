/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-bench-model.h"

#include "cli.h"
#include "compute/bench/model.h"

/* What the model says of one measured row. */
typedef struct {
  const TdBenchRow *row;
  TdUpdateCost cost;
  double ceiling;
  TdUnit bound_by;
} Prediction;

/* FALSE: there is no model for the row's family. */
static gboolean
cli_bench_model_predict (TdDevice *device, const TdBenchSpec *spec, const TdUnitRates *rates,
                         const TdBenchRow *row, Prediction *prediction)
{
  const TdBackprojectFamily *family = td_backproject_family (row->family, NULL);
  guint size = spec->size ? spec->size : spec->n_columns;
  const TdBackprojectTask task = {
    .n_columns = spec->n_columns,
    .n_views = spec->n_views,
    .nx = size,
    .ny = size,
    .step = 1,
    .interpolation = spec->interpolation,
    .precision = spec->precision,
  };

  prediction->row = row;
  if (!family
      || !td_update_cost (family, &task, td_device_info (device), row->n_slices, &prediction->cost))
    return FALSE;
  prediction->ceiling = td_model_ceiling (&prediction->cost, rates, &prediction->bound_by);
  return TRUE;
}

static void
append_rates (GString *out, TdDevice *device, const TdUnitRates *rates)
{
  g_string_append_printf (out, "%s (%s), measured, in 10⁹ a second:", td_device_info (device)->name,
                          td_device_info (device)->id);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    g_string_append_printf (out, "%s %s%s %.0f", u ? "," : "", td_unit_name (u),
                            u == TD_UNIT_LOCAL ? " bytes" : "", rates->per_second[u] * 1e-9);
  g_string_append (out, "\n\nOperations an update, the rate they allow, and what was measured:\n");
}

/* The model knows nothing of what packs the sinograms. */
static double
cli_bench_model_kernel_rate (const TdBenchRow *row)
{
  return row->kernel_updates_per_s > 0 ? row->kernel_updates_per_s : row->updates_per_s;
}

static int
cli_bench_model_print_table (TdDevice *device, const TdUnitRates *rates,
                             const Prediction *predictions, guint n)
{
  g_autoptr (GString) out = g_string_new (NULL);

  append_rates (out, device, rates);
  g_string_append_printf (out, "%-13s %6s", "family", "slices");
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    g_string_append_printf (out, " %12s", td_unit_name (u));
  g_string_append_printf (out, " %13s %-13s %13s %9s", "ceiling GU/s", "bound by", "measured GU/s",
                          "of it");
  for (guint i = 0; i < n; i++) {
    const Prediction *p = &predictions[i];
    g_string_append_printf (out, "\n%-13s %6u", p->row->family, p->row->n_slices);
    for (guint u = 0; u < TD_UNIT_COUNT; u++)
      g_string_append_printf (out, " %12.3f", p->cost.per_update[u]);
    g_string_append_printf (out, " %13.1f %-13s %13.1f %7.0f %%", p->ceiling * 1e-9,
                            td_unit_name (p->bound_by), cli_bench_model_kernel_rate (p->row) * 1e-9,
                            100 * cli_bench_model_kernel_rate (p->row) / p->ceiling);
  }
  return td_cli_print_text (out->str);
}

static void
add_units (JsonBuilder *builder, const char *name, const double *values)
{
  td_json_begin_object (builder, name);
  for (guint u = 0; u < TD_UNIT_COUNT; u++)
    td_json_add_number (builder, td_unit_name (u), values[u]);
  json_builder_end_object (builder);
}

static int
cli_bench_model_print_json (TdDevice *device, const TdUnitRates *rates,
                            const Prediction *predictions, guint n)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "device", td_device_info (device)->id);
  add_units (builder, "units_per_second", rates->per_second);
  td_json_begin_list (builder, "rows");
  for (guint i = 0; i < n; i++) {
    const Prediction *p = &predictions[i];
    json_builder_begin_object (builder);
    td_json_add_string (builder, "family", p->row->family);
    td_json_add_integer (builder, "slices", p->row->n_slices);
    add_units (builder, "per_update", p->cost.per_update);
    td_json_add_number (builder, "ceiling_updates_per_second", p->ceiling);
    td_json_add_string (builder, "bound_by", td_unit_name (p->bound_by));
    td_json_add_number (builder, "updates_per_second", cli_bench_model_kernel_rate (p->row));
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

int
td_cli_bench_model (TdDevice *device, const TdBenchSpec *spec, GPtrArray *rows, gboolean json)
{
  g_autofree Prediction *predictions = g_new0 (Prediction, rows->len);
  g_autoptr (GError) error = NULL;
  TdUnitRates rates;
  guint n = 0;

  if (!td_unit_rates_measure (device, &rates, &error))
    return td_cli_fail (error);
  for (guint i = 0; i < rows->len; i++)
    n += cli_bench_model_predict (device, spec, &rates, rows->pdata[i], &predictions[n]);
  return json ? cli_bench_model_print_json (device, &rates, predictions, n)
              : cli_bench_model_print_table (device, &rates, predictions, n);
}
