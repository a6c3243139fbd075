/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * td_angles_for_views:
 * @spec: "A:B" in degrees, both ends included, or the path of a text file. The file has one angle a
 *   line, or commas between, or `angle<TAB>file`. Angles are degrees unless the heading says rad;
 *   # starts a comment.
 * @scan_path: for messages.
 * @names: (nullable): NULL-terminated file names of the views (one file a view), for
 *   angle<TAB>file and for entries that go by file number.
 * @n: views, and detector rows (0: not known). As many angles as rows are refused: the two are
 * likely taken for each other.
 * @note: (out) (optional): for td_message_words(), a sentence for the user when a rule had
 *   to be applied; NULL otherwise.
 *
 * A file with another number of entries than views is taken only where one of three rules fits.
 * First, entries name the files. Second, file numbers span exactly the entries (frames left out of
 * a stack). Third, the stage rests before and after the turn (flats and darks taken there).
 *
 * Returns: @n[0] radians, or NULL with @error (TD_ERROR_ANGLES where the number does not fit).
 */
double *td_angles_for_views (const char *spec, const char *scan_path, const char *const *names,
                             const guint n[2], char **note, GError **error);

#define TD_ANGLES_MOST_DEG 1e6 /* thousands of turns: no scan has more */

/* Whether @spec is "A:B", and no file. */
gboolean td_angles_is_range (const char *spec);

/* Views evenly over [first, last] degrees, both ends included, in radians. */
double *td_angles_range (double first_deg, double last_deg, guint n_views);

/* For people and files: never -0, and what only rounding left of 0 is 0. */
static inline double
td_degrees (double radians)
{
  const double degrees = radians * (180 / G_PI);

  return degrees > -1e-9 && degrees < 1e-9 ? 0 : degrees;
}
