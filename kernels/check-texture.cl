/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fetches at given places, to see whether a device's textures are right. Defines: CHANNELS 1, 2, 4;
   LINEAR 0, 1; LAYERED 0, 1. */

#define TD_PASTE_(a, b, c) a##b##c
#define TD_PASTE(a, b, c) TD_PASTE_ (a, b, c)
#if LINEAR
#define FETCH TD_PASTE (td_fetch, CHANNELS, _linear)
#define LAYER TD_PASTE (td_layer, CHANNELS, _linear)
#else
#define FETCH TD_PASTE (td_fetch, CHANNELS, _nearest)
#define LAYER TD_PASTE (td_layer, CHANNELS, _nearest)
#endif
#if CHANNELS == 1
typedef float TdCheckTexel;
#elif CHANNELS == 2
typedef float2 TdCheckTexel;
#else
typedef float4 TdCheckTexel;
#endif

/* places: x, y, layer, unused. out: CHANNELS floats a place. */
TD_KERNEL void
#if LAYERED
td_check_texture (TD_ITEM TD_TEXTURE_LAYERS texture, TD_GLOBAL const float4 *places,
                  TD_GLOBAL TdCheckTexel *out)
#else
td_check_texture (TD_ITEM TD_TEXTURE texture, TD_GLOBAL const float4 *places,
                  TD_GLOBAL TdCheckTexel *out)
#endif
{
  const int i = td_global_x ();
  const float4 p = places[i];

#if LAYERED
  out[i] = LAYER (texture, p.x, p.y, (int) p.z);
#else
  out[i] = FETCH (texture, p.x, p.y);
#endif
}
