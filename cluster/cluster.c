/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster.h"

#include "config.h"

const char *
td_cluster_description (void)
{
#if TD_HAVE_MPI
  return "built with MPI; distributed reconstruction is not part of this version";
#else
  return "built without MPI; distributed reconstruction is not part of this version";
#endif
}
