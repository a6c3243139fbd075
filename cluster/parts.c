/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parts.h"

#include <string.h>

#include "compute/recipe/json.h"
#include "dataset/error.h"
#include "dataset/json-walk.h"

#define FORMAT "tomodesk-parts"
#define VERSION 1

struct TdParts {
  char *path, *job, *output, *hash;
  guint n_slices;
  GMutex lock; /* below */
  guint8 *there;
};

/* The hash of all that must be the same. */
static char *
parts_hash (const TdPartsOf *of)
{
  g_autofree char *text = g_strdup_printf ("%u %u %u %s", of->nx, of->ny, of->n_slices, of->recipe);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

TdParts *
td_parts_new (const char *folder, const TdPartsOf *of)
{
  TdParts *parts = g_new0 (TdParts, 1);

  parts->path = g_build_filename (folder, "parts.json", NULL);
  parts->job = g_strdup (of->job);
  parts->output = g_strdup (of->output);
  parts->hash = parts_hash (of);
  parts->n_slices = of->n_slices;
  parts->there = g_new0 (guint8, of->n_slices);
  g_mutex_init (&parts->lock);
  return parts;
}

void
td_parts_free (TdParts *parts)
{
  g_free (parts->path);
  g_free (parts->job);
  g_free (parts->output);
  g_free (parts->hash);
  g_free (parts->there);
  g_mutex_clear (&parts->lock);
  g_free (parts);
}

gboolean
td_parts_has (TdParts *parts, guint first, guint count)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&parts->lock);

  return !memchr (parts->there + first, 0, count);
}

void
td_parts_note (TdParts *parts, guint first, guint count)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&parts->lock);

  if (first < parts->n_slices)
    memset (parts->there + first, 1, MIN (count, parts->n_slices - first));
}

gboolean
td_parts_resume (TdParts *parts)
{
  g_autoptr (JsonNode) root = td_json_load (parts->path, NULL);
  JsonArray *list = td_json_list (root, "done");

  if (!list || g_strcmp0 (td_json_string (root, "format"), FORMAT) != 0
      || td_json_number (root, "version") != VERSION
      || g_strcmp0 (td_json_string (root, "id"), parts->job) != 0
      || g_strcmp0 (td_json_string (root, "output"), parts->output) != 0
      || g_strcmp0 (td_json_string (root, "what"), parts->hash) != 0)
    return FALSE;
  for (guint i = 0; i < json_array_get_length (list); i++) {
    JsonNode *range = json_array_get_element (list, i);
    td_parts_note (parts, td_json_count (range, "first"), td_json_count (range, "count"));
  }
  return TRUE;
}

GArray *
td_parts_list (TdParts *parts, gboolean there)
{
  GArray *ranges = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&parts->lock);

  for (guint i = 0; i < parts->n_slices;) {
    TdGridShare range = { i, 0 };
    while (i < parts->n_slices && !parts->there[i] == !there)
      i++, range.count++;
    if (range.count > 0)
      g_array_append_val (ranges, range);
    while (i < parts->n_slices && !parts->there[i] != !there)
      i++;
  }
  return ranges;
}

gboolean
td_parts_save (TdParts *parts, GError **error)
{
  g_autoptr (GArray) ranges = td_parts_list (parts, TRUE);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (GError) reason = NULL;

  json_builder_begin_object (builder);
  td_json_add_string (builder, "format", FORMAT);
  td_json_add_integer (builder, "version", VERSION);
  td_json_add_string (builder, "id", parts->job);
  td_json_add_string (builder, "output", parts->output);
  td_json_add_string (builder, "what", parts->hash);
  td_json_begin_list (builder, "done");
  for (guint i = 0; i < ranges->len; i++) {
    const TdGridShare *range = &g_array_index (ranges, TdGridShare, i);
    json_builder_begin_object (builder);
    td_json_add_integer (builder, "first", range->first);
    td_json_add_integer (builder, "count", range->count);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  if (td_json_save (builder, parts->path, &reason))
    return TRUE;
  return td_set_error (error, TD_ERROR_IO,
                       "What was computed cannot be noted in the job's folder: %s",
                       reason->message);
}

GArray *
td_parts_share (const GArray *ranges, const double *shares, guint n_shares, guint index)
{
  GArray *mine = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  guint all = 0, at = 0;

  for (guint i = 0; i < ranges->len; i++)
    all += g_array_index (ranges, TdGridShare, i).count;
  const TdGridShare share = td_grid_share (all, 1, shares, n_shares, index);
  for (guint i = 0; i < ranges->len; i++) {
    const TdGridShare *range = &g_array_index (ranges, TdGridShare, i);
    const guint first = MAX (share.first, at);
    const guint end = MIN (share.first + share.count, at + range->count);
    if (first < end)
      g_array_append_vals (mine, &(TdGridShare) { range->first + first - at, end - first }, 1);
    at += range->count;
  }
  return mine;
}

/* ── Handing out ── */

/* Grants a rank has on average, so that the last ones are short. */
#define GRANTS 8
/* A grant is late after so many times the mean of those that are done, and not before LATE_US. */
#define LATE_TIMES 4
#define LATE_US (5 * G_USEC_PER_SEC)

typedef struct {
  TdGridShare share;
  guint rank;
  gint64 since_us;
} Grant;

struct TdHandout {
  GArray *todo; /* TdGridShare, the first next */
  GArray *out;  /* Grant, not done yet */
  guint most;   /* slices of one grant */
  gint64 done_us;
  guint n_done;
};

TdHandout *
td_handout_new (const GArray *missing, guint ranks)
{
  TdHandout *handout = g_new0 (TdHandout, 1);
  guint all = 0;

  handout->todo = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  handout->out = g_array_new (FALSE, FALSE, sizeof (Grant));
  g_array_append_vals (handout->todo, missing->data, missing->len);
  for (guint i = 0; i < missing->len; i++)
    all += g_array_index (missing, TdGridShare, i).count;
  handout->most = MAX (1, all / (GRANTS * ranks));
  return handout;
}

void
td_handout_free (TdHandout *handout)
{
  g_array_unref (handout->todo);
  g_array_unref (handout->out);
  g_free (handout);
}

static void
handout_drop_done (TdHandout *handout, TdParts *parts, gint64 now)
{
  for (guint i = handout->out->len; i-- > 0;) {
    const Grant *grant = &g_array_index (handout->out, Grant, i);
    if (!td_parts_has (parts, grant->share.first, grant->share.count))
      continue;
    handout->done_us += now - grant->since_us;
    handout->n_done++;
    g_array_remove_index (handout->out, i);
  }
}

TdGridShare
td_handout_grant (TdHandout *handout, guint rank, TdParts *parts, gint64 now, gboolean *later,
                  guint *slow)
{
  Grant grant = { .rank = rank, .since_us = now };

  *slow = G_MAXUINT;
  handout_drop_done (handout, parts, now);
  if (handout->todo->len > 0) {
    TdGridShare *next = &g_array_index (handout->todo, TdGridShare, 0);
    grant.share = (TdGridShare) { next->first, MIN (next->count, handout->most) };
    next->first += grant.share.count;
    next->count -= grant.share.count;
    if (next->count == 0)
      g_array_remove_index (handout->todo, 0);
    g_array_append_val (handout->out, grant);
    return grant.share;
  }
  const gint64 late = MAX (LATE_US, LATE_TIMES * handout->done_us / MAX (1, handout->n_done));
  for (guint i = 0; i < handout->out->len; i++) {
    Grant *old = &g_array_index (handout->out, Grant, i);
    if (old->rank == rank || now - old->since_us < late)
      continue;
    *slow = old->rank;
    old->rank = rank;
    old->since_us = now;
    return old->share;
  }
  *later = handout->out->len > 0;
  return grant.share;
}
