/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "orbit.h"

/* One line about the geometry, in words. */
typedef struct {
  char *title, *value;
} TdOrbitFact;

/* (element-type TdOrbitFact) (transfer full): frees its strings. */
GArray *td_orbit_facts (const TdOrbit *orbit);
