/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shaders against the software renderers, on desktop OpenGL and on OpenGL ES. */
#include <dlfcn.h>
#include <epoxy/egl.h>
#include <gtk/gtk.h>
#include <math.h>

#include "render/image-renderer.h"
#include "render/soft-renderer.h"
#include "render/space-renderer.h"
#include "render/voxel-renderer.h"

#define WIDTH 200
#define HEIGHT 150

static const TdScreen screen = { WIDTH, HEIGHT, 1 };

/* Where there is no display, a card's own EGL draws. */
typedef struct {
  GdkGLContext *gdk;
  EGLDisplay display;
  EGLContext egl;
} Context;

static gboolean
context_on_display (Context *context, gboolean es)
{
  g_autoptr (GError) error = NULL;
  GdkDisplay *display = gdk_display_get_default ();

  context->gdk = display ? gdk_display_create_gl_context (display, &error) : NULL;
  if (!context->gdk)
    return FALSE;
  gdk_gl_context_set_allowed_apis (context->gdk, es ? GDK_GL_API_GLES : GDK_GL_API_GL);
  if (es)
    gdk_gl_context_set_required_version (context->gdk, 3, 0);
  if (!gdk_gl_context_realize (context->gdk, NULL)) {
    g_clear_object (&context->gdk);
    return FALSE;
  }
  gdk_gl_context_make_current (context->gdk);
  return TRUE;
}

static gboolean
context_of_device (Context *context, EGLDeviceEXT device, gboolean es)
{
  const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
                            es ? EGL_OPENGL_ES3_BIT : EGL_OPENGL_BIT, EGL_NONE };
  const EGLint version[]
      = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, es ? 0 : 3, EGL_NONE };
  EGLConfig config;
  EGLint n = 0;

  context->display = eglGetPlatformDisplayEXT (EGL_PLATFORM_DEVICE_EXT, device, NULL);
  if (!context->display || !eglInitialize (context->display, NULL, NULL))
    return FALSE;
  context->egl = eglBindAPI (es ? EGL_OPENGL_ES_API : EGL_OPENGL_API)
                         && eglChooseConfig (context->display, wanted, &config, 1, &n) && n > 0
                     ? eglCreateContext (context->display, config, EGL_NO_CONTEXT, version)
                     : EGL_NO_CONTEXT;
  if (context->egl
      && eglMakeCurrent (context->display, EGL_NO_SURFACE, EGL_NO_SURFACE, context->egl))
    return TRUE;
  eglTerminate (context->display);
  context->egl = EGL_NO_CONTEXT;
  return FALSE;
}

/* A library that this computer may lack: epoxy ends the program where it is missing. */
static gboolean
context_without_display (Context *context, gboolean es)
{
  void *library = dlopen ("libEGL.so.1", RTLD_LAZY);
  EGLDeviceEXT devices[16];
  EGLint n = 0;

  if (!library
      || (!epoxy_has_egl_extension (EGL_NO_DISPLAY, "EGL_EXT_device_base") /* NVIDIA's */
          && !epoxy_has_egl_extension (EGL_NO_DISPLAY, "EGL_EXT_device_enumeration"))
      || !eglQueryDevicesEXT (G_N_ELEMENTS (devices), devices, &n))
    return FALSE;
  for (EGLint i = 0; i < n; i++)
    if (context_of_device (context, devices[i], es))
      return TRUE;
  return FALSE;
}

/* Is current until context_free(). NULL: there is no such OpenGL here. */
static Context *
context_new (gboolean es)
{
  Context *context = g_new0 (Context, 1);

  if (!context_on_display (context, es)
      && (gdk_display_get_default () || !context_without_display (context, es))) {
    g_free (context);
    return NULL;
  }
  g_test_message ("drawn by %s", (const char *) glGetString (GL_RENDERER));
  return context;
}

static void
context_free (Context *context)
{
  if (context->gdk) {
    gdk_gl_context_clear_current ();
    g_object_unref (context->gdk);
  } else {
    eglMakeCurrent (context->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext (context->display, context->egl);
  }
  g_free (context);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Context, context_free)

static TdImage *
random_image (guint width, guint height, gboolean with_bad)
{
  float *pixels = g_new (float, (gsize) width *height);

  for (gsize i = 0; i < (gsize) width * height; i++)
    pixels[i] = (float) g_test_rand_double_range (-2, 3);
  for (guint k = 0; with_bad && k < 20; k++)
    pixels[g_test_rand_int_range (0, (gint32) (width * height))] = k % 2 ? NAN : INFINITY;
  return td_image_new_take (pixels, width, height);
}

typedef struct {
  GLuint framebuffer, colour;
} Target;

static Target
new_target (void)
{
  Target target;

  glGenFramebuffers (1, &target.framebuffer);
  glGenTextures (1, &target.colour);
  glBindTexture (GL_TEXTURE_2D, target.colour);
  glTexImage2D (GL_TEXTURE_2D, 0, GL_RGBA8, WIDTH, HEIGHT, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glTexParameteri (GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glBindFramebuffer (GL_FRAMEBUFFER, target.framebuffer);
  glFramebufferTexture2D (GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target.colour, 0);
  g_assert_cmpuint (glCheckFramebufferStatus (GL_FRAMEBUFFER), ==, GL_FRAMEBUFFER_COMPLETE);
  glViewport (0, 0, WIDTH, HEIGHT);
  return target;
}

/* What was drawn; the target is gone after it. */
static void
read_target (Target target, guint8 *rgba)
{
  glReadPixels (0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, rgba);
  g_assert_cmpuint (glGetError (), ==, GL_NO_ERROR);
  glBindFramebuffer (GL_FRAMEBUFFER, 0);
  glDeleteFramebuffers (1, &target.framebuffer);
  glDeleteTextures (1, &target.colour);
}

static void
draw_gl (TdImage *image, const TdView *view, const TdStyle *style, const TdSpan *span,
         guint max_tile, guint8 *rgba)
{
  g_autoptr (GError) error = NULL;
  TdImageRenderer *renderer = td_image_renderer_new (&error);

  g_assert_no_error (error);
  Target target = new_target ();
  TdImageTexture *texture = td_image_texture_new (image, max_tile);
  guint portions = 0;
  while (!td_image_texture_upload (texture, 4096))
    portions++;
  g_assert_cmpuint (portions, >, 1);
  td_image_renderer_clear (renderer, style);
  td_image_renderer_draw (renderer, texture, view, style, span, &screen);
  read_target (target, rgba);
  td_image_texture_free (texture);
  td_image_renderer_free (renderer);
}

/* The fraction of pixels that differ by more than rounding. Pixels on an edge between two samples
   may fall to either side. */
static double
compare (TdImage *image, const TdView *view, const TdStyle *style, const TdSpan *span,
         guint max_tile)
{
  g_autofree guint8 *gl = g_malloc0 (4 * WIDTH * HEIGHT);
  g_autofree guint32 *soft = g_new0 (guint32, WIDTH * HEIGHT);
  guint wrong = 0;

  draw_gl (image, view, style, span, max_tile, gl);
  td_soft_clear (style, WIDTH, HEIGHT, soft);
  td_soft_render (image, view, style, span, &screen, soft);
  for (guint y = 0; y < HEIGHT; y++)
    for (guint x = 0; x < WIDTH; x++) {
      const guint8 *a = gl + 4 * ((HEIGHT - 1 - y) * WIDTH + x);
      const guint32 b = soft[y * WIDTH + x];
      for (guint c = 0; c < 3; c++)
        if (abs (a[c] - (int) (b >> (16 - 8 * c) & 255)) > 3) {
          wrong++;
          break;
        }
    }
  return (double) wrong / (WIDTH * HEIGHT);
}

static const TdStyle plain
    = { .low = -1.5, .high = 2.5, .bad_rgb = { 1, 0, 1 }, .background = { 0.1f, 0.1f, 0.1f } };

/* Colours as cairo has them, opaque: red is not blue. */
static void
test_pixels (void)
{
  const TdStyle style = { .low = 0,
                          .high = 1,
                          .map = TD_COLOUR_VIRIDIS,
                          .bad_rgb = { 1, 0.5f, 0 },
                          .background = { 0, 0.2f, 1 } };
  const TdScreen three = { 3, 1, 1 };
  const TdView view = { .zoom = 1 };
  const guint8 *table = td_colour_map_table (TD_COLOUR_VIRIDIS);
  g_autoptr (TdImage) image = random_image (2, 1, FALSE);
  guint32 pixels[3];

  image->pixels[0] = 2;
  image->pixels[1] = NAN;
  td_soft_clear (&style, 3, 1, pixels);
  g_assert_cmphex (pixels[2], ==, 0xff0033ff);
  td_soft_render (image, &view, &style, NULL, &three, pixels);
  const guint32 last
      = 0xff000000 | (guint32) table[1020] << 16 | (guint32) table[1021] << 8 | table[1022];
  g_assert_true (pixels[0] == last || pixels[1] == last);
  g_assert_true (pixels[1] == 0xffff8000 || pixels[2] == 0xffff8000);
}

static void
test_views (gconstpointer es)
{
  g_autoptr (Context) context = context_new (GPOINTER_TO_INT (es));
  static const struct {
    double zoom, x, y;
    gboolean smooth;
    TdColourMap map;
  } cases[] = {
    { 3.7, 2.3, -1.1, FALSE, TD_COLOUR_GREY },     { 3.7, 2.3, -1.1, TRUE, TD_COLOUR_VIRIDIS },
    { 0.37, 0, 0, FALSE, TD_COLOUR_INVERSE },      { 0.61, 20, 9, TRUE, TD_COLOUR_MAGMA },
    { 1.13, -30.2, 12.7, FALSE, TD_COLOUR_TURBO },
  };

  if (!context) {
    g_test_skip ("no such OpenGL here");
    return;
  }
  g_autoptr (TdImage) image = random_image (113, 97, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdStyle style = plain;
    TdView view = { cases[i].zoom, cases[i].x, cases[i].y, i % 2 ? 1.7 : 1 };
    style.smooth = cases[i].smooth;
    style.map = cases[i].map;
    double wrong = compare (image, &view, &style, NULL, 0);
    g_test_message ("case %u: %.4f", i, wrong);
    g_assert_cmpfloat (wrong, <, 0.01);
  }
}

/* Tiles of 34 texels: nothing of the seams may be seen. */
static void
test_tiles (void)
{
  g_autoptr (Context) context = context_new (FALSE);
  TdStyle style = plain;
  TdView view = { 1.9, 0.4, 0.3, 1 };

  if (!context) {
    g_test_skip ("no OpenGL here");
    return;
  }
  g_autoptr (TdImage) image = random_image (101, 75, FALSE);
  style.smooth = TRUE;
  g_assert_cmpfloat (compare (image, &view, &style, NULL, 34), <, 0.01);
}

static void
test_span (void)
{
  g_autoptr (Context) context = context_new (FALSE);
  TdView view = { 1.5, 0, 0, 0.3 };
  TdSpan span = { 0.25, 0.6 };

  if (!context) {
    g_test_skip ("no OpenGL here");
    return;
  }
  g_autoptr (TdImage) image = random_image (101, 75, FALSE);
  g_assert_cmpfloat (compare (image, &view, &plain, &span, 0), <, 0.01);
}

/* ── Spaces ── */

static TdInk
random_ink (double opacity)
{
  return (TdInk) { { (float) g_test_rand_double (), (float) g_test_rand_double (),
                     (float) g_test_rand_double (), (float) opacity } };
}

static TdSpace *
random_space (void)
{
  TdSpace *space = td_space_new ();

  for (guint i = 0; i < 12; i++) {
    double p[3][3];
    for (guint k = 0; k < 9; k++)
      p[k / 3][k % 3] = g_test_rand_double_range (-1, 1);
    td_space_triangle (space, p[0], p[1], p[2], random_ink (0.4));
    td_space_line (space, p[0], p[1], random_ink (1), 2.5);
    td_space_dot (space, p[2], random_ink (1), 9);
  }
  return space;
}

/* The same shapes by OpenGL and by cairo: edges are covered a little differently, and lines meet in
   other ways. A picture that is mirrored or in another order differs ten times as much. */
static void
test_space (gconstpointer es)
{
  g_autoptr (Context) context = context_new (GPOINTER_TO_INT (es));
  const TdInk background = { { 0.1f, 0.1f, 0.12f, 1 } };
  g_autofree guint8 *gl = g_malloc0 (4 * WIDTH * HEIGHT);
  g_autoptr (GError) error = NULL;
  double sum = 0;
  guint far = 0;

  if (!context) {
    g_test_skip ("no such OpenGL here");
    return;
  }
  g_autoptr (TdSpace) space = random_space ();
  TdCamera camera;
  td_camera_init (&camera, (double[3]) { 0, 0, 0 }, 1.4); /* some of it is cut off */
  camera.yaw_rad = 0.7;
  camera.pitch_rad = 0.4;
  g_autoptr (GArray) shapes = td_space_project (space, &camera, WIDTH, HEIGHT, 1);
  TdSpaceRenderer *renderer = td_space_renderer_new (&error);
  g_assert_no_error (error);
  Target target = new_target ();
  td_space_renderer_draw (renderer, shapes, background, WIDTH, HEIGHT);
  read_target (target, gl);
  td_space_renderer_free (renderer);

  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
  cairo_t *cr = cairo_create (surface);
  td_soft_space_draw (cr, shapes, background);
  cairo_surface_flush (surface);
  for (guint y = 0; y < HEIGHT; y++)
    for (guint x = 0; x < WIDTH; x++) {
      const guint8 *a = gl + 4 * ((HEIGHT - 1 - y) * WIDTH + x);
      const guint32 b = *(const guint32 *) (cairo_image_surface_get_data (surface)
                                            + y * cairo_image_surface_get_stride (surface) + 4 * x);
      const int difference
          = MAX (abs (a[0] - (int) (b >> 16 & 255)),
                 MAX (abs (a[1] - (int) (b >> 8 & 255)), abs (a[2] - (int) (b & 255))));
      sum += difference;
      far += difference > 64;
    }
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  g_test_message ("mean difference %.3f, far off %.5f", sum / (WIDTH * HEIGHT),
                  (double) far / (WIDTH * HEIGHT));
  g_assert_cmpfloat (sum / (WIDTH * HEIGHT), <, 4);
  g_assert_cmpfloat ((double) far / (WIDTH * HEIGHT), <, 0.01);
}

/* ── Voxels ── */

/* Values that change slowly, so that half floats and the card's filter agree with the truth. */
static TdVoxels *
random_voxels (void)
{
  static const guint n[3] = { 31, 23, 27 };
  static const double size[3] = { 3.1, 4.6, 2.7 };
  g_autofree float *values = g_new (float, n[0] * n[1] * n[2]);
  double phase[3];

  for (guint i = 0; i < 3; i++)
    phase[i] = g_test_rand_double_range (0, 6);
  for (guint k = 0; k < n[2]; k++)
    for (guint j = 0; j < n[1]; j++)
      for (guint i = 0; i < n[0]; i++)
        values[(k * n[1] + j) * n[0] + i]
            = (float) (3 * sin (0.3 * i + phase[0]) * sin (0.4 * j + phase[1])
                       * sin (0.35 * k + phase[2]));
  return td_voxels_new (values, n, size);
}

static void
test_voxels (gconstpointer es)
{
  g_autoptr (Context) context = context_new (GPOINTER_TO_INT (es));
  g_autoptr (GError) error = NULL;

  if (!context) {
    g_test_skip ("no such OpenGL here");
    return;
  }
  g_autoptr (TdVoxels) voxels = random_voxels ();
  TdVoxelRenderer *renderer = td_voxel_renderer_new (&error);
  g_assert_no_error (error);
  for (guint round = 0; round <= TD_CAST_COMPOSITE + 1; round++) { /* composites with and without */
    const TdCastKind kind = (TdCastKind) MIN (round, TD_CAST_COMPOSITE);
    const TdCast cast = { .kind = kind,
                          .map = TD_COLOUR_VIRIDIS,
                          .low = -1,
                          .high = 2.5,
                          .opacity = 4,
                          .peak = round > TD_CAST_COMPOSITE ? 0.4 : 0,
                          .clip = { { 0.2, 1 }, { 0, 0.9 }, { 0, 1 } } };
    g_autofree guint8 *gl = g_malloc0 (4 * WIDTH * HEIGHT), *soft = g_malloc0 (4 * WIDTH * HEIGHT);
    TdCamera camera;
    double sum = 0;

    td_camera_init (&camera, (double[3]) { 0 }, 3);
    camera.yaw_rad = 0.6 + kind;
    camera.pitch_rad = 0.5 - 0.4 * kind;
    camera.zoom = 1.2;
    camera.pan_x = 0.1;
    Target target = new_target ();
    glClearColor (0, 0, 0, 0);
    glClear (GL_COLOR_BUFFER_BIT);
    g_assert_false (td_voxel_renderer_draw (renderer, voxels, &cast, &camera, WIDTH, HEIGHT));
    read_target (target, gl);
    g_assert_true (td_voxels_cast (voxels, &cast, &camera, WIDTH, HEIGHT, NULL, soft));
    guint seen = 0;
    for (guint y = 0; y < HEIGHT; y++)
      for (guint x = 0; x < 4 * WIDTH; x++) {
        sum += abs (gl[4 * (HEIGHT - 1 - y) * WIDTH + x] - soft[4 * y * WIDTH + x]);
        seen += x % 4 == 3 && soft[4 * y * WIDTH + x] > 20;
      }
    g_test_message ("kind %d: mean difference %.3f, %u pixels seen", kind,
                    sum / (4 * WIDTH * HEIGHT), seen);
    g_assert_cmpuint (seen, >, WIDTH * HEIGHT / 10);
    g_assert_cmpfloat (sum / (4 * WIDTH * HEIGHT), <, 1);
  }
  td_voxel_renderer_free (renderer);
}

/* The red of the picture's middle, of a volume of 1 seen from above: the mean over its layers. */
static guint
middle_of (TdVoxelRenderer *renderer, TdVoxels *voxels, gboolean *more)
{
  const TdCast cast = { .kind = TD_CAST_MAXIMUM,
                        .map = TD_COLOUR_GREY,
                        .low = 0,
                        .high = 1,
                        .clip = { { 0, 1 }, { 0, 1 }, { 0, 1 } } };
  g_autofree guint8 *gl = g_malloc0 (4 * WIDTH * HEIGHT);
  TdCamera camera;

  td_camera_init (&camera, (double[3]) { 0 }, 300);
  camera.pitch_rad = 1.4;
  Target target = new_target ();
  glClearColor (0, 0, 0, 0);
  glClear (GL_COLOR_BUFFER_BIT);
  *more = td_voxel_renderer_draw (renderer, voxels, &cast, &camera, WIDTH, HEIGHT);
  read_target (target, gl);
  return gl[4 * (HEIGHT / 2 * WIDTH + WIDTH / 2)];
}

/* A large volume comes with several draws: its last layer, the only one that is not 0, with the
   last. */
static void
test_large_voxels (void)
{
  static const guint n[3] = { 256, 256, 80 };
  static const double size[3] = { 256, 256, 80 };
  const gsize layer = (gsize) n[0] * n[1];
  g_autofree float *values = g_new0 (float, layer *n[2]);
  g_autoptr (Context) context = context_new (FALSE);
  gboolean more;

  if (!context) {
    g_test_skip ("no such OpenGL here");
    return;
  }
  for (gsize i = 0; i < layer; i++)
    values[(n[2] - 1) * layer + i] = 1;
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  TdVoxelRenderer *renderer = td_voxel_renderer_new (NULL);
  g_assert_cmpuint (middle_of (renderer, voxels, &more), <, 20);
  g_assert_true (more);
  g_assert_cmpuint (middle_of (renderer, voxels, &more), >, 200);
  g_assert_false (more);
  td_voxel_renderer_free (renderer);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  gtk_init_check (); /* a card without a display draws, too */
  g_test_add_func ("/render-gl/pixels", test_pixels);
  g_test_add_data_func ("/render-gl/desktop", GINT_TO_POINTER (FALSE), test_views);
  g_test_add_data_func ("/render-gl/es", GINT_TO_POINTER (TRUE), test_views);
  g_test_add_func ("/render-gl/tiles", test_tiles);
  g_test_add_func ("/render-gl/span", test_span);
  g_test_add_data_func ("/render-gl/space", GINT_TO_POINTER (FALSE), test_space);
  g_test_add_data_func ("/render-gl/voxels", GINT_TO_POINTER (FALSE), test_voxels);
  g_test_add_data_func ("/render-gl/voxels-es", GINT_TO_POINTER (TRUE), test_voxels);
  g_test_add_func ("/render-gl/large-voxels", test_large_voxels);
  g_test_add_data_func ("/render-gl/space-es", GINT_TO_POINTER (TRUE), test_space);
  return g_test_run ();
}
