/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ui-test.h"

#include <glib/gstdio.h>

#define DEADLINE_S 150 /* of one wait; TOMODESK_DEADLINE_S: where the program is slower */
#define MOST_DUE 50
#define MOST_PICTURES 300 /* until one is as the one before */

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

void
td_test_wait (TdCondition condition, gpointer user, const char *what)
{
  gboolean late = FALSE;
  guint deadline = g_timeout_add_seconds (deadline_s (), set_flag, &late);

  while (!condition (user)) {
    if (late)
      g_error ("waited %u s for: %s", deadline_s (), what);
    g_main_context_iteration (NULL, TRUE);
  }
  if (!late)
    g_source_remove (deadline);
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

typedef struct {
  guint frames;
} Frames;

static gboolean
count_frame (GtkWidget *widget, GdkFrameClock *clock, gpointer user)
{
  Frames *frames = user;

  frames->frames++;
  gtk_widget_queue_draw (widget);
  return frames->frames < 4 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean
frames_are_drawn (gpointer user)
{
  return ((Frames *) user)->frames >= 4;
}

void
td_test_frames (GtkWidget *widget)
{
  Frames frames = { 0 };

  gtk_widget_add_tick_callback (widget, count_frame, &frames, NULL);
  td_test_wait (frames_are_drawn, &frames, "frames");
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
