/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/lab/lab.h"

/**
 * TdLabTable: a lab's variants and their figures, a row each, sorted by any column. A row's menu
 * activates the actions "lab.edit", "lab.duplicate", "lab.remove" and "lab.use" with the variant's
 * index.
 */
#define TD_TYPE_LAB_TABLE (td_lab_table_get_type ())
G_DECLARE_FINAL_TYPE (TdLabTable, td_lab_table, TD, LAB_TABLE, AdwBin)

/* Both are borrowed until the next call. @result: NULL: nothing is known yet.
   @stopped: nothing more will be known. */
void td_lab_table_show (TdLabTable *self, const TdLab *lab, const TdLabResult *result,
                        gboolean stopped);
