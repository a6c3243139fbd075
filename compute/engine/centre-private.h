/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"
#include "compute/axis/axis.h"
#include "dataset/scan.h"

/* The axes that an engine has found. Any thread. */
typedef struct TdCentres TdCentres;

TdCentres *td_centres_new (void);
void td_centres_free (TdCentres *centres);
void td_centres_clear (TdCentres *centres);
TdCentres *td_engine_centres (TdEngine *engine);
