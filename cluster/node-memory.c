/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compute/device/host.h"
#include "mpi-util.h"

#define MEET_US 500

/* What a rank tells the others of its file. */
typedef struct {
  gint64 process, file;
  guint64 place, bytes; /* its inode: the number of a process may be another one's elsewhere */
} Card;

/* Whether all ranks of the node say so. */
static gboolean
node_memory_agree (const TdNodeMemory *memory, gboolean ok)
{
  int mine = ok, all = 0;

  return MPI_Allreduce (&mine, &all, 1, MPI_INT, MPI_MIN, memory->node) == MPI_SUCCESS && all;
}

/* FALSE: there is no memory for it. Memory that is not there would be told by a signal, when it is
   touched. */
static gboolean
node_memory_make (TdNodeMemory *memory, guint64 bytes, Card *card)
{
  struct stat status;

  if (td_host_memory_available () / 2 < bytes)
    return FALSE;
  memory->file = memfd_create ("tomodesk", MFD_CLOEXEC);
  if (memory->file < 0 || ftruncate (memory->file, (off_t) bytes) != 0
      || fstat (memory->file, &status) != 0)
    return FALSE;
  *card = (Card) { getpid (), memory->file, status.st_ino, bytes };
  return TRUE;
}

static gboolean
node_memory_map (TdFileWindow *window, const Card *card)
{
  g_autofree char *path = g_strdup_printf ("/proc/%" G_GINT64_FORMAT "/fd/%" G_GINT64_FORMAT,
                                           card->process, card->file);
  struct stat status;
  const int file = open (path, O_RDWR | O_CLOEXEC);
  gboolean ok = file >= 0 && fstat (file, &status) == 0 && status.st_ino == card->place
                && (guint64) status.st_size == card->bytes;

  ok = ok && td_file_window_open (window, file, card->bytes, 0) == 0;
  if (!ok)
    *window = (TdFileWindow) { NULL };
  if (file >= 0)
    close (file);
  return ok;
}

void
td_node_memory_open (TdNodeMemory *memory, MPI_Comm row, const int *nodes, guint n, gsize floats)
{
  const guint64 bytes = MAX (n * floats * sizeof (float), 1);
  int rank, size, members = 0, member = 0;
  Card card = { 0 };

  memory->floats = floats;
  MPI_Comm_rank (row, &rank);
  MPI_Comm_size (row, &size);
  MPI_Comm_split (row, nodes[rank], rank, &memory->node);
  MPI_Comm_set_errhandler (memory->node, MPI_ERRORS_RETURN);
  MPI_Comm_size (memory->node, &members);
  if (members == 1 || !node_memory_agree (memory, node_memory_make (memory, bytes, &card)))
    return;
  g_autofree Card *cards = g_new0 (Card, members);
  g_autofree const float **bases = g_new0 (const float *, size);
  gboolean ok
      = MPI_Allgather (&card, sizeof card, MPI_BYTE, cards, sizeof card, MPI_BYTE, memory->node)
        == MPI_SUCCESS;
  memory->files = g_new0 (TdFileWindow, size);
  memory->n_files = size;
  for (int i = 0; ok && i < size; i++) {
    if (nodes[i] != nodes[rank])
      continue;
    ok = node_memory_map (&memory->files[i], &cards[member++]);
    bases[i] = (const float *) memory->files[i].bytes;
  }
  if (!node_memory_agree (memory, ok))
    return;
  memory->own = (float *) memory->files[rank].bytes;
  memory->bases = g_steal_pointer (&bases);
}

void
td_node_memory_close (TdNodeMemory *memory)
{
  for (int i = 0; i < memory->n_files; i++)
    if (memory->files[i].map)
      td_file_window_close (&memory->files[i]);
  g_clear_pointer (&memory->files, g_free);
  memory->n_files = 0;
  if (memory->file >= 0)
    close (memory->file);
  memory->file = -1;
  if (memory->node != MPI_COMM_NULL)
    MPI_Comm_free (&memory->node);
  g_clear_pointer (&memory->bases, g_free);
}

gboolean
td_node_memory_meet (const TdNodeMemory *memory, GCancellable *cancellable, GError **error)
{
  MPI_Request request;

  if (memory->node == MPI_COMM_NULL)
    return TRUE;
  MPI_Ibarrier (memory->node, &request);
  return td_mpi_await (&request, MEET_US, cancellable, error);
}

const float *
td_node_memory_of (const TdNodeMemory *memory, int other)
{
  return memory->bases ? memory->bases[other] : NULL;
}

typedef struct {
  int file;
  guint64 at; /* of the first page */
} Pages;

static void
node_memory_enlarge (guint index, gpointer user)
{
  const Pages *pages = user;

  td_file_enlarge (pages->file, TD_FILE_LARGE_PAGE, pages->at + index * TD_FILE_LARGE_PAGE);
}

void
td_node_memory_prepare (TdNodeMemory *memory, const float *buffer)
{
  const guint64 at = (guint64) (buffer - memory->own) * sizeof *buffer;
  const guint64 first = (at + TD_FILE_LARGE_PAGE - 1) / TD_FILE_LARGE_PAGE;
  const guint64 end = (at + memory->floats * sizeof *buffer) / TD_FILE_LARGE_PAGE;
  Pages pages = { memory->file, first * TD_FILE_LARGE_PAGE };

  if (at < memory->n_prepared * memory->floats * sizeof *buffer)
    return;
  memory->n_prepared++;
  if (end > first)
    td_parallel_for ((guint) (end - first), node_memory_enlarge, &pages);
}

int
td_node_memory_show (const TdNodeMemory *memory, const float *buffer)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  return (int) ((gsize) (buffer - memory->own) / memory->floats);
}

const float *
td_node_memory_look (const TdNodeMemory *memory, int other, int place)
{
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
  return memory->bases[other] + (gsize) place * memory->floats;
}
