/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Structures shared by host code and kernels, passed by value: only 4-byte int, unsigned and float
   members, so that every compiler lays them out alike. Included by C and, as text, by every dialect. */
