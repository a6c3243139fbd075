/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "frame-target.h"
#include "scan.h"

/**
 * For readers only. A reader is a row in the table of scan.c. Its probe is cheap and opens no more
 * than one file; its open fills the facts. To add one, see DESIGN.md, "add a reader".
 */
typedef struct {
  /* The frames' rows to where they are wanted. The caller has checked the range. Any thread,
     several at once. */
  gboolean (*fill) (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
                    GCancellable *cancellable, GError **error);
  void (*free) (gpointer source);
  /* fill takes a target of samples as the files have them, too: they are of the facts' type and the
     scan's values, in whole rows. */
  gboolean stored;
} TdScanSource;

struct TdScan {
  gatomicrefcount references;
  TdScanFacts facts;
  const TdScanSource *vtable;
  gpointer source;                  /* the reader's; freed by vtable->free */
  TdScan *owner;                    /* whose source it is; NULL: its own */
  gboolean stacked;                 /* the source's projections are sinograms: of these, frame r is
                                       row r, and their rows are the views */
  double *extra_rad;                /* angles of frames beside the views; owned */
  guint n_extra;                    /* they are read as projections n_views … */
  TdMessage *centre_note;           /* the file's own centre of rotation, which is told if it is
                                       used; owned; NULL: there is none */
  gboolean states_geometry;         /* the file says how large a pixel is, or where the detector */
  gboolean values_stated;           /* the file says whether its values are attenuations */
  gboolean flip_columns, flip_rows; /* the files hold mirrored frames: td_scan_open() has them
                                       turned over, and the centre that the facts state with them */
};

typedef struct {
  gboolean (*probe) (const char *path, const TdScanOptions *options);
  TdScan *(*open) (const char *path, const TdScanOptions *options, GCancellable *cancellable,
                   GError **error);
  gboolean takes_companions; /* open sees to options->flats and ->darks that are no HDF5 */
} TdScanReader;

/* No detector and no scan comes near these; a file that states more is damaged. */
#define TD_SCAN_MAX_SIDE 1048576u
#define TD_SCAN_MAX_FRAMES 16777216u
/* A source further away than this makes a parallel beam. */
#define TD_SCAN_FARTHEST_CONE_MM 10000.0

extern const TdScanReader td_scan_reader_ctsimu;
extern const TdScanReader td_scan_reader_ctsimu_scenario; /* refuses */
extern const TdScanReader td_scan_reader_described;
extern const TdScanReader td_scan_reader_dxchange;
extern const TdScanReader td_scan_reader_folder;
extern const TdScanReader td_scan_reader_h5_dataset;
extern const TdScanReader td_scan_reader_nexus;
extern const TdScanReader td_scan_reader_rabbitct;
extern const TdScanReader td_scan_reader_raw;
extern const TdScanReader td_scan_reader_tiff;

/* A file by whose name a folder without images may be a scan. */
gboolean td_scan_folder_takes (const char *name);
/* What the file calls the scan; NULL or "": its file's name stays. Takes @title. */
void td_scan_take_title (TdScan *scan, char *title);
/* Takes @source; facts are empty, parallel beam, centre unknown. */
TdScan *td_scan_alloc (const char *path, const TdScanSource *vtable, gpointer source);
/* As td_scan_read(), to any target. */
gboolean td_scan_fill (TdScan *scan, const TdFrameRange *range, const TdFrameTarget *target,
                       GCancellable *cancellable, GError **error);
/* A scan that reads the source of @scan, which it keeps, with a copy of its facts and of what
   stands behind its views. */
TdScan *td_scan_new_over (TdScan *scan);
/* Deep copies of all but path; what @scan had is freed. */
void td_scan_copy_facts (TdScan *scan, const TdScanFacts *facts);
/* The source has @n projections more behind its views, taken at these angles for alignment. */
void td_scan_take_extra (TdScan *scan, const double *angles_rad, guint n);
/* Files that @scan reads. */
void td_scan_add_sources (TdScan *scan, const char *const *paths, guint n);
/* A note of its facts, as td_messages_note() takes it. */
#define td_scan_note(scan, ...) td_messages_note (&(scan)->facts.notes, __VA_ARGS__)
/* The angles that a person or a file beside the scan states, by td_angles_for_views(). @names: the
   views' files, one each; NULL: they have none. */
gboolean td_scan_take_angles (TdScan *scan, const char *spec, const char *const *names,
                              GError **error);
/* FALSE with @error: @source states @stated views or angles, as @says (taken) has it in words, but
   the scan at @path has n[0] views, not so many. Says what to do. A lone image may be a sinogram,
   and so may images of as many rows (n[1]; 0: not known) as are stated. */
gboolean td_scan_refuse_views (GError **error, const char *source, guint stated, TdMessage *says,
                               const char *path, const guint n[2]);
/* FALSE with @error: the flats or darks at @path are no frames of this scan's detector; else TRUE.
 */
gboolean td_scan_check_size (const TdScanFacts *facts, TdFrameKind kind, const char *path,
                             const guint size[2], GError **error);
/* The centre becomes where the geometry puts the axis; NAN where matrices do. */
void td_scan_centre_by_geometry (TdScan *scan);
/* A range of angles for a scan whose own angles come later; good for any number of views. */
#define TD_ANGLES_LATER "0:0"
/* Tells where a text beside the projections places the source of a cone, and the beam is parallel.
 */
void td_scan_note_distances (TdScan *scan);
/* Checks what every reader must hold (sizes > 0, limits, angles finite, counts); the last call of
   every open. */
gboolean td_scan_validate (TdScan *scan, GError **error);

/* Flats and darks that the options name replace the scan's own. Readers call this that do not open
   such files themselves. FALSE with @error: they cannot be read or are of another size. */
gboolean td_scan_take_companions (TdScan *scan, const TdScanOptions *options, GError **error);

/* Whether what the user names for them, which may be "FILE::DATASET", is HDF5. */
gboolean td_scan_companions_in_hdf5 (const char *stated);

/* For images that are flat-field corrected already. The scan gets one flat of @level throughout,
   unless it has flats or its values are logarithms. FALSE: @source states more than its images can
   count. */
gboolean td_scan_take_white (TdScan *scan, double level, const char *source, GError **error);

/* What the samples of @scan are: as the user states it, else as the file does. Without flats it is
   as they look, by the rules of scan-values.c. A note says what was taken and why. For
   td_scan_open(). */
gboolean td_scan_take_values (TdScan *scan, TdScanValues stated, GCancellable *cancellable,
                              GError **error);

/* Files that people have of scans, and that no reader takes. By the name alone. */
gboolean td_other_format_is (const char *name);
/* "NAME is what: what to do", or the same of a folder that holds such files. (transfer full) */
TdMessage *td_other_format_file (const char *path);
TdMessage *td_other_format_folder (const char *path, const char *name);
