/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tiff-frames.h"

#include "storage-threads.h"

TdTiffFrames *
td_tiff_frames_new (void)
{
  TdTiffFrames *frames = g_new0 (TdTiffFrames, 1);

  frames->paths = g_ptr_array_new_with_free_func (g_free);
  frames->frames = g_array_new (FALSE, FALSE, sizeof (TdTiffFrame));
  return frames;
}

void
td_tiff_frames_free (TdTiffFrames *frames)
{
  g_ptr_array_unref (frames->paths);
  g_array_unref (frames->frames);
  g_free (frames->partial);
  g_free (frames);
}

void
td_tiff_frames_note_partial (const TdTiffFrames *frames, TdMessage ***notes)
{
  if (frames->partial)
    td_messages_note (notes,
                      "“%s” states %u images, but holds %u: if it was cut short, copy or save "
                      "it again.",
                      frames->partial, frames->partial_states, frames->partial_holds);
}

guint
td_tiff_frames_count (const TdTiffFrames *frames)
{
  return frames->frames->len ? frames->frames->len : frames->paths->len;
}

/* The first file of a list sets the layout; every other file looked at must agree. */
static gboolean
tiff_frames_check_file (TdTiffFrames *frames, const char *path, GArray **pages, GError **error)
{
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, error);

  if (!tiff)
    return FALSE;
  if (frames->paths->len == 0)
    frames->layout = *td_tiff_layout (tiff);
  if (!td_tiff_check_like (tiff, &frames->layout, error))
    return FALSE;
  *pages = td_tiff_pages (tiff, error);
  if (!*pages)
    return FALSE;
  /* One image may have the description of a stack that it was taken from. */
  const guint states = td_tiff_images_stated (tiff);
  if (!frames->partial && (*pages)->len > 1 && (*pages)->len < states) {
    frames->partial = g_strdup (path);
    frames->partial_holds = (*pages)->len;
    frames->partial_states = states;
  }
  return TRUE;
}

static void
add_pages (TdTiffFrames *frames, guint file, const GArray *pages)
{
  for (guint i = 0; i < pages->len; i++) {
    TdTiffFrame frame = { file, g_array_index (pages, TdTiffPage, i) };

    g_array_append_val (frames->frames, frame);
  }
}

/* Files of several images: each must be asked how many it holds. */
static gboolean
add_stacks (TdTiffFrames *frames, const char *const *paths, GError **error)
{
  for (guint i = frames->frames->len ? frames->paths->len : 0; i < frames->paths->len; i++) {
    TdTiffFrame frame = { .file = i }; /* those added before, one image each */

    g_array_append_val (frames->frames, frame);
  }
  for (guint i = 0; paths[i]; i++) {
    g_autoptr (GArray) pages = NULL;

    if (!tiff_frames_check_file (frames, paths[i], &pages, error))
      return FALSE;
    add_pages (frames, frames->paths->len, pages);
    g_ptr_array_add (frames->paths, g_strdup (paths[i]));
  }
  return TRUE;
}

gboolean
td_tiff_frames_add (TdTiffFrames *frames, const char *const *paths, GError **error)
{
  g_autoptr (GArray) pages = NULL, last = NULL;
  guint n = g_strv_length ((char **) paths), before = frames->paths->len;

  if (n == 0)
    return TRUE;
  if (!tiff_frames_check_file (frames, paths[0], &pages, error))
    return FALSE;
  if (pages->len > 1 || frames->frames->len > 0)
    return add_stacks (frames, paths, error);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (frames->paths, g_strdup (paths[i]));
  if (n == 1)
    return TRUE;
  if (!tiff_frames_check_file (frames, paths[n - 1], &last, error))
    return FALSE;
  if (last->len == 1)
    return TRUE;
  g_ptr_array_set_size (frames->paths, before); /* one image, then stacks */
  return add_stacks (frames, paths, error);
}

static const TdTiffFrame *
frame_of (const TdTiffFrames *frames, guint frame)
{
  return frames->frames->len ? &g_array_index (frames->frames, TdTiffFrame, frame) : NULL;
}

const char *
td_tiff_frames_path (const TdTiffFrames *frames, guint frame)
{
  const TdTiffFrame *own = frame_of (frames, frame);

  return frames->paths->pdata[own ? own->file : frame];
}

/* ── Reading ── */

/* Less of a frame is not read apart. */
#define PART_BYTES ((gsize) 2 << 20)

typedef struct {
  const TdTiffFrames *frames;
  const TdFrameRange *range;
  const TdFrameTarget *target;
  guint parts, part_rows; /* of a frame */
} TiffRead;

static gboolean
tiff_read_part (guint index, gpointer scratch, gpointer user, GError **error)
{
  const TiffRead *read = user;
  const TdFrameRange *range = read->range;
  const guint i = index / read->parts, row = index % read->parts * read->part_rows;
  const guint frame = range->first + i;
  const TdTiffFrame *own = frame_of (read->frames, frame);
  const TdTiffLayout *layout = &read->frames->layout;
  const guint n_rows = MIN (read->part_rows, range->n_rows - row);
  const TdTiffRows rows = { range->row0 + row,
                            n_rows,
                            { td_frame_target_row (read->target, i, row), 0, read->target->row_step,
                              read->target->stored_bytes } };

  return td_tiff_read_frame (td_tiff_frames_path (read->frames, frame),
                             own && own->page.directory ? &own->page : NULL, layout, &rows, error);
}

gboolean
td_tiff_frames_read (const TdTiffFrames *frames, const TdFrameRange *range,
                     const TdFrameTarget *target, GCancellable *cancellable, GError **error)
{
  const TdTiffLayout *layout = &frames->layout;
  const gsize row_bytes = MAX ((gsize) layout->width * td_sample_size (layout->type), 1);
  /* Parts end where strips end, so that none is unpacked twice. */
  const guint together = MAX (layout->rows_together, 1);
  const guint64 least = MAX (PART_BYTES / row_bytes, 1);
  const guint64 part_rows = (least + together - 1) / together * together;
  TiffRead read = { frames, range, target, 1, MAX (range->n_rows, 1) };

  if (range->row0 % together == 0 && part_rows < range->n_rows) {
    read.part_rows = (guint) part_rows;
    read.parts = (range->n_rows + read.part_rows - 1) / read.part_rows;
  }
  const TdStorageWork work = { range->count * read.parts, 0, tiff_read_part, &read,
                               range->n_rows * row_bytes < PART_BYTES / 8 };
  return td_storage_run (&work, cancellable, error);
}
