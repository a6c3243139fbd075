/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reduce.h"

#include <string.h>

#include "compute/device/host.h"
#include "dataset/error.h"
#include "mpi-util.h"

/* Of a segment: large enough for a link's full speed, small enough that many overlap. */
#define SEGMENT_BYTES ((guint64) 16 << 20)
/* Of one that no other rank has a part of: as many as are written at once. */
#define ALONE_BYTES ((guint64) 64 << 20)
/* Segments of this rank in flight, and of others. Where memory allows there are more, since those
   of single slices are written beside each other. */
#define OWN_SEGMENTS 4
#define MOST_OWN_SEGMENTS 12
#define MOST_BYTES ((guint64) 256 << 20)
#define OTHER_SEGMENTS 3
#define IDLE_US 200

typedef struct {
  guint first, count; /* slices */
  guint filled;       /* of them */
  float *mine;        /* NULL: not begun, or let go */
  float *other;       /* chain: what it begins with; tree: what a child sent */
  guint added;        /* children whose sums are in it */
  gboolean receiving, sending, sent, summed, handed, over;
  MPI_Request receive, send;
} Segment;

struct TdReduce {
  TdReduceSpec spec;
  int rank, size;
  guint segment_slices, n_segments;
  Segment *segments;
  GPtrArray *memory; /* all buffers; owned */
  double busy_s;     /* moving and adding segments */
  guint64 received_bytes;

  GMutex lock; /* all below, and the segments but for requests */
  GCond changed;
  GQueue own, others; /* float *: free buffers */
  GQueue sums;        /* GUINT_TO_POINTER (segment): to be written */
  guint next_receive; /* chain */
  gboolean ended;
};

/* ── The tree ── */

static guint
node_members (const TdReduce *reduce, int node, int *members)
{
  guint n = 0;

  for (int i = 0; i < reduce->size; i++)
    if (reduce->spec.nodes[i] == node)
      members[n++] = i;
  return n;
}

/* Who adds up a node's part of segment @k. */
static int
node_leader (const TdReduce *reduce, guint k, int node)
{
  const int owner = (int) (k % (guint) reduce->size);
  g_autofree int *members = g_new (int, reduce->size);
  const guint n = node_members (reduce, node, members);

  return reduce->spec.nodes[owner] == node ? owner : members[k % n];
}

/* To whom this rank sends segment @k; -1: it has the sum. */
static int
reduce_parent (const TdReduce *reduce, guint k)
{
  const int owner = (int) (k % (guint) reduce->size);

  if (reduce->spec.chain)
    return reduce->rank + 1 < reduce->size ? reduce->rank + 1 : -1;
  if (reduce->rank == owner)
    return -1;
  const int leader = node_leader (reduce, k, reduce->spec.nodes[reduce->rank]);
  return reduce->rank == leader ? owner : leader;
}

/* The ranks whose parts of segment @k this one adds, in the order in which it does. */
static guint
reduce_children (const TdReduce *reduce, guint k, int *children)
{
  const int *nodes = reduce->spec.nodes;
  const int owner = (int) (k % (guint) reduce->size), mine = nodes[reduce->rank];
  guint n = 0;

  if (reduce->spec.chain || reduce->rank != node_leader (reduce, k, mine))
    return 0;
  for (int i = 0; i < reduce->size; i++) {
    const gboolean beside = nodes[i] == mine && i != reduce->rank;
    const gboolean leads
        = reduce->rank == owner && nodes[i] != mine && i == node_leader (reduce, k, nodes[i]);
    if (beside || leads)
      children[n++] = i;
  }
  return n;
}

/* ── Life ── */

static void
reduce_add_buffers (TdReduce *reduce, GQueue *queue, guint n)
{
  const gsize bytes = reduce->segment_slices * reduce->spec.slice_floats * sizeof (float);

  for (guint i = 0; i < n; i++) {
    float *buffer = g_malloc (bytes);
    g_ptr_array_add (reduce->memory, buffer);
    g_queue_push_tail (queue, buffer);
  }
}

static guint
reduce_own_segments (const TdReduceSpec *spec, int size)
{
  const guint64 slice = spec->slice_floats * sizeof (float);
  const guint64 room = MIN (spec->memory, MOST_BYTES) / MAX (SEGMENT_BYTES, slice);

  return size == 1 ? OWN_SEGMENTS
                   : (guint) CLAMP (room, OWN_SEGMENTS + OTHER_SEGMENTS,
                                    MOST_OWN_SEGMENTS + OTHER_SEGMENTS)
                         - OTHER_SEGMENTS;
}

/* What waits for the slab that begins with it: two slabs, one of which computes. */
static guint
chain_segments (const TdReduce *reduce)
{
  const guint slab = reduce->spec.chain_slices / reduce->segment_slices + 2;

  return reduce->spec.chain && reduce->rank > 0 ? MIN (2 * slab, reduce->n_segments) : 0;
}

TdReduce *
td_reduce_new (const TdReduceSpec *spec)
{
  TdReduce *reduce = g_new0 (TdReduce, 1);
  const guint64 slice = spec->slice_floats * sizeof (float);
  int size;

  reduce->spec = *spec;
  MPI_Comm_rank (spec->row, &reduce->rank);
  MPI_Comm_size (spec->row, &size);
  reduce->size = size;
  reduce->spec.nodes = g_memdup2 (spec->nodes, (gsize) size * sizeof *spec->nodes);
  const guint own = reduce_own_segments (spec, size);
  const guint64 most
      = MIN (size > 1 ? SEGMENT_BYTES : ALONE_BYTES, spec->memory / (own + OTHER_SEGMENTS));
  /* Each rank owns some segments. */
  const guint shared = MAX (1, spec->n_slices / (4 * (guint) size));
  reduce->segment_slices = (guint) CLAMP (most / slice, 1, shared);
  reduce->n_segments = (spec->n_slices + reduce->segment_slices - 1) / reduce->segment_slices;
  reduce->segments = g_new0 (Segment, reduce->n_segments);
  for (guint k = 0; k < reduce->n_segments; k++) {
    Segment *segment = &reduce->segments[k];
    segment->first = k * reduce->segment_slices;
    segment->count = MIN (reduce->segment_slices, spec->n_slices - segment->first);
    segment->receive = segment->send = MPI_REQUEST_NULL;
  }
  reduce->memory = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&reduce->lock);
  g_cond_init (&reduce->changed);
  reduce_add_buffers (reduce, &reduce->own, MIN (own, reduce->n_segments));
  reduce_add_buffers (reduce, &reduce->others,
                      spec->chain ? chain_segments (reduce)
                      : size > 1  ? MIN (OTHER_SEGMENTS, reduce->n_segments)
                                  : 0);
  return reduce;
}

void
td_reduce_free (TdReduce *reduce)
{
  g_queue_clear (&reduce->own);
  g_queue_clear (&reduce->others);
  g_queue_clear (&reduce->sums);
  g_ptr_array_unref (reduce->memory);
  g_free ((int *) reduce->spec.nodes);
  g_free (reduce->segments);
  g_mutex_clear (&reduce->lock);
  g_cond_clear (&reduce->changed);
  g_free (reduce);
}

guint64
td_reduce_bytes (const TdReduce *reduce)
{
  return (guint64) reduce->memory->len * reduce->segment_slices * reduce->spec.slice_floats
         * sizeof (float);
}

/* Under the lock. */
static void
reduce_wait (TdReduce *reduce)
{
  g_cond_wait_until (&reduce->changed, &reduce->lock, g_get_monotonic_time () + 50000);
}

static void
reduce_changed (TdReduce *reduce)
{
  g_cond_broadcast (&reduce->changed);
}

/* ── The computing side ── */

gboolean
td_reduce_put (TdReduce *reduce, guint first, guint count, const float *slices,
               GCancellable *cancellable, GError **error)
{
  const gsize floats = reduce->spec.slice_floats;

  for (guint done = 0, n; done < count; done += n) {
    Segment *segment = &reduce->segments[(first + done) / reduce->segment_slices];
    const guint at = first + done - segment->first;

    n = MIN (count - done, segment->count - at);
    g_mutex_lock (&reduce->lock);
    while (!segment->mine && g_queue_is_empty (&reduce->own)
           && !g_cancellable_is_cancelled (cancellable))
      reduce_wait (reduce);
    if (!segment->mine && !g_queue_is_empty (&reduce->own))
      segment->mine = g_queue_pop_head (&reduce->own);
    g_mutex_unlock (&reduce->lock);
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    td_host_copy (segment->mine + at * floats, slices + done * floats, n * floats * sizeof (float));
    g_mutex_lock (&reduce->lock);
    segment->filled += n;
    /* What it began with is in it. */
    if (reduce->spec.chain && segment->filled == segment->count && segment->other)
      g_queue_push_tail (&reduce->others, g_steal_pointer (&segment->other));
    reduce_changed (reduce);
    g_mutex_unlock (&reduce->lock);
  }
  return TRUE;
}

gboolean
td_reduce_begin (TdReduce *reduce, guint first, guint count, float *sums, GCancellable *cancellable,
                 GError **error)
{
  const gsize floats = reduce->spec.slice_floats;

  for (guint done = 0, n; done < count; done += n) {
    Segment *segment = &reduce->segments[(first + done) / reduce->segment_slices];
    const guint at = first + done - segment->first;

    n = MIN (count - done, segment->count - at);
    g_mutex_lock (&reduce->lock);
    while (!(segment->other && !segment->receiving) && segment->filled < segment->count
           && !g_cancellable_is_cancelled (cancellable))
      reduce_wait (reduce);
    const gboolean there = segment->other && !segment->receiving;
    if (there)
      memcpy (sums + done * floats, segment->other + at * floats, n * floats * sizeof (float));
    g_mutex_unlock (&reduce->lock);
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    if (!there)
      memset (sums + done * floats, 0, n * floats * sizeof (float));
  }
  return TRUE;
}

/* ── The writing side ── */

gboolean
td_reduce_has (const TdReduce *reduce, guint slice)
{
  return reduce_parent (reduce, slice / reduce->segment_slices) < 0;
}

gboolean
td_reduce_next (TdReduce *reduce, TdReduceSum *sum, GCancellable *cancellable)
{
  gboolean found = FALSE;

  g_mutex_lock (&reduce->lock);
  while (g_queue_is_empty (&reduce->sums) && !reduce->ended
         && !g_cancellable_is_cancelled (cancellable))
    reduce_wait (reduce);
  if (!g_queue_is_empty (&reduce->sums) && !g_cancellable_is_cancelled (cancellable)) {
    const Segment *segment = &reduce->segments[GPOINTER_TO_UINT (g_queue_pop_head (&reduce->sums))];
    *sum = (TdReduceSum) { segment->first, segment->count, segment->mine };
    found = TRUE;
  }
  g_mutex_unlock (&reduce->lock);
  return found;
}

void
td_reduce_written (TdReduce *reduce, const TdReduceSum *sum)
{
  Segment *segment = &reduce->segments[sum->first / reduce->segment_slices];

  g_mutex_lock (&reduce->lock);
  g_queue_push_tail (&reduce->own, g_steal_pointer (&segment->mine));
  segment->over = TRUE;
  reduce_changed (reduce);
  g_mutex_unlock (&reduce->lock);
}

/* ── Exchange ── */

static int
segment_floats (const TdReduce *reduce, const Segment *segment)
{
  return (int) (segment->count * reduce->spec.slice_floats);
}

/* As slices may have more than 2^31 bytes in a segment of one, the count is in floats. */
static gboolean
segment_receive (TdReduce *reduce, Segment *segment, int from, GError **error)
{
  const int tag = (int) ((guint) (segment - reduce->segments) % 32768);

  segment->receiving = TRUE;
  return td_mpi_check (MPI_Irecv (segment->other, segment_floats (reduce, segment), MPI_FLOAT, from,
                                  tag, reduce->spec.row, &segment->receive),
                       error);
}

static gboolean
segment_send (TdReduce *reduce, Segment *segment, int to, GError **error)
{
  const int tag = (int) ((guint) (segment - reduce->segments) % 32768);

  segment->sending = TRUE;
  return td_mpi_check (MPI_Isend (segment->mine, segment_floats (reduce, segment), MPI_FLOAT, to,
                                  tag, reduce->spec.row, &segment->send),
                       error);
}

static void
segment_add (TdReduce *reduce, Segment *segment)
{
  td_host_add (segment->mine, segment->other, (gsize) segment_floats (reduce, segment));
}

/* Posts what comes next for the segment; under the lock. *@busy: something is under way. */
static gboolean
segment_start (TdReduce *reduce, Segment *segment, GError **error)
{
  const guint k = (guint) (segment - reduce->segments);
  const int parent = reduce_parent (reduce, k);
  g_autofree int *children = g_new (int, reduce->size);
  const guint n = reduce_children (reduce, k, children);
  const gboolean whole = segment->filled == segment->count;

  if (segment->added < n && !segment->other && !g_queue_is_empty (&reduce->others)) {
    segment->other = g_queue_pop_head (&reduce->others);
    if (!segment_receive (reduce, segment, children[segment->added], error))
      return FALSE;
  }
  if (!whole || segment->added < n || segment->sending || segment->summed)
    return TRUE;
  if (parent >= 0)
    return segment_send (reduce, segment, parent, error);
  segment->summed = TRUE;
  g_queue_push_tail (&reduce->sums, GUINT_TO_POINTER (k));
  reduce_changed (reduce);
  return TRUE;
}

/* Chain: segments come in their order, as memory gets free. */
static gboolean
chain_receive (TdReduce *reduce, GError **error)
{
  while (reduce->spec.chain && reduce->rank > 0 && reduce->next_receive < reduce->n_segments
         && !g_queue_is_empty (&reduce->others)) {
    Segment *segment = &reduce->segments[reduce->next_receive++];
    segment->other = g_queue_pop_head (&reduce->others);
    if (!segment_receive (reduce, segment, reduce->rank - 1, error))
      return FALSE;
  }
  return TRUE;
}

/* What has come or gone; called without the lock. */
static gboolean
segment_test (TdReduce *reduce, Segment *segment, gboolean *moved, GError **error)
{
  int done = 0;

  if (segment->receive != MPI_REQUEST_NULL) {
    if (!td_mpi_check (MPI_Test (&segment->receive, &done, MPI_STATUS_IGNORE), error))
      return FALSE;
    if (done) {
      reduce->received_bytes += (guint64) segment_floats (reduce, segment) * sizeof (float);
      g_mutex_lock (&reduce->lock);
      segment->receiving = FALSE;
      reduce_changed (reduce);
      g_mutex_unlock (&reduce->lock);
      *moved = TRUE;
    }
  }
  if (segment->send != MPI_REQUEST_NULL) {
    if (!td_mpi_check (MPI_Test (&segment->send, &done, MPI_STATUS_IGNORE), error))
      return FALSE;
    if (done) {
      g_mutex_lock (&reduce->lock);
      g_queue_push_tail (&reduce->own, g_steal_pointer (&segment->mine));
      segment->over = TRUE;
      reduce_changed (reduce);
      g_mutex_unlock (&reduce->lock);
      *moved = TRUE;
    }
  }
  g_mutex_lock (&reduce->lock);
  const gboolean add = !reduce->spec.chain && segment->other && !segment->receiving
                       && segment->filled == segment->count;
  g_mutex_unlock (&reduce->lock);
  if (!add)
    return TRUE;
  segment_add (reduce, segment);
  g_mutex_lock (&reduce->lock);
  segment->added++;
  g_queue_push_tail (&reduce->others, g_steal_pointer (&segment->other));
  g_mutex_unlock (&reduce->lock);
  return *moved = TRUE;
}

gboolean
td_reduce_run (TdReduce *reduce, GCancellable *cancellable, GError **error)
{
  gboolean ok = TRUE;
  guint first = 0; /* the first segment that is not over */
  gint64 moved_us = 0;

  while (ok && first < reduce->n_segments) {
    /* More than these cannot be in memory. */
    const guint end = MIN (reduce->n_segments, first + reduce->memory->len + 2);
    const gint64 start = g_get_monotonic_time ();
    gboolean moved = FALSE;

    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
    g_mutex_lock (&reduce->lock);
    ok = ok && chain_receive (reduce, error);
    for (guint k = first; ok && k < end; k++)
      ok = reduce->segments[k].over || segment_start (reduce, &reduce->segments[k], error);
    g_mutex_unlock (&reduce->lock);
    for (guint k = first; ok && k < end; k++)
      ok = segment_test (reduce, &reduce->segments[k], &moved, error);
    g_mutex_lock (&reduce->lock);
    while (first < reduce->n_segments && reduce->segments[first].over)
      first++;
    g_mutex_unlock (&reduce->lock);
    if (moved && reduce->size > 1)
      reduce->busy_s += (g_get_monotonic_time () - start) * 1e-6;
    if (moved)
      moved_us = g_get_monotonic_time ();
    else
      td_mpi_pause (moved_us, IDLE_US);
  }
  g_mutex_lock (&reduce->lock);
  reduce->ended = TRUE;
  reduce_changed (reduce);
  g_mutex_unlock (&reduce->lock);
  return ok;
}

void
td_reduce_report (const TdReduce *reduce, double *busy_s, guint64 *bytes)
{
  *busy_s = reduce->busy_s;
  *bytes = reduce->received_bytes;
}
