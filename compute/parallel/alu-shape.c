/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alu-shape.h"

#include <math.h>
#include <string.h>

/* What a variant may choose, and from what. */
static const struct {
  const char *key;
  gsize offset;
  guint values[9]; /* ends with G_MAXUINT */
} choices[] = {
  { "TD_TILE", G_STRUCT_OFFSET (TdAluShape, tile), { 32, 64, G_MAXUINT } },
  { "TD_THREADS", G_STRUCT_OFFSET (TdAluShape, threads), { 64, 128, 256, 512, 1024, G_MAXUINT } },
  { "TD_BATCH", G_STRUCT_OFFSET (TdAluShape, batch), { 4, 8, 16, 32, 64, G_MAXUINT } },
  { "TD_LANES", G_STRUCT_OFFSET (TdAluShape, lanes), { 8, 16, 32, 64, G_MAXUINT } },
  { "TD_SIDE", G_STRUCT_OFFSET (TdAluShape, side), { 1, 2, G_MAXUINT } },
  { "TD_CACHE", G_STRUCT_OFFSET (TdAluShape, cache), { 0, 1, 2, 3, G_MAXUINT } },
  { "TD_HALF", G_STRUCT_OFFSET (TdAluShape, half), { 0, 1, G_MAXUINT } },
  { "TD_SPLIT", G_STRUCT_OFFSET (TdAluShape, split), { 0, 1, G_MAXUINT } },
  { "TD_COLUMNS", G_STRUCT_OFFSET (TdAluShape, columns), { 0, 1, G_MAXUINT } },
  { "TD_COPY", G_STRUCT_OFFSET (TdAluShape, copy), { 8, 16, G_MAXUINT } },
  { "TD_UNROLL_VIEWS", G_STRUCT_OFFSET (TdAluShape, unroll), { 1, 2, 4, 8, 16, G_MAXUINT } },
  { "TD_RESIDENT", G_STRUCT_OFFSET (TdAluShape, resident), { 1, 2, 3, 4, 5, 6, 8, G_MAXUINT } },
  { "TD_AHEAD", G_STRUCT_OFFSET (TdAluShape, ahead), { 32, 64, 128, 256, G_MAXUINT } },
  { "TD_BUFFERS", G_STRUCT_OFFSET (TdAluShape, buffers), { 1, 2, G_MAXUINT } },
  { "TD_RUN", G_STRUCT_OFFSET (TdAluShape, run), { 0, 4, 8, 16, 32, G_MAXUINT } },
  { "TD_FLOAT_ROUND", G_STRUCT_OFFSET (TdAluShape, float_round), { 0, 1, G_MAXUINT } },
  { "TD_TEXTURE_CELLS",
    G_STRUCT_OFFSET (TdAluShape, texture_cells),
    { 0, 1, 2, 3, 4, 8, G_MAXUINT } },
  { "TD_TEXTURE_SHARE",
    G_STRUCT_OFFSET (TdAluShape, texture_share),
    { 0, 1, 2, 3, 4, 5, G_MAXUINT } },
  { "TD_ALL_SHARE", G_STRUCT_OFFSET (TdAluShape, all_share), { 1, 2, 4, 5, 8, 16, G_MAXUINT } },
};

static gboolean
alu_shape_apply (TdAluShape *shape, const char *key, guint value)
{
  for (guint c = 0; c < G_N_ELEMENTS (choices); c++)
    if (strcmp (choices[c].key, key) == 0)
      for (guint i = 0; choices[c].values[i] != G_MAXUINT; i++)
        if (choices[c].values[i] == value) {
          G_STRUCT_MEMBER (guint, shape, choices[c].offset) = value;
          return TRUE;
        }
  return FALSE;
}

gboolean
td_alu_shape_apply (TdAluShape *shape, const char *const *defines, GError **error)
{
  for (guint i = 0; defines && defines[i]; i++) {
    g_auto (GStrv) pair = g_strsplit (defines[i], "=", 2);
    guint64 value;
    if (!pair[0] || !pair[1] || !g_ascii_string_to_unsigned (pair[1], 10, 0, G_MAXINT, &value, NULL)
        || !alu_shape_apply (shape, pair[0], value))
      return td_set_error (error, TD_ERROR_INVALID,
                           "No back-projection kernel has the variant \"%s\"; tune again",
                           defines[i]);
  }
  return TRUE;
}

/* Squares need neighbours within a column, and the interpolated value. */
static gboolean
squares_fit (const TdBackprojectTask *task, guint samples)
{
  return task->interpolation == TD_INTERPOLATION_LINEAR && samples == 1 && task->step <= 1;
}

/* Measured on an H100; with 48 KiB of local memory other numbers were best. More work-items a row
   spill fewer registers, where four sums leave few. */
static guint
default_lanes (const TdAluShape *shape, const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  gboolean run = task->precision == TD_PRECISION_HALF_RUN;

  if (shape->side == 2 && device->local_memory_bytes <= 1 << 16 && shape->slices < 4)
    return shape->slices == 1 ? 32 : 8;
  if (shape->side == 2)
    return 16;
  if (shape->samples > 1)
    return run || (shape->half && shape->slices == 4) ? 32 : 16;
  return shape->slices == 4 && !shape->half ? 32 : 16;
}

/* Half keeps two slices in a register: never one alone. Enough groups for every multiprocessor to
   hold two matter more than the better ratio of a large tile (measured on an H100:
   docs/benchmarks.md). */
TdAluShape
td_alu_shape_default (const TdBackprojectTask *task, const TdDeviceInfo *device, guint slices,
                      guint samples)
{
  guint64 tiles = ((guint64) task->nx + 63) / 64 * ((task->ny + 63) / 64);
  TdAluShape shape = {
    .slices = slices,
    .tile = 64,
    .threads = 256,
    .lanes = 32,
    .samples = samples,
    .side = 1,
    .cache = 1,
    .unroll = 2,
    .resident = 2,
    .buffers = 2,
    .ahead = 256,
    .float_round = 1,
    .copy = 16,
    .all_share = 1,
    .linear = task->interpolation == TD_INTERPOLATION_LINEAR && samples == 1,
    .half = task->precision != TD_PRECISION_SINGLE,
  };

  shape.side = squares_fit (task, samples) ? 2 : 1;
  shape.lanes = default_lanes (&shape, task, device);
  shape.batch = slices == 2 && shape.side == 2 && !shape.half ? 32 : 16;
  if (task->precision == TD_PRECISION_HALF_RUN) {
    shape.run = 16;
    shape.batch = 32;
    if (shape.linear && slices == 2)
      shape.batch = 16;
    else if (shape.linear) {
      shape.threads = 512;
      shape.resident = 1;
    }
  }
  if (slices == 1 && shape.side == 2) {
    shape.cache = 3;
    shape.unroll = 4;
    if (device->local_memory_bytes <= 1 << 16)
      shape.resident = 3; /* one buffer each: the others calculate while it fills */
  }
  if (samples > 1)
    shape.batch = MAX (8, shape.run);
  if (tiles < 2 * device->compute_units || device->cpu_shaped) {
    shape.tile = 32;
    shape.threads = 128;
    shape.resident = slices == 1 ? 8 : 4;
    shape.batch = MAX (16, shape.run);
    shape.lanes = 16;
  }
  if (device->cpu_shaped)
    shape.unroll = 1; /* there it only makes the build longer, as do large tiles */
  return shape;
}

guint
td_alu_shape_planes (const TdAluShape *shape)
{
  return !shape->linear || shape->cache == 0 ? 1 : shape->cache == 3 ? 4 : 2;
}

/* The views ahead (two or three float4 and an int each), the tile's columns, then the cache. */
guint64
td_alu_shape_local_bytes (const TdAluShape *shape)
{
  guint64 columns = shape->columns ? shape->tile / shape->side * 4 : 0;

  return shape->ahead * (guint64) (shape->hybrid ? 52 : 36)
         + shape->buffers * shape->batch * columns
         + (guint64) shape->buffers * shape->batch * shape->bins * td_alu_shape_planes (shape)
               * shape->slices * (shape->half ? 2 : 4);
}

/* The window holds the tile's diagonal and the bins beyond its last position. The diagonal begins
   up to four bins into the window. One lies below it, and up to three let the window begin at a
   multiple of four. */
static guint
bins_needed (const TdAluShape *shape, double step)
{
  double shadow = (shape->tile - 1) * G_SQRT2 * step * shape->samples + 0.01;
  guint beyond = !shape->linear || shape->cache == 3 ? 2 : shape->side == 2 ? 4 : 2;

  if (shape->linear && shape->cache == 0)
    beyond++;
  return shadow < 1e6 ? ((guint) ceil (shadow) + 3 + beyond + 3) & ~3u : 0;
}

/* One group must fit, and at 48 KiB a little should be left (8 views of 46 KiB were slower there
   than 4). A device that offers a group more than 64 KiB has not much more in all: there as many
   must fit as should be resident. */
static gboolean
alu_shape_fits (const TdAluShape *shape, const TdDeviceInfo *device)
{
  guint64 bytes = td_alu_shape_local_bytes (shape), limit = device->local_memory_bytes;

  return limit > 1 << 16 ? shape->resident * (bytes + 1024) <= limit + 1024
                         : bytes <= (shape->batch > 4 ? limit / 6 * 5 : limit);
}

/* One step towards less local memory, in the order that cost least on an H100 with 48 KiB a
   group (docs/benchmarks.md). There 16 views in one buffer are faster than 8 in two, but 4 in
   two are faster than 8 in one. FALSE: there is none. */
static gboolean
alu_shape_shrink (TdAluShape *shape, const TdDeviceInfo *device)
{
  TdAluShape one_buffer = *shape;

  one_buffer.buffers = 1;
  if (shape->batch > 16)
    shape->batch /= 2;
  else if (shape->buffers > 1
           && (shape->batch == 4 || (shape->batch == 16 && alu_shape_fits (&one_buffer, device))))
    shape->buffers = 1;
  else if (shape->ahead > 64)
    shape->ahead = 64;
  else if (shape->batch > 4)
    shape->batch /= 2;
  else
    return FALSE;
  return TRUE;
}

gboolean
td_alu_shape_has_threads (const TdAluShape *shape)
{
  return shape->threads >= 4 * shape->tile / shape->side
         && !(shape->threads & (shape->threads - 1));
}

gboolean
td_alu_shape_fit (TdAluShape *shape, const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  shape->unit = task->step == 1;
  if (shape->side == 2 && !squares_fit (task, shape->samples))
    shape->side = 1;
  if (shape->cache == 3 && (shape->side != 2 || shape->slices != 1))
    shape->cache = 1;
  if (shape->cache == 2 && (shape->side != 1 || shape->slices > 2 || shape->half || !shape->linear))
    shape->cache = 1;
  if (task->precision == TD_PRECISION_SINGLE)
    shape->half = 0;
  if (shape->slices != 4 || shape->half)
    shape->split = 0;
  shape->run = MIN (shape->run, shape->batch);
  shape->threads = MIN (shape->threads, device->max_group_size);
  while (shape->threads > shape->tile * shape->tile / (shape->side * shape->side))
    shape->threads /= 2;
  if (!td_alu_shape_has_threads (shape))
    return FALSE;
  shape->lanes = MIN (shape->lanes, shape->threads);
  shape->texture_cells = MIN (shape->texture_cells, shape->tile * shape->tile / shape->side
                                                        / shape->side / shape->threads);

  shape->bins = bins_needed (shape, task->step);
  if (!shape->bins)
    return FALSE;
  while (!alu_shape_fits (shape, device) && alu_shape_shrink (shape, device))
    shape->run = MIN (shape->run, shape->batch);
  return td_alu_shape_local_bytes (shape) <= device->local_memory_bytes;
}

char **
td_alu_shape_defines (const TdAluShape *shape)
{
  GPtrArray *defines = g_ptr_array_new ();

  for (guint c = 0; c < G_N_ELEMENTS (choices); c++)
    g_ptr_array_add (defines, g_strdup_printf ("%s=%u", choices[c].key,
                                               G_STRUCT_MEMBER (guint, shape, choices[c].offset)));
  g_autofree char **others = td_defines (
      "TD_SLICES=%u TD_SAMPLES=%u TD_BINS=%u TD_LINEAR=%d TD_UNIT=%d TD_HYBRID=%u TD_REGISTERS=%u",
      shape->slices, shape->samples, shape->bins, shape->linear, shape->unit, shape->hybrid,
      MIN (65536 / (shape->threads * shape->resident), 255u) & ~7u);
  for (guint i = 0; others[i]; i++)
    g_ptr_array_add (defines, others[i]);
  g_ptr_array_add (defines, NULL);
  return (char **) g_ptr_array_free (defines, FALSE);
}

char *
td_alu_shape_describe (const TdAluShape *shape)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text, "%u slice%s at once, tiles of %u² by %u work-items, %u views cached%s",
                   shape->slices, shape->slices == 1 ? "" : "s", shape->tile, shape->threads,
                   shape->batch, shape->buffers > 1 ? " twice" : "");
  if (shape->side == 2)
    g_string_append (text, ", squares of 2 x 2");
  if (shape->half)
    g_string_append (text, ", half storage");
  if (shape->split)
    g_string_append (text, ", vectors split");
  if (shape->columns)
    g_string_append (text, ", columns' places cached");
  if (shape->run)
    g_string_append_printf (text, ", half sums over %u views", shape->run);
  if (shape->texture_cells)
    g_string_append_printf (text, ", %u cells a work-item by texture", shape->texture_cells);
  if (shape->texture_share)
    g_string_append_printf (text, ", %u of %u groups by texture", shape->texture_share,
                            shape->all_share);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
