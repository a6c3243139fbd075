/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "cuda-private.h"

#include <sys/mman.h>

#include "host.h"

/* Pinned host memory. cuMemHostAlloc() gets its pages one by one from one thread: half a second for
   a GiB, as long as many a whole reconstruction. Large blocks are therefore mapped here, in large
   pages where the system has them, touched by all threads, and registered: a tenth of that. */
#define LARGE_PAGE ((gsize) 2 << 20)
#define SMALL_PAGE ((gsize) 4096)

typedef struct {
  void *mapping;
  gsize length;
} Block;

static void
cuda_pinned_touch (guint index, gpointer memory)
{
  volatile char *page = (volatile char *) memory + index * LARGE_PAGE;

  for (gsize at = 0; at < LARGE_PAGE; at += SMALL_PAGE)
    page[at] = 0;
}

/* NULL if the system or the driver does not want to. */
static void *
map_and_register (TdCudaDevice *device, guint64 bytes)
{
  const gsize used = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
  const gsize length = used + LARGE_PAGE;
  void *mapping = mmap (NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (mapping == MAP_FAILED)
    return NULL;
  char *memory = (char *) (((gsize) mapping + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
#ifdef MADV_HUGEPAGE
  madvise (memory, used, MADV_HUGEPAGE); /* advice: small pages do as well */
#endif
  td_parallel_for ((guint) (used / LARGE_PAGE), cuda_pinned_touch, memory);
  if (device->cu->host_register (memory, used, TD_CU_HOST_ALLOC_PORTABLE) != 0) {
    munmap (mapping, length);
    return NULL;
  }
  Block *block = g_new (Block, 1);
  *block = (Block) { mapping, length };
  g_mutex_lock (&device->pinned_lock);
  g_hash_table_insert (device->pinned, memory, block);
  g_mutex_unlock (&device->pinned_lock);
  return memory;
}

void *
td_cuda_host_alloc (TdDevice *base, guint64 bytes)
{
  TdCudaDevice *device = td_cuda_device (base);
  void *memory = NULL;

  if (!td_cuda_enter (device, NULL))
    return NULL;
  if (bytes >= 2 * LARGE_PAGE && bytes / LARGE_PAGE < G_MAXINT)
    memory = map_and_register (device, bytes);
  /* Portable: pinned for every card, since one ring of buffers may feed several. */
  if (!memory && device->cu->host_alloc (&memory, bytes, TD_CU_HOST_ALLOC_PORTABLE) != 0)
    memory = NULL;
  td_cuda_leave (device);
  return memory;
}

void
td_cuda_host_free (TdDevice *base, void *memory)
{
  TdCudaDevice *device = td_cuda_device (base);
  Block *block = NULL;

  if (!td_cuda_enter (device, NULL))
    return;
  g_mutex_lock (&device->pinned_lock);
  g_hash_table_steal_extended (device->pinned, memory, NULL, (gpointer *) &block);
  g_mutex_unlock (&device->pinned_lock);
  if (block) {
    device->cu->host_unregister (memory);
    munmap (block->mapping, block->length);
    g_free (block);
  } else {
    device->cu->host_free (memory);
  }
  td_cuda_leave (device);
}
