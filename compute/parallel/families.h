/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/* One back-projection family a file, family-*.c; backproject.c lists them. */
extern const TdBackprojectFamily td_family_alu;
extern const TdBackprojectFamily td_family_host;
extern const TdBackprojectFamily td_family_hybrid;
extern const TdBackprojectFamily td_family_oversampling;
extern const TdBackprojectFamily td_family_standard;
extern const TdBackprojectFamily td_family_texture;
/* By name of the method only: backproject.c does not list it. */
extern const TdBackprojectFamily td_family_fourier;
