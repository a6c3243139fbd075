/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"
#include "compute/cone/cone-filter.h"
#include "compute/cone/cone-rectify.h"
#include "compute/engine/cone-frames.h"
#include "compute/engine/plan-private.h"

/**
 * FDK as a job, slab by slab of the volume. Each detector row is read and filtered once, in time
 * for the first slab that sees it (iFDK, section 3.1). The cut of the volume changes no bit of it.
 *
 * Filtered rows wait in one of two places. In a row cache, each device filters for itself and keeps
 * the rows that its next slabs see. Nothing filtered crosses the bus. Such a device computes from
 * the mid-plane outwards, since slices there see the fewest rows and can begin first. On the host,
 * one thread filters for all devices into memory (or a file, when memory is short), from the top
 * down. Batches of views are sent from there.
 *
 * Several devices share the volume: each has its own slabs and then helps the others. Or they share
 * the projections (Okitsu et al., section 4): each adds some views to every slab, and the host
 * adds up the parts. What a device had not delivered when it failed goes to the others.
 *
 * A plan is made in one direction: TdFdkInput, then TdFdkScheme, TdFdkFit and TdFdkCut. Each stage
 * is a value that the later ones only read. An attempt after a failure makes the last three again.
 */

/* What is reconstructed from what; no decision and no failure changes it. */
typedef struct {
  TdScan *scan;           /* the plan's; with frames turned, if the detector lies on its side */
  gboolean turned;        /* the latter */
  TdConeTask task;        /* of the recipe's slices and the views that are added */
  guint slice0, n_slices; /* of the task's: those that are computed */
  TdViewOrder views;      /* those in the scan */
  TdGeometry geometry;    /* the scan's, with the recipe's centre */
  double *angles_rad;     /* of the task's views */
  double row_slope_rad;   /* of the detector's rows (cone-rectify.h) */
  guint row0, n_rows;     /* rows of the task's detector that the slices see */
  guint halo;             /* rows around those of the scan that preparation wants */
  double half_scale;      /* of half storage (TdConeLimits); 1 of single */
} TdFdkInput;

/* Who does what (fdk-share.c). */
typedef struct {
  TdShareKind share; /* volume or projection */
  gboolean filter_on_device;
  TdConeSpool spool;
  const TdConeFamily **families; /* one for each device */
} TdFdkScheme;

/* Sizes with which the scheme fits the memory of host and devices (fdk-fit.c). */
typedef struct {
  gboolean cached;                  /* filtered rows wait in row caches, else on the host */
  gboolean on_disk;                 /* host: the projections do not fit its memory */
  guint filter_rows;                /* rows filtered at once: a chunk */
  guint chunk_rows;                 /* most rows of the scan that one is made of, halo included */
  guint64 filter_bytes;             /* host: of whoever filters, a chunk and its workspace */
  guint n_chunks, cached_chunks;    /* of all rows; that a device keeps at most */
  guint held_views;                 /* host: of the filtered views, those that have room */
  guint block_rows;                 /* cache: rows read at once from a file; 0: a chunk's */
  guint slab, n_slabs;              /* most slices of one, and slabs of so many */
  guint least_slab;                 /* cards: fewer slices cost more than they should */
  guint slab_rows;                  /* most detector rows that one slab sees */
  guint symmetric_views;            /* that must come together: the most that a family wants */
  guint batch, n_batches;           /* views added at once, a multiple of symmetric_views */
  gboolean bands;                   /* TdConeLimits.bands */
  guint most_views;                 /* that every device's textures have layers for */
  guint volumes;                    /* slabs in a device: one computes while one is downloaded */
  guint download_slices;            /* of one of the pinned buffers that slices are downloaded to */
  guint n_downloads;                /* such buffers */
  guint64 ring_bytes;               /* of each of the RING pinned buffers that feed a device */
  guint64 device_bytes, host_bytes; /* of each device at most, and of the host */
} TdFdkFit;

/* A slab: slices, and the detector rows that they see, counted from the input's first. */
typedef struct {
  guint slice0, n_slices;
  guint row0, row_end; /* equal: none */
} TdFdkSlabCut;

/* Where slabs begin and end (fdk-cut.c). */
typedef struct {
  TdFdkSlabCut *slabs; /* each device's in the order in which it computes them */
  guint n_slabs;
  guint *own; /* n_devices + 1: device d begins with slabs own[d] to own[d + 1] - 1 */
} TdFdkCut;

/* What failures taught. All zero: nothing. */
typedef struct {
  gboolean *retired;           /* devices that take no part any more; NULL: none */
  guint64 *budgets;            /* most bytes of each device; NULL: what it has free */
  guint halvings;              /* of the host's pinned memory */
  guint most_batch, most_slab; /* after a watchdog; 0: any */
} TdFdkAttempt;

typedef struct {
  const TdFdkInput *input;
  guint gathered; /* the plan's (TdJobGathered) */
  TdFdkScheme scheme;
  TdFdkFit fit;
  TdFdkCut cut;
  TdScan *scan; /* that rows are read from: the input's, or its copy (scheme.spool) */
} TdFdkPlan;

#define TD_FDK_RING 3

/* What the plan's projectors are made for. */
TdConeLimits td_fdk_limits (const TdPlan *plan, const TdFdkPlan *fdk);

/* The planning half of td_method_fdk; see TdMethod. */
const char *td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
gboolean td_fdk_plan (TdPlan *plan, GCancellable *cancellable, GError **error);

/* fdk-way.c: scheme->families by what the recipe names and by its accuracy. The plan's facts get
   the ways that it leaves open. Free scheme->families. */
gboolean td_fdk_take_way (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme,
                          GError **error);
/* fdk-share.c: families; who filters; volume or projections, by what either costs (Okitsu et al.,
   Table 1) and whether it fits. Notes say why. Free scheme->families. */
gboolean td_fdk_decide (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme, TdFdkFit *fit,
                        GError **error);
/* fdk-share.c: whether frames that would be read several times are copied. */
void td_fdk_decide_spool (TdPlan *plan, const TdFdkInput *input, TdFdkScheme *scheme,
                          TdFdkFit *fit);
/* fdk-fit.c: slabs, batches, chunks and buffers for the scheme. @attempt: NULL: the first. */
gboolean td_fdk_fit (const TdPlan *plan, const TdFdkInput *input, const TdFdkScheme *scheme,
                     const TdFdkAttempt *attempt, TdFdkFit *fit, GError **error);
/* fdk-fit.c: device @index makes of its slices the integers that the volume stores. */
gboolean td_fdk_device_stores (const TdPlan *plan, const TdFdkPlan *fdk, guint index);
/* Bytes that a plan takes of device @index. */
guint64 td_fdk_device_bytes (const TdPlan *plan, const TdFdkPlan *fdk, guint index);
/* fdk-cut.c: slabs of at most fit.slab slices and fit.slab_rows rows. Each device has its share
   (sum 1) of what they do together. */
TdFdkCut td_fdk_cut (const TdPlan *plan, const TdFdkPlan *fdk, guint n_devices,
                     const double *shares);
void td_fdk_cut_clear (TdFdkCut *cut);
/* fdk-cut.c: slices of the slab that begins with slice @from of the task's, where slabs are cut
   evenly up to @end. The host's end with a group of voxels. Its kernel computes all of a group that
   a slab has a part of. */
guint td_fdk_even_slices (const TdFdkPlan *fdk, guint from, guint end);
/* td_fdk_cut() by the devices' measured speeds (fdk-share.c). */
TdFdkCut td_fdk_cut_by_speed (const TdPlan *plan, const TdFdkPlan *fdk,
                              const TdFdkAttempt *attempt);

/* fdk-share.c: what the copy of the frames takes, 0 without one: in all; of memory while it is
   made. */
guint64 td_fdk_spool_bytes (const TdFdkPlan *fdk);
guint64 td_fdk_spool_work_bytes (const TdFdkPlan *fdk);

/* What measured rates hold for, keys of td_engine_rate(). (transfer full) */
char *td_fdk_job_rate_key (const TdPlan *plan, const TdFdkPlan *fdk); /* updates/s, end to end */
char *td_fdk_device_rate_key (TdDevice *device,
                              const TdConeFamily *family); /* updates/s, kernels */
char *td_fdk_filter_rate_key (TdDevice *device);           /* bytes/s */
char *td_fdk_transfer_rate_key (TdDevice *device);         /* bytes/s */
#define TD_FDK_SUM_RATE_KEY "host adds"                    /* bytes/s */

/* What rows [row, row + n) of the input are made of. A rectified detector's rows are
   made of others, and more, of the scan's; else they are the same. */
typedef struct {
  TdRowRange from;    /* the scan's, with the halo */
  TdRowRange made_of; /* without it */
  TdRowRange rows;    /* those filtered, counted on the task's detector */
  guint data_row0;    /* the first that their buffer holds when they are filtered */
} TdFdkSpan;

TdFdkSpan td_fdk_span (const TdFdkInput *input, guint row, guint n);
/* The span of all rows. */
TdFdkSpan td_fdk_span_all (const TdFdkInput *input);
/* Most rows of the scan that @step rows of the input are made of, from @row on. */
guint td_fdk_most_rows (const TdFdkInput *input, guint row, guint step);
/* Bytes of a buffer for @n rows, which come as @from_rows of the scan and leave filtered. */
guint64 td_fdk_rows_bytes (const TdFdkInput *input, guint from_rows, guint n);
/* Bytes of @n rows as they are read, and filtered. */
guint64 td_fdk_read_bytes (const TdFdkInput *input, guint n);
guint64 td_fdk_filtered_bytes (const TdFdkInput *input, guint n);
/* Bytes of a chunk. */
guint64 td_fdk_slice_bytes (const TdFdkPlan *fdk);
guint64 td_fdk_chunk_bytes (const TdFdkPlan *fdk);
/* Bytes that filtered views take on the host. */
guint64 td_fdk_store_bytes (const TdFdkPlan *fdk);
/* Only few of the views have room: a circular buffer, since one slab takes each view once. */
gboolean td_fdk_passes_views (const TdFdkPlan *fdk);
/* The input of up to @n of its views and of other rows of the detector; it borrows what it points
   to. */
TdFdkInput td_fdk_some_views (const TdFdkInput *input, guint first, guint n, TdRowRange rows);
/* Whether so many of the scan's rows can be resampled at once: kernels count samples in 31 bits. */
gboolean td_fdk_rows_fit (const TdFdkInput *input, guint from_rows);
/* How many rows the filter takes at once for that. */
guint td_fdk_most_filtered (const TdFdkInput *input, guint from_rows, guint n);
/* Rows of the scan belong to more than one chunk: those that were read stay for the next. */
gboolean td_fdk_holds (const TdFdkPlan *fdk);
/* Enqueues: resamples if need be, weights and filters, in place. */
gboolean td_fdk_filter_span (const TdFdkInput *input, TdConeFilter *filter, TdQueue *queue,
                             TdBuffer *rows, const TdFdkSpan *span, GError **error);

/* A batch's views. Views that come together lie @apart views from each other: place i holds view
   first + i % of_each + i / of_each * apart. */
typedef struct {
  guint first, of_each, apart;
  guint n; /* views */
} TdFdkBatch;
TdFdkBatch td_fdk_batch (const TdFdkPlan *fdk, guint index);
guint td_fdk_batch_view (const TdFdkBatch *batch, guint place);
/* Gathered views: the one that comes as number @place, the first of a chunk; and how many have come
   when the batch is complete. */
guint td_fdk_gathered_view (const TdPlan *plan, guint place);
guint td_fdk_gathered_views (const TdPlan *plan, const TdFdkBatch *batch);

extern const TdMethod td_method_fdk;
