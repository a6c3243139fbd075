/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tiff-save.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <tiff.h>
#include <unistd.h>

#include "config.h"
#include "file-bytes.h"
#include "output.h"
#include "sample.h"

#define SOFTWARE "Tomodesk " TD_VERSION
#define ALIGNMENT 16u

/* The file: header, shared values (resolution, software, description), directories, samples. */
struct TdTiffSave {
  int fd;
  gboolean big;
  char *name;
  guint n_images;
  gsize image_bytes;
  guint64 values_at, directories_at, directory_bytes, samples_at;
  guint64 description_entry; /* where the first image's description is stated; 0: it has none */
  guint64 end;
};

static gboolean
write_at (TdTiffSave *save, const void *bytes, gsize n, guint64 offset, GError **error)
{
  const int code = td_file_write (save->fd, bytes, n, offset);

  return code == 0 || td_output_set_error (error, save->name, code == ENODATA ? ENOSPC : code);
}

static void
tiff_save_put (GByteArray *bytes, guint64 value, guint size)
{
  for (guint i = 0; i < size; i++) {
    guint8 byte = value >> 8 * (G_BYTE_ORDER == G_LITTLE_ENDIAN ? i : size - 1 - i);

    g_byte_array_append (bytes, &byte, 1);
  }
}

/* A value of @size bytes, left-justified in the entry's value field as TIFF has it. */
static void
put_entry (GByteArray *bytes, gboolean big, guint tag, guint type, guint64 count, guint64 value,
           guint size)
{
  guint field = big ? 8 : 4;

  tiff_save_put (bytes, tag, 2);
  tiff_save_put (bytes, type, 2);
  tiff_save_put (bytes, count, field);
  tiff_save_put (bytes, value, size);
  for (guint i = size; i < field; i++)
    tiff_save_put (bytes, 0, 1);
}

static void
tiff_save_align (guint64 *offset)
{
  *offset = (*offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

guint
td_tiff_save_sample_format (TdSampleType type)
{
  static const guint formats[] = { [TD_SAMPLE_UNSIGNED] = SAMPLEFORMAT_UINT,
                                   [TD_SAMPLE_SIGNED] = SAMPLEFORMAT_INT,
                                   [TD_SAMPLE_FLOAT] = SAMPLEFORMAT_IEEEFP };

  return formats[td_sample_kind (type)];
}

/* Pixels per centimetre as a fraction. */
static void
put_resolution (GByteArray *bytes, double pixel_mm)
{
  double resolution = pixel_mm > 0 ? 10 / pixel_mm : 0;
  guint32 denominator = 1;

  while (denominator < 1000000 && resolution * denominator * 10 < G_MAXUINT32)
    denominator *= 10;
  tiff_save_put (bytes, (guint32) MIN (rint (resolution * denominator), G_MAXUINT32), 4);
  tiff_save_put (bytes, denominator, 4);
}

/* The directory of image @number; returns where, inside @bytes, the description's entry begins. */
static gsize
put_directory (TdTiffSave *save, const TdTiffImage *image, guint number, GByteArray *bytes)
{
  gboolean big = save->big, described = image->description != NULL, sized = image->pixel_mm > 0;
  guint offset_type = big ? TIFF_LONG8 : TIFF_LONG, offset_size = big ? 8 : 4;
  guint64 resolution_at = save->values_at, software_at = save->values_at + 8;
  guint64 description_at = software_at + sizeof SOFTWARE;
  gboolean last = number + 1 == save->n_images;
  gsize described_at = 0;

  tiff_save_put (bytes, 14 + described + 3 * sized, big ? 8 : 2);
  put_entry (bytes, big, TIFFTAG_SUBFILETYPE, TIFF_LONG, 1, save->n_images > 1 ? FILETYPE_PAGE : 0,
             4);
  put_entry (bytes, big, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, image->width, 4);
  put_entry (bytes, big, TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, image->height, 4);
  put_entry (bytes, big, TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, 8 * td_sample_size (image->type), 2);
  put_entry (bytes, big, TIFFTAG_COMPRESSION, TIFF_SHORT, 1, COMPRESSION_NONE, 2);
  put_entry (bytes, big, TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, PHOTOMETRIC_MINISBLACK, 2);
  if (described) {
    described_at = bytes->len;
    put_entry (bytes, big, TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, strlen (image->description) + 1,
               description_at, offset_size);
  }
  put_entry (bytes, big, TIFFTAG_STRIPOFFSETS, offset_type, 1,
             save->samples_at + (guint64) number * save->image_bytes, offset_size);
  put_entry (bytes, big, TIFFTAG_ORIENTATION, TIFF_SHORT, 1, ORIENTATION_TOPLEFT, 2);
  put_entry (bytes, big, TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, 1, 2);
  put_entry (bytes, big, TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, image->height, 4);
  put_entry (bytes, big, TIFFTAG_STRIPBYTECOUNTS, offset_type, 1, save->image_bytes, offset_size);
  for (guint tag = TIFFTAG_XRESOLUTION; sized && tag <= TIFFTAG_YRESOLUTION; tag++)
    if (big) { /* a rational fits the value field of a BigTIFF */
      put_entry (bytes, big, tag, TIFF_RATIONAL, 1, 0, 0);
      g_byte_array_set_size (bytes, bytes->len - 8);
      put_resolution (bytes, image->pixel_mm);
    } else
      put_entry (bytes, big, tag, TIFF_RATIONAL, 1, resolution_at, offset_size);
  put_entry (bytes, big, TIFFTAG_PLANARCONFIG, TIFF_SHORT, 1, PLANARCONFIG_CONTIG, 2);
  if (sized)
    put_entry (bytes, big, TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT, 1, RESUNIT_CENTIMETER, 2);
  put_entry (bytes, big, TIFFTAG_SOFTWARE, TIFF_ASCII, sizeof SOFTWARE, software_at, offset_size);
  put_entry (bytes, big, TIFFTAG_SAMPLEFORMAT, TIFF_SHORT, 1,
             td_tiff_save_sample_format (image->type), 2);
  tiff_save_put (bytes, last ? 0 : save->directories_at + (number + 1) * save->directory_bytes,
                 offset_size);
  return described_at;
}

/* Fixes where everything lies. */
static void
tiff_save_lay_out (TdTiffSave *save, const TdTiffImage *image)
{
  guint field = save->big ? 20 : 12;
  guint entries = 14 + (image->description != NULL) + 3 * (image->pixel_mm > 0);

  save->image_bytes = (gsize) image->width * image->height * td_sample_size (image->type);
  save->values_at = save->big ? 16 : 8;
  save->directories_at = save->values_at + 8 + sizeof SOFTWARE
                         + (image->description ? strlen (image->description) + 1 : 0);
  tiff_save_align (&save->directories_at);
  save->directory_bytes = (save->big ? 16 : 6) + entries * field;
  tiff_save_align (&save->directory_bytes);
  save->samples_at = save->directories_at + save->n_images * save->directory_bytes;
  tiff_save_align (&save->samples_at);
  save->end = save->samples_at + (guint64) save->n_images * save->image_bytes;
}

/* How many bytes the file will have. */
static guint64
tiff_save_bytes (const TdTiffImage *image, guint n_images)
{
  TdTiffSave save = { .big = TRUE, .n_images = n_images };

  tiff_save_lay_out (&save, image);
  return save.end;
}

static void
put_header (TdTiffSave *save, const TdTiffImage *image, GByteArray *bytes)
{
  const char *order = G_BYTE_ORDER == G_LITTLE_ENDIAN ? "II" : "MM";

  g_byte_array_append (bytes, (const guint8 *) order, 2);
  tiff_save_put (bytes, save->big ? 43 : 42, 2);
  if (save->big)
    tiff_save_put (bytes, 8, 2), tiff_save_put (bytes, 0, 2);
  tiff_save_put (bytes, save->directories_at, save->big ? 8 : 4);
  put_resolution (bytes, image->pixel_mm);
  g_byte_array_append (bytes, (const guint8 *) SOFTWARE, sizeof SOFTWARE);
  if (image->description)
    g_byte_array_append (bytes, (const guint8 *) image->description,
                         strlen (image->description) + 1);
}

static GByteArray *
make_structure (TdTiffSave *save, const TdTiffImage *image)
{
  GByteArray *bytes = g_byte_array_new ();

  put_header (save, image, bytes);
  for (guint i = 0; i < save->n_images; i++) {
    guint64 at = save->directories_at + i * save->directory_bytes;
    guint old = bytes->len;
    gsize entry;

    g_byte_array_set_size (bytes, at);
    memset (bytes->data + old, 0, at - old);
    entry = put_directory (save, image, i, bytes);
    if (i == 0)
      save->description_entry = entry;
  }
  return bytes;
}

/* @flags: of open(), besides O_RDWR. */
static TdTiffSave *
tiff_save_open (const char *path, const char *name, const TdTiffImage *image, guint n_images,
                gboolean big, int flags, GError **error)
{
  g_autoptr (TdTiffSave) save = g_new0 (TdTiffSave, 1);

  save->name = g_strdup (name);
  save->n_images = n_images;
  save->big = big || tiff_save_bytes (image, n_images) >= G_MAXUINT32;
  tiff_save_lay_out (save, image);
  save->fd = open (path, O_RDWR | O_CLOEXEC | flags, 0666);
  return save->fd >= 0 ? g_steal_pointer (&save) : td_output_set_error_null (error, name, errno);
}

TdTiffSave *
td_tiff_save_new (const char *path, const char *name, const TdTiffImage *image, guint n_images,
                  gboolean big, GError **error)
{
  g_autoptr (TdTiffSave) save
      = tiff_save_open (path, name, image, n_images, big, O_CREAT | O_TRUNC, error);

  if (!save)
    return NULL;
  /* The room is taken now where the file system can, so that a full disk is told before the work.
     In memory that would take as long as the work: room is taken there as samples come. */
  const int code = n_images > 1 && !td_file_lies_in_memory (save->fd)
                       ? td_file_allocate (save->fd, 0, 0, save->end)
                       : 0;
  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    return td_output_set_error_null (error, name, code);
  g_autoptr (GByteArray) bytes = make_structure (save, image);
  return write_at (save, bytes->data, bytes->len, 0, error) ? g_steal_pointer (&save) : NULL;
}

TdTiffSave *
td_tiff_save_reopen (const char *path, const char *name, const TdTiffImage *image, guint n_images,
                     GError **error)
{
  TdTiffSave *save = tiff_save_open (path, name, image, n_images, TRUE, 0, error);

  if (save) /* it says where the description is stated */
    g_byte_array_unref (make_structure (save, image));
  return save;
}

gboolean
td_tiff_save_image (TdTiffSave *save, guint number, const void *samples, GError **error)
{
  return write_at (save, samples, save->image_bytes,
                   save->samples_at + (guint64) number * save->image_bytes, error);
}

int
td_tiff_save_file (const TdTiffSave *save)
{
  return save->fd;
}

guint64
td_tiff_save_samples_at (const TdTiffSave *save)
{
  return save->samples_at;
}

gboolean
td_tiff_save_describe (TdTiffSave *save, const char *description, GError **error)
{
  gsize length = strlen (description) + 1;
  g_autoptr (GByteArray) entry = g_byte_array_new ();

  g_return_val_if_fail (save->description_entry != 0, FALSE);
  tiff_save_align (&save->end);
  put_entry (entry, save->big, TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII, length, save->end,
             save->big ? 8 : 4);
  if (!write_at (save, description, length, save->end, error)
      || !write_at (save, entry->data, entry->len, save->description_entry, error))
    return FALSE;
  save->end += length;
  return TRUE;
}

void
td_tiff_save_free (TdTiffSave *save)
{
  if (save->fd >= 0)
    close (save->fd);
  g_free (save->name);
  g_free (save);
}

gboolean
td_tiff_save_close (TdTiffSave *save, GError **error)
{
  g_autoptr (TdTiffSave) own = save;
  const gboolean closed = close (save->fd) == 0; /* network file systems tell of a full disk here */

  save->fd = -1;
  return closed || td_output_set_error (error, save->name, errno);
}

gboolean
td_tiff_save_single (const char *path, const char *name, const TdTiffImage *image,
                     const void *samples, GError **error)
{
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, name, image, 1, FALSE, error);

  return save && td_tiff_save_image (save, 0, samples, error)
         && td_tiff_save_close (g_steal_pointer (&save), error);
}
