/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL 1.2 and the extensions that a device names, behind the device contract. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <signal.h>
#include <string.h>

#include "config.h"
#include "device-api.h"
#include "device-check.h"
#include "host-fft.h"
#include "host.h"
#include "kernels/source.h"
#include "opencl-fft.h"
#include "program-cache.h"
#include "dataset/message.h"

typedef struct {
  TdDevice base;
  cl_device_id device;
  cl_context context;
  cl_command_queue service; /* for mapping, first touch and plans; the runtime locks it */
  GMutex pinned_lock;
  GHashTable *pinned; /* mapped address → cl_mem */
  gboolean amd_free_memory;
} OpenclDevice;

typedef struct {
  TdQueue base;
  cl_command_queue queue;
} OpenclQueue;

typedef struct {
  TdBuffer base;
  cl_mem memory;
} OpenclBuffer;

typedef struct {
  TdTexture base;
  cl_mem image;
} OpenclTexture;

/* cl_nv_device_attribute_query; Khronos' header has no names for these. */
#define NV_CAPABILITY_MAJOR 0x4000
#define NV_CAPABILITY_MINOR 0x4001
#define NV_PCI_BUS_ID 0x4008
#define NV_PCI_SLOT_ID 0x4009
#define NV_PCI_DOMAIN_ID 0x400A

/* ── Errors ── */

static const struct {
  cl_int status;
  TdErrorCode code;
  const char *text;
} classes[] = {
  { CL_MEM_OBJECT_ALLOCATION_FAILURE, TD_ERROR_DEVICE_MEMORY, N_ ("the device's memory is full") },
  { CL_OUT_OF_RESOURCES, TD_ERROR_DEVICE_MEMORY, N_ ("the device is out of resources") },
  { CL_OUT_OF_HOST_MEMORY, TD_ERROR_DEVICE_MEMORY, N_ ("the driver has no memory left") },
  { CL_INVALID_BUFFER_SIZE, TD_ERROR_DEVICE_MEMORY,
    N_ ("the device does not give so much at once") },
  { CL_INVALID_IMAGE_SIZE, TD_ERROR_TOO_LARGE, N_ ("the texture is too large") },
  { CL_IMAGE_FORMAT_NOT_SUPPORTED, TD_ERROR_UNSUPPORTED, N_ ("the texel type is not supported") },
  { CL_BUILD_PROGRAM_FAILURE, TD_ERROR_DEVICE_BUILD, N_ ("the program does not build") },
  { CL_COMPILER_NOT_AVAILABLE, TD_ERROR_DEVICE_BUILD, N_ ("the driver brings no compiler") },
  { CL_INVALID_BINARY, TD_ERROR_DEVICE_BUILD, N_ ("the built program is not valid") },
  { CL_DEVICE_NOT_AVAILABLE, TD_ERROR_DEVICE_LOST, N_ ("the device is gone") },
  { CL_INVALID_COMMAND_QUEUE, TD_ERROR_DEVICE_LOST, N_ ("the device stopped answering") },
  { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, TD_ERROR_DEVICE_LOST,
    N_ ("earlier work failed") },
  { -9999, TD_ERROR_DEVICE_LOST, N_ ("a kernel accessed memory it does not have") }, /* NVIDIA */
};

static gboolean
opencl_check (cl_int status, const char *what, GError **error)
{
  TdErrorCode code = TD_ERROR_DEVICE_BUG;
  const char *text = N_ ("the driver refused the call");

  if (status == CL_SUCCESS)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (classes[i].status == status) {
      code = classes[i].code;
      text = classes[i].text;
    }
  return td_set_error (error, code,
                       code == TD_ERROR_DEVICE_MEMORY
                           ? N_ ("%p: %p (OpenCL error %d); compute fewer slices at once")
                           : N_ ("%p: %p (OpenCL error %d)"),
                       td_message_unpack (what), td_message_unpack (text), status);
}

/* ── Device queries ── */

static char *
opencl_string (cl_device_id device, cl_device_info what)
{
  size_t bytes = 0;

  if (clGetDeviceInfo (device, what, 0, NULL, &bytes) != CL_SUCCESS || !bytes)
    return g_strdup ("");
  char *text = g_malloc0 (bytes + 1);
  clGetDeviceInfo (device, what, bytes, text, NULL);
  return g_strstrip (text);
}

static gboolean
opencl_has_extension (cl_device_id device, const char *name)
{
  g_autofree char *all = opencl_string (device, CL_DEVICE_EXTENSIONS);
  g_auto (GStrv) words = g_strsplit (all, " ", -1);

  return g_strv_contains ((const char *const *) words, name);
}

/* 0 if the device does not know the question. */
static guint64
opencl_number (cl_device_id device, cl_device_info what)
{
  guint64 value
      = 0; /* cl_uint, size_t and cl_ulong answers all fit: the machine is little-endian */

  if (clGetDeviceInfo (device, what, sizeof value, &value, NULL) != CL_SUCCESS)
    return 0;
  return GUINT64_FROM_LE (value);
}

/* 90 for sm_90; 0: not NVIDIA's. */
static guint
opencl_nv_arch (cl_device_id device)
{
  return opencl_has_extension (device, "cl_nv_compiler_options")
             ? 10 * opencl_number (device, NV_CAPABILITY_MAJOR)
                   + opencl_number (device, NV_CAPABILITY_MINOR)
             : 0;
}

static TdDeviceKind
device_kind (cl_device_id device)
{
  guint64 type = opencl_number (device, CL_DEVICE_TYPE);

  return type & CL_DEVICE_TYPE_GPU   ? TD_DEVICE_GPU
         : type & CL_DEVICE_TYPE_CPU ? TD_DEVICE_CPU
                                     : TD_DEVICE_OTHER;
}

static char *
hardware_id (cl_device_id device)
{
  if (opencl_has_extension (device, "cl_khr_pci_bus_info")) {
    cl_device_pci_bus_info_khr pci;
    if (clGetDeviceInfo (device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, NULL) == CL_SUCCESS)
      return td_device_pci_id (pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function);
  }
  if (opencl_has_extension (device, "cl_nv_device_attribute_query")) {
    guint slot
        = opencl_number (device, NV_PCI_SLOT_ID); /* device and function, as PCI packs them */
    return td_device_pci_id (opencl_number (device, NV_PCI_DOMAIN_ID),
                             opencl_number (device, NV_PCI_BUS_ID), slot >> 3, slot & 7);
  }
  if (opencl_has_extension (device, "cl_amd_device_attribute_query")) {
    cl_device_topology_amd place;
    if (clGetDeviceInfo (device, CL_DEVICE_TOPOLOGY_AMD, sizeof place, &place, NULL) == CL_SUCCESS
        && place.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
      return td_device_pci_id (0, (guint8) place.pcie.bus, (guint8) place.pcie.device,
                               (guint8) place.pcie.function);
  }
  return g_strdup ("");
}

/* Why a device cannot be used; NULL: it can. */
static const char *
opencl_unusable (cl_device_id device)
{
  g_autofree char *version = opencl_string (device, CL_DEVICE_VERSION); /* "OpenCL 3.0 …" */

  if (!opencl_number (device, CL_DEVICE_AVAILABLE))
    return N_ ("the driver says that the device is not available");
  if (!opencl_number (device, CL_DEVICE_COMPILER_AVAILABLE))
    return N_ ("the driver brings no compiler");
  if (!opencl_number (device, CL_DEVICE_ENDIAN_LITTLE))
    return N_ ("the device is big-endian");
  if (strncmp (version, "OpenCL ", 7) != 0 || g_ascii_strtod (version + 7, NULL) < 1.2)
    return N_ ("the driver is older than OpenCL 1.2; update it");
  return NULL;
}

/* ── Finding ── */

/* All devices of all platforms, in the platforms' order; the index is the number in the id. One
   thread at a time: while PoCL 3.1 prepares its devices for one thread, it gives unprepared ones to
   another. LLVM, which comes with PoCL, catches SIGTRAP and returns. What GLib ends by it, as where
   memory is short, would then turn in a loop for ever. */
static GArray *
all_devices (void)
{
  static GMutex preparing;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&preparing);
  GArray *devices = g_array_new (FALSE, FALSE, sizeof (cl_device_id));
  cl_platform_id platforms[64];
  cl_uint n_platforms = 0;
  struct sigaction trap;

  sigaction (SIGTRAP, NULL, &trap);
  if (clGetPlatformIDs (G_N_ELEMENTS (platforms), platforms, &n_platforms) != CL_SUCCESS)
    return devices;
  for (guint p = 0; p < MIN (n_platforms, G_N_ELEMENTS (platforms)); p++) {
    cl_device_id found[64];
    cl_uint n_found = 0;
    /* A platform without devices is an error to OpenCL and nothing to us. */
    if (clGetDeviceIDs (platforms[p], CL_DEVICE_TYPE_ALL, G_N_ELEMENTS (found), found, &n_found)
        == CL_SUCCESS)
      g_array_append_vals (devices, found, MIN (n_found, G_N_ELEMENTS (found)));
  }
  sigaction (SIGTRAP, &trap, NULL);
  return devices;
}

void
td_opencl_list (GPtrArray *entries)
{
  g_autoptr (GArray) devices = all_devices ();

  for (guint i = 0; i < devices->len; i++) {
    cl_device_id device = g_array_index (devices, cl_device_id, i);
    g_autofree char *id = g_strdup_printf ("opencl:%u", i);
    g_autofree char *name = opencl_string (device, CL_DEVICE_NAME);
    g_autofree char *place = hardware_id (device);
    g_ptr_array_add (entries,
                     td_device_entry_new (id, name, "opencl", device_kind (device),
                                          opencl_number (device, CL_DEVICE_GLOBAL_MEM_SIZE), place,
                                          opencl_unusable (device)));
  }
  if (!devices->len)
    g_ptr_array_add (entries,
                     td_device_entry_new ("opencl", "OpenCL", "opencl", TD_DEVICE_OTHER, 0, NULL,
                                          "no OpenCL driver is installed; install your graphics "
                                          "card's, or pocl-opencl-icd for the CPU"));
}

/* ── Memory ── */

static guint64
opencl_memory_free (TdDevice *device)
{
  OpenclDevice *self = (OpenclDevice *) device;
  size_t kibibytes[2] = { 0 };

  if (self->base.info.kind == TD_DEVICE_CPU)
    return td_host_memory_available ();
  if (self->amd_free_memory
      && clGetDeviceInfo (self->device, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof kibibytes,
                          kibibytes, NULL)
             == CL_SUCCESS)
    return kibibytes[0] * 1024;
  return G_MAXUINT64;
}

static gboolean
opencl_buffer_new (TdBuffer *buffer, GError **error)
{
  OpenclDevice *self = (OpenclDevice *) buffer->device;
  cl_mem *memory = &((OpenclBuffer *) buffer)->memory;
  cl_int status;

  *memory = clCreateBuffer (self->context, CL_MEM_READ_WRITE, buffer->bytes, NULL, &status);
  if (!opencl_check (status, N_ ("buffer"), error))
    return FALSE;
  /* Drivers allocate at first use; a full device is to be noticed here, where halving helps. */
  status = clEnqueueMigrateMemObjects (self->service, 1, memory,
                                       CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clFinish (self->service);
  if (status != CL_SUCCESS)
    clReleaseMemObject (*memory);
  return opencl_check (status, N_ ("buffer"), error);
}

static void
opencl_buffer_free (TdBuffer *buffer)
{
  clReleaseMemObject (((OpenclBuffer *) buffer)->memory);
}

/* OpenCL has no call for pinned memory; a mapped ALLOC_HOST_PTR buffer is what drivers pin. */
static void *
opencl_host_alloc (TdDevice *device, guint64 bytes)
{
  OpenclDevice *self = (OpenclDevice *) device;
  cl_int status;
  void *address = NULL;
  cl_mem memory = clCreateBuffer (self->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                  NULL, &status);

  if (status != CL_SUCCESS)
    return NULL;
  address = clEnqueueMapBuffer (self->service, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                bytes, 0, NULL, NULL, &status);
  if (status != CL_SUCCESS) {
    clReleaseMemObject (memory);
    return NULL;
  }
  g_mutex_lock (&self->pinned_lock);
  g_hash_table_insert (self->pinned, address, memory);
  g_mutex_unlock (&self->pinned_lock);
  return address;
}

static void
opencl_host_free (TdDevice *device, void *address)
{
  OpenclDevice *self = (OpenclDevice *) device;

  g_mutex_lock (&self->pinned_lock);
  cl_mem memory = g_hash_table_lookup (self->pinned, address);
  g_hash_table_remove (self->pinned, address);
  g_mutex_unlock (&self->pinned_lock);
  g_return_if_fail (memory);
  clEnqueueUnmapMemObject (self->service, memory, address, 0, NULL, NULL);
  clFinish (self->service);
  clReleaseMemObject (memory);
}

typedef struct {
  TdEvent base;
  cl_event event;
} OpenclEvent;

static cl_command_queue
queue_of (TdQueue *queue)
{
  return ((OpenclQueue *) queue)->queue;
}

static cl_mem
opencl_memory (TdBuffer *buffer)
{
  return ((OpenclBuffer *) buffer)->memory;
}

/* ── Queues ── */

static gboolean
opencl_queue_new (TdQueue *queue, gboolean urgent, GError **error)
{
  OpenclDevice *device = (OpenclDevice *) queue->device;
  cl_int status;

  ((OpenclQueue *) queue)->queue
      = clCreateCommandQueue (device->context, device->device, CL_QUEUE_PROFILING_ENABLE, &status);
  return opencl_check (status, N_ ("queue"), error);
}

static void
opencl_queue_free (TdQueue *queue)
{
  clFinish (queue_of (queue));
  clReleaseCommandQueue (queue_of (queue));
}

/* What went wrong while the device worked: resources are then not short, the work itself died. */
static gboolean
check_finished (cl_int status, GError **error)
{
  if (status == CL_OUT_OF_RESOURCES)
    return td_set_error (
        error, TD_ERROR_DEVICE_LOST,
        "work on the device was broken off (OpenCL error %d): a kernel ran too long or "
        "accessed memory it does not have; use another device or restart",
        status);
  return opencl_check (status, N_ ("waiting for the device"), error);
}

static gboolean
opencl_queue_finish (TdQueue *queue, GError **error)
{
  cl_event marker;
  cl_int status = clEnqueueMarkerWithWaitList (queue_of (queue), 0, NULL, &marker);

  /* clFinish() says nothing of commands that failed; an event behind them does. */
  if (status == CL_SUCCESS) {
    status = clWaitForEvents (1, &marker);
    clReleaseEvent (marker);
  }
  /* Where waiting failed the work goes on, and what it reads and writes goes when we return. */
  if (status != CL_SUCCESS)
    clFinish (queue_of (queue));
  return check_finished (status, error);
}

/* ── Transfers ── */

/* Work starts now, not when somebody waits for it. */
static gboolean
opencl_enqueued (TdQueue *queue, cl_int status, const char *what, GError **error)
{
  if (status == CL_SUCCESS)
    status = clFlush (queue_of (queue));
  return opencl_check (status, what, error);
}

static gboolean
opencl_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
               GError **error)
{
  return opencl_enqueued (queue,
                          clEnqueueWriteBuffer (queue_of (queue), opencl_memory (to), CL_FALSE,
                                                offset, bytes, host, 0, NULL, NULL),
                          "upload", error);
}

static gboolean
opencl_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                 GError **error)
{
  return opencl_enqueued (queue,
                          clEnqueueReadBuffer (queue_of (queue), opencl_memory (from), CL_FALSE,
                                               offset, bytes, host, 0, NULL, NULL),
                          "download", error);
}

static gboolean
opencl_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
             guint64 bytes, GError **error)
{
  return opencl_enqueued (queue,
                          clEnqueueCopyBuffer (queue_of (queue), opencl_memory (from),
                                               opencl_memory (to), from_offset, to_offset, bytes, 0,
                                               NULL, NULL),
                          "copy", error);
}

static gboolean
opencl_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  static const cl_uint zero = 0;
  gsize pattern = offset % 4 || bytes % 4 ? 1 : 4;

  return opencl_enqueued (queue,
                          clEnqueueFillBuffer (queue_of (queue), opencl_memory (to), &zero, pattern,
                                               offset, bytes, 0, NULL, NULL),
                          "fill", error);
}

/* ── Events ── */

static gboolean
opencl_event_record (TdQueue *queue, TdEvent *event, GError **error)
{
  cl_event *marker = &((OpenclEvent *) event)->event;

  return opencl_enqueued (queue, clEnqueueMarkerWithWaitList (queue_of (queue), 0, NULL, marker),
                          "event", error);
}

static gboolean
opencl_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return opencl_enqueued (
      queue,
      clEnqueueBarrierWithWaitList (queue_of (queue), 1, &((OpenclEvent *) event)->event, NULL),
      "waiting for an event", error);
}

static gboolean
opencl_event_sync (TdEvent *event, GError **error)
{
  return check_finished (clWaitForEvents (1, &((OpenclEvent *) event)->event), error);
}

static gboolean
opencl_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  cl_event events[2] = { ((OpenclEvent *) from)->event, ((OpenclEvent *) to)->event };
  cl_ulong times[2];
  cl_int status = clWaitForEvents (2, events);

  for (guint i = 0; i < 2 && status == CL_SUCCESS; i++)
    status = clGetEventProfilingInfo (events[i], CL_PROFILING_COMMAND_END, sizeof times[i],
                                      &times[i], NULL);
  if (!check_finished (status, error))
    return FALSE;
  *seconds = 1e-9 * ((double) times[1] - (double) times[0]);
  return TRUE;
}

static void
opencl_event_free (TdEvent *event)
{
  clReleaseEvent (((OpenclEvent *) event)->event);
}

/* ── Programs ── */

/* -w: PoCL prints the count of warnings on standard error, past our own messages. */
#define OPTIONS "-cl-std=CL1.2 -w"

typedef struct {
  TdProgram base;
  cl_program program;
} OpenclProgram;

typedef struct {
  TdKernel base;
  cl_kernel kernel;
  GMutex lock; /* arguments are the kernel's state until it is enqueued */
} OpenclKernel;

/* Defines as text: an option string would be split at spaces in the values. */
static char *
with_defines (const char *source, const char *const *defines)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; defines[i]; i++) {
    const char *equals = strchr (defines[i], '=');
    int length = equals ? (int) (equals - defines[i]) : (int) strlen (defines[i]);
    g_string_append_printf (text, "#define %.*s %s\n", length, defines[i],
                            equals ? equals + 1 : "1");
  }
  g_string_append (text, source);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* What NVIDIA's compiler takes beside OpenCL C. TD_NV_ARCH is its architecture, for copies past
   the registers. TD_REGISTERS is the occupancy that a kernel aims at, as a limit of registers.
   The compiler applies it only to kernels without a required group size (TD_REGISTER_LIMIT).
   (transfer full) */
static char *
build_options (OpenclDevice *device, const char *const *defines)
{
  g_autoptr (GString) options = g_string_new (OPTIONS);
  guint arch = opencl_nv_arch (device->device);

  if (!opencl_has_extension (device->device, "cl_nv_compiler_options"))
    return g_string_free (g_steal_pointer (&options), FALSE);
  if (arch)
    g_string_append_printf (options, " -DTD_NV_ARCH=%u", arch);
  for (guint i = 0; defines[i]; i++)
    if (g_str_has_prefix (defines[i], "TD_REGISTERS="))
      g_string_append_printf (options, " -DTD_REGISTER_LIMIT=1 -cl-nv-maxrregcount=%s",
                              strchr (defines[i], '=') + 1);
  return g_string_free (g_steal_pointer (&options), FALSE);
}

/* The line a person needs from a build log. (transfer full) */
static char *
first_error (cl_program program, cl_device_id device)
{
  size_t bytes = 0;

  clGetProgramBuildInfo (program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  g_autofree char *log = g_malloc0 (bytes + 1);
  clGetProgramBuildInfo (program, device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  g_debug ("OpenCL build log:\n%s", log);

  g_auto (GStrv) lines = g_strsplit (g_strstrip (log), "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (strstr (lines[i], "error"))
      return g_strdup (g_strstrip (lines[i]));
  return g_strdup (lines[0] ? lines[0] : "the driver gives no reason");
}

static cl_program
from_cache (OpenclDevice *device, const char *key)
{
  g_autoptr (GBytes) entry = td_program_cache_load (key);
  cl_int status;

  if (!entry)
    return NULL;
  gsize bytes;
  const unsigned char *data = g_bytes_get_data (entry, &bytes);
  cl_program program = clCreateProgramWithBinary (device->context, 1, &device->device, &bytes,
                                                  &data, NULL, &status);
  if (status != CL_SUCCESS)
    return NULL;
  if (clBuildProgram (program, 1, &device->device, OPTIONS, NULL, NULL) == CL_SUCCESS)
    return program;
  clReleaseProgram (program);
  return NULL;
}

static void
to_cache (cl_program program, const char *key)
{
  size_t bytes = 0;

  if (clGetProgramInfo (program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS
      || !bytes)
    return;
  g_autofree unsigned char *binary = g_malloc (bytes);
  if (clGetProgramInfo (program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
    td_program_cache_store (key, binary, bytes);
}

static cl_program
from_source (OpenclDevice *device, const char *name, const char *source, const char *const *defines,
             GError **error)
{
  g_autofree char *text = with_defines (source, defines);
  g_autofree char *options = build_options (device, defines);
  cl_int status;
  cl_program program
      = clCreateProgramWithSource (device->context, 1, (const char **) &text, NULL, &status);

  if (!opencl_check (status, name, error))
    return NULL;
  if (clBuildProgram (program, 1, &device->device, options, NULL, NULL) == CL_SUCCESS)
    return program;

  g_autofree char *reason = first_error (program, device->device);
  g_autofree char *all = g_strjoinv (" ", (char **) defines);
  td_set_error (error, TD_ERROR_DEVICE_BUILD,
                "the program '%s' (%s) does not build: %s; try another kernel or a newer driver",
                name, all, reason);
  clReleaseProgram (program);
  return NULL;
}

/* PoCL keeps what it compiled by itself. Asked for a program's binary it compiles each kernel a
   second time, for groups of any size. The variable is the tests'. */
static gboolean
driver_keeps_programs (OpenclDevice *device)
{
  cl_platform_id platform = NULL;
  char name[64] = "";

  clGetDeviceInfo (device->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  clGetPlatformInfo (platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
  return strcmp (name, "Portable Computing Language") == 0 && !g_getenv ("TOMODESK_KEEP_PROGRAMS");
}

static gboolean
opencl_program_build (TdProgram *program, const char *name, const char *source,
                      const char *const *defines, GError **error)
{
  OpenclDevice *device = (OpenclDevice *) program->device;
  cl_program *built = &((OpenclProgram *) program)->program;
  const gboolean kept = driver_keeps_programs (device);
  g_autofree char *key = td_program_cache_key (&device->base.info, OPTIONS, source, defines);

  *built = kept ? NULL : from_cache (device, key);
  if (*built)
    return TRUE;
  *built = from_source (device, name, source, defines, error);
  if (*built && !kept)
    to_cache (*built, key);
  return *built != NULL;
}

static void
opencl_program_free (TdProgram *program)
{
  clReleaseProgram (((OpenclProgram *) program)->program);
}

/* ── Kernels ── */

static gboolean
opencl_kernel_new (TdKernel *kernel, GError **error)
{
  OpenclKernel *self = (OpenclKernel *) kernel;
  cl_int status;

  self->kernel
      = clCreateKernel (((OpenclProgram *) kernel->program)->program, kernel->name, &status);
  if (!opencl_check (status, kernel->name, error))
    return FALSE;
  g_mutex_init (&self->lock);
  return TRUE;
}

static void
opencl_kernel_free (TdKernel *kernel)
{
  OpenclKernel *self = (OpenclKernel *) kernel;

  clReleaseKernel (self->kernel);
  g_mutex_clear (&self->lock);
}

static guint64
opencl_kernel_spilled (TdKernel *kernel)
{
  const OpenclDevice *device = (OpenclDevice *) kernel->program->device;
  cl_ulong bytes = 0;

  clGetKernelWorkGroupInfo (((OpenclKernel *) kernel)->kernel, device->device,
                            CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes, &bytes, NULL);
  return bytes;
}

/* ── Launching ── */

static cl_int
set_argument (cl_kernel kernel, guint index, const TdArg *arg)
{
  switch (arg->kind) {
  case TD_ARG_BUFFER:
    return clSetKernelArg (kernel, index, sizeof (cl_mem),
                           &((OpenclBuffer *) *arg->buffer)->memory);
  case TD_ARG_TEXTURE:
    return clSetKernelArg (kernel, index, sizeof (cl_mem),
                           &((OpenclTexture *) *arg->texture)->image);
  case TD_ARG_LOCAL: return clSetKernelArg (kernel, index, arg->local->bytes, NULL);
  case TD_ARG_VALUE:
  default: return clSetKernelArg (kernel, index, arg->size, arg->value);
  }
}

static gboolean
opencl_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
               const TdArg *args, guint n_args, GError **error)
{
  OpenclKernel *self = (OpenclKernel *) kernel;
  cl_command_queue to = queue_of (queue);
  size_t global_size[3], local_size[3];
  cl_int status = CL_SUCCESS;

  for (guint i = 0; i < 3; i++) {
    local_size[i] = local[i];
    global_size[i] = (size_t) groups[i] * local[i];
  }
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < n_args && status == CL_SUCCESS; i++)
    status = set_argument (self->kernel, i, &args[i]);
  if (status == CL_SUCCESS)
    status = clEnqueueNDRangeKernel (to, self->kernel, 3, NULL, global_size, local_size, 0, NULL,
                                     NULL);
  g_mutex_unlock (&self->lock);
  if (status == CL_SUCCESS)
    status = clFlush (to);
  return opencl_check (status, kernel->name, error);
}

/* ── Textures ── */

static cl_image_format
image_format (TdTexel texel)
{
  static const cl_channel_order orders[] = { [1] = CL_R, [2] = CL_RG, [4] = CL_RGBA };

  return (cl_image_format) {
    .image_channel_order = orders[td_texel_channels (texel)],
    .image_channel_data_type = texel >= TD_TEXEL_R16F ? CL_HALF_FLOAT : CL_FLOAT,
  };
}

static gboolean
opencl_texture_new (TdTexture *texture, GError **error)
{
  const TdTextureSpec *spec = &texture->spec;
  cl_image_format format = image_format (spec->texel);
  cl_image_desc shape = {
    .image_type = spec->layers ? CL_MEM_OBJECT_IMAGE2D_ARRAY : CL_MEM_OBJECT_IMAGE2D,
    .image_width = spec->width,
    .image_height = spec->height,
    .image_array_size = spec->layers,
  };
  cl_int status;

  ((OpenclTexture *) texture)->image
      = clCreateImage (((OpenclDevice *) texture->device)->context, CL_MEM_READ_ONLY, &format,
                       &shape, NULL, &status);
  return opencl_check (status, N_ ("texture"), error);
}

static void
opencl_texture_free (TdTexture *texture)
{
  clReleaseMemObject (((OpenclTexture *) texture)->image);
}

static gboolean
opencl_texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from, guint64 offset,
                      GError **error)
{
  size_t origin[3] = { 0 };
  size_t region[3] = { to->spec.width, to->spec.height, layers };

  return opencl_check (clEnqueueCopyBufferToImage (
                           queue_of (queue), ((OpenclBuffer *) from)->memory,
                           ((OpenclTexture *) to)->image, offset, origin, region, 0, NULL, NULL),
                       N_ ("texture"), error);
}

/* ── Textures that work ── */

static gboolean
claims_format (OpenclDevice *device, cl_mem_object_type type, TdTexel texel)
{
  cl_image_format formats[256], wanted = image_format (texel);
  cl_uint count = 0;

  if (clGetSupportedImageFormats (device->context, CL_MEM_READ_ONLY, type, G_N_ELEMENTS (formats),
                                  formats, &count)
      != CL_SUCCESS)
    return FALSE;
  for (guint i = 0; i < MIN (count, G_N_ELEMENTS (formats)); i++)
    if (formats[i].image_channel_order == wanted.image_channel_order
        && formats[i].image_channel_data_type == wanted.image_channel_data_type)
      return TRUE;
  return FALSE;
}

static guint
claimed_texels (OpenclDevice *device)
{
  guint texels = 0;

  for (guint texel = 0; texel < TD_TEXEL_COUNT; texel++)
    if (claims_format (device, CL_MEM_OBJECT_IMAGE2D, texel)
        && claims_format (device, CL_MEM_OBJECT_IMAGE2D_ARRAY, texel))
      texels |= 1u << texel;
  return texels;
}

/* Filtering at texel centres is nearest, so linear fetches tell about both. *tried: each could be.
 */
static guint
right_texels (TdDevice *device, guint texels, gboolean *tried)
{
  *tried = TRUE;
  for (guint i = 0; i < 2 * TD_TEXEL_COUNT; i++) {
    g_autoptr (GError) error = NULL;
    guint texel = i / 2;
    gboolean right = FALSE;
    if (texels & (1u << texel)
        && (!td_texture_check (device, texel, TRUE, i % 2, &right, &error) || !right)) {
      g_debug ("%s: texel type %u is not used: %s", device->info.name, texel,
               error ? error->message : "wrong values");
      texels &= ~(1u << texel);
      *tried = *tried && !error;
    }
  }
  return texels;
}

/* Trying them takes seconds where programs build slowly, so the outcome is kept beside the
   programs; but not that a device was full or busy. */
static guint
remembered_texels (TdDevice *device, guint claimed)
{
  g_autofree char *source = td_kernel_source_expand ("check-texture", device->ops->dialect);
  g_autofree char *key = td_program_cache_key (&device->info, "textures tried", source, NULL);
  g_autoptr (GBytes) entry = td_program_cache_load (key);
  gboolean tried;
  guint32 texels;

  if (entry && g_bytes_get_size (entry) == sizeof texels) {
    memcpy (&texels, g_bytes_get_data (entry, NULL), sizeof texels);
    return texels & claimed;
  }
  texels = right_texels (device, claimed, &tried);
  if (tried)
    td_program_cache_store (key, &texels, sizeof texels);
  return texels;
}

static void
opencl_texture_probe (OpenclDevice *device)
{
  TdDeviceInfo *info = &device->base.info;

  if (!opencl_number (device->device, CL_DEVICE_IMAGE_SUPPORT))
    return;
  info->texture_max[0] = opencl_number (device->device, CL_DEVICE_IMAGE2D_MAX_WIDTH);
  info->texture_max[1] = opencl_number (device->device, CL_DEVICE_IMAGE2D_MAX_HEIGHT);
  info->texture_max_layers = opencl_number (device->device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
  info->texels = claimed_texels (device);
  info->texture_linear = TRUE; /* for the trial */
  info->texels = remembered_texels (&device->base, info->texels);
  info->texture_linear = info->texels != 0;
}

/* ── FFTs ── */

/* On a CPU FFTW makes them, called from the queue as a native kernel: the libraries' kernels are
   shaped for GPUs. There they take 2 to 5 times as long, and seconds to build. */
typedef struct {
  TdFft base;
  TdHostFft *host; /* NULL: by the library */
  const TdOpenclFftLibrary *library;
  gpointer fft;
} OpenclFft;

/* The first is the default. TOMODESK_OPENCL_FFT names one, for CPUs too: tests and timings. */
static const TdOpenclFftLibrary *const fft_libraries[] = {
#if TD_HAVE_VKFFT
  &td_opencl_vkfft,
#endif
#if TD_HAVE_CLFFT
  &td_opencl_clfft,
#endif
};

/* NULL: none is named. */
static const TdOpenclFftLibrary *
named_fft_library (void)
{
  const char *name = g_getenv ("TOMODESK_OPENCL_FFT");

  for (guint i = 0; i < G_N_ELEMENTS (fft_libraries); i++)
    if (g_strcmp0 (name, fft_libraries[i]->name) == 0)
      return fft_libraries[i];
  return NULL;
}

static gboolean
wants_host (OpenclDevice *device)
{
  cl_device_exec_capabilities can = 0;

  clGetDeviceInfo (device->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL);
  return device->base.info.kind == TD_DEVICE_CPU && can & CL_EXEC_NATIVE_KERNEL
         && !named_fft_library ();
}

static gboolean
opencl_fft_make (OpenclFft *self, const TdOpenclFftTask *task, GError **error)
{
  const TdOpenclFftLibrary *named = named_fft_library ();

  self->library = named ? named : fft_libraries[0];
  cl_int status = self->library->make (task, &self->fft);
  if (status != TD_OPENCL_FFT_NO_SIZE)
    return opencl_check (status, N_ ("FFT plan"), error);
  return td_set_error (error, TD_ERROR_UNSUPPORTED,
                       "the device has no FFT of size %u × %u; sizes of factors 2, 3 and 5 work",
                       task->n[0], task->n[1]);
}

static void
opencl_fft_free (TdFft *fft)
{
  OpenclFft *self = (OpenclFft *) fft;

  td_host_fft_destroy (self->host);
  if (self->fft)
    self->library->free (self->fft);
}

static gboolean
opencl_fft_new (TdFft *fft, GError **error)
{
  OpenclDevice *device = (OpenclDevice *) fft->device;
  OpenclFft *self = (OpenclFft *) fft;
  const TdOpenclFftTask task = {
    .device = device->device,
    .context = device->context,
    .service = device->service,
    .kind = fft->kind,
    .n = { fft->n[0], fft->n[1] },
    .batch = fft->batch,
    .bytes = (guint64) fft->n[0] * fft->n[1] * fft->batch * 2 * sizeof (float),
  };

  if (!wants_host (device))
    return opencl_fft_make (self, &task, error);
  self->host = td_host_fft_make (fft->kind, fft->n, fft->batch, error);
  return self->host != NULL;
}

/* ── Running ── */

/* The runtime copies it and puts the buffer's address into @data. The transform is held until it
   was run: a queue that says it failed may still come to it, when all else is freed. */
typedef struct {
  TdHostFft *fft;
  void *data;
  gboolean inverse;
} NativeRun;

static void CL_CALLBACK
run_native (void *data)
{
  NativeRun *run = data;

  td_host_fft_execute (run->fft, run->data, run->inverse);
  td_host_fft_destroy (run->fft);
}

static cl_int
run_host (OpenclFft *self, cl_command_queue to, cl_mem data, gboolean inverse)
{
  NativeRun run = { g_atomic_rc_box_acquire (self->host), NULL, inverse };
  const void *place = &run.data;
  const cl_int status
      = clEnqueueNativeKernel (to, run_native, &run, sizeof run, 1, &data, &place, 0, NULL, NULL);

  if (status != CL_SUCCESS)
    td_host_fft_destroy (run.fft);
  return status;
}

static gboolean
opencl_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  OpenclFft *self = (OpenclFft *) fft;
  cl_command_queue to = queue_of (queue);
  cl_mem memory = opencl_memory (data);
  cl_int status = self->host ? run_host (self, to, memory, inverse)
                             : self->library->run (self->fft, to, memory, inverse);

  if (status == CL_SUCCESS)
    status = clFlush (to);
  return opencl_check (status, "FFT", error);
}

/* ── Opening ── */

static void
opencl_free (TdDevice *device)
{
  OpenclDevice *self = (OpenclDevice *) device;

  g_hash_table_unref (self->pinned);
  g_mutex_clear (&self->pinned_lock);
  if (self->service)
    clReleaseCommandQueue (self->service);
  if (self->context)
    clReleaseContext (self->context);
  g_free (self);
}

static const TdDeviceOps opencl_ops = {
  .sizes
  = { sizeof (OpenclBuffer), sizeof (OpenclQueue), sizeof (OpenclTexture), sizeof (OpenclProgram),
      sizeof (OpenclKernel), sizeof (OpenclEvent), sizeof (OpenclFft) },
  .device_free = opencl_free,
  .memory_free = opencl_memory_free,
  .buffer_new = opencl_buffer_new,
  .buffer_free = opencl_buffer_free,
  .host_alloc = opencl_host_alloc,
  .host_free = opencl_host_free,
  .queue_new = opencl_queue_new,
  .queue_free = opencl_queue_free,
  .queue_finish = opencl_queue_finish,
  .upload = opencl_upload,
  .download = opencl_download,
  .copy = opencl_copy,
  .fill_zero = opencl_fill_zero,
  .texture_new = opencl_texture_new,
  .texture_free = opencl_texture_free,
  .texture_write = opencl_texture_write,
  .dialect = "opencl.h",
  .program_build = opencl_program_build,
  .program_free = opencl_program_free,
  .kernel_new = opencl_kernel_new,
  .kernel_free = opencl_kernel_free,
  .kernel_spilled = opencl_kernel_spilled,
  .launch = opencl_launch,
  .event_record = opencl_event_record,
  .event_wait = opencl_event_wait,
  .event_sync = opencl_event_sync,
  .event_elapsed = opencl_event_elapsed,
  .event_free = opencl_event_free,
  .fft_new = opencl_fft_new,
  .fft_run = opencl_fft_run,
  .fft_free = opencl_fft_free,
};

static char *
driver_description (cl_device_id device)
{
  g_autofree char *driver = opencl_string (device, CL_DRIVER_VERSION);
  g_autofree char *version = opencl_string (device, CL_DEVICE_VERSION);
  g_autofree char *compiler = opencl_string (device, CL_DEVICE_OPENCL_C_VERSION);

  return g_strdup_printf ("%s, %s, %s", driver, version, compiler);
}

static void
opencl_describe (OpenclDevice *self, guint index)
{
  cl_device_id device = self->device;
  gboolean is_cpu = device_kind (device) == TD_DEVICE_CPU;

  self->base.info = (TdDeviceInfo) {
    .id = g_strdup_printf ("opencl:%u", index),
    .name = opencl_string (device, CL_DEVICE_NAME),
    .vendor = opencl_string (device, CL_DEVICE_VENDOR),
    .api = g_strdup ("opencl"),
    .driver = driver_description (device),
    .hardware_id = hardware_id (device),
    .kind = device_kind (device),
    .memory_bytes = opencl_number (device, CL_DEVICE_GLOBAL_MEM_SIZE),
    .max_alloc_bytes = opencl_number (device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
    .compute_units = opencl_number (device, CL_DEVICE_MAX_COMPUTE_UNITS),
    .local_memory_bytes = opencl_number (device, CL_DEVICE_LOCAL_MEM_SIZE),
    .max_group_size = opencl_number (device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
    .texture_slow = is_cpu,
    .half_storage = TRUE,
    /* NVIDIA's has no extension for it, but takes the instructions: kernels/dialect/opencl.h */
    .half_arithmetic
    = opencl_has_extension (device, "cl_khr_fp16") || opencl_nv_arch (device) >= 60,
    .double_arithmetic = opencl_has_extension (device, "cl_khr_fp64"),
    .cpu_shaped = is_cpu,
  };
  self->amd_free_memory = opencl_has_extension (device, "cl_amd_device_attribute_query");
}

gboolean
td_opencl_open (guint index, TdDevice **device, GError **error)
{
  g_autoptr (GArray) devices = all_devices ();
  cl_int status;

  if (index >= devices->len)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "there is no device 'opencl:%u', only %u OpenCL devices; 'tomodesk-cli devices' "
        "lists them",
        index, devices->len);
  cl_device_id found = g_array_index (devices, cl_device_id, index);
  if (opencl_unusable (found))
    return td_set_error (error, TD_ERROR_UNSUPPORTED, "opencl:%u: %p", index,
                         td_message_unpack (opencl_unusable (found)));

  OpenclDevice *self = g_new0 (OpenclDevice, 1);
  td_device_init (&self->base, &opencl_ops);
  g_mutex_init (&self->pinned_lock);
  self->pinned = g_hash_table_new (NULL, NULL);
  self->device = found;
  self->context = clCreateContext (NULL, 1, &found, NULL, NULL, &status);
  if (status == CL_SUCCESS)
    self->service = clCreateCommandQueue (self->context, found, 0, &status);
  if (!opencl_check (status, N_ ("opening the device"), error)) {
    td_device_clear (&self->base);
    return FALSE;
  }
  opencl_describe (self, index);
  opencl_texture_probe (self);
  *device = &self->base;
  return TRUE;
}
