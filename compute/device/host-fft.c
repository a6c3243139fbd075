/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-fft.h"

#include "host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "dataset/text-file.h"
#include "dataset/unit.h"

#define PLANNER_BYTES ((gsize) 8 << 20)

static GMutex planner_lock;
static char *wisdom_folder; /* NULL: the user's */

char *
td_fftw_wisdom_file (const char *folder)
{
  g_autofree char *own
      = folder ? NULL : g_build_filename (g_get_user_cache_dir (), "tomodesk", NULL);

  return g_build_filename (folder ? folder : own, "fftwf-wisdom", NULL);
}

void
td_fftw_keep_wisdom_in (const char *folder)
{
  g_mutex_lock (&planner_lock);
  g_free (wisdom_folder);
  wisdom_folder = g_strdup (folder);
  fftwf_forget_wisdom ();
  g_mutex_unlock (&planner_lock);
}

/* Wisdom only saves time: a file that cannot be read or written is no error. */
static char *
wisdom_file (void)
{
  char *file = td_fftw_wisdom_file (wisdom_folder);
  g_autofree char *folder = g_path_get_dirname (file);

  g_mkdir_with_parents (folder, 0700);
  return file;
}

/* The caller closes what comes back, which ends the lock; -1: nobody could lock. Some shared file
   systems lock nothing. */
static int
lock_wisdom (const char *file)
{
  g_autofree char *path = g_strconcat (file, ".lock", NULL);
  const int lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

  if (lock < 0 || flock (lock, LOCK_EX) == 0)
    return lock;
  close (lock);
  return -1;
}

static void
read_wisdom (const char *file)
{
  g_autofree char *text = td_text_load (file, TD_FFTW_WISDOM_BYTES, NULL);

  if (text)
    fftwf_import_wisdom_from_string (text);
}

static void
write_wisdom (const char *file)
{
  char *text = fftwf_export_wisdom_to_string ();

  if (text)
    g_file_set_contents (file, text, -1, NULL);
  free (text);
}

/* FFTW aborts the process where its own allocations fail: a plan's tables of @n numbers, and what
   it tries ways of planning with. So that much must be free before it is asked. */
static gboolean
fftw_has_room (gsize n)
{
  void *room = g_try_malloc (PLANNER_BYTES + 16 * n * sizeof (fftw_complex));

  g_free (room);
  return room != NULL;
}

/* Plans that are measured twice may differ, and so may the last bits of what they transform. One
   process at a time measures a length, and the others take what it found. Processes that cannot
   take turns estimate, which gives all of them the same plan. The measuring has no time limit,
   since a plan that was cut short is not remembered. 131,072 points take some 1.2 s, once. */
static fftwf_plan
measure_plan (guint n, fftwf_complex *from, fftwf_complex *to)
{
  g_autofree char *file = wisdom_file ();
  const int lock = lock_wisdom (file);

  read_wisdom (file);
  fftwf_plan plan
      = fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_MEASURE | FFTW_WISDOM_ONLY);
  if (!plan && lock < 0 && wisdom_folder)
    return fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_ESTIMATE);
  if (!plan) {
    plan = fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_MEASURE);
    write_wisdom (file);
  }
  if (lock >= 0)
    close (lock);
  return plan;
}

fftwf_plan
td_fftw_plan (guint n)
{
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  fftwf_plan plan = NULL;

  g_mutex_lock (&planner_lock);
  const gboolean good = from && to && fftw_has_room (n);
  if (good)
    plan = fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_MEASURE | FFTW_WISDOM_ONLY);
  if (good && !plan)
    plan = measure_plan (n, from, to);
  g_mutex_unlock (&planner_lock);
  fftwf_free (from);
  fftwf_free (to);
  return plan;
}

void
td_fftw_plan_free (fftwf_plan plan)
{
  if (!plan)
    return;
  g_mutex_lock (&planner_lock);
  fftwf_destroy_plan (plan);
  g_mutex_unlock (&planner_lock);
}

/* FFTW in double precision is another library, with another planner. */
static GMutex double_planner_lock;

fftw_plan
td_fftw_plan_double (guint n)
{
  fftw_complex *from = fftw_alloc_complex (n), *to = fftw_alloc_complex (n);
  fftw_plan plan = NULL;

  g_mutex_lock (&double_planner_lock);
  if (from && to && fftw_has_room (n))
    plan = fftw_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_ESTIMATE);
  g_mutex_unlock (&double_planner_lock);
  fftw_free (from);
  fftw_free (to);
  return plan;
}

void
td_fftw_plan_double_free (fftw_plan plan)
{
  if (!plan)
    return;
  g_mutex_lock (&double_planner_lock);
  fftw_destroy_plan (plan);
  g_mutex_unlock (&double_planner_lock);
}

void
td_fftw_begin (void)
{
  fftwf_complex from[1] = { { 0 } }, to[1];
  fftwf_plan plan = NULL;

  g_mutex_lock (&planner_lock);
  if (fftw_has_room (1))
    plan = fftwf_plan_dft_1d (1, from, to, FFTW_FORWARD, FFTW_ESTIMATE);
  g_mutex_unlock (&planner_lock);
  td_fftw_plan_free (plan);
  td_fftw_plan_double_free (td_fftw_plan_double (1));
}

gboolean
td_fftw_even (double *values, guint period, guint count)
{
  const guint n = period / 2 + 1;
  double *whole = fftw_alloc_real (period);
  fftw_complex *spectrum = fftw_alloc_complex (n);
  fftw_plan plan = NULL;

  g_mutex_lock (&double_planner_lock);
  if (whole && spectrum && fftw_has_room (period))
    plan = fftw_plan_dft_r2c_1d ((int) period, whole, spectrum, FFTW_ESTIMATE);
  g_mutex_unlock (&double_planner_lock);
  for (double *line = values; plan && line < values + (gsize) count * n; line += n) {
    for (guint i = 0; i < period; i++)
      whole[i] = line[MIN (i, period - i)];
    fftw_execute (plan);
    for (guint i = 0; i < n; i++)
      line[i] = spectrum[i][0];
  }
  td_fftw_plan_double_free (plan);
  fftw_free (spectrum);
  fftw_free (whole);
  return plan != NULL;
}

/* ── Batches and two dimensions ── */

typedef struct {
  const TdHostFft *fft;
  fftwf_complex *data;
  gboolean inverse;
  guint64 lines, lines_a_piece;
} Run;

TdHostFft *
td_host_fft_make (TdFftKind kind, const guint n[2], guint batch, GError **error)
{
  TdHostFft *self = g_atomic_rc_box_new0 (TdHostFft);
  const gsize line
      = sizeof (fftwf_complex)
        * MAX ((gsize) n[0],
               TD_HOST_FFT_COLUMNS * td_host_fft_pitch (kind == TD_FFT_C2C_2D ? n[1] : 1));

  self->n[0] = n[0];
  self->n[1] = kind == TD_FFT_C2C_2D ? n[1] : 1;
  self->batch = batch;
  self->rows = td_fftw_plan (n[0]);
  if (kind == TD_FFT_C2C_2D)
    self->columns = td_fftw_plan (n[1]);
  if (self->rows && (self->columns || kind == TD_FFT_C2C_1D))
    self->scratch = td_host_scratch_new (line, line, error);
  else
    td_set_error (error, TD_ERROR_DEVICE_MEMORY, "FFTW could not plan %u × %u", self->n[0],
                  self->n[1]);
  if (self->scratch)
    return self;
  td_host_fft_destroy (self);
  return NULL;
}

static void
host_fft_clear (gpointer data)
{
  TdHostFft *self = data;

  td_fftw_plan_free (self->rows);
  td_fftw_plan_free (self->columns);
  td_host_scratch_free (self->scratch);
}

void
td_host_fft_destroy (TdHostFft *self)
{
  if (self)
    g_atomic_rc_box_release_full (self, host_fft_clear);
}

/* The inverse is the forward transform backwards. */
static inline guint
host_fft_place (guint x, guint n, gboolean inverse)
{
  return inverse && x ? n - x : x;
}

static void
host_fft_run_rows (guint index, gpointer data)
{
  const Run *run = data;
  guint n = run->fft->n[0];
  guint64 end = MIN ((index + 1) * run->lines_a_piece, run->lines);
  const TdHostPieces pieces = td_host_scratch_take (run->fft->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint64 row = index * run->lines_a_piece; row < end; row++) {
    fftwf_complex *line = run->data + row * n;
    memcpy (from, line, n * sizeof (fftwf_complex));
    fftwf_execute_dft (run->fft->rows, from, to);
    if (!run->inverse)
      memcpy (line, to, n * sizeof (fftwf_complex));
    else
      for (guint x = 0; x < n; x++)
        memcpy (line[x], to[host_fft_place (x, n, TRUE)], sizeof (fftwf_complex));
  }
  td_host_scratch_give (run->fft->scratch, &pieces);
}

/* Columns are gathered a cache line's worth at a time: strides of a power of two thrash the cache.
 */
static void
host_fft_run_columns (guint index, gpointer data)
{
  const Run *run = data;
  guint nx = run->fft->n[0], ny = run->fft->n[1];
  guint strips = (nx + TD_HOST_FFT_COLUMNS - 1) / TD_HOST_FFT_COLUMNS;
  guint x0 = index % strips * TD_HOST_FFT_COLUMNS, width = MIN (TD_HOST_FFT_COLUMNS, nx - x0);
  fftwf_complex *image = run->data + (guint64) (index / strips) * nx * ny + x0;
  const gsize pitch = td_host_fft_pitch (ny);
  const TdHostPieces pieces = td_host_scratch_take (run->fft->scratch);
  fftwf_complex *from = pieces.from, *to = pieces.to;

  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (from[x * pitch + y], image[(gsize) y * nx + x], sizeof (fftwf_complex));
  for (guint x = 0; x < width; x++)
    fftwf_execute_dft (run->fft->columns, from + x * pitch, to + x * pitch);
  for (guint y = 0; y < ny; y++)
    for (guint x = 0; x < width; x++)
      memcpy (image[(gsize) y * nx + x], to[x * pitch + host_fft_place (y, ny, run->inverse)],
              sizeof (fftwf_complex));
  td_host_scratch_give (run->fft->scratch, &pieces);
}

void
td_host_fft_execute (const TdHostFft *self, void *data, gboolean inverse)
{
  Run run = { .fft = self, .data = data, .inverse = inverse };
  guint strips = (self->n[0] + TD_HOST_FFT_COLUMNS - 1) / TD_HOST_FFT_COLUMNS;

  run.lines = (guint64) self->n[1] * self->batch;
  run.lines_a_piece = CLAMP (run.lines / (4 * td_host_threads ()), 1, MAX (1, 65536 / self->n[0]));
  td_parallel_for ((run.lines + run.lines_a_piece - 1) / run.lines_a_piece, host_fft_run_rows,
                   &run);
  if (self->columns)
    td_parallel_for (strips * self->batch, host_fft_run_columns, &run);
}

/* ── Scratch ── */

#define ALIGNMENT 64 /* of the second piece; the first is as FFTW aligns it */

struct TdHostScratch {
  GAsyncQueue *pairs; /* the free ones */
  gsize step;         /* bytes from a pair's first piece to its second */
};

TdHostScratch *
td_host_scratch_new (gsize from, gsize to, GError **error)
{
  TdHostScratch *scratch = g_new0 (TdHostScratch, 1);
  const guint n = td_host_threads ();

  scratch->step = (from + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  scratch->pairs = g_async_queue_new_full (fftwf_free);
  for (guint i = 0; i < n; i++) {
    gpointer pair = fftwf_malloc (MAX (scratch->step + to, 1));
    if (pair) {
      g_async_queue_push (scratch->pairs, pair);
      continue;
    }
    g_autofree char *size = td_memory_text ((guint64) (scratch->step + to) * n);
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "The system gives this program's threads no %s to work in; close other programs, "
                  "or bin the scan ({bin=2})",
                  size);
    td_host_scratch_free (scratch);
    return NULL;
  }
  return scratch;
}

TdHostPieces
td_host_scratch_take (TdHostScratch *scratch)
{
  char *from = g_async_queue_pop (scratch->pairs);

  return (TdHostPieces) { from, from + scratch->step };
}

/* To the front: the next thread finds in the caches what this one had there. */
void
td_host_scratch_give (TdHostScratch *scratch, const TdHostPieces *pieces)
{
  g_async_queue_push_front (scratch->pairs, pieces->from);
}

void
td_host_scratch_free (TdHostScratch *scratch)
{
  if (!scratch)
    return;
  g_async_queue_unref (scratch->pairs);
  g_free (scratch);
}
