/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"

G_DEFINE_QUARK (td - error - quark, td_error)
