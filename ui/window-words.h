/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/message.h"

/**
 * A message of the engine in the window's words. Its remedies are named as the command line spells
 * them (“take --method fbp”, “(--rows)”); here they are called as they stand in the window (“take
 * “Method: Filtered back-projection””, “(“Region”)”). Options that the window does not have stay.
 * NULL gives NULL. (transfer full)
 */
char *td_window_words (const char *message);

/* TdNaming of the window: “Centre of rotation”, “Method: Filtered back-projection”. */
char *td_window_naming (const char *field, const char *value, const char *argument);
