/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "dataset/error.h"

/**
 * The device contract. Each implementation is a group of files (host-*.c, opencl-*.c, cuda-*.c)
 * behind one const TdDeviceOps. Nothing above this header asks which API it is talking to: every
 * difference is a capability in TdDeviceInfo.
 *
 * Threads: any thread may use a TdDevice; one thread at a time uses a TdQueue and enqueues work on
 * it. The owner of an object frees it after the queues that use the object were finished. A call
 * that enqueues returns at once, unless its comment says "blocks".
 *
 * Errors: this contract classes them once, as TD_ERROR_DEVICE_MEMORY, _BUILD, _LOST, _TIMEOUT or
 * _BUG; td_device_reaction() says what follows. An error of enqueued work surfaces at the latest at
 * td_queue_finish().
 */
typedef struct TdDevice TdDevice;
typedef struct TdQueue TdQueue;
typedef struct TdBuffer TdBuffer;
typedef struct TdTexture TdTexture;
typedef struct TdProgram TdProgram;
typedef struct TdKernel TdKernel;
typedef struct TdEvent TdEvent;
typedef struct TdFft TdFft;

typedef enum { TD_DEVICE_GPU, TD_DEVICE_CPU, TD_DEVICE_OTHER } TdDeviceKind;

/* What a texture's texel holds. */
typedef enum {
  TD_TEXEL_R32F,
  TD_TEXEL_RG32F,
  TD_TEXEL_RGBA32F,
  TD_TEXEL_R16F,
  TD_TEXEL_RG16F,
  TD_TEXEL_RGBA16F,
  TD_TEXEL_COUNT
} TdTexel;

/* @channels: 1, 2 or 4. */
TdTexel td_texel (guint channels, gboolean half);
guint td_texel_channels (TdTexel texel);
gsize td_texel_bytes (TdTexel texel);

/* Names and capabilities; fixed at opening. Strings are owned by the device. */
typedef struct {
  char *id;   /* "host", "opencl:0", "cuda:0" */
  char *name; /* "NVIDIA H100 80GB HBM3" */
  char *vendor;
  char *api;         /* "host", "opencl", "cuda": for people and for the program cache only */
  char *driver;      /* driver and compiler versions; part of the program cache's key */
  char *hardware_id; /* PCI bus id or UUID where known: the same card under two APIs has one */
  TdDeviceKind kind;
  guint64 memory_bytes;
  guint64 max_alloc_bytes;
  guint compute_units;
  guint64 local_memory_bytes; /* shared memory a block may have */
  guint max_group_size;
  guint most_groups;          /* of a launch, along y and along z; 0: of any number */
  guint arch;                 /* CUDA: 90 for sm_90; 0 elsewhere. Capability decisions never use it
                                 except for compiler flags */
  guint64 texture_max[2];     /* width, height of a 2-D texture; 0: no textures */
  guint64 texture_max_layers; /* of a layered 2-D texture */
  guint texels;               /* bit (1 << TdTexel) set: this texel type is really right here */
  gboolean texture_linear;    /* hardware filtering */
  gboolean texture_slow;      /* textures are emulated (CPU devices): never use them for speed */
  gboolean half_storage;      /* td_load_half/td_store_half */
  gboolean half_arithmetic;
  gboolean double_arithmetic; /* kernels may compute in double precision */
  gboolean shuffle;           /* td_shuffle_* in the dialect */
  gboolean host_pointers;     /* td_buffer_map() gives the memory itself: no transfers needed */
  gboolean cpu_shaped;        /* wants few fat work-items with vectors over slices */
} TdDeviceInfo;

/* A TD_LOCAL pointer in the kernel; at most one, its last argument (CUDA gives it as dynamic shared
   memory). */
typedef struct {
  gsize bytes;
} TdLocal;

/* One kernel argument. */
typedef struct {
  enum { TD_ARG_VALUE, TD_ARG_BUFFER, TD_ARG_TEXTURE, TD_ARG_LOCAL } kind;
  gsize size; /* of a value */
  union {
    const void *value; /* what the others, too, are read by */
    TdBuffer *const *buffer;
    TdTexture *const *texture;
    const TdLocal *local;
  };
} TdArg;

/* What a kernel takes for @x: a pointer for a TdBuffer * or a TdLocal, an image for a TdTexture *,
   else the value. @x is copied for as long as the block lasts in which this stands. */
#define TD_ARG(x)                                                                                  \
  {                                                                                                \
    .kind = TD_ARG_KIND (x), .size = sizeof (x), .value = (__typeof__ (x)[])                       \
    {                                                                                              \
      (x)                                                                                          \
    }                                                                                              \
  }
#define TD_ARG_KIND(x)                                                                             \
  _Generic((x), TdBuffer *                                                                         \
           : TD_ARG_BUFFER, TdTexture *                                                            \
           : TD_ARG_TEXTURE, TdLocal                                                               \
           : TD_ARG_LOCAL, default                                                                 \
           : TD_ARG_VALUE)

/* A launch's arguments in the kernel's order, and how many they are: up to 27. */
#define TD_ARGS(...)                                                                               \
  (const TdArg[]) { TD_ARGS_27 (TD_ARGS_EACH (__VA_ARGS__)) },                                     \
      sizeof ((const TdArg[]) { TD_ARGS_27 (TD_ARGS_EACH (__VA_ARGS__)) }) / sizeof (TdArg)
#define TD_ARGS_EACH(x, ...) TD_ARG (x), __VA_OPT__ (TD_ARGS_AGAIN TD_ARGS_NONE (__VA_ARGS__))
#define TD_ARGS_AGAIN() TD_ARGS_EACH
#define TD_ARGS_NONE ()
/* Each looks again at what was left. */
#define TD_ARGS_27(...) TD_ARGS_9 (TD_ARGS_9 (TD_ARGS_9 (__VA_ARGS__)))
#define TD_ARGS_9(...) TD_ARGS_3 (TD_ARGS_3 (TD_ARGS_3 (__VA_ARGS__)))
#define TD_ARGS_3(...) TD_ARGS_1 (TD_ARGS_1 (TD_ARGS_1 (__VA_ARGS__)))
#define TD_ARGS_1(...) __VA_ARGS__

typedef enum { TD_FFT_C2C_1D, TD_FFT_C2C_2D } TdFftKind; /* interleaved float2, in place */

typedef struct {
  /* Texture filtering */
  TdTexel texel;
  guint64 width, height;
  guint64 layers;  /* 0: plain 2-D; else a layered 2-D texture */
  gboolean linear; /* hardware linear filtering; FALSE: nearest. Coordinates are never
                      normalised; outside the texture the value is 0 */
} TdTextureSpec;

/**
 * What an implementation provides. Every pointer is set unless its comment says "may be NULL".
 * The td_… wrappers below check arguments (sizes in 64 bits, limits, memory limit) once for all.
 *
 * Objects are structs that begin with the contract's own (TdBuffer, TdQueue, …). The wrappers
 * allocate them as large as @sizes says, all zeros but for the contract's fields, and free them. An
 * operation …_new fills in the rest. Where it fails it leaves nothing behind, and …_free is not
 * called. A NULL …_free: there is nothing to release.
 */
typedef struct TdDeviceOps {
  struct {
    gsize buffer, queue, texture, program, kernel, event, fft;
  } sizes;

  /* Release handles and the struct itself; programs, info and locks are already cleared. */
  void (*device_free) (TdDevice *device);
  /* Free device memory right now, bytes; G_MAXUINT64: unknown. Any thread. */
  guint64 (*memory_free) (TdDevice *device);

  /* Memory. buffer_new: uninitialised. host_alloc: pinned where the API knows that; the caller
     frees with host_free. map: the buffer's own memory; NULL but on host_pointers devices. */
  gboolean (*buffer_new) (TdBuffer *buffer, GError **error);
  void (*buffer_free) (TdBuffer *buffer);
  void *(*buffer_map) (TdBuffer *buffer);
  void *(*host_alloc) (TdDevice *device, guint64 bytes);
  void (*host_free) (TdDevice *device, void *memory);

  /* Queues run in order; two queues run beside each other. finish blocks. @urgent: its work goes
     before that of others, as far as both compete for the device and the device can tell. Where
     calls do their work at once, new, finish, event_wait and event_sync may be NULL. */
  gboolean (*queue_new) (TdQueue *queue, gboolean urgent, GError **error);
  void (*queue_free) (TdQueue *queue);
  gboolean (*queue_finish) (TdQueue *queue, GError **error);

  /* Transfers. @host must stay valid until the queue passed it; asynchronous if it is from
     host_alloc, may block otherwise. */
  gboolean (*upload) (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
                      GError **error);
  gboolean (*download) (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                        GError **error);
  gboolean (*copy) (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                    guint64 from_offset, guint64 bytes, GError **error);
  gboolean (*fill_zero) (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes,
                         GError **error);

  /* Textures: created empty, filled from a buffer of tightly packed texels [layer][y][x]. All three
     may be NULL where info has no texels. */
  gboolean (*texture_new) (TdTexture *texture, GError **error);
  void (*texture_free) (TdTexture *texture);
  gboolean (*texture_write) (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from,
                             guint64 offset, GError **error);

  /* Programs. @source is the expanded text in this implementation's dialect (NULL without one);
     @defines "KEY=VALUE" strings, NULL-terminated, never NULL. build blocks and goes through the
     program cache. The wrappers keep kernels and programs, each made once, and free them with the
     device: program_free comes after kernel_free of all its kernels. */
  const char *dialect; /* "opencl.h", "cuda.h"; NULL: programs are found by name (host) */
  gboolean (*program_build) (TdProgram *program, const char *name, const char *source,
                             const char *const *defines, GError **error);
  void (*program_free) (TdProgram *program);
  gboolean (*kernel_new) (TdKernel *kernel, GError **error);
  void (*kernel_free) (TdKernel *kernel);
  /* May be NULL: nothing is. Bytes of a work-item's private memory that lie in DRAM. */
  guint64 (*kernel_spilled) (TdKernel *kernel);
  /* @groups: number of work-groups, @local: work-items in one, both x, y, z. Programs are shared,
     so any thread may launch the same kernel on its own queue at the same time. */
  gboolean (*launch) (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                      const TdArg *args, guint n_args, GError **error);

  /* Events carry device time stamps. event_record() marks the point after all that was enqueued so
     far. After event_wait(), @queue goes on only once @event has passed, which may be of any queue
     of this device. event_sync() blocks until the event, event_elapsed() until both. */
  gboolean (*event_record) (TdQueue *queue, TdEvent *event, GError **error);
  gboolean (*event_wait) (TdQueue *queue, TdEvent *event, GError **error);
  gboolean (*event_sync) (TdEvent *event, GError **error);
  gboolean (*event_elapsed) (TdEvent *from, TdEvent *to, double *seconds, GError **error);
  void (*event_free) (TdEvent *event);

  /* FFT: in-place complex, @batch transforms of n[0] (1-D) or n[1] x n[0] (2-D) one after another,
     from the buffer's beginning.
     Forward is exp(-i…), the inverse is unnormalised. new blocks (planning, baking). A TdFft may
     have a workspace: its runs go one after another, in one queue or with events between. */
  gboolean (*fft_new) (TdFft *fft, GError **error);
  gboolean (*fft_run) (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse,
                       GError **error);
  void (*fft_free) (TdFft *fft);
} TdDeviceOps;

struct TdDevice {
  gint references;    /* atomic */
  TdDevice *hardware; /* the device itself; of a job's handle, the device that it stands for */
  /* The memory account, kept by the wrappers under the hardware's lock: what was allocated through
     this pointer; for the hardware, what all handles together have. */
  guint64 allocated_bytes, allocated_peak_bytes;
  guint64 memory_limit_bytes; /* 0: none; tests set the hardware's */

  /* The hardware's own; a handle leaves them empty. */
  const TdDeviceOps *ops;
  TdDeviceInfo info;
  GMutex lock;
  GMutex program_lock;
  GHashTable *programs; /* name and defines → TdProgram; under program_lock */
  /* Buffers, textures, queues, events, FFTs and host memory not yet freed; each keeps the device
     open. Under lock. */
  guint64 live_objects;
  gint building; /* programs being built now; atomic */
  gint builds;   /* programs built or loaded so far, but for those compiled in; atomic */
};

/* Implementations embed these as their first member; the wrappers set the fields. */
struct TdQueue {
  TdDevice *device;
};
struct TdBuffer {
  TdDevice *device;
  TdDevice *account; /* the handle that it was allocated through */
  guint64 bytes;
};
/* Where something in a buffer begins. */
typedef struct {
  TdBuffer *buffer;
  guint64 offset; /* bytes */
} TdPlace;
struct TdTexture {
  TdDevice *device;
  TdDevice *account;
  TdTextureSpec spec;
};
struct TdProgram {
  TdDevice *device;
  GHashTable *kernels;
};
struct TdKernel {
  TdProgram *program;
  char *name;
};
struct TdEvent {
  TdDevice *device;
};
struct TdFft {
  TdDevice *device;
  TdFftKind kind;
  guint n[2]; /* the second is 1 in one dimension */
  guint batch;
};

/* ── Finding devices ── */

/* One device that the list found, or one API that is absent, with the reason, which is for
   td_message_words(). */
typedef struct {
  char *id, *name, *api, *reason; /* reason: why it is not available; NULL if it is */
  TdDeviceKind kind;
  gboolean available;
  guint64 memory_bytes;
  char *hardware_id;
  const char *same_as; /* id of an earlier entry for the same hardware; NULL */
} TdDeviceEntry;

/* Every device of every API; host is always there. May take a second the first time (drivers).
   (transfer full) (element-type TdDeviceEntry). Any thread. */
GPtrArray *td_device_list (void);
/* The devices of a list such as "host,cuda:0", each once; "auto" stands for all cards of the first
   API that has any, else for the host. Only "auto" asks drivers: names need not exist. (transfer
   full). Any thread; blocks. */
char **td_device_names (const char *list);
/* @id: as in the list; "auto" or NULL: the fastest available. A second open of the same id gives
   the same device, referenced. Any thread; blocks. */
TdDevice *td_device_open (const char *id, GError **error);
TdDevice *td_device_ref (TdDevice *device);
void td_device_unref (TdDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdDevice, td_device_unref)
/* A job's handle of the device, with a memory account of its own. What the job allocates through
   the handle may not pass @limit_bytes (0: no limit). What other jobs allocate does not count.
   In every other way the handle is the device. Objects made through it belong to the device, so
   that handles may share them. (transfer full). Any thread. */
TdDevice *td_device_for_job (TdDevice *device, guint64 limit_bytes);
/* Whether both are the same hardware under the same limit: what was made for one suits the other.
 */
gboolean td_device_alike (const TdDevice *a, const TdDevice *b);
/* The most that was allocated at once through this handle. */
guint64 td_device_peak_bytes (TdDevice *device);

/* ── Wrappers: the calls everybody uses. Same meaning as the operations above. ── */

const TdDeviceInfo *td_device_info (TdDevice *device);
guint64 td_device_memory_free (TdDevice *device); /* respects the limits */

TdBuffer *td_buffer_new (TdDevice *device, guint64 bytes, GError **error);
void td_buffer_free (TdBuffer *buffer); /* NULL is allowed, as in every _free here */
void *td_buffer_map (TdBuffer *buffer);
void *td_place_map (TdPlace place); /* of such a buffer */
void *td_device_host_alloc (TdDevice *device, guint64 bytes, GError **error);
void td_device_host_free (TdDevice *device, void *memory);

TdQueue *td_queue_new (TdDevice *device, GError **error);
TdQueue *td_queue_new_urgent (TdDevice *device,
                              GError **error); /* an ordinary one, if there is no such */
void td_queue_free (TdQueue *queue);
gboolean td_queue_finish (TdQueue *queue, GError **error);

gboolean td_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
                    GError **error);
gboolean td_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                      GError **error);
gboolean td_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                  guint64 from_offset, guint64 bytes, GError **error);
gboolean td_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error);

TdTexture *td_texture_new (TdDevice *device, const TdTextureSpec *spec, GError **error);
void td_texture_free (TdTexture *texture);
/* The first @layers of the texture. */
gboolean td_texture_write (TdQueue *queue, TdTexture *to, guint64 layers, TdBuffer *from,
                           guint64 offset, GError **error);

/* @source: in kernels/ without its ending, "backproject-standard"; built with these @defines (NULL:
   none) when first asked for. The device keeps programs and kernels, and the same arguments give
   the same kernel until it is closed. (transfer none) */
TdKernel *td_device_kernel (TdDevice *device, const char *source, const char *const *defines,
                            const char *kernel, GError **error);
/* "KEY=VALUE" words with a blank between each, as defines; free with g_strfreev(). */
char **td_defines (const char *words, ...) G_GNUC_PRINTF (1, 2);
/* Whether a program is being built, which takes seconds the first time. Any thread. */
gboolean td_device_is_building (TdDevice *device);
/* How many programs were built so far: what was timed while this grew says little about the next
   time. Any thread. */
guint td_device_builds (TdDevice *device);
guint64 td_kernel_spilled (TdKernel *kernel);
gboolean td_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                    const TdArg *args, guint n_args, GError **error);

TdEvent *td_event_record (TdQueue *queue, GError **error);
/* In place of an earlier event, which may be NULL. */
gboolean td_event_mark (TdQueue *queue, TdEvent **event, GError **error);
gboolean td_event_wait (TdQueue *queue, TdEvent *event, GError **error);
gboolean td_event_sync (TdEvent *event, GError **error);
gboolean td_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error);
void td_event_free (TdEvent *event);
/* Events that are recorded in pairs, around what is timed; free with g_ptr_array_unref(). */
GPtrArray *td_events_new (void);
gboolean td_events_record (TdQueue *queue, GPtrArray *events, GError **error);

/* @n: td_fft_good_size() or any size the implementation takes; n[1] is ignored for 1-D. */
TdFft *td_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, GError **error);
gboolean td_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error);
void td_fft_free (TdFft *fft);
guint td_fft_good_size (guint at_least); /* next 2^a 3^b 5^c, even */

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdBuffer, td_buffer_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdQueue, td_queue_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTexture, td_texture_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdEvent, td_event_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFft, td_fft_free)

/* ── After an error ── */

/**
 * The program's one policy after an error of work on a device. Every method asks it, so that the
 * same failure has the same consequence everywhere.
 */
typedef enum {
  TD_REACTION_RETRY_SMALLER,    /* out of memory: the same device with smaller pieces */
  TD_REACTION_ANOTHER_KERNEL,   /* a kernel does not build: the same device with another family */
  TD_REACTION_SMALLER_LAUNCHES, /* a watchdog: the same device with less work a launch */
  TD_REACTION_RETIRE,  /* the device is lost or wrong: the other devices take over its work */
  TD_REACTION_GIVE_UP, /* the error is not the device's: every device would fail the same way */
} TdReaction;

/* @error: (nullable): NULL is TD_REACTION_GIVE_UP. */
TdReaction td_device_reaction (const GError *error);
/* The device that failed may try again, with something changed. */
gboolean td_device_may_retry (const GError *error);
/* Another device may do what this one could not. */
gboolean td_device_others_can (const GError *error);
