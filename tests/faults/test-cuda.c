/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA absent, broken, without compiler, failing in use: a sentence each, never a failure to start.
   The driver is looked for once in a process, so each case runs in its own. */
#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "asks.h"
#include "compute/device/cuda-api.h"
#include "compute/device/device.h"
#include "compute/device/nvrtc.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

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

/* The same with the fake driver, its compiler and its transforms. Nothing is cached. */
static gboolean
played (const char *fault)
{
  if (g_test_subprocess ())
    return TRUE;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *compiler = test_folder_file (folder, "libnvrtc.so.13");
  g_autofree char *transforms = test_folder_file (folder, "libcufft.so.12");
  g_autofree char *cache = g_strdup (g_getenv ("XDG_CACHE_HOME"));

  g_assert_cmpint (symlink (FAKE_DRIVER, compiler), ==, 0);
  g_assert_cmpint (symlink (FAKE_DRIVER, transforms), ==, 0);
  g_setenv ("XDG_CACHE_HOME", folder->path, TRUE);
  in_own_process (FAKE_DRIVER, folder->path, fault);
  if (cache)
    g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  else
    g_unsetenv ("XDG_CACHE_HOME");
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
  if (in_own_process (FAKE_DRIVER, NULL, "cuInit=803"))
    assert_absent ("the fake failed");
}

static void
test_no_card (void)
{
  if (in_own_process (FAKE_DRIVER, NULL, "cuInit=100"))
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
  g_assert_cmpstr (info->hardware_id, ==, "pci:0001:3b:1a.0");
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

  if (!played ("cuMemAlloc_v2=2"))
    return;
  g_autoptr (TdDevice) device = open_fake ();
  g_assert_null (td_buffer_new (device, 1000, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
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

  if (!played (plan))
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
  check_pinned ("cuMemHostRegister_v2=801");
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
  static const char *const faults[]
      = { "cuStreamSynchronize=700", "cuStreamSynchronize=716", "cuStreamSynchronize=719" };

  for (guint i = 0; i < G_N_ELEMENTS (faults); i++)
    if (played (faults[i])) {
      assert_finish_fails (TD_ERROR_DEVICE_LOST);
      return;
    }
}

static void
test_timeout (void)
{
  if (played ("cuStreamSynchronize=702"))
    assert_finish_fails (TD_ERROR_DEVICE_TIMEOUT);
}

static void
test_bug (void)
{
  if (played ("cuStreamSynchronize=1"))
    assert_finish_fails (TD_ERROR_DEVICE_BUG);
}

/* ── What is asked of the driver ── */

static gpointer
of_fake (const char *name)
{
  gpointer library = dlopen (FAKE_DRIVER, RTLD_NOW);
  gpointer function = dlsym (library, name);

  g_assert_nonnull (function);
  return function;
}

/* Since the last look. */
static void
assert_said (const char *expected)
{
  const char *(*said) (void);

  *(gpointer *) &said = of_fake ("fake_cuda_said");
  g_assert_cmpstr (said (), ==, expected);
}

/* The same, whatever it is. (transfer full) */
static char *
of_said (void)
{
  const char *(*said) (void);

  *(gpointer *) &said = of_fake ("fake_cuda_said");
  return g_strdup (said ());
}

static int
left (void)
{
  int (*count) (void);

  *(gpointer *) &count = of_fake ("fake_cuda_left");
  return count ();
}

static const TdTextureSpec layered
    = { .texel = TD_TEXEL_RG16F, .width = 5, .height = 3, .layers = 2, .linear = TRUE };
static const TdTextureSpec flat = { .texel = TD_TEXEL_RGBA32F, .width = 4, .height = 2 };

static void
test_asked_transfers (void)
{
  char data[100] = "some bytes";
  double seconds = 0;

  if (!played (""))
    return;
  TdDevice *device = open_fake ();
  assert_said ("card 0 flags 4\nc1 of card 0\n");
  TdQueue *queue = td_queue_new (device, NULL), *urgent = td_queue_new_urgent (device, NULL);
  assert_said ("s1, flags 1, priority 0\ns2, flags 1, priority -100\n");
  TdBuffer *one = td_buffer_new (device, 1000, NULL), *two = td_buffer_new (device, 500, NULL);
  assert_said ("m1 of 1000 bytes\nm2 of 500 bytes\n");

  td_upload (queue, one, 8, data, 12, NULL);
  td_download (urgent, data, two, 100, 13, NULL);
  td_copy (queue, two, 3, one, 5, 14, NULL);
  td_fill_zero (urgent, one, 985, 15, NULL);
  assert_said ("s1: 12 bytes to m1+8\ns2: 13 bytes from m2+100\n"
               "s1: 14 bytes from m1+5 to m2+3\ns2: 15 bytes of 0 to m1+985\n");
  td_upload (queue, one, 1000, data, 0, NULL); /* nothing */
  td_download (queue, data, one, 1000, 0, NULL);
  td_copy (queue, one, 1000, one, 1000, 0, NULL);
  td_fill_zero (queue, one, 0, 0, NULL);
  assert_said ("");

  TdEvent *before = td_event_record (queue, NULL), *after = td_event_record (urgent, NULL);
  assert_said ("e1, flags 1\ns1: e1\ne2, flags 1\ns2: e2\n");
  g_assert_true (td_event_wait (queue, after, NULL));
  g_assert_true (td_event_sync (before, NULL));
  g_assert_true (td_event_elapsed (before, after, &seconds, NULL));
  g_assert_cmpfloat (seconds, ==, 2.5);
  g_assert_true (td_queue_finish (urgent, NULL));
  assert_said ("s1: after e2, flags 0\nawait e1\nawait e1\nawait e2\nfrom e1 to e2\ns2: await\n");
  g_assert_true (td_event_mark (urgent, &before, NULL));
  assert_said ("free e1\ne3, flags 1\ns2: e3\n");

  g_assert_cmpuint (td_device_memory_free (device), ==, 48 << 20);
  g_setenv ("FAKE_CUDA", "cuMemGetInfo_v2=1", TRUE);
  g_assert_cmpuint (td_device_memory_free (device), ==, (64 << 20) - 1500);
  g_setenv ("FAKE_CUDA", "cuCtxPushCurrent_v2=1", TRUE);
  g_assert_cmpuint (td_device_memory_free (device), ==, (64 << 20) - 1500);
  g_assert_null (td_device_host_alloc (device, 10, NULL));
  g_setenv ("FAKE_CUDA", "", TRUE);

  td_event_free (before);
  td_event_free (after);
  td_buffer_free (one);
  td_buffer_free (two);
  td_queue_free (queue);
  td_queue_free (urgent);
  td_device_unref (device);
  assert_said ("free e3\nfree e2\nfree m1\nfree m2\nfree s1\nfree s2\nrelease card 0\nfree c1\n");
  g_assert_cmpint (left (), ==, 0);
}

static void
test_asked_textures (void)
{
  if (!played (""))
    return;
  TdDevice *device = open_fake ();
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 1000, NULL);
  assert_said ("card 0 flags 4\nc1 of card 0\ns1, flags 1, priority 0\nm1 of 1000 bytes\n");
  TdTexture *one = td_texture_new (device, &layered, NULL);
  TdTexture *two = td_texture_new (device, &flat, NULL);
  assert_said ("a1 of 5 x 3 x 2, format 16, 2 channels, flags 1\n"
               "t1 of a1, type 0, outside 3 3 3, filter 1, flags 0\n"
               "a2 of 4 x 2 x 0, format 32, 4 channels, flags 0\n"
               "t2 of a2, type 0, outside 3 3 3, filter 0, flags 0\n");
  g_assert_cmpuint (td_test_allocated (device), ==, 1000 + 5 * 3 * 2 * 4 + 4 * 2 * 16);
  g_assert_true (td_texture_write (queue, one, 1, buffer, 940, NULL));
  g_assert_true (td_texture_write (queue, one, 2, buffer, 880, NULL));
  g_assert_true (td_texture_write (queue, two, 1, buffer, 872, NULL));
  assert_said ("s1: 20 bytes x 3 x 1 from m1+940, type 2, rows of 20, 3 of them, to a1, type 3\n"
               "s1: 20 bytes x 3 x 2 from m1+880, type 2, rows of 20, 3 of them, to a1, type 3\n"
               "s1: 64 bytes x 2 x 1 from m1+872, type 2, rows of 64, 2 of them, to a2, type 3\n");
  /* What is too large is said with its size and the card's. */
  for (guint side = 0; side < 3; side++) {
    const TdTextureSpec large = { .texel = TD_TEXEL_R32F,
                                  .width = side == 0 ? 32769 : 7,
                                  .height = side == 1 ? 30001 : 5,
                                  .layers = side == 2 ? 2049 : 3 };
    g_autofree char *says = g_strdup_printf (
        "a texture of %d × %d × %d is larger than this device's 32768 × 30000 × 2048",
        side == 0 ? 32769 : 7, side == 1 ? 30001 : 5, side == 2 ? 2049 : 3);
    g_autoptr (GError) error = NULL;
    g_assert_null (td_texture_new (device, &large, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
    td_test_pin_refused (error);
    g_assert_true (g_str_has_suffix (error->message, says));
  }
  /* One layer or one byte more than there is. */
  g_assert_false (td_texture_write (queue, one, 0, buffer, 0, NULL));
  g_assert_false (td_texture_write (queue, one, 3, buffer, 0, NULL));
  g_assert_false (td_texture_write (queue, two, 2, buffer, 0, NULL));
  g_assert_false (td_texture_write (queue, one, 1, buffer, 941, NULL));
  g_assert_false (td_texture_write (queue, one, 1, buffer, 1001, NULL));
  assert_said ("");
  td_texture_free (one);
  td_texture_free (two);
  td_buffer_free (buffer);
  td_queue_free (queue);
  assert_said ("free t1\nfree a1\nfree t2\nfree a2\nfree m1\nfree s1\n");
  td_test_close (device);
}

static void
test_asked_kernels (void)
{
  static const char *const defines[] = { "GROUP=4", "FACTOR=1.0f", NULL };
  static const guint groups[] = { 2, 3, 5 }, local[] = { 4, 7, 6 };
  const int seven = 7, eight = 8;
  const struct {
    int first, second;
  } pair = { -3, 4 };
  g_autoptr (GError) error = NULL;

  if (!played (""))
    return;
  TdDevice *device = open_fake ();
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 1000, NULL);
  TdTexture *texture = td_texture_new (device, &flat, NULL);
  assert_said ("card 0 flags 4\nc1 of card 0\ns1, flags 1, priority 0\nm1 of 1000 bytes\n"
               "a1 of 4 x 2 x 0, format 32, 4 channels, flags 0\n"
               "t1 of a1, type 0, outside 3 3 3, filter 0, flags 0\n");
  TdKernel *kernel = td_device_kernel (device, "check-device", defines, "td_one", NULL);
  assert_said ("compile check-device.cl with 0 headers\n--gpu-architecture=sm_90\n"
               "--disable-warnings\n-DGROUP=4\n-DFACTOR=1.0f\ncompiled\np1 of a cubin\n"
               "k1 is td_one of p1\nk1: attribute 8 is 232416\n"); /* 227 KiB without 32 bytes */
  g_assert_true (td_device_kernel (device, "check-device", defines, "td_one", NULL) == kernel);
  assert_said ("");
  TdKernel *other = td_device_kernel (device, "check-device", defines, "td_two", NULL);
  assert_said ("k2 is td_two of p1\nk2: attribute 8 is 232416\n");
  g_assert_null (td_device_kernel (device, "check-device", defines, "none", &error));
  g_assert_cmpstr (error->message, ==,
                   "Fake 9000 (cuda:0): none: could not find a kernel in its program: the fake "
                   "failed (CUDA_ERROR_FAKE, 500): please report this with the system log");
  g_clear_error (&error);
  g_assert_cmpuint (td_device_builds (device), ==, 1);
  g_assert_false (td_device_is_building (device));
  g_assert_cmpuint (td_kernel_spilled (kernel), ==, 96);

  g_assert_true (td_launch (queue, kernel, groups, local,
                            TD_ARGS (buffer, texture, seven, pair, ((TdLocal) { 48 })), NULL));
  g_assert_true (td_launch (queue, other, groups, local, TD_ARGS (eight), NULL));
  assert_said ("s1: k1, 2 3 5 groups of 4 7 6, 48 bytes shared, m1 t1 7 -3\n"
               "s1: k2, 2 3 5 groups of 4 7 6, 0 bytes shared, 8\n");
  const TdLocal few = { 5 };
  TdArg many[65];
  for (guint i = 0; i < 65; i++)
    many[i] = (TdArg) { .kind = TD_ARG_VALUE, .size = sizeof seven, .value = &seven };
  many[63]
      = (TdArg) { .kind = TD_ARG_LOCAL, .size = sizeof few, .local = &few }; /* the fake's end */
  g_assert_true (td_launch (queue, other, groups, local, many, 64, NULL));
  many[63] = many[0];
  g_assert_false (td_launch (queue, other, groups, local, many, 65, &error));
  g_assert_cmpstr (error->message, ==, "Fake 9000 (cuda:0): td_two: 65 arguments are too many");

  /* From the cache, by a device that is opened anew. */
  td_buffer_free (buffer);
  td_texture_free (texture);
  td_queue_free (queue);
  td_test_close (device);
  device = open_fake ();
  g_free (of_said ());
  g_assert_nonnull (td_device_kernel (device, "check-device", defines, "td_one", NULL));
  assert_said ("p2 of a cubin\nk3 is td_one of p2\nk3: attribute 8 is 232416\n");
  g_assert_cmpuint (td_device_builds (device), ==, 1);
  td_test_close (device);
  assert_said ("free p2\nrelease card 0\nfree c2\n");
}

static void
test_asked_transforms (void)
{
  if (!played (""))
    return;
  TdDevice *device = open_fake ();
  TdQueue *queue = td_queue_new (device, NULL), *second = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 12 * 7 * 2 * 8, NULL);
  g_free (of_said ());
  TdFft *lines = td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { 12, 99 }, 5, NULL);
  assert_said ("f1\nf1: allocates 0\nf1: 12 x 1, rank 1, close, every 1 from 12, every 1 from 12, "
               "type 41, 5 of them\n");
  TdFft *images = td_fft_new (device, TD_FFT_C2C_2D, (guint[]) { 12, 7 }, 2, NULL);
  assert_said ("f2\nf2: allocates 0\nf2: 7 x 12, rank 2, close, every 1 from 84, every 1 from 84, "
               "type 41, 2 of them\nm2 of 4096 bytes\nf2: works in m2\n");
  g_assert_cmpuint (td_test_allocated (device), ==, 12 * 7 * 2 * 8 + 4096);
  g_assert_true (td_fft_run (queue, lines, buffer, FALSE, NULL));
  g_assert_true (td_fft_run (second, lines, buffer, TRUE, NULL));
  assert_said ("f1: in s1\nf1: m1 to m1, direction -1\nf1: in s2\nf1: m1 to m1, direction 1\n");
  /* The work area is of one queue after the other. */
  g_assert_true (td_fft_run (queue, images, buffer, FALSE, NULL));
  assert_said ("f2: in s1\nf2: m1 to m1, direction -1\ne1, flags 1\ns1: e1\n");
  g_assert_true (td_fft_run (queue, images, buffer, FALSE, NULL));
  assert_said ("free e1\nf2: in s1\nf2: m1 to m1, direction -1\ne2, flags 1\ns1: e2\n");
  g_assert_true (td_fft_run (second, images, buffer, TRUE, NULL));
  assert_said ("s2: after e2, flags 0\nfree e2\nf2: in s2\nf2: m1 to m1, direction 1\n"
               "e3, flags 1\ns2: e3\n");
  td_fft_free (lines);
  td_fft_free (images);
  assert_said ("free f1\nfree e3\nfree f2\nfree m2\n");
  td_buffer_free (buffer);
  td_queue_free (queue);
  td_queue_free (second);
  td_test_close (device);
}

/* On either side of what is mapped here. */
static void
test_asked_pinned (void)
{
  static const struct {
    gsize bytes;
    const char *given, *freed;
  } cases[] = {
    { 0, "h1 of 1 bytes, flags 1\n", "free h1\n" },
    { (4 << 20) - 1, "h2 of 4194303 bytes, flags 1\n", "free h2\n" },
    { 4 << 20, "register 4194304 bytes at a multiple of 2097152, flags 1\n", "unregister\n" },
    { (4 << 20) + 1, "register 6291456 bytes at a multiple of 2097152, flags 1\n", "unregister\n" },
  };

  if (!played (""))
    return;
  TdDevice *device = open_fake ();
  g_free (of_said ());
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    void *memory = td_device_host_alloc (device, cases[i].bytes, NULL);
    assert_said (cases[i].given);
    td_device_host_free (device, memory);
    assert_said (cases[i].freed);
  }
  g_setenv ("FAKE_CUDA", "cuMemHostRegister_v2=801", TRUE);
  void *memory = td_device_host_alloc (device, 4 << 20, NULL);
  assert_said ("h3 of 4194304 bytes, flags 1\n");
  td_device_host_free (device, memory);
  assert_said ("free h3\n");
  td_test_close (device);
}

/* ── Calls that fail ── */

static gboolean
ask_texture (const TdAsked *asked, GError **error)
{
  g_autoptr (TdTexture) texture = td_texture_new (asked->device, &layered, error);

  return texture != NULL;
}

static gboolean
ask_write (const TdAsked *asked, GError **error)
{
  return td_texture_write (asked->queue, asked->texture, 1, asked->buffer, 0, error);
}

static gboolean
ask_fft (const TdAsked *asked, GError **error)
{
  g_autoptr (TdFft) fft = td_fft_new (asked->device, TD_FFT_C2C_2D, (guint[]) { 4, 4 }, 1, error);

  return fft != NULL;
}

static gboolean
ask_run (const TdAsked *asked, GError **error)
{
  return td_fft_run (asked->queue, asked->fft, asked->buffer, FALSE, error);
}

static const struct {
  TdAsking asking;
  const char *call, *says;
} asked_calls[] = {
  { td_ask_buffer, "cuMemAlloc_v2", "could not allocate memory: the fake" },
  { td_ask_queue, "cuStreamCreateWithPriority", "could not make a queue: the fake" },
  { td_ask_finish, "cuStreamSynchronize", "could not finish its work: the fake" },
  { td_ask_upload, "cuMemcpyHtoDAsync_v2", "could not copy to the card: the fake" },
  { td_ask_download, "cuMemcpyDtoHAsync_v2", "could not copy from the card: the fake" },
  { td_ask_copy, "cuMemcpyDtoDAsync_v2", "could not copy within the card: the fake" },
  { td_ask_zero, "cuMemsetD8Async", "could not clear memory: the fake" },
  { td_ask_record, "cuEventCreate", "could not make an event: the fake" },
  { td_ask_record, "cuEventRecord", "could not record an event: the fake" },
  { td_ask_wait, "cuStreamWaitEvent", "could not wait for an event: the fake" },
  { td_ask_sync, "cuEventSynchronize", "could not finish its work: the fake" },
  { td_ask_elapsed, "cuEventSynchronize", "could not finish its work: the fake" },
  { td_ask_elapsed, "cuEventElapsedTime", "could not read the time: the fake" },
  { ask_texture, "cuArray3DCreate_v2", "could not make a texture: the fake" },
  { ask_texture, "cuTexObjectCreate", "could not make a texture: the fake" },
  { ask_write, "cuMemcpy3DAsync_v2", "could not fill a texture: the fake" },
  { td_ask_kernel, "cuModuleLoadData", "could not load a program: the fake" },
  { td_ask_kernel, "cuModuleGetFunction",
    "td_new: could not find a kernel in its program: the fake" },
  { td_ask_kernel, "nvrtcCreateProgram",
    "check-device does not build for sm_90 with nvrtc 13.2: the fake compiler failed" },
  { td_ask_kernel, "nvrtcCompileProgram",
    "check-device does not build for sm_90 with nvrtc 13.2: first.cl(3): error: no; the second "
    "error; a third error" },
  { td_ask_kernel, "nvrtcGetCUBINSize", "check-device does not build for sm_90" },
  { td_ask_kernel, "nvrtcGetCUBIN", "check-device does not build for sm_90" },
  { td_ask_launch, "cuLaunchKernel", "td_old: could not start a kernel: the fake" },
  { ask_fft, "cufftCreate", "cuFFT could not start (error 719)" },
  { ask_fft, "cufftSetAutoAllocation", "cuFFT could not plan (error 719)" },
  { ask_fft, "cufftMakePlanMany64", "cuFFT could not plan (error 719)" },
  { ask_fft, "cuMemAlloc_v2", "could not allocate memory: the fake" },
  { ask_fft, "cufftSetWorkArea", "cuFFT could not take its work area (error 719)" },
  { ask_run, "cufftSetStream", "cuFFT could not use the queue (error 719)" },
  { ask_run, "cufftExecC2C", "cuFFT could not transform (error 719)" },
  { ask_run, "cuEventCreate", "could not make an event: the fake" },
  { ask_run, "cuEventRecord", "could not record an event: the fake" },
};

/* One call fails: that is said, and nothing is left behind. Afterwards all is well. */
static void
check_failing (const TdAsked *asked, guint i, const char *call, const char *says)
{
  g_autoptr (GError) error = NULL, none = NULL;
  g_autofree char *plan = g_strconcat (call, "=719", NULL);
  const guint64 objects = td_test_live_objects (asked->device);
  const guint64 bytes = td_test_allocated (asked->device);
  const int things = left ();

  g_free (of_said ());
  g_setenv ("FAKE_CUDA", plan, TRUE);
  g_assert_false (asked_calls[i].asking (asked, &error));
  g_setenv ("FAKE_CUDA", "", TRUE);
  if (!error || !g_str_has_prefix (error->message, "Fake 9000 (cuda:0): ")
      || !strstr (error->message, says))
    g_error ("%s fails: %s", call, error ? error->message : "nothing is said");
  if (strstr (says, "the fake") && !strstr (says, "build")) {
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
    td_test_pin_refused (error);
    g_assert_nonnull (strstr (error->message, " failed (CUDA_ERROR_FAKE, 719): restart the"));
  } else {
    g_assert_cmpint (error->code, ==,
                     strstr (says, "cuFFT") ? TD_ERROR_DEVICE_BUG : TD_ERROR_DEVICE_BUILD);
  }
  /* A program stays, though a kernel of it is not found. The event of a run before has gone. */
  const gboolean built = strcmp (call, "cuModuleGetFunction") == 0;
  const gboolean gone = asked_calls[i].asking == ask_run;
  g_assert_cmpint (left () - things, ==, built - gone);
  g_assert_cmpuint (td_test_live_objects (asked->device), ==, objects - gone);
  g_assert_cmpuint (td_test_allocated (asked->device), ==, bytes);
  g_assert_true (asked_calls[i].asking (asked, &none));
  g_assert_no_error (none);
  g_autofree char *said = of_said ();
  g_assert_null (strstr (said, "are current"));
  g_assert_null (strstr (said, "outside the context"));
}

static void
test_asked_in_vain (void)
{
  if (!played (""))
    return;
  g_autoptr (TdDevice) device = open_fake ();
  TdAsked asked = { .device = device,
                    .queue = td_queue_new (device, NULL),
                    .buffer = td_buffer_new (device, 1000, NULL),
                    .texture = td_texture_new (device, &layered, NULL),
                    .kernel = td_device_kernel (device, "check-host", NULL, "td_old", NULL),
                    .fft = td_fft_new (device, TD_FFT_C2C_2D, (guint[]) { 4, 4 }, 2, NULL) };

  asked.event = td_event_record (asked.queue, NULL);
  g_assert_true (asked.buffer && asked.texture && asked.kernel && asked.fft && asked.event);
  g_assert_true (ask_run (&asked, NULL)); /* its event is there from now on */
  for (guint i = 0; i < G_N_ELEMENTS (asked_calls); i++)
    check_failing (&asked, i, asked_calls[i].call, asked_calls[i].says);
  /* A card whose context cannot be used does none of it. */
  for (guint i = 0; i < G_N_ELEMENTS (asked_calls); i++)
    if (asked_calls[i].asking != ask_run)
      check_failing (&asked, i, "cuCtxPushCurrent_v2", "could not use the device: the fake");
  td_fft_free (asked.fft);
  td_event_free (asked.event);
  td_texture_free (asked.texture);
  td_buffer_free (asked.buffer);
  td_queue_free (asked.queue);
}

/* Each of the driver's errors, and what is said of it. */
static void
test_codes (void)
{
  static const struct {
    TdErrorCode code;
    const char *advice;
    int results[24];
  } cases[] = {
    { TD_ERROR_DEVICE_MEMORY, "close other programs that use the device", { 2 } },
    { TD_ERROR_DEVICE_BUILD, "choose another kernel", { 200, 209, 218, 221, 222, 223, 701 } },
    { TD_ERROR_DEVICE_TIMEOUT, "the display's watchdog stopped it", { 702 } },
    { TD_ERROR_DEVICE_LOST,
      "restart the program",
      { 4, 46, 100, 214, 220, 700, 709, 714, 715, 716, 717, 718, 719, 802, 999 } },
    { TD_ERROR_DEVICE_BUG,
      "please report this with the system log",
      { 1,   3,   5,   45,  47,  99,  101, 201, 208, 210, 213,
        215, 217, 219, 224, 600, 703, 708, 713, 720, 801, 803 } },
  };

  if (!played (""))
    return;
  g_autoptr (TdDevice) device = open_fake ();
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (const int *result = cases[i].results; *result; result++) {
      g_autoptr (GError) error = NULL;
      g_autofree char *plan = g_strdup_printf ("cuStreamSynchronize=%d", *result);
      g_autofree char *says
          = g_strdup_printf ("CUDA_ERROR_FAKE, %d): %s", *result, cases[i].advice);
      g_setenv ("FAKE_CUDA", plan, TRUE);
      g_assert_false (td_queue_finish (queue, &error));
      if (error->code != (int) cases[i].code || !strstr (error->message, says))
        g_error ("%d: %s", *result, error->message);
    }
  g_setenv ("FAKE_CUDA", "cufftCreate=2", TRUE);
  g_autoptr (GError) error = NULL;
  g_assert_null (td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { 4, 1 }, 1, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_MEMORY);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "the device's memory is full"));
}

/* ── Lists ── */

static void
test_cards (void)
{
  if (!g_test_subprocess ())
    g_setenv ("FAKE_CARDS", "2", TRUE);
  if (!played ("")) {
    g_unsetenv ("FAKE_CARDS");
    return;
  }
  g_autoptr (GPtrArray) entries = td_device_list ();
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (entries->len, >=, 3);
  for (guint i = 0; i < 2; i++) {
    const TdDeviceEntry *entry = entries->pdata[i];
    g_autofree char *id = g_strdup_printf ("cuda:%u", i);
    g_assert_cmpstr (entry->id, ==, id);
    g_assert_cmpstr (entry->name, ==, i ? "Fake 9001" : "Fake 9000");
    g_assert_cmpstr (entry->api, ==, "cuda");
    g_assert_cmpstr (entry->hardware_id, ==, i ? "pci:0001:3c:1a.2" : "pci:0001:3b:1a.0");
    g_assert_cmpuint (entry->memory_bytes, ==, (64 + i) << 20);
    g_assert_cmpint (entry->kind, ==, TD_DEVICE_GPU);
    g_assert_true (entry->available && !entry->reason && !entry->same_as);
  }
  g_auto (GStrv) names = td_device_names ("auto");
  g_autofree char *all = g_strjoinv (" ", names);
  g_assert_cmpstr (all, ==, "cuda:0 cuda:1");
  g_autoptr (TdDevice) first = td_device_open (NULL, NULL);
  g_autoptr (TdDevice) second = td_device_open ("cuda:1", NULL);
  g_assert_cmpstr (td_device_info (first)->id, ==, "cuda:0");
  g_assert_cmpstr (td_device_info (second)->name, ==, "Fake 9001");
  g_assert_null (td_device_open ("cuda:2", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "no device cuda:2"));

  /* Nothing of one is used with the other. */
  g_autoptr (TdQueue) queue = td_queue_new (first, NULL);
  g_autoptr (TdBuffer) buffer = td_buffer_new (second, 1000, NULL);
  g_clear_error (&error);
  g_assert_false (td_fill_zero (queue, buffer, 0, 10, &error));
  g_assert_cmpstr (error->message, ==,
                   "Fake 9000 (cuda:0): fill of 10 bytes at 0 is outside a buffer of 1000 bytes or "
                   "of another device");
}

static void
test_no_cards (void)
{
  if (!g_test_subprocess ())
    g_setenv ("FAKE_CARDS", "0", TRUE);
  if (played ("")) {
    g_autoptr (GPtrArray) entries = td_device_list ();
    const TdDeviceEntry *entry = entries->pdata[0];
    g_assert_cmpstr (entry->id, ==, "cuda");
    g_assert_nonnull (strstr (entry->reason, "sees no graphics card"));
    g_assert_cmpstr (((const TdDeviceEntry *) entries->pdata[1])->api, !=, "cuda");
  }
  g_unsetenv ("FAKE_CARDS");
}

/* Other cards, of which one thing differs. What a card does not tell it has none of. */
static void
test_other_cards (void)
{
  static const struct {
    const char *attributes;
    guint arch;
    gboolean half; /* arithmetic */
    guint64 width, height, layers, shared, group, groups, units;
  } cases[] = {
    { "", 90, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "75=5 76=2", 52, FALSE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "75=5 76=3", 53, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "75=6 76=0", 60, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "75=12 76=1", 121, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "22=16384", 90, TRUE, 16384, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "27=131073", 90, TRUE, 131072, 30000, 2048, 227 << 10, 1024, 65535, 132 },
    { "23=65536", 90, TRUE, 32768, 32767, 2048, 227 << 10, 1024, 65535, 132 },
    { "28=20000", 90, TRUE, 32768, 20000, 2048, 227 << 10, 1024, 65535, 132 },
    { "29=512", 90, TRUE, 32768, 30000, 512, 227 << 10, 1024, 65535, 132 },
    { "97=0", 90, TRUE, 32768, 30000, 2048, 48 << 10, 1024, 65535, 132 },
    { "97=-1", 90, TRUE, 32768, 30000, 2048, 48 << 10, 1024, 65535, 132 },
    { "8=262144", 90, TRUE, 32768, 30000, 2048, 256 << 10, 1024, 65535, 132 },
    { "1=512 6=1000", 90, TRUE, 32768, 30000, 2048, 227 << 10, 512, 1000, 132 },
    { "16=1", 90, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 1 },
    { "16=-5", 90, TRUE, 32768, 30000, 2048, 227 << 10, 1024, 65535, 0 },
  };

  if (!played (""))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_setenv ("FAKE_ATTRIBUTES", cases[i].attributes, TRUE);
    g_test_message ("%s", cases[i].attributes);
    g_autoptr (TdDevice) device = open_fake ();
    const TdDeviceInfo *info = td_device_info (device);
    g_assert_cmpuint (info->arch, ==, cases[i].arch);
    g_assert_cmpint (info->half_arithmetic, ==, cases[i].half);
    g_assert_cmpuint (info->texture_max[0], ==, cases[i].width);
    g_assert_cmpuint (info->texture_max[1], ==, cases[i].height);
    g_assert_cmpuint (info->texture_max_layers, ==, cases[i].layers);
    g_assert_cmpuint (info->local_memory_bytes, ==, cases[i].shared);
    g_assert_cmpuint (info->max_group_size, ==, cases[i].group);
    g_assert_cmpuint (info->most_groups, ==, cases[i].groups);
    g_assert_cmpuint (info->compute_units, ==, cases[i].units);
  }
}

/* A context that is not to be had leaves nothing open. */
static void
test_not_opened (void)
{
  if (!played ("cuDevicePrimaryCtxRetain=46"))
    return;
  g_autoptr (GError) error = NULL;
  g_assert_null (td_device_open ("cuda:0", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
  td_test_pin_refused (error);
  g_assert_nonnull (strstr (error->message, "cuda:0: could not start using the device: the fake"));
  g_setenv ("FAKE_CUDA", "", TRUE);
  g_autoptr (TdDevice) device = open_fake ();
  g_assert_nonnull (device);
}

/* ── Compilers ── */

static void
put_copy (const TestFolder *folder, const char *name)
{
  g_autofree char *path = test_folder_file (folder, name), *contents = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (FAKE_DRIVER, &contents, &length, NULL));
  g_assert_true (g_file_set_contents (path, contents, (gssize) length, NULL));
}

static void
check_compiled (const TdNvrtc *nvrtc, guint arch, const char *image_begins, const char *says)
{
  g_autoptr (GBytes) image = NULL;
  g_autoptr (GError) error = NULL;
  const TdNvrtcUnit unit = { "name", "source", NULL, arch };

  if (td_nvrtc_compile (nvrtc, &unit, &image, NULL, &error))
    g_assert_cmpmem (g_bytes_get_data (image, NULL), strlen (image_begins), image_begins,
                     strlen (image_begins));
  else
    g_assert_null (image_begins);
  g_assert_true (!says == !error);
  if (says)
    g_assert_nonnull (strstr (error->message, says));
}

/* The newest compiler that knows a card is taken; without one that does, the newest of all, for a
   card that is newer. */
static void
test_compilers (void)
{
  static const struct {
    guint arch;
    const char *version, *image, *says;
  } cases[] = {
    { 90, "nvrtc 13.2", "\177ELF", NULL },
    { 100, "nvrtc 13.2", "\177ELF", NULL },
    { 60, "nvrtc 12.2", "\177ELF", NULL },
    { 35, "nvrtc 11.2", "\177ELF", NULL },
    { 95, "nvrtc 13.2", "// ptx", NULL },
    { 101, "nvrtc 13.2", "// ptx", NULL },
    { 89, "nvrtc 13.2", NULL, "nvrtc 13.2 no longer knows this card (sm_89)" },
  };

  if (!g_test_subprocess ()) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    put_copy (folder, "libnvrtc.so.13");
    put_copy (folder, "libnvrtc.so.12");
    put_copy (folder, "libnvrtc.so.11.2");
    g_setenv ("FAKE_ARCHS_13", "90 100", TRUE);
    g_setenv ("FAKE_ARCHS_12", "50 60 90", TRUE);
    g_setenv ("FAKE_ARCHS_11.2", "35 60", TRUE);
    in_own_process (NULL, folder->path, "");
    g_unsetenv ("FAKE_ARCHS_13");
    g_unsetenv ("FAKE_ARCHS_12");
    g_unsetenv ("FAKE_ARCHS_11.2");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdNvrtc *nvrtc = td_nvrtc_for_arch (cases[i].arch, NULL);
    g_assert_cmpstr (td_nvrtc_version (nvrtc), ==, cases[i].version);
    check_compiled (nvrtc, cases[i].arch, cases[i].image, cases[i].says);
  }
}

/* What the compiler is given where registers are asked for, and for a card that is newer than it.
 */
static void
test_compiled (void)
{
  static const char *const defines[] = { "A=1", NULL };
  g_autoptr (GBytes) one = NULL, two = NULL;
  g_autofree char *log = NULL, *log_of_two = NULL;

  if (!played (""))
    return;
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (75, NULL);
  g_assert_true (
      td_nvrtc_compile (nvrtc, &(TdNvrtcUnit) { "one", "", defines, 75 }, &one, &log, NULL));
  g_assert_cmpstr (log, ==, "a remark\n");
  assert_said ("compile one.cl with 0 headers\n--gpu-architecture=sm_75\n--disable-warnings\n"
               "--ptxas-options=-v\n-DA=1\ncompiled\n");
  g_assert_true (
      td_nvrtc_compile (nvrtc, &(TdNvrtcUnit) { "two", "", NULL, 91 }, &two, &log_of_two, NULL));
  assert_said ("compile two.cl with 0 headers\n--gpu-architecture=compute_90\n"
               "--disable-warnings\ncompiled\n");
  g_assert_cmpuint (g_bytes_get_size (one), ==, 4);
  g_assert_cmpstr (g_bytes_get_data (two, NULL), ==, "// ptx");
}

/* ── Where libraries are looked for ── */

static void
set_or_unset (const char *name, const char *value)
{
  if (value)
    g_setenv (name, value, TRUE);
  else
    g_unsetenv (name);
}

static void
test_folders (void)
{
  static const char *const variables[] = { "TOMODESK_CUDA_PATH", "CUDA_PATH", "CUDA_HOME" };
  static const struct {
    const char *values[3]; /* "@" is the folder */
    const char *first;     /* of the names, as it is found; NULL: none */
  } cases[] = {
    { { "@/a", NULL, NULL }, "played-1" },
    { { ":/nowhere::@/b:@/a", NULL, NULL }, "played-2" },
    { { "@/b:@/a", NULL, NULL }, "played-2" },
    { { "@", NULL, NULL }, NULL },
    { { "/nowhere", "@/c", NULL }, NULL },
    { { NULL, "@/c", NULL }, "played-2" },
    { { NULL, "@/a", "@/c" }, "played-2" },
    { { NULL, "@/d:@/c", "@/c" }, "played-1" },
    { { NULL, NULL, "/nowhere:@/d" }, "played-1" },
    { { NULL, NULL, NULL }, NULL },
  };
  static const char *const files[] = { "a/libplayed-1.so", "a/libplayed-2.so", "b/libplayed-2.so",
                                       "c/lib64/libplayed-2.so", "d/lib64/libplayed-1.so" };
  static const char *const names[] = { "libplayed-1.so", "libplayed-2.so", NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = test_folder_file (folder, files[i]), *in = g_path_get_dirname (path);
    g_assert_cmpint (g_mkdir_with_parents (in, 0700), ==, 0);
    g_assert_cmpint (symlink (strstr (files[i], "-1") ? FAKE_DRIVER : OTHER_LIBRARY, path), ==, 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    for (guint v = 0; v < G_N_ELEMENTS (variables); v++) {
      g_auto (GStrv) parts = cases[i].values[v] ? g_strsplit (cases[i].values[v], "@", -1) : NULL;
      g_autofree char *value = parts ? g_strjoinv (folder->path, parts) : NULL;
      set_or_unset (variables[v], value);
    }
    gpointer library = td_cuda_open_library (names, &error);
    const char *found = !library ? NULL : dlsym (library, "td_not_cuda") ? "played-2" : "played-1";
    g_assert_cmpstr (found, ==, cases[i].first);
    if (!library)
      g_assert_cmpstr (error->message, ==, "libplayed-1.so, libplayed-2.so is not installed");
  }
  g_autoptr (GError) error = NULL;
  g_assert_null (td_cuda_open_library ((const char *const[]) { "libplayed-3.so", NULL }, &error));
  g_assert_cmpstr (error->message, ==, "libplayed-3.so is not installed");
  for (guint v = 0; v < G_N_ELEMENTS (variables); v++)
    g_unsetenv (variables[v]);
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
  g_test_add_func ("/cuda/asked/transfers", test_asked_transfers);
  g_test_add_func ("/cuda/asked/textures", test_asked_textures);
  g_test_add_func ("/cuda/asked/kernels", test_asked_kernels);
  g_test_add_func ("/cuda/asked/transforms", test_asked_transforms);
  g_test_add_func ("/cuda/asked/pinned", test_asked_pinned);
  g_test_add_func ("/cuda/asked/in-vain", test_asked_in_vain);
  g_test_add_func ("/cuda/codes", test_codes);
  g_test_add_func ("/cuda/cards", test_cards);
  g_test_add_func ("/cuda/no-cards", test_no_cards);
  g_test_add_func ("/cuda/not-opened", test_not_opened);
  g_test_add_func ("/cuda/other-cards", test_other_cards);
  g_test_add_func ("/cuda/compilers", test_compilers);
  g_test_add_func ("/cuda/compiled", test_compiled);
  g_test_add_func ("/cuda/folders", test_folders);
  return g_test_run ();
}
