/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ui-test.h"

#include <glib/gstdio.h>

#define DEADLINE_S 150 /* of one wait; TOMODESK_DEADLINE_S: where the program is slower */
#define LOOK_MS 50
#define MOST_DUE 50
#define MOST_PICTURES 300 /* until one is as the one before */
#define RESTING_FRAMES 3  /* in which nothing is drawn, or a change is */

static gboolean
set_flag (gpointer flag)
{
  *(gboolean *) flag = TRUE;
  return G_SOURCE_REMOVE;
}

static guint
deadline_s (void)
{
  const char *text = g_getenv ("TOMODESK_DEADLINE_S");

  return text ? (guint) g_ascii_strtoull (text, NULL, 10) : DEADLINE_S;
}

static gboolean
look_again (gpointer unused)
{
  return G_SOURCE_CONTINUE;
}

void
td_test_wait (TdCondition condition, gpointer user, const char *what)
{
  gboolean late = FALSE;
  guint deadline = g_timeout_add_seconds (deadline_s (), set_flag, &late);
  const guint look = g_timeout_add (LOOK_MS, look_again, NULL);

  while (!condition (user)) {
    if (late)
      g_error ("waited %u s for: %s", deadline_s (), what);
    g_main_context_iteration (NULL, TRUE);
  }
  g_source_remove (look);
  if (!late)
    g_source_remove (deadline);
}

gboolean
td_test_is_visible (gpointer widget)
{
  return gtk_widget_get_visible (widget);
}

gboolean
td_test_is_hidden (gpointer widget)
{
  return !gtk_widget_get_visible (widget);
}

gboolean
td_test_is_sensitive (gpointer widget)
{
  return gtk_widget_get_sensitive (widget);
}

gboolean
td_test_is_mapped (gpointer widget)
{
  return gtk_widget_get_mapped (widget);
}

static gboolean
flag_is_set (gpointer flag)
{
  return *(gboolean *) flag;
}

void
td_test_pause (guint ms)
{
  gboolean over = FALSE;

  g_timeout_add (ms, set_flag, &over);
  td_test_wait (flag_is_set, &over, "a pause");
  /* After a stop of the whole process this may have come before all that was due earlier. */
  for (guint i = 0; i < MOST_DUE && g_main_context_iteration (NULL, FALSE); i++)
    ;
}

/* ── Pictures ── */

#define MOMENT_MS 2000 /* a moment may never come where something moves all the time */
#define FRAMES 2       /* after each moment */

/* Until what was put off until there is a moment has come, unless there is none for long. */
static void
pass_moment (void)
{
  gboolean came = FALSE, late = FALSE;
  const guint idle = g_idle_add (set_flag, &came);
  const guint deadline = g_timeout_add (MOMENT_MS, set_flag, &late);

  while (!came && !late)
    g_main_context_iteration (NULL, TRUE);
  if (!came)
    g_source_remove (idle);
  if (!late)
    g_source_remove (deadline);
}

static gboolean
count_frame (GtkWidget *widget, GdkFrameClock *clock, gpointer n)
{
  ++*(guint *) n;
  gtk_widget_queue_draw (widget);
  return *(guint *) n < FRAMES ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean
frames_are_drawn (gpointer n)
{
  return *(guint *) n >= FRAMES;
}

void
td_test_frames (GtkWidget *widget)
{
  for (guint i = 0; i < 2; i++) {
    guint n = 0;
    pass_moment ();
    gtk_widget_add_tick_callback (widget, count_frame, &n, NULL);
    td_test_wait (frames_are_drawn, &n, "frames");
  }
}

static void
on_painted (GdkFrameClock *clock, gboolean *painted)
{
  *painted = TRUE;
}

static void
on_invalidated (GdkPaintable *paintable, guint *drawn)
{
  ++*drawn;
}

/* Until a frame is over, which draws what somebody asked for and nothing else. */
static void
pass_frame (GtkWidget *widget)
{
  GdkFrameClock *clock = gtk_widget_get_frame_clock (widget);
  gboolean painted = FALSE;
  const gulong handler = g_signal_connect (clock, "after-paint", G_CALLBACK (on_painted), &painted);

  gdk_frame_clock_request_phase (clock, GDK_FRAME_CLOCK_PHASE_AFTER_PAINT);
  td_test_wait (flag_is_set, &painted, "a frame");
  g_signal_handler_disconnect (clock, handler);
}

gboolean
td_test_redraws (gpointer widget, void (*change) (gpointer user), gpointer user)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  guint drawn = 1;

  g_signal_connect (paintable, "invalidate-contents", G_CALLBACK (on_invalidated), &drawn);
  for (guint i = 0; drawn > 0; i++) {
    g_assert_cmpuint (i, <, MOST_PICTURES);
    drawn = 0;
    for (guint frame = 0; frame < RESTING_FRAMES; frame++)
      pass_frame (widget);
  }
  change (user);
  for (guint frame = 0; frame < RESTING_FRAMES; frame++)
    pass_frame (widget);
  return drawn > 0;
}

static GdkTexture *
draw (GtkWidget *widget)
{
  td_test_frames (widget);
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  gdk_paintable_snapshot (paintable, snapshot, gtk_widget_get_width (widget),
                          gtk_widget_get_height (widget));
  GskRenderNode *node = gtk_snapshot_free_to_node (snapshot);
  g_assert_nonnull (node);
  GskRenderer *renderer = gtk_native_get_renderer (gtk_widget_get_native (widget));
  GdkTexture *texture = gsk_renderer_render_texture (renderer, node, NULL);
  gsk_render_node_unref (node);
  return texture;
}

GBytes *
td_test_picture (GtkWidget *widget)
{
  g_autoptr (GdkTexture) texture = draw (widget);

  return gdk_texture_save_to_png_bytes (texture);
}

GBytes *
td_test_picture_at_rest (GtkWidget *widget)
{
  g_autoptr (GBytes) before = td_test_picture (widget);

  for (guint i = 0; i < MOST_PICTURES; i++) {
    td_test_pause (300);
    GBytes *now = td_test_picture (widget);
    if (g_bytes_equal (now, before))
      return now;
    g_bytes_unref (before);
    before = now;
  }
  g_error ("%s: no picture of it is as the one before", G_OBJECT_TYPE_NAME (widget));
}

void
td_test_screenshot (GtkWidget *widget, const char *name)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (program);
  g_autofree char *file = g_strconcat (name, ".png", NULL);
  g_autofree char *path = g_build_filename (folder, file, NULL);

  if (!g_getenv ("TOMODESK_PICTURES")) {
    td_test_frames (widget);
    return;
  }
  g_autoptr (GdkTexture) texture = draw (widget);
  g_assert_true (gdk_texture_save_to_png (texture, path));
}

/* ── Files ── */

static char *folder_path;

const char *
td_test_folder (void)
{
  if (!folder_path)
    folder_path = g_dir_make_tmp ("tomodesk-ui-XXXXXX", NULL);
  return folder_path;
}

char *
td_test_made (const char *verb, const char *of, const char *name, const char *const *options)
{
  char *path = g_build_filename (td_test_folder (), name, NULL);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  const char *head[] = { g_getenv ("TOMODESK_CLI"), verb, of, "--output", path, NULL };
  g_autoptr (GError) error = NULL;
  int status = 0;

  g_strv_builder_addv (builder, head);
  g_strv_builder_addv (builder, (const char **) options);
  g_auto (GStrv) arguments = g_strv_builder_end (builder);
  g_spawn_sync (NULL, arguments, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status,
                &error);
  g_assert_no_error (error);
  g_spawn_check_wait_status (status, &error);
  g_assert_no_error (error);
  return path;
}

static int
remove_entry (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    remove_entry (child);
  }
  return g_remove (path);
}

char *
td_test_phantom (const char *name, const char *const *options)
{
  return td_test_made ("phantom", "shepp-logan", name, options);
}

void
td_test_folder_remove (void)
{
  if (folder_path)
    remove_entry (folder_path);
  g_clear_pointer (&folder_path, g_free);
}
