/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values as integers are stored: (value - low) * gain, rounded to even and held within 0 … the
   largest sample; a NaN becomes 0. Bit for bit what td_samples_from_float() makes, hence double
   precision. A group adds to the first counter how many of its values were outside. It makes the
   second one 1 if a value is finite and not 0. The items of a group take values beside each other,
   p.a_group together. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define SLACK 0.01 /* of a step past the range's end that is not outside */

#ifdef TD_STORED_BYTES
typedef unsigned char Sample;
#else
typedef unsigned short Sample;
#endif

TD_KERNEL void
stored_samples (TD_ITEM TD_IN (float) values, TD_OUT (Sample) samples, TD_OUT (int) counts,
                const TdStoredParams p, double low, double gain, double largest
                TD_LOCAL_ARG (int, sums))
{
  TD_LOCAL_USE (int, sums)
  const int item = td_local_x (), group = td_group_x ();
  const size_t first = ((size_t) p.first_high << 32 | p.first_low)
                       + (size_t) group * (size_t) p.a_group;
  const size_t from = (size_t) p.from_high << 32 | p.from_low;
  const int end = td_min (p.a_group, p.n - group * p.a_group);
  int outside = 0, says = 0;

  if (item == 0)
    sums[0] = sums[1] = 0;
  td_barrier ();
  for (int at = item; at < end; at += p.items) {
    const float value = values[from + first + at];
    const double exact = ((double) value - low) * gain, v = rint (exact);
    const int inside = v >= 0 && v <= largest;
    samples[first + at] = (Sample) (inside ? v : v > largest ? largest : 0.0);
    outside += !(exact >= -SLACK && exact <= largest + SLACK);
    says |= td_isfinite (value) && value != 0.0f;
  }
  if (outside)
    td_atomic_add_int (&sums[0], outside);
  if (says)
    td_atomic_max_int (&sums[1], 1);
  td_barrier ();
  if (item == 0 && sums[0])
    td_atomic_add_int (&counts[p.counter], sums[0]);
  if (item == 0 && sums[1])
    td_atomic_max_int (&counts[p.counter + 1], 1);
}
