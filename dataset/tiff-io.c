/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tiff-io.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "sample.h"
#include "tiff-save.h"

#define MAX_SIDE 1048576u

/* How the file writes numbers, and how large its directories' parts are. */
typedef struct {
  gboolean big, little; /* BigTIFF; the smaller byte comes first */
  guint entry_bytes, count_bytes, offset_bytes;
} Form;

struct TdTiff {
  struct tiff *handle; /* libtiff's */
  int fd;
  guint64 size;       /* of the file */
  guint64 position;   /* where libtiff reads next */
  guint8 header[16];  /* the file's first bytes, as libtiff is shown them */
  gsize header_bytes; /* how many of them the file has */
  Form form;
  char *name;    /* for messages */
  char *message; /* libtiff's first complaint since the last report; NULL: none */
  TdTiffLayout layout;
  guint32 width, height; /* as stored */
  guint orientation;
  gboolean tiled, compressed, bits_reversed;
  guint64 data_shift; /* of this page's samples */
  gsize block_bytes;  /* of a whole strip or tile */
  guint8 *block;      /* one strip, tile or piece of raw rows; made when needed */
  gsize block_allocated;
};

/* A strip or tile larger than this is a damaged file's claim. */
#define MAX_BLOCK_BYTES ((guint64) 2 << 30)

/* What libtiff calls the file: our messages name it already. */
#define FILE_WORD "TIFF"

/* Keeps libtiff's first complaint of a call: the later ones are its echoes. */
G_GNUC_PRINTF (4, 0)
static int
on_tiff_error (TIFF *handle, void *user, const char *module, const char *format, va_list arguments)
{
  TdTiff *tiff = user;

  if (!tiff->message) {
    g_autofree char *raw = g_strdup_vprintf (format, arguments);
    g_autofree char *valid = g_utf8_make_valid (raw, MIN (strlen (raw), 300));
    g_autoptr (GString) text = g_string_new (valid);

    if (g_str_has_prefix (text->str, FILE_WORD ": "))
      g_string_erase (text, 0, strlen (FILE_WORD ": "));
    g_strdelimit (text->str, "\r\n", ' ');
    g_string_replace (text, ". ", "; ", 0); /* it becomes part of our one sentence */
    if (g_str_has_suffix (text->str, "."))
      g_string_truncate (text, text->len - 1);
    tiff->message = g_string_free (g_steal_pointer (&text), FALSE);
  }
  return 1;
}

static int
on_tiff_warning (TIFF *handle, void *user, const char *module, const char *format,
                 va_list arguments)
{
  return 1; /* unknown private tags and the like: every camera writes some */
}

static gboolean
tiff_fail (TdTiff *tiff, GError **error, TdErrorCode code, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  TdMessage *what = td_message_new_list (format, arguments);
  va_end (arguments);
  if (tiff->message)
    td_set_error (error, code, "“%s” %p (%s)", tiff->name, what, tiff->message);
  else
    td_set_error (error, code, "“%s” %p", tiff->name, what);
  g_clear_pointer (&tiff->message, g_free);
  return FALSE;
}

/* The same for a caller that returns a pointer. */
#define tiff_fail_null(...) (tiff_fail (__VA_ARGS__), NULL)

gboolean
td_tiff_probe (const char *path)
{
  static const char signatures[][4] = { "II*", { 'M', 'M', 0, '*' }, "II+", { 'M', 'M', 0, '+' } };
  char start[4];
  int fd = td_file_open (path, NULL);
  gboolean found = FALSE;

  if (fd < 0)
    return FALSE;
  if (td_file_read_some (fd, start, sizeof start, 0) == sizeof start)
    for (guint i = 0; i < G_N_ELEMENTS (signatures); i++)
      found = found || memcmp (start, signatures[i], sizeof start) == 0;
  close (fd);
  return found;
}

static gboolean
sample_type_of (guint bits, guint format, TdSampleType *type)
{
  if (format == SAMPLEFORMAT_VOID)
    format = SAMPLEFORMAT_UINT;
  for (*type = TD_SAMPLE_UINT8; *type <= TD_SAMPLE_FLOAT64; (*type)++)
    if (8 * td_sample_size (*type) == bits && td_tiff_save_sample_format (*type) == format)
      return TRUE;
  return FALSE;
}

/* Programs store grey images with a palette as well; the numbers are values if its greys rise. */
static gboolean
tiff_is_coloured (TdTiff *tiff)
{
  guint16 bits = 1, *red, *green, *blue;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_BITSPERSAMPLE, &bits);
  if (bits > 16 || !TIFFGetField (tiff->handle, TIFFTAG_COLORMAP, &red, &green, &blue))
    return TRUE;
  for (guint i = 0; i < 1u << bits; i++)
    if (red[i] != green[i] || green[i] != blue[i] || (i > 0 && red[i] < red[i - 1]))
      return TRUE;
  return FALSE;
}

static gboolean
check_colours (TdTiff *tiff, GError **error)
{
  guint16 samples = 1, photometric = PHOTOMETRIC_MINISBLACK;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetField (tiff->handle, TIFFTAG_PHOTOMETRIC, &photometric);
  if (samples != 1 || photometric > PHOTOMETRIC_PALETTE || photometric == PHOTOMETRIC_RGB)
    return tiff_fail (tiff, error, TD_ERROR_UNSUPPORTED,
                      N_ ("is a colour image of %u channels; save it with one channel (grey)"),
                      samples);
  tiff->layout.inverted = photometric == PHOTOMETRIC_MINISWHITE
                          && td_sample_kind (tiff->layout.type) == TD_SAMPLE_UNSIGNED;
  tiff->layout.coloured = photometric == PHOTOMETRIC_PALETTE && tiff_is_coloured (tiff);
  return TRUE;
}

static gboolean
check_samples (TdTiff *tiff, GError **error)
{
  guint16 bits = 1, format = SAMPLEFORMAT_UINT, compression = COMPRESSION_NONE;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_COMPRESSION, &compression);
  if (!sample_type_of (bits, format, &tiff->layout.type))
    return tiff_fail (
        tiff, error, TD_ERROR_UNSUPPORTED,
        N_ ("has %u-bit %p samples; 8, 16 and 32-bit integers and 32 and 64-bit "
            "floats can be read"),
        bits, td_message_new_plain (format == SAMPLEFORMAT_IEEEFP ? N_ ("float") : N_ ("integer")));
  if (!TIFFIsCODECConfigured (compression))
    return tiff_fail (
        tiff, error, TD_ERROR_UNSUPPORTED,
        N_ ("is compressed by method %u, which this system's libtiff cannot undo; save it "
            "with LZW or Deflate"),
        compression);
  tiff->compressed = compression != COMPRESSION_NONE;
  return TRUE;
}

/* Of the file's own rows. */
static guint
tiff_stored_together (const TdTiff *tiff)
{
  guint32 n = tiff->height;

  if (tiff->tiled)
    TIFFGetField (tiff->handle, TIFFTAG_TILELENGTH, &n);
  else if (!tiff->compressed)
    n = 1;
  else
    TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_ROWSPERSTRIP, &n);
  return CLAMP (n, 1, tiff->height);
}

static gboolean
tiff_is_turned (const TdTiff *tiff)
{
  return tiff->orientation > ORIENTATION_BOTLEFT;
}

/* Everything that is needed of the current directory, checked. */
static gboolean
tiff_io_read_layout (TdTiff *tiff, GError **error)
{
  guint16 orientation = ORIENTATION_TOPLEFT, fill = FILLORDER_MSB2LSB;

  if (!TIFFGetField (tiff->handle, TIFFTAG_IMAGEWIDTH, &tiff->width)
      || !TIFFGetField (tiff->handle, TIFFTAG_IMAGELENGTH, &tiff->height) || tiff->width == 0
      || tiff->height == 0)
    return tiff_fail (tiff, error, TD_ERROR_BAD_FILE, N_ ("states no image size: it is damaged"));
  if (tiff->width > MAX_SIDE || tiff->height > MAX_SIDE
      || (guint64) tiff->width * tiff->height > G_MAXINT32)
    return tiff_fail (tiff, error, TD_ERROR_TOO_LARGE,
                      N_ ("states an image of %u × %u pixels, which is more than can be read"),
                      tiff->width, tiff->height);
  if (!check_samples (tiff, error) || !check_colours (tiff, error))
    return FALSE;
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_ORIENTATION, &orientation);
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_FILLORDER, &fill);
  tiff->orientation = orientation >= 1 && orientation <= 8 ? orientation : ORIENTATION_TOPLEFT;
  tiff->tiled = TIFFIsTiled (tiff->handle);
  tiff->bits_reversed = fill != FILLORDER_MSB2LSB;
  tiff->layout.width = tiff_is_turned (tiff) ? tiff->height : tiff->width;
  tiff->layout.height = tiff_is_turned (tiff) ? tiff->width : tiff->height;

  const guint64 block
      = tiff->tiled ? TIFFTileSize64 (tiff->handle) : TIFFStripSize64 (tiff->handle);
  if (block == 0 || (block > MAX_BLOCK_BYTES && (tiff->tiled || tiff->compressed)))
    return tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                      N_ ("states a strip or tile of %" PRIu64 " bytes: it is damaged"), block);
  tiff->block_bytes = block;
  tiff->layout.rows_together
      = tiff_is_turned (tiff) ? tiff->layout.height : tiff_stored_together (tiff);
  return TRUE;
}

static guint64
form_get (const Form *form, const guint8 *bytes, guint size)
{
  guint64 value = 0;

  for (guint i = 0; i < size; i++)
    value |= (guint64) bytes[i] << 8 * (form->little ? i : size - 1 - i);
  return value;
}

static void
form_put (const Form *form, guint8 *bytes, guint size, guint64 value)
{
  for (guint i = 0; i < size; i++)
    bytes[i] = (guint8) (value >> 8 * (form->little ? i : size - 1 - i));
}

/* Where the header says that the first directory is. */
static guint8 *
header_first (TdTiff *tiff)
{
  return tiff->header + (tiff->form.big ? 8 : 4);
}

/* FALSE: the file is too short for a header. */
static gboolean
header_read (TdTiff *tiff)
{
  Form *form = &tiff->form;
  const gssize got = td_file_read_some (tiff->fd, tiff->header, sizeof tiff->header, 0);

  if (got < 8)
    return FALSE;
  tiff->header_bytes = got;
  form->little = tiff->header[0] == 'I';
  form->big = form_get (form, tiff->header + 2, 2) == 43;
  form->count_bytes = form->big ? 8 : 2;
  form->entry_bytes = form->big ? 20 : 12;
  form->offset_bytes = form->big ? 8 : 4;
  return !form->big || got == sizeof tiff->header;
}

/* ── What libtiff reads with ──
 *
 * libtiff looks for a directory in the chain, from the first one on, whenever it is sent to one.
 * Reading pages one by one would then take quadratic time. So it is shown a header in which the
 * page comes first.
 */

static tmsize_t
client_read (thandle_t user, void *to, tmsize_t bytes)
{
  TdTiff *tiff = user;
  const gssize got = td_file_read_some (tiff->fd, to, bytes, tiff->position);

  if (got > 0 && tiff->position < tiff->header_bytes)
    memcpy (to, tiff->header + tiff->position,
            MIN ((gsize) got, tiff->header_bytes - tiff->position));
  tiff->position += MAX (got, 0);
  return got;
}

static tmsize_t
client_write (thandle_t user, void *from, tmsize_t bytes)
{
  return -1;
}

static toff_t
client_seek (thandle_t user, toff_t offset, int whence)
{
  TdTiff *tiff = user;

  if (whence != SEEK_SET) /* which libtiff does only where it writes */
    return (toff_t) -1;
  return tiff->position = offset;
}

static toff_t
client_size (thandle_t user)
{
  return ((TdTiff *) user)->size;
}

static int
client_close (thandle_t user)
{
  return 0; /* td_tiff_close() does */
}

TdTiff *
td_tiff_open (const char *path, const TdTiffPage *page, GError **error)
{
  g_autoptr (TdTiff) tiff = g_new0 (TdTiff, 1);

  tiff->name = g_filename_display_name (path);
  tiff->fd = td_file_open (path, &tiff->size);
  if (tiff->fd < 0) {
    int code = errno;

    return td_set_error_null (error, code == ENOENT ? TD_ERROR_NOT_FOUND : TD_ERROR_IO,
                              code == EINVAL ? N_ ("“%s” is not a file")
                                             : N_ ("“%s” cannot be opened: %s"),
                              tiff->name, g_strerror (code));
  }
  if (!header_read (tiff))
    return tiff_fail_null (tiff, error, TD_ERROR_BAD_FILE,
                           N_ ("is not a readable TIFF file; copy it again, or leave it out"));
  if (page) {
    form_put (&tiff->form, header_first (tiff), tiff->form.offset_bytes, page->directory);
    tiff->data_shift = page->data_shift;
  }
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc ();
  if (!options)
    return tiff_fail_null (tiff, error, TD_ERROR_TOO_LARGE,
                           N_ ("needs more memory to be read than is free"));
  TIFFOpenOptionsSetMaxSingleMemAlloc (options, MAX_BLOCK_BYTES);
  TIFFOpenOptionsSetErrorHandlerExtR (options, on_tiff_error, tiff);
  TIFFOpenOptionsSetWarningHandlerExtR (options, on_tiff_warning, tiff);
  /* "m" forbids mapping: a file cut short under a mapping kills the program. "c" leaves strips as
     they are: rows of uncompressed strips are read directly. */
  tiff->handle = TIFFClientOpenExt (FILE_WORD, "rmc", tiff, client_read, client_write, client_seek,
                                    client_close, client_size, NULL, NULL, options);
  TIFFOpenOptionsFree (options);
  if (!tiff->handle)
    return tiff_fail_null (
        tiff, error, TD_ERROR_BAD_FILE,
        page ? N_ ("has a damaged image directory")
             : N_ ("is not a readable TIFF file; copy it again, or leave it out"));
  if (!tiff_io_read_layout (tiff, error))
    return NULL;
  return g_steal_pointer (&tiff);
}

void
td_tiff_close (TdTiff *tiff)
{
  if (tiff->handle)
    TIFFClose (tiff->handle);
  if (tiff->fd >= 0)
    close (tiff->fd);
  g_free (tiff->block);
  g_free (tiff->message);
  g_free (tiff->name);
  g_free (tiff);
}

const TdTiffLayout *
td_tiff_layout (const TdTiff *tiff)
{
  return &tiff->layout;
}

const char *
td_tiff_description (TdTiff *tiff)
{
  char *text = NULL;

  return TIFFGetField (tiff->handle, TIFFTAG_IMAGEDESCRIPTION, &text) ? text : NULL;
}

gboolean
td_tiff_check_like (TdTiff *tiff, const TdTiffLayout *expected, GError **error)
{
  const TdTiffLayout *layout = &tiff->layout;

  if (layout->width == expected->width && layout->height == expected->height
      && layout->type == expected->type)
    return TRUE;
  return tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                    N_ ("holds %u × %u pixels of %s, but the first image %u × %u of %s; "
                        "remove or replace the file"),
                    layout->width, layout->height, td_sample_name (layout->type), expected->width,
                    expected->height, td_sample_name (expected->type));
}

gboolean
td_tiff_read_frame (const char *path, const TdTiffPage *page, const TdTiffLayout *expected,
                    const TdTiffRows *rows, GError **error)
{
  g_autoptr (TdTiff) tiff = td_tiff_open (path, page, error);

  return tiff && td_tiff_check_like (tiff, expected, error)
         && td_tiff_read_rows (tiff, rows, error);
}

/* ── Pages ── */

/* The chain of directories is walked by hand: libtiff would parse every directory. */
typedef struct {
  guint64 next, subfile, width, height;
} Directory;

#define MAX_ENTRIES 1024u
#define MAX_PAGES 16777216u

static gboolean
read_directory (TdTiff *tiff, guint64 offset, Directory *directory)
{
  const Form *form = &tiff->form;
  guint8 bytes[8 + MAX_ENTRIES * 20 + 8];
  gssize got = td_file_read_some (tiff->fd, bytes, sizeof bytes, offset);

  if (got < (gssize) form->count_bytes)
    return FALSE;
  const guint64 n = form_get (form, bytes, form->count_bytes);
  if (n > MAX_ENTRIES
      || got < (gssize) (form->count_bytes + n * form->entry_bytes + form->offset_bytes))
    return FALSE;
  memset (directory, 0, sizeof *directory);
  for (guint i = 0; i < n; i++) {
    const guint8 *entry = bytes + form->count_bytes + i * form->entry_bytes;
    const guint type = form_get (form, entry + 2, 2);
    const guint size = type == TIFF_SHORT ? 2 : type == TIFF_LONG8 && form->big ? 8 : 4;
    guint64 value = form_get (form, entry + (form->big ? 12 : 8), size);

    switch (form_get (form, entry, 2)) {
    case TIFFTAG_SUBFILETYPE: directory->subfile = value; break;
    case TIFFTAG_IMAGEWIDTH: directory->width = value; break;
    case TIFFTAG_IMAGELENGTH: directory->height = value; break;
    }
  }
  directory->next
      = form_get (form, bytes + form->count_bytes + n * form->entry_bytes, form->offset_bytes);
  return TRUE;
}

guint
td_tiff_images_stated (TdTiff *tiff)
{
  const char *description = td_tiff_description (tiff);
  const char *images = description && g_str_has_prefix (description, "ImageJ=")
                           ? strstr (description, "images=")
                           : NULL;

  return images ? (guint) MIN (g_ascii_strtoull (images + strlen ("images="), NULL, 10), G_MAXUINT)
                : 0;
}

/* ImageJ writes stacks of more than 4 GiB with one directory, "images=N" in its description, and
 * the samples of all images one behind the other. One image alone may have that of a stack it was
 * taken from. */
static gboolean
add_imagej_pages (TdTiff *tiff, GArray *pages, GError **error)
{
  const guint n = td_tiff_images_stated (tiff);
  guint64 frame = (guint64) tiff->width * tiff->height * td_sample_size (tiff->layout.type);

  if (n < 2 || n > MAX_PAGES || tiff->compressed || tiff->tiled)
    return TRUE;
  const guint64 start = TIFFGetStrileOffset (tiff->handle, 0);
  const guint64 there = start > tiff->size ? 0 : (tiff->size - start) / frame;
  if (there < 2)
    return TRUE;
  if (there < n)
    return tiff_fail (
        tiff, error, TD_ERROR_BAD_FILE,
        N_ ("is cut short: its description states %u images, and %u [is|are] there; copy "
            "it again"),
        n, (guint) there);
  for (guint64 i = 1; i < n; i++) {
    TdTiffPage page = { g_array_index (pages, TdTiffPage, 0).directory, i * frame };

    g_array_append_val (pages, page);
  }
  return TRUE;
}

/* ImageJ and OME state along which axes the images of a stack lie. Two or more are several series,
   whose images alternate. */
static gboolean
check_axes (TdTiff *tiff, guint n_pages, GError **error)
{
  static const char *const names[2][3]
      = { { "\nchannels=", "\nslices=", "\nframes=" }, { "SizeC=\"", "SizeZ=\"", "SizeT=\"" } };
  const char *text = td_tiff_description (tiff);
  guint64 length[3], product = 1;
  guint n_axes = 0;

  if (!text)
    return TRUE;
  for (guint i = 0; i < 3; i++) {
    const char *name = names[g_str_has_prefix (text, "ImageJ=") ? 0 : 1][i];
    const char *at = strstr (text, name);

    length[i] = at ? CLAMP (g_ascii_strtoull (at + strlen (name), NULL, 10), 1, MAX_PAGES) : 1;
    n_axes += length[i] > 1;
    product = MIN (product, G_MAXUINT32) * length[i];
  }
  if (n_axes < 2 || product != n_pages)
    return TRUE;
  return tiff_fail (tiff, error, TD_ERROR_UNSUPPORTED,
                    N_ ("holds several series of images (%u [channel|channels], %u [slice|slices], "
                        "%u [time|times]); save "
                        "the one that is meant as a stack of its own"),
                    (guint) length[0], (guint) length[1], (guint) length[2]);
}

GArray *
td_tiff_pages (TdTiff *tiff, GError **error)
{
  g_autoptr (GArray) pages = g_array_new (FALSE, FALSE, sizeof (TdTiffPage));
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  guint64 offset = form_get (&tiff->form, header_first (tiff), tiff->form.offset_bytes);

  while (offset != 0) {
    Directory directory;
    TdTiffPage page = { offset, 0 };

    if (g_hash_table_size (seen) >= MAX_PAGES
        || !g_hash_table_add (seen, g_memdup2 (&offset, sizeof offset))
        || !read_directory (tiff, offset, &directory))
      return tiff_fail_null (tiff, error, TD_ERROR_BAD_FILE,
                             N_ ("has a damaged chain of images behind image %u"), pages->len);
    offset = directory.next;
    if (directory.subfile & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
      continue;
    if (directory.width != tiff->width || directory.height != tiff->height)
      return tiff_fail_null (
          tiff, error, TD_ERROR_BAD_FILE,
          N_ ("holds images of several sizes: image %u has %u × %u pixels, the first "
              "%u × %u"),
          pages->len, (guint) directory.width, (guint) directory.height, tiff->width, tiff->height);
    g_array_append_val (pages, page);
  }
  if (pages->len == 0)
    return tiff_fail_null (tiff, error, TD_ERROR_BAD_FILE,
                           N_ ("holds thumbnails or masks, but no image"));
  if (pages->len == 1 && !add_imagej_pages (tiff, pages, error))
    return NULL;
  return check_axes (tiff, pages->len, error) ? g_steal_pointer (&pages) : NULL;
}

/* ── Rows ── */

/* Raw rows are read in pieces of about this size, so that a frame never needs a second frame. */
#define RAW_PIECE_BYTES ((gsize) 1 << 20)

static gboolean
need_block (TdTiff *tiff, gsize bytes, GError **error)
{
  if (tiff->block_allocated >= bytes)
    return TRUE;
  g_free (tiff->block);
  tiff->block = g_try_malloc (bytes);
  tiff->block_allocated = tiff->block ? bytes : 0;
  if (!tiff->block)
    return tiff_fail (tiff, error, TD_ERROR_TOO_LARGE,
                      N_ ("needs %zu bytes to be unpacked, which are not free"), bytes);
  return TRUE;
}

/* Of how many bytes a byte may be made, by the methods below: deflate makes at most 1032. */
#define MOST_UNPACKED 2048

/* FALSE: a strip or tile is stored in fewer bytes than what is wanted of it could come from. */
static gboolean
tiff_holds (TdTiff *tiff, guint strile, gsize bytes)
{
  guint16 compression = COMPRESSION_NONE;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_COMPRESSION, &compression);
  if (compression != COMPRESSION_LZW && compression != COMPRESSION_DEFLATE
      && compression != COMPRESSION_ADOBE_DEFLATE && compression != COMPRESSION_PACKBITS)
    return TRUE;
  return MIN (TIFFGetStrileByteCount (tiff->handle, strile), tiff->size) >= bytes / MOST_UNPACKED;
}

static gboolean
read_exactly (TdTiff *tiff, guint8 *to, gsize bytes, guint64 offset, GError **error)
{
  const int code = td_file_read (tiff->fd, to, bytes, offset);

  if (code == ENODATA)
    return tiff_fail (
        tiff, error, TD_ERROR_BAD_FILE,
        N_ ("is cut short: its samples go on behind its end; copy it again, or leave it out"));
  return code == 0
         || tiff_fail (tiff, error, TD_ERROR_IO, N_ ("cannot be read: %s"), g_strerror (code));
}

/* Those of @rows that are left once @done of them are there, but no more than @most. */
static TdTiffRows
tiff_rows_after (const TdTiffRows *rows, guint done, guint most)
{
  return (TdTiffRows) { rows->row0 + done,
                        MIN (most, rows->n_rows - done),
                        { td_frame_target_row (&rows->to, 0, done), 0, rows->to.row_step,
                          rows->to.stored_bytes } };
}

/* Samples of whole rows, one row behind the other, to where these are wanted. */
static void
tiff_rows_convert (const TdTiff *tiff, gboolean swap, const guint8 *from, const TdTiffRows *rows)
{
  const gsize row_bytes = tiff->width * td_sample_size (tiff->layout.type);

  for (guint row = 0; row < rows->n_rows; row++)
    td_frame_target_put (&rows->to, tiff->layout.type, swap, from + row * row_bytes, tiff->width,
                         td_frame_target_row (&rows->to, 0, row));
}

/* Rows that lie in one uncompressed strip, from @offset on, straight from the file. */
static gboolean
read_raw_rows (TdTiff *tiff, guint64 offset, const TdTiffRows *rows, GError **error)
{
  gsize row_bytes = tiff->width * td_sample_size (tiff->layout.type);
  guint piece = (guint) CLAMP (RAW_PIECE_BYTES / row_bytes, 1, rows->n_rows);
  gboolean swap = TIFFIsByteSwapped (tiff->handle);

  if (!need_block (tiff, piece * row_bytes, error))
    return FALSE;
  for (guint done = 0; done < rows->n_rows; done += piece) {
    const TdTiffRows now = tiff_rows_after (rows, done, piece);

    if (!read_exactly (tiff, tiff->block, now.n_rows * row_bytes, offset + done * row_bytes, error))
      return FALSE;
    tiff_rows_convert (tiff, swap, tiff->block, &now);
  }
  return TRUE;
}

/* Rows that lie in one compressed strip, unpacked no further than the last of them. */
static gboolean
unpack_rows (TdTiff *tiff, guint strip, guint skip, const TdTiffRows *rows, GError **error)
{
  gsize row_bytes = tiff->width * td_sample_size (tiff->layout.type);
  gsize bytes = (skip + rows->n_rows) * row_bytes;

  const gboolean held = tiff_holds (tiff, strip, bytes);

  if (held && !need_block (tiff, bytes, error))
    return FALSE;
  if (!held || TIFFReadEncodedStrip (tiff->handle, strip, tiff->block, bytes) != (tmsize_t) bytes)
    return tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                      N_ ("is damaged or cut short: strip %u cannot be unpacked"), strip);
  tiff_rows_convert (tiff, FALSE, tiff->block + skip * row_bytes, rows);
  return TRUE;
}

static gboolean
read_strips (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  guint32 rows_per_strip = tiff->height;
  gboolean raw = !tiff->compressed && !tiff->bits_reversed;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_ROWSPERSTRIP, &rows_per_strip);
  rows_per_strip = CLAMP (rows_per_strip, 1, tiff->height);
  for (guint done = 0; done < rows->n_rows;) {
    const guint row = rows->row0 + done;
    guint strip = row / rows_per_strip, skip = row % rows_per_strip;
    const TdTiffRows now = tiff_rows_after (rows, done, rows_per_strip - skip);

    if (raw) {
      guint64 offset = TIFFGetStrileOffset (tiff->handle, strip);
      guint64 row_bytes = tiff->width * td_sample_size (tiff->layout.type);

      if (offset == 0 || offset > tiff->size || tiff->data_shift > tiff->size)
        return tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                          N_ ("is damaged or cut short: strip %u is missing"), strip);
      offset += tiff->data_shift + skip * row_bytes;
      if (!read_raw_rows (tiff, offset, &now, error))
        return FALSE;
    } else if (!unpack_rows (tiff, strip, skip, &now, error))
      return FALSE;
    done += now.n_rows;
  }
  return TRUE;
}

static gboolean
read_tiles (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  guint32 tile_width = 0, tile_height = 0;
  gsize size = td_sample_size (tiff->layout.type);
  guint row0 = rows->row0, end = row0 + rows->n_rows;

  TIFFGetField (tiff->handle, TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField (tiff->handle, TIFFTAG_TILELENGTH, &tile_height);
  if (tile_width == 0 || tile_height == 0
      || tiff->block_bytes != (guint64) tile_width * tile_height * size)
    return tiff_fail (tiff, error, TD_ERROR_BAD_FILE, N_ ("has damaged tile sizes"));
  for (guint64 top = row0 / tile_height * tile_height; top < end; top += tile_height)
    for (guint64 left = 0; left < tiff->width; left += tile_width) {
      guint tile = TIFFComputeTile (tiff->handle, left, top, 0, 0);
      gsize columns = MIN (tile_width, tiff->width - left);
      guint64 from = MAX (top, row0), to = MIN (top + tile_height, end);

      const gboolean held = tiff_holds (tiff, tile, tiff->block_bytes);
      if (held && !need_block (tiff, tiff->block_bytes, error))
        return FALSE;
      /* libtiff would take the file's first bytes for an unpacked tile that was never written. */
      if (!held || TIFFGetStrileOffset (tiff->handle, tile) == 0
          || TIFFReadEncodedTile (tiff->handle, tile, tiff->block, tiff->block_bytes)
                 != (tmsize_t) tiff->block_bytes)
        return tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                          N_ ("is damaged or cut short: tile %u cannot be unpacked"), tile);
      for (guint64 row = from; row < to; row++)
        td_frame_target_put (&rows->to, tiff->layout.type, FALSE,
                             tiff->block + (row - top) * tile_width * size, columns,
                             td_frame_target_sample (&rows->to, 0, row - row0, left));
    }
  return TRUE;
}

static gboolean
tiff_rows_read_stored (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  return tiff->tiled ? read_tiles (tiff, rows, error) : read_strips (tiff, rows, error);
}

static void
mirror_columns (const TdTiffRows *rows, gsize width)
{
  for (gsize row = 0; row < rows->n_rows; row++) {
    float *values = td_frame_target_row (&rows->to, 0, row);

    for (gsize a = 0, b = width - 1; a < b; a++, b--) {
      float left = values[a];

      values[a] = values[b];
      values[b] = left;
    }
  }
}

static void
mirror_rows (const TdTiffRows *rows, gsize width)
{
  float *values = rows->to.values;

  for (gsize a = 0, b = rows->n_rows - 1; a < b; a++, b--)
    for (gsize i = 0; i < width; i++) {
      float top = values[a * rows->to.row_step + i];

      values[a * rows->to.row_step + i] = values[b * rows->to.row_step + i];
      values[b * rows->to.row_step + i] = top;
    }
}

#define TURNED_ROWS 64 /* of the file at once, at least */

/* Orientations 5 to 8: rows of the picture are columns of the file. So the whole file is read, a
   few of its rows at a time. */
static gboolean
tiff_rows_read_turned (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  gsize width = tiff->width, height = tiff->height;
  float *values = rows->to.values;
  gboolean from_right
      = tiff->orientation == ORIENTATION_RIGHTTOP || tiff->orientation == ORIENTATION_RIGHTBOT;
  gboolean from_bottom
      = tiff->orientation == ORIENTATION_RIGHTBOT || tiff->orientation == ORIENTATION_LEFTBOT;
  const gsize most = MIN (height, MAX (tiff_stored_together (tiff), TURNED_ROWS));
  g_autofree float *stored = g_try_new (float, width *most);

  if (!stored)
    return tiff_fail (tiff, error, TD_ERROR_TOO_LARGE, N_ ("is too large to be turned upright"));
  /* The file's row 0 is the picture's left (or right) side, its column 0 the top (or bottom). */
  for (gsize first = 0; first < height; first += most) {
    const guint n = (guint) MIN (most, height - first);
    if (!tiff_rows_read_stored (tiff, &(TdTiffRows) { (guint) first, n, { stored, 0, width } },
                                error))
      return FALSE;
    for (gsize row = 0; row < rows->n_rows; row++)
      for (gsize y = first; y < first + n; y++) {
        const gsize x = from_bottom ? width - 1 - (rows->row0 + row) : rows->row0 + row;
        const gsize column = from_right ? height - 1 - y : y;

        values[row * rows->to.row_step + column] = stored[(y - first) * width + x];
      }
  }
  return TRUE;
}

static gboolean
read_upright (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  gboolean from_bottom
      = tiff->orientation == ORIENTATION_BOTLEFT || tiff->orientation == ORIENTATION_BOTRIGHT;
  gboolean from_right
      = tiff->orientation == ORIENTATION_TOPRIGHT || tiff->orientation == ORIENTATION_BOTRIGHT;
  TdTiffRows stored = *rows;

  if (tiff_is_turned (tiff))
    return tiff_rows_read_turned (tiff, rows, error);
  if (from_bottom)
    stored.row0 = tiff->height - rows->row0 - rows->n_rows;
  if (!tiff_rows_read_stored (tiff, &stored, error))
    return FALSE;
  if (from_bottom)
    mirror_rows (rows, tiff->width);
  if (from_right)
    mirror_columns (rows, tiff->width);
  return TRUE;
}

/* Samples as they are stored, of a picture that is turned round or lies otherwise than the file's
   rows. Floats, by way of which they go, hold all samples of 8 and 16 bits. */
static gboolean
tiff_rows_read_by_floats (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  const gsize width = tiff->layout.width;
  g_autofree float *values = g_try_new (float, width * rows->n_rows);

  if (!values)
    return tiff_fail (tiff, error, TD_ERROR_TOO_LARGE, N_ ("is too large to be turned upright"));
  if (!td_tiff_read_rows (tiff, &(TdTiffRows) { rows->row0, rows->n_rows, { values, 0, width } },
                          error))
    return FALSE;
  for (gsize row = 0; row < rows->n_rows; row++)
    td_samples_from_float (tiff->layout.type, 0, 1, values + row * width, width,
                           td_frame_target_row (&rows->to, 0, row));
  return TRUE;
}

gboolean
td_tiff_read_rows (TdTiff *tiff, const TdTiffRows *rows, GError **error)
{
  if (rows->row0 > tiff->layout.height || rows->n_rows > tiff->layout.height - rows->row0)
    return tiff_fail (tiff, error, TD_ERROR_INVALID,
                      N_ ("has %u [row|rows]; rows %u to %u were asked for"), tiff->layout.height,
                      rows->row0, rows->row0 + rows->n_rows);
  if (rows->n_rows == 0)
    return TRUE;
  if (rows->to.stored_bytes && (tiff->layout.inverted || tiff->orientation != ORIENTATION_TOPLEFT))
    return tiff_rows_read_by_floats (tiff, rows, error);
  if (!read_upright (tiff, rows, error))
    return FALSE;
  if (tiff->layout.inverted) {
    float *values = rows->to.values;
    const float largest = (float) td_sample_most (tiff->layout.type);

    for (gsize row = 0; row < rows->n_rows; row++)
      for (gsize i = 0; i < tiff->layout.width; i++)
        values[row * rows->to.row_step + i] = largest - values[row * rows->to.row_step + i];
  }
  return TRUE;
}
