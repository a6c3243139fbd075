/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "devices.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

void
td_test_random (float *values, gsize n, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);

  for (gsize i = 0; i < n; i++)
    values[i] = g_rand_double_range (random, -1, 1);
}

TdDevice *
td_test_open (gconstpointer id)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open (id, &error);

  g_assert_no_error (error);
  return device;
}

guint64
td_test_live_objects (TdDevice *device)
{
  g_mutex_lock (&device->hardware->lock);
  const guint64 live = device->hardware->live_objects;
  g_mutex_unlock (&device->hardware->lock);
  return live;
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
