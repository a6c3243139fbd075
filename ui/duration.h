/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* "8 s", "3 min 20 s", "2 h 5 min": as precise as a person wants it. (transfer full) */
char *td_duration_text (double seconds);
