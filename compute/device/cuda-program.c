/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-private.h"
#include "nvrtc.h"
#include "program-cache.h"

typedef struct {
  TdProgram base;
  TdCudaDevice *device;
  TdCuModule module;
} CudaProgram;

typedef struct {
  TdKernel base;
  TdCudaDevice *device;
  TdCuFunction function;
} CudaKernel;

/* ── Building ── */

static gboolean
load_module (TdCudaDevice *device, GBytes *image, TdCuModule *module, GError **error)
{
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->module_load (module, g_bytes_get_data (image, NULL)),
                      "load a program", error);
  td_cuda_leave (device);
  return ok;
}

/* The module from the cache, or NULL: also for an entry that this driver does not take. */
static TdCuModule
load_cached (TdCudaDevice *device, const char *key)
{
  g_autoptr (GBytes) image = td_program_cache_load (key);
  TdCuModule module = NULL;

  return image && load_module (device, image, &module, NULL) ? module : NULL;
}

static TdCuModule
cuda_program_compile (TdCudaDevice *device, const char *key, const char *name, const char *source,
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

gboolean
td_cuda_program_build (TdDevice *base, const char *name, const char *source,
                       const char *const *defines, TdProgram **out, GError **error)
{
  TdCudaDevice *device = td_cuda_device (base);
  g_autofree char *key = td_program_cache_key (&base->info, NULL, source, defines);
  TdCuModule module = load_cached (device, key);

  if (!module)
    module = cuda_program_compile (device, key, name, source, defines, error);
  if (!module)
    return FALSE;
  CudaProgram *program = g_new0 (CudaProgram, 1);
  program->device = device;
  program->module = module;
  *out = &program->base;
  return TRUE;
}

void
td_cuda_program_free (TdProgram *base)
{
  CudaProgram *program = (CudaProgram *) base;

  if (td_cuda_enter (program->device, NULL)) {
    program->device->cu->module_unload (program->module);
    td_cuda_leave (program->device);
  }
  g_free (program);
}

/* ── Kernels ── */

static int
cuda_program_attribute (TdCudaDevice *device, TdCuFunction function, TdCuFunctionAttribute which)
{
  int value = 0;

  return device->cu->function_attribute (&value, which, function) == 0 ? value : 0;
}

/* More than 48 KB of shared memory a block must be asked for; asking costs nothing. */
static void
allow_shared_memory (TdCudaDevice *device, TdCuFunction function)
{
  guint64 whole = device->base.info.local_memory_bytes;
  guint64 fixed = cuda_program_attribute (device, function, TD_CU_FUNCTION_SHARED_BYTES);

  if (whole > fixed)
    device->cu->function_set_attribute (function, TD_CU_FUNCTION_DYNAMIC_SHARED_BYTES,
                                        whole - fixed);
}

gboolean
td_cuda_program_kernel (TdProgram *base, const char *name, TdKernel **out, GError **error)
{
  CudaProgram *program = (CudaProgram *) base;
  TdCudaDevice *device = program->device;
  TdCuFunction function = NULL;
  CudaKernel *kernel;
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->module_function (&function, program->module, name),
                      "find a kernel in its program", error);
  if (ok)
    allow_shared_memory (device, function);
  td_cuda_leave (device);
  if (!ok) {
    td_prefix_error (error, "%s: ", name);
    return FALSE;
  }
  kernel = g_new0 (CudaKernel, 1);
  kernel->device = device;
  kernel->function = function;
  *out = &kernel->base;
  return TRUE;
}

void
td_cuda_kernel_free (TdKernel *kernel)
{
  g_free (kernel);
}

gboolean
td_cuda_kernel_info (TdKernel *base, TdKernelInfo *info, GError **error)
{
  CudaKernel *kernel = (CudaKernel *) base;
  TdCudaDevice *device = kernel->device;

  if (!td_cuda_enter (device, error))
    return FALSE;
  info->registers = cuda_program_attribute (device, kernel->function, TD_CU_FUNCTION_REGISTERS);
  info->spill_bytes = cuda_program_attribute (device, kernel->function, TD_CU_FUNCTION_LOCAL_BYTES);
  info->local_bytes
      = cuda_program_attribute (device, kernel->function, TD_CU_FUNCTION_SHARED_BYTES);
  info->max_group_size
      = cuda_program_attribute (device, kernel->function, TD_CU_FUNCTION_GROUP_SIZE);
  td_cuda_leave (device);
  return TRUE;
}

/* The addresses of the parameters' values; local memory is no parameter but its size is returned.
 */
static guint
cuda_program_collect (const TdArg *args, guint n_args, void **parameters)
{
  guint shared_bytes = 0;

  for (guint i = 0; i < n_args; i++)
    switch (args[i].kind) {
    case TD_ARG_BUFFER_KIND: parameters[i] = &((TdCudaBuffer *) args[i].buffer)->pointer; break;
    case TD_ARG_TEXTURE_KIND: parameters[i] = &((TdCudaTexture *) args[i].texture)->texture; break;
    case TD_ARG_VALUE_KIND: parameters[i] = (void *) args[i].value; break;
    case TD_ARG_LOCAL_KIND: shared_bytes = args[i].size; break;
    }
  return shared_bytes;
}

gboolean
td_cuda_launch (TdQueue *queue, TdKernel *base, const guint groups[3], const guint local[3],
                const TdArg *args, guint n_args, GError **error)
{
  CudaKernel *kernel = (CudaKernel *) base;
  TdCudaDevice *device = kernel->device;
  void *parameters[64] = { NULL };
  gboolean ok;

  if (n_args > G_N_ELEMENTS (parameters)) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "%s: %u arguments are too many", base->name, n_args);
    return FALSE;
  }
  guint shared_bytes = cuda_program_collect (args, n_args, parameters);
  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device,
                      device->cu->launch (kernel->function, groups[0], groups[1], groups[2],
                                          local[0], local[1], local[2], shared_bytes,
                                          ((TdCudaQueue *) queue)->stream, parameters, NULL),
                      "start a kernel", error);
  td_cuda_leave (device);
  if (!ok)
    td_prefix_error (error, "%s: ", base->name);
  return ok;
}
