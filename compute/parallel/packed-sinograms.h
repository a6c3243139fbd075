/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"
#include "kernels/params.h"

/**
 * Sinograms packed for the tiled kernels (kernels/backproject-pack.cl) and the table of views that
 * goes with them. The table's first part holds the views whose positions rise down the rows, the
 * second the others. With @fold, views whose positions fall to the right are mirrored, so that they
 * rise. Each part is filled up with rows of zeros to a multiple of @batch.
 */
typedef struct {
  guint slices;  /* side by side: 1, 2, 4 */
  guint planes;  /* values; values and differences (2); values and three differences (4) */
  guint samples; /* a column: 1, 4 */
  guint bins;    /* the widest window a kernel reads; 0: no margins, for textures */
  guint batch;
  gboolean fold;
  gboolean half;
  gboolean scaled; /* so that sums in half do not overflow; half storage needs it too */
  gboolean pairs;  /* planes beside each other, bin by bin */
  gboolean split;  /* four slices as two rows of two */
} TdPackSpec;

/* On the device, as kernels take them. */
typedef struct {
  TdBuffer *rows, *views; /* packed rows; the table */
  /* The table's constants as float4 for texture kernels: position of the region's first pixel +
     1/2, right, down, row + 1/2. */
  TdBuffer *constants;
  TdBuffer *greatest; /* absolute value; what half storage is scaled by */
} TdPackedBuffers;

typedef struct TdPackedSinograms TdPackedSinograms;

TdPackedSinograms *td_packed_sinograms_new (TdDevice *device, const TdBackprojectTask *task,
                                            const TdPackSpec *spec, GError **error);
void td_packed_sinograms_free (TdPackedSinograms *self);
/* New geometry, same number of views and columns. Blocks until the tables are on the device. */
gboolean td_packed_sinograms_update (TdPackedSinograms *self, const TdBackprojectTask *task,
                                     GError **error);
/* Enqueues what half storage needs of all slices: their greatest value. Does nothing for single. */
gboolean td_packed_sinograms_measure (TdPackedSinograms *self, TdQueue *queue, TdPlace sinograms,
                                      guint n_slices, GError **error);
/* Enqueues the packing of spec.slices slices from @slice0 on, those of @n_slices that exist. */
gboolean td_packed_sinograms_pack (TdPackedSinograms *self, TdQueue *queue, TdPlace sinograms,
                                   guint slice0, guint n_slices, GError **error);

const TdPackedBuffers *td_packed_sinograms_buffers (TdPackedSinograms *self);
TdBackprojectParams td_packed_sinograms_params (TdPackedSinograms *self, guint n_slices);

/* Bytes of device memory; also before there is one. */
guint64 td_packed_sinograms_bytes (const TdBackprojectTask *task, const TdPackSpec *spec);
