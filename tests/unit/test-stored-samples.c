/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices that a device makes integers of, and integers that it makes rows of: the same samples,
   counts and files as the host's. */
#include "compute/stored-samples.h"

#include <float.h>

#include "compute/methods/methods.h"
#include "compute/portion.h"
#include "dataset/sample.h"
#include "dataset/scan-writer.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"
#include "tests/common/faulty.h"
#include "tests/common/iterative.h"

/* ── The kernel ── */

#define LOW -0.75
#define HIGH 2.25
#define N 100003 /* more than a group takes, and no whole number of anything */
#define BEFORE 7 /* values before the first */

/* What is hard to round, to hold and to compare. */
static void
fill_values (float *values, guint bits)
{
  const double gain = (bits == 16 ? 65535 : 255) / (HIGH - LOW);
  static const float odd[]
      = { NAN,    INFINITY, -INFINITY, 0,           -0.0f,        1e-40f,     1e30f,
          -1e30f, FLT_MAX,  -FLT_MAX,  (float) LOW, (float) HIGH, 2.2500002f, -0.7500001f };

  td_test_random (values, N, 5);
  for (guint i = 0; i < N; i++)
    values[i] = i % 3 == 0 ? (float) (LOW + (i % 70000 + 0.5) / gain)
                           : 1.9f * values[i] + 0.75f; /* halves between samples; some outside */
  memcpy (values + 1234, odd, sizeof odd);
}

/* What is a part of a step past the range's end is outside, though it is rounded to the end. */
static void
test_ends (void)
{
  static const float values[]
      = { LOW, HIGH, LOW - 0.3f * (HIGH - LOW) / 255, HIGH + 0.3f * (HIGH - LOW) / 255 };
  guint8 samples[4];

  g_assert_cmpuint (
      td_samples_from_float (TD_SAMPLE_UINT8, LOW, 255 / (HIGH - LOW), values, 4, samples), ==, 2);
  g_assert_cmpmem (samples, 4, "\0\377\0\377", 4);
}

static void
check_values_on (const char *id, guint bits)
{
  const TdStoredScale scale = { bits, LOW, HIGH };
  const gsize bytes = N * (bits / 8);
  g_autofree float *values = g_new0 (float, BEFORE + N);
  g_autofree char *expected = g_malloc (bytes), *made = g_malloc (bytes);
  g_autofree guint32 *counts = g_malloc0 (td_stored_samples_counts_bytes (N));
  g_autoptr (GError) error = NULL;
  TdStoredCounts sum = { 5, FALSE };

  fill_values (values + BEFORE, bits);
  const double gain = (bits == 16 ? 65535 : 255) / (HIGH - LOW);
  const guint64 clamped = td_samples_from_float (bits == 16 ? TD_SAMPLE_UINT16 : TD_SAMPLE_UINT8,
                                                 LOW, gain, values + BEFORE, N, expected);
  TdDevice *device = td_test_open (id);
  TdQueue *queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_test_buffer (device, queue, values, (BEFORE + N) * sizeof (float));
  TdStoredSamples *stored = td_stored_samples_new (device, &scale, N, &error);
  g_assert_no_error (error);
  g_assert_true (td_stored_samples_run (stored, queue,
                                        (TdPlace) { buffer, BEFORE * sizeof (float) }, N, &error));
  g_assert_true (td_stored_samples_fetch (stored, queue, made, counts, &error));
  td_test_finish (queue);
  td_stored_samples_add (stored, counts, &sum);
  g_assert_cmpmem (made, bytes, expected, bytes);
  g_assert_cmpuint (sum.clamped, ==, 5 + clamped);
  g_assert_cmpuint (clamped, >, 1000);
  g_assert_true (sum.says);

  /* Zeros and what is no number say nothing; counts begin anew. */
  for (guint i = 0; i < N; i++)
    values[i] = i % 2 ? NAN : 0;
  g_assert_true (td_upload (queue, buffer, 0, values, N * sizeof (float), &error));
  g_assert_true (td_stored_samples_run (stored, queue, (TdPlace) { buffer, 0 }, N, &error));
  g_assert_true (td_stored_samples_fetch (stored, queue, made, counts, &error));
  td_test_finish (queue);
  sum = (TdStoredCounts) { 0, FALSE };
  td_stored_samples_add (stored, counts, &sum);
  g_assert_cmpuint (sum.clamped, ==, N / 2);
  g_assert_false (sum.says);
  td_stored_samples_free (stored);
  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

/* In one launch, and in many, the last of which is a part. */
static void
test_values (gconstpointer data)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();

  if (devices->len < 2)
    g_test_skip ("no device but the host");
  for (guint i = 1; i < devices->len; i++)
    for (td_portion_shift = 0; td_portion_shift <= 15; td_portion_shift += 15)
      check_values_on (devices->pdata[i], GPOINTER_TO_UINT (data));
  td_portion_shift = 0;
}

/* Samples that went up become the same rows, in however many launches. */
static void
check_rows_on (const char *id, guint bytes)
{
  g_autofree guint8 *samples = g_malloc (N * bytes);
  g_autofree float *rows = g_new0 (float, N);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N * bytes; i++)
    samples[i] = i * 7 + i / 256;
  TdDevice *device = td_test_open (id);
  TdQueue *queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_test_buffer (device, queue, rows, N * sizeof (float));
  TdRawSamples *raw = td_raw_samples_new (device, bytes, N, &error);
  g_assert_no_error (error);
  g_assert_true (td_upload (queue, td_raw_samples_buffer (raw), 0, samples, N * bytes, &error));
  g_assert_true (td_raw_samples_run (raw, queue, buffer, N, &error));
  g_assert_true (td_download (queue, rows, buffer, 0, N * sizeof (float), &error));
  td_test_finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (rows[i], ==, bytes == 1 ? samples[i] : ((guint16 *) samples)[i]);
  td_raw_samples_free (raw);
  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_rows (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();

  for (guint i = 1; i < devices->len; i++)
    for (guint bytes = 1; bytes <= 2; bytes++)
      for (td_portion_shift = 0; td_portion_shift <= 15; td_portion_shift += 15)
        check_rows_on (devices->pdata[i], bytes);
  td_portion_shift = 0;
}

/* A kernel that a device does not start is told of, either way. */
static void
test_not_started (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  const TdStoredScale scale = { 16, LOW, HIGH };

  for (guint i = 1; i < devices->len; i++) {
    TdDevice *device = td_test_open (devices->pdata[i]);
    TdQueue *queue = td_queue_new (device, NULL);
    TdBuffer *buffer = td_buffer_new (device, 64 * sizeof (float), NULL);
    TdStoredSamples *stored = td_stored_samples_new (device, &scale, 64, NULL);
    TdRawSamples *raw = td_raw_samples_new (device, 2, 64, NULL);

    for (guint way = 0; way < 2; way++) {
      g_autoptr (GError) error = NULL;
      td_faulty_begin (device);
      td_faulty.launches_left = 0;
      td_faulty.failures_left = 1;
      td_faulty.code = TD_ERROR_DEVICE_LOST;
      g_assert_false (
          way ? td_raw_samples_run (raw, queue, buffer, 64, &error)
              : td_stored_samples_run (stored, queue, (TdPlace) { buffer, 0 }, 64, &error));
      td_faulty_end ();
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
      td_test_pin_refused (error);
    }
    td_raw_samples_free (raw);
    td_stored_samples_free (stored);
    td_buffer_free (buffer);
    td_queue_free (queue);
    td_test_close (device);
  }
}

/* ── Jobs ── */

static TestFolder *folder;

typedef struct {
  GBytes *file;
  guint64 clamped, host_peak_bytes;
  gboolean converted; /* by the device */
  char *notes;
} Made;

static void
look (guint first, guint count, const float *slices, gpointer user)
{
}

static void
made_clear (Made *made)
{
  g_bytes_unref (made->file);
  g_free (made->notes);
}

/* What the volume holds: integers of one scale are alike if and only if their values are. */
static GBytes *
volume_bytes (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  const gsize n = (gsize) facts->nx * facts->ny * facts->n_slices;
  float *slices = g_new (float, n);

  g_assert_true (td_volume_read (volume, 0, facts->n_slices, slices, &error));
  return g_bytes_new_take (slices, n * sizeof *slices);
}

/* @looked_at: somebody wants floats, so that the host converts. */
static gboolean
make (TdScan *scan, const TdRecipe *recipe, gboolean looked_at, Made *made, GError **error)
{
  g_autofree char *path
      = g_build_filename (folder->path, looked_at ? "host.h5" : "device.h5", NULL);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, path, NULL, error);
  g_assert_nonnull (plan);
  g_autoptr (TdJob) job = td_job_new (plan);

  td_job_set_overwrite (job, TRUE);
  if (looked_at)
    td_job_set_sink (job, look, NULL);
  if (!td_job_run (job, NULL, error))
    return FALSE;
  const TdJobResult *result = td_job_result (job);
  *made = (Made) { .clamped = result->clamped_output,
                   .host_peak_bytes = result->host_peak_bytes,
                   .notes = td_messages_join (result->notes, "\n", NULL) };
  for (guint i = 0; i < result->n_stages; i++)
    made->converted = made->converted || g_str_equal (result->stages[i].name, "convert");
  made->file = volume_bytes (path);
  g_assert_cmpuint (made->host_peak_bytes, <=, td_plan_facts (plan)->host_bytes);
  g_assert_cmpuint (result->device_peak_bytes, <=, td_plan_facts (plan)->device_bytes);
  return TRUE;
}

typedef struct {
  const char *name, *bits, *range, *method;
  gboolean lanes; /* as on a graphics card: two slabs in flight */
  gboolean cone;
} JobCase;

static const JobCase job_cases[] = {
  { "16", "16", "0:0.01", "fbp", FALSE, FALSE },
  { "8", "8", "auto", "fbp", FALSE, FALSE },
  { "lanes", "16", "0.002:0.011", "fourier", TRUE, FALSE },
  { "cone-16", "16", "0:0.01", "fdk", FALSE, TRUE },
  { "cone-8", "8", "auto", "fdk", TRUE, TRUE },
};

static void
recipe_of (TdRecipe *recipe, const JobCase *c)
{
  g_autoptr (GError) error = NULL;

  if (c->cone)
    td_test_recipe (recipe, c->method, "opencl:0");
  else
    recipe_init (recipe, "opencl:0", 33.25);
  td_recipe_set (recipe, "format", "hdf5", &error);
  g_assert_no_error (error);
  td_recipe_set (recipe, "bits", c->bits, &error);
  g_assert_no_error (error);
  td_recipe_set (recipe, "range", c->range, &error);
  g_assert_no_error (error);
  td_recipe_set (recipe, "method", c->method, &error);
  g_assert_no_error (error);
}

static void
assert_alike (const Made *device, const Made *host)
{
  g_test_message ("%" G_GUINT64_FORMAT " clamped; %s", device->clamped, device->notes);
  g_assert_true (g_bytes_equal (device->file, host->file));
  g_assert_cmpuint (device->clamped, ==, host->clamped);
}

static TdScan *
job_scan (const JobCase *c)
{
  TdPhantomScan spec;

  return c->cone ? td_test_phantom_scan (&spec, 48, 40, 36, 360, TRUE) : phantom_scan (64, 90, 40);
}

/* Batches of another size round otherwise: the last digit of a sample may differ. */
static void
assert_close_enough (const Made *device, const Made *host, double step)
{
  gsize bytes;
  const float *a = g_bytes_get_data (device->file, &bytes);
  const float *b = g_bytes_get_data (host->file, NULL);

  for (gsize i = 0; i < bytes / sizeof *a; i++)
    g_assert_cmpfloat (fabsf (a[i] - b[i]), <, 1.5 * step);
  g_assert_cmpint (ABS ((gint64) device->clamped - (gint64) host->clamped), <, 20);
}

static void
test_job (gconstpointer data)
{
  const JobCase *c = data;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  Made device, host;

  if (!have_device ("opencl:0"))
    return;
  g_autoptr (TdScan) scan = job_scan (c);
  recipe_of (&recipe, c);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", &error);
  TdDevice *hardware = devices->pdata[0];
  const gboolean cpu_shaped = hardware->info.cpu_shaped;
  if (c->lanes)
    hardware->info.cpu_shaped = FALSE;
  g_assert_true (make (scan, &recipe, TRUE, &host, &error));
  g_assert_true (make (scan, &recipe, FALSE, &device, &error));
  hardware->info.cpu_shaped = cpu_shaped;
  g_assert_no_error (error);
  g_assert_true (device.converted);
  g_assert_false (host.converted);
  if (!g_str_equal (c->range, "auto"))
    g_assert_cmpuint (host.clamped, >, 0);
  assert_alike (&device, &host);
  made_clear (&device);
  made_clear (&host);
}

/* ── Rows that go up as they are stored ── */

typedef struct {
  const char *name;
  TdScanFormat format;
  TdSampleType type;
  gboolean lanes;
} RawCase;

static const RawCase raw_cases[] = {
  { "nxtomo-16", TD_SCAN_NXTOMO, TD_SAMPLE_UINT16, TRUE },
  { "tiff-8", TD_SCAN_TIFF, TD_SAMPLE_UINT8, FALSE },
};

/* As a camera gives them: some pixels dead, some darker than the dark field. */
static void
spoil_some (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
            float *frames)
{
  const float most = 250; /* of the camera's counts, which are up to 40200 */

  for (gsize i = 0; i < (gsize) count * n_rows * n_columns; i++)
    frames[i] = kind == TD_FRAME_PROJECTION && i % 97 == 0 ? 0 : floorf (frames[i] * most / 40200);
}

/* The same volume, and the same transmissions that were raised. */
static void
test_raw (gconstpointer data)
{
  const RawCase *c = data;
  g_autofree char *path = g_build_filename (folder->path, c->name, NULL);
  g_autofree char *file = g_strconcat (path, c->format == TD_SCAN_NXTOMO ? ".nxs" : "", NULL);
  g_autoptr (TdScan) phantom = phantom_scan (64, 90, 40);
  Counting counting = { .spoil = spoil_some };
  g_autoptr (TdScan) camera = counting_scan (&counting, phantom);
  g_autoptr (GError) error = NULL;
  TdTestVolume raw, floats;
  TdRecipe recipe;

  if (!have_device ("opencl:0"))
    return;
  camera->facts.sample_type = c->type;
  g_assert_true (td_scan_save (camera, file, c->format, NULL, &error));
  g_autoptr (TdScan) scan = td_scan_open (file, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (td_scan_has_stored (scan));
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", &error);
  TdDevice *hardware = devices->pdata[0];
  const gboolean cpu_shaped = hardware->info.cpu_shaped;
  hardware->info.cpu_shaped = cpu_shaped && !c->lanes;
  recipe_init (&recipe, "opencl:0", 33.25);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (((TdFbp *) plan->extra)->raw_bytes, ==, td_sample_size (c->type));
  reconstruct (scan, &recipe, &raw);
  g_assert_cmpuint (raw.result.host_peak_bytes, <=, td_plan_facts (plan)->host_bytes);
  g_assert_cmpuint (raw.result.device_peak_bytes, <=, td_plan_facts (plan)->device_bytes);
  const TdScanSource *vtable = scan->vtable;
  TdScanSource without = *vtable;
  without.stored = FALSE;
  scan->vtable = &without;
  g_autoptr (TdPlan) other = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (((TdFbp *) other->extra)->raw_bytes, ==, 0);
  reconstruct (scan, &recipe, &floats);
  scan->vtable = vtable;
  hardware->info.cpu_shaped = cpu_shaped;
  g_assert_cmpuint (td_plan_facts (plan)->host_bytes, <, td_plan_facts (other)->host_bytes);
  g_assert_cmpmem (raw.slices, (gsize) 64 * 64 * 90 * sizeof (float), floats.slices,
                   (gsize) 64 * 64 * 90 * sizeof (float));
  g_assert_cmpuint (raw.result.counts.clamped_transmissions, >, 1000);
  g_assert_cmpuint (raw.result.counts.clamped_transmissions, ==,
                    floats.result.counts.clamped_transmissions);
  td_test_volume_clear (&raw);
  td_test_volume_clear (&floats);
}

/* ── Failures ── */

/* A kernel that does not build leaves the work to the host; short memory makes parts of slabs. The
   data are the case whose kernel does not build, or NULL. */
static void
test_fault (gconstpointer data)
{
  const JobCase *c = data ? data : &job_cases[0];
  const gboolean build = data != NULL;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  Made device, host;

  if (!have_device ("opencl:0"))
    return;
  g_autoptr (TdScan) scan = job_scan (c);
  recipe_of (&recipe, c);
  g_assert_true (make (scan, &recipe, TRUE, &host, &error));
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", &error);
  TdDevice *hardware = devices->pdata[0];
  td_engine_trim (engine);
  if (build)
    td_test_free_programs (hardware);
  td_faulty_begin (hardware);
  if (build) {
    td_faulty.unbuildable = "stored-samples";
    td_faulty.code = TD_ERROR_DEVICE_BUILD;
  } else {
    td_faulty.allocations_left = 1;
    td_faulty.failures_left = 2;
    td_faulty.least_bytes = 100000;
    td_faulty.code = TD_ERROR_DEVICE_MEMORY;
  }
  const gboolean ok = make (scan, &recipe, FALSE, &device, &error);
  td_faulty_end ();
  g_assert_no_error (error);
  g_assert_true (ok);
  g_assert_true (td_faulty_failed ());
  g_assert_true (device.converted == !build);
  g_assert_nonnull (
      strstr (device.notes, build ? "the host converts the slices to 16 bits" : "going on with"));
  if (build)
    assert_alike (&device, &host);
  else
    assert_close_enough (&device, &host, 0.01 / 65535);
  made_clear (&device);
  made_clear (&host);
}

/* Nothing but zeros is still refused. */
static void
test_nothing (void)
{
  g_autofree float *zeros = g_new0 (float, 64 * 40 * 90);
  double angles[40];
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  Made made;

  if (!have_device ("opencl:0"))
    return;
  for (guint i = 0; i < 40; i++)
    angles[i] = i * G_PI / 40;
  g_autoptr (TdScan) scan = td_test_scan (zeros, 90, 40, 64, angles);
  recipe_of (&recipe, &job_cases[0]);
  g_assert_false (make (scan, &recipe, FALSE, &made, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "it is not kept"));
}

/* Bytes of the samples, and two counts for each launch of 2^30. */
static void
test_bytes (void)
{
  const guint64 most = (guint64) 1 << 30;
  static const guint bits[] = { 8, 16 };

  for (guint i = 0; i < 2; i++) {
    const guint64 each = bits[i] / 8;
    g_assert_cmpuint (td_stored_samples_bytes (bits[i], 1), ==, each + 8);
    g_assert_cmpuint (td_stored_samples_bytes (bits[i], most), ==, most * each + 8);
    g_assert_cmpuint (td_stored_samples_bytes (bits[i], most + 1), ==, (most + 1) * each + 16);
    g_assert_cmpuint (td_stored_samples_bytes (bits[i], 5 * most), ==, 5 * most * each + 40);
  }
  g_assert_cmpuint (td_stored_samples_counts_bytes (3 * most), ==, 24);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/stored-samples/bytes", test_bytes);
  g_test_add_func ("/stored-samples/ends", test_ends);
  g_test_add_func ("/stored-samples/not-started", test_not_started);
  folder = test_folder_new ();
  engine = td_engine_new (td_methods);
  g_test_add_data_func ("/stored-samples/values/16", GUINT_TO_POINTER (16), test_values);
  g_test_add_data_func ("/stored-samples/values/8", GUINT_TO_POINTER (8), test_values);
  g_test_add_func ("/stored-samples/rows", test_rows);
  for (guint i = 0; i < G_N_ELEMENTS (job_cases); i++) {
    g_autofree char *path = g_strconcat ("/stored-samples/job/", job_cases[i].name, NULL);
    g_test_add_data_func (path, &job_cases[i], test_job);
  }
  for (guint i = 0; i < G_N_ELEMENTS (raw_cases); i++) {
    g_autofree char *path = g_strconcat ("/stored-samples/raw/", raw_cases[i].name, NULL);
    g_test_add_data_func (path, &raw_cases[i], test_raw);
  }
  g_test_add_data_func ("/stored-samples/build", &job_cases[0], test_fault);
  g_test_add_data_func ("/stored-samples/build/cone", &job_cases[3], test_fault);
  g_test_add_data_func ("/stored-samples/memory", NULL, test_fault);
  g_test_add_func ("/stored-samples/nothing", test_nothing);
  const int status = g_test_run ();
  td_engine_unref (engine);
  test_folder_free (folder);
  return status;
}
