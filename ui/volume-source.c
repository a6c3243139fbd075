/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-source.h"

#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "dataset/error.h"

/* A longer overview only where it takes no more of the memory that is free than this part. */
#define MEMORY_PART 4
#define LEAST_SIDE 192u
/* A larger volume is surveyed by some of its slices. */
#define SURVEY_BYTES ((guint64) 4 << 30)
/* Planes that are kept with the one that was wanted. */
#define KEPT_X_BYTES ((guint64) 512 << 20)
#define KEPT_Y_BYTES ((guint64) 64 << 20)

typedef struct {
  guint first, count; /* count 0: nothing is kept */
  float *planes;      /* [count][height][width] */
} Kept;

struct TdVolumeSource {
  gatomicrefcount references;
  TdVolume *volume;
  guint side;
  GMutex lock;          /* of what follows */
  Kept kept[2];         /* across x and y */
  TdOverview *overview; /* NULL: not made; immutable once set, as are its voxels */
  TdVoxels *voxels;
};

TdVolumeSource *
td_volume_source_new (TdVolume *volume, guint side)
{
  TdVolumeSource *source = g_new0 (TdVolumeSource, 1);

  g_atomic_ref_count_init (&source->references);
  g_mutex_init (&source->lock);
  source->volume = volume;
  source->side = side;
  return source;
}

TdVolumeSource *
td_volume_source_ref (TdVolumeSource *source)
{
  g_atomic_ref_count_inc (&source->references);
  return source;
}

static void
overview_free (TdOverview *overview)
{
  if (!overview)
    return;
  g_free (overview->values);
  g_free (overview);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdOverview, overview_free)

void
td_volume_source_unref (TdVolumeSource *source)
{
  if (!g_atomic_ref_count_dec (&source->references))
    return;
  td_volume_free (source->volume);
  for (guint i = 0; i < G_N_ELEMENTS (source->kept); i++)
    g_free (source->kept[i].planes);
  overview_free (source->overview);
  g_clear_pointer (&source->voxels, td_voxels_unref);
  g_mutex_clear (&source->lock);
  g_free (source);
}

const TdVolumeFacts *
td_volume_source_facts (const TdVolumeSource *source)
{
  return td_volume_facts (source->volume);
}

/* ── Planes ── */

static float *
volume_source_new_plane (const TdVolumeFacts *facts, gsize n, GError **error)
{
  float *plane = g_try_new (float, n);

  if (!plane)
    td_set_error (error, TD_ERROR_TOO_LARGE, "A plane of “%s” does not fit into memory",
                  facts->path);
  return plane;
}

/* A copy of what is kept; NULL: it is not. */
static float *
volume_source_copy_kept (TdVolumeSource *source, TdVolumeAxis axis, guint at, gsize n)
{
  const Kept *kept = &source->kept[axis];
  float *plane = NULL;

  g_mutex_lock (&source->lock);
  if (at >= kept->first && at - kept->first < kept->count) {
    plane = g_try_new (float, n);
    if (plane)
      memcpy (plane, kept->planes + (at - kept->first) * n, n * sizeof *plane);
  }
  g_mutex_unlock (&source->lock);
  return plane;
}

static void
volume_source_keep (TdVolumeSource *source, const TdCutRange *range, float *planes)
{
  Kept *kept = &source->kept[range->axis];

  g_mutex_lock (&source->lock);
  g_free (kept->planes);
  *kept = (Kept) { range->first, range->count, planes };
  g_mutex_unlock (&source->lock);
}

/* Which planes pass through memory for the one at @at: as many as may be kept. */
static TdCutRange
volume_source_range (TdVolumeAxis axis, guint at, const TdCutSize *size)
{
  const guint64 bytes = (guint64) size->width * size->height * sizeof (float);
  const guint64 most = (axis == TD_AXIS_X ? KEPT_X_BYTES : KEPT_Y_BYTES) / bytes;
  const guint count = (guint) CLAMP (most, 1, size->count);
  const guint first = at < count / 2 ? 0 : MIN (at - count / 2, size->count - count);

  return (TdCutRange) { axis, axis == TD_AXIS_Z ? at : first, axis == TD_AXIS_Z ? 1 : count };
}

TdImage *
td_volume_source_read (TdVolumeSource *source, TdVolumeAxis axis, guint at,
                       TdVolumeProgress progress, gpointer user, GCancellable *cancellable,
                       GError **error)
{
  const TdVolumeFacts *facts = td_volume_source_facts (source);
  const TdCutSize size = td_volume_cut_size (facts, axis);
  const gsize n = (gsize) size.width * size.height;
  float *plane = axis == TD_AXIS_Z ? NULL : volume_source_copy_kept (source, axis, at, n);

  if (plane)
    return td_image_new_take (plane, size.width, size.height);
  const TdCutRange range = volume_source_range (axis, at, &size);
  g_autofree float *planes = volume_source_new_plane (facts, n * range.count, error);
  if (!planes
      || !td_volume_read_cuts (source->volume, &range, planes, progress, user, cancellable, error))
    return NULL;
  if (axis == TD_AXIS_Z)
    return td_image_new_take (g_steal_pointer (&planes), size.width, size.height);
  plane = volume_source_new_plane (facts, n, error);
  if (!plane)
    return NULL;
  memcpy (plane, planes + (at - range.first) * n, n * sizeof *plane);
  volume_source_keep (source, &range, g_steal_pointer (&planes));
  return td_image_new_take (plane, size.width, size.height);
}

TdImage *
td_volume_source_coarse (TdVolumeSource *source, TdVolumeAxis axis, guint at)
{
  const TdOverview *o = td_volume_source_overview (source);
  const TdCutSize size = td_volume_cut_size (td_volume_source_facts (source), axis);

  if (!o || (o->factor == 1 && o->factor_z == 1))
    return NULL;
  const guint width = axis == TD_AXIS_X ? o->ny : o->nx;
  const guint height = axis == TD_AXIS_Z ? o->ny : o->nz;
  const guint i = at / (axis == TD_AXIS_Z ? o->factor_z : o->factor);
  float *pixels = g_new (float, (gsize) width *height);

  for (gsize row = 0; row < height; row++)
    for (gsize column = 0; column < width; column++)
      pixels[row * width + column]
          = o->values[axis == TD_AXIS_X   ? (row * o->ny + column) * o->nx + i
                      : axis == TD_AXIS_Y ? (row * o->ny + i) * o->nx + column
                                          : (i * (gsize) o->ny + row) * o->nx + column];
  return td_image_new_coarse_take (pixels, width, height, size.width, size.height);
}

/* ── The overview ── */

const TdOverview *
td_volume_source_overview (TdVolumeSource *source)
{
  g_mutex_lock (&source->lock);
  const TdOverview *overview = source->overview;
  g_mutex_unlock (&source->lock);
  return overview;
}

TdVoxels *
td_volume_source_voxels (TdVolumeSource *source)
{
  g_mutex_lock (&source->lock);
  TdVoxels *voxels = source->voxels;
  g_mutex_unlock (&source->lock);
  return voxels;
}

static TdVoxels *
overview_voxels (const TdOverview *o)
{
  const guint n[3] = { o->nx, o->ny, o->nz };
  const double size[3]
      = { (double) o->nx * o->factor, (double) o->ny * o->factor, (double) o->nz * o->factor_z };

  return td_voxels_new (o->values, n, size);
}

/* Its values, and the same as voxels. */
static guint
overview_side (guint side)
{
  while (side > LEAST_SIDE
         && 2 * sizeof (float) * (guint64) side * side * side
                > td_host_memory_available () / MEMORY_PART)
    side = MAX (side * 3 / 4, LEAST_SIDE);
  return side;
}

static TdOverview *
overview_new (const TdVolumeFacts *facts, guint side)
{
  TdOverview *o = g_new0 (TdOverview, 1);
  const guint64 bytes = (guint64) facts->nx * facts->ny * facts->n_slices * sizeof (float);

  o->factor = (MAX (facts->nx, facts->ny) + side - 1) / side;
  o->factor_z = (facts->n_slices + side - 1) / side;
  o->nx = (facts->nx + o->factor - 1) / o->factor;
  o->ny = (facts->ny + o->factor - 1) / o->factor;
  o->nz = (facts->n_slices + o->factor_z - 1) / o->factor_z;
  o->sampled = o->factor_z > 1 && bytes > SURVEY_BYTES;
  o->values = g_try_new0 (float, (gsize) o->nx * o->ny * o->nz);
  return o;
}

/* Sums of the finite voxels and how many there are, for one layer of the overview. */
typedef struct {
  double *sums;
  guint *counts;
} Layer;

static void
layer_add (Layer *layer, const TdOverview *o, const TdVolumeFacts *facts, const float *slice)
{
  for (guint y = 0; y < facts->ny; y++)
    for (guint x = 0; x < facts->nx; x++) {
      const float v = slice[(gsize) y * facts->nx + x];
      const gsize at = (gsize) (y / o->factor) * o->nx + x / o->factor;

      if (isfinite (v)) {
        layer->sums[at] += v;
        layer->counts[at]++;
      }
    }
}

/* What holds nothing finite shows as not finite. */
static void
layer_finish (Layer *layer, const TdOverview *o, guint k)
{
  const gsize n = (gsize) o->nx * o->ny;

  for (gsize i = 0; i < n; i++)
    o->values[k * n + i] = layer->counts[i] ? (float) (layer->sums[i] / layer->counts[i]) : NAN;
  memset (layer->sums, 0, n * sizeof *layer->sums);
  memset (layer->counts, 0, n * sizeof *layer->counts);
}

static gboolean
overview_fill (TdOverview *o, TdVolumeSource *source, TdVolumeProgress progress, gpointer user,
               GCancellable *cancellable, GError **error)
{
  const TdVolumeFacts *facts = td_volume_source_facts (source);
  const gsize n = (gsize) facts->nx * facts->ny, small = (gsize) o->nx * o->ny;
  g_autofree float *slice = volume_source_new_plane (facts, n, error);
  g_autofree double *sums = g_new0 (double, small);
  g_autofree guint *counts = g_new0 (guint, small);
  Layer layer = { sums, counts };

  for (guint k = 0; slice && k < o->nz; k++) {
    guint first = k * o->factor_z, end = MIN (first + o->factor_z, facts->n_slices);
    if (o->sampled) {
      first = (first + end) / 2;
      end = first + 1;
    }
    for (TdFrameRange part = { .first = first, .count = 1, .n_rows = facts->ny }; part.first < end;
         part.first++) {
      if (g_cancellable_set_error_if_cancelled (cancellable, error)
          || !td_volume_read_part (source->volume, &part, slice, cancellable, error))
        return FALSE;
      layer_add (&layer, o, facts, slice);
      td_volume_statistics_add (&o->statistics, slice, n);
    }
    layer_finish (&layer, o, k);
    if (progress)
      progress ((k + 1.0) / o->nz, user);
  }
  return slice != NULL;
}

gboolean
td_volume_source_survey (TdVolumeSource *source, TdVolumeProgress progress, gpointer user,
                         GCancellable *cancellable, GError **error)
{
  if (td_volume_source_overview (source))
    return TRUE;
  g_autoptr (TdOverview) made
      = overview_new (td_volume_source_facts (source), overview_side (source->side));
  g_autoptr (TdVoxels) voxels = NULL;
  if (made->values) {
    if (!overview_fill (made, source, progress, user, cancellable, error))
      return FALSE;
    voxels = overview_voxels (made);
  }
  if (!voxels)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "The overview of “%s” does not fit into memory",
                         td_volume_source_facts (source)->path);
  g_mutex_lock (&source->lock);
  if (!source->overview) {
    source->overview = g_steal_pointer (&made);
    source->voxels = g_steal_pointer (&voxels);
  }
  g_mutex_unlock (&source->lock);
  return TRUE;
}
