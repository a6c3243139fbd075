/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "host-scratch.h"

#include <fftw3.h>

#include "dataset/error.h"
#include "dataset/unit.h"
#include "host.h"

#define ALIGNMENT 64 /* of the second piece; the first is as FFTW aligns it */

struct TdHostScratch {
  GMutex lock;
  GCond given;
  guint n, n_free;
  gsize step;      /* bytes from the first piece to the second */
  gpointer *pairs; /* [n], the first n_free of them free */
};

TdHostScratch *
td_host_scratch_new (gsize from, gsize to, GError **error)
{
  TdHostScratch *scratch = g_new0 (TdHostScratch, 1);

  g_mutex_init (&scratch->lock);
  g_cond_init (&scratch->given);
  scratch->n = td_host_threads ();
  scratch->step = (from + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  scratch->pairs = g_new0 (gpointer, scratch->n);
  for (; scratch->n_free < scratch->n; scratch->n_free++) {
    scratch->pairs[scratch->n_free] = fftwf_malloc (MAX (scratch->step + to, 1));
    if (scratch->pairs[scratch->n_free])
      continue;
    g_autofree char *size = td_memory_text ((guint64) (scratch->step + to) * scratch->n);
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
  g_mutex_lock (&scratch->lock);
  while (scratch->n_free == 0)
    g_cond_wait (&scratch->given, &scratch->lock);
  char *from = scratch->pairs[--scratch->n_free];
  g_mutex_unlock (&scratch->lock);
  return (TdHostPieces) { from, from + scratch->step };
}

void
td_host_scratch_give (TdHostScratch *scratch, const TdHostPieces *pieces)
{
  g_mutex_lock (&scratch->lock);
  scratch->pairs[scratch->n_free++] = pieces->from;
  g_cond_signal (&scratch->given);
  g_mutex_unlock (&scratch->lock);
}

void
td_host_scratch_free (TdHostScratch *scratch)
{
  if (!scratch)
    return;
  for (guint i = 0; i < scratch->n_free; i++)
    fftwf_free (scratch->pairs[i]);
  g_free (scratch->pairs);
  g_mutex_clear (&scratch->lock);
  g_cond_clear (&scratch->given);
  g_free (scratch);
}
