/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* FALSE with @error: an MPI function returned @code, and it is no success. */
gboolean td_mpi_check (int code, GError **error);
