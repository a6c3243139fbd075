/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"
#include "compute/cone/cone-filter.h"
#include "compute/cone/cone-rectify.h"
#include "compute/engine/method.h"

/**
 * FDK as a job, slab by slab of the volume: each detector row is read and filtered once, in time
 * for the first slab that sees it (iFDK, section 3.1). How the volume is cut changes no bit of it.
 *
 * Filtered rows wait in one of two places. "Window": each device filters for itself and keeps the
 * rows that its next slabs see; nothing filtered crosses the bus. It goes from the mid-plane
 * outwards, since slices there see the fewest rows and so can begin first. "Host": one thread
 * filters for all devices into host memory (or a file, when that is short), from the top down, and
 * batches of views are sent from there.
 *
 * Several devices share the volume, each its own range of slabs until it runs out of them and helps
 * the others; or the projections, each adding some of the views to every slab, whose parts are
 * summed on the host (Okitsu et al., section 4). What a device had not delivered when it failed
 * goes to the others.
 */

/* A slab: slices, and the detector rows that they see, counted in the plan's. */
typedef struct {
  guint slice0, n_slices;
  guint row0, row_end; /* equal: none */
} TdFdkSlabCut;

/* Where frames of a turned detector wait that are read once, to be taken from in rows
 * (dataset/scan-spool.h). */
typedef enum { TD_FDK_SPOOL_NONE, TD_FDK_SPOOL_MEMORY, TD_FDK_SPOOL_FILE } TdFdkSpool;

/* What the plan decided. */
typedef struct {
  TdConeTask task; /* of the slices asked for: nz = n_slices */
  gboolean turned; /* the plan's scan is: its detector lies on its side */
  TdFdkSpool spool;
  double lean_rad;     /* of the rows of the scan's detector */
  TdGeometry geometry; /* the scan's, with the recipe's centre */
  double *angles_rad;
  guint row0, n_rows; /* rows of the task's detector that the slices see */
  guint halo;         /* rows around those of the scan's that preparation wants */
  TdShareKind share;  /* volume or projection */
  gboolean filter_on_device;
  gboolean window;          /* see above; else host */
  guint64 projection_bytes; /* host: filtered projections, all views */
  gboolean on_disk;         /* they do not fit the host's memory */
  guint filter_rows;        /* rows filtered at once: a chunk */
  guint chunk_rows;     /* most rows of the scan's detector that one is made of, halo included */
  guint64 filter_bytes; /* host: of whoever filters, a chunk and its workspace */
  guint n_chunks, window_chunks; /* of all rows; that a device keeps at most */
  guint block_rows;              /* window: read at once from a file that likes it; 0: a chunk */
  guint slab, n_slabs;           /* most slices of one */
  TdFdkSlabCut *cuts;            /* n_slabs, each device's in the order in which it comes to them */
  guint slab_rows;               /* most detector rows that one slab sees */
  guint turns;                   /* views that must come together: the most that a family wants */
  guint batch, n_batches;        /* views added at once, a multiple of turns */
  guint most_views;              /* that every device's textures have layers for */
  guint volumes;                 /* slabs in a device's memory: one computes while one is fetched */
  guint land_slices;             /* of a pinned buffer in which finished slices land */
  guint n_landing;               /* such buffers */
  guint64 ring_bytes;            /* of each of the RING pinned buffers that feed a device */
  const TdConeFamily **families; /* one for each device */
  guint *own; /* n_devices + 1: device d begins with slabs own[d] to own[d + 1] - 1 */
  guint64 device_bytes,
      host_bytes; /* what all of this takes, of each device at most and of the host */
  /* What failures taught (fdk-retry.c). */
  gboolean *retired;           /* devices that take no part any more; NULL: none */
  guint64 *budgets;            /* most bytes of each device; NULL: what it has free */
  guint halvings;              /* of the host's pinned memory */
  guint most_batch, most_slab; /* after a watchdog; 0: any */
} TdFdkPlan;

#define TD_FDK_RING 3

void td_fdk_plan_free (TdFdkPlan *fdk);
/* The planning half of td_method_fdk; see TdMethod. */
const char *td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
/* fdk-spool.c: whether frames that the plan reads several times go to a copy, which is the plan's
 * scan then. */
gboolean td_fdk_plan_spool (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error);
gboolean td_fdk_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
                      GError **error);

/* fdk-fit.c: slabs, batches, chunks and buffers that fit the memory of host and devices, for the
   scheme in fdk->share and the place in fdk->filter_on_device. */
gboolean td_fdk_fit (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error);
/* What fdk takes of a device as it is. */
guint64 td_fdk_device_bytes (const TdPlan *plan, const TdFdkPlan *fdk, GPtrArray *devices,
                             guint index);
/* What the copy of the frames takes; 0: there is none. Of the host's memory; while it is made. */
guint64 td_fdk_spool_bytes (const TdPlan *plan, const TdFdkPlan *fdk);
guint64 td_fdk_spool_work_bytes (const TdPlan *plan, const TdFdkPlan *fdk);
/* Rows of the scan come into more than one chunk: those that were read stay for the next. */
gboolean td_fdk_holds (const TdFdkPlan *fdk);
/* fdk-share.c: who filters; volume or projections, by what either costs (Okitsu et al., Table 1),
   and whether that fits; each device's first slabs by its measured speed. Notes say why. */
gboolean td_fdk_choose_share (TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices, GError **error);
/* fdk-cut.c: cuts the volume into slabs of fdk->slab slices and fdk->slab_rows rows at most, into
   fdk->cuts, each device's by its share (sum 1) of what they do together. */
void td_fdk_cut (const TdPlan *plan, TdFdkPlan *fdk, guint n_devices, const double *shares);
/* td_fdk_cut() by measured speeds (fdk-share.c). */
void td_fdk_share_slabs (const TdPlan *plan, TdFdkPlan *fdk, GPtrArray *devices);

/* What measured rates hold for, keys of td_engine_rate(). (transfer full) */
char *td_fdk_job_rate_key (const TdPlan *plan, const TdFdkPlan *fdk); /* updates/s, end to end */
char *td_fdk_device_rate_key (TdDevice *device,
                              const TdConeFamily *family); /* updates/s, kernels */
char *td_fdk_filter_rate_key (TdDevice *device);           /* bytes/s */
char *td_fdk_transfer_rate_key (TdDevice *device);         /* bytes/s */

/* fdk-rows.c: what rows [row, row + n) of the plan's are made of. A level detector's
   (cone-rectify.h) come of others, and more, of the scan's; else they are the same. */
typedef struct {
  TdConeRows from; /* the scan's, with the halo */
  TdConeRows rows; /* those filtered, counted on the task's detector */
  guint data_row0; /* the first that their buffer holds when they are filtered */
} TdFdkSpan;

TdFdkSpan td_fdk_span (const TdFdkPlan *fdk, guint row, guint n);
/* Most rows of the scan's that @step of the plan's are made of, from @row on. */
guint td_fdk_most_rows (const TdFdkPlan *fdk, guint row, guint step);
/* Bytes of a buffer that @n of the plan's rows come into as @from_rows and leave filtered; of a
 * chunk. */
guint64 td_fdk_rows_bytes (const TdFdkPlan *fdk, guint from_rows, guint n);
guint64 td_fdk_chunk_bytes (const TdFdkPlan *fdk);
/* Of @n filtered ones. */
guint64 td_fdk_filtered_bytes (const TdFdkPlan *fdk, guint n);
/* Whether so many of the scan's rows can be resampled at once: kernels count samples in 31 bits. */
gboolean td_fdk_rows_fit (const TdFdkPlan *fdk, guint from_rows);
/* How many rows the filter takes at once for that. */
guint td_fdk_most_filtered (const TdFdkPlan *fdk, guint from_rows, guint n);
/* Enqueues: resamples if need be, weights and filters, in place. */
gboolean td_fdk_filter_span (const TdFdkPlan *fdk, TdConeFilter *filter, TdQueue *queue,
                             TdBuffer *rows, const TdFdkSpan *span, GError **error);
/* A batch's views are the places i of in_turn * turns: first + i % in_turn + i / in_turn * a_turn.
 */
typedef struct {
  guint first, in_turn, a_turn;
  guint n; /* views */
} TdFdkBatch;
TdFdkBatch td_fdk_batch (const TdFdkPlan *fdk, guint index);
