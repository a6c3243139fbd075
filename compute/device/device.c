/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-api.h"

#include <inttypes.h>
#include "kernels/source.h"
#include "dataset/message.h"
#include "dataset/unit.h"

static const struct {
  guint channels, bytes;
} texels[TD_TEXEL_COUNT] = {
  [TD_TEXEL_R32F] = { 1, 4 }, [TD_TEXEL_RG32F] = { 2, 8 }, [TD_TEXEL_RGBA32F] = { 4, 16 },
  [TD_TEXEL_R16F] = { 1, 2 }, [TD_TEXEL_RG16F] = { 2, 4 }, [TD_TEXEL_RGBA16F] = { 4, 8 },
};

guint
td_texel_channels (TdTexel texel)
{
  return texels[texel].channels;
}

gsize
td_texel_bytes (TdTexel texel)
{
  return texels[texel].bytes;
}

/* ── Creation ── */

void
td_device_init (TdDevice *device, const TdDeviceOps *ops)
{
  device->references = 1;
  device->hardware = device;
  device->ops = ops;
  g_mutex_init (&device->lock);
  g_mutex_init (&device->program_lock);
}

void
td_device_clear (TdDevice *device)
{
  g_clear_pointer (&device->programs, g_hash_table_unref);
  g_free (device->info.id);
  g_free (device->info.name);
  g_free (device->info.vendor);
  g_free (device->info.api);
  g_free (device->info.driver);
  g_free (device->info.hardware_id);
  g_mutex_clear (&device->lock);
  g_mutex_clear (&device->program_lock);
  device->ops->device_free (device);
}

char *
td_device_pci_id (guint domain, guint bus, guint slot, guint function)
{
  return g_strdup_printf ("pci:%04x:%02x:%02x.%x", domain, bus, slot, function);
}

static void
device_object_new (TdDevice *device)
{
  td_device_ref (device);
  g_mutex_lock (&device->lock);
  device->live_objects++;
  g_mutex_unlock (&device->lock);
}

static void
device_object_free (TdDevice *device)
{
  g_mutex_lock (&device->lock);
  device->live_objects--;
  g_mutex_unlock (&device->lock);
  td_device_unref (device);
}

static gboolean
device_failed (TdDevice *device, GError **error)
{
  return td_prefix_error (error, "%s (%s): ", device->info.name, device->info.id);
}

const TdDeviceInfo *
td_device_info (TdDevice *device)
{
  return &device->hardware->info;
}

/* ── Memory ── */

guint64
td_device_peak_bytes (TdDevice *device)
{
  g_mutex_lock (&device->hardware->lock);
  const guint64 peak = device->allocated_peak_bytes;
  g_mutex_unlock (&device->hardware->lock);
  return peak;
}

/* Under the lock. */
static guint64
account_left (const TdDevice *account)
{
  if (!account->memory_limit_bytes)
    return G_MAXUINT64;
  return account->memory_limit_bytes - MIN (account->allocated_bytes, account->memory_limit_bytes);
}

/* Under the lock. */
static void
account_add (TdDevice *account, guint64 bytes)
{
  account->allocated_bytes += bytes;
  account->allocated_peak_bytes = MAX (account->allocated_peak_bytes, account->allocated_bytes);
}

guint64
td_device_memory_free (TdDevice *device)
{
  TdDevice *hardware = device->hardware;
  guint64 available = hardware->ops->memory_free (hardware);

  g_mutex_lock (&hardware->lock);
  const guint64 used = hardware->allocated_bytes, total = hardware->info.memory_bytes;
  available = MIN (available, total > used ? total - used : 0);
  available = MIN (available, MIN (account_left (device), account_left (hardware)));
  g_mutex_unlock (&hardware->lock);
  return available;
}

/* Checks the limits and counts the bytes; FALSE: not counted. */
static gboolean
device_reserve (TdDevice *device, guint64 bytes, const char *what, GError **error)
{
  TdDevice *hardware = device->hardware;

  g_mutex_lock (&hardware->lock);
  const guint64 left
      = MIN (hardware->info.max_alloc_bytes, MIN (account_left (device), account_left (hardware)));
  if (bytes <= left) {
    account_add (hardware, bytes);
    if (device != hardware)
      account_add (device, bytes);
  }
  g_mutex_unlock (&hardware->lock);
  if (bytes <= left)
    return TRUE;

  g_autofree char *size = td_memory_text (bytes);
  g_autofree char *most = td_memory_text (left);
  td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                "%p of %s does not fit: this device gives at most %s now; compute fewer slices at "
                "once",
                td_message_unpack (what), size, most);
  return device_failed (hardware, error);
}

static void
device_release (TdDevice *device, guint64 bytes)
{
  g_mutex_lock (&device->hardware->lock);
  device->hardware->allocated_bytes -= bytes;
  if (device != device->hardware)
    device->allocated_bytes -= bytes;
  g_mutex_unlock (&device->hardware->lock);
}

TdBuffer *
td_buffer_new (TdDevice *device, guint64 bytes, GError **error)
{
  TdDevice *hardware = device->hardware;
  TdBuffer *buffer = NULL;

  if (!bytes) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "a buffer of 0 bytes was asked for");
    device_failed (hardware, error);
    return NULL;
  }
  if (!device_reserve (device, bytes, N_ ("a buffer"), error))
    return NULL;
  if (!hardware->ops->buffer_new (hardware, bytes, &buffer, error)) {
    device_release (device, bytes);
    device_failed (hardware, error);
    return NULL;
  }
  buffer->device = hardware;
  buffer->account = td_device_ref (device);
  buffer->bytes = bytes;
  device_object_new (hardware);
  return buffer;
}

void
td_buffer_free (TdBuffer *buffer)
{
  if (!buffer)
    return;
  TdDevice *device = buffer->device, *account = buffer->account;
  guint64 bytes = buffer->bytes;
  device->ops->buffer_free (buffer);
  device_release (account, bytes);
  td_device_unref (account);
  device_object_free (device);
}

void *
td_buffer_map (TdBuffer *buffer)
{
  return buffer->device->ops->buffer_map (buffer);
}

void *
td_place_map (TdPlace place)
{
  return (char *) td_buffer_map (place.buffer) + place.offset;
}

void *
td_device_host_alloc (TdDevice *device, guint64 bytes, GError **error)
{
  device = device->hardware;
  void *memory = device->ops->host_alloc (device, MAX (bytes, 1));
  if (!memory) {
    g_autofree char *size = td_memory_text (bytes);
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "%s of host memory for transfers could not be had; compute fewer slices at once",
                  size);
    device_failed (device, error);
    return NULL;
  }
  device_object_new (device);
  return memory;
}

void
td_device_host_free (TdDevice *device, void *memory)
{
  if (!memory)
    return;
  device = device->hardware;
  device->ops->host_free (device, memory);
  device_object_free (device);
}

/* ── Textures ── */

static guint64
texture_bytes (const TdTextureSpec *spec)
{
  return spec->width * spec->height * MAX (spec->layers, 1) * td_texel_bytes (spec->texel);
}

static gboolean
texture_check (const TdDeviceInfo *info, const TdTextureSpec *spec, GError **error)
{
  if (spec->texel >= TD_TEXEL_COUNT || !spec->width || !spec->height)
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "a texture without texels was asked for");
  if (!(info->texels & (1u << spec->texel)) || (spec->linear && !info->texture_linear))
    return td_set_error (
        error, TD_ERROR_UNSUPPORTED,
        spec->linear
            ? N_ ("no textures with %u × %u-bit texels and linear filtering here; choose another "
                  "kernel")
            : N_ ("no textures with %u × %u-bit texels here; choose another kernel"),
        td_texel_channels (spec->texel),
        (guint) (8 * td_texel_bytes (spec->texel) / td_texel_channels (spec->texel)));
  if (spec->width > info->texture_max[0] || spec->height > info->texture_max[1]
      || spec->layers > info->texture_max_layers)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "a texture of %" PRIu64 " × %" PRIu64 " × %" PRIu64
                         " is larger than this device's %" PRIu64 " × %" PRIu64 " × %" PRIu64,
                         spec->width, spec->height, spec->layers, info->texture_max[0],
                         info->texture_max[1], info->texture_max_layers);
  return TRUE;
}

TdTexture *
td_texture_new (TdDevice *device, const TdTextureSpec *spec, GError **error)
{
  TdDevice *hardware = device->hardware;
  TdTexture *texture = NULL;

  if (!texture_check (&hardware->info, spec, error)) {
    device_failed (hardware, error);
    return NULL;
  }
  guint64 bytes = texture_bytes (spec);
  if (!device_reserve (device, bytes, N_ ("a texture"), error))
    return NULL;
  if (!hardware->ops->texture_new (hardware, spec, &texture, error)) {
    device_release (device, bytes);
    device_failed (hardware, error);
    return NULL;
  }
  texture->device = hardware;
  texture->account = td_device_ref (device);
  texture->spec = *spec;
  device_object_new (hardware);
  return texture;
}

void
td_texture_free (TdTexture *texture)
{
  if (!texture)
    return;
  TdDevice *device = texture->device, *account = texture->account;
  guint64 bytes = texture_bytes (&texture->spec);
  device->ops->texture_free (texture);
  device_release (account, bytes);
  td_device_unref (account);
  device_object_free (device);
}

gboolean
td_texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from, guint64 offset,
                  GError **error)
{
  TdDevice *device = queue->device;
  guint64 all = MAX (to->spec.layers, 1);
  guint64 bytes = texture_bytes (&to->spec) / all * layers;

  if (!layers || layers > all || offset > from->bytes || bytes > from->bytes - offset) {
    td_set_error (error, TD_ERROR_DEVICE_BUG,
                  "%" PRIu64 " layers are outside the texture or its buffer", layers);
    return device_failed (device, error);
  }
  return device->ops->texture_write (queue, to, layers, from, offset, error)
         || device_failed (device, error);
}

/* ── Queues ── */

static TdQueue *
device_queue_new_queue (TdDevice *device, gboolean urgent, GError **error)
{
  TdQueue *queue = NULL;

  device = device->hardware;
  if (!(urgent && device->ops->queue_new_urgent ? device->ops->queue_new_urgent
                                                : device->ops->queue_new) (device, &queue, error)) {
    device_failed (device, error);
    return NULL;
  }
  queue->device = device;
  device_object_new (device);
  return queue;
}

TdQueue *
td_queue_new (TdDevice *device, GError **error)
{
  return device_queue_new_queue (device, FALSE, error);
}

TdQueue *
td_queue_new_urgent (TdDevice *device, GError **error)
{
  return device_queue_new_queue (device, TRUE, error);
}

void
td_queue_free (TdQueue *queue)
{
  if (!queue)
    return;
  TdDevice *device = queue->device;
  device->ops->queue_free (queue);
  device_object_free (device);
}

gboolean
td_queue_finish (TdQueue *queue, GError **error)
{
  return queue->device->ops->queue_finish (queue, error) || device_failed (queue->device, error);
}

/* ── Transfers ── */

static gboolean
range_check (TdQueue *queue, const char *what, TdBuffer *buffer, guint64 offset, guint64 bytes,
             GError **error)
{
  if (buffer->device == queue->device && offset <= buffer->bytes && bytes <= buffer->bytes - offset)
    return TRUE;
  td_set_error (error, TD_ERROR_DEVICE_BUG,
                "%p of %" PRIu64 " bytes at %" PRIu64 " is outside a buffer of %" PRIu64
                " bytes or of another device",
                td_message_unpack (what), bytes, offset, buffer->bytes);
  return device_failed (queue->device, error);
}

gboolean
td_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
           GError **error)
{
  if (!range_check (queue, N_ ("upload"), to, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->upload (queue, to, offset, host, bytes, error)
         || device_failed (queue->device, error);
}

gboolean
td_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
             GError **error)
{
  if (!range_check (queue, N_ ("download"), from, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->download (queue, host, from, offset, bytes, error)
         || device_failed (queue->device, error);
}

gboolean
td_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
         guint64 bytes, GError **error)
{
  if (!range_check (queue, N_ ("copy"), to, to_offset, bytes, error)
      || !range_check (queue, N_ ("copy"), from, from_offset, bytes, error))
    return FALSE;
  if (to == from && to_offset < from_offset + bytes && from_offset < to_offset + bytes && bytes) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "copy between overlapping ranges");
    return device_failed (queue->device, error);
  }
  return !bytes || queue->device->ops->copy (queue, to, to_offset, from, from_offset, bytes, error)
         || device_failed (queue->device, error);
}

gboolean
td_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  if (!range_check (queue, N_ ("fill"), to, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->fill_zero (queue, to, offset, bytes, error)
         || device_failed (queue->device, error);
}

/* ── Events ── */

TdEvent *
td_event_record (TdQueue *queue, GError **error)
{
  TdDevice *device = queue->device;
  TdEvent *event = NULL;

  if (!device->ops->event_record (queue, &event, error)) {
    device_failed (device, error);
    return NULL;
  }
  event->device = device;
  device_object_new (device);
  return event;
}

void
td_event_free (TdEvent *event)
{
  if (!event)
    return;
  TdDevice *device = event->device;
  device->ops->event_free (event);
  device_object_free (device);
}

gboolean
td_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  if (event->device != queue->device) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "wait for an event of another device");
    return device_failed (queue->device, error);
  }
  return queue->device->ops->event_wait (queue, event, error)
         || device_failed (queue->device, error);
}

gboolean
td_event_sync (TdEvent *event, GError **error)
{
  return event->device->ops->event_sync (event, error) || device_failed (event->device, error);
}

gboolean
td_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  return from->device->ops->event_elapsed (from, to, seconds, error)
         || device_failed (from->device, error);
}

/* ── FFT ── */

static gboolean
even_smooth (guint n)
{
  if (n % 2)
    return FALSE;
  while (n % 2 == 0)
    n /= 2;
  while (n % 3 == 0)
    n /= 3;
  while (n % 5 == 0)
    n /= 5;
  return n == 1;
}

guint
td_fft_good_size (guint at_least)
{
  guint n = MAX (at_least, 2);

  while (!even_smooth (n))
    n++;
  return n;
}

static guint64
fft_elements (TdFftKind kind, const guint n[2], guint batch)
{
  guint64 one = (guint64) n[0] * (kind == TD_FFT_C2C_2D ? n[1] : 1);

  /* The APIs count in 32 bits; the product of the last two could pass 64. */
  return one > G_MAXINT32 ? G_MAXUINT64 : one * batch;
}

TdFft *
td_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, GError **error)
{
  TdFft *fft = NULL;
  guint64 elements = fft_elements (kind, n, batch);

  if (!elements || elements > G_MAXINT32) {
    td_set_error (
        error, elements ? TD_ERROR_TOO_LARGE : TD_ERROR_DEVICE_BUG,
        elements
            ? N_ ("FFTs of %u × %u, %u at once, are 2^31 elements or more; transform fewer at once")
            : N_ ("FFTs of %u × %u, %u at once, are empty"),
        n[0], kind == TD_FFT_C2C_2D ? n[1] : 1, batch);
    device_failed (device->hardware, error);
    return NULL;
  }
  device = device->hardware;
  if (!device->ops->fft_new (device, kind, n, batch, &fft, error)) {
    device_failed (device, error);
    return NULL;
  }
  fft->device = device;
  fft->kind = kind;
  fft->n[0] = n[0];
  fft->n[1] = kind == TD_FFT_C2C_2D ? n[1] : 1;
  fft->batch = batch;
  device_object_new (device);
  return fft;
}

gboolean
td_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  guint64 bytes = fft_elements (fft->kind, fft->n, fft->batch) * 2 * sizeof (float);

  if (!range_check (queue, N_ ("FFT"), data, 0, bytes, error))
    return FALSE;
  if (fft->device != queue->device) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "FFT of another device");
    return device_failed (queue->device, error);
  }
  return queue->device->ops->fft_run (queue, fft, data, inverse, error)
         || device_failed (queue->device, error);
}

void
td_fft_free (TdFft *fft)
{
  if (!fft)
    return;
  TdDevice *device = fft->device;
  device->ops->fft_free (fft);
  device_object_free (device);
}

/* ── Programs, kernels and launches ── */

static char *
program_key (const char *name, const char *const *defines)
{
  g_autofree char *all = g_strjoinv ("\n", (char **) defines);

  return g_strconcat (name, "\n", all, NULL);
}

static void
free_program (gpointer data)
{
  TdProgram *program = data;
  const TdDeviceOps *ops = program->device->ops;
  GHashTableIter iter;
  gpointer kernel;

  g_hash_table_iter_init (&iter, program->kernels);
  while (g_hash_table_iter_next (&iter, NULL, &kernel)) {
    g_free (((TdKernel *) kernel)->name);
    ops->kernel_free (kernel);
  }
  g_hash_table_unref (program->kernels);
  ops->program_free (program);
}

static TdProgram *
device_program_build (TdDevice *device, const char *name, const char *const *defines,
                      GError **error)
{
  g_autofree char *source = NULL;
  TdProgram *program = NULL;

  if (device->ops->dialect) {
    source = td_kernel_source_expand (name, device->ops->dialect);
    if (!source)
      return td_set_error_null (error, TD_ERROR_DEVICE_BUG, "there is no kernel source '%s'", name);
  }
  g_atomic_int_inc (&device->building);
  const gboolean built
      = device->ops->program_build (device, name, source, defines, &program, error);
  g_atomic_int_add (&device->building, -1);
  g_atomic_int_add (&device->builds, source != NULL);
  if (!built)
    return NULL;
  program->device = device;
  program->kernels = g_hash_table_new (g_str_hash, g_str_equal);
  return program;
}

TdProgram *
td_program_build (TdDevice *device, const char *name, const char *const *defines, GError **error)
{
  static const char *const none[] = { NULL };
  g_autofree char *key = NULL;

  defines = defines ? defines : none;
  key = program_key (name, defines);
  device = device->hardware;

  g_mutex_lock (&device->program_lock);
  if (!device->programs)
    device->programs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_program);
  TdProgram *program = g_hash_table_lookup (device->programs, key);
  if (!program) {
    program = device_program_build (device, name, defines, error);
    if (program)
      g_hash_table_insert (device->programs, g_steal_pointer (&key), program);
  }
  g_mutex_unlock (&device->program_lock);

  if (program)
    device_object_new (device);
  else
    device_failed (device, error);
  return program;
}

gboolean
td_device_is_building (TdDevice *device)
{
  return g_atomic_int_get (&device->hardware->building) > 0;
}

guint
td_device_builds (TdDevice *device)
{
  return (guint) g_atomic_int_get (&device->hardware->builds);
}

void
td_program_free (TdProgram *program)
{
  if (program)
    device_object_free (program->device);
}

TdKernel *
td_program_kernel (TdProgram *program, const char *name, GError **error)
{
  TdDevice *device = program->device;

  g_mutex_lock (&device->program_lock);
  TdKernel *kernel = g_hash_table_lookup (program->kernels, name);
  if (!kernel && device->ops->program_kernel (program, name, &kernel, error)) {
    kernel->program = program;
    kernel->name = g_strdup (name);
    g_hash_table_insert (program->kernels, kernel->name, kernel);
  }
  g_mutex_unlock (&device->program_lock);

  if (!kernel)
    device_failed (device, error);
  return kernel;
}

guint64
td_kernel_spilled (TdKernel *kernel)
{
  const TdDeviceOps *ops = kernel->program->device->ops;

  return ops->kernel_spilled ? ops->kernel_spilled (kernel) : 0;
}

/* What is wrong with a launch, in words; NULL: nothing. */
static const char *
launch_fault (TdQueue *queue, const guint groups[3], const guint local[3], const TdArg *args,
              guint n_args)
{
  const TdDeviceInfo *info = &queue->device->info;
  guint64 group_items = 1;

  for (guint i = 0; i < 3; i++) {
    if (!groups[i] || !local[i])
      return N_ ("no work-items");
    if ((guint64) groups[i] * local[i] > G_MAXINT32)
      return N_ ("2^31 work-items or more in one dimension");
    if (i > 0 && info->most_groups && groups[i] > info->most_groups)
      return N_ ("more work-groups than the device takes");
    group_items *= local[i];
    if (group_items > info->max_group_size)
      return N_ ("a larger work-group than the device takes");
  }
  for (guint i = 0; i < n_args; i++) {
    if ((args[i].kind == TD_ARG_BUFFER && (*args[i].buffer)->device != queue->device)
        || (args[i].kind == TD_ARG_TEXTURE && (*args[i].texture)->device != queue->device))
      return N_ ("an argument of another device");
    if (args[i].kind == TD_ARG_LOCAL && i + 1 != n_args)
      return N_ ("a local-memory argument that is not the last");
    if (args[i].kind == TD_ARG_LOCAL && args[i].local->bytes > info->local_memory_bytes)
      return N_ ("more local memory than the device has");
  }
  return NULL;
}

gboolean
td_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
           const TdArg *args, guint n_args, GError **error)
{
  TdDevice *device = queue->device;
  const char *fault = kernel->program->device != device
                          ? N_ ("a program of another device")
                          : launch_fault (queue, groups, local, args, n_args);

  if (fault) {
    td_set_error (error, TD_ERROR_DEVICE_BUG,
                  "%s: launch of %u × %u × %u groups of %u × %u × %u with %p", kernel->name,
                  groups[0], groups[1], groups[2], local[0], local[1], local[2],
                  td_message_unpack (fault));
    return device_failed (device, error);
  }
  return device->ops->launch (queue, kernel, groups, local, args, n_args, error)
         || device_failed (device, error);
}
