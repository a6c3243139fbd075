/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-check.h"
#include "kernels/params.h"

#include <math.h>

enum { COUNT = 4099, LENGTH = 60, BATCH = 3 };

static gboolean
device_check_wrong (const char *what, GError **error)
{
  td_set_error (error, TD_ERROR_DEVICE_BUG,
                "%s come out wrong; use another device or update its driver", what);
  return FALSE;
}

static gboolean
check_kernel (TdDevice *device, TdQueue *queue, GError **error)
{
  g_autoptr (TdProgram) program = td_program_build (device, "check-host", NULL, error);
  g_autoptr (TdBuffer) in = program ? td_buffer_new (device, COUNT * sizeof (float), error) : NULL;
  g_autoptr (TdBuffer) out = in ? td_buffer_new (device, COUNT * sizeof (float), error) : NULL;
  TdKernel *kernel = out ? td_program_kernel (program, "td_check_scale", error) : NULL;
  g_autofree float *values = g_new (float, COUNT), *copy = g_new (float, COUNT);
  g_autofree float *scaled = g_new (float, COUNT);
  const int start = 0, n = COUNT;
  const TdCheckParams params = { 0.5f, 3 };

  if (!kernel)
    return FALSE;
  for (guint i = 0; i < COUNT; i++)
    values[i] = i * 7919 % 1013;
  TdArg args[] = { TD_ARG_BUFFER (out),  TD_ARG_BUFFER (in), TD_ARG_VALUE (start),
                   TD_ARG_VALUE (start), TD_ARG_VALUE (n),   TD_ARG_VALUE (params) };
  gboolean fine = td_upload (queue, in, 0, values, COUNT * sizeof (float), error)
                  && td_launch (queue, kernel, (guint[]) { (COUNT + 63) / 64, 1, 1 },
                                (guint[]) { 64, 1, 1 }, args, G_N_ELEMENTS (args), error)
                  && td_download (queue, copy, in, 0, COUNT * sizeof (float), error)
                  && td_download (queue, scaled, out, 0, COUNT * sizeof (float), error);
  if (!td_queue_finish (queue, fine ? error : NULL) || !fine)
    return FALSE;
  for (guint i = 0; i < COUNT; i++) {
    if (copy[i] != values[i])
      return device_check_wrong ("copied values", error);
    if (scaled[i] != 0.5f * values[i] + 3) /* exact in single precision */
      return device_check_wrong ("a kernel's values", error);
  }
  return TRUE;
}

/* Line b holds one turn more than line b - 1: its transform is LENGTH at place b + 1 and 0
 * elsewhere. */
static gboolean
check_fft (TdDevice *device, TdQueue *queue, GError **error)
{
  const guint64 bytes = BATCH * LENGTH * 2 * sizeof (float);
  g_autoptr (TdFft) fft = td_fft_new (device, TD_FFT_C2C_1D, (guint[]) { LENGTH, 1 }, BATCH, error);
  g_autoptr (TdBuffer) buffer = fft ? td_buffer_new (device, bytes, error) : NULL;
  float turns[BATCH][LENGTH][2], forward[BATCH][LENGTH][2], back[BATCH][LENGTH][2];

  if (!buffer)
    return FALSE;
  for (guint b = 0; b < BATCH; b++)
    for (guint x = 0; x < LENGTH; x++) {
      turns[b][x][0] = cos (2 * G_PI * (b + 1) * x / LENGTH);
      turns[b][x][1] = sin (2 * G_PI * (b + 1) * x / LENGTH);
    }
  gboolean fine = td_upload (queue, buffer, 0, turns, bytes, error)
                  && td_fft_run (queue, fft, buffer, 0, FALSE, error)
                  && td_download (queue, forward, buffer, 0, bytes, error)
                  && td_fft_run (queue, fft, buffer, 0, TRUE, error)
                  && td_download (queue, back, buffer, 0, bytes, error);
  if (!td_queue_finish (queue, fine ? error : NULL) || !fine)
    return FALSE;
  for (guint b = 0; b < BATCH; b++)
    for (guint x = 0; x < LENGTH; x++)
      if (!(fabs (forward[b][x][0] - (x == b + 1 ? LENGTH : 0)) < 1e-4)
          || !(fabs (forward[b][x][1]) < 1e-4)
          || !(fabs (back[b][x][0] - LENGTH * turns[b][x][0]) < 1e-4)
          || !(fabs (back[b][x][1] - LENGTH * turns[b][x][1]) < 1e-4))
        return device_check_wrong ("Fourier transforms", error);
  return TRUE;
}

gboolean
td_device_check (TdDevice *device, GError **error)
{
  g_autoptr (TdQueue) queue = td_queue_new (device, error);

  return queue && check_kernel (device, queue, error) && check_fft (device, queue, error);
}
