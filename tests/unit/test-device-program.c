/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On every device programs build, kernels and launches compute what they should, and the program
   cache serves only the same program. */
#include "compute/device/program-cache.h"
#include "kernels/params.h"
#include "kernels/source.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

/* On the way to OpenCL's library: all drivers are asked for the same language. */
int clBuildProgram (gpointer program, guint n, const gpointer *devices, const char *options,
                    GCallback done, gpointer user);

int
clBuildProgram (gpointer program, guint n, const gpointer *devices, const char *options,
                GCallback done, gpointer user)
{
  int (*real) (gpointer, guint, const gpointer *, const char *, GCallback, gpointer);

  *(gpointer *) &real = dlsym (RTLD_NEXT, "clBuildProgram");
  g_assert_nonnull (options);
  g_assert_nonnull (strstr (options, "-cl-std=CL1.2"));
  return real (program, n, devices, options, done, user);
}

/* Where the program cache keeps the entry of @key. (transfer full) */
static char *
cache_file (const char *key)
{
  return g_build_filename (g_get_user_cache_dir (), "tomodesk", "programs", key, NULL);
}

static void
test_launch_limits (gconstpointer id)
{
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_ids", &error);
  g_assert_no_error (error);
  TdBuffer *buffer = td_buffer_new (device, 64, &error);
  TdArg args[] = { TD_ARG (buffer) };
  static const guint bad[][6] = {
    { 1u << 27, 1, 1, 16, 1, 1 }, /* 2^31 work-items */
    { 1, 0, 1, 1, 1, 1 },
    { 1, 1, 1, 65536, 65536, 1 }, /* a product of 2^32 */
  };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_assert_false (td_launch (queue, kernel, bad[i], bad[i] + 3, args, 1, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    td_test_pin_refused (error);
    g_clear_error (&error);
  }
  g_assert_null (td_device_kernel (device, "check-host", NULL, "td_no_such_kernel", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
  td_test_pin_refused (error);
  g_clear_error (&error);
  g_assert_null (td_device_kernel (device, "no-such-source", NULL, "td_check_ids", &error));
  g_assert_nonnull (error);
  g_clear_error (&error);

  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_kernels (gconstpointer id)
{
  enum { N = 5003, OUT = 3, IN = 11 };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_scale", &error);
  g_assert_no_error (error);
  TdCheckParams params = { 2.5f, -0.75f };
  int out_start = OUT, in_start = IN, n = N;
  float in[N + IN], out[N + OUT + 1], original[N + OUT + 1];

  td_test_random (in, N + IN, 1);
  td_test_random (original, N + OUT + 1, 2);
  TdBuffer *a = td_test_buffer (device, queue, in, sizeof in);
  TdBuffer *b = td_test_buffer (device, queue, original, sizeof original);
  TdArg args[] = { TD_ARG (b),        TD_ARG (a), TD_ARG (out_start),
                   TD_ARG (in_start), TD_ARG (n), TD_ARG (params) };
  td_test_launch (queue, kernel, N, 64, args, G_N_ELEMENTS (args));
  td_download (queue, out, b, 0, sizeof out, &error);
  td_test_finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat_with_epsilon (out[OUT + i], 2.5f * in[IN + i] - 0.75f, 1e-6);
  g_assert_cmpmem (out, OUT * sizeof (float), original, OUT * sizeof (float));
  g_assert_cmpfloat (out[N + OUT], ==, original[N + OUT]);

  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_ids (gconstpointer id)
{
  const guint groups[3] = { 9, 7, 3 }, local[3] = { TD_CHECK_LOCAL_X, TD_CHECK_LOCAL_Y, 2 };
  const guint nx = 9 * TD_CHECK_LOCAL_X, ny = 7 * TD_CHECK_LOCAL_Y, nz = 6;
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  g_autofree int *out = g_new (int, nx *ny *nz);
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_ids", &error);
  TdBuffer *buffer = td_buffer_new (device, nx * ny * nz * sizeof (int), &error);
  TdArg args[] = { TD_ARG (buffer) };

  g_assert_true (td_launch (queue, kernel, groups, local, args, 1, &error));
  td_download (queue, out, buffer, 0, nx * ny * nz * sizeof (int), &error);
  td_test_finish (queue);
  for (guint z = 0; z < nz; z++)
    for (guint y = 0; y < ny; y++)
      for (guint x = 0; x < nx; x++)
        g_assert_cmpint (out[(z * ny + y) * nx + x], ==,
                         x + 1000 * (y / TD_CHECK_LOCAL_Y) + 1000000 * (z % 2));

  td_buffer_free (buffer);
  td_queue_free (queue);
  td_test_close (device);
}

static void
test_atomics (gconstpointer id)
{
  enum { N = 70001, BINS = 7 };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  g_autofree int *values = g_new (int, N);
  int counts[BINS], expected[BINS] = { 0 }, n = N;
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_count", &error);

  for (guint i = 0; i < N; i++)
    expected[values[i] = (i * 7919u) % 1013u % BINS]++;
  TdBuffer *in = td_test_buffer (device, queue, values, N * sizeof (int));
  TdBuffer *out = td_buffer_new (device, sizeof counts, &error);
  td_fill_zero (queue, out, 0, sizeof counts, &error);
  TdArg args[] = { TD_ARG (out), TD_ARG (in), TD_ARG (n) };
  td_test_launch (queue, kernel, N, 64, args, 3);
  td_download (queue, counts, out, 0, sizeof counts, &error);
  td_test_finish (queue);
  g_assert_cmpmem (counts, sizeof counts, expected, sizeof expected);

  td_buffer_free (in);
  td_buffer_free (out);
  td_queue_free (queue);
  td_test_close (device);
}

/* Programs of different defines are different programs, in memory and in the cache on disk: in a
   second round the device is opened anew. Local memory sized by the launch. */
static void
test_defines (gconstpointer id)
{
  enum { GROUP = 16, N = 8 * GROUP };
  static const char *const variants[][3] = {
    { "GROUP=16", "FACTOR=1.0f", NULL },
    { "GROUP=16", "FACTOR=3.0f", NULL },
    { "GROUP=16", "FACTOR=(1.0f + 1.0f)", NULL },
    { "GROUP=8", "FACTOR=1.0f", NULL },
  };
  static const float factors[] = { 1, 3, 2, 1 };
  float in[N], out[N];

  td_test_random (in, N, 3);
  for (guint round = 0; round < 2; round++) {
    TdDevice *device = td_test_open (id);
    g_autoptr (GError) error = NULL;
    if (td_device_info (device)->local_memory_bytes == 0) {
      td_test_close (device);
      g_test_skip ("no local memory");
      return;
    }
    TdQueue *queue = td_queue_new (device, &error);
    TdBuffer *a = td_test_buffer (device, queue, in, sizeof in);
    TdBuffer *b = td_buffer_new (device, sizeof out, &error);
    TdArg args[] = { TD_ARG (b), TD_ARG (a), TD_ARG ((TdLocal) { GROUP * sizeof (float) }) };
    for (guint v = 0; v < G_N_ELEMENTS (variants); v++) {
      guint summed = v == 3 ? 8 : GROUP;
      TdKernel *kernel
          = td_device_kernel (device, "check-device", variants[v], "td_check_group_sum", &error);
      g_assert_no_error (error);
      g_assert_true (
          kernel
          == td_device_kernel (device, "check-device", variants[v], "td_check_group_sum", &error));
      td_test_launch (queue, kernel, N, GROUP, args, 3);
      td_download (queue, out, b, 0, sizeof out, &error);
      td_test_finish (queue);
      for (guint i = 0; i < N; i++) {
        float sum = 0;
        for (guint j = 0; j < summed; j++)
          sum += in[i / GROUP * GROUP + j];
        g_assert_cmpfloat_with_epsilon (out[i], factors[v] * sum, 1e-5);
      }
    }
    td_buffer_free (a);
    td_buffer_free (b);
    td_queue_free (queue);
    td_test_close (device);
  }
}

static void
test_build_error (gconstpointer id)
{
  static const char *const broken[] = { "GROUP=16", "FACTOR=no_such_name", NULL };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;

  g_assert_null (td_device_kernel (device, "check-device", broken, "td_check_group_sum", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, td_device_info (device)->id));
  if (td_device_info (device)->local_memory_bytes) /* the compiler's own words, one line of them */
    g_assert_nonnull (strstr (error->message, "no_such_name"));
  g_assert_null (strchr (error->message, '\n'));
  td_test_close (device);
}

/* ── The program cache ── */

static char *cache_name; /* of its folder, which no other test has */

static GHashTable *
cache_entries (void)
{
  GHashTable *names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *file = cache_file ("x"), *folder = g_path_get_dirname (file);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    g_hash_table_add (names, g_strdup (name));
  return names;
}

/* Opens the device anew, so that the program comes from disk, and has it compute. */
static void
run_factor (const char *id, const char *const *defines, float factor)
{
  enum { N = 16 };
  TdDevice *device = td_test_open (id);
  g_autoptr (GError) error = NULL;
  TdQueue *queue = td_queue_new (device, &error);
  TdKernel *kernel
      = td_device_kernel (device, "check-device", defines, "td_check_group_sum", &error);
  float in[N], out[N], sum = 0;

  g_assert_no_error (error);
  td_test_random (in, N, 5);
  for (guint i = 0; i < N; i++)
    sum += in[i];
  TdBuffer *a = td_test_buffer (device, queue, in, sizeof in);
  TdBuffer *b = td_test_buffer (device, queue, in, sizeof in);
  TdArg args[] = { TD_ARG (b), TD_ARG (a), TD_ARG ((TdLocal) { sizeof in }) };
  td_test_launch (queue, kernel, N, N, args, 3);
  td_download (queue, out, b, 0, sizeof out, &error);
  td_test_finish (queue);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat_with_epsilon (out[i], factor * sum, 1e-4 * factor);

  td_buffer_free (a);
  td_buffer_free (b);
  td_queue_free (queue);
  td_test_close (device);
}

static char *
new_entry (GHashTable *before)
{
  g_autoptr (GHashTable) after = cache_entries ();
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, after);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    if (!g_hash_table_contains (before, name))
      return g_strdup (name);
  return NULL;
}

static void
flip_last_byte (const char *file)
{
  g_autofree char *text = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (file, &text, &length, NULL));
  text[length - 1] ^= 1;
  g_assert_true (g_file_set_contents (file, text, length, NULL));
}

/* An entry that is damaged, or whole but refused by the driver, is built again and replaced. */
static void
test_cache (gconstpointer id)
{
  /* A program nobody built before. */
  guint number = 2 + g_random_int () % 1000000000u;
  g_autofree char *factor = g_strdup_printf ("FACTOR=%uu", number);
  const char *const defines[] = { "GROUP=16", factor, NULL };
  TdDevice *device = td_test_open (id);
  gboolean compiles = device->ops->dialect != NULL;
  td_test_close (device);

  if (!compiles) {
    g_test_skip ("programs are compiled in");
    return;
  }
  g_setenv ("TOMODESK_KEEP_PROGRAMS", "1", TRUE); /* PoCL's, too */
  g_autoptr (GHashTable) before = cache_entries ();
  run_factor (id, defines, number);
  g_autofree char *key = new_entry (before);
  g_assert_nonnull (key);
  g_autofree char *file = cache_file (key);
  g_autoptr (GBytes) good = td_program_cache_load (key);
  g_assert_nonnull (good);

  for (guint damage = 0; damage < 4; damage++) {
    if (damage == 0)
      flip_last_byte (file);
    else if (damage == 1)
      g_assert_cmpint (truncate (file, g_bytes_get_size (good) / 2), ==, 0);
    else if (damage == 2)
      g_assert_cmpint (truncate (file, 0), ==, 0);
    else
      td_program_cache_store (key, "not a program", 13);
    g_autoptr (GBytes) damaged = td_program_cache_load (key);
    g_assert_true ((damaged != NULL) == (damage == 3));
    run_factor (id, defines, number);
    g_autoptr (GBytes) mended = td_program_cache_load (key);
    g_assert_nonnull (mended);
    g_assert_cmpuint (g_bytes_get_size (mended), >, 13);
  }

  /* What is whole but another program's. */
  g_autofree char *other = g_strconcat (key, "0", NULL), *other_file = cache_file (other);
  g_autofree char *text = NULL;
  gsize length;
  g_assert_true (g_file_get_contents (file, &text, &length, NULL));
  g_assert_true (g_file_set_contents (other_file, text, length, NULL));
  g_assert_null (td_program_cache_load (other));
  g_unlink (other_file);
  g_unlink (file);
  g_unsetenv ("TOMODESK_KEEP_PROGRAMS");
}

/* Of more than 2000 programs the oldest quarter goes, when the first one is kept. */
static void
test_cache_prune (void)
{
  if (!g_test_subprocess ()) {
    g_autofree char *before = g_strdup (g_getenv ("XDG_CACHE_HOME"));
    g_autofree char *base = g_dir_make_tmp ("tomodesk-XXXXXX", NULL);
    g_autofree char *own = g_build_filename (base, cache_name, NULL);
    g_setenv ("XDG_CACHE_HOME", own, TRUE);
    g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_setenv ("XDG_CACHE_HOME", before, TRUE);
    g_test_trap_assert_passed ();
    return;
  }
  g_autofree char *folder
      = g_build_filename (g_get_user_cache_dir (), "tomodesk", "programs", NULL);
  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  for (guint i = 0; i < 2003; i++) {
    /* The names' order is another than that of the times. */
    g_autofree char *name = g_strdup_printf ("%04u", (i * 7) % 2003);
    g_autofree char *path = g_build_filename (folder, name, NULL);
    const struct utimbuf times = { 1000000 + i, 1000000 + i };
    g_assert_true (g_file_set_contents_full (path, "", 0, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    g_assert_cmpint (g_utime (path, (struct utimbuf *) &times), ==, 0);
  }
  td_program_cache_store ("key", "data", 4);
  for (guint i = 0; i < 2003; i++) {
    g_autofree char *name = g_strdup_printf ("%04u", (i * 7) % 2003);
    g_autofree char *path = g_build_filename (folder, name, NULL);
    /* 2004 with the new one: 501 go. */
    g_assert_cmpint (g_file_test (path, G_FILE_TEST_EXISTS), ==, i >= 501);
    g_unlink (path);
  }
  g_autoptr (GBytes) kept = td_program_cache_load ("key");
  g_assert_nonnull (kept);
}

/* Whatever can change the binary changes the key. */
static void
test_cache_keys (void)
{
  TdDeviceInfo a = {
    .api = (char *) "x", .vendor = (char *) "v", .name = (char *) "n", .driver = (char *) "1"
  };
  TdDeviceInfo newer = a, other_arch = a, other_api = a, moved = a;
  static const char *const one[] = { "A=1", NULL }, *const two[] = { "A=1", "B=1", NULL };
  static const char *const joined[] = { "A=1B=1", NULL };
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  newer.driver = (char *) "2";
  other_arch.arch = 90;
  other_api.api = (char *) "y";
  moved.name = (char *) "";
  moved.driver = (char *) "n1";
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&newer, NULL, "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&other_arch, NULL, "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&other_api, NULL, "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&moved, NULL, "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, "c", "text", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "texts", NULL)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "text", one)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "text", two)));
  g_assert_true (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "text", joined)));
  g_assert_false (g_hash_table_add (keys, td_program_cache_key (&a, NULL, "text", one)));
}

/* ── What a compiler is given ── */

static char **
lines_of_source (const char *name)
{
  for (const TdKernelSource *source = td_kernel_sources; source->name; source++)
    if (strcmp (source->name, name) == 0)
      return g_strsplit (source->text, "\n", -1);
  g_error ("%s is no source", name);
}

/* Each line is the one that a compiler would name in its messages, and each source is there once.
 */
static void
test_lines (void)
{
  static const char *const dialects[] = { "opencl.h", "cuda.h", "cuda-half.h" };

  for (const TdKernelSource *source = td_kernel_sources; source->name; source++)
    for (guint d = 0; g_str_has_suffix (source->name, ".cl") && d < G_N_ELEMENTS (dialects); d++) {
      g_autofree char *name = g_strndup (source->name, strlen (source->name) - strlen (".cl"));
      g_autofree char *text = td_kernel_source_expand (name, dialects[d]);
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      g_auto (GStrv) original = NULL;
      g_autoptr (GHashTable) begun = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      char file[64] = "";
      guint at = 0, compared = 0;

      for (guint i = 0; lines[i]; i++) {
        if (sscanf (lines[i], "#line %u \"%63[^\"]\"", &at, file) == 2) {
          g_strfreev (original);
          original = lines_of_source (file);
          g_assert_cmpint (g_hash_table_add (begun, g_strdup (file)), ==, at == 1);
        } else if (lines[i + 1]) {
          const char *then = original[at++ - 1];
          const gboolean once = strcmp (then, "#pragma once") == 0;
          g_assert_cmpstr (lines[i], ==, once ? "" : then);
          compared++;
        }
      }
      g_assert_cmpuint (compared, >, 20);
      g_assert_true (g_hash_table_contains (begun, source->name));
      g_assert_true (g_hash_table_contains (begun, "params.h"));
    }
  g_assert_null (td_kernel_source_expand ("nothing", "opencl.h"));
  g_assert_null (td_kernel_source_expand ("rays", "nothing.h"));
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "limits", test_launch_limits },
    { "kernels", test_kernels },
    { "ids", test_ids },
    { "atomics", test_atomics },
    { "defines", test_defines },
    { "build-error", test_build_error },
    { "cache", test_cache },
  };

  /* This program runs beside itself for other instruction sets, and builds the same for a card. */
  const char *isa = g_getenv ("TOMODESK_ISA"), *vendors = g_getenv ("OCL_ICD_VENDORS");
  g_autofree char *drivers = g_path_get_basename (vendors ? vendors : "all");
  cache_name = g_strdup_printf ("test-device-program-%s-%s", isa ? isa : "best", drivers);
  td_test_own_cache (cache_name);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device-program/cache-keys", test_cache_keys);
  g_test_add_func ("/device-program/cache-prune", test_cache_prune);
  g_test_add_func ("/device-program/lines", test_lines);
  td_test_each_device ("device-program", tests, G_N_ELEMENTS (tests));
  const int status = g_test_run ();
  g_free (cache_name);
  return status;
}
