/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Registers the room's templates and style sheet; before any widget is made. Main thread. */
void td_ui_init (void);
