/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "fdk.h"
#include "plan-private.h"

/**
 * Where slabs begin and end, and in which order a device takes its own. While a graphics card waits for
 * the first rows, and while its last slices are fetched, it computes nothing: the first slabs are small
 * and see few rows, each twice as large as the one before, and the last one is small again.
 */
#define FIRST_PART 8 /* of a whole slab */
#define LAST_PART 4
#define LEAST_SLAB 16 /* slices: what a kernel's groups take at once */

static TdFdkSlabCut
make_cut (const TdFdkPlan *fdk, guint slice0, guint n)
{
  TdFdkSlabCut cut = { .slice0 = slice0, .n_slices = n };
  guint first, end;

  td_cone_rows_seen (&fdk->task, slice0, n, &first, &end);
  cut.row0 = CLAMP (first, fdk->row0, fdk->row0 + fdk->n_rows) - fdk->row0;
  cut.row_end = CLAMP (end, fdk->row0, fdk->row0 + fdk->n_rows) - fdk->row0;
  return cut;
}

/* From slice @from on, outwards: downwards to @to, or upwards if that is above. */
typedef struct {
  guint from, to;
  gboolean first, last; /* the device's first, last slabs are here */
} Way;

static void
cut_way (const TdFdkPlan *fdk, Way way, GArray *cuts)
{
  const gboolean down = way.to >= way.from;
  guint size = MIN (fdk->slab, way.first ? MAX (LEAST_SLAB, fdk->slab / FIRST_PART) : fdk->slab);
  const guint last = MAX (LEAST_SLAB, fdk->slab / LAST_PART);

  while (way.from != way.to) {
    const guint left = down ? way.to - way.from : way.from - way.to;
    guint n = MIN (size, left);
    if (way.last && n == left && left > 2 * last)
      n = left - last;
    TdFdkSlabCut cut = make_cut (fdk, down ? way.from : way.from - n, n);
    /* Memory is for the rows of slabs that begin at multiples of fdk->slab. */
    while (cut.row_end - cut.row0 > fdk->slab_rows && n > 1) {
      n--;
      cut = make_cut (fdk, down ? way.from : way.from - n, n);
    }
    g_array_append_val (cuts, cut);
    way.from = down ? way.from + n : way.from - n;
    size = MIN (2 * size, fdk->slab);
  }
}

/* The slabs of slices [a, b), in their order in the volume. Returns where the device starts. */
static guint
cut_outwards (const TdFdkPlan *fdk, guint a, guint b, GArray *cuts)
{
  const double middle = fdk->task.first_mm[2] / fdk->task.voxel_mm + 0.5;
  const guint m = (guint) CLAMP (rint (middle), a, b);
  const gboolean both = m > a && m < b;
  g_autoptr (GArray) up = g_array_new (FALSE, FALSE, sizeof (TdFdkSlabCut));

  cut_way (fdk, (Way) { m, a, m == b, TRUE }, up);
  for (guint i = up->len; i-- > 0;)
    g_array_append_val (cuts, g_array_index (up, TdFdkSlabCut, i));
  const guint start = cuts->len;
  cut_way (fdk, (Way) { m, b, TRUE, !both }, cuts);
  return m == b && start > 0 ? start - 1 : start;
}

static void
cut_evenly (const TdFdkPlan *fdk, guint a, guint b, GArray *cuts)
{
  cut_way (fdk, (Way) { a, b, FALSE, FALSE }, cuts);
}

void
td_fdk_cut (const TdPlan *plan, TdFdkPlan *fdk, guint n_devices, const double *shares)
{
  const guint nz = fdk->task.nz;
  const gboolean cards = fdk->window && fdk->n_slabs > 1
                         && td_device_info (plan->devices->pdata[0])->kind != TD_DEVICE_CPU;
  const guint step = cards && nz >= 4 * LEAST_SLAB * n_devices ? LEAST_SLAB : 1;
  g_autoptr (GArray) cuts = g_array_new (FALSE, FALSE, sizeof (TdFdkSlabCut));
  double sum = 0;

  g_free (fdk->own);
  g_free (fdk->start);
  g_free (fdk->cuts);
  fdk->own = g_new0 (guint, n_devices + 1);
  fdk->start = g_new0 (guint, n_devices);
  for (guint i = 0, a = 0, b; i < n_devices; i++, a = b) {
    sum += shares[i];
    b = fdk->window && i + 1 < n_devices ? (guint) MIN (lrint (nz * sum / step) * step, nz) : nz;
    fdk->start[i] = cuts->len;
    if (cards && b > a)
      fdk->start[i] = cut_outwards (fdk, a, b, cuts);
    else if (fdk->window || i == 0)
      cut_evenly (fdk, a, b, cuts);
    fdk->own[i + 1] = cuts->len;
  }
  fdk->n_slabs = cuts->len;
  fdk->cuts = (TdFdkSlabCut *) g_array_free (g_steal_pointer (&cuts), FALSE);
}

guint
td_fdk_own_slab (const TdFdkPlan *fdk, guint device, guint i)
{
  const guint start = fdk->start[device], below = fdk->own[device + 1] - start;

  return i < below ? start + i : start - 1 - (i - below);
}
