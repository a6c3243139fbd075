// SPDX-License-Identifier: GPL-3.0-or-later
// Lines and dots cover the pixels at their edge in part.
in vec4 v_colour;
in vec3 v_edge;
out vec4 o_colour;

void main ()
{
  float cover = clamp (v_edge.z + 0.5 - length (v_edge.xy), 0.0, 1.0);
  o_colour = vec4 (v_colour.rgb, v_colour.a * cover);
}
