/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "parallel-bench.h"
#include "compute/prepare/prepare.h"

/**
 * This bench measures each preparation step, at its presets, on generated data. It also measures a
 * copy of the same bytes within the device's memory, and the back-projection of the same rows.
 * Times are the caller's clock around work and waiting for it; each timed run starts from the same
 * data.
 *
 * A step that looks far along a column (phase retrieval) gets all rows that it needs around those
 * wanted. It works view by view, so it gets as many views as fit 512 MiB.
 */
typedef struct {
  guint n_columns, n_views;
  guint n_rows;              /* wanted; a step that needs neighbours works on more */
  guint runs;                /* timed ones, after one to warm up */
  double rings;              /* the detector's gain error, relative; 0: columns without offsets */
  const char *step;          /* the only one to measure; NULL: all */
  gboolean parts;            /* a last run waits after each part of a step */
  GCancellable *cancellable; /* may be NULL */
} TdPrepareBenchSpec;

/* Of a run: a kernel, or what the host does. */
typedef struct {
  char *name;
  guint count;
  double seconds;
} TdPrepareBenchPart;

typedef struct {
  const char *step;       /* "bad-values": what comes before every step; static */
  TdMessage *unsupported; /* why it was not measured; NULL: it was */
  guint rows_worked;      /* with those that neighbours are needed for */
  guint views_worked;
  guint64 bytes; /* of these rows and views, read and written once */
  TdBenchTimes times, copy;
  double wanted_s;  /* the least for the rows wanted by themselves, with their neighbours, and all
                       views */
  double shared_s;  /* the same in a large slab, where rows are each other's neighbours */
  GPtrArray *parts; /* TdPrepareBenchPart, in the order they begin; NULL: not asked for */
} TdPrepareBenchRow;

typedef struct {
  GPtrArray *rows;          /* TdPrepareBenchRow, in the order the steps run */
  const char *family;       /* that back-projected; static */
  TdBenchTimes backproject; /* all spec.n_rows */
} TdPrepareBench;

/* Blocks for seconds. (transfer full) */
TdPrepareBench *td_prepare_bench_run (TdDevice *device, const TdPrepareBenchSpec *spec,
                                      GError **error);
void td_prepare_bench_free (TdPrepareBench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPrepareBench, td_prepare_bench_free)
