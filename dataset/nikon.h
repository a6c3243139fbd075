/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* The first TIFF file of the series that an .xtekct file belongs to: Name, InputSeparator and a
   number, in InputFolderName or beside it. (transfer full) */
char *td_nikon_first_projection (const char *path, GError **error);
