/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host and every device of every API found here keep the device contract
   (compute/device/device.h). Its programs and FFTs are tested in test-device-program.c and
   test-device-fft.c. */
#include "compute/device/device-api.h"
#include "compute/device/device-check.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "kernels/params.h"
#include "test-folder.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

static void
test_info (gconstpointer id)
{
  TdDevice *device = td_test_open (id), *again = td_test_open (id);
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
  g_test_message ("%s: %s; %s; texels %#x, local %" G_GUINT64_FORMAT, info->id, info->name,
                  info->driver, info->texels, info->local_memory_bytes);
  td_test_close (device);
}

static void
test_buffers (gconstpointer id)
{
  static const guint sizes[] = { 1, 2, 3, 7, 64, 1000, 4097, 1 << 20 };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    guint n = sizes[i], bytes = n * sizeof (float);
    g_autofree float *data = g_new (float, n), *expected = g_memdup2 (data, bytes);
    float *back = td_device_host_alloc (device, bytes, &error);
    td_test_random (data, n, i);
    memcpy (expected, data, bytes);

    TdBuffer *a = td_test_buffer (device, queue, data, bytes);
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
    td_test_finish (queue);
    g_assert_cmpmem (back, bytes, expected, bytes);
    if (td_buffer_map (b))
      g_assert_cmpmem (td_buffer_map (b), bytes, expected, bytes);

    td_device_host_free (device, back);
    td_buffer_free (a);
    td_buffer_free (b);
  }
  g_assert_no_error (error);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_limits (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdBuffer *buffer = td_buffer_new (device, 1000, &error);
  guint8 bytes[16] = { 0 };

  g_assert_false (td_upload (queue, buffer, 990, bytes, 11, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_false (td_download (queue, bytes, buffer, G_MAXUINT64 - 3, 8, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_false (td_copy (queue, buffer, 10, buffer, 0, 11, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (error);
  g_clear_error (&error);

  /* More than there is, more than the type could count. */
  g_assert_null (td_buffer_new (device, td_device_info (device)->max_alloc_bytes + 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_null (td_buffer_new (device, G_MAXUINT64, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_null (td_buffer_new (device, 0, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (error);
  g_clear_error (&error);

  /* The user's limit, to the byte, with what is allocated already. */
  device->memory_limit_bytes = 4096;
  g_assert_cmpuint (td_device_memory_free (device), ==, 3096);
  g_assert_null (td_buffer_new (device, 3097, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
  g_clear_error (&error);
  TdBuffer *rest = td_buffer_new (device, 3096, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_device_memory_free (device), ==, 0);
  td_buffer_free (rest);
  device->memory_limit_bytes = 0;
  g_assert_cmpuint (td_device_peak_bytes (device), >=, 4096);

  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_check (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;

  td_device_check (device, &error);
  g_assert_no_error (error);
  td_test_close (device);
}

/* As many as there may be, and one more. */
static void
check_texture_size (TdDevice *device, TdTextureSpec spec, gsize side, guint64 most)
{
  g_autoptr (GError) error = NULL, no_error = NULL;

  *(guint64 *) ((char *) &spec + side) = most;
  TdTexture *texture = td_texture_new (device, &spec, &no_error);
  g_assert_no_error (no_error);
  td_texture_free (texture);
  *(guint64 *) ((char *) &spec + side) = most + 1;
  g_assert_null (td_texture_new (device, &spec, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  td_test_pin_refused (error);
}

static void
test_textures (gconstpointer id)
{
  static const TdTextureSpec nothing[] = { { .texel = TD_TEXEL_COUNT, .width = 4, .height = 4 },
                                           { .width = 0, .height = 4 },
                                           { .width = 4, .height = 0 } };
  TdDevice *device = td_test_open (id);
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (nothing); i++) {
    g_assert_null (td_texture_new (device, &nothing[i], &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    td_test_pin_refused (error);
    g_clear_error (&error);
  }
  for (guint i = 0; i < TD_TEXEL_COUNT * 4; i++) {
    guint texel = i / 4;
    gboolean linear = i % 2, layered = i / 2 % 2, right = FALSE;
    TdTextureSpec spec = { .texel = texel, .width = 4, .height = 4, .linear = linear };
    if (!(info->texels & (1u << texel))) {
      g_assert_null (td_texture_new (device, &spec, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
      td_test_pin_refused (error);
      g_clear_error (&error);
      continue;
    }
    g_assert_true (td_texture_check (device, texel, linear, layered, &right, &error));
    g_assert_no_error (error);
    g_assert_true (right);

    check_texture_size (device, (TdTextureSpec) { .texel = texel, .height = 1, .linear = linear },
                        offsetof (TdTextureSpec, width), info->texture_max[0]);
    check_texture_size (device, (TdTextureSpec) { .texel = texel, .width = 1, .linear = linear },
                        offsetof (TdTextureSpec, height), info->texture_max[1]);
    if (info->texture_max_layers > 0)
      check_texture_size (
          device, (TdTextureSpec) { .texel = texel, .width = 1, .height = 1, .linear = linear },
          offsetof (TdTextureSpec, layers), info->texture_max_layers);
  }
  td_test_close (device);
}

static gboolean
no_buffer (TdBuffer *buffer, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_MEMORY, "no buffer");
}

static gboolean
no_texture (TdTexture *texture, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_MEMORY, "no texture");
}

static gboolean
no_queue (TdQueue *queue, gboolean urgent, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_MEMORY, "no queue");
}

/* What a device could not make is not counted, nor are its bytes. */
static void
test_not_made (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  const TdDeviceOps *const sound = device->ops;
  const guint64 objects = td_test_live_objects (device), bytes = td_test_allocated (device);
  const TdTextureSpec spec = { .texel = TD_TEXEL_R32F, .width = 4, .height = 4 };
  TdDeviceOps failing = *sound;

  failing.buffer_new = no_buffer;
  failing.texture_new = no_texture;
  failing.queue_new = no_queue;
  device->ops = &failing;
  g_assert_null (td_buffer_new (device, 1000, NULL));
  g_assert_null (td_texture_new (device, &spec, NULL));
  g_assert_null (td_queue_new (device, NULL));
  device->ops = sound;
  g_assert_cmpuint (td_test_live_objects (device), ==, objects);
  g_assert_cmpuint (td_test_allocated (device), ==, bytes);
  td_test_close (device);
}

/* ── Events ── */

static void
test_queues (gconstpointer id)
{
  enum { N = 1 << 16, ROUNDS = 20 };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *first = td_queue_new (device, &error), *second = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_scale", &error);
  TdCheckParams params = { 1, 1 };
  int zero = 0, n = N;
  g_autofree float *values = g_new0 (float, N);
  TdBuffer *a = td_test_buffer (device, first, values, N * sizeof (float));
  TdBuffer *b = td_test_buffer (device, first, values, N * sizeof (float));
  double seconds = -1;

  /* Back and forth between two queues, only events between them. */
  TdEvent *start = td_event_record (first, &error);
  for (guint i = 0; i < ROUNDS; i++) {
    TdQueue *now = i % 2 ? second : first, *next = i % 2 ? first : second;
    TdArg args[] = {
      TD_ARG (i % 2 ? a : b), TD_ARG (i % 2 ? b : a), TD_ARG (zero), TD_ARG (zero), TD_ARG (n),
      TD_ARG (params)
    };
    td_test_launch (now, kernel, N, 64, args, G_N_ELEMENTS (args));
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
  td_test_finish (first);
  td_test_finish (second);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (values[i], ==, ROUNDS);

  td_event_free (start);
  td_event_free (end);
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (first);
  td_queue_free (second);
  td_test_close (device);
}

/* What passes between two events is counted in seconds. */
static void
test_elapsed (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  TdQueue *queue = td_queue_new (device, NULL);
  double seconds = -1;

  const gint64 begin = g_get_monotonic_time ();
  TdEvent *start = td_event_record (queue, NULL);
  g_assert_true (td_event_sync (start, NULL));
  g_usleep (30000);
  TdEvent *end = td_event_record (queue, NULL);
  g_assert_true (td_event_elapsed (start, end, &seconds, NULL));
  const double all = (g_get_monotonic_time () - begin) * 1e-6;
  g_test_message ("%.4f of %.4f s", seconds, all);
  g_assert_cmpfloat (seconds, >, 0.02);
  g_assert_cmpfloat (seconds, <, all + 0.01);
  td_event_free (start);
  td_event_free (end);
  td_queue_free (queue);
  td_test_close (device);
}

/* ── Threads ── */

static struct {
  TdHostScratch *scratch;
  TdHostPieces *pieces;
  gint n;
} taker;

static gpointer
taker_run (gpointer unused)
{
  for (guint i = 0; i <= td_host_threads (); i++) { /* the last one comes back first */
    taker.pieces[i] = td_host_scratch_take (taker.scratch);
    g_atomic_int_inc (&taker.n);
  }
  return NULL;
}

static void
taker_await (guint n)
{
  for (guint i = 0; i < 60000 && (guint) g_atomic_int_get (&taker.n) < n; i++)
    g_usleep (1000);
  g_assert_cmpuint ((guint) g_atomic_int_get (&taker.n), ==, n);
}

/* There are pieces for as many as the host has threads, each its own; another waits. */
static void
test_scratch (void)
{
  const guint n = td_host_threads ();

  taker.pieces = g_new0 (TdHostPieces, n + 1);
  taker.scratch = td_host_scratch_new (100, 200, NULL);
  GThread *thread = g_thread_new ("takes", taker_run, NULL);
  taker_await (n);
  g_usleep (20000);
  taker_await (n);
  for (guint i = 0; i < n; i++) {
    memset (taker.pieces[i].from, (int) i, 100);
    memset (taker.pieces[i].to, (int) i, 200);
  }
  for (guint i = 0; i < n; i++)
    g_assert_true (*(guint8 *) taker.pieces[i].from == (guint8) i
                   && ((guint8 *) taker.pieces[i].to)[199] == (guint8) i);
  const TdHostPieces given = taker.pieces[0];
  td_host_scratch_give (taker.scratch, &given);
  g_thread_join (thread);
  g_assert_true (taker.pieces[n].from == given.from && taker.pieces[n].to == given.to);
  for (guint i = 1; i <= n; i++)
    td_host_scratch_give (taker.scratch, &taker.pieces[i]);
  td_host_scratch_free (taker.scratch);
  g_free (taker.pieces);
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
  TdKernel *kernel = td_device_kernel (work->device, "check-host", NULL, "td_check_scale", &error);
  TdCheckParams params = { 1, work->factor };
  int zero = 0, n = N;
  float values[N] = { 0 };
  TdBuffer *a = td_test_buffer (work->device, queue, values, sizeof values);
  TdBuffer *b = td_test_buffer (work->device, queue, values, sizeof values);

  for (guint i = 0; i < ROUNDS; i++) {
    TdArg args[] = {
      TD_ARG (i % 2 ? a : b), TD_ARG (i % 2 ? b : a), TD_ARG (zero), TD_ARG (zero), TD_ARG (n),
      TD_ARG (params)
    };
    td_test_launch (queue, kernel, N, 32, args, G_N_ELEMENTS (args));
  }
  td_download (queue, values, a, 0, sizeof values, &error);
  td_test_finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (values[i], ==, ROUNDS * work->factor);
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  return NULL;
}

static void
test_threads (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  ThreadWork work[4];
  GThread *threads[4];

  for (guint i = 0; i < 4; i++) {
    work[i] = (ThreadWork) { device, i + 1 };
    threads[i] = g_thread_new ("device-user", thread_body, &work[i]);
  }
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  td_test_close (device);
}

/* ── The host's threads ── */

typedef struct {
  guint hits[1000];
  guint nested;
} Hits;

static void
count_nested (guint index, gpointer user)
{
  g_atomic_int_inc ((gint *) &((Hits *) user)->nested);
}

static void
hit (guint index, gpointer user)
{
  Hits *hits = user;

  g_atomic_int_inc ((gint *) &hits->hits[index]);
  if (index % 100 == 0)
    td_parallel_for (7, count_nested, hits);
}

static gpointer
parallel_caller (gpointer unused)
{
  for (guint round = 0; round < 50; round++) {
    Hits hits = { 0 };
    td_parallel_for (G_N_ELEMENTS (hits.hits), hit, &hits);
    for (guint i = 0; i < G_N_ELEMENTS (hits.hits); i++)
      g_assert_cmpuint (hits.hits[i], ==, 1);
    g_assert_cmpuint (hits.nested, ==, 70);
  }
  return NULL;
}

/* Each index once, from several callers at once, nested too. */
static void
test_parallel (void)
{
  GThread *threads[3];

  td_parallel_for (0, hit, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("caller", parallel_caller, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
test_isa (void)
{
  const char *wish = g_getenv ("TOMODESK_ISA");

  if (g_strcmp0 (wish, "plain") == 0)
    g_assert_cmpint (td_host_isa (), ==, TD_ISA_PLAIN);
  else if (g_strcmp0 (wish, "avx2") == 0)
    g_assert_cmpint (td_host_isa (), <=, TD_ISA_AVX2);
  g_test_message ("instruction set %d, %u threads", td_host_isa (), td_host_threads ());
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
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_null (td_device_open ("host:1", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_autoptr (TdDevice) any = td_device_open ("auto", NULL);
  g_assert_nonnull (any);
}

/* PoCL's compiler catches what GLib ends a process by, and lets it go on. */
static void
test_traps (void)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  struct sigaction now;

  g_assert_cmpuint (entries->len, >, 0);
  sigaction (SIGTRAP, NULL, &now);
  g_assert_true (now.sa_handler == SIG_DFL);
}

/* A job's limit counts what the job allocates, whoever else has how much. */
static void
test_accounts (gconstpointer id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_assert_no_error (error);
  g_autoptr (TdDevice) tight = td_device_for_job (device, 4096);
  g_autoptr (TdDevice) roomy = td_device_for_job (tight, 0); /* of the device, not of the handle */
  g_autoptr (TdDevice) as_tight = td_device_for_job (device, 4096);
  const guint64 live = td_test_live_objects (device), before = device->allocated_bytes;

  g_assert_true (td_device_info (tight) == td_device_info (device));
  g_assert_true (td_device_alike (tight, as_tight));
  g_assert_false (td_device_alike (tight, roomy));
  TdBuffer *large = td_buffer_new (roomy, 100000, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_device_memory_free (tight), ==, 4096);
  TdBuffer *small = td_buffer_new (tight, 4000, &error);
  g_assert_no_error (error);
  g_assert_null (td_buffer_new (tight, 97, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_cmpuint (td_device_memory_free (as_tight), ==, 4096);
  g_assert_cmpuint (device->allocated_bytes, ==, before + 104000);
  /* What belongs to one device can be used together, and outlives the handle. */
  g_clear_pointer (&tight, td_device_unref);
  g_autoptr (TdQueue) queue = td_queue_new (as_tight, &error);
  g_assert_no_error (error);
  g_assert_true (td_fill_zero (queue, large, 0, 100000, &error));
  g_assert_true (td_copy (queue, small, 0, large, 0, 4000, &error));
  g_assert_true (td_queue_finish (queue, &error));
  td_buffer_free (small);
  td_buffer_free (large);
  g_assert_cmpuint (td_device_peak_bytes (roomy), ==, 100000);
  g_assert_cmpuint (device->allocated_bytes, ==, before);
  g_assert_cmpuint (td_test_live_objects (device), ==, live + 1);
}

/* One policy for every method. */
static void
test_reaction (void)
{
  static const struct {
    TdErrorCode code;
    TdReaction reaction;
  } cases[] = {
    { TD_ERROR_IO, TD_REACTION_GIVE_UP },
    { TD_ERROR_TOO_LARGE, TD_REACTION_GIVE_UP },
    { TD_ERROR_DEVICE_MEMORY, TD_REACTION_RETRY_SMALLER },
    { TD_ERROR_DEVICE_BUILD, TD_REACTION_ANOTHER_KERNEL },
    { TD_ERROR_DEVICE_TIMEOUT, TD_REACTION_SMALLER_LAUNCHES },
    { TD_ERROR_DEVICE_LOST, TD_REACTION_RETIRE },
    { TD_ERROR_DEVICE_BUG, TD_REACTION_RETIRE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = g_error_new_literal (TD_ERROR, (int) cases[i].code, "made to fail");
    g_assert_cmpint (td_device_reaction (error), ==, cases[i].reaction);
    g_assert_cmpint (td_device_may_retry (error), ==, cases[i].reaction < TD_REACTION_RETIRE);
    g_assert_cmpint (td_device_others_can (error), ==, cases[i].reaction < TD_REACTION_GIVE_UP);
  }
  g_autoptr (GError) cancelled
      = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled");
  g_assert_cmpint (td_device_reaction (cancelled), ==, TD_REACTION_GIVE_UP);
  g_assert_cmpint (td_device_reaction (NULL), ==, TD_REACTION_GIVE_UP);
}

/* One name a device, however it is written. Cards of one API, or the host, are what "auto" names.
 */
static void
test_names (void)
{
  static const struct {
    const char *list, *names;
  } cases[] = {
    { "host", "host" },
    { " host , cuda:0,cuda", "host cuda:0" },
    { "opencl,host,opencl:1,opencl:0,host:0", "opencl:0 host opencl:1" },
    { "cuda:97,nothing,nothing", "cuda:97 nothing" },
  };
  g_autoptr (GPtrArray) entries = td_device_list ();
  g_autoptr (GPtrArray) cards = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (GStrv) names = td_device_names (cases[i].list);
    g_autofree char *text = g_strjoinv (" ", names);
    g_assert_cmpstr (text, ==, cases[i].names);
  }
  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i], *first = cards->len ? cards->pdata[0] : entry;
    if (entry->available && entry->kind == TD_DEVICE_GPU && g_str_equal (entry->api, first->api))
      g_ptr_array_add (cards, (gpointer) entry);
  }
  g_auto (GStrv) all = td_device_names (NULL);
  g_auto (GStrv) again = td_device_names ("auto,auto");
  g_assert_cmpuint (g_strv_length (all), ==, MAX (1, cards->len));
  g_assert_true (g_strv_equal ((const char *const *) all, (const char *const *) again));
  for (guint i = 0; i < cards->len; i++)
    g_assert_cmpstr (all[i], ==, ((const TdDeviceEntry *) cards->pdata[i])->id);
  if (cards->len == 0)
    g_assert_cmpstr (all[0], ==, "host");
}

static void
put_file (TestFolder *folder, const char *name, const char *text)
{
  g_autofree char *path = test_folder_file (folder, name), *parent = g_path_get_dirname (path);

  g_assert_cmpint (g_mkdir_with_parents (parent, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* A job of a cluster has less memory than its node. The limit may be that of a group that its own
   lies in, of either version. */
static void
test_groups (void)
{
  static const struct {
    const char *group, *files[8][2];
    guint64 limit, available;
  } cases[] = {
    { "1:name=systemd:/\n", { { NULL } }, G_MAXUINT64, G_MAXUINT64 },
    { "0::/\n",
      { { "memory.max", "1000\n" },
        { "memory.current", "300\n" },
        { "memory.stat", "anon 200\nfile 100\n" } },
      1000,
      800 },
    { "0::/slurm/job_7/step_0\n",
      { { "slurm/job_7/step_0/memory.max", "max\n" },
        { "slurm/job_7/memory.max", "2000\n" },
        { "slurm/job_7/memory.current", "1500\n" },
        { "slurm/memory.max", "1800\n" },
        { "slurm/memory.current", "100\n" } },
      1800,
      500 },
    { "9:cpu,cpuacct:/\n4:memory:/slurm/job_7/step_0\n",
      { { "memory/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n" },
        { "memory/slurm/job_7/step_0/memory.usage_in_bytes", "700\n" },
        { "memory/slurm/job_7/memory.limit_in_bytes", "1000\n" },
        { "memory/slurm/job_7/memory.usage_in_bytes", "700\n" },
        { "memory/slurm/job_7/memory.stat", "cache 1\ntotal_cache 200\n" } },
      1000,
      500 },
    /* More is used than there may be, and more of it is a cache than is used. */
    { "0::/a\n",
      { { "a/memory.max", "1000\n" }, { "a/memory.current", "1001\n" }, { "a/memory.stat", "" } },
      1000,
      0 },
    { "0::/a\n",
      { { "a/memory.max", "1000\n" },
        { "a/memory.current", "300\n" },
        { "a/memory.stat", "inactive_file 7\nfile 301\n" } },
      1000,
      1000 },
    { "0::/a\n", { { "a/memory.max", "1000\n" } }, 1000, G_MAXUINT64 },
    { "0::/a\n", { { "a/memory.current", "300\n" } }, G_MAXUINT64, G_MAXUINT64 },
    { "0::/a:b\n", { { "a:b/memory.max", "900\n" }, { "a:b/memory.current", "0\n" } }, 900, 900 },
    { "5:memory\n0::/a\n",
      { { "a/memory.max", "800\n" }, { "a/memory.current", "1\n" } },
      800,
      799 },
    { "3:memory,cpu:/m\n",
      { { "memory/m/memory.limit_in_bytes", "700\n" },
        { "memory/m/memory.usage_in_bytes", "2\n" } },
      700,
      698 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) root = test_folder_new ();
    guint64 limit, available;

    put_file (root, "proc/self/cgroup", cases[i].group);
    for (guint k = 0; cases[i].files[k][0]; k++) {
      g_autofree char *name = g_build_filename ("sys/fs/cgroup", cases[i].files[k][0], NULL);
      put_file (root, name, cases[i].files[k][1]);
    }
    td_host_group_memory (root->path, &limit, &available);
    g_assert_cmpuint (limit, ==, cases[i].limit);
    g_assert_cmpuint (available, ==, cases[i].available);
  }
}

/* The least quota of a group and of those that it lies in, in whole processors. */
static void
test_group_processors (void)
{
  static const struct {
    const char *group, *files[3][2];
    guint processors;
  } cases[] = {
    { "0::/\n", { { NULL } }, 0 },
    { "0::/\n", { { "cpu.max", "max 100000\n" } }, 0 },
    { "0::/\n", { { "cpu.max", "100000 100000\n" } }, 1 },
    { "0::/\n", { { "cpu.max", "100001 100000\n" } }, 2 },
    { "0::/\n", { { "cpu.max", "50000 100000\n" } }, 1 },
    { "0::/\n", { { "cpu.max", "750000 50000\n" } }, 15 },
    { "0::/\n", { { "cpu.max", "750000\n" } }, 0 },
    { "0::/a/b\n", { { "a/b/cpu.max", "400000 100000\n" }, { "a/cpu.max", "max 100000\n" } }, 4 },
    { "0::/a/b\n",
      { { "a/b/cpu.max", "400000 100000\n" }, { "a/cpu.max", "300000 100000\n" } },
      3 },
    { "0::/a/b\n", { { "a/b/cpu.max", "400000 100000\n" }, { "cpu.max", "900000 100000\n" } }, 4 },
    { "0::/a/b\n", { { "cpu.max", "200000 100000\n" } }, 2 },
    { "4:cpu:/a\n", { { "a/cpu.max", "200000 100000\n" } }, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) root = test_folder_new ();

    put_file (root, "proc/self/cgroup", cases[i].group);
    for (guint k = 0; k < 3 && cases[i].files[k][0]; k++) {
      g_autofree char *name = g_build_filename ("sys/fs/cgroup", cases[i].files[k][0], NULL);
      put_file (root, name, cases[i].files[k][1]);
    }
    g_assert_cmpuint (td_host_group_processors (root->path), ==, cases[i].processors);
  }
}

/* A launch that no device can do is refused on either side of each limit, with its own figures. */
static void
test_launches (gconstpointer id)
{
  enum { N = 64, MOST = 32, MOST_GROUPS = 3, LOCAL_BYTES = 1000 };
  static const struct {
    guint groups[3], local[3];
    guint local_bytes; /* of an argument more; 0: none */
    const char *says;  /* NULL: nothing */
  } cases[] = {
    { { 2, 1, 1 }, { 32, 1, 1 }, 0, NULL },
    { { 0, 1, 1 }, { 32, 1, 1 }, 0, "0 × 1 × 1 groups of 32 × 1 × 1 with no work-items" },
    { { 7, 0, 1 }, { 32, 1, 1 }, 0, "7 × 0 × 1 groups of 32 × 1 × 1 with no work-items" },
    { { 7, 2, 3 }, { 4, 3, 0 }, 0, "7 × 2 × 3 groups of 4 × 3 × 0 with no work-items" },
    { { 7, 6, 5 },
      { 4, 3, 3 },
      0,
      "7 × 6 × 5 groups of 4 × 3 × 3 with more work-groups than the device takes" },
    { { 2, 3, 1 },
      { 1, 33, 1 },
      0,
      "2 × 3 × 1 groups of 1 × 33 × 1 with a larger work-group than the device takes" },
    { { 1, 3, 4 },
      { 1, 1, 1 },
      0,
      "1 × 3 × 4 groups of 1 × 1 × 1 with more work-groups than the device takes" },
    { { 1, 4, 1 },
      { 8, 2, 2 },
      0,
      "1 × 4 × 1 groups of 8 × 2 × 2 with more work-groups than the device takes" },
    { { 1, 1, 1 },
      { 3, 11, 1 },
      0,
      "1 × 1 × 1 groups of 3 × 11 × 1 with a larger work-group than the device takes" },
    { { 67108864, 1, 1 },
      { 32, 1, 1 },
      0,
      "67108864 × 1 × 1 groups of 32 × 1 × 1 with 2^31 work-items or more in one dimension" },
    { { 2, 1, 1 },
      { 32, 1, 1 },
      LOCAL_BYTES + 1,
      "2 × 1 × 1 groups of 32 × 1 × 1 with more local memory than the device has" },
  };
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_test_open (id);
  const TdDeviceInfo kept = device->info;
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_scale", &error);
  const TdCheckParams params = { 1, 1 };
  const int zero = 0, n = N;
  float values[N] = { 0 };
  TdBuffer *a = td_test_buffer (device, queue, values, sizeof values);
  TdBuffer *b = td_test_buffer (device, queue, values, sizeof values);

  device->info.max_group_size = MOST;
  device->info.most_groups = MOST_GROUPS;
  device->info.local_memory_bytes = LOCAL_BYTES;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdArg args[] = { TD_ARG (a),
                           TD_ARG (b),
                           TD_ARG (zero),
                           TD_ARG (zero),
                           TD_ARG (n),
                           TD_ARG (params),
                           TD_ARG ((TdLocal) { cases[i].local_bytes }) };
    const gboolean fits = td_launch (queue, kernel, cases[i].groups, cases[i].local, args,
                                     G_N_ELEMENTS (args) - !cases[i].local_bytes, &error);

    g_test_message ("%u: %s", i, error ? error->message : "fits");
    if (!cases[i].says) {
      g_assert_no_error (error);
      g_assert_true (fits);
      continue;
    }
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    td_test_pin_refused (error);
    g_assert_true (g_str_has_suffix (error->message, cases[i].says));
    g_assert_nonnull (strstr (error->message, "td_check_scale: launch of "));
    g_clear_error (&error);
  }
  td_test_finish (queue);
  device->info = kept;
  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  td_test_close (device);
}

/* As many threads as the process may have processors, not as many as there are. */
static void
test_affinity (void)
{
  g_autofree char *before = g_strdup (g_getenv ("TOMODESK_THREADS"));
  cpu_set_t all, one;
  int cpu = 0;

  if (g_test_subprocess ()) {
    g_assert_cmpuint (td_host_threads (), ==, 1);
    return;
  }
  g_assert_cmpint (sched_getaffinity (0, sizeof all, &all), ==, 0);
  while (!CPU_ISSET (cpu, &all))
    cpu++;
  CPU_ZERO (&one);
  CPU_SET (cpu, &one);
  g_assert_cmpint (sched_setaffinity (0, sizeof one, &one), ==, 0);
  g_unsetenv ("TOMODESK_THREADS");
  g_test_trap_subprocess (NULL, 0, 0);
  if (before)
    g_setenv ("TOMODESK_THREADS", before, TRUE);
  g_assert_cmpint (sched_setaffinity (0, sizeof all, &all), ==, 0);
  g_test_trap_assert_passed ();
}

/* ── The wrappers, over the host ── */

/* Another device of the host's, which the list does not know. */
static TdDevice *
open_other (void)
{
  TdDevice *device = NULL;

  g_assert_true (td_host_open (0, &device, NULL));
  return device;
}

static void
assert_refused (gboolean done, GError **error, const char *says)
{
  g_assert_false (done);
  g_assert_error (*error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (*error);
  g_assert_nonnull (strstr ((*error)->message, " (host): "));
  g_assert_nonnull (strstr ((*error)->message, says));
  g_clear_error (error);
}

/* Nothing of one device is used with another. */
static void
test_foreign (void)
{
  TdDevice *device = td_test_open ("host"), *other = open_other ();
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, NULL), *queue_2 = td_queue_new (other, NULL);
  TdBuffer *buffer = td_buffer_new (device, 64, NULL), *buffer_2 = td_buffer_new (other, 64, NULL);
  TdEvent *event = td_event_record (queue_2, NULL);
  TdFft *fft = td_fft_new (other, TD_FFT_C2C_1D, (guint[]) { 8, 1 }, 1, NULL);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_ids", NULL);
  TdKernel *kernel_2 = td_device_kernel (other, "check-host", NULL, "td_check_ids", NULL);
  static const guint one[] = { 1, 1, 1 };
  char bytes[64] = "";

  g_assert_true (kernel != kernel_2);
  const char *const outside = "of 64 bytes at 0 is outside a buffer of 64 bytes or of another";
  assert_refused (td_upload (queue, buffer_2, 0, bytes, 64, &error), &error, outside);
  assert_refused (td_download (queue, bytes, buffer_2, 0, 64, &error), &error, outside);
  assert_refused (td_copy (queue, buffer, 0, buffer_2, 0, 64, &error), &error, outside);
  assert_refused (td_copy (queue, buffer_2, 0, buffer, 0, 64, &error), &error, outside);
  assert_refused (td_fill_zero (queue, buffer_2, 0, 64, &error), &error, outside);
  assert_refused (td_event_wait (queue, event, &error), &error, "an event of another device");
  assert_refused (td_fft_run (queue, fft, buffer, FALSE, &error), &error, "FFT of another device");
  assert_refused (td_launch (queue, kernel_2, one, one, TD_ARGS (buffer), &error), &error,
                  "a program of another device");
  assert_refused (td_launch (queue, kernel, one, one, TD_ARGS (buffer_2), &error), &error,
                  "an argument of another device");
  assert_refused (td_launch (queue, kernel, one, one, TD_ARGS (((TdLocal) { 0 }), buffer), &error),
                  &error, "a local-memory argument that is not the last");
  td_fft_free (fft);
  td_event_free (event);
  td_buffer_free (buffer);
  td_buffer_free (buffer_2);
  td_queue_free (queue);
  td_queue_free (queue_2);
  td_test_close (device);
  td_test_close (other);
}

/* On either side of each end of a buffer, and of an overlap. */
static void
test_ranges (void)
{
  static const struct {
    guint64 offset, bytes;
    gboolean fits;
  } ranges[] = {
    { 0, 0, TRUE },    { 100, 0, TRUE },  { 101, 0, FALSE },         { 0, 100, TRUE },
    { 0, 101, FALSE }, { 99, 1, TRUE },   { 99, 2, FALSE },          { 100, 1, FALSE },
    { 50, 50, TRUE },  { 50, 51, FALSE }, { 1, G_MAXUINT64, FALSE }, { G_MAXUINT64, 1, FALSE },
  };
  static const struct {
    guint64 to, from, bytes;
    gboolean apart;
  } copies[] = {
    { 0, 10, 10, TRUE },  { 10, 0, 10, TRUE },   { 0, 10, 11, FALSE },  { 10, 0, 11, FALSE },
    { 5, 5, 1, FALSE },   { 5, 5, 0, TRUE },     { 9, 8, 1, TRUE },     { 8, 9, 1, TRUE },
    { 90, 80, 10, TRUE }, { 90, 80, 11, FALSE }, { 80, 90, 11, FALSE },
  };
  TdDevice *device = td_test_open ("host");
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 100, NULL), *other = td_buffer_new (device, 200, NULL);
  char bytes[200] = "";

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++) {
    const guint64 offset = ranges[i].offset, n = ranges[i].bytes;
    g_assert_cmpint (td_upload (queue, buffer, offset, bytes, n, NULL), ==, ranges[i].fits);
    g_assert_cmpint (td_download (queue, bytes, buffer, offset, n, NULL), ==, ranges[i].fits);
    g_assert_cmpint (td_copy (queue, buffer, offset, other, 0, n, NULL), ==, ranges[i].fits);
    g_assert_cmpint (td_copy (queue, other, 0, buffer, offset, n, NULL), ==, ranges[i].fits);
    g_assert_cmpint (td_fill_zero (queue, buffer, offset, n, NULL), ==, ranges[i].fits);
  }
  for (guint i = 0; i < G_N_ELEMENTS (copies); i++) {
    g_assert_cmpint (
        td_copy (queue, buffer, copies[i].to, buffer, copies[i].from, copies[i].bytes, NULL), ==,
        copies[i].apart);
    if (copies[i].to + copies[i].bytes <= 100 && copies[i].from + copies[i].bytes <= 100)
      g_assert_true (
          td_copy (queue, other, copies[i].to, buffer, copies[i].from, copies[i].bytes, NULL));
  }
  td_buffer_free (buffer);
  td_buffer_free (other);
  td_queue_free (queue);
  td_test_close (device);
}

/* The least of three counts: what the device gives at once, what the job has left, and what all
   jobs together have. */
static void
test_limits_together (void)
{
  static const struct {
    guint64 at_once, job, all, most;
  } cases[] = {
    { 5000, 0, 0, 5000 },       { 5000, 4000, 0, 4000 },    { 5000, 0, 3000, 3000 },
    { 5000, 2500, 3000, 2500 }, { 5000, 6000, 7000, 5000 }, { 1000, 4000, 3000, 1000 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdDevice *device = open_other (), *job = td_device_for_job (device, cases[i].job);
    const guint64 most = cases[i].most;
    device->info.max_alloc_bytes = cases[i].at_once;
    device->memory_limit_bytes = cases[i].all;
    g_assert_null (td_buffer_new (job, most + 1, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
    td_test_pin_refused (error);
    g_assert_cmpuint (td_device_peak_bytes (job), ==, 0);
    TdBuffer *one = td_buffer_new (job, most - 100, NULL), *two = td_buffer_new (job, 100, NULL);
    g_assert_true (one && two);
    g_assert_cmpuint (td_device_peak_bytes (job), ==, most);
    g_assert_cmpuint (td_device_peak_bytes (device), ==, most);
    /* One byte more passes a limit, but not what is given at once. */
    TdBuffer *more = td_buffer_new (job, 1, NULL);
    g_assert_cmpint (more != NULL, ==, cases[i].job != most && cases[i].all != most);
    td_buffer_free (more);
    td_buffer_free (one);
    td_buffer_free (two);
    g_assert_cmpuint (td_device_peak_bytes (device), >=, most);
    td_device_unref (job);
    td_device_unref (device);
  }
}

/* A host that has little left, or whose total is passed. */
static void
test_memory_left (void)
{
  TdDevice *device = open_other ();
  TdDevice *job = td_device_for_job (device, 3000);
  TdBuffer *buffer = td_buffer_new (device, 1000, NULL), *own = td_buffer_new (job, 100, NULL);

  g_assert_cmpuint (td_device_memory_free (job), ==, 2900);
  device->info.memory_bytes = 2100;
  g_assert_cmpuint (td_device_memory_free (job), ==, 1000);
  g_assert_cmpuint (td_device_memory_free (device), ==, 1000);
  device->memory_limit_bytes = 1150;
  g_assert_cmpuint (td_device_memory_free (job), ==, 50);
  device->info.memory_bytes = 1099;
  g_assert_cmpuint (td_device_memory_free (device), ==, 0);
  device->memory_limit_bytes = 10; /* below what is allocated */
  g_assert_cmpuint (td_device_memory_free (device), ==, 0);
  td_buffer_free (buffer);
  td_buffer_free (own);
  td_device_unref (job);
  td_device_unref (device);
}

static void
test_texels (void)
{
  static const struct {
    guint channels;
    gboolean half;
    TdTexel texel;
    gsize bytes;
  } cases[] = {
    { 1, FALSE, TD_TEXEL_R32F, 4 },     { 2, FALSE, TD_TEXEL_RG32F, 8 },
    { 4, FALSE, TD_TEXEL_RGBA32F, 16 }, { 1, TRUE, TD_TEXEL_R16F, 2 },
    { 2, TRUE, TD_TEXEL_RG16F, 4 },     { 4, TRUE, TD_TEXEL_RGBA16F, 8 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_assert_cmpint (td_texel (cases[i].channels, cases[i].half), ==, cases[i].texel);
    g_assert_cmpuint (td_texel_channels (cases[i].texel), ==, cases[i].channels);
    g_assert_cmpuint (td_texel_bytes (cases[i].texel), ==, cases[i].bytes);
  }
  g_autofree char *place = td_device_pci_id (0x12345, 0xab, 0x1f, 7);
  g_assert_cmpstr (place, ==, "pci:12345:ab:1f.7");
  g_auto (GStrv) words = td_defines ("A=%d B=%s", 3, "x");
  g_assert_cmpuint (g_strv_length (words), ==, 2);
  g_assert_cmpstr (words[0], ==, "A=3");
  g_assert_cmpstr (words[1], ==, "B=x");
}

/* One device's values that come back changed, one at a time. */
static struct {
  const TdDeviceOps *sound;
  guint calls, changed, place;
  float by;
} liar;

static gboolean
lying_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                GError **error)
{
  const gboolean done = liar.sound->download (queue, host, from, offset, bytes, error);

  if (liar.calls++ == liar.changed)
    ((float *) host)[liar.place % (bytes / sizeof (float))] += liar.by;
  return done;
}

/* Any value that a device gets wrong is found: of copies, of a kernel, of transforms. */
static void
test_check_finds (void)
{
  static const struct {
    guint changed, places;
    float by, bearable; /* 0: nothing is */
    const char *says;
  } cases[] = {
    { 0, 4099, 0.5f, 0, "copied values come out wrong" },
    { 1, 4099, 0.5f, 0, "a kernel's values come out wrong" },
    { 2, 360, 2e-4f, 2e-5f, "Fourier transforms come out wrong" },
    { 3, 360, 2e-4f, 2e-5f, "Fourier transforms come out wrong" },
  };
  TdDevice *device = td_test_open ("host");
  TdDeviceOps lying = *device->ops;

  liar.sound = device->ops;
  lying.download = lying_download;
  device->ops = &lying;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint place = 0; place < cases[i].places; place += place % 7 * 10 + 1) {
      g_autoptr (GError) error = NULL;
      liar.calls = 0;
      liar.changed = cases[i].changed;
      liar.place = place + 1 < cases[i].places ? place : cases[i].places - 1;
      liar.by = place % 2 ? cases[i].by : -cases[i].by;
      g_assert_false (td_device_check (device, &error));
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
      g_assert_true (g_str_has_prefix (error->message, cases[i].says));
      liar.calls = 0;
      liar.by = cases[i].bearable;
      g_clear_error (&error);
      g_assert_true (td_device_check (device, &error));
      g_assert_cmpuint (liar.calls, ==, 4);
    }
  device->ops = liar.sound;
  td_test_close (device);
}

/* ── The host's helpers ── */

/* On either side of the pieces that threads take, and nothing beside them. */
static void
test_copies (void)
{
  static const gsize sizes[] = {
    0, 1, 65535, 65536, 65537, 196613, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, (3 << 18) + 77
  };
  g_autofree float *from = g_new (float, (3 << 18) + 79), *to = g_new (float, (3 << 18) + 79);

  td_test_random (from, (3 << 18) + 79, 5);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const gsize n = sizes[i];
    td_test_random (to, n + 2, 6);
    g_autofree float *before = g_memdup2 (to, (n + 2) * sizeof *to);
    td_host_add (to + 1, from, n);
    for (gsize k = 0; k < n; k++)
      g_assert_cmpfloat (to[k + 1], ==, before[k + 1] + from[k]);
    g_assert_true (to[0] == before[0] && to[n + 1] == before[n + 1]);
    memcpy (to, before, (n + 2) * sizeof *to);
    td_host_copy (to + 1, from, n * sizeof *to);
    g_assert_cmpmem (to + 1, n * sizeof *to, from, n * sizeof *to);
    g_assert_true (to[0] == before[0] && to[n + 1] == before[n + 1]);
  }
  /* Bytes, not only floats. */
  memset (to, 1, 1 << 20);
  td_host_copy (to, from, (1 << 20) - 3);
  g_assert_cmpmem (to, (1 << 20) - 3, from, (1 << 20) - 3);
  g_assert_cmpint (((char *) to)[(1 << 20) - 3], ==, 1);
}

/* Whatever the shape of a launch, each work-item runs once. */
static void
test_launch_shapes (void)
{
  static const guint shapes[][4] = {
    { 1, 1, 1, 1 },    { 1, 1, 1, 3 },   { 900, 1, 1, 1 }, { 1, 700, 1, 1 },
    { 1, 1, 900, 1 },  { 3, 5, 7, 2 },   { 40, 1, 3, 1 },  { 2, 300, 1, 2 },
    { 2000, 2, 1, 1 }, { 129, 1, 1, 4 }, { 300, 3, 1, 5 }, { 17, 33, 3, 1 },
  };
  TdDevice *device = td_test_open ("host");
  TdQueue *queue = td_queue_new (device, NULL);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_ids", NULL);
  TdKernel *count = td_device_kernel (device, "check-host", NULL, "td_check_count", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    const guint *groups = shapes[i], local[3] = { TD_CHECK_LOCAL_X, TD_CHECK_LOCAL_Y, groups[3] };
    const guint nx = groups[0] * local[0], ny = groups[1] * local[1], nz = groups[2] * local[2];
    TdBuffer *buffer = td_buffer_new (device, (gsize) nx * ny * nz * sizeof (int), NULL);
    int *out = td_buffer_map (buffer);
    memset (out, 0xff, (gsize) nx * ny * nz * sizeof (int));
    g_assert_true (td_launch (queue, kernel, groups, local, TD_ARGS (buffer), NULL));
    for (guint z = 0; z < nz; z++)
      for (guint y = 0; y < ny; y++)
        for (guint x = 0; x < nx; x++)
          if (*out++ != (int) (x + 1000 * (y / local[1]) + 1000000 * (z % local[2])))
            g_error ("shape %u: item %u %u %u is wrong", i, x, y, z);
    td_buffer_free (buffer);
  }
  /* As often as it is counted. */
  for (guint n = 1; n < 20000; n = n * 5 / 3 + 1) {
    TdBuffer *values = td_buffer_new (device, n * sizeof (int), NULL);
    TdBuffer *sums = td_buffer_new (device, 3 * sizeof (int), NULL);
    const int n_int = (int) n, *sum = td_buffer_map (sums);
    int *value = td_buffer_map (values);
    td_fill_zero (queue, sums, 0, 3 * sizeof (int), NULL);
    for (guint i = 0; i < n; i++)
      value[i] = i % 3;
    td_launch (queue, count, (guint[]) { (n + 7) / 8, 1, 1 }, (guint[]) { 8, 1, 1 },
               TD_ARGS (sums, values, n_int), NULL);
    for (guint i = 0; i < 3; i++)
      g_assert_cmpint (sum[i], ==, (n + 2 - i) / 3);
    td_buffer_free (values);
    td_buffer_free (sums);
  }
  td_queue_free (queue);
  td_test_close (device);
}

/* Arguments that are not the kernel's own, in number, kind or size. */
static void
test_arguments (void)
{
  TdDevice *device = td_test_open ("host");
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 64, NULL);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_count", NULL);
  const int n = 0;
  const double wide = 0;
  const TdArg right[] = { TD_ARG (buffer), TD_ARG (buffer), TD_ARG (n), TD_ARG (n) };
  const TdArg value[] = { TD_ARG (buffer), TD_ARG (n), TD_ARG (n) };
  const TdArg memory[] = { TD_ARG (buffer), TD_ARG (buffer), TD_ARG (buffer) };
  const TdArg large[] = { TD_ARG (buffer), TD_ARG (buffer), TD_ARG (wide) };
  const TdArg local[] = { TD_ARG (buffer), TD_ARG (buffer), TD_ARG (((TdLocal) { 0 })) };
  const struct {
    const TdArg *args;
    guint n;
    const char *says;
  } cases[] = {
    { right, 3, NULL },
    { right, 2, "td_check_count takes 3 arguments, not 2" },
    { right, 4, "td_check_count takes 3 arguments, not 4" },
    { value, 3, "td_check_count: argument 1 has the wrong type or size" },
    { memory, 3, "td_check_count: argument 2 has the wrong type or size" },
    { large, 3, "td_check_count: argument 2 has the wrong type or size" },
    { local, 3, "td_check_count: argument 2 has the wrong type or size" },
  };
  static const guint one[] = { 1, 1, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_cmpint (td_launch (queue, kernel, one, one, cases[i].args, cases[i].n, &error), ==,
                     !cases[i].says);
    if (cases[i].says)
      g_assert_true (g_str_has_suffix (error->message, cases[i].says));
  }
  /* Its programs were compiled without any define. */
  for (guint n_defines = 1; n_defines <= 2; n_defines++) {
    const char *const defines[] = { "A=1", n_defines > 1 ? "B=1" : NULL, NULL };
    g_autoptr (GError) undefined = NULL;
    g_assert_null (td_device_kernel (device, "check-host", defines, "td_check_ids", &undefined));
    g_assert_error (undefined, TD_ERROR, TD_ERROR_DEVICE_BUILD);
    g_assert_nonnull (strstr (undefined->message, "'check-host' (A=1) is not among those"));
  }
  g_autoptr (GError) error = NULL;
  g_assert_false (
      td_launch (queue, kernel, (guint[]) { 1, 1 << 16, 1 << 15 }, one, right, 3, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  td_test_pin_refused (error);
  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

/* What the processor is called; and memory that is not to be had is a sentence. */
static void
test_host (void)
{
  TdDevice *device = td_test_open ("host");
  const TdDeviceInfo *info = td_device_info (device);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL, none = NULL;

  g_assert_true (g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL));
  g_autoptr (GRegex) model
      = g_regex_new ("^model name\\s*:\\s*(.*?)\\s*$", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  if (g_regex_match (model, text, 0, &match)) {
    g_autofree char *name = g_match_info_fetch (match, 1);
    g_assert_cmpstr (info->name, ==, name);
  }
  g_assert_null (strchr (info->name, '\n'));
  g_assert_cmpstr (info->vendor, ==, "");
  g_assert_cmpstr (info->api, ==, "host");
  g_assert_cmpstr (info->hardware_id, ==, "");
  g_assert_cmpint (info->kind, ==, TD_DEVICE_CPU);
  g_assert_cmpuint (info->memory_bytes, ==, td_host_memory_bytes ());
  g_assert_cmpuint (info->max_alloc_bytes, ==, info->memory_bytes);
  g_assert_cmpuint (info->compute_units, ==, td_host_threads ());
  g_assert_cmpuint (info->max_group_size, ==, 1024);
  g_assert_cmpuint (info->texels, ==, 0);
  g_assert_true (info->host_pointers && info->double_arithmetic && info->cpu_shaped);
  g_assert_false (info->texture_linear || info->shuffle || info->half_storage);

  gpointer nothing = td_host_malloc (0, &none);
  g_assert_true (nothing && !none);
  g_free (nothing);
  g_assert_null (td_host_malloc (G_MAXINT64, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  td_test_pin_refused (error);
  td_test_close (device);
}

/* Processes of one computer share its memory. */
static void
test_shares (void)
{
  const guint64 all = td_host_memory_available ();

  td_host_share (4, 1);
  g_assert_cmpuint (td_host_memory_available (), <, all / 2);
  g_assert_cmpuint (td_host_memory_available (), >, all / 8);
  td_host_share (0, 0);
  g_assert_cmpuint (td_host_memory_available (), >, all / 2);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "info", test_info },       { "buffers", test_buffers },   { "limits", test_limits },
    { "check", test_check },     { "textures", test_textures }, { "not-made", test_not_made },
    { "queues", test_queues },   { "threads", test_threads },   { "accounts", test_accounts },
    { "elapsed", test_elapsed }, { "launches", test_launches },
  };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device/list", test_list);
  g_test_add_func ("/device/traps", test_traps);
  g_test_add_func ("/device/names", test_names);
  g_test_add_func ("/device/parallel", test_parallel);
  g_test_add_func ("/device/isa", test_isa);
  g_test_add_func ("/device/scratch", test_scratch);
  g_test_add_func ("/device/groups", test_groups);
  g_test_add_func ("/device/group-processors", test_group_processors);
  g_test_add_func ("/device/foreign", test_foreign);
  g_test_add_func ("/device/ranges", test_ranges);
  g_test_add_func ("/device/limits-together", test_limits_together);
  g_test_add_func ("/device/memory-left", test_memory_left);
  g_test_add_func ("/device/texels", test_texels);
  g_test_add_func ("/device/check-finds", test_check_finds);
  g_test_add_func ("/device/copies", test_copies);
  g_test_add_func ("/device/launch-shapes", test_launch_shapes);
  g_test_add_func ("/device/arguments", test_arguments);
  g_test_add_func ("/device/host", test_host);
  g_test_add_func ("/device/shares", test_shares);
  g_test_add_func ("/device/affinity", test_affinity);
  td_test_each_device ("device", tests, G_N_ELEMENTS (tests));
  g_test_add_func ("/device/reaction", test_reaction);
  return g_test_run ();
}
