/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "message.h"
#include "geometry.h"

/**
 * TdScan: what was measured. Immutable once opened; reference counted; any thread may read from it,
 * several at once (readers lock inside where their library asks for it).
 *
 * Opening reads headers only: a 100 GB scan opens in under a second and in under 200 MB. Every file
 * is untrusted: sizes are checked in 64 bits before anything is allocated. A scan that contradicts
 * itself is refused with the reason and the remedy.
 */
typedef struct TdScan TdScan;

typedef enum {
  TD_FRAME_PROJECTION,
  TD_FRAME_FLAT,
  TD_FRAME_DARK,
} TdFrameKind;

/* Frames [first, first + count) of a kind (views in stored order), and of each of them the detector
   rows [row0, row0 + n_rows). */
typedef struct {
  TdFrameKind kind;
  guint first, count;
  guint row0, n_rows;
  guint row_frames; /* of sinograms: frames that a row has room for where they are wanted, with
                       others beside these; 0: count */
} TdFrameRange;

/* Frames from where one row is wanted to where the next is. */
static inline gsize
td_frame_range_row (const TdFrameRange *range)
{
  return range->row_frames ? range->row_frames : range->count;
}

typedef enum {
  TD_SAMPLE_UINT8,
  TD_SAMPLE_INT8,
  TD_SAMPLE_UINT16,
  TD_SAMPLE_INT16,
  TD_SAMPLE_UINT32,
  TD_SAMPLE_INT32,
  TD_SAMPLE_FLOAT32,
  TD_SAMPLE_FLOAT64,
} TdSampleType;

gsize td_sample_size (TdSampleType type);
const char *td_sample_name (TdSampleType type); /* "uint16", … */

/* Ids of notes that only say where a part of the scan was found. */
#define TD_SCAN_NOTE_FLATS N_ ("Flats: %u, beginning with %s")
#define TD_SCAN_NOTE_DARKS N_ ("Darks: %u, beginning with %s")
#define TD_SCAN_NOTE_ANGLES N_ ("Angles: %s")

/* The facts. All fields are read-only to everybody but the reader that fills them. */
typedef struct {
  char *path;               /* what the user opened */
  char *format;             /* "NXtomo (HDF5)", "TIFF stack", … for people */
  char *title;              /* a short name for windows and results */
  guint n_columns;          /* detector width, pixels */
  guint n_rows;             /* detector height, pixels */
  guint n_views;            /* projections */
  guint n_flats, n_darks;   /* 0: none */
  TdSampleType sample_type; /* as stored */
  gboolean inverted;        /* white was stored as the lowest value in some: turned round */
  double *angles_rad;       /* n_views; never NULL */
  double *flat_positions;   /* n_flats: the view index each was taken before; 0 = before the first
                               view, n_views = after the last. Of some of a scan's views also below
                               0 and above n_views. NULL: unknown, all as one group */
  double *monitor; /* n_views, then n_flats: what a monitor counted of the beam for each frame, all
                      above 0; NULL: there was none */
  guint8 *bad_pixels; /* [n_rows][n_columns]: not 0 where a detector pixel is useless; NULL: no
                         mask was given (scan-mask.h) */
  double white_level; /* of the only flat, where images are flat-field corrected to a stated level
                         and nobody measured one; 0: otherwise */
  gboolean transmission_logged; /* values are already -log(I/I0): no flat field, no logarithm */
  double brightest;  /* the largest mean of a column, where intensities without flats were looked
                        at; 0: they were not */
  gboolean filtered; /* weighted and ramp-filtered too: only the back-projection is left */
  gboolean sinogram_order; /* stored [row][view][column]: whole rows are cheap, whole views dear */
  guint rows_together;     /* rows that storage unpacks for one that is wanted; 0 or 1: no others */
  guint64 unpack_bytes;    /* memory that one read of storage holds at most, to unpack; 0: little */
  gboolean in_memory;      /* reading is copying: a few rows at a time cost no more than many */
  double energy_kev;       /* 0: unknown */
  double propagation_mm;   /* sample to detector; 0: unknown */
  double centre_px;        /* the file's own estimate of the centre of rotation; NAN: none */
  gboolean
      half_acquisition; /* the file says that the axis is near one edge (field_of_view = Half) */
  guint wide_columns; /* half acquisition: a slice's least columns, since rows that are not in this
                         scan have their axis farther out (some rows of another scan); 0: any */
  guint8 *absent;     /* n_views: not 0 where a view is not in the files; NULL: all are there */
  char *absent_why;   /* the first reason, a clause for td_message_words(); NULL: all are there */
  char **sources;     /* the files that are read, and what the user named for them: no result may
                         replace one. NULL-terminated; NULL: none */
  TdGeometry geometry;
  TdMessage **notes; /* for the user: which of two contradicting sources was taken, what was
                        guessed, what was skipped */
} TdScanFacts;

/* How many frames there are of @kind. */
static inline guint
td_scan_facts_frames (const TdScanFacts *facts, TdFrameKind kind)
{
  return kind == TD_FRAME_PROJECTION ? facts->n_views
         : kind == TD_FRAME_FLAT     ? facts->n_flats
                                     : facts->n_darks;
}

/* What samples are, where nothing says so or it is said wrongly. */
typedef enum {
  TD_SCAN_VALUES_FOUND,        /* as the file says, or as they look */
  TD_SCAN_VALUES_INTENSITIES,  /* counts or transmissions */
  TD_SCAN_VALUES_ATTENUATIONS, /* -log was taken */
} TdScanValues;

/* The ending of @name, if files of scans have it, else NULL. @alone: (out) (optional): a file of
   that ending is a scan by itself; of the others only a person can say so. */
const char *td_scan_ending (const char *name, gboolean *alone);
/* Whether @name ends as HDF5 files do. */
gboolean td_scan_named_hdf5 (const char *name);
/* "*.nxs", …: of all endings. (transfer full) */
char **td_scan_patterns (void);

/**
 * td_scan_open:
 * @path: a file or a folder. A folder is searched for projections, flats, darks and angles by the
 *   names of the field (docs/formats). A file of one projection opens its whole series. A file
 *   that is a scan by itself (a sinogram, a stack) is opened alone.
 * @options: (nullable): what the user states instead of what the files say.
 *
 * Blocks for the headers; call it off the main thread.
 * Returns: (transfer full): unref with td_scan_unref(), or NULL with @error set.
 */
typedef struct {
  const char *flats; /* path of a file or folder; NULL: search */
  const char *darks;
  const char *angles;   /* path of a text file, or "A:B" in degrees with both ends included; NULL */
  const char *geometry; /* path of a geometry file (geometry-file.h); NULL: what the files say */
  const char *dataset;  /* HDF5: the scan's group, or the data set of frames, to take when several
                           could  be meant; NULL */
  gboolean sinograms; /* TIFF, raw: every file (page) is one row's sinogram; DXchange and other HDF5
                         data sets: stored [row][view][column]. Files that cannot be read so are
                         refused */
  TdScanValues values;
  double pixel_mm; /* detector pixel, both ways; 0: what the files say */
  double
      source_axis_mm; /* both above 0: a cone beam (one row: a fan beam); 0: what the files say */
  double source_detector_mm;
  guint raw_columns, raw_rows; /* headerless files: the frame's size; 0: not raw */
  TdSampleType raw_type;
  gsize raw_header_bytes;
  gboolean raw_big_endian;
  gboolean allow_external; /* HDF5: raw samples may lie outside the file's folder */
  gboolean corrected; /* TIFF: the images are flat-field corrected already, so that flats and darks
                         are not searched for */
} TdScanOptions;

/* Headerless files as "WIDTHxHEIGHT:TYPE[be][:SKIP]": with "be" the larger byte comes first; SKIP
   are bytes at the head of each file. */
gboolean td_scan_options_set_raw (TdScanOptions *options, const char *text, GError **error);

TdScan *td_scan_open (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                      GError **error);
TdScan *td_scan_ref (TdScan *scan);
void td_scan_unref (TdScan *scan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdScan, td_scan_unref)

const TdScanFacts *td_scan_facts (const TdScan *scan);

/**
 * td_scan_read:
 * @range: which rows of which frames.
 * @out: the caller's, count * n_rows * n_columns floats as [frame][row][column].
 *
 * Reads and converts. NaNs and infinities pass through: preparation counts and reports them.
 * Any thread; blocks on the disk; checks @cancellable at least once a frame.
 */
gboolean td_scan_read (TdScan *scan, const TdFrameRange *range, float *out,
                       GCancellable *cancellable, GError **error);

/**
 * td_scan_read_sinograms:
 * As td_scan_read(), but @out is [row][view][column], which reconstruction wants: n_rows * count *
 * n_columns floats. Files that hold sinograms deliver it without transposing. With row_frames a row
 * begins so many views after the one before it.
 * @range: of projections; its kind is TD_FRAME_PROJECTION.
 */
gboolean td_scan_read_sinograms (TdScan *scan, const TdFrameRange *range, float *out,
                                 GCancellable *cancellable, GError **error);

/* Whether the projections can be read as they are stored: unsigned integers of 16 or 8 bits. */
gboolean td_scan_has_stored (const TdScan *scan);
/* As td_scan_read_sinograms(), but @out takes samples of the facts' type, each of which is the
   float that the other would give. */
gboolean td_scan_read_stored (TdScan *scan, const TdFrameRange *range, void *out,
                              GCancellable *cancellable, GError **error);

/* FALSE with @error: some views are missing, which of the scan as it was opened and why, and what
   can be done without them. */
gboolean td_scan_complete (const TdScan *scan, GError **error);

/* Projections taken beside the views, for alignment: one at 180 degrees, or some when the stage had
   come round. How many there are, and a scan that has them behind its views: for those who look for
   views half a turn apart. (transfer full): @scan itself if there are none. Any thread. */
guint td_scan_extra_frames (const TdScan *scan);
TdScan *td_scan_with_extra (TdScan *scan);

/* For phantoms and tests: a scan over arrays in memory. Takes copies of nothing: the arrays must
 * outlive the scan, or be freed by @destroy(@user). flats and darks may be NULL. */
TdScan *td_scan_new_from_memory (const TdScanFacts *facts, const float *projections,
                                 const float *flats, const float *darks, GDestroyNotify destroy,
                                 gpointer user);
