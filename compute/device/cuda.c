/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA behind the device contract. The device holds the card's primary context; every operation
   pushes it for its own duration, so that any thread may call. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "cuda-api.h"
#include "device-api.h"
#include "host.h"
#include "nvrtc.h"
#include "program-cache.h"
#include "dataset/message.h"

#include <stdio.h>
#include <sys/mman.h>

typedef struct {
  TdDevice base;
  const TdCuDriver *cu;
  TdCuDevice card;
  TdCuContext context;
  GMutex pinned_lock;
  GHashTable *pinned; /* blocks that were mapped, by address */
} CudaDevice;

typedef struct {
  TdQueue base;
  TdCuStream stream;
} CudaQueue;

typedef struct {
  TdBuffer base;
  TdCuPointer pointer;
} CudaBuffer;

typedef struct {
  TdTexture base;
  TdCuArray array;
  TdCuTexture texture;
} CudaTexture;

static CudaDevice *
cuda_of (TdDevice *device)
{
  return (CudaDevice *) device;
}

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
  case TD_CU_ILLEGAL_ADDRESS: /* after these the process's context does nothing more */
  case TD_CU_HARDWARE_STACK_ERROR:
  case TD_CU_ILLEGAL_INSTRUCTION:
  case TD_CU_MISALIGNED_ADDRESS:
  case TD_CU_INVALID_ADDRESS_SPACE:
  case TD_CU_INVALID_PC:
  case TD_CU_LAUNCH_FAILED:
  case TD_CU_SYSTEM_NOT_READY:
  case TD_CU_UNKNOWN: return TD_ERROR_DEVICE_LOST;
  default: return TD_ERROR_DEVICE_BUG;
  }
}

static const char *
cuda_advice (TdErrorCode code)
{
  switch (code) {
  case TD_ERROR_DEVICE_MEMORY:
    return N_ ("close other programs that use the device, or set a smaller memory limit");
  case TD_ERROR_DEVICE_BUILD: return N_ ("choose another kernel");
  case TD_ERROR_DEVICE_TIMEOUT:
    return N_ (
        "the display's watchdog stopped it; reconstruct smaller regions or use another device");
  case TD_ERROR_DEVICE_LOST:
    return N_ (
        "restart the program; if it comes again, look at the driver's messages in the system "
        "log");
  default: return N_ ("please report this with the system log");
  }
}

static gboolean
cuda_check (CudaDevice *device, TdCuResult result, const char *doing, GError **error)
{
  const char *text = NULL, *name = NULL;

  if (result == 0)
    return TRUE;
  device->cu->error_string (result, &text);
  device->cu->error_name (result, &name);
  return td_set_error (error, class_of (result), "could not %p: %s (%s, %d): %p",
                       td_message_unpack (doing), text ? text : "?", name ? name : "?",
                       (int) result, td_message_unpack (cuda_advice (class_of (result))));
}

static gboolean
cuda_enter (CudaDevice *device, GError **error)
{
  return cuda_check (device, device->cu->context_push (device->context), N_ ("use the device"),
                     error);
}

static gboolean
cuda_leave (CudaDevice *device, gboolean ok)
{
  TdCuContext popped;

  device->cu->context_pop (&popped);
  return ok;
}

/* A call of the driver in the device's context. */
#define cuda_do(device, call, doing, error)                                                        \
  (cuda_enter ((device), (error))                                                                  \
   && cuda_leave ((device), cuda_check ((device), (device)->cu->call, (doing), (error))))
/* One that frees something: nobody can do anything about a failure. */
#define cuda_undo(device, call)                                                                    \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (cuda_enter ((device), NULL))                                                               \
      cuda_leave ((device), (device)->cu->call == 0);                                              \
  }                                                                                                \
  G_STMT_END

/* ── Memory ── */

static guint64
cuda_memory_free (TdDevice *base)
{
  CudaDevice *device = cuda_of (base);
  size_t bytes = 0, total = 0;
  gboolean known;

  if (!cuda_enter (device, NULL))
    return G_MAXUINT64;
  known = device->cu->memory_info (&bytes, &total) == 0;
  cuda_leave (device, TRUE);
  return known ? bytes : G_MAXUINT64;
}

static gboolean
cuda_buffer_new (TdBuffer *base, GError **error)
{
  CudaBuffer *buffer = (CudaBuffer *) base;

  return cuda_do (cuda_of (base->device), memory_alloc (&buffer->pointer, base->bytes),
                  "allocate memory", error);
}

static void
cuda_buffer_free (TdBuffer *buffer)
{
  cuda_undo (cuda_of (buffer->device), memory_free (((CudaBuffer *) buffer)->pointer));
}

/* ── Pinned memory of the host ── */

/* Pinned host memory. cuMemHostAlloc() gets its pages one by one from one thread. That takes
   half a second for a GiB, as long as many a whole reconstruction. Large blocks are therefore
   mapped here, in large pages where the system has them, touched by all threads, and registered:
   a tenth of that. */
#define LARGE_PAGE ((gsize) 2 << 20)
#define SMALL_PAGE ((gsize) 4096)

typedef struct {
  void *mapping;
  gsize length;
} Block;

static void
cuda_pinned_touch (guint index, gpointer memory)
{
  volatile char *page = (volatile char *) memory + index * LARGE_PAGE;

  for (gsize at = 0; at < LARGE_PAGE; at += SMALL_PAGE)
    page[at] = 0;
}

/* NULL if the system or the driver does not want to. */
static void *
map_and_register (CudaDevice *device, guint64 bytes)
{
  const gsize used = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
  const gsize length = used + LARGE_PAGE;
  void *mapping = mmap (NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (mapping == MAP_FAILED)
    return NULL;
  char *memory = (char *) (((gsize) mapping + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
#ifdef MADV_HUGEPAGE
  madvise (memory, used, MADV_HUGEPAGE); /* advice: small pages do as well */
#endif
  td_parallel_for ((guint) (used / LARGE_PAGE), cuda_pinned_touch, memory);
  if (device->cu->host_register (memory, used, TD_CU_HOST_ALLOC_PORTABLE) != 0) {
    munmap (mapping, length);
    return NULL;
  }
  Block *block = g_new (Block, 1);
  *block = (Block) { mapping, length };
  g_mutex_lock (&device->pinned_lock);
  g_hash_table_insert (device->pinned, memory, block);
  g_mutex_unlock (&device->pinned_lock);
  return memory;
}

static void *
cuda_host_alloc (TdDevice *base, guint64 bytes)
{
  CudaDevice *device = cuda_of (base);
  void *memory = NULL;

  if (!cuda_enter (device, NULL))
    return NULL;
  if (bytes >= 2 * LARGE_PAGE && bytes / LARGE_PAGE < G_MAXINT)
    memory = map_and_register (device, bytes);
  /* Portable: pinned for every card, since one ring of buffers may feed several. */
  if (!memory && device->cu->host_alloc (&memory, bytes, TD_CU_HOST_ALLOC_PORTABLE) != 0)
    memory = NULL;
  cuda_leave (device, TRUE);
  return memory;
}

static void
cuda_host_free (TdDevice *base, void *memory)
{
  CudaDevice *device = cuda_of (base);
  Block *block = NULL;

  if (!cuda_enter (device, NULL))
    return;
  g_mutex_lock (&device->pinned_lock);
  g_hash_table_steal_extended (device->pinned, memory, NULL, (gpointer *) &block);
  g_mutex_unlock (&device->pinned_lock);
  if (block) {
    device->cu->host_unregister (memory);
    munmap (block->mapping, block->length);
    g_free (block);
  } else {
    device->cu->host_free (memory);
  }
  cuda_leave (device, TRUE);
}

typedef struct {
  TdEvent base;
  TdCuEvent event;
} CudaEvent;

static TdCuStream
stream_of (TdQueue *queue)
{
  return ((CudaQueue *) queue)->stream;
}

static TdCuPointer
cuda_address (TdBuffer *buffer, guint64 offset)
{
  return ((CudaBuffer *) buffer)->pointer + offset;
}

/* ── Queues ── */

/* Smaller numbers go first; the driver takes the nearest that it has. */
#define URGENT -100

static gboolean
cuda_queue_new (TdQueue *base, gboolean urgent, GError **error)
{
  CudaQueue *queue = (CudaQueue *) base;

  /* Non-blocking: the legacy default stream of other code in the process does not serialise us. */
  return cuda_do (cuda_of (base->device),
                  stream_new (&queue->stream, TD_CU_STREAM_NON_BLOCKING, urgent ? URGENT : 0),
                  "make a queue", error);
}

static void
cuda_queue_free (TdQueue *queue)
{
  cuda_undo (cuda_of (queue->device), stream_free (stream_of (queue)));
}

static gboolean
cuda_queue_finish (TdQueue *queue, GError **error)
{
  return cuda_do (cuda_of (queue->device), stream_sync (stream_of (queue)), "finish its work",
                  error);
}

/* ── Transfers ── */

static gboolean
cuda_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
             GError **error)
{
  return cuda_do (cuda_of (queue->device),
                  upload (cuda_address (to, offset), host, bytes, stream_of (queue)),
                  "copy to the card", error);
}

static gboolean
cuda_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
               GError **error)
{
  return cuda_do (cuda_of (queue->device),
                  download (host, cuda_address (from, offset), bytes, stream_of (queue)),
                  "copy from the card", error);
}

static gboolean
cuda_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
           guint64 bytes, GError **error)
{
  return cuda_do (cuda_of (queue->device),
                  copy (cuda_address (to, to_offset), cuda_address (from, from_offset), bytes,
                        stream_of (queue)),
                  "copy within the card", error);
}

static gboolean
cuda_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  return cuda_do (cuda_of (queue->device),
                  fill (cuda_address (to, offset), 0, bytes, stream_of (queue)), "clear memory",
                  error);
}

/* ── Events ── */

static gboolean
cuda_event_record (TdQueue *queue, TdEvent *base, GError **error)
{
  CudaDevice *device = cuda_of (queue->device);
  TdCuEvent *event = &((CudaEvent *) base)->event;

  if (!cuda_enter (device, error))
    return FALSE;
  gboolean ok = cuda_check (device, device->cu->event_new (event, TD_CU_EVENT_BLOCKING_SYNC),
                            N_ ("make an event"), error)
                && cuda_check (device, device->cu->event_record (*event, stream_of (queue)),
                               N_ ("record an event"), error);
  if (!ok && *event)
    device->cu->event_free (*event);
  return cuda_leave (device, ok);
}

static gboolean
cuda_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return cuda_do (cuda_of (queue->device),
                  stream_wait (stream_of (queue), ((CudaEvent *) event)->event, 0),
                  "wait for an event", error);
}

static gboolean
cuda_event_sync (TdEvent *event, GError **error)
{
  return cuda_do (cuda_of (event->device), event_sync (((CudaEvent *) event)->event),
                  "finish its work", error);
}

static gboolean
cuda_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  CudaDevice *device = cuda_of (from->device);
  float milliseconds = 0;

  if (!cuda_event_sync (from, error) || !cuda_event_sync (to, error))
    return FALSE;
  gboolean ok = cuda_do (
      device, event_elapsed (&milliseconds, ((CudaEvent *) from)->event, ((CudaEvent *) to)->event),
      "read the time", error);
  *seconds = (double) milliseconds * 1e-3;
  return ok;
}

static void
cuda_event_free (TdEvent *event)
{
  cuda_undo (cuda_of (event->device), event_free (((CudaEvent *) event)->event));
}

/* ── Textures ── */

static gboolean
cuda_texture_make (CudaTexture *self, GError **error)
{
  CudaDevice *device = cuda_of (self->base.device);
  const TdTextureSpec *spec = &self->base.spec;
  TdCuArray3d shape = {
    .width = spec->width,
    .height = spec->height,
    .depth = spec->layers,
    .format = spec->texel >= TD_TEXEL_R16F ? TD_CU_FORMAT_HALF : TD_CU_FORMAT_FLOAT,
    .channels = td_texel_channels (spec->texel),
    .flags = spec->layers ? TD_CU_ARRAY_LAYERED : 0,
  };
  TdCuResource resource = { .type = TD_CU_RESOURCE_ARRAY };
  TdCuTextureDescription description = {
    .address = { TD_CU_ADDRESS_BORDER, TD_CU_ADDRESS_BORDER, TD_CU_ADDRESS_BORDER },
    .filter = spec->linear ? TD_CU_FILTER_LINEAR : TD_CU_FILTER_POINT,
  };

  if (!cuda_check (device, device->cu->array_new (&self->array, &shape), N_ ("make a texture"),
                   error))
    return FALSE;
  resource.resource.array = self->array;
  if (cuda_check (device, device->cu->texture_new (&self->texture, &resource, &description, NULL),
                  N_ ("make a texture"), error))
    return TRUE;
  device->cu->array_free (self->array);
  return FALSE;
}

static gboolean
cuda_texture_new (TdTexture *texture, GError **error)
{
  CudaDevice *device = cuda_of (texture->device);

  return cuda_enter (device, error)
         && cuda_leave (device, cuda_texture_make ((CudaTexture *) texture, error));
}

static void
cuda_texture_free (TdTexture *base)
{
  CudaTexture *texture = (CudaTexture *) base;
  CudaDevice *device = cuda_of (base->device);

  cuda_undo (device, texture_free (texture->texture));
  cuda_undo (device, array_free (texture->array));
}

static gboolean
cuda_texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from, guint64 offset,
                    GError **error)
{
  CudaDevice *device = cuda_of (queue->device);
  const TdTextureSpec *spec = &to->spec;
  gsize row = spec->width * td_texel_bytes (spec->texel);
  TdCuCopy3d copy = {
    .src_type = TD_CU_MEMORY_DEVICE,
    .src_device = ((CudaBuffer *) from)->pointer + offset,
    .src_pitch = row,
    .src_height = spec->height,
    .dst_type = TD_CU_MEMORY_ARRAY,
    .dst_array = ((CudaTexture *) to)->array,
    .width_bytes = row,
    .height = spec->height,
    .depth = spec->layers ? layers : 1,
  };

  return cuda_do (device, copy_3d (&copy, stream_of (queue)), "fill a texture", error);
}

/* ── Programs ── */

typedef struct {
  TdProgram base;
  TdCuModule module;
} CudaProgram;

typedef struct {
  TdKernel base;
  TdCuFunction function;
} CudaKernel;

static gboolean
load_module (CudaDevice *device, GBytes *image, TdCuModule *module, GError **error)
{
  return cuda_do (device, module_load (module, g_bytes_get_data (image, NULL)), "load a program",
                  error);
}

/* The module from the cache, or NULL: also for an entry that this driver does not take. */
static TdCuModule
load_cached (CudaDevice *device, const char *key)
{
  g_autoptr (GBytes) image = td_program_cache_load (key);
  TdCuModule module = NULL;

  return image && load_module (device, image, &module, NULL) ? module : NULL;
}

static TdCuModule
cuda_program_compile (CudaDevice *device, const char *key, const char *name, const char *source,
                      const char *const *defines, GError **error)
{
  guint arch = device->base.info.arch;
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (arch, error);
  g_autoptr (GBytes) image = NULL;
  TdCuModule module = NULL;

  if (!nvrtc
      || !td_nvrtc_compile (nvrtc, &(TdNvrtcUnit) { name, source, defines, arch }, &image, NULL,
                            error)
      || !load_module (device, image, &module, error))
    return NULL;
  td_program_cache_store (key, g_bytes_get_data (image, NULL), g_bytes_get_size (image));
  return module;
}

static gboolean
cuda_program_build (TdProgram *base, const char *name, const char *source,
                    const char *const *defines, GError **error)
{
  CudaProgram *program = (CudaProgram *) base;
  CudaDevice *device = cuda_of (base->device);
  g_autofree char *key = td_program_cache_key (&device->base.info, NULL, source, defines);

  program->module = load_cached (device, key);
  if (!program->module)
    program->module = cuda_program_compile (device, key, name, source, defines, error);
  return program->module != NULL;
}

static void
cuda_program_free (TdProgram *program)
{
  cuda_undo (cuda_of (program->device), module_unload (((CudaProgram *) program)->module));
}

/* ── Kernels ── */

static int
cuda_function_attribute (CudaDevice *device, TdCuFunction function, TdCuFunctionAttribute which)
{
  int value = 0;

  return device->cu->function_attribute (&value, which, function) == 0 ? value : 0;
}

/* More than 48 KB of shared memory a block must be asked for; asking costs nothing. */
static void
allow_shared_memory (CudaDevice *device, TdCuFunction function)
{
  guint64 whole = device->base.info.local_memory_bytes;
  guint64 fixed = cuda_function_attribute (device, function, TD_CU_FUNCTION_SHARED_BYTES);

  if (whole > fixed)
    device->cu->function_set_attribute (function, TD_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                        whole - fixed);
}

static gboolean
cuda_kernel_new (TdKernel *base, GError **error)
{
  CudaKernel *kernel = (CudaKernel *) base;
  CudaDevice *device = cuda_of (base->program->device);
  const TdCuModule module = ((CudaProgram *) base->program)->module;

  if (!cuda_enter (device, error))
    return FALSE;
  gboolean ok
      = cuda_check (device, device->cu->module_function (&kernel->function, module, base->name),
                    N_ ("find a kernel in its program"), error);
  if (ok)
    allow_shared_memory (device, kernel->function);
  return cuda_leave (device, ok) || td_prefix_error (error, "%s: ", base->name);
}

static guint64
cuda_kernel_spilled (TdKernel *kernel)
{
  CudaDevice *device = cuda_of (kernel->program->device);
  guint64 bytes = 0;

  if (cuda_enter (device, NULL)) {
    bytes = cuda_function_attribute (device, ((CudaKernel *) kernel)->function,
                                     TD_CU_FUNCTION_LOCAL_BYTES);
    cuda_leave (device, TRUE);
  }
  return bytes;
}

/* The addresses of the parameters' values; local memory is no parameter but its size is returned.
 */
static guint
cuda_collect_arguments (const TdArg *args, guint n_args, void **parameters)
{
  guint shared_bytes = 0;

  for (guint i = 0; i < n_args; i++)
    switch (args[i].kind) {
    case TD_ARG_BUFFER: parameters[i] = &((CudaBuffer *) *args[i].buffer)->pointer; break;
    case TD_ARG_TEXTURE: parameters[i] = &((CudaTexture *) *args[i].texture)->texture; break;
    case TD_ARG_VALUE: parameters[i] = (void *) args[i].value; break;
    case TD_ARG_LOCAL: shared_bytes = args[i].local->bytes; break;
    }
  return shared_bytes;
}

static gboolean
cuda_launch (TdQueue *queue, TdKernel *base, const guint groups[3], const guint local[3],
             const TdArg *args, guint n_args, GError **error)
{
  CudaKernel *kernel = (CudaKernel *) base;
  CudaDevice *device = cuda_of (queue->device);
  void *parameters[64] = { NULL };

  if (n_args > G_N_ELEMENTS (parameters))
    return td_set_error (error, TD_ERROR_DEVICE_BUG, "%s: %u arguments are too many", base->name,
                         n_args);
  guint shared_bytes = cuda_collect_arguments (args, n_args, parameters);
  return cuda_do (device,
                  launch (kernel->function, groups[0], groups[1], groups[2], local[0], local[1],
                          local[2], shared_bytes, stream_of (queue), parameters, NULL),
                  "start a kernel", error)
         || td_prefix_error (error, "%s: ", base->name);
}

/* ── FFTs ── */

typedef struct {
  TdFft base;
  const TdCufft *cufft;
  TdCufftPlan plan;
  TdBuffer *work; /* NULL: none needed */
  TdQueue *last;  /* the queue that used the work area last; compared, never dereferenced */
  TdEvent *done;  /* when it will have used it */
  GMutex lock;    /* the plan's stream is a state of the plan */
} CudaFft;

static gboolean
cuda_fft_check (TdCufftResult result, const char *doing, GError **error)
{
  if (result == 0)
    return TRUE;
  if (result == TD_CUFFT_ALLOC_FAILED)
    return td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                         "cuFFT could not %p (error %d): the device's memory is full",
                         td_message_unpack (doing), result);
  return td_set_error (error, TD_ERROR_DEVICE_BUG, "cuFFT could not %p (error %d)",
                       td_message_unpack (doing), result);
}

static gboolean
cuda_fft_make_plan (CudaFft *fft, size_t *work_bytes, GError **error)
{
  int rank = fft->base.kind == TD_FFT_C2C_2D ? 2 : 1;
  /* cuFFT counts from the slowest dimension. */
  long long n[2] = { rank == 2 ? fft->base.n[1] : fft->base.n[0], fft->base.n[0] };
  long long distance = rank == 2 ? n[0] * n[1] : n[0];

  return cuda_fft_check (fft->cufft->auto_allocation (fft->plan, 0), N_ ("plan"), error)
         && cuda_fft_check (fft->cufft->make_many (fft->plan, rank, n, NULL, 1, distance, NULL, 1,
                                                   distance, TD_CUFFT_C2C, fft->base.batch,
                                                   work_bytes),
                            N_ ("plan"), error);
}

static void
cuda_fft_free (TdFft *base)
{
  CudaFft *fft = (CudaFft *) base;
  CudaDevice *device = cuda_of (base->device);

  td_event_free (fft->done);
  if (cuda_enter (device, NULL)) {
    fft->cufft->destroy (fft->plan);
    cuda_leave (device, TRUE);
  }
  td_buffer_free (fft->work);
  g_mutex_clear (&fft->lock);
}

static gboolean
cuda_fft_new (TdFft *base, GError **error)
{
  CudaFft *fft = (CudaFft *) base;
  CudaDevice *device = cuda_of (base->device);
  size_t work_bytes = 0;

  fft->cufft = td_cufft (error);
  if (!fft->cufft || !cuda_enter (device, error))
    return FALSE;
  if (!cuda_fft_check (fft->cufft->create (&fft->plan), N_ ("start"), error))
    return cuda_leave (device, FALSE);
  g_mutex_init (&fft->lock);
  gboolean ok = cuda_fft_make_plan (fft, &work_bytes, error);
  /* Our own work area, so that it counts towards the memory limit. */
  if (ok && work_bytes > 0) {
    fft->work = td_buffer_new (base->device, work_bytes, error);
    ok = fft->work
         && cuda_fft_check (fft->cufft->work_area (
                                fft->plan, (void *) (guintptr) ((CudaBuffer *) fft->work)->pointer),
                            N_ ("take its work area"), error);
  }
  cuda_leave (device, TRUE);
  if (!ok)
    cuda_fft_free (base);
  return ok;
}

/* The work area belongs to one transform at a time: another queue waits for the last one. */
static gboolean
take_work_area (CudaFft *fft, TdQueue *queue, GError **error)
{
  if (fft->done && fft->last != queue && !td_event_wait (queue, fft->done, error))
    return FALSE;
  g_clear_pointer (&fft->done, td_event_free);
  fft->last = queue;
  return TRUE;
}

static gboolean
cuda_fft_run (TdQueue *queue, TdFft *base, TdBuffer *data, gboolean inverse, GError **error)
{
  CudaFft *fft = (CudaFft *) base;
  CudaDevice *device = cuda_of (base->device);
  void *address = (void *) (guintptr) ((CudaBuffer *) data)->pointer;
  gboolean ok;

  g_mutex_lock (&fft->lock);
  ok = take_work_area (fft, queue, error) && cuda_enter (device, error);
  if (ok) {
    ok = cuda_fft_check (fft->cufft->stream (fft->plan, stream_of (queue)), N_ ("use the queue"),
                         error)
         && cuda_fft_check (fft->cufft->c2c (fft->plan, address, address,
                                             inverse ? TD_CUFFT_INVERSE : TD_CUFFT_FORWARD),
                            N_ ("transform"), error);
    cuda_leave (device, TRUE);
  }
  if (ok && fft->work) {
    fft->done = td_event_record (queue, error);
    ok = fft->done != NULL;
  }
  g_mutex_unlock (&fft->lock);
  return ok;
}

/* ── The device ── */

static void
cuda_free (TdDevice *base)
{
  CudaDevice *device = cuda_of (base);

  device->cu->primary_release (device->card);
  g_hash_table_unref (device->pinned);
  g_mutex_clear (&device->pinned_lock);
  g_free (device);
}

static const TdDeviceOps cuda_ops = {
  .sizes = { sizeof (CudaBuffer), sizeof (CudaQueue), sizeof (CudaTexture), sizeof (CudaProgram),
             sizeof (CudaKernel), sizeof (CudaEvent), sizeof (CudaFft) },
  .device_free = cuda_free,
  .memory_free = cuda_memory_free,
  .buffer_new = cuda_buffer_new,
  .buffer_free = cuda_buffer_free,
  .host_alloc = cuda_host_alloc,
  .host_free = cuda_host_free,
  .queue_new = cuda_queue_new,
  .queue_free = cuda_queue_free,
  .queue_finish = cuda_queue_finish,
  .upload = cuda_upload,
  .download = cuda_download,
  .copy = cuda_copy,
  .fill_zero = cuda_fill_zero,
  .texture_new = cuda_texture_new,
  .texture_free = cuda_texture_free,
  .texture_write = cuda_texture_write,
  .dialect = "cuda.h",
  .program_build = cuda_program_build,
  .program_free = cuda_program_free,
  .kernel_new = cuda_kernel_new,
  .kernel_spilled = cuda_kernel_spilled,
  .launch = cuda_launch,
  .event_record = cuda_event_record,
  .event_wait = cuda_event_wait,
  .event_sync = cuda_event_sync,
  .event_elapsed = cuda_event_elapsed,
  .event_free = cuda_event_free,
  .fft_new = cuda_fft_new,
  .fft_run = cuda_fft_run,
  .fft_free = cuda_fft_free,
};

/* ── Finding and opening ── */

static guint64
cuda_attribute (const TdCuDriver *cu, TdCuDevice card, TdCuAttribute which)
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
  return 10 * cuda_attribute (cu, card, TD_CU_ATTRIBUTE_MAJOR)
         + cuda_attribute (cu, card, TD_CU_ATTRIBUTE_MINOR);
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
  info->compute_units = cuda_attribute (cu, card, TD_CU_ATTRIBUTE_MULTIPROCESSORS);
  info->local_memory_bytes = MAX (cuda_attribute (cu, card, TD_CU_ATTRIBUTE_SHARED_BYTES),
                                  cuda_attribute (cu, card, TD_CU_ATTRIBUTE_SHARED_BYTES_OPTIN));
  info->max_group_size = cuda_attribute (cu, card, TD_CU_ATTRIBUTE_GROUP_SIZE);
  info->most_groups = cuda_attribute (cu, card, TD_CU_ATTRIBUTE_GROUPS_Y);
  info->arch = card_arch (cu, card);
  info->texture_max[0] = MIN (cuda_attribute (cu, card, TD_CU_ATTRIBUTE_TEXTURE_WIDTH),
                              cuda_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_WIDTH));
  info->texture_max[1] = MIN (cuda_attribute (cu, card, TD_CU_ATTRIBUTE_TEXTURE_HEIGHT),
                              cuda_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_HEIGHT));
  info->texture_max_layers = cuda_attribute (cu, card, TD_CU_ATTRIBUTE_LAYERED_LAYERS);
  info->texels = (1u << TD_TEXEL_COUNT) - 1;
  info->texture_linear = TRUE;
  info->half_storage = TRUE;
  info->half_arithmetic = info->arch >= 53;
  info->double_arithmetic = TRUE;
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
    add_absent (entries, "the NVIDIA driver is installed, but it sees no graphics card");
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
  CudaDevice *device;
  TdCuDevice card = 0;

  if (!cu)
    return FALSE;
  if (cu->device_get (&card, index) != 0)
    return td_set_error (error, TD_ERROR_INVALID,
                         "there is no device cuda:%u; 'tomodesk-cli devices' lists them", index);
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (card_arch (cu, card), error);
  if (!nvrtc)
    return FALSE;

  device = g_new0 (CudaDevice, 1);
  device->cu = cu;
  device->card = card;
  g_mutex_init (&device->pinned_lock);
  device->pinned = g_hash_table_new (NULL, NULL);
  /* Threads that wait sleep instead of spinning: preparation and writing need the processor. Fails
     harmlessly if somebody else in this process has already chosen. */
  cu->primary_flags (card, TD_CU_CONTEXT_BLOCKING_SYNC);
  if (!cuda_check (device, cu->primary_retain (&device->context, card),
                   N_ ("start using the device"), error)) {
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
