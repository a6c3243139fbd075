/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The device contract, over the host and every device of every API found here. */
#include "compute/device/device.h"
#include "compute/device/texture-check.h"
#include "kernels/params.h"

#include <fftw3.h>
#include <math.h>
#include <string.h>

static void
fill_random (float *values, gsize n, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    values[i] = g_rand_double_range (random, -1, 1);
}

static TdDevice *
open_device (gconstpointer id)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open (id, &error);

  g_assert_no_error (error);
  return device;
}

/* Nothing of the test is left, counted by the wrappers: drivers hide leaks from the sanitizer. */
static void
close_device (TdDevice *device)
{
  g_assert_cmpuint (td_device_live_objects (device), ==, 0);
  g_assert_cmpuint (device->allocated_bytes, ==, 0);
  td_device_unref (device);
}

static TdBuffer *
buffer_from (TdDevice *device, TdQueue *queue, const void *data, gsize bytes)
{
  g_autoptr (GError) error = NULL;
  TdBuffer *buffer = td_buffer_new (device, bytes, &error);

  g_assert_no_error (error);
  g_assert_true (td_upload (queue, buffer, 0, data, bytes, &error));
  return buffer;
}

static void
launch_1d (TdQueue *queue, TdKernel *kernel, guint n, guint local, const TdArg *args, guint n_args)
{
  g_autoptr (GError) error = NULL;

  td_launch (queue, kernel, (guint[]) { (n + local - 1) / local, 1, 1 }, (guint[]) { local, 1, 1 },
             args, n_args, &error);
  g_assert_no_error (error);
}

static void
finish (TdQueue *queue)
{
  g_autoptr (GError) error = NULL;

  td_queue_finish (queue, &error);
  g_assert_no_error (error);
}

/* ── Tests ────────────────────────────────────────────────────────────────────────────────────── */

static void
test_info (gconstpointer id)
{
  TdDevice *device = open_device (id), *again = open_device (id);
  const TdDeviceInfo *info = td_device_info (device);

  g_assert_true (device == again);
  td_device_unref (again);
  g_assert_cmpstr (info->id, ==, id);
  g_assert_nonnull (info->name);
  g_assert_nonnull (info->driver);
  g_assert_cmpuint (info->memory_bytes, >, 0);
  g_assert_cmpuint (info->max_alloc_bytes, >, 0);
  g_assert_cmpuint (info->max_group_size, >, 0);
  g_assert_cmpuint (td_device_memory_free (device), <=, info->memory_bytes);
  g_assert_cmpuint (td_device_memory_free (device), >, 0);
  g_test_message ("%s: %s; %s; texels %#x, warp %u, local %" G_GUINT64_FORMAT, info->id, info->name,
                  info->driver, info->texels, info->warp_width, info->local_memory_bytes);
  close_device (device);
}

static void
test_buffers (gconstpointer id)
{
  static const guint sizes[] = { 1, 2, 3, 7, 64, 1000, 4097, 1 << 20 };
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    guint n = sizes[i], bytes = n * sizeof (float);
    g_autofree float *data = g_new (float, n), *expected = g_memdup2 (data, bytes);
    float *back = td_device_host_alloc (device, bytes, &error);
    fill_random (data, n, i);
    memcpy (expected, data, bytes);

    TdBuffer *a = buffer_from (device, queue, data, bytes);
    TdBuffer *b = td_buffer_new (device, bytes, &error);
    g_assert_true (td_copy (queue, b, 0, a, 0, bytes, &error));
    if (n >= 7) { /* bytes at odd places */
      g_assert_true (td_copy (queue, b, 5, a, 2, bytes - 9, &error));
      memcpy ((guint8 *) expected + 5, (guint8 *) data + 2, bytes - 9);
      g_assert_true (td_fill_zero (queue, b, 3, bytes / 2 - 2, &error));
      memset ((guint8 *) expected + 3, 0, bytes / 2 - 2);
      g_assert_true (td_upload (queue, b, 1, data, 6, &error));
      memcpy ((guint8 *) expected + 1, data, 6);
    }
    g_assert_true (td_download (queue, back, b, 0, bytes, &error));
    finish (queue);
    g_assert_cmpmem (back, bytes, expected, bytes);
    if (td_buffer_map (b))
      g_assert_cmpmem (td_buffer_map (b), bytes, expected, bytes);

    td_device_host_free (device, back);
    td_buffer_free (a);
    td_buffer_free (b);
  }
  g_assert_no_error (error);
  td_queue_free (queue);
  close_device (device);
}

static void
test_limits (gconstpointer id)
{
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_buffer_new (device, 1000, &error);
  guint8 bytes[16] = { 0 };

  g_assert_false (td_upload (queue, buffer, 990, bytes, 11, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);
  g_assert_false (td_download (queue, bytes, buffer, G_MAXUINT64 - 3, 8, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);
  g_assert_false (td_copy (queue, buffer, 10, buffer, 0, 11, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);

  /* More than there is, more than the type could count. */
  g_assert_null (td_buffer_new (device, td_device_info (device)->max_alloc_bytes + 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  g_clear_error (&error);
  g_assert_null (td_buffer_new (device, G_MAXUINT64, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  g_clear_error (&error);
  g_assert_null (td_buffer_new (device, 0, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);

  /* The user's limit, to the byte, with what is allocated already. */
  td_device_set_memory_limit (device, 4096);
  g_assert_cmpuint (td_device_memory_free (device), ==, 3096);
  g_assert_null (td_buffer_new (device, 3097, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  g_clear_error (&error);
  TdBuffer *rest = td_buffer_new (device, 3096, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_device_memory_free (device), ==, 0);
  td_buffer_free (rest);
  td_device_set_memory_limit (device, 0);
  g_assert_cmpuint (device->allocated_peak_bytes, >=, 4096);

  /* 2^31 elements: one below is the FFT's business (and fails for memory or works), at it is ours. */
  g_assert_null (td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { 1u << 16, 0 }, 1u << 15, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  g_clear_error (&error);
  g_assert_null (td_fft_new (device, TD_FFT_C2C_2D, (guint[]) { G_MAXUINT, G_MAXUINT }, G_MAXUINT,
                             &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  g_clear_error (&error);
  g_assert_null (td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { 0, 1 }, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);

  td_buffer_free (buffer);
  td_queue_free (queue);
  close_device (device);
}

static void
test_launch_limits (gconstpointer id)
{
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdProgram *program = td_program_build (device, "check-host", NULL, &error);
  g_assert_no_error (error);
  TdKernel *kernel = td_program_kernel (program, "td_check_ids", &error);
  TdBuffer *buffer = td_buffer_new (device, 64, &error);
  TdArg args[] = { TD_ARG_BUFFER (buffer) };
  static const guint bad[][6] = {
    { 1u << 27, 1, 1, 16, 1, 1 }, /* 2^31 work-items */
    { 1, 0, 1, 1, 1, 1 },
    { 1, 1, 1, 65536, 65536, 1 }, /* a product of 2^32 */
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_assert_false (td_launch (queue, kernel, bad[i], bad[i] + 3, args, 1, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    g_clear_error (&error);
  }
  g_assert_null (td_program_kernel (program, "td_no_such_kernel", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  g_clear_error (&error);
  g_assert_null (td_program_build (device, "no-such-source", NULL, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);

  td_program_free (program);
  td_buffer_free (buffer);
  td_queue_free (queue);
  close_device (device);
}

static void
test_kernels (gconstpointer id)
{
  enum { N = 5003, OUT = 3, IN = 11 };
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdProgram *program = td_program_build (device, "check-host", NULL, &error);
  g_assert_no_error (error);
  TdKernel *kernel = td_program_kernel (program, "td_check_scale", &error);
  TdKernelInfo kernel_info;
  TdCheckParams params = { 2.5f, -0.75f };
  int out_start = OUT, in_start = IN, n = N;
  float in[N + IN], out[N + OUT + 1], original[N + OUT + 1];

  g_assert_true (td_kernel_info (kernel, &kernel_info, &error));
  g_assert_cmpuint (kernel_info.max_group_size, >, 0);
  fill_random (in, N + IN, 1);
  fill_random (original, N + OUT + 1, 2);
  TdBuffer *a = buffer_from (device, queue, in, sizeof in);
  TdBuffer *b = buffer_from (device, queue, original, sizeof original);
  TdArg args[] = { TD_ARG_BUFFER (b), TD_ARG_BUFFER (a), TD_ARG_VALUE (out_start),
                   TD_ARG_VALUE (in_start), TD_ARG_VALUE (n), TD_ARG_VALUE (params) };
  launch_1d (queue, kernel, N, 64, args, G_N_ELEMENTS (args));
  td_download (queue, out, b, 0, sizeof out, &error);
  finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat_with_epsilon (out[OUT + i], 2.5f * in[IN + i] - 0.75f, 1e-6);
  g_assert_cmpmem (out, OUT * sizeof (float), original, OUT * sizeof (float));
  g_assert_cmpfloat (out[N + OUT], ==, original[N + OUT]);

  td_program_free (program);
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  close_device (device);
}

static void
test_ids (gconstpointer id)
{
  const guint groups[3] = { 9, 7, 3 }, local[3] = { TD_CHECK_LOCAL_X, TD_CHECK_LOCAL_Y, 2 };
  const guint nx = 9 * TD_CHECK_LOCAL_X, ny = 7 * TD_CHECK_LOCAL_Y, nz = 6;
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  g_autofree int *out = g_new (int, nx * ny * nz);
  TdQueue *queue = td_queue_new (device, &error);
  TdProgram *program = td_program_build (device, "check-host", NULL, &error);
  TdBuffer *buffer = td_buffer_new (device, nx * ny * nz * sizeof (int), &error);
  TdArg args[] = { TD_ARG_BUFFER (buffer) };

  g_assert_true (td_launch (queue, td_program_kernel (program, "td_check_ids", &error), groups, local,
                            args, 1, &error));
  td_download (queue, out, buffer, 0, nx * ny * nz * sizeof (int), &error);
  finish (queue);
  for (guint z = 0; z < nz; z++)
    for (guint y = 0; y < ny; y++)
      for (guint x = 0; x < nx; x++)
        g_assert_cmpint (out[(z * ny + y) * nx + x], ==,
                         x + 1000 * (y / TD_CHECK_LOCAL_Y) + 1000000 * (z % 2));

  td_program_free (program);
  td_buffer_free (buffer);
  td_queue_free (queue);
  close_device (device);
}

static void
test_atomics (gconstpointer id)
{
  enum { N = 70001, BINS = 7 };
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  g_autofree int *values = g_new (int, N);
  int counts[BINS], expected[BINS] = { 0 }, n = N;
  TdQueue *queue = td_queue_new (device, &error);
  TdProgram *program = td_program_build (device, "check-host", NULL, &error);

  for (guint i = 0; i < N; i++)
    expected[values[i] = (i * 7919u) % 1013u % BINS]++;
  TdBuffer *in = buffer_from (device, queue, values, N * sizeof (int));
  TdBuffer *out = td_buffer_new (device, sizeof counts, &error);
  td_fill_zero (queue, out, 0, sizeof counts, &error);
  TdArg args[] = { TD_ARG_BUFFER (out), TD_ARG_BUFFER (in), TD_ARG_VALUE (n) };
  launch_1d (queue, td_program_kernel (program, "td_check_count", &error), N, 64, args, 3);
  td_download (queue, counts, out, 0, sizeof counts, &error);
  finish (queue);
  g_assert_cmpmem (counts, sizeof counts, expected, sizeof expected);

  td_program_free (program);
  td_buffer_free (in);
  td_buffer_free (out);
  td_queue_free (queue);
  close_device (device);
}

/* Programs of different defines are different programs, in memory and in the cache on disk: in a
   second round the device is opened anew. Local memory sized by the launch. */
static void
test_defines (gconstpointer id)
{
  enum { GROUP = 16, N = 8 * GROUP };
  static const char *const variants[][3] = {
    { "GROUP=16", "FACTOR=1.0f", NULL }, { "GROUP=16", "FACTOR=3.0f", NULL },
    { "GROUP=16", "FACTOR=(1.0f + 1.0f)", NULL }, { "GROUP=8", "FACTOR=1.0f", NULL },
  };
  static const float factors[] = { 1, 3, 2, 1 };
  float in[N], out[N];

  fill_random (in, N, 3);
  for (guint round = 0; round < 2; round++) {
    TdDevice *device = open_device (id);
    g_autoptr (GError) error = NULL;
    if (td_device_info (device)->local_memory_bytes == 0) {
      close_device (device);
      g_test_skip ("no local memory");
      return;
    }
    TdQueue *queue = td_queue_new (device, &error);
    TdBuffer *a = buffer_from (device, queue, in, sizeof in);
    TdBuffer *b = td_buffer_new (device, sizeof out, &error);
    TdArg args[] = { TD_ARG_BUFFER (b), TD_ARG_BUFFER (a), TD_ARG_LOCAL (GROUP * sizeof (float)) };
    for (guint v = 0; v < G_N_ELEMENTS (variants); v++) {
      guint summed = v == 3 ? 8 : GROUP;
      TdProgram *program = td_program_build (device, "check-device", variants[v], &error);
      g_assert_no_error (error);
      TdProgram *same = td_program_build (device, "check-device", variants[v], &error);
      g_assert_true (program == same);
      launch_1d (queue, td_program_kernel (program, "td_check_group_sum", &error), N, GROUP, args, 3);
      td_download (queue, out, b, 0, sizeof out, &error);
      finish (queue);
      for (guint i = 0; i < N; i++) {
        float sum = 0;
        for (guint j = 0; j < summed; j++)
          sum += in[i / GROUP * GROUP + j];
        g_assert_cmpfloat_with_epsilon (out[i], factors[v] * sum, 1e-5);
      }
      td_program_free (program);
      td_program_free (same);
    }
    td_buffer_free (a);
    td_buffer_free (b);
    td_queue_free (queue);
    close_device (device);
  }
}

static void
test_build_error (gconstpointer id)
{
  static const char *const broken[] = { "GROUP=16", "FACTOR=no_such_name", NULL };
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;

  g_assert_null (td_program_build (device, "check-device", broken, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
  g_assert_nonnull (strstr (error->message, td_device_info (device)->id));
  if (td_device_info (device)->local_memory_bytes) /* the compiler's own words, one line of them */
    g_assert_nonnull (strstr (error->message, "no_such_name"));
  g_assert_null (strchr (error->message, '\n'));
  close_device (device);
}

static void
test_textures (gconstpointer id)
{
  TdDevice *device = open_device (id);
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < TD_TEXEL_COUNT * 4; i++) {
    guint texel = i / 4;
    gboolean linear = i % 2, layered = i / 2 % 2, right = FALSE;
    TdTextureSpec spec = { .texel = texel, .width = 4, .height = 4, .linear = linear };
    if (!(info->texels & (1u << texel))) {
      g_assert_null (td_texture_new (device, &spec, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
      g_clear_error (&error);
      continue;
    }
    g_assert_true (td_texture_check (device, texel, linear, layered, &right, &error));
    g_assert_no_error (error);
    g_assert_true (right);

    spec.width = info->texture_max[0] + 1;
    g_assert_null (td_texture_new (device, &spec, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
    g_clear_error (&error);
  }
  close_device (device);
}

/* ── Events ───────────────────────────────────────────────────────────────────────────────────── */

static void
test_queues (gconstpointer id)
{
  enum { N = 1 << 16, ROUNDS = 20 };
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *first = td_queue_new (device, &error), *second = td_queue_new (device, &error);
  TdProgram *program = td_program_build (device, "check-host", NULL, &error);
  TdKernel *kernel = td_program_kernel (program, "td_check_scale", &error);
  TdCheckParams params = { 1, 1 };
  int zero = 0, n = N;
  g_autofree float *values = g_new0 (float, N);
  TdBuffer *a = buffer_from (device, first, values, N * sizeof (float));
  TdBuffer *b = buffer_from (device, first, values, N * sizeof (float));
  double seconds = -1;

  /* Back and forth between two queues, only events between them. */
  TdEvent *start = td_event_record (first, &error);
  for (guint i = 0; i < ROUNDS; i++) {
    TdQueue *now = i % 2 ? second : first, *next = i % 2 ? first : second;
    TdArg args[] = { TD_ARG_BUFFER (i % 2 ? a : b), TD_ARG_BUFFER (i % 2 ? b : a),
                     TD_ARG_VALUE (zero), TD_ARG_VALUE (zero), TD_ARG_VALUE (n),
                     TD_ARG_VALUE (params) };
    launch_1d (now, kernel, N, 64, args, G_N_ELEMENTS (args));
    TdEvent *done = td_event_record (now, &error);
    g_assert_true (td_event_wait (next, done, &error));
    td_event_free (done);
  }
  TdEvent *end = td_event_record (first, &error);
  g_assert_true (td_event_sync (end, &error));
  gint64 before = g_get_monotonic_time ();
  g_assert_true (td_event_elapsed (start, end, &seconds, &error));
  g_assert_cmpfloat (seconds, >, 0);
  g_assert_cmpfloat (seconds, <, 60);
  g_assert_cmpint (g_get_monotonic_time () - before, <, 60 * G_USEC_PER_SEC);
  td_download (first, values, a, 0, N * sizeof (float), &error);
  finish (first);
  finish (second);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (values[i], ==, ROUNDS);

  td_event_free (start);
  td_event_free (end);
  td_program_free (program);
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (first);
  td_queue_free (second);
  close_device (device);
}

typedef struct {
  TdDevice *device;
  float factor;
} ThreadWork;

/* The same shared kernel from several threads, each with arguments of its own. */
static gpointer
thread_body (gpointer data)
{
  enum { N = 3000, ROUNDS = 50 };
  ThreadWork *work = data;
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (work->device, &error);
  TdProgram *program = td_program_build (work->device, "check-host", NULL, &error);
  TdKernel *kernel = td_program_kernel (program, "td_check_scale", &error);
  TdCheckParams params = { 1, work->factor };
  int zero = 0, n = N;
  float values[N] = { 0 };
  TdBuffer *a = buffer_from (work->device, queue, values, sizeof values);
  TdBuffer *b = buffer_from (work->device, queue, values, sizeof values);

  for (guint i = 0; i < ROUNDS; i++) {
    TdArg args[] = { TD_ARG_BUFFER (i % 2 ? a : b), TD_ARG_BUFFER (i % 2 ? b : a),
                     TD_ARG_VALUE (zero), TD_ARG_VALUE (zero), TD_ARG_VALUE (n),
                     TD_ARG_VALUE (params) };
    launch_1d (queue, kernel, N, 32, args, G_N_ELEMENTS (args));
  }
  td_download (queue, values, a, 0, sizeof values, &error);
  finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (values[i], ==, ROUNDS * work->factor);
  td_program_free (program);
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  return NULL;
}

static void
test_threads (gconstpointer id)
{
  TdDevice *device = open_device (id);
  ThreadWork work[4];
  GThread *threads[4];

  for (guint i = 0; i < 4; i++) {
    work[i] = (ThreadWork) { device, i + 1 };
    threads[i] = g_thread_new ("device-user", thread_body, &work[i]);
  }
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  close_device (device);
}

/* ── FFT ──────────────────────────────────────────────────────────────────────────────────────── */

/* The same by FFTW in double. */
static void
reference_fft (fftw_complex *data, guint nx, guint ny, guint batch, int sign)
{
  for (guint i = 0; i < batch; i++) {
    fftw_complex *image = data + (gsize) i * nx * ny;
    fftw_plan plan = ny > 1 ? fftw_plan_dft_2d (ny, nx, image, image, sign, FFTW_ESTIMATE)
                            : fftw_plan_dft_1d (nx, image, image, sign, FFTW_ESTIMATE);
    fftw_execute (plan);
    fftw_destroy_plan (plan);
  }
}

static double
relative_error (const float *got, const fftw_complex *expected, gsize n)
{
  double difference = 0, norm = 0;

  for (gsize i = 0; i < n; i++)
    for (guint part = 0; part < 2; part++) {
      double d = got[2 * i + part] - expected[i][part];
      difference += d * d;
      norm += expected[i][part] * expected[i][part];
    }
  return sqrt (difference / norm);
}

static void
check_fft (TdDevice *device, TdQueue *queue, TdFftKind kind, guint nx, guint ny, guint batch,
           guint64 offset)
{
  g_autoptr (GError) error = NULL;
  gsize n = (gsize) nx * ny * batch, bytes = n * 2 * sizeof (float);
  g_autofree float *data = g_new (float, 2 * n), *got = g_new (float, 2 * n);
  g_autofree fftw_complex *expected = g_new (fftw_complex, n);
  TdFft *fft = td_fft_new (device, kind, (guint[]) { nx, ny }, batch, &error);
  TdBuffer *buffer = td_buffer_new (device, bytes + offset, &error);

  g_assert_no_error (error);
  fill_random (data, 2 * n, nx + batch);
  for (gsize i = 0; i < 2 * n; i++)
    expected[i / 2][i % 2] = data[i];
  for (guint inverse = 0; inverse < 2; inverse++) {
    reference_fft (expected, nx, ny, batch, inverse ? FFTW_BACKWARD : FFTW_FORWARD);
    if (!inverse)
      td_upload (queue, buffer, offset, data, bytes, &error);
    td_fft_run (queue, fft, buffer, offset, inverse, &error);
    td_download (queue, got, buffer, offset, bytes, &error);
    finish (queue);
    g_assert_no_error (error);
    g_assert_cmpfloat (relative_error (got, expected, n), <, 1e-6);
  }
  td_fft_free (fft);
  td_buffer_free (buffer);
}

static void
test_fft (gconstpointer id)
{
  TdDevice *device = open_device (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);

  check_fft (device, queue, TD_FFT_C2C_1D, 2, 1, 1, 0);
  check_fft (device, queue, TD_FFT_C2C_1D, 64, 1, 7, 8);
  check_fft (device, queue, TD_FFT_C2C_1D, 2048, 1, 33, 4096);
  check_fft (device, queue, TD_FFT_C2C_1D, 45, 1, 5, 0);
  check_fft (device, queue, TD_FFT_C2C_2D, 48, 20, 3, 16);
  check_fft (device, queue, TD_FFT_C2C_2D, 128, 128, 1, 0);
  td_queue_free (queue);
  close_device (device);
}

static void
test_good_size (void)
{
  g_assert_cmpuint (td_fft_good_size (0), ==, 2);
  g_assert_cmpuint (td_fft_good_size (1), ==, 2);
  g_assert_cmpuint (td_fft_good_size (7), ==, 8);
  g_assert_cmpuint (td_fft_good_size (2047), ==, 2048);
  g_assert_cmpuint (td_fft_good_size (2049), ==, 2160);
  g_assert_cmpuint (td_fft_good_size (25), ==, 30);
}

static void
test_list (void)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  g_autoptr (GError) error = NULL;
  gboolean host = FALSE;

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    host = host || g_str_equal (entry->id, "host");
    g_assert_true (entry->available == (entry->reason == NULL));
  }
  g_assert_true (host);
  g_assert_null (td_device_open ("nonsense:0", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (td_device_open ("host:1", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  g_autoptr (TdDevice) any = td_device_open ("auto", NULL);
  g_assert_nonnull (any);
}

static void
add_tests (const char *id)
{
  static const struct {
    const char *name;
    GTestDataFunc function;
  } tests[] = {
    { "info", test_info },         { "buffers", test_buffers },
    { "limits", test_limits },     { "launch-limits", test_launch_limits },
    { "kernels", test_kernels },   { "ids", test_ids },
    { "atomics", test_atomics },   { "defines", test_defines },
    { "textures", test_textures }, { "build-error", test_build_error },
    { "queues", test_queues },     { "threads", test_threads },
    { "fft", test_fft },
  };

  for (guint i = 0; i < G_N_ELEMENTS (tests); i++) {
    g_autofree char *path = g_strdup_printf ("/device/%s/%s", id, tests[i].name);
    g_test_add_data_func_full (path, g_strdup (id), tests[i].function, g_free);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device/good-size", test_good_size);
  g_test_add_func ("/device/list", test_list);
  g_autoptr (GPtrArray) entries = td_device_list ();
  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    if (entry->available)
      add_tests (entry->id);
  }
  return g_test_run ();
}
