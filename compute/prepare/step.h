/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "compute/view-order.h"
#include "dataset/scan.h"
#include "flats.h"

/**
 * Preparation: raw frames to clean sinograms, one step after another. A step is a row in a table
 * (td_prepare_steps()). It has a name, parameters with ranges and advice, what it needs around a
 * row, and how it runs on a device. In the recipe a step is its name and its parameter values,
 * nothing else.
 *
 * Everything works on a slab in device memory: float [row][view][column] (sinogram order), rows
 * [row0 - halo, row0 + n_rows + halo) clipped to the detector.
 */
#define TD_STEP_MAX_PARAMETERS 6

typedef struct {
  const char *name;   /* "size", as in the recipe and after --prepare STEP:name=value */
  const char *title;  /* for people, with the unit: "Width (columns)" */
  const char *advice; /* one sentence */
  double preset, minimum, maximum;
  guint digits;               /* 0: whole numbers */
  const char *const *choices; /* value is an index into these names; NULL: a number */
  gboolean in_columns;        /* a width in columns: where they are averaged, it becomes smaller */
} TdStepParameter;

/* One step of a recipe: a plain value. */
typedef struct {
  char name[32];
  gboolean enabled;
  double values[TD_STEP_MAX_PARAMETERS];
} TdStep;

/* The slab on its way through the steps. */
typedef struct {
  TdDevice *device;
  TdQueue *queue;
  TdBuffer *data; /* float [n_rows][n_views][n_columns] */
  guint n_rows, n_views, n_columns;
  guint row0;              /* detector row of data's first row */
  guint count0, count_end; /* rows of data in which what is replaced counts */
  TdViewOrder views;       /* of data */
  TdScan *scan;            /* for facts, and for flats and darks */
  GCancellable *cancellable;
  gpointer state; /* the pipeline's; see prepare.h */
} TdSlab;
typedef struct TdRings TdRings; /* some of its rows; rings/rings.h */

typedef enum {
  TD_STEP_INTENSITY,  /* on raw intensities, before the flat field is done */
  TD_STEP_FLAT,       /* flat field and logarithm, and on transmissions between the two */
  TD_STEP_ABSORPTION, /* on -log values */
} TdStepStage;

typedef struct TdStepKind {
  const char *name; /* "flat-field", "zingers", "rings-sorting", "paganin", … */
  const char *title, *summary;
  TdStepStage stage;
  const TdStepParameter *parameters; /* TD_STEP_PARAMETERS (an array) sets both */
  guint n_parameters;
  gboolean preset_on; /* part of the default recipe */
  gboolean by_view;   /* it looks at one view at a time, so that it can run on some of them */
  /* TRUE: nothing to do for this scan; NULL: never. */
  gboolean (*skips) (const TdStep *step, const TdScanFacts *facts);
  /* The sentence that says what the scan lacks and what to do, (transfer full), or NULL; may itself
     be NULL. Asked before anything runs, unless the step skips the scan. */
  TdMessage *(*unsupported) (const TdStep *step, const TdScanFacts *facts);
  /* The sentence that says what the step cannot do for this scan, (transfer full), or NULL; may
     itself be NULL. Asked as the one above. */
  TdMessage *(*falls_short) (const TdStep *step, const TdScanFacts *facts);
  /* Rows needed above and below to make one row; NULL: none. */
  guint (*halo) (const TdStep *step, const TdScanFacts *facts);
  /* Device bytes needed besides the slab, for a slab of @n_rows rows of that scan; NULL: none. */
  guint64 (*workspace_bytes) (const TdStep *step, const TdScanFacts *facts, guint n_rows);
  /* Host memory for what it reads of the scan by itself; NULL: none. */
  guint64 (*host_bytes) (const TdStep *step, const TdScanFacts *facts, guint n_rows);
  /* Reads ahead what run will want of the disk for rows [row0, row0 + n_rows), halos included, on
     the job's reading thread; NULL: nothing. */
  gboolean (*fetch) (const TdStep *step, TdFlats *flats, guint row0, guint n_rows,
                     GCancellable *cancellable, GError **error);
  /* Enqueues or does the work. */
  gboolean (*run) (const TdStep *step, TdSlab *slab, GError **error);
  /* Makes rows [@first, @first + @count) of the slab only, in the first rows of @out. It leaves
     data as it is, and is for few rows that have their halo in the slab. It counts in
     workspace_bytes. NULL: run does it. */
  gboolean (*run_core) (const TdStep *step, TdSlab *slab, guint first, guint count, TdBuffer *out,
                        GError **error);
  /* Where run is td_rings_run(): device bytes needed for a row, and the work on a chunk of them. */
  guint64 (*row_bytes) (const TdStep *step, const TdScanFacts *facts);
  gboolean (*run_chunk) (const TdStep *step, const TdRings *rings, GError **error);
} TdStepKind;
#define TD_STEP_PARAMETERS(all) .parameters = (all), .n_parameters = G_N_ELEMENTS (all)

const TdStepKind *const *td_prepare_steps (void); /* NULL-terminated, in the order they run */
const TdStepKind *td_prepare_step (const char *name, GError **error);
void td_step_init (TdStep *step, const TdStepKind *kind); /* presets, enabled */
/* The step for the same detector with @factor columns averaged to one: what is in columns is
   divided, as far as the parameter's range allows. */
void td_step_scale_columns (TdStep *step, guint factor);
gboolean td_step_equal (const TdStep *a, const TdStep *b);
