/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "faulty.h"

#define PATIENCE_MS 60000 /* sanitizers on a busy machine are slow */

TdFaulty td_faulty;
static TdDeviceOps faulty, patient;
static const TdDeviceOps *sound, *sound_patient;
static GPtrArray *changed; /* TdDevice, each with its own operations in `before` */
static GPtrArray *before;
static gint failed;

/* Also if that was before anybody looked. */
static gboolean
has_ended (TdDevice *device)
{
  g_mutex_lock (&device->lock);
  const gboolean ended = device->allocated_peak_bytes > 0 && device->allocated_bytes == 0;
  g_mutex_unlock (&device->lock);
  return ended;
}

static gboolean
fail (GError **error)
{
  if (td_faulty.outlasts) {
    for (guint ms = 0; ms < PATIENCE_MS && !has_ended (td_faulty.outlasts); ms++)
      g_usleep (1000);
    td_faulty.gave_up |= !has_ended (td_faulty.outlasts);
  }
  g_atomic_int_set (&failed, 1);
  g_set_error (error, TD_ERROR, td_faulty.code, "made to fail");
  return FALSE;
}

static gboolean
due (gint *left, guint64 bytes)
{
  if (bytes < td_faulty.least_bytes || g_atomic_int_add (left, -1) > 0)
    return FALSE;
  if (td_faulty.cancels) {
    g_cancellable_cancel (td_faulty.cancels);
    g_atomic_int_set (&failed, 1);
    return FALSE;
  }
  return g_atomic_int_add (&td_faulty.failures_left, -1) > 0;
}

/* Either as one of all calls, or as one of its kind. */
static gboolean
call_due (gint *left, guint64 bytes)
{
  return due (&td_faulty.calls_left, G_MAXUINT64) || (left && due (left, bytes));
}

static gboolean
faulty_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
               const TdArg *args, guint n_args, GError **error)
{
  if (call_due (&td_faulty.launches_left, G_MAXUINT64))
    return fail (error);
  return sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static gboolean
faulty_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
               GError **error)
{
  if (call_due (&td_faulty.uploads_left, bytes))
    return fail (error);
  return sound->upload (queue, to, offset, host, bytes, error);
}

static gboolean
faulty_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                 GError **error)
{
  if (call_due (&td_faulty.downloads_left, bytes))
    return fail (error);
  return sound->download (queue, host, from, offset, bytes, error);
}

static gboolean
faulty_buffer_new (TdBuffer *buffer, GError **error)
{
  if (call_due (&td_faulty.allocations_left, buffer->bytes))
    return fail (error);
  return sound->buffer_new (buffer, error);
}

static gboolean
faulty_queue_new (TdQueue *queue, gboolean urgent, GError **error)
{
  return call_due (NULL, 0) ? fail (error)
                            : !sound->queue_new || sound->queue_new (queue, urgent, error);
}

static gboolean
faulty_queue_finish (TdQueue *queue, GError **error)
{
  return call_due (NULL, 0) ? fail (error)
                            : !sound->queue_finish || sound->queue_finish (queue, error);
}

static gboolean
faulty_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
             guint64 bytes, GError **error)
{
  return call_due (NULL, 0) ? fail (error)
                            : sound->copy (queue, to, to_offset, from, from_offset, bytes, error);
}

static gboolean
faulty_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  return call_due (NULL, 0) ? fail (error) : sound->fill_zero (queue, to, offset, bytes, error);
}

static gboolean
faulty_event_record (TdQueue *queue, TdEvent *event, GError **error)
{
  return call_due (NULL, 0) ? fail (error) : sound->event_record (queue, event, error);
}

static gboolean
faulty_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return call_due (NULL, 0) ? fail (error)
                            : !sound->event_wait || sound->event_wait (queue, event, error);
}

static gboolean
faulty_event_sync (TdEvent *event, GError **error)
{
  return call_due (NULL, 0) ? fail (error) : !sound->event_sync || sound->event_sync (event, error);
}

static gboolean
faulty_fft_new (TdFft *fft, GError **error)
{
  return call_due (NULL, 0) ? fail (error) : sound->fft_new (fft, error);
}

static gboolean
faulty_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, gboolean inverse, GError **error)
{
  return call_due (NULL, 0) ? fail (error) : sound->fft_run (queue, fft, data, inverse, error);
}

static gboolean
faulty_program_build (TdProgram *program, const char *name, const char *source,
                      const char *const *defines, GError **error)
{
  if (g_strcmp0 (td_faulty.unbuildable, name) == 0
      && g_atomic_int_add (&td_faulty.failures_left, -1) > 0) {
    g_atomic_int_set (&failed, 1);
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUILD, "made not to build");
    return FALSE;
  }
  return sound->program_build (program, name, source, defines, error);
}

static gboolean
patient_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
                const TdArg *args, guint n_args, GError **error)
{
  for (guint ms = 0; ms < PATIENCE_MS && !g_atomic_int_get (&failed); ms++)
    g_usleep (1000);
  return sound_patient->launch (queue, kernel, groups, local, args, n_args, error);
}

static void
change (TdDevice *device, const TdDeviceOps *ops)
{
  if (!changed) {
    changed = g_ptr_array_new ();
    before = g_ptr_array_new ();
  }
  g_ptr_array_add (changed, device);
  g_ptr_array_add (before, (gpointer) device->ops);
  device->ops = ops;
}

void
td_faulty_begin (TdDevice *device)
{
  if (device->ops != &faulty) {
    sound = device->ops;
    faulty = *sound;
    faulty.launch = faulty_launch;
    faulty.upload = faulty_upload;
    faulty.download = faulty_download;
    faulty.buffer_new = faulty_buffer_new;
    faulty.program_build = faulty_program_build;
    faulty.queue_new = faulty_queue_new;
    faulty.queue_finish = faulty_queue_finish;
    faulty.copy = faulty_copy;
    faulty.fill_zero = faulty_fill_zero;
    faulty.event_record = faulty_event_record;
    faulty.event_wait = faulty_event_wait;
    faulty.event_sync = faulty_event_sync;
    faulty.fft_new = faulty_fft_new;
    faulty.fft_run = faulty_fft_run;
    change (device, &faulty);
  }
  td_faulty = (TdFaulty) { .launches_left = G_MAXINT,
                           .uploads_left = G_MAXINT,
                           .downloads_left = G_MAXINT,
                           .allocations_left = G_MAXINT,
                           .calls_left = G_MAXINT,
                           .failures_left = G_MAXINT,
                           .code = TD_ERROR_DEVICE_LOST };
  g_atomic_int_set (&failed, 0);
}

void
td_faulty_outlast (TdDevice *device)
{
  g_mutex_lock (&device->lock);
  device->allocated_peak_bytes = device->allocated_bytes;
  g_mutex_unlock (&device->lock);
  td_faulty.outlasts = device;
}

void
td_faulty_wait (TdDevice *device)
{
  sound_patient = device->ops;
  patient = *sound_patient;
  patient.launch = patient_launch;
  change (device, &patient);
}

void
td_faulty_end (void)
{
  for (guint i = changed ? changed->len : 0; i > 0; i--)
    ((TdDevice *) changed->pdata[i - 1])->ops = before->pdata[i - 1];
  g_clear_pointer (&changed, g_ptr_array_unref);
  g_clear_pointer (&before, g_ptr_array_unref);
}

gboolean
td_faulty_failed (void)
{
  return g_atomic_int_get (&failed);
}
