/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline.h"

#include <string.h>

#include "pins.h"

static void
keep_slices (guint first, guint count, const float *slices, gpointer user)
{
  TdTestVolume *volume = user;
  gsize n = (gsize) volume->nx * volume->ny;

  g_assert_cmpuint (first + count, <=, volume->n_slices);
  memcpy (volume->slices + first * n, slices, count * n * sizeof *slices);
}

/* What a plan says, and what its job made, on the host: other devices are not the same everywhere.
 */
static void
pipeline_pin (const TdPlanFacts *facts, const TdTestVolume *volume)
{
  td_test_pin (
      "%s: %u × %u, %u from %u, %u slabs of %u, about %.4f, pixel %.5g, %s, %s, %.9g updates",
      facts->method, facts->nx, facts->ny, facts->n_slices, facts->first_slice, facts->n_slabs,
      facts->slab_slices, facts->centre_px, facts->pixel_mm,
      facts->half_acquisition ? "half" : "whole", facts->units, facts->updates);
  td_test_pin ("read %" G_GUINT64_FORMAT ", write %" G_GUINT64_FORMAT, facts->read_bytes,
               facts->write_bytes);
  td_test_pin ("host %" G_GUINT64_FORMAT ", device %" G_GUINT64_FORMAT, facts->host_bytes,
               facts->device_bytes);
  for (guint i = 0; facts->notes && facts->notes[i]; i++) {
    g_autofree char *note = td_message_text (facts->notes[i], NULL);
    td_test_pin ("note: %s", note);
  }
  td_test_pin_values ("slices", volume->slices, (gsize) facts->nx * facts->ny * facts->n_slices);
}

/* What any job that is done says of itself: all slices came, all was computed, once at least. No
   stage was busy for longer than threads can be, nor for less than no time. */
static void
pipeline_check_job (TdJob *job)
{
  const TdPlan *plan = td_job_plan (job);
  const TdPlanFacts *facts = td_plan_facts (plan);
  const TdJobResult *result = td_job_result (job);
  TdJobProgress progress;

  td_job_progress (job, &progress);
  g_assert_cmpint (progress.state, ==, TD_JOB_DONE);
  g_assert_cmpfloat (progress.fraction, ==, 1);
  g_assert_cmpfloat (progress.remaining_s, ==, 0);
  g_assert_cmpuint (progress.slices_done, ==, facts->n_slices);
  g_assert_cmpuint (progress.n_slices, ==, facts->n_slices);
  g_assert_cmpfloat (result->seconds, >, 0);
  const double most_s = (16 + 2 * g_get_num_processors ()) * result->seconds + 1e-3;
  for (guint i = 0; i < result->n_stages; i++) {
    g_assert_cmpfloat (result->stages[i].seconds, >=, 0);
    g_assert_cmpfloat (result->stages[i].seconds, <=, most_s);
  }
  /* Iterations may end early. */
  if (!td_method_iterates (td_plan_recipe (plan)->method))
    g_assert_cmpfloat (result->updates_per_s * result->seconds, >=, 0.999 * facts->updates);
}

gboolean
td_test_reconstruct (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume,
                     GError **error)
{
  memset (volume, 0, sizeof *volume);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, error);
  if (!plan)
    return FALSE;

  const TdPlanFacts *facts = td_plan_facts (plan);
  gsize samples = (gsize) facts->nx * facts->ny * facts->n_slices;
  volume->nx = facts->nx;
  volume->ny = facts->ny;
  volume->n_slices = facts->n_slices;
  volume->slices = g_new (float, samples);
  /* Bytes of 0xff are NaN: a slice that never comes shows. */
  memset (volume->slices, 0xff, samples * sizeof (float));

  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, keep_slices, volume);
  if (!td_job_run (job, NULL, error)) {
    td_test_volume_clear (volume);
    return FALSE;
  }
  pipeline_check_job (job);
  if (g_str_equal (recipe->devices, "host"))
    pipeline_pin (facts, volume);
  volume->result = *td_job_result (job);
  volume->device = g_strdup (volume->result.device);
  volume->family = g_strdup (volume->result.family);
  volume->notes = td_messages_join (volume->result.notes, "\n", NULL);
  td_job_passes (job, &volume->n_passes);
  return TRUE;
}

void
td_test_volume_clear (TdTestVolume *volume)
{
  g_free (volume->slices);
  g_free (volume->device);
  g_free (volume->family);
  g_free (volume->notes);
  memset (volume, 0, sizeof *volume);
}

TdScan *
td_test_scan (const float *sinograms, guint n_rows, guint n_views, guint n_columns,
              const double *angles_rad)
{
  float *views = g_new (float, (gsize) n_rows *n_views *n_columns);
  TdScanFacts facts = {
    .n_columns = n_columns,
    .n_rows = n_rows,
    .n_views = n_views,
    .sample_type = TD_SAMPLE_FLOAT32,
    .transmission_logged = TRUE,
    .angles_rad = (double *) angles_rad,
  };

  for (gsize row = 0; row < n_rows; row++)
    for (gsize view = 0; view < n_views; view++)
      memcpy (views + (view * n_rows + row) * n_columns,
              sinograms + (row * n_views + view) * n_columns, n_columns * sizeof *views);
  td_geometry_init_parallel (&facts.geometry);
  return td_scan_new_from_memory (&facts, views, NULL, NULL, g_free, views);
}

TdScan *
td_test_tilted_scan (TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (spec, NULL, 48, 41, 60);
  spec->centre_px = 8.4;
  spec->tilt_deg = 5;
  spec->range_deg = 360;
  spec->offset_field = TRUE;
  spec->logged = TRUE;
  TdScan *scan = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  return scan;
}

GPtrArray *
td_test_devices (void)
{
  GPtrArray *ids = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) entries = td_device_list ();

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    if (entry->available)
      g_ptr_array_insert (ids, strcmp (entry->id, "host") == 0 ? 0 : -1, g_strdup (entry->id));
  }
  return ids;
}

gboolean
td_test_two_alike (void)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  const char *names[2] = { NULL, NULL };

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    for (guint k = 0; k < 2; k++)
      if (entry->available && strcmp (entry->id, k ? "opencl:1" : "opencl:0") == 0)
        names[k] = entry->name;
  }
  if (names[0] && names[1] && strcmp (names[0], names[1]) == 0)
    return TRUE;
  g_test_skip ("opencl:0 and opencl:1 are no two devices of one kind");
  return FALSE;
}

void
td_test_play_cards (GPtrArray *devices, gboolean cards)
{
  for (guint d = 0; d < devices->len; d++)
    ((TdDevice *) devices->pdata[d])->info.kind = cards ? TD_DEVICE_GPU : TD_DEVICE_CPU;
}

guint64
td_test_floats (guint64 a, guint64 b, guint64 c)
{
  return a * b * c * sizeof (float);
}
