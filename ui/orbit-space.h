/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "orbit.h"
#include "render/space.h"

/* Source, detector, beam, axis, volume and orbit of one view, to be looked at. */
TdSpace *td_orbit_space (const TdOrbit *orbit, guint view);
