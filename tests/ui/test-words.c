/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages name what a person can change in the window's words. */
#include <string.h>

#include "ui/labels.h"

static void
test_fields (void)
{
  static const char *const cases[][2] = {
    { "Nothing to change.", "Nothing to change." },
    { "Slices 3:9 are not there ({rows})", "Slices 3:9 are not there (“Region: first row”)" },
    { "a small part ({region:X,Y,W,H}).", "a small part (“Part of the slice”)." },
    { "give the column ({centre:PX}), or", "give the column (“Centre of rotation”), or" },
    { "take {method=fbp}", "take “Method: Filtered back-projection”" },
    { "take {method=fista-tv}.", "take “Method: Few views (FISTA-TV)”." },
    { "mend {centre}, or take {field-of-view=full}",
      "mend “Centre of rotation”, or take “Field of view: As the detector”" },
    { "{field-of-view=half} puts both sides together.",
      "“Field of view: Wide: half acquisition” puts both sides together." },
    { "; {start} goes on.", "; “Begin with the filtered volume” goes on." },
    { "bin the detector ({bin=2}) or crop it ({crop})",
      "bin the detector (“Columns averaged to one: 2”) or crop it (“Detector”)" },
    { "or the open beam ({prepare=flat-field=65535}), or ({prepare=none})",
      "or the open beam (“Preparation: Flat field 65535”), or (“Preparation: none”)" },
    { "another ({prepare=dose=region:x=…:y=…}), or",
      "another (“Preparation: Dose of each frame region:x=…:y=…”), or" },
    { "{flats} gives another.", "“Open with Details (Ctrl+D): flats” gives another." },
    { "take {kernel=texture}", "take “Kernel: Texture”" },
    /* What is not in the window, and braces and hyphens that name nothing. */
    { "the device ({filter-on}).", "the device (--filter-on)." },
    { "a file--rows of it", "a file--rows of it" },
    { "--", "--" },
    { "{}", "{}" },
    { "", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdMessage) message = td_message_new_plain (cases[i][0]);
    g_autofree char *words = td_message_text (message, td_label_naming);
    g_assert_cmpstr (words, ==, cases[i][1]);
  }
}

static void
test_error (void)
{
  g_autoptr (GError) error = NULL;

  td_set_error (&error, TD_ERROR_INVALID, "%u rows; take {method=fdk}, or %s ({rows:A:B})", 3u,
                "fewer");
  g_autofree char *words = td_label_error (error);
  g_assert_cmpstr (words, ==,
                   "3 rows; take “Method: Cone beam (FDK)”, or fewer (“Region: first row”)");
  /* About a volume, a scan's fields have names of their own. */
  g_clear_error (&error);
  td_set_error (&error, TD_ERROR_INVALID, "{dataset}, {raw=8x8}, {pixel-mm}, {method=fdk}");
  g_autofree char *of_volume = td_label_volume_error (error);
  g_assert_cmpstr (of_volume, ==,
                   "“Data set”, “Headerless slices: 8x8”, “Voxel (mm)”, “Method: Cone beam (FDK)”");
}

/* What a recipe's file has wrong is named as the window names it. */
static void
test_refused (void)
{
  static const char *const cases[][2] = {
    { "{\"tomodesk_recipe\": 1, \"filter\": {\"cutoff\": 7}}", "“Cut-off”" },
    { "{\"tomodesk_recipe\": 1, \"method\": \"magic\"}", "“Method”" },
    { "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"zingers\", \"threshold\": -3}]}",
      "“Preparation: Zingers in projections threshold”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    g_assert_false (td_recipe_from_json (&recipe, cases[i][0], &error));
    g_autofree char *words = td_label_error (error);
    g_test_message ("%s", words);
    g_assert_nonnull (strstr (words, cases[i][1]));
    g_assert_null (strstr (words, "--"));
  }
}

/* A variant without a name is called as the window calls what it takes. */
static void
test_variants (void)
{
  static const char *const cases[][2] = {
    { "", "As the recipe" },
    { "--filter hann", "Filter: Hann (smooth)" },
    { "--interpolation nearest --cutoff 0.5", "Interpolation: Nearest, Cut-off: 0.5" },
    { "--prepare rings", "Preparation: Flat field, −log, Rings" },
    { "--prepare none", "Preparation: none" },
    { "--prepare no-flat-field,no-minus-log,rings-wavelet:sigma=3.5",
      "Preparation: Rings: wavelets and Fourier (Damping (frequencies): 3.5)" },
    { "--prepare no-minus-log", "Preparation: Flat field" },
  };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_autoptr (TdLab) lab = td_lab_new (&recipe, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    td_lab_add (lab, cases[i][0], &error);
    g_assert_no_error (error);
    g_autofree char *words = td_label_variant (lab->variants->pdata[i]);
    g_assert_cmpstr (words, ==, cases[i][1]);
  }
}

/* What was done is told by what is another now: fields, steps, their choices and their numbers. */
static void
test_changes (void)
{
  static const char *const cases[][3] = {
    { "", "", "" },
    { "--filter shepp-logan", "--filter hann", "Filter: Shepp-Logan → Hann (smooth)" },
    { "", "--prepare rings", "Rings: added" },
    { "--prepare rings", "", "Rings: removed" },
    { "", "--prepare no-minus-log", "−log: off" },
    { "--prepare no-minus-log", "", "−log: on" },
    { "--prepare flat-field:average=mean", "--prepare flat-field:average=median",
      "Flat field: mean → median" },
    { "--prepare rings-wavelet:sigma=3.5", "--prepare rings-wavelet:sigma=2",
      "Rings: wavelets and Fourier: 3.5 → 2.0" },
    { "--prepare rings", "--prepare zingers", "Rings: removed, Zingers in projections: added" },
    { "--cutoff 1", "--cutoff 0.5 --interpolation nearest",
      "Cut-off: 1 → 0.5, Interpolation: Automatic → Nearest" },
    { "", "--filter hann --cutoff 0.5 --tilt 1 --interpolation nearest --precision half",
      "5 changes at once" },
    { "--kernel texture", "--device host", "Kernel: Texture → Automatic, Compute on: auto → host" },
  };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdLab) lab = td_lab_new (&recipe, 0);
    g_autoptr (GError) error = NULL;
    const TdRecipe *recipes[2];
    for (guint k = 0; k < 2; k++) {
      td_lab_add (lab, cases[i][k], &error);
      g_assert_no_error (error);
      recipes[k] = &((TdLabVariant *) lab->variants->pdata[lab->variants->len - 1])->recipe;
    }
    g_autofree char *words = td_label_change (recipes[0], recipes[1]);
    g_assert_cmpstr (words, ==, cases[i][2]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/words/fields", test_fields);
  g_test_add_func ("/words/error", test_error);
  g_test_add_func ("/words/refused", test_refused);
  g_test_add_func ("/words/variants", test_variants);
  g_test_add_func ("/words/changes", test_changes);
  return g_test_run ();
}
