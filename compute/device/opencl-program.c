/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL: programs through the program cache, kernels, launches. */
#include "opencl-private.h"
#include "program-cache.h"

#include <string.h>

/* -w: PoCL prints the count of warnings on standard error, past our own messages. */
#define OPTIONS "-cl-std=CL1.2 -w"

typedef struct {
  TdProgram base;
  TdOpenclDevice *device;
  cl_program program;
} OpenclProgram;

typedef struct {
  TdKernel base;
  cl_device_id device;
  cl_kernel kernel;
  GMutex lock; /* arguments are the kernel's state until it is enqueued */
} OpenclKernel;

/* ── Building ── */

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

/* What NVIDIA's compiler takes beside OpenCL C: its architecture, for copies past the registers
   (TD_NV_ARCH), and the occupancy a kernel aims at as a limit of registers (TD_REGISTERS), which it
   hears only of kernels without a required group size (TD_REGISTER_LIMIT). (transfer full) */
static char *
build_options (TdOpenclDevice *device, const char *const *defines)
{
  g_autoptr (GString) options = g_string_new (OPTIONS);
  guint arch = td_opencl_nv_arch (device->device);

  if (!td_opencl_has_extension (device->device, "cl_nv_compiler_options"))
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
from_cache (TdOpenclDevice *device, const char *key)
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
from_source (TdOpenclDevice *device, const char *name, const char *source,
             const char *const *defines, GError **error)
{
  g_autofree char *text = with_defines (source, defines);
  g_autofree char *options = build_options (device, defines);
  cl_int status;
  cl_program program
      = clCreateProgramWithSource (device->context, 1, (const char **) &text, NULL, &status);

  if (!td_opencl_check (status, name, error))
    return NULL;
  if (clBuildProgram (program, 1, &device->device, options, NULL, NULL) == CL_SUCCESS)
    return program;

  g_autofree char *reason = first_error (program, device->device);
  g_autofree char *all = g_strjoinv (" ", (char **) defines);
  td_set_error (
      error, TD_ERROR_DEVICE_BUILD,
      "the program '%s' (%s) does not build: %s; try another kernel family or a newer driver", name,
      all, reason);
  clReleaseProgram (program);
  return NULL;
}

gboolean
td_opencl_program_build (TdDevice *device, const char *name, const char *source,
                         const char *const *defines, TdProgram **program, GError **error)
{
  TdOpenclDevice *opencl = (TdOpenclDevice *) device;
  g_autofree char *key = td_program_cache_key (&device->info, OPTIONS, source, defines);
  cl_program built = from_cache (opencl, key);

  if (!built) {
    built = from_source (opencl, name, source, defines, error);
    if (!built)
      return FALSE;
    to_cache (built, key);
  }
  OpenclProgram *self = g_new0 (OpenclProgram, 1);
  self->device = opencl;
  self->program = built;
  *program = &self->base;
  return TRUE;
}

void
td_opencl_program_free (TdProgram *program)
{
  clReleaseProgram (((OpenclProgram *) program)->program);
  g_free (program);
}

/* ── Kernels ── */

gboolean
td_opencl_program_kernel (TdProgram *program, const char *name, TdKernel **kernel, GError **error)
{
  OpenclProgram *from = (OpenclProgram *) program;
  cl_int status;
  cl_kernel made = clCreateKernel (from->program, name, &status);

  if (!td_opencl_check (status, name, error))
    return FALSE;
  OpenclKernel *self = g_new0 (OpenclKernel, 1);
  self->device = from->device->device;
  self->kernel = made;
  g_mutex_init (&self->lock);
  *kernel = &self->base;
  return TRUE;
}

void
td_opencl_kernel_free (TdKernel *kernel)
{
  OpenclKernel *self = (OpenclKernel *) kernel;

  clReleaseKernel (self->kernel);
  g_mutex_clear (&self->lock);
  g_free (self);
}

gboolean
td_opencl_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error)
{
  OpenclKernel *self = (OpenclKernel *) kernel;
  size_t most = 0;
  cl_ulong local = 0, private = 0;
  cl_int status = clGetKernelWorkGroupInfo (self->kernel, self->device, CL_KERNEL_WORK_GROUP_SIZE,
                                            sizeof most, &most, NULL);

  if (status == CL_SUCCESS)
    status = clGetKernelWorkGroupInfo (self->kernel, self->device, CL_KERNEL_LOCAL_MEM_SIZE,
                                       sizeof local, &local, NULL);
  if (status == CL_SUCCESS)
    status = clGetKernelWorkGroupInfo (self->kernel, self->device, CL_KERNEL_PRIVATE_MEM_SIZE,
                                       sizeof private, &private, NULL);
  info->max_group_size = most;
  info->local_bytes = local;
  info->spill_bytes = private;
  return td_opencl_check (status, kernel->name, error);
}

/* ── Launching ── */

static cl_int
set_argument (cl_kernel kernel, guint index, const TdArg *arg)
{
  switch (arg->kind) {
  case TD_ARG_BUFFER_KIND:
    return clSetKernelArg (kernel, index, sizeof (cl_mem),
                           &((TdOpenclBuffer *) arg->buffer)->memory);
  case TD_ARG_TEXTURE_KIND:
    return clSetKernelArg (kernel, index, sizeof (cl_mem),
                           &((TdOpenclTexture *) arg->texture)->image);
  case TD_ARG_LOCAL_KIND: return clSetKernelArg (kernel, index, arg->size, NULL);
  case TD_ARG_VALUE_KIND:
  default: return clSetKernelArg (kernel, index, arg->size, arg->value);
  }
}

gboolean
td_opencl_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                  const TdArg *args, guint n_args, GError **error)
{
  OpenclKernel *self = (OpenclKernel *) kernel;
  cl_command_queue to = ((TdOpenclQueue *) queue)->queue;
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
  return td_opencl_check (status, kernel->name, error);
}
