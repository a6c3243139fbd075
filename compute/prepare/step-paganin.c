/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "paganin.h"
#include "steps.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/portion.h"
#include "dataset/error.h"

/* ── On the host ── */

/**
 * Phase retrieval on a host_pointers device. The kernels and transforms of step-paganin.c each go
 * through all images, one after another. The host makes three passes instead, a line or a few
 * columns at a time in its caches. The numbers are the same but for rounding.
 */
typedef struct {
  TdHostFft *fft;       /* of an image; it lends its plans and its scratch */
  float *across, *down; /* L^2 k^2 of the frequencies; 1 is added to across */
  float scale;          /* the transforms do not divide by the number of pixels */
} PaganinHost;

#define LINE_SAMPLES 16384 /* of the lines in a piece of work, about */

/* The frames of a batch, on their way. */
typedef struct {
  const PaganinHost *self;
  float *data;           /* [row][view][column], in place */
  fftwf_complex *images; /* [n_pairs][ny][nx] to work in */
  guint n_rows, n_views, n_columns;
  guint first_view, n_pairs;
  guint rows_after; /* of the padding below the last row, those that continue it */
  guint64 lines;
  guint lines_a_piece;
} Run;

static void
paganin_host_free (PaganinHost *self)
{
  if (!self)
    return;
  td_host_fft_destroy (self->fft);
  g_free (self->across);
  g_free (self->down);
  g_free (self);
}

/* NULL with @error: no memory. */
static PaganinHost *
paganin_host_new (const TdPaganin *paganin, guint nx, guint ny, GError **error)
{
  PaganinHost *self = g_new0 (PaganinHost, 1);

  self->across = g_new (float, nx);
  self->down = g_new (float, ny);
  td_paganin_response (paganin, 0, nx, self->across);
  td_paganin_response (paganin, 1, ny, self->down);
  for (guint x = 0; x < nx; x++)
    self->across[x] += 1;
  self->scale = 1.0f / ((float) nx * (float) ny);
  self->fft
      = td_host_fft_make (ny > 1 ? TD_FFT_C2C_2D : TD_FFT_C2C_1D, (guint[]) { nx, ny }, 1, error);
  if (self->fft)
    return self;
  paganin_host_free (self);
  return NULL;
}

/* ── Lines ── */

/* Row @y of the image, padding included: two frames' line as one of complex numbers. A last view
   without a partner is its own. */
static void
paganin_host_pack (const Run *run, guint pair, guint y, fftwf_complex *line)
{
  const guint n = run->n_columns, nx = run->self->fft->n[0], middle = n + (nx - n + 1) / 2;
  const guint view = run->first_view + 2 * pair, second = MIN (view + 1, run->n_views - 1);
  const guint row = y < run->n_rows ? y : y - run->n_rows < run->rows_after ? run->n_rows - 1 : 0;
  const float *a = run->data + ((gsize) row * run->n_views + view) * n;
  const float *b = run->data + ((gsize) row * run->n_views + second) * n;

  for (guint x = 0; x < n; x++) {
    line[x][0] = a[x];
    line[x][1] = b[x];
  }
  for (guint x = n; x < nx; x++)
    memcpy (line[x], line[x < middle ? n - 1 : 0], sizeof line[x]);
}

/* The second transform is the inverse read backwards. */
static void
paganin_host_unpack (const Run *run, guint pair, guint y, const fftwf_complex *line)
{
  const guint view = run->first_view + 2 * pair, n = run->n_columns;
  const fftwf_complex *end = line + run->self->fft->n[0];
  float *a = run->data + ((gsize) y * run->n_views + view) * n, *b = a + n;

  a[0] = line[0][0];
  for (gssize x = 1; x < (gssize) n; x++)
    a[x] = end[-x][0];
  if (view + 1 >= run->n_views)
    return;
  b[0] = line[0][1];
  for (gssize x = 1; x < (gssize) n; x++)
    b[x] = end[-x][1];
}

static void
paganin_host_divide (const fftwf_complex *values, const float *response, float base, float scale,
                     guint n, fftwf_complex *out)
{
  const float *restrict from = (const float *) values;
  float *restrict to = (float *) out;

  for (gsize i = 0; i < n; i++) {
    const float factor = scale / (base + response[i]);
    to[2 * i] = from[2 * i] * factor;
    to[2 * i + 1] = from[2 * i + 1] * factor;
  }
}

/* Spectra of rows, or all there is to do where a line is the whole image. */
static void
run_there (guint index, gpointer data)
{
  const Run *run = data;
  const PaganinHost *self = run->self;
  const guint64 end = MIN (((guint64) index + 1) * run->lines_a_piece, run->lines);
  const TdHostPieces pieces = td_host_scratch_take (self->fft->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint64 i = (guint64) index * run->lines_a_piece; i < end; i++) {
    const guint pair = (guint) (i / self->fft->n[1]), y = (guint) (i % self->fft->n[1]);
    paganin_host_pack (run, pair, y, from);
    fftwf_execute_dft (self->fft->rows, from, to);
    if (self->fft->columns) {
      memcpy (run->images + i * self->fft->n[0], to, self->fft->n[0] * sizeof *to);
      continue;
    }
    paganin_host_divide (to, self->across, 0, self->scale, self->fft->n[0], from);
    fftwf_execute_dft (self->fft->rows, from, to);
    paganin_host_unpack (run, pair, y, to);
  }
  td_host_scratch_give (self->fft->scratch, &pieces);
}

/* Lines of the frames themselves: the padding is not wanted back. */
static void
run_back (guint index, gpointer data)
{
  const Run *run = data;
  const PaganinHost *self = run->self;
  const guint n_rows = run->n_rows;
  const guint64 end = MIN (((guint64) index + 1) * run->lines_a_piece, run->lines);
  const TdHostPieces pieces = td_host_scratch_take (self->fft->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint64 i = (guint64) index * run->lines_a_piece; i < end; i++) {
    const guint pair = (guint) (i / n_rows), y = (guint) (i % n_rows);
    memcpy (from, run->images + ((gsize) pair * self->fft->n[1] + y) * self->fft->n[0],
            self->fft->n[0] * sizeof *from);
    fftwf_execute_dft (self->fft->rows, from, to);
    paganin_host_unpack (run, pair, y, to);
  }
  td_host_scratch_give (self->fft->scratch, &pieces);
}

/* ── Columns ── */

/* There, the division, and back, for a few columns of one image; gathered, since strides of a power
   of two thrash the cache. The next transform of the rows turns x round for both directions' sake:
   only y is turned here. */
static void
paganin_host_run_columns (guint index, gpointer data)
{
  const Run *run = data;
  const PaganinHost *self = run->self;
  const guint nx = self->fft->n[0], ny = self->fft->n[1], n_rows = run->n_rows;
  const guint strips = (nx + TD_HOST_FFT_COLUMNS - 1) / TD_HOST_FFT_COLUMNS;
  const guint x0 = index % strips * TD_HOST_FFT_COLUMNS, width = MIN (TD_HOST_FFT_COLUMNS, nx - x0);
  fftwf_complex *image = run->images + (gsize) (index / strips) * nx * ny + x0;
  const gsize pitch = td_host_fft_pitch (ny);
  const TdHostPieces pieces = td_host_scratch_take (self->fft->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (from[x * pitch + y], image[(gsize) y * nx + x], sizeof *from);
  for (guint x = 0; x < width; x++) {
    fftwf_complex *line = from + x * pitch, *spectrum = to + x * pitch;
    fftwf_execute_dft (self->fft->columns, line, spectrum);
    paganin_host_divide (spectrum, self->down, self->across[x0 + x], self->scale, ny, line);
    fftwf_execute_dft (self->fft->columns, line, spectrum);
  }
  for (guint y = 0; y < n_rows; y++)
    for (guint x = 0; x < width; x++)
      memcpy (image[(gsize) y * nx + x], to[x * pitch + (y ? ny - y : 0)], sizeof *to);
  td_host_scratch_give (self->fft->scratch, &pieces);
}

/* ── All of it ── */

static void
step_paganin_run_lines (Run *run, guint lines_a_pair, TdParallelBody body)
{
  const guint a_piece = MAX (1, LINE_SAMPLES / run->self->fft->n[0]);

  run->lines = (guint64) lines_a_pair * run->n_pairs;
  run->lines_a_piece = (guint) CLAMP (run->lines / (4 * td_host_threads ()), 1, a_piece);
  td_parallel_for ((guint) ((run->lines + run->lines_a_piece - 1) / run->lines_a_piece), body, run);
}

static void
paganin_host_run (Run *run)
{
  const TdHostFft *fft = run->self->fft;
  const guint strips = (fft->n[0] + TD_HOST_FFT_COLUMNS - 1) / TD_HOST_FFT_COLUMNS;

  step_paganin_run_lines (run, fft->n[1], run_there);
  if (!fft->columns)
    return;
  td_parallel_for (strips * run->n_pairs, paganin_host_run_columns, run);
  step_paganin_run_lines (run, run->n_rows, run_back);
}

static const char *const laplacians[] = { N_ ("continuous"), N_ ("pixels"), NULL };

static const TdStepParameter parameters[] = {
  [TD_PAGANIN_DELTA_BETA]
  = { "delta-beta", N_ ("δ/β"),
      N_ ("Of the object's main material at this energy: about 100 for metals, 1000 "
          "for tissue and plastics. Larger smooths more."),
      500, 0.1, 1e6, 1, NULL },
  [TD_PAGANIN_ENERGY]
  = { "energy", N_ ("Energy (keV)"), N_ ("0 takes what the scan says."), 0, 0, 1000, 3, NULL },
  [TD_PAGANIN_DISTANCE] = { "distance", N_ ("Sample to detector (mm)"),
                            N_ ("0 takes what the scan says."), 0, 0, 1e6, 3, NULL },
  [TD_PAGANIN_PIXEL]
  = { "pixel", N_ ("Pixel size (µm)"),
      N_ ("Of the detector, as it is after binning; 0 takes what the scan says."), 0, 0, 1e6, 4,
      NULL },
  [TD_PAGANIN_LAPLACIAN]
  = { "laplacian", N_ ("Laplacian"),
      N_ ("Continuous is the usual formula (2002); that of the pixels (2020) keeps "
          "finer detail and more noise."),
      0, 0, 1, 0, laplacians },
};

#define THREAD_BYTES                                                                               \
  (4u << 20)             /* of a batch on the host, for each of its threads: caches are near */
#define MOST_PAIRS 65535 /* work-groups in z on every API */

/* The images that frames are padded to, and how many at once. Rows that are cut off have their
   neighbours in the halo. What the transform brings round from the other end lies as far from the
   slab's own rows as what the halo omits. So only the detector's own ends are continued. */
typedef struct {
  guint nx, ny, n_pairs;
  guint rows_after; /* of the padding, those that continue the last row */
} Shape;

static Shape
step_paganin_shape_of (const TdPaganin *paganin, guint n_rows, guint n_views, guint n_columns,
                       gboolean at_top, gboolean at_bottom, guint64 batch_bytes)
{
  guint reach = paganin->reach_px[1];
  Shape shape = { .nx = td_fft_good_size (n_columns + 2 * paganin->reach_px[0]), .ny = 1 };

  if (paganin->length_px[1] > 0) {
    shape.ny = td_fft_good_size (n_rows + (at_top ? reach : 0) + (at_bottom ? reach : 0));
    guint padding = shape.ny - n_rows;
    shape.rows_after = at_top == at_bottom ? (padding + 1) / 2 : at_bottom ? padding : 0;
  }
  guint64 bytes = 2 * sizeof (float) * (guint64) shape.nx * shape.ny;
  shape.n_pairs = (guint) CLAMP (batch_bytes / bytes, 1, MIN ((n_views + 1) / 2, MOST_PAIRS));
  return shape;
}

static TdMessage *
step_paganin_unsupported (const TdStep *step, const TdScanFacts *facts)
{
  TdPaganin paganin;

  return td_paganin_init (&paganin, step, facts);
}

static guint
step_paganin_halo (const TdStep *step, const TdScanFacts *facts)
{
  TdPaganin paganin;
  g_autoptr (TdMessage) reason = td_paganin_init (&paganin, step, facts);

  return reason ? 0 : MIN (paganin.reach_px[1], facts->n_rows);
}

static guint64
step_paganin_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  TdPaganin paganin;
  g_autoptr (TdMessage) reason = td_paganin_init (&paganin, step, facts);

  if (reason)
    return 0;
  Shape shape = step_paganin_shape_of (&paganin, n_rows, facts->n_views, facts->n_columns, TRUE,
                                       TRUE, td_portion (TD_PAGANIN_BATCH_BYTES));
  guint64 image = 2 * sizeof (float) * (guint64) shape.nx * shape.ny;
  guint64 images
      = MAX (image, MIN (td_portion (TD_PAGANIN_BATCH_BYTES), image * ((facts->n_views + 1) / 2)));
  /* The transform may want as much again. */
  return 2 * images + (shape.nx + shape.ny) * sizeof (float)
         + td_paganin_core_bytes (step, facts, n_rows);
}

/* ── Running ── */

typedef struct {
  TdPaganin paganin;
  Shape shape;
  TdFft *fft;
  PaganinHost *host; /* on host_pointers devices, instead of transform, tables and kernels */
} Held;

static void
step_paganin_held_free (gpointer data)
{
  Held *held = data;

  td_fft_free (held->fft);
  paganin_host_free (held->host);
  g_free (held);
}

static gboolean
load_response (TdSlab *slab, const Held *held, guint axis, GError **error)
{
  guint n = axis == 0 ? held->shape.nx : held->shape.ny;
  g_autofree float *response = g_new (float, n);

  td_paganin_response (&held->paganin, axis, n, response);
  return td_slab_send (slab, axis == 0 ? "paganin across" : "paganin down", response,
                       n * sizeof (float), error)
         != NULL;
}

static gboolean
make_transform (TdSlab *slab, Held *held, GError **error)
{
  const Shape *shape = &held->shape;

  if (td_device_info (slab->device)->host_pointers)
    return (held->host = paganin_host_new (&held->paganin, shape->nx, shape->ny, error)) != NULL;
  /* Work with the old ones may still be on its way. */
  if (!td_queue_finish (slab->queue, error) || !load_response (slab, held, 0, error)
      || !load_response (slab, held, 1, error))
    return FALSE;
  td_slab_keep (slab, "paganin", NULL, NULL);
  held->fft = td_fft_new (slab->device, shape->ny > 1 ? TD_FFT_C2C_2D : TD_FFT_C2C_1D,
                          (guint[]) { shape->nx, shape->ny }, shape->n_pairs, error);
  return held->fft != NULL;
}

/* The transform and the tables for this slab's size, kept for the next. */
static const Held *
step_paganin_hold (TdSlab *slab, const TdPaganin *paganin, GError **error)
{
  const Held *kept = td_slab_kept (slab, "paganin");
  guint end = slab->row0 + slab->n_rows;
  Held wanted = { .paganin = *paganin };

  wanted.shape = step_paganin_shape_of (paganin, slab->n_rows, slab->n_views, slab->n_columns,
                                        slab->row0 == 0, end == td_scan_facts (slab->scan)->n_rows,
                                        td_paganin_batch_bytes (slab->device, THREAD_BYTES));
  if (kept && memcmp (&kept->shape, &wanted.shape, sizeof wanted.shape) == 0
      && td_paganin_is_same (&kept->paganin, paganin))
    return kept;

  if (!make_transform (slab, &wanted, error))
    return NULL;
  Held *held = g_memdup2 (&wanted, sizeof wanted);
  td_slab_keep (slab, "paganin", held, step_paganin_held_free);
  return held;
}

static gboolean
step_paganin_run_batch (TdSlab *slab, const Held *held, guint first_view, GError **error)
{
  guint nx = held->shape.nx, ny = held->shape.ny, n_pairs = held->shape.n_pairs;
  guint strip = td_slab_strip (slab), strips = (nx + strip - 1) / strip, row0 = 0;
  guint own_strips = td_slab_strips (slab);
  TdBuffer *across = td_slab_buffer (slab, "paganin across", 0, error);
  TdBuffer *down = td_slab_buffer (slab, "paganin down", 0, error);
  TdBuffer *images = td_slab_buffer (slab, "paganin images",
                                     2 * sizeof (float) * (guint64) nx * ny * n_pairs, error);
  const float scale = 1.0f / ((float) nx * (float) ny);

  if (!images)
    return FALSE;
  return td_slab_launch (slab, "paganin", "paganin_pack", (guint[]) { strips, ny, n_pairs },
                         TD_ARGS (slab->data, images, first_view, slab->n_views, slab->n_rows,
                                  slab->n_columns, nx, ny, held->shape.rows_after, strip),
                         error)
         && td_fft_run (slab->queue, held->fft, images, FALSE, error)
         && td_slab_launch (slab, "paganin", "paganin_divide", (guint[]) { strips, ny, n_pairs },
                            TD_ARGS (images, across, down, nx, ny, scale, strip), error)
         && td_fft_run (slab->queue, held->fft, images, TRUE, error)
         && td_slab_launch (slab, "paganin", "paganin_unpack",
                            (guint[]) { own_strips, slab->n_rows, n_pairs },
                            TD_ARGS (images, slab->data, first_view, slab->n_views, slab->n_columns,
                                     nx, ny, row0, strip),
                            error);
}

static gboolean
run_host_batch (TdSlab *slab, const Held *held, guint first_view, GError **error)
{
  const Shape *shape = &held->shape;
  TdBuffer *images = td_slab_buffer (
      slab, "paganin images", 2 * sizeof (float) * (guint64) shape->nx * shape->ny * shape->n_pairs,
      error);

  if (!images)
    return FALSE;
  Run run = {
    .self = held->host,
    .data = td_buffer_map (slab->data),
    .images = td_buffer_map (images),
    .n_rows = slab->n_rows,
    .n_views = slab->n_views,
    .n_columns = slab->n_columns,
    .first_view = first_view,
    .n_pairs = MIN (shape->n_pairs, (slab->n_views - first_view + 1) / 2),
    .rows_after = shape->rows_after,
  };
  paganin_host_run (&run);
  return TRUE;
}

static gboolean
step_paganin_run (const TdStep *step, TdSlab *slab, GError **error)
{
  TdPaganin paganin;
  g_autoptr (TdMessage) reason = td_paganin_init (&paganin, step, td_scan_facts (slab->scan));

  if (reason)
    return td_set_error_message (error, TD_ERROR_INVALID, g_steal_pointer (&reason));
  const Held *held = step_paganin_hold (slab, &paganin, error);
  if (!held)
    return FALSE;
  for (guint view = 0; view < slab->n_views; view += 2 * held->shape.n_pairs)
    if (g_cancellable_set_error_if_cancelled (slab->cancellable, error)
        || !(held->host ? run_host_batch (slab, held, view, error)
                        : step_paganin_run_batch (slab, held, view, error)))
      return FALSE;
  return TRUE;
}

const TdStepKind td_step_paganin = {
  .name = "paganin",
  .title = N_ ("Phase retrieval"),
  .summary
  = "Turns the bright rims of a coherent beam into contrast: Paganin, from a single distance.",
  .stage = TD_STEP_FLAT,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .unsupported = step_paganin_unsupported,
  .halo = step_paganin_halo,
  .workspace_bytes = step_paganin_workspace_bytes,
  .run = step_paganin_run,
  .run_core = td_paganin_run_core,
};
