/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "voxel-renderer.h"

#include <math.h>

/* Sent to the card in one draw, as floats: some milliseconds. */
#define UPLOAD_BYTES (16u << 20)

struct TdVoxelRenderer {
  GLuint program, vertex_array, values, map;
  TdVoxels *voxels; /* that are uploaded; NULL: none */
  guint layers;     /* of them that are */
  int shown_map;    /* that is uploaded; -1: none */
};

TdVoxelRenderer *
td_voxel_renderer_new (GError **error)
{
  GLuint program = td_gl_program ("voxels.vert", "voxels.frag", error);
  if (!program)
    return NULL;
  TdVoxelRenderer *r = g_new0 (TdVoxelRenderer, 1);

  r->program = program;
  r->shown_map = -1;
  glGenVertexArrays (1, &r->vertex_array);
  glGenTextures (1, &r->values);
  glGenTextures (1, &r->map);
  return r;
}

/* The next ones, if any are left. The texture is bound. */
static void
voxel_renderer_upload_layers (TdVoxelRenderer *r)
{
  const gsize layer = (gsize) r->voxels->nx * r->voxels->ny;
  const guint most = (guint) MAX (UPLOAD_BYTES / (layer * sizeof (float)), 1);
  const guint n = MIN (most, r->voxels->nz - r->layers);

  if (n == 0)
    return;
  glPixelStorei (GL_UNPACK_ALIGNMENT, 4);
  glTexSubImage3D (GL_TEXTURE_3D, 0, 0, 0, (GLint) r->layers, (GLsizei) r->voxels->nx,
                   (GLsizei) r->voxels->ny, (GLsizei) n, GL_RED, GL_FLOAT,
                   r->voxels->values + r->layers * layer);
  r->layers += n;
}

/* Half floats are filtered everywhere, and hold 0 … 1 to better than a shade. */
static void
voxel_renderer_upload (TdVoxelRenderer *r, TdVoxels *voxels)
{
  static const GLenum sides[] = { GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R };

  glActiveTexture (GL_TEXTURE0);
  glBindTexture (GL_TEXTURE_3D, r->values);
  if (r->voxels == voxels) {
    voxel_renderer_upload_layers (r);
    return;
  }
  g_clear_pointer (&r->voxels, td_voxels_unref);
  r->voxels = td_voxels_ref (voxels);
  glTexImage3D (GL_TEXTURE_3D, 0, GL_R16F, (GLsizei) voxels->nx, (GLsizei) voxels->ny,
                (GLsizei) voxels->nz, 0, GL_RED, GL_FLOAT, NULL);
  r->layers = 0;
  voxel_renderer_upload_layers (r);
  glTexParameteri (GL_TEXTURE_3D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glTexParameteri (GL_TEXTURE_3D, GL_TEXTURE_MAX_LEVEL, 0);
  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    glTexParameteri (GL_TEXTURE_3D, sides[i], GL_CLAMP_TO_EDGE);
}

static void
voxel_renderer_set3 (TdVoxelRenderer *r, const char *name, double x, double y, double z)
{
  glUniform3f (glGetUniformLocation (r->program, name), (float) x, (float) y, (float) z);
}

/* Rays are linear in the pixel: three corners of the picture say them all. */
static void
voxel_renderer_set_rays (TdVoxelRenderer *r, const TdVoxels *voxels, const TdCamera *camera,
                         guint width, guint height)
{
  static const double sign[3] = { 1, -1, -1 };
  double eye[3], corner[3][3];

  for (guint k = 0; k < 3; k++)
    td_camera_ray (camera, width, height, k == 1 ? width : 0, k == 2 ? height : 0, eye, corner[k]);
  for (guint i = 0; i < 3; i++) {
    eye[i] = 0.5 + sign[i] * eye[i] / voxels->size[i];
    for (guint k = 0; k < 3; k++)
      corner[k][i] *= sign[i] / voxels->size[i];
    corner[1][i] -= corner[0][i];
    corner[2][i] -= corner[0][i];
  }
  voxel_renderer_set3 (r, "u_eye", eye[0], eye[1], eye[2]);
  voxel_renderer_set3 (r, "u_corner", corner[0][0], corner[0][1], corner[0][2]);
  voxel_renderer_set3 (r, "u_across", corner[1][0], corner[1][1], corner[1][2]);
  voxel_renderer_set3 (r, "u_down", corner[2][0], corner[2][1], corner[2][2]);
}

gboolean
td_voxel_renderer_draw (TdVoxelRenderer *r, TdVoxels *voxels, const TdCast *cast,
                        const TdCamera *camera, guint width, guint height)
{
  const double longest = fmax (voxels->size[0], fmax (voxels->size[1], voxels->size[2]));

  glDisable (GL_DEPTH_TEST);
  glDisable (GL_SCISSOR_TEST);
  glEnable (GL_BLEND);
  glBlendFuncSeparate (GL_ONE, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glUseProgram (r->program);
  glBindVertexArray (r->vertex_array);
  voxel_renderer_upload (r, voxels);
  td_gl_bind_map (r->map, cast->map, &r->shown_map);
  voxel_renderer_set_rays (r, voxels, camera, width, height);
  glUniform1i (glGetUniformLocation (r->program, "u_values"), 0);
  glUniform1i (glGetUniformLocation (r->program, "u_map"), 1);
  glUniform1i (glGetUniformLocation (r->program, "u_kind"), (GLint) cast->kind);
  glUniform2f (glGetUniformLocation (r->program, "u_window"),
               (float) ((cast->low - voxels->minimum) / voxels->range),
               (float) (voxels->range / fmax (cast->high - cast->low, 1e-30)));
  glUniform1f (glGetUniformLocation (r->program, "u_extinction"),
               (float) (cast->opacity / longest));
  glUniform1f (glGetUniformLocation (r->program, "u_peak"),
               cast->peak > 0 ? (float) cast->peak : 1);
  voxel_renderer_set3 (r, "u_clip_from", cast->clip[0][0], cast->clip[1][0], cast->clip[2][0]);
  /* What is not there yet is not shown: the last layer that is has half a voxel to fade in. */
  const double there = r->layers == voxels->nz ? 1 : (r->layers - 0.5) / voxels->nz;
  voxel_renderer_set3 (r, "u_clip_to", cast->clip[0][1], cast->clip[1][1],
                       fmin (cast->clip[2][1], there));
  voxel_renderer_set3 (r, "u_size", voxels->size[0], voxels->size[1], voxels->size[2]);
  voxel_renderer_set3 (r, "u_cells", voxels->nx, voxels->ny, voxels->nz);
  glDrawArrays (GL_TRIANGLE_STRIP, 0, 4);
  glBindVertexArray (0);
  glUseProgram (0);
  glDisable (GL_BLEND);
  return r->layers < voxels->nz;
}

void
td_voxel_renderer_free (TdVoxelRenderer *r)
{
  if (!r)
    return;
  glDeleteProgram (r->program);
  glDeleteVertexArrays (1, &r->vertex_array);
  glDeleteTextures (1, &r->values);
  glDeleteTextures (1, &r->map);
  g_clear_pointer (&r->voxels, td_voxels_unref);
  g_free (r);
}
