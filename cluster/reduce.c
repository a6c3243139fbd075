/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reduce.h"

#include "compute/device/host.h"
#include "mpi-util.h"
#include "node-memory.h"

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
  float *other;       /* what a child sent */
  const float *shown; /* what a child of this node shows in its own memory */
  int place;          /* of what is shown, among the child's buffers */
  guint added;        /* children whose sums are in it */
  gboolean receiving, sending, summed, over;
  MPI_Request receive, send;
} Segment;

struct TdReduce {
  TdReduceSpec spec;
  int rank, size;
  guint segment_slices, n_segments;
  Segment *segments;
  TdNodeMemory shared; /* the buffers of this rank, which those of its node read */
  GPtrArray *memory;   /* buffers of this rank alone; owned */
  guint n_buffers;     /* with those that are shared */
  double busy_s;       /* moving and adding segments */

  GMutex lock; /* all below, and the segments but for requests */
  GCond changed;
  GQueue own, others; /* float *: free buffers */
  GQueue sums;        /* GUINT_TO_POINTER (segment): to be written */
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

  if (reduce->rank != node_leader (reduce, k, mine))
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

/* ── Memory of a node ── */

/* Whether @other's buffers are read where they lie. */
static gboolean
reduce_reads (const TdReduce *reduce, int other)
{
  return td_node_memory_of (&reduce->shared, other) != NULL;
}

/* ── Life ── */

static gsize
reduce_buffer_floats (const TdReduce *reduce)
{
  return reduce->segment_slices * reduce->spec.slice_floats;
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

TdReduce *
td_reduce_new (const TdReduceSpec *spec)
{
  TdReduce *reduce = g_new0 (TdReduce, 1);
  const guint64 slice = spec->slice_floats * sizeof (float);
  int size;

  reduce->spec = *spec;
  reduce->shared = TD_NODE_MEMORY_NONE;
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
  const guint n_own = MIN (own, reduce->n_segments);
  if (size > 1)
    td_node_memory_open (&reduce->shared, spec->row, spec->nodes, n_own,
                         reduce_buffer_floats (reduce));
  td_mpi_add_buffers (&reduce->own, n_own, reduce_buffer_floats (reduce),
                      reduce->shared.bases ? reduce->shared.own : NULL, reduce->memory);
  td_mpi_add_buffers (&reduce->others, size > 1 ? MIN (OTHER_SEGMENTS, reduce->n_segments) : 0,
                      reduce_buffer_floats (reduce), NULL, reduce->memory);
  reduce->n_buffers = reduce->own.length + reduce->others.length;
  return reduce;
}

void
td_reduce_free (TdReduce *reduce)
{
  g_queue_clear (&reduce->own);
  g_queue_clear (&reduce->others);
  g_queue_clear (&reduce->sums);
  g_ptr_array_unref (reduce->memory);
  td_node_memory_close (&reduce->shared);
  g_free ((int *) reduce->spec.nodes);
  g_free (reduce->segments);
  g_mutex_clear (&reduce->lock);
  g_cond_clear (&reduce->changed);
  g_free (reduce);
}

guint64
td_reduce_bytes (const TdReduce *reduce)
{
  return (guint64) reduce->n_buffers * reduce_buffer_floats (reduce) * sizeof (float);
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
    reduce_changed (reduce);
    g_mutex_unlock (&reduce->lock);
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

static void
segment_let_go (TdReduce *reduce, Segment *segment)
{
  g_mutex_lock (&reduce->lock);
  g_queue_push_tail (&reduce->own, g_steal_pointer (&segment->mine));
  segment->over = TRUE;
  reduce_changed (reduce);
  g_mutex_unlock (&reduce->lock);
}

void
td_reduce_written (TdReduce *reduce, const TdReduceSum *sum)
{
  segment_let_go (reduce, &reduce->segments[sum->first / reduce->segment_slices]);
}

/* ── Exchange ── */

static int
segment_floats (const TdReduce *reduce, const Segment *segment)
{
  return (int) (segment->count * reduce->spec.slice_floats);
}

static int
segment_tag (const TdReduce *reduce, const Segment *segment)
{
  return (int) ((guint) (segment - reduce->segments) % 32768);
}

/* As slices may have more than 2^31 bytes in a segment of one, the count is in floats. */
static gboolean
segment_receive (TdReduce *reduce, Segment *segment, int from, GError **error)
{
  segment->receiving = TRUE;
  return td_mpi_check (MPI_Irecv (segment->other, segment_floats (reduce, segment), MPI_FLOAT, from,
                                  segment_tag (reduce, segment), reduce->spec.row,
                                  &segment->receive),
                       error);
}

static gboolean
segment_send (TdReduce *reduce, Segment *segment, int to, GError **error)
{
  segment->sending = TRUE;
  return td_mpi_check (MPI_Isend (segment->mine, segment_floats (reduce, segment), MPI_FLOAT, to,
                                  segment_tag (reduce, segment), reduce->spec.row, &segment->send),
                       error);
}

/* Within a node a rank only says where a segment lies. Its buffer is free once the other rank has
   read it, and has said so. */
static gboolean
segment_show (TdReduce *reduce, Segment *segment, int to, GError **error)
{
  const int tag = segment_tag (reduce, segment);

  segment->sending = TRUE;
  segment->place = td_node_memory_show (&reduce->shared, segment->mine);
  return td_mpi_check (MPI_Irecv (NULL, 0, MPI_INT, to, tag, reduce->spec.row, &segment->receive),
                       error)
         && td_mpi_check (
             MPI_Isend (&segment->place, 1, MPI_INT, to, tag, reduce->spec.row, &segment->send),
             error);
}

static gboolean
segment_look (TdReduce *reduce, Segment *segment, int at, GError **error)
{
  segment->receiving = TRUE;
  return td_mpi_check (MPI_Irecv (&segment->place, 1, MPI_INT, at, segment_tag (reduce, segment),
                                  reduce->spec.row, &segment->receive),
                       error);
}

/* Whose part comes next. */
static int
segment_child (const TdReduce *reduce, const Segment *segment)
{
  g_autofree int *children = g_new (int, reduce->size);

  reduce_children (reduce, (guint) (segment - reduce->segments), children);
  return children[segment->added];
}

/* Adds the next child's part, and gives back its memory. */
static gboolean
segment_add (TdReduce *reduce, Segment *segment, GError **error)
{
  const float *part = segment->shown ? segment->shown : segment->other;

  td_host_add (segment->mine, part, (gsize) segment_floats (reduce, segment));
  if (!segment->shown)
    return TRUE;
  /* The child waits for it already, so that this does not. */
  return td_mpi_check (MPI_Send (NULL, 0, MPI_INT, segment_child (reduce, segment),
                                 segment_tag (reduce, segment), reduce->spec.row),
                       error);
}

/* Posts what comes next for the segment; under the lock. */
static gboolean
segment_start (TdReduce *reduce, Segment *segment, GError **error)
{
  const guint k = (guint) (segment - reduce->segments);
  const int parent = reduce_parent (reduce, k);
  g_autofree int *children = g_new (int, reduce->size);
  const guint n = reduce_children (reduce, k, children);
  const gboolean whole = segment->filled == segment->count;

  if (segment->added < n && !segment->other && !segment->shown && !segment->receiving) {
    const int child = children[segment->added];
    if (reduce_reads (reduce, child)) {
      if (!segment_look (reduce, segment, child, error))
        return FALSE;
    } else if (!g_queue_is_empty (&reduce->others)) {
      segment->other = g_queue_pop_head (&reduce->others);
      if (!segment_receive (reduce, segment, child, error))
        return FALSE;
    }
  }
  if (!whole || segment->added < n || segment->sending || segment->summed)
    return TRUE;
  if (parent >= 0)
    return (reduce_reads (reduce, parent) ? segment_show : segment_send) (reduce, segment, parent,
                                                                          error);
  segment->summed = TRUE;
  g_queue_push_tail (&reduce->sums, GUINT_TO_POINTER (k));
  reduce_changed (reduce);
  return TRUE;
}

/* What a rank's request brought; called without the lock. */
static void
segment_came (TdReduce *reduce, Segment *segment)
{
  g_mutex_lock (&reduce->lock);
  if (segment->receiving && !segment->other) /* of this node */
    segment->shown
        = td_node_memory_look (&reduce->shared, segment_child (reduce, segment), segment->place);
  segment->receiving = FALSE;
  reduce_changed (reduce);
  g_mutex_unlock (&reduce->lock);
}

/* What has come or gone; called without the lock. */
static gboolean
segment_test (TdReduce *reduce, Segment *segment, gboolean *moved, GError **error)
{
  MPI_Request *requests[] = { &segment->receive, &segment->send };

  for (guint i = 0; i < G_N_ELEMENTS (requests); i++) {
    int done = 0;
    if (*requests[i] == MPI_REQUEST_NULL)
      continue;
    if (!td_mpi_check (MPI_Test (requests[i], &done, MPI_STATUS_IGNORE), error))
      return FALSE;
    if (!done)
      continue;
    *moved = TRUE;
    if (i == 0)
      segment_came (reduce, segment);
    /* What was sent has gone; what was shown has been read, too. */
    if (segment->sending && segment->receive == MPI_REQUEST_NULL
        && segment->send == MPI_REQUEST_NULL)
      segment_let_go (reduce, segment);
  }
  g_mutex_lock (&reduce->lock);
  const gboolean add = (segment->other || segment->shown) && !segment->receiving
                       && segment->filled == segment->count;
  g_mutex_unlock (&reduce->lock);
  if (!add)
    return TRUE;
  if (!segment_add (reduce, segment, error))
    return FALSE;
  g_mutex_lock (&reduce->lock);
  segment->added++;
  segment->shown = NULL;
  if (segment->other)
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
    const guint end = MIN (reduce->n_segments, first + reduce->n_buffers + 2);
    const gint64 start = g_get_monotonic_time ();
    gboolean moved = FALSE;

    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
    g_mutex_lock (&reduce->lock);
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

gboolean
td_reduce_finish (const TdReduce *reduce, GCancellable *cancellable, GError **error)
{
  return td_node_memory_meet (&reduce->shared, cancellable, error);
}

double
td_reduce_seconds (const TdReduce *reduce)
{
  return reduce->busy_s;
}
