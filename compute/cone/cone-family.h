/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone.h"

/**
 * Cone-beam back-projection families. Unlike the parallel beam's, a projector adds a batch of views
 * to a slab of the volume, so that volumes and projection sets larger than the device can be
 * streamed (Okitsu et al.) and the first stage can still be filtering the next views (iFDK,
 * section 3.1).
 */
typedef struct TdConeProjector TdConeProjector;
typedef struct TdConeFamily TdConeFamily;

typedef struct {
  guint max_views, max_rows, max_slices; /* of one call of add */
  TdPrecision precision;
} TdConeLimits;

struct TdConeFamily {
  const char *name; /* "standard", "texture", "arithmetic", "turned", "host" */
  const char *title;
  gboolean
      textures; /* lives on texture fetches: auto leaves it to devices that have them in hardware */
  /* NULL if it can do the task, else why not (static string). */
  const char *(*unsupported) (const TdConeTask *task, TdPrecision precision,
                              const TdDeviceInfo *device);
  gboolean (*create) (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                      const TdConeLimits *limits, TdConeProjector **out, GError **error);
  /* Enqueues. projections: float [n_views][n_rows][n_columns], packed: view views[i] at place i,
     detector rows from row0 on. Families with turned_views t > 1 want n_views a multiple of t, and
     at place i + c * n_views / t the view of place i turned c times by 360 / t degrees. volume:
     float [n_slices][ny][nx] for slices from slice0 on, added to. */
  gboolean (*add) (TdConeProjector *projector, TdQueue *queue, TdBuffer *projections, guint row0,
                   guint n_rows, const guint *views, guint n_views, TdBuffer *volume, guint slice0,
                   guint n_slices, GCancellable *cancellable, GError **error);
  void (*free) (TdConeProjector *projector);
  /* Device memory besides the projections and the volume given to add. */
  guint64 (*workspace_bytes) (const TdConeTask *task, const TdConeLimits *limits,
                              const TdDeviceInfo *device);
  /* Views that must come together: 1, 2 (180 degrees apart) or 4 (90 degrees apart). */
  guint (*turned_views) (const TdConeTask *task, TdPrecision precision);
};

struct TdConeProjector {
  const TdConeFamily *family;
  TdDevice *device;
};

const TdConeFamily *const *
td_cone_families (void); /* NULL-terminated, in the order auto considers */
const TdConeFamily *td_cone_family_choose (const char *name, const TdConeTask *task,
                                           TdPrecision precision, TdDevice *device, GError **error);
TdConeProjector *td_cone_projector_new (const TdConeFamily *family, TdDevice *device,
                                        const TdConeTask *task, const TdConeLimits *limits,
                                        GError **error);
gboolean td_cone_projector_add (TdConeProjector *projector, TdQueue *queue, TdBuffer *projections,
                                guint row0, guint n_rows, const guint *views, guint n_views,
                                TdBuffer *volume, guint slice0, guint n_slices,
                                GCancellable *cancellable, GError **error);
void td_cone_projector_free (TdConeProjector *projector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeProjector, td_cone_projector_free)

/* TRUE if the views come in sets @turns apart by a full turn over @turns: view v + n / turns is
   view v turned by 360 / turns degrees, with the same weight, and the volume is centred on the
   axis. */
gboolean td_cone_turned (const TdConeTask *task, guint turns);
