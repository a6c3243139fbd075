/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "voxels.h"

#include <math.h>
#include <string.h>

#define OPAQUE 0.99f /* what is behind adds nothing that is seen */

TdVoxels *
td_voxels_new (const float *values, const guint n[3], const double size[3])
{
  const gsize count = (gsize) n[0] * n[1] * n[2];
  float low = INFINITY, high = -INFINITY, *parts = g_try_new (float, count);

  if (!parts)
    return NULL;
  TdVoxels *voxels = g_new0 (TdVoxels, 1);
  g_atomic_ref_count_init (&voxels->references);
  voxels->nx = n[0];
  voxels->ny = n[1];
  voxels->nz = n[2];
  memcpy (voxels->size, size, sizeof voxels->size);
  for (gsize i = 0; i < count; i++)
    if (isfinite (values[i])) {
      low = fminf (low, values[i]);
      high = fmaxf (high, values[i]);
    }
  voxels->minimum = low <= high ? low : 0;
  voxels->range = low < high ? (double) high - low : 1;
  voxels->values = parts;
  for (gsize i = 0; i < count; i++)
    voxels->values[i] = isfinite (values[i])
                            ? (float) (((double) values[i] - voxels->minimum) / voxels->range)
                            : 0;
  return voxels;
}

TdVoxels *
td_voxels_ref (TdVoxels *voxels)
{
  g_atomic_ref_count_inc (&voxels->references);
  return voxels;
}

void
td_voxels_unref (TdVoxels *voxels)
{
  if (!g_atomic_ref_count_dec (&voxels->references))
    return;
  g_free (voxels->values);
  g_free (voxels);
}

/* A ray in parts of the box, 0 … 1 along column, row and layer. */
typedef struct {
  double from[3], along[3]; /* from + t along */
} Ray;

static void
voxels_ray (const TdVoxels *voxels, const TdCamera *camera, double width, double height, double x,
            double y, Ray *ray)
{
  static const double sign[3] = { 1, -1, -1 };
  double eye[3], direction[3];

  td_camera_ray (camera, width, height, x, y, eye, direction);
  for (guint i = 0; i < 3; i++) {
    ray->from[i] = 0.5 + sign[i] * eye[i] / voxels->size[i];
    ray->along[i] = sign[i] * direction[i] / voxels->size[i];
  }
}

/* Where the ray enters and leaves the part that is shown; FALSE: it misses it. */
static gboolean
voxels_enter (const Ray *ray, const TdCast *cast, double *from, double *to)
{
  *from = 0;
  *to = INFINITY;
  for (guint i = 0; i < 3; i++) {
    const double a = (cast->clip[i][0] - ray->from[i]) / ray->along[i];
    const double b = (cast->clip[i][1] - ray->from[i]) / ray->along[i];
    if (ray->along[i] == 0) {
      if (ray->from[i] < cast->clip[i][0] || ray->from[i] > cast->clip[i][1])
        return FALSE;
      continue;
    }
    *from = fmax (*from, fmin (a, b));
    *to = fmin (*to, fmax (a, b));
  }
  return *from < *to;
}

/* Linear between the centres of voxels, and constant beyond the outermost. */
static float
voxels_sample (const TdVoxels *voxels, const double at[3])
{
  const guint n[3] = { voxels->nx, voxels->ny, voxels->nz };
  guint i[3], step[3];
  float f[3];

  for (guint k = 0; k < 3; k++) {
    const double p = CLAMP (at[k] * n[k] - 0.5, 0, n[k] - 1.0);
    i[k] = (guint) p;
    f[k] = (float) (p - i[k]);
    step[k] = i[k] + 1 < n[k];
  }
  const gsize row = voxels->nx, layer = row * voxels->ny;
  const float *v = voxels->values + i[2] * layer + i[1] * row + i[0];
  const gsize dx = step[0], dy = step[1] * row, dz = step[2] * layer;
  const float a = v[0] + f[0] * (v[dx] - v[0]), b = v[dy] + f[0] * (v[dy + dx] - v[dy]);
  const float c = v[dz] + f[0] * (v[dz + dx] - v[dz]);
  const float d = v[dz + dy] + f[0] * (v[dz + dy + dx] - v[dz + dy]);
  const float near = a + f[1] * (b - a), far = c + f[1] * (d - c);
  return near + f[2] * (far - near);
}

static void
voxels_put (const guint8 *table, float t, float opacity, float rgba[4])
{
  const guint8 *colour = table + 4 * (guint) (t * 255 + 0.5f);

  for (guint c = 0; c < 3; c++)
    rgba[c] += opacity * colour[c] / 255;
  rgba[3] += opacity;
}

/* The part of the extinction that a value has, of low … high. */
static float
voxels_density (float t, float peak)
{
  return t <= peak ? t / peak : (1 - t) / (1 - peak);
}

static void
voxels_cast_ray (const TdVoxels *voxels, const TdCast *cast, const guint8 *table, const Ray *ray,
                 float rgba[4])
{
  const double low = (cast->low - voxels->minimum) / voxels->range;
  const double gain = voxels->range / fmax (cast->high - cast->low, 1e-30);
  const double longest = fmax (voxels->size[0], fmax (voxels->size[1], voxels->size[2]));
  const float peak = cast->peak > 0 ? (float) cast->peak : 1;
  double from, to, length = 0, cells = 0;
  float most = 0, sum = 0;

  memset (rgba, 0, 4 * sizeof *rgba);
  if (!voxels_enter (ray, cast, &from, &to))
    return;
  const guint n[3] = { voxels->nx, voxels->ny, voxels->nz };
  for (guint i = 0; i < 3; i++) {
    length += pow (ray->along[i] * voxels->size[i], 2);
    cells += pow (ray->along[i] * n[i], 2);
  }
  const guint steps = (guint) CLAMP (ceil ((to - from) * sqrt (cells)), 1, 4096);
  const double pace = (to - from) / steps;
  const float extinction = (float) (cast->opacity * pace * sqrt (length) / longest);
  for (guint s = 0; s < steps && rgba[3] < OPAQUE; s++) {
    double at[3];
    for (guint i = 0; i < 3; i++)
      at[i] = ray->from[i] + (from + (s + 0.5) * pace) * ray->along[i];
    const float v = voxels_sample (voxels, at);
    if (cast->kind == TD_CAST_COMPOSITE) {
      const float t = (float) CLAMP ((v - low) * gain, 0, 1);
      voxels_put (table, t, (1 - rgba[3]) * (1 - expf (-extinction * voxels_density (t, peak))),
                  rgba);
    }
    most = fmaxf (most, v);
    sum += v;
  }
  if (cast->kind == TD_CAST_COMPOSITE)
    return;
  const float v = cast->kind == TD_CAST_MAXIMUM ? most : sum / steps;
  const float t = (float) CLAMP ((v - low) * gain, 0, 1);
  voxels_put (table, t, t, rgba);
}

gboolean
td_voxels_cast (const TdVoxels *voxels, const TdCast *cast, const TdCamera *camera, guint width,
                guint height, GCancellable *cancellable, guint8 *rgba)
{
  const guint8 *table = td_colour_map_table (cast->map);

  for (guint y = 0; y < height; y++) {
    if (g_cancellable_is_cancelled (cancellable))
      return FALSE;
    for (guint x = 0; x < width; x++) {
      float colour[4];
      Ray ray;
      voxels_ray (voxels, camera, width, height, x + 0.5, y + 0.5, &ray);
      voxels_cast_ray (voxels, cast, table, &ray, colour);
      for (guint c = 0; c < 4; c++)
        rgba[4 * ((gsize) y * width + x) + c] = (guint8) (CLAMP (colour[c], 0, 1) * 255 + 0.5f);
    }
  }
  return TRUE;
}
