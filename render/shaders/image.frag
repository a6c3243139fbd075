// SPDX-License-Identifier: GPL-3.0-or-later
// Window/level and colour map. Filtering is done here, not by the sampler: 32-bit float textures are
// not filterable everywhere, and a NaN must not spread into its neighbours.
uniform sampler2D u_image;
uniform sampler2D u_map;
uniform ivec2 u_size;      // texels of the tile
uniform vec2 u_window;     // low, 1 / (high - low)
uniform vec3 u_bad;
uniform vec2 u_footprint;  // texels a screen pixel covers
uniform bool u_smooth;
in vec2 v_texel;
out vec4 o_colour;

const int MAX_TAPS = 4;

// By bits: a driver that assumes no NaNs may drop isnan ().
bool is_bad (float v)
{
  return (floatBitsToUint (v) & 0x7f800000u) == 0x7f800000u;
}

float fetch (ivec2 at)
{
  return texelFetch (u_image, clamp (at, ivec2 (0), u_size - 1), 0).r;
}

float linear (vec2 at)
{
  float nearest = fetch (ivec2 (floor (at)));
  if (is_bad (nearest))
    return nearest;
  vec2 p = at - 0.5;
  ivec2 i = ivec2 (floor (p));
  vec2 f = p - vec2 (i);
  float sum = 0.0, weights = 0.0;
  for (int k = 0; k < 4; k++) {
    ivec2 d = ivec2 (k & 1, k >> 1);
    float v = fetch (i + d);
    float w = (d.x == 1 ? f.x : 1.0 - f.x) * (d.y == 1 ? f.y : 1.0 - f.y);
    if (!is_bad (v)) {
      sum += w * v;
      weights += w;
    }
  }
  return sum / weights;
}

float average (vec2 at)
{
  ivec2 taps = clamp (ivec2 (ceil (u_footprint)), ivec2 (1), ivec2 (MAX_TAPS));
  vec2 pace = u_footprint / vec2 (taps);
  vec2 first = at - 0.5 * u_footprint + 0.5 * pace;
  float sum = 0.0;
  for (int j = 0; j < taps.y; j++)
    for (int i = 0; i < taps.x; i++) {
      float v = fetch (ivec2 (floor (first + pace * vec2 (ivec2 (i, j)))));
      if (is_bad (v))
        return v;
      sum += v;
    }
  return sum / float (taps.x * taps.y);
}

void main ()
{
  float v;
  if (max (u_footprint.x, u_footprint.y) > 1.0)
    v = average (v_texel);
  else
    v = u_smooth ? linear (v_texel) : fetch (ivec2 (floor (v_texel)));
  if (is_bad (v)) {
    o_colour = vec4 (u_bad, 1.0);
    return;
  }
  float t = clamp ((v - u_window.x) * u_window.y, 0.0, 1.0);
  o_colour = texelFetch (u_map, ivec2 (int (t * 255.0 + 0.5), 0), 0);
}
