/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"

/* The program's methods, for td_engine_new(). */
extern const TdMethod *const td_methods[];
