/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short messages at the foot of a window, one after the other. */
#ifndef TD_UI_TOASTS_H
#define TD_UI_TOASTS_H

#include <adwaita.h>

G_BEGIN_DECLS

/* Shows @toast when the messages before it have gone. Takes @toast. A message that is closed while
   it still comes is closed when it has come. Main thread. */
void td_toasts_show (AdwToastOverlay *overlay, AdwToast *toast);

G_END_DECLS

#endif
