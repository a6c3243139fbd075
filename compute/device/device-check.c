/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-check.h"
#include "kernels/params.h"
#include "dataset/message.h"

#include <math.h>

enum { COUNT = 4099, LENGTH = 60, BATCH = 3 };

static gboolean
device_check_wrong (const char *what, GError **error)
{
  return td_set_error (error, TD_ERROR_DEVICE_BUG,
                       "%p come out wrong; use another device or update its driver",
                       td_message_unpack (what));
}

static gboolean
check_kernel (TdDevice *device, TdQueue *queue, GError **error)
{
  TdKernel *kernel = td_device_kernel (device, "check-host", NULL, "td_check_scale", error);
  g_autoptr (TdBuffer) in = kernel ? td_buffer_new (device, COUNT * sizeof (float), error) : NULL;
  g_autoptr (TdBuffer) out = in ? td_buffer_new (device, COUNT * sizeof (float), error) : NULL;
  g_autofree float *values = g_new (float, COUNT), *copy = g_new (float, COUNT);
  g_autofree float *scaled = g_new (float, COUNT);
  const int start = 0, n = COUNT;
  const TdCheckParams params = { 0.5f, 3 };

  if (!out)
    return FALSE;
  for (guint i = 0; i < COUNT; i++)
    values[i] = i * 7919 % 1013;
  gboolean fine
      = td_upload (queue, in, 0, values, COUNT * sizeof (float), error)
        && td_launch (queue, kernel, (guint[]) { (COUNT + 63) / 64, 1, 1 }, (guint[]) { 64, 1, 1 },
                      TD_ARGS (out, in, start, start, n, params), error)
        && td_download (queue, copy, in, 0, COUNT * sizeof (float), error)
        && td_download (queue, scaled, out, 0, COUNT * sizeof (float), error);
  if (!td_queue_finish (queue, fine ? error : NULL) || !fine)
    return FALSE;
  for (guint i = 0; i < COUNT; i++) {
    if (copy[i] != values[i])
      return device_check_wrong (N_ ("copied values"), error);
    if (scaled[i] != 0.5f * values[i] + 3) /* exact in single precision */
      return device_check_wrong (N_ ("a kernel's values"), error);
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
                  && td_fft_run (queue, fft, buffer, FALSE, error)
                  && td_download (queue, forward, buffer, 0, bytes, error)
                  && td_fft_run (queue, fft, buffer, TRUE, error)
                  && td_download (queue, back, buffer, 0, bytes, error);
  if (!td_queue_finish (queue, fine ? error : NULL) || !fine)
    return FALSE;
  for (guint b = 0; b < BATCH; b++)
    for (guint x = 0; x < LENGTH; x++)
      if (!(fabs (forward[b][x][0] - (x == b + 1 ? LENGTH : 0)) < 1e-4)
          || !(fabs (forward[b][x][1]) < 1e-4)
          || !(fabs (back[b][x][0] - LENGTH * turns[b][x][0]) < 1e-4)
          || !(fabs (back[b][x][1] - LENGTH * turns[b][x][1]) < 1e-4))
        return device_check_wrong (N_ ("Fourier transforms"), error);
  return TRUE;
}

gboolean
td_device_check (TdDevice *device, GError **error)
{
  g_autoptr (TdQueue) queue = td_queue_new (device, error);

  return queue && check_kernel (device, queue, error) && check_fft (device, queue, error);
}

/* ── Textures ── */

/* Odd, unequal sizes: mixed-up axes or padded rows show. */
enum { WIDTH = 7, HEIGHT = 5, LAYERS = 3, PLACES = 64 };

typedef struct {
  float x, y, layer, unused;
} Place;

/* Small whole numbers, exact in half precision, all different. */
static guint
texel_value (int x, int y, int layer, guint channel)
{
  if (x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT)
    return 0;
  return 1 + channel + 4 * (x + WIDTH * (y + HEIGHT * layer));
}

static guint16
half_bits (guint value)
{
  guint exponent = g_bit_nth_msf (value, -1);

  return (exponent + 15) << 10 | ((value << (10 - exponent)) & 0x3ff);
}

static void
fill_texels (guint8 *bytes, TdTexel texel, guint layers)
{
  guint channels = td_texel_channels (texel);
  gboolean half = td_texel_bytes (texel) / channels == 2;
  gsize i = 0;

  for (guint layer = 0; layer < layers; layer++)
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++)
        for (guint channel = 0; channel < channels; channel++, i++)
          if (half)
            ((guint16 *) bytes)[i] = half_bits (texel_value (x, y, layer, channel));
          else
            ((float *) bytes)[i] = texel_value (x, y, layer, channel);
}

/* The places lie everywhere in the texture and up to two texels outside. They lie at quarters,
   which filters of 8 bits have exactly, and never on the edge between two nearest texels. */
static void
choose_places (Place *places, guint layers)
{
  for (guint i = 0; i < PLACES; i++)
    places[i] = (Place) {
      .x = -2 + (float) (i * 37 % ((WIDTH + 4) * 2)) / 2 + 0.25f,
      .y = -2 + (float) (i * 23 % ((HEIGHT + 4) * 2)) / 2 + 0.25f,
      .layer = i % layers,
    };
}

static double
texture_check_expected (const Place *place, guint channel, gboolean linear)
{
  if (!linear)
    return texel_value (floor (place->x), floor (place->y), place->layer, channel);

  double x = place->x - 0.5, y = place->y - 0.5;
  int x0 = floor (x), y0 = floor (y), layer = place->layer;
  double fx = x - x0, fy = y - y0;
  return (1 - fy)
             * ((1 - fx) * texel_value (x0, y0, layer, channel)
                + fx * texel_value (x0 + 1, y0, layer, channel))
         + fy
               * ((1 - fx) * texel_value (x0, y0 + 1, layer, channel)
                  + fx * texel_value (x0 + 1, y0 + 1, layer, channel));
}

static gboolean
texture_check_compare (const float *got, const Place *places, guint channels, gboolean linear)
{
  for (guint i = 0; i < PLACES; i++)
    for (guint channel = 0; channel < channels; channel++)
      if (!(fabs (got[i * channels + channel]
                  - texture_check_expected (&places[i], channel, linear))
            < 0.5))
        return FALSE;
  return TRUE;
}

static gboolean
texture_check_fetch (TdDevice *device, const TdTextureSpec *spec, const Place *places, float *got,
                     GError **error)
{
  guint channels = td_texel_channels (spec->texel), layers = MAX (spec->layers, 1);
  gsize bytes = WIDTH * HEIGHT * layers * td_texel_bytes (spec->texel);
  gsize out_bytes = PLACES * channels * sizeof (float);
  g_auto (GStrv) defines
      = td_defines ("CHANNELS=%u LINEAR=%d LAYERED=%d", channels, spec->linear, spec->layers > 0);
  g_autofree guint8 *texels = g_malloc (bytes);
  TdKernel *kernel = td_device_kernel (device, "check-texture", (const char *const *) defines,
                                       "td_check_texture", error);

  fill_texels (texels, spec->texel, layers);
  g_autoptr (TdBuffer) from = kernel ? td_buffer_new (device, bytes, error) : NULL;
  g_autoptr (TdBuffer) where = from ? td_buffer_new (device, PLACES * sizeof (Place), error) : NULL;
  g_autoptr (TdBuffer) out = where ? td_buffer_new (device, out_bytes, error) : NULL;
  g_autoptr (TdTexture) texture = out ? td_texture_new (device, spec, error) : NULL;
  g_autoptr (TdQueue) queue = texture ? td_queue_new (device, error) : NULL;
  if (!queue)
    return FALSE;

  gboolean fine
      = td_upload (queue, from, 0, texels, bytes, error)
        && td_upload (queue, where, 0, places, PLACES * sizeof (Place), error)
        && td_texture_write (queue, texture, layers, from, 0, error)
        && td_launch (queue, kernel, (guint[]) { 4, 1, 1 }, (guint[]) { PLACES / 4, 1, 1 },
                      TD_ARGS (texture, where, out), error)
        && td_download (queue, got, out, 0, out_bytes, error);
  return td_queue_finish (queue, fine ? error : NULL) && fine;
}

gboolean
td_texture_check (TdDevice *device, TdTexel texel, gboolean linear, gboolean layered,
                  gboolean *right, GError **error)
{
  TdTextureSpec spec = { .texel = texel,
                         .width = WIDTH,
                         .height = HEIGHT,
                         .layers = layered ? LAYERS : 0,
                         .linear = linear };
  Place places[PLACES];
  float got[PLACES * 4] = { 0 };

  choose_places (places, layered ? LAYERS : 1);
  if (!texture_check_fetch (device, &spec, places, got, error))
    return FALSE;
  *right = texture_check_compare (got, places, td_texel_channels (texel), linear);
  return TRUE;
}
