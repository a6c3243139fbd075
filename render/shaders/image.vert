// SPDX-License-Identifier: GPL-3.0-or-later
// One tile: a rectangle in clip space, with texel coordinates at its corners. No vertex buffer.
uniform vec4 u_rect;  // left, top, right, bottom
uniform vec4 u_texel; // the same corners in texels of the tile
out vec2 v_texel;

void main ()
{
  vec2 corner = vec2 (float (gl_VertexID & 1), float (gl_VertexID >> 1));
  gl_Position = vec4 (mix (u_rect.xy, u_rect.zw, corner), 0.0, 1.0);
  v_texel = mix (u_texel.xy, u_texel.zw, corner);
}
