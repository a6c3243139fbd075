/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wrappers for programs, kernels and launches. Programs are shared: the device keeps each it
   built, by name and defines, until it is closed. */
#include "device-api.h"
#include "kernels/source.h"

static char *
program_key (const char *name, const char *const *defines)
{
  g_autofree char *all = g_strjoinv ("\n", (char **) defines);

  return g_strconcat (name, "\n", all, NULL);
}

static void
free_program (gpointer data)
{
  TdProgram *program = data;
  const TdDeviceOps *ops = program->device->ops;
  GHashTableIter iter;
  gpointer kernel;

  g_hash_table_iter_init (&iter, program->kernels);
  while (g_hash_table_iter_next (&iter, NULL, &kernel)) {
    g_free (((TdKernel *) kernel)->name);
    ops->kernel_free (kernel);
  }
  g_hash_table_unref (program->kernels);
  ops->program_free (program);
}

void
td_device_free_programs (TdDevice *device)
{
  g_clear_pointer (&device->programs, g_hash_table_unref);
}

static TdProgram *
device_program_build (TdDevice *device, const char *name, const char *const *defines,
                      GError **error)
{
  g_autofree char *source = NULL;
  TdProgram *program = NULL;

  if (device->ops->dialect) {
    source = td_kernel_source_expand (name, device->ops->dialect);
    if (!source) {
      td_set_error (error, TD_ERROR_DEVICE_BUG, "there is no kernel source '%s'", name);
      return NULL;
    }
  }
  g_atomic_int_inc (&device->building);
  const gboolean built
      = device->ops->program_build (device, name, source, defines, &program, error);
  g_atomic_int_add (&device->building, -1);
  g_atomic_int_add (&device->builds, source != NULL);
  if (!built)
    return NULL;
  program->device = device;
  program->kernels = g_hash_table_new (g_str_hash, g_str_equal);
  return program;
}

TdProgram *
td_program_build (TdDevice *device, const char *name, const char *const *defines, GError **error)
{
  static const char *const none[] = { NULL };
  g_autofree char *key = NULL;

  defines = defines ? defines : none;
  key = program_key (name, defines);
  device = device->hardware;

  g_mutex_lock (&device->program_lock);
  if (!device->programs)
    device->programs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_program);
  TdProgram *program = g_hash_table_lookup (device->programs, key);
  if (!program) {
    program = device_program_build (device, name, defines, error);
    if (program)
      g_hash_table_insert (device->programs, g_steal_pointer (&key), program);
  }
  g_mutex_unlock (&device->program_lock);

  if (program)
    td_device_object_new (device);
  else
    td_device_failed (device, error);
  return program;
}

gboolean
td_device_is_building (TdDevice *device)
{
  return g_atomic_int_get (&device->hardware->building) > 0;
}

guint
td_device_builds (TdDevice *device)
{
  return (guint) g_atomic_int_get (&device->hardware->builds);
}

void
td_program_free (TdProgram *program)
{
  if (program)
    td_device_object_free (program->device);
}

TdKernel *
td_program_kernel (TdProgram *program, const char *name, GError **error)
{
  TdDevice *device = program->device;

  g_mutex_lock (&device->program_lock);
  TdKernel *kernel = g_hash_table_lookup (program->kernels, name);
  if (!kernel && device->ops->program_kernel (program, name, &kernel, error)) {
    kernel->program = program;
    kernel->name = g_strdup (name);
    g_hash_table_insert (program->kernels, kernel->name, kernel);
  }
  g_mutex_unlock (&device->program_lock);

  if (!kernel)
    td_device_failed (device, error);
  return kernel;
}

gboolean
td_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error)
{
  TdDevice *device = kernel->program->device;

  *info = (TdKernelInfo) { 0 };
  return device->ops->kernel_info (kernel, info, error) || td_device_failed (device, error);
}

/* What is wrong with a launch, in words; NULL: nothing. */
static const char *
launch_fault (TdQueue *queue, const guint groups[3], const guint local[3], const TdArg *args,
              guint n_args)
{
  const TdDeviceInfo *info = &queue->device->info;
  guint64 group_items = 1;

  for (guint i = 0; i < 3; i++) {
    if (!groups[i] || !local[i])
      return "no work-items";
    if ((guint64) groups[i] * local[i] > G_MAXINT32)
      return "2^31 work-items or more in one dimension";
    group_items *= local[i];
    if (group_items > info->max_group_size)
      return "a larger work-group than the device takes";
  }
  for (guint i = 0; i < n_args; i++) {
    if ((args[i].kind == TD_ARG_BUFFER_KIND && args[i].buffer->device != queue->device)
        || (args[i].kind == TD_ARG_TEXTURE_KIND && args[i].texture->device != queue->device))
      return "an argument of another device";
    if (args[i].kind == TD_ARG_LOCAL_KIND && i + 1 != n_args)
      return "a local-memory argument that is not the last";
    if (args[i].kind == TD_ARG_LOCAL_KIND && args[i].size > info->local_memory_bytes)
      return "more local memory than the device has";
  }
  return NULL;
}

gboolean
td_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
           const TdArg *args, guint n_args, GError **error)
{
  TdDevice *device = queue->device;
  const char *fault = kernel->program->device != device
                          ? "a program of another device"
                          : launch_fault (queue, groups, local, args, n_args);

  if (fault) {
    td_set_error (error, TD_ERROR_DEVICE_BUG,
                  "%s: launch of %u × %u × %u groups of %u × %u × %u with %s", kernel->name,
                  groups[0], groups[1], groups[2], local[0], local[1], local[2], fault);
    return td_device_failed (device, error);
  }
  return device->ops->launch (queue, kernel, groups, local, args, n_args, error)
         || td_device_failed (device, error);
}
