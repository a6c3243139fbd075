/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What a node can do, as one line of JSON on standard output: its name, the program's version, its
   clock, its devices with the verdict of their self-test, MPI, and whether @reads (NULL-terminated,
   or NULL) can be read and folders @writes written. Needs no MPI_Init(). Blocks on drivers. */
void td_node_probe (char *const *reads, char *const *writes);
