/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-names.h"
#include "hdf5-frames.h"
#include "scan-private.h"

/**
 * What the readers of HDF5 flavours share: a scan whose frames of each kind are some of the frames
 * of a data set. NXtomo has one data set for all three kinds, DXchange one for each.
 */
extern const char *const td_h5_any_format; /* of frames that nothing says more about */

typedef struct {
  TdH5Frames *frames[3]; /* by TdFrameKind; owned, but the same pointer may stand in several */
  guint *indices[3];     /* which of its frames; NULL: all, in order. Owned. */
  TdH5Frames *more[3];   /* of a kind that two data sets hold, those behind the first's; owned */
} TdH5Source;

/* An empty scan over an empty source, which the scan frees. @by_rows: its data sets are in sinogram
   order (and have no indices). */
TdScan *td_h5_scan_new (const char *path, gboolean by_rows, TdH5Source **source);
/* Flats or darks of a data set of their own, which must be as large as the projections. Takes
   @dataset; -1: there are none. */
gboolean td_h5_scan_add (TdScan *scan, TdH5Source *source, TdFrameKind kind, hid_t dataset,
                         const char *label, const TdScanOptions *options, GError **error);
/* Flats and darks that lie in the group of the data set @projections: by their names, the first of
   each. What is not taken is told: images that are as large and called otherwise may be some, too.
   @known: (nullable): names that are seen to already. */
gboolean td_h5_scan_add_beside (TdScan *scan, TdH5Source *source, hid_t file,
                                const char *projections, const char *const *known,
                                const TdScanOptions *options, GError **error);
/* The same of the data sets @paths, which lie elsewhere in the file. @own: they are this scan's;
   else they are only told. */
gboolean td_h5_scan_add_elsewhere (TdScan *scan, TdH5Source *source, hid_t file,
                                   const GPtrArray *paths, gboolean own,
                                   const TdScanOptions *options, GError **error);
/* What a data set is by its name, or by that of the nearest group around it that has only words for
   flats or darks. */
TdNameRole td_h5_path_role (const char *path);
/* The angles that lie there, as many as there are views; TRUE also where there are none. */
gboolean td_h5_scan_angles_beside (TdScan *scan, hid_t file, const char *projections,
                                   GError **error);
/* Of a file that is no scan, the only data set that is called as flats or darks are. (transfer
   full) (nullable) */
char *td_h5_find_companion (const char *path, TdFrameKind kind);
/* The only angles elsewhere in the file, as many as there are views, if there are none yet. */
gboolean td_h5_scan_angles_elsewhere (TdScan *scan, hid_t file, GError **error);
/* Flats or darks behind those that another data set gave: all of both must be there. FALSE: they do
   not fit. Takes @dataset. */
gboolean td_h5_scan_add_more (TdScan *scan, TdH5Source *source, TdFrameKind kind, hid_t dataset,
                              const char *label, const TdScanOptions *options);
/* The Core Imaging Library gives frames their beam as an attribute. A cone is none without its
   distances, which the scan or its options must have. */
gboolean td_h5_scan_check_cone (const TdScan *scan, hid_t dataset, const char *path,
                                const TdScanOptions *options, GError **error);
/* What the Core Imaging Library states of the frames at @path: their geometry, with the angles.
   TRUE also where it states none, or @options do. FALSE: they are no scan, or their beam is not
   known. */
gboolean td_h5_scan_take_cil (TdScan *scan, hid_t file, const char *path,
                              const TdScanOptions *options, GError **error);
TdH5FramesFlags td_h5_scan_flags (const TdScanOptions *options);
/* Which of the projections are missing, and the files they are in. @indices: of the frames that are
   views; NULL: all, in order. */
void td_h5_scan_take_absent (TdScan *scan, const TdH5Frames *frames, const guint *indices);
/* A scan that was stopped: the frames behind the first @n, for which there are angles at @path,
   were never written. These are its views then. */
void td_h5_scan_end_at (TdScan *scan, guint n, const char *path);
/* The size and sample type of the projections' data set. */
void td_h5_scan_take_size (TdScan *scan, TdH5Frames *frames);
/* “FILE”: /path, for messages. */
char *td_h5_label (const char *file, const char *path);

/* The size of a pixel in mm by its units attribute. Without one a number counts @otherwise mm, or
   if that is 0 what pixels are of that size, with a note. 0: absent or, with a note, unknown. */
double td_h5_pixel_mm (TdScan *scan, hid_t location, const char *path, double otherwise);

/* The energy at @path, which the scan takes if there is one above 0. What stands there without a
   unit that is known is told. */
void td_h5_scan_take_energy (TdScan *scan, hid_t location, const char *path);
/* The same of the way from the sample to the detector; a number without a unit counts @otherwise
   mm: 1 or 1000. */
void td_h5_scan_take_distance (TdScan *scan, hid_t location, const char *path, double otherwise);

/* Flats were exposed for another time than projections, as @name states. */
void td_h5_note_exposures (TdScan *scan, double flats, double views, const char *name);

/* From the lowest of @n values to the highest. */
double td_h5_extent (const double *values, gsize n);
/* @n angles in radians by the data set's unit. NULL with @error. @scan: (nullable): is told of
   units that had to be guessed. */
double *td_h5_read_angles (hid_t dataset, const char *label, gsize *n, TdScan *scan,
                           GError **error);
