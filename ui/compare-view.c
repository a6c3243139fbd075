/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "compare-figures.h"
#include "labels.h"
#include "latest.h"
#include "method-choices.h"
#include "preview.h"
#include "scan-readout.h"
#include "ui.h"

struct _TdCompareView {
  GtkWidget parent_instance;
  GtkWidget *box;
  TdCompareSide *side_a, *side_b;
  TdImagePane *pane_a, *pane_b, *pane_d;
  GtkToggleButton *wipe, *side, *difference;
  GtkLabel *figures;
  TdPreview *previews[2];
  TdImage *images[2]; /* full ones; NULL: not there yet */
  char *problems[2];  /* why a side has none; NULL: it has, or it is on its way */
  TdLatest *comparisons;
  TdScan *scan;
  guint row;
  gboolean has_base, active, stale;
  gboolean linking;
  TdSliceReadout readout;
};

enum { TAKE_REQUESTED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdCompareView, td_compare_view, GTK_TYPE_WIDGET)

static TdCompareSide *
side_at (TdCompareView *self, guint i)
{
  return i == 0 ? self->side_a : self->side_b;
}

static TdImagePane *
pane_at (TdCompareView *self, guint i)
{
  return i == 0 ? self->pane_a : self->pane_b;
}

/* Both sides' reasons: one must not hide the other. */
static void
compare_view_show_problems (TdCompareView *self)
{
  g_autofree char *a = self->problems[0] ? g_strdup_printf (_ ("A: %s"), self->problems[0]) : NULL;
  g_autofree char *b = self->problems[1] ? g_strdup_printf (_ ("B: %s"), self->problems[1]) : NULL;
  g_autofree char *text = a && b ? g_strjoin ("\n", a, b, NULL) : g_strdup (a ? a : b ? b : "");

  gtk_label_set_text (self->figures, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->figures), text);
}

static void
compare_view_set_problem (TdCompareView *self, guint i, const char *problem)
{
  g_free (self->problems[i]);
  self->problems[i] = g_strdup (problem);
  compare_view_show_problems (self);
}

/* ── Computing ── */

static void
compare_view_request (TdCompareView *self)
{
  self->stale = TRUE;
  if (!self->active || !self->scan || !self->has_base)
    return;
  self->stale = FALSE;
  td_latest_cancel (self->comparisons);
  for (guint i = 0; i < 2; i++) {
    g_clear_pointer (&self->images[i], td_image_unref);
    compare_view_set_problem (self, i, NULL);
    td_preview_request (self->previews[i], self->scan, td_compare_side_recipe (side_at (self, i)),
                        self->row, FALSE);
    td_image_pane_set_updating (pane_at (self, i), TRUE);
    td_image_pane_set_badge (pane_at (self, i),
                             td_preview_label (td_compare_side_recipe (side_at (self, i))->method));
  }
}

typedef struct {
  TdImage *a, *b;
} Comparison;

static void
comparison_free (gpointer user)
{
  Comparison *comparison = user;

  td_image_unref (comparison->a);
  td_image_unref (comparison->b);
  g_free (comparison);
}

static gpointer
compare_in_thread (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Comparison *comparison = user;

  return td_compare_figures_new (comparison->a, comparison->b, error);
}

static void
show_difference (TdCompareView *self, const TdCompareFigures *figures)
{
  double reach = MAX (-td_image_quantile (figures->difference, 0.005),
                      td_image_quantile (figures->difference, 0.995));
  if (!(reach > 0))
    reach = MAX (figures->max_abs, 1e-12);
  td_image_pane_set_image (self->pane_d, figures->difference);
  const double pixel_mm = td_slice_view_get_pixel_mm (td_image_pane_view (self->pane_a));
  td_slice_view_set_pixel_mm (td_image_pane_view (self->pane_d), pixel_mm, pixel_mm);
  /* Symmetric: white is no difference. */
  td_image_pane_set_range (self->pane_d, -reach, reach);
}

static void
on_compared (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdCompareView *self = user;
  const TdCompareFigures *figures = result;

  if (!figures) {
    g_autofree char *words = td_label_error (error);
    gtk_label_set_text (self->figures, words);
    return;
  }
  g_autofree char *text
      = figures->rms > 0
            ? g_strdup_printf (_ ("RMS difference %.3g %s (%.3g of A), largest %.3g, PSNR %.1f dB"),
                               figures->rms, self->readout.units, figures->relative_rms,
                               figures->max_abs, figures->psnr_db)
            : g_strdup (_ ("A and B are equal, every sample"));
  gtk_label_set_text (self->figures, text);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->figures), text);
  show_difference (self, figures);
}

static void
compare_view_compare (TdCompareView *self)
{
  if (!self->images[0] || !self->images[1])
    return;
  Comparison *comparison = g_new0 (Comparison, 1);
  comparison->a = td_image_ref (self->images[0]);
  comparison->b = td_image_ref (self->images[1]);
  td_latest_request (self->comparisons, comparison);
}

/* ── Showing ── */

static gboolean
in_mode (GtkToggleButton *button)
{
  return gtk_toggle_button_get_active (button);
}

static void
show_wipe (TdCompareView *self)
{
  td_slice_view_set_second (td_image_pane_view (self->pane_a),
                            in_mode (self->wipe) ? td_image_pane_get_image (self->pane_b) : NULL);
}

static void
compare_view_show_slice (TdCompareView *self, guint i, const TdPreviewResult *result)
{
  g_autofree char *outcome = g_strdup_printf (_ ("%s, %s precision, %.0f ms"), result->family,
                                              result->precision, result->seconds * 1e3);

  self->readout.pixel_mm = result->pixel_mm;
  self->readout.width = result->image->extent_width;
  self->readout.height = result->image->extent_height;
  g_strlcpy (self->readout.units, result->units, sizeof self->readout.units);
  td_image_pane_set_units (pane_at (self, i), result->units);
  td_image_pane_set_units (self->pane_d, result->units);
  td_image_pane_set_image (pane_at (self, i), result->image);
  td_slice_view_set_pixel_mm (td_image_pane_view (pane_at (self, i)), result->pixel_mm,
                              result->pixel_mm);
  td_compare_side_set_outcome (side_at (self, i), result->coarse ? _ ("coarse") : outcome);
  show_wipe (self);
  if (result->coarse)
    return;
  g_clear_pointer (&self->images[i], td_image_unref);
  self->images[i] = td_image_ref (result->image);
  compare_view_compare (self);
}

static void
show_result (TdCompareView *self, guint i, const TdPreviewResult *result, const GError *error)
{
  if (result) {
    compare_view_show_slice (self, i, result);
  } else if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    g_autofree char *words = td_label_error (error);
    td_compare_side_set_outcome (side_at (self, i), words);
    compare_view_set_problem (self, i, words);
    td_image_pane_set_message (pane_at (self, i), words);
  }
  td_image_pane_set_updating (pane_at (self, i), td_preview_busy (self->previews[i]));
}

static void
on_slice_a (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  show_result (user, 0, result, error);
}

static void
on_slice_b (const TdPreviewResult *result, const GError *error, gboolean last, gpointer user)
{
  show_result (user, 1, result, error);
}

/* A and B under one contrast: another one would be a difference that is not there. */
static void
on_contrast (TdImagePane *pane, double low, double high, TdCompareView *self)
{
  TdImagePane *other = pane == self->pane_a ? self->pane_b : self->pane_a;

  if (self->linking)
    return;
  self->linking = TRUE;
  if (pane == self->pane_a)
    td_image_pane_set_range (other, low, high);
  else
    td_image_pane_set_range (self->pane_a, low, high);
  self->linking = FALSE;
}

static void
compare_view_on_view_changed (TdSliceView *view, TdCompareView *self)
{
  TdImagePane *panes[] = { self->pane_a, self->pane_b, self->pane_d };
  gboolean fitted;
  const TdView *where = td_slice_view_get_view (view, &fitted);

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++)
    if (td_image_pane_view (panes[i]) != view)
      td_slice_view_set_view (td_image_pane_view (panes[i]), where, fitted);
}

static void
on_mode (GtkToggleButton *button, TdCompareView *self)
{
  gboolean difference = in_mode (self->difference);

  gtk_widget_set_visible (GTK_WIDGET (self->pane_a), !difference);
  gtk_widget_set_visible (GTK_WIDGET (self->pane_b), in_mode (self->side));
  gtk_widget_set_visible (GTK_WIDGET (self->pane_d), difference);
  td_image_pane_set_title (self->pane_a, in_mode (self->wipe) ? _ ("A | B") : "A");
  show_wipe (self);
}

/* ── Interface ── */

static void
compare_view_on_edited (TdCompareSide *side, TdCompareView *self)
{
  compare_view_request (self);
}

static void
compare_view_on_take (TdCompareSide *side, TdCompareView *self)
{
  TdRecipe recipe = *td_compare_side_recipe (side);

  g_signal_emit (self, signals[TAKE_REQUESTED], 0, &recipe);
}

void
td_compare_view_set_engine (TdCompareView *self, TdEngine *engine)
{
  g_return_if_fail (self->previews[0] == NULL);
  self->previews[0] = td_preview_new (engine, on_slice_a, NULL, self);
  self->previews[1] = td_preview_new (engine, on_slice_b, NULL, self);
}

void
td_compare_view_set_scan (TdCompareView *self, TdScan *scan)
{
  td_latest_cancel (self->comparisons);
  for (guint i = 0; i < 2; i++) {
    td_preview_cancel (self->previews[i]);
    g_clear_pointer (&self->images[i], td_image_unref);
    td_image_pane_set_image (pane_at (self, i), NULL);
    td_image_pane_set_updating (pane_at (self, i), FALSE);
  }
  td_image_pane_set_image (self->pane_d, NULL);
  td_slice_view_set_second (td_image_pane_view (self->pane_a), NULL);
  gtk_label_set_text (self->figures, "");
  g_clear_pointer (&self->scan, td_scan_unref);
  self->scan = scan ? td_scan_ref (scan) : NULL;
  self->has_base = FALSE;
}

void
td_compare_view_set_base (TdCompareView *self, const TdRecipe *recipe, guint row)
{
  self->has_base = TRUE;
  self->row = row;
  td_compare_side_set_base (self->side_a, recipe);
  td_compare_side_set_base (self->side_b, recipe);
  compare_view_request (self);
}

void
td_compare_view_set_active (TdCompareView *self, gboolean active)
{
  self->active = active;
  if (active && self->stale)
    compare_view_request (self);
}

void
td_compare_view_set_colour_map (TdCompareView *self, const char *name)
{
  td_image_pane_set_colour_map (self->pane_a, name);
  td_image_pane_set_colour_map (self->pane_b, name);
}

/* ── Widget ── */

static void
td_compare_view_dispose (GObject *object)
{
  TdCompareView *self = TD_COMPARE_VIEW (object);

  for (guint i = 0; i < 2; i++) {
    g_clear_pointer (&self->previews[i], td_preview_free);
    g_clear_pointer (&self->problems[i], g_free);
    g_clear_pointer (&self->images[i], td_image_unref);
  }
  g_clear_pointer (&self->comparisons, td_latest_free);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_pointer (&self->scan, td_scan_unref);
  G_OBJECT_CLASS (td_compare_view_parent_class)->dispose (object);
}

static void
td_compare_view_class_init (TdCompareViewClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  g_type_ensure (TD_TYPE_COMPARE_SIDE);
  g_type_ensure (TD_TYPE_IMAGE_PANE);
  G_OBJECT_CLASS (class)->dispose = td_compare_view_dispose;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/compare-view.ui");
  gtk_widget_class_bind_template_child (widget, TdCompareView, box);
  gtk_widget_class_bind_template_child (widget, TdCompareView, side_a);
  gtk_widget_class_bind_template_child (widget, TdCompareView, side_b);
  gtk_widget_class_bind_template_child (widget, TdCompareView, pane_a);
  gtk_widget_class_bind_template_child (widget, TdCompareView, pane_b);
  gtk_widget_class_bind_template_child (widget, TdCompareView, pane_d);
  gtk_widget_class_bind_template_child (widget, TdCompareView, wipe);
  gtk_widget_class_bind_template_child (widget, TdCompareView, side);
  gtk_widget_class_bind_template_child (widget, TdCompareView, difference);
  gtk_widget_class_bind_template_child (widget, TdCompareView, figures);
  gtk_widget_class_bind_template_callback (widget, compare_view_on_edited);
  gtk_widget_class_bind_template_callback (widget, compare_view_on_take);
  gtk_widget_class_bind_template_callback (widget, on_mode);
  signals[TAKE_REQUESTED]
      = td_signal_new (TD_TYPE_COMPARE_VIEW, "take-requested", 1, G_TYPE_POINTER);
}

static void
link_panes (TdCompareView *self)
{
  TdImagePane *panes[] = { self->pane_a, self->pane_b, self->pane_d };

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++) {
    td_image_pane_set_can_enlarge (panes[i], FALSE);
    td_image_pane_set_readout (panes[i], td_slice_readout, &self->readout);
    g_signal_connect (td_image_pane_view (panes[i]), "view-changed",
                      G_CALLBACK (compare_view_on_view_changed), self);
  }
  td_image_pane_set_range (self->pane_b, 0, 1); /* not automatic: it has A's */
  g_signal_connect (self->pane_a, "contrast-changed", G_CALLBACK (on_contrast), self);
  g_signal_connect (self->pane_b, "contrast-changed", G_CALLBACK (on_contrast), self);
  td_image_pane_set_title (self->pane_a, _ ("A | B"));
  td_image_pane_set_title (self->pane_b, "B");
  td_image_pane_set_title (self->pane_d, _ ("A − B"));
  td_image_pane_set_colour_map (self->pane_d, td_colour_map_name (TD_COLOUR_DIVERGING));
}

static void
td_compare_view_init (TdCompareView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->comparisons = td_latest_new (compare_in_thread, comparison_free, on_compared,
                                     (GDestroyNotify) td_compare_figures_free, self);
  td_compare_side_set_name (self->side_a, "A");
  td_compare_side_set_name (self->side_b, "B");
  td_compare_side_align (self->side_a, self->side_b);
  td_compare_side_set_interpolation (self->side_b, TD_INTERPOLATION_NEAREST);
  link_panes (self);
}
