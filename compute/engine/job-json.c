/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>
#include <math.h>

#include "config.h"
#include "job-private.h"

static void
add_number (JsonBuilder *builder, const char *name, double value)
{
  json_builder_set_member_name (builder, name);
  if (isfinite (value))
    json_builder_add_double_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

static void
add_integer (JsonBuilder *builder, const char *name, guint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, (gint64) value);
}

static void
add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  if (value)
    json_builder_add_string_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

static void
add_stages (JsonBuilder *builder, const TdJobResult *result)
{
  json_builder_set_member_name (builder, "stages");
  json_builder_begin_array (builder);
  for (guint i = 0; i < result->n_stages; i++) {
    json_builder_begin_object (builder);
    add_string (builder, "name", result->stages[i].name);
    add_number (builder, "seconds", result->stages[i].seconds);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static void
add_counts (JsonBuilder *builder, const TdJobResult *result)
{
  add_integer (builder, "clamped_transmissions", result->clamped_transmissions);
  add_integer (builder, "bad_values", result->bad_values);
  add_integer (builder, "dead_pixels", result->dead_pixels);
}

static char *
to_text (JsonBuilder *builder)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}

char *
td_job_result_json (TdJob *job)
{
  const TdJobResult *result = &job->result;
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  add_string (builder, "output", result->output);
  add_string (builder, "device", result->device);
  add_string (builder, "kernel", result->family);
  add_number (builder, "centre_px", result->centre_px);
  add_integer (builder, "slices", job->plan->facts.n_slices);
  add_number (builder, "seconds", result->seconds);
  add_number (builder, "updates_per_second", result->updates_per_s);
  add_stages (builder, result);
  add_counts (builder, result);
  add_integer (builder, "clamped_output", result->clamped_output);
  add_integer (builder, "host_peak_bytes", result->host_peak_bytes);
  add_integer (builder, "device_peak_bytes", result->device_peak_bytes);
  json_builder_set_member_name (builder, "notes");
  json_builder_begin_array (builder);
  for (guint i = 0; result->notes && result->notes[i]; i++)
    json_builder_add_string_value (builder, result->notes[i]);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  return to_text (builder);
}

static void
add_scan (JsonBuilder *builder, const TdScanFacts *facts)
{
  json_builder_set_member_name (builder, "scan");
  json_builder_begin_object (builder);
  add_string (builder, "path", facts->path);
  add_string (builder, "format", facts->format);
  add_integer (builder, "columns", facts->n_columns);
  add_integer (builder, "rows", facts->n_rows);
  add_integer (builder, "views", facts->n_views);
  add_integer (builder, "flats", facts->n_flats);
  add_integer (builder, "darks", facts->n_darks);
  add_number (builder, "first_angle_deg", facts->angles_rad[0] * 180 / G_PI);
  add_number (builder, "last_angle_deg", facts->angles_rad[facts->n_views - 1] * 180 / G_PI);
  add_number (builder, "pixel_mm", facts->geometry.pixel_width_mm);
  json_builder_end_object (builder);
}

char *
td_job_provenance_json (TdJob *job)
{
  const TdPlan *plan = job->plan;
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *when = g_date_time_format_iso8601 (now);
  g_autofree char *recipe = td_recipe_to_json (&plan->recipe);

  json_builder_begin_object (builder);
  add_string (builder, "program", "Tomodesk");
  add_string (builder, "version", TD_VERSION);
  add_string (builder, "finished", when);
  add_scan (builder, td_scan_facts (plan->scan));
  json_builder_set_member_name (builder, "recipe");
  json_builder_add_value (builder, json_from_string (recipe, NULL));
  g_mutex_lock (&job->lock);
  add_string (builder, "device", job->result.device);
  add_string (builder, "kernel", job->result.family);
  add_string (builder, "units", plan->facts.units);
  add_number (builder, "seconds", (g_get_monotonic_time () - job->started_us) * 1e-6);
  add_stages (builder, &job->result);
  add_counts (builder, &job->result);
  g_mutex_unlock (&job->lock);
  json_builder_end_object (builder);
  return to_text (builder);
}
