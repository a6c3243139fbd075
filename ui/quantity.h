/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"

/* Times, memory and progress as a person reads and types them. */

/* As g_strcmp0(), for the order of rows: what is not known, NAN, comes last. */
int td_compare_numbers (double one, double other);
/* "8 s", "3 min 20 s", "2 h 5 min". (transfer full) */
char *td_duration_text (double seconds);
/* "12 ms", of what a picture takes. (transfer full) */
char *td_moment_text (double seconds);
/* What is not above 0 is not known yet. (transfer full) */
char *td_estimate_text (double seconds);
/* Memory limits are typed in GiB and kept in bytes. */
guint64 td_bytes_from_gib (double gib);
double td_gib_from_bytes (guint64 bytes);
/* How far a running job is. (transfer full) */
char *td_progress_text (const TdJobProgress *progress);
