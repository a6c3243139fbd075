/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"

/**
 * TdScanStatement: a scan's path, and what a person states about it instead of what its files say:
 * TdScanOptions that own their strings.
 */
typedef enum {
  TD_STATED_FLATS,
  TD_STATED_DARKS,
  TD_STATED_ANGLES, /* a file, or "A:B" in degrees */
  TD_STATED_GEOMETRY,
  TD_STATED_DATASET,
  TD_STATED_RAW,    /* "WIDTHxHEIGHT:TYPE[:SKIP]" */
  TD_STATED_VALUES, /* "intensities" or "attenuations" */
  TD_N_STATED
} TdStated;

typedef struct {
  char *path;
  char *texts[TD_N_STATED]; /* never NULL; "": not stated */
  gboolean sinograms;
  gboolean allow_external; /* asked anew each time: it is not remembered with the scan */
  double pixel_mm, source_axis_mm, source_detector_mm; /* 0: not stated */
} TdScanStatement;

TdScanStatement *td_scan_statement_new (const char *path);
TdScanStatement *td_scan_statement_copy (const TdScanStatement *statement);
void td_scan_statement_free (TdScanStatement *statement);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdScanStatement, td_scan_statement_free)

void td_scan_statement_set (TdScanStatement *statement, TdStated which, const char *text);
/* Nothing but the path is stated. */
gboolean td_scan_statement_is_plain (const TdScanStatement *statement);
/* @options point into @statement. FALSE with @error: the description of headerless files is none.
 */
gboolean td_scan_statement_options (const TdScanStatement *statement, TdScanOptions *options,
                                    GError **error);
/* What is stated as options of the command line: option and value in turns, NULL at the end.
   (transfer full) */
char **td_scan_statement_settings (const TdScanStatement *statement);
/* All but the path, to be remembered. (transfer floating) */
#define TD_SCAN_STATEMENT_TYPE "(asbddd)"
GVariant *td_scan_statement_to_variant (const TdScanStatement *statement);
TdScanStatement *td_scan_statement_from_variant (const char *path, GVariant *variant);
