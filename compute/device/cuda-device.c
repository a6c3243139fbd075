/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-private.h"
#include "device-api.h"
#include "nvrtc.h"

#include <stdio.h>

/* ── Errors and the context ── */

static TdErrorCode
class_of (TdCuResult result)
{
  switch (result) {
  case TD_CU_OUT_OF_MEMORY: return TD_ERROR_DEVICE_MEMORY;
  case TD_CU_INVALID_IMAGE:
  case TD_CU_NO_BINARY_FOR_GPU:
  case TD_CU_INVALID_PTX:
  case TD_CU_JIT_COMPILER_NOT_FOUND:
  case TD_CU_UNSUPPORTED_PTX_VERSION:
  case TD_CU_JIT_COMPILATION_DISABLED:
  case TD_CU_LAUNCH_OUT_OF_RESOURCES: return TD_ERROR_DEVICE_BUILD;
  case TD_CU_LAUNCH_TIMEOUT: return TD_ERROR_DEVICE_TIMEOUT;
  case TD_CU_DEINITIALIZED:
  case TD_CU_DEVICE_UNAVAILABLE:
  case TD_CU_NO_DEVICE:
  case TD_CU_ECC_UNCORRECTABLE:
  case TD_CU_NVLINK_UNCORRECTABLE:
  case TD_CU_CONTEXT_IS_DESTROYED:
  case TD_CU_HARDWARE_STACK_ERROR:
  case TD_CU_LAUNCH_FAILED:
  case TD_CU_SYSTEM_NOT_READY:
  case TD_CU_UNKNOWN: return TD_ERROR_DEVICE_LOST;
  default: return TD_ERROR_DEVICE_BUG;
  }
}

static const char *
cuda_device_advice (TdErrorCode code)
{
  switch (code) {
  case TD_ERROR_DEVICE_MEMORY:
    return "close other programs that use the card, or set a smaller memory limit";
  case TD_ERROR_DEVICE_BUILD: return "choose another kernel family";
  case TD_ERROR_DEVICE_TIMEOUT:
    return "the display's watchdog stopped it; reconstruct smaller regions or use another card";
  case TD_ERROR_DEVICE_LOST:
    return "restart the program; if it comes again, look at the driver's messages in the system "
           "log";
  default: return "please report this with the system log";
  }
}

gboolean
td_cuda_check (TdCudaDevice *device, TdCuResult result, const char *doing, GError **error)
{
  const char *text = NULL, *name = NULL;

  if (result == 0)
    return TRUE;
  device->cu->error_string (result, &text);
  device->cu->error_name (result, &name);
  td_set_error (error, class_of (result), "could not %s: %s (%s): %s", doing,
                text ? text : "unknown error", name ? name : "no name",
                cuda_device_advice (class_of (result)));
  return FALSE;
}

gboolean
td_cuda_enter (TdCudaDevice *device, GError **error)
{
  return td_cuda_check (device, device->cu->context_push (device->context), "use the card", error);
}

void
td_cuda_leave (TdCudaDevice *device)
{
  TdCuContext popped;

  device->cu->context_pop (&popped);
}

/* ── Memory ── */

static guint64
cuda_device_memory_free (TdDevice *base)
{
  TdCudaDevice *device = td_cuda_device (base);
  size_t bytes = 0, total = 0;
  gboolean known;

  if (!td_cuda_enter (device, NULL))
    return G_MAXUINT64;
  known = device->cu->memory_info (&bytes, &total) == 0;
  td_cuda_leave (device);
  return known ? bytes : G_MAXUINT64;
}

static gboolean
cuda_device_buffer_new (TdDevice *base, guint64 bytes, TdBuffer **out, GError **error)
{
  TdCudaDevice *device = td_cuda_device (base);
  TdCuPointer pointer = 0;
  TdCudaBuffer *buffer;
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->memory_alloc (&pointer, bytes), "allocate memory", error);
  td_cuda_leave (device);
  if (!ok)
    return FALSE;
  buffer = g_new0 (TdCudaBuffer, 1);
  buffer->pointer = pointer;
  *out = &buffer->base;
  return TRUE;
}

static void
cuda_device_buffer_free (TdBuffer *base)
{
  TdCudaBuffer *buffer = (TdCudaBuffer *) base;
  TdCudaDevice *device = td_cuda_device (base->device);

  if (td_cuda_enter (device, NULL)) {
    device->cu->memory_free (buffer->pointer);
    td_cuda_leave (device);
  }
  g_free (buffer);
}

static void *
cuda_device_buffer_map (TdBuffer *base)
{
  return NULL;
}

static void
cuda_device_free (TdDevice *base)
{
  TdCudaDevice *device = td_cuda_device (base);

  device->cu->primary_release (device->card);
  g_hash_table_unref (device->pinned);
  g_mutex_clear (&device->pinned_lock);
  g_free (device);
}

static const TdDeviceOps cuda_ops = {
  .device_free = cuda_device_free,
  .memory_free = cuda_device_memory_free,
  .buffer_new = cuda_device_buffer_new,
  .buffer_free = cuda_device_buffer_free,
  .buffer_map = cuda_device_buffer_map,
  .host_alloc = td_cuda_host_alloc,
  .host_free = td_cuda_host_free,
  .queue_new = td_cuda_queue_new,
  .queue_new_urgent = td_cuda_queue_new_urgent,
  .queue_free = td_cuda_queue_free,
  .queue_finish = td_cuda_queue_finish,
  .upload = td_cuda_upload,
  .download = td_cuda_download,
  .copy = td_cuda_copy,
  .fill_zero = td_cuda_fill_zero,
  .texture_new = td_cuda_texture_new,
  .texture_free = td_cuda_texture_free,
  .texture_write = td_cuda_texture_write,
  .dialect = "cuda.h",
  .program_build = td_cuda_program_build,
  .program_free = td_cuda_program_free,
  .program_kernel = td_cuda_program_kernel,
  .kernel_free = td_cuda_kernel_free,
  .kernel_info = td_cuda_kernel_info,
  .launch = td_cuda_launch,
  .event_record = td_cuda_event_record,
  .event_wait = td_cuda_event_wait,
  .event_sync = td_cuda_event_sync,
  .event_elapsed = td_cuda_event_elapsed,
  .event_free = td_cuda_event_free,
  .fft_new = td_cuda_fft_new,
  .fft_run = td_cuda_fft_run,
  .fft_free = td_cuda_fft_free,
};

/* ── Finding and opening ── */

static guint64
cuda_device_attribute (const TdCuDriver *cu, TdCuDevice card, TdCuAttribute which)
{
  int value = 0;

  return cu->device_attribute (&value, which, card) == 0 && value > 0 ? value : 0;
}

static char *
pci_id (const TdCuDriver *cu, TdCuDevice card)
{
  char text[32] = "";
  guint domain, bus, slot, function;

  if (cu->device_pci (text, sizeof text, card) != 0
      || sscanf (text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
    return NULL;
  return td_device_pci_id (domain, bus, slot, function);
}

static char *
card_name (const TdCuDriver *cu, TdCuDevice card)
{
  char name[256] = "";

  cu->device_name (name, sizeof name, card);
  return g_strdup (*name ? name : "NVIDIA card");
}

static guint64
card_memory (const TdCuDriver *cu, TdCuDevice card)
{
  size_t bytes = 0;

  return cu->device_memory (&bytes, card) == 0 ? bytes : 0;
}

static guint
card_arch (const TdCuDriver *cu, TdCuDevice card)
{
  return 10 * cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_MAJOR)
         + cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_MINOR);
}

static void
fill_info (TdDeviceInfo *info, const TdCuDriver *cu, TdCuDevice card, guint index,
           const char *compiler)
{
  info->id = g_strdup_printf ("cuda:%u", index);
  info->name = card_name (cu, card);
  info->vendor = g_strdup ("NVIDIA");
  info->api = g_strdup ("cuda");
  info->driver
      = g_strdup_printf ("CUDA %d.%d, %s", cu->version / 1000, cu->version % 1000 / 10, compiler);
  info->hardware_id = pci_id (cu, card);
  info->kind = TD_DEVICE_GPU;
  info->memory_bytes = info->max_alloc_bytes = card_memory (cu, card);
  info->compute_units = cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_MULTIPROCESSORS);
  info->warp_width = cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_WARP);
  info->local_memory_bytes
      = MAX (cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_SHARED_BYTES),
             cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_SHARED_BYTES_OPTIN));
  info->max_group_size = cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_GROUP_SIZE);
  info->arch = card_arch (cu, card);
  info->texture_max[0] = MIN (cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_TEXTURE_WIDTH),
                              cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_WIDTH));
  info->texture_max[1] = MIN (cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_TEXTURE_HEIGHT),
                              cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_HEIGHT));
  info->texture_max_layers = cuda_device_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_LAYERS);
  info->texels = (1u << TD_TEXEL_COUNT) - 1;
  info->texture_linear = TRUE;
  info->half_storage = TRUE;
  info->half_arithmetic = info->arch >= 53;
  info->shuffle = TRUE;
}

static void
add_absent (GPtrArray *entries, const char *reason)
{
  g_ptr_array_add (
      entries, td_device_entry_new ("cuda", "NVIDIA CUDA", "cuda", TD_DEVICE_GPU, 0, NULL, reason));
}

static void
add_card (GPtrArray *entries, const TdCuDriver *cu, TdCuDevice card, guint index)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *id = g_strdup_printf ("cuda:%u", index);
  g_autofree char *name = card_name (cu, card);
  g_autofree char *hardware_id = pci_id (cu, card);

  td_nvrtc_for_arch (card_arch (cu, card), &error);
  g_ptr_array_add (entries,
                   td_device_entry_new (id, name, "cuda", TD_DEVICE_GPU, card_memory (cu, card),
                                        hardware_id, error ? error->message : NULL));
}

void
td_cuda_list (GPtrArray *entries)
{
  g_autoptr (GError) error = NULL;
  const TdCuDriver *cu = td_cu_driver (&error);
  int count = 0;

  if (!cu) {
    add_absent (entries, error->message);
    return;
  }
  if (cu->device_count (&count) != 0 || count == 0)
    add_absent (entries, "the NVIDIA driver is installed, but it sees no card");
  for (int i = 0; i < count; i++) {
    TdCuDevice card;
    if (cu->device_get (&card, i) == 0)
      add_card (entries, cu, card, i);
  }
}

gboolean
td_cuda_open (guint index, TdDevice **out, GError **error)
{
  const TdCuDriver *cu = td_cu_driver (error);
  TdCudaDevice *device;
  TdCuDevice card = 0;

  if (!cu)
    return FALSE;
  if (cu->device_get (&card, index) != 0) {
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "there is no device cuda:%u; 'tomodesk-cli devices' lists them", index);
    return FALSE;
  }
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (card_arch (cu, card), error);
  if (!nvrtc)
    return FALSE;

  device = g_new0 (TdCudaDevice, 1);
  device->cu = cu;
  device->card = card;
  g_mutex_init (&device->pinned_lock);
  device->pinned = g_hash_table_new (NULL, NULL);
  /* Threads that wait sleep instead of spinning: preparation and writing need the processor. Fails
     harmlessly if somebody else in this process has already chosen. */
  cu->primary_flags (card, TD_CU_CONTEXT_BLOCKING_SYNC);
  if (!td_cuda_check (device, cu->primary_retain (&device->context, card), "start using the card",
                      error)) {
    td_prefix_error (error, "cuda:%u: ", index);
    g_hash_table_unref (device->pinned);
    g_mutex_clear (&device->pinned_lock);
    g_free (device);
    return FALSE;
  }
  td_device_init (&device->base, &cuda_ops);
  fill_info (&device->base.info, cu, card, index, td_nvrtc_version (nvrtc));
  *out = &device->base;
  return TRUE;
}
