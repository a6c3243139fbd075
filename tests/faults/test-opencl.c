/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of an OpenCL driver, and what follows from its answers. This program has OpenCL's
   calls itself, so that no driver is needed. Memory is the host's, and programs are kept as text.
   Of kernels only the one that looks at textures computes anything. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "compute/device/device-check.h"
#include "compute/device/host.h"
#include "compute/device/program-cache.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

/* ── The devices that are played ── */

typedef struct {
  const char *name, *version, *extensions, *platform;
  guint64 type;
  gboolean unavailable, no_compiler, big_endian, no_images;
  guint nv_arch, nv_place[3]; /* bus, slot, domain */
  guint free_kib;
  const char *wrong;     /* of textures: how */
  cl_int refuses_binary; /* CL_SUCCESS: takes it */
  const char *build_log; /* NULL: programs build */
} Played;

static Played played[3];
static guint n_played;
static const char *failing; /* this call gives that status */
static cl_int failing_status;

static Played *
played_of (cl_device_id device)
{
  return (Played *) device;
}

/* What the driver gave and did not yet get back. */
typedef struct {
  char name[16];
  gsize bytes; /* of memory; of images and queues more follows */
  void *memory;
  cl_image_format format;
  cl_image_desc shape;
  char *text, *options; /* of programs */
  void *args[8];        /* of kernels */
  gsize arg_bytes[8];
  int number;
} Thing;

static GPtrArray *things;
static GString *said;
static int numbers[128];

static void say (const char *format, ...) G_GNUC_PRINTF (1, 2);

static void
say (const char *format, ...)
{
  va_list values;

  va_start (values, format);
  g_string_append_vprintf (said, format, values);
  va_end (values);
  g_string_append_c (said, '\n');
}

static void
assert_said (const char *expected)
{
  g_assert_cmpstr (said->str, ==, expected);
  g_string_truncate (said, 0);
}

static Thing *
thing_new (char kind)
{
  Thing *thing = g_new0 (Thing, 1);

  thing->number = ++numbers[(int) kind];
  g_snprintf (thing->name, sizeof thing->name, "%c%d", kind, thing->number);
  g_ptr_array_add (things, thing);
  return thing;
}

static const char *
name_of (gconstpointer thing)
{
  return thing ? ((const Thing *) thing)->name : "nothing";
}

static cl_int
thing_free (gpointer data)
{
  Thing *thing = data;

  say ("free %s", thing->name);
  g_assert_true (g_ptr_array_remove (things, thing));
  for (guint i = 0; i < G_N_ELEMENTS (thing->args); i++)
    g_free (thing->args[i]);
  g_free (thing->memory);
  g_free (thing->text);
  g_free (thing->options);
  g_free (thing);
  return CL_SUCCESS;
}

static gboolean
fails (const char *call)
{
  return failing && strcmp (failing, call) == 0;
}

/* ── OpenCL's calls ── */

/* One that gives a status. */
#define CALL(name, parameters, ...)                                                                \
  cl_int name parameters                                                                           \
  {                                                                                                \
    if (fails (#name))                                                                             \
      return failing_status;                                                                       \
    __VA_ARGS__                                                                                    \
    return CL_SUCCESS;                                                                             \
  }
/* One that gives something, and its status through the last argument. */
#define GIVE(type, name, parameters, ...)                                                          \
  type name parameters                                                                             \
  {                                                                                                \
    *status = fails (#name) ? failing_status : CL_SUCCESS;                                         \
    if (*status != CL_SUCCESS)                                                                     \
      return NULL;                                                                                 \
    __VA_ARGS__                                                                                    \
  }
/* A new thing. */
#define MAKE(type, name, parameters, kind, ...)                                                    \
  GIVE (type, name, parameters, Thing *made = thing_new (kind); __VA_ARGS__ return (type) made;)

CALL (clGetPlatformIDs, (cl_uint n, cl_platform_id *platforms, cl_uint *found),
      *found = n_played ? 2 : 0; /* the first has one device, the second the others */
      platforms[0] = (cl_platform_id) &played[0]; platforms[1] = (cl_platform_id) &played[1];)

CALL (clGetDeviceIDs,
      (cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *devices,
       cl_uint *found),
      const guint first = (Played *) platform == played ? 0 : 1;
      *found = MIN (first ? n_played - 1 : 1, n);
      for (guint i = 0; i < *found; i++) devices[i] = (cl_device_id) &played[first + i];
      if (!*found) return CL_DEVICE_NOT_FOUND;)

CALL (clGetPlatformInfo,
      (cl_platform_id platform, cl_platform_info what, size_t bytes, void *value, size_t *size),
      g_assert_cmpuint (what, ==, CL_PLATFORM_NAME);
      g_strlcpy (value,
                 ((Played *) platform)->platform ? ((Played *) platform)->platform : "Played",
                 bytes);)

static const char *
text_of (const Played *device, cl_device_info what)
{
  switch (what) {
  case CL_DEVICE_NAME: return device->name;
  case CL_DEVICE_VENDOR: return "A vendor";
  case CL_DRIVER_VERSION: return "7.1";
  case CL_DEVICE_VERSION: return device->version;
  case CL_DEVICE_OPENCL_C_VERSION: return "OpenCL C 1.2";
  case CL_DEVICE_EXTENSIONS: return device->extensions;
  default: return NULL;
  }
}

static guint64
number_of (const Played *device, cl_device_info what)
{
  switch (what) {
  case CL_DEVICE_TYPE: return device->type;
  case CL_DEVICE_PLATFORM: return (gsize) &played[device != played];
  case CL_DEVICE_AVAILABLE: return !device->unavailable;
  case CL_DEVICE_COMPILER_AVAILABLE: return !device->no_compiler;
  case CL_DEVICE_ENDIAN_LITTLE: return !device->big_endian;
  case CL_DEVICE_GLOBAL_MEM_SIZE: return 5000000000;
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return 1250000000;
  case CL_DEVICE_MAX_COMPUTE_UNITS: return 17;
  case CL_DEVICE_LOCAL_MEM_SIZE: return 49152;
  case CL_DEVICE_MAX_WORK_GROUP_SIZE: return 512;
  case CL_DEVICE_IMAGE_SUPPORT: return !device->no_images;
  case CL_DEVICE_IMAGE2D_MAX_WIDTH: return 16384;
  case CL_DEVICE_IMAGE2D_MAX_HEIGHT: return 8192;
  case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: return 300;
  case CL_DEVICE_EXECUTION_CAPABILITIES: return CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL;
  case 0x4000: return device->nv_arch / 10;
  case 0x4001: return device->nv_arch % 10;
  case 0x4008: return device->nv_place[0];
  case 0x4009: return device->nv_place[1];
  case 0x400A: return device->nv_place[2];
  default: return 0;
  }
}

CALL (clGetDeviceInfo,
      (cl_device_id device, cl_device_info what, size_t bytes, void *value, size_t *size),
      const Played *self = played_of (device);
      const char *text = text_of (self, what); guint64 number = number_of (self, what);
      const cl_device_pci_bus_info_khr pci = { 1, 2, 3, 4 };
      const cl_device_topology_amd place
      = { .pcie = { .type = 1, .bus = (cl_char) 0xfe, .device = 5, .function = 6 } };
      const size_t free_kib[2] = { self->free_kib, 1 };
      const void *from = text                                       ? text
                         : what == CL_DEVICE_PCI_BUS_INFO_KHR       ? (const void *) &pci
                         : what == CL_DEVICE_TOPOLOGY_AMD           ? (const void *) &place
                         : what == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD ? (const void *) free_kib
                                                                    : &number;
      if (text) bytes = MIN (bytes, strlen (text) + 1);
      if (size) *size = text ? strlen (text) + 1 : bytes; if (value) memcpy (value, from, bytes);)

MAKE (cl_context, clCreateContext,
      (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
       void (*notify) (const char *, const void *, size_t, void *), void *user, cl_int *status),
      'c', g_assert_cmpuint (n, ==, 1);
      say ("%s of %s", made->name, played_of (devices[0])->name);)
CALL (clReleaseContext, (cl_context context), thing_free (context);)
MAKE (cl_command_queue, clCreateCommandQueue,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties,
       cl_int *status),
      'q', say ("%s in %s, properties %d", made->name, name_of (context), (int) properties);)
CALL (clReleaseCommandQueue, (cl_command_queue queue), thing_free (queue);)
CALL (clFlush, (cl_command_queue queue), say ("%s: begin", name_of (queue));)
CALL (clFinish, (cl_command_queue queue), say ("%s: finish", name_of (queue));)

MAKE (cl_mem, clCreateBuffer,
      (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *status), 'm',
      made->bytes = bytes;
      made->memory = g_malloc0 (bytes);
      say ("%s of %zu bytes, flags %d", made->name, bytes, (int) flags);)
CALL (clReleaseMemObject, (cl_mem memory), thing_free (memory);)
CALL (clEnqueueMigrateMemObjects,
      (cl_command_queue queue, cl_uint n, const cl_mem *memory, cl_mem_migration_flags flags,
       cl_uint n_wait, const cl_event *wait, cl_event *event),
      say ("%s: put %s there, flags %d", name_of (queue), name_of (memory[0]), (int) flags);)
GIVE (void *, clEnqueueMapBuffer,
      (cl_command_queue queue, cl_mem memory, cl_bool blocking, cl_map_flags flags, size_t offset,
       size_t bytes, cl_uint n_wait, const cl_event *wait, cl_event *event, cl_int *status),
      say ("%s: map %s, %zu bytes at %zu, flags %d%s", name_of (queue), name_of (memory), bytes,
           offset, (int) flags, blocking ? " and wait" : "");
      return ((Thing *) memory)->memory;)
CALL (clEnqueueUnmapMemObject,
      (cl_command_queue queue, cl_mem memory, void *address, cl_uint n_wait, const cl_event *wait,
       cl_event *event),
      g_assert_true (address == ((Thing *) memory)->memory);
      say ("%s: unmap %s", name_of (queue), name_of (memory));)

CALL (clEnqueueWriteBuffer,
      (cl_command_queue queue, cl_mem to, cl_bool blocking, size_t offset, size_t bytes,
       const void *from, cl_uint n_wait, const cl_event *wait, cl_event *event),
      say ("%s: %zu bytes to %s+%zu%s", name_of (queue), bytes, name_of (to), offset,
           blocking ? " and wait" : "");
      memcpy ((char *) ((Thing *) to)->memory + offset, from, bytes);)
CALL (clEnqueueReadBuffer,
      (cl_command_queue queue, cl_mem from, cl_bool blocking, size_t offset, size_t bytes, void *to,
       cl_uint n_wait, const cl_event *wait, cl_event *event),
      say ("%s: %zu bytes from %s+%zu%s", name_of (queue), bytes, name_of (from), offset,
           blocking ? " and wait" : "");
      memcpy (to, (char *) ((Thing *) from)->memory + offset, bytes);)
CALL (clEnqueueCopyBuffer,
      (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
       size_t bytes, cl_uint n_wait, const cl_event *wait, cl_event *event),
      say ("%s: %zu bytes from %s+%zu to %s+%zu", name_of (queue), bytes, name_of (from),
           from_offset, name_of (to), to_offset);)
CALL (clEnqueueFillBuffer,
      (cl_command_queue queue, cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset,
       size_t bytes, cl_uint n_wait, const cl_event *wait, cl_event *event),
      g_assert_cmpint (*(const char *) pattern, ==, 0);
      say ("%s: %zu bytes, by %zu, at %s+%zu", name_of (queue), bytes, pattern_bytes, name_of (to),
           offset);)

CALL (clEnqueueMarkerWithWaitList,
      (cl_command_queue queue, cl_uint n_wait, const cl_event *wait, cl_event *event),
      *event = (cl_event) thing_new ('e');
      say ("%s: %s after %u", name_of (queue), name_of (*event), n_wait);)
CALL (clEnqueueBarrierWithWaitList,
      (cl_command_queue queue, cl_uint n_wait, const cl_event *wait, cl_event *event),
      g_assert_cmpuint (n_wait, ==, 1);
      say ("%s: after %s", name_of (queue), name_of (wait[0]));)
CALL (clWaitForEvents, (cl_uint n, const cl_event *events),
      say ("await %s%s%s", name_of (events[0]), n > 1 ? " and " : "",
           n > 1 ? name_of (events[1]) : "");)
CALL (clReleaseEvent, (cl_event event), thing_free (event);)
CALL (clGetEventProfilingInfo,
      (cl_event event, cl_profiling_info what, size_t bytes, void *value, size_t *size),
      g_assert_cmpint ((int) what, ==, CL_PROFILING_COMMAND_END);
      *(cl_ulong *) value = 1500000000ull * (cl_ulong) ((Thing *) event)->number;)

MAKE (cl_program, clCreateProgramWithSource,
      (cl_context context, cl_uint n, const char **texts, const size_t *lengths, cl_int *status),
      'p', g_assert_cmpuint (n, ==, 1);
      made->text = g_strdup (texts[0]); say ("%s of source", made->name);)
MAKE (cl_program, clCreateProgramWithBinary,
      (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *lengths,
       const unsigned char **binaries, cl_int *binary_status, cl_int *status),
      'p', made->text = g_strndup ((const char *) binaries[0], lengths[0]);
      say ("%s of %zu bytes", made->name, lengths[0]); made->number = -1;)
CALL (clBuildProgram,
      (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
       void (*notify) (cl_program, void *), void *user),
      Thing *self = (Thing *) program;
      say ("%s: %s", self->name, options);
      if (self->number < 0 && played_of (devices[0])->refuses_binary) return CL_INVALID_BINARY;
      if (self->number > 0 && played_of (devices[0])->build_log) return CL_BUILD_PROGRAM_FAILURE;)
CALL (clGetProgramBuildInfo,
      (cl_program program, cl_device_id device, cl_program_build_info what, size_t bytes,
       void *value, size_t *size),
      const char *log = played_of (device)->build_log;
      if (size) *size = strlen (log) + 1; if (value) memcpy (value, log, bytes);)
CALL (clGetProgramInfo,
      (cl_program program, cl_program_info what, size_t bytes, void *value, size_t *size),
      const char *text = ((Thing *) program)->text;
      if (what == CL_PROGRAM_BINARY_SIZES) * (size_t *) value = strlen (text);
      else memcpy (*(unsigned char **) value, text, strlen (text));)
CALL (clReleaseProgram, (cl_program program), thing_free (program);)

MAKE (cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *status), 'k',
      made->text = g_strdup (((Thing *) program)->text);
      say ("%s is %s of %s", made->name, name, name_of (program));)
CALL (clReleaseKernel, (cl_kernel kernel), thing_free (kernel);)
CALL (clGetKernelWorkGroupInfo,
      (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t bytes,
       void *value, size_t *size),
      g_assert_cmpuint (what, ==, CL_KERNEL_PRIVATE_MEM_SIZE);
      *(cl_ulong *) value = 88;)
CALL (clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t bytes, const void *value),
      Thing *self = (Thing *) kernel;
      g_free (self->args[index]); self->args[index] = value ? g_memdup2 (value, bytes) : NULL;
      self->arg_bytes[index] = bytes;)

MAKE (cl_mem, clCreateImage,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format,
       const cl_image_desc *shape, void *host, cl_int *status),
      'i', made->format = *format;
      made->shape = *shape;
      say ("%s, flags %d, order %x, type %x, kind %x of %zu x %zu x %zu", made->name, (int) flags,
           format->image_channel_order, format->image_channel_data_type, shape->image_type,
           shape->image_width, shape->image_height, shape->image_array_size);)
CALL (clEnqueueCopyBufferToImage,
      (cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, const size_t *origin,
       const size_t *region, cl_uint n_wait, const cl_event *wait, cl_event *event),
      Thing *image = (Thing *) to, *buffer = (Thing *) from;
      say ("%s: %zu x %zu x %zu texels from %s+%zu to %s at %zu %zu %zu", name_of (queue),
           region[0], region[1], region[2], name_of (from), offset, name_of (to), origin[0],
           origin[1], origin[2]);
      g_free (image->memory);
      image->memory = g_memdup2 ((char *) buffer->memory + offset, buffer->bytes - offset);)
/* Four-channel halves of single images are missing. */
CALL (clGetSupportedImageFormats,
      (cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint n,
       cl_image_format *formats, cl_uint *found),
      static const guint orders[] = { CL_R, CL_RG, CL_RGBA };
      *found = 0;
      for (guint i = 0; i < 6; i++) if (i != 5 || type != CL_MEM_OBJECT_IMAGE2D) formats[(*found)++]
      = (cl_image_format) { orders[i % 3], i < 3 ? CL_FLOAT : CL_HALF_FLOAT };)

CALL (clEnqueueNativeKernel,
      (cl_command_queue queue, void (*run) (void *), void *args, size_t bytes, cl_uint n_memory,
       const cl_mem *memory, const void **places, cl_uint n_wait, const cl_event *wait,
       cl_event *event),
      g_autofree char *copy = g_memdup2 (args, bytes);
      const gsize place = (gsize) ((const char *) places[0] - (const char *) args);
      g_assert_cmpuint (n_memory, ==, 1);
      memcpy (copy + place, &((Thing *) memory[0])->memory, sizeof (void *));
      say ("%s: run with %s", name_of (queue), name_of (memory[0])); run (copy);)

/* ── The kernel that looks at textures ── */

static double
half_value (guint16 bits)
{
  return bits ? ldexp (1024 + (bits & 0x3ff), (bits >> 10) - 25) : 0;
}

/* Of an image in memory; nothing outside. */
static double
texel_of (const Thing *image, const char *wrong, const int place[3], guint channel)
{
  const cl_image_desc *shape = &image->shape;
  const guint channels = image->format.image_channel_order == CL_R    ? 1
                         : image->format.image_channel_order == CL_RG ? 2
                                                                      : 4;
  const gboolean half = image->format.image_channel_data_type == CL_HALF_FLOAT;
  const int nx = (int) shape->image_width, ny = (int) shape->image_height;
  int x = place[0], y = place[1], layer = place[2];

  if (strcmp (wrong, "clamped") == 0) {
    x = CLAMP (x, 0, nx - 1);
    y = CLAMP (y, 0, ny - 1);
  }
  if (strcmp (wrong, "one-layer") == 0)
    layer = 0;
  if (strcmp (wrong, "turned") == 0) {
    const int kept = x;
    x = y;
    y = kept;
  }
  if (x < 0 || y < 0 || x >= nx || y >= ny)
    return 0;
  if (strcmp (wrong, "one-channel") == 0)
    channel = 0;
  const gsize at = ((gsize) (layer * ny + y) * (gsize) nx + (gsize) x) * channels + channel;
  return (half ? half_value (((const guint16 *) image->memory)[at])
               : ((const float *) image->memory)[at])
         + (strcmp (wrong, "a-little") == 0);
}

static float
fetch (const Thing *image, const char *wrong, const float *at, gboolean linear, guint channel)
{
  const double x = at[0] - (linear ? 0.5 : 0), y = at[1] - (linear ? 0.5 : 0);
  double sum = 0;

  for (guint corner = 0; corner < (linear ? 4 : 1); corner++) {
    const int place[] = { (int) floor (x) + (int) (corner & 1),
                          (int) floor (y) + (int) (corner >> 1), (int) at[2] };
    const double wx = corner & 1 ? x - floor (x) : 1 - (x - floor (x));
    const double wy = corner >> 1 ? y - floor (y) : 1 - (y - floor (y));
    sum += (linear ? wx * wy : 1) * texel_of (image, wrong, place, channel);
  }
  return (float) sum;
}

static void
look_at_texture (const Thing *kernel, guint n)
{
  const Thing *image = *(Thing *const *) kernel->args[0];
  const float *places = (*(Thing *const *) kernel->args[1])->memory;
  float *out = (*(Thing *const *) kernel->args[2])->memory;
  const gboolean linear = strstr (kernel->text, "#define LINEAR 1\n") != NULL;
  const char *wrong = played[0].wrong ?: "";
  guint channels = 1;

  if (strstr (kernel->text, "#define CHANNELS 2\n"))
    channels = 2;
  if (strstr (kernel->text, "#define CHANNELS 4\n"))
    channels = 4;
  g_assert_true (!strstr (kernel->text, "#define LAYERED 1\n") == !image->shape.image_array_size);
  for (guint i = 0; i < n * channels; i++)
    out[i] = fetch (image, wrong, places + i / channels * 4,
                    linear && strcmp (wrong, "nearest") != 0, i % channels);
}

CALL (
    clEnqueueNDRangeKernel,
    (cl_command_queue queue, cl_kernel kernel, cl_uint n, const size_t *offset, const size_t *all,
     const size_t *group, cl_uint n_wait, const cl_event *wait, cl_event *event),
    const Thing *self = (Thing *) kernel;
    g_assert_cmpuint (n, ==, 3); g_assert_null (offset);
    g_string_append_printf (said, "%s: %s, %zu %zu %zu in groups of %zu %zu %zu,", name_of (queue),
                            self->name, all[0], all[1], all[2], group[0], group[1], group[2]);
    for (guint i = 0; i < 8 && self->arg_bytes[i]; i++) {
      const Thing *thing = self->args[i] && self->arg_bytes[i] == sizeof (void *)
                               ? *(Thing *const *) self->args[i]
                               : NULL;
      if (!self->args[i])
        g_string_append_printf (said, " %zu bytes", self->arg_bytes[i]);
      else if (thing)
        g_string_append_printf (said, " %s", thing->name);
      else
        g_string_append_printf (said, " %d", *(int *) self->args[i]);
    } g_string_append_c (said, '\n');
    if (self->text && strstr (self->text, "td_check_texture"))
        look_at_texture (self, (guint) all[0]);)

/* ── Tests ── */

static void
play (guint n)
{
  memset (played, 0, sizeof played);
  n_played = n;
  for (guint i = 0; i < G_N_ELEMENTS (played); i++)
    played[i] = (Played) { .name = i ? " Played CPU " : "Played GPU",
                           .version = "OpenCL 3.0 played",
                           .extensions = "cl_khr_fp64",
                           .no_images = TRUE,
                           .type = i ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU };
  failing = NULL;
  memset (numbers, 0, sizeof numbers);
  g_string_truncate (said, 0);
}

static TdDevice *
open_played (const char *id)
{
  g_autoptr (GError) error = NULL;
  TdDevice *device = td_device_open (id, &error);

  g_assert_no_error (error);
  return device;
}

static void
close_played (TdDevice *device)
{
  td_test_close (device);
  g_assert_cmpuint (things->len, ==, 0);
}

static const TdDeviceEntry *
listed (GPtrArray *entries, const char *id)
{
  for (guint i = 0; i < entries->len; i++)
    if (strcmp (((const TdDeviceEntry *) entries->pdata[i])->id, id) == 0)
      return entries->pdata[i];
  return NULL;
}

static void
check_entry (const char *id, const char *name, TdDeviceKind kind, const char *place,
             const char *reason)
{
  g_autoptr (GPtrArray) entries = td_device_list ();
  const TdDeviceEntry *entry = listed (entries, id);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (entry);
  g_assert_cmpstr (entry->name, ==, name);
  g_assert_cmpstr (entry->api, ==, "opencl");
  g_assert_cmpint (entry->kind, ==, kind);
  g_assert_cmpuint (entry->memory_bytes, ==, 5000000000);
  g_assert_cmpstr (entry->hardware_id, ==, place);
  g_assert_cmpstr (entry->reason, ==, reason);
  g_assert_cmpint (entry->available, ==, !reason);
  g_autoptr (TdDevice) device = td_device_open (id, &error);
  g_assert_cmpint (device != NULL, ==, !reason);
  if (!reason)
    return;
  g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
  td_test_pin_refused (error);
  g_assert_true (g_str_has_prefix (error->message, id));
  g_assert_true (g_str_has_suffix (error->message, reason));
}

static void
test_list (void)
{
  g_autoptr (GError) error = NULL;

  play (3);
  played[0].extensions = "cl_khr_fp16 cl_khr_pci_bus_info cl_nv_device_attribute_query";
  check_entry ("opencl:0", "Played GPU", TD_DEVICE_GPU, "pci:0001:02:03.4", NULL);
  played[1].extensions = "cl_nv_device_attribute_query cl_amd_device_attribute_query";
  memcpy (played[1].nv_place, (guint[]) { 0x17, 0x1e, 0x10 }, sizeof played[1].nv_place);
  check_entry ("opencl:1", "Played CPU", TD_DEVICE_CPU, "pci:0010:17:03.6", NULL);
  played[2].extensions = "x cl_amd_device_attribute_query";
  played[2].type = CL_DEVICE_TYPE_ACCELERATOR;
  check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "pci:0000:fe:05.6", NULL);
  played[2].extensions = "not_cl_khr_pci_bus_info cl_khr_pci_bus_infos";
  check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "", NULL);

  static const struct {
    const char *version, *reason;
  } versions[] = {
    { "OpenCL 1.2 x", NULL },
    { "OpenCL 2.0", NULL },
    { "OpenCL 1.1 x", "the driver is older than OpenCL 1.2; update it" },
    { "OpenGL 3.0", "the driver is older than OpenCL 1.2; update it" },
    { "", "the driver is older than OpenCL 1.2; update it" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++) {
    played[2].version = versions[i].version;
    check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "", versions[i].reason);
  }
  played[2].big_endian = TRUE;
  check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "", "the device is big-endian");
  played[2].no_compiler = TRUE;
  check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "", "the driver brings no compiler");
  played[2].unavailable = TRUE;
  check_entry ("opencl:2", "Played CPU", TD_DEVICE_OTHER, "",
               "the driver says that the device is not available");

  g_assert_null (td_device_open ("opencl:3", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  td_test_pin_refused (error);
  g_assert_cmpstr (error->message, ==,
                   "there is no device 'opencl:3', only 3 OpenCL devices; 'tomodesk-cli devices' "
                   "lists them");
  g_assert_cmpuint (things->len, ==, 0);
}

/* Without a driver, without a platform that has a device, and where only one has. */
static void
test_list_short (void)
{
  play (0);
  g_autoptr (GPtrArray) none = td_device_list ();
  g_assert_nonnull (strstr (listed (none, "opencl")->reason, "no OpenCL driver is installed"));
  play (3);
  failing = "clGetPlatformIDs";
  failing_status = -1001;
  g_autoptr (GPtrArray) failed = td_device_list ();
  g_assert_false (listed (failed, "opencl")->available);
  play (1);
  g_autoptr (GPtrArray) one = td_device_list ();
  g_assert_nonnull (listed (one, "opencl:0"));
  g_assert_null (listed (one, "opencl:1"));
  g_assert_null (listed (one, "opencl"));
  /* What two ways lead to is one card. */
  play (2);
  played[0].extensions = played[1].extensions = "cl_khr_pci_bus_info";
  g_autoptr (GPtrArray) same = td_device_list ();
  g_assert_null (listed (same, "opencl:0")->same_as);
  g_assert_cmpstr (listed (same, "opencl:1")->same_as, ==, "opencl:0");
  played[0].extensions = played[1].extensions = "";
  g_autoptr (GPtrArray) unknown = td_device_list ();
  g_assert_null (listed (unknown, "opencl:1")->same_as);
}

static void
test_info (void)
{
  static const struct {
    const char *extensions;
    guint nv_arch;
    gboolean half, full;
  } cases[] = {
    { "cl_khr_fp16", 0, TRUE, FALSE },
    { "cl_khr_fp64", 99, FALSE, TRUE },
    { "cl_nv_compiler_options", 60, TRUE, FALSE },
    { "cl_nv_compiler_options cl_khr_fp64", 59, FALSE, TRUE },
  };

  play (2);
  TdDevice *device = open_played ("opencl:0"), *cpu = open_played ("opencl:1");
  const TdDeviceInfo *info = td_device_info (device);
  g_assert_cmpstr (info->id, ==, "opencl:0");
  g_assert_cmpstr (info->name, ==, "Played GPU");
  g_assert_cmpstr (info->vendor, ==, "A vendor");
  g_assert_cmpstr (info->api, ==, "opencl");
  g_assert_cmpstr (info->driver, ==, "7.1, OpenCL 3.0 played, OpenCL C 1.2");
  g_assert_cmpstr (info->hardware_id, ==, "");
  g_assert_cmpint (info->kind, ==, TD_DEVICE_GPU);
  g_assert_cmpuint (info->memory_bytes, ==, 5000000000);
  g_assert_cmpuint (info->max_alloc_bytes, ==, 1250000000);
  g_assert_cmpuint (info->compute_units, ==, 17);
  g_assert_cmpuint (info->local_memory_bytes, ==, 49152);
  g_assert_cmpuint (info->max_group_size, ==, 512);
  g_assert_cmpuint (info->most_groups, ==, 0);
  g_assert_cmpuint (info->arch, ==, 0);
  g_assert_cmpuint (info->texels, ==, 0);
  g_assert_true (info->half_storage && info->double_arithmetic);
  g_assert_false (info->texture_slow || info->cpu_shaped || info->host_pointers || info->shuffle
                  || info->half_arithmetic || info->texture_linear);
  g_assert_cmpstr (td_device_info (cpu)->id, ==, "opencl:1");
  g_assert_cmpstr (td_device_info (cpu)->name, ==, "Played CPU");
  g_assert_cmpint (td_device_info (cpu)->kind, ==, TD_DEVICE_CPU);
  g_assert_true (td_device_info (cpu)->texture_slow && td_device_info (cpu)->cpu_shaped);
  td_device_unref (cpu);
  close_played (device);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    played[0].extensions = cases[i].extensions;
    played[0].nv_arch = cases[i].nv_arch;
    device = open_played ("opencl:0");
    g_assert_cmpint (td_device_info (device)->half_arithmetic, ==, cases[i].half);
    g_assert_cmpint (td_device_info (device)->double_arithmetic, ==, cases[i].full);
    close_played (device);
  }
}

static void
test_memory_free (void)
{
  play (2);
  TdDevice *device = open_played ("opencl:0");
  g_assert_cmpuint (td_device_memory_free (device), ==, 5000000000);
  TdBuffer *buffer = td_buffer_new (device, 1000, NULL);
  g_assert_cmpuint (td_device_memory_free (device), ==, 4999999000);
  td_buffer_free (buffer);
  close_played (device);
  played[0].extensions = "cl_amd_device_attribute_query";
  played[0].free_kib = 3000;
  device = open_played ("opencl:0");
  g_assert_cmpuint (td_device_memory_free (device), ==, 3000 << 10);
  failing = "clGetDeviceInfo";
  failing_status = CL_INVALID_VALUE;
  g_assert_cmpuint (td_device_memory_free (device), ==, 5000000000);
  failing = NULL;
  close_played (device);
  TdDevice *cpu = open_played ("opencl:1");
  g_assert_cmpuint (td_device_memory_free (cpu), <=, td_host_memory_bytes ());
  close_played (cpu);
}

/* ── What is asked ── */

static void
test_asked (void)
{
  char data[100] = "";
  double seconds = 0;

  play (2);
  TdDevice *device = open_played ("opencl:0");
  assert_said ("c1 of Played GPU\nq1 in c1, properties 0\n");
  TdQueue *queue = td_queue_new (device, NULL);
  assert_said ("q2 in c1, properties 2\n");
  TdBuffer *one = td_buffer_new (device, 1000, NULL), *two = td_buffer_new (device, 500, NULL);
  assert_said ("m1 of 1000 bytes, flags 1\nq1: put m1 there, flags 2\nq1: finish\n"
               "m2 of 500 bytes, flags 1\nq1: put m2 there, flags 2\nq1: finish\n");
  td_upload (queue, one, 8, data, 12, NULL);
  td_download (queue, data, two, 100, 13, NULL);
  td_copy (queue, two, 3, one, 5, 14, NULL);
  assert_said ("q2: 12 bytes to m1+8\nq2: begin\nq2: 13 bytes from m2+100\nq2: begin\n"
               "q2: 14 bytes from m1+5 to m2+3\nq2: begin\n");
  td_fill_zero (queue, one, 8, 12, NULL);
  td_fill_zero (queue, one, 8, 13, NULL);
  td_fill_zero (queue, one, 9, 12, NULL);
  assert_said ("q2: 12 bytes, by 4, at m1+8\nq2: begin\nq2: 13 bytes, by 1, at m1+8\nq2: begin\n"
               "q2: 12 bytes, by 1, at m1+9\nq2: begin\n");
  TdEvent *first = td_event_record (queue, NULL), *then = td_event_record (queue, NULL);
  g_assert_true (td_event_wait (queue, then, NULL) && td_event_sync (first, NULL));
  assert_said ("q2: e1 after 0\nq2: begin\nq2: e2 after 0\nq2: begin\nq2: after e2\nq2: begin\n"
               "await e1\n");
  g_assert_true (td_event_elapsed (first, then, &seconds, NULL));
  g_assert_cmpfloat (fabs (seconds - 1.5), <, 1e-12);
  assert_said ("await e1 and e2\n");
  g_assert_true (td_queue_finish (queue, NULL));
  assert_said ("q2: e3 after 0\nawait e3\nfree e3\n");

  void *pinned = td_device_host_alloc (device, 70, NULL);
  assert_said ("m3 of 70 bytes, flags 17\nq1: map m3, 70 bytes at 0, flags 3 and wait\n");
  td_device_host_free (device, pinned);
  assert_said ("q1: unmap m3\nq1: finish\nfree m3\n");
  td_event_free (first);
  td_event_free (then);
  td_buffer_free (one);
  td_buffer_free (two);
  td_queue_free (queue);
  assert_said ("free e1\nfree e2\nfree m1\nfree m2\nq2: finish\nfree q2\n");
  close_played (device);
  assert_said ("free q1\nfree c1\n");
}

/* What a compiler is told, by kinds of devices; the binary that is kept serves the next time. */
static void
test_programs (void)
{
  static const char *const defines[]
      = { "GROUP=4", "FACTOR=(1 + 1)", "PLAIN", "TD_REGISTERS=64", NULL };
  const int seven = 7;

  play (2);
  played[1].platform = "Portable Computing Language"; /* not that of the device */
  TdDevice *device = open_played ("opencl:0");
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 64, NULL);
  g_string_truncate (said, 0);
  TdKernel *kernel = td_device_kernel (device, "check-device", defines, "td_one", NULL);
  assert_said ("p1 of source\np1: -cl-std=CL1.2 -w\nk1 is td_one of p1\n");
  g_assert_true (g_str_has_prefix (((Thing *) things->pdata[things->len - 1])->text,
                                   "#define GROUP 4\n#define FACTOR (1 + 1)\n#define PLAIN 1\n"
                                   "#define TD_REGISTERS 64\n"));
  g_assert_cmpuint (td_kernel_spilled (kernel), ==, 88);
  g_assert_true (td_launch (queue, kernel, (guint[]) { 2, 3, 4 }, (guint[]) { 5, 6, 7 },
                            TD_ARGS (buffer, seven, ((TdLocal) { 48 })), NULL));
  assert_said ("q2: k1, 10 18 28 in groups of 5 6 7, m1 7 48 bytes\nq2: begin\n");
  td_buffer_free (buffer);
  td_queue_free (queue);
  close_played (device);

  device = open_played ("opencl:0");
  g_string_truncate (said, 0);
  g_assert_nonnull (td_device_kernel (device, "check-device", defines, "td_one", NULL));
  g_assert_true (strstr (said->str, "bytes\np2: -cl-std=CL1.2 -w\nk2 is td_one of p2\n")
                 && strstr (said->str, "p2 of ") && !strstr (said->str, "source"));
  close_played (device);
  /* A binary that the driver no longer takes is made anew. */
  played[0].refuses_binary = TRUE;
  device = open_played ("opencl:0");
  g_string_truncate (said, 0);
  g_assert_nonnull (td_device_kernel (device, "check-device", defines, "td_one", NULL));
  g_assert_true (g_str_has_suffix (said->str, "free p3\np4 of source\np4: -cl-std=CL1.2 -w\n"
                                              "k3 is td_one of p4\n"));
  close_played (device);

  played[0].name = "Another GPU";
  played[0].extensions = "cl_nv_compiler_options";
  played[0].nv_arch = 75;
  device = open_played ("opencl:0");
  g_string_truncate (said, 0);
  g_assert_nonnull (td_device_kernel (device, "check-device", defines, "td_one", NULL));
  assert_said ("p5 of source\np5: -cl-std=CL1.2 -w -DTD_NV_ARCH=75 -DTD_REGISTER_LIMIT=1 "
               "-cl-nv-maxrregcount=64\nk4 is td_one of p5\n");
  g_assert_nonnull (td_device_kernel (device, "check-device", defines + 4, "td_one", NULL));
  assert_said ("p6 of source\np6: -cl-std=CL1.2 -w -DTD_NV_ARCH=75\nk5 is td_one of p6\n");
  close_played (device);

  /* PoCL keeps its programs itself. */
  played[0].name = "Third GPU";
  played[0].platform = "Portable Computing Language";
  played[1].platform = "Another";
  for (guint i = 0; i < 2; i++) {
    device = open_played ("opencl:0");
    g_string_truncate (said, 0);
    g_assert_nonnull (td_device_kernel (device, "check-device", defines, "td_one", NULL));
    g_assert_nonnull (strstr (said->str, "of source"));
    close_played (device);
  }
}

/* The line of a compiler's words that a person needs. */
static void
test_build_logs (void)
{
  static const struct {
    const char *log, *says;
  } cases[] = {
    { "note: 1\n  file.cl:3: error: no such name  \nerror: more",
      ": file.cl:3: error: no such name; "
      "try" },
    { "  it is broken\nfor good", "(GROUP=4 B) does not build: it is broken" },
    { "", "does not build: the driver gives no reason; try" },
  };
  static const char *const defines[] = { "GROUP=4", "B", NULL };

  play (2);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    played[0].name = "GPU without programs";
    played[0].build_log = cases[i].log;
    TdDevice *device = open_played ("opencl:0");
    g_assert_null (td_device_kernel (device, "check-device", defines, "td_one", &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
    td_test_pin_refused (error);
    g_test_message ("%s", error->message);
    g_assert_nonnull (
        strstr (error->message, "(opencl:0): the program 'check-device' (GROUP=4 B)"));
    g_assert_nonnull (strstr (error->message, cases[i].says));
    close_played (device);
  }
}

/* ── Calls that fail ── */

static gboolean
ask_pinned (const TdAsked *asked, GError **error)
{
  void *memory = td_device_host_alloc (asked->device, 10, error);

  td_device_host_free (asked->device, memory);
  return memory != NULL;
}

static gboolean
ask_transform (const TdAsked *asked, GError **error)
{
  return td_fft_run (asked->queue, asked->fft, asked->buffer, FALSE, error);
}

static const struct {
  TdAsking asking;
  const char *call, *says;
} asked_calls[] = {
  { td_ask_buffer, "clCreateBuffer", "buffer: " },
  { td_ask_buffer, "clEnqueueMigrateMemObjects", "buffer: " },
  { td_ask_buffer, "clFinish", "buffer: " },
  { ask_pinned, "clCreateBuffer", "10 bytes of host memory for transfers could not be had" },
  { ask_pinned, "clEnqueueMapBuffer", "10 bytes of host memory for transfers could not be had" },
  { td_ask_queue, "clCreateCommandQueue", "queue: " },
  { td_ask_finish, "clEnqueueMarkerWithWaitList", "waiting for the device: " },
  { td_ask_finish, "clWaitForEvents", "waiting for the device: " },
  { td_ask_upload, "clEnqueueWriteBuffer", "upload: " },
  { td_ask_upload, "clFlush", "upload: " },
  { td_ask_download, "clEnqueueReadBuffer", "download: " },
  { td_ask_download, "clFlush", "download: " },
  { td_ask_copy, "clEnqueueCopyBuffer", "copy: " },
  { td_ask_copy, "clFlush", "copy: " },
  { td_ask_zero, "clEnqueueFillBuffer", "fill: " },
  { td_ask_zero, "clFlush", "fill: " },
  { td_ask_record, "clEnqueueMarkerWithWaitList", "event: " },
  { td_ask_wait, "clEnqueueBarrierWithWaitList", "waiting for an event: " },
  { td_ask_wait, "clFlush", "waiting for an event: " },
  { td_ask_sync, "clWaitForEvents", "waiting for the device: " },
  { td_ask_elapsed, "clWaitForEvents", "waiting for the device: " },
  { td_ask_elapsed, "clGetEventProfilingInfo", "waiting for the device: " },
  { td_ask_kernel, "clCreateProgramWithSource", "check-device: " },
  { td_ask_kernel, "clCreateKernel", "td_new: " },
  { td_ask_launch, "clSetKernelArg", "td_old: " },
  { td_ask_launch, "clEnqueueNDRangeKernel", "td_old: " },
  { td_ask_launch, "clFlush", "td_old: " },
  { ask_transform, "clEnqueueNativeKernel", "FFT: " },
  { ask_transform, "clFlush", "FFT: " },
};

/* One call fails: that is said, and nothing is left behind. Afterwards all is well. */
static void
check_failing (const TdAsked *asked, guint i)
{
  g_autoptr (GError) error = NULL, none = NULL;
  const guint64 objects = td_test_live_objects (asked->device);
  const guint64 bytes = td_test_allocated (asked->device);
  const guint n_things = things->len;
  const char *call = asked_calls[i].call;
  const gboolean pinned = asked_calls[i].asking == ask_pinned;
  g_autofree char *begin = g_strconcat ("Played CPU (opencl:1): ", asked_calls[i].says,
                                        pinned ? "" : "the device is gone (OpenCL error -2)", NULL);

  failing = call;
  failing_status = CL_DEVICE_NOT_AVAILABLE;
  g_assert_false (asked_calls[i].asking (asked, &error));
  failing = NULL;
  if (!error || !g_str_has_prefix (error->message, begin))
    g_error ("%s fails: %s", call, error ? error->message : "nothing is said");
  g_assert_cmpint (error->code, ==, pinned ? TD_ERROR_DEVICE_MEMORY : TD_ERROR_DEVICE_LOST);
  /* What a program was built into stays, though a kernel of it is not found. */
  g_assert_cmpuint (things->len - n_things, ==, strcmp (call, "clCreateKernel") == 0);
  g_assert_cmpuint (td_test_live_objects (asked->device), ==, objects);
  g_assert_cmpuint (td_test_allocated (asked->device), ==, bytes);
  g_assert_true (asked_calls[i].asking (asked, &none));
  g_assert_no_error (none);
}

static void
test_asked_in_vain (void)
{
  play (2);
  TdDevice *device = open_played ("opencl:1");
  TdAsked asked = { .device = device,
                    .queue = td_queue_new (device, NULL),
                    .buffer = td_buffer_new (device, 1000, NULL),
                    .kernel = td_device_kernel (device, "check-device", NULL, "td_old", NULL),
                    .fft = td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { 4, 1 }, 2, NULL) };

  asked.event = td_event_record (asked.queue, NULL);
  g_assert_true (asked.buffer && asked.kernel && asked.fft && asked.event);
  for (guint i = 0; i < G_N_ELEMENTS (asked_calls); i++)
    check_failing (&asked, i);
  /* Where waiting failed the work may go on: nothing is freed before it has ended. */
  g_string_truncate (said, 0);
  failing = "clWaitForEvents";
  g_assert_false (td_queue_finish (asked.queue, NULL));
  failing = NULL;
  g_assert_true (g_str_has_suffix (said->str, "q2: finish\n"));
  td_fft_free (asked.fft);
  td_event_free (asked.event);
  td_buffer_free (asked.buffer);
  td_queue_free (asked.queue);
  close_played (device);

  static const char *const opening[] = { "clCreateContext", "clCreateCommandQueue" };
  for (guint i = 0; i < G_N_ELEMENTS (opening); i++) {
    g_autoptr (GError) error = NULL;
    failing = opening[i];
    g_assert_null (td_device_open ("opencl:0", &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_LOST);
    td_test_pin_refused (error);
    g_assert_true (g_str_has_prefix (error->message, "opening the device: the device is gone"));
    g_assert_cmpuint (things->len, ==, 0);
  }
  failing = NULL;
}

/* Each of the driver's errors, of a call and of work that had begun. */
static void
test_statuses (void)
{
  static const struct {
    cl_int status;
    TdErrorCode code;
    const char *says;
  } cases[] = {
    { -4, TD_ERROR_DEVICE_MEMORY, "the device's memory is full (OpenCL error -4); compute fewer" },
    { -5, TD_ERROR_DEVICE_MEMORY, "the device is out of resources (OpenCL error -5); compute" },
    { -6, TD_ERROR_DEVICE_MEMORY, "the driver has no memory left (OpenCL error -6); compute" },
    { -61, TD_ERROR_DEVICE_MEMORY, "the device does not give so much at once (OpenCL error -61);" },
    { -40, TD_ERROR_TOO_LARGE, "the texture is too large (OpenCL error -40)" },
    { -10, TD_ERROR_UNSUPPORTED, "the texel type is not supported (OpenCL error -10)" },
    { -11, TD_ERROR_DEVICE_BUILD, "the program does not build (OpenCL error -11)" },
    { -3, TD_ERROR_DEVICE_BUILD, "the driver brings no compiler (OpenCL error -3)" },
    { -42, TD_ERROR_DEVICE_BUILD, "the built program is not valid (OpenCL error -42)" },
    { -2, TD_ERROR_DEVICE_LOST, "the device is gone (OpenCL error -2)" },
    { -36, TD_ERROR_DEVICE_LOST, "the device stopped answering (OpenCL error -36)" },
    { -14, TD_ERROR_DEVICE_LOST, "earlier work failed (OpenCL error -14)" },
    { -9999, TD_ERROR_DEVICE_LOST,
      "a kernel accessed memory it does not have (OpenCL error -9999" },
    { -30, TD_ERROR_DEVICE_BUG, "the driver refused the call (OpenCL error -30)" },
    { -1, TD_ERROR_DEVICE_BUG, "the driver refused the call (OpenCL error -1)" },
  };

  play (2);
  TdDevice *device = open_played ("opencl:0");
  TdQueue *queue = td_queue_new (device, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL, later = NULL;
    const gboolean broken_off = cases[i].status == CL_OUT_OF_RESOURCES;
    failing = "clCreateBuffer";
    failing_status = cases[i].status;
    g_assert_null (td_buffer_new (device, 10, &error));
    g_assert_error (error, TD_ERROR, (int) cases[i].code);
    td_test_pin_refused (error);
    g_assert_nonnull (strstr (error->message, cases[i].says));
    failing = "clWaitForEvents";
    g_assert_false (td_queue_finish (queue, &later));
    g_assert_error (later, TD_ERROR, (int) (broken_off ? TD_ERROR_DEVICE_LOST : cases[i].code));
    td_test_pin_refused (later);
    g_assert_nonnull (
        strstr (later->message, broken_off ? "a kernel ran too long or" : cases[i].says));
  }
  failing = NULL;
  td_queue_free (queue);
  close_played (device);
}

/* ── Textures ── */

static guint
texels_of (const char *name, const char *wrong)
{
  played[0].name = name;
  played[0].wrong = wrong;
  TdDevice *device = open_played ("opencl:0");
  const guint texels = td_device_info (device)->texels;
  g_assert_cmpint (td_device_info (device)->texture_linear, ==, texels != 0);
  close_played (device);
  return texels;
}

/* Those that the driver has, and that are right. What was found is remembered, but not a failure.
 */
static void
test_textures (void)
{
  enum { CLAIMED = 0x1f };
  static const struct {
    const char *wrong;
    guint texels;
  } cases[] = {
    { "", CLAIMED },
    { "clamped", 0 },
    { "one-layer", 0 },
    { "turned", 0 },
    { "nearest", 0 },
    { "a-little", 0 },
    { "one-channel", 1 << TD_TEXEL_R32F | 1 << TD_TEXEL_R16F },
  };

  play (2);
  played[0].no_images = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strdup_printf ("GPU %u", i);
    g_assert_cmpuint (texels_of (name, cases[i].wrong), ==, cases[i].texels);
    g_assert_nonnull (strstr (said->str, "i1"));
    g_string_truncate (said, 0);
    numbers['i'] = 0;
    g_assert_cmpuint (texels_of (name, "turned"), ==, cases[i].texels);
    g_assert_null (strstr (said->str, "i1"));
  }
  failing = "clCreateImage";
  failing_status = CL_OUT_OF_RESOURCES;
  g_assert_cmpuint (texels_of ("GPU in use", ""), ==, 0);
  failing = NULL;
  g_assert_cmpuint (texels_of ("GPU in use", ""), ==, CLAIMED);
  failing = "clGetSupportedImageFormats";
  g_assert_cmpuint (texels_of ("GPU in use", ""), ==, 0);
  failing = NULL;

  TdDevice *device = open_played ("opencl:0");
  g_assert_cmpuint (td_device_info (device)->texture_max[0], ==, 16384);
  g_assert_cmpuint (td_device_info (device)->texture_max[1], ==, 8192);
  g_assert_cmpuint (td_device_info (device)->texture_max_layers, ==, 300);
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, 1000, NULL);
  numbers['i'] = 0;
  g_string_truncate (said, 0);
  const TdTextureSpec layered
      = { .texel = TD_TEXEL_RG16F, .width = 5, .height = 3, .layers = 2, .linear = TRUE };
  const TdTextureSpec flat = { .texel = TD_TEXEL_RGBA32F, .width = 4, .height = 2 };
  TdTexture *one = td_texture_new (device, &layered, NULL);
  TdTexture *two = td_texture_new (device, &flat, NULL);
  assert_said ("i1, flags 4, order 10b2, type 10dd, kind 10f3 of 5 x 3 x 2\n"
               "i2, flags 4, order 10b5, type 10de, kind 10f1 of 4 x 2 x 0\n");
  g_autofree char *name = g_strdup (((Thing *) things->pdata[things->len - 3])->name);
  g_assert_true (td_texture_write (queue, one, 1, buffer, 40, NULL));
  g_assert_nonnull (strstr (said->str, ": 5 x 3 x 1 texels from "));
  g_assert_nonnull (strstr (said->str, "+40 to i1 at 0 0 0\n"));
  td_texture_free (one);
  td_texture_free (two);
  td_buffer_free (buffer);
  td_queue_free (queue);
  close_played (device);
}

/* On processors that can, FFTW makes them. */
static void
test_transforms (void)
{
  enum { N = 12, BATCH = 3 };
  float values[2 * N * BATCH], got[2 * N * BATCH];

  play (2);
  TdDevice *device = open_played ("opencl:1");
  TdQueue *queue = td_queue_new (device, NULL);
  TdBuffer *buffer = td_buffer_new (device, sizeof values, NULL);
  TdFft *fft = td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { N, 1 }, BATCH, NULL);
  td_test_random (values, G_N_ELEMENTS (values), 4);
  for (guint inverse = 0; inverse < 2; inverse++) {
    td_upload (queue, buffer, 0, values, sizeof values, NULL);
    g_string_truncate (said, 0);
    g_assert_true (td_fft_run (queue, fft, buffer, inverse, NULL));
    assert_said ("q2: run with m1\nq2: begin\n");
    td_download (queue, got, buffer, 0, sizeof got, NULL);
    for (guint b = 0; b < BATCH; b++)
      for (guint k = 0; k < N; k++) {
        double re = 0, im = 0;
        for (guint x = 0; x < N; x++) {
          const double turn = (inverse ? 2 : -2) * G_PI * k * x / N;
          const float *value = values + 2 * (b * N + x);
          re += value[0] * cos (turn) - value[1] * sin (turn);
          im += value[0] * sin (turn) + value[1] * cos (turn);
        }
        g_assert_cmpfloat (fabs (got[2 * (b * N + k)] - re), <, 1e-5);
        g_assert_cmpfloat (fabs (got[2 * (b * N + k) + 1] - im), <, 1e-5);
      }
  }
  td_fft_free (fft);
  td_buffer_free (buffer);
  td_queue_free (queue);
  close_played (device);
}

int
main (int argc, char **argv)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  g_setenv ("XDG_CACHE_HOME", folder->path, TRUE);
  g_setenv ("TOMODESK_CUDA_PATH", folder->path, TRUE); /* none of NVIDIA's */
  g_test_init (&argc, &argv, NULL);
  things = g_ptr_array_new ();
  said = g_string_new (NULL);
  g_test_add_func ("/opencl/list", test_list);
  g_test_add_func ("/opencl/list-short", test_list_short);
  g_test_add_func ("/opencl/info", test_info);
  g_test_add_func ("/opencl/memory-free", test_memory_free);
  g_test_add_func ("/opencl/asked", test_asked);
  g_test_add_func ("/opencl/programs", test_programs);
  g_test_add_func ("/opencl/build-logs", test_build_logs);
  g_test_add_func ("/opencl/asked-in-vain", test_asked_in_vain);
  g_test_add_func ("/opencl/statuses", test_statuses);
  g_test_add_func ("/opencl/textures", test_textures);
  g_test_add_func ("/opencl/transforms", test_transforms);
  const int status = g_test_run ();
  g_string_free (said, TRUE);
  g_ptr_array_unref (things);
  return status;
}
