/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine.h"

#include <glib/gstdio.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "dataset/scan-mask.h"
#include "engine-private.h"
#include "found-axes.h"
#include "rates.h"

#define ROWS_BUDGET (256u << 20) /* raw rows kept */
#define IDLE_BUDGET (768u << 20) /* working sets kept, host and device: this or … */
#define IDLE_PART 16             /* … that part of the memory that is free */
#define N_FLATS 2
#define N_SEEN 5

typedef struct {
  TdScan *scan;
  guint row0, n_rows;
  guint64 bytes;
  float *data; /* [row][view][column] */
} Rows;

/* A scan seen through a frame, or with a mask and the state of the mask's file then. */
typedef struct {
  TdScan *scan, *seen;
  TdScanFrame frame;
  char *mask; /* path; NULL: none */
  gint64 size, changed_s, changed_ns;
} Seen;

typedef struct {
  gpointer item;
  guint64 bytes;
  GDestroyNotify free;
} Idle;

struct TdEngine {
  gatomicrefcount references;
  const TdMethod *const *methods;
  GMutex lock;
  GHashTable *devices; /* id -> TdDevice: keeps opened devices open */
  GQueue rows;         /* Rows, newest first */
  GQueue idle;         /* Idle, newest first */
  struct {
    TdScan *scan;
    TdFlats *flats;
  } flats[N_FLATS];  /* newest first */
  Seen seen[N_SEEN]; /* newest first */
  TdRates *rates;
  TdFoundAxes *axes;
};

TdEngine *
td_engine_new (const TdMethod *const *methods)
{
  TdEngine *engine = g_new0 (TdEngine, 1);

  g_atomic_ref_count_init (&engine->references);
  g_mutex_init (&engine->lock);
  engine->devices
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) td_device_unref);
  engine->methods = methods;
  engine->rates = td_rates_new ();
  engine->axes = td_found_axes_new ();
  td_fftw_begin ();
  return engine;
}

TdEngine *
td_engine_ref (TdEngine *engine)
{
  g_atomic_ref_count_inc (&engine->references);
  return engine;
}

void
td_engine_unref (TdEngine *engine)
{
  if (!engine || !g_atomic_ref_count_dec (&engine->references))
    return;
  td_engine_trim (engine);
  g_hash_table_unref (engine->devices);
  td_rates_free (engine->rates);
  td_found_axes_free (engine->axes);
  g_mutex_clear (&engine->lock);
  g_free (engine);
}

const TdMethod *const *
td_engine_methods (const TdEngine *engine)
{
  return engine->methods;
}

/* ── Devices ── */

static TdDevice *
open_device (TdEngine *engine, const char *id, GError **error)
{
  g_mutex_lock (&engine->lock);
  TdDevice *device = g_hash_table_lookup (engine->devices, id);
  if (device)
    td_device_ref (device);
  g_mutex_unlock (&engine->lock);
  if (device)
    return device;

  device = td_device_open (id, error); /* may take a second: not under the lock */
  if (!device)
    return NULL;
  g_mutex_lock (&engine->lock);
  g_hash_table_replace (engine->devices, g_strdup (id), td_device_ref (device));
  g_mutex_unlock (&engine->lock);
  return device;
}

GPtrArray *
td_engine_devices (TdEngine *engine, const char *names, GError **error)
{
  g_autoptr (GPtrArray) devices = g_ptr_array_new_with_free_func ((GDestroyNotify) td_device_unref);
  g_auto (GStrv) ids = g_strsplit (names && *names ? names : "auto", ",", -1);

  for (guint i = 0; ids[i]; i++) {
    TdDevice *device = open_device (engine, g_strstrip (ids[i]), error);
    if (!device)
      return NULL;
    if (g_ptr_array_find (devices, device, NULL))
      td_device_unref (device);
    else
      g_ptr_array_add (devices, device);
  }
  return g_steal_pointer (&devices);
}

TdDevice *
td_engine_account (const TdRecipe *recipe, TdDevice *device)
{
  const guint64 both = recipe->memory_limit_bytes, alone = recipe->device_memory_limit_bytes;
  const gboolean host = td_device_info (device)->host_pointers;

  return td_device_for_job (device, host || alone == 0 ? both
                                    : both == 0        ? alone
                                                       : MIN (both, alone));
}

/* ── Raw rows ── */

static void
rows_free (Rows *rows)
{
  td_scan_unref (rows->scan);
  g_free (rows->data);
  g_free (rows);
}

static gboolean
copy_kept_rows (TdEngine *engine, TdScan *scan, guint row0, guint n_rows, float *out)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize row_floats = (gsize) facts->n_views * facts->n_columns;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  for (GList *link = engine->rows.head; link; link = link->next) {
    Rows *rows = link->data;
    if (rows->scan != scan || row0 < rows->row0 || row0 + n_rows > rows->row0 + rows->n_rows)
      continue;
    td_host_copy (out, rows->data + (row0 - rows->row0) * row_floats,
                  n_rows * row_floats * sizeof *out);
    g_queue_unlink (&engine->rows, link);
    g_queue_push_head_link (&engine->rows, link);
    return TRUE;
  }
  return FALSE;
}

static void
engine_keep_rows (TdEngine *engine, TdScan *scan, guint row0, guint n_rows, const float *data,
                  guint64 bytes)
{
  float *copy = g_try_malloc (bytes);
  guint64 total = 0;

  if (!copy)
    return; /* they are read again */
  memcpy (copy, data, bytes);
  Rows *rows = g_new (Rows, 1);
  *rows = (Rows) { td_scan_ref (scan), row0, n_rows, bytes, copy };
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  g_queue_push_head (&engine->rows, rows);
  for (GList *link = engine->rows.head; link; link = link->next)
    total += ((Rows *) link->data)->bytes;
  while (total > ROWS_BUDGET) {
    Rows *oldest = g_queue_pop_tail (&engine->rows);
    total -= oldest->bytes;
    rows_free (oldest);
  }
}

gboolean
td_engine_read_rows (TdEngine *engine, TdScan *scan, guint row0, guint n_rows, float *out,
                     GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  guint64 bytes = (guint64) n_rows * facts->n_views * facts->n_columns * sizeof (float);

  if (copy_kept_rows (engine, scan, row0, n_rows, out))
    return TRUE;
  if (!td_scan_read_sinograms (
          scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row0, n_rows }, out,
          cancellable, error))
    return FALSE;
  if (bytes <= ROWS_BUDGET / 2)
    engine_keep_rows (engine, scan, row0, n_rows, out, bytes);
  return TRUE;
}

TdFlats *
td_engine_flats (TdEngine *engine, TdScan *scan)
{
  TdFlats *flats = NULL;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  for (guint i = 0; i < N_FLATS && !flats; i++)
    if (engine->flats[i].scan == scan)
      flats = engine->flats[i].flats;
  if (!flats) {
    td_flats_unref (engine->flats[N_FLATS - 1].flats);
    td_scan_unref (engine->flats[N_FLATS - 1].scan);
    memmove (&engine->flats[1], &engine->flats[0], (N_FLATS - 1) * sizeof engine->flats[0]);
    flats = td_flats_new (scan);
    engine->flats[0].scan = td_scan_ref (scan);
    engine->flats[0].flats = flats;
  }
  td_flats_ref (flats);
  return flats;
}

/* ── Scans seen otherwise ── */

static void
seen_clear (Seen *seen)
{
  td_scan_unref (seen->scan);
  td_scan_unref (seen->seen);
  g_free (seen->mask);
  *seen = (Seen) { NULL };
}

/* A plan that is made of another's asks with a scan that has this mask already: it is that one. */
static gboolean
seen_matches (const Seen *kept, const Seen *wanted)
{
  return (kept->scan == wanted->scan || (kept->mask && kept->seen == wanted->scan))
         && g_strcmp0 (kept->mask, wanted->mask) == 0 && kept->size == wanted->size
         && kept->changed_s == wanted->changed_s && kept->changed_ns == wanted->changed_ns
         && td_scan_frame_equal (&kept->frame, &wanted->frame);
}

/* Under the lock, as the next one. What is found becomes the newest. (transfer full) */
static TdScan *
seen_find (TdEngine *engine, const Seen *wanted)
{
  for (guint i = 0; i < N_SEEN && engine->seen[i].scan; i++)
    if (seen_matches (&engine->seen[i], wanted)) {
      const Seen found = engine->seen[i];
      memmove (&engine->seen[1], &engine->seen[0], i * sizeof found);
      engine->seen[0] = found;
      return td_scan_ref (found.seen);
    }
  return NULL;
}

static void
seen_keep (TdEngine *engine, const Seen *seen)
{
  seen_clear (&engine->seen[N_SEEN - 1]);
  memmove (&engine->seen[1], &engine->seen[0], (N_SEEN - 1) * sizeof engine->seen[0]);
  engine->seen[0] = *seen;
  td_scan_ref (seen->scan);
  td_scan_ref (seen->seen);
  engine->seen[0].mask = g_strdup (seen->mask);
}

TdScan *
td_engine_view (TdEngine *engine, TdScan *scan, const TdScanFrame *frame, GError **error)
{
  Seen wanted = { .scan = scan, .frame = *frame };

  if (td_scan_frame_is_plain (frame))
    return td_scan_ref (scan);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  TdScan *seen = seen_find (engine, &wanted);
  if (!seen && (seen = wanted.seen = td_scan_view_new (scan, frame, error)))
    seen_keep (engine, &wanted);
  return seen;
}

TdScan *
td_engine_masked (TdEngine *engine, TdScan *scan, const char *mask, GError **error)
{
  Seen wanted = { .scan = scan, .mask = (char *) mask };
  GStatBuf state;

  if (!mask)
    return td_scan_ref (scan);
  if (g_stat (mask, &state) == 0) {
    wanted.size = state.st_size;
    wanted.changed_s = state.st_mtim.tv_sec;
    wanted.changed_ns = state.st_mtim.tv_nsec;
  }
  g_mutex_lock (&engine->lock);
  TdScan *masked = seen_find (engine, &wanted);
  g_mutex_unlock (&engine->lock);
  if (masked)
    return masked;
  /* Read without the lock. Who else did so meanwhile was first. */
  g_autoptr (TdScan) fresh = td_scan_with_mask (scan, mask, error);
  if (!fresh)
    return NULL;
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  masked = seen_find (engine, &wanted);
  if (masked)
    return masked;
  wanted.seen = fresh;
  seen_keep (engine, &wanted);
  return g_steal_pointer (&fresh);
}

TdScan *
td_engine_measured (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, GError **error)
{
  const TdScanFrame frame = {
    .crop_view = recipe->view_first,
    .crop_views = recipe->view_end - recipe->view_first,
  };
  g_autoptr (TdScan) masked = td_engine_masked (engine, scan, td_recipe_mask (recipe), error);
  TdScanFrame own;

  if (!masked)
    return NULL;
  /* A plan's own measured scan comes back for what the plan asks by the same recipe. */
  if (td_scan_view_base (masked, &own) && own.crop_view == frame.crop_view
      && own.crop_views == frame.crop_views)
    return g_steal_pointer (&masked);
  return td_engine_view (engine, masked, &frame, error);
}

/* ── Idle working sets ── */

gpointer
td_engine_take (TdEngine *engine, GDestroyNotify free,
                gboolean (*matches) (gpointer item, gpointer user), gpointer user)
{
  gpointer item = NULL;

  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  for (GList *link = engine->idle.head; link && !item; link = link->next) {
    Idle *idle = link->data;
    if (idle->free != free || !matches (idle->item, user))
      continue;
    item = idle->item;
    g_free (idle);
    g_queue_delete_link (&engine->idle, link);
    break;
  }
  return item;
}

/* Frees from the old end until at most @budget bytes stay; outside the lock, for it may take a
   while and call back. */
static void
shrink_idle (TdEngine *engine, guint64 budget)
{
  for (;;) {
    guint64 total = 0;
    Idle *oldest = NULL;

    g_mutex_lock (&engine->lock);
    for (GList *link = engine->idle.head; link; link = link->next)
      total += ((Idle *) link->data)->bytes;
    if (total > budget || (budget == 0 && engine->idle.length))
      oldest = g_queue_pop_tail (&engine->idle);
    g_mutex_unlock (&engine->lock);
    if (!oldest)
      return;
    oldest->free (oldest->item);
    g_free (oldest);
  }
}

void
td_engine_give (TdEngine *engine, gpointer item, guint64 bytes, GDestroyNotify free)
{
  Idle *idle = g_new (Idle, 1);

  *idle = (Idle) { item, bytes, free };
  g_mutex_lock (&engine->lock);
  g_queue_push_head (&engine->idle, idle);
  g_mutex_unlock (&engine->lock);
  shrink_idle (engine, MAX (IDLE_BUDGET, td_host_memory_available () / IDLE_PART));
}

void
td_engine_drop_idle (TdEngine *engine)
{
  shrink_idle (engine, 0);
}

void
td_engine_trim (TdEngine *engine)
{
  td_engine_drop_idle (engine);
  td_found_axes_clear (engine->axes);
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&engine->lock);
  while (engine->rows.length)
    rows_free (g_queue_pop_head (&engine->rows));
  for (guint i = 0; i < N_FLATS; i++) {
    td_flats_unref (engine->flats[i].flats);
    td_scan_unref (engine->flats[i].scan);
    engine->flats[i].flats = NULL;
    engine->flats[i].scan = NULL;
  }
  for (guint i = 0; i < N_SEEN; i++)
    seen_clear (&engine->seen[i]);
}

TdFoundAxes *
td_engine_axes (TdEngine *engine)
{
  return engine->axes;
}

/* ── Rates ── */

double
td_engine_rate (TdEngine *engine, const char *key, double work)
{
  return td_rates_get (engine->rates, key, work);
}

void
td_engine_set_rate (TdEngine *engine, const char *key, double work, double seconds)
{
  td_rates_set (engine->rates, key, work, seconds);
}
