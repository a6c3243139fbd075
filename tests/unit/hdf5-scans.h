/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* HDF5 files of known frames, and what is read of them. */
#include <math.h>

#include "dataset/error.h"
#include "dataset/hdf5-write.h"
#include "open-scan.h"
#include "test-folder.h"

#define COLUMNS 11u
#define ROWS 6u
#define VIEWS 9u

static inline float
value_of (guint frame, guint row, guint column)
{
  return (float) (1000 * frame + 50 * row + column);
}

/* uint16 frames [n][ROWS][COLUMNS] (or [ROWS][n][COLUMNS]) of value_of(base + frame), chunked and
 * compressed where @chunk is not 0. */
static inline void
add_frames (hid_t group, const char *name, guint base, guint n, gboolean by_rows, guint chunk)
{
  TD_H5_GUARD;
  hsize_t shape[3] = { by_rows ? ROWS : n, by_rows ? n : ROWS, COLUMNS };
  hsize_t chunks[3] = { MIN (chunk, shape[0]), MIN (4, shape[1]), 5 };
  g_autofree guint16 *values = g_new (guint16, n * ROWS * COLUMNS);
  g_auto (TdH5Id) space = H5Screate_simple (3, shape, NULL);
  g_auto (TdH5Id) properties = H5Pcreate (H5P_DATASET_CREATE);
  g_auto (TdH5Id) dataset = -1;

  for (guint f = 0; f < n; f++)
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < COLUMNS; c++)
        values[((by_rows ? r * n + f : f * ROWS + r)) * COLUMNS + c]
            = (guint16) value_of (base + f, r, c);
  if (chunk) {
    H5Pset_chunk (properties, 3, chunks);
    H5Pset_shuffle (properties);
    H5Pset_deflate (properties, 4);
  }
  dataset = H5Dcreate2 (group, name, H5T_STD_U16BE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  g_assert_cmpint (H5Dwrite (dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), >=,
                   0);
}

static inline hid_t
add_group (hid_t parent, const char *name)
{
  hid_t group = td_h5_add_group (parent, name,
                                 strcmp (name, "detector") == 0 ? "NXdetector" : "NXcollection");

  g_assert_cmpint (group, >=, 0);
  return group;
}

/* An NXtomo entry at "/@entry": frames 0 dark, 1 flat, 2…4 views, 5 invalid, 6 flat, 7… views. */
static const guint8 keys[VIEWS + 4] = { 2, 1, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0 };

static inline void
add_nxtomo (hid_t file, const char *entry_name, const char *units, double per_degree)
{
  double angles[VIEWS + 4];
  g_auto (TdH5Id) entry = add_group (file, entry_name);
  g_auto (TdH5Id) instrument = add_group (entry, "instrument");
  g_auto (TdH5Id) detector = add_group (instrument, "detector");
  g_auto (TdH5Id) sample = add_group (entry, "sample");

  for (guint i = 0; i < VIEWS + 4; i++)
    angles[i] = 3.5 * i * per_degree;
  g_assert_true (td_h5_add_string (entry, "definition", "NXtomo"));
  add_frames (detector, "data", 0, VIEWS + 4, FALSE, 3);
  g_assert_true (td_h5_add_bytes (detector, "image_key", keys, VIEWS + 4));
  g_assert_true (td_h5_add_doubles (sample, "rotation_angle", angles, VIEWS + 4, units));
}

static inline void
check_frame (TdScan *scan, TdFrameKind kind, guint number, guint stored)
{
  float rows[3 * COLUMNS];
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { kind, number, 1, 2, 3 }, rows, NULL, &error);
  g_assert_no_error (error);
  for (guint r = 0; r < 3; r++)
    for (guint c = 0; c < COLUMNS; c++)
      g_assert_cmpfloat (rows[r * COLUMNS + c], ==, value_of (stored, 2 + r, c));
}

/* Frames and sinograms of all views say the same. */
static inline void
check_sinograms (TdScan *scan)
{
  guint n = td_scan_facts (scan)->n_views;
  g_autofree float *frames = g_new (float, n *ROWS *COLUMNS);
  g_autofree float *sinograms = g_new (float, n * 3 * COLUMNS);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, n, 0, ROWS }, frames, NULL, &error);
  g_assert_no_error (error);
  td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 1, n - 1, 2, 3 }, sinograms,
                          NULL, &error);
  g_assert_no_error (error);
  for (guint r = 0; r < 3; r++)
    for (guint v = 0; v + 1 < n; v++)
      for (guint c = 0; c < COLUMNS; c++)
        g_assert_cmpfloat (sinograms[(r * (n - 1) + v) * COLUMNS + c], ==,
                           frames[((v + 1) * ROWS + 2 + r) * COLUMNS + c]);
}

static inline void
check_nxtomo (TdScan *scan)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  g_assert_cmpuint (facts->n_columns, ==, COLUMNS);
  g_assert_cmpuint (facts->n_rows, ==, ROWS);
  g_assert_cmpuint (facts->n_views, ==, VIEWS);
  g_assert_cmpuint (facts->n_flats, ==, 2);
  g_assert_cmpuint (facts->n_darks, ==, 1);
  g_assert_cmpint (facts->sample_type, ==, TD_SAMPLE_UINT16);
  g_assert_cmpfloat (facts->flat_positions[0], ==, 0);
  g_assert_cmpfloat (facts->flat_positions[1], ==, 3);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[0], 2 * 3.5 * G_PI / 180, 1e-12);
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[3], 7 * 3.5 * G_PI / 180, 1e-12);
  check_frame (scan, TD_FRAME_PROJECTION, 2, 4);
  check_frame (scan, TD_FRAME_PROJECTION, 3, 7);
  check_frame (scan, TD_FRAME_FLAT, 1, 6);
  check_frame (scan, TD_FRAME_DARK, 0, 0);
  check_sinograms (scan);
}
