/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* What this build of the worker can do, in a sentence. */
const char *td_cluster_description (void);
