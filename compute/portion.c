/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "portion.h"

guint td_portion_shift;

guint64
td_portion (guint64 most)
{
  return MAX (most >> td_portion_shift, 1);
}
