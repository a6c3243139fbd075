// SPDX-License-Identifier: GPL-3.0-or-later
// Rays through a box of values. Places are parts of the box, 0 to 1 along column, row and layer.
#ifdef GL_ES
precision highp sampler3D;
#endif
uniform sampler3D u_values;
uniform sampler2D u_map;
uniform int u_kind;        // 0: maximum, 1: average, 2: composite
uniform vec2 u_window;     // low, 1 / (high - low)
uniform float u_extinction, u_peak;
uniform vec3 u_clip_from, u_clip_to, u_size, u_cells;
uniform vec3 u_eye, u_corner, u_across, u_down;
in vec2 v_at;
out vec4 o_colour;

vec4 colour (float t, float opacity)
{
  return vec4 (texelFetch (u_map, ivec2 (int (t * 255.0 + 0.5), 0), 0).rgb, 1.0) * opacity;
}

float shade (float v)
{
  return clamp ((v - u_window.x) * u_window.y, 0.0, 1.0);
}

// The part of the extinction that a value has.
float density (float t)
{
  return t <= u_peak ? t / u_peak : (1.0 - t) / (1.0 - u_peak);
}

void main ()
{
  vec3 along = u_corner + v_at.x * u_across + v_at.y * u_down;
  // A ray along a side of the box divides by almost nothing, with the right sign.
  vec3 safe = mix (along, vec3 (1e-12), lessThan (abs (along), vec3 (1e-12)));
  vec3 a = (u_clip_from - u_eye) / safe, b = (u_clip_to - u_eye) / safe;
  vec3 nearest = min (a, b), farthest = max (a, b);
  float from = max (max (nearest.x, nearest.y), max (nearest.z, 0.0));
  float to = min (farthest.x, min (farthest.y, farthest.z));
  o_colour = vec4 (0.0);
  if (!(from < to))
    return;
  int steps = int (clamp (ceil ((to - from) * length (along * u_cells)), 1.0, 4096.0));
  float pace = (to - from) / float (steps);
  float extinction = u_extinction * pace * length (along * u_size);
  float most = 0.0, sum = 0.0;
  for (int s = 0; s < steps && o_colour.a < 0.99; s++) {
    float v = texture (u_values, u_eye + (from + (float (s) + 0.5) * pace) * along).r;
    if (u_kind == 2) {
      float t = shade (v);
      o_colour += colour (t, (1.0 - o_colour.a) * (1.0 - exp (-extinction * density (t))));
    }
    most = max (most, v);
    sum += v;
  }
  if (u_kind != 2) {
    float t = shade (u_kind == 0 ? most : sum / float (steps));
    o_colour = colour (t, t);
  }
}
