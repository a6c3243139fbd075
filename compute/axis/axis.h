/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis-line.h"
#include "compute/prepare/prepared-rows.h"

/**
 * Finding the rotation axis of a parallel-beam scan. Each method gives a centre for one row's
 * prepared sinogram, flat field and -log done; before -log the answer is far off. The consensus
 * runs several methods on several rows, fits the tilt and says how far the result can be trusted.
 *
 * Centres are in columns, and the first column's centre is 0. Every function here blocks, for
 * seconds on big scans. Any thread but the main one may call it. The calling thread makes the calls
 * of the progress, and cancelling takes effect within 200 ms. Most callers want
 * td_engine_find_axis() (compute/engine/centre.h), which takes a recipe and remembers what it
 * found.
 */
typedef enum {
  TD_AXIS_CORRELATION, /* views 180 degrees apart: correlation with a sub-pixel peak */
  TD_AXIS_FOURIER,     /* Vo et al., Opt. Express 22 (2014): double-wedge metric of the sinogram */
  TD_AXIS_SHARPNESS,   /* search over reconstructed slices */
  TD_AXIS_OVERLAP,     /* 360 degree offset (half-acquisition) scans */
  TD_AXIS_PROJECTIONS, /* whole projections 180 degrees apart, for the tilt too: one trial a scan */
  TD_AXIS_COUNT
} TdAxisMethod;

/* An answer of less confidence is no better than chance. */
#define TD_AXIS_WEAK 0.2

typedef struct {
  TdAxisMethod method;
  guint row;
  double centre_px;  /* NAN: the method gave none */
  double confidence; /* 0 … 1 */
  double spread_px;  /* the method's own standard error; NAN: it knows none */
  gboolean used;     /* the consensus took it; FALSE: weak, or far from the others */
} TdAxisTrial;

typedef struct {
  double centre_px;      /* at the middle row of the detector; NAN: nothing found */
  double uncertainty_px; /* of centre_px: two standard errors. Where the trials lie far from the
                            middle row, most of it is the tilt's. */
  double tilt_deg; /* the centre moves by tan (tilt) columns a row downwards; 0 unless found on
                      several rows */
  double tilt_uncertainty_deg; /* one standard error; a tilt well above it is worth correcting */
  double middle_row;           /* where centre_px is */
  double known_row;            /* where the centre is known best: amid the trials */
  gboolean agreed; /* FALSE: the methods disagree or the evidence is weak; show the trials, ask */
  TdAxisTrial *trials;
  guint n_trials;
  char *advice; /* one sentence when not agreed, for td_message_words(); else NULL */
} TdAxisResult;

/* @fraction: 0 … 1, never falling; @what: "row 40: sharpness", borrowed. */
typedef void (*TdAxisProgress) (double fraction, const char *what, gpointer user);

typedef struct {
  guint row_first, row_end; /* rows tried lie in [first, end); 0, 0: spread over the detector */
  guint n_rows;             /* how many rows; 0: 5 */
  guint methods;            /* bits (1 << TdAxisMethod); 0: those that suit the scan */
  double search_first_px,
      search_last_px;      /* both 0: a third of the width to either side of the middle */
  TdAxisProgress progress; /* may be NULL */
  gpointer progress_user;
} TdAxisOptions;

const char *td_axis_method_name (TdAxisMethod method);  /* "correlation", … */
const char *td_axis_method_title (TdAxisMethod method); /* for people */
gboolean td_axis_method_parse (const char *name, TdAxisMethod *method);

/* @source: makes the rows. @options may be NULL. NULL with @error: the scan cannot be read or
   searched at all, or the search was cancelled. A search without an answer is a result with a
   centre of NAN, agreed FALSE and advice. (transfer full) */
TdAxisResult *td_axis_find (const TdRowSource *source, const TdAxisOptions *options,
                            GCancellable *cancellable, GError **error);
/* Two standard errors of the centre at a row, which the tilt moves. */
double td_axis_result_uncertainty_at (const TdAxisResult *result, double row);
TdAxisResult *td_axis_result_copy (const TdAxisResult *result);
void td_axis_result_free (TdAxisResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisResult, td_axis_result_free)

/* One row reconstructed about each of @n centres, for people to compare: float [n][side][side]. A
   side has as many pixels as the detector has columns. @sharpness: how sharp each slice is, larger
   is sharper, without a unit. NULL: nobody asks. (transfer full) */
float *td_axis_trial_slices (const TdRowSource *source, guint row, const double *centres_px,
                             guint n, double *sharpness, GCancellable *cancellable, GError **error);
