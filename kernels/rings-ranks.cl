/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers at ranks of columns' second differences, for GPUs. CPUs sort (rings-sort.cl). */
#include "rings-common.h"

#define TEAM_MOST 128
#define HELD 32 /* keys that an item keeps */

/* ranked[row][block][rank][column]: the numbers at four ranks among the n keys of each block of
   views, found bit by bit. A group takes a block of SORT_LANES columns; `items` / SORT_LANES items
   share a column's keys, and count them together. */
TD_KERNEL void
rings_block_ranks (TD_ITEM TD_IN (int) keys, TD_OUT (float) ranked, int n, int n_columns,
                   int n_blocks, int items)
{
  TD_LOCAL uint counted[2][2][TEAM_MOST];
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int lane = item % items, group = item / items, parts = items / SORT_LANES;
  int part = lane / SORT_LANES, l = lane % SORT_LANES, block = group % n_blocks;
  int column = group / n_blocks * SORT_LANES + l, held[HELD];
  TD_GLOBAL const int *from = keys + offset_place (row, column, n_columns, n_blocks * n)
                              + (size_t) block * n * SORT_LANES;
  const int ranks[RANKS] = { n / 4, (n - 1) / 2, n / 2, n - 1 - n / 4 };
  uint at[RANKS] = { 0, 0, 0, 0 };

  TD_UNROLL
  for (int k = 0; k < HELD; k++) {
    int i = part + k * parts;
    held[k] = i < n ? from[(size_t) i * SORT_LANES] : 0x7fffffff;
  }
  for (int bit = 31; bit >= 0; bit--) {
    int limits[RANKS], below[RANKS];
    TD_UNROLL
    for (int r = 0; r < RANKS; r++) {
      limits[r] = (int) ((at[r] | 1u << bit) ^ 0x80000000u);
      below[r] = 0;
    }
    TD_UNROLL
    for (int k = 0; k < HELD; k++) {
      TD_UNROLL
      for (int r = 0; r < RANKS; r++)
        below[r] += held[k] < limits[r] ? 1 : 0;
    }
    for (int i = part + HELD * parts; i < n; i += parts) {
      int key = from[(size_t) i * SORT_LANES];
      TD_UNROLL
      for (int r = 0; r < RANKS; r++)
        below[r] += key < limits[r] ? 1 : 0;
    }
    /* The two places for counts take turns, so that one barrier is enough. */
    counted[bit & 1][0][lane] = (uint) below[0] | (uint) below[1] << 16;
    counted[bit & 1][1][lane] = (uint) below[2] | (uint) below[3] << 16;
    td_barrier ();
    uint low = 0, high = 0;
    for (int other = 0; other < parts; other++) {
      low += counted[bit & 1][0][other * SORT_LANES + l];
      high += counted[bit & 1][1][other * SORT_LANES + l];
    }
    at[0] |= (int) (low & 0xffffu) <= ranks[0] ? 1u << bit : 0u;
    at[1] |= (int) (low >> 16) <= ranks[1] ? 1u << bit : 0u;
    at[2] |= (int) (high & 0xffffu) <= ranks[2] ? 1u << bit : 0u;
    at[3] |= (int) (high >> 16) <= ranks[3] ? 1u << bit : 0u;
  }
  if (part > 0 || column >= n_columns)
    return;
  TD_GLOBAL float *to = ranked + ((size_t) row * n_blocks + block) * RANKS * n_columns + column;
  for (int r = 0; r < RANKS; r++)
    to[(size_t) r * n_columns] = offset_value ((int) (at[r] ^ 0x80000000u));
}
