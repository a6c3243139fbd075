/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/* Short messages at the foot of a window, one after the other. */

/* Shows @toast when the messages before it have gone. Takes @toast. A message that is closed while
   it still comes is closed when it has come. Main thread. */
void td_toasts_show (AdwToastOverlay *overlay, AdwToast *toast);
/* Closes one that was shown here, also where it waits for others: then it never comes. */
void td_toasts_dismiss (AdwToastOverlay *overlay, AdwToast *toast);
