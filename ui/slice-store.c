/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-store.h"

struct TdSliceStore {
  gatomicrefcount references;
  guint nx, ny, n_slices, factor;
  GMutex lock;
  guint replaced;
  float **slices; /* NULL: not finished */
};

TdSliceStore *
td_slice_store_new (guint nx, guint ny, guint n_slices, gsize budget_bytes)
{
  TdSliceStore *store = g_new0 (TdSliceStore, 1);
  double bytes = (double) nx * ny * n_slices * sizeof (float);

  g_atomic_ref_count_init (&store->references);
  g_mutex_init (&store->lock);
  store->nx = nx;
  store->ny = ny;
  store->n_slices = n_slices;
  store->slices = g_new0 (float *, MAX (n_slices, 1));
  for (store->factor = 1; bytes / ((double) store->factor * store->factor) > (double) budget_bytes
                          && store->factor < MIN (nx, ny);
       store->factor *= 2)
    ;
  return store;
}

TdSliceStore *
td_slice_store_ref (TdSliceStore *store)
{
  g_atomic_ref_count_inc (&store->references);
  return store;
}

void
td_slice_store_unref (TdSliceStore *store)
{
  if (!g_atomic_ref_count_dec (&store->references))
    return;
  for (guint i = 0; i < store->n_slices; i++)
    g_free (store->slices[i]);
  g_free (store->slices);
  g_mutex_clear (&store->lock);
  g_free (store);
}

static float *
slice_store_reduce (const TdSliceStore *store, const float *slice)
{
  guint f = store->factor, nx = store->nx / f, ny = store->ny / f;
  float *out = g_new (float, (gsize) nx *ny);

  for (guint j = 0; j < ny; j++)
    for (guint i = 0; i < nx; i++) {
      float sum = 0;
      for (guint k = 0; k < f; k++)
        for (guint l = 0; l < f; l++)
          sum += slice[(gsize) (j * f + k) * store->nx + i * f + l];
      out[(gsize) j * nx + i] = sum / (float) (f * f);
    }
  return out;
}

void
td_slice_store_put (TdSliceStore *store, guint first, guint count, const float *slices)
{
  gsize n = (gsize) store->nx * store->ny;

  for (guint s = 0; s < count && first + s < store->n_slices; s++) {
    float *kept = slice_store_reduce (store, slices + s * n);
    g_mutex_lock (&store->lock);
    store->replaced += store->slices[first + s] != NULL;
    g_free (store->slices[first + s]);
    store->slices[first + s] = kept;
    g_mutex_unlock (&store->lock);
  }
}

gboolean
td_slice_store_has (TdSliceStore *store, guint slice)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&store->lock);

  return slice < store->n_slices && store->slices[slice];
}

TdImage *
td_slice_store_image (TdSliceStore *store, guint slice)
{
  guint nx = store->nx / store->factor, ny = store->ny / store->factor;

  g_mutex_lock (&store->lock);
  float *copy = slice < store->n_slices && store->slices[slice]
                    ? g_memdup2 (store->slices[slice], (gsize) nx * ny * sizeof (float))
                    : NULL;
  g_mutex_unlock (&store->lock);
  return copy ? td_image_new_coarse_take (copy, nx, ny, store->nx, store->ny) : NULL;
}

guint
td_slice_store_replaced (TdSliceStore *store)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&store->lock);

  return store->replaced;
}

guint
td_slice_store_factor (TdSliceStore *store)
{
  return store->factor;
}

guint
td_slice_store_size (TdSliceStore *store)
{
  return store->n_slices;
}
