/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi-pause.h"

#define SOON_US 20000 /* a segment or a chunk of views takes less */

void
td_mpi_pause (gint64 moved_us, gulong idle_us)
{
  if (g_get_monotonic_time () - moved_us < SOON_US)
    g_thread_yield ();
  else
    g_usleep (idle_us);
}
