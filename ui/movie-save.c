/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "movie-save.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/file-bytes.h"
#include "dataset/output.h"
#include "render/soft-renderer.h"
#include "scale-bar.h"

/* Many players take the sizes in an AVI file for signed numbers of 32 bits. */
#define MOST_BYTES ((guint64) 2000 << 20)
#define QUALITY "90"
#define TEXT_PX 12.0 /* of the scale bar */

/* Four letters as the number that they are in the file. */
#define LETTERS(a, b, c, d)                                                                        \
  ((guint32) (a) | (guint32) (b) << 8 | (guint32) (c) << 16 | (guint32) (d) << 24)
#define LIST LETTERS ('L', 'I', 'S', 'T')
#define MJPG LETTERS ('M', 'J', 'P', 'G')
#define PICTURE LETTERS ('0', '0', 'd', 'c')
#define HAS_INDEX 0x10
#define KEY_FRAME 0x10
#define HEAD_WORDS 64

typedef struct {
  const TdMovie *movie;
  TdOutput *output;
  int file;
  guint width, height;
  double voxel_mm; /* 0: unknown */
  guint64 at;      /* bytes that are written */
  guint32 largest; /* picture, in bytes */
  GArray *entries; /* of the index: numbers as in the file */
} Avi;

static void
avi_clear (Avi *avi)
{
  if (avi->file >= 0)
    close (avi->file);
  g_clear_pointer (&avi->entries, g_array_unref);
  g_clear_pointer (&avi->output, td_output_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Avi, avi_clear)

guint
td_movie_pictures (const TdMovie *movie)
{
  return MAX (movie->first, movie->last) - MIN (movie->first, movie->last) + 1;
}

/* ── The file ── */

static gboolean
avi_write (const Avi *avi, const void *from, gsize bytes, guint64 at, GError **error)
{
  const int code = td_file_write (avi->file, from, bytes, at);

  return code == 0 || td_output_set_error (error, td_output_path (avi->output), code);
}

static gboolean
avi_write_numbers (const Avi *avi, const guint32 *numbers, gsize n, guint64 at, GError **error)
{
  g_autofree guint32 *little = g_new (guint32, n);

  for (gsize i = 0; i < n; i++)
    little[i] = GUINT32_TO_LE (numbers[i]);
  return avi_write (avi, little, n * sizeof *little, at, error);
}

/* All before the pictures. Once they are written, @bytes are in the whole file. */
static gboolean
avi_write_head (const Avi *avi, guint64 bytes, GError **error)
{
  const TdMovie *movie = avi->movie;
  const guint32 width = avi->width, height = avi->height, n = td_movie_pictures (movie);
  /* clang-format off */
  const guint32 head[] = {
    LETTERS ('R', 'I', 'F', 'F'), (guint32) bytes - 8, LETTERS ('A', 'V', 'I', ' '),
    /* Of all streams: microseconds a picture, rate, padding, flags, length, streams. */
    LIST, 192, LETTERS ('h', 'd', 'r', 'l'),
    LETTERS ('a', 'v', 'i', 'h'), 56, (guint32) round (1e6 / movie->rate), 0, 0, HAS_INDEX, n,
    0, 1, avi->largest, width, height, 0, 0, 0, 0,
    /* Of the one stream: scale and rate, start, length, buffer, quality, place. */
    LIST, 116, LETTERS ('s', 't', 'r', 'l'),
    LETTERS ('s', 't', 'r', 'h'), 56, LETTERS ('v', 'i', 'd', 's'), MJPG, 0, 0, 0, 1000,
    (guint32) round (movie->rate * 1000), 0, n, avi->largest, G_MAXUINT32, 0,
    0, height << 16 | width,
    /* Of a picture: one plane of 24 bits. */
    LETTERS ('s', 't', 'r', 'f'), 40, 40, width, height, 24 << 16 | 1, MJPG, avi->largest,
    0, 0, 0, 0,
    /* Who wrote it: TdOutput looks for that. */
    LIST, 24, LETTERS ('I', 'N', 'F', 'O'), LETTERS ('I', 'S', 'F', 'T'), 12,
    LETTERS ('T', 'o', 'm', 'o'), LETTERS ('d', 'e', 's', 'k'), 0,
    LIST, (guint32) (avi->at - 4 * (HEAD_WORDS - 1)), LETTERS ('m', 'o', 'v', 'i'),
  };
  /* clang-format on */

  G_STATIC_ASSERT (G_N_ELEMENTS (head) == HEAD_WORDS);
  return avi_write_numbers (avi, head, HEAD_WORDS, 0, error);
}

static gboolean
avi_add (Avi *avi, const void *picture, gsize bytes, GError **error)
{
  const gsize even = bytes + bytes % 2;
  const guint64 first = 4 * (HEAD_WORDS - 1), end = avi->at + 8 + even;
  const guint32 head[] = { PICTURE, (guint32) bytes };
  const guint32 entry[] = { PICTURE, KEY_FRAME, (guint32) (avi->at - first), (guint32) bytes };

  if (end + 8 + 4 * (avi->entries->len + G_N_ELEMENTS (entry)) > MOST_BYTES)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "“%s” would be larger than 2 GB, which players of such files cannot read: "
                         "take fewer planes or smaller pictures",
                         td_output_path (avi->output));
  if (!avi_write_numbers (avi, head, 2, avi->at, error)
      || !avi_write (avi, picture, bytes, avi->at + 8, error)
      || !avi_write (avi, "", even - bytes, avi->at + 8 + bytes, error))
    return FALSE;
  g_array_append_vals (avi->entries, entry, G_N_ELEMENTS (entry));
  avi->largest = MAX (avi->largest, (guint32) bytes);
  avi->at = end;
  return TRUE;
}

static gboolean
avi_end (Avi *avi, GError **error)
{
  const guint n = avi->entries->len;
  const guint32 head[] = { LETTERS ('i', 'd', 'x', '1'), 4 * n };

  return avi_write_numbers (avi, head, 2, avi->at, error)
         && avi_write_numbers (avi, (const guint32 *) avi->entries->data, n, avi->at + 8, error)
         && avi_write_head (avi, avi->at + 8 + 4 * n, error)
         && td_output_commit (avi->output, error);
}

static gboolean
avi_begin (Avi *avi, const TdVolumeFacts *facts, const char *path, GError **error)
{
  const TdCutSize size = td_volume_cut_size (facts, avi->movie->axis);
  g_autofree char *lower = g_ascii_strdown (path, -1);

  if (!g_str_has_suffix (lower, ".avi"))
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” does not end in .avi, as movies do: choose another name", path);
  avi->output = td_output_begin (path, FALSE, TRUE, 0, error);
  if (!avi->output)
    return FALSE;
  avi->file = open (td_output_part (avi->output), O_WRONLY | O_CLOEXEC);
  if (avi->file < 0)
    return td_output_set_error (error, path, errno);
  avi->width = MAX (size.width / avi->movie->shrink, 1);
  avi->height = MAX (size.height / avi->movie->shrink, 1);
  avi->voxel_mm = facts->voxel_mm;
  avi->at = 4 * HEAD_WORDS;
  return TRUE;
}

/* ── The pictures ── */

/* Letters and bar are as large as on a screen that shows the movie 800 pixels wide. */
static void
movie_draw_bar (const Avi *avi, guint32 *pixels)
{
  const int width = (int) avi->width, height = (int) avi->height;
  const double scale = MAX (width / 800.0, 1);
  g_autofree char *text = NULL;
  const double bar
      = td_scale_bar (width / scale, 1 / scale / avi->movie->shrink, avi->voxel_mm, &text);

  if (!(bar > 0))
    return;
  cairo_surface_t *surface = cairo_image_surface_create_for_data (
      (guint8 *) pixels, CAIRO_FORMAT_RGB24, width, height, 4 * width);
  cairo_t *cr = cairo_create (surface);
  cairo_scale (cr, scale, scale);
  g_autoptr (PangoLayout) layout = pango_cairo_create_layout (cr);
  g_autoptr (PangoFontDescription) font = pango_font_description_from_string ("Sans");
  pango_font_description_set_absolute_size (font, TEXT_PX * PANGO_SCALE);
  pango_layout_set_font_description (layout, font);
  pango_layout_set_text (layout, text, -1);
  td_scale_bar_draw (cr, height / scale, bar, layout);
  cairo_destroy (cr);
  cairo_surface_finish (surface);
  cairo_surface_destroy (surface);
}

/* The plane as it is shown; NULL with @error: there is no memory for it. */
static GdkPixbuf *
movie_paint (const TdImage *image, const Avi *avi, GError **error)
{
  const TdView whole = { .zoom = 1.0 / avi->movie->shrink };
  const TdScreen screen = { avi->width, avi->height, 1 };
  g_autofree guint32 *pixels = g_try_new (guint32, (gsize) avi->width * avi->height);
  GdkPixbuf *painted
      = pixels ? gdk_pixbuf_new (GDK_COLORSPACE_RGB, FALSE, 8, (int) avi->width, (int) avi->height)
               : NULL;

  if (!painted)
    return td_set_error_null (error, TD_ERROR_TOO_LARGE,
                              "A picture of “%s” does not fit into memory: take smaller pictures",
                              td_output_path (avi->output));
  td_soft_clear (&avi->movie->style, avi->width, avi->height, pixels);
  td_soft_render (image, &whole, &avi->movie->style, NULL, &screen, pixels);
  if (avi->movie->scale_bar)
    movie_draw_bar (avi, pixels);
  for (guint row = 0; row < avi->height; row++) {
    guint8 *rgb
        = gdk_pixbuf_get_pixels (painted) + (gsize) row * gdk_pixbuf_get_rowstride (painted);
    const guint32 *line = pixels + (gsize) row * avi->width;
    for (guint i = 0; i < avi->width; i++)
      for (guint k = 0; k < 3; k++)
        rgb[3 * i + k] = (guint8) (line[i] >> (16 - 8 * k));
  }
  return painted;
}

static gboolean
movie_add_plane (Avi *avi, TdVolumeSource *source, guint at, GCancellable *cancellable,
                 GError **error)
{
  g_autoptr (TdImage) image
      = td_volume_source_read (source, avi->movie->axis, at, NULL, NULL, cancellable, error);
  g_autoptr (GdkPixbuf) painted = image ? movie_paint (image, avi, error) : NULL;
  g_autofree char *jpeg = NULL;
  gsize bytes;

  return painted
         && gdk_pixbuf_save_to_buffer (painted, &jpeg, &bytes, "jpeg", error, "quality", QUALITY,
                                       NULL)
         && avi_add (avi, jpeg, bytes, error);
}

gboolean
td_movie_save (TdVolumeSource *source, const TdMovie *movie, const char *path,
               TdVolumeProgress progress, gpointer user, GCancellable *cancellable, GError **error)
{
  const guint n = td_movie_pictures (movie);
  g_auto (Avi) avi = { .movie = movie, .file = -1 };

  avi.entries = g_array_new (FALSE, FALSE, sizeof (guint32));
  if (!avi_begin (&avi, td_volume_source_facts (source), path, error))
    return FALSE;
  for (guint i = 0; i < n; i++) {
    const guint at = movie->first <= movie->last ? movie->first + i : movie->first - i;
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !movie_add_plane (&avi, source, at, cancellable, error))
      return FALSE;
    progress ((i + 1.0) / n, user);
  }
  return avi_end (&avi, error);
}
