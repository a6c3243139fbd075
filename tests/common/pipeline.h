/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"
#include "dataset/phantom-scan.h"

/* What a whole job (plan, preparation, filter, back-projection) made, in memory. */
typedef struct {
  guint nx, ny, n_slices;
  float *slices;                 /* [slice][y][x] */
  char *device, *family, *notes; /* notes: a line each */
  TdJobResult result;            /* numbers only: its strings have gone with the job */
  guint n_passes;
} TdTestVolume;

/* Runs @recipe on @scan without output. FALSE with @error set as td_plan_new() or td_job_run() left
   it. */
gboolean td_test_reconstruct (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                              TdTestVolume *volume, GError **error);
void td_test_volume_clear (TdTestVolume *volume);

/* Line integrals [row][view][column] as a scan; the array is copied. Angles in radians. */
TdScan *td_test_scan (const float *sinograms, guint n_rows, guint n_views, guint n_columns,
                      const double *angles_rad);

/* Half acquisition of 41 rows of 48 columns about an axis that is tilted by 5 degrees, without
   noise. @spec: (out): what it is made of. (transfer full) */
TdScan *td_test_tilted_scan (TdPhantomScan *spec);

/* Ids of the devices that work here, host first. (transfer full) (element-type utf8) */
GPtrArray *td_test_devices (void);
/* Whether opencl:0 and opencl:1 are two devices of one kind, which compute alike: for what must
   come out the same on both. Skips the test if not. */
gboolean td_test_two_alike (void);
/* Plans take @devices, CPUs that two_alike() found, for cards; or for what they are again. */
void td_test_play_cards (GPtrArray *devices, gboolean cards);
/* Bytes of so many floats. */
guint64 td_test_floats (guint64 a, guint64 b, guint64 c);
