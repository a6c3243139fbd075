/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL: finding and opening devices, memory, error classes. */
#include "host-private.h"
#include "opencl-private.h"

#include <string.h>

/* cl_nv_device_attribute_query; Khronos' header has no names for the place on the bus. */
#define NV_WARP_SIZE 0x4003
#define NV_PCI_BUS_ID 0x4008
#define NV_PCI_SLOT_ID 0x4009
#define NV_PCI_DOMAIN_ID 0x400A

/* ── Errors ── */

static const struct {
  cl_int status;
  TdErrorCode code;
  const char *text;
} classes[] = {
  { CL_MEM_OBJECT_ALLOCATION_FAILURE, TD_ERROR_DEVICE_MEMORY, "the device's memory is full" },
  { CL_OUT_OF_RESOURCES, TD_ERROR_DEVICE_MEMORY, "the device is out of resources" },
  { CL_OUT_OF_HOST_MEMORY, TD_ERROR_DEVICE_MEMORY, "the driver has no memory left" },
  { CL_INVALID_BUFFER_SIZE, TD_ERROR_DEVICE_MEMORY, "the device does not give so much at once" },
  { CL_INVALID_IMAGE_SIZE, TD_ERROR_TOO_LARGE, "the texture is too large" },
  { CL_IMAGE_FORMAT_NOT_SUPPORTED, TD_ERROR_UNSUPPORTED, "the texel type is not supported" },
  { CL_BUILD_PROGRAM_FAILURE, TD_ERROR_DEVICE_BUILD, "the program does not build" },
  { CL_COMPILER_NOT_AVAILABLE, TD_ERROR_DEVICE_BUILD, "the driver brings no compiler" },
  { CL_INVALID_BINARY, TD_ERROR_DEVICE_BUILD, "the built program is not valid" },
  { CL_DEVICE_NOT_AVAILABLE, TD_ERROR_DEVICE_LOST, "the device is gone" },
  { CL_INVALID_COMMAND_QUEUE, TD_ERROR_DEVICE_LOST, "the device stopped answering" },
  { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, TD_ERROR_DEVICE_LOST, "earlier work failed" },
  { -9999, TD_ERROR_DEVICE_LOST, "a kernel accessed memory it does not have" }, /* NVIDIA */
};

gboolean
td_opencl_check (cl_int status, const char *what, GError **error)
{
  TdErrorCode code = TD_ERROR_DEVICE_BUG;
  const char *text = "the driver refused the call";

  if (status == CL_SUCCESS)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (classes); i++)
    if (classes[i].status == status) {
      code = classes[i].code;
      text = classes[i].text;
    }
  td_set_error (error, code, "%s: %s (OpenCL error %d)%s", what, text, status,
                code == TD_ERROR_DEVICE_MEMORY ? "; compute fewer slices at once" : "");
  return FALSE;
}

/* ── Questions ── */

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

gboolean
td_opencl_has_extension (cl_device_id device, const char *name)
{
  g_autofree char *all = opencl_string (device, CL_DEVICE_EXTENSIONS);
  g_auto (GStrv) words = g_strsplit (all, " ", -1);

  return g_strv_contains ((const char *const *) words, name);
}

guint
td_opencl_nv_arch (cl_device_id device)
{
  cl_uint major = 0, minor = 0;

  if (!td_opencl_has_extension (device, "cl_nv_compiler_options")
      || clGetDeviceInfo (device, 0x4000 /* COMPUTE_CAPABILITY_MAJOR_NV */, sizeof major, &major,
                          NULL)
             != CL_SUCCESS
      || clGetDeviceInfo (device, 0x4001 /* …_MINOR_NV */, sizeof minor, &minor, NULL)
             != CL_SUCCESS)
    return 0;
  return 10 * major + minor;
}

/* 0 if the device does not know the question. */
static guint64
opencl_device_number (cl_device_id device, cl_device_info what)
{
  guint64 value
      = 0; /* cl_uint, size_t and cl_ulong answers all fit: the machine is little-endian */

  if (clGetDeviceInfo (device, what, sizeof value, &value, NULL) != CL_SUCCESS)
    return 0;
  return GUINT64_FROM_LE (value);
}

static TdDeviceKind
device_kind (cl_device_id device)
{
  guint64 type = opencl_device_number (device, CL_DEVICE_TYPE);

  return type & CL_DEVICE_TYPE_GPU   ? TD_DEVICE_GPU
         : type & CL_DEVICE_TYPE_CPU ? TD_DEVICE_CPU
                                     : TD_DEVICE_OTHER;
}

static char *
hardware_id (cl_device_id device)
{
  if (td_opencl_has_extension (device, "cl_khr_pci_bus_info")) {
    cl_device_pci_bus_info_khr pci;
    if (clGetDeviceInfo (device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, NULL) == CL_SUCCESS)
      return td_device_pci_id (pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function);
  }
  if (td_opencl_has_extension (device, "cl_nv_device_attribute_query")) {
    guint slot = opencl_device_number (device,
                                       NV_PCI_SLOT_ID); /* device and function, as PCI packs them */
    return td_device_pci_id (opencl_device_number (device, NV_PCI_DOMAIN_ID),
                             opencl_device_number (device, NV_PCI_BUS_ID), slot >> 3, slot & 7);
  }
  if (td_opencl_has_extension (device, "cl_amd_device_attribute_query")) {
    cl_device_topology_amd place;
    if (clGetDeviceInfo (device, CL_DEVICE_TOPOLOGY_AMD, sizeof place, &place, NULL) == CL_SUCCESS
        && place.raw.type == CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD)
      return td_device_pci_id (0, (guint8) place.pcie.bus, (guint8) place.pcie.device,
                               (guint8) place.pcie.function);
  }
  return g_strdup ("");
}

/* A sensible default where no extension tells: every GPU since 2008 runs 32 or a divisor in step.
 */
static guint
warp_width (cl_device_id device)
{
  guint width = 0;

  if (device_kind (device) == TD_DEVICE_CPU)
    return 1;
  if (td_opencl_has_extension (device, "cl_nv_device_attribute_query"))
    width = opencl_device_number (device, NV_WARP_SIZE);
  else if (td_opencl_has_extension (device, "cl_amd_device_attribute_query"))
    width = opencl_device_number (device, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  return width ? width : 32;
}

/* Why a device cannot be used; NULL: it can. */
static const char *
opencl_device_unusable (cl_device_id device)
{
  g_autofree char *version = opencl_string (device, CL_DEVICE_VERSION); /* "OpenCL 3.0 …" */

  if (!opencl_device_number (device, CL_DEVICE_AVAILABLE))
    return "the driver says that the device is not available";
  if (!opencl_device_number (device, CL_DEVICE_COMPILER_AVAILABLE))
    return "the driver brings no compiler";
  if (!opencl_device_number (device, CL_DEVICE_ENDIAN_LITTLE))
    return "the device is big-endian";
  if (strncmp (version, "OpenCL ", 7) != 0 || g_ascii_strtod (version + 7, NULL) < 1.2)
    return "the driver is older than OpenCL 1.2; update it";
  return NULL;
}

/* ── Finding ── */

/* All devices of all platforms, in the platforms' order; the index is the number in the id. */
static GArray *
all_devices (void)
{
  GArray *devices = g_array_new (FALSE, FALSE, sizeof (cl_device_id));
  cl_platform_id platforms[64];
  cl_uint n_platforms = 0;

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
                                          opencl_device_number (device, CL_DEVICE_GLOBAL_MEM_SIZE),
                                          place, opencl_device_unusable (device)));
  }
  if (!devices->len)
    g_ptr_array_add (entries,
                     td_device_entry_new ("opencl", "OpenCL", "opencl", TD_DEVICE_OTHER, 0, NULL,
                                          "no OpenCL driver is installed; install your graphics "
                                          "card's, or pocl-opencl-icd for the CPU"));
}

/* ── Memory ── */

static guint64
opencl_device_memory_free (TdDevice *device)
{
  TdOpenclDevice *self = (TdOpenclDevice *) device;
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
opencl_device_buffer_new (TdDevice *device, guint64 bytes, TdBuffer **buffer, GError **error)
{
  TdOpenclDevice *self = (TdOpenclDevice *) device;
  cl_int status;
  cl_mem memory = clCreateBuffer (self->context, CL_MEM_READ_WRITE, bytes, NULL, &status);

  if (!td_opencl_check (status, "buffer", error))
    return FALSE;
  /* Drivers allocate at first use; a full device is to be noticed here, where halving helps. */
  status = clEnqueueMigrateMemObjects (self->service, 1, &memory,
                                       CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clFinish (self->service);
  if (!td_opencl_check (status, "buffer", error)) {
    clReleaseMemObject (memory);
    return FALSE;
  }
  TdOpenclBuffer *new = g_new0 (TdOpenclBuffer, 1);
  new->memory = memory;
  *buffer = &new->base;
  return TRUE;
}

static void
opencl_device_buffer_free (TdBuffer *buffer)
{
  clReleaseMemObject (((TdOpenclBuffer *) buffer)->memory);
  g_free (buffer);
}

static void *
opencl_device_buffer_map (TdBuffer *buffer)
{
  return NULL;
}

/* OpenCL has no call for pinned memory; a mapped ALLOC_HOST_PTR buffer is what drivers pin. */
static void *
opencl_device_host_alloc (TdDevice *device, guint64 bytes)
{
  TdOpenclDevice *self = (TdOpenclDevice *) device;
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
opencl_device_host_free (TdDevice *device, void *address)
{
  TdOpenclDevice *self = (TdOpenclDevice *) device;

  g_mutex_lock (&self->pinned_lock);
  cl_mem memory = g_hash_table_lookup (self->pinned, address);
  g_hash_table_remove (self->pinned, address);
  g_mutex_unlock (&self->pinned_lock);
  g_return_if_fail (memory);
  clEnqueueUnmapMemObject (self->service, memory, address, 0, NULL, NULL);
  clFinish (self->service);
  clReleaseMemObject (memory);
}

/* ── Opening ── */

static void
opencl_device_free (TdDevice *device)
{
  TdOpenclDevice *self = (TdOpenclDevice *) device;

  td_opencl_fft_close (self);
  g_hash_table_unref (self->pinned);
  g_mutex_clear (&self->pinned_lock);
  if (self->service)
    clReleaseCommandQueue (self->service);
  if (self->context)
    clReleaseContext (self->context);
  g_free (self);
}

static const TdDeviceOps opencl_ops = {
  .device_free = opencl_device_free,
  .memory_free = opencl_device_memory_free,
  .buffer_new = opencl_device_buffer_new,
  .buffer_free = opencl_device_buffer_free,
  .buffer_map = opencl_device_buffer_map,
  .host_alloc = opencl_device_host_alloc,
  .host_free = opencl_device_host_free,
  .queue_new = td_opencl_queue_new,
  .queue_free = td_opencl_queue_free,
  .queue_finish = td_opencl_queue_finish,
  .upload = td_opencl_upload,
  .download = td_opencl_download,
  .copy = td_opencl_copy,
  .fill_zero = td_opencl_fill_zero,
  .texture_new = td_opencl_texture_new,
  .texture_free = td_opencl_texture_free,
  .texture_write = td_opencl_texture_write,
  .dialect = "opencl.h",
  .program_build = td_opencl_program_build,
  .program_free = td_opencl_program_free,
  .program_kernel = td_opencl_program_kernel,
  .kernel_free = td_opencl_kernel_free,
  .kernel_info = td_opencl_kernel_info,
  .launch = td_opencl_launch,
  .event_record = td_opencl_event_record,
  .event_wait = td_opencl_event_wait,
  .event_sync = td_opencl_event_sync,
  .event_elapsed = td_opencl_event_elapsed,
  .event_free = td_opencl_event_free,
  .fft_new = td_opencl_fft_new,
  .fft_run = td_opencl_fft_run,
  .fft_free = td_opencl_fft_free,
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
opencl_device_describe (TdOpenclDevice *self, guint index)
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
    .memory_bytes = opencl_device_number (device, CL_DEVICE_GLOBAL_MEM_SIZE),
    .max_alloc_bytes = opencl_device_number (device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
    .compute_units = opencl_device_number (device, CL_DEVICE_MAX_COMPUTE_UNITS),
    .warp_width = warp_width (device),
    .local_memory_bytes = opencl_device_number (device, CL_DEVICE_LOCAL_MEM_SIZE),
    .max_group_size = opencl_device_number (device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
    .texture_slow = is_cpu,
    .half_storage = TRUE,
    /* NVIDIA's has no extension for it, but takes the instructions: kernels/dialect/opencl.h */
    .half_arithmetic
    = td_opencl_has_extension (device, "cl_khr_fp16") || td_opencl_nv_arch (device) >= 60,
    .cpu_shaped = is_cpu,
  };
  self->sub_buffer_alignment
      = MAX (1, opencl_device_number (device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  self->amd_free_memory = td_opencl_has_extension (device, "cl_amd_device_attribute_query");
}

gboolean
td_opencl_open (guint index, TdDevice **device, GError **error)
{
  g_autoptr (GArray) devices = all_devices ();
  cl_int status;

  if (index >= devices->len) {
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  "there is no device 'opencl:%u', only %u OpenCL devices; 'tomodesk-cli devices' "
                  "lists them",
                  index, devices->len);
    return FALSE;
  }
  cl_device_id found = g_array_index (devices, cl_device_id, index);
  if (opencl_device_unusable (found)) {
    td_set_error (error, TD_ERROR_UNSUPPORTED, "opencl:%u: %s", index,
                  opencl_device_unusable (found));
    return FALSE;
  }

  TdOpenclDevice *self = g_new0 (TdOpenclDevice, 1);
  td_device_init (&self->base, &opencl_ops);
  g_mutex_init (&self->pinned_lock);
  self->pinned = g_hash_table_new (NULL, NULL);
  self->device = found;
  self->context = clCreateContext (NULL, 1, &found, NULL, NULL, &status);
  if (status == CL_SUCCESS)
    self->service = clCreateCommandQueue (self->context, found, 0, &status);
  if (!td_opencl_check (status, "opening the device", error)) {
    td_device_clear (&self->base);
    return FALSE;
  }
  opencl_device_describe (self, index);
  td_opencl_texture_probe (self);
  *device = &self->base;
  return TRUE;
}
