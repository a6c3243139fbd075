/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs on the host: the kernels that kernels/meson.build compiled as C for this CPU. */
#include "host-private.h"
#include "kernels/source.h"

typedef struct {
  TdProgram base;
  const TdHostKernel *kernels;
} HostProgram;

typedef struct {
  TdKernel base;
  const TdHostKernel *code;
} HostKernel;

/* A launch cut into pieces of about equal work for td_parallel_for. */
typedef struct {
  const TdHostKernel *code;
  const void *args[64];
  int groups[3], local[3];
  guint64 rows;   /* y and z together */
  guint64 nx, ny; /* work-items along x, y */
  guint64 rows_a_piece;
  guint x_pieces; /* more than 1 only with single rows */
} Launch;

static const TdHostSource *
host_program_sources (void)
{
#if defined(__x86_64__)
  if (td_host_isa () == TD_ISA_AVX512)
    return td_host_sources_avx512;
  if (td_host_isa () == TD_ISA_AVX2)
    return td_host_sources_avx2;
#endif
  return td_host_sources_plain;
}

gboolean
td_host_program_build (TdDevice *device, const char *name, const char *source,
                       const char *const *defines, TdProgram **program, GError **error)
{
  const TdHostSource *found = host_program_sources ();

  while (found->source && !g_str_equal (found->source, name))
    found++;
  if (!found->source || defines[0]) {
    td_set_error (error, TD_ERROR_DEVICE_BUILD,
                  "the program '%s'%s%s is not among those compiled for the host", name,
                  defines[0] ? " with " : "", defines[0] ? defines[0] : "");
    return FALSE;
  }
  HostProgram *self = g_new0 (HostProgram, 1);
  self->kernels = found->kernels;
  *program = &self->base;
  return TRUE;
}

void
td_host_program_free (TdProgram *program)
{
  g_free (program);
}

gboolean
td_host_program_kernel (TdProgram *program, const char *name, TdKernel **kernel, GError **error)
{
  const TdHostKernel *found = ((HostProgram *) program)->kernels;

  while (found->name && !g_str_equal (found->name, name))
    found++;
  if (!found->name) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "there is no kernel '%s'", name);
    return FALSE;
  }
  HostKernel *self = g_new0 (HostKernel, 1);
  self->code = found;
  *kernel = &self->base;
  return TRUE;
}

void
td_host_kernel_free (TdKernel *kernel)
{
  g_free (kernel);
}

gboolean
td_host_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error)
{
  info->max_group_size = kernel->program->device->info.max_group_size;
  return TRUE;
}

/* args[i] points to the value; @pointers keeps the buffers' addresses. */
static gboolean
host_program_unpack (Launch *launch, void **pointers, const TdArg *args, guint n_args,
                     GError **error)
{
  const TdHostKernel *code = launch->code;

  if (n_args != code->n_args || n_args > G_N_ELEMENTS (launch->args)) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "%s takes %u arguments, not %u", code->name,
                  code->n_args, n_args);
    return FALSE;
  }
  for (guint i = 0; i < n_args; i++) {
    gboolean is_buffer = args[i].kind == TD_ARG_BUFFER_KIND;
    gboolean is_value = args[i].kind == TD_ARG_VALUE_KIND;
    if (is_buffer != (code->sizes[i] == 0) || (is_value && args[i].size != code->sizes[i])
        || (!is_buffer && !is_value)) {
      td_set_error (error, TD_ERROR_DEVICE_BUG, "%s: argument %u has the wrong type or size",
                    code->name, i);
      return FALSE;
    }
    pointers[i] = is_buffer ? td_buffer_map (args[i].buffer) : NULL;
    launch->args[i] = is_buffer ? &pointers[i] : args[i].value;
  }
  return TRUE;
}

static void
host_program_run_piece (guint index, gpointer data)
{
  const Launch *launch = data;
  guint64 row = index / launch->x_pieces * launch->rows_a_piece;
  guint64 end = MIN (row + launch->rows_a_piece, launch->rows);
  guint64 part = index % launch->x_pieces;
  int x0 = launch->nx * part / launch->x_pieces;
  int x1 = launch->nx * (part + 1) / launch->x_pieces;

  while (row < end) {
    int z = row / launch->ny, y0 = row % launch->ny;
    int y1 = MIN (launch->ny, y0 + (end - row));
    launch->code->run (launch->args, launch->groups, launch->local, z, y0, y1, x0, x1);
    row += y1 - y0;
  }
}

/* A few pieces a thread, so that a slow core does not hold up the others. Small launches stay here.
 */
static guint
host_program_cut (Launch *launch)
{
  guint64 items = launch->rows * launch->nx;
  guint64 pieces = 8 * td_host_threads ();

  launch->rows_a_piece = MAX (1, (launch->rows + pieces - 1) / pieces);
  launch->x_pieces = 1;
  if (launch->rows < td_host_threads () * 2)
    launch->x_pieces = CLAMP (pieces / launch->rows, 1, MAX (1, launch->nx / 1024));
  if (items < 4096 && launch->nx >= 16) { /* fat work-items come in small numbers along x */
    launch->rows_a_piece = launch->rows;
    launch->x_pieces = 1;
  }
  return (launch->rows + launch->rows_a_piece - 1) / launch->rows_a_piece * launch->x_pieces;
}

gboolean
td_host_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                const TdArg *args, guint n_args, GError **error)
{
  Launch launch = { .code = ((HostKernel *) kernel)->code };
  void *pointers[G_N_ELEMENTS (launch.args)];

  if (!host_program_unpack (&launch, pointers, args, n_args, error))
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    launch.groups[i] = groups[i];
    launch.local[i] = local[i];
  }
  launch.nx = (guint64) groups[0] * local[0];
  launch.ny = (guint64) groups[1] * local[1];
  launch.rows = launch.ny * groups[2] * local[2];
  if (launch.rows > G_MAXINT32) {
    td_set_error (error, TD_ERROR_TOO_LARGE, "%s: 2^31 rows of work-items or more", kernel->name);
    return FALSE;
  }
  td_parallel_for (host_program_cut (&launch), host_program_run_piece, &launch);
  return TRUE;
}
