/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/phantom.h"
#include "pipeline.h"

/**
 * Projections of a phantom by rays that a test places itself, from the words of a file format's own
 * documents. So a reader's geometry is judged without the reader's own arithmetic.
 */
typedef struct {
  guint n_columns, n_rows, n_views;
  double unit_mm; /* of the phantom */
  /* Where the ray of a stored pixel begins and which point it passes, mm in our world. */
  void (*ray) (gconstpointer setup, guint view, guint column, guint row, double source[3],
               double pixel[3]);
  gconstpointer setup;
} TdConeCamera;

#define TD_CAMERA_PHANTOM "ellipsoids" /* no symmetry: a mirrored result is wrong */
#define TD_CAMERA_PER_MM 0.02          /* of the phantom's value 1 */

/* -log of the transmission, [view][row][column]. */
float *td_cone_camera_expose (const TdConeCamera *camera);
/* Saves files FOLDER/NAME0001.tif and so on, counted from @first. With @white 0 they hold the
   values as floats. Otherwise they hold the 16-bit counts of a camera that counts @white in the
   open beam. */
void td_cone_camera_save (const TdConeCamera *camera, const float *views, const char *folder,
                          const char *name, guint first, double white);
/* Reconstructs on the host; relative RMS against the phantom in the slices of the middle half,
   within 0.9 of the field of view. */
double td_cone_camera_error (const TdConeCamera *camera, TdEngine *engine, TdScan *scan,
                             double voxel_mm);

/* Small things that those tests share. */
double td_camera_middle (guint n);                                   /* of n pixels */
void td_camera_turn (double p[3], guint a, guint b, double degrees); /* axis a towards axis b */
void td_camera_write (const char *folder, const char *name, const char *text);
/* FOLDER/NAME with the geometry file FOLDER/GEOMETRY (NULL: none); asserts that it opens. */
TdScan *td_camera_open (const char *folder, const char *name, const char *geometry,
                        double pixel_mm);
