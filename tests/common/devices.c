/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "devices.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void
td_test_random (float *values, gsize n, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    values[i] = g_rand_double_range (random, -1, 1);
}

TdDeviceInfo
td_test_card (const char *id, const char *name, guint64 memory_bytes)
{
  return (TdDeviceInfo) { .id = (char *) id,
                          .name = (char *) name,
                          .kind = TD_DEVICE_GPU,
                          .memory_bytes = memory_bytes,
                          .compute_units = 100,
                          .local_memory_bytes = 48 << 10,
                          .max_group_size = 1024,
                          .texture_max = { 131072, 65536 },
                          .texture_max_layers = 2048,
                          .texels = ~0u,
                          .texture_linear = TRUE,
                          .half_storage = TRUE,
                          .half_arithmetic = TRUE,
                          .double_arithmetic = TRUE,
                          .shuffle = TRUE };
}

/* ── What lies behind a buffer ── */

#define GUARD 512 /* bytes */

static const TdDeviceOps *unguarded; /* of OpenCL's devices */
static TdDeviceOps guarded;
static GHashTable *guard_queues; /* TdQueue, by TdDevice */
static GMutex guard_lock;

static TdQueue *
guard_queue (TdDevice *device)
{
  g_autoptr (GError) error = NULL;
  TdQueue *queue = g_hash_table_lookup (guard_queues, device);

  if (queue)
    return queue;
  queue = g_malloc0 (unguarded->sizes.queue);
  queue->device = device;
  unguarded->queue_new (queue, FALSE, &error);
  g_assert_no_error (error);
  g_hash_table_insert (guard_queues, device, queue);
  return queue;
}

static void
guard_device_free (TdDevice *device)
{
  g_mutex_lock (&guard_lock);
  g_autofree TdQueue *queue = g_hash_table_lookup (guard_queues, device);
  g_hash_table_remove (guard_queues, device);
  g_mutex_unlock (&guard_lock);
  if (queue)
    unguarded->queue_free (queue);
  unguarded->device_free (device);
}

/* Fills them with NaN, or reads them. */
static void
guard_transfer (TdBuffer *buffer, guint8 *bytes, gboolean up)
{
  g_autoptr (GError) error = NULL;

  g_mutex_lock (&guard_lock);
  TdQueue *queue = guard_queue (buffer->device);
  if (up)
    unguarded->upload (queue, buffer, buffer->bytes, bytes, GUARD, &error);
  else
    unguarded->download (queue, bytes, buffer, buffer->bytes, GUARD, &error);
  g_assert_no_error (error);
  unguarded->queue_finish (queue, &error);
  g_assert_no_error (error);
  g_mutex_unlock (&guard_lock);
}

static gboolean
guard_buffer_new (TdBuffer *buffer, GError **error)
{
  guint8 bytes[GUARD];

  buffer->bytes += GUARD;
  const gboolean made = unguarded->buffer_new (buffer, error);
  buffer->bytes -= GUARD;
  if (!made)
    return FALSE;
  memset (bytes, 0xff, sizeof bytes);
  guard_transfer (buffer, bytes, TRUE);
  return TRUE;
}

static void
guard_buffer_free (TdBuffer *buffer)
{
  guint8 bytes[GUARD];

  guard_transfer (buffer, bytes, FALSE);
  for (guint i = 0; i < GUARD; i++)
    if (bytes[i] != 0xff)
      g_error ("%" PRIu64 " bytes of a buffer: byte %" PRIu64 " was written", buffer->bytes,
               buffer->bytes + i);
  unguarded->buffer_free (buffer);
}

void
td_test_guard (TdDevice *device)
{
  device = device->hardware;
  if (strcmp (device->info.api, "opencl") != 0 || device->info.kind != TD_DEVICE_CPU)
    return;
  if (!unguarded) {
    unguarded = device->ops;
    guarded = *unguarded;
    guarded.buffer_new = guard_buffer_new;
    guarded.buffer_free = guard_buffer_free;
    guarded.device_free = guard_device_free;
    guard_queues = g_hash_table_new (NULL, NULL);
  }
  /* Faults that a test has begun stay on top. */
  if (device->ops == unguarded)
    device->ops = &guarded;
}

TdDevice *
td_test_open (gconstpointer id)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open (id, &error);

  g_assert_no_error (error);
  td_test_guard (device);
  return device;
}

void
td_test_keep_open (void)
{
  g_autoptr (GPtrArray) entries = td_device_list ();

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    if (entry->available)
      td_test_open (entry->id);
  }
}

guint64
td_test_live_objects (TdDevice *device)
{
  g_mutex_lock (&device->hardware->lock);
  const guint64 live = device->hardware->live_objects;
  g_mutex_unlock (&device->hardware->lock);
  return live;
}

guint64
td_test_allocated (TdDevice *device)
{
  g_mutex_lock (&device->hardware->lock);
  const guint64 bytes = device->hardware->allocated_bytes;
  g_mutex_unlock (&device->hardware->lock);
  return bytes;
}

void
td_test_workspace (TdDevice *device, guint64 before, guint64 planned, double most)
{
  const guint64 taken = td_test_allocated (device) - before;

  if (!device->info.cpu_shaped || device->info.host_pointers)
    return;
  g_assert_cmpuint (taken, <=, planned);
  g_assert_cmpfloat (planned, <=, most * taken);
}

void
td_test_free_programs (TdDevice *device)
{
  g_clear_pointer (&device->programs, g_hash_table_unref);
}

void
td_test_close (TdDevice *device)
{
  g_assert_cmpuint (td_test_live_objects (device), ==, 0);
  g_assert_cmpuint (device->allocated_bytes, ==, 0);
  td_device_unref (device);
}

TdBuffer *
td_test_buffer (TdDevice *device, TdQueue *queue, const void *data, gsize bytes)
{
  g_autoptr (GError) error = NULL;
  TdBuffer *buffer = td_buffer_new (device, bytes, &error);

  g_assert_no_error (error);
  g_assert_true (td_upload (queue, buffer, 0, data, bytes, &error));
  return buffer;
}

void
td_test_launch (TdQueue *queue, TdKernel *kernel, guint n, guint local, const TdArg *args,
                guint n_args)
{
  g_autoptr (GError) error = NULL;

  td_launch (queue, kernel, (guint[]) { (n + local - 1) / local, 1, 1 }, (guint[]) { local, 1, 1 },
             args, n_args, &error);
  g_assert_no_error (error);
}

void
td_test_finish (TdQueue *queue)
{
  g_autoptr (GError) error = NULL;

  td_queue_finish (queue, &error);
  g_assert_no_error (error);
}

void
td_test_own_cache (const char *name)
{
  const char *base = g_getenv ("XDG_CACHE_HOME");

  if (base && g_str_has_suffix (base, name)) /* a subprocess of that test */
    return;
  g_autofree char *own = g_build_filename (base ? base : g_get_tmp_dir (), name, NULL);

  g_setenv ("XDG_CACHE_HOME", own, TRUE);
}

void
td_test_own_rates (const char *name)
{
  const char *base = g_getenv ("XDG_CACHE_HOME");
  g_autofree char *all
      = g_build_filename (base ? base : g_get_tmp_dir (), "tomodesk", "programs", NULL);

  td_test_own_cache (name);
  g_autofree char *own = g_build_filename (g_getenv ("XDG_CACHE_HOME"), "tomodesk", NULL);
  g_autofree char *programs = g_build_filename (own, "programs", NULL);
  g_mkdir_with_parents (all, 0700);
  g_mkdir_with_parents (own, 0700);
  g_autofree char *rates = g_build_filename (own, "rates.ini", NULL);
  g_autofree char *tuned = g_build_filename (own, "tuned.json", NULL);
  g_unlink (rates); /* of an earlier run */
  g_unlink (tuned);
  if (symlink (all, programs) != 0) /* there is one of an earlier run */
    g_assert_cmpint (errno, ==, EEXIST);
}

void
td_test_each_device (const char *prefix, const TdDeviceTest *tests, guint n_tests)
{
  g_autoptr (GPtrArray) entries = td_device_list ();

  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = g_ptr_array_index (entries, i);
    for (guint t = 0; entry->available && t < n_tests; t++) {
      g_autofree char *path = g_strdup_printf ("/%s/%s/%s", prefix, entry->id, tests[t].name);
      g_test_add_data_func_full (path, g_strdup (entry->id), tests[t].function, g_free);
    }
  }
}
