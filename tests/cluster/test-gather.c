/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views that two ranks give each other: every sample of the rows that each sees. Also the bytes
   that this takes, and a wait that is cancelled. mpirun starts it twice; the first rank reports. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>

#include "cluster/gather.h"

#define COLUMNS 5
#define CHUNK 4
#define VIEWS 22 /* the last chunk is half full */

static int rank;

typedef struct {
  TdGather *gather;
  guint n_views, first_chunk, step;
  TdRowRange rows;
} Putting;

static float
sample (guint view, guint row, guint column)
{
  return (float) (view * 10000 + row * 100 + column);
}

static void
fill (float *views, guint first, guint count, TdRowRange rows)
{
  for (guint v = 0; v < count; v++)
    for (guint r = 0; r < rows.count; r++)
      for (guint c = 0; c < COLUMNS; c++)
        *views++ = sample (first + v, rows.first + r, c);
}

static guint
chunk_views (guint n_views, guint first)
{
  return MIN (CHUNK, n_views - first);
}

static gpointer
put_all (gpointer data)
{
  const Putting *put = data;
  float views[CHUNK * 16 * COLUMNS];
  g_autoptr (GError) error = NULL;

  for (guint first = put->first_chunk * CHUNK; first < put->n_views; first += put->step * CHUNK) {
    const guint n = chunk_views (put->n_views, first);
    fill (views, first, n, put->rows);
    td_gather_put (first, n, views, NULL, &error, put->gather);
    g_assert_no_error (error);
  }
  td_gather_finish (put->gather, NULL, &error);
  g_assert_no_error (error);
  return NULL;
}

static TdGather *
make_gather (MPI_Comm column, guint n_views, TdRowRange seen)
{
  const TdGatherSpec spec = {
    .column = column, .n_views = n_views, .chunk = CHUNK, .n_columns = COLUMNS, .seen = seen
  };
  g_autoptr (GError) error = NULL;
  TdGather *gather = td_gather_new (&spec, NULL, &error);

  g_assert_no_error (error);
  return gather;
}

/* A thread puts what this rank filtered, and this one takes all views. */
static void
assert_exchange (TdGather *gather, guint n_views, guint first_chunk, guint step, TdRowRange seen)
{
  Putting put = { gather, n_views, first_chunk, step, td_gather_rows (gather) };
  GThread *thread = g_thread_new ("put", put_all, &put);
  float views[CHUNK * 16 * COLUMNS], right[CHUNK * 16 * COLUMNS];
  g_autoptr (GError) error = NULL;

  for (guint first = 0; first < n_views; first += CHUNK) {
    const guint n = chunk_views (n_views, first);
    const gsize bytes = n * seen.count * COLUMNS * sizeof (float);
    td_gather_take (first, n, views, NULL, &error, gather);
    g_assert_no_error (error);
    fill (right, first, n, seen);
    g_assert_cmpmem (views, bytes, right, bytes);
  }
  g_thread_join (thread);
}

/* Rows 2 to 6 and 4 to 9; chunks in turn. The second time there are more views: nothing of the
   first waits for them. */
static void
test_two (gconstpointer data)
{
  const guint n_views = GPOINTER_TO_UINT (data);
  const TdRowRange seen = rank == 0 ? (TdRowRange) { 2, 5 } : (TdRowRange) { 4, 6 };
  g_autoptr (TdGather) gather = make_gather (MPI_COMM_WORLD, n_views, seen);

  g_assert_cmpuint (td_gather_rows (gather).first, ==, 2);
  g_assert_cmpuint (td_gather_rows (gather).count, ==, 8);
  /* Two chunks of its own with all rows, three of others with the rows that it sees. */
  g_assert_cmpuint (td_gather_bytes (gather), ==,
                    (2 * 8 + 3 * seen.count) * CHUNK * COLUMNS * sizeof (float));
  assert_exchange (gather, n_views, (guint) rank, 2, seen);
  g_assert_cmpfloat (td_gather_seconds (gather), >, 0);
}

static void
test_alone (void)
{
  const TdRowRange seen = { 3, 7 };
  g_autoptr (TdGather) gather = make_gather (MPI_COMM_SELF, VIEWS, seen);

  g_assert_cmpuint (td_gather_rows (gather).first, ==, 3);
  g_assert_cmpuint (td_gather_rows (gather).count, ==, 7);
  g_assert_cmpuint (td_gather_bytes (gather), ==, 2 * 7 * CHUNK * COLUMNS * sizeof (float));
  assert_exchange (gather, VIEWS, 0, 1, seen);
  g_assert_cmpfloat (td_gather_seconds (gather), ==, 0);
}

static void
make_and_free (MPI_Comm column)
{
  const TdGatherSpec spec
      = { .column = column, .n_views = 1000, .chunk = 500, .n_columns = 50, .seen = { 0, 10 } };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdGather) gather = td_gather_new (&spec, NULL, &error);

  g_assert_no_error (error);
}

/* Each of its buffers has a megabyte. No sanitizer looks for leaks beside MPI. */
static void
test_leaves_nothing (void)
{
  const MPI_Comm columns[] = { MPI_COMM_SELF, MPI_COMM_WORLD };

  for (guint i = 0; i < G_N_ELEMENTS (columns); i++) {
    make_and_free (columns[i]); /* what MPI keeps is made */
    const struct mallinfo2 before = mallinfo2 ();
    make_and_free (columns[i]);
    const struct mallinfo2 after = mallinfo2 ();
    const gssize more = (gssize) (after.uordblks + after.hblkhd - before.uordblks - before.hblkhd);
    g_test_message ("%" G_GSSIZE_FORMAT " bytes more", more);
    g_assert_cmpint (more, <, 500 * 50 * 10 * sizeof (float) / 2);
  }
}

/* Nobody puts what is waited for. */
static void
test_cancelled (void)
{
  g_autoptr (TdGather) gather = make_gather (MPI_COMM_SELF, VIEWS, (TdRowRange) { 0, 4 });
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  float views[CHUNK * 4 * COLUMNS];

  g_cancellable_cancel (cancellable);
  g_assert_false (td_gather_take (0, CHUNK, views, cancellable, &error, gather));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* The room of five chunks, 128 MiB a chunk at most, eight chunks a rank at least. Even, and two
   views at least. */
static void
test_chunk (void)
{
  static const struct {
    guint64 bytes, view_bytes;
    guint n_views, ranks, chunk;
  } cases[] = {
    { G_MAXUINT64, 1 << 20, 100000, 4, 32 }, /* what is back-projected at once */
    { 5 * 20 << 20, 1 << 20, 100000, 4, 20 }, { (5 * 20 << 20) - 1, 1 << 20, 100000, 4, 18 },
    { G_MAXUINT64, 8 << 20, 100000, 4, 16 },  { G_MAXUINT64, (8 << 20) + 1, 100000, 4, 14 },
    { G_MAXUINT64, 1 << 20, 640, 4, 20 },     { G_MAXUINT64, 1 << 20, 639, 4, 18 },
    { G_MAXUINT64, 1 << 20, 640, 2, 32 },     { 1000, 1 << 20, 640, 2, 2 },
    { G_MAXUINT64, 1 << 20, 3, 2, 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (
        td_gather_chunk (cases[i].bytes, cases[i].view_bytes, cases[i].n_views, cases[i].ranks), ==,
        cases[i].chunk);
}

int
main (int argc, char **argv)
{
  int threads, ranks;

  MPI_Init_thread (&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  g_assert_cmpint (ranks, ==, 2);
  if (rank > 0)
    g_assert_nonnull (freopen ("/dev/null", "w", stdout));
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/gather/two", GUINT_TO_POINTER (VIEWS), test_two);
  g_test_add_data_func ("/gather/two/again", GUINT_TO_POINTER (VIEWS + 5 * CHUNK), test_two);
  g_test_add_func ("/gather/alone", test_alone);
  g_test_add_func ("/gather/leaves-nothing", test_leaves_nothing);
  g_test_add_func ("/gather/cancelled", test_cancelled);
  g_test_add_func ("/gather/chunk", test_chunk);
  const int status = g_test_run ();
  MPI_Finalize ();
  return status;
}
