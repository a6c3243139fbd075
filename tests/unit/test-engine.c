/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices and previews lie where the recipe says, nothing is read twice, and bad samples are
   replaced and counted. */
#include "compute/engine/engine-private.h"
#include "compute/methods/methods.h"
#include "engine-scans.h"
#include "tests/common/frames.h"

/* ── A volume is its slices ── */

static void
test_rows_and_regions (void)
{
  g_autoptr (TdScan) scan = phantom_scan (65, 37, 60);
  TdTestVolume all, part, box;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.75);
  reconstruct (scan, &recipe, &all);
  g_assert_cmpuint (all.nx, ==, 65);
  g_assert_cmpuint (all.n_slices, ==, 37);

  for (guint row = 0; row < 37; row += 12) {
    recipe.row_first = row;
    recipe.row_end = row + 1;
    reconstruct (scan, &recipe, &part);
    assert_close (part.slices, all.slices + row * 65 * 65, 65 * 65, 1e-5);
    td_test_volume_clear (&part);
  }

  recipe.row_first = 5;
  recipe.row_end = 26;
  const gint region[4] = { 3, 11, 50, 21 };
  memcpy (recipe.region, region, sizeof region);
  reconstruct (scan, &recipe, &box);
  g_assert_cmpuint (box.nx, ==, 50);
  g_assert_cmpuint (box.ny, ==, 21);
  g_autofree float *crop = g_new (float, 21 * 21 * 50);
  for (guint slice = 0; slice < 21; slice++)
    for (guint y = 0; y < 21; y++)
      memcpy (crop + (slice * 21 + y) * 50, all.slices + ((slice + 5) * 65 + y + 11) * 65 + 3,
              50 * sizeof *crop);
  assert_close (box.slices, crop, 21 * 21 * 50, 1e-5);
  td_test_volume_clear (&box);
  td_test_volume_clear (&all);
}

/* Turning the stage the other way mirrors the angles; an offset turns the slice. */
static void
test_turn (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 1, 90);
  TdTestVolume plain, turned;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  reconstruct (scan, &recipe, &plain);
  recipe.angle_offset_deg = 180;
  reconstruct (scan, &recipe, &turned);
  g_autofree float *expected = g_new (float, 64 * 64);
  for (guint i = 0; i < 64 * 64; i++)
    expected[i] = plain.slices[64 * 64 - 1 - i];
  assert_close (turned.slices, expected, 64 * 64, 1e-4);
  td_test_volume_clear (&turned);

  recipe.angle_offset_deg = 0;
  recipe.reverse_rotation = TRUE;
  reconstruct (scan, &recipe, &turned);
  for (guint y = 0; y < 64; y++)
    memcpy (expected + y * 64, plain.slices + (63 - y) * 64, 64 * sizeof (float));
  assert_close (turned.slices, expected, 64 * 64, 1e-4);
  td_test_volume_clear (&turned);
  td_test_volume_clear (&plain);
}

static void
test_tilt (void)
{
  g_autoptr (TdScan) scan = phantom_scan (48, 9, 50);
  TdTestVolume tilted, row;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 25.25);
  recipe.tilt_deg = 2;
  reconstruct (scan, &recipe, &tilted);
  recipe.tilt_deg = 0;
  for (guint i = 0; i < 9; i += 4) {
    recipe.row_first = i;
    recipe.row_end = i + 1;
    recipe.centre_px = 25.25 + tan (2 * G_PI / 180) * (i - 4.0);
    reconstruct (scan, &recipe, &row);
    assert_close (tilted.slices + i * 48 * 48, row.slices, 48 * 48, 1e-5);
    td_test_volume_clear (&row);
  }
  td_test_volume_clear (&tilted);
}

/* Rows so long that a slab is filtered in several calls, whose ends fall between two sinograms. In
   half acquisition each row is weighted about its own axis, which is tilted. */
static void
test_filtered_in_pieces (void)
{
  TdTestVolume all, row;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "disc", 4096, 5, 72);
  spec.range_deg = 360;
  spec.logged = TRUE;
  spec.attenuation = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  recipe_init (&recipe, "host", 1900);
  recipe.method = TD_METHOD_FBP;
  recipe.field_of_view = TD_FIELD_HALF;
  recipe.tilt_deg = 3;
  const gint region[4] = { 2000, 2100, 24, 16 };
  memcpy (recipe.region, region, sizeof region);
  reconstruct (scan, &recipe, &all);
  for (guint i = 0; i < spec.n_rows; i++) {
    recipe.row_first = i;
    recipe.row_end = i + 1;
    reconstruct (scan, &recipe, &row);
    assert_close (all.slices + i * 24 * 16, row.slices, 24 * 16, 1e-6);
    td_test_volume_clear (&row);
  }
  td_test_volume_clear (&all);
  td_engine_trim (engine);
}

/* ── Previews ── */

static void
test_preview_reads_once (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 8, 70);
  Counting counting = { NULL };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume warm, cold;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  recipe.row_first = 3;
  recipe.row_end = 4;
  reconstruct (scan, &recipe, &warm);
  td_test_volume_clear (&warm);
  gint reads = counting.reads;
  g_assert_cmpint (reads, >, 0);

  const char *const edits[][2] = {
    { "centre", "31.5" },
    { "filter", "hann" },
    { "cutoff", "0.5" },
    { "angle-offset", "20" },
    { "prepare", "minus-log:floor=0.5" },
    { "interpolation", "nearest" },
    { "region", "5,5,20,30" },
    { "tilt", "1" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++) {
    g_autoptr (GError) error = NULL;
    td_recipe_set (&recipe, edits[i][0], edits[i][1], &error);
    g_assert_no_error (error);
    reconstruct (scan, &recipe, &warm);
    g_assert_cmpint (counting.reads, ==, reads);

    /* And it is the same as from the start. */
    g_autoptr (TdEngine) other = td_engine_new (td_methods);
    td_test_reconstruct (other, inner, &recipe, &cold, &error);
    g_assert_no_error (error);
    assert_close (warm.slices, cold.slices, (gsize) cold.nx * cold.ny, 1e-6);
    td_test_volume_clear (&warm);
    td_test_volume_clear (&cold);
  }

  recipe.row_first = 4;
  recipe.row_end = 5;
  reconstruct (scan, &recipe, &warm);
  g_assert_cmpint (counting.reads, >, reads);
  td_test_volume_clear (&warm);
  td_engine_trim (engine);
}

static void
test_volume_reads_once (void)
{
  g_autoptr (TdScan) inner = phantom_scan (32, 200, 20);
  Counting counting = { NULL };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume volume;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 17.25);
  reconstruct (scan, &recipe, &volume);
  g_test_message ("%d reads for 13 slabs", counting.reads);
  td_test_volume_clear (&volume);
  td_engine_trim (engine);
}

/* ── Bad samples ── */

/* Puts in a NaN here and there, one lost view, and one dead pixel in the flats. In the last row a
   sample is darker than the dark field. */
static void
spoil_a_little (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                guint count, float *frames)
{
  for (guint f = 0; f < count; f++)
    for (guint r = 0; r < n_rows; r++) {
      float *line = frames + ((gsize) f * n_rows + r) * n_columns;
      if (kind == TD_FRAME_FLAT)
        line[20] = 0;
      if (kind != TD_FRAME_PROJECTION)
        continue;
      if (first + f == 7)
        line[10] = NAN;
      if (first + f == 8)
        line[0] = line[1] = INFINITY;
      if (first + f == 30)
        for (guint c = 0; c < n_columns; c++)
          line[c] = NAN;
      if (first + f == 31 && row0 + r == 2)
        line[40] = -1000;
    }
}

static void
test_bad_samples (gconstpointer device)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 200);
  Counting counting = { .spoil = spoil_a_little };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume clean, spoilt;
  TdRecipe recipe;

  if (!have_device (device))
    return;
  recipe_init (&recipe, device, 33.25);
  reconstruct (inner, &recipe, &clean);
  reconstruct (scan, &recipe, &spoilt);
  g_assert_cmpuint (spoilt.result.counts.bad_values, ==, 3 * (1 + 2 + 64));
  g_assert_cmpuint (spoilt.result.counts.dead_pixels, ==, 3);
  g_assert_cmpuint (spoilt.result.counts.clamped_transmissions, ==, 1);
  for (gsize i = 0; i < 3 * 64 * 64; i++)
    g_assert_true (isfinite (spoilt.slices[i]));
  /* The clamped sample is a streak of its own; the rest is mended nearly without trace. */
  assert_close (spoilt.slices, clean.slices, 2 * 64 * 64, 0.08);
  td_test_volume_clear (&clean);
  td_test_volume_clear (&spoilt);
  td_engine_trim (engine);
}

/* A row that is no number in any view says nothing, and no slice is made of it. */
static void
spoil_row (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
           float *frames)
{
  for (guint f = 0; f < count && kind == TD_FRAME_PROJECTION; f++)
    for (guint r = 0; r < n_rows; r++)
      for (guint c = 0; c < n_columns && row0 + r == 2; c++)
        frames[((gsize) f * n_rows + r) * n_columns + c] = NAN;
}

static void
test_lost_row (void)
{
  static const char *const methods[] = { "fbp", "sirt" };
  g_autoptr (TdScan) inner = phantom_scan (32, 4, 20);
  Counting counting = { .spoil = spoil_row };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    g_autoptr (GError) error = NULL;
    TdTestVolume volume;
    TdRecipe recipe;

    recipe_init (&recipe, "host", 16);
    td_recipe_set (&recipe, "method", methods[i], NULL);
    g_assert_false (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
    g_assert_nonnull (strstr (error->message, "have no number in any view: 2. Leave"));
    g_clear_error (&error);
    recipe.row_end = 2;
    g_assert_true (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
    td_test_volume_clear (&volume);
  }
  td_engine_trim (engine);
}

/* One of the flats was taken without the beam, and one of the darks with it. */
static void
spoil_odd (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
           float *frames)
{
  const gsize pixels = (gsize) n_rows * n_columns;

  for (guint f = 0; f < count && kind != TD_FRAME_PROJECTION; f++)
    for (gsize i = 0; i < pixels && first + f == 1; i++)
      frames[f * pixels + i] = kind == TD_FRAME_FLAT ? 120 : 1e6f;
}

static void
test_odd_flats (void)
{
  static const char *const averages[]
      = { "flat-field", "flat-field:average=median", "flat-field:drift=none", "dose,flat-field" };
  g_autoptr (TdScan) inner = phantom_scan (32, 3, 40);
  Counting counting = { .spoil = spoil_odd };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);

  g_assert_cmpuint (td_scan_facts (inner)->n_flats, >, 1);
  g_assert_cmpuint (td_scan_facts (inner)->n_darks, >, 1);
  for (guint i = 0; i < G_N_ELEMENTS (averages); i++) {
    TdTestVolume clean, spoilt;
    TdRecipe recipe;

    recipe_init (&recipe, "host", 16);
    g_assert_true (td_recipe_set (&recipe, "prepare", averages[i], NULL));
    reconstruct (inner, &recipe, &clean);
    reconstruct (scan, &recipe, &spoilt);
    g_assert_cmpuint (clean.result.counts.odd.n_flats, ==, 0);
    g_assert_cmpuint (clean.result.counts.odd.n_darks, ==, 0);
    g_assert_cmpuint (spoilt.result.counts.odd.n_flats, ==, 1);
    g_assert_cmpuint (spoilt.result.counts.odd.first_flat, ==, 1);
    g_assert_cmpuint (spoilt.result.counts.odd.n_darks, ==, 1);
    g_assert_cmpuint (spoilt.result.counts.odd.first_dark, ==, 1);
    assert_close (spoilt.slices, clean.slices, 3 * 32 * 32, 0.02);
    td_test_volume_clear (&clean);
    td_test_volume_clear (&spoilt);
  }
  td_engine_trim (engine);
}

/* One of the flats is ten times as bright as the others, or most of them have no beam. */
static double bright_flat;

static void
spoil_bright (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
              float *frames)
{
  const gsize pixels = (gsize) n_rows * n_columns;

  for (guint f = 0; f < count && kind == TD_FRAME_FLAT; f++)
    for (gsize i = 0; i < pixels; i++)
      if (bright_flat > 0 ? first + f == 2 : first + f != 2)
        frames[f * pixels + i]
            = bright_flat > 0 ? frames[f * pixels + i] * (float) bright_flat : 120;
}

static void
test_bright_flat (void)
{
  static const double factors[] = { 10, 60, 0 };
  g_autoptr (TdScan) inner = phantom_scan (32, 3, 40);
  Counting counting = { .spoil = spoil_bright };
  const guint n_flats = td_scan_facts (inner)->n_flats;

  g_assert_cmpuint (n_flats, >, 3);
  for (guint i = 0; i < G_N_ELEMENTS (factors); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume clean, spoilt;
    TdRecipe recipe;

    bright_flat = factors[i];
    recipe_init (&recipe, "host", 16);
    g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field:drift=none", NULL));
    reconstruct (inner, &recipe, &clean);
    reconstruct (scan, &recipe, &spoilt);
    const TdFlatsOdd *odd = &spoilt.result.counts.odd;
    g_assert_cmpuint (odd->n_bright, ==, bright_flat > 0 ? 1 : 0);
    g_assert_cmpuint (odd->n_flats, ==, bright_flat > 0 ? 0 : n_flats - 1);
    g_assert_cmpuint (bright_flat > 0 ? odd->first_bright : 2, ==, 2);
    assert_close (spoilt.slices, clean.slices, 3 * 32 * 32, 0.03);
    td_test_volume_clear (&clean);
    td_test_volume_clear (&spoilt);
    td_engine_trim (engine);
  }
}

/* Stuck pixels are told; dead ones, air without noise and shadows without photons are not. */
static enum { STUCK, DEAD, AIR, SHADOW, N_SPOILS } stuck;

static void
spoil_stuck (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
             float *frames)
{
  const gsize n = (gsize) count * n_rows * n_columns;

  for (gsize i = 0; i < n; i++) {
    const guint column = i % n_columns, row = row0 + i / n_columns % n_rows;
    const guint frame = first + i / n_columns / n_rows;
    const guint noise = (frame * 7919 + column * 104729 + row * 1299709) * 2654435761U >> 24;
    if (stuck == DEAD && column == 20)
      frames[i] = 65535;
    if (kind == TD_FRAME_DARK)
      continue;
    if (stuck == STUCK)
      frames[i]
          = column == 20 || column == 21 || (row == 1 && column == 7) ? 65535 : frames[i] + noise;
    else if (stuck == AIR)
      frames[i] = column < 9 || column > 50 || kind == TD_FRAME_FLAT ? 40000 : frames[i] + noise;
    else if (stuck == SHADOW && kind == TD_FRAME_PROJECTION)
      frames[i] = noise < 2 ? 300 : 0;
  }
}

static void
test_stuck_pixels (gconstpointer device)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 40);
  Counting counting = { .spoil = spoil_stuck };

  if (!have_device (device))
    return;
  for (stuck = STUCK; stuck < N_SPOILS; stuck++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume volume;
    TdRecipe recipe;

    recipe_init (&recipe, device, 33.25);
    g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field", NULL));
    reconstruct (scan, &recipe, &volume);
    const TdPreparationCounts *counts = &volume.result.counts;
    g_test_message ("%u: %" G_GUINT64_FORMAT, stuck, counts->stuck_pixels);
    g_assert_cmpuint (counts->stuck_pixels, ==, stuck == STUCK ? 7 : stuck == DEAD ? 3 : 0);
    g_assert_cmpuint (counts->dead_pixels, ==, stuck == DEAD ? 3 : 0);
    g_assert_cmpint (strstr (volume.notes ? volume.notes : "", "the same value in all") != NULL, ==,
                     stuck == STUCK);
    td_test_volume_clear (&volume);
    td_engine_trim (engine);
  }
}

/* Counts beyond 32767 that were stored with a sign: what is below zero for that is told. So is why
   no flat is brighter than the darks, where a sign or values turned round explain it. */
static float signed_scale;

static void
spoil_signed (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
              float *frames)
{
  for (gsize i = 0; i < (gsize) count * n_rows * n_columns; i++)
    frames[i]
        = (gint16) (guint16) (200 + (kind == TD_FRAME_DARK ? 0 : signed_scale) * (frames[i] - 200));
}

static void
test_signed_counts (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 40);
  Counting counting = { .spoil = spoil_signed };

  static const float scales[] = { 0.7F, 0.85F, 1.3F, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (scales); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    g_autoptr (GError) error = NULL;
    TdTestVolume volume;
    TdRecipe recipe;

    signed_scale = scales[i];
    scan->facts.sample_type = i < 3 ? TD_SAMPLE_INT16 : TD_SAMPLE_UINT16;
    scan->facts.inverted = i == 3;
    recipe_init (&recipe, "host", 33.25);
    g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field", NULL));
    if (i >= 2) {
      g_assert_false (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
      g_assert_nonnull (strstr (error->message, i == 2 ? "whose samples have a sign"
                                                       : "so that their values were turned round"));
    } else {
      reconstruct (scan, &recipe, &volume);
      g_assert_cmpint (volume.result.counts.dead_pixels > 0, ==, i == 1);
      g_assert_cmpint (strstr (volume.notes ? volume.notes : "", "The samples have a sign") != NULL,
                       ==, i == 1);
      td_test_volume_clear (&volume);
    }
    td_engine_trim (engine);
  }
}

/* One absurd sample makes no frame odd: the frame serves, and its pixel is dead. */
static TdFrameKind absurd_kind;
static float absurd_value;

static void
spoil_one_sample (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                  guint count, float *frames)
{
  for (guint f = 0; f < count && kind == absurd_kind && row0 <= 1; f++)
    if (first + f == 1)
      frames[(gsize) (f * n_rows + 1 - row0) * n_columns + 20] = absurd_value;
}

static void
test_absurd_sample (void)
{
  static const struct {
    TdFrameKind kind;
    float value;
  } cases[] = { { TD_FRAME_DARK, 1e30f },
                { TD_FRAME_DARK, -1e30f },
                { TD_FRAME_FLAT, 1e30f },
                { TD_FRAME_FLAT, -1e30f } };
  g_autoptr (TdScan) inner = phantom_scan (32, 3, 40);
  Counting counting = { .spoil = spoil_one_sample };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume volume;
    TdRecipe recipe;

    absurd_kind = cases[i].kind;
    absurd_value = cases[i].value;
    recipe_init (&recipe, "host", 16);
    g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field:drift=none", NULL));
    reconstruct (scan, &recipe, &volume);
    const TdPreparationCounts *counts = &volume.result.counts;
    g_assert_cmpuint (counts->odd.n_flats + counts->odd.n_bright + counts->odd.n_darks, ==, 0);
    td_test_volume_clear (&volume);
    td_engine_trim (engine);
  }
}

/* Samples at the top of what the camera counts are told of, and single hot pixels are not. Cameras
   of fewer bits may store their counts in the upper ones. */
static guint saturated;
static float saturated_at, saturated_step;

static void
spoil_saturated (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                 guint count, float *frames)
{
  const gsize n = (gsize) count * n_rows * n_columns;

  for (gsize i = 0; i < n && kind == TD_FRAME_FLAT; i++)
    frames[i]
        = i % n_columns < saturated
              ? saturated_at
              : floorf (MIN (frames[i], saturated_at - 200) / saturated_step) * saturated_step;
}

static void
test_saturated_flats (void)
{
  static const struct {
    float at, step;
    guint columns;
    const char *says;
    gboolean stated; /* the level, by the scan */
  } cases[] = { { 65535, 1, 5, "2.5 % of the flats' samples are 65535" },
                { 65535, 1, 199, "100 % of the flats' samples are 65535" },
                { 65535, 1, 199, NULL, TRUE },
                { 4095, 1, 2, "1 % of the flats' samples are 4095" },
                { 65535, 1, 1, "0.5 % of the flats' samples are 65535" },
                { 65520, 16, 5, "2.5 % of the flats' samples are 65520" }, /* 12 bits */
                { 65532, 4, 5, "2.5 % of the flats' samples are 65532" },  /* 14 */
                { 65472, 64, 2, "1 % of the flats' samples are 65472" },   /* 10 */
                { 65520, 1, 5, NULL },
                { 65520, 16, 0, NULL },
                { 65504, 16, 5, NULL },
                { 49152, 16384, 5, NULL }, /* no camera has two bits */
                { 65535, 1, 0, NULL },
                { 65534, 1, 5, NULL } };
  g_autoptr (TdScan) inner = phantom_scan (199, 3, 20);
  Counting counting = { .spoil = spoil_saturated };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume volume;
    TdRecipe recipe;

    ((TdScanFacts *) td_scan_facts (scan))->white_level = cases[i].stated ? cases[i].at : 0;
    saturated = cases[i].columns;
    saturated_at = cases[i].at;
    saturated_step = cases[i].step;
    recipe_init (&recipe, "host", 99);
    reconstruct (scan, &recipe, &volume);
    const char *notes = volume.notes;
    g_test_message ("%s", notes);
    g_assert_true (!cases[i].says || strstr (notes, cases[i].says));
    g_assert_cmpint (strstr (notes, "saturated") != NULL, ==, cases[i].says != NULL);
    td_test_volume_clear (&volume);
    td_engine_trim (engine);
  }
}

/* Flats of another exposure than the projections are told where the air comes out too bright. */
static float exposure;

static void
spoil_exposure (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                guint count, float *frames)
{
  for (gsize i = 0; i < (gsize) count * n_rows * n_columns && kind == TD_FRAME_FLAT; i++)
    frames[i] = 100 + (frames[i] - 100) * exposure;
}

static void
test_dark_flats (gconstpointer device)
{
  static const struct {
    float exposure;
    const char *prepare;
    gboolean said;
  } cases[] = { { 1, "flat-field", FALSE },         { 0.9f, "flat-field", FALSE },
                { 0.8f, "flat-field", TRUE },       { 0.5f, "flat-field", TRUE },
                { 0.5f, "dose,flat-field", FALSE }, { 1, "no-flat-field", FALSE } };
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 40);
  Counting counting = { .spoil = spoil_exposure };

  if (!have_device (device))
    return;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume volume;
    TdRecipe recipe;

    exposure = cases[i].exposure;
    recipe_init (&recipe, device, 33.25);
    g_assert_true (td_recipe_set (&recipe, "prepare", cases[i].prepare, NULL));
    reconstruct (scan, &recipe, &volume);
    const TdPreparationCounts *counts = &volume.result.counts;
    g_test_message ("%g: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, (double) exposure,
                    counts->bright_sides, counts->sides);
    g_assert_cmpuint (counts->sides, ==, 3 * 40 * 2 * 2);
    g_assert_cmpint (strstr (volume.notes ? volume.notes : "", "brighter than the open") != NULL,
                     ==, cases[i].said);
    td_test_volume_clear (&volume);
    td_engine_trim (engine);
  }
}

/* A round or square sample or a plate, with a core of another material; lengths in columns. The
   beam is weaker than the flats' and loses a share over the views. */
typedef struct {
  double half, core, level, beam;
  gboolean square;
  double thin, lost;
} Wide;
static Wide wide;

static double
wide_chord (double u, double half, double angle)
{
  if (!wide.square)
    return 2 * sqrt (MAX (half * half - u * u, 0));
  const double c = fabs (cos (angle)), s = fabs (sin (angle)),
               other = wide.thin > 0 ? wide.thin : half;
  const double most = MIN (2 * half / MAX (s, 1e-6), 2 * other / MAX (c, 1e-6));
  return CLAMP ((half * c + other * s - fabs (u)) / MAX (c * s, 1e-6), 0, most);
}

static void
spoil_wide (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
            float *frames)
{
  for (guint f = 0; f < count; f++) {
    const double beam = wide.beam * (1 - wide.lost * (first + f) / 39.0);
    for (guint i = 0; i < n_rows * n_columns; i++) {
      const double u = i % n_columns - (n_columns - 1) / 2.0, angle = (first + f) * G_PI / 40;
      const double value = wide.level * wide_chord (u, wide.half, angle) / (2 * wide.half)
                           + sqrt (MAX (wide.core * wide.core - u * u, 0)) / 20;
      const double noise = 1 + 0.01 * sin (12.9898 * i + 78.233 * (first + f));
      frames[(gsize) f * n_rows * n_columns + i]
          = kind == TD_FRAME_DARK   ? 100
            : kind == TD_FRAME_FLAT ? 10100
                                    : (float) (100 + 1e4 * beam * noise * exp (-value));
    }
  }
}

typedef struct {
  Wide sample;
  const char *prepare;
  gboolean said;
} WideCase;

/* Whether a reconstruction says the words, where it should. */
static void
check_wide (const WideCase *cases, guint n, const char *device, const char *words)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 40);
  Counting counting = { .spoil = spoil_wide };

  if (!have_device (device))
    return;
  for (guint i = 0; i < n; i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    TdTestVolume volume;
    TdRecipe recipe;

    wide = cases[i].sample;
    recipe_init (&recipe, device, 31.5);
    g_assert_true (td_recipe_set (&recipe, "prepare", cases[i].prepare, NULL));
    reconstruct (scan, &recipe, &volume);
    g_test_message ("%u: %s", i, volume.notes);
    g_assert_cmpint (strstr (volume.notes ? volume.notes : "", words) != NULL, ==, cases[i].said);
    td_test_volume_clear (&volume);
    td_engine_trim (engine);
  }
}

/* Flats that are too bright are told, and samples that are wider than the detector are not. */
static void
test_bright_sides (gconstpointer device)
{
  static const WideCase cases[] = { { { 20, 0, 2, 1, FALSE }, "flat-field", FALSE },
                                    { { 20, 0, 2, 0.9, FALSE }, "flat-field", FALSE },
                                    { { 20, 0, 2, 0.75, FALSE }, "flat-field", TRUE },
                                    { { 15, 8, 2, 0.5, TRUE }, "flat-field", TRUE },
                                    { { 20, 10, 1, 0.1, FALSE }, "flat-field", TRUE },
                                    { { 20, 0, 2, 0.5, FALSE }, "dose,flat-field", FALSE },
                                    { { 36, 0, 1, 1, FALSE }, "flat-field", FALSE },
                                    { { 36, 0, 1, 0.5, FALSE }, "flat-field", FALSE },
                                    { { 48, 10, 2, 1, FALSE }, "flat-field", FALSE },
                                    { { 64, 0, 0.5, 1, FALSE }, "flat-field", FALSE },
                                    { { 64, 15, 3, 1, FALSE }, "flat-field", FALSE },
                                    { { 128, 0, 2, 1, FALSE }, "flat-field", FALSE },
                                    { { 128, 10, 1, 1, FALSE }, "flat-field", FALSE },
                                    { { 40, 0, 1, 1, TRUE }, "flat-field", FALSE },
                                    { { 90, 20, 2, 1, TRUE }, "flat-field", FALSE } };

  check_wide (cases, G_N_ELEMENTS (cases), device, "the same attenuation of");
}

/* A beam that drifts away from the flats' is told; samples that cover the sides in some views only
   are not. */
static void
test_drift (gconstpointer device)
{
  static const WideCase cases[] = { { { 20, 0, 2, 1, FALSE, 0, 0.2 }, "flat-field", TRUE },
                                    { { 20, 0, 2, 1.2, FALSE, 0, 0.2 }, "flat-field", TRUE },
                                    { { 20, 0, 2, 1, FALSE, 0, -0.06 }, "flat-field", TRUE },
                                    { { 18, 0, 1, 1, TRUE, 6, 0.1 }, "flat-field", TRUE },
                                    { { 20, 0, 2, 1, FALSE, 0, 0.03 }, "flat-field", FALSE },
                                    { { 20, 0, 2, 1, FALSE, 0, 0.2 }, "dose,flat-field", FALSE },
                                    { { 40, 0, 2, 1, FALSE, 0, 0.2 }, "flat-field", FALSE },
                                    { { 36, 0, 2, 1, TRUE, 0, 0 }, "flat-field", FALSE },
                                    { { 50, 0, 5, 1, TRUE, 2, 0 }, "flat-field", FALSE },
                                    { { 100, 0, 5, 1, TRUE, 5, 0 }, "flat-field", FALSE } };

  check_wide (cases, G_N_ELEMENTS (cases), device, "the beam drifted");
}

/* A beam that the monitor has counted, of views and of flats before and after. */
static double monitored[40 + 10];

static void
spoil_beam (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
            float *frames)
{
  const gsize pixels = (gsize) n_rows * n_columns;

  for (guint f = 0; f < count && kind != TD_FRAME_DARK; f++)
    for (gsize i = 0; i < pixels; i++)
      frames[f * pixels + i]
          = 200
            + (frames[f * pixels + i] - 200)
                  * (float) monitored[(kind == TD_FRAME_FLAT ? 40 : 0) + first + f] / 500;
}

static void
test_monitor (gconstpointer device)
{
  static const char *const prepare[]
      = { "dose=monitor,flat-field", "dose=monitor,flat-field:drift=none" };
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 40);
  const TdScanFacts *facts = td_scan_facts (inner);
  Counting counting = { .spoil = spoil_beam };
  g_autoptr (GError) error = NULL;
  TdTestVolume clean, spoilt;
  TdRecipe recipe;

  if (!have_device (device))
    return;
  g_assert_cmpuint (facts->n_flats, ==, 10);
  for (guint i = 0; i < G_N_ELEMENTS (prepare); i++) {
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);

    /* Flats of one average differ, too, and one had no beam. */
    for (guint frame = 0; frame < 50; frame++)
      monitored[frame] = frame < 40 ? 500 - 2 * frame + 60 * sin (frame) : 600 - 12 * (frame - 40);
    monitored[43] = 0.5;
    scan->facts.flat_positions = g_memdup2 (facts->flat_positions, 10 * sizeof (double));
    recipe_init (&recipe, device, 33.25);
    g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field", NULL));
    reconstruct (inner, &recipe, &clean);
    g_assert_true (td_recipe_set (&recipe, "prepare", prepare[i], NULL));
    g_assert_false (td_test_reconstruct (engine, scan, &recipe, &spoilt, &error));
    g_assert_nonnull (strstr (error->message, "has no monitor's count"));
    g_clear_error (&error);
    scan->facts.monitor = g_memdup2 (monitored, sizeof monitored);
    reconstruct (scan, &recipe, &spoilt);
    assert_close (spoilt.slices, clean.slices, 3 * 64 * 64, 1e-4);
    g_assert_nonnull (strstr (spoilt.notes, "The frames' doses, from "));
    g_assert_null (strstr (spoilt.notes, "where it was looked for"));
    td_test_volume_clear (&clean);
    td_test_volume_clear (&spoilt);
    td_engine_trim (engine);
  }
}

static void
spoil_flats (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
             float *frames)
{
  if (kind == TD_FRAME_FLAT)
    memset (frames, 0, (gsize) count * n_rows * n_columns * sizeof *frames);
}

static void
test_zero_flats (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 20);
  Counting counting = { .spoil = spoil_flats };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  g_assert_false (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  g_assert_nonnull (strstr (error->message, "flat field"));
  td_engine_trim (engine);
}

/* Rows that are read around others' do not count: however the volume is cut, the counts of its
   parts are together those of the whole. */
static void
test_counts (gconstpointer method)
{
  TdTestFrames frames;
  TdPreparationCounts sum = { 0 };
  TdTestVolume volume;
  TdRecipe recipe;

  td_test_frames_init (&frames, 12, 24, 32, TD_TEST_INTENSITIES);
  recipe_init (&recipe, "host", 15.5);
  g_assert_true (td_recipe_set (&recipe, "prepare",
                                "bad-pixels:reach=3,zingers:size=5x5,flat-field,"
                                "minus-log,zingers-angle",
                                NULL));
  g_assert_true (td_recipe_set (&recipe, "method", method, NULL));
  recipe.iterations = 1;
  for (guint row = 0; row < 12; row += 3) {
    recipe.row_first = row;
    recipe.row_end = row + 3;
    reconstruct (frames.scan, &recipe, &volume);
    td_preparation_counts_add (&sum, &volume.result.counts);
    td_test_volume_clear (&volume);
  }
  recipe.row_first = recipe.row_end = 0;
  reconstruct (frames.scan, &recipe, &volume);
  const TdPreparationCounts *all = &volume.result.counts;
  g_assert_cmpuint (all->bad_pixels, >, 20);
  g_assert_cmpuint (all->zingers, >, 20);
  g_assert_cmpuint (all->zingers_angle, >, 20);
  g_assert_cmpuint (all->sides, >, 0);
  g_assert_cmpuint (sum.bad_pixels, ==, all->bad_pixels);
  g_assert_cmpuint (sum.dead_pixels, ==, all->dead_pixels);
  g_assert_cmpuint (sum.zingers, ==, all->zingers);
  g_assert_cmpuint (sum.zingers_angle, ==, all->zingers_angle);
  g_assert_cmpuint (sum.sides, ==, all->sides);
  g_assert_cmpuint (sum.bright_sides, ==, all->bright_sides);
  g_assert_cmpmem (&sum.levels, sizeof sum.levels, &all->levels, sizeof all->levels);
  td_test_volume_clear (&volume);
  td_test_frames_clear (&frames);
  td_engine_trim (engine);
}

/* A plan of iterations states what is read: for the filtered volume, too, and around each slab. */
static void
test_iterative_reads (void)
{
  static const char *const prepare[] = { "rings", "zingers:size=5x5" };

  for (guint i = 0; i < 8; i++) {
    TdRecipe recipe;
    g_autoptr (GError) error = NULL;

    g_autoptr (TdScan) inner = phantom_scan (64, 40, 60);
    Counting counting = { NULL };
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    scan->facts.in_memory = i / 4; /* what is not, is copied */
    recipe_init (&recipe, "host", 31.5);
    g_assert_true (td_recipe_set (&recipe, "method", "sirt", NULL));
    g_assert_true (td_recipe_set (&recipe, "start", i & 1 ? "zero" : "filtered", NULL));
    g_assert_true (td_recipe_set (&recipe, "prepare", prepare[i / 2 % 2], NULL));
    recipe.iterations = 1;
    recipe.row_first = 5;
    recipe.row_end = 33;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_run (job, NULL, &error);
    g_assert_no_error (error);
    g_test_message ("%u: %" G_GSIZE_FORMAT " bytes", i, counting.bytes);
    g_assert_cmpuint (plan->facts.read_bytes, ==, counting.bytes);
    td_engine_trim (engine);
  }
}

/* Reading, computing and writing overlap but for one slab, and each storage has its own rate. */
static void
test_estimate (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 96, 40);
  g_autofree char *output = g_build_filename (g_get_tmp_dir (), "tomodesk-not-made", NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  recipe.method = TD_METHOD_FBP;
  for (guint slowest = 0; slowest < 3; slowest++) {
    g_autoptr (TdPlan) before = td_plan_new (engine, scan, &recipe, output, NULL, &error);
    g_assert_no_error (error);
    const TdFbp *fbp = before->extra;
    const double bytes[] = { before->facts.read_bytes, before->facts.write_bytes };
    char *keys[] = { td_plan_read_key (before), td_plan_write_key (before),
                     td_fbp_rate_key (before->devices->pdata[0], fbp->families[0],
                                      TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE) };
    double seconds[3] = { 2, 3, 4 };
    seconds[slowest] = 20;
    for (guint i = 0; i < 3; i++)
      td_engine_set_rate (engine, keys[i], i < 2 ? bytes[i] : before->facts.updates, seconds[i]);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, output, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (plan->facts.n_slabs, >, 1);
    const double others = seconds[0] + seconds[1] + seconds[2] - 20;
    g_assert_cmpfloat_with_epsilon (plan->facts.estimate_s, 20 + others / plan->facts.n_slabs,
                                    1e-6);
    for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
      g_free (keys[i]);
  }
  /* Storage that nothing was written to yet. */
  recipe.output_bits = 8;
  g_autoptr (TdPlan) other = td_plan_new (engine, scan, &recipe, output, NULL, &error);
  g_autofree char *key = td_plan_write_key (other);
  g_assert_true (td_engine_rate (engine, key, other->facts.write_bytes) > 0
                 || other->facts.estimate_s == 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/engine/rows-and-regions", test_rows_and_regions);
  g_test_add_func ("/engine/turn", test_turn);
  g_test_add_func ("/engine/estimate", test_estimate);
  g_test_add_func ("/engine/tilt", test_tilt);
  g_test_add_func ("/engine/filtered-in-pieces", test_filtered_in_pieces);
  g_test_add_func ("/engine/preview-reads-once", test_preview_reads_once);
  g_test_add_func ("/engine/volume-reads-once", test_volume_reads_once);
  g_test_add_func ("/engine/bad-samples/odd-flats", test_odd_flats);
  g_test_add_func ("/engine/bad-samples/bright-flat", test_bright_flat);
  g_test_add_data_func ("/engine/bad-samples/stuck-pixels/host", "host", test_stuck_pixels);
  g_test_add_data_func ("/engine/bad-samples/stuck-pixels/opencl", "opencl:0", test_stuck_pixels);
  g_test_add_func ("/engine/bad-samples/signed-counts", test_signed_counts);
  g_test_add_func ("/engine/bad-samples/absurd-sample", test_absurd_sample);
  g_test_add_data_func ("/engine/bad-samples/dark-flats/host", "host", test_dark_flats);
  g_test_add_data_func ("/engine/bad-samples/dark-flats/opencl", "opencl:0", test_dark_flats);
  g_test_add_data_func ("/engine/bad-samples/bright-flats/host", "host", test_bright_sides);
  g_test_add_data_func ("/engine/bad-samples/bright-flats/opencl", "opencl:0", test_bright_sides);
  g_test_add_data_func ("/engine/bad-samples/drift/host", "host", test_drift);
  g_test_add_data_func ("/engine/bad-samples/drift/opencl", "opencl:0", test_drift);
  g_test_add_func ("/engine/bad-samples/saturated-flats", test_saturated_flats);
  g_test_add_data_func ("/engine/monitor/host", "host", test_monitor);
  g_test_add_data_func ("/engine/monitor/opencl", "opencl:0", test_monitor);
  g_test_add_func ("/engine/bad-samples/lost-row", test_lost_row);
  g_test_add_data_func ("/engine/bad-samples/host", "host", test_bad_samples);
  g_test_add_data_func ("/engine/bad-samples/opencl", "opencl:0", test_bad_samples);
  g_test_add_func ("/engine/zero-flats", test_zero_flats);
  g_test_add_func ("/engine/iterative-reads", test_iterative_reads);
  g_test_add_data_func ("/engine/counts/fbp", "fbp", test_counts);
  g_test_add_data_func ("/engine/counts/sirt", "sirt", test_counts);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
