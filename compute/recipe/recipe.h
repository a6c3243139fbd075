/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/filter.h"
#include "compute/sampling.h"
#include "compute/prepare/step.h"
#include "dataset/volume.h"

/**
 * TdRecipe: everything a person may choose. A plain value: copy it, edit the copy, keep the old one
 * to undo. It serialises to versioned JSON; unknown keys are refused with their name, missing ones
 * take the preset. Results carry the recipe that made them. The table in recipe-fields.c says what
 * each field may be and how it is called (field.h).
 */
#define TD_RECIPE_VERSION 1
#define TD_RECIPE_MAX_STEPS 24
#define TD_RECIPE_MAX_BIN 64
#define TD_RECIPE_MAX_PATH 1024
/* No detector and no distance from a source is smaller or larger. */
#define TD_LEAST_PIXEL_MM 1e-7 /* atoms */
#define TD_MOST_PIXEL_MM 100
#define TD_LEAST_DISTANCE_MM 1e-4
#define TD_MOST_DISTANCE_MM 1e8

/* What a slice shows. Full: the detector's width about the axis. Half: all that is seen from both
   sides, where the axis is near one edge and the stage made a full turn. Auto: half if the scan
   says so, or if the axis of a full turn is nearer to an edge than to the detector's middle. */
typedef enum { TD_FIELD_AUTO, TD_FIELD_FULL, TD_FIELD_HALF } TdFieldOfView;

typedef enum {
  TD_METHOD_AUTO,
  TD_METHOD_FBP,
  TD_METHOD_FDK,
  TD_METHOD_FOURIER,
  TD_METHOD_SIRT, /* this and the rest: compute/iterative/solver.h */
  TD_METHOD_FISTA_TV,
  TD_METHOD_CGLS,
} TdMethodKind;
/* Cone beams: what several devices share, the slabs of the volume or the projections. */
typedef enum { TD_SHARE_AUTO, TD_SHARE_VOLUME, TD_SHARE_PROJECTION } TdShareKind;
/* Cone beams: who weights and filters the projections. */
typedef enum { TD_FILTER_ON_AUTO, TD_FILTER_ON_CPU, TD_FILTER_ON_DEVICE } TdFilterPlace;

typedef struct {
  TdStep steps[TD_RECIPE_MAX_STEPS]; /* in the order they run */
  guint n_steps;
  /* Path of the mask that the step bad-pixels takes (dataset/scan-mask.h); "": only what it finds.
     A recipe's file may name it from its own folder on; here it is as the program finds it. */
  char mask[TD_RECIPE_MAX_PATH];

  gboolean centre_auto; /* find it; centre_px is ignored */
  double centre_px;     /* NAN: the file's estimate, else the detector's middle */
  double tilt_deg;      /* of the rotation axis in the detector plane: the centre moves by
                           tan (tilt) columns a row, and is centre_px at the middle row */

  TdFilter filter;
  TdMethodKind method;
  guint iterations;      /* iterative methods: passes over all views */
  guint subsets;         /* the views are taken in so many parts; 0: as the method likes it */
  double relaxation;     /* of sirt's corrections */
  gboolean non_negative; /* values below 0 are made 0; not cgls */
  double tv;             /* fista-tv's strength (td_solver_run()) */
  double stop_at;        /* the relative residual that is small enough; 0: none is */
  double
      tolerance; /* ends once a pass changes the residual by less than this part of it; 0: never */
  /* Where iterations begin: "auto", "zero", "filtered" (what fbp or fdk makes of the scan), or the
     path of a volume that they go on from. */
  char start[TD_RECIPE_MAX_PATH];
  char family[24];     /* "auto", "standard", "texture", … */
  TdAccuracy accuracy; /* what of method, kernel, interpolation and precision is "auto" is the
                          fastest way within it; cones: fdk-way.c */
  TdInterpolation interpolation;
  TdPrecision precision;

  /* What of the measured frames is used (dataset/scan-view.h). The centre, the tilt and the rows of
     a parallel beam are of the detector as it was measured, whatever is cropped and binned.
     Cone-beam rows and the region are of the volume. */
  guint crop[4];           /* first column, first row, columns, rows; columns 0: all */
  guint bin[2], bin_views; /* columns, rows and views averaged to one; 0 as 1 */

  guint view_first, view_end;  /* views [first, end) as the scan counts them; 0, 0: all */
  guint row_first, row_end;    /* detector rows [first, end); 0, 0: all */
  gint region[4];              /* x, y of the first pixel (stored image: x right, y down), width,
                                  height, in the full slice; width 0: all */
  double angle_offset_deg;     /* turns the slice */
  gboolean reverse_rotation;   /* the stage turned the other way */
  TdFieldOfView field_of_view; /* parallel beams */

  char devices[128];                 /* "auto", "host", "opencl:0,opencl:1", … */
  guint64 memory_limit_bytes;        /* host and each device; 0: what is there */
  guint64 device_memory_limit_bytes; /* each device but the host; 0: as above */
  TdShareKind share;
  TdFilterPlace filter_on;

  TdVolumeFormat output_format;
  guint output_bits;
  gboolean output_range_auto; /* 16 and 8 bits: range from a middle slice, widened a little */
  double output_low, output_high;
} TdRecipe;

void td_recipe_init (TdRecipe *recipe); /* presets */
/* States the axis, which is then not searched for. @centre_px may be NAN. */
void td_recipe_state_axis (TdRecipe *recipe, double centre_px, double tilt_deg);
/* Field by field: what one of them does not use (a centre beside "auto") makes no difference. */
gboolean td_recipe_equal (const TdRecipe *a, const TdRecipe *b);
/* The same for one part only, as the JSON calls it: "prepare", "filter", "filter.kind", … */
gboolean td_recipe_equal_in (const TdRecipe *a, const TdRecipe *b, const char *part);
char *td_recipe_to_json (const TdRecipe *recipe);
gboolean td_recipe_from_json (TdRecipe *recipe, const char *json, GError **error);
gboolean td_recipe_load (TdRecipe *recipe, const char *path, GError **error);
gboolean td_recipe_save (const TdRecipe *recipe, const char *path, GError **error);
TdStep *td_recipe_step (TdRecipe *recipe, const char *name); /* NULL: not in it */
TdStep *td_recipe_add_step (TdRecipe *recipe, const char *name, GError **error); /* in order */
/* Takes the mask at @path, made absolute, and sees to it that it is used. The step bad-pixels is
   switched on, or added so that it takes the mask only. NULL: no mask. FALSE: the path is too long,
   or there is no room for the step. */
gboolean td_recipe_set_mask (TdRecipe *recipe, const char *path, GError **error);
/* The volume that iterations go on from; NULL: they do not. */
const char *td_recipe_start_volume (const TdRecipe *recipe);
/* The mask that is used; NULL: none, or its step is off. */
const char *td_recipe_mask (const TdRecipe *recipe);

/* One option of the command line, "--filter hann" as ("filter", "hann"): every front end parses
   values here, so that they mean the same everywhere. On an error the recipe is as it was. */
gboolean td_recipe_set (TdRecipe *recipe, const char *option, const char *value, GError **error);

/* FALSE with @error: a number of the scan or the recipe is one that no scan can have. */
gboolean td_recipe_check (const TdRecipe *recipe, const TdScanFacts *facts, GError **error);

gboolean td_method_iterates (TdMethodKind kind);
/* The values' names in their order; NULL ends them. */
extern const char *const td_method_names[];        /* "auto", "fbp", "fdk", "sirt", … */
extern const char *const td_volume_format_names[]; /* "tiff", "bigtiff", "hdf5" */
