/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-browser.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>

#include "choose-file.h"
#include "labels.h"
#include "latest.h"
#include "measure-list.h"
#include "movie-dialog.h"
#include "save-file.h"
#include "space-view.h"
#include "ui.h"
#include "volume-source.h"
#include "wrap-layout.h"

#define PLAY_MS 40 /* between planes; one that is still read is waited for */

/* The axes along a plane's columns and rows. */
static const TdVolumeAxis columns_of[] = { TD_AXIS_Y, TD_AXIS_X, TD_AXIS_X };
static const TdVolumeAxis rows_of[] = { TD_AXIS_Z, TD_AXIS_Z, TD_AXIS_Y };

typedef struct {
  TdVolumeBrowser *browser;
  TdVolumeAxis axis;
  TdImagePane *pane;
  GtkAdjustment *adjustment;
  GtkWidget *scale, *number;
  GtkWidget *stop;
  TdLatest *latest;
} Plane;

struct _TdVolumeBrowser {
  GtkWidget parent_instance;
  GtkStack *stack;
  AdwStatusPage *failed_page;
  GtkGrid *grid;
  TdImagePane *x, *y, *z;
  GtkWidget *side, *survey_box;
  GtkLabel *name, *facts, *survey;
  GtkProgressBar *survey_bar;
  GtkWidget *export, *movie;
  GtkToggleButton *play, *link;
  GtkBox *tools;
  TdMeasureList *measures;
  TdSpaceView *space; /* the volume from outside, once it was surveyed */
  GtkWidget *space_box, *opacity, *peak;
  GtkDropDown *cast;
  GtkAdjustment *opacity_adjustment, *peak_adjustment;
  GtkToggleButton *clip_x, *clip_y, *clip_z;
  Plane planes[3];        /* by axis */
  Plane *large;           /* it has all the room; NULL: none */
  Plane *lone;            /* across what is one voxel thick; NULL: there are three to show */
  GCancellable *opening;  /* NULL: nothing is being opened */
  TdVolumeSource *source; /* NULL: nothing is open */
  TdLatest *survey_latest;
  guint at[3];           /* where the cross-hair is */
  gboolean placing;      /* sliders are being moved from here */
  gboolean linking;      /* levels are being handed on */
  gboolean levels_known; /* of this volume: planes keep them while one steps */
  guint playing;         /* timeout; 0: it stands */
  TdVolumeAxis play_axis;
};

G_DEFINE_FINAL_TYPE (TdVolumeBrowser, td_volume_browser, GTK_TYPE_WIDGET)

static const TdVolumeFacts *
volume_browser_facts (TdVolumeBrowser *self)
{
  return td_volume_source_facts (self->source);
}

static guint
plane_count (const Plane *plane)
{
  return td_volume_cut_size (volume_browser_facts (plane->browser), plane->axis).count;
}

/* ── Planes: worker thread ── */

typedef struct {
  TdVolumeSource *source;
  TdVolumeAxis axis;
  guint at;
} Wanted;

static void
browser_wanted_free (gpointer user)
{
  Wanted *wanted = user;

  td_volume_source_unref (wanted->source);
  g_free (wanted);
}

static void
plane_tell (double fraction, gpointer run)
{
  td_latest_tell (fraction, "", run);
}

static gpointer
plane_work (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const Wanted *wanted = user;

  /* A slice is read as soon as its coarse picture would be made. */
  TdImage *coarse = wanted->axis == TD_AXIS_Z
                        ? NULL
                        : td_volume_source_coarse (wanted->source, wanted->axis, wanted->at);
  if (coarse)
    td_latest_post (run, coarse, TRUE);
  return td_volume_source_read (wanted->source, wanted->axis, wanted->at, plane_tell, run,
                                cancellable, error);
}

/* ── Planes: main thread ── */

static void
plane_show_subtitle (Plane *plane, double fraction)
{
  TdVolumeBrowser *self = plane->browser;
  const guint n = plane_count (plane);
  g_autofree char *text = NULL;

  if (fraction >= 0)
    text = g_strdup_printf (_ ("%u of 0–%u; reading, %.0f %%"), self->at[plane->axis], n - 1,
                            100 * fraction);
  else if (n > 1)
    text = g_strdup_printf (_ ("%u of 0–%u"), self->at[plane->axis], n - 1);

  td_image_pane_set_subtitle (plane->pane, text);
  gtk_widget_set_visible (plane->stop, fraction >= 0);
}

static void
plane_on_progress (double fraction, const char *what, gpointer user)
{
  plane_show_subtitle (user, fraction);
}

/* One contrast for all planes from now on: a movie would flicker otherwise. It is the first
   slice's. A flat one has none to give: the whole volume's is taken as soon as that was measured.
 */
static void
volume_browser_settle_levels (TdVolumeBrowser *self)
{
  const TdImage *first = td_image_pane_get_image (self->z);
  const TdOverview *o = td_volume_source_overview (self->source);
  const TdStyle *style = td_slice_view_get_style (td_image_pane_view (self->z));

  if (self->levels_known || !first)
    return;
  if (first->maximum > first->minimum) {
    self->levels_known = TRUE;
    td_image_pane_set_range (self->z, style->low, style->high);
  } else if (o && o->statistics.maximum > o->statistics.minimum) {
    self->levels_known = TRUE;
    td_image_pane_set_range (self->z, o->statistics.minimum, o->statistics.maximum);
  }
}

static void
plane_on_image (gpointer result, const GError *error, gboolean last, gpointer user)
{
  Plane *plane = user;
  TdVolumeBrowser *self = plane->browser;
  TdImage *image = result;

  if (image) {
    const gboolean coarse = image->extent_width > image->width;
    td_image_pane_set_image (plane->pane, image);
    td_image_pane_set_badge (plane->pane, coarse ? _ ("reduced") : NULL);
    volume_browser_settle_levels (self);
  } else if (error && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    td_image_pane_set_image (plane->pane, NULL);
    td_image_pane_set_problem (plane->pane, error);
  }
  if (last)
    plane_show_subtitle (plane, -1);
  td_image_pane_set_updating (plane->pane, td_latest_busy (plane->latest));
}

static void
plane_request (Plane *plane)
{
  Wanted *wanted = g_new (Wanted, 1);

  *wanted = (Wanted) { td_volume_source_ref (plane->browser->source), plane->axis,
                       plane->browser->at[plane->axis] };
  td_latest_request (plane->latest, wanted);
  td_image_pane_set_updating (plane->pane, TRUE);
}

/* ── The volume from outside ── */

static void
volume_browser_draw_space (TdVolumeBrowser *self)
{
  TdVoxels *voxels = self->source ? td_volume_source_voxels (self->source) : NULL;
  const TdStyle *style = td_slice_view_get_style (td_image_pane_view (self->z));
  GtkToggleButton *const clips[3] = { self->clip_x, self->clip_y, self->clip_z };
  TdCast cast = { .kind = (TdCastKind) gtk_drop_down_get_selected (self->cast),
                  .map = style->map,
                  .low = style->low,
                  .high = style->high,
                  .opacity = pow (10, gtk_adjustment_get_value (self->opacity_adjustment)),
                  .peak = gtk_adjustment_get_value (self->peak_adjustment) };

  gtk_widget_set_visible (GTK_WIDGET (self->space), voxels != NULL);
  gtk_widget_set_visible (self->space_box, voxels != NULL);
  gtk_widget_set_visible (self->opacity, cast.kind == TD_CAST_COMPOSITE);
  gtk_widget_set_visible (self->peak, cast.kind == TD_CAST_COMPOSITE);
  for (guint i = 0; i < 3; i++) {
    const guint n = voxels ? td_volume_cut_size (volume_browser_facts (self), i).count : 1;
    cast.clip[i][0] = gtk_toggle_button_get_active (clips[i]) ? (double) self->at[i] / n : 0;
    cast.clip[i][1] = 1;
  }
  td_space_view_set_voxels (self->space, voxels, &cast);
}

/* The box that the volume fills, and from how far it is seen. */
static void
volume_browser_place_space (TdVolumeBrowser *self, const TdVoxels *voxels)
{
  static const int edges[12][2] = { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 0, 2 }, { 1, 3 },
                                    { 4, 6 }, { 5, 7 }, { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } };
  const TdInk ink = { { 0.6f, 0.6f, 0.65f, 1 } };
  const double middle[3] = { 0 };
  TdSpace *space = td_space_new ();
  double corners[8][3], radius = 0;

  for (guint c = 0; c < 8; c++)
    for (guint i = 0; i < 3; i++)
      corners[c][i] = (c >> i & 1 ? 0.5 : -0.5) * voxels->size[i];
  for (guint e = 0; e < G_N_ELEMENTS (edges); e++)
    td_space_line (space, corners[edges[e][0]], corners[edges[e][1]], ink, 1);
  for (guint i = 0; i < 3; i++)
    radius += pow (voxels->size[i] / 2, 2);
  td_space_view_take_space (self->space, space);
  td_space_view_set_ball (self->space, middle, sqrt (radius));
}

static void
plane_draw_marks (Plane *plane)
{
  td_slice_view_take_marks (td_image_pane_view (plane->pane),
                            td_measure_list_marks (plane->browser->measures, plane->axis,
                                                   plane->browser->at[plane->axis]));
}

static void
plane_draw_lines (Plane *plane)
{
  TdSliceView *view = td_image_pane_view (plane->pane);
  const guint *at = plane->browser->at;

  td_slice_view_set_column_line (view, at[columns_of[plane->axis]], TRUE);
  td_slice_view_set_row_line (view, at[rows_of[plane->axis]], TRUE);
}

/* What is shown then is the plane that the heading names, or nothing. */
static void
plane_on_stop (GtkButton *button, Plane *plane)
{
  TdVolumeBrowser *self = plane->browser;
  g_autoptr (TdImage) coarse
      = td_volume_source_coarse (self->source, plane->axis, self->at[plane->axis]);

  td_latest_cancel (plane->latest);
  td_image_pane_set_image (plane->pane, coarse);
  td_image_pane_set_badge (plane->pane, coarse ? _ ("reduced") : NULL);
  if (!coarse)
    td_image_pane_set_message (plane->pane, _ ("This plane was not read."));
  td_image_pane_set_updating (plane->pane, FALSE);
  plane_show_subtitle (plane, -1);
}

static char *
plane_readout (gpointer user, double column, double row, const float *value)
{
  Plane *plane = user;
  const TdVolumeFacts *facts = volume_browser_facts (plane->browser);
  double at[3] = { plane->browser->at[0], plane->browser->at[1], plane->browser->at[2] };
  const char *units = facts->units ? facts->units : "";

  at[columns_of[plane->axis]] = round (column);
  at[rows_of[plane->axis]] = round (row);
  /* Nine digits tell any two single-precision numbers apart. */
  if (facts->voxel_mm > 0)
    return g_strdup_printf (_ ("x %.0f  y %.0f  z %.0f  (%.3f, %.3f, %.3f mm)  %.9g %s"), at[0],
                            at[1], at[2], at[0] * facts->voxel_mm, at[1] * facts->voxel_mm,
                            at[2] * facts->voxel_mm, (double) *value, units);
  return g_strdup_printf (_ ("x %.0f  y %.0f  z %.0f  %.9g %s"), at[0], at[1], at[2],
                          (double) *value, units);
}

/* ── The cross-hair ── */

static void
volume_browser_move (TdVolumeBrowser *self, TdVolumeAxis axis, double to)
{
  if (!self->source)
    return;
  const guint n = td_volume_cut_size (volume_browser_facts (self), axis).count;
  const guint at = (guint) CLAMP (round (to), 0, n - 1);

  if (at == self->at[axis])
    return;
  self->at[axis] = at;
  self->placing = TRUE;
  gtk_adjustment_set_value (self->planes[axis].adjustment, at);
  self->placing = FALSE;
  plane_show_subtitle (&self->planes[axis], -1);
  plane_request (&self->planes[axis]);
  plane_draw_marks (&self->planes[axis]);
  volume_browser_draw_space (self);
  for (guint i = 0; i < 3; i++)
    plane_draw_lines (&self->planes[i]);
}

static void
plane_on_slider (GtkAdjustment *adjustment, Plane *plane)
{
  if (!plane->browser->placing)
    volume_browser_move (plane->browser, plane->axis, gtk_adjustment_get_value (adjustment));
}

static void
plane_on_picked (TdSliceView *view, double column, double row, Plane *plane)
{
  volume_browser_move (plane->browser, columns_of[plane->axis], column);
  volume_browser_move (plane->browser, rows_of[plane->axis], row);
}

static void
plane_on_line_moved (TdSliceView *view, double row, Plane *plane)
{
  volume_browser_move (plane->browser, rows_of[plane->axis], row);
  plane_draw_lines (plane);
}

static void
plane_on_column_moved (TdSliceView *view, double column, Plane *plane)
{
  volume_browser_move (plane->browser, columns_of[plane->axis], column);
  plane_draw_lines (plane);
}

static void
plane_on_nudged (TdSliceView *view, int dx, int dy, gboolean fine, Plane *plane)
{
  TdVolumeBrowser *self = plane->browser;
  const TdVolumeAxis column = columns_of[plane->axis], row = rows_of[plane->axis];

  volume_browser_move (self, column, (double) self->at[column] + dx);
  volume_browser_move (self, row, (double) self->at[row] + dy);
}

static void
plane_on_stepped (TdSliceView *view, int by, Plane *plane)
{
  volume_browser_move (plane->browser, plane->axis, (double) plane->browser->at[plane->axis] + by);
}

/* ── Measuring ── */

/* Of a button: a TdMeasureKind, or -1. */
static void
volume_browser_on_tool (GtkToggleButton *button, TdVolumeBrowser *self)
{
  const int tool = GPOINTER_TO_INT (g_object_get_data (G_OBJECT (button), "tool"));

  for (guint i = 0; i < 3 && gtk_toggle_button_get_active (button); i++)
    td_slice_view_set_tool (td_image_pane_view (self->planes[i].pane), tool);
}

static void
volume_browser_add_tools (TdVolumeBrowser *self)
{
  static const struct {
    int tool;
    const char *label, *tip;
  } tools[] = {
    { -1, N_ ("Look"), N_ ("Drags move pictures: nothing is measured") },
    { TD_MEASURE_DISTANCE, N_ ("Distance"), N_ ("Drag in a plane from one point to the other") },
    { TD_MEASURE_ANGLE, N_ ("Angle"),
      N_ ("Drag the first arm up to the corner, then click where the second ends") },
    { TD_MEASURE_LINE, N_ ("Line"), N_ ("Drag in a plane: the values along the line") },
    { TD_MEASURE_REGION, N_ ("Region"),
      N_ ("Drag a box in a plane: mean, σ, least, largest, area") },
  };
  GtkWidget *first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (tools); i++) {
    GtkWidget *button
        = g_object_new (GTK_TYPE_TOGGLE_BUTTON, "label", _ (tools[i].label), "tooltip-text",
                        _ (tools[i].tip), "hexpand", TRUE, "group", first, "active", !first, NULL);
    g_object_set_data (G_OBJECT (button), "tool", GINT_TO_POINTER (tools[i].tool));
    g_signal_connect (button, "toggled", G_CALLBACK (volume_browser_on_tool), self);
    gtk_box_append (self->tools, button);
    first = first ? first : button;
  }
  td_wrap (self->tools, 0);
}

/* Values are of the plane that is shown, which must be the wanted one, and whole. */
static void
plane_on_drawn (TdSliceView *view, gpointer measure, Plane *plane)
{
  TdImage *image = td_image_pane_get_image (plane->pane);

  if (!image || image->extent_width > image->width || td_latest_busy (plane->latest)) {
    gtk_widget_error_bell (GTK_WIDGET (view));
    td_image_pane_set_badge (plane->pane, _ ("still reading: nothing was measured"));
    return;
  }
  td_measure_list_add (plane->browser->measures, measure, plane->axis,
                       plane->browser->at[plane->axis], image);
}

static void
volume_browser_on_measures (TdMeasureList *list, TdVolumeBrowser *self)
{
  gtk_widget_set_visible (self->export, td_measure_list_length (list) > 0);
  for (guint i = 0; i < 3; i++)
    plane_draw_marks (&self->planes[i]);
}

static void
volume_browser_on_measure_shown (TdMeasureList *list, int axis, guint at, TdVolumeBrowser *self)
{
  volume_browser_move (self, (TdVolumeAxis) axis, at);
}

static void
volume_browser_export (gpointer user, const char *path)
{
  TdVolumeBrowser *self = user;

  td_save_file (user, _ ("The measures were not exported"), path, td_measure_texts_save,
                td_measure_list_texts (self->measures), (GDestroyNotify) g_strfreev, NULL);
}

static void
volume_browser_on_export (GtkButton *button, TdVolumeBrowser *self)
{
  static const char *const csv[] = { "*.csv", NULL };
  GtkFileChooser *chooser = td_choose_name (self, _ ("Export the Measures"), "measures.csv",
                                            volume_browser_export, self);

  td_choose_file_add_filter (chooser, _ ("Comma-separated values"), csv);
}

/* ── Levels and colours ── */

static void
plane_on_contrast (TdImagePane *pane, double low, double high, Plane *plane)
{
  TdVolumeBrowser *self = plane->browser;

  if (plane->axis == TD_AXIS_Z)
    volume_browser_draw_space (self);
  if (self->linking || !gtk_toggle_button_get_active (self->link))
    return;
  self->linking = TRUE;
  for (guint i = 0; i < 3; i++)
    if (self->planes[i].pane != pane)
      td_image_pane_set_range (self->planes[i].pane, low, high);
  self->linking = FALSE;
}

void
td_volume_browser_set_colour_map (TdVolumeBrowser *self, const char *name)
{
  for (guint i = 0; i < 3; i++)
    td_image_pane_set_colour_map (self->planes[i].pane, name);
}

/* ── Which planes are seen ── */

static void
plane_place (Plane *plane, gboolean alone)
{
  GtkLayoutManager *grid = gtk_widget_get_layout_manager (GTK_WIDGET (plane->browser->grid));
  GtkLayoutChild *child = gtk_layout_manager_get_layout_child (grid, GTK_WIDGET (plane->pane));

  g_object_set (child, "column", !alone && plane->axis == TD_AXIS_X ? 1 : 0, "row",
                !alone && plane->axis == TD_AXIS_Y ? 1 : 0, "column-span", alone ? 2 : 1,
                "row-span", alone ? 2 : 1, NULL);
}

static void
volume_browser_lay_out (TdVolumeBrowser *self)
{
  GtkLayoutManager *grid = gtk_widget_get_layout_manager (GTK_WIDGET (self->grid));
  const Plane *lone = self->lone, *only = self->large ? self->large : lone;

  for (guint i = 0; i < 3; i++) {
    plane_place (&self->planes[i], &self->planes[i] == lone);
    gtk_widget_set_visible (GTK_WIDGET (self->planes[i].pane), !only || &self->planes[i] == only);
  }
  g_object_set (gtk_layout_manager_get_layout_child (grid, self->side), "column", lone ? 2 : 1,
                "row", lone ? 0 : 1, "row-span", lone ? 2 : 1, NULL);
  gtk_widget_set_visible (self->side, !self->large);
}

/* One voxel thick, it has one plane to show: the others are lines. */
static void
volume_browser_find_lone (TdVolumeBrowser *self)
{
  self->lone = NULL;
  for (guint i = 0; i < 3; i++)
    if (plane_count (&self->planes[i]) == 1)
      self->lone = &self->planes[i];
  if (self->lone && self->large && self->large != self->lone)
    td_image_pane_set_enlarged (self->large->pane, FALSE);
  gtk_widget_set_visible (GTK_WIDGET (self->play), !self->lone);
  gtk_widget_set_visible (GTK_WIDGET (self->link), !self->lone);
  gtk_widget_set_visible (self->movie, !self->lone);
  volume_browser_lay_out (self);
}

static void
plane_on_enlarge (TdImagePane *pane, gboolean enlarged, Plane *plane)
{
  plane->browser->large = enlarged ? plane : NULL;
  volume_browser_lay_out (plane->browser);
}

/* ── Playing ── */

static gboolean
volume_browser_play_on (gpointer user)
{
  TdVolumeBrowser *self = user;
  Plane *plane = &self->planes[self->play_axis];

  if (self->source && !td_latest_busy (plane->latest)) {
    volume_browser_move (self, plane->axis, (self->at[plane->axis] + 1) % plane_count (plane));
  }
  return G_SOURCE_CONTINUE;
}

static void
volume_browser_on_play (GtkToggleButton *button, TdVolumeBrowser *self)
{
  const gboolean on = gtk_toggle_button_get_active (button);

  g_clear_handle_id (&self->playing, g_source_remove);
  if (on)
    self->playing = g_timeout_add (PLAY_MS, volume_browser_play_on, self);
  gtk_button_set_icon_name (GTK_BUTTON (button),
                            on ? "media-playback-pause-symbolic" : "media-playback-start-symbolic");
}

static void
volume_browser_on_movie (GtkButton *button, TdVolumeBrowser *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  TdStyle styles[3];

  gtk_toggle_button_set_active (self->play, FALSE);
  for (guint i = 0; i < 3; i++)
    styles[i] = *td_slice_view_get_style (td_image_pane_view (self->planes[i].pane));
  gtk_window_present (
      GTK_WINDOW (td_movie_dialog_new (GTK_WINDOW (root), self->source, self->play_axis, styles)));
}

/* ── Keys ── */

/* The plane whose picture has the keyboard; NULL: another widget has it. */
static Plane *
volume_browser_focused (TdVolumeBrowser *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root ? gtk_root_get_focus (root) : NULL;

  for (guint i = 0; focus && i < 3; i++)
    if (focus == GTK_WIDGET (td_image_pane_view (self->planes[i].pane)))
      return &self->planes[i];
  return NULL;
}

static gboolean
volume_browser_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                       TdVolumeBrowser *self)
{
  Plane *plane = volume_browser_focused (self);
  const double at = plane ? self->at[plane->axis] : 0;

  if (!plane || !self->source || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)))
    return GDK_EVENT_PROPAGATE;
  switch (key) {
  case GDK_KEY_Page_Up: volume_browser_move (self, plane->axis, at - 1); break;
  case GDK_KEY_Page_Down: volume_browser_move (self, plane->axis, at + 1); break;
  case GDK_KEY_Home: volume_browser_move (self, plane->axis, 0); break;
  case GDK_KEY_End: volume_browser_move (self, plane->axis, G_MAXINT); break;
  case GDK_KEY_space:
    if (plane_count (plane) == 1)
      return GDK_EVENT_PROPAGATE;
    self->play_axis = plane->axis;
    gtk_toggle_button_set_active (self->play, !gtk_toggle_button_get_active (self->play));
    break;
  default: return GDK_EVENT_PROPAGATE;
  }
  return GDK_EVENT_STOP;
}

/* ── The survey ── */

static gpointer
survey_work (gpointer source, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  return td_volume_source_survey (source, plane_tell, run, cancellable, error)
             ? td_volume_source_ref (source)
             : NULL;
}

static void
survey_on_progress (double fraction, const char *what, gpointer user)
{
  gtk_progress_bar_set_fraction (TD_VOLUME_BROWSER (user)->survey_bar, fraction);
}

/* How much of the volume is seen from outside. */
static char *
survey_outside_text (const TdOverview *o)
{
  if (o->factor == 1 && o->factor_z == 1)
    return g_strdup (_ ("From outside: every voxel"));
  return g_strdup_printf (_ ("From outside: %u × %u × %u voxels, each of %u × %u × %u"), o->nx,
                          o->ny, o->nz, o->factor, o->factor, o->factor_z);
}

static void
survey_on_end (gpointer source, const GError *error, gboolean last, gpointer user)
{
  TdVolumeBrowser *self = user;
  const TdOverview *o = source ? td_volume_source_overview (source) : NULL;
  g_autofree char *words = error ? td_label_error (error) : NULL;

  gtk_widget_set_visible (self->survey_box, FALSE);
  if (!o) {
    gtk_label_set_text (self->survey, words);
    return;
  }
  volume_browser_place_space (self, td_volume_source_voxels (source));
  volume_browser_draw_space (self);
  const TdVolumeStatistics *s = &o->statistics;
  volume_browser_settle_levels (self);
  /* σ: the standard deviation. */
  g_autofree char *text = s->n > 0 ? g_strdup_printf (_ ("mean %.6g  σ %.4g\n%.6g … %.6g"), s->mean,
                                                      s->deviation, s->minimum, s->maximum)
                                   : g_strdup (_ ("nothing finite"));
  g_autofree char *bad = g_strdup_printf ("%" PRIu64, s->n_bad);
  g_autofree char *with_bad
      = s->n_bad ? g_strdup_printf (_ ("%s\n%s samples not finite"), text, bad) : g_strdup (text);
  g_autofree char *sampled
      = o->sampled ? g_strdup_printf (_ ("%s\nof every %uth slice"), with_bad, o->factor_z)
                   : g_strdup (with_bad);
  g_autofree char *outside = survey_outside_text (o);
  g_autofree char *all = g_strdup_printf ("%s\n%s", sampled, outside);
  gtk_label_set_text (self->survey, all);
}

static void
volume_browser_on_stop_survey (GtkButton *button, TdVolumeBrowser *self)
{
  td_latest_cancel (self->survey_latest);
  gtk_widget_set_visible (self->survey_box, FALSE);
  gtk_label_set_text (self->survey, _ ("The whole volume was not measured."));
}

/* ── Opening ── */

static char *
volume_browser_describe (const TdVolumeFacts *facts)
{
  const guint64 voxels = (guint64) facts->nx * facts->ny * facts->n_slices;
  g_autofree char *size = g_format_size (voxels * td_sample_size (facts->type));
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, _ ("%u × %u × %u voxels, %s, %s"), facts->nx, facts->ny,
                          facts->n_slices, td_sample_name (facts->type), size);
  g_string_append_printf (text, "\n%s%s%s", _ (facts->format), facts->dataset ? ": " : "",
                          facts->dataset ? facts->dataset : "");
  if (facts->voxel_mm > 0)
    g_string_append_printf (text, _ ("\nvoxel %g mm"), facts->voxel_mm);
  g_autofree char *notes = td_messages_join (facts->notes, "\n", td_label_naming);
  if (*notes)
    g_string_append_printf (text, "\n%s", notes);
  return g_string_free (text, FALSE);
}

static void
volume_browser_show (TdVolumeBrowser *self, TdVolume *volume)
{
  self->source = td_volume_source_new (volume, td_drawing_volume_side ());
  const TdVolumeFacts *facts = volume_browser_facts (self);
  g_autofree char *name = g_path_get_basename (facts->path);
  g_autofree char *text = volume_browser_describe (facts);

  gtk_label_set_text (self->name, name);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->name), facts->path);
  gtk_label_set_text (self->facts, text);
  gtk_label_set_text (self->survey, "");
  gtk_widget_set_visible (self->survey_box, TRUE);
  gtk_progress_bar_set_fraction (self->survey_bar, 0);
  self->levels_known = FALSE;
  td_measure_list_begin (self->measures, facts->voxel_mm, facts->units);
  for (guint i = 0; i < 3; i++) {
    Plane *plane = &self->planes[i];
    const guint n = plane_count (plane);

    self->at[i] = (n - 1) / 2;
    self->placing = TRUE;
    gtk_adjustment_configure (plane->adjustment, self->at[i], 0, n - 1, 1, 10, 0);
    self->placing = FALSE;
    td_spin_fit (GTK_SPIN_BUTTON (plane->number));
    gtk_widget_set_visible (plane->scale, n > 1);
    gtk_widget_set_visible (plane->number, n > 1);
    td_image_pane_renew (plane->pane);
    td_image_pane_set_units (plane->pane, facts->units ? facts->units : "");
    td_slice_view_set_pixel_mm (td_image_pane_view (plane->pane), facts->voxel_mm, facts->voxel_mm);
  }
  volume_browser_find_lone (self);
  /* The slice's levels are everybody's as soon as it is there. */
  td_image_pane_set_automatic (self->z, TRUE);
  td_image_pane_set_automatic (self->x, FALSE);
  td_image_pane_set_automatic (self->y, FALSE);
  for (guint i = 3; i-- > 0;) {
    plane_draw_lines (&self->planes[i]);
    plane_show_subtitle (&self->planes[i], -1);
    plane_request (&self->planes[i]);
  }
  td_latest_request (self->survey_latest, td_volume_source_ref (self->source));
  gtk_stack_set_visible_child_name (self->stack, "planes");
}

typedef struct {
  char *path, *dataset;
  gboolean stated;
  TdScanOptions options;
} Opening;

static void
opening_free (Opening *opening)
{
  g_free (opening->path);
  g_free (opening->dataset);
  g_free (opening);
}

static void
opening_run (GTask *task, gpointer object, gpointer data, GCancellable *cancellable)
{
  const Opening *opening = data;
  GError *error = NULL;
  TdVolume *volume = opening->stated
                         ? td_volume_open_stated (opening->path, &opening->options, &error)
                         : td_volume_open (opening->path, &error);

  if (volume)
    g_task_return_pointer (task, volume, (GDestroyNotify) td_volume_free);
  else
    g_task_return_error (task, error);
}

static void
opening_end (GObject *object, GAsyncResult *result, gpointer user)
{
  TdVolumeBrowser *self = TD_VOLUME_BROWSER (object);
  g_autoptr (GError) error = NULL;
  TdVolume *volume = g_task_propagate_pointer (G_TASK (result), &error);

  /* Something newer, or the end, has taken the place of this one. */
  if (self->opening != g_task_get_cancellable (G_TASK (result))) {
    td_volume_free (volume);
    return;
  }
  g_clear_object (&self->opening);
  if (volume) {
    volume_browser_show (self, volume);
    g_signal_emit_by_name (self, "opened");
    return;
  }
  g_autofree char *words = td_label_volume_error (error);
  g_autofree char *escaped = g_markup_escape_text (words, -1);
  adw_status_page_set_description (self->failed_page, escaped);
  gtk_stack_set_visible_child_name (self->stack, "failed");
  g_signal_emit_by_name (self, "failed", error);
}

void
td_volume_browser_open (TdVolumeBrowser *self, const char *path, const TdScanOptions *options)
{
  Opening *opening = g_new0 (Opening, 1);

  td_volume_browser_close (self);
  opening->path = g_strdup (path);
  opening->stated = options != NULL;
  if (options) {
    opening->dataset = g_strdup (options->dataset);
    opening->options = *options;
    opening->options.dataset = opening->dataset;
  }
  self->opening = g_cancellable_new ();
  gtk_stack_set_visible_child_name (self->stack, "opening");
  g_autoptr (GTask) task = g_task_new (self, self->opening, opening_end, NULL);
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, opening, (GDestroyNotify) opening_free);
  g_task_run_in_thread (task, opening_run);
}

void
td_volume_browser_close (TdVolumeBrowser *self)
{
  g_cancellable_cancel (self->opening);
  g_clear_object (&self->opening);
  gtk_toggle_button_set_active (self->play, FALSE);
  td_latest_cancel (self->survey_latest);
  for (guint i = 0; i < 3; i++) {
    td_latest_cancel (self->planes[i].latest);
    td_image_pane_set_image (self->planes[i].pane, NULL);
  }
  g_clear_pointer (&self->source, td_volume_source_unref);
  volume_browser_draw_space (self);
}

/* ── Object ── */

static GtkWidget *
plane_make_footer (Plane *plane, const char *what)
{
  GtkWidget *footer = td_footer_new (NULL, plane->adjustment, what, what);

  plane->scale = gtk_widget_get_first_child (footer);
  plane->number = gtk_widget_get_last_child (footer);
  plane->stop = td_symbol_button ("process-stop-symbolic",
                                  _ ("Stop reading: the reduced plane is shown, if there is one"),
                                  G_CALLBACK (plane_on_stop), plane);
  gtk_widget_set_visible (plane->stop, FALSE);
  gtk_box_append (GTK_BOX (footer), plane->stop);
  return footer;
}

static void
volume_browser_init_plane (TdVolumeBrowser *self, TdVolumeAxis axis, TdImagePane *pane,
                           const char *title)
{
  Plane *plane = &self->planes[axis];
  TdSliceView *view = td_image_pane_view (pane);

  *plane = (Plane) { .browser = self, .axis = axis, .pane = pane };
  plane->adjustment = g_object_ref_sink (gtk_adjustment_new (0, 0, 0, 1, 10, 0));
  plane->latest = td_latest_new (plane_work, browser_wanted_free, plane_on_image,
                                 (GDestroyNotify) td_image_unref, plane);
  td_latest_set_progress (plane->latest, plane_on_progress);
  td_image_pane_set_title (pane, title);
  td_image_pane_set_readout (pane, plane_readout, plane);
  td_image_pane_set_footer (pane, plane_make_footer (plane, title));
  td_slice_view_set_wheel_steps (view, TRUE);
  g_signal_connect (plane->adjustment, "value-changed", G_CALLBACK (plane_on_slider), plane);
  g_signal_connect (view, "picked", G_CALLBACK (plane_on_picked), plane);
  g_signal_connect (view, "line-moved", G_CALLBACK (plane_on_line_moved), plane);
  g_signal_connect (view, "column-moved", G_CALLBACK (plane_on_column_moved), plane);
  g_signal_connect (view, "nudged", G_CALLBACK (plane_on_nudged), plane);
  g_signal_connect (view, "stepped", G_CALLBACK (plane_on_stepped), plane);
  g_signal_connect (view, "drawn", G_CALLBACK (plane_on_drawn), plane);
  g_signal_connect (pane, "contrast-changed", G_CALLBACK (plane_on_contrast), plane);
  g_signal_connect (pane, "enlarge-toggled", G_CALLBACK (plane_on_enlarge), plane);
}

TD_DISPOSE (TdVolumeBrowser, td_volume_browser)
{
  if (self->stack) {
    td_volume_browser_close (self);
    gtk_widget_unparent (GTK_WIDGET (self->stack));
  }
  self->stack = NULL;
  g_clear_handle_id (&self->playing, g_source_remove);
  g_clear_pointer (&self->survey_latest, td_latest_free);
  for (guint i = 0; i < 3; i++) {
    g_clear_pointer (&self->planes[i].latest, td_latest_free);
    if (self->planes[i].adjustment)
      g_signal_handlers_disconnect_by_data (self->planes[i].adjustment, &self->planes[i]);
    g_clear_object (&self->planes[i].adjustment);
  }
}

static void
td_volume_browser_class_init (TdVolumeBrowserClass *class)
{
  td_ensure_types (TD_TYPE_IMAGE_PANE, TD_TYPE_MEASURE_LIST, TD_TYPE_SPACE_VIEW);
  G_OBJECT_CLASS (class)->dispose = td_volume_browser_dispose;
  td_bind_template (class, TdVolumeBrowser, "/org/tomodesk/ui/volume-browser.ui", stack,
                    failed_page, grid, x, y, z, side, name, facts, survey, survey_box, survey_bar,
                    play, tools, measures, space, space_box, cast, opacity, opacity_adjustment,
                    peak, peak_adjustment, clip_x, clip_y, clip_z, export, movie, link);
  td_bind_callbacks (class, volume_browser_on_play, volume_browser_on_movie,
                     volume_browser_draw_space, volume_browser_on_export,
                     volume_browser_on_stop_survey);
  td_signal_new (class, "opened", 0, G_TYPE_NONE);
  td_signal_new (class, "failed", 1, G_TYPE_ERROR);
}

static void
td_volume_browser_init (TdVolumeBrowser *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  volume_browser_add_tools (self);
  td_wrap (self->space_box, 6);
  volume_browser_init_plane (self, TD_AXIS_X, self->x, _ ("Across x"));
  volume_browser_init_plane (self, TD_AXIS_Y, self->y, _ ("Across y"));
  volume_browser_init_plane (self, TD_AXIS_Z, self->z, _ ("Slice"));
  self->play_axis = TD_AXIS_Z;
  g_signal_connect (self->measures, "changed", G_CALLBACK (volume_browser_on_measures), self);
  g_signal_connect (self->measures, "shown", G_CALLBACK (volume_browser_on_measure_shown), self);
  self->survey_latest
      = td_latest_new (survey_work, (GDestroyNotify) td_volume_source_unref, survey_on_end,
                       (GDestroyNotify) td_volume_source_unref, self);
  td_latest_set_progress (self->survey_latest, survey_on_progress);
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (volume_browser_on_key), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
