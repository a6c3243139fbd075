/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "chain.h"

#include <string.h>

#include "mpi-util.h"

/* Of a piece: large enough for a link's full speed. */
#define PIECE_BYTES ((guint64) 16 << 20)
/* Pieces to be sent that wait, besides one of each band that its slab does not complete. */
#define WAITING 8
#define IDLE_US 200

/* A band of a few slices, float [count][rows][nx]. */
typedef struct {
  guint first, count; /* slices */
  TdRowRange rows;
  guint passed;   /* slices that have this rank's views, from the first on */
  float *before;  /* from the rank before; NULL: not asked for, or let go */
  gboolean there; /* it has come */
  float *mine;    /* for the next rank */
  gboolean over;
  MPI_Request receive, send;
} Piece;

struct TdChain {
  TdChainSpec spec;
  int rank, size;
  guint groups;           /* of slices, in each slab */
  guint n_pieces, window; /* how many may be under way */
  Piece *pieces;          /* [slab][group][band] */
  GPtrArray *memory;      /* owned */
  gsize piece_floats;     /* at most */
  double busy_s;

  GMutex lock; /* all below, and the pieces but for requests */
  GCond changed;
  GQueue to_receive, to_send; /* float *: free buffers */
  guint next_receive;
};

/* ── Life ── */

static gsize
chain_slice_floats (const TdChain *chain)
{
  return (gsize) chain->spec.ny * chain->spec.nx;
}

static void
chain_add_buffers (TdChain *chain, GQueue *queue, guint n)
{
  for (guint i = 0; i < n; i++) {
    float *buffer = g_malloc (chain->piece_floats * sizeof (float));
    g_ptr_array_add (chain->memory, buffer);
    g_queue_push_tail (queue, buffer);
  }
}

/* What all ranks must have alike: the most that any wants. A rank whose slabs are larger than the
   next one's thus finds room for all that it sends. */
static void
chain_agree (TdChain *chain)
{
  TdChainSpec *spec = &chain->spec;
  guint wanted[2] = { MIN (spec->bands, spec->ny), MIN (spec->slab_slices, spec->n_slices) };

  MPI_Allreduce (MPI_IN_PLACE, wanted, 2, MPI_UNSIGNED, MPI_MAX, spec->row);
  spec->bands = MAX (wanted[0], 1);
  spec->slab_slices = MAX (wanted[1], 1);
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
    piece->receive = piece->send = MPI_REQUEST_NULL;
  }
  if (!td_chain_is_first (chain))
    chain_add_buffers (chain, &chain->to_receive, chain->window);
  if (!td_chain_is_last (chain))
    chain_add_buffers (chain, &chain->to_send, MIN (waiting, chain->n_pieces));
}

TdChain *
td_chain_new (const TdChainSpec *spec)
{
  TdChain *chain = g_new0 (TdChain, 1);

  chain->spec = *spec;
  MPI_Comm_rank (spec->row, &chain->rank);
  MPI_Comm_size (spec->row, &chain->size);
  chain->memory = g_ptr_array_new_with_free_func (g_free);
  g_mutex_init (&chain->lock);
  g_cond_init (&chain->changed);
  chain_agree (chain);
  chain_cut (chain);
  return chain;
}

void
td_chain_free (TdChain *chain)
{
  g_queue_clear (&chain->to_receive);
  g_queue_clear (&chain->to_send);
  g_ptr_array_unref (chain->memory);
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
  return (guint64) chain->memory->len * chain->piece_floats * sizeof (float);
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

/* Where a part's slice @i has its rows in the piece's buffer. */
static float *
part_in (const TdChain *chain, const Part *part, float *buffer, guint i)
{
  return buffer + ((gsize) (part->at + i) * part->piece->rows.count + part->row) * chain->spec.nx;
}

static gboolean
part_begin (TdChain *chain, const Part *part, GCancellable *cancellable, GError **error)
{
  Piece *piece = part->piece;
  const gsize bytes = (gsize) part->n_rows * chain->spec.nx * sizeof (float);

  g_mutex_lock (&chain->lock);
  while (!piece->there && piece->passed < piece->count && !g_cancellable_is_cancelled (cancellable))
    chain_wait (chain);
  float *before = piece->there ? piece->before : NULL;
  g_mutex_unlock (&chain->lock);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return FALSE;
  for (guint i = 0; i < part->n; i++) {
    float *to = part->slices + i * chain_slice_floats (chain);
    if (before)
      memcpy (to, part_in (chain, part, before, i), bytes);
    else
      memset (to, 0, bytes);
  }
  return TRUE;
}

gboolean
td_chain_begin (TdChain *chain, guint first, guint count, TdRowRange rows, float *slices,
                GCancellable *cancellable, GError **error)
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
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
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
  for (guint i = 0; sends && i < part->n; i++)
    memcpy (part_in (chain, part, piece->mine, i), part->slices + i * chain_slice_floats (chain),
            (gsize) part->n_rows * chain->spec.nx * sizeof (float));
  if (part->row + part->n_rows < piece->rows.count)
    return TRUE;
  g_mutex_lock (&chain->lock);
  piece->passed = part->at + part->n;
  /* What it began with is in it. */
  if (piece->passed == piece->count && piece->there)
    g_queue_push_tail (&chain->to_receive, g_steal_pointer (&piece->before));
  if (piece->passed == piece->count)
    piece->there = FALSE;
  piece->over = !sends && piece->passed == piece->count;
  g_cond_broadcast (&chain->changed);
  g_mutex_unlock (&chain->lock);
  return TRUE;
}

gboolean
td_chain_pass (TdChain *chain, guint first, guint count, TdRowRange rows, const float *slices,
               GCancellable *cancellable, GError **error)
{
  const Part all = { NULL, first, count, rows.first, rows.count, (float *) slices };

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

/* Pieces come in their order, as memory gets free; under the lock. */
static gboolean
chain_receive (TdChain *chain, GError **error)
{
  while (!td_chain_is_first (chain) && chain->next_receive < chain->n_pieces
         && !g_queue_is_empty (&chain->to_receive)) {
    Piece *piece = &chain->pieces[chain->next_receive++];
    piece->before = g_queue_pop_head (&chain->to_receive);
    if (!td_mpi_check (MPI_Irecv (piece->before, piece_count (chain, piece), MPI_FLOAT,
                                  chain->rank - 1, piece_tag (chain, piece), chain->spec.row,
                                  &piece->receive),
                       error))
      return FALSE;
  }
  return TRUE;
}

/* Under the lock. */
static gboolean
piece_send (TdChain *chain, Piece *piece, GError **error)
{
  if (!piece->mine || piece->passed < piece->count || piece->send != MPI_REQUEST_NULL)
    return TRUE;
  return td_mpi_check (MPI_Isend (piece->mine, piece_count (chain, piece), MPI_FLOAT,
                                  chain->rank + 1, piece_tag (chain, piece), chain->spec.row,
                                  &piece->send),
                       error);
}

/* FALSE with @error: MPI failed. *@moved: something has come or gone. */
static gboolean
piece_test (TdChain *chain, Piece *piece, gboolean *moved, GError **error)
{
  const gboolean receives = piece->receive != MPI_REQUEST_NULL;
  const gboolean sends = piece->send != MPI_REQUEST_NULL;
  int come = 0, gone = 0;

  if ((receives && !td_mpi_check (MPI_Test (&piece->receive, &come, MPI_STATUS_IGNORE), error))
      || (sends && !td_mpi_check (MPI_Test (&piece->send, &gone, MPI_STATUS_IGNORE), error)))
    return FALSE;
  if (!(receives && come) && !(sends && gone))
    return TRUE;
  *moved = TRUE;
  g_mutex_lock (&chain->lock);
  if (receives && come)
    piece->there = TRUE;
  if (sends && gone) {
    g_queue_push_tail (&chain->to_send, g_steal_pointer (&piece->mine));
    piece->over = TRUE;
  }
  g_cond_broadcast (&chain->changed);
  g_mutex_unlock (&chain->lock);
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
    ok = ok && chain_receive (chain, error);
    for (guint k = first; ok && k < end; k++)
      ok = piece_send (chain, &chain->pieces[k], error);
    g_mutex_unlock (&chain->lock);
    for (guint k = first; ok && k < end; k++)
      ok = piece_test (chain, &chain->pieces[k], &moved, error);
    g_mutex_lock (&chain->lock);
    while (first < chain->n_pieces && chain->pieces[first].over)
      first++;
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

double
td_chain_seconds (const TdChain *chain)
{
  return chain->busy_s;
}
