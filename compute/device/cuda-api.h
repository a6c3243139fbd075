/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The part of NVIDIA's interfaces that this program calls. They are declared here, so that the
 * build needs no toolkit. They are loaded at run time, so that one binary starts everywhere. Names
 * and layouts are those of cuda.h and cufft.h; tests/gpu/test-cuda-layout.c compares them where a
 * toolkit is installed.
 */

/* ── Driver ── */

typedef int TdCuResult; /* 0: success */
typedef int TdCuDevice;
typedef unsigned long long TdCuPointer;
typedef unsigned long long TdCuTexture;
typedef struct TdCuContextImpl *TdCuContext;
typedef struct TdCuModuleImpl *TdCuModule;
typedef struct TdCuFunctionImpl *TdCuFunction;
typedef struct TdCuStreamImpl *TdCuStream;
typedef struct TdCuEventImpl *TdCuEvent;
typedef struct TdCuArrayImpl *TdCuArray;

enum {
  TD_CU_OUT_OF_MEMORY = 2,
  TD_CU_DEINITIALIZED = 4,
  TD_CU_DEVICE_UNAVAILABLE = 46,
  TD_CU_NO_DEVICE = 100,
  TD_CU_INVALID_IMAGE = 200,
  TD_CU_NO_BINARY_FOR_GPU = 209,
  TD_CU_ECC_UNCORRECTABLE = 214,
  TD_CU_INVALID_PTX = 218,
  TD_CU_NVLINK_UNCORRECTABLE = 220,
  TD_CU_JIT_COMPILER_NOT_FOUND = 221,
  TD_CU_UNSUPPORTED_PTX_VERSION = 222,
  TD_CU_JIT_COMPILATION_DISABLED = 223,
  TD_CU_ILLEGAL_ADDRESS = 700,
  TD_CU_LAUNCH_OUT_OF_RESOURCES = 701,
  TD_CU_LAUNCH_TIMEOUT = 702,
  TD_CU_CONTEXT_IS_DESTROYED = 709,
  TD_CU_HARDWARE_STACK_ERROR = 714,
  TD_CU_ILLEGAL_INSTRUCTION = 715,
  TD_CU_MISALIGNED_ADDRESS = 716,
  TD_CU_INVALID_ADDRESS_SPACE = 717,
  TD_CU_INVALID_PC = 718,
  TD_CU_LAUNCH_FAILED = 719,
  TD_CU_SYSTEM_NOT_READY = 802,
  TD_CU_UNKNOWN = 999,
};

typedef enum {
  TD_CU_ATTRIBUTE_GROUP_SIZE = 1,
  TD_CU_ATTRIBUTE_GROUPS_Y = 6, /* as many as along z */
  TD_CU_ATTRIBUTE_SHARED_BYTES = 8,
  TD_CU_ATTRIBUTE_MULTIPROCESSORS = 16,
  TD_CU_ATTRIBUTE_TEXTURE_WIDTH = 22,
  TD_CU_ATTRIBUTE_TEXTURE_HEIGHT = 23,
  TD_CU_ATTRIBUTE_LAYERED_WIDTH = 27,
  TD_CU_ATTRIBUTE_LAYERED_HEIGHT = 28,
  TD_CU_ATTRIBUTE_LAYERED_LAYERS = 29,
  TD_CU_ATTRIBUTE_MAJOR = 75,
  TD_CU_ATTRIBUTE_MINOR = 76,
  TD_CU_ATTRIBUTE_SHARED_BYTES_OPTIN = 97,
} TdCuAttribute;

typedef enum {
  TD_CU_FUNCTION_SHARED_BYTES = 1,
  TD_CU_FUNCTION_LOCAL_BYTES = 3,
  TD_CU_FUNCTION_DYNAMIC_SHARED_BYTES = 8,
} TdCuFunctionAttribute;

enum {
  TD_CU_CONTEXT_BLOCKING_SYNC = 0x04,
  TD_CU_STREAM_NON_BLOCKING = 0x1,
  TD_CU_EVENT_BLOCKING_SYNC = 0x1,
  TD_CU_HOST_ALLOC_PORTABLE = 0x01,
  TD_CU_ARRAY_LAYERED = 0x01,
  TD_CU_FORMAT_HALF = 0x10,
  TD_CU_FORMAT_FLOAT = 0x20,
  TD_CU_ADDRESS_BORDER = 3,
  TD_CU_FILTER_POINT = 0,
  TD_CU_FILTER_LINEAR = 1,
  TD_CU_MEMORY_DEVICE = 0x02,
  TD_CU_MEMORY_ARRAY = 0x03,
  TD_CU_RESOURCE_ARRAY = 0x00,
};

typedef struct { /* CUDA_MEMCPY3D */
  size_t src_x_bytes, src_y, src_z, src_lod;
  int src_type;
  const void *src_host;
  TdCuPointer src_device;
  TdCuArray src_array;
  void *reserved0;
  size_t src_pitch, src_height;
  size_t dst_x_bytes, dst_y, dst_z, dst_lod;
  int dst_type;
  void *dst_host;
  TdCuPointer dst_device;
  TdCuArray dst_array;
  void *reserved1;
  size_t dst_pitch, dst_height;
  size_t width_bytes, height, depth;
} TdCuCopy3d;

typedef struct { /* CUDA_ARRAY3D_DESCRIPTOR */
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
} TdCuArray3d;

typedef struct { /* CUDA_RESOURCE_DESC */
  int type;
  union {
    TdCuArray array;
    struct { /* the largest member of the original's union */
      int reserved[32];
    } all;
  } resource;
  unsigned flags;
} TdCuResource;

typedef struct { /* CUDA_TEXTURE_DESC */
  int address[3], filter;
  unsigned flags, anisotropy;
  int mipmap_filter;
  float mipmap_bias, mipmap_min, mipmap_max, border[4];
  int reserved[12];
} TdCuTextureDescription;

/* X (result type, field, exported name, parameters) */
#define TD_CU_FUNCTIONS(X)                                                                         \
  X (TdCuResult, init, "cuInit", (unsigned flags))                                                 \
  X (TdCuResult, driver_version, "cuDriverGetVersion", (int *version))                             \
  X (TdCuResult, error_name, "cuGetErrorName", (TdCuResult result, const char **name))             \
  X (TdCuResult, error_string, "cuGetErrorString", (TdCuResult result, const char **text))         \
  X (TdCuResult, device_count, "cuDeviceGetCount", (int *count))                                   \
  X (TdCuResult, device_get, "cuDeviceGet", (TdCuDevice * device, int index))                      \
  X (TdCuResult, device_name, "cuDeviceGetName", (char *name, int length, TdCuDevice device))      \
  X (TdCuResult, device_pci, "cuDeviceGetPCIBusId", (char *id, int length, TdCuDevice device))     \
  X (TdCuResult, device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, TdCuDevice device))        \
  X (TdCuResult, device_attribute, "cuDeviceGetAttribute",                                         \
     (int *value, TdCuAttribute attribute, TdCuDevice device))                                     \
  X (TdCuResult, primary_retain, "cuDevicePrimaryCtxRetain",                                       \
     (TdCuContext * context, TdCuDevice device))                                                   \
  X (TdCuResult, primary_release, "cuDevicePrimaryCtxRelease_v2", (TdCuDevice device))             \
  X (TdCuResult, primary_flags, "cuDevicePrimaryCtxSetFlags_v2",                                   \
     (TdCuDevice device, unsigned flags))                                                          \
  X (TdCuResult, context_push, "cuCtxPushCurrent_v2", (TdCuContext context))                       \
  X (TdCuResult, context_pop, "cuCtxPopCurrent_v2", (TdCuContext * context))                       \
  X (TdCuResult, memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total))            \
  X (TdCuResult, memory_alloc, "cuMemAlloc_v2", (TdCuPointer * pointer, size_t bytes))             \
  X (TdCuResult, memory_free, "cuMemFree_v2", (TdCuPointer pointer))                               \
  X (TdCuResult, host_alloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))      \
  X (TdCuResult, host_free, "cuMemFreeHost", (void *memory))                                       \
  X (TdCuResult, host_register, "cuMemHostRegister_v2",                                            \
     (void *memory, size_t bytes, unsigned flags))                                                 \
  X (TdCuResult, host_unregister, "cuMemHostUnregister", (void *memory))                           \
  X (TdCuResult, upload, "cuMemcpyHtoDAsync_v2",                                                   \
     (TdCuPointer to, const void *from, size_t bytes, TdCuStream stream))                          \
  X (TdCuResult, download, "cuMemcpyDtoHAsync_v2",                                                 \
     (void *to, TdCuPointer from, size_t bytes, TdCuStream stream))                                \
  X (TdCuResult, copy, "cuMemcpyDtoDAsync_v2",                                                     \
     (TdCuPointer to, TdCuPointer from, size_t bytes, TdCuStream stream))                          \
  X (TdCuResult, copy_3d, "cuMemcpy3DAsync_v2", (const TdCuCopy3d *copy, TdCuStream stream))       \
  X (TdCuResult, fill, "cuMemsetD8Async",                                                          \
     (TdCuPointer to, unsigned char value, size_t bytes, TdCuStream stream))                       \
  X (TdCuResult, array_new, "cuArray3DCreate_v2", (TdCuArray * array, const TdCuArray3d *spec))    \
  X (TdCuResult, array_free, "cuArrayDestroy", (TdCuArray array))                                  \
  X (TdCuResult, texture_new, "cuTexObjectCreate",                                                 \
     (TdCuTexture * texture, const TdCuResource *resource,                                         \
      const TdCuTextureDescription *description, const void *view))                                \
  X (TdCuResult, texture_free, "cuTexObjectDestroy", (TdCuTexture texture))                        \
  X (TdCuResult, module_load, "cuModuleLoadData", (TdCuModule * module, const void *image))        \
  X (TdCuResult, module_unload, "cuModuleUnload", (TdCuModule module))                             \
  X (TdCuResult, module_function, "cuModuleGetFunction",                                           \
     (TdCuFunction * function, TdCuModule module, const char *name))                               \
  X (TdCuResult, function_attribute, "cuFuncGetAttribute",                                         \
     (int *value, TdCuFunctionAttribute attribute, TdCuFunction function))                         \
  X (TdCuResult, function_set_attribute, "cuFuncSetAttribute",                                     \
     (TdCuFunction function, TdCuFunctionAttribute attribute, int value))                          \
  X (TdCuResult, launch, "cuLaunchKernel",                                                         \
     (TdCuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
      unsigned bz, unsigned shared_bytes, TdCuStream stream, void **parameters, void **extra))     \
  X (TdCuResult, stream_new, "cuStreamCreateWithPriority",                                         \
     (TdCuStream * stream, unsigned flags, int priority))                                          \
  X (TdCuResult, stream_free, "cuStreamDestroy_v2", (TdCuStream stream))                           \
  X (TdCuResult, stream_sync, "cuStreamSynchronize", (TdCuStream stream))                          \
  X (TdCuResult, stream_wait, "cuStreamWaitEvent",                                                 \
     (TdCuStream stream, TdCuEvent event, unsigned flags))                                         \
  X (TdCuResult, event_new, "cuEventCreate", (TdCuEvent * event, unsigned flags))                  \
  X (TdCuResult, event_record, "cuEventRecord", (TdCuEvent event, TdCuStream stream))              \
  X (TdCuResult, event_sync, "cuEventSynchronize", (TdCuEvent event))                              \
  X (TdCuResult, event_elapsed, "cuEventElapsedTime",                                              \
     (float *milliseconds, TdCuEvent from, TdCuEvent to))                                          \
  X (TdCuResult, event_free, "cuEventDestroy_v2", (TdCuEvent event))

/* ── cuFFT ── */

typedef int TdCufftResult; /* 0: success */
typedef int TdCufftPlan;

enum {
  TD_CUFFT_ALLOC_FAILED = 0x2,
  TD_CUFFT_C2C = 0x29,
  TD_CUFFT_FORWARD = -1,
  TD_CUFFT_INVERSE = 1,
};

#define TD_CUFFT_FUNCTIONS(X)                                                                      \
  X (TdCufftResult, create, "cufftCreate", (TdCufftPlan * plan))                                   \
  X (TdCufftResult, destroy, "cufftDestroy", (TdCufftPlan plan))                                   \
  X (TdCufftResult, auto_allocation, "cufftSetAutoAllocation", (TdCufftPlan plan, int automatic))  \
  X (TdCufftResult, make_many, "cufftMakePlanMany64",                                              \
     (TdCufftPlan plan, int rank, long long *n, long long *inembed, long long istride,             \
      long long idist, long long *onembed, long long ostride, long long odist, int type,           \
      long long batch, size_t *work_bytes))                                                        \
  X (TdCufftResult, work_area, "cufftSetWorkArea", (TdCufftPlan plan, void *area))                 \
  X (TdCufftResult, stream, "cufftSetStream", (TdCufftPlan plan, TdCuStream stream))               \
  X (TdCufftResult, c2c, "cufftExecC2C", (TdCufftPlan plan, void *in, void *out, int direction))

/* ── Loading ── */

#define TD_CU_FIELD(result, field, name, parameters) result (*field) parameters;
typedef struct {
  TD_CU_FUNCTIONS (TD_CU_FIELD)
  int version; /* 13000 for CUDA 13.0 */
} TdCuDriver;
typedef struct {
  TD_CUFFT_FUNCTIONS (TD_CU_FIELD)
} TdCufft;

/* The driver, initialised; NULL with the reason in @error if there is none or it does not work. The
   first call decides for the process. Any thread; blocks the first time. */
const TdCuDriver *td_cu_driver (GError **error);
const TdCufft *td_cufft (GError **error);

/* Opens the first of @names that dlopen() finds. It looks in the folders of TOMODESK_CUDA_PATH,
   and only there if that is set. Else the loader searches by itself, then in CUDA_PATH,
   CUDA_HOME and the toolkit's usual places. */
void *td_cuda_open_library (const char *const *names, GError **error);
/* Fills an array of function pointers from exported names. */
gboolean td_cuda_load_symbols (void *library, const char *const *names, void **pointers,
                               guint count, GError **error);
