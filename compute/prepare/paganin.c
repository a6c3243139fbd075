/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paganin.h"

#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/error.h"
#include "dataset/geometry-matrix.h"

#define WAVELENGTH_MM_KEV 1.239841984e-6 /* h c */
#define MOST_SHARE 0.25                  /* of the detector's width that L may be */
#define THREAD_BYTES                                                                               \
  (1u << 20)             /* of a batch on the host, for each of its threads: caches are near */
#define MOST_PAIRS 65535 /* work-groups on every API */
/* Groups of kernels/paganin.cl. */
#define TERMS_AT_ONCE 8
#define ROWS_AT_ONCE 4
#define MOST_TERMS 32

/* Frequencies where there is nothing: a detector of one row knows nothing of the other direction.
 */
static guint
paganin_reach (double length_px, gboolean discrete)
{
  if (length_px <= 0)
    return 0;
  const double decay = discrete ? 2 * asinh (0.5 / length_px) : 1 / length_px;
  const double f = pow (G_PI * length_px, 2), first = 4 * f / pow (1 + f, 2) / (4 * G_PI * G_PI);
  /* Of lengths below two pixels the tail reaches farther. */
  return (guint) ceil (
      MAX (-log (TD_PAGANIN_REST) / decay, discrete ? 0 : sqrt (first / TD_PAGANIN_TAIL)));
}

static TdMessage *
paganin_missing (const TdScanFacts *facts, const char *what, const char *value)
{
  return td_message_new ("phase retrieval needs %p, which “%s” does not state; give it "
                         "({prepare=paganin:%s})",
                         td_message_new_plain (what), facts->title ? facts->title : facts->path,
                         value);
}

TdMessage *
td_paganin_init (TdPaganin *paganin, const TdStep *step, const TdScanFacts *facts)
{
  const double *v = step->values;
  const TdGeometry *g = &facts->geometry;
  double given_mm = v[TD_PAGANIN_PIXEL] * 1e-3;
  double width_mm = given_mm > 0 ? given_mm : g->pixel_width_mm;
  double height_mm = given_mm > 0 ? given_mm : g->pixel_height_mm;
  double axis_mm = g->source_axis_mm, detector_mm = g->source_detector_mm;

  /* Matrices count the detector's distance in pixels, whose size only the step may know. */
  if (g->view_matrices && !(detector_mm > 0))
    td_matrix_distances (g->view_matrices, width_mm, &axis_mm, &detector_mm);
  gboolean diverges = g->beam != TD_BEAM_PARALLEL && axis_mm > 0 && detector_mm > axis_mm;
  double magnification = diverges ? detector_mm / axis_mm : 1;
  double stated = diverges ? detector_mm - axis_mm : facts->propagation_mm;
  double energy_kev = v[TD_PAGANIN_ENERGY] > 0 ? v[TD_PAGANIN_ENERGY] : facts->energy_kev;
  double distance_mm = v[TD_PAGANIN_DISTANCE] > 0 ? v[TD_PAGANIN_DISTANCE] : stated;

  if (!(energy_kev > 0))
    return paganin_missing (facts, N_ ("the beam's energy in keV"), "energy=25");
  if (!(distance_mm > 0))
    return paganin_missing (facts, N_ ("the distance from sample to detector in mm"),
                            "distance=100");
  if (!(width_mm > 0))
    return paganin_missing (facts, N_ ("the size of a pixel in µm"), "pixel=1.6");
  if (!(height_mm > 0))
    height_mm = width_mm;

  double length_mm = sqrt (distance_mm / magnification * WAVELENGTH_MM_KEV / energy_kev
                           * v[TD_PAGANIN_DELTA_BETA] / (4 * G_PI));
  *paganin = (TdPaganin) {
    .length_px = { length_mm * magnification / width_mm, length_mm * magnification / height_mm },
    .discrete = v[TD_PAGANIN_LAPLACIAN] != 0,
  };
  if (facts->n_rows == 1)
    paganin->length_px[1] = 0;
  if (paganin->length_px[0] > MAX (MOST_SHARE * facts->n_columns, 4))
    return td_message_new (
        "phase retrieval with %g keV, %g mm, pixels of %g µm and a delta/beta of %g "
        "would blur over %.0f of the detector's %u columns; check them ("
        "{prepare=paganin=DELTA/BETA:energy=…:distance=…:pixel=…})",
        energy_kev, distance_mm, width_mm * 1e3, v[TD_PAGANIN_DELTA_BETA], paganin->length_px[0],
        facts->n_columns);
  for (guint axis = 0; axis < 2; axis++)
    paganin->reach_px[axis] = paganin_reach (paganin->length_px[axis], paganin->discrete);
  return NULL;
}

void
td_paganin_response (const TdPaganin *paganin, guint axis, guint n, float *response)
{
  double length = paganin->length_px[axis];

  for (guint i = 0; i < n; i++) {
    double k = 2 * G_PI * MIN (i, n - i) / n;
    response[i]
        = (float) (length * length * (paganin->discrete ? pow (2 * sin (k / 2), 2) : k * k));
  }
}

guint64
td_paganin_batch_bytes (TdDevice *device, guint64 thread_bytes)
{
  if (!td_device_info (device)->host_pointers)
    return td_portion (TD_PAGANIN_BATCH_BYTES);
  return td_portion (MIN (td_host_threads () * thread_bytes, TD_PAGANIN_BATCH_BYTES));
}

gboolean
td_paganin_is_same (const TdPaganin *a, const TdPaganin *b)
{
  return a->length_px[0] == b->length_px[0] && a->length_px[1] == b->length_px[1]
         && a->discrete == b->discrete;
}

/* ── Terms ── */

/* Never more for @n_rows rows. */
static guint
paganin_terms_most (guint n_rows)
{
  return MIN (MOST_TERMS, n_rows);
}

/* h of the first n_half frequencies of a row, each [@n_long + 1] for the distances from 0. The
   period along v is so long that what comes round is nothing. */
static double *
paganin_terms_distances (const TdPaganin *paganin, guint nx, guint n_half, guint n_long)
{
  const guint n = n_long + 1, period = 2 * n_long;
  g_autofree float *across = g_new (float, nx), *down = g_new (float, period);
  g_autofree double *h = g_try_new (double, (gsize) n_half *n);

  if (!h)
    return NULL;
  td_paganin_response (paganin, 0, nx, across);
  td_paganin_response (paganin, 1, period, down);
  for (guint k = 0; k < n_half; k++)
    for (guint l = 0; l < n; l++)
      h[(gsize) k * n + l] = 1 / ((1.0 + across[k] + down[l]) * period);
  return td_fftw_even (h, period, n_half) ? g_steal_pointer (&h) : NULL;
}

/* h of each row for each frequency, [n_half][n_rows]: what is beyond the rows counts for the
 * outermost. */
static double *
matrix_of (const TdPaganin *paganin, guint nx, guint n_half, guint n_rows, guint row)
{
  guint n_long = 32;

  while (n_long < 2 * MAX (n_rows, paganin->reach_px[1]))
    n_long *= 2;
  g_autofree double *h = paganin_terms_distances (paganin, nx, n_half, n_long);
  double *matrix = h ? g_try_new0 (double, (gsize) n_half *n_rows) : NULL;

  for (guint k = 0; matrix && k < n_half; k++) {
    const double *from = h + (gsize) k * (n_long + 1);
    double *to = matrix + (gsize) k * n_rows;
    for (gint v = 1 - (gint) n_long; v <= (gint) n_long; v++)
      to[CLAMP ((gint) row + v, 0, (gint) n_rows - 1)] += from[ABS (v)];
  }
  return matrix;
}

/* The largest of what is left, and the most that is left of any frequency. */
static double
paganin_terms_look (const double *left, guint n_half, guint n_rows, gsize *largest)
{
  double most = 0, peak = -1;

  for (guint k = 0; k < n_half; k++) {
    double sum = 0;
    for (gsize i = (gsize) k * n_rows; i < (gsize) (k + 1) * n_rows; i++) {
      const double size = fabs (left[i]);
      sum += size;
      if (size > peak) {
        peak = size;
        *largest = i;
      }
    }
    most = MAX (most, sum);
  }
  return most;
}

/* Adds the cross through @pivot to the terms, and takes it away. */
static void
add_term (TdPaganinTerms *terms, double *left, guint n_half, gsize pivot)
{
  const guint n = terms->n_rows, nx = terms->nx;
  const double peak = left[pivot];
  const guint column = (guint) (pivot % n);
  float *weights = terms->weights + (gsize) terms->n_terms * n;
  float *factors = terms->factors + (gsize) terms->n_terms * nx;
  g_autofree double *cross = g_memdup2 (left + pivot - column, n * sizeof (double));

  for (guint i = 0; i < n; i++)
    weights[i] = (float) cross[i];
  for (guint k = 0; k < n_half; k++) {
    double *line = left + (gsize) k * n;
    const double factor = line[column] / peak;
    factors[k] = (float) (factor / nx);
    if (k > 0)
      factors[nx - k] = factors[k];
    for (guint i = 0; i < n; i++)
      line[i] -= factor * cross[i];
  }
  terms->n_terms++;
}

TdPaganinTerms *
td_paganin_terms_new (const TdPaganin *paganin, guint nx, guint n_rows, guint row)
{
  const guint most = paganin_terms_most (n_rows), n_half = nx / 2 + 1;
  g_autofree double *left = matrix_of (paganin, nx, n_half, n_rows, row);
  gsize largest = 0;

  if (!left)
    return NULL;
  TdPaganinTerms *terms = g_new0 (TdPaganinTerms, 1);
  terms->n_rows = n_rows;
  terms->nx = nx;
  terms->weights = g_new (float, (gsize) most *n_rows);
  terms->factors = g_new (float, (gsize) most *nx);
  while (paganin_terms_look (left, n_half, n_rows, &largest) > TD_PAGANIN_LEFT
         && terms->n_terms < most)
    add_term (terms, left, n_half, largest);
  return terms;
}

void
td_paganin_terms_free (TdPaganinTerms *terms)
{
  if (!terms)
    return;
  g_free (terms->weights);
  g_free (terms->factors);
  g_free (terms);
}

/* ── Sizes ── */

/* The tables on the device, and what they are of. */
typedef struct {
  TdPaganin paganin;
  guint n_rows, row, nx, n_terms, n_pairs;
  TdFft *there, *back;
} Held;

static void
paganin_core_held_free (gpointer data)
{
  Held *held = data;

  td_fft_free (held->there);
  td_fft_free (held->back);
  g_free (held);
}

static guint
paganin_core_padded (const TdPaganin *paganin, guint n_columns)
{
  return td_fft_good_size (n_columns + 2 * paganin->reach_px[0]);
}

static guint
paganin_core_choose_pairs (guint64 bytes, guint nx, guint n_terms, guint n_views)
{
  return (guint) CLAMP (bytes / (2 * sizeof (float) * (guint64) nx * n_terms), 1,
                        MIN ((n_views + 1) / 2, MOST_PAIRS));
}

static guint
paganin_core_round_up (guint n, guint group)
{
  return (n + group - 1) / group * group;
}

guint64
td_paganin_core_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  TdPaganin paganin;
  g_autoptr (TdMessage) reason = td_paganin_init (&paganin, step, facts);

  if (reason)
    return 0;
  const guint64 nx = paganin_core_padded (&paganin, facts->n_columns),
                n_terms = paganin_terms_most (n_rows);
  const guint64 one = 2 * sizeof (float) * nx * n_terms;
  /* The transforms may want as much again. */
  return 2 * MAX (one, MIN (td_portion (TD_PAGANIN_BATCH_BYTES), one * ((facts->n_views + 1) / 2)))
         + sizeof (float)
               * (n_terms * nx
                  + paganin_core_round_up (n_terms, TERMS_AT_ONCE)
                        * (guint64) paganin_core_round_up (n_rows, ROWS_AT_ONCE));
}

/* ── Tables ── */

static gboolean
send_weights (TdSlab *slab, const TdPaganinTerms *terms, GError **error)
{
  const guint pitch = paganin_core_round_up (terms->n_rows, ROWS_AT_ONCE);
  const gsize n = (gsize) paganin_core_round_up (terms->n_terms, TERMS_AT_ONCE) * pitch;
  g_autofree float *weights = g_new0 (float, n);

  for (guint t = 0; t < terms->n_terms; t++)
    memcpy (weights + (gsize) t * pitch, terms->weights + (gsize) t * terms->n_rows,
            terms->n_rows * sizeof (float));
  return td_slab_send (slab, "paganin weights", weights, n * sizeof (float), error) != NULL;
}

static gboolean
send_factors (TdSlab *slab, const TdPaganinTerms *terms, GError **error)
{
  const guint64 bytes = (guint64) terms->n_terms * terms->nx * sizeof (float);

  return td_slab_send (slab, "paganin factors", terms->factors, bytes, error) != NULL;
}

static gboolean
paganin_core_make_transforms (TdSlab *slab, Held *held, GError **error)
{
  const guint size[2] = { held->nx, 1 };

  held->there
      = td_fft_new (slab->device, TD_FFT_C2C_1D, size, held->n_terms * held->n_pairs, error);
  held->back
      = held->there ? td_fft_new (slab->device, TD_FFT_C2C_1D, size, held->n_pairs, error) : NULL;
  return held->back != NULL;
}

/* Transforms stay where they fit: a slider that is dragged changes the tables only. */
static gboolean
paganin_core_make (TdSlab *slab, Held *kept, Held *held, GError **error)
{
  TdPaganinTerms *terms = td_paganin_terms_new (&held->paganin, held->nx, held->n_rows, held->row);

  if (!terms)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory to retrieve the phase of rows of %u columns",
                         held->nx);
  gboolean ok = td_queue_finish (slab->queue, error) /* work with the old ones may be on its way */
                && send_weights (slab, terms, error) && send_factors (slab, terms, error);

  held->n_terms = terms->n_terms;
  held->n_pairs = paganin_core_choose_pairs (td_paganin_batch_bytes (slab->device, THREAD_BYTES),
                                             held->nx, held->n_terms, slab->n_views);
  td_paganin_terms_free (terms);
  if (ok && kept && kept->nx == held->nx && kept->n_terms == held->n_terms
      && kept->n_pairs == held->n_pairs) {
    held->there = g_steal_pointer (&kept->there);
    held->back = g_steal_pointer (&kept->back);
    return TRUE;
  }
  td_slab_keep (slab, "paganin core", NULL, NULL);
  return ok && paganin_core_make_transforms (slab, held, error);
}

static gboolean
is_same (const Held *a, const Held *b)
{
  return a->n_rows == b->n_rows && a->row == b->row && a->nx == b->nx
         && td_paganin_is_same (&a->paganin, &b->paganin);
}

/* For row @row of the slab's. */
static const Held *
paganin_core_hold (TdSlab *slab, const TdPaganin *paganin, guint row, GError **error)
{
  Held *kept = td_slab_kept (slab, "paganin core");
  Held wanted = { .paganin = *paganin,
                  .n_rows = slab->n_rows,
                  .row = row,
                  .nx = paganin_core_padded (paganin, slab->n_columns) };

  if (kept && is_same (kept, &wanted))
    return kept;
  gboolean ok = paganin_core_make (slab, kept, &wanted, error);
  Held *held = g_memdup2 (&wanted, sizeof wanted);
  if (!ok) {
    paganin_core_held_free (held);
    td_slab_keep (slab, "paganin core", NULL, NULL);
    return NULL;
  }
  td_slab_keep (slab, "paganin core", held, paganin_core_held_free);
  return held;
}

/* ── Running ── */

static gboolean
paganin_core_run_batch (TdSlab *slab, const Held *held, guint first_view, TdBuffer *out,
                        guint out_row, GError **error)
{
  const guint nx = held->nx, n_terms = held->n_terms, n_pairs = held->n_pairs, one = 1;
  const guint strip = td_device_info (slab->device)->cpu_shaped ? nx : 1,
              strips = (nx + strip - 1) / strip;
  const guint own_strips = td_slab_strips (slab);
  TdBuffer *weights = td_slab_buffer (slab, "paganin weights", 0, error);
  TdBuffer *factors = td_slab_buffer (slab, "paganin factors", 0, error);
  TdBuffer *images = td_slab_buffer (slab, "paganin core images",
                                     2 * sizeof (float) * (guint64) nx * n_terms * n_pairs, error);

  if (!images)
    return FALSE;
  return td_slab_launch (slab, "paganin", "paganin_sums", (guint[]) { strips, n_pairs, 1 },
                         TD_ARGS (slab->data, images, weights, first_view, slab->n_views,
                                  slab->n_rows, slab->n_columns, nx, n_terms, n_pairs, strip),
                         error)
         && td_fft_run (slab->queue, held->there, images, FALSE, error)
         && td_slab_launch (slab, "paganin", "paganin_combine", (guint[]) { strips, n_pairs, 1 },
                            TD_ARGS (images, factors, nx, n_terms, n_pairs, strip), error)
         && td_fft_run (slab->queue, held->back, images, TRUE, error)
         && td_slab_launch (slab, "paganin", "paganin_unpack", (guint[]) { own_strips, 1, n_pairs },
                            TD_ARGS (images, out, first_view, slab->n_views, slab->n_columns, nx,
                                     one, out_row, strip),
                            error);
}

gboolean
td_paganin_run_core (const TdStep *step, TdSlab *slab, guint first, guint count, TdBuffer *out,
                     GError **error)
{
  TdPaganin paganin;
  g_autoptr (TdMessage) reason = td_paganin_init (&paganin, step, td_scan_facts (slab->scan));

  if (reason)
    return td_set_error_message (error, TD_ERROR_INVALID, g_steal_pointer (&reason));
  for (guint row = 0; row < count; row++) {
    const Held *held = paganin_core_hold (slab, &paganin, first + row, error);
    if (!held)
      return FALSE;
    for (guint view = 0; view < slab->n_views; view += 2 * held->n_pairs)
      if (g_cancellable_set_error_if_cancelled (slab->cancellable, error)
          || !paganin_core_run_batch (slab, held, view, out, row, error))
        return FALSE;
  }
  return TRUE;
}
