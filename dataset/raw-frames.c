/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "raw-frames.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "scan-private.h"
#include "stored-frames.h"

struct TdRawFrames {
  TdRawLayout layout;
  GPtrArray *paths;
  GArray *ends; /* guint: how many frames there are up to and with each file */
};

static guint64
frame_bytes (const TdRawLayout *layout)
{
  return (guint64) layout->n_columns * layout->n_rows * td_sample_size (layout->type);
}

static gboolean
raw_frames_add_file (TdRawFrames *frames, const char *path, GError **error)
{
  guint64 step = frame_bytes (&frames->layout) + frames->layout.frame_header_bytes;
  guint64 header = frames->layout.file_header_bytes, size;
  guint end = td_raw_frames_count (frames);
  struct stat status;

  if (stat (path, &status) != 0 || !S_ISREG (status.st_mode))
    return td_set_error (error, TD_ERROR_NOT_FOUND, "The file “%s” is missing", path);
  size = status.st_size;
  if (frames->layout.n_frames > 0) {
    const guint64 stated = header + frames->layout.n_frames * step;

    if (size < stated)
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "“%s” has %" PRIu64
                           " bytes, but %u frames of %u × %u pixels take %" PRIu64
                           ": it was cut short",
                           path, size, frames->layout.n_frames, frames->layout.n_columns,
                           frames->layout.n_rows, stated);
    size = stated;
  }
  if (size <= header || (size - header) % step != 0 || (size - header) / step > G_MAXINT32 - end)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” has %" PRIu64 " bytes, which are no whole number of frames of "
                         "%u × %u pixels of %s behind %" PRIu64 " bytes of header; state the size "
                         "and type of the frames anew",
                         path, size, frames->layout.n_columns, frames->layout.n_rows,
                         td_sample_name (frames->layout.type), header);
  end += (size - header) / step;
  g_ptr_array_add (frames->paths, g_strdup (path));
  g_array_append_val (frames->ends, end);
  return TRUE;
}

TdRawFrames *
td_raw_frames_new (const char *const *paths, const TdRawLayout *layout, GError **error)
{
  g_autoptr (TdRawFrames) frames = g_new0 (TdRawFrames, 1);

  frames->layout = *layout;
  frames->paths = g_ptr_array_new_with_free_func (g_free);
  frames->ends = g_array_new (FALSE, FALSE, sizeof (guint));
  if (layout->n_columns == 0 || layout->n_rows == 0 || layout->n_columns > TD_SCAN_MAX_SIDE
      || layout->n_rows > TD_SCAN_MAX_SIDE || layout->frame_header_bytes > G_MAXINT32)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              "“%s”: frames of %u × %u pixels cannot be read",
                              paths[0] ? paths[0] : "", layout->n_columns, layout->n_rows);
  for (guint i = 0; paths[i]; i++)
    if (!raw_frames_add_file (frames, paths[i], error))
      return NULL;
  return g_steal_pointer (&frames);
}

void
td_raw_frames_free (TdRawFrames *frames)
{
  g_ptr_array_unref (frames->paths);
  g_array_unref (frames->ends);
  g_free (frames);
}

guint
td_raw_frames_count (const TdRawFrames *frames)
{
  return frames->ends->len ? g_array_index (frames->ends, guint, frames->ends->len - 1) : 0;
}

gboolean
td_raw_frames_uneven (const TdRawFrames *frames, const char *paths[2], guint holds[2])
{
  const guint *ends = (const guint *) frames->ends->data;
  const guint n = frames->ends->len;
  guint usual = 0, odd = 1;

  while (odd < n && ends[odd] - ends[odd - 1] == ends[0])
    odd++;
  if (odd >= n)
    return FALSE;
  if (odd == 1 && n > 2 && ends[2] - ends[1] == ends[1] - ends[0]) { /* it is the first */
    usual = 1;
    odd = 0;
  }
  paths[0] = frames->paths->pdata[usual];
  paths[1] = frames->paths->pdata[odd];
  holds[0] = ends[usual] - (usual ? ends[usual - 1] : 0);
  holds[1] = ends[odd] - (odd ? ends[odd - 1] : 0);
  return TRUE;
}

char **
td_raw_frames_names (const TdRawFrames *frames)
{
  const guint n = frames->paths->len;

  if (n < 2 || n != td_raw_frames_count (frames))
    return NULL;
  char **names = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++)
    names[i] = g_path_get_basename (frames->paths->pdata[i]);
  return names;
}

/* Frame @frame is which of which file. */
static guint
raw_frames_find_file (const TdRawFrames *frames, guint frame, guint *within)
{
  guint low = 0, high = frames->ends->len - 1;

  while (low < high) {
    guint middle = (low + high) / 2;

    if (g_array_index (frames->ends, guint, middle) > frame)
      high = middle;
    else
      low = middle + 1;
  }
  *within = frame - (low > 0 ? g_array_index (frames->ends, guint, low - 1) : 0);
  return low;
}

/* As TdStoredFrames.read has it. */
static int
raw_frames_read_bytes (gconstpointer user, guint frame, guint64 skip, void *to, gsize bytes)
{
  const TdRawFrames *frames = user;
  const TdRawLayout *layout = &frames->layout;
  const guint64 step = frame_bytes (layout) + layout->frame_header_bytes;
  guint within;
  const guint number = raw_frames_find_file (frames, frame, &within);
  const int file = td_file_open (frames->paths->pdata[number], NULL);
  const int code = file < 0 ? errno
                            : td_file_read (file, to, bytes,
                                            layout->file_header_bytes + within * step
                                                + layout->frame_header_bytes + skip);

  if (file >= 0)
    close (file);
  return code;
}

gboolean
td_raw_frames_read (const TdRawFrames *frames, const TdFrameRange *range,
                    const TdFrameTarget *target, GCancellable *cancellable, GError **error)
{
  const TdRawLayout *layout = &frames->layout;
  const TdStoredFrames stored
      = { layout->n_rows,        layout->n_columns,
          layout->type,          layout->big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN),
          raw_frames_read_bytes, frames };
  TdStoredFailure failure = { 0 };
  guint within;

  if (td_stored_frames_read (&stored, NULL, range, target, &failure, cancellable, error))
    return TRUE;
  if (failure.code != 0)
    td_set_error (
        error, failure.code == ENODATA ? TD_ERROR_BAD_FILE : TD_ERROR_IO, "“%s” cannot be read: %p",
        (char *) frames->paths->pdata[raw_frames_find_file (frames, failure.frame, &within)],
        failure.code == ENODATA ? td_message_new_plain ("it was cut short since it was opened")
                                : td_message_new ("%s", g_strerror (failure.code)));
  return FALSE;
}

typedef struct {
  TdRawFrames *frames[3]; /* by TdFrameKind; NULL: none */
} RawSource;

static gboolean
raw_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
          GCancellable *cancellable, GError **error)
{
  return td_raw_frames_read (((RawSource *) source)->frames[range->kind], range, target,
                             cancellable, error);
}

static void
raw_free (gpointer source)
{
  RawSource *own = source;

  for (guint kind = 0; kind < 3; kind++)
    g_clear_pointer (&own->frames[kind], td_raw_frames_free);
  g_free (own);
}

static const TdScanSource raw_vtable = { .fill = raw_fill, .free = raw_free, .stored = TRUE };

TdScan *
td_raw_scan_new (const char *path, const TdRawLayout *layout, TdRawFrames *frames[3],
                 gboolean sinograms)
{
  RawSource *source = g_new0 (RawSource, 1);
  TdScan *scan = td_scan_alloc (path, &raw_vtable, source);

  for (guint kind = 0; kind < 3; kind++)
    source->frames[kind] = g_steal_pointer (&frames[kind]);
  const guint n = td_raw_frames_count (source->frames[TD_FRAME_PROJECTION]);
  scan->facts.n_columns = layout->n_columns;
  scan->facts.n_rows = sinograms ? n : layout->n_rows;
  scan->facts.n_views = sinograms ? layout->n_rows : n;
  scan->facts.sinogram_order = scan->stacked = sinograms;
  scan->facts.sample_type = layout->type;
  if (source->frames[TD_FRAME_FLAT])
    scan->facts.n_flats = td_raw_frames_count (source->frames[TD_FRAME_FLAT]);
  if (source->frames[TD_FRAME_DARK])
    scan->facts.n_darks = td_raw_frames_count (source->frames[TD_FRAME_DARK]);
  return scan;
}
