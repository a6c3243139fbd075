/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A space that is turned, moved and zoomed by hand: dots of four colours are seen where a camera of
   the test's own sees them. */
#include <math.h>

#include <adwaita.h>

#include "hand.h"
#include "ui-test.h"
#include "ui/space-view.h"
#include "ui/ui.h"

enum { WIDTH = 220, HEIGHT = 160, DOTS = 4, MOST_TRIES = 100 };

static const double dots[DOTS][3]
    = { { 1, 0, 0 }, { 0, 0.8, 0 }, { 0, 0, 0.9 }, { -0.7, -0.5, -0.3 } };
static const TdInk inks[DOTS]
    = { { { 1, 0, 0, 1 } }, { { 0, 1, 0, 1 } }, { { 0, 0, 1, 1 } }, { { 1, 1, 0, 1 } } };

static GtkWidget *window;
static TdSpaceView *view;
static int view_width = WIDTH, view_height = HEIGHT;

/* Where the colour's pixels lie in the middle; FALSE: there are none. */
static gboolean
find_colour (const guint8 *pixels, const TdInk *ink, double *x, double *y)
{
  double sum_x = 0, sum_y = 0, n = 0;

  for (int i = 0; i < view_width * view_height; i++) {
    const guint8 *p = pixels + 4 * i;
    gboolean same = TRUE;
    for (guint c = 0; c < 3; c++)
      same = same && fabs (p[2 - c] - 255 * ink->rgba[c]) < 60;
    if (same) {
      sum_x += i % view_width + 0.5;
      sum_y += i / view_width + 0.5;
      n++;
    }
  }
  *x = sum_x / n;
  *y = sum_y / n;
  return n > 0;
}

static guint8 *
look (void)
{
  g_autoptr (GBytes) png = td_test_picture_at_rest (GTK_WIDGET (view));
  g_autoptr (GError) error = NULL;
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_bytes (png, &error);
  guint8 *pixels = g_malloc (4 * (gsize) view_width * (gsize) view_height);

  g_assert_no_error (error);
  g_assert_cmpint (gdk_texture_get_width (texture), ==, view_width);
  g_assert_cmpint (gdk_texture_get_height (texture), ==, view_height);
  gdk_texture_download (texture, pixels, 4 * (gsize) view_width);
  return pixels;
}

static void
assert_seen (const TdCamera *camera)
{
  g_autofree guint8 *pixels = look ();

  for (guint i = 0; i < DOTS; i++) {
    double x, y, depth, seen_x, seen_y;
    td_camera_project (camera, WIDTH, HEIGHT, dots[i], &x, &y, &depth);
    if (x < 6 || y < 6 || x > WIDTH - 6 || y > HEIGHT - 6)
      continue; /* not the whole dot */
    g_assert_true (find_colour (pixels, &inks[i], &seen_x, &seen_y));
    g_test_message ("%u: %.1f, %.1f for %.1f, %.1f", i, seen_x, seen_y, x, y);
    g_assert_cmpfloat (hypot (seen_x - x, seen_y - y), <, 1);
  }
}

static gboolean
is_sized (gpointer widget)
{
  return gtk_widget_get_width (widget) == view_width
         && gtk_widget_get_height (widget) == view_height;
}

static void
make_view (void)
{
  const double middle[3] = { 0.1, 0, 0 };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  TdSpace *space = td_space_new ();

  view = g_object_new (TD_TYPE_SPACE_VIEW, NULL);
  window = gtk_window_new ();
  gtk_widget_set_hexpand (GTK_WIDGET (view), FALSE);
  gtk_widget_set_vexpand (GTK_WIDGET (view), FALSE);
  gtk_widget_set_size_request (GTK_WIDGET (view), view_width, view_height);
  gtk_widget_set_halign (GTK_WIDGET (view), GTK_ALIGN_START);
  gtk_widget_set_valign (GTK_WIDGET (view), GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), GTK_WIDGET (view));
  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_window_set_default_size (GTK_WINDOW (window), view_width, view_height);
  gtk_window_present (GTK_WINDOW (window));
  for (guint i = 0; i < DOTS; i++)
    td_space_dot (space, dots[i], inks[i], 9);
  td_space_view_take_space (view, space);
  td_space_view_set_ball (view, middle, 1.3);
  td_test_wait (is_sized, view, "the view's size");
}

static TdCamera
first_camera (void)
{
  const double middle[3] = { 0.1, 0, 0 };
  TdCamera camera;

  td_camera_init (&camera, middle, 1.3);
  camera.yaw_rad = 38 * G_PI / 180;
  camera.pitch_rad = 24 * G_PI / 180;
  camera.zoom = 1;
  camera.pan_x = camera.pan_y = 0;
  return camera;
}

#define DEGREE (G_PI / 180)

typedef struct {
  guint key;
  GdkModifierType state;
  double yaw, pitch, zoom, pan_x, pan_y; /* what changes; zoom: the factor */
} Key;

static void
test_keys (void)
{
  static const Key keys[] = {
    { GDK_KEY_Left, 0, 5 * DEGREE, 0, 1, 0, 0 },
    { GDK_KEY_Right, 0, -5 * DEGREE, 0, 1, 0, 0 },
    { GDK_KEY_Up, GDK_SHIFT_MASK, 0, -DEGREE, 1, 0, 0 },
    { GDK_KEY_Down, 0, 0, 5 * DEGREE, 1, 0, 0 },
    { GDK_KEY_Right, GDK_CONTROL_MASK, 0, 0, 1, 0.05, 0 },
    { GDK_KEY_Up, GDK_CONTROL_MASK, 0, 0, 1, 0, -0.05 },
    { GDK_KEY_plus, 0, 0, 0, 1.25, 0, 0 },
    { GDK_KEY_Left, GDK_CONTROL_MASK, 0, 0, 1, -0.04, 0 }, /* zoomed */
    { GDK_KEY_Down, GDK_CONTROL_MASK, 0, 0, 1, 0, 0.04 },
    { GDK_KEY_minus, 0, 0, 0, 0.8, 0, 0 },
    { GDK_KEY_minus, 0, 0, 0, 0.8, 0, 0 },
  };
  TdCamera camera = first_camera ();
  gboolean taken;

  make_view ();
  gpointer typed = hand_on (view, GTK_TYPE_EVENT_CONTROLLER_KEY);
  assert_seen (&camera);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_signal_emit_by_name (typed, "key-pressed", keys[i].key, 0, keys[i].state, &taken);
    g_assert_true (taken);
    camera.yaw_rad += keys[i].yaw;
    camera.pitch_rad += keys[i].pitch;
    camera.zoom *= keys[i].zoom;
    camera.pan_x += keys[i].pan_x;
    camera.pan_y += keys[i].pan_y;
    assert_seen (&camera);
  }
  g_signal_emit_by_name (typed, "key-pressed", GDK_KEY_a, 0, 0, &taken);
  g_assert_false (taken);
  g_signal_emit_by_name (typed, "key-pressed", GDK_KEY_0, 0, 0, &taken);
  camera = first_camera ();
  assert_seen (&camera);
  /* No farther down than from below. */
  for (guint i = 0; i < 25; i++)
    g_signal_emit_by_name (typed, "key-pressed", GDK_KEY_Down, 0, 0, &taken);
  camera.pitch_rad = G_PI / 2;
  assert_seen (&camera);
  for (guint i = 0; i < 45; i++)
    g_signal_emit_by_name (typed, "key-pressed", GDK_KEY_Up, 0, 0, &taken);
  camera.pitch_rad = -G_PI / 2;
  assert_seen (&camera);
  td_space_view_look_from (view, -70, 10);
  camera.yaw_rad = -70 * DEGREE;
  camera.pitch_rad = 10 * DEGREE;
  assert_seen (&camera);
  for (guint i = 0; i < 12; i++)
    g_signal_emit_by_name (typed, "key-pressed", GDK_KEY_minus, 0, 0, &taken);
  camera.zoom = 0.2; /* the least */
  assert_seen (&camera);
  const double other[3] = { 0, 0.3, 0 };
  td_space_view_set_ball (view, other, 0.4); /* the hand's changes stay */
  TdCamera ball;
  td_camera_init (&ball, other, 0.4);
  ball.yaw_rad = camera.yaw_rad;
  ball.pitch_rad = camera.pitch_rad;
  ball.zoom = 0.2;
  ball.pan_x = ball.pan_y = 0;
  assert_seen (&ball);
  gtk_window_destroy (GTK_WINDOW (window));
}

/* The near side follows the pointer, or all of it where a key or another button is held. */
static void
test_drags (void)
{
  static const struct {
    guint button;
    GdkModifierType keys;
    double dx, dy;
    gboolean moves;
  } drags[] = {
    { GDK_BUTTON_PRIMARY, 0, 40, 0, FALSE },
    { GDK_BUTTON_PRIMARY, 0, -10, 25, FALSE },
    { GDK_BUTTON_PRIMARY, GDK_SHIFT_MASK, 16, 8, TRUE },
    { GDK_BUTTON_MIDDLE, 0, -24, -16, TRUE },
    { GDK_BUTTON_PRIMARY, GDK_CONTROL_MASK, 30, 0, FALSE },
  };
  TdCamera camera = first_camera ();
  gboolean taken;

  make_view ();
  gpointer drag = hand_on (view, GTK_TYPE_GESTURE_DRAG);
  gpointer scroll = hand_on (view, GTK_TYPE_EVENT_CONTROLLER_SCROLL);
  for (guint i = 0; i < G_N_ELEMENTS (drags); i++) {
    held_button = drags[i].button;
    held_keys = drags[i].keys;
    g_signal_emit_by_name (drag, "drag-begin", 50.0, 50.0);
    g_signal_emit_by_name (drag, "drag-update", 1.0, 2.0);
    g_signal_emit_by_name (drag, "drag-update", drags[i].dx, drags[i].dy);
    if (drags[i].moves) { /* parts of the lesser side */
      camera.pan_x += drags[i].dx / HEIGHT / camera.zoom;
      camera.pan_y += drags[i].dy / HEIGHT / camera.zoom;
    } else {
      camera.yaw_rad -= 0.008 * drags[i].dx;
      camera.pitch_rad += 0.008 * drags[i].dy;
    }
    assert_seen (&camera);
    g_signal_emit_by_name (scroll, "scroll", 0.0, i % 2 ? 1.0 : -0.5, &taken);
    g_assert_true (taken);
    camera.zoom *= pow (1.25, i % 2 ? -1 : 0.5);
    assert_seen (&camera);
  }
  held_keys = 0;
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── Labels ── */

/* The bounds of the dark grounds, from what is no longer the background. */
static void
label_bounds (const guint8 *pixels, int *left, int *top, int *right, int *bottom)
{
  *left = *top = G_MAXINT;
  *right = *bottom = -1;
  for (int i = 0; i < WIDTH * HEIGHT; i++)
    if (pixels[4 * i + 1] != pixels[1]) { /* the corner's */
      *left = MIN (*left, i % WIDTH);
      *right = MAX (*right, i % WIDTH);
      *top = MIN (*top, i / WIDTH);
      *bottom = MAX (*bottom, i / WIDTH);
    }
}

/* A label stands right above its point; left of it, or below, at an edge; and over no other. */
static void
test_labels (void)
{
  static const struct {
    double x, y; /* where its point is, from the middle, in parts of the lesser side */
    gboolean left, below;
  } places[] = { { 0, 0, FALSE, FALSE },
                 { 0.6, 0, TRUE, FALSE },
                 { -0.6, 0, FALSE, FALSE },
                 { 0, -0.45, FALSE, TRUE },
                 { 0.6, -0.45, TRUE, TRUE } };
  const TdInk white = { { 1, 1, 1, 1 } };
  const double middle[3] = { 0 };

  make_view ();
  gpointer drag = hand_on (view, GTK_TYPE_GESTURE_DRAG);
  td_space_view_set_ball (view, middle, 1);
  held_button = GDK_BUTTON_MIDDLE;
  int height = 0;
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    for (guint twice = 0; twice < 2; twice++) {
      TdSpace *space = td_space_new ();
      td_space_label (space, middle, "Axis", white);
      if (twice)
        td_space_label (space, middle, "Axis", white);
      td_space_view_take_space (view, space);
      td_space_view_reset (view);
      g_signal_emit_by_name (drag, "drag-begin", 50.0, 50.0);
      g_signal_emit_by_name (drag, "drag-update", places[i].x * HEIGHT, places[i].y * HEIGHT);
      const double x = WIDTH / 2.0 + places[i].x * HEIGHT, y = HEIGHT / 2.0 + places[i].y * HEIGHT;
      g_autofree guint8 *pixels = look ();
      int left, top, right, bottom;
      label_bounds (pixels, &left, &top, &right, &bottom);
      g_test_message ("%u: %d to %d, %d to %d about %.0f, %.0f", i, left, right, top, bottom, x, y);
      g_assert_true (left >= 0 && right < WIDTH && top >= 0 && bottom < HEIGHT);
      if (twice) { /* the other stands on the other side, or a line on */
        g_assert_cmpint ((right - left) * (bottom - top), >, 2 * 20 * height);
        continue;
      }
      height = bottom - top;
      g_assert_cmpfloat (fabs (places[i].left ? x - 5 - right : left - x - 5), <, 2);
      g_assert_cmpfloat (fabs (places[i].below ? top - y - 2 : y - 2 - bottom), <, 2);
    }
  held_button = GDK_BUTTON_PRIMARY;
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
count_drawn (GdkPaintable *paintable, guint *drawn)
{
  ++*drawn;
}

static gboolean
is_drawn (gpointer drawn)
{
  return *(guint *) drawn > 0;
}

/* What is asked for again as it is takes no time: planes are stepped through beside it. */
static void
test_same_voxels (void)
{
  static const guint n[3] = { 2, 2, 2 };
  static const double size[3] = { 1, 1, 1 };
  static const float values[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  TdCast cast = { .low = 0, .high = 7, .opacity = 1, .clip = { { 0, 1 }, { 0, 1 }, { 0, 1 } } };
  guint drawn = 0;

  make_view ();
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (GTK_WIDGET (view));
  g_signal_connect (paintable, "invalidate-contents", G_CALLBACK (count_drawn), &drawn);
  td_space_view_set_voxels (view, voxels, &cast);
  td_test_wait (is_drawn, &drawn, "the voxels");
  /* A busy machine draws what was asked for first in its own time. */
  for (guint tries = 0; drawn > 0; tries++) {
    g_assert_cmpuint (tries, <, MOST_TRIES);
    drawn = 0;
    td_space_view_set_voxels (view, voxels, &cast);
    td_test_pause (300);
  }
  cast.clip[1][0] = 0.5;
  td_space_view_set_voxels (view, voxels, &cast);
  td_test_wait (is_drawn, &drawn, "the voxels of a part");
  gtk_window_destroy (GTK_WINDOW (window));
}

enum {
  NEW_SPACE,
  NEW_VOXELS,
  NEW_CAST,
  NO_VOXELS,
  NEW_BALL,
  NEW_SIDE,
  NEW_TURN,
  NEW_PAN,
  NEW_ZOOM,
  NEW_WHEEL,
  NEW_PINCH,
  NEW_DRAG,
  NEW_MOVE,
  NEW_RESET,
  N_NEW
};

typedef struct {
  TdVoxels *voxels;
  TdCast cast;
  guint what;
} Anew;

static void
press (guint key, GdkModifierType state)
{
  gboolean taken;

  g_signal_emit_by_name (hand_on (view, GTK_TYPE_EVENT_CONTROLLER_KEY), "key-pressed", key, 0,
                         state, &taken);
}

static void
change_view (gpointer user)
{
  const double middle[3] = { 0.1, 0.2, 0 };
  Anew *anew = user;
  gpointer drag = hand_on (view, GTK_TYPE_GESTURE_DRAG);
  gpointer pinch = hand_on (view, GTK_TYPE_GESTURE_ZOOM);
  gboolean taken;

  switch (anew->what) {
  case NEW_SPACE: td_space_view_take_space (view, NULL); break;
  case NEW_VOXELS: td_space_view_set_voxels (view, anew->voxels, &anew->cast); break;
  case NEW_CAST:
    anew->cast.high = 3;
    td_space_view_set_voxels (view, anew->voxels, &anew->cast);
    break;
  case NO_VOXELS: td_space_view_set_voxels (view, NULL, &anew->cast); break;
  case NEW_BALL: td_space_view_set_ball (view, middle, 2); break;
  case NEW_SIDE: td_space_view_look_from (view, 10, 20); break;
  case NEW_TURN: press (GDK_KEY_Left, 0); break;
  case NEW_PAN: press (GDK_KEY_Left, GDK_CONTROL_MASK); break;
  case NEW_ZOOM: press (GDK_KEY_plus, 0); break;
  case NEW_WHEEL:
    g_signal_emit_by_name (hand_on (view, GTK_TYPE_EVENT_CONTROLLER_SCROLL), "scroll", 0.0, 1.0,
                           &taken);
    break;
  case NEW_PINCH:
    g_signal_emit_by_name (pinch, "begin", NULL);
    g_signal_emit_by_name (pinch, "scale-changed", 2.0);
    break;
  case NEW_DRAG:
  case NEW_MOVE:
    held_button = anew->what == NEW_MOVE ? GDK_BUTTON_MIDDLE : GDK_BUTTON_PRIMARY;
    g_signal_emit_by_name (drag, "drag-begin", 50.0, 50.0);
    g_signal_emit_by_name (drag, "drag-update", 20.0, 10.0);
    break;
  case NEW_RESET: td_space_view_reset (view); break;
  default: g_assert_not_reached ();
  }
}

/* Each change is on the screen with the next frame. */
static void
test_redrawn (void)
{
  static const guint n[3] = { 2, 2, 2 };
  static const double size[3] = { 1, 1, 1 };
  static const float values[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  TdCamera camera = first_camera ();

  make_view ();
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  Anew anew = { .voxels = voxels,
                .cast = { .high = 7, .opacity = 1, .clip = { { 0, 1 }, { 0, 1 }, { 0, 1 } } } };
  for (; anew.what < N_NEW; anew.what++) {
    g_test_message ("change %u", anew.what);
    g_assert_true (td_test_redraws (view, change_view, &anew));
  }
  held_button = GDK_BUTTON_PRIMARY;
  gtk_window_destroy (GTK_WINDOW (window));
  /* Scales are of the distance that the fingers began with. */
  make_view ();
  gpointer pinch = hand_on (view, GTK_TYPE_GESTURE_ZOOM);
  g_signal_emit_by_name (pinch, "begin", NULL);
  g_signal_emit_by_name (pinch, "scale-changed", 1.5);
  g_signal_emit_by_name (pinch, "scale-changed", 0.8);
  camera.zoom = 0.8;
  assert_seen (&camera);
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
is_bright (gpointer at)
{
  static const TdInk white = { { 1, 1, 1, 1 } };
  double *middle = at;
  g_autofree guint8 *pixels = look ();

  return find_colour (pixels, &white, &middle[0], &middle[1]);
}

/* A large view is cast with fewer rays than it has pixels, and each lies where it belongs. */
static void
test_large (void)
{
  enum { SIDE = 8, BRIGHT = (6 * SIDE + 5) * SIDE + 1 };
  static const guint n[3] = { SIDE, SIDE, SIDE };
  static const double size[3] = { 2, 2, 2 }, voxel[3] = { -0.625, -0.375, -0.625 };
  const TdCast cast = { .low = 0, .high = 0.4, .clip = { { 0, 1 }, { 0, 1 }, { 0, 1 } } };
  const TdCamera camera = first_camera ();
  float values[SIDE * SIDE * SIDE] = { 0 };
  double x, y, depth, seen[2];

  view_width = 700;
  view_height = 560;
  make_view ();
  td_space_view_take_space (view, NULL);
  values[BRIGHT] = 1;
  g_autoptr (TdVoxels) voxels = td_voxels_new (values, n, size);
  td_space_view_set_voxels (view, voxels, &cast);
  td_test_wait (is_bright, seen, "the voxel");
  td_camera_project (&camera, view_width, view_height, voxel, &x, &y, &depth);
  g_test_message ("%.1f, %.1f for %.1f, %.1f", seen[0], seen[1], x, y);
  g_assert_cmpfloat (hypot (seen[0] - x, seen[1] - y), <, 8); /* the first picture has 96 rays */
  gtk_window_destroy (GTK_WINDOW (window));
  view_width = WIDTH;
  view_height = HEIGHT;
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  g_setenv ("TOMODESK_DRAW", "processor", TRUE);
  adw_init ();
  td_ui_init ();
  g_test_add_func ("/space-view/keys", test_keys);
  g_test_add_func ("/space-view/drags", test_drags);
  g_test_add_func ("/space-view/labels", test_labels);
  g_test_add_func ("/space-view/same-voxels", test_same_voxels);
  g_test_add_func ("/space-view/redrawn", test_redrawn);
  g_test_add_func ("/space-view/large", test_large);
  td_device_leave (g_test_run ());
}
