/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/tuner.h"
#include "backproject.h"

/* What is being tried. A case is a family in one kind of task. Numbers begin at 1. */
typedef struct {
  const TdBackprojectFamily *family;
  TdInterpolation interpolation;
  TdPrecision precision;
  guint n_slices;
  guint number, n_cases;
  guint variant, n_variants; /* of the case */
  double fraction;           /* that is done of all, 0 … 1 */
} TdTuneStep;

/**
 * Finds the fastest variant of each back-projection family on a device and keeps it (tune-store.h).
 * "auto" and every job take it from there. Only when a person asks.
 */
typedef struct {
  guint size;                /* columns, views and slice width; 0: 2048 on GPUs, 512 on CPUs */
  const char *family;        /* NULL: all */
  guint runs;                /* best of; 0: 5 */
  GCancellable *cancellable; /* may be NULL */
  /* Called before each variant, may be NULL. */
  void (*progress) (const TdTuneStep *step, gpointer user);
  gpointer user;
} TdTuneOptions;

/* What was found for one family in one kind of task. */
typedef struct {
  const TdBackprojectFamily *family;
  TdInterpolation interpolation;
  TdPrecision precision;
  guint n_slices;
  guint candidates, rejected;
  double default_rate, best_rate; /* updates a second */
  char *defines;                  /* the winner's; "" for the default */
  char *error;                    /* the family could not be tuned; NULL */
} TdTuneRow;

/* Tunes, stores each result as it is found, and returns the table: (transfer full) (element-type
   TdTuneRow). What was stored before a cancellation stays. Blocks: minutes. Any thread. */
GPtrArray *td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error);
