/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "centre-group.h"

#include <glib/gi18n.h>
#include <math.h>

#include "axis-answer.h"
#include "compute/engine/centre.h"
#include "compute/engine/cone-scan.h"
#include "compute/recipe/field.h"
#include "labels.h"
#include "number-row.h"
#include "scan-question.h"
#include "ui.h"
#include "wrap-layout.h"

#define SLIDER_LEAST_PX 5.0   /* the slider spans at least this to either side */
#define LEAST_SPAN_PX 1.0     /* of the trials */
#define BLIND_REACH 0.05      /* of the detector: of trials about a centre that nobody knows */
#define SLIDER_FRACTION 0.025 /* of the detector's width */

struct _TdCentreGroup {
  TdRecipeGroup parent_instance;
  GtkSpinButton *spin;
  GtkButton *down;
  GtkAdjustment *adjustment, *slider_adjustment;
  GtkScale *slider;
  char *slider_tip; /* while it can be moved */
  TdNumberRow *tilt;
  GtkWidget *find, *trials, *reset, *searching, *found;
  GtkLabel *search_label;
  GtkProgressBar *search_bar;
  AdwPreferencesRow *failed;
  TdAxisAnswer *answer;
  TdLatest *finder;
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe; /* shown */
  gboolean known;
  double middle; /* where a recipe without a centre stands: the file's, or the detector's middle */
};

G_DEFINE_FINAL_TYPE (TdCentreGroup, td_centre_group, TD_TYPE_RECIPE_GROUP)

/* A detector on its side has no column of the axis. @reason (optional): why not. */
static gboolean
centre_group_applies (TdCentreGroup *self, const char **reason)
{
  return td_recipe_field_applies (td_recipe_field ("centre"), &self->recipe,
                                  self->scan ? td_scan_facts (self->scan) : NULL, reason);
}

void
td_centre_group_drag (TdCentreGroup *self, double centre_px, double tilt_deg, guint drag)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));
  g_autofree char *key = drag ? g_strdup_printf (TD_EDIT_DRAG "%u", drag) : g_strdup ("centre");

  if (!recipe || !centre_group_applies (self, NULL))
    return;
  const double tilt = isfinite (tilt_deg) ? tilt_deg : recipe->tilt_deg;
  if (!recipe->centre_auto && fabs (recipe->centre_px - centre_px) < 1e-9
      && tilt == recipe->tilt_deg)
    return;
  td_recipe_state_axis (recipe, centre_px, tilt);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), key);
}

void
td_centre_group_move (TdCentreGroup *self, double centre_px)
{
  td_centre_group_drag (self, centre_px, NAN, 0);
}

static void
on_spin_changed (GtkSpinButton *spin, TdCentreGroup *self)
{
  td_centre_group_move (self, gtk_spin_button_get_value (spin));
}

static void
centre_group_on_slider (GtkRange *range, TdCentreGroup *self)
{
  td_centre_group_drag (self, round (gtk_range_get_value (range) * 100) / 100, NAN, 0);
}

double
td_centre_group_get_centre (TdCentreGroup *self)
{
  return gtk_spin_button_get_value (self->spin);
}

gboolean
td_centre_group_is_known (TdCentreGroup *self)
{
  return self->known;
}

void
td_centre_group_nudge (TdCentreGroup *self, double by_px)
{
  if (centre_group_applies (self, NULL))
    gtk_spin_button_set_value (self->spin, gtk_spin_button_get_value (self->spin) + by_px);
}

static void
centre_group_on_nudge (GtkButton *button, TdCentreGroup *self)
{
  td_centre_group_nudge (self, button == self->down ? -0.5 : 0.5);
}

static void
centre_group_on_reset (GtkButton *button, TdCentreGroup *self)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (centre_group_applies (self, NULL)) {
    td_centre_group_move (self, self->middle);
  } else if (recipe && isfinite (recipe->centre_px)) {
    recipe->centre_px = NAN; /* that of another scan's recipe */
    td_recipe_group_commit (TD_RECIPE_GROUP (self), NULL);
  }
}

/* ── Finding ── */

static void
centre_group_show_state (TdCentreGroup *self, const GError *failure)
{
  gboolean busy = td_latest_busy (self->finder);
  g_autofree char *words = failure ? td_label_error (failure) : NULL;

  gtk_widget_set_visible (self->searching, busy);
  gtk_widget_set_visible (self->found, !busy && td_axis_answer_get_result (self->answer));
  gtk_widget_set_visible (GTK_WIDGET (self->failed), failure != NULL);
  adw_preferences_row_set_title (self->failed, words ? words : "");
  gtk_widget_set_sensitive (self->find, !busy);
}

/* @tilt: NAN: as it is. */
static void
centre_group_take (TdCentreGroup *self, double centre, double tilt)
{
  TdRecipe *recipe = td_recipe_group_edit (TD_RECIPE_GROUP (self));

  if (!recipe)
    return;
  td_recipe_state_axis (recipe, centre, isfinite (tilt) ? tilt : recipe->tilt_deg);
  td_recipe_group_commit (TD_RECIPE_GROUP (self), NULL);
}

static void
centre_group_take_result (TdCentreGroup *self, const TdAxisResult *result)
{
  centre_group_take (self, result->centre_px,
                     td_axis_result_tilt (result, td_scan_facts (self->scan)->n_rows));
}

double
td_centre_group_offers (TdCentreGroup *self)
{
  const TdAxisResult *result = td_axis_answer_get_result (self->answer);

  return result && !self->known && !td_latest_busy (self->finder) ? result->centre_px : NAN;
}

void
td_centre_group_take_found (TdCentreGroup *self)
{
  const TdAxisResult *result = td_axis_answer_get_result (self->answer);

  if (isfinite (td_centre_group_offers (self)))
    centre_group_take_result (self, result);
}

/* One search on its way. */
/* Worker thread. */
static gpointer
centre_group_search (gpointer user, TdLatestRun *run, GCancellable *cancellable, GError **error)
{
  const TdScanQuestion *search = user;
  const TdAxisOptions options = { .progress = td_latest_tell, .progress_user = run };

  return td_engine_find_axis (search->engine, search->scan, &search->recipe, &options, cancellable,
                              error);
}

static void
centre_group_show_progress (double fraction, const char *what, gpointer user)
{
  TdCentreGroup *self = user;

  gtk_progress_bar_set_fraction (self->search_bar, fraction);
  gtk_label_set_text (self->search_label, what);
}

/* Where the methods disagree: around what those better than chance found, for eyes to decide. Where
   none found any (@result may be NULL): around the centre in use. */
static void
centre_group_want_trials (TdCentreGroup *self, const TdAxisResult *result)
{
  double span[2] = { INFINITY, -INFINITY };

  for (guint i = 0; result && i < result->n_trials; i++) {
    const TdAxisTrial *trial = &result->trials[i];
    if (!isfinite (trial->centre_px) || trial->confidence < TD_AXIS_WEAK)
      continue;
    span[0] = MIN (span[0], trial->centre_px);
    span[1] = MAX (span[1], trial->centre_px);
  }
  if (!(span[0] <= span[1])) {
    const double reach = td_scan_facts (self->scan)->n_columns * BLIND_REACH;
    span[0] = td_centre_group_get_centre (self) - reach;
    span[1] = td_centre_group_get_centre (self) + reach;
  }
  const double margin = MAX (0.1 * (span[1] - span[0]), LEAST_SPAN_PX / 2);
  g_signal_emit_by_name (self, "trials-wanted", span[0] - margin, span[1] + margin);
}

/* The group takes what the methods agree about; else the person decides. Undo goes back either way.
 */
static void
on_search (gpointer found, const GError *error, gboolean last, gpointer user)
{
  TdCentreGroup *self = user;
  const TdAxisResult *result = found;

  if (result) {
    td_axis_answer_set_result (self->answer, result, td_scan_facts (self->scan)->n_rows);
    if (result->agreed && isfinite (result->centre_px))
      centre_group_take_result (self, result);
    else
      centre_group_want_trials (self, result);
  } else if (g_error_matches (error, TD_ERROR, TD_ERROR_UNSUPPORTED)) {
    centre_group_want_trials (self, NULL); /* no method is for such a scan */
  }
  centre_group_show_state (self, error);
}

void
td_centre_group_find (TdCentreGroup *self)
{
  if (!self->scan || td_latest_busy (self->finder))
    return;
  gtk_progress_bar_set_fraction (self->search_bar, 0);
  gtk_label_set_text (self->search_label, _ ("Searching for the axis"));
  td_axis_answer_set_result (self->answer, NULL, 0);
  td_latest_request (self->finder, td_scan_question_new (self->engine, self->scan, &self->recipe));
  centre_group_show_state (self, NULL);
}

GtkWidget *
td_centre_group_find_button (TdCentreGroup *self)
{
  return self->find;
}

static void
centre_group_on_cancel (GtkButton *button, TdCentreGroup *self)
{
  td_latest_cancel (self->finder);
  centre_group_show_state (self, NULL);
}

void
td_centre_group_set_scan (TdCentreGroup *self, TdEngine *engine, TdScan *scan)
{
  td_latest_cancel (self->finder);
  td_hold (engine, &self->engine, engine);
  td_hold (scan, &self->scan, scan);
  td_axis_answer_set_result (self->answer, NULL, 0);
  centre_group_show_state (self, NULL);
  const gboolean parallel = scan && td_scan_facts (scan)->geometry.beam == TD_BEAM_PARALLEL;
  gtk_widget_set_visible (self->find, parallel);
  gtk_widget_set_visible (self->trials, parallel);
}

/* ── Showing ── */

/* The slider is for the last pixels: it spans a little around where it was when it was left. */
static void
centre_group_place_slider (TdCentreGroup *self, double centre, guint n_columns)
{
  double reach = MAX (SLIDER_LEAST_PX, SLIDER_FRACTION * n_columns);
  double lower = gtk_adjustment_get_lower (self->slider_adjustment);
  double upper = gtk_adjustment_get_upper (self->slider_adjustment);

  if (centre <= lower || centre >= upper || fabs (upper - lower - 2 * reach) > 1e-6) {
    gtk_scale_clear_marks (self->slider);
    gtk_adjustment_configure (self->slider_adjustment, centre, centre - reach, centre + reach, 0.05,
                              0.5, 0);
    gtk_scale_add_mark (self->slider, centre, GTK_POS_BOTTOM, NULL);
  }
  gtk_adjustment_set_value (self->slider_adjustment, centre);
}

/* Of a scan that does not say where its axis is, finding it is what comes first. */
static void
show_known (TdCentreGroup *self, gboolean known)
{
  AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP (self);
  const char *words = known ? _ ("In columns; the first column’s centre is 0")
                            : _ ("Not known yet: the detector’s middle is taken");

  self->known = known;
  if (g_strcmp0 (adw_preferences_group_get_description (group), words) != 0)
    adw_preferences_group_set_description (group, words);
  if (known)
    gtk_widget_remove_css_class (self->find, "suggested-action");
  else
    gtk_widget_add_css_class (self->find, "suggested-action");
}

static void
centre_group_show_applies (TdCentreGroup *self)
{
  GtkWidget *number = gtk_widget_get_parent (GTK_WIDGET (self->spin));
  const char *reason;
  const gboolean applies = centre_group_applies (self, &reason);

  td_set_sensitive (number, applies);
  td_set_tooltip (number, reason ? _ (reason) : NULL);
  td_set_sensitive (GTK_WIDGET (self->slider), applies);
  td_set_tooltip (self->slider, reason ? _ (reason) : self->slider_tip);
}

static void
td_centre_group_show (TdRecipeGroup *group, const TdScanFacts *facts, const TdRecipe *recipe)
{
  TdCentreGroup *self = TD_CENTRE_GROUP (group);
  guint n = facts ? facts->n_columns : 1;
  double centre = recipe->centre_px;

  const double stated = facts ? td_stated_centre (facts) : NAN;
  self->middle = isfinite (stated) ? stated : (n - 1) / 2.0;
  if (!isfinite (centre))
    centre = self->middle;
  show_known (self, !facts || recipe->centre_auto || isfinite (recipe->centre_px)
                        || isfinite (stated) || facts->geometry.beam != TD_BEAM_PARALLEL);
  /* Off the detector is allowed: half-acquisition scans and large offsets come near. */
  if (gtk_adjustment_get_upper (self->adjustment) != 1.5 * n)
    gtk_adjustment_configure (self->adjustment, centre, -0.5 * n, 1.5 * n, 0.05, 0.5, 0);
  gtk_adjustment_set_value (self->adjustment, centre);
  centre_group_place_slider (self, centre, n);
  self->recipe = *recipe;
  centre_group_show_applies (self);
  td_axis_answer_set_centre (self->answer, centre, recipe->tilt_deg);
}

TD_DISPOSE (TdCentreGroup, td_centre_group)
{
  g_clear_pointer (&self->finder, td_latest_free);
  g_clear_pointer (&self->scan, td_scan_unref);
  g_clear_pointer (&self->engine, td_engine_unref);
  g_clear_pointer (&self->slider_tip, g_free);
}

static void
td_centre_group_class_init (TdCentreGroupClass *class)
{
  td_ensure_types (TD_TYPE_NUMBER_ROW, TD_TYPE_AXIS_ANSWER);
  G_OBJECT_CLASS (class)->dispose = td_centre_group_dispose;
  TD_RECIPE_GROUP_CLASS (class)->show = td_centre_group_show;
  td_bind_template (class, TdCentreGroup, "/org/tomodesk/ui/centre-group.ui", spin, adjustment,
                    slider_adjustment, slider, tilt, down, trials, find, reset, searching,
                    search_label, search_bar, found, answer, failed);
  td_signal_new (class, "trials-wanted", 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  td_bind_callbacks (class, td_centre_group_find, centre_group_on_cancel, centre_group_take,
                     centre_group_on_reset, centre_group_on_nudge, on_spin_changed,
                     centre_group_on_slider);
}

static void
td_centre_group_init (TdCentreGroup *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_wrap (gtk_widget_get_parent (GTK_WIDGET (self->find)), 4);
  self->finder = td_latest_new (centre_group_search, td_scan_question_free, on_search,
                                (GDestroyNotify) td_axis_result_free, self);
  td_latest_set_progress (self->finder, centre_group_show_progress);
  td_accept_decimals (self->spin);
  td_ignore_scroll (GTK_WIDGET (self->spin));
  td_ignore_scroll (GTK_WIDGET (self->slider));
  self->slider_tip = g_strdup (gtk_widget_get_tooltip_text (GTK_WIDGET (self->slider)));
  td_number_row_set_range (self->tilt, -10, 10);
  td_number_row_set_steps (self->tilt, 0.01, 0.1, 3);
  td_recipe_group_bind (TD_RECIPE_GROUP (self), self->tilt, "tilt", "tilt");
}
