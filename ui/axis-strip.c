/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-strip.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "compute/axis/axis-line.h"
#include "compute/axis/axis.h"
#include "dataset/sort.h"
#include "labels.h"
#include "scan-question.h"
#include "ui.h"

#define N TD_AXIS_STRIP_TRIALS
#define TILE 160u        /* pixels of a picture, along each side */
#define STEPS_SHOWN 64.0 /* a picture shows so many steps across */
#define FINEST_PX 0.05

/* What comes of what is asked for. */
typedef struct {
  guint row;
  double step_px;
  double centres_px[N], sharpness[N];
  GdkTexture *pictures[N];
} Shown;

struct _TdAxisStrip {
  AdwBin parent_instance;
  GtkWidget *tiles, *buttons[N], *pictures[N], *labels[N];
  GtkLabel *heading;
  GtkButton *finer;
  GtkSpinner *spinner;
  GtkDrawingArea *curve;
  TdLatest *latest;
  TdScanQuestion *asked; /* NULL: nothing */
  Shown *shown;          /* NULL: not there */
  double centre_px;
};

G_DEFINE_FINAL_TYPE (TdAxisStrip, td_axis_strip, ADW_TYPE_BIN)

static void
axis_strip_shown_free (gpointer user)
{
  Shown *shown = user;

  for (guint i = 0; i < N; i++)
    g_clear_object (&shown->pictures[i]);
  g_free (shown);
}

static double
axis_strip_step (const TdScanQuestion *trials)
{
  return (trials->span_px[1] - trials->span_px[0]) / (N - 1);
}

/* ── Worker thread ── */

/* Where the slice has most edges: the corner of the part that is shown. */
static void
axis_strip_find_part (const float *slice, guint side, guint part, guint corner[2])
{
  double most = -1;

  for (guint y = 0; y + part <= side; y += MAX (part / 2, 1))
    for (guint x = 0; x + part <= side; x += MAX (part / 2, 1)) {
      double edges = 0;
      for (guint j = y + 1; j < y + part; j += 2)
        for (guint i = x + 1; i < x + part; i++) {
          const float *p = slice + (gsize) j * side + i;
          edges += fabsf (p[0] - p[-1]) + fabsf (p[0] - *(p - side));
        }
      if (edges > most) {
        most = edges;
        corner[0] = x;
        corner[1] = y;
      }
    }
}

/* The part, averaged to a tile. */
static void
axis_strip_shrink (const float *slice, guint side, const guint corner[2], guint part, float *tile)
{
  for (guint y = 0; y < TILE; y++)
    for (guint x = 0; x < TILE; x++) {
      const guint x0 = x * part / TILE, x1 = MAX ((x + 1) * part / TILE, x0 + 1);
      const guint y0 = y * part / TILE, y1 = MAX ((y + 1) * part / TILE, y0 + 1);
      double sum = 0;
      for (guint j = y0; j < y1; j++)
        for (guint i = x0; i < x1; i++)
          sum += slice[(gsize) (corner[1] + MIN (j, part - 1)) * side + corner[0]
                       + MIN (i, part - 1)];
      tile[y * TILE + x] = (float) (sum / ((x1 - x0) * (y1 - y0)));
    }
}

static GdkTexture *
axis_strip_texture (const float *tile, float low, float high)
{
  guint8 *pixels = g_malloc (TILE * TILE * 3);

  for (guint i = 0; i < TILE * TILE; i++)
    memset (pixels + 3 * i, (int) (255 * CLAMP ((tile[i] - low) / (high - low), 0, 1)), 3);
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, TILE * TILE * 3);
  return gdk_memory_texture_new (TILE, TILE, GDK_MEMORY_R8G8B8, bytes, TILE * 3);
}

/* One contrast for all: that of the middle trial. */
static void
axis_strip_draw (const float *slices, guint side, Shown *shown)
{
  const gsize pixels = (gsize) side * side;
  const guint part = (guint) CLAMP (STEPS_SHOWN * shown->step_px, MIN (TILE, side), side);
  g_autofree float *tile = g_new (float, TILE *TILE);
  g_autofree float *sorted = g_new (float, TILE *TILE);
  guint corner[2] = { 0, 0 };

  axis_strip_find_part (slices + N / 2 * pixels, side, part, corner);
  axis_strip_shrink (slices + N / 2 * pixels, side, corner, part, sorted);
  const float low = td_float_at_rank (sorted, TILE * TILE, TILE * TILE / 100);
  const float high = td_float_at_rank (sorted, TILE * TILE, TILE * TILE / 100 * 99);
  for (guint i = 0; i < N; i++) {
    axis_strip_shrink (slices + i * pixels, side, corner, part, tile);
    shown->pictures[i] = axis_strip_texture (tile, low, high > low ? high : low + 1);
  }
}

static gpointer
axis_strip_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const TdScanQuestion *trials = user;
  const TdScanFacts *facts = td_scan_facts (trials->scan);
  const TdAxisLine through_0 = td_axis_line (0, trials->recipe.tilt_deg, facts->n_rows);
  const double at_row = td_axis_line_at (&through_0, trials->row);
  g_autoptr (GPtrArray) devices = td_engine_devices (trials->engine, trials->recipe.devices, error);
  g_autoptr (TdScan) measured
      = devices ? td_engine_measured (trials->engine, trials->scan, &trials->recipe, error) : NULL;
  double centres[N];

  if (!measured)
    return NULL;
  Shown *shown = g_new0 (Shown, 1);
  shown->row = trials->row;
  shown->step_px = axis_strip_step (trials);
  for (guint i = 0; i < N; i++) {
    shown->centres_px[i] = trials->span_px[0] + i * shown->step_px;
    centres[i] = shown->centres_px[i] + at_row;
  }
  const TdRowSource source
      = { devices->pdata[0], measured, NULL, trials->recipe.steps, trials->recipe.n_steps };
  g_autofree float *slices = td_axis_trial_slices (&source, trials->row, centres, N,
                                                   shown->sharpness, cancellable, error);
  if (!slices) {
    axis_strip_shown_free (shown);
    return NULL;
  }
  axis_strip_draw (slices, facts->n_columns, shown);
  return shown;
}

/* ── Showing ── */

static void
axis_strip_mark (TdAxisStrip *self)
{
  const double half = self->shown ? self->shown->step_px / 2 : 0;

  for (guint i = 0; i < N; i++)
    td_set_style_class (self->buttons[i], "current",
                        self->shown && fabs (self->shown->centres_px[i] - self->centre_px) < half);
}

static void
axis_strip_update (TdAxisStrip *self)
{
  for (guint i = 0; i < N; i++) {
    g_autofree char *text
        = self->shown ? g_strdup_printf ("%.2f", self->shown->centres_px[i]) : g_strdup ("");
    gtk_label_set_text (GTK_LABEL (self->labels[i]), text);
    gtk_picture_set_paintable (GTK_PICTURE (self->pictures[i]),
                               self->shown ? GDK_PAINTABLE (self->shown->pictures[i]) : NULL);
    gtk_widget_set_sensitive (self->buttons[i], self->shown != NULL);
    g_autofree char *name = g_strdup_printf (_ ("Take centre %s"), text);
    td_set_spoken_name (self->buttons[i], name);
  }
  axis_strip_mark (self);
  gtk_widget_queue_draw (GTK_WIDGET (self->curve));
  gtk_spinner_set_spinning (self->spinner, td_latest_busy (self->latest));
}

/* Others may have been asked for since: the heading is of those that are shown. */
static void
axis_strip_show (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdAxisStrip *self = user;
  const Shown *made = result;
  g_autofree char *words
      = error ? td_label_error (error)
              : g_strdup_printf (_ ("Row %u, trials every %.3g columns. Click the sharpest"),
                                 made->row, made->step_px);

  g_clear_pointer (&self->shown, axis_strip_shown_free);
  if (result) {
    self->shown = g_memdup2 (result, sizeof *self->shown);
    for (guint i = 0; i < N; i++)
      g_object_ref (self->shown->pictures[i]);
  }
  gtk_label_set_text (self->heading, words);
  axis_strip_update (self);
}

static void
axis_strip_draw_curve (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer user)
{
  TdAxisStrip *self = user;
  double low = INFINITY, high = -INFINITY;
  GdkRGBA colour;

  if (!self->shown)
    return;
  for (guint i = 0; i < N; i++) {
    low = MIN (low, self->shown->sharpness[i]);
    high = MAX (high, self->shown->sharpness[i]);
  }
  gtk_style_context_get_color (gtk_widget_get_style_context (GTK_WIDGET (area)), &colour);
  gdk_cairo_set_source_rgba (cr, &colour);
  cairo_set_line_width (cr, 1.5);
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < N; i++) {
      const double part = high > low ? (self->shown->sharpness[i] - low) / (high - low) : 0.5;
      const double x = (i + 0.5) / N * width, y = 5 + (1 - part) * (height - 10);
      if (pass == 0) {
        cairo_line_to (cr, x, y);
        continue;
      }
      cairo_arc (cr, x, y, part == 1 ? 4.5 : 2.5, 0, 2 * G_PI);
      cairo_fill (cr);
    }
    cairo_stroke (cr);
  }
}

/* ── Asking ── */

static TdScanQuestion *
axis_strip_question (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, guint row,
                     const double span_px[2])
{
  TdScanQuestion *trials = td_scan_question_new (engine, scan, recipe);

  trials->row = row;
  memcpy (trials->span_px, span_px, sizeof trials->span_px);
  return trials;
}

static void
axis_strip_ask (TdAxisStrip *self)
{
  const TdScanQuestion *asked = self->asked;

  td_latest_request (self->latest, axis_strip_question (asked->engine, asked->scan, &asked->recipe,
                                                        asked->row, asked->span_px));
  gtk_label_set_text (self->heading, _ ("Reconstructing trials"));
  gtk_spinner_set_spinning (self->spinner, TRUE);
}

void
td_axis_strip_request (TdAxisStrip *self, TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                       guint row, const double span_px[2])
{
  g_clear_pointer (&self->asked, td_scan_question_free);
  self->asked = axis_strip_question (engine, scan, recipe, row, span_px);
  axis_strip_ask (self);
}

void
td_axis_strip_clear (TdAxisStrip *self)
{
  td_latest_cancel (self->latest);
  g_clear_pointer (&self->asked, td_scan_question_free);
  g_clear_pointer (&self->shown, axis_strip_shown_free);
  axis_strip_update (self);
}

void
td_axis_strip_set_centre (TdAxisStrip *self, double centre_px)
{
  self->centre_px = centre_px;
  axis_strip_mark (self);
}

static void
axis_strip_on_zoom (GtkButton *button, TdAxisStrip *self)
{
  if (!self->asked)
    return;
  const double factor = button == self->finer ? 0.5 : 2;
  const double reach = MAX (factor * axis_strip_step (self->asked), FINEST_PX) * (N - 1) / 2;
  self->asked->span_px[0] = self->centre_px - reach;
  self->asked->span_px[1] = self->centre_px + reach;
  axis_strip_ask (self);
}

static void
axis_strip_on_close (GtkButton *button, TdAxisStrip *self)
{
  g_signal_emit_by_name (self, "closed");
}

static void
axis_strip_on_clicked (GtkButton *button, TdAxisStrip *self)
{
  const guint i = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "trial"));

  g_signal_emit_by_name (self, "taken", self->shown->centres_px[i]);
}

/* ── Widget ── */

TD_DISPOSE (TdAxisStrip, td_axis_strip)
{
  g_clear_pointer (&self->latest, td_latest_free);
  g_clear_pointer (&self->asked, td_scan_question_free);
  g_clear_pointer (&self->shown, axis_strip_shown_free);
}

static void
td_axis_strip_class_init (TdAxisStripClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_axis_strip_dispose;
  td_bind_template (class, TdAxisStrip, "/org/tomodesk/ui/axis-strip.ui", heading, spinner, curve,
                    tiles, finer);
  td_bind_callbacks (class, axis_strip_on_zoom, axis_strip_on_close);
  td_signal_new (class, "taken", 1, G_TYPE_DOUBLE);
  td_signal_new (class, "closed", 0);
}

static void
axis_strip_add_tile (TdAxisStrip *self, guint i)
{
  self->buttons[i] = gtk_button_new ();
  self->pictures[i] = gtk_picture_new ();
  self->labels[i] = gtk_label_new (NULL);
  gtk_widget_set_size_request (self->pictures[i], 48, 110);
  td_add_style (self->labels[i], "numeric caption");
  td_add_style (self->buttons[i], "flat trial-picture");
  gtk_button_set_child (
      GTK_BUTTON (self->buttons[i]),
      td_box_new (GTK_ORIENTATION_VERTICAL, 2, self->pictures[i], self->labels[i], NULL));
  g_object_set_data (G_OBJECT (self->buttons[i]), "trial", GUINT_TO_POINTER (i));
  g_signal_connect (self->buttons[i], "clicked", G_CALLBACK (axis_strip_on_clicked), self);
  gtk_box_append (GTK_BOX (self->tiles), self->buttons[i]);
}

static void
td_axis_strip_init (TdAxisStrip *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  for (guint i = 0; i < N; i++)
    axis_strip_add_tile (self, i);
  self->latest = td_latest_new (axis_strip_work, td_scan_question_free, axis_strip_show,
                                axis_strip_shown_free, self);
  gtk_drawing_area_set_draw_func (self->curve, axis_strip_draw_curve, self, NULL);
  axis_strip_update (self);
}
