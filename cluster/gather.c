/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gather.h"

#include <string.h>

#include "compute/device/host.h"
#include "grid.h"
#include "mpi-util.h"

/* Chunks of this rank that are filtered and on their way, and of others that are coming. */
#define OWN_CHUNKS 2
#define OTHER_CHUNKS 3
#define MOST_CHUNK_BYTES ((guint64) 128 << 20)
/* Chunks of a rank at least, so that its threads overlap. */
#define LEAST_CHUNKS 8
#define IDLE_US 100

/* A chunk that this rank filtered. */
typedef struct {
  float *views; /* [view][td_gather_rows()][column] */
  guint chunk, count;
  gboolean full, taken, sending;
  MPI_Request *requests; /* [rank][view of a chunk] */
} Own;

/* A chunk that another rank filtered. */
typedef struct {
  float *views; /* [view][seen][column] */
  guint chunk;
  gboolean posted;
  MPI_Request *requests; /* [view of a chunk] */
} Other;

struct TdGather {
  TdGatherSpec spec;
  int rank, size;
  TdRowRange rows;
  TdRowRange *seen; /* [rank] */
  guint n_chunks;
  Own own[OWN_CHUNKS];
  Other others[OTHER_CHUNKS];
  guint next_post; /* the first chunk that no receive was posted for */

  GMutex lock; /* all above but for what does not change, and all below */
  guint on_the_way;
  gint64 moved_us; /* when something left or came */
  double busy_s;   /* of this rank's threads: moving views */
};

/* Under the lock. Waiting for the stages beside it is no work of the gathering. */
static void
gather_count (TdGather *gather, gint64 since_us)
{
  gather->busy_s += (g_get_monotonic_time () - since_us) * 1e-6;
}

static gsize
gather_view_floats (const TdGather *gather, TdRowRange rows)
{
  return (gsize) rows.count * gather->spec.n_columns;
}

static guint
gather_chunk_views (const TdGather *gather, guint chunk)
{
  return MIN (gather->spec.chunk, gather->spec.n_views - chunk * gather->spec.chunk);
}

guint
td_gather_chunk (guint64 bytes, guint64 view_bytes, guint n_views, guint ranks)
{
  const guint64 room = MIN (bytes / (OWN_CHUNKS + OTHER_CHUNKS), MOST_CHUNK_BYTES) / view_bytes;
  const guint some = n_views / (LEAST_CHUNKS * ranks);

  return MAX (2, (guint) MIN (MIN (room, TD_GRID_BATCH), some) / 2 * 2);
}

/* ── Life ── */

static MPI_Request *
gather_make_requests (gsize n)
{
  MPI_Request *requests = g_new (MPI_Request, n);

  for (gsize i = 0; i < n; i++)
    requests[i] = MPI_REQUEST_NULL;
  return requests;
}

static void
gather_make_buffers (TdGather *gather)
{
  const gsize chunk = gather->spec.chunk * sizeof (float);

  for (guint i = 0; i < OWN_CHUNKS; i++) {
    gather->own[i].views = g_malloc (chunk * gather_view_floats (gather, gather->rows));
    gather->own[i].requests = gather_make_requests ((gsize) gather->size * gather->spec.chunk);
  }
  for (guint i = 0; i < OTHER_CHUNKS && gather->size > 1; i++) {
    gather->others[i].views = g_malloc (chunk * gather_view_floats (gather, gather->spec.seen));
    gather->others[i].requests = gather_make_requests (gather->spec.chunk);
  }
}

TdGather *
td_gather_new (const TdGatherSpec *spec, GCancellable *cancellable, GError **error)
{
  TdGather *gather = g_new0 (TdGather, 1);
  MPI_Request request;

  gather->spec = *spec;
  MPI_Comm_rank (spec->column, &gather->rank);
  MPI_Comm_size (spec->column, &gather->size);
  gather->seen = g_new0 (TdRowRange, gather->size);
  gather->n_chunks = (spec->n_views + spec->chunk - 1) / spec->chunk;
  g_mutex_init (&gather->lock);
  /* Without success the memory stays: something may still be on its way into it. */
  if (!td_mpi_check (MPI_Iallgather (&spec->seen, sizeof spec->seen, MPI_BYTE, gather->seen,
                                     sizeof *gather->seen, MPI_BYTE, spec->column, &request),
                     error)
      || !td_mpi_await (&request, IDLE_US, cancellable, error))
    return NULL;
  guint first = G_MAXUINT, end = 0;
  for (int r = 0; r < gather->size; r++) {
    first = MIN (first, gather->seen[r].first);
    end = MAX (end, gather->seen[r].first + gather->seen[r].count);
  }
  gather->rows = (TdRowRange) { first, end - first };
  gather_make_buffers (gather);
  return gather;
}

void
td_gather_free (TdGather *gather)
{
  for (guint i = 0; i < OWN_CHUNKS; i++) {
    g_free (gather->own[i].views);
    g_free (gather->own[i].requests);
  }
  for (guint i = 0; i < OTHER_CHUNKS; i++) {
    g_free (gather->others[i].views);
    g_free (gather->others[i].requests);
  }
  g_free (gather->seen);
  g_mutex_clear (&gather->lock);
  g_free (gather);
}

TdRowRange
td_gather_rows (const TdGather *gather)
{
  return gather->rows;
}

double
td_gather_seconds (const TdGather *gather)
{
  return gather->size > 1 ? gather->busy_s : 0;
}

guint64
td_gather_bytes (const TdGather *gather)
{
  const guint64 own = OWN_CHUNKS * gather_view_floats (gather, gather->rows);
  const guint64 others
      = gather->size > 1 ? OTHER_CHUNKS * gather_view_floats (gather, gather->spec.seen) : 0;

  return (own + others) * gather->spec.chunk * sizeof (float);
}

/* ── Sending; under the lock ── */

static int
gather_tag (guint chunk)
{
  return (int) (chunk % 32768);
}

/* The rows that @to sees of the chunk's views, a message a view. What lies in one piece is copied
   from process to process at once. */
static gboolean
gather_send (TdGather *gather, Own *own, int to, GError **error)
{
  const TdRowRange seen = gather->seen[to];
  const float *from
      = own->views + (gsize) (seen.first - gather->rows.first) * gather->spec.n_columns;
  MPI_Request *requests = own->requests + (gsize) to * gather->spec.chunk;
  gboolean ok = TRUE;

  for (guint view = 0; ok && view < own->count; view++)
    ok = td_mpi_check (MPI_Isend (from + view * gather_view_floats (gather, gather->rows),
                                  (int) gather_view_floats (gather, seen), MPI_FLOAT, to,
                                  gather_tag (own->chunk), gather->spec.column, &requests[view]),
                       error);
  return ok;
}

static gboolean
gather_send_all (TdGather *gather, Own *own, GError **error)
{
  own->sending = TRUE;
  gather->on_the_way++;
  for (int r = 0; r < gather->size; r++)
    if (r != gather->rank && !gather_send (gather, own, r, error))
      return FALSE;
  return TRUE;
}

/* What has left. */
static gboolean
gather_test_sent (TdGather *gather, GError **error)
{
  const gint64 start = g_get_monotonic_time ();

  for (guint i = 0; i < OWN_CHUNKS; i++) {
    Own *own = &gather->own[i];
    int done = 0;
    if (!own->sending)
      continue;
    if (!td_mpi_check (MPI_Testall (gather->size * (int) gather->spec.chunk, own->requests, &done,
                                    MPI_STATUSES_IGNORE),
                       error))
      return FALSE;
    if (!done)
      continue;
    own->sending = FALSE;
    gather->on_the_way--;
    gather->moved_us = g_get_monotonic_time ();
  }
  gather_count (gather, start);
  return TRUE;
}

/* Waits a little, without the lock. FALSE: cancelled. */
static gboolean
gather_pause (TdGather *gather, GCancellable *cancellable, GError **error)
{
  const gint64 moved_us = gather->moved_us;

  g_mutex_unlock (&gather->lock);
  td_mpi_pause (moved_us, IDLE_US);
  g_mutex_lock (&gather->lock);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

gboolean
td_gather_put (guint first, guint count, const float *views, GCancellable *cancellable,
               GError **error, gpointer user)
{
  TdGather *gather = user;
  const guint chunk = first / gather->spec.chunk;
  Own *own = &gather->own[chunk / (guint) gather->size % OWN_CHUNKS];
  gboolean ok = TRUE;

  g_mutex_lock (&gather->lock);
  while ((ok = ok && gather_test_sent (gather, error)) && own->full
         && (own->sending || !own->taken))
    ok = gather_pause (gather, cancellable, error);
  if (ok)
    own->full = FALSE;
  g_mutex_unlock (&gather->lock);
  if (!ok)
    return FALSE;
  const gint64 start = g_get_monotonic_time ();
  td_host_copy (own->views, views,
                count * gather_view_floats (gather, gather->rows) * sizeof (float));
  g_mutex_lock (&gather->lock);
  own->chunk = chunk;
  own->count = count;
  own->full = TRUE;
  own->taken = FALSE;
  ok = gather_send_all (gather, own, error);
  gather_count (gather, start);
  g_mutex_unlock (&gather->lock);
  return ok;
}

gboolean
td_gather_finish (TdGather *gather, GCancellable *cancellable, GError **error)
{
  gboolean ok = TRUE;

  g_mutex_lock (&gather->lock);
  while ((ok = ok && gather_test_sent (gather, error)) && gather->on_the_way > 0)
    ok = gather_pause (gather, cancellable, error);
  g_mutex_unlock (&gather->lock);
  return ok;
}

/* ── Taking ── */

/* Receives for the next chunks of others, as far as there are buffers; under the lock. */
static gboolean
gather_post (TdGather *gather, GError **error)
{
  for (; gather->next_post < gather->n_chunks; gather->next_post++) {
    const guint chunk = gather->next_post;
    const int from = (int) (chunk % (guint) gather->size);
    Other *room = NULL;

    if (from == gather->rank)
      continue;
    for (guint i = 0; i < OTHER_CHUNKS && !room; i++)
      room = gather->others[i].posted ? NULL : &gather->others[i];
    if (!room)
      return TRUE;
    const gsize floats = gather_view_floats (gather, gather->spec.seen);
    room->posted = TRUE;
    room->chunk = chunk;
    for (guint view = 0; view < gather_chunk_views (gather, chunk); view++)
      if (!td_mpi_check (MPI_Irecv (room->views + view * floats, (int) floats, MPI_FLOAT, from,
                                    gather_tag (chunk), gather->spec.column, &room->requests[view]),
                         error))
        return FALSE;
  }
  return TRUE;
}

static Other *
gather_find (TdGather *gather, guint chunk)
{
  for (guint i = 0; i < OTHER_CHUNKS; i++)
    if (gather->others[i].posted && gather->others[i].chunk == chunk)
      return &gather->others[i];
  return NULL;
}

static gboolean
gather_take_other (TdGather *gather, guint chunk, float *views, GCancellable *cancellable,
                   GError **error)
{
  const gsize floats
      = gather_chunk_views (gather, chunk) * gather_view_floats (gather, gather->spec.seen);
  int done = 0;

  g_mutex_lock (&gather->lock);
  gboolean ok = gather_post (gather, error);
  Other *other = ok ? gather_find (gather, chunk) : NULL;
  while (ok && !done) {
    ok = gather_test_sent (gather, error);
    const gint64 tested = g_get_monotonic_time ();
    ok = ok
         && td_mpi_check (
             MPI_Testall ((int) gather->spec.chunk, other->requests, &done, MPI_STATUSES_IGNORE),
             error);
    gather_count (gather, tested);
    if (done)
      gather->moved_us = g_get_monotonic_time ();
    ok = ok && (done || gather_pause (gather, cancellable, error));
  }
  g_mutex_unlock (&gather->lock);
  if (!ok)
    return FALSE;
  const gint64 start = g_get_monotonic_time ();
  td_host_copy (views, other->views, floats * sizeof (float));
  g_mutex_lock (&gather->lock);
  other->posted = FALSE;
  ok = gather_post (gather, error);
  gather_count (gather, start);
  g_mutex_unlock (&gather->lock);
  return ok;
}

static gboolean
gather_take_own (TdGather *gather, guint chunk, float *views, GCancellable *cancellable,
                 GError **error)
{
  Own *own = &gather->own[chunk / (guint) gather->size % OWN_CHUNKS];
  const gsize seen = gather_view_floats (gather, gather->spec.seen);
  const gsize all = gather_view_floats (gather, gather->rows);
  const float *from
      = own->views
        + (gsize) (gather->spec.seen.first - gather->rows.first) * gather->spec.n_columns;
  gboolean ok = TRUE;

  g_mutex_lock (&gather->lock);
  while (ok && !(own->full && own->chunk == chunk))
    ok = gather_test_sent (gather, error) && gather_pause (gather, cancellable, error);
  g_mutex_unlock (&gather->lock);
  if (!ok)
    return FALSE;
  for (guint view = 0; view < own->count; view++)
    memcpy (views + view * seen, from + view * all, seen * sizeof (float));
  g_mutex_lock (&gather->lock);
  own->taken = TRUE;
  g_mutex_unlock (&gather->lock);
  return TRUE;
}

gboolean
td_gather_take (guint first, guint count, float *views, GCancellable *cancellable, GError **error,
                gpointer user)
{
  TdGather *gather = user;
  const guint chunk = first / gather->spec.chunk;

  g_return_val_if_fail (count == gather_chunk_views (gather, chunk), FALSE);
  return (chunk % (guint) gather->size == (guint) gather->rank
              ? gather_take_own
              : gather_take_other) (gather, chunk, views, cancellable, error);
}
