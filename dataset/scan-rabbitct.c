/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "raw-frames.h"
#include "scan-private.h"
#include "series.h"

/* RabbitCT (.rctd), little-endian: u32 width, height, number of views, float a and b (Hounsfield
 * units are a f + b). Each view has a 3x4 matrix of doubles, column by column, and the projection's
 * floats, which are weighted and filtered already. Reference volumes may follow. Its volume is a
 * cube of 256 mm about the origin, stored with x, y and z growing; ours has y and z falling. So the
 * world is turned half about x, ours (x, y, z) = theirs (x, -y, -z), and both arrays hold the same
 * voxels in order. The sum is over I (u, v) / w^2 with w as the matrices give it. */

#define HEADER_BYTES 20
#define MATRIX_BYTES (12 * sizeof (double))
#define MAX_SIDE 16384u
#define MAX_VIEWS 65536u
#define CUBE_VOXELS 256u /* of 1 mm: the smallest size that the benchmark ranks */

typedef struct {
  guint width, height, n_views;
  float hu[2];
  guint64 size; /* of the file */
} Header;

static gboolean
read_header (const char *path, Header *header)
{
  int fd = td_file_open (path, &header->size);
  guint8 bytes[HEADER_BYTES];
  guint32 words[5];

  if (fd < 0)
    return FALSE;
  const gboolean good = td_file_read (fd, bytes, sizeof bytes, 0) == 0;
  close (fd);
  if (!good)
    return FALSE;
  memcpy (words, bytes, sizeof words);
  for (guint i = 0; i < 5; i++)
    words[i] = GUINT32_FROM_LE (words[i]);
  header->width = words[0];
  header->height = words[1];
  header->n_views = words[2];
  memcpy (header->hu, words + 3, sizeof header->hu);
  return header->width > 0 && header->width <= MAX_SIDE && header->height > 0
         && header->height <= MAX_SIDE && header->n_views > 0 && header->n_views <= MAX_VIEWS
         && isfinite (header->hu[0]) && isfinite (header->hu[1]);
}

static guint64
scan_rabbitct_view_bytes (const Header *header)
{
  return MATRIX_BYTES + (guint64) header->width * header->height * sizeof (float);
}

/* Nothing in the file says what it is: by its name, or because the sizes fit to the byte. */
static gboolean
rabbitct_probe (const char *path, const TdScanOptions *options)
{
  Header header;

  return read_header (path, &header)
         && (td_series_ends (path, ".rctd")
             || header.size == HEADER_BYTES + header.n_views * scan_rabbitct_view_bytes (&header));
}

static gboolean
read_matrices (const char *path, const Header *header, double *matrices, GError **error)
{
  int fd = td_file_open (path, NULL);

  for (guint view = 0; view < header->n_views; view++) {
    guint64 words[12];
    double columns[12], *m = matrices + 12 * (gsize) view;

    if (fd < 0
        || td_file_read (fd, words, sizeof words,
                         HEADER_BYTES + view * scan_rabbitct_view_bytes (header))
               != 0) {
      td_set_error (error, TD_ERROR_IO, "“%s”: the matrix of view %u cannot be read", path, view);
      if (fd >= 0)
        close (fd);
      return FALSE;
    }
    for (guint i = 0; i < 12; i++)
      words[i] = GUINT64_FROM_LE (words[i]);
    memcpy (columns, words, sizeof columns);
    for (guint row = 0; row < 3; row++) {
      m[4 * row] = columns[row];
      m[4 * row + 1] = -columns[3 + row];
      m[4 * row + 2] = -columns[6 + row];
      m[4 * row + 3] = columns[9 + row];
    }
  }
  close (fd);
  return TRUE;
}

static TdScan *
rabbitct_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
               GError **error)
{
  TdRawFrames *frames[3] = { NULL };
  Header header;

  if (!read_header (path, &header))
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "“%s” has no sound RabbitCT header", path);
  const TdRawLayout layout = { header.width, header.height, TD_SAMPLE_FLOAT32, FALSE,
                               HEADER_BYTES, MATRIX_BYTES,  header.n_views };
  frames[TD_FRAME_PROJECTION]
      = td_raw_frames_new ((const char *const[]) { path, NULL }, &layout, error);
  if (!frames[TD_FRAME_PROJECTION])
    return NULL;
  g_autoptr (TdScan) scan = td_raw_scan_new (path, &layout, frames, FALSE);
  TdGeometry *geometry = &scan->facts.geometry;
  scan->facts.format = g_strdup ("RabbitCT");
  scan->facts.transmission_logged = TRUE;
  scan->facts.filtered = TRUE;
  geometry->beam = TD_BEAM_CONE;
  geometry->voxel_mm = 1;
  for (guint i = 0; i < 3; i++)
    geometry->volume_size[i] = CUBE_VOXELS;
  geometry->n_view_matrices = header.n_views;
  geometry->view_matrices = g_new (double, 12 * (gsize) header.n_views);
  if (!read_matrices (path, &header, geometry->view_matrices, error)
      || !td_scan_validate (scan, error))
    return NULL;
  td_scan_note (scan,
                "RabbitCT's projections are filtered already: only back-projection is done; "
                "Hounsfield units are %g × value %+g.",
                (double) header.hu[0], (double) header.hu[1]);
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_rabbitct = { rabbitct_probe, rabbitct_open };
