/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA absent, broken, without compiler, failing in use: a sentence each, never a failure to start.
   The driver is looked for once in a process, so each case runs in its own. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "compute/device/cuda-api.h"
#include "compute/device/device.h"
#include "tests/common/devices.h"

static const TdDeviceEntry *
find (GPtrArray *entries, const char *api)
{
  for (guint i = 0; i < entries->len; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    if (g_str_equal (entry->api, api))
      return entry;
  }
  return NULL;
}

/* Runs the rest of the calling test in a process of its own. There @driver (NULL: nothing) is found
   as the NVIDIA driver, and @fault goes wrong. */
static gboolean
in_own_process (const char *driver, const char *more_folders, const char *fault)
{
  if (g_test_subprocess ())
    return TRUE;
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-XXXXXX", NULL);
  g_autofree char *link = g_build_filename (folder, "libcuda.so.1", NULL);
  g_autofree char *folders = g_strjoin (":", folder, more_folders, NULL);
  if (driver)
    g_assert_cmpint (symlink (driver, link), ==, 0);
  g_setenv ("TOMODESK_CUDA_PATH", folders, TRUE);
  g_setenv ("FAKE_CUDA", fault, TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  g_unsetenv ("TOMODESK_CUDA_PATH");
  g_unlink (link);
  g_rmdir (folder);
  g_test_trap_assert_passed ();
  return FALSE;
}

static void
assert_absent (const char *words)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  const TdDeviceEntry *entry = find (entries, "cuda");
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (entry);
  g_assert_false (entry->available);
  g_assert_nonnull (strstr (entry->reason, words));
  g_assert_true (find (entries, "host")->available);
  g_assert_null (td_device_open ("cuda:0", &error));
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_absent (void)
{
  if (in_own_process (NULL, NULL, ""))
    assert_absent ("no NVIDIA driver");
}

static void
test_broken (void)
{
  if (in_own_process (FAKE_DRIVER, NULL, "init=803"))
    assert_absent ("the fake failed");
}

static void
test_no_card (void)
{
  if (in_own_process (FAKE_DRIVER, NULL, "init=100"))
    assert_absent ("sees no graphics card");
}

static void
test_no_compiler (void)
{
  if (in_own_process (FAKE_DRIVER, NULL, ""))
    assert_absent ("run-time compiler");
}

static void
test_old_driver (void)
{
  if (in_own_process (OTHER_LIBRARY, NULL, ""))
    assert_absent ("too old or damaged");
}

/* Where a compiler may be, besides the fake driver. */
#define COMPILER_FOLDERS "/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu:/opt/cuda/lib64"

static gboolean
have_compiler (void)
{
  const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", NULL };

  if (td_cuda_open_library (names, NULL))
    return TRUE;
  g_test_skip ("NVIDIA's run-time compiler is not installed");
  return FALSE;
}

static TdDevice *
open_fake (void)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open ("cuda:0", &error);

  g_assert_no_error (error);
  return device;
}

/* What the card says of itself is what plans are made with. */
static void
check_info (const TdDeviceInfo *info)
{
  g_assert_cmpstr (info->id, ==, "cuda:0");
  g_assert_cmpstr (info->name, ==, "Fake 9000");
  g_assert_true (g_str_has_prefix (info->driver, "CUDA 13.2, nvrtc "));
  g_assert_cmpuint (info->arch, ==, 90);
  g_assert_cmpstr (info->hardware_id, ==, "pci:0000:3b:00.0");
  g_assert_cmpuint (info->memory_bytes, ==, 64 << 20);
  g_assert_cmpuint (info->max_alloc_bytes, ==, 64 << 20);
  g_assert_cmpuint (info->compute_units, ==, 132);
  g_assert_cmpuint (info->local_memory_bytes, ==, 227 << 10);
  g_assert_cmpuint (info->max_group_size, ==, 1024);
  g_assert_cmpuint (info->most_groups, ==, 65535);
  g_assert_cmpuint (info->texture_max[0], ==, 32768);
  g_assert_cmpuint (info->texture_max[1], ==, 30000);
  g_assert_cmpuint (info->texture_max_layers, ==, 2048);
  g_assert_cmpuint (info->texels, ==, (1u << TD_TEXEL_COUNT) - 1);
  g_assert_true (info->texture_linear && info->half_storage && info->half_arithmetic
                 && info->double_arithmetic && info->shuffle);
  g_assert_false (info->cpu_shaped || info->host_pointers);
}

static void
test_works (void)
{
  const char *const defines[] = { "FACTOR=2.0f", "GROUP=32", NULL };
  float in[1000], out[1000] = { 0 };
  g_autoptr (GError) error = NULL;

  if (!have_compiler () || !in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, ""))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (in); i++)
    in[i] = g_test_rand_double ();
  g_autoptr (TdDevice) device = open_fake ();
  check_info (td_device_info (device));

  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, sizeof in, &error);
  g_assert_true (td_upload (queue, buffer, 0, in, sizeof in, &error));
  g_assert_true (td_fill_zero (queue, buffer, 4, 8, &error));
  g_assert_true (td_download (queue, out, buffer, 0, sizeof out, &error));
  g_assert_true (td_queue_finish (queue, &error));
  in[1] = in[2] = 0;
  g_assert_cmpmem (in, sizeof in, out, sizeof out);

  /* Twice: compiled, then from the cache. */
  for (guint i = 0; i < 2; i++) {
    g_assert_nonnull (
        td_device_kernel (device, "check-device", defines, "td_check_group_sum", &error));
    g_assert_no_error (error);
  }
  g_assert_cmpuint (td_test_live_objects (device), ==, 2);
}

static void
test_out_of_memory (void)
{
  g_autoptr (GError) error = NULL;

  if (!have_compiler () || !in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, "alloc=2"))
    return;
  g_autoptr (TdDevice) device = open_fake ();
  g_assert_null (td_buffer_new (device, 1000, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  g_assert_nonnull (strstr (error->message, "Fake 9000"));
}

/* Small blocks come from the driver, large ones are mapped here and registered; where the driver
   does not register, all come from it. */
static void
check_pinned (const char *plan)
{
  const gsize sizes[] = { 1, 4096, 3 << 20, 4 << 20, (9 << 20) + 12345 };
  char *blocks[G_N_ELEMENTS (sizes)];
  g_autoptr (GError) error = NULL;

  if (!have_compiler () || !in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, plan))
    return;
  g_autoptr (TdDevice) device = open_fake ();
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    blocks[i] = td_device_host_alloc (device, sizes[i], &error);
    g_assert_no_error (error);
    memset (blocks[i], (int) i + 1, sizes[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_assert_cmpint (blocks[i][0], ==, i + 1);
    g_assert_cmpint (blocks[i][sizes[i] - 1], ==, i + 1);
    td_device_host_free (device, blocks[i]);
  }
  g_assert_cmpuint (td_test_live_objects (device), ==, 0);
}

static void
test_pinned (void)
{
  check_pinned ("");
}

static void
test_pinned_refused (void)
{
  check_pinned ("register=801");
}

static void
assert_finish_fails (TdErrorCode code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdDevice) device = open_fake ();
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);

  g_assert_false (td_queue_finish (queue, &error));
  g_assert_error (error, TD_ERROR, (int) code);
}

/* Whatever a kernel did to end its context, the program must be started again. */
static void
test_lost (void)
{
  static const char *const faults[] = { "sync=700", "sync=716", "sync=719" };

  for (guint i = 0; i < G_N_ELEMENTS (faults) && have_compiler (); i++)
    if (in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, faults[i])) {
      assert_finish_fails (TD_ERROR_DEVICE_LOST);
      return;
    }
}

static void
test_timeout (void)
{
  if (have_compiler () && in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, "sync=702"))
    assert_finish_fails (TD_ERROR_DEVICE_TIMEOUT);
}

static void
test_bug (void)
{
  if (have_compiler () && in_own_process (FAKE_DRIVER, COMPILER_FOLDERS, "sync=1"))
    assert_finish_fails (TD_ERROR_DEVICE_BUG);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/absent", test_absent);
  g_test_add_func ("/cuda/broken", test_broken);
  g_test_add_func ("/cuda/no-card", test_no_card);
  g_test_add_func ("/cuda/no-compiler", test_no_compiler);
  g_test_add_func ("/cuda/old-driver", test_old_driver);
  g_test_add_func ("/cuda/works", test_works);
  g_test_add_func ("/cuda/out-of-memory", test_out_of_memory);
  g_test_add_func ("/cuda/pinned", test_pinned);
  g_test_add_func ("/cuda/pinned-refused", test_pinned_refused);
  g_test_add_func ("/cuda/lost", test_lost);
  g_test_add_func ("/cuda/timeout", test_timeout);
  g_test_add_func ("/cuda/bug", test_bug);
  return g_test_run ();
}
