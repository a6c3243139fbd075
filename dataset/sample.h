/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "scan.h"

/**
 * Samples as stored in files, turned into float. Shared by every reader.
 */

/* @n samples of @type at @from (any alignment) to floats; @swap: the other byte order. NaNs and
   infinities pass through. @from and @to do not overlap. */
void td_samples_to_float (TdSampleType type, gboolean swap, const void *from, gsize n, float *to);
/* @n floats as @type: (from - low) * gain, rounded and held within the type's range for integers (a
   NaN becomes the lowest sample). Returns how many were outside. */
guint64 td_samples_from_float (TdSampleType type, double low, double gain, const float *from,
                               gsize n, void *to);
/* "uint16", "uint8", "float32" …; FALSE if unknown. */
gboolean td_sample_type_parse (const char *name, TdSampleType *type);
double td_sample_most (TdSampleType type); /* the highest that an integer holds; INFINITY: floats */
typedef enum { TD_SAMPLE_UNSIGNED, TD_SAMPLE_SIGNED, TD_SAMPLE_FLOAT } TdSampleKind;
TdSampleKind td_sample_kind (TdSampleType type);
