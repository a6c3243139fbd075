/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone.h"

/**
 * Cone-beam back-projection families. A projector adds a batch of views to a slab of the volume,
 * unlike the parallel beam's. The engine can thus stream volumes and projections larger than the
 * device (Okitsu et al.). Meanwhile it can filter the next views (iFDK, section 3.1).
 */
typedef struct TdConeProjector TdConeProjector;
typedef struct TdConeFamily TdConeFamily;

/* The most that one call of td_cone_projector_add() gets. */
typedef struct {
  guint max_views, max_rows, max_slices;
  TdPrecision precision;
  double half_scale; /* half storage keeps values times this power of two; 0: 1 */
  gboolean bands;    /* slabs come by bands: there is memory to arrange a batch once for all */
} TdConeLimits;

/* Views added together: float [n_views][rows.count][n_columns], packed, view views[i] at place i.
 */
typedef struct {
  TdBuffer *projections;
  TdRowRange rows; /* of the detector */
  const guint *views;
  guint n_views;
} TdConeBatch;

/* Slices computed together: float [n_slices][ny][nx], the volume's slices from slice0 on. */
typedef struct {
  TdBuffer *volume;
  guint slice0, n_slices;
  /* Rows of voxels that are added to; count 0: all. The bands of a slab come from the first row on,
     each with the same batch. */
  TdRowRange band;
} TdConeSlab;

struct TdConeFamily {
  const char *name; /* "standard", "texture", "arithmetic", "turned", "host" */
  const char *title;
  gboolean bands;    /* it adds to a band of a slab in the time that this takes of the whole */
  guint group;       /* slices that it computes together, from each multiple on; 0: any alone */
  gboolean textures; /* needs texture fetches: auto takes it only where the hardware has them */
  /* NULL if it can do the task, else why not (static string). */
  const char *(*unsupported) (const TdConeTask *task, TdPrecision precision,
                              const TdDeviceInfo *device);
  gsize bytes; /* of a projector, whose first member is TdConeProjector; the rest is 0 */
  /* Builds and allocates what add needs; NULL: nothing. free follows where it fails. */
  gboolean (*create) (TdConeProjector *projector, GError **error);
  /* Enqueues; see td_cone_projector_add(), which has checked the arguments. */
  gboolean (*add) (TdConeProjector *projector, TdQueue *queue, const TdConeBatch *batch,
                   const TdConeSlab *slab, GCancellable *cancellable, GError **error);
  void (*free) (TdConeProjector *projector); /* what create made; NULL: nothing */
  /* Device memory besides the projections and the volume given to add. */
  guint64 (*workspace_bytes) (const TdConeTask *task, const TdConeLimits *limits,
                              const TdDeviceInfo *device);
  /* Views that must come together: 1, 2 (180 degrees apart) or 4 (90 degrees apart). */
  guint (*symmetric_views) (const TdConeTask *task, TdPrecision precision);
  /* Slices that its kernel works on at once, so that fewer cost nearly as much; NULL: a few. */
  guint (*whole_slices) (const TdConeTask *task);
};

struct TdConeProjector {
  const TdConeFamily *family;
  TdDevice *device;
  TdConeTask task;
  TdConeLimits limits;
  guint symmetric_views;
};

extern const TdConeFamily td_cone_family_host;     /* host pointers, vector instructions */
extern const TdConeFamily td_cone_family_standard; /* one voxel a thread, any geometry: RTK's way */
extern const TdConeFamily
    td_cone_family_texture; /* layered textures, voxels along z in registers */
extern const TdConeFamily td_cone_family_arithmetic; /* the same with loads and arithmetic */
extern const TdConeFamily td_cone_family_symmetric; /* views 180 or 90 degrees apart in one texel */
/* symmetric_views of families without symmetry: 1. */
guint td_cone_one_view (const TdConeTask *task, TdPrecision precision);
/* All of them, NULL-terminated, in the order in which auto considers them. */
const TdConeFamily *const *td_cone_families (void);
/* NULL with @error: none is called so. */
const TdConeFamily *td_cone_family (const char *name, GError **error);
/**
 * Relative L2 bound against the double-precision reference, for projections of any spectrum.
 *
 * As place-error.h of the parallel beam derives, a place that is off by e columns, rms, costs sqrt
 * (12) e at the most. An error across multiplies a difference of values that are blended along, and
 * the blending leaves as much of the difference as of the value. So rows add theirs: sqrt (24) e
 * if both are e, for pixels that alternate as on a chess board. White noise has 2.45 e, columns
 * with the ramp filter's noise 3.15 e.
 *
 * Texture units have weights of 8 bits: of both places, rounded, and again of their product, from
 * which the other corners' follow. So e is 2^-9 / sqrt (3), and sqrt (24) e makes 5.5e-3. The
 * product's error, of the same size, has each of the four pixels: twice it, and four times where
 * they are a chess board's. Blending leaves 2/3 of white noise and 1/3 of a chess board. So a chess
 * board has another 12 e, 1.46e-2 in all, to which 60 views by chance add a tenth. White noise has
 * 4.4e-3, filtered noise 6.2e-3. (An H100 gave 1.36e-2, 4.3e-3 and 6.2e-3.) Half storage rounds to
 * 2^-11 at most, and values that alternate cancel where their errors do not: 1e-3.
 *
 * Kernels for devices compute places in single precision. Sums, a reciprocal and a product round
 * ten times by half a unit of the last place. Up to the middle that unit is n 2^-24 at the most, of
 * n columns, and the last sum's is twice that. Over all places e is 0.3 n 2^-23. The host counts
 * places along a line from its middle. It keeps to 1e-5, which iFDK asks for; all have that for
 * their sums. Voxels near the source, where w is small, are not counted.
 */
double td_cone_family_error_bound (const TdConeFamily *family, const TdConeTask *task,
                                   TdPrecision precision, const TdDeviceInfo *device);
/* Whether the family interpolates by a texture unit, with its weights, on the device. */
gboolean td_cone_family_fetches (const TdConeFamily *family, const TdDeviceInfo *device);
/* What an update costs on a graphics card beside one of "turned" in single precision
   (docs/benchmarks.md). On a CPU all cost the same. */
double td_cone_family_cost (const TdConeFamily *family, TdPrecision precision,
                            const TdDeviceInfo *device);
/* Why the family is out of use on the device (transfer full); NULL: it is not. */
typedef char *(*TdConeFamilyDisabled) (const TdConeFamily *family, const TdDeviceInfo *device);
/* @name: NULL or "auto" takes the first family that can do the task. @disabled: NULL: none is. */
const TdConeFamily *td_cone_family_choose (const char *name, const TdConeTask *task,
                                           TdPrecision precision, TdDevice *device,
                                           TdConeFamilyDisabled disabled, GError **error);
TdConeProjector *td_cone_projector_new (const TdConeFamily *family, TdDevice *device,
                                        const TdConeTask *task, const TdConeLimits *limits,
                                        GError **error);
/* Adds the batch to the slab; enqueues. A family with t > 1 symmetric_views wants a multiple of t
   views. Place i + c * n_views / t holds the view of place i turned c times by 360 / t degrees. */
gboolean td_cone_projector_add (TdConeProjector *projector, TdQueue *queue,
                                const TdConeBatch *batch, const TdConeSlab *slab,
                                GCancellable *cancellable, GError **error);
void td_cone_projector_free (TdConeProjector *projector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeProjector, td_cone_projector_free)

/* TRUE if view v + n_views / turns is view v turned by 360 / turns degrees, with the same
   weight. The volume must be centred on the axis. */
gboolean td_cone_symmetric (const TdConeTask *task, guint turns);
