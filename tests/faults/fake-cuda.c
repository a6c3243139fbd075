/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A driver for one card made of host memory, loaded as libcuda.so.1 by test-cuda.c. FAKE_CUDA says
   what goes wrong: "init=803", "alloc=2", "launch=702", "sync=700": that call returns that error.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/device/cuda-api.h"

static TdCuResult
fault (const char *call)
{
  const char *plan = getenv ("FAKE_CUDA");
  size_t length = strlen (call);

  return plan && strncmp (plan, call, length) == 0 && plan[length] == '=' ? atoi (plan + length + 1)
                                                                          : 0;
}

#define EXPORT(name, parameters, ...)                                                              \
  __attribute__ ((visibility ("default"))) TdCuResult name parameters;                             \
  TdCuResult name parameters                                                                       \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }

EXPORT (cuInit, (unsigned flags), return fault ("init");)
EXPORT (cuDriverGetVersion, (int *version), *version = 13020; return 0;)
EXPORT (cuGetErrorName, (TdCuResult result, const char **name), *name = "CUDA_ERROR_FAKE";
        return 0;)
EXPORT (cuGetErrorString, (TdCuResult result, const char **text), *text = "the fake failed";
        return 0;)
EXPORT (cuDeviceGetCount, (int *count), *count = 1; return 0;)
EXPORT (cuDeviceGet, (TdCuDevice * device, int index), *device = index; return index ? 101 : 0;)
EXPORT (cuDeviceGetName, (char *name, int length, TdCuDevice device), strcpy (name, "Fake 9000");
        return 0;)
EXPORT (cuDeviceGetPCIBusId, (char *id, int length, TdCuDevice device), strcpy (id, "0000:3B:00.0");
        return 0;)
EXPORT (cuDeviceTotalMem_v2, (size_t * bytes, TdCuDevice device), *bytes = 64 << 20; return 0;)

__attribute__ ((visibility ("default"))) TdCuResult
cuDeviceGetAttribute (int *value, TdCuAttribute which, TdCuDevice device);
TdCuResult
cuDeviceGetAttribute (int *value, TdCuAttribute which, TdCuDevice device)
{
  switch (which) {
  case TD_CU_ATTRIBUTE_MAJOR: *value = 9; break;
  case TD_CU_ATTRIBUTE_MINOR: *value = 0; break;
  case TD_CU_ATTRIBUTE_SHARED_BYTES_OPTIN: *value = 227 << 10; break;
  case TD_CU_ATTRIBUTE_MULTIPROCESSORS: *value = 132; break;
  case TD_CU_ATTRIBUTE_GROUPS_Y: *value = 65535; break;
  case TD_CU_ATTRIBUTE_TEXTURE_WIDTH: *value = 131072; break;
  case TD_CU_ATTRIBUTE_LAYERED_WIDTH: *value = 32768; break;
  case TD_CU_ATTRIBUTE_TEXTURE_HEIGHT: *value = 30000; break;
  case TD_CU_ATTRIBUTE_LAYERED_HEIGHT: *value = 32767; break;
  case TD_CU_ATTRIBUTE_LAYERED_LAYERS: *value = 2048; break;
  default: *value = 1024; break;
  }
  return 0;
}

EXPORT (cuDevicePrimaryCtxRetain, (TdCuContext * context, TdCuDevice device),
        *context = (TdCuContext) 1;
        return 0;)
EXPORT (cuDevicePrimaryCtxRelease_v2, (TdCuDevice device), return 0;)
EXPORT (cuDevicePrimaryCtxSetFlags_v2, (TdCuDevice device, unsigned flags), return 0;)
EXPORT (cuCtxPushCurrent_v2, (TdCuContext context), return 0;)
EXPORT (cuCtxPopCurrent_v2, (TdCuContext * context), *context = NULL; return 0;)
EXPORT (cuMemGetInfo_v2, (size_t * bytes, size_t *total), *bytes = *total = 64 << 20; return 0;)
EXPORT (cuMemAlloc_v2, (TdCuPointer * pointer, size_t bytes),
        *pointer = fault ("alloc") ? 0 : (TdCuPointer) (size_t) malloc (bytes);
        return fault ("alloc");)
EXPORT (cuMemFree_v2, (TdCuPointer pointer), free ((void *) (size_t) pointer); return 0;)
EXPORT (cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags), *memory = malloc (bytes);
        return 0;)
EXPORT (cuMemFreeHost, (void *memory), free (memory); return 0;)
EXPORT (cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags),
        return fault ("register");)
EXPORT (cuMemHostUnregister, (void *memory), return 0;)
EXPORT (cuMemcpyHtoDAsync_v2, (TdCuPointer to, const void *from, size_t bytes, TdCuStream stream),
        memcpy ((void *) (size_t) to, from, bytes);
        return 0;)
EXPORT (cuMemcpyDtoHAsync_v2, (void *to, TdCuPointer from, size_t bytes, TdCuStream stream),
        memcpy (to, (void *) (size_t) from, bytes);
        return 0;)
EXPORT (cuMemcpyDtoDAsync_v2, (TdCuPointer to, TdCuPointer from, size_t bytes, TdCuStream stream),
        memcpy ((void *) (size_t) to, (void *) (size_t) from, bytes);
        return 0;)
EXPORT (cuMemcpy3DAsync_v2, (const TdCuCopy3d *copy, TdCuStream stream), return 0;)
EXPORT (cuMemsetD8Async, (TdCuPointer to, unsigned char value, size_t bytes, TdCuStream stream),
        memset ((void *) (size_t) to, value, bytes);
        return 0;)
EXPORT (cuArray3DCreate_v2, (TdCuArray * array, const TdCuArray3d *spec), *array = malloc (1);
        return 0;)
EXPORT (cuArrayDestroy, (TdCuArray array), free (array); return 0;)
EXPORT (cuTexObjectCreate,
        (TdCuTexture * texture, const TdCuResource *resource,
         const TdCuTextureDescription *description, const void *view),
        *texture = 1;
        return 0;)
EXPORT (cuTexObjectDestroy, (TdCuTexture texture), return 0;)
EXPORT (cuModuleLoadData, (TdCuModule * module, const void *image), *module = malloc (1);
        return memcmp (image, "\177ELF", 4) ? 200 : 0;)
EXPORT (cuModuleUnload, (TdCuModule module), free (module); return 0;)
EXPORT (cuModuleGetFunction, (TdCuFunction * function, TdCuModule module, const char *name),
        *function = (TdCuFunction) 1;
        return strncmp (name, "td_", 3) ? 500 : 0;)
EXPORT (cuFuncGetAttribute, (int *value, TdCuFunctionAttribute which, TdCuFunction function),
        *value = 32;
        return 0;)
EXPORT (cuFuncSetAttribute, (TdCuFunction function, TdCuFunctionAttribute which, int value),
        return 0;)
EXPORT (cuLaunchKernel,
        (TdCuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
         unsigned bz, unsigned shared_bytes, TdCuStream stream, void **parameters, void **extra),
        return fault ("launch");)
EXPORT (cuStreamCreateWithPriority, (TdCuStream * stream, unsigned flags, int priority),
        *stream = malloc (1);
        return 0;)
EXPORT (cuStreamDestroy_v2, (TdCuStream stream), free (stream); return 0;)
EXPORT (cuStreamSynchronize, (TdCuStream stream), return fault ("sync");)
EXPORT (cuStreamWaitEvent, (TdCuStream stream, TdCuEvent event, unsigned flags), return 0;)
EXPORT (cuEventCreate, (TdCuEvent * event, unsigned flags), *event = malloc (1); return 0;)
EXPORT (cuEventRecord, (TdCuEvent event, TdCuStream stream), return 0;)
EXPORT (cuEventSynchronize, (TdCuEvent event), return 0;)
EXPORT (cuEventElapsedTime, (float *milliseconds, TdCuEvent from, TdCuEvent to), *milliseconds = 1;
        return 0;)
EXPORT (cuEventDestroy_v2, (TdCuEvent event), free (event); return 0;)
