/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-statement.h"

#include <string.h>

TdScanStatement *
td_scan_statement_new (const char *path)
{
  TdScanStatement *statement = g_new0 (TdScanStatement, 1);

  statement->path = g_strdup (path);
  for (guint i = 0; i < TD_N_STATED; i++)
    statement->texts[i] = g_strdup ("");
  return statement;
}

TdScanStatement *
td_scan_statement_copy (const TdScanStatement *statement)
{
  TdScanStatement *copy = g_memdup2 (statement, sizeof *statement);

  copy->path = g_strdup (statement->path);
  for (guint i = 0; i < TD_N_STATED; i++)
    copy->texts[i] = g_strdup (statement->texts[i]);
  return copy;
}

void
td_scan_statement_free (TdScanStatement *statement)
{
  if (!statement)
    return;
  g_free (statement->path);
  for (guint i = 0; i < TD_N_STATED; i++)
    g_free (statement->texts[i]);
  g_free (statement);
}

void
td_scan_statement_set (TdScanStatement *statement, TdStated which, const char *text)
{
  g_free (statement->texts[which]);
  statement->texts[which] = g_strstrip (g_strdup (text ? text : ""));
}

gboolean
td_scan_statement_is_plain (const TdScanStatement *statement)
{
  for (guint i = 0; i < TD_N_STATED; i++)
    if (*statement->texts[i])
      return FALSE;
  return !statement->sinograms && !statement->allow_external && statement->pixel_mm == 0
         && statement->source_axis_mm == 0 && statement->source_detector_mm == 0;
}

static const char *
scan_statement_stated (const TdScanStatement *statement, TdStated which)
{
  return *statement->texts[which] ? statement->texts[which] : NULL;
}

static TdScanValues
stated_values (const TdScanStatement *statement)
{
  const char *values = statement->texts[TD_STATED_VALUES];

  return strcmp (values, "intensities") == 0    ? TD_SCAN_VALUES_INTENSITIES
         : strcmp (values, "attenuations") == 0 ? TD_SCAN_VALUES_ATTENUATIONS
                                                : TD_SCAN_VALUES_FOUND;
}

gboolean
td_scan_statement_options (const TdScanStatement *statement, TdScanOptions *options, GError **error)
{
  *options = (TdScanOptions) {
    .flats = scan_statement_stated (statement, TD_STATED_FLATS),
    .darks = scan_statement_stated (statement, TD_STATED_DARKS),
    .angles = scan_statement_stated (statement, TD_STATED_ANGLES),
    .geometry = scan_statement_stated (statement, TD_STATED_GEOMETRY),
    .dataset = scan_statement_stated (statement, TD_STATED_DATASET),
    .sinograms = statement->sinograms,
    .allow_external = statement->allow_external,
    .values = stated_values (statement),
    .pixel_mm = statement->pixel_mm,
    .source_axis_mm = statement->source_axis_mm,
    .source_detector_mm = statement->source_detector_mm,
  };
  return !scan_statement_stated (statement, TD_STATED_RAW)
         || td_scan_options_set_raw (options, scan_statement_stated (statement, TD_STATED_RAW),
                                     error);
}

char **
td_scan_statement_settings (const TdScanStatement *statement)
{
  static const char *const options[TD_N_STATED]
      = { "flats", "darks", "angles", "geometry", "dataset", "raw", "values" };
  const struct {
    const char *option;
    double value;
  } sizes[] = { { "pixel-mm", statement->pixel_mm },
                { "sod-mm", statement->source_axis_mm },
                { "sdd-mm", statement->source_detector_mm } };
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  for (guint i = 0; i < TD_N_STATED; i++)
    if (*statement->texts[i])
      g_strv_builder_add_many (words, options[i], statement->texts[i], NULL);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (sizes[i].value > 0)
      g_strv_builder_add_many (words, sizes[i].option,
                               g_ascii_dtostr (text, sizeof text, sizes[i].value), NULL);
  }
  if (statement->sinograms)
    g_strv_builder_add_many (words, "sinograms", "true", NULL);
  if (statement->allow_external)
    g_strv_builder_add_many (words, "allow-external", "true", NULL);
  return g_strv_builder_end (words);
}

GVariant *
td_scan_statement_to_variant (const TdScanStatement *statement)
{
  GVariantBuilder texts;

  g_variant_builder_init (&texts, G_VARIANT_TYPE ("as"));
  for (guint i = 0; i < TD_N_STATED; i++)
    g_variant_builder_add (&texts, "s", statement->texts[i]);
  return g_variant_new (TD_SCAN_STATEMENT_TYPE, &texts, statement->sinograms, statement->pixel_mm,
                        statement->source_axis_mm, statement->source_detector_mm);
}

TdScanStatement *
td_scan_statement_from_variant (const char *path, GVariant *variant)
{
  TdScanStatement *statement = td_scan_statement_new (path);
  g_autoptr (GVariantIter) texts = NULL;
  const char *text;

  g_variant_get (variant, TD_SCAN_STATEMENT_TYPE, &texts, &statement->sinograms,
                 &statement->pixel_mm, &statement->source_axis_mm, &statement->source_detector_mm);
  for (guint i = 0; i < TD_N_STATED && g_variant_iter_next (texts, "&s", &text); i++)
    td_scan_statement_set (statement, i, text);
  return statement;
}
