/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host and every device of every API found here keep the device contract
   (compute/device/device.h). Its programs and FFTs are tested in test-device-program.c and
   test-device-fft.c. */
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
  TdDevice *device = td_test_open (id);
  const TdDeviceInfo *info = td_device_info (device);
  g_autoptr (GError) error = NULL;

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
  for (guint i = 0; i < 5000 && (guint) g_atomic_int_get (&taker.n) < n; i++)
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
  g_test_add_func ("/device/affinity", test_affinity);
  td_test_each_device ("device", tests, G_N_ELEMENTS (tests));
  g_test_add_func ("/device/reaction", test_reaction);
  return g_test_run ();
}
