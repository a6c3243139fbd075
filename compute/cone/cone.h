/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "compute/row-range.h"
#include "compute/sampling.h"
#include "dataset/scan.h"

/**
 * Cone-beam FDK (Feldkamp, Davis, Kress, J. Opt. Soc. Am. A 1, 1984), as the iFDK paper
 * states it in its Algorithms 1 and 2. Every geometry is a 3x4 matrix M a view:
 *
 *     w (u, v, 1)' = M (x, y, z, 1)',   M scaled so that w = 1 on the rotation axis (the origin)
 *
 * x, y and z are in mm, with z up along the axis. u counts columns and v rows, row 0 at the top,
 * with pixel centres at integers. w is the depth along the detector's normal in units of the
 * source-axis distance. Then
 *
 *     f (x, y, z) = sum over views  weight_v / w^2 * q_v (u, v)
 *
 * where q is the weighted and ramp-filtered projection. It is 0 outside the detector and fades
 * linearly to 0 over the pixel beyond its edges.
 *
 * Projections are float [view][row][column], volumes float [slice][y][x]. Slice 0 is at the top
 * (largest z), and so is row 0 of a slice (largest y). These are the parallel beam's conventions
 * with slice = row.
 */
typedef enum {
  TD_REDUNDANCY_FULL,   /* 360 degrees: every ray twice */
  TD_REDUNDANCY_PARKER, /* short scan: Parker, Med. Phys. 9 (1982) */
  TD_REDUNDANCY_WANG,   /* offset detector over 360 degrees: Wang, Med. Phys. 29 (2002) */
} TdRedundancyKind;

typedef struct {
  TdRedundancyKind kind;
  gboolean by_row;     /* the weight of a column differs from row to row */
  double overlap_rad;  /* Wang: fan angle up to which all rows see both sides of the axis */
  double side;         /* Wang: 1 or -1, the sign of the longer side's fan angles */
  double overscan_rad; /* Parker: half of what the range has over 180 degrees */
  double first_rad;    /* Parker: where the turn begins */
} TdRedundancy;

/* The detector as it stands, where its projections are resampled to the task's
   (cone-rectify.h). */
typedef struct {
  guint n_columns, n_rows; /* 0: the task's detector is the scan's */
  guint n;                 /* 1: the same for all views; else as many as these */
  double
      *homographies; /* n x 9, row-major, from pixels of the task's detector to this one's; owned */
} TdConeTilted;

typedef struct {
  guint n_columns, n_rows, n_views; /* of the filtered projections */
  guint
      n_measured; /* columns before filtering: n_columns, unless td_cone_task_widen() added some */
  guint shift;    /* where the first measured column lies among n_columns */
  guint nx, ny, nz;
  double voxel_mm;
  double first_mm[3];   /* centre of the first stored voxel: smallest x, largest y, largest z */
  double *matrices;     /* n_views x 12, row-major, scaled as above; owned */
  double *view_weights; /* n_views: angular step, redundancy factor and 1 / pitch; owned */
  double pitch_mm;      /* detector column pitch scaled to the axis */
  double source_axis_mm;
  double middle_mm;        /* how far up the axis the middle row sees it */
  double raised_mm;        /* how far the slices were moved up the axis, to what the rows see */
  double unseen_mm;        /* how far they were not, since matrices say where the origin is */
  TdRedundancy redundancy; /* how rays are weighted before filtering */
  TdConeTilted tilted;
} TdConeTask;

/* The volume that the detector sees, unless the geometry proposes its own. A voxel is the pitch
   at the axis. There are nx = ny = columns of them (for an offset detector, as many as its turn
   sees) and td_cone_slices() along the axis. Slices lie about the rows' middle at the axis, to
   within half a slice. They move by whole ones, and a crop moves them with it. Of matrices they lie
   about the origin. Angles in radians, one a view. */
gboolean td_cone_task_init (TdConeTask *task, const TdGeometry *geometry, const double *angles_rad,
                            guint n_views, guint n_columns, guint n_rows, GError **error);
/* As td_cone_task_init() for projections that are weighted and filtered already (RabbitCT): all
   weights are 1, on w as the matrices give it. */
gboolean td_cone_task_init_filtered (TdConeTask *task, const TdGeometry *geometry, guint n_views,
                                     guint n_columns, guint n_rows, GError **error);
/* As td_cone_task_init() for iterative methods, which need no weights and so take any angles. */
gboolean td_cone_task_init_rays (TdConeTask *task, const TdGeometry *geometry,
                                 const double *angles_rad, guint n_views, guint n_columns,
                                 guint n_rows, GError **error);
/* Widens the filtered projections of an offset detector. They then reach as far on the short
   side of the axis as on the long one. What the ramp makes of a row does not end where the row
   does. Other detectors stay as they are. */
void td_cone_task_widen (TdConeTask *task);
/* Whether the detector lies on its side: its columns, not its rows, run along the orbit. The
   volume then has as many slices as the detector has columns. */
gboolean td_cone_portrait (const TdGeometry *geometry, guint n_columns, guint n_rows);
/* The same of a scan; filtered projections are taken as they are. */
gboolean td_cone_scan_portrait (const TdScanFacts *facts);
/* Height of a detector's pixel over its width; of matrices, the first view's. */
double td_cone_pixel_aspect (const TdGeometry *geometry);
/* Slices of cubic voxels that cover what @n_rows rows see, with pixels @aspect as high as wide. */
guint td_cone_slices (guint n_rows, double aspect);
/* Rows for a step of a millimetre up the axis from the origin: below 0 where rows count
   downwards. */
double td_cone_rows_per_mm (const double matrix[12]);
/* Another volume: nx * ny * nz voxels of voxel_mm, centred on the axis and the mid-plane. */
void td_cone_task_set_volume (TdConeTask *task, guint nx, guint ny, guint nz, double voxel_mm);
void td_cone_task_copy (TdConeTask *to, const TdConeTask *from); /* to is overwritten, not freed */
void td_cone_task_clear (TdConeTask *task);

/* One view's matrix of a circular orbit (offsets and tilts included), before scaling. */
void td_cone_matrix (const TdGeometry *geometry, double angle_rad, guint n_columns, guint n_rows,
                     double matrix[12]);
/* The factor by which weights and ramp along the rows of a scaled matrix' detector come out too
   large. It is the column's pitch on the axis, mm, and less if the detector is not square to the
   ray through the axis. */
double td_cone_filter_gain (const double matrix[12]);
/* Scales a matrix so that w = 1 at the origin; FALSE if the origin is on or behind the source. */
gboolean td_cone_matrix_normalise (double matrix[12]);
void td_cone_project (const double matrix[12], const double point_mm[3], double *u, double *v,
                      double *w);
/* Source position, mm. */
void td_cone_source (const double matrix[12], double source_mm[3]);
/* Point of the detector pixel's ray at depth w = 1. */
void td_cone_pixel (const double matrix[12], double u, double v, double point_mm[3]);

/* TRUE if u and w do not depend on z, and v is linear in z: no tilts, horizontal orbit. The fast
   families need it; the planner asks. */
gboolean td_cone_upright (const TdConeTask *task);

/* Detector rows [*first, *end) that slices [slice0, slice0 + n) see in any view. Rows that linear
   interpolation touches and a margin for rounding are among them. Empty (first = end) if none. */
void td_cone_rows_seen (const TdConeTask *task, guint slice0, guint n, guint *first, guint *end);

/* ── Weights before filtering ── */

/* The cosine weight of pixel (u, v) in a view is 1 / sqrt (q). The quadratic form q has the
   coefficients [uu, vv, 11, uv, u1, v1], the cross terms already doubled. It holds for any
   matrix; for an upright detector the weight is D / sqrt (D^2 + u_mm^2 + v_mm^2). */
void td_cone_cosine (const double matrix[12], double coefficients[6]);

/* A pixel's fan angle: its ray's, seen along the axis. It is 0 on the ray through the axis and
   positive to the side of the view's (cos, sin). Its tangent is right . (u, v, 1) / ahead . (u,
   v, 1) for any tilts. On a detector rolled in its plane it depends on the row too. */
typedef struct {
  double right[3], ahead[3];
} TdConeFan;

/* FALSE: the matrix is singular, or the source on the axis. */
gboolean td_cone_fan (const double matrix[12], TdConeFan *fan);
double td_cone_fan_angle (const TdConeFan *fan, double u, double v);

/* What the angles and the detector's position ask for; an error says why none fits. */
gboolean td_cone_redundancy (const TdGeometry *geometry, const double *angles_rad, guint n_views,
                             guint n_columns, guint n_rows, TdRedundancy *redundancy,
                             GError **error);
/* A view's matrix of this geometry, scaled; FALSE as td_cone_matrix_normalise(). */
gboolean td_cone_view_matrix (const TdGeometry *geometry, const double *angles_rad, guint view,
                              guint n_columns, guint n_rows, double matrix[12]);
/* How far a view lies from where the turn begins, 0 to 2 pi. Angles may count several turns. */
double td_cone_redundancy_angle (const TdRedundancy *redundancy, double angle_rad);
/* A ray's weight beside the cosine weight; over a full turn's pairs the mean is 1/2. */
double td_cone_redundancy_weight (const TdRedundancy *redundancy, double angle_rad, double fan_rad);

/* ── Back-projection ── */

/* The naive double-precision reference: into out[nz][ny][nx]. */
void td_cone_reference (const TdConeTask *task, const float *projections, double *out);
