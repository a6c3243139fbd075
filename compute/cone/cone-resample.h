/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone-level.h"

/* Resamples prepared rows to a task's level detector, on a device. */
typedef struct TdConeResample TdConeResample;

/* Copies what it needs of @task, which has a level detector. Blocks. */
TdConeResample *td_cone_resample_new (TdDevice *device, const TdConeTask *task, GError **error);
/* Enqueues. @from: float [row][view][column], the detector's rows [from_row0, from_row0 +
   from_rows), those of td_cone_level_rows() at least; @to: level rows [row0, row0 + n_rows),
   n_measured wide. */
gboolean td_cone_resample_run (TdConeResample *self, TdQueue *queue, TdBuffer *from,
                               guint from_row0, guint from_rows, TdBuffer *to, guint row0,
                               guint n_rows, GError **error);
void td_cone_resample_free (TdConeResample *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeResample, td_cone_resample_free)
