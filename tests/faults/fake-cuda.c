/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A driver for cards made of host memory, with its run-time compiler and its Fourier transforms.
   test-cuda.c has it loaded as libcuda.so.1, libnvrtc.so.13 and libcufft.so.12. It computes
   nothing, and keeps what it was asked for: fake_cuda_said(). FAKE_CUDA says what goes wrong, as in
   "cuMemAlloc_v2=2": that call returns that error. FAKE_CARDS: how many there are (1).
   FAKE_ARCHS_13 are those that the compiler of that number knows. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/cuda-api.h"

#define VISIBLE __attribute__ ((visibility ("default")))

/* What the driver gave and did not yet get back. */
typedef struct {
  char *at, name[16];
  size_t bytes;
} Thing;

static GArray *things;
static GString *log_text;
static char *taken;
static int numbers[128];        /* of things, by kind */
static _Thread_local int depth; /* of the context */

static TdCuResult
fault (const char *call)
{
  const char *plan = getenv ("FAKE_CUDA");
  size_t length = strlen (call);

  return plan && strncmp (plan, call, length) == 0 && plan[length] == '=' ? atoi (plan + length + 1)
                                                                          : 0;
}

static void say (const char *format, ...) G_GNUC_PRINTF (1, 2);

static void
say (const char *format, ...)
{
  va_list values;

  if (!log_text)
    log_text = g_string_new (NULL);
  va_start (values, format);
  g_string_append_vprintf (log_text, format, values);
  va_end (values);
  g_string_append_c (log_text, '\n');
}

VISIBLE const char *fake_cuda_said (void);
VISIBLE int fake_cuda_left (void);

/* Since the last call. */
const char *
fake_cuda_said (void)
{
  if (depth != 0)
    say ("%d contexts are current", depth);
  g_free (taken);
  taken = g_strdup (log_text ? log_text->str : "");
  g_string_truncate (log_text ? log_text : (log_text = g_string_new (NULL)), 0);
  return taken;
}

/* Things that were not given back. */
int
fake_cuda_left (void)
{
  return things ? (int) things->len : 0;
}

static void *
thing_new (char kind, size_t bytes)
{
  Thing thing = { .at = calloc (1, bytes + 1), .bytes = bytes };

  if (!things)
    things = g_array_new (FALSE, FALSE, sizeof (Thing));
  g_snprintf (thing.name, sizeof thing.name, "%c%d", kind, ++numbers[(int) kind]);
  g_array_append_val (things, thing);
  return thing.at;
}

/* "m1+8" */
static const char *
name_of (const void *place)
{
  static char texts[8][40];
  static int n;
  char *text = texts[n++ % 8];
  const char *at = place;

  g_strlcpy (text, at ? "?" : "nothing", 40);
  for (guint i = 0; things && i < things->len; i++) {
    const Thing *thing = &g_array_index (things, Thing, i);
    if (at < thing->at || at > thing->at + thing->bytes)
      continue;
    g_strlcpy (text, thing->name, 40);
    if (at > thing->at)
      g_snprintf (text, 40, "%s+%d", thing->name, (int) (at - thing->at));
  }
  return text;
}

static const char *
name_at (unsigned long long place)
{
  return name_of ((const void *) (size_t) place);
}

static void
thing_free (void *at)
{
  say ("free %s", name_of (at));
  for (guint i = 0; things && i < things->len; i++)
    if (g_array_index (things, Thing, i).at == at) {
      g_array_remove_index (things, i);
      free (at);
      return;
    }
}

/* ── The driver ── */

#define CALL(name, parameters, ...)                                                                \
  VISIBLE TdCuResult name parameters;                                                              \
  TdCuResult name parameters                                                                       \
  {                                                                                                \
    if (fault (#name))                                                                             \
      return fault (#name);                                                                        \
    __VA_ARGS__                                                                                    \
    return 0;                                                                                      \
  }
/* What only works where a context is current. */
#define WORK(name, parameters, ...)                                                                \
  CALL (name, parameters, if (depth <= 0) say ("outside the context: %s", #name); __VA_ARGS__)

static void *contexts[8]; /* of the cards */

static int
cards (void)
{
  const char *number = getenv ("FAKE_CARDS");

  return number ? atoi (number) : 1;
}

CALL (cuInit, (unsigned flags))
CALL (cuDriverGetVersion, (int *version), *version = 13020;)
CALL (cuGetErrorName, (TdCuResult result, const char **name), *name = "CUDA_ERROR_FAKE";)
CALL (cuGetErrorString, (TdCuResult result, const char **text), *text = "the fake failed";)
CALL (cuDeviceGetCount, (int *count), *count = cards ();)
CALL (cuDeviceGet, (TdCuDevice * device, int index), *device = index;
      return index < cards () ? 0 : 101;)
CALL (cuDeviceGetName, (char *name, int length, TdCuDevice device),
      g_snprintf (name, (gulong) length, "Fake %d", 9000 + device);)
CALL (cuDeviceGetPCIBusId, (char *id, int length, TdCuDevice device),
      g_snprintf (id, (gulong) length, "0001:%X:1A.%d", 0x3b + device, 2 * device);)
CALL (cuDeviceTotalMem_v2, (size_t * bytes, TdCuDevice device),
      *bytes = (size_t) (64 + device) << 20;)

VISIBLE TdCuResult cuDeviceGetAttribute (int *value, TdCuAttribute which, TdCuDevice device);
TdCuResult
cuDeviceGetAttribute (int *value, TdCuAttribute which, TdCuDevice device)
{
  switch ((int) which) { /* as NVIDIA numbers them */
  case 75: *value = 9; break;
  case 76: *value = 0; break;
  case 97: *value = 227 << 10; break;
  case 16: *value = 132; break;
  case 6: *value = 65535; break;
  case 22: *value = 131072; break;
  case 27: *value = 32768; break;
  case 23: *value = 30000; break;
  case 28: *value = 32767; break;
  case 29: *value = 2048; break;
  case 1: *value = 1024; break;     /* work-items of a group */
  case 8: *value = 48 << 10; break; /* shared memory that need not be asked for */
  default: *value = 12345; break;
  }
  /* Another card: "75=5 76=3". */
  const char *others = getenv ("FAKE_ATTRIBUTES");
  for (char *end; others && *others; others = *end == ' ' ? end + 1 : end)
    if (strtol (others, &end, 10) == (int) which)
      *value = (int) strtol (end + 1, &end, 10);
    else
      strtol (end + 1, &end, 10);
  return fault ("cuDeviceGetAttribute");
}

CALL (cuDevicePrimaryCtxRetain, (TdCuContext * context, TdCuDevice device),
      *context = thing_new ('c', 1);
      contexts[device] = *context; say ("%s of card %d", name_of (*context), device);)
CALL (cuDevicePrimaryCtxRelease_v2, (TdCuDevice device), say ("release card %d", device);
      thing_free (contexts[device]);)
CALL (cuDevicePrimaryCtxSetFlags_v2, (TdCuDevice device, unsigned flags),
      say ("card %d flags %u", device, flags);)
CALL (cuCtxPushCurrent_v2, (TdCuContext context), depth++;)
CALL (cuCtxPopCurrent_v2, (TdCuContext * context), *context = NULL; depth--;)

WORK (cuMemGetInfo_v2, (size_t * bytes, size_t *total), *bytes = (size_t) 48 << 20;
      *total = (size_t) 64 << 20;)
WORK (cuMemAlloc_v2, (TdCuPointer * pointer, size_t bytes),
      *pointer = (TdCuPointer) (size_t) thing_new ('m', bytes);
      say ("%s of %zu bytes", name_at (*pointer), bytes);)
WORK (cuMemFree_v2, (TdCuPointer pointer), thing_free ((void *) (size_t) pointer);)
WORK (cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags),
      *memory = thing_new ('h', bytes);
      say ("%s of %zu bytes, flags %u", name_of (*memory), bytes, flags);)
WORK (cuMemFreeHost, (void *memory), thing_free (memory);)
WORK (cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags),
      say ("register %zu bytes at a multiple of %d, flags %u", bytes,
           (size_t) memory % (2 << 20) ? 1 : 2 << 20, flags);)
WORK (cuMemHostUnregister, (void *memory), say ("unregister");)
WORK (cuMemcpyHtoDAsync_v2, (TdCuPointer to, const void *from, size_t bytes, TdCuStream stream),
      say ("%s: %zu bytes to %s", name_of (stream), bytes, name_at (to));
      memcpy ((void *) (size_t) to, from, bytes);)
WORK (cuMemcpyDtoHAsync_v2, (void *to, TdCuPointer from, size_t bytes, TdCuStream stream),
      say ("%s: %zu bytes from %s", name_of (stream), bytes, name_at (from));
      memcpy (to, (void *) (size_t) from, bytes);)
WORK (cuMemcpyDtoDAsync_v2, (TdCuPointer to, TdCuPointer from, size_t bytes, TdCuStream stream),
      say ("%s: %zu bytes from %s to %s", name_of (stream), bytes, name_at (from), name_at (to));
      memcpy ((void *) (size_t) to, (void *) (size_t) from, bytes);)
WORK (cuMemcpy3DAsync_v2, (const TdCuCopy3d *copy, TdCuStream stream),
      say ("%s: %zu bytes x %zu x %zu from %s, type %d, rows of %zu, %zu of them, to %s, type %d",
           name_of (stream), copy->width_bytes, copy->height, copy->depth,
           name_at (copy->src_device), copy->src_type, copy->src_pitch, copy->src_height,
           name_of (copy->dst_array), copy->dst_type);
      if (copy->src_x_bytes || copy->src_y || copy->src_z || copy->dst_x_bytes || copy->dst_y
          || copy->dst_z) say ("not from the beginning");)
WORK (cuMemsetD8Async, (TdCuPointer to, unsigned char value, size_t bytes, TdCuStream stream),
      say ("%s: %zu bytes of %d to %s", name_of (stream), bytes, value, name_at (to));
      memset ((void *) (size_t) to, value, bytes);)

WORK (cuArray3DCreate_v2, (TdCuArray * array, const TdCuArray3d *spec), *array = thing_new ('a', 1);
      say ("%s of %zu x %zu x %zu, format %d, %u channels, flags %u", name_of (*array), spec->width,
           spec->height, spec->depth, spec->format, spec->channels, spec->flags);)
WORK (cuArrayDestroy, (TdCuArray array), thing_free (array);)
WORK (cuTexObjectCreate,
      (TdCuTexture * texture, const TdCuResource *resource,
       const TdCuTextureDescription *description, const void *view),
      *texture = (TdCuTexture) (size_t) thing_new ('t', 1);
      say ("%s of %s, type %d, outside %d %d %d, filter %d, flags %u", name_at (*texture),
           name_of (resource->resource.array), resource->type, description->address[0],
           description->address[1], description->address[2], description->filter,
           description->flags);)
WORK (cuTexObjectDestroy, (TdCuTexture texture), thing_free ((void *) (size_t) texture);)

WORK (cuModuleLoadData, (TdCuModule * module, const void *image),
      if (memcmp (image, "\177ELF", 4) != 0 && memcmp (image, "// ptx", 6) != 0) return 200;
      *module = thing_new ('p', 1);
      say ("%s of %s", name_of (*module), *(const char *) image == '/' ? "ptx" : "a cubin");)
WORK (cuModuleUnload, (TdCuModule module), thing_free (module);)
/* Functions are numbers, which nobody gives back. */
WORK (cuModuleGetFunction, (TdCuFunction * function, TdCuModule module, const char *name),
      if (strncmp (name, "td_", 3) != 0) return 500;
      *function = (TdCuFunction) (size_t) ++numbers['k'];
      say ("k%d is %s of %s", numbers['k'], name, name_of (module));)
WORK (cuFuncGetAttribute, (int *value, TdCuFunctionAttribute which, TdCuFunction function),
      *value = (int) which == 1   ? 32
               : (int) which == 3 ? 96
                                  : 7;)
WORK (cuFuncSetAttribute, (TdCuFunction function, TdCuFunctionAttribute which, int value),
      say ("k%zu: attribute %d is %d", (size_t) function, (int) which, value);)

/* Up to the first that is not given, as a thing's name or as a whole number of 32 bits. */
static char *
parameter_words (void **parameters)
{
  GString *words = g_string_new (NULL);

  for (; *parameters; parameters++) {
    int value;
    memcpy (&value, *parameters, sizeof value);
    const char *name = NULL;
    for (guint i = 0; i < things->len; i++)
      if ((int) (size_t) g_array_index (things, Thing, i).at == value)
        name = g_array_index (things, Thing, i).name;
    if (name)
      g_string_append_printf (words, " %s", name);
    else
      g_string_append_printf (words, " %d", value);
  }
  return g_string_free (words, FALSE);
}

WORK (cuLaunchKernel,
      (TdCuFunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared_bytes, TdCuStream stream, void **parameters, void **extra),
      char *words = parameter_words (parameters);
      say ("%s: k%zu, %u %u %u groups of %u %u %u, %u bytes shared,%s%s", name_of (stream),
           (size_t) function, gx, gy, gz, bx, by, bz, shared_bytes, words, extra ? ", more" : "");
      g_free (words);)

WORK (cuStreamCreateWithPriority, (TdCuStream * stream, unsigned flags, int priority),
      *stream = thing_new ('s', 1);
      say ("%s, flags %u, priority %d", name_of (*stream), flags, priority);)
WORK (cuStreamDestroy_v2, (TdCuStream stream), thing_free (stream);)
WORK (cuStreamSynchronize, (TdCuStream stream), say ("%s: await", name_of (stream));)
WORK (cuStreamWaitEvent, (TdCuStream stream, TdCuEvent event, unsigned flags),
      say ("%s: after %s, flags %u", name_of (stream), name_of (event), flags);)
WORK (cuEventCreate, (TdCuEvent * event, unsigned flags), *event = thing_new ('e', 1);
      say ("%s, flags %u", name_of (*event), flags);)
WORK (cuEventRecord, (TdCuEvent event, TdCuStream stream),
      say ("%s: %s", name_of (stream), name_of (event));)
WORK (cuEventSynchronize, (TdCuEvent event), say ("await %s", name_of (event));)
WORK (cuEventElapsedTime, (float *milliseconds, TdCuEvent from, TdCuEvent to),
      say ("from %s to %s", name_of (from), name_of (to));
      *milliseconds = 2500;)
WORK (cuEventDestroy_v2, (TdCuEvent event), thing_free (event);)

/* ── The compiler ── */

typedef struct {
  char *name, *source;
  gboolean compiled;
} Program;

/* "13" of libnvrtc.so.13, by which name this was loaded. */
static const char *
own_number (void)
{
  Dl_info own;

  if (!dladdr ((const void *) own_number, &own) || !strstr (own.dli_fname, "nvrtc.so."))
    return "13";
  return strstr (own.dli_fname, "nvrtc.so.") + strlen ("nvrtc.so.");
}

static char **
own_archs (void)
{
  char variable[40];

  g_snprintf (variable, sizeof variable, "FAKE_ARCHS_%s", own_number ());
  return g_strsplit (getenv (variable) ? getenv (variable) : "75 90", " ", -1);
}

CALL (nvrtcVersion, (int *major, int *minor), *major = atoi (own_number ()); *minor = 2;)
VISIBLE const char *nvrtcGetErrorString (int result);
const char *
nvrtcGetErrorString (int result)
{
  return "the fake compiler failed";
}
CALL (nvrtcGetNumSupportedArchs, (int *count), char **all = own_archs ();
      *count = (int) g_strv_length (all); g_strfreev (all);)
CALL (nvrtcGetSupportedArchs, (int *archs), char **all = own_archs ();
      for (int i = 0; all[i]; i++) archs[i] = atoi (all[i]); g_strfreev (all);)
CALL (nvrtcCreateProgram,
      (Program * *program, const char *source, const char *name, int n_headers,
       const char *const *headers, const char *const *header_names),
      *program = g_new0 (Program, 1);
      (*program)->source = g_strdup (source); say ("compile %s with %d headers", name, n_headers);)
CALL (nvrtcDestroyProgram, (Program * *program), g_free ((*program)->source); g_free (*program);
      *program = NULL; say ("compiled");)
CALL (nvrtcCompileProgram, (Program * program, int n_options, const char *const *options),
      for (int i = 0; i < n_options; i++) say ("%s", options[i]);
      program->compiled = TRUE;)

static const char *
log_of (const Program *program)
{
  return program->compiled ? "a remark\n"
                           : "a remark\n  first.cl(3): error: no  \nhelp\nthe second error\n"
                             "a third error\na fourth error\n";
}

CALL (nvrtcGetProgramLogSize, (Program * program, size_t *size),
      *size = strlen (log_of (program)) + 1;)
CALL (nvrtcGetProgramLog, (Program * program, char *text), strcpy (text, log_of (program));)
CALL (nvrtcGetCUBINSize, (Program * program, size_t *size), *size = 4;)
CALL (nvrtcGetCUBIN, (Program * program, char *cubin), memcpy (cubin, "\177ELF", 4);)
CALL (nvrtcGetPTXSize, (Program * program, size_t *size), *size = 7;)
CALL (nvrtcGetPTX, (Program * program, char *ptx), memcpy (ptx, "// ptx", 7);)

/* ── Fourier transforms ── */

WORK (cufftCreate, (TdCufftPlan * plan), *plan = ++numbers['f']; say ("f%d", *plan);)
WORK (cufftDestroy, (TdCufftPlan plan), say ("free f%d", plan);)
WORK (cufftSetAutoAllocation, (TdCufftPlan plan, int automatic),
      say ("f%d: allocates %d", plan, automatic);)
WORK (cufftMakePlanMany64,
      (TdCufftPlan plan, int rank, long long *n, long long *inembed, long long istride,
       long long idist, long long *onembed, long long ostride, long long odist, int type,
       long long batch, size_t *work_bytes),
      say ("f%d: %lld x %lld, rank %d, %s, every %lld from %lld, every %lld from %lld, type %d, "
           "%lld of them",
           plan, n[0], rank > 1 ? n[1] : 1, rank, inembed || onembed ? "embedded" : "close",
           istride, idist, ostride, odist, type, batch);
      *work_bytes = rank > 1 ? 4096 : 0;)
WORK (cufftSetWorkArea, (TdCufftPlan plan, void *area),
      say ("f%d: works in %s", plan, name_of (area));)
WORK (cufftSetStream, (TdCufftPlan plan, TdCuStream stream),
      say ("f%d: in %s", plan, name_of (stream));)
WORK (cufftExecC2C, (TdCufftPlan plan, void *in, void *out, int direction),
      say ("f%d: %s to %s, direction %d", plan, name_of (in), name_of (out), direction);)
