/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "lab-frc.h"
#include "lab-measure.h"

/**
 * TdLab: one slice of a scan by several recipes, and what they differ in. A lab is a base recipe, a
 * row, a region and two to nine variants. A variant sets some recipe fields over the base, as
 * options of the command line. It is a value that a file can hold ("variants file"), so that it can
 * be repeated.
 */
#define TD_LAB_LEAST 2
#define TD_LAB_MOST 9

typedef struct {
  char *name;    /* as given, else the options */
  char *options; /* "--kernel texture --precision half"; "": the base as it is */
  TdRecipe recipe;
  gboolean held; /* the recipe stays as it is while the base changes */
  char **given;  /* names of the options, NULL-terminated */
} TdLabVariant;

typedef struct {
  TdRecipe base;       /* rows and region say which part of which slice */
  GPtrArray *variants; /* TdLabVariant */
  gboolean reference;  /* make the double-precision reference of the base recipe's slice */
  gboolean measure;    /* even and odd views: noise, Fourier ring correlation */
  gboolean budget;     /* shortcuts switched one at a time (TdLabResult.budget) */
  gboolean emulate;    /* a variant that no device here can do is made in double precision with the
                          shortcut that defines it, and says so */
  gboolean has_line;   /* else the busiest row or column (td_lab_busiest_line()) */
  TdLabLine line;      /* of the profile, pixels of the picture */
} TdLab;

TdLab *td_lab_new (const TdRecipe *base, guint row);
void td_lab_free (TdLab *lab);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLab, td_lab_free)
TdLab *td_lab_copy (const TdLab *lab);
/* "OPTIONS" or "NAME: OPTIONS". Where the slice lies and how volumes are written is not a
   variant's. FALSE with @error: an option that is none, or ten variants. */
gboolean td_lab_add (TdLab *lab, const char *text, GError **error);
void td_lab_variant_free (TdLabVariant *variant);
/* All variants anew over another base, but those that are held; the rows stay the lab's. */
gboolean td_lab_set_base (TdLab *lab, const TdRecipe *base, GError **error);
/* The variants file: base recipe, variants, line. */
char *td_lab_to_json (const TdLab *lab);
TdLab *td_lab_from_json (const char *json, GError **error);
TdLab *td_lab_load (const char *path, GError **error);

/* ── Running ── */

/* What came of one variant, or of the reference. Immutable once it was shown: what is learnt later
   makes a new one. */
typedef struct {
  gatomicrefcount references;
  GError *error; /* why there is no picture; NULL: there is one */
  guint nx, ny;
  GBytes *held;        /* the pixels, shared by the outcomes of one variant */
  const float *pixels; /* [ny][nx] */
  double pixel_mm;     /* 0: unknown */
  const char *units;   /* "1/mm" or "1/px"; static */
  const char *method;  /* that was used; static */
  const char *kernel;  /* the same of the family; static; NULL: the method has none */
  const char *precision;
  char *device, *words; /* the kernel's variant in words */
  gboolean emulated;    /* TdLab.emulate: no device computed it */
  TdMessage **astray;   /* what ran otherwise than asked; NULL: nothing */
  TdMessage **notes;    /* the plan's and the job's */
  double first_s;       /* reading, preparing, building kernels and all; NAN: of the reference */
  double warm_s;        /* again, from prepared rows on the device; NAN: not measured (yet) */
  double updates_per_s; /* of the warm run */
  guint64 host_bytes, device_bytes; /* peaks as the job counted them */

  gboolean compared;          /* against what all are compared with */
  TdLabDifference difference; /* picture - that */
  double arithmetic;          /* relative L2 error against the same recipe in double; NAN: none */
  double bound;               /* derived, for rows of any spectrum; NAN: none */
  double noise;               /* of this picture, from even and odd views; NAN: not measured */
  TdLabFrc *frc;              /* even against odd views; NULL: not measured */
} TdLabOutcome;

/* A shortcut taken alone, in the base recipe's reference. */
typedef struct {
  const char *id;    /* "storage", "weights", … ; static */
  const char *label; /* static, to be translated */
  TdLabDifference difference;
} TdLabBudgetRow;

typedef struct {
  guint n; /* variants */
  TdLabOutcome *outcomes[TD_LAB_MOST];
  TdLabOutcome *reference; /* NULL: none, or not yet */
  TdMessage *no_reference; /* why there is none though it was asked for */
  TdMessage *no_measure;   /* the same of even and odd views */
  int against;             /* what all are compared with: -1: the reference; else a variant; -2: not
                              known yet */
  double noise;            /* of the data, in the base recipe's picture; NAN: not measured */
  TdLabLine line;
  guint truths;    /* slices in double precision that the lab makes; 0: not known yet, or none */
  double truths_s; /* how long all of them take here, told before the first is begun */
  guint budget_n;
  TdLabBudgetRow budget[8];
} TdLabResult;

/* Called on the running thread when something new is known. @result: valid during the call.
   @fraction: 0 … 1. */
typedef void (*TdLabShow) (const TdLabResult *result, double fraction, gpointer user);

/* Runs all, one after another: first all pictures, then what is measured. Blocks; any thread.
   A variant that cannot be made has its error, and the others go on. NULL with @error: cancelled,
   fewer than two variants, or no variant has a picture.
   Returns: (transfer full). */
TdLabResult *td_lab_run (const TdLab *lab, TdEngine *engine, TdScan *scan, TdLabShow show,
                         gpointer user, GCancellable *cancellable, GError **error);
/* (transfer full): outcomes are shared. */
TdLabResult *td_lab_result_copy (const TdLabResult *result);
void td_lab_result_free (TdLabResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabResult, td_lab_result_free)

/* The RMS difference over the data's noise; NAN: not known. Below 1 the difference hides in it. */
double td_lab_in_noise (const TdLabResult *result, guint variant);
/* The relative error over the kernel's derived bound; NAN: not known. Below 1 the bound holds. */
double td_lab_in_bound (const TdLabResult *result, guint variant);
/* The picture that all are compared with; NULL: there is none. */
const TdLabOutcome *td_lab_against (const TdLabResult *result);
