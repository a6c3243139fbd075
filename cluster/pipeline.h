/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <mpi.h>

#include "compute/engine/job.h"
#include "dataset/volume.h"
#include "grid.h"
#include "watch.h"
#include "worker.h"

/**
 * TdPipeline: what a rank does with a sub-volume. As in iFDK (Figure 4a), reading and filtering,
 * back-projecting, and communicating go on at once, and writing with them. The first two are the
 * threads of a TdJob (compute/engine/fdk), the third is the caller's. Bounded buffers connect them.
 */

typedef struct {
  TdEngine *engine;
  TdScan *scan;
  const TdRecipe *recipe; /* concrete, with the rank's device */
  TdViewGroup views;      /* that the rank adds */
  MPI_Comm row;           /* ranks that add the others; MPI_COMM_NULL: there are none */
  const int *nodes;       /* of those */
  MPI_Comm column;        /* ranks that filter views for each other; MPI_COMM_NULL: none do */
  guint gathered;         /* views that they give each other at once … */
  guint gathered_parts;   /* … in turn from so many parts of the views */
  gboolean ordered;
  guint64 memory; /* bytes for segments in flight */
  TdWatch *watch;
  GCancellable *cancellable;
  TdVolumeWriter *volume;
  double updates_before, updates; /* that the rank has done in all, and will do in all */
  TdPipelineTimes times;          /* of all that was run */
  gboolean says;                  /* some value was finite and not 0 */
  TdPreparationCounts counts;     /* of all that was prepared for the volume */
  GHashTable *told;               /* ids of notes: each is told once */
  guint64 peak_bytes;             /* host memory that jobs and segments took at most */
} TdPipeline;

/* Slices [first, first + count) of the recipe's, into the volume. @preview: NULL, or the path of
   the TIFF file that slice `first` goes to instead; that slice's row filters for itself. */
gboolean td_pipeline_run (TdPipeline *pipeline, TdGridShare slices, const char *preview,
                          GError **error);
