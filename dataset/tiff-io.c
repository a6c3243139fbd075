/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tiff-io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "error.h"
#include "sample.h"
#include "tiff-private.h"

/* A strip or tile larger than this is a damaged file's claim. */
#define MAX_BLOCK_BYTES ((guint64) 2 << 30)

/* What libtiff calls the file: our messages name it already. */
#define FILE_WORD "TIFF"

static int on_tiff_error (TIFF *handle, void *user, const char *module, const char *format,
                          va_list arguments) G_GNUC_PRINTF (4, 0);

/* Keeps libtiff's first complaint of a call: the later ones are its echoes. */
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

gboolean
td_tiff_fail (TdTiff *tiff, GError **error, TdErrorCode code, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  if (tiff->message)
    td_set_error (error, code, "“%s” %s (%s)", tiff->name, what, tiff->message);
  else
    td_set_error (error, code, "“%s” %s", tiff->name, what);
  g_clear_pointer (&tiff->message, g_free);
  return FALSE;
}

/* O_NONBLOCK, because opening a named pipe would wait for ever; then only regular files pass. */
static int
open_regular (const char *path, guint64 *size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;

  if (fd < 0)
    return -1;
  if (fstat (fd, &status) != 0 || !S_ISREG (status.st_mode)) {
    close (fd);
    errno = EINVAL;
    return -1;
  }
  *size = status.st_size;
  return fd;
}

gboolean
td_tiff_probe (const char *path)
{
  static const char signatures[][4] = { "II*", { 'M', 'M', 0, '*' }, "II+", { 'M', 'M', 0, '+' } };
  guint64 size;
  char start[4];
  int fd = open_regular (path, &size);
  gboolean found = FALSE;

  if (fd < 0)
    return FALSE;
  if (pread (fd, start, sizeof start, 0) == sizeof start)
    for (guint i = 0; i < G_N_ELEMENTS (signatures); i++)
      found = found || memcmp (start, signatures[i], sizeof start) == 0;
  close (fd);
  return found;
}

static gboolean
sample_type_of (guint bits, guint format, TdSampleType *type)
{
  static const struct {
    guint8 bits, format, type;
  } known[] = {
    { 8, SAMPLEFORMAT_UINT, TD_SAMPLE_UINT8 },      { 8, SAMPLEFORMAT_INT, TD_SAMPLE_INT8 },
    { 16, SAMPLEFORMAT_UINT, TD_SAMPLE_UINT16 },    { 16, SAMPLEFORMAT_INT, TD_SAMPLE_INT16 },
    { 32, SAMPLEFORMAT_UINT, TD_SAMPLE_UINT32 },    { 32, SAMPLEFORMAT_INT, TD_SAMPLE_INT32 },
    { 32, SAMPLEFORMAT_IEEEFP, TD_SAMPLE_FLOAT32 }, { 64, SAMPLEFORMAT_IEEEFP, TD_SAMPLE_FLOAT64 },
  };

  if (format == SAMPLEFORMAT_VOID)
    format = SAMPLEFORMAT_UINT;
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (known[i].bits == bits && known[i].format == format) {
      *type = known[i].type;
      return TRUE;
    }
  return FALSE;
}

static gboolean
check_colours (TdTiff *tiff, GError **error)
{
  guint16 samples = 1, photometric = PHOTOMETRIC_MINISBLACK;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetField (tiff->handle, TIFFTAG_PHOTOMETRIC, &photometric);
  if (samples != 1 || photometric > PHOTOMETRIC_PALETTE || photometric == PHOTOMETRIC_RGB)
    return td_tiff_fail (tiff, error, TD_ERROR_UNSUPPORTED,
                         "is a colour image of %u channels; save it with one channel (grey)",
                         samples);
  tiff->layout.inverted
      = photometric == PHOTOMETRIC_MINISWHITE
        && (tiff->layout.type == TD_SAMPLE_UINT8 || tiff->layout.type == TD_SAMPLE_UINT16
            || tiff->layout.type == TD_SAMPLE_UINT32);
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
    return td_tiff_fail (tiff, error, TD_ERROR_UNSUPPORTED,
                         "has %u-bit %s samples; 8, 16 and 32-bit integers and 32 and 64-bit "
                         "floats can be read",
                         bits, format == SAMPLEFORMAT_IEEEFP ? "float" : "integer");
  if (!TIFFIsCODECConfigured (compression))
    return td_tiff_fail (tiff, error, TD_ERROR_UNSUPPORTED,
                         "is compressed by method %u, which this system's libtiff cannot undo",
                         compression);
  tiff->compressed = compression != COMPRESSION_NONE;
  return TRUE;
}

/* Everything that is needed of the current directory, checked. */
static gboolean
tiff_io_read_layout (TdTiff *tiff, GError **error)
{
  guint16 orientation = ORIENTATION_TOPLEFT, fill = FILLORDER_MSB2LSB;
  guint64 block;

  if (!TIFFGetField (tiff->handle, TIFFTAG_IMAGEWIDTH, &tiff->width)
      || !TIFFGetField (tiff->handle, TIFFTAG_IMAGELENGTH, &tiff->height) || tiff->width == 0
      || tiff->height == 0)
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "states no image size: it is damaged");
  if (tiff->width > TD_TIFF_MAX_SIDE || tiff->height > TD_TIFF_MAX_SIDE
      || (guint64) tiff->width * tiff->height > G_MAXINT32)
    return td_tiff_fail (tiff, error, TD_ERROR_TOO_LARGE,
                         "states an image of %u × %u pixels, which is more than can be read",
                         tiff->width, tiff->height);
  if (!check_samples (tiff, error) || !check_colours (tiff, error))
    return FALSE;
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_ORIENTATION, &orientation);
  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_FILLORDER, &fill);
  tiff->orientation = orientation >= 1 && orientation <= 8 ? orientation : ORIENTATION_TOPLEFT;
  tiff->tiled = TIFFIsTiled (tiff->handle);
  tiff->bits_reversed = fill != FILLORDER_MSB2LSB;
  tiff->layout.width = tiff->orientation > 4 ? tiff->height : tiff->width;
  tiff->layout.height = tiff->orientation > 4 ? tiff->width : tiff->height;

  block = tiff->tiled ? TIFFTileSize64 (tiff->handle) : TIFFStripSize64 (tiff->handle);
  if (block == 0 || (block > MAX_BLOCK_BYTES && (tiff->tiled || tiff->compressed)))
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                         "states a strip or tile of %" G_GUINT64_FORMAT " bytes: it is damaged",
                         block);
  tiff->block_bytes = block;
  return TRUE;
}

TdTiff *
td_tiff_open (const char *path, GError **error)
{
  g_autoptr (TdTiff) tiff = g_new0 (TdTiff, 1);
  TIFFOpenOptions *options;

  tiff->name = g_filename_display_name (path);
  tiff->fd = open_regular (path, &tiff->size);
  if (tiff->fd < 0) {
    int code = errno;

    td_set_error (error, code == ENOENT ? TD_ERROR_NOT_FOUND : TD_ERROR_IO,
                  code == EINVAL ? "“%s” is not a file" : "“%s” cannot be opened: %s", tiff->name,
                  g_strerror (code));
    return NULL;
  }
  options = TIFFOpenOptionsAlloc ();
  TIFFOpenOptionsSetMaxSingleMemAlloc (options, MAX_BLOCK_BYTES);
  TIFFOpenOptionsSetErrorHandlerExtR (options, on_tiff_error, tiff);
  TIFFOpenOptionsSetWarningHandlerExtR (options, on_tiff_warning, tiff);
  /* m: no mapping, since a file cut short under a mapping kills the program; c: leave strips as
     they are, since rows of uncompressed ones are read directly. */
  tiff->handle = TIFFFdOpenExt (tiff->fd, FILE_WORD, "rmc", options);
  TIFFOpenOptionsFree (options);
  if (!tiff->handle) {
    td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "is not a readable TIFF file");
    return NULL;
  }
  if (!tiff_io_read_layout (tiff, error))
    return NULL;
  return g_steal_pointer (&tiff);
}

void
td_tiff_close (TdTiff *tiff)
{
  if (tiff->handle)
    TIFFClose (tiff->handle); /* closes fd too */
  else if (tiff->fd >= 0)
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
td_tiff_select (TdTiff *tiff, const TdTiffPage *page, GError **error)
{
  if (!TIFFSetSubDirectory (tiff->handle, page->directory))
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "has a damaged image directory");
  tiff->data_shift = page->data_shift;
  return tiff_io_read_layout (tiff, error);
}

gboolean
td_tiff_read_frame (const char *path, const TdTiffPage *page, const TdTiffLayout *expected,
                    guint row0, guint n_rows, float *out, GError **error)
{
  g_autoptr (TdTiff) tiff = td_tiff_open (path, error);
  const TdTiffLayout *layout;

  if (!tiff || (page && !td_tiff_select (tiff, page, error)))
    return FALSE;
  layout = &tiff->layout;
  if (layout->width != expected->width || layout->height != expected->height
      || layout->type != expected->type)
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                         "holds %u × %u pixels of %s, but the scan's first frame %u × %u of %s; "
                         "remove or replace the file",
                         layout->width, layout->height, td_sample_name (layout->type),
                         expected->width, expected->height, td_sample_name (expected->type));
  return td_tiff_read_rows (tiff, row0, n_rows, out, error);
}
