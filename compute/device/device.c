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

TdTexel
td_texel (guint channels, gboolean half)
{
  return (half ? TD_TEXEL_R16F : TD_TEXEL_R32F) + (channels == 1 ? 0 : channels == 2 ? 1 : 2);
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
device_count (TdDevice *device, guint64 objects)
{
  g_mutex_lock (&device->lock);
  device->live_objects += objects;
  g_mutex_unlock (&device->lock);
}

/* An object of the hardware, which it keeps open: its device is its first member. */
static gpointer
device_object_new (TdDevice *device, gsize bytes)
{
  TdDevice **object = g_malloc0 (bytes);

  *object = td_device_ref (device);
  device_count (device, 1);
  return object;
}

static void
device_object_free (gpointer object)
{
  TdDevice *device = *(TdDevice **) object;

  g_free (object);
  device_count (device, (guint64) -1);
  td_device_unref (device);
}

static gboolean
device_failed (TdDevice *device, GError **error)
{
  return td_prefix_error (error, "%s (%s): ", device->info.name, device->info.id);
}

static gpointer
device_failed_null (TdDevice *device, GError **error)
{
  device_failed (device, error);
  return NULL;
}

const TdDeviceInfo *
td_device_info (TdDevice *device)
{
  return &device->hardware->info;
}

/* ── After an error ── */

TdReaction
td_device_reaction (const GError *error)
{
  if (!error || error->domain != TD_ERROR)
    return TD_REACTION_GIVE_UP;
  switch ((TdErrorCode) error->code) {
  case TD_ERROR_DEVICE_MEMORY: return TD_REACTION_RETRY_SMALLER;
  case TD_ERROR_DEVICE_BUILD: return TD_REACTION_ANOTHER_KERNEL;
  case TD_ERROR_DEVICE_TIMEOUT: return TD_REACTION_SMALLER_LAUNCHES;
  /* A wrong call or a wrong result says nothing about the other devices. */
  case TD_ERROR_DEVICE_BUG:
  case TD_ERROR_DEVICE_LOST: return TD_REACTION_RETIRE;
  default: return TD_REACTION_GIVE_UP;
  }
}

gboolean
td_device_may_retry (const GError *error)
{
  return td_device_reaction (error) < TD_REACTION_RETIRE;
}

gboolean
td_device_others_can (const GError *error)
{
  return td_device_reaction (error) != TD_REACTION_GIVE_UP;
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

/* What was reserved for an object of the account goes with it. */
static void
device_object_give_back (gpointer object, TdDevice *account, guint64 bytes)
{
  device_release (account, bytes);
  td_device_unref (account);
  device_object_free (object);
}

TdBuffer *
td_buffer_new (TdDevice *device, guint64 bytes, GError **error)
{
  TdDevice *hardware = device->hardware;

  if (!bytes) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "a buffer of 0 bytes was asked for");
    return device_failed_null (hardware, error);
  }
  if (!device_reserve (device, bytes, N_ ("a buffer"), error))
    return NULL;
  TdBuffer *buffer = device_object_new (hardware, hardware->ops->sizes.buffer);
  buffer->account = td_device_ref (device);
  buffer->bytes = bytes;
  if (hardware->ops->buffer_new (buffer, error))
    return buffer;
  device_object_give_back (buffer, device, bytes);
  return device_failed_null (hardware, error);
}

void
td_buffer_free (TdBuffer *buffer)
{
  if (!buffer)
    return;
  buffer->device->ops->buffer_free (buffer);
  device_object_give_back (buffer, buffer->account, buffer->bytes);
}

void *
td_buffer_map (TdBuffer *buffer)
{
  const TdDeviceOps *ops = buffer->device->ops;

  return ops->buffer_map ? ops->buffer_map (buffer) : NULL;
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
    return device_failed_null (device, error);
  }
  device_count (td_device_ref (device), 1);
  return memory;
}

void
td_device_host_free (TdDevice *device, void *memory)
{
  if (!memory)
    return;
  device = device->hardware;
  device->ops->host_free (device, memory);
  device_count (device, (guint64) -1);
  td_device_unref (device);
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

  if (!texture_check (&hardware->info, spec, error))
    return device_failed_null (hardware, error);
  const guint64 bytes = texture_bytes (spec);
  if (!device_reserve (device, bytes, N_ ("a texture"), error))
    return NULL;
  TdTexture *texture = device_object_new (hardware, hardware->ops->sizes.texture);
  texture->account = td_device_ref (device);
  texture->spec = *spec;
  if (hardware->ops->texture_new (texture, error))
    return texture;
  device_object_give_back (texture, device, bytes);
  return device_failed_null (hardware, error);
}

void
td_texture_free (TdTexture *texture)
{
  if (!texture)
    return;
  texture->device->ops->texture_free (texture);
  device_object_give_back (texture, texture->account, texture_bytes (&texture->spec));
}

gboolean
td_texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from, guint64 offset,
                  GError **error)
{
  TdDevice *device = queue->device;
  guint64 all = MAX (to->spec.layers, 1);
  guint64 bytes = texture_bytes (&to->spec) / all * layers;

  if (!layers || layers > all || offset > from->bytes || bytes > from->bytes - offset)
    return td_set_error (error, TD_ERROR_DEVICE_BUG,
                         "%" PRIu64 " layers are outside the texture or its buffer", layers)
           || device_failed (device, error);
  return device->ops->texture_write (queue, to, layers, from, offset, error)
         || device_failed (device, error);
}

/* ── Queues ── */

static TdQueue *
device_queue_new (TdDevice *device, gboolean urgent, GError **error)
{
  device = device->hardware;
  TdQueue *queue = device_object_new (device, device->ops->sizes.queue);
  if (!device->ops->queue_new || device->ops->queue_new (queue, urgent, error))
    return queue;
  device_object_free (queue);
  return device_failed_null (device, error);
}

TdQueue *
td_queue_new (TdDevice *device, GError **error)
{
  return device_queue_new (device, FALSE, error);
}

TdQueue *
td_queue_new_urgent (TdDevice *device, GError **error)
{
  return device_queue_new (device, TRUE, error);
}

void
td_queue_free (TdQueue *queue)
{
  if (!queue)
    return;
  if (queue->device->ops->queue_free)
    queue->device->ops->queue_free (queue);
  device_object_free (queue);
}

gboolean
td_queue_finish (TdQueue *queue, GError **error)
{
  const TdDeviceOps *ops = queue->device->ops;

  return !ops->queue_finish || ops->queue_finish (queue, error)
         || device_failed (queue->device, error);
}

/* ── Transfers ── */

static gboolean
range_check (TdQueue *queue, const char *what, TdBuffer *buffer, guint64 offset, guint64 bytes,
             GError **error)
{
  if (buffer->device == queue->device && offset <= buffer->bytes && bytes <= buffer->bytes - offset)
    return TRUE;
  return td_set_error (error, TD_ERROR_DEVICE_BUG,
                       "%p of %" PRIu64 " bytes at %" PRIu64 " is outside a buffer of %" PRIu64
                       " bytes or of another device",
                       td_message_unpack (what), bytes, offset, buffer->bytes)
         || device_failed (queue->device, error);
}

gboolean
td_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
           GError **error)
{
  return range_check (queue, N_ ("upload"), to, offset, bytes, error)
         && (!bytes || queue->device->ops->upload (queue, to, offset, host, bytes, error)
             || device_failed (queue->device, error));
}

gboolean
td_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
             GError **error)
{
  return range_check (queue, N_ ("download"), from, offset, bytes, error)
         && (!bytes || queue->device->ops->download (queue, host, from, offset, bytes, error)
             || device_failed (queue->device, error));
}

gboolean
td_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
         guint64 bytes, GError **error)
{
  if (!range_check (queue, N_ ("copy"), to, to_offset, bytes, error)
      || !range_check (queue, N_ ("copy"), from, from_offset, bytes, error))
    return FALSE;
  if (to == from && to_offset < from_offset + bytes && from_offset < to_offset + bytes && bytes)
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "copy between overlapping ranges")
           || device_failed (queue->device, error);
  return !bytes || queue->device->ops->copy (queue, to, to_offset, from, from_offset, bytes, error)
         || device_failed (queue->device, error);
}

gboolean
td_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  return range_check (queue, N_ ("fill"), to, offset, bytes, error)
         && (!bytes || queue->device->ops->fill_zero (queue, to, offset, bytes, error)
             || device_failed (queue->device, error));
}

/* ── Events ── */

TdEvent *
td_event_record (TdQueue *queue, GError **error)
{
  TdDevice *device = queue->device;
  TdEvent *event = device_object_new (device, device->ops->sizes.event);

  if (device->ops->event_record (queue, event, error))
    return event;
  device_object_free (event);
  return device_failed_null (device, error);
}

gboolean
td_event_mark (TdQueue *queue, TdEvent **event, GError **error)
{
  g_clear_pointer (event, td_event_free);
  *event = td_event_record (queue, error);
  return *event != NULL;
}

void
td_event_free (TdEvent *event)
{
  if (!event)
    return;
  if (event->device->ops->event_free)
    event->device->ops->event_free (event);
  device_object_free (event);
}

gboolean
td_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  if (event->device != queue->device)
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "wait for an event of another device")
           || device_failed (queue->device, error);
  return !queue->device->ops->event_wait || queue->device->ops->event_wait (queue, event, error)
         || device_failed (queue->device, error);
}

gboolean
td_event_sync (TdEvent *event, GError **error)
{
  return !event->device->ops->event_sync || event->device->ops->event_sync (event, error)
         || device_failed (event->device, error);
}

gboolean
td_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  return from->device->ops->event_elapsed (from, to, seconds, error)
         || device_failed (from->device, error);
}

GPtrArray *
td_events_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) td_event_free);
}

gboolean
td_events_record (TdQueue *queue, GPtrArray *events, GError **error)
{
  TdEvent *event = td_event_record (queue, error);

  if (event)
    g_ptr_array_add (events, event);
  return event != NULL;
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
  const guint64 elements = fft_elements (kind, n, batch);
  const guint n_lines = kind == TD_FFT_C2C_2D ? n[1] : 1;

  device = device->hardware;
  if (!elements || elements > G_MAXINT32) {
    td_set_error (
        error, elements ? TD_ERROR_TOO_LARGE : TD_ERROR_DEVICE_BUG,
        elements
            ? N_ ("FFTs of %u × %u, %u at once, are 2^31 elements or more; transform fewer at once")
            : N_ ("FFTs of %u × %u, %u at once, are empty"),
        n[0], n_lines, batch);
    return device_failed_null (device, error);
  }
  TdFft *fft = device_object_new (device, device->ops->sizes.fft);
  fft->kind = kind;
  fft->n[0] = n[0];
  fft->n[1] = n_lines;
  fft->batch = batch;
  if (device->ops->fft_new (fft, error))
    return fft;
  device_object_free (fft);
  return device_failed_null (device, error);
}

gboolean
td_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  guint64 bytes = fft_elements (fft->kind, fft->n, fft->batch) * 2 * sizeof (float);

  if (!range_check (queue, N_ ("FFT"), data, 0, bytes, error))
    return FALSE;
  if (fft->device != queue->device)
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "FFT of another device")
           || device_failed (queue->device, error);
  return queue->device->ops->fft_run (queue, fft, data, inverse, error)
         || device_failed (queue->device, error);
}

void
td_fft_free (TdFft *fft)
{
  if (!fft)
    return;
  fft->device->ops->fft_free (fft);
  device_object_free (fft);
}

/* ── Programs, kernels and launches ── */

static char *
program_key (const char *name, const char *const *defines)
{
  g_autofree char *all = g_strjoinv ("\n", (char **) defines);

  return g_strconcat (name, "\n", all, NULL);
}

static void
kernel_free (gpointer data)
{
  TdKernel *kernel = data;
  const TdDeviceOps *ops = kernel->program->device->ops;

  if (ops->kernel_free)
    ops->kernel_free (kernel);
  g_free (kernel->name);
  g_free (kernel);
}

static void
program_free (gpointer data)
{
  TdProgram *program = data;
  const TdDeviceOps *ops = program->device->ops;

  g_hash_table_unref (program->kernels);
  if (ops->program_free)
    ops->program_free (program);
  g_free (program);
}

static TdProgram *
program_build (TdDevice *device, const char *name, const char *const *defines, GError **error)
{
  g_autofree char *source = NULL;

  if (device->ops->dialect) {
    source = td_kernel_source_expand (name, device->ops->dialect);
    if (!source)
      return td_set_error_null (error, TD_ERROR_DEVICE_BUG, "there is no kernel source '%s'", name);
  }
  TdProgram *program = g_malloc0 (device->ops->sizes.program);
  program->device = device;
  g_atomic_int_inc (&device->building);
  const gboolean built = device->ops->program_build (program, name, source, defines, error);
  g_atomic_int_add (&device->building, -1);
  g_atomic_int_add (&device->builds, source != NULL);
  if (built)
    program->kernels = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, kernel_free);
  else
    g_clear_pointer (&program, g_free);
  return program;
}

/* Under the programs' lock, as the next. */
static TdProgram *
program_find (TdDevice *device, const char *name, const char *const *defines, GError **error)
{
  g_autofree char *key = program_key (name, defines);

  if (!device->programs)
    device->programs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, program_free);
  TdProgram *program = g_hash_table_lookup (device->programs, key);
  if (!program && (program = program_build (device, name, defines, error)))
    g_hash_table_insert (device->programs, g_steal_pointer (&key), program);
  return program;
}

static TdKernel *
kernel_find (TdProgram *program, const char *name, GError **error)
{
  const TdDeviceOps *ops = program->device->ops;
  TdKernel *kernel = g_hash_table_lookup (program->kernels, name);

  if (kernel)
    return kernel;
  kernel = g_malloc0 (ops->sizes.kernel);
  kernel->program = program;
  kernel->name = g_strdup (name);
  if (ops->kernel_new (kernel, error)) {
    g_hash_table_insert (program->kernels, kernel->name, kernel);
    return kernel;
  }
  g_free (kernel->name);
  g_free (kernel);
  return NULL;
}

TdKernel *
td_device_kernel (TdDevice *device, const char *source, const char *const *defines,
                  const char *kernel, GError **error)
{
  static const char *const none[] = { NULL };

  device = device->hardware;
  g_mutex_lock (&device->program_lock);
  TdProgram *program = program_find (device, source, defines ? defines : none, error);
  TdKernel *found = program ? kernel_find (program, kernel, error) : NULL;
  g_mutex_unlock (&device->program_lock);
  return found ? found : device_failed_null (device, error);
}

char **
td_defines (const char *words, ...)
{
  va_list values;

  va_start (values, words);
  g_autofree char *text = g_strdup_vprintf (words, values);
  va_end (values);
  return g_strsplit (text, " ", -1);
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

  if (fault)
    return td_set_error (error, TD_ERROR_DEVICE_BUG,
                         "%s: launch of %u × %u × %u groups of %u × %u × %u with %p", kernel->name,
                         groups[0], groups[1], groups[2], local[0], local[1], local[2],
                         td_message_unpack (fault))
           || device_failed (device, error);
  return device->ops->launch (queue, kernel, groups, local, args, n_args, error)
         || device_failed (device, error);
}
