/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "prepare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/sort.h"
#include "kernels/params.h"
#include "slab.h"

/* Up to this part of a slab's rows may be made without the others (TdStepKind.run_core). */
#define CORE_SHARE 8

typedef struct {
  gpointer data;
  GDestroyNotify free;
} Kept;

struct TdPreparation {
  TdDevice *device;
  TdScan *scan;
  TdFlats *flats;
  TdStep *steps;
  guint n_steps;
  TdViewOrder views;
  guint n_views;
  TdRowRange counted;
  GHashTable *buffers;     /* key -> TdBuffer */
  GHashTable *kernels;     /* "program/kernel" -> TdKernel: asking the device for one may have to
                              wait while another thread's are built */
  GHashTable *kept;        /* key -> Kept */
  TdBuffer *counters;      /* int [TD_COUNTER_COUNT], then TdCounters */
  guint64 *view_raised;    /* of each of the scan's views: samples that the logarithm raised … */
  guint64 *view_logged;    /* … of so many rows, since the counts were asked for */
  TdViewOrder sent_views;  /* what is in the buffer of the views … */
  guint n_sent;            /* … and how many; 0: nothing */
  guint64 counted_samples; /* run since the counters were last read: an int must not overflow */
  TdPreparationCounts counts;
  TdPreparationWatch watch; /* NULL: nobody */
  gpointer watch_user;
};

/* ── Life ── */

static void
kept_free (gpointer data)
{
  Kept *kept = data;

  if (kept->free)
    kept->free (kept->data);
  g_free (kept);
}

gboolean
td_preparation_check_views (TdDevice *device, guint n_views, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);

  return !info->most_groups || n_views <= info->most_groups
         || td_set_error (error, TD_ERROR_TOO_LARGE,
                          "%s takes %u views of a row at most, and there are %u: take a part of "
                          "them ({views}), or another device ({device=host})",
                          info->name, info->most_groups, n_views);
}

TdPreparation *
td_preparation_new (TdDevice *device, TdScan *scan, TdFlats *flats, const TdStep *steps,
                    guint n_steps, GError **error)
{
  g_autoptr (TdPreparation) preparation = g_new0 (TdPreparation, 1);

  preparation->device = td_device_ref (device);
  preparation->scan = td_scan_ref (scan);
  preparation->flats = flats ? td_flats_ref (flats) : td_flats_new (scan);
  preparation->buffers
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) td_buffer_free);
  preparation->kernels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  preparation->kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, kept_free);
  preparation->view_raised = g_new0 (guint64, td_scan_facts (scan)->n_views);
  preparation->view_logged = g_new0 (guint64, td_scan_facts (scan)->n_views);
  preparation->counted = (TdRowRange) { 0, G_MAXUINT };
  td_preparation_set_steps (preparation, steps, n_steps);
  td_preparation_set_views (preparation, td_view_order_from (0), td_scan_facts (scan)->n_views);

  g_autoptr (TdMessage) reason = td_preparation_unsupported (steps, n_steps, td_scan_facts (scan));
  if (reason) {
    td_set_error_message (error, TD_ERROR_INVALID, g_steal_pointer (&reason));
    return NULL;
  }
  return g_steal_pointer (&preparation);
}

void
td_preparation_set_steps (TdPreparation *preparation, const TdStep *steps, guint n_steps)
{
  g_free (preparation->steps);
  preparation->steps = g_memdup2 (steps, n_steps * sizeof *steps);
  preparation->n_steps = n_steps;
}

void
td_preparation_set_views (TdPreparation *preparation, TdViewOrder views, guint count)
{
  preparation->views = views;
  preparation->n_views = count;
}

void
td_preparation_set_counted (TdPreparation *preparation, TdRowRange rows)
{
  preparation->counted = rows;
}

void
td_preparation_set_watch (TdPreparation *preparation, TdPreparationWatch watch, gpointer user)
{
  preparation->watch = watch;
  preparation->watch_user = user;
}

static guint64
prepare_row_bytes (const TdPreparation *preparation)
{
  return (guint64) preparation->n_views * td_scan_facts (preparation->scan)->n_columns
         * sizeof (float);
}

void
td_preparation_free (TdPreparation *preparation)
{
  if (!preparation)
    return;
  td_buffer_free (preparation->counters);
  g_free (preparation->view_raised);
  g_free (preparation->view_logged);
  g_hash_table_unref (preparation->kept);
  g_hash_table_unref (preparation->kernels);
  g_hash_table_unref (preparation->buffers);
  g_free (preparation->steps);
  td_flats_unref (preparation->flats);
  td_scan_unref (preparation->scan);
  td_device_unref (preparation->device);
  g_free (preparation);
}

/* ── What steps may use (slab.h) ── */

TdBuffer *
td_slab_buffer (TdSlab *slab, const char *key, guint64 bytes, GError **error)
{
  TdPreparation *preparation = slab->state;
  TdBuffer *buffer = g_hash_table_lookup (preparation->buffers, key);

  if (buffer && buffer->bytes >= bytes)
    return buffer;
  if (buffer) {
    /* Work that uses the old one may still be on its way. */
    if (!td_queue_finish (slab->queue, error))
      return NULL;
    g_hash_table_remove (preparation->buffers, key);
  }
  buffer = td_buffer_new (slab->device, bytes, error);
  if (buffer)
    g_hash_table_insert (preparation->buffers, g_strdup (key), buffer);
  return buffer;
}

static TdKernel *
slab_kernel (TdSlab *slab, const char *program_name, const char *kernel_name, GError **error)
{
  TdPreparation *preparation = slab->state;
  g_autofree char *key = g_strconcat (program_name, "/", kernel_name, NULL);
  TdKernel *kernel = g_hash_table_lookup (preparation->kernels, key);

  if (kernel)
    return kernel;
  /* The host's are compiled already, with as many lanes. */
  const TdDeviceInfo *info = td_device_info (slab->device);
  const char *const lanes[] = { "TD_LANES=" G_STRINGIFY (TD_CPU_LANES), NULL };
  gboolean fat = info->cpu_shaped && !info->host_pointers;
  kernel = td_device_kernel (slab->device, program_name, fat ? lanes : NULL, kernel_name, error);
  if (kernel)
    g_hash_table_insert (preparation->kernels, g_steal_pointer (&key), kernel);
  return kernel;
}

gpointer
td_slab_kept (TdSlab *slab, const char *key)
{
  TdPreparation *preparation = slab->state;
  Kept *kept = g_hash_table_lookup (preparation->kept, key);

  return kept ? kept->data : NULL;
}

void
td_slab_keep (TdSlab *slab, const char *key, gpointer data, GDestroyNotify free)
{
  TdPreparation *preparation = slab->state;
  Kept *kept = g_new (Kept, 1);

  *kept = (Kept) { data, free };
  g_hash_table_replace (preparation->kept, g_strdup (key), kept);
}

guint
td_slab_group_items (const TdSlab *slab)
{
  const TdDeviceInfo *info = td_device_info (slab->device);

  return info->cpu_shaped ? 1 : MIN (128, info->max_group_size);
}

gboolean
td_slab_mark (TdSlab *slab, const char *part, GError **error)
{
  const TdPreparation *preparation = slab->state;

  if (!preparation->watch)
    return TRUE;
  if (!td_queue_finish (slab->queue, error))
    return FALSE;
  preparation->watch (part, preparation->watch_user);
  return TRUE;
}

gboolean
td_slab_launch (TdSlab *slab, const char *program, const char *kernel, const guint items[3],
                const TdArg *args, guint n_args, GError **error)
{
  TdKernel *built = slab_kernel (slab, program, kernel, error);
  guint width = td_slab_group_items (slab);
  const guint groups[3] = { (items[0] + width - 1) / width, items[1], items[2] };
  const guint local[3] = { width, 1, 1 };

  return built && td_slab_mark (slab, "copies", error)
         && td_launch (slab->queue, built, groups, local, args, n_args, error)
         && td_slab_mark (slab, kernel, error);
}

guint
td_slab_strip (const TdSlab *slab)
{
  return td_device_info (slab->device)->cpu_shaped ? slab->n_columns : 1;
}

guint
td_slab_strips (const TdSlab *slab)
{
  return td_device_info (slab->device)->cpu_shaped ? 1 : slab->n_columns;
}

gboolean
td_slab_upload (TdSlab *slab, TdBuffer *buffer, const void *data, guint64 bytes, GError **error)
{
  return td_upload (slab->queue, buffer, 0, data, bytes, error)
         && td_queue_finish (slab->queue, error);
}

TdBuffer *
td_slab_send (TdSlab *slab, const char *key, const void *data, guint64 bytes, GError **error)
{
  TdBuffer *buffer = td_slab_buffer (slab, key, MAX (bytes, 4), error);

  return buffer && (bytes == 0 || td_slab_upload (slab, buffer, data, bytes, error)) ? buffer
                                                                                     : NULL;
}

typedef struct {
  TdPreparation *preparation;
  TdQueue *queue;
  TdSlab slab;
} OnHost;

static void
on_host_free (gpointer data)
{
  OnHost *host = data;

  td_preparation_free (host->preparation);
  td_queue_free (host->queue);
  g_free (host);
}

TdSlab *
td_slab_on_host (TdSlab *slab, GError **error)
{
  OnHost *host = td_slab_kept (slab, "host");

  if (td_device_info (slab->device)->host_pointers)
    return slab;
  if (host)
    return &host->slab;
  g_autoptr (TdDevice) device = td_device_open ("host", error);
  if (!device)
    return NULL;
  host = g_new0 (OnHost, 1);
  host->preparation = td_preparation_new (device, slab->scan, td_slab_flats (slab), NULL, 0, error);
  host->queue = host->preparation ? td_queue_new (device, error) : NULL;
  if (!host->queue) {
    on_host_free (host);
    return NULL;
  }
  host->slab = *slab;
  host->slab.device = host->preparation->device;
  host->slab.queue = host->queue;
  host->slab.data = NULL;
  host->slab.n_rows = 0;
  host->slab.state = host->preparation;
  td_slab_keep (slab, "host", host, on_host_free);
  return &host->slab;
}

const TdStep *
td_slab_step (TdSlab *slab, const char *name)
{
  const TdPreparation *preparation = slab->state;
  const TdScanFacts *facts = td_scan_facts (slab->scan);

  for (guint i = 0; i < preparation->n_steps; i++)
    if (strcmp (preparation->steps[i].name, name) == 0)
      return td_preparation_skips (&preparation->steps[i], facts) ? NULL : &preparation->steps[i];
  return NULL;
}

TdFlats *
td_slab_flats (TdSlab *slab)
{
  return ((TdPreparation *) slab->state)->flats;
}

TdBuffer *
td_slab_counters (TdSlab *slab)
{
  return ((TdPreparation *) slab->state)->counters;
}

static gsize
prepare_n_counters (const TdScanFacts *facts)
{
  return TD_COUNTER_COUNT + (2 + TD_SIDES_STRIPS) * (gsize) facts->n_views + facts->n_rows;
}

static gsize
prepare_counters_at (const TdScanFacts *facts, TdCounters which)
{
  if (which == TD_COUNTERS_SIDES)
    return TD_COUNTER_COUNT + 2 * (gsize) facts->n_views + facts->n_rows;
  return TD_COUNTER_COUNT + (gsize) which * facts->n_views;
}

int
td_slab_counters_at (TdSlab *slab, TdCounters which)
{
  return (int) prepare_counters_at (td_scan_facts (slab->scan), which);
}

TdBuffer *
td_slab_views (TdSlab *slab, GError **error)
{
  TdPreparation *preparation = slab->state;
  const TdScanFacts *facts = td_scan_facts (slab->scan);
  const guint64 bytes = 2 * sizeof (float) * (guint64) slab->n_views;
  TdBuffer *views = td_slab_buffer (slab, "views", bytes, error);

  if (!views
      || (preparation->n_sent == slab->n_views
          && td_view_order_equal (&preparation->sent_views, &slab->views)))
    return views;
  g_autofree float *table = td_host_malloc (bytes, error);
  if (!table)
    return NULL;
  for (guint i = 0; i < slab->n_views; i++) {
    const guint view = td_view_order_at (&slab->views, i);
    const double turns = facts->angles_rad[view] / (2 * G_PI);
    table[2 * i] = (float) (turns - floor (turns));
    table[2 * i + 1] = (float) view;
  }
  preparation->n_sent = 0;
  if (!td_slab_upload (slab, views, table, bytes, error))
    return NULL;
  preparation->sent_views = slab->views;
  preparation->n_sent = slab->n_views;
  return views;
}

void
td_slab_add_logged (TdSlab *slab, guint sides)
{
  TdPreparation *preparation = slab->state;
  const guint n_views = td_scan_facts (slab->scan)->n_views;
  const guint n_rows = slab->count_end - slab->count0;

  preparation->counts.sides += (guint64) n_rows * slab->n_views * 2 * sides;
  for (guint i = 0; i < slab->n_views; i++) {
    const guint view = td_view_order_at (&slab->views, i);
    preparation->view_logged[view] += n_rows;
    if (sides > 0)
      td_sides_count (&preparation->counts.levels, slab->n_columns, view, n_views, n_rows);
  }
}

gboolean
td_slab_counts_row (const TdSlab *slab, guint row)
{
  return row >= slab->count0 && row < slab->count_end;
}

TdPreparationCounts *
td_slab_counts (TdSlab *slab)
{
  return &((TdPreparation *) slab->state)->counts;
}

/* ── Running ── */

void
td_numbers_add (TdNumbers *numbers, guint number)
{
  const guint kept = MIN (numbers->n, TD_NUMBERS_KEPT);
  guint place = 0;

  while (place < kept && numbers->at[place] < number)
    place++;
  if (place < kept && numbers->at[place] == number)
    return;
  numbers->n = kept + 1;
  for (guint i = MIN (kept, TD_NUMBERS_KEPT - 1); i > place; i--)
    numbers->at[i] = numbers->at[i - 1];
  if (place < TD_NUMBERS_KEPT)
    numbers->at[place] = number;
}

static void
numbers_add_all (TdNumbers *sum, const TdNumbers *numbers)
{
  for (guint i = 0; i < MIN (numbers->n, TD_NUMBERS_KEPT); i++)
    td_numbers_add (sum, numbers->at[i]);
  sum->n = MAX (sum->n, numbers->n);
}

char *
td_numbers_text (const TdNumbers *numbers, guint first, guint scale)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < MIN (numbers->n, TD_NUMBERS_KEPT); i++)
    g_string_append_printf (text, "%s%u", i ? ", " : "", first + scale * numbers->at[i]);
  if (numbers->n > TD_NUMBERS_KEPT)
    g_string_append (text, ", …");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

void
td_preparation_counts_add (TdPreparationCounts *sum, const TdPreparationCounts *counts)
{
  sum->clamped_transmissions += counts->clamped_transmissions;
  sum->sides += counts->sides;
  sum->bright_sides += counts->bright_sides;
  td_sides_add (&sum->levels, &counts->levels);
  sum->bad_values += counts->bad_values;
  sum->dead_pixels += counts->dead_pixels;
  sum->stuck_pixels += counts->stuck_pixels;
  sum->bad_pixels += counts->bad_pixels;
  sum->zingers += counts->zingers;
  sum->zingers_angle += counts->zingers_angle;
  if (counts->dose_high > 0) {
    sum->dose_low = sum->dose_high > 0 ? MIN (sum->dose_low, counts->dose_low) : counts->dose_low;
    sum->dose_high = MAX (sum->dose_high, counts->dose_high);
  }
  if (counts->odd.n_flats + counts->odd.n_darks + counts->odd.n_bright > 0
      || counts->odd.top_share > 0)
    sum->odd = counts->odd;
  numbers_add_all (&sum->lost_rows, &counts->lost_rows);
  numbers_add_all (&sum->lost_views, &counts->lost_views);
  numbers_add_all (&sum->dark_views, &counts->dark_views);
}

void
td_preparation_counts_drop_pixels (TdPreparationCounts *counts)
{
  counts->dead_pixels = counts->stuck_pixels = counts->bad_pixels = 0;
}

gboolean
td_preparation_counts_check (const TdPreparationCounts *counts, GError **error)
{
  if (counts->lost_rows.n == 0)
    return TRUE;
  g_autofree char *rows = td_numbers_text (&counts->lost_rows, 0, 1);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "Rows of the detector, as it is cropped and binned, have no number in any view: "
      "%s. Leave such rows out ({crop}), or let a mask of them take their neighbours' "
      "values ({bad-pixels:FILE})",
      rows);
}

/* All of @row is bad by the scan's own mask, and the step for that has mended it. */
static gboolean
prepare_mends_row (const TdStep *steps, guint n_steps, const TdScanFacts *facts, guint row)
{
  gboolean bad = facts->bad_pixels != NULL;

  for (guint i = 0; i < n_steps && bad; i++)
    if (strcmp (steps[i].name, "bad-pixels") == 0)
      bad = !td_preparation_skips (&steps[i], facts);
  for (guint column = 0; column < facts->n_columns && bad; column++)
    bad = facts->bad_pixels[(gsize) row * facts->n_columns + column] != 0;
  return bad;
}

gboolean
td_preparation_check_rows (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                           const TdRawRows *raw, GError **error)
{
  const gsize n = (gsize) raw->n_views * facts->n_columns;
  TdPreparationCounts counts = { 0 };

  for (guint i = 0; i < raw->n_rows; i++) {
    const float *row = raw->rows + i * n;
    gsize sound = 0;
    while (sound < n && !isfinite (row[sound]))
      sound++;
    if (sound == n && !prepare_mends_row (steps, n_steps, facts, raw->row0 + i))
      td_numbers_add (&counts.lost_rows, raw->row0 + i);
  }
  return td_preparation_counts_check (&counts, error);
}

static void
collect_views_and_rows (TdPreparation *preparation, const int *values)
{
  const TdScanFacts *facts = td_scan_facts (preparation->scan);
  const int *lost = values + prepare_counters_at (facts, TD_COUNTERS_LOST);
  const int *raised = values + prepare_counters_at (facts, TD_COUNTERS_RAISED);
  const int *rows = values + prepare_counters_at (facts, TD_COUNTERS_ROWS);
  const int *sides = values + prepare_counters_at (facts, TD_COUNTERS_SIDES);

  for (guint view = 0; view < facts->n_views; view++) {
    td_sides_sum (&preparation->counts.levels, view, facts->n_views,
                  sides + TD_SIDES_STRIPS * view);
    preparation->view_raised[view] += (guint) raised[view];
    if (lost[view] > 0)
      td_numbers_add (&preparation->counts.lost_views, view);
  }
  for (guint row = 0; row < facts->n_rows; row++)
    if (rows[row] && !prepare_mends_row (preparation->steps, preparation->n_steps, facts, row))
      td_numbers_add (&preparation->counts.lost_rows, row);
}

/* Adds the device's counters to the host's and clears them; blocks. */
static gboolean
collect_counters (TdPreparation *preparation, TdQueue *queue, GError **error)
{
  const gsize bytes = prepare_n_counters (td_scan_facts (preparation->scan)) * sizeof (int);

  if (!preparation->counters)
    return TRUE;
  g_autofree int *values = td_host_malloc (bytes, error);
  if (!values || !td_download (queue, values, preparation->counters, 0, bytes, error)
      || !td_fill_zero (queue, preparation->counters, 0, bytes, error)
      || !td_queue_finish (queue, error))
    return FALSE;
  preparation->counts.bad_values += (guint) values[TD_COUNTER_BAD];
  preparation->counts.clamped_transmissions += (guint) values[TD_COUNTER_CLAMPED];
  preparation->counts.bright_sides += (guint) values[TD_COUNTER_BRIGHT];
  preparation->counts.stuck_pixels += (guint) values[TD_COUNTER_STUCK];
  preparation->counts.zingers += (guint) values[TD_COUNTER_ZINGERS];
  preparation->counts.zingers_angle += (guint) values[TD_COUNTER_ZINGERS_ANGLE];
  collect_views_and_rows (preparation, values);
  preparation->counted_samples = 0;
  return TRUE;
}

/* This much more is raised of a view without the beam than of the median one. Noise about zero is
   raised in half of the samples. */
#define DARK_SHARE 0.3

static void
prepare_name_dark (TdPreparation *preparation)
{
  const TdScanFacts *facts = td_scan_facts (preparation->scan);
  g_autofree double *shares = g_new (double, 2 * (gsize) facts->n_views);
  double *sorted = shares + facts->n_views;
  guint n = 0;

  for (guint view = 0; view < facts->n_views; view++) {
    const double samples = (double) preparation->view_logged[view] * facts->n_columns;
    shares[view] = samples > 0 ? (double) preparation->view_raised[view] / samples : 0;
    if (samples > 0)
      sorted[n++] = shares[view];
  }
  qsort (sorted, n, sizeof *sorted, td_compare_doubles);
  for (guint view = 0; view < facts->n_views && n > 0; view++)
    if (shares[view] > sorted[n / 2] + DARK_SHARE)
      td_numbers_add (&preparation->counts.dark_views, view);
  memset (preparation->view_raised, 0, facts->n_views * sizeof *preparation->view_raised);
  memset (preparation->view_logged, 0, facts->n_views * sizeof *preparation->view_logged);
}

static gboolean
ready_counters (TdPreparation *preparation, TdQueue *queue, guint64 samples, GError **error)
{
  if (!preparation->counters) {
    preparation->counters = td_buffer_new (
        preparation->device, prepare_n_counters (td_scan_facts (preparation->scan)) * sizeof (int),
        error);
    if (!preparation->counters
        || !td_fill_zero (queue, preparation->counters, 0, preparation->counters->bytes, error))
      return FALSE;
  }
  if (preparation->counted_samples + samples > td_portion (G_MAXUINT32)
      && !collect_counters (preparation, queue, error))
    return FALSE;
  preparation->counted_samples += samples;
  return TRUE;
}

/* Views that tell whether a pixel is stuck: where it counts photons it does not count as many in
   all of them by chance. */
#define STUCK_VIEWS 16
#define STUCK_REACH 3

static gboolean
prepare_find_stuck (TdSlab *slab, GError **error)
{
  return slab->n_views < STUCK_VIEWS || slab->count0 == slab->count_end
         || td_slab_launch (slab, "prepare", "prepare_find_stuck",
                            (guint[]) { td_slab_strips (slab), slab->count_end - slab->count0, 1 },
                            TD_ARGS (slab->data, td_slab_counters (slab), STUCK_VIEWS, STUCK_REACH,
                                     slab->n_views, slab->n_columns, td_slab_strip (slab),
                                     TD_COUNTER_STUCK, slab->count0),
                            error);
}

/* NaNs and infinities first, so that no step has to think of them. */
static gboolean
prepare_repair (TdSlab *slab, GError **error)
{
  guint64 bytes = (guint64) slab->n_rows * slab->n_views * sizeof (int);
  TdBuffer *view_bad = td_slab_buffer (slab, "bad samples of each view", bytes, error);

  if (!view_bad || !td_fill_zero (slab->queue, view_bad, 0, bytes, error))
    return FALSE;

  TdBuffer *views = td_slab_views (slab, error);
  if (!views)
    return FALSE;
  return td_slab_launch (slab, "prepare", "prepare_find_bad",
                         (guint[]) { td_slab_strips (slab), slab->n_views, slab->n_rows },
                         TD_ARGS (slab->data, view_bad, td_slab_counters (slab), slab->n_views,
                                  slab->n_columns, td_slab_strip (slab), TD_COUNTER_BAD,
                                  slab->count0, slab->count_end),
                         error)
         && td_slab_launch (slab, "prepare", "prepare_repair_view",
                            (guint[]) { slab->n_views, slab->n_rows, 1 },
                            TD_ARGS (slab->data, view_bad, slab->n_views, slab->n_columns), error)
         && td_slab_launch (
             slab, "prepare", "prepare_repair_lost", (guint[]) { slab->n_views, slab->n_rows, 1 },
             TD_ARGS (slab->data, view_bad, td_slab_counters (slab), views, slab->n_views,
                      slab->n_columns, slab->row0, td_slab_counters_at (slab, TD_COUNTERS_LOST),
                      td_slab_counters_at (slab, TD_COUNTERS_ROWS)),
             error)
         && prepare_find_stuck (slab, error);
}

static TdSlab
slab_of (TdPreparation *preparation, TdQueue *queue, const TdPreparationRows *rows,
         GCancellable *cancellable)
{
  const TdScanFacts *facts = td_scan_facts (preparation->scan);
  const TdRowRange counted = preparation->counted;
  const guint64 counted_end = (guint64) counted.first + counted.count;
  const guint end = rows->row0 + rows->n_rows;
  const guint count0 = CLAMP (counted.first, rows->row0, end) - rows->row0;

  return (TdSlab) {
    .device = preparation->device,
    .queue = queue,
    .data = rows->data,
    .n_rows = rows->n_rows,
    .n_views = preparation->n_views,
    .n_columns = facts->n_columns,
    .row0 = rows->row0,
    .count0 = count0,
    .count_end = MAX (count0, (guint) CLAMP (counted_end, rows->row0, end) - rows->row0),
    .views = preparation->views,
    .scan = preparation->scan,
    .cancellable = cancellable,
    .state = preparation,
  };
}

gboolean
td_preparation_repair (TdPreparation *preparation, TdQueue *queue, TdBuffer *data, guint row0,
                       guint n_rows, GError **error)
{
  TdSlab slab = slab_of (preparation, queue, &(TdPreparationRows) { data, row0, n_rows }, NULL);
  guint64 samples = (guint64) n_rows * slab.n_views * slab.n_columns;

  return ready_counters (preparation, queue, samples, error) && prepare_repair (&slab, error);
}

gboolean
td_preparation_run_step (TdPreparation *preparation, TdQueue *queue, const TdPreparationRows *rows,
                         const TdStep *step, GCancellable *cancellable, GError **error)
{
  TdSlab slab = slab_of (preparation, queue, rows, cancellable);

  if (!preparation->counters && !ready_counters (preparation, queue, 0, error))
    return FALSE;
  if (td_preparation_skips (step, td_scan_facts (preparation->scan))
      || td_prepare_step (step->name, NULL)->run (step, &slab, error))
    return TRUE;
  return td_prefix_error (error, "Preparation step \"%s\": ", step->name);
}

/* Those of @rows that the steps after @index need for the @wanted ones, in their buffer. */
static TdPreparationRows
needed_after (const TdPreparation *preparation, const TdPreparationRows *rows, guint index,
              const TdPreparationRows *wanted)
{
  const TdScanFacts *facts = td_scan_facts (preparation->scan);
  const guint halo = td_preparation_halo (preparation->steps + index + 1,
                                          preparation->n_steps - index - 1, facts);
  const guint row0 = MAX (rows->row0, wanted->row0 > halo ? wanted->row0 - halo : 0);
  const guint64 end
      = MIN ((guint64) wanted->row0 + wanted->n_rows + halo, rows->row0 + rows->n_rows);

  return (TdPreparationRows) { wanted->data, row0, (guint) (end - row0) };
}

/* The needed rows alone, made in a buffer of their own: other work may still be reading @rows. */
static gboolean
run_core (TdPreparation *preparation, TdQueue *queue, TdPreparationRows *rows,
          const TdPreparationRows *needed, const TdStep *step, GCancellable *cancellable,
          GError **error)
{
  TdSlab slab = slab_of (preparation, queue, rows, cancellable);
  const guint64 bytes = needed->n_rows * prepare_row_bytes (preparation);
  TdBuffer *out = td_slab_buffer (&slab, "rows that are wanted", bytes, error);

  if (!out
      || !td_prepare_step (step->name, NULL)
              ->run_core (step, &slab, needed->row0 - rows->row0, needed->n_rows, out, error))
    return td_prefix_error (error, "Preparation step \"%s\": ", step->name);
  *rows = *needed;
  return td_copy (queue, needed->data, 0, out, 0, bytes, error);
}

static gboolean
move_rows (TdPreparation *preparation, TdQueue *queue, TdBuffer *data, TdPreparationRows *rows,
           GError **error)
{
  TdBuffer *from = rows->data;

  rows->data = data;
  return from == data
         || td_copy (queue, data, 0, from, 0, rows->n_rows * prepare_row_bytes (preparation),
                     error);
}

gboolean
td_preparation_run_steps (TdPreparation *preparation, TdQueue *queue, TdPreparationRows *rows,
                          const TdPreparationRows *wanted, TdStepRange steps,
                          GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (preparation->scan);

  for (guint i = steps.from; i < MIN (steps.to, preparation->n_steps); i++) {
    const TdStep *step = &preparation->steps[i];
    const TdPreparationRows needed = needed_after (preparation, rows, i, wanted);
    if (td_preparation_skips (step, facts))
      continue;
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    if (td_prepare_step (step->name, NULL)->run_core
        && needed.n_rows <= rows->n_rows / CORE_SHARE) {
      if (!run_core (preparation, queue, rows, &needed, step, cancellable, error))
        return FALSE;
    } else if (!move_rows (preparation, queue, wanted->data, rows, error)
               || !td_preparation_run_step (preparation, queue, rows, step, cancellable, error)) {
      return FALSE;
    }
  }
  return move_rows (preparation, queue, wanted->data, rows, error);
}

gboolean
td_preparation_run_for (TdPreparation *preparation, TdQueue *queue, TdPreparationRows *rows,
                        guint first, guint count, GCancellable *cancellable, GError **error)
{
  return td_preparation_repair (preparation, queue, rows->data, rows->row0, rows->n_rows, error)
         && td_preparation_run_steps (preparation, queue, rows,
                                      &(TdPreparationRows) { rows->data, first, count },
                                      (TdStepRange) { 0, G_MAXUINT }, cancellable, error);
}

gboolean
td_preparation_run (TdPreparation *preparation, TdQueue *queue, TdBuffer *data, guint row0,
                    guint n_rows, GCancellable *cancellable, GError **error)
{
  TdPreparationRows rows = { data, row0, n_rows };

  return td_preparation_run_for (preparation, queue, &rows, row0, n_rows, cancellable, error);
}

gboolean
td_preparation_counts (TdPreparation *preparation, TdQueue *queue, TdPreparationCounts *counts,
                       GError **error)
{
  if (!collect_counters (preparation, queue, error))
    return FALSE;
  prepare_name_dark (preparation);
  *counts = preparation->counts;
  memset (&preparation->counts, 0, sizeof preparation->counts);
  return TRUE;
}

/* ── What steps ask for, before any of them runs ── */

gboolean
td_preparation_skips (const TdStep *step, const TdScanFacts *facts)
{
  const TdStepKind *kind = td_prepare_step (step->name, NULL);

  if (!kind || !step->enabled)
    return TRUE;
  if (facts->transmission_logged)
    return kind->stage != TD_STEP_ABSORPTION;
  return kind->skips && kind->skips (step, facts);
}

/* The step's kind, if it runs on the scan; else NULL. */
static const TdStepKind *
prepare_running (const TdStep *step, const TdScanFacts *facts)
{
  return td_preparation_skips (step, facts) ? NULL : td_prepare_step (step->name, NULL);
}

TdMessage *
td_preparation_unsupported (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  for (guint i = 0; i < n_steps; i++) {
    g_autoptr (GError) error = NULL;
    const TdStepKind *kind = td_prepare_step (steps[i].name, &error);
    TdMessage *reason = NULL;

    if (!kind)
      return td_error_message (error);
    if (!td_preparation_skips (&steps[i], facts) && kind->unsupported)
      reason = kind->unsupported (&steps[i], facts);
    if (reason)
      return reason;
  }
  return NULL;
}

TdMessage **
td_preparation_falls_short (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  TdMessage **sentences = NULL;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = prepare_running (&steps[i], facts);
    TdMessage *sentence = kind && kind->falls_short ? kind->falls_short (&steps[i], facts) : NULL;

    if (sentence)
      td_messages_add (&sentences, sentence);
  }
  return sentences;
}

guint
td_preparation_halo (const TdStep *steps, guint n_steps, const TdScanFacts *facts)
{
  guint64 halo = 0;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = prepare_running (&steps[i], facts);
    if (kind && kind->halo)
      halo += kind->halo (&steps[i], facts);
  }
  return (guint) MIN (halo, facts->n_rows);
}

guint64
td_preparation_workspace_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                                guint max_rows)
{
  const guint64 row_bytes = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  guint64 bytes = prepare_n_counters (facts) * sizeof (int)
                  + 2 * sizeof (float) * (guint64) facts->n_views
                  + (guint64) max_rows * facts->n_views * sizeof (int);

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = prepare_running (&steps[i], facts);
    if (kind && kind->workspace_bytes)
      bytes += kind->workspace_bytes (&steps[i], facts, max_rows);
    if (kind && kind->run_core)
      bytes += max_rows / CORE_SHARE * row_bytes;
  }
  return bytes;
}

guint64
td_preparation_host_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                           guint max_rows)
{
  guint64 bytes = 0;

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = prepare_running (&steps[i], facts);
    if (kind && kind->host_bytes)
      bytes += kind->host_bytes (&steps[i], facts, max_rows);
  }
  return bytes;
}

gboolean
td_preparation_fetch (TdFlats *flats, const TdStep *steps, guint n_steps, guint row0, guint n_rows,
                      GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (td_flats_scan (flats));

  for (guint i = 0; i < n_steps; i++) {
    const TdStepKind *kind = prepare_running (&steps[i], facts);
    if (kind && kind->fetch && !kind->fetch (&steps[i], flats, row0, n_rows, cancellable, error))
      return FALSE;
  }
  return TRUE;
}
