/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bad-pixels.h"
#include "slab.h"
#include "steps.h"

/* Bad pixels take their good neighbours' values, in the frames and (step-flat.c) in flats and
 * darks. */
enum { FIND, REACH };

static const TdStepParameter parameters[] = {
  [FIND] = { "find", N_ ("Found beyond (deviations)"),
             N_ ("How far a pixel's dark, response or noise may be from its neighbours'; 0 takes "
                 "the given mask only. Below 5 good pixels are lost."),
             8, 0, 1000, 1, NULL },
  [REACH] = { "reach", N_ ("Rows looked at above and below"),
              N_ ("More where whole rows or large clusters of the detector are bad."), 2, 0,
              TD_BAD_PIXELS_MAX_REACH, 0, NULL },
};

/* The replacements on the device, and what they were made for. */
typedef struct {
  guint row0, n_rows;
  TdStep step;
  GArray *list;
} Held;

static void
step_bad_pixels_held_free (gpointer data)
{
  Held *held = data;

  g_clear_pointer (&held->list, g_array_unref);
  g_free (held);
}

static TdMessage *
step_bad_pixels_unsupported (const TdStep *step, const TdScanFacts *facts)
{
  if (facts->bad_pixels || (step->values[FIND] > 0 && (facts->n_flats > 0 || facts->n_darks > 0)))
    return NULL;
  return td_message_new (
      "“%s” has no mask of bad pixels%p; give one ({bad-pixels:FILE}), or leave "
      "{prepare=bad-pixels} out",
      facts->title ? facts->title : facts->path,
      td_message_new_plain (
          step->values[FIND] > 0 ? N_ (" and neither flats nor darks to find them in") : ""));
}

static guint
step_bad_pixels_halo (const TdStep *step, const TdScanFacts *facts)
{
  return (guint) step->values[REACH];
}

static guint64
step_bad_pixels_workspace_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  /* All pixels of the slab are bad: no detector, but a mask may say so. */
  return (guint64) n_rows * facts->n_columns * sizeof (TdBadPixel);
}

static guint64
step_bad_pixels_host_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows)
{
  return td_bad_pixels_host_bytes (facts);
}

/* Kernels take a list's places and weights apart. */
static gboolean
send_list (TdSlab *slab, const GArray *list, GError **error)
{
  guint n = MAX (list->len, 1);
  g_autofree gint32 *places = g_new0 (gint32, 5 * (gsize) n);
  g_autofree float *weights = g_new0 (float, 4 * (gsize) n);

  for (guint i = 0; i < list->len; i++) {
    const TdBadPixel *bad = &g_array_index (list, TdBadPixel, i);
    places[5 * i] = bad->pixel;
    for (guint s = 0; s < 4; s++) {
      places[5 * i + 1 + s] = bad->source[s];
      weights[4 * i + s] = bad->weight[s];
    }
  }
  return td_slab_send (slab, "bad-pixels places", places, 5 * sizeof *places * (gsize) n, error)
         && td_slab_send (slab, "bad-pixels weights", weights, 4 * sizeof *weights * (gsize) n,
                          error);
}

static gboolean
load_list (const TdStep *step, TdSlab *slab, Held *held, GError **error)
{
  g_autoptr (GBytes) mask
      = td_bad_pixels_mask (td_slab_flats (slab), step->values[FIND], slab->cancellable, error);

  if (!mask)
    return FALSE;
  const gssize alone
      = td_bad_pixels_alone (td_scan_facts (slab->scan), g_bytes_get_data (mask, NULL), slab->row0,
                             slab->n_rows, (guint) step->values[REACH]);
  if (alone >= 0)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "column %u of row %u is bad, and so are all of its row and %u [row|rows] above and below: "
        "look further ({prepare=bad-pixels:reach=%u}), or leave such rows out ({crop})",
        (guint) (alone % slab->n_columns), (guint) (alone / slab->n_columns),
        (guint) step->values[REACH], TD_BAD_PIXELS_MAX_REACH);
  g_clear_pointer (&held->list, g_array_unref);
  held->list = td_bad_pixels_list (g_bytes_get_data (mask, NULL), slab->n_columns, slab->row0,
                                   slab->n_rows, (guint) step->values[REACH]);
  if (!send_list (slab, held->list, error))
    return FALSE;
  held->row0 = slab->row0;
  held->n_rows = slab->n_rows;
  held->step = *step;
  return TRUE;
}

static gboolean
step_bad_pixels_run (const TdStep *step, TdSlab *slab, GError **error)
{
  Held *held = td_slab_kept (slab, "bad-pixels held");

  if (!held) {
    held = g_new0 (Held, 1);
    td_slab_keep (slab, "bad-pixels held", held, step_bad_pixels_held_free);
  }
  if (held->row0 != slab->row0 || held->n_rows != slab->n_rows
      || !td_step_equal (&held->step, step)) {
    held->n_rows = 0;
    if (!load_list (step, slab, held, error))
      return FALSE;
  }
  guint n_bad = held->list->len;
  guint64 counted = 0;
  for (guint i = 0; i < n_bad; i++) {
    const guint pixel = (guint) g_array_index (held->list, TdBadPixel, i).pixel;
    counted += td_slab_counts_row (slab, pixel / slab->n_columns);
  }
  td_slab_counts (slab)->bad_pixels += counted;
  if (n_bad == 0)
    return TRUE;

  return td_slab_launch (slab, "prepare-correct", "prepare_bad_pixels",
                         (guint[]) { n_bad, slab->n_views, 1 },
                         TD_ARGS (slab->data, td_slab_buffer (slab, "bad-pixels places", 0, NULL),
                                  td_slab_buffer (slab, "bad-pixels weights", 0, NULL), n_bad,
                                  slab->n_views, slab->n_columns),
                         error);
}

const GArray *
td_bad_pixels_of_slab (TdSlab *slab)
{
  const Held *held = td_slab_kept (slab, "bad-pixels held");

  return td_slab_step (slab, "bad-pixels") && held ? held->list : NULL;
}

const TdStepKind td_step_bad_pixels = {
  .name = "bad-pixels",
  .title = N_ ("Bad pixels"),
  .summary = N_ ("Dead, hot and stuck pixels of the detector take their neighbours' values."),
  .stage = TD_STEP_INTENSITY,
  .by_view = TRUE,
  TD_STEP_PARAMETERS (parameters),
  .unsupported = step_bad_pixels_unsupported,
  .halo = step_bad_pixels_halo,
  .workspace_bytes = step_bad_pixels_workspace_bytes,
  .host_bytes = step_bad_pixels_host_bytes,
  .run = step_bad_pixels_run,
};
