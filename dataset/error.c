/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"

/* The first word is a name with hyphens. */
/* clang-format off */
G_DEFINE_QUARK (td-error-quark, td_error)
/* clang-format on */
