/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the host does without: local memory, barriers, defines. */

/* out[i] = FACTOR * the sum over in of i's group, through TD_LOCAL memory of one float an item. */
TD_KERNEL void
td_check_group_sum (TD_ITEM TD_GLOBAL float *out, TD_GLOBAL const float *in
                    TD_LOCAL_ARG (float, sums))
{
  TD_LOCAL_USE (float, sums)
  const int l = td_local_x ();

  sums[l] = in[td_global_x ()];
  td_barrier ();
  float sum = 0;
  for (int i = 0; i < GROUP; i++)
    sum += sums[i];
  out[td_global_x ()] = FACTOR * sum;
}
