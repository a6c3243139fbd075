/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sample.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  gsize size;
  TdSampleKind kind;
  double most;
} sample_types[] = {
  [TD_SAMPLE_UINT8] = { "uint8", 1, TD_SAMPLE_UNSIGNED, G_MAXUINT8 },
  [TD_SAMPLE_INT8] = { "int8", 1, TD_SAMPLE_SIGNED, G_MAXINT8 },
  [TD_SAMPLE_UINT16] = { "uint16", 2, TD_SAMPLE_UNSIGNED, G_MAXUINT16 },
  [TD_SAMPLE_INT16] = { "int16", 2, TD_SAMPLE_SIGNED, G_MAXINT16 },
  [TD_SAMPLE_UINT32] = { "uint32", 4, TD_SAMPLE_UNSIGNED, G_MAXUINT32 },
  [TD_SAMPLE_INT32] = { "int32", 4, TD_SAMPLE_SIGNED, G_MAXINT32 },
  [TD_SAMPLE_FLOAT32] = { "float32", 4, TD_SAMPLE_FLOAT, INFINITY },
  [TD_SAMPLE_FLOAT64] = { "float64", 8, TD_SAMPLE_FLOAT, INFINITY },
};

gsize
td_sample_size (TdSampleType type)
{
  g_return_val_if_fail ((guint) type < G_N_ELEMENTS (sample_types), 0);
  return sample_types[type].size;
}

const char *
td_sample_name (TdSampleType type)
{
  g_return_val_if_fail ((guint) type < G_N_ELEMENTS (sample_types), "unknown");
  return sample_types[type].name;
}

gboolean
td_sample_type_parse (const char *name, TdSampleType *type)
{
  for (guint i = 0; i < G_N_ELEMENTS (sample_types); i++)
    if (g_ascii_strcasecmp (name, sample_types[i].name) == 0) {
      *type = i;
      return TRUE;
    }
  return FALSE;
}

double
td_sample_most (TdSampleType type)
{
  return sample_types[type].most;
}

TdSampleKind
td_sample_kind (TdSampleType type)
{
  return sample_types[type].kind;
}

/* memcpy loads: files give no alignment, and compilers turn these loops into vector code. */
#define CONVERT(ctype)                                                                             \
  for (gsize i = 0; i < n; i++) {                                                                  \
    ctype v;                                                                                       \
    memcpy (&v, bytes + i * sizeof v, sizeof v);                                                   \
    to[i] = (float) v;                                                                             \
  }                                                                                                \
  break
#define CONVERT_SWAPPED(ctype, utype, swapper)                                                     \
  for (gsize i = 0; i < n; i++) {                                                                  \
    utype u;                                                                                       \
    ctype v;                                                                                       \
    memcpy (&u, bytes + i * sizeof u, sizeof u);                                                   \
    u = swapper (u);                                                                               \
    memcpy (&v, &u, sizeof v);                                                                     \
    to[i] = (float) v;                                                                             \
  }                                                                                                \
  break

void
td_samples_to_float (TdSampleType type, gboolean swap, const void *from, gsize n, float *to)
{
  const guint8 *bytes = from;

  if (swap)
    switch (type) {
    case TD_SAMPLE_UINT8: CONVERT (guint8);
    case TD_SAMPLE_INT8: CONVERT (gint8);
    case TD_SAMPLE_UINT16: CONVERT_SWAPPED (guint16, guint16, GUINT16_SWAP_LE_BE);
    case TD_SAMPLE_INT16: CONVERT_SWAPPED (gint16, guint16, GUINT16_SWAP_LE_BE);
    case TD_SAMPLE_UINT32: CONVERT_SWAPPED (guint32, guint32, GUINT32_SWAP_LE_BE);
    case TD_SAMPLE_INT32: CONVERT_SWAPPED (gint32, guint32, GUINT32_SWAP_LE_BE);
    case TD_SAMPLE_FLOAT32: CONVERT_SWAPPED (float, guint32, GUINT32_SWAP_LE_BE);
    case TD_SAMPLE_FLOAT64: CONVERT_SWAPPED (double, guint64, GUINT64_SWAP_LE_BE);
    }
  else
    switch (type) {
    case TD_SAMPLE_UINT8: CONVERT (guint8);
    case TD_SAMPLE_INT8: CONVERT (gint8);
    case TD_SAMPLE_UINT16: CONVERT (guint16);
    case TD_SAMPLE_INT16: CONVERT (gint16);
    case TD_SAMPLE_UINT32: CONVERT (guint32);
    case TD_SAMPLE_INT32: CONVERT (gint32);
    case TD_SAMPLE_FLOAT32: memcpy (to, from, n * sizeof *to); break;
    case TD_SAMPLE_FLOAT64: CONVERT (double);
    }
}

/* Of a step that a value may be past the range's end and is not outside: ends are stated as
   doubles, and values are floats. As in kernels/stored-samples.cl. */
#define SLACK 0.01

#define QUANTISE(ctype, lowest, highest)                                                           \
  for (gsize i = 0; i < n; i++) {                                                                  \
    const double exact = (from[i] - low) * gain, v = rint (exact);                                 \
    gboolean inside = v >= (lowest) && v <= (highest);                                             \
    ctype u = inside ? (ctype) v : v > (highest) ? (ctype) (highest) : (ctype) (lowest);           \
    outside += !(exact >= (lowest) -SLACK && exact <= (highest) + SLACK);                          \
    memcpy (bytes + i * sizeof u, &u, sizeof u);                                                   \
  }                                                                                                \
  break

guint64
td_samples_from_float (TdSampleType type, double low, double gain, const float *from, gsize n,
                       void *to)
{
  guint8 *bytes = to;
  guint64 outside = 0;

  switch (type) {
  case TD_SAMPLE_UINT8: QUANTISE (guint8, 0, 255);
  case TD_SAMPLE_INT8: QUANTISE (gint8, -128, 127);
  case TD_SAMPLE_UINT16: QUANTISE (guint16, 0, 65535);
  case TD_SAMPLE_INT16: QUANTISE (gint16, -32768, 32767);
  case TD_SAMPLE_UINT32: QUANTISE (guint32, 0, 4294967295.0);
  case TD_SAMPLE_INT32: QUANTISE (gint32, -2147483648.0, 2147483647.0);
  case TD_SAMPLE_FLOAT32: memcpy (to, from, n * sizeof *from); break;
  case TD_SAMPLE_FLOAT64:
    for (gsize i = 0; i < n; i++)
      memcpy (bytes + i * sizeof (double), &(double) { from[i] }, sizeof (double));
    break;
  }
  return outside;
}
