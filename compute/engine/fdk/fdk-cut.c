/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "fdk.h"

/**
 * Where slabs begin and end, and in which order a device takes its own. A graphics card computes
 * nothing while it waits for the first rows and while its last slices are downloaded. So its
 * first slabs are small and see few rows. Each slab is twice as large as the one before, and the
 * last slabs are small again. Slices far from the mid-plane see many rows: a device that owns
 * only such slices still begins with a few near the mid-plane. Small slabs have as many slices as
 * the kernel works on at once (fit.least_slab), but for a remainder: fewer take as long.
 */
#define FIRST_PART 12 /* of a whole slab */
/* Of a whole slab, for the last one of a rank's part: after it ranks only add and store. In one
   process slabs that are smaller than the kernel works on at once gained nothing. */
#define LAST_PART 4

static guint
fdk_cut_least (const TdFdkPlan *fdk)
{
  return MIN (fdk->fit.slab, fdk->fit.least_slab);
}

static guint
fdk_cut_first (const TdFdkPlan *fdk)
{
  return MAX (fdk_cut_least (fdk), fdk->fit.slab / FIRST_PART);
}

static TdFdkSlabCut
make_cut (const TdFdkPlan *fdk, guint slice0, guint n)
{
  TdFdkSlabCut cut = { .slice0 = slice0, .n_slices = n };
  guint first, end;

  td_cone_rows_seen (&fdk->input->task, slice0, n, &first, &end);
  cut.row0
      = CLAMP (first, fdk->input->row0, fdk->input->row0 + fdk->input->n_rows) - fdk->input->row0;
  cut.row_end
      = CLAMP (end, fdk->input->row0, fdk->input->row0 + fdk->input->n_rows) - fdk->input->row0;
  return cut;
}

/* From slice @from on to @to, downwards or, if that is above, upwards. */
typedef struct {
  guint from, to;
  guint size;      /* of the first slab; then each is twice as large */
  gboolean last;   /* the device ends here */
  guint n_devices; /* that end at the same time */
} Way;

/* The last slabs: each has some eighths of the one before it, down to the least. More devices
   have more of them: all end at the same time, and the host takes one device's slices after the
   other. */
static guint
last_size (guint left, guint least, guint n_devices)
{
  const guint eighths = CLAMP (n_devices + 1, 2, 6);
  const guint size = ((8 - eighths) * left + eighths * least) / 8;

  return left < 3 * least / 2 ? left : (size + least / 2) / least * least;
}

/* How many of the slices that are left the next slab has. Where other slabs follow, the
   remainder of cutting them into whole slabs comes first. After a whole slab it would have to
   wait for that one's download. */
static guint
next_size (const TdFdkPlan *fdk, const Way *way, guint left)
{
  if (way->last)
    return MIN (way->size, last_size (left, fdk_cut_least (fdk), way->n_devices));
  if (way->size < fdk->fit.slab)
    return MIN (way->size, left);
  return left % fdk->fit.slab > 0 ? left % fdk->fit.slab : fdk->fit.slab;
}

static void
cut_way (const TdFdkPlan *fdk, Way way, GArray *slabs)
{
  const gboolean down = way.to >= way.from;

  while (way.from != way.to) {
    guint n = next_size (fdk, &way, down ? way.to - way.from : way.from - way.to);
    TdFdkSlabCut cut = make_cut (fdk, down ? way.from : way.from - n, n);
    /* Memory is for the rows of slabs that begin at multiples of fdk->fit.slab. */
    while (cut.row_end - cut.row0 > fdk->fit.slab_rows && n > 1) {
      n--;
      cut = make_cut (fdk, down ? way.from : way.from - n, n);
    }
    g_array_append_val (slabs, cut);
    way.from = down ? way.from + n : way.from - n;
    way.size = MIN (2 * way.size, fdk->fit.slab);
  }
}

/* What a device has of the volume: slices above the mid-plane and below it; and a start, if that is
   all far from it. */
typedef struct {
  guint up, down, start;
  guint up_from, down_from, start_from; /* the slices nearest the mid-plane */
} Portion;

/* The far ones' starts next to the mid-plane, then each one's own, the nearest first. */
static void
fdk_cut_place (Portion *portions, guint n, guint middle)
{
  guint above = middle, below = middle;

  for (guint i = n; i-- > 0;)
    if (portions[i].up > 0 && portions[i].start > 0) {
      portions[i].start_from = above;
      above -= portions[i].start;
    }
  for (guint i = n; i-- > 0;) {
    portions[i].up_from = above;
    above -= portions[i].up > 0 ? portions[i].up - portions[i].start : 0;
  }
  for (guint i = 0; i < n; i++)
    if (portions[i].up == 0 && portions[i].start > 0) {
      portions[i].start_from = below;
      below += portions[i].start;
    }
  for (guint i = 0; i < n; i++) {
    portions[i].down_from = below;
    below += portions[i].up == 0 && portions[i].start > 0 ? portions[i].down - portions[i].start
                                                          : portions[i].down;
  }
}

static void
cut_portion (const TdFdkPlan *fdk, const Portion *p, guint n_devices, GArray *slabs)
{
  const guint least = fdk_cut_first (fdk);
  guint size = least;

  if (p->start > 0) {
    const guint end = p->up > 0 ? p->start_from - p->start : p->start_from + p->start;
    cut_way (fdk, (Way) { p->start_from, end, least, FALSE, n_devices }, slabs);
    size = fdk->fit.slab;
  }
  const guint down = p->up == 0 ? p->down - p->start : p->down;
  const guint up = p->up > 0 ? p->up - p->start : 0;
  cut_way (fdk, (Way) { p->down_from, p->down_from + down, size, up == 0, n_devices }, slabs);
  cut_way (fdk,
           (Way) { p->up_from, p->up_from - up, down > 0 ? fdk->fit.slab : size, TRUE, n_devices },
           slabs);
}

/* Graphics cards with row caches: from the mid-plane outwards. */
static void
cut_outwards (const TdFdkPlan *fdk, guint n_devices, const guint *bounds, GArray *slabs, guint *own)
{
  const guint middle
      = (guint) CLAMP (rint (fdk->input->task.first_mm[2] / fdk->input->task.voxel_mm + 0.5), 0,
                       fdk->input->task.nz);
  const guint start = 7 * fdk_cut_first (fdk); /* three slabs */
  g_autofree Portion *portions = g_new0 (Portion, n_devices);

  for (guint i = 0; i < n_devices; i++) {
    const guint a = bounds[i], b = bounds[i + 1];
    portions[i].up = MIN (b, middle) - MIN (a, middle);
    portions[i].down = MAX (b, middle) - MAX (a, middle);
    if ((b < middle || a > middle) && b - a > 2 * start)
      portions[i].start = start;
  }
  fdk_cut_place (portions, n_devices, middle);
  for (guint i = 0; i < n_devices; i++) {
    cut_portion (fdk, &portions[i], n_devices, slabs);
    own[i + 1] = slabs->len;
  }
}

guint
td_fdk_even_slices (const TdFdkPlan *fdk, guint from, guint end)
{
  const guint n = MIN (fdk->fit.slab, end - from), group = fdk->scheme.families[0]->group;
  const guint over = group ? (from + n) % group : 0;

  return from + n == end || 4 * over >= n ? n : n - over;
}

/* From the top down. On the host rows are filtered from the top, so all slabs are the first
   device's, and the others help. @least: slices of the last slab; 0: it is like the others. */
static void
cut_evenly (const TdFdkPlan *fdk, guint n_devices, const guint *bounds, guint least, GArray *slabs,
            guint *own)
{
  for (guint i = 0; i < n_devices; i++) {
    const guint end = fdk->fit.cached ? bounds[i + 1] : bounds[n_devices];
    for (guint a = fdk->fit.cached || i == 0 ? bounds[i] : end, n; a < end; a += n) {
      n = least ? MIN (fdk->fit.slab, last_size (end - a, least, n_devices))
                : td_fdk_even_slices (fdk, a, end);
      TdFdkSlabCut cut = make_cut (fdk, a, n);
      while (cut.row_end - cut.row0 > fdk->fit.slab_rows && n > 1)
        cut = make_cut (fdk, a, --n);
      g_array_append_val (slabs, cut);
    }
    own[i + 1] = slabs->len;
  }
}

TdFdkCut
td_fdk_cut (const TdPlan *plan, const TdFdkPlan *fdk, guint n_devices, const double *shares)
{
  const guint nz = fdk->input->n_slices, slice0 = fdk->input->slice0;
  const gboolean cards = fdk->fit.cached && fdk->fit.n_slabs > 1
                         && td_device_info (plan->devices->pdata[0])->kind != TD_DEVICE_CPU;
  const gboolean outwards = cards && !plan->is_part;
  const guint least = fdk_cut_least (fdk), last = MAX (fdk->fit.slab / LAST_PART, 1);
  const guint step = outwards && nz >= 4 * least * n_devices ? least : 1;
  g_autoptr (GArray) slabs = g_array_new (FALSE, FALSE, sizeof (TdFdkSlabCut));
  g_autofree guint *bounds = g_new0 (guint, n_devices + 1);
  guint *own = g_new0 (guint, n_devices + 1);
  double sum = 0;

  bounds[0] = slice0;
  for (guint i = 0; i < n_devices; i++) {
    sum += shares[i];
    bounds[i + 1]
        = slice0 + (i + 1 < n_devices ? (guint) MIN (lrint (nz * sum / step) * step, nz) : nz);
  }
  if (outwards)
    cut_outwards (fdk, n_devices, bounds, slabs, own);
  else
    cut_evenly (fdk, n_devices, bounds, cards ? last : 0, slabs, own);
  const guint n_slabs = slabs->len;
  return (TdFdkCut) { (TdFdkSlabCut *) g_array_free (g_steal_pointer (&slabs), FALSE), n_slabs,
                      own };
}

void
td_fdk_cut_clear (TdFdkCut *cut)
{
  g_clear_pointer (&cut->slabs, g_free);
  g_clear_pointer (&cut->own, g_free);
  cut->n_slabs = 0;
}
