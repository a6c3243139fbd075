/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"
#include "file-row.h"

/**
 * The row that chooses the mask of bad pixels: a TdFileRow that reads its file, off the main
 * thread, before it takes it. The row refuses a file that is no mask of the open scan.
 */
typedef struct TdMaskRow TdMaskRow;
/* @path: NULL: none. */
typedef void (*TdMaskTaken) (const char *path, gpointer user);

TdMaskRow *td_mask_row_new (TdMaskTaken taken, gpointer user);
GtkWidget *td_mask_row_widget (TdMaskRow *row);           /* (transfer none) */
void td_mask_row_set_scan (TdMaskRow *row, TdScan *scan); /* (nullable) */
/* Shows the recipe's mask. If it is of another scan, the row says so. */
void td_mask_row_show (TdMaskRow *row, const char *path);
void td_mask_row_free (TdMaskRow *row);
