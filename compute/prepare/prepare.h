/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/row-range.h"
#include "flats.h"
#include "sides.h"
#include "step.h"

/**
 * TdPreparation: the steps of one recipe for one scan on one device, with what they share: averaged
 * flats and darks on the device, counters, workspace.
 */
typedef struct TdPreparation TdPreparation;

/* The lowest of some numbers, each once. @n is beyond what is kept where there are more. */
#define TD_NUMBERS_KEPT 8
typedef struct {
  guint n, at[TD_NUMBERS_KEPT];
} TdNumbers;

void td_numbers_add (TdNumbers *numbers, guint number);
/* "2, 3, 7" of each @scale times the number and @first more; with "…" where there are more. */
char *td_numbers_text (const TdNumbers *numbers, guint first, guint scale);

/* What was replaced, over all rows that were to be counted (td_preparation_set_counted()). */
typedef struct {
  guint64 clamped_transmissions; /* zero or negative transmissions raised before -log */
  guint64 sides, bright_sides;   /* transmissions at the detector's sides; far above 1 */
  TdSides levels;                /* what attenuations there are like */
  guint64 bad_values;            /* NaN or infinite samples replaced by their neighbour's value */
  guint64 dead_pixels;        /* detector pixels whose flat is not above the dark: replaced too */
  guint64 stuck_pixels;       /* detector pixels that have one value in all views */
  guint64 bad_pixels;         /* detector pixels of the mask, given or found */
  guint64 zingers;            /* samples of projections */
  guint64 zingers_angle;      /* samples of sinograms */
  double dose_low, dose_high; /* of the frames; 0, 0: not corrected */
  TdFlatsOdd odd;             /* flats and darks that are left out: the same for all rows */
  TdNumbers lost_rows;        /* rows without a sound sample in any view */
  TdNumbers lost_views;       /* views that have rows without a sound sample, and take others' */
  TdNumbers dark_views;       /* views of which much more was raised than of others */
} TdPreparationCounts;

/* Where others count the same pixels of the detector. */
void td_preparation_counts_drop_pixels (TdPreparationCounts *counts);

void td_preparation_counts_add (TdPreparationCounts *sum, const TdPreparationCounts *counts);
/* FALSE with @error: something that was counted has no value at all. */
gboolean td_preparation_counts_check (const TdPreparationCounts *counts, GError **error);
/* The same of raw rows in host memory, before they are sent: it looks no further than to a row's
   first sound sample. */
typedef struct {
  const float *rows; /* [row][view][column] */
  guint row0, n_rows, n_views;
} TdRawRows;
gboolean td_preparation_check_rows (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                                    const TdRawRows *raw, GError **error);

/* NULL if the scan has what the steps need; else the sentence that says what is missing and what to
   do. (transfer full) */
TdMessage *td_preparation_unsupported (const TdStep *steps, guint n_steps,
                                       const TdScanFacts *facts);
/* The step changes nothing for this scan: it is switched off, or the instrument did it already.
   Floats without flats are taken as transmissions. */
gboolean td_preparation_skips (const TdStep *step, const TdScanFacts *facts);

/* What steps cannot do for this scan, a sentence each, NULL at the end. (transfer full) */
TdMessage **td_preparation_falls_short (const TdStep *steps, guint n_steps,
                                        const TdScanFacts *facts);

/* FALSE with @error: kernels of the device do not take so many views of a row. */
gboolean td_preparation_check_views (TdDevice *device, guint n_views, GError **error);

/* @steps are copied. @flats may be shared with the preparations of other devices; NULL: its own.
   Reads flats and darks lazily, by rows. */
TdPreparation *td_preparation_new (TdDevice *device, TdScan *scan, TdFlats *flats,
                                   const TdStep *steps, guint n_steps, GError **error);
/* Other steps for the next run; what earlier steps kept stays. */
void td_preparation_set_steps (TdPreparation *preparation, const TdStep *steps, guint n_steps);
/* From the next run on slabs have only @count of the scan's views. All steps must be
   TdStepKind.by_view. */
void td_preparation_set_views (TdPreparation *preparation, TdViewOrder views, guint count);
/* From the next run on only what is replaced in these of the detector's rows counts. At first all
   of them do. Rows that serve as neighbours are prepared more than once. */
void td_preparation_set_counted (TdPreparation *preparation, TdRowRange rows);
/* Rows needed above and below each slab by all steps together. */
guint td_preparation_halo (const TdStep *steps, guint n_steps, const TdScanFacts *facts);
/* What the steps will want of the disk for rows [row0, row0 + n_rows), so that a device need not
   wait for it; blocks. */
gboolean td_preparation_fetch (TdFlats *flats, const TdStep *steps, guint n_steps, guint row0,
                               guint n_rows, GCancellable *cancellable, GError **error);
/* Host memory that the steps take at most. */
guint64 td_preparation_host_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                                   guint max_rows);
/* Device memory besides the slab itself. */
guint64 td_preparation_workspace_bytes (const TdStep *steps, guint n_steps,
                                        const TdScanFacts *facts, guint max_rows);
/* Runs every enabled step on raw rows [row0, row0 + n_rows) that lie in @data (float
   [row][view][column]), in place. Enqueues where it can; may block. */
gboolean td_preparation_run (TdPreparation *preparation, TdQueue *queue, TdBuffer *data, guint row0,
                             guint n_rows, GCancellable *cancellable, GError **error);
/* Rows on their way through the steps: they become fewer as their neighbours have served. */
typedef struct {
  TdBuffer *data;
  guint row0, n_rows;
} TdPreparationRows;
/* Steps of the recipe by their place, [from, to). */
typedef struct {
  guint from, to;
} TdStepRange;
/* A run in parts, for a caller that keeps what lies between them: first the repair of every run,
   then ranges of the recipe's steps. They work for the @wanted rows, which @rows have with their
   halo. @rows become at least those, in wanted->data. If rows->data is another buffer, it is not
   changed. */
gboolean td_preparation_run_steps (TdPreparation *preparation, TdQueue *queue,
                                   TdPreparationRows *rows, const TdPreparationRows *wanted,
                                   TdStepRange steps, GCancellable *cancellable, GError **error);
gboolean td_preparation_repair (TdPreparation *preparation, TdQueue *queue, TdBuffer *data,
                                guint row0, guint n_rows, GError **error);
/* All of it on raw @rows, in place, for the sake of rows [first, first + count). */
gboolean td_preparation_run_for (TdPreparation *preparation, TdQueue *queue,
                                 TdPreparationRows *rows, guint first, guint count,
                                 GCancellable *cancellable, GError **error);
/* For the bench. From now on the preparation waits after each part of its work and tells @watch the
   part's name. That is a kernel, or what the host does. NULL: it no longer does so.
 */
typedef void (*TdPreparationWatch) (const char *part, gpointer user);
void td_preparation_set_watch (TdPreparation *preparation, TdPreparationWatch watch, gpointer user);
/* One step alone: for the bench. */
gboolean td_preparation_run_step (TdPreparation *preparation, TdQueue *queue,
                                  const TdPreparationRows *rows, const TdStep *step,
                                  GCancellable *cancellable, GError **error);
/* Blocks until the queue has passed; counts since the last call. */
gboolean td_preparation_counts (TdPreparation *preparation, TdQueue *queue,
                                TdPreparationCounts *counts, GError **error);
void td_preparation_free (TdPreparation *preparation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPreparation, td_preparation_free)
