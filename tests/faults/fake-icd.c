/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An OpenCL driver with a fault, which the environment variable FAKE_ICD names: "abort" or "hang"
   while its platforms are listed, "stay" when the process ends; else it has none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLATFORM_NOT_FOUND (-1001)

__attribute__ ((visibility ("default"))) void *clGetExtensionFunctionAddress (const char *name);
__attribute__ ((visibility ("default"))) int clIcdGetPlatformIDsKHR (unsigned n, void **platforms,
                                                                     unsigned *found);
__attribute__ ((visibility ("default"))) int
clGetPlatformInfo (void *platform, unsigned what, size_t bytes, void *value, size_t *size);

static void
stay (void)
{
  for (;;)
    pause ();
}

static __attribute__ ((constructor)) void
begin (void)
{
  const char *fault = getenv ("FAKE_ICD");

  if (fault && strcmp (fault, "stay") == 0)
    atexit (stay);
}

int
clIcdGetPlatformIDsKHR (unsigned n, void **platforms, unsigned *found)
{
  const char *fault = getenv ("FAKE_ICD");

  if (fault && strcmp (fault, "abort") == 0)
    abort ();
  while (fault && strcmp (fault, "hang") == 0)
    pause ();
  if (found)
    *found = 0;
  return PLATFORM_NOT_FOUND;
}

int
clGetPlatformInfo (void *platform, unsigned what, size_t bytes, void *value, size_t *size)
{
  return PLATFORM_NOT_FOUND;
}

void *
clGetExtensionFunctionAddress (const char *name)
{
  if (strcmp (name, "clIcdGetPlatformIDsKHR") == 0)
    return (void *) clIcdGetPlatformIDsKHR;
  return strcmp (name, "clGetPlatformInfo") == 0 ? (void *) clGetPlatformInfo : NULL;
}
