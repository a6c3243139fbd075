/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nvrtc.h"

#include <string.h>

#include "cuda-api.h"
#include "dataset/error.h"

typedef int NvrtcResult; /* 0: success */
typedef struct NvrtcProgramImpl *NvrtcProgram;

#define FUNCTIONS(X)                                                                               \
  X (NvrtcResult, version, "nvrtcVersion", (int *major, int *minor))                               \
  X (const char *, error_string, "nvrtcGetErrorString", (NvrtcResult result))                      \
  X (NvrtcResult, arch_count, "nvrtcGetNumSupportedArchs", (int *count))                           \
  X (NvrtcResult, archs, "nvrtcGetSupportedArchs", (int *archs))                                   \
  X (NvrtcResult, program_new, "nvrtcCreateProgram",                                               \
     (NvrtcProgram * program, const char *source, const char *name, int n_headers,                 \
      const char *const *headers, const char *const *header_names))                                \
  X (NvrtcResult, program_free, "nvrtcDestroyProgram", (NvrtcProgram * program))                   \
  X (NvrtcResult, compile, "nvrtcCompileProgram",                                                  \
     (NvrtcProgram program, int n_options, const char *const *options))                            \
  X (NvrtcResult, log_size, "nvrtcGetProgramLogSize", (NvrtcProgram program, size_t * size))       \
  X (NvrtcResult, log, "nvrtcGetProgramLog", (NvrtcProgram program, char *log))                    \
  X (NvrtcResult, cubin_size, "nvrtcGetCUBINSize", (NvrtcProgram program, size_t * size))          \
  X (NvrtcResult, cubin, "nvrtcGetCUBIN", (NvrtcProgram program, char *cubin))                     \
  X (NvrtcResult, ptx_size, "nvrtcGetPTXSize", (NvrtcProgram program, size_t * size))              \
  X (NvrtcResult, ptx, "nvrtcGetPTX", (NvrtcProgram program, char *ptx))

#define NAME(result, field, name, parameters) name,
static const char *const function_names[] = { FUNCTIONS (NAME) };

typedef struct {
  FUNCTIONS (TD_CU_FIELD)
} NvrtcFunctions;

struct TdNvrtc {
  NvrtcFunctions api;
  char *version;
  int *archs;
  int n_archs;
};

static TdNvrtc *
nvrtc_load (const char *file_name, GError **error)
{
  const char *const names[] = { file_name, NULL };
  void *library = td_cuda_open_library (names, error);
  TdNvrtc *nvrtc;
  int major = 0, minor = 0;

  if (!library)
    return NULL;
  nvrtc = g_new0 (TdNvrtc, 1);
  if (!td_cuda_load_symbols (library, function_names, (void **) &nvrtc->api,
                             G_N_ELEMENTS (function_names), error)
      || nvrtc->api.version (&major, &minor) != 0 || nvrtc->api.arch_count (&nvrtc->n_archs) != 0) {
    g_free (nvrtc);
    return NULL;
  }
  nvrtc->archs = g_new0 (int, MAX (nvrtc->n_archs, 1));
  nvrtc->api.archs (nvrtc->archs);
  nvrtc->version = g_strdup_printf ("nvrtc %d.%d", major, minor);
  return nvrtc;
}

/* Every installed version, newest first: a new card needs a new compiler, but version 13 has
   dropped the cards before sm_75. */
static GPtrArray *
nvrtc_installed (void)
{
  static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" };
  static GPtrArray *all;

  if (g_once_init_enter (&all)) {
    GPtrArray *found = g_ptr_array_new ();
    for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
      TdNvrtc *nvrtc = nvrtc_load (names[i], NULL);
      if (nvrtc)
        g_ptr_array_add (found, nvrtc);
    }
    g_once_init_leave (&all, found);
  }
  return all;
}

static gboolean
nvrtc_knows (const TdNvrtc *nvrtc, guint arch)
{
  for (int i = 0; i < nvrtc->n_archs; i++)
    if (nvrtc->archs[i] == (int) arch)
      return TRUE;
  return FALSE;
}

const TdNvrtc *
td_nvrtc_for_arch (guint arch, GError **error)
{
  GPtrArray *all = nvrtc_installed ();

  if (all->len == 0)
    return td_set_error_null (
        error, TD_ERROR_NOT_FOUND,
        "NVIDIA's run-time compiler is not installed (libnvrtc.so.13, .12 or .11.2): install "
        "the CUDA toolkit or its nvrtc package, or choose the card's OpenCL device");
  for (guint i = 0; i < all->len; i++)
    if (nvrtc_knows (all->pdata[i], arch))
      return all->pdata[i];
  return all->pdata[0];
}

const char *
td_nvrtc_version (const TdNvrtc *nvrtc)
{
  return nvrtc->version;
}

static char *
program_log (const TdNvrtc *nvrtc, NvrtcProgram program)
{
  size_t size = 0;
  char *log;

  nvrtc->api.log_size (program, &size);
  log = g_malloc0 (size + 1);
  if (size > 0)
    nvrtc->api.log (program, log);
  return log;
}

/* The log's first errors: what a person can read. */
static char *
first_errors (const char *log)
{
  g_auto (GStrv) lines = g_strsplit (log, "\n", -1);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0, found = 0; lines[i] && found < 3; i++)
    if (strstr (lines[i], "error")) {
      g_string_append_printf (text, "%s%s", found++ ? "; " : "", g_strstrip (lines[i]));
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static GBytes *
program_image (const TdNvrtc *nvrtc, NvrtcProgram program, gboolean cubin)
{
  size_t size = 0;
  char *data;

  if ((cubin ? nvrtc->api.cubin_size : nvrtc->api.ptx_size) (program, &size) != 0 || size == 0)
    return NULL;
  data = g_malloc (size);
  if ((cubin ? nvrtc->api.cubin : nvrtc->api.ptx) (program, data) != 0) {
    g_free (data);
    return NULL;
  }
  return g_bytes_new_take (data, size);
}

gboolean
td_nvrtc_compile (const TdNvrtc *nvrtc, const TdNvrtcUnit *unit, GBytes **image, char **log,
                  GError **error)
{
  g_autoptr (GPtrArray) options = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *file = g_strconcat (unit->name, ".cl", NULL);
  const guint arch = unit->arch;
  gboolean cubin = nvrtc_knows (nvrtc, arch);
  guint newest = nvrtc->n_archs ? nvrtc->archs[nvrtc->n_archs - 1] : 75;
  NvrtcProgram program = NULL;
  NvrtcResult result;

  if (!cubin && nvrtc->n_archs && (int) arch < nvrtc->archs[0])
    return td_set_error (
        error, TD_ERROR_DEVICE_BUILD,
        "%s no longer knows this card (sm_%u): install an older CUDA release's nvrtc beside "
        "it, or choose the card's OpenCL device",
        nvrtc->version, arch);
  g_ptr_array_add (options, cubin ? g_strdup_printf ("--gpu-architecture=sm_%u", arch)
                                  : g_strdup_printf ("--gpu-architecture=compute_%u", newest));
  g_ptr_array_add (options, g_strdup ("--disable-warnings")); /* unused dialect functions */
  if (log && cubin)
    g_ptr_array_add (options, g_strdup ("--ptxas-options=-v"));
  for (guint i = 0; unit->defines && unit->defines[i]; i++)
    g_ptr_array_add (options, g_strconcat ("-D", unit->defines[i], NULL));

  *image = NULL;
  result = nvrtc->api.program_new (&program, unit->source, file, 0, NULL, NULL);
  if (result == 0)
    result = nvrtc->api.compile (program, options->len, (const char *const *) options->pdata);
  g_autofree char *words = program ? program_log (nvrtc, program) : g_strdup ("");
  if (result == 0)
    *image = program_image (nvrtc, program, cubin);
  if (program)
    nvrtc->api.program_free (&program);
  if (!*image) {
    g_autofree char *errors = first_errors (words);
    return td_set_error (error, TD_ERROR_DEVICE_BUILD, "%s does not build for sm_%u with %s: %s",
                         unit->name, arch, nvrtc->version,
                         *errors ? errors : nvrtc->api.error_string (result));
  }
  if (log)
    *log = g_steal_pointer (&words);
  return TRUE;
}
