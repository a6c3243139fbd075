/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"
#include "compute/row-filter.h"
#include "compute/prepare/prepare.h"
#include "compute/engine/plan-private.h"

/**
 * Parallel-beam filtered back-projection, in eight files:
 *   fbp-plan.c  geometry, weights, slabs and buffers: fills TdFbp
 *   fbp-field.c the directions and the field of view: half acquisition
 * (compute/row-blend.h) fbp-kit.c   what one device needs to turn a slab of raw rows into
 * slices: TdFbpKit; fbp-kit-keep.c keeps a preview's for the next one fbp-slots.c the memory that
 * travels between the threads fbp-run.c   the threads: fbp-reader.c -> slabs -> fbp-worker.c, one a
 * device -> the job's writer
 *
 * Rows are detector rows; slice i of the volume is row first_slice + i. A slab is read with `halo`
 * rows more on either side where the preparation needs them.
 */
typedef struct {
  guint n_columns, n_views, n_rows;
  double *angles_rad, *weights; /* as the projector wants them: offset and direction applied */
  gboolean blend;   /* half acquisition: rows are weighted and filtered into wider ones */
  guint n_filtered; /* columns of a filtered row: n_columns, or the wide field's */
  guint shift;      /* column of a filtered row that the measured one's first comes to */
  guint nx, ny;
  double x0, y0, scale, centre_px, tilt; /* tilt: columns a row */
  guint halo, slab_slices, n_slabs;
  guint batch;       /* slices a projector call */
  guint filter_rows; /* sinogram rows a filter call */
  guint in_slots, out_slots;
  gboolean direct; /* the slots are the only device's own buffers: nothing is copied */
  gboolean keep;   /* one slab, small: the working set stays with the engine for the next preview */
  const TdBackprojectFamily **families; /* one a device */
} TdFbp;

/* The task of the slice made from detector row @row. Points into @plan. */
void td_fbp_task (const TdPlan *plan, double row, TdBackprojectTask *task);
/* Slabs in flight on a device: 2 where transfers can overlap kernels. */
guint td_fbp_lanes (const TdFbp *fbp, const TdDeviceInfo *info);
guint64 td_fbp_row_bytes (const TdFbp *fbp);      /* one raw row, all views */
guint64 td_fbp_filtered_bytes (const TdFbp *fbp); /* the same when filtered */
/* Where the axis is at detector row @row, in measured columns. */
double td_fbp_centre (const TdFbp *fbp, double row);
/* Whether filtered rows go to a buffer of their own. */
gboolean td_fbp_filters_apart (const TdFbp *fbp);
guint64 td_fbp_slice_bytes (const TdFbp *fbp);
/* The key of a device's rate in the engine's store. (transfer full) */
char *td_fbp_rate_key (const TdPlan *plan, TdDevice *device, const TdBackprojectFamily *family);

/* Sets angles, weights, blend, n_filtered and shift; wants sizes, centre and tilt. */
gboolean td_fbp_set_field (TdPlan *plan, TdFbp *fbp, GError **error);

const char *td_fbp_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
gboolean td_fbp_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
                      GError **error);
gboolean td_fbp_run (TdJob *job, GCancellable *cancellable, GError **error);

/* ── Slots ── */

/* A piece of host memory that travels through the pipeline; on direct runs it is a device buffer.
 */
typedef struct {
  float *host;
  TdBuffer *buffer; /* NULL unless direct */
  TdDevice *device; /* owner of buffer or of pinned memory */
} TdFbpSlot;

TdFbpSlot *td_fbp_slot_new (TdDevice *device, gboolean direct, guint64 bytes, GError **error);
void td_fbp_slot_free (TdFbpSlot *slot);

/* ── Kit ── */

typedef struct TdFbpKit TdFbpKit;

/* One slab, or a part of one, on its way through a device. */
typedef struct {
  guint first, count; /* slices, as detector rows */
  guint row0, n_rows; /* raw rows with their halo */
  TdFbpSlot *in;      /* raw rows row0…; read by the device until the work is completed */
  guint in_row0;      /* detector row of the slot's first row */
  gboolean landed;    /* the rows are where the device wants them already, and not in the slot */
  TdFbpSlot *out;     /* slices; out_first is the row of its first slice */
  guint out_first;
} TdFbpWork;

/* @max_slices, @batch: at most the plan's; smaller after the device ran out of memory. */
TdFbpKit *td_fbp_kit_new (TdJob *job, TdDevice *device, const TdBackprojectFamily *family,
                          guint max_slices, guint batch, GError **error);
void td_fbp_kit_free (TdFbpKit *kit);
guint td_fbp_kit_lanes (const TdFbpKit *kit);
guint td_fbp_kit_max_slices (const TdFbpKit *kit);
/* Enqueues the work on lane 0 … lanes-1, which must be idle. Checks the job's cancellable between
   pieces on devices that work in the calling thread. */
gboolean td_fbp_kit_submit (TdFbpKit *kit, guint lane, const TdFbpWork *work, GError **error);
/* Blocks until the lane's work is done; books its times and updates. */
gboolean td_fbp_kit_complete (TdFbpKit *kit, guint lane, GError **error);
/* Books the preparation's counts; blocks. */
gboolean td_fbp_kit_book_counts (TdFbpKit *kit, GError **error);

/* Previews: an idle kit of the engine that fits the job, made ready for it; or a new one. */
TdFbpKit *td_fbp_kit_take (TdJob *job, TdDevice *device, const TdBackprojectFamily *family,
                           GError **error);
void td_fbp_kit_give (TdFbpKit *kit);
/* After a cancelled job: waits for what is under way. FALSE: the kit cannot be trusted any more. */
gboolean td_fbp_kit_settle (TdFbpKit *kit);
/* The kit holds the prepared rows of this work already. */
gboolean td_fbp_kit_holds (const TdFbpKit *kit, const TdFbpWork *work);
/* Where the work's rows may be read to instead of the slot; NULL: nowhere. What was there goes. */
float *td_fbp_kit_landing (TdFbpKit *kit, guint lane, const TdFbpWork *work);
/* FALSE: it holds them, or what the first of the steps made of them: nothing need be read. */
gboolean td_fbp_kit_needs_rows (const TdFbpKit *kit, const TdFbpWork *work);
