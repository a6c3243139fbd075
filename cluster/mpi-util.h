/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <mpi.h>

/* FALSE with @error: an MPI function returned @code, and it is no success. */
gboolean td_mpi_check (int code, GError **error);
/* Waits for @request, and sleeps for @idle_us between two looks, which leaves others the
   processors. FALSE with @error: cancelled, since another rank may not come; or MPI failed. What
   the request has to do with stays then. */
gboolean td_mpi_await (MPI_Request *request, gulong idle_us, GCancellable *cancellable,
                       GError **error);

/* Adds @n buffers of @floats to @queue: those at @lie, one after the other. Where that is NULL they
   are made, and @owned frees them. */
void td_mpi_add_buffers (GQueue *queue, guint n, gsize floats, float *lie, GPtrArray *owned);

/* Ranks of @node that may use the same processors as this one, with itself. All of them call. */
guint td_mpi_sharers (MPI_Comm node);
/* Sets what this rank takes of its node's memory and processors. All of them call, before the first
   device is opened. */
void td_mpi_share_node (MPI_Comm node);

/* The pause between two looks at transfers. MPI moves a large message only while a rank looks. Soon
   after something moved, at @moved_us, the thread merely lets others go first. Later it sleeps for
   @idle_us, so that the processors are left to those that compute. */
void td_mpi_pause (gint64 moved_us, gulong idle_us);
