/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/prepare/dose.h"
#include "dataset/sort.h"
#include "job-private.h"
#include "monitor.h"

/* ── Life ── */

TdJob *
td_job_new (TdPlan *plan)
{
  TdJob *job = g_new0 (TdJob, 1);

  g_atomic_ref_count_init (&job->references);
  g_mutex_init (&job->lock);
  job->plan = td_plan_ref (plan);
  job->cancellable = g_cancellable_new ();
  job->writer = td_job_writer_new ();
  job->passes = g_array_new (FALSE, FALSE, sizeof (TdJobPass));
  job->result.output = g_strdup (plan->output);
  job->result.device = g_strjoinv (",", plan->facts.devices);
  job->result.family = g_strdup (plan->facts.family);
  job->result.precision = td_precision_names[plan->facts.precision];
  job->result.centre_px = plan->facts.centre_px;
  return job;
}

TdJob *
td_job_ref (TdJob *job)
{
  g_atomic_ref_count_inc (&job->references);
  return job;
}

void
td_job_unref (TdJob *job)
{
  if (!job || !g_atomic_ref_count_dec (&job->references))
    return;
  g_free (job->result.output);
  g_free (job->result.device);
  g_free (job->result.family);
  td_messages_free (job->result.notes);
  td_messages_free (job->notes);
  g_array_unref (job->passes);
  g_clear_pointer (&job->spans, g_array_unref);
  g_clear_error (&job->failure);
  g_clear_pointer (&job->done_context, g_main_context_unref);
  td_job_writer_free (job->writer);
  g_object_unref (job->cancellable);
  td_plan_unref (job->plan);
  g_mutex_clear (&job->lock);
  g_free (job);
}

void
td_job_set_sink (TdJob *job, TdJobSlices sink, gpointer user)
{
  job->sink = sink;
  job->sink_user = user;
}

void
td_job_share_sink (TdJob *job)
{
  job->sink_shared = TRUE;
}

void
td_job_set_turns (TdJob *job, const TdJobTurns *turns)
{
  job->turns = *turns;
}

void
td_job_set_gathered (TdJob *job, const TdJobGathered *gathered)
{
  job->gathered = *gathered;
}

static void
job_take_slice (guint first, guint count, const float *slices, gpointer user)
{
  TdJob *job = user;

  if (count == 0 || job->slice_there)
    return;
  memcpy (job->slice, slices, (gsize) job->plan->facts.nx * job->plan->facts.ny * sizeof *slices);
  job->slice_there = TRUE;
}

void
td_job_set_slice (TdJob *job, float *slice)
{
  job->slice = slice;
  td_job_set_sink (job, job_take_slice, job);
}

void
td_job_set_sinogram_sink (TdJob *job, TdJobSinogram sink, gpointer user)
{
  job->sinogram_sink = sink;
  job->sinogram_user = user;
}

void
td_job_set_estimate_sink (TdJob *job, TdJobEstimate sink, gpointer user)
{
  job->estimate_sink = sink;
  job->estimate_user = user;
}

gboolean
td_job_wants_sinogram (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  return job->sinogram_sink && !job->ended_us;
}

void
td_job_give_sinogram (TdJob *job, float *sinogram)
{
  g_mutex_lock (&job->lock);
  TdJobSinogram sink = job->ended_us ? NULL : g_steal_pointer (&job->sinogram_sink);
  if (sink) /* under the lock: the job cannot end while it is shown */
    sink (sinogram, job->sinogram_user);
  g_mutex_unlock (&job->lock);
  if (!sink)
    g_free (sinogram);
}

void
td_job_set_overwrite (TdJob *job, gboolean overwrite)
{
  job->overwrite = overwrite;
}

void
td_job_keep_spans (TdJob *job)
{
  job->spans = g_array_new (FALSE, FALSE, sizeof (TdJobSpan));
}

const TdJobSpan *
td_job_spans (TdJob *job, guint *n)
{
  *n = job->spans ? job->spans->len : 0;
  return job->spans ? (const TdJobSpan *) job->spans->data : NULL;
}

TdPlan *
td_job_plan (TdJob *job)
{
  return job->plan;
}

void
td_job_cancel (TdJob *job)
{
  g_cancellable_cancel (job->cancellable);
}

/* ── Progress ── */

/* What a job as long as this took for building does not count. */
#define LONG_US (20 * G_USEC_PER_SEC)

static guint
job_builds (const TdJob *job)
{
  guint builds = 0;

  for (guint i = 0; i < job->plan->devices->len; i++)
    builds += td_device_builds (job->plan->devices->pdata[i]);
  return builds;
}

static gboolean
job_builds_now (const TdJob *job)
{
  for (guint i = 0; i < job->plan->devices->len; i++)
    if (td_device_is_building (job->plan->devices->pdata[i]))
      return TRUE;
  return FALSE;
}

gboolean
td_job_is_warm (TdJob *job)
{
  return job_builds (job) == job->builds || g_get_monotonic_time () - job->started_us > LONG_US;
}

void
td_job_progress (TdJob *job, TdJobProgress *progress)
{
  const TdPlanFacts *facts = &job->plan->facts;
  gint64 now = g_get_monotonic_time ();

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  gint64 end = job->ended_us ? job->ended_us : now;
  progress->state = job->state;
  progress->slices_done = job->slices_done;
  progress->n_slices = facts->n_slices;
  progress->elapsed_s = job->started_us ? (end - job->started_us) * 1e-6 : 0;
  progress->updates_per_s = progress->elapsed_s > 0 ? job->updates / progress->elapsed_s : 0;

  /* Computing counts for nine tenths, delivering for the rest. */
  double computed = facts->updates > 0 ? job->updates / facts->updates : 0;
  double delivered = facts->n_slices ? (double) job->slices_done / facts->n_slices : 0;
  job->fraction = MAX (job->fraction, MIN (0.9 * computed + 0.1 * delivered, 0.999));
  progress->fraction = job->state == TD_JOB_DONE ? 1 : job->fraction;
  /* Building kernels comes before the first update, and only once. */
  const double began
      = job->first_update_us && facts->updates > 0 ? 0.9 * job->first_updates / facts->updates : 1;
  progress->remaining_s = -1;
  if (job->ended_us)
    progress->remaining_s = 0;
  else if (progress->fraction > began + 0.01)
    progress->remaining_s = (double) (now - job->first_update_us) * 1e-6 * (1 - progress->fraction)
                            / (progress->fraction - began);
  else if (job->started_us && facts->estimate_s > 0)
    progress->remaining_s = MAX (facts->estimate_s - progress->elapsed_s, 0);
  progress->stage = !job->first_update_us
                        ? (job_builds_now (job) ? N_ ("building kernels, once") : N_ ("reading"))
                    : computed < 0.9999 ? N_ ("reconstructing")
                                        : N_ ("writing");
  const TdRecipe *recipe = &job->plan->recipe;
  const guint n = progress->pass = job->passes->len;
  progress->n_passes
      = td_method_iterates (recipe->method) ? facts->n_slabs * recipe->iterations : 0;
  progress->residual = n > 0 ? g_array_index (job->passes, TdJobPass, n - 1).residual : NAN;
}

/* What follows is called by the job's threads. One that outlives its cancelled job speaks in vain:
   the result stays as it was at the end. */

void
td_job_add_updates (TdJob *job, double updates)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  job->updates += updates;
  if (!job->first_update_us) {
    job->first_update_us = g_get_monotonic_time ();
    job->first_updates = job->updates;
  }
}

void
td_job_slices_done (TdJob *job, guint count)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  job->slices_done += count;
}

void
td_job_add_stage (TdJob *job, const char *stage, double seconds)
{
  guint i = 0;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  while (i < job->result.n_stages && strcmp (job->result.stages[i].name, stage) != 0)
    i++;
  if (i == job->result.n_stages && !job->ended_us && i < G_N_ELEMENTS (job->result.stages))
    job->result.stages[job->result.n_stages++] = (TdJobStage) { stage, 0 };
  if (i < job->result.n_stages && !job->ended_us)
    job->result.stages[i].seconds += seconds;
}

void
td_job_add_span (TdJob *job, const char *stage, guint device, gint64 start_us, gint64 end_us)
{
  if (!job->spans)
    return;
  const TdJobSpan span
      = { stage, device, (start_us - job->started_us) * 1e-6, (end_us - job->started_us) * 1e-6 };
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  if (!job->ended_us)
    g_array_append_val (job->spans, span);
}

void
td_job_add_counts (TdJob *job, const TdPreparationCounts *counts)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  if (!job->ended_us)
    td_preparation_counts_add (&job->result.counts, counts);
}

void
td_job_add_host_bytes (TdJob *job, gint64 bytes)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  job->host_bytes += bytes;
  if (!job->ended_us)
    job->result.host_peak_bytes
        = MAX (job->result.host_peak_bytes, (guint64) MAX (job->host_bytes, 0));
}

void
td_job_set_family (TdJob *job, const char *name, const char *description)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  if (!job->ended_us) {
    g_free (job->result.family);
    job->result.family = g_strdup (description);
    job->result.kernel = name;
  }
}

void
td_job_set_precision (TdJob *job, TdPrecision precision)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  if (!job->ended_us)
    job->result.precision = td_precision_names[precision];
}

void
td_job_note (TdJob *job, const char *id, ...)
{
  va_list values;

  va_start (values, id);
  TdMessage *note = td_message_new_list (id, values);
  va_end (values);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  td_messages_add (&job->notes, note);
}

void
td_job_note_inexact (TdJob *job, const char *family, double bound)
{
  if (bound <= td_accuracy_limit (job->plan->asked.accuracy))
    return;
  TdMessage *note = td_plan_inexact (job->plan, family, bound);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  td_messages_add (&job->notes, note);
}

TdMessage **
td_job_take_notes (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  return g_steal_pointer (&job->notes);
}

void
td_job_fail (TdJob *job, GError *error)
{
  g_mutex_lock (&job->lock);
  if (!job->failure && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    job->failure = g_steal_pointer (&error);
  g_mutex_unlock (&job->lock);
  g_clear_error (&error);
  g_cancellable_cancel (job->cancellable);
}

/* ── Passes of iterative methods ── */

void
td_job_add_pass (TdJob *job, double residual)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  if (!job->ended_us) {
    const TdJobPass pass = { (g_get_monotonic_time () - job->started_us) * 1e-6, residual };
    g_array_append_val (job->passes, pass);
  }
}

void
td_job_drop_passes (TdJob *job, guint n)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  if (!job->ended_us)
    g_array_set_size (job->passes, job->passes->len - n);
}

const TdJobPass *
td_job_passes (TdJob *job, guint *n)
{
  *n = job->passes->len;
  return (const TdJobPass *) job->passes->data;
}

GArray *
td_job_passes_so_far (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  return g_array_copy (job->passes);
}

void
td_job_keep_momentum (TdJob *job)
{
  job->keep_momentum = TRUE;
}

void
td_job_finish_early (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  job->ends_early = TRUE;
}

gboolean
td_job_ends_early (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  return job->ends_early;
}

/* ── The range of integer output ── */

/* Part of the samples left out at either end, against single hot pixels, and the margin added then.
 */
#define TAIL 0.0002
#define MARGIN 0.1

static void
range_of (float *values, gsize n, double *low, double *high)
{
  const gsize finite = td_keep_finite (values, n);

  *low = 0;
  *high = 1;
  if (finite == 0)
    return;
  gsize tail = (gsize) (TAIL * finite);
  double first = td_float_at_rank (values, finite, tail);
  double last = td_float_at_rank (values, finite, finite - 1 - tail);
  double margin = last > first ? MARGIN * (last - first) : 0.5;
  *low = first - margin;
  *high = last + margin;
}

gboolean
td_job_output_range (TdJob *job, double *low, double *high, GError **error)
{
  TdPlan *plan = job->plan;
  TdRecipe recipe = plan->recipe;
  g_autoptr (TdPlan) preview = NULL;

  *low = recipe.output_low;
  *high = recipe.output_high;
  if (!plan->output || recipe.output_bits == 32 || !recipe.output_range_auto)
    return TRUE;

  recipe.row_first += (recipe.row_end - recipe.row_first) / 2;
  recipe.row_end = recipe.row_first + 1;
  /* Iterations may take as long for one slice as for all. What filtering makes of it is near
     enough, where there are views enough for filtering. */
  if (plan->method->by_name) {
    recipe.method = TD_METHOD_AUTO;
    preview = td_plan_new (plan->engine, plan->measured, &recipe, NULL, job->cancellable, NULL);
    recipe.method = plan->recipe.method;
  }
  if (!preview)
    preview = td_plan_new (plan->engine, plan->measured, &recipe, NULL, job->cancellable, error);
  if (!preview)
    return FALSE;
  const gsize n = (gsize) preview->facts.nx * preview->facts.ny;
  g_autofree float *slice = td_host_malloc (n * sizeof *slice, error);
  g_autoptr (TdJob) one = td_job_new (preview);
  if (!slice)
    return FALSE;
  td_job_set_slice (one, slice);
  if (!td_job_run (one, job->cancellable, error))
    return FALSE;
  range_of (slice, n, low, high);
  td_job_note (job, "The output's range, %.4g to %.4g, was taken from slice %u.", *low, *high,
               td_plan_facts (preview)->first_slice);
  return TRUE;
}

/* ── Running ── */

void
td_job_add_account (TdJob *job, TdDevice *account)
{
  const guint64 peak = td_device_peak_bytes (account);

  g_mutex_lock (&job->lock);
  job->result.device_peak_bytes = MAX (job->result.device_peak_bytes, peak);
  g_mutex_unlock (&job->lock);
  if (td_device_info (account)->kind == TD_DEVICE_CPU)
    td_job_add_host_bytes (job, (gint64) peak);
}

gboolean
td_job_check_volume (const TdPlan *plan, gboolean says, guint64 clamped, GError **error)
{
  const TdPlanFacts *facts = &plan->facts;
  const TdScanFrame *frame = &plan->frame;

  if (!says && frame->crop_columns > 0
      && frame->crop_columns < td_scan_facts (plan->measured)->n_columns)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "Every value of the volume is 0 or no number at all: it is not kept. Of the detector only "
        "columns %u to %u are left ({crop}): the axis of rotation must lie among them. If it does, "
        "look at the projections, their flat fields and the centre of rotation ({centre:PX})",
        frame->crop_column, frame->crop_column + frame->crop_columns - 1);
  if (!says)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "Every value of the volume is 0 or no number at all: it is not kept. Look at the "
        "projections, their flat fields and the centre of rotation ({centre:PX})");
  if (clamped < (guint64) facts->n_slices * facts->ny * facts->nx)
    return TRUE;
  return td_set_error (error, TD_ERROR_UNSUPPORTED,
                       "Every value of the volume is outside the range that was stated, and would "
                       "become one of its ends: it is not kept. State another range, or "
                       "{range=auto}");
}

/* @views: of the scan as it is binned; what is told are numbers of what was measured. */
static char *
job_views_text (const TdJob *job, const TdNumbers *views)
{
  const TdScanFrame *frame = &job->plan->frame;

  return td_numbers_text (views, frame->crop_view, MAX (frame->bin_views, 1));
}

static void
job_note_views (TdJob *job, const TdPreparationCounts *counts)
{
  g_autofree char *lost = job_views_text (job, &counts->lost_views);
  g_autofree char *dark = job_views_text (job, &counts->dark_views);

  if (counts->lost_views.n)
    td_job_note (job,
                 "Views that have no number in whole rows took those of the views nearest in "
                 "angle: %s.",
                 lost);
  if (counts->dark_views.n)
    td_job_note (job,
                 "Views in which hardly anything is above zero, as if the shutter was closed: %s. "
                 "They spoil the slices; {views} leaves views at either end out.",
                 dark);
}

/* Of the samples at the detector's sides. Where photons are few, noise has up to a third of them so
   far above the air's mean. */
#define WORTH_BRIGHT 0.4

/* Of the flats' samples at the top of what a camera counts: fewer are single hot pixels. */
#define WORTH_SATURATED 0.005

/* Of the detector's pixels: fewer are dead without a reason. */
#define WORTH_SIGN 0.002

void
td_job_note_counts (TdJob *job, const TdPreparationCounts *counts, guint64 clamped)
{
  if (counts->bad_values)
    td_job_note (job,
                 "%" PRIu64 " NaN or infinite [sample|samples] took [its|their] neighbour's value.",
                 counts->bad_values);
  job_note_views (job, counts);
  if (counts->bad_pixels)
    td_job_note (job, "%" PRIu64 " bad detector [pixel was|pixels were] replaced in every view.",
                 counts->bad_pixels);
  if (counts->zingers)
    td_job_note (job, "%" PRIu64 " [zinger was|zingers were] removed from the projections.",
                 counts->zingers);
  if (counts->dead_pixels)
    td_job_note (job,
                 "%" PRIu64 " detector [pixel has|pixels have] no usable flat field and took "
                 "[its|their] neighbour's value.",
                 counts->dead_pixels);
  const TdScanFacts *scan = td_scan_facts (job->plan->scan);
  if (scan->sample_type == TD_SAMPLE_INT16
      && counts->dead_pixels > WORTH_SIGN * scan->n_rows * scan->n_columns)
    td_job_note (job, "The samples have a sign: counts above 32767 that were stored so are below "
                      "zero, and their pixels look dead. If the camera counts further, store them "
                      "without a sign.");
  /* Those that flats or a mask show are replaced, and counted above. */
  if (counts->stuck_pixels > counts->dead_pixels + counts->bad_pixels)
    td_job_note (job,
                 "%" PRIu64
                 " detector [pixel has|pixels have] the same value in all views, as [a stuck one "
                 "does|stuck ones do], which makes rings: {prepare=bad-pixels} or a mask "
                 "({bad-pixels:FILE}) gives [it its|them their] neighbours' values.",
                 counts->stuck_pixels);
  if (counts->odd.n_flats)
    td_job_note (
        job,
        "%u of the flats, the first of them flat %u, are nearly dark, as if the beam was "
        "off, and were left out where others were taken with them or they saw no light at all.",
        counts->odd.n_flats, counts->odd.first_flat);
  if (counts->odd.n_bright)
    td_job_note (job,
                 "%u of the flats, the first of them flat %u, are more than four times as bright "
                 "as usual, and were left out where others were taken with them.",
                 counts->odd.n_bright, counts->odd.first_bright);
  if (counts->odd.top_share > WORTH_SATURATED)
    td_job_note (job,
                 "%.3g %% of the flats' samples are %.0f, the most that a camera counts: there it "
                 "was saturated, and attenuations come out too low. Flats of a shorter exposure "
                 "or a weaker beam are needed.",
                 round (1000 * counts->odd.top_share) / 10, counts->odd.top);
  const gboolean has_air = !job->plan->logs_counts; /* at an attenuation of 0 */
  if (has_air && counts->bright_sides > WORTH_BRIGHT * counts->sides)
    td_job_note (job,
                 "The detector's sides are brighter than the open beam by more than a fifth in "
                 "most views: attenuations come out too low, as if the flats were exposed for "
                 "less than the projections. {prepare=dose} brings the air beside the sample to "
                 "the flats'; else give flats of the same exposure and beam ({flats:PATH}).");
  const double even = td_sides_even_level (&counts->levels);
  if (has_air && even > 0)
    td_job_note (job,
                 "Both sides of the detector have the same attenuation of %.2g in all views, and "
                 "from column to column: attenuations come out too high, as if the flats were "
                 "exposed for longer than the projections or something that does not turn stood "
                 "in the beam. {prepare=dose} brings the air beside the sample to the flats'; "
                 "else give flats of the same exposure and beam ({flats:PATH}). Only if the "
                 "sample itself is wide and so even is nothing wrong.",
                 even);
  const double drift = td_sides_drift (&counts->levels);
  if (has_air && drift > 0)
    td_job_note (job,
                 "The air beside the sample moves by an attenuation of %.2g over the views, as if "
                 "the beam drifted away from the flats': {prepare=dose} follows it.",
                 drift);
  if (counts->odd.n_darks)
    td_job_note (job,
                 "%u of the darks, the first of them dark %u, are nearly as bright as flats, as if "
                 "the beam was on, and were left out.",
                 counts->odd.n_darks, counts->odd.first_dark);
  if (counts->dose_high > 0)
    td_job_note (job, "The frames' doses, from %.4g to %.4g of the flats', were divided out.",
                 counts->dose_low, counts->dose_high);
  const TdStep *dose = td_recipe_step (&job->plan->recipe, "dose");
  if (counts->dose_high > 0 && counts->dose_high < 0.9 && !(dose && td_dose_is_of_monitor (dose)))
    td_job_note (job,
                 "No frame's dose comes near the flats': unless the source was weaker than then, "
                 "there is no air where it was looked for; give a region ({prepare=dose=region:…}) "
                 "or leave the step dose out.");
  if (counts->clamped_transmissions)
    td_job_note (
        job,
        "%" PRIu64
        " zero or negative [transmission was|transmissions were] raised before the logarithm.",
        counts->clamped_transmissions);
  if (counts->zingers_angle)
    td_job_note (job, "%" PRIu64 " [zinger was|zingers were] removed over the angle.",
                 counts->zingers_angle);
  if (clamped)
    td_job_note (job,
                 "%" PRIu64
                 " output [sample was|samples were] outside the range and clamped ({range}).",
                 clamped);
}

static void
finish_result (TdJob *job, TdJobState state)
{
  td_job_note_counts (job, &job->result.counts, job->result.clamped_output);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);
  job->ended_us = g_get_monotonic_time ();
  job->result.seconds = (job->ended_us - job->started_us) * 1e-6;
  job->result.updates_per_s = job->result.seconds > 0 ? job->updates / job->result.seconds : 0;
  job->result.notes = g_steal_pointer (&job->notes);
  job->state = state;
}

static void
job_begin (TdJob *job)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&job->lock);

  g_assert (job->state == TD_JOB_WAITING);
  job->state = TD_JOB_RUNNING;
  job->started_us = g_get_monotonic_time ();
  job->builds = job_builds (job);
}

gboolean
td_job_run (TdJob *job, GCancellable *cancellable, GError **error)
{
  const gulong handler = cancellable ? g_cancellable_connect (
                             cancellable, G_CALLBACK (td_monitor_cancel), job->cancellable, NULL)
                                     : 0;
  g_autoptr (GError) reason = NULL;
  double low, high;

  job_begin (job);
  gboolean ok = !g_cancellable_set_error_if_cancelled (job->cancellable, &reason)
                && td_job_output_range (job, &low, &high, &reason)
                && td_job_writer_start (job, low, high, &reason);
  if (ok) {
    ok = job->plan->method->run (job, job->cancellable, &reason);
    for (guint i = 0; i < job->plan->devices->len; i++)
      td_job_add_account (job, job->plan->devices->pdata[i]);
    ok = td_job_writer_end (job, ok, ok ? &reason : NULL) && ok;
  }
  if (ok && job->slice && !job->slice_there) {
    td_set_error (&reason, TD_ERROR_DEVICE_BUG, "The job ended without its slice");
    ok = FALSE;
  }
  if (!ok && job->failure) {
    g_clear_error (&reason);
    reason = g_error_copy (job->failure);
  }
  finish_result (job, ok ? TD_JOB_DONE
                      : g_error_matches (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED)
                          ? TD_JOB_CANCELLED
                          : TD_JOB_FAILED);
  g_cancellable_disconnect (cancellable, handler);
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&reason));
  return ok;
}

typedef struct {
  TdJob *job;
  GError *error;
} Ended;

static gboolean
call_done (gpointer user)
{
  Ended *ended = user;

  ended->job->done (ended->job, ended->error, ended->job->done_user);
  return G_SOURCE_REMOVE;
}

static void
ended_free (gpointer user)
{
  Ended *ended = user;

  g_clear_error (&ended->error);
  td_job_unref (ended->job);
  g_free (ended);
}

static void
post_done (Ended *ended)
{
  /* Not g_main_context_invoke(): it would call from here if the context does not run yet. */
  g_autoptr (GSource) source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, call_done, ended, ended_free);
  g_source_attach (source, ended->job->done_context);
}

static gpointer
job_thread (gpointer user)
{
  Ended *ended = user;

  td_host_enter_background ();
  td_job_run (ended->job, NULL, &ended->error);
  post_done (ended);
  return NULL;
}

void
td_job_start (TdJob *job, TdJobDone done, gpointer user)
{
  Ended *ended = g_new0 (Ended, 1);

  job->done = done;
  job->done_user = user;
  job->done_context = g_main_context_ref_thread_default ();
  ended->job = td_job_ref (job);
  GThread *thread = td_thread_start ("job", job_thread, ended, &ended->error);
  if (thread) {
    g_thread_unref (thread);
    return;
  }
  job_begin (job);
  finish_result (job, TD_JOB_FAILED);
  post_done (ended);
}

const TdJobResult *
td_job_result (TdJob *job)
{
  return &job->result;
}
