/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person states of a scan instead of what its files say, as the recipe's fields are told. */
#include <glib/gi18n.h>

#include "dataset/error.h"
#include "field.h"

/* "WxH:TYPE[:SKIP]" fills several members. */
static gboolean
scan_fields_set_raw (const TdField *field, gpointer record, const char *text, GError **error)
{
  return td_scan_options_set_raw (record, text, error);
}

static const TdFieldKind raw_kind = { TD_FIELD_STRING, scan_fields_set_raw, NULL, NULL, NULL };

static const char *const value_names[] = { "", "intensities", "attenuations", NULL };

#define PATH(member) &td_kind_pointer, offsetof (TdScanOptions, member)
#define MM(member, least, most)                                                                    \
  &td_kind_number, offsetof (TdScanOptions, member), .low = least, .high = most

/* clang-format off */
const TdField td_scan_fields[] = {
  { "flats", "PATH", "Flat fields, if they are elsewhere", NULL,
    N_ ("Open with Details (Ctrl+D): flats"), PATH (flats) },
  { "darks", "PATH", "Dark fields, if they are elsewhere", NULL,
    N_ ("Open with Details (Ctrl+D): darks"), PATH (darks) },
  { "angles", "FILE|A:B", "A file of angles, or first and last angle in degrees", NULL,
    N_ ("Open with Details (Ctrl+D): angles"), PATH (angles) },
  { "geometry", "FILE", "A geometry file", NULL,
    N_ ("Open with Details (Ctrl+D): geometry file"), PATH (geometry) },
  { "pixel-mm", "MM", "Size of a detector pixel", NULL,
    N_ ("Open with Details (Ctrl+D): detector pixel"),
    MM (pixel_mm, TD_LEAST_PIXEL_MM, TD_MOST_PIXEL_MM),
    .expects = N_ ("a size in millimetres from 1e-7 to 100") },
  { "sod-mm", "MM", "Cone or fan beam: source to rotation axis", NULL,
    N_ ("Open with Details (Ctrl+D): source to axis"),
    MM (source_axis_mm, TD_LEAST_DISTANCE_MM, TD_MOST_DISTANCE_MM),
    .expects = N_ ("a distance in millimetres from 1e-4 to 1e8") },
  { "sdd-mm", "MM", "Cone or fan beam: source to detector", NULL,
    N_ ("Open with Details (Ctrl+D): source to detector"),
    MM (source_detector_mm, TD_LEAST_DISTANCE_MM, TD_MOST_DISTANCE_MM),
    .expects = N_ ("a distance in millimetres from 1e-4 to 1e8") },
  { "dataset", "NAME", "HDF5: where the projections are", NULL,
    N_ ("Open with Details (Ctrl+D): data set of the projections"), PATH (dataset) },
  { "sinograms", NULL, "TIFF and raw: every file or page is the sinogram of one row", NULL,
    N_ ("Open with Details (Ctrl+D): sinograms"), &td_kind_switch,
    offsetof (TdScanOptions, sinograms) },
  { "values", "KIND",
    "What the samples are, where that is not seen: intensities, or attenuations (−log was taken)",
    NULL, N_ ("Open with Details (Ctrl+D): values are"), &td_kind_choice,
    offsetof (TdScanOptions, values), .names = value_names,
    .expects = N_ ("one of intensities, attenuations") },
  { "raw", "WxH:TYPE[:SKIP]", "Headerless files: frame size, sample type, bytes to skip", NULL,
    N_ ("Open with Details (Ctrl+D): no header"), &raw_kind },
  { "allow-external", NULL, "HDF5: samples may lie in raw files outside the file's folder", NULL,
    N_ ("Open with Details (Ctrl+D): Raw files elsewhere"), &td_kind_switch,
    offsetof (TdScanOptions, allow_external) },
  { NULL },
};
/* clang-format on */

const TdField *
td_scan_field (const char *option)
{
  return td_field_find (td_scan_fields, option);
}

gboolean
td_scan_options_set (TdScanOptions *options, const char *option, const char *value, GError **error)
{
  const TdField *field = td_scan_field (option);

  if (field && *value)
    return td_field_set (field, options, value, error);
  return td_set_error (error, TD_ERROR_INVALID,
                       field ? N_ ("{%s} is empty") : N_ ("{%s} is no option of a scan"), option);
}
