/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "chain.h"

#include <string.h>

#include "compute/device/host.h"
#include "mpi-util.h"
#include "node-memory.h"

/* Of a piece: large enough for a link's full speed. */
#define PIECE_BYTES ((guint64) 16 << 20)
/* Pieces to be sent that wait, besides one of each band that its slab does not complete. */
#define WAITING 8
#define IDLE_US 200
/* Of a piece, that a thread copies. */
#define STRIP_BYTES ((gsize) 64 << 10)

/* A band of a few slices, float [count][rows][nx]. */
typedef struct {
  guint first, count; /* slices */
  TdRowRange rows;
  guint passed;        /* slices that have this rank's views, from the first on */
  gboolean asked;      /* for what it begins with */
  float *received;     /* that, if it is sent; NULL once it is let go */
  int place;           /* or where it lies within the node, as what buffer of the rank before */
  const float *before; /* it is there, until it is let go */
  gboolean owes;       /* within the node: it is let go, which the rank before is to be told */
  float *mine;         /* for the next rank */
  int mine_place;
  gboolean came, gone, sent, over; /* came, gone: the communicating thread's */
  MPI_Request receive, send, read; /* read: within the node, by the next rank */
} Piece;

struct TdChain {
  TdChainSpec spec;
  int rank, size;
  guint groups;           /* of slices, in each slab */
  guint n_pieces, window; /* how many may be under way */
  Piece *pieces;          /* [slab][group][band] */
  gsize piece_floats;     /* at most */
  GPtrArray *memory;      /* of this rank alone; owned */
  TdNodeMemory shared;    /* what the next rank reads */
  guint n_buffers;        /* in both */
  double busy_s;

  GMutex lock; /* all below, and the pieces but for requests */
  GCond changed;
  /* float *: free buffers, those first that were in use last: what nothing needs is never touched
   */
  GQueue to_receive, to_send;
};

/* ── Life ── */

static gsize
chain_slice_floats (const TdChain *chain)
{
  return (gsize) chain->spec.ny * chain->spec.nx;
}

/* Whether this rank reads what the one before it has, and the next one what this one has. */
static gboolean
chain_reads (const TdChain *chain)
{
  return !td_chain_is_first (chain) && td_node_memory_of (&chain->shared, chain->rank - 1);
}

static gboolean
chain_shows (const TdChain *chain)
{
  return !td_chain_is_last (chain) && td_node_memory_of (&chain->shared, chain->rank + 1);
}

/* What waits between two ranks lies with the second or, within a node, with the first. */
static void
chain_take_memory (TdChain *chain)
{
  const TdChainSpec *spec = &chain->spec;
  const gboolean last = td_chain_is_last (chain);
  const gboolean beside = !last && spec->nodes[chain->rank] == spec->nodes[chain->rank + 1];

  chain->shared = TD_NODE_MEMORY_NONE;
  td_node_memory_open (&chain->shared, spec->row, spec->nodes, beside ? chain->window : 0,
                       chain->piece_floats);
  if (!td_chain_is_first (chain) && !chain_reads (chain))
    td_mpi_add_buffers (&chain->to_receive, chain->window, chain->piece_floats, NULL,
                        chain->memory);
  if (!last && chain_shows (chain))
    td_mpi_add_buffers (&chain->to_send, chain->window, chain->piece_floats, chain->shared.own,
                        NULL);
  else if (!last)
    td_mpi_add_buffers (&chain->to_send, MIN (spec->bands + WAITING, chain->n_pieces),
                        chain->piece_floats, NULL, chain->memory);
  chain->n_buffers = chain->to_receive.length + chain->to_send.length;
}

/* What all ranks must have alike: the most that any wants. A rank whose slabs are larger than the
   next one's thus finds room for all that it sends. */
static gboolean
chain_agree (TdChain *chain, GCancellable *cancellable, GError **error)
{
  TdChainSpec *spec = &chain->spec;
  const guint own[2] = { MIN (spec->bands, spec->ny), MIN (spec->slab_slices, spec->n_slices) };
  guint *all = g_new (guint, 2 * chain->size);
  MPI_Request request;

  memcpy (all + 2 * chain->rank, own, sizeof own);
  MPI_Iallgather (MPI_IN_PLACE, 2, MPI_UNSIGNED, all, 2, MPI_UNSIGNED, spec->row, &request);
  if (!td_mpi_await (&request, IDLE_US, cancellable, error))
    return FALSE;
  spec->bands = spec->slab_slices = 1;
  for (int i = 0; i < chain->size; i++) {
    spec->bands = MAX (spec->bands, all[2 * i]);
    spec->slab_slices = MAX (spec->slab_slices, all[2 * i + 1]);
  }
  g_free (all);
  return TRUE;
}

/* Groups begin where slabs do, so that a slab completes its pieces. */
static guint
chain_group_of (const TdChain *chain, guint slice)
{
  const guint slab = chain->spec.slab_slices;

  return slice / slab * chain->groups + (slice % slab * chain->groups + chain->groups - 1) / slab;
}

static guint
chain_group_first (const TdChain *chain, guint group)
{
  const guint slab = chain->spec.slab_slices;

  return group / chain->groups * slab + slab * (group % chain->groups) / chain->groups;
}

static void
chain_cut (TdChain *chain)
{
  const TdChainSpec *spec = &chain->spec;
  const guint waiting = spec->bands + WAITING, most_rows = (spec->ny - 1) / spec->bands + 1;
  const guint64 band = (guint64) most_rows * spec->nx * sizeof (float);
  const guint64 most = MIN (PIECE_BYTES, spec->memory / waiting) / band;

  chain->groups = (spec->slab_slices - 1) / (guint) CLAMP (most, 1, spec->slab_slices) + 1;
  chain->piece_floats = ((spec->slab_slices - 1) / chain->groups + 1) * band / sizeof (float);
  chain->n_pieces = (chain_group_of (chain, spec->n_slices - 1) + 1) * spec->bands;
  chain->window = MIN (chain->n_pieces, (2 * chain->groups + 2) * spec->bands);
  chain->pieces = g_new0 (Piece, chain->n_pieces);
  for (guint k = 0; k < chain->n_pieces; k++) {
    Piece *piece = &chain->pieces[k];
    const guint group = k / spec->bands, i = k % spec->bands;
    const guint end = MIN (chain_group_first (chain, group + 1), spec->n_slices);
    piece->first = chain_group_first (chain, group);
    piece->count = end - piece->first;
    piece->rows.first = spec->ny * i / spec->bands;
    piece->rows.count = spec->ny * (i + 1) / spec->bands - piece->rows.first;
    piece->receive = piece->send = piece->read = MPI_REQUEST_NULL;
  }
}

TdChain *
td_chain_new (const TdChainSpec *spec, GCancellable *cancellable, GError **error)
{
  TdChain *chain = g_new0 (TdChain, 1);

  chain->spec = *spec;
  MPI_Comm_rank (spec->row, &chain->rank);
  MPI_Comm_size (spec->row, &chain->size);
  chain->memory = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&chain->lock);
  g_cond_init (&chain->changed);
  if (!chain_agree (chain, cancellable, error))
    return NULL; /* memory stays, into which something may come: the process ends */
  chain_cut (chain);
  chain_take_memory (chain);
  return chain;
}

void
td_chain_free (TdChain *chain)
{
  g_queue_clear (&chain->to_receive);
  g_queue_clear (&chain->to_send);
  g_ptr_array_unref (chain->memory);
  td_node_memory_close (&chain->shared);
  g_free (chain->pieces);
  g_mutex_clear (&chain->lock);
  g_cond_clear (&chain->changed);
  g_free (chain);
}

gboolean
td_chain_is_first (const TdChain *chain)
{
  return chain->rank == 0;
}

gboolean
td_chain_is_last (const TdChain *chain)
{
  return chain->rank == chain->size - 1;
}

guint
td_chain_bands (const TdChain *chain)
{
  return chain->spec.bands;
}

guint64
td_chain_bytes (const TdChain *chain)
{
  return (guint64) chain->n_buffers * chain->piece_floats * sizeof (float);
}

/* ── The computing side ── */

/* Slices [at, at + n) of a piece and rows [row, row + n_rows) of its band. */
typedef struct {
  Piece *piece;
  guint at, n, row, n_rows;
  float *slices; /* the first of these rows, among whole slices */
} Part;

typedef gboolean (*ChainVisit) (TdChain *chain, const Part *part, GCancellable *cancellable,
                                GError **error);

/* Visits the parts of all pieces that the rows of the slices have a part of. */
static gboolean
chain_visit (TdChain *chain, Part all, ChainVisit visit, GCancellable *cancellable, GError **error)
{
  const TdChainSpec *spec = &chain->spec;

  for (guint done = 0, n; done < all.n; done += n) {
    const guint slice = all.at + done;
    Piece *group = &chain->pieces[chain_group_of (chain, slice) * spec->bands];
    const guint at = slice - group->first;
    n = MIN (all.n - done, group->count - at);
    for (guint y = all.row, n_rows; y < all.row + all.n_rows; y += n_rows) {
      const guint band = ((y + 1) * spec->bands - 1) / spec->ny;
      Piece *piece = &group[band];
      const guint row = y - piece->rows.first;
      n_rows = MIN (all.row + all.n_rows - y, piece->rows.count - row);
      const Part part = {
        piece, at,     n,
        row,   n_rows, all.slices + done * chain_slice_floats (chain) + (gsize) y * spec->nx
      };
      if (!visit (chain, &part, cancellable, error))
        return FALSE;
    }
  }
  return TRUE;
}

/* Under the lock. */
static void
chain_wait (TdChain *chain)
{
  g_cond_wait_until (&chain->changed, &chain->lock, g_get_monotonic_time () + 50000);
}

/* Copies rows of slices: from @begins what the part begins with; else into @mine. Both NULL: the
   rows become 0. Each thread has some rows, since a piece may have one slice only. */
typedef struct {
  const TdChain *chain;
  const Part *part;
  const float *begins;
  float *mine;
  guint strips; /* of a slice's rows */
} PartCopy;

static void
part_copy_strip (guint index, gpointer user)
{
  const PartCopy *copy = user;
  const Part *part = copy->part;
  const guint k = index / copy->strips, strip = index % copy->strips;
  const guint first = (guint) ((guint64) part->n_rows * strip / copy->strips);
  const guint end = (guint) ((guint64) part->n_rows * (strip + 1) / copy->strips);
  const gsize line = copy->chain->spec.nx, bytes = (end - first) * line * sizeof (float);
  const gsize at = ((gsize) (part->at + k) * part->piece->rows.count + part->row + first) * line;
  float *slices = part->slices + k * chain_slice_floats (copy->chain) + first * line;

  if (copy->mine)
    memcpy (copy->mine + at, slices, bytes);
  else if (copy->begins)
    memcpy (slices, copy->begins + at, bytes);
  else
    memset (slices, 0, bytes);
}

static void
part_copy (const TdChain *chain, const Part *part, const float *begins, float *mine)
{
  const gsize bytes = part->n_rows * (gsize) chain->spec.nx * sizeof (float);
  PartCopy copy = { chain, part, begins, mine, 0 };

  copy.strips = (guint) CLAMP (bytes / STRIP_BYTES, 1, part->n_rows);
  td_parallel_for (part->n * copy.strips, part_copy_strip, &copy);
}

static gboolean
part_begin (TdChain *chain, const Part *part, GCancellable *cancellable, GError **error)
{
  Piece *piece = part->piece;

  g_mutex_lock (&chain->lock);
  while (!piece->before && piece->passed < piece->count
         && !g_cancellable_is_cancelled (cancellable))
    chain_wait (chain);
  const float *begins = piece->before;
  g_mutex_unlock (&chain->lock);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  part_copy (chain, part, begins, NULL);
  return TRUE;
}

gboolean
td_chain_begin (guint first, guint count, TdRowRange rows, float *slices, GCancellable *cancellable,
                GError **error, gpointer chain)
{
  const Part all = { NULL, first, count, rows.first, rows.count, slices };

  return chain_visit (chain, all, part_begin, cancellable, error);
}

/* A buffer for what the next rank gets. FALSE: cancelled. */
static gboolean
piece_open (TdChain *chain, Piece *piece, GCancellable *cancellable, GError **error)
{
  g_mutex_lock (&chain->lock);
  while (!piece->mine && g_queue_is_empty (&chain->to_send)
         && !g_cancellable_is_cancelled (cancellable))
    chain_wait (chain);
  if (!piece->mine)
    piece->mine = g_queue_pop_head (&chain->to_send);
  g_mutex_unlock (&chain->lock);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  if (chain_shows (chain))
    td_node_memory_prepare (&chain->shared, piece->mine);
  return TRUE;
}

/* All of the piece has this rank's views, what it began with included; under the lock. */
static void
piece_let_go (TdChain *chain, Piece *piece)
{
  if (piece->received)
    g_queue_push_head (&chain->to_receive, g_steal_pointer (&piece->received));
  piece->owes = piece->before && chain_reads (chain);
  piece->before = NULL;
}

/* The rows of a part come as a whole band, or the last rows of one last. */
static gboolean
part_pass (TdChain *chain, const Part *part, GCancellable *cancellable, GError **error)
{
  Piece *piece = part->piece;
  const gboolean sends = !td_chain_is_last (chain);

  if (part->at + part->n <= piece->passed)
    return TRUE;
  if (sends && !piece_open (chain, piece, cancellable, error))
    return FALSE;
  if (sends)
    part_copy (chain, part, NULL, piece->mine);
  if (part->row + part->n_rows < piece->rows.count)
    return TRUE;
  g_mutex_lock (&chain->lock);
  piece->passed = part->at + part->n;
  if (piece->passed == piece->count)
    piece_let_go (chain, piece);
  g_cond_broadcast (&chain->changed);
  g_mutex_unlock (&chain->lock);
  return TRUE;
}

gboolean
td_chain_pass (guint first, guint count, TdRowRange rows, float *slices, GCancellable *cancellable,
               GError **error, gpointer chain)
{
  const Part all = { NULL, first, count, rows.first, rows.count, slices };

  return chain_visit (chain, all, part_pass, cancellable, error);
}

/* ── Exchange ── */

/* As pieces of one slice may have more than 2^31 bytes, the count is in floats. */
static int
piece_count (const TdChain *chain, const Piece *piece)
{
  return (int) (piece->count * piece->rows.count * chain->spec.nx);
}

static int
piece_tag (const TdChain *chain, const Piece *piece)
{
  return (int) ((guint) (piece - chain->pieces) % 32768);
}

/* Asks for what it begins with, if there is memory for that; under the lock. */
static gboolean
piece_ask (TdChain *chain, Piece *piece, GError **error)
{
  const gboolean reads = chain_reads (chain);

  if (td_chain_is_first (chain) || piece->asked
      || (!reads && g_queue_is_empty (&chain->to_receive)))
    return TRUE;
  piece->asked = TRUE;
  if (!reads)
    piece->received = g_queue_pop_head (&chain->to_receive);
  return td_mpi_check (MPI_Irecv (reads ? (void *) &piece->place : piece->received,
                                  reads ? 1 : piece_count (chain, piece),
                                  reads ? MPI_INT : MPI_FLOAT, chain->rank - 1,
                                  piece_tag (chain, piece), chain->spec.row, &piece->receive),
                       error);
}

/* Within a node a rank only says where a piece lies. The memory is free once the next rank has let
   it go, and has said so. Under the lock. */
static gboolean
piece_send (TdChain *chain, Piece *piece, GError **error)
{
  const int to = chain->rank + 1, tag = piece_tag (chain, piece);
  MPI_Comm row = chain->spec.row;

  if (!piece->mine || piece->passed < piece->count || piece->send != MPI_REQUEST_NULL
      || piece->read != MPI_REQUEST_NULL)
    return TRUE;
  if (!chain_shows (chain))
    return td_mpi_check (
        MPI_Isend (piece->mine, piece_count (chain, piece), MPI_FLOAT, to, tag, row, &piece->send),
        error);
  piece->mine_place = td_node_memory_show (&chain->shared, piece->mine);
  return td_mpi_check (MPI_Irecv (NULL, 0, MPI_INT, to, tag, row, &piece->read), error)
         && td_mpi_check (MPI_Isend (&piece->mine_place, 1, MPI_INT, to, tag, row, &piece->send),
                          error);
}

/* *@passed: the request was there, and is no more. */
static gboolean
request_test (MPI_Request *request, gboolean *passed, GError **error)
{
  int done = 0;

  if (*request == MPI_REQUEST_NULL)
    return TRUE;
  if (!td_mpi_check (MPI_Test (request, &done, MPI_STATUS_IGNORE), error))
    return FALSE;
  *passed = *passed || done;
  return TRUE;
}

/* What has come or gone. Without the lock, since MPI may copy it meanwhile. */
static gboolean
piece_test (Piece *piece, gboolean *moved, GError **error)
{
  if (!request_test (&piece->receive, &piece->came, error)
      || !request_test (&piece->send, &piece->gone, error)
      || !request_test (&piece->read, &piece->gone, error))
    return FALSE;
  *moved = *moved || piece->came || piece->gone;
  return TRUE;
}

/* Under the lock. */
static gboolean
piece_settle (TdChain *chain, Piece *piece, GError **error)
{
  if (piece->came)
    piece->before = chain_reads (chain)
                        ? td_node_memory_look (&chain->shared, chain->rank - 1, piece->place)
                        : piece->received;
  piece->came = FALSE;
  if (piece->gone && piece->send == MPI_REQUEST_NULL && piece->read == MPI_REQUEST_NULL) {
    g_queue_push_head (&chain->to_send, g_steal_pointer (&piece->mine));
    piece->sent = TRUE;
  }
  piece->gone = FALSE;
  /* The rank before waits for it already, so that this does not. */
  if (piece->owes
      && !td_mpi_check (
          MPI_Send (NULL, 0, MPI_INT, chain->rank - 1, piece_tag (chain, piece), chain->spec.row),
          error))
    return FALSE;
  piece->owes = FALSE;
  piece->over = td_chain_is_last (chain) ? piece->passed == piece->count : piece->sent;
  return TRUE;
}

gboolean
td_chain_run (TdChain *chain, GCancellable *cancellable, GError **error)
{
  gboolean ok = TRUE;
  guint first = 0; /* the first piece that is not over */
  gint64 moved_us = 0;

  while (ok && first < chain->n_pieces) {
    const guint end = MIN (chain->n_pieces, first + chain->window);
    const gint64 start = g_get_monotonic_time ();
    gboolean moved = FALSE;

    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
    g_mutex_lock (&chain->lock);
    for (guint k = first; ok && k < end; k++)
      ok = piece_ask (chain, &chain->pieces[k], error)
           && piece_send (chain, &chain->pieces[k], error);
    g_mutex_unlock (&chain->lock);
    for (guint k = first; ok && k < end; k++)
      ok = piece_test (&chain->pieces[k], &moved, error);
    g_mutex_lock (&chain->lock);
    for (guint k = first; ok && k < end; k++)
      ok = piece_settle (chain, &chain->pieces[k], error);
    while (first < chain->n_pieces && chain->pieces[first].over)
      first++;
    if (moved)
      g_cond_broadcast (&chain->changed);
    g_mutex_unlock (&chain->lock);
    if (moved) {
      moved_us = g_get_monotonic_time ();
      chain->busy_s += (moved_us - start) * 1e-6;
    } else {
      td_mpi_pause (moved_us, IDLE_US);
    }
  }
  return ok;
}

gboolean
td_chain_finish (const TdChain *chain, GCancellable *cancellable, GError **error)
{
  return td_node_memory_meet (&chain->shared, cancellable, error);
}

double
td_chain_seconds (const TdChain *chain)
{
  return chain->busy_s;
}
