/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "families.h"
#include "packed-sinograms.h"
#include "place-error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/**
 * The "texture" family (review, §5): slices side by side in a texel, several pixels a work-item,
 * Z-order within a warp. Tiles of three sizes go beyond the review.
 */
typedef struct {
  TdBackprojector base;
  guint slices;
  guint rows; /* pixels a work-item */
  gboolean large;
  guint resident;
  TdPackedSinograms *packed;
  TdTexture *texture;
  TdKernel *kernel;
} TextureProjector;

enum { GROUP = 256, MAX_CONSTANTS = 4096 /* 64 KiB of constant memory */ };

/* Four halves as two floats, where halves are no texels: the values come through a nearest fetch as
   they are (§5.3). */
static gboolean
family_texture_forgeable (const TdBackprojectTask *task, const TdDeviceInfo *device, guint slices)
{
  return slices == 4 && task->precision == TD_PRECISION_HALF
         && task->interpolation == TD_INTERPOLATION_NEAREST && device->half_storage
         && (device->texels & 1u << TD_TEXEL_RG32F);
}

static gboolean
family_texture_possible (const TdBackprojectTask *task, const TdDeviceInfo *device, guint slices)
{
  gboolean half = task->precision != TD_PRECISION_SINGLE;

  return ((device->texels & 1u << td_texel (slices, half)) && (!half || device->half_storage))
         || family_texture_forgeable (task, device, slices);
}

/* The most slices the device filters at full rate: 64 bits in a texel. */
static guint
family_texture_slices_for (const TdBackprojectTask *task, const TdDeviceInfo *device,
                           guint max_slices)
{
  guint most = task->precision == TD_PRECISION_SINGLE ? 2 : 4;
  guint order[] = { MIN (most, max_slices >= 3 ? 4 : max_slices), 4, 2, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    if (family_texture_possible (task, device, order[i]))
      return order[i];
  return 0;
}

static const char *
family_texture_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device)
{
  if (device->host_pointers)
    return N_ ("it is made for graphics cards");
  if (task->precision == TD_PRECISION_HALF_RUN)
    return N_ ("the texture engine adds nothing in half precision");
  if (!family_texture_slices_for (task, device, 4)
      || (task->interpolation == TD_INTERPOLATION_LINEAR && !device->texture_linear))
    return N_ ("the device has no textures that can do it");
  if (task->n_columns > device->texture_max[0] || task->n_views > device->texture_max[1])
    return N_ ("the sinogram is larger than a texture");
  if (task->n_views > 60000)
    return N_ ("it takes at most 60000 views");
  return NULL;
}

/**
 * Relative L2 error; place-error.h. Half texels round to 2^-11 at most. Between two bins that
 * alternate values cancel, errors do not: sqrt (2) of that.
 */
static double
family_texture_error_bound (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device)
{
  return hypot (td_texture_error (task),
                task->precision == TD_PRECISION_SINGLE ? 0 : G_SQRT2 * 0x1p-11)
         + td_sums_error (task);
}

static TdPackSpec
family_texture_pack_spec (guint slices, gboolean half)
{
  return (TdPackSpec) {
    .slices = slices, .planes = 1, .samples = 1, .batch = 1, .half = half, .scaled = half
  };
}

static gboolean
family_texture_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  TextureProjector *self = (TextureProjector *) projector;

  return td_backproject_same_kernel (task, &projector->task)
         && td_packed_sinograms_update (self->packed, task, error);
}

/* How a slice is cut; see kernels/backproject-texture.cl. */
typedef struct {
  gint32 tiles_x, whole, quartered;
  guint groups;
} Tiling;

/* As many tiles as groups fit the device at once go in quarters, and the last quarter of a tile
   for each multiprocessor in sixteenths. All other tiles go whole. */
static Tiling
family_texture_tile (const TextureProjector *self)
{
  const guint width = !self->large ? 16 : self->rows == 16 ? 64 : 32;
  const guint height = !self->large ? 4 * self->rows : self->rows == 16 ? 64 : 8 * self->rows;
  const guint units = MAX (td_device_info (self->base.device)->compute_units, 1);
  const guint slots = units * self->resident;
  Tiling tiling = { .tiles_x = (self->base.task.nx + width - 1) / width };
  const guint tiles = tiling.tiles_x * ((self->base.task.ny + height - 1) / height);

  tiling.groups = tiles;
  if (self->large) {
    const guint small = MIN (tiles, (units + 3) / 4);
    tiling.whole = tiles > small + slots ? tiles - small - slots : 0;
    tiling.quartered = tiles - small - tiling.whole;
    tiling.groups = tiling.whole + 4 * tiling.quartered + 16 * small;
  }
  return tiling;
}

static gboolean
family_texture_launch (TextureProjector *self, TdQueue *queue, TdPlace slices, guint slice0,
                       guint n_slices, GError **error)
{
  const guint local[3] = { GROUP, 1, 1 };
  Tiling tiling = family_texture_tile (self);
  const guint groups[3] = { tiling.groups, 1, 1 };
  const TdPackedBuffers *packed = td_packed_sinograms_buffers (self->packed);

  return td_backprojector_mark (&self->base, queue, error)
         && td_launch (queue, self->kernel, groups, local,
                       TD_ARGS (self->texture, packed->views, packed->constants,
                                td_packed_sinograms_params (self->packed, n_slices), slice0,
                                packed->greatest, slices.buffer, slices.offset / sizeof (float),
                                tiling.tiles_x, tiling.whole, tiling.quartered),
                       error)
         && td_backprojector_mark (&self->base, queue, error);
}

static gboolean
family_texture_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                    guint n_slices, GError **error)
{
  TextureProjector *self = (TextureProjector *) projector;

  if (!td_packed_sinograms_measure (self->packed, queue, sinograms, n_slices, error))
    return FALSE;
  for (guint s = 0; s < n_slices; s += self->slices)
    if (!td_packed_sinograms_pack (self->packed, queue, sinograms, s, n_slices, error)
        || !td_texture_write (queue, self->texture, 1,
                              td_packed_sinograms_buffers (self->packed)->rows, 0, error)
        || !family_texture_launch (self, queue, slices, s, n_slices, error))
      return FALSE;
  return TRUE;
}

static void
family_texture_free_projector (TdBackprojector *projector)
{
  TextureProjector *self = (TextureProjector *) projector;

  td_texture_free (self->texture);
  td_packed_sinograms_free (self->packed);
  g_free (self);
}

static const TdBackprojectorOps texture_ops = {
  .update = family_texture_update,
  .run = family_texture_run,
  .free = family_texture_free_projector,
};

/* The choices a variant may make, with their defaults. */
static const struct {
  const char *key;
  const char *values[6];
} choices[] = {
  { "TD_LARGE", { "1", "0" } },
  { "TD_ROWS", { "8", "4", "16" } },
  { "TD_LOCAL_VIEWS", { "1", "0" } },
  { "TD_AHEAD", { "1024", "256", "512" } },
  { "TD_SHUFFLE", { "1", "0" } },
  { "TD_UNROLL_VIEWS", { "4", "1", "2", "8" } },
  { "TD_RESIDENT", { "2", "3", "4", "6", "8" } },
};

/* NULL: not among the values. */
static const char *
family_texture_choose (guint choice, const char *const *defines)
{
  for (guint d = 0; defines && defines[d]; d++) {
    gsize length = strlen (choices[choice].key);
    if (!g_str_has_prefix (defines[d], choices[choice].key) || defines[d][length] != '=')
      continue;
    for (guint v = 0; choices[choice].values[v]; v++)
      if (strcmp (choices[choice].values[v], defines[d] + length + 1) == 0)
        return choices[choice].values[v];
    return NULL;
  }
  return choices[choice].values[0];
}

static GPtrArray *
make_defines (TextureProjector *self, const TdBackprojectTask *task, const TdDeviceInfo *info,
              const char *const *chosen, gboolean forged, GError **error)
{
  g_autoptr (GPtrArray) defines = g_ptr_array_new_with_free_func (g_free);

  for (guint c = 0; c < G_N_ELEMENTS (choices); c++) {
    const char *value = family_texture_choose (c, chosen);
    if (!value)
      return td_set_error_null (error, TD_ERROR_INVALID,
                                "The texture kernels have no such %s; tune again", choices[c].key);
    if (strcmp (choices[c].key, "TD_UNROLL_VIEWS") == 0 && self->slices == 4 && !chosen)
      value = "1"; /* eight sums of four slices leave few registers */
    if (strcmp (choices[c].key, "TD_ROWS") == 0 && info->cpu_shaped)
      value = "4"; /* images are code there, and a lot of it */
    if (strcmp (choices[c].key, "TD_UNROLL_VIEWS") == 0 && info->cpu_shaped)
      value = "1"; /* there it only makes the build longer */
    if (strcmp (choices[c].key, "TD_SHUFFLE") == 0 && !info->shuffle)
      value = "0";
    if (strcmp (choices[c].key, "TD_LOCAL_VIEWS") == 0 && task->n_views > MAX_CONSTANTS)
      value = "1";
    if (strcmp (choices[c].key, "TD_LARGE") == 0)
      self->large = atoi (value);
    if (strcmp (choices[c].key, "TD_ROWS") == 0)
      self->rows = atoi (value);
    if (strcmp (choices[c].key, "TD_RESIDENT") == 0) {
      self->resident = atoi (value);
      g_ptr_array_add (defines,
                       g_strdup_printf ("TD_REGISTERS=%d", 65536 / (GROUP * atoi (value)) & ~7));
    }
    g_ptr_array_add (defines, g_strdup_printf ("%s=%s", choices[c].key, value));
  }
  g_autofree char **others
      = td_defines ("TD_SLICES=%u TD_LINEAR=%d TD_HALF=%d TD_FORGED=%d TD_RUN=0", self->slices,
                    task->interpolation == TD_INTERPOLATION_LINEAR,
                    task->precision != TD_PRECISION_SINGLE, forged);
  for (guint i = 0; others[i]; i++)
    g_ptr_array_add (defines, others[i]);
  g_ptr_array_add (defines, NULL);
  return g_steal_pointer (&defines);
}

static gboolean
family_texture_build (TextureProjector *self, TdDevice *device, const TdBackprojectTask *task,
                      const char *const *chosen, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  gboolean half = task->precision != TD_PRECISION_SINGLE;
  gboolean forged = !(info->texels & 1u << td_texel (self->slices, half));
  TdPackSpec spec = family_texture_pack_spec (self->slices, half);
  TdTextureSpec texture = {
    .texel = forged ? TD_TEXEL_RG32F : td_texel (self->slices, half),
    .width = task->n_columns,
    .height = task->n_views,
    .linear = task->interpolation == TD_INTERPOLATION_LINEAR,
  };
  g_autoptr (GPtrArray) defines = make_defines (self, task, info, chosen, forged, error);

  return defines
         && (self->kernel = td_device_kernel (device, "backproject-texture",
                                              (const char *const *) defines->pdata,
                                              "td_backproject_texture", error))
         && (self->packed = td_packed_sinograms_new (device, task, &spec, error))
         && (self->texture = td_texture_new (device, &texture, error));
}

static TdBackprojector *
family_texture_create (const TdBackprojectFamily *family, TdDevice *device,
                       const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                       guint max_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  guint slices = variant && variant->slices ? variant->slices
                                            : family_texture_slices_for (task, info, max_slices);

  if (!family_texture_possible (task, info, slices))
    return td_set_error_null (
        error, TD_ERROR_UNSUPPORTED,
        "%s has no textures of %u slices side by side in this precision; choose another variant",
        info->id, slices);
  TextureProjector *self = td_backprojector_alloc (sizeof *self, &texture_ops, device, task);
  self->slices = slices;
  if (!family_texture_build (self, device, task,
                             variant ? (const char *const *) variant->defines : NULL, error)) {
    td_backprojector_free (&self->base);
    return NULL;
  }
  self->base.description = g_strdup_printf ("%u slice%s in a texel, %u pixels a work-item%s",
                                            slices, slices == 1 ? "" : "s", self->rows,
                                            self->large ? ", large tiles first" : "");
  return &self->base;
}

static GPtrArray *
family_texture_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                           const TdDeviceInfo *device)
{
  static const char *const all[] = {
    NULL,
    "TD_LARGE=0 TD_ROWS=4 TD_RESIDENT=4",
    "TD_ROWS=4 TD_RESIDENT=3",
    "TD_AHEAD=256",
    "TD_LOCAL_VIEWS=0",
    "TD_SHUFFLE=0",
    "TD_ROWS=4 TD_RESIDENT=6 TD_UNROLL_VIEWS=2",
    "TD_UNROLL_VIEWS=1",
    "TD_ROWS=16 TD_UNROLL_VIEWS=1",
  };
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = 1; slices <= 4; slices *= 2)
    if (family_texture_possible (task, device, slices))
      for (guint i = 0; i < G_N_ELEMENTS (all); i++)
        g_ptr_array_add (list, td_backproject_variant_new ("texture", slices, all[i]));
  return list;
}

static guint64
family_texture_workspace_bytes (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                                const TdDeviceInfo *device, guint max_slices)
{
  TdPackSpec spec = family_texture_pack_spec (family_texture_slices_for (task, device, max_slices),
                                              task->precision != TD_PRECISION_SINGLE);
  return 2 * td_packed_sinograms_bytes (task, &spec);
}

const TdBackprojectFamily td_family_texture = {
  .name = "texture",
  .title = "Texture: slices side by side in a texel",
  .error_bound = family_texture_error_bound,
  .unsupported = family_texture_unsupported,
  .create = family_texture_create,
  .candidates = family_texture_candidates,
  .card_rank = 50,
  .workspace_bytes = family_texture_workspace_bytes,
};
