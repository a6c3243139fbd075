/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings.h"

#include <string.h>

#include "kernels/params.h"

/* A CPU has enough to do with few rows. Graphics cards, whose slabs are large, want many. */
#define CHUNK_BYTES (128u << 20)
#define LEAST_PART 8  /* of a slab's rows that are a chunk at least */
#define CPU_PIECE 256 /* views that one item adds up where items are few and large */

static guint
rows_in_chunk (guint n_rows, guint64 row_bytes)
{
  return (guint) CLAMP (CHUNK_BYTES / MAX (row_bytes, 1), 1, n_rows);
}

gboolean
td_rings_each (TdSlab *slab, guint64 row_bytes, TdRingsBody body, gconstpointer user,
               GError **error)
{
  return td_rings_each_rows (slab, rows_in_chunk (slab->n_rows, row_bytes), body, user, error);
}

gboolean
td_rings_each_rows (TdSlab *slab, guint most, TdRingsBody body, gconstpointer user, GError **error)
{
  for (guint row = 0; row < slab->n_rows; row += most) {
    TdRings rings = { slab, row, MIN (most, slab->n_rows - row) };
    if (g_cancellable_set_error_if_cancelled (slab->cancellable, error)
        || !body (&rings, user, error))
      return FALSE;
  }
  return TRUE;
}

guint64
td_rings_workspace_bytes (guint n_rows, guint64 row_bytes)
{
  return rows_in_chunk (MAX (n_rows, 1), row_bytes) * row_bytes;
}

gboolean
td_rings_launch (const TdRings *rings, const char *program, const char *kernel, guint64 n_items,
                 const TdArg *args, guint n_args, GError **error)
{
  gboolean cpu = td_device_info (rings->slab->device)->cpu_shaped;

  if (n_items > G_MAXINT32) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "a row of %u views and %u columns is too large for ring removal",
                  rings->slab->n_views, rings->slab->n_columns);
    return FALSE;
  }
  return td_slab_launch (
      rings->slab, program, kernel,
      (guint[]) { cpu ? 1 : (guint) n_items, cpu ? (guint) n_items : 1, rings->n_rows }, args,
      n_args, error);
}

guint
td_rings_lanes (const TdRings *rings)
{
  return td_device_info (rings->slab->device)->cpu_shaped ? TD_CPU_LANES : 1;
}

TdBuffer *
td_rings_buffer (const TdRings *rings, const char *key, guint64 row_floats, GError **error)
{
  return td_slab_buffer (rings->slab, key, rings->n_rows * row_floats * sizeof (float), error);
}

/* ── Tables ── */

TdBuffer *
td_rings_table (TdSlab *slab, const char *key, const double made_for[TD_RINGS_TABLE_KEYS],
                guint64 n_floats, TdRingsFill fill, GError **error)
{
  const gsize key_bytes = TD_RINGS_TABLE_KEYS * sizeof (double);
  const double *held = td_slab_kept (slab, key);
  TdBuffer *buffer = td_slab_buffer (slab, key, n_floats * sizeof (float), error);

  if (!buffer || (held && memcmp (held, made_for, key_bytes) == 0))
    return buffer;
  g_autofree float *table = g_new (float, n_floats);
  fill (table, made_for);
  if (!td_slab_upload (slab, buffer, table, n_floats * sizeof (float), error))
    return NULL;
  td_slab_keep (slab, key, g_memdup2 (made_for, key_bytes), g_free);
  return buffer;
}

/* ── Profiles ── */

guint64
td_rings_profiles_bytes (const TdScanFacts *facts)
{
  guint64 pieces = (facts->n_views + TD_RINGS_LEAST_PIECE - 1) / TD_RINGS_LEAST_PIECE;
  guint64 profiles = 8; /* four of a caller's, two with their order to be sorted */
  return sizeof (float) * ((pieces + profiles) * facts->n_columns + 2);
}

gboolean
td_rings_join_sums (const TdRings *rings, TdBuffer *sums, guint n_pieces, float scale,
                    TdBuffer *profile, GError **error)
{
  guint n_columns = rings->slab->n_columns;

  const TdArg args[] = {
    TD_ARG_BUFFER (sums),    TD_ARG_BUFFER (profile), TD_ARG_VALUE (n_columns),
    TD_ARG_VALUE (n_pieces), TD_ARG_VALUE (scale),
  };
  return td_rings_launch (rings, "rings-columns", "rings_join_sums", n_columns, args,
                          G_N_ELEMENTS (args), error);
}

gboolean
td_rings_roughness (const TdRings *rings, guint window, TdBuffer *profile, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint length = td_device_info (slab->device)->cpu_shaped ? CPU_PIECE : TD_RINGS_LEAST_PIECE;
  guint n_pieces = (slab->n_views + length - 1) / length, lanes = td_rings_lanes (rings);
  TdBuffer *sums
      = td_rings_buffer (rings, "rings sums", (guint64) n_pieces * slab->n_columns, error);

  if (!sums)
    return FALSE;
  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (sums),           TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (window),
    TD_ARG_VALUE (length),        TD_ARG_VALUE (n_pieces),
  };
  return td_rings_launch (rings, "rings-columns", "rings_sum_roughness",
                          (guint64) n_pieces * ((slab->n_columns + lanes - 1) / lanes), args,
                          G_N_ELEMENTS (args), error)
         && td_rings_join_sums (rings, sums, n_pieces, 1, profile, error);
}

static gboolean
make_ratio (const TdRings *rings, TdBuffer *a, TdBuffer *b, double most, TdBuffer *ratio,
            GError **error)
{
  guint n_columns = rings->slab->n_columns;
  const float factor = (float) most;

  const TdArg args[] = {
    TD_ARG_BUFFER (a),        TD_ARG_BUFFER (b),     TD_ARG_BUFFER (ratio),
    TD_ARG_VALUE (n_columns), TD_ARG_VALUE (factor),
  };
  return td_rings_launch (rings, "rings-columns", "rings_ratio", n_columns, args,
                          G_N_ELEMENTS (args), error);
}

static gboolean
rings_mark (const TdRings *rings, TdBuffer *ratio, TdBuffer *sorted, TdRingsTest test,
            TdBuffer *marks, GError **error)
{
  guint n_columns = rings->slab->n_columns;
  const float least = (float) test.snr;
  TdBuffer *thresholds = td_rings_buffer (rings, "rings thresholds", 2, error);

  if (!thresholds)
    return FALSE;
  const TdArg find_args[] = {
    TD_ARG_BUFFER (sorted),
    TD_ARG_BUFFER (thresholds),
    TD_ARG_VALUE (n_columns),
    TD_ARG_VALUE (least),
  };
  const TdArg args[] = {
    TD_ARG_BUFFER (ratio),    TD_ARG_BUFFER (thresholds), TD_ARG_BUFFER (marks),
    TD_ARG_VALUE (n_columns), TD_ARG_VALUE (test.margin),
  };
  return td_rings_launch (rings, "rings-columns", "rings_thresholds", 1, find_args,
                          G_N_ELEMENTS (find_args), error)
         && td_rings_launch (rings, "rings-columns", "rings_mark", n_columns, args,
                             G_N_ELEMENTS (args), error);
}

gboolean
td_rings_detect (const TdRings *rings, TdBuffer *a, TdBuffer *b, TdRingsTest test, TdBuffer *ratio,
                 TdBuffer *marks, GError **error)
{
  guint n_columns = rings->slab->n_columns;
  guint64 bytes = (guint64) rings->n_rows * n_columns * sizeof (float);
  TdRingsLines profile;

  for (guint i = 0; i < 2; i++) {
    const char *const keys[] = { "rings profile 0", "rings profile 1" };
    const char *const orders[] = { "rings profile order 0", "rings profile order 1" };
    profile.lines[i] = td_rings_buffer (rings, keys[i], n_columns, error);
    profile.order[i]
        = profile.lines[i] ? td_rings_buffer (rings, orders[i], n_columns, error) : NULL;
    if (!profile.order[i])
      return FALSE;
  }
  return make_ratio (rings, a, b, test.most, ratio, error)
         && td_copy (rings->slab->queue, profile.lines[0], 0, ratio, 0, bytes, error)
         && td_rings_sort (rings, &profile, n_columns, 1, error)
         && rings_mark (rings, ratio, profile.lines[0], test, marks, error);
}

gboolean
td_rings_bridge (const TdRings *rings, TdBuffer *marks, GError **error)
{
  const TdSlab *slab = rings->slab;
  guint strip = td_slab_strip (slab);
  guint64 strips = (slab->n_columns + strip - 1) / strip;

  const TdArg args[] = {
    TD_ARG_BUFFER (slab->data),   TD_ARG_BUFFER (marks),          TD_ARG_VALUE (rings->first_row),
    TD_ARG_VALUE (slab->n_views), TD_ARG_VALUE (slab->n_columns), TD_ARG_VALUE (strip),
  };
  return td_rings_launch (rings, "rings-columns", "rings_bridge", strips * slab->n_views, args,
                          G_N_ELEMENTS (args), error);
}
