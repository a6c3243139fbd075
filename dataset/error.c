/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"

/* clang-format off: the first word is a name with hyphens. */
G_DEFINE_QUARK (td - error - quark, td_error)
/* clang-format on */
