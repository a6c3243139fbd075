/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "parts.h"

/**
 * TdHandout: rows of a parallel beam, given to ranks as they ask, a few at a time. Fast ranks get
 * more. Rows that a rank has had for too long go to another as well: both write the same values.
 * One thread.
 */
typedef struct TdHandout TdHandout;

/* @missing: ranges (TdGridShare) to be computed. */
TdHandout *td_handout_new (const GArray *missing, guint ranks);
void td_handout_free (TdHandout *handout);
/* The next rows for @rank, which has finished those it had; @now: g_get_monotonic_time(). Count 0:
   no rows are left, or none can be given yet (*@later). *@slow: the rank that was given the same
   rows before; G_MAXUINT: none was. */
TdGridShare td_handout_grant (TdHandout *handout, guint rank, TdParts *parts, gint64 now,
                              gboolean *later, guint *slow);
