/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* FALSE with @error: an MPI function returned @code, and it is no success. */
gboolean td_mpi_check (int code, GError **error);

/* The pause between two looks at transfers. MPI moves a large message only while a rank looks. Soon
   after something moved, at @moved_us, the thread merely lets others go first. Later it sleeps for
   @idle_us, so that the processors are left to those that compute. */
void td_mpi_pause (gint64 moved_us, gulong idle_us);
