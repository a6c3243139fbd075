/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "cli-verbs.h"
#include "cli.h"
#include "dataset/error.h"
#include "dataset/output.h"
#include "dataset/volume.h"

static const TdCliHelp help = {
  "A B [OPTION…]",
  "Compares two volumes of the same size, slice by slice; B is the one to be judged by. Volumes\n"
  "are TIFF files, folders of TIFF slices, or HDF5 files.",
  "  How far is a reconstruction from the object, corners left out?\n"
  "    tomodesk-cli compare slices.tif truth.tif --circle 0.95\n"
  "  Do two devices agree? Exit status 1 if not, and a picture of the difference:\n"
  "    tomodesk-cli compare gpu.tif host.tif --limit 1e-4 --output difference.tif\n",
};

typedef struct {
  char *output;
  double circle, limit;
  gboolean overwrite, json;
} Options;

#define SAME_VOXEL 1e-4 /* by how much of it two sizes may differ */

typedef struct {
  const TdVolumeFacts *a, *b; /* what is compared */
  guint64 samples;
  double squares, reference_squares; /* sums over the samples compared */
  double largest;                    /* |A - B| */
  guint at[3];                       /* where: x, y, slice */
  double low, high;                  /* of B */
  TdMessage **notes;                 /* what of A and B should be known beside the numbers */
} Difference;

/* TRUE if pixel (x, y) lies within @fraction of the circle that fits into the slice; INFINITY:
   everywhere. */
static gboolean
in_circle (const TdVolumeFacts *facts, guint x, guint y, double fraction)
{
  double dx = x - (facts->nx - 1) / 2.0, dy = y - (facts->ny - 1) / 2.0;

  return hypot (dx, dy) <= fraction * MIN (facts->nx, facts->ny) / 2.0;
}

/* Adds slice @slice to the sums and leaves A - B in @a. */
static gboolean
cli_compare_add_slice (Difference *difference, guint slice, double circle, float *a, const float *b,
                       GError **error)
{
  const TdVolumeFacts *fa = difference->a, *fb = difference->b;

  for (guint y = 0; y < fa->ny; y++) {
    for (guint x = 0; x < fa->nx; x++) {
      gsize i = (gsize) y * fa->nx + x;
      const gboolean counts = in_circle (fa, x, y, circle);
      if (counts && (!isfinite (a[i]) || !isfinite (b[i])))
        return td_set_error (
            error, TD_ERROR_BAD_FILE,
            "“%s” is not finite at pixel (%u, %u) of slice %u: there is nothing to compare",
            isfinite (a[i]) ? fb->path : fa->path, x, y, slice);
      double d = (double) a[i] - b[i];
      a[i] = d;
      if (!counts)
        continue;
      difference->samples++;
      difference->squares += d * d;
      difference->reference_squares += (double) b[i] * b[i];
      difference->low = MIN (difference->low, b[i]);
      difference->high = MAX (difference->high, b[i]);
      if (fabs (d) > difference->largest) {
        difference->largest = fabs (d);
        difference->at[0] = x;
        difference->at[1] = y;
        difference->at[2] = slice;
      }
    }
  }
  return TRUE;
}

static TdVolumeWriter *
cli_compare_open_output (const Options *o, const TdVolumeFacts *facts, GError **error)
{
  TdVolumeSpec spec = {
    .path = o->output,
    .format = td_cli_volume_format (o->output),
    .bits = 32,
    .nx = facts->nx,
    .ny = facts->ny,
    .n_slices = facts->n_slices,
    .voxel_mm = facts->voxel_mm,
    .units = facts->voxel_mm > 0 ? "1/mm" : "1/px",
    .overwrite = o->overwrite,
  };

  return td_volume_writer_new (&spec, error);
}

static gboolean
check_sizes (const TdVolumeFacts *a, const TdVolumeFacts *b, GError **error)
{
  if (a->nx == b->nx && a->ny == b->ny && a->n_slices == b->n_slices)
    return TRUE;
  return td_set_error (
      error, TD_ERROR_UNSUPPORTED,
      "The volumes differ in size: “%s” has %u [slice|slices] of %u × %u pixels, “%s” has %u of "
      "%u × %u; reconstruct the same rows and region to compare them",
      a->path, a->n_slices, a->nx, a->ny, b->path, b->n_slices, b->nx, b->ny);
}

/* What makes the numbers mean less than they seem to; A - B of other units or places is none. */
static void
cli_compare_note (Difference *difference)
{
  const TdVolumeFacts *a = difference->a, *b = difference->b;

  td_messages_append (&difference->notes, a->notes);
  td_messages_append (&difference->notes, b->notes);
  if (a->first_slice != b->first_slice)
    td_messages_note (&difference->notes,
                      "“%s” begins with slice %u of its scan, “%s” with slice %u: they are "
                      "compared in their order all the same.",
                      a->path, a->first_slice, b->path, b->first_slice);
  if (a->voxel_mm > 0 && b->voxel_mm > 0 && fabs (a->voxel_mm / b->voxel_mm - 1) > SAME_VOXEL)
    td_messages_note (&difference->notes,
                      "“%s” has voxels of %g mm, “%s” of %g mm: they are compared voxel by voxel "
                      "all the same.",
                      a->path, a->voxel_mm, b->path, b->voxel_mm);
  if (a->units && b->units && !g_str_equal (a->units, b->units))
    td_messages_note (&difference->notes,
                      "The values of “%s” are in %s, those of “%s” in %s: they are compared as "
                      "numbers all the same.",
                      a->path, a->units, b->path, b->units);
}

static gboolean
cli_compare (const char *path_a, const char *path_b, const Options *o, Difference *difference,
             GError **error)
{
  g_autoptr (TdVolume) a = td_volume_open (path_a, error);
  g_autoptr (TdVolume) b = a ? td_volume_open (path_b, error) : NULL;
  g_autoptr (TdVolumeWriter) writer = NULL;

  if (!b || !check_sizes (td_volume_facts (a), td_volume_facts (b), error))
    return FALSE;
  const TdVolumeFacts *fa = difference->a = td_volume_facts (a);
  difference->b = td_volume_facts (b);
  cli_compare_note (difference);
  if (o->output
      && (!td_output_spares_volume (o->output, path_a, error)
          || !td_output_spares_volume (o->output, path_b, error)
          || !(writer = cli_compare_open_output (o, fa, error))))
    return FALSE;

  gsize n = (gsize) fa->nx * fa->ny;
  g_autofree float *slice_a = g_new (float, n);
  g_autofree float *slice_b = g_new (float, n);
  for (guint i = 0; i < fa->n_slices; i++) {
    if (g_cancellable_set_error_if_cancelled (td_cli_cancellable (), error)
        || !td_volume_read (a, i, 1, slice_a, error) || !td_volume_read (b, i, 1, slice_b, error)
        || !cli_compare_add_slice (difference, i, o->circle, slice_a, slice_b, error)
        || (writer && !td_volume_writer_write (writer, i, 1, slice_a, error)))
      return FALSE;
    td_cli_progress ("comparing", (i + 1.0) / fa->n_slices, -1, NULL);
  }
  td_cli_progress_clear ();
  if (difference->samples == 0)
    return td_set_error (error, TD_ERROR_INVALID,
                         "No pixel lies within the circle of --circle %g; take a larger fraction",
                         o->circle);
  return !writer || td_volume_writer_finish (writer, "{\"content\": \"difference A - B\"}", error);
}

/* The numbers alone are on standard output. */
static void
cli_compare_say (TdMessage *const *notes)
{
  g_auto (GStrv) texts = td_messages_texts (notes, NULL);

  for (guint i = 0; texts[i]; i++)
    td_cli_say ("note: %s", texts[i]);
}

static int
cli_compare_report (const Difference *difference, const Options *o)
{
  double rms = sqrt (difference->squares / difference->samples);
  double reference = sqrt (difference->reference_squares / difference->samples);
  double relative = reference > 0 ? rms / reference : rms > 0 ? INFINITY : 0;
  double psnr = 20 * log10 ((difference->high - difference->low) / rms);
  int status;

  if (!o->json)
    cli_compare_say (difference->notes);
  if (o->json) {
    g_autoptr (JsonBuilder) builder = json_builder_new ();
    json_builder_begin_object (builder);
    td_json_add_number (builder, "rms", rms);
    td_json_add_number (builder, "relative_rms", relative);
    td_json_add_number (builder, "max_abs", difference->largest);
    td_json_add_number (builder, "psnr_db", psnr);
    td_json_add_integer (builder, "max_x", difference->at[0]);
    td_json_add_integer (builder, "max_y", difference->at[1]);
    td_json_add_integer (builder, "max_slice", difference->at[2]);
    td_json_add_integer (builder, "samples", difference->samples);
    td_json_add_string (builder, "output", o->output);
    td_json_add_notes (builder, difference->notes);
    json_builder_end_object (builder);
    status = td_cli_print_json (builder);
  } else {
    g_autofree char *peak = isfinite (psnr) ? g_strdup_printf ("%.2f dB", psnr)
                                            : g_strdup (rms > 0 ? "none, B is flat" : "identical");
    g_autofree char *text
        = g_strdup_printf ("RMS difference    %.6g\nrelative to B     %.6g\nlargest           %.6g "
                           "at pixel (%u, %u) of "
                           "slice %u\nPSNR              %s\nsamples compared  %" PRIu64,
                           rms, relative, difference->largest, difference->at[0], difference->at[1],
                           difference->at[2], peak, difference->samples);
    status = td_cli_print_text (text);
  }

  if (status == TD_CLI_DONE && relative > o->limit) {
    td_cli_say ("the relative RMS difference %.3g is above the limit of %.3g", relative, o->limit);
    return TD_CLI_FAILED;
  }
  return status;
}

int
td_cli_compare (int argc, char **argv)
{
  Options o = { .circle = INFINITY, .limit = INFINITY };
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output,
      "Write A - B as a volume (.tif, .h5 or a folder)", "PATH" },
    { "circle", 0, 0, G_OPTION_ARG_DOUBLE, &o.circle,
      "Compare only within this fraction, above 0 up to 1, of the circle that fits into the slice",
      "F" },
    { "limit", 0, 0, G_OPTION_ARG_DOUBLE, &o.limit,
      "Exit status 1 if the relative RMS difference is larger", "F" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &o.overwrite, "Replace what is at PATH", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print one JSON object", NULL },
    { NULL },
  };
  Difference difference = { .low = INFINITY, .high = -INFINITY };
  g_autoptr (GError) error = NULL;
  const char *paths[2];

  int status = td_cli_parse (argc, argv, &help, entries, NULL, 2, paths);
  if (status >= 0)
    return status;
  if (!(o.circle > 0) || (o.circle > 1 && isfinite (o.circle)) || o.limit < 0)
    return td_cli_usage ("compare",
                         "--circle is a fraction above 0 up to 1, --limit is not negative");
  status = cli_compare (paths[0], paths[1], &o, &difference, &error)
               ? cli_compare_report (&difference, &o)
               : td_cli_fail (error);
  td_messages_free (difference.notes);
  return status;
}
