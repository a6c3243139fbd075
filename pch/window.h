/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As system.h, for what draws windows. */
#include <adwaita.h>
#include <math.h>
#include <string.h>
