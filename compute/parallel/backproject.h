/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "compute/sampling.h"

/**
 * Parallel-beam back-projection, every family (DESIGN.md, "families"; the review is in DESIGN.md,
 * "Papers").
 *
 *     slice (x, y) = scale * sum over views v of  sinogram (v, u),
 *     u = centre_px + axis_px[v] + x cos(angle_v) + y sin(angle_v)
 *
 * x, y in detector pixels from the rotation axis, y up; u in columns, first column's centre 0.
 * Outside the detector the projection is 0. Linear interpolation fades to 0 over the half-open
 * pixel beyond either edge. Nearest takes column floor (u + 1/2) if that exists.
 */
typedef struct {
  guint n_columns, n_views;
  guint nx, ny;  /* the pixels computed: a region of the slice or all of it */
  double x0, y0; /* position of the first stored pixel (top left), in detector pixels from the axis,
                    y up. The next pixel right is x0 + step, the next row down y0 - step. */
  double step;   /* 1: pixels as wide as the detector's */
  double centre_px;
  const double *angles_rad; /* n_views */
  const double *axis_px;    /* n_views corrections added to the centre, or NULL */
  const double *weights;    /* n_views weights (angular step), or NULL for 1 */
  double scale;
  TdInterpolation interpolation;
  TdPrecision precision;
  double most_error; /* "auto" takes no family with a larger error bound; 0: any */
  double disc;       /* pixels from the axis beyond which nobody looks: they may be left as they
                        were; 0: all are wanted */
} TdBackprojectTask;

typedef struct TdBackprojector TdBackprojector;
typedef struct TdBackprojectFamily TdBackprojectFamily;

/* A tunable choice within a family: defines for the program and shape of the launch, by name. */
typedef struct {
  const char *family;
  guint slices;   /* slices at once: 1, 2, 4 (16 on CPUs) */
  char **defines; /* family's own "KEY=VALUE"s; NULL: the family's default for the device */
} TdBackprojectVariant;

/* @family: static; @defines: words "NAME=VALUE" with a blank between, copied; NULL: the family's
   default. */
TdBackprojectVariant *td_backproject_variant_new (const char *family, guint slices,
                                                  const char *defines);
void td_backproject_variant_free (TdBackprojectVariant *variant);

struct TdBackprojectFamily {
  const char *name;     /* "standard", "texture", "alu", "hybrid", "oversampling", "host", … */
  const char *title;    /* for people */
  gboolean single_only; /* computes in single precision, whatever the task asks for */
  /* Relative L2 bound against the double-precision truth, for rows of any spectrum: white noise,
     filtered noise, objects (place-error.h, the rest in the family's source). */
  double (*error_bound) (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                         const TdDeviceInfo *device);
  /* NULL if it can do the task, else why not (static string). */
  const char *(*unsupported) (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                              const TdDeviceInfo *device);
  /* Builds programs, uploads tables. variant may be NULL. Blocks. Copies what it keeps of @task. */
  TdBackprojector *(*create) (const TdBackprojectFamily *family, TdDevice *device,
                              const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                              guint max_slices, GError **error);
  /* Candidates for the tuner, best guess first; (transfer full) (element-type
     TdBackprojectVariant). NULL: nothing to tune. */
  GPtrArray *(*candidates) (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device);
  /* The family's rank for "auto", on graphics cards and where a device is shaped as a CPU. The
     highest of the families that can do the task wins, the first of equals. 0: only when named. */
  guint card_rank, cpu_rank;
  /* Device memory besides sinograms and slices. */
  guint64 (*workspace_bytes) (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                              const TdDeviceInfo *device, guint max_slices);
  /* The truth in double precision, if that is not td_backproject_reference(). May be NULL. */
  void (*reference) (const TdBackprojectTask *task, const float *sinogram, double *out);
};

/* What a projector does; create sets it, since a family may have several kinds. */
typedef struct {
  /* New centre, angles, scale, region of the same size without a rebuild. FALSE without @error:
     recreate. */
  gboolean (*update) (TdBackprojector *projector, const TdBackprojectTask *task, GError **error);
  /* Enqueues. sinograms: float [slice][view][column], packed; slices: float [slice][ny][nx],
     overwritten. n_slices <= max_slices. */
  gboolean (*run) (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                   guint n_slices, GError **error);
  void (*free) (TdBackprojector *projector);
} TdBackprojectorOps;

/* Implementations embed this first. */
struct TdBackprojector {
  const TdBackprojectorOps *ops;
  const TdBackprojectFamily *family;
  TdDevice *device;
  TdBackprojectTask task; /* its last; without the arrays, which are the caller's */
  guint max_slices;
  char *description;         /* variant in words, for results and the bench */
  GCancellable *cancellable; /* may be NULL; see td_backprojector_set_cancellable */
  GPtrArray *kernel_events;  /* may be NULL; see td_backprojector_time_kernels */
};

/* For create: @bytes, zeros but for the projector of @task that they begin with. What is made into
   them goes with td_backprojector_free(). */
gpointer td_backprojector_alloc (gsize bytes, const TdBackprojectorOps *ops, TdDevice *device,
                                 const TdBackprojectTask *task);

/* All families, NULL-terminated, in the order "auto" considers them. */
const TdBackprojectFamily *const *td_backproject_families (void);
const TdBackprojectFamily *td_backproject_family (const char *name, GError **error);
/* "auto": the fastest family that takes the task in its precision (tuner's word first, else the
   review's Table 25 by capability). Families that failed the self-test are out. */
const TdBackprojectFamily *td_backproject_choose (const char *name, const TdBackprojectTask *task,
                                                  TdDevice *device, guint n_slices, GError **error);

/* After @failed did not build: the family that "auto" takes next. It is none of @tried, which
   @failed joins. If no other family is as exact as the task asks, exactness does not count. NULL:
   no more.
 */
const TdBackprojectFamily *td_backproject_another (const TdBackprojectFamily *failed,
                                                   const TdBackprojectTask *task, TdDevice *device,
                                                   guint n_slices, guint *tried);

/* @variant: NULL: what the tuner found on this device (tune-store.h), else the family's default;
   &td_backproject_default: the family's default whatever was tuned. */
extern const TdBackprojectVariant td_backproject_default;
TdBackprojector *td_backprojector_new (const TdBackprojectFamily *family, TdDevice *device,
                                       const TdBackprojectTask *task,
                                       const TdBackprojectVariant *variant, guint max_slices,
                                       GError **error);
gboolean td_backprojector_update (TdBackprojector *projector, const TdBackprojectTask *task,
                                  GError **error); /* FALSE without error: recreate */
gboolean td_backprojector_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms,
                               TdPlace slices, guint n_slices, GError **error);
/* A run that works in the calling thread (the host's) looks at @cancellable between tiles, and
   fails with G_IO_ERROR_CANCELLED. Families that only enqueue may ignore it. NULL: none. */
void td_backprojector_set_cancellable (TdBackprojector *projector, GCancellable *cancellable);
/* From now on runs keep the time of the summing kernels alone, without what prepares their input.
   Once the queue has finished, td_backprojector_kernel_seconds() returns the last run's time. 0:
   the family does not measure it (the host's time is all kernel). */
void td_backprojector_time_kernels (TdBackprojector *projector);
gboolean td_backprojector_kernel_seconds (TdBackprojector *projector, double *seconds,
                                          GError **error);
/* For families: before and after each launch of the summing kernel. */
gboolean td_backprojector_mark (TdBackprojector *projector, TdQueue *queue, GError **error);
void td_backprojector_free (TdBackprojector *projector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdBackprojector, td_backprojector_free)

/* Where pixel (ix, iy) of the region is seen: column start[v] + ix du_x[v] + iy du_y[v]. n_views
   each; what every family makes its tables from. */
void td_backproject_views (const TdBackprojectTask *task, double *start, double *du_x,
                           double *du_y);
/* The same in fixed point, units of 2^-32 columns: start, du_x, du_y of each view in turn, 3
   n_views. Exact to 2^-33 a pixel. A start beyond 2^30 columns is brought there, where all is 0 as
   well. */
void td_backproject_fixed (const TdBackprojectTask *task, gint64 *starts);
/* Whether one projector of the tiled families serves both: sizes, interpolation and precision. */
gboolean td_backproject_same_kernel (const TdBackprojectTask *a, const TdBackprojectTask *b);

/* The naive double-precision reference, a page long: out[ny][nx] of one sinogram [view][column].
   Exactly the formula above; everything else is compared to it. */
void td_backproject_reference (const TdBackprojectTask *task, const float *sinogram, double *out);
