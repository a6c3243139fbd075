/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How ranks divide a volume, and what is left to do after an earlier run. */
#include <math.h>

#include "cluster/parts.h"
#include "tests/unit/test-folder.h"

static const struct {
  guint ranks, rows, columns; /* 0: free */
  guint n_slices, n_views;
  gboolean one_column;
  guint got_rows, got_columns;
  guint least_rows; /* 0: as many as possible */
} grids[] = {
  { 1, 0, 0, 10, 20, FALSE, 1, 1 },     { 6, 0, 0, 100, 20, FALSE, 6, 1 },
  { 6, 0, 0, 4, 20, FALSE, 3, 2 },      { 6, 0, 0, 4, 20, TRUE, 4, 1 },
  { 6, 2, 0, 100, 20, FALSE, 2, 3 },    { 6, 0, 3, 100, 20, FALSE, 2, 3 },
  { 7, 0, 2, 100, 20, FALSE, 3, 2 },    { 8, 1, 0, 100, 6, FALSE, 1, 3 },
  { 4, 2, 3, 100, 20, FALSE, 0, 0 },    { 4, 4, 1, 3, 20, FALSE, 0, 0 },
  { 8, 0, 0, 100, 20, FALSE, 1, 8, 1 }, { 8, 0, 0, 100, 20, FALSE, 4, 2, 4 },
  { 6, 0, 0, 100, 20, FALSE, 6, 1, 4 }, { 4, 1, 0, 100, 20, FALSE, 1, 4, 2 },
  { 8, 0, 0, 100, 6, FALSE, 4, 2, 1 },  { 4, 0, 0, 3, 20, FALSE, 3, 1, 8 },
  { 4, 1, 2, 100, 20, TRUE, 0, 0 },     { 4, 1, 4, 100, 6, FALSE, 0, 0 },
};

static void
test_choice (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (grids); i++) {
    const TdClusterWish wish = { .rows = grids[i].rows, .columns = grids[i].columns };
    const TdGridLimits limits = { grids[i].n_slices, grids[i].n_views, grids[i].least_rows,
                                  grids[i].one_column ? "rows want all views" : NULL };
    g_autoptr (GError) error = NULL;
    TdGrid grid;
    const gboolean found = td_grid_choose (grids[i].ranks, &wish, &limits, &grid, &error);

    g_assert_cmpint (found, ==, grids[i].got_rows > 0);
    if (!found) {
      test_assert_sentence (error, "grid");
      continue;
    }
    g_assert_cmpuint (grid.rows, ==, grids[i].got_rows);
    g_assert_cmpuint (grid.columns, ==, grids[i].got_columns);
  }
}

/* What is asked for, in the limits, with nobody idle who could have work; else it is refused. */
static void
check_choice (guint ranks, const TdClusterWish *wish, const TdGridLimits *limits)
{
  const guint most = limits->one_column ? 1 : limits->n_views / 2 / MAX (limits->parts, 1);
  const guint rows = wish->rows, columns = wish->columns;
  const gboolean possible = rows <= limits->n_slices && columns <= MAX (most, 1)
                            && (guint64) MAX (rows, 1) * MAX (columns, 1) <= ranks;
  g_autoptr (GError) error = NULL;
  TdGrid grid;

  g_assert_cmpint (td_grid_choose (ranks, wish, limits, &grid, &error), ==, possible);
  if (!possible)
    return;
  g_assert_cmpuint (grid.ranks, ==, ranks);
  g_assert_cmpuint (grid.rows * grid.columns, <=, ranks);
  g_assert_true (rows ? grid.rows == rows : grid.rows >= 1 && grid.rows <= limits->n_slices);
  g_assert_true (columns ? grid.columns == columns
                         : grid.columns >= 1 && grid.columns <= MAX (most, 1));
  if (!columns)
    g_assert_true (grid.columns == MAX (most, 1) || grid.rows * (grid.columns + 1) > ranks);
  if (!rows && !(limits->least_rows && !columns && !limits->one_column))
    g_assert_true (grid.rows == limits->n_slices || (grid.rows + 1) * grid.columns > ranks
                   || (!columns && !limits->one_column)); /* rows that divide the ranks */
}

static void
test_choices (void)
{
  for (guint i = 0; i < 20000; i++) {
    const TdClusterWish wish = { .rows = (guint) g_test_rand_int_range (0, 4),
                                 .columns = (guint) g_test_rand_int_range (0, 4) };
    const TdGridLimits limits = { .n_slices = (guint) g_test_rand_int_range (1, 6),
                                  .n_views = (guint) g_test_rand_int_range (1, 14),
                                  .least_rows = (guint) g_test_rand_int_range (0, 4),
                                  .one_column = g_test_rand_int_range (0, 3) ? NULL : "no",
                                  .parts = (guint) g_test_rand_int_range (0, 4) };
    check_choice ((guint) g_test_rand_int_range (1, 9), &wish, &limits);
  }
}

/* Groups with views of each quarter of the turn are fewer, and a refusal tells the scan's views. */
static void
test_limits_of_parts (void)
{
  const TdClusterWish two = { .columns = 2 }, three = { .columns = 3 };
  const TdGridLimits limits = { .n_slices = 10, .n_views = 16, .parts = 4 };
  g_autoptr (GError) error = NULL;
  TdGrid grid;

  g_assert_true (td_grid_choose (4, &two, &limits, &grid, NULL));
  g_assert_cmpuint (grid.columns, ==, 2);
  g_assert_false (td_grid_choose (4, &three, &limits, &grid, &error));
  g_assert_nonnull (strstr (error->message, "cannot share 16 views"));
}

/* iFDK, section 5.3: 4096³ on 16 GB takes 32 rows, and 8192³ takes 256; a device that holds all
   takes one. */
static void
test_least_rows (void)
{
  g_assert_cmpuint (td_grid_least_rows (4 * pow (4096, 3), 4.0 * 32 * 2048 * 2048, 16e9, 4096), ==,
                    32);
  g_assert_cmpuint (td_grid_least_rows (4 * pow (8192, 3), 4.0 * 32 * 2048 * 2048, 16e9, 8192), ==,
                    256);
  g_assert_cmpuint (td_grid_least_rows (4e9, 1e9, 16e9, 1000), ==, 1);
  g_assert_cmpuint (td_grid_least_rows (4e9, 1e9, 5.5e9, 1000), ==, 2);
  g_assert_cmpuint (td_grid_least_rows (4e9, 8e9, 5.5e9, 1), ==, 1);
}

/* Shares follow one another, cover all, and nobody goes without. */
static void
test_shares (void)
{
  for (guint round = 0; round < 2000; round++) {
    const guint n = (guint) g_test_rand_int_range (1, 200),
                step = (guint) g_test_rand_int_range (1, 3);
    const guint n_shares = (guint) g_test_rand_int_range (1, 9);
    double shares[8];
    guint next = 0;

    for (guint i = 0; i < n_shares; i++)
      shares[i] = g_test_rand_double_range (0.1, 10);
    for (guint i = 0; i < n_shares; i++) {
      const TdGridShare share = td_grid_share (n, step, shares, n_shares, i);
      g_assert_cmpuint (share.first, ==, next);
      g_assert_cmpuint (share.first % step, ==, 0);
      if (n / step >= n_shares)
        g_assert_cmpuint (share.count, >=, step);
      next += share.count;
    }
    g_assert_cmpuint (next, ==, n);
  }
}

static double
round_to (double value)
{
  return floor (value + 0.5);
}

/* Where all is divisible enough, the places of shares are those of their sums, rounded. */
static void
test_proportions (void)
{
  for (guint round = 0; round < 2000; round++) {
    const guint step = (guint) g_test_rand_int_range (1, 4), n_shares = 6;
    const guint n = (guint) g_test_rand_int_range (100, 400) * step + step / 2;
    double shares[6], sum = 0, all = 0;

    for (guint i = 0; i < n_shares; i++)
      all += shares[i] = g_test_rand_double_range (0.5, 2);
    for (guint i = 0; i < n_shares; i++) {
      const TdGridShare share = td_grid_share (n, step, shares, n_shares, i);
      const double from = round_to (n / step * (sum / all)) * step;
      sum += shares[i];
      const double to = round_to (n / step * (sum / all)) * step;
      g_assert_cmpfloat (share.first, ==, from);
      g_assert_cmpfloat (share.first + share.count, ==, i + 1 == n_shares ? n : to);
    }
  }
}

static void
assert_ranges (GArray *ranges, guint n, const TdGridShare *wanted)
{
  g_assert_cmpuint (ranges->len, ==, n);
  g_assert_cmpmem (ranges->data, n * sizeof *wanted, wanted, n * sizeof *wanted);
  g_array_unref (ranges);
}

static void
test_parts (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  TdPartsOf of = { "20261122-120000-0123abcd", "/data/out.h5", "{}", 8, 9, 30 };
  static const double equal[] = { 1, 1 };
  static const TdGridShare there[] = { { 0, 10 }, { 12, 3 } },
                           missing[] = { { 10, 2 }, { 15, 15 } };
  static const TdGridShare first[] = { { 10, 2 }, { 15, 7 } }, second[] = { { 22, 8 } };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdParts) parts = td_parts_new (folder->path, &of);

  {
    g_autoptr (TdParts) whole = td_parts_new (folder->path, &of);
    static const TdGridShare last[] = { { 28, 2 } };
    td_parts_note (whole, 28, 5); /* more than there are */
    assert_ranges (td_parts_list (whole, TRUE), 1, last);
  }
  g_assert_false (td_parts_resume (parts));
  td_parts_note (parts, 0, 5);
  td_parts_note (parts, 12, 3);
  td_parts_note (parts, 5, 5);
  g_assert_true (td_parts_has (parts, 2, 8));
  g_assert_false (td_parts_has (parts, 2, 9));
  g_assert_true (td_parts_save (parts, &error));

  g_autoptr (TdParts) again = td_parts_new (folder->path, &of);
  g_assert_true (td_parts_resume (again));
  td_parts_note (again, 30, 1); /* beyond the last, which stays so */
  td_parts_note (again, G_MAXUINT, 1);
  assert_ranges (td_parts_list (again, TRUE), 2, there);
  assert_ranges (td_parts_list (again, FALSE), 2, missing);
  g_autoptr (GArray) left = td_parts_list (again, FALSE);
  assert_ranges (td_parts_share (left, equal, 2, 0), 2, first);
  assert_ranges (td_parts_share (left, equal, 2, 1), 1, second);

  /* Any other run in the same folder is none to go on from. */
  const TdPartsOf others[] = {
    { "20261122-120000-0123abce", of.output, of.recipe, 8, 9, 30 },
    { of.job, "/data/other.h5", of.recipe, 8, 9, 30 },
    { of.job, of.output, "{ }", 8, 9, 30 },
    { of.job, of.output, of.recipe, 9, 9, 30 },
    { of.job, of.output, of.recipe, 8, 8, 30 },
    { of.job, of.output, of.recipe, 8, 9, 31 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autoptr (TdParts) other = td_parts_new (folder->path, &others[i]);
    g_assert_false (td_parts_resume (other));
    g_assert_false (td_parts_has (other, 0, 1));
  }
  /* Nor is a file that is something else, or damaged. */
  static const char *const changes[][2] = {
    { "tomodesk-parts", "tomodesk-part" },
    { "\"version\" : 1", "\"version\" : 2" },
    { "\"done\"", "\"gone\"" },
    { "\"id\"", "\"no\"" },
    { "\"output\"", "\"no\"" },
    { "\"what\"", "\"no\"" },
  };
  g_autofree char *file = test_folder_file (folder, "parts.json");
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, &error));
  for (guint i = 0; i <= G_N_ELEMENTS (changes); i++) {
    g_autoptr (GString) changed = g_string_new (text);
    if (i < G_N_ELEMENTS (changes))
      g_assert_cmpuint (g_string_replace (changed, changes[i][0], changes[i][1], 0), ==, 1);
    g_assert_true (g_file_set_contents (file, changed->str, -1, &error));
    g_autoptr (TdParts) one = td_parts_new (folder->path, &of);
    g_assert_cmpint (td_parts_resume (one), ==, i == G_N_ELEMENTS (changes));
  }
}

/* Slices by themselves, in any order: what is there, what is missing, and who gets which of these.
 */
static void
test_any_parts (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint round = 0; round < 500; round++) {
    const TdPartsOf of = { "20261122-120000-0123abcd",           "/data/out.h5", "{}", 8, 9,
                           (guint) g_test_rand_int_range (1, 40) };
    const guint n_shares = (guint) g_test_rand_int_range (1, 5);
    const double shares[] = { 1, 2.5, 1, 0.5 };
    g_autoptr (TdParts) parts = td_parts_new (folder->path, &of);
    gboolean there[40] = { FALSE };
    guint missing[40], n_missing = 0, next = 0;

    for (guint i = (guint) g_test_rand_int_range (0, 6); i > 0; i--) {
      const guint first = (guint) g_test_rand_int_range (0, (gint) of.n_slices);
      const guint count = (guint) g_test_rand_int_range (0, 8);
      td_parts_note (parts, first, count);
      for (guint k = first; k < MIN (first + count, of.n_slices); k++)
        there[k] = TRUE;
    }
    for (guint i = 0; i < of.n_slices; i++) {
      g_assert_cmpint (td_parts_has (parts, i, 1), ==, there[i]);
      if (!there[i])
        missing[n_missing++] = i;
    }
    g_autoptr (GArray) left = td_parts_list (parts, FALSE), done = td_parts_list (parts, TRUE);
    guint n_done = 0;
    for (guint i = 0; i < done->len; i++) {
      const TdGridShare *range = &g_array_index (done, TdGridShare, i);
      g_assert_cmpuint (range->count, >, 0);
      g_assert_true (td_parts_has (parts, range->first, range->count));
      n_done += range->count;
    }
    g_assert_cmpuint (n_done, ==, of.n_slices - n_missing);
    for (guint rank = 0; rank < n_shares; rank++) {
      const TdGridShare share = td_grid_share (n_missing, 1, shares, n_shares, rank);
      g_autoptr (GArray) ranges = td_parts_share (left, shares, n_shares, rank);
      guint n = 0;
      for (guint i = 0; i < ranges->len; i++) {
        const TdGridShare *range = &g_array_index (ranges, TdGridShare, i);
        for (guint k = 0; k < range->count; k++, n++)
          g_assert_cmpuint (range->first + k, ==, missing[next++]);
      }
      g_assert_cmpuint (n, ==, share.count);
    }
    g_assert_cmpuint (next, ==, n_missing);
  }
}

/* Every slice is granted once, unless its rank is slow. */
static void
test_handout (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  const TdPartsOf of = { "20261122-120000-0123abcd", "/data/out.h5", "{}", 8, 9, 100 };
  g_autoptr (TdParts) parts = td_parts_new (folder->path, &of);
  g_autoptr (GArray) missing = NULL;
  gboolean later = FALSE;
  guint slow, granted = 0;

  td_parts_note (parts, 40, 20);
  missing = td_parts_list (parts, FALSE);
  TdHandout *handout = td_handout_new (missing, 2);
  const TdGridShare held = td_handout_grant (handout, 1, parts, 0, &later, &slow);
  for (TdGridShare share;
       (share = td_handout_grant (handout, 0, parts, 0, &later, &slow)).count > 0;) {
    g_assert_cmpuint (slow, ==, G_MAXUINT);
    g_assert_false (td_parts_has (parts, share.first, 1));
    td_parts_note (parts, share.first, share.count);
    granted += share.count;
  }
  g_assert_true (later); /* rank 1 may still fail */
  g_assert_cmpuint (granted + held.count, ==, 80);
  td_parts_note (parts, held.first, held.count);
  later = FALSE;
  g_assert_cmpuint (td_handout_grant (handout, 1, parts, 0, &later, &slow).count, ==, 0);
  g_assert_false (later);
  td_handout_free (handout);
}

/* Eight grants a rank on average, of the missing ranges one after another. */
static void
test_handout_sizes (void)
{
  static const struct {
    guint all, ranks, most;
  } cases[] = { { 15, 1, 1 }, { 16, 1, 2 }, { 100, 3, 4 }, { 7, 4, 1 }, { 800, 4, 25 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdGridShare ranges[] = { { 3, cases[i].all - 5 }, { cases[i].all, 5 } };
    const TdPartsOf of = { "20261122-120000-0123abcd", "/data/out.h5", "{}", 8, 9, 2000 };
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (TdParts) parts = td_parts_new (folder->path, &of);
    g_autoptr (GArray) missing = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
    gboolean later = FALSE;
    guint slow;

    g_array_append_vals (missing, ranges, 2);
    TdHandout *handout = td_handout_new (missing, cases[i].ranks);
    for (guint r = 0; r < 2; r++)
      for (guint next = ranges[r].first, end = next + ranges[r].count; next < end;) {
        const TdGridShare share = td_handout_grant (handout, r, parts, 0, &later, &slow);
        g_assert_cmpuint (share.first, ==, next);
        g_assert_cmpuint (share.count, ==, MIN (cases[i].most, end - next));
        next += share.count;
      }
    td_handout_free (handout);
  }
}

/* Rows that a rank has four times as long as the others had theirs, and five seconds at least, go
   to the next who asks. */
static void
test_handout_late (void)
{
  static const struct {
    double others_s, late_s;
  } cases[] = { { 0.5, 5 }, { 1.25, 5 }, { 2, 8 }, { 100, 400 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdPartsOf of = { "20261122-120000-0123abcd", "/data/out.h5", "{}", 8, 9, 3 };
    const gint64 others = (gint64) (cases[i].others_s * G_USEC_PER_SEC);
    const gint64 late = (gint64) (cases[i].late_s * G_USEC_PER_SEC);
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autoptr (TdParts) parts = td_parts_new (folder->path, &of);
    g_autoptr (GArray) missing = td_parts_list (parts, FALSE);
    gboolean later = FALSE;
    gint64 now = 1000;
    TdGridShare share;
    guint slow;

    TdHandout *handout = td_handout_new (missing, 3);
    const TdGridShare held = td_handout_grant (handout, 2, parts, now, &later, &slow);
    for (guint rank = 0; rank < 2; rank++) {
      share = td_handout_grant (handout, rank, parts, now, &later, &slow);
      g_assert_cmpuint (share.count, ==, 1);
    }
    td_parts_note (parts, 1, 2); /* both at once */
    now += others;
    g_assert_cmpuint (td_handout_grant (handout, 0, parts, now, &later, &slow).count, ==, 0);
    g_assert_true (later);
    /* So long after it was given. */
    now = 1000 + late - 1;
    later = FALSE;
    g_assert_cmpuint (td_handout_grant (handout, 0, parts, now, &later, &slow).count, ==, 0);
    g_assert_true (later);
    now++;
    /* Not to the one who has them. */
    g_assert_cmpuint (td_handout_grant (handout, 2, parts, now, &later, &slow).count, ==, 0);
    share = td_handout_grant (handout, 1, parts, now, &later, &slow);
    g_assert_cmpuint (share.first, ==, held.first);
    g_assert_cmpuint (share.count, ==, held.count);
    g_assert_cmpuint (slow, ==, 2);
    /* From then on it is that one who may be late. */
    g_assert_cmpuint (td_handout_grant (handout, 0, parts, now + late - 1, &later, &slow).count, ==,
                      0);
    g_assert_cmpuint (td_handout_grant (handout, 0, parts, now + late, &later, &slow).count, ==,
                      held.count);
    g_assert_cmpuint (slow, ==, 1);
    td_handout_free (handout);
  }
}

/* Groups hold all views once. Where kernels add views a part of a turn apart together, a group has
   the same of each part, if there are enough. */
static void
test_views (void)
{
  static const struct {
    guint n_views, together, groups, parts;
  } cases[] = { { 48, 4, 2, 4 },   { 48, 4, 6, 4 },    { 48, 4, 7, 1 }, { 48, 2, 7, 2 },
                { 48, 1, 3, 1 },   { 45, 4, 3, 1 },    { 45, 0, 3, 1 }, { 1020, 4, 2, 4 },
                { 1024, 4, 3, 4 }, { 1024, 4, 128, 4 } };
  static const double speeds[] = { 1, 3, 1.5 };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n_views = cases[i].n_views, groups = cases[i].groups;
    g_autofree double *shares = g_new (double, groups);
    g_autofree guint *times = g_new0 (guint, n_views);

    for (guint k = 0; k < groups; k++)
      shares[k] = speeds[k % G_N_ELEMENTS (speeds)];
    for (guint k = 0; k < groups; k++) {
      const TdViewGroup group = td_grid_views (n_views, cases[i].together, shares, groups, k);
      const guint of_each = group.count / group.parts, apart = n_views / group.parts;

      g_assert_cmpuint (group.parts, ==, cases[i].parts);
      g_assert_cmpuint (group.count % group.parts, ==, 0);
      g_assert_cmpuint (group.count, >, 0);
      g_assert_cmpuint (group.first % 2, ==, 0);
      g_assert_cmpuint (k + 1 < groups ? of_each % 2 : 0, ==, 0);
      for (guint v = 0; v < group.count; v++)
        times[group.first + v % of_each + v / of_each * apart]++;
    }
    for (guint v = 0; v < n_views; v++)
      g_assert_cmpuint (times[v], ==, 1);
  }
}

/* Chunks that come from all parts in turn divide a part. */
static void
test_gathered (void)
{
  g_assert_cmpuint (td_grid_gathered (32, 1024, 4), ==, 32);
  g_assert_cmpuint (td_grid_gathered (32, 360, 4), ==, 30);
  g_assert_cmpuint (td_grid_gathered (32, 48, 2), ==, 24);
  g_assert_cmpuint (td_grid_gathered (32, 1024, 1), ==, 0);
  g_assert_cmpuint (td_grid_gathered (32, 1022, 4), ==, 0);   /* no parts */
  g_assert_cmpuint (td_grid_gathered (32, 180, 4), ==, 0);    /* of 45 views */
  g_assert_cmpuint (td_grid_gathered (32, 4 * 46, 4), ==, 0); /* 2 views are few */
  /* At least half of what was asked for, an even number. */
  g_assert_cmpuint (td_grid_gathered (12, 2 * 28, 2), ==, 0); /* 4 would divide it */
  g_assert_cmpuint (td_grid_gathered (12, 2 * 18, 2), ==, 6);
  g_assert_cmpuint (td_grid_gathered (13, 2 * 18, 2), ==, 0);
  g_assert_cmpuint (td_grid_gathered (11, 2 * 20, 2), ==, 10);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/grid/choices", test_choices);
  g_test_add_func ("/grid/choice", test_choice);
  g_test_add_func ("/grid/limits-of-parts", test_limits_of_parts);
  g_test_add_func ("/grid/least-rows", test_least_rows);
  g_test_add_func ("/grid/shares", test_shares);
  g_test_add_func ("/grid/proportions", test_proportions);
  g_test_add_func ("/grid/views", test_views);
  g_test_add_func ("/grid/gathered", test_gathered);
  g_test_add_func ("/grid/parts", test_parts);
  g_test_add_func ("/grid/any-parts", test_any_parts);
  g_test_add_func ("/grid/handout", test_handout);
  g_test_add_func ("/grid/handout-sizes", test_handout_sizes);
  g_test_add_func ("/grid/handout-late", test_handout_late);
  return g_test_run ();
}
