/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ray-store.h"

#include <string.h>
#include <unistd.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "dataset/error.h"
#include "dataset/file-bytes.h"

struct TdRayStore {
  guint n_views, n_columns, n_rows;
  guint chunk_rows, most;
  guint *order; /* the view at each place */
  TdBuffer *subset;
  TdHostScratch *scratch; /* of a view's chunk */
  guint first, n;         /* places that are there */
  int file;
  gint failed; /* atomic: errno */
};

static gsize
ray_store_view_values (const TdRayStore *store)
{
  return (gsize) store->n_columns * store->n_rows;
}

guint64
td_ray_store_bytes (const TdConeTask *task, guint chunk_rows, guint most_views)
{
  return td_rays_projection_bytes (task, most_views)
         + (guint64) td_host_threads () * task->n_columns * chunk_rows * sizeof (float);
}

/* ── Life ── */

TdRayStore *
td_ray_store_new (TdRayProjector *rays, const TdConeTask *task, const guint *order,
                  guint chunk_rows, guint most_views, GError **error)
{
  TdRayStore *store = g_new0 (TdRayStore, 1);

  store->n_views = task->n_views;
  store->n_columns = task->n_columns;
  store->n_rows = task->n_rows;
  store->chunk_rows = chunk_rows;
  store->most = most_views;
  store->order = g_memdup2 (order, task->n_views * sizeof *order);
  store->file = td_file_temporary (N_ ("The projections"),
                                   td_rays_projection_bytes (task, task->n_views), error);
  if (store->file >= 0)
    store->scratch
        = td_host_scratch_new ((gsize) task->n_columns * chunk_rows * sizeof (float), 0, error);
  if (!store->scratch || !(store->subset = td_rays_projections_new (rays, most_views, error))) {
    td_ray_store_free (store);
    return NULL;
  }
  return store;
}

void
td_ray_store_free (TdRayStore *store)
{
  if (!store)
    return;
  td_buffer_free (store->subset);
  td_host_scratch_free (store->scratch);
  if (store->file >= 0)
    close (store->file);
  g_free (store->order);
  g_free (store);
}

guint
td_ray_store_most (const TdRayStore *store)
{
  return store->most;
}

/* ── Pieces ── */

typedef struct {
  TdRayStore *store;
  const float *rows; /* take: [row][view][column]; bring: NULL */
  guint row, n;
  guint first; /* bring: place */
} Piece;

/* A place's chunk at @row, [column][row], to or from the file. */
static void
ray_store_transfer (TdRayStore *store, gboolean take, guint place, guint row, float *values,
                    gsize bytes)
{
  const guint64 at
      = (place * ray_store_view_values (store) + (gsize) row * store->n_columns) * sizeof *values;
  const int failed = take ? td_file_write (store->file, values, bytes, at)
                          : td_file_read (store->file, values, bytes, at);

  if (failed)
    g_atomic_int_set (&store->failed, failed);
}

static void
take_place (guint place, gpointer user)
{
  const Piece *piece = user;
  TdRayStore *store = piece->store;
  const gsize columns = store->n_columns, n = piece->n;
  const TdHostPieces pieces = td_host_scratch_take (store->scratch);
  float *values = pieces.from;

  for (gsize k = 0; k < n; k++) {
    const float *from = piece->rows + (k * store->n_views + store->order[place]) * columns;
    for (gsize column = 0; column < columns; column++)
      values[column * n + k] = from[column];
  }
  ray_store_transfer (store, TRUE, place, piece->row, values, columns * n * sizeof *values);
  td_host_scratch_give (store->scratch, &pieces);
}

static void
bring_place (guint index, gpointer user)
{
  const Piece *piece = user;
  TdRayStore *store = piece->store;
  const gsize columns = store->n_columns;
  float *to = (float *) td_buffer_map (store->subset) + index * ray_store_view_values (store);
  const TdHostPieces pieces = td_host_scratch_take (store->scratch);
  float *values = pieces.from;

  for (guint row = 0; row < store->n_rows; row += store->chunk_rows) {
    const guint n = MIN (store->chunk_rows, store->n_rows - row);
    ray_store_transfer (store, FALSE, piece->first + index, row, values,
                        columns * n * sizeof *values);
    for (gsize column = 0; column < columns; column++)
      memcpy (to + column * store->n_rows + row, values + column * n, n * sizeof *values);
  }
  td_host_scratch_give (store->scratch, &pieces);
}

static gboolean
ray_store_sound (TdRayStore *store, GError **error)
{
  const int failed = g_atomic_int_get (&store->failed);

  if (failed)
    td_set_error (error, TD_ERROR_IO,
                  "The temporary file of projections in %s failed: %s; set TMPDIR to another "
                  "disk.",
                  g_get_tmp_dir (), g_strerror (failed));
  return failed == 0;
}

gboolean
td_ray_store_take (TdRayStore *store, const float *rows, guint row, guint n, GError **error)
{
  Piece piece = { store, rows, row, n, 0 };

  store->n = 0;
  td_parallel_for (store->n_views, take_place, &piece);
  return ray_store_sound (store, error);
}

TdBuffer *
td_ray_store_bring (TdRayStore *store, guint first, guint n, GError **error)
{
  Piece piece = { .store = store, .first = first };

  if (store->n > 0 && store->first == first && store->n >= n)
    return store->subset;
  store->n = 0;
  td_parallel_for (n, bring_place, &piece);
  if (!ray_store_sound (store, error))
    return NULL;
  store->first = first;
  store->n = n;
  return store->subset;
}
