/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-picture.h"

#include <math.h>

#include "dataset/sort.h"
#include "dataset/volume.h"

#define MOST_PX 96 /* on a dense screen */
/* Part of the values that are as black or as white as can be. */
#define TAIL 0.01

static char *
job_picture_path (TdJobItem *item)
{
  const TdRemoteFacts *facts = td_job_item_facts (item);
  g_autofree char *name = g_strdup_printf ("%06u.tif", facts->n_slices / 2);

  return facts->folder ? g_build_filename (facts->folder, "slices", name, NULL) : NULL;
}

/* Every so manyth pixel, as grey levels. */
static GdkTexture *
job_picture_draw (const float *slice, guint nx, guint ny)
{
  const guint every = MAX (nx, ny) / MOST_PX + 1, width = nx / every, height = ny / every;
  const gsize n = (gsize) width * height;
  g_autofree float *values = g_new (float, n);
  g_autofree float *sorted = g_new (float, n);
  guchar *pixels = g_malloc (3 * n);

  for (gsize i = 0; i < n; i++) {
    const float value = slice[(i / width) * every * nx + (i % width) * every];
    sorted[i] = values[i] = isfinite (value) ? value : 0;
  }
  const float low = td_float_at_rank (sorted, n, (gsize) (TAIL * n));
  const float high = td_float_at_rank (sorted, n, n - 1 - (gsize) (TAIL * n));
  for (gsize i = 0; i < n; i++) {
    const float level = high > low ? (values[i] - low) / (high - low) : 0;
    pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2]
        = (guchar) (255 * CLAMP (level, 0, 1) + 0.5f);
  }
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, 3 * n);
  return gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8, bytes, 3 * width);
}

static void
job_picture_read (GTask *task, gpointer source, gpointer path, GCancellable *cancellable)
{
  GError *error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  const TdVolumeFacts *facts = volume ? td_volume_facts (volume) : NULL;
  g_autofree float *slice = facts ? g_try_new (float, (gsize) facts->nx * facts->ny) : NULL;

  if (slice && td_volume_read (volume, 0, 1, slice, &error))
    g_task_return_pointer (task, job_picture_draw (slice, facts->nx, facts->ny), g_object_unref);
  else if (error)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, NULL, NULL);
}

static void
job_picture_on_read (GObject *picture, GAsyncResult *result, gpointer user)
{
  g_autoptr (GdkTexture) texture = g_task_propagate_pointer (G_TASK (result), NULL);

  if (!texture)
    return;
  gtk_picture_set_paintable (GTK_PICTURE (picture), GDK_PAINTABLE (texture));
  gtk_widget_set_visible (GTK_WIDGET (picture), TRUE);
}

void
td_job_picture_load (GtkPicture *picture, TdJobItem *item)
{
  char *path = job_picture_path (item);

  if (!path)
    return;
  g_autoptr (GTask) task = g_task_new (picture, NULL, job_picture_on_read, NULL);
  g_task_set_task_data (task, path, g_free);
  g_task_run_in_thread (task, job_picture_read);
}
