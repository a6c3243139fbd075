// SPDX-License-Identifier: GPL-3.0-or-later
// Positions in pixels, y down.
uniform vec2 u_size;
layout (location = 0) in vec2 a_position;
layout (location = 1) in vec4 a_colour;
layout (location = 2) in vec3 a_edge;
out vec4 v_colour;
out vec3 v_edge;

void main ()
{
  gl_Position = vec4 (2.0 * a_position.x / u_size.x - 1.0, 1.0 - 2.0 * a_position.y / u_size.y, 0.0,
                      1.0);
  v_colour = a_colour;
  v_edge = a_edge;
}
