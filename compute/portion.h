/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What is too large to be held at once is worked through in portions. Tests make all of them
   smaller, by so many powers of two, so that little data has many. */
extern guint td_portion_shift;

/* What a portion may have, bytes or samples, where that is usually @most. */
guint64 td_portion (guint64 most);
