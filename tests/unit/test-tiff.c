/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TIFF images of every sample type, layout, compression and orientation, read whole and by rows. */
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "dataset/sample.h"
#include "dataset/tiff-frames.h"
#include "dataset/tiff-io.h"
#include "dataset/tiff-save.h"
#include "tests/common/pins.h"
#include "test-folder.h"

#define WIDTH 53u
#define HEIGHT 141u /* more than are read at once of a turned image */

typedef struct {
  guint bits, format;
} Type;

/* The same samples as the file stores them, in rows further apart. */
static void
assert_stored (TdTiff *tiff, const TdTiffRows *rows)
{
  const TdTiffLayout *layout = td_tiff_layout (tiff);
  const gsize size = td_sample_size (layout->type), step = layout->width + 3;
  g_autofree guint8 *stored = g_malloc0 (rows->n_rows * step * size + 1);
  g_autofree float *values = g_new (float, step);
  g_autoptr (GError) error = NULL;

  if (layout->type != TD_SAMPLE_UINT8 && layout->type != TD_SAMPLE_UINT16)
    return;
  td_tiff_read_rows (tiff, &(TdTiffRows) { rows->row0, rows->n_rows, { stored, 0, step, size } },
                     &error);
  g_assert_no_error (error);
  for (guint row = 0; row < rows->n_rows; row++) {
    td_samples_to_float (layout->type, FALSE, stored + row * step * size, step, values);
    g_assert_cmpmem (values, layout->width * sizeof *values,
                     (float *) rows->to.values + row * rows->to.row_step,
                     layout->width * sizeof *values);
    for (gsize i = layout->width; i < step; i++)
      g_assert_cmpfloat (values[i], ==, 0);
  }
}

/* Rows of an image, one behind the other. */
static gboolean
read_rows (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  const TdTiffRows rows = { row0, n_rows, { out, 0, td_tiff_layout (tiff)->width } };

  if (!td_tiff_read_rows (tiff, &rows, error))
    return FALSE;
  assert_stored (tiff, &rows);
  return TRUE;
}

static const Type types[] = {
  [TD_SAMPLE_UINT8] = { 8, SAMPLEFORMAT_UINT },
  [TD_SAMPLE_INT8] = { 8, SAMPLEFORMAT_INT },
  [TD_SAMPLE_UINT16] = { 16, SAMPLEFORMAT_UINT },
  [TD_SAMPLE_INT16] = { 16, SAMPLEFORMAT_INT },
  [TD_SAMPLE_UINT32] = { 32, SAMPLEFORMAT_UINT },
  [TD_SAMPLE_INT32] = { 32, SAMPLEFORMAT_INT },
  [TD_SAMPLE_FLOAT32] = { 32, SAMPLEFORMAT_IEEEFP },
  [TD_SAMPLE_FLOAT64] = { 64, SAMPLEFORMAT_IEEEFP },
};

typedef struct {
  const char *mode; /* of TIFFOpen: byte order, BigTIFF */
  TdSampleType type;
  guint rows_per_strip; /* 0: tiles of 16 x 32 */
  guint compression, predictor, photometric, orientation;
  guint width, height;
} Make;

static Make
make_of (const char *mode, TdSampleType type, guint rows_per_strip, guint compression)
{
  return (Make) {
    mode,  type,  rows_per_strip, compression, 0, PHOTOMETRIC_MINISBLACK, ORIENTATION_TOPLEFT,
    WIDTH, HEIGHT
  };
}

/* Values that every type holds exactly. */
static float *
make_values (guint n, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  float *values = g_new (float, n);

  for (guint i = 0; i < n; i++)
    values[i] = (float) g_rand_int_range (random, 0, 128);
  return values;
}

static void
write_tiles (TIFF *tiff, const Make *make, const guint8 *samples, gsize size)
{
  g_autofree guint8 *tile = g_malloc0 (32 * 16 * size);

  for (guint top = 0; top < make->height; top += 16)
    for (guint left = 0; left < make->width; left += 32) {
      for (guint y = 0; y < MIN (16, make->height - top); y++)
        memcpy (tile + y * 32 * size, samples + ((top + y) * make->width + left) * size,
                MIN (32, make->width - left) * size);
      g_assert_cmpint (TIFFWriteTile (tiff, tile, left, top, 0, 0), >, 0);
    }
}

static void
set_tags (TIFF *tiff, const Make *make)
{
  TIFFSetField (tiff, TIFFTAG_IMAGEWIDTH, make->width);
  TIFFSetField (tiff, TIFFTAG_IMAGELENGTH, make->height);
  TIFFSetField (tiff, TIFFTAG_BITSPERSAMPLE, types[make->type].bits);
  TIFFSetField (tiff, TIFFTAG_SAMPLEFORMAT, types[make->type].format);
  TIFFSetField (tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField (tiff, TIFFTAG_PHOTOMETRIC, make->photometric);
  TIFFSetField (tiff, TIFFTAG_ORIENTATION, make->orientation);
  TIFFSetField (tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_SEPARATE);
  TIFFSetField (tiff, TIFFTAG_COMPRESSION, make->compression);
  if (make->predictor)
    TIFFSetField (tiff, TIFFTAG_PREDICTOR, make->predictor);
  if (make->rows_per_strip)
    TIFFSetField (tiff, TIFFTAG_ROWSPERSTRIP, make->rows_per_strip);
  else {
    TIFFSetField (tiff, TIFFTAG_TILEWIDTH, 32);
    TIFFSetField (tiff, TIFFTAG_TILELENGTH, 16);
  }
}

/* Appends one image to @tiff. */
static void
put_image (TIFF *tiff, const Make *make, const float *values)
{
  gsize size = td_sample_size (make->type);
  g_autofree guint8 *samples = g_malloc (make->width * make->height * size);

  set_tags (tiff, make);
  td_samples_from_float (make->type, 0, 1, values, make->width * make->height, samples);
  if (make->rows_per_strip == 0)
    write_tiles (tiff, make, samples, size);
  else
    for (guint row = 0; row < make->height; row++)
      g_assert_cmpint (TIFFWriteScanline (tiff, samples + row * make->width * size, row, 0), >, 0);
  g_assert_true (TIFFWriteDirectory (tiff));
}

static void
write_image (const char *path, const Make *make, const float *values)
{
  TIFF *tiff = TIFFOpen (path, make->mode);

  g_assert_nonnull (tiff);
  put_image (tiff, make, values);
  TIFFClose (tiff);
}

static void
check_rows (const char *path, const float *values, guint row0, guint n_rows)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, &error);
  g_autofree float *read = g_new (float, WIDTH *n_rows + 1);

  g_assert_no_error (error);
  read[WIDTH * n_rows] = -77; /* nothing behind what was asked for is touched */
  read_rows (tiff, row0, n_rows, read, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (read, WIDTH * n_rows * sizeof *read, values + row0 * WIDTH,
                   WIDTH * n_rows * sizeof *read);
  g_assert_cmpfloat (read[WIDTH * n_rows], ==, -77);
}

static void
test_round_trip (gconstpointer data)
{
  static const char *const modes[] = { "wl", "wb", "wl8", "wb8" };
  static const guint layouts[] = { 1, 7, HEIGHT, 0 };
  TdSampleType type = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  gboolean is_float = type >= TD_SAMPLE_FLOAT32;
  struct {
    guint compression, predictor;
  } ways[] = {
    { COMPRESSION_NONE, 0 },
    { COMPRESSION_LZW, 0 },
    { COMPRESSION_LZW, is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL },
    { COMPRESSION_ADOBE_DEFLATE, is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL },
    { COMPRESSION_PACKBITS, 0 },
    { COMPRESSION_ZSTD, 0 },
    { COMPRESSION_LZMA, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    for (guint j = 0; j < G_N_ELEMENTS (layouts); j++) {
      Make make = make_of (modes[(i + j) % 4], type, layouts[j], ways[i].compression);
      make.predictor = ways[i].predictor;
      g_autofree float *values = make_values (WIDTH * HEIGHT, 100 * i + j);
      g_autoptr (TdTiff) tiff = NULL;

      /* libtiff 4.5 writes this predictor wrongly in the other byte order */
      if (ways[i].predictor == PREDICTOR_FLOATINGPOINT)
        make.mode = j % 2 ? "w" : "w8";
      if (!TIFFIsCODECConfigured (ways[i].compression))
        continue;
      write_image (path, &make, values);
      tiff = td_tiff_open (path, NULL, NULL);
      g_assert_nonnull (tiff);
      g_assert_cmpint (td_tiff_layout (tiff)->type, ==, type);
      check_rows (path, values, 0, HEIGHT);
      check_rows (path, values, 0, 1);
      check_rows (path, values, HEIGHT - 1, 1);
      check_rows (path, values, 5, 17);
      check_rows (path, values, 13, 20);
    }
}

/* NaN, infinities and fractions come through as they are. */
static void
test_special_values (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  g_autofree float *values = make_values (WIDTH * HEIGHT, 1), *read = g_new (float, WIDTH);
  g_autoptr (TdTiff) tiff = NULL;

  values[0] = NAN, values[1] = INFINITY, values[2] = -INFINITY, values[3] = -0.37f;
  for (TdSampleType type = TD_SAMPLE_FLOAT32; type <= TD_SAMPLE_FLOAT64; type++) {
    Make make = make_of ("w", type, 7, COMPRESSION_LZW);

    write_image (path, &make, values);
    tiff = td_tiff_open (path, NULL, NULL);
    g_assert_true (read_rows (tiff, 0, 1, read, NULL));
    g_clear_pointer (&tiff, td_tiff_close);
    g_assert_true (isnan (read[0]));
    g_assert_true (isinf (read[1]) && read[1] > 0);
    g_assert_true (isinf (read[2]) && read[2] < 0);
    g_assert_cmpfloat (read[3], ==, values[3]);
  }
}

/* Where the picture's (row, column) is stored, by the words of the TIFF specification. */
static float
stored_at (const float *stored, guint orientation, guint row, guint column)
{
  guint y = row, x = column;

  switch (orientation) {
  case ORIENTATION_TOPRIGHT: x = WIDTH - 1 - column; break;
  case ORIENTATION_BOTRIGHT: x = WIDTH - 1 - column, y = HEIGHT - 1 - row; break;
  case ORIENTATION_BOTLEFT: y = HEIGHT - 1 - row; break;
  case ORIENTATION_LEFTTOP: x = row, y = column; break;
  case ORIENTATION_RIGHTTOP: x = row, y = HEIGHT - 1 - column; break;
  case ORIENTATION_RIGHTBOT: x = WIDTH - 1 - row, y = HEIGHT - 1 - column; break;
  case ORIENTATION_LEFTBOT: x = WIDTH - 1 - row, y = column; break;
  }
  return stored[y * WIDTH + x];
}

static void
test_orientations (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  g_autofree float *values = make_values (WIDTH * HEIGHT, 3),
                   *read = g_new (float, 9 * MAX (WIDTH, HEIGHT));

  for (guint orientation = 1; orientation <= 8; orientation++)
    for (guint tiles = 0; tiles < 2; tiles++) {
      Make make = make_of ("w", TD_SAMPLE_UINT16, tiles ? 0 : 7, COMPRESSION_NONE);
      make.orientation = orientation;
      g_autoptr (TdTiff) tiff = NULL;
      guint width = orientation > 4 ? HEIGHT : WIDTH;

      write_image (path, &make, values);
      tiff = td_tiff_open (path, NULL, NULL);
      g_assert_cmpuint (td_tiff_layout (tiff)->width, ==, width);
      g_assert_true (read_rows (tiff, 11, 9, read, NULL));
      for (guint row = 0; row < 9; row++)
        for (guint column = 0; column < width; column++)
          g_assert_cmpfloat (read[row * width + column], ==,
                             stored_at (values, orientation, 11 + row, column));
    }
}

static void
test_min_is_white (void)
{
  static const double largest[]
      = { [TD_SAMPLE_UINT8] = 255, [TD_SAMPLE_UINT16] = 65535, [TD_SAMPLE_FLOAT32] = 0 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  g_autofree float *values = make_values (WIDTH * HEIGHT, 4), *read = g_new (float, WIDTH);
  const TdSampleType which[] = { TD_SAMPLE_UINT8, TD_SAMPLE_UINT16, TD_SAMPLE_FLOAT32 };
  const TdScanOptions options
      = { .angles = "0:180", .sinograms = TRUE, .values = TD_SCAN_VALUES_INTENSITIES };

  for (guint i = 0; i < G_N_ELEMENTS (which); i++) {
    Make make = make_of ("w", which[i], 7, COMPRESSION_NONE);
    make.photometric = PHOTOMETRIC_MINISWHITE;
    g_autoptr (TdTiff) tiff = NULL;
    g_autoptr (GError) error = NULL;

    write_image (path, &make, values);
    tiff = td_tiff_open (path, NULL, NULL);
    g_assert_cmpint (td_tiff_layout (tiff)->inverted, ==, largest[which[i]] > 0);
    g_assert_true (read_rows (tiff, 2, 1, read, NULL));
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (td_scan_facts (scan)->inverted, ==, largest[which[i]] > 0);
    for (guint x = 0; x < WIDTH; x++)
      g_assert_cmpfloat (read[x], ==,
                         largest[which[i]] > 0 ? (float) largest[which[i]] - values[2 * WIDTH + x]
                                               : values[2 * WIDTH + x]);
  }
}

/* A palette of rising greys says nothing; one of colours, or of falling greys, is told. */
static void
test_palettes (void)
{
  static const struct {
    gboolean falls, coloured;
    guint once; /* the one grey below which it falls */
  } palettes[] = {
    { FALSE, FALSE, 0 }, { TRUE, FALSE, 0 },    { FALSE, TRUE, 0 },
    { FALSE, FALSE, 1 }, { FALSE, FALSE, 128 }, { FALSE, FALSE, 255 },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  g_autofree float *values = make_values (WIDTH * HEIGHT, 4), *read = g_new (float, WIDTH);
  Make make = make_of ("w", TD_SAMPLE_UINT8, 7, COMPRESSION_NONE);
  make.photometric = PHOTOMETRIC_PALETTE;

  for (guint i = 0; i < G_N_ELEMENTS (palettes); i++) {
    guint16 grey[256], green[256];
    TIFF *file = TIFFOpen (path, "w");

    for (guint c = 0; c < 256; c++) {
      grey[c] = (guint16) (257 * (palettes[i].falls ? 255 - c : c));
      if (c > 0 && c == palettes[i].once)
        grey[c - 1] = green[c - 1] = (guint16) (257 * c + 1);
      green[c] = palettes[i].coloured && c == 200 ? 0 : grey[c];
    }
    for (guint image = 0; image < 2; image++) {
      TIFFSetField (file, TIFFTAG_BITSPERSAMPLE, 8);
      TIFFSetField (file, TIFFTAG_COLORMAP, grey, green, grey);
      put_image (file, &make, values);
    }
    TIFFClose (file);
    g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
    const gboolean told = palettes[i].falls || palettes[i].coloured || palettes[i].once;
    g_assert_cmpint (td_tiff_layout (tiff)->coloured, ==, told);
    g_assert_true (read_rows (tiff, 2, 1, read, NULL));
    g_assert_cmpmem (read, WIDTH * sizeof *read, values + 2 * WIDTH, WIDTH * sizeof *read);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan
        = td_scan_open (path, &(TdScanOptions) { .angles = "0:180" }, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_scan_facts (scan)->notes, "\n", NULL);
    g_assert_cmpint (strstr (notes, "has a palette of colours") != NULL, ==, told);
  }
}

/* Images of several pages, a thumbnail among them, reached in any order. */
static void
test_pages (gconstpointer data)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "pages.tif");
  Make make = make_of (data, TD_SAMPLE_UINT16, 7, COMPRESSION_LZW);
  Make small = make;
  static const guint order[] = { 6, 0, 3, 3, 1 };
  g_autofree float *values = make_values (7 * WIDTH * HEIGHT, 5);
  g_autofree float *read = g_new (float, WIDTH *HEIGHT);
  g_autoptr (GError) error = NULL;
  TIFF *file = TIFFOpen (path, make.mode);

  small.width = small.height = 8;
  for (guint i = 0; i < 7; i++) {
    put_image (file, &make, values + i * WIDTH * HEIGHT);
    if (i == 2) {
      TIFFSetField (file, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
      put_image (file, &small, values);
    }
  }
  TIFFClose (file);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) pages = td_tiff_pages (tiff, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (pages->len, ==, 7);
  for (guint i = 0; i < G_N_ELEMENTS (order); i++) {
    const TdTiffRows rows = { 0, HEIGHT, { read, 0, WIDTH } };
    td_tiff_read_frame (path, &g_array_index (pages, TdTiffPage, order[i]), td_tiff_layout (tiff),
                        &rows, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (read, WIDTH * HEIGHT * sizeof *read, values + order[i] * WIDTH * HEIGHT,
                     WIDTH * HEIGHT * sizeof *read);
  }
}

/* How often this program has asked the kernel for bytes; 0: the kernel does not say. */
static guint64
count_reads (void)
{
  g_autofree char *text = NULL;
  const char *at
      = g_file_get_contents ("/proc/self/io", &text, NULL, NULL) ? strstr (text, "syscr:") : NULL;

  return at ? g_ascii_strtoull (at + strlen ("syscr:"), NULL, 10) : 0;
}

/* A page costs as much wherever it stands: nothing walks through those before it. Both byte orders,
   both kinds of offsets. */
static void
test_many_pages (gconstpointer mode)
{
  enum { N = 600, MOST_READS = 40 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "pages.tif");
  Make make = make_of (mode, TD_SAMPLE_UINT16, 7, COMPRESSION_LZW);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5), *read = g_new (float, WIDTH *HEIGHT);
  g_autoptr (GError) error = NULL;
  TIFF *file = TIFFOpen (path, make.mode);

  for (guint i = 0; i < N; i++) {
    values[0] = i;
    put_image (file, &make, values);
  }
  TIFFClose (file);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) pages = td_tiff_pages (tiff, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (pages->len, ==, N);
  const guint64 before = count_reads ();
  for (guint i = 0; i < N; i++) {
    const TdTiffRows rows = { 0, 1, { read, 0, td_tiff_layout (tiff)->width } };
    td_tiff_read_frame (path, &g_array_index (pages, TdTiffPage, i), td_tiff_layout (tiff), &rows,
                        &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (read[0], ==, i);
  }
  if (before > 0)
    g_assert_cmpuint (count_reads () - before, <, MOST_READS * N);
}

/* Of a BigTIFF the directory at @at, whose sizes become numbers of 64 bits; returns where the next
   one is. */
static guint64
widen_sizes (int fd, guint64 at, gboolean big_endian)
{
#define READ(value, bits, offset)                                                                  \
  g_assert_cmpint (pread (fd, &(value), sizeof (value), (off_t) (offset)), ==, sizeof (value));    \
  value = big_endian ? GUINT##bits##_FROM_BE (value) : GUINT##bits##_FROM_LE (value)
#define WRITE(value, bits, offset)                                                                 \
  value = big_endian ? GUINT##bits##_TO_BE (value) : GUINT##bits##_TO_LE (value);                  \
  g_assert_cmpint (pwrite (fd, &(value), sizeof (value), (off_t) (offset)), ==, sizeof (value))
  guint64 n, next;

  READ (n, 64, at);
  for (guint64 i = 0; i < n; i++) {
    const guint64 entry = at + 8 + 20 * i;
    guint16 tag, type, narrow;
    guint64 wide;

    READ (tag, 16, entry);
    if (tag != TIFFTAG_IMAGEWIDTH && tag != TIFFTAG_IMAGELENGTH)
      continue;
    READ (type, 16, entry + 2);
    g_assert_cmpuint (type, ==, TIFF_SHORT);
    READ (narrow, 16, entry + 12);
    wide = narrow;
    type = TIFF_LONG8;
    WRITE (type, 16, entry + 2);
    WRITE (wide, 64, entry + 12);
  }
  READ (next, 64, at + 8 + 20 * n);
  return next;
#undef READ
#undef WRITE
}

/* Whichever type of number states the size of a page. */
static void
test_pages_wide (gconstpointer mode)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "pages.tif");
  const gboolean big_endian = strchr (mode, 'b') != NULL;
  Make make = make_of (mode, TD_SAMPLE_UINT16, 7, COMPRESSION_NONE);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5);
  g_autoptr (GError) error = NULL;
  TIFF *file = TIFFOpen (path, make.mode);
  guint64 at;

  for (guint i = 0; i < 3; i++)
    put_image (file, &make, values);
  TIFFClose (file);
  const int fd = open (path, O_RDWR);
  g_assert_cmpint (pread (fd, &at, 8, 8), ==, 8);
  for (at = big_endian ? GUINT64_FROM_BE (at) : GUINT64_FROM_LE (at); at;)
    at = widen_sizes (fd, at, big_endian);
  close (fd);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) pages = td_tiff_pages (tiff, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (pages->len, ==, 3);
}

static void
test_pages_differ (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "pages.tif");
  Make make = make_of ("w", TD_SAMPLE_UINT16, 7, COMPRESSION_LZW);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5);
  g_autoptr (GError) error = NULL;
  TIFF *file = TIFFOpen (path, "w");

  put_image (file, &make, values);
  make.width = WIDTH - 1;
  put_image (file, &make, values);
  TIFFClose (file);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
  g_assert_null (td_tiff_pages (tiff, &error));
  test_assert_sentence (error, "pages.tif");
}

/* ImageJ and OME say along which axes a stack's images lie: two axes are several series. */
static void
test_several_series (void)
{
  static const struct {
    const char *said;
    gboolean good;
  } cases[] = {
    { "ImageJ=1.53t\nimages=4\nslices=4\n", TRUE },
    { "ImageJ=1.53t\nimages=4\nchannels=4\n", TRUE },
    { "ImageJ=1.53t\nimages=4\nchannels=2\nslices=2\nhyperstack=true\n", FALSE },
    { "ImageJ=1.53t\nimages=4\nchannels=2\nframes=2\nhyperstack=true\n", FALSE },
    { "ImageJ=1.53t\nimages=4\nslices=2\nframes=2\nhyperstack=true\n", FALSE },
    { "<OME><Pixels SizeC=\"2\" SizeT=\"1\" SizeZ=\"2\"/></OME>", FALSE },
    { "<OME><Pixels SizeC=\"1\" SizeT=\"4\" SizeZ=\"1\"/></OME>", TRUE },
    /* each channel in a file of its own */
    { "<OME><Pixels SizeC=\"2\" SizeT=\"1\" SizeZ=\"4\"/></OME>", TRUE },
    { "channels=2\nslices=2\n", TRUE },
  };
  Make make = make_of ("wl", TD_SAMPLE_UINT16, HEIGHT, COMPRESSION_LZW);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "series.tif");
    g_autoptr (GError) error = NULL;
    TIFF *file = TIFFOpen (path, "w");

    TIFFSetField (file, TIFFTAG_IMAGEDESCRIPTION, cases[i].said);
    for (guint page = 0; page < 4; page++)
      put_image (file, &make, values);
    TIFFClose (file);
    g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
    g_autoptr (GArray) pages = td_tiff_pages (tiff, &error);
    if (cases[i].good) {
      g_assert_no_error (error);
      g_assert_cmpuint (pages->len, ==, 4);
      continue;
    }
    g_assert_null (pages);
    g_assert_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED);
    test_assert_sentence (error, "series.tif");
  }
}

static void
save_described (const char *path, guint images, guint stated)
{
  Make make = make_of ("wl", TD_SAMPLE_UINT16, 7, COMPRESSION_NONE);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5);
  g_autofree char *said = g_strdup_printf ("ImageJ=1.53t\nimages=%u\nslices=%u\n", stated, stated);
  TIFF *file = TIFFOpen (path, "w");

  make.width = make.height = 8;
  if (stated)
    TIFFSetField (file, TIFFTAG_IMAGEDESCRIPTION, said);
  for (guint i = 0; i < images; i++)
    put_image (file, &make, values);
  TIFFClose (file);
}

/* Files of one image and of several, in whatever order they come: an image a frame. */
static void
test_frames_added (void)
{
  static const char *const names[] = { "a.tif", "b.tif", "c.tif", "d.tif", NULL };
  static const struct {
    guint images[4];
    guint first; /* so many are added before the others */
  } cases[] = {
    { { 1, 1, 1, 1 }, 2 }, { { 1, 1, 3, 2 }, 2 }, { { 1, 2, 1, 3 }, 1 },
    { { 3, 1, 2, 1 }, 1 }, { { 1, 1, 1, 2 }, 0 }, { { 2, 2, 2, 2 }, 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (TdTiffFrames) frames = td_tiff_frames_new ();
    g_autoptr (GError) error = NULL;
    char *paths[5] = { NULL };
    const char *before[5] = { NULL };
    guint frame = 0;
    for (guint file = 0; file < 4; file++) {
      paths[file] = test_folder_file (folder, names[file]);
      save_described (paths[file], cases[i].images[file], 0);
      before[file] = file < cases[i].first ? paths[file] : NULL;
    }
    g_assert_true (td_tiff_frames_add (frames, before, &error));
    g_assert_true (
        td_tiff_frames_add (frames, (const char *const *) paths + cases[i].first, &error));
    for (guint file = 0; file < 4; file++)
      for (guint page = 0; page < cases[i].images[file]; page++)
        g_assert_cmpstr (td_tiff_frames_path (frames, frame++), ==, paths[file]);
    g_assert_cmpuint (td_tiff_frames_count (frames), ==, frame);
    for (guint file = 0; file < 4; file++)
      g_free (paths[file]);
  }
}

/* A stack of fewer images than it states was cut short, or is a part of one. That is told, with
   both numbers and what helps. */
static void
test_partial_stacks (void)
{
  static const struct {
    const char *name;
    guint images, stated, flats, flats_stated;
    gboolean sinograms;
    const char *told[3];
  } cases[] = {
    { "whole", 4, 4, 2, 2 },
    { "silent", 4, 0, 2, 0 },
    { "more", 4, 3, 2, 1 },
    { "views", 4, 5, 2, 2, FALSE, { "s.tif” states 5 images, but holds 4", "--angles" } },
    { "flats", 4, 4, 2, 3, FALSE, { "flat.tif” states 3 images, but holds 2" } },
    { "both", 2, 721, 2, 3, FALSE, { "states 721", "states 3", "copy or save it again" } },
    { "rows", 8, 9, 2, 2, TRUE, { "s.tif” states 9 images, but holds 8" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "s.tif");
    g_autofree char *flats = test_folder_file (folder, "flat.tif");
    const TdScanOptions options
        = { .angles = "0:180", .flats = flats, .sinograms = cases[i].sinograms };
    g_autoptr (GError) error = NULL;

    g_test_message ("%s", cases[i].name);
    save_described (path, cases[i].images, cases[i].stated);
    save_described (flats, cases[i].flats, cases[i].flats_stated);
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes
        = td_messages_join (td_scan_facts (scan)->notes, "\n", td_naming_options);
    for (guint k = 0; k < G_N_ELEMENTS (cases[i].told) && cases[i].told[k]; k++)
      g_assert_nonnull (strstr (notes, cases[i].told[k]));
    g_assert_cmpint (strstr (notes, "but holds") != NULL, ==, cases[i].told[0] != NULL);
    g_assert_true (!cases[i].sinograms || !strstr (notes, "give the angles"));
  }
}

/* A chain of directories that comes back to an earlier one must end. */
static void
test_pages_circle (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "circle.tif");
  Make make = make_of ("wl", TD_SAMPLE_UINT8, HEIGHT, COMPRESSION_NONE);
  g_autofree float *values = make_values (WIDTH * HEIGHT, 5);
  g_autoptr (GError) error = NULL;
  guint32 directory;
  guint16 n;

  write_image (path, &make, values);
  int fd = open (path, O_RDWR);
  g_assert_cmpint (pread (fd, &directory, 4, 4), ==, 4);
  g_assert_cmpint (pread (fd, &n, 2, directory), ==, 2);
  g_assert_cmpint (pwrite (fd, &directory, 4, directory + 2 + 12 * n), ==, 4);
  close (fd);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
  g_assert_nonnull (tiff);
  g_assert_null (td_tiff_pages (tiff, &error));
  test_assert_sentence (error, "circle.tif");
}

/* ImageJ's large stacks: one directory, the images one behind the other. */
static void
test_imagej (gconstpointer data)
{
  const guint images = GPOINTER_TO_UINT (data) % 16, stated = GPOINTER_TO_UINT (data) / 16;
  g_autofree char *said = g_strdup_printf ("ImageJ=1.53t\nimages=%u\nslices=%u\n", stated, stated);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "imagej.tif");
  g_autofree float *values = make_values (images * WIDTH * HEIGHT, 6);
  g_autofree float *read = g_new (float, WIDTH * 2);
  g_autofree guint8 *samples = g_malloc (images * WIDTH * HEIGHT * 2);
  TdTiffImage image = { WIDTH, images * HEIGHT, TD_SAMPLE_UINT16, 0, said };
  g_autoptr (GError) error = NULL;
  guint32 height = HEIGHT, bytes = WIDTH * HEIGHT * 2, directory;
  guint8 entries[12 * 32];
  guint16 n;

  /* a tall image whose directory then says that it is only the first part */
  td_samples_from_float (TD_SAMPLE_UINT16, 0, 1, values, images * WIDTH * HEIGHT, samples);
  g_assert_true (td_tiff_save_single (path, "imagej", &image, samples, NULL));
  int fd = open (path, O_RDWR);
  g_assert_cmpint (pread (fd, &directory, 4, 4), ==, 4);
  g_assert_cmpint (pread (fd, &n, 2, directory), ==, 2);
  g_assert_cmpint (pread (fd, entries, 12 * n, directory + 2), ==, 12 * n);
  for (guint i = 0; i < n; i++) {
    guint16 tag;

    memcpy (&tag, entries + 12 * i, 2);
    if (tag == TIFFTAG_IMAGELENGTH || tag == TIFFTAG_ROWSPERSTRIP)
      g_assert_cmpint (pwrite (fd, &height, 4, directory + 2 + 12 * i + 8), ==, 4);
    if (tag == TIFFTAG_STRIPBYTECOUNTS)
      g_assert_cmpint (pwrite (fd, &bytes, 4, directory + 2 + 12 * i + 8), ==, 4);
  }
  close (fd);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) pages = td_tiff_pages (tiff, &error);
  if (images > 1 && images < stated) {
    test_assert_sentence (error, "cut short");
    return;
  }
  g_assert_no_error (error);
  g_assert_cmpuint (pages->len, ==, images);
  for (guint i = 0; i < images; i++) {
    const TdTiffRows rows = { 7, 2, { read, 0, WIDTH } };
    td_tiff_read_frame (path, &g_array_index (pages, TdTiffPage, i), td_tiff_layout (tiff), &rows,
                        &error);
    g_assert_no_error (error);
    g_assert_cmpmem (read, 2 * WIDTH * sizeof *read, values + (i * HEIGHT + 7) * WIDTH,
                     2 * WIDTH * sizeof *read);
  }
}

/* As libtiff does not: the file's only strip has so many bytes, it says. */
static void
state_strip_bytes (const char *path, guint32 bytes)
{
  g_autofree char *text = NULL;
  guint32 directory, stated = GUINT32_TO_LE (bytes);
  gsize length;

  g_assert_true (g_file_get_contents (path, &text, &length, NULL));
  memcpy (&directory, text + 4, sizeof directory);
  for (gsize at = GUINT32_FROM_LE (directory) + 2; at + 12 <= length; at += 12)
    if ((guint8) text[at] == (TIFFTAG_STRIPBYTECOUNTS & 255)
        && (guint8) text[at + 1] == TIFFTAG_STRIPBYTECOUNTS >> 8) {
      text[at + 2] = 4; /* 32 bits */
      memcpy (text + at + 8, &stated, sizeof stated);
    }
  g_assert_true (g_file_set_contents (path, text, (gssize) length, NULL));
}

/* Few bytes that state to hold a large image: its memory is not asked for. */
static void
test_false_strip (void)
{
  static const guint compressions[]
      = { COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS };
  const guint side = 30000;

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed ();
    return;
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they map terabytes */
  const struct rlimit limit = { 3 << 28, 3 << 28 };
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
#endif
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "few.tif");
  g_autofree float *read = g_new (float, side);
  for (guint i = 0; i < G_N_ELEMENTS (compressions); i++) {
    Make make = make_of ("wl", TD_SAMPLE_UINT8, side, compressions[i]);
    make.width = side;
    make.height = side;
    guint8 samples[34] = { 0x78, 0x9c };
    TIFF *tiff = TIFFOpen (path, make.mode);
    g_autoptr (GError) error = NULL;

    set_tags (tiff, &make);
    g_assert_cmpint (TIFFWriteRawStrip (tiff, 0, samples, sizeof samples), >, 0);
    TIFFClose (tiff);
    if (i == 0)
      state_strip_bytes (path, 1 << 30);
    g_autoptr (TdTiff) opened = td_tiff_open (path, NULL, &error);
    g_assert_no_error (error);
    g_assert_false (read_rows (opened, side - 1, 1, read, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
    td_test_pin_refused (error);
  }
}

/* Strips and tiles that were never written are no zeros. */
static void
test_missing_strips (void)
{
  static const guint compressions[] = { COMPRESSION_NONE, COMPRESSION_LZW };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "short.tif");
  guint8 samples[32 * 16] = { 1 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (compressions); i++) {
    Make make = make_of ("w", TD_SAMPLE_UINT8, i % 2 ? 16 : 0, compressions[i / 2]);
    make.width = 32;
    make.height = 48;
    TIFF *tiff = TIFFOpen (path, make.mode);
    float read[32 * 48];

    g_test_message ("compression %u, %u rows a strip", make.compression, make.rows_per_strip);
    set_tags (tiff, &make);
    for (guint part = 0; part < 3; part += 2)
      if (make.rows_per_strip)
        g_assert_cmpint (TIFFWriteEncodedStrip (tiff, part, samples, sizeof samples), >, 0);
      else
        g_assert_cmpint (TIFFWriteEncodedTile (tiff, part, samples, sizeof samples), >, 0);
    TIFFClose (tiff);
    g_autoptr (GError) error = NULL;
    g_autoptr (TdTiff) opened = td_tiff_open (path, NULL, &error);
    g_assert_no_error (error);
    read_rows (opened, 0, 16, read, &error);
    g_assert_no_error (error);
    g_assert_cmpfloat (read[0], ==, 1);
    g_assert_false (read_rows (opened, 16, 16, read, &error));
    test_assert_sentence (error, "short.tif");
  }
}

static void
test_refused (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *colour = test_folder_file (folder, "colour.tif");
  g_autofree char *twelve = test_folder_file (folder, "twelve.tif");
  g_autofree char *text = test_folder_file (folder, "text.tif");
  g_autofree char *absent = test_folder_file (folder, "absent.tif");
  const char *names[] = { colour, twelve, text, absent, folder->path };
  guint8 row[3 * WIDTH] = { 0 };

  for (guint i = 0; i < 2; i++) {
    TIFF *tiff = TIFFOpen (names[i], "w");

    TIFFSetField (tiff, TIFFTAG_IMAGEWIDTH, WIDTH);
    TIFFSetField (tiff, TIFFTAG_IMAGELENGTH, 1);
    TIFFSetField (tiff, TIFFTAG_BITSPERSAMPLE, i == 0 ? 8 : 12);
    TIFFSetField (tiff, TIFFTAG_SAMPLESPERPIXEL, i == 0 ? 3 : 1);
    TIFFSetField (tiff, TIFFTAG_PHOTOMETRIC, i == 0 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField (tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFWriteScanline (tiff, row, 0, 0);
    TIFFClose (tiff);
  }
  g_assert_true (g_file_set_contents (text, "II*, said the text", -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *base = g_path_get_basename (names[i]);
    g_autoptr (GError) error = NULL;

    g_assert_null (td_tiff_open (names[i], NULL, &error));
    test_assert_sentence (error, base);
    g_assert_true (names[i] != text || strstr (error->message, "copy it again"));
  }
}

/* A directory that states an image of which next to nothing is there. */
static TdTiff *
open_stated (const char *path, const guint *fields, guint n, GError **error)
{
  TIFF *tiff = TIFFOpen (path, "w8");

  for (guint i = 0; i + 1 < n; i += 2)
    if (fields[i])
      TIFFSetField (tiff, fields[i], fields[i + 1]);
  TIFFSetField (tiff, TIFFTAG_ROWSPERSTRIP, 2000000);
  guint8 byte = 0;
  TIFFWriteRawStrip (tiff, 0, &byte, 1);
  g_assert_true (TIFFWriteDirectory (tiff));
  TIFFClose (tiff);
  return td_tiff_open (path, NULL, error);
}

/* How large an image can be. */
static void
test_limits (void)
{
  static const struct {
    guint width, height;
    gboolean good;
  } cases[] = {
    { 1048576, 1, TRUE },  { 1048577, 1, FALSE },  { 1, 1048576, TRUE },
    { 1, 1048577, FALSE }, { 65536, 32767, TRUE }, { 65536, 32768, FALSE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "stated.tif");

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint fields[] = {
      TIFFTAG_IMAGEWIDTH,  cases[i].width,         TIFFTAG_IMAGELENGTH,
      cases[i].height,     TIFFTAG_BITSPERSAMPLE,  8,
      TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK,
    };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdTiff) tiff = open_stated (path, fields, G_N_ELEMENTS (fields), &error);

    g_test_message ("%u x %u", cases[i].width, cases[i].height);
    if (!cases[i].good) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      td_test_pin_refused (error);
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpuint (td_tiff_layout (tiff)->width, ==, cases[i].width);
    g_assert_cmpuint (td_tiff_layout (tiff)->height, ==, cases[i].height);
  }
}

/* Which samples can be read: whole bytes, integers to 32 bits, floats of 32 and 64. */
static void
test_sample_types (void)
{
  static const guint bits[] = { 1, 4, 8, 12, 16, 24, 32, 64 };
  static const guint formats[] = { SAMPLEFORMAT_UINT, SAMPLEFORMAT_INT, SAMPLEFORMAT_IEEEFP,
                                   SAMPLEFORMAT_VOID, SAMPLEFORMAT_COMPLEXIEEEFP };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "stated.tif");

  for (guint i = 0; i < G_N_ELEMENTS (bits) * G_N_ELEMENTS (formats); i++) {
    const guint own = bits[i % G_N_ELEMENTS (bits)], format = formats[i / G_N_ELEMENTS (bits)];
    const gboolean whole = own == 8 || own == 16 || own == 32, real = own == 32 || own == 64;
    const gboolean good = format == SAMPLEFORMAT_IEEEFP          ? real
                          : format == SAMPLEFORMAT_COMPLEXIEEEFP ? FALSE
                                                                 : whole;
    const guint fields[] = {
      TIFFTAG_IMAGEWIDTH,    5,
      TIFFTAG_IMAGELENGTH,   3,
      TIFFTAG_PHOTOMETRIC,   PHOTOMETRIC_MINISBLACK,
      TIFFTAG_BITSPERSAMPLE, own,
      TIFFTAG_SAMPLEFORMAT,  format,
    };
    g_autoptr (GError) error = NULL;
    g_autoptr (TdTiff) tiff = open_stated (path, fields, G_N_ELEMENTS (fields), &error);

    g_test_message ("%u bits of kind %u", own, format);
    if (!good) {
      test_assert_sentence (error, "samples");
      g_assert_cmpint (strstr (error->message, "bit float samples") != NULL, ==,
                       format == SAMPLEFORMAT_IEEEFP);
      continue;
    }
    g_assert_no_error (error);
    const TdSampleType type = td_tiff_layout (tiff)->type;
    g_assert_cmpuint (8 * td_sample_size (type), ==, own);
    g_assert_cmpint (td_sample_kind (type), ==,
                     format == SAMPLEFORMAT_INT      ? TD_SAMPLE_SIGNED
                     : format == SAMPLEFORMAT_IEEEFP ? TD_SAMPLE_FLOAT
                                                     : TD_SAMPLE_UNSIGNED);
  }
}

/* Rows that are not there, and none. */
static void
test_rows_asked (void)
{
  static const struct {
    guint row0, n_rows;
    gboolean good;
  } cases[] = {
    { 0, HEIGHT, TRUE },      { 0, HEIGHT + 1, FALSE }, { HEIGHT - 1, 1, TRUE },
    { HEIGHT - 1, 2, FALSE }, { HEIGHT, 0, TRUE },      { HEIGHT + 1, 0, FALSE },
    { HEIGHT, 1, FALSE },     { 5, G_MAXUINT, FALSE },
  };
  const Make make = make_of ("w", TD_SAMPLE_UINT8, 7, COMPRESSION_NONE);
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "image.tif");
  g_autofree float *values = make_values (WIDTH * HEIGHT, 1);
  g_autofree float *read = g_new (float, WIDTH *(HEIGHT + 1));

  write_image (path, &make, values);
  g_autoptr (TdTiff) tiff = td_tiff_open (path, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdTiffRows rows = { cases[i].row0, cases[i].n_rows, { read, 0, WIDTH } };
    g_autoptr (GError) error = NULL;
    g_assert_cmpint (td_tiff_read_rows (tiff, &rows, &error), ==, cases[i].good);
    if (!cases[i].good)
      test_assert_sentence (error, "were asked for");
  }
}

/* A named pipe that nobody writes to must not stop the program. */
static void
test_pipe (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "pipe.tif");
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  g_assert_false (td_tiff_probe (path));
  g_assert_null (td_tiff_open (path, NULL, &error));
  test_assert_sentence (error, "pipe.tif");
}

/* ── What is written ── */

static guint64
number_at (const char *bytes, guint64 at, guint size)
{
  guint64 value = 0;

  memcpy (&value, bytes + at, size);
  return GUINT64_FROM_LE (value);
}

/* Each directory's entries as "tag:type:count:value". */
static void
pin_directories (const char *bytes, gboolean big)
{
  const guint offset = big ? 8 : 4, count = big ? 8 : 2, entry = big ? 20 : 12;
  guint64 at = number_at (bytes, big ? 8 : 4, offset);

  td_test_pin ("%.2s, %u", bytes, (guint) number_at (bytes, 2, 2));
  while (at) {
    g_autoptr (GString) text = g_string_new (NULL);
    const guint64 n = number_at (bytes, at, count);
    for (guint64 i = 0; i < n; i++) {
      const guint64 from = at + count + i * entry;
      g_string_append_printf (text, " %u:%u:%u:%u", (guint) number_at (bytes, from, 2),
                              (guint) number_at (bytes, from + 2, 2),
                              (guint) number_at (bytes, from + 4, offset),
                              (guint) number_at (bytes, from + 4 + offset, offset));
    }
    td_test_pin ("at %u:%s", (guint) at, text->str);
    at = number_at (bytes, at + count + n * entry, offset);
  }
}

/* All bytes that readers of other programs go by. */
static void
test_written (void)
{
  static const struct {
    guint n_images;
    gboolean big;
    TdTiffImage image;
  } files[] = {
    { 1, FALSE, { 3, 2, TD_SAMPLE_UINT8, 0, NULL } },
    { 2, FALSE, { 3, 2, TD_SAMPLE_UINT16, 0.25, "words" } },
    { 3, TRUE, { 5, 1, TD_SAMPLE_FLOAT32, 0, "more" } },
    { 1, TRUE, { 1, 4, TD_SAMPLE_UINT16, 0.001, NULL } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    const TdTiffImage *image = &files[i].image;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "written.tif"), *bytes = NULL;
    const float samples[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const gsize size = (gsize) image->width * image->height * td_sample_size (image->type);
    g_autoptr (GError) error = NULL;
    gsize length;

    TdTiffSave *save
        = td_tiff_save_new (path, path, image, files[i].n_images, files[i].big, &error);
    g_assert_no_error (error);
    const guint64 from = td_tiff_save_samples_at (save);
    for (guint k = 0; k < files[i].n_images; k++)
      g_assert_true (td_tiff_save_image (save, k, samples, &error));
    g_assert_true (td_tiff_save_close (save, &error));
    g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
    td_test_pin ("long %u, samples at %u", (guint) length, (guint) from);
    pin_directories (bytes, files[i].big);
    for (guint k = 0; k < files[i].n_images; k++)
      g_assert_cmpmem (bytes + from + k * size, size, samples, size);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    g_autofree char *name = g_strconcat ("/tiff/round-trip/", td_sample_name (i), NULL);

    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_round_trip);
  }
  g_test_add_func ("/tiff/special-values", test_special_values);
  g_test_add_func ("/tiff/orientations", test_orientations);
  g_test_add_func ("/tiff/min-is-white", test_min_is_white);
  g_test_add_func ("/tiff/palettes", test_palettes);
  g_test_add_data_func ("/tiff/pages/classic", "w", test_pages);
  g_test_add_data_func ("/tiff/pages/big", "wb8", test_pages);
  g_test_add_func ("/tiff/pages/differ", test_pages_differ);
  g_test_add_data_func ("/tiff/pages/wide-sizes/little", "wl8", test_pages_wide);
  g_test_add_data_func ("/tiff/pages/wide-sizes/big-endian", "wb8", test_pages_wide);
  g_test_add_data_func ("/tiff/many-pages/little", "wl", test_many_pages);
  g_test_add_data_func ("/tiff/many-pages/big-endian", "wb", test_many_pages);
  g_test_add_data_func ("/tiff/many-pages/bigtiff", "wl8", test_many_pages);
  g_test_add_data_func ("/tiff/many-pages/bigtiff-big-endian", "wb8", test_many_pages);
  g_test_add_func ("/tiff/pages/circle", test_pages_circle);
  g_test_add_func ("/tiff/pages/several-series", test_several_series);
  g_test_add_func ("/tiff/pages/added", test_frames_added);
  g_test_add_func ("/tiff/pages/partial", test_partial_stacks);
  for (guint i = 0; i < 6; i++) {
    const guint images = 1 + i % 3, stated = MIN (images + i / 3, 3);
    g_autofree char *name = g_strdup_printf ("/tiff/pages/imagej/%u-of-%u", images, stated);
    if (i != 5)
      g_test_add_data_func (name, GUINT_TO_POINTER (images + 16 * stated), test_imagej);
  }
  g_test_add_func ("/tiff/missing-strips", test_missing_strips);
  g_test_add_func ("/tiff/false-strip", test_false_strip);
  g_test_add_func ("/tiff/refused", test_refused);
  g_test_add_func ("/tiff/limits", test_limits);
  g_test_add_func ("/tiff/sample-types", test_sample_types);
  g_test_add_func ("/tiff/rows-asked", test_rows_asked);
  g_test_add_func ("/tiff/pipe", test_pipe);
  g_test_add_func ("/tiff/written", test_written);
  return g_test_run ();
}
