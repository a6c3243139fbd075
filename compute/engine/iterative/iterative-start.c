/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compute/device/host.h"
#include "compute/engine/engine-private.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"

struct TdIterativeBeginning {
  gsize slice;      /* values */
  float *slices;    /* filtered; of a file those that were read last */
  guint held;       /* of a file: how many there is room for */
  TdVolume *volume; /* an earlier run's */
  int file;         /* a temporary one, of the filtered volume; -1: none */
  gint failed;      /* atomic: errno of writing it; 0: none */
  TdScan *copy;     /* of what was measured; NULL: it is read twice */
};

/* Slices of the whole volume, whatever part is delivered. */
static guint
n_slices (const TdIterativePlan *self)
{
  return self->slabs ? self->n_rows : self->task.nz;
}

static guint64
filtered_volume_bytes (const TdIterativePlan *self)
{
  return (guint64) self->task.nx * self->task.ny * n_slices (self) * sizeof (float);
}

guint64
td_iterative_start_bytes (const TdIterativePlan *self)
{
  return self->start == TD_ITERATIVE_FILTERED && !self->start_in_file ? filtered_volume_bytes (self)
                                                                      : 0;
}

/* ── The plan ── */

static gboolean
iterative_start_check_file (const TdPlan *plan, const TdIterativePlan *self, GError **error)
{
  g_autoptr (TdVolume) volume = NULL;
  const TdConeTask *task = &self->task;

  if (self->slabs && self->n_rows < plan->part_of)
    return td_set_error_plain (error, TD_ERROR_UNSUPPORTED,
                               "Processes that share the slices of a parallel beam cannot go on "
                               "from a volume: leave {start} out, or reconstruct with one process");
  volume = td_volume_open (plan->recipe.start, error);
  if (!volume)
    return td_prefix_error (error, "The volume to go on from ({start}): ");
  const TdVolumeFacts *facts = td_volume_facts (volume);
  if (facts->nx != task->nx || facts->ny != task->ny || facts->n_slices != n_slices (self))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s” has %u × %u × %u voxels, and what iterations go on from ({start}) must be the whole "
        "volume of %u × %u × %u; without {rows} and {region} it is written so",
        facts->path, facts->nx, facts->ny, facts->n_slices, task->nx, task->ny, n_slices (self));
  if (!facts->complete) {
    g_autofree char *notes = td_messages_join (facts->notes, " ", NULL);
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "The volume to go on from ({start}) is not whole: %s", notes);
  }
  if (facts->voxel_mm > 0 && fabs (facts->voxel_mm / task->voxel_mm - 1) > 1e-3)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s” has voxels of %g mm, and this scan's are %g mm: iterations cannot go on from it "
        "({start})",
        facts->path, facts->voxel_mm, task->voxel_mm);
  return TRUE;
}

/* The volume, or the part's slices of it, by the filtered method, as everything else in the recipe
   says. Its result and a copy of the measured scan leave so much less memory. Such a copy has its
   views and its mask already, which is turned over as its frames are. */
static TdPlan *
plan_filtered (const TdPlan *plan, TdScan *measured, GCancellable *cancellable, GError **error)
{
  const TdIterativePlan *self = plan->extra;
  const TdPlanPart part = { .first_slice = plan->part_slice, .n_slices = self->n_rows };
  /* FDK counts what the process takes beside its limit. */
  const guint64 own
      = self->slabs ? 0 : td_plan_own_bytes (plan->devices) + td_plan_unpack_bytes (plan);
  const guint64 held = own + td_iterative_start_bytes (self) + td_iterative_copy_bytes (plan, self);
  TdRecipe recipe = plan->recipe;

  recipe.method = TD_METHOD_AUTO;
  if (recipe.memory_limit_bytes)
    recipe.memory_limit_bytes -= MIN (held, recipe.memory_limit_bytes - 1);
  if (measured != plan->measured) {
    recipe.view_first = recipe.view_end = 0;
    *recipe.mask = '\0';
  }
  memset (recipe.region, 0, sizeof recipe.region);
  if (!self->slabs)
    recipe.row_first = recipe.row_end = 0;
  if (self->slabs && plan->part_of > 0)
    return td_plan_new_part (plan->engine, measured, &recipe, &part, cancellable, error);
  return td_plan_new (plan->engine, measured, &recipe, NULL, cancellable, error);
}

gboolean
td_iterative_plan_start (TdPlan *plan, TdIterativePlan *self, GError **error)
{
  const char *start = plan->recipe.start;

  if (strcmp (start, "zero") == 0)
    return TRUE;
  if (strcmp (start, "auto") == 0 || strcmp (start, "filtered") == 0) {
    self->start = TD_ITERATIVE_FILTERED;
    self->start_in_file = TRUE; /* leaves filtering and iterations most memory */
    return TRUE;
  }
  self->start = TD_ITERATIVE_FILE;
  td_plan_note (plan, "Iterations go on from “%s”.", start);
  td_iterative_momentum_note (plan, self);
  return iterative_start_check_file (plan, self, error);
}

/* Filtering can be done; a start that was left open is settled by whether it can. */
static gboolean
settle_filtered (TdPlan *plan, TdIterativePlan *self, GCancellable *cancellable, GError **error)
{
  TdRecipe *recipe = &plan->recipe;
  const gboolean open = strcmp (recipe->start, "auto") == 0;
  const TdFilter asked = recipe->filter;
  g_autoptr (GError) reason = NULL;

  /* The recipe's own filter is for those who ask for the filtered volume. */
  if (open)
    recipe->filter = (TdFilter) { .kind = TD_FILTER_RAM_LAK, .cutoff = 1, .order = 4 };
  g_strlcpy (recipe->start, "filtered", sizeof recipe->start);
  g_autoptr (TdPlan) filtered = plan_filtered (plan, plan->measured, cancellable, &reason);
  if (filtered) {
    self->filtered_bytes = filtered->facts.host_bytes;
    self->filtered_reads = filtered->facts.read_bytes;
    td_plan_note (plan,
                  open ? N_ ("Iterations begin with the volume of {method=%s}, which saves some.")
                       : N_ ("Iterations begin with the volume of {method=%s}."),
                  filtered->method->name);
    return TRUE;
  }
  if (open && g_error_matches (reason, TD_ERROR, TD_ERROR_TOO_LARGE))
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "The filtered volume that iterations begin with wants more memory: %p. "
                         "They begin with nothing if that is asked for ({start=zero}), and come to "
                         "other values",
                         td_error_message (reason));
  if (!open || g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  recipe->filter = asked;
  g_strlcpy (recipe->start, "zero", sizeof recipe->start);
  self->start = TD_ITERATIVE_ZERO;
  td_plan_note (plan, "Iterations begin with nothing, since filtering cannot: %p",
                td_error_message (reason));
  return TRUE;
}

/* A limit is for the filtered volume and for what filtering takes beside it. */
static gboolean
fits_beside (const TdPlan *plan, TdIterativePlan *self, GCancellable *cancellable)
{
  const guint64 limit = plan->recipe.memory_limit_bytes;

  if (!limit)
    return TRUE;
  g_autoptr (TdPlan) filtered = plan_filtered (plan, plan->measured, cancellable, NULL);
  if (!filtered || filtered->facts.host_bytes + td_iterative_start_bytes (self) > limit)
    return FALSE;
  self->filtered_bytes = filtered->facts.host_bytes;
  self->filtered_reads = filtered->facts.read_bytes;
  return TRUE;
}

gboolean
td_iterative_place_start (TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes,
                          GCancellable *cancellable, GError **error)
{
  const guint64 bytes = filtered_volume_bytes (self);
  g_autofree char *size = g_format_size (bytes);

  if (self->start != TD_ITERATIVE_FILTERED)
    return TRUE;
  self->start_in_file = TRUE;
  if (!settle_filtered (plan, self, cancellable, error))
    return FALSE;
  if (self->start != TD_ITERATIVE_FILTERED)
    return TRUE;
  self->start_in_file = FALSE;
  if (bytes <= spare_bytes && fits_beside (plan, self, cancellable))
    return TRUE;
  self->start_in_file = TRUE;
  if (bytes > td_file_temporary_room ())
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "The filtered volume that iterations begin with wants %s, for which neither memory nor %s "
        "has room: set TMPDIR to a larger disk, raise {memory-limit}, or begin with nothing "
        "({start=zero})",
        size, g_get_tmp_dir ());
  td_plan_note (plan,
                "The volume that iterations begin with, %s, waits in a temporary file, because "
                "memory is short.",
                size);
  return TRUE;
}

/* ── Reading once ── */

static guint64
frames_bytes (const TdIterativePlan *self)
{
  return td_scan_spool_bytes (td_scan_facts (self->scan), self->n_rows, TD_SAMPLE_FLOAT32);
}

void
td_iterative_plan_spool (TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes)
{
  const guint64 bytes = frames_bytes (self), start = td_iterative_start_bytes (self);
  const guint64 stored
      = self->cut.in_file ? td_rays_projection_bytes (&self->task, self->task.n_views) : 0;

  if (!self->turned || td_scan_facts (plan->measured)->in_memory
      || self->chunk_rows >= self->n_rows)
    return;
  self->spool = bytes + start <= spare_bytes                  ? TD_CONE_SPOOL_MEMORY
                : bytes + stored <= td_file_temporary_room () ? TD_CONE_SPOOL_FILE
                                                              : TD_CONE_SPOOL_NONE;
  td_cone_spool_note (plan, self->spool, bytes);
}

guint64
td_iterative_spool_bytes (const TdIterativePlan *self)
{
  return self->spool == TD_CONE_SPOOL_MEMORY ? frames_bytes (self) : 0;
}

guint64
td_iterative_turning_bytes (const TdIterativePlan *self)
{
  const TdScanFacts *facts = td_scan_facts (self->scan);

  return self->turned ? td_scan_spool_work_bytes (facts, facts->n_rows) : 0;
}

/* What is seen through a crop or bins may want any of the rows, and so may turned frames. */
void
td_iterative_plan_copy (const TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);
  const TdRowRange all = { 0, facts->n_rows };

  self->copied = td_scan_frame_is_plain (&plan->frame) && !self->turned ? td_row_range_with_halo (
                     (TdRowRange) { self->row0, self->n_rows }, self->halo, facts->n_rows)
                                                                        : all;
  self->reads_once = self->start == TD_ITERATIVE_FILTERED && !facts->in_memory;
  /* Filtering is over before turned frames wait. */
  self->reads_once = self->reads_once
                     && td_iterative_copy_bytes (plan, self) + td_iterative_start_bytes (self)
                                + MAX (td_iterative_spool_bytes (self), self->filtered_bytes)
                            <= spare_bytes;
}

guint64
td_iterative_copy_bytes (const TdPlan *plan, const TdIterativePlan *self)
{
  const TdScanFacts *facts = td_scan_facts (plan->measured);

  return self->reads_once ? td_scan_spool_bytes (facts, self->copied.count, facts->sample_type) : 0;
}

TdScan *
td_iterative_beginning_scan (const TdPlan *plan, const TdIterativeBeginning *beginning,
                             GError **error)
{
  const TdIterativePlan *self = plan->extra;
  const TdScanFrame turn = { .turned = self->turned };
  const TdRowRange rows = { 0, td_scan_facts (self->scan)->n_rows };
  const gboolean copied = beginning && beginning->copy;
  g_autoptr (TdScan) straight
      = copied ? td_engine_view (plan->engine, beginning->copy, &plan->frame, error) : NULL;
  g_autoptr (TdScan) scan = !copied    ? td_scan_ref (self->scan)
                            : straight ? td_engine_view (plan->engine, straight, &turn, error)
                                       : NULL;

  return scan ? td_cone_spool_open (scan, rows, self->spool) : NULL;
}

/* ── The job ── */

static void
iterative_start_take_slices (guint first, guint count, const float *slices, gpointer user)
{
  TdIterativeBeginning *beginning = user;
  const gsize bytes = count * beginning->slice * sizeof *slices;

  if (beginning->file < 0) {
    td_host_copy (beginning->slices + first * beginning->slice, slices, bytes);
    return;
  }
  const int failed = td_file_write (beginning->file, slices, bytes,
                                    (guint64) first * beginning->slice * sizeof *slices);
  if (failed)
    g_atomic_int_set (&beginning->failed, failed);
}

static gboolean
iterative_start_say (int code, GError **error)
{
  if (code != 0)
    td_set_error (error, TD_ERROR_IO,
                  "The temporary file of the filtered volume in %s failed: %s; set TMPDIR to "
                  "another disk.",
                  g_get_tmp_dir (), g_strerror (code));
  return code == 0;
}

static gboolean
run_filtered (TdJob *job, TdIterativeBeginning *beginning, GCancellable *cancellable,
              GError **error)
{
  const TdPlan *plan = td_job_plan (job);
  g_autoptr (TdPlan) filtered = plan_filtered (
      plan, beginning->copy ? beginning->copy : plan->measured, cancellable, error);

  if (!filtered)
    return FALSE;
  g_autoptr (TdJob) first = td_job_new (filtered);
  td_job_set_sink (first, iterative_start_take_slices, beginning);
  const gboolean ok = td_job_run (first, cancellable, error);
  td_engine_drop_idle (plan->engine); /* its memory is wanted now */
  return ok && iterative_start_say (g_atomic_int_get (&beginning->failed), error);
}

/* Room for the filtered volume. */
static gboolean
iterative_start_make_room (TdIterativeBeginning *beginning, const TdIterativePlan *self,
                           GError **error)
{
  const guint64 bytes = filtered_volume_bytes (self);

  if (self->start_in_file) {
    beginning->file = td_file_temporary (N_ ("The slices of the filtered volume"), bytes, error);
    return beginning->file >= 0;
  }
  beginning->slices = td_host_malloc (bytes, error);
  if (!beginning->slices)
    td_prefix_error (error, "The filtered volume that iterations begin with ({start}): ");
  return beginning->slices != NULL;
}

TdIterativeBeginning *
td_iterative_begin (TdJob *job, GCancellable *cancellable, GError **error)
{
  const TdPlan *plan = td_job_plan (job);
  const TdIterativePlan *self = plan->extra;

  if (self->start == TD_ITERATIVE_ZERO)
    return NULL;
  g_autoptr (TdIterativeBeginning) beginning = g_new0 (TdIterativeBeginning, 1);
  beginning->slice = (gsize) self->task.nx * self->task.ny;
  beginning->file = -1;
  if (self->start == TD_ITERATIVE_FILE)
    return (beginning->volume = td_volume_open (plan->recipe.start, error))
               ? g_steal_pointer (&beginning)
               : NULL;
  if (self->reads_once)
    beginning->copy = td_scan_spool_new (plan->measured, self->copied.first, self->copied.count,
                                         td_scan_facts (plan->measured)->sample_type, TRUE);
  return iterative_start_make_room (beginning, self, error)
                 && run_filtered (job, beginning, cancellable, error)
             ? g_steal_pointer (&beginning)
             : NULL;
}

/* Iterations from what is no number end in what is none, or hide it. */
static gboolean
iterative_start_check_values (const TdIterativeBeginning *beginning, guint first, guint n,
                              GError **error)
{
  for (gsize i = 0; i < n * beginning->slice; i++)
    if (!isfinite (beginning->slices[i]))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "Slice %u of “%s” holds values that are no numbers: iterations cannot go on "
          "from it ({start})",
          first + (guint) (i / beginning->slice), td_volume_facts (beginning->volume)->path);
  return TRUE;
}

static gboolean
iterative_start_read (TdIterativeBeginning *beginning, guint first, guint n, GError **error)
{
  const gsize slice = beginning->slice * sizeof (float);

  if (!beginning->volume)
    return iterative_start_say (
        td_file_read (beginning->file, beginning->slices, n * slice, (guint64) first * slice),
        error);
  return td_volume_read (beginning->volume, first, n, beginning->slices, error)
         && iterative_start_check_values (beginning, first, n, error);
}

const float *
td_iterative_beginning_read (TdIterativeBeginning *beginning, guint first, guint n, GError **error)
{
  if (!beginning->volume && beginning->file < 0)
    return beginning->slices + first * beginning->slice;
  if (beginning->held < n) {
    g_free (beginning->slices);
    beginning->slices = td_host_malloc (n * beginning->slice * sizeof (float), error);
    beginning->held = beginning->slices ? n : 0;
  }
  return beginning->slices && iterative_start_read (beginning, first, n, error) ? beginning->slices
                                                                                : NULL;
}

void
td_iterative_beginning_free (TdIterativeBeginning *beginning)
{
  if (!beginning)
    return;
  g_free (beginning->slices);
  if (beginning->copy) {
    td_scan_spool_drop (beginning->copy); /* the engine may still know it */
    td_scan_unref (beginning->copy);
  }
  td_volume_free (beginning->volume);
  if (beginning->file >= 0)
    close (beginning->file);
  g_free (beginning);
}
