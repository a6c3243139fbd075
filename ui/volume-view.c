/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "residual-curve.h"
#include "method-choices.h"
#include "latest.h"
#include "scan-readout.h"
#include "ui.h"

struct _TdVolumeView {
  AdwBin parent_instance;
  GtkStack *stack;
  AdwStatusPage *waiting_page;
  TdImagePane *pane;
  TdVolumeBrowser *browser;
  GtkWidget *footer;
  GtkAdjustment *adjustment;
  GtkDrawingArea *strip, *curve; /* finished slices; residuals of passes */
  TdJobItem *item;
  TdLatest *latest;
  guint shown_slice;    /* what the pane shows; G_MAXUINT: nothing */
  guint shown_replaced; /* td_slice_store_replaced() */
  gboolean untouched;   /* the user has not chosen a slice of this job: any finished one will do */
  gboolean placing;     /* the slider is being moved from here */
  TdSliceReadout readout;
};

G_DEFINE_FINAL_TYPE (TdVolumeView, td_volume_view, ADW_TYPE_BIN)

/* ── Worker thread ── */

typedef struct {
  TdSliceStore *store;
  guint slice;
} Request;

static void
volume_view_request_free (gpointer user)
{
  Request *request = user;

  td_slice_store_unref (request->store);
  g_free (request);
}

static gpointer
volume_view_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Request *request = user;
  TdImage *image = td_slice_store_image (request->store, request->slice);

  if (!image)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_PENDING, "%s",
                 _ ("This slice is not finished yet."));
  return image;
}

/* ── Main thread ── */

static guint
wanted_slice (TdVolumeView *self)
{
  return (guint) round (gtk_adjustment_get_value (self->adjustment));
}

static void
show_subtitle (TdVolumeView *self)
{
  guint factor = td_slice_store_factor (td_job_item_slices (self->item));
  gboolean reduced = factor > 1;
  g_autofree char *state = td_job_item_status (self->item);
  guint row = td_job_item_row (self->item, wanted_slice (self));
  g_autofree char *text = reduced ? g_strdup_printf (_ ("row %u; %s; shown at 1/%u until written"),
                                                     row, state, factor)
                                  : g_strdup_printf (_ ("row %u; %s"), row, state);

  td_image_pane_set_subtitle (self->pane, text);
}

static void
on_image (gpointer image, const GError *error, gboolean last, gpointer user)
{
  TdVolumeView *self = user;

  if (image) {
    self->readout.width = ((TdImage *) image)->extent_width;
    self->readout.height = ((TdImage *) image)->extent_height;
    td_image_pane_set_image (self->pane, image);
  } else {
    self->shown_slice = G_MAXUINT;
    td_image_pane_set_image (self->pane, NULL);
    td_image_pane_set_problem (self->pane, error);
  }
  td_image_pane_set_updating (self->pane, td_latest_busy (self->latest));
}

static void
volume_view_request_slice (TdVolumeView *self)
{
  TdSliceStore *store = self->item ? td_job_item_slices (self->item) : NULL;
  guint slice = wanted_slice (self);

  if (!store)
    return;
  const guint replaced = td_slice_store_replaced (store);
  if (slice == self->shown_slice && replaced == self->shown_replaced)
    return;
  Request *request = g_new0 (Request, 1);
  request->store = td_slice_store_ref (store);
  request->slice = slice;
  self->shown_slice = slice;
  self->shown_replaced = replaced;
  td_latest_request (self->latest, request);
  td_image_pane_set_updating (self->pane, TRUE);
}

/* A thin bar along the slider: the slices that are finished. */
static void
volume_view_draw_strip (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer user)
{
  static const GdkRGBA green = { 0.18f, 0.76f, 0.49f, 1 };
  const TdVolumeView *self = user;
  TdSliceStore *store = self->item ? td_job_item_slices (self->item) : NULL;
  const guint n = store ? td_slice_store_size (store) : 0;

  gdk_cairo_set_source_rgba (cr, &green);
  for (guint i = 0; i < n; i++)
    if (td_slice_store_has (store, i))
      cairo_rectangle (cr, (double) width * i / n, 0, (double) width / n, height);
  cairo_fill (cr);
}

static void
volume_view_place_slider (TdVolumeView *self, guint last)
{
  self->placing = TRUE;
  gtk_adjustment_configure (self->adjustment, last / 2, 0, last, 1, 10, 0);
  self->placing = FALSE;
}

static void
on_slider (GtkAdjustment *adjustment, TdVolumeView *self)
{
  if (self->placing)
    return;
  self->untouched = FALSE;
  if (self->item && td_job_item_slices (self->item))
    show_subtitle (self);
  volume_view_request_slice (self);
}

/* Moves to the finished slice that is nearest to the middle. */
static void
place_on_finished (TdVolumeView *self, TdSliceStore *store)
{
  guint n = td_slice_store_size (store), best = G_MAXUINT;

  for (guint i = 0; i < n; i++)
    if (td_slice_store_has (store, i)
        && (best == G_MAXUINT || ABS ((int) i - (int) n / 2) < ABS ((int) best - (int) n / 2)))
      best = i;
  if (best == G_MAXUINT)
    return;
  self->placing = TRUE;
  gtk_adjustment_set_value (self->adjustment, best);
  self->placing = FALSE;
  show_subtitle (self);
  volume_view_request_slice (self);
}

/* The volume is written: its planes across all axes. */
static void
volume_view_browse (TdVolumeView *self)
{
  if (g_strcmp0 (gtk_stack_get_visible_child_name (self->stack), "browser") == 0)
    return;
  td_latest_cancel (self->latest);
  td_volume_browser_open (self->browser, td_job_item_output (self->item), NULL);
  gtk_stack_set_visible_child_name (self->stack, "browser");
}

/* By which method the picture is made, and how far that has come. */
static void
volume_view_show_method (TdVolumeView *self)
{
  const TdRemoteFacts *facts = td_job_item_facts (self->item);
  const char *method = facts->method ? td_choice_label (TD_CHOICE_METHOD, facts->method) : NULL;
  const guint passes = facts->residuals ? facts->residuals->len : 0;
  const gboolean iterates = passes > 0 && facts->slices_done == 0;
  g_autofree char *text = method && iterates
                              ? g_strdup_printf (_ ("%s: the estimate after %u of %u passes"),
                                                 method, passes, facts->n_passes)
                              : g_strdup (method);

  td_image_pane_set_badge (self->pane, text);
  td_residual_curve_set (self->curve, facts->residuals, facts->n_passes);
}

/* A job has nothing to show yet, or ended before it had. */
static void
volume_view_show_none (TdVolumeView *self)
{
  const TdJobState state = td_job_item_state (self->item);
  g_autofree char *status = td_job_item_status (self->item);
  g_autofree char *escaped = g_markup_escape_text (status, -1);

  adw_status_page_set_title (self->waiting_page, td_job_item_facts (self->item)->title);
  adw_status_page_set_description (self->waiting_page, escaped);
  gtk_stack_set_visible_child_name (
      self->stack, state == TD_JOB_WAITING || state == TD_JOB_RUNNING ? "waiting" : "empty");
}

/* The plan is made, or more slices are there, or the job ended. */
static void
on_item_changed (TdVolumeView *self)
{
  const TdRemoteFacts *facts = td_job_item_facts (self->item);
  TdSliceStore *store = td_job_item_slices (self->item);

  if (td_job_item_state (self->item) == TD_JOB_DONE) {
    volume_view_browse (self);
    return;
  }
  if (!store) {
    volume_view_show_none (self);
    return;
  }
  gtk_stack_set_visible_child_name (self->stack, "volume");
  guint last = td_slice_store_size (store) - 1;
  if (gtk_adjustment_get_upper (self->adjustment) != last)
    volume_view_place_slider (self, last);
  self->readout.pixel_mm = facts->pixel_mm;
  g_strlcpy (self->readout.units, facts->units ? facts->units : "", sizeof self->readout.units);
  td_image_pane_set_units (self->pane, self->readout.units);
  td_slice_view_set_pixel_mm (td_image_pane_view (self->pane), self->readout.pixel_mm,
                              self->readout.pixel_mm);
  gtk_widget_queue_draw (GTK_WIDGET (self->strip));
  volume_view_show_method (self);
  show_subtitle (self);
  if (self->untouched && self->shown_slice == G_MAXUINT)
    place_on_finished (self, store);
  if ((self->shown_slice == G_MAXUINT || td_slice_store_replaced (store) != self->shown_replaced)
      && td_slice_store_has (store, wanted_slice (self)))
    volume_view_request_slice (self);
}

void
td_volume_view_show_job (TdVolumeView *self, TdJobItem *item)
{
  if (item == self->item)
    return;
  td_latest_cancel (self->latest);
  if (self->item)
    g_signal_handlers_disconnect_by_data (self->item, self);
  g_set_object (&self->item, item);
  self->shown_slice = G_MAXUINT;
  td_image_pane_renew (self->pane);
  td_volume_browser_close (self->browser);
  gtk_stack_set_visible_child_name (self->stack, "empty");
  if (!item)
    return;
  td_image_pane_set_title (self->pane, td_job_item_facts (item)->title);
  volume_view_place_slider (self, 0);
  self->untouched = TRUE;
  g_signal_connect_object (item, "changed", G_CALLBACK (on_item_changed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (item, "slices", G_CALLBACK (on_item_changed), self, G_CONNECT_SWAPPED);
  on_item_changed (self);
}

TdJobItem *
td_volume_view_get_job (TdVolumeView *self)
{
  return self->item;
}

void
td_volume_view_set_colour_map (TdVolumeView *self, const char *name)
{
  td_image_pane_set_colour_map (self->pane, name);
  td_volume_browser_set_colour_map (self->browser, name);
}

static void
on_nudged (TdSliceView *view, int dx, int dy, gboolean fine, TdVolumeView *self)
{
  gtk_adjustment_set_value (self->adjustment,
                            gtk_adjustment_get_value (self->adjustment) + dx + dy);
}

TD_DISPOSE (TdVolumeView, td_volume_view)
{
  g_clear_pointer (&self->latest, td_latest_free);
  g_clear_object (&self->item);
}

static void
td_volume_view_class_init (TdVolumeViewClass *class)
{
  td_ensure_types (TD_TYPE_IMAGE_PANE, TD_TYPE_VOLUME_BROWSER);
  G_OBJECT_CLASS (class)->dispose = td_volume_view_dispose;
  td_bind_template (class, TdVolumeView, "/org/tomodesk/ui/volume-view.ui", stack, waiting_page,
                    pane, browser, footer, adjustment, strip, curve);
  td_bind_callbacks (class, on_slider);
}

static void
td_volume_view_init (TdVolumeView *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  self->latest = td_latest_new (volume_view_work, volume_view_request_free, on_image,
                                (GDestroyNotify) td_image_unref, self);
  self->shown_slice = G_MAXUINT;
  gtk_drawing_area_set_draw_func (self->strip, volume_view_draw_strip, self, NULL);
  td_image_pane_set_can_enlarge (self->pane, FALSE);
  td_image_pane_set_footer (self->pane, self->footer);
  td_image_pane_set_readout (self->pane, td_slice_readout, &self->readout);
  g_signal_connect (td_image_pane_view (self->pane), "nudged", G_CALLBACK (on_nudged), self);
}
