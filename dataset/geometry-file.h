/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * What a file beside a scan says about its geometry, before the scan's detector is known:
 * Tomodesk's own JSON, JSON or text with a matrix (or ASTRA's vectors) a view, the FIPS open data's
 * parameters, RTK's ThreeDCircularGeometry, Nikon's .xtekct, SkyScan's .log. Files are untrusted.
 */
typedef enum {
  TD_VIEWS_NONE,        /* a circular orbit: all is in geometry */
  TD_VIEWS_MATRICES_PX, /* 3x4: world (mm) to columns and rows */
  TD_VIEWS_MATRICES_MM, /* 3x4: world (mm) to mm on the detector, right and down from its middle */
  TD_VIEWS_VECTORS,     /* td_matrix_from_vectors() */
} TdViewsKind;

typedef struct {
  char *path;
  const char *format;  /* static, to be translated: for notes */
  TdGeometry geometry; /* without view_matrices */
  TdViewsKind kind;
  double *views; /* n_views x 12 */
  guint n_views;
  double *angles_rad;      /* n_angles; NULL: the file gives none */
  guint n_angles;          /* views that the file states; 0: none */
  guint n_columns, n_rows; /* detector that the file states; 0: none */
  gboolean mirrored;       /* images show the detector from behind: columns run the other way */
  double white_level;   /* of the open beam, where the images are flat-field corrected; 0: none */
  gboolean uncorrected; /* they are not: white_level will do where there are no flats */
  TdMessage **notes;
} TdGeometryFile;

TdGeometryFile *td_geometry_file_load (const char *path, GError **error);
void td_geometry_file_free (TdGeometryFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdGeometryFile, td_geometry_file_free)

/* Gives @scan this geometry, and the angles, orientation and white level that belong to it.
   @own_angles: somebody stated the angles; a circular orbit keeps them. Refuses what contradicts
   the scan: another number of views, another detector. Ends with td_scan_validate(). */
gboolean td_geometry_file_apply (const TdGeometryFile *file, TdScan *scan, gboolean own_angles,
                                 GError **error);

/* For the parsers of one format each. */
TdGeometryFile *td_geometry_file_new (const char *path, const char *format);
TdGeometryFile *td_geometry_file_load_json (const char *path, GError **error);
TdGeometryFile *td_geometry_file_load_text (const char *path, GError **error);
TdGeometryFile *td_geometry_file_load_rtk (const char *path, GError **error);
TdGeometryFile *td_geometry_file_load_nikon (const char *path, GError **error);
TdGeometryFile *td_geometry_file_load_skyscan (const char *path, GError **error);
gboolean td_geometry_file_is_fips (const char *path);
gboolean td_geometry_file_is_rtk (const char *head);
gboolean td_geometry_file_is_nikon (const char *head);
gboolean td_geometry_file_is_skyscan (const char *head);
/* @n numbers as matrices or vectors, 12 a view (@kind NONE: by their shape). Takes @numbers. */
gboolean td_geometry_file_take_views (TdGeometryFile *file, double *numbers, gsize n,
                                      TdViewsKind kind, GError **error);

/* The first TIFF file of the series that an .xtekct file belongs to: Name, InputSeparator and a
   number, in InputFolderName or beside it. (transfer full) */
char *td_nikon_first_projection (const char *path, GError **error);
/* The first TIFF file of the series that a .log file belongs to: Filename Prefix and a number,
   beside it. (transfer full) */
char *td_skyscan_first_projection (const char *path, GError **error);
/* Whether a .log file is that of a volume, which NRecon writes beside the slices. */
gboolean td_skyscan_is_result (const char *path);
