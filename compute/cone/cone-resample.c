/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-resample.h"

#include "kernels/params.h"

struct TdConeResample {
  TdDevice *device;
  TdConeRectifyRows params; /* but for the rows */
  TdBuffer *forms;          /* [view or 1][TD_CONE_RECTIFY_FORM] */
  TdProgram *program;
  TdKernel *kernel;
};

static TdBuffer *
upload_forms (TdDevice *device, const TdConeTask *task, GError **error)
{
  const guint64 bytes = (guint64) task->tilted.n * TD_CONE_RECTIFY_FORM * sizeof (float);
  g_autofree float *forms = g_malloc (bytes);
  g_autoptr (TdQueue) queue = td_queue_new (device, error);
  g_autoptr (TdBuffer) buffer = queue ? td_buffer_new (device, bytes, error) : NULL;

  for (guint view = 0; view < task->tilted.n; view++) {
    double form[TD_CONE_RECTIFY_FORM];
    td_cone_rectify_form (task, view, form);
    for (guint i = 0; i < TD_CONE_RECTIFY_FORM; i++)
      forms[(gsize) view * TD_CONE_RECTIFY_FORM + i] = (float) form[i];
  }
  if (!buffer || !td_upload (queue, buffer, 0, forms, bytes, error)
      || !td_queue_finish (queue, error))
    return NULL;
  return g_steal_pointer (&buffer);
}

TdConeResample *
td_cone_resample_new (TdDevice *device, const TdConeTask *task, GError **error)
{
  g_autoptr (TdConeResample) self = g_new0 (TdConeResample, 1);
  const TdConeTilted *tilted = &task->tilted;

  self->device = td_device_ref (device);
  self->params = (TdConeRectifyRows) {
    .n_columns = (int) task->n_measured,
    .n_views = (int) task->n_views,
    .from_columns = (int) tilted->n_columns,
    .columns = td_device_info (device)->host_pointers ? (int) task->n_measured : 1,
    .form_stride = tilted->n == 1 ? 0 : TD_CONE_RECTIFY_FORM,
    .u_middle = (float) ((task->n_measured - 1) / 2.0),
    .v_middle = (float) ((task->n_rows - 1) / 2.0),
    .from_u = (float) ((tilted->n_columns - 1) / 2.0),
    .from_v = (float) ((tilted->n_rows - 1) / 2.0),
  };
  self->forms = upload_forms (device, task, error);
  self->program = self->forms ? td_program_build (device, "cone-rectify", NULL, error) : NULL;
  self->kernel = self->program ? td_program_kernel (self->program, "cone_rectify", error) : NULL;
  return self->kernel ? g_steal_pointer (&self) : NULL;
}

gboolean
td_cone_resample_run (TdConeResample *self, TdQueue *queue, TdBuffer *from, TdRowRange given,
                      TdBuffer *to, TdRowRange rows, GError **error)
{
  TdConeRectifyRows params = self->params;
  const guint items = (guint) (params.n_columns / params.columns), wide = MIN (items, 64);
  const guint local[3] = { wide, 1, 1 };
  const guint groups[3] = { (items + wide - 1) / wide, (guint) params.n_views, rows.count };
  const TdArg args[] = { TD_ARG_BUFFER (from), TD_ARG_BUFFER (to), TD_ARG_BUFFER (self->forms),
                         TD_ARG_VALUE (params) };

  params.n_rows = (int) rows.count;
  params.row0 = (int) rows.first;
  params.from_rows = (int) given.count;
  params.from_row0 = (int) given.first;
  return td_launch (queue, self->kernel, groups, local, args, G_N_ELEMENTS (args), error);
}

void
td_cone_resample_free (TdConeResample *self)
{
  if (!self)
    return;
  td_program_free (self->program);
  td_buffer_free (self->forms);
  td_device_unref (self->device);
  g_free (self);
}
