/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles what every family would build on each generation of NVIDIA cards, without a card, and
   lists registers and spills. */
#include "compile-device.h"
#include "compute/device/nvrtc.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  guint arch;
  guint64 shared_bytes; /* a block may have, CUDA programming guide, table of limits */
} Card;

static const Card cards[] = {
  { 75, 64 << 10 },  { 80, 163 << 10 },  { 86, 99 << 10 },  { 89, 99 << 10 },
  { 90, 227 << 10 }, { 100, 227 << 10 }, { 120, 99 << 10 },
};

static guint64
number_before (const char *line, const char *words)
{
  const char *at = strstr (line, words);

  if (!at)
    return 0;
  while (at > line && at[-1] == ' ')
    at--;
  while (at > line && g_ascii_isdigit (at[-1]))
    at--;
  return strtoull (at, NULL, 10);
}

/* ptxas -v: "Compiling entry function 'k' for 'sm_90'", then its stack and registers. */
static void
read_log (const char *program, const char *const *defines, const char *log, GPtrArray *kernels)
{
  g_auto (GStrv) lines = g_strsplit (log, "\n", -1);
  TdCompiledKernel *kernel = NULL;

  for (guint i = 0; lines[i]; i++) {
    const char *entry = strstr (lines[i], "entry function '");
    if (entry) {
      entry += strlen ("entry function '");
      kernel = g_new0 (TdCompiledKernel, 1);
      kernel->program = g_strdup (program);
      kernel->kernel = g_strndup (entry, strcspn (entry, "'"));
      kernel->defines = g_strjoinv (" ", (char **) defines);
      g_ptr_array_add (kernels, kernel);
    } else if (kernel) {
      kernel->spill_bytes += number_before (lines[i], " bytes stack frame");
      kernel->registers += number_before (lines[i], " registers");
      kernel->local_bytes += number_before (lines[i], " bytes smem");
    }
  }
}

static gboolean
compile (const char *name, const char *source, const char *const *defines, gpointer user,
         GPtrArray *kernels, GError **error)
{
  const Card *card = user;
  g_autoptr (GBytes) image = NULL;
  g_autofree char *log = NULL;

  if (!td_nvrtc_compile (td_nvrtc_for_arch (card->arch, NULL),
                         &(TdNvrtcUnit) { name, source, defines, card->arch }, &image, &log, error))
    return FALSE;
  g_assert_cmpuint (g_bytes_get_size (image), >, 0);
  read_log (name, defines, log, kernels);
  return TRUE;
}

/* The compiler makes a CUBIN, an ELF file, for architectures that it knows, and text for others. */
static gboolean
is_known (const TdNvrtc *nvrtc, guint arch)
{
  const TdNvrtcUnit unit = { "known", "extern \"C\" __global__ void k () {}", NULL, arch };
  g_autoptr (GBytes) image = NULL;

  return td_nvrtc_compile (nvrtc, &unit, &image, NULL, NULL)
         && *(const char *) g_bytes_get_data (image, NULL) == 0x7f;
}

static void
compile_for (const Card *card, TdCompileExtent extent)
{
  g_autofree char *name = g_strdup_printf ("sm_%u", card->arch);
  TdDeviceInfo info = {
    .id = "cuda:0",
    .name = name,
    .vendor = "NVIDIA",
    .api = "cuda",
    .kind = TD_DEVICE_GPU,
    .memory_bytes = 8ull << 30,
    .max_alloc_bytes = 8ull << 30,
    .compute_units = 64,
    .local_memory_bytes = card->shared_bytes,
    .max_group_size = 1024,
    .arch = card->arch,
    .texture_max = { 131072, 65536 },
    .texture_max_layers = 2048,
    .texels = (1u << TD_TEXEL_COUNT) - 1,
    .texture_linear = TRUE,
    .half_storage = TRUE,
    .half_arithmetic = TRUE,
    .double_arithmetic = TRUE,
    .shuffle = TRUE,
  };
  g_autoptr (GError) error = NULL;
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (card->arch, &error);

  if (!nvrtc || !is_known (nvrtc, card->arch)) {
    g_test_skip (nvrtc ? "the installed compiler does not know this architecture" : error->message);
    return;
  }
  g_autoptr (TdDevice) device = td_compile_device_new (&info, "cuda.h", compile, (gpointer) card);
  guint made = td_compile_device_families (device, extent);
  td_compile_device_others (device, extent);
  g_test_message ("%u variants", made);
  td_compile_device_report (device, name);
}

static void
test_card (gconstpointer data)
{
  compile_for (data, g_test_slow () ? TD_COMPILE_CANDIDATES : TD_COMPILE_DEFAULTS);
}

static void
test_some (gconstpointer data)
{
  compile_for (data, TD_COMPILE_SOME);
}

/* A source that does not build says which line and why, and an option with spaces stays whole. */
static void
test_errors (void)
{
  const char *const defines[] = { "TEXT=1 + 1", NULL };
  const TdNvrtc *nvrtc = td_nvrtc_for_arch (90, NULL);
  g_autoptr (GBytes) image = NULL, none = NULL;
  g_autoptr (GError) error = NULL;

  if (!nvrtc) {
    g_test_skip ("NVIDIA's run-time compiler is not installed");
    return;
  }
  g_assert_true (td_nvrtc_compile (
      nvrtc,
      &(TdNvrtcUnit) { "good", "extern \"C\" __global__ void k (int *a) { *a = TEXT; }", defines,
                       90 },
      &image, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (td_nvrtc_compile (
      nvrtc,
      &(TdNvrtcUnit) { "bad", "extern \"C\" __global__ void k (int *a)\n{ *b = 1; }", NULL, 90 },
      &none, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD);
  g_assert_nonnull (strstr (error->message, "bad.cl(2)"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/nvrtc/errors", test_errors);
  for (guint i = 0; i < G_N_ELEMENTS (cards); i++) {
    g_autofree char *path = g_strdup_printf ("/nvrtc/sm_%u", cards[i].arch);
    g_autofree char *some = g_strdup_printf ("/nvrtc/some/sm_%u", cards[i].arch);
    g_test_add_data_func (path, &cards[i], test_card);
    g_test_add_data_func (some, &cards[i], test_some);
  }
  return g_test_run ();
}
