/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/engine/cone-scan.h"
#include "compute/engine/engine-private.h"
#include "compute/row-blend.h"
#include "compute/stored-samples.h"
#include "dataset/angles.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"
#include "dataset/unit.h"
#include "fbp.h"
#include "compute/engine/field.h"

/* Small slabs give the first slices soon and fill the pipeline fast. */
#define USUAL_SLABS 24
#define GRAIN TD_FBP_GRAIN
#define MAX_SLAB 64
/* Storage that answers late is asked for pieces of so many bytes, while enough slabs remain. */
#define PIECE_BYTES (64u << 10)
#define LEAST_SLABS 8
#define LARGE_SLAB_BYTES ((guint64) 1 << 30)
#define SMALL_SLAB_BYTES ((guint64) 128 << 20)
#define FILTER_BYTES ((guint64) 32 << 20)
#define KEEP_BYTES ((guint64) 256 << 20)
#define MAX_ELEMENTS ((guint64) G_MAXINT32)

/* ── Geometry ── */

static void
fbp_free (gpointer data)
{
  TdFbp *fbp = data;

  g_free (fbp->angles_rad);
  g_free (fbp->weights);
  g_clear_pointer (&fbp->ways, g_ptr_array_unref);
  td_scan_unref (fbp->spool);
  g_free (fbp);
}

static gboolean
set_slice (TdPlan *plan, TdFbp *fbp, GError **error)
{
  const guint full = fbp->n_filtered;
  guint region[4];

  if (!td_plan_region (plan, full, full, region, error))
    return FALSE;
  fbp->x0 = -((double) full - 1) / 2 + region[0];
  fbp->y0 = ((double) full - 1) / 2 - region[1];
  fbp->nx = region[2];
  fbp->ny = region[3];
  return TRUE;
}

void
td_fbp_task (const TdPlan *plan, double row, TdBackprojectTask *task)
{
  const TdFbp *fbp = plan->extra;

  *task = (TdBackprojectTask) {
    .n_columns = fbp->n_filtered,
    .n_views = fbp->n_views,
    .nx = fbp->nx,
    .ny = fbp->ny,
    .x0 = fbp->x0,
    .y0 = fbp->y0,
    .step = 1,
    .centre_px = td_fbp_centre (fbp, row) + fbp->shift,
    .angles_rad = fbp->angles_rad,
    .weights = fbp->weights,
    .scale = fbp->scale,
    .interpolation = plan->recipe.interpolation,
    .precision = plan->recipe.precision,
  };
}

guint
td_fbp_most_rows (const TdFbp *fbp, guint slices)
{
  return MIN (slices + 2 * fbp->halo, fbp->n_rows);
}

guint64
td_fbp_row_bytes (const TdFbp *fbp)
{
  return (guint64) fbp->n_views * fbp->n_columns * sizeof (float);
}

guint64
td_fbp_sent_bytes (const TdFbp *fbp)
{
  return (guint64) fbp->n_views * fbp->n_columns
         * (fbp->raw_bytes ? fbp->raw_bytes : sizeof (float));
}

guint64
td_fbp_filtered_bytes (const TdFbp *fbp)
{
  return (guint64) fbp->n_views * fbp->n_filtered * sizeof (float);
}

double
td_fbp_centre (const TdFbp *fbp, double row)
{
  const TdAxisLine axis = { fbp->centre_px, fbp->tilt, (fbp->n_rows - 1) / 2.0 };

  return td_axis_line_at (&axis, row);
}

gboolean
td_fbp_filters_apart (const TdFbp *fbp)
{
  return fbp->keep || fbp->blend;
}

guint64
td_fbp_slice_bytes (const TdFbp *fbp)
{
  return (guint64) fbp->nx * fbp->ny * sizeof (float);
}

guint64
td_fbp_slab_voxels (const TdFbp *fbp, guint slices)
{
  return (guint64) slices * fbp->nx * fbp->ny;
}

guint
td_fbp_lanes (const TdFbp *fbp, const TdDeviceInfo *info)
{
  return info->cpu_shaped || info->host_pointers || fbp->n_slabs < 2 ? 1 : 2;
}

TdPrecision
td_fbp_precision (const TdPlan *plan, const TdBackprojectFamily *family)
{
  return family->single_only ? TD_PRECISION_SINGLE : plan->recipe.precision;
}

char *
td_fbp_rate_key (TdDevice *device, const TdBackprojectFamily *family, TdInterpolation interpolation,
                 TdPrecision precision)
{
  return g_strdup_printf ("fbp %s %s %s %s", td_device_info (device)->name, family->name,
                          td_interpolation_names[interpolation], td_precision_names[precision]);
}

/* ── The field of view ── */

static void
note_field (TdPlan *plan, const TdFbp *fbp, const TdTurn *turn)
{
  const double last = fbp->n_columns - 1;
  const double overlap = MIN (fbp->centre_px, last - fbp->centre_px);

  if (!fbp->blend) {
    if (plan->recipe.field_of_view == TD_FIELD_AUTO && td_scan_facts (plan->scan)->half_acquisition)
      td_plan_note (plan,
                    "The scan says that it is a half acquisition, but its views do not go round: "
                    "slices are as wide as the detector.");
    if (turn->kind == TD_TURN_FULL
        && td_row_blend_width (fbp->n_columns, fbp->centre_px) > 1.02 * fbp->n_columns)
      td_plan_note (plan,
                    "The axis is off the detector's middle and the stage made a full turn: what "
                    "lies more than %.0f pixels from the axis is seen from one side only. "
                    "{field-of-view=half} puts both sides together.",
                    MAX (overlap, 0));
    if (turn->kind != TD_TURN_FULL
        && td_row_blend_width (fbp->n_columns, fbp->centre_px) > 1.5 * fbp->n_columns)
      td_plan_note (plan,
                    "The axis is nearer to the detector's edge than to its middle: what lies more "
                    "than %.0f pixels from it is seen in a part of the views only, and its values "
                    "are wrong. {field-of-view=half} puts both sides of a full turn together, of "
                    "which a quarter may be missing.",
                    MAX (overlap, 0));
    return;
  }
  if (overlap >= 0)
    td_plan_note (plan,
                  "Half acquisition: the two sides of the full turn are blended where they "
                  "overlap, %.0f pixels to either side of the axis, into slices of %u × %u pixels.",
                  overlap, fbp->n_filtered, fbp->n_filtered);
  else
    td_plan_note (plan,
                  "Half acquisition: the rotation axis, column %.2f, is outside the detector, "
                  "and what lies within %.0f pixels of it was not seen.",
                  plan->recipe.centre_px, ceil (-overlap));
}

static gboolean
fbp_plan_field (TdPlan *plan, TdFbp *fbp, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdRecipe *recipe = &plan->recipe;
  TdAngleCover cover;
  TdField field;
  TdTurn turn;

  fbp->angles_rad = td_recipe_angles (recipe, facts);
  fbp->weights = g_new (double, fbp->n_views);
  if (!td_plan_field (plan, &turn, &field, error))
    return FALSE;
  plan->facts.scale = fbp->scale = plan->facts.pixel_mm > 0 ? 1 / plan->facts.pixel_mm : 1;
  fbp->blend = field.wide;
  fbp->n_filtered = field.columns;
  if (field.wide && fbp->centre_px < (fbp->n_columns - 1) / 2.0)
    fbp->shift = fbp->n_filtered - fbp->n_columns;
  note_field (plan, fbp, &turn);

  const double period = fbp->blend ? 2 * G_PI : G_PI;
  td_angular_weights (facts->angles_rad, fbp->n_views, period, fbp->weights, &cover);
  if (cover.missing_rad > 0)
    td_plan_note (plan,
                  "The views cover %.1f of %.0f degrees: expect streaks along the missing "
                  "%.1f degrees.",
                  td_degrees (cover.covered_rad), td_degrees (period),
                  td_degrees (cover.missing_rad));
  return TRUE;
}

/* ── Buffers ── */

typedef struct {
  guint64 host, device; /* device: the largest of all devices */
} Bytes;

/* What fbp-working-set.c allocates on device @index. */
static guint64
working_set_bytes (const TdPlan *plan, guint index)
{
  const TdFbp *fbp = plan->extra;
  const TdRecipe *recipe = &plan->recipe;
  const TdDeviceInfo *info = td_device_info (plan->devices->pdata[index]);
  guint rows = td_fbp_most_rows (fbp, fbp->slab_slices);
  guint64 in = rows * td_fbp_row_bytes (fbp), out = fbp->slab_slices * td_fbp_slice_bytes (fbp);
  TdBackprojectTask task;

  td_fbp_task (plan, 0, &task);
  guint64 bytes
      = td_preparation_workspace_bytes (recipe->steps, recipe->n_steps, td_scan_facts (plan->scan),
                                        rows)
        + td_row_filter_workspace_bytes (fbp->n_filtered, fbp->filter_rows)
        + fbp->families[index]->workspace_bytes (fbp->families[index], &task, info, fbp->batch);
  if (td_fbp_filters_apart (fbp))
    bytes += fbp->slab_slices * td_fbp_filtered_bytes (fbp);
  if (fbp->direct)
    return bytes + fbp->in_slots * in + fbp->out_slots * out;
  if (fbp->keep)
    bytes += in; /* what the first of the steps made of the rows */
  if (fbp->raw_bytes)
    in += rows * td_fbp_sent_bytes (fbp);
  if (fbp->stores)
    out += td_stored_samples_bytes (recipe->output_bits,
                                    td_fbp_slab_voxels (fbp, fbp->slab_slices));
  return bytes + td_fbp_lanes (fbp, info) * (in + out);
}

/* Rows that are unpacked for the slabs' sake, and of these the ones that are wanted. */
static guint64
unpacked_rows (const TdPlan *plan, const TdFbp *fbp, guint64 *wanted)
{
  const guint together = td_scan_facts (plan->scan)->rows_together;
  const guint first = plan->facts.first_slice, end = first + plan->facts.n_slices;
  guint64 unpacked = 0;
  guint read = 0; /* up to here; the next slab reads on */

  for (guint slab = first; slab < end; slab += fbp->slab_slices) {
    const guint row0 = MAX (slab - MIN (fbp->halo, slab), read);
    const guint row1 = MIN (MIN (slab + fbp->slab_slices, end) + fbp->halo, fbp->n_rows);
    if (row1 > row0)
      unpacked += (row1 + together - 1) / together * together - row0 / together * together;
    read = MAX (read, row1);
  }
  *wanted = read - (first - MIN (fbp->halo, first));
  return unpacked;
}

/* Whether slabs want frames again that are unpacked whole; *@rows: how many rows they want. */
static gboolean
fbp_plan_unpacks_again (const TdPlan *plan, const TdFbp *fbp, guint64 *rows)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);

  if (fbp->n_slabs < 2 || facts->in_memory || facts->rows_together < 2)
    return FALSE;
  const guint64 unpacked = unpacked_rows (plan, fbp, rows);
  return unpacked >= 2 * *rows;
}

static Bytes
job_bytes (const TdPlan *plan)
{
  const TdFbp *fbp = plan->extra;
  guint rows = td_fbp_most_rows (fbp, fbp->slab_slices);
  guint64 in = rows * td_fbp_sent_bytes (fbp), out = fbp->slab_slices * td_fbp_slice_bytes (fbp);
  Bytes bytes = { .host = td_plan_own_bytes (plan->devices) + td_plan_unpack_bytes (plan) };
  guint64 wanted;

  /* Whoever looks at the slices wants floats, whatever the volume stores. */
  if (!fbp->direct)
    bytes.host += fbp->in_slots * in + fbp->out_slots * out;
  bytes.host += 2 * fbp->halo * td_fbp_row_bytes (fbp);
  bytes.host += td_preparation_host_bytes (plan->recipe.steps, plan->recipe.n_steps,
                                           td_scan_facts (plan->scan), rows);
  if (fbp->keep)
    bytes.host += in; /* the engine's copy of the raw rows */
  if (fbp_plan_unpacks_again (plan, fbp, &wanted))
    bytes.host += td_scan_spool_work_bytes (td_scan_facts (plan->scan), fbp->n_rows);
  for (guint i = 0; i < plan->devices->len; i++) {
    const TdDeviceInfo *info = td_device_info (plan->devices->pdata[i]);
    guint64 device = working_set_bytes (plan, i);
    bytes.device = MAX (bytes.device, device);
    if (info->kind == TD_DEVICE_CPU || info->host_pointers)
      bytes.host += device;
  }
  return bytes;
}

/* Samples go up as they are stored where nothing on the host wants floats. Rows that slabs share,
   previews and copies of the scan are kept as floats. */
static guint
fbp_plan_raw_bytes (const TdPlan *plan, const TdFbp *fbp)
{
  if (fbp->halo > 0 || fbp->keep || fbp->direct || !td_scan_has_stored (plan->scan)
      || td_scan_facts (plan->scan)->rows_together > 1)
    return 0;
  for (guint i = 0; i < plan->devices->len; i++)
    if (td_device_info (plan->devices->pdata[i])->host_pointers)
      return 0;
  return (guint) td_sample_size (td_scan_facts (plan->scan)->sample_type);
}

/* Everything that depends on the slab's size. */
static void
fbp_plan_set_slab (TdPlan *plan, TdFbp *fbp, guint slab)
{
  guint n_slices = plan->facts.n_slices;
  gboolean cpu = TRUE;
  guint lanes = 0;

  fbp->slab_slices = slab;
  fbp->n_slabs = (n_slices + slab - 1) / slab;
  fbp->keep = fbp->n_slabs == 1 && (slab + 2 * fbp->halo) * td_fbp_row_bytes (fbp) <= KEEP_BYTES / 2
              && slab * td_fbp_filtered_bytes (fbp) <= KEEP_BYTES / 2
              && slab * td_fbp_slice_bytes (fbp) <= KEEP_BYTES / 2;
  for (guint i = 0; i < plan->devices->len; i++) {
    const TdDeviceInfo *info = td_device_info (plan->devices->pdata[i]);
    cpu = cpu && info->cpu_shaped;
    lanes += td_fbp_lanes (fbp, info);
  }
  fbp->direct = plan->devices->len == 1 && !fbp->keep
                && td_device_info (plan->devices->pdata[0])->host_pointers;
  fbp->raw_bytes = fbp_plan_raw_bytes (plan, fbp);
  fbp->stores = plan->output && plan->recipe.output_bits < 32 && !fbp->keep;
  for (guint i = 0; i < plan->devices->len; i++)
    fbp->stores = fbp->stores && td_stored_samples_supported (plan->devices->pdata[i]);
  /* Slabs that share rows are read one after another: each takes them from the one before. Else two
     are, one asked for before the last answers of the other have come. */
  fbp->n_readers = fbp->halo == 0 && !fbp->keep && !td_scan_facts (plan->scan)->in_memory ? 2 : 1;
  fbp->in_slots = MIN (lanes + fbp->n_readers, fbp->n_slabs);
  fbp->out_slots = MIN (lanes + 1, fbp->n_slabs);

  guint batch = fbp->tilt != 0 ? 1 : MIN (slab, cpu ? GRAIN : 2 * GRAIN);
  while (batch > 1
         && (batch * (guint64) fbp->n_views * fbp->n_filtered > MAX_ELEMENTS
             || batch * (guint64) fbp->nx * fbp->ny > MAX_ELEMENTS))
    batch /= 2;
  fbp->batch = batch;
  guint64 row = MAX (td_row_filter_workspace_bytes (fbp->n_filtered, 1), 1);
  fbp->filter_rows
      = (guint) CLAMP (FILTER_BYTES / row, 1, MIN ((guint64) slab * fbp->n_views, MAX_ELEMENTS));
}

static guint64
device_budget (TdDevice *device)
{
  const TdDeviceInfo *info = td_device_info (device);
  guint64 free = td_device_memory_free (device);

  if (free == G_MAXUINT64)
    free = info->memory_bytes;
  return free - free / 16; /* the driver's own, and fragmentation */
}

/* NULL if the slab fits; else what it is too large for, and what to do: @remedy.
   (transfer full) */
static char *
fbp_plan_too_large (const TdPlan *plan, const char **remedy)
{
  const TdFbp *fbp = plan->extra;
  Bytes bytes = job_bytes (plan);
  guint64 budget = td_plan_host_budget (plan);
  guint rows = td_fbp_most_rows (fbp, fbp->slab_slices);
  guint64 largest
      = MAX (rows * td_fbp_row_bytes (fbp), fbp->slab_slices * td_fbp_slice_bytes (fbp));

  if (td_fbp_filters_apart (fbp))
    largest = MAX (largest, fbp->slab_slices * td_fbp_filtered_bytes (fbp));

  *remedy = td_plan_remedy (plan, NULL);
  if (bytes.host > budget) {
    g_autofree char *need = td_memory_text (bytes.host), *have = td_memory_text (budget);
    return td_message_packed ("%s of host memory, and %s may be used", need, have);
  }
  for (guint i = 0; i < plan->devices->len; i++) {
    TdDevice *device = plan->devices->pdata[i];
    const TdDeviceInfo *info = td_device_info (device);
    guint64 set = working_set_bytes (plan, i), free = device_budget (device);
    *remedy = td_plan_remedy (plan, device);
    if (set > free) {
      g_autofree char *need = td_memory_text (set), *have = td_memory_text (free);
      return td_message_packed ("%s of memory on %s, which has %s free", need, info->id, have);
    }
    if (info->max_alloc_bytes && largest > info->max_alloc_bytes) {
      g_autofree char *need = td_memory_text (largest);
      g_autofree char *have = td_memory_text (info->max_alloc_bytes);
      *remedy = TD_PLAN_NO_LIMIT;
      return td_message_packed ("one buffer of %s on %s, which allows %s", need, info->id, have);
    }
  }
  return NULL;
}

/* Slabs as small as graphics cards still do at their full rate, for scans that cost nothing to read
   in small pieces. The first slab starts sooner, the last one ends sooner, and less memory has to
   be pinned. */
static guint
small_slab (const TdPlan *plan, const TdFbp *fbp)
{
  const guint64 each = MAX (td_fbp_filtered_bytes (fbp), td_fbp_slice_bytes (fbp));
  guint slab = MIN (GRAIN, plan->facts.n_slices);

  for (guint i = 0; i < plan->devices->len; i++)
    if (td_device_info (plan->devices->pdata[i])->kind != TD_DEVICE_GPU)
      return slab;
  while (slab > 4 && slab * each > SMALL_SLAB_BYTES)
    slab -= 4;
  return slab;
}

static guint
usual_slab (const TdPlan *plan, const TdFbp *fbp)
{
  const TdScanFacts *measured = td_scan_facts (plan->measured);
  /* Of one view's row, as the scan has it. */
  const guint bytes = (guint) (measured->n_columns * td_sample_size (measured->sample_type));
  guint n = plan->facts.n_slices;
  guint slab = (n / USUAL_SLABS + GRAIN - 1) / GRAIN * GRAIN;

  if (td_scan_facts (plan->scan)->in_memory && fbp->halo == 0)
    return small_slab (plan, fbp);
  slab = MAX (slab, MIN (PIECE_BYTES / bytes, n / LEAST_SLABS) / GRAIN * GRAIN);
  slab = CLAMP (slab, GRAIN, MAX_SLAB);
  slab = MAX (slab, (4 * fbp->halo + GRAIN - 1) / GRAIN * GRAIN); /* halos are work done twice */
  /* Slabs end where rows end that are unpacked together. */
  const guint together = td_scan_facts (plan->scan)->rows_together;
  if (together > 1 && together <= MAX_SLAB && fbp->halo == 0)
    slab = (slab + together - 1) / together * together;
  while (slab > GRAIN && slab * td_fbp_filtered_bytes (fbp) > LARGE_SLAB_BYTES)
    slab -= GRAIN;
  return MIN (slab, n);
}

static gboolean
choose_slab (TdPlan *plan, TdFbp *fbp, GError **error)
{
  guint usual = usual_slab (plan, fbp);
  const char *remedy = NULL;
  g_autofree char *reason = NULL;

  for (guint slab = usual; slab >= 1; slab = slab > GRAIN ? (slab - 1) / GRAIN * GRAIN : slab / 2) {
    fbp_plan_set_slab (plan, fbp, slab);
    g_free (reason);
    reason = fbp_plan_too_large (plan, &remedy);
    if (reason && slab == usual) {
      td_engine_drop_idle (plan->engine); /* earlier previews' memory */
      g_free (reason);
      reason = fbp_plan_too_large (plan, &remedy);
    }
    if (!reason) {
      if (slab < usual)
        td_plan_note (plan, "Slabs of %u [slice|slices] instead of %u, to fit into memory.", slab,
                      usual);
      return TRUE;
    }
  }
  return td_set_error (error, TD_ERROR_TOO_LARGE, "Even one slice at a time needs %p; %p",
                       td_message_unpack (reason), td_message_new_plain (remedy));
}

static gboolean
check_elements (const TdFbp *fbp, GError **error)
{
  guint64 sinogram = (guint64) fbp->n_views * fbp->n_filtered;
  guint64 slice = (guint64) fbp->nx * fbp->ny;

  if (sinogram <= MAX_ELEMENTS && slice <= MAX_ELEMENTS)
    return TRUE;
  return td_set_error (
      error, TD_ERROR_TOO_LARGE,
      sinogram > MAX_ELEMENTS
          ? N_ ("A sinogram of this scan has more than 2^31 values (%u views × %u "
                "columns, %u × %u pixels); bin the projections")
          : N_ ("A slice of this scan has more than 2^31 values (%u views × %u columns, "
                "%u × %u pixels); take a smaller {region}"),
      fbp->n_views, fbp->n_filtered, fbp->nx, fbp->ny);
}

/* ── A copy of the frames ── */

/* Frames whose rows are unpacked many at a time would be unpacked for each slab anew. */
static void
fbp_plan_decide_spool (TdPlan *plan, TdFbp *fbp)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint row0 = plan->facts.first_slice - MIN (fbp->halo, plan->facts.first_slice);
  guint64 wanted = 0;

  if (!fbp_plan_unpacks_again (plan, fbp, &wanted))
    return;
  const guint64 bytes = td_scan_spool_bytes (facts, (guint) wanted, facts->sample_type);
  g_autofree char *size = g_format_size (bytes);
  if (bytes > td_file_temporary_room ()) {
    td_plan_note (plan,
                  "The scan's frames are unpacked several times: a copy of them wants %s, which %s "
                  "has no room for; set TMPDIR to a larger disk.",
                  size, g_get_tmp_dir ());
    return;
  }
  td_plan_note (plan,
                "The scan's storage unpacks %u rows for one: frames are read once, and wait for "
                "their rows to be wanted in a temporary file (%s).",
                facts->rows_together, size);
  plan->copied = TRUE;
  fbp->spool = td_scan_spool_new (plan->scan, row0, (guint) wanted, facts->sample_type, FALSE);
}

/* ── The plan ── */

/* The first of the ways that fits into memory; the index. */
static gboolean
fbp_plan_take_way (TdPlan *plan, TdFbp *fbp, guint *taken, GError **error)
{
  for (guint i = 0; i < fbp->ways->len; i++) {
    const TdFbpWay *way = fbp->ways->pdata[i];
    g_autoptr (GError) problem = NULL;
    td_fbp_take_way (plan, way);
    *taken = i;
    if (choose_slab (plan, fbp, &problem))
      return TRUE;
    const TdFbpWay *next = i + 1 < fbp->ways->len ? fbp->ways->pdata[i + 1] : NULL;
    if (!next || next->exact_enough < way->exact_enough) {
      g_propagate_error (error, g_steal_pointer (&problem));
      return FALSE;
    }
    td_plan_note (plan, "The method %s does not fit: %p.", way->method->name,
                  td_error_message (problem));
  }
  g_return_val_if_reached (FALSE);
}

static void
fbp_plan_fill_facts (TdPlan *plan, const TdFbp *fbp)
{
  TdPlanFacts *facts = &plan->facts;
  Bytes bytes = job_bytes (plan);

  facts->sent_bits = 8 * (fbp->raw_bytes ? fbp->raw_bytes : (guint) sizeof (float));
  facts->nx = fbp->nx;
  facts->ny = fbp->ny;
  facts->slab_slices = fbp->slab_slices;
  facts->n_slabs = fbp->n_slabs;
  facts->read_bytes = td_plan_read_bytes (plan, td_fbp_most_rows (fbp, facts->n_slices));
  facts->write_bytes = td_plan_volume_bytes (plan);
  facts->host_bytes = bytes.host;
  facts->device_bytes = bytes.device;
  facts->updates = (double) facts->n_slices * fbp->nx * fbp->ny * fbp->n_views;
}

static void
set_halo (const TdPlan *plan, TdFbp *fbp)
{
  const guint halo
      = td_preparation_halo (plan->recipe.steps, plan->recipe.n_steps, td_scan_facts (plan->scan));
  /* A preview has up to an eighth more, so that its rows are still enough for a slider's next
   * places. */
  const guint bits = g_bit_storage (halo);
  const guint step = plan->facts.n_slices == 1 && bits > 4 ? 1u << (bits - 4) : 1;

  fbp->halo = MIN ((halo + step - 1) / step * step, fbp->n_rows);
}

gboolean
td_fbp_plan (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const TdAxisLine axis = td_plan_axis (plan);
  TdFbp *fbp = g_new0 (TdFbp, 1);
  guint way = 0;

  plan->extra = fbp;
  plan->free_extra = fbp_free;
  fbp->n_columns = facts->n_columns;
  fbp->n_views = facts->n_views;
  fbp->n_rows = facts->n_rows;
  fbp->centre_px = axis.centre_px;
  fbp->tilt = axis.slope;
  set_halo (plan, fbp);
  if (!fbp_plan_field (plan, fbp, error) || !set_slice (plan, fbp, error)
      || !check_elements (fbp, error) || !td_fbp_list_ways (plan, error)
      || !fbp_plan_take_way (plan, fbp, &way, error))
    return FALSE;
  if (!fbp->blend && (fbp->centre_px < 0 || fbp->centre_px > fbp->n_columns - 1))
    td_plan_note (plan, "The rotation axis, column %.2f, is outside the detector.", fbp->centre_px);
  fbp_plan_decide_spool (plan, fbp);
  fbp_plan_fill_facts (plan, fbp);
  td_fbp_describe_ways (plan, way);
  return TRUE;
}
