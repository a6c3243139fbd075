/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/lab/lab.h"

/**
 * TdLabEditor: a popover that changes one variant: its name, the usual choices, and any other
 * options as on the command line. Signal: "applied" (const char *text), as td_lab_add() takes it.
 */
#define TD_TYPE_LAB_EDITOR (td_lab_editor_get_type ())
G_DECLARE_FINAL_TYPE (TdLabEditor, td_lab_editor, TD, LAB_EDITOR, GtkPopover)

/* @variant: NULL: a new one. */
void td_lab_editor_show (TdLabEditor *self, const TdLabVariant *variant);
/* What is wrong with what was applied; NULL: nothing, and the popover closes. */
void td_lab_editor_set_problem (TdLabEditor *self, const char *problem);
