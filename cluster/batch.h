/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "compute/engine/job.h"
#include "compute/engine/plan.h"
#include "dataset/volume.h"

/* One recipe for many scans: where each volume goes, which are there already, and what is done to
   each. The command line's batches and the window's are both made of this. Any thread. */

/* @folder/NAME for each of @scans, with the format's ending; NAME is the scan's, without ".nxs" and
   the like. Scans of one name get the name of their folder before it. NULL with @error: two would
   go to one place all the same. (transfer full) */
char **td_batch_outputs (const char *const *scans, const char *folder, TdVolumeFormat format,
                         GError **error);

/* Makes the folder of the volumes, where it is not there. */
gboolean td_batch_make_folder (const char *folder, GError **error);

typedef enum {
  TD_BATCH_WAITING,
  TD_BATCH_RUNNING,
  TD_BATCH_WRITTEN,
  TD_BATCH_THERE, /* the volume was there before: nothing was computed */
  TD_BATCH_FAILED,
  TD_BATCH_CANCELLED,
  TD_BATCH_PASSED, /* what came is no scan */
} TdBatchState;

const char *td_batch_state_name (TdBatchState state); /* "waiting", "running", "done", … */

/* One scan of a batch: a row of its table. */
typedef struct {
  char *path, *output;
  TdBatchState state;
  double centre_px, sigma_px; /* NAN: not known; not searched */
  gboolean searched, agreed;  /* the axis was found; by methods that agree */
  double seconds;             /* NAN: not known */
  double fraction;            /* of the work, while it runs */
  TdMessage **notes;          /* of the plan and the result; "there": of the plan then; NULL */
  char *why;                  /* it failed or was passed over, for td_message_words(); NULL */
} TdBatchRow;

TdBatchRow *td_batch_row_new (const char *path, const char *output);
/* A row for a watched folder's file that is no scan. */
TdBatchRow *td_batch_row_new_passed (const char *path);
TdBatchRow *td_batch_row_copy (const TdBatchRow *row);
void td_batch_row_free (TdBatchRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdBatchRow, td_batch_row_free)
/* The table as comma-separated values with a line of names before it. @rows: TdBatchRow. (transfer
   full) */
char *td_batch_csv (const GPtrArray *rows);

/* A row as members of an event, and back; NULL: it is none. */
void td_batch_row_add_json (const TdBatchRow *row, JsonBuilder *builder);
TdBatchRow *td_batch_row_of_json (JsonNode *event);

/* What a batch does to each of its scans. */
typedef struct {
  TdEngine *engine;
  const TdScanOptions *options; /* of every scan */
  const TdRecipe *recipe;
  gboolean overwrite;
  /* The calling thread's: the axis is being found; and whoever runs the job shows its progress. */
  void (*searches) (gpointer user);
  gboolean (*run) (TdJob *job, gpointer user, GError **error);
  gpointer user;
} TdBatchWork;

/* What scans of a batch take, one or all of them, before anything runs. Of one scan, zeros: it
   takes nothing. */
typedef struct {
  guint nx, ny, n_slices;
  guint64 host_bytes, device_bytes, write_bytes;
  guint64 room_bytes; /* free room that it wants: a volume that is replaced gives its own */
  TdPlanTimes times;
  double estimate_s; /* NAN: not known yet on this machine */
} TdBatchNeed;

/* One scan is computed after the other: memory is that of the largest, all else adds up. What is
   not known of one is not known of all. */
void td_batch_need_add (TdBatchNeed *all, const TdBatchNeed *one);
/* FALSE with @error, which says what to change: the volumes of @all have no room in @folder. */
gboolean td_batch_need_fits (const TdBatchNeed *all, const char *folder, GError **error);

/* What td_batch_do() would do, before anything runs: FALSE with @error: it would refuse. The volume
   may be there already, as @row then says; it takes nothing. The axis is not searched, which
   changes neither memory nor time much. Of @work neither @searches nor @run is called. Blocks. */
gboolean td_batch_look (const TdBatchWork *work, TdBatchRow *row, TdBatchNeed *need,
                        GCancellable *cancellable, GError **error);

/* Opens the scan of @row, finds its axis, and writes its volume, unless it is there. The row gets
   all but its @why, which @error is. Blocks. */
gboolean td_batch_do (const TdBatchWork *work, TdBatchRow *row, GCancellable *cancellable,
                      GError **error);
