/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-api.h"

#include <dlfcn.h>

#include "dataset/error.h"

static const char *const usual_folders[] = {
  "/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
  "/opt/cuda/lib64",       "/usr/local/nvidia/lib64",
  "/usr/lib/nvidia",       "/usr/lib/wsl/lib",
};

/* Tries each name in each of the colon-separated folders. */
static void *
open_in (const char *folders, const char *subfolder, const char *const *names)
{
  g_auto (GStrv) split = folders ? g_strsplit (folders, ":", -1) : NULL;

  for (guint f = 0; split && split[f]; f++)
    for (guint i = 0; *split[f] && names[i]; i++) {
      g_autofree char *path = g_build_filename (split[f], subfolder, names[i], NULL);
      void *library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
      if (library)
        return library;
    }
  return NULL;
}

static void *
open_by_loader (const char *const *names)
{
  for (guint i = 0; names[i]; i++) {
    void *library = dlopen (names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
  }
  return NULL;
}

void *
td_cuda_open_library (const char *const *names, GError **error)
{
  const char *only = g_getenv ("TOMODESK_CUDA_PATH");
  void *library = only ? open_in (only, "", names) : open_by_loader (names);

  if (!library && !only) {
    library = open_in (g_getenv ("CUDA_PATH"), "lib64", names);
    if (!library)
      library = open_in (g_getenv ("CUDA_HOME"), "lib64", names);
    for (guint i = 0; !library && i < G_N_ELEMENTS (usual_folders); i++)
      library = open_in (usual_folders[i], "", names);
  }
  if (!library) {
    g_autofree char *all = g_strjoinv (", ", (char **) names);
    td_set_error (error, TD_ERROR_NOT_FOUND, "%s is not installed", names[1] ? all : names[0]);
  }
  return library;
}

gboolean
td_cuda_load_symbols (void *library, const char *const *names, void **pointers, guint count,
                      GError **error)
{
  for (guint i = 0; i < count; i++) {
    pointers[i] = dlsym (library, names[i]);
    if (!pointers[i])
      return td_set_error (error, TD_ERROR_UNSUPPORTED,
                           "the NVIDIA library is too old or damaged: it has no %s", names[i]);
  }
  return TRUE;
}

#define NAME(result, field, name, parameters) name,
static const char *const driver_names[] = { TD_CU_FUNCTIONS (NAME) };
static const char *const cufft_names[] = { TD_CUFFT_FUNCTIONS (NAME) };

static gboolean
load_driver (gpointer table, GError **error)
{
  TdCuDriver *driver = table;
  const char *const names[] = { "libcuda.so.1", NULL };
  const char *text = NULL, *name = NULL;
  void *library = td_cuda_open_library (names, NULL);

  if (!library)
    return td_set_error (error, TD_ERROR_NOT_FOUND,
                         "no NVIDIA driver on this computer (libcuda.so.1 is not installed)");
  if (!td_cuda_load_symbols (library, driver_names, (void **) driver, G_N_ELEMENTS (driver_names),
                             error))
    return FALSE;
  TdCuResult result = driver->init (0);
  if (result == TD_CU_NO_DEVICE)
    return td_set_error (error, TD_ERROR_NOT_FOUND,
                         "the NVIDIA driver is installed, but it sees no graphics card");
  if (result != 0) {
    driver->error_string (result, &text);
    driver->error_name (result, &name);
    return td_set_error (
        error, TD_ERROR_DEVICE_LOST,
        "the NVIDIA driver does not start: %s (%s, %d); reinstalling it or restarting the "
        "computer after an update usually mends that",
        text ? text : "?", name ? name : "?", result);
  }
  driver->driver_version (&driver->version);
  return TRUE;
}

static gboolean
load_cufft (gpointer table, GError **error)
{
  const char *const names[] = { "libcufft.so.12", "libcufft.so.11", "libcufft.so.10", NULL };
  void *library = td_cuda_open_library (names, error);

  if (!library)
    return td_prefix_error (error, "no Fourier transforms through CUDA: ");
  return td_cuda_load_symbols (library, cufft_names, table, G_N_ELEMENTS (cufft_names), error);
}

typedef struct {
  GMutex lock;
  gboolean tried, loaded;
  GError *reason;
} Once;

/* @table, which the first call has filled; NULL: that failed. */
static gpointer
load_once (Once *once, gpointer table, gboolean (*load) (gpointer table, GError **error),
           GError **error)
{
  g_mutex_lock (&once->lock);
  if (!once->tried)
    once->loaded = load (table, &once->reason);
  once->tried = TRUE;
  g_mutex_unlock (&once->lock);
  if (!once->loaded && error)
    *error = g_error_copy (once->reason);
  return once->loaded ? table : NULL;
}

const TdCuDriver *
td_cu_driver (GError **error)
{
  static TdCuDriver driver;
  static Once once;

  return load_once (&once, &driver, load_driver, error);
}

const TdCufft *
td_cufft (GError **error)
{
  static TdCufft cufft;
  static Once once;

  return load_once (&once, &cufft, load_cufft, error);
}
