/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/message.h"

/**
 * TdNaming of the window: what a message names is called as it stands in the window, “Centre of
 * rotation” or “Method: Filtered back-projection”. Fields that the window does not have are called
 * as on the command line. (transfer full)
 */
char *td_label_naming (const char *field, const char *value, const char *argument);
/* An error in the window's words. (transfer full) */
char *td_label_error (const GError *error);
