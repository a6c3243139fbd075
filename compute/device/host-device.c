/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define HUGE_PAGE (2u << 20)

typedef struct {
  TdBuffer base;
  void *memory;
} HostBuffer;

typedef struct {
  TdEvent base;
  double seconds;
} HostEvent;

/* ── What the machine has ── */

static guint64
host_device_read_bytes (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL) || !g_ascii_isdigit (text[0]))
    return G_MAXUINT64; /* "max", or no such limit */
  return g_ascii_strtoull (text, NULL, 10);
}

static guint64
host_device_meminfo (const char *field)
{
  g_autofree char *text = NULL;
  const char *found;

  if (!g_file_get_contents ("/proc/meminfo", &text, NULL, NULL) || !(found = strstr (text, field)))
    return (guint64) sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);
  return g_ascii_strtoull (found + strlen (field), NULL, 10) * 1024;
}

static guint64
memory_bytes (void)
{
  return MIN (host_device_meminfo ("MemTotal:"),
              host_device_read_bytes ("/sys/fs/cgroup/memory.max"));
}

static guint64
memory_free (TdDevice *device)
{
  return td_host_memory_available ();
}

static char *
cpu_name (void)
{
  g_autofree char *text = NULL;
  const char *found, *colon;

  if (g_file_get_contents ("/proc/cpuinfo", &text, NULL, NULL)
      && (found = strstr (text, "model name")) && (colon = strchr (found, ':')))
    return g_strstrip (g_strndup (colon + 1, strcspn (colon + 1, "\n")));

  struct utsname system;
  return g_strdup (uname (&system) == 0 ? system.machine : "CPU");
}

/* ── Memory ── */

static void *
host_device_allocate (guint64 bytes)
{
  gboolean large = bytes >= 4 * (guint64) HUGE_PAGE;
  guint64 alignment = large ? HUGE_PAGE : 64;
  guint64 rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = rounded >= bytes ? aligned_alloc (alignment, rounded) : NULL;

  if (memory && large)
    madvise (memory, rounded, MADV_HUGEPAGE);
  return memory;
}

static gboolean
host_device_buffer_new (TdDevice *device, guint64 bytes, TdBuffer **buffer, GError **error)
{
  /* Linux would promise memory it does not have and kill somebody later. */
  gboolean large = bytes >= (64u << 20);
  void *memory = large && bytes > td_host_memory_available () ? NULL : host_device_allocate (bytes);

  if (!memory) {
    g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "no %s of memory free; close other programs or compute fewer slices at once",
                  size);
    return FALSE;
  }
  HostBuffer *self = g_new0 (HostBuffer, 1);
  self->memory = memory;
  *buffer = &self->base;
  return TRUE;
}

static void
host_device_buffer_free (TdBuffer *buffer)
{
  free (((HostBuffer *) buffer)->memory);
  g_free (buffer);
}

static void *
host_device_buffer_map (TdBuffer *buffer)
{
  return ((HostBuffer *) buffer)->memory;
}

static void *
host_device_host_alloc (TdDevice *device, guint64 bytes)
{
  return host_device_allocate (bytes);
}

static void
host_device_host_free (TdDevice *device, void *memory)
{
  free (memory);
}

/* ── Queues ── */

static gboolean
queue_new (TdDevice *device, TdQueue **queue, GError **error)
{
  *queue = g_new0 (TdQueue, 1);
  return TRUE;
}

static void
queue_free (TdQueue *queue)
{
  g_free (queue);
}

static gboolean
queue_finish (TdQueue *queue, GError **error)
{
  return TRUE;
}

static guint8 *
host_device_at (TdBuffer *buffer, guint64 offset)
{
  return (guint8 *) ((HostBuffer *) buffer)->memory + offset;
}

static gboolean
host_device_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
                    GError **error)
{
  td_host_copy (host_device_at (to, offset), host, bytes);
  return TRUE;
}

static gboolean
host_device_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                      GError **error)
{
  td_host_copy (host, host_device_at (from, offset), bytes);
  return TRUE;
}

static gboolean
host_device_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                  guint64 from_offset, guint64 bytes, GError **error)
{
  td_host_copy (host_device_at (to, to_offset), host_device_at (from, from_offset), bytes);
  return TRUE;
}

static gboolean
fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  memset (host_device_at (to, offset), 0, bytes);
  return TRUE;
}

/* ── Events ── */

static gboolean
event_record (TdQueue *queue, TdEvent **event, GError **error)
{
  HostEvent *self = g_new0 (HostEvent, 1);
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  self->seconds = now.tv_sec + 1e-9 * now.tv_nsec;
  *event = &self->base;
  return TRUE;
}

static gboolean
event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return TRUE;
}

static gboolean
event_sync (TdEvent *event, GError **error)
{
  return TRUE;
}

static gboolean
event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  *seconds = ((HostEvent *) to)->seconds - ((HostEvent *) from)->seconds;
  return TRUE;
}

static void
event_free (TdEvent *event)
{
  g_free (event);
}

/* ── Textures: none here; info says so, and the wrapper refuses before it calls. ── */

static gboolean
texture_new (TdDevice *device, const TdTextureSpec *spec, TdTexture **texture, GError **error)
{
  td_set_error (error, TD_ERROR_UNSUPPORTED, "the host has no textures");
  return FALSE;
}

static void
texture_free (TdTexture *texture)
{
}

static gboolean
texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers, TdBuffer *from,
               guint64 offset, GError **error)
{
  td_set_error (error, TD_ERROR_UNSUPPORTED, "the host has no textures");
  return FALSE;
}

/* ── The device ── */

static void
host_device_free (TdDevice *device)
{
  g_free (device);
}

static const TdDeviceOps host_ops = {
  .device_free = host_device_free,
  .memory_free = memory_free,
  .buffer_new = host_device_buffer_new,
  .buffer_free = host_device_buffer_free,
  .buffer_map = host_device_buffer_map,
  .host_alloc = host_device_host_alloc,
  .host_free = host_device_host_free,
  .queue_new = queue_new,
  .queue_free = queue_free,
  .queue_finish = queue_finish,
  .upload = host_device_upload,
  .download = host_device_download,
  .copy = host_device_copy,
  .fill_zero = fill_zero,
  .texture_new = texture_new,
  .texture_free = texture_free,
  .texture_write = texture_write,
  .dialect = NULL,
  .program_build = td_host_program_build,
  .program_free = td_host_program_free,
  .program_kernel = td_host_program_kernel,
  .kernel_free = td_host_kernel_free,
  .kernel_info = td_host_kernel_info,
  .launch = td_host_launch,
  .event_record = event_record,
  .event_wait = event_wait,
  .event_sync = event_sync,
  .event_elapsed = event_elapsed,
  .event_free = event_free,
  .fft_new = td_host_fft_new,
  .fft_run = td_host_fft_run,
  .fft_free = td_host_fft_free,
};

void
td_host_list (GPtrArray *entries)
{
  g_autofree char *name = cpu_name ();

  g_ptr_array_add (entries, td_device_entry_new ("host", name, "host", TD_DEVICE_CPU,
                                                 memory_bytes (), NULL, NULL));
}

gboolean
td_host_open (guint index, TdDevice **device, GError **error)
{
  static const char *const isa_names[] = { "plain C", "AVX2", "AVX-512" };

  if (index != 0) {
    td_set_error (error, TD_ERROR_NOT_FOUND, "there is one host device only, 'host'");
    return FALSE;
  }
  TdDevice *self = g_new0 (TdDevice, 1);
  td_device_init (self, &host_ops);
  self->info = (TdDeviceInfo) {
    .id = g_strdup ("host"),
    .name = cpu_name (),
    .vendor = g_strdup (""),
    .api = g_strdup ("host"),
    .driver = g_strdup (isa_names[td_host_isa ()]),
    .hardware_id = g_strdup (""),
    .kind = TD_DEVICE_CPU,
    .memory_bytes = memory_bytes (),
    .max_alloc_bytes = memory_bytes (),
    .compute_units = td_host_threads (),
    .warp_width = 1,
    .max_group_size = 1024,
    .host_pointers = TRUE,
    .cpu_shaped = TRUE,
  };
  *device = self;
  return TRUE;
}
