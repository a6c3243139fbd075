/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-view.h"

#include <math.h>
#include <string.h>

#include "error.h"
#include "scan-private.h"
#include "scan-spool.h"

/* What is held beside the caller's buffer, if one frame's rows need no more. */
#define PORTION_BYTES ((gsize) 16 << 20)
/* Views averaged to one look nearly the same way. */
#define WIDEST_GROUP_RAD (20 * G_PI / 180)

typedef struct {
  TdScan *scan;
  TdScanFrame frame; /* nothing of it 0 */
  guint n_columns;   /* seen */
  guint8 *bad;       /* bad pixels as seen, the view's facts'; NULL: none */
} View;

/* ── Places ── */

gboolean
td_scan_frame_is_plain (const TdScanFrame *frame)
{
  return !frame->turned && !frame->flip_columns && !frame->flip_rows && frame->crop_columns == 0
         && frame->crop_views == 0 && frame->bin_columns <= 1 && frame->bin_rows <= 1
         && frame->bin_views <= 1;
}

gboolean
td_scan_frame_equal (const TdScanFrame *a, const TdScanFrame *b)
{
  return a->turned == b->turned && a->flip_columns == b->flip_columns
         && a->flip_rows == b->flip_rows && a->crop_column == b->crop_column
         && a->crop_row == b->crop_row && a->crop_columns == b->crop_columns
         && a->crop_rows == b->crop_rows && a->crop_view == b->crop_view
         && a->crop_views == b->crop_views && MAX (a->bin_columns, 1) == MAX (b->bin_columns, 1)
         && MAX (a->bin_rows, 1) == MAX (b->bin_rows, 1)
         && MAX (a->bin_views, 1) == MAX (b->bin_views, 1) && a->on_side == b->on_side;
}

/* Pixel centres are whole numbers: a group's centre is in its middle. */
static double
scan_view_seen (double at, gboolean flip, guint n, guint first, guint bin)
{
  bin = MAX (bin, 1);
  return ((flip ? n - 1 - at : at) - first - (bin - 1) / 2.0) / bin;
}

double
td_scan_frame_column (const TdScanFrame *frame, guint n_columns, double column)
{
  return scan_view_seen (column, frame->flip_columns, n_columns, frame->crop_column,
                         frame->bin_columns);
}

double
td_scan_frame_row (const TdScanFrame *frame, guint n_rows, double row)
{
  return scan_view_seen (row, frame->flip_rows, n_rows, frame->crop_row, frame->bin_rows);
}

double
td_scan_frame_row_back (const TdScanFrame *frame, guint n_rows, double row)
{
  const guint bin = MAX (frame->bin_rows, 1);
  const double there = row * bin + (bin - 1) / 2.0 + frame->crop_row;

  return frame->flip_rows ? n_rows - 1 - there : there;
}

/* ── Reading ── */

/* The first of the scan's rows that make rows [row0, row0 + n_rows) seen. */
static guint
first_row (const View *view, guint row0, guint n_rows)
{
  const guint first = view->frame.crop_row + row0 * view->frame.bin_rows;
  const guint count = n_rows * view->frame.bin_rows;

  return view->frame.flip_rows ? td_scan_facts (view->scan)->n_rows - first - count : first;
}

/* Adds one row of the scan to the sums and counts of the columns seen. @bad: the row's bad pixels,
   which do not count. @seen_bad: the pixels seen that consist of bad ones only: there these
   count. */
static void
scan_view_add_row (const View *view, const float *row, const guint8 *bad, const guint8 *seen_bad,
                   double *sums, guint *counts)
{
  const TdScanFrame *frame = &view->frame;
  const guint n = td_scan_facts (view->scan)->n_columns;
  const int step = frame->flip_columns ? -1 : 1;
  guint at = frame->flip_columns ? n - 1 - frame->crop_column : frame->crop_column;

  for (guint i = 0; i < view->n_columns; i++)
    for (guint k = 0; k < frame->bin_columns; k++, at += step)
      if (isfinite (row[at]) && (!bad || !bad[at] || seen_bad[i])) {
        sums[i] += row[at];
        counts[i]++;
      }
}

static void
scan_view_copy_row (const View *view, const float *row, float *out)
{
  const guint first = view->frame.crop_column, n = td_scan_facts (view->scan)->n_columns;

  if (!view->frame.flip_columns)
    memcpy (out, row + first, view->n_columns * sizeof *out);
  else
    for (guint i = 0; i < view->n_columns; i++)
      out[i] = row[n - 1 - first - i];
}

/* The rows that are binned into one row seen: those of @n_frames frames, @pace values apart. The
   rows of one frame lie one after another. */
typedef struct {
  const float *rows;
  guint n_frames;
  gsize pace;
} Group;

/* Row @row seen, made of its group; @sums and @counts have room for a row. */
static void
scan_view_make_row (const View *view, guint row, const Group *group, double *sums, guint *counts,
                    float *out)
{
  const gsize n = td_scan_facts (view->scan)->n_columns;
  const guint8 *bad = td_scan_facts (view->scan)->bad_pixels;
  const guint8 *seen_bad = view->bad ? view->bad + (gsize) row * view->n_columns : NULL;
  const guint first = first_row (view, row, 1);

  if (group->n_frames * view->frame.bin_rows * view->frame.bin_columns == 1) {
    scan_view_copy_row (view, group->rows, out);
    return;
  }
  memset (sums, 0, view->n_columns * sizeof *sums);
  memset (counts, 0, view->n_columns * sizeof *counts);
  for (guint f = 0; f < group->n_frames; f++)
    for (guint r = 0; r < view->frame.bin_rows; r++)
      scan_view_add_row (view, group->rows + f * group->pace + r * n,
                         bad ? bad + (first + r) * n : NULL, seen_bad, sums, counts);
  for (guint i = 0; i < view->n_columns; i++)
    out[i] = counts[i] ? (float) (sums[i] / counts[i]) : NAN;
}

/* What a portion of reading needs. */
typedef struct {
  float *frames;
  double *sums;
  guint *counts;
} Workspace;

static void
workspace_clear (Workspace *workspace)
{
  g_free (workspace->frames);
  g_free (workspace->sums);
  g_free (workspace->counts);
}

static gboolean
workspace_init (Workspace *workspace, const View *view, gsize values, GError **error)
{
  workspace->frames = g_try_new (float, values);
  workspace->sums = g_new (double, view->n_columns);
  workspace->counts = g_new (guint, view->n_columns);
  if (workspace->frames)
    return TRUE;
  td_set_error (error, TD_ERROR_TOO_LARGE,
                "There is no memory to crop or bin the frames; read fewer rows at once");
  workspace_clear (workspace);
  return FALSE;
}

/* The scan's frame with which frame @index seen begins, or the last one ends. */
static guint
scan_view_frame (const View *view, TdFrameKind kind, guint index)
{
  const TdScanFrame *frame = &view->frame;

  return kind == TD_FRAME_PROJECTION
             ? frame->crop_view
                   + (guint) MIN ((guint64) index * frame->bin_views, frame->crop_views)
             : index;
}

/* Sinograms of a scan that is stored by rows are read one row seen after another. One read takes as
   many views as the portion has room for. */
static gboolean
view_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
           GCancellable *cancellable, GError **error)
{
  const View *view = source;
  /* Frames seen are groups of the scan's, projections only. */
  const guint group = range->kind == TD_FRAME_PROJECTION ? view->frame.bin_views : 1;
  const guint bin = view->frame.bin_rows;
  const gboolean by_rows
      = td_scan_facts (view->scan)->sinogram_order && target->frame_step < target->row_step;
  const guint rows = by_rows ? 1 : range->n_rows; /* seen at once */
  const gsize columns = td_scan_facts (view->scan)->n_columns;
  const gsize frame = columns * rows * bin;
  const guint portion
      = (guint) CLAMP (PORTION_BYTES / (frame * group * sizeof (float)), 1, range->count);
  Workspace work;
  gboolean ok = workspace_init (&work, view, frame * group * portion, error);

  if (!ok)
    return FALSE;
  for (guint at = 0; ok && at < range->n_rows; at += rows)
    for (guint done = 0; ok && done < range->count; done += portion) {
      const guint now = MIN (portion, range->count - done);
      const guint begin = scan_view_frame (view, range->kind, range->first + done);
      const guint end = scan_view_frame (view, range->kind, range->first + done + now);

      ok = td_scan_read (view->scan,
                         &(TdFrameRange) { range->kind, begin, end - begin,
                                           first_row (view, range->row0 + at, rows), rows * bin },
                         work.frames, cancellable, error);
      for (guint f = 0; ok && f < now; f++) {
        const guint members = MIN (group, end - begin - f * group);
        for (guint row = 0; row < rows; row++) {
          const guint from = view->frame.flip_rows ? rows - 1 - row : row;
          scan_view_make_row (
              view, range->row0 + at + row,
              &(Group) { work.frames + f * group * frame + from * bin * columns, members, frame },
              work.sums, work.counts, td_frame_target_row (target, done + f, at + row));
        }
      }
    }
  workspace_clear (&work);
  return ok;
}

static void
view_free (gpointer source)
{
  View *view = source;

  td_scan_unref (view->scan);
  g_free (view);
}

static const TdScanSource view_vtable = { .fill = view_fill, .free = view_free };

/* ── A quarter turn to the left ──
 *
 * The last column becomes the first row, and rows become columns. Every read takes whole frames,
 * however few of their columns it wants: read many at once. */

static gboolean
turned_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
             GCancellable *cancellable, GError **error)
{
  TdScan *scan = source;
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize frame = (gsize) facts->n_columns * facts->n_rows;
  const guint portion
      = (guint) CLAMP (PORTION_BYTES / (frame * sizeof (float)), 1, MAX (range->count, 1));
  g_autofree float *frames = g_try_new (float, frame *portion);

  if (!frames)
    return td_set_error (error, TD_ERROR_IO, "Not enough memory for a frame of %u × %u pixels.",
                         facts->n_columns, facts->n_rows);
  for (guint done = 0; done < range->count; done += portion) {
    const guint now = MIN (portion, range->count - done);
    if (!td_scan_read (scan,
                       &(TdFrameRange) { range->kind, range->first + done, now, 0, facts->n_rows },
                       frames, cancellable, error))
      return FALSE;
    for (guint f = 0; f < now; f++)
      for (guint row = 0; row < range->n_rows; row++) {
        const float *from = frames + f * frame + facts->n_columns - 1 - (range->row0 + row);
        float *to = td_frame_target_row (target, done + f, row);
        for (gsize i = 0; i < facts->n_rows; i++)
          to[i] = from[i * facts->n_columns];
      }
  }
  return TRUE;
}

static const TdScanSource turned_vtable
    = { .fill = turned_fill, .free = (GDestroyNotify) td_scan_unref };

static guint8 *
turn_bad_pixels (const TdScanFacts *facts)
{
  if (!facts->bad_pixels)
    return NULL;
  guint8 *bad = g_new (guint8, (gsize) facts->n_columns * facts->n_rows);
  for (guint row = 0; row < facts->n_columns; row++)
    for (guint i = 0; i < facts->n_rows; i++)
      bad[(gsize) row * facts->n_rows + i]
          = facts->bad_pixels[(gsize) i * facts->n_columns + facts->n_columns - 1 - row];
  return bad;
}

/* The facts are those of the turned frames. A column of the axis that was stated is a row now, and
   is dropped. */
static TdScan *
view_new_turned (TdScan *scan, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (TdScan) out = td_scan_alloc (facts->path, &turned_vtable, td_scan_ref (scan));

  td_scan_copy_facts (out, facts);
  out->facts.n_columns = facts->n_rows;
  out->facts.n_rows = facts->n_columns;
  g_free (out->facts.bad_pixels);
  out->facts.bad_pixels = turn_bad_pixels (facts);
  out->facts.sinogram_order = out->facts.in_memory = FALSE;
  out->facts.centre_px = NAN;
  td_geometry_turn_image (&out->facts.geometry, facts->n_columns);
  return td_scan_validate (out, error) ? g_steal_pointer (&out) : NULL;
}

/* The scan that is turned, also where turned frames wait in memory or in a file; NULL: none is. */
static TdScan *
view_straight (const TdScan *scan)
{
  const TdScan *once = td_scan_spool_base (scan);

  scan = once ? once : scan;
  return scan->vtable == &turned_vtable ? scan->source : NULL;
}

TdScan *
td_scan_view_base (const TdScan *scan, TdScanFrame *frame)
{
  TdScan *straight = view_straight (scan);

  scan = straight ? straight : scan;
  const View *view = scan->vtable == &view_vtable ? scan->source : NULL;
  *frame = view ? view->frame : (TdScanFrame) { 0 };
  if (view && frame->crop_views == td_scan_facts (view->scan)->n_views)
    frame->crop_view = frame->crop_views = 0; /* all */
  return view ? view->scan : straight;
}

gboolean
td_scan_view_turned (const TdScan *scan)
{
  return view_straight (scan) != NULL;
}

/* ── Facts ── */

static gboolean
scan_view_check (const TdScanFacts *facts, const TdScanFrame *frame, GError **error)
{
  if ((guint64) frame->crop_column + frame->crop_columns > facts->n_columns
      || (guint64) frame->crop_row + frame->crop_rows > facts->n_rows)
    return td_set_error (error, TD_ERROR_INVALID,
                         "The crop %u,%u,%u,%u is not inside the frames, which have %u "
                         "[column|columns] × %u [row|rows]",
                         frame->crop_column, frame->crop_row, frame->crop_columns, frame->crop_rows,
                         facts->n_columns, facts->n_rows);
  if ((guint64) frame->crop_view + frame->crop_views > facts->n_views)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Views %u:%u are not in the scan, which has views 0 to %u ({views})",
                         frame->crop_view, frame->crop_view + frame->crop_views,
                         facts->n_views - 1);
  if (frame->bin_columns > frame->crop_columns || frame->bin_rows > frame->crop_rows
      || frame->bin_views > frame->crop_views)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Groups of %u [column|columns], %u [row|rows] and %u [view|views] are "
                         "larger than the %u × %u pixels and "
                         "%u [view|views] that there are",
                         frame->bin_columns, frame->bin_rows, frame->bin_views, frame->crop_columns,
                         frame->crop_rows, frame->crop_views);
  if (facts->filtered && frame->bin_columns * frame->bin_rows * frame->bin_views > 1)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The scan's projections are filtered already: they can be cropped, but not binned");
  if (frame->bin_views > 1 && facts->geometry.view_matrices)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The scan gives a projection matrix for every view: its views cannot be averaged; "
        "average its columns and rows instead ({bin}), or leave {bin-views=1}");
  return TRUE;
}

/* The mean direction of each group; the angles may jump by whole turns. */
static gboolean
bin_angles (const TdScanFacts *facts, const TdScanFrame *frame, guint n, double *angles_rad,
            GError **error)
{
  const guint group = frame->bin_views, last = frame->crop_view + frame->crop_views;

  for (guint i = 0; i < n; i++) {
    const guint begin = frame->crop_view + i * group, end = MIN (begin + group, last);
    const double first = facts->angles_rad[begin];
    double sum = 0;

    for (guint v = begin; v < end; v++) {
      const double away = remainder (facts->angles_rad[v] - first, 2 * G_PI);
      if (fabs (away) > WIDEST_GROUP_RAD)
        return td_set_error (
            error, TD_ERROR_INVALID,
            "Views %u and %u are %.3g degrees apart: averaging them would blur the slices; "
            "take fewer views to a group",
            begin, v, fabs (away) * 180 / G_PI);
      sum += away;
    }
    angles_rad[i] = first + sum / (end - begin);
  }
  return TRUE;
}

/* The principal point stays where it is on the detector; offsets count from what is seen of it. A
   mirrored image is undone: the geometry is that of the true one. */
static void
see_geometry (const TdScanFacts *facts, const TdScanFrame *frame, TdGeometry *out)
{
  const guint n_columns = frame->crop_columns / frame->bin_columns;
  const guint n_rows = frame->crop_rows / frame->bin_rows;
  TdScanFrame upright = *frame;

  upright.flip_columns = upright.flip_rows = FALSE;
  out->pixel_width_mm *= frame->bin_columns;
  out->pixel_height_mm *= frame->bin_rows;
  if (out->beam == TD_BEAM_PARALLEL)
    return;
  if (out->view_matrices) {
    memmove (out->view_matrices, out->view_matrices + 12 * (gsize) frame->crop_view,
             12 * (gsize) frame->crop_views * sizeof *out->view_matrices);
    out->n_view_matrices = frame->crop_views;
  }
  out->detector_offset_u_px
      = td_scan_frame_column (&upright, facts->n_columns,
                              (facts->n_columns - 1) / 2.0 + facts->geometry.detector_offset_u_px)
        - (n_columns - 1) / 2.0;
  out->detector_offset_v_px
      = td_scan_frame_row (&upright, facts->n_rows,
                           (facts->n_rows - 1) / 2.0 + facts->geometry.detector_offset_v_px)
        - (n_rows - 1) / 2.0;
  for (guint view = 0; view < out->n_view_matrices && out->view_matrices; view++) {
    double *matrix = out->view_matrices + 12 * (gsize) view;
    const double u0 = frame->crop_column + (frame->bin_columns - 1) / 2.0;
    const double v0 = frame->crop_row + (frame->bin_rows - 1) / 2.0;
    for (guint k = 0; k < 4; k++) {
      matrix[k] = (matrix[k] - u0 * matrix[8 + k]) / frame->bin_columns;
      matrix[4 + k] = (matrix[4 + k] - v0 * matrix[8 + k]) / frame->bin_rows;
    }
  }
  /* A proposed volume is of the sample: binning coarsens it, cropping leaves it. Any other has a
     slice for each row that is left. */
  const double left[2]
      = { frame->crop_column + (frame->crop_columns - 1) / 2.0 - (facts->n_columns - 1) / 2.0,
          frame->crop_row + (frame->crop_rows - 1) / 2.0 - (facts->n_rows - 1) / 2.0 };
  const guint bins[2] = { frame->bin_columns, frame->bin_rows };
  for (guint i = 0; i < 2 && !td_geometry_has_volume (&facts->geometry); i++)
    out->cropped_px[i] = (out->cropped_px[i] + left[i]) / bins[i];
  const guint across = frame->on_side ? frame->bin_rows : frame->bin_columns;
  out->voxel_mm *= across;
  for (guint i = 0; i < G_N_ELEMENTS (out->volume_size); i++)
    out->volume_size[i] = (out->volume_size[i] + across - 1) / across;
}

/* Whether all of a group is bad. */
static gboolean
all_bad (const View *view, const TdScanFacts *whole, guint row, guint column)
{
  const TdScanFrame *frame = &view->frame;
  const guint first = first_row (view, row, 1);

  for (guint r = 0; r < frame->bin_rows; r++)
    for (guint k = 0; k < frame->bin_columns; k++) {
      const guint at = frame->crop_column + column * frame->bin_columns + k;
      const guint stored = frame->flip_columns ? whole->n_columns - 1 - at : at;
      if (!whole->bad_pixels[(gsize) (first + r) * whole->n_columns + stored])
        return FALSE;
    }
  return TRUE;
}

static guint8 *
see_bad_pixels (const View *view, const TdScanFacts *whole)
{
  const guint n_rows = view->frame.crop_rows / view->frame.bin_rows;

  if (!whole->bad_pixels)
    return NULL;
  guint8 *bad = g_new (guint8, (gsize) n_rows * view->n_columns);
  for (guint row = 0; row < n_rows; row++)
    for (guint column = 0; column < view->n_columns; column++)
      bad[(gsize) row * view->n_columns + column] = all_bad (view, whole, row, column);
  return bad;
}

static void
scan_view_note (TdScan *scan, const TdScanFacts *whole, const TdScanFrame *frame)
{
  if (frame->crop_columns < whole->n_columns || frame->crop_rows < whole->n_rows)
    td_scan_note (scan, "Cropped to columns %u to %u and rows %u to %u of %u × %u.",
                  frame->crop_column, frame->crop_column + frame->crop_columns - 1, frame->crop_row,
                  frame->crop_row + frame->crop_rows - 1, whole->n_columns, whole->n_rows);
  if (frame->crop_views < whole->n_views)
    td_scan_note (scan, "Views %u to %u of %u are used.", frame->crop_view,
                  frame->crop_view + frame->crop_views - 1, whole->n_views);
  if (frame->bin_columns * frame->bin_rows > 1)
    td_scan_note (scan, "Binned: %u × %u pixels to one.", frame->bin_columns, frame->bin_rows);
  if (frame->bin_views > 1)
    td_scan_note (scan, "Binned: %u views to one.", frame->bin_views);
}

/* A view is missing if one of those that are averaged to it is. */
static void
see_absent (const View *view, TdScanFacts *facts)
{
  const guint8 *absent = td_scan_facts (view->scan)->absent;
  gboolean any = FALSE;

  g_clear_pointer (&facts->absent, g_free);
  if (!absent)
    return;
  facts->absent = g_new0 (guint8, facts->n_views);
  for (guint i = 0; i < facts->n_views; i++) {
    const guint begin = scan_view_frame (view, TD_FRAME_PROJECTION, i);
    const guint end = scan_view_frame (view, TD_FRAME_PROJECTION, i + 1);
    for (guint k = begin; k < end; k++)
      any |= facts->absent[i] |= absent[k];
  }
  if (!any)
    g_clear_pointer (&facts->absent, g_free);
}

static void
see_monitor (const View *view, TdScanFacts *facts)
{
  const TdScanFacts *whole = td_scan_facts (view->scan);

  if (!whole->monitor)
    return;
  g_free (facts->monitor);
  facts->monitor = g_new0 (double, (gsize) facts->n_views + facts->n_flats);
  for (guint i = 0; i < facts->n_views; i++) {
    const guint begin = scan_view_frame (view, TD_FRAME_PROJECTION, i);
    const guint end = scan_view_frame (view, TD_FRAME_PROJECTION, i + 1);
    for (guint k = begin; k < end; k++)
      facts->monitor[i] += whole->monitor[k] / (end - begin);
  }
  memcpy (facts->monitor + facts->n_views, whole->monitor + whole->n_views,
          facts->n_flats * sizeof (double));
}

static gboolean
scan_view_fill_facts (TdScan *scan, View *view, GError **error)
{
  const TdScanFacts *whole = td_scan_facts (view->scan);
  const TdScanFrame *frame = &view->frame;
  TdScanFacts *facts = &scan->facts;

  td_scan_copy_facts (scan, whole);
  facts->n_columns = view->n_columns;
  facts->n_rows = frame->crop_rows / frame->bin_rows;
  facts->n_views = (frame->crop_views + frame->bin_views - 1) / frame->bin_views;
  g_free (facts->angles_rad);
  facts->angles_rad = g_new (double, facts->n_views);
  for (guint i = 0; facts->flat_positions && i < facts->n_flats; i++)
    facts->flat_positions[i] = (facts->flat_positions[i] - frame->crop_view) / frame->bin_views;
  see_absent (view, facts);
  see_monitor (view, facts);
  g_free (facts->bad_pixels);
  facts->bad_pixels = view->bad = see_bad_pixels (view, whole);
  facts->centre_px = td_scan_frame_column (frame, whole->n_columns, whole->centre_px);
  see_geometry (whole, frame, &facts->geometry);
  scan_view_note (scan, whole, frame);
  return bin_angles (whole, frame, facts->n_views, facts->angles_rad, error);
}

TdScan *
td_scan_view_new (TdScan *scan, const TdScanFrame *frame, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  TdScanFrame whole = *frame;

  if (frame->turned)
    return view_new_turned (scan, error);
  if (frame->crop_columns == 0 || frame->crop_rows == 0) {
    whole.crop_column = whole.crop_row = 0;
    whole.crop_columns = facts->n_columns;
    whole.crop_rows = facts->n_rows;
  }
  if (frame->crop_views == 0) {
    whole.crop_view = 0;
    whole.crop_views = facts->n_views;
  }
  whole.bin_columns = MAX (whole.bin_columns, 1);
  whole.bin_rows = MAX (whole.bin_rows, 1);
  whole.bin_views = MAX (whole.bin_views, 1);
  if (!scan_view_check (facts, &whole, error))
    return NULL;

  View *view = g_new (View, 1);
  *view = (View) { td_scan_ref (scan), whole, whole.crop_columns / whole.bin_columns, NULL };
  g_autoptr (TdScan) out = td_scan_alloc (facts->path, &view_vtable, view);
  if (!scan_view_fill_facts (out, view, error) || !td_scan_validate (out, error))
    return NULL;
  return g_steal_pointer (&out);
}

/* ── Frames beside the views: a scan with them behind its views, over the same source ── */

void
td_scan_take_extra (TdScan *scan, const double *angles_rad, guint n)
{
  g_free (scan->extra_rad);
  scan->extra_rad = g_memdup2 (angles_rad, n * sizeof *angles_rad);
  scan->n_extra = n;
}

guint
td_scan_extra_frames (const TdScan *scan)
{
  TdScanFrame frame;
  TdScan *base = td_scan_view_base (scan, &frame);

  if (!base)
    return scan->n_extra;
  /* What came after the last view is of no use once that is left out. */
  return frame.crop_views > 0 ? 0 : td_scan_extra_frames (base);
}

static TdScan *
with_extra (TdScan *scan)
{
  const TdScanFacts *whole = &scan->facts;
  TdScan *out = td_scan_new_over (scan);
  TdScanFacts *facts = &out->facts;

  td_scan_take_extra (out, NULL, 0);
  if (facts->absent) {
    facts->absent = g_realloc (facts->absent, whole->n_views + scan->n_extra);
    memset (facts->absent + whole->n_views, 0, scan->n_extra);
  }
  if (facts->monitor) {
    /* It is not known for frames that only help to find the axis: the views' mean will do. */
    const gsize n = whole->n_views, n_all = n + scan->n_extra;
    double mean = 0;
    facts->monitor = g_renew (double, facts->monitor, n_all + whole->n_flats);
    memcpy (facts->monitor + n_all, whole->monitor + n, whole->n_flats * sizeof (double));
    for (gsize i = 0; i < n; i++)
      mean += whole->monitor[i] / n;
    for (gsize i = n; i < n_all; i++)
      facts->monitor[i] = mean;
  }
  g_free (facts->angles_rad);
  facts->n_views = whole->n_views + scan->n_extra;
  facts->angles_rad = g_new (double, facts->n_views);
  memcpy (facts->angles_rad, whole->angles_rad, whole->n_views * sizeof (double));
  memcpy (facts->angles_rad + whole->n_views, scan->extra_rad, scan->n_extra * sizeof (double));
  return out;
}

TdScan *
td_scan_with_extra (TdScan *scan)
{
  TdScanFrame frame;
  TdScan *base = td_scan_view_base (scan, &frame);

  if (td_scan_extra_frames (scan) == 0 || frame.bin_views > 1)
    return td_scan_ref (scan);
  if (!base)
    return with_extra (scan);
  g_autoptr (TdScan) all = td_scan_with_extra (base);
  /* What was good for the views is good for more of them. */
  return td_scan_view_new (all, &frame, NULL);
}
