/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the programs for every OpenCL device of this computer, whether or not the device would use
   them. A compiler that crashes on one would end our program. The families' own tests build them;
   -m slow builds each of their variants here too. */
#include "compile-device.h"

#include "tests/common/devices.h"

static void
add_kernel (GPtrArray *kernels, const char *program, const char *const *defines, const char *name)
{
  TdCompiledKernel *kernel = g_new0 (TdCompiledKernel, 1);

  kernel->program = g_strdup (program);
  kernel->kernel = g_strdup (name);
  kernel->defines = g_strjoinv (" ", (char **) defines);
  g_ptr_array_add (kernels, kernel);
}

/* Kernels by the source: what comes before "(TD_ITEM". */
static gboolean
compile (const char *name, const char *source, const char *const *defines, gpointer user,
         GPtrArray *kernels, GError **error)
{
  g_autoptr (GRegex) pattern = g_regex_new ("(\\w+)\\s*\\(\\s*TD_ITEM\\b", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  g_regex_match (pattern, source, 0, &match);
  for (; g_match_info_matches (match); g_match_info_next (match, NULL)) {
    g_autofree char *kernel = g_match_info_fetch (match, 1);
    g_autoptr (GError) reason = NULL;
    if (td_device_kernel (user, name, defines, kernel, &reason)) {
      add_kernel (kernels, name, defines, kernel);
    } else if (g_error_matches (reason, TD_ERROR, TD_ERROR_DEVICE_BUILD)) {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    } /* else one that the defines leave out, which is no loss */
  }
  return TRUE;
}

static void
test_builds (gconstpointer id)
{
  TdDevice *real = td_test_open (id);

  if (!g_str_equal (td_device_info (real)->api, "opencl")) {
    g_test_skip ("programs are compiled in, or elsewhere");
    td_test_close (real);
    return;
  }
  TdDevice *device = td_compile_device_new (td_device_info (real), "opencl.h", compile, real);
  guint made = g_test_slow () ? td_compile_device_families (device, TD_COMPILE_CANDIDATES) : 0;
  td_compile_device_others (device, TD_COMPILE_DEFAULTS);
  g_test_message ("%u variants, %u kernels", made, td_compile_device_kernels (device)->len);
  td_device_unref (device);
  td_test_close (real);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = { { "builds", test_builds } };

  g_test_init (&argc, &argv, NULL);
  td_test_each_device ("opencl-build", tests, G_N_ELEMENTS (tests));
  return g_test_run ();
}
