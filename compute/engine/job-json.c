/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "config.h"
#include "dataset/angles.h"
#include "job-private.h"
#include "compute/recipe/field.h"
#include "compute/recipe/json.h"

static void
add_stages (JsonBuilder *builder, const TdJobResult *result)
{
  td_json_begin_list (builder, "stages");
  for (guint i = 0; i < result->n_stages; i++) {
    json_builder_begin_object (builder);
    td_json_add_string (builder, "name", result->stages[i].name);
    td_json_add_number (builder, "seconds", result->stages[i].seconds);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static void
add_passes (JsonBuilder *builder, TdJob *job)
{
  guint n;
  const TdJobPass *passes = td_job_passes (job, &n);

  if (n == 0)
    return;
  td_json_begin_list (builder, "passes");
  for (guint i = 0; i < n; i++) {
    json_builder_begin_object (builder);
    td_json_add_number (builder, "seconds", passes[i].seconds);
    td_json_add_number (builder, "residual", passes[i].residual);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static void
add_counts (JsonBuilder *builder, const TdPreparationCounts *counts)
{
  td_json_add_integer (builder, "clamped_transmissions", counts->clamped_transmissions);
  td_json_add_integer (builder, "bad_values", counts->bad_values);
  td_json_add_integer (builder, "dead_pixels", counts->dead_pixels);
  td_json_add_integer (builder, "stuck_pixels", counts->stuck_pixels);
  td_json_add_integer (builder, "bad_pixels", counts->bad_pixels);
  td_json_add_integer (builder, "zingers", counts->zingers);
  td_json_add_integer (builder, "zingers_angle", counts->zingers_angle);
  if (counts->dose_high > 0) {
    td_json_add_number (builder, "dose_low", counts->dose_low);
    td_json_add_number (builder, "dose_high", counts->dose_high);
  }
}

char *
td_job_result_json (TdJob *job)
{
  const TdJobResult *result = &job->result;
  TdMessage **notes = td_messages_copy (job->plan->facts.notes);
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "output", result->output);
  td_json_add_string (builder, "device", result->device);
  td_json_add_string (builder, "kernel", result->family);
  td_json_add_string (builder, "precision", result->precision);
  td_json_add_number (builder, "centre_px", result->centre_px);
  td_json_add_integer (builder, "slices", job->plan->facts.n_slices);
  td_json_add_number (builder, "seconds", result->seconds);
  td_json_add_number (builder, "updates_per_second", result->updates_per_s);
  add_stages (builder, result);
  add_passes (builder, job);
  add_counts (builder, &result->counts);
  td_json_add_integer (builder, "clamped_output", result->clamped_output);
  td_json_add_integer (builder, "host_peak_bytes", result->host_peak_bytes);
  td_json_add_integer (builder, "device_peak_bytes", result->device_peak_bytes);
  td_messages_append (&notes, result->notes);
  td_json_add_notes (builder, notes);
  td_messages_free (notes);
  json_builder_end_object (builder);
  return td_json_print (builder);
}

static void
add_scan (JsonBuilder *builder, const TdScanFacts *facts)
{
  td_json_begin_object (builder, "scan");
  td_json_add_string (builder, "path", facts->path);
  td_json_add_string (builder, "format", facts->format);
  td_json_add_integer (builder, "columns", facts->n_columns);
  td_json_add_integer (builder, "rows", facts->n_rows);
  td_json_add_integer (builder, "views", facts->n_views);
  td_json_add_integer (builder, "flats", facts->n_flats);
  td_json_add_integer (builder, "darks", facts->n_darks);
  td_json_add_number (builder, "first_angle_deg", td_degrees (facts->angles_rad[0]));
  td_json_add_number (builder, "last_angle_deg",
                      td_degrees (facts->angles_rad[facts->n_views - 1]));
  td_json_add_number (builder, "pixel_mm", facts->geometry.pixel_width_mm);
  json_builder_end_object (builder);
}

char *
td_job_provenance_json (TdJob *job)
{
  const TdPlan *plan = job->plan;
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *when = g_date_time_format_iso8601 (now);

  json_builder_begin_object (builder);
  td_json_add_string (builder, "program", "Tomodesk");
  td_json_add_string (builder, "version", TD_VERSION);
  td_json_add_string (builder, "finished", when);
  add_scan (builder, td_scan_facts (plan->measured));
  td_recipe_add_json (builder, "recipe", &plan->recipe);
  g_mutex_lock (&job->lock);
  TdMessage **notes = td_messages_copy (plan->facts.notes);
  td_messages_append (&notes, job->notes);
  g_mutex_unlock (&job->lock);
  td_json_add_notes (builder, notes);
  td_messages_free (notes);
  if (plan->facts.axis_searched) {
    td_json_begin_object (builder, "axis");
    td_json_add_boolean (builder, "agreed", plan->facts.axis_agreed);
    td_json_add_number (builder, "sigma_px", plan->facts.axis_sigma_px);
    json_builder_end_object (builder);
  }
  g_mutex_lock (&job->lock);
  td_json_add_string (builder, "device", job->result.device);
  td_json_add_string (builder, "kernel", job->result.family);
  td_json_add_string (builder, "precision", job->result.precision);
  td_json_add_string (builder, "units", plan->facts.units);
  td_json_add_number (builder, "seconds", (g_get_monotonic_time () - job->started_us) * 1e-6);
  add_stages (builder, &job->result);
  add_counts (builder, &job->result.counts);
  g_mutex_unlock (&job->lock);
  json_builder_end_object (builder);
  return td_json_print (builder);
}
