/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compile-device.h"

#include "compute/device/device-api.h"
#include "compute/parallel/backproject.h"
#include "kernels/source.h"

typedef struct {
  TdDevice base;
  TdDeviceOps ops;
  TdCompile compile;
  gpointer user;
  GPtrArray *kernels;
} CompileDevice;

typedef struct {
  TdKernel base;
  TdCompiledKernel *compiled;
} CompileKernel;

typedef struct {
  TdProgram base;
  guint first, last; /* its kernels */
} CompileProgram;

/* ── Operations that do nothing ── */

static guint64
memory_free (TdDevice *device)
{
  return device->info.memory_bytes;
}

#define NEW(function, type, ...)                                                                   \
  static gboolean function (type *object, ##__VA_ARGS__, GError **error)                           \
  {                                                                                                \
    return TRUE;                                                                                   \
  }
NEW (buffer_new, TdBuffer)
NEW (queue_new, TdQueue, gboolean urgent)
NEW (texture_new, TdTexture)
NEW (fft_new, TdFft)

#define FREE(function, type)                                                                       \
  static void function (type *object)                                                              \
  {                                                                                                \
  }
FREE (buffer_free, TdBuffer)
FREE (texture_free, TdTexture)
FREE (fft_free, TdFft)

static void *
host_alloc (TdDevice *device, guint64 bytes)
{
  return g_malloc (bytes);
}

static void
host_free (TdDevice *device, void *memory)
{
  g_free (memory);
}

static gboolean
queue_finish (TdQueue *queue, GError **error)
{
  return TRUE;
}

static gboolean
upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
        GError **error)
{
  return TRUE;
}

static gboolean
download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes, GError **error)
{
  return TRUE;
}

static gboolean
copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
      guint64 bytes, GError **error)
{
  return TRUE;
}

static gboolean
fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  return TRUE;
}

static gboolean
texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from, guint64 offset,
               GError **error)
{
  return TRUE;
}

static gboolean
launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
        const TdArg *args, guint n_args, GError **error)
{
  ((CompileKernel *) kernel)->compiled->launched = TRUE;
  return TRUE;
}

static gboolean
event_record (TdQueue *queue, TdEvent *event, GError **error)
{
  return TRUE;
}

static gboolean
event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return TRUE;
}

static gboolean
event_sync (TdEvent *event, GError **error)
{
  return TRUE;
}

static gboolean
event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  *seconds = 1;
  return TRUE;
}

static gboolean
fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  return TRUE;
}

static void
device_free (TdDevice *base)
{
  CompileDevice *device = (CompileDevice *) base;

  g_ptr_array_unref (device->kernels);
  g_free (device);
}

/* ── Programs ── */

static gboolean
program_build (TdProgram *base, const char *name, const char *source, const char *const *defines,
               GError **error)
{
  CompileDevice *device = (CompileDevice *) base->device;
  CompileProgram *program = (CompileProgram *) base;

  program->first = device->kernels->len;
  if (!device->compile (name, source, defines, device->user, device->kernels, error))
    return FALSE;
  program->last = device->kernels->len;
  return TRUE;
}

static gboolean
kernel_new (TdKernel *kernel, GError **error)
{
  CompileDevice *device = (CompileDevice *) kernel->program->device;
  const CompileProgram *program = (const CompileProgram *) kernel->program;

  for (guint i = program->first; i < program->last; i++) {
    TdCompiledKernel *compiled = device->kernels->pdata[i];
    if (g_str_equal (compiled->kernel, kernel->name)) {
      ((CompileKernel *) kernel)->compiled = compiled;
      return TRUE;
    }
  }
  if (!*kernel->name) /* none is wanted: the program is enough */
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG, "no kernel %s in its program", kernel->name);
  return FALSE;
}

static guint64
kernel_spilled (TdKernel *kernel)
{
  return ((CompileKernel *) kernel)->compiled->spill_bytes;
}

TdDevice *
td_compile_device_new (const TdDeviceInfo *info, const char *dialect, TdCompile compile,
                       gpointer user)
{
  CompileDevice *device = g_new0 (CompileDevice, 1);
  TdDeviceInfo *own = &device->base.info;

  /* The list of open devices exists once one was opened by name. */
  td_device_unref (td_device_open ("host", NULL));

  device->ops = (TdDeviceOps) {
    .sizes = { sizeof (TdBuffer), sizeof (TdQueue), sizeof (TdTexture), sizeof (CompileProgram),
               sizeof (CompileKernel), sizeof (TdEvent), sizeof (TdFft) },
    .device_free = device_free,
    .memory_free = memory_free,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .queue_new = queue_new,
    .queue_finish = queue_finish,
    .upload = upload,
    .download = download,
    .copy = copy,
    .fill_zero = fill_zero,
    .texture_new = texture_new,
    .texture_free = texture_free,
    .texture_write = texture_write,
    .dialect = dialect,
    .program_build = program_build,
    .kernel_new = kernel_new,
    .kernel_spilled = kernel_spilled,
    .launch = launch,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .fft_new = fft_new,
    .fft_run = fft_run,
    .fft_free = fft_free,
  };
  td_device_init (&device->base, &device->ops);
  *own = *info;
  own->id = g_strdup (info->id);
  own->name = g_strdup (info->name);
  own->vendor = g_strdup (info->vendor);
  own->api = g_strdup (info->api);
  own->driver = g_strdup ("compiler only");
  own->hardware_id = NULL;
  device->compile = compile;
  device->user = user;
  device->kernels = g_ptr_array_new_with_free_func (td_compiled_kernel_free);
  return &device->base;
}

GPtrArray *
td_compile_device_kernels (TdDevice *device)
{
  return ((CompileDevice *) device)->kernels;
}

void
td_compiled_kernel_free (gpointer data)
{
  TdCompiledKernel *kernel = data;

  g_free (kernel->program);
  g_free (kernel->kernel);
  g_free (kernel->defines);
  g_free (kernel);
}

/* ── What to compile ── */

static void
make (TdDevice *device, const TdBackprojectFamily *family, const TdBackprojectTask *task,
      const TdBackprojectVariant *variant, guint slices)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdBackprojector) projector
      = td_backprojector_new (family, device, task, variant, slices, &error);
  guint64 input = sizeof (float) * slices * task->n_views * task->n_columns;
  g_autoptr (TdBuffer) sinograms = td_buffer_new (device, input, NULL);
  g_autoptr (TdBuffer) out
      = td_buffer_new (device, sizeof (float) * slices * task->nx * task->ny, NULL);
  g_autoptr (TdQueue) queue = td_queue_new (device, NULL);

  g_assert_no_error (error);
  if (variant == &td_backproject_default)
    g_assert_true (td_backprojector_run (projector, queue, (TdPlace) { sinograms, 0 },
                                         (TdPlace) { out, 0 }, slices, &error));
  g_assert_no_error (error);
}

static guint
make_variants (TdDevice *device, const TdBackprojectFamily *family, const TdBackprojectTask *task,
               TdCompileExtent extent)
{
  static const guint slices[] = { 4, 2, 1 };
  const guint n_slices = extent == TD_COMPILE_SOME ? 1 : G_N_ELEMENTS (slices);
  guint made = 0;

  for (guint s = 0; s < n_slices; s++, made++)
    make (device, family, task, &td_backproject_default, slices[s]);
  g_autoptr (GPtrArray) all = extent == TD_COMPILE_CANDIDATES && family->candidates
                                  ? family->candidates (family, task, td_device_info (device))
                                  : NULL;
  for (guint i = 0; all && i < all->len; i++, made++) {
    const TdBackprojectVariant *variant = all->pdata[i];
    make (device, family, task, variant, MAX (variant->slices, 1));
  }
  return made;
}

guint
td_compile_device_families (TdDevice *device, TdCompileExtent extent)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  double angles[256];
  TdBackprojectTask task = {
    .n_columns = 2048,
    .n_views = G_N_ELEMENTS (angles),
    .nx = 2048,
    .ny = 2048,
    .x0 = -1023.5,
    .y0 = 1023.5,
    .step = 1,
    .centre_px = 1023.5,
    .angles_rad = angles,
    .scale = 1,
  };
  guint made = 0;

  for (guint i = 0; i < G_N_ELEMENTS (angles); i++)
    angles[i] = G_PI * i / G_N_ELEMENTS (angles);
  for (guint f = 0; families[f]; f++)
    for (guint i = extent == TD_COMPILE_SOME ? TD_INTERPOLATION_LINEAR : TD_INTERPOLATION_NEAREST;
         i <= TD_INTERPOLATION_LINEAR; i++)
      for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++) {
        task.interpolation = i;
        task.precision = p;
        if (!families[f]->unsupported
            || !families[f]->unsupported (families[f], &task, td_device_info (device)))
          made += make_variants (device, families[f], &task, extent);
      }
  return made;
}

/* Programs that no family builds: their source and the defines their callers give. */
static const struct {
  const char *source, *defines[9];
} others[] = {
  { "backproject-cone", { "PACK=1", "TEXTURE=0", "VOXELS=8", "GENERAL=0" } },
  { "backproject-cone", { "PACK=1", "TEXTURE=0", "VOXELS=1", "GENERAL=1" } },
  { "backproject-cone",
    { "PACK=1", "TEXTURE=1", "VOXELS=16", "GENERAL=0", "X_LANES=32", "Z_LANES=1", "GROUP=256",
      "RESIDENT=4" } },
  { "backproject-cone", { "PACK=1", "TEXTURE=1", "VOXELS=1", "GENERAL=1" } },
  { "backproject-cone",
    { "PACK=2", "TEXTURE=1", "VOXELS=8", "GENERAL=0", "X_LANES=16", "Z_LANES=2", "GROUP=128",
      "RESIDENT=7" } },
  { "backproject-cone",
    { "PACK=4", "TEXTURE=1", "VOXELS=2", "GENERAL=0", "X_LANES=4", "Z_LANES=2", "GROUP=64",
      "RESIDENT=16" } },
  { "cone-columns", { "PACK=1", "VOXELS=4" } },
  { "cone-columns", { "PACK=2", "VOXELS=4" } },
  { "cone-columns", { "PACK=4", "VOXELS=4" } },
  { "cone-pack", { "PACK=2", "HALF=0", "PADDED=0", "COLUMNS=1" } },
  { "cone-pack", { "PACK=1", "HALF=0", "PADDED=1" } },
  { "cone-pack", { "PACK=1", "HALF=1", "PADDED=0" } },
  { "cone-pack", { "PACK=2", "HALF=0", "PADDED=0" } },
  { "cone-pack", { "PACK=4", "HALF=1", "PADDED=0" } },
  { "cone-rectify", { NULL } },
  { "cone-weight", { NULL } },
  { "filter", { NULL } },
  { "fourier", { "PAIRS=1" } },
  { "fourier", { "PAIRS=2" } },
  { "fourier", { "PAIRS=4" } },
  { "rings-ranks", { NULL } },
  { "rows-gather", { NULL } },
  { "rows-gather", { "QUADS", NULL } },
  { "bench-units", { "UNIT=0" } },
  { "bench-units", { "UNIT=1" } },
  { "bench-units", { "UNIT=2" } },
  { "bench-units", { "UNIT=3" } },
  { "bench-units", { "UNIT=4" } },
  { "check-device", { "FACTOR=2.0f", "GROUP=32" } },
  { "check-host", { NULL } },
  { "check-texture", { "CHANNELS=1", "LINEAR=1", "LAYERED=0" } },
  { "check-texture", { "CHANNELS=2", "LINEAR=0", "LAYERED=1" } },
  { "check-texture", { "CHANNELS=4", "LINEAR=1", "LAYERED=1" } },
  { "paganin", { NULL } },
  { "prepare", { NULL } },
  { "raw-samples", { NULL } },
  { "raw-samples", { "TD_RAW_BYTES=1", NULL } },
  { "rays-back", { NULL } },
  { "rays-lines", { NULL } },
  { "rays-project", { NULL } },
  { "rays-upright", { "TD_RAY_VOXELS=8", "TD_RAY_ROWS=4", "TD_RAY_SHARED=8", NULL } },
  { "rays-upright", { "TD_RAY_VOXELS=1", "TD_RAY_ROWS=1", NULL } },
  { "rings-columns", { NULL } },
  { "rings-shade", { NULL } },
  { "rings-sort", { NULL } },
  { "prepare-correct", { NULL } },
  { "prepare-zingers", { NULL } },
  { "rings-wavelet", { NULL } },
  { "stored-samples", { NULL } },
  { "stored-samples", { "TD_STORED_BYTES=1", NULL } },
  { "total-variation", { NULL } },
};

/* So that a new kernel is not forgotten. Kernels for CPUs are compiled by PoCL in the unit tests.
 */
static gboolean
is_compiled (TdDevice *device, const char *file_name)
{
  GPtrArray *kernels = td_compile_device_kernels (device);

  for (guint i = 0; i < kernels->len; i++) {
    const TdCompiledKernel *kernel = kernels->pdata[i];
    g_autofree char *source = g_strconcat (kernel->program, ".cl", NULL);
    if (g_str_equal (source, file_name))
      return TRUE;
  }
  return g_str_has_suffix (file_name, ".h") || g_str_equal (file_name, "backproject-host.cl");
}

void
td_compile_device_others (TdDevice *device, TdCompileExtent extent)
{
  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autoptr (GError) error = NULL;

    if (extent == TD_COMPILE_SOME && i > 0 && g_str_equal (others[i].source, others[i - 1].source))
      continue;
    td_device_kernel (device, others[i].source, others[i].defines, "", &error);
    g_assert_no_error (error);
  }
}

void
td_compile_device_report (TdDevice *device, const char *title)
{
  GPtrArray *kernels = td_compile_device_kernels (device);
  guint spilling = 0;

  for (guint i = 0; td_kernel_sources[i].name; i++)
    if (!is_compiled (device, td_kernel_sources[i].name))
      g_error ("%s: no variant is compiled; add it to the table above", td_kernel_sources[i].name);
  g_test_message ("%s: %u kernels", title, kernels->len);
  for (guint i = 0; i < kernels->len; i++) {
    const TdCompiledKernel *kernel = kernels->pdata[i];
    g_test_message ("%3u registers %5" G_GUINT64_FORMAT " bytes spilled %6" G_GUINT64_FORMAT
                    " bytes local  %s/%s %s",
                    kernel->registers, kernel->spill_bytes, kernel->local_bytes, kernel->program,
                    kernel->kernel, kernel->defines);
    spilling += kernel->launched && kernel->spill_bytes > 0;
  }
  g_assert_cmpuint (kernels->len, >, 0);
  if (spilling > 0) {
    g_test_message ("%s: %u kernels spill", title, spilling);
    g_test_fail ();
  }
}
