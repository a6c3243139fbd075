/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "message.h"

/* Files that people have of scans, and that no reader takes. By the name alone. */
gboolean td_other_format_is (const char *name);
/* "NAME is what: what to do", or the same of a folder that holds such files. (transfer full) */
TdMessage *td_other_format_file (const char *path);
TdMessage *td_other_format_folder (const char *path, const char *name);
