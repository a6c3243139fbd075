/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"
#include "compute/engine/field.h"
#include "dataset/scan.h"

/**
 * TdOrbit: where source and detector stand in every view, as a recipe's reconstruction takes it.
 * The sample rests, and source and detector go round it. In millimetres, or in detector pixels
 * where their size is not known (parallel beams only).
 */
typedef struct {
  TdBeam beam;
  guint n_views, n_columns, n_rows;
  gboolean in_mm;
  gboolean matrices;   /* every view has its own; else a circle */
  double *angles_rad;  /* n_views: with the recipe's offset and direction; owned */
  TdGeometry geometry; /* with the recipe's centre and tilt; owned */
  double centre_px;    /* parallel: at the middle row */
  TdTurn turn;         /* of the angles as they are here */
  TdField field;       /* parallel: how wide the slices are */
  TdConeTask task;     /* cone and fan: the volume; nothing if problem is set */
  gboolean has_task;
  TdRedundancy redundancy;
  double half_mm[3]; /* the volume's box: half its sides, around middle_mm */
  double middle_mm[3];
  double radius; /* of the ball around all of it */
  char *problem; /* what keeps it from being reconstructed; NULL: nothing */
} TdOrbit;

/* @recipe: (nullable): its centre is in columns of @facts, at the middle row. Crop and bins are not
   looked at: @facts are of what they leave. */
TdOrbit *td_orbit_new (const TdScanFacts *facts, const TdRecipe *recipe);
void td_orbit_free (TdOrbit *orbit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdOrbit, td_orbit_free)

/* The source; of a parallel beam: a point that the beam comes from, as far as the detector. */
void td_orbit_source (const TdOrbit *orbit, guint view, double source[3]);
/* A place on the detector; pixel centres are whole numbers. */
void td_orbit_pixel (const TdOrbit *orbit, guint view, double u, double v, double point[3]);
/* Where a point of the sample is seen. */
void td_orbit_project (const TdOrbit *orbit, guint view, const double point[3], double *u,
                       double *v);
/* Source to axis, source to detector: of one view. 0: a parallel beam. */
void td_orbit_distances (const TdOrbit *orbit, guint view, double *source_axis,
                         double *source_detector);
