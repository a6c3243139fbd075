// SPDX-License-Identifier: GPL-3.0-or-later
// The whole picture; no vertex buffer. v_at: 0 … 1 from the left and from the top.
out vec2 v_at;

void main ()
{
  vec2 corner = vec2 (float (gl_VertexID & 1), float (gl_VertexID >> 1));
  gl_Position = vec4 (2.0 * corner - 1.0, 0.0, 1.0);
  v_at = vec2 (corner.x, 1.0 - corner.y);
}
