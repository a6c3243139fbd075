/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Orders for qsort(): smallest first. NaN has no place among the others: take it out before. */
int td_compare_doubles (const void *a, const void *b);
int td_compare_floats (const void *a, const void *b);
