/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles what every family would build on AMD cards, without a card, with clang and the ROCm
   device library. It lists registers and spills from the code object's metadata. */
#include "compile-device.h"

#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  guint wavefront;
  const char *library; /* the device library's name for the instruction set */
} Card;

/* The library of Debian 12 ends before gfx1100; its newest is the closest, and differs only in the
   numbers its own code branches on. */
static const Card cards[] = {
  { "gfx906", 64, "906" },
  { "gfx90a", 64, "90a" },
  { "gfx1030", 32, "1030" },
  { "gfx1100", 32, "1036" },
};

static const char *const compilers[] = { "clang-15", "clang-16", "clang-17", "clang-18", "clang" };
static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
                                       "/usr/lib/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode" };
static const char *clang, *bitcode;

static void
add_library (GPtrArray *arguments, const char *format, ...)
{
  va_list values;

  va_start (values, format);
  g_autofree char *name = g_strdup_vprintf (format, values);
  va_end (values);
  g_ptr_array_add (arguments, g_strdup ("-Xclang"));
  g_ptr_array_add (arguments, g_strdup ("-mlink-builtin-bitcode"));
  g_ptr_array_add (arguments, g_strdup ("-Xclang"));
  g_ptr_array_add (arguments, g_strdup_printf ("%s/%s.bc", bitcode, name));
}

static GPtrArray *
arguments_for (const Card *card, const char *const *defines)
{
  static const char *const fixed[] = { "-x",
                                       "cl",
                                       "-cl-std=CL1.2",
                                       "-target",
                                       "amdgcn-amd-amdhsa",
                                       "-O3",
                                       "-Xclang",
                                       "-finclude-default-header",
                                       "-nogpulib" };
  static const char *const libraries[] = {
    "opencl",
    "ocml",
    "ockl",
    "oclc_correctly_rounded_sqrt_off",
    "oclc_daz_opt_off",
    "oclc_finite_only_off",
    "oclc_unsafe_math_off",
    "oclc_abi_version_400",
  };
  GPtrArray *arguments = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (arguments, g_strdup (clang));
  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    g_ptr_array_add (arguments, g_strdup (fixed[i]));
  g_ptr_array_add (arguments, g_strconcat ("-mcpu=", card->name, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (libraries); i++)
    add_library (arguments, "%s", libraries[i]);
  add_library (arguments, "oclc_isa_version_%s", card->library);
  add_library (arguments, "oclc_wavefrontsize64_%s", card->wavefront == 64 ? "on" : "off");
  for (guint i = 0; defines && defines[i]; i++)
    g_ptr_array_add (arguments, g_strconcat ("-D", defines[i], NULL));
  for (const char *const *last = (const char *const[]) { "-S", "-o", "-", "-", NULL }; *last;
       last++)
    g_ptr_array_add (arguments, g_strdup (*last));
  g_ptr_array_add (arguments, NULL);
  return arguments;
}

/* The metadata is YAML: one item of "amdhsa.kernels" a kernel, its keys in alphabetical order, so
   that .name comes before the counts of its registers. */
static void
read_metadata (const char *program, const char *const *defines, const char *assembly,
               GPtrArray *kernels)
{
  const char *metadata = strstr (assembly, "amdhsa.kernels:");
  g_auto (GStrv) lines = g_strsplit (metadata ? metadata : "", "\n", -1);
  TdCompiledKernel *kernel = NULL;
  guint64 local_bytes = 0;

  for (guint i = 0; lines[i]; i++) {
    const char *line = lines[i] + strspn (lines[i], " -");
    const char *value = strchr (line, ':') ? strchr (line, ':') + 1 : "";
    if (g_str_has_prefix (line, ".group_segment_fixed_size:")) {
      local_bytes = strtoull (value, NULL, 10);
    } else if (g_str_has_prefix (lines[i], "    .name:")) {
      kernel = g_new0 (TdCompiledKernel, 1);
      kernel->program = g_strdup (program);
      kernel->kernel = g_strstrip (g_strdup (value));
      kernel->defines = g_strjoinv (" ", (char **) defines);
      kernel->local_bytes = local_bytes;
      g_ptr_array_add (kernels, kernel);
    } else if (kernel && g_str_has_prefix (line, ".private_segment_fixed_size:")) {
      kernel->spill_bytes = strtoull (value, NULL, 10);
    } else if (kernel && g_str_has_prefix (line, ".vgpr_count:")) {
      kernel->registers = strtoul (value, NULL, 10);
    }
  }
}

static gboolean
compile (const char *name, const char *source, const char *const *defines, gpointer user,
         GPtrArray *kernels, GError **error)
{
  g_autoptr (GPtrArray) arguments = arguments_for (user, defines);
  g_autoptr (GSubprocess) process = NULL;
  g_autofree char *assembly = NULL, *words = NULL;

  process = g_subprocess_newv ((const char *const *) arguments->pdata,
                               G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE
                                   | G_SUBPROCESS_FLAGS_STDERR_PIPE,
                               error);
  if (!process || !g_subprocess_communicate_utf8 (process, source, NULL, &assembly, &words, error))
    return FALSE;
  if (!g_subprocess_get_successful (process)) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD, "%s does not build for %s: %.1500s", name,
                 ((const Card *) user)->name, words);
    return FALSE;
  }
  read_metadata (name, defines, assembly, kernels);
  return TRUE;
}

static void
test_card (gconstpointer data)
{
  const Card *card = data;
  TdDeviceInfo info = {
    .id = "opencl:0",
    .name = (char *) card->name,
    .vendor = "AMD",
    .api = "opencl",
    .kind = TD_DEVICE_GPU,
    .memory_bytes = 8ull << 30,
    .max_alloc_bytes = 4ull << 30,
    .compute_units = 60,
    .local_memory_bytes = 64 << 10,
    .max_group_size = 256,
    .texture_max = { 16384, 16384 },
    .texture_max_layers = 2048,
    .texels = (1u << TD_TEXEL_COUNT) - 1,
    .texture_linear = TRUE,
    .half_storage = TRUE,
    .half_arithmetic = TRUE,
    .double_arithmetic = TRUE,
  };

  if (!clang || !bitcode) {
    g_test_skip (clang ? "the ROCm device library is not installed (rocm-device-libs)"
                       : "clang is not installed");
    return;
  }
  g_autoptr (TdDevice) device = td_compile_device_new (&info, "opencl.h", compile, (gpointer) card);
  guint made = td_compile_device_families (device, g_test_slow () ? TD_COMPILE_CANDIDATES
                                                                  : TD_COMPILE_DEFAULTS);
  td_compile_device_others (device, TD_COMPILE_DEFAULTS);
  g_test_message ("%u variants", made);
  td_compile_device_report (device, card->name);
}

/* The compiler must be able to read the library: a smaller version may not. */
static void
find_tools (void)
{
  static const char *const none[] = { NULL };
  g_autoptr (GPtrArray) ignored = g_ptr_array_new_with_free_func (td_compiled_kernel_free);

  for (guint i = 0; !bitcode && i < G_N_ELEMENTS (folders); i++) {
    g_autofree char *file = g_build_filename (folders[i], "opencl.bc", NULL);
    if (g_file_test (file, G_FILE_TEST_EXISTS))
      bitcode = folders[i];
  }
  for (guint i = 0; bitcode && !clang && i < G_N_ELEMENTS (compilers); i++) {
    g_autofree char *path = g_find_program_in_path (compilers[i]);
    clang = path ? compilers[i] : NULL;
    if (clang
        && !compile ("probe",
                     "kernel void k (global float *a) { a[get_global_id (0)] = cos (*a); }", none,
                     (gpointer) &cards[0], ignored, NULL))
      clang = NULL;
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  find_tools ();
  for (guint i = 0; i < G_N_ELEMENTS (cards); i++) {
    g_autofree char *path = g_strdup_printf ("/amdgcn/%s", cards[i].name);
    g_test_add_data_func (path, &cards[i], test_card);
  }
  return g_test_run ();
}
