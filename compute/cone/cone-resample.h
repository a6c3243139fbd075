/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone-rectify.h"

/* Resamples prepared rows to a task's rectified detector, on a device. */
typedef struct TdConeResample TdConeResample;

/* Copies what it needs of @task, which td_cone_task_rectify() made. Blocks. */
TdConeResample *td_cone_resample_new (TdDevice *device, const TdConeTask *task, GError **error);
/* Enqueues. @from: float [row][view][column], the detector's rows @given, at least those of
   td_cone_rectify_rows(). @to: rectified rows @rows, n_measured wide. */
gboolean td_cone_resample_run (TdConeResample *self, TdQueue *queue, TdBuffer *from,
                               TdRowRange given, TdBuffer *to, TdRowRange rows, GError **error);
void td_cone_resample_free (TdConeResample *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeResample, td_cone_resample_free)
