/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples as a camera gave them become the floats that preparation works on. The items of a group
   take samples beside each other, p.a_group together. */
#ifdef TD_RAW_BYTES
typedef unsigned char Sample;
#else
typedef unsigned short Sample;
#endif

TD_KERNEL void
raw_samples (TD_ITEM TD_IN (Sample) samples, TD_OUT (float) values, const TdRawParams p)
{
  const int group = td_group_x ();
  const size_t first
      = ((size_t) p.first_high << 32 | p.first_low) + (size_t) group * (size_t) p.a_group;
  const int end = td_min (p.a_group, p.n - group * p.a_group);

  for (int at = td_local_x (); at < end; at += p.items)
    values[first + at] = (float) samples[first + at];
}
