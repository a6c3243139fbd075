/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small kernels that show that a device computes what it is told: devices --self-test and
   tests/unit/test-device.c. */

/* out[i] = a * in[i] + b for the n values; out and in start at elements. */
TD_KERNEL void
td_check_scale (TD_ITEM TD_OUT (float) out, TD_IN (float) in, const int out_start,
                const int in_start, const int n, const TdCheckParams p)
{
  const int i = td_global_x ();

  if (i < n)
    out[out_start + i] = td_mad (p.a, in[in_start + i], p.b);
}

/* Every id a kernel may ask for: out[z][y][x] = global x + 1000 group y + 1000000 local z. */
TD_KERNEL void
td_check_ids (TD_ITEM TD_GLOBAL int *out)
{
  const int nx = td_groups_x () * TD_CHECK_LOCAL_X;
  const int ny = td_groups_y () * TD_CHECK_LOCAL_Y;

  out[(td_global_z () * ny + td_global_y ()) * nx + td_global_x ()]
      = td_global_x () + 1000 * td_group_y () + 1000000 * td_local_z ();
}

/* histogram[value] counts, from all work-items. */
TD_KERNEL void
td_check_count (TD_ITEM TD_GLOBAL int *histogram, TD_GLOBAL const int *values, const int n)
{
  const int i = td_global_x ();

  if (i < n)
    td_atomic_add_int (&histogram[values[i]], 1);
}
