/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-private.h"

typedef struct {
  TdFft base;
  const TdCufft *cufft;
  TdCufftPlan plan;
  TdBuffer *work; /* NULL: none needed */
  TdQueue *last;  /* the queue that used the work area last; compared, never dereferenced */
  TdEvent *done;  /* when it will have used it */
  GMutex lock;    /* the plan's stream is a state of the plan */
} CudaFft;

static gboolean
cuda_fft_check (TdCufftResult result, const char *doing, GError **error)
{
  if (result == 0)
    return TRUE;
  td_set_error (error,
                result == TD_CUFFT_ALLOC_FAILED ? TD_ERROR_DEVICE_MEMORY : TD_ERROR_DEVICE_BUG,
                "cuFFT could not %s (error %d)%s", doing, result,
                result == TD_CUFFT_ALLOC_FAILED ? ": the card's memory is full" : "");
  return FALSE;
}

static gboolean
cuda_fft_make_plan (CudaFft *fft, size_t *work_bytes, GError **error)
{
  int rank = fft->base.kind == TD_FFT_C2C_2D ? 2 : 1;
  /* cuFFT counts from the slowest dimension. */
  long long n[2] = { rank == 2 ? fft->base.n[1] : fft->base.n[0], fft->base.n[0] };
  long long distance = rank == 2 ? n[0] * n[1] : n[0];

  return cuda_fft_check (fft->cufft->auto_allocation (fft->plan, 0), "plan", error)
         && cuda_fft_check (fft->cufft->make_many (fft->plan, rank, n, NULL, 1, distance, NULL, 1,
                                                   distance, TD_CUFFT_C2C, fft->base.batch,
                                                   work_bytes),
                            "plan", error);
}

void
td_cuda_fft_free (TdFft *base)
{
  CudaFft *fft = (CudaFft *) base;
  TdCudaDevice *device = td_cuda_device (base->device);

  if (fft->done)
    td_event_free (fft->done);
  if (td_cuda_enter (device, NULL)) {
    fft->cufft->destroy (fft->plan);
    td_cuda_leave (device);
  }
  if (fft->work)
    td_buffer_free (fft->work);
  g_mutex_clear (&fft->lock);
  g_free (fft);
}

gboolean
td_cuda_fft_new (TdDevice *base, TdFftKind kind, const guint n[2], guint batch, TdFft **out,
                 GError **error)
{
  TdCudaDevice *device = td_cuda_device (base);
  const TdCufft *cufft = td_cufft (error);
  TdCufftPlan plan = 0;
  size_t work_bytes = 0;
  CudaFft *fft;
  gboolean ok;

  if (!cufft || !td_cuda_enter (device, error))
    return FALSE;
  if (!cuda_fft_check (cufft->create (&plan), "start", error)) {
    td_cuda_leave (device);
    return FALSE;
  }
  fft = g_new0 (CudaFft, 1);
  fft->base = (TdFft) { .device = base, .kind = kind, .n = { n[0], n[1] }, .batch = batch };
  fft->cufft = cufft;
  fft->plan = plan;
  g_mutex_init (&fft->lock);
  ok = cuda_fft_make_plan (fft, &work_bytes, error);
  /* Our own work area, so that it counts towards the memory limit. */
  if (ok && work_bytes > 0) {
    fft->work = td_buffer_new (base, work_bytes, error);
    ok = fft->work
         && cuda_fft_check (
             cufft->work_area (plan, (void *) (guintptr) ((TdCudaBuffer *) fft->work)->pointer),
             "take its work area", error);
  }
  td_cuda_leave (device);
  if (!ok) {
    td_cuda_fft_free (&fft->base);
    return FALSE;
  }
  *out = &fft->base;
  return TRUE;
}

/* The work area belongs to one transform at a time: another queue waits for the last one. */
static gboolean
take_work_area (CudaFft *fft, TdQueue *queue, GError **error)
{
  if (fft->done && fft->last != queue && !td_event_wait (queue, fft->done, error))
    return FALSE;
  g_clear_pointer (&fft->done, td_event_free);
  fft->last = queue;
  return TRUE;
}

gboolean
td_cuda_fft_run (TdQueue *queue, TdFft *base, TdBuffer *data, guint64 offset, gboolean inverse,
                 GError **error)
{
  CudaFft *fft = (CudaFft *) base;
  TdCudaDevice *device = td_cuda_device (base->device);
  void *address = (void *) (guintptr) (((TdCudaBuffer *) data)->pointer + offset);
  gboolean ok;

  g_mutex_lock (&fft->lock);
  ok = take_work_area (fft, queue, error) && td_cuda_enter (device, error);
  if (ok) {
    ok = cuda_fft_check (fft->cufft->stream (fft->plan, ((TdCudaQueue *) queue)->stream),
                         "use the queue", error)
         && cuda_fft_check (fft->cufft->c2c (fft->plan, address, address,
                                             inverse ? TD_CUFFT_INVERSE : TD_CUFFT_FORWARD),
                            "transform", error);
    td_cuda_leave (device);
  }
  if (ok && fft->work) {
    fft->done = td_event_record (queue, error);
    ok = fft->done != NULL;
  }
  g_mutex_unlock (&fft->lock);
  return ok;
}
