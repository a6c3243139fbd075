/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person states of a scan, each thing by itself: as options of a scan and as settings of the
   command line. It is copied, and remembered with the scan. */
#include <string.h>

#include "ui/scan-statement.h"

enum { PIXEL = TD_N_STATED, SOURCE_AXIS, SOURCE_DETECTOR, SINOGRAMS, EXTERNAL, N_STATED };

static void
state (TdScanStatement *statement, guint which)
{
  static const char *const texts[TD_N_STATED]
      = { " /flats.tif ", "/darks.tif",     "0:180",       "/scan.json",
          "entry",        "64x48:uint16:8", "attenuations" };

  switch (which) {
  case PIXEL: statement->pixel_mm = 0.25; break;
  case SOURCE_AXIS: statement->source_axis_mm = 0.5; break;
  case SOURCE_DETECTOR: statement->source_detector_mm = 0.75; break;
  case SINOGRAMS: statement->sinograms = TRUE; break;
  case EXTERNAL: statement->allow_external = TRUE; break;
  default: td_scan_statement_set (statement, which, texts[which]);
  }
}

static void
assert_is (const TdScanStatement *statement, guint bits)
{
  static const char *const words[N_STATED][2]
      = { { "flats", "/flats.tif" },    { "darks", "/darks.tif" }, { "angles", "0:180" },
          { "geometry", "/scan.json" }, { "dataset", "entry" },    { "raw", "64x48:uint16:8" },
          { "values", "attenuations" }, { "pixel-mm", "0.25" },    { "sod-mm", "0.5" },
          { "sdd-mm", "0.75" },         { "sinograms", "true" },   { "allow-external", "true" } };
  g_auto (GStrv) settings = td_scan_statement_settings (statement);
  g_autoptr (GError) error = NULL;
  const char *stated[N_STATED] = { NULL };
  TdScanOptions options;
  guint n = 0;

  for (guint i = 0; i < N_STATED; i++)
    if (bits >> i & 1) {
      stated[i] = words[i][1];
      g_assert_cmpstr (settings[n++], ==, words[i][0]);
      g_assert_cmpstr (settings[n++], ==, words[i][1]);
    }
  g_assert_cmpuint (g_strv_length (settings), ==, n);
  g_assert_cmpint (td_scan_statement_is_plain (statement), ==, bits == 0);
  g_assert_true (td_scan_statement_options (statement, &options, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (options.flats, ==, stated[TD_STATED_FLATS]);
  g_assert_cmpstr (options.darks, ==, stated[TD_STATED_DARKS]);
  g_assert_cmpstr (options.angles, ==, stated[TD_STATED_ANGLES]);
  g_assert_cmpstr (options.geometry, ==, stated[TD_STATED_GEOMETRY]);
  g_assert_cmpstr (options.dataset, ==, stated[TD_STATED_DATASET]);
  g_assert_cmpuint (options.raw_columns, ==, stated[TD_STATED_RAW] ? 64 : 0);
  g_assert_cmpuint (options.raw_rows, ==, stated[TD_STATED_RAW] ? 48 : 0);
  g_assert_cmpuint (options.raw_header_bytes, ==, stated[TD_STATED_RAW] ? 8 : 0);
  g_assert_cmpint (options.values, ==,
                   stated[TD_STATED_VALUES] ? TD_SCAN_VALUES_ATTENUATIONS : TD_SCAN_VALUES_FOUND);
  g_assert_cmpfloat (options.pixel_mm, ==, stated[PIXEL] ? 0.25 : 0);
  g_assert_cmpfloat (options.source_axis_mm, ==, stated[SOURCE_AXIS] ? 0.5 : 0);
  g_assert_cmpfloat (options.source_detector_mm, ==, stated[SOURCE_DETECTOR] ? 0.75 : 0);
  g_assert_cmpint (options.sinograms, ==, stated[SINOGRAMS] != NULL);
  g_assert_cmpint (options.allow_external, ==, stated[EXTERNAL] != NULL);
  g_assert_false (options.corrected);
}

/* Nothing, each thing by itself, each but one, and all. */
static void
test_each (void)
{
  const guint all = (1 << N_STATED) - 1;

  for (guint i = 0; i <= 2 * N_STATED + 1; i++) {
    const guint bits = i < N_STATED       ? 1u << i
                       : i < 2 * N_STATED ? all & ~(1u << (i - N_STATED))
                                          : (i % 2 ? all : 0);
    g_autoptr (TdScanStatement) statement = td_scan_statement_new ("/scan.nxs");
    for (guint k = 0; k < N_STATED; k++)
      if (bits >> k & 1)
        state (statement, k);
    g_assert_cmpstr (statement->path, ==, "/scan.nxs");
    assert_is (statement, bits);
    g_autoptr (TdScanStatement) copy = td_scan_statement_copy (statement);
    g_assert_cmpstr (copy->path, ==, "/scan.nxs");
    assert_is (copy, bits);
    /* What lies outside the scan's folder is asked for anew each time. */
    g_autoptr (GVariant) kept = g_variant_ref_sink (td_scan_statement_to_variant (statement));
    g_assert_true (g_variant_is_of_type (kept, G_VARIANT_TYPE (TD_SCAN_STATEMENT_TYPE)));
    g_autoptr (TdScanStatement) back = td_scan_statement_from_variant ("/other.nxs", kept);
    g_assert_cmpstr (back->path, ==, "/other.nxs");
    assert_is (back, bits & ~(1u << EXTERNAL));
    /* The copy is its own. */
    for (guint k = 0; k < TD_N_STATED; k++)
      td_scan_statement_set (copy, k, NULL);
    copy->sinograms = copy->allow_external = FALSE;
    copy->pixel_mm = copy->source_axis_mm = copy->source_detector_mm = 0;
    assert_is (copy, 0);
    assert_is (statement, bits);
  }
}

/* Words for what samples are; other words, and headerless files that are none. */
static void
test_words (void)
{
  static const struct {
    const char *word;
    TdScanValues values;
  } words[] = { { "intensities", TD_SCAN_VALUES_INTENSITIES },
                { "attenuations", TD_SCAN_VALUES_ATTENUATIONS },
                { "counts", TD_SCAN_VALUES_FOUND } };
  g_autoptr (TdScanStatement) statement = td_scan_statement_new ("/scan.raw");
  g_autoptr (GError) error = NULL;
  TdScanOptions options;

  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    td_scan_statement_set (statement, TD_STATED_VALUES, words[i].word);
    g_assert_true (td_scan_statement_options (statement, &options, &error));
    g_assert_cmpint (options.values, ==, words[i].values);
  }
  td_scan_statement_set (statement, TD_STATED_RAW, "64 by 48");
  g_assert_false (td_scan_statement_options (statement, &options, &error));
  g_assert_nonnull (error);
  td_scan_statement_free (NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/statement/each", test_each);
  g_test_add_func ("/statement/words", test_words);
  return g_test_run ();
}
