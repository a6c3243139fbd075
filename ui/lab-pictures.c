/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-pictures.h"

#include <glib/gi18n.h>
#include <math.h>

#include "labels.h"
#include "latest.h"
#include "scan-readout.h"
#include "ui.h"
#include "wrap-layout.h"

#define LEAST_HEIGHT 120 /* of a picture, in pixels */
#define MOST (TD_LAB_MOST + 1)

typedef struct {
  TdImagePane *pane;
  char *name;
  TdImage *image;
  char *problem;    /* why there is no picture */
  gboolean absent;  /* the reference: there is none */
  gboolean due;     /* a picture is on its way; what is shown is an earlier one */
  gboolean stopped; /* it was, and is not made any more */
} Slot;

struct _TdLabPictures {
  GtkWidget parent_instance;
  GtkWidget *box, *tools, *area, *panes;
  GtkGrid *panes_grid;
  GtkSizeGroup *headings; /* of the panes in the grid: names may take several lines */
  GtkDrawingArea *line_area;
  TdImagePane *big;
  GtkToggleButton *grid, *single, *wipe, *difference, *in_noise, *draw_line, *link;
  GtkDropDown *choose_a, *choose_b;
  Slot slots[MOST];
  guint n;               /* variants; slot n is the reference */
  guint columns, placed; /* of the grid, and of how many pictures */
  guint placing;         /* a source that looks whether they fit, or 0 */
  gboolean held, showing, linking;
  int blind; /* the slot shown without its name; -1: no test */
  char *blind_title;
  double noise, pixel_mm;
  double range[2];       /* the contrast of all; low = high: none yet */
  gboolean range_chosen; /* by the user; else the first picture's */
  char *map;
  gboolean has_line;
  TdLabLine line;
  graphene_rect_t drawn[MOST + 1]; /* the line's pictures as they lay when it was drawn */
  GdkFrameClock *clock;            /* while the area is realised; NULL: it is not */
  double drag[2];                  /* where a line begins, picture pixels */
  TdImagePane *drag_pane;
  TdLatest *differences;
  TdSliceReadout readout;
};

G_DEFINE_FINAL_TYPE (TdLabPictures, td_lab_pictures, GTK_TYPE_WIDGET)

static gboolean
lab_pictures_in (GtkToggleButton *button)
{
  return gtk_toggle_button_get_active (button);
}

static guint
lab_pictures_a (TdLabPictures *self)
{
  return MIN (gtk_drop_down_get_selected (self->choose_a), self->n);
}

static guint
lab_pictures_b (TdLabPictures *self)
{
  return MIN (gtk_drop_down_get_selected (self->choose_b), self->n);
}

/* ── The difference ── */

typedef struct {
  TdImage *a, *b;
  double divide;
} Pair;

static void
lab_pictures_pair_free (gpointer user)
{
  Pair *pair = user;

  td_image_unref (pair->a);
  td_image_unref (pair->b);
  g_free (pair);
}

static gpointer
lab_pictures_subtract (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Pair *pair = user;
  g_autoptr (TdImage) plain = td_image_difference (pair->a, pair->b);

  if (!plain)
    return td_set_error_null (error, TD_ERROR_INVALID,
                              _ ("A is %u × %u pixels and B %u × %u: they have no difference"),
                              pair->a->width, pair->a->height, pair->b->width, pair->b->height);
  if (pair->divide == 1)
    return g_steal_pointer (&plain);
  const gsize n = (gsize) plain->width * plain->height;
  float *pixels = g_new (float, n);
  for (gsize i = 0; i < n; i++)
    pixels[i] = (float) (plain->pixels[i] / pair->divide);
  return td_image_new_take (pixels, plain->width, plain->height);
}

static void
lab_pictures_on_subtracted (gpointer result, const GError *error, gboolean last, gpointer user)
{
  TdLabPictures *self = user;
  TdImage *image = result;

  if (!lab_pictures_in (self->difference) || self->blind >= 0 || self->held)
    return;
  td_image_pane_set_updating (self->big, FALSE);
  if (!image) {
    td_image_pane_set_problem (self->big, error);
    return;
  }
  double reach = MAX (-td_image_quantile (image, 0.005), td_image_quantile (image, 0.995));
  if (!(reach > 0))
    reach = MAX (MAX (fabs (image->minimum), fabs (image->maximum)), 1e-12);
  self->linking = TRUE;
  td_image_pane_set_image (self->big, image);
  td_image_pane_set_range (self->big, -reach, reach); /* white is no difference */
  self->linking = FALSE;
}

/* ── Showing ── */

static TdImagePane *
lab_pictures_pane_of (TdLabPictures *self, guint index)
{
  return index < MOST ? self->slots[index].pane : self->big;
}

/* Why the slot has no picture; NULL: it is on its way. */
static const char *
lab_pictures_problem (const Slot *slot)
{
  return slot->absent    ? _ ("There is no reference of this slice")
         : slot->stopped ? _ ("Stopped: this was not computed")
                         : slot->problem;
}

static void
lab_pictures_say_problem (TdImagePane *pane, const Slot *slot)
{
  td_image_pane_set_message (pane, lab_pictures_problem (slot));
  if (slot->stopped)
    td_image_pane_offer (pane, _ ("_Go On"), "lab.go-on");
}

/* How many the grid shows. The last pane is the reference's, which may be hidden. */
static guint
lab_pictures_n_shown (TdLabPictures *self)
{
  guint n = 0;

  while (n < MOST && self->slots[n].pane
         && gtk_widget_get_visible (GTK_WIDGET (self->slots[n].pane)))
    n++;
  return n;
}

static void
lab_pictures_set_pane (TdLabPictures *self, TdImagePane *pane, guint slot, const char *title)
{
  const Slot *from = &self->slots[slot];

  td_image_pane_set_title (pane, title);
  td_image_pane_flip_image (pane, from->image);
  if (!from->image && lab_pictures_problem (from))
    lab_pictures_say_problem (pane, from);
  td_slice_view_set_pixel_mm (td_image_pane_view (pane), self->pixel_mm, self->pixel_mm);
  if (from->image && self->range[1] > self->range[0] && lab_pictures_in (self->link)) {
    self->linking = TRUE;
    td_image_pane_set_range (pane, self->range[0], self->range[1]);
    self->linking = FALSE;
  }
}

static char *
lab_pictures_title (TdLabPictures *self, guint slot)
{
  const char *name = self->slots[slot].name ? self->slots[slot].name : "";
  const char *letter = slot == lab_pictures_a (self)   ? "A: "
                       : slot == lab_pictures_b (self) ? "B: "
                                                       : "";

  return slot < self->n ? g_strdup_printf ("%s%u  %s", letter, slot + 1, name)
                        : g_strdup_printf ("%s%s", letter, name);
}

static void
lab_pictures_show_difference (TdLabPictures *self)
{
  const Slot *a = &self->slots[lab_pictures_a (self)], *b = &self->slots[lab_pictures_b (self)];
  const gboolean noise = lab_pictures_in (self->in_noise) && self->noise > 0;

  td_latest_cancel (self->differences); /* of other pictures */
  td_image_pane_set_colour_map (self->big, td_colour_map_name (TD_COLOUR_DIVERGING));
  td_slice_view_set_second (td_image_pane_view (self->big), NULL);
  td_image_pane_set_title (self->big, noise ? _ ("A − B, in units of the noise") : _ ("A − B"));
  td_image_pane_set_units (self->big, noise ? "σ" : self->readout.units);
  if (!a->image || !b->image) {
    td_image_pane_set_image (self->big, NULL);
    lab_pictures_say_problem (self->big, lab_pictures_problem (a) ? a : b);
    return;
  }
  const double pixel_mm = td_slice_view_get_pixel_mm (td_image_pane_view (a->pane));
  td_slice_view_set_pixel_mm (td_image_pane_view (self->big), pixel_mm, pixel_mm);
  Pair *pair = g_new0 (Pair, 1);
  *pair = (Pair) { td_image_ref (a->image), td_image_ref (b->image), noise ? self->noise : 1 };
  td_latest_request (self->differences, pair);
}

static void
lab_pictures_show_big (TdLabPictures *self)
{
  const guint a = lab_pictures_a (self), b = lab_pictures_b (self);

  if (self->blind >= 0) {
    td_image_pane_set_colour_map (self->big, self->map);
    td_slice_view_set_second (td_image_pane_view (self->big), NULL);
    td_image_pane_set_units (self->big, self->readout.units);
    lab_pictures_set_pane (self, self->big, (guint) self->blind, self->blind_title);
    return;
  }
  if (lab_pictures_in (self->difference) && !self->held) {
    lab_pictures_show_difference (self);
    return;
  }
  td_latest_cancel (self->differences);
  const gboolean wipe = lab_pictures_in (self->wipe) && !self->held;
  g_autofree char *title
      = wipe ? g_strdup (_ ("A | B")) : lab_pictures_title (self, self->held ? b : a);
  td_image_pane_set_colour_map (self->big, self->map);
  td_image_pane_set_units (self->big, self->readout.units);
  lab_pictures_set_pane (self, self->big, self->held ? b : a, title);
  td_slice_view_set_second (td_image_pane_view (self->big), wipe ? self->slots[b].image : NULL);
}

static void lab_pictures_place_soon (TdLabPictures *self);

static void
lab_pictures_show (TdLabPictures *self)
{
  const gboolean grid = lab_pictures_in (self->grid) && self->blind < 0;

  gtk_widget_set_visible (self->panes, grid);
  gtk_widget_set_visible (GTK_WIDGET (self->big), !grid);
  gtk_widget_set_visible (GTK_WIDGET (self->in_noise), lab_pictures_in (self->difference));
  gtk_widget_set_sensitive (GTK_WIDGET (self->in_noise), self->noise > 0);
  gtk_widget_set_sensitive (self->tools, self->blind < 0);
  /* It tells apart what no eye would. */
  td_image_pane_set_histogram (self->big, self->blind < 0);
  if (!grid) {
    lab_pictures_show_big (self);
    return;
  }
  for (guint i = 0; i <= self->n; i++) {
    Slot *slot = &self->slots[i];
    if (!slot->pane)
      continue;
    const guint shown = self->held && i == lab_pictures_a (self) ? lab_pictures_b (self) : i;
    g_autofree char *title = lab_pictures_title (self, shown);
    gtk_widget_set_visible (GTK_WIDGET (slot->pane), i < self->n || slot->image || slot->problem);
    lab_pictures_set_pane (self, slot->pane, shown, title);
  }
  if (lab_pictures_n_shown (self) != self->placed)
    lab_pictures_place_soon (self);
  gtk_widget_queue_draw (GTK_WIDGET (self->line_area));
}

static void
lab_pictures_on_mode (GtkToggleButton *button, TdLabPictures *self)
{
  if (gtk_toggle_button_get_active (button) || button == self->in_noise)
    lab_pictures_show (self);
}

/* The chooser's button has no room for a long name. */
static void
lab_pictures_tell_choice (GtkDropDown *chooser, const char *what)
{
  GtkStringObject *chosen = gtk_drop_down_get_selected_item (chooser);
  g_autofree char *tip
      = g_strdup_printf ("%s\n%s", what, chosen ? gtk_string_object_get_string (chosen) : "");

  gtk_widget_set_tooltip_text (GTK_WIDGET (chooser), tip);
}

static void
lab_pictures_on_pair (GObject *object, GParamSpec *property, TdLabPictures *self)
{
  lab_pictures_tell_choice (self->choose_a, _ ("A: the picture that others are put beside"));
  lab_pictures_tell_choice (self->choose_b, _ ("B: the picture that takes turns with A"));
  if (!self->showing)
    lab_pictures_show (self);
}

/* ── Linked ── */

static void
lab_pictures_on_view_changed (TdSliceView *view, TdLabPictures *self)
{
  gboolean fitted;
  const TdView *where = td_slice_view_get_view (view, &fitted);

  gtk_widget_queue_draw (GTK_WIDGET (self->line_area));
  if (self->linking || !lab_pictures_in (self->link))
    return;
  self->linking = TRUE;
  for (guint i = 0; i <= MOST; i++) {
    TdImagePane *pane = lab_pictures_pane_of (self, i);
    if (pane && td_image_pane_view (pane) != view)
      td_slice_view_set_view (td_image_pane_view (pane), where, fitted);
  }
  self->linking = FALSE;
}

/* All under one contrast: another one would be a difference that is not there. */
static void
lab_pictures_on_contrast (TdImagePane *pane, double low, double high, TdLabPictures *self)
{
  if (self->linking || !lab_pictures_in (self->link)
      || (pane == self->big && lab_pictures_in (self->difference)))
    return;
  self->range[0] = low;
  self->range[1] = high;
  self->range_chosen = TRUE;
  self->linking = TRUE;
  for (guint i = 0; i <= MOST; i++) {
    TdImagePane *other = lab_pictures_pane_of (self, i);
    if (other && other != pane && !(other == self->big && lab_pictures_in (self->difference)))
      td_image_pane_set_range (other, low, high);
  }
  self->linking = FALSE;
}

/* Pictures under one contrast need one histogram at the most, and none where they are small: "A /
   B" has it. */
static void
lab_pictures_show_histograms (TdLabPictures *self)
{
  const guint n = lab_pictures_n_shown (self);

  for (guint i = 0; i < n; i++)
    td_image_pane_set_histogram (self->slots[i].pane,
                                 n <= self->columns || !lab_pictures_in (self->link));
}

static void
lab_pictures_on_link (GtkToggleButton *button, TdLabPictures *self)
{
  lab_pictures_show_histograms (self);
  if (gtk_toggle_button_get_active (button) && self->slots[0].pane) {
    lab_pictures_on_view_changed (td_image_pane_view (self->slots[0].pane), self);
    lab_pictures_show (self);
  }
}

static void
lab_pictures_join (TdLabPictures *self, TdImagePane *pane)
{
  td_image_pane_set_can_enlarge (pane, FALSE);
  td_image_pane_set_readout (pane, td_slice_readout, &self->readout);
  td_image_pane_set_units (pane, self->readout.units);
  g_signal_connect (td_image_pane_view (pane), "view-changed",
                    G_CALLBACK (lab_pictures_on_view_changed), self);
  g_signal_connect (pane, "contrast-changed", G_CALLBACK (lab_pictures_on_contrast), self);
}

/* ── The line ── */

/* Where the pane's picture lies in the area; FALSE: it is not shown. */
static gboolean
lab_pictures_bounds (TdLabPictures *self, TdImagePane *pane, graphene_rect_t *bounds)
{
  return pane && gtk_widget_get_mapped (GTK_WIDGET (td_image_pane_view (pane)))
         && td_image_pane_get_image (pane)
         && gtk_widget_compute_bounds (GTK_WIDGET (td_image_pane_view (pane)),
                                       GTK_WIDGET (self->line_area), bounds);
}

/* The same, and nothing for one that is not shown. */
static graphene_rect_t
lab_pictures_place_of (TdLabPictures *self, guint i)
{
  graphene_rect_t bounds;

  return lab_pictures_bounds (self, lab_pictures_pane_of (self, i), &bounds)
             ? bounds
             : GRAPHENE_RECT_INIT (0, 0, 0, 0);
}

/* Pictures are moved by scrolling, and by all that takes room from them: the line goes along. */
static void
lab_pictures_on_layout (GdkFrameClock *clock, TdLabPictures *self)
{
  for (guint i = 0; self->has_line && i <= MOST; i++) {
    const graphene_rect_t place = lab_pictures_place_of (self, i);
    if (graphene_rect_equal (&place, &self->drawn[i]))
      continue;
    gtk_widget_queue_draw (GTK_WIDGET (self->line_area));
    return;
  }
}

static void
lab_pictures_on_unrealize (GtkWidget *area, TdLabPictures *self)
{
  if (self->clock)
    g_signal_handlers_disconnect_by_data (self->clock, self);
  self->clock = NULL;
}

/* After the window's own handler, which gives out places. */
static void
lab_pictures_on_realize (GtkWidget *area, TdLabPictures *self)
{
  self->clock = gtk_widget_get_frame_clock (area);
  g_signal_connect_after (self->clock, "layout", G_CALLBACK (lab_pictures_on_layout), self);
}

static void
lab_pictures_draw_line (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer user)
{
  TdLabPictures *self = user;

  for (guint i = 0; self->has_line && i <= MOST; i++) {
    TdImagePane *pane = lab_pictures_pane_of (self, i);
    const graphene_rect_t bounds = self->drawn[i] = lab_pictures_place_of (self, i);
    double x0, y0, x1, y1;
    if (bounds.size.width == 0)
      continue;
    const TdImage *image = td_image_pane_get_image (pane);
    const TdView *view = td_slice_view_get_view (td_image_pane_view (pane), NULL);
    const double w = bounds.size.width, h = bounds.size.height;
    const double mx = (image->extent_width - 1) / 2, my = (image->extent_height - 1) / 2;
    td_view_from_picture (view, w, h, self->line.x0 - mx, self->line.y0 - my, &x0, &y0);
    td_view_from_picture (view, w, h, self->line.x1 - mx, self->line.y1 - my, &x1, &y1);
    cairo_save (cr);
    cairo_rectangle (cr, bounds.origin.x, bounds.origin.y, w, h);
    cairo_clip (cr);
    cairo_translate (cr, bounds.origin.x, bounds.origin.y);
    cairo_move_to (cr, x0, y0);
    cairo_line_to (cr, x1, y1);
    cairo_set_source_rgba (cr, 0, 0, 0, 0.6);
    cairo_set_line_width (cr, 3);
    cairo_stroke_preserve (cr);
    cairo_set_source_rgb (cr, 1, 0.8, 0.1);
    cairo_set_line_width (cr, 1.2);
    cairo_stroke (cr);
    cairo_restore (cr);
  }
}

/* The picture's pixel under a place of the area; NULL: there is no picture. @only: NULL: any. */
static TdImagePane *
lab_pictures_locate (TdLabPictures *self, double x, double y, TdImagePane *only, double at[2])
{
  graphene_rect_t bounds;

  for (guint i = 0; i <= MOST; i++) {
    TdImagePane *pane = lab_pictures_pane_of (self, i);
    if ((only && pane != only) || !lab_pictures_bounds (self, pane, &bounds)
        || (!only
            && !graphene_rect_contains_point (&bounds,
                                              &GRAPHENE_POINT_INIT ((float) x, (float) y))))
      continue;
    const TdImage *image = td_image_pane_get_image (pane);
    td_view_to_picture (td_slice_view_get_view (td_image_pane_view (pane), NULL), bounds.size.width,
                        bounds.size.height, x - bounds.origin.x, y - bounds.origin.y, &at[0],
                        &at[1]);
    at[0] = CLAMP (at[0] + (image->extent_width - 1) / 2, 0, image->extent_width - 1);
    at[1] = CLAMP (at[1] + (image->extent_height - 1) / 2, 0, image->extent_height - 1);
    return pane;
  }
  return NULL;
}

static void
lab_pictures_on_drag_begin (GtkGestureDrag *drag, double x, double y, TdLabPictures *self)
{
  self->drag_pane = lab_pictures_locate (self, x, y, NULL, self->drag);
}

static void
lab_pictures_drag (GtkGestureDrag *drag, double dx, double dy, TdLabPictures *self, gboolean end)
{
  double x, y, at[2];

  gtk_gesture_drag_get_start_point (drag, &x, &y);
  if (!self->drag_pane || hypot (dx, dy) < 4
      || !lab_pictures_locate (self, x + dx, y + dy, self->drag_pane, at))
    return;
  self->line = (TdLabLine) { self->drag[0], self->drag[1], at[0], at[1] };
  self->has_line = TRUE;
  gtk_widget_queue_draw (GTK_WIDGET (self->line_area));
  if (end)
    g_signal_emit_by_name (self, "line-drawn", self->drag[0], self->drag[1], at[0], at[1]);
}

static void
lab_pictures_on_drag_update (GtkGestureDrag *drag, double dx, double dy, TdLabPictures *self)
{
  lab_pictures_drag (drag, dx, dy, self, FALSE);
}

static void
lab_pictures_on_drag_end (GtkGestureDrag *drag, double dx, double dy, TdLabPictures *self)
{
  lab_pictures_drag (drag, dx, dy, self, TRUE);
}

static void
lab_pictures_on_draw_line (GtkToggleButton *button, TdLabPictures *self)
{
  const gboolean on = gtk_toggle_button_get_active (button);

  gtk_widget_set_can_target (GTK_WIDGET (self->line_area), on);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self->line_area), on ? "crosshair" : NULL);
}

void
td_lab_pictures_set_line (TdLabPictures *self, const TdLabLine *line)
{
  self->has_line = line != NULL;
  if (line)
    self->line = *line;
  gtk_widget_queue_draw (GTK_WIDGET (self->line_area));
}

/* ── Interface ── */

static void
lab_pictures_clear_slot (TdLabPictures *self, guint i)
{
  Slot *slot = &self->slots[i];

  if (slot->pane)
    gtk_grid_remove (self->panes_grid, GTK_WIDGET (slot->pane));
  slot->pane = NULL;
  g_clear_pointer (&slot->image, td_image_unref);
  g_clear_pointer (&slot->name, g_free);
  g_clear_pointer (&slot->problem, g_free);
}

/* The side of the square that each of @n pictures has in so many columns; 0: all do not fit. */
static double
lab_pictures_side (TdLabPictures *self, guint n, guint columns)
{
  GtkScrolledWindow *panes = GTK_SCROLLED_WINDOW (self->panes);
  const double width
      = gtk_adjustment_get_page_size (gtk_scrolled_window_get_hadjustment (panes)) / columns;
  const double height = gtk_adjustment_get_page_size (gtk_scrolled_window_get_vadjustment (panes))
                        / ((n + columns - 1) / columns);
  const gboolean histograms = n <= columns || !lab_pictures_in (self->link);
  int frame = 0;

  for (guint i = 0; i < n; i++)
    frame = MAX (frame, td_image_pane_frame_height (self->slots[i].pane, (int) width, histograms));
  return height - frame < LEAST_HEIGHT ? 0 : MIN (width, height - frame);
}

/* As many columns as show @n pictures largest, and no more than there is room for. */
static guint
lab_pictures_columns (TdLabPictures *self, guint n)
{
  GtkAdjustment *along = gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (self->panes));
  int widest = 1;

  for (guint i = 0; i < n; i++) {
    int least;
    gtk_widget_measure (GTK_WIDGET (self->slots[i].pane), GTK_ORIENTATION_HORIZONTAL, -1, &least,
                        NULL, NULL, NULL);
    widest = MAX (widest, least);
  }
  const int spacing = (int) gtk_grid_get_column_spacing (self->panes_grid);
  const double page = gtk_adjustment_get_page_size (along);
  const int fit = page > 0 ? ((int) page + spacing) / (widest + spacing) : MOST;
  guint best = (guint) CLAMP (fit, 1, (int) n);
  for (guint columns = best - 1; columns > 0; columns--)
    if (lab_pictures_side (self, n, columns) > lab_pictures_side (self, n, best))
      best = columns;
  return best;
}

/* A row of pictures has its room, however high large letters make the headings. */
static void
lab_pictures_hold_room (TdLabPictures *self, guint columns)
{
  GtkScrolledWindow *panes = GTK_SCROLLED_WINDOW (self->panes);
  const double page = gtk_adjustment_get_page_size (gtk_scrolled_window_get_hadjustment (panes));
  int least = 0, width = 0;

  gtk_widget_measure (GTK_WIDGET (self->slots[0].pane), GTK_ORIENTATION_HORIZONTAL, -1, &width,
                      NULL, NULL, NULL);
  width = MAX (width, (int) page / (int) columns);
  gtk_widget_measure (GTK_WIDGET (self->slots[0].pane), GTK_ORIENTATION_VERTICAL, width, &least,
                      NULL, NULL, NULL);
  gtk_scrolled_window_set_min_content_height (panes, least);
}

/* Where each pane lies. Panes that are there stay: making one takes time, and the view would be
 * lost. */
static void
lab_pictures_place (TdLabPictures *self)
{
  const guint n = lab_pictures_n_shown (self);
  const guint columns = n ? lab_pictures_columns (self, n) : 0;
  if (columns)
    lab_pictures_hold_room (self, columns);
  if (columns == self->columns && n == self->placed)
    return;
  self->columns = columns;
  self->placed = n;
  for (guint i = 0; i < MOST && self->slots[i].pane; i++) {
    GtkLayoutChild *place = gtk_layout_manager_get_layout_child (
        gtk_widget_get_layout_manager (GTK_WIDGET (self->panes_grid)),
        GTK_WIDGET (self->slots[i].pane));
    /* A grid has room for the row of a pane that is hidden, too: it takes none of its own. */
    g_object_set (place, "column", i < n ? (int) (i % columns) : 0, "row",
                  i < n ? (int) (i / columns) : 0, NULL);
  }
  lab_pictures_show_histograms (self);
}

static gboolean
lab_pictures_place_later (gpointer user)
{
  TdLabPictures *self = user;

  self->placing = 0;
  lab_pictures_place (self);
  return G_SOURCE_REMOVE;
}

static void
lab_pictures_place_soon (TdLabPictures *self)
{
  if (!self->placing)
    self->placing = g_idle_add (lab_pictures_place_later, self);
}

static void
lab_pictures_make_panes (TdLabPictures *self, guint n)
{
  for (guint i = n; i < MOST; i++)
    lab_pictures_clear_slot (self, i);
  for (guint i = 0; i < n; i++) {
    Slot *slot = &self->slots[i];
    if (!slot->pane) {
      slot->pane = g_object_new (TD_TYPE_IMAGE_PANE, "hexpand", TRUE, "vexpand", TRUE, NULL);
      gtk_widget_set_size_request (GTK_WIDGET (td_image_pane_view (slot->pane)), -1, LEAST_HEIGHT);
      lab_pictures_join (self, slot->pane);
      td_image_pane_join_heading (slot->pane, self->headings);
      td_image_pane_set_colour_map (slot->pane, self->map);
      if (i > 0)
        td_image_pane_set_range (slot->pane, 0, 1); /* not automatic: it has the first one's */
      gtk_grid_attach (self->panes_grid, GTK_WIDGET (slot->pane), 0, 0, 1, 1);
    }
  }
  self->columns = 0;
  lab_pictures_place (self);
}

void
td_lab_pictures_set_names (TdLabPictures *self, const char *const *names, guint n)
{
  g_autoptr (GtkStringList) list = gtk_string_list_new (NULL);
  const guint a = lab_pictures_a (self), b = lab_pictures_b (self);
  const gboolean was_reference = b == self->n && self->n > 0;

  self->linking = TRUE;
  lab_pictures_make_panes (self, n + 1);
  self->linking = FALSE;
  self->n = n;
  for (guint i = 0; i <= n; i++) {
    Slot *slot = &self->slots[i];
    g_clear_pointer (&slot->image, td_image_unref);
    g_clear_pointer (&slot->problem, g_free);
    slot->absent = slot->due = slot->stopped = FALSE;
    g_free (slot->name);
    slot->name = g_strdup (i < n ? names[i] : _ ("Reference, double precision"));
    g_autofree char *label
        = i < n ? g_strdup_printf ("%u  %s", i + 1, names[i]) : g_strdup (_ ("Reference"));
    gtk_string_list_append (list, label);
  }
  self->showing = TRUE;
  gtk_drop_down_set_model (self->choose_a, G_LIST_MODEL (list));
  gtk_drop_down_set_model (self->choose_b, G_LIST_MODEL (list));
  gtk_drop_down_set_selected (self->choose_a, MIN (a, n));
  gtk_drop_down_set_selected (self->choose_b, was_reference ? n
                                              : a == b      ? (a + 1) % (n + 1)
                                                            : MIN (b, n));
  self->showing = FALSE;
  self->range[0] = self->range[1] = 0;
  self->range_chosen = FALSE;
  lab_pictures_show (self);
  lab_pictures_place_soon (self); /* titles are as long as names */
}

void
td_lab_pictures_renew (TdLabPictures *self)
{
  self->range[0] = self->range[1] = 0;
  self->range_chosen = FALSE;
  for (guint i = 0; i <= MOST; i++)
    if (lab_pictures_pane_of (self, i))
      td_slice_view_renew (td_image_pane_view (lab_pictures_pane_of (self, i)));
}

static void
lab_pictures_take_units (TdLabPictures *self, const TdImage *image, const TdLabOutcome *outcome)
{
  self->pixel_mm = outcome->pixel_mm;
  self->readout.pixel_mm = outcome->pixel_mm;
  self->readout.width = image->extent_width;
  self->readout.height = image->extent_height;
  g_strlcpy (self->readout.units, outcome->units, sizeof self->readout.units);
  for (guint i = 0; i <= MOST; i++)
    if (lab_pictures_pane_of (self, i))
      td_image_pane_set_units (lab_pictures_pane_of (self, i), outcome->units);
}

void
td_lab_pictures_set (TdLabPictures *self, guint slot, TdImage *image, const TdLabOutcome *outcome)
{
  Slot *at = &self->slots[slot];

  if (slot > self->n)
    return;
  td_image_pane_set_updating (at->pane, FALSE);
  at->due = at->stopped = FALSE;
  if (slot == lab_pictures_a (self) || slot == lab_pictures_b (self))
    td_image_pane_set_updating (self->big, FALSE);
  if (image && image == at->image)
    return;
  at->absent = slot == self->n && !image && !outcome;
  td_hold (image, &at->image, image);
  g_clear_pointer (&at->problem, g_free);
  if (image) {
    lab_pictures_take_units (self, image, outcome);
    if (self->range[1] <= self->range[0] || (slot == 0 && !self->range_chosen))
      td_image_range (image, 0.005, &self->range[0], &self->range[1]);
  } else if (outcome && outcome->error) {
    at->problem = td_label_error (outcome->error);
  }
  g_autofree char *astray
      = outcome ? td_messages_join (outcome->astray, "\n", td_label_naming) : NULL;
  /* One word, lest it covers a small picture: the table has the sentence. */
  td_image_pane_set_badge (at->pane, outcome && outcome->emulated ? _ ("emulated")
                                     : astray && *astray          ? astray
                                                                  : NULL);
  lab_pictures_show (self);
}

void
td_lab_pictures_set_updating (TdLabPictures *self, gboolean updating)
{
  for (guint i = 0; i <= self->n; i++) {
    self->slots[i].due = updating;
    if (updating)
      self->slots[i].stopped = FALSE;
  }
  for (guint i = 0; i <= MOST; i++)
    if (lab_pictures_pane_of (self, i))
      td_image_pane_set_updating (lab_pictures_pane_of (self, i), updating);
  if (updating)
    lab_pictures_show (self);
}

void
td_lab_pictures_stop (TdLabPictures *self)
{
  for (guint i = 0; i < self->n; i++) {
    Slot *slot = &self->slots[i];
    if (!slot->due)
      continue;
    slot->stopped = TRUE;
    g_clear_pointer (&slot->image, td_image_unref);
    g_clear_pointer (&slot->problem, g_free);
    td_image_pane_set_badge (slot->pane, NULL);
  }
  if (self->slots[self->n].due)
    td_lab_pictures_set (self, self->n, NULL, NULL);
  td_lab_pictures_set_updating (self, FALSE);
  lab_pictures_show (self);
}

void
td_lab_pictures_set_noise (TdLabPictures *self, double noise)
{
  self->noise = noise;
  gtk_widget_set_sensitive (GTK_WIDGET (self->in_noise), noise > 0);
}

void
td_lab_pictures_get_pair (TdLabPictures *self, guint *a, guint *b)
{
  *a = lab_pictures_a (self);
  *b = lab_pictures_b (self);
}

void
td_lab_pictures_hold (TdLabPictures *self, gboolean held)
{
  if (held == self->held || self->blind >= 0)
    return;
  self->held = held;
  lab_pictures_show (self);
}

void
td_lab_pictures_show_blind (TdLabPictures *self, int slot, const char *title)
{
  self->blind = slot;
  g_free (self->blind_title);
  self->blind_title = g_strdup (title);
  self->held = FALSE;
  lab_pictures_show (self);
}

void
td_lab_pictures_set_colour_map (TdLabPictures *self, const char *name)
{
  g_free (self->map);
  self->map = g_strdup (name);
  for (guint i = 0; i <= self->n; i++)
    if (self->slots[i].pane)
      td_image_pane_set_colour_map (self->slots[i].pane, name);
  lab_pictures_show (self);
}

GtkWidget *
td_lab_pictures_area (TdLabPictures *self)
{
  return self->area;
}

TD_DISPOSE (TdLabPictures, td_lab_pictures)
{
  g_clear_pointer (&self->differences, td_latest_free);
  if (self->box)
    for (guint i = 0; i < MOST; i++)
      lab_pictures_clear_slot (self, i);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  g_clear_handle_id (&self->placing, g_source_remove); /* what has gone may have asked for it */
  g_clear_object (&self->headings);
  g_clear_pointer (&self->map, g_free);
  g_clear_pointer (&self->blind_title, g_free);
}

static void
td_lab_pictures_class_init (TdLabPicturesClass *class)
{
  g_type_ensure (TD_TYPE_IMAGE_PANE);
  G_OBJECT_CLASS (class)->dispose = td_lab_pictures_dispose;
  td_bind_template (class, TdLabPictures, "/org/tomodesk/ui/lab-pictures.ui", box, tools, area,
                    panes, panes_grid, line_area, big, grid, single, wipe, difference, in_noise,
                    draw_line, link, choose_a, choose_b);
  td_bind_callbacks (class, lab_pictures_on_mode, lab_pictures_on_pair, lab_pictures_on_link,
                     lab_pictures_on_draw_line);
  td_signal_new (class, "line-drawn", 4, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_DOUBLE,
                 G_TYPE_DOUBLE);
}

static void
td_lab_pictures_init (TdLabPictures *self)
{
  GtkGesture *drag = gtk_gesture_drag_new ();

  self->blind = -1;
  self->noise = NAN;
  self->map = g_strdup ("grey");
  self->showing = TRUE;
  gtk_widget_init_template (GTK_WIDGET (self));
  td_wrap (self->tools, 8);
  self->headings = gtk_size_group_new (GTK_SIZE_GROUP_VERTICAL);
  self->showing = FALSE;
  self->differences
      = td_latest_new (lab_pictures_subtract, lab_pictures_pair_free, lab_pictures_on_subtracted,
                       (GDestroyNotify) td_image_unref, self);
  /* Told while sizes are given out, when nothing may be moved. */
  g_signal_connect_swapped (gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (self->panes)),
                            "notify::page-size", G_CALLBACK (lab_pictures_place_soon), self);
  g_signal_connect_swapped (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->panes)),
                            "notify::page-size", G_CALLBACK (lab_pictures_place_soon), self);
  lab_pictures_join (self, self->big);
  td_image_pane_set_range (self->big, 0, 1);
  gtk_drawing_area_set_draw_func (self->line_area, lab_pictures_draw_line, self, NULL);
  g_signal_connect (self->line_area, "realize", G_CALLBACK (lab_pictures_on_realize), self);
  g_signal_connect (self->line_area, "unrealize", G_CALLBACK (lab_pictures_on_unrealize), self);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (lab_pictures_on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (lab_pictures_on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (lab_pictures_on_drag_end), self);
  gtk_widget_add_controller (GTK_WIDGET (self->line_area), GTK_EVENT_CONTROLLER (drag));
}
