/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What a node can do, as one line of JSON on standard output. It has the node's name, the program's
   version, the clock, MPI, and the devices of the list @device with the verdict of their
   self-test. It also says whether @reads (NULL-terminated, or NULL) can be read and folders @writes
   written. The probe needs no MPI_Init(). Blocks on drivers. */
void td_node_probe (const char *device, char *const *reads, char *const *writes);
