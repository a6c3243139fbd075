/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fbp-private.h"
#include "compute/engine/job-private.h"

/* What fbp-kit.c, which makes kits and sends slabs through them, shares with fbp-kit-keep.c, which
   has those of previews wait for the next one. */

/* Points on the device's clock; the work's stages lie between them. */
enum { UP, UPPED, START, PREPARED, FILTERED, PROJECTED, DOWN, DOWNED, N_MARKS };

typedef struct {
  TdBuffer *data, *slices; /* NULL on direct runs: the slots are used */
  TdEvent *marks[N_MARKS];
  gboolean downloads;
  double updates; /* to be booked on completion */
} TdFbpLane;

/* Steps may leave fewer rows than they were given: those are good for the slices that they were
   made for only, though others would need the same raw rows (all there are, where the detector is
   lower than the halo). */
typedef struct {
  guint row0;         /* of the first row */
  guint first, count; /* slices */
  gboolean all;       /* of the rows given: good for any slice that needs those */
} TdFbpMade;

struct TdFbpKit {
  TdJob *job; /* the present one; not referenced */
  TdDevice *device;
  TdQueue *compute, *up, *down; /* up and down are compute itself when there is one lane */
  TdPreparation *preparation;
  TdRowFilter *filter;
  TdBackprojector *projector;
  guint max_slices, max_rows, batch, filter_rows;
  double projector_row;       /* the row whose centre the projector has */
  gboolean uncounted;         /* something was prepared since the counts were collected */
  TdPreparationCounts counts; /* of what is held: every preview of it reports them */
  TdFbpLane lanes[2];
  guint n_lanes;
  TdBuffer *filtered; /* the core rows, filtered; NULL: where the raw ones were */
  double busy_s, updates;

  /* Previews: what lanes[0].data and filtered hold. */
  gboolean keep;
  TdScan *scan;
  TdRecipe recipe; /* that made what is held */
  guint held_row0, held_rows, held_first,
      held_count;     /* rows prepared; rows filtered (count 0: none) */
  TdFbpMade prepared; /* rows that were prepared, for whose sake */
  guint nx, ny, n_filtered;
  gboolean blend; /* the filtered rows were blended, about centre_px */
  double centre_px;
  const TdBackprojectFamily *family;

  /* Previews: what the steps before the one that was changed last made of the same rows. Dragging
     its sliders runs it and what follows, nothing else. */
  TdBuffer *early;                           /* made when a step is changed for the first time */
  guint changed_step;                        /* its place; G_MAXUINT: none was changed yet */
  guint early_steps, early_row0, early_rows; /* steps run on these rows; rows 0: nothing is there */
  TdPreparationRows
      early_left; /* what they left of them, while what follows wants early_halo around */
  TdFbpMade early_made;
  guint early_halo;
  TdPreparationCounts early_counts;
};

/* Buffers, filter and projector of the plan's field of view. */
gboolean td_fbp_kit_make_field (TdFbpKit *kit, const TdPlan *plan, GError **error);
void td_fbp_kit_free_field (TdFbpKit *kit);
/* Whether `early` holds these rows. */
gboolean td_fbp_kit_holds_early (const TdFbpKit *kit, const TdFbpWork *work);
/* Previews: prepares the lane's rows, from `early` where it holds them, and says which there are.
 */
gboolean td_fbp_kit_prepare_kept (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work,
                                  GError **error);
/* Sends the raw rows to the lane's data. */
gboolean td_fbp_kit_upload (TdFbpKit *kit, TdFbpLane *lane, const TdFbpWork *work, GError **error);
gboolean td_fbp_kit_mark (TdQueue *queue, TdFbpLane *lane, guint place, GError **error);
