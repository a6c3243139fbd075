/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host behind the device contract. A queue works at once, in the calling thread and
   td_parallel_for's, so that each operation has finished when it returns. Programs are the kernels
   that kernels/meson.build compiled as C for this CPU. */
#include "device-api.h"
#include "host-fft.h"
#include "host.h"
#include "kernels/source.h"
#include "dataset/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>

#define HUGE_PAGE (2u << 20)

typedef struct {
  TdBuffer base;
  void *memory;
} HostBuffer;

typedef struct {
  TdEvent base;
  double seconds;
} HostEvent;

/* ── The machine ── */

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
host_device_buffer_new (TdBuffer *buffer, GError **error)
{
  const guint64 bytes = buffer->bytes;
  /* Linux would promise memory it does not have and kill somebody later. */
  gboolean large = bytes >= (64u << 20);
  void *memory = large && bytes > td_host_memory_available () ? NULL : host_device_allocate (bytes);

  ((HostBuffer *) buffer)->memory = memory;
  if (!memory) {
    g_autofree char *size = td_memory_text (bytes);
    return td_set_error (
        error, TD_ERROR_DEVICE_MEMORY,
        "no %s of memory free; close other programs or compute fewer slices at once", size);
  }
  return TRUE;
}

static void
host_device_buffer_free (TdBuffer *buffer)
{
  free (((HostBuffer *) buffer)->memory);
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

/* ── Transfers ── */

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
event_record (TdQueue *queue, TdEvent *event, GError **error)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  ((HostEvent *) event)->seconds = now.tv_sec + 1e-9 * now.tv_nsec;
  return TRUE;
}

static gboolean
event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  *seconds = ((HostEvent *) to)->seconds - ((HostEvent *) from)->seconds;
  return TRUE;
}

/* ── Programs ── */

typedef struct {
  TdProgram base;
  const TdHostKernel *kernels;
} HostProgram;

typedef struct {
  TdKernel base;
  const TdHostKernel *code;
} HostKernel;

/* A launch cut into pieces of about equal work for td_parallel_for. */
typedef struct {
  const TdHostKernel *code;
  const void *args[64];
  int groups[3], local[3];
  guint64 rows;   /* y and z together */
  guint64 nx, ny; /* work-items along x, y */
  guint64 rows_a_piece;
  guint x_pieces; /* more than 1 only with single rows */
} Launch;

static gboolean
host_program_build (TdProgram *program, const char *name, const char *source,
                    const char *const *defines, GError **error)
{
  const TdHostSource *found = *TD_HOST_PICK (td_host_sources);

  while (found->source && !g_str_equal (found->source, name))
    found++;
  if (!found->source || defines[0])
    return td_set_error (error, TD_ERROR_DEVICE_BUILD,
                         "the program '%s' (%s) is not among those compiled for the host", name,
                         defines[0] ? defines[0] : "");
  ((HostProgram *) program)->kernels = found->kernels;
  return TRUE;
}

static gboolean
host_kernel_new (TdKernel *kernel, GError **error)
{
  const TdHostKernel *found = ((HostProgram *) kernel->program)->kernels;

  while (found->name && !g_str_equal (found->name, kernel->name))
    found++;
  if (!found->name)
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "there is no kernel '%s'", kernel->name);
  ((HostKernel *) kernel)->code = found;
  return TRUE;
}

/* args[i] points to the value; @pointers keeps the buffers' addresses. */
static gboolean
host_program_unpack (Launch *launch, void **pointers, const TdArg *args, guint n_args,
                     GError **error)
{
  const TdHostKernel *code = launch->code;

  if (n_args != code->n_args || n_args > G_N_ELEMENTS (launch->args))
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "%s takes %u arguments, not %u", code->name,
                         code->n_args, n_args);
  for (guint i = 0; i < n_args; i++) {
    gboolean is_buffer = args[i].kind == TD_ARG_BUFFER;
    gboolean is_value = args[i].kind == TD_ARG_VALUE;
    if (is_buffer != (code->sizes[i] == 0) || (is_value && args[i].size != code->sizes[i])
        || (!is_buffer && !is_value))
      return td_set_error (error, TD_ERROR_DEVICE_BUG, "%s: argument %u has the wrong type or size",
                           code->name, i);
    pointers[i] = is_buffer ? td_buffer_map (*args[i].buffer) : NULL;
    launch->args[i] = is_buffer ? &pointers[i] : args[i].value;
  }
  return TRUE;
}

static void
host_program_run_piece (guint index, gpointer data)
{
  const Launch *launch = data;
  guint64 row = index / launch->x_pieces * launch->rows_a_piece;
  guint64 end = MIN (row + launch->rows_a_piece, launch->rows);
  guint64 part = index % launch->x_pieces;
  int x0 = launch->nx * part / launch->x_pieces;
  int x1 = launch->nx * (part + 1) / launch->x_pieces;

  while (row < end) {
    int z = row / launch->ny, y0 = row % launch->ny;
    int y1 = MIN (launch->ny, y0 + (end - row));
    launch->code->run (launch->args, launch->groups, launch->local, z, y0, y1, x0, x1);
    row += y1 - y0;
  }
}

/* A few pieces a thread, so that a slow core does not hold up the others. Small launches stay here.
 */
static guint
host_program_cut (Launch *launch)
{
  guint64 items = launch->rows * launch->nx;
  guint64 pieces = 8 * td_host_threads ();

  launch->rows_a_piece = MAX (1, (launch->rows + pieces - 1) / pieces);
  launch->x_pieces = 1;
  if (launch->rows < td_host_threads () * 2)
    launch->x_pieces = CLAMP (pieces / launch->rows, 1, MAX (1, launch->nx / 1024));
  if (items < 4096 && launch->nx >= 16) { /* fat work-items come in small numbers along x */
    launch->rows_a_piece = launch->rows;
    launch->x_pieces = 1;
  }
  return (launch->rows + launch->rows_a_piece - 1) / launch->rows_a_piece * launch->x_pieces;
}

static gboolean
host_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
             const TdArg *args, guint n_args, GError **error)
{
  Launch launch = { .code = ((HostKernel *) kernel)->code };
  void *pointers[G_N_ELEMENTS (launch.args)];

  if (!host_program_unpack (&launch, pointers, args, n_args, error))
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    launch.groups[i] = groups[i];
    launch.local[i] = local[i];
  }
  launch.nx = (guint64) groups[0] * local[0];
  launch.ny = (guint64) groups[1] * local[1];
  launch.rows = launch.ny * groups[2] * local[2];
  if (launch.rows > G_MAXINT32)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "%s: 2^31 rows of work-items or more",
                         kernel->name);
  td_parallel_for (host_program_cut (&launch), host_program_run_piece, &launch);
  return TRUE;
}

/* ── FFTs ── */

typedef struct {
  TdFft base;
  TdHostFft *fft;
} FftObject;

static gboolean
host_fft_new (TdFft *fft, GError **error)
{
  TdHostFft *made = td_host_fft_make (fft->kind, fft->n, fft->batch, error);

  ((FftObject *) fft)->fft = made;
  return made != NULL;
}

static gboolean
host_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  td_host_fft_execute (((FftObject *) fft)->fft, td_buffer_map (data), inverse);
  return TRUE;
}

static void
host_fft_free (TdFft *fft)
{
  td_host_fft_destroy (((FftObject *) fft)->fft);
}

/* ── The device ── */

static void
host_device_free (TdDevice *device)
{
  g_free (device);
}

/* No textures: info says so, and the wrapper refuses before it calls. */
static const TdDeviceOps host_ops = {
  .sizes = { .buffer = sizeof (HostBuffer),
             .queue = sizeof (TdQueue),
             .program = sizeof (HostProgram),
             .kernel = sizeof (HostKernel),
             .event = sizeof (HostEvent),
             .fft = sizeof (FftObject) },
  .device_free = host_device_free,
  .memory_free = memory_free,
  .buffer_new = host_device_buffer_new,
  .buffer_free = host_device_buffer_free,
  .buffer_map = host_device_buffer_map,
  .host_alloc = host_device_host_alloc,
  .host_free = host_device_host_free,
  .upload = host_device_upload,
  .download = host_device_download,
  .copy = host_device_copy,
  .fill_zero = fill_zero,
  .program_build = host_program_build,
  .kernel_new = host_kernel_new,
  .launch = host_launch,
  .event_record = event_record,
  .event_elapsed = event_elapsed,
  .fft_new = host_fft_new,
  .fft_run = host_fft_run,
  .fft_free = host_fft_free,
};

void
td_host_list (GPtrArray *entries)
{
  g_autofree char *name = cpu_name ();

  g_ptr_array_add (entries, td_device_entry_new ("host", name, "host", TD_DEVICE_CPU,
                                                 td_host_memory_bytes (), NULL, NULL));
}

gboolean
td_host_open (guint index, TdDevice **device, GError **error)
{
  static const char *const isa_names[] = { "plain C", "AVX2", "AVX-512" };

  if (index != 0)
    return td_set_error (error, TD_ERROR_INVALID, "there is one host device only, 'host'");
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
    .memory_bytes = td_host_memory_bytes (),
    .max_alloc_bytes = td_host_memory_bytes (),
    .compute_units = td_host_threads (),
    .max_group_size = 1024,
    .host_pointers = TRUE,
    .double_arithmetic = TRUE,
    .cpu_shaped = TRUE,
  };
  *device = self;
  return TRUE;
}
